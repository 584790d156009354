//! The kinds of values, as a schema distinguishes them.

use std::fmt;

use warpath_core::time::{date, is_exact_instant};

/// The kind of a value.
///
/// Integers are numbers without a fraction and an exponent, as in typed columns. All other numbers are
/// floats: `1.0` and `1e3` too.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::JsonType;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"at\":\"2026-01-31\",\"n\":1.0}").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let members = schema.tree.root().members();
/// // A number with a fraction is a float, also if the fraction is zero.
/// assert_eq!((members[0].kinds(), members[1].kinds()), (vec![JsonType::Date], vec![JsonType::Float64]));
/// assert_eq!(JsonType::Date.name(), "date");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum JsonType {
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
    /// A string, at a path whose strings are all instants of RFC 3339 ([`is_exact_instant`]).
    Time,
    /// A string, at a path whose strings are all dates: the full-date of RFC 3339.
    Date,
}

impl JsonType {
    /// The number of kinds.
    pub const COUNT: usize = 10;

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
        Self::Time,
        Self::Date,
    ];

    /// The number of kinds that a value has on its own: all but [`Time`](Self::Time) and
    /// [`Date`](Self::Date), which are kinds of all strings of a path together.
    pub(super) const OF_VALUES: usize = 8;

    /// The name of the kind in every output: `null`, `bool`, `int64`, `bigint`, `float64`, `string`,
    /// `object`, `array`, `time` or `date`.
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
            Self::Time => "time",
            Self::Date => "date",
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

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The common form of some strings: a semilattice with [`None`](Self::None) as its least element, and
/// [`Any`](Self::Any) as its greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum StringForm {
    /// There are no strings.
    #[default]
    None,
    /// All are instants.
    Time,
    /// All are dates.
    Date,
    /// Some are neither, or there are instants and dates.
    Any,
}

impl StringForm {
    /// The form of one string.
    pub fn of(text: &[u8]) -> Self {
        if text.len() == 10 {
            let is_date = std::str::from_utf8(text).is_ok_and(|text| date(text).is_some());
            return if is_date { Self::Date } else { Self::Any };
        }
        if is_exact_instant(text) { Self::Time } else { Self::Any }
    }

    /// The form of the strings of both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (form, Self::None) | (Self::None, form) => form,
            (one, other) if one == other => one,
            _ => Self::Any,
        }
    }

    /// The kind of the strings.
    pub fn kind(self) -> JsonType {
        match self {
            Self::Time => JsonType::Time,
            Self::Date => JsonType::Date,
            Self::None | Self::Any => JsonType::String,
        }
    }
}
