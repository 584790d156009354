//! JSON values of any layout as lines: values that are pretty-printed or written one after the other, text
//! sequences (RFC 7464), and the elements of arrays.
//!
//! [`Layout::of`] recognises the layout by the first bytes. Text that is no JSON has the layout of lines, so
//! that it is reported as a malformed line.
//!
//! [`ValueLines`] replaces bytes while it reads:
//!
//! ```text
//! text    {            lines   { "a": 1, "b": [ 2 ] }
//!           "a": 1,            (blank)
//!           "b": [ 2 ]         (blank)
//!         }                    (blank)
//!         {"c":3} {"d":4}      {"c":3}
//!                              {"d":4}
//! ```
//!
//! Newlines within a value become spaces, and follow the value as blank lines. So a record has the number of
//! the line on which it begins. Where a line has several values, more lines follow it than the text has, and
//! the next blank lines are left out until the numbers are the same again.

use std::io::{self, Read};
use std::ops::Range;

use warpath_core::json::Cursor;
use warpath_core::number::is_number;

use super::text::BYTE_ORDER_MARK;

/// The byte before each value of a text sequence (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1e;

/// The layout of JSON values in a text.
///
/// ```
/// use warpath::ValueLayout;
///
/// assert_eq!(ValueLayout::of(b"{\"a\":1}\n{\"a\":2}\n", true), ValueLayout::Lines);
/// assert_eq!(ValueLayout::of(b"{\n  \"a\": 1\n}\n{", false), ValueLayout::Values);
/// assert_eq!(ValueLayout::of(b"[{\"a\":1},\n {\"a\":2}]", true), ValueLayout::Elements);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueLayout {
    /// A value on each line, or text that is no JSON.
    #[default]
    Lines,
    /// Values one after the other, on any number of lines. Each is a record.
    Values,
    /// Arrays whose elements are records.
    Elements,
}

impl ValueLayout {
    /// The layout of a text that begins with these bytes. `is_whole` is true if they are all of it.
    #[must_use]
    pub fn of(head: &[u8], is_whole: bool) -> Self {
        let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
        let start = head.iter().position(|byte| !is_space(*byte)).unwrap_or(head.len());
        if head[..start].contains(&RECORD_SEPARATOR) {
            return Self::Values;
        }
        let text = &head[start..];
        if !matches!(text.first(), Some(b'{' | b'[')) {
            return Self::Lines;
        }
        let line = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let mut grammar = Grammar::default();
        let first = grammar.value(text);
        let is_array_of_objects =
            || text[0] == b'[' && text[1..].iter().find(|byte| !is_space(**byte)) == Some(&b'{');
        match first {
            Scan::Wrong(at) => {
                // A line that was cut is followed by another one. Other mistakes are those of a document.
                let line_start = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let is_first = text[line_start..at].iter().all(|byte| is_space(*byte));
                let lines = text[..line_start].iter().filter(|byte| **byte == b'\n').count();
                match lines {
                    0 => Self::Lines,
                    1 if is_first => Self::Lines,
                    _ if is_array_of_objects() => Self::Elements,
                    _ => Self::Values,
                }
            }
            // A line that is longer than the head is a record, or the only value.
            Scan::Open if line == text.len() && is_whole => Self::Lines,
            Scan::Open if line == text.len() => {
                if is_array_of_objects() {
                    Self::Elements
                } else {
                    Self::Lines
                }
            }
            Scan::Open => {
                if is_array_of_objects() {
                    Self::Elements
                } else {
                    Self::Values
                }
            }
            Scan::End(end) if end > line => {
                if is_array_of_objects() {
                    Self::Elements
                } else {
                    Self::Values
                }
            }
            Scan::End(end) => {
                let after = text[end..line].iter().find(|byte| !is_space(**byte));
                let is_alone = is_whole && text[end..].iter().all(|byte| is_space(*byte));
                match after {
                    // Another value on the same line.
                    Some(b'{' | b'[') => Self::Values,
                    None if is_alone && is_array_of_objects() => Self::Elements,
                    _ => Self::Lines,
                }
            }
        }
    }

    /// The description of the layout.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines of JSON",
            Self::Values => "JSON values one after the other",
            Self::Elements => "an array of records",
        }
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == RECORD_SEPARATOR
}

/// The result of a scan for the end of a value.
enum Scan {
    /// The offset after the value.
    End(usize),
    /// The text ends within the value.
    Open,
    /// The text is no JSON from this offset on.
    Wrong(usize),
}

/// The grammar of brackets, commas and colons, without recursion.
#[derive(Default)]
struct Grammar {
    /// For each open container, true if it is an object.
    open: Vec<bool>,
}

impl Grammar {
    /// Scans the value at the start of a text.
    fn value(&mut self, text: &[u8]) -> Scan {
        const MOST_LEVELS: usize = 1024;
        let mut cursor = Cursor::new(text);
        // True where a value is expected, or a name in an object; false where `,` or a closing bracket is.
        let (mut wants_value, mut may_close) = (true, false);
        loop {
            cursor.space();
            let Some(byte) = cursor.peek() else { return Scan::Open };
            let is_object = self.open.last() == Some(&true);
            match byte {
                b'}' | b']' if !wants_value || may_close => {
                    if self.open.pop() != Some(byte == b'}') {
                        return Scan::Wrong(cursor.offset());
                    }
                    cursor.advance(1);
                    (wants_value, may_close) = (false, false);
                }
                b',' if !wants_value => {
                    cursor.advance(1);
                    (wants_value, may_close) = (true, false);
                    continue;
                }
                _ if !wants_value => return Scan::Wrong(cursor.offset()),
                _ => {
                    if is_object {
                        match self.name(&mut cursor) {
                            Scan::End(_) => {}
                            other => return other,
                        }
                    }
                    match cursor.peek() {
                        None => return Scan::Open,
                        Some(open @ (b'{' | b'[')) => {
                            if self.open.len() == MOST_LEVELS {
                                return Scan::Wrong(cursor.offset());
                            }
                            self.open.push(open == b'{');
                            cursor.advance(1);
                            (wants_value, may_close) = (true, true);
                            continue;
                        }
                        Some(b'"') => match string(&mut cursor) {
                            Scan::End(_) => {}
                            other => return other,
                        },
                        Some(_) => {
                            let scalar = cursor.scalar();
                            let is_word = matches!(scalar, b"true" | b"false" | b"null");
                            if cursor.rest().is_empty() {
                                return Scan::Open;
                            }
                            if !is_word && !is_number(scalar) {
                                return Scan::Wrong(cursor.offset());
                            }
                        }
                    }
                    (wants_value, may_close) = (false, false);
                }
            }
            if self.open.is_empty() {
                return Scan::End(cursor.offset());
            }
        }
    }

    /// Scans a name, its colon, and the white space after it.
    fn name(&mut self, cursor: &mut Cursor<'_>) -> Scan {
        if cursor.peek() != Some(b'"') {
            return Scan::Wrong(cursor.offset());
        }
        match string(cursor) {
            Scan::End(_) => {}
            other => return other,
        }
        cursor.space();
        match cursor.peek() {
            None => Scan::Open,
            Some(b':') => {
                cursor.advance(1);
                cursor.space();
                Scan::End(cursor.offset())
            }
            Some(_) => Scan::Wrong(cursor.offset()),
        }
    }
}

/// Scans a string. A newline in it is wrong.
fn string(cursor: &mut Cursor<'_>) -> Scan {
    let (rest, mut at) = (cursor.rest(), 1);
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => {
                cursor.advance(at + 1);
                return Scan::End(cursor.offset());
            }
            b'\\' => at += 2,
            b'\n' => return Scan::Wrong(cursor.offset()),
            _ => at += 1,
        }
    }
    Scan::Open
}

/// Reads values as lines.
pub(super) struct ValueLines<R> {
    input: R,
    state: State,
    text: Vec<u8>,
    buffer: Vec<u8>,
    /// The bytes of `buffer` that are lines and have not been read.
    ready: Range<usize>,
    is_begin: bool,
    is_end: bool,
}

/// The size of a read.
const READ_BYTES: usize = 256 << 10;

/// The position between two reads.
#[derive(Default)]
struct State {
    /// True if elements of arrays are records.
    elements: bool,
    /// True within an array of records.
    in_array: bool,
    /// True if a value of the array has come since its bracket or the last comma, and true at a comma.
    has_value: bool,
    has_comma: bool,
    /// True within a record, and the number of its containers that are open.
    in_record: bool,
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    /// Newlines within the record, which follow it.
    newlines: u64,
    /// Newlines that were added, and that the next blank lines pay for.
    debt: u64,
}

impl<R: Read> ValueLines<R> {
    pub fn new(input: R, layout: ValueLayout) -> Self {
        let state = State { elements: layout == ValueLayout::Elements, ..State::default() };
        Self {
            input,
            state,
            text: Vec::new(),
            buffer: Vec::new(),
            ready: 0..0,
            is_end: false,
            is_begin: true,
        }
    }
}

impl<R: Read> Read for ValueLines<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() {
            if self.is_end {
                return Ok(0);
            }
            self.text.resize(READ_BYTES, 0);
            let count = self.input.read(&mut self.text)?;
            self.is_end = count == 0;
            self.buffer.clear();
            let mut text = &self.text[..count];
            if std::mem::take(&mut self.is_begin) {
                text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            }
            self.state.lines(text, &mut self.buffer);
            if self.is_end {
                self.state.finish(&mut self.buffer);
            }
            self.ready = 0..self.buffer.len();
        }
        let count = room.len().min(self.ready.len());
        room[..count].copy_from_slice(&self.buffer[self.ready.start..][..count]);
        self.ready.start += count;
        Ok(count)
    }
}

/// True for the bytes that end a span of bytes that are copied, within a container of a record.
const IS_SPECIAL: [bool; 256] = {
    let mut is_special = [false; 256];
    let special = b"\"{}[]\n";
    let mut at = 0;
    while at < special.len() {
        is_special[special[at] as usize] = true;
        at += 1;
    }
    is_special
};

impl State {
    /// Ends a record, if there is one: the newlines that were in it follow it.
    fn end(&mut self, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.in_record) {
            return;
        }
        self.depth = 0;
        out.push(b'\n');
        match std::mem::take(&mut self.newlines) {
            0 => self.debt += 1,
            // One of the newlines is the one that ends the record.
            newlines => self.blank(newlines - 1, out),
        }
    }

    /// Adds blank lines, fewer if lines were added before.
    fn blank(&mut self, lines: u64, out: &mut Vec<u8>) {
        let paid = lines.min(self.debt);
        self.debt -= paid;
        out.extend(std::iter::repeat_n(b'\n', (lines - paid) as usize));
    }

    /// Adds a line that is no record, for what is wrong around records. Its report shows the text.
    fn malformed(&mut self, text: &str, out: &mut Vec<u8>) {
        self.end(out);
        out.extend_from_slice(text.as_bytes());
        self.in_record = true;
        self.end(out);
    }

    /// Begins a record, unless this is in one.
    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.in_record {
            if self.in_array && self.has_value {
                self.malformed("(no comma before this element of the array)", out);
            }
            (self.in_record, self.has_value, self.has_comma) = (true, true, false);
        }
    }

    /// Appends the lines of the next bytes.
    fn lines(&mut self, text: &[u8], out: &mut Vec<u8>) {
        out.reserve(text.len() + 64);
        let mut at = 0;
        while at < text.len() {
            if self.in_string {
                at = self.string(text, at, out);
            } else if self.depth > 0 {
                at = self.within(text, at, out);
            } else {
                self.around(text[at], out);
                at += 1;
            }
        }
    }

    /// Appends bytes within a container. Returns the offset after them.
    fn within(&mut self, text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
        let len = text[at..].iter().position(|byte| IS_SPECIAL[usize::from(*byte)]);
        let end = len.map_or(text.len(), |len| at + len);
        out.extend_from_slice(&text[at..end]);
        let Some(byte) = text.get(end) else { return end };
        out.push(if *byte == b'\n' { b' ' } else { *byte });
        match byte {
            b'\n' => self.newlines += 1,
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            _ => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.end(out);
                }
            }
        }
        end + 1
    }

    /// Takes a byte outside the containers and the strings of records.
    fn around(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'\n' if self.in_record => {
                self.newlines += 1;
                self.end(out);
            }
            b'\n' => self.blank(1, out),
            b' ' | b'\t' | b'\r' | RECORD_SEPARATOR => self.end(out),
            b'[' if self.elements && !self.in_array => {
                self.end(out);
                (self.in_array, self.has_value, self.has_comma) = (true, false, false);
            }
            b'{' | b'[' => {
                self.end(out);
                self.begin(out);
                self.depth = 1;
                out.push(byte);
            }
            b',' if self.in_array => {
                self.end(out);
                if !self.has_value {
                    self.malformed("(no element before this comma of the array)", out);
                }
                (self.has_value, self.has_comma) = (false, true);
            }
            b']' if self.in_array => {
                self.end(out);
                if self.has_comma {
                    self.malformed("(no element after the last comma of the array)", out);
                }
                self.in_array = false;
            }
            _ => {
                self.begin(out);
                self.in_string = byte == b'"';
                out.push(byte);
            }
        }
    }

    /// Appends bytes of a string. Returns the offset after them.
    fn string(&mut self, text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
        if std::mem::take(&mut self.is_escaped) && text[at] != b'\n' {
            out.push(text[at]);
            return at + 1;
        }
        let found = memchr::memchr3(b'"', b'\\', b'\n', &text[at..]);
        let end = found.map_or(text.len(), |len| at + len);
        out.extend_from_slice(&text[at..end]);
        let Some(byte) = text.get(end) else { return end };
        match byte {
            b'\n' => {
                // A string has no newline. The record is malformed, and ends here.
                self.in_string = false;
                self.newlines += 1;
                self.end(out);
            }
            _ => {
                out.push(*byte);
                self.is_escaped = *byte == b'\\';
                self.in_string = self.is_escaped;
            }
        }
        end + 1
    }

    /// Ends the text. An array that is not closed is malformed.
    fn finish(&mut self, out: &mut Vec<u8>) {
        self.end(out);
        if self.in_array {
            self.malformed("(the array is not closed)", out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, layout: ValueLayout) -> String {
        let mut all: Option<String> = None;
        // Wherever a read ends, the lines are the same.
        for size in [1, 2, 3, 7, 1 << 20] {
            let mut out = String::new();
            let input = Pieces(text.as_bytes(), size);
            ValueLines::new(input, layout).read_to_string(&mut out).unwrap();
            assert_eq!(&out, all.get_or_insert_with(|| out.clone()), "{size}");
        }
        all.unwrap()
    }

    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(room.len()).min(self.0.len());
            let (first, rest) = self.0.split_at(len);
            room[..len].copy_from_slice(first);
            self.0 = rest;
            Ok(len)
        }
    }

    #[test]
    fn layouts_are_recognised() {
        use ValueLayout::{Elements, Lines, Values};
        for (text, layout) in [
            ("", Lines),
            ("  \n\n", Lines),
            ("{\"a\":1}\n{\"a\":2}\n", Lines),
            ("{\"a\":1}", Lines),
            ("\u{feff}{\n}", Values),
            ("{\n\"a\": 1\n}\n", Values),
            ("{\"a\":1}{\"a\":2}\n", Values),
            ("{\"a\":1} {\"a\":2}\n{}", Values),
            ("{\"a\":1},\n{\"a\":2}\n", Lines),
            ("\u{1e}{\"a\":1}\n\u{1e}{\"a\":2}\n", Values),
            ("[{\"a\":1},{\"a\":2}]", Elements),
            ("[{\"a\":1},{\"a\":2}]\n\n", Elements),
            ("[{\"a\":1}]\n[{\"a\":2}]\n", Lines),
            ("[1,2]", Lines),
            ("[\n1,\n2\n]", Values),
            ("[\n  {\"a\": 1},\n  {\"a\": 2}\n]\n", Elements),
            ("[\n", Values),
            ("[INFO] started\n{\"a\":1}\n", Lines),
            ("[2026-01-31] started\n", Lines),
            // A first line that was cut, and lines after it.
            ("{\"a\":1,\n{\"a\":2}\n", Lines),
            ("{\"a\":\n{\"a\":2}\n", Values),
            ("{\"a\":\"x\n{\"a\":2}\n", Lines),
            ("{\n", Values),
            ("{", Lines),
            ("{\n{\"a\":1}\n", Lines),
            ("{]\n", Lines),
            ("[\n{\"a\":1},,\n{\"a\":2}]\n", Elements),
            ("{\n\"a\":1\n]\n", Values),
            ("1\n2\n", Lines),
            ("\"a\"\n", Lines),
        ] {
            assert_eq!(ValueLayout::of(text.as_bytes(), true), layout, "{text:?}");
        }
        let long = format!("[{{\"a\":\"{}\"}},", "x".repeat(70_000));
        assert_eq!(ValueLayout::of(&long.as_bytes()[..65_536], false), Elements);
        assert_eq!(ValueLayout::of(&long.as_bytes()[1..65_536], false), Lines);
        assert_eq!(ValueLayout::of("[{\"a\":1}]".as_bytes(), false), Lines);
    }

    #[test]
    fn values_become_lines() {
        for (text, want) in [
            ("", ""),
            ("{\n\"a\": 1\n}\n", "{ \"a\": 1 }\n\n\n"),
            ("{\"a\":1}{\"b\":2} 7\n{\n}\n8", "{\"a\":1}\n{\"b\":2}\n7\n{ }\n8\n"),
            ("\u{1e}{\"a\":1}\n\u{1e}[2]\n", "{\"a\":1}\n[2]\n"),
            ("\"}\\\"{\" true\nnull", "\"}\\\"{\"\ntrue\nnull\n"),
            ("{\"s\":\"a\\\\\"}\n", "{\"s\":\"a\\\\\"}\n"),
            // Malformed text stays so.
            ("}\n{\"a\"", "}\n{\"a\"\n"),
            ("{\"a\n\":1}", "{\"a\n\":1}\n"),
        ] {
            let got = lines(text, ValueLayout::Values);
            assert_eq!(got, want, "{text:?}");
        }
    }

    #[test]
    fn elements_become_lines() {
        for (text, want) in [
            ("[{\"a\":1},{\"a\":[2,3]}]", "{\"a\":1}\n{\"a\":[2,3]}\n"),
            ("[\n {\"a\":\n1},\n 2, \"x,]\", [3]\n]\n[]\n{}", "\n{\"a\": 1}\n\n2\n\"x,]\"\n[3]\n{}\n"),
            ("[1,,2]", "1\n(no element before this comma of the array)\n2\n"),
            ("[1,]", "1\n(no element after the last comma of the array)\n"),
            ("[1 2]", "1\n(no comma before this element of the array)\n2\n"),
            ("[1,{\"a\":", "1\n{\"a\":\n(the array is not closed)\n"),
        ] {
            assert_eq!(lines(text, ValueLayout::Elements), want, "{text:?}");
        }
    }

    /// A record has the number of the line on which it begins, unless a line has several.
    #[test]
    fn lines_keep_their_numbers() {
        let text = "\n{\n\"a\":1\n}\n\n{\"b\":2}\n[3,\n4]\n{\"c\":5} {\"d\":6}\n\n\n{\"e\":7}\n";
        let got = lines(text, ValueLayout::Values);
        let line = |text: &str, part: &str| text[..text.find(part).unwrap()].matches('\n').count();
        for part in ["\"b\"", "[3", "\"c\"", "\"e\""] {
            assert_eq!(line(&got, part), line(text, part), "{part}");
        }
        assert_eq!(line(&got, "{ \"a\""), 1);
    }
}
