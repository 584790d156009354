//! Where answers go: standard output or a file.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::failure::Failure;

/// Bytes that are gathered before they are written. They are written at line ends, which standard output
/// passes on as they are.
const BUFFER_BYTES: usize = 256 << 10;
/// Who waits at the other end of a pipe sees answers this old, however few there are.
const OLDEST: Duration = Duration::from_millis(100);

/// The answers' destination. It is opened when the first answer, or the end, is there: a run that fails
/// before it has read anything overwrites nothing.
pub struct Out {
    file: Option<PathBuf>,
    sink: Option<Box<dyn Write>>,
    /// What has not been written yet.
    pub buffer: Vec<u8>,
    terminal: bool,
    flushed: Instant,
}

impl Out {
    /// Standard output, or a file.
    pub fn new(file: Option<&Path>) -> Self {
        let file = file.filter(|path| *path != Path::new("-")).map(Path::to_owned);
        let terminal = file.is_none() && io::stdout().is_terminal();
        Self {
            file,
            sink: None,
            buffer: Vec::with_capacity(BUFFER_BYTES + (64 << 10)),
            terminal,
            flushed: Instant::now(),
        }
    }

    /// Whether answers go to a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Opens the destination, if that has not been done yet.
    pub fn open(&mut self) -> Result<(), Failure> {
        if self.sink.is_none() {
            let sink: Box<dyn Write> = match &self.file {
                Some(path) => Box::new(File::create(path).map_err(|error| self.failed(error))?),
                None => Box::new(io::stdout().lock()),
            };
            self.sink = Some(sink);
        }
        Ok(())
    }

    /// To be called after each line: writes if much is waiting.
    #[inline]
    pub fn line_end(&mut self) -> Result<(), Failure> {
        if self.buffer.len() >= BUFFER_BYTES { self.write() } else { Ok(()) }
    }

    /// To be called after each batch: writes if somebody is waiting.
    pub fn batch_end(&mut self) -> Result<(), Failure> {
        if !self.buffer.is_empty() && (self.terminal || self.flushed.elapsed() >= OLDEST) {
            self.write()?;
        }
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.write()?;
        match self.sink.as_mut().map(|sink| sink.flush()) {
            Some(Err(error)) => Err(self.failed(error)),
            _ => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), Failure> {
        self.open()?;
        let written = match &mut self.sink {
            Some(sink) => sink.write_all(&self.buffer),
            None => Ok(()),
        };
        self.buffer.clear();
        self.flushed = Instant::now();
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> Failure {
        match &self.file {
            None if source.kind() == io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            None => Failure::Output { name: "standard output".into(), source },
            Some(path) => Failure::Output { name: format!("`{}`", path.display()), source },
        }
    }
}

/// For writers that bring their own lines. Errors of the destination come out of [`Out::line_end`].
impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
