//! Strings of JSON: how a text is written as one, and what one says.

use warpath_shared::column::{self, Kind};
use warpath_shared::units::PartOffset;

/// Whether a value's JSON text is a string.
#[must_use]
pub fn is_string(json: &[u8]) -> bool {
    json.len() >= 2 && json[0] == b'"' && json[json.len() - 1] == b'"'
}

/// `text` as a JSON string, with its quotes.
#[must_use]
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Appends what a JSON string says: without its quotes, escapes resolved (RFC 8259, section 7).
///
/// A surrogate without its partner becomes U+FFFD. An escape that JSON does not have stays as it is, as do
/// bytes that are not UTF-8: records are not checked for either. `json` is the string with its quotes.
pub fn decode(json: &[u8], out: &mut Vec<u8>) {
    let mut rest = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let (len, character) = escape(rest);
        match character {
            Some(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend_from_slice(&rest[..len]),
        }
        rest = &rest[len..];
    }
    out.extend_from_slice(rest);
}

/// The escape at the start of `text`: its length, and the character that it stands for, if it is one of JSON's.
fn escape(text: &[u8]) -> (usize, Option<char>) {
    let simple = |c| (2, Some(c));
    match text.get(1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(c @ (b'"' | b'\\' | b'/')) => simple(char::from(*c)),
        Some(b'u') => match code_unit(text) {
            None => (2, None),
            Some(high @ 0xd800..=0xdbff) => match code_unit(&text[6..]) {
                Some(low @ 0xdc00..=0xdfff) => {
                    let code = 0x1_0000 + ((high - 0xd800) << 10 | (low - 0xdc00));
                    (12, char::from_u32(code))
                }
                _ => (6, Some(char::REPLACEMENT_CHARACTER)),
            },
            Some(unit) => (6, Some(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))),
        },
        Some(_) => (2, None),
        None => (1, None),
    }
}

/// The UTF-16 code unit of a `\uXXXX` at the start of `text`.
fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

/// Appends what a value says, if it is one of the kind.
pub fn say(kind: Kind, value: &[u8], out: &mut Vec<u8>) -> bool {
    let (end, byte) = (value.len() as PartOffset, |at: PartOffset| value[at as usize]);
    if kind == Kind::Json {
        let valid = !column::is_null(0, end, byte) && std::str::from_utf8(value).is_ok();
        out.extend_from_slice(if valid { value } else { &[] });
        return valid;
    }
    if !column::is_quoted(0, end, byte) {
        return false;
    }
    let inside = &value[1..value.len() - 1];
    if memchr::memchr2(b'\\', b'"', inside).is_none() {
        let valid = std::str::from_utf8(inside).is_ok();
        out.extend_from_slice(if valid { inside } else { &[] });
        return valid;
    }
    let (begin, mut at) = (out.len(), 1);
    while at < end - 1 {
        let Some(said) = column::say(at, end - 1, byte, false) else {
            out.truncate(begin);
            return false;
        };
        out.extend_from_slice(&said.bytes.to_le_bytes()[..said.len as usize]);
        at = said.next;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(json: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        decode(json, &mut out);
        out
    }

    #[test]
    fn encoding_is_undone_by_decoding() {
        let all: String = ('\0'..='\u{ff}').chain("☺😀\u{fffd}".chars()).collect();
        let json = encode(&all);
        assert!(json.bytes().all(|byte| byte >= b' '));
        assert!(is_string(json.as_bytes()));
        let mut decoded = Vec::new();
        decode(json.as_bytes(), &mut decoded);
        assert_eq!(decoded, all.as_bytes());
    }

    #[test]
    fn escapes_are_resolved() {
        for (json, text) in [
            (r#""""#, ""),
            (r#""plain ☺""#, "plain ☺"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\u0041\u00e9\u263A""#, "Aé☺"),
            (r#""\ud83d\ude00!""#, "😀!"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\u0000""#, "\0"),
        ] {
            assert_eq!(decoded(json.as_bytes()), text.as_bytes(), "{json}");
        }
    }

    #[test]
    fn what_is_no_escape_stays() {
        for json in [r#""\x""#, r#""\u12""#, r#""\u12g4""#, r#""\u+123""#, r#""\""#] {
            assert_eq!(decoded(json.as_bytes()), &json.as_bytes()[1..json.len() - 1], "{json}");
        }
        assert_eq!(decoded(b"\"\xff\\n\xfe\""), b"\xff\n\xfe");
        assert_eq!(decoded(b""), b"");
        assert_eq!(decoded(b"\""), b"");
    }
}
