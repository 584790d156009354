//! `warpath filter`.

use std::io::{BufRead as _, BufReader, Cursor, Write as _};
use std::process::{Command, Stdio};

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use arrow_array::{Array as _, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use insta::assert_snapshot;

use crate::{Folder, PROGRAM};

/// A subscription file, two XML documents, one that is none, and lines.
fn folder() -> Folder {
    let subscriptions =
        b"# two kinds\ntheses\t/dblp/*[author][year >= 2010]/title\ndutch\t$[?@.lang == 'nl']\n";
    let xml = |year: u32| {
        format!("<dblp><phd key='k'><author>A</author><year>{year}</year><title/></phd></dblp>\n")
    };
    Folder::new(&[
        ("subs", subscriptions),
        ("new.xml", xml(2011).as_bytes()),
        ("old.xml", xml(1999).as_bytes()),
        ("bad.xml", b"<dblp>\n <phd></dblp>"),
        ("lines", b"{\"u\":{\"lang\":\"nl\"}}\n\n{\"u\":[}\n{\"u\":{\"lang\":\"en\"},\"v\":{\"lang\":\"\\u006el\"}}\n"),
    ])
}

#[test]
fn explained() {
    let folder = folder();
    folder.write("subs", b"good\t//title\nsame\t//title\nbad\t/a[\n");
    let ran = folder.run(&["explain", "--device=cpu", "--subscriptions", "subs"]);
    assert_eq!(ran.code, 3, "{ran}");
    // How many cores and what vectors there are is this machine's.
    let text = ran.text().lines().filter(|line| !line.starts_with("runs on")).collect::<Vec<_>>();
    assert_snapshot!(text.join("\n"));
    folder.run(&["explain", "$.a", "-s", "subs"]).failed(
        2,
        "",
        "error: with `--subscriptions`, the arguments are inputs, and `$.a` is a path",
    );
}

/// The steps that read each input, of an explanation.
fn read_steps(folder: &Folder, args: &[&str]) -> Vec<String> {
    let ran = folder.run(&[&["explain", "--device=cpu", "-s", "subs"], args].concat());
    assert_eq!(ran.code, 0, "{ran}");
    let is_read = |line: &&str| line.contains("  read  ") || line.contains("  reuse  ");
    ran.text().lines().filter(is_read).map(|line| line[18..].trim_start().to_owned()).collect()
}

#[test]
fn of_stores_subscriptions_read_what_they_test() {
    let folder = folder();
    folder.write("subs", b"dutch\t$.u.lang == 'nl'\nlist\t$.v.*.id\n");
    folder.run(&["store", "add", "-q", "store", "lines"]).ok();
    let by = "(every worker, a group at a time)";
    let members = "$.u.lang, presence of $.v.*.id";
    let reuse = "lines that are equal to earlier ones have their results, where half of all lines are equal";
    assert_eq!(read_steps(&folder, &["lines"]), ["partitions of whole lines (the thread of the caller)"]);
    assert_eq!(
        read_steps(&folder, &["store"]),
        [format!("{members} of each record, as partitions of lines {by}"), reuse.to_owned()]
    );
    let read = format!(
        "{members}, $.x of the records whose columns do not exclude the predicate, as partitions of lines {by}"
    );
    assert_eq!(read_steps(&folder, &["store", "--where=$.x > 1"])[0], read);
    for (option, why) in [
        ("--watch", "subscriptions may change"),
        ("--max-record=1K", "the lengths of all records are checked"),
    ] {
        let read = format!("partitions of whole lines {by}; whole, because {why}");
        assert_eq!(read_steps(&folder, &["store", option]), [read]);
    }
    folder.write("subs", b"any\t//*[. = 'nl']\n");
    let read =
        format!("partitions of whole lines {by}; whole, because subscriptions test values of any name");
    assert_eq!(read_steps(&folder, &["store"]), [read]);
    let documents = read_steps(&folder, &["new.xml"]);
    assert_eq!(documents, ["whole inputs (plain files: every worker; others: one at a time)"]);
}

/// Documents that are skipped, and subscriptions that match nothing, are reported as over the text.
#[test]
fn reports_over_a_store_are_those_over_its_text() {
    let folder = folder();
    folder.write("subs", b"wrong\t$[?@.level == 'error']\nright\t$.level == 'error'\n");
    let line = |at: usize| match at % 9 {
        0 => "{\"level\":\"error\"".to_owned(),
        4 => String::new(),
        rest => {
            format!("{{\"level\":\"{}\",\"n\":{at},\"list\":[{{\"id\":{rest}}}]}}", ["info", "error"][at % 2])
        }
    };
    let lines: String = (0..300).map(|at| line(at) + "\n").collect();
    folder.write("log", lines.as_bytes());
    folder.run(&["store", "add", "-q", "store", "log", "--group-size=2K"]).ok();
    let part = std::fs::read_dir(folder.path("store")).unwrap().map(|file| file.unwrap().file_name());
    let part = part.map(|name| name.into_string().unwrap()).find(|name| name.ends_with(".parquet")).unwrap();
    for options in [&[][..], &["--where=$.n > 290"], &["--where=$.n == 77", "--format=ndjson"]] {
        let filter = |input: &str, name: &str| {
            let args =
                [&["filter", "-s", "subs", "--on-error=skip", "--rejects=bad", input][..], options].concat();
            let ran = folder.run(&args);
            let rejects = String::from_utf8(folder.read("bad")).unwrap();
            let same = |text: &str| text.replace(name, "log");
            (ran.code, same(&String::from_utf8(ran.stdout).unwrap()), same(&ran.stderr), same(&rejects))
        };
        let wanted = filter("log", "log");
        assert!(wanted.2.contains("subscription `wrong`") && wanted.3.lines().count() == 34, "{wanted:?}");
        assert_eq!(filter("store", &format!("store/{part}")), wanted, "{options:?}");
        let failing = |input: &str, name: &str| {
            let ran = folder.run(&[&["filter", "-s", "subs", input][..], options].concat());
            (
                ran.code,
                String::from_utf8(ran.stdout).unwrap().replace(name, "log"),
                ran.stderr.replace(name, "log"),
            )
        };
        assert_eq!(failing("store", &format!("store/{part}")), failing("log", "log"), "{options:?}");
    }
}

#[test]
fn answers_as_arrow() {
    let folder = folder();
    let ran =
        folder.run(&["filter", "-s", "subs", "--format=arrow", "--on-error=skip", "-q", "new.xml", "lines"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let rows = |batches: Vec<RecordBatch>| -> Vec<String> {
        let mut rows = Vec::new();
        for batch in batches {
            let (files, lines) =
                (batch["file"].as_string::<i32>(), batch["line"].as_primitive::<UInt64Type>());
            let ids = batch["ids"].as_list::<i32>();
            for row in 0..batch.num_rows() {
                let line = lines.is_valid(row).then(|| lines.value(row));
                let ids = ids.value(row);
                let ids: Vec<_> = ids.as_string::<i32>().iter().flatten().collect();
                rows.push(format!("{} {line:?} {ids:?}", files.value(row)));
            }
        }
        rows
    };
    let want = [r#"new.xml None ["theses"]"#, r#"lines Some(1) ["dutch"]"#, r#"lines Some(4) ["dutch"]"#];
    let stream = StreamReader::try_new(&ran.stdout[..], None).unwrap();
    assert_eq!(rows(stream.map(Result::unwrap).collect()), want);
    folder
        .run(&[
            "filter",
            "-s",
            "subs",
            "--format=arrow",
            "--on-error=skip",
            "-q",
            "-o",
            "out",
            "new.xml",
            "lines",
        ])
        .ok();
    let file = FileReader::try_new(Cursor::new(folder.read("out")), None).unwrap();
    assert_eq!(rows(file.map(Result::unwrap).collect()), want);
    // Nothing that matches: a schema, and no rows.
    let none = folder.run(&["filter", "-s", "subs", "--format=arrow", "old.xml"]);
    assert_eq!(StreamReader::try_new(&none.stdout[..], None).unwrap().count(), 0);
}

/// Lines that come one by one are evaluated soon, and new subscriptions apply to the lines that come after
/// them.
#[test]
fn a_stream_whose_subscriptions_change() {
    let folder = folder();
    folder.write("subs", b"a\t$.a\ngone\t$.g\n");
    let mut child = Command::new(PROGRAM)
        .current_dir(folder.0.path())
        .args(["filter", "-s", "subs", "--watch", "--max-latency=5ms", "--device=cpu"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut messages = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut ask = |line: &str| {
        // Nothing is closed: the result has to come while the stream is open.
        input.write_all(line.as_bytes()).unwrap();
        output.next().unwrap().unwrap()
    };
    assert_eq!(ask("{\"a\":1,\"g\":2}\n"), "<stdin>:1\ta gone");
    folder.replace("subs", b"b\t$.b\na\t$.a\nbad\t/a[\n");
    let wrong = messages.next().unwrap().unwrap();
    assert!(wrong.starts_with("error: subs:3:8: "), "{wrong}");
    assert_eq!(messages.next().unwrap().unwrap(), "note: subs: 1 added, 1 removed, 2 in all");
    assert_eq!(ask("{\"a\":1,\"b\":1,\"g\":2}\n"), "<stdin>:2\ta b");
    folder.replace("subs", b"\xff");
    assert!(messages.next().unwrap().unwrap().starts_with("error: subs:1: the subscriptions are not UTF-8"));
    assert_eq!(ask("\n{\"b\":1}\n"), "<stdin>:4\tb");
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// Documents of 100 MB, of XML and of JSON, a line of that size, and 10,000 levels. The text after them is
/// evaluated, and the text after a fault is not.
#[test]
fn large_and_deep_documents() {
    let folder = folder();
    folder.write("subs", b"end\t//end[@x = 'yes']\njson\t$..end\ndeep\t//deep\nnone\t//nothing\n");
    let xml = |end: &str| {
        let element = "<article key='a/b'><author>Someone &amp; Others</author><year>2011</year></article>\n";
        let mut text = "<dblp>".to_owned() + &element.repeat(100_000_000 / element.len());
        text.push_str(end);
        text
    };
    folder.write("large.xml", xml("<end x='yes'/></dblp>").as_bytes());
    assert_eq!(folder.run(&["filter", "-s", "subs", "large.xml"]).ok(), "large.xml\tend json\n");
    folder.write("large.xml", xml("<end x='yes'/>\n</dbl>").as_bytes());
    let ran = folder.run(&["filter", "-s", "subs", "large.xml"]);
    assert!(ran.code == 4 && ran.stdout.is_empty(), "{ran}");
    let member = "{\"a\":[1,\"two\",{\"b\":null}]},\n";
    let mut json = "[".to_owned() + &member.repeat(100_000_000 / member.len());
    json.push_str("{\"end\":1}]");
    folder.write("large.json", json.as_bytes());
    assert_eq!(
        folder.run(&["filter", "-s", "subs", "--input=json", "large.json"]).ok(),
        "large.json\tjson\n"
    );
    let line = json.replace('\n', " ");
    folder.write("lines", format!("{{\"deep\":1}}\n{line}\n{{\"deep\":1}}\n").as_bytes());
    assert_eq!(
        folder.run(&["filter", "-s", "subs", "lines"]).ok(),
        "lines:1\tdeep\nlines:2\tjson\nlines:3\tdeep\n"
    );
    let deep = format!("{}<deep/>{}", "<a>".repeat(10_000), "</a>".repeat(10_000));
    folder.write("deep.xml", deep.as_bytes());
    assert_eq!(folder.run(&["filter", "-s", "subs", "deep.xml"]).ok(), "deep.xml\tdeep\n");
    folder.write("deep.xml", &deep.as_bytes()[..deep.len() - 4]);
    let ran = folder.run(&["filter", "-s", "subs", "--on-error=skip", "deep.xml", "new.xml"]);
    assert!(ran.code == 0 && ran.stderr.contains("deep.xml:1:"), "{ran}");
    // Lines of JSON have 1,024 levels at most, as everywhere.
    let levels = format!("{}1{}\n{{\"deep\":1}}\n", "[".repeat(10_000), "]".repeat(10_000));
    folder.write("lines", levels.as_bytes());
    let ran = folder.run(&["filter", "-s", "subs", "--on-error=skip", "lines"]);
    assert!(ran.code == 0 && ran.text() == "lines:2\tdeep\n", "{ran}");
}
