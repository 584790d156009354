//! Pages of a chunk whose checksum is right. What their headers claim is checked before memory is allocated.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length, SerializedPageReader};

use super::thrift::{skip_bytes, skip_struct, varint};

/// A block of zstd has at most 128 KiB, and takes at least 4 bytes: 3 of its header, and one that repeats.
const GREATEST_RATIO: u64 = (128 << 10) / 4;
/// Bytes that a page may have in any case.
const SMALL: u64 = 64 << 10;

/// A chunk in memory, under its offset in the file.
pub(super) struct Held {
    pub offset: u64,
    pub bytes: Bytes,
}

impl Held {
    fn from(&self, start: u64) -> Result<Bytes> {
        let start = start.checked_sub(self.offset).and_then(|start| usize::try_from(start).ok());
        let start = start.filter(|start| *start <= self.bytes.len());
        start.map(|start| self.bytes.slice(start..)).ok_or_else(|| outside("a page starts"))
    }
}

fn outside(what: &str) -> ParquetError {
    ParquetError::General(format!("{what} outside of its column chunk"))
}

impl Length for Held {
    fn len(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl ChunkReader for Held {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, len: usize) -> Result<Bytes> {
        let bytes = self.from(start)?;
        if len > bytes.len() {
            return Err(outside("a page ends"));
        }
        Ok(bytes.slice(..len))
    }
}

/// The pages of a chunk.
pub(super) struct Pages {
    pages: SerializedPageReader<Held>,
    /// Entries that the chunk still has.
    left: u64,
    /// The fewest bytes of a value in a dictionary.
    width: u64,
    /// True if a page begins with repetition levels, and if it has definition levels.
    has_levels: [bool; 2],
}

impl Pages {
    /// The pages of a chunk with these bytes.
    pub fn new(held: Held, chunk: &ColumnChunkMetaData, rows: u32) -> Result<Self> {
        check_headers(&held.bytes)?;
        let width = match chunk.column_type() {
            Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            _ => 1,
        };
        let left = chunk.num_values().unsigned_abs();
        let column = chunk.column_descr();
        let has_levels = [column.max_rep_level() > 0, column.max_def_level() > 0];
        let pages = SerializedPageReader::new(Arc::new(held), chunk, rows as usize, None)?;
        Ok(Self { pages, left, width, has_levels })
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match &page {
            None => {}
            Some(Page::DictionaryPage { buf, num_values, .. }) => {
                let fits = u64::from(*num_values) * self.width <= buf.len() as u64;
                let fewer = || ParquetError::General("a dictionary has fewer values than it claims".into());
                fits.then_some(()).ok_or_else(fewer)?;
            }
            Some(page) => {
                let left = self.left.checked_sub(page.num_values().into());
                let more = || ParquetError::General("pages have more entries than their chunk".into());
                self.left = left.ok_or_else(more)?;
                let most = page.num_values().into();
                let values = match page {
                    Page::DataPage { buf, .. } => after_levels(buf, self.has_levels),
                    // Warpath writes no pages of version 2.
                    _ => None,
                };
                let lengths = || ParquetError::General("a page has more lengths than entries".into());
                values.and_then(|values| check_lengths(values, page.encoding(), most)).ok_or_else(lengths)?;
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

/// Walks over the headers of all pages. Each must lie within the chunk, and claim no more bytes than its
/// compressed bytes can become.
fn check_headers(chunk: &[u8]) -> Result<()> {
    let invalid = || ParquetError::General("invalid header of a page".into());
    let mut rest = chunk;
    while !rest.is_empty() {
        let mut sizes = [0; 3];
        skip_struct(&mut rest, &mut |field, number| {
            if let Some(size) = usize::from(field).checked_sub(1).and_then(|field| sizes.get_mut(field)) {
                *size = number;
            }
        })
        .ok_or_else(invalid)?;
        let [_, full, stored] = sizes.map(|size| u64::try_from(size).unwrap_or(u64::MAX));
        let len = usize::try_from(stored).ok().filter(|len| *len <= rest.len());
        rest = &rest[len.ok_or_else(invalid)?..];
        if full > SMALL.saturating_add(stored.saturating_mul(GREATEST_RATIO)) {
            return Err(ParquetError::General("a page claims more bytes than it can have".into()));
        }
    }
    Ok(())
}

/// The values of a page, after its levels. Each kind of levels has its length in 32 bits before it.
fn after_levels(mut page: &[u8], has_levels: [bool; 2]) -> Option<&[u8]> {
    for _ in has_levels.into_iter().filter(|has| *has) {
        let (len, rest) = page.split_first_chunk()?;
        page = rest.get(u32::from_le_bytes(*len) as usize..)?;
    }
    Some(page)
}

/// Checks the counts of delta-coded lengths, for which the library allocates memory.
fn check_lengths(mut values: &[u8], encoding: Encoding, most: u64) -> Option<()> {
    let streams = match encoding {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => 0,
    };
    (0..streams).try_for_each(|_| skip_deltas(&mut values, most))
}

/// Skips a stream of `DELTA_BINARY_PACKED` with at most `most` values.
fn skip_deltas(rest: &mut &[u8], most: u64) -> Option<()> {
    let (block, minis, count) = (varint(rest)?, varint(rest)?, varint(rest)?);
    varint(rest)?;
    if count > most {
        return None;
    }
    // The first value is in the header.
    let mut left = count.saturating_sub(1);
    let mini = block.checked_div(minis)?;
    while left > 0 {
        varint(rest)?;
        let (widths, after) = rest.split_at_checked(usize::try_from(minis).ok()?)?;
        *rest = after;
        for width in widths {
            if left == 0 {
                break;
            }
            skip_bytes(rest, mini.checked_mul((*width).into())? / 8)?;
            left = left.saturating_sub(mini.max(1));
        }
        if widths.is_empty() {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_deltas_are_walked() {
        // 3 values: 128 values a block in 4 parts; first 7; then deltas of at least 2, in 32 fields of 1 bit.
        let stream = [128, 1, 4, 3, 14, 4, 1, 0, 0, 0, 0b01, 0, 0, 0];
        let mut rest = &stream[..];
        assert_eq!(skip_deltas(&mut rest, 3), Some(()));
        assert!(rest.is_empty());
        for len in 0..stream.len() {
            assert_eq!(skip_deltas(&mut &stream[..len], 3), None, "{len} bytes");
        }
        assert_eq!(skip_deltas(&mut &stream[..], 2), None, "more values than entries");
        // 2^62 values, and parts of no values.
        let forged = [0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0];
        assert_eq!(skip_deltas(&mut &forged[..], 1000), None);
        assert_eq!(skip_deltas(&mut &[128, 1, 0, 3, 14, 4][..], 3), None);
    }

    #[test]
    fn headers_claim_no_more_than_fits() {
        // Fields 1 to 3: a data page, its full length, its stored length; then 2 bytes of the page.
        let page = |full: u8, stored: u8| [0x15, 0, 0x15, full, 0x15, stored, 0, 9, 9];
        assert!(check_headers(&page(8, 4)).is_ok());
        assert!(check_headers(&page(8, 6)).is_err(), "it ends outside of the chunk");
        assert!(check_headers(&page(8, 1)).is_err(), "a negative length");
        // 2^31 - 1 bytes from 2.
        let bomb = [0x15, 0, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 4, 0, 9, 9];
        assert!(check_headers(&bomb).is_err());
        assert!(check_headers(&bomb[..5]).is_err());
    }
}
