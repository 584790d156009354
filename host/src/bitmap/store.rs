//! What was built, as the bytes of an index.

use std::collections::HashSet;
use std::ops::Range;

use super::built::{BinNumbers, Built, BuiltColumn, StoredValues};
use super::column::{Column, Kind};
use super::file::bytes_of;
use super::layout::{
    self, AllPlaces, AllSizes, BLOCK_LINES, BLOCK_ROWS, BitmapPlace, ColumnPlace, Contents, Form, MAX_ROWS,
    Section, Sizes, blocks_for,
};
use super::wah::{WahBuf, tile_starts};
use crate::device::Plain;
use crate::stamp::hash;

/// The words of an index's file, while they are written.
struct Image(Vec<u64>);

impl Image {
    /// Writes numbers to a place, which begins at a multiple of 64 bytes, and has zeros behind it.
    fn put<T: Plain>(&mut self, place: &Range<usize>, numbers: &[T]) {
        let bytes = bytes_of(numbers);
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

    /// The same, with a checksum.
    fn section<T: Plain>(&mut self, section: &mut Section, numbers: &[T]) {
        self.put(&section.place, numbers);
        section.checksum = hash(bytes_of(numbers));
    }

    fn bitmap(&mut self, place: &mut BitmapPlace, bitmap: &WahBuf) {
        self.section(&mut place.atoms, bitmap.words());
        self.section(&mut place.tiles, &tile_starts(bitmap.as_wah()));
    }

    fn values<T: Plain>(&mut self, place: &mut ColumnPlace, values: &[T]) {
        self.put(&place.values, values);
        let blocks = values.chunks(BLOCK_ROWS as usize);
        let checksums: Vec<u64> = blocks.map(|block| hash(bytes_of(block))).collect();
        self.section(&mut place.checksums, &checksums);
    }

    fn texts(&mut self, place: &mut ColumnPlace, offsets: &[u64], bytes: &[u8]) {
        let rows = offsets.len() - 1;
        self.put(&place.values, if rows == 0 { &[] } else { offsets });
        self.put(&place.text, bytes);
        let blocks = || {
            (0..rows)
                .step_by(BLOCK_ROWS as usize)
                .map(|from| &offsets[from..=rows.min(from + BLOCK_ROWS as usize)])
        };
        let texts = blocks().map(|block| {
            // Whether they are in order is found out when they are read.
            let place = block[0] as usize..block[block.len() - 1] as usize;
            hash(bytes.get(place).unwrap_or_default())
        });
        let checksums: Vec<u64> = blocks().map(|block| hash(bytes_of(block))).chain(texts).collect();
        self.section(&mut place.checksums, &checksums);
    }
}

/// How values are stored, for how many rows they are, and bytes of text.
fn form(values: &StoredValues) -> (Form, Option<Kind>, usize, usize) {
    match values {
        StoredValues::Bins(BinNumbers::U8(numbers)) => (Form::Bins1, None, numbers.len(), 0),
        StoredValues::Bins(BinNumbers::U16(numbers)) => (Form::Bins2, None, numbers.len(), 0),
        StoredValues::Bins(BinNumbers::U32(numbers)) => (Form::Bins4, None, numbers.len(), 0),
        StoredValues::Int(values) => (Form::Words, Some(Kind::Int), values.len(), 0),
        StoredValues::Float(values) => (Form::Words, Some(Kind::Float), values.len(), 0),
        StoredValues::Time(values) => (Form::Words, Some(Kind::Time), values.len(), 0),
        StoredValues::Text { offsets, bytes } => {
            (Form::Text, Some(Kind::Text), offsets.len().wrapping_sub(1), bytes.len())
        }
    }
}

/// Checks what the bytes could not tell any more, and gives the sizes of a column.
fn sizes(BuiltColumn { column, bitmaps, values }: &BuiltColumn, rows: u64) -> Result<Sizes, String> {
    let said = |what: &str| Err(format!("column `{}`: {what}", column.name));
    let (form, kind, len, text) = form(values);
    if bitmaps.len() != column.bins.len() {
        return said("there is not one bitmap for each bin");
    }
    if bitmaps.iter().any(|bitmap| bitmap.rows() != rows) {
        return said("a bitmap has other rows than the index");
    }
    if len as u64 != rows {
        return said("there is not one value for each row");
    }
    if kind.is_some_and(|kind| kind != column.kind) {
        return said("values are stored as another kind");
    }
    if let Some(what) = layout::fault(column, form, rows) {
        return said(what);
    }
    let atoms = bitmaps.iter().map(|bitmap| bitmap.words().len() as u64).collect();
    Ok(Sizes { atoms, form, text: text as u64 })
}

/// The bytes of an index, and what they say.
pub(super) fn store(built: Built) -> Result<(Vec<u64>, Contents), String> {
    let Built { rows, records, columns, lines, stamp } = built;
    if rows > MAX_ROWS {
        return Err(format!("it has {rows} rows, and may have {MAX_ROWS}"));
    }
    let mut names = HashSet::new();
    if let Some(twice) = columns.iter().find(|built| !names.insert(&built.column.name)) {
        return Err(format!("two columns have the name `{}`", twice.column.name));
    }
    if records.as_ref().is_some_and(|records| records.rows() != rows) {
        return Err("the bitmap of records has other rows than the index".into());
    }
    if !lines.is_empty() && lines.len() as u64 != rows.div_ceil(BLOCK_LINES) + 1 {
        return Err(format!("there are places of {} lines of {rows}", lines.len()));
    }
    let sizes = AllSizes {
        rows,
        table: layout::table_bytes(columns.iter().map(|built| &built.column)),
        columns: columns.iter().map(|column| sizes(column, rows)).collect::<Result<_, _>>()?,
        records: records.as_ref().map(|records| records.words().len() as u64),
        lines: !lines.is_empty(),
    };
    let AllPlaces {
        columns: mut places,
        records: mut records_place,
        lines: mut lines_place,
        table,
        file_bytes,
    } = sizes.places().ok_or("it is longer than memory can be")?;
    let mut image = Image(vec![0; file_bytes / 8]);
    let mut described: Vec<Column> = Vec::with_capacity(columns.len());
    // Each column goes when it has been stored.
    for (BuiltColumn { column, bitmaps, values }, place) in columns.into_iter().zip(&mut places) {
        described.push(column);
        for (bitmap, place) in bitmaps.into_iter().zip(&mut place.bins) {
            image.bitmap(place, &bitmap);
        }
        match &values {
            StoredValues::Bins(BinNumbers::U8(numbers)) => image.values(place, numbers),
            StoredValues::Bins(BinNumbers::U16(numbers)) => image.values(place, numbers),
            StoredValues::Bins(BinNumbers::U32(numbers)) => image.values(place, numbers),
            StoredValues::Int(values) | StoredValues::Time(values) => image.values(place, values),
            StoredValues::Float(values) => image.values(place, values),
            StoredValues::Text { offsets, bytes } => image.texts(place, offsets, bytes),
        }
        debug_assert_eq!(place.checksums.place.len() as u64, 8 * place.form.checksums() * blocks_for(rows));
    }
    if let (Some(place), Some(records)) = (&mut records_place, &records) {
        image.bitmap(place, records);
    }
    if let Some(place) = &mut lines_place {
        image.section(place, &lines);
    }
    let contents = Contents {
        rows,
        stamp,
        columns: described,
        places,
        records: records_place,
        lines: lines_place,
        table_bytes: table.len(),
        file_bytes,
    };
    image.put(&(0..0), &contents.encode());
    Ok((image.0, contents))
}
