//! The types of columns for the values that paths select.

mod parse;

use std::fmt::{self, Display, Formatter};

use warpath_core::json;
use warpath_shared::column::Kind;

pub use parse::TypeError;

/// The greatest number of digits of a decimal column.
pub const MAX_PRECISION: u8 = 38;

/// The type of a column's values.
///
/// [`FromStr`](std::str::FromStr) reads a type as it is written in the argument of a column. [`Display`]
/// writes it. The names of a struct's fields may be written as JSON strings:
///
/// ```text
/// type   = "bool" | "int64" | "float64" | "string" | "text" | "json" | "time" | "date"
///        | "decimal(" precision [ "," scale ] ")"
///        | "int64(string)" | "float64(string)" | "decimal(" precision "," scale ",string)"
///        | "list<" type ">"
///        | "struct<" name ":" type { "," name ":" type } ">"
/// ```
///
/// ```
/// use warpath::columns::ColumnType;
///
/// let price = "decimal(12,2)".parse::<ColumnType>();
/// assert_eq!(price, Ok(ColumnType::Decimal { precision: 12, scale: 2 }));
/// assert_eq!(ColumnType::List(Box::new(ColumnType::Int64)).to_string(), "list<int64>");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnType {
    /// `true` and `false`.
    Boolean,
    /// Integers without fraction and exponent, within the range.
    Int64,
    /// Numbers, rounded to the nearest `f64`. Numbers beyond the range are refused.
    Float64,
    /// Numbers that have at most `precision` digits, `scale` of them after the point. Numbers with other
    /// digits that are not zero are refused: nothing is rounded.
    Decimal {
        /// The number of digits, from 1 to [`MAX_PRECISION`].
        precision: u8,
        /// The number of digits after the point, at most `precision`.
        scale: u8,
    },
    /// Numbers of an [`Int64`](Self::Int64), a [`Float64`](Self::Float64) or a [`Decimal`](Self::Decimal),
    /// also within strings: `"12"` is 12. OTLP, Protocol Buffers and MongoDB write integers of 64 bits so.
    Quoted(Box<ColumnType>),
    /// Strings, unescaped: a surrogate without its partner becomes U+FFFD. Strings with an escape that JSON
    /// does not have, or with bytes that are not UTF-8, are null.
    Utf8,
    /// Any value but `null`: strings as in [`Utf8`](Self::Utf8), and the JSON text of other values.
    Text,
    /// The JSON text of any value but `null`, unchanged. A value with bytes that are not UTF-8 is null.
    #[default]
    Json,
    /// Instants, to the nanosecond, from the year 1677 to 2262: strings as in RFC 3339, or of the program's
    /// format ([`Program::with_time_format`](crate::program::Program::with_time_format)).
    Time,
    /// Strings that are dates: `YYYY-MM-DD` (RFC 3339, full-date).
    Date,
    /// Arrays whose elements have one type.
    List(Box<ColumnType>),
    /// Objects, of which these members are taken.
    Struct(Vec<StructField>),
}

/// A member of an object, in a column of structs.
///
/// ```
/// use warpath::columns::{ColumnType, StructField};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let user: ColumnType = "struct<id:int64,name:string>".parse()?;
/// let ColumnType::Struct(fields) = &user else { panic!("no struct") };
/// assert_eq!(fields[0], StructField { name: "id".into(), values: ColumnType::Int64 });
/// assert_eq!(user.to_string(), "struct<id:int64,name:string>");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructField {
    /// The name of the member.
    pub name: String,
    /// The type of its value.
    pub values: ColumnType,
}

impl ColumnType {
    /// Returns the rule by which devices make a value of the column. `None` if only the host can.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Boolean => Kind::Boolean,
            Self::Int64 => Kind::Int64,
            Self::Float64 => Kind::Float64,
            Self::Utf8 => Kind::Utf8,
            Self::Json => Kind::Json,
            _ => return None,
        })
    }

    /// Returns true for [`Time`](Self::Time), and for lists and structs that hold it.
    #[must_use]
    pub fn has_time(&self) -> bool {
        match self {
            Self::Time => true,
            Self::List(items) => items.has_time(),
            Self::Struct(fields) => fields.iter().any(|field| field.values.has_time()),
            _ => false,
        }
    }

    /// The text of a number: a value itself, or for a [`Quoted`](Self::Quoted) the text within a string.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn number_text<'a>(&self, value: &'a [u8]) -> &'a [u8] {
        match (self, value) {
            (Self::Quoted(_), [b'"', number @ .., b'"']) => number,
            _ => value,
        }
    }

    /// Returns true for lists and structs.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::List(_) | Self::Struct(_))
    }
}

impl Display for ColumnType {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Boolean => "bool",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
            Self::Utf8 => "string",
            Self::Text => "text",
            Self::Json => "json",
            Self::Time => "time",
            Self::Date => "date",
            Self::Decimal { precision, scale } => return write!(out, "decimal({precision},{scale})"),
            Self::Quoted(number) => {
                return match &**number {
                    Self::Decimal { precision, scale } => write!(out, "decimal({precision},{scale},string)"),
                    number => write!(out, "{number}(string)"),
                };
            }
            Self::List(items) => return write!(out, "list<{items}>"),
            Self::Struct(fields) => {
                out.write_str("struct<")?;
                for (i, StructField { name, values }) in fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    match parse::is_plain_name(name) {
                        true => write!(out, "{comma}{name}:{values}")?,
                        false => write!(out, "{comma}{}:{values}", json::encode(name))?,
                    }
                }
                return out.write_str(">");
            }
        };
        out.write_str(name)
    }
}
