//! The ways in which writers escape strings.

use memchr::memchr;
use warpath_core::json::{self, Escape};

use super::bytes::{Reader, put};
use super::error::Result;
use super::piece;
use super::scan::{Scanned, equal, high, special};
use super::sections::EXCEPTIONS;

/// The escapes that a writer uses. Bits are set for characters that are escaped although they need not be,
/// or in the longer of two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style(pub(super) u8);

/// Characters above U+007F as `\uXXXX`.
const NON_ASCII: u8 = 1;
/// Hexadecimal digits `A` to `F`.
const UPPER: u8 = 2;
/// `\/`.
const SLASH: u8 = 4;
/// `\u000a` in place of `\n`, and likewise the other four.
const LONG: u8 = 8;
/// `<`, `>` and `&` as `\u003c`, as Go writes them.
const HTML: u8 = 16;
/// U+2028 and U+2029 as escapes.
const SEPARATORS: u8 = 32;
/// U+007F as an escape.
const DELETE: u8 = 64;
/// `'` as an escape.
const APOSTROPHE: u8 = 128;

/// Styles of which single bytes must be looked at.
const RARE: u8 = HTML | SEPARATORS | DELETE | APOSTROPHE;

/// The bit that decides about an ASCII character which a string may have as it is; 0 for one that no style
/// escapes.
fn bit_of(byte: u8) -> u8 {
    match byte {
        b'/' => SLASH,
        b'<' | b'>' | b'&' => HTML,
        0x7f => DELETE,
        b'\'' => APOSTROPHE,
        _ => 0,
    }
}

/// Returns true for a character that all styles print as it is.
fn has_one_spelling(c: char) -> bool {
    matches!(c, ' '..'\u{7f}') && !matches!(c, '"' | '\\') && bit_of(c as u8) == 0
}

/// The letter of the short escape of a control character.
fn short(byte: u8) -> Option<u8> {
    match byte {
        8 => Some(b'b'),
        9 => Some(b't'),
        10 => Some(b'n'),
        12 => Some(b'f'),
        13 => Some(b'r'),
        _ => None,
    }
}

impl Style {
    fn has(self, bits: u8) -> bool {
        self.0 & bits != 0
    }

    /// Returns true if both styles print strings alike that need no escapes and have no byte above 0x7f.
    pub(super) fn is_alike_without_escapes(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(NON_ASCII | UPPER | LONG) == 0
    }

    /// Returns true if a string without escapes is what this style prints for it.
    #[inline]
    pub(super) fn keeps(self, inside: &[u8], scanned: Scanned) -> bool {
        if !self.has(NON_ASCII | SLASH | RARE) {
            return true;
        }
        if self.has(NON_ASCII) && scanned.high || self.has(SLASH) && scanned.slash {
            return false;
        }
        !self.has(RARE) || self.keeps_rare(inside)
    }

    fn keeps_rare(self, inside: &[u8]) -> bool {
        let mut rest = inside;
        while let Some(piece) = rest.first_chunk()
            && !self.has_rare(piece)
        {
            rest = &rest[piece::LONG..];
        }
        while !rest.is_empty() {
            if self.rare(piece::word(rest)) != 0 {
                break;
            }
            rest = rest.get(8..).unwrap_or_default();
        }
        let separator = |at: usize| {
            self.has(SEPARATORS) && matches!(rest.get(at..at + 3), Some([0xe2, 0x80, 0xa8 | 0xa9]))
        };
        rest.iter().enumerate().all(|(at, byte)| !self.has(bit_of(*byte) & RARE) && !separator(at))
    }

    /// The high bit of each byte that styles seldom escape and this one does, or that may begin such a
    /// character. Bytes after the first such byte may be wrong.
    #[inline]
    fn rare(self, word: u64) -> u64 {
        let html = equal(word, b'<') | equal(word, b'>') | equal(word, b'&');
        let separators = equal(word, 0xe2) & mask(self.has(SEPARATORS));
        let delete = equal(word, 0x7f) & mask(self.has(DELETE));
        let apostrophe = equal(word, b'\'') & mask(self.has(APOSTROPHE));
        html & mask(self.has(HTML)) | separators | delete | apostrophe
    }

    /// Appends the text of a string with escapes, given without its quotes. Returns whether this style prints
    /// the string so. `None` for an escape that JSON does not have.
    pub(super) fn unescape(self, inside: &[u8], scanned: Scanned, out: &mut Vec<u8>) -> Option<bool> {
        // The flags are of the raw bytes, and escapes have neither high bytes nor, apart from `\/`, slashes.
        let mut kept = !(self.has(NON_ASCII) && scanned.high);
        let mut rest = inside;
        out.reserve(inside.len());
        while let Some(at) = next_backslash(rest) {
            let (plain, from) = rest.split_at(at);
            kept &= self.keeps_plain(plain);
            out.extend_from_slice(plain);
            let len = match json::unescape(from) {
                Some((c, len)) => {
                    kept &= self.spells(c, &from[..len]);
                    let mut utf8 = [0; 4];
                    out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
                    len
                }
                None => {
                    let lone = Escape::read(from)?;
                    kept = false;
                    out.extend_from_slice("\u{fffd}".as_bytes());
                    lone.len()
                }
            };
            rest = &from[len..];
        }
        kept &= self.keeps_plain(rest);
        out.extend_from_slice(rest);
        Some(kept)
    }

    fn keeps_plain(self, plain: &[u8]) -> bool {
        !self.has(SLASH | RARE)
            || !(self.has(SLASH) && memchr(b'/', plain).is_some())
                && (!self.has(RARE) || self.keeps_rare(plain))
    }

    /// Returns true if this style spells a character as this escape.
    #[inline]
    fn spells(self, c: char, escape: &[u8]) -> bool {
        let Some(digits) = escape.strip_prefix(b"\\u") else {
            return match c {
                '"' | '\\' => true,
                '/' => self.has(SLASH),
                _ => !self.has(LONG),
            };
        };
        let escaped = match c {
            '\u{2028}' | '\u{2029}' => self.has(NON_ASCII | SEPARATORS),
            '\u{80}'.. => self.has(NON_ASCII),
            '\0'..'\u{20}' => short(c as u8).is_none() || self.has(LONG),
            '/' => false,
            _ => self.has(bit_of(c as u8)),
        };
        let wrong = if self.has(UPPER) { b'a'..=b'f' } else { b'A'..=b'F' };
        escaped && !digits.iter().any(|digit| wrong.contains(digit))
    }

    /// Appends a string as this style prints it, without quotes. Bytes that are not UTF-8 stay as they are.
    pub(super) fn print(self, text: &[u8], out: &mut Vec<u8>) {
        self.print_first(text, text.len(), out);
    }

    /// Appends the first `len` bytes of a text, as [`Self::print`] does. Reads of eight bytes need no check
    /// for the end of the string where the text has more.
    #[inline]
    pub(super) fn print_first(self, text: &[u8], len: usize, out: &mut Vec<u8>) {
        let (rare, no_high, no_slash) = (self.has(RARE), mask(self.has(NON_ASCII)), mask(self.has(SLASH)));
        let mut at = 0;
        out.reserve(len + piece::LONG);
        while at < len {
            // Bytes after the end of the string may stop a piece, too. Then words are looked at.
            if let Some(piece) = text[at..].first_chunk()
                && !self.stops_piece(piece)
            {
                let end = out.len() + piece::LONG.min(len - at);
                out.extend_from_slice(piece);
                out.truncate(end);
                at += piece::LONG;
                continue;
            }
            let word = piece::word(&text[at..]);
            let mut found = special(word) | high(word) & no_high | equal(word, b'/') & no_slash;
            if rare {
                found |= self.rare(word);
            }
            let plain = (found.trailing_zeros() as usize / 8).min(len - at);
            let end = out.len() + plain;
            out.extend_from_slice(&word.to_le_bytes());
            out.truncate(end);
            at += plain;
            if plain < 8 {
                at += self.escape(&text[at..len], out);
                // Characters above U+007F often follow each other.
                while no_high != 0 && at < len && text[at] >= 0x80 {
                    at += self.escape(&text[at..len], out);
                }
            }
        }
    }

    /// Returns true if a byte of a piece may have to be escaped.
    #[inline(always)]
    fn stops_piece(self, piece: &[u8; piece::LONG]) -> bool {
        let classes = piece::classes(piece);
        if classes.special || classes.high && self.has(NON_ASCII) || classes.slash && self.has(SLASH) {
            return true;
        }
        self.has(RARE) && self.has_rare(piece)
    }

    /// Returns true if a byte of a piece is one that [`Self::rare`] marks.
    #[inline(always)]
    fn has_rare(self, piece: &[u8; piece::LONG]) -> bool {
        let bits = |on: bool| if on { u8::MAX } else { 0 };
        let (html, separators) = (bits(self.has(HTML)), bits(self.has(SEPARATORS)));
        let (delete, apostrophe) = (bits(self.has(DELETE)), bits(self.has(APOSTROPHE)));
        let is = |byte: u8, other: u8| bits(byte == other);
        let stops = |byte: u8| {
            (is(byte, b'<') | is(byte, b'>') | is(byte, b'&')) & html
                | is(byte, 0xe2) & separators
                | is(byte, 0x7f) & delete
                | is(byte, b'\'') & apostrophe
        };
        piece.iter().fold(0, |any, byte| any | stops(*byte)) != 0
    }

    fn stops(self, byte: u8) -> bool {
        match byte {
            0..0x20 | b'"' | b'\\' => true,
            0xe2 => self.has(NON_ASCII | SEPARATORS),
            0x80.. => self.has(NON_ASCII),
            _ => self.has(bit_of(byte)),
        }
    }

    /// Appends the first character of a text, escaped if need be. Returns its length in the text.
    #[inline]
    fn escape(self, text: &[u8], out: &mut Vec<u8>) -> usize {
        let Some(&first) = text.first() else { return 0 };
        match first {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', first]),
            b'/' if self.has(SLASH) => out.extend_from_slice(b"\\/"),
            0..0x20 => match short(first) {
                Some(letter) if !self.has(LONG) => out.extend_from_slice(&[b'\\', letter]),
                _ => self.unit(u16::from(first), out),
            },
            0x20..0x80 if self.stops(first) => self.unit(u16::from(first), out),
            0x80.. if self.stops(first) => {
                let Some((c, len)) = character(text) else {
                    out.push(first);
                    return 1;
                };
                let (mut units, mut utf8) = ([0; 2], [0; 4]);
                if self.stops_character(c) {
                    c.encode_utf16(&mut units).iter().for_each(|unit| self.unit(*unit, out));
                } else {
                    out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
                }
                return len;
            }
            _ => out.push(first),
        }
        1
    }

    /// The style that spells one character the other way; `None` for a character with one spelling.
    fn toggled(self, c: char) -> Option<Self> {
        match c {
            '\u{80}'.. if self.stops_character(c) => Some(Self(self.0 & !(NON_ASCII | SEPARATORS))),
            '\u{80}'.. => Some(Self(self.0 | NON_ASCII)),
            _ if short(c as u8).is_some() => Some(Self(self.0 ^ LONG)),
            _ => Some(bit_of(c as u8)).filter(|bit| *bit != 0).map(|bit| Self(self.0 ^ bit)),
        }
    }

    /// Returns true if this style escapes a character above U+007F.
    fn stops_character(self, c: char) -> bool {
        self.has(NON_ASCII) || self.has(SEPARATORS) && matches!(c, '\u{2028}' | '\u{2029}')
    }

    /// Appends a text of which some characters are spelled the other way. `toggles` has the number of
    /// characters with two spellings before the first of those, then between each two of them.
    pub(super) fn print_toggled(self, text: &str, toggles: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut toggles = Reader::new(toggles, EXCEPTIONS);
        let next = |toggles: &mut Reader| if toggles.is_empty() { Ok(u64::MAX) } else { toggles.number() };
        let mut left = next(&mut toggles)?;
        let mut utf8 = [0; 4];
        for c in text.chars() {
            if has_one_spelling(c) {
                out.push(c as u8);
                continue;
            }
            let style = match self.toggled(c) {
                Some(other) if left == 0 => {
                    left = next(&mut toggles)?;
                    other
                }
                Some(_) => {
                    left -= 1;
                    self
                }
                None => self,
            };
            style.print(c.encode_utf8(&mut utf8).as_bytes(), out);
        }
        Ok(())
    }

    /// The toggles with which [`Self::print_toggled`] prints a text as the inside of a literal, if there are
    /// any.
    pub(super) fn toggles(self, text: &str, mut literal: &[u8]) -> Option<Vec<u8>> {
        let (mut toggles, mut between, mut spelled, mut utf8) = (Vec::new(), 0, Vec::new(), [0; 4]);
        for c in text.chars() {
            if has_one_spelling(c) {
                literal = literal.strip_prefix(&[c as u8])?;
                continue;
            }
            let c_utf8 = c.encode_utf8(&mut utf8).as_bytes();
            let other = self.toggled(c);
            spelled.clear();
            self.print(c_utf8, &mut spelled);
            if literal.starts_with(&spelled) {
                between += u64::from(other.is_some());
            } else {
                spelled.clear();
                other?.print(c_utf8, &mut spelled);
                put(&mut toggles, std::mem::take(&mut between));
            }
            literal = literal.strip_prefix(&spelled[..])?;
        }
        literal.is_empty().then_some(toggles)
    }

    /// Appends `\uXXXX`.
    #[inline]
    fn unit(self, unit: u16, out: &mut Vec<u8>) {
        let digits = if self.has(UPPER) { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        let digit = |shift: u32| digits[usize::from(unit >> shift & 15)];
        out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
    }

    /// The style of most characters of a line. Bits of which the line says nothing stay as they are.
    pub(super) fn infer(self, line: &[u8]) -> Self {
        // Characters that are escaped, less those that are not, for each bit.
        let mut balance = [0_i64; 8];
        let mut vote = |bits: u8, by: i64| {
            for (at, balance) in balance.iter_mut().enumerate() {
                *balance += if bits >> at & 1 != 0 { by } else { 0 };
            }
        };
        let (mut at, mut inside) = (0, false);
        while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
            let byte = rest[0];
            at += 1;
            match byte {
                b'"' => inside = !inside,
                _ if !inside => {}
                b'\\' => {
                    let Some((c, len)) = json::unescape(rest) else {
                        at += 1;
                        continue;
                    };
                    at += len - 1;
                    let long = rest[1] == b'u';
                    match c {
                        '\u{2028}' | '\u{2029}' => vote(SEPARATORS | NON_ASCII, 1),
                        '\u{80}'.. => vote(NON_ASCII, 1),
                        '\0'..'\u{20}' if short(c as u8).is_some() => vote(LONG, if long { 1 } else { -1 }),
                        '\0'..'\u{20}' => {}
                        '/' if long => {}
                        _ => vote(bit_of(c as u8), 1),
                    }
                    let digits = if long { &rest[2..len] } else { &[] };
                    vote(UPPER, digits.iter().filter(|digit| digit.is_ascii_uppercase()).count() as i64);
                    let lower = digits.iter().filter(|digit| matches!(digit, b'a'..=b'f')).count();
                    vote(UPPER, -(lower as i64));
                }
                0xc0.. => {
                    vote(NON_ASCII, -1);
                    if matches!(rest, [0xe2, 0x80, 0xa8 | 0xa9, ..]) {
                        vote(SEPARATORS, -1);
                    }
                }
                0x80.. => {}
                _ => vote(bit_of(byte), -1),
            }
        }
        let mut style = self.0;
        for (at, balance) in balance.iter().enumerate() {
            match balance.signum() {
                1 => style |= 1 << at,
                -1 => style &= !(1 << at),
                _ => {}
            }
        }
        Self(style)
    }
}

fn mask(condition: bool) -> u64 {
    if condition { u64::MAX } else { 0 }
}

/// The offset of the next backslash. Escapes are often close to each other.
#[inline]
fn next_backslash(text: &[u8]) -> Option<usize> {
    match text.first_chunk::<4>() {
        Some(near) if near.contains(&b'\\') => near.iter().position(|byte| *byte == b'\\'),
        _ => memchr(b'\\', text),
    }
}

/// The first character of a text above U+007F, and its length. `None` for what is not UTF-8; some text that
/// is not UTF-8 has a character, too.
#[inline]
fn character(text: &[u8]) -> Option<(char, usize)> {
    let (lead, len) = match *text.first()? {
        lead @ 0xc0..0xe0 => (lead & 0x1f, 2),
        lead @ 0xe0..0xf0 => (lead & 0x0f, 3),
        lead @ 0xf0..0xf8 => (lead & 0x07, 4),
        _ => return None,
    };
    let more = text.get(1..len)?;
    let code = more.iter().fold(u32::from(lead), |code, byte| code << 6 | u32::from(byte & 0x3f));
    Some((char::from_u32(code)?, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::scan;

    #[test]
    fn a_string_that_is_kept_is_printed_so() {
        let texts: [&[u8]; 11] = [
            br"plain text of some length",
            br"a\/b/c",
            br"\u00e9\u00E9\ud83d\ude00",
            "é☺😀 raw".as_bytes(),
            br"\n\u000a\u001f\u001F\b\f\r\t",
            br"<b>\u003cb\u003e&amp;\u0026",
            "\u{2028}\\u2028\\u2029".as_bytes(),
            b"\x7f\\u007f'\\u0027",
            br#"\"\\\u0022\u005c"#,
            br"\ud83d lone",
            br"\u0041",
        ];
        for style in (0..=255).map(Style) {
            for text in texts {
                let quoted = [b"\"", text, b"\""].concat();
                let scanned = scan::string(&quoted, 1).unwrap();
                assert_eq!(scanned.end, text.len() + 1);
                let mut value = Vec::new();
                let kept = if scanned.escapes {
                    style.unescape(text, scanned, &mut value).unwrap()
                } else {
                    value.extend_from_slice(text);
                    style.keeps(text, scanned)
                };
                let mut printed = Vec::new();
                style.print(&value, &mut printed);
                assert_eq!(kept, printed == text, "{style:?} {}", text.escape_ascii());
                let value = str::from_utf8(&value).unwrap();
                if let Some(toggles) = style.toggles(value, text) {
                    printed.clear();
                    style.print_toggled(value, &toggles, &mut printed).unwrap();
                    assert_eq!(printed.escape_ascii().to_string(), text.escape_ascii().to_string());
                    assert_eq!(toggles.is_empty(), kept);
                }
            }
        }
    }

    #[test]
    fn the_style_of_a_line_is_that_of_its_writer() {
        let text = "é ☺/<'>\u{7f}\u{2028}\n\u{1f} jkl";
        for style in (0..=255).map(Style) {
            let mut line = b"{\"a\":\"".to_vec();
            style.print(text.as_bytes(), &mut line);
            line.extend_from_slice(b"\"}");
            let inferred = Style(0).infer(&line);
            let mut again = b"{\"a\":\"".to_vec();
            inferred.print(text.as_bytes(), &mut again);
            again.extend_from_slice(b"\"}");
            assert_eq!(again.escape_ascii().to_string(), line.escape_ascii().to_string(), "{style:?}");
        }
    }
}
