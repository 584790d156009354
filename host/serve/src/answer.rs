//! The streams of a command as the body of a response.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use warpath_terminal::streams::{Client, ClientFile, Shows, Stream};

use crate::size::Size;

/// The most bytes of a frame. Longer texts are several.
const MOST_FRAME: usize = 1 << 20;

/// The first bytes of a stream of Arrow, which no text has.
const ARROW: [u8; 4] = [0xff; 4];

/// The form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Frames with standard output, standard error, files and the exit code, for `--server`.
    Frames,
    /// Standard output alone.
    Output,
    /// The file that the command writes, alone.
    File,
}

/// The kinds of frames.
pub mod kind {
    pub const OUTPUT: u8 = 1;
    pub const ERROR: u8 = 2;
    pub const END: u8 = 3;
    pub const FILE: u8 = 4;
    pub const BYTES: u8 = 5;
    pub const COMPLETE: u8 = 6;
}

/// A frame: its kind, the number of its bytes, and the bytes, which are those of both parts.
pub fn frame(kind: u8, begin: &[u8], rest: &[u8]) -> Bytes {
    let len = u32::try_from(begin.len() + rest.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(5 + len as usize);
    frame.push(kind);
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(begin);
    frame.extend_from_slice(rest);
    frame.into()
}

/// A client, as it describes itself.
#[derive(Default)]
pub struct About {
    /// The command line, without the name of the program.
    pub arguments: Vec<OsString>,
    /// The files of options.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Standard output and standard error.
    pub shows: [Shows; 2],
}

impl About {
    /// True for a command that follows its inputs.
    pub fn is_tail(&self) -> bool {
        let is_follow = |word: &str| word == "--follow" || word.starts_with("--follow=");
        self.arguments.iter().any(|word| word.to_str().is_some_and(is_follow))
    }
}

/// The client of a question.
pub struct HttpClient {
    pub form: Form,
    pub about: About,
    /// The bytes of the body.
    pub sender: mpsc::Sender<Bytes>,
    /// True when nobody reads the body any more.
    pub closed: watch::Receiver<bool>,
    pub handle: Handle,
    /// Messages, if they are no frames.
    pub messages: Arc<Mutex<Vec<u8>>>,
    /// The number of files so far.
    pub files: Arc<AtomicU32>,
    pub size: Arc<Size>,
    /// True if standard output is a stream of Arrow, once it has begun.
    pub is_arrow: OnceLock<bool>,
}

/// Sends bytes of a body. Waits for a client that reads slowly.
fn send(
    sender: &mpsc::Sender<Bytes>,
    closed: &watch::Receiver<bool>,
    handle: &Handle,
    bytes: Bytes,
) -> io::Result<()> {
    if *closed.borrow() {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let bytes = match sender.try_send(bytes) {
        Ok(()) => return Ok(()),
        Err(mpsc::error::TrySendError::Full(bytes)) => bytes,
        Err(mpsc::error::TrySendError::Closed(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
    };
    let mut closed = closed.clone();
    // Rows of SQL are written by a thread of a runtime.
    let is_sent = tokio::task::block_in_place(|| {
        handle.block_on(async {
            tokio::select! {
                sent = sender.send(bytes) => sent.is_ok(),
                _ = closed.wait_for(|is_closed| *is_closed) => false,
            }
        })
    });
    if is_sent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

impl HttpClient {
    fn send(&self, bytes: Bytes) -> io::Result<()> {
        send(&self.sender, &self.closed, &self.handle, bytes)
    }

    /// Counts the bytes of standard output, and its lines if it is text.
    fn count(&self, bytes: &[u8]) -> io::Result<()> {
        if !*self.is_arrow.get_or_init(|| bytes.starts_with(&ARROW)) {
            self.size.rows(bytes.iter().filter(|byte| **byte == b'\n').count() as u64)?;
        }
        self.size.bytes(bytes.len() as u64)
    }

    /// Sends the exit code, which is the last frame.
    pub fn end(&self, code: u8) {
        if self.form == Form::Frames {
            // A client that is gone misses nothing.
            let _ = self.send(frame(kind::END, &[code], &[]));
        }
    }
}

impl Client for HttpClient {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match (self.form, stream) {
            (Form::Output | Form::File, Stream::Error) => {
                let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
                messages.extend_from_slice(bytes);
                Ok(())
            }
            // The rows are in the file.
            (Form::File, Stream::Output) => Ok(()),
            (Form::Output, Stream::Output) => {
                self.count(bytes)?;
                self.send(Bytes::copy_from_slice(bytes))
            }
            (Form::Frames, _) => {
                if stream == Stream::Output {
                    self.count(bytes)?;
                }
                let kind = if stream == Stream::Output { kind::OUTPUT } else { kind::ERROR };
                bytes.chunks(MOST_FRAME).try_for_each(|bytes| self.send(frame(kind, bytes, &[])))
            }
        }
    }

    fn shows(&self, stream: Stream) -> Shows {
        self.about.shows[usize::from(stream == Stream::Error)]
    }

    fn create(&self, path: &Path, is_whole: bool) -> io::Result<Box<dyn ClientFile>> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        match self.form {
            Form::Frames => {
                let name = path.as_os_str().as_encoded_bytes();
                self.send(frame(kind::FILE, &[u8::from(is_whole)], name))?;
            }
            Form::File if number == 0 => {}
            Form::File | Form::Output => {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "this request takes no files"));
            }
        }
        Ok(Box::new(HttpFile {
            number,
            form: self.form,
            sender: self.sender.clone(),
            closed: self.closed.clone(),
            handle: self.handle.clone(),
            size: self.size.clone(),
        }))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.about.files.iter().find(|(name, _)| name == path);
        file.map(|(_, bytes)| bytes.clone()).ok_or_else(|| io::Error::from_raw_os_error(NO_SUCH_FILE))
    }

    fn arguments(&self) -> Vec<OsString> {
        self.about.arguments.clone()
    }
}

/// ENOENT, so that the message is that of the system.
const NO_SUCH_FILE: i32 = 2;

/// A file that a command writes for its client.
struct HttpFile {
    number: u32,
    form: Form,
    sender: mpsc::Sender<Bytes>,
    closed: watch::Receiver<bool>,
    handle: Handle,
    size: Arc<Size>,
}

impl HttpFile {
    fn send(&self, bytes: Bytes) -> io::Result<()> {
        send(&self.sender, &self.closed, &self.handle, bytes)
    }
}

impl Write for HttpFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MOST_FRAME)];
        self.size.bytes(bytes.len() as u64)?;
        self.send(match self.form {
            Form::Frames => frame(kind::BYTES, &self.number.to_le_bytes(), bytes),
            Form::Output | Form::File => Bytes::copy_from_slice(bytes),
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ClientFile for HttpFile {
    fn complete(&mut self) -> io::Result<()> {
        match self.form {
            Form::Frames => self.send(frame(kind::COMPLETE, &self.number.to_le_bytes(), &[])),
            Form::Output | Form::File => Ok(()),
        }
    }
}
