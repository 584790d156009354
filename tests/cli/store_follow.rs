//! Stores to which lines are added as they come: killed, interrupted, and by several programs at once.

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;

use warpath_objects::S3Server;
use warpath_random::{Rng, cases};

use crate::Folder;
use crate::follow::{Following, append, assert_ended};

/// Lines are added at once, and each version is reported.
const AT_ONCE: [&str; 4] = ["--follow", "--acknowledge", "--max-latency", "0ms"];
/// Lines wait for 16 bytes of text, or for the end.
const IN_GROUPS: [&str; 6] = ["--follow", "--acknowledge", "--max-latency", "1h", "--group-size", "16"];

/// Begins to add lines.
fn start(folder: &Folder, options: &[&str], inputs: &[&str]) -> Following {
    Following::start(folder, &[&["store", "add", "logs.wp"], options, inputs].concat())
}

fn text(folder: &Folder) -> String {
    folder.run(&["store", "text", "logs.wp"]).ok().to_owned()
}

/// The lines of one input, in the order of the store.
fn of(text: &str, input: &str) -> String {
    text.split_inclusive('\n').filter(|line| line.contains(&format!("\"{input}\""))).collect()
}

/// The whole lines of a file.
fn whole_lines(folder: &Folder, name: &str) -> String {
    let text = String::from_utf8(folder.read(name)).unwrap();
    text[..text.rfind('\n').map_or(0, |at| at + 1)].to_owned()
}

/// A file that grows, often by parts of lines.
struct Growing {
    file: File,
    name: &'static str,
    line: u64,
    /// All lines, those of files that had the name before included.
    lines: String,
    /// The end of the last line, which is not in the file yet.
    rest: String,
}

impl Growing {
    fn new(folder: &Folder, name: &'static str) -> Self {
        let file = File::create(folder.path(name)).unwrap();
        Self { file, name, line: 0, lines: String::new(), rest: String::new() }
    }

    fn grow(&mut self, random: &mut Rng) {
        let Self { file, name, line, lines, rest } = self;
        // Members that come later, and change their types.
        let value = [line.to_string(), format!("\"{line}\""), format!("[{line}]")][random.below(3)].clone();
        let member = ["a", "b", "c"][random.below(3)];
        let next = format!("{{\"of\":\"{name}\",\"line\":{line},\"{member}\":{value}}}\n");
        let (now, later) = next.split_at(random.below(next.len() + 1));
        file.write_all(format!("{rest}{now}").as_bytes()).unwrap();
        lines.push_str(&next);
        (*line, *rest) = (*line + 1, later.to_owned());
    }

    fn end_line(&mut self) {
        self.file.write_all(std::mem::take(&mut self.rest).as_bytes()).unwrap();
    }

    /// Renames the file, writes some more lines to it, and makes another one.
    fn rotate(&mut self, folder: &Folder, random: &mut Rng) {
        fs::rename(folder.path(self.name), folder.path(&format!("{}.1", self.name))).unwrap();
        (0..random.below(20)).for_each(|_| self.grow(random));
        self.end_line();
        self.file = File::create(folder.path(self.name)).unwrap();
    }
}

/// Adds all lines, and compares them.
fn catch_up(folder: &Folder, files: &mut [Growing], random: &mut Rng) {
    let mut run = start(folder, &AT_ONCE, &["one", "two"]);
    for file in &mut *files {
        file.grow(random);
        file.end_line();
    }
    run.next();
    let (_, messages, status) = run.end();
    assert!(messages.lines().all(|line| line.starts_with("note: two: another file")), "{messages}");
    assert_eq!(status.code(), Some(0));
    let text = text(folder);
    for Growing { name, lines, .. } in files {
        assert_eq!(of(&text, name), *lines, "{name}");
    }
}

#[test]
fn no_line_is_lost_or_there_twice_when_the_program_is_killed() {
    let mut random = Rng::new(41);
    let folder = Folder::new(&[]);
    let mut files = ["one", "two"].map(|name| Growing::new(&folder, name));
    catch_up(&folder, &mut files, &mut random);
    for _ in 0..cases(6) {
        // A file may have another name once until all of its lines have been read.
        let rotated = random.below(5);
        for round in 0..5 {
            let group = ["--group-size", random.pick(&["64", "1M"])];
            let mut run = start(&folder, &[&AT_ONCE[..], &group].concat(), &["one", "two"]);
            // Some are killed before they add a line, and most while they do.
            for _ in 0..random.below(600) {
                files[random.below(2)].grow(&mut random);
            }
            if random.below(3) > 0 {
                // There is a new line, so the store has another version soon.
                files[0].grow(&mut random);
                files[0].end_line();
                run.next();
                for _ in 0..random.below(200) {
                    files[random.below(2)].grow(&mut random);
                }
            }
            if round == rotated && random.below(2) == 0 {
                files[1].rotate(&folder, &mut random);
                run.kill();
            } else {
                run.kill();
                if round == rotated {
                    files[1].rotate(&folder, &mut random);
                }
            }
        }
        catch_up(&folder, &mut files, &mut random);
        folder.run(&["store", "compact", "logs.wp"]);
    }
    assert!(folder.run(&["store", "verify", "logs.wp"]).ok().contains("all checksums match"));
}

#[test]
fn an_interruption_adds_what_has_come() {
    let folder = Folder::new(&[("log", b"{\"a\":\"sixteen\"}\n{\"a\"")]);
    let mut run = start(&folder, &[&IN_GROUPS[..], &["--stats=json"]].concat(), &["log"]);
    run.expect("{\"version\":1,\"lines\":1}");
    append(&folder, "log", ":2}\n{\"a\"");
    let (rest, messages, status) = run.end();
    assert_eq!((rest, status.code()), (vec!["{\"version\":2,\"lines\":2}".to_owned()], Some(0)));
    assert!(messages.contains("\"lines\":2,\"text_bytes\":24,"), "{messages}");
    assert!(messages.contains("\"parts\":2,"), "{messages}");
    assert_eq!(text(&folder), whole_lines(&folder, "log"));
    // The file is known whole, and its last line ends meanwhile.
    let mut run = start(&folder, &AT_ONCE, &["log"]);
    append(&folder, "log", ":3}\n");
    run.expect("{\"version\":3,\"lines\":1}");
    assert_ended(run.end());
    assert_eq!(text(&folder), whole_lines(&folder, "log"));
    folder.run(&["store", "add", "logs.wp", "log"]).noted();
}

#[test]
fn rotation_and_truncation_are_noted() {
    let folder = Folder::new(&[("log", b"{\"a\":1}\n")]);
    let mut run = start(&folder, &AT_ONCE, &["log"]);
    run.expect("{\"version\":1,\"lines\":1}");
    fs::rename(folder.path("log"), folder.path("log.1")).unwrap();
    append(&folder, "log.1", "{\"a\":2}\n{\"a\":3}");
    run.expect("{\"version\":2,\"lines\":2}");
    folder.write("log", b"");
    run.expect("{\"version\":3,\"lines\":3}");
    append(&folder, "log", "{\"b\":1}\n{\"b\":2}\n");
    run.expect("{\"version\":4,\"lines\":5}");
    File::create(folder.path("log")).unwrap();
    run.expect("{\"version\":5,\"lines\":5}");
    append(&folder, "log", "{\"c\":1}\n");
    run.expect("{\"version\":6,\"lines\":6}");
    let (rest, messages, status) = run.end();
    assert_eq!(
        messages,
        "note: log: another file has taken this name, and is read from its start\n\
         note: log: has become shorter, and is read from its start\n"
    );
    assert_eq!((rest, status.code()), (Vec::new(), Some(0)));
    append(&folder, "log", "{\"c\":2}\n");
    let mut run = start(&folder, &AT_ONCE, &["log"]);
    run.expect("{\"version\":7,\"lines\":1}");
    assert_ended(run.end());
    let lines = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"b\":1}\n{\"b\":2}\n{\"c\":1}\n{\"c\":2}\n";
    assert_eq!(text(&folder), lines);
    // Nobody was there when it changed again.
    folder.write("log", b"{\"d\":1}\n");
    let ran = folder.run(&["store", "add", "logs.wp", "--follow", "log"]);
    ran.failed(2, "", "error: log: is in the store, and has changed since");
}

#[test]
fn standard_input_is_added_as_it_comes() {
    let folder = Folder::new(&[]);
    let args = [&["store", "add", "logs.wp"], &AT_ONCE[..]].concat();
    let mut run = Following::start_with(&folder, &args, Stdio::piped(), &[]);
    let mut stdin = run.stdin();
    let texts = ["{\"a\":1}\n{\"b\"", ":2}\n", "\n{\"c\":3}\n{\"d\"", ":4}\n{\"e\""];
    for (version, (text, lines)) in texts.into_iter().zip([1, 2, 4, 5]).enumerate() {
        stdin.write_all(text.as_bytes()).unwrap();
        run.expect(&format!("{{\"version\":{},\"lines\":{lines}}}", version + 1));
    }
    drop(stdin);
    // The last line has no newline.
    run.expect("{\"version\":5,\"lines\":6}");
    let (rest, messages, status) = run.wait();
    assert!(messages.starts_with("warning: malformed lines: 1 of 6; "), "{messages}");
    assert_eq!((rest.len(), status.code()), (0, Some(0)));
    assert_eq!(text(&folder), texts.concat());
}

#[test]
fn an_interruption_ends_standard_input() {
    let folder = Folder::new(&[]);
    let args = [&["store", "add", "logs.wp", "-"], &IN_GROUPS[..]].concat();
    let mut run = Following::start_with(&folder, &args, Stdio::piped(), &[]);
    let mut stdin = run.stdin();
    stdin.write_all(b"{\"a\":\"sixteen\"}\n{\"a\":2}\n{\"a\"").unwrap();
    run.expect("{\"version\":1,\"lines\":2}");
    assert_ended(run.end());
    assert_eq!(text(&folder), "{\"a\":\"sixteen\"}\n{\"a\":2}\n");
}

#[test]
fn several_programs_add_lines_at_once() {
    let mut random = Rng::new(7);
    let folder = Folder::new(&[]);
    let mut files = ["one", "two"].map(|name| Growing::new(&folder, name));
    // Two of them follow the same file.
    append(&folder, "three", "{\"of\":\"three\"}\n");
    let mut runs = [["one", "two"], ["three", "one"]].map(|inputs| start(&folder, &AT_ONCE, &inputs));
    for round in 0..5 {
        for _ in 0..40 {
            files[random.below(2)].grow(&mut random);
        }
        let line = format!("{{\"of\":\"other\",\"line\":{round}}}\n");
        folder.run_with(&["store", "add", "logs.wp"], line.as_bytes()).ok();
    }
    files.iter_mut().for_each(Growing::end_line);
    // Each has lines of a file that the other one does not follow.
    runs.iter_mut().for_each(|run| drop(run.next()));
    for run in runs {
        let (_, messages, status) = run.end();
        assert!(messages.lines().all(|line| line.starts_with("note: another program")), "{messages}");
        assert_eq!(status.code(), Some(0), "{messages}");
    }
    let text = text(&folder);
    for name in ["one", "two"] {
        assert_eq!(of(&text, name), whole_lines(&folder, name), "{name}");
    }
    assert_eq!(of(&text, "other").lines().count(), 5);
}

#[test]
fn a_store_in_a_bucket_grows() {
    let server = S3Server::start();
    let variables = S3Server::variables(server.address());
    let folder = Folder::new(&[("log", b"{\"a\":1}\n")]);
    let args = [&["store", "add", "s3://bucket/logs.wp", "log"], &AT_ONCE[..]].concat();
    for line in 1..4 {
        let mut run = Following::start_with(&folder, &args, Stdio::null(), &variables);
        run.expect(&format!("{{\"version\":{},\"lines\":1}}", 2 * line - 1));
        append(&folder, "log", &format!("{{\"a\":{line}}}\n"));
        run.expect(&format!("{{\"version\":{},\"lines\":2}}", 2 * line));
        run.kill();
        append(&folder, "log", &format!("{{\"b\":{line}}}\n"));
    }
    let mut run = Following::start_with(&folder, &args, Stdio::null(), &variables);
    run.expect("{\"version\":7,\"lines\":1}");
    assert_ended(run.end());
    let mut command = assert_cmd::Command::new(crate::PROGRAM);
    command.args(["store", "text", "s3://bucket/logs.wp"]).envs(variables);
    assert_eq!(crate::run(&mut command, b"").ok(), whole_lines(&folder, "log"));
}
