//! `warpath bitmap build`, `info` and `range`, and `--where`.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use crate::{Folder, Ran};

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
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 42);
    File::options().write(true).open(folder.path("people.ndjson")).unwrap().set_modified(time).unwrap();
    let built = build(&folder, &["--bins=quantiles:5", "--bins=lang=distinct", "--on-error=skip"]);
    assert_eq!(built.code, 0, "{built}");
    assert_eq!(
        built.stderr,
        "warning: 1 malformed record skipped; first: people.ndjson:60:1: bracket is not closed by the end of the line\n"
    );
    folder
}

fn build(folder: &Folder, more: &[&str]) -> Ran {
    let args = [
        "bitmap",
        "build",
        "people.ndjson",
        "--column=followers=$.followers",
        "--column=lang=$.lang",
        "-o",
        "p.wpb",
    ];
    folder.run(&[&args[..], more].concat())
}

fn range(folder: &Folder, args: &[&str]) -> Ran {
    folder.run(&[&["bitmap", "range"], args].concat())
}

/// The numbers of the people of whom something is true, by the rule that the lines were made by.
fn people_who(are: impl Fn(u64, Option<&str>) -> bool) -> Vec<u64> {
    let lang = |number: u64| (number % 10 != 9).then(|| ["en", "nl", "null", "7"][number as usize % 4]);
    (0..200)
        .filter(|number| ![49, 59].contains(number) && are(number * number % 1000, lang(*number)))
        .collect()
}

fn lines(numbers: &[u64]) -> String {
    numbers.iter().map(|number| format!("{}\n", number + 1)).collect()
}

#[test]
fn an_index_is_made_and_described() {
    let folder = folder();
    assert_snapshot!("bitmap_info", folder.run(&["bitmap", "info", "p.wpb", "--bins"]).ok());
    // The same gives the same bytes, in its place.
    let before = folder.read("p.wpb");
    build(&folder, &["--bins", "quantiles:5", "--bins", "lang=distinct", "--on-error", "skip"]);
    assert_eq!(folder.read("p.wpb"), before);
}

#[test]
fn lines_are_printed_or_counted() {
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
    ] {
        assert_eq!(range(&folder, &["p.wpb", expression]).ok(), lines(&expected), "{expression}");
        assert_eq!(range(&folder, &["--count", "p.wpb", expression]).ok(), format!("{}\n", expected.len()));
        let first = range(&folder, &["p.wpb", expression, "-n", "3", "--lines", "--threads=1"]);
        assert_eq!(first.ok(), lines(&expected[..expected.len().min(3)]));
        let approximate = range(&folder, &["--approximate", "p.wpb", expression]);
        let found: Vec<&str> = approximate.ok().lines().collect();
        assert!(
            expected.iter().all(|number| found.contains(&(number + 1).to_string().as_str())),
            "{expression}"
        );
        let code = range(&folder, &["-e", "-c", "p.wpb", expression]).code;
        assert_eq!(code, i32::from(expected.is_empty()));
    }
    range(&folder, &["p.wpb", "followers = 1", "-o", "found.txt"]).ok();
    assert_eq!(folder.read("found.txt"), lines(&people_who(|followers, _| followers == 1)).into_bytes());
    let stats = range(&folder, &["-c", "p.wpb", "followers = 17", "--stats"]);
    assert!(stats.stderr.contains("\nfound       0\nchecked     "), "{stats}");
}

#[test]
fn what_made_the_bitmaps_is_said() {
    let folder = folder();
    let stats = build(&folder, &["--bins=quantiles:5", "--bins=lang=distinct", "--on-error=skip", "--stats"]);
    let said = "\nlines       200\ncolumns     2\nbitmaps     11 by cpu\nmaking them 0.";
    assert!(stats.stderr.contains(said) && stats.stderr.contains("\nwriting     0."), "{stats}");
}

#[test]
fn records_and_columns_are_those_of_the_lines() {
    let folder = folder();
    let expression = "followers >= 900 and lang in ('en', 'nl')";
    let wanted = people_who(|followers, lang| followers >= 900 && matches!(lang, Some("en" | "nl")));
    assert!(wanted.len() > 3);
    let all = people();
    let all: Vec<&[u8]> = all.split_inclusive(|byte| *byte == b'\n').collect();
    let records: Vec<u8> = wanted.iter().flat_map(|number| all[*number as usize].to_vec()).collect();
    assert_eq!(range(&folder, &["p.wpb", expression, "--records", "people.ndjson"]).stdout, records);

    let ids: String = wanted.iter().map(|id| format!("{id}\n")).collect();
    let only = ["--where", expression, "--bitmap", "p.wpb"];
    assert_eq!(folder.run(&[&["query", "$.id", "people.ndjson"], &only[..]].concat()).ok(), ids);
    let count = folder.run(&[&["query", "-c", "$.id", "people.ndjson"], &only[..]].concat());
    assert_eq!(count.ok(), format!("{}\n", wanted.len()));

    let rows =
        folder.run(&[&["select", "id=$.id", "--format=csv"], &only[..], &["--", "people.ndjson"]].concat());
    assert_eq!(rows.ok().replace("\r\n", "\n"), format!("id\n{ids}"));
    let args = ["p.wpb", expression, "--select=id=$.id", "--format=csv", "people.ndjson"];
    assert_eq!(range(&folder, &args), rows);
    let stats = folder.run(&[&["query", "-c", "$.id", "people.ndjson", "--stats"], &only[..]].concat());
    let said = format!("\nwhere       {} lines found, after ", wanted.len());
    assert!(stats.stderr.contains(&said), "{stats}");

    // By bins alone there may be more, and never fewer.
    let more = folder.run(&[&["query", "$.id", "people.ndjson", "--approximate"], &only[..]].concat());
    let more: Vec<&str> = more.ok().lines().collect();
    assert!(ids.lines().all(|id| more.contains(&id)) && more.len() > wanted.len());
}

#[test]
fn plans_are_explained() {
    let folder = folder();
    let expression = "followers >= 900 and not (lang = 'en' or lang is missing)";
    assert_snapshot!("bitmap_explain", range(&folder, &["--explain", "p.wpb", expression]).ok());
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
    refused(3, &["bitmap", "range", "p.wpb", "folowers > 1"]);
    refused(3, &["bitmap", "range", "p.wpb", "followers > 1 and lang == en"]);
    refused(3, &["bitmap", "range", "p.wpb", "lang = 'nl' or followers in (1, 'x')"]);
    refused(3, &["query", "$.id", "people.ndjson", "--bitmap=p.wpb", "--where=lang ="]);
    refused(3, &["query", "$.id", "people.ndjson", "--where=lang is null"]);
    refused(2, &["query", "$.id", "people.ndjson", "--bitmap=nothing.wpb", "--where=lang is null"]);
    refused(4, &["query", "$.id", "people.ndjson", "--bitmap=people.ndjson", "--where=lang is null"]);
    refused(4, &["bitmap", "info", "people.ndjson"]);
    refused(2, &["bitmap", "range", "p.wpb", "lang is null", "--records"]);
    refused(2, &["bitmap", "range", "p.wpb", "lang is null", "--count", "--lines"]);
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "q.wpb"]);
    refused(3, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=id"]);
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=a=$.*"]);
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=a=$.id", "--column=a=$.lang"]);
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=a=$.id", "--type=b=int"]);
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=a=$.id", "--type=int"]);
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=a=$.id", "--type=a=number"]);
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=a=$.id", "--bins=b=width:5"]);
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=a=$.id", "--bins=five"]);
    refused(
        2,
        &[
            "bitmap",
            "build",
            "people.ndjson",
            "-o",
            "q.wpb",
            "--column=a=$.id",
            "--bins=width:5",
            "--bins=width:6",
        ],
    );
    refused(2, &["bitmap", "build", "people.ndjson", "-o", "people.ndjson", "--column=a=$.id"]);
    refused(4, &["bitmap", "build", "people.ndjson", "-o", "q.wpb", "--column=a=$.id"]);
    assert!(!folder.path("q.wpb").exists());

    // An index that is not of the input as it is, and one that was altered.
    folder.write("people.ndjson", b"{\"id\":1}\n");
    refused(4, &["query", "$.id", "people.ndjson", "--bitmap=p.wpb", "--where=lang is null"]);
    refused(4, &["bitmap", "range", "p.wpb", "lang is null", "people.ndjson"]);
    let mut bytes = folder.read("p.wpb");
    bytes[200] ^= 1;
    folder.write("altered.wpb", &bytes);
    refused(4, &["bitmap", "range", "altered.wpb", "lang is null"]);
    bytes.truncate(1000);
    folder.write("short.wpb", &bytes);
    refused(4, &["bitmap", "info", "short.wpb"]);
    assert_snapshot!("bitmap_refused", said);
    // What an index says of itself needs no input.
    assert_eq!(range(&folder, &["-c", "p.wpb", "followers = 1"]).code, 0);
}

/// An index is mapped, and an input may be large: neither is written over, whatever name the output has.
#[test]
fn what_is_read_is_not_written_over() {
    let folder = folder();
    std::fs::hard_link(folder.path("people.ndjson"), folder.path("same.ndjson")).unwrap();
    std::fs::hard_link(folder.path("p.wpb"), folder.path("same.bits")).unwrap();
    let (input, index) = (folder.read("people.ndjson"), folder.read("p.wpb"));
    let only = ["people.ndjson", "--where=lang is null", "--bitmap=p.wpb"];
    for (args, output, what) in [
        (&["bitmap", "range", "p.wpb", "lang is null", "people.ndjson"][..], "people.ndjson", "an input"),
        (&["bitmap", "range", "p.wpb", "lang is null", "people.ndjson"], "same.ndjson", "an input"),
        (&["bitmap", "range", "p.wpb", "lang is null"], "same.bits", "an index"),
        (&["bitmap", "range", "p.wpb", "lang is null", "--count"], "same.bits", "an index"),
        (&["bitmap", "range", "p.wpb", "lang is null", "--explain"], "same.bits", "an index"),
        (
            &["bitmap", "range", "p.wpb", "lang is null", "people.ndjson", "--records"],
            "same.bits",
            "an index",
        ),
        (
            &["bitmap", "range", "p.wpb", "lang is null", "people.ndjson", "--records"],
            "same.ndjson",
            "an input",
        ),
        (
            &["bitmap", "range", "p.wpb", "lang is null", "people.ndjson", "--select=a=$.id"],
            "same.bits",
            "an index",
        ),
        (&["query", "$.id", only[0], only[1], only[2]], "same.bits", "an index"),
        (&["query", "$.id", only[0], only[1], only[2], "--limit=0"], "same.bits", "an index"),
        (&["query", "$.id", only[0], only[1], only[2]], "people.ndjson", "an input"),
        (&["select", "a=$.id", only[1], only[2], "--", only[0]], "same.bits", "an index"),
        (&["select", "a=$.id", only[1], only[2], "--", only[0]], "same.ndjson", "an input"),
        (&["bitmap", "build", "people.ndjson", "--column=a=$.id"], "same.ndjson", "an input"),
    ] {
        // Insert the option before `--`.
        let at = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
        let ran = folder.run(&[&args[..at], &["-o", output], &args[at..]].concat());
        assert_eq!((ran.code, ran.text()), (2, ""), "{args:?} {ran}");
        assert!(ran.stderr.contains(&format!(": is both {what} and the output (`{output}`)")), "{ran}");
        assert!(folder.read("people.ndjson") == input, "{args:?}");
        assert!(folder.read("p.wpb") == index, "{args:?}");
    }
    // A new index may take the place of an old one.
    assert_eq!(build(&folder, &["--on-error=skip", "--bins=quantiles:3"]).code, 0);
    assert_ne!(folder.read("p.wpb"), index);
    assert_eq!(folder.read("same.bits"), index);
    // There is no index on standard output.
    let ran = folder.run(&["bitmap", "build", "people.ndjson", "--column=a=$.id", "-o", "-"]);
    ran.failed(2, "", "error: an index is written to a file, not to standard output\n");
    assert!(!folder.path("-").exists());
}

/// `-5 < x` is no option.
#[test]
fn expressions_may_begin_with_a_negative_number() {
    let folder = Folder::new(&[("n", b"{\"n\":-7}\n{\"n\":-5}\n{\"n\":3}\n")]);
    folder.run(&["bitmap", "build", "n", "--column=n=$.n", "-o", "n.wpb"]).ok();
    assert_eq!(range(&folder, &["n.wpb", "-5 < n"]).ok(), "3\n");
    assert_eq!(range(&folder, &["n.wpb", "-n", "1", "-5<=n"]).ok(), "2\n");
    assert_eq!(range(&folder, &["n.wpb", "-c", "-5<=n"]).ok(), "2\n");
    let query = folder.run(&["query", "$.n", "n", "--bitmap=n.wpb", "--where", "-6 > n"]);
    assert_eq!(query.ok(), "-7\n");
    let select = folder.run(&["select", "n=$.n", "--where", "-6 > n", "--bitmap=n.wpb", "--", "n"]);
    assert_eq!(select.ok(), "{\"n\":-7}\n");
    // A misspelt option is reported as one.
    let help = "an expression may begin with `-` only before a digit";
    for args in [&["n.wpb", "--cuont", "n < 3"][..], &["n.wpb", "-n3", "n < 3"]] {
        let ran = range(&folder, args);
        assert!(ran.code == 2 && ran.stderr.contains(help), "{ran}");
    }
}

#[test]
fn columns_without_a_value_are_told() {
    let lines = b"{\"user\":{\"id\":1},\"n\":null}\n{\"user\":{\"id\":2}}\n{}\n";
    let folder = Folder::new(&[("lines", lines), ("empty", b"")]);
    let said = |file: &str, more: &[&str]| {
        let ran = folder.run(&[&["bitmap", "build", file, "-o", "a.wpb"], more].concat());
        assert_eq!((ran.code, ran.text()), (0, ""), "{ran}");
        ran.stderr
    };
    assert_eq!(
        said(
            "lines",
            &["--column=a=$.usr.id", "--column=b=$.user.id", "--column=c=$.n", "--column=d=$.user"]
        ),
        "warning: column `a`: no line has a value at `$['usr']['id']` (3 missing)\n\
         warning: column `c`: no line has a value at `$['n']` (2 missing, 1 null)\n\
         warning: column `d`: no line has a value at `$['user']` (1 missing, 2 other)\n"
    );
    assert_eq!(
        said("lines", &["--column=a=$.user.id", "--type=a=text"]),
        "warning: column `a`: no line has a value of type text at `$['user']['id']` (1 missing, 2 other)\n"
    );
    assert_eq!(said("lines", &["--column=a=$.usr", "-q"]), "");
    assert_eq!(said("empty", &["--column=a=$.usr"]), "");
    folder.run(&["select", "--format=arrow", "a:int64=$.nothing", "-o", "t.arrow", "--", "lines"]).noted();
    let table = said("t.arrow", &["--column=x=a"]);
    assert_eq!(table, "warning: column `x`: no line has a value at `a` (3 null)\n");
}

/// A terminal is sent nothing that it would obey.
#[test]
fn names_are_printed_without_control_characters() {
    let text = b"{\"\\u001b[2J\":1,\"b\":\"\xc2\x9b2J\"}\n{\"\\u001b[2J\":2}\n";
    let folder = Folder::new(&[("lines", text)]);
    let (odd, path) = ("odd\u{1b}[2J\nname", "$['\\u001b[2J']");
    let column = format!("--column={odd}={path}");
    folder.run(&["bitmap", "build", "lines", &column, "--column=b=$.b", "-o", "o.wpb"]).ok();
    let clean = r"odd\x1b[2J\nname";
    for args in [
        &["info", "o.wpb"][..],
        &["info", "--bins", "o.wpb"],
        &["range", "--explain", "o.wpb", &format!("`{odd}` > 1 and b is not missing and b != 'c'")],
    ] {
        let ran = folder.run(&[&["bitmap"], args].concat());
        assert!(ran.ok().contains(clean), "{ran}");
        assert!(!ran.text().contains(|c: char| c.is_control() && c != '\n'), "{ran}");
        assert!(!ran.text().lines().any(|line| line.starts_with("name")), "{ran}");
    }
}

#[test]
fn an_index_is_for_one_input() {
    let folder = folder();
    let only = ["--where=lang is null", "--bitmap=p.wpb"];
    let files = ["query", "$.id", "people.ndjson", "people.ndjson"];
    let ran = folder.run(&[&files[..], &only].concat());
    ran.failed(
        2,
        "",
        "error: a test of a column requires one plain file of lines; there are several inputs\n",
    );
    let ran = folder.run(&[&files[..2], &only].concat());
    ran.failed(
        2,
        "",
        "error: a test of a column requires one plain file of lines; the input is not a file\n",
    );
}

/// A column is given a type, and cut, once.
#[test]
fn a_column_is_described_once() {
    let folder = folder();
    let build = |more: &[&str]| {
        let args = ["bitmap", "build", "people.ndjson", "--column=a=$.id", "--column=b=$.id", "-o", "q.wpb"];
        folder.run(&[&args[..], &["--on-error=skip", "-q"], more].concat())
    };
    let said = "error: `--type a=float`: column `a` has two types\n";
    build(&["--type=a=int", "--type=a=float"]).failed(2, "", said);
    let said = "error: `--bins a=distinct`: column `a` has two kinds of bins\n";
    build(&["--bins=a=width:3", "--bins=width:4", "--bins=a=distinct"]).failed(2, "", said);
    assert!(!folder.path("q.wpb").exists());
    build(&["--type=a=int", "--type=b=float", "--bins=a=width:3", "--bins=width:4", "--bins=b=distinct"])
        .ok();
}

/// An index with the stamp of its input, but with wrong offsets of lines. The fault is found when lines are
/// read.
#[test]
fn lines_that_are_elsewhere_are_told_of_the_bitmap_index() {
    let folder = folder();
    let engine = warpath_exec::engine::Engine::builder()
        .on_error(warpath_exec::engine::OnError::Skip)
        .build()
        .unwrap();
    let column = warpath_exec::bitmap::build::ColumnSpec::new("id", "$.id");
    let input = folder.path("people.ndjson");
    let (mut built, _) = warpath::bitmap::build(&engine, &input, &[column]).unwrap();
    built.lines[1] -= 1;
    let wrong = built.lines[1];
    let index = warpath_store::bitmap::BitmapIndex::from_built(built).unwrap();
    index.write(folder.path("wrong.wpb")).unwrap();
    let said = format!(
        "error: wrong.wpb: the index does not match people.ndjson: line 65 does not begin at byte {wrong}\n  \
         help: make it again with `warpath bitmap build`\n"
    );
    for args in [
        &["query", "$.id", "people.ndjson", "--where=id >= 0", "--bitmap=wrong.wpb"][..],
        &["select", "a=$.id", "--where=id >= 0", "--bitmap=wrong.wpb", "--", "people.ndjson"],
        &["bitmap", "range", "wrong.wpb", "id >= 0", "--records", "people.ndjson"],
    ] {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (4, said.as_str()), "{args:?}");
    }
}

/// To open a pipe would be to wait for somebody to write to it.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_index() {
    let folder = folder();
    assert!(std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    for args in [
        &["bitmap", "info", "pipe"][..],
        &["bitmap", "range", "pipe", "id = 1"],
        &["query", "$.id", "people.ndjson", "--where=id = 1", "--bitmap=pipe"],
        &["bitmap", "info", "/dev/null"],
    ] {
        let ran = folder.run(args);
        assert!(ran.code == 2 && ran.stderr.ends_with(": is not a regular file\n"), "{args:?} {ran}");
    }
}

#[test]
fn inputs_without_lines_are_indexed_too() {
    let folder = folder();
    // A column of no value, and a file of no line.
    folder.write("empty.ndjson", b"");
    for (file, expression, count) in [
        ("empty.ndjson", "not a = 'x'", "0\n"),
        ("people.ndjson", "a is missing and a is not value", "198\n"),
    ] {
        folder
            .run(&["bitmap", "build", file, "--column=a=$.nothing", "-o", "a.wpb", "--on-error=skip", "-q"])
            .ok();
        assert_eq!(range(&folder, &["-c", "a.wpb", expression]).ok(), count);
    }
    // Compressed lines have numbers, and cannot be read alone.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, b"{\"a\":1}\n{\"a\":2}\n").unwrap();
    folder.write("a.gz", &gzip.finish().unwrap());
    let built = folder.run(&["bitmap", "build", "a.gz", "--column=a=$.a", "-o", "a.wpb"]);
    assert!(built.code == 0 && built.stderr.starts_with("warning: a.gz is compressed: "), "{built}");
    assert_eq!(range(&folder, &["a.wpb", "a > 1"]).ok(), "2\n");
    let ran = range(&folder, &["a.wpb", "a > 1", "--records", "a.gz"]);
    let said = "error: a test of a column requires one plain file of lines; the input is compressed\n";
    ran.failed(2, "", said);
    // Of tables, columns are named by the table, and rows are counted as lines are.
    let table = ["select", "--format=arrow", "a:int64=$.a", "b:string=$.b", "-o", "t.arrow"];
    folder.run_with(&table, b"{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\"}\n{\"a\":3}\n").ok();
    folder.run(&["bitmap", "build", "t.arrow", "--column=a", "--column=text=b", "-o", "t.wpb"]).ok();
    assert_eq!(range(&folder, &["t.wpb", "not a = 1"]).ok(), "2\n3\n");
    assert_eq!(range(&folder, &["t.wpb", "text >= 'y' or a > 2"]).ok(), "2\n3\n");
}

/// Without the file, an index cannot be checked. It says so where no file beside it can be the one.
#[test]
fn an_index_whose_file_has_changed_is_told() {
    let folder = folder();
    let count = |folder: &Folder| folder.run(&["bitmap", "range", "--count", "p.wpb", "followers >= 0"]);
    let before = count(&folder);
    assert_eq!(before.stderr, "", "{before}");
    #[cfg(unix)]
    {
        // A link to the file is the file.
        std::fs::create_dir(folder.path("other")).unwrap();
        std::fs::copy(folder.path("p.wpb"), folder.path("other/p.wpb")).unwrap();
        std::os::unix::fs::symlink(folder.path("people.ndjson"), folder.path("other/link.ndjson")).unwrap();
        let linked = folder.run(&["bitmap", "range", "--count", "other/p.wpb", "followers >= 0"]);
        assert_eq!((linked.text(), linked.stderr.as_str()), (before.text(), ""));
    }
    File::options().append(true).open(folder.path("people.ndjson")).unwrap().write_all(b"{}\n").unwrap();
    let after = count(&folder);
    assert_eq!(after.text(), before.text());
    let size = people().len();
    assert_eq!(
        after.stderr,
        format!(
            "note: no file beside the index has the size ({size} bytes) and the time of the file that was indexed: \
             it is elsewhere, or has changed; name it after the expression, so that it is checked\n"
        )
    );
}
