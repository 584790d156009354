//! Values of columns: of which kind a column is, and which of its rows have a value of that kind.
//!
//! A column has one [`Kind`]. It is what was asked for, or else that of most of its values, where numbers are of one kind: of
//! [`Kind::Int`] if each is an integer that 64 bits hold, else of [`Kind::Float`]. Where there are as many of several kinds, numbers go before
//! strings, and these before booleans; a column without any value is of [`Kind::Text`]. Instants are [`Kind::Time`] in a table that says so,
//! and in JSON where it is asked for.
//!
//! | kind | what is a value of it | what is not, and goes to [`Holds::Other`](super::column::Holds::Other) |
//! |---|---|---|
//! | [`Kind::Int`] | numbers that are integers within the range, however they are written: `1.0` and `1e3` are | other numbers, anything else |
//! | [`Kind::Float`] | numbers, as the nearest double: integers past 2⁵³ are rounded, and numbers beyond the range, such as `1e999`, are infinite | anything else |
//! | [`Kind::Text`] | strings, unescaped; a surrogate without its partner is U+FFFD | strings with an escape that JSON does not have, or with bytes that are not UTF-8; anything else |
//! | [`Kind::Time`] | strings that are [instants](instant) of RFC 3339 | other strings, anything else |
//! | [`Kind::Bool`] | `true` and `false` | anything else |
//!
//! NaNs are values of tables alone, and go to [`Holds::NaN`](super::column::Holds::NaN) in a column of [`Kind::Float`].

pub mod number;
pub mod raw;
mod time;

use std::fmt;
use std::str::FromStr;

use super::column::Kind;
use warpath_core::error::Error;

pub use number::ceiling;
pub use number::{Number, number};
pub use raw::{Raw, finish};
pub use time::instant;
pub use time::next_instant;
pub use warpath_lang::expr::ast::State;

/// What a row has in a column, before it is known of which kind the column is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Missing,
    /// A null.
    Null,
    /// What is no value of any kind.
    Other,
    /// An integer.
    Int(i64),
    /// A double, infinite and NaN too.
    Float(f64),
    /// A string.
    Text(&'a str),
    /// An instant, in nanoseconds since 1970-01-01T00:00:00Z.
    Time(i64),
    /// `false` or `true`.
    Bool(bool),
}

/// The values of a column, a row each, of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnValues {
    states: Vec<State>,
    data: Data,
}

/// Values, row by row. A row without one has 0, `false` or an empty text.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// 64-bit integers.
    Int(Vec<i64>),
    /// No NaN, and no -0.
    Float(Vec<f64>),
    /// Texts.
    Text {
        /// Where each text begins in `bytes`, and where the last one ends.
        offsets: Vec<u64>,
        /// The bytes of all texts, in UTF-8.
        bytes: Vec<u8>,
    },
    /// Instants, in nanoseconds since 1970-01-01T00:00:00Z.
    Time(Vec<i64>),
    /// Booleans.
    Bool(Vec<bool>),
}

impl ColumnValues {
    /// Integers, a row each.
    #[must_use]
    pub fn ints(values: Vec<i64>) -> Self {
        Self { states: vec![State::Value; values.len()], data: Data::Int(values) }
    }

    /// Doubles, a row each; NaNs are none.
    #[must_use]
    pub fn floats(mut values: Vec<f64>) -> Self {
        let state = |value: &mut f64| {
            let (state, plain) = float(*value);
            *value = plain;
            state
        };
        Self { states: values.iter_mut().map(state).collect(), data: Data::Float(values) }
    }

    /// Instants, in nanoseconds since 1970-01-01T00:00:00Z, a row each.
    #[must_use]
    pub fn times(values: Vec<i64>) -> Self {
        Self { states: vec![State::Value; values.len()], data: Data::Time(values) }
    }

    /// Cells, a row each, of the kind that is asked for, or else of that which the [module](self) says.
    #[must_use]
    pub fn of_cells<'a>(cells: impl IntoIterator<Item = Cell<'a>>, kind: Option<Kind>) -> Self {
        let mut raw = Raw::new(kind);
        cells.into_iter().for_each(|cell| raw.push(cell));
        finish(vec![raw], kind, Kind::Text)
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.states.len()
    }

    /// What the values are.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.data {
            Data::Int(_) => Kind::Int,
            Data::Float(_) => Kind::Float,
            Data::Text { .. } => Kind::Text,
            Data::Time(_) => Kind::Time,
            Data::Bool(_) => Kind::Bool,
        }
    }

    /// Which rows have a value.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The state of each row, and the values.
    pub fn into_parts(self) -> (Vec<State>, Data) {
        (self.states, self.data)
    }
}

/// What a double is in a column: NaN is no value, and -0 is 0.
fn float(value: f64) -> (State, f64) {
    if value.is_nan() { (State::NaN, 0.0) } else { (State::Value, value + 0.0) }
}

impl Kind {
    /// All kinds.
    const ALL: [Self; 5] = [Self::Int, Self::Float, Self::Text, Self::Time, Self::Bool];

    /// Its name: `int`, `float`, `text`, `time` or `bool`.
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
    /// [`Error::Usage`] where it is not the [name](Kind::name) of a kind.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Usage(format!("`{text}` is no kind of column; there are {known}"))
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
        assert_eq!(said, "`Int` is no kind of column; there are int, float, text, time, bool");
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
