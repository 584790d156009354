//! The input files, their compression, and the destinations of results.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::{Folder, PROGRAM, gzip, pipe};

#[test]
fn no_file_and_a_dash_mean_standard_input() {
    let folder = Folder::new(&[("a", b"1\n"), ("b", b"3\n")]);
    assert_eq!(folder.run_with(&["query", "$"], b"2\n").ok(), "2\n");
    assert_eq!(folder.run_with(&["query", "$", "-"], b"2\n").ok(), "2\n");
    assert_eq!(folder.run_with(&["query", "$", "a", "-", "b"], b"2\n").ok(), "1\n2\n3\n");
    assert_eq!(folder.run_with(&["select", "a=$", "--", "-"], b"2\n").ok(), "{\"a\":2}\n");
    let twice = folder.run_with(&["query", "$", "-", "a", "-"], b"2\n");
    twice.failed(2, "", "error: `-` is given twice, and standard input can be read only once\n");
    assert_eq!(folder.run_with(&["query", "$", "a", "a"], b"").ok(), "1\n1\n");
}

#[test]
fn a_line_ends_with_its_file() {
    let folder = Folder::new(&[("a", b"{\"a\":"), ("b", b"1}")]);
    folder.run(&["query", "$", "a", "b"]).failed(4, "", "error: a:1:1: bracket is not closed");
    let folder = Folder::new(&[("a", b"1"), ("b", b"2"), ("empty", b""), ("c", b"3")]);
    assert_eq!(folder.run(&["query", "$", "a", "b", "empty", "c"]).ok(), "1\n2\n3\n");
}

#[test]
fn patterns_stand_for_files() {
    let folder = Folder::new(&[
        ("logs/b.ndjson", b"2\n"),
        ("logs/a.ndjson", b"1\n"),
        ("logs/deep/c.ndjson", b"3\n"),
        ("logs/.hidden.ndjson", b"4\n"),
        ("logs/x[1].ndjson", b"5\n"),
        ("logs/x1.ndjson", b"6\n"),
    ]);
    let run = |files: &[&str]| folder.run(&[&["query", "$"][..], files].concat());
    assert_eq!(run(&["logs/[ab].ndjson"]).ok(), "1\n2\n");
    assert_eq!(run(&["logs/?.ndjson", "logs/*/c.*"]).ok(), "1\n2\n3\n");
    assert_eq!(run(&["logs/**/c.ndjson"]).ok(), "3\n");
    // At the end, it means the files in all folders.
    for pattern in ["logs/**", "logs/**/*", "{logs,nope}/**"] {
        assert_eq!(run(&[pattern]).ok(), "1\n2\n3\n6\n5\n", "{pattern}");
    }
    assert_eq!(run(&["**"]).ok(), "1\n2\n3\n6\n5\n");
    // A file's own name comes first.
    assert_eq!(run(&["logs/x[1].ndjson"]).ok(), "5\n");
    // Folders and hidden files are left out.
    assert_eq!(run(&["logs/*"]).ok(), "1\n2\n6\n5\n");
    for pattern in ["*.nope", "logs/d*", "[", "nope["] {
        run(&["logs/a.ndjson", pattern]).failed(2, "", &format!("error: {pattern}: no file has this name"));
    }
}

#[test]
fn compression_is_recognised_by_content() {
    let (one, two) = (b"{\"a\":1}\n".as_slice(), b"{\"a\":2}\n".as_slice());
    let zstd = |text: &[u8]| zstd::encode_all(text, 3).unwrap();
    let folder = Folder::new(&[
        ("gzip", &gzip(one)),
        ("gzip-members", &[gzip(one), gzip(b""), gzip(two)].concat()),
        ("gzip-split", &[gzip(b"{\"a\""), gzip(b":3}\n")].concat()),
        ("zstd", &zstd(one)),
        ("zstd-frames", &[zstd(one), zstd(two)].concat()),
        ("plain.gz", one),
    ]);
    for (file, answers) in [
        ("gzip", "1\n"),
        ("gzip-members", "1\n2\n"),
        ("gzip-split", "3\n"),
        ("zstd", "1\n"),
        ("zstd-frames", "1\n2\n"),
        ("plain.gz", "1\n"),
    ] {
        assert_eq!(folder.run(&["query", "$.a", file]).ok(), answers, "{file}");
        assert_eq!(folder.run_with(&["query", "$.a"], &folder.read(file)).ok(), answers, "{file}");
    }
    // Offsets are those of the text.
    assert_eq!(folder.run(&["query", "--offsets", "$.a", "zstd-frames"]).ok(), "5\t6\t1\n13\t14\t2\n");
}

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

/// Standard input that is a file is read in parts, from its current offset.
#[test]
fn standard_input_may_be_a_file() {
    use std::io::{Seek, SeekFrom};
    let lines: String = (0..1000).map(|n| format!("{{\"a\":{n}}}\n")).collect();
    let folder =
        Folder::new(&[("plain", lines.as_bytes()), ("packed", &gzip(lines.as_bytes())), ("empty", b"")]);
    let numbers = |from: usize| (from..1000).map(|n| format!("{n}\n")).collect::<String>();
    for (name, skip, want) in [
        ("plain", 0, numbers(0)),
        ("plain", lines.find("{\"a\":7}").unwrap(), numbers(7)),
        ("packed", 0, numbers(0)),
        ("empty", 0, String::new()),
    ] {
        for size in ["100", "1MiB"] {
            let mut stdin = std::fs::File::open(folder.path(name)).unwrap();
            stdin.seek(SeekFrom::Start(skip as u64)).unwrap();
            let output = Command::new(PROGRAM)
                .args(["query", "$.a", "--partition-size", size, "--workers", "5"])
                .stdin(stdin)
                .output()
                .unwrap();
            assert!(output.status.success());
            assert_eq!(String::from_utf8(output.stdout).unwrap(), want, "{name}, {skip}, {size}");
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

/// A run that has reached its limit does not wait for an input that nobody opens.
#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_opens_is_not_waited_for() {
    let folder = Folder::new(&[("a", b"1\n2\n")]);
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    for partition in ["1", "1MiB"] {
        let args = ["query", "--limit", "2", "--partition-size", partition, "$", "a", "pipe"];
        assert_eq!(folder.run(&args).ok(), "1\n2\n");
    }
}

#[test]
fn a_file_that_is_not_there_loses_nothing_before_it() {
    let folder = Folder::new(&[("a", b"1\n"), ("folder/b", b"2\n")]);
    let run = |files: &[&str]| folder.run(&[&["query", "$"][..], files].concat());
    run(&["missing"]).failed(2, "", "error: missing: No such file or directory\n");
    run(&["a", "missing", "folder/b"]).failed(2, "1\n", "error: missing: No such file or directory\n");
    // The files of a folder are looked up before anything is read.
    run(&["a", "folder"]).failed(2, "", "error: folder: no file in this folder ends in");
    run(&["a/b"]).failed(2, "", "error: a/b: Not a directory\n");
    folder.run(&["query", "--count", "$", "a", "missing"]).failed(2, "", "error: missing: ");
    folder.run(&["query", "--count", "$", "missing"]).failed(2, "", "error: missing: ");
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
fn answers_go_to_a_file() {
    let folder = Folder::new(&[("a", b"1\n2\n")]);
    for args in [
        &["query", "$", "a", "-o", "out"][..],
        &["query", "$", "--output=out", "a"],
        &["select", "a=$", "-o", "out", "--", "a"],
        &["index", "dump", "-o", "out", "a"],
        &["query", "--count", "$", "a", "-o", "out"],
    ] {
        let _ = std::fs::remove_file(folder.path("out"));
        let printed: Vec<&str> =
            args.iter().copied().filter(|arg| !["-o", "out", "--output=out"].contains(arg)).collect();
        assert_eq!(folder.run(args).ok(), "");
        assert_eq!(folder.read("out"), folder.run(&printed).ok().as_bytes(), "{args:?}");
    }
    // Nothing found is an empty file.
    assert_eq!(folder.run(&["query", "$.x", "a", "-o", "out"]).noted(), "");
    assert_eq!(folder.read("out"), b"");
    folder.run(&["query", "$", "a", "-o", "no/such/folder"]).failed(
        2,
        "",
        "error: cannot write to `no/such/folder`: No such file or directory\n",
    );
}

#[test]
fn a_file_is_not_overwritten_for_nothing() {
    let folder = Folder::new(&[("a", b"1\n"), ("out", b"precious")]);
    for args in [
        &["query", "$", "missing", "-o", "out"][..],
        &["query", "$[", "a", "-o", "out"],
        &["query", "$", "a", "out", "-o", "out"],
        &["query", "$", "a", "./out", "-o", "out"],
        &["query", "$", "o?t", "-o", "out"],
        &["select", "a=$", "-o", "out", "--", "out"],
        &["index", "dump", "out", "-o", "out"],
        &["index", "dump", "missing", "-o", "out"],
        &["tree", "missing", "-o", "out"],
    ] {
        let ran = folder.run(args);
        assert!([2, 3].contains(&ran.code) && ran.stderr.starts_with("error: "), "{ran}");
        assert_eq!(folder.read("out"), b"precious", "{args:?}");
    }
}

/// `warpath query '$' < log >> log` would never end.
#[cfg(target_os = "linux")]
#[test]
fn standard_output_is_not_read() {
    let folder = Folder::new(&[("log", b"1\n")]);
    let append = || std::fs::File::options().append(true).open(folder.path("log")).unwrap();
    for (args, stdin) in [
        (&["query", "$", "log"][..], Stdio::null()),
        (&["query", "$"], std::fs::File::open(folder.path("log")).unwrap().into()),
    ] {
        let mut command = Command::new(PROGRAM);
        let output =
            command.current_dir(folder.path("")).args(args).stdin(stdin).stdout(append()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("is both an input and the output"));
        assert_eq!(folder.read("log"), b"1\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let folder = Folder::new(&[("a", b"1\n")]);
    for args in [
        &["query", "$", "a"][..],
        &["query", "-c", "$", "a"],
        &["select", "--format", "csv", "a=$", "--", "a"],
        &["index", "dump", "a"],
        &["devices"],
        &["explain", "$"],
    ] {
        let mut command = Command::new(PROGRAM);
        let output = command.current_dir(folder.path("")).args(args).stdout(full()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(said, "error: cannot write to standard output: No space left on device\n");
    }
    let ran = pipe(&["query", "$", "-o", "/dev/full"], b"1\n");
    ran.failed(2, "", "error: cannot write to `/dev/full`: No space left on device\n");
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

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let marked = b"\xef\xbb\xbf{\"a\":1}\n\xef\xbb\xbf{\"a\":2}\n";
    let folder = Folder::new(&[("plain", marked), ("packed", &gzip(marked)), ("alone", b"\xef\xbb\xbf")]);
    for name in ["plain", "packed"] {
        // Offsets count it. No record begins with it on a later line.
        let ran = folder.run(&["query", "--offsets", "$.a", name]);
        ran.failed(4, "8\t9\t1\n", &format!("error: {name}:2:1: no JSON value begins here\n"));
    }
    assert_eq!(folder.run(&["query", "--count", "$", "alone"]).stdout, b"0\n");
}

#[test]
fn a_folder_stands_for_the_files_in_it() {
    let folder = Folder::new(&[
        ("logs/b.ndjson", b"2\n"),
        ("logs/a.JSON.gz", &gzip(b"1\n")),
        ("logs/c/d.log", b"3\n"),
        ("logs/c/e.jsonl", b"4\n"),
        ("logs/c/notes.txt", b"no JSON\n"),
        ("logs/.hidden.json", b"no JSON\n"),
        ("logs/.git/x.json", b"no JSON\n"),
        ("texts/a.txt", b"1\n"),
        ("more/z.json", b"5\n"),
    ]);
    let run = |files: &[&str]| folder.run(&[&["query", "$"][..], files].concat());
    assert_eq!(run(&["logs"]).ok(), "1\n2\n3\n4\n");
    assert_eq!(run(&["logs/", "more", "logs/c"]).ok(), "1\n2\n3\n4\n5\n3\n4\n");
    assert_eq!(run(&["--offsets", "logs"]).ok().lines().next(), Some("logs/a.JSON.gz\t0\t1\t1"));
    assert_eq!(folder.run(&["select", "x=$", "--", "more"]).ok(), "{\"x\":5}\n");
    assert_eq!(folder.run(&["validate", "logs"]).ok(), "4 records, 8 bytes: all valid\n");
    run(&["texts"]).failed(2, "", "error: texts: no file in this folder ends in .json, .ndjson, ");
    // Links to files are read, and links to folders are not entered, so that no folder is read for ever.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("..", folder.path("more/up")).unwrap();
        std::os::unix::fs::symlink("../logs/b.ndjson", folder.path("more/link.json")).unwrap();
        assert_eq!(run(&["more"]).ok(), "2\n5\n");
    }
}

#[test]
fn braces_stand_for_alternatives() {
    let folder =
        Folder::new(&[("a.json", b"1\n"), ("b.json", b"2\n"), ("c.log", b"3\n"), ("{x,y}.json", b"4\n")]);
    let run = |files: &[&str]| folder.run(&[&["query", "$"][..], files].concat());
    assert_eq!(run(&["{c,a}.{json,log}"]).ok(), "1\n3\n");
    // Each file once, though several alternatives match it.
    assert_eq!(run(&["{*,a}.json"]).ok(), "1\n2\n4\n");
    assert_eq!(run(&["{x,y}.json"]).ok(), "4\n");
    run(&["{d,e}.json"]).failed(2, "", "error: {d,e}.json: no file has this name or matches this pattern\n");
}

#[test]
fn files_are_read_from_a_list() {
    let folder = Folder::new(&[
        ("a.json", b"1\n"),
        ("b *.json", b"2\n"),
        ("logs/c.json", b"3\n"),
        ("list", b"b *.json\n\nlogs\r\na.json\n"),
        ("zeros", b"b *.json\0a.json\0"),
        ("empty", b"\n"),
    ]);
    let run = |args: &[&str]| folder.run(&[&["query", "$"][..], args].concat());
    assert_eq!(run(&["--files-from", "list"]).ok(), "2\n3\n1\n");
    assert_eq!(run(&["--files-from", "zeros", "logs"]).ok(), "3\n2\n1\n");
    let piped = folder.run_with(&["query", "$", "--files-from", "-"], b"logs/c.json\na.json");
    assert_eq!(piped.ok(), "3\n1\n");
    run(&["--files-from", "empty"]).failed(
        2,
        "",
        "error: empty: the list has no names\n  help: a list has the name of a file or a folder on each line",
    );
    // A missing file has its line in the list, and nothing is read.
    folder.write("gone", b"a.json\n\nnope.json\n*.json\n");
    run(&["--files-from", "gone"]).failed(2, "", "error: gone:3: nope.json: No such file or directory\n");
    folder.write("gone", b"*.json\n");
    run(&["--files-from", "gone"]).failed(
        2,
        "",
        "error: gone:1: *.json: No such file or directory\n  help: names in a list are no patterns\n",
    );
    let piped = folder.run_with(&["query", "$", "--files-from", "-"], b"a.json\0nope");
    piped.failed(2, "", "error: <stdin>:2: nope: No such file or directory\n");
    run(&["--files-from", "none"]).failed(2, "", "error: none: ");
    run(&["--files-from", "-", "-"]).failed(2, "", "error: standard input is both an input and the list");
    assert_eq!(folder.run(&["select", "x=$", "--files-from", "zeros"]).ok(), "{\"x\":2}\n{\"x\":1}\n");
}
