//! A column of compressed strings with nulls, which converts from and to Arrow.
//!
//! All strings share one table, and one stream of codes; a null has no codes. Memory holds two more arrays.
//! One is the start of each string in the codes, in 64 bits each. The other is the [`Split`]s: the scan of
//! the strings' lengths at every [`SPLIT_CODES`] codes, computed when the column is created.
//!
//! Splits make it possible to decode the column in equal pieces, on all cores or on a device
//! ([`codes`](StringColumn::codes)). They also make it possible to decode a part of a string of gigabytes
//! without the text before that part ([`get_range`](StringColumn::get_range)).
//!
//! ```
//! use warpath_lang::like::Pattern;
//! use warpath_store::fsst::column::{StringColumn, StringKind};
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let values = b"http://a.example/1http://a.example/2ftp://b.example/";
//! // The third is null.
//! let column = StringColumn::compress(StringKind::Utf8, values, &[0_i32, 18, 36, 36, 52], Some(&[0b1011]))?;
//! assert_eq!(column.get(1)?.as_deref(), Some(&b"http://a.example/2"[..]));
//! assert_eq!(column.get(2)?, None);
//! let rows = column.matches(&Pattern::StartsWith(b"http:".to_vec()))?;
//! assert_eq!(rows.ones().collect::<Vec<_>>(), [0, 1]);
//! assert_eq!(column.decode_rows(&rows)?.values, values[..36]);
//! # Ok(())
//! # }
//! ```
//!
//! *Checks*: a column that is made of codes checks them all, with their offsets and nulls. Whether codes of
//! text decode to UTF-8 is checked by [`check`](StringColumn::check) alone.
//!
//! | module | contents |
//! |---|---|
//! | `build` | the construction of a column from strings |
//! | `decode` | the decoding of a column, of some strings, or of a part of one |
//! | `arrow` | the conversion from and to Arrow's arrays |

#[cfg(feature = "arrow")]
mod arrow;
mod build;
mod decode;

use std::ops::Range;

use warpath_core::error::{ColumnError, Error};
use warpath_core::pool;
use warpath_core::rows::RowSet;
use warpath_lang::like::Pattern;
use warpath_shared::fsst::{CodeFault, SPLIT_CODES, Split, Table};

use super::codes::Codes;
use super::{Decoder, MatchError, Matcher};

/// The kind of a column's strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StringKind {
    /// Text: each string is UTF-8.
    #[default]
    Utf8,
    /// Any bytes.
    Binary,
}

/// Uncompressed strings, in Arrow's layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    /// The bytes of all strings.
    pub values: Vec<u8>,
    /// The start of each string, and last the end of the last string.
    pub offsets: Vec<u64>,
    /// Bit *i* of word *w* is set if string 64 *w* + *i* is not null. `None` if no string is null. Bits past
    /// the last string are 0.
    pub validity: Option<Vec<u64>>,
}

impl Strings {
    /// Returns the number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no strings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a string; `None` for a null, and for a row that does not exist.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        if row >= self.len() || !is_valid(self.validity.as_deref(), row) {
            return None;
        }
        self.values.get(self.offsets[row] as usize..self.offsets[row + 1] as usize)
    }
}

fn is_valid(validity: Option<&[u64]>, row: usize) -> bool {
    validity.is_none_or(|words| words[row / 64] >> (row % 64) & 1 != 0)
}

/// The parts of a column, before the check that they agree.
struct ColumnParts {
    kind: StringKind,
    table: Table,
    codes: Vec<u8>,
    offsets: Vec<u64>,
    splits: Vec<Split>,
    validity: Option<Vec<u64>>,
}

/// A column of compressed strings. See the [module](self).
pub struct StringColumn {
    kind: StringKind,
    table: Table,
    decoder: Decoder,
    codes: Vec<u8>,
    offsets: Vec<u64>,
    splits: Vec<Split>,
    first_strings: Vec<u64>,
    validity: Option<Vec<u64>>,
    nulls: u64,
}

impl std::fmt::Debug for StringColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StringColumn")
            .field("kind", &self.kind)
            .field("len", &self.len())
            .field("nulls", &self.nulls)
            .field("codes", &self.codes.len())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// Number of offsets in a piece of work for one core.
const PIECE_NUMBERS: usize = 1 << 16;

/// Returns true if offsets do not decrease. Uses all cores.
fn ascend(offsets: &[u64]) -> bool {
    // Each piece has one more offset, so that neighbouring pieces are compared too.
    let is_sorted = |piece: Range<usize>| offsets[piece.start..offsets.len().min(piece.end + 1)].is_sorted();
    pool::map(pool::pieces(offsets.len(), PIECE_NUMBERS), is_sorted).into_iter().all(|yes| yes)
}

/// Returns the first null that has codes.
fn null_with_codes(validity: &[u64], offsets: &[u64]) -> Option<usize> {
    let in_word = |(word, valid): (usize, &u64)| {
        let rows = 64.min(offsets.len() - 1 - 64 * word);
        let rows = 64 * word..64 * word + rows;
        (*valid != u64::MAX)
            .then(|| {
                rows.into_iter().find(|row| valid >> (row % 64) & 1 == 0 && offsets[*row] < offsets[*row + 1])
            })
            .flatten()
    };
    let in_piece = |piece: Range<usize>| piece.clone().zip(&validity[piece]).find_map(in_word);
    pool::map(pool::pieces(validity.len(), PIECE_NUMBERS / 64), in_piece).into_iter().flatten().next()
}

impl ColumnParts {
    /// Returns the column, if its parts agree.
    fn assemble(self) -> Result<StringColumn, ColumnError> {
        let Self { kind, table, codes, offsets, splits, validity } = self;
        let count = codes.len();
        let damaged = |what: String| ColumnError::Damaged { what };
        if offsets.first() != Some(&0) || offsets.last() != Some(&(count as u64)) {
            return Err(damaged("its offsets do not begin with 0, or do not end with the codes".into()));
        }
        if !ascend(&offsets) {
            let row = offsets.windows(2).position(|pair| pair[0] > pair[1]).unwrap_or(0);
            return Err(damaged(format!("string {row} ends before it begins")));
        }
        let rows = offsets.len() - 1;
        let mut nulls = 0;
        if let Some(words) = &validity {
            if words.len() != rows.div_ceil(64) {
                return Err(damaged("it does not have one bit of validity for each string".into()));
            }
            let ones: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
            let last = words.last().copied().unwrap_or(0);
            if !rows.is_multiple_of(64) && last >> (rows % 64) != 0 {
                return Err(damaged("bits of validity are set after the last string".into()));
            }
            nulls = rows as u64 - ones;
            if let Some(row) = null_with_codes(words, &offsets) {
                return Err(damaged(format!("string {row} is null, and has codes")));
            }
        }
        let first_string =
            |split: usize| offsets.partition_point(|offset| *offset < (split * SPLIT_CODES) as u64) as u64;
        let splits_of = |piece: Range<usize>| piece.map(first_string).collect::<Vec<_>>();
        let first_strings = pool::map(pool::pieces(count.div_ceil(SPLIT_CODES), 256), splits_of).concat();
        let validity = validity.filter(|_| nulls > 0);
        let decoder = Decoder::new(&table);
        Ok(StringColumn { kind, table, decoder, codes, offsets, splits, first_strings, validity, nulls })
    }
}

impl StringColumn {
    /// Returns the kind of the strings.
    #[must_use]
    pub fn kind(&self) -> StringKind {
        self.kind
    }

    /// Returns the number of strings, nulls included.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.offsets.len() as u64 - 1
    }

    /// Returns true if there are no strings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of nulls.
    #[must_use]
    pub fn nulls(&self) -> u64 {
        self.nulls
    }

    /// Returns the length in bytes of all strings together, decoded.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.splits.last().map_or(0, |split| split.offset())
    }

    /// Returns the table that all strings share.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the validity bits. Bit *i* of word *w* is set if string 64 *w* + *i* is not null. `None` if no
    /// string is null. Bits past the last string are 0.
    #[must_use]
    pub fn validity(&self) -> Option<&[u64]> {
        self.validity.as_deref()
    }

    /// Returns true if a string is null; false for a row that does not exist.
    #[must_use]
    pub fn is_null(&self, row: u64) -> bool {
        row < self.len() && !is_valid(self.validity(), row as usize)
    }

    /// Returns the column in the form for a device, which decodes it (`DeviceCodes`) or matches it
    /// (`FsstMatchStage`). Nulls are empty strings there.
    #[must_use]
    pub fn codes(&self) -> Codes<'_> {
        Codes {
            table: &self.table,
            codes: &self.codes,
            splits: &self.splits,
            first_strings: &self.first_strings,
            offsets: &self.offsets,
            len: self.bytes(),
        }
    }

    /// Returns the strings that match a pattern, evaluated on their codes by all cores. A null matches no
    /// pattern.
    ///
    /// # Errors
    /// [`Error::Column`] if a string has invalid codes among those that were read ([`ColumnError::Codes`]).
    pub fn matches(&self, pattern: &Pattern) -> Result<RowSet, Error> {
        let matcher = Matcher::new(pattern, &self.table);
        match matcher.matches(&self.codes, &self.offsets) {
            Ok(words) => Ok(self.without_nulls(words)),
            Err(MatchError::Codes { string, fault }) => Err(self.codes_fault(string, fault).into()),
            Err(MatchError::Memory { bytes, .. }) => Err(ColumnError::Memory { bytes }.into()),
            Err(fault @ MatchError::Offsets(_)) => Err(self.damaged(fault.to_string()).into()),
        }
    }

    /// Removes nulls from a result with one bit per row, such as a device's, which ignores nulls.
    ///
    /// # Panics
    /// Panics if memory does not suffice for the result.
    #[must_use]
    pub fn without_nulls(&self, mut words: Vec<u64>) -> RowSet {
        if let Some(validity) = &self.validity {
            words.iter_mut().zip(validity).for_each(|(word, valid)| *word &= valid);
        }
        RowSet::from_words(words, self.len())
    }

    fn damaged(&self, what: impl Into<String>) -> ColumnError {
        ColumnError::Damaged { what: what.into() }
    }

    fn codes_fault(&self, row: usize, fault: CodeFault) -> ColumnError {
        ColumnError::Codes { row: row as u64, fault: fault.to_string() }
    }

    /// Returns the range of a string in the codes.
    fn place(&self, row: u64) -> Result<Range<usize>, Error> {
        if row >= self.len() {
            return Err(Error::Usage(format!("string {row} of {}", self.len())));
        }
        Ok(self.offsets[row as usize] as usize..self.offsets[row as usize + 1] as usize)
    }
}
