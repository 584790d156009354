//! `--strict`, and `validate`: all of RFC 8259, and UTF-8.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;

use crate::{Folder, data, pipe};

const TEXT: &[u8] = b"{\"a\":1}\n\n{\"a\":02}\n{\"a\":\"\xff\"}\n{\"a\":3}\n";

#[test]
fn a_record_that_is_not_json_ends_the_answers() {
    let message = "error: <stdin>:3:7: number has a zero before its other digits\n";
    let warning = "warning: 2 malformed records skipped; first: <stdin>:3:7: number has a zero before its other digits\n";
    for (args, before, all) in [
        (&["query", "$.a"][..], "1\n", "1\n3\n"),
        (&["query", "--count", "$.a"], "", "2\n"),
        (&["query", "--count", "$"], "", "2\n"),
        (&["select", "a=$.a"], "{\"a\":1}\n", "{\"a\":1}\n{\"a\":3}\n"),
    ] {
        for size in ["1", "1MiB"] {
            let ran = |more: &[&str]| pipe(&[args, &["--partition-size", size], more].concat(), TEXT);
            assert_eq!(ran(&[]).code, 0);
            ran(&["--strict"]).failed(4, before, message);
            let skipping = ran(&["--strict", "--on-error", "skip"]);
            skipping.failed(0, all, warning);
            assert_eq!(skipping.stderr, warning);
        }
    }
}

#[test]
fn an_index_file_does_not_vouch_for_json() {
    let folder = Folder::new(&[("log", TEXT)]);
    folder.run(&["index", "build", "log", "-o", "log.wpi"]).ok();
    let args = ["query", "--index", "log.wpi", "$.a", "log", "--strict"];
    folder.run(&args).failed(4, "1\n", "error: log:3:7: number has a zero");
    let skipping = folder.run(&[&args[..], &["--on-error", "skip", "-q"]].concat());
    assert_eq!(skipping.ok(), "1\n3\n");
}

#[test]
fn what_is_valid_is_said_so() {
    assert_eq!(pipe(&["validate"], b"{}\n\n[1,2]").ok(), "2 records, 9 bytes: all valid\n");
    assert_eq!(pipe(&["validate", "-"], b"1\n").ok(), "1 record, 2 bytes: all valid\n");
    assert_eq!(pipe(&["validate"], b"").ok(), "0 records, 0 bytes: all valid\n");
    assert_eq!(pipe(&["validate", "--all"], b"1\n").ok(), "");
    // Every sort of input, and several of them.
    let text = std::fs::read(data("tweets.ndjson")).unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&text).unwrap();
    let zst = zstd::encode_all(&text[..], 1).unwrap();
    let folder = Folder::new(&[("a", &text), ("b.gz", &encoder.finish().unwrap()), ("c.zst", &zst)]);
    let said = format!("{} records, {} bytes: all valid\n", 3 * 58, 3 * text.len());
    for size in ["1", "1000", "1MiB"] {
        assert_eq!(folder.run(&["validate", "a", "b.gz", "c.zst", "--partition-size", size]).ok(), said);
    }
    assert_eq!(pipe(&["validate"], b"\xef\xbb\xbf{}\n").code, 0);
}

#[test]
fn the_first_malformed_record_is_shown() {
    let folder = Folder::new(&[("good", b"1\n"), ("log", TEXT), ("after", b"]")]);
    assert_snapshot!(folder.run(&["validate", "good", "log", "after"]));
    // What is always checked is checked, too.
    pipe(&["validate"], b"[1\n").failed(4, "", "error: <stdin>:1:1: bracket is not closed");
}

#[test]
fn malformed_records_are_listed() {
    let folder = Folder::new(&[("good", b"1\n"), ("log", TEXT), ("after", b"]")]);
    let all = "log:3:7: number has a zero before its other digits\n\
               log:4:7: bytes are not UTF-8\n\
               after:1:1: closing bracket without an opening one\n";
    for size in ["1", "1MiB"] {
        let ran = |more: &[&str]| {
            let args = ["validate", "good", "log", "after", "--partition-size", size];
            folder.run(&[&args[..], more].concat())
        };
        ran(&["--all"]).failed(4, all, "error: 3 of 6 records malformed\n");
        ran(&["--limit", "9"]).failed(4, all, "error: 3 of 6 records malformed\n");
        ran(&["--limit", "3"]).failed(4, all, "error: 3 records malformed; stopped there\n");
        let two: String = all.lines().take(2).map(|line| format!("{line}\n")).collect();
        ran(&["-n", "2"]).failed(4, &two, "error: 2 records malformed; stopped there\n");
    }
}

#[test]
fn the_test_data_is_judged_alike_in_all_partitions() {
    let file = data("bad.ndjson");
    let ran = |size: &str| pipe(&["validate", "--all", "--partition-size", size, &file], b"");
    let whole = ran("1GiB");
    assert_eq!((whole.code, whole.text().lines().count()), (4, 71));
    assert!(ran("1") == whole && ran("100") == whole, "{whole}");
}

#[test]
fn statistics_say_what_was_checked() {
    let said = |args: &[&str]| pipe(args, b"1\n").stderr;
    let checks = "\nchecks      all of RFC 8259, and UTF-8; on the host, as part of the evaluation\n";
    assert!(said(&["validate", "--stats"]).contains(checks));
    assert!(said(&["query", "--strict", "--stats", "$"]).contains(checks));
    assert!(!said(&["query", "--stats", "$"]).contains("checks"));
}

#[test]
fn what_cannot_be_read_is_no_verdict() {
    let folder = Folder::new(&[("good", b"1\n")]);
    folder.run(&["validate", "good", "missing"]).failed(2, "", "error: missing: ");
    folder.run(&["validate", "--all", "good", "missing"]).failed(2, "", "error: missing: ");
}

#[test]
fn explain_strict() {
    let said = |args: &[&str]| {
        let text = pipe(args, b"").ok().to_owned();
        text.lines().filter(|line| line.contains("validate")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        said(&["explain", "--strict", "--device", "cpu", "$.a"]),
        [
            "  cpu     validate  each record by RFC 8259, its bytes as UTF-8 (the worker that read it, on the host)"
        ]
    );
    assert!(said(&["explain", "--device", "cpu", "$.a"]).is_empty());
    let folder = Folder::new(&[("log", b"1\n")]);
    folder.run(&["index", "build", "log", "-o", "log.wpi"]).ok();
    let ran = folder.run(&["explain", "--strict", "--device", "cpu", "--index", "log.wpi", "$.a"]);
    assert!(ran.ok().contains("\n  cpu     validate  all of the text"), "{ran}");
}

#[test]
fn dumps_show_what_strict_finds() {
    let ran = |args: &[&str]| pipe(args, b"[01]\n").ok().to_owned();
    assert!(ran(&["index", "dump", "--strict"]).contains("number has a zero"));
    assert!(!ran(&["index", "dump"]).contains("number has a zero"));
}
