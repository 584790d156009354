//! The faults that every evaluation looks for in a record, and the search for the first of them.
//!
//! Checked: every string is closed, no line ends in an escape, and brackets balance and match in kind. A line
//! has one root container at most, `:` and `,` are inside a container, and nothing nests deeper than
//! [`MAX_DEPTH`]. Not checked here: all other rules of RFC 8259, and UTF-8. The host checks those on request
//! (*strict*). The faults of strict checks are kinds here too, so that one list has all faults of a record.
//!
//! The indexing of every backend detects a faulty line. It also suspects some good lines that nest deeper
//! than 63. [`diagnose`] then reads that one line and decides.

use crate::index::class::is_whitespace;
use crate::units::MAX_DEPTH;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A string is not closed by the end of its line. Points at its opening quote.
    UnclosedString,
    /// The line ends in an odd run of backslashes. Points at the last one.
    EscapeAtEnd,
    /// A container is not closed by the end of its line. Points at the innermost bracket left open.
    UnclosedContainer,
    /// A bracket closes a container that was not opened. Points at the bracket.
    UnopenedContainer,
    /// A bracket closes a container of the other kind. Points at the closing bracket.
    MismatchedBracket,
    /// A container opens after the line's root container has closed. Points at the bracket.
    SecondRoot,
    /// A `:` or `,` is outside any container. Points at it.
    StraySeparator,
    /// Containers nest deeper than [`MAX_DEPTH`]. Points at the first bracket that is too deep.
    TooDeep,
    /// Strict: bytes are not UTF-8 as RFC 3629 defines it. Points at the first byte of the malformed
    /// sequence.
    NotUtf8,
    /// Strict, and by trees: no JSON value begins where one should. Points at the byte that is there.
    NoValue,
    /// Strict: a word is neither `true`, `false` nor `null`. Points at the first byte that differs.
    BadLiteral,
    /// Strict: a number begins with a zero and another digit. Points at the second digit.
    LeadingZero,
    /// Strict: a number lacks a digit before or after its point, or in its exponent. Points at the byte where
    /// the digit should be.
    NoDigit,
    /// Strict: a string has a byte below 0x20. Points at it.
    ControlInString,
    /// Strict: an escape is not in RFC 8259, section 7. Points at the byte after the backslash.
    BadEscape,
    /// Strict: fewer than four hexadecimal digits follow `\u`. Points at the first other byte.
    BadHexDigit,
    /// Strict, and by trees: a member does not begin with a string. Points at the byte that is there.
    NoName,
    /// Strict, and by trees: no `:` follows a member's name. Points at the byte that is there.
    NoColon,
    /// Strict, and by trees: neither `,` nor a closing bracket follows an element or a member. Points at the
    /// byte that is there.
    NoSeparator,
    /// Strict, and by trees: a closing bracket follows a `,`. Points at the bracket.
    TrailingComma,
    /// Strict: something other than white space follows the record's value. Points at it.
    BehindRecord,
}

impl core::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UnclosedString => f.write_str("string is not closed by the end of the line"),
            Self::EscapeAtEnd => f.write_str("line ends in the middle of an escape"),
            Self::UnclosedContainer => f.write_str("bracket is not closed by the end of the line"),
            Self::UnopenedContainer => f.write_str("closing bracket without an opening one"),
            Self::MismatchedBracket => f.write_str("closing bracket does not match the opening one"),
            Self::SecondRoot => f.write_str("a second value begins after the record has ended"),
            Self::StraySeparator => f.write_str("`:` or `,` outside any object or array"),
            Self::TooDeep => write!(f, "containers nest deeper than {MAX_DEPTH}"),
            Self::NotUtf8 => f.write_str("bytes are not UTF-8"),
            Self::NoValue => f.write_str("no JSON value begins here"),
            Self::BadLiteral => f.write_str("neither `true`, `false` nor `null`"),
            Self::LeadingZero => f.write_str("number has a zero before its other digits"),
            Self::NoDigit => f.write_str("number lacks a digit here"),
            Self::ControlInString => f.write_str("control character in a string is not escaped"),
            Self::BadEscape => f.write_str("escape is not one of JSON's"),
            Self::BadHexDigit => f.write_str("`\\u` is not followed by four hexadecimal digits"),
            Self::NoName => f.write_str("member does not begin with a name in quotes"),
            Self::NoColon => f.write_str("name is not followed by `:`"),
            Self::NoSeparator => f.write_str("value is not followed by `,` or the closing bracket"),
            Self::TrailingComma => f.write_str("`,` before a closing bracket"),
            Self::BehindRecord => f.write_str("the record's value has ended before this"),
        }
    }
}

/// The first fault of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The position of the fault, in bytes from the start of the line.
    pub at: usize,
}

/// Returns the first fault of a line, or `None` for a line without one. `line` may include its newline.
///
/// Reads one byte at a time. Called only for lines that indexing suspects.
pub fn diagnose(line: &[u8]) -> Option<Fault> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut braces = [0u64; MAX_DEPTH / 64];
    let mut depth = 0usize;
    let mut opened_at = [0u32; MAX_DEPTH];
    let (mut string, mut escape, mut root_closed) = (None, false, false);
    for (at, byte) in line.iter().copied().enumerate() {
        let fault = |kind| Some(Fault { kind, at });
        let escaped = escape;
        escape = byte == b'\\' && !escaped;
        match byte {
            b'"' if !escaped => string = if string.is_some() { None } else { Some(at) },
            _ if string.is_some() => {}
            b'{' | b'[' => {
                if depth == 0 && root_closed {
                    return fault(FaultKind::SecondRoot);
                }
                if depth == MAX_DEPTH {
                    return fault(FaultKind::TooDeep);
                }
                let bit = 1 << (depth % 64);
                let word = &mut braces[depth / 64];
                *word = if byte == b'{' { *word | bit } else { *word & !bit };
                opened_at[depth] = at as u32;
                depth += 1;
            }
            b'}' | b']' => {
                if depth == 0 {
                    return fault(FaultKind::UnopenedContainer);
                }
                depth -= 1;
                root_closed |= depth == 0;
                if (braces[depth / 64] >> (depth % 64) & 1 == 1) != (byte == b'}') {
                    return fault(FaultKind::MismatchedBracket);
                }
            }
            b':' | b',' if depth == 0 => return fault(FaultKind::StraySeparator),
            _ => {}
        }
    }
    match string {
        _ if escape => Some(Fault { kind: FaultKind::EscapeAtEnd, at: line.len() - 1 }),
        Some(at) => Some(Fault { kind: FaultKind::UnclosedString, at }),
        None if depth > 0 => {
            Some(Fault { kind: FaultKind::UnclosedContainer, at: opened_at[depth - 1] as usize })
        }
        None => None,
    }
}

/// Returns the record on a line, without the white space around it, as (start, end). Returns `None` for a
/// blank line.
#[inline(always)]
pub fn trim(start: u32, end: u32, byte: impl Fn(u32) -> u8) -> Option<(u32, u32)> {
    let (mut start, mut end) = (start, end);
    if start >= end {
        return None;
    }
    // Both bytes are loaded at once, because on a device the two loads then overlap.
    let (mut first, mut last) = (byte(start), byte(end - 1));
    while is_whitespace(first) {
        start += 1;
        if start == end {
            return None;
        }
        first = byte(start);
    }
    while is_whitespace(last) {
        end -= 1;
        last = byte(end - 1);
    }
    Some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_faults() {
        use FaultKind::*;
        type Case<'a> = (&'a [u8], Option<(FaultKind, usize)>);
        let cases: &[Case<'_>] = &[
            (br#"{"a":[1,{"b":"}"}]}"#, None),
            (b"", None),
            (b" \t\r", None),
            (b"12 \n", None),
            (br#"{"a":"x}"#, Some((UnclosedString, 5))),
            (br#"{"a":"x\"}"#, Some((UnclosedString, 5))),
            (br#"{"a":"x\"#, Some((EscapeAtEnd, 7))),
            (br#"{"a":"x\\"}"#, None),
            (b"[1,[2]", Some((UnclosedContainer, 0))),
            (b"[1]]", Some((UnopenedContainer, 3))),
            (b"[1,{2]]", Some((MismatchedBracket, 5))),
            (b"{}{}", Some((SecondRoot, 2))),
            (b"1,2", Some((StraySeparator, 1))),
            (b"{},", Some((StraySeparator, 2))),
        ];
        for (line, want) in cases {
            let got = diagnose(line).map(|f| (f.kind, f.at));
            assert_eq!(got, *want, "{}", line.escape_ascii());
        }
        let mut deep = std::vec![b'['; MAX_DEPTH];
        deep.extend(std::vec![b']'; MAX_DEPTH]);
        assert_eq!(diagnose(&deep), None);
        let mut deeper = std::vec![b'['; MAX_DEPTH + 1];
        deeper.extend(std::vec![b']'; MAX_DEPTH + 1]);
        assert_eq!(diagnose(&deeper), Some(Fault { kind: TooDeep, at: MAX_DEPTH }));
    }
}
