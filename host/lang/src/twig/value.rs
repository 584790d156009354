//! Values of documents, and tests of them.

use std::cmp::Ordering;
use std::fmt;

use warpath_core::decimal::{self, Bytes};
use warpath_core::json::{self, Malformed};
use warpath_shared::ir::relation;
use warpath_shared::query::compare::{Decimal, Reader, relate_numbers, relate_strings};
use warpath_shared::view::View;

/// What a node of a document holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing to compare with: an object or array, or what nobody wants to know.
    None,
    /// The text of an XML element, without that of elements in it, or of an attribute: a number, if it is spelt like one.
    Text(&'a [u8]),
    /// A JSON string, as it is spelt between its quotes.
    String(&'a [u8]),
    /// A JSON number, as it is spelt.
    Number(&'a [u8]),
    /// A JSON literal.
    Bool(bool),
    /// The JSON literal `null`.
    Null,
}

/// What a value is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A number, as it is spelt: compared by its exact decimal value with JSON numbers, and with text that is one.
    Number(String),
    /// Compared by code points with JSON strings and with text.
    String(String),
    /// A JSON literal.
    Bool(bool),
    /// The JSON literal `null`.
    Null,
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Operator {
    /// Whether it holds for values that compare so.
    #[must_use]
    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }

    /// The operator that says the same with sides exchanged.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        })
    }
}

/// A test of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueTest {
    /// How they have to compare.
    pub operator: Operator,
    /// With what.
    pub literal: Literal,
}

impl ValueTest {
    /// Whether a value passes. Values of different kinds pass no test, not even `!=`.
    #[must_use]
    pub fn passes(&self, value: Value<'_>) -> bool {
        let ordering = match (value, &self.literal) {
            (Value::Number(number), Literal::Number(literal)) => numbers(number, literal.as_bytes()),
            (Value::Text(text), Literal::Number(literal)) => numbers(text.trim_ascii(), literal.as_bytes()),
            (Value::String(string), Literal::String(literal)) => Some(strings(string, literal.as_bytes())),
            (Value::Text(text), Literal::String(literal)) => Some(text.cmp(literal.as_bytes())),
            // What has no order is equal or not.
            (Value::Bool(value), Literal::Bool(literal)) if value != *literal => {
                return self.operator == Operator::NotEqual;
            }
            (Value::Bool(_), Literal::Bool(_)) | (Value::Null, Literal::Null) => Some(Ordering::Equal),
            _ => None,
        };
        ordering.is_some_and(|ordering| self.operator.holds(ordering))
    }
}

fn ordering(related: u32) -> Ordering {
    match related {
        relation::LESS => Ordering::Less,
        relation::GREATER => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// What a JSON string says, as it is spelt between its quotes: into `decoded`, in place of what was there.
pub fn decode(spelt: &[u8], decoded: &mut Vec<u8>) {
    decoded.clear();
    json::decode(spelt, Malformed::Order, decoded);
}

/// What a number is, if it is one, in bytes that are the same for numbers that are equal, and no others: into `key`, in place of what was there.
pub fn number_key(spelt: &[u8], key: &mut Vec<u8>) -> bool {
    key.clear();
    let Some((is_negative, scale)) = decimal::canonical(spelt, key) else { return false };
    key.extend_from_slice(&scale.to_le_bytes());
    key.push(u8::from(is_negative));
    true
}

/// How a text compares with the number that another is, if it is one, too.
fn numbers(text: &[u8], literal: &[u8]) -> Option<Ordering> {
    let end = u32::try_from(text.len()).ok()?;
    let (text, nothing) = (Bytes(text), Bytes(&[]));
    let value = Decimal::read(Reader::text(&text, View::from_slice(&[])), 0, end)?;
    let literal =
        Decimal::read(Reader::literal(&nothing, View::from_slice(literal)), 0, literal.len() as u32)?;
    // Both readers read bytes; which text they would decode escapes of does not matter to numbers.
    Some(ordering(relate_numbers(value, literal)))
}

/// How a JSON string, as it is spelt, compares with a string.
fn strings(spelt: &[u8], literal: &[u8]) -> Ordering {
    if !spelt.contains(&b'\\') {
        return spelt.cmp(literal);
    }
    let (text, nothing) = (Bytes(spelt), Bytes(&[]));
    let spelt = Reader::text(&text, View::from_slice(&[])).decode(0, spelt.len() as u32);
    let literal = Reader::literal(&nothing, View::from_slice(literal)).decode(0, literal.len() as u32);
    ordering(relate_strings(spelt, literal))
}
