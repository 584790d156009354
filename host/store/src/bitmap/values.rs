//! The stored values of a bin, as they are read.

use super::column::{Bin, Holds, Scalar};

/// The stored values of some rows of a bin, in the order of its rows ([`BitmapIndex::values`](super::BitmapIndex::values)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values<'a> {
    /// Nothing is stored: the bin has no values, or its least is its greatest.
    Same,
    /// [How far](Scalar::distance) each is from the bin's least value.
    U8(&'a [u8]),
    /// Likewise.
    U16(&'a [u16]),
    /// Likewise.
    U32(&'a [u32]),
    /// Likewise.
    U64(&'a [u64]),
    /// Texts.
    Text(Texts<'a>),
}

/// Texts, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts<'a> {
    /// Where each row's text begins in `bytes`, and behind the last, where that ends. They grow, and stay within `bytes`.
    pub offsets: &'a [u64],
    /// The texts of all rows of the bin, one behind the other.
    pub bytes: &'a [u8],
}

impl<'a> Texts<'a> {
    /// The text of a row, counted from the first one here.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        let (start, end) = (*self.offsets.get(row)?, *self.offsets.get(row + 1)?);
        self.bytes.get(start as usize..end as usize)
    }
}

impl Values<'_> {
    /// How many rows they are of; `None` where nothing is stored.
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

    /// How far the value of a row, counted from the first one here, is from the least of the bin; `None` for texts, and where there is no
    /// such row.
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

    /// The value of a row, counted from the first one here, of the bin whose values these are; `None` where the bin has no values, where
    /// there is no such row, and for what is no value of the bin.
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
