//! FSST: strings as codes of a byte, each of which stands for a symbol of 1 to 8 bytes (Boncz, Neumann and Leis, "FSST: Fast Random Access
//! String Compression", VLDB 2020).
//!
//! ```text
//! symbols   0 "http://"   1 "www."   2 ".com"   3 "e"        a table of up to 255, which all strings of a column share
//! string    http://www.example.com
//! codes     0 1 3 255 x 255 a 255 m 255 p 255 l 3 2           255 is an escape: the byte behind it stands for itself
//! ```
//!
//! The byte behind an escape may be 255, too. So whether a code is one, or a byte that stands for itself, is told by the run of 255s before it: behind
//! an odd number of them it is a byte. That is the rule of backslashes in JSON ([`crate::index::escape`]).
//!
//! Whatever the codes are, decoding comes to an end, within the bounds of what it was given.

pub mod automaton;

/// The code behind which a byte stands for itself.
pub const ESCAPE: u8 = 255;
/// The most symbols of a table: each code but [`ESCAPE`].
pub const MAX_SYMBOLS: usize = 255;
/// Bytes of the longest symbol.
pub const MAX_SYMBOL_BYTES: usize = 8;
/// How many codes lie between two [`Split`]s of a stream.
pub const SPLIT_CODES: usize = 2048;

/// Where decoding can begin in a long stream of codes: one stands for each [`SPLIT_CODES`] codes, the first for those from 0 on.
///
/// ```text
/// bit       63                                   62 … 0
/// meaning   the code here is behind an escape    where the first step that begins here, or one code later, writes
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Split(pub u64);

impl Split {
    /// A split whose first step writes at an offset of the string, below 2^63, and begins one code later if `behind_escape`.
    #[must_use]
    #[inline(always)]
    pub const fn new(offset: u64, behind_escape: bool) -> Self {
        Self(offset & (u64::MAX >> 1) | (behind_escape as u64) << 63)
    }

    /// Where the first step writes, in bytes of the string.
    #[must_use]
    #[inline(always)]
    pub const fn offset(self) -> u64 {
        self.0 & (u64::MAX >> 1)
    }

    /// Whether the code here stands for itself, as there is an escape before it: then the first step begins one code later.
    #[must_use]
    #[inline(always)]
    pub const fn behind_escape(self) -> bool {
        self.0 >> 63 != 0
    }
}

/// Words of a table as kernels read it: the symbols, then the lengths.
pub const TABLE_WORDS: usize = 256 + 256 / 8;
/// The length, in those words, of a code that stands for nothing: more than 16 codes of others have together.
pub const UNKNOWN_LEN: u8 = 255;

/// A symbol table, as kernels read it: for each code a symbol, its first byte lowest, and how many bytes it has. A code that stands for nothing
/// has 0 of them, [`ESCAPE`] too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Table {
    symbols: [u64; 256],
    lens: [u8; 256],
}

/// Why symbols are no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFault {
    /// There are more than [`MAX_SYMBOLS`], or not as many lengths as symbols.
    Count,
    /// A symbol, by its code, has 0 bytes or more than 8.
    Len(u8),
    /// A symbol, by its code, has bytes behind its last.
    Beyond(u8),
}

impl core::fmt::Display for TableFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Count => write!(f, "a table has up to {MAX_SYMBOLS} symbols, and a length for each"),
            Self::Len(code) => write!(f, "symbol {code} has not 1 to {MAX_SYMBOL_BYTES} bytes"),
            Self::Beyond(code) => write!(f, "symbol {code} has bytes behind its last"),
        }
    }
}

impl core::error::Error for TableFault {}

/// Why codes are not those of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeFault {
    /// An escape, by its place, is the last code.
    Escape(usize),
    /// A code, by its place, stands for nothing in the table.
    Unknown(usize),
    /// The string is longer than the room for it.
    Room,
}

impl core::fmt::Display for CodeFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Escape(at) => write!(f, "code {at} is an escape, and the last"),
            Self::Unknown(at) => write!(f, "code {at} is not one of the table"),
            Self::Room => write!(f, "the string is longer than it was said to be"),
        }
    }
}

impl core::error::Error for CodeFault {}

impl Table {
    /// Takes symbols, by their codes, after a look at each.
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

    /// How many symbols there are. Their codes are those below.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lens.iter().filter(|len| **len > 0).count()
    }

    /// Whether there is none: then each byte of a string is escaped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The symbols, by their codes: the first byte is the lowest, and those behind the last are 0.
    #[must_use]
    pub const fn symbols(&self) -> &[u64; 256] {
        &self.symbols
    }

    /// How many bytes each symbol has, by its code: 0 where there is none.
    #[must_use]
    pub const fn lens(&self) -> &[u8; 256] {
        &self.lens
    }

    /// The table as kernels take it: the symbols, then the lengths, 8 a word: [`UNKNOWN_LEN`] where there is no symbol, and 0 for [`ESCAPE`].
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

    /// What one step of decoding finds at a place of the codes: bytes, the first lowest, how many they are, and how many codes say so.
    ///
    /// # Errors
    /// [`CodeFault::Escape`] and [`CodeFault::Unknown`].
    ///
    /// # Panics
    /// If there is no such place.
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

    /// How many bytes the string of some codes has.
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

    /// Decodes a string, code by code: the rule that all faster ways are held to. Says how many bytes it has, which are the first of `room`; nothing
    /// behind them is written.
    ///
    /// # Errors
    /// [`CodeFault`]. What was decoded before is in `room`.
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

/// The lowest bytes of a word, 1 to 8 of them.
#[inline(always)]
const fn bytes_mask(len: u8) -> u64 {
    u64::MAX >> (64 - 8 * len as u32)
}

/// Which of 64 codes begin a step of decoding, and are not the byte behind an escape; `pending` says, on entry, that the code before was an escape, and on return that the last
/// is one.
///
/// ```text
/// codes      7 255 x 255 255 255 255 9        x and every other 255 of a run stand for themselves
/// begins     1  1  0  1   0   1   0  1
/// ```
#[inline(always)]
pub fn begins(escapes: u64, pending: &mut bool) -> u64 {
    // A code behind an odd run of 255s is a byte; within a run, it is every other one, counted from the run's first that begins a step.
    let carry = u64::from(*pending);
    let runs = escapes & !carry;
    let starts = runs & !(runs << 1);
    // Adding the starts at even places to the runs carries through those runs alone, and tells them from those that start at odd places.
    let even = runs & !runs.wrapping_add(starts & EVEN);
    let odd = runs & !even;
    let literals_in_runs = even & !EVEN | odd & EVEN;
    let openers = runs & !literals_in_runs;
    *pending = openers >> 63 != 0;
    !(openers << 1 | carry)
}

/// Which of 16 codes are the byte behind an escape: the same by the escapes of 16, as lanes of a warp have them. `pending` says that the code before was an escape.
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
        assert!(room[len..].iter().all(|byte| *byte == 0xaa), "it writes behind the end");
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
