//! The destination of results: standard output or a file.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use warpath_core::temporary::{OutputMode, Temporary, is_special};
use warpath_terminal::progress;
use warpath_terminal::streams::{ClientFile, Stream, Streams};

use super::args::OutputArgs;
use super::failure::Failure;
use super::inherited;

/// The number of bytes that are buffered before they are written. Writes end at line ends, because standard
/// output passes them on unchanged.
const BUFFER_BYTES: usize = 256 << 10;

fn is_terminal(output: &OutputArgs) -> bool {
    output.path().is_none() && Streams::current().is_terminal(Stream::Output)
}

/// Refuses to write a binary format to a terminal.
///
/// # Errors
/// If the output is a terminal.
pub fn refuse_binary_on_terminal(format: &impl ValueEnum, output: &OutputArgs) -> Result<(), Failure> {
    let (true, Some(format)) = (is_terminal(output), format.to_possible_value()) else { return Ok(()) };
    let message = format!("`--format {}` is binary and is not written to a terminal", format.get_name());
    Err(Failure::usage(message).with_help("write it to a file with `-o FILE`, or pipe it to another program"))
}

/// The destination of results. It is opened with the first result, or at the end. A run that fails before it
/// has read anything therefore overwrites nothing.
pub struct Out {
    file: Option<PathBuf>,
    /// The permissions of a new file.
    mode: OutputMode,
    /// True if the file takes its name when it is complete.
    is_whole: bool,
    /// The file until then.
    unfinished: Option<Temporary>,
    sink: Option<Sink>,
    streams: Streams,
    /// The bytes that have not been written yet.
    pub buffer: Vec<u8>,
    terminal: bool,
}

/// An open destination.
enum Sink {
    /// Standard output, or a file of this machine.
    Own(Box<dyn Write>),
    /// A file of the client of a server.
    Client(Box<dyn ClientFile>),
}

impl Sink {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Own(own) => own,
            Self::Client(file) => file,
        }
    }
}

impl Out {
    /// Standard output, for commands without `--output`.
    pub fn stdout() -> Self {
        Self::new(&OutputArgs::default())
    }

    /// The destination that the options name: standard output, or a file.
    pub fn new(output: &OutputArgs) -> Self {
        let terminal = is_terminal(output);
        let file = output.path().map(Path::to_owned);
        Self {
            file,
            mode: OutputMode::default(),
            is_whole: false,
            unfinished: None,
            sink: None,
            streams: Streams::current(),
            buffer: Vec::with_capacity(BUFFER_BYTES + (64 << 10)),
            terminal,
        }
    }

    /// A file that is open, with its name for errors.
    pub fn to_file(file: File, name: &Path) -> Self {
        let out = Self { sink: Some(Sink::Own(Box::new(file))), ..Self::stdout() };
        Self { file: Some(name.to_owned()), terminal: false, ..out }
    }

    /// Limits the permissions of a new file to those of the files that the results come from.
    pub fn made_from(self, mode: OutputMode) -> Self {
        Self { mode, ..self }
    }

    /// Makes a file take its name when it is [complete](Self::complete). Until then, a file of that name
    /// stays as it is. A device or a pipe is written to directly, as standard output is.
    pub fn make_whole(&mut self) {
        // A client knows what its file is.
        let is_special = |path| self.streams.client().is_none() && is_special(path);
        self.is_whole = self.file.as_deref().is_some_and(|path| !is_special(path));
    }

    /// Returns true if the destination takes its name when it is complete.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns true if results go to a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Opens the destination, if it is not open yet.
    pub fn open(&mut self) -> Result<(), Failure> {
        self.sink().map(drop).map_err(|error| self.failed(error))
    }

    fn sink(&mut self) -> io::Result<&mut dyn Write> {
        let sink = match (self.sink.take(), &self.file, self.streams.client()) {
            (Some(sink), ..) => sink,
            (None, Some(path), Some(client)) => Sink::Client(client.create(path, self.is_whole)?),
            (None, None, Some(_)) => Sink::Own(self.streams.output()),
            (None, Some(path), None) => {
                inherited::named(path)?;
                if self.is_whole {
                    let (unfinished, file) = Temporary::beside(path, self.mode)?;
                    self.unfinished = Some(unfinished);
                    Sink::Own(Box::new(file))
                } else {
                    Sink::Own(Box::new(self.mode.create(path)?))
                }
            }
            (None, None, None) => {
                inherited::stdout()?;
                Sink::Own(Box::new(io::stdout().lock()))
            }
        };
        Ok(self.sink.insert(sink).writer())
    }

    /// Writes the buffer if it is full. Callers call this after each line.
    #[inline]
    pub fn line_end(&mut self) -> Result<(), Failure> {
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_out().map_err(|error| self.failed(error))
        } else {
            Ok(())
        }
    }

    /// Adds whole lines, or bytes that form no lines. Large amounts are written directly, without a copy.
    pub fn lines(&mut self, lines: &[u8]) -> Result<(), Failure> {
        if self.buffer.len() + lines.len() < BUFFER_BYTES {
            self.buffer.extend_from_slice(lines);
            return Ok(());
        }
        let written = self.write_out().and_then(|()| self.write_now(lines));
        written.map_err(|error| self.failed(error))
    }

    /// Adds bytes that are in several slices, as [`lines`](Self::lines) does.
    pub fn parts(&mut self, parts: &[&[u8]]) -> Result<(), Failure> {
        let len = parts.iter().map(|part| part.len()).sum::<usize>();
        if self.buffer.len() + len < BUFFER_BYTES {
            parts.iter().for_each(|part| self.buffer.extend_from_slice(part));
            return Ok(());
        }
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let written = self.write_out().and_then(|()| write_all(self.sink()?, &mut slices));
        written.map_err(|error| self.failed(error))
    }

    /// Writes the buffer if it holds anything. Callers call this when the next results may take time, so that
    /// the reader of a pipe receives the results so far.
    pub fn pause(&mut self) -> Result<(), Failure> {
        if self.buffer.is_empty() { Ok(()) } else { self.finish() }
    }

    /// Writes the rest, if the destination is open. A run that failed earlier leaves the destination as it
    /// is.
    pub fn finish_if_open(&mut self) -> Result<(), Failure> {
        if self.sink.is_some() { self.finish() } else { Ok(()) }
    }

    /// Writes the rest.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.write_out().and_then(|()| self.sink()?.flush()).map_err(|error| self.failed(error))
    }

    /// Writes the rest, and gives the file its name. No result may follow.
    pub fn complete(&mut self) -> Result<(), Failure> {
        self.finish()?;
        if let Some(Sink::Client(file)) = &mut self.sink {
            let done = file.complete();
            return done.map_err(|error| self.failed(error));
        }
        match self.unfinished.take() {
            Some(file) => file.rename().map_err(|error| self.failed(error)),
            None => Ok(()),
        }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let written = self.write_now(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        written
    }

    /// Writes without the buffer. A bar of progress on the same terminal makes way.
    fn write_now(&mut self, bytes: &[u8]) -> io::Result<()> {
        let terminal = self.terminal && !bytes.is_empty();
        let sink = self.sink()?;
        if terminal {
            progress::aside(|| sink.write_all(bytes).and_then(|()| sink.flush()))
        } else {
            sink.write_all(bytes)
        }
    }

    /// Returns the failure for an error of [`Write`].
    pub fn failed(&self, source: io::Error) -> Failure {
        match &self.file {
            None => stdout_failed(source),
            Some(path) => Failure::Output { name: format!("`{}`", path.display()), source },
        }
    }
}

/// Writes all slices, as many as possible in one call of the system.
fn write_all(sink: &mut dyn Write, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Slices without bytes are left out, because no write can end them.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match sink.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the failure for an error of standard output. A closed pipe is no error.
pub fn stdout_failed(source: io::Error) -> Failure {
    match source.kind() {
        io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
        _ => Failure::Output { name: "standard output".into(), source },
    }
}

/// For encoders that write their own lines.
impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_out()?;
        }
        Ok(bytes.len())
    }

    /// Does nothing. [`Out::pause`] and [`Out::finish`] decide when to write.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
