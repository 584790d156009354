//! `warpath schema`: every format, drift, and differences.

use insta::assert_snapshot;

use super::{Folder, data, pipe};

/// Events that drift: types change, members come and go, an object is a map.
fn events() -> Folder {
    let mut first = String::new();
    for i in 0..40 {
        first += &format!(
            "{{\"id\":{i},\"at\":\"2026-03-{:02}\",\"tags\":[\"a\",\"b\"],\"scores\":{{\"u{i}\":{}}},\"user\":{{\"name\":\"N{}\",\"ok\":true}}}}\n",
            i % 28 + 1,
            i * 2,
            i % 3,
        );
    }
    let second = "\
{\"id\":\"x7\",\"at\":null,\"tags\":[],\"user\":{\"name\":\"it's\",\"ok\":false,\"it's\":1.5}}

{\"id\":18446744073709551616,\"at\":\"2026-04-01\",\"tags\":[null],\"user\":null}
";
    Folder::new(&[("one.ndjson", first.as_bytes()), ("two.ndjson", second.as_bytes())])
}

#[test]
fn every_format() {
    let folder = events();
    for format in ["tree", "table", "ndjson", "json-schema", "arrow", "parquet", "sql"] {
        let ran = folder.run(&["schema", "--format", format, "one.ndjson", "two.ndjson"]);
        assert_snapshot!(format!("schema_{format}"), ran);
    }
}

#[test]
fn people_as_a_tree() {
    let people = data("people.ndjson");
    let folder = Folder::new(&[("people.ndjson", &std::fs::read(people).unwrap())]);
    assert_snapshot!(folder.run(&["schema", "people.ndjson"]));
}

#[test]
fn any_number_of_workers_and_any_partition_gives_the_same() {
    let folder = events();
    let whole = folder.run(&["schema", "--format", "ndjson", "one.ndjson", "two.ndjson"]);
    assert_eq!(whole.code, 0);
    for workers in ["1", "2", "5"] {
        for size in ["1", "100", "4KiB"] {
            let args = ["schema", "--format", "ndjson", "--workers", workers, "--partition-size", size];
            let ran = folder.run(&[&args[..], &["one.ndjson", "two.ndjson"]].concat());
            assert_eq!(ran, whole);
        }
    }
}

#[test]
fn malformed_records() {
    let text = b"{\"a\":1}\n{\"a\":02}\n{\"a\":\"\x01\"}\n{\"b\":1\n";
    let folder = Folder::new(&[("in.ndjson", text)]);
    assert_snapshot!("schema_fails", folder.run(&["schema", "in.ndjson"]));
    assert_snapshot!("schema_skips", folder.run(&["schema", "--on-error", "skip", "in.ndjson"]));
    let strict = folder.run(&["schema", "--on-error", "skip", "--strict", "in.ndjson"]);
    assert_snapshot!("schema_skips_strictly", strict);
    assert_snapshot!("schema_limit", folder.run(&["schema", "-n", "1", "in.ndjson"]));
}

#[test]
fn documents() {
    let text = b"[\n  {\"id\": 1},\n  {\"id\":\n    \"x\"}\n]\n";
    let folder = Folder::new(&[("in.json", text), ("bad.json", b"[1,\n 2\n"), ("more.json", b"{\"id\":2}")]);
    let args = ["schema", "--input", "json", "--format", "ndjson"];
    assert_snapshot!("schema_documents", folder.run(&[&args[..], &["in.json", "more.json"]].concat()));
    assert_snapshot!("schema_bad_document", folder.run(&[&args[..], &["bad.json"]].concat()));
}

#[test]
fn differences() {
    let folder = events();
    assert_snapshot!("schema_diff", folder.run(&["schema", "diff", "one.ndjson", "two.ndjson"]));
    let same = folder.run(&["schema", "diff", "one.ndjson", "one.ndjson"]);
    assert_eq!((same.code, same.stdout, same.stderr), (0, vec![], String::new()));
    // Saved schemas are compared as inputs are.
    let saved = folder.run(&["schema", "--format", "ndjson", "-o", "one.schema", "one.ndjson"]);
    assert_eq!((saved.code, saved.stderr), (0, String::new()));
    let saved = folder.run(&["schema", "diff", "one.schema", "one.ndjson"]);
    assert_eq!((saved.code, saved.stdout, saved.stderr), (0, vec![], String::new()));
    let with_saved = folder.run(&["schema", "diff", "one.schema", "two.ndjson"]);
    assert_eq!(with_saved, folder.run(&["schema", "diff", "one.ndjson", "two.ndjson"]));
    folder.write("bad.schema", b"{\"path\":\"$\",\"count\":1,\"depth\":0}\n");
    assert_snapshot!("schema_bad_saved", folder.run(&["schema", "diff", "bad.schema", "one.ndjson"]));
}

/// Records with names of their own are no map, so that what goes is seen.
#[test]
fn flat_records_keep_their_columns() {
    let record = |i: usize, time: &str| format!("{{{time}\"level\":\"info\",\"a{i}\":\"x\"}}\n");
    let all = |time: &str| (0..40).map(|i| record(i, time)).collect::<String>();
    let (before, after) = (all("\"ts\":\"2026-11-27T10:00:00Z\","), all(""));
    let by_id: String = (0..40).map(|i| format!("{{\"by_id\":{{\"u{i}\":1}}}}\n")).collect();
    let folder = Folder::new(&[("a", before.as_bytes()), ("b", after.as_bytes()), ("c", by_id.as_bytes())]);
    let sql = folder.run(&["schema", "--format", "sql", "a"]).ok().to_owned();
    assert!(
        sql.contains("\"ts\" TIMESTAMP") && sql.contains("\"a39\" VARCHAR") && !sql.contains("MAP"),
        "{sql}"
    );
    let diff = folder.run(&["schema", "diff", "a", "b"]);
    assert_eq!((diff.code, diff.text()), (1, "- $.ts: time (a:1)\n"), "{diff}");
    // Other objects are maps, unless the option keeps their names.
    assert!(folder.run(&["schema", "c"]).ok().contains("40  object; map"));
    assert!(folder.run(&["schema", "--no-maps", "c"]).ok().contains("u39"));
    folder.run(&["select", "--auto", "--no-maps", "c", "-o", "c.parquet"]).ok();
    let names = folder.read("c.parquet");
    assert!(names.windows(3).any(|name| name == b"u39"));
}

#[test]
fn nothing_to_describe() {
    let folder = Folder::new(&[("empty.ndjson", b"\n\n")]);
    for format in ["tree", "json-schema", "arrow", "sql"] {
        let ran = folder.run(&["schema", "--format", format, "empty.ndjson"]);
        assert_snapshot!(format!("schema_of_nothing_{format}"), ran);
    }
}

/// A table has a schema already. Its bytes are no lines.
#[test]
fn tables_are_not_compared() {
    let folder = Folder::new(&[("a", b"{}\n"), ("b", b"{}\n")]);
    for format in ["parquet", "arrow"] {
        let ran = folder.run(&["schema", "diff", "--input", format, "a", "b"]);
        ran.failed(
            2,
            "",
            "error: this command reads no columns of tables; `--input` is `ndjson` or `json` here",
        );
    }
    assert_eq!(folder.run(&["schema", "diff", "--input", "json", "a", "b"]).ok(), "");
}

/// A document on several lines is not one record a line, and `--input json` is the advice.
#[test]
fn a_document_on_several_lines_is_told_from_a_malformed_record() {
    let folder = Folder::new(&[("pretty.json", b"{\n  \"a\": 1\n}\n")]);
    for args in [&["schema", "pretty.json"][..], &["select", "--auto", "pretty.json", "-o", "x.parquet"]] {
        let ran = folder.run(args);
        assert_eq!(ran.code, 4, "{args:?}");
        assert!(ran.stderr.contains("`--input json` reads it"), "{}", ran.stderr);
    }
}

/// An empty document has no value, and strict mode requires one.
#[test]
fn an_empty_document_is_malformed_in_strict_mode() {
    let folder = Folder::new(&[("empty", b""), ("blank", b" \n\n"), ("one", b"{\"a\":1}")]);
    for file in ["empty", "blank"] {
        for args in [
            &["schema", file][..],
            &["schema", "diff", file, "one"],
            &["schema", "diff", "one", file],
            &["query", "$", file],
        ] {
            let strict = [args, &["--input", "json", "--strict"]].concat();
            folder.run(&strict).failed(4, "", &format!("error: {file}:1:1: no JSON value begins here"));
        }
        // Otherwise it has no results.
        assert_eq!(folder.run(&["schema", file, "--input", "json"]).code, 0);
        assert_eq!(folder.run(&["schema", file, "--strict"]).code, 0);
    }
    let skipped =
        folder.run(&["schema", "--input", "json", "--strict", "--on-error", "skip", "empty", "one"]);
    assert!(skipped.code == 0 && skipped.stderr.contains("1 malformed record skipped"), "{skipped}");
}

#[test]
fn standard_input_is_one_of_the_two() {
    let folder = Folder::new(&[("one", b"{\"a\":1}\n")]);
    let both = folder.run_with(&["schema", "diff", "-", "-"], b"{\"a\":1}\n");
    both.failed(2, "", "error: `-` is given twice, and standard input can be read only once");
    assert_eq!(folder.run_with(&["schema", "diff", "-", "one"], b"{\"a\":1}\n").ok(), "");
}

/// Columns are as wide as their characters are on a terminal.
#[test]
fn wide_characters_are_aligned() {
    let records = "{\"日本\":\"日本\",\"a\":[1]}\n{\"日本\":\"x\",\"a\":[]}\n";
    for format in ["tree", "table"] {
        let printed = pipe(&["schema", "--format", format], records.as_bytes());
        assert_snapshot!(format!("schema_wide_{format}"), printed.ok());
    }
}

/// A path in place of a file is an error that says so.
#[test]
fn paths_are_no_files() {
    let folder = Folder::new(&[("in", b"{}\n")]);
    for command in ["schema", "head", "validate"] {
        folder.run(&[command, "$.user", "in"]).failed(
            2,
            "",
            "error: `$.user` is a path, and no file\n  help: ",
        );
    }
    folder.run(&["sample", "2", "$.user", "in"]).failed(
        2,
        "",
        "error: `$.user` is a path, and no file\n  help",
    );
}

#[test]
fn a_lone_surrogate_is_one_character() {
    let ran = pipe(&["schema"], b"{\"s\":\"a\\ud800b\",\"\\udc00\":1}\n");
    assert!(ran.ok().contains("\"a\u{fffd}b\""), "{ran}");
}
