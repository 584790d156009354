//! JSON by recursive descent, to a tree that knows where everything stands.

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its first byte.
    pub start: usize,
    /// One past its last.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as digits without leading and trailing zeros, and the power of ten of the last digit.
    Number(Number),
    /// A string, decoded; `None` where an escape is a lone surrogate.
    String(Option<Vec<u8>>),
    /// Its elements.
    Array(Vec<Value>),
    /// Its members, in order, repeated names too.
    Object(Vec<(Option<Vec<u8>>, Value)>),
}

/// An exact decimal number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Number {
    /// The value of a JSON number.
    pub fn parse(text: &str) -> Self {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i128>().unwrap_or(i128::MAX / 4)),
            None => (text, 0),
        };
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
}

/// Reads one record; `None` where it is not JSON.
pub fn parse(text: &[u8], start: usize, end: usize) -> Option<Value> {
    let mut parser = Parser { text, at: start, end };
    parser.space();
    let value = parser.value(0)?;
    parser.space();
    (parser.at == end).then_some(value)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
}

impl Parser<'_> {
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
                Kind::Object(members)
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
                Kind::Array(elements)
            }
            b'"' => Kind::String(self.string()?),
            _ => {
                while self.peek().is_some_and(|b| !b" \t\r\n,:[]{}\"".contains(&b)) {
                    self.at += 1;
                }
                match std::str::from_utf8(&self.text[start..self.at]).ok()? {
                    "null" => Kind::Null,
                    "true" => Kind::Bool(true),
                    "false" => Kind::Bool(false),
                    // Any spelling of digits, sign, point and exponent that `f64` takes is near enough.
                    number
                        if number.parse::<f64>().is_ok()
                            && !number.starts_with(['+', 'i', 'n', 'N', 'I']) =>
                    {
                        Kind::Number(Number::parse(number))
                    }
                    _ => return None,
                }
            }
        };
        Some(Value { start, end: self.at, kind })
    }

    fn string(&mut self) -> Option<Option<Vec<u8>>> {
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

fn decode(units: &[Unit]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < units.len() {
        match &units[i] {
            Unit::Byte(byte) => out.push(*byte),
            Unit::Code(high) => {
                let mut codes = vec![*high];
                if let (0xd800..0xdc00, Some(Unit::Code(low))) = (high, units.get(i + 1)) {
                    codes.push(*low);
                    i += 1;
                }
                let text = String::from_utf16(&codes).ok()?;
                out.extend_from_slice(text.as_bytes());
            }
        }
        i += 1;
    }
    Some(out)
}
