//! One run of one program: its duration, its use of resources, and its exit.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

/// The cost of a run.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// From before the process is made until it has ended.
    pub wall: Duration,
    /// On all cores together.
    pub user: Duration,
    /// In the kernel, on all cores together.
    pub system: Duration,
    /// The most memory that was resident at one time, mapped files included, in bytes.
    pub peak_bytes: u64,
}

/// A run that ended as it should.
#[derive(Debug)]
pub struct Run<T> {
    /// The cost.
    pub usage: Usage,
    /// The value that was made of its standard output.
    pub output: T,
    /// Its standard error.
    pub messages: String,
}

/// The reason why a run has no result.
#[derive(Debug)]
pub enum Failure {
    /// The program could not be started.
    NotStarted(io::Error),
    /// The program was stopped after this duration.
    TimedOut(Duration),
    /// The program ended with a status other than 0; with the end of its standard error.
    Failed(ExitStatus, String),
    /// The output could not be understood.
    Output(anyhow::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NotStarted(error) => write!(out, "not started: {error}"),
            Failure::TimedOut(limit) => write!(out, "no end after {} s", limit.as_secs()),
            Failure::Failed(status, message) => write!(out, "{status}: {message}"),
            Failure::Output(error) => write!(out, "{error:#}"),
        }
    }
}

/// Runs a command with its output thrown away: what a timing is taken of.
///
/// # Errors
///
/// See [`Failure`].
pub fn run(command: &[String], limit: Duration) -> Result<Run<()>, Failure> {
    run_with(command, Stdio::null(), limit, |_| Ok(()))
}

/// Runs a command and has `consume` read its output. The rest of the output is read and dropped, so that a
/// program never fails because of a closed pipe.
///
/// # Errors
///
/// See [`Failure`].
pub fn read<T>(
    command: &[String],
    limit: Duration,
    consume: impl FnOnce(&mut ChildStdout) -> anyhow::Result<T>,
) -> Result<Run<T>, Failure> {
    run_with(command, Stdio::piped(), limit, |stdout| {
        let mut stdout = stdout.context("standard output is piped")?;
        let output = consume(&mut stdout);
        io::copy(&mut stdout, &mut io::sink())?;
        output
    })
}

/// The trimmed standard output of a command.
///
/// # Errors
///
/// See [`Failure`].
pub fn text(command: &[String], limit: Duration) -> Result<String, Failure> {
    let run = read(command, limit, |stdout| {
        let mut text = String::new();
        stdout.read_to_string(&mut text)?;
        Ok(text)
    })?;
    Ok(run.output.trim().to_owned())
}

fn run_with<T>(
    command: &[String],
    stdout: Stdio,
    limit: Duration,
    consume: impl FnOnce(Option<ChildStdout>) -> anyhow::Result<T>,
) -> Result<Run<T>, Failure> {
    let [program, args @ ..] = command else {
        return Err(Failure::NotStarted(io::ErrorKind::InvalidInput.into()));
    };
    // A file, not a pipe: nobody has to read it while the program runs.
    let mut messages = tempfile::tempfile().map_err(Failure::NotStarted)?;
    let stderr = messages.try_clone().map_err(Failure::NotStarted)?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
    // A trace is no reason, and takes time.
    command.env("RUST_BACKTRACE", "0");
    let start = Instant::now();
    let mut child = command.spawn().map_err(Failure::NotStarted)?;
    let id = child.id() as libc::pid_t;
    let stdout = child.stdout.take();
    let (ended, watch) = mpsc::channel::<()>();
    let (output, wall, timed_out) = thread::scope(|scope| {
        let watchdog = scope.spawn(move || {
            let timed_out = watch.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if timed_out {
                // SAFETY: signals the group that the child leads. The child is reaped only after this thread
                // has ended, so the number is still its own.
                unsafe { libc::kill(-id, libc::SIGKILL) };
            }
            timed_out
        });
        let output = consume(stdout);
        wait_until_ended(id);
        let wall = start.elapsed();
        drop(ended);
        (output, wall, watchdog.join().unwrap_or(false))
    });
    let (status, usage) = reap(id);
    if timed_out {
        return Err(Failure::TimedOut(limit));
    }
    let said = last_of(&mut messages).unwrap_or_default();
    if !status.success() {
        return Err(Failure::Failed(status, reason(&said).to_owned()));
    }
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    let usage = Usage {
        wall,
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        // Linux counts it in KiB.
        peak_bytes: usage.ru_maxrss as u64 * 1024,
    };
    Ok(Run { usage, output: output.map_err(Failure::Output)?, messages: said })
}

/// Blocks until the child has ended, and leaves it to be reaped.
fn wait_until_ended(id: libc::pid_t) {
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` is large enough for what is written to it, and outlives the call.
        let done = unsafe { libc::waitid(libc::P_PID, id as libc::id_t, info.as_mut_ptr(), flags) };
        if done == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Takes leave of a child that has ended: its status, and what it used.
fn reap(id: libc::pid_t) -> (ExitStatus, libc::rusage) {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to values of the types that the call writes, and the values outlive the call.
    let reaped = unsafe { libc::wait4(id, &raw mut status, 0, usage.as_mut_ptr()) };
    assert_eq!(reaped, id, "{}", io::Error::last_os_error());
    // SAFETY: a structure of integers, for which zeros are valid, and which the call has filled.
    (ExitStatus::from_raw(status), unsafe { usage.assume_init() })
}

/// The line of a program's messages that says why it failed: the last that names an error, else the last.
fn reason(said: &str) -> &str {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.clone().next_back().unwrap_or("it said nothing");
    lines.rfind(|line| line.to_ascii_lowercase().contains("error")).unwrap_or(last)
}

/// The last 16 KiB of a file.
fn last_of(file: &mut std::fs::File) -> io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(16 << 10)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No limit: no result of these tests depends on time.
    const LONG: Duration = Duration::MAX;

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_run_has_time_memory_and_messages() {
        let run = run(&shell("echo said >&2; sleep 0.2"), LONG).unwrap();
        assert!(run.usage.wall >= Duration::from_millis(200), "{:?}", run.usage);
        assert!(run.usage.user + run.usage.system < run.usage.wall, "{:?}", run.usage);
        assert!(run.usage.peak_bytes > 100 << 10, "{:?}", run.usage);
        assert_eq!(run.messages, "said\n");
    }

    #[test]
    fn time_is_counted_on_the_processor() {
        // Until the kernel says that the shell has been on a processor for five ticks, of 10 ms each.
        let script = "while read -r stat </proc/$$/stat; do set -- $stat; [ ${14} -lt 5 ] || exit 0; done";
        let run = run(&shell(script), LONG).unwrap();
        assert!(run.usage.user > Duration::from_millis(10), "{:?}", run.usage);
    }

    #[test]
    fn output_is_read() {
        assert_eq!(text(&shell("echo ' a b '"), LONG).unwrap(), "a b");
    }

    #[test]
    fn failures_are_told_apart() {
        let failed = run(&shell("echo first >&2; echo last >&2; exit 3"), LONG).unwrap_err();
        assert!(
            matches!(&failed, Failure::Failed(status, said) if status.code() == Some(3) && said == "last")
        );
        let missing = run(&["/nowhere/at/all".to_owned()], LONG).unwrap_err();
        assert!(matches!(missing, Failure::NotStarted(_)));
        let output = read(&shell("echo x"), LONG, |_| Err::<(), _>(anyhow::anyhow!("bad")));
        assert!(matches!(output.unwrap_err(), Failure::Output(_)));
    }

    #[test]
    fn the_line_with_the_error_is_the_reason() {
        assert_eq!(reason("Traceback\n  File\nValueError: no\n"), "ValueError: no");
        assert_eq!(reason("error: no such file\n\nhelp: try\n"), "error: no such file");
        assert_eq!(reason("a\nb\n"), "b");
        assert_eq!(reason("\n"), "it said nothing");
    }

    #[test]
    fn a_run_that_does_not_end_is_ended_with_its_children() {
        // A child that is left would keep its end of the pipe open, and this would wait without end.
        let late = read(&shell("sleep infinity | cat"), Duration::from_millis(200), |stdout| {
            Ok(stdout.read_to_end(&mut Vec::new())?)
        });
        assert!(matches!(late.unwrap_err(), Failure::TimedOut(_)));
    }
}
