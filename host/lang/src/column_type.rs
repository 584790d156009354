//! The types of columns that paths are selected as.

use warpath_shared::column::Kind;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// `true` and `false`.
    Boolean,
    /// Integers without fraction and exponent, within the range.
    Int64,
    /// Numbers, to the nearest `f64`, as `str::parse` has it; those beyond the range are infinite.
    Float64,
    /// Strings, as they say: a surrogate without its partner becomes U+FFFD. Strings with an escape that JSON does not have,
    /// or with bytes that are not UTF-8, are null.
    Utf8,
    /// The JSON text of any value but `null`, as it stands. A value with bytes that are not UTF-8 is null.
    #[default]
    Json,
}

impl ColumnType {
    /// The rule by which a value becomes one of the column.
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
