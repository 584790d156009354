//! The pass over the text of a record.

use std::ops::Range;

use warpath_core::json::{self, Malformed};
use warpath_core::number;
use warpath_core::simd::Simd;
use warpath_core::time;
use warpath_shared::column;
use warpath_shared::units::WORD_BYTES;

use super::column::{Column, Data, Lists, Maps, Members};
use super::losses::{Cause, Place};
use super::scalar;

/// Reads a record.
pub struct Reader<'t, S> {
    simd: S,
    /// The text up to the end of the record. Words of the text may be read beyond it.
    text: &'t [u8],
    at: usize,
    end: usize,
    /// The positions of mismatches and overflows, if the caller wants them.
    places: Option<&'t mut Vec<Place>>,
}

/// The error that a record is not JSON.
pub struct Odd;

impl<'t, S: Simd> Reader<'t, S> {
    /// A reader of a record, which is a range of a text. Values that a column does not take are added to
    /// `places`.
    #[inline(always)]
    pub fn new(simd: S, text: &'t [u8], record: Range<usize>, places: Option<&'t mut Vec<Place>>) -> Self {
        Self { simd, text, at: record.start, end: record.end.min(text.len()), places }
    }

    /// Adds the record to the column of all records. An empty record is a missing value.
    #[inline(always)]
    pub fn record(mut self, root: &mut Column) {
        let (row, start) = (root.len, self.at);
        if self.at == self.end {
            return root.pad(row + 1);
        }
        self.space();
        let read = self.value(root);
        self.space();
        if root.len == row {
            self.refuse(root, Cause::Mismatch, start);
        } else if read.is_err() || self.at < self.end {
            root.count_last(Cause::Mismatch);
            self.note(Cause::Mismatch, start);
        }
    }

    /// Adds a null for a value at an offset, which the column does not take.
    #[cold]
    fn refuse(&mut self, column: &mut Column, cause: Cause, start: usize) {
        column.push_null(cause);
        if cause != Cause::Null {
            self.note(cause, start);
        }
    }

    fn note(&mut self, cause: Cause, at: usize) {
        if let Some(places) = &mut self.places {
            places.push(Place { at, is_overflow: cause == Cause::Overflow });
        }
    }

    /// The next byte; 0, which no token begins with, at the end.
    #[inline(always)]
    fn byte(&self) -> u8 {
        if self.at < self.end { self.text[self.at] } else { 0 }
    }

    /// Skips white space.
    #[inline(always)]
    fn space(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Adds the next value to a column. Adds a null if it is of another type.
    fn value(&mut self, column: &mut Column) -> Result<(), Odd> {
        let start = self.at;
        match (self.byte(), &mut column.data) {
            (b'"', Data::Utf8(texts) | Data::Text(texts)) => {
                let (inside, escapes) = self.string()?;
                if !escapes {
                    texts.bytes.extend_from_slice(inside);
                } else if !json::decode(inside, Malformed::Refuse, &mut texts.bytes) {
                    self.refuse(column, Cause::Mismatch, start);
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
                let (integer, len) = scalar::digits(&self.text[self.at..self.end]);
                if let Some(integer) = integer {
                    self.at += len;
                    values.push(integer);
                    column.pushed();
                    return Ok(());
                }
                self.number(column)
            }
            (b'-' | b'0'..=b'9', Data::Float64(_) | Data::Decimal(_) | Data::Time(_)) => self.number(column),
            (b'"', Data::Time(_) | Data::Date(_)) => self.instant(column),
            (b't' | b'f', Data::Boolean(bits)) => {
                let token = self.token();
                match column::boolean(0, token.len() as u32, |at| token[at as usize]) {
                    Some(truth) => {
                        bits.append(truth);
                        column.pushed();
                    }
                    None => self.refuse(column, Cause::Mismatch, start),
                }
                Ok(())
            }
            (b'n', _) => {
                let cause = if self.token() == b"null" { Cause::Null } else { Cause::Mismatch };
                self.refuse(column, cause, start);
                Ok(())
            }
            (_, Data::Json(texts) | Data::Text(texts)) => {
                self.skip()?;
                texts.bytes.extend_from_slice(&self.text[start..self.at]);
                texts.end();
                column.pushed();
                Ok(())
            }
            _ => {
                self.skip()?;
                self.refuse(column, Cause::Mismatch, start);
                Ok(())
            }
        }
    }

    /// Adds the next string to a column of instants or dates.
    fn instant(&mut self, column: &mut Column) -> Result<(), Odd> {
        let start = self.at;
        let (inside, escapes) = self.string()?;
        let added = scalar::with_text(inside, escapes, |text| match &mut column.data {
            Data::Time(times) => times.read(text).map(|value| times.values.push(value)),
            Data::Date(days) => time::date(text).map(|day| days.push(day)).ok_or(Cause::Mismatch),
            _ => Err(Cause::Mismatch),
        });
        match added {
            Ok(()) => column.pushed(),
            Err(cause) => self.refuse(column, cause, start),
        }
        Ok(())
    }

    /// Adds the next number to a column of numbers, or of instants.
    fn number(&mut self, column: &mut Column) -> Result<(), Odd> {
        let start = self.at;
        let token = self.token();
        let added = match &mut column.data {
            Data::Int64(values) => number::int64(token).map(|value| values.push(value)).map_err(Cause::from),
            Data::Float64(values) => {
                number::float64(token).map(|value| values.push(value)).map_err(Cause::from)
            }
            Data::Decimal(decimals) => number::decimal(token, decimals.precision, decimals.scale)
                .map(|value| decimals.values.push(value))
                .map_err(Cause::from),
            Data::Time(times) => times.read_number(token).map(|value| times.values.push(value)),
            _ => Err(Cause::Mismatch),
        };
        match added {
            Ok(()) => column.pushed(),
            Err(cause) => self.refuse(column, cause, start),
        }
        Ok(())
    }

    /// Adds the members of the next object to their columns, which have `row` values or fewer.
    fn members(&mut self, members: &mut Members, row: usize) -> Result<(), Odd> {
        self.at += 1;
        self.space();
        if self.byte() == b'}' {
            self.at += 1;
            return Ok(());
        }
        let mut next = 0;
        loop {
            let member = match members.predict(&self.text[self.at..self.end], next) {
                Some((member, len)) => {
                    self.at += len;
                    Some(member)
                }
                None => self.name(|name| members.find(name))?,
            };
            self.space();
            match member {
                Some(member) => {
                    next = member + 1;
                    let column = &mut members.members[member].column;
                    if column.len > row {
                        // The second member of the name.
                        self.skip()?;
                    } else {
                        column.pad(row);
                        self.value(column)?;
                    }
                }
                None => self.skip()?,
            }
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    /// Adds the elements of the next array.
    fn elements(&mut self, lists: &mut Lists) -> Result<(), Odd> {
        self.at += 1;
        self.space();
        if self.byte() == b']' {
            self.at += 1;
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
        self.at += 1;
        self.space();
        if self.byte() == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let Maps { names, values, .. } = maps;
            self.name(|name| names.bytes.extend_from_slice(name))?;
            names.end();
            self.space();
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
        self.space();
        let byte = self.byte();
        self.at += 1;
        if byte == b',' {
            self.space();
            Ok(true)
        } else if byte == end {
            Ok(false)
        } else {
            Err(Odd)
        }
    }

    /// Reads a name and its colon. `take` gets the name with its escapes resolved.
    fn name<R>(&mut self, take: impl FnOnce(&[u8]) -> R) -> Result<R, Odd> {
        if self.byte() != b'"' {
            return Err(Odd);
        }
        let (inside, escapes) = self.string()?;
        let taken = if escapes {
            let mut name = Vec::new();
            json::decode(inside, Malformed::Keep, &mut name);
            take(&name)
        } else {
            take(inside)
        };
        self.space();
        if self.byte() != b':' {
            return Err(Odd);
        }
        self.at += 1;
        Ok(taken)
    }

    /// Reads a string: its text without quotes, and whether it has escapes.
    #[inline(always)]
    fn string(&mut self) -> Result<(&'t [u8], bool), Odd> {
        self.at += 1;
        let start = self.at;
        while let Some(word) = self.text.get(self.at..).and_then(|rest| rest.first_chunk::<WORD_BYTES>()) {
            let backslash = self.simd.equal(word, b'\\');
            let quote = self.simd.equal(word, b'"');
            if quote.wrapping_sub(1) & !quote & backslash != 0 {
                self.at += backslash.trailing_zeros() as usize;
                return self.escaped_string(start);
            }
            if quote != 0 {
                return self.string_end(start, self.at + quote.trailing_zeros() as usize, false);
            }
            self.at += WORD_BYTES;
        }
        self.escaped_string(start)
    }

    /// Reads the rest of a string that may have escapes, or that is near the end of the text.
    fn escaped_string(&mut self, start: usize) -> Result<(&'t [u8], bool), Odd> {
        let mut escapes = false;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let at = memchr::memchr2(b'"', b'\\', rest).ok_or(Odd)?;
            self.at += at;
            if rest[at] == b'"' {
                return self.string_end(start, self.at, escapes);
            }
            escapes = true;
            self.at += 2;
        }
    }

    #[inline(always)]
    fn string_end(&mut self, start: usize, end: usize, escapes: bool) -> Result<(&'t [u8], bool), Odd> {
        self.at = end + 1;
        if self.at > self.end { Err(Odd) } else { Ok((&self.text[start..end], escapes)) }
    }

    /// Reads a number or a literal, or other bytes that are in its position.
    #[inline(always)]
    fn token(&mut self) -> &'t [u8] {
        let rest = &self.text[self.at..self.end];
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        let token = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        self.at += token.len();
        token
    }

    /// Skips the next value.
    fn skip(&mut self) -> Result<(), Odd> {
        match self.byte() {
            b'"' => self.string().map(drop),
            b'{' | b'[' => {
                let mut depth = 0_usize;
                loop {
                    match self.byte() {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => {
                            depth -= 1;
                            if depth == 0 {
                                self.at += 1;
                                return Ok(());
                            }
                        }
                        0 if self.at >= self.end => return Err(Odd),
                        _ => {}
                    }
                    self.at += 1;
                }
            }
            _ if self.token().is_empty() => Err(Odd),
            _ => Ok(()),
        }
    }
}
