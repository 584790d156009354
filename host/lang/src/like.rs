//! Patterns of strings: equal to, starting with, ending with or containing some bytes, or like a pattern of
//! SQL.
//!
//! In a pattern of `LIKE` (ISO/IEC 9075-2, 8.5), `%` matches any bytes, including none, and `_` matches one
//! character. All other characters match themselves. After an optional *escape character*, `%`, `_` and the
//! escape character itself match themselves. The pattern must match the whole string: the empty pattern
//! matches the empty string only.
//!
//! *Characters*: `_` is one character of UTF-8. Where bytes are not UTF-8, `_` is one byte that is not a
//! continuation byte (`0x80` to `0xBF`), and any continuation bytes after it. The rest of the pattern takes
//! precedence for these. So a lone surrogate in three bytes is one character, and so is each byte `0xFF`.
//! Only `%` matches continuation bytes at the start of a string.
//!
//! *Ignoring case*, two characters are equal if Unicode's simple case folding maps them to the same character
//! (`CaseFolding.txt`, the statuses C and S). So `É` is `é`, and `ſ` is `s`, but `ß` is not `ss`, and `ı` is
//! not `i`.

use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, Repetition,
};

use crate::jsonpath::PatternKind;

/// A pattern of strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Strings that equal these bytes.
    Equals(Vec<u8>),
    /// Strings that begin with these bytes.
    StartsWith(Vec<u8>),
    /// Strings that end with these bytes.
    EndsWith(Vec<u8>),
    /// Strings that contain these bytes.
    Contains(Vec<u8>),
    /// Strings that match a pattern of SQL; [`Pattern::like`] creates one.
    Like(Like),
}

/// A pattern of SQL's `LIKE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Like(Vec<Part>);

/// A part of a pattern. Neighbouring parts are never two literals or two `%`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(Vec<u8>),
    /// `_`
    Character,
    /// `%`
    Anything,
}

/// The reason why a text is not a pattern of `LIKE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LikeError {
    /// The escape character at this byte of the pattern is the last character.
    #[error("byte {0} of the pattern is an escape character with nothing after it")]
    EscapesNothing(usize),
    /// The escape character at this byte of the pattern precedes a character that needs no escape.
    #[error("the escape character at byte {0} of the pattern must precede `%`, `_` or itself")]
    EscapesOther(usize),
}

impl Pattern {
    /// Creates a pattern of `LIKE`, with or without an escape character. The escape character may be `%` or
    /// `_`, which then has no other meaning.
    ///
    /// # Errors
    /// [`LikeError`] for an escape character at the end, or before a character that needs none. Databases
    /// differ here; this is the standard's rule.
    pub fn like(pattern: &str, escape: Option<char>) -> Result<Self, LikeError> {
        let mut parts = Vec::new();
        let mut chars = pattern.char_indices();
        while let Some((at, char)) = chars.next() {
            if Some(char) == escape {
                let (_, escaped) = chars.next().ok_or(LikeError::EscapesNothing(at))?;
                if !matches!(escaped, '%' | '_') && escaped != char {
                    return Err(LikeError::EscapesOther(at));
                }
                push_literal(&mut parts, escaped);
            } else if char == '_' {
                parts.push(Part::Character);
            } else if char != '%' {
                push_literal(&mut parts, char);
            } else if parts.last() != Some(&Part::Anything) {
                parts.push(Part::Anything);
            }
        }
        Ok(Self::Like(Like(parts)))
    }

    /// Returns true if a string matches: the reference rule for automata. The time is the pattern's length
    /// times the string's.
    #[must_use]
    pub fn matches(&self, string: &[u8]) -> bool {
        match self {
            Self::Equals(bytes) => string == bytes,
            Self::StartsWith(bytes) => string.starts_with(bytes),
            Self::EndsWith(bytes) => string.ends_with(bytes),
            Self::Contains(bytes) => memchr::memmem::find(string, bytes).is_some(),
            Self::Like(like) => like.matches(string),
        }
    }

    /// Returns the pattern as an expression that is matched from a string's first byte on. The kind decides
    /// if the match must extend to the last byte.
    pub fn expression(&self) -> (Hir, PatternKind) {
        self.expression_of(literal)
    }

    /// Returns the pattern, ignoring case, as an expression like [`expression`](Self::expression).
    pub fn folded_expression(&self) -> (Hir, PatternKind) {
        self.expression_of(folded)
    }

    fn expression_of(&self, literal: fn(&[u8]) -> Hir) -> (Hir, PatternKind) {
        let (parts, kind) = match self {
            Self::Equals(bytes) => (vec![literal(bytes)], PatternKind::Match),
            Self::StartsWith(bytes) => (vec![literal(bytes)], PatternKind::Search),
            Self::EndsWith(bytes) => (vec![anything(), literal(bytes)], PatternKind::Match),
            Self::Contains(bytes) => (vec![anything(), literal(bytes)], PatternKind::Search),
            Self::Like(Like(parts)) => match parts.split_last() {
                Some((Part::Anything, before)) => (expressions(before, literal), PatternKind::Search),
                _ => (expressions(parts, literal), PatternKind::Match),
            },
        };
        (Hir::concat(parts), kind)
    }

    /// Returns the longest text that each matching string contains, case included. It may be empty.
    pub fn longest_literal(&self) -> &[u8] {
        match self {
            Self::Equals(bytes) | Self::StartsWith(bytes) | Self::EndsWith(bytes) | Self::Contains(bytes) => {
                bytes
            }
            Self::Like(Like(parts)) => {
                let literals = parts.iter().filter_map(|part| match part {
                    Part::Literal(bytes) => Some(bytes.as_slice()),
                    Part::Character | Part::Anything => None,
                });
                literals.max_by_key(|bytes| bytes.len()).unwrap_or_default()
            }
        }
    }
}

impl Like {
    /// Tracks, byte by byte, the positions of the pattern that the string so far can reach.
    fn matches(&self, string: &[u8]) -> bool {
        let steps: Vec<ByteStep> = self.0.iter().flat_map(Part::steps).collect();
        let mut places = vec![false; steps.len() + 1];
        let mut next = places.clone();
        places[0] = true;
        skip(&steps, &mut places);
        for byte in string {
            next.fill(false);
            for (at, step) in steps.iter().enumerate().filter(|(at, _)| places[*at]) {
                match step {
                    ByteStep::Byte(wanted) => next[at + 1] |= wanted == byte,
                    ByteStep::First => next[at + 1] |= !is_continuation(*byte),
                    ByteStep::Rest => next[at] |= is_continuation(*byte),
                    ByteStep::Anything => next[at] = true,
                }
            }
            skip(&steps, &mut next);
            std::mem::swap(&mut places, &mut next);
        }
        places[steps.len()]
    }
}

/// A step of a pattern, which takes a byte. Steps that take any number of bytes may be skipped.
#[derive(Clone, Copy)]
enum ByteStep {
    Byte(u8),
    /// The first byte of a character.
    First,
    /// The bytes of a character after the first.
    Rest,
    Anything,
}

impl Part {
    fn steps(&self) -> Vec<ByteStep> {
        match self {
            Self::Literal(bytes) => bytes.iter().copied().map(ByteStep::Byte).collect(),
            Self::Character => vec![ByteStep::First, ByteStep::Rest],
            Self::Anything => vec![ByteStep::Anything],
        }
    }
}

/// Adds the positions after steps that may be skipped.
fn skip(steps: &[ByteStep], places: &mut [bool]) {
    for (at, step) in steps.iter().enumerate() {
        if places[at] && matches!(step, ByteStep::Rest | ByteStep::Anything) {
            places[at + 1] = true;
        }
    }
}

fn is_continuation(byte: u8) -> bool {
    (0x80..=0xbf).contains(&byte)
}

fn push_literal(parts: &mut Vec<Part>, char: char) {
    let mut room = [0; 4];
    let bytes = char.encode_utf8(&mut room).as_bytes();
    match parts.last_mut() {
        Some(Part::Literal(literal)) => literal.extend_from_slice(bytes),
        _ => parts.push(Part::Literal(bytes.to_vec())),
    }
}

fn literal(bytes: &[u8]) -> Hir {
    Hir::literal(bytes)
}

/// The expression of a literal, ignoring case. Bytes that are not UTF-8 have no case.
fn folded(bytes: &[u8]) -> Hir {
    let folded = |c| {
        let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
        class.case_fold_simple();
        Hir::class(Class::Unicode(class))
    };
    let chunks = bytes.utf8_chunks();
    Hir::concat(
        chunks
            .flat_map(|chunk| chunk.valid().chars().map(folded).chain([literal(chunk.invalid())]))
            .collect(),
    )
}

fn bytes(ranges: &[(u8, u8)]) -> Hir {
    let ranges = ranges.iter().map(|(first, last)| ClassBytesRange::new(*first, *last));
    Hir::class(Class::Bytes(ClassBytes::new(ranges)))
}

fn any_number_of(hir: Hir) -> Hir {
    Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub: Box::new(hir) })
}

fn anything() -> Hir {
    any_number_of(bytes(&[(0, 0xff)]))
}

fn expressions(parts: &[Part], literal: fn(&[u8]) -> Hir) -> Vec<Hir> {
    let expression = |part: &Part| match part {
        Part::Literal(bytes) => literal(bytes),
        Part::Anything => anything(),
        Part::Character => {
            Hir::concat(vec![bytes(&[(0, 0x7f), (0xc0, 0xff)]), any_number_of(bytes(&[(0x80, 0xbf)]))])
        }
    };
    parts.iter().map(expression).collect()
}

#[cfg(test)]
mod tests {
    use warpath_random::table::rows;

    use super::*;
    use crate::pattern::automaton_of;

    fn like(pattern: &str, string: impl AsRef<[u8]>) -> bool {
        Pattern::like(pattern, Some('!')).unwrap().matches(string.as_ref())
    }

    #[test]
    fn like_is_what_sql_says() {
        for [pattern, string, matches] in rows(include_str!("like.txt"), "like") {
            let (pattern, matches) = (str::from_utf8(&pattern).unwrap(), matches == b"true");
            assert_eq!(like(pattern, &string), matches, "{pattern:?} {}", string.escape_ascii());
        }
    }

    #[test]
    fn case_is_ignored_by_simple_folding() {
        for [pattern, string, matches] in rows(include_str!("like.txt"), "folded") {
            let pattern = str::from_utf8(&pattern).unwrap();
            let automaton = automaton_of(&Pattern::like(pattern, Some('!')).unwrap(), true).unwrap();
            let is = automaton.accepts(&string);
            assert_eq!(is, matches == b"true", "{pattern:?} {}", string.escape_ascii());
        }
    }

    #[test]
    fn the_longest_literal_is_in_each_match() {
        let longest = |pattern| Pattern::like(pattern, Some('\\')).unwrap().longest_literal().to_vec();
        assert_eq!(longest("ab%cde_f"), b"cde");
        assert_eq!(longest("%a\\%b_"), b"a%b");
        assert_eq!(longest("%_"), b"");
        assert_eq!(Pattern::EndsWith(b"x".to_vec()).longest_literal(), b"x");
    }

    #[test]
    fn an_escape_character_has_to_escape() {
        let like = |pattern, escape| Pattern::like(pattern, Some(escape));
        assert_eq!(like("ab!", '!'), Err(LikeError::EscapesNothing(2)));
        assert_eq!(like("é!a", '!'), Err(LikeError::EscapesOther(2)));
        assert_eq!(like("!", '\\'), Pattern::like("!", None));
        assert!(like("%%a%_", '%').unwrap().matches(b"%a_"));
        assert!(!like("%%a%_", '%').unwrap().matches(b"%%a_"));
        assert_eq!(like("%a", '%'), Err(LikeError::EscapesOther(0)));
        assert!(like("__%", '_').unwrap().matches(b"_xyz"));
        assert!(like("éé%é%", 'é').unwrap().matches("é12%".as_bytes()));
        assert!(Pattern::like("\\%", None).unwrap().matches(b"\\abc"), "there is no escape character");
    }

    #[test]
    fn bytes_are_bytes() {
        let (ab, none) = (|| b"ab".to_vec(), Vec::new);
        for (string, want) in [
            (&b"ab"[..], [true, true, true, true]),
            (b"abc", [false, true, false, true]),
            (b"cab", [false, false, true, true]),
            (b"cabc", [false, false, false, true]),
            (b"a", [false; 4]),
            (b"", [false; 4]),
        ] {
            let patterns = [
                Pattern::Equals(ab()),
                Pattern::StartsWith(ab()),
                Pattern::EndsWith(ab()),
                Pattern::Contains(ab()),
            ];
            assert_eq!(patterns.map(|pattern| pattern.matches(string)), want, "{string:?}");
        }
        assert!(Pattern::Equals(none()).matches(b"") && !Pattern::Equals(none()).matches(b"a"));
        for pattern in [Pattern::StartsWith(none()), Pattern::EndsWith(none()), Pattern::Contains(none())] {
            assert!(pattern.matches(b"") && pattern.matches(b"a"));
        }
    }
}
