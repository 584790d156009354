//! Conditions on records and on matches: `--where`, `--match`, and the note about filters of children.

use std::io::Write as _;

use insta::assert_snapshot;

use super::{Folder, pipe};

const LOG: &[u8] = b"\
{\"level\":\"error\",\"code\":5,\"user\":{\"id\":1},\"items\":[{\"price\":5},{\"price\":15},{\"price\":25}]}
{\"level\":\"info\",\"code\":7,\"items\":[{\"price\":30}]}

{\"level\":\"error\",\"code\":9,\"limit\":8,\"items\":[{\"price\":9},{\"price\":7}]}
";

fn folder() -> Folder {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(LOG).unwrap();
    Folder::new(&[
        ("log.ndjson", LOG),
        ("log.gz", &gzip.finish().unwrap()),
        (
            "subs",
            b"all\t$.level\nerrors\t$.level == 'error' && $.code > 5\nwrong\t$[?@.level == 'error'].x\n",
        ),
        ("bad.ndjson", b"{\"level\":\"error\"}\n{\"level\":\n{\"level\":\"info\"}\n"),
        ("one.json", b"{\"level\": \"error\",\n \"items\": [{\"price\": 1},\n {\"price\": 20}]}"),
    ])
}

#[test]
fn matches_are_kept_for_which_a_condition_is_true() {
    let folder = folder();
    for input in ["log.ndjson", "log.gz"] {
        let run = |args: &[&str]| folder.run(&[&["query", "$.items[*]", input, "--match"], args].concat());
        assert_eq!(run(&["@.price > 10"]).ok(), "{\"price\":15}\n{\"price\":25}\n{\"price\":30}\n");
        assert_eq!(run(&["@.price > 10", "--count"]).ok(), "3\n");
        assert_eq!(run(&["@.price > 10", "-n2", "-c"]).ok(), "2\n");
        assert_eq!(run(&["@.price > 10", "--limit=1"]).ok(), "{\"price\":15}\n");
        assert_eq!(run(&["@.price > $.limit"]).ok(), "{\"price\":9}\n");
        assert_eq!(run(&["@.price > 10", "--where=$.code < 7", "-c"]).ok(), "2\n");
        assert_eq!(
            run(&["@.price > 20", "--with-path"]).ok(),
            "$['items'][2]\t{\"price\":25}\n$['items'][0]\t{\"price\":30}\n"
        );
        assert_eq!(run(&["@.price == 30", "--offsets"]).ok(), "125\t137\t{\"price\":30}\n");
        assert_eq!(run(&["@.price > 100", "-e"]).code, 1);
    }
    let piped = pipe(&["query", "$.code", "--match", "@ in (7, 9)"], LOG);
    assert_eq!(piped.ok(), "7\n9\n");
    let json = folder.run(&["query", "--input=json", "$.items[*].price", "--match=@ > 1", "one.json"]);
    assert_eq!(json.ok(), "20\n");
    assert_snapshot!(folder.run(&["query", "$", "--match", "price > 1", "log.ndjson"]).stderr);
}

#[test]
fn subscriptions_and_checks_take_conditions_on_records() {
    let folder = folder();
    let filter = |args: &[&str]| folder.run(&[&["filter", "-q", "-s", "subs"], args].concat());
    assert_eq!(
        filter(&["log.ndjson"]).ok(),
        "log.ndjson:1\tall\nlog.ndjson:2\tall\nlog.ndjson:4\tall errors\n"
    );
    for input in ["log.ndjson", "log.gz"] {
        let ran = filter(&["--where=$.code != 7", input]);
        assert_eq!(ran.ok().replace(input, "F"), "F:1\tall\nF:4\tall errors\n");
    }
    // A predicate that needs trees, and one that no document passes.
    assert_eq!(
        filter(&["-c", "--where=count($.items[*]) == 2", "log.ndjson"]).ok(),
        "all\t1\nerrors\t1\nwrong\t0\n"
    );
    assert_eq!(filter(&["-c", "--where=$.code > 100", "log.ndjson"]).ok(), "all\t0\nerrors\t0\nwrong\t0\n");
    assert_eq!(filter(&["--input=json", "--where=$.items[1]", "one.json"]).ok(), "one.json\tall\n");
    assert_eq!(filter(&["--input=json", "--where=$.items[2]", "one.json"]).ok(), "");
    let bad = filter(&["--where=$.level == 'info'", "--on-error=skip", "bad.ndjson"]);
    assert_eq!(bad.text(), "bad.ndjson:3\tall\n");
    filter(&["--where=$.x", "--input=xml", "log.ndjson"]).failed(
        2,
        "",
        "error: a predicate is about JSON records",
    );
    filter(&["--where=$.x ==", "log.ndjson"]).failed(3, "", "error: expected a value after `==`");

    let validate = |args: &[&str]| folder.run(&[&["validate"], args].concat());
    assert_eq!(
        validate(&["--where=$.level == 'error'", "log.ndjson"]).ok(),
        "2 records that match, 212 bytes: all valid\n"
    );
    let checked = pipe(&["validate", "--where=$.code"], LOG);
    assert_eq!(checked.ok(), "3 records that match, 212 bytes: all valid\n");
    validate(&["--where=$.level == 'info'", "bad.ndjson"]).failed(4, "", "error: bad.ndjson:2:");
    let all = validate(&["--all", "--where=$.level == 'info'", "bad.ndjson"]);
    assert_eq!((all.code, all.stdout.iter().filter(|byte| **byte == b'\n').count()), (4, 1), "{all}");
}

#[test]
fn a_filter_of_children_that_no_record_has_is_noted() {
    let folder = folder();
    let query = |args: &[&str]| folder.run(&[&["query"], args].concat());
    let note = |args: &[&str]| {
        let ran = query(args);
        assert_eq!((ran.code, ran.text()), (0, if args.contains(&"-c") { "0\n" } else { "" }), "{ran}");
        ran.stderr
    };
    assert_snapshot!(note(&["$[?@.level == \"error\"].code", "log.ndjson"]));
    assert_snapshot!(note(&[
        "--where",
        "$.code > 5",
        "$[? @.level == 'error' && @.code == 9]",
        "-c",
        "log.gz"
    ]));
    assert_snapshot!(note(&["$[?@.lvl == 'error']", "log.ndjson"]));
    // The command in the note does what was meant.
    assert_eq!(query(&["$.code", "--where", "$.level == \"error\"", "log.ndjson"]).ok(), "5\n9\n");
    // No note without a reason for one: the filter finds children, or a child has the member.
    for path in ["$[?@.id == 1]", "$[?@.id == 2]", "$.items[?@.price == 0]", "$[?@ == 'error']"] {
        assert_eq!(query(&[path, "log.ndjson"]).stderr, "", "{path}");
    }
    assert_eq!(note(&["-q", "$[?@.level == 'error']", "log.ndjson"]), "");
    assert_eq!(pipe(&["query", "$[?@.level == 'x']"], b"").stderr, "");
    let piped = pipe(&["query", "$[?@.level == 'x']"], LOG);
    assert!(piped.stderr.contains("warpath query '$' --where '$.level == '\\''x'\\'''\n"), "{piped}");
    let json = note(&["--input=json", "$[?@.level == 'error']", "one.json"]);
    assert!(json.contains("--input=json '$' --where"), "{json}");

    let filtered = folder.run(&["filter", "-s", "subs", "log.ndjson"]);
    assert_snapshot!(filtered.stderr);
    let inside = Folder::new(&[("subs", b"ids\t$[?@.id == 5]\n"), ("log.ndjson", LOG)]);
    assert_eq!(inside.run(&["filter", "-s", "subs", "log.ndjson"]).stderr, "");
}

/// The same note comes from the other commands with paths.
#[test]
fn filters_of_children_are_noted_in_every_command_with_paths() {
    let folder = folder();
    let path = "$[?@.level == \"error\"]";
    let column = format!("errors={path}");
    for (args, word) in [
        (&["count-by", path][..], "'$'"),
        (&["distinct", path], "'$'"),
        (&["distinct", "--count", path], "'$'"),
        (&["stats", path], "'$'"),
        (&["select", &column], "'errors=$'"),
        (&["select", "--format=csv", &column], "'errors=$'"),
        (&["select", "--sort=errors", &column], "'errors=$'"),
        (&["select", "-o", "x.arrow", &column], "'errors=$'"),
        (&["select", "-n9", "--skip=1", &column], "'errors=$'"),
    ] {
        for file in ["log.ndjson", "log.gz"] {
            let ran = folder.run(&[args, &[file, "--partition-size=64"]].concat());
            let note = "note: the filter selects among the children of `$`, and in the records read, no child has \
                        a member `level`; `$` has one itself\n";
            assert!(ran.code == 0 && ran.stderr.contains(note), "{args:?} {ran}");
            assert!(
                ran.stderr.contains(&format!(" {word} --where '$.level == \"error\"' ")),
                "{args:?} {ran}"
            );
        }
    }
    // Of several paths, each has its note, without a command for all.
    let ran = folder.run(&["select", "c=$.code", &column, "n=$[?@.nope]", "log.ndjson"]);
    assert_eq!(
        ran.stderr,
        "note: `$[?@.level == \"error\"]`: the filter selects among the children of `$`, and in the records read, \
         no child has a member `level`; `$` has one itself\n\
         note: `$[?@.nope]`: nothing that the filter tests has `@.nope`\n"
    );
    // No note without a reason for one.
    for path in ["$[?@.id == 1]", "$[?@.id == 2]", "$.items[?@.price == 0]", "$[?@ == 'error']"] {
        for command in ["count-by", "distinct", "stats"] {
            assert_eq!(folder.run(&[command, path, "log.ndjson"]).stderr, "", "{command} {path}");
        }
        assert_eq!(folder.run(&["select", &format!("a={path}"), "log.ndjson"]).stderr, "", "{path}");
        let sorted = folder.run(&["select", &format!("a={path}"), "--sort=a", "log.ndjson"]);
        assert_eq!(sorted.stderr, "", "{path}");
    }
}

/// A pattern of a record is a pattern, whatever its bytes are.
#[test]
fn patterns_of_records_are_no_instants() {
    let records =
        b"{\"a\":\"2020-01-01\",\"p\":\"\xff0|99999999999999999999|\"}\n{\"a\":\"x\",\"p\":\"x\"}\n";
    for condition in
        ["match($.a, $.p)", "match($.a, $.p) and not time($.a) > '2021-01-01'", "search($.a, $.p)"]
    {
        let ran = pipe(&["query", "$.a", "--where", condition], records);
        assert_eq!(ran.ok(), "\"x\"\n", "{condition}");
    }
    // Tests of one text, with formats that differ.
    let times = b"{\"t\":\"03.04.1970\"}\n{\"t\":\"1970-04-03\"}\n{\"t\":3}\n{\"t\":\"x\"}\n";
    for (condition, results) in [
        (
            "time($.t, '%d.%m.%Y') == '1970-04-03' or time($.t) == '1970-04-03'",
            "\"03.04.1970\"\n\"1970-04-03\"\n",
        ),
        (
            "time($.t, '%d.%m.%Y') == '1970-04-03' and time($.t, '%m.%d.%Y') == '1970-03-04'",
            "\"03.04.1970\"\n",
        ),
        ("time($.t) between '1970-01-01' and '1970-04-03'", "\"1970-04-03\"\n3\n"),
        ("time($.t) between '1970-04-03' and '1970-04-05'", "\"1970-04-03\"\n"),
        ("time($.t) in ('1970-04-02', '1970-04-03')", "\"1970-04-03\"\n"),
    ] {
        assert_eq!(pipe(&["query", "$.t", "--where", condition], times).ok(), results, "{condition}");
    }
}

#[test]
fn formats_that_give_no_instant_are_refused() {
    for (format, said) in [("%Y-%m-%d %Z", "expected `%z`"), ("%H:%M", "does not give an instant")] {
        let ran = pipe(&["query", "$", "--time-format", format, "--where", "time($.t) > 0"], b"");
        assert!(ran.code == 2 && ran.stderr.contains(said), "{ran}");
        let condition = format!("time($.t, '{format}') > 0");
        let ran = pipe(&["query", "$", "--where", &condition], b"");
        assert!(ran.code == 3 && ran.stderr.contains(said), "{ran}");
    }
}
