//! Files that are followed as they grow. Each step waits for the results of the one before it.

#![cfg(unix)]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::{Folder, PROGRAM};

/// The program, while it follows a file.
struct Following {
    child: Child,
    results: Lines<BufReader<ChildStdout>>,
}

impl Following {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .current_dir(folder.0.path())
            .args(args)
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let results = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, results }
    }

    /// Waits for the next line of results.
    #[track_caller]
    fn expect(&mut self, line: &str) {
        assert_eq!(self.results.next().map(Result::unwrap).as_deref(), Some(line));
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the child has not been waited for, so the number is that of this process.
        assert_eq!(unsafe { libc::kill(self.child.id().cast_signed(), signal) }, 0);
    }

    /// Ends the input, and returns the rest of the results, the messages and the status.
    fn end(mut self) -> (Vec<String>, String, ExitStatus) {
        self.signal(libc::SIGINT);
        self.wait()
    }

    fn wait(&mut self) -> (Vec<String>, String, ExitStatus) {
        let rest = self.results.by_ref().map(Result::unwrap).collect();
        let mut messages = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        (rest, messages, self.child.wait().unwrap())
    }
}

fn append(folder: &Folder, name: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(folder.path(name)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn assert_ended((rest, messages, status): (Vec<String>, String, ExitStatus)) {
    assert_eq!((rest, messages.as_str(), status.code()), (Vec::new(), "", Some(0)));
}

#[test]
fn lines_are_evaluated_as_they_come() {
    let folder = Folder::new(&[("log", b"{\"a\":1}\n{\"a\":2}\n")]);
    for args in [
        &["query", "--follow", "$.a", "log"][..],
        &["query", "--follow=start", "--device=cpu", "$.a", "log"],
        &["select", "--follow", "--format", "csv", "a=$.a", "--", "log"],
    ] {
        folder.write("log", b"{\"a\":1}\n{\"a\":2}\n");
        let mut run = Following::start(&folder, args);
        if args[0] == "select" {
            run.expect("a");
        }
        run.expect("1");
        run.expect("2");
        for line in 3..8 {
            append(&folder, "log", &format!("{{\"a\":{line}}}\n"));
            run.expect(&line.to_string());
        }
        // A line waits for its end, and one that never ends is left out.
        append(&folder, "log", "{\"a\":8}\n{\"a\"");
        run.expect("8");
        append(&folder, "log", ":9}\n{\"a\":10");
        run.expect("9");
        assert_ended(run.end());
    }
}

#[test]
fn another_file_may_take_the_name() {
    let folder = Folder::new(&[("log", b"{\"a\":1}\n")]);
    let mut run = Following::start(&folder, &["query", "--follow", "$.a", "log"]);
    run.expect("1");
    for round in 0..3 {
        // The old file is read to its end, after it lost its name, and its last line ends with it.
        let old = format!("log.{round}");
        let mut file = OpenOptions::new().append(true).open(folder.path("log")).unwrap();
        fs::rename(folder.path("log"), folder.path(&old)).unwrap();
        file.write_all(b"{\"a\":\"late\"}\n").unwrap();
        run.expect("\"late\"");
        file.write_all(b"{\"a\":\"last\"}").unwrap();
        folder.write("log", format!("{{\"a\":{round}}}\n").as_bytes());
        run.expect("\"last\"");
        run.expect(&round.to_string());
        append(&folder, "log", "{\"a\":\"more\"}\n");
        run.expect("\"more\"");
        // And by another that is renamed, without a time between.
        folder.replace("log", b"{\"a\":\"renamed\"}\n");
        run.expect("\"renamed\"");
    }
    assert_ended(run.end());
}

#[test]
fn a_file_may_become_shorter() {
    let folder = Folder::new(&[("log", b"{\"a\":1}\n{\"a\":2}\n")]);
    let mut run = Following::start(&folder, &["query", "--follow", "$.a", "log"]);
    run.expect("1");
    run.expect("2");
    let file = OpenOptions::new().append(true).open(folder.path("log")).unwrap();
    for round in 0..3 {
        file.set_len(0).unwrap();
        append(&folder, "log", &format!("{{\"a\":{round}}}\n"));
        run.expect(&round.to_string());
        append(&folder, "log", "{\"a\":\"more\"}\n");
        run.expect("\"more\"");
    }
    assert_ended(run.end());
}

#[test]
fn only_new_lines_are_read_from_the_end() {
    let folder = Folder::new(&[("log", b"{\"a\":1}\n{\"a\":2}\n")]);
    let mut run = Following::start(&folder, &["query", "--follow=end", "$.a", "log"]);
    let is_read = AtomicBool::new(false);
    thread::scope(|scope| {
        // Nobody knows when the program has reached the end. So lines come until it prints one of them.
        scope.spawn(|| {
            let mut line = 100;
            while !is_read.load(Ordering::Relaxed) {
                append(&folder, "log", &format!("{{\"a\":{line}}}\n"));
                line += 1;
                thread::yield_now();
            }
        });
        let first: u32 = run.results.next().unwrap().unwrap().parse().unwrap();
        is_read.store(true, Ordering::Relaxed);
        assert!(first >= 100, "{first}");
    });
    let (rest, messages, status) = run.end();
    assert!(!rest.contains(&"1".to_owned()) && messages.is_empty(), "{messages}");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_limit_and_a_malformed_record_end_the_run() {
    let folder = Folder::new(&[("log", b"{\"a\":1}\n")]);
    let mut run = Following::start(&folder, &["query", "--follow", "-n", "2", "$.a", "log"]);
    run.expect("1");
    append(&folder, "log", "{\"a\":2}\n");
    run.expect("2");
    assert_ended(run.wait());
    let mut run = Following::start(&folder, &["query", "--follow", "$.a", "log"]);
    run.expect("1");
    run.expect("2");
    append(&folder, "log", "{\"a\":3}\n[\n");
    run.expect("3");
    let (rest, messages, status) = run.wait();
    assert!(rest.is_empty() && messages.starts_with("error: log:4:1: bracket is not closed"), "{messages}");
    assert_eq!(status.code(), Some(4));
}

#[test]
fn subscriptions_are_matched_as_lines_come_and_outputs_are_complete() {
    let folder = Folder::new(&[("log", b"{\"u\":{\"a\":1}}\n"), ("subs", b"one\t$[?@.a]\n")]);
    let mut run = Following::start(&folder, &["filter", "--follow", "-s", "subs", "log"]);
    run.expect("log:1\tone");
    append(&folder, "log", "{}\n{\"u\":{\"a\":2}}\n");
    run.expect("log:3\tone");
    assert_ended(run.end());
    // A signal ends the input, and the output is written to its end.
    let args =
        ["select", "--follow", "--format", "arrow", "--limit", "1", "u=$.u", "-o", "out.arrow", "--", "log"];
    let mut run = Following::start(&folder, &args);
    assert_ended(run.wait());
    assert!(folder.read("out.arrow").ends_with(b"ARROW1"));
}

#[test]
fn what_cannot_be_followed() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"1\n").unwrap();
    let folder = Folder::new(&[("a", b"1\n"), ("b", b"2\n"), ("c.gz", &gzip.finish().unwrap())]);
    File::create(folder.path("utf16")).unwrap().write_all(b"\xff\xfe1\0").unwrap();
    let run = |args: &[&str]| folder.run(&[&["query", "--follow", "$"], args].concat());
    run(&["a", "b"]).failed(2, "", "error: `--follow` requires one file; there are 2 inputs\n");
    run(&["-"]).failed(2, "", "error: `--follow` requires a file; standard input");
    run(&["--input", "json", "a"]).failed(2, "", "error: `--follow` requires lines of JSON");
    run(&["c.gz"]).failed(2, "", "error: c.gz: only a plain file can be followed");
    run(&["utf16"]).failed(4, "", "error: utf16: is text in UTF-16");
    run(&["missing"]).failed(2, "", "error: missing: ");
    folder.run(&["index", "build", "a", "-o", "a.wpi"]).ok();
    let index = folder.run(&["query", "--follow", "--index", "a.wpi", "$", "a"]);
    assert_eq!(index.code, 2, "{index}");
}
