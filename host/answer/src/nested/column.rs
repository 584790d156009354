//! Columns under construction.
//!
//! A member that a record lacks costs nothing when the record is read. The column of the member stays
//! shorter, and is padded with nulls before its next value, or at the end:
//!
//! ```text
//! records        {"a":1,"b":2}  {"a":3}  {"a":4}  {"a":5,"b":6}
//! length of b    1              1        1        4, after two nulls
//! ```

use std::sync::Arc;

use arrow_array::types::{
    ArrowTimestampType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    ArrayRef, BooleanArray, GenericListArray, MapArray, NullArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, TimeUnit};
use foldhash::HashMap;
use warpath_core::number::{self, Reason};
use warpath_core::time::{Format, Instant};

use crate::columns::scalar;
use crate::columns::tally::{ColumnTally, Tally};

/// A column: values of one type, or nulls.
pub struct Column {
    pub len: usize,
    valid: NullBufferBuilder,
    lost: ColumnTally<u64>,
    pub data: Data,
}

/// The values of a column. A null has a value of zero, or an empty one.
pub enum Data {
    Null,
    Boolean(BooleanBufferBuilder),
    Int64(Vec<i64>),
    Float64(Vec<f64>),
    Decimal(Decimals),
    Utf8(Texts),
    Json(Texts),
    /// Strings as text, and other values as JSON text.
    Text(Texts),
    Time(Times),
    /// Days since 1970-01-01.
    Date(Vec<i32>),
    List(Lists),
    Map(Box<Maps>),
    Struct(Members),
}

/// Decimal numbers, as integers of units of the last digit.
pub struct Decimals {
    pub values: Vec<i128>,
    pub precision: u8,
    pub scale: i8,
}

/// Instants, in units since 1970-01-01T00:00:00Z.
pub struct Times {
    pub values: Vec<i64>,
    pub unit: TimeUnit,
    pub zone: Option<Arc<str>>,
    /// The format of texts or numbers. `None` for RFC 3339.
    pub format: Option<Arc<Format>>,
}

/// Strings one after the other, and their ends.
#[derive(Default)]
pub struct Texts {
    pub bytes: Vec<u8>,
    ends: Vec<i32>,
}

/// Lists of the elements of one column.
pub struct Lists {
    field: FieldRef,
    ends: Vec<i32>,
    pub elements: Box<Column>,
}

/// Maps of names to the values of one column.
pub struct Maps {
    field: FieldRef,
    entries: Fields,
    ends: Vec<i32>,
    pub names: Texts,
    pub values: Column,
}

/// The members of objects, with a column each.
pub struct Members {
    fields: Fields,
    pub members: Vec<Member>,
    by_name: HashMap<Box<[u8]>, usize>,
}

/// A member of objects.
pub struct Member {
    /// The bytes that begin the member where nothing is unusual: its name with quotes and escapes, and a
    /// colon.
    pub head: Box<[u8]>,
    pub column: Column,
}

impl Column {
    pub fn new(data: Data) -> Self {
        Self { len: 0, valid: NullBufferBuilder::new(0), lost: ColumnTally::default(), data }
    }

    /// Marks the value that was just added to the data.
    #[inline]
    pub fn pushed(&mut self) {
        self.len += 1;
        self.valid.append_non_null();
    }

    /// Adds a null for a value that is there: for `null`, or for a value that is refused.
    #[cold]
    pub fn push_null(&mut self, refused: Option<Reason>) {
        let at = self.len as u64;
        let values = match refused {
            None => &mut self.lost.null,
            Some(reason) => self.lost.refused(reason),
        };
        values.add(1, || Some(at));
        self.nulls(self.len + 1);
    }

    /// Counts a mismatch without a null: the last record was not read to its end.
    pub fn count_last(&mut self) {
        let at = self.len.saturating_sub(1) as u64;
        self.lost.mismatch.add(1, || Some(at));
    }

    /// Adds nulls for missing values, up to a length.
    #[inline]
    pub fn pad(&mut self, len: usize) {
        if self.len < len {
            let at = self.len as u64;
            self.lost.missing.add((len - self.len) as u64, || Some(at));
            self.nulls(len);
        }
    }

    fn nulls(&mut self, len: usize) {
        self.valid.append_n_nulls(len - self.len);
        self.len = len;
        match &mut self.data {
            Data::Null | Data::Struct(_) => {}
            Data::Boolean(bits) => bits.advance(len - bits.len()),
            Data::Int64(values) => values.resize(len, 0),
            Data::Float64(values) => values.resize(len, 0.0),
            Data::Decimal(Decimals { values, .. }) => values.resize(len, 0),
            Data::Utf8(texts) | Data::Json(texts) | Data::Text(texts) => {
                texts.ends.resize(len, texts.bytes.len() as i32);
            }
            Data::Time(times) => times.values.resize(len, 0),
            Data::Date(days) => days.resize(len, 0),
            Data::List(Lists { ends, elements, .. }) => ends.resize(len, elements.len as i32),
            Data::Map(maps) => maps.ends.resize(len, maps.values.len as i32),
        }
    }

    /// The array of the column, of `len` values. `row` converts the number of a value to a row of the batch.
    pub fn finish(
        mut self,
        len: usize,
        row: &dyn Fn(u64) -> u64,
        losses: &mut Tally<u64>,
    ) -> Result<ArrayRef, ArrowError> {
        self.pad(len);
        let Self { valid, mut lost, data, .. } = self;
        lost.causes().into_iter().for_each(|values| values.first = values.first.map(row));
        let at = losses.columns.len();
        losses.columns.push(lost);
        let nulls = valid.build();
        Ok(match data {
            Data::Null => Arc::new(NullArray::new(len)),
            Data::Boolean(bits) => Arc::new(BooleanArray::new(bits.build(), nulls)),
            Data::Int64(values) => Arc::new(PrimitiveArray::<Int64Type>::try_new(values.into(), nulls)?),
            Data::Float64(values) => Arc::new(PrimitiveArray::<Float64Type>::try_new(values.into(), nulls)?),
            Data::Decimal(Decimals { values, precision, scale }) => {
                let array = PrimitiveArray::<Decimal128Type>::try_new(values.into(), nulls)?;
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            Data::Time(times) => times.array(nulls)?,
            Data::Date(days) => Arc::new(PrimitiveArray::<Date32Type>::try_new(days.into(), nulls)?),
            Data::Utf8(texts) | Data::Json(texts) | Data::Text(texts) => {
                texts.finish(nulls, |text| losses.columns[at].mismatch.add(1, || Some(row(text))))?
            }
            Data::List(Lists { field, ends, elements }) => {
                let of_element = |element| row(ends.partition_point(|end| *end as u64 <= element) as u64);
                let (len, elements) = (elements.len, *elements);
                let elements = elements.finish(len, &of_element, losses)?;
                Arc::new(GenericListArray::<i32>::try_new(field, offsets(ends)?, elements, nulls)?)
            }
            Data::Map(maps) => {
                let Maps { field, entries, ends, names, values } = *maps;
                let of_entry = |entry| row(ends.partition_point(|end| *end as u64 <= entry) as u64);
                let len = values.len;
                let names = names.finish_names()?;
                let values = values.finish(len, &of_entry, losses)?;
                let entries = StructArray::try_new_with_length(entries, vec![names, values], None, len)?;
                Arc::new(MapArray::try_new(field, offsets(ends)?, entries, nulls, false)?)
            }
            Data::Struct(members) => {
                let (fields, arrays) = members.finish(len, row, losses)?;
                Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, len)?)
            }
        })
    }

    /// The arrays of the members of all records. The counts of the records themselves come first.
    pub fn finish_members(self, losses: &mut Tally<u64>) -> Result<Vec<ArrayRef>, ArrowError> {
        losses.columns.push(self.lost);
        match self.data {
            Data::Struct(members) => Ok(members.finish(self.len, &|row| row, losses)?.1),
            _ => Ok(Vec::new()),
        }
    }

    /// The least number of bytes that a value takes, a null included.
    pub fn row_bytes(&self) -> usize {
        match &self.data {
            Data::Null => 0,
            Data::Boolean(_) => 1,
            Data::Int64(_) | Data::Float64(_) | Data::Time(_) => 8,
            Data::Decimal(_) => 16,
            Data::Utf8(_) | Data::Json(_) | Data::Text(_) | Data::List(_) | Data::Map(_) | Data::Date(_) => 4,
            Data::Struct(members) => members.members.iter().map(|member| member.column.row_bytes()).sum(),
        }
    }
}

/// Offsets from the ends of lists.
fn offsets(ends: Vec<i32>) -> Result<OffsetBuffer<i32>, ArrowError> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.extend_from_slice(&ends);
    if !offsets.is_sorted() {
        return Err(ArrowError::InvalidArgumentError("offsets that do not ascend".into()));
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

impl Times {
    /// Reads a text.
    #[inline]
    pub fn read(&self, text: &str) -> Result<i64, Reason> {
        self.in_units(scalar::instant(text, self.format.as_deref()).ok_or(Reason::Mismatch)?)
    }

    /// Reads a JSON number, if the format is that of numbers.
    pub fn read_number(&self, token: &[u8]) -> Result<i64, Reason> {
        let number = std::str::from_utf8(token).ok().filter(|_| number::is_number(token));
        let (Some(number), Some(format)) = (number, &self.format) else { return Err(Reason::Mismatch) };
        // A number beyond all instants is of the type, too.
        let beyond = if format.unit().is_some() { Reason::Overflow } else { Reason::Mismatch };
        self.in_units(format.of_number(number).ok_or(beyond)?)
    }

    /// An instant in units of the column. What is finer than a unit is cut off.
    fn in_units(&self, instant: Instant) -> Result<i64, Reason> {
        let unit = match self.unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1000,
            TimeUnit::Nanosecond => return instant.nanoseconds().ok_or(Reason::Overflow),
        };
        i64::try_from(instant.0.div_euclid(unit)).map_err(|_| Reason::Overflow)
    }

    fn array(self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        fn of<T: ArrowTimestampType>(
            values: Vec<i64>,
            nulls: Option<NullBuffer>,
            zone: Option<Arc<str>>,
        ) -> Result<ArrayRef, ArrowError> {
            Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?.with_timezone_opt(zone)))
        }
        let Self { values, unit, zone, .. } = self;
        match unit {
            TimeUnit::Second => of::<TimestampSecondType>(values, nulls, zone),
            TimeUnit::Millisecond => of::<TimestampMillisecondType>(values, nulls, zone),
            TimeUnit::Microsecond => of::<TimestampMicrosecondType>(values, nulls, zone),
            TimeUnit::Nanosecond => of::<TimestampNanosecondType>(values, nulls, zone),
        }
    }
}

impl Texts {
    /// Ends the string whose bytes were added. A partition is shorter than 2³¹ bytes, and so are all strings
    /// of a column together.
    #[inline]
    pub fn end(&mut self) {
        self.ends.push(self.bytes.len() as i32);
    }

    /// The array of the strings. Strings that are not UTF-8 become null, and `lost` gets their numbers.
    fn finish(self, nulls: Option<NullBuffer>, mut lost: impl FnMut(u64)) -> Result<ArrayRef, ArrowError> {
        if self.is_utf8() {
            return self.array(nulls);
        }
        let mut repaired = Self::default();
        let mut valid = NullBufferBuilder::new(self.ends.len());
        let mut start = 0;
        for (at, end) in self.ends.iter().enumerate() {
            let bytes = &self.bytes[start..*end as usize];
            let was_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at));
            let is_utf8 = simdutf8::basic::from_utf8(bytes).is_ok();
            if is_utf8 {
                repaired.bytes.extend_from_slice(bytes);
            } else {
                lost(at as u64);
            }
            repaired.end();
            valid.append(was_valid && is_utf8);
            start = *end as usize;
        }
        repaired.array(valid.build())
    }

    /// The array of names of entries, which cannot be null. Bytes that are not UTF-8 become U+FFFD.
    fn finish_names(self) -> Result<ArrayRef, ArrowError> {
        if self.is_utf8() {
            return self.array(None);
        }
        let mut repaired = Self::default();
        let mut start = 0;
        for end in &self.ends {
            let name = String::from_utf8_lossy(&self.bytes[start..*end as usize]);
            repaired.bytes.extend_from_slice(name.as_bytes());
            repaired.end();
            start = *end as usize;
        }
        repaired.array(None)
    }

    /// True if each string is UTF-8: all bytes together are, and no string begins within a character.
    fn is_utf8(&self) -> bool {
        let is_start = |end: &i32| self.bytes.get(*end as usize).is_none_or(|byte| byte & 0xc0 != 0x80);
        self.bytes.is_ascii()
            || simdutf8::basic::from_utf8(&self.bytes).is_ok() && self.ends.iter().all(is_start)
    }

    fn array(self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(StringArray::try_new(offsets(self.ends)?, Buffer::from_vec(self.bytes), nulls)?))
    }
}

impl Lists {
    pub fn new(field: FieldRef, elements: Data) -> Self {
        Self { field, ends: Vec::new(), elements: Box::new(Column::new(elements)) }
    }

    /// Ends the list whose elements were added.
    #[inline]
    pub fn end(&mut self) {
        self.ends.push(self.elements.len as i32);
    }
}

impl Maps {
    pub fn new(field: FieldRef, entries: Fields, values: Data) -> Self {
        Self { field, entries, ends: Vec::new(), names: Texts::default(), values: Column::new(values) }
    }

    /// Ends the map whose entries were added.
    #[inline]
    pub fn end(&mut self) {
        self.ends.push(self.values.len as i32);
    }
}

impl Members {
    /// The number of members that are compared with the text before a name is looked up. Absent members of a
    /// record are often few.
    const AHEAD: usize = 4;

    pub fn new(fields: Fields, members: Vec<Member>) -> Self {
        let mut by_name = HashMap::default();
        for (at, field) in fields.iter().enumerate() {
            by_name.entry(field.name().as_bytes().into()).or_insert(at);
        }
        Self { fields, members, by_name }
    }

    /// Predicts the member at the start of a text: one of the next members from `next` on. Returns its
    /// number, and the length of its name and colon.
    #[inline]
    pub fn predict(&self, text: &[u8], next: usize) -> Option<(usize, usize)> {
        let mut ahead = self.members.get(next..)?.iter().take(Self::AHEAD);
        let at = next + ahead.position(|member| text.starts_with(&member.head))?;
        Some((at, self.members[at].head.len()))
    }

    /// The number of the member with a name.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    fn finish(
        self,
        len: usize,
        row: &dyn Fn(u64) -> u64,
        losses: &mut Tally<u64>,
    ) -> Result<(Fields, Vec<ArrayRef>), ArrowError> {
        let columns = self.members.into_iter().map(|member| member.column.finish(len, row, losses));
        Ok((self.fields, columns.collect::<Result<_, _>>()?))
    }
}

/// The data of a type without parameters.
pub fn plain(data_type: &DataType, is_json: bool) -> Option<Data> {
    Some(match data_type {
        DataType::Null => Data::Null,
        DataType::Boolean => Data::Boolean(BooleanBufferBuilder::new(0)),
        DataType::Int64 => Data::Int64(Vec::new()),
        DataType::Float64 => Data::Float64(Vec::new()),
        DataType::Decimal128(precision, scale) => {
            Data::Decimal(Decimals { values: Vec::new(), precision: *precision, scale: *scale })
        }
        DataType::Timestamp(unit, zone) => {
            Data::Time(Times { values: Vec::new(), unit: *unit, zone: zone.clone(), format: None })
        }
        DataType::Date32 => Data::Date(Vec::new()),
        DataType::Utf8 if is_json => Data::Json(Texts::default()),
        DataType::Utf8 => Data::Utf8(Texts::default()),
        _ => return None,
    })
}
