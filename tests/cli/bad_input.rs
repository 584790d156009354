//! Faults of an input: found, reported with their position, and contained.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Folder, pipe};

#[test]
fn a_malformed_record_ends_the_answers() {
    for (record, byte, reason) in [
        (r#"{"a":"never closed}"#, 6, "string is not closed by the end of the line"),
        (r#"{"a":"x\"#, 8, "line ends in the middle of an escape"),
        (r#"{"a":[1,2}"#, 10, "closing bracket does not match the opening one"),
        (r#"{"a":[1,2]"#, 1, "bracket is not closed by the end of the line"),
        (r#"{"a":1}}"#, 8, "closing bracket without an opening one"),
        (r#"{"a":1}{"a":2}"#, 8, "a second value begins after the record has ended"),
        (r#"{"a":1},"#, 8, "`:` or `,` outside any object or array"),
        // A lone carriage return is white space and ends no line.
        ("[1]\r[2]", 5, "a second value begins after the record has ended"),
    ] {
        for last in ["", "\n{\"a\":3}\n"] {
            let text = format!("{{\"a\":1}}\n\n{record}{last}");
            for size in ["1", "1MiB"] {
                let ran = |more: &[&str]| {
                    let args = [&["query", "$.a", "--partition-size", size][..], more].concat();
                    pipe(&args, text.as_bytes())
                };
                ran(&[]).failed(4, "1\n", &format!("error: <stdin>:3:{byte}: {reason}\n"));
                ran(&["--count"]).failed(4, "", &format!("error: <stdin>:3:{byte}: {reason}\n"));
                let answers = if last.is_empty() { "1\n" } else { "1\n3\n" };
                let warning =
                    format!("warning: 1 malformed record skipped; first: <stdin>:3:{byte}: {reason}\n");
                let skipping = ran(&["--on-error", "skip"]);
                skipping.failed(0, answers, &warning);
                assert_eq!(skipping.stderr, warning);
                assert_eq!(ran(&["--on-error", "skip", "-q"]).ok(), answers);
            }
        }
    }
}

/// A store takes all lines, and says which are no records.
#[test]
fn malformed_lines_of_a_store_are_counted() {
    let folder = Folder::new(&[]);
    let kept = "; the store keeps them, and a question stops there unless `--on-error skip` is given\n";
    for (name, text, malformed, layout) in [
        ("bad.ndjson", "{\"a\":1}\nnope\n{\"a\":\n", "2 of 3", ""),
        ("pretty.json", "{\n  \"a\": 1\n}\n", "3 of 3", "JSON values one after the other"),
        ("array.json", "[\n{\"a\":1},\n{\"a\":2}\n]\n", "3 of 4", "an array of records"),
    ] {
        folder.write(name, text.as_bytes());
        let ran = folder.run(&["store", "add", "logs.wp", name]);
        let mut said = format!("warning: malformed lines: {malformed}{kept}");
        if !layout.is_empty() {
            said += &format!(
                "  help: {name} has {layout}: `warpath query '$' {name} | warpath store add logs.wp -` adds them \
                 as lines\n"
            );
        }
        assert_eq!((ran.code, ran.stderr.as_str()), (0, said.as_str()));
        // What the help says.
        if !layout.is_empty() {
            let records = folder.run(&["query", "$", name]).ok().to_owned();
            assert_eq!(folder.run_with(&["store", "add", "other.wp", "-"], records.as_bytes()).ok(), "");
            let count = folder.run(&["query", "$.a", "--count", "other.wp"]).ok().to_owned();
            assert!(["1\n", "3\n"].contains(&&*count), "{count}");
        }
    }
}

fn records(count: usize) -> String {
    (0..count).map(|n| format!("{{\"n\":{n}}}\n")).collect()
}

/// The first `kept` numbers, one a line, of a run whose input ended early.
#[track_caller]
fn assert_a_prefix(output: &str, all: usize) {
    let lines: Vec<&str> = output.lines().collect();
    assert!(!lines.is_empty() && lines.len() < all, "{} lines", lines.len());
    assert!(lines.iter().enumerate().all(|(n, line)| *line == n.to_string()), "{output}");
}

#[test]
fn a_truncated_gzip_loses_nothing_before() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(records(20_000).as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    let folder = Folder::new(&[("cut.gz", &whole[..whole.len() / 2])]);
    for size in ["64", "4KiB", "1GiB"] {
        let ran = folder.run(&["query", "$.n", "--partition-size", size, "cut.gz"]);
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        assert!(
            ran.stderr.starts_with("error: cut.gz: gzip data is damaged or ends early: "),
            "{}",
            ran.stderr
        );
        assert_a_prefix(ran.text(), 20_000);
    }
    // A checksum that is not that of the text.
    let mut damaged = whole.clone();
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    folder.write("damaged", &damaged);
    let message = "error: damaged: gzip data is damaged or ends early: ";
    folder.run(&["query", "--count", "$.n", "damaged"]).failed(4, "", message);
}

#[test]
fn a_truncated_zstd_loses_nothing_before() {
    // Numbers that do not compress to a single block.
    let text = records(200_000);
    let whole = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let folder = Folder::new(&[("cut", &whole[..whole.len() / 2])]);
    let ran = folder.run(&["query", "$.n", "cut"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: cut: zstd data is damaged or ends early: "), "{}", ran.stderr);
    assert_a_prefix(ran.text(), 200_000);
    // Also within its first bytes, if the name says so. Text is text.
    for (bytes, name, format) in [
        (&whole[..3], "cut.zst", "zstd"),
        (&whole[..1], "cut.zst", "zstd"),
        (b"\x1f", "cut.gz", "gzip"),
        (b"\xfd7z", "cut.xz", "xz"),
    ] {
        folder.write(name, bytes);
        let ran = folder.run(&["query", "$.n", name]);
        let message = format!("error: {name}: {format} data is damaged or ends early: ");
        // One byte of zstd is a parenthesis.
        let is_said = ran.stderr.starts_with(&message) || bytes == b"(";
        assert!(ran.code == 4 && is_said, "{name}: {ran}");
    }
    for text in ["(", "B", "BZ", ""] {
        folder.write("cut.bz2", text.as_bytes());
        let ran = folder.run(&["query", "$.n", "cut.bz2"]);
        assert!(!ran.stderr.contains("ends early"), "{text}: {ran}");
    }
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(0);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn lz4(text: &[u8]) -> Vec<u8> {
    let mut frame = lz4_flex::frame::FrameInfo::new();
    frame.content_checksum = true;
    frame.block_size = lz4_flex::frame::BlockSize::Max64KB;
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(frame, Vec::new());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn bzip2_xz_and_lz4_are_read_whatever_their_names() {
    let (one, two): (&[u8], &[u8]) = (b"{\"a\":1}\n{\"a\"", b":2}\n{\"a\":3}");
    let skipped = b"\x53\x2a\x4d\x18\x03\0\0\0xyz";
    for (name, packed) in [
        ("bzip2", [bzip2(one), bzip2(b""), bzip2(two)].concat()),
        ("xz", [xz(one), xz(b""), xz(two)].concat()),
        ("lz4", [lz4(one), lz4(b""), lz4(two)].concat()),
        ("skipped", [&skipped[..], &lz4(one), skipped, &lz4(two), skipped].concat()),
    ] {
        let folder = Folder::new(&[("file", &packed)]);
        for size in ["1", "1MiB"] {
            let args = ["query", "--partition-size", size, "--offsets", "$.a"];
            let answers = "5\t6\t1\n13\t14\t2\n21\t22\t3\n";
            assert_eq!(folder.run(&[&args[..], &["file"]].concat()).ok(), answers, "{name}");
            assert_eq!(pipe(&args, &packed).ok(), answers, "{name}");
        }
        let document = ["query", "--input", "json", "$[*].a"];
        let array = [&b"["[..], &b"{\"a\":1}\n,{\"a\":2}"[..], b"]"].concat();
        let packed = match name {
            "bzip2" => bzip2(&array),
            "xz" => xz(&array),
            _ => lz4(&array),
        };
        assert_eq!(pipe(&document, &packed).ok(), "1\n2\n", "{name}");
    }
}

/// Data that ends after any of its bytes, or has another byte at one offset.
#[test]
fn damaged_bzip2_xz_and_lz4_lose_nothing_before() {
    let text = records(60_000);
    for (name, whole) in
        [("bzip2", bzip2(text.as_bytes())), ("xz", xz(text.as_bytes())), ("lz4", lz4(text.as_bytes()))]
    {
        let message = format!("error: file: {name} data is damaged or ends early: ");
        let folder = Folder::new(&[("file", &whole[..whole.len() * 7 / 8])]);
        let ran = folder.run(&["query", "$.n", "file"]);
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        assert!(ran.stderr.starts_with(&message), "{}", ran.stderr);
        if name != "xz" {
            // This data has one block of xz, and its decoder returns what it has decoded.
            assert_a_prefix(ran.text(), 60_000);
        }
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 0x55;
        folder.write("file", &damaged);
        let ran = folder.run(&["query", "$.n", "--on-error", "skip", "file"]);
        assert!(ran.code == 4 && ran.stderr.contains(&message), "{name}: {}", ran.stderr);
        // Short data, cut everywhere.
        let whole = match name {
            "bzip2" => bzip2(b"{\"n\":1}\n"),
            "xz" => xz(b"{\"n\":1}\n"),
            _ => lz4(b"{\"n\":1}\n"),
        };
        for len in 6..whole.len() {
            folder.write("file", &whole[..len]);
            let ran = folder.run(&["query", "--count", "$.n", "file"]);
            assert!(ran.code == 4 && ran.stderr.starts_with(&message), "{name}, {len} bytes: {ran}");
        }
    }
}

#[test]
fn foreign_formats_are_named_with_what_to_do() {
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let mut tar = vec![0; 1024];
    tar[..1].copy_from_slice(b"x");
    tar[257..262].copy_from_slice(b"ustar");
    let inputs: [(&str, Vec<u8>); 16] = [
        ("utf16-le", utf16("\u{feff}{\"a\":1}\n")),
        ("utf16-be", "\u{feff}{\"a\":1}\n".encode_utf16().flat_map(u16::to_be_bytes).collect()),
        ("utf16-unmarked", utf16("{\"a\":1}\n")),
        ("utf32", "\u{feff}{\"a\":1}\n".chars().flat_map(|char| u32::from(char).to_le_bytes()).collect()),
        ("utf16.gz", {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&utf16("\u{feff}{\"a\":1}\n")).unwrap();
            encoder.finish().unwrap()
        }),
        ("parquet", b"PAR1\x15\x04\x15".to_vec()),
        ("arrow", b"ARROW1\0\0\xff\xff\xff\xff".to_vec()),
        ("arrows", b"\xff\xff\xff\xff\x10\0\0\0".to_vec()),
        ("zip", b"PK\x03\x04\x14\0".to_vec()),
        ("7z", b"7z\xbc\xaf\x27\x1c\0\x04".to_vec()),
        ("tar", tar.clone()),
        ("tar.xz", xz(&tar)),
        ("orc", b"ORC\x08\x03".to_vec()),
        ("avro", b"Obj\x01\x04\x16".to_vec()),
        ("sqlite", b"SQLite format 3\0\x10\0".to_vec()),
        ("snappy", b"\xff\x06\0\0sNaPpY\x01".to_vec()),
    ];
    let mut all = String::new();
    for (name, bytes) in &inputs {
        let folder = Folder::new(&[(name, bytes)]);
        // Otherwise a table is read by its rows.
        let lines = "--input=ndjson";
        let ran = folder.run(&["query", lines, "$.a", name]);
        assert_eq!((ran.code, ran.text()), (4, ""), "{ran}");
        all += &ran.stderr;
        // The other ways in.
        let piped = pipe(&["query", lines, "$.a"], bytes);
        assert_eq!(piped.stderr, ran.stderr.replace(&format!("error: {name}:"), "error: <stdin>:"));
        for args in [
            &["query", "--input", "json", "$.a", name][..],
            &["query", lines, "--count", "--on-error", "skip", "$.a", name],
            &["select", lines, "a=$.a", "--", name],
            &["validate", name],
            &["tree", name],
            &["index", "dump", name],
            &["store", "index", name],
        ] {
            // An index file is made of plain files, and says so first. The rows of tables are valid.
            let is_packed = name.ends_with("gz") || name.ends_with("xz");
            let is_table = ["parquet", "arrow", "arrows"].contains(name);
            if args[0] == "store" && is_packed || args[0] == "validate" && is_table {
                continue;
            }
            let other = folder.run(args);
            assert!(other.code == 4 && other.stderr == ran.stderr, "{args:?}: {other}");
        }
    }
    insta::assert_snapshot!(all);
}
