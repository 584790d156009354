//! A plain file, in parts that are read independently: any thread may read any part at any time.
//!
//! Parts are stretches of the file, as long as it was when it was opened. A part owns the lines that *start*
//! in its bytes. It does not need to know where the part before it ended: the byte before the part shows
//! whether a line starts with it.
//!
//! ```text
//!             begin                            begin + size
//! ...,"x":1}\n|{"id":2}\n{"id":3}\n{"id":4,"tex|t":"..."}\n{"id":5}...
//!             |-------- the lines of part i ------------->|
//!
//! ..."name":"a| long one"}\n{"id":3}\n{"id":4}\n|...
//!             |             |------------------>|            the first bytes are in a line of an earlier part
//! ```
//!
//! A line that is longer than a part makes its own part longer, and leaves later parts without lines.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memrchr};
use warpath_core::error::{Error, InputError};
use warpath_core::file::{fill_by, read_at};
use warpath_core::foreign::Foreign;

use super::buffers::{Buffers, Lent};
use super::bytes::InputBytes;
use super::text::{BYTE_ORDER_MARK, Text};
use crate::document::Note;

/// Bytes that are read first of a line that continues after its part. Each further read is twice as long.
const TAIL_BYTES: usize = 4 << 10;
/// The most bytes that are read at once in search of a newline.
const MOST_SEARCHED: usize = 1 << 20;
/// The room for the end of a part's last line, as a fraction of the part. Room that is not filled costs
/// nothing. A line that does not fit makes the buffer twice as long, and its bytes are copied.
const TAIL_FRACTION: usize = 64;
/// Bytes of a cache line. Some processors copy from the page cache several times as fast where the offset in
/// the file and the address in memory agree modulo this number.
const CACHE_LINE: usize = 64;

/// A file that can be read at any offset, which means that it is not compressed; or bytes in memory.
#[derive(Debug)]
pub(crate) struct PlainFile {
    file: ByteSource,
    name: Arc<str>,
    /// The offset of the input's first byte in the file.
    base: u64,
    /// Bytes of the input when it was opened.
    len: u64,
}

/// The source of a file's bytes.
#[derive(Debug)]
enum ByteSource {
    File(File),
    Held(InputBytes<'static>),
}

impl ByteSource {
    /// Reads some bytes at an offset; 0 at the end.
    fn read_at(&self, room: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => read_at(file, room, at),
            Self::Held(bytes) => {
                let from = usize::try_from(at).ok().and_then(|at| bytes.as_ref().get(at..));
                from.unwrap_or_default().read(room)
            }
        }
    }

    fn fill_at(&self, room: &mut [u8], at: u64) -> (usize, io::Result<()>) {
        fill_by(|room, at| self.read_at(room, at), room, at)
    }
}

/// The error for a file that ends early.
pub(super) fn shorter() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read")
}

/// The text of a part.
#[derive(Debug, Default)]
pub(crate) struct Cut<'a> {
    /// The lines of the part: none if it owns none, and more than one text only if one could not hold them
    /// all.
    pub texts: Vec<Text<'a>>,
    /// The input of each text, if each text is an input of its own.
    pub names: Vec<Arc<str>>,
    /// The error that ended the read after these texts.
    pub error: Option<Error>,
    /// A note on the part, if it is a part of a document.
    pub note: Option<Note>,
}

impl<'a> Cut<'a> {
    /// One text, or the error that ended the read.
    pub fn of(text: Result<Text<'a>, Error>) -> Self {
        match text {
            Ok(text) => Self::new(vec![text], None),
            Err(error) => Self::new(Vec::new(), Some(error)),
        }
    }

    /// Some texts, and the error that ended the read.
    fn new(texts: Vec<Text<'a>>, error: Option<Error>) -> Self {
        Self { texts, error, ..Self::default() }
    }
}

/// A stretch of a file, as far as it has been read.
pub(crate) struct Stretch<'a> {
    file: &'a PlainFile,
    buffer: Lent,
    /// The offset of the stretch in the input.
    from: u64,
    filled: usize,
}

impl Stretch<'_> {
    /// Reads on until there are `len` bytes. Returns false if the file ends before.
    pub fn read_to(&mut self, len: usize) -> Result<bool, Error> {
        self.buffer.grow(len, self.filled)?;
        while self.filled < len {
            let at = self.file.base + self.from + self.filled as u64;
            match self.file.file.read_at(&mut self.buffer[self.filled..len], at) {
                Ok(0) if self.from + (self.filled as u64) < self.file.len => {
                    return Err(self.file.failed(shorter()));
                }
                Ok(0) => return Ok(false),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.file.failed(error)),
            }
        }
        Ok(true)
    }

    /// The bytes read so far.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// The bytes read so far, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.filled]
    }

    /// The end, after its newline, of the line that begins at `line`; `None` if the line is longer than
    /// `most` bytes. Reads on to find it. The first `known` bytes of the line contain no newline.
    fn line_end(&mut self, line: usize, known: usize, most: usize) -> Result<Option<usize>, Error> {
        let mut searched = line + known;
        let mut step = TAIL_BYTES;
        loop {
            if let Some(at) = memchr(b'\n', &self.bytes()[searched..]) {
                let end = searched + at + 1;
                return Ok((end - line <= most).then_some(end));
            }
            searched = self.filled;
            if searched - line > most {
                return Ok(None);
            }
            // One byte more than the limit shows whether the line is longer. A full buffer has to grow.
            let room = Some(self.buffer.most()).filter(|room| *room > searched).unwrap_or(usize::MAX);
            if !self.read_to((searched + step).min(line + most + 1).min(room))? && self.filled == searched {
                return Ok(Some(self.filled));
            }
            step *= 2;
        }
    }

    /// The bytes `start..end` as a text.
    pub fn into_text(self, start: usize, end: usize) -> Text<'static> {
        let offset = self.from + start as u64;
        Text::lent(self.buffer, start..end, offset)
    }
}

/// The bytes of the lines of a part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PartLines {
    /// No line starts in the part.
    None,
    /// The lines are at these offsets of the input.
    At(Range<u64>),
    /// The lines are longer than a text may be.
    TooLong,
}

/// The position of a newline.
enum NewlineAt {
    Found(u64),
    /// There is none before this offset, which is the end of the file or of the search.
    NotBefore(u64),
}

impl PlainFile {
    /// A file in which the input begins at byte `base`.
    pub fn new(file: File, name: Arc<str>, base: u64) -> io::Result<Self> {
        let len = file.metadata()?.len().saturating_sub(base);
        Ok(Self { file: ByteSource::File(file), name, base, len })
    }

    /// Bytes in memory. Stretches of them are copied.
    pub fn held(bytes: InputBytes<'static>, name: Arc<str>) -> Self {
        let len = bytes.len() as u64;
        Self { file: ByteSource::Held(bytes), name, base: 0, len }
    }

    /// The first bytes, as many as are needed to recognise formats.
    pub fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = [0; Foreign::HEAD_BYTES];
        let mut filled = 0;
        while filled < head.len() {
            match self.file.read_at(&mut head[filled..], self.base + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(head[..filled].to_vec())
    }

    /// True if the file has as many bytes as the operating system reports. Some files have not: those in
    /// `/sys` are reported with 4,096.
    pub fn is_as_long_as_said(&self) -> io::Result<bool> {
        loop {
            match self.file.read_at(&mut [0], self.base + self.len - 1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return Ok(read? == 1),
            }
        }
    }

    /// The file.
    ///
    /// # Panics
    /// If these are bytes in memory.
    pub fn into_file(self) -> File {
        match self.file {
            ByteSource::File(file) => file,
            ByteSource::Held(_) => panic!("bytes in memory are no file"),
        }
    }

    /// The offset of the input's first byte in the file.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Bytes of the input when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// A stretch at an offset, of which nothing has been read yet, with room for `room` bytes.
    pub fn stretch(&self, from: u64, room: usize, buffers: &Arc<Buffers>) -> Result<Stretch<'_>, Error> {
        Ok(Stretch { file: self, buffer: buffers.take(room)?, from, filled: 0 })
    }

    /// Fills a buffer with the bytes at an offset.
    pub fn read_exact(&self, buffer: &mut [u8], from: u64) -> Result<(), Error> {
        self.fill(buffer, from).1
    }

    /// Fills a buffer with the bytes at an offset. Returns also the number of bytes that were there.
    pub fn fill(&self, buffer: &mut [u8], from: u64) -> (usize, Result<(), Error>) {
        let (filled, read) = self.file.fill_at(buffer, self.base + from);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.failed(shorter()),
            _ => self.failed(error),
        };
        (filled, read.map_err(failed))
    }

    /// The offset at which the text begins: after a byte order mark, if there is one.
    pub fn text_begin(&self) -> Result<u64, Error> {
        let mark = BYTE_ORDER_MARK.len();
        let mut head = vec![0; mark.min(self.len as usize)];
        self.read_exact(&mut head, 0)?;
        Ok(if head == BYTE_ORDER_MARK { mark as u64 } else { 0 })
    }

    /// The whole input as one text.
    pub fn read_all(&self, buffers: &Arc<Buffers>) -> Result<Text<'static>, Error> {
        let (begin, limit) = (self.text_begin()?, buffers.longest());
        let Some(len) = usize::try_from(self.len - begin).ok().filter(|len| *len <= limit) else {
            // The caller counts lines and fills in the number.
            return Err(InputError::RecordTooLong { name: self.name.to_string(), line: 0, limit }.into());
        };
        let buffer = buffers.take_long(len)?;
        let mut stretch = Stretch { file: self, buffer, from: begin, filled: 0 };
        stretch.read_to(len)?;
        Ok(stretch.into_text(0, len))
    }

    /// The bytes of the lines of the part from `begin` on, which [`read`](Self::read) would read. Reads only
    /// around the first newline and the last, so that the bytes between are read where they are used.
    ///
    /// # Errors
    /// As for [`read_exact`](Self::read_exact). A file that became shorter later is noticed by the reader.
    pub fn lines(&self, begin: u64, size: usize, limit: usize) -> Result<PartLines, Error> {
        let end = self.len.min(begin + size as u64);
        let start = if begin == 0 {
            self.text_begin()?
        } else {
            match self.newline(begin - 1, end - 1)? {
                NewlineAt::Found(at) => at + 1,
                NewlineAt::NotBefore(_) => return Ok(PartLines::None),
            }
        };
        // The last line starts before the part's last byte, so the first newline from there on is its end.
        let from = start.max(end - 1);
        // One byte more than the limit shows whether the line is longer.
        let end = match self.newline(from, from.saturating_add(limit as u64 + 1))? {
            NewlineAt::Found(at) => at + 1,
            NewlineAt::NotBefore(at) => at,
        };
        Ok(match end.saturating_sub(start) {
            0 => PartLines::None,
            len if len > limit as u64 => PartLines::TooLong,
            _ => PartLines::At(start..end),
        })
    }

    /// The first newline from `from` on and before `until`.
    fn newline(&self, from: u64, until: u64) -> Result<NewlineAt, Error> {
        let (mut at, mut step, mut room) = (from, TAIL_BYTES, Vec::new());
        while at < until {
            room.resize(step.min(usize::try_from(until - at).unwrap_or(step)), 0);
            match self.file.read_at(&mut room, self.base + at) {
                Ok(0) if at < self.len => return Err(self.failed(shorter())),
                Ok(0) => break,
                Ok(count) => {
                    if let Some(found) = memchr(b'\n', &room[..count]) {
                        return Ok(NewlineAt::Found(at + found as u64));
                    }
                    at += count as u64;
                    step = (2 * step).min(MOST_SEARCHED);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(NewlineAt::NotBefore(at))
    }

    fn failed(&self, source: io::Error) -> Error {
        InputError::Io { name: self.name.to_string(), source }.into()
    }

    /// Reads the lines of the part from `begin` on, of `size` bytes or as many as there are. No text is
    /// longer than `limit` bytes; `size` must not be larger either.
    ///
    /// A read that fails loses nothing before it: whole lines come first, then the error. The same holds for
    /// a file that became shorter. A file that became longer ends with the line that held its last byte when
    /// it was opened.
    pub fn read(&self, begin: u64, size: usize, limit: usize, buffers: &Arc<Buffers>) -> Cut<'static> {
        let before = begin.saturating_sub(1);
        let end = self.len.min(begin + size as u64);
        let least = ((end - before) as usize).max(BYTE_ORDER_MARK.len());
        let tail = (size / TAIL_FRACTION).max(TAIL_BYTES);
        let buffer = match buffers.take_with(least, CACHE_LINE + tail) {
            Ok(buffer) => buffer,
            Err(error) => return Cut::new(Vec::new(), Some(error)),
        };
        // Bytes that are read only so that the offset agrees with the address.
        let more = (self.base + before).wrapping_sub(buffer.as_ptr() as u64) % CACHE_LINE as u64;
        let more = more.min(before).min((buffer.len() - least) as u64);
        let (from, more) = (before - more, more as usize);
        // The end of the part, counted from `from`.
        let own = (end - from) as usize;
        let mut stretch = Stretch { file: self, buffer, from, filled: 0 };
        let marked = if begin == 0 { BYTE_ORDER_MARK.len() } else { 0 };
        let read = stretch.read_to(own.max(self.len.min(marked as u64) as usize));
        let bytes = stretch.bytes();
        // If the part's last byte is a newline, the line after it starts in the next part.
        let starts = &bytes[..bytes.len().min(own - 1)];
        let own_starts = starts.get(more..).unwrap_or_default();
        let start = match memchr(b'\n', own_starts) {
            _ if begin == 0 && bytes.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
            _ if begin == 0 => 0,
            Some(at) => more + at + 1,
            None => return Cut::new(Vec::new(), read.err()),
        };
        // The last line that starts in this part. All lines before it are whole.
        let last = memrchr(b'\n', own_starts).map_or(start, |at| (more + at + 1).max(start));
        let known = starts.len().saturating_sub(last);
        let end = match read {
            Ok(_) => stretch.line_end(last, known, limit),
            Err(error) => Err(error),
        };
        let (end, error) = match end {
            Ok(Some(end)) if end - start <= limit => (end, None),
            Ok(Some(end)) => match buffers.take_long(end - last) {
                Ok(mut buffer) => {
                    buffer[..end - last].copy_from_slice(&stretch.bytes()[last..end]);
                    let long = Text::lent(buffer, 0..end - last, from + last as u64);
                    return Cut::new(vec![stretch.into_text(start, last), long], None);
                }
                Err(error) => (last, Some(error)),
            },
            Ok(None) => {
                // The caller counts lines and fills in the number.
                let name = self.name.to_string();
                (last, Some(InputError::RecordTooLong { name, line: 0, limit }.into()))
            }
            // The last line may be cut at any byte. Only lines that end with a newline are evaluated.
            Err(error) => {
                let end = memrchr(b'\n', stretch.bytes()).map_or(start, |at| (at + 1).max(start));
                (end, Some(error))
            }
        };
        let texts = if end > start { vec![stretch.into_text(start, end)] } else { Vec::new() };
        Cut::new(texts, error)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use warpath_cpu::Cpu;

    fn file(text: &[u8], base: u64) -> PlainFile {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        PlainFile::new(file, "test".into(), base).unwrap()
    }

    /// The underlying file.
    fn behind(file: &PlainFile) -> &File {
        let ByteSource::File(file) = &file.file else { panic!("bytes in memory") };
        file
    }

    /// The texts of all parts, read from the last part to the first, so that no part depends on an earlier
    /// one.
    fn texts(file: &PlainFile, size: usize, limit: usize) -> (Vec<Text<'static>>, Option<Error>) {
        let buffers = Buffers::new(Arc::new(Cpu));
        let begins = (0..file.len() as usize).step_by(size).rev();
        let mut cuts: Vec<Cut> = begins.map(|begin| file.read(begin as u64, size, limit, &buffers)).collect();
        cuts.reverse();
        let mut all = Vec::new();
        for cut in cuts {
            all.extend(cut.texts);
            if cut.error.is_some() {
                return (all, cut.error);
            }
        }
        (all, None)
    }

    fn line_too_long(text: &[u8], limit: usize) -> Option<usize> {
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let at = lines.iter().position(|line| line.len() > limit)?;
        Some(lines[..at].iter().map(|line| line.len()).sum())
    }

    const TEXTS: [&[u8]; 12] = [
        b"one\ntwo\n\nthree is longer\nx\nlast without newline",
        b"one\ntwo\n\nthree is longer\nx\nlast with\n",
        b"\n\n\n\n\n",
        b"\n",
        b"x",
        b"xy\n",
        b"\r\n1\r\n\r\n22\r\n",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf1\n2\n",
        b"\xef\xbb\xbf\n\xef\xbb\xbf\n",
        b"\xef\xbb",
        b"a line of forty bytes, and no other one..",
    ];

    #[test]
    fn parts_of_every_size_hold_every_line_once() {
        for text in TEXTS {
            let skipped = if text.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
            for base in [0, 7] {
                let whole = [&b"before\n"[..base as usize], text].concat();
                let file = file(&whole, base);
                for size in 1..=text.len() + 2 {
                    let (all, error) = texts(&file, size, 1 << 20);
                    assert!(error.is_none());
                    let mut at = skipped;
                    for (i, part) in all.iter().enumerate() {
                        let bytes = part.bytes();
                        assert_eq!(part.offset(), at as u64, "size {size}");
                        assert!(!bytes.is_empty() && (bytes.ends_with(b"\n") || i + 1 == all.len()));
                        // A part owns the lines that start in it, and no others.
                        let starts_in = |at: usize| at / size;
                        let last_start = memrchr(b'\n', &bytes[..bytes.len() - 1]).map_or(0, |n| n + 1);
                        if at > skipped {
                            assert_eq!(starts_in(at), starts_in(at + last_start), "size {size}");
                        }
                        at += bytes.len();
                    }
                    let joined: Vec<u8> = all.iter().flat_map(|part| part.bytes().to_vec()).collect();
                    assert_eq!(joined, &text[skipped..], "size {size} of {}", text.escape_ascii());
                }
            }
        }
    }

    /// Checks a line of exactly the limit, and a longer one, with different neighbours.
    #[test]
    fn no_text_is_longer_than_the_limit() {
        for text in TEXTS {
            let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            if text.is_empty() {
                continue;
            }
            let file = file(text, 0);
            for limit in 1..=text.len() + 1 {
                for size in 1..=limit {
                    let (all, error) = texts(&file, size, limit);
                    assert!(all.iter().all(|part| part.bytes().len() <= limit));
                    let joined: Vec<u8> = all.iter().flat_map(|part| part.bytes().to_vec()).collect();
                    match line_too_long(text, limit) {
                        None => assert!(error.is_none()),
                        Some(_) => {
                            let Some(Error::Input(InputError::RecordTooLong { limit: said, .. })) = error
                            else {
                                panic!("{error:?}")
                            };
                            assert_eq!(said, limit);
                        }
                    }
                    let want = line_too_long(text, limit).map_or(text, |at| &text[..at]);
                    assert_eq!(joined, want, "size {size}, limit {limit} of {}", text.escape_ascii());
                }
            }
        }
    }

    /// The lines of a part that are found without reading it are those that are read.
    #[test]
    fn lines_are_where_they_are_read() {
        let buffers = Buffers::new(Arc::new(Cpu));
        for text in TEXTS {
            for base in [0, 7] {
                let file = file(text, base);
                for limit in 1..=text.len() + 1 {
                    for size in 1..=limit {
                        for begin in (0..file.len()).step_by(size) {
                            let cut = file.read(begin, size, limit, &buffers);
                            let read: Vec<_> = cut
                                .texts
                                .iter()
                                .map(|text| text.offset()..text.offset() + text.len() as u64)
                                .collect();
                            match file.lines(begin, size, limit).unwrap() {
                                PartLines::None => assert!(read.is_empty() && cut.error.is_none()),
                                PartLines::At(range) => assert!(read == [range] && cut.error.is_none()),
                                PartLines::TooLong => assert!(read.len() > 1 || cut.error.is_some()),
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lines_of_a_file_that_became_shorter_are_an_error() {
        let file = file(b"one\ntwo\nthree\nfour\n", 0);
        behind(&file).set_len(6).unwrap();
        assert_eq!(file.lines(0, 3, 1 << 20).unwrap(), PartLines::At(0..4));
        for (begin, size) in [(0, 9), (8, 4), (12, 7)] {
            assert!(matches!(file.lines(begin, size, 1 << 20), Err(Error::Input(InputError::Io { .. }))));
        }
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error_behind_whole_lines() {
        let text = b"one\ntwo\nthree\nfour\n";
        for left in 0..text.len() {
            for size in 1..=text.len() {
                let file = file(text, 0);
                behind(&file).set_len(left as u64).unwrap();
                let (all, error) = texts(&file, size, 1 << 20);
                assert!(matches!(error, Some(Error::Input(InputError::Io { .. }))), "{left} {size}");
                let joined: Vec<u8> = all.iter().flat_map(|part| part.bytes().to_vec()).collect();
                let whole = memrchr(b'\n', &text[..left]).map_or(0, |at| at + 1);
                assert_eq!(joined, &text[..whole], "{left} bytes, size {size}");
            }
        }
    }

    #[test]
    fn a_file_that_becomes_longer_ends_with_the_line_that_was_last() {
        for (more, want) in [(&b"ee\nfour"[..], &b"one\ntwo\nthree\n"[..]), (b"e", b"one\ntwo\nthre")] {
            for size in 1..20 {
                let file = file(b"one\ntwo\nthr", 0);
                behind(&file).write_all(more).unwrap();
                let (all, error) = texts(&file, size, 1 << 20);
                assert!(error.is_none());
                let joined: Vec<u8> = all.iter().flat_map(|part| part.bytes().to_vec()).collect();
                assert_eq!(joined, want, "size {size}");
            }
        }
    }
}
