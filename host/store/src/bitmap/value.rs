//! Values of columns: the kind of a column, and the rows that have a value of that kind.
//!
//! A column has one [`Kind`]. The caller may choose it. Otherwise the kind is that of most of the values. For
//! this count, all numbers have one kind: [`Kind::Int`] if each is an integer within 64 bits, otherwise
//! [`Kind::Float`]. On a tie, numbers precede strings, and strings precede booleans. A column without any
//! value is of [`Kind::Text`]. Instants are of [`Kind::Time`] in a table with that type, and in JSON where
//! the caller chooses it.
//!
//! | kind | values | other values, in [`Holds::Other`](super::column::Holds::Other) |
//! |---|---|---|
//! | [`Kind::Int`] | numbers that are integers within the range, however they are written: `1.0` and `1e3` are | other numbers, anything else |
//! | [`Kind::Float`] | numbers, as the nearest double: integers past 2⁵³ are rounded, and numbers beyond the range, such as `1e999`, are infinite | anything else |
//! | [`Kind::Text`] | strings, unescaped; a surrogate without its partner is U+FFFD | strings with an escape that JSON does not have, or with bytes that are not UTF-8; anything else |
//! | [`Kind::Time`] | strings that are [instants](instant) of RFC 3339 | other strings, anything else |
//! | [`Kind::Bool`] | `true` and `false` | anything else |
//!
//! NaNs occur only in tables. A column of [`Kind::Float`] has them in
//! [`Holds::NaN`](super::column::Holds::NaN).

pub mod number;
pub mod raw;
pub mod texts;

use std::fmt;
use std::str::FromStr;

use warpath_core::error::Error;

use super::column::Kind;

pub use number::ceiling;
pub use number::{Number, number};
pub use raw::{Raw, finish};
pub use texts::Texts;
pub use warpath_core::time::{instant, next_instant};
pub use warpath_lang::jsonpath::State;

/// A row's content in a column whose kind is not yet known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Missing,
    /// A null.
    Null,
    /// A value that no kind has.
    Other,
    /// An integer.
    Int(i64),
    /// A double, infinite or NaN too.
    Float(f64),
    /// A string.
    Text(&'a str),
    /// An instant, in nanoseconds since 1970-01-01T00:00:00Z.
    Time(i64),
    /// `false` or `true`.
    Bool(bool),
}

/// The values of a column, one per row, all of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnValues {
    states: Vec<State>,
    data: Data,
}

/// Values, row by row. A row without a value has 0, `false` or an empty text.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// 64-bit integers.
    Int(Vec<i64>),
    /// Doubles, without NaN and -0.
    Float(Vec<f64>),
    /// Texts.
    Text(Texts),
    /// Instants, in nanoseconds since 1970-01-01T00:00:00Z.
    Time(Vec<i64>),
    /// Booleans.
    Bool(Vec<bool>),
}

impl ColumnValues {
    /// Returns a column of integers, one per row.
    #[must_use]
    pub fn ints(values: Vec<i64>) -> Self {
        Self { states: vec![State::Value; values.len()], data: Data::Int(values) }
    }

    /// Returns a column of doubles, one per row; a NaN is not a value.
    #[must_use]
    pub fn floats(mut values: Vec<f64>) -> Self {
        let state = |value: &mut f64| {
            let (state, plain) = float(*value);
            *value = plain;
            state
        };
        Self { states: values.iter_mut().map(state).collect(), data: Data::Float(values) }
    }

    /// Returns a column of instants, in nanoseconds since 1970-01-01T00:00:00Z, one per row.
    #[must_use]
    pub fn times(values: Vec<i64>) -> Self {
        Self { states: vec![State::Value; values.len()], data: Data::Time(values) }
    }

    /// Returns a column of cells, one per row, of the given kind or of the kind that the [module](self)
    /// describes.
    #[must_use]
    pub fn of_cells<'a>(cells: impl IntoIterator<Item = Cell<'a>>, kind: Option<Kind>) -> Self {
        let mut raw = Raw::new(kind);
        cells.into_iter().for_each(|cell| raw.push(cell));
        finish(vec![raw], kind, Kind::Text)
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.states.len()
    }

    /// Returns the kind of the values.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.data {
            Data::Int(_) => Kind::Int,
            Data::Float(_) => Kind::Float,
            Data::Text(_) => Kind::Text,
            Data::Time(_) => Kind::Time,
            Data::Bool(_) => Kind::Bool,
        }
    }

    /// Returns the state of each row: a value, or the reason for none.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// Returns the state of each row, and the values.
    pub fn into_parts(self) -> (Vec<State>, Data) {
        (self.states, self.data)
    }
}

/// Converts a double for a column: NaN is not a value, and -0 is 0.
fn float(value: f64) -> (State, f64) {
    if value.is_nan() { (State::NaN, 0.0) } else { (State::Value, value + 0.0) }
}

impl Kind {
    /// All kinds.
    const ALL: [Self; 5] = [Self::Int, Self::Float, Self::Text, Self::Time, Self::Bool];

    /// Returns the kind's name: `int`, `float`, `text`, `time` or `bool`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Text => "text",
            Self::Time => "time",
            Self::Bool => "bool",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    /// # Errors
    /// [`Error::Usage`] for a text that is not the [name](Kind::name) of a kind.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Usage(format!("`{text}` is not a kind of column; the kinds are {known}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse::<Kind>().unwrap(), kind);
        }
        let said = "Int".parse::<Kind>().unwrap_err().to_string();
        assert_eq!(said, "`Int` is not a kind of column; the kinds are int, float, text, time, bool");
    }

    #[test]
    fn a_column_is_of_the_kind_of_most_of_its_values() {
        use Cell::{Bool, Float, Int, Missing, Null, Other, Text, Time};
        let kind = |cells: &[Cell<'_>]| ColumnValues::of_cells(cells.iter().copied(), None).kind();
        assert_eq!(kind(&[]), Kind::Text);
        assert_eq!(kind(&[Missing, Null, Other]), Kind::Text);
        assert_eq!(kind(&[Int(1), Int(-1), Null]), Kind::Int);
        assert_eq!(kind(&[Int(1), Float(0.5), Int(2)]), Kind::Float);
        assert_eq!(kind(&[Float(f64::NAN)]), Kind::Float);
        assert_eq!(kind(&[Text("a"), Int(2), Text("3")]), Kind::Text);
        assert_eq!(kind(&[Text("a"), Bool(true), Int(2)]), Kind::Int);
        assert_eq!(kind(&[Text("a"), Bool(true)]), Kind::Text);
        assert_eq!(kind(&[Bool(true), Missing]), Kind::Bool);
        assert_eq!(kind(&[Time(0), Missing]), Kind::Time);
    }
}
