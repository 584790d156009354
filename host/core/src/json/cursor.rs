//! A walk over one JSON text.

use std::ops::Range;

use memchr::memchr2;
use warpath_shared::check::{Fault, FaultKind};
use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::WORD_BYTES;

use super::{Malformed, decode};
use crate::simd::Simd;

/// A position in a JSON text, which advances over spaces, strings, scalars and whole values.
///
/// The text need not be JSON. A step checks no more than it says, and the caller decides which bytes may
/// follow. A step that fails leaves the cursor at an unspecified position.
///
/// ```
/// use warpath_core::json::Cursor;
///
/// let mut cursor = Cursor::new(br#"{"name" : [1, "]"], "id":7}"#);
/// assert!(cursor.take(b'{'));
/// let name = cursor.string().unwrap();
/// assert_eq!((name.inside, name.has_escapes), (&b"name"[..], false));
/// cursor.space();
/// assert!(cursor.take(b':'));
/// cursor.skip_item().unwrap();
/// assert_eq!((cursor.offset(), cursor.peek()), (18, Some(b',')));
/// ```
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
}

/// A string as the text has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonString<'a> {
    /// The bytes between the quotes.
    pub inside: &'a [u8],
    /// True if there is a backslash between the quotes.
    pub has_escapes: bool,
}

impl<'a> JsonString<'a> {
    /// The string with its escapes resolved: the bytes themselves, or the bytes that are decoded into
    /// `buffer`. `None` if the string has escapes and the rule refuses the string.
    #[inline]
    pub fn text<'b>(self, malformed: Malformed, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        if !self.has_escapes {
            return Some(self.inside);
        }
        buffer.clear();
        decode(self.inside, malformed, buffer).then_some(buffer)
    }
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of a text.
    #[inline]
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, end: text.len() }
    }

    /// A cursor at the start of a range of a text. Offsets count from the start of the text. Searches may
    /// read words beyond the range, which is faster than the same range as a text of its own.
    #[inline(always)]
    #[must_use]
    pub fn within(text: &'a [u8], range: Range<usize>) -> Self {
        Self { text, at: range.start, end: range.end.min(text.len()) }
    }

    /// The offset of the next byte.
    #[inline(always)]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The bytes from the next one to the end.
    #[inline(always)]
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.text[self.at..self.end]
    }

    /// The bytes from an offset to the next byte.
    #[inline(always)]
    #[must_use]
    pub fn since(&self, offset: usize) -> &'a [u8] {
        &self.text[offset..self.at]
    }

    /// The next byte; `None` at the end.
    #[inline(always)]
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        if self.at < self.end { Some(self.text[self.at]) } else { None }
    }

    /// Advances over bytes that the caller has looked at.
    #[inline(always)]
    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Advances over white space.
    #[inline(always)]
    pub fn space(&mut self) {
        while self.peek().is_some_and(is_whitespace) {
            self.at += 1;
        }
    }

    /// Advances over the next byte if it is `byte`. Returns whether it was.
    #[inline(always)]
    pub fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Advances over the string whose opening quote is the next byte. Escapes and control characters are not
    /// checked.
    ///
    /// # Errors
    /// [`FaultKind::UnclosedString`] at the opening quote.
    #[inline]
    pub fn string(&mut self) -> Result<JsonString<'a>, Fault> {
        let open = self.at;
        self.at += 1;
        self.string_from(open)
    }

    /// [`string`](Self::string), with a search by words of 64 bytes.
    ///
    /// # Errors
    /// The error of [`string`](Self::string).
    #[inline(always)]
    pub fn string_by<S: Simd>(&mut self, simd: S) -> Result<JsonString<'a>, Fault> {
        let open = self.at;
        self.at += 1;
        while let Some(word) = self.text.get(self.at..).and_then(|rest| rest.first_chunk::<WORD_BYTES>()) {
            let (backslash, quote) = (simd.equal(word, b'\\'), simd.equal(word, b'"'));
            // A backslash before the first quote.
            if quote.wrapping_sub(1) & !quote & backslash != 0 {
                self.at += backslash.trailing_zeros() as usize;
                break;
            }
            if quote != 0 {
                return self.string_end(open, self.at + quote.trailing_zeros() as usize, false);
            }
            self.at += WORD_BYTES;
        }
        self.string_from(open)
    }

    /// The rest of the string that opens at `open`. There is no backslash before the next byte.
    fn string_from(&mut self, open: usize) -> Result<JsonString<'a>, Fault> {
        let mut has_escapes = false;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let at = memchr2(b'"', b'\\', rest).ok_or_else(|| unclosed(open))?;
            self.at += at;
            if rest[at] == b'"' {
                return self.string_end(open, self.at, has_escapes);
            }
            has_escapes = true;
            self.at += 2;
        }
    }

    #[inline(always)]
    fn string_end(&mut self, open: usize, quote: usize, has_escapes: bool) -> Result<JsonString<'a>, Fault> {
        self.at = quote + 1;
        if self.at > self.end {
            return Err(unclosed(open));
        }
        Ok(JsonString { inside: &self.text[open + 1..quote], has_escapes })
    }

    /// Advances over a number, a literal, or other bytes in their position: up to a comma, a closing bracket
    /// or white space. Returns the bytes.
    #[inline(always)]
    pub fn scalar(&mut self) -> &'a [u8] {
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}') || is_whitespace(*byte);
        let rest = self.rest();
        let scalar = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        self.at += scalar.len();
        scalar
    }

    /// Advances over the value that begins at the next byte. Brackets are counted and not matched. What else
    /// is between brackets is not checked.
    ///
    /// # Errors
    /// [`FaultKind::NoValue`] where no value begins, [`FaultKind::UnclosedContainer`] at the opening bracket,
    /// and the error of [`string`](Self::string).
    pub fn skip_value<S: Simd>(&mut self, simd: S) -> Result<(), Fault> {
        let begin = self.at;
        match self.peek() {
            Some(b'"') => self.string_by(simd).map(drop),
            Some(b'{' | b'[') => {
                let mut depth = 0_usize;
                loop {
                    match self.peek().ok_or(Fault { kind: FaultKind::UnclosedContainer, at: begin })? {
                        b'"' => {
                            self.string_by(simd)?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' if depth == 1 => {
                            self.at += 1;
                            return Ok(());
                        }
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                }
            }
            _ if self.scalar().is_empty() => Err(Fault { kind: FaultKind::NoValue, at: begin }),
            _ => Ok(()),
        }
    }

    /// Advances to the comma or closing bracket that ends an item of a container, past the strings and
    /// containers of the item. Brackets are counted and not matched.
    ///
    /// # Errors
    /// [`FaultKind::UnclosedContainer`] if the text ends first, with the offset of the item, and the error of
    /// [`string`](Self::string).
    pub fn skip_item(&mut self) -> Result<(), Fault> {
        let (begin, mut depth) = (self.at, 0_usize);
        loop {
            match self.peek().ok_or(Fault { kind: FaultKind::UnclosedContainer, at: begin })? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b',' | b'}' | b']' if depth == 0 => return Ok(()),
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[inline(always)]
fn unclosed(at: usize) -> Fault {
    Fault { kind: FaultKind::UnclosedString, at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Isa, Work};

    /// The result of a step by words, equal for every instruction set: the rest of the text, or the fault.
    fn stepped(text: &str, begin: usize, step: Step) -> Result<&str, (FaultKind, usize)> {
        struct Run<'a>(&'a str, usize, Step);

        impl<'a> Work for Run<'a> {
            type Output = Result<&'a str, (FaultKind, usize)>;

            fn run<S: Simd>(self, simd: S) -> Self::Output {
                let mut cursor = Cursor::within(self.0.as_bytes(), self.1..self.0.len());
                let done = match self.2 {
                    Step::Value => cursor.skip_value(simd),
                    Step::String => cursor.string_by(simd).map(drop),
                };
                done.map(|()| &self.0[cursor.offset()..]).map_err(|fault| (fault.kind, fault.at))
            }
        }

        let mut all = Isa::all().into_iter().map(|isa| isa.run(Run(text, begin, step)));
        let first = all.next().unwrap();
        all.for_each(|other| assert_eq!(other, first, "{text}"));
        first
    }

    #[derive(Clone, Copy)]
    enum Step {
        Value,
        String,
    }

    #[test]
    fn strings_end_at_their_quote() {
        for (text, inside, has_escapes) in [
            (r#""""#, "", false),
            (r#""a"b"#, "a", false),
            (r#""\"",1"#, r#"\""#, true),
            (r#""\\"\"#, r"\\", true),
            (r#""\\\"x" "#, r#"\\\"x"#, true),
            ("\"\u{1}\n\"", "\u{1}\n", false),
        ] {
            for pad in 0..130 {
                let inside = "x".repeat(pad) + inside;
                let text = format!("\"{}{}", "x".repeat(pad), &text[1..]);
                let mut cursor = Cursor::new(text.as_bytes());
                let string = cursor.string().unwrap();
                assert_eq!((string.inside, string.has_escapes), (inside.as_bytes(), has_escapes), "{text}");
                assert_eq!(stepped(&text, 0, Step::String), Ok(&text[cursor.offset()..]), "{text}");
            }
        }
    }

    #[test]
    fn strings_without_an_end_are_faults() {
        for text in [r#"[""#, r#"["\""#, r#"["abc\"#, r#"["\\\""#] {
            let unclosed = (FaultKind::UnclosedString, 1);
            assert_eq!(stepped(text, 1, Step::String), Err(unclosed), "{text}");
            let mut cursor = Cursor::within(text.as_bytes(), 1..text.len());
            assert_eq!(cursor.string().map_err(|fault| (fault.kind, fault.at)), Err(unclosed), "{text}");
        }
        // The quote after the range does not count, wherever the search finds it.
        for text in ["[\"ab\"]".to_owned(), format!("[\"ab\"{}", " ".repeat(200))] {
            for end in [2, 4] {
                assert!(Cursor::within(text.as_bytes(), 1..end).string().is_err());
            }
            assert!(Cursor::within(text.as_bytes(), 1..5).string().is_ok());
        }
    }

    #[test]
    fn values_are_skipped_by_their_brackets() {
        for (text, rest) in [
            ("1,2", Ok(",2")),
            ("true ,", Ok(" ,")),
            ("1:2]", Ok("]")),
            (r#""]"]"#, Ok("]")),
            (r#"{"}":[{}, "\"["]},1"#, Ok(",1")),
            ("[}}", Ok("}")),
            ("[1 2 [tru]]]", Ok("]")),
            ("[[]", Err((FaultKind::UnclosedContainer, 0))),
            (r#"["]"#, Err((FaultKind::UnclosedString, 1))),
            ("", Err((FaultKind::NoValue, 0))),
            (",", Err((FaultKind::NoValue, 0))),
            ("}", Err((FaultKind::NoValue, 0))),
            (" 1", Err((FaultKind::NoValue, 0))),
        ] {
            assert_eq!(stepped(text, 0, Step::Value), rest, "{text}");
        }
        let long = format!("[{}]x", "\"12345678\",".repeat(100));
        assert_eq!(stepped(&long, 0, Step::Value), Ok("x"));
    }

    #[test]
    fn items_are_skipped_up_to_their_end() {
        for (text, rest) in [
            ("1,2", Some(",2")),
            (" 1 2 ]", Some("]")),
            (",", Some(",")),
            (r#""," [1,{"a":2}] "]" }"#, Some("}")),
            ("[}]", Some("]")),
            ("1,", Some(",")),
            ("null}", Some("}")),
            (r#""a,\"]}","b":1}"#, Some(r#","b":1}"#)),
            (r#"[1,[2],{"a":","}],"#, Some(",")),
            ("{},{}", Some(",{}")),
            ("1", None),
            ("", None),
            ("\"\\", None),
            ("[1,2", None),
            (r#""a,"#, None),
        ] {
            let mut cursor = Cursor::new(text.as_bytes());
            let done = cursor.skip_item().ok();
            assert_eq!(done.map(|()| &text[cursor.offset()..]), rest, "{text}");
        }
    }

    #[test]
    fn strings_have_a_text() {
        let mut buffer = b"before".to_vec();
        let plain = JsonString { inside: b"a", has_escapes: false };
        assert_eq!(plain.text(Malformed::Refuse, &mut buffer), Some(&b"a"[..]));
        let escaped = JsonString { inside: br"\u0061\n", has_escapes: true };
        assert_eq!(escaped.text(Malformed::Refuse, &mut buffer), Some(&b"a\n"[..]));
        let malformed = JsonString { inside: br"\x", has_escapes: true };
        assert_eq!(malformed.text(Malformed::Keep, &mut buffer), Some(&br"\x"[..]));
        assert_eq!(malformed.text(Malformed::Refuse, &mut buffer), None);
    }

    #[test]
    fn bytes_are_taken_one_by_one() {
        let mut cursor = Cursor::within(b"{ \t\r\n: 12}", 1..9);
        cursor.space();
        assert_eq!((cursor.offset(), cursor.peek()), (5, Some(b':')));
        assert!(!cursor.take(b',') && cursor.take(b':'));
        cursor.advance(1);
        assert_eq!((cursor.rest(), cursor.since(5)), (&b"12"[..], &b": "[..]));
        assert_eq!((cursor.scalar(), cursor.peek(), cursor.take(b'}')), (&b"12"[..], None, false));
    }
}
