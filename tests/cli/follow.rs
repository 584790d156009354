//! Files that are followed as they grow. Each step waits for the results of the one before it.

#![cfg(unix)]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::{Folder, PROGRAM};

/// The program, while it follows a file.
pub struct Following {
    child: Child,
    results: Lines<BufReader<ChildStdout>>,
}

impl Following {
    pub fn start(folder: &Folder, args: &[&str]) -> Self {
        Self::start_with(folder, args, Stdio::null(), &[])
    }

    pub fn start_with(
        folder: &Folder,
        args: &[&str],
        stdin: Stdio,
        variables: &[(&'static str, String)],
    ) -> Self {
        let mut child = Command::new(PROGRAM)
            .current_dir(folder.0.path())
            .args(args)
            .env("TERM", "dumb")
            .envs(variables.iter().cloned())
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let results = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, results }
    }

    /// The pipe to standard input.
    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Waits for the next line of results.
    #[track_caller]
    pub fn next(&mut self) -> String {
        self.results.next().unwrap().unwrap()
    }

    #[track_caller]
    pub fn expect(&mut self, line: &str) {
        assert_eq!(self.results.next().map(Result::unwrap).as_deref(), Some(line));
    }

    /// Kills the program. Returns what it had printed.
    pub fn kill(mut self) -> Vec<String> {
        self.signal(libc::SIGKILL);
        self.wait().0
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the child has not been waited for, so the number is that of this process.
        assert_eq!(unsafe { libc::kill(self.child.id().cast_signed(), signal) }, 0);
    }

    /// Ends the input, and returns the rest of the results, the messages and the status. A shell lets its
    /// background processes ignore SIGINT, so this is SIGTERM.
    pub fn end(mut self) -> (Vec<String>, String, ExitStatus) {
        self.signal(libc::SIGTERM);
        self.wait()
    }

    pub fn wait(&mut self) -> (Vec<String>, String, ExitStatus) {
        let rest = self.results.by_ref().map(Result::unwrap).collect();
        let mut messages = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        (rest, messages, self.child.wait().unwrap())
    }
}

pub fn append(folder: &Folder, name: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(folder.path(name)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

pub fn assert_ended((rest, messages, status): (Vec<String>, String, ExitStatus)) {
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
    let mut run = Following::start(&folder, &["query", "--follow", "--on-error", "fail", "$.a", "log"]);
    run.expect("1");
    run.expect("2");
    append(&folder, "log", "{\"a\":3}\n[\n");
    run.expect("3");
    let (rest, messages, status) = run.wait();
    assert!(rest.is_empty() && messages.starts_with("error: log:4:1: bracket is not closed"), "{messages}");
    assert_eq!(status.code(), Some(4));
}

/// A monitor does not end at one line of text among the records.
#[test]
fn malformed_records_are_skipped_and_counted() {
    let folder = Folder::new(&[("log", b"{\"a\":1}\n"), ("subs", b"one\t$.a\n")]);
    for (args, of) in [
        (&["query", "--follow", "$.a", "log"][..], ["1", "2"]),
        (&["select", "--follow", "a=$.a", "log"], ["{\"a\":1}", "{\"a\":2}"]),
        (&["filter", "--follow", "-s", "subs", "log"], ["log:1\tone", "log:3\tone"]),
    ] {
        folder.write("log", b"{\"a\":1}\n");
        let mut run = Following::start(&folder, args);
        run.expect(of[0]);
        append(&folder, "log", "panic: x\n{\"a\":2}\n");
        run.expect(of[1]);
        let (rest, messages, status) = run.end();
        assert!(
            rest.is_empty() && messages.contains("1 malformed ") && messages.contains("log:2:1: "),
            "{messages}"
        );
        assert_eq!(status.code(), Some(0), "{messages}");
    }
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

/// A table is printed when its next rows may take time.
#[test]
fn rows_of_a_table_come_at_once() {
    let folder = Folder::new(&[("log", b"")]);
    let args = ["select", "--follow", "--format", "table", "id=$.a", "b=$.b", "--", "log"];
    let mut run = Following::start(&folder, &args);
    append(&folder, "log", "{\"a\":1,\"b\":\"x\"}\n");
    run.expect("id  b");
    run.expect(" 1  x");
    append(&folder, "log", "{\"a\":100,\"b\":\"y\"}\n");
    run.expect("100  y");
    assert_ended(run.end());
}

/// Rejected records are written when the next ones may take time.
#[test]
fn rejected_records_come_at_once() {
    let folder = Folder::new(&[("subs", b"one\t$[?@ == 1]\n")]);
    assert!(Command::new("mkfifo").arg(folder.path("bad")).status().unwrap().success());
    for args in [&["query", "$.a"][..], &["filter", "-s", "subs"]] {
        folder.write("log", b"{\"a\":1}\n{\"a\":\n");
        let more = ["--follow", "log", "--on-error", "skip", "--rejects", "bad", "-q"];
        let mut run = Following::start(&folder, &[args, &more].concat());
        let mut rejects = BufReader::new(File::open(folder.path("bad")).unwrap()).lines();
        let mut expect = |line: u64| {
            let reject = rejects.next().unwrap().unwrap();
            assert!(reject.starts_with(&format!("{{\"file\":\"log\",\"line\":{line},")), "{reject}");
        };
        run.expect(if args[0] == "query" { "1" } else { "log:1\tone" });
        expect(2);
        append(&folder, "log", "{\"a\":]\n");
        expect(3);
        assert_ended(run.end());
    }
}

/// The lines of each file, in the order in which they were printed.
fn of_each(lines: &[String]) -> Vec<(String, Vec<String>)> {
    let mut of_each: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        let (file, value) = line.split_once(':').unwrap();
        match of_each.iter_mut().find(|(name, _)| name == file) {
            Some((_, values)) => values.push(value.to_owned()),
            None => of_each.push((file.to_owned(), vec![value.to_owned()])),
        }
    }
    of_each.sort();
    of_each
}

#[test]
fn several_files_are_followed_at_the_same_time() {
    let folder = Folder::new(&[("a", b"{\"a\":1}\n"), ("b", b"{\"a\":2}\n"), ("c", b"")]);
    for args in [&["a", "b", "c"][..], &["{a,b,c}"], &["--files-from", "list"]] {
        ["a", "b", "c"].iter().for_each(|name| folder.write(name, b""));
        folder.write("list", b"a\nb\nc\n");
        let mut run = Following::start(&folder, &[&["query", "--follow", "-H", "$.a"], args].concat());
        for line in 0..9 {
            let name = ["a", "c", "b"][line % 3];
            append(&folder, name, &format!("{{\"a\":{line}}}\n{{\"a\""));
            run.expect(&format!("{name}:{line}"));
            append(&folder, name, ":\"end\"}\n");
            run.expect(&format!("{name}:\"end\""));
        }
        // Replaced, made shorter, and renamed.
        folder.replace("b", b"{\"a\":\"new\"}\n");
        run.expect("b:\"new\"");
        File::create(folder.path("c")).unwrap();
        append(&folder, "c", "{\"a\":\"short\"}\n");
        run.expect("c:\"short\"");
        fs::rename(folder.path("a"), folder.path("old")).unwrap();
        append(&folder, "old", "{\"a\":\"late\"}\n{\"a\":\"open\"}");
        run.expect("a:\"late\"");
        folder.write("a", b"{\"a\":\"other\"}\n");
        run.expect("a:\"open\"");
        run.expect("a:\"other\"");
        assert_ended(run.end());
    }
}

#[test]
fn the_lines_of_each_file_keep_their_order() {
    let names = ["a", "b", "c", "d"];
    let folder = Folder::new(&names.map(|name| (name, &b""[..])));
    let options = ["query", "--follow", "--on-error", "fail", "-H", "--partition-size=64", "$.a"];
    let args = [&options[..], &names[..]].concat();
    let mut run = Following::start(&folder, &args);
    thread::scope(|scope| {
        for name in names {
            let folder = &folder;
            scope.spawn(move || {
                (0..500).for_each(|line| append(folder, name, &format!("{{\"a\":{line}}}\n")));
            });
        }
    });
    let lines: Vec<String> = run.results.by_ref().take(2000).map(Result::unwrap).collect();
    let all: Vec<String> = (0..500).map(|line| line.to_string()).collect();
    assert_eq!(of_each(&lines), names.map(|name| (name.to_owned(), all.clone())));
    // Each file counts its own lines.
    append(&folder, "b", "[\n");
    let (rest, messages, status) = run.wait();
    assert!(rest.is_empty() && messages.starts_with("error: b:501:1: bracket is not closed"), "{messages}");
    assert_eq!(status.code(), Some(4));
}

#[test]
fn new_files_of_folders_are_followed() {
    let folder =
        Folder::new(&[("logs/a.log", b"{\"a\":1}\n"), ("logs/x.txt", b"[\n"), ("logs/z.log.gz", b"[\n")]);
    fs::create_dir(folder.path("empty")).unwrap();
    let mut run = Following::start(
        &folder,
        &["select", "--follow", "-H", "--format=tsv", "a=$.a", "--", "logs", "empty"],
    );
    run.expect("file\ta");
    run.expect("logs/a.log\t1");
    folder.write("logs/b.log", b"{\"a\":2}\n");
    run.expect("logs/b.log\t2");
    folder.write("logs/in/deep/c.ndjson", b"{\"a\":3}\n");
    run.expect("logs/in/deep/c.ndjson\t3");
    folder.write("empty/d.jsonl", b"{\"a\":4}\n");
    run.expect("empty/d.jsonl\t4");
    append(&folder, "logs/b.log", "{\"a\":5}\n");
    run.expect("logs/b.log\t5");
    // A renamed file is not read again, and the one that takes its name is read.
    fs::rename(folder.path("logs/b.log"), folder.path("logs/b-old.log")).unwrap();
    folder.write("logs/b.log", b"{\"a\":6}\n");
    run.expect("logs/b.log\t6");
    append(&folder, "logs/b.log", "{\"a\":7}\n");
    run.expect("logs/b.log\t7");
    // A deleted file may come again.
    append(&folder, "logs/a.log", "{\"a\":8}");
    fs::remove_file(folder.path("logs/a.log")).unwrap();
    run.expect("logs/a.log\t8");
    folder.write("logs/a.log", b"{\"a\":9}\n");
    run.expect("logs/a.log\t9");
    assert_ended(run.end());
}

#[test]
fn subscriptions_are_matched_in_several_followed_files() {
    let folder = Folder::new(&[("a", b"{\"u\":{\"a\":1}}\n"), ("b", b"{}\n"), ("subs", b"one\t$[?@.a]\n")]);
    let mut run = Following::start(&folder, &["filter", "--follow", "-s", "subs", "a", "b"]);
    run.expect("a:1\tone");
    append(&folder, "b", "{\"u\":{\"a\":2}}\n");
    run.expect("b:2\tone");
    append(&folder, "a", "{\"u\":{\"a\":3}}\n");
    run.expect("a:2\tone");
    assert_ended(run.end());
}
