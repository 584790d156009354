//! Keys of JSON values: bytes that are equal for equal values, and that are in the order of the values.
//!
//! Values are equal as RFC 9535 compares them (section 2.3.5.2.2): numbers by value (`1`, `1.0` and `10e-1`),
//! strings by their code points with escapes resolved, arrays element by element, objects by their members in
//! any order, of which the first of each name counts. The order of the bytes is:
//!
//! ```text
//! missing < null < false < true < numbers by value < strings by code points < arrays < objects
//! ```
//!
//! A key ends by itself: no key is the start of another. The concatenation of keys is therefore a key of
//! several values, in the order of the first value that differs.
//!
//! | byte | value | the bytes after it |
//! |---|---|---|
//! | 0 | missing | none |
//! | 1, 2, 3 | `null`, `false`, `true` | none |
//! | 4 | number | sign, power of ten in 8 bytes, digits, end; all complemented in a negative number |
//! | 5 | string | its bytes, with 0 as `0 255`, and the end `0 0` |
//! | 6 | array | keys of the elements, and the end 0 |
//! | 7 | object | for each member the key of the name and the key of the value, sorted, and the end 0 |
//! | 8 | a text that is not JSON, which only strict checks refuse | like a string |

use std::io::Write as _;

use crate::decimal;
use crate::json::{self, Cursor, Malformed};

const MISSING: u8 = 0;
const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const NUMBER: u8 = 4;
const STRING: u8 = 5;
const ARRAY: u8 = 6;
const OBJECT: u8 = 7;
const OTHER: u8 = 8;

/// The signs of numbers.
const NEGATIVE: u8 = 0;
const ZERO: u8 = 1;
const POSITIVE: u8 = 2;

/// The most levels of a value; those of a record.
const MAX_DEPTH: usize = 1024;

/// The most zeros that are written after the digits of an integer.
const MAX_ZEROS: i64 = 21;

/// Types of keys, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyType {
    /// No value.
    Missing,
    /// `null`.
    Null,
    /// `false`.
    False,
    /// `true`.
    True,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
    /// A text that is not JSON.
    Other,
}

impl KeyType {
    /// The type of the first value of a key; `None` for bytes that are not a key.
    #[must_use]
    pub fn of(key: &[u8]) -> Option<Self> {
        Some(match *key.first()? {
            MISSING => Self::Missing,
            NULL => Self::Null,
            FALSE => Self::False,
            TRUE => Self::True,
            NUMBER => Self::Number,
            STRING => Self::String,
            ARRAY => Self::Array,
            OBJECT => Self::Object,
            OTHER => Self::Other,
            _ => return None,
        })
    }
}

/// Appends the key of a missing value.
pub fn encode_missing(out: &mut Vec<u8>) {
    out.push(MISSING);
}

/// Appends the key of a value, given as JSON text without white space around it.
pub fn encode(json: &[u8], out: &mut Vec<u8>) {
    let (begin, mut cursor) = (out.len(), Cursor::new(json));
    if value(&mut cursor, MAX_DEPTH, out).is_none() || cursor.peek().is_some() {
        out.truncate(begin);
        out.push(OTHER);
        escape(json, out);
    }
}

/// Appends the key of the next value. Returns `None` for text that is not JSON.
fn value(cursor: &mut Cursor<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    match cursor.peek()? {
        b'"' => string(cursor, out),
        b'[' => array(cursor, depth.checked_sub(1)?, out),
        b'{' => object(cursor, depth.checked_sub(1)?, out),
        _ => {
            match cursor.scalar() {
                b"null" => out.push(NULL),
                b"false" => out.push(FALSE),
                b"true" => out.push(TRUE),
                token => number(token, out)?,
            }
            Some(())
        }
    }
}

fn string(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Option<()> {
    let string = cursor.string().ok()?;
    out.push(STRING);
    let mut decoded = Vec::new();
    escape(string.text(Malformed::Order, &mut decoded)?, out);
    Some(())
}

/// Appends bytes so that they have an end.
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(0, rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend([0, 255]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.extend([0, 0]);
}

fn number(token: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    if !token.iter().all(is_part) {
        return None;
    }
    out.push(NUMBER);
    let sign = out.len();
    out.extend([0; 9]);
    let (negative, power) = decimal::canonical(token, out)?;
    if out.len() == sign + 9 {
        out.truncate(sign);
        out.push(ZERO);
        return Some(());
    }
    out.push(0);
    out[sign + 1..sign + 9].copy_from_slice(&(power as u64 ^ 1 << 63).to_be_bytes());
    if negative {
        out[sign + 1..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    out[sign] = if negative { NEGATIVE } else { POSITIVE };
    Some(())
}

/// Reads the items of the container that the next byte opens, each by `item`.
fn items(
    cursor: &mut Cursor<'_>,
    close: u8,
    mut item: impl FnMut(&mut Cursor<'_>) -> Option<()>,
) -> Option<()> {
    cursor.advance(1);
    cursor.space();
    if cursor.take(close) {
        return Some(());
    }
    loop {
        cursor.space();
        item(cursor)?;
        cursor.space();
        if !cursor.take(b',') {
            return cursor.take(close).then_some(());
        }
    }
}

fn array(cursor: &mut Cursor<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    out.push(ARRAY);
    items(cursor, b']', |cursor| value(cursor, depth, out))?;
    out.push(0);
    Some(())
}

fn object(cursor: &mut Cursor<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    out.push(OBJECT);
    // The key of each member, and the length of its name's key.
    let mut members: Vec<(Vec<u8>, usize)> = Vec::new();
    items(cursor, b'}', |cursor| {
        let mut member = Vec::new();
        if cursor.peek() != Some(b'"') {
            return None;
        }
        string(cursor, &mut member)?;
        cursor.space();
        if !cursor.take(b':') {
            return None;
        }
        cursor.space();
        let name = member.len();
        value(cursor, depth, &mut member)?;
        members.push((member, name));
        Some(())
    })?;
    // The order of members with the same name stays that of the text.
    members.sort_by(|(a, a_name), (b, b_name)| a[..*a_name].cmp(&b[..*b_name]));
    members.dedup_by(|(a, a_name), (b, b_name)| a[..*a_name] == b[..*b_name]);
    members.iter().for_each(|(member, _)| out.extend_from_slice(member));
    out.push(0);
    Some(())
}

/// Appends the JSON text of the first value of a key, and moves `key` past that value. Returns false for a
/// missing value, which has no text.
///
/// Equal values have one text: integers without fraction and exponent where they have at most 21 zeros at the
/// end, strings with as few escapes as possible, members sorted by name, and no white space.
///
/// # Errors
/// `None` for bytes that are not a key.
pub fn decode(key: &mut &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let (tag, rest) = key.split_first()?;
    *key = rest;
    match *tag {
        MISSING => return Some(false),
        NULL => out.extend_from_slice(b"null"),
        FALSE => out.extend_from_slice(b"false"),
        TRUE => out.extend_from_slice(b"true"),
        NUMBER => decode_number(key, out)?,
        STRING => write_string(&unescape(key)?, out),
        OTHER => out.extend_from_slice(&unescape(key)?),
        ARRAY => {
            out.push(b'[');
            decode_items(key, b']', out, |key, out| decode(key, out).map(drop))?;
        }
        OBJECT => {
            out.push(b'{');
            decode_items(key, b'}', out, |key, out| {
                decode(key, out)?;
                out.push(b':');
                decode(key, out).map(drop)
            })?;
        }
        _ => return None,
    }
    Some(true)
}

fn decode_items(
    key: &mut &[u8],
    close: u8,
    out: &mut Vec<u8>,
    mut item: impl FnMut(&mut &[u8], &mut Vec<u8>) -> Option<()>,
) -> Option<()> {
    let begin = out.len();
    while *key.first()? != 0 {
        if out.len() > begin {
            out.push(b',');
        }
        item(key, out)?;
    }
    *key = &key[1..];
    out.push(close);
    Some(())
}

/// The bytes of a string, without its end.
fn unescape(key: &mut &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let at = memchr::memchr(0, key)?;
        bytes.extend_from_slice(&key[..at]);
        let next = *key.get(at + 1)?;
        *key = &key[at + 2..];
        match next {
            0 => return Some(bytes),
            _ => bytes.push(0),
        }
    }
}

fn decode_number(key: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (sign, rest) = key.split_first()?;
    if *sign == ZERO {
        *key = rest;
        out.push(b'0');
        return Some(());
    }
    let flip = if *sign == NEGATIVE { 255 } else { 0 };
    let power = rest.get(..8)?.iter().fold(0, |power, byte| power << 8 | u64::from(byte ^ flip));
    let power = (power ^ 1 << 63) as i64;
    let end = memchr::memchr(flip, &rest[8..])?;
    let digits: Vec<u8> = rest[8..8 + end].iter().map(|digit| digit ^ flip).collect();
    *key = &rest[8 + end + 1..];
    if *sign == NEGATIVE {
        out.push(b'-');
    }
    write_number(&digits, power, out);
    Some(())
}

/// Writes 0.*digits* × 10^*power*.
fn write_number(digits: &[u8], power: i64, out: &mut Vec<u8>) {
    let count = digits.len() as i64;
    let zeros = |count: i64, out: &mut Vec<u8>| out.extend(std::iter::repeat_n(b'0', count as usize));
    if power >= count && power - count <= MAX_ZEROS {
        out.extend_from_slice(digits);
        zeros(power - count, out);
    } else if power > 0 && power < count {
        let (whole, fraction) = digits.split_at(power as usize);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    } else if power <= 0 && power > -6 {
        out.extend_from_slice(b"0.");
        zeros(-power, out);
        out.extend_from_slice(digits);
    } else {
        out.push(digits[0]);
        if count > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        // Writing to a vector cannot fail.
        let _ = write!(out, "e{}", power - 1);
    }
}

/// Appends bytes as a string of JSON, with its quotes. Surrogates without a partner are escaped, and other
/// bytes that are not UTF-8 stay as they are.
pub fn write_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = bytes;
    loop {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        let text = json::encode(valid);
        out.extend_from_slice(&text.as_bytes()[1..text.len() - 1]);
        rest = &rest[valid.len()..];
        match rest {
            [] => break,
            [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ..] => {
                let unit = 0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
                // Writing to a vector cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
                rest = &rest[3..];
            }
            [byte, ..] => {
                out.push(*byte);
                rest = &rest[1..];
            }
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use warpath_random::table::texts;

    use super::*;

    const CASES: &str = include_str!("key/cases.txt");

    fn key(json: &str) -> Vec<u8> {
        let mut key = Vec::new();
        encode(json.as_bytes(), &mut key);
        key
    }

    fn text(json: &str) -> String {
        let (key, mut out) = (key(json), Vec::new());
        let mut rest = &key[..];
        assert_eq!(decode(&mut rest, &mut out), Some(true), "{json}");
        assert!(rest.is_empty(), "{json}");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_are_in_the_order_of_values() {
        let ordered = texts::<1>(CASES, "ordered").concat();
        for pair in ordered.windows(2) {
            assert!(key(&pair[0]) < key(&pair[1]), "{} {}", pair[0], pair[1]);
            assert!(!key(&pair[1]).starts_with(&key(&pair[0])), "{} {}", pair[0], pair[1]);
        }
        let mut missing = Vec::new();
        encode_missing(&mut missing);
        assert!(missing < key("null"));
        assert_eq!(decode(&mut &missing[..], &mut Vec::new()), Some(false));
    }

    #[test]
    fn equal_values_have_one_text() {
        for [spelt, plain] in texts(CASES, "equal") {
            assert_eq!(text(&spelt), plain, "{spelt}");
            assert_eq!(key(&plain), key(&spelt), "{spelt}");
        }
    }

    #[test]
    fn values_that_are_too_deep_have_a_key_too() {
        let deep = "[".repeat(2000) + &"]".repeat(2000);
        assert_eq!(KeyType::of(&key(&deep)), Some(KeyType::Other));
        assert_eq!(text(&deep), deep);
        let fits = "[".repeat(1024) + &"]".repeat(1024);
        assert_eq!(KeyType::of(&key(&fits)), Some(KeyType::Array));
    }

    #[test]
    fn bytes_that_are_not_keys_are_refused() {
        for bytes in
            [&[][..], &[9], &[NUMBER], &[NUMBER, POSITIVE, 1], &[STRING, b'a'], &[STRING, 0], &[ARRAY]]
        {
            assert_eq!(decode(&mut &bytes[..], &mut Vec::new()), None, "{bytes:?}");
        }
    }
}
