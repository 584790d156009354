//! Strings of rows, compressed by FSST. Each row is decoded on its own.

use std::ops::Range;

use warpath_core::rows::RowSet;
use warpath_store::fsst::{CodeFault, Compressor, Decoder, MAX_SYMBOL_BYTES, Sample, Table, train};

/// The reason why strings do not come back. Strings that were compressed here always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The codes are none of the symbols.
    #[error(transparent)]
    Codes(#[from] CodeFault),
    /// The strings have another length.
    #[error("the codes are {found} bytes of text, and the rows have {expected}")]
    Len {
        /// Bytes that the codes are.
        found: usize,
        /// Bytes that the rows have.
        expected: usize,
    },
}

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

    /// Strings of a table, codes and ends that come from elsewhere; [`ends`](Self::ends) says what an end is.
    /// `None` if the ends are not ascending, are not those of the codes, or claim more bytes than the codes
    /// can have.
    #[must_use]
    pub fn from_parts(table: &Table, codes: Vec<u8>, ends: Vec<(u32, u32)>) -> Option<Self> {
        let mut before = (0, 0);
        for (code, text) in &ends {
            let (codes, bytes) = (code.checked_sub(before.0)?, text.checked_sub(before.1)?);
            if u64::from(bytes) > u64::from(codes) * MAX_SYMBOL_BYTES as u64 {
                return None;
            }
            before = (*code, *text);
        }
        let is_all = before.0 as usize == codes.len();
        is_all.then(|| Self { decoder: Decoder::new(table), codes, ends })
    }

    /// The symbols of the codes.
    #[must_use]
    pub fn table(&self) -> &Table {
        self.decoder.table()
    }

    /// The codes of all rows, one after the other.
    #[must_use]
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// The end of the codes of each row, and of its bytes among those of all rows.
    #[must_use]
    pub fn ends(&self) -> &[(u32, u32)] {
        &self.ends
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
    /// [`Fault`] cannot come from strings that were compressed here.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn decode(&self, rows: Range<u32>, out: &mut Vec<u8>) -> Result<(), Fault> {
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
    pub fn decode_to(&self, rows: Range<u32>, room: &mut [u8]) -> Result<(), Fault> {
        let ((code, _), (code_end, _)) = (self.before(rows.start), self.before(rows.end));
        let found = self.decoder.decode(&self.codes[code as usize..code_end as usize], room)?;
        if found == room.len() { Ok(()) } else { Err(Fault::Len { found, expected: room.len() }) }
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
    pub fn decode_rows(&self, rows: &RowSet, out: &mut Vec<u8>) -> Result<(), Fault> {
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
        assert_eq!((compressed.rows(), compressed.text_len(0..3000)), (3000, bytes.len()));
        assert_eq!(Compressed::of(b"", &[0]).rows(), 0);
        let (table, codes, ends) = (compressed.table(), compressed.codes(), compressed.ends());
        let again = Compressed::from_parts(table, codes.to_vec(), ends.to_vec()).unwrap();
        let mut out = Vec::new();
        again.decode(0..3000, &mut out).unwrap();
        assert_eq!((out, again.bytes()), (bytes, compressed.bytes()));
    }

    /// Ends that no strings have, and ends that the codes do not bear out.
    #[test]
    fn other_ends_are_refused() {
        let compressed = Compressed::of(b"oneone two", &[0, 3, 6, 10]);
        let of = |ends: &[(u32, u32)]| {
            Compressed::from_parts(compressed.table(), compressed.codes().to_vec(), ends.to_vec())
        };
        let [a, b, c] = compressed.ends()[..] else { panic!("three rows") };
        assert!(of(&[a, b, c]).is_some());
        assert!(of(&[a, b]).is_none());
        assert!(of(&[b, a, c]).is_none());
        assert!(of(&[a, b, (c.0 + 1, c.1)]).is_none());
        assert!(of(&[(a.0, u32::MAX), b, c]).is_none());
        let mut out = Vec::new();
        let longer = of(&[a, b, (c.0, c.1 + 1)]).unwrap().decode(0..3, &mut out);
        assert_eq!(longer, Err(Fault::Len { found: 10, expected: 11 }));
        let shorter = of(&[a, b, (c.0, c.1 - 1)]).unwrap().decode(0..3, &mut out);
        assert_eq!(shorter, Err(Fault::Codes(CodeFault::Room)));
    }
}
