//! Lines that are added to a store. The response comes when they are on the disk.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::StatusCode;
use bytes::{Buf, Bytes};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, channel};
use warpath::store::{AddOptions, Store};
use warpath::{InputError, Source};
use warpath_cli::Inputs as _;
use warpath_terminal::messages::Ui;

use crate::loaded::Loaded;
use crate::metrics::Metrics;

/// Pieces of a body that wait to be read.
const WAITING: usize = 4;

/// The bytes of a body that are read before it has its turn. A client that is slow to send few lines keeps
/// nobody waiting. Each connection may hold as many.
const AHEAD: usize = 256 << 10;

/// A refusal, as its status and its message.
type Refused = (StatusCode, String);

/// The additions to stores.
pub struct Appends {
    /// True if requests may add lines.
    pub is_writable: bool,
    /// The most bytes of one request, and of the text that it is.
    pub most: u64,
    /// The longest time without a byte.
    pub idle: Duration,
    /// One request adds at a time, because lines of a request cannot be read again after a conflict.
    pub turn: Arc<Mutex<()>>,
    /// Reports what no request waits for.
    pub ui: Ui,
}

/// The state of a body that several threads look at.
#[derive(Default)]
struct State {
    /// True if the body has more bytes than it may have.
    is_too_long: AtomicBool,
    /// The bytes of text that were read of the body, which may be compressed.
    text: AtomicU64,
}

/// A body that is read by a thread.
struct Reader {
    /// Pieces of the body; `None` is its end.
    bytes: Receiver<io::Result<Option<Bytes>>>,
    piece: Bytes,
    is_ended: bool,
    read: u64,
    most: u64,
    state: Arc<State>,
}

impl Read for Reader {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !self.is_ended {
            match self.bytes.blocking_recv() {
                // The client is gone: nobody has sent the end.
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(Ok(Some(piece))) => self.piece = piece,
                Some(Ok(None)) => self.is_ended = true,
                Some(Err(error)) => return Err(error),
            }
        }
        let len = room.len().min(self.piece.len());
        self.read += len as u64;
        if self.read.max(self.state.text.load(Ordering::Relaxed)) > self.most {
            self.state.is_too_long.store(true, Ordering::Relaxed);
            return Err(io::Error::other("the body is too long"));
        }
        self.piece.copy_to_slice(&mut room[..len]);
        Ok(len)
    }
}

/// The pieces of a body.
struct Pieces {
    body: BodyDataStream,
    idle: Duration,
}

impl Pieces {
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        match tokio::time::timeout(self.idle, self.body.next()).await {
            Ok(piece) => piece.transpose().map_err(io::Error::other),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Appends {
    /// Adds the lines of a body to a store: the one of this name, or the only one. None of them is added if
    /// the body does not end.
    ///
    /// # Errors
    /// If the server or the store takes no lines, and if the body is not read to its end.
    pub async fn append(
        &self,
        loaded: &Loaded,
        metrics: &Metrics,
        name: Option<PathBuf>,
        body: Body,
    ) -> Result<Value, Refused> {
        if !self.is_writable {
            let why = "the server takes no lines: it was started without `--writable`";
            return Err((StatusCode::FORBIDDEN, why.to_owned()));
        }
        let name = match name {
            Some(name) => name,
            None => match &loaded.names()[..] {
                [name] => name.clone(),
                _ => {
                    let why = "the address has the name of a store: /append?input=NAME";
                    return Err((StatusCode::BAD_REQUEST, why.to_owned()));
                }
            },
        };
        let Some(store) = loaded.store(&name).map(Path::to_owned) else {
            let why = format!("{}: is no store of the server", name.display());
            return Err((StatusCode::BAD_REQUEST, why));
        };
        let mut body = Pieces { body: body.into_data_stream(), idle: self.idle };
        let (mut ahead, mut bytes, mut is_ended) = (Vec::new(), 0, false);
        while bytes < AHEAD && !is_ended {
            let piece = body.next().await;
            is_ended = !matches!(piece, Ok(Some(_)));
            bytes += piece.as_ref().ok().and_then(Option::as_ref).map_or(0, Bytes::len);
            ahead.push(piece);
        }
        let turn = self.turn.clone().lock_owned().await;
        let state = Arc::new(State::default());
        let (sender, bytes) = channel(WAITING);
        let reader = Reader {
            bytes,
            piece: Bytes::new(),
            is_ended: false,
            read: 0,
            most: self.most,
            state: state.clone(),
        };
        let added = {
            let (state, store) = (state.clone(), store.clone());
            tokio::task::spawn_blocking(move || {
                let source = Source::Reader("the body".to_owned(), Box::new(reader));
                let mut progress = |text: u64| state.text.store(text, Ordering::Relaxed);
                let added = Store::add(&*store, vec![source], AddOptions::default(), &mut progress)?;
                Ok((added, Store::open(&*store)?.version().unwrap_or(0)))
            })
        };
        let mut ahead = ahead.into_iter();
        loop {
            let piece = match ahead.next() {
                Some(piece) => piece,
                None => body.next().await,
            };
            let is_last = !matches!(piece, Ok(Some(_)));
            if sender.send(piece).await.is_err() || is_last {
                break;
            }
        }
        drop(sender);
        let fault = |error: String| (StatusCode::INTERNAL_SERVER_ERROR, error);
        let added: Result<_, warpath::Error> = added.await.map_err(|error| fault(error.to_string()))?;
        match added {
            Ok((added, version)) => {
                metrics.appended.inc_by(added.lines);
                loaded.changes().tell();
                let ui = self.ui.clone();
                // No request waits for this, apart from those that add lines next.
                tokio::task::spawn_blocking(move || {
                    if let Err(error) = Store::compact_last(&*store) {
                        ui.warning(format_args!("small parts are not merged yet: {}", error.chain()));
                    }
                    drop(turn);
                });
                let mut said = json!({"version": version, "lines": added.lines});
                if added.malformed > 0 {
                    said["malformed"] = added.malformed.into();
                }
                Ok(said)
            }
            Err(_) if state.is_too_long.load(Ordering::Relaxed) => {
                let why = format!("the lines have more than {} bytes", self.most);
                Err((StatusCode::PAYLOAD_TOO_LARGE, why))
            }
            Err(warpath::Error::Input(InputError::Io { source, .. }))
                if source.kind() == io::ErrorKind::TimedOut =>
            {
                Err((StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned()))
            }
            Err(error @ warpath::Error::Input(_)) => Err((StatusCode::BAD_REQUEST, error.chain())),
            Err(error) => Err(fault(error.chain())),
        }
    }

    /// Waits until nothing is added or merged.
    pub async fn ended(&self) {
        drop(self.turn.lock().await);
    }
}
