//! The stored values of a bin, for readers.

use super::column::{Bin, Holds, Scalar};

/// The stored values of some rows of a bin, in the order of its rows
/// ([`BitmapIndex::values`](super::BitmapIndex::values)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values<'a> {
    /// No stored values: the bin has none, or its least value is its greatest.
    Same,
    /// Each value's [distance](Scalar::distance) from the bin's least value, in one byte.
    U8(&'a [u8]),
    /// Distances in two bytes.
    U16(&'a [u16]),
    /// Distances in four bytes.
    U32(&'a [u32]),
    /// Distances in eight bytes.
    U64(&'a [u64]),
    /// Texts.
    Text(Texts<'a>),
}

/// Texts, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts<'a> {
    /// The start of each row's text in `bytes`, and last the end of the last text. The offsets do not
    /// decrease, and stay within `bytes`.
    pub offsets: &'a [u64],
    /// The texts of all rows of the bin, without separators.
    pub bytes: &'a [u8],
}

impl<'a> Texts<'a> {
    /// Returns the text of a row, counted from the first row here.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        let (start, end) = (*self.offsets.get(row)?, *self.offsets.get(row + 1)?);
        self.bytes.get(start as usize..end as usize)
    }
}

impl Values<'_> {
    /// Returns the number of rows; `None` where nothing is stored.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        Some(match self {
            Self::Same => return None,
            Self::U8(values) => values.len(),
            Self::U16(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::Text(texts) => texts.offsets.len().saturating_sub(1),
        })
    }

    /// Returns the distance of a row's value from the bin's least value. `row` counts from the first row
    /// here. `None` for texts, and where there is no such row.
    #[must_use]
    pub fn distance(&self, row: usize) -> Option<u64> {
        match self {
            Self::Same => Some(0),
            Self::U8(values) => values.get(row).copied().map(u64::from),
            Self::U16(values) => values.get(row).copied().map(u64::from),
            Self::U32(values) => values.get(row).copied().map(u64::from),
            Self::U64(values) => values.get(row).copied(),
            Self::Text(_) => None,
        }
    }

    /// Returns the value of a row, counted from the first row here. `bin` is the bin of these values. `None`
    /// where the bin has no values, where there is no such row, and for a stored value outside the bin.
    #[must_use]
    pub fn scalar(&self, row: usize, bin: &Bin) -> Option<Scalar> {
        let Holds::Values { least, greatest } = &bin.holds else { return None };
        let value = match self {
            Self::Same => least.clone(),
            Self::Text(texts) => Scalar::Text(std::str::from_utf8(texts.get(row)?).ok()?.into()),
            _ => least.at_distance(self.distance(row)?)?,
        };
        (*least <= value && value <= *greatest).then_some(value)
    }
}
