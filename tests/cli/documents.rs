//! `--input json`.

use insta::assert_snapshot;

use crate::{Folder, pipe};

#[test]
fn explain_says_how_documents_are_answered() {
    let explain = |paths: &[&str]| {
        let ran = pipe(&[&["explain", "--input=json", "--device=cpu"], paths].concat(), b"");
        let runs_on = ran.ok().lines().find(|line| line.starts_with("runs on")).unwrap();
        ran.ok().replace(runs_on, "runs on cpu")
    };
    assert_snapshot!(format!(
        "{}----\n{}",
        explain(&["$.items[*].id", "$.items[*].tags[*]"]),
        explain(&["$.items[*].id", "$.total"])
    ));
}

#[test]
fn what_is_of_lines_takes_no_document() {
    let folder = Folder::new(&[("a", b"[1]\n")]);
    let refused = |args: &[&str]| folder.run(args).failed(2, "", "error: ");
    refused(&["store", "index", "--input=json", "a"]);
    refused(&["index", "dump", "--input=json", "a"]);
}

/// JSONTestSuite's n_single_space, n_structure_no_data and n_structure_UTF8_BOM_no_data, and more.
#[test]
fn an_empty_document_is_malformed_if_checks_are_strict() {
    for text in [&b" "[..], b"", b"\xef\xbb\xbf", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf \n"] {
        let folder = Folder::new(&[("a", text)]);
        let shown = text.escape_ascii();
        for args in [&["query", "$"][..], &["query", "--count", "$"], &["select", "x=$", "--"]] {
            let json = [&args[..1], &["--input", "json"], &args[1..]].concat();
            let answers = if args.contains(&"--count") { "0\n" } else { "" };
            assert_eq!(folder.run(&[&json[..], &["a"]].concat()).ok(), answers, "{shown}");
            assert_eq!(pipe(&[&json[..], &["-"]].concat(), text).ok(), answers, "{shown}");
            let strict = [&args[..1], &["--strict", "--input", "json"], &args[1..]].concat();
            let message = |name: &str| format!("error: {name}:1:1: no JSON value begins here\n");
            folder.run(&[&strict[..], &["a"]].concat()).failed(4, "", &message("a"));
            pipe(&[&strict[..], &["-"]].concat(), text).failed(4, "", &message("<stdin>"));
            let skip = [&strict[..1], &["--on-error", "skip"], &strict[1..], &["a"]].concat();
            folder.run(&skip).failed(0, answers, "warning: 1 malformed record skipped; first: a:1:1: ");
        }
    }
}
