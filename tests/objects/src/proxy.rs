//! A proxy before a server, which records requests and cuts responses.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::http::{Listener, Request};

/// A request that went through a proxy.
#[derive(Clone, Debug)]
pub struct Passed {
    /// The request.
    pub request: Request,
    /// The bytes of the body that the client got.
    pub bytes: u64,
}

#[derive(Default)]
struct State {
    passed: Vec<Passed>,
    /// The bytes after which bodies are cut, and the number of responses that are still cut.
    cuts: Option<(usize, usize)>,
}

/// A proxy that runs until it is dropped.
pub struct Proxy {
    listener: Listener,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// Starts a proxy before a server.
    ///
    /// # Panics
    /// If there is no port left.
    #[must_use]
    pub fn before(server: SocketAddr) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let log = state.clone();
        let listener = Listener::start(move |client| pass(client, server, &log));
        Self { listener, state }
    }

    /// The host and the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address
    }

    /// Cuts the bodies of the next responses of requests with a range, after some bytes.
    pub fn cut(&self, after: usize, responses: usize) {
        lock(&self.state).cuts = Some((after, responses));
    }

    /// The requests that have begun.
    #[must_use]
    pub fn passed(&self) -> Vec<Passed> {
        lock(&self.state).passed.clone()
    }

    /// The ranges that were asked for of objects whose URL ends in `name`, sorted.
    #[must_use]
    pub fn ranges(&self, name: &str) -> Vec<Range<u64>> {
        let passed = self.passed();
        let of_name = passed.iter().filter(|passed| passed.request.target.ends_with(name));
        let mut ranges: Vec<_> = of_name.filter_map(|passed| passed.request.range()).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes one request and its response, and closes the connection.
fn pass(mut client: TcpStream, server: SocketAddr, state: &Mutex<State>) -> io::Result<()> {
    let Some(request) = Request::read(&mut client)? else { return Ok(()) };
    let (number, limit) = {
        let mut state = lock(state);
        let limit = match (&mut state.cuts, request.range()) {
            (Some((after, responses @ 1..)), Some(_)) => {
                *responses -= 1;
                *after
            }
            _ => usize::MAX,
        };
        state.passed.push(Passed { request: request.clone(), bytes: 0 });
        (state.passed.len() - 1, limit)
    };
    let mut server = TcpStream::connect(server)?;
    // The signature does not include this header.
    server.write_all(&request.head[..request.head.len() - 2])?;
    server.write_all(b"Connection: close\r\n\r\n")?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && server.read(&mut byte)? > 0 {
        head.push(byte[0]);
    }
    client.write_all(&head)?;
    let mut left = limit;
    let mut bytes = vec![0; 64 << 10];
    while left > 0 {
        let room = bytes.len().min(left);
        let count = server.read(&mut bytes[..room])?;
        if count == 0 {
            break;
        }
        left -= count;
        // The client may see its last byte and look at the count before this thread runs on.
        lock(state).passed[number].bytes += count as u64;
        client.write_all(&bytes[..count])?;
    }
    client.shutdown(Shutdown::Write)
}
