//! `warpath pack` and `unpack`, and packed files in place of plain ones.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::{Folder, Ran};

/// Lines of people: 700 of them, some blank, the last without a newline.
fn people() -> Vec<u8> {
    let mut text = String::new();
    for number in 0..700_u64 {
        let lang = ["en", "nl", "ja"][number as usize % 3];
        match number % 97 {
            13 => text.push('\n'),
            _ => text.push_str(&format!(
                "{{\"id\":{number},\"user\":{{\"lang\":\"{lang}\"}},\"n\":[{},null]}}\n",
                number * number % 1000
            )),
        }
    }
    text.pop();
    text.into_bytes()
}

/// A folder with people and the same packed, in groups of several lines each.
fn folder() -> Folder {
    let folder = Folder::new(&[("people.ndjson", &people())]);
    folder.run(&["pack", "people.ndjson", "-o", "people.wpk", "--group-size=4KiB"]).ok();
    folder
}

/// Runs the program over the packed file. The result must be that for the plain one, but for the file's name.
#[track_caller]
fn same(folder: &Folder, args: &[&str]) -> Ran {
    let of = |name: &str| {
        let args: Vec<String> = args.iter().map(|arg| arg.replace("FILE", name)).collect();
        folder.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (mut plain, packed) = (of("people.ndjson"), of("people.wpk"));
    plain.stderr = plain.stderr.replace("people.ndjson", "people.wpk");
    plain.stdout = plain.text().replace("people.ndjson", "people.wpk").into_bytes();
    assert_eq!(packed, plain, "{args:?}");
    packed
}

#[test]
fn what_was_packed_comes_back() {
    let folder = folder();
    folder.run(&["unpack", "people.wpk", "-o", "again"]).ok();
    assert_eq!(folder.read("again"), people());
    assert_eq!(folder.run(&["unpack", "people.wpk"]).stdout, people());
    assert_eq!(folder.run_with(&["unpack", "-"], &folder.read("people.wpk")).stdout, people());
    assert!(folder.read("people.wpk").len() < people().len());
    // Through pipes, and from compressed text: the same bytes.
    let packed = folder.run_with(&["pack", "-", "-o", "-", "--group-size=4KiB"], &people());
    assert_eq!((packed.code, packed.stdout), (0, folder.read("people.wpk")));
    folder.write("people.zst", &zstd::encode_all(&people()[..], 1).unwrap());
    folder.run(&["pack", "people.zst", "-o", "zst.wpk", "--group-size=4KiB"]).ok();
    assert_eq!(folder.read("zst.wpk"), folder.read("people.wpk"));
    let stats = folder.run(&["pack", "people.ndjson", "-o", "people.wpk", "--stats"]);
    assert!(stats.code == 0 && stats.stderr.contains(" to 1; 699 newlines, 1 groups; "), "{stats}");
}

/// The program writes the packed bytes to a pipe that nobody reads while the file is cut. So it has not yet
/// read the whole file.
#[test]
fn a_file_that_becomes_shorter_is_not_packed() {
    let line = |number: u64| format!("{{\"n\":{}}}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text: String = (0..500_000).map(line).collect();
    let folder = Folder::new(&[("numbers.ndjson", text.as_bytes())]);
    let mut program = Command::new(crate::PROGRAM)
        .current_dir(folder.path(""))
        .args(["pack", "numbers.ndjson", "-o", "-", "--group-size=64KiB"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut packed = program.stdout.take().unwrap();
    packed.read_exact(&mut [0]).unwrap();
    let file = OpenOptions::new().write(true).open(folder.path("numbers.ndjson")).unwrap();
    file.set_len(text.len() as u64 - 1000).unwrap();
    std::io::copy(&mut packed, &mut std::io::sink()).unwrap();
    let output = program.wait_with_output().unwrap();
    let said = "error: numbers.ndjson: the file became shorter while it was read\n";
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(2), said));
}

#[test]
fn some_lines_are_unpacked() {
    let folder = folder();
    let text = people();
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    for (asked, of) in
        [("1", 0..1), ("14", 13..14), ("699-", 698..700), ("300-420", 299..420), ("1-", 0..700)]
    {
        let ran = folder.run(&["unpack", "people.wpk", "--lines", asked]);
        assert_eq!(ran.ok().as_bytes(), lines[of].concat(), "{asked}");
    }
    let none = folder.run(&["unpack", "people.wpk", "--lines=701-800"]);
    let said = "note: there is no line 701: the text has 699 newlines\n";
    assert!((none.code, none.text(), none.stderr.as_str()) == (0, "", said), "{none}");
    assert_eq!(folder.run(&["unpack", "people.wpk", "--lines=700-800"]).ok().as_bytes(), lines[699]);
    for wrong in ["0", "3-2", "x", "-3", ""] {
        let ran = folder.run(&["unpack", "people.wpk", &format!("--lines={wrong}")]);
        assert!(ran.code == 2 && ran.stderr.starts_with("error: invalid value"), "{ran}");
    }
}

#[test]
fn a_file_is_checked() {
    let folder = folder();
    let ran = folder.run(&["unpack", "--check", "people.wpk"]);
    let said = ran.ok();
    let start = format!("{} bytes of text in {}, ", people().len(), folder.read("people.wpk").len());
    assert!(said.starts_with(&start) && said.ends_with(" groups: all checksums match\n"), "{said}");
    let mut bytes = folder.read("people.wpk");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    folder.write("people.wpk", &bytes);
    let said = "error: people.wpk: packed data is damaged: group checksum mismatch\n";
    folder.run(&["unpack", "--check", "people.wpk"]).failed(4, "", said);
    // What is before the damage is answered; what is beside it is read.
    let ran = folder.run(&["query", "$.id", "people.wpk", "--partition-size=1KiB", "--device=cpu"]);
    assert!(ran.code == 4 && ran.stderr == said && ran.text().starts_with("0\n1\n2\n"), "{ran}");
    let first = people().split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec();
    assert_eq!(folder.run(&["unpack", "people.wpk", "--lines=1"]).stdout, first);
}

#[test]
fn a_packed_file_is_asked_as_a_plain_one() {
    let folder = folder();
    for args in [
        &["query", "$.user.lang", "FILE"][..],
        &["query", "$..id", "--offsets", "FILE", "--partition-size=1KiB"],
        &["query", "$.n[0]", "--count", "FILE"],
        &["query", "$.id", "--limit=5", "FILE"],
        &["query", "$.id", "--strict", "--with-path", "FILE"],
        &["query", "$[0].id", "--input=json", "FILE"],
        &["select", "id=$.id", "lang=$.user.lang", "--format=csv", "--", "FILE"],
        &["validate", "FILE"],
        &["index", "dump", "--levels=2", "FILE"],
        &["tree", "FILE"],
    ] {
        same(&folder, args);
    }
    let packed = folder.read("people.wpk");
    let piped = folder.run_with(&["query", "$.user.lang"], &packed);
    assert_eq!(piped.ok(), folder.run(&["query", "$.user.lang", "people.ndjson"]).ok());
}

/// A document goes through groups as lines do.
#[test]
fn a_document_may_be_packed() {
    let mut document = "[\n".to_owned();
    (0..3000).for_each(|id| document += &format!("{{\"id\":{id},\n\"t\":\"text\"}},\n"));
    document += "{}]\n";
    let folder = Folder::new(&[("people.ndjson", document.as_bytes())]);
    folder.run(&["pack", "people.ndjson", "-o", "people.wpk", "--group-size=10KiB"]).ok();
    for path in ["$[*].id", "$..t", "$[2999].id", "$[-2]"] {
        same(&folder, &["query", "--input=json", path, "FILE", "--partition-size=4KiB"]).ok();
        let piped = folder.run_with(&["query", "--input=json", path], &folder.read("people.wpk"));
        assert_eq!(piped.ok(), folder.run(&["query", "--input=json", path, "people.ndjson"]).ok());
    }
}

#[test]
fn an_index_file_of_a_packed_file() {
    let folder = folder();
    for file in ["people.ndjson", "people.wpk"] {
        folder.run(&["index", "build", file, "-o", &format!("{file}.wpi"), "--partition-size=5000"]).ok();
    }
    for args in [
        &["query", "$.user.lang", "--index=FILE.wpi", "FILE"][..],
        &["query", "$.user", "--offsets", "--index=FILE.wpi", "--verify", "FILE"],
        &["query", "$.user", "--count", "--index=FILE.wpi", "FILE"],
        &["select", "id=$.id", "all=$.*", "--index=FILE.wpi", "--", "FILE"],
    ] {
        let ran = same(&folder, args);
        let without: Vec<&str> =
            args.iter().filter(|arg| !arg.starts_with("--index") && **arg != "--verify").copied().collect();
        assert_eq!(ran, same(&folder, &without), "{args:?}");
    }
    let info = folder.run(&["index", "info", "people.wpk.wpi"]);
    let size = folder.read("people.wpk").len();
    let said = format!("\ninput       {size} bytes, packed, of {} bytes of text\n", people().len());
    assert!(info.ok().contains(&said), "{info}");
    assert!(info.text().contains(" % of the text)\n"), "{info}");
    // Packed anew it is another file; and the text is not the packed file.
    folder.run(&["pack", "people.ndjson", "-o", "people.wpk"]).ok();
    let start = "error: people.wpk.wpi: the index does not match people.wpk: it has ";
    folder.run(&["query", "$", "--index=people.wpk.wpi", "people.wpk"]).failed(4, "", start);
    let start = "error: people.wpk.wpi: the index does not match people.ndjson: it has ";
    folder.run(&["query", "$", "--index=people.wpk.wpi", "people.ndjson"]).failed(4, "", start);
}

#[test]
fn a_bitmap_index_of_a_packed_file() {
    let folder = folder();
    for file in ["people.ndjson", "people.wpk"] {
        let index = format!("{file}.wpb");
        let columns = ["--column=lang=$.user.lang", "--column=n=$.n[0]", "--bins=n=quantiles:5"];
        folder.run(&[&["bitmap", "build", file, "-o", &index][..], &columns].concat()).ok();
    }
    for expression in ["lang = 'nl' and n < 200", "n = 1", "lang is missing", "n between 100 and 900"] {
        for args in [
            &["bitmap", "range", "FILE.wpb", expression][..],
            &["bitmap", "range", "FILE.wpb", expression, "--records", "FILE"],
            &["bitmap", "range", "FILE.wpb", expression, "--select=id=$.id", "FILE"],
            &["query", "$.id", "--offsets", "FILE", "--where", expression, "--bitmap=FILE.wpb"],
            &["select", "id=$.id", "--where", expression, "--bitmap=FILE.wpb", "--", "FILE"],
        ] {
            same(&folder, args).ok();
        }
    }
    let found = folder.run(&["query", "$.id", "people.wpk", "--where=n = 1", "--bitmap=people.wpk.wpb"]);
    assert_eq!(found.ok(), "1\n249\n251\n499\n501\n");
    let stats =
        folder.run(&["query", "$.id", "people.wpk", "--where=n = 1", "--bitmap=people.wpk.wpb", "--stats"]);
    assert!(stats.stderr.contains("people.wpk.wpb: 5 of 700 lines, in 3 of 11 blocks"), "{stats}");
    // The text that was packed is another file.
    let said = "error: people.wpk.wpb: the index does not match people.ndjson: it has ";
    folder
        .run(&["bitmap", "range", "people.wpk.wpb", "n = 1", "--records", "people.ndjson"])
        .failed(4, "", said);
}

/// The messages and exit codes for files that cannot be packed or unpacked.
#[test]
fn what_cannot_be_packed_or_unpacked() {
    let folder = folder();
    let packed = folder.read("people.wpk");
    folder.write("folder/file", b"");
    folder.write("empty", b"");
    folder.write("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    folder.write("short.wpk", &packed[..3000]);
    folder.write("start.wpk", &packed[..5]);
    std::fs::hard_link(folder.path("people.ndjson"), folder.path("same")).unwrap();
    let mut said = String::new();
    let mut refused = |code: i32, args: &[&str], stdin: &[u8]| {
        let ran = folder.run_with(args, stdin);
        assert_eq!(ran.code, code, "{args:?} {ran}");
        let from = if stdin.is_empty() { "" } else { " < …" };
        said += &format!("$ warpath {}{from}\n{}\n", args.join(" "), ran.stderr);
    };
    for input in ["folder", "missing", "people.wpk"] {
        refused(2, &["pack", input, "-o", "out"], b"");
    }
    refused(2, &["pack", "-", "-o", "out"], &packed);
    refused(2, &["pack", "people.ndjson", "-o", "people.ndjson"], b"");
    refused(2, &["pack", "people.ndjson", "-o", "same"], b"");
    refused(2, &["pack", "people.ndjson", "-o", "nowhere/out"], b"");
    refused(2, &["pack", "people.ndjson"], b"");
    refused(2, &["pack", "people.ndjson", "-o", "out", "--group-size=0"], b"");
    refused(4, &["pack", "gzip", "-o", "out"], b"");
    for input in ["people.ndjson", "gzip", "empty", "short.wpk", "start.wpk"] {
        refused(4, &["unpack", input, "-o", "out"], b"");
        refused(4, &["unpack", "--check", input], b"");
    }
    refused(4, &["unpack", "-", "-o", "out"], &people());
    refused(4, &["unpack", "-", "-o", "out"], &packed[..500]);
    for input in ["folder", "missing"] {
        refused(2, &["unpack", input, "-o", "out"], b"");
        refused(2, &["unpack", "--check", input], b"");
    }
    refused(2, &["unpack", "people.wpk", "-o", "people.wpk"], b"");
    refused(2, &["unpack", "-", "--lines=1"], &packed);
    refused(4, &["query", "$", "short.wpk"], b"");
    refused(4, &["index", "build", "short.wpk", "-o", "out"], b"");
    refused(4, &["bitmap", "build", "short.wpk", "--column=a=$.a", "-o", "out"], b"");
    assert!(!folder.path("out").exists());
    assert!(folder.read("people.wpk") == packed && folder.read("people.ndjson") == people());
    assert_snapshot!(said);
}

/// Text of no bytes, of one line, and of no newline.
#[test]
fn short_texts_are_packed_too() {
    for text in [&b""[..], b"\n", b"1", b"{\"a\":1}\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf{\"a\":1}"] {
        let folder = Folder::new(&[("people.ndjson", text)]);
        folder.run(&["pack", "people.ndjson", "-o", "people.wpk"]).ok();
        assert_eq!(folder.run(&["unpack", "people.wpk"]).stdout, text);
        folder.run(&["unpack", "--check", "people.wpk"]).ok();
        same(&folder, &["query", "$", "FILE"]).ok();
        same(&folder, &["index", "build", "FILE", "-o", "FILE.wpi"]).ok();
        same(&folder, &["query", "$", "--index=FILE.wpi", "--verify", "FILE"]).ok();
        same(&folder, &["bitmap", "build", "FILE", "--column=a=$.a", "-o", "FILE.wpb", "-q"]).ok();
        same(&folder, &["bitmap", "range", "FILE.wpb", "not a is null", "--records", "FILE"]).ok();
    }
}
