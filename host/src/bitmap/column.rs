//! Columns, and what is in their bins.

use std::cmp::Ordering;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Integers of 64 bits, signed: exact beyond 2⁵³.
    Int,
    /// Doubles, by their order as numbers; -0 is 0.
    Float,
    /// Strings, unescaped, in the order of their UTF-8 bytes.
    Text,
    /// Instants (RFC 3339), in nanoseconds since 1970-01-01T00:00:00Z.
    Time,
    /// `false` and `true`.
    Bool,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// Of [`Kind::Int`].
    Int(i64),
    /// Of [`Kind::Float`]; never NaN.
    Float(f64),
    /// Of [`Kind::Text`].
    Text(Box<str>),
    /// Of [`Kind::Time`].
    Time(i64),
    /// Of [`Kind::Bool`].
    Bool(bool),
}

impl Scalar {
    /// What kind of column it is of.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Int(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Text(_) => Kind::Text,
            Self::Time(_) => Kind::Time,
            Self::Bool(_) => Kind::Bool,
        }
    }
}

impl PartialOrd for Scalar {
    /// Within a kind; `None` between kinds.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) | (Self::Time(a), Self::Time(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Text(a), Self::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// Which rows a bin has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Holds {
    /// Those in which the path finds nothing, and lines that are no record.
    Missing,
    /// Those in which it finds `null`.
    Null,
    /// Those with a value of another kind than the column's, or one that cannot be told exactly: an object, or an instant beyond what 64 bits hold.
    Other,
    /// Those with a NaN, which only columns of Arrow's have. No comparison is true of it.
    NaN,
    /// Those with a value from `least` to `greatest`; both are there.
    Values {
        /// The least value of the bin's rows.
        least: Scalar,
        /// The greatest.
        greatest: Scalar,
    },
}

/// A bin: rows with values of a kind, of which each column's rows are in exactly one.
#[derive(Clone, Debug, PartialEq)]
pub struct Bin {
    /// Which rows it has.
    pub holds: Holds,
    /// How many.
    pub rows: u64,
}

/// A column, as it is described.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, which expressions use.
    pub name: String,
    /// Where its values are from: a JSONPath in canonical form, or the name of a column of a table.
    pub source: String,
    /// What its values are.
    pub kind: Kind,
    /// How they were cut: `distinct`, `lloyd:25`; never `auto`, but what that came to.
    pub binning: String,
    /// Its bins, without empty ones: values first, in order and without overlap, then the others.
    pub bins: Vec<Bin>,
}
