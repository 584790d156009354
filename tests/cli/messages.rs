//! Help, and the messages for invalid arguments.

use insta::assert_snapshot;

use crate::{Folder, pipe};

#[test]
fn help() {
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_short", &["-h"]),
        ("help_query", &["query", "--help"]),
        ("help_query_short", &["query", "-h"]),
        ("help_select", &["select", "--help"]),
        ("help_validate", &["validate", "--help"]),
        ("help_schema", &["schema", "--help"]),
        ("help_schema_diff", &["schema", "diff", "--help"]),
        ("help_index", &["index", "--help"]),
        ("help_index_build", &["index", "build", "--help"]),
        ("help_index_info", &["index", "info", "--help"]),
        ("help_index_dump", &["index", "dump", "--help"]),
        ("help_bitmap", &["bitmap", "--help"]),
        ("help_bitmap_build", &["bitmap", "build", "--help"]),
        ("help_bitmap_info", &["bitmap", "info", "--help"]),
        ("help_bitmap_range", &["bitmap", "range", "--help"]),
        ("help_pack", &["pack", "--help"]),
        ("help_unpack", &["unpack", "--help"]),
        ("help_tree", &["tree", "--help"]),
        ("help_explain", &["explain", "--help"]),
    ] {
        assert_snapshot!(name, pipe(args, b"").ok());
    }
}

#[test]
fn version() {
    assert_eq!(pipe(&["--version"], b"").ok(), format!("warpath {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn no_arguments_give_help() {
    let ran = pipe(&[], b"");
    assert_eq!((ran.code, ran.text()), (2, ""));
    assert!(ran.stderr.contains("Usage: warpath"), "{ran}");
}

#[test]
fn bad_queries() {
    let mut all = String::new();
    for path in [
        "",
        "user.lang",
        "$.user[",
        "$.a[?@.b ==]",
        "$['a",
        "$[01]",
        "$..",
        "$[?length(@.*) == 1]",
        "$[?match(@.a, '\\\\p{L}{40}')]",
        "$.☺ !",
    ] {
        let ran = pipe(&["query", path, "missing"], b"");
        assert_eq!((ran.code, ran.text()), (3, ""), "{ran}");
        all += &ran.stderr;
        all.push('\n');
        for args in [
            &["explain", "$", path][..],
            &["select", &format!("a={path}")],
            &["index", "dump", "--query", path],
        ] {
            let other = pipe(args, b"");
            assert_eq!((other.code, other.text(), &other.stderr), (3, "", &ran.stderr), "{args:?}");
        }
    }
    assert_snapshot!(all);
}

/// A file or a query without a command, a file that looks like an option, and a pattern in place of columns.
#[test]
fn wrong_arguments_are_told_what_was_meant() {
    let folder = Folder::new(&[("x.ndjson", b"{\"a\":1}\n"), ("-dash.ndjson", b"{\"a\":1}\n")]);
    for (args, tip) in [
        (
            &["x.ndjson"][..],
            "a file has a command before it: warpath schema x.ndjson, or warpath head x.ndjson",
        ),
        (&["$.a", "x.ndjson"], "a query has a command before it: warpath query '$.a' x.ndjson"),
        (
            &["filter", "$.a == 1", "x.ndjson"],
            "to filter by one condition: warpath query '$' --where '$.a == 1' x.ndjson",
        ),
        (&["query", "$.a", "-dash.ndjson"], "to name the file: ./-dash.ndjson"),
        (&["explain", "$.a", "x.ndjson"], "`x.ndjson` is a file, and `warpath explain` reads none"),
        (&["select", "*"], "`--auto --format parquet` writes all of them; `'./*'` names files"),
    ] {
        let ran = folder.run(args);
        assert!(ran.code == 2 && ran.stderr.contains(tip), "{args:?}: {ran}");
    }
    // What is no option is not taken for a value.
    let ran = folder.run(&["query", "--by", "x", "$.a", "x.ndjson"]);
    assert!(ran.code == 2 && !ran.stderr.contains("tip:"), "{ran}");
    // What the tips say works.
    for args in [
        &["schema", "x.ndjson"][..],
        &["head", "x.ndjson"],
        &["query", "$.a", "x.ndjson"],
        &["query", "$", "--where", "$.a == 1", "x.ndjson"],
        &["query", "$.a", "./-dash.ndjson"],
        &["select", "--auto", "--format", "parquet", "-o", "x.parquet", "x.ndjson"],
    ] {
        folder.run(args).ok();
    }
}

#[test]
fn bad_usage() {
    let mut all = String::new();
    for args in [
        &["quer", "$"][..],
        &["query"],
        &["query", "$", "--nope"],
        &["query", "$", "--count", "--raw-output"],
        &["query", "$", "--limit", "many"],
        &["query", "$", "--limit", "-1"],
        &["query", "$", "--device", "gpu"],
        &["query", "$", "--device", "cuda:x"],
        &["query", "$", "--partition-size", "64X"],
        &["query", "$", "--partition-size", "0"],
        &["query", "$", "--partition-size", "2GiB"],
        &["query", "$", "--input", "xml"],
        &["query", "$", "--on-error", "null"],
        &["query", "$", "--with-path", "--count"],
        &["select", "a=$", "--format", "xlsx"],
        &["select", "a:int64=$"],
        &["select", "a:int64=$", "--format", "csv"],
        &["select", "a:int=$", "--format", "arrow"],
        &["select", ":json=$", "--format", "arrow"],
        &["select", "a:int64=$", "a:json=$", "--format", "parquet"],
        &["select", "a=$", "log.ndjson"],
        &["select", "a=$", "a=$"],
        &["index", "dump", "--levels", "1025"],
        &["index", "dump", "--levels", "1", "--query", "$"],
        &["index", "build"],
        &["index", "build", "log.ndjson", "-o", "log.wpi", "--levels", "1", "--for", "$"],
        &["query", "$", "--verify"],
        &["validate", "--all", "--limit", "3"],
        &["validate", "--limit", "0"],
        &["validate", "log.ndjson", "--strict"],
        &["filter", "log.ndjson"],
        &["completions", "tcsh"],
    ] {
        let ran = pipe(args, b"");
        assert_eq!((ran.code, ran.text()), (2, ""), "{args:?} {ran}");
        all += &format!("$ warpath {}\n{}\n", args.join(" "), ran.stderr);
    }
    assert_snapshot!(all);
}

#[test]
fn a_device_that_is_not_there() {
    // With a driver, and without one.
    let ran = pipe(&["query", "$", "--device", "cuda:9999"], b"1\n");
    ran.failed(5, "", "error: no CUDA d");
    assert_eq!(pipe(&["query", "$", "--device", "cpu"], b"1\n").ok(), "1\n");
    assert_eq!(pipe(&["query", "$", "--device", "auto"], b"1\n").ok(), "1\n");
}

#[test]
fn colour() {
    let red = "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m";
    let said = |args: &[&str]| pipe(args, b"").stderr;
    assert!(said(&["query", "$[", "--color", "always"]).starts_with(red));
    assert!(said(&["--color=always", "query", "$["]).starts_with(red));
    assert!(said(&["--color=always", "filter"]).starts_with(red));
    assert!(said(&["--color=always", "query"]).contains('\u{1b}'));
    for args in [&["query", "$["][..], &["query", "$[", "--color", "never"], &["query"], &["filter"]] {
        assert!(!said(args).contains('\u{1b}'), "{args:?}");
    }
    assert_eq!(pipe(&["query", "$", "--color", "always"], b"1").ok(), "\u{1b}[36m1\u{1b}[0m\n");
}

#[test]
fn messages_do_not_command_the_terminal() {
    let ran = pipe(&["query", "$", "\u{1b}[2Jx"], b"");
    ran.failed(2, "", "error: \\x1b[2Jx: ");
    let ran = pipe(&["query", "$"], b"[\"\x1b[2J\"");
    assert!(ran.code == 4 && !ran.stderr.contains('\u{1b}'), "{ran}");
}

/// Messages as JSON have the position that their text has.
#[test]
fn messages_have_their_position() {
    let folder = Folder::new(&[
        ("in", b"{\"a\":1}\n{\"a\":]\n{\"a\":\"x\"}\n"),
        ("zip", b"PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("subs", b"one\t$.a\n"),
    ]);
    let skip = ["in", "--on-error", "skip"];
    for (args, place) in [
        (&[&["query", "$.a"], &skip[..]].concat()[..], "\"file\":\"in\",\"line\":2,\"byte\":6}"),
        (&[&["filter", "-s", "subs"], &skip[..]].concat(), "\"file\":\"in\",\"line\":2,\"byte\":6}"),
        (&[&["schema"], &skip[..]].concat(), "\"file\":\"in\",\"line\":2,\"byte\":6}"),
        (&[&["tree"], &skip[..]].concat(), "\"file\":\"in\",\"line\":2,\"byte\":6}"),
        (&[&["select", "a:int64=$.a", "-o", "o.arrow"], &skip[..]].concat(), "\"file\":\"in\",\"line\":3}"),
        (&["query", "$", "zip"], "\"file\":\"zip\",\"help\""),
        (&["query", "$", "missing"], "\"file\":\"missing\"}"),
        (&["query", "$", "*.x"], "\"file\":\"*.x\",\"help\""),
    ] {
        let ran = folder.run(&[args, &["--message-format", "json"]].concat());
        assert!(ran.stderr.contains(place), "{args:?} {ran}");
    }
}

/// An empty variable is as one that is not set.
#[test]
fn empty_variables_are_not_set() {
    let run = |args: &[&str]| {
        let mut command = assert_cmd::Command::new(crate::PROGRAM);
        for name in ["DEVICE", "WORKERS", "PARTITION_SIZE", "PROGRESS", "COLOR", "MESSAGE_FORMAT"] {
            command.env(format!("WARPATH_{name}"), "");
        }
        let output = command.args(args).write_stdin("{\"a\":1}\n").output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for args in [&["query", "$.a"][..], &["count-by", "-r", "$.a"], &["validate"], &["schema"]] {
        assert_eq!(run(args), (Some(0), pipe(args, b"{\"a\":1}\n").ok().to_owned(), String::new()));
    }
    let (code, _, said) = run(&["query", "$.a", "--device", ""]);
    assert!(code == Some(2) && said.starts_with("error: invalid value '' for '--device <DEVICE>'"), "{said}");
    // The message names no variable, and others still count.
    let mut command = assert_cmd::Command::new(crate::PROGRAM);
    command.env("WARPATH_DEVICE", "").env("WARPATH_WORKERS", "many").args(["query", "$.a"]);
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(said.starts_with("error: invalid value 'many' for 'WARPATH_WORKERS"), "{said}");
}

/// A format of times is refused where nothing reads one.
#[test]
fn a_format_of_times_needs_times() {
    let folder = Folder::new(&[("subs", b"one\t$.a\n")]);
    let records = b"{\"t\":1500000000}\n";
    for args in [
        &["query", "$.t"][..],
        &["query", "$.t", "--match", "@ > 1", "--where", "$.t > 1"],
        &["select", "t=$.t"],
        &["count-by", "$.t"],
        &["distinct", "$.t"],
        &["stats", "$.t"],
        &["sample", "1"],
        &["head"],
        &["validate"],
        &["filter", "-s", "subs"],
    ] {
        let ran = folder.run_with(&[args, &["--time-format", "s"]].concat(), records);
        ran.failed(
            2,
            "",
            "error: `--time-format` is about `time(…)`, and nothing here reads a time\n  help: ",
        );
    }
    for args in [
        &["query", "$.t", "--where", "time($.t) > \"2016-01-01\""][..],
        &["query", "$.t", "--match", "time(@) > \"2016-01-01\""],
        &["query", "$[?time(@) > \"2016-01-01\"]"],
        &["select", "t=$[?time(@) > \"2016-01-01\"]"],
        &["count-by", "-r", "$[?time(@) > \"2016-01-01\"]"],
    ] {
        let ran = folder.run_with(&[args, &["--time-format", "s"]].concat(), records);
        assert!(ran.code == 0 && ran.text().contains("1500000000"), "{args:?} {ran}");
        // The format is that of the paths, too.
        let ran = folder.run_with(&[args, &["--time-format", "%Y-%m-%d"]].concat(), records);
        assert!(ran.code == 0 && !ran.text().contains("1500000000"), "{args:?} {ran}");
    }
    for column in ["t:time=$.t", "t:list<time>=$.t", "t:struct<at:time>=$.t"] {
        let typed = ["select", column, "--format", "arrow", "--time-format", "s"];
        assert_eq!(folder.run_with(&typed, records).code, 0, "{column}");
    }
}
