//! Values of documents, and tests of them.

use std::cmp::Ordering;
use std::fmt;

use warpath_core::decimal::{self, Bytes};
use warpath_core::json::{self, Malformed};
use warpath_shared::ir::relation;
use warpath_shared::query::compare::{Decimal, ValueBytes, relate_numbers, relate_strings};
use warpath_shared::view::View;

/// The value of a document's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// No value to compare: an object or array, or a value that no test needs.
    None,
    /// The text of an XML element, without that of its child elements, or of an attribute. The text is a
    /// number if it is spelt like one.
    Text(&'a [u8]),
    /// A JSON string, as spelt between its quotes.
    String(&'a [u8]),
    /// A JSON number, as spelt.
    Number(&'a [u8]),
    /// A JSON literal.
    Bool(bool),
    /// The JSON literal `null`.
    Null,
}

/// The literal with which a value is compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A number, as spelt: compared by its exact decimal value with JSON numbers, and with text that is a
    /// number.
    Number(String),
    /// A string: compared by code points with JSON strings and with text.
    String(String),
    /// A JSON literal.
    Bool(bool),
    /// The JSON literal `null`.
    Null,
}

/// A comparison operator.
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
    /// Returns true if the operator holds for this ordering of two values.
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

    /// Returns the operator for exchanged sides.
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
    /// The comparison that must hold.
    pub operator: Operator,
    /// The right side of the comparison.
    pub literal: Literal,
}

impl ValueTest {
    /// Returns true if a value passes. Values of different kinds pass no test, not even `!=`.
    #[must_use]
    pub fn passes(&self, value: Value<'_>) -> bool {
        let ordering = match (value, &self.literal) {
            (Value::Number(number), Literal::Number(literal)) => numbers(number, literal.as_bytes()),
            (Value::Text(text), Literal::Number(literal)) => numbers(text.trim_ascii(), literal.as_bytes()),
            (Value::String(string), Literal::String(literal)) => Some(strings(string, literal.as_bytes())),
            (Value::Text(text), Literal::String(literal)) => Some(text.cmp(literal.as_bytes())),
            // Values without an order are equal or not equal.
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

/// Decodes a JSON string, as spelt between its quotes. Replaces the contents of `decoded`.
pub fn decode(spelt: &[u8], decoded: &mut Vec<u8>) {
    decoded.clear();
    json::decode(spelt, Malformed::Order, decoded);
}

/// Computes a key of a number: equal numbers have equal keys, and different numbers have different keys.
/// Replaces the contents of `key`. Returns false if `spelt` is not a number.
pub fn number_key(spelt: &[u8], key: &mut Vec<u8>) -> bool {
    key.clear();
    let Some((is_negative, scale)) = decimal::canonical(spelt, key) else { return false };
    key.extend_from_slice(&scale.to_le_bytes());
    key.push(u8::from(is_negative));
    true
}

/// A number without an exponent, of at most nine digits on each side of its point. Two such numbers compare
/// as integers, in units of 10⁻⁹.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlainNumber(i64);

impl PlainNumber {
    const DIGITS: usize = 9;

    /// Reads a number. `None` for a text that is no such number, which may be another number.
    #[inline]
    #[must_use]
    pub fn read(spelt: &[u8]) -> Option<Self> {
        let (is_negative, digits) = match spelt {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let (mut number, mut whole, mut fraction) = (0, 0, None);
        for byte in digits {
            match (byte, &mut fraction) {
                (b'0'..=b'9', None) => whole += 1,
                (b'0'..=b'9', Some(fraction)) => *fraction += 1,
                (b'.', None) => {
                    fraction = Some(0);
                    continue;
                }
                _ => return None,
            }
            if whole > Self::DIGITS || fraction.is_some_and(|digits| digits > Self::DIGITS) {
                return None;
            }
            number = 10 * number + i64::from(byte - b'0');
        }
        if whole == 0 || fraction == Some(0) || (whole > 1 && digits[0] == b'0') {
            return None;
        }
        const UNITS: [i64; PlainNumber::DIGITS + 1] = {
            let mut units = [1; PlainNumber::DIGITS + 1];
            let mut at = PlainNumber::DIGITS;
            while at > 0 {
                units[at - 1] = 10 * units[at];
                at -= 1;
            }
            units
        };
        let number = number * UNITS[fraction.unwrap_or(0)];
        Some(Self(if is_negative { -number } else { number }))
    }
}

/// Compares a text with a number; `None` if the text is not a number.
fn numbers(text: &[u8], literal: &[u8]) -> Option<Ordering> {
    let end = u32::try_from(text.len()).ok()?;
    let (text, nothing) = (Bytes(text), Bytes(&[]));
    let value = Decimal::read(ValueBytes::text(&text, View::from_slice(&[])), 0, end)?;
    let literal =
        Decimal::read(ValueBytes::literal(&nothing, View::from_slice(literal)), 0, literal.len() as u32)?;
    // Both readers read bytes; escapes, which they would decode differently, do not occur in numbers.
    Some(ordering(relate_numbers(value, literal)))
}

/// Compares a JSON string, as spelt, with a string.
fn strings(spelt: &[u8], literal: &[u8]) -> Ordering {
    if !spelt.contains(&b'\\') {
        return spelt.cmp(literal);
    }
    let (text, nothing) = (Bytes(spelt), Bytes(&[]));
    let spelt = ValueBytes::text(&text, View::from_slice(&[])).decode(0, spelt.len() as u32);
    let literal = ValueBytes::literal(&nothing, View::from_slice(literal)).decode(0, literal.len() as u32);
    ordering(relate_strings(spelt, literal))
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    #[test]
    fn plain_numbers_compare_as_decimals() {
        let rng = &mut Rng::new(8);
        let digits = |rng: &mut Rng| -> String {
            let most = [3, 11][rng.below(2)];
            (0..rng.below(most)).map(|_| char::from(b'0' + (rng.below(4) * rng.below(4)) as u8)).collect()
        };
        let number = |rng: &mut Rng| {
            let (sign, whole, fraction) = (rng.pick(&["", "", "-", "+"]), digits(rng), digits(rng));
            let point = if rng.below(3) == 0 { format!(".{fraction}") } else { String::new() };
            format!("{sign}{whole}{point}{}", rng.pick(&["", "", "", "e1", "x", "."]))
        };
        let (mut plain, mut others) = (0, 0);
        for _ in 0..200_000 {
            let (one, two) = (number(rng), number(rng));
            match [&one, &two].map(|text| PlainNumber::read(text.as_bytes())) {
                [Some(a), Some(b)] => {
                    assert_eq!(numbers(one.as_bytes(), two.as_bytes()), Some(a.cmp(&b)), "{one} {two}");
                    plain += 1;
                }
                _ => others += 1,
            }
        }
        assert!(plain > 5_000 && others > 5_000, "{plain} {others}");
        for (text, is_plain) in [
            ("0", true),
            ("-0", true),
            ("-0.0", true),
            ("999999999.999999999", true),
            ("1234567890", false),
            ("01", false),
            ("1.", false),
            (".5", false),
            ("-", false),
            ("", false),
            ("1e3", false),
            ("1.0000000000", false),
        ] {
            assert_eq!(PlainNumber::read(text.as_bytes()).is_some(), is_plain, "{text}");
        }
    }
}
