//! `--input json`.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;

use crate::{Folder, pipe};

const DOCUMENT: &[u8] = b"{\n  \"items\": [\n    {\"id\": 1, \"tags\": [\"x\",\n      \"y\"]},\r\n    {\"id\": 2,\n     \"tags\": []}\n  ]\n}\n";

/// Small partitions are parts, large ones the document.
const SIZES: [&str; 3] = ["--partition-size=1", "--partition-size=9", "--partition-size=1MiB"];

#[test]
fn a_document_is_one_record() {
    let folder = Folder::new(&[("a.json", DOCUMENT)]);
    for size in SIZES {
        let run =
            |args: &[&str]| folder.run(&[&["query", "--input", "json", size], args, &["a.json"]].concat());
        assert_eq!(run(&["$.items[*].id"]).ok(), "1\n2\n");
        assert_eq!(run(&["--count", "$.items[*].tags[*]"]).ok(), "2\n");
        assert_eq!(run(&["--count", "$"]).ok(), "1\n");
        assert_eq!(run(&["-r", "$.items[*].tags[*]", "--limit", "1"]).ok(), "x\n");
        // A match is one line.
        assert_eq!(run(&["$.items[*].tags"]).ok(), "[\"x\",       \"y\"]\n[]\n");
        let id = |id: &str| String::from_utf8_lossy(DOCUMENT).find(&format!("\"id\": {id}")).unwrap() + 6;
        let offsets = format!("{}\t{}\t1\n{}\t{}\t2\n", id("1"), id("1") + 1, id("2"), id("2") + 1);
        assert_eq!(run(&["--offsets", "$.items[*].id"]).ok(), offsets);
        assert_eq!(
            run(&["--with-path", "$.items[*].id"]).ok(),
            "$['items'][0]['id']\t1\n$['items'][1]['id']\t2\n"
        );
        assert_eq!(run(&["-e", "$.items[*].nothing"]).code, 1);
    }
    let lines = folder.run(&["query", "$", "a.json"]);
    assert_eq!(lines.code, 4, "{lines}");
}

#[test]
fn a_document_is_one_row() {
    let folder = Folder::new(&[("a.json", DOCUMENT), ("b.json", b"{\"items\":\n[{}]}")]);
    for size in SIZES {
        let args = [
            "select",
            "--input=json",
            size,
            "ids=$.items[*].id",
            "first=$.items[0].id",
            "--",
            "a.json",
            "b.json",
        ];
        assert_eq!(folder.run(&args).ok(), "{\"ids\":[1,2],\"first\":1}\n{\"ids\":[],\"first\":null}\n");
    }
}

#[test]
fn what_is_no_plain_file_is_read_to_its_end() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(DOCUMENT).unwrap();
    let folder = Folder::new(&[("a.json.gz", &encoder.finish().unwrap())]);
    for size in SIZES {
        let args = ["query", "--input=json", size, "--with-path", "$.items[*].tags[1]"];
        let want = "$['items'][0]['tags'][1]\t\"y\"\n";
        assert_eq!(pipe(&args, DOCUMENT).ok(), want);
        assert_eq!(folder.run(&[&args[..], &["a.json.gz"]].concat()).ok(), want);
    }
}

#[test]
fn a_malformed_document_has_no_answers() {
    let bad = String::from_utf8_lossy(DOCUMENT).replace("\"tags\": []}", "\"tags\": [}");
    let folder = Folder::new(&[("good", DOCUMENT), ("bad", bad.as_bytes())]);
    for size in SIZES {
        let run = |args: &[&str]| {
            folder.run(
                &[&["query", "--input", "json", size, "$.items[*].id"], args, &["good", "bad", "good"]]
                    .concat(),
            )
        };
        let place = "bad:6:15: closing bracket does not match the opening one";
        run(&[]).failed(4, "1\n2\n", &format!("error: {place}\n       \"tags\": [}}\n"));
        run(&["--count"]).failed(4, "", &format!("error: {place}"));
        let warning = format!("warning: 1 malformed record skipped; first: {place}\n");
        run(&["--on-error=skip"]).failed(0, "1\n2\n1\n2\n", &warning);
    }
    let unclosed = pipe(&["query", "--input=json", "$"], b"[\n \"a\n\"]");
    unclosed.failed(4, "", "error: <stdin>:2:2: string is not closed by the end of the line\n   \"a\n   ^\n");
}

#[test]
fn explain_says_how_documents_are_answered() {
    let explain = |paths: &[&str]| {
        let ran = pipe(&[&["explain", "--input=json", "--device=cpu"], paths].concat(), b"");
        let runs_on = ran.ok().lines().find(|line| line.starts_with("runs on")).unwrap();
        ran.ok().replace(runs_on, "runs on cpu")
    };
    assert_snapshot!(format!(
        "{}----\n{}",
        explain(&["$.items[*].id", "$.items[*].tags[*]"]),
        explain(&["$.items[*].id", "$.total"])
    ));
}

#[test]
fn stats_say_why_a_document_was_one_record() {
    let folder = Folder::new(&[("a.json", DOCUMENT)]);
    let run = |path: &str| {
        folder.run(&["query", "--input=json", "--partition-size=9", "--stats", path, "a.json"]).stderr
    };
    assert!(!run("$.items[*].id").contains("note"));
    let note =
        "note        a.json: evaluated as one record, because $['items'][1] is not an array near the start\n";
    assert!(run("$.items[1][*].id").contains(note));
}

#[test]
fn what_is_of_lines_takes_no_document() {
    let folder = Folder::new(&[("a", b"[1]\n")]);
    folder.run(&["index", "build", "a", "-o", "a.wpi"]).ok();
    let refused = |args: &[&str]| folder.run(args).failed(2, "", "error: ");
    refused(&["index", "build", "--input=json", "a", "-o", "b.wpi"]);
    refused(&["index", "dump", "--input=json", "a"]);
    refused(&["query", "--input=json", "--index=a.wpi", "$", "a"]);
}

/// JSONTestSuite's n_single_space, n_structure_no_data and n_structure_UTF8_BOM_no_data, and more.
#[test]
fn an_empty_document_is_malformed_if_checks_are_strict() {
    for text in [&b" "[..], b"", b"\xef\xbb\xbf", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf \n"] {
        let folder = Folder::new(&[("a", text)]);
        let shown = text.escape_ascii();
        for args in [&["query", "$"][..], &["query", "--count", "$"], &["select", "x=$", "--"]] {
            let json = [&args[..1], &["--input", "json"], &args[1..]].concat();
            let answers = if args.contains(&"--count") { "0\n" } else { "" };
            assert_eq!(folder.run(&[&json[..], &["a"]].concat()).ok(), answers, "{shown}");
            assert_eq!(pipe(&[&json[..], &["-"]].concat(), text).ok(), answers, "{shown}");
            let strict = [&args[..1], &["--strict", "--input", "json"], &args[1..]].concat();
            let message = |name: &str| format!("error: {name}:1:1: no JSON value begins here\n");
            folder.run(&[&strict[..], &["a"]].concat()).failed(4, "", &message("a"));
            pipe(&[&strict[..], &["-"]].concat(), text).failed(4, "", &message("<stdin>"));
            let skip = [&strict[..1], &["--on-error", "skip"], &strict[1..], &["a"]].concat();
            folder.run(&skip).failed(0, answers, "warning: 1 malformed record skipped; first: a:1:1: ");
        }
    }
}
