//! The kinds of values, as a schema distinguishes them.

use std::fmt;

/// The kind of a value.
///
/// Integers are numbers without a fraction and an exponent, as in typed columns. All other numbers are
/// floats: `1.0` and `1e3` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` and `false`.
    Bool,
    /// An integer that an `i64` holds.
    Int64,
    /// An integer beyond the range of `i64`.
    BigInt,
    /// A number with a fraction or an exponent.
    Float64,
    /// A string.
    String,
    /// An object.
    Object,
    /// An array.
    Array,
}

impl Kind {
    /// The number of kinds.
    pub const COUNT: usize = 8;

    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Null,
        Self::Bool,
        Self::Int64,
        Self::BigInt,
        Self::Float64,
        Self::String,
        Self::Object,
        Self::Array,
    ];

    /// The name of the kind in every output: `null`, `bool`, `int64`, `bigint`, `float64`, `string`, `object`
    /// or `array`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int64 => "int64",
            Self::BigInt => "bigint",
            Self::Float64 => "float64",
            Self::String => "string",
            Self::Object => "object",
            Self::Array => "array",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// True for the kinds of numbers.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, Self::Int64 | Self::BigInt | Self::Float64)
    }

    /// True for objects and arrays.
    #[must_use]
    pub fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
