//! `select` with types: what a column is without one, what its type does not take, and what is done then.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use warpath_random::Rng;

use crate::columns::{file, stream};
use crate::{Folder, pipe};

const RECORDS: &[u8] = b"{\"n\":1,\"s\":\"a\\\"\\u00e9\"}
{\"n\":\"1\",\"s\":7}
{\"n\":null,\"s\":{\"a\" : 1}}

{\"n\":9223372036854775808,\"s\":null}
{\"n\":1.5}
{\"s\":true}
{\"n\":-9223372036854775808,\"s\":\"\"}
";

fn strings(array: &dyn Array) -> Vec<Option<String>> {
    array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

fn integers(array: &dyn Array) -> Vec<Option<i64>> {
    array.as_primitive::<Int64Type>().iter().collect()
}

fn arrow(args: &[&str], records: &[u8]) -> RecordBatch {
    let ran = pipe(&[&["select", "-q", "--format", "arrow"], args].concat(), records);
    assert_eq!(ran.code, 0, "{ran}");
    stream(&ran.stdout)
}

/// The cells of CSV are the values of columns without a type.
#[test]
fn without_a_type_a_column_is_text() {
    let batch = arrow(&["s=$.s", "text:text=$.s", "json:json=$.s"], RECORDS);
    let text = [Some("a\"é"), Some("7"), Some("{\"a\" : 1}"), None, None, Some("true"), Some("")];
    assert_eq!(strings(&batch["s"]), text.map(|text| text.map(str::to_owned)));
    assert_eq!(strings(&batch["s"]), strings(&batch["text"]));
    let json =
        [Some("\"a\\\"\\u00e9\""), Some("7"), Some("{\"a\" : 1}"), None, None, Some("true"), Some("\"\"")];
    assert_eq!(strings(&batch["json"]), json.map(|text| text.map(str::to_owned)));
    let csv = pipe(&["select", "--format", "csv", "s=$.s"], RECORDS);
    assert_eq!(csv.ok(), "s\n\"a\"\"é\"\n7\n\"{\"\"a\"\" : 1}\"\n\"\"\n\"\"\ntrue\n\"\"\n");
}

#[test]
fn the_name_of_the_file_is_its_format() {
    let folder = Folder::new(&[("in", b"{\"a\":\"x\"}\n")]);
    let run = |args: &[&str]| {
        let ran = folder.run(&[&["select", "a=$.a", "in"], args].concat());
        assert_eq!(ran.ok(), "");
    };
    for name in ["out.arrow", "out.feather", "OUT.ARROW"] {
        run(&["-o", name]);
        assert_eq!(strings(&file(&folder.read(name))["a"]), [Some("x".to_owned())]);
    }
    run(&["-o", "out.csv"]);
    assert_eq!(folder.read("out.csv"), b"a\nx\n");
    for name in ["out", "out.ndjson", "out.jsonl", "out.txt", "arrow", ".arrow"] {
        run(&["-o", name]);
        assert_eq!(folder.read(name), b"{\"a\":\"x\"}\n", "{name}");
    }
    run(&["-o", "odd.csv", "--format", "ndjson"]);
    assert_eq!(folder.read("odd.csv"), b"{\"a\":\"x\"}\n");
    run(&["-o", "odd.ndjson", "--format", "csv"]);
    assert_eq!(folder.read("odd.ndjson"), b"a\nx\n");
    #[cfg(feature = "parquet")]
    {
        run(&["-o", "out.parquet"]);
        assert_eq!(strings(&crate::columns::parquet(&folder, "out.parquet")["a"]), [Some("x".to_owned())]);
    }
}

#[test]
fn integers_beyond_64_bits_fit_decimals() {
    let nines = "9".repeat(38);
    let records = format!(
        "{{\"n\":18446744073709551616}}\n{{\"n\":-{nines}}}\n{{\"n\":{nines}0}}\n{{\"n\":1.25}}\n{{\"n\":125e-2}}\n"
    );
    let batch = arrow(&["n:decimal(38,0)=$.n", "cents:decimal(5,2)=$.n"], records.as_bytes());
    let units = |name: &str| batch[name].as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>();
    let greatest: i128 = nines.parse().unwrap();
    assert_eq!(*batch["n"].data_type(), DataType::Decimal128(38, 0));
    assert_eq!(units("n"), [Some(1 << 64), Some(-greatest), None, None, None]);
    assert_eq!(*batch["cents"].data_type(), DataType::Decimal128(5, 2));
    assert_eq!(units("cents"), [None, None, None, Some(125), Some(125)]);
}

#[test]
fn instants_and_dates_are_read() {
    let records = br#"{"t":"1970-01-01T00:00:01.5Z","d":"1970-01-02"}
{"t":"1970-01-01T01:00:00+01:00","d":"1969-12-31"}
{"t":"1970-01-02","d":"\u00319\u003700-02-29"}
{"t":"2262-04-11T23:47:16.854775807Z","d":"0000-01-01"}
{"t":"2262-04-11T23:47:16.854775808Z","d":"9999-12-31"}
{"t":"9999-12-31T00:00:00Z","d":"1970-01-01T00:00:00Z"}
{"t":1500000000,"d":0}
{"t":null}
{"t":"yesterday","d":"1970-1-1"}
"#;
    let ran = pipe(&["select", "--format", "arrow", "t:time=$.t", "d:date=$.d"], records);
    let warnings = "warning: column `t:time`: 3 values not taken, null instead: 1 of another type (first: <stdin>:9), \
                    2 beyond the type (first: <stdin>:5)\n\
                    warning: column `d:date`: 4 values not taken, null instead: 4 of another type (first: <stdin>:3)\n";
    assert!(ran.code == 0 && ran.stderr.starts_with(warnings), "{ran}");
    let batch = stream(&ran.stdout);
    let second = 1_000_000_000;
    let instants: Vec<_> = batch["t"].as_primitive::<TimestampNanosecondType>().iter().collect();
    let want = [
        Some(second * 3 / 2),
        Some(0),
        Some(86_400 * second),
        Some(i64::MAX),
        None,
        None,
        Some(1_500_000_000 * second),
        None,
        None,
    ];
    assert_eq!(instants, want);
    let utc = DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some("UTC".into()));
    assert_eq!(*batch["t"].data_type(), utc);
    let days: Vec<_> = batch["d"].as_primitive::<Date32Type>().iter().collect();
    // There was no 29 February in 1900.
    assert_eq!(days, [Some(1), Some(-1), None, Some(-719_528), Some(2_932_896), None, None, None, None]);
}

/// Without a format, a number is an instant of the unit that follows from its size, as in `time($.t)`.
#[test]
fn numbers_are_instants() {
    let mut random = Rng::new(8);
    let mut records = String::new();
    let mut want: Vec<Option<i64>> = Vec::new();
    // Nanoseconds of a unit, and the magnitude from which its numbers are of the next unit.
    const UNITS: [(i128, i128); 4] = [
        (1_000_000_000, 100_000_000_000),
        (1_000_000, 100_000_000_000_000),
        (1000, 100_000_000_000_000_000),
        (1, i128::MAX),
    ];
    for _ in 0..2000 {
        let digits = 1 + random.below(20) as u32;
        let number = i128::from(random.next_u64()) % 10i128.pow(digits);
        let number = if random.below(3) == 0 { -number } else { number };
        let (unit, _) = UNITS.iter().find(|(_, below)| number.abs() < *below).unwrap();
        records += &format!("{{\"t\":{number}}}\n");
        want.push(i64::try_from(number * unit).ok());
        if random.below(3) == 0 {
            let second = random.below(60);
            records += &format!("{{\"t\":\"1970-01-01T00:00:{second:02}Z\"}}\n{{\"t\":true}}\n");
            want.extend([Some(second as i64 * 1_000_000_000), None]);
        }
    }
    for size in ["100", "1MiB"] {
        let batch = arrow(&["t:time=$.t", "--partition-size", size], records.as_bytes());
        let instants: Vec<_> = batch["t"].as_primitive::<TimestampNanosecondType>().iter().collect();
        assert_eq!(instants, want);
    }
    // A format of texts takes none, and a unit only numbers of its own.
    let of_format = |format: &str| {
        let batch = arrow(&["t:time=$.t", "--time-format", format], b"{\"t\":1500000000000}\n");
        batch["t"].as_primitive::<TimestampNanosecondType>().iter().collect::<Vec<_>>()
    };
    assert_eq!(of_format("%s"), [None]);
    assert_eq!(of_format("us"), [Some(1_500_000_000_000_000)]);
    assert_eq!(of_format("ms"), [Some(1_500_000_000_000_000_000)]);
}

const LOST: &str = "\
warning: column `n:int64`: 3 values not taken, null instead: 2 of another type (first: in:2), \
1 beyond the type (first: in:5)
warning: column `s:string`: 3 values not taken, null instead: 3 of another type (first: in:2)
  note: `--on-mismatch fail`, `skip` or `string` does otherwise
";

/// The counts do not depend on partitions, and nor does the metadata.
#[test]
fn what_a_type_does_not_take_is_told() {
    let folder = Folder::new(&[("in", RECORDS)]);
    let metadata = r#"{"rows":7,"columns":[{"name":"n","type":"int64","missing":1,"null":1,"mismatch":2,"overflow":1,"first_missing":"in:7","first_null":"in:3","first_mismatch":"in:2","first_overflow":"in:5"},{"name":"s","type":"string","missing":1,"null":1,"mismatch":3,"overflow":0,"first_missing":"in:6","first_null":"in:5","first_mismatch":"in:2"}]}"#;
    for size in ["1", "40", "1MiB"] {
        let args =
            ["select", "n:int64=$.n", "s:string=$.s", "in", "-o", "out.arrow", "--partition-size", size];
        let ran = folder.run(&args);
        assert_eq!(
            (ran.code, ran.stderr.replace("\n  note", "\nnote")),
            (0, LOST.replace("\n  note", "\nnote"))
        );
        let out = folder.read("out.arrow");
        let reader = FileReader::try_new(Cursor::new(&out), None).unwrap();
        assert_eq!(reader.custom_metadata()["warpath.columns"], metadata);
        let batch = file(&out);
        assert_eq!(integers(&batch["n"]), [Some(1), None, None, None, None, None, Some(i64::MIN)]);
        let quiet = folder.run(&[&args[..], &["-q", "--stats"]].concat());
        let statistics = "column      n:int64: 1 missing (first: in:7), 1 null (first: in:3), \
                          2 mismatch (first: in:2), 1 overflow (first: in:5)\n";
        assert!(quiet.stderr.contains(statistics) && !quiet.stderr.contains("warning"), "{quiet}");
    }
    #[cfg(feature = "parquet")]
    {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        folder.run(&["select", "n:int64=$.n", "s:string=$.s", "in", "-o", "out.parquet"]);
        let reader =
            SerializedFileReader::new(std::fs::File::open(folder.path("out.parquet")).unwrap()).unwrap();
        let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let pair = pairs.iter().find(|pair| pair.key == "warpath.columns").unwrap();
        assert_eq!(pair.value.as_deref(), Some(metadata));
    }
    // Null and nothing are not lost.
    let ran = folder.run(&["select", "n:json=$.n", "s=$.s", "none:int64=$.none", "in", "-o", "out.arrow"]);
    assert_eq!(ran.noted(), "");
    // Infinity is no number of JSON.
    let ran = pipe(&["select", "--format", "arrow", "f:float64=$"], b"1e400\n-1e400\n1e-400\n");
    let warning = "warning: column `f:float64`: 2 values not taken, null instead: 2 beyond the type (first: <stdin>:1)\n";
    assert!(ran.stderr.starts_with(warning), "{ran}");
}

#[test]
fn a_value_that_is_not_taken_may_end_the_run() {
    let folder = Folder::new(&[("in", RECORDS)]);
    let args = ["select", "n:int64=$.n", "in", "--on-mismatch", "fail", "-o", "out.arrow"];
    for size in ["1", "1MiB"] {
        let run = |more: &[&str]| folder.run(&[&args[..], &["--partition-size", size], more].concat());
        let failed = run(&[]);
        let message = "error: in:2:6: the value is not of the type int64, which column `n` has\n  {\"n\":\"1\",\"s\":7}\n       ^\n";
        failed.failed(4, "", message);
        assert_eq!(integers(&file(&folder.read("out.arrow"))["n"]), [Some(1)]);
        // The limit comes first.
        assert_eq!(run(&["-n", "1"]).ok(), "");
        run(&["-n", "2"]).failed(4, "", message);
    }
    let overflow = pipe(
        &["select", "n:int64=$", "--format", "arrow", "--on-mismatch", "fail"],
        b"1\n\n 99999999999999999999\n",
    );
    assert_eq!(overflow.code, 4);
    let message = "error: <stdin>:3:2: the number is beyond the type int64, which column `n` has";
    assert!(overflow.stderr.starts_with(message), "{overflow}");
    assert_eq!(stream(&overflow.stdout).num_rows(), 1);
    // A malformed record before it comes first.
    let ran = pipe(&["select", "n:int64=$", "--format", "arrow", "--on-mismatch", "fail"], b"1\n{\n\"\"\n");
    assert!(ran.stderr.starts_with("error: <stdin>:2:1: bracket is not closed"), "{ran}");
}

#[test]
fn a_record_that_is_not_taken_may_be_skipped() {
    for size in ["1", "40", "1MiB"] {
        let run = |more: &[&str]| {
            let args = [
                "select",
                "n:int64=$.n",
                "--on-mismatch",
                "skip",
                "--format",
                "arrow",
                "--partition-size",
                size,
            ];
            pipe(&[&args[..], more].concat(), RECORDS)
        };
        let ran = run(&[]);
        assert_eq!(ran.code, 0);
        let warning = "warning: column `n:int64`: 3 values not taken, their records skipped: 2 of another type \
                       (first: <stdin>:2), 1 beyond the type (first: <stdin>:5)\n";
        assert_eq!(ran.stderr, warning);
        let all = [Some(1), None, None, Some(i64::MIN)];
        assert_eq!(integers(&stream(&ran.stdout)["n"]), all);
        for (limit, count) in [("1", 1), ("2", 2), ("3", 3), ("4", 4), ("9", 4)] {
            assert_eq!(integers(&stream(&run(&["-n", limit]).stdout)["n"]), all[..count], "{limit} {size}");
        }
    }
}

#[test]
fn columns_with_types_may_be_text() {
    let batch = arrow(&["n:int64=$.n", "j:json=$.s", "--on-mismatch", "string"], RECORDS);
    let numbers = [
        Some("1"),
        Some("1"),
        None,
        Some("9223372036854775808"),
        Some("1.5"),
        None,
        Some("-9223372036854775808"),
    ];
    assert_eq!(strings(&batch["n"]), numbers.map(|text| text.map(str::to_owned)));
    assert_eq!(strings(&batch["j"])[0].as_deref(), Some("\"a\\\"\\u00e9\""));
    pipe(&["select", "n=$.n", "--on-mismatch", "skip"], b"").failed(
        2,
        "",
        "error: `--on-mismatch` is about types",
    );
}

#[test]
fn defaults_have_the_type_of_their_column() {
    let batch = arrow(&["n:int64=$.n ?? -1", "s:string=$.s ?? \"none\"", "t=$.s ?? 0"], RECORDS);
    let numbers = [Some(1), None, Some(-1), None, None, Some(-1), Some(i64::MIN)];
    assert_eq!(integers(&batch["n"]), numbers);
    assert_eq!(strings(&batch["s"])[3..5], [Some("none".to_owned()), Some("none".to_owned())]);
    assert_eq!(strings(&batch["t"])[3], Some("0".to_owned()));
    let wrong = ["select", "--format", "arrow", "n:int64=$.n ?? 1.5"];
    pipe(&wrong, b"").failed(2, "", "error: the default 1.5 of `n` is not a value of the type `int64`");
}
