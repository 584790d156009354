//! Memory that cannot be had.

use std::process::Command;

use super::{Folder, PROGRAM};

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
