//! The programs of a cluster as processes on this machine.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The time after which a test fails that waits for an event.
pub const DEADLINE: Duration = Duration::from_secs(300);

pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpath-cluster"));
    command.env_remove("WARPATH_DEVICE").env_remove("WARPATH_WORKERS").stdin(Stdio::null());
    command
}

/// A server, which is killed when it is dropped.
pub struct Server {
    child: Child,
    /// The address that it prints.
    pub address: String,
    /// The lines of its standard error.
    pub said: Receiver<String>,
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Server {
    /// Starts a server, and waits for its address.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, said) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        let line = out.recv_timeout(DEADLINE).unwrap_or_else(|error| {
            let said: Vec<String> = said.try_iter().collect();
            panic!("{command:?} printed no address: {error}: {said:?}")
        });
        let address = line.rsplit(' ').next().unwrap().to_owned();
        assert!(line.contains(" listens on 127.0.0.1:"), "{line}");
        Self { child, address, said }
    }

    pub fn scheduler(listen: &str) -> Self {
        Self::start(program().args(["scheduler", "--listen", listen, "--executor-timeout", "6"]))
    }

    pub fn executor(scheduler: &str, work: &Path) -> Self {
        Self::executor_with(scheduler, work, &[])
    }

    /// An executor whose environment has these variables too.
    pub fn executor_with(scheduler: &str, work: &Path, variables: &[(&str, String)]) -> Self {
        let mut command = program();
        command.envs(variables.iter().cloned());
        command.args(["executor", "--scheduler", scheduler, "--listen", "127.0.0.1:0", "--workers", "2"]);
        Self::start(command.args(["--verbose", "--work"]).arg(work))
    }

    /// Waits for a line of standard error that contains a text.
    pub fn wait_for(&self, text: &str) {
        loop {
            match self.said.recv_timeout(DEADLINE) {
                Ok(line) if line.contains(text) => return,
                Ok(_) => {}
                Err(error @ (RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) => {
                    panic!("`{text}` was not said: {error}")
                }
            }
        }
    }

    /// Kills the process, which cannot do anything before its end.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends the process by a signal that it receives, and waits for its end.
    pub fn terminate(mut self) -> std::process::ExitStatus {
        let id = i32::try_from(self.child.id()).unwrap();
        let sent = Command::new("kill").args(["-TERM", &id.to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A scheduler and its executors.
pub struct Cluster {
    pub scheduler: Server,
    pub executors: Vec<Server>,
    pub work: TempDir,
}

impl Cluster {
    pub fn new(executors: usize) -> Self {
        Self::with_variables(executors, &[])
    }

    /// A cluster whose executors have these variables in their environment too.
    pub fn with_variables(executors: usize, variables: &[(&str, String)]) -> Self {
        let work = tempfile::tempdir().unwrap();
        let scheduler = Server::scheduler("127.0.0.1:0");
        let executor = |_| Server::executor_with(&scheduler.address, work.path(), variables);
        let executors = (0..executors).map(executor).collect();
        Self { scheduler, executors, work }
    }

    pub fn address(&self) -> &str {
        &self.scheduler.address
    }

    /// Waits until an executor says a text. Returns its number.
    pub fn first_to_say(&self, text: &str) -> usize {
        let start = Instant::now();
        while start.elapsed() < DEADLINE {
            for (at, executor) in self.executors.iter().enumerate() {
                match executor.said.recv_timeout(Duration::from_millis(5)) {
                    Ok(line) if line.contains(text) => return at,
                    _ => {}
                }
            }
        }
        panic!("no executor said `{text}`")
    }

    pub fn add_executor(&mut self) {
        self.executors.push(Server::executor(&self.scheduler.address, self.work.path()));
    }
}
