//! Notes about runs that find nothing: the reason, as far as the first records show it.

use super::{Folder, Ran, pipe};

const LOG: &[u8] =
    br#"{"status":200,"id":"7","ok":true,"user":{"lang":"en","name":null},"items":[{"price":5}],"tags":[]}
{"status":404,"id":"8","ok":false,"user":{"lang":"nl"},"items":[{"price":6},{"price":7}],"a b":1}
"#;

const ARRAYS: &[u8] = b"[{\"a\":1}]\n[{\"a\":2}]\n";

fn folder() -> Folder {
    Folder::new(&[
        ("log.ndjson", LOG),
        ("arrays.ndjson", ARRAYS),
        ("all.json", b"[{\"a\": 1},\n {\"a\": 2}]"),
        ("bad.ndjson", b"{\"a\":1}\nx\n"),
    ])
}

/// The lines of standard error of a run that succeeds.
fn notes(ran: &Ran) -> Vec<&str> {
    assert_eq!(ran.code, 0, "{ran}");
    ran.stderr.lines().collect()
}

#[test]
fn the_step_that_leads_nowhere_is_named() {
    let folder = folder();
    for (path, note) in [
        ("$.statuss", "no record has `$.statuss`; did you mean `$.status`?"),
        ("$.STATUS", "no record has `$.STATUS`; did you mean `$.status`?"),
        ("$['a  b']", "no record has `$['a  b']`; did you mean `$['a b']`?"),
        ("$.user.lan", "no record has `$.user.lan`; did you mean `$.user.lang`?"),
        // A name that is elsewhere.
        ("$.lang", "no record has `$.lang`; did you mean `$.user.lang`?"),
        ("$.price", "no record has `$.price`; did you mean `$.items[*].price`?"),
        ("$.nothing_like_it", "no record has `$.nothing_like_it`"),
        ("$..pricee", "no record has `$..pricee`; did you mean `$..price`?"),
        ("$.items[*].prize", "no record has `$.items[*].prize`; did you mean `$.items[*].price`?"),
        (
            "$.items.price",
            "`$.items` is always an array, whose elements have `price`; did you mean `$.items[*].price`?",
        ),
        ("$.status.code", "`$.status` is always a number, which has no member `code`"),
        ("$.user.name.first", "`$.user.name` is always `null`, which has no member `first`"),
        ("$.user[0]", "`$.user` is always an object, and `[0]` selects elements of arrays"),
        ("$.tags[0]", "`$.tags` is always an empty array, in which `[0]` selects nothing"),
        ("$.tags[*]", "`$.tags` is always empty, so there is nothing in it to select from"),
        ("$.items[?@.prize > 1]", "nothing that the filter tests has `@.prize`; did you mean `@.price`?"),
        (
            "$.items[?@.price == \"5\"]",
            "`@.price` is always a number, and `== '5'` compares it with a string; did you mean `@.price == 5`?",
        ),
        (
            "$.items[?length(@.prize) > 1]",
            "nothing that the filter tests has `@.prize`; did you mean `@.price`?",
        ),
    ] {
        let note = format!("note: {note}");
        for args in
            [&["query", path][..], &["query", "-c", path], &["query", "-n3", path], &["distinct", path]]
        {
            let ran = folder.run(&[args, &["log.ndjson"]].concat());
            assert_eq!(notes(&ran), [&note], "{args:?}");
        }
        for args in [&["count-by", path][..], &["stats", path], &["select", &format!("x={path}")]] {
            for more in [&["--workers=1"][..], &["--partition-size=64"]] {
                let ran = folder.run(&[args, more, &["log.ndjson"]].concat());
                assert_eq!(notes(&ran), [&note], "{args:?}");
            }
        }
        // Whatever is suggested is a path or a condition.
        if let Some((_, meant)) = note.split_once("did you mean `")
            && meant.starts_with('$')
        {
            let meant = meant.trim_end_matches("`?");
            assert_ne!(folder.run(&["query", "-c", meant, "log.ndjson"]).ok(), "0\n", "{meant}");
        }
    }
    // No note: the path may have matches in other records.
    for path in
        ["$", "$.items[?@.price > 100]", "$.items[9]", "$.items[?@.price == 5 || @.x]", "$.items[?!@.price]"]
    {
        assert_eq!(folder.run(&["query", path, "log.ndjson"]).stderr, "", "{path}");
    }
}

#[test]
fn conditions_that_are_never_true_are_named() {
    let folder = folder();
    for (condition, note) in [
        ("$.statuss == 200", "no record has `$.statuss`; did you mean `$.status`?"),
        (
            "$.status in (\"200\", \"404\")",
            "`$.status` is always a number, and `in` compares it with a string",
        ),
        ("$.id between 1 and 9", "`$.id` is always a string, and `between` compares it with a number"),
        (
            "$.status >= \"500\"",
            "`$.status` is always a number, and `>= '500'` compares it with a string; did you mean `$.status >= 500`?",
        ),
        (
            "500 <= $.id && $.status == 200",
            "`$.id` is always a string, and `>= 500` compares it with a number; did you mean `$.id >= \"500\"`?",
        ),
        (
            "$.ok == 'true'",
            "`$.ok` is always a boolean, and `== 'true'` compares it with a string; did you mean `$.ok == true`?",
        ),
        ("match($.status, '2..')", "`$.status` is always a number, and `match` is about strings"),
        ("$.user.name.first || $.x", "`$.user.name` is always `null`, which has no member `first`"),
        ("time($.at) > '2026-01-01'", "no record has `$.at`"),
    ] {
        for command in [
            &["query", "$.id"][..],
            &["query", "-c", "$"],
            &["select", "x=$.id"],
            &["count-by", "$.id"],
            &["head"],
        ] {
            let ran = folder.run(&[command, &["--where", condition, "log.ndjson"]].concat());
            let said = notes(&ran);
            assert!(said == [format!("note: {note}")], "{command:?} {condition}: {said:?}");
        }
    }
    for condition in [
        "$.status > 999",
        "$.x || $.status == 1",
        "!$.status",
        "$.status != 'x' && $.id == 'x'",
        "$.x == $.y && $.id == 'x'",
    ] {
        let ran = folder.run(&["query", "$", "--where", condition, "log.ndjson"]);
        assert_eq!(notes(&ran), [""; 0], "{condition}");
    }
}

#[test]
fn records_that_are_arrays_are_named() {
    let folder = folder();
    let note = "note: `$` is always an array, whose elements have `a`; did you mean `$[*].a`?";
    assert_eq!(notes(&folder.run(&["query", "$.a", "arrays.ndjson"])), [note]);
    assert_eq!(notes(&folder.run(&["query", "$.a", "--input=json", "all.json"])), [note]);
    assert_eq!(
        notes(&folder.run(&["query", "$[*].b", "--input=json", "--partition-size=8", "all.json"])),
        ["note: no record has `$[*].b`; did you mean `$[*].a`?"]
    );
}

#[test]
fn patterns_that_are_no_i_regexp_are_shown() {
    let folder = folder();
    let ran = folder.run(&["query", "$", "--where", r#"match($.id, "\\d+")"#, "log.ndjson"]);
    assert_eq!(
        notes(&ran),
        [
            "note: this pattern is no I-Regexp (RFC 9485), so `match` is always false",
            r#"  match($.id, "\\d+")"#,
            "              ^^^^^^",
            r"  help: write `[0-9]` in place of `\\d`",
        ]
    );
    let ran = folder.run(&["query", "$.items[?search(@.x, '[')]", "log.ndjson"]);
    assert!(ran.stderr.starts_with("note: this pattern is no I-Regexp"), "{ran}");
    assert_eq!(folder.run(&["-q", "query", "$.items[?search(@.x, '[')]", "log.ndjson"]).stderr, "");
    let json = folder.run(&["--message-format=json", "query", "$[?search(@.x, '(?i)a')]", "arrays.ndjson"]);
    assert!(json.stderr.starts_with("{\"kind\":\"note\",\"message\":\"this pattern"), "{json}");
}

#[test]
fn there_is_no_note_without_records_or_after_an_error() {
    let folder = folder();
    assert_eq!(pipe(&["query", "$.a"], b"").stderr, "");
    assert_eq!(folder.run(&["query", "-q", "$.statuss", "log.ndjson"]).stderr, "");
    assert!(!folder.run(&["query", "$.b", "bad.ndjson"]).stderr.contains("note:"));
    let skipped = folder.run(&["query", "$.b", "--on-error=skip", "bad.ndjson"]);
    assert!(skipped.stderr.ends_with("note: no record has `$.b`; did you mean `$.a`?\n"), "{skipped}");
    // Of many paths, three are named.
    let many = folder.run(&["select", "a=$.q", "b=$.r", "c=$.s", "d=$.t", "e=$.u", "f=$.id", "log.ndjson"]);
    assert_eq!(notes(&many)[3..], ["note: 2 more paths have no match either"]);
}

#[test]
fn what_is_not_known_of_all_records_is_said_of_some() {
    let mut log = b"{\"status\":1}\n".repeat(100_000);
    log.extend_from_slice(b"{\"status\":\"x\",\"late\":1}\n");
    let folder = Folder::new(&[("log.ndjson", &log)]);
    let ran = folder.run(&["query", "$", "--where", "$.nope == 1", "--workers=1", "log.ndjson"]);
    let said = notes(&ran);
    assert!(said.len() == 1 && said[0].starts_with("note: none of "), "{said:?}");
    assert!(said[0].ends_with(" records that were looked at has `$.nope`"), "{said:?}");
    let ran = folder.run(&["query", "$.nope", "log.ndjson"]);
    assert_eq!(notes(&ran), ["note: no record has `$.nope`"]);
}
