//! Columns of text in tables, read as lines.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray,
};

use crate::{Folder, pipe};

/// Rows of JSON: a null, blank text, a value on several lines, and one value twice.
const ROWS: [Option<&str>; 7] = [
    Some("{\"a\":1}"),
    None,
    Some("{\n \"a\":\r\n 2\n}\n"),
    Some(""),
    Some("{\"a\":\"x\\ny\"}"),
    Some("{\"a\":1}"),
    Some("{\"b\":0}"),
];

const RESULTS: &str = "$['a']\t1\n$['a']\t2\n$['a']\t\"x\\ny\"\n$['a']\t1\n";

fn batch(rows: &[Option<&str>]) -> RecordBatch {
    let bytes: Vec<Option<&[u8]>> = rows.iter().map(|row| row.map(str::as_bytes)).collect();
    let dictionary: DictionaryArray<Int8Type> = rows.iter().copied().collect();
    let columns: [(&str, ArrayRef); 6] = [
        ("number", Arc::new(Int64Array::from_iter_values(0..rows.len() as i64))),
        ("utf8", Arc::new(StringArray::from(rows.to_vec()))),
        ("large", Arc::new(LargeStringArray::from(rows.to_vec()))),
        ("view", Arc::new(StringViewArray::from(rows.to_vec()))),
        ("binary", Arc::new(BinaryArray::from(bytes))),
        ("dictionary", Arc::new(dictionary)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

/// The batches without their dictionaries, which a file cannot replace.
fn plain(batches: &[RecordBatch]) -> Vec<RecordBatch> {
    match batches {
        [one] => vec![one.clone()],
        several => several.iter().map(|batch| batch.project(&[0, 1, 2, 3, 4]).unwrap()).collect(),
    }
}

fn arrow_file(batches: &[RecordBatch]) -> Vec<u8> {
    let batches = plain(batches);
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn arrow_stream(batches: &[RecordBatch]) -> Vec<u8> {
    let batches = plain(batches);
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn parquet(batches: &[RecordBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batches[0].schema(), None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    bytes
}

fn folder(batches: &[RecordBatch]) -> Folder {
    Folder::new(&[
        ("t.parquet", &parquet(batches)),
        ("t.arrow", &arrow_file(batches)),
        ("t.arrows", &arrow_stream(batches)),
        ("lines", b"{\"a\":1}\n"),
    ])
}

const TABLES: [(&str, &str); 3] = [("parquet", "t.parquet"), ("arrow", "t.arrow"), ("arrow", "t.arrows")];

#[test]
fn each_value_of_a_column_is_a_record() {
    let folder = folder(&[batch(&ROWS)]);
    for (format, file) in TABLES {
        for column in ["utf8", "large", "view", "binary", "dictionary"] {
            for size in ["1", "1MiB"] {
                let input = ["--input", format, "--column", column, "--partition-size", size];
                let run = |args: &[&str]| folder.run(&[&args[..1], &input, &args[1..], &[file]].concat());
                assert_eq!(run(&["query", "--with-path", "$.a"]).ok(), RESULTS, "{file} {column}");
                // Blank rows are no records.
                let rows = "{\"a\":1}\n{\"a\":2}\n{\"a\":\"x\\ny\"}\n{\"a\":1}\n{\"a\":null}\n";
                assert_eq!(run(&["select", "a=$.a", "--"]).ok(), rows, "{file} {column}");
                assert_eq!(run(&["query", "--where", "$.a == 2", "--count", "$.a"]).ok(), "1\n");
            }
        }
    }
    let (input, stream) = (["--input", "arrow", "--column", "utf8"], folder.read("t.arrows"));
    let piped = pipe(&[&["query", "--with-path"][..], &input, &["$.a"]].concat(), &stream);
    assert_eq!(piped.ok(), RESULTS);
}

/// Numbers of lines are numbers of rows, over batches and blank rows.
#[test]
fn a_malformed_value_is_found_by_its_row() {
    let more = [None, Some("{\"a\":3}"), Some("{\"a\":\"x\ny\"}"), Some("{\"a\":4}")];
    let folder = folder(&[batch(&ROWS), batch(&more)]);
    for (format, file) in TABLES {
        let args = ["query", "--input", format, "--column", "utf8", "$.a", file];
        let before = "1\n2\n\"x\\ny\"\n1\n3\n";
        let message = format!("error: {file}:10:6: string is not closed by the end of the line\n");
        folder.run(&args).failed(4, before, &message);
        let skipped = folder.run(&[&args[..], &["--on-error", "skip"]].concat());
        assert_eq!((skipped.code, skipped.text()), (0, format!("{before}4\n").as_str()));
    }
}

#[test]
fn what_is_no_column_of_text_is_refused() {
    let folder = folder(&[batch(&ROWS)]);
    let named = "--column=utf8";
    for (args, code, message) in [
        (
            &["--input=parquet", "--column=number", "t.parquet"][..],
            4,
            "t.parquet: the column `number` has the type Int64;",
        ),
        (&["--input=parquet", "--column=none", "t.parquet"], 4, "t.parquet: there is no column `none`"),
        (&["--input=arrow", "--column=none", "t.arrows"], 4, "t.arrows: there is no column `none`"),
        (
            &["--input=arrow", named, "t.parquet"],
            4,
            "t.parquet: is a Parquet file, not an Arrow file or stream",
        ),
        (&["--input=parquet", named, "lines"], 4, "lines: is not a Parquet file"),
        (&["--input=parquet", named, "missing"], 2, "missing: "),
        (&[named, "t.parquet"], 2, "`--column` requires `--input parquet`"),
        (&["--follow", "--input=parquet", named, "t.parquet"], 2, "`--follow` requires lines of JSON"),
        (
            &["--input=ndjson", "t.parquet"],
            4,
            "t.parquet: is a Parquet file, not JSON in UTF-8\n  help: `--input parquet` reads its rows",
        ),
    ] {
        folder.run(&[&["query", "$.a"], args].concat()).failed(code, "", &format!("error: {message}"));
    }
    let piped = pipe(&["query", "--input=arrow", named, "$.a"], &folder.read("t.arrow"));
    piped.failed(
        4,
        "",
        "error: <stdin>: is an Arrow file in a pipe; only an Arrow stream can be read from one\n",
    );
    // A folder stands for the tables in it.
    folder.write("d/a.parquet", &folder.read("t.parquet"));
    folder.write("d/b.json", b"no table");
    let all = folder.run(&["query", "--count", "--input=parquet", named, "$.a", "d"]);
    assert_eq!(all.ok(), "4\n");
}

/// A batch of a table has few rows if they are long. These values are 2.8 GB, more than one array holds.
#[test]
fn long_values_are_read_in_parts() {
    let text = format!("{{\"a\":\"{}\"}}", "x".repeat(40_000));
    let values = DictionaryArray::new(vec![0; 70_000].into(), Arc::new(StringArray::from(vec![&*text])));
    let values: DictionaryArray<Int32Type> = values;
    let batch = RecordBatch::try_from_iter([("text", Arc::new(values) as ArrayRef)]).unwrap();
    // Without the schema of Arrow, the column is read as one of strings.
    let options = parquet::arrow::arrow_writer::ArrowWriterOptions::new().with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let writer = parquet::arrow::ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options);
    let mut writer = writer.unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    assert!(bytes.len() < 1 << 20);
    let folder = Folder::new(&[("t.parquet", &bytes)]);
    let args = ["query", "-n", "300", "--input=parquet", "--column=text", "$.a", "t.parquet"];
    assert_eq!(folder.run(&args).ok(), format!("{}\n", &text[5..text.len() - 1]).repeat(300));
}
