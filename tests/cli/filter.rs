//! `warpath filter`.

use insta::assert_snapshot;

use crate::{Folder, data, pipe};

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
fn the_example() {
    let (subscriptions, people) = (data("subscriptions.txt"), data("people.ndjson"));
    let args = ["filter", "--subscriptions", &subscriptions, &people];
    let folder = people.strip_suffix("people.ndjson").unwrap();
    assert_snapshot!(pipe(&args, b"").ok().replace(folder, ""));
    assert_snapshot!(pipe(&[&args[..], &["--count"]].concat(), b"").ok());
}

#[test]
fn documents_of_all_kinds() {
    let folder = folder();
    let run = |args: &[&str]| folder.run(&[&["filter", "-s", "subs"], args].concat());
    assert_eq!(run(&["new.xml", "old.xml", "new.xml"]).ok(), "new.xml\ttheses\nnew.xml\ttheses\n");
    let ran = run(&["--format=ndjson", "--on-error=skip", "new.xml", "lines"]);
    let lines = "{\"file\":\"lines\",\"line\":1,\"ids\":[\"dutch\"]}\n{\"file\":\"lines\",\"line\":4,\"ids\":[\"dutch\"]}\n";
    assert_eq!(ran.text(), format!("{{\"file\":\"new.xml\",\"ids\":[\"theses\"]}}\n{lines}"));
    assert_eq!((ran.code, ran.stderr.lines().count()), (0, 1), "{ran}");
    // What is malformed ends the run behind what was before it.
    run(&["lines"]).failed(
        4,
        "lines:1\tdutch\n",
        "error: lines:3:7: closing bracket does not match the opening one",
    );
    run(&["new.xml", "bad.xml", "new.xml"]).failed(4, "new.xml\ttheses\n", "error: bad.xml:2:7: ");
    run(&["--count", "--on-error=skip", "-q", "new.xml", "lines"]).ok();
    assert_eq!(
        run(&["--count", "--on-error=skip", "-q", "new.xml", "lines"]).text(),
        "theses\t1\ndutch\t2\n"
    );
    // One input, one document; and what is compressed or packed is read as everywhere.
    folder.write("one.json", b"{\n \"dblp\": {\"x\": {\"author\": 1, \"year\": 2010,\n \"title\": 0}}}");
    assert_eq!(run(&["--input=json", "one.json"]).ok(), "one.json\ttheses\n");
    folder.write("new.xml.zst", &zstd::encode_all(&folder.read("new.xml")[..], 1).unwrap());
    assert_eq!(run(&["new.xml.zst"]).ok(), "new.xml.zst\ttheses\n");
    folder.run(&["pack", "lines", "-o", "lines.wpk"]).ok();
    assert_eq!(run(&["-q", "--on-error=skip", "lines.wpk"]).ok(), "lines.wpk:1\tdutch\nlines.wpk:4\tdutch\n");
    let xml = folder.run_with(&["filter", "-s", "subs", "--input=xml"], &folder.read("new.xml"));
    assert_eq!(xml.ok(), "<stdin>\ttheses\n");
    assert_eq!(run(&["-e", "old.xml"]).code, 1);
    assert_eq!(run(&["-e", "new.xml", "-o", "out"]).code, 0);
    assert_eq!(folder.read("out"), b"new.xml\ttheses\n");
}

/// What is wrong with subscriptions is told, and the others are asked.
#[test]
fn subscriptions_that_are_wrong() {
    let folder = folder();
    folder.write("subs", b"good\t//title\nbad\t/a[\nno tab\ngood\t/b\n");
    let ran = folder.run(&["filter", "-s", "subs", "new.xml"]);
    assert_eq!((ran.code, ran.text()), (3, "new.xml\tgood\n"), "{ran}");
    assert_snapshot!(ran.stderr);
    folder.write("subs", b"\n# none\n");
    let ran = folder.run(&["filter", "-s", "subs", "new.xml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "warning: subs: there is no subscription\n"));
    folder.write("subs", b"a\t/a\n\xff\t/b\n");
    folder.run(&["filter", "-s", "subs", "new.xml"]).failed(
        2,
        "",
        "error: subs:2: the subscriptions are not UTF-8",
    );
    folder.run(&["filter", "-s", "missing", "new.xml"]).failed(2, "", "error: missing: ");
    folder.run(&["filter", "new.xml"]).failed(2, "", "error: the following required arguments");
    folder.write("latin.xml", b"<a>\n\xe9</a>");
    folder.write("subs", b"a\t/a\n");
    folder.run(&["filter", "-s", "subs", "latin.xml"]).failed(4, "", "error: latin.xml:2:1: is not UTF-8");
}

/// Many lines, so that many threads read them: as with one at a time.
#[test]
fn many_lines_in_their_order() {
    let mut text = String::new();
    for line in 0..30_000 {
        text.push_str(&format!("{{\"n\":{},\"u\":{{\"lang\":\"{}\"}}}}\n", line % 7, ["nl", "en"][line % 2]));
    }
    let folder = folder();
    folder.write("lines", text.as_bytes());
    let ran = folder.run(&["filter", "-s", "subs", "lines"]);
    let want: String = (0..30_000).step_by(2).map(|line| format!("lines:{}\tdutch\n", line + 1)).collect();
    assert!(ran.ok() == want);
}
