//! The look of JSON: indentation and colours.
//!
//! A printer copies the bytes of strings and numbers unchanged. It works on any text that the records of an
//! input can have, well-formed or not.

use clap::builder::styling::Style;
use warpath_core::json::Cursor;

use crate::options::When;
use crate::streams::{Stream, Streams};

// The sequences of a terminal that start a colour: bold blue, green, cyan and magenta.
const KEY: &[u8] = b"\x1b[1m\x1b[34m";
const STRING: &[u8] = b"\x1b[32m";
const NUMBER: &[u8] = b"\x1b[36m";
const LITERAL: &[u8] = b"\x1b[35m";
const RESET: &[u8] = b"\x1b[0m";

/// The look of the names above rows.
pub const HEADER: Style = Style::new().bold();

/// The look of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// True if JSON is indented.
    pub pretty: bool,
    /// True if JSON is coloured.
    pub color: bool,
    /// The number of columns of the terminal on which results are printed. `None`: no terminal, so lines may
    /// have any length.
    pub columns: Option<usize>,
}

impl Look {
    /// The look of results. `is_file` is true if they are written to a file, and not to standard output.
    pub fn of(color: When, is_file: bool, pretty: bool) -> Self {
        let streams = Streams::current();
        let color = match color {
            When::Always => true,
            When::Never => false,
            When::Auto => !is_file && streams.supports_color(Stream::Output),
        };
        let size = streams.size(Stream::Output).filter(|_| !is_file);
        Self { pretty, color, columns: size.map(|(columns, _)| columns) }
    }

    /// Returns true if JSON is printed as the input has it.
    pub fn is_plain(self) -> bool {
        !self.pretty && !self.color
    }

    /// Appends one JSON value, without a newline after it.
    pub fn append(self, json: &[u8], out: &mut Vec<u8>) {
        if self.is_plain() {
            return out.extend_from_slice(json);
        }
        Printer { look: self, depth: 0, out }.all(json);
    }
}

/// A token, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// White space between other tokens.
    Space,
    /// `{` or `[`.
    Open,
    /// `}` or `]`.
    Close,
    Comma,
    Colon,
    String,
    /// A number, `true`, `false`, `null`, or other text in their place.
    Scalar,
}

/// The kind of the token that starts with each byte.
const KINDS: [Token; 256] = {
    let mut kinds = [Token::Scalar; 256];
    let mut at = 0;
    while at < 256 {
        kinds[at] = match at as u8 {
            b' ' | b'\t' | b'\n' | b'\r' => Token::Space,
            b'{' | b'[' => Token::Open,
            b'}' | b']' => Token::Close,
            b',' => Token::Comma,
            b':' => Token::Colon,
            b'"' => Token::String,
            _ => Token::Scalar,
        };
        at += 1;
    }
    kinds
};

fn kind(byte: u8) -> Token {
    KINDS[usize::from(byte)]
}

/// The first token of a text that is not empty: its kind and its length.
fn token(text: &[u8]) -> (Token, usize) {
    let first = kind(text[0]);
    let len = match first {
        Token::Open | Token::Close | Token::Comma | Token::Colon => 1,
        Token::String => string(text),
        Token::Space | Token::Scalar => text.iter().take_while(|byte| kind(**byte) == first).count(),
    };
    (first, len)
}

/// The length of the string at the start of a text, with its quotes.
fn string(text: &[u8]) -> usize {
    let mut cursor = Cursor::new(text);
    cursor.string().map_or(text.len(), |_| cursor.offset())
}

/// The length of the JSON value at the start of a text.
pub fn value_len(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < text.len() {
        let (kind, len) = token(&text[at..]);
        match kind {
            Token::Open => depth += 1,
            Token::Close if depth == 0 => return at,
            Token::Close => depth -= 1,
            Token::Comma | Token::Colon if depth == 0 => return at,
            _ => {}
        }
        at += len;
        if depth == 0 && kind != Token::Space {
            return at;
        }
    }
    text.len()
}

/// The values of the members of a row, in order. A row is an object as `select` writes it: without space
/// between members.
pub fn cells<'a>(row: &'a [u8], cells: &mut Vec<&'a [u8]>) {
    cells.clear();
    let mut rest = row.strip_prefix(b"{").unwrap_or(row);
    while rest.first() == Some(&b'"') {
        rest = &rest[string(rest)..];
        rest = rest.strip_prefix(b":").unwrap_or(rest);
        let (value, after) = rest.split_at(value_len(rest));
        cells.push(value);
        rest = after.strip_prefix(b",").unwrap_or_default();
    }
}

struct Printer<'a> {
    look: Look,
    depth: usize,
    out: &'a mut Vec<u8>,
}

impl Printer<'_> {
    fn all(&mut self, json: &[u8]) {
        let mut at = 0;
        // The token before, white space left out.
        let mut before = None;
        while at < json.len() {
            let (kind, len) = token(&json[at..]);
            let (text, rest) = json[at..].split_at(len);
            at += len;
            if kind == Token::Space {
                if !self.look.pretty {
                    self.out.extend_from_slice(text);
                }
                continue;
            }
            let next = || rest.iter().find(|byte| !byte.is_ascii_whitespace());
            if self.look.pretty {
                self.space(before, kind);
            }
            let color = match kind {
                Token::String if next() == Some(&b':') => Some(KEY),
                Token::String => Some(STRING),
                Token::Scalar if text[0] == b'-' || text[0].is_ascii_digit() => Some(NUMBER),
                Token::Scalar => Some(LITERAL),
                _ => None,
            };
            self.text(text, color);
            before = Some(kind);
        }
    }

    /// Writes the white space before a token of this kind.
    fn space(&mut self, before: Option<Token>, kind: Token) {
        if kind == Token::Close {
            self.depth = self.depth.saturating_sub(1);
        }
        match (before, kind) {
            (None, _) | (_, Token::Comma | Token::Colon) | (Some(Token::Open), Token::Close) => {}
            (Some(Token::Colon), _) => self.out.push(b' '),
            (Some(Token::Open | Token::Comma), _) | (_, Token::Close) => {
                self.out.push(b'\n');
                self.out.resize(self.out.len() + 2 * self.depth, b' ');
            }
            // Only a malformed record has two values without a comma.
            _ => self.out.push(b' '),
        }
        if kind == Token::Open {
            self.depth += 1;
        }
    }

    fn text(&mut self, text: &[u8], color: Option<&[u8]>) {
        match color.filter(|_| self.look.color) {
            None => self.out.extend_from_slice(text),
            Some(color) => {
                for part in [color, text, RESET] {
                    self.out.extend_from_slice(part);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pretty: bool, color: bool, json: &str) -> String {
        let mut out = Vec::new();
        Look { pretty, color, columns: None }.append(json.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn indentation() {
        for (json, pretty) in [
            ("1", "1"),
            (" \"a\" ", "\"a\""),
            ("[]", "[]"),
            ("{ }", "{}"),
            ("[1, [ ],{\"a\" :null}]", "[\n  1,\n  [],\n  {\n    \"a\": null\n  }\n]"),
            (r#"{"a:{\"":"[,","b":-1e+9}"#, "{\n  \"a:{\\\"\": \"[,\",\n  \"b\": -1e+9\n}"),
            ("[1 2]", "[\n  1 2\n]"),
            ("\"", "\""),
            ("\"\\", "\"\\"),
            ("]1,", "\n] 1,"),
        ] {
            // The first bracket of a text has nothing before it.
            assert_eq!(printed(true, false, json), pretty.trim_start(), "{json}");
            assert_eq!(printed(false, false, json), json);
        }
    }

    #[test]
    fn colours_add_only_colours() {
        let json = r#"{"a" : ["x:",1, true ,null,{"b":-2}] }"#;
        let coloured = printed(false, true, json);
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), json);
        assert!(coloured.starts_with("{\u{1b}[1m\u{1b}[34m\"a\"\u{1b}[0m : ["), "{coloured:?}");
        assert!(
            coloured.contains("[\u{1b}[32m\"x:\"\u{1b}[0m,\u{1b}[36m1\u{1b}[0m, \u{1b}[35mtrue"),
            "{coloured:?}"
        );
        let both = printed(true, true, json);
        assert_eq!(anstream::adapter::strip_str(&both).to_string(), printed(true, false, json));
    }

    #[test]
    fn rows_have_cells() {
        for (row, expected) in [
            (
                r#"{"a":1,"b\":{":"x,}","c":[1, {"d":2}],"e":null}"#,
                &["1", "\"x,}\"", "[1, {\"d\":2}]", "null"][..],
            ),
            ("{}", &[]),
            (r#"{"":""}"#, &["\"\""]),
        ] {
            let mut found = Vec::new();
            cells(row.as_bytes(), &mut found);
            let expected: Vec<&[u8]> = expected.iter().map(|cell| cell.as_bytes()).collect();
            assert_eq!(found, expected, "{row}");
        }
    }
}
