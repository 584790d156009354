//! A server, and requests to it.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A server that runs in a folder of its own, and ends with this value.
pub struct Server {
    pub folder: TempDir,
    child: Child,
    pub address: String,
}

/// The program `warpath`, which is built beside the server.
pub fn warpath() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_warpath-serve")).with_file_name("warpath");
    assert!(path.is_file(), "`cargo build -p warpath-cli` builds the program that these tests run");
    path
}

/// A command without variables that options depend on.
fn clean(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder);
    command
}

/// Runs `warpath` in a folder.
pub fn run(folder: &Path, arguments: &[&OsStr]) -> Output {
    clean(warpath(), folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The command `warpath` in a folder, with `--server` if a server is given.
pub fn over(server: Option<&Server>, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = clean(warpath(), folder);
    command.args(arguments).stdin(Stdio::null());
    if let Some(server) = server {
        command.args(["--server", &server.address]);
    }
    command
}

/// A folder of files, and a store of their lines.
pub fn inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let people = include_bytes!("../../../tests/data/people.ndjson");
    std::fs::write(data.join("a people.ndjson"), people).unwrap();
    let hostile = "{\"level\":\"<script>alert(1)</script>\",\"user\":{\"lang\":\"\\u001b[31m\"},\"ms\":1e400}\n\
                   {\"level\":\"\u{202e}x\",\"$id\":null,\"a b\":[{}],\"time\":\"2026-03-02T08:00:00Z\"}\n";
    std::fs::write(data.join("hostile.ndjson"), hostile).unwrap();
    std::fs::write(folder.path().join("bad.ndjson"), b"{\"level\":1}\n{\"level\":\n{\"level\":\"\xff\"}\n")
        .unwrap();
    std::fs::write(folder.path().join("empty.ndjson"), "").unwrap();
    std::fs::write(folder.path().join("subs.txt"), "a\t$[?@.level == 'error']\nb\t$.user.lang == 'nl'\n")
        .unwrap();
    std::fs::write(folder.path().join("schema.json"), r#"{"required": ["user"]}"#).unwrap();
    let added = run(folder.path(), &["store", "add", "logs.wp", "data"].map(OsStr::new));
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    folder
}

impl Server {
    /// A server of these arguments, in a folder of [`inputs`].
    pub fn of(arguments: &[&str]) -> Self {
        Self::in_folder(inputs(), arguments)
    }

    pub fn in_folder(folder: TempDir, arguments: &[&str]) -> Self {
        let mut command = clean(env!("CARGO_BIN_EXE_warpath-serve"), folder.path());
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut error = String::new();
            child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
            panic!("the server has no address: {error}");
        }
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Self { folder, child, address }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `warpath` in the folder of the server.
    pub fn beside(&self, arguments: &[&str]) -> Output {
        run(self.path(), &arguments.iter().map(OsStr::new).collect::<Vec<_>>())
    }

    /// Runs `warpath` with `--server`, in a folder.
    pub fn over(&self, folder: &Path, arguments: &[&str]) -> Output {
        over(Some(self), folder, arguments).output().unwrap()
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Sends a request, and returns the connection with its unread answer.
    pub fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        let len = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len}\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream
    }

    pub fn get(&self, path: &str) -> Answer {
        Answer::read(self.send("GET", path, "", b""))
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        Answer::read(self.send("POST", path, "", body.as_bytes()))
    }

    /// The value of a metric; 0 if there is none.
    pub fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0, |value| value.parse().unwrap())
    }

    /// Waits until a metric has a value.
    pub fn wait_for(&self, name: &str, value: u64) {
        while self.metric(name) != value {
            std::thread::yield_now();
        }
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// The exit code, once the server has ended.
    pub fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    /// True if the body came to its end.
    pub is_whole: bool,
}

impl Answer {
    /// Reads all of a response.
    pub fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let head = head(&mut reader);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let (mut body, mut is_whole) = (Vec::new(), true);
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            is_whole = loop {
                match chunk(&mut reader) {
                    Some(chunk) if chunk.is_empty() => break true,
                    Some(chunk) => body.extend(chunk),
                    None => break false,
                }
            };
        } else {
            // A connection that is reset has no more bytes.
            let _ = reader.read_to_end(&mut body);
        }
        Self { status, head, body, is_whole }
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The head of a response.
pub fn head(reader: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
    head
}

/// A chunk of a body; an empty one is the last. `None` if the connection ends.
pub fn chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let len = usize::from_str_radix(line.trim(), 16).ok()?;
    let mut bytes = vec![0; len + 2];
    reader.read_exact(&mut bytes).ok()?;
    bytes.truncate(len);
    Some(bytes)
}
