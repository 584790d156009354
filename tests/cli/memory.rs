//! Long records, and memory that cannot be had.

use std::process::Command;

use super::{Folder, PROGRAM, pipe};

#[test]
fn a_record_beyond_the_limit_is_an_error_with_its_line() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(91));
    let text = format!("{{\"a\":1}}\n{long}\n{{\"a\":2}}\n");
    let folder = Folder::new(&[("log", text.as_bytes())]);
    folder.run(&["pack", "log", "-o", "log.wpk"]).ok();
    let zipped = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    folder.write("log.gz", &zipped);
    for file in ["log", "log.gz", "log.wpk"] {
        for command in
            [&["query", "-c", "$.a"][..], &["schema"], &["count-by", "$.a"], &["select", "a=$.a"], &["head"]]
        {
            let run = |most: &str| folder.run(&[command, &["--max-record", most, file]].concat());
            // The line has 99 bytes, and its newline.
            assert_eq!(run("100").code, 0, "{command:?} {file}");
            let ran = run("99");
            assert_eq!(ran.code, 4, "{command:?} {file}: {ran}");
            let said = format!("error: {file}:2: record is longer than 99 bytes\n");
            assert!(ran.stderr.starts_with(&said), "{command:?} {file}: {ran}");
        }
    }
    let document = pipe(&["query", "$.a", "--input=json", "--max-record=10"], b"{\"a\":   12345}");
    document.failed(4, "", "error: <stdin>:1: record is longer than 10 bytes");
    pipe(&["query", "$", "--max-record=0"], b"").failed(
        2,
        "",
        "error: invalid value '0' for '--max-record <SIZE>'",
    );
}

/// A small file with one line of 400 MB, under a limit of the address space.
#[test]
fn memory_that_cannot_be_had_is_an_error() {
    let folder = Folder::new(&[]);
    let file = std::fs::File::create(folder.path("bomb.gz")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let mut write = |bytes: &[u8]| std::io::Write::write_all(&mut encoder, bytes).unwrap();
    write(b"{\"a\":\"");
    (0..400).for_each(|_| write(&[b'x'; 1_000_000]));
    write(b"\"}\n");
    encoder.finish().unwrap();
    for kilobytes in [600_000, 900_000, 1_300_000] {
        for args in [
            &["query", "$.b"][..],
            &["query", "$.a", "-o", "out"],
            &["schema"],
            &["distinct", "$.a"],
            &["count-by", "$.a"],
            &["stats", "$.a"],
            &["sample", "1"],
            &["select", "a=$.a", "-o", "out.csv"],
            &["select", "a:string=$.a", "-o", "out.parquet"],
        ] {
            let ran = Command::new("sh")
                .args(["-c", "ulimit -v \"$1\"; shift; exec \"$0\" \"$@\""])
                .arg(PROGRAM)
                .arg(kilobytes.to_string())
                .args(args)
                .args(["--workers=1", "bomb.gz"])
                .current_dir(folder.path(""))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            // With more memory, some commands have what they need.
            let is_enough = kilobytes > 600_000 && ran.status.success();
            assert!(
                is_enough || ran.status.code() == Some(4),
                "{kilobytes} {args:?}: {:?} {said}",
                ran.status
            );
            assert!(is_enough || said.contains("there is no memory for "), "{kilobytes} {args:?}: {said}");
            let names = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
            let names: Vec<_> = names.filter(|name| *name != "bomb.gz").collect();
            let is_whole = |name: &std::ffi::OsString| {
                ["out", "out.csv", "out.parquet"].iter().any(|known| name == known)
            };
            assert!(names.iter().all(is_whole), "{args:?}: {names:?}");
        }
    }
}
