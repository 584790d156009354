//! `warpath select --auto`: nested columns are read again, and compared with a naive conversion of the
//! records.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::as_datetime;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Field, TimeUnit};
use serde_json::{Map, Value, json};
use warpath_random::Rng;

use crate::{Folder, data, pipe};

/// The value of a column in a row, as JSON. Nulls in structs are left out.
fn value(field: &Field, array: &dyn Array, at: usize) -> Value {
    if array.is_null(at) {
        return Value::Null;
    }
    let is_json = field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.json");
    match field.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(at)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(at)),
        DataType::Float64 => number(array.as_primitive::<Float64Type>().value(at)),
        DataType::Decimal128(_, 0) => {
            serde_json::from_str(&array.as_primitive::<Decimal128Type>().value(at).to_string()).unwrap()
        }
        DataType::Timestamp(_, Some(_)) => {
            json!(instant(array.as_primitive::<TimestampNanosecondType>().value(at)))
        }
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(at);
            json!(Date32Type::to_naive_date_opt(days).unwrap().to_string())
        }
        DataType::Utf8 if is_json => serde_json::from_str(array.as_string::<i32>().value(at)).unwrap(),
        DataType::Utf8 => json!(array.as_string::<i32>().value(at)),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            object(columns.map(|(field, column)| (field.name().clone(), value(field, column, at))))
        }
        DataType::List(element) => {
            let elements = array.as_list::<i32>().value(at);
            (0..elements.len()).map(|at| value(element, &elements, at)).collect()
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(entries) = entries.data_type() else { panic!("{entries}") };
            let map = array.as_map().value(at);
            let names = map.column(0).as_string::<i32>();
            object(
                (0..map.len()).map(|at| (names.value(at).to_owned(), value(&entries[1], map.column(1), at))),
            )
        }
        other => panic!("{other}"),
    }
}

/// An instant in nanoseconds as text.
fn instant(nanoseconds: i64) -> String {
    as_datetime::<TimestampNanosecondType>(nanoseconds).unwrap().format("%Y-%m-%dT%H:%M:%S%.fZ").to_string()
}

/// A double, as an integer where it is one.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn object(members: impl Iterator<Item = (String, Value)>) -> Value {
    members.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into()
}

fn rows(batches: &[RecordBatch]) -> Vec<Value> {
    let of_batch = |batch: &RecordBatch| -> Vec<Value> {
        let schema = batch.schema();
        let row = |at| {
            let columns = schema.fields().iter().zip(batch.columns());
            object(columns.map(|(field, column)| (field.name().clone(), value(field, column, at))))
        };
        (0..batch.num_rows()).map(row).collect()
    };
    batches.iter().flat_map(of_batch).collect()
}

/// A record without members that are null, and with whole numbers as integers.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => object(members.iter().map(|(name, member)| (name.clone(), plain(member)))),
        Value::Array(elements) => elements.iter().map(plain).collect(),
        Value::Number(given) if given.is_f64() => number(given.as_f64().unwrap()),
        other => other.clone(),
    }
}

fn records(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| plain(&serde_json::from_str(line).unwrap())).collect()
}

fn arrow(bytes: &[u8]) -> Vec<RecordBatch> {
    match bytes.starts_with(b"ARROW1") {
        true => FileReader::try_new(Cursor::new(bytes), None).unwrap().map(Result::unwrap).collect(),
        false => StreamReader::try_new(bytes, None).unwrap().map(Result::unwrap).collect(),
    }
}

#[cfg(feature = "parquet")]
fn parquet(folder: &Folder, name: &str) -> Vec<RecordBatch> {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let file = std::fs::File::open(folder.path(name)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

const RECORDS: &str = r#"{"id":1,"user":{"name":"ada","tags":["x","y"]},"n":1,"big":123456789012345678901}
{"id":2,"user":null,"n":2.5,"mixed":"text","none":null,"empty":[]}

{"id":3,"user":{"name":"\u00e9\n","tags":[]},"mixed":{"a":[1, 2]},"list":[{"a":1},{"b":"z"},null]}
{"id":-4,"new":[[1],[],[2,3]],"n":-0.125}
"#;

#[test]
fn all_members_are_columns() {
    let folder = Folder::new(&[("in", RECORDS.as_bytes())]);
    let stream = folder.run(&["select", "--auto", "--format", "arrow", "in"]);
    assert_eq!((stream.code, stream.stderr.as_str()), (0, ""));
    assert_eq!(rows(&arrow(&stream.stdout)), records(RECORDS));
    folder.run(&["select", "--auto", "--format", "arrow", "-o", "out.arrow", "in"]).ok();
    assert_eq!(rows(&arrow(&folder.read("out.arrow"))), records(RECORDS));
    #[cfg(feature = "parquet")]
    {
        folder.run(&["select", "--auto", "--format", "parquet", "-o", "out.parquet", "in"]).ok();
        assert_eq!(rows(&parquet(&folder, "out.parquet")), records(RECORDS));
    }
}

#[test]
fn test_data_comes_back_from_every_partition() {
    let folder = Folder::new(&[]);
    for name in ["tweets.ndjson", "people.ndjson", "products.ndjson"] {
        let wanted = records(&std::fs::read_to_string(data(name)).unwrap());
        for size in ["1", "3000", "1MiB"] {
            let args = ["select", "--auto", "--partition-size", size, "--format"];
            let ran = folder.run(&[&args[..], &["arrow", &data(name)]].concat());
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{name}");
            assert_eq!(rows(&arrow(&ran.stdout)), wanted, "{name}");
            #[cfg(feature = "parquet")]
            {
                folder.run(&[&args[..], &["parquet", "-o", "out", &data(name)]].concat()).ok();
                assert_eq!(rows(&parquet(&folder, "out")), wanted, "{name}");
            }
        }
    }
}

#[test]
fn standard_input_is_read_once() {
    let ran = pipe(&["select", "--auto", "--format", "arrow"], RECORDS.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(rows(&arrow(&ran.stdout)), records(RECORDS));
}

#[test]
fn records_are_chosen_as_elsewhere() {
    let folder = Folder::new(&[("in", RECORDS.as_bytes())]);
    let ran = folder.run(&["select", "--auto", "--format", "arrow", "--where", "$.id > 1", "-n", "2", "in"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(rows(&arrow(&ran.stdout)), records(RECORDS)[1..3]);
}

#[test]
fn a_saved_schema_counts_what_it_does_not_take() {
    let folder = Folder::new(&[
        ("old", b"{\"a\":1,\"u\":{\"s\":\"x\"}}\n"),
        ("new", b"{\"a\":2}\n{\"a\":\"x\",\"u\":{\"s\":7,\"t\":1}}\n{\"a\":99999999999999999999}\n"),
    ]);
    folder.run(&["select", "--auto", "--format", "arrow", "-o", "old.arrow", "old"]).ok();
    let ran = folder.run(&["select", "--auto", "--schema", "old.arrow", "--format", "arrow", "new"]);
    assert_eq!(ran.code, 0);
    assert_eq!(rows(&arrow(&ran.stdout)), [json!({"a":2}), json!({"u":{}}), json!({})]);
    assert_eq!(
        ran.stderr,
        "warning: column `$.a:int64`: 2 values not taken, null instead: 1 of another type (first: new:2), 1 beyond the \
         type (first: new:3)\nwarning: column `$.u.s:string`: 1 value not taken, null instead: 1 of another type (first: new:2)\n"
    );
    let args =
        ["select", "--auto", "--schema", "old.arrow", "--format", "arrow", "-o", "new.arrow", "--stats"];
    for size in ["1", "1MiB"] {
        let ran = folder.run(&[&args[..], &["--partition-size", size, "old", "new"]].concat());
        assert_eq!(ran.code, 0);
        let line =
            "column      $.a:int64: 0 missing, 0 null, 1 mismatch (first: new:2), 1 overflow (first: new:3)";
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
        let file = FileReader::try_new(Cursor::new(folder.read("new.arrow")), None).unwrap();
        let counts: Value = serde_json::from_str(&file.custom_metadata()["warpath.columns"]).unwrap();
        assert_eq!(counts["rows"], 4);
        let want = json!({"name":"$.u.s","type":"string","missing":2,"null":0,"mismatch":1,"overflow":0,
            "first_missing":"new:1","first_mismatch":"new:2"});
        assert_eq!(counts["columns"][3], want);
    }
}

#[test]
fn instants_and_dates_are_found_in_random_records() {
    let mut rng = Rng::new(21);
    let (mut text, mut wanted) = (String::new(), Vec::new());
    for at in 0..2000 {
        let nanoseconds = rng.next_u64() as i64 / rng.pick(&[1, 1, 1000]);
        let rounded = nanoseconds - nanoseconds % rng.pick(&[1, 1000, 1_000_000_000]);
        let (time, date) = (instant(rounded), instant(rounded)[..10].to_owned());
        let mixed = if rng.below(2) == 0 { &time } else { &date };
        let nearly = if at == 1500 { "2026-02-30" } else { &date };
        let spelt = if rng.below(8) == 0 { time.replace(':', "\\u003a") } else { time.clone() };
        text += &format!("{{\"t\":\"{spelt}\",\"d\":\"{date}\",\"m\":\"{mixed}\",\"n\":\"{nearly}\",");
        text += &format!("\"l\":[{{\"t\":\"{time}\"}},{{\"t\":null}}]}}\n");
        wanted.push(json!({"t":time,"d":date,"m":mixed,"n":nearly,"l":[{"t":time},{}]}));
    }
    let folder = Folder::new(&[("in", text.as_bytes())]);
    for workers in ["1", "3"] {
        let args =
            ["select", "--auto", "--format", "arrow", "--partition-size", "9KiB", "--workers", workers, "in"];
        let ran = folder.run(&args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let batches = arrow(&ran.stdout);
        let types = batches[0].schema();
        let types = ["t", "d", "m", "n"].map(|name| types.field_with_name(name).unwrap().data_type().clone());
        let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        assert_eq!(types, [time, DataType::Date32, DataType::Utf8, DataType::Utf8]);
        assert_eq!(rows(&batches), wanted);
    }
    let args = ["schema", "--workers", "3", "--partition-size", "9KiB", "--format"];
    let schema = folder.run(&[&args[..], &["json-schema", "in"]].concat());
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    let format = |name: &str| schema["properties"][name]["format"].clone();
    assert_eq!(
        ["t", "d", "m", "n"].map(format),
        [json!("date-time"), json!("date"), Value::Null, Value::Null]
    );
}

#[test]
fn a_schema_saved_as_lines_gives_the_same_columns() {
    let more = "{\"a b\":[1,2.5],\"i\":3,\"at\":\"2026-01-31\",\"f\":1e300,\"m\":9007199254740993}\n\
                {\"f\":7,\"m\":0.5,\"t\":\"2026-01-31T12:00:00Z\",\"it's\":{\"\\u0000\":true}}\n";
    let map: String = (0..40).map(|at| format!("{{\"map\":{{\"u{at}\":{{\"n\":{at}}}}}}}\n")).collect();
    let folder = Folder::new(&[("in", (RECORDS.to_owned() + more + &map).as_bytes())]);
    for file in ["in".to_owned(), data("tweets.ndjson"), data("people.ndjson"), data("products.ndjson")] {
        folder.run(&["schema", "--format", "ndjson", "-o", "saved", &file]).ok();
        let want = arrow(&folder.run(&["select", "--auto", "--format", "arrow", &file]).stdout);
        let ran = folder.run(&["select", "--auto", "--schema", "saved", "--format", "arrow", &file]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{file}");
        assert_eq!(arrow(&ran.stdout), want, "{file}");
        std::fs::remove_file(folder.path("saved")).unwrap();
    }
}

#[test]
fn single_columns_have_the_types_of_the_schema() {
    let folder = Folder::new(&[("in", RECORDS.as_bytes())]);
    folder.run(&["schema", "--format", "ndjson", "-o", "saved", "in"]).ok();
    folder.run(&["select", "--auto", "-o", "saved.arrow", "--format", "arrow", "in"]).ok();
    let columns = ["id:auto=$.id", "u:auto=$.user", "t:auto=$.user.tags[*]", "m:auto=$.mixed", "n:int64=$.n"];
    let all = [&["select", "--format", "arrow", "in"][..], &columns].concat();
    let plain = [
        "select",
        "--format",
        "arrow",
        "--auto",
        "in",
        "id=$.id",
        "u=$.user",
        "t=$.user.tags[*]",
        "m=$.mixed",
    ];
    let schemas: [&[&str]; 3] = [&[], &["--schema", "saved"], &["--schema", "saved.arrow"]];
    for (args, schema) in schemas.iter().flat_map(|schema| [(&all[..], schema), (&plain[..], schema)]) {
        let batches = arrow(&folder.run(&[args, schema].concat()).stdout);
        let made = batches[0].schema();
        let text = |name: &str| made.field_with_name(name).unwrap().data_type().to_string();
        let DataType::Struct(user) = made.field_with_name("u").unwrap().data_type() else { panic!("{made}") };
        assert_eq!(user.iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["name", "tags"]);
        assert_eq!(["id", "m"].map(text), ["Int64", "Utf8"]);
        assert!(matches!(made.field_with_name("t").unwrap().data_type(), DataType::List(_)));
        let ids: Vec<Value> = rows(&batches).iter().map(|row| row["id"].clone()).collect();
        assert_eq!(ids, [1, 2, 3, -4].map(|id| json!(id)));
        assert_eq!(rows(&batches)[0]["u"], records(RECORDS)[0]["user"]);
    }
}

#[test]
fn a_condition_chooses_the_records_of_the_schema() {
    let folder =
        Folder::new(&[("in", b"{\"k\":1,\"a\":1}\n{\"k\":2,\"a\":\"x\",\"b\":1}\n{\"k\":1,\"a\":2}\n")]);
    let ran = folder.run(&["select", "--auto", "--format", "arrow", "--where", "$.k == 1", "in"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let batches = arrow(&ran.stdout);
    assert_eq!(batches[0].schema().fields().len(), 2);
    assert_eq!(*batches[0].schema().field(1).data_type(), DataType::Int64);
    assert_eq!(rows(&batches), [json!({"k":1,"a":1}), json!({"k":1,"a":2})]);
}

const ORDERS: &str = r#"{"id":1,"items":[{"sku":"x","n":2},{"sku":7,"n":1}],"tags":["a","b"]}
{"id":2,"items":null,"tags":"none"}

{"id":3,"items":[{"n":99999999999999999999}]}
"#;

#[test]
fn lists_and_structs_are_types() {
    let folder = Folder::new(&[("in", ORDERS.as_bytes())]);
    let columns =
        ["id:int64=$.id", "items:list<struct<sku:string,n:int64>>=$.items", "tags:list<string>=$.tags"];
    let args = [&["select"][..], &columns, &["in"]].concat();
    let ran = folder.run(&[&args[..], &["--format", "arrow"]].concat());
    assert_eq!(ran.code, 0);
    let wanted = [
        json!({"id":1,"items":[{"sku":"x","n":2},{"n":1}],"tags":["a","b"]}),
        json!({"id":2}),
        json!({"id":3,"items":[{}]}),
    ];
    assert_eq!(rows(&arrow(&ran.stdout)), wanted);
    assert_eq!(
        ran.stderr,
        "warning: column `items:list<struct<sku:string,n:int64>>`: 2 values not taken, null instead: 1 of another type \
         (first: in:1), 1 beyond the type (first: in:4)\nwarning: column `tags:list<string>`: 1 value not taken, null \
         instead: 1 of another type (first: in:2)\nnote: `--on-mismatch fail`, `skip` or `string` does otherwise\n"
    );
    let skip = ["--format", "arrow", "--on-mismatch", "skip", "--rejects", "rejects"];
    let ran = folder.run(&[&args[..], &skip].concat());
    assert_eq!((ran.code, rows(&arrow(&ran.stdout)).len()), (0, 0));
    let rejects = String::from_utf8(folder.read("rejects")).unwrap();
    let rejects: Vec<Value> = rejects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places: Vec<_> =
        rejects.iter().map(|reject| (reject["line"].clone(), reject["byte"].clone())).collect();
    let byte = |line: usize, value: &str| ORDERS.lines().nth(line - 1).unwrap().find(value).unwrap() + 1;
    assert_eq!(
        places,
        [
            (json!(1), json!(byte(1, "7,"))),
            (json!(2), json!(byte(2, "\"none"))),
            (json!(4), json!(byte(4, "9999")))
        ]
    );
    let ran = folder.run(&[&args[..], &["--format", "arrow", "--on-mismatch", "fail"]].concat());
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains(&format!("in:1:{}: ", byte(1, "7,"))), "{}", ran.stderr);
    // A default, elements, and text.
    let ran = folder.run(&["select", "--format", "arrow", "t:list<string>=$.x ?? [\"z\"]", "in"]);
    assert_eq!(rows(&arrow(&ran.stdout)), [json!({"t":["z"]}), json!({"t":["z"]}), json!({"t":["z"]})]);
    folder.run(&["select", "--format", "arrow", "t:list<string>=$.x ?? [1]", "in"]).failed(2, "", "error: ");
    let explode = ["select", "--format", "arrow", "--explode", "$.items", "i:struct<n:text>=@", "in"];
    assert_eq!(
        rows(&arrow(&folder.run(&explode).stdout)),
        [json!({"i":{"n":"2"}}), json!({"i":{"n":"1"}}), json!({"i":{"n":"99999999999999999999"}})]
    );
    let text = folder.run(&["select", "--format", "ndjson", "tags:list<string>=$.tags", "in"]);
    assert_eq!(
        String::from_utf8(text.stdout).unwrap(),
        "{\"tags\":[\"a\",\"b\"]}\n{\"tags\":\"none\"}\n{\"tags\":null}\n"
    );
}

#[test]
fn usage() {
    let folder = Folder::new(&[("in", RECORDS.as_bytes()), ("empty", b""), ("words", b"1\n\"x\"\n")]);
    let nested = folder.run(&["select", "--auto", "--schema", "x", "in"]);
    nested.failed(2, "", "error: `--schema` has nested columns, and text has none");
    let explode = folder.run(&["select", "--auto", "--format", "arrow", "--explode", "$.list", "in"]);
    explode.failed(2, "", "error: `--auto` without columns");
    let none = folder.run(&["select", "--format", "arrow", "x:auto=$.nowhere", "in"]);
    none.failed(2, "", "error: column `x`: the schema has no path `$.nowhere`");
    folder.run(&["select", "--auto", "id=$.id", "in"]).failed(2, "", "error: `--auto` gives columns types");
    let idle = folder.run(&["select", "--schema", "x", "--format", "arrow", "id=$.id", "in"]);
    idle.failed(2, "", "error: `--schema` gives types");
    let ran = folder.run(&["select", "--auto", "--format", "arrow", "empty"]);
    ran.failed(2, "", "error: there is no record");
    let words = folder.run(&["select", "--auto", "--format", "arrow", "words"]);
    assert_eq!(rows(&arrow(&words.stdout)), [json!({"value":1}), json!({"value":"x"})]);
    let schema = folder.run(&["select", "--auto", "--schema", "missing", "--format", "arrow", "in"]);
    schema.failed(2, "", "error: missing");
}
