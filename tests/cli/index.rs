//! `warpath index build` and `info`, and the results with an index file.

use std::fs::File;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use crate::{Folder, data, pipe};

const TEXT: &[u8] = b"{\"a\":[1,{\"b\":\"]\\\"\"}]}\r\n\n{\"a\":{\"c\":2}}\n\"last\"";

/// A folder with an input, written to at a time that stays the same.
fn folder(text: &[u8]) -> Folder {
    let folder = Folder::new(&[("text", text)]);
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 42);
    File::options().write(true).open(folder.path("text")).unwrap().set_modified(time).unwrap();
    folder
}

#[test]
fn an_index_is_made_and_described() {
    let folder = folder(TEXT);
    let build = |args: &[&str]| folder.run(&[&["index", "build", "text", "-o", "text.wpi"], args].concat());
    assert_eq!(build(&["--levels=3", "--partition-size=25"]).ok(), "");
    assert_snapshot!("index_info", folder.run(&["index", "info", "text.wpi"]).ok());
    // It is made anew in its place.
    build(&["--for=$.a", "--for", "$.a.b"]).ok();
    let info = folder.run(&["index", "info", "text.wpi"]);
    assert!(info.ok().contains("level 1 ") && !info.ok().contains("level 2 "), "{info}");
    build(&[]).ok();
    assert!(folder.run(&["index", "info", "text.wpi"]).ok().contains("level 7 "));
}

#[test]
fn answers_by_an_index_are_those_without() {
    let folder = Folder::new(&[]);
    let file = data("people.ndjson");
    folder.run(&["index", "build", &file, "-o", "people.wpi"]).ok();
    for args in [
        &["query", "$.user.lang"][..],
        &["query", "$.user", "--count"],
        &["query", "$.user", "--offsets"],
        &["query", "-r", "$.user.lang", "--limit=3"],
        &["query", "-e", "$.nobody"],
    ] {
        let without = folder.run(&[args, &[&file]].concat());
        for index in [&["--index", "people.wpi"][..], &["--index=people.wpi", "--verify"]] {
            assert_eq!(folder.run(&[args, index, &[&file]].concat()), without, "{args:?}");
        }
    }
    for format in ["--format=csv", "--format=ndjson", "--limit=2"] {
        let args = ["select", format, "lang=$.user.lang", "all=$.*"];
        let without = folder.run(&[&args[..], &["--", &file]].concat());
        assert_eq!(folder.run(&[&args[..], &["--index=people.wpi", "--", &file]].concat()), without);
    }
}

#[test]
fn malformed_records_are_told_by_an_index_too() {
    let folder = folder(b"{\"a\":1}\n{\"a\":2\n{\"a\":3}\n");
    folder.run(&["index", "build", "text", "-o", "text.wpi"]).ok();
    let by_index = folder.run(&["query", "$.a", "--index=text.wpi", "text"]);
    by_index.failed(4, "1\n", "error: text:2:1: bracket is not closed");
    assert_eq!(by_index, folder.run(&["query", "$.a", "text"]));
    let skip = ["query", "$.a", "--on-error=skip", "text"];
    let skipped = folder.run(&[&skip[..], &["--index", "text.wpi"]].concat());
    assert_eq!((skipped.code, skipped.text()), (0, "1\n3\n"));
    assert_eq!(skipped, folder.run(&skip));
}

#[test]
fn stats_say_what_became_of_the_index() {
    let folder = folder(TEXT);
    folder.run(&["index", "build", "text", "-o", "text.wpi"]).ok();
    let index = |args: &[&str]| {
        let ran = folder.run(&[&["query", "$.a", "--stats", "text"], args].concat());
        ran.stderr.lines().find_map(|line| line.strip_prefix("index ")).map(|said| said.trim().to_owned())
    };
    assert_eq!(index(&[]), None);
    assert_eq!(index(&["--index=text.wpi"]).as_deref(), Some("text.wpi: line starts and 1 of 8 levels read"));
}

#[test]
fn explain_says_what_an_index_changes() {
    let folder = folder(TEXT);
    folder.run(&["index", "build", "text", "-o", "text.wpi", "--levels=2"]).ok();
    let ran = folder.run(&["explain", "--device=cpu", "--index=text.wpi", "$.a.c"]);
    let stages = ran.ok().split_once("runs on").unwrap().1.split_once('\n').unwrap().1;
    assert_snapshot!("explain_index", stages);
    let ran = folder.run(&["explain", "--index=text.wpi", "$.a.b.c"]);
    let unused = "text.wpi is not used: it has 2 levels, and the program reads 3\n";
    assert_eq!(ran.stderr, format!("note: {unused}"));
    assert!(ran.text().ends_with(&format!("not used\n  {}", unused.replace(" is not used", ""))), "{ran}");
}

/// The messages and exit codes for an index that cannot be used.
#[test]
fn an_index_that_does_not_fit() {
    let folder = folder(TEXT);
    folder.write("packed", &zstd::encode_all(TEXT, 1).unwrap());
    folder.write("other", b"{}\n");
    folder.run(&["index", "build", "text", "-o", "text.wpi", "--levels=1"]).ok();
    let index = folder.read("text.wpi");
    let mut altered = index.clone();
    altered[100] ^= 1;
    folder.write("altered.wpi", &altered);
    folder.write("cut.wpi", &index[..index.len() - 1]);
    let mut newer = index;
    newer[8] = 9;
    folder.write("newer.wpi", &newer);
    let mut all = String::new();
    for (code, args) in [
        (0, &["query", "$.a.c", "--index=text.wpi", "text"][..]),
        (0, &["query", "$", "--index=text.wpi", "text", "other", "-n1"]),
        (4, &["query", "$.a", "--index=text.wpi", "other"]),
        (4, &["query", "$.a", "--index=altered.wpi", "text"]),
        (4, &["query", "$.a", "--index=cut.wpi", "text"]),
        (4, &["query", "$.a", "--index=newer.wpi", "text"]),
        (4, &["query", "$.a", "--index=text", "text"]),
        (4, &["index", "info", "altered.wpi"]),
        (2, &["query", "$.a", "--index=missing.wpi", "text"]),
        (2, &["index", "build", "packed", "-o", "packed.wpi"]),
        (2, &["index", "build", "text", "-o", "text"]),
        (2, &["index", "build", "missing", "-o", "missing.wpi"]),
        (2, &["index", "build", "text", "-o", "missing/text.wpi"]),
        (3, &["index", "build", "text", "-o", "x.wpi", "--for", "$["]),
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, code, "{args:?} {ran}");
        all += &format!("$ warpath {}\n{}{}\n", args.join(" "), ran.text(), ran.stderr);
    }
    assert_snapshot!("index_refused", all);
    assert!(!folder.path("packed.wpi").exists() && !folder.path("x.wpi").exists());

    folder.write("text", b"{\"a\":[1,{\"b\":\"]\\\"\"}]}\r\n\n{\"a\":{\"c\":3}}\n\"last\"");
    let ran = folder.run(&["query", "$.a", "--index=text.wpi", "text"]);
    ran.failed(
        4,
        "",
        "error: text.wpi: the index does not match text: it was written to after it was indexed",
    );
}

#[test]
fn a_verified_index_is_of_every_byte() {
    let text = b"{\"a\":1}\n".repeat(100_000);
    let folder = folder(&text);
    folder.run(&["index", "build", "text", "-o", "text.wpi"]).ok();
    let mut changed = text;
    changed[8 * 1000 + 5] = b'2';
    let time = folder.path("text").metadata().unwrap().modified().unwrap();
    folder.write("text", &changed);
    File::options().write(true).open(folder.path("text")).unwrap().set_modified(time).unwrap();
    // Samples do not see it.
    assert_eq!(folder.run(&["query", "--count", "$.a", "--index=text.wpi", "text"]).ok(), "100000\n");
    let ran = folder.run(&["query", "--count", "$.a", "--index=text.wpi", "--verify", "text"]);
    ran.failed(4, "", "error: text.wpi: the index does not match text: bytes 0..800000 have changed");
    pipe(&["query", "$", "--verify"], b"1").failed(2, "", "error: ");
}
