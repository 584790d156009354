//! Messages and statistics as JSON, defaults from the environment, help, and files of an installation.

use std::process::Command;

use serde_json::Value;

use crate::{Folder, PROGRAM, Ran, pipe, run};

/// Messages, which are all JSON objects.
fn objects(ran: &Ran) -> Vec<Value> {
    ran.stderr.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn with_variable(folder: &Folder, variable: (&str, &str), args: &[&str]) -> Ran {
    let mut command = assert_cmd::Command::new(PROGRAM);
    // `run` removes the variables that it knows, so a shell sets this one afterwards.
    let script = format!("{}='{}' exec {PROGRAM} \"$@\"", variable.0, variable.1);
    command = if cfg!(unix) { assert_cmd::Command::new("sh") } else { command };
    run(command.current_dir(folder.path("")).args(["-c", &script, "sh"]).args(args), b"")
}

#[test]
fn messages_are_json_objects_on_request() {
    let bad = b"{\"a\":1}\n{\"a\":[}\n";
    let ran = pipe(&["query", "$.a", "--message-format", "json"], bad);
    assert_eq!((ran.code, ran.text()), (4, "1\n"));
    let [message] = &objects(&ran)[..] else { panic!("{ran}") };
    assert_eq!((&message["kind"], &message["file"]), (&"error".into(), &"<stdin>".into()));
    assert_eq!((&message["line"], &message["byte"]), (&2.into(), &7.into()));
    assert_eq!(message["message"], "<stdin>:2:7: closing bracket does not match the opening one");
    assert_eq!(message["excerpt"], "  {\"a\":[}\n        ^");
    assert_eq!(message["help"], "`--on-error skip` leaves malformed records out");

    let ran = pipe(&["query", "$.a", "--message-format=json", "--on-error=skip", "--stats"], bad);
    assert_eq!((ran.code, ran.text()), (0, "1\n"));
    let [warning, statistics] = &objects(&ran)[..] else { panic!("{ran}") };
    assert_eq!(warning["kind"], "warning");
    assert_eq!((&statistics["kind"], &statistics["skipped"]), (&"statistics".into(), &1.into()));

    let ran = pipe(&["validate", "--message-format=json"], bad);
    assert_eq!((ran.code, objects(&ran)[0]["byte"].as_u64()), (4, Some(7)), "{ran}");
}

#[test]
fn errors_about_arguments_are_json_objects_too() {
    let ran = pipe(&["query", "--message-format=json", "$["], b"");
    let [message] = &objects(&ran)[..] else { panic!("{ran}") };
    assert_eq!((ran.code, &message["kind"]), (3, &"error".into()), "{ran}");
    assert!(message["excerpt"].as_str().is_some_and(|excerpt| excerpt.contains('^')), "{ran}");
    for args in
        [&["query"][..], &["quer", "$"], &["query", "$", "--limit=x"], &["query", "$", "\u{1b}", "--nope"]]
    {
        let ran = pipe(&[&["--message-format", "json"], args].concat(), b"");
        let [message] = &objects(&ran)[..] else { panic!("{ran}") };
        assert_eq!((ran.code, &message["kind"]), (2, &"error".into()), "{ran}");
        let text = message["message"].as_str().unwrap();
        assert!(!text.is_empty() && !text.contains('\n') && !text.starts_with("error"), "{ran}");
    }
}

#[test]
fn statistics_are_one_object_on_request() {
    let folder = Folder::new(&[("a", b"{\"a\":1}\n{\"a\":2}\n"), ("subs", b"one\t$[?@ == 1]\n")]);
    for (args, known) in [
        (&["query", "--count", "$.a", "a"][..], &[("lines", 2), ("matches", 2), ("bytes", 16)][..]),
        (&["select", "a=$.a", "a"], &[("lines", 2), ("partitions", 1)]),
        (&["validate", "a"], &[("lines", 2), ("skipped", 0)]),
        (&["filter", "-s", "subs", "a"], &[("lines", 2), ("matches", 1)]),
        (&["pack", "a", "-o", "a.wpk"], &[("text_bytes", 16), ("newlines", 2)]),
        (&["bitmap", "build", "a", "--column=a=$.a", "-o", "a.wpb"], &[("lines", 2), ("columns", 1)]),
        (&["bitmap", "range", "--count", "a.wpb", "a > 1"], &[("lines", 2), ("found", 1)]),
    ] {
        let ran = folder.run(&[args, &["--stats=json"]].concat());
        assert_eq!(ran.code, 0, "{args:?} {ran}");
        let [statistics] = &objects(&ran)[..] else { panic!("{args:?} {ran}") };
        for (key, value) in known {
            assert_eq!(statistics[key], *value, "{args:?} {key} {ran}");
        }
        let mut times = statistics.as_object().unwrap().iter().filter(|(key, _)| key.ends_with("_seconds"));
        assert!(times.any(|(_, time)| time.is_f64()), "{ran}");
    }
    let ran = pipe(&["query", "$", "--stats=yaml"], b"");
    ran.failed(2, "", "error: invalid value 'yaml' for '--stats[=<FORMAT>]'");
}

#[cfg(unix)]
#[test]
fn the_environment_has_defaults() {
    let folder = Folder::new(&[("a", b"{\"a\":1}\n{\"a\":2}\n")]);
    folder.run(&["bitmap", "build", "a", "--column=a=$.a", "-o", "a.wpb"]).ok();
    let count = ["query", "--count", "$.a", "a"];
    let ran = with_variable(&folder, ("WARPATH_WORKERS", "1"), &[&count[..], &["--stats=json"]].concat());
    assert_eq!(objects(&ran)[0]["workers"], 1, "{ran}");
    let ran =
        with_variable(&folder, ("WARPATH_PARTITION_SIZE", "8"), &[&count[..], &["--stats=json"]].concat());
    assert_eq!(objects(&ran)[0]["partitions"], 2, "{ran}");
    let ran = with_variable(&folder, ("WARPATH_COLOR", "always"), &["query", "$.a", "a"]);
    assert_eq!(ran.ok(), "\u{1b}[36m1\u{1b}[0m\n\u{1b}[36m2\u{1b}[0m\n");
    let ran = with_variable(&folder, ("WARPATH_PROGRESS", "always"), &count);
    assert!(ran.stderr.starts_with("progress: "), "{ran}");
    let ran = with_variable(&folder, ("WARPATH_MESSAGE_FORMAT", "json"), &["query", "$["]);
    assert_eq!(objects(&ran)[0]["kind"], "error", "{ran}");
    // A variable conflicts with no option.
    for args in
        [&["bitmap", "range", "--records", "a.wpb", "a > 1", "a"][..], &["validate", "a"], &["tree", "a"]]
    {
        let ran = with_variable(&folder, ("WARPATH_DEVICE", "cpu"), args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?} {ran}");
    }
    // The command line comes first.
    let wrong = ("WARPATH_DEVICE", "gpu");
    assert_eq!(with_variable(&folder, wrong, &[&count[..], &["--device", "cpu"]].concat()).ok(), "2\n");
    with_variable(&folder, wrong, &count).failed(
        2,
        "",
        "error: invalid value 'gpu' for 'WARPATH_DEVICE (an environment variable)': there is no device `gpu`",
    );
    with_variable(&folder, ("WARPATH_COLOR", "red"), &count).failed(
        2,
        "",
        "error: invalid value 'red' for 'WARPATH_COLOR (an environment variable)'",
    );
    let help = pipe(&["query", "--help"], b"");
    for variable in ["DEVICE", "WORKERS", "PARTITION_SIZE", "PROGRESS", "COLOR", "MESSAGE_FORMAT"] {
        assert!(help.text().contains(&format!("[env: WARPATH_{variable}")), "{help}");
    }
}

#[test]
fn help_is_a_command() {
    assert_eq!(pipe(&["help"], b"").ok(), pipe(&["--help"], b"").ok());
    assert_eq!(pipe(&["help", "query"], b"").ok(), pipe(&["query", "--help"], b"").ok());
    assert_eq!(pipe(&["help", "index", "build"], b"").ok(), pipe(&["index", "build", "--help"], b"").ok());
    assert_eq!(pipe(&["index", "help", "build"], b"").ok(), pipe(&["index", "build", "--help"], b"").ok());
    assert_eq!(pipe(&["help", "nothing"], b"").code, 2);
}

#[test]
fn files_and_queries_may_be_exchanged() {
    let folder = Folder::new(&[("a", b"{\"a\":1}\n"), ("b", b"{\"a\":2}\n"), ("$.c", b"{\"a\":3}\n")]);
    assert_eq!(folder.run(&["query", "a", "$.a"]).ok(), "1\n");
    assert_eq!(folder.run(&["query", "a", "b", "$.a", "-c"]).ok(), "2\n");
    assert_eq!(folder.run(&["query", "b", "$.a", "a"]).ok(), "2\n1\n");
    // A query is a query, even where a file has its name.
    assert_eq!(folder.run(&["query", "$.a", "$.c"]).ok(), "3\n");
    for args in
        [&["query", "a"][..], &["query", "a", "b"], &["query", "a", "$.c"], &["query", "a", "$.a", "$.b"]]
    {
        let message =
            "error: `a` is a file, and no query\n  help: the query comes first: `warpath query '$' a`";
        folder.run(args).failed(2, "", message);
    }
}

#[test]
fn shells_complete_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = pipe(&["completions", shell], b"");
        for word in ["validate", "partition-size", "ndjson"] {
            assert!(script.ok().contains(word), "{shell}: {word}");
        }
    }
    let folder = Folder::new(&[("warpath.bash", pipe(&["completions", "bash"], b"").ok().as_bytes())]);
    let script = "source ./warpath.bash; COMP_WORDS=(warpath query --part); COMP_CWORD=2; \
                  _warpath warpath --part query; echo \"${COMPREPLY[@]}\"";
    let ran = Command::new("bash").current_dir(folder.path("")).args(["-c", script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "--partition-size\n", "{ran:?}");
}

#[test]
fn each_command_has_a_man_page() {
    let folder = Folder::new(&[]);
    folder.run(&["man", "."]).ok();
    let mut names: Vec<String> = std::fs::read_dir(folder.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for command in
        ["", "-query", "-select", "-validate", "-index-build", "-bitmap-range", "-filter", "-completions"]
    {
        assert!(names.contains(&format!("warpath{command}.1")), "{names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("-man") || name.contains("-help")), "{names:?}");
    let page = String::from_utf8(folder.read("warpath-query.1")).unwrap();
    for part in [".TH", ".SH SYNOPSIS", "partition", "WARPATH_DEVICE", "Examples"] {
        assert!(page.contains(part), "{part} {page}");
    }
    folder.run(&["man", "missing"]).failed(2, "", "error: cannot write to `missing`: ");
}
