//! Transcripts: pages of commands with all that they print. Each command is run, and its output is compared
//! with the page.
//!
//! A page is Markdown in `tests/cli/transcripts`. Each section `## …` starts with an empty folder. The blocks
//! before the first section run at the start of every section. The page has two kinds of blocks:
//!
//! * A block `file NAME` is a file in the folder.
//! * A block `console` has commands. A line `$ COMMAND`, with one space, is given to a shell, which finds the
//!   program as `warpath`. The variable `DATA` is the folder `tests/data`. Lines `> …` continue a command.
//!   Below the command are standard output, the lines of standard error after `! `, and the exit code after
//!   `? ` if it is not 0. `<1b>` is a control character or a byte outside UTF-8. `<no newline>` ends an
//!   output that ends within a line.
//!
//! Lines `for NAME in VALUE | VALUE` at the start of a block repeat the block for each value of the variable,
//! or for each combination of several. Each time the commands print the same. Lines `> …` continue the list.
//!
//! With `WARPATH_UPDATE_PAGES=1` the tests write what the commands print into the pages.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::{Folder, PROGRAM, Ran, data, run};

macro_rules! transcripts {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        $(#[test] $(#[$attribute])* fn $name() { check(concat!(stringify!($name), ".md")); })*

        #[test]
        fn every_page_has_a_test() {
            let mut pages: Vec<String> = fs::read_dir(page("")).unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            pages.sort();
            assert_eq!(pages, [$(concat!(stringify!($name), ".md")),*]);
        }
    };
}

transcripts! {
    bad_input documents environment everyday explode files filter follow formats
    #[cfg(target_os = "linux")]
    full_disk
    groups help index_dump layouts manners memory messages mistakes names other_formats outputs
    #[cfg(target_os = "linux")]
    permissions
    predicates query reasons rejects rows schema select sql store strict tree typed
    #[cfg(feature = "json-schema")]
    validate_schema
    written
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/transcripts").join(name)
}

/// Runs a command in a shell, which finds the program by its name.
pub fn shell(folder: &Folder, command: &str, variables: &[(&str, &str)]) -> Ran {
    let programs = Path::new(PROGRAM).parent().unwrap().to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([programs].into_iter().chain(env::split_paths(&others))).unwrap();
    let mut shell = assert_cmd::Command::new("sh");
    shell.current_dir(folder.path("")).args(["-c", command]).env("PATH", path).env("DATA", data(""));
    run(shell.envs(variables.iter().copied()), b"")
}

fn check(name: &str) {
    let path = page(name);
    let shown = fs::read_to_string(&path).unwrap();
    let printed = replay(&shown);
    if env::var_os("WARPATH_UPDATE_PAGES").is_some() && printed != shown {
        fs::write(path, &printed).unwrap();
    } else {
        let differences = differences(&shown, &printed);
        let advice = "WARPATH_UPDATE_PAGES=1 writes what the commands print into the page";
        assert!(printed == shown, "tests/cli/transcripts/{name}\n{differences}{advice}");
    }
}

/// The page with what its commands print.
fn replay(page: &str) -> String {
    let starts = page.match_indices("\n## ").map(|(at, _)| at + 1);
    let bounds: Vec<usize> = starts.chain([page.len()]).collect();
    assert!(bounds.len() > 1, "a page has sections");
    let before = &page[..bounds[0]];
    let mut made = String::new();
    for bounds in bounds.windows(2) {
        let folder = Folder::new(&[]);
        let first = section(&folder, before);
        if made.is_empty() {
            made = first;
        }
        made += &section(&folder, &page[bounds[0]..bounds[1]]);
    }
    made
}

/// Writes the files of a part of a page, runs its commands, and returns the part with what they print.
fn section(folder: &Folder, text: &str) -> String {
    let mut made = String::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        made += line;
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: String = lines.by_ref().take_while(|line| *line != "```\n").collect();
        if kind == "console\n" {
            made += &console(folder, &block);
        } else {
            let name = kind.strip_prefix("file ").expect("a block `console` or `file NAME`");
            folder.write(name.trim_end(), block.as_bytes());
            made += &block;
        }
        made += "```\n";
    }
    made
}

/// Runs the commands of a block for all values of its variables, and returns the block with what they print.
fn console(folder: &Folder, block: &str) -> String {
    let mut lines = block.lines().peekable();
    let (mut head, mut all) = (String::new(), vec![Vec::new()]);
    while let Some(line) = lines.next_if(|line| line.starts_with("for ")) {
        let (name, values) = line["for ".len()..].split_once(" in ").expect("for NAME in VALUE | VALUE");
        head += &format!("{line}\n");
        let mut values: Vec<&str> = values.split('|').collect();
        while let Some(line) = lines.next_if(|line| line.starts_with("> ")) {
            head += &format!("{line}\n");
            values.pop();
            values.extend(line["> ".len()..].split('|'));
        }
        let with = |variables: &Vec<(_, _)>| {
            let more = values.iter().map(|value| [&variables[..], &[(name, value.trim())]].concat());
            more.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let mut commands: Vec<String> = Vec::new();
    while let Some(line) = lines.next() {
        let Some(command) = command_of(line) else { continue };
        commands.push(command.to_owned());
        while let Some(line) = lines.next_if(|line| line.starts_with("> ")) {
            commands.last_mut().unwrap().push_str(&format!("\n{}", &line["> ".len()..]));
        }
    }
    let mut made: Option<Vec<String>> = None;
    for variables in &all {
        let run = |command: &String| shown(&shell(folder, command, variables));
        let printed: Vec<String> = commands.iter().map(run).collect();
        for (command, (first, other)) in commands.iter().zip(made.iter().flatten().zip(&printed)) {
            assert_eq!(other, first, "{command}, with {variables:?}");
        }
        made.get_or_insert(printed);
    }
    let outputs = commands.iter().zip(made.unwrap_or_default());
    let parts = outputs.map(|(command, printed)| format!("$ {}\n{printed}", command.replace('\n', "\n> ")));
    head + &parts.collect::<String>()
}

/// The command in a line of a block. Some outputs have lines that begin with `$` and more than one space.
fn command_of(line: &str) -> Option<&str> {
    line.strip_prefix("$ ").filter(|command| !command.starts_with(' '))
}

/// The form of a command's output on a page.
fn shown(ran: &Ran) -> String {
    let mut text = printable(&ran.stdout);
    if !text.is_empty() && !text.ends_with('\n') {
        text += "<no newline>\n";
    }
    for line in printable(ran.stderr.as_bytes()).lines() {
        text += format!("! {line}").trim_end();
        text.push('\n');
    }
    if ran.code != 0 {
        text += &format!("? {}\n", ran.code);
    }
    text
}

fn printable(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\n' | '\t' => text.push(char),
                char if char.is_control() => text += &format!("<{:02x}>", char as u32),
                char => text.push(char),
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("<{byte:02x}>")));
    }
    text
}

/// The outputs that differ, each after the number of its line and its command; empty if none differ.
fn differences(shown: &str, printed: &str) -> String {
    let mut number = 1;
    let mut text = String::new();
    for (shown, printed) in pieces(shown).zip(pieces(printed)) {
        if shown != printed {
            text += &format!(":{number}\n{}", shown.split_inclusive('\n').next().unwrap_or_default());
            let lines = |piece: &'_ str, sign: char| -> String {
                piece.lines().skip(1).map(|line| format!("{sign} {line}\n")).collect()
            };
            text += &(lines(shown, '-') + &lines(printed, '+'));
        }
        number += shown.matches('\n').count();
    }
    text
}

/// The parts of a page, each of which begins with a command, or with a line before or after a block.
fn pieces(page: &str) -> impl Iterator<Item = &str> {
    let is_start = |line: &str| command_of(line).is_some() || line.starts_with("```");
    let mut rest = page;
    std::iter::from_fn(move || {
        let first = rest.find('\n')? + 1;
        let more = rest[first..].split_inclusive('\n').take_while(|line| !is_start(line));
        let (piece, after) = rest.split_at(first + more.map(str::len).sum::<usize>());
        rest = after;
        Some(piece)
    })
}
