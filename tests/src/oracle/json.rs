//! A JSON parser by recursive descent. Its tree keeps the byte range of every value.

use std::cmp::Ordering;

/// A value and its byte range.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its first byte.
    pub start: usize,
    /// One past its last.
    pub end: usize,
    /// The type and content.
    pub kind: Content,
}

/// The type of a value, with its content.
#[derive(Clone, Debug)]
pub enum Content {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string, decoded to its code points in UTF-8. A lone surrogate from an escape is stored as three
    /// bytes, by the scheme of UTF-8. So the order of bytes is the order of code points. Bytes that are not
    /// UTF-8 are kept.
    String(Vec<u8>),
    /// Its elements.
    Array(Vec<Value>),
    /// Its members in order, with repeated names. Names are decoded like strings.
    Object(Vec<(Vec<u8>, Value)>),
}

impl Value {
    /// The children in the order of the text: elements, or the values of all members. Members of repeated
    /// names are included.
    pub fn children(&self) -> Vec<&Value> {
        match &self.kind {
            Content::Array(elements) => elements.iter().collect(),
            Content::Object(members) => members.iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }

    /// The value of the first member of this name, if this is an object that has one.
    pub fn member(&self, name: &[u8]) -> Option<&Value> {
        let Content::Object(members) = &self.kind else { return None };
        member(members, name)
    }

    /// The element at an index, if this is an array that has one. A negative index counts from the end.
    pub fn element(&self, index: i64) -> Option<&Value> {
        let Content::Array(elements) = &self.kind else { return None };
        let index = if index < 0 { elements.len() as i64 + index } else { index };
        usize::try_from(index).ok().and_then(|index| elements.get(index))
    }
}

/// The value of the first of some members that has this name.
pub fn member<'a>(members: &'a [(Vec<u8>, Value)], name: &[u8]) -> Option<&'a Value> {
    members.iter().find(|(have, _)| have == name).map(|(_, value)| value)
}

/// An exact decimal number. Numbers compare by value: `1.0`, `1` and `10e-1` are one number.
///
/// The number of digits is unlimited. A written exponent of ±4,611,686,018,427,387,900 or beyond counts as
/// ±2^62, as on all backends (docs/queries.md). So `1e9999999999999999999` equals `1e99999999999999999999`.
/// Exponents within that range are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// True for a number below zero; false for `-0`.
    negative: bool,
    /// The digits without leading and trailing zeros; empty for zero.
    digits: String,
    /// The power of ten of the last digit; 0 for zero.
    exponent: i128,
}

impl Number {
    /// The value of a JSON number.
    pub fn parse(text: &str) -> Self {
        const MAX_EXPONENT: i128 = 1 << 62;
        const FIRST_INEXACT: i128 = 4_611_686_018_427_387_900;
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let beyond = if exponent.starts_with('-') { -MAX_EXPONENT } else { MAX_EXPONENT };
        let exponent = exponent.parse::<i128>().ok().filter(|exponent| exponent.abs() < FIRST_INEXACT);
        let exponent = exponent.unwrap_or(beyond);
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches('-');
        let fraction = mantissa.find('.').map_or(0, |at| mantissa.len() - at - 1);
        let digits = mantissa.replace('.', "");
        let digits = digits.trim_start_matches('0');
        let trimmed = digits.trim_end_matches('0');
        let exponent = exponent - fraction as i128 + (digits.len() - trimmed.len()) as i128;
        if trimmed.is_empty() {
            return Self { negative: false, digits: String::new(), exponent: 0 };
        }
        Self { negative, digits: trimmed.into(), exponent }
    }

    /// Returns true first if the number is below zero, then its digits without zeros at either end, and the
    /// power of ten of the last digit.
    pub fn parts(&self) -> (bool, &str, i128) {
        (self.negative, &self.digits, self.exponent)
    }

    /// The number as an integer, if it is one and fits in 64 bits.
    pub fn integer(&self) -> Option<i64> {
        // 2⁶³ has 19 digits.
        let zeros = usize::try_from(self.exponent).ok().filter(|zeros| self.digits.len() + zeros <= 19)?;
        let distance = format!("0{}{}", self.digits, "0".repeat(zeros)).parse::<i128>().ok()?;
        i64::try_from(if self.negative { -distance } else { distance }).ok()
    }

    /// Compares the distances from zero.
    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        if self.digits.is_empty() || other.digits.is_empty() {
            return self.digits.len().min(1).cmp(&other.digits.len().min(1));
        }
        // 0.digits × 10^scale
        let scale = |number: &Self| number.exponent + number.digits.len() as i128;
        scale(self).cmp(&scale(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

/// Parses one record; `None` if it is not JSON.
pub fn parse(text: &[u8], start: usize, end: usize) -> Option<Value> {
    let mut parser = JsonParser { text, at: start, end };
    parser.space();
    let value = parser.value(0)?;
    parser.space();
    (parser.at == end).then_some(value)
}

struct JsonParser<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
}

impl JsonParser<'_> {
    fn peek(&self) -> Option<u8> {
        (self.at < self.end).then(|| self.text[self.at])
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let start = self.at;
        if depth > 1024 {
            return None;
        }
        let kind = match self.peek()? {
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                self.space();
                if self.take(b'}').is_none() {
                    loop {
                        self.space();
                        let name = self.string()?;
                        self.space();
                        self.take(b':')?;
                        self.space();
                        members.push((name, self.value(depth + 1)?));
                        self.space();
                        if self.take(b',').is_none() {
                            self.take(b'}')?;
                            break;
                        }
                    }
                }
                Content::Object(members)
            }
            b'[' => {
                self.at += 1;
                let mut elements = Vec::new();
                self.space();
                if self.take(b']').is_none() {
                    loop {
                        self.space();
                        elements.push(self.value(depth + 1)?);
                        self.space();
                        if self.take(b',').is_none() {
                            self.take(b']')?;
                            break;
                        }
                    }
                }
                Content::Array(elements)
            }
            b'"' => Content::String(self.string()?),
            _ => {
                while self.peek().is_some_and(|b| !b" \t\r\n,:[]{}\"".contains(&b)) {
                    self.at += 1;
                }
                match std::str::from_utf8(&self.text[start..self.at]).ok()? {
                    "null" => Content::Null,
                    "true" => Content::Bool(true),
                    "false" => Content::Bool(false),
                    // Any spelling of digits, sign, point and exponent that `f64` parses is close enough
                    // here.
                    number
                        if number.parse::<f64>().is_ok()
                            && number
                                .trim_start_matches('-')
                                .starts_with(|c: char| c.is_ascii_digit() || c == '.') =>
                    {
                        Content::Number(Number::parse(number))
                    }
                    _ => return None,
                }
            }
        };
        Some(Value { start, end: self.at, kind })
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        self.take(b'"')?;
        let mut units: Vec<Unit> = Vec::new();
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(decode(&units)),
                b'\\' => {
                    let escape = self.peek()?;
                    self.at += 1;
                    units.push(Unit::Code(match escape {
                        b'"' | b'\\' | b'/' => escape as u16,
                        b'b' => 8,
                        b'f' => 12,
                        b'n' => 10,
                        b'r' => 13,
                        b't' => 9,
                        b'u' => {
                            let digits = self.text.get(self.at..self.at + 4)?;
                            self.at += 4;
                            u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
                        }
                        _ => return None,
                    }));
                }
                byte => units.push(Unit::Byte(byte)),
            }
        }
    }
}

/// A raw byte, or a UTF-16 code unit that was written as an escape.
enum Unit {
    Byte(u8),
    Code(u16),
}

fn decode(units: &[Unit]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < units.len() {
        match (&units[i], units.get(i + 1)) {
            (Unit::Byte(byte), _) => out.push(*byte),
            (Unit::Code(high @ 0xd800..0xdc00), Some(Unit::Code(low @ 0xdc00..0xe000))) => {
                push(0x10000 + (u32::from(high - 0xd800) << 10) + u32::from(low - 0xdc00), &mut out);
                i += 1;
            }
            (Unit::Code(code), _) => push(u32::from(*code), &mut out),
        }
        i += 1;
    }
    out
}

/// Appends a code point in UTF-8. A surrogate is encoded by the same scheme.
fn push(code: u32, out: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out
            .extend([0xe0 | code >> 12, 0x80 | code >> 6 & 0x3f, 0x80 | code & 0x3f].map(|byte| byte as u8)),
    }
}
