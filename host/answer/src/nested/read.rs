//! The pass over the text of a record.

use std::ops::Range;

use warpath_core::json::{Cursor, JsonString, Malformed, decode};
use warpath_core::number::{self, Reason};
use warpath_core::simd::Simd;
use warpath_core::time;
use warpath_shared::check::Fault;
use warpath_shared::column;

use super::column::{Column, Data, Lists, Maps, Members};
use crate::columns::scalar;
use crate::columns::tally::Within;

/// Reads a record.
pub struct Reader<'t, S> {
    simd: S,
    cursor: Cursor<'t>,
    /// The offset of the record.
    begin: usize,
    /// The refused values, if the caller wants them, and the number of the record.
    refused: Option<(&'t mut Vec<Within>, usize)>,
}

/// The error that a record is not JSON.
pub struct Odd;

impl From<Fault> for Odd {
    #[inline]
    fn from(_: Fault) -> Self {
        Self
    }
}

impl<'t, S: Simd> Reader<'t, S> {
    /// A reader of a record, which is a range of a text. `refused` gets the values that a column does not
    /// take, as values within an item of this number.
    #[inline(always)]
    pub fn new(
        simd: S,
        text: &'t [u8],
        record: Range<usize>,
        refused: Option<(&'t mut Vec<Within>, usize)>,
    ) -> Self {
        Self { simd, begin: record.start, cursor: Cursor::within(text, record), refused }
    }

    /// Adds the record to the column of all records. An empty record is a missing value.
    #[inline(always)]
    pub fn record(mut self, root: &mut Column) {
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
    fn refuse(&mut self, column: &mut Column, reason: Reason, start: usize) {
        column.push_null(Some(reason));
        self.note(reason, start);
    }

    fn note(&mut self, reason: Reason, start: usize) {
        if let Some((refused, item)) = &mut self.refused {
            refused.push(Within { item: *item, at: start - self.begin, reason });
        }
    }

    /// Adds the next value to a column. Adds a null if it is of another type.
    fn value(&mut self, column: &mut Column) -> Result<(), Odd> {
        let start = self.cursor.offset();
        // No token begins with a zero.
        match (self.cursor.peek().unwrap_or(0), &mut column.data) {
            (b'"', Data::Utf8(texts) | Data::Text(texts)) => {
                let JsonString { inside, has_escapes } = self.cursor.string_by(self.simd)?;
                if !has_escapes {
                    texts.bytes.extend_from_slice(inside);
                } else if !decode(inside, Malformed::Refuse, &mut texts.bytes) {
                    self.refuse(column, Reason::Mismatch, start);
                    return Ok(());
                }
                texts.end();
                column.pushed();
                Ok(())
            }
            (b'{', Data::Struct(members)) => {
                let read = self.members(members, column.len);
                column.pushed();
                read
            }
            (b'[', Data::List(lists)) => {
                let read = self.elements(lists);
                lists.end();
                column.pushed();
                read
            }
            (b'{', Data::Map(maps)) => {
                let read = self.entries(maps);
                maps.end();
                column.pushed();
                read
            }
            (b'-' | b'0'..=b'9', Data::Int64(values)) => {
                let (integer, len) = scalar::digits(self.cursor.rest());
                if let Some(integer) = integer {
                    self.cursor.advance(len);
                    values.push(integer);
                    column.pushed();
                    return Ok(());
                }
                self.number(column)
            }
            (b'-' | b'0'..=b'9', Data::Float64(_) | Data::Decimal(_) | Data::Time(_)) => self.number(column),
            (b'"', Data::Time(_) | Data::Date(_)) => self.instant(column),
            (b't' | b'f', Data::Boolean(bits)) => {
                let token = self.cursor.scalar();
                match column::boolean(0, token.len() as u32, |at| token[at as usize]) {
                    Some(truth) => {
                        bits.append(truth);
                        column.pushed();
                    }
                    None => self.refuse(column, Reason::Mismatch, start),
                }
                Ok(())
            }
            (b'n', _) => {
                if self.cursor.scalar() == b"null" {
                    column.push_null(None);
                } else {
                    self.refuse(column, Reason::Mismatch, start);
                }
                Ok(())
            }
            (_, Data::Json(texts) | Data::Text(texts)) => {
                self.cursor.skip_value(self.simd)?;
                texts.bytes.extend_from_slice(self.cursor.since(start));
                texts.end();
                column.pushed();
                Ok(())
            }
            _ => {
                self.cursor.skip_value(self.simd)?;
                self.refuse(column, Reason::Mismatch, start);
                Ok(())
            }
        }
    }

    /// Adds the next string to a column of instants or dates.
    fn instant(&mut self, column: &mut Column) -> Result<(), Odd> {
        let start = self.cursor.offset();
        let string = self.cursor.string_by(self.simd)?;
        let added = scalar::with_text(string, |text| match &mut column.data {
            Data::Time(times) => times.read(text).map(|value| times.values.push(value)),
            Data::Date(days) => time::date(text).map(|day| days.push(day)).ok_or(Reason::Mismatch),
            _ => Err(Reason::Mismatch),
        });
        match added.unwrap_or(Err(Reason::Mismatch)) {
            Ok(()) => column.pushed(),
            Err(reason) => self.refuse(column, reason, start),
        }
        Ok(())
    }

    /// Adds the next number to a column of numbers, or of instants.
    fn number(&mut self, column: &mut Column) -> Result<(), Odd> {
        let start = self.cursor.offset();
        let token = self.cursor.scalar();
        let added = match &mut column.data {
            Data::Int64(values) => number::int64(token).map(|value| values.push(value)),
            Data::Float64(values) => number::float64(token).map(|value| values.push(value)),
            Data::Decimal(decimals) => number::decimal(token, decimals.precision, decimals.scale)
                .map(|value| decimals.values.push(value)),
            Data::Time(times) => times.read_number(token).map(|value| times.values.push(value)),
            _ => Err(Reason::Mismatch),
        };
        match added {
            Ok(()) => column.pushed(),
            Err(reason) => self.refuse(column, reason, start),
        }
        Ok(())
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
    fn entries(&mut self, maps: &mut Maps) -> Result<(), Odd> {
        self.cursor.advance(1);
        self.cursor.space();
        if self.cursor.take(b'}') {
            return Ok(());
        }
        loop {
            let Maps { names, values, .. } = maps;
            self.name(|name| names.bytes.extend_from_slice(name))?;
            names.end();
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
