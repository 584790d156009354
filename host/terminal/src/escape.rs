//! The printed form of names.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns the printed form of a name of a file or column, an id or a message. It takes one line, fits in one
/// cell of a row, and contains nothing that controls a terminal.
///
/// Control characters become `\n`, `\r`, `\t` or `\xNN`, where NN is the code point in two hexadecimal
/// digits. Separators of lines and paragraphs become `\u{NNNN}`, as do the characters that change the
/// direction of writing. All other characters stay as they are, backslashes too. Two different names may
/// therefore look the same, but no name looks like a row of its own. `--format ndjson` prints the names
/// exactly.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        // Writing to a string cannot fail.
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

/// A text as a JSON string, which contains nothing that controls a terminal.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            control if is_escaped(control) => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

/// Returns the printed form of a text of several lines: each line as [`escaped`] gives it.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|char| char != '\n' && is_escaped(char)) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(escaped).collect();
    Cow::Owned(lines.join("\n"))
}

/// Returns true for a character that does not reach a terminal as it is.
pub fn is_escaped(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped() {
        assert_eq!(escaped("a\nb\r\t\0\x1b[2J\x7f\u{9b}2J"), r"a\nb\r\t\x00\x1b[2J\x7f\x9b2J");
        assert_eq!(escaped("\u{2028}\u{202e}\u{2066}x"), r"\u{2028}\u{202e}\u{2066}x");
        assert_eq!(escaped_lines("a\n\x1b[2J\n\n\u{202e}\n"), "a\n\\x1b[2J\n\n\\u{202e}\n");
        assert!(matches!(escaped_lines("a\n b\n"), Cow::Borrowed(_)));
        for plain in ["", "a b:c\\n", "é☺\u{200d}😀\u{200e}", "\u{a0}"] {
            assert!(matches!(escaped(plain), Cow::Borrowed(same) if same == plain), "{plain:?}");
        }
    }
}
