//! The text around the elements: a head, up to the array's opening bracket, and a tail, from its closing
//! bracket on.

use std::sync::Arc;

use warpath_answer::answer::Want;
use warpath_core::error::Error;
use warpath_core::json::{Cursor, Malformed};
use warpath_cpu::Cpu;
use warpath_cpu::strict;
use warpath_cpu::tree::line_fault;
use warpath_lang::elements::{PathStep, Split};
use warpath_shared::check::{Fault, diagnose};
use warpath_shared::kernel::Match;

use super::whole::Whole;
use crate::input::PlainFile;

/// The longest head, and the longest tail. A document with a longer one is evaluated as one record.
const MOST_BYTES: u64 = 4 << 20;

/// The text before the elements of an array, including its opening bracket.
#[derive(Debug)]
pub(crate) struct Head {
    /// The offset in the file at which the head begins: after a byte order mark, if there is one.
    from: u64,
    text: Vec<u8>,
}

/// The reason why an array was not found.
#[derive(Debug, PartialEq, Eq)]
enum Missing {
    /// The array does not exist, or cannot be found by this simple search.
    NotThere,
    /// The text ends before the array.
    Further,
}

impl Head {
    /// Finds the array of a program in a document, if it begins near the start of the document.
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

    /// The offset in the file at which the elements begin.
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
    /// Reads the tail; `None` if it is too long.
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

    /// True if two conditions hold. The document has no fault outside its elements. And the program's path
    /// leads to this array: evaluated on head and tail alone, it finds the empty array.
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
        let answer = Cpu.answer(text, &split.array, Want::default().matches(true))?;
        let head = self.head as u32;
        let wanted = Match { line: 0, start: head - 1, end: head + 1 };
        Ok(matches!(answer.pieces.as_slice(), [piece] if piece.matches == [vec![wanted]]))
    }
}

impl From<Fault> for Missing {
    /// The cursor fails only where the text ends within an item.
    fn from(_: Fault) -> Self {
        Self::Further
    }
}

/// The offset at which the elements of an array begin. `steps` are the path to the array. Finds only arrays
/// that a simple walk can find.
fn array_in(text: &[u8], steps: &[PathStep]) -> Result<usize, Missing> {
    let mut cursor = Cursor::new(text);
    for step in steps {
        match step {
            PathStep::Name(name) => {
                take(&mut cursor, b'{')?;
                member(&mut cursor, name)?;
            }
            PathStep::Index(index) => {
                take(&mut cursor, b'[')?;
                for _ in 0..*index {
                    cursor.skip_item()?;
                    take(&mut cursor, b',')?;
                }
            }
        }
    }
    take(&mut cursor, b'[')?;
    Ok(cursor.offset())
}

/// Moves past a byte that white space may precede.
fn take(cursor: &mut Cursor<'_>, byte: u8) -> Result<(), Missing> {
    cursor.space();
    let is_next = cursor.peek().ok_or(Missing::Further)? == byte;
    cursor.advance(1);
    if is_next { Ok(()) } else { Err(Missing::NotThere) }
}

/// Moves from within an object to the value of its first member named `name`.
fn member(cursor: &mut Cursor<'_>, name: &str) -> Result<(), Missing> {
    loop {
        cursor.space();
        if cursor.peek().ok_or(Missing::Further)? != b'"' {
            return Err(Missing::NotThere);
        }
        let mut decoded = Vec::new();
        let is_named = cursor.string()?.text(Malformed::Keep, &mut decoded) == Some(name.as_bytes());
        take(cursor, b':')?;
        if is_named {
            return Ok(());
        }
        cursor.skip_item()?;
        take(cursor, b',')?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_found() {
        let name = |name: &str| PathStep::Name(name.into());
        let found = |text: &str, steps: &[PathStep]| array_in(text.as_bytes(), steps);
        assert_eq!(found(" \n[1]", &[]), Ok(3));
        assert_eq!(found("{\"a\":[", &[]), Err(Missing::NotThere));
        assert_eq!(found(" ", &[]), Err(Missing::Further));
        let text = r#"{"x":"],\"","y":{"a":[{}]},"\u0061" : [ 3, [4,[5]], [6] ],"a":[]}"#;
        assert_eq!(found(text, &[name("a")]), Ok(text.find("[ 3").unwrap() + 1));
        assert_eq!(found(text, &[name("a"), PathStep::Index(1)]), Ok(text.find("[4").unwrap() + 1));
        assert_eq!(found(text, &[name("a"), PathStep::Index(2)]), Ok(text.find("[6").unwrap() + 1));
        for (steps, missing) in [
            (&[name("a"), PathStep::Index(0)][..], Missing::NotThere),
            (&[name("a"), PathStep::Index(3)][..], Missing::NotThere),
            (&[name("z")][..], Missing::NotThere),
            (&[name("x")][..], Missing::NotThere),
            (&[PathStep::Index(0)][..], Missing::NotThere),
        ] {
            assert_eq!(found(text, steps), Err(missing), "{steps:?}");
        }
        for end in 0..text.find("[ 3").unwrap() {
            assert_eq!(found(&text[..end], &[name("a")]), Err(Missing::Further), "{end}");
        }
    }
}
