//! Rows in the order of their columns' values.

use std::any::Any;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use warpath_answer::answer::{RowForm, Want};
use warpath_core::error::Error;
use warpath_core::json::Cursor;
use warpath_core::key::{self, KeyType};
use warpath_core::number::{self, Reason};
use warpath_lang::column_type::ColumnType;
use warpath_lang::program::{Program, Query};
use warpath_shared::units::LineIx;

use super::sorter::{Sorted, Sorter};
use crate::stream::{Digest, PieceResults};

/// A column by which rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortBy {
    /// The number of the column in its program, from 0 on.
    pub column: usize,
    /// True if greater values come first.
    pub descending: bool,
}

/// Sorts rows of NDJSON by the values of columns. Numbers are in their order, strings in that of their code
/// points, and null and missing values come last in both directions. Rows with equal values stay in the order
/// of the records.
pub struct SortRows {
    /// The columns' names as keys, each with its colon.
    keys: Vec<String>,
    types: Vec<ColumnType>,
    by: Vec<SortBy>,
}

impl SortRows {
    /// Sorts the rows of a program by these columns: by the first one, where its values are equal by the
    /// second one, and so on.
    #[must_use]
    pub fn new(program: &Program, by: Vec<SortBy>) -> Self {
        let columns = program.columns();
        let keys = columns.iter().map(|column| column.key.clone()).collect();
        Self { keys, types: columns.iter().map(|column| column.values.clone()).collect(), by }
    }

    /// The program over sorted rows that has the same columns as the program over the records.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there are too many columns.
    pub fn program_of_rows(program: &Program) -> Result<Program, Error> {
        let columns = program.columns();
        let query = |name: &str, singular| {
            let name = warpath_core::json::encode(name);
            Query::compile(&if singular { format!("$[{name}]") } else { format!("$[{name}][*]") })
        };
        let queries = columns.iter().map(|column| query(&column.name, column.singular));
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let types: Vec<_> = columns.iter().map(|column| column.values.clone()).collect();
        let queries = queries.collect::<Result<Vec<_>, Error>>()?;
        let sorted = Program::new(&queries)?.with_names(&names)?.with_types(&types)?;
        let sorted = sorted.with_time_zone(columns.iter().find_map(|column| column.shown_in));
        Ok(match columns.iter().find_map(|column| column.time_format.as_ref()) {
            Some(format) => sorted.with_time_format(format),
            None => sorted,
        })
    }

    /// Appends the sort key of a row.
    fn key(&self, row: &[u8], cells: &mut Vec<(usize, usize)>, out: &mut Vec<u8>) {
        cells.clear();
        let mut at = 1;
        for key in &self.keys {
            if !row.get(at..).is_some_and(|rest| rest.starts_with(key.as_bytes())) {
                cells.push((0, 0));
                continue;
            }
            let begin = (at + key.len()).min(row.len());
            let mut cursor = Cursor::within(row, begin..row.len());
            let end = cursor.skip_item().map_or(row.len(), |()| cursor.offset());
            cells.push((begin, end));
            at = end + 1;
        }
        for SortBy { column, descending } in &self.by {
            let cell = cells.get(*column).map_or(&b""[..], |(begin, end)| &row[*begin..*end]);
            // A string is a number if its column takes it as one.
            let number = self.types.get(*column).map_or(cell, |values| values.number_text(cell));
            let is_number = number.len() == cell.len() || number::float64(number) != Err(Reason::Mismatch);
            let cell = if is_number { number } else { cell };
            append_key((!cell.is_empty()).then_some(cell), *descending, out);
        }
    }
}

/// Appends the sort key of a value. Null and missing values come last in both directions.
pub fn append_key(value: Option<&[u8]>, descending: bool, out: &mut Vec<u8>) {
    let begin = out.len();
    out.push(0);
    key::encode(value.unwrap_or(b"null"), out);
    match KeyType::of(&out[begin + 1..]) {
        Some(KeyType::Null) | None => {
            out.truncate(begin);
            out.push(1);
        }
        Some(_) if descending => out[begin + 1..].iter_mut().for_each(|byte| *byte = !*byte),
        Some(_) => {}
    }
}

impl Digest for SortRows {
    fn want(&self) -> Want {
        Want::default().rows(RowForm::Sparse).records(true)
    }

    /// Makes [`KeyedRows`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let (mut rows, mut cells) = (KeyedRows::default(), Vec::new());
        for (number, piece) in found.iter().enumerate() {
            let lines = piece.rows.split_inclusive(|byte| *byte == b'\n');
            for (at, (row, line)) in lines.zip(piece.records).enumerate() {
                self.key(row, &mut cells, &mut rows.bytes);
                let key = rows.bytes.len();
                rows.bytes.extend_from_slice(row);
                let found = FoundRow { piece: number, row: at, line: *line };
                rows.rows.push(Keyed { key, row: rows.bytes.len(), found });
            }
        }
        Box::new(rows)
    }
}

/// A row among the results for a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundRow {
    /// The number of its piece, from 0 on.
    pub piece: usize,
    /// The number of the row in its piece, from 0 on.
    pub row: usize,
    /// The line of its record in the piece.
    pub line: LineIx,
}

/// The location of a row in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLocation {
    /// The number of an input, as the caller counts inputs.
    pub source: u32,
    /// The line in the input, counted from 1.
    pub line: u64,
}

/// The bytes of a location before the text of its row.
const LOCATION_BYTES: usize = 12;

impl RowLocation {
    fn to_bytes(self) -> [u8; LOCATION_BYTES] {
        let mut bytes = [0; LOCATION_BYTES];
        bytes[..4].copy_from_slice(&self.source.to_le_bytes());
        bytes[4..].copy_from_slice(&self.line.to_le_bytes());
        bytes
    }

    /// The location that the bytes of an item begin with; `None` if they are too few.
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (source, rest) = bytes.split_first_chunk()?;
        let line = rest.first_chunk()?;
        Some(Self { source: u32::from_le_bytes(*source), line: u64::from_le_bytes(*line) })
    }
}

/// The rows of a partition, each with its sort key.
#[derive(Default)]
pub struct KeyedRows {
    bytes: Vec<u8>,
    rows: Vec<Keyed>,
}

/// A row with its key.
struct Keyed {
    /// The end of the key, and the end of the row, which follows the key.
    key: usize,
    row: usize,
    found: FoundRow,
}

impl KeyedRows {
    /// Adds the rows to a sorter, after the rows that it has. `location` returns the location of a row;
    /// `None` leaves the row out.
    ///
    /// # Errors
    /// The errors of [`Sorter::push`].
    pub fn sort(
        &self,
        sorter: &mut Sorter,
        mut location: impl FnMut(FoundRow) -> Option<RowLocation>,
    ) -> Result<(), Error> {
        let (mut begin, mut item) = (0, Vec::new());
        for Keyed { key, row, found } in &self.rows {
            if let Some(location) = location(*found) {
                item.clear();
                item.extend_from_slice(&location.to_bytes());
                item.extend_from_slice(&self.bytes[*key..*row]);
                sorter.push(&self.bytes[begin..*key], &item)?;
            }
            begin = *row;
        }
        Ok(())
    }
}

/// The locations of sorted rows whose text has been read, and that have not been taken. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RowLocations(Arc<Mutex<VecDeque<RowLocation>>>);

impl RowLocations {
    /// Takes the locations of the next rows, at most `count`.
    #[must_use]
    pub fn take(&self, count: usize) -> Vec<RowLocation> {
        let mut locations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = count.min(locations.len());
        locations.drain(..count).collect()
    }

    fn add(&self, location: RowLocation) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(location);
    }
}

/// Reads the text of sorted rows, one after the other.
pub struct SortedText {
    sorted: Sorted,
    locations: RowLocations,
    key: Vec<u8>,
    item: Vec<u8>,
    /// The bytes of `item` that have been read, its location included.
    read: usize,
}

impl SortedText {
    /// The rows of these items, which [`KeyedRows::sort`] made. The location of each row is added to
    /// `locations` before its text is read.
    #[must_use]
    pub fn new(sorted: Sorted, locations: RowLocations) -> Self {
        Self { sorted, locations, key: Vec::new(), item: Vec::new(), read: 0 }
    }
}

impl Read for SortedText {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < buffer.len() {
            if self.read == self.item.len() {
                if !self.sorted.next(&mut self.key, &mut self.item).map_err(io::Error::other)? {
                    self.item.clear();
                    self.read = 0;
                    break;
                }
                let Some(location) = RowLocation::of_bytes(&self.item) else {
                    return Err(io::Error::other("a sorted row has no location"));
                };
                self.locations.add(location);
                self.read = LOCATION_BYTES;
            }
            let count = (self.item.len() - self.read).min(buffer.len() - written);
            buffer[written..written + count].copy_from_slice(&self.item[self.read..self.read + count]);
            (self.read, written) = (self.read + count, written + count);
        }
        Ok(written)
    }
}
