//! `warpath tree`.

use crate::{data, pipe};

const EXAMPLE: &[u8] = b"[[][[][][[]]][][]]\n";

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
