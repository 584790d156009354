//! A set of rows, one bit each. It is the result of predicates on strings, and combines with the results of
//! bitmap indexes.
//!
//! A bitmap index has chunks of 63 rows ([`warpath_shared::wah`]), because one bit of each compressed word is
//! its type. Predicates on strings, evaluated one by one, fill words of 64. This module has both, and the
//! conversion between them:
//!
//! ```text
//! rows      0 … 62 │ 63 … 125 │ 126 … 188       chunks, bit 63 is 0
//!           0 … 63 │ 64 … 127 │ 128 … 191       words
//! ```

use std::ops::{BitAndAssign, BitOrAssign, Not, SubAssign};

use warpath_shared::wah::{CHUNK_ROWS, Wah, chunks_for};

use super::wah::{self, WahBuf};

/// A subset of `rows` rows. Bit *i* of word *w* is row 64 *w* + *i*; bits after the last row are 0.
///
/// ```
/// use warpath::bitmap::RowSet;
///
/// let mut rows = RowSet::none(100);
/// rows.insert(7);
/// rows.insert(64);
/// rows &= &RowSet::from_words(vec![u64::MAX], 100);
/// assert_eq!((rows.ones().collect::<Vec<_>>(), rows.count(), rows.rows()), (vec![7], 1, 100));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSet {
    words: Vec<u64>,
    rows: u64,
}

/// A mask of the bits of the last word that are rows.
fn last_bits(rows: u64) -> u64 {
    u64::MAX >> ((64 - rows % 64) % 64)
}

impl RowSet {
    /// Takes words. Missing words are 0; words and bits after the last row are dropped.
    ///
    /// # Panics
    /// If there is not enough memory.
    #[must_use]
    pub fn from_words(mut words: Vec<u64>, rows: u64) -> Self {
        words.resize(rows.div_ceil(64) as usize, 0);
        if let Some(last) = words.last_mut() {
            *last &= last_bits(rows);
        }
        Self { words, rows }
    }

    /// Takes chunks of 63 rows, the first in bit 0, as programs over bitmaps make them. Missing chunks are 0;
    /// chunks and bits after the last row are dropped.
    ///
    /// # Panics
    /// As for [`Self::from_words`].
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn from_chunks(chunks: &[u64], rows: u64) -> Self {
        let mut words = vec![0; rows.div_ceil(64) as usize];
        for (at, chunk) in chunks.iter().take(chunks_for(rows) as usize).enumerate() {
            let first = at * CHUNK_ROWS as usize;
            let chunk = chunk & (u64::MAX >> 1);
            words[first / 64] |= chunk << (first % 64);
            // The first row of the next word is bit 64 − `first % 64` of the chunk, if the chunk has that
            // many.
            if let Some(next) = words.get_mut(first / 64 + 1).filter(|_| first % 64 > 1) {
                *next |= chunk >> (64 - first % 64);
            }
        }
        Self::from_words(words, rows)
    }

    /// The rows of a compressed bitmap.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn from_wah(bitmap: Wah<'_>) -> Self {
        Self::from_chunks(&wah::chunks(bitmap), bitmap.rows())
    }

    /// The set of all `rows` rows.
    #[must_use]
    pub fn all(rows: u64) -> Self {
        Self::from_words(vec![u64::MAX; rows.div_ceil(64) as usize], rows)
    }

    /// The set of none of `rows` rows.
    #[must_use]
    pub fn none(rows: u64) -> Self {
        Self::from_words(Vec::new(), rows)
    }

    /// The total number of rows, in the set or not.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The number of rows in the set.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// True if a row is in the set; false for a row that does not exist.
    #[must_use]
    pub fn get(&self, row: u64) -> bool {
        let word = usize::try_from(row / 64).ok().and_then(|word| self.words.get(word));
        word.is_some_and(|word| word >> (row % 64) & 1 != 0)
    }

    /// Adds a row. A row that does not exist is left out.
    pub fn insert(&mut self, row: u64) {
        if row < self.rows {
            self.words[(row / 64) as usize] |= 1 << (row % 64);
        }
    }

    /// Removes this row and all rows after it.
    pub fn truncate(&mut self, row: u64) {
        let first = usize::try_from(row / 64).unwrap_or(usize::MAX);
        for (at, word) in self.words.iter_mut().enumerate().skip(first) {
            *word &= if at == first { (1 << (row % 64)) - 1 } else { 0 };
        }
    }

    /// The last row in the set.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        let at = self.words.iter().rposition(|word| *word != 0)?;
        Some(64 * at as u64 + u64::from(self.words[at].ilog2()))
    }

    /// The rows in the set, in ascending order.
    pub fn ones(&self) -> impl Iterator<Item = u64> + '_ {
        (0..).step_by(64).zip(&self.words).flat_map(|(first, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                (left != 0).then(|| {
                    left &= left - 1;
                    first + u64::from(bit)
                })
            })
        })
    }

    /// The set as chunks of 63 rows, the first in bit 0.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn to_chunks(&self) -> Vec<u64> {
        let chunk = |at: u64| {
            let first = at * u64::from(CHUNK_ROWS);
            let (word, shift) = ((first / 64) as usize, first % 64);
            let low = self.words[word] >> shift;
            let high = self.words.get(word + 1).filter(|_| shift > 1).map_or(0, |next| next << (64 - shift));
            (low | high) & (u64::MAX >> 1)
        };
        (0..chunks_for(self.rows)).map(chunk).collect()
    }

    /// The set in compressed form, as in bitmap indexes.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn to_wah(&self) -> WahBuf {
        WahBuf::from_chunks(self.to_chunks(), self.rows)
    }

    fn zip(&mut self, other: &Self, op: impl Fn(u64, u64) -> u64) {
        assert_eq!(self.rows, other.rows, "sets of other rows");
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word = op(*word, *other));
    }
}

impl FromIterator<bool> for RowSet {
    /// The set of the rows whose values are true. There are as many rows as values.
    fn from_iter<I: IntoIterator<Item = bool>>(values: I) -> Self {
        let mut set = Self::default();
        for value in values {
            if set.rows.is_multiple_of(64) {
                set.words.push(0);
            }
            if let Some(last) = set.words.last_mut() {
                *last |= u64::from(value) << (set.rows % 64);
            }
            set.rows += 1;
        }
        set
    }
}

impl Not for RowSet {
    type Output = Self;

    /// The rows that are not in the set.
    fn not(mut self) -> Self {
        self.words.iter_mut().for_each(|word| *word = !*word);
        Self::from_words(self.words, self.rows)
    }
}

impl BitAndAssign<&Self> for RowSet {
    /// Keeps the rows that are in both sets.
    ///
    /// # Panics
    /// If the sets have different numbers of rows.
    fn bitand_assign(&mut self, other: &Self) {
        self.zip(other, |a, b| a & b);
    }
}

impl BitOrAssign<&Self> for RowSet {
    /// Adds the rows of another set.
    ///
    /// # Panics
    /// If the sets have different numbers of rows.
    fn bitor_assign(&mut self, other: &Self) {
        self.zip(other, |a, b| a | b);
    }
}

impl SubAssign<&Self> for RowSet {
    /// Removes the rows of another set.
    ///
    /// # Panics
    /// If the sets have different numbers of rows.
    fn sub_assign(&mut self, other: &Self) {
        self.zip(other, |a, b| a & !b);
    }
}

#[cfg(test)]
mod tests {
    use super::RowSet;

    /// Sets of 0 to 200 rows, so that the last word has any number of rows, beside a list of booleans.
    #[test]
    fn sets_are_as_lists_of_booleans() {
        for rows in 0..=200 {
            let list: Vec<bool> = (0..rows).map(|row| row % 3 == 0 || row % 7 == 2).collect();
            let set: RowSet = list.iter().copied().collect();
            let mut made = RowSet::none(rows);
            (0..rows).filter(|row| list[*row as usize]).for_each(|row| made.insert(row));
            made.insert(rows);
            assert_eq!(made, set, "{rows}");
            assert_eq!(!set.clone(), list.iter().map(|is| !is).collect(), "{rows}");
            assert_eq!(!RowSet::none(rows), RowSet::all(rows), "{rows}");
            assert_eq!(set.last(), set.ones().last(), "{rows}");
            for row in [0, 1, 62, 63, 64, 65, 127, 128, rows, rows + 1, u64::MAX] {
                let mut cut = set.clone();
                cut.truncate(row);
                let want = list.iter().zip(0..).map(|(is, at)| *is && at < row).collect();
                assert_eq!(cut, want, "{rows} rows, cut at {row}");
            }
        }
    }
}
