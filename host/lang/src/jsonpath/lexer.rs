//! The tokens of a query, read one at a time on the parser's request.
//!
//! There is no list of tokens made in advance, because RFC 9535's tokens depend on their position. `.1` is
//! not a number, `- 1` is not an integer, and `count (` is not a call. White space is allowed around an
//! operator, but forbidden after a dot. So the parser, which knows the position, requests each token by its
//! kind.

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};
use warpath_core::json::Escape;

use super::ast::ComparisonOp;
use super::words::{self, is_blank, is_digit, is_name_char, is_name_first};

/// The largest magnitude of an index and of the parts of a slice: 2^53 - 1, the largest integer that I-JSON
/// exchanges exactly (RFC 9535, section 2.1; RFC 7493, section 2.2).
pub const MAX_INT: i64 = (1 << 53) - 1;

/// A position in the query text, with functions that read the token there.
#[derive(Clone)]
pub struct Lexer<'q> {
    text: &'q str,
    /// The next byte to read; always on a character boundary.
    at: usize,
}

impl<'q> Lexer<'q> {
    /// Creates a lexer of `text` that begins at byte `at`.
    pub fn new(text: &'q str, at: usize) -> Self {
        Self { text, at }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes back to `at`, an earlier position of the lexer.
    pub(crate) fn rewind(&mut self, at: usize) {
        debug_assert!(at <= self.at && self.text.is_char_boundary(at));
        self.at = at;
    }

    /// Returns the text that is not read yet.
    pub fn rest(&self) -> &'q str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the span from `start` to the current position.
    pub(crate) fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    /// Reads `token` if it comes next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Reads white space, if any: `S` of the grammar.
    pub(crate) fn blank(&mut self) {
        self.at += self.run(is_blank);
    }

    /// Reads a member name shorthand. The names of functions and `true`, `false` and `null` have the same
    /// form. Reads nothing if none starts here.
    pub(crate) fn word(&mut self) -> Option<&'q str> {
        let rest = self.rest();
        if !rest.starts_with(is_name_first) {
            return None;
        }
        let word = &rest[..self.run(is_name_char)];
        self.at += word.len();
        Some(word)
    }

    /// Reads a comparison operator, if one starts here.
    pub(crate) fn comparison_op(&mut self) -> Option<ComparisonOp> {
        use ComparisonOp::{Eq, Ge, Gt, Le, Lt, Ne};
        // `<=` and `>=` precede their first characters alone.
        [Eq, Ne, Le, Ge, Lt, Gt].into_iter().find(|op| self.eat(op.as_str()))
    }

    /// Reads an integer: `int` of the grammar, within [`MAX_INT`]. The next character must be a `-` or a
    /// digit.
    pub(crate) fn int(&mut self) -> Result<i64, Diagnostic> {
        let start = self.at;
        self.int_part()?;
        let text = &self.text[start..self.at];
        if self.rest().starts_with(['.', 'e', 'E']) && self.rest()[1..].starts_with(is_digit) {
            self.at += 1;
            self.at += self.run(is_digit);
            let found = words::quote(&self.text[start..self.at]);
            return Err(self.bad_number(start, format!("expected an integer, found {found}")));
        }
        if text == "-0" {
            return Err(self.bad_number(start, "expected an integer, found `-0`").with_help("write `0`"));
        }
        match text.parse::<i64>() {
            Ok(value) if (-MAX_INT..=MAX_INT).contains(&value) => Ok(value),
            _ => Err(Diagnostic::new(
                DiagnosticKind::Range,
                self.span_from(start),
                format!("expected an integer between -{MAX_INT} and {MAX_INT}, found {}", words::quote(text)),
            )),
        }
    }

    /// Reads a number and returns its text: `number` of the grammar. The next character must be a `-` or a
    /// digit.
    pub fn number(&mut self) -> Result<&'q str, Diagnostic> {
        let start = self.at;
        self.int_part()?;
        if self.eat(".") {
            self.digits(start, "after the decimal point")?;
        }
        if self.eat("e") || self.eat("E") {
            let _signed = self.eat("-") || self.eat("+");
            self.digits(start, "in the exponent")?;
        }
        Ok(&self.text[start..self.at])
    }

    /// Reads `["-"] 1*DIGIT` without a leading zero.
    fn int_part(&mut self) -> Result<(), Diagnostic> {
        let start = self.at;
        let _negative = self.eat("-");
        let first = self.at;
        self.digits(start, "after `-`")?;
        let digits = &self.text[first..self.at];
        if digits.len() > 1 && digits.starts_with('0') {
            let found = words::quote(&self.text[start..self.at]);
            return Err(
                self.bad_number(start, format!("expected a number without leading zeros, found {found}"))
            );
        }
        Ok(())
    }

    /// Reads at least one digit of the number that begins at `start`.
    fn digits(&mut self, start: usize, place: &str) -> Result<(), Diagnostic> {
        match self.run(is_digit) {
            0 => {
                let (_, _, found) = words::found(self.text, self.at);
                Err(self.bad_number(start, format!("expected a digit {place}, found {found}")))
            }
            count => {
                self.at += count;
                Ok(())
            }
        }
    }

    fn bad_number(&self, start: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(DiagnosticKind::InvalidNumber, self.span_from(start), message)
    }

    /// Reads a string and returns its value. The next character must be a quote of either kind.
    pub(crate) fn string(&mut self) -> Result<String, Diagnostic> {
        let open = self.at;
        let quote = if self.rest().starts_with('"') { '"' } else { '\'' };
        self.at += 1;
        let mut value = String::new();
        loop {
            let plain = self.run(|c| c != quote && c != '\\' && c >= ' ');
            value.push_str(&self.rest()[..plain]);
            self.at += plain;
            match self.peek() {
                Some(c) if c == quote => {
                    self.at += 1;
                    return Ok(value);
                }
                Some('\\') if self.rest().len() > 1 => value.push(self.escape(quote)?),
                Some(c) if c < ' ' => {
                    return Err(Diagnostic::new(
                        DiagnosticKind::ControlCharacter,
                        Span::new(self.at, self.at + 1),
                        format!("a string cannot hold the control character U+{:04X} itself", u32::from(c)),
                    )
                    .with_help(match c {
                        '\t' => "write it as `\\t`".to_owned(),
                        '\n' => "write it as `\\n`".to_owned(),
                        '\r' => "write it as `\\r`".to_owned(),
                        c => format!("write it as `\\u{:04x}`", u32::from(c)),
                    }));
                }
                // The end of the text, or a backslash there.
                _ => {
                    return Err(Diagnostic::new(
                        DiagnosticKind::UnclosedString,
                        Span::new(open, open + 1),
                        format!("expected a closing `{quote}` for this string, found the end of the query"),
                    )
                    .with_help(format!("add `{quote}` where the string ends")));
                }
            }
        }
    }

    /// Reads an escape of at least two characters in a string between `quote`s.
    fn escape(&mut self, quote: char) -> Result<char, Diagnostic> {
        let start = self.at;
        let Some(found) = self.rest().chars().nth(1) else {
            self.at += 1;
            return Err(self.bad_escape(start, quote));
        };
        let escape = match found {
            // JSON's strings have quotes of one kind.
            '"' | '\'' if found == quote => Some((2, Some(found))),
            '"' => None,
            _ => Escape::read(self.rest().as_bytes()).map(|escape| (escape.len(), escape.character())),
        };
        match escape {
            Some((len, Some(character))) => {
                self.at += len;
                Ok(character)
            }
            _ if found == 'u' => Err(self.bad_unicode_escape(start)),
            _ => {
                self.at += 1 + found.len_utf8();
                Err(self.bad_escape(start, quote))
            }
        }
    }

    /// Returns the error for an escape that does not exist: the text from `start` to the current position.
    fn bad_escape(&self, start: usize, quote: char) -> Diagnostic {
        let found = &self.text[start..self.at];
        let error =
            |message: String| Diagnostic::new(DiagnosticKind::InvalidEscape, self.span_from(start), message);
        match found {
            "\\'" => error("`'` is not escaped in a string in double quotes".into())
                .with_help("write `'` without the backslash"),
            "\\\"" => error("`\"` is not escaped in a string in single quotes".into())
                .with_help("write `\"` without the backslash"),
            _ if found.chars().any(char::is_control) => {
                error("a backslash cannot precede a control character".into())
            }
            _ => error(format!("`{found}` is not an escape")).with_help(format!(
                "the escapes are `\\b` `\\f` `\\n` `\\r` `\\t` `\\/` `\\\\` `\\{quote}` and `\\uXXXX`; \
                 a backslash itself is written `\\\\`"
            )),
        }
    }

    /// The error for an escape with `\u` that means no character: one that lacks digits, or a surrogate
    /// without its partner. If such an escape follows a high surrogate, the error covers both.
    fn bad_unicode_escape(&mut self, start: usize) -> Diagnostic {
        let is_whole = |lexer: &mut Self| {
            lexer.at += 2;
            let digits = lexer.run(|c| c.is_ascii_hexdigit()).min(4);
            lexer.at += digits;
            digits == 4
        };
        let mut whole = is_whole(self);
        let is_low = |unit: &str| matches!(unit.as_bytes(), [_, b'c'..=b'f' | b'C'..=b'F', ..]);
        if whole && !is_low(&self.text[start + 2..self.at]) && self.rest().starts_with("\\u") {
            whole = is_whole(self);
        }
        let error = |message| Diagnostic::new(DiagnosticKind::InvalidEscape, self.span_from(start), message);
        if whole {
            error("a surrogate alone is not a character")
                .with_help("a character beyond U+FFFF is written as a pair, as `\\ud83d\\ude00`")
        } else {
            error("expected four hexadecimal digits after `\\u`")
        }
    }

    /// Returns the length in bytes of the next characters for which `pred` is true.
    fn run(&self, pred: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        rest.find(|c| !pred(c)).unwrap_or(rest.len())
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::table::texts;

    use super::*;

    #[test]
    fn words() {
        for (text, expected) in [
            ("a", Some("a")),
            ("_", Some("_")),
            ("a_1-b", Some("a_1")),
            ("☺𝄞1.x", Some("☺𝄞1")),
            ("\u{80} ", Some("\u{80}")),
            ("1a", None),
            ("-a", None),
            ("", None),
            (" a", None),
            ("\u{7f}", None),
        ] {
            assert_eq!(Lexer::new(text, 0).word(), expected, "{text:?}");
        }
    }

    #[test]
    fn blanks_are_four() {
        let mut lexer = Lexer::new(" \t\r\n\u{b}", 0);
        lexer.blank();
        assert_eq!(lexer.rest(), "\u{b}");
        assert!(!"\u{a0}\u{2003}\u{feff}\u{c}".chars().any(is_blank));
    }

    #[test]
    fn operators() {
        for (text, expected) in [
            ("==", Some(ComparisonOp::Eq)),
            ("!=", Some(ComparisonOp::Ne)),
            ("<=", Some(ComparisonOp::Le)),
            ("<1", Some(ComparisonOp::Lt)),
            (">=", Some(ComparisonOp::Ge)),
            ("> =", Some(ComparisonOp::Gt)),
            ("= =", None),
            ("!", None),
        ] {
            assert_eq!(Lexer::new(text, 0).comparison_op(), expected, "{text}");
        }
    }

    #[test]
    fn integers() {
        for [text, value, end] in texts(include_str!("parse/cases.txt"), "integers") {
            let found = match Lexer::new(&text, 0).int() {
                Ok(found) => [found.to_string(), String::new()],
                Err(error) => [format!("{:?}", error.kind), error.span.end.to_string()],
            };
            assert_eq!(found, [value, end], "{text}");
        }
    }

    #[test]
    fn numbers() {
        for text in
            ["0", "-0", "12", "-0.0", "1.10", "1e2", "1E+2", "1e-02", "1.5e+00", "123456789012345678901"]
        {
            assert_eq!(Lexer::new(text, 0).number(), Ok(text));
            assert_eq!(Lexer::new(&format!("{text}]"), 0).number(), Ok(text));
        }
        for text in
            ["-", "--1", "-.1", "00", "-01", "1.", "1.-1", "1.e1", "1e", "1e-", "1eE1", "1e--1", "1e+-1"]
        {
            let error = Lexer::new(text, 0).number().expect_err(text);
            assert_eq!(error.kind, DiagnosticKind::InvalidNumber, "{text}");
        }
    }

    #[test]
    fn strings() {
        for (text, expected) in [
            (r#""""#, ""),
            ("''", ""),
            (r#""a'b"x"#, "a'b"),
            (r#"'a"b'"#, r#"a"b"#),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"'\''", "'"),
            (r"'\u0041\u00e9\u00E9\uFFFF'", "Aéé\u{ffff}"),
            (r"'\uD834\uDD1E\ud83d\ude00'", "𝄞😀"),
            (r"'\u0000'", "\0"),
            ("'\u{7f}☺𝄞'", "\u{7f}☺𝄞"),
        ] {
            assert_eq!(Lexer::new(text, 0).string().as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bad_strings() {
        for [text, kind, start, end] in texts(include_str!("parse/cases.txt"), "bad strings") {
            let error = Lexer::new(&text, 0).string().expect_err(&text);
            let span = Span::new(start.parse().unwrap(), end.parse().unwrap());
            assert_eq!((format!("{:?}", error.kind), error.span), (kind, span), "{text}");
        }
    }
}
