//! The types of columns for the values that paths select.

use warpath_shared::column::Kind;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// `true` and `false`.
    Boolean,
    /// Integers without fraction and exponent, within the range.
    Int64,
    /// Numbers, rounded to the nearest `f64` as by `str::parse`; those beyond the range are infinite.
    Float64,
    /// Strings, unescaped: a surrogate without its partner becomes U+FFFD. Strings with an escape that JSON
    /// does not have, or with bytes that are not UTF-8, are null.
    Utf8,
    /// The JSON text of any value but `null`, unchanged. A value with bytes that are not UTF-8 is null.
    #[default]
    Json,
}

impl ColumnType {
    /// Returns the rule by which a value becomes one of the column.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Boolean => Kind::Boolean,
            Self::Int64 => Kind::Int64,
            Self::Float64 => Kind::Float64,
            Self::Utf8 => Kind::Utf8,
            Self::Json => Kind::Json,
        }
    }
}
