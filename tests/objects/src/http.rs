//! A server of HTTP that answers as a test says.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The head of a request.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `HEAD`.
    pub method: String,
    /// The path and the query, as they came.
    pub target: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes of the head as they came.
    pub head: Vec<u8>,
}

impl Request {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The range of the header `Range`, if it has a start and an end.
    #[must_use]
    pub fn range(&self) -> Option<Range<u64>> {
        let (start, end) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some(start.parse().ok()?..end.parse::<u64>().ok()? + 1)
    }

    /// Reads a head. `None` at the end of the connection, and for bytes that are no HTTP.
    ///
    /// # Errors
    /// The errors of the connection.
    pub fn read(stream: &mut TcpStream) -> io::Result<Option<Self>> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read(&mut byte)? == 0
                || !byte[0].is_ascii()
                || head.is_empty() && !byte[0].is_ascii_uppercase()
            {
                return Ok(None);
            }
            head.push(byte[0]);
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        let mut lines = text.lines();
        let mut first = lines.next().unwrap_or_default().split(' ');
        let mut word = || first.next().unwrap_or_default().to_owned();
        let (method, target) = (word(), word());
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Ok(Some(Self { method, target, headers, head }))
    }
}

/// A response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status and its name.
    pub status: &'static str,
    /// The headers, without the length.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The bytes of the body that are sent. The length of the whole body is announced all the same.
    pub sent: usize,
    /// True to send nothing after `sent` bytes, and to wait until the client closes the connection. Without
    /// bytes in `sent`, the head is not sent either.
    pub stalls: bool,
}

impl Reply {
    /// A status with a body.
    #[must_use]
    pub fn new(status: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, headers: Vec::new(), sent: body.len(), body, stalls: false }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// A file, or the range of it that the request asks for. `416` for a range that begins after its end,
    /// `412` if the request wants another tag.
    #[must_use]
    pub fn file(request: &Request, bytes: &[u8], tag: Option<&str>) -> Self {
        let tagged = |reply: Self| match tag {
            Some(tag) => reply.with("ETag", tag),
            None => reply,
        };
        if let (Some(wanted), Some(tag)) = (request.header("if-match"), tag)
            && wanted != tag
        {
            return Self::new("412 Precondition Failed", "");
        }
        let len = bytes.len() as u64;
        match request.range() {
            None => tagged(Self::new("200 OK", bytes)),
            Some(range) if range.start >= len => {
                Self::new("416 Range Not Satisfiable", "").with("Content-Range", format!("bytes */{len}"))
            }
            Some(range) => {
                let (start, end) = (range.start, range.end.min(len));
                let part = &bytes[start as usize..end as usize];
                let value = format!("bytes {start}-{}/{len}", end - 1);
                tagged(Self::new("206 Partial Content", part)).with("Content-Range", value)
            }
        }
    }

    /// Sends `sent` bytes of the body, and closes the connection.
    #[must_use]
    pub fn cut_after(mut self, sent: usize) -> Self {
        self.sent = self.sent.min(sent);
        self
    }

    /// Sends `sent` bytes of the body, and no more.
    #[must_use]
    pub fn stalled_after(self, sent: usize) -> Self {
        Self { stalls: true, ..self.cut_after(sent) }
    }

    fn write(&self, is_head: bool, stream: &mut TcpStream) -> io::Result<()> {
        if self.sent > 0 || !self.stalls {
            let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", self.status);
            for (name, value) in &self.headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            head.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
            stream.write_all(head.as_bytes())?;
            if !is_head {
                stream.write_all(&self.body[..self.sent])?;
            }
        }
        if self.stalls {
            // The client closes the connection.
            let _ = stream.read(&mut [0])?;
        }
        stream.shutdown(Shutdown::Write)
    }
}

/// A server that runs until it is dropped.
pub struct HttpServer {
    listener: Listener,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl HttpServer {
    /// Starts a server that answers each request as `reply` says.
    ///
    /// # Panics
    /// If there is no port left.
    #[must_use]
    pub fn start(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        let listener = Listener::start(move |mut stream| {
            let Some(request) = Request::read(&mut stream)? else {
                return stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            };
            log.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
            reply(&request).write(request.method == "HEAD", &mut stream)
        });
        Self { listener, requests }
    }

    /// The host and the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address
    }

    /// The URL of a path, without a slash before it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address())
    }

    /// The requests that have come.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A listener with a thread for each connection.
pub(crate) struct Listener {
    pub address: SocketAddr,
    ends: Arc<AtomicBool>,
}

impl Listener {
    pub fn start(serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let ends = Arc::new(AtomicBool::new(false));
        let has_ended = ends.clone();
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if has_ended.load(Ordering::Relaxed) {
                    return;
                }
                let serve = serve.clone();
                if let Ok(stream) = stream {
                    // A client that closes its connection is no error of the server.
                    thread::spawn(move || serve(stream));
                }
            }
        });
        Self { address, ends }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // The connection wakes the thread.
        let _ = TcpStream::connect(self.address);
    }
}
