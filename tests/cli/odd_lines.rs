//! Lines that are no records, and odd ones that are: every command, with and without `--strict`, says the
//! same of each.

use crate::{Folder, pipe};

/// Lines that no command takes for a record, each with the byte of its fault, counted from 1.
const NO_RECORDS: &[(&[u8], u64)] = &[
    (b"worker started", 1),
    (b"Starting", 1),
    (b"<html>", 1),
    (b"  Panic at the disco", 3),
    (b"panic: x", 1),
    (b"2026 a:b", 6),
    (b"2026-11-27T10:00:00Z GET /", 5),
    (b"\x1e{\"id\":1}", 1),
    (b"\\N", 1),
    (b"nul", 4),
    (b"NaN", 1),
    (b"truely", 5),
    (b"tru", 4),
    (b"01", 2),
    (b"+1", 1),
    (b".5", 1),
    (b"1.", 3),
    (b"-", 2),
    (b"1 2", 3),
    (b"\"a\" \"b\"", 5),
    (b"'a'", 1),
    (b"{\"a\":1} x", 9),
    (b"{\"a\":1} {\"a\":2}", 9),
    (b"x {\"a\":1}", 1),
    (b"[1]#", 4),
    (b"{a:1}", 2),
    (b"{'a': 1}", 2),
    (b"{\"b\":2,1:2}", 8),
    (b"{\"a\":[{\"b\":{c:1}}]}", 13),
    (b"{\"a\"\x0c:1}", 5),
    (b"{\"a\":1\x00}", 7),
    (b"[\x0b]", 2),
    (b"\x00", 1),
    (b"\xef\xbb\xbf{\"a\":1}", 1),
    (b"\xc2\xa0{\"a\":1}", 1),
];

/// Lines that every command takes for a record.
const RECORDS: &[&[u8]] = &[
    b"{}",
    b"[]",
    b"\"\"",
    b"\"worker: started\\\"\"",
    b" null\t",
    b"-0.5e+10 ",
    b"true\r",
    b"0",
    b"\t{ \"a\" :\t1 }\r",
    b"[{\"a\":1},\r2]",
];

/// Commands whose answer depends on the number of records, and the output for `n` of them. Inputs follow.
type Case = (&'static [&'static str], fn(usize) -> String);

const COMMANDS: &[Case] = &[
    (&["query", "--count", "$"], |n| format!("{n}\n")),
    (&["query", "--count", "$.nope"], |_| "0\n".into()),
    (&["query", "--count", "$..nope"], |_| "0\n".into()),
    (&["query", "--count", "$[?@.nope]"], |_| "0\n".into()),
    (&["query", "--count", "$", "--where", "$.nope is missing"], |n| format!("{n}\n")),
    (&["query", "--count", "$", "--where", "!$..nope"], |n| format!("{n}\n")),
    (&["select", "--format", "csv", "x=$.nope"], |n| format!("x\n{}", "\"\"\n".repeat(n))),
    (&["count-by", "$.nope", "--top", "1"], |_| String::new()),
    (&["stats", "$.nope"], |_| String::new()),
    (&["distinct", "$.nope"], |_| String::new()),
    (&["sample", "5"], |_| String::new()),
    (&["schema", "--format", "ndjson"], |_| String::new()),
    (&["validate"], |_| String::new()),
];

/// The warning of a run that skips.
fn skipped(n: usize, byte: u64) -> String {
    let records = if n == 1 { "record" } else { "records" };
    format!("{n} malformed {records} skipped; first: <stdin>:2:{byte}: ")
}

#[test]
fn no_command_takes_a_line_of_text_for_a_record() {
    for (line, byte) in NO_RECORDS {
        let text = [b"{\"a\":1}\n", *line, b"\n{\"a\":2}\n"].concat();
        let said = line.escape_ascii();
        for (args, output) in COMMANDS {
            for strict in [false, true] {
                if strict && matches!(args[0], "schema" | "validate") {
                    continue;
                }
                let more: &[&str] = if strict { &["--strict"] } else { &[] };
                let args = [*args, more].concat();
                let failed = pipe(&args, &text);
                assert_eq!(failed.code, 4, "{said}: {args:?}: {}", failed.stderr);
                let place = format!("error: <stdin>:2:{byte}: ");
                assert!(failed.stderr.starts_with(&place), "{said}: {args:?}: {}", failed.stderr);
                if args[0] == "validate" {
                    continue;
                }
                let ran = pipe(&[&args[..], &["--on-error", "skip"]].concat(), &text);
                assert_eq!(ran.code, 0, "{said}: {args:?}: {}", ran.stderr);
                assert!(ran.stderr.contains(&skipped(1, *byte)), "{said}: {args:?}: {}", ran.stderr);
                let want = output(2);
                assert!(want.is_empty() || ran.text() == want, "{said}: {args:?}: {}", ran.text());
            }
        }
    }
}

#[test]
fn every_command_takes_odd_lines_for_records() {
    let text = RECORDS.join(&b'\n');
    for (args, output) in COMMANDS {
        let ran = pipe(args, &text);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        let want = output(RECORDS.len());
        assert!(want.is_empty() || ran.text() == want, "{args:?}: {}", ran.text());
    }
}

/// Indexes of both sorts, and standing queries.
#[test]
fn files_beside_the_text_know_the_same_lines() {
    let mut text = Vec::new();
    for (line, _) in NO_RECORDS {
        text.extend_from_slice(&[b"{\"a\":1}\n", *line, b"\n"].concat());
    }
    let (bad, first) = (NO_RECORDS.len(), NO_RECORDS[0].1);
    // An index is looked for beside files of more than 64 KiB.
    let text = [text, b"\n".repeat(64 << 10)].concat();
    let folder = Folder::new(&[("log", &text[..])]);
    let said = format!("{bad} malformed records skipped; first: log:2:{first}: ");
    folder.run(&["store", "index", "log"]).ok();
    for args in [
        &["query", "--count", "$.a", "log"][..],
        &["query", "--count", "$..a", "log"],
        &["query", "--count", "$.a", "--no-index", "log"],
    ] {
        let ran = folder.run(&[args, &["--on-error", "skip"]].concat());
        assert_eq!((ran.code, ran.text()), (0, &*format!("{bad}\n")), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&said), "{args:?}: {}", ran.stderr);
    }
    folder.run(&["store", "index", "log", "--column", "a=$.a"]).ok();
    let count = |only: &str| folder.run(&["query", "-c", "$", "log", "--on-error=skip", "--where", only]);
    assert_eq!(count("a = 1").text(), format!("{bad}\n"));
    // Lines that are no records are in no result.
    assert_eq!(count("a is missing").text(), "0\n");
    let by_path = count("$.a == 1");
    assert_eq!(by_path.text(), format!("{bad}\n"));
    assert!(by_path.stderr.contains(&said), "{by_path}");
    let folder = Folder::new(&[("log", &text[..]), ("subscriptions", b"x\t$.a\n")]);
    let ran = folder.run(&["filter", "--subscriptions", "subscriptions", "log", "--on-error", "skip"]);
    assert_eq!(ran.text().lines().count(), bad, "{}", ran.stderr);
    assert!(ran.stderr.contains(&said.replace("records", "documents")), "{}", ran.stderr);
}
