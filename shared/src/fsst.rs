//! FSST: strings as codes of one byte, each for a symbol of 1 to 8 bytes (Boncz, Neumann and Leis, "FSST:
//! Fast Random Access String Compression", VLDB 2020).
//!
//! ```text
//! symbols   0 "http://"   1 "www."   2 ".com"   3 "e"     a table of up to 255, which a column's strings share
//! string    http://www.example.com
//! codes     0 1 3 255 x 255 a 255 m 255 p 255 l 3 2       255 is an escape: the next byte is a literal byte
//! ```
//!
//! The byte after an escape may be 255, too. So a byte is a code or a literal byte depending on the run of
//! 255s before it: after an odd number of 255s it is a literal byte. This is the rule of backslashes in JSON
//! ([`crate::index::escape`]).
//!
//! Decoding ends for any codes, and stays within the bounds of its input and output.

pub mod automaton;

/// The escape code: the next byte is a literal byte.
pub const ESCAPE: u8 = 255;
/// The greatest number of symbols in a table: one for each code but [`ESCAPE`].
pub const MAX_SYMBOLS: usize = 255;
/// Bytes of the longest symbol.
pub const MAX_SYMBOL_BYTES: usize = 8;
/// The number of codes between two [`Split`]s of a stream.
pub const SPLIT_CODES: usize = 2048;

/// A position at which decoding can begin in a long stream of codes. There is one split for each
/// [`SPLIT_CODES`] codes, and the first is for code 0.
///
/// ```text
/// bit       63                                62 … 0
/// meaning   the code here follows an escape   the output offset of the first step from here on
/// ```
///
/// If the code here follows an escape, the first step begins one code later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Split(pub u64);

impl Split {
    /// A split whose first step writes at `offset` in the string, below 2^63. The step begins one code later
    /// if `behind_escape`.
    #[must_use]
    #[inline(always)]
    pub const fn new(offset: u64, behind_escape: bool) -> Self {
        Self(offset & (u64::MAX >> 1) | (behind_escape as u64) << 63)
    }

    /// The offset at which the first step writes, in bytes of the string.
    #[must_use]
    #[inline(always)]
    pub const fn offset(self) -> u64 {
        self.0 & (u64::MAX >> 1)
    }

    /// Returns true if the code here is a literal byte, because it follows an escape. The first step then
    /// begins one code later.
    #[must_use]
    #[inline(always)]
    pub const fn behind_escape(self) -> bool {
        self.0 >> 63 != 0
    }
}

/// The number of words of a table as kernels read it: the symbols, then the lengths.
pub const TABLE_WORDS: usize = 256 + 256 / 8;
/// The length, in those words, of a code without a symbol. It is more than the total length of 16 other
/// codes.
pub const UNKNOWN_LEN: u8 = 255;

/// A symbol table: for each code a symbol, its first byte lowest, and the number of its bytes. A code without
/// a symbol, and [`ESCAPE`], has 0 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Table {
    symbols: [u64; 256],
    lens: [u8; 256],
}

/// The reason why symbols are not a valid table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFault {
    /// More than [`MAX_SYMBOLS`] symbols, or another number of lengths than of symbols.
    Count,
    /// The symbol of this code has 0 bytes or more than 8.
    Len(u8),
    /// The symbol of this code has nonzero bytes after its end.
    Beyond(u8),
}

impl core::fmt::Display for TableFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Count => {
                write!(f, "the table has more than {MAX_SYMBOLS} symbols, or not one length for each")
            }
            Self::Len(code) => write!(f, "the length of symbol {code} is not 1 to {MAX_SYMBOL_BYTES}"),
            Self::Beyond(code) => write!(f, "symbol {code} has nonzero bytes after its end"),
        }
    }
}

impl core::error::Error for TableFault {}

/// The reason why codes are not a valid string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeFault {
    /// The escape at this index is the last code.
    Escape(usize),
    /// The code at this index has no symbol in the table.
    Unknown(usize),
    /// The string is longer than the output buffer.
    Room,
}

impl core::fmt::Display for CodeFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Escape(at) => write!(f, "code {at} is an escape with no byte after it"),
            Self::Unknown(at) => write!(f, "code {at} has no symbol in the table"),
            Self::Room => write!(f, "the string is longer than its declared length"),
        }
    }
}

impl core::error::Error for CodeFault {}

impl Table {
    /// Checks the symbols, which are ordered by their codes, and returns the table.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn new(symbols: &[u64], lens: &[u8]) -> Result<Self, TableFault> {
        if symbols.len() != lens.len() || symbols.len() > MAX_SYMBOLS {
            return Err(TableFault::Count);
        }
        let mut table = Self { symbols: [0; 256], lens: [0; 256] };
        for (code, (symbol, len)) in symbols.iter().zip(lens).enumerate() {
            if *len == 0 || usize::from(*len) > MAX_SYMBOL_BYTES {
                return Err(TableFault::Len(code as u8));
            }
            if symbol & !bytes_mask(*len) != 0 {
                return Err(TableFault::Beyond(code as u8));
            }
            (table.symbols[code], table.lens[code]) = (*symbol, *len);
        }
        Ok(table)
    }

    /// The number of symbols. Their codes are 0 up to this number, exclusive.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lens.iter().filter(|len| **len > 0).count()
    }

    /// Returns true if there are no symbols. Each byte of a string is then escaped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The symbols, by code. The first byte of a symbol is the lowest, and the bytes after its end are 0.
    #[must_use]
    pub const fn symbols(&self) -> &[u64; 256] {
        &self.symbols
    }

    /// The number of bytes of each symbol, by code: 0 for a code without a symbol.
    #[must_use]
    pub const fn lens(&self) -> &[u8; 256] {
        &self.lens
    }

    /// The table as kernels read it: the symbols, then the lengths, 8 a word. The length is [`UNKNOWN_LEN`]
    /// for a code without a symbol, and 0 for [`ESCAPE`].
    #[must_use]
    pub fn to_words(&self) -> [u64; TABLE_WORDS] {
        let mut words = [0; TABLE_WORDS];
        words[..256].copy_from_slice(&self.symbols);
        let mut lens = self.lens.map(|len| if len == 0 { UNKNOWN_LEN } else { len });
        lens[usize::from(ESCAPE)] = 0;
        for (word, lens) in words[256..].iter_mut().zip(lens.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*lens);
        }
        words
    }

    /// Decodes one step at index `at` of the codes. Returns the bytes, the first lowest, the number of bytes,
    /// and the number of codes that were read.
    ///
    /// # Errors
    /// [`CodeFault::Escape`] and [`CodeFault::Unknown`].
    ///
    /// # Panics
    /// If `at` is not an index of `codes`.
    #[inline(always)]
    pub fn step(&self, codes: &[u8], at: usize) -> Result<(u64, u8, usize), CodeFault> {
        let code = codes[at];
        if code == ESCAPE {
            return match codes.get(at + 1) {
                Some(byte) => Ok((u64::from(*byte), 1, 2)),
                None => Err(CodeFault::Escape(at)),
            };
        }
        let len = self.lens[usize::from(code)];
        if len == 0 { Err(CodeFault::Unknown(at)) } else { Ok((self.symbols[usize::from(code)], len, 1)) }
    }

    /// Returns the number of bytes of the decoded string.
    ///
    /// # Errors
    /// [`CodeFault::Escape`] and [`CodeFault::Unknown`].
    pub fn decoded_len(&self, codes: &[u8]) -> Result<u64, CodeFault> {
        let (mut at, mut len) = (0, 0);
        while at < codes.len() {
            let (_, bytes, taken) = self.step(codes, at)?;
            len += u64::from(bytes);
            at += taken;
        }
        Ok(len)
    }

    /// Decodes a string into the first bytes of `room`, code by code, and returns its length. Nothing after
    /// the string is written. Faster decoders are compared with this function.
    ///
    /// # Errors
    /// [`CodeFault`]. `room` then holds the bytes that were decoded before the fault.
    pub fn decode(&self, codes: &[u8], room: &mut [u8]) -> Result<usize, CodeFault> {
        let (mut at, mut end) = (0, 0);
        while at < codes.len() {
            let (bytes, len, taken) = self.step(codes, at)?;
            let to = room.get_mut(end..end + usize::from(len)).ok_or(CodeFault::Room)?;
            to.copy_from_slice(&bytes.to_le_bytes()[..usize::from(len)]);
            end += usize::from(len);
            at += taken;
        }
        Ok(end)
    }
}

/// A mask of the lowest `len` bytes of a word, for 1 to 8 bytes.
#[inline(always)]
const fn bytes_mask(len: u8) -> u64 {
    u64::MAX >> (64 - 8 * len as u32)
}

/// Returns the codes, of 64, that begin a step of decoding: all but those that follow an escape. On entry,
/// `pending` says if the code before the 64 was an escape. On return, `pending` says if the last code is an
/// escape.
///
/// ```text
/// codes      7 255 x 255 255 255 255 9        x and every second 255 of a run are literal bytes
/// begins     1  1  0  1   0   1   0  1
/// ```
#[inline(always)]
pub fn begins(escapes: u64, pending: &mut bool) -> u64 {
    // A code after an odd run of 255s is a literal byte. Within a run, every second code is one, counted from
    // the first code of the run that begins a step.
    let carry = u64::from(*pending);
    let runs = escapes & !carry;
    let starts = runs & !(runs << 1);
    // Adding the starts at even positions to the runs carries through those runs only. This separates them
    // from runs that start at odd positions.
    let even = runs & !runs.wrapping_add(starts & EVEN);
    let odd = runs & !even;
    let literals_in_runs = even & !EVEN | odd & EVEN;
    let openers = runs & !literals_in_runs;
    *pending = openers >> 63 != 0;
    !(openers << 1 | carry)
}

/// Returns the codes, of 16, that follow an escape: [`begins`], negated, for the lanes of a warp. `pending`
/// says if the code before the 16 was an escape.
#[inline(always)]
pub fn bytes_of(escapes: u32, pending: bool) -> u32 {
    let carry = pending as u32;
    let runs = escapes & !carry;
    let starts = runs & !(runs << 1);
    let even = runs & !runs.wrapping_add(starts & EVEN as u32);
    let odd = runs & !even;
    let openers = even & EVEN as u32 | odd & !(EVEN as u32);
    openers << 1 | carry
}

const EVEN: u64 = 0x5555_5555_5555_5555;

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn table(symbols: &[&[u8]]) -> Table {
        let word = |symbol: &&[u8]| {
            let mut bytes = [0; 8];
            bytes[..symbol.len()].copy_from_slice(symbol);
            u64::from_le_bytes(bytes)
        };
        let words: Vec<u64> = symbols.iter().map(word).collect();
        let lens: Vec<u8> = symbols.iter().map(|symbol| symbol.len() as u8).collect();
        Table::new(&words, &lens).unwrap()
    }

    fn decoded(table: &Table, codes: &[u8]) -> Result<Vec<u8>, CodeFault> {
        let mut room = vec![0xaa; 8 * codes.len() + 3];
        let len = table.decode(codes, &mut room)?;
        assert_eq!(table.decoded_len(codes), Ok(len as u64));
        assert!(room[len..].iter().all(|byte| *byte == 0xaa), "it writes past the end");
        room.truncate(len);
        Ok(room)
    }

    #[test]
    fn codes_stand_for_symbols_and_escapes_for_bytes() {
        let table = table(&[b"http://", b"www.", b".com", b"e", b"12345678"]);
        let codes = [0, 1, 3, 255, b'x', 255, b'a', 255, b'm', 255, b'p', 255, b'l', 3, 2];
        assert_eq!(decoded(&table, &codes).unwrap(), b"http://www.example.com");
        assert_eq!(decoded(&table, &[]).unwrap(), b"");
        assert_eq!(decoded(&table, &[255, 255, 255, 0, 4, 255, 255]).unwrap(), b"\xff\x0012345678\xff");
        assert_eq!((table.len(), table.is_empty()), (5, false));
    }

    #[test]
    fn what_is_no_string_is_told() {
        let table = table(&[b"ab"]);
        assert_eq!(decoded(&table, &[0, 255]), Err(CodeFault::Escape(1)));
        assert_eq!(decoded(&table, &[255, 255, 255]), Err(CodeFault::Escape(2)));
        assert_eq!(decoded(&table, &[0, 0, 1]), Err(CodeFault::Unknown(2)));
        assert_eq!(decoded(&table, &[254]), Err(CodeFault::Unknown(0)));
        for room in 0..4 {
            assert_eq!(table.decode(&[0, 0], &mut vec![0; room]), Err(CodeFault::Room));
        }
        assert_eq!(table.decode(&[0, 0], &mut [0; 4]), Ok(4));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert_eq!(Table::new(&[0], &[0]), Err(TableFault::Len(0)));
        assert_eq!(Table::new(&[1, 2], &[1, 9]), Err(TableFault::Len(1)));
        assert_eq!(Table::new(&[0x100], &[1]), Err(TableFault::Beyond(0)));
        assert_eq!(Table::new(&[u64::MAX], &[8]).unwrap().len(), 1);
        assert_eq!(Table::new(&[1], &[]), Err(TableFault::Count));
        assert_eq!(Table::new(&[1; 256], &[1; 256]), Err(TableFault::Count));
        assert_eq!(Table::new(&[1; 255], &[1; 255]).unwrap().len(), 255);
        assert!(Table::new(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn splits_keep_both_parts() {
        for offset in [0, 1, 2048, u64::MAX >> 1] {
            for behind_escape in [false, true] {
                let split = Split::new(offset, behind_escape);
                assert_eq!((split.offset(), split.behind_escape()), (offset, behind_escape));
                assert_eq!(split.0, offset + (u64::from(behind_escape) << 63));
            }
        }
    }

    fn naive_begins(escapes: u64, pending: &mut bool) -> u64 {
        (0..64).fold(0, |begins, at| {
            let is_byte = std::mem::take(pending);
            *pending = !is_byte && escapes >> at & 1 != 0;
            begins | u64::from(!is_byte) << at
        })
    }

    #[test]
    fn sixteen_codes_are_told_apart_as_sixty_four_are() {
        for escapes in 0..1_u32 << 16 {
            for pending in [false, true] {
                let mut before = pending;
                let begins = begins(u64::from(escapes), &mut before);
                assert_eq!(
                    bytes_of(escapes, pending) & 0xffff,
                    !begins as u32 & 0xffff,
                    "{escapes:016b} {pending}"
                );
            }
        }
    }

    #[test]
    fn steps_begin_where_no_escape_is_before() {
        let check = |escapes: u64| {
            for before in [false, true] {
                let (mut pending, mut naive) = (before, before);
                let (got, want) = (begins(escapes, &mut pending), naive_begins(escapes, &mut naive));
                assert_eq!((got, pending), (want, naive), "{escapes:064b} {before}");
            }
        };
        for start in 0..64 {
            for len in 0..=64 - start {
                let run = if len == 64 { !0 } else { ((1_u64 << len) - 1) << start };
                [0, 1, 1 << 63, 0x00f0_0000_0d00_0001].iter().for_each(|other| check(run | other));
            }
        }
        let mut seed = 1_u64;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            check(seed ^ seed << 29);
            check(seed & seed >> 7 & seed << 13);
            check(seed | seed >> 9);
        }
    }
}
