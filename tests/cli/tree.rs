//! `warpath tree`.

use insta::assert_snapshot;

use crate::{Folder, data, pipe};

const TEXT: &[u8] = b"{\"a\":[1,{\"b\":\"]\\\"\"}]}\r\n\n \t\n[2]\n\"last\"";
const EXAMPLE: &[u8] = b"[[][[][][[]]][][]]\n";

#[test]
fn trees_of_records() {
    assert_snapshot!(pipe(&["tree"], TEXT).ok());
}

#[test]
fn trees_of_brackets_with_steps() {
    assert_snapshot!(pipe(&["tree", "--brackets", "--steps"], EXAMPLE).ok());
    let without = pipe(&["tree", "--brackets"], EXAMPLE);
    assert!(!without.ok().contains("T1") && without.ok().contains("cells"), "{without}");
    // The same string is JSON only where commas are missed.
    pipe(&["tree"], EXAMPLE).failed(4, "", "error: <stdin>:1:4: a `,` is missing before this");
}

#[test]
fn trees_of_several_files() {
    let folder = Folder::new(&[("a", b"[1]\n"), ("b", b"\n{}\n")]);
    let ran = folder.run(&["tree", "a", "b"]);
    let shown = ran.ok();
    assert!(shown.starts_with("==> a <==\nline 1  bytes 0..3  2 nodes, 2 deep, 3 cells\n"), "{ran}");
    assert!(shown.contains("==> b <==\nline 2  bytes 1..3  1 node, 1 deep, 1 cell\n"), "{ran}");
    assert_eq!(folder.run(&["tree", "-o", "out", "a", "b"]).ok(), "");
    assert_eq!(folder.read("out"), ran.stdout);
    folder.run(&["tree", "-o", "a", "a"]).failed(2, "", "error: a: is both an input and the output");
    folder.run(&["tree", "missing"]).failed(2, "", "error: missing: ");
}

#[test]
fn nothing_has_no_tree() {
    for text in ["", "\n", "\n \t\r\n"] {
        assert_eq!(pipe(&["tree"], text.as_bytes()).ok(), "");
        assert_eq!(pipe(&["tree", "--brackets", "--steps"], text.as_bytes()).ok(), "");
    }
}

#[test]
fn a_line_that_is_no_tree() {
    let text = "[1]\n\n{\"a\":1,}\n[2}\n[3]\n";
    let first = pipe(&["tree"], b"[1]\n");
    let ran = pipe(&["tree"], text.as_bytes());
    let message = "error: <stdin>:3:8: a member should begin here, with a name\n  {\"a\":1,}\n         ^\n";
    ran.failed(4, first.ok(), message);
    assert!(ran.stderr.ends_with("help: `--on-error skip` leaves malformed records out\n"), "{ran}");
    let skipped = pipe(&["tree", "--on-error", "skip"], text.as_bytes());
    let warning =
        "warning: 2 malformed records skipped; first: <stdin>:3:8: a member should begin here, with a name\n";
    assert_eq!((skipped.code, skipped.stderr.as_str()), (0, warning));
    assert_eq!(skipped.text().lines().filter(|line| line.starts_with("line ")).count(), 2, "{skipped}");
    assert_eq!(pipe(&["tree", "--on-error=skip", "-q"], text.as_bytes()).ok(), skipped.text());
    // What every record is checked for has the words that it has elsewhere.
    let tree = pipe(&["tree"], b"[2}\n");
    assert_eq!(tree, pipe(&["query", "$"], b"[2}\n"));
    let brackets = pipe(&["tree", "--brackets"], b"[]\n[{]}\n");
    let message = "error: <stdin>:2:3: closing bracket does not match the opening one\n  [{]}\n    ^\n";
    brackets.failed(4, pipe(&["tree", "--brackets"], b"[]\n").ok(), message);
}

#[test]
fn trees_of_the_test_data() {
    for file in ["tweets.ndjson", "products.ndjson", "maps.ndjson", "edge.ndjson", "crlf.ndjson"] {
        let ran = pipe(&["tree", &data(file)], b"");
        let records = pipe(&["query", "--count", "$", &data(file)], b"");
        let trees = ran.ok().lines().filter(|line| line.starts_with("line ")).count();
        assert_eq!(format!("{trees}\n"), records.ok(), "{file}");
    }
}

/// The examples of docs/trees.md are the program's output.
#[test]
fn the_documents_examples_are_so() {
    let document = include_str!("../../docs/trees.md");
    let shown = pipe(&["tree"], b"{\"a\":[1,true]}\n");
    assert!(document.contains(shown.ok()), "{shown}");
    // Rows of an array put together.
    let mut steps: Vec<String> = Vec::new();
    let ran = pipe(&["tree", "--brackets", "--steps"], EXAMPLE);
    for row in ran.ok().lines().skip(1).take_while(|line| !line.starts_with("  rank")) {
        match (row.strip_prefix("                 16:"), steps.last_mut()) {
            (Some(more), Some(row)) => row.push_str(more),
            _ => steps.push(row.to_owned()),
        }
    }
    assert_eq!(steps.len(), 11);
    assert!(document.contains(&steps.join("\n")), "{}", steps.join("\n"));
}
