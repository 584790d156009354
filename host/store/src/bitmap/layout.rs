//! The layout of a bitmap index, which is the section `bins` of a part: docs/part-file.md, in code. All
//! numbers are little-endian.

mod table;

use std::ops::Range;

use warpath_core::fields::Fields;
use warpath_core::stamp::hash;
use warpath_shared::bitmap::tiles_for;
use warpath_shared::wah::chunks_for;

use super::column::{Column, Holds};
use table::{ColumnEntry, decode_column, encode_table};

pub(super) use table::{fault, table_bytes};

/// The greatest number of rows of an index: [`TileStart`](warpath_shared::bitmap::TileStart) counts atoms and
/// chunks in 32 bits.
pub const MAX_ROWS: u64 = warpath_shared::wah::CHUNK_ROWS as u64 * u32::MAX as u64;

/// Size of the header in bytes.
pub const HEADER_BYTES: usize = 128;
/// The alignment of every section, and of the atoms and the tiles of each bin.
pub(super) const ALIGN: usize = 64;
/// Number of values of a bin that have a checksum together: a block.
pub(super) const BLOCK_ROWS: u64 = 1 << 16;

const HAS_RECORDS: u32 = 1;

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
    /// The section's range of bytes in the index.
    pub place: Range<usize>,
    /// The XXH3 of these bytes.
    pub checksum: u64,
}

/// A compressed bitmap in the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BitmapPlace {
    /// The atoms of the bitmap.
    pub atoms: Section,
    /// The start of each tile among the atoms.
    pub tiles: Section,
}

/// A bin in the index.
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

/// A column in the index.
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
    /// The columns.
    pub columns: Vec<Column>,
    /// The offsets of the columns' parts in the index.
    pub places: Vec<ColumnPlace>,
    /// The bitmap of the rows that are records, unless all are.
    pub records: Option<BitmapPlace>,
    /// Size of the table, which follows the header, in bytes.
    pub table_bytes: usize,
    /// Size of the index in bytes.
    pub bytes: usize,
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
}

/// The ranges of all parts, without checksums.
#[derive(Debug)]
pub(super) struct AllPlaces {
    pub columns: Vec<ColumnPlace>,
    /// The bitmap of the rows that are records, unless all are.
    pub records: Option<BitmapPlace>,
    /// The table, which follows the header.
    pub table: Range<usize>,
    /// Size of the index in bytes.
    pub bytes: usize,
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
        Some(AllPlaces { columns: places, records, table, bytes: usize::try_from(next.0).ok()? })
    }
}

impl Contents {
    /// Encodes the header and the table, which follows the header.
    pub fn encode(&self) -> Vec<u8> {
        let table = encode_table(&self.columns, &self.places);
        let Self { rows, records, bytes: all, .. } = self;
        let flags = if records.is_some() { HAS_RECORDS } else { 0 };
        let records = records.clone().unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + table.len());
        put32(&mut bytes, &[flags, self.columns.len() as u32]);
        put64(&mut bytes, &[*rows, table.len() as u64, hash(&table), *all as u64]);
        put64(&mut bytes, &[records.atoms.place.len() as u64 / 8]);
        put64(&mut bytes, &[records.atoms.checksum, records.tiles.checksum]);
        bytes.resize(HEADER_BYTES - 8, 0);
        let checksum = hash(&bytes);
        put64(&mut bytes, &[checksum]);
        bytes.extend_from_slice(&table);
        bytes
    }

    /// Decodes the header and the table of an index. `all` has all bytes of it.
    pub fn decode(all: &[u8]) -> Result<Self, &'static str> {
        let (head, rest) = all.split_first_chunk::<HEADER_BYTES>().ok_or("it ends in its header")?;
        let (checked, checksum) = head.split_at(HEADER_BYTES - 8);
        if Fields(checksum).u64() != Some(hash(checked)) {
            return Err("header checksum mismatch");
        }
        let header = BitmapHeader::decode(checked).ok_or("invalid header")?;
        if header.bytes != all.len() as u64 {
            return Err("its length is not the length in its header");
        }
        let table = usize::try_from(header.table_bytes).ok().and_then(|len| rest.get(..len));
        let table = table.ok_or("its table is longer than the index")?;
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
        };
        let places = sizes.places().ok_or("it has impossible sizes")?;
        if places.bytes != all.len() {
            return Err("its table and its length disagree");
        }
        let AllPlaces { columns: mut places, mut records, table, bytes } = places;
        for (place, entry) in places.iter_mut().zip(entries) {
            place.checksums.checksum = entry.checksum;
            for (bin, (atoms, tiles)) in place.bins.iter_mut().zip(entry.checksums) {
                (bin.bitmap.atoms.checksum, bin.bitmap.tiles.checksum) = (atoms, tiles);
            }
        }
        if let Some(records) = &mut records {
            (records.atoms.checksum, records.tiles.checksum) = header.records_checksums;
        }
        let (rows, table_bytes) = (header.rows, table.len());
        Ok(Self { rows, columns, places, records, table_bytes, bytes })
    }
}

fn put32(to: &mut Vec<u8>, numbers: &[u32]) {
    to.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put64(to: &mut Vec<u8>, numbers: &[u64]) {
    to.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// The fields of the header.
struct BitmapHeader {
    flags: u32,
    columns: u32,
    rows: u64,
    table_bytes: u64,
    table_checksum: u64,
    bytes: u64,
    records_atoms: u64,
    records_checksums: (u64, u64),
}

impl BitmapHeader {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Fields(bytes);
        let header = Self {
            flags: from.u32()?,
            columns: from.u32()?,
            rows: from.u64()?,
            table_bytes: from.u64()?,
            table_checksum: from.u64()?,
            bytes: from.u64()?,
            records_atoms: from.u64()?,
            records_checksums: (from.u64()?, from.u64()?),
        };
        let spare = from.0.iter().all(|byte| *byte == 0);
        let absent = header.flags & HAS_RECORDS != 0
            || (header.records_atoms, header.records_checksums) == (0, (0, 0));
        (spare && absent && header.flags & !HAS_RECORDS == 0 && header.rows <= MAX_ROWS).then_some(header)
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
