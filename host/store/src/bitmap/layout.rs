//! The layout of a bitmap index: docs/bitmap-file.md, in code. All numbers are little-endian.

mod table;

use std::ops::Range;

use warpath_core::fields::Fields;
use warpath_core::stamp::{Stamp, hash};
use warpath_shared::bitmap::tiles_for;
use warpath_shared::wah::chunks_for;

use super::column::{Column, Holds};
use table::{ColumnEntry, decode_column, encode_table};

pub(super) use table::{fault, table_bytes};

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 2;

/// The greatest number of rows of an index: [`TileStart`](warpath_shared::bitmap::TileStart) counts atoms and
/// chunks in 32 bits.
pub const MAX_ROWS: u64 = warpath_shared::wah::CHUNK_ROWS as u64 * u32::MAX as u64;

/// The first bytes of every bitmap index: a byte that is not text, the name, and line ends that a transfer as
/// text would change.
const MAGIC: &[u8; 8] = b"\x89WPB\r\n\x1a\n";
/// Size of the header in bytes.
pub const HEADER_BYTES: usize = 128;
/// The alignment of every section, and of the atoms and the tiles of each bin.
pub(super) const ALIGN: usize = 64;
/// Number of values of a bin that have a checksum together: a block.
pub(super) const BLOCK_ROWS: u64 = 1 << 16;
/// Number of lines of a block; the index stores each block's offset in the input.
pub const BLOCK_LINES: u64 = 64;

const HAS_STAMP: u32 = 1;
const HAS_RECORDS: u32 = 2;
const HAS_LINES: u32 = 4;

/// The encoding of the values of a bin's rows. The contents of the bin determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// No stored values: there are none, or all are equal.
    Same,
    /// Each value's distance from the least value, in 1 byte.
    U8,
    /// Distances from the least value in 2 bytes.
    U16,
    /// Distances in 4 bytes.
    U32,
    /// Distances in 8 bytes.
    U64,
    /// The bytes of the texts, and their offsets of eight bytes each, one offset more than rows.
    Text,
}

impl Encoding {
    /// Returns the encoding for a bin that holds `holds`: for numbers, the fewest bytes that hold the
    /// greatest distance.
    pub fn of(holds: &Holds) -> Self {
        let Holds::Values { least, greatest } = holds else { return Self::Same };
        match greatest.distance(least) {
            None if least == greatest => Self::Same,
            None => Self::Text,
            Some(0) => Self::Same,
            Some(0x1..=0xff) => Self::U8,
            Some(0x100..=0xffff) => Self::U16,
            Some(0x1_0000..=0xffff_ffff) => Self::U32,
            Some(_) => Self::U64,
        }
    }

    /// Returns the size in bytes of the number that is stored for a row.
    pub fn width(self) -> u64 {
        match self {
            Self::Same => 0,
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 => 4,
            Self::U64 | Self::Text => 8,
        }
    }

    /// Returns the number of stored numbers for `rows` rows. Texts have one more than rows.
    pub fn count(self, rows: u64) -> u64 {
        match self {
            Self::Same => 0,
            Self::Text => rows + 1,
            _ => rows,
        }
    }

    /// Returns the number of checksums for the values of `rows` rows: one per block, or two for texts.
    pub fn checksums(self, rows: u64) -> u64 {
        match self {
            Self::Same => 0,
            Self::Text => 2 * blocks_for(rows),
            _ => blocks_for(rows),
        }
    }
}

/// A range of the file with a checksum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The section's range of bytes in the file.
    pub place: Range<usize>,
    /// The XXH3 of these bytes.
    pub checksum: u64,
}

/// A compressed bitmap in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BitmapPlace {
    /// The atoms of the bitmap.
    pub atoms: Section,
    /// The start of each tile among the atoms.
    pub tiles: Section,
}

/// A bin in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct BinPlace {
    /// Its bitmap.
    pub bitmap: BitmapPlace,
    /// The encoding of the values.
    pub encoding: Encoding,
    /// The numbers of the values, or the offsets of texts; empty where there are none.
    pub values: Range<usize>,
    /// The texts; empty where there are none.
    pub text: Range<usize>,
    /// The index of the bin's first checksum among those of the column. Each block has a checksum of its
    /// numbers. A block of texts has another one after it.
    pub checksum: usize,
}

/// A column in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnPlace {
    /// The bins, in their order.
    pub bins: Vec<BinPlace>,
    /// Checksums of the values, bin by bin, of eight bytes each.
    pub checksums: Section,
}

/// The contents of the header and the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Number of rows of the index.
    pub rows: u64,
    /// The input at the time of the build, if it was a file.
    pub stamp: Option<Stamp>,
    /// The columns.
    pub columns: Vec<Column>,
    /// The offsets of the columns' parts in the file.
    pub places: Vec<ColumnPlace>,
    /// The bitmap of the rows that are records, unless all are.
    pub records: Option<BitmapPlace>,
    /// The offset of every 64th line, where rows are lines of a plain file.
    pub lines: Option<Section>,
    /// Size of the table, which follows the header, in bytes.
    pub table_bytes: usize,
    /// Size of the index in bytes.
    pub file_bytes: usize,
}

/// Returns true if `head`, the first bytes of a file, begins like every bitmap index.
pub(super) fn is_index(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Returns the version in a header.
pub(super) fn version(head: &[u8; HEADER_BYTES]) -> u32 {
    Fields(&head[8..]).u32().unwrap_or(0)
}

/// Returns the number of blocks of `rows` rows.
pub(super) fn blocks_for(rows: u64) -> u64 {
    rows.div_ceil(BLOCK_ROWS)
}

/// Assigns consecutive ranges of the file.
struct RangeAllocator(u64);

impl RangeAllocator {
    /// Returns the next range of `bytes` bytes; `None` beyond the address space.
    fn next(&mut self, bytes: u64) -> Option<Range<usize>> {
        let end = self.0.checked_add(bytes)?;
        let place = usize::try_from(self.0).ok()?..usize::try_from(end).ok()?;
        self.0 = end.checked_next_multiple_of(ALIGN as u64)?;
        Some(place)
    }

    /// Returns the next ranges for bitmaps of `rows` rows. `atoms` counts each bitmap's atoms. First come the
    /// atoms of all bitmaps, then the tiles of all.
    fn bitmaps(&mut self, atoms: impl Iterator<Item = u64>, rows: u64) -> Option<Vec<BitmapPlace>> {
        let section = |place| Section { place, checksum: 0 };
        let mut bitmaps = Vec::new();
        for atoms in atoms {
            bitmaps.push(BitmapPlace {
                atoms: section(self.next(atoms.checked_mul(8)?)?),
                tiles: Section::default(),
            });
        }
        for bitmap in &mut bitmaps {
            bitmap.tiles = section(self.next(8 * (tiles_for(chunks_for(rows)) + 1))?);
        }
        Some(bitmaps)
    }

    /// Returns the next ranges for the values of bins, then for their texts.
    fn values(&mut self, sizes: &[BinSizes]) -> Option<Vec<[Range<usize>; 2]>> {
        let mut places = Vec::with_capacity(sizes.len());
        for BinSizes { encoding, rows, .. } in sizes {
            places.push([self.next(encoding.width() * encoding.count(*rows))?, 0..0]);
        }
        for (place, size) in places.iter_mut().zip(sizes) {
            place[1] = self.next(size.text)?;
        }
        Some(places)
    }
}

/// The sizes in a bin's entry, from which its ranges follow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BinSizes {
    pub atoms: u64,
    /// The encoding of the values.
    pub encoding: Encoding,
    /// Number of rows of the bin.
    pub rows: u64,
    /// Bytes of all texts of the bin.
    pub text: u64,
}

/// All sizes of an index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AllSizes {
    /// Number of rows of the index.
    pub rows: u64,
    pub table: u64,
    /// The sizes of each column's bins.
    pub columns: Vec<Vec<BinSizes>>,
    /// Number of atoms of the bitmap of records, unless all rows are records.
    pub records: Option<u64>,
    /// True if there are line offsets.
    pub lines: bool,
}

/// The ranges of all parts, without checksums.
#[derive(Debug)]
pub(super) struct AllPlaces {
    pub columns: Vec<ColumnPlace>,
    /// The bitmap of the rows that are records, unless all are.
    pub records: Option<BitmapPlace>,
    /// The offset of every 64th line, where rows are lines of a plain file.
    pub lines: Option<Section>,
    /// The table, which follows the header.
    pub table: Range<usize>,
    /// Size of the index in bytes.
    pub file_bytes: usize,
}

impl AllSizes {
    /// Computes the ranges of all parts; `None` beyond the address space.
    pub fn places(&self) -> Option<AllPlaces> {
        let Self { rows, columns, .. } = self;
        let mut next = RangeAllocator(HEADER_BYTES as u64);
        let table = next.next(self.table)?;
        let mut places = Vec::with_capacity(columns.len());
        for sizes in columns {
            let bitmaps = next.bitmaps(sizes.iter().map(|bin| bin.atoms), *rows)?;
            let values = next.values(sizes)?;
            let mut checksum = 0;
            let bins = sizes.iter().zip(bitmaps).zip(values).map(|((size, bitmap), [values, text])| {
                let first = checksum as usize;
                checksum += size.encoding.checksums(size.rows);
                BinPlace { bitmap, encoding: size.encoding, values, text, checksum: first }
            });
            let bins = bins.collect();
            places.push(ColumnPlace {
                bins,
                checksums: Section { place: next.next(8 * checksum)?, checksum: 0 },
            });
        }
        let records = match self.records {
            Some(atoms) => next.bitmaps([atoms].into_iter(), *rows)?.pop(),
            None => None,
        };
        let mut lines = None;
        if self.lines {
            let place = next.next(8 * (rows.div_ceil(BLOCK_LINES) + 1))?;
            lines = Some(Section { place, checksum: 0 });
        }
        Some(AllPlaces { columns: places, records, lines, table, file_bytes: usize::try_from(next.0).ok()? })
    }
}

impl Contents {
    /// Encodes the header and the table, which follows the header in the file.
    pub fn encode(&self) -> Vec<u8> {
        let table = encode_table(&self.columns, &self.places);
        let Self { rows, stamp, records, lines, file_bytes, .. } = self;
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        let flags = flag(stamp.is_some(), HAS_STAMP)
            | flag(records.is_some(), HAS_RECORDS)
            | flag(lines.is_some(), HAS_LINES);
        let stamp = stamp.unwrap_or(NO_STAMP);
        let records = records.clone().unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + table.len());
        bytes.extend_from_slice(MAGIC);
        put32(&mut bytes, &[VERSION, flags]);
        put64(&mut bytes, &[stamp.size, stamp.seconds as u64]);
        put32(&mut bytes, &[stamp.nanoseconds, self.columns.len() as u32]);
        put64(&mut bytes, &[stamp.samples, *rows, table.len() as u64, hash(&table), *file_bytes as u64]);
        put64(&mut bytes, &[records.atoms.place.len() as u64 / 8]);
        put64(&mut bytes, &[records.atoms.checksum, records.tiles.checksum]);
        put64(&mut bytes, &[lines.as_ref().map_or(0, |lines| lines.checksum), 0]);
        let checksum = hash(&bytes);
        put64(&mut bytes, &[checksum]);
        bytes.extend_from_slice(&table);
        bytes
    }

    /// Decodes the header and the table of an index. `file` is the whole index.
    pub fn decode(file: &[u8]) -> Result<Self, &'static str> {
        let (head, rest) = file.split_first_chunk::<HEADER_BYTES>().ok_or("it ends in its header")?;
        let (checked, checksum) = head.split_at(HEADER_BYTES - 8);
        if Fields(checksum).u64() != Some(hash(checked)) {
            return Err("header checksum mismatch");
        }
        let header = BitmapHeader::decode(&checked[12..]).ok_or("invalid header")?;
        if header.file_bytes != file.len() as u64 {
            return Err("its length is not the length in its header");
        }
        let table = usize::try_from(header.table_bytes).ok().and_then(|len| rest.get(..len));
        let table = table.ok_or("its table is longer than the file")?;
        if hash(table) != header.table_checksum {
            return Err("table checksum mismatch");
        }
        let (columns, entries) = header.decode_table(table).ok_or("invalid table")?;
        let has = |flag| header.flags & flag != 0;
        let sizes = AllSizes {
            rows: header.rows,
            table: header.table_bytes,
            columns: entries.iter().map(|entry| entry.sizes.clone()).collect(),
            records: has(HAS_RECORDS).then_some(header.records_atoms),
            lines: has(HAS_LINES),
        };
        let places = sizes.places().ok_or("it has impossible sizes")?;
        if places.file_bytes != file.len() {
            return Err("its table and its length disagree");
        }
        let AllPlaces { columns: mut places, mut records, mut lines, table, file_bytes } = places;
        for (place, entry) in places.iter_mut().zip(entries) {
            place.checksums.checksum = entry.checksum;
            for (bin, (atoms, tiles)) in place.bins.iter_mut().zip(entry.checksums) {
                (bin.bitmap.atoms.checksum, bin.bitmap.tiles.checksum) = (atoms, tiles);
            }
        }
        if let Some(records) = &mut records {
            (records.atoms.checksum, records.tiles.checksum) = header.records_checksums;
        }
        if let Some(lines) = &mut lines {
            lines.checksum = header.lines_checksum;
        }
        let stamp = has(HAS_STAMP).then_some(header.stamp);
        let (rows, table_bytes) = (header.rows, table.len());
        Ok(Self { rows, stamp, columns, places, records, lines, table_bytes, file_bytes })
    }
}

const NO_STAMP: Stamp = Stamp { size: 0, seconds: 0, nanoseconds: 0, samples: 0 };

fn put32(to: &mut Vec<u8>, numbers: &[u32]) {
    to.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put64(to: &mut Vec<u8>, numbers: &[u64]) {
    to.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// The fields of the header after the version.
struct BitmapHeader {
    flags: u32,
    stamp: Stamp,
    columns: u32,
    rows: u64,
    table_bytes: u64,
    table_checksum: u64,
    file_bytes: u64,
    records_atoms: u64,
    records_checksums: (u64, u64),
    lines_checksum: u64,
}

impl BitmapHeader {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Fields(bytes);
        let flags = from.u32()?;
        let (size, seconds) = (from.u64()?, from.u64()? as i64);
        let (nanoseconds, columns) = (from.u32()?, from.u32()?);
        let stamp = Stamp { size, seconds, nanoseconds, samples: from.u64()? };
        let header = Self {
            flags,
            stamp,
            columns,
            rows: from.u64()?,
            table_bytes: from.u64()?,
            table_checksum: from.u64()?,
            file_bytes: from.u64()?,
            records_atoms: from.u64()?,
            records_checksums: (from.u64()?, from.u64()?),
            lines_checksum: from.u64()?,
        };
        let known = HAS_STAMP | HAS_RECORDS | HAS_LINES;
        let spare = from.u64()? == 0 && from.is_empty();
        let absent = (flags & HAS_STAMP != 0 || stamp == NO_STAMP)
            && (flags & HAS_RECORDS != 0 || (header.records_atoms, header.records_checksums) == (0, (0, 0)))
            && (flags & HAS_LINES != 0 || header.lines_checksum == 0);
        (spare && absent && flags & !known == 0 && header.rows <= MAX_ROWS).then_some(header)
    }

    fn decode_table(&self, bytes: &[u8]) -> Option<(Vec<Column>, Vec<ColumnEntry>)> {
        let mut from = Fields(bytes);
        let (mut columns, mut entries) = (Vec::new(), Vec::new());
        for _ in 0..self.columns {
            let (column, entry) = decode_column(&mut from, bytes.len(), self.rows)?;
            columns.push(column);
            entries.push(entry);
        }
        from.is_empty().then_some((columns, entries))
    }
}
