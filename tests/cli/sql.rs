//! `warpath sql`: the programs that take the place of `warpath`.

use std::os::unix::fs::PermissionsExt;

use super::{Folder, PROGRAM, run};

/// The programs print what they are called with.
const PRINTS: &[u8] = b"#!/bin/sh\necho \"${0##*/}\" \"$@\"\n";

#[test]
fn the_program_beside_takes_the_arguments() {
    let folder = Folder::new(&[("warpath-sql", PRINTS), ("warpath-cluster", PRINTS)]);
    for name in ["warpath-sql", "warpath-cluster"] {
        std::fs::set_permissions(folder.path(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::copy(PROGRAM, folder.path("warpath")).unwrap();
    let cases = [
        (&["SELECT 1"][..], "warpath-sql SELECT 1\n"),
        (&["--format", "csv", "SELECT 1"], "warpath-sql --format csv SELECT 1\n"),
        (&["--cluster", "host:1", "SELECT 1"], "warpath-cluster sql --cluster host:1 SELECT 1\n"),
        (&["SELECT 1", "--cluster=host:1"], "warpath-cluster sql SELECT 1 --cluster=host:1\n"),
        (&["--", "--cluster"], "warpath-sql -- --cluster\n"),
    ];
    for (arguments, expected) in cases {
        let mut command = assert_cmd::Command::new(folder.path("warpath"));
        assert_eq!(run(command.arg("sql").args(arguments), b"").ok(), expected);
    }
}

#[test]
fn a_program_that_is_not_installed_is_named() {
    let folder = Folder::new(&[]);
    std::fs::copy(PROGRAM, folder.path("warpath")).unwrap();
    for (arguments, name) in [(&["SELECT 1"][..], "sql"), (&["--cluster", "host:1"], "cluster")] {
        let mut command = assert_cmd::Command::new(folder.path("warpath"));
        let ran = run(command.env("PATH", "").arg("sql").args(arguments), b"");
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        for text in [format!("`warpath-{name}`"), format!("`cargo install --path host/{name}` builds it")] {
            assert!(ran.stderr.contains(&text), "{}", ran.stderr);
        }
    }
}
