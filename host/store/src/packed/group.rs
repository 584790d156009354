//! A group: lines that are compressed together with one symbol table, and the reads of any part of their
//! text.
//!
//! After every [`SPLIT_CODES`] codes, a split holds the text offset of their output and the number of
//! newlines before it. So decoding a part of the text, or finding a line, begins at the split before it.

use std::ops::Range;

use memchr::memchr_iter;
use warpath_core::stamp::hash;
use warpath_shared::fsst::{MAX_SYMBOLS, SPLIT_CODES, Split, Table};

use super::layout::{Damage, GROUP_BYTES, GroupHeader, u32_at, u64_at};
use crate::fsst::{Compressor, Decoder, splits};

/// The maximum text bytes of a split's codes: 8 each, and one of an escape that ends in the split.
const MOST_SPLIT_BYTES: usize = 8 * SPLIT_CODES + 1;

/// A group in its stored form, whose parts fit together. The codes are not checked yet.
#[derive(Clone, Debug)]
pub struct PackedGroup<'a> {
    header: GroupHeader,
    table: Table,
    /// All bytes after the header.
    body: &'a [u8],
    splits: &'a [u8],
    lines: &'a [u8],
    codes: &'a [u8],
}

/// The ranges of a group's parts in the bytes after its header.
#[derive(Clone, Debug)]
struct GroupRanges {
    symbols: Range<usize>,
    lens: Range<usize>,
    splits: Range<usize>,
    lines: Range<usize>,
    codes: Range<usize>,
    /// The end of all parts, padded.
    end: usize,
}

impl GroupRanges {
    /// Computes the ranges. `None` if they exceed the address space.
    fn of(header: &GroupHeader) -> Option<Self> {
        let mut at = 0_usize;
        let mut next = |count: u64, size: u64| {
            let from = at;
            let len = usize::try_from(count.checked_mul(size)?).ok()?;
            at = from.checked_add(len)?.checked_next_multiple_of(8)?;
            Some(from..from + len)
        };
        let splits = header.codes.div_ceil(SPLIT_CODES as u64);
        let symbols = next(header.symbols, 8)?;
        let lens = next(header.symbols, 1)?;
        let (splits, lines) = (next(splits, 8)?, next(splits, 4)?);
        let codes = next(header.codes, 1)?;
        Some(Self { symbols, lens, splits, lines, codes, end: at })
    }
}

/// Returns the size in bytes of a group after its header.
pub(super) fn body_bytes(header: &GroupHeader) -> Result<usize, Damage> {
    let too_large = || Damage::from("a group is larger than the address space");
    if header.symbols > MAX_SYMBOLS as u64 {
        return Err(format!("a group has a table of {} symbols", header.symbols));
    }
    // A code decodes to up to 8 bytes, and a byte takes up to two codes.
    if header.text > header.codes.saturating_mul(8) || header.codes > header.text.saturating_mul(2) {
        return Err(format!("{} codes cannot decode to {} bytes", header.codes, header.text));
    }
    if header.lines > header.text || header.lines > u64::from(u32::MAX) {
        return Err(format!("{} bytes cannot have {} lines", header.text, header.lines));
    }
    let end = GroupRanges::of(header).ok_or_else(too_large)?.end;
    // A group with its header is one slice.
    if end > isize::MAX as usize - GROUP_BYTES { Err(too_large()) } else { Ok(end) }
}

impl<'a> PackedGroup<'a> {
    /// Parses a group of a file, without checking its checksum or its codes.
    ///
    /// # Errors
    /// A message for the first fault.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let (head, behind) = bytes.split_first_chunk::<GROUP_BYTES>().ok_or("a group ends early")?;
        let header = GroupHeader::parse(head)?;
        let len = body_bytes(&header)?;
        let body = behind.get(..len).ok_or("a group ends early")?;
        let places = GroupRanges::of(&header).ok_or("a group is larger than the address space")?;
        let symbols: Vec<u64> =
            body[places.symbols].as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let table =
            Table::new(&symbols, &body[places.lens]).map_err(|fault| format!("a group's table: {fault}"))?;
        let group = Self {
            header,
            table,
            body,
            splits: &body[places.splits],
            lines: &body[places.lines],
            codes: &body[places.codes],
        };
        group.check_splits()?;
        Ok(group)
    }

    /// Checks that splits do not decrease, and that none has more text than its codes can decode to.
    fn check_splits(&self) -> Result<(), Damage> {
        let count = self.split_count();
        let wrong = || Damage::from("a group's splits are not consecutive");
        let mut before = (0, 0);
        for at in 0..=count {
            let (split, line) = (self.split(at), self.line_at(at));
            let step = split.offset().checked_sub(before.0).ok_or_else(wrong)?;
            let is_end = at == 0 || at == count;
            if step > MOST_SPLIT_BYTES as u64 || line < before.1 || is_end && split.behind_escape() {
                return Err(wrong());
            }
            if at == 0 && (split.offset(), line) != (0, 0) {
                return Err(wrong());
            }
            before = (split.offset(), line);
        }
        Ok(())
    }

    /// Checks the group's checksum.
    ///
    /// # Errors
    /// A message for a wrong checksum.
    pub fn verify(&self) -> Result<(), String> {
        if hash(self.body) == self.header.checksum { Ok(()) } else { Err("group checksum mismatch".into()) }
    }

    /// Returns the text size in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        self.header.text
    }

    /// Returns the number of newlines in the text.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.header.lines
    }

    /// Returns the symbol table of the codes.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the codes.
    #[must_use]
    pub fn codes(&self) -> &'a [u8] {
        self.codes
    }

    /// Returns the number of splits.
    #[must_use]
    pub fn split_count(&self) -> usize {
        self.splits.len() / 8
    }

    /// Returns the split that holds the text offset of its output. Number [`split_count`](Self::split_count)
    /// holds the end of the text.
    ///
    /// # Panics
    /// Panics for a greater number.
    #[must_use]
    pub fn split(&self, at: usize) -> Split {
        if at == self.split_count() {
            Split::new(self.header.text, false)
        } else {
            Split(u64_at(self.splits, 8 * at))
        }
    }

    /// Writes all splits, and then the end of the text.
    pub(super) fn write_splits(&self, to: &mut [u64]) {
        for (word, split) in to.iter_mut().zip(self.splits.as_chunks().0) {
            *word = u64::from_le_bytes(*split);
        }
        if let Some(end) = to.get_mut(self.split_count()) {
            *end = Split::new(self.header.text, false).0;
        }
    }

    /// Returns the number of newlines before a split.
    fn line_at(&self, at: usize) -> u64 {
        if at == self.split_count() { self.header.lines } else { u64::from(u32_at(self.lines, 4 * at)) }
    }

    /// Returns the decoder, which may outlive the group's bytes.
    pub(super) fn decoder(&self) -> Decoder {
        Decoder::new(&self.table)
    }

    /// Returns the text size in bytes of some splits. Their bytes may change during the read, if a process
    /// writes to the file.
    fn text_of(&self, splits: Range<usize>) -> Result<usize, Damage> {
        let len = self.split(splits.end).offset().checked_sub(self.split(splits.start).offset());
        let most = splits.len().saturating_mul(MOST_SPLIT_BYTES);
        let len = len.and_then(|len| usize::try_from(len).ok()).filter(|len| *len <= most);
        len.ok_or_else(|| "a group changes while it is read".into())
    }

    /// Returns the codes of some splits, without a leading byte that belongs to the previous split's escape.
    fn codes_of(&self, splits: Range<usize>) -> &'a [u8] {
        let place = |at: usize| {
            let behind = usize::from(self.split(at).behind_escape());
            (at * SPLIT_CODES + behind).min(self.codes.len())
        };
        &self.codes[place(splits.start)..place(splits.end).max(place(splits.start))]
    }

    /// Decodes the text of some splits into `room`, which must have their stated size.
    fn decode(&self, decoder: &Decoder, splits: Range<usize>, room: &mut [u8]) -> Result<(), Damage> {
        match decoder.decode(self.codes_of(splits), room) {
            Ok(len) if len == room.len() => Ok(()),
            Ok(_) => Err("a group's text does not have the length in its header".into()),
            Err(fault) => Err(format!("a group's codes: {fault}")),
        }
    }

    /// Returns the last split whose output begins at `place` or before it.
    fn split_before(&self, place: u64) -> usize {
        let (mut low, mut high) = (0, self.split_count());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.split(middle).offset() <= place { low = middle } else { high = middle }
        }
        low
    }

    /// Fills `room` with the text from `from` on, as far as there is any. Returns the number of bytes.
    ///
    /// # Errors
    /// A message for wrong codes.
    pub(super) fn read(&self, decoder: &Decoder, from: u64, room: &mut [u8]) -> Result<usize, Damage> {
        let wanted = (self.header.text.saturating_sub(from)).min(room.len() as u64) as usize;
        let (mut filled, mut split) = (0, self.split_before(from));
        let mut one = Vec::new();
        while filled < wanted {
            let at = from + filled as u64;
            let begin = self.split(split).offset();
            let room = &mut room[filled..wanted];
            // Decode all splits that are wanted whole, at once.
            let (mut end, mut len) = (split, 0);
            while end < self.split_count() && begin == at {
                let more = self.text_of(split..end + 1)?;
                if more > room.len() {
                    break;
                }
                (end, len) = (end + 1, more);
            }
            if end > split {
                self.decode(decoder, split..end, &mut room[..len])?;
                (filled, split) = (filled + len, end);
                continue;
            }
            one.resize(self.text_of(split..split + 1)?, 0);
            self.decode(decoder, split..split + 1, &mut one)?;
            let skipped = at.checked_sub(begin).and_then(|skipped| one.get(skipped as usize..));
            let part = skipped.ok_or("a group changes while it is read")?;
            if part.is_empty() {
                return Err("a group changes while it is read".into());
            }
            let len = part.len().min(room.len());
            room[..len].copy_from_slice(&part[..len]);
            (filled, split) = (filled + len, split + 1);
        }
        Ok(filled)
    }

    /// Decodes the whole text into `room`, which must have its size.
    pub(super) fn decode_all(&self, room: &mut [u8]) -> Result<(), Damage> {
        self.decode(&self.decoder(), 0..self.split_count(), room)
    }

    /// Returns the whole text.
    ///
    /// # Errors
    /// A message for wrong codes.
    pub fn text(&self) -> Result<Vec<u8>, String> {
        let len =
            usize::try_from(self.header.text).map_err(|_| "a group is larger than the address space")?;
        let mut text = vec![0; len];
        self.decode_all(&mut text)?;
        Ok(text)
    }

    /// Decodes the whole group. Checks that its splits and lines match its text, and that its last line is
    /// whole unless it is the last group. After success, every part of the text is read as it was packed.
    ///
    /// # Errors
    /// A message for the first fault.
    pub(super) fn check(&self, is_last: bool) -> Result<(), Damage> {
        let text = self.text()?;
        if !is_last && !text.ends_with(b"\n") {
            return Err("a line crosses the end of a group".into());
        }
        let (found, len) =
            splits(&self.table, self.codes).map_err(|fault| format!("a group's codes: {fault}"))?;
        let is_split = |at: usize, split: &Split| *split == self.split(at);
        if len != self.header.text || !found.iter().enumerate().all(|(at, split)| is_split(at, split)) {
            return Err("a group's splits do not match its codes".into());
        }
        let mut lines = 0;
        for at in 0..self.split_count() {
            if lines != self.line_at(at) {
                return Err("the lines of a group's splits do not match its text".into());
            }
            let begin = self.split(at).offset() as usize;
            let part = text.get(begin..begin.saturating_add(self.text_of(at..at + 1)?));
            lines += memchr_iter(b'\n', part.ok_or("a group changes while it is read")?).count() as u64;
        }
        if lines == self.header.lines {
            Ok(())
        } else {
            Err("the number of a group's lines does not match its header".into())
        }
    }

    /// Returns the text offset at which a line begins, after `line` newlines. The end of the text, if there
    /// are fewer newlines.
    ///
    /// # Errors
    /// A message for wrong codes.
    pub(super) fn line_start(&self, decoder: &Decoder, line: u64) -> Result<u64, Damage> {
        if line == 0 {
            return Ok(0);
        }
        if line > self.header.lines {
            return Ok(self.header.text);
        }
        // The last split with fewer than `line` newlines before it.
        let (mut low, mut high) = (0, self.split_count());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.line_at(middle) < line { low = middle } else { high = middle }
        }
        let begin = self.split(low).offset();
        let mut text = vec![0; self.text_of(low..low + 1)?];
        self.decode(decoder, low..low + 1, &mut text)?;
        let more = line.saturating_sub(self.line_at(low) + 1) as usize;
        match memchr_iter(b'\n', &text).nth(more) {
            Some(newline) => Ok(begin + newline as u64 + 1),
            None => Err("the number of a group's lines does not match its header".into()),
        }
    }
}

/// Encodes a text as a group.
///
/// # Errors
/// A message if the codes do not match the text, which does not happen; or for more than 2³² - 1 newlines.
pub fn group(table: &Table, text: &[u8]) -> Result<Vec<u8>, Damage> {
    let mut codes = Vec::with_capacity(text.len() / 2);
    Compressor::new(table).compress_parallel(text, &mut codes);
    let (splits, len) = splits(table, &codes).map_err(|fault| fault.to_string())?;
    if len != text.len() as u64 {
        return Err("the codes do not decode to their text".into());
    }
    let symbols = table.len();
    let mut body = Vec::with_capacity(codes.len() + 12 * splits.len() + 10 * symbols);
    table.symbols()[..symbols].iter().for_each(|symbol| body.extend_from_slice(&symbol.to_le_bytes()));
    body.extend_from_slice(&table.lens()[..symbols]);
    pad(&mut body);
    splits.iter().for_each(|split| body.extend_from_slice(&split.0.to_le_bytes()));
    let (mut lines, mut at) = (0_u64, 0);
    for split in &splits {
        let place = split.offset() as usize;
        lines += memchr_iter(b'\n', &text[at..place]).count() as u64;
        at = place;
        let line = u32::try_from(lines).map_err(|_| "a group has 2³² newlines or more")?;
        body.extend_from_slice(&line.to_le_bytes());
    }
    lines += memchr_iter(b'\n', &text[at..]).count() as u64;
    pad(&mut body);
    body.extend_from_slice(&codes);
    pad(&mut body);
    let header = GroupHeader {
        text: text.len() as u64,
        codes: codes.len() as u64,
        lines,
        symbols: symbols as u64,
        checksum: hash(&body),
    };
    let mut bytes = header.to_bytes();
    bytes.append(&mut body);
    Ok(bytes)
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_group_is_longer_than_memory() {
        let mut most = 0;
        for shift in 50..64 {
            for less in 0..4096 {
                let codes = (u64::MAX >> (63 - shift)) - (less << (shift - 12));
                let header = GroupHeader { text: codes, codes, lines: 0, symbols: 255, checksum: 0 };
                if let Ok(len) = body_bytes(&header) {
                    assert!(len <= isize::MAX as usize - GROUP_BYTES);
                    most = most.max(len);
                }
            }
        }
        assert!(most > 1 << 61);
    }
}
