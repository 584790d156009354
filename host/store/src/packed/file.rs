//! An open packed file: any thread may read any part of its text at any time.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;
use warpath_core::error::{Error, InputError};
use warpath_core::pool::cores;
use warpath_core::pool::stream::{Limits, each};
use warpath_core::stamp::hash;

use super::group::{PackedGroup, body_bytes};
use super::layout::{
    self, Damage, GROUP_BYTES, GroupEntry, GroupHeader, HEADER_BYTES, TRAILER_BYTES, Trailer,
};
use crate::fsst::Decoder;

/// An open packed file. Opening it checks the table of groups. The first read of a group checks the group, by
/// its checksum and its codes. Clones are cheap.
///
/// The file is mapped, so no process may write to it while it is open. A write causes errors or another text,
/// and a signal where the file becomes shorter.
///
/// ```
/// use warpath::Source;
/// use warpath::packed::{PackOptions, PackedFile, pack_to};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text = "{\"a\":1}\n{\"a\":2}\n";
/// let source = Source::Reader("log".into(), Box::new(text.as_bytes()));
/// let mut packed = Vec::new();
/// pack_to(source, &mut packed, "log.wpk", PackOptions::default())?;
/// let file = PackedFile::from_bytes(packed, "log.wpk")?;
/// // Lines, or bytes of the text, by their numbers from 0. The rest is not decoded.
/// assert_eq!(file.lines(1..2)?, b"{\"a\":2}\n");
/// assert_eq!(file.text(5..6)?, b"1");
/// file.check()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PackedFile(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    name: String,
    bytes: FileBytes,
    entries: Vec<GroupEntry>,
    trailer: Trailer,
    /// The result of each group's check, once it has been read.
    groups: Vec<OnceLock<Result<(), Damage>>>,
}

/// All bytes of a file.
#[derive(Debug)]
enum FileBytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl FileBytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// A packed file's description of itself.
///
/// ```
/// use warpath::Source;
/// use warpath::packed::{PackOptions, PackedFile, pack_to};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text = "{\"a\":1}\n{\"a\":2}\n";
/// let source = Source::Reader("log".into(), Box::new(text.as_bytes()));
/// let mut packed = Vec::new();
/// pack_to(source, &mut packed, "log.wpk", PackOptions::default())?;
/// let info = PackedFile::from_bytes(packed, "log.wpk")?.info();
/// assert_eq!((info.text_bytes, info.lines, info.groups), (16, 2, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackedInfo {
    /// Bytes of text.
    pub text_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Newlines of the text.
    pub lines: u64,
    /// Number of groups of lines.
    pub groups: u64,
}

fn first<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

/// Checks the trailer and the table of groups. The file has a header.
fn check(bytes: &[u8]) -> Result<(Vec<GroupEntry>, Trailer), Damage> {
    let too_short = || Damage::from("it ends early");
    let end = bytes.len().checked_sub(TRAILER_BYTES).ok_or_else(too_short)?;
    let trailer = Trailer::parse(first(bytes, end).ok_or_else(too_short)?)?;
    let from = usize::try_from(trailer.table).ok().filter(|from| *from <= end);
    let table = &bytes[from.ok_or("its table of groups is not at its recorded offset")?..end];
    if !table.starts_with(layout::TABLE) {
        return Err("its table of groups is not at its recorded offset".into());
    }
    let count =
        usize::try_from(trailer.groups).ok().and_then(|groups| groups.checked_mul(layout::ENTRY_BYTES));
    if count.and_then(|len| len.checked_add(layout::TABLE.len())) != Some(table.len())
        || hash(table) != trailer.checksum
    {
        return Err("checksum mismatch in its table of groups".into());
    }
    let entries: Vec<GroupEntry> = layout::entries(table).collect();
    let mut next = GroupEntry { place: HEADER_BYTES as u64, text: 0, line: 0 };
    for entry in &entries {
        if *entry != next {
            return Err("its groups are not consecutive".into());
        }
        let place = usize::try_from(entry.place).map_err(|_| too_short())?;
        let header = first::<GROUP_BYTES>(&bytes[..end], place).ok_or_else(too_short)?;
        let header = GroupHeader::parse(header)?;
        let len = (GROUP_BYTES as u64).checked_add(body_bytes(&header)? as u64).ok_or_else(too_short)?;
        let add = |a: u64, b: u64| a.checked_add(b).ok_or("the sizes of its groups overflow 64 bits");
        next = GroupEntry {
            place: add(entry.place, len)?,
            text: add(entry.text, header.text)?,
            line: add(entry.line, header.lines)?,
        };
    }
    let said = GroupEntry { place: trailer.table, text: trailer.text, line: trailer.lines };
    if next == said { Ok((entries, trailer)) } else { Err("its groups do not match its trailer".into()) }
}

impl PackedFile {
    /// Opens the file of this name.
    ///
    /// # Errors
    /// [`InputError::Io`] if the file cannot be read, or is not a regular file; [`InputError::Directory`];
    /// [`InputError::NotPacked`] for another kind of file; [`InputError::PackedVersion`] for another version;
    /// [`InputError::Packed`] for a damaged file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let failed = |source| InputError::Io { name: name.clone(), source };
        let metadata = path.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(InputError::Directory(path.to_owned()).into());
        }
        // Opening a pipe would wait until another process writes to it.
        if !metadata.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file")).into());
        }
        let file = File::open(path).map_err(failed)?;
        Ok(Self::of_file(&file, name)?)
    }

    /// [`open`](Self::open) for a file that is already open.
    pub fn of_file(file: &File, name: String) -> Result<Self, InputError> {
        // An empty file cannot be mapped.
        if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            return Err(InputError::NotPacked { name });
        }
        // SAFETY: docs/packed-file.md forbids writes to a packed file while it is open, and Warpath itself
        // renames a new file over the old one. A process that writes nevertheless causes errors or another
        // text, because each read checks its offsets again ([`PackedGroup`]); or a signal where the file
        // becomes shorter.
        let map =
            unsafe { Mmap::map(file) }.map_err(|source| InputError::Io { name: name.clone(), source })?;
        Self::new(FileBytes::Mapped(map), name)
    }

    /// Opens a packed file in memory. `name` is used in messages.
    ///
    /// # Errors
    /// [`InputError::NotPacked`], [`InputError::PackedVersion`] and [`InputError::Packed`], as for
    /// [`open`](Self::open).
    pub fn from_bytes(bytes: Vec<u8>, name: impl Into<String>) -> Result<Self, InputError> {
        Self::new(FileBytes::Owned(bytes), name.into())
    }

    fn new(bytes: FileBytes, name: String) -> Result<Self, InputError> {
        layout::check_header(bytes.all(), &name)?;
        match check(bytes.all()) {
            Ok((entries, trailer)) => {
                let groups = entries.iter().map(|_| OnceLock::new()).collect();
                Ok(Self(Arc::new(Opened { name, bytes, entries, trailer, groups })))
            }
            Err(what) => Err(InputError::Packed { name, what }),
        }
    }

    /// Returns the name for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the file's description of itself.
    #[must_use]
    pub fn info(&self) -> PackedInfo {
        let Trailer { groups, text, lines, .. } = self.0.trailer;
        PackedInfo { text_bytes: text, file_bytes: self.0.bytes.all().len() as u64, lines, groups }
    }

    /// Returns the error for damage of this file.
    pub(crate) fn damaged(&self, what: impl Into<String>) -> Error {
        InputError::Packed { name: self.0.name.clone(), what: what.into() }.into()
    }

    /// Returns the bytes of a group in the file, and the offset of its text.
    ///
    /// # Panics
    /// Panics if there is no group of this number.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn group_bytes(&self, number: usize) -> (&[u8], u64) {
        let Opened { bytes, entries, trailer, .. } = &*self.0;
        let end = entries.get(number + 1).map_or(trailer.table, |next| next.place);
        let entry = entries[number];
        (&bytes.all()[entry.place as usize..end as usize], entry.text)
    }

    /// Returns the text size in bytes of the longest group.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn longest_group(&self) -> u64 {
        let Opened { entries, trailer, .. } = &*self.0;
        let ends = entries.iter().skip(1).map(|entry| entry.text).chain([trailer.text]);
        entries.iter().zip(ends).map(|(entry, end)| end - entry.text).max().unwrap_or_default()
    }

    /// Returns a group by its number, and the offset of its text.
    ///
    /// # Errors
    /// [`InputError::Packed`] for the faults that [`PackedGroup::parse`] detects.
    ///
    /// # Panics
    /// Panics if there is no group of this number.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn group(&self, number: usize) -> Result<(PackedGroup<'_>, u64), Error> {
        let (bytes, at) = self.group_bytes(number);
        Ok((PackedGroup::parse(bytes).map_err(|what| self.damaged(what))?, at))
    }

    /// Returns a group whose checksum matches, and its decoder.
    fn checked(&self, number: usize) -> Result<(PackedGroup<'_>, Decoder), Error> {
        let (group, _) = self.group(number)?;
        match self.0.groups[number].get_or_init(|| group.verify()) {
            Ok(()) => {
                let decoder = group.decoder();
                Ok((group, decoder))
            }
            Err(what) => Err(self.damaged(what.clone())),
        }
    }

    /// Returns all text of a group.
    ///
    /// # Errors
    /// [`InputError::Packed`] if the group is damaged.
    ///
    /// # Panics
    /// Panics if there is no group of this number.
    pub fn group_text(&self, number: usize) -> Result<Vec<u8>, Error> {
        let (group, _) = self.checked(number)?;
        group.text().map_err(|what| self.damaged(what))
    }

    /// Fills `room` with the text from `at` on, up to the end of the group there. Returns the number of
    /// bytes: 0 at the end of the text.
    pub fn read_at(&self, room: &mut [u8], at: u64) -> Result<usize, Error> {
        if at >= self.0.trailer.text || room.is_empty() {
            return Ok(0);
        }
        let number = self.0.entries.partition_point(|entry| entry.text <= at) - 1;
        let (group, decoder) = self.checked(number)?;
        group.read(&decoder, at - self.0.entries[number].text, room).map_err(|what| self.damaged(what))
    }

    /// Returns the text of a range, as far as there is any.
    ///
    /// # Errors
    /// [`InputError::Packed`] if the file is damaged there, or if memory does not suffice.
    pub fn text(&self, range: Range<u64>) -> Result<Vec<u8>, Error> {
        let len = range.end.min(self.0.trailer.text).saturating_sub(range.start);
        let mut text = Vec::new();
        let room = usize::try_from(len).ok().filter(|len| text.try_reserve_exact(*len).is_ok());
        text.resize(
            room.ok_or_else(|| self.damaged(format!("there is no memory for {len} bytes of it")))?,
            0,
        );
        let mut filled = 0;
        while filled < text.len() {
            filled += self.read_at(&mut text[filled..], range.start + filled as u64)?;
        }
        Ok(text)
    }

    /// Returns the lines of a range, with their newlines, as far as there are any. Lines count from 0; blank
    /// lines count.
    ///
    /// # Errors
    /// As for [`text`](Self::text).
    pub fn lines(&self, range: Range<u64>) -> Result<Vec<u8>, Error> {
        self.text(self.lines_at(range)?)
    }

    /// Returns the text range of lines, which count from 0. The range begins with the first line's first
    /// byte, and ends after the last line's newline.
    ///
    /// # Errors
    /// As for [`text`](Self::text).
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn lines_at(&self, range: Range<u64>) -> Result<Range<u64>, Error> {
        Ok(self.line_start(range.start)?..self.line_start(range.end.max(range.start))?)
    }

    /// Returns the offset at which a line begins; the end of the text if there is no such line.
    fn line_start(&self, line: u64) -> Result<u64, Error> {
        // The last group that begins at this line or before it. Earlier groups have no text after their
        // newlines.
        let number = self.0.entries.partition_point(|entry| entry.line <= line);
        let Some(number) = number.checked_sub(1) else { return Ok(0) };
        let (group, decoder) = self.checked(number)?;
        let GroupEntry { text, line: first, .. } = self.0.entries[number];
        Ok(text + group.line_start(&decoder, line - first).map_err(|what| self.damaged(what))?)
    }

    /// Checks all groups, and returns the first fault. After success, every part of the text is read as it
    /// was packed.
    ///
    /// # Errors
    /// [`InputError::Packed`] for the first fault.
    pub fn check(&self) -> Result<(), Error> {
        let groups = self.0.entries.len();
        let check = |(): &mut (), number| {
            let (group, _) = self.checked(number)?;
            group.check(number + 1 == groups).map_err(|what| self.damaged(what))
        };
        each(Limits::of(cores().min(groups)), 0..groups, check, |checked| checked)
    }
}
