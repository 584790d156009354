//! Diagnosis of one record by the whole of RFC 8259, a byte at a time. The fast validator is tested against
//! this rule.
//!
//! There is a function for each rule of the grammar (sections 2 to 7). A function begins where its rule
//! begins and stops after its rule's last byte. It fails at the first byte that is not allowed. An unclosed
//! string or container is reported at the offset of its opening byte.

use std::str;

use warpath_core::json::Cursor;
use warpath_shared::check::{Fault, FaultKind};
use warpath_shared::units::MAX_DEPTH;

type Checked = Result<(), Fault>;

/// Finds the first fault of a record that should be one JSON text in UTF-8. If both are violated at the same
/// byte, the fault of UTF-8 is returned.
///
/// White space around the value is part of the text (section 2). A record of white space alone has no value.
pub fn fault(record: &[u8]) -> Option<Fault> {
    let mut parser = RecordParser { cursor: Cursor::new(record), depth: 0 };
    let grammar = parser.text().err();
    let utf8 = str::from_utf8(record).err();
    let utf8 = utf8.map(|error| Fault { kind: FaultKind::NotUtf8, at: error.valid_up_to() });
    utf8.into_iter().chain(grammar).min_by_key(|fault| fault.at)
}

struct RecordParser<'a> {
    cursor: Cursor<'a>,
    /// The number of open containers.
    depth: usize,
}

impl RecordParser<'_> {
    fn fault(&self, kind: FaultKind) -> Checked {
        Err(Fault { kind, at: self.cursor.offset() })
    }

    /// `ws value ws`
    fn text(&mut self) -> Checked {
        self.cursor.space();
        match self.cursor.peek() {
            Some(b'}' | b']') => return self.fault(FaultKind::UnopenedContainer),
            Some(b':' | b',') => return self.fault(FaultKind::StraySeparator),
            _ => self.value()?,
        }
        self.cursor.space();
        match self.cursor.peek() {
            None => Ok(()),
            Some(b'{' | b'[') => self.fault(FaultKind::SecondRoot),
            Some(b'}' | b']') => self.fault(FaultKind::UnopenedContainer),
            Some(b':' | b',') => self.fault(FaultKind::StraySeparator),
            Some(_) => self.fault(FaultKind::BehindRecord),
        }
    }

    fn value(&mut self) -> Checked {
        match self.cursor.peek() {
            Some(b'{') => self.container(b'}', Self::member),
            Some(b'[') => self.container(b']', Self::value),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => self.fault(FaultKind::NoValue),
        }
    }

    /// Reads an object or an array: an opening bracket, items separated by commas, if any, and a closing
    /// bracket.
    fn container(&mut self, close: u8, item: fn(&mut Self) -> Checked) -> Checked {
        let open = self.cursor.offset();
        let unclosed = Err(Fault { kind: FaultKind::UnclosedContainer, at: open });
        if self.depth == MAX_DEPTH {
            return self.fault(FaultKind::TooDeep);
        }
        self.depth += 1;
        self.cursor.advance(1);
        let mut comma = false;
        loop {
            self.cursor.space();
            match self.cursor.peek() {
                None => return unclosed,
                Some(byte) if byte == close && !comma => break,
                Some(byte) if byte == close => return self.fault(FaultKind::TrailingComma),
                Some(b'}' | b']') => return self.fault(FaultKind::MismatchedBracket),
                Some(_) => item(self).map_err(|fault| fault_in(fault, self.cursor.peek().is_none(), open))?,
            }
            self.cursor.space();
            match self.cursor.peek() {
                None => return unclosed,
                Some(b',') => {
                    self.cursor.advance(1);
                    comma = true;
                }
                Some(byte) if byte == close => break,
                Some(b'}' | b']') => return self.fault(FaultKind::MismatchedBracket),
                Some(_) => return self.fault(FaultKind::NoSeparator),
            }
        }
        self.cursor.advance(1);
        self.depth -= 1;
        Ok(())
    }

    /// `string ws : ws value`
    fn member(&mut self) -> Checked {
        match self.cursor.peek() {
            Some(b'"') => self.string()?,
            _ => return self.fault(FaultKind::NoName),
        }
        self.cursor.space();
        if !self.cursor.take(b':') {
            return self.fault(FaultKind::NoColon);
        }
        self.cursor.space();
        self.value()
    }

    fn literal(&mut self, literal: &[u8]) -> Checked {
        for byte in literal {
            if !self.cursor.take(*byte) {
                return self.fault(FaultKind::BadLiteral);
            }
        }
        Ok(())
    }

    /// `[ - ] int [ frac ] [ exp ]`
    fn number(&mut self) -> Checked {
        self.cursor.take(b'-');
        if self.cursor.take(b'0') {
            if self.cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return self.fault(FaultKind::LeadingZero);
            }
        } else {
            self.digits()?;
        }
        if self.cursor.take(b'.') {
            self.digits()?;
        }
        if self.cursor.take(b'e') || self.cursor.take(b'E') {
            if !self.cursor.take(b'+') {
                self.cursor.take(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Reads at least one digit.
    fn digits(&mut self) -> Checked {
        let begin = self.cursor.offset();
        while self.cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.cursor.advance(1);
        }
        if self.cursor.offset() == begin { self.fault(FaultKind::NoDigit) } else { Ok(()) }
    }

    fn string(&mut self) -> Checked {
        let open = self.cursor.offset();
        self.cursor.advance(1);
        loop {
            match self.cursor.peek() {
                None => return Err(Fault { kind: FaultKind::UnclosedString, at: open }),
                Some(b'"') => break,
                Some(b'\\') => self.escape(open)?,
                Some(0..=0x1f) => return self.fault(FaultKind::ControlInString),
                Some(_) => self.cursor.advance(1),
            }
        }
        self.cursor.advance(1);
        Ok(())
    }

    /// Reads an escape of a string that opened at `open`. `\uXXXX` may be any code unit, even a surrogate
    /// without its partner, because the grammar does not exclude it (section 8.2 discusses this).
    fn escape(&mut self, open: usize) -> Checked {
        self.cursor.advance(1);
        match self.cursor.peek() {
            None => return Err(Fault { kind: FaultKind::EscapeAtEnd, at: self.cursor.offset() - 1 }),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
            Some(b'u') => {
                for _ in 0..4 {
                    self.cursor.advance(1);
                    match self.cursor.peek() {
                        None => return Err(Fault { kind: FaultKind::UnclosedString, at: open }),
                        Some(byte) if byte.is_ascii_hexdigit() => {}
                        Some(_) => return self.fault(FaultKind::BadHexDigit),
                    }
                }
            }
            Some(_) => return self.fault(FaultKind::BadEscape),
        }
        self.cursor.advance(1);
        Ok(())
    }
}

/// Maps the fault of an item to that of its container. If a record ends within a member, between its tokens,
/// then the container that opened at `open` is not closed.
fn fault_in(fault: Fault, at_end: bool, open: usize) -> Fault {
    match fault.kind {
        FaultKind::NoColon | FaultKind::NoValue if at_end => {
            Fault { kind: FaultKind::UnclosedContainer, at: open }
        }
        _ => fault,
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::table::rows;

    use super::*;

    #[test]
    fn first_faults() {
        let table = include_str!("../../../../tests/data/json.txt");
        for [record, kind, at] in rows(table, "faults") {
            let got = fault(&record).map(|fault| [format!("{:?}", fault.kind), fault.at.to_string()]);
            let got = got.unwrap_or_default().map(String::into_bytes);
            assert_eq!(got, [kind, at], "{}", record.escape_ascii());
        }
    }

    #[test]
    fn as_deep_as_elsewhere() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |depth: usize| {
                let inner = if open == "[" { "" } else { "1" };
                format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
            };
            assert_eq!(fault(nested(MAX_DEPTH).as_bytes()), None);
            let deeper = fault(nested(MAX_DEPTH + 1).as_bytes());
            assert_eq!(deeper, Some(Fault { kind: FaultKind::TooDeep, at: MAX_DEPTH * open.len() }));
        }
    }
}
