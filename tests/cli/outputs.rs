//! The files that are left after a signal.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, Stdio};

use crate::{Folder, PROGRAM};

/// The signals that end the program, by their names in a shell.
const SIGNALS: [(&str, libc::c_int); 3] =
    [("HUP", libc::SIGHUP), ("INT", libc::SIGINT), ("TERM", libc::SIGTERM)];

impl Folder {
    /// Names of all files, sorted.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs a script in which `"$0"` is the program and `"$@"` are these arguments.
    fn shell(&self, script: &str, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.current_dir(self.path("")).args(["-c", script, PROGRAM]).args(args).stdin(Stdio::null());
        // Whatever these tests were started with, under `nohup` for instance.
        let by_default = || {
            for (_, signal) in SIGNALS {
                // SAFETY: no function becomes a handler.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: between fork and exec only `signal` is called, which is async-signal-safe.
        unsafe { command.pre_exec(by_default) };
        command
    }
}

/// A command whose output has a temporary name until the end of standard input.
const SELECT: &[&str] = &["select", "a:int64=$.a", "--format=arrow", "-o", "out", "--", "-"];

/// Starts a command that reads standard input, and returns once its temporary file exists.
fn selecting(folder: &Folder, script: &str) -> Child {
    let files = folder.names().len();
    let mut child = folder.shell(script, SELECT).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(&[b'\n'; 1 << 20]).unwrap();
    wait_for_files(folder, files + 1);
    child
}

fn wait_for_files(folder: &Folder, count: usize) {
    while folder.names().len() < count {
        std::thread::yield_now();
    }
}

fn send(signal: libc::c_int, process: u32) {
    // SAFETY: the process is a child of this test, or of such a child. Nobody has waited for it, so its
    // number is still its own.
    assert_eq!(unsafe { libc::kill(process.try_into().unwrap(), signal) }, 0);
}

#[test]
fn a_signal_leaves_no_temporary_file() {
    for (_, signal) in SIGNALS {
        let folder = Folder::new(&[("out", b"precious")]);
        let mut child = selecting(&folder, "exec \"$0\" \"$@\"");
        // `wait` would close standard input, and the output would be complete before the signal arrives.
        let input = child.stdin.take();
        send(signal, child.id());
        // It ends by the signal, which a shell reports as 128 plus its number.
        let status = child.wait().unwrap();
        drop(input);
        assert_eq!(status.signal(), Some(signal), "{status}");
        assert_eq!((folder.names(), folder.read("out")), (vec!["out".to_owned()], b"precious".to_vec()));
    }
}

/// The exit status that a shell reports.
#[test]
fn a_signal_gives_the_status_that_shells_know() {
    for ((_, signal), status) in SIGNALS.into_iter().zip(["129\n", "130\n", "143\n"]) {
        let folder = Folder::new(&[]);
        // A second shell prints its process number, and becomes the program. A background process of a shell
        // would ignore SIGINT.
        let script = "sh -c 'echo $$; exec \"$0\" \"$@\" <pipe' \"$0\" \"$@\"; echo $?";
        assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
        let mut shell = folder.shell(script, SELECT).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = fs::OpenOptions::new().write(true).open(folder.path("pipe")).unwrap();
        pipe.write_all(&[b'\n'; 1 << 20]).unwrap();
        wait_for_files(&folder, 2);
        let mut said = std::io::BufReader::new(shell.stdout.take().unwrap());
        let mut id = String::new();
        std::io::BufRead::read_line(&mut said, &mut id).unwrap();
        send(signal, id.trim().parse().unwrap());
        let mut told = String::new();
        std::io::Read::read_to_string(&mut said, &mut told).unwrap();
        assert_eq!((told.as_str(), folder.names()), (status, vec!["pipe".to_owned()]));
        shell.wait().unwrap();
    }
}

/// Signals that are ignored at the start, like SIGHUP under `nohup`.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    for (name, signal) in SIGNALS {
        let folder = Folder::new(&[]);
        let mut child = selecting(&folder, &format!("trap '' {name}; exec \"$0\" \"$@\""));
        send(signal, child.id());
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        drop(child.stdin.take());
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}");
        assert_eq!(folder.names(), ["out"]);
    }
}
