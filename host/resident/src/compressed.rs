//! Strings of rows, compressed by FSST. Each row is decoded on its own.

use std::ops::Range;

use warpath_core::rows::RowSet;
use warpath_store::fsst::{CodeFault, Compressor, Decoder, Sample, train};

/// Strings of rows.
#[derive(Debug)]
pub struct Compressed {
    decoder: Decoder,
    codes: Vec<u8>,
    /// The end of the codes of each row, and of its bytes among those of all rows.
    ends: Vec<(u32, u32)>,
}

impl Compressed {
    /// Compresses strings. The string of row *r* is in `bytes` from offset *r* to offset *r* + 1.
    ///
    /// # Panics
    /// If an offset is less than its predecessor or past the end, or if strings have 4 GiB or more.
    #[must_use]
    pub fn of(bytes: &[u8], offsets: &[u32]) -> Self {
        let table = train(&Sample::of_strings(bytes, offsets));
        let (mut codes, mut code_ends) = (Vec::with_capacity(bytes.len() / 2), Vec::new());
        Compressor::new(&table).compress_strings(bytes, offsets, &mut codes, &mut code_ends);
        codes.shrink_to_fit();
        let first = offsets.first().copied().unwrap_or_default();
        let end = |end: &u64| u32::try_from(*end).unwrap_or_else(|_| panic!("strings have 4 GiB or more"));
        let ends = code_ends.iter().map(end).zip(offsets.iter().skip(1).map(|end| end - first)).collect();
        Self { decoder: Decoder::new(&table), codes, ends }
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.codes.capacity() + self.ends.len() * size_of::<(u32, u32)>()) as u64
    }

    /// Bytes of the strings of some rows.
    ///
    /// # Panics
    /// If there are no such rows.
    #[must_use]
    pub fn text_len(&self, rows: Range<u32>) -> usize {
        (self.before(rows.end).1 - self.before(rows.start).1) as usize
    }

    /// The end of the codes and of the bytes before a row.
    fn before(&self, row: u32) -> (u32, u32) {
        row.checked_sub(1).map_or((0, 0), |before| self.ends[before as usize])
    }

    /// Appends the strings of some rows, one after the other.
    ///
    /// # Errors
    /// [`CodeFault`] cannot come from strings that were compressed here.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn decode(&self, rows: Range<u32>, out: &mut Vec<u8>) -> Result<(), CodeFault> {
        let begin = out.len();
        out.resize(begin + self.text_len(rows.clone()), 0);
        self.decode_to(rows, &mut out[begin..])
    }

    /// Decodes the strings of some rows, one after the other, to memory of their length
    /// ([`text_len`](Self::text_len)).
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn decode_to(&self, rows: Range<u32>, room: &mut [u8]) -> Result<(), CodeFault> {
        let ((code, _), (code_end, _)) = (self.before(rows.start), self.before(rows.end));
        self.decoder.decode(&self.codes[code as usize..code_end as usize], room)?;
        Ok(())
    }

    /// The end of the rows from `first` on whose strings have at most `size` bytes; at least one row, if
    /// there is one.
    #[must_use]
    pub fn end_within(&self, first: u32, size: usize) -> u32 {
        let last = (self.before(first).1 as usize).saturating_add(size);
        let end = self.ends.partition_point(|(_, text)| *text as usize <= last) as u32;
        end.max(first.saturating_add(1)).min(self.rows())
    }

    /// Appends the strings of a set of rows, one after the other. Rows that are neighbours are decoded
    /// together.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    ///
    /// # Panics
    /// If the set has more rows.
    pub fn decode_rows(&self, rows: &RowSet, out: &mut Vec<u8>) -> Result<(), CodeFault> {
        let mut ones = rows.ones().map(|row| row as u32).peekable();
        while let Some(first) = ones.next() {
            let mut end = first + 1;
            while ones.next_if_eq(&end).is_some() {
                end += 1;
            }
            self.decode(first..end, out)?;
        }
        Ok(())
    }

    /// Calls `each` with the string of each row of a set, in order.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn each(&self, rows: &RowSet, mut each: impl FnMut(u32, &[u8])) -> Result<(), CodeFault> {
        let mut string = Vec::new();
        for row in rows.ones() {
            string.clear();
            self.decode(row as u32..row as u32 + 1, &mut string)?;
            each(row as u32, &string);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let strings: Vec<String> = (0..3000).map(|row| "abc ".repeat(row % 7) + &row.to_string()).collect();
        let mut offsets = vec![0];
        let mut bytes = Vec::new();
        for string in &strings {
            bytes.extend_from_slice(string.as_bytes());
            offsets.push(bytes.len() as u32);
        }
        let compressed = Compressed::of(&bytes, &offsets);
        let decoded = |rows: Range<u32>| {
            let mut out = b"before".to_vec();
            compressed.decode(rows, &mut out).unwrap();
            out.split_off(6)
        };
        assert_eq!(decoded(0..3000), bytes);
        assert_eq!(decoded(17..19), [strings[17].as_bytes(), strings[18].as_bytes()].concat());
        assert_eq!(decoded(5..5), b"");
        let some: RowSet = (0..3000).map(|row| row % 5 < 2).collect();
        let mut out = Vec::new();
        compressed.decode_rows(&some, &mut out).unwrap();
        let want: String = some.ones().map(|row| strings[row as usize].as_str()).collect();
        assert_eq!(out, want.as_bytes());
        compressed.each(&some, |row, string| assert_eq!(string, strings[row as usize].as_bytes())).unwrap();
        assert_eq!((compressed.rows(), compressed.text_len(0..3000)), (3000, bytes.len()));
        assert_eq!(Compressed::of(b"", &[0]).rows(), 0);
    }
}
