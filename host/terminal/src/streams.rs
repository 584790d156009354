//! The standard streams of a command: those of the process, or others that its caller gives.
//!
//! A server runs many commands in one process, each in a thread of its own. Such a thread has
//! [`Streams`] that lead to the client. A command takes the streams of its thread when it begins to print, so
//! that its other threads print there, too.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use terminal_size::{Height, Width, terminal_size_of};

use crate::options::supports_color;
use crate::progress;

/// A standard stream that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, which has results.
    Output,
    /// Standard error, which has messages.
    Error,
}

/// The look of a stream. The default is that of a file or a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shows {
    /// True for a terminal.
    pub is_terminal: bool,
    /// The columns and the rows of the terminal, if it says how many it has.
    pub size: Option<(usize, usize)>,
    /// True if colours are shown where the user chooses `auto`.
    pub color: bool,
}

/// The streams and the files of a client, for a command that runs in another process than the client's.
pub trait Client: Send + Sync {
    /// Writes to a stream.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] if the client is gone. Other errors say why the client gets no more.
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// The look of a stream.
    fn shows(&self, stream: Stream) -> Shows;

    /// Begins a file of the client. If `is_whole`, the file takes its name when it is
    /// [complete](ClientFile::complete).
    ///
    /// # Errors
    /// As for [`write`](Self::write), and if the client takes no files.
    fn create(&self, path: &Path, is_whole: bool) -> io::Result<Box<dyn ClientFile>>;

    /// The bytes of a file that the client has sent with its command.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it has sent no file of this name.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The arguments of the command, for messages that repeat them.
    fn arguments(&self) -> Vec<OsString>;
}

/// A file of a client that is written.
pub trait ClientFile: Write + Send {
    /// Says that all bytes have been written.
    ///
    /// # Errors
    /// As for [`Client::write`].
    fn complete(&mut self) -> io::Result<()>;
}

/// The standard streams of a command. The default ones are those of the process.
#[derive(Clone, Default)]
pub struct Streams(Option<Arc<dyn Client>>);

thread_local! {
    static CURRENT: RefCell<Streams> = const { RefCell::new(Streams(None)) };
}

impl Streams {
    /// The streams of a client.
    pub fn of(client: Arc<dyn Client>) -> Self {
        Self(Some(client))
    }

    /// The streams of the command that this thread runs.
    pub fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Runs a command in this thread with these streams.
    pub fn run<R>(self, command: impl FnOnce() -> R) -> R {
        /// Puts the streams back, also after a panic.
        struct Before(Streams);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.set(std::mem::take(&mut self.0));
            }
        }
        let _before = Before(CURRENT.replace(self));
        command()
    }

    /// The client, if the streams are not those of the process.
    pub fn client(&self) -> Option<&Arc<dyn Client>> {
        self.0.as_ref()
    }

    /// A writer to standard output.
    pub fn output(&self) -> Box<dyn Write + Send> {
        match &self.0 {
            None => Box::new(io::stdout()),
            Some(client) => Box::new(ClientOutput(client.clone())),
        }
    }

    /// Writes a message to standard error. A message that cannot be written is lost. A bar of progress on the
    /// same terminal makes way.
    pub fn message(&self, text: &[u8]) {
        let _ = match &self.0 {
            None => progress::aside(|| io::stderr().lock().write_all(text)),
            Some(client) => client.write(Stream::Error, text),
        };
    }

    /// True if a stream is a terminal.
    pub fn is_terminal(&self, stream: Stream) -> bool {
        match (&self.0, stream) {
            (None, Stream::Output) => io::stdout().is_terminal(),
            (None, Stream::Error) => io::stderr().is_terminal(),
            (Some(client), stream) => client.shows(stream).is_terminal,
        }
    }

    /// The columns and the rows of the terminal that a stream is. `None` for other streams, and for a
    /// terminal that does not say how many it has.
    pub fn size(&self, stream: Stream) -> Option<(usize, usize)> {
        let size = match (&self.0, stream) {
            (None, Stream::Output) => terminal_size_of(io::stdout()),
            (None, Stream::Error) => terminal_size_of(io::stderr()),
            (Some(client), stream) => return client.shows(stream).size,
        };
        size.map(|(Width(columns), Height(rows))| (columns.into(), rows.into()))
    }

    /// True if a stream is a terminal that shows colours, as [`supports_color`] has it.
    pub fn supports_color(&self, stream: Stream) -> bool {
        match (&self.0, stream) {
            (None, Stream::Output) => supports_color(&io::stdout()),
            (None, Stream::Error) => supports_color(&io::stderr()),
            (Some(client), stream) => client.shows(stream).color,
        }
    }

    /// The look of a stream.
    pub fn shows(&self, stream: Stream) -> Shows {
        Shows {
            is_terminal: self.is_terminal(stream),
            size: self.size(stream),
            color: self.supports_color(stream),
        }
    }

    /// The arguments of the command, without the name of the program.
    pub fn arguments(&self) -> Vec<OsString> {
        match &self.0 {
            None => std::env::args_os().skip(1).collect(),
            Some(client) => client.arguments(),
        }
    }

    /// The bytes of a file that an option names. It is a file of the client's machine.
    ///
    /// # Errors
    /// Those of the file, or of [`Client::read`].
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match &self.0 {
            None => std::fs::read(path),
            Some(client) => client.read(path),
        }
    }
}

/// Standard output of a client.
struct ClientOutput(Arc<dyn Client>);

impl Write for ClientOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(Stream::Output, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::messages::Ui;
    use crate::options::{MessageFormat, When};

    #[derive(Default)]
    struct Kept(Mutex<Vec<u8>>);

    impl Client for Kept {
        fn write(&self, _: Stream, bytes: &[u8]) -> io::Result<()> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(())
        }

        fn shows(&self, stream: Stream) -> Shows {
            let is_terminal = stream == Stream::Error;
            Shows { is_terminal, size: is_terminal.then_some((80, 24)), color: false }
        }

        fn create(&self, _: &Path, _: bool) -> io::Result<Box<dyn ClientFile>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
            Err(io::ErrorKind::NotFound.into())
        }

        fn arguments(&self) -> Vec<OsString> {
            vec!["query".into()]
        }
    }

    #[test]
    fn a_thread_has_the_streams_of_its_command() {
        let kept = Arc::new(Kept::default());
        Streams::of(kept.clone()).run(|| {
            let streams = Streams::current();
            assert!(streams.is_terminal(Stream::Error) && !streams.is_terminal(Stream::Output));
            assert_eq!(streams.arguments(), ["query"]);
            let ui = Ui::new(When::Auto, false, MessageFormat::Human);
            // Another thread prints there, too.
            std::thread::scope(|scope| scope.spawn(|| ui.note("there")).join().unwrap());
            streams.output().write_all(b"here\n").unwrap();
            assert!(std::thread::scope(|scope| scope
                .spawn(Streams::current)
                .join()
                .unwrap()
                .client()
                .is_none()));
        });
        assert!(Streams::current().client().is_none());
        assert_eq!(*kept.0.lock().unwrap(), b"note: there\nhere\n");
    }

    #[test]
    fn a_panic_puts_the_streams_back() {
        let streams = Streams::of(Arc::new(Kept::default()));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| streams.run(|| panic!("ends"))));
        assert!(panic.is_err());
        assert!(Streams::current().client().is_none());
    }
}
