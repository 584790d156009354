//! What building gives: columns with their bitmaps and their values, in memory.

use super::{Stamp, column::Column, wah::WahBuf};

/// A bitmap index as it was built, to be stored ([`BitmapIndex::from_built`](super::BitmapIndex::from_built)).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Built {
    /// Rows: lines of the input, blank and malformed ones too, or rows of a table.
    pub rows: u64,
    /// Which rows are records; `None` for all.
    pub records: Option<WahBuf>,
    /// The columns.
    pub columns: Vec<BuiltColumn>,
    /// Where every 64th line begins in the input, in bytes, from line 0 on; behind these, where the last line ends. Empty where rows are no
    /// lines of a plain file.
    pub lines: Vec<u64>,
    /// The file that it was made of, if it was made of one.
    pub stamp: Option<Stamp>,
}

/// A column of an index, as it was built.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltColumn {
    /// What it is.
    pub column: Column,
    /// Bin by bin, which rows it has. Each row is in exactly one bin.
    pub bitmaps: Vec<WahBuf>,
    /// What the rows' values are.
    pub values: StoredValues,
}

/// The values of a column, row by row: what is asked where bins alone do not tell. A row without a value has 0, or an empty text; its bin says
/// so.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StoredValues {
    /// The number of the bin, where a bin tells the value: the least of each bin of values is its greatest.
    Bins(BinNumbers),
    /// Of [`Kind::Int`](super::column::Kind::Int).
    Int(Vec<i64>),
    /// Of [`Kind::Float`](super::column::Kind::Float).
    Float(Vec<f64>),
    /// Of [`Kind::Time`](super::column::Kind::Time).
    Time(Vec<i64>),
    /// Of [`Kind::Text`](super::column::Kind::Text).
    Text {
        /// Where each row's text begins in `bytes`, and behind the last, where that ends: one more than there are rows, from 0 on.
        offsets: Vec<u64>,
        /// The texts, one behind the other.
        bytes: Vec<u8>,
    },
}

/// Numbers of bins, row by row, in the narrowest type that holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinNumbers {
    /// Of up to 2⁸ bins.
    U8(Vec<u8>),
    /// Of up to 2¹⁶.
    U16(Vec<u16>),
    /// Of more.
    U32(Vec<u32>),
}
