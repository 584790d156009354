//! Faults of an input: found, reported with their position, and contained.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Folder, data, pipe};

#[test]
fn a_malformed_record_ends_the_answers() {
    for (record, byte, reason) in [
        (r#"{"a":"never closed}"#, 6, "string is not closed by the end of the line"),
        (r#"{"a":"x\"#, 8, "line ends in the middle of an escape"),
        (r#"{"a":[1,2}"#, 10, "closing bracket does not match the opening one"),
        (r#"{"a":[1,2]"#, 1, "bracket is not closed by the end of the line"),
        (r#"{"a":1}}"#, 8, "closing bracket without an opening one"),
        (r#"{"a":1}{"a":2}"#, 8, "a second value begins after the record has ended"),
        (r#"{"a":1},"#, 8, "`:` or `,` outside any object or array"),
        // A lone carriage return is white space and ends no line.
        ("[1]\r[2]", 5, "a second value begins after the record has ended"),
    ] {
        for last in ["", "\n{\"a\":3}\n"] {
            let text = format!("{{\"a\":1}}\n\n{record}{last}");
            for size in ["1", "1MiB"] {
                let ran = |more: &[&str]| {
                    let args = [&["query", "$.a", "--partition-size", size][..], more].concat();
                    pipe(&args, text.as_bytes())
                };
                ran(&[]).failed(4, "1\n", &format!("error: <stdin>:3:{byte}: {reason}\n"));
                ran(&["--count"]).failed(4, "1\n", &format!("error: <stdin>:3:{byte}: {reason}\n"));
                let answers = if last.is_empty() { "1\n" } else { "1\n3\n" };
                let warning =
                    format!("warning: 1 malformed record skipped; first: <stdin>:3:{byte}: {reason}\n");
                let skipping = ran(&["--on-error", "skip"]);
                skipping.failed(0, answers, &warning);
                assert_eq!(skipping.stderr, warning);
                assert_eq!(ran(&["--on-error", "skip", "-q"]).ok(), answers);
            }
        }
    }
}

#[test]
fn too_deep_is_malformed() {
    let nested = |depth: usize| format!("{}{}\n", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(pipe(&["query", "-c", "$"], nested(1024).as_bytes()).ok(), "1\n");
    let ran = pipe(&["query", "-c", "$"], nested(1025).as_bytes());
    ran.failed(4, "0\n", "error: <stdin>:1:1025: containers nest deeper than 1024");
}

#[test]
fn the_place_is_shown() {
    insta::assert_snapshot!(pipe(&["query", "$.a"], b"{\"a\":1}\n{\"\xe2\x98\xba\":[\"x\", {\"b\":1]}\n"));
}

#[test]
fn lines_count_from_the_start_of_their_file() {
    let folder = Folder::new(&[("a", b"1\n2\n"), ("b", b"\n\n3\n]\n")]);
    folder.run(&["query", "$", "a", "b"]).failed(4, "1\n2\n3\n", "error: b:4:1: closing bracket without");
}

#[test]
fn the_test_data_is_judged_alike_in_all_partitions() {
    let file = data("bad.ndjson");
    for action in ["fail", "skip"] {
        let ran =
            |size| pipe(&["query", "$.line", "--on-error", action, "--partition-size", size, &file], b"");
        let whole = ran("1GiB");
        assert_eq!(whole.code, if action == "fail" { 4 } else { 0 });
        assert!(ran("1") == whole && ran("100") == whole, "{whole}");
    }
}

#[test]
fn what_is_not_checked_passes_through() {
    let ran = pipe(&["query", "$.a"], b"{\"a\":\"\xff\xfe\"}\n{\"a\":\"x\0y\"}\n{\"a\":\r1\r}\r\n");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, b"\"\xff\xfe\"\n\"x\0y\"\n1\n");
    let raw = pipe(&["query", "-r", "$.a"], b"{\"a\":\"\xff\\n\"}\n");
    assert_eq!((raw.code, &raw.stdout[..]), (0, &b"\xff\n\n"[..]));
}

#[test]
fn nothing_is_no_error() {
    for text in ["", "\n", "\n\n \t\r\n", " "] {
        assert_eq!(pipe(&["query", "$"], text.as_bytes()).ok(), "");
        assert_eq!(pipe(&["query", "--count", "$"], text.as_bytes()).ok(), "0\n");
        assert_eq!(pipe(&["select", "a=$"], text.as_bytes()).ok(), "");
    }
}

#[test]
fn a_record_may_be_longer_than_a_partition() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(100_000));
    let text = format!("{{\"a\":1}}\n{long}\n{{\"a\":2}}");
    let ran = pipe(&["query", "--partition-size", "16", "$.a"], text.as_bytes());
    assert_eq!(ran.ok(), format!("1\n\"{}\"\n2\n", "x".repeat(100_000)));
}

fn records(count: usize) -> String {
    (0..count).map(|n| format!("{{\"n\":{n}}}\n")).collect()
}

/// The first `kept` numbers, one a line, of a run whose input ended early.
#[track_caller]
fn assert_a_prefix(output: &str, all: usize) {
    let lines: Vec<&str> = output.lines().collect();
    assert!(!lines.is_empty() && lines.len() < all, "{} lines", lines.len());
    assert!(lines.iter().enumerate().all(|(n, line)| *line == n.to_string()), "{output}");
}

#[test]
fn a_truncated_gzip_loses_nothing_before() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(records(20_000).as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    let folder = Folder::new(&[("cut.gz", &whole[..whole.len() / 2])]);
    for size in ["64", "4KiB", "1GiB"] {
        let ran = folder.run(&["query", "$.n", "--partition-size", size, "cut.gz"]);
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        assert!(
            ran.stderr.starts_with("error: cut.gz: gzip data is damaged or ends early: "),
            "{}",
            ran.stderr
        );
        assert_a_prefix(ran.text(), 20_000);
    }
    // A checksum that is not that of the text.
    let mut damaged = whole.clone();
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    folder.write("damaged", &damaged);
    let message = "error: damaged: gzip data is damaged or ends early: ";
    folder.run(&["query", "--count", "$.n", "damaged"]).failed(4, "20000\n", message);
}

#[test]
fn a_truncated_zstd_loses_nothing_before() {
    // Numbers that do not compress to a single block.
    let text = records(200_000);
    let whole = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let folder = Folder::new(&[("cut", &whole[..whole.len() / 2])]);
    let ran = folder.run(&["query", "$.n", "cut"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: cut: zstd data is damaged or ends early: "), "{}", ran.stderr);
    assert_a_prefix(ran.text(), 200_000);
}
