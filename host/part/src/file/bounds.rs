//! The least and the greatest value of a leaf, from the statistics of its chunks.

use std::cmp::Ordering;

use parquet::data_type::AsBytes;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;

/// A value of a leaf.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Bound {
    /// A value of a boolean leaf.
    Boolean(bool),
    /// A value of a leaf of integers.
    Int(i64),
    /// A value of a leaf of type double.
    Double(f64),
    /// A value of a leaf of strings. Strings compare by their bytes.
    Bytes(Vec<u8>),
}

impl Bound {
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(left), Self::Boolean(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Double(left), Self::Double(right)) => left.partial_cmp(right),
            (Self::Bytes(left), Self::Bytes(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }
}

/// Bounds of the values of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// No value is less.
    pub least: Bound,
    /// No value is greater.
    pub greatest: Bound,
    /// False if a bound is a cut string and not itself a value.
    pub is_exact: bool,
}

impl Bounds {
    /// The bounds of a chunk, if it has values and statistics.
    pub(super) fn of(chunk: &ColumnChunkMetaData) -> Option<Self> {
        let statistics = chunk.statistics()?;
        let (least, greatest) = match statistics {
            Statistics::Boolean(all) => (Bound::Boolean(*all.min_opt()?), Bound::Boolean(*all.max_opt()?)),
            Statistics::Int64(all) => (Bound::Int(*all.min_opt()?), Bound::Int(*all.max_opt()?)),
            Statistics::Double(all) => (Bound::Double(*all.min_opt()?), Bound::Double(*all.max_opt()?)),
            Statistics::ByteArray(all) => {
                let bytes = |value: &parquet::data_type::ByteArray| Bound::Bytes(value.as_bytes().to_vec());
                (bytes(all.min_opt()?), bytes(all.max_opt()?))
            }
            _ => return None,
        };
        Some(Self { least, greatest, is_exact: statistics.min_is_exact() && statistics.max_is_exact() })
    }

    /// The bounds of two sets of values. `None` if they have different types.
    pub(super) fn and(self, other: Self) -> Option<Self> {
        let is_exact = self.is_exact && other.is_exact;
        let least = match other.least.compare(&self.least)? {
            Ordering::Less => other.least,
            _ => self.least,
        };
        let greatest = match other.greatest.compare(&self.greatest)? {
            Ordering::Greater => other.greatest,
            _ => self.greatest,
        };
        Some(Self { least, greatest, is_exact })
    }
}
