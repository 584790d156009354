//! `warpath select --auto`: nested columns are read again, and compared with a naive conversion of the
//! records.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Field};
use serde_json::{Map, Value, json};

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
        "warning: column `$.a`: 2 values not taken, null instead: 1 of another type (first: row 2), 1 beyond the \
         type (first: row 3)\nwarning: column `$.u.s`: 1 value not taken, null instead: 1 of another type (first: row 2)\n"
    );
}

#[test]
fn usage() {
    let folder = Folder::new(&[("in", RECORDS.as_bytes()), ("empty", b""), ("words", b"1\n\"x\"\n")]);
    folder.run(&["select", "--auto", "in"]).failed(2, "", "error: `--auto` makes nested columns");
    let two = folder.run(&["select", "--auto", "--format", "arrow", "id=$.id"]);
    two.failed(2, "", "error: `--auto` makes all columns");
    let ran = folder.run(&["select", "--auto", "--format", "arrow", "empty"]);
    ran.failed(2, "", "error: there is no record");
    let words = folder.run(&["select", "--auto", "--format", "arrow", "words"]);
    assert_eq!(rows(&arrow(&words.stdout)), [json!({"value":1}), json!({"value":"x"})]);
    let schema = folder.run(&["select", "--auto", "--schema", "missing", "--format", "arrow", "in"]);
    schema.failed(2, "", "error: missing");
}
