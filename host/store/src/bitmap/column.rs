//! Columns, and what is in their bins.

use std::cmp::Ordering;

use super::bins::{Value, float, scalar};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// Where it is in the order of its kind, as an unsigned number; `None` for texts. Doubles that follow one another have numbers that do.
    pub fn key(&self) -> Option<u64> {
        match self {
            Self::Int(value) | Self::Time(value) => Some(value.key()),
            Self::Float(value) => Some((value + 0.0).key()),
            Self::Bool(value) => Some(value.key()),
            Self::Text(_) => None,
        }
    }

    /// The value of a kind and a key; `None` for texts, and for keys of no value of the kind: a NaN, or 2 for a boolean.
    pub(super) fn of_key(kind: Kind, key: u64) -> Option<Self> {
        let is_value = match kind {
            Kind::Int | Kind::Time => true,
            Kind::Float => !float(key).is_nan(),
            Kind::Bool => key < 2,
            Kind::Text => false,
        };
        is_value.then(|| scalar(kind, key))
    }

    /// How far it is from one that is not greater: what is to be added to that, or, of doubles, how many steps from one to the next, where -0 is one of its own;
    /// `None` for texts, and between kinds.
    #[must_use]
    pub fn distance(&self, from: &Self) -> Option<u64> {
        if self.kind() != from.kind() {
            return None;
        }
        Some(self.key()?.wrapping_sub(from.key()?))
    }

    /// The value that is [so far](Self::distance) from it; `None` where there is none.
    #[must_use]
    pub fn at_distance(&self, distance: u64) -> Option<Self> {
        Self::of_key(self.kind(), self.key()?.checked_add(distance)?)
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
        assert_eq!(floats[8].at_distance(1), None, "a NaN is behind the last");
        assert_eq!((bools[1].at_distance(1), ints[4].at_distance(1)), (None, None));
        assert_eq!(Scalar::Text("b".into()).distance(&Scalar::Text("a".into())), None);
        assert_eq!(ints[1].distance(&floats[1]), None);
    }
}
