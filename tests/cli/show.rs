//! `warpath explain`, `devices`, `tree` and `--version`.

use insta::assert_snapshot;

use crate::pipe;

#[test]
fn explain() {
    let ran = pipe(&["explain", "--device=cpu", "$.user.lang", "$.user['tags'][*]", "$[?(@.b=='x')]"], b"");
    let runs_on = ran.ok().lines().find(|line| line.starts_with("runs on")).unwrap();
    assert!(runs_on.starts_with("runs on cpu (") && runs_on.ends_with("partitions of 1.00 MiB"), "{runs_on}");
    // Threads and instruction sets differ from machine to machine.
    assert_snapshot!(ran.ok().replace(runs_on, "runs on cpu"));
}

#[test]
fn devices_end_with_the_cpu() {
    let ran = pipe(&["devices"], b"");
    let lines: Vec<&str> = ran.ok().lines().collect();
    assert!(lines.len() >= 2 && lines[lines.len() - 1].starts_with("cpu ("), "{ran}");
    assert!(["no CUDA", "cuda:0 ("].iter().any(|start| lines[0].starts_with(start)), "{ran}");
}

#[test]
fn version() {
    assert_eq!(pipe(&["--version"], b"").ok(), format!("warpath {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_device_that_is_not_there() {
    // With a driver, and without one.
    let ran = pipe(&["query", "$", "--device", "cuda:9999"], b"1\n");
    ran.failed(5, "", "error: no CUDA d");
    assert_eq!(pipe(&["query", "$", "--device", "cpu"], b"1\n").ok(), "1\n");
    assert_eq!(pipe(&["query", "$", "--device", "auto"], b"1\n").ok(), "1\n");
}

/// The examples of docs/trees.md are the program's output.
#[test]
fn the_examples_of_trees_are_the_output() {
    const EXAMPLE: &[u8] = b"[[][[][][[]]][][]]\n";
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
