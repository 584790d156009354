//! Normalised paths of matches (RFC 9535, section 2.7), found from the positions of the matches.

use std::fmt::Write as _;

use memchr::{memchr, memchr_iter, memrchr};
use warpath_core::json::{self, Cursor, Malformed};
use warpath_lang::jsonpath::ast::Quoted;
use warpath_shared::index::class::is_whitespace;

/// Finds the normalised paths of values in a text of lines. For matches of a batch use `Batch::paths`, which
/// knows the position of the batch's text in its document.
///
/// A record is walked from its start to the value and no further. It is walked only once if the caller
/// requests paths in the order of the values. The caller's own thread does the walk, on every backend.
pub struct Paths<'a> {
    text: &'a [u8],
    /// The next byte to read, and the end of its line.
    at: usize,
    line_end: usize,
    /// The containers that are open before `at`, from the outermost to the innermost.
    open: Vec<Child>,
    /// The array that the lines are elements of, if they are.
    elements: Option<Elements<'a>>,
}

/// The elements of an array, one on each line.
struct Elements<'a> {
    /// The normalised path of the array.
    array: &'a str,
    /// The index of the first line.
    first: u64,
    /// The start of a line, and the number of lines before it.
    line: (usize, u64),
}

/// The child of one container at which the walk is.
enum Child {
    Element(u64),
    /// A position after the opening brace or a comma. The name is set once its colon has been read.
    Member {
        begin: usize,
        name: Option<(usize, usize)>,
    },
}

impl<'a> Paths<'a> {
    /// Makes a finder for the values of a text.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, line_end: 0, open: Vec::new(), elements: None }
    }

    /// Makes the finder treat lines as elements of an array, the first of which has the index `first`.
    pub fn of_elements(self, array: &'a str, first: u64) -> Self {
        Self { elements: Some(Elements { array, first, line: (0, 0) }), ..self }
    }

    /// Appends the path of the value that starts at a byte of the text.
    ///
    /// A surrogate without its partner becomes U+FFFD, and so do bytes that are not UTF-8, because a path
    /// cannot contain them. Members with equal names have equal paths. In a record that is not JSON, indexes
    /// count commas, and a name without quotes is used unchanged.
    pub fn append(&mut self, start: usize, out: &mut String) {
        if start < self.at || start >= self.line_end {
            let before = self.text.get(..start).unwrap_or(self.text);
            self.at = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
            self.line_end = memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |len| self.at + len);
            self.open.clear();
            if let Some(Elements { line: (from, count), .. }) = &mut self.elements {
                if self.at < *from {
                    (*from, *count) = (0, 0);
                }
                *count += memchr_iter(b'\n', &self.text[*from..self.at]).count() as u64;
                *from = self.at;
            }
        }
        while self.at < start.min(self.line_end) {
            self.step();
        }
        match &self.elements {
            None => out.push('$'),
            Some(Elements { array, first, line: (_, count) }) => {
                // Writing to a string does not fail.
                let _ = write!(out, "{array}[{}]", first + count);
            }
        }
        for child in &self.open {
            // Writing to a string does not fail.
            let _ = match child {
                Child::Element(index) => write!(out, "[{index}]"),
                Child::Member { name, .. } => write!(out, "[{}]", Quoted(&self.name(*name))),
            };
        }
    }

    /// Advances over one string, or over one other byte.
    fn step(&mut self) {
        let at = self.at;
        self.at += 1;
        match self.text[at] {
            b'"' => {
                let mut cursor = Cursor::new(&self.text[at..self.line_end]);
                self.at = cursor.string().map_or(self.line_end, |_| at + cursor.offset());
            }
            b'{' => self.open.push(Child::Member { begin: at + 1, name: None }),
            b'[' => self.open.push(Child::Element(0)),
            b'}' | b']' => drop(self.open.pop()),
            b',' => match self.open.last_mut() {
                Some(Child::Element(index)) => *index += 1,
                Some(child) => *child = Child::Member { begin: at + 1, name: None },
                None => {}
            },
            b':' => {
                if let Some(Child::Member { begin, name }) = self.open.last_mut() {
                    name.get_or_insert((*begin, at));
                }
            }
            _ => {}
        }
    }

    /// Decodes the name in a range that may have white space around it.
    fn name(&self, range: Option<(usize, usize)>) -> String {
        let Some((mut start, mut end)) = range else { return String::new() };
        while start < end && is_whitespace(self.text[start]) {
            start += 1;
        }
        while start < end && is_whitespace(self.text[end - 1]) {
            end -= 1;
        }
        let raw = &self.text[start..end];
        let Some(inside) = json::inside(raw) else { return String::from_utf8_lossy(raw).into_owned() };
        let mut name = Vec::new();
        json::decode(inside, Malformed::Keep, &mut name);
        String::from_utf8_lossy(&name).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str, value: &str) -> String {
        let mut out = String::new();
        Paths::new(text.as_bytes()).append(text.find(value).unwrap(), &mut out);
        out
    }

    #[test]
    fn paths_are_written_as_the_rfc_says() {
        // RFC 9535, table 20, and other characters that must be escaped.
        assert_eq!(path(r#"{"a":17}"#, "17"), "$['a']");
        assert_eq!(path(r#"[0,17]"#, "17"), "$[1]");
        assert_eq!(path(r#"{"a":{"b":[0,{},17]}}"#, "17"), "$['a']['b'][2]");
        assert_eq!(path(r#"{"\u000b":17}"#, "17"), r"$['\u000b']");
        assert_eq!(path(r#"{"\u0061":17}"#, "17"), "$['a']");
        assert_eq!(path(r#"{"'\\\"\b\f\n\r\t/":17}"#, "17"), r#"$['\'\\"\b\f\n\r\t/']"#);
        assert_eq!(path(r#"{"é\ud83d\ude00":17}"#, "17"), "$['é😀']");
        assert_eq!(path(r#"{"\ud83d":17}"#, "17"), "$['\u{fffd}']");
        assert_eq!(path(r#"{"":17}"#, "17"), "$['']");
        assert_eq!(path(" 17 ", "17"), "$");
    }

    #[test]
    fn strings_and_white_space_are_passed_over() {
        assert_eq!(path(r#"{ "a" : "{[,:\"]}" , "b" : [ "," , 17 ] }"#, "17"), "$['b'][1]");
        assert_eq!(path("{\"a\":1}\n{\"x\":[1]}\n[{\"b\":17}]", "17"), "$[0]['b']");
    }

    #[test]
    fn values_may_be_asked_for_in_any_order() {
        let text = "{\"a\":1,\"b\":[2,3]}\n\n{\"c\":4}\n";
        let mut paths = Paths::new(text.as_bytes());
        let mut of = |value| {
            let mut out = String::new();
            paths.append(text.find(value).unwrap(), &mut out);
            out
        };
        let want =
            [("4", "$['c']"), ("3", "$['b'][1]"), ("1", "$['a']"), ("[2", "$['b']"), ("2", "$['b'][0]")];
        for (value, path) in want {
            assert_eq!(of(value), path);
        }
    }

    #[test]
    fn what_is_not_json_has_a_path_as_well() {
        assert_eq!(path("[1,,17]", "17"), "$[2]");
        assert_eq!(path("{a:17}", "17"), "$['a']");
        assert_eq!(path(r#"{"a":1:17}"#, "17"), "$['a']");
        assert_eq!(path(r#"{17}"#, "17"), "$['']");
    }
}
