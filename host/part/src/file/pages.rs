//! Pages of a chunk whose checksum is right. What their headers claim is checked before memory is allocated.

use std::cell::RefCell;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use zstd::bulk::Decompressor;

use super::thrift::{skip_bytes, skip_struct, varint};

/// A block of zstd has at most 128 KiB, and takes at least 4 bytes: 3 of its header, and one that repeats.
const GREATEST_RATIO: u64 = (128 << 10) / 4;
/// Bytes that a page may have in any case.
const SMALL: u64 = 64 << 10;

thread_local! {
    /// The state of zstd, which takes longer to make than most pages to decompress.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// The pages of a chunk.
pub(super) struct Pages {
    /// The pages that were not read yet.
    rest: Bytes,
    /// The header of the first of them, and its length, once it was read.
    next: Option<(Header, usize)>,
    is_compressed: bool,
    /// Entries that the chunk still has.
    left: u64,
    /// The fewest bytes of a value in a dictionary.
    width: u64,
    /// True if a page begins with repetition levels, and if it has definition levels.
    has_levels: [bool; 2],
}

impl Pages {
    /// The pages of a chunk with these bytes.
    pub fn new(bytes: Bytes, chunk: &ColumnChunkMetaData) -> Result<Self> {
        let mut all = &*bytes;
        // No page is read of a chunk that has a wrong one.
        while !all.is_empty() {
            let header = Header::read(&mut all)?;
            all = all.get(header.stored..).unwrap_or_default();
        }
        let width = match chunk.column_type() {
            Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            _ => 1,
        };
        let is_compressed = match chunk.compression() {
            Compression::UNCOMPRESSED => false,
            Compression::ZSTD(_) => true,
            other => return Err(ParquetError::General(format!("its compression is {other}"))),
        };
        let left = chunk.num_values().unsigned_abs();
        let column = chunk.column_descr();
        let has_levels = [column.max_rep_level() > 0, column.max_def_level() > 0];
        Ok(Self { rest: bytes, next: None, is_compressed, left, width, has_levels })
    }

    /// The header of the next page, and its length.
    fn header(&mut self) -> Result<Option<(Header, usize)>> {
        if self.next.is_none() && !self.rest.is_empty() {
            let mut after = &*self.rest;
            let header = Header::read(&mut after)?;
            self.next = Some((header, self.rest.len() - after.len()));
        }
        Ok(self.next)
    }

    /// Takes the next page: its header, and its bytes as they are stored.
    fn take(&mut self) -> Result<Option<(Header, Bytes)>> {
        let Some((header, len)) = self.header()? else { return Ok(None) };
        self.next = None;
        let mut page = self.rest.split_to(len.saturating_add(header.stored).min(self.rest.len()));
        let stored = page.split_off(len.min(page.len()));
        Ok(Some((header, stored)))
    }

    /// The contents of a page.
    fn contents(&self, header: &Header, stored: Bytes) -> Result<Bytes> {
        let full = match (self.is_compressed, header.full) {
            (false, _) => stored,
            (true, 0) => Bytes::new(),
            (true, full) => decompressed(&stored, full)?.into(),
        };
        match full.len() == header.full {
            true => Ok(full),
            false => Err(ParquetError::General("a page does not have the bytes that it claims".into())),
        }
    }
}

fn decompressed(stored: &[u8], full: usize) -> Result<Vec<u8>> {
    let failed = |error| ParquetError::External(Box::new(error));
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new().map_err(failed)?),
        };
        decompressor.decompress(stored, full).map_err(failed)
    })
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some((header, stored)) = self.take()? else { return Ok(None) };
        let buf = self.contents(&header, stored)?;
        let Header { values: num_values, encoding, .. } = header;
        if header.is_dictionary {
            if u64::from(num_values) * self.width > buf.len() as u64 {
                return Err(ParquetError::General("a dictionary has fewer values than it claims".into()));
            }
            return Ok(Some(Page::DictionaryPage { buf, num_values, encoding, is_sorted: false }));
        }
        let left = self.left.checked_sub(num_values.into());
        let more = || ParquetError::General("pages have more entries than their chunk".into());
        self.left = left.ok_or_else(more)?;
        let lengths = || ParquetError::General("a page has more lengths than entries".into());
        let values = after_levels(&buf, self.has_levels);
        values.and_then(|values| check_lengths(values, encoding, num_values.into())).ok_or_else(lengths)?;
        Ok(Some(Page::DataPage {
            buf,
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(self.header()?.map(|(header, _)| match header.is_dictionary {
            true => PageMetadata { num_rows: None, num_levels: None, is_dict: true },
            false => {
                PageMetadata { num_rows: None, num_levels: Some(header.values as usize), is_dict: false }
            }
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.take().map(drop)
    }
}

/// The header of a page, as far as it is read.
#[derive(Clone, Copy, Debug)]
struct Header {
    is_dictionary: bool,
    /// Bytes of the page, and those that are stored.
    full: usize,
    stored: usize,
    /// The number of entries, or of the values of a dictionary.
    values: u32,
    encoding: Encoding,
}

impl Header {
    /// Reads a header. Its page must lie in the bytes after it, and claim no more bytes than its compressed
    /// bytes can become. Warpath writes no pages of version 2.
    fn read(rest: &mut &[u8]) -> Result<Self> {
        let invalid = || ParquetError::General("invalid header of a page".into());
        // The type, both lengths, and the entries, the encoding, and those of levels.
        let (mut own, mut inner) = ([0; 3], [[0_i64; 4]; 2]);
        skip_struct(rest, &mut |outer, field, number| {
            let fields = match outer {
                0 => own.get_mut(usize::from(field).wrapping_sub(1)),
                5 => inner[0].get_mut(usize::from(field).wrapping_sub(1)),
                7 => inner[1].get_mut(usize::from(field).wrapping_sub(1)),
                _ => None,
            };
            if let Some(to) = fields {
                *to = number;
            }
        })
        .ok_or_else(invalid)?;
        let [kind, full, stored] = own;
        let [full, stored] = [full, stored].map(|size| u64::try_from(size).unwrap_or(u64::MAX));
        let is_dictionary = kind == 2;
        let [values, encoding, levels @ ..] = inner[usize::from(is_dictionary)];
        let is_known = is_dictionary || kind == 0 && levels.iter().all(|encoding| *encoding == 3);
        let stored_len = usize::try_from(stored).ok().filter(|len| *len <= rest.len());
        if full > SMALL.saturating_add(stored.saturating_mul(GREATEST_RATIO)) {
            return Err(ParquetError::General("a page claims more bytes than it can have".into()));
        }
        let (Some(stored), Ok(full), Ok(values), Some(encoding), true) =
            (stored_len, usize::try_from(full), u32::try_from(values), encoding_of(encoding), is_known)
        else {
            return Err(invalid());
        };
        Ok(Self { is_dictionary, full, stored, values, encoding })
    }
}

/// The encoding with a number of Parquet's.
fn encoding_of(number: i64) -> Option<Encoding> {
    Some(match number {
        0 => Encoding::PLAIN,
        3 => Encoding::RLE,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return None,
    })
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
        let read = |bytes: &[u8]| Header::read(&mut &*bytes);
        // Fields 1 to 3: a data page, its full length, its stored length. Field 5: 1 entry, plain, levels as
        // runs. Then 2 bytes of the page.
        let entries = [0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, 9, 9];
        let page = |full: u8, stored: u8| [&[0x15, 0, 0x15, full, 0x15, stored][..], &entries].concat();
        let header = read(&page(8, 4)).unwrap();
        assert_eq!((header.full, header.stored, header.values), (4, 2, 1));
        assert!(!header.is_dictionary && header.encoding == Encoding::PLAIN);
        assert!(read(&page(8, 6)).is_err(), "it ends outside of the chunk");
        assert!(read(&page(8, 1)).is_err(), "a negative length");
        let mut other = page(8, 4);
        other[1] = 6;
        assert!(read(&other).is_err(), "a page of version 2");
        other[1] = 4;
        assert!(read(&other).is_ok_and(|header| header.is_dictionary));
        // 2^31 - 1 bytes from 2.
        let bomb = [&[0x15, 0, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 4][..], &entries].concat();
        assert!(read(&bomb).is_err());
        assert!((0..bomb.len()).all(|len| read(&bomb[..len]).is_err()));
    }
}
