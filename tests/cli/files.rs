//! The input files, their compression, and the destinations of results.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::{Folder, PROGRAM, gzip, pipe};

/// Long files of gzip are decompressed by several threads, with the results and errors of one thread.
#[test]
fn several_threads_decompress_a_file() {
    // Numbers that compress badly.
    let line = |n: u64| format!("{{\"n\":{n},\"x\":\"{:016x}\"}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text: String = (0..150_000).map(line).collect();
    let whole = gzip(text.as_bytes());
    assert!(whole.len() > 1 << 20, "{} bytes", whole.len());
    let (first, second) = text.as_bytes().split_at(text.len() / 3);
    let altered = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let cases = [
        ("whole", 0, whole.clone()),
        ("members", 0, [gzip(first), gzip(b""), gzip(second)].concat()),
        ("zeros", 0, [whole.as_slice(), &[0; 20]].concat()),
        ("cut", 4, whole[..whole.len() - whole.len() / 5].to_vec()),
        ("without-size", 4, whole[..whole.len() - 4].to_vec()),
        ("altered", 4, altered(whole.len() / 2)),
        ("checksum", 4, altered(whole.len() - 8)),
    ];
    for (name, code, bytes) in cases {
        let folder = Folder::new(&[(name, &bytes)]);
        let run = |workers: &str| folder.run(&["query", "$.n", "--workers", workers, name]);
        let (one, several) = (run("1"), run("5"));
        assert_eq!((one.code, several.code), (code, code), "{name}: {} {}", one.stderr, several.stderr);
        assert_eq!(one.stderr, several.stderr, "{name}");
        assert!(one.text() == several.text(), "{name}: {} {}", one.text().len(), several.text().len());
        if matches!(name, "whole" | "members" | "zeros" | "checksum") {
            assert_eq!(one.text().lines().count(), 150_000, "{name}");
        }
    }
}

/// Long files of frames, of zstd and LZ4, are decompressed by several threads, with the results and errors of
/// one thread.
#[test]
fn several_threads_decompress_frames() {
    let line = |n: u64| format!("{{\"n\":{n},\"x\":\"{:016x}\"}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text: String = (0..150_000).map(line).collect();
    let zstd = |text: &[u8]| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let lz4 = |text: &[u8]| {
        let frame = lz4_flex::frame::FrameInfo::new().content_checksum(true);
        let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(frame, Vec::new());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let skipped = b"\x5e\x2a\x4d\x18\x03\0\0\0xyz";
    for (format, pack) in [("zstd", &zstd as &dyn Fn(&[u8]) -> Vec<u8>), ("lz4", &lz4)] {
        // Frames end within lines.
        let frames: Vec<Vec<u8>> = text.as_bytes().chunks(70_001).map(pack).collect();
        let whole = frames.join(&skipped[..]);
        assert!(whole.len() > 1 << 20, "{} bytes", whole.len());
        let before = frames[..20].join(&skipped[..]).len();
        let altered = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            bytes
        };
        let cases = [
            ("frames", 0, whole.clone()),
            ("one", 0, pack(text.as_bytes())),
            ("one-and-others", 0, [pack(text.as_bytes()), whole.clone()].concat()),
            ("garbage", 4, [whole.as_slice(), b"garbage"].concat()),
            ("cut", 4, whole[..before - 1000].to_vec()),
            ("altered", 4, altered(before - 20_000)),
            ("checksum", 4, altered(before - 2)),
        ];
        for (name, code, bytes) in cases {
            let folder = Folder::new(&[(name, &bytes)]);
            let run = |workers: &str| folder.run(&["query", "$.n", "--workers", workers, name]);
            let one = run("1");
            assert_eq!(one.code, code, "{format}, {name}: {}", one.stderr);
            for workers in ["2", "5"] {
                let several = run(workers);
                assert_eq!((several.code, &several.stderr), (code, &one.stderr), "{format}, {name}");
                let (one, several) = (one.text(), several.text());
                assert!(one == several, "{format}, {name}: {} {}", one.len(), several.len());
            }
            let piped = pipe(&["query", "$.n"], &bytes);
            assert!((piped.code, piped.text()) == (code, one.text()), "{format}, {name}, from a pipe");
            let message = format!("error: {name}: {format} data is damaged or ends early: ");
            assert!(code == 0 || one.stderr.starts_with(&message), "{}", one.stderr);
            let lines = one.text().lines().count();
            match name {
                "one-and-others" => assert_eq!(lines, 300_000),
                "frames" | "one" | "garbage" => assert_eq!(lines, 150_000),
                "checksum" => assert_eq!(lines, text[..20 * 70_001].matches('\n').count()),
                _ => assert!(lines > 0 && lines < 70_000, "{lines} lines"),
            }
        }
    }
}

/// Files that the system makes as they are read have no length, or one that is not theirs.
#[cfg(target_os = "linux")]
#[test]
fn the_length_of_a_file_may_not_be_what_the_system_says() {
    let folder = Folder::new(&[]);
    for path in ["/proc/sys/kernel/pid_max", "/sys/class/net/lo/mtu"] {
        // Not every container has the second.
        let Ok(content) = std::fs::read_to_string(path) else { continue };
        assert_ne!(std::fs::metadata(path).unwrap().len(), content.len() as u64);
        for flags in [&["--limit", "1"][..], &["--partition-size", "1"], &[]] {
            assert_eq!(folder.run(&[&["query", "$", path][..], flags].concat()).ok(), content);
            let stdin = std::fs::File::open(path).unwrap();
            let output =
                Command::new(PROGRAM).args(["query", "$"]).args(flags).stdin(stdin).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), content);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new(&[("secret", b"1\n")]);
    std::fs::set_permissions(folder.path("secret"), PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::File::open(folder.path("secret")).is_ok() {
        // The administrator may read everything.
        return;
    }
    folder.run(&["query", "$", "secret"]).failed(2, "", "error: secret: Permission denied\n");
}

#[test]
fn answers_of_a_slow_pipe_come_at_once() {
    use std::io::{BufRead, BufReader};

    let mut child = Command::new(PROGRAM)
        .args(["query", "--device", "cpu", "$.a"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut questions = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for i in 0..5 {
        // The next line is written only after the last result has come. A program that reads ahead would wait
        // for ever.
        writeln!(questions, "{{\"a\":{i}}}").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), i.to_string());
    }
    drop(questions);
    assert!(answers.next().is_none());
    assert!(child.wait().unwrap().success());
}
