//! `warpath query`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::{Folder, PROGRAM, data, pipe};

const PEOPLE: &[u8] = br#"{"name":"Ada","tags":["x","y"],"n":1}
{"name":"Bob\n\u00e9\ud83d\ude00\ud83d!","tags":[],"n":2.50}

{"tags":["z"],"n":null,"name" : { "first" : "C" } }
"#;

#[test]
fn matches_are_printed_as_they_stand() {
    let name = pipe(&["query", "$.name"], PEOPLE);
    assert_eq!(name.ok(), "\"Ada\"\n\"Bob\\n\\u00e9\\ud83d\\ude00\\ud83d!\"\n{ \"first\" : \"C\" }\n");
    assert_eq!(pipe(&["query", "$.n"], PEOPLE).ok(), "1\n2.50\nnull\n");
    assert_eq!(pipe(&["query", "$.tags[*]"], PEOPLE).ok(), "\"x\"\n\"y\"\n\"z\"\n");
    assert_eq!(pipe(&["query", "$"], b" 1 \r\n\"a\"\r\n\n[2 ] \n").ok(), "1\n\"a\"\n[2 ]\n");
}

#[test]
fn raw_output_resolves_escapes() {
    for flag in ["-r", "--raw-output"] {
        let ran = pipe(&["query", flag, "$.name"], PEOPLE);
        assert_eq!(ran.ok(), "Ada\nBob\né😀\u{fffd}!\n{ \"first\" : \"C\" }\n");
    }
}

/// A string may have newlines: what is printed ends with a match all the same.
#[test]
fn raw_output_ends_with_a_match() {
    let text = b"{\"a\":\"x\\ny\"}\n{\"a\":\"\\n\"}\n{\"a\":\n{\"a\":\"z\"}\n";
    for size in ["1", "20", "1MiB"] {
        let ran =
            |more: &[&str]| pipe(&[&["query", "-r", "$.a", "--partition-size", size], more].concat(), text);
        ran(&[]).failed(4, "x\ny\n\n\n", "error: <stdin>:3:1: ");
        ran(&["--on-error", "skip"]).failed(0, "x\ny\n\n\nz\n", "warning: 1 malformed record skipped; ");
        assert_eq!(ran(&["--limit", "1"]).ok(), "x\ny\n");
        assert_eq!(ran(&["--limit", "2"]).ok(), "x\ny\n\n\n");
        ran(&["--limit", "3", "--on-error", "skip"]).failed(0, "x\ny\n\n\nz\n", "warning: 1 malformed");
    }
}

#[test]
fn count_is_one_number() {
    let folder = Folder::new(&[("a", PEOPLE), ("b", PEOPLE)]);
    assert_eq!(folder.run(&["query", "--count", "$.tags[*]", "a", "b"]).ok(), "6\n");
    assert_eq!(folder.run(&["query", "-c", "$.nothing", "a", "b"]).noted(), "0\n");
    assert_eq!(folder.run(&["query", "-c", "$.tags[*]", "a", "b", "--limit", "4"]).ok(), "4\n");
    assert_eq!(pipe(&["query", "--count", "$"], b"").ok(), "0\n");
}

#[test]
fn paths_say_where_in_its_record_a_match_is() {
    let text = b"{\"a\":[{\"it's\":1},2]}\n[\"x\\ty\"]\n";
    let folder = Folder::new(&[("a.ndjson", text), ("b.ndjson", b"{\"a\":3}\n")]);
    let run = |args: &[&str]| folder.run(&[&["query", "--with-path"], args].concat()).ok().to_owned();
    assert_eq!(run(&["$.a[*]", "a.ndjson"]), "$['a'][0]\t{\"it's\":1}\n$['a'][1]\t2\n");
    assert_eq!(run(&["$.a[0].*", "a.ndjson"]), "$['a'][0]['it\\'s']\t1\n");
    assert_eq!(run(&["-r", "$[0]", "a.ndjson"]), "$[0]\tx\ty\n");
    assert_eq!(run(&["-n", "1", "$.a[*]", "a.ndjson"]), "$['a'][0]\t{\"it's\":1}\n");
    let placed = "a.ndjson\t5\t19\t$['a']\t[{\"it's\":1},2]\nb.ndjson\t5\t6\t$['a']\t3\n";
    assert_eq!(run(&["--offsets", "$.a", "a.ndjson", "b.ndjson"]), placed);
}

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

#[test]
fn limit_stops_early() {
    assert_eq!(pipe(&["query", "--limit", "2", "$.tags[*]"], PEOPLE).ok(), "\"x\"\n\"y\"\n");
    assert_eq!(pipe(&["query", "-n", "99", "$.n"], PEOPLE).ok(), "1\n2.50\nnull\n");
    assert_eq!(pipe(&["query", "--limit", "0", "$.n"], PEOPLE).ok(), "");
    assert_eq!(pipe(&["query", "--limit", "0", "--count", "$.n"], PEOPLE).ok(), "0\n");
    // The text after the last result is never read.
    assert_eq!(pipe(&["query", "--limit", "1", "$"], b"1\n[\n").ok(), "1\n");
    let folder = Folder::new(&[("a", b"1\n")]);
    assert_eq!(folder.run(&["query", "--limit", "1", "$", "a", "missing"]).ok(), "1\n");
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
fn exit_status_tells_whether_something_matched() {
    for flag in ["-e", "--exit-status"] {
        assert_eq!(pipe(&["query", flag, "$.name"], PEOPLE).code, 0);
        pipe(&["query", flag, "$.nothing"], PEOPLE).failed(1, "", "");
        pipe(&["query", flag, "--count", "$.nothing"], PEOPLE).failed(1, "0\n", "");
        pipe(&["query", flag, "$"], b"").failed(1, "", "");
    }
    assert_eq!(pipe(&["query", "$.nothing"], PEOPLE).noted(), "");
    // What went wrong comes before what did not match.
    pipe(&["query", "-e", "$.a"], b"[").failed(4, "", "error: <stdin>:1:1: ");
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

#[test]
fn stats_and_progress_go_to_standard_error() {
    let ran = pipe(&["query", "--stats", "$.tags[*]"], PEOPLE);
    assert_eq!((ran.code, ran.text()), (0, "\"x\"\n\"y\"\n\"z\"\n"));
    let rows: Vec<(&str, &str)> = ran.stderr.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.0).collect();
    assert_eq!(
        names,
        [
            "backend",
            "chosen",
            "workers",
            "partitions",
            "bytes",
            "lines",
            "matches",
            "skipped",
            "setup",
            "reading",
            "answering",
            "total",
            "speed"
        ]
    );
    let value = |name| rows.iter().find(|row| row.0 == name).unwrap().1.trim();
    assert!(value("bytes").starts_with(&PEOPLE.len().to_string()));
    assert_eq!((value("lines"), value("matches"), value("skipped")), ("4", "3", "0"));
    assert!(value("speed").contains("GB/s"));

    let ran = pipe(&["query", "--progress", "always", "-c", "$"], PEOPLE);
    assert_eq!((ran.code, ran.text()), (0, "3\n"));
    assert!(ran.stderr.starts_with("progress: "), "{ran}");
    // Standard error is no terminal here.
    assert_eq!(pipe(&["query", "--progress", "auto", "-c", "$"], PEOPLE).ok(), "3\n");
}
