//! Records that are left out: `--rejects` and `--max-errors`.

use crate::Folder;

const RECORDS: &[u8] = b"{\"a\":1}\n{\"a\":2\n\n{\"a\":\"x\"}\n{\"b\":\"\xff\xfe\n{\"a\":[}\n{\"a\":7}\n";
const FIRST: &str = r#"{"file":"in","line":2,"byte":1,"reason":"bracket is not closed by the end of the line","record":"{\"a\":2"}"#;
const LAST: &str = r#"{"file":"in","line":6,"byte":7,"reason":"closing bracket does not match the opening one","record":"{\"a\":[}"}"#;

fn folder() -> Folder {
    Folder::new(&[("in", RECORDS), ("all", b"all\t$[?@ == 1]\n"), ("good", b"{\"a\":1}\n")])
}

fn rejects(folder: &Folder) -> Vec<String> {
    String::from_utf8(folder.read("bad")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn malformed_records_are_kept_as_they_are() {
    let folder = folder();
    for size in ["1", "20", "1MiB"] {
        for args in [
            &["query", "$.a"][..],
            &["query", "--count", "$.a"],
            &["query", "--offsets", "$.a"],
            &["select", "a=$.a"],
            &["select", "a=$.a", "--format", "arrow"],
            &["filter", "--subscriptions", "all"],
            &["validate"],
        ] {
            let skip: &[&str] = if args[0] == "validate" { &[] } else { &["--on-error", "skip"] };
            let more = ["in", "--rejects", "bad", "--partition-size", size, "-q"];
            let ran = folder.run(&[args, skip, &more].concat());
            assert_eq!(ran.code, if args[0] == "validate" { 4 } else { 0 }, "{ran}");
            let rejects = rejects(&folder);
            assert_eq!(rejects.len(), 3, "{args:?} {rejects:?}");
            assert_eq!((rejects[0].as_str(), rejects[2].as_str()), (FIRST, LAST), "{args:?}");
            let in_base64 = "\"record_base64\":\"eyJiIjoi//4=\"}";
            assert!(
                rejects[1].starts_with("{\"file\":\"in\",\"line\":5,") && rejects[1].ends_with(in_base64),
                "{rejects:?}"
            );
        }
    }
    // A run without a malformed record leaves an empty file.
    folder.run(&["query", "$.a", "good", "--on-error", "skip", "--rejects", "bad"]).ok();
    assert!(rejects(&folder).is_empty());
    // A limit ends before the others.
    folder.run(&["query", "$.a", "in", "-q", "-n", "2", "--on-error", "skip", "--rejects", "bad"]);
    assert_eq!(rejects(&folder), [FIRST]);
}

#[test]
fn refused_records_are_kept_in_order() {
    let folder = folder();
    for size in ["1", "1MiB"] {
        let args =
            ["select", "a:int64=$.a", "in", "-o", "out.arrow", "--on-error", "skip", "--on-mismatch", "skip"];
        let ran = folder.run(&[&args[..], &["--rejects", "bad", "--partition-size", size, "-q"]].concat());
        assert_eq!(ran.code, 0, "{ran}");
        let rejects = rejects(&folder);
        let refused = r#"{"file":"in","line":4,"byte":6,"column":"a","reason":"the value is not of the type int64","record":"{\"a\":\"x\"}"}"#;
        assert_eq!(rejects.len(), 4);
        assert_eq!((rejects[0].as_str(), rejects[1].as_str(), rejects[3].as_str()), (FIRST, refused, LAST));
    }
}

#[test]
fn too_many_end_the_run() {
    let folder = folder();
    for size in ["1", "1MiB"] {
        for args in [
            &["query", "$.a", "--on-error", "skip"][..],
            &["select", "a=$.a", "--on-error", "skip"],
            &["filter", "--subscriptions", "all", "--on-error", "skip"],
            &["validate"],
        ] {
            let run = |most: &str| {
                folder.run(&[args, &["in", "-q", "--max-errors", most, "--partition-size", size]].concat())
            };
            for most in ["0", "1", "2"] {
                let ran = run(most);
                let records = if most == "1" { "record was" } else { "records were" };
                let message =
                    format!("error: more than {most} {records} left out\n  help: `--rejects FILE` ");
                assert!(ran.code == 4 && ran.stderr.starts_with(&message), "{args:?} {ran}");
            }
            let enough = run("3");
            assert_eq!(enough.code, if args[0] == "validate" { 4 } else { 0 }, "{enough}");
        }
    }
    // Refused records count, too.
    let args = [
        "select",
        "a:int64=$.a",
        "in",
        "-o",
        "out.arrow",
        "-q",
        "--on-error",
        "skip",
        "--on-mismatch",
        "skip",
    ];
    assert_eq!(folder.run(&[&args[..], &["--max-errors", "4"]].concat()).code, 0);
    folder.run(&[&args[..], &["--max-errors", "3"]].concat()).failed(
        4,
        "",
        "error: more than 3 records were left out",
    );
}

#[test]
fn rejects_need_a_file_of_their_own() {
    let folder = folder();
    let skip = ["query", "$.a", "in", "--on-error", "skip"];
    for (args, message) in [
        (
            &["query", "$.a", "in", "--rejects", "bad"][..],
            "error: `--rejects` is about records that are left out",
        ),
        (
            &["query", "$.a", "in", "--max-errors", "1"],
            "error: `--max-errors` is about records that are left out",
        ),
        (&[&skip[..], &["--rejects", "-"]].concat(), "error: `--rejects` names a file"),
        (
            &[&skip[..], &["--rejects", "in"]].concat(),
            "error: in: is both an input and the file of `--rejects` (`in`)",
        ),
        (
            &[&skip[..], &["--rejects", "x", "-o", "x"]].concat(),
            "error: `x` is the file of both `--output` and `--rejects`",
        ),
    ] {
        folder.run(args).failed(2, "", message);
    }
    assert_eq!(folder.read("in"), RECORDS);
}
