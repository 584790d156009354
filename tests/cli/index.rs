//! `warpath store index`, `info` and `verify` of a file with an index, and the results with the index.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use crate::{Folder, data};

const TEXT: &[u8] = b"{\"a\":[1,{\"b\":\"]\\\"\"}]}\r\n\n{\"a\":{\"c\":2}}\n\"last\"";

/// A folder with an input, written to at a time that stays the same.
fn folder(text: &[u8]) -> Folder {
    let folder = Folder::new(&[("text", text)]);
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 42);
    File::options().write(true).open(folder.path("text")).unwrap().set_modified(time).unwrap();
    folder
}

/// A text that is long enough for a search for its index.
fn long() -> Vec<u8> {
    b"{\"a\":{\"c\":1}}\n".repeat(10_000)
}

/// The row about the index in the statistics of a query.
fn index_row(folder: &Folder, args: &[&str]) -> Option<String> {
    let ran = folder.run(&[&["query", "--count", "$.a", "--stats", "text"], args].concat());
    assert_eq!(ran.code, 0, "{ran}");
    ran.stderr.lines().find_map(|line| line.strip_prefix("index ")).map(|said| said.trim().to_owned())
}

#[test]
fn an_index_is_made_described_and_verified() {
    let folder = folder(TEXT);
    let index = |args: &[&str]| folder.run(&[&["store", "index", "text"], args].concat()).ok().to_owned();
    let made = index(&["--levels=3", "--partition-size=25"]);
    let info = folder.run(&["store", "info", "text"]);
    let verified = folder.run(&["store", "verify", "text"]);
    assert_snapshot!("index_info", format!("{made}\n{}\n{}", info.ok(), verified.ok()));
    // It is made anew in its place.
    index(&["--levels=2"]);
    let info = folder.run(&["store", "info", "text"]);
    assert!(info.ok().contains("level 1 ") && !info.ok().contains("level 2 "), "{info}");
    index(&[]);
    assert!(folder.run(&["store", "info", "text"]).ok().contains("level 7 "));
    // Several files, by a pattern; hidden files are not among them.
    folder.write("other", b"1\n");
    let made = folder.run(&["store", "index", "*"]);
    assert_eq!(made.ok().lines().count(), 2, "{made}");
    assert!(folder.path(".other.warpath").is_file());
}

#[test]
fn answers_by_an_index_are_those_without() {
    let folder = Folder::new(&[("people", &std::fs::read(data("people.ndjson")).unwrap().repeat(40))]);
    let file = "people";
    assert!(folder.path(file).metadata().unwrap().len() > 64 << 10);
    folder.run(&["store", "index", file]).ok();
    for args in [
        &["query", "$.user.lang"][..],
        &["query", "$.user", "--count"],
        &["query", "$.user", "--offsets"],
        &["query", "-r", "$.user.lang", "--limit=3"],
        &["query", "-e", "$.nobody"],
        &["select", "--format=csv", "lang=$.user.lang", "all=$.*"],
        &["select", "--limit=2", "lang=$.user.lang", "all=$.*"],
    ] {
        let with = folder.run(&[args, &[file]].concat());
        assert_eq!(with, folder.run(&[args, &["--no-index", file]].concat()), "{args:?}");
    }
}

#[test]
fn malformed_records_are_told_by_an_index_too() {
    let text = [&long()[..], b"{\"a\":2\n{\"a\":3}\n"].concat();
    let folder = folder(&text);
    folder.run(&["store", "index", "text"]).ok();
    for args in [&["--count"][..], &["--count", "--on-error=skip"], &["--on-error=skip"]] {
        let query = [&["query", "$.a", "text"], args].concat();
        let by_index = folder.run(&query);
        assert_eq!(by_index, folder.run(&[&query[..], &["--no-index"]].concat()));
        assert!(by_index.stderr.contains("text:10001:1: bracket is not closed"), "{by_index}");
    }
}

/// The plan, the statistics and the notes over a file as it was, grown, changed, and with a damaged index.
#[test]
fn what_became_of_the_index_is_said() {
    let folder = folder(&long());
    folder.run(&["store", "index", "text", "--levels=2"]).ok();
    let whole = ".text.warpath: line starts and 1 of 2 levels read";
    assert_eq!(index_row(&folder, &[]).as_deref(), Some(whole));
    assert_eq!(index_row(&folder, &["--no-index"]), None);
    let mut all = String::new();
    let mut say = |what: &str, code: u8| {
        for args in [
            &["explain", "--device=cpu", "$.a.c", "text"][..],
            &["query", "--count", "$.a.c", "text"],
            &["query", "--count", "$.a.c", "text", "--quiet"],
            &["store", "verify", "text"],
        ] {
            let ran = folder.run(args);
            let text = match ran.text().split_once("runs on") {
                Some((_, plan)) => plan.split_once('\n').unwrap().1,
                None => ran.text(),
            };
            assert_eq!(i32::from(code) * i32::from(args[0] == "store"), ran.code, "{args:?} {ran}");
            all += &format!("# {what}\n$ warpath {}\n{text}{}\n", args.join(" "), ran.stderr);
        }
    };
    say("unchanged", 0);
    let grown = [&long()[..], b"{\"a\":{\"c\":2}}\n"].concat();
    folder.write("text", &grown);
    say("grown", 0);
    folder.write("text", &[&grown[..10], b"7", &grown[11..]].concat());
    say("another text, and longer", 4);
    folder.write("text", &grown[14..98_014]);
    say("shorter", 4);
    folder.run(&["store", "index", "text", "--levels=1"]).ok();
    say("too few levels", 0);
    let index = folder.read(".text.warpath");
    folder.write(".text.warpath", &index[..index.len() - 1]);
    say("cut", 4);
    let mut changed = index.clone();
    // The first section begins at byte 64.
    changed[64 + 4] ^= 1;
    folder.write(".text.warpath", &changed);
    say("a line start changed", 4);
    let at = index.windows(16).position(|bytes| bytes == b"part 1 directory").unwrap();
    changed[at + 5] = b'7';
    folder.write(".text.warpath", &changed);
    say("a later version", 4);
    assert_snapshot!("index_notes", all);
}

/// The messages and exit codes where no index can be made, or is given in place of its file.
#[test]
fn an_index_that_is_refused() {
    let folder = folder(TEXT);
    folder.write("packed", &zstd::encode_all(TEXT, 1).unwrap());
    folder.run(&["store", "index", "text"]).ok();
    std::fs::create_dir(folder.path("taken")).unwrap();
    std::fs::create_dir(folder.path("taken/.x.warpath")).unwrap();
    folder.write("taken/x", TEXT);
    let mut all = String::new();
    for (code, args) in [
        (2, &["store", "index", "packed"][..]),
        (2, &["store", "index", "missing"]),
        (2, &["store", "index", "-"]),
        (2, &["store", "index", "--input=json", "text"]),
        (2, &["store", "index", "taken/x"]),
        (2, &["store", "index"]),
        (2, &["store", "info", "packed"]),
        (2, &["store", "verify", "packed"]),
        (2, &["store", "info", ".text.warpath"]),
        (4, &["query", "$.a", ".text.warpath"]),
        (2, &["query", "$.a", "--index=.text.warpath", "text"]),
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, code, "{args:?} {ran}");
        all += &format!("$ warpath {}\n{}{}\n", args.join(" "), ran.text(), ran.stderr);
    }
    assert_snapshot!("index_refused", all);
    assert!(!folder.path(".packed.warpath").exists() && !folder.path(".missing.warpath").exists());
}

#[test]
fn a_verified_index_is_of_every_byte() {
    let text = b"{\"a\":1}\n".repeat(100_000);
    let folder = folder(&text);
    folder.run(&["store", "index", "text"]).ok();
    let mut changed = text;
    changed[8 * 1000 + 5] = b'2';
    let time = folder.path("text").metadata().unwrap().modified().unwrap();
    folder.write("text", &changed);
    File::options().write(true).open(folder.path("text")).unwrap().set_modified(time).unwrap();
    // Samples do not see it.
    assert_eq!(folder.run(&["query", "--count", "$.a", "text"]).ok(), "100000\n");
    let ran = folder.run(&["store", "verify", "text"]);
    ran.failed(4, "", "error: .text.warpath: the index does not match text: bytes 0..800000 have changed");
}

/// Nobody reads an index who may not read its file.
#[test]
fn an_index_is_as_private_as_its_file() {
    let folder = folder(TEXT);
    let mode = |name: &str| folder.path(name).metadata().unwrap().permissions().mode() & 0o777;
    let set = |mode| std::fs::set_permissions(folder.path("text"), PermissionsExt::from_mode(mode)).unwrap();
    for private in [0o600, 0o400] {
        set(private);
        folder.run(&["store", "index", "text"]).ok();
        assert_eq!(mode(".text.warpath"), 0o600);
    }
    // The new index is no more public than the one that it replaces.
    set(0o644);
    folder.run(&["store", "index", "text"]).ok();
    assert_eq!(mode(".text.warpath"), 0o600);
    std::fs::remove_file(folder.path(".text.warpath")).unwrap();
    set(0o640);
    folder.run(&["store", "index", "text"]).ok();
    assert_eq!(mode(".text.warpath") & 0o007, 0);
}

/// Two processes make the index of one file: it is the index of one of them, and whole.
#[test]
fn two_processes_make_an_index() {
    let folder = folder(&long());
    std::thread::scope(|scope| {
        for levels in ["--levels=1", "--levels=8"] {
            let folder = &folder;
            scope.spawn(move || {
                for _ in 0..4 {
                    assert!(folder.run(&["store", "index", levels, "text"]).ok().starts_with("text: "));
                }
            });
        }
    });
    folder.run(&["store", "verify", "text"]).ok();
    let names = std::fs::read_dir(folder.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, [".text.warpath", "text"]);
}
