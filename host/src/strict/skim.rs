//! One line by the grammar of RFC 8259, fast where nothing is wrong with it.
//!
//! Says only whether a line is good. A line that it does not take for good is read again by [`super::record`], which has the last
//! word: such are faulty lines, and those that nest deeper than [`MAX_DEPTH`]. So every shortcut may refuse, and none may accept.
//!
//! Most bytes stand in strings, which are passed eight at a time; what is left is looked at by class, and each value leads
//! straight to what must follow it. The kinds of open containers are the bits of one word.

/// How deep lines are followed: as many as a word has bits.
const MAX_DEPTH: u32 = u64::BITS;

/// A line that is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Where the next one begins.
    pub next: usize,
    /// Whether it is a record; if not, it is blank.
    pub record: bool,
}

/// The byte at a place, behind the text a newline: each line ends in one.
#[inline(always)]
fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(b'\n')
}

/// The first byte from a place on that is no white space within a line.
#[inline(always)]
fn space(text: &[u8], mut at: usize) -> usize {
    while matches!(byte(text, at), b' ' | b'\t' | b'\r') {
        at += 1;
    }
    at
}

/// The line that begins at a place, if it is blank or one JSON text; whether it is UTF-8 is not asked.
#[inline(always)]
pub(super) fn line(text: &[u8], at: usize) -> Option<Line> {
    let begin = space(text, at);
    let record = byte(text, begin) != b'\n';
    let end = if record { space(text, value(text, begin)?) } else { begin };
    (byte(text, end) == b'\n').then_some(Line { next: end + 1, record })
}

/// Where the value that begins at a place ends.
#[inline(always)]
fn value(text: &[u8], mut at: usize) -> Option<usize> {
    // Whether the containers that are open are objects: the innermost is the lowest bit.
    let (mut objects, mut depth) = (0u64, 0);
    'value: loop {
        at = match byte(text, at) {
            b'"' => string(text, at + 1)?,
            b'-' | b'0'..=b'9' => number(text, at)?,
            b'{' => {
                if depth == MAX_DEPTH {
                    return None;
                }
                at = space(text, at + 1);
                if byte(text, at) == b'"' {
                    (objects, depth) = (objects << 1 | 1, depth + 1);
                    at = name(text, at)?;
                    continue 'value;
                }
                closed(text, at, b'}')?
            }
            b'[' => {
                if depth == MAX_DEPTH {
                    return None;
                }
                at = space(text, at + 1);
                if byte(text, at) != b']' {
                    (objects, depth) = (objects << 1, depth + 1);
                    continue 'value;
                }
                at + 1
            }
            b't' => literal(text, at, b"true")?,
            b'n' => literal(text, at, b"null")?,
            b'f' => literal(text, at, b"false")?,
            _ => return None,
        };
        // What follows a value, and the containers that end with it.
        loop {
            if depth == 0 {
                return Some(at);
            }
            at = space(text, at);
            let object = objects & 1 == 1;
            match byte(text, at) {
                b',' => {
                    at = space(text, at + 1);
                    if object {
                        at = name(text, at)?;
                    }
                    continue 'value;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ => return None,
            }
            (objects, depth, at) = (objects >> 1, depth - 1, at + 1);
        }
    }
}

/// The place behind a byte, if that is there.
#[inline(always)]
fn closed(text: &[u8], at: usize, close: u8) -> Option<usize> {
    (byte(text, at) == close).then_some(at + 1)
}

/// Where the value begins whose name begins at a place.
#[inline(always)]
fn name(text: &[u8], at: usize) -> Option<usize> {
    let at = string(text, closed(text, at, b'"')?)?;
    Some(space(text, closed(text, space(text, at), b':')?))
}

#[inline(always)]
fn literal(text: &[u8], at: usize, literal: &[u8]) -> Option<usize> {
    text.get(at..)?.starts_with(literal).then_some(at + literal.len())
}

#[inline(always)]
fn number(text: &[u8], mut at: usize) -> Option<usize> {
    at += (byte(text, at) == b'-') as usize;
    at = if byte(text, at) == b'0' { at + 1 } else { digits(text, at)? };
    if byte(text, at) == b'.' {
        at = digits(text, at + 1)?;
    }
    if let b'e' | b'E' = byte(text, at) {
        at += 1;
        at = digits(text, at + matches!(byte(text, at), b'+' | b'-') as usize)?;
    }
    // A digit behind a zero is nothing that may follow a value.
    Some(at)
}

/// Where one digit or more end.
#[inline(always)]
fn digits(text: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    while byte(text, at).is_ascii_digit() {
        at += 1;
    }
    (at > begin).then_some(at)
}

const LOW: u64 = u64::MAX / 255;
const HIGH: u64 = LOW << 7;

/// The highest bit of each byte that is a quote, a backslash or below 0x20. Above the lowest of them there may be others, which
/// mean nothing: a byte from which too much is subtracted borrows from the next.
///
/// ```text
/// byte        x - 1    & !x     & 0x80
/// 00          ff         ff       80       zero
/// 01..7f      00..7e     fe..80   00
/// 80          7f         7f       00
/// 81..ff      80..fe     7e..00   00
/// ```
#[inline(always)]
fn specials(word: u64) -> u64 {
    let below = |word: u64, bound: u64| word.wrapping_sub(LOW * bound) & !word;
    let equal = |byte: u8| below(word ^ LOW * u64::from(byte), 1);
    (equal(b'"') | equal(b'\\') | below(word, 0x20)) & HIGH
}

/// Where a string ends, its closing quote included, of which the bytes from a place on are read.
#[inline(always)]
fn string(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
            let specials = specials(u64::from_le_bytes(*bytes));
            at += (specials.trailing_zeros() / 8) as usize;
            if specials != 0 {
                break;
            }
        }
        match byte(text, at) {
            b'"' => return Some(at + 1),
            b'\\' => at = escape(text, at)?,
            0..=0x1f => return None,
            // Of the last seven bytes of a text.
            _ => at += 1,
        }
    }
}

/// Where an escape ends.
#[inline(always)]
fn escape(text: &[u8], at: usize) -> Option<usize> {
    match byte(text, at + 1) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = text.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_special_byte_is_found() {
        for first in 0..=u8::MAX {
            let special = first < 0x20 || first == b'"' || first == b'\\';
            for second in 0..=u8::MAX {
                let next = second < 0x20 || second == b'"' || second == b'\\';
                for at in 0..7 {
                    let mut bytes = [b'a'; 8];
                    (bytes[at], bytes[at + 1]) = (first, second);
                    let want = if special {
                        at
                    } else if next {
                        at + 1
                    } else {
                        8
                    };
                    let got = specials(u64::from_le_bytes(bytes)).trailing_zeros() / 8;
                    assert_eq!(got as usize, want, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn lines_end_where_they_should() {
        let good = |next, record| Some(Line { next, record });
        for (text, want) in [
            ("", good(1, false)),
            (" \t\r\n{}", good(4, false)),
            ("{}\n[]", good(3, true)),
            (" {\"a\" : [ 1 , -0.5e+3 , \"\\u00e9\" ] , \"b\":{ }} \r\ntrue", good(48, true)),
            ("[[],{},[{}]]", good(13, true)),
            ("01\n", None),
            ("[1,\n2]", None),
            ("\"a\nb\"", None),
            ("1 2", None),
        ] {
            assert_eq!(line(text.as_bytes(), 0), want, "{text}");
        }
    }
}
