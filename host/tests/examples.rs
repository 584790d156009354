//! Runs the examples, and compares what they print.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of an example. Cargo puts examples beside the folder of this test's program.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples").join(name);
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let age = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name).with_extension("rs");
    assert!(
        age(&program) >= age(&source),
        "{} is absent or older than its source: `cargo build --examples` makes it, as `cargo test` does without `--test`",
        program.display()
    );
    program
}

/// The output of an example with some arguments.
fn output(name: &str, args: &[&str]) -> String {
    let output = Command::new(program(name)).args(args).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{name}: {errors}");
    assert_eq!(errors, "", "{name}");
    String::from_utf8(output.stdout).unwrap()
}

/// Compares the lines that an example prints for the log of the repository.
fn check(name: &str, lines: &[&str]) {
    assert_eq!(output(name, &[]).lines().collect::<Vec<_>>(), lines, "{name}");
}

#[test]
fn every_example_is_checked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<String> = folder
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    let checked = [
        "channel",
        "columns",
        "device",
        "fields",
        "find",
        "index",
        "limits",
        "loaded",
        "store",
        "stream",
        "subscribe",
        "values",
    ];
    assert_eq!(names, checked);
}

#[test]
fn find() {
    let names =
        "Ada Bram Chloé Ada 大輔 大輔 Eva Eva Femke Femke Grace Bram Hugo Hugo Ingrid Ingrid Jun Ada Ada";
    let mut lines: Vec<&str> = names.split(' ').collect();
    lines.push("messages without a user: 1");
    check("find", &lines);
}

#[test]
fn fields() {
    check("fields", &["upload by Chloé: mobile slow", "upload by Ada: web eu slow"]);
}

#[test]
fn values() {
    check(
        "values",
        &[
            r#"line 3: $['files'][0]['name'] = "été.jpg""#,
            r#"line 11: $['files'][0]['name'] = "a.csv""#,
            r#"line 11: $['files'][1]['name'] = "b.csv""#,
            r#"line 11: $['files'][2]['name'] = "c.csv""#,
            r#"line 12: $['files'][0]['name'] = "old.log""#,
            r#"line 19: $['files'][0]['name'] = "thesis.pdf""#,
            r#"line 19: $['files'][1]['name'] = "notes.txt""#,
            "20 lines",
            "4 matches in warnings",
        ],
    );
    let tweets = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/tweets.ndjson");
    let tweets = output("values", &[tweets, "$.user.lang"]);
    assert_eq!(tweets.lines().filter(|line| line.contains("$['user']['lang'] = ")).count(), 58);
}

#[test]
fn columns() {
    check(
        "columns",
        &[
            "20 rows, 8927 ms",
            "name: string, 1 missing, 0 of another type",
            "ms: int64, 0 missing, 5 of another type",
            "the first value that is not int64 is in line 1",
        ],
    );
}

#[test]
fn loaded() {
    let lines = ["20 lines, 3154 bytes of text", "all: 20 values"];
    let counts = ["2 times \"error\"", "2 times \"warn\"", "1 times \"info\""];
    check("loaded", &[&lines[..], &counts].concat());
}

#[test]
fn device() {
    // A machine without a device has the reason alone.
    if !output("device", &[]).starts_with("no device: ") {
        check(
            "device",
            &[
                "20 rows on device 0",
                "20 values of Int64, 5 nulls",
                "5 of another type",
                "an array of 20 rows, format +s",
                "8927 ms",
            ],
        );
    }
}

#[test]
fn subscribe() {
    check(
        "subscribe",
        &[
            "event 2: dutch",
            "event 3: slow, files",
            "event 6: slow",
            "event 10: dutch",
            "without `dutch`:",
            "event 11: files",
            "event 12: files",
            "event 15: slow",
            "event 19: slow, files",
        ],
    );
}

#[test]
fn index() {
    check(
        "index",
        &[
            "3154 bytes of text, 3 levels",
            "$.user.name: 19",
            "$.tags[*]: 29",
            "$.files[*].bytes: 7",
            "$.error.code: 2",
        ],
    );
}

#[test]
fn channel() {
    check(
        "channel",
        &[r#"29 tags, 8 different: "beta" "cli" "eu" "internal" "mobile" "retry" "slow" "web""#],
    );
}

#[test]
fn stream() {
    check("stream", &["13093.4 ms, 10989496 bytes"]);
}

#[test]
fn limits() {
    check("limits", &["cancelled after 1000 names", "no count of an endless log in 50 ms"]);
}

#[test]
fn store() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples-store");
    let _ = std::fs::remove_dir_all(&path);
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");
    let printed = output("store", &[path.to_str().unwrap(), log]);
    let bytes = std::fs::read(log).unwrap().len();
    let wanted = format!("20 lines are added, {bytes} bytes\n20 lines, 19 names of users\n");
    assert_eq!(printed, wanted);
}
