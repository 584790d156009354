//! `warpath select` in binary formats: the output is read again, and compared with the rows of text.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;

use crate::{Folder, data, pipe};

/// Everything that a reader gives, as one batch.
fn whole<E: std::fmt::Debug>(
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
) -> RecordBatch {
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.num_rows() > 0));
    concat_batches(&schema, &batches).unwrap()
}

pub fn stream(bytes: &[u8]) -> RecordBatch {
    let reader = StreamReader::try_new(bytes, None).unwrap();
    whole(reader.schema(), reader)
}

pub fn file(bytes: &[u8]) -> RecordBatch {
    let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
    whole(reader.schema(), reader)
}

#[cfg(feature = "parquet")]
pub fn parquet(folder: &Folder, name: &str) -> RecordBatch {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let file = std::fs::File::open(folder.path(name)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    whole(reader.schema().clone(), reader.build().unwrap())
}

/// The formats that files can have, and how they are read.
type Format = (&'static str, fn(&Folder, &str) -> RecordBatch);
const FORMATS: &[Format] = &[
    ("arrow", |folder, name| file(&folder.read(name))),
    #[cfg(feature = "parquet")]
    ("parquet", parquet),
];

/// Columns of JSON text, as the rows that NDJSON has.
fn ndjson(batch: &RecordBatch) -> String {
    let cell = |column: &dyn Array, row: usize| match column.is_valid(row) {
        true => column.as_string::<i32>().value(row).to_owned(),
        false => "null".to_owned(),
    };
    let mut rows = String::new();
    for row in 0..batch.num_rows() {
        for (i, (field, column)) in batch.schema().fields().iter().zip(batch.columns()).enumerate() {
            rows += if i == 0 { "{" } else { "," };
            rows += &format!("\"{}\":", field.name());
            if let DataType::List(_) = field.data_type() {
                let items = column.as_list::<i32>().value(row);
                let items: Vec<String> = (0..items.len()).map(|at| cell(&items, at)).collect();
                rows += &format!("[{}]", items.join(","));
            } else {
                rows += &cell(column, row);
            }
        }
        rows += "}\n";
    }
    rows
}

/// The output of every format has the content of NDJSON, for all partitions and limits.
#[test]
fn columns_are_the_rows() {
    let folder = Folder::new(&[]);
    for name in
        ["tweets.ndjson", "people.ndjson", "maps.ndjson", "products.ndjson", "bad.ndjson", "empty.ndjson"]
    {
        let input = data(name);
        let run = |more: &[&str]| {
            let mut args = vec!["select", "--on-error", "skip", "-q"];
            args.extend(more);
            // Text has no types, and JSON in columns has a type.
            let columns = match more.contains(&"--format") {
                true => ["all:json=$", "lang:json=$.user.lang", "each:json=$.*", "two:json=$['id','name']"],
                false => ["all=$", "lang=$.user.lang", "each=$.*", "two=$['id','name']"],
            };
            args.extend(columns);
            args.extend(["--", &input]);
            folder.run(&args)
        };
        for (size, limit) in [("1", "1000000"), ("700", "7"), ("1MiB", "1"), ("1MiB", "100"), ("1MiB", "0")] {
            let more = ["--partition-size", size, "--limit", limit];
            let rows = run(&more);
            // Values that are not UTF-8 are null in columns.
            let rows: Vec<&[u8]> = rows.stdout.split_inclusive(|byte| *byte == b'\n').collect();
            let check = |batch: RecordBatch| {
                let made = ndjson(&batch);
                let made: Vec<&str> = made.split_inclusive('\n').collect();
                assert_eq!(made.len(), rows.len(), "{name}");
                for (made, row) in made.iter().zip(&rows) {
                    assert!(made.as_bytes() == *row || str::from_utf8(row).is_err(), "{name}: {made}");
                }
            };
            let arrow = [&["--format", "arrow"], &more[..]].concat();
            check(stream(&run(&arrow).stdout));
            check(stream(&run(&[&arrow[..], &["-o", "-"]].concat()).stdout));
            for (format, read) in FORMATS {
                let args = ["--format", format, "-o", "out"];
                assert_eq!(run(&[&args, &more[..]].concat()).ok(), "");
                check(read(&folder, "out"));
            }
        }
    }
}

const RECORDS: &[u8] = b"{\"i\":1,\"f\":1.5,\"s\":\"\\u00e9\",\"b\":true,\"l\":[1,\"x\",null]}
{\"i\":\"1\",\"f\":3,\"s\":7,\"b\":null,\"l\":[]}

{\"i\":9223372036854775808,\"l\":[-3]}
";

const TYPED: [&str; 7] = [
    "i:int64=$.i",
    "f:float64=$.f",
    "s:string=$.s",
    "b:bool=$.b",
    "j:json=$.s",
    "l:int64=$.l[*]",
    "plain=$.i",
];

#[test]
fn types_are_as_asked_for() {
    let ran = pipe(&[&["select", "-q", "--format", "arrow"], &TYPED[..]].concat(), RECORDS);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let batch = stream(&ran.stdout);
    let list = DataType::List(Field::new_list_field(DataType::Int64, true).into());
    let fields = [
        ("i", DataType::Int64),
        ("f", DataType::Float64),
        ("s", DataType::Utf8),
        ("b", DataType::Boolean),
        ("j", DataType::Utf8),
        ("l", list),
        ("plain", DataType::Utf8),
    ];
    let fields = fields.map(|(name, kind)| Field::new(name, kind, true));
    assert_eq!(*batch.schema(), Schema::new(fields.to_vec()));
    let integers = |array: &dyn Array| array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
    assert_eq!(integers(&batch["i"]), [Some(1), None, None]);
    let floats: Vec<_> = batch["f"].as_primitive::<Float64Type>().iter().collect();
    assert_eq!(floats, [Some(1.5), Some(3.0), None]);
    let strings = |name: &str| -> Vec<Option<String>> {
        batch[name].as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    };
    assert_eq!(strings("s"), [Some("é".to_owned()), None, None]);
    assert_eq!(strings("j"), [Some("\"\\u00e9\"".to_owned()), Some("7".to_owned()), None]);
    let plain = ["1", "1", "9223372036854775808"].map(|text| Some(text.to_owned()));
    assert_eq!(strings("plain"), plain);
    assert_eq!(batch["b"].as_boolean().iter().collect::<Vec<_>>(), [Some(true), None, None]);
    let lists: Vec<_> = batch["l"].as_list::<i32>().iter().map(|list| integers(&list.unwrap())).collect();
    assert_eq!(lists, [vec![Some(1), None, None], vec![], vec![Some(-3)]]);
}

/// The output before a fault can be read, and so can an empty output.
#[test]
fn what_is_written_is_whole() {
    let folder = Folder::new(&[("good", b"{\"a\":1}\n{\"a\":2}\n{\"a\":3\n{\"a\":4}\n"), ("old", b"old")]);
    for (format, read) in FORMATS {
        let rows = || read(&folder, "out").num_rows();
        let run = |more: &[&str]| {
            folder.run(&[&["select", "a:int64=$.a", "--format", format, "-o", "out"], more].concat())
        };
        for size in ["1", "1MiB"] {
            // The old file stays.
            folder.write("out", b"old");
            let message = "error: good:3:1: bracket is not closed";
            run(&["--partition-size", size, "--", "good"]).failed(4, "", message);
            assert_eq!(folder.read("out"), b"old");
            let skipped = "warning: 1 malformed record skipped";
            run(&["--partition-size", size, "--on-error", "skip", "--", "good"]).failed(0, "", skipped);
            assert_eq!(rows(), 3);
            // Missing files are found before anything is read.
            run(&["--", "good", "missing"]).failed(2, "", "error: missing: ");
            assert_eq!(rows(), 3);
        }
        assert_eq!(run(&["--limit", "2", "--", "good"]).ok(), "");
        assert_eq!(rows(), 2);
        assert_eq!(run(&[]).ok(), "");
        assert_eq!(rows(), 0);
    }
    let args = ["select", "a:int64=$.a", "--format", "arrow", "-o", "old", "--", "missing"];
    folder.run(&args).failed(2, "", "error: missing: ");
    assert_eq!(folder.read("old"), b"old");
}

/// Batches are of many partitions where these have few rows.
#[test]
fn batches_are_not_as_small_as_partitions() {
    let records = "{\"a\":1}\n".repeat(20_000);
    let args = ["select", "--format", "arrow", "--partition-size", "80", "a:int64=$.a"];
    let ran = pipe(&args, records.as_bytes());
    let rows: Vec<usize> = StreamReader::try_new(&ran.stdout[..], None)
        .unwrap()
        .map(|batch| batch.unwrap().num_rows())
        .collect();
    assert_eq!(rows.iter().sum::<usize>(), 20_000);
    assert_eq!(rows.len(), 3, "{rows:?}");
}

/// The program writes batches from parts. The library's writer, given what the library reads, writes the same
/// bytes: for columns in parts, and for lists, which the library encodes.
#[test]
fn a_file_is_what_the_library_writes() {
    let record = |at: usize| match at % 7 {
        3 => format!("{{\"text\":null,\"id\":{at},\"ids\":[]}}\n"),
        at => format!("{{\"text\":\"caf\u{e9} {at}\",\"ok\":{},\"ids\":[{at},{at}]}}\n", at % 2 == 0),
    };
    let folder = Folder::new(&[("in", (0..20_000).map(record).collect::<String>().as_bytes())]);
    let plain = ["id:int64=$.id", "text:string=$.text", "ok:bool=$.ok"];
    let lists = ["text:string=$.text", "ids:int64=$.ids[*]"];
    for columns in [&plain[..], &lists] {
        for size in ["1KiB", "1MiB"] {
            let args = ["select", "--format", "arrow", "-o", "out", "--partition-size", size, "--skip", "5"];
            assert_eq!(folder.run(&[&args[..], columns, &["--", "in"]].concat()).ok(), "");
            let written = folder.read("out");
            let reader = FileReader::try_new(Cursor::new(&written), None).unwrap();
            let metadata = reader.custom_metadata().clone();
            let mut library = FileWriter::try_new(Vec::new(), &reader.schema()).unwrap();
            reader.for_each(|batch| library.write(&batch.unwrap()).unwrap());
            metadata.into_iter().for_each(|(key, value)| library.write_metadata(key, value));
            assert!(library.into_inner().unwrap() == written, "{columns:?}, {size}");
        }
    }
}

/// `script` runs a program on a terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_no_binary() {
    let folder = Folder::new(&[("a", b"{\"a\":1}\n")]);
    let ran = |args: &str| {
        // A bar of progress is for runs that take long.
        let command = format!("{} select --progress never 'a=$.a' {args} -- a", crate::PROGRAM);
        let mut script = std::process::Command::new("script");
        script.current_dir(folder.path("")).args(["--quiet", "--return", "--command", &command, "/dev/null"]);
        let output = script.stdin(std::process::Stdio::null()).output().expect("`script`, of util-linux");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let refused = "error: `--format arrow` is binary and is not written to a terminal";
    for args in ["--color never --format arrow", "--color never --format arrow -o -"] {
        let (code, said) = ran(args);
        assert!(code == Some(2) && said.starts_with(refused), "{code:?}, {said}");
    }
    assert_eq!(ran("--format arrow -o out"), (Some(0), String::new()));
    assert_eq!(file(&folder.read("out")).num_rows(), 1);
    assert_eq!(ran("--color never --format ndjson"), (Some(0), "{\"a\":1}\r\n".to_owned()));
}
