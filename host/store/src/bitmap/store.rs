//! The conversion of a built index to its bytes.

use std::collections::HashSet;
use std::ops::Range;

use warpath_core::plain::{self, Plain};
use warpath_core::stamp::hash;
use warpath_core::wah::{WahBuf, tile_starts};

use super::built::{Built, BuiltColumn, StoredValues};
use super::column::{Bin, Column};
use super::layout::{
    self, AllPlaces, AllSizes, BLOCK_ROWS, BinPlace, BinSizes, BitmapPlace, Contents, Encoding, MAX_ROWS,
    Section,
};

/// The words of an index, under construction.
struct Image(Vec<u64>);

impl Image {
    /// Writes numbers to a range, which begins at a multiple of 64 bytes and is followed by zeros.
    fn put<T: Plain>(&mut self, place: &Range<usize>, numbers: &[T]) {
        let bytes = plain::bytes(numbers);
        let (words, rest) = bytes.as_chunks();
        let to = &mut self.0[place.start / 8..];
        for (to, word) in to.iter_mut().zip(words) {
            *to = u64::from_le_bytes(*word);
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            to[words.len()] = u64::from_le_bytes(word);
        }
    }

    /// Writes numbers to a section, and computes its checksum.
    fn section<T: Plain>(&mut self, section: &mut Section, numbers: &[T]) {
        self.put(&section.place, numbers);
        section.checksum = hash(plain::bytes(numbers));
    }

    fn bitmap(&mut self, place: &mut BitmapPlace, bitmap: &WahBuf) {
        self.section(&mut place.atoms, bitmap.words());
        self.section(&mut place.tiles, &tile_starts(bitmap.as_wah()));
    }

    /// Writes the values of a bin. Returns the checksums of its blocks.
    fn values(&mut self, place: &BinPlace, values: &StoredValues) -> Vec<u64> {
        match values {
            StoredValues::Same => Vec::new(),
            StoredValues::U8(values) => self.numbers(place, values),
            StoredValues::U16(values) => self.numbers(place, values),
            StoredValues::U32(values) => self.numbers(place, values),
            StoredValues::U64(values) => self.numbers(place, values),
            StoredValues::Text { offsets, bytes } => self.texts(place, offsets, bytes),
        }
    }

    fn numbers<T: Plain>(&mut self, place: &BinPlace, values: &[T]) -> Vec<u64> {
        self.put(&place.values, values);
        values.chunks(BLOCK_ROWS as usize).map(|block| hash(plain::bytes(block))).collect()
    }

    fn texts(&mut self, place: &BinPlace, offsets: &[u64], bytes: &[u8]) -> Vec<u64> {
        self.put(&place.values, offsets);
        self.put(&place.text, bytes);
        let rows = offsets.len() - 1;
        let blocks = (0..rows).step_by(BLOCK_ROWS as usize);
        let checksums = blocks.flat_map(|from| {
            let block = &offsets[from..=rows.min(from + BLOCK_ROWS as usize)];
            // Readers check the order of the offsets.
            let place = block[0] as usize..block[block.len() - 1] as usize;
            [hash(plain::bytes(block)), hash(bytes.get(place).unwrap_or_default())]
        });
        checksums.collect()
    }
}

/// Returns the encoding of values, the number of rows, and the bytes of text.
fn encoding(values: &StoredValues) -> (Encoding, usize, usize) {
    match values {
        StoredValues::Same => (Encoding::Same, 0, 0),
        StoredValues::U8(values) => (Encoding::U8, values.len(), 0),
        StoredValues::U16(values) => (Encoding::U16, values.len(), 0),
        StoredValues::U32(values) => (Encoding::U32, values.len(), 0),
        StoredValues::U64(values) => (Encoding::U64, values.len(), 0),
        StoredValues::Text { offsets, bytes } => (Encoding::Text, offsets.len().wrapping_sub(1), bytes.len()),
    }
}

/// Checks what the bytes of the index can no longer show. Returns the sizes of a column's bins.
fn sizes(BuiltColumn { column, bitmaps, values }: &BuiltColumn, rows: u64) -> Result<Vec<BinSizes>, String> {
    let said = |what: &str| Err(format!("column `{}`: {what}", column.name));
    if bitmaps.len() != column.bins.len() || values.len() != column.bins.len() {
        return said("it does not have a bitmap and values for each bin");
    }
    if bitmaps.iter().any(|bitmap| bitmap.rows() != rows) {
        return said("a bitmap does not have as many rows as the index");
    }
    if let Some(what) = layout::fault(column, rows) {
        return said(what);
    }
    let mut sizes = Vec::with_capacity(bitmaps.len());
    for ((Bin { holds, rows }, bitmap), values) in column.bins.iter().zip(bitmaps).zip(values) {
        let (encoding, len, text) = encoding(values);
        if encoding != Encoding::of(holds) {
            return said("values are not stored in the form of their bin");
        }
        if encoding != Encoding::Same && len as u64 != *rows {
            return said("there is not one value for each row of a bin");
        }
        sizes.push(BinSizes { atoms: bitmap.words().len() as u64, encoding, rows: *rows, text: text as u64 });
    }
    Ok(sizes)
}

/// Converts a built index to its words and their contents.
pub(super) fn store(built: Built) -> Result<(Vec<u64>, Contents), String> {
    let Built { rows, records, columns } = built;
    if rows > MAX_ROWS {
        return Err(format!("it has {rows} rows; the limit is {MAX_ROWS}"));
    }
    let mut names = HashSet::new();
    if let Some(twice) = columns.iter().find(|built| !names.insert(&built.column.name)) {
        return Err(format!("two columns have the name `{}`", twice.column.name));
    }
    if records.as_ref().is_some_and(|records| records.rows() != rows) {
        return Err("the bitmap of records does not have as many rows as the index".into());
    }
    let sizes = AllSizes {
        rows,
        table: layout::table_bytes(columns.iter().map(|built| &built.column)),
        columns: columns.iter().map(|column| sizes(column, rows)).collect::<Result<_, _>>()?,
        records: records.as_ref().map(|records| records.words().len() as u64),
    };
    let places = sizes.places().ok_or("it is larger than the address space")?;
    let AllPlaces { columns: mut places, records: mut records_place, table, bytes } = places;
    let mut image = Image(vec![0; bytes / 8]);
    let mut described: Vec<Column> = Vec::with_capacity(columns.len());
    // Each column is dropped once it is stored.
    for (BuiltColumn { column, bitmaps, values }, place) in columns.into_iter().zip(&mut places) {
        described.push(column);
        let mut checksums = Vec::new();
        for ((bitmap, values), place) in bitmaps.into_iter().zip(values).zip(&mut place.bins) {
            image.bitmap(&mut place.bitmap, &bitmap);
            checksums.extend(image.values(place, &values));
        }
        image.section(&mut place.checksums, &checksums);
    }
    if let (Some(place), Some(records)) = (&mut records_place, &records) {
        image.bitmap(place, records);
    }
    let (columns, records, table_bytes) = (described, records_place, table.len());
    let contents = Contents { rows, columns, places, records, table_bytes, bytes };
    image.put(&(0..0), &contents.encode());
    Ok((image.0, contents))
}
