//! The program on a terminal: a pseudo-terminal, whose output an emulator shows.

#![cfg(unix)]

use std::fs::File;
use std::io::Read as _;
use std::num::NonZero;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command, Stdio};
use std::ptr;

use crate::{Folder, PROGRAM};

/// The rows of the terminal. No test prints more.
const ROWS: NonZero<u16> = NonZero::new(500).unwrap();

/// The screen of a terminal while a program ran, and after it.
pub struct Shown {
    /// The exit code of the program.
    pub code: i32,
    /// All that the program wrote, with its control sequences.
    pub bytes: Vec<u8>,
    /// The rows at the end, without the spaces at their ends and without the empty rows after the last one.
    pub screen: String,
    /// True if a bar of progress was on the screen at any time.
    pub had_bar: bool,
    /// True if this bar was longer than a row at any time.
    pub wrapped: bool,
}

impl Folder {
    /// Runs the program on a terminal of N columns. Standard input is empty, and no terminal.
    pub fn on_terminal(&self, columns: u16, args: &[&str]) -> Shown {
        let mut command = Command::new(PROGRAM);
        command.args(args);
        self.shown(columns, command)
    }

    /// Runs a command on a terminal of N columns, in this folder.
    pub fn shown(&self, columns: u16, mut command: Command) -> Shown {
        let (mut ours, its) = terminal(columns);
        command
            .current_dir(self.path(""))
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .stdout(its.try_clone().unwrap())
            .stderr(its);
        let mut child = command.spawn().unwrap();
        // The command holds the terminal's other side. While any process does, the output has no end.
        drop(command);
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        // Linux reports the end as an error.
        while let Ok(read @ 1..) = ours.read(&mut part) {
            bytes.extend_from_slice(&part[..read]);
        }
        let code = child.wait().unwrap().code().expect("an exit code, not a signal");
        Shown::new(code, bytes, columns)
    }
}

impl Shown {
    fn new(code: i32, bytes: Vec<u8>, columns: u16) -> Self {
        let mut emulator = vt100::Parser::new(ROWS, NonZero::new(columns).unwrap(), 0);
        let (mut had_bar, mut wrapped) = (false, false);
        for byte in &bytes {
            emulator.process(&[*byte]);
            // Rows change most at these.
            if matches!(byte, b'\r' | b'\n' | b'\x1b') {
                let screen = emulator.screen();
                let is_bar = |row: &String| row.contains("/s") || row.contains(['█', '░']);
                for (at, _) in (0..).zip(screen.rows(0, columns)).filter(|(_, row)| is_bar(row)) {
                    had_bar = true;
                    wrapped |= screen.row_wrapped(at);
                }
            }
        }
        let rows: Vec<String> = emulator.screen().rows(0, columns).collect();
        let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
        let screen = rows.join("\n").trim_end_matches('\n').to_owned();
        Self { code, bytes, screen, had_bar, wrapped }
    }
}

/// Opens a terminal of N columns: our side of it, and the side of a program.
fn terminal(columns: u16) -> (File, OwnedFd) {
    let (mut ours, mut its) = (-1, -1);
    let size = libc::winsize { ws_row: ROWS.get(), ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the first two pointers lead to integers that the call writes. It takes no name and no settings,
    // and reads `size`, which lives longer.
    let opened = unsafe { libc::openpty(&mut ours, &mut its, ptr::null_mut(), ptr::null_mut(), &size) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    for descriptor in [ours, its] {
        // Programs that other tests start at the same time must not inherit the terminal.
        // SAFETY: the call takes no pointer. The descriptor is open, because `openpty` succeeded.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: `openpty` returned these descriptors, and nothing else owns them.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(its)) }
}

/// A text as a terminal shows it: long lines take several rows.
fn wrapped(text: &str, columns: u16) -> String {
    let rows = |line: &str| -> Vec<String> {
        let chars: Vec<char> = line.chars().collect();
        chars.chunks(columns.into()).map(|row| row.iter().collect::<String>().trim_end().to_owned()).collect()
    };
    text.lines().flat_map(rows).collect::<Vec<_>>().join("\n")
}

/// The widths of terminals that are tried.
const COLUMNS: [u16; 3] = [40, 80, 200];

/// Three records, far apart, so that numbers of bytes are long.
fn folder() -> Folder {
    let mut lines = vec![b'\n'; 3 << 20];
    for (at, record) in [&b"{\"a\":1}\n"[..], b"{\"a\":2}\n", b"{\"b\":3}\n"].into_iter().enumerate() {
        let at = at << 20;
        lines[at..at + record.len()].copy_from_slice(record);
    }
    let folder =
        Folder::new(&[("lines", &lines), ("subs", b"one\t$[?@ == 1]\n"), ("bad", b"{\"a\":1}\n[}\n")]);
    folder.run(&["store", "index", "lines", "--column=a=$.a"]).ok();
    folder
}

/// Rows are a table on a terminal, and lines of JSON elsewhere.
#[test]
fn rows_are_a_table_on_a_terminal() {
    let folder = folder();
    let args = ["select", "a=$.a", "lines", "-n", "2"];
    let shown = folder.on_terminal(80, &args);
    let table = folder.run(&[&args[..], &["--format", "table"]].concat());
    assert_eq!(shown.screen, wrapped(table.ok(), 80));
    assert!(folder.run(&args).ok().starts_with('{'));
}

/// Every command that reads much has a bar, which is gone when results are printed.
#[test]
fn every_command_that_reads_much_has_progress() {
    let folder = folder();
    for args in [
        &["count-by", "--format=csv", "$.a", "lines"][..],
        &["distinct", "$.a", "lines"],
        &["distinct", "--count", "$.a", "lines"],
        &["stats", "--format=ndjson", "$.a", "lines"],
        &["sample", "--seed=1", "9", "lines"],
        &["head", "-n2", "lines"],
        &["schema", "--format=ndjson", "lines"],
        &["select", "--format=ndjson", "--sort=a:desc", "a=$.a", "lines"],
        &["select", "--format=ndjson", "-H", "--skip=1", "a=$.a", "lines"],
        &["select", "--auto", "-o", "auto.arrow", "lines"],
        &["select", "-o", "typed.arrow", "a:int64=$.a", "lines"],
        &["store", "index", "lines"],
    ] {
        let plain = folder.run(args);
        for columns in COLUMNS {
            let mut args = args.to_vec();
            let at = if args[0] == "store" { 2 } else { 1 };
            args.insert(at, "--progress=always");
            let shown = folder.on_terminal(columns, &args);
            let what = format!("{columns} columns, {args:?}\n{}", String::from_utf8_lossy(&shown.bytes));
            assert_eq!(shown.code, 0, "{what}");
            assert!(shown.had_bar && !shown.wrapped, "{what}");
            assert_eq!(shown.screen, wrapped(plain.ok(), columns), "{what}");
        }
    }
    // Both passes over the input have one.
    let shown =
        folder.on_terminal(80, &["select", "--progress=always", "--auto", "-o", "auto.arrow", "lines"]);
    let text = String::from_utf8_lossy(&shown.bytes);
    assert_eq!(text.matches("0 B/3.00 MiB").count(), 2, "{text:?}");
    // An error is printed after the bar is gone.
    let shown = folder.on_terminal(80, &["schema", "--progress=always", "bad"]);
    assert!(shown.had_bar && shown.screen.starts_with("error: bad:2:2: closing bracket"), "{}", shown.screen);
}

/// The bar was cleared after the results were printed. Where the bar had wrapped, it erased them.
#[test]
fn progress_leaves_results_on_the_screen() {
    let folder = folder();
    for (args, code, screen) in [
        (&["query", "--count", "$.a", "lines"][..], 0, "2"),
        (&["query", "$.a", "lines"], 0, "1\n2"),
        (&["query", "-n1", "$.a", "lines"], 0, "1"),
        (&["query", "-n2", "--count", "$.a", "lines"], 0, "2"),
        (&["query", "--count", "$.a", "--where", "$.a > 1", "lines"], 0, "1"),
        (&["select", "--format=csv", "a=$.a", "--", "lines"], 0, "a\n1\n2\n\"\""),
        (&["validate", "lines"], 0, "3 records, 3145728 bytes: all valid"),
        (
            &["validate", "bad"],
            4,
            "error: bad:2:2: closing bracket does not match the opening one\n  [}\n   ^\n  help: `--all` lists all malformed records",
        ),
        (
            &["validate", "--all", "bad"],
            4,
            "bad:2:2: closing bracket does not match the opening one\nerror: 1 of 2 records malformed",
        ),
        (&["filter", "--count", "-s", "subs", "lines"], 0, "one     1"),
        (&["filter", "-s", "subs", "lines"], 0, "lines:1 one"),
    ] {
        for columns in COLUMNS {
            let mut args = args.to_vec();
            args.insert(1, "--progress=always");
            let shown = folder.on_terminal(columns, &args);
            let what = format!("{columns} columns, {args:?}\n{}", String::from_utf8_lossy(&shown.bytes));
            assert_eq!(shown.code, code, "{what}");
            assert!(!shown.wrapped, "{what}");
            assert!(shown.had_bar, "{what}");
            assert_eq!(shown.screen, wrapped(screen, columns), "{what}");
        }
    }
}
