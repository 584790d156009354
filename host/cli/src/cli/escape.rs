//! Names as they are printed.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Names of files and columns, ids and messages, as they are printed: on one line, in one cell of a row, and without anything
/// that a terminal obeys.
///
/// Control characters become `\n`, `\r`, `\t` or `\xNN`, two hexadecimal digits of the code point. The separators of lines and
/// paragraphs, and what turns the direction of writing, become `\u{NNNN}`. Everything else stays as it is, backslashes too:
/// two names may look the same, but none looks like a row. `--format ndjson` has the names themselves.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        // A string takes everything.
        let _ = match char {
            '\n' => shown.write_str("\\n"),
            '\r' => shown.write_str("\\r"),
            '\t' => shown.write_str("\\t"),
            char if !is_escaped(char) => shown.write_char(char),
            char if char <= '\u{ff}' => write!(shown, "\\x{:02x}", u32::from(char)),
            char => write!(shown, "\\u{{{:x}}}", u32::from(char)),
        };
    }
    Cow::Owned(shown)
}

fn is_escaped(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped() {
        assert_eq!(escaped("a\nb\r\t\0\x1b[2J\x7f\u{9b}2J"), r"a\nb\r\t\x00\x1b[2J\x7f\x9b2J");
        assert_eq!(escaped("\u{2028}\u{202e}\u{2066}x"), r"\u{2028}\u{202e}\u{2066}x");
        for plain in ["", "a b:c\\n", "é☺\u{200d}😀\u{200e}", "\u{a0}"] {
            assert!(matches!(escaped(plain), Cow::Borrowed(same) if same == plain), "{plain:?}");
        }
    }
}
