//! `--strict`, and `validate`: all of RFC 8259, and UTF-8.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Folder, data, pipe};

#[test]
fn what_is_valid_is_said_so() {
    assert_eq!(pipe(&["validate"], b"{}\n\n[1,2]").ok(), "2 records, 9 bytes: all valid\n");
    assert_eq!(pipe(&["validate", "-"], b"1\n").ok(), "1 record, 2 bytes: all valid\n");
    assert_eq!(pipe(&["validate"], b"").ok(), "0 records, 0 bytes: all valid\n");
    assert_eq!(pipe(&["validate", "--all"], b"1\n").ok(), "");
    // Every sort of input, and several of them.
    let text = std::fs::read(data("tweets.ndjson")).unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&text).unwrap();
    let zst = zstd::encode_all(&text[..], 1).unwrap();
    let folder = Folder::new(&[("a", &text), ("b.gz", &encoder.finish().unwrap()), ("c.zst", &zst)]);
    let said = format!("{} records, {} bytes: all valid\n", 3 * 58, 3 * text.len());
    for size in ["1", "1000", "1MiB"] {
        assert_eq!(folder.run(&["validate", "a", "b.gz", "c.zst", "--partition-size", size]).ok(), said);
    }
    assert_eq!(pipe(&["validate"], b"\xef\xbb\xbf{}\n").code, 0);
}

#[test]
fn explain_strict() {
    let said = |args: &[&str]| {
        let text = pipe(args, b"").ok().to_owned();
        text.lines().filter(|line| line.contains("validate")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        said(&["explain", "--strict", "--device", "cpu", "$.a"]),
        [
            "  cpu     validate  each record by RFC 8259, its bytes as UTF-8 (the worker that read it, on the host)"
        ]
    );
    assert!(said(&["explain", "--device", "cpu", "$.a"]).is_empty());
    let folder = Folder::new(&[("log", &b"1\n".repeat(64 << 10))]);
    folder.run(&["store", "index", "log"]).ok();
    let ran = folder.run(&["explain", "--strict", "--device", "cpu", "$.a", "log"]);
    assert!(ran.ok().contains("\n  cpu     validate  all of the text"), "{ran}");
}
