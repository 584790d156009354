//! The layout of a column's file: docs/fsst-file.md, in code. All numbers are little-endian.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;
use warpath_core::error::{ColumnError, Error};
use warpath_core::file::read_exact_at;
use warpath_core::pool;
use warpath_core::stamp::hash;
use warpath_core::temporary::{OutputMode, Temporary};
use warpath_shared::fsst::{MAX_SYMBOLS, SPLIT_CODES, Split, Table};

use super::{ColumnParts, Image, PIECE_NUMBERS, StringColumn, StringKind};

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 1;
/// The extension of such files' names.
pub const EXTENSION: &str = "wps";

/// The first bytes of every column: a byte that is not text, the name, and line ends that a transfer as text
/// would change.
const MAGIC: &[u8; 8] = b"\x89WPS\r\n\x1a\n";
/// Size of the header in bytes.
const HEADER_BYTES: usize = 128;
/// The alignment of every section.
const ALIGN: usize = 64;
/// Size of a block with a checksum of its own.
const BLOCK_BYTES: usize = 1 << 20;

const IS_TEXT: u32 = 1;
const HAS_NULLS: u32 = 2;
const IS_WIDE: u32 = 4;

/// The fields of the header.
#[derive(Clone, Copy, Debug)]
struct ColumnHeader {
    flags: u32,
    rows: u64,
    nulls: u64,
    codes: u64,
    bytes: u64,
    symbols: u64,
    file_bytes: u64,
    checksum: u64,
}

/// The ranges of all parts.
struct PartRanges {
    checksums: Range<usize>,
    /// All parts between the checksums and the codes.
    front: Range<usize>,
    table: Range<usize>,
    validity: Range<usize>,
    splits: Range<usize>,
    offsets: Range<usize>,
    codes: Range<usize>,
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

impl ColumnHeader {
    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.flags.to_le_bytes());
        let Self { rows, nulls, codes, bytes: len, symbols, file_bytes, checksum, .. } = *self;
        let all = [rows, nulls, codes, len, symbols, file_bytes, checksum];
        for (to, number) in bytes[16..].as_chunks_mut().0.iter_mut().zip(all) {
            *to = number.to_le_bytes();
        }
        let checksum = hash(&bytes[..HEADER_BYTES - 8]);
        bytes[HEADER_BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Decodes the header of a file whose version is known.
    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, &'static str> {
        let (checked, checksum) = bytes.split_at(HEADER_BYTES - 8);
        if number(checksum) != hash(checked) {
            return Err("header checksum mismatch");
        }
        let flags = number(&checked[12..16]) as u32;
        let (all, rest) = checked[16..].split_at(56);
        let &[rows, nulls, codes, bytes, symbols, file_bytes, checksum] = &numbers(all)[..] else {
            return Err("invalid header");
        };
        let has_nulls = flags & HAS_NULLS != 0;
        let is_known = flags & !(IS_TEXT | HAS_NULLS | IS_WIDE) == 0 && rest.iter().all(|byte| *byte == 0);
        if !is_known || symbols > MAX_SYMBOLS as u64 || nulls > rows || has_nulls != (nulls > 0) {
            return Err("invalid header");
        }
        if flags & IS_WIDE == 0 && codes > u64::from(u32::MAX) {
            return Err("it has more codes than its offsets can express");
        }
        Ok(Self { flags, rows, nulls, codes, bytes, symbols, file_bytes, checksum })
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Returns the sizes in bytes of the table, validity, splits and offsets.
    fn sizes(&self) -> Option<[u64; 4]> {
        let width = if self.has(IS_WIDE) { 8 } else { 4 };
        let validity = if self.has(HAS_NULLS) { 8 * self.rows.div_ceil(64) } else { 0 };
        let splits = 8 * (self.codes.div_ceil(SPLIT_CODES as u64) + 1);
        Some([9 * self.symbols, validity, splits, self.rows.checked_add(1)?.checked_mul(width)?])
    }

    /// Returns the ranges of all parts; `None` beyond the address space.
    fn places(&self) -> Option<PartRanges> {
        let align = |at: u64| at.checked_next_multiple_of(ALIGN as u64);
        let sizes = self.sizes()?;
        let mut front = 0_u64;
        let mut starts = [0; 4];
        for (start, size) in starts.iter_mut().zip(sizes) {
            *start = front;
            front = align(front.checked_add(size)?)?;
        }
        let blocks = front.div_ceil(BLOCK_BYTES as u64) + self.codes.div_ceil(BLOCK_BYTES as u64);
        let begin = HEADER_BYTES as u64;
        let behind = align(begin.checked_add(8 * blocks)?)?;
        let codes = behind.checked_add(front)?;
        let end = codes.checked_add(self.codes)?;
        // No offset below exceeds this one.
        usize::try_from(end).ok()?;
        let place = |at: usize| {
            let start = (behind + starts[at]) as usize;
            start..start + sizes[at] as usize
        };
        Some(PartRanges {
            checksums: begin as usize..(begin + 8 * blocks) as usize,
            front: behind as usize..codes as usize,
            table: place(0),
            validity: place(1),
            splits: place(2),
            offsets: place(3),
            codes: codes as usize..end as usize,
        })
    }
}

/// Returns the checksums of the blocks of the two ranges.
fn checksums(front: &[u8], codes: &[u8]) -> Vec<u64> {
    pool::map(front.chunks(BLOCK_BYTES).chain(codes.chunks(BLOCK_BYTES)).collect(), hash)
}

/// Decodes offsets of 32 or 64 bits, on all cores.
fn wide<const N: usize>(bytes: &[u8]) -> Vec<u64> {
    let numbers = bytes.as_chunks::<N>().0;
    let mut all = vec![0; numbers.len()];
    let pieces = all.chunks_mut(PIECE_NUMBERS).zip(numbers.chunks(PIECE_NUMBERS)).collect();
    pool::map(pieces, |(to, from): (&mut [u64], &[[u8; N]])| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = number(from));
    });
    all
}

fn narrow<const N: usize>(offsets: &[u64], to: &mut [u8]) {
    let pieces = to.as_chunks_mut::<N>().0.chunks_mut(PIECE_NUMBERS).zip(offsets.chunks(PIECE_NUMBERS));
    pool::map(pieces.collect(), |(to, from): (&mut [[u8; N]], &[u64])| {
        for (to, from) in to.iter_mut().zip(from) {
            to.copy_from_slice(&from.to_le_bytes()[..N]);
        }
    });
}

/// The contents of a column's file other than its codes, and the range of these.
struct FileContents {
    header: ColumnHeader,
    table: Table,
    offsets: Vec<u64>,
    splits: Vec<Split>,
    validity: Option<Vec<u64>>,
    codes: Range<usize>,
}

/// Reads a file whose magic and version are valid.
fn read(file: &[u8]) -> Result<FileContents, String> {
    let head = file.first_chunk().ok_or("it ends in its header")?;
    let header = ColumnHeader::decode(head)?;
    if header.file_bytes != file.len() as u64 {
        return Err("its length is not the length in its header".into());
    }
    let places = header.places().filter(|places| places.codes.end == file.len());
    let places = places.ok_or("its header and its length disagree")?;
    let said = &file[places.checksums.clone()];
    if hash(said) != header.checksum {
        return Err("checksum mismatch in its list of checksums".into());
    }
    if file[places.checksums.end..places.front.start].iter().any(|byte| *byte != 0) {
        return Err("there are bytes after its checksums".into());
    }
    let found = checksums(&file[places.front.clone()], &file[places.codes.clone()]);
    if let Some(block) = found.iter().zip(numbers(said)).position(|(found, said)| *found != said) {
        let in_front = places.front.len().div_ceil(BLOCK_BYTES);
        let of = if block < in_front { places.front.start } else { places.codes.start };
        let at = of + (if block < in_front { block } else { block - in_front }) * BLOCK_BYTES;
        return Err(format!("checksum mismatch in the block that begins at byte {at}"));
    }
    let (symbols, lens) = file[places.table].split_at(8 * header.symbols as usize);
    let table =
        Table::new(&numbers(symbols), lens).map_err(|fault| format!("invalid table of symbols: {fault}"))?;
    let validity = header.has(HAS_NULLS).then(|| numbers(&file[places.validity]));
    let offsets = &file[places.offsets];
    let offsets = if header.has(IS_WIDE) { wide::<8>(offsets) } else { wide::<4>(offsets) };
    let splits = numbers(&file[places.splits]).into_iter().map(Split).collect();
    Ok(FileContents { header, table, offsets, splits, validity, codes: places.codes })
}

/// Checks that the first bytes of a file are a column's, of a known version.
fn check_head(name: &str, head: &[u8]) -> Result<(), ColumnError> {
    if !head.starts_with(MAGIC) {
        return Err(ColumnError::NotAColumn { name: name.into() });
    }
    if head.len() < HEADER_BYTES {
        return Err(ColumnError::Damaged { name: name.into(), what: "it ends in its header".into() });
    }
    // Another version may have another header, so the version is compared before the checksum.
    match number(&head[8..12]) as u32 {
        VERSION => Ok(()),
        found => Err(ColumnError::Version { name: name.into(), found, known: VERSION }),
    }
}

fn column(
    name: String,
    image: impl FnOnce(Range<usize>) -> Image,
    read: Result<FileContents, String>,
) -> Result<StringColumn, ColumnError> {
    let FileContents { header, table, offsets, splits, validity, codes } =
        read.map_err(|what| ColumnError::Damaged { name: name.clone(), what })?;
    let kind = if header.has(IS_TEXT) { StringKind::Utf8 } else { StringKind::Binary };
    let column =
        ColumnParts { name, kind, table, image: image(codes), offsets, splits, validity }.assemble()?;
    if column.nulls != header.nulls || column.bytes() != header.bytes {
        return Err(column.damaged("its header and the sections after it disagree"));
    }
    Ok(column)
}

impl StringColumn {
    /// Opens a file. All cores read the whole file, for its checksums. The codes stay in the file, which is
    /// mapped; the offsets and all other parts are then in memory.
    ///
    /// # Errors
    /// [`Error::Column`] if the file cannot be read, is not a column, is of another version, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let failed = |source| ColumnError::Io { name: name.clone(), source };
        let metadata = path.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)).into());
        }
        // Opening a pipe would wait until another process writes to it.
        if !metadata.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file")).into());
        }
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let mut head = [0; HEADER_BYTES];
        let there = HEADER_BYTES.min(usize::try_from(len).unwrap_or(HEADER_BYTES));
        read_exact_at(&file, &mut head[..there], 0).map_err(failed)?;
        check_head(&name, &head[..there])?;
        // SAFETY: docs/fsst-file.md forbids writes to a column while it is open, and Warpath itself renames a
        // new file over the old one. A process that writes nevertheless causes wrong strings or errors,
        // because every decoder checks the codes again; or a signal where the file becomes shorter.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        let read = read(&map);
        Ok(column(name, |codes| Image::Mapped(map, codes), read)?)
    }

    /// Opens a column from the bytes of a file, in memory. `name` is used in messages.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Error> {
        check_head(name, &bytes[..bytes.len().min(HEADER_BYTES)])?;
        let read = read(&bytes);
        Ok(column(name.into(), |codes| Image::Owned(bytes, codes), read)?)
    }

    /// Returns the bytes before the codes in a file.
    fn head(&self) -> Result<Vec<u8>, Error> {
        let codes = self.image.codes();
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        let mut header = ColumnHeader {
            flags: flag(self.kind == StringKind::Utf8, IS_TEXT)
                | flag(self.nulls > 0, HAS_NULLS)
                | flag(u32::try_from(codes.len()).is_err(), IS_WIDE),
            rows: self.len(),
            nulls: self.nulls,
            codes: codes.len() as u64,
            bytes: self.bytes(),
            symbols: self.table.len() as u64,
            file_bytes: 0,
            checksum: 0,
        };
        let places = header.places().ok_or_else(|| Error::Internal("a file longer than memory".into()))?;
        let mut all = vec![0; places.front.end];
        let symbols = self.table.len();
        let (to_symbols, to_lens) = all[places.table].split_at_mut(8 * symbols);
        put(to_symbols, &self.table.symbols()[..symbols]);
        to_lens.copy_from_slice(&self.table.lens()[..symbols]);
        put(&mut all[places.validity], self.validity.as_deref().unwrap_or_default());
        let splits: Vec<u64> = self.splits.iter().map(|split| split.0).collect();
        put(&mut all[places.splits], &splits);
        let to = &mut all[places.offsets];
        if header.has(IS_WIDE) {
            narrow::<8>(&self.offsets, to);
        } else {
            narrow::<4>(&self.offsets, to);
        }
        let checksums = checksums(&all[places.front], codes);
        put(&mut all[places.checksums.clone()], &checksums);
        header.checksum = hash(&all[places.checksums]);
        header.file_bytes = places.codes.end as u64;
        all[..HEADER_BYTES].copy_from_slice(&header.encode());
        Ok(all)
    }

    /// Returns the bytes of the column's file.
    ///
    /// # Errors
    /// [`Error::Internal`] if they exceed the address space.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = self.head()?;
        bytes.extend_from_slice(self.image.codes());
        Ok(bytes)
    }

    /// Writes the column to a temporary file beside `path`, and renames that file. So `path` always has a
    /// whole file, the old one or the new one.
    ///
    /// # Errors
    /// [`Error::Column`] if the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.write_as(path, OutputMode::default())
    }

    /// Writes the column with no more permissions than `mode`, the mode of the files that the strings come
    /// from.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_as(&self, path: impl AsRef<Path>, mode: OutputMode) -> Result<(), Error> {
        let path = path.as_ref();
        let head = self.head()?;
        let write = || {
            let (temporary, mut out) = Temporary::beside(path, mode)?;
            out.write_all(&head)?;
            out.write_all(self.image.codes())?;
            temporary.rename()
        };
        write().map_err(|source| ColumnError::Io { name: path.display().to_string(), source }.into())
    }
}

fn put(to: &mut [u8], numbers: &[u64]) {
    for (to, number) in to.as_chunks_mut().0.iter_mut().zip(numbers) {
        *to = number.to_le_bytes();
    }
}
