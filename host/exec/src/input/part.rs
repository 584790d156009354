//! The text of a part of a store, built again group by group.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use warpath_core::cancel::{Interrupt, Stop};
use warpath_core::error::InputError;
use warpath_core::pool::stream::{Limits, Stream, Turn, Work};
use warpath_core::projection::Projection;
use warpath_core::stamp::hash;
use warpath_part::file::{Error as PartError, Reader, is_part};
use warpath_part::partial::partial;
use warpath_part::text::restore;

/// Reads the text of a part. Several threads build it, and the reader takes it in order.
pub(crate) struct PartText {
    groups: Stream<Groups>,
    text: Vec<u8>,
    taken: usize,
}

/// The groups of a part as work.
struct Groups {
    reader: Reader,
    name: String,
    members: Option<Arc<Projection>>,
}

impl Work for Groups {
    type Source = Range<usize>;
    type Job = usize;
    type Made = Result<Vec<u8>, InputError>;
    type State<'a> = ();

    fn next(&self, source: &mut Range<usize>, _stop: &Stop) -> Option<usize> {
        source.next()
    }

    fn may_go_on(&self, source: &Range<usize>) -> bool {
        !source.is_empty()
    }

    fn make(&self, _turn: Turn, (): &mut (), group: usize) -> Self::Made {
        let text = match &self.members {
            Some(members) => partial_of(&self.reader, group, members),
            None => text_of(&self.reader, group),
        };
        text.map_err(|reason| InputError::Part { name: self.name.clone(), reason })
    }
}

/// The text of a group, compared with its checksum.
pub(crate) fn text_of(reader: &Reader, number: usize) -> Result<Vec<u8>, String> {
    let group = reader.group(number).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    restore(reader.tree(), &group, 0..group.rows, &mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 != group.text_len || hash(&text) != group.text_hash {
        return Err(format!("group {number} does not give its text back"));
    }
    Ok(text)
}

/// The lines of a group with some members of their records.
fn partial_of(reader: &Reader, number: usize, members: &Projection) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    partial(reader, number, members, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

impl PartText {
    /// True if the file is a part: a Parquet file with the key of Warpath.
    pub fn is_in(file: &File) -> io::Result<bool> {
        is_part(file).map_err(io::Error::other)
    }

    /// Bytes of text of a part; 0 if it cannot be read. Who reads it reports why.
    pub fn bytes(file: &File) -> u64 {
        let reader = file.try_clone().ok().and_then(|file| Reader::open(file).ok());
        reader.map_or(0, |reader| {
            (0..reader.groups()).filter_map(|group| reader.size(group)).map(|size| size.text_len).sum()
        })
    }

    /// The text of a file that is a part, or lines with these members alone. At most `threads` threads build
    /// it.
    pub fn of_file(
        file: File,
        name: &str,
        threads: usize,
        members: Option<Arc<Projection>>,
    ) -> Result<Self, InputError> {
        let reader = Reader::open(file).map_err(|error| input_error(name, error))?;
        Self::of(reader, name, threads, members)
    }

    pub fn of(
        reader: Reader,
        name: &str,
        threads: usize,
        members: Option<Arc<Projection>>,
    ) -> Result<Self, InputError> {
        let groups = 0..reader.groups();
        let threads = threads.max(1);
        let limits = Limits { threads, jobs: threads, slow_start: None };
        let work = Groups { reader, name: name.to_owned(), members };
        let groups = Stream::start(work, groups, limits, Interrupt::default());
        let groups = groups.map_err(|error| input_error(name, PartError::Io(io::Error::other(error))))?;
        Ok(Self { groups, text: Vec::new(), taken: 0 })
    }
}

impl Read for PartText {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.text.len() {
            match self.groups.next() {
                None => return Ok(0),
                Some(Ok(Ok(text))) => (self.text, self.taken) = (text, 0),
                Some(Ok(Err(error))) => return Err(error.into()),
                Some(Err(error)) => return Err(io::Error::other(error)),
            }
        }
        let read = (&self.text[self.taken..]).read(room)?;
        self.taken += read;
        Ok(read)
    }
}

fn input_error(name: &str, error: PartError) -> InputError {
    let name = name.to_owned();
    match error {
        PartError::Io(source) => InputError::Io { name, source },
        error => InputError::Part { name, reason: error.to_string() },
    }
}
