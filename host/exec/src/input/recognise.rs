//! The layout of an input, found in its first bytes before it is read.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

use warpath_core::error::InputError;
use warpath_core::foreign::Foreign;

use super::column::{TableFormat, TextColumn};
use super::decoded::{Compression, Decoded};
use super::source::{FindsRecords, Source, stdin_file};
use super::values::{ValueLayout, ValueLines};

/// The bytes of a first look, and of a second one where they do not decide.
const FIRST_BYTES: usize = 4 << 10;
const MOST_BYTES: usize = 64 << 10;

impl Source {
    /// Recognises the layout of the JSON values in this input by its first bytes. An input of another layout
    /// than lines becomes [`Source::Values`], and a table in a file becomes [`Source::Column`], whose rows
    /// are records.
    ///
    /// Standard input is read as far as it is necessary: to the end of the first line, to the start of the
    /// second one after an array of objects, or 64 KiB. A reader is looked at when it is read. Parts of
    /// files, stores, followed files, and compressed text of readers and in memory have lines.
    ///
    /// # Errors
    /// [`InputError::Io`] for an input that cannot be read. What is wrong with its contents comes later.
    pub fn recognised(self) -> Result<Self, InputError> {
        let name = self.name();
        let failed = |source| InputError::Io { name: name.clone(), source };
        let (this, layout) = match self {
            Self::File(path) if path.is_file() => {
                let file = File::open(&path).map_err(failed)?;
                match of_file(&name, file).map_err(failed)? {
                    Found::Text(layout) => (Self::File(path), layout),
                    Found::Table(format) => {
                        return Ok(Self::Column(Box::new(Self::File(path)), TextColumn::rows(format)));
                    }
                }
            }
            Self::Bytes(of, bytes) => {
                let all: &[u8] = bytes.as_ref();
                let head = &all[..all.len().min(MOST_BYTES)];
                let layout = match Compression::of_input(head, &of) {
                    Compression::None => ValueLayout::of(head, head.len() == all.len()),
                    _ => ValueLayout::Lines,
                };
                (Self::Bytes(of, bytes), layout)
            }
            Self::Stdin => match stdin_file() {
                Some(file) => (Self::Stdin, of_stdin(&name, file).map_err(failed)?),
                None => {
                    let (reader, layout) = of_reader(Box::new(io::stdin())).map_err(failed)?;
                    (Self::Reader(name.clone(), reader), layout)
                }
            },
            // It may be one of many objects, each of which is opened when its turn comes.
            Self::Reader(of, reader) => {
                return Ok(Self::Reader(of, Box::new(Recognising::Waiting(reader))));
            }
            other => return Ok(other),
        };
        Ok(match layout {
            ValueLayout::Lines => this,
            layout => Self::Values(Box::new(this), layout),
        })
    }

    /// The same input with each array as one record, in place of its elements.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn with_whole_arrays(self) -> Self {
        match self {
            Self::Values(inner, ValueLayout::Elements) => Self::Values(inner, ValueLayout::Values),
            other => other,
        }
    }

    /// The path whose matches are the records of this input, if it is one.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn records(&self) -> Option<&Arc<dyn FindsRecords>> {
        match self {
            Self::Records(_, lines) => Some(&lines.0),
            _ => None,
        }
    }

    /// The layout of the values, as text, if it is not lines.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn layout(&self) -> Option<&'static str> {
        match self {
            Self::Values(_, layout) => Some(layout.name()),
            Self::Column(_, TextColumn { name: None, format: TableFormat::Parquet, .. }) => {
                Some("the rows of a Parquet table")
            }
            Self::Column(_, TextColumn { name: None, .. }) => Some("the rows of an Arrow table"),
            Self::Records(inner, _) => inner.layout(),
            _ => None,
        }
    }
}

/// True if more bytes may decide otherwise.
fn is_undecided(head: &[u8], is_whole: bool) -> bool {
    if is_whole {
        return false;
    }
    // An array on one line may be the whole input, or the first of many lines.
    ValueLayout::of(head, false) != ValueLayout::of(head, true) || !head.contains(&b'\n')
}

/// Reads the first bytes, as many as decide, and returns true if they are all.
fn head_of(reader: &mut dyn Read) -> io::Result<(Vec<u8>, bool)> {
    let (mut head, mut buffer) = (Vec::new(), vec![0; FIRST_BYTES]);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((head, true)),
            Ok(count) => head.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if head.len() >= MOST_BYTES || !may_be_compressed(&head) && !is_undecided(&head, false) {
            return Ok((head, false));
        }
        buffer.resize(MOST_BYTES, 0);
    }
}

/// True for data that does not begin as text does.
fn may_be_compressed(head: &[u8]) -> bool {
    Compression::of(head) != Compression::None
}

/// The contents of a file.
enum Found {
    Text(ValueLayout),
    Table(TableFormat),
}

fn of_file(name: &str, mut file: File) -> io::Result<Found> {
    let (head, is_whole) = head_of(&mut (&mut file).take(MOST_BYTES as u64))?;
    // The limit of a look is no end.
    let is_whole = is_whole && file.metadata().is_ok_and(|metadata| metadata.len() <= head.len() as u64);
    if Compression::of_input(&head, name) != Compression::None {
        return decoded(name, Box::new(Cursor::new(head).chain(file))).map(Found::Text);
    }
    Ok(match Foreign::of(&head) {
        Some(Foreign::Parquet) if !is_part(&file)? => Found::Table(TableFormat::Parquet),
        Some(Foreign::ArrowFile | Foreign::ArrowStream) => Found::Table(TableFormat::Arrow),
        _ => Found::Text(ValueLayout::of(&head, is_whole)),
    })
}

/// True for a part of a store.
#[cfg(feature = "store")]
fn is_part(file: &File) -> io::Result<bool> {
    super::part::PartText::is_in(file)
}

/// True for a part of a store. Without stores, there are none.
#[cfg(not(feature = "store"))]
fn is_part(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// The layout of compressed data; that of lines for data that cannot be decompressed, which is reported when
/// it is read.
fn decoded(name: &str, raw: Box<dyn Read + Send>) -> io::Result<ValueLayout> {
    let Ok(mut text) = Decoded::new(name.to_owned(), raw) else { return Ok(ValueLayout::Lines) };
    match head_of(&mut text) {
        Ok((head, is_whole)) => Ok(ValueLayout::of(&head, is_whole)),
        Err(_) => Ok(ValueLayout::Lines),
    }
}

/// The layout of standard input, which is a file: it is read from its position, which stays.
fn of_stdin(name: &str, mut file: File) -> io::Result<ValueLayout> {
    use std::io::{Seek, SeekFrom};
    let position = file.stream_position()?;
    let (head, is_whole) = head_of(&mut file)?;
    let layout = match Compression::of_input(&head, name) {
        Compression::None => Ok(ValueLayout::of(&head, is_whole)),
        _ => {
            let rest = file.try_clone()?;
            decoded(name, Box::new(Cursor::new(head).chain(rest)))
        }
    };
    file.seek(SeekFrom::Start(position))?;
    layout
}

/// The layout of what a reader gives, and a reader that gives it once more. Compressed text that may wait is
/// not decompressed for a look: it has the layout of lines.
fn of_reader(mut reader: Box<dyn Read + Send>) -> io::Result<(Box<dyn Read + Send>, ValueLayout)> {
    let (head, is_whole) = head_of(&mut reader)?;
    let layout = match Compression::of(&head) {
        Compression::None => ValueLayout::of(&head, is_whole),
        _ => ValueLayout::Lines,
    };
    Ok((Box::new(Cursor::new(head).chain(reader)), layout))
}

/// A reader whose layout is recognised with the first read. It gives lines.
enum Recognising {
    Waiting(Box<dyn Read + Send>),
    Lines(Box<dyn Read + Send>),
}

impl Read for Recognising {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if let Self::Waiting(reader) = self {
            let (reader, layout) = of_reader(std::mem::replace(reader, Box::new(io::empty())))?;
            *self = Self::Lines(match layout {
                ValueLayout::Lines => reader,
                layout => Box::new(ValueLines::new(reader, layout)),
            });
        }
        match self {
            Self::Waiting(reader) | Self::Lines(reader) => reader.read(room),
        }
    }
}
