//! Selected lines of a plain file, read without the others.
//!
//! An index says where each block of 64 lines begins. Only blocks with selected lines are read, and
//! adjacent blocks are read together. The selected lines are moved together, so that they form a text like
//! any other. In addition, the text records which lines of the file they are:
//!
//! ```text
//! file      ...|{"id":0}\n{"id":1}\n{"id":2}\n...\n{"id":63}\n|{"id":64}\n...\n{"id":127}\n|...       blocks
//! selected                  x         x                           x
//! text          {"id":1}\n{"id":2}\n{"id":64}\n
//! runs          line 1, byte 9 of the file  line 64, byte 582
//! ```
//!
//! Other lines are dropped step by step, however long they are. The selected lines of one block are in memory
//! together.
//!
//! The file is checked once, before, to be the one of the index. Adjacent blocks that do not fit each other
//! are an error. A block that begins at a wrong line is not detected if no neighbour is read. This is
//! possible only if the file was written to after the check.

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;
use warpath_core::error::{Error, IndexError, InputError};
use warpath_core::rows::RowSet;
use warpath_plan::Selected as SelectedFacts;
use warpath_shared::units::ByteOffset;

use super::buffers::{Buffers, Lent};
use super::plain::{Cut, PlainFile};
use super::selection::{LineRun, Selected};
use super::source::Source;
use super::text::{Counts, Extract, Text};

/// Lines of a block.
pub(crate) const BLOCK_LINES: u64 = 64;
/// The most bytes that are read at once: a few blocks, which stay in a cache while their lines are found.
const MOST_STEP: usize = 256 << 10;
/// The fewest bytes that are read at once, for short partitions.
const LEAST_STEP: usize = 64;

/// The lines of a plain file, as an index has them.
#[derive(Clone, Debug)]
pub(crate) struct FileLines {
    /// The name of the index.
    pub index: Arc<str>,
    pub file: Arc<PlainFile>,
    /// The name of the file.
    pub name: Arc<str>,
    /// Lines that the index has: the first ones.
    pub indexed: u64,
    /// All lines.
    pub rows: u64,
    /// The offset of each block, and last the end of the last line.
    pub offsets: Arc<[u64]>,
}

/// Selected lines of a plain file.
#[derive(Debug)]
pub(crate) struct Selection {
    of: FileLines,
    /// The selected lines.
    rows: RowSet,
    /// The line from which line numbers count: the first of a part of the file.
    first: u64,
    lines: u64,
    blocks: u64,
    bytes: u64,
    /// The number of other lines that have one result each, if results are only counted.
    known: u64,
}

impl Selection {
    /// Selects lines that an index has, and, with `others`, all that it lacks.
    pub fn new(of: FileLines, rows: RowSet, others: bool, sources: &[Source]) -> Result<Self, Error> {
        let offsets = of.offsets.clone();
        let rows = extended(rows, &of, others);
        // A byte order mark is not part of the text.
        if offsets.first() != Some(&of.file.text_begin()?) {
            return Err(of.damaged("its first line does not begin at the start of the text"));
        }
        if offsets.len() as u64 != of.rows.div_ceil(BLOCK_LINES) + 1 || !offsets.is_sorted() {
            return Err(of.damaged("its lines are not those of the text"));
        }
        let mut this = Self { of, rows, first: 0, lines: 0, blocks: 0, bytes: 0, known: 0 };
        if let Some(range) = sources.first().and_then(Source::range) {
            this.restrict(range)?;
        }
        let (mut lines, mut blocks, mut bytes) = (0, 0, 0);
        for block in 0..offsets.len() as u64 - 1 {
            let mask = this.mask(block);
            if mask != 0 {
                lines += u64::from(mask.count_ones());
                blocks += 1;
                bytes += offsets[block as usize + 1] - offsets[block as usize];
            }
        }
        (this.lines, this.blocks, this.bytes) = (lines, blocks, bytes);
        Ok(this)
    }

    /// Adds a number of lines of which one result each is known. They are not selected.
    pub fn with_known(self, known: u64) -> Self {
        Self { known, ..self }
    }

    /// True if some results are known.
    pub fn has_known(&self) -> bool {
        self.known > 0
    }

    /// The results that are known, as a text without lines.
    fn known(&self) -> Option<Text<'static>> {
        let counts = Counts { lines: 0, matches: vec![self.known] };
        (self.known > 0).then(|| Text::counted(counts, self.of.offsets.first().copied().unwrap_or(0)))
    }

    /// The input's name.
    pub fn name(&self) -> &Arc<str> {
        &self.of.name
    }

    /// Facts about the selection, for the plan.
    pub fn facts(&self) -> SelectedFacts {
        let (lines, blocks) = ((self.lines, self.of.rows), (self.blocks, self.block_count()));
        SelectedFacts::new(self.of.index.to_string(), lines, blocks, self.bytes)
    }

    /// Leaves the lines that begin in a range of the file.
    fn restrict(&mut self, range: Range<u64>) -> Result<(), Error> {
        let (first, end) = (self.line_at(range.start)?, self.line_at(range.end)?);
        let mut before = RowSet::all(self.rows.rows());
        before.truncate(first);
        self.rows -= &before;
        self.rows.truncate(end);
        self.first = first;
        Ok(())
    }

    /// The first line that begins at a byte or after it.
    fn line_at(&self, at: u64) -> Result<u64, Error> {
        let offsets = &self.of.offsets;
        // The first line begins after a byte order mark, and is one of the part that begins at byte 0.
        if (1..=offsets.first().copied().unwrap_or(0)).contains(&at) {
            return Ok(1.min(self.of.rows));
        }
        let block = offsets.partition_point(|offset| *offset < at);
        match offsets.get(block) {
            None => return Ok(self.of.rows),
            Some(offset) if block == 0 || *offset == at => {
                return Ok((block as u64 * BLOCK_LINES).min(self.of.rows));
            }
            Some(_) => {}
        }
        // A line begins after each newline. The first line of the block begins before `at`.
        let (mut from, mut line) = (offsets[block - 1], (block as u64 - 1) * BLOCK_LINES + 1);
        let mut bytes = vec![0; MOST_STEP];
        while from + 1 < at {
            let len = bytes.len().min(usize::try_from(at - 1 - from).unwrap_or(bytes.len()));
            self.of.file.read_exact(&mut bytes[..len], from)?;
            line += memchr::memchr_iter(b'\n', &bytes[..len]).count() as u64;
            from += len as u64;
        }
        Ok(line)
    }

    fn block_count(&self) -> u64 {
        self.of.rows.div_ceil(BLOCK_LINES)
    }

    /// The selected lines of a block, one bit for each.
    fn mask(&self, block: u64) -> u64 {
        const { assert!(BLOCK_LINES == 64, "a block is a word of a set of rows") };
        self.rows.words().get(block as usize).copied().unwrap_or(0)
    }

    /// The first block from `from` on that has selected lines.
    fn next_block(&self, from: u64) -> Option<u64> {
        (from..self.block_count()).find(|block| self.mask(*block) != 0)
    }

    /// The blocks of the next part, from a block on. About `size` bytes of them are read.
    pub fn part(&self, from: u64, size: usize) -> Option<Range<u64>> {
        let offsets = &self.of.offsets;
        let first = self.next_block(from)?;
        let (mut block, mut bytes) = (first, 0);
        loop {
            bytes += offsets[block as usize + 1] - offsets[block as usize];
            match self.next_block(block + 1) {
                Some(next) if bytes < size as u64 => block = next,
                _ => return Some(first..block + 1),
            }
        }
    }

    /// Reads the lines of a part of about `size` bytes. No text is longer than `limit` bytes. A part without
    /// blocks has the results that are known.
    ///
    /// A read that fails loses nothing before it: whole lines come first, then the error.
    pub fn read(
        &self,
        blocks: Range<u64>,
        size: usize,
        limit: usize,
        buffers: &Arc<Buffers>,
    ) -> Cut<'static> {
        if blocks.is_empty() {
            return Cut { texts: self.known().into_iter().collect(), ..Cut::default() };
        }
        let mut packer = match Packer::new(self, size, limit, buffers) {
            Ok(packer) => packer,
            Err(error) => return Cut { error: Some(error), ..Cut::default() },
        };
        let error = packer.read(blocks).err();
        Cut { texts: packer.finish(), error, ..Cut::default() }
    }
}

/// The text of the lines at the start of a buffer; `None` if there are none.
fn text_of(buffer: Lent, len: usize, selected: Selected) -> Option<Text<'static>> {
    let first = selected.runs.first()?.file_at;
    Some(Text::lent(buffer, 0..len, first).with_extract(Extract::Lines(Arc::new(selected))))
}

/// Moves lines together.
///
/// ```text
/// buffer   whole lines, to be yielded │ the start of a selected line │ the last read
///          0                          kept                           base
/// ```
///
/// ```
struct Packer<'a> {
    of: &'a Selection,
    offsets: &'a [u64],
    buffers: &'a Arc<Buffers>,
    /// Bytes that are read at once.
    step: usize,
    /// The most bytes of a text.
    limit: usize,
    buffer: Lent,
    /// Bytes of the whole lines, their number, and their positions in the file.
    kept: usize,
    lines: u64,
    selected: Selected,
    /// The texts that became full before.
    texts: Vec<Text<'static>>,
}

impl<'a> Packer<'a> {
    fn new(of: &'a Selection, size: usize, limit: usize, buffers: &'a Arc<Buffers>) -> Result<Self, Error> {
        // With a memory budget, a text and one read fit a buffer together.
        let (limit, most) = (limit.min(buffers.most()), (buffers.most() / 2).max(1));
        let step = size.clamp(LEAST_STEP, MOST_STEP).min(most);
        Ok(Self {
            of,
            offsets: &of.of.offsets,
            buffers,
            step,
            limit,
            // The usual length of partitions, so that the buffer serves other partitions too.
            buffer: buffers.take_with(step, size)?,
            kept: 0,
            lines: 0,
            selected: Selected::default(),
            texts: Vec::new(),
        })
    }

    /// Reads all blocks of a part that have selected lines.
    fn read(&mut self, blocks: Range<u64>) -> Result<(), Error> {
        let mut from = blocks.start;
        while let Some(first) = self.of.next_block(from).filter(|block| *block < blocks.end) {
            let mut end = first + 1;
            while end < blocks.end && self.of.mask(end) != 0 {
                end += 1;
            }
            self.read_run(first, end)?;
            from = end;
        }
        Ok(())
    }

    /// Reads adjacent blocks.
    fn read_run(&mut self, first: u64, end_block: u64) -> Result<(), Error> {
        let (mut at, end) = (self.offsets[first as usize], self.offsets[end_block as usize]);
        let mut line = first * BLOCK_LINES;
        let last =
            (end_block - 1) * BLOCK_LINES + u64::from(63 - self.of.mask(end_block - 1).leading_zeros());
        // Bytes of the current line that are in the buffer, if it is selected.
        let mut part = 0;
        while at < end && line <= last {
            if self.kept > 0 && self.kept + part + self.step > self.limit {
                let mut next = self.buffers.take(part + self.step)?;
                next[..part].copy_from_slice(&self.buffer[self.kept..self.kept + part]);
                let full = std::mem::replace(&mut self.buffer, next);
                let selected = std::mem::take(&mut self.selected);
                self.texts.extend(text_of(full, self.kept, selected));
                (self.kept, self.lines) = (0, 0);
            }
            // Without room, this one line is longer than a text may be.
            let room = self.limit - self.kept - part;
            if room == 0 {
                return Err(self.too_long(line));
            }
            let base = self.kept + part;
            let len = self.step.min(room).min(usize::try_from(end - at).unwrap_or(self.step));
            self.buffer.grow(base + len, base)?;
            let (len, read) = self.of.of.file.fill(&mut self.buffer[base..base + len], at);
            let (mut begin, mut from) = (self.kept, base);
            while line <= last
                && let Some(found) = memchr(b'\n', &self.buffer[from..base + len])
            {
                from += found + 1;
                let behind = at + (from - base) as u64;
                self.keep(line, begin..from, behind);
                (begin, line) = (from, line + 1);
                if line.is_multiple_of(BLOCK_LINES) && self.offsets[(line / BLOCK_LINES) as usize] != behind {
                    return Err(self.other(line, (line / BLOCK_LINES) as usize));
                }
            }
            read?;
            at += len as u64;
            part = 0;
            if line <= last && self.is_wanted(line) {
                part = base + len - begin;
                self.buffer.copy_within(begin..base + len, self.kept);
            }
        }
        // The last line of the file may have no newline.
        if part > 0 && line == last && line + 1 == self.of.of.rows {
            self.keep(line, self.kept..self.kept + part, end);
            line += 1;
        }
        if line <= last { Err(self.other(line, end_block as usize)) } else { Ok(()) }
    }

    fn is_wanted(&self, line: u64) -> bool {
        self.of.mask(line / BLOCK_LINES) >> (line % BLOCK_LINES) & 1 != 0
    }

    /// Keeps a line that is in the buffer, if it is selected. `behind` is its end in the file.
    fn keep(&mut self, line: u64, place: Range<usize>, behind: ByteOffset) {
        if !self.is_wanted(line) {
            return;
        }
        let len = place.len();
        if place.start != self.kept {
            self.buffer.copy_within(place, self.kept);
        }
        let follows = self
            .selected
            .runs
            .last()
            .is_some_and(|run| self.of.first + run.file_line + (self.lines - run.line) == line);
        if !follows {
            let file_at = behind - len as u64;
            let run =
                LineRun { line: self.lines, at: self.kept as u64, file_line: line - self.of.first, file_at };
            self.selected.runs.push(run);
        }
        self.kept += len;
        self.lines += 1;
    }

    /// All texts.
    fn finish(self) -> Vec<Text<'static>> {
        let Self { mut texts, buffer, kept, selected, .. } = self;
        texts.extend(text_of(buffer, kept, selected));
        texts
    }

    /// The error for a line that is longer than a text may be.
    fn too_long(&self, line: u64) -> Error {
        if self.limit == self.buffers.most() {
            return self.buffers.no_room(self.limit.saturating_add(1));
        }
        InputError::RecordTooLong { name: self.of.of.name.to_string(), line: line + 1, limit: self.limit }
            .into()
    }

    /// The error for lines that do not begin where the index says.
    fn other(&self, line: u64, block: usize) -> Error {
        let what = format!("line {} does not begin at byte {}", line + 1, self.offsets[block]);
        let (name, input) = (self.of.of.index.to_string(), self.of.of.name.to_string());
        IndexError::OtherInput { name, input, what }.into()
    }
}

impl FileLines {
    fn damaged(&self, what: &str) -> Error {
        IndexError::Damaged { name: self.index.to_string(), what: what.into() }.into()
    }
}

/// A set of the lines that an index has, as one of all lines. With `others`, it has the lines that the index
/// lacks.
fn extended(mut rows: RowSet, of: &FileLines, others: bool) -> RowSet {
    rows.truncate(of.indexed);
    let mut words = rows.words().to_vec();
    words.resize(of.rows.div_ceil(64) as usize, 0);
    let mut rows = RowSet::from_words(words, of.rows);
    if others {
        (of.indexed..of.rows).for_each(|row| rows.insert(row));
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use warpath_cpu::Cpu;

    /// A file with the lines, and the selection of those whose bits are set.
    fn selection(file: &mut tempfile::NamedTempFile, lines: &[Vec<u8>], which: &[bool]) -> Selection {
        let (mut offsets, mut at) = (Vec::new(), 0);
        for (number, line) in lines.iter().enumerate() {
            if (number as u64).is_multiple_of(BLOCK_LINES) {
                offsets.push(at);
            }
            file.write_all(line).unwrap();
            at += line.len() as u64;
        }
        offsets.push(at);
        let rows: RowSet = which.iter().copied().collect();
        Selection::new(lines_of(file, offsets), rows, false, &[]).unwrap()
    }

    /// The lines of a file whose blocks have these offsets.
    fn lines_of(file: &tempfile::NamedTempFile, offsets: Vec<u64>) -> FileLines {
        let text = std::fs::read(file).unwrap();
        let rows = text.split_inclusive(|byte| *byte == b'\n').count() as u64;
        let opened = PlainFile::of(file.reopen().unwrap(), "file").unwrap().unwrap();
        FileLines {
            index: "index".into(),
            file: Arc::new(opened),
            name: "file".into(),
            indexed: rows,
            rows,
            offsets: offsets.into(),
        }
    }

    #[test]
    fn lines_that_are_elsewhere_are_an_error() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all("{\"a\":1}\n".repeat(200).as_bytes()).unwrap();
        let select = |offsets: Vec<u64>, selected: &[u64]| {
            let mut rows = RowSet::none(200);
            selected.iter().for_each(|row| rows.insert(*row));
            Selection::new(lines_of(&file, offsets), rows, false, &[])
        };
        let read = |offsets: Vec<u64>, selected: &[u64]| {
            let selection = select(offsets, selected).unwrap();
            let part = selection.part(0, 1 << 20).unwrap();
            let Cut { texts, error, .. } =
                selection.read(part, 1 << 20, 1 << 20, &Buffers::new(Arc::new(Cpu)));
            let lines: usize = texts.iter().map(|text| text.len() / 8).sum();
            (lines, error.map(|error| error.to_string()).unwrap_or_default())
        };
        assert_eq!(read(vec![0, 512, 1024, 1536, 1600], &[0, 63, 64, 199]), (4, String::new()));
        let (found, error) = read(vec![0, 512, 1016, 1536, 1600], &[0, 127, 130]);
        assert!(found == 2 && error.ends_with(": line 129 does not begin at byte 1016"), "{found} {error}");
        let (found, error) = read(vec![0, 520, 1024, 1536, 1600], &[5, 63, 64]);
        assert!(found == 2 && error.ends_with(": line 65 does not begin at byte 520"), "{found} {error}");
        for (offsets, why) in [
            (vec![8, 512, 1024, 1536, 1600], "its first line does not begin at the start of the text"),
            (vec![0, 512, 1024, 1600], "its lines are not those of the text"),
            (vec![0, 1024, 512, 1536, 1600], "its lines are not those of the text"),
        ] {
            let error = select(offsets, &[1]).unwrap_err().to_string();
            assert!(error.ends_with(why), "{error}");
        }
    }

    /// Reads lines of many lengths, in parts of many sizes, with the shortest possible limits. All lines up
    /// to one that is too long have to come, each with its position in the file.
    #[test]
    fn no_text_is_longer_than_the_limit() {
        let buffers = Buffers::new(Arc::new(Cpu));
        let lens = [1, 2, 3, 70, 5, 1, 200, 40, 63, 64, 65, 9];
        for count in [1, 63, 64, 65, 150] {
            let line = |number: usize| {
                let mut line = format!("{number}").into_bytes();
                line.resize(lens[number % lens.len()].max(line.len()), b'.');
                if number + 1 < count || count % 2 == 0 {
                    line.push(b'\n');
                }
                line
            };
            let lines: Vec<Vec<u8>> = (0..count).map(line).collect();
            for pattern in [1_u64, 0b10, !0, 0b110110, 1 << 40 | 1] {
                let which: Vec<bool> = (0..count).map(|line| pattern >> (line % 60) & 1 != 0).collect();
                let mut file = tempfile::NamedTempFile::new().unwrap();
                let selection = selection(&mut file, &lines, &which);
                let wanted: Vec<usize> = (0..count).filter(|line| which[*line]).collect();
                for (size, limit) in
                    [(1, 1 << 20), (500, 1 << 20), (100_000, 1 << 20), (1000, 201), (64, 100), (1, 4)]
                {
                    let mut parts = Vec::new();
                    let mut from = 0;
                    while let Some(part) = selection.part(from, size) {
                        from = part.end;
                        parts.push(part);
                    }
                    let (mut found, mut error) = (0, None);
                    for part in parts {
                        let cut = selection.read(part, size, limit, &buffers);
                        for text in cut.texts {
                            assert!(text.len() <= limit && text.len() > 0);
                            let Some(Extract::Lines(selected)) = text.extract() else { panic!("{text:?}") };
                            let mut at = 0;
                            for (number, line) in
                                text.bytes().split_inclusive(|byte| *byte == b'\n').enumerate()
                            {
                                let want = wanted[found];
                                assert_eq!(
                                    line, lines[want],
                                    "line {want} of {count}, {size} bytes, limit {limit}"
                                );
                                let before: usize = lines[..want].iter().map(Vec::len).sum();
                                assert_eq!(selected.line(number as u64), want as u64);
                                assert_eq!(selected.line_in_text(want as u64), number as u64);
                                for byte in [at, at + line.len() - 1] {
                                    assert_eq!(selected.offset(byte as u64), (before + byte - at) as u64);
                                }
                                (found, at) = (found + 1, at + line.len());
                            }
                        }
                        error = cut.error;
                        if error.is_some() {
                            break;
                        }
                    }
                    let too_long = wanted.iter().position(|line| lines[*line].len() > limit);
                    assert_eq!(
                        found,
                        too_long.unwrap_or(wanted.len()),
                        "{count} lines, {size} bytes, limit {limit}"
                    );
                    match (error, too_long) {
                        (None, None) => {}
                        (Some(Error::Input(InputError::RecordTooLong { line, .. })), Some(at)) => {
                            assert_eq!(line, wanted[at] as u64 + 1);
                        }
                        (error, _) => panic!("{error:?}"),
                    }
                }
            }
        }
    }
}
