//! The items of a column, made on the host from one value after another.

use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::Array as _;
use warpath_core::error::Error;
use warpath_core::float;
use warpath_core::json::say;
use warpath_core::time::Format;
use warpath_lang::column_type::ColumnType;
use warpath_lang::program::Column;
use warpath_shared::column::{self, Float, Kind};
use warpath_shared::units::PartOffset;

use super::lost::Reason;
use super::{Items, OffsetWidth, Offsets, Values, scalar};
#[cfg(feature = "arrow")]
use crate::nested::NestedSchema;

/// The reason for which a type does not take a value; `None` for `null`.
pub(crate) fn reason(value: &[u8], asked: &Column) -> Option<Reason> {
    if value == b"null" {
        return None;
    }
    let is_of_type = match &asked.values {
        ColumnType::Int64 => scalar::is_integer(value),
        ColumnType::Float64 | ColumnType::Decimal { .. } => scalar::is_number(value),
        ColumnType::Time => scalar::time(value, asked.time_format.as_deref()).is_some(),
        _ => false,
    };
    Some(if is_of_type { Reason::Overflow } else { Reason::Mismatch })
}

/// Checks that a column's default is a value of its type.
///
/// # Errors
/// [`Error::Usage`] if it is not.
pub(crate) fn check_default(asked: &Column) -> Result<(), Error> {
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
pub(crate) struct Builder {
    len: usize,
    validity: Bits,
    data: Data,
}

/// A value within an item, which the item's type does not take. The item itself is no null.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    /// The number of the item.
    pub item: usize,
    /// The offset of the value in the text of the item.
    pub at: usize,
    pub reason: Reason,
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
        append: fn(&[u8], &mut Vec<u8>) -> bool,
        offsets: Vec<i64>,
        bytes: Vec<u8>,
    },
    /// The texts of lists or structs, which are decoded at the end.
    #[cfg(feature = "arrow")]
    Nested {
        schema: Box<NestedSchema>,
        text: Vec<u8>,
        ranges: Vec<std::ops::Range<usize>>,
    },
}

impl Builder {
    /// Makes a builder of items of a type.
    ///
    /// # Errors
    /// [`Error::Usage`] for a type whose columns cannot be made.
    pub fn new(asked: &Column) -> Result<Self, Error> {
        let bytes = |append| Data::Bytes { append, offsets: vec![0], bytes: Vec::new() };
        let data = match &asked.values {
            ColumnType::Boolean => Data::Boolean(Bits::default()),
            ColumnType::Int64 => Data::Int64(Vec::new()),
            ColumnType::Float64 => Data::Float64(Vec::new()),
            ColumnType::Decimal { precision, scale } => {
                Data::Decimal { precision: *precision, scale: *scale, units: Vec::new() }
            }
            ColumnType::Utf8 => bytes(|value, out| say(Kind::Utf8, value, out)),
            ColumnType::Json => bytes(|value, out| say(Kind::Json, value, out)),
            ColumnType::Text => bytes(scalar::text),
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
                let value = value.and_then(|text| match column::float64(0, end, byte) {
                    Float::None => None,
                    Float::Exact(value) => Some(value),
                    Float::Unfinished => float::finish(text).filter(|value| value.is_finite()),
                });
                floats.push(value.unwrap_or(0.0));
                value.is_some()
            }
            Data::Decimal { precision, scale, units } => {
                let value = value.and_then(|value| scalar::decimal(value, *precision, *scale));
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
            Data::Bytes { append, offsets, bytes } => {
                let valid = value.is_some_and(|value| append(value, bytes));
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

/// Decodes lists or structs, which are ranges of a text.
#[cfg(feature = "arrow")]
fn nested(
    schema: &NestedSchema,
    text: &[u8],
    ranges: &[std::ops::Range<usize>],
) -> Result<(Items, Vec<Within>), Error> {
    OffsetWidth::Small.check(text.len() as u64)?;
    let (array, places) = schema.decode_values(text, ranges)?;
    let mut validity = Bits::default();
    (0..array.len()).for_each(|at| validity.push(at, array.is_valid(at)));
    let within = places.into_iter().filter(|(item, _)| array.is_valid(*item));
    let within = within.map(|(item, place)| Within {
        item,
        at: place.at - ranges[item].start,
        reason: if place.is_overflow { Reason::Overflow } else { Reason::Mismatch },
    });
    let within = within.collect();
    Ok((Items { len: array.len(), validity: validity.0, values: Values::Nested(array) }, within))
}
