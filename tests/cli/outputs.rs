//! The creation of outputs: their names, their permissions, and the files that are left after a signal.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt, symlink};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, Output, Stdio};

use crate::{Folder, PROGRAM};

/// All commands that write a file under another name and rename it, without `-o OUT`.
const RENAMED: [&[&str]; 15] = [
    &["pack", "lines"],
    &["index", "build", "lines"],
    &["bitmap", "build", "lines", "--column=a=$.a"],
    &["filter", "-s", "subs", "--format=bitmap", "lines"],
    &["filter", "-s", "subs", "--count", "lines"],
    &["filter", "-s", "subs", "--format=arrow", "lines"],
    &["schema", "lines"],
    &["count-by", "$.a", "lines"],
    &["stats", "$.a", "lines"],
    &["sample", "1000", "lines"],
    &["query", "--count", "$.a", "lines"],
    &["select", "a=$.a", "--sort", "a", "lines"],
    &["select", "a:int64=$.a", "--format=parquet", "lines"],
    &["select", "a:int64=$.a", "--format=arrow", "lines"],
    &["select", "--auto", "--format=parquet", "lines"],
];

/// Commands that write to the file itself, without `-o OUT`.
const IN_PLACE: [&[&str]; 5] = [
    &["query", "$.a", "lines"],
    &["filter", "-s", "subs", "lines"],
    &["unpack", "lines.wpk"],
    &["index", "dump", "lines"],
    &["tree", "lines"],
];

/// The signals that end the program, by their names in a shell.
const SIGNALS: [(&str, libc::c_int); 3] =
    [("HUP", libc::SIGHUP), ("INT", libc::SIGINT), ("TERM", libc::SIGTERM)];

fn folder() -> Folder {
    let folder = Folder::new(&[("lines", b"{\"a\":1}\n{\"a\":2}\n"), ("subs", b"one\t$.a == 1\n")]);
    folder.run(&["pack", "lines", "-o", "lines.wpk"]).ok();
    folder
}

impl Folder {
    /// Names of all files, sorted.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
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

    fn shell_output(&self, script: &str, args: &[&str]) -> Output {
        self.shell(script, args).output().unwrap()
    }
}

/// The name of a temporary file was that of the output, the process and a number.
#[test]
fn a_link_under_a_name_that_can_be_guessed_is_not_followed() {
    for args in RENAMED {
        let folder = folder();
        folder.write("victim", b"precious");
        let plant = "for n in 0 1 2 3; do ln -s victim out.$$-$n.tmp; done; exec \"$0\" \"$@\" -o out";
        let output = folder.shell_output(plant, args);
        assert!(output.status.success(), "{args:?} {output:?}");
        assert_eq!(folder.read("victim"), b"precious", "{args:?}");
        assert!(fs::symlink_metadata(folder.path("out")).unwrap().is_file(), "{args:?}");
        assert_eq!(folder.names().len(), 5 + 4, "{:?}", folder.names());
    }
}

#[test]
fn a_pipe_under_a_name_that_can_be_guessed_is_not_waited_for() {
    for args in RENAMED {
        let folder = folder();
        let plant = "for n in 0 1 2 3; do mkfifo out.$$-$n.tmp; done; exec \"$0\" \"$@\" -o out";
        let output = folder.shell_output(plant, args);
        assert!(output.status.success(), "{args:?} {output:?}");
        let pipes = folder.names().into_iter().filter(|name| name.ends_with(".tmp"));
        assert!(
            pipes
                .map(|name| fs::symlink_metadata(folder.path(&name)))
                .all(|m| m.unwrap().file_type().is_fifo())
        );
    }
}

/// A run that ends at a malformed record, or whose output may not grow, leaves the output that is there.
#[test]
fn a_run_that_fails_keeps_the_old_output() {
    let folder = folder();
    let lines: String = (0..5000).map(|i| format!("{{\"a\":{i},\"b{i}\":0}}\n")).collect();
    for args in RENAMED {
        folder.write("out", b"precious");
        folder.write("lines", (lines.clone() + "{\n").as_bytes());
        let kept = |folder: &Folder| {
            folder.names() == ["lines", "lines.wpk", "out", "subs"] && folder.read("out") == b"precious"
        };
        // A packed file has all lines, and an index file the faults.
        if !matches!(args[0], "pack" | "index") {
            let ran = folder.run(&[args, &["-o", "out"]].concat());
            assert!(ran.code == 4 && kept(&folder), "{args:?}: {ran}");
        }
        folder.write("lines", lines.as_bytes());
        let output = folder.shell_output("ulimit -f 1; exec \"$0\" \"$@\" -o out", args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
            assert!(said.contains("cannot write to `out`: File too large"), "{args:?}: {said}");
            assert!(kept(&folder), "{args:?}: {:?}", folder.names());
        } else {
            // Some outputs are short.
            assert!(matches!(args[0], "filter" | "schema" | "stats" | "query"), "{args:?}");
        }
    }
}

/// The name of an output may be as long as names can be.
#[test]
fn a_long_name() {
    let folder = folder();
    let name = "n".repeat(255);
    folder.run(&["pack", "lines", "-o", &name]).ok();
    folder.run(&["unpack", "--check", &name]).ok();
}

#[test]
fn an_output_is_as_closed_as_its_input() {
    for (input, umask, want) in [
        (0o600, "022", 0o600),
        (0o640, "022", 0o640),
        (0o640, "077", 0o600),
        (0o644, "022", 0o644),
        (0o666, "022", 0o644),
        (0o666, "000", 0o666),
        (0o755, "000", 0o644),
        // The owner of an output may write it again.
        (0o400, "022", 0o600),
        (0o444, "002", 0o644),
    ] {
        for args in RENAMED.iter().chain(&IN_PLACE) {
            let folder = folder();
            folder.set_mode("lines", input);
            folder.set_mode("lines.wpk", input);
            folder.set_mode("subs", 0o666);
            let script = format!("umask {umask}; exec \"$0\" \"$@\" -o out");
            let output = folder.shell_output(&script, args);
            assert!(output.status.success(), "{args:?} {output:?}");
            assert_eq!(folder.mode("out"), want, "{args:?} {input:o} {umask}");
        }
    }
}

/// The permissions of all inputs count, and those of indexes and subscriptions.
#[test]
fn an_output_is_as_closed_as_all_that_it_is_made_from() {
    let folder = folder();
    folder.run(&["index", "build", "lines", "-o", "lines.wpi"]).ok();
    folder.run(&["bitmap", "build", "lines", "--column=a=$.a", "-o", "lines.wpb"]).ok();
    let where_ = ["--where=a = 1", "--bitmap=lines.wpb"];
    for (closed, args) in [
        ("subs", &["query", "$", "lines", "subs", "--on-error=skip", "-q"][..]),
        ("lines.wpi", &["query", "$.a", "lines", "--index=lines.wpi"]),
        ("lines.wpb", &["query", "$.a", "lines", where_[0], where_[1]]),
        ("lines.wpb", &["bitmap", "range", "lines.wpb", "a = 1"]),
        ("subs", &["filter", "-s", "subs", "lines"]),
        ("subs", &["filter", "-s", "subs", "--format=bitmap", "lines"]),
    ] {
        folder.set_mode(closed, 0o600);
        folder.run(&[args, &["-o", "out"]].concat()).ok();
        assert_eq!(folder.mode("out"), 0o600, "{args:?}");
        fs::remove_file(folder.path("out")).unwrap();
        folder.set_mode(closed, 0o644);
    }
}

/// Standard input is an input too, where it is a file. The mode of a pipe says nothing.
#[test]
fn the_mode_of_standard_input() {
    let folder = folder();
    folder.set_mode("lines", 0o600);
    for args in [&["pack", "-"][..], &["query", "$.a"]] {
        for (script, want) in
            [("\"$0\" \"$@\" -o out <lines", 0o600), ("cat lines | \"$0\" \"$@\" -o out", 0o644)]
        {
            let output = folder.shell_output(&format!("umask 022; {script}"), args);
            assert!(output.status.success(), "{args:?} {output:?}");
            assert_eq!(folder.mode("out"), want, "{args:?} {script}");
            fs::remove_file(folder.path("out")).unwrap();
        }
    }
}

#[test]
fn an_output_that_is_written_again_stays_closed() {
    let folder = folder();
    for args in RENAMED.iter().chain(&IN_PLACE) {
        for (mode, want) in [(0o600, 0o600), (0o644, 0o644)] {
            folder.write("out", b"before");
            folder.set_mode("out", mode);
            folder.run(&[args, &["-o", "out"][..]].concat()).ok();
            assert_eq!(folder.mode("out"), want, "{args:?} {mode:o}");
            assert_ne!(folder.read("out"), b"before", "{args:?}");
        }
    }
    // What is replaced has no more permissions than a new file.
    folder.write("out", b"before");
    folder.set_mode("out", 0o666);
    let output = folder.shell_output("umask 022; exec \"$0\" \"$@\" -o out", RENAMED[0]);
    assert!(output.status.success() && folder.mode("out") == 0o644, "{output:?}");
    // A file that is read-only stays so.
    folder.set_mode("out", 0o444);
    folder.run(&[RENAMED[0], &["-o", "out"][..]].concat()).ok();
    assert_eq!(folder.mode("out"), 0o444);
    // A link leads to the file that is replaced.
    folder.set_mode("out", 0o600);
    symlink("out", folder.path("link")).unwrap();
    folder.run(&["pack", "lines", "-o", "link"]).ok();
    assert!(fs::symlink_metadata(folder.path("link")).unwrap().is_symlink());
    assert_eq!(folder.mode("out"), 0o600);
}

/// Starts `pack` on standard input, and returns once its temporary file exists. A pipe holds at most 64 KiB
/// of a line, so `pack` has read a part of the input by then. It opens its output before it reads.
fn packing(folder: &Folder, script: &str) -> Child {
    let mut child = folder.shell(script, &["pack", "-", "-o", "out"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(&[b'\n'; 1 << 20]).unwrap();
    child
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
        let mut child = packing(&folder, "exec \"$0\" \"$@\"");
        assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
        send(signal, child.id());
        // It ends by the signal, which a shell reports as 128 plus its number.
        let status = child.wait().unwrap();
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
        let mut shell =
            folder.shell(script, &["pack", "-", "-o", "out"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = fs::OpenOptions::new().write(true).open(folder.path("pipe")).unwrap();
        pipe.write_all(&[b'\n'; 1 << 20]).unwrap();
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
        let mut child = packing(&folder, &format!("trap '' {name}; exec \"$0\" \"$@\""));
        send(signal, child.id());
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        drop(child.stdin.take());
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}");
        assert_eq!(folder.run(&["unpack", "out"]).stdout.len(), (1 << 20) + 1);
    }
}
