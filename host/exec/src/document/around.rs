//! What stands around the elements: a head, up to the array's opening bracket, and a tail, from its closing one on.

use std::sync::Arc;

use warpath_shared::check::diagnose;
use warpath_shared::kernel::Match;

use super::whole::Whole;
use crate::input::PlainFile;
use warpath_backend::answer::Want;
use warpath_backend::backend::Backend;
use warpath_backend::cpu::Cpu;
use warpath_backend::strict;
use warpath_backend::tree::line_fault;
use warpath_core::error::Error;
use warpath_core::json::{Malformed, decode};
use warpath_lang::elements::{Split, Step};

/// The longest head, and the longest tail: more is gone through as one record.
const MOST_BYTES: u64 = 4 << 20;

/// The text before the elements of an array, its opening bracket included.
#[derive(Debug)]
pub(crate) struct Head {
    /// Where it begins in the file: behind a byte order mark, if there is one.
    from: u64,
    text: Vec<u8>,
}

/// Why an array was not found.
#[derive(Debug, PartialEq, Eq)]
enum Missing {
    /// It is not there, or nothing that is found so easily.
    NotThere,
    /// The text ends before it.
    Further,
}

impl Head {
    /// Finds the array of a program in a document, if that has it near its begin.
    pub fn find(file: &PlainFile, split: &Split) -> Result<Option<Self>, Error> {
        let from = file.text_begin()?;
        let mut len = 4 << 10;
        loop {
            let end = file.len().min(from + len);
            let mut text = vec![0; (end - from) as usize];
            file.read_exact(&mut text, from)?;
            match array_in(&text, &split.steps) {
                Ok(begin) => {
                    text.truncate(begin);
                    return Ok(Some(Self { from, text }));
                }
                Err(Missing::Further) if end < file.len() && len < MOST_BYTES => {
                    len = MOST_BYTES.min(8 * len);
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// Where the elements begin.
    pub fn end(&self) -> u64 {
        self.from + self.text.len() as u64
    }
}

/// The head and the tail of a document.
pub(crate) struct Around {
    text: Vec<u8>,
    head: usize,
}

impl Around {
    /// Reads the tail, if it is not too long.
    pub fn read(file: &Arc<PlainFile>, head: &Head, tail: u64) -> Result<Option<Self>, Error> {
        let len = file.len() - tail;
        if len > MOST_BYTES {
            return Ok(None);
        }
        let mut text = head.text.clone();
        text.resize(head.text.len() + len as usize, 0);
        file.read_exact(&mut text[head.text.len()..], tail)?;
        Ok(Some(Self { text, head: head.text.len() }))
    }

    /// Whether there is nothing wrong with a document if there is nothing wrong with its elements, and the array is the one that is
    /// asked for: without its elements, it is what is found.
    pub fn judge(mut self, split: &Split, strict: bool) -> Result<bool, Error> {
        let trees = split.elements.needs_trees();
        let (whole, _) = Whole::of(&mut self.text);
        let text = &self.text;
        let fault = match (strict, trees) {
            (true, _) => strict::fault(text),
            (false, true) => line_fault(text),
            (false, false) => None,
        };
        if whole.broken.is_some() || diagnose(text).or(fault).is_some() {
            return Ok(false);
        }
        let answer = Cpu.answer(text, &split.array, Want { matches: true, ..Want::default() })?;
        let head = self.head as u32;
        let wanted = Match { line: 0, start: head - 1, end: head + 1 };
        Ok(matches!(answer.pieces.as_slice(), [piece] if piece.matches == [vec![wanted]]))
    }
}

/// Where the elements of the array begin to which some steps lead, as far as that is plain to see.
fn array_in(text: &[u8], steps: &[Step]) -> Result<usize, Missing> {
    let mut walk = Walk { text, at: 0 };
    for step in steps {
        match (step, walk.next()?) {
            (Step::Name(name), b'{') => walk.member(name)?,
            (Step::Index(index), b'[') => {
                for _ in 0..*index {
                    walk.value()?;
                    walk.take(b',')?;
                }
            }
            _ => return Err(Missing::NotThere),
        }
    }
    walk.take(b'[')?;
    Ok(walk.at)
}

/// Goes through a text from its begin.
struct Walk<'a> {
    text: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    fn peek(&mut self) -> Result<u8, Missing> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied().ok_or(Missing::Further)
    }

    /// The next byte that is no white space.
    fn next(&mut self) -> Result<u8, Missing> {
        let byte = self.peek()?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, byte: u8) -> Result<(), Missing> {
        if self.next()? == byte { Ok(()) } else { Err(Missing::NotThere) }
    }

    /// Up to the value of the first member of a name, from within an object.
    fn member(&mut self, name: &str) -> Result<(), Missing> {
        loop {
            self.take(b'"')?;
            let begin = self.at;
            self.string()?;
            let mut said = Vec::new();
            decode(&self.text[begin..self.at - 1], Malformed::Keep, &mut said);
            self.take(b':')?;
            if said == name.as_bytes() {
                return Ok(());
            }
            self.value()?;
            self.take(b',')?;
        }
    }

    /// Behind the string whose opening quote stands before.
    fn string(&mut self) -> Result<(), Missing> {
        loop {
            let byte = *self.text.get(self.at).ok_or(Missing::Further)?;
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return Ok(());
            }
        }
    }

    /// Up to the comma or the bracket that ends a value.
    fn value(&mut self) -> Result<(), Missing> {
        let mut depth = 0;
        loop {
            match self.peek()? {
                b',' if depth == 0 => return Ok(()),
                b'}' | b']' if depth == 0 => return Ok(()),
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'"' => {
                    self.at += 1;
                    self.string()?;
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_found() {
        let name = |name: &str| Step::Name(name.into());
        let found = |text: &str, steps: &[Step]| array_in(text.as_bytes(), steps);
        assert_eq!(found(" \n[1]", &[]), Ok(3));
        assert_eq!(found("{\"a\":[", &[]), Err(Missing::NotThere));
        assert_eq!(found(" ", &[]), Err(Missing::Further));
        let text = r#"{"x":"],\"","y":{"a":[{}]},"\u0061" : [ 3, [4,[5]], [6] ],"a":[]}"#;
        assert_eq!(found(text, &[name("a")]), Ok(text.find("[ 3").unwrap() + 1));
        assert_eq!(found(text, &[name("a"), Step::Index(1)]), Ok(text.find("[4").unwrap() + 1));
        assert_eq!(found(text, &[name("a"), Step::Index(2)]), Ok(text.find("[6").unwrap() + 1));
        for (steps, missing) in [
            (&[name("a"), Step::Index(0)][..], Missing::NotThere),
            (&[name("a"), Step::Index(3)][..], Missing::NotThere),
            (&[name("z")][..], Missing::NotThere),
            (&[name("x")][..], Missing::NotThere),
            (&[Step::Index(0)][..], Missing::NotThere),
        ] {
            assert_eq!(found(text, steps), Err(missing), "{steps:?}");
        }
        for end in 0..text.find("[ 3").unwrap() {
            assert_eq!(found(&text[..end], &[name("a")]), Err(Missing::Further), "{end}");
        }
    }
}
