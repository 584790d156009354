//! The pass over the text of a record.

use std::ops::Range;

use warpath_core::json::{Cursor, JsonString, Malformed, decode};
use warpath_core::number::{self, Reason};
use warpath_core::simd::{Isa, Simd, Work};
use warpath_shared::check::Fault;

use super::column::{Lists, Members, Nested};
use crate::columns::build::{Builder, BytesForm, Data, Leaf};
use crate::columns::tally::Within;
use crate::columns::{Offsets, Values, scalar};

/// Adds records or values, which are ranges of a text, to a column. An empty range is a missing value. If
/// `notes`, the column gets the values within records that are refused.
pub fn push(root: &mut Builder, text: &[u8], records: impl Iterator<Item = Range<usize>>, notes: bool) {
    struct Push<'a, I>(&'a mut Builder, &'a [u8], I, bool);

    impl<I: Iterator<Item = Range<usize>>> Work for Push<'_, I> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let Self(root, text, records, notes) = self;
            let mut refused = notes.then(|| std::mem::take(&mut root.within));
            for record in records {
                let refused = refused.as_mut().map(|refused| (refused, root.len));
                RecordReader::new(simd, text, record, refused).record(root);
            }
            root.within = refused.unwrap_or_default();
        }
    }

    Isa::best().run(Push(root, text, records, notes));
}

#[inline(always)]
fn is_utf8(text: &[u8]) -> bool {
    text.is_ascii() || simdutf8::basic::from_utf8(text).is_ok()
}

/// Reads a record.
struct RecordReader<'t, S> {
    simd: S,
    cursor: Cursor<'t>,
    /// The offset of the record.
    begin: usize,
    /// The refused values, if the caller wants them, and the number of the record.
    refused: Option<(&'t mut Vec<Within>, usize)>,
}

/// The error that a record is not JSON.
struct Odd;

impl From<Fault> for Odd {
    #[inline]
    fn from(_: Fault) -> Self {
        Self
    }
}

impl<'t, S: Simd> RecordReader<'t, S> {
    /// A reader of a record, which is a range of a text. `refused` gets the values that a column does not
    /// take, as values within an item of this number.
    #[inline(always)]
    fn new(
        simd: S,
        text: &'t [u8],
        record: Range<usize>,
        refused: Option<(&'t mut Vec<Within>, usize)>,
    ) -> Self {
        Self { simd, begin: record.start, cursor: Cursor::within(text, record), refused }
    }

    /// Adds the record to the column of all records. An empty record is a missing value.
    #[inline(always)]
    fn record(mut self, root: &mut Builder) {
        let (row, start) = (root.len, self.cursor.offset());
        if self.cursor.peek().is_none() {
            return root.pad(row + 1);
        }
        self.cursor.space();
        let read = self.value(root);
        self.cursor.space();
        if root.len == row {
            self.refuse(root, Reason::Mismatch, start);
        } else if read.is_err() || self.cursor.peek().is_some() {
            root.count_last();
            self.note(Reason::Mismatch, start);
        }
    }

    /// Adds a null for a value at an offset, which the column does not take.
    #[cold]
    fn refuse(&mut self, column: &mut Builder, reason: Reason, start: usize) {
        column.push_null(Some(reason));
        self.note(reason, start);
    }

    fn note(&mut self, reason: Reason, start: usize) {
        if let Some((refused, item)) = &mut self.refused {
            refused.push(Within { item: *item, at: start - self.begin, reason });
        }
    }

    /// Adds the next value to a column. Adds a null if it is of another type.
    fn value(&mut self, column: &mut Builder) -> Result<(), Odd> {
        let start = self.cursor.offset();
        // No token begins with a zero.
        let pushed = match (self.cursor.peek().unwrap_or(0), &mut column.data) {
            (b'"', Data::Leaf(Leaf { values: Values::Utf8(Offsets::Small(offsets), bytes), form, .. }))
                if *form != BytesForm::Json =>
            {
                let JsonString { inside, has_escapes } = self.cursor.string_by(self.simd)?;
                let is_plain = !has_escapes && is_utf8(inside);
                if is_plain {
                    bytes.extend_from_slice(inside);
                }
                if is_plain || decode(inside, Malformed::Refuse, bytes) {
                    offsets.push(bytes.len() as i32);
                    Ok(())
                } else {
                    Err(Reason::Mismatch)
                }
            }
            (b'-' | b'0'..=b'9', Data::Leaf(Leaf { values: Values::Int64(values), .. })) => {
                let (integer, len) = scalar::digits(self.cursor.rest());
                let integer = match integer {
                    Some(integer) => {
                        self.cursor.advance(len);
                        Ok(integer)
                    }
                    None => number::int64(self.cursor.scalar()),
                };
                integer.map(|integer| values.push(integer))
            }
            (b'{', Data::Nested(Nested::Struct(members))) => {
                let read = self.members(members, column.len);
                column.pushed();
                return read;
            }
            (b'[', Data::Nested(Nested::List(lists))) => {
                let read = self.elements(lists);
                lists.end();
                column.pushed();
                return read;
            }
            (b'{', Data::Nested(Nested::Map(names, lists))) => {
                let read = self.entries(names, lists);
                lists.end();
                column.pushed();
                return read;
            }
            (b'n', _) => match self.cursor.scalar() {
                b"null" => {
                    column.push_null(None);
                    return Ok(());
                }
                _ => Err(Reason::Mismatch),
            },
            _ => self.other(column)?,
        };
        match pushed {
            Ok(()) => column.pushed(),
            Err(reason) => self.refuse(column, reason, start),
        }
        Ok(())
    }

    /// Reads the next value as one of another type than the usual ones, without an entry for a null.
    // Not inlined, because most values are read without it.
    #[inline(never)]
    fn other(&mut self, column: &mut Builder) -> Result<Result<(), Reason>, Odd> {
        let start = self.cursor.offset();
        self.cursor.skip_value(self.simd)?;
        Ok(match &mut column.data {
            Data::Leaf(leaf) => leaf.push(column.len, self.cursor.since(start)),
            Data::Nested(_) => Err(Reason::Mismatch),
        })
    }

    /// Adds the members of the next object to their columns, which have `row` values or fewer.
    fn members(&mut self, members: &mut Members, row: usize) -> Result<(), Odd> {
        self.cursor.advance(1);
        self.cursor.space();
        if self.cursor.take(b'}') {
            return Ok(());
        }
        let mut next = 0;
        loop {
            let member = match members.predict(self.cursor.rest(), next) {
                Some((member, len)) => {
                    self.cursor.advance(len);
                    Some(member)
                }
                None => self.name(|name| members.find(name))?,
            };
            self.cursor.space();
            match member {
                Some(member) => {
                    next = member + 1;
                    let column = &mut members.members[member].column;
                    if column.len > row {
                        // The second member of the name.
                        self.cursor.skip_value(self.simd)?;
                    } else {
                        column.pad(row);
                        self.value(column)?;
                    }
                }
                None => self.cursor.skip_value(self.simd)?,
            }
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    /// Adds the elements of the next array.
    fn elements(&mut self, lists: &mut Lists) -> Result<(), Odd> {
        self.cursor.advance(1);
        self.cursor.space();
        if self.cursor.take(b']') {
            return Ok(());
        }
        loop {
            self.value(&mut lists.elements)?;
            if !self.goes_on(b']')? {
                return Ok(());
            }
        }
    }

    /// Adds the members of the next object as entries.
    fn entries(&mut self, names: &mut Leaf, lists: &mut Lists) -> Result<(), Odd> {
        self.cursor.advance(1);
        self.cursor.space();
        if self.cursor.take(b'}') {
            return Ok(());
        }
        let values = &mut lists.elements;
        let Values::Utf8(offsets, bytes) = &mut names.values else { return Err(Odd) };
        loop {
            let begin = bytes.len();
            let named = self.name(|name| match is_utf8(name) {
                true => bytes.extend_from_slice(name),
                // Names cannot be null.
                false => bytes.extend_from_slice(String::from_utf8_lossy(name).as_bytes()),
            });
            if named.is_err() {
                bytes.truncate(begin);
                return named;
            }
            offsets.push(bytes.len());
            self.cursor.space();
            let len = values.len;
            let read = self.value(values);
            values.pad(len + 1);
            read?;
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    /// Reads what follows a value in a container: true for a comma, false for its end.
    #[inline(always)]
    fn goes_on(&mut self, end: u8) -> Result<bool, Odd> {
        self.cursor.space();
        if self.cursor.take(b',') {
            self.cursor.space();
            Ok(true)
        } else if self.cursor.take(end) {
            Ok(false)
        } else {
            Err(Odd)
        }
    }

    /// Reads a name and its colon. `take` gets the name with its escapes resolved.
    fn name<R>(&mut self, take: impl FnOnce(&[u8]) -> R) -> Result<R, Odd> {
        if self.cursor.peek() != Some(b'"') {
            return Err(Odd);
        }
        let name = self.cursor.string_by(self.simd)?;
        let taken = take(name.text(Malformed::Keep, &mut Vec::new()).ok_or(Odd)?);
        self.cursor.space();
        if self.cursor.take(b':') { Ok(taken) } else { Err(Odd) }
    }
}
