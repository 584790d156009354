//! Columns under construction: one builder for typed columns, nested columns, and the values in lists.
//!
//! A column is a [`Leaf`], which has values of one type, or it has lists, maps or structs of further columns.
//! Values that are valid need no bits before a null follows. A member that a record lacks costs nothing when
//! the record is read. The column of the member stays shorter, and is padded with nulls before its next
//! value, or at the end:
//!
//! ```text
//! records        {"a":1,"b":2}  {"a":3}  {"a":4}  {"a":5,"b":6}
//! length of b    1              1        1        4, after two nulls
//! ```
//!
//! A value alone costs more than its bytes: a call, tests of its length, growing vectors. So the strings of a
//! block of values are copied first, one after the other, as they are in the text. One search over the copy
//! then shows whether there is an escape, a quote, or something that is not UTF-8. If there is none, the copy
//! is the strings. Otherwise the values of the block are read one by one.

use std::ops::Range;
use std::sync::Arc;

use warpath_core::error::Error;
use warpath_core::json::say;
use warpath_core::number::{self, Reason};
use warpath_core::time::{Format, Unit};
use warpath_lang::column_type::ColumnType;
use warpath_lang::program::Column;
use warpath_shared::column::Kind;
use warpath_shared::units::PartOffset;

use super::tally::Within;
use super::{Items, OffsetWidth, Offsets, Values, scalar, truncate_bits};
#[cfg(feature = "arrow")]
use crate::nested::column::{Lists, Members, Nested};

/// Checks that a column's default is a value of its type.
///
/// # Errors
/// [`Error::Usage`] if it is not.
pub fn check_default(asked: &Column) -> Result<(), Error> {
    let mut items = Builder::of_column(asked, OffsetWidth::Large)?;
    if let Some(default) = &asked.default {
        items.push(Some(default));
        let (items, within) = items.finish(&asked.values)?;
        if items.nulls() > 0 || !within.is_empty() {
            return Err(Error::Usage(format!(
                "the default {} of `{}` is not a value of the type `{}`",
                String::from_utf8_lossy(default),
                asked.name,
                asked.values
            )));
        }
    }
    Ok(())
}

/// The validity of values, as bits up to the word of the last null. All values after this word are valid.
#[derive(Clone, Default)]
pub struct Validity(Vec<u32>);

impl Validity {
    /// Adds nulls to `len` values, until there are `end`.
    fn nulls(&mut self, len: usize, end: usize) {
        let Self(words) = self;
        words.resize(len.div_ceil(32), u32::MAX);
        if let Some(last) = words.get_mut(len / 32) {
            *last &= !(u32::MAX << (len % 32));
        }
        words.resize(end.div_ceil(32), 0);
        if let Some(last) = words.last_mut().filter(|_| !end.is_multiple_of(32)) {
            *last |= u32::MAX << (end % 32);
        }
    }

    /// The bits of `len` values.
    pub fn finish(self, len: usize) -> Vec<u32> {
        let Self(mut words) = self;
        words.resize(len.div_ceil(32), u32::MAX);
        truncate_bits(&mut words, len);
        words
    }
}

/// A column under construction: values, some of which may be null.
pub struct Builder {
    /// The number of values, nulls included.
    pub len: usize,
    pub validity: Validity,
    pub data: Data,
    /// The values that became null, by their numbers.
    #[cfg(feature = "arrow")]
    pub lost: super::tally::ColumnTally<u64>,
    /// The refused values within values of a typed column.
    #[cfg(feature = "arrow")]
    pub within: Vec<Within>,
}

/// The values of a column under construction.
pub enum Data {
    Leaf(Leaf),
    #[cfg(feature = "arrow")]
    Nested(Nested),
}

/// Values of one type that have no parts. A null is zero, or has no bytes.
pub struct Leaf {
    pub values: Values,
    /// The bytes that a value becomes, if the values are strings.
    pub form: BytesForm,
    /// The type, if it takes numbers within strings, too.
    pub quoted: Option<ColumnType>,
    /// The format of instants; `None` for RFC 3339 and numbers.
    pub format: Option<Arc<Format>>,
    /// The unit of instants.
    pub unit: Unit,
}

/// The bytes that a value becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BytesForm {
    /// The text of a string. Other values are refused.
    Utf8,
    /// The text of a string, and the JSON text of other values.
    Text,
    /// The JSON text.
    Json,
}

impl BytesForm {
    /// Appends a value. Returns false if it is refused.
    fn append(self, value: &[u8], out: &mut Vec<u8>) -> bool {
        let kind = match self {
            Self::Utf8 => Kind::Utf8,
            Self::Text if value.first() == Some(&b'"') => Kind::Utf8,
            Self::Text | Self::Json => Kind::Json,
        };
        say(kind, value, out)
    }
}

impl Leaf {
    /// Makes a leaf of a type without values. Strings have offsets of a width.
    ///
    /// # Errors
    /// [`Error::Usage`] for a type that has parts, or whose columns cannot be made.
    pub fn new(asked: &ColumnType, format: Option<&Arc<Format>>, width: OffsetWidth) -> Result<Self, Error> {
        let number = match asked {
            ColumnType::Quoted(number) => number,
            asked => asked,
        };
        let values = match number {
            ColumnType::Boolean => Values::Boolean(Vec::new()),
            ColumnType::Int64 => Values::Int64(Vec::new()),
            ColumnType::Float64 => Values::Float64(Vec::new()),
            ColumnType::Decimal { precision, scale } => {
                Values::Decimal { precision: *precision, scale: *scale, units: Vec::new() }
            }
            ColumnType::Time => Values::Time(Vec::new()),
            ColumnType::Date => Values::Date(Vec::new()),
            ColumnType::Utf8 | ColumnType::Text | ColumnType::Json => {
                Values::Utf8(Offsets::new(vec![0], width)?, Vec::new())
            }
            other => return Err(Error::Usage(format!("no columns of the type `{other}` can be made"))),
        };
        let form = match asked {
            ColumnType::Text => BytesForm::Text,
            ColumnType::Json => BytesForm::Json,
            _ => BytesForm::Utf8,
        };
        let quoted = matches!(asked, ColumnType::Quoted(_)).then(|| asked.clone());
        Ok(Self { values, form, quoted, format: format.cloned(), unit: Unit::Nanosecond })
    }

    /// Adds value number `at`. Adds nothing if the type does not take the value, or if it is `null`.
    ///
    /// # Errors
    /// The reason for which the type does not take the value; any reason for `null`.
    pub fn push(&mut self, at: usize, value: &[u8]) -> Result<(), Reason> {
        let value = self.quoted.as_ref().map_or(value, |quoted| quoted.number_text(value));
        match &mut self.values {
            Values::Boolean(truth) => match value {
                b"true" => {
                    truth.resize(at / 32 + 1, 0);
                    truth[at / 32] |= 1 << (at % 32);
                }
                b"false" => {}
                _ => return Err(Reason::Mismatch),
            },
            Values::Int64(integers) => integers.push(number::int64(value)?),
            Values::Float64(floats) => floats.push(number::float64(value)?),
            Values::Decimal { precision, scale, units } => {
                units.push(number::decimal(value, *precision, *scale as i8)?);
            }
            Values::Time(instants) => instants.push(scalar::time(value, self.format.as_deref(), self.unit)?),
            Values::Date(days) => days.push(scalar::date(value).ok_or(Reason::Mismatch)?),
            Values::Utf8(offsets, bytes) => {
                if !self.form.append(value, bytes) {
                    return Err(Reason::Mismatch);
                }
                offsets.push(bytes.len());
            }
            #[cfg(feature = "arrow")]
            Values::Nested(_) => return Err(Reason::Mismatch),
        }
        Ok(())
    }

    /// Adds nulls until there are `len` values.
    fn nulls(&mut self, len: usize) {
        match &mut self.values {
            Values::Int64(values) | Values::Time(values) => values.resize(len, 0),
            Values::Float64(values) => values.resize(len, 0.0),
            Values::Decimal { units, .. } => units.resize(len, 0),
            Values::Date(days) => days.resize(len, 0),
            Values::Utf8(offsets, bytes) => offsets.resize(len, bytes.len()),
            _ => {}
        }
    }

    /// Ends the values, of which there are `len`.
    ///
    /// # Errors
    /// [`Error::Usage`] where the offsets do not fit their width.
    pub fn finish(mut self, len: usize, validity: Validity) -> Result<Items, Error> {
        match &mut self.values {
            Values::Boolean(truth) => truth.resize(len.div_ceil(32), 0),
            Values::Utf8(offsets, bytes) => offsets.width().check(bytes.len() as u64)?,
            _ => {}
        }
        Ok(Items { len, validity: validity.finish(len), values: self.values })
    }
}

/// The number of values of a block, which have one word of validity.
pub const BLOCK: usize = 32;

/// The bytes that are copied for a value of at most as many. A copy of a fixed length costs less.
const SHORT: usize = 32;

impl Builder {
    /// Makes a builder of values of a type. Instants are of a format, if there is one. Strings that are not
    /// within lists or structs have offsets of a width.
    ///
    /// # Errors
    /// [`Error::Usage`] for a type whose columns cannot be made.
    pub fn new(asked: &ColumnType, format: Option<&Arc<Format>>, width: OffsetWidth) -> Result<Self, Error> {
        #[cfg(feature = "arrow")]
        let inner = |values| Self::new(values, format, OffsetWidth::Small);
        Ok(Self::of(match asked {
            #[cfg(feature = "arrow")]
            ColumnType::List(items) => Data::Nested(Nested::List(Lists::new(inner(items)?))),
            #[cfg(feature = "arrow")]
            ColumnType::Struct(fields) => {
                let members = fields.iter().map(|field| Ok((field.name.as_str(), inner(&field.values)?)));
                Data::Nested(Nested::Struct(Members::new(members)?))
            }
            _ => Data::Leaf(Leaf::new(asked, format, width)?),
        }))
    }

    /// Makes a builder of the values of a program's column.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn of_column(asked: &Column, width: OffsetWidth) -> Result<Self, Error> {
        Self::new(&asked.values, asked.time_format.as_ref(), width)
    }

    /// Makes a builder of data without values.
    pub fn of(data: Data) -> Self {
        Self {
            len: 0,
            validity: Validity::default(),
            data,
            #[cfg(feature = "arrow")]
            lost: super::tally::ColumnTally::default(),
            #[cfg(feature = "arrow")]
            within: Vec::new(),
        }
    }

    /// Adds at most [`BLOCK`] values, which are ranges of a text; an empty range for a null. The number of
    /// items before is a multiple of [`BLOCK`].
    pub fn push_block(&mut self, text: &[u8], values: &[Range<PartOffset>]) {
        debug_assert!(self.len.is_multiple_of(BLOCK) && values.len() <= BLOCK, "blocks of one word");
        let valid = match &mut self.data {
            Data::Leaf(Leaf { values: Values::Int64(integers), quoted: None, .. }) => {
                let mut valid = 0;
                integers.extend(values.iter().enumerate().map(|(at, value)| {
                    let value = scalar::int64(text, value);
                    valid |= u32::from(value.is_some()) << at;
                    value.unwrap_or(0)
                }));
                Some(valid)
            }
            Data::Leaf(Leaf { values: Values::Utf8(offsets, bytes), form, .. }) => {
                plain(*form, text, values, offsets, bytes)
            }
            _ => None,
        };
        match valid {
            Some(valid) => {
                self.validity.0.resize(self.len / 32, u32::MAX);
                self.validity.0.push(valid);
                self.len += values.len();
            }
            None => self.push_all(text, values.iter().map(|value| value.start as usize..value.end as usize)),
        }
    }

    /// Adds a value; `None` or an empty value for a null.
    pub fn push(&mut self, value: Option<&[u8]>) {
        let value = value.unwrap_or_default();
        self.push_all(value, std::iter::once(0..value.len()));
    }

    /// Adds values, which are ranges of a text; an empty range for a null.
    #[inline]
    fn push_all(&mut self, text: &[u8], values: impl Iterator<Item = Range<usize>>) {
        match &mut self.data {
            Data::Leaf(leaf) => {
                for value in values {
                    if value.is_empty() || leaf.push(self.len, &text[value]).is_err() {
                        leaf.nulls(self.len + 1);
                        self.validity.nulls(self.len, self.len + 1);
                    }
                    self.len += 1;
                }
            }
            #[cfg(feature = "arrow")]
            Data::Nested(_) => crate::nested::read::push(self, text, values, true),
        }
    }

    /// Adds nulls until there are `len` values.
    #[cfg(feature = "arrow")]
    pub fn nulls(&mut self, len: usize) {
        self.validity.nulls(self.len, len);
        self.len = len;
        match &mut self.data {
            Data::Leaf(leaf) => leaf.nulls(len),
            Data::Nested(nested) => nested.nulls(len),
        }
    }

    /// Ends the values of a type. Also returns the values within items that were refused, in the order of the
    /// items.
    ///
    /// # Errors
    /// [`Error::Usage`] where the offsets do not fit their width.
    #[cfg_attr(not(feature = "arrow"), expect(unused_variables, reason = "only nested arrays have types"))]
    pub fn finish(self, values: &ColumnType) -> Result<(Items, Vec<Within>), Error> {
        match self.data {
            Data::Leaf(leaf) => Ok((leaf.finish(self.len, self.validity)?, Vec::new())),
            #[cfg(feature = "arrow")]
            Data::Nested(_) => self.finish_nested(values),
        }
    }
}

/// Appends a block of values as they are in the text, strings without their quotes. Returns the bits of those
/// that are not refused. It returns `None` and appends nothing if a value has to be looked at by itself.
///
/// ```text
/// text      {"a":"one","b":1}  {"a":"two"}  {"a":3}       values   "one"  "two"  3
/// bytes     onetwo             one search for \ and ", one check of UTF-8
/// offsets   0 3 6 6            valid   1 1 0
/// ```
fn plain(
    form: BytesForm,
    text: &[u8],
    values: &[Range<PartOffset>],
    offsets: &mut Offsets,
    bytes: &mut Vec<u8>,
) -> Option<u32> {
    let begin = bytes.len();
    let mut ends = [0; BLOCK];
    let most = values.iter().map(|value| value.len() + SHORT).sum::<usize>();
    // Zeros, over which the values are written.
    bytes.resize(begin + most, 0);
    let (mut end, mut valid, mut alone) = (begin, 0, false);
    for (at, (value, place)) in values.iter().zip(&mut ends).enumerate() {
        let (mut from, mut to) = (value.start as usize, value.end as usize);
        if from < to {
            let is_string = text[from] == b'"' && text[to - 1] == b'"' && to - from >= 2;
            match form {
                BytesForm::Utf8 | BytesForm::Text if is_string => (from, to) = (from + 1, to - 1),
                BytesForm::Utf8 => to = from,
                // Only `null` begins with this letter.
                BytesForm::Text | BytesForm::Json => alone |= text[from] == b'n',
            }
            valid |= u32::from(is_string || form != BytesForm::Utf8) << at;
            let len = to - from;
            match text.get(from..from + SHORT) {
                Some(short) if len <= SHORT => bytes[end..end + SHORT].copy_from_slice(short),
                _ => bytes[end..end + len].copy_from_slice(&text[from..to]),
            }
            end += len;
        }
        *place = end;
    }
    bytes.truncate(end);
    let copied = &bytes[begin..];
    // A quote within a string is a fault. Texts of objects, which have quotes too, are looked at alone.
    let has_escapes = form != BytesForm::Json && memchr::memchr2(b'\\', b'"', copied).is_some();
    let ends = &ends[..values.len()];
    if alone || has_escapes || !are_utf8(copied, ends.iter().map(|end| end - begin)) {
        bytes.truncate(begin);
        return None;
    }
    offsets.extend(ends);
    Some(valid)
}

/// Returns true if bytes, cut at some offsets, are UTF-8 in each part.
fn are_utf8(bytes: &[u8], mut offsets: impl Iterator<Item = usize>) -> bool {
    bytes.is_ascii()
        || simdutf8::basic::from_utf8(bytes)
            .is_ok_and(|text| offsets.all(|offset| text.is_char_boundary(offset)))
}

#[cfg(test)]
mod tests {
    use std::iter::repeat_with;

    use warpath_lang::program::{Program, Query};

    use super::*;

    /// Values of every kind, some of which are no JSON: backends decode values that nothing has checked.
    const VALUES: [&[u8]; 38] = [
        b"",
        b"null",
        b"true",
        b"false",
        b"0",
        b"-0",
        b"7",
        b"-7",
        b"07",
        b"-",
        b"1732206349005526",
        b"-1234567890123456",
        b"9223372036854775807",
        b"9223372036854775808",
        b"-9223372036854775808",
        b"12345678901234567890",
        b"1.5",
        b"1e3",
        b"12a4",
        b"\"12\"",
        b"\"-9223372036854775808\"",
        b"\"9223372036854775808\"",
        b"\"1.5\"",
        b"\"\"",
        b"\"a\"",
        b"\"exactly thirty-two bytes of text\"",
        b"\"longer than thirty-two bytes of a text\"",
        b"\"caf\xc3\xa9\"",
        b"\"caf\xc3\"",
        b"\"\xa9\"",
        b"\"a\\nb\"",
        b"\"\\\"\"",
        b"\"a\"b\"",
        b"\"",
        b"\"\\ud800\"",
        b"{\"a\":\"b\"}",
        b"[1, 2]",
        b"\"2024-11-21T16:25:48Z\"",
    ];

    /// Items of ranges of a text, added one by one and in blocks.
    fn both_ways(values: &ColumnType, text: &[u8], ranges: &[Range<PartOffset>]) -> [Items; 2] {
        let program = Program::new(&[Query::compile("$").unwrap()]).unwrap();
        let program = program.with_types(std::slice::from_ref(values)).unwrap();
        let mut ways =
            [(); 2].map(|()| Builder::of_column(&program.columns()[0], OffsetWidth::Small).unwrap());
        for range in ranges {
            ways[0].push(Some(&text[range.start as usize..range.end as usize]));
        }
        ranges.chunks(BLOCK).for_each(|block| ways[1].push_block(text, block));
        ways.map(|items| items.finish(values).unwrap().0)
    }

    #[test]
    fn blocks_are_values_one_by_one() {
        let types = [
            "bool",
            "int64",
            "float64",
            "decimal(20,2)",
            "string",
            "text",
            "json",
            "time",
            "date",
            "int64(string)",
            "decimal(9,1,string)",
        ];
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for round in 0..600 {
            // Few values at a time, so that there are blocks without a value that is looked at alone.
            let kinds: Vec<_> = repeat_with(|| VALUES[random(VALUES.len())]).take(1 + round % 4).collect();
            let len = random(100);
            let (mut text, mut ranges) = (Vec::new(), Vec::new());
            for _ in 0..len {
                let value = kinds[random(kinds.len())];
                ranges.push(text.len() as PartOffset..(text.len() + value.len()) as PartOffset);
                text.extend_from_slice(value);
            }
            // Short copies read what comes after a value.
            text.resize(text.len() + random(40), b'"');
            for values in types {
                let [one, block] = both_ways(&values.parse().unwrap(), &text, &ranges);
                assert_eq!(one, block, "{values} of {kinds:?}");
            }
        }
    }
}
