//! `warpath select`.

use crate::{Folder, data, pipe};

const RECORDS: &[u8] = br#"{"id":1,"name":"a,\"b\"","tags":["x",{"y" : 2}]}
{"id":2,"name":null,"tags":[]}

{"name":"\u00e9\n\ud83d"}
[3]
"#;

#[test]
fn a_row_for_each_record_as_json() {
    let ran = pipe(&["select", "id=$.id", "name=$.name", "tags=$.tags[*]"], RECORDS);
    assert_eq!(
        ran.ok(),
        r#"{"id":1,"name":"a,\"b\"","tags":["x",{"y" : 2}]}
{"id":2,"name":null,"tags":[]}
{"id":null,"name":"\u00e9\n\ud83d","tags":[]}
{"id":null,"name":null,"tags":[]}
"#
    );
}

/// A limit that is not reached changes nothing.
#[test]
fn a_limit_changes_no_row() {
    let columns = ["a=$.a", "all=$[*]"];
    for file in ["edge.ndjson", "bad.ndjson", "maps.ndjson"] {
        for (size, format) in [("64", "ndjson"), ("1MiB", "ndjson"), ("64", "csv"), ("1MiB", "csv")] {
            for on_error in ["skip", "fail"] {
                let file = data(file);
                let run = |limit: &[&str]| {
                    let mut args =
                        vec!["select", "--format", format, "--partition-size", size, "--on-error", on_error];
                    args.extend(limit);
                    args.extend(columns);
                    args.extend(["--", &file]);
                    let ran = pipe(&args, b"");
                    (ran.code, ran.stdout)
                };
                assert_eq!(run(&[]), run(&["--limit", "1000000"]), "{file} {size} {format} {on_error}");
            }
        }
    }
}

/// A limit cuts between rows, even if a field has newlines and quotes. Faults before the last row are
/// counted.
#[test]
fn a_limit_cuts_between_rows() {
    let records = b"{\"a\":\"x\\ny\"}\n{]\n\n{\"a\":\"\\\"\\n\\\"\"}\n{\"a\":\"\\\"\"}\n{]\n{\"a\":null}\n{\"a\":[\"\"]}\n";
    let csv = ["a\n", "\"x\ny\"\n", "\"\"\"\n\"\"\"\n", "\"\"\"\"\n", "\"\"\n", "\"[\"\"\"\"]\"\n"];
    let json = [
        "",
        "{\"a\":\"x\\ny\"}\n",
        "{\"a\":\"\\\"\\n\\\"\"}\n",
        "{\"a\":\"\\\"\"}\n",
        "{\"a\":null}\n",
        "{\"a\":[\"\"]}\n",
    ];
    for (format, rows) in [("csv", csv), ("ndjson", json)] {
        for limit in 0..=6 {
            for size in ["1", "30", "1MiB"] {
                let args = ["select", "--format", format, "--on-error", "skip", "--partition-size", size];
                let ran = pipe(&[&args[..], &["--limit", &limit.to_string(), "a=$.a"]].concat(), records);
                let skipped = match limit {
                    0 | 1 => "",
                    2 | 3 => "warning: 1 malformed record skipped",
                    _ => "warning: 2 malformed records skipped",
                };
                ran.failed(0, &rows[..rows.len().min(limit + 1)].concat(), skipped);
                assert_eq!(ran.stderr.is_empty(), skipped.is_empty(), "{ran}");
            }
        }
    }
}

#[test]
fn a_row_for_each_record_as_csv() {
    let args = ["select", "--format", "csv", "id=$.id", "full name=$.name", "tags=$.tags[*]"];
    assert_eq!(
        pipe(&args, RECORDS).ok(),
        "id,full name,tags\n1,\"a,\"\"b\"\"\",\"[\"\"x\"\",{\"\"y\"\" : 2}]\"\n2,,[]\n,\"é\n\u{fffd}\",[]\n,,[]\n"
    );
    // An empty row of one column is distinguished from a blank line.
    assert_eq!(pipe(&["select", "--format", "csv", "id=$.id"], b"[]\n").noted(), "id\n\"\"\n");
    assert_eq!(pipe(&args, b"").ok(), "id,full name,tags\n");
}

#[test]
fn names_are_any_text() {
    let ran = pipe(&["select", "a\"\\\n\u{1}☺=$.id"], b"{\"id\":7}");
    assert_eq!(ran.ok(), "{\"a\\\"\\\\\\n\\u0001☺\":7}\n");
    // The first `=` ends the name.
    assert_eq!(pipe(&["select", "a=$[?@ == 1]"], b"[1,2,1]").ok(), "{\"a\":[1,1]}\n");
}

#[test]
fn limit_counts_rows() {
    assert_eq!(pipe(&["select", "id=$.id", "--limit", "2"], RECORDS).ok(), "{\"id\":1}\n{\"id\":2}\n");
    assert_eq!(pipe(&["select", "--format", "csv", "id=$.id", "-n", "0"], RECORDS).ok(), "id\n");
}

#[test]
fn files_are_named() {
    let folder = Folder::new(&[("a.ndjson", b"{\"a\":1}"), ("b.ndjson", b"{\"a\":2}\n")]);
    let ran = folder.run(&["select", "a=$.a", "--", "a.ndjson", "b.ndjson"]);
    assert_eq!(ran.ok(), "{\"a\":1}\n{\"a\":2}\n");
    // They need no `--` where they are unmistakable.
    for args in
        [&["a=$.a", "a.ndjson", "b.ndjson"][..], &["a.ndjson", "a=$.a", "b.ndjson"], &["a=$.a", "*.ndjson"]]
    {
        assert_eq!(folder.run(&[&["select"], args].concat()).ok(), "{\"a\":1}\n{\"a\":2}\n");
    }
    assert_eq!(folder.run_with(&["select", "a=$.a", "-"], b"{\"a\":3}").ok(), "{\"a\":3}\n");
    folder.run(&["select", "a=$.a", "c.ndjson"]).failed(2, "", "error: `c.ndjson` is not a column\n  help: ");
    folder.run(&["select", "a.ndjson"]).failed(2, "", "error: no column is given\n  help: ");
    // What may be a column is one.
    folder.write("a=$.b", b"{\"a\":3}\n");
    assert_eq!(folder.run(&["select", "a=$.b", "a.ndjson"]).noted(), "{\"a\":null}\n");
}

#[test]
fn defaults_take_the_place_of_null_and_of_nothing() {
    let records = b"{\"a\":1,\"s\":\"x\"}\n{\"a\":null}\n{}\n{\"a\":\"??\"}\n";
    let ran = pipe(&["select", "a=$.a ?? 0", "s=$.s??\"a ?? \\\"b\\\"\"", "n=$.a ?? null"], records);
    assert_eq!(
        ran.ok(),
        r#"{"a":1,"s":"x","n":1}
{"a":0,"s":"a ?? \"b\"","n":null}
{"a":0,"s":"a ?? \"b\"","n":null}
{"a":"??","s":"a ?? \"b\"","n":"??"}
"#
    );
    let ran = pipe(&["select", "--format", "csv", "a=$.a ?? [1, 2]", "s=$.s ?? \"é\\n\""], records);
    assert_eq!(ran.ok(), "a,s\n1,x\n\"[1, 2]\",\"é\n\"\n\"[1, 2]\",\"é\n\"\n??,\"é\n\"\n");
    // A path may have `??` in a name.
    assert_eq!(pipe(&["select", "a=$['a ?? 1'] ?? 2"], b"{}").ok(), "{\"a\":2}\n");
    for (column, code, message) in [
        ("a=$.a ?? zero", 2, "error: the default `zero` is not a JSON value: "),
        ("a=$.a ??", 2, "error: the default `` is not a JSON value: "),
        ("a=$.a ?? 1 2", 2, "error: the default `1 2` is not a JSON value: "),
        ("a=$.a[*] ?? 1", 2, "error: the path of `a` may select several values"),
        ("a=$.a[ ?? 1", 3, "error: "),
    ] {
        pipe(&["select", column], records).failed(code, "", message);
    }
}

#[test]
fn columns_need_names_of_their_own() {
    for (columns, message) in [
        (&["=$.a"][..], "error: the column `=$.a` has no name"),
        (&["$.a"], "error: `$.a` is not a column"),
        (&["$[?@ == 1]"], "error: `$[?@ == 1]` is not a column"),
        (&["a=$.a", "a=$.b"], "error: two columns have the name `a`"),
    ] {
        pipe(&[&["select"][..], columns].concat(), b"").failed(2, "", message);
    }
    assert_eq!(pipe(&["select"], b"").code, 2);
    pipe(&["select", "a=$.a", "b=$["], b"").failed(3, "", "error: ");
}

#[test]
fn malformed_records_give_no_row() {
    let records = b"{\"a\":1}\n{\"a\":2\n{\"a\":3}\n";
    pipe(&["select", "a=$.a"], records).failed(4, "{\"a\":1}\n", "error: <stdin>:2:1: bracket is not closed");
    let skipping = pipe(&["select", "a=$.a", "--on-error", "skip"], records);
    skipping.failed(0, "{\"a\":1}\n{\"a\":3}\n", "warning: 1 malformed record skipped; first: <stdin>:2:1: ");
    // Nothing was read: not even the header is there.
    pipe(&["select", "--format", "csv", "a=$.a", "--", "missing"], b"").failed(2, "", "error: missing: ");
}

#[test]
fn output_does_not_depend_on_partitions() {
    let file = data("tweets.ndjson");
    for format in ["ndjson", "csv"] {
        let ran = |size| {
            pipe(
                &[
                    "select",
                    "--format",
                    format,
                    "--partition-size",
                    size,
                    "lang=$.user.lang",
                    "urls=$.entities.urls[*].url",
                    "text=$.text",
                    "--",
                    &file,
                ],
                b"",
            )
        };
        let whole = ran("1GiB");
        assert!(whole.ok().lines().count() > 10);
        for size in ["1", "5KiB"] {
            assert!(ran(size) == whole, "{format} {size}");
        }
    }
}
