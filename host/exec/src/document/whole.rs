//! A document as one line.

use std::ops::Range;

use warpath_cpu::cut::flatten;
use warpath_shared::check::{Fault, diagnose};

/// The original form of a document that became one line.
#[derive(Debug)]
pub struct Whole {
    newlines: Newlines,
    /// The fault of a document that did not become one line.
    pub broken: Option<Fault>,
}

impl Whole {
    /// Replaces newlines by spaces. Returns the length of the line. If a newline is in a string, the line
    /// ends before that newline, and the document has a fault.
    pub fn of(text: &mut [u8]) -> (Self, usize) {
        let mut newlines = Newlines::default();
        match flatten(text, &mut |at| newlines.push(at)) {
            Ok(()) => (Self { newlines, broken: None }, text.len()),
            // A string is open at this newline, so there is a fault, possibly an earlier one.
            Err(end) => (Self { newlines, broken: diagnose(&text[..end]) }, end),
        }
    }

    /// The line of a byte, counted from 1, and the number of bytes before it on that line.
    pub fn place(&self, at: usize) -> (u64, usize) {
        let (number, start) =
            self.newlines.starts().take_while(|(_, start)| *start <= at).last().unwrap_or((1, 0));
        (number, at - start)
    }

    /// The range of a line, without its newline, in a document of `len` bytes.
    pub fn line(&self, number: u64, len: usize) -> Range<usize> {
        let mut starts = self.newlines.starts().skip_while(|(at, _)| *at < number).map(|(_, start)| start);
        let start = starts.next().unwrap_or(len);
        start..starts.next().map_or(len, |next| next - 1)
    }
}

/// The offsets of newlines. Stored is the distance of each from the one before, seven bits a byte, the lowest
/// first.
#[derive(Debug, Default)]
pub(crate) struct Newlines {
    distances: Vec<u8>,
    /// The offset after the last newline.
    end: usize,
}

impl Newlines {
    /// Adds a newline, which is after all others.
    fn push(&mut self, at: usize) {
        let mut distance = at + 1 - self.end;
        while distance >= 0x80 {
            self.distances.push(distance as u8 | 0x80);
            distance >>= 7;
        }
        self.distances.push(distance as u8);
        self.end = at + 1;
    }

    /// The number of each line, from 1 on, and its start offset.
    fn starts(&self) -> impl Iterator<Item = (u64, usize)> {
        let mut distances = self.distances.iter();
        let (mut line, mut start) = (1, 0);
        let next = move || {
            let (mut distance, mut shift) = (0, 0);
            loop {
                let byte = distances.next()?;
                distance |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    (line, start) = (line + 1, start + distance);
                    return Some((line, start));
                }
            }
        };
        std::iter::once((1, 0)).chain(std::iter::from_fn(next))
    }
}

#[cfg(test)]
mod tests {
    use warpath_shared::check::FaultKind;

    use super::*;

    #[test]
    fn places_are_those_of_the_lines() {
        let mut text = Vec::new();
        for len in [0, 1, 126, 127, 128, 129, 20_000, 0, 5, 3_000_000, 2] {
            text.extend(vec![b' '; len]);
            text.push(b'\n');
        }
        text.extend(b"12");
        let lines = text.clone();
        let (whole, len) = Whole::of(&mut text);
        assert_eq!((len, whole.broken), (lines.len(), None));
        assert!(!text.contains(&b'\n'));
        let mut at = 0;
        for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
            for byte in [0, line.len() / 2, line.len() - 1] {
                assert_eq!(whole.place(at + byte), (number as u64 + 1, byte));
            }
            let end = at + line.strip_suffix(b"\n").unwrap_or(line).len();
            assert_eq!(whole.line(number as u64 + 1, len), at..end);
            at += line.len();
        }
    }

    #[test]
    fn a_newline_in_a_string_is_a_fault() {
        let mut text = b"[\n\"a\", \"b\n\", 3]".to_vec();
        let (whole, len) = Whole::of(&mut text);
        assert_eq!(&text[..len], b"[ \"a\", \"b");
        let fault = whole.broken.unwrap();
        assert_eq!((fault.kind, fault.at), (FaultKind::UnclosedString, 7));
        assert_eq!(whole.place(fault.at), (2, 5));
        // A fault before that newline comes first.
        let mut text = b"[}\n\"\n\"]".to_vec();
        assert_eq!(Whole::of(&mut text).0.broken.unwrap().kind, FaultKind::MismatchedBracket);
    }
}
