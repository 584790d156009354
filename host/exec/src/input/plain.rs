//! A plain file, in parts that are each read on their own: any thread may read any part at any time.
//!
//! Parts are stretches of the file as long as it was when it was opened. One owns the lines that *start* in its bytes. Where
//! the part before ended need not be known: the byte before the part says whether a line starts with it.
//!
//! ```text
//!             begin                            begin + size
//! ...,"x":1}\n|{"id":2}\n{"id":3}\n{"id":4,"tex|t":"..."}\n{"id":5}...
//!             |-------- the lines of part i ------------->|
//!
//! ..."name":"a| long one"}\n{"id":3}\n{"id":4}\n|...
//!             |             |------------------>|            what comes first is of the line that an earlier part owns
//! ```
//!
//! A line that is longer than a part makes its own longer, and leaves others without any.

use std::fs::File;
use std::io;
use std::sync::Arc;

use memchr::{memchr, memrchr};
use warpath_shared::units::MAX_PARTITION_BYTES;

use super::buffers::{Buffers, Lent};
use super::text::{BYTE_ORDER_MARK, Text};
use crate::document::Note;
use warpath_core::error::{Error, InputError};
use warpath_core::file::{fill_by, read_at};
use warpath_store::packed::file::PackedFile;
use warpath_store::packed::text::PackedText;

/// Bytes that are read at first of a line that goes on behind its part; then twice as many, and so on.
const TAIL_BYTES: usize = 4 << 10;

/// A file of which any part can be read: one that is not compressed, or packed lines, as they were before.
#[derive(Debug)]
pub(crate) struct PlainFile {
    file: Bytes,
    name: Arc<str>,
    /// Where the input begins in it.
    base: u64,
    /// How many bytes the input had when it was opened.
    len: u64,
}

/// Where the bytes of a file come from.
#[derive(Debug)]
enum Bytes {
    File(File),
    Packed(PackedFile),
}

impl Bytes {
    /// Reads some bytes from a place on: none at the end.
    fn read_at(&self, room: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => read_at(file, room, at),
            Self::Packed(packed) => packed.read_at(room, at).map_err(|error| match error {
                Error::Input(error) => error.into(),
                error => io::Error::other(error),
            }),
        }
    }

    fn fill_at(&self, room: &mut [u8], at: u64) -> (usize, io::Result<()>) {
        fill_by(|room, at| self.read_at(room, at), room, at)
    }
}

/// What is said of a file that ends early.
pub(super) fn shorter() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read")
}

/// What was read of a part.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    /// Its lines: none where it owns none, and more than one text only where one could not hold them all.
    pub texts: Vec<Text>,
    /// Of which inputs these are, if each is one of its own.
    pub names: Vec<Arc<str>>,
    /// Why what comes behind them could not be read.
    pub error: Option<Error>,
    /// What there is to say of it as a part of a document, if it is one.
    pub note: Option<Note>,
}

impl Cut {
    /// Some texts, and why there is no more.
    fn new(texts: Vec<Text>, error: Option<Error>) -> Self {
        Self { texts, error, ..Self::default() }
    }
}

/// What has been read of a file from one place on.
pub(crate) struct Stretch<'a> {
    file: &'a PlainFile,
    buffer: Lent,
    /// Where it begins in the input.
    from: u64,
    filled: usize,
}

impl Stretch<'_> {
    /// Reads on until there are `len` bytes. Whether there are: the file may end before.
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

    /// What has been read.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.filled]
    }

    /// Where the line that begins at `line` ends, behind its newline, if it is in no more than `most` bytes; reads on to find
    /// out. `known` bytes from there on have no newline.
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
            // One byte more than a line may have tells whether it has more.
            if !self.read_to((searched + step).min(line + most + 1))? && self.filled == searched {
                return Ok(Some(self.filled));
            }
            step *= 2;
        }
    }

    /// The bytes of some lines.
    pub fn into_text(self, start: usize, end: usize) -> Text {
        let offset = self.from + start as u64;
        Text::lent(self.buffer, (start, end), offset)
    }
}

impl PlainFile {
    /// A file whose byte at `base` is the input's first.
    pub fn new(file: File, name: Arc<str>, base: u64) -> io::Result<Self> {
        let len = file.metadata()?.len().saturating_sub(base);
        Ok(Self { file: Bytes::File(file), name, base, len })
    }

    /// Packed lines.
    pub fn packed(packed: PackedFile) -> Self {
        let (name, len) = (packed.name().into(), packed.info().text_bytes);
        Self { file: Bytes::Packed(packed), name, base: 0, len }
    }

    /// The packed file that it is, if it is one.
    pub fn as_packed(&self) -> Option<&PackedFile> {
        match &self.file {
            Bytes::Packed(packed) => Some(packed),
            Bytes::File(_) => None,
        }
    }

    /// The first bytes, up to 4.
    pub fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = [0; 4];
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

    /// Whether it has as many bytes as the operating system says, which some files have not: those in `/sys` say 4,096.
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
    /// If it is packed.
    pub fn into_file(self) -> File {
        match self.file {
            Bytes::File(file) => file,
            Bytes::Packed(_) => panic!("a packed file is no plain one"),
        }
    }

    /// How many bytes there were when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// What stands from a place on, of which nothing has been read yet, with room for so many bytes.
    pub fn stretch(&self, from: u64, room: usize, buffers: &Arc<Buffers>) -> Result<Stretch<'_>, Error> {
        Ok(Stretch { file: self, buffer: buffers.take(room)?, from, filled: 0 })
    }

    /// Fills a buffer with what stands from a place on.
    pub fn read_exact(&self, buffer: &mut [u8], from: u64) -> Result<(), Error> {
        self.fill(buffer, from).1
    }

    /// The same, and how many bytes were there.
    pub fn fill(&self, buffer: &mut [u8], from: u64) -> (usize, Result<(), Error>) {
        let (filled, read) = self.file.fill_at(buffer, self.base + from);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.failed(shorter()),
            _ => self.failed(error),
        };
        (filled, read.map_err(failed))
    }

    /// Where its text begins: behind a byte order mark.
    pub fn text_begin(&self) -> Result<u64, Error> {
        let mark = BYTE_ORDER_MARK.len();
        let mut head = vec![0; mark.min(self.len as usize)];
        self.read_exact(&mut head, 0)?;
        Ok(if head == BYTE_ORDER_MARK { mark as u64 } else { 0 })
    }

    /// All of it as one text.
    pub fn read_all(&self, buffers: &Arc<Buffers>) -> Result<Text, Error> {
        let (begin, limit) = (self.text_begin()?, MAX_PARTITION_BYTES);
        let Some(len) = usize::try_from(self.len - begin).ok().filter(|len| *len <= limit) else {
            // Who counts lines fills in this one's number.
            return Err(InputError::RecordTooLong { name: self.name.to_string(), line: 0, limit }.into());
        };
        let buffer = buffers.take_long(len)?;
        let mut stretch = Stretch { file: self, buffer, from: begin, filled: 0 };
        stretch.read_to(len)?;
        Ok(stretch.into_text(0, len))
    }

    fn failed(&self, source: io::Error) -> Error {
        match source.downcast::<InputError>() {
            Ok(error) => error.into(),
            Err(source) => InputError::Io { name: self.name.to_string(), source }.into(),
        }
    }

    /// Reads a group of the packed lines that it is, and leaves it as it is: but for one that begins with a byte order mark, or is longer than a partition.
    pub fn read_packed(&self, packed: &PackedFile, number: usize, buffers: &Arc<Buffers>) -> Cut {
        let (bytes, at) = packed.group_bytes(number);
        let read = || {
            let group = PackedText::new(bytes, &self.name)?;
            let len = group.text_bytes()?;
            let is_marked = at == 0 && self.text_begin()? > 0;
            if is_marked || len > MAX_PARTITION_BYTES {
                return Ok(Err(len));
            }
            // As long as the text will be where the host has to look at it, so that all buffers are of one size.
            let mut buffer = buffers.take(len.max(bytes.len()).next_multiple_of(1 << 20))?;
            buffer[..bytes.len()].copy_from_slice(bytes);
            // What is in the buffer is checked: the file may change meanwhile.
            let copied = PackedText::new(&buffer[..bytes.len()], &self.name)?;
            copied.group().verify().map_err(|what| copied.damaged(what))?;
            if copied.text_bytes()? != len {
                return Err(copied.damaged("it changes while it is read"));
            }
            Ok(Ok(Text::packed((buffer, bytes.len()), self.name.clone(), len, at)))
        };
        match read() {
            Ok(Ok(text)) => Cut::new(vec![text], None),
            Ok(Err(len)) => self.read(at, len, MAX_PARTITION_BYTES, buffers),
            Err(error) => Cut::new(Vec::new(), Some(error)),
        }
    }

    /// Reads the lines of the part of `size` bytes, or of those that there are, from `begin` on. No text gets more than `limit`
    /// bytes, of which a part has no more either.
    ///
    /// A read that fails loses nothing before it: whole lines come first, then the error. So does a file that has become
    /// shorter. One that has become longer ends with the line that held its last byte when it was opened.
    pub fn read(&self, begin: u64, size: usize, limit: usize, buffers: &Arc<Buffers>) -> Cut {
        let from = begin.saturating_sub(1);
        // The part's end, counted from `from`.
        let own = (self.len.min(begin + size as u64) - from) as usize;
        let buffer = match buffers.take(own.max(BYTE_ORDER_MARK.len()) + TAIL_BYTES) {
            Ok(buffer) => buffer,
            Err(error) => return Cut::new(Vec::new(), Some(error)),
        };
        let mut stretch = Stretch { file: self, buffer, from, filled: 0 };
        let marked = if begin == 0 { BYTE_ORDER_MARK.len() } else { 0 };
        let read = stretch.read_to(own.max(self.len.min(marked as u64) as usize));
        let bytes = stretch.bytes();
        // A newline that is the part's last byte starts no line of it.
        let starts = &bytes[..bytes.len().min(own - 1)];
        let start = match memchr(b'\n', starts) {
            _ if begin == 0 && bytes.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
            _ if begin == 0 => 0,
            Some(at) => at + 1,
            None => return Cut::new(Vec::new(), read.err()),
        };
        // The last line that starts here: all lines before it are whole.
        let last = memrchr(b'\n', starts).map_or(start, |at| (at + 1).max(start));
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
                    let long = Text::lent(buffer, (0, end - last), from + last as u64);
                    return Cut::new(vec![stretch.into_text(start, last), long], None);
                }
                Err(error) => (last, Some(error)),
            },
            Ok(None) => {
                // Who counts lines fills in this one's number.
                let name = self.name.to_string();
                (last, Some(InputError::RecordTooLong { name, line: 0, limit }.into()))
            }
            // The last line may be cut anywhere: only what a newline ended is answered.
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
    use warpath_backend::cpu::Cpu;

    fn file(text: &[u8], base: u64) -> PlainFile {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        PlainFile::new(file, "test".into(), base).unwrap()
    }

    /// The file behind it.
    fn behind(file: &PlainFile) -> &File {
        let Bytes::File(file) = &file.file else { panic!("it is packed") };
        file
    }

    /// All parts' texts, from the last part to the first, so that none can lean on an earlier one.
    fn texts(file: &PlainFile, size: usize, limit: usize) -> (Vec<Text>, Option<Error>) {
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
                        // It owns what starts in it, and nothing else.
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

    /// A line that is as long as may be, and one that is longer, whatever stands beside it.
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
