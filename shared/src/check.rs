//! The faults that every evaluation looks for in a record, and the search for the first of them.
//!
//! Checked: a record is one JSON value, and nothing else is on its line. Every string is closed, no line ends
//! in an escape, and brackets balance and match in kind. `:` and `,` are inside a container, and nothing
//! nests deeper than [`MAX_DEPTH`]. A record that is a number or a literal is one by RFC 8259. A `:` follows
//! a string, and no control character is outside strings. Not checked here: all other rules of RFC 8259, and
//! UTF-8. The host checks those on request (*strict*). The faults of strict checks are kinds here too, so
//! that one list has all faults of a record.
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
    /// No JSON value begins where one should: at the start of a record and, strict and by trees, anywhere.
    /// Points at the byte that is there.
    NoValue,
    /// A word is neither `true`, `false` nor `null`. Points at the first byte that differs.
    BadLiteral,
    /// A number begins with a zero and another digit. Points at the second digit.
    LeadingZero,
    /// A number lacks a digit before or after its point, or in its exponent. Points at the byte where the
    /// digit should be.
    NoDigit,
    /// Strict: a string has a byte below 0x20. Points at it.
    ControlInString,
    /// Strict: an escape is not in RFC 8259, section 7. Points at the byte after the backslash.
    BadEscape,
    /// Strict: fewer than four hexadecimal digits follow `\u`. Points at the first other byte.
    BadHexDigit,
    /// A member does not begin with a string. Points at the byte that is there. This kind and the next two
    /// are found by default only where a `:` does not follow a string.
    NoName,
    /// No `:` follows a member's name. Points at the byte that is there.
    NoColon,
    /// Neither `,` nor a closing bracket follows an element or a member. Points at the byte that is there.
    NoSeparator,
    /// Strict, and by trees: a closing bracket follows a `,`. Points at the bracket.
    TrailingComma,
    /// Something other than white space follows the record's value. Points at it.
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
    let begin = line.iter().position(|byte| !is_whitespace(*byte))?;
    if !matches!(line[begin], b'{' | b'[') {
        let byte = |at| line[at as usize];
        return scalar_fault(begin as u32, line.len() as u32, byte)
            .map(|(kind, at)| Fault { kind, at: at as usize });
    }
    let mut braces = [0u64; MAX_DEPTH / 64];
    let mut depth = 0usize;
    let mut opened_at = [0u32; MAX_DEPTH];
    let (mut string, mut escape, mut root_closed) = (None, false, false);
    // The last bracket or separator outside strings, and the offset after it.
    let mut before = (b' ', 0);
    for (at, byte) in line.iter().copied().enumerate() {
        let fault = |kind| Some(Fault { kind, at });
        let escaped = escape;
        escape = byte == b'\\' && !escaped;
        match byte {
            _ if root_closed && depth == 0 && string.is_none() => {
                if let Some(kind) = behind(byte) {
                    return fault(kind);
                }
            }
            b'"' if !escaped => string = if string.is_some() { None } else { Some(at) },
            _ if string.is_some() => {}
            byte if byte < b' ' && !is_whitespace(byte) => return fault(FaultKind::NoValue),
            b'{' | b'[' => {
                if depth == MAX_DEPTH {
                    return fault(FaultKind::TooDeep);
                }
                let bit = 1 << (depth % 64);
                let word = &mut braces[depth / 64];
                *word = if byte == b'{' { *word | bit } else { *word & !bit };
                opened_at[depth] = at as u32;
                depth += 1;
                before = (byte, at + 1);
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
                before = (byte, at + 1);
            }
            b':' | b',' if depth == 0 => return fault(FaultKind::StraySeparator),
            b':' if !follows_quote(at as u32, |at| line[at as usize]) => {
                let in_object = braces[(depth - 1) / 64] >> ((depth - 1) % 64) & 1 == 1;
                return Some(stray_colon(line, at, before, in_object));
            }
            b':' | b',' => before = (byte, at + 1),
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

/// The fault of a byte outside strings after the value of a record. `None` for white space.
#[inline(always)]
fn behind(byte: u8) -> Option<FaultKind> {
    match byte {
        b'{' | b'[' => Some(FaultKind::SecondRoot),
        b'}' | b']' => Some(FaultKind::UnopenedContainer),
        b':' | b',' => Some(FaultKind::StraySeparator),
        byte if is_whitespace(byte) => None,
        _ => Some(FaultKind::BehindRecord),
    }
}

/// Returns the first fault of a record that is no container, and its position. `start` is its first byte, and
/// `end` the end of its line. The contents of a string are not checked.
#[inline(always)]
pub fn scalar_fault(start: u32, end: u32, byte: impl Fn(u32) -> u8) -> Option<(FaultKind, u32)> {
    let at = |place: u32| if place < end { byte(place) } else { b'\n' };
    let mut here = start + 1;
    match at(start) {
        b'"' => {
            let mut escape = false;
            loop {
                if here >= end {
                    let unclosed = (FaultKind::UnclosedString, start);
                    return Some(if escape { (FaultKind::EscapeAtEnd, end - 1) } else { unclosed });
                }
                let byte = at(here);
                here += 1;
                if byte == b'"' && !escape {
                    break;
                }
                escape = byte == b'\\' && !escape;
            }
        }
        first @ (b'-' | b'0'..=b'9') => {
            let digits = |from: u32| {
                let mut to = from;
                while at(to).is_ascii_digit() {
                    to += 1;
                }
                to
            };
            here -= (first != b'-') as u32;
            let mut begun = here;
            here = digits(here);
            if at(begun) == b'0' && here > begun + 1 {
                return Some((FaultKind::LeadingZero, begun + 1));
            }
            if here > begun && at(here) == b'.' {
                begun = here + 1;
                here = digits(begun);
            }
            if here > begun && at(here) | 0x20 == b'e' {
                begun = here + 1 + matches!(at(here + 1), b'+' | b'-') as u32;
                here = digits(begun);
            }
            if here == begun {
                return Some((FaultKind::NoDigit, here));
            }
        }
        first @ (b't' | b'f' | b'n') => {
            // The literal after its first byte, the next byte lowest.
            let mut literal = match first {
                b't' => u32::from_le_bytes(*b"rue\0"),
                b'f' => u32::from_le_bytes(*b"alse"),
                _ => u32::from_le_bytes(*b"ull\0"),
            };
            while literal != 0 {
                if at(here) != literal as u8 {
                    return Some((FaultKind::BadLiteral, here));
                }
                (here, literal) = (here + 1, literal >> 8);
            }
        }
        first => {
            let kind = match behind(first) {
                None | Some(FaultKind::BehindRecord) => FaultKind::NoValue,
                Some(kind) => kind,
            };
            return Some((kind, start));
        }
    }
    while here < end {
        if let Some(kind) = behind(at(here)) {
            return Some((kind, here));
        }
        here += 1;
    }
    None
}

/// The fault of a line with a `:` at `at` that does not follow a string. `before` is the last bracket or
/// separator before it, and the offset after that.
fn stray_colon(line: &[u8], at: usize, (before, start): (u8, usize), in_object: bool) -> Fault {
    let space = |from: usize| from + line[from..at].iter().take_while(|byte| is_whitespace(**byte)).count();
    let first = space(start);
    match before {
        b'{' | b',' if in_object && first < at && line[first] == b'"' => {
            let (mut end, mut escape) = (first + 1, false);
            while end < at && (escape || line[end] != b'"') {
                escape = line[end] == b'\\' && !escape;
                end += 1;
            }
            Fault { kind: FaultKind::NoColon, at: space((end + 1).min(at)) }
        }
        b'{' | b',' if in_object => Fault { kind: FaultKind::NoName, at: first },
        b'[' | b',' | b':' if first == at => Fault { kind: FaultKind::NoValue, at },
        _ => Fault { kind: FaultKind::NoSeparator, at },
    }
}

/// Returns whether a quote is before the `:` at `colon`, perhaps with white space between.
#[inline(always)]
pub fn follows_quote(colon: u32, byte: impl Fn(u32) -> u8) -> bool {
    let mut at = colon;
    while at > 0 && matches!(byte(at - 1), b' ' | b'\t' | b'\r') {
        at -= 1;
    }
    at > 0 && byte(at - 1) == b'"'
}

/// Returns whether a byte below 0x20 may be outside strings. A newline ends a line.
#[inline(always)]
pub const fn is_space_below(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\r')
}

/// Returns whether the two ends of a line allow a record: it is a container from its first byte to its last,
/// or a scalar without a fault, or the line is blank. `end` is the end of the line, without its newline.
#[inline(always)]
pub fn ends_hold(start: u32, end: u32, byte: impl Fn(u32) -> u8) -> bool {
    match trim(start, end, &byte) {
        None => true,
        Some((first, last)) if matches!(byte(first), b'{' | b'[') => matches!(byte(last - 1), b'}' | b']'),
        Some((first, _)) => scalar_fault(first, end, byte).is_none(),
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
            (b"{a:1}", Some((NoName, 1))),
            (b"{ 'a' : 1}", Some((NoName, 2))),
            (b"{1:2}", Some((NoName, 1))),
            (b"{:1}", Some((NoName, 1))),
            (b"[\x0c1]", Some((NoValue, 1))),
            (b"{\"a\x00\":1\x1f}", Some((NoValue, 7))),
            (b"{\"a\"\x0b:1}", Some((NoValue, 4))),
            (b"[\t1,\r2]", None),
            (br#"{"a":1, b:2}"#, Some((NoName, 8))),
            (br#"{"a":{}:1}"#, Some((NoSeparator, 7))),
            (br#"{"a" x:1}"#, Some((NoColon, 5))),
            (br#"{"a\"" "b" x:1}"#, Some((NoColon, 7))),
            (br#"{"a"::1}"#, Some((NoValue, 5))),
            (br#"{"a":1:1}"#, Some((NoSeparator, 6))),
            (b"[1 :2]", Some((NoSeparator, 3))),
            (b"[:2]", Some((NoValue, 1))),
            (b"{\"a\" \r:1,\"b\\\"\" :2}", None),
            (br#"["a":1]"#, None),
            (b"worker started", Some((NoValue, 0))),
            (b"<html>", Some((NoValue, 0))),
            (b" panic: x", Some((NoValue, 1))),
            (b"\x1e{\"id\":1}", Some((NoValue, 0))),
            (b"\\N", Some((NoValue, 0))),
            (b"]", Some((UnopenedContainer, 0))),
            (b"nul", Some((BadLiteral, 3))),
            (b"nulL", Some((BadLiteral, 3))),
            (b"nulls", Some((BehindRecord, 4))),
            (b" false \r\n", None),
            (b"true", None),
            (b"null", None),
            (b"-0.5e+10", None),
            (b"0", None),
            (b"00", Some((LeadingZero, 1))),
            (b"-", Some((NoDigit, 1))),
            (b"-x", Some((NoDigit, 1))),
            (b"1.", Some((NoDigit, 2))),
            (b"1e", Some((NoDigit, 2))),
            (b"1.e5", Some((NoDigit, 2))),
            (b"2026-11-27 a", Some((BehindRecord, 4))),
            (b"1 2", Some((BehindRecord, 2))),
            (br#""a" "b""#, Some((BehindRecord, 4))),
            (br#""a\"""#, None),
            (br#""a"#, Some((UnclosedString, 0))),
            (br#"{"a":1} x"#, Some((BehindRecord, 8))),
            (br#"{"a":1} "x""#, Some((BehindRecord, 8))),
            (br#"{"a":1} \"#, Some((BehindRecord, 8))),
        ];
        for (line, want) in cases {
            let got = diagnose(line).map(|f| (f.kind, f.at));
            assert_eq!(got, *want, "{}", line.escape_ascii());
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let holds = ends_hold(0, text.len() as u32, |at| text[at as usize]);
            // The ends decide about scalars, and about what follows a record.
            let is_container = text.trim_ascii_start().first().is_none_or(|byte| b"{[".contains(byte));
            let is_of_ends = !is_container || matches!(want, Some((BehindRecord, _)));
            assert!(holds || want.is_some(), "{}", line.escape_ascii());
            assert!(!holds || want.is_none() || !is_of_ends, "{}", line.escape_ascii());
        }
        let mut deep = std::vec![b'['; MAX_DEPTH];
        deep.extend(std::vec![b']'; MAX_DEPTH]);
        assert_eq!(diagnose(&deep), None);
        let mut deeper = std::vec![b'['; MAX_DEPTH + 1];
        deeper.extend(std::vec![b']'; MAX_DEPTH + 1]);
        assert_eq!(diagnose(&deeper), Some(Fault { kind: TooDeep, at: MAX_DEPTH }));
    }
}
