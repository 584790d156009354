//! Runs the program as its users do: arguments, files and pipes in; output, messages and exit codes out.

mod auto;
mod bad_input;
mod bins;
mod columns;
mod conditions;
#[cfg(unix)]
mod cookbook;
mod documents;
mod everyday;
mod explain;
mod explode;
mod files;
mod filter;
mod follow;
mod formats;
mod index;
#[cfg(feature = "json-schema")]
mod json_schema;
mod matrix;
#[cfg(target_os = "linux")]
mod memory;
mod names;
mod objects;
mod odd_lines;
mod outputs;
mod picture;
mod predicates;
mod query;
#[cfg(feature = "parquet")]
mod row_groups;
mod rows;
mod schema_oracle;
mod show;
#[cfg(all(unix, feature = "parquet"))]
mod store_follow;
mod strict;
mod tables;
mod terminal;
mod tour;
#[cfg(unix)]
mod transcripts;
mod typed;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_warpath");

/// A folder with files, in which the program is run, so that messages name files as they are given.
struct Folder(TempDir);

/// The output and exit code of a run.
#[derive(PartialEq, Eq)]
struct Ran {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        for (name, contents) in files {
            folder.write(name, contents);
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, contents: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    /// Replaces a file by another at once. No reader sees a part of it, as of a file that is being written.
    fn replace(&self, name: &str, contents: &[u8]) {
        self.write("new", contents);
        std::fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs the program with nothing on standard input.
    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, b"")
    }

    fn run_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        run(assert_cmd::Command::new(PROGRAM).current_dir(self.0.path()).args(args), stdin)
    }
}

fn run(command: &mut assert_cmd::Command, stdin: &[u8]) -> Ran {
    let output = command
        // Help is wrapped at this width, and colours are off, wherever the tests run.
        .env("COLUMNS", "100")
        .env("TERM", "dumb")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("CLICOLOR")
        .env_remove("WARPATH_COLOR")
        .env_remove("WARPATH_DEVICE")
        .env_remove("WARPATH_MESSAGE_FORMAT")
        .env_remove("WARPATH_PARTITION_SIZE")
        .env_remove("WARPATH_PROGRESS")
        .env_remove("WARPATH_WORKERS")
        .write_stdin(stdin)
        .output()
        .unwrap();
    Ran {
        code: output.status.code().expect("an exit code, not a signal"),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).expect("messages in UTF-8"),
    }
}

/// Runs the program over `stdin`, with no files about.
fn pipe(args: &[&str], stdin: &[u8]) -> Ran {
    Folder::new(&[]).run_with(args, stdin)
}

impl Ran {
    /// Asserts that all went well and nothing was said, and gives the output.
    #[track_caller]
    fn ok(&self) -> &str {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self}");
        self.text()
    }

    /// Asserts that all went well and nothing but notes was said, and gives the output.
    #[track_caller]
    fn noted(&self) -> &str {
        assert_eq!(self.code, 0, "{self}");
        assert!(self.stderr.lines().all(|line| line.contains("note:")), "{self}");
        assert!(!self.stderr.is_empty(), "{self}");
        self.text()
    }

    #[track_caller]
    fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Asserts an exit code, what was printed before, and how the message starts.
    #[track_caller]
    fn failed(&self, code: i32, stdout: &str, message: &str) {
        assert!(self.code == code && self.stderr.starts_with(message), "{self}");
        assert_eq!(self.text(), stdout, "{self}");
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout);
        write!(f, "exit {}\n--- stdout\n{stdout}--- stderr\n{}", self.code, self.stderr)
    }
}

impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text as one member of gzip.
fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A file of the test data.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    path.to_str().unwrap().to_owned()
}
