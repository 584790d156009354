//! `warpath explain`, `devices` and `--version`.

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
