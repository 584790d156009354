//! Edits of records: members are left out, masked or renamed, and the rest stays byte for byte.

use std::any::Any;
use std::ops::Range;

use warpath_answer::answer::Want;
use warpath_core::error::Error;
use warpath_core::json::{self, Cursor, Malformed};
use warpath_lang::jsonpath::SelectorKind;
use warpath_lang::program::Query;
use warpath_shared::units::LineIx;

use crate::stream::{Digest, PieceResults};

/// The text in place of a masked value.
const MASK: &[u8] = b"\"***\"";

/// An edit of the values of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The member, or the element, is left out.
    Drop,
    /// The value becomes the string `***`.
    Mask,
    /// The member has another name.
    Rename(String),
}

/// Edits the records of partitions. The path of the record comes first in the program, then the paths of the
/// edits.
///
/// A path finds the first of several members of one name. Members of the same name that follow it are left
/// out and masked, too.
pub struct EditRecords {
    edits: Vec<Edit>,
}

impl EditRecords {
    /// Edits the values of paths.
    ///
    /// # Errors
    /// [`Error::Usage`] for the path of the whole record, and for a renamed path that does not end with a
    /// name.
    pub fn new(edits: &[(Query, Edit)]) -> Result<Self, Error> {
        for (path, edit) in edits {
            let Some(last) = path.ast().segments.last() else {
                return Err(Error::Usage(format!(
                    "`{}` is the whole record; expected the path of a member",
                    path.text()
                )));
            };
            let is_name = |kind: &SelectorKind| matches!(kind, SelectorKind::Name(_));
            if matches!(edit, Edit::Rename(_))
                && !last.selectors.iter().all(|selector| is_name(&selector.kind))
            {
                return Err(Error::Usage(format!(
                    "`{}` does not end with a name; expected the path of a member that is renamed",
                    path.text()
                )));
            }
        }
        Ok(Self { edits: edits.iter().map(|(_, edit)| edit.clone()).collect() })
    }
}

/// Records as they are after edits.
#[derive(Default)]
pub struct EditedRecords {
    /// The records, each with a newline after it.
    pub text: Vec<u8>,
    /// The end of each record in the text, its piece, and its line in the piece.
    pub records: Vec<(usize, usize, LineIx)>,
    /// The number of values that were edited.
    pub edited: u64,
}

impl Digest for EditRecords {
    fn want(&self) -> Want {
        Want::default().matches(true)
    }

    /// Makes [`EditedRecords`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let mut edited = EditedRecords::default();
        let (mut drops, mut changes) = (Vec::new(), Vec::new());
        for (number, piece) in found.iter().enumerate() {
            let Some((records, lists)) = piece.matches.split_first() else { continue };
            let mut rests: Vec<_> = lists.to_vec();
            for record in *records {
                drops.clear();
                changes.clear();
                let text =
                    Record { text: piece.text, begin: record.start as usize, end: record.end as usize };
                for (rest, edit) in rests.iter_mut().zip(&self.edits) {
                    let count = rest.iter().take_while(|found| found.line <= record.line).count();
                    let values;
                    (values, *rest) = rest.split_at(count);
                    for value in values.iter().filter(|value| value.line == record.line) {
                        let value = value.start as usize..value.end as usize;
                        edited.edited += 1;
                        text.edit(value, edit, &mut drops, &mut changes);
                    }
                }
                text.remove(&mut drops, &mut changes);
                text.write(&mut changes, &mut edited.text);
                edited.text.push(b'\n');
                edited.records.push((edited.text.len(), number, record.line));
            }
        }
        Box::new(edited)
    }
}

/// A record in a text.
#[derive(Clone, Copy)]
struct Record<'a> {
    text: &'a [u8],
    begin: usize,
    end: usize,
}

/// Bytes of a text, and what comes in their place.
type Change = (Range<usize>, Vec<u8>);

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

impl Record<'_> {
    /// Adds the edit of a value: to `drops` if it is left out, else to `changes`.
    fn edit(
        self,
        value: Range<usize>,
        edit: &Edit,
        drops: &mut Vec<Range<usize>>,
        changes: &mut Vec<Change>,
    ) {
        let name = self.name(value.start);
        let mut act = |name: Option<Range<usize>>, value: Range<usize>| match edit {
            Edit::Drop => drops.push(name.map_or(value.start, |name| name.start)..value.end),
            Edit::Mask => changes.push((value, MASK.to_vec())),
            Edit::Rename(new) => {
                changes.extend(name.map(|name| (name, json::encode(new).into_bytes())));
            }
        };
        if let (Some(name), Edit::Drop | Edit::Mask) = (&name, edit) {
            let own = self.decoded(name.clone());
            self.each_later_member(value.end, |name, value| {
                if self.decoded(name.clone()) == own {
                    act(Some(name), value);
                }
            });
        }
        act(name, value);
    }

    /// The name of the member with a value, with its quotes. `None` for an element of an array.
    fn name(self, value: usize) -> Option<Range<usize>> {
        let back = |mut at: usize| {
            while at > self.begin && is_space(self.text[at - 1]) {
                at -= 1;
            }
            at
        };
        let colon = back(value).checked_sub(1).filter(|at| *at > self.begin && self.text[*at] == b':')?;
        let end = back(colon);
        if end <= self.begin || self.text[end - 1] != b'"' {
            return None;
        }
        let mut start = end - 1;
        loop {
            start = memchr::memrchr(b'"', &self.text[self.begin..start])? + self.begin;
            let escapes =
                self.text[self.begin..start].iter().rev().take_while(|byte| **byte == b'\\').count();
            if escapes % 2 == 0 {
                return Some(start..end);
            }
        }
    }

    /// A name without quotes and escapes.
    fn decoded(self, name: Range<usize>) -> Vec<u8> {
        let inside = json::inside(&self.text[name]).unwrap_or_default();
        let mut decoded = Vec::with_capacity(inside.len());
        json::decode(inside, Malformed::Order, &mut decoded);
        decoded
    }

    /// Calls `each` with the name and the value of every member that follows a value in its object.
    fn each_later_member(self, after: usize, mut each: impl FnMut(Range<usize>, Range<usize>)) {
        let mut cursor = Cursor::within(self.text, after..self.end);
        loop {
            cursor.space();
            if !cursor.take(b',') {
                return;
            }
            cursor.space();
            let name = cursor.offset();
            if cursor.peek() != Some(b'"') || cursor.string().is_err() {
                return;
            }
            let name = name..cursor.offset();
            cursor.space();
            if !cursor.take(b':') {
                return;
            }
            cursor.space();
            let begin = cursor.offset();
            if cursor.skip_item().is_err() {
                return;
            }
            let mut end = cursor.offset();
            while end > begin && is_space(self.text[end - 1]) {
                end -= 1;
            }
            each(name, begin..end);
        }
    }

    /// Makes changes of what is left out, with the commas that become superfluous.
    ///
    /// ```text
    /// {"a":1, "b":2, "c":3}      a and b: up to the next member        {"c":3}
    /// {"a":1, "b":2, "c":3}      b and c: from the comma before them   {"a":1}
    /// ```
    fn remove(self, drops: &mut [Range<usize>], changes: &mut Vec<Change>) {
        drops.sort_unstable_by_key(|drop| (drop.start, usize::MAX - drop.end));
        let mut at = 0;
        while at < drops.len() {
            let (start, mut end) = (drops[at].start, drops[at].end);
            at += 1;
            let next = loop {
                let next = self.after_comma(end);
                match drops.get(at) {
                    // Within what is left out already.
                    Some(drop) if drop.start < end => at += 1,
                    Some(drop) if Some(drop.start) == next => {
                        end = drop.end;
                        at += 1;
                    }
                    _ => break next,
                }
            };
            let range = match next {
                Some(next) => start..next,
                None => {
                    let spaces =
                        self.text[self.begin..start].iter().rev().take_while(|byte| is_space(**byte));
                    let before = start - spaces.count();
                    let has_comma = before > self.begin && self.text[before - 1] == b',';
                    if has_comma { before - 1..end } else { start..end }
                }
            };
            changes.push((range, Vec::new()));
        }
    }

    /// The start of what follows the comma after an offset; `None` if there is no comma.
    fn after_comma(self, at: usize) -> Option<usize> {
        let mut cursor = Cursor::within(self.text, at..self.end);
        cursor.space();
        if !cursor.take(b',') {
            return None;
        }
        cursor.space();
        Some(cursor.offset())
    }

    /// Appends the record with its changes. Changes within others have no effect.
    fn write(self, changes: &mut [Change], out: &mut Vec<u8>) {
        changes.sort_by_key(|(range, _)| (range.start, usize::MAX - range.end));
        let mut at = self.begin;
        for (range, new) in changes.iter().filter(|(range, _)| range.end <= self.end) {
            if range.start >= at {
                out.extend_from_slice(&self.text[at..range.start]);
                out.extend_from_slice(new);
                at = range.end;
            }
        }
        out.extend_from_slice(&self.text[at..self.end]);
    }
}
