//! The result of a build: columns with their bitmaps and values, in memory.

use warpath_core::wah::WahBuf;
use warpath_shared::wah::ops::Op;

use super::column::{Column, Holds};
use super::layout::Encoding;

/// A built bitmap index that is not stored yet ([`BitmapIndex::from_built`](super::BitmapIndex::from_built)
/// stores it).
///
/// ```
/// use warpath::Engine;
/// use warpath::bitmap::{BitmapIndex, ColumnSpec, build};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let log = folder.path().join("log.ndjson");
/// std::fs::write(&log, "{\"status\":200}\n{\"status\":503}\n")?;
/// let status = ColumnSpec::new("status", "$.status");
/// let (built, _) = build(&Engine::builder().build()?, &log, &[status])?;
/// assert_eq!((built.rows, built.columns.len()), (2, 1));
/// assert_eq!(BitmapIndex::from_built(built)?.rows(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Built {
    /// Number of rows: lines of the input, blank and malformed ones too, or documents.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub rows: u64,
    /// The rows that are records; `None` if all are.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub records: Option<WahBuf>,
    /// The columns.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub columns: Vec<BuiltColumn>,
}

impl Built {
    /// The columns of two indexes of the same rows. A row that one of them takes for no record is none.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn joined(mut self, more: Self) -> Self {
        self.columns.extend(more.columns);
        self.records = match (self.records, more.records) {
            (Some(one), Some(other)) => Some(WahBuf::of(Op::And, one.as_wah(), other.as_wah())),
            (one, other) => one.or(other),
        };
        self
    }
}

/// A built column of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltColumn {
    /// The column's description.
    pub column: Column,
    /// The rows of each bin. Each row is in exactly one bin.
    pub bitmaps: Vec<WahBuf>,
    /// The values of each bin's rows.
    pub values: Vec<StoredValues>,
}

/// The values of a bin's rows, in row order. A query reads them where the bins alone do not decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredValues {
    /// No stored values: the bin has none, or its least value is its greatest.
    Same,
    /// Each value's [distance](super::column::Scalar::distance) from the bin's least value, where no distance
    /// exceeds 255.
    U8(Vec<u8>),
    /// Distances of up to 2¹⁶ - 1.
    U16(Vec<u16>),
    /// Distances of up to 2³² - 1.
    U32(Vec<u32>),
    /// Greater distances.
    U64(Vec<u64>),
    /// Values of [`Kind::Text`](super::column::Kind::Text).
    Text {
        /// The start of each text in `bytes`, and last the end of the last text: one offset more than rows,
        /// the first is 0.
        offsets: Vec<u64>,
        /// The texts, without separators.
        bytes: Vec<u8>,
    },
}

impl StoredValues {
    /// Returns the empty values of a bin that holds `holds`.
    #[must_use]
    pub fn of(holds: &Holds) -> Self {
        match Encoding::of(holds) {
            Encoding::Same => Self::Same,
            Encoding::U8 => Self::U8(Vec::new()),
            Encoding::U16 => Self::U16(Vec::new()),
            Encoding::U32 => Self::U32(Vec::new()),
            Encoding::U64 => Self::U64(Vec::new()),
            Encoding::Text => Self::Text { offsets: vec![0], bytes: Vec::new() },
        }
    }

    /// Reserves memory for `rows` more rows.
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

    /// Appends the next row's value as its distance from the least value, which is at most the greatest
    /// value's distance. Does nothing where no numbers are stored.
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

    /// Appends the next row's text. Does nothing where no texts are stored.
    #[inline]
    pub fn push_text(&mut self, text: &[u8]) {
        if let Self::Text { offsets, bytes } = self {
            bytes.extend_from_slice(text);
            offsets.push(bytes.len() as u64);
        }
    }

    /// Appends the values of later rows of the same bin.
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
