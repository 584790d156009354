//! Strings of JSON (RFC 8259, section 7): escapes written and resolved.

use memchr::{memchr, memchr2};
use warpath_shared::column::{self, Kind, Said};
use warpath_shared::units::PartOffset;

/// The text between the quotes of a value, if it is a string.
#[inline]
#[must_use]
pub fn inside(json: &[u8]) -> Option<&[u8]> {
    json.strip_prefix(b"\"")?.strip_suffix(b"\"")
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

/// The rule for decoding malformed strings; the [module](super) compares the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A surrogate without its partner becomes U+FFFD. What else is malformed stays as it is.
    Keep,
    /// A surrogate without its partner becomes the three bytes that UTF-8 would have for it, so that strings
    /// compare by code points. What else is malformed stays as it is.
    Order,
    /// A surrogate without its partner becomes U+FFFD. What else is malformed makes the string one without a
    /// value.
    Refuse,
}

/// Appends the value of a string, given without its quotes: its text with escapes resolved. Returns whether
/// it has a value; if not, nothing is appended.
pub fn decode(inside: &[u8], malformed: Malformed, out: &mut Vec<u8>) -> bool {
    let (begin, strict) = (out.len(), malformed == Malformed::Refuse);
    // Escapes that JSON has are ASCII, so the text is UTF-8 where the parts between them are.
    if strict && std::str::from_utf8(inside).is_err() {
        return false;
    }
    // No string is longer than its text.
    out.reserve(inside.len());
    let mut rest = inside;
    loop {
        if let Some((character, len)) = unescape(rest) {
            push(out, character);
            rest = &rest[len..];
            continue;
        }
        let (plain, from) = rest.split_at(plain_len(rest, strict));
        out.extend_from_slice(plain);
        if from.is_empty() {
            return true;
        }
        if !plain.is_empty() {
            rest = from;
            continue;
        }
        let len = match Escape::read(from) {
            Some(escape) => {
                let (utf8, len) = match escape.lone_surrogate() {
                    Some(unit) if malformed == Malformed::Order => (three_bytes(unit), 3),
                    _ => escape.utf8(),
                };
                out.extend_from_slice(&utf8[..len]);
                escape.len()
            }
            None if strict => {
                out.truncate(begin);
                return false;
            }
            None => {
                let len = from.len().min(2);
                out.extend_from_slice(&from[..len]);
                len
            }
        };
        rest = &from[len..];
    }
}

/// The number of bytes before the first backslash, or, if `strict`, before the first quote.
#[inline]
fn plain_len(text: &[u8], strict: bool) -> usize {
    /// The bytes that are looked at one by one. Escapes are often close to each other, and a call of `memchr`
    /// costs more than a few bytes.
    const NEAR: usize = 8;

    let ends = |byte: &u8| *byte == b'\\' || strict && *byte == b'"';
    if let Some(at) = text.iter().take(NEAR).position(ends) {
        return at;
    }
    let far = text.get(NEAR..).unwrap_or_default();
    let at = if strict { memchr2(b'\\', b'"', far) } else { memchr(b'\\', far) };
    at.map_or(text.len(), |at| NEAR + at)
}

/// The character of the escape at the start of a text, and the length of the escape. `None` for a surrogate
/// without its partner, and for what is no escape of JSON. This is [`Escape::read`] without these.
#[inline]
#[must_use]
pub fn unescape(text: &[u8]) -> Option<(char, usize)> {
    let [b'\\', kind, ..] = text else { return None };
    let simple = match kind {
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let unit = code_unit(text)?;
            if !(0xd800..0xdc00).contains(&unit) {
                return Some((char::from_u32(unit)?, 6));
            }
            let low = code_unit(&text[6..]).filter(|low| (0xdc00..0xe000).contains(low))?;
            return Some((char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00))?, 12));
        }
        _ => return None,
    };
    Some((simple, 2))
}

/// The UTF-16 code unit of a `\uXXXX` at the start of a text.
#[inline]
fn code_unit(text: &[u8]) -> Option<u32> {
    let Some([b'\\', b'u', digits @ ..]) = text.first_chunk::<6>() else { return None };
    let [a, b, c, d] = digits.map(|digit| HEX[usize::from(digit)]);
    (a | b | c | d < 16).then_some(u32::from(u16::from_be_bytes([a << 4 | b, c << 4 | d])))
}

/// The value of each byte as a hexadecimal digit; 255 for a byte that is none.
const HEX: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// Appends a character.
#[inline]
fn push(out: &mut Vec<u8>, character: char) {
    let mut utf8 = [0; 4];
    let end = out.len() + character.encode_utf8(&mut utf8).len();
    // A fixed number of bytes is copied without a call.
    out.extend_from_slice(&utf8);
    out.truncate(end);
}

/// An escape of JSON.
#[derive(Clone, Copy, Debug)]
pub struct Escape<'a> {
    text: &'a [u8],
    said: Said,
}

impl<'a> Escape<'a> {
    /// The longest escape: a pair of surrogates.
    const MAX_LEN: usize = 12;

    /// The escape at the start of a text, if JSON has it.
    #[inline]
    #[must_use]
    pub fn read(text: &'a [u8]) -> Option<Self> {
        if text.first() != Some(&b'\\') {
            return None;
        }
        let text = &text[..text.len().min(Self::MAX_LEN)];
        let said = column::say(0, text.len() as PartOffset, |at| text[at as usize], false)?;
        Some(Self { text: &text[..said.next as usize], said })
    }

    /// The length of the escape in bytes.
    #[inline]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an escape has two bytes at least")]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// The character of the escape; `None` for a surrogate without its partner.
    #[must_use]
    pub fn character(&self) -> Option<char> {
        let (utf8, len) = self.utf8();
        let character = std::str::from_utf8(&utf8[..len]).ok()?.chars().next();
        character.filter(|_| self.lone_surrogate().is_none())
    }

    /// The surrogate that the escape is, if it has no partner.
    #[inline]
    #[must_use]
    pub fn lone_surrogate(&self) -> Option<u16> {
        // The shared rule has put U+FFFD in its place.
        if self.said.bytes != u32::from_le_bytes([0xef, 0xbf, 0xbd, 0]) {
            return None;
        }
        let digits = std::str::from_utf8(self.text.strip_prefix(b"\\u")?).ok()?;
        u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
    }

    /// The UTF-8 form, and its length; U+FFFD for a surrogate without its partner.
    #[inline]
    fn utf8(&self) -> ([u8; 4], usize) {
        (self.said.bytes.to_le_bytes(), self.said.len as usize)
    }
}

/// The three bytes that UTF-8 would have for a surrogate.
fn three_bytes(unit: u16) -> [u8; 4] {
    let tail = |shift: u32| 0x80 | (unit >> shift) as u8 & 0x3f;
    [0xe0 | (unit >> 12) as u8, tail(6), tail(0), 0]
}

/// Appends what a value says, if it is one of the kind.
pub fn say(kind: Kind, value: &[u8], out: &mut Vec<u8>) -> bool {
    if kind == Kind::Json {
        let (end, byte) = (value.len() as PartOffset, |at: PartOffset| value[at as usize]);
        let valid = !column::is_null(0, end, byte) && std::str::from_utf8(value).is_ok();
        out.extend_from_slice(if valid { value } else { &[] });
        return valid;
    }
    inside(value).is_some_and(|inside| decode(inside, Malformed::Refuse, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Bytes;
    use warpath_shared::query::compare::ValueBytes;
    use warpath_shared::view::View;

    fn decoded(json: &[u8], malformed: Malformed) -> Option<Vec<u8>> {
        let mut out = b"before".to_vec();
        let valid = decode(inside(json).unwrap(), malformed, &mut out);
        assert!(out.starts_with(b"before") && (valid || out.len() == 6));
        valid.then(|| out.split_off(6))
    }

    /// A string as twigs compare it on devices.
    fn in_order(json: &[u8]) -> Vec<u8> {
        let inside = inside(json).unwrap();
        let text = Bytes(inside);
        let mut decoder = ValueBytes::text(&text, View::from_slice(&[])).decode(0, inside.len() as u32);
        std::iter::from_fn(|| decoder.next_byte()).collect()
    }

    #[test]
    fn encoding_is_undone_by_decoding() {
        let all: String = ('\0'..='\u{ff}').chain("☺😀\u{fffd}".chars()).collect();
        let json = encode(&all);
        assert!(json.bytes().all(|byte| byte >= b' '));
        for malformed in [Malformed::Keep, Malformed::Order, Malformed::Refuse] {
            assert_eq!(decoded(json.as_bytes(), malformed).as_deref(), Some(all.as_bytes()));
        }
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
            for malformed in [Malformed::Keep, Malformed::Refuse] {
                assert_eq!(
                    decoded(json.as_bytes(), malformed).as_deref(),
                    Some(text.as_bytes()),
                    "{json} {malformed:?}"
                );
            }
            assert_eq!(decoded(json.as_bytes(), Malformed::Order), Some(in_order(json.as_bytes())), "{json}");
        }
    }

    #[test]
    fn surrogates_are_in_the_order_of_code_points() {
        for (json, bytes) in [
            (r#""\ud83d""#, &b"\xed\xa0\xbd"[..]),
            (r#""\udfffx\ud800\n""#, b"\xed\xbf\xbfx\xed\xa0\x80\n"),
            (r#""\ud83d\ud83d\ude00\ufffd""#, b"\xed\xa0\xbd\xf0\x9f\x98\x80\xef\xbf\xbd"),
        ] {
            assert_eq!(decoded(json.as_bytes(), Malformed::Order).as_deref(), Some(bytes), "{json}");
            assert_eq!(in_order(json.as_bytes()), bytes, "{json}");
        }
    }

    #[test]
    fn what_is_no_escape_stays_or_is_refused() {
        let malformed: [&[u8]; 8] = [
            br#""\x""#,
            br#""\u12""#,
            br#""\u12g4""#,
            br#""\u+123""#,
            br#""\""#,
            br#""\'""#,
            br#""a"b""#,
            b"\"\xff\xe2\x98\"",
        ];
        for json in malformed {
            for malformed in [Malformed::Keep, Malformed::Order] {
                assert_eq!(decoded(json, malformed).as_deref(), inside(json), "{json:?} {malformed:?}");
            }
            assert_eq!(in_order(json), inside(json).unwrap(), "{json:?}");
            assert_eq!(decoded(json, Malformed::Refuse), None, "{json:?}");
            let with_escapes = [b"\"\\n", &json[1..json.len() - 1], b"\\t\""].concat();
            if !json.ends_with(b"\\\"") {
                let kept = [b"\n", &json[1..json.len() - 1], b"\t"].concat();
                assert_eq!(decoded(&with_escapes, Malformed::Keep), Some(kept), "{json:?}");
                assert_eq!(decoded(&with_escapes, Malformed::Refuse), None, "{json:?}");
            }
        }
        assert_eq!(inside(b""), None);
        assert_eq!(inside(b"\""), None);
        assert_eq!(inside(b"\"\""), Some(&[][..]));
    }

    /// The quick way reads the same escapes as the shared rule, apart from lone surrogates.
    #[test]
    fn quick_escapes_are_those_of_the_rule() {
        let mut texts: Vec<Vec<u8>> = (0..=255u8).map(|kind| vec![b'\\', kind]).collect();
        for unit in 0..=0xffffu32 {
            let other = [0x41, 0xd83d, 0xdc00, 0xdfff][unit as usize % 4];
            texts.push(format!("\\u{unit:04x}").into_bytes());
            texts.push(format!("\\u{unit:04X}\\u{other:04x}").into_bytes());
        }
        for at in 2..6 {
            for byte in 0..=255 {
                let mut text = br"\u12aF".to_vec();
                text[at] = byte;
                texts.push(text);
            }
        }
        for text in texts {
            let slow = Escape::read(&text).and_then(|escape| Some((escape.character()?, escape.len())));
            assert_eq!(unescape(&text), slow, "{}", text.escape_ascii());
            assert!(unescape(&text[..text.len() - 1]).is_none_or(|(_, len)| len < text.len()));
        }
    }

    #[test]
    fn escapes_are_read_one_by_one() {
        for (text, len, character) in [
            (r"\n\n", 2, Some('\n')),
            (r"\u00e9x", 6, Some('é')),
            (r"\ud83d\ude00\ude00", 12, Some('😀')),
            (r"\ufffd", 6, Some('\u{fffd}')),
            (r"\ud83d\u0041", 6, None),
            (r"\ude00", 6, None),
        ] {
            let escape = Escape::read(text.as_bytes()).unwrap();
            assert_eq!((escape.len(), escape.character()), (len, character), "{text}");
        }
        for text in ["", "n", r"\", r"\'", r"\u", r"\u00e", r"\u00eg"] {
            assert!(Escape::read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
