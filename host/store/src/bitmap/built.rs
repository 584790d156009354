//! What building gives: columns with their bitmaps and their values, in memory.

use super::column::{Column, Holds};
use super::layout::Form;
use warpath_core::stamp::Stamp;
use warpath_core::wah::WahBuf;

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
    /// Bin by bin, what the values of its rows are.
    pub values: Vec<StoredValues>,
}

/// The values of a bin's rows, in the order of the rows: what is asked where bins alone do not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredValues {
    /// Nothing: the bin has no values, or its least is its greatest.
    Same,
    /// [How far](super::column::Scalar::distance) each is from the bin's least value, where that is so for 255 at most.
    U8(Vec<u8>),
    /// Likewise, up to 2¹⁶ - 1.
    U16(Vec<u16>),
    /// Likewise, up to 2³² - 1.
    U32(Vec<u32>),
    /// Likewise, farther.
    U64(Vec<u64>),
    /// Of [`Kind::Text`](super::column::Kind::Text).
    Text {
        /// Where each text begins in `bytes`, and behind the last, where that ends: one more than there are rows, from 0 on.
        offsets: Vec<u64>,
        /// The texts, one behind the other.
        bytes: Vec<u8>,
    },
}

impl StoredValues {
    /// Of no row yet, of a bin that holds such.
    #[must_use]
    pub fn of(holds: &Holds) -> Self {
        match Form::of(holds) {
            Form::Same => Self::Same,
            Form::U8 => Self::U8(Vec::new()),
            Form::U16 => Self::U16(Vec::new()),
            Form::U32 => Self::U32(Vec::new()),
            Form::U64 => Self::U64(Vec::new()),
            Form::Text => Self::Text { offsets: vec![0], bytes: Vec::new() },
        }
    }

    /// Room for so many rows more.
    pub fn reserve(&mut self, rows: usize) {
        match self {
            Self::Same => {}
            Self::U8(values) => values.reserve(rows),
            Self::U16(values) => values.reserve(rows),
            Self::U32(values) => values.reserve(rows),
            Self::U64(values) => values.reserve(rows),
            Self::Text { offsets, .. } => offsets.reserve(rows),
        }
    }

    /// The next row's value, by how far it is from the least: no farther than the greatest. Nothing is done where nothing is stored of numbers.
    #[inline]
    pub fn push_distance(&mut self, distance: u64) {
        match self {
            Self::U8(values) => values.push(distance as u8),
            Self::U16(values) => values.push(distance as u16),
            Self::U32(values) => values.push(distance as u32),
            Self::U64(values) => values.push(distance),
            Self::Same | Self::Text { .. } => {}
        }
    }

    /// The next row's text. Nothing is done where none is stored.
    #[inline]
    pub fn push_text(&mut self, text: &[u8]) {
        if let Self::Text { offsets, bytes } = self {
            bytes.extend_from_slice(text);
            offsets.push(bytes.len() as u64);
        }
    }

    /// The values of the rows behind these, of the same bin.
    pub fn append(&mut self, behind: &Self) {
        match (self, behind) {
            (Self::U8(values), Self::U8(behind)) => values.extend_from_slice(behind),
            (Self::U16(values), Self::U16(behind)) => values.extend_from_slice(behind),
            (Self::U32(values), Self::U32(behind)) => values.extend_from_slice(behind),
            (Self::U64(values), Self::U64(behind)) => values.extend_from_slice(behind),
            (Self::Text { offsets, bytes }, Self::Text { offsets: more, bytes: behind }) => {
                let before = bytes.len() as u64;
                offsets.extend(more.iter().skip(1).map(|offset| before + offset));
                bytes.extend_from_slice(behind);
            }
            _ => {}
        }
    }
}
