//! `warpath query`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::{Folder, PROGRAM};

const PEOPLE: &[u8] = br#"{"name":"Ada","tags":["x","y"],"n":1}
{"name":"Bob\n\u00e9\ud83d\ude00\ud83d!","tags":[],"n":2.50}

{"tags":["z"],"n":null,"name" : { "first" : "C" } }
"#;

#[test]
fn offsets_find_the_text_again() {
    let folder = Folder::new(&[("a.ndjson", PEOPLE), ("b.ndjson", b"\n\n{\"n\":\"x\\ty\"}")]);
    assert_eq!(folder.run(&["query", "--offsets", "$.n", "b.ndjson"]).ok(), "7\t13\t\"x\\ty\"\n");
    assert_eq!(folder.run(&["query", "--offsets", "-r", "$.n", "b.ndjson"]).ok(), "7\t13\tx\ty\n");
    for size in ["1", "1GiB"] {
        let ran =
            folder.run(&["query", "--offsets", "--partition-size", size, "$.n", "a.ndjson", "b.ndjson"]);
        let mut lines = 0;
        for line in ran.ok().lines() {
            let [file, start, end, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let range = start.parse().unwrap()..end.parse().unwrap();
            assert_eq!(&folder.read(file)[range], text.as_bytes(), "{line}");
            lines += 1;
        }
        assert_eq!(lines, 4);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let record = format!("{{\"a\":\"{}\"}}\n", "x".repeat(1000));
    let folder = Folder::new(&[("big", record.repeat(5000).as_bytes())]);
    for args in [&["query", "$.a", "big"][..], &["select", "a=$.a", "--", "big"], &["index", "dump", "big"]] {
        for size in ["1MiB", "1KiB"] {
            let mut at = args.to_vec();
            at.splice(args.len() - 1..args.len() - 1, ["--partition-size", size]);
            if let Some(i) = at.iter().position(|arg| *arg == "--") {
                let dashes = at.remove(i);
                at.insert(at.len() - 1, dashes);
            }
            let mut child = Command::new(PROGRAM)
                .current_dir(folder.path(""))
                .args(&at)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut first = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
            assert!(!first.is_empty());
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{at:?}");
        }
    }
}
