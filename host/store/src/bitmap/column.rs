//! Columns, and the contents of their bins.

use std::cmp::Ordering;

use super::bins::{KeyedValue, float, scalar};

/// The kind of a column's values.
///
/// ```
/// use warpath::bitmap::{ColumnSpec, Kind};
///
/// # fn main() -> Result<(), warpath::Error> {
/// // Without a kind, the values of `$.at` would be texts unless all are instants.
/// let at = ColumnSpec::new("at", "$.at").with_kind(Kind::Time);
/// assert_eq!(at.kind, Some("time".parse()?));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Signed 64-bit integers: exact beyond 2⁵³.
    Int,
    /// Doubles, in numeric order; -0 is 0.
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
pub enum Scalar {
    /// A value of [`Kind::Int`].
    Int(i64),
    /// A value of [`Kind::Float`]; never NaN.
    Float(f64),
    /// A value of [`Kind::Text`].
    Text(Box<str>),
    /// A value of [`Kind::Time`].
    Time(i64),
    /// A value of [`Kind::Bool`].
    Bool(bool),
}

impl Scalar {
    /// Returns the kind of column to which the value belongs.
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

    /// Returns the value's position in the order of its kind, as an unsigned number; `None` for texts.
    /// Adjacent doubles have adjacent numbers.
    pub fn key(&self) -> Option<u64> {
        match self {
            Self::Int(value) | Self::Time(value) => Some(value.key()),
            Self::Float(value) => Some((value + 0.0).key()),
            Self::Bool(value) => Some(value.key()),
            Self::Text(_) => None,
        }
    }

    /// Returns the value of a kind and a key. `None` for texts, and for keys without a value of the kind: a
    /// NaN, or 2 for a boolean.
    pub(super) fn of_key(kind: Kind, key: u64) -> Option<Self> {
        let is_value = match kind {
            Kind::Int | Kind::Time => true,
            Kind::Float => !float(key).is_nan(),
            Kind::Bool => key < 2,
            Kind::Text => false,
        };
        is_value.then(|| scalar(kind, key))
    }

    /// Returns the distance from `from`, which is not greater: the difference of the two values. For doubles,
    /// the distance counts steps from one double to the next, where -0 is a double of its own. `None` for
    /// texts, and between kinds.
    #[must_use]
    pub fn distance(&self, from: &Self) -> Option<u64> {
        if self.kind() != from.kind() {
            return None;
        }
        Some(self.key()?.wrapping_sub(from.key()?))
    }

    /// Returns the value at this [distance](Self::distance); `None` where there is none.
    #[must_use]
    pub fn at_distance(&self, distance: u64) -> Option<Self> {
        Self::of_key(self.kind(), self.key()?.checked_add(distance)?)
    }
}

impl PartialOrd for Scalar {
    /// Compares values of one kind; `None` between kinds.
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

/// The contents of a bin's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// Rows in which the path finds no value, and lines that are not records.
    Missing,
    /// Rows in which the path finds `null`.
    Null,
    /// Rows with a value of another kind than the column's, such as an object. Also rows whose value has no
    /// exact representation: an instant outside 64 bits.
    Other,
    /// Rows with a NaN, which occurs only in Arrow columns. Every comparison with a NaN is false.
    NaN,
    /// Rows with a value from `least` to `greatest`; both values occur.
    Values {
        /// The least value of the bin's rows.
        least: Scalar,
        /// The greatest value of the bin's rows.
        greatest: Scalar,
    },
}

/// A bin: the rows of one range of values, or of one reason for no value. Each row is in exactly one bin of a
/// column.
#[derive(Clone, Debug, PartialEq)]
pub struct Bin {
    /// The contents of the bin's rows.
    pub holds: Holds,
    /// Number of rows.
    pub rows: u64,
}

/// A column's description.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The column's name in expressions.
    pub name: String,
    /// The source of the values: a JSONPath in canonical form, or the name of a table's column.
    pub source: String,
    /// The kind of the values.
    pub kind: Kind,
    /// The rule that cut the column: `distinct`, `lloyd:25`. Never `auto`, but the rule that `auto` chose.
    pub binning: String,
    /// The bins, without empty ones: first the bins of values, in order and without overlap, then the others.
    pub bins: Vec<Bin>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_far_apart_as_they_say() {
        let ints = [i64::MIN, -1, 0, 7, i64::MAX].map(Scalar::Int);
        let floats = [f64::NEG_INFINITY, f64::MIN, -1.5, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY]
            .map(Scalar::Float);
        let times = [i64::MIN, 0, i64::MAX].map(Scalar::Time);
        let bools = [false, true].map(Scalar::Bool);
        for all in [&ints[..], &floats, &times, &bools] {
            for (at, greater) in all.iter().enumerate() {
                for least in &all[..=at] {
                    let distance = greater.distance(least).unwrap();
                    assert_eq!(least.at_distance(distance).as_ref(), Some(greater));
                }
            }
        }
        assert_eq!(ints[4].distance(&ints[0]), Some(u64::MAX));
        assert_eq!(floats[5].distance(&floats[3]), Some(3), "-0 is between them");
        assert_eq!(Scalar::Float(-0.0).distance(&floats[4]), Some(0));
        assert_eq!(floats[8].at_distance(1), None, "a NaN is after the last");
        assert_eq!((bools[1].at_distance(1), ints[4].at_distance(1)), (None, None));
        assert_eq!(Scalar::Text("b".into()).distance(&Scalar::Text("a".into())), None);
        assert_eq!(ints[1].distance(&floats[1]), None);
    }
}
