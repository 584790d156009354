//! The text of a part of a store, built again group by group.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use warpath_core::cancel::{Interrupt, Stop};
use warpath_core::error::InputError;
use warpath_core::pool::stream::{Limits, Stream, Turn, Work};
use warpath_core::rows::RowSet;
use warpath_core::stamp::hash;
use warpath_part::count::count;
use warpath_part::file::{Error as PartError, Reader, is_part};
use warpath_part::group::Group;
use warpath_part::partial::{Error as PartialError, lines, lines_of, partial};
use warpath_part::select::{Candidates, candidates};
use warpath_part::text::restore;
use warpath_plan::PartColumns;

use super::buffers::Buffers;
use super::bytes::InputBytes;
use super::decoded::Decoded;
use super::feed::Feed;
use super::held::HeldLines;
use super::plain::Cut;
use super::ranged::StoredFile;
use super::selection::Selected;
use super::sequence::Sequence;
use super::text::{Counts, Extract, KnownSchema, Text};
use crate::store::{has_schema, schema_of};

/// Whole lines of selected rows are built alone if at most one row in `FEW_ROWS` is selected. Otherwise the
/// text of the group is built and compared with its checksum.
const FEW_ROWS: u64 = 4;

/// The fact of a part that is the index of a file, and has no lines of its own.
pub(crate) const EXTERNAL: (&str, &str) = ("text", "external");

/// The fact of a part whose first line is not the first one of a text. A byte order mark before it is a part
/// of the line.
pub(crate) const WITHIN: (&str, &str) = ("begin", "within");

/// True if the first line of a part is not the first one of a text.
pub(crate) fn begins_within(part: &Reader) -> bool {
    has_fact(part, WITHIN)
}

fn has_fact(part: &Reader, fact: (&str, &str)) -> bool {
    part.facts().iter().any(|(key, value)| (key.as_str(), value.as_str()) == fact)
}

/// The reason why a part is not read as lines: it is an index. `None` for other parts.
pub(crate) fn has_no_lines(part: &Reader) -> Option<&'static str> {
    has_fact(part, EXTERNAL).then_some("is the index of a file, and has no lines; name that file")
}

/// Refuses a part without lines.
fn check_lines(part: &Reader, name: &str) -> Result<(), InputError> {
    match has_no_lines(part) {
        None => Ok(()),
        Some(reason) => Err(InputError::Part { name: name.to_owned(), reason: reason.to_owned() }),
    }
}

/// Reads the text of a part. Several threads build it, and the reader takes it in order.
pub(crate) struct PartText {
    groups: Stream<Groups>,
    text: Vec<u8>,
    taken: usize,
    /// True if the first line is not the first one of a text.
    pub begins_within: bool,
}

/// The groups of a part as work.
struct Groups {
    reader: Arc<Reader>,
    name: String,
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
        text_of(&self.reader, group).map_err(|reason| InputError::Part { name: self.name.clone(), reason })
    }
}

/// Bytes of text of a part.
pub(crate) fn text_bytes(reader: &Reader) -> u64 {
    (0..reader.groups()).filter_map(|group| reader.size(group)).map(|size| size.text_len).sum()
}

/// The text of a group, compared with its checksum.
pub(crate) fn text_of(reader: &Reader, number: usize) -> Result<Vec<u8>, String> {
    let group = reader.group(number).map_err(|error| error.to_string())?;
    text_of_group(reader, number, &group)
}

/// The text of a group that was read, compared with its checksum.
pub(crate) fn text_of_group(reader: &Reader, number: usize, group: &Group) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    restore(reader.tree(), group, 0..group.rows, &mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 != group.text_len || hash(&text) != group.text_hash {
        return Err(format!("group {number} does not give its text back"));
    }
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
        reader.map_or(0, |reader| text_bytes(&reader))
    }

    /// The text of a file that is a part. At most `threads` threads build it.
    pub fn of_file(file: File, name: &str, threads: usize) -> Result<Self, InputError> {
        let reader = Reader::open(file).map_err(|error| input_error(name, error))?;
        Self::of(reader.into(), name, threads)
    }

    pub fn of(reader: Arc<Reader>, name: &str, threads: usize) -> Result<Self, InputError> {
        check_lines(&reader, name)?;
        let groups = 0..reader.groups();
        let (threads, begins_within) = (threads.max(1), begins_within(&reader));
        let limits = Limits { threads, jobs: threads, slow_start: None };
        let work = Groups { reader, name: name.to_owned() };
        let groups = Stream::start(work, groups, limits, Interrupt::default());
        let groups = groups.map_err(|error| input_error(name, PartError::Io(io::Error::other(error))))?;
        Ok(Self { groups, text: Vec::new(), taken: 0, begins_within })
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

/// A part of a store whose groups are read one by one, each by the thread that evaluates it.
pub(crate) struct StoredPart {
    reader: Arc<Reader>,
    name: Arc<str>,
    /// The columns by which it is read; `None` for all lines.
    columns: Option<Arc<PartColumns>>,
}

impl StoredPart {
    /// Opens a file that is a part.
    pub fn open(file: File, name: &str) -> Result<Self, InputError> {
        let reader = Reader::open(file).map_err(|error| input_error(name, error))?;
        check_lines(&reader, name)?;
        Ok(Self { reader: reader.into(), name: name.into(), columns: None })
    }

    /// Opens a part that is no file of this machine.
    pub fn of_stored(part: &StoredFile) -> Result<Self, InputError> {
        let reader = part.open().map_err(|error| input_error(part.name(), error))?;
        check_lines(&reader, part.name())?;
        Ok(Self { reader, name: part.name().into(), columns: None })
    }

    /// Sets the columns by which the part is read.
    pub fn by_columns(self, columns: Option<Arc<PartColumns>>) -> Self {
        Self { columns, ..self }
    }

    /// All lines, read from start to end. At most `threads` threads build them.
    pub fn into_sequence(self, threads: usize) -> Result<Sequence, InputError> {
        let (name, is_begin) = (self.name.clone(), !begins_within(&self.reader));
        Ok(Sequence::new(name, Feed::Direct(self.into_decoded(threads)?)).with_mark(is_begin))
    }

    /// The text. At most `threads` threads build it.
    pub(super) fn into_decoded(self, threads: usize) -> Result<Decoded, InputError> {
        let name = self.name.to_string();
        Ok(Decoded::plain(name, self.into_text(threads)?))
    }

    /// The text, and the fact of where it begins. At most `threads` threads build it.
    pub(super) fn into_text(self, threads: usize) -> Result<PartText, InputError> {
        PartText::of(self.reader, &self.name, threads)
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.reader.groups()
    }

    /// The reader of the part.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The number of rows at the beginning of a group whose lines have about `bytes` bytes; at least one.
    /// `None` if these are all rows, or the part is not read line by line.
    pub fn first_rows(&self, group: usize, bytes: usize) -> Option<u32> {
        let by_lines = |columns: &PartColumns| {
            columns.condition.is_none() && columns.counted.is_none() && !columns.schema
        };
        let size = self.reader.size(group).filter(|_| self.columns.as_deref().is_none_or(by_lines))?;
        let rows = (bytes as u64).saturating_mul(size.rows.into()) / size.text_len.max(1);
        u32::try_from(rows.max(1)).ok().filter(|rows| *rows < size.rows)
    }

    /// The wanted contents of a group: lines as texts of about `size` bytes, or numbers.
    pub fn read(&self, group: usize, slice: Slice, size: usize, buffers: &Buffers) -> Cut<'static> {
        let all = || text_of(&self.reader, group).map(Rows::All);
        let wants_schema = self.columns.as_deref().is_some_and(|columns| columns.schema);
        let rows = match (slice, self.columns.as_deref()) {
            _ if wants_schema && has_schema(&self.reader) => self.schema(group),
            (Slice::First(count), columns) => self.first(group, count, columns),
            (_, Some(columns)) => self.by(columns, group).and_then(|rows| rows.map_or_else(all, Ok)),
            (_, None) => all(),
        };
        match rows {
            Ok(Rows::All(text)) => {
                let begin = if let Slice::After(count) = slice { end_of(&text, count) } else { 0 };
                self.cut(group, text, begin, None, size, buffers)
            }
            Ok(Rows::Some(text, rows)) => self.cut(group, text, 0, Some(&rows), size, buffers),
            Ok(Rows::Counted(matches)) => {
                let lines = self.reader.size(group).map_or(0, |size| size.rows);
                let counts = Counts { lines, matches };
                Cut { texts: vec![Text::counted(counts, self.offset(group))], ..Cut::default() }
            }
            Ok(Rows::Schema(known)) => {
                let text = Text::kept(Arc::new([]), self.offset(group));
                Cut { texts: vec![text.with_extract(Extract::Schema(Arc::new(known)))], ..Cut::default() }
            }
            Err(reason) => {
                let error = InputError::Part { name: self.name.to_string(), reason };
                Cut { error: Some(error.into()), ..Cut::default() }
            }
        }
    }

    /// The lines of the first rows of a group.
    fn first(&self, group: usize, count: u32, columns: Option<&PartColumns>) -> Result<Rows, String> {
        let members = columns.and_then(|columns| columns.members.as_ref());
        let mut text = Vec::new();
        lines(&self.reader, group, 0..count, members, &mut text).map_err(|error| error.to_string())?;
        Ok(Rows::All(text))
    }

    /// The schema of the part, with its first group.
    fn schema(&self, group: usize) -> Result<Rows, String> {
        let lines = self.reader.size(group).map_or(0, |size| size.rows);
        let tree = if group == 0 { schema_of(&self.reader)?.map(Arc::new) } else { None };
        Ok(Rows::Schema(KnownSchema { lines, tree }))
    }

    /// The wanted contents of a group, by its columns; `None` for its whole text.
    fn by(&self, columns: &PartColumns, group: usize) -> Result<Option<Rows>, String> {
        let failed = |error: PartialError| error.to_string();
        let PartColumns { members, condition, counted, .. } = columns;
        if let Some(paths) = counted
            && let Some(matches) = count(&self.reader, group, paths).map_err(failed)?
        {
            return Ok(Some(Rows::Counted(matches)));
        }
        let mut lines = Vec::new();
        if let Some(condition) = condition {
            match candidates(&self.reader, group, condition).map_err(failed)? {
                Candidates::None => return Ok(Some(Rows::Counted(Vec::new()))),
                Candidates::Some(rows) if members.is_none() && rows.count() > rows.rows() / FEW_ROWS => {}
                Candidates::Some(rows) => {
                    lines_of(&self.reader, group, &rows, members.as_ref(), &mut lines).map_err(failed)?;
                    return Ok(Some(Rows::Some(lines, rows)));
                }
                Candidates::All => {}
            }
        }
        let Some(members) = members else { return Ok(None) };
        partial(&self.reader, group, members, &mut lines).map_err(failed)?;
        Ok(Some(Rows::All(lines)))
    }

    /// The offset of a group in the text of the part.
    fn offset(&self, group: usize) -> u64 {
        (0..group).filter_map(|before| self.reader.size(before)).map(|size| size.text_len).sum()
    }

    /// Cuts lines of a group into texts: all lines from byte `begin` on, or those of some rows.
    fn cut(
        &self,
        group: usize,
        text: Vec<u8>,
        begin: usize,
        rows: Option<&RowSet>,
        size: usize,
        buffers: &Buffers,
    ) -> Cut<'static> {
        // A byte order mark is no part of the text only before the first line of a text.
        let is_begin = group == 0 && rows.is_none_or(|rows| rows.get(0)) && !begins_within(&self.reader);
        let (name, offset) = (self.name.clone(), self.offset(group));
        let mut lines = HeldLines::within(name, InputBytes::from(text), offset, is_begin);
        lines.skip_to(begin);
        let mut cut = Cut::default();
        loop {
            match lines.next_within(size, buffers.longest()) {
                Ok(Some(text)) => cut.texts.push(text),
                Ok(None) => break,
                Err(error) => {
                    cut.error = Some(error);
                    break;
                }
            }
        }
        if let Some(rows) = rows {
            let before = (0..group).filter_map(|before| self.reader.size(before));
            let first = before.map(|size| u64::from(size.rows)).sum();
            cut.texts = numbered(cut.texts, rows, first);
        }
        cut
    }
}

/// The rows of a group that a job reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slice {
    All,
    /// This number of rows at the beginning.
    First(u32),
    /// The rows after this number of rows.
    After(u32),
}

/// The end of the first lines of a text.
fn end_of(text: &[u8], lines: u32) -> usize {
    let last = (lines as usize).checked_sub(1);
    let newline = last.and_then(|last| memchr::memchr_iter(b'\n', text).nth(last));
    newline.map_or(text.len(), |newline| newline + 1)
}

/// The contents of a group.
enum Rows {
    /// A line for each row.
    All(Vec<u8>),
    /// A line for each of these rows.
    Some(Vec<u8>, RowSet),
    /// The number of values of each path; empty if there are none.
    Counted(Vec<u64>),
    Schema(KnownSchema),
}

/// Texts whose lines are these rows, with their numbers in the part. The first row of the group has the
/// number `first`. The texts count all rows of the group together.
pub(crate) fn numbered(texts: Vec<Text<'static>>, rows: &RowSet, first: u64) -> Vec<Text<'static>> {
    let (mut ones, mut before, last) = (rows.ones(), 0, texts.len().saturating_sub(1));
    let mut all = Vec::with_capacity(texts.len());
    for (at, text) in texts.into_iter().enumerate() {
        let bytes = text.bytes();
        let ended = memchr::memchr_iter(b'\n', bytes).count();
        let lines = ended + usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
        let own: Vec<u64> = ones.by_ref().take(lines).collect();
        let end = match own.last() {
            Some(row) if at < last => row + 1,
            _ => rows.rows(),
        };
        let left_out = end.saturating_sub(before + own.len() as u64);
        before = end;
        let selected = Selected::of_rows(own.into_iter().map(|row| first + row), left_out);
        all.push(text.with_extract(Extract::Lines(Arc::new(selected))));
    }
    all
}

fn input_error(name: &str, error: PartError) -> InputError {
    let name = name.to_owned();
    match error {
        PartError::Io(source) => InputError::Io { name, source },
        error => InputError::Part { name, reason: error.to_string() },
    }
}
