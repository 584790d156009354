//! The page indexes of a chunk in Thrift's compact form. The library's own writer of them has another
//! interface with each version.

use parquet::basic::BoundaryOrder;
use parquet::data_type::AsBytes;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

const BOOLEAN: u8 = 2;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure that is written.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    /// The field before.
    last: u8,
}

impl Out {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A signed number: zigzag, so that small ones are short.
    fn number(&mut self, number: i64) {
        self.varint((number << 1 ^ number >> 63) as u64);
    }

    /// Begins a field. Fields are in ascending order.
    fn field(&mut self, field: u8, kind: u8) {
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    fn list(&mut self, field: u8, kind: u8, len: usize) {
        self.field(field, LIST);
        if len < 15 {
            self.bytes.push((len as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            self.varint(len as u64);
        }
    }

    fn numbers(&mut self, field: u8, numbers: &[i64]) {
        self.list(field, I64, numbers.len());
        numbers.iter().for_each(|number| self.number(*number));
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// `ColumnIndex` of Parquet. `None` if the index is not right; `greatest` is the greatest definition level.
///
/// The library (59.3) takes a page for one of nulls only if it has as many nulls as rows. That is wrong below
/// lists: `[null, 1]` and `[null]` are 2 rows with 2 nulls. Readers would pass over the value.
pub(super) fn of_columns(index: &ColumnIndexMetaData, greatest: i16) -> Option<Vec<u8>> {
    let count = index.num_pages() as usize;
    let mut is_null = Vec::with_capacity(count);
    let (mut least, mut most) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let (mut repetitions, mut definitions) = (Vec::new(), Vec::new());
    for page in 0..count {
        let levels = index.definition_level_histogram(page)?;
        let has_values = *levels.get(usize::try_from(greatest).ok()?)? > 0;
        let (first, last) = match bounds(index, page) {
            Some(bounds) if has_values => bounds,
            None if !has_values => (Vec::new(), Vec::new()),
            _ => return None,
        };
        is_null.push(!has_values);
        least.push(first);
        most.push(last);
        definitions.extend_from_slice(levels);
        repetitions.extend_from_slice(index.repetition_level_histogram(page).unwrap_or_default());
    }
    let mut out = Out::default();
    out.list(1, BOOLEAN, count);
    out.bytes.extend(is_null.iter().map(|is_null| if *is_null { 1 } else { 2 }));
    for (field, bounds) in [(2, least), (3, most)] {
        out.list(field, BINARY, count);
        for bound in bounds {
            out.varint(bound.len() as u64);
            out.bytes.extend_from_slice(&bound);
        }
    }
    out.field(4, I32);
    out.number(match index.get_boundary_order()? {
        BoundaryOrder::ASCENDING => 1,
        BoundaryOrder::DESCENDING => 2,
        _ => 0,
    });
    if let Some(nulls) = index.null_counts() {
        out.numbers(5, nulls);
    }
    if !repetitions.is_empty() {
        out.numbers(6, &repetitions);
    }
    out.numbers(7, &definitions);
    Some(out.end())
}

/// The least and the greatest value of a page, `PLAIN` without a length.
fn bounds(index: &ColumnIndexMetaData, page: usize) -> Option<(Vec<u8>, Vec<u8>)> {
    fn pair(
        least: Option<&(impl AsBytes + ?Sized)>,
        most: Option<&(impl AsBytes + ?Sized)>,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        Some((least?.as_bytes().to_vec(), most?.as_bytes().to_vec()))
    }
    match index {
        ColumnIndexMetaData::BOOLEAN(index) => pair(index.min_value(page), index.max_value(page)),
        ColumnIndexMetaData::INT64(index) => pair(index.min_value(page), index.max_value(page)),
        ColumnIndexMetaData::DOUBLE(index) => pair(index.min_value(page), index.max_value(page)),
        ColumnIndexMetaData::BYTE_ARRAY(index) => {
            Some((index.min_value(page)?.to_vec(), index.max_value(page)?.to_vec()))
        }
        _ => None,
    }
}

/// `OffsetIndex` of Parquet, for a chunk that is at `base` in the file.
pub(super) fn of_offsets(index: &OffsetIndexMetaData, base: u64) -> Vec<u8> {
    let mut out = Out::default();
    let pages = index.page_locations();
    out.list(1, STRUCT, pages.len());
    for page in pages {
        let mut inner = Out::default();
        inner.field(1, I64);
        inner.number(page.offset + base as i64);
        inner.field(2, I32);
        inner.number(page.compressed_page_size.into());
        inner.field(3, I64);
        inner.number(page.first_row_index);
        out.bytes.append(&mut inner.end());
    }
    if let Some(lens) = index.unencoded_byte_array_data_bytes() {
        out.numbers(2, lens);
    }
    out.end()
}
