//! The offsets of lines, of which some are selected.

use memchr::memchr_iter;
use warpath_core::error::Error;
use warpath_core::rows::RowSet;

use super::{CheckedIndex, layout};
use crate::input::{BLOCK_LINES, FileLines};

/// Bytes of text that are read at once.
const STEP: usize = 256 << 10;

/// The offset of each block of lines.
struct Offsets<'a> {
    /// The lines that are wanted; `None` for all.
    wanted: Option<&'a RowSet>,
    /// The block in which the lines begin that the index lacks. It is wanted, too.
    rest: Option<u64>,
    all: Vec<u64>,
}

impl Offsets<'_> {
    /// True if a block that begins among some lines, or ends there, has wanted lines.
    fn wants(&self, first: u64, lines: u64) -> bool {
        let (begin, end) = (first.div_ceil(BLOCK_LINES), (first + lines).div_ceil(BLOCK_LINES));
        let blocks = begin.saturating_sub(1)..end;
        let has_rest = self.rest.is_some_and(|block| (blocks.start..=blocks.end).contains(&block));
        has_rest
            || self.wanted.is_none_or(|rows| {
                let (from, len) = (blocks.start as usize, (blocks.end - blocks.start) as usize);
                rows.words().iter().skip(from).take(len).any(|word| *word != 0)
            })
    }

    /// Adds lines that follow. `offset` gives their offsets.
    fn add(&mut self, first: u64, lines: u64, mut offset: impl FnMut(u64) -> u64) {
        let begins = (first.next_multiple_of(BLOCK_LINES)..first + lines).step_by(BLOCK_LINES as usize);
        self.all.extend(begins.map(|line| offset(line - first)));
    }
}

impl CheckedIndex {
    /// The lines of the input, for a selection. If `wanted` is given, the offsets of other lines are only
    /// near, and less is read. Of an input that has grown, all new lines are wanted.
    pub fn lines(&self, wanted: Option<&RowSet>) -> Result<FileLines, Error> {
        let Self { index, input, input_name, partitions, .. } = self;
        let table = index.0.table.get(..*partitions).unwrap_or_default();
        let indexed: u64 = table.iter().map(|entry| u64::from(entry.lines)).sum();
        let rest = (self.grown_by() > 0).then_some(indexed / BLOCK_LINES);
        let mut offsets = Offsets { wanted, rest, all: Vec::new() };
        let (mut first, mut bytes, mut starts) = (0, Vec::new(), Vec::new());
        for (number, entry) in table.iter().enumerate() {
            let lines = u64::from(entry.lines);
            if offsets.wants(first, lines) {
                let sections = index.0.reader.first_sections(number, 1, &mut bytes);
                let sections = sections.map_err(|error| super::of_part(&index.0.name, error))?;
                let section = sections.first().map_or(&[][..], |section| section);
                layout::decode_line_starts(section, entry, &mut starts)
                    .map_err(|what| index.0.damaged(format!("partition {number}: {what}")))?;
                offsets.add(first, lines, |line| entry.offset + u64::from(starts[line as usize]));
            } else {
                offsets.add(first, lines, |_| entry.offset);
            }
            first += lines;
        }
        self.count_rest(&mut first, &mut offsets)?;
        offsets.all.push(input.len());
        Ok(FileLines {
            index: index.name().into(),
            file: input.clone(),
            name: input_name.clone(),
            indexed,
            rows: first,
            offsets: offsets.all.into(),
        })
    }

    /// Adds the lines after those of the index.
    fn count_rest(&self, first: &mut u64, offsets: &mut Offsets<'_>) -> Result<(), Error> {
        let mut at = self.covered.max(self.input.text_begin()?);
        let (mut buffer, mut is_begin) = (vec![0; STEP], true);
        while at < self.input.len() {
            let len = usize::try_from(self.input.len() - at).unwrap_or(STEP).min(STEP);
            let text = &mut buffer[..len];
            self.input.read_exact(text, at)?;
            let begins = is_begin.then_some(0).into_iter();
            let begins = begins.chain(memchr_iter(b'\n', text).map(|newline| newline + 1));
            for begin in begins.filter(|begin| at + (*begin as u64) < self.input.len()) {
                offsets.add(*first, 1, |_| at + begin as u64);
                *first += 1;
            }
            (at, is_begin) = (at + len as u64, false);
        }
        Ok(())
    }
}
