//! `warpath index dump`, `explain` and `devices`.

use insta::assert_snapshot;

use crate::{Folder, pipe};

const TEXT: &[u8] = b"{\"a\":[1,{\"b\":\"]\\\"\"}]}\r\n\n[2\n\"last\"";

#[test]
fn index_dump() {
    assert_snapshot!(pipe(&["index", "dump", "--levels", "2"], TEXT).ok());
}

#[test]
fn index_dump_of_a_query_has_its_levels() {
    let of_query = pipe(&["index", "dump", "--query", "$.a"], TEXT);
    let levels = of_query.ok().lines().filter(|line| line.starts_with("  level ")).count();
    assert_eq!(of_query, pipe(&["index", "dump", "--levels", &levels.to_string()], TEXT));
    assert!(!pipe(&["index", "dump", "--levels", "0"], TEXT).ok().contains("level 0"));
    assert_eq!(pipe(&["index", "dump"], b"").ok(), "");
}

#[test]
fn index_dump_of_several_files() {
    let folder = Folder::new(&[("a", b"[1]\n"), ("b", b"{}\n[]\n")]);
    assert_snapshot!(folder.run(&["index", "dump", "--levels=1", "--partition-size=3", "a", "b"]).ok());
    folder.run(&["index", "dump", "missing"]).failed(2, "", "error: missing: ");
}

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
