//! `warpath pack`: inputs that become shorter, and compressed inputs.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::Folder;

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

/// Text that is compressed by zstd gives the same bytes as plain text.
#[test]
fn compressed_text_is_packed() {
    let text = b"{\"a\":1}\n\n{\"a\":2}".repeat(1000);
    let folder = Folder::new(&[("plain", &text), ("zst", &zstd::encode_all(&text[..], 1).unwrap())]);
    for file in ["plain", "zst"] {
        folder.run(&["pack", file, "-o", &format!("{file}.wpk"), "--group-size=4KiB"]).ok();
    }
    assert_eq!(folder.read("zst.wpk"), folder.read("plain.wpk"));
}
