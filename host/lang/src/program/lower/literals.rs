//! The constants of a program: names, strings, digits, and patterns.

use std::collections::HashMap;

use warpath_core::decimal::Decimal;
use warpath_shared::ir::{Instr, LiteralKind, Op, Test};
use warpath_shared::query::document::MAX_GAP;

use crate::jsonpath::ast::Quoted;
use crate::jsonpath::{Literal, LiteralKind as AstLiteral, PatternTest, TextTest};
use crate::pattern::{Compiled, TooLarge, compile, compile_strings};

/// All constants, each stored once.
#[derive(Default)]
pub(super) struct Literals {
    pub bytes: Vec<u8>,
    pub automata: Vec<u16>,
    /// The offset of each byte string.
    known: HashMap<Vec<u8>, usize>,
    /// The offset of each name or string with its quotes and the byte after them. These are read four bytes
    /// at a time, so their offsets are multiples of 4.
    quoted: HashMap<Vec<u8>, usize>,
    /// The offset of each pattern's automaton, by the function and the pattern. `None` if the pattern is not
    /// an I-Regexp.
    patterns: HashMap<(&'static str, String), Option<u32>>,
}

impl Literals {
    /// Stores a byte string once. Returns its offset and its length.
    pub fn bytes(&mut self, bytes: &[u8]) -> (u32, u32) {
        let end = self.bytes.len();
        let offset = *self.known.entry(bytes.to_vec()).or_insert(end);
        if offset == end {
            self.bytes.extend_from_slice(bytes);
        }
        (offset as u32, bytes.len() as u32)
    }

    /// Stores a string once, with its quotes and `behind` after them. Returns its offset and its length. Both
    /// are 0 if the string cannot be written without an escape.
    fn quoted(&mut self, string: &[u8], behind: &[u8]) -> (u32, u32) {
        if string.iter().any(|byte| matches!(byte, b'"' | b'\\')) {
            return (0, 0);
        }
        let quoted = [b"\"", string, b"\"", behind].concat();
        let len = quoted.len() as u32;
        let aligned = self.bytes.len().next_multiple_of(4);
        let bytes = &mut self.bytes;
        let offset = *self.quoted.entry(quoted).or_insert_with_key(|quoted| {
            bytes.resize(aligned, 0);
            bytes.extend_from_slice(quoted);
            aligned
        });
        (offset as u32, len)
    }

    /// The instruction that selects the member of a name and enters `target` with it.
    pub fn name(&mut self, name: &str, target: u32) -> Instr {
        let (offset, len) = self.bytes(name.as_bytes());
        let (quoted, quoted_len) = self.quoted(name.as_bytes(), b":");
        let c = (quoted_len as i64) << 32 | quoted as i64;
        Instr { op: Op::Name as u32, target, a: offset as i64, b: len as i64, c }
    }

    /// Sets the literal of a test, and returns the literal's kind.
    pub fn of_test(&mut self, literal: &Literal, test: &mut Test) -> LiteralKind {
        match &literal.kind {
            AstLiteral::Null => LiteralKind::Null,
            AstLiteral::Bool(false) => LiteralKind::False,
            AstLiteral::Bool(true) => LiteralKind::True,
            AstLiteral::Number(text) => {
                // The parser accepts nothing but a number here.
                let number = Decimal::read(text.as_bytes()).unwrap_or_default();
                (test.offset, test.len) = self.bytes(&number.digits);
                (test.negative, test.exponent) = (number.negative as u32, number.exponent);
                LiteralKind::Number
            }
            AstLiteral::String(text) => {
                (test.offset, test.len) = self.bytes(text.as_bytes());
                LiteralKind::String
            }
            // It is compared with instants, which have tests of their own.
            AstLiteral::Now(_) => LiteralKind::Null,
        }
    }

    /// Stores the form of a string that most texts have, in quotes and without escapes, and sets its offset
    /// in `test`.
    pub fn quote(&mut self, text: &str, test: &mut Test) {
        (test.raw, test.raw_len) = self.quoted(text.as_bytes(), b"");
    }

    /// Returns the offset of a pattern's automaton. `None` if the pattern is not an I-Regexp.
    pub fn pattern(&mut self, test: &PatternTest, pattern: &str) -> Result<Option<u32>, TooLarge> {
        self.automaton(test.kind.name(), pattern, || {
            Ok(match compile(pattern, test.kind)? {
                Compiled::Automaton(automaton) => Some(automaton),
                Compiled::NotARegexp => None,
            })
        })
    }

    /// Returns the offset of the automaton of a test for a text.
    pub fn text(&mut self, test: &TextTest, text: &str) -> Result<Option<u32>, TooLarge> {
        self.automaton(test.name(), text, || compile_strings(&test.pattern, test.ignores_case).map(Some))
    }

    /// Returns the offset of an automaton, which is compiled once.
    fn automaton(
        &mut self,
        function: &'static str,
        pattern: &str,
        compile: impl FnOnce() -> Result<Option<Vec<u16>>, TooLarge>,
    ) -> Result<Option<u32>, TooLarge> {
        let key = (function, pattern.to_owned());
        if let Some(known) = self.patterns.get(&key) {
            return Ok(*known);
        }
        let at = compile()?.map(|automaton| {
            let at = self.automata.len() as u32;
            self.automata.extend(automaton);
            at
        });
        self.patterns.insert(key, at);
        Ok(at)
    }

    /// The offset of each automaton, and the function and the pattern that it is of.
    pub fn accepted(&self) -> Vec<(u32, String)> {
        let accepted = self.patterns.iter().filter_map(|((function, pattern), at)| {
            Some(((*at)?, format!("{function} {}", Quoted(pattern))))
        });
        let mut accepted: Vec<_> = accepted.collect();
        accepted.sort();
        accepted
    }
}

/// The possible distances of two separators with a string between them, over all spellings of the string. Bit
/// *g* is set for a distance of *g* bytes. Returns 0 if a spelling is too long.
pub(super) fn gaps_of(text: &str) -> u64 {
    // The two quotes, and the step from the last quote to the next separator.
    let mut gaps = 1u128 << 3;
    for c in text.chars() {
        let short = matches!(c, '"' | '\\' | '/' | '\x08' | '\x0c' | '\n' | '\r' | '\t');
        let raw = gaps << c.len_utf8();
        let escaped = gaps << (6 * c.len_utf16()) | if short { gaps << 2 } else { 0 };
        gaps = raw | escaped;
        if gaps >> (MAX_GAP + 1) != 0 {
            return 0;
        }
    }
    gaps as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_may_be_spelt_in_several_lengths() {
        assert_eq!(gaps_of(""), 1 << 3);
        assert_eq!(gaps_of("nl"), 1 << 5 | 1 << 10 | 1 << 15);
        assert_eq!(gaps_of("/"), 1 << 4 | 1 << 5 | 1 << 9);
        assert_eq!(gaps_of("é"), 1 << 5 | 1 << 9);
        assert_eq!(gaps_of("🙂"), 1 << 7 | 1 << 15);
        assert_ne!(gaps_of("123456789"), 0);
        assert_eq!(gaps_of("1234567890"), 0);
    }
}
