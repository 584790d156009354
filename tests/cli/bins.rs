//! Columns of the index of a file: `warpath store index --column`, and `--where` with them.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use crate::{Folder, Ran, gzip};

/// Lines of people: 200 of them, the 50th blank, the 60th malformed.
fn people() -> Vec<u8> {
    let mut text = String::new();
    for number in 0..200_u64 {
        let followers = number * number % 1000;
        let lang = ["\"en\"", "\"nl\"", "null", "7"][number as usize % 4];
        let lang = if number % 10 == 9 { String::new() } else { format!(",\"lang\":{lang}") };
        match number {
            49 => text.push_str(" \n"),
            59 => text.push_str("{\"id\":\n"),
            _ => text.push_str(&format!("{{\"id\":{number},\"followers\":{followers}{lang}}}\n")),
        }
    }
    text.into_bytes()
}

/// A folder with people, written to at a time that stays the same, and their index.
fn folder() -> Folder {
    let folder = Folder::new(&[("people.ndjson", &people())]);
    set_time(&folder);
    build(&folder, &["--bins=quantiles:5", "--bins=lang=distinct"]);
    folder
}

fn set_time(folder: &Folder) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 42);
    File::options().write(true).open(folder.path("people.ndjson")).unwrap().set_modified(time).unwrap();
}

const INDEX: &str = ".people.ndjson.warpath";

fn build(folder: &Folder, more: &[&str]) -> Ran {
    let args = [
        "store",
        "index",
        "people.ndjson",
        "--levels=2",
        "--column=followers=$.followers",
        "--column=lang=$.lang",
    ];
    let ran = folder.run(&[&args[..], more].concat());
    let made = "people.ndjson: 200 lines (1 malformed), 7256 bytes of text, 2 columns, index of ";
    assert!(ran.ok().starts_with(made), "{ran}");
    ran
}

/// The ids of the people for whom an expression is true.
fn ids(folder: &Folder, expression: &str) -> Vec<u64> {
    let ran = folder.run(&["query", "$.id", "people.ndjson", "--on-error=skip", "-q", "--where", expression]);
    ran.ok().lines().map(|id| id.parse().unwrap()).collect()
}

/// The numbers of the people of whom something is true, by the rule that the lines were made by.
fn people_who(are: impl Fn(u64, Option<&str>) -> bool) -> Vec<u64> {
    let lang = |number: u64| (number % 10 != 9).then(|| ["en", "nl", "null", "7"][number as usize % 4]);
    (0..200)
        .filter(|number| ![49, 59].contains(number) && are(number * number % 1000, lang(*number)))
        .collect()
}

#[test]
fn an_index_with_columns_is_made_and_described() {
    let folder = folder();
    let info = folder.run(&["store", "info", "people.ndjson", "--columns"]);
    assert_snapshot!("bins_info", info.ok());
    let verified = folder.run(&["store", "verify", "people.ndjson"]);
    assert!(verified.ok().contains("all checksums match, and so does the text"), "{verified}");
    // The same gives the same bytes, in its place.
    let before = folder.read(INDEX);
    build(&folder, &["--bins", "quantiles:5", "--bins", "lang=distinct"]);
    assert_eq!(folder.read(INDEX), before);
}

#[test]
fn tests_of_columns_have_the_lines_that_the_values_say() {
    let folder = folder();
    for (expression, expected) in [
        ("followers = 1", people_who(|followers, _| followers == 1)),
        ("followers between 100 and 500", people_who(|followers, _| (100..=500).contains(&followers))),
        (
            "followers > 100.5 and lang = \"en\"",
            people_who(|followers, lang| followers > 100 && lang == Some("en")),
        ),
        ("lang != 'en'", people_who(|_, lang| lang == Some("nl"))),
        ("not lang = 'en'", people_who(|_, lang| lang != Some("en"))),
        ("lang is missing", people_who(|_, lang| lang.is_none())),
        ("lang is null or lang is other", people_who(|_, lang| matches!(lang, Some("null" | "7")))),
        ("followers is value", people_who(|_, _| true)),
        ("followers < 0", vec![]),
        ("$.followers >= 900 && $.lang == 'en'", people_who(|n, lang| n >= 900 && lang == Some("en"))),
    ] {
        assert_eq!(ids(&folder, expression), expected, "{expression}");
        let count = |path| {
            let args = ["query", "-c", path, "people.ndjson", "--on-error=skip", "-q", "--where", expression];
            folder.run(&args).ok().trim().parse::<usize>().unwrap()
        };
        assert_eq!((count("$.id"), count("$")), (expected.len(), expected.len()), "{expression}");
    }
    // Lines that the columns decide are not read, whatever the number of results.
    let count = folder.run(&["query", "-c", "$", "people.ndjson", "--where=followers >= 0", "--stats"]);
    assert!(count.text() == "198\n" && count.stderr.contains("\nlines       0\n"), "{count}");
    let rows = folder.run(&["select", "id=$.id", "people.ndjson", "--format=csv", "--where=followers = 1"]);
    assert_eq!(rows.ok().replace("\r\n", "\n"), "id\n1\n");
    let stats = folder.run(&["query", "-c", "$.id", "people.ndjson", "--stats", "--where=followers = 1"]);
    assert!(stats.stderr.contains("\nwhere       1 lines found, after "), "{stats}");
}

#[test]
fn mistakes_are_told() {
    let folder = folder();
    let mut said = String::new();
    let mut refused = |code: i32, args: &[&str]| {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.text()), (code, ""), "{ran}");
        said.push_str(&format!("$ warpath {}\n{}\n", args.join(" "), ran.stderr));
    };
    let query = ["query", "$.id", "people.ndjson"];
    let mut asked = |code, expression| refused(code, &[&query[..], &["--where", expression]].concat());
    asked(3, "folowers > 1");
    asked(3, "followers > 1 and lang == en");
    asked(3, "lang = 'nl' or followers in (1, 'x')");
    asked(3, "lang =");
    refused(3, &[&query[..], &["--where=lang is null", "--no-index"]].concat());
    let mut index =
        |code, more: &[&str]| refused(code, &[&["store", "index", "people.ndjson"], more].concat());
    index(2, &["--column=id"]);
    index(3, &["--column=id=id"]);
    index(2, &["--column=a=$.*"]);
    index(2, &["--column=a=$.id", "--column=a=$.lang"]);
    index(2, &["--column=a=$.id", "--type=b=int"]);
    index(2, &["--column=a=$.id", "--type=int"]);
    index(2, &["--column=a=$.id", "--type=a=number"]);
    index(2, &["--column=a=$.id", "--bins=b=width:5"]);
    index(2, &["--column=a=$.id", "--bins=five"]);
    index(2, &["--column=a=$.id", "--bins=width:5", "--bins=width:6"]);
    index(2, &["--bins=width:5"]);
    index(2, &["--subscriptions=none"]);

    // An index that is not of the input as it is, and one that was altered or cut.
    let (text, bytes) = (folder.read("people.ndjson"), folder.read(INDEX));
    folder.write("people.ndjson", &[&text[..], b"{\"id\":200}\n"].concat());
    refused(2, &[&query[..], &["--where=lang is null"]].concat());
    folder.write("people.ndjson", b"{\"id\":1}\n");
    refused(2, &[&query[..], &["--where=lang is null"]].concat());
    folder.write("people.ndjson", &text);
    set_time(&folder);
    let mut altered = bytes.clone();
    let at = altered.len() / 2;
    altered[at] ^= 1;
    folder.write(INDEX, &altered);
    refused(4, &["store", "verify", "people.ndjson"]);
    folder.write(INDEX, &bytes[..1000]);
    refused(2, &[&query[..], &["--where=lang is null"]].concat());
    refused(4, &["store", "info", "people.ndjson"]);
    assert_snapshot!("bins_refused", said);
}

/// The index of an input is not written over, whatever name the output has.
#[test]
fn an_index_that_is_read_is_not_written_over() {
    let folder = folder();
    std::fs::hard_link(folder.path(INDEX), folder.path("same")).unwrap();
    let index = folder.read(INDEX);
    let only = "--where=lang is null";
    for args in [
        &["query", "$.id", only, "-o", "same"][..],
        &["query", "$.id", only, "--limit=0", "-o", "same"],
        &["query", "$.id", only, "--on-error=skip", "--rejects", "same"],
        &["query", "$.id", only, "--on-error=skip", "--rejects", INDEX],
        &["select", "a=$.id", only, "-o", "same"],
        &["count-by", "$.id", "-o", "same"],
    ] {
        let ran = folder.run(&[args, &["--", "people.ndjson"]].concat());
        assert_eq!((ran.code, ran.text()), (2, ""), "{args:?} {ran}");
        assert!(ran.stderr.starts_with(&format!("error: {INDEX}: is both an index and the ")), "{ran}");
        assert!(folder.read(INDEX) == index, "{args:?}");
    }
    // A new index takes the place of an old one, and writes nothing into its file.
    build(&folder, &["--bins=quantiles:3"]);
    assert_ne!(folder.read(INDEX), index);
    assert_eq!(folder.read("same"), index);
}

/// To open a pipe would be to wait for somebody to write to it.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_index() {
    let folder = folder();
    std::fs::remove_file(folder.path(INDEX)).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.path(INDEX)).status().unwrap().success());
    assert_eq!(ids(&folder, "$.followers == 1"), [1]);
    let ran = folder.run(&["query", "$.id", "people.ndjson", "--where=followers = 1"]);
    ran.failed(3, "", "error: there is no column `followers`: there is no index\n");
    for command in ["info", "verify"] {
        let ran = folder.run(&["store", command, "people.ndjson"]);
        ran.failed(2, "", "error: people.ndjson: is no store and no part, and has no index beside it\n");
    }
}

/// A strict check is of the text, also of lines that the columns decide.
#[test]
fn strict_checks_read_the_lines_that_match() {
    let text = b"{\"a\":1,\"b\":01}\n{\"a\":2}\n{\"a\":1}\n";
    let folder = Folder::new(&[("lines", text)]);
    folder.run(&["store", "index", "lines", "--column=a=$.a"]).ok();
    let valid = folder.run(&["validate", "lines", "--where=a = 2"]);
    assert!(valid.ok().ends_with(", 8 bytes: all valid\n"), "{valid}");
    let said = "error: lines:1:13: number has a zero before its other digits\n";
    for args in [&["validate"][..], &["query", "--strict", "-c", "$"], &["query", "--strict", "-c", "$.a"]] {
        folder.run(&[args, &["lines", "--where=a = 1"]].concat()).failed(4, "", said);
    }
}

/// A run without results tests columns that the index has, and no others.
#[test]
fn a_limit_of_zero_checks_the_columns() {
    let folder = folder();
    let query = |only| folder.run(&["query", "$.id", "people.ndjson", "--limit=0", "--where", only]);
    assert_eq!(query("followers > 1").ok(), "");
    query("folowers > 1").failed(3, "", "error: there is no column `folowers`\n");
}

/// `-5 < x` is no option.
#[test]
fn expressions_may_begin_with_a_negative_number() {
    let folder = Folder::new(&[("n", b"{\"n\":-7}\n{\"n\":-5}\n{\"n\":3}\n")]);
    folder.run(&["store", "index", "n", "--column=n=$.n"]).ok();
    let query = |expression| folder.run(&["query", "$.n", "n", "--where", expression]).ok().to_owned();
    assert_eq!(
        (query("-5 < n"), query("-5<=n"), query("-6 > n")),
        ("3\n".into(), "-5\n3\n".into(), "-7\n".into())
    );
    let select = folder.run(&["select", "n=$.n", "--where", "-6 > n", "--", "n"]);
    assert_eq!(select.ok(), "{\"n\":-7}\n");
    // A misspelt option is reported as one.
    let ran = folder.run(&["query", "$.n", "n", "--where", "--cuont"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("an expression may begin with `-` only before a digit"),
        "{ran}"
    );
}

#[test]
fn columns_without_a_value_are_told() {
    let lines = b"{\"user\":{\"id\":1},\"n\":null}\n{\"user\":{\"id\":2}}\n{}\n";
    let folder = Folder::new(&[("lines", lines), ("empty", b"")]);
    let said = |file: &str, more: &[&str]| {
        let ran = folder.run(&[&["store", "index", file], more].concat());
        assert_eq!(ran.code, 0, "{ran}");
        ran.stderr
    };
    assert_eq!(
        said(
            "lines",
            &["--column=a=$.usr.id", "--column=b=$.user.id", "--column=c=$.n", "--column=d=$.user"]
        ),
        "warning: lines: column `a`: no line has a value at `$['usr']['id']` (3 missing)\n\
         warning: lines: column `c`: no line has a value at `$['n']` (2 missing, 1 null)\n\
         warning: lines: column `d`: no line has a value at `$['user']` (1 missing, 2 other)\n"
    );
    assert_eq!(
        said("lines", &["--column=a=$.user.id", "--type=a=text"]),
        "warning: lines: column `a`: no line has a value of type text at `$['user']['id']` (1 missing, 2 other)\n"
    );
    assert_eq!(said("lines", &["--column=a=$.usr", "-q"]), "");
    assert_eq!(said("empty", &["--column=a=$.usr"]), "");
    let of = |file, expression| {
        folder.run(&["query", "-c", "$", file, "-q", "--where", expression]).ok().to_owned()
    };
    assert_eq!(
        (of("empty", "not a = 'x'"), of("lines", "a is missing and a is not value")),
        ("0\n".into(), "3\n".into())
    );
}

/// A terminal is sent nothing that it would obey.
#[test]
fn names_are_printed_without_control_characters() {
    let text = b"{\"\\u001b[2J\":1,\"b\":\"\xc2\x9b2J\"}\n{\"\\u001b[2J\":2}\n";
    let folder = Folder::new(&[("lines", text)]);
    let (odd, path) = ("odd\u{1b}[2J\nname", "$['\\u001b[2J']");
    let column = format!("--column={odd}={path}");
    let made = folder.run(&["store", "index", "lines", &column, "--column=b=$.b"]);
    let info = folder.run(&["store", "info", "--columns", "lines"]);
    assert!(info.ok().contains(r"odd\x1b[2J\nname"), "{info}");
    let only = format!("`{odd}` > 1 and b is not missing and b != 'c'");
    let explained = folder.run(&["explain", "$", "lines", "--where", &only]);
    for ran in [made, info, explained] {
        assert!(!ran.text().contains(|c: char| c.is_control() && c != '\n'), "{ran}");
        assert!(!ran.text().lines().any(|line| line.starts_with("name")), "{ran}");
    }
}

#[test]
fn an_index_is_for_one_input() {
    let folder = folder();
    folder.write("packed", &gzip(&people()));
    for files in [&["people.ndjson", "people.ndjson"][..], &["packed"], &["-"]] {
        let ran = folder.run(&[&["query", "$.id", "--where=lang is null"], files].concat());
        ran.failed(3, "", "error: there is no column `lang`: there is no index\n");
    }
}

/// A column is given a type, and cut, once.
#[test]
fn a_column_is_described_once() {
    let folder = folder();
    let build = |more: &[&str]| {
        let args = ["store", "index", "people.ndjson", "--column=a=$.id", "--column=b=$.id"];
        folder.run(&[&args[..], more].concat())
    };
    let before = folder.read(INDEX);
    let said = "error: `--type a=float`: column `a` has two types\n";
    build(&["--type=a=int", "--type=a=float"]).failed(2, "", said);
    let said = "error: `--bins a=distinct`: column `a` has two kinds of bins\n";
    build(&["--bins=a=width:3", "--bins=width:4", "--bins=a=distinct"]).failed(2, "", said);
    assert_eq!(folder.read(INDEX), before);
    build(&["--type=a=int", "--type=b=float", "--bins=a=width:3", "--bins=width:4", "--bins=b=distinct"])
        .ok();
}

/// A file that has grown: its new lines are read, and a note says how many bytes. A test of a column is an
/// error, which says what to do.
#[test]
fn columns_of_a_file_that_has_grown() {
    // Shorter files are read without a search for an index.
    let folder = Folder::new(&[("people.ndjson", &people().repeat(10))]);
    folder.run(&["store", "index", "people.ndjson", "--column=followers=$.followers"]).ok();
    let more = b"{\"id\":200,\"followers\":900}\n{\"id\":201,\"followers\":1}\n";
    File::options().append(true).open(folder.path("people.ndjson")).unwrap().write_all(more).unwrap();
    let args = ["query", "$.id", "people.ndjson", "--on-error=skip"];
    let ran = folder.run(&[&args[..], &["--where=$.followers == 900"]].concat());
    let plain = folder.run(&[&args[..], &["--where=$.followers == 900", "--no-index"]].concat());
    assert!(ran.text() == plain.text() && ran.text().ends_with("\n200\n"), "{ran}");
    let note = format!(
        "note: {INDEX} for the last {} bytes is not used: the file has grown; `warpath store index FILE` renews it\n",
        more.len()
    );
    assert!(ran.stderr.starts_with(&note), "{ran}");
    let refused = folder.run(&[&args[..], &["--where=followers = 900"]].concat());
    refused.failed(2, "", "error: a test of a column requires an index of the whole file; ");
}

/// An index that is made again keeps its columns, unless others are named or none are wanted.
#[test]
fn columns_are_kept_when_an_index_is_renewed() {
    let lines = b"{\"n\":1,\"s\":\"x\"}\n{\"n\":900,\"s\":\"y\"}\n";
    let folder = Folder::new(&[("lines", lines), ("subs", b"x\t$[?@ == 'x']\n")]);
    let made = |more: &[&str]| folder.run(&[&["store", "index", "lines"], more].concat()).ok().to_owned();
    made(&["--column=n=$.n", "--type=n=float", "--bins=quantiles:1", "-s", "subs"]);
    let described = || folder.run(&["store", "info", "lines", "--columns"]).ok().to_owned();
    let before = described();
    assert!(made(&[]).contains(", 2 columns, ") && described() == before, "{before}\n{}", described());
    folder.write("lines", &[&lines[..], b"{\"n\":2,\"s\":\"x\"}\n"].concat());
    assert!(made(&[]).contains("lines: 3 lines, "));
    assert_eq!(folder.run(&["query", "-c", "$", "lines", "--where", "n < 3 and x = true"]).ok(), "2\n");
    assert!(made(&["--column=other=$.s"]).contains(", 1 column, "));
    assert!(!made(&["--no-columns"]).contains("column"));
    assert!(!made(&[]).contains("column"));
}

/// Subscriptions are columns by their ids.
#[test]
fn the_lines_that_subscriptions_match() {
    let lines = b"{\"id\":1,\"lang\":\"nl\"}\n\n{\"id\":2}\n{\"id\":3,\"lang\":\"nl\",\"v\":[1]}\n{]\n";
    let subs = b"dutch\t$[?@ == 'nl']\nv\t$.v\nnever\t//nowhere\n";
    let folder = Folder::new(&[("lines", lines), ("subs", subs), ("wrong", b"x\t$[\nv\t$.v\n")]);
    let made = folder.run(&["store", "index", "lines", "-s", "subs", "--column=id=$.id"]);
    assert!(made.ok().contains(", 4 columns, "), "{made}");
    let found = |expression| {
        let ran = folder.run(&["query", "$.id", "lines", "-q", "--on-error=skip", "--where", expression]);
        ran.ok().replace('\n', " ")
    };
    assert_eq!(found("dutch = true"), "1 3 ");
    assert_eq!(found("dutch = true and v = true"), "3 ");
    assert_eq!(found("v = false"), "1 2 ");
    assert_eq!(found("never = true"), "");
    assert_eq!(found("v is missing"), "");
    assert_eq!(found("dutch = true and id < 3 and $.lang == 'nl'"), "1 ");
    // A wrong line is reported, and the others are columns.
    let wrong = folder.run(&["store", "index", "lines", "-s", "wrong"]);
    assert!(wrong.code == 3 && wrong.stderr.contains("wrong:1:"), "{wrong}");
    assert_eq!(found("v = true"), "3 ");
}
