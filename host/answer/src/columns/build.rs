//! The items of a column, made on the host from one value after another, or from some values at a time.
//!
//! A value alone costs more than its bytes: a call, tests of its length, growing vectors. So the strings of a
//! block of values are copied first, one after the other, as they are in the text. One search over the copy
//! then shows whether there is an escape, a quote, or something that is not UTF-8. If there is none, the copy
//! is the strings. Otherwise the values of the block are read one by one.

use std::ops::Range;
use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::Array as _;
use warpath_core::error::Error;
use warpath_core::json::say;
use warpath_core::number::{self, Reason};
use warpath_core::time::Format;
use warpath_lang::column_type::ColumnType;
use warpath_lang::program::Column;
use warpath_shared::column::{self, Kind};
use warpath_shared::units::PartOffset;

use super::tally::Within;
use super::{Items, OffsetWidth, Offsets, Values, scalar};
#[cfg(feature = "arrow")]
use crate::nested::NestedSchema;

/// The reason for which a type does not take a value; `None` for `null`.
pub fn reason(value: &[u8], asked: &Column) -> Option<Reason> {
    if value == b"null" {
        return None;
    }
    let is_of_type = match &asked.values {
        ColumnType::Int64 => number::is_integer(value),
        ColumnType::Float64 | ColumnType::Decimal { .. } => number::is_number(value),
        ColumnType::Time => {
            let format = asked.time_format.as_deref();
            // A number beyond all instants is of the type, too.
            let takes_numbers = format.is_none_or(|format| format.unit().is_some());
            takes_numbers && number::is_number(value) || scalar::time(value, format).is_some()
        }
        _ => false,
    };
    Some(if is_of_type { Reason::Overflow } else { Reason::Mismatch })
}

/// Checks that a column's default is a value of its type.
///
/// # Errors
/// [`Error::Usage`] if it is not.
pub fn check_default(asked: &Column) -> Result<(), Error> {
    let mut items = Builder::new(asked)?;
    if let Some(default) = &asked.default {
        items.push(Some(default));
        let (items, within) = items.finish(OffsetWidth::Large)?;
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

/// A growing sequence of bits.
#[derive(Default)]
struct Bits(Vec<u32>);

impl Bits {
    fn push(&mut self, at: usize, bit: bool) {
        if at.is_multiple_of(32) {
            self.0.push(0);
        }
        self.0[at / 32] |= u32::from(bit) << (at % 32);
    }
}

/// The items of a column under construction.
pub struct Builder {
    len: usize,
    validity: Bits,
    data: Data,
}

/// The values of a column under construction. A null is zero, or has no bytes.
enum Data {
    Boolean(Bits),
    Int64(Vec<i64>),
    Float64(Vec<f64>),
    Decimal {
        precision: u8,
        scale: u8,
        units: Vec<i128>,
    },
    /// Nanoseconds since 1970.
    Time {
        format: Option<Arc<Format>>,
        instants: Vec<i64>,
    },
    /// Days since 1970.
    Date(Vec<i32>),
    Bytes {
        form: BytesForm,
        offsets: Vec<i64>,
        bytes: Vec<u8>,
    },
    /// The texts of lists or structs, which are decoded at the end.
    #[cfg(feature = "arrow")]
    Nested {
        schema: Box<NestedSchema>,
        text: Vec<u8>,
        ranges: Vec<Range<usize>>,
    },
}

/// The bytes that a value becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BytesForm {
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
        match self {
            Self::Utf8 => say(Kind::Utf8, value, out),
            Self::Text => scalar::text(value, out),
            Self::Json => say(Kind::Json, value, out),
        }
    }
}

/// The number of values of a block, which have one word of validity.
pub const BLOCK: usize = 32;

/// The bytes that are copied for a value of at most as many. A copy of a fixed length costs less.
const SHORT: usize = 32;

impl Builder {
    /// Makes a builder of items of a type.
    ///
    /// # Errors
    /// [`Error::Usage`] for a type whose columns cannot be made.
    pub fn new(asked: &Column) -> Result<Self, Error> {
        let bytes = |form| Data::Bytes { form, offsets: vec![0], bytes: Vec::new() };
        let data = match &asked.values {
            ColumnType::Boolean => Data::Boolean(Bits::default()),
            ColumnType::Int64 => Data::Int64(Vec::new()),
            ColumnType::Float64 => Data::Float64(Vec::new()),
            ColumnType::Decimal { precision, scale } => {
                Data::Decimal { precision: *precision, scale: *scale, units: Vec::new() }
            }
            ColumnType::Utf8 => bytes(BytesForm::Utf8),
            ColumnType::Json => bytes(BytesForm::Json),
            ColumnType::Text => bytes(BytesForm::Text),
            ColumnType::Time => Data::Time { format: asked.time_format.clone(), instants: Vec::new() },
            ColumnType::Date => Data::Date(Vec::new()),
            #[cfg(feature = "arrow")]
            ColumnType::List(_) | ColumnType::Struct(_) => Data::Nested {
                schema: Box::new(NestedSchema::of_values(&asked.values, asked.time_format.clone())?),
                text: Vec::new(),
                ranges: Vec::new(),
            },
            other => return Err(Error::Usage(format!("no columns of the type `{other}` can be made"))),
        };
        Ok(Self { len: 0, validity: Bits::default(), data })
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds at most [`BLOCK`] values, which are ranges of a text; an empty range for a null. The number of
    /// items before is a multiple of [`BLOCK`].
    pub fn push_block(&mut self, text: &[u8], values: &[Range<PartOffset>]) {
        debug_assert!(self.len.is_multiple_of(BLOCK) && values.len() <= BLOCK, "blocks of one word");
        let valid = match &mut self.data {
            Data::Int64(integers) => {
                let mut valid = 0;
                integers.extend(values.iter().enumerate().map(|(at, value)| {
                    let value = scalar::int64(text, value);
                    valid |= u32::from(value.is_some()) << at;
                    value.unwrap_or(0)
                }));
                Some(valid)
            }
            Data::Bytes { form, offsets, bytes } => plain(*form, text, values, offsets, bytes),
            _ => None,
        };
        match valid {
            Some(valid) => {
                self.validity.0.push(valid);
                self.len += values.len();
            }
            None => {
                let text = |value: &Range<PartOffset>| &text[value.start as usize..value.end as usize];
                values.iter().for_each(|value| self.push(Some(text(value))));
            }
        }
    }

    /// Adds a value; `None` for a null.
    pub fn push(&mut self, value: Option<&[u8]>) {
        let value = value.filter(|value| !value.is_empty());
        let end = value.map_or(0, <[u8]>::len) as PartOffset;
        let byte = |at: PartOffset| value.unwrap_or_default()[at as usize];
        let valid = match &mut self.data {
            Data::Boolean(truth) => {
                let value = value.and_then(|_| column::boolean(0, end, byte));
                truth.push(self.len, value == Some(true));
                value.is_some()
            }
            Data::Int64(integers) => {
                let value = value.and_then(|_| column::int64(0, end, byte));
                integers.push(value.unwrap_or(0));
                value.is_some()
            }
            Data::Float64(floats) => {
                let value = value.and_then(|value| number::float64(value).ok());
                floats.push(value.unwrap_or(0.0));
                value.is_some()
            }
            Data::Decimal { precision, scale, units } => {
                let value = value.and_then(|value| number::decimal(value, *precision, *scale as i8).ok());
                units.push(value.unwrap_or(0));
                value.is_some()
            }
            Data::Time { format, instants } => {
                let value = value.and_then(|value| scalar::time(value, format.as_deref())?.nanoseconds());
                instants.push(value.unwrap_or(0));
                value.is_some()
            }
            Data::Date(days) => {
                let value = value.and_then(scalar::date);
                days.push(value.unwrap_or(0));
                value.is_some()
            }
            Data::Bytes { form, offsets, bytes } => {
                let valid = value.is_some_and(|value| form.append(value, bytes));
                offsets.push(bytes.len() as i64);
                valid
            }
            #[cfg(feature = "arrow")]
            Data::Nested { text, ranges, .. } => {
                let start = text.len();
                // Strings within a value are not known apart: all of it has to be UTF-8.
                if let Some(value) = value.filter(|value| simdutf8::basic::from_utf8(value).is_ok()) {
                    text.extend_from_slice(value);
                }
                ranges.push(start..text.len());
                self.len += 1;
                return;
            }
        };
        self.validity.push(self.len, valid);
        self.len += 1;
    }

    /// Ends the items. Also returns the values within items that were refused, in the order of the items.
    ///
    /// # Errors
    /// [`Error::Usage`] where the offsets do not fit their width.
    pub fn finish(self, width: OffsetWidth) -> Result<(Items, Vec<Within>), Error> {
        let values = match self.data {
            Data::Boolean(truth) => Values::Boolean(truth.0),
            Data::Int64(integers) => Values::Int64(integers),
            Data::Float64(floats) => Values::Float64(floats),
            Data::Decimal { precision, scale, units } => Values::Decimal { precision, scale, units },
            Data::Time { instants, .. } => Values::Time(instants),
            Data::Date(days) => Values::Date(days),
            Data::Bytes { offsets, bytes, .. } => Values::Utf8(Offsets::new(offsets, width)?, bytes),
            #[cfg(feature = "arrow")]
            Data::Nested { schema, text, ranges } => return nested(&schema, &text, &ranges),
        };
        Ok((Items { len: self.len, validity: self.validity.0, values }, Vec::new()))
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
    offsets: &mut Vec<i64>,
    bytes: &mut Vec<u8>,
) -> Option<u32> {
    let (begin, first) = (bytes.len(), offsets.len());
    let most = values.iter().map(|value| value.len() + SHORT).sum::<usize>();
    // Zeros, over which the values are written.
    bytes.resize(begin + most, 0);
    let (mut end, mut valid, mut alone) = (begin, 0, false);
    for (at, value) in values.iter().enumerate() {
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
        offsets.push(end as i64);
    }
    bytes.truncate(end);
    let copied = &bytes[begin..];
    // A quote within a string is a fault. Texts of objects, which have quotes too, are looked at alone.
    let has_escapes = form != BytesForm::Json && memchr::memchr2(b'\\', b'"', copied).is_some();
    if alone || has_escapes || !are_utf8(copied, offsets[first - 1..].iter().map(|at| *at as usize - begin)) {
        bytes.truncate(begin);
        offsets.truncate(first);
        return None;
    }
    Some(valid)
}

/// Returns true if bytes, cut at some offsets, are UTF-8 in each part.
fn are_utf8(bytes: &[u8], mut offsets: impl Iterator<Item = usize>) -> bool {
    bytes.is_ascii()
        || simdutf8::basic::from_utf8(bytes)
            .is_ok_and(|text| offsets.all(|offset| text.is_char_boundary(offset)))
}

/// Decodes lists or structs, which are ranges of a text.
#[cfg(feature = "arrow")]
fn nested(
    schema: &NestedSchema,
    text: &[u8],
    ranges: &[Range<usize>],
) -> Result<(Items, Vec<Within>), Error> {
    OffsetWidth::Small.check(text.len() as u64)?;
    let (array, mut within) = schema.decode_values(text, ranges)?;
    let mut validity = Bits::default();
    (0..array.len()).for_each(|at| validity.push(at, array.is_valid(at)));
    within.retain(|refused| array.is_valid(refused.item));
    Ok((Items { len: array.len(), validity: validity.0, values: Values::Nested(array) }, within))
}

#[cfg(test)]
mod tests {
    use std::iter::repeat_with;

    use warpath_lang::program::{Program, Query};

    use super::*;

    /// Values of every kind, some of which are no JSON: backends decode values that nothing has checked.
    const VALUES: [&[u8]; 34] = [
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
        let mut ways = [(); 2].map(|()| Builder::new(&program.columns()[0]).unwrap());
        for range in ranges {
            ways[0].push(Some(&text[range.start as usize..range.end as usize]));
        }
        ranges.chunks(BLOCK).for_each(|block| ways[1].push_block(text, block));
        ways.map(|items| items.finish(OffsetWidth::Small).unwrap().0)
    }

    #[test]
    fn blocks_are_values_one_by_one() {
        let types = ["bool", "int64", "float64", "decimal(20,2)", "string", "text", "json", "time", "date"];
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
