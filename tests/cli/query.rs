//! `warpath query`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::{Folder, PROGRAM, data, pipe};

const PEOPLE: &[u8] = br#"{"name":"Ada","tags":["x","y"],"n":1}
{"name":"Bob\n\u00e9\ud83d\ude00\ud83d!","tags":[],"n":2.50}

{"tags":["z"],"n":null,"name" : { "first" : "C" } }
"#;

#[test]
fn offsets_find_the_text_again() {
    let folder = Folder::new(&[("a.ndjson", PEOPLE), ("b.ndjson", b"\n\n{\"n\":\"x\\ty\"}")]);
    assert_eq!(folder.run(&["query", "--offsets", "$.n", "b.ndjson"]).ok(), "7\t13\t\"x\\ty\"\n");
    assert_eq!(folder.run(&["query", "--offsets", "-r", "$.n", "b.ndjson"]).ok(), "7\t13\tx\ty\n");
    for size in ["1", "1GiB"] {
        let ran =
            folder.run(&["query", "--offsets", "--partition-size", size, "$.n", "a.ndjson", "b.ndjson"]);
        let mut lines = 0;
        for line in ran.ok().lines() {
            let [file, start, end, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let range = start.parse().unwrap()..end.parse().unwrap();
            assert_eq!(&folder.read(file)[range], text.as_bytes(), "{line}");
            lines += 1;
        }
        assert_eq!(lines, 4);
    }
}

/// A fault after the last wanted match is not reported, and a fault before it is, for all partition sizes.
#[test]
fn a_limit_ends_at_a_match() {
    let mut text = "{\"a\":[1,2]}\n".repeat(100) + "{\"a\":\n";
    text += &text.clone();
    let text = text.as_bytes();
    for size in ["1", "30", "500", "1MiB"] {
        for flags in [&["--count"][..], &["--offsets"], &[]] {
            let run = |more: &[&str]| {
                let args = ["query", "--partition-size", size, "$.a[*]"];
                pipe(&[&args[..], flags, more].concat(), text)
            };
            for limit in ["1", "20", "199", "200"] {
                let ran = run(&["--limit", limit]);
                let lines = ran.ok().lines().count();
                match flags {
                    ["--count"] => assert_eq!(ran.ok(), format!("{limit}\n"), "{size}"),
                    _ => assert_eq!(lines.to_string(), limit, "{size} {flags:?}"),
                }
                assert_eq!(run(&["--limit", limit, "--on-error", "skip"]).ok(), ran.ok());
            }
            let failed = run(&["--limit", "201"]);
            assert_eq!(failed.code, 4, "{size} {flags:?}");
            assert!(failed.stderr.starts_with("error: <stdin>:101:1: "), "{}", failed.stderr);
            for limit in ["201", "400"] {
                let skipped = run(&["--limit", limit, "--on-error", "skip"]);
                assert_eq!(skipped.code, 0);
                assert!(
                    skipped.stderr.starts_with("warning: 1 malformed record skipped; "),
                    "{}",
                    skipped.stderr
                );
            }
            let skipped = run(&["--limit", "401", "--on-error", "skip"]);
            assert!(
                skipped.stderr.starts_with("warning: 2 malformed records skipped; "),
                "{}",
                skipped.stderr
            );
        }
    }
}

#[test]
fn output_does_not_depend_on_partitions() {
    for file in ["tweets.ndjson", "products.ndjson", "edge.ndjson", "crlf.ndjson", "blank.ndjson"] {
        let file = data(file);
        for path in ["$", "$.user.lang", "$.entities.urls[*].url", "$[0]", "$.*"] {
            let ran = |size: &str| {
                let more = if size.is_empty() { vec![] } else { vec!["--partition-size", size] };
                pipe(&[&["query", "--offsets", path, &file][..], &more].concat(), b"")
            };
            let whole = ran("");
            for size in ["1", "100", "4KiB", "64KiB"] {
                assert!(ran(size) == whole, "{file} {path} {size}: {} {}", ran(size), whole);
            }
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let record = format!("{{\"a\":\"{}\"}}\n", "x".repeat(1000));
    let folder = Folder::new(&[("big", record.repeat(5000).as_bytes())]);
    for args in [&["query", "$.a", "big"][..], &["select", "a=$.a", "--", "big"], &["index", "dump", "big"]] {
        for size in ["1MiB", "1KiB"] {
            let mut at = args.to_vec();
            at.splice(args.len() - 1..args.len() - 1, ["--partition-size", size]);
            if let Some(i) = at.iter().position(|arg| *arg == "--") {
                let dashes = at.remove(i);
                at.insert(at.len() - 1, dashes);
            }
            let mut child = Command::new(PROGRAM)
                .current_dir(folder.path(""))
                .args(&at)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut first = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
            assert!(!first.is_empty());
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{at:?}");
        }
    }
}
