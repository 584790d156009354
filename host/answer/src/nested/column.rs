//! Columns under construction that have further columns: lists, maps and structs.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, GenericListArray, MapArray, NullArray, StructArray, make_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use foldhash::HashMap;
use warpath_core::error::Error;
use warpath_core::json;
use warpath_core::number::Reason;
use warpath_lang::column_type::ColumnType;

use super::types::data_type;
use crate::columns::arrays::{ascending, nulls};
use crate::columns::build::{Builder, Data, Leaf, Validity};
use crate::columns::tally::{Tally, Within};
use crate::columns::{Items, OffsetWidth, Values};

/// A column that has further columns, or no values at all.
pub enum Nested {
    Null,
    List(Lists),
    /// The names of the entries, and their values.
    Map(Leaf, Lists),
    Struct(Members),
}

/// Lists of the elements of one column.
pub struct Lists {
    /// The start of each list, followed by the end of the last.
    offsets: Vec<i32>,
    pub elements: Box<Builder>,
}

/// The members of objects, with a column each.
pub struct Members {
    pub members: Vec<Member>,
    by_name: HashMap<Box<[u8]>, usize>,
}

/// A member of objects.
pub struct Member {
    /// The bytes that begin the member where nothing is unusual: its name with quotes and escapes, and a
    /// colon.
    head: Box<[u8]>,
    pub column: Builder,
}

/// The error of arrays that could not be made.
pub fn failed(error: ArrowError) -> Error {
    Error::Internal(format!("nested columns could not be made: {error}"))
}

impl Nested {
    /// Adds nulls until there are `len` values.
    pub fn nulls(&mut self, len: usize) {
        if let Self::List(lists) | Self::Map(_, lists) = self {
            lists.offsets.resize(len + 1, lists.elements.len as i32);
        }
    }
}

impl Builder {
    /// Marks the value that was just added to the data.
    #[inline]
    pub fn pushed(&mut self) {
        self.len += 1;
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

    /// Ends the values of a list or a struct; see [`finish`](Self::finish).
    pub fn finish_nested(mut self, values: &ColumnType) -> Result<(Items, Vec<Within>), Error> {
        let (len, mut within) = (self.len, std::mem::take(&mut self.within));
        let validity = self.validity.clone().finish(len);
        let array = self.array(&data_type(values)?, len, &|row| row, &mut Tally::default())?;
        let items = Items { len, validity, values: Values::Nested(array) };
        within.retain(|refused| items.is_valid(refused.item));
        Ok((items, within))
    }

    /// The array of the column, of a type and of `len` values. `row` converts the number of a value to a row
    /// of the batch.
    ///
    /// # Errors
    /// [`Error::Usage`] where the offsets do not fit 32 bits. [`Error::Internal`] for a type that is not the
    /// column's.
    pub fn array(
        mut self,
        data_type: &DataType,
        len: usize,
        row: &dyn Fn(u64) -> u64,
        losses: &mut Tally<u64>,
    ) -> Result<ArrayRef, Error> {
        self.pad(len);
        let Self { validity, mut lost, data, .. } = self;
        lost.causes().into_iter().for_each(|values| values.first = values.first.map(row));
        losses.columns.push(lost);
        let nested = match data {
            Data::Leaf(leaf) => return leaf_array(leaf.finish(len, validity)?, data_type).map_err(failed),
            Data::Nested(nested) => nested,
        };
        let nulls = nulls(validity.finish(len), len).map_err(failed)?;
        let array: Result<ArrayRef, ArrowError> = match (nested, data_type) {
            (Nested::Null, DataType::Null) => Ok(Arc::new(NullArray::new(len))),
            (Nested::List(lists), DataType::List(field)) => {
                let (offsets, elements) = lists.arrays(field.data_type(), row, losses)?;
                GenericListArray::<i32>::try_new(field.clone(), offsets, elements, nulls)
                    .map(|array| Arc::new(array) as _)
            }
            (Nested::Map(names, lists), DataType::Map(field, _)) => {
                let (count, entries) = (lists.elements.len, entries_of(field));
                let names = names.finish(count, Validity::default())?.into_arrow().map_err(failed)?;
                let (offsets, values) = lists.arrays(entries[1].data_type(), row, losses)?;
                StructArray::try_new_with_length(entries, vec![names, values], None, count)
                    .and_then(|entries| MapArray::try_new(field.clone(), offsets, entries, nulls, false))
                    .map(|array| Arc::new(array) as _)
            }
            (Nested::Struct(Members { members, .. }), DataType::Struct(fields)) => {
                let columns = members.into_iter().map(|member| member.column).zip(fields);
                let arrays = columns.map(|(column, field)| column.array(field.data_type(), len, row, losses));
                StructArray::try_new_with_length(
                    fields.clone(),
                    arrays.collect::<Result<_, _>>()?,
                    nulls,
                    len,
                )
                .map(|array| Arc::new(array) as _)
            }
            _ => Err(ArrowError::SchemaError(format!("a column that is not of the type {data_type}"))),
        };
        array.map_err(failed)
    }

    /// The least number of bytes that a value takes, a null included.
    pub fn row_bytes(&self) -> usize {
        match &self.data {
            Data::Leaf(leaf) => match leaf.values {
                Values::Boolean(_) => 1,
                Values::Int64(_) | Values::Float64(_) | Values::Time(_) => 8,
                Values::Decimal { .. } => 16,
                _ => 4,
            },
            Data::Nested(Nested::Null) => 0,
            Data::Nested(Nested::List(_) | Nested::Map(..)) => 4,
            Data::Nested(Nested::Struct(members)) => {
                members.members.iter().map(|member| member.column.row_bytes()).sum()
            }
        }
    }
}

/// The fields of the entries of a map: names and values.
pub fn entries_of(map: &Field) -> Fields {
    match map.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => fields.clone(),
        _ => Fields::empty(),
    }
}

/// The array of values of a type.
fn leaf_array(items: Items, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    let array = items.into_arrow()?;
    if array.data_type() == data_type {
        return Ok(array);
    }
    // Instants of another unit or zone have the same layout.
    Ok(make_array(array.to_data().into_builder().data_type(data_type.clone()).build()?))
}

impl Lists {
    pub fn new(elements: Builder) -> Self {
        Self { offsets: vec![0], elements: Box::new(elements) }
    }

    /// Ends the list whose elements were added.
    #[inline]
    pub fn end(&mut self) {
        self.offsets.push(self.elements.len as i32);
    }

    /// The offsets of the lists, and the array of their elements.
    fn arrays(
        self,
        data_type: &DataType,
        row: &dyn Fn(u64) -> u64,
        losses: &mut Tally<u64>,
    ) -> Result<(OffsetBuffer<i32>, ArrayRef), Error> {
        let Self { offsets, elements } = self;
        let len = elements.len;
        OffsetWidth::Small.check(len as u64)?;
        let list_of = |element| row(offsets[1..].partition_point(|end| *end as u64 <= element) as u64);
        let elements = elements.array(data_type, len, &list_of, losses)?;
        Ok((ascending(offsets).map_err(failed)?, elements))
    }
}

impl Members {
    /// The number of members that are compared with the text before a name is looked up. Absent members of a
    /// record are often few.
    const AHEAD: usize = 4;

    /// Makes members of their names and columns.
    ///
    /// # Errors
    /// The first error of a column.
    pub fn new<'a>(all: impl Iterator<Item = Result<(&'a str, Builder), Error>>) -> Result<Self, Error> {
        let (mut members, mut by_name) = (Vec::new(), HashMap::default());
        for member in all {
            let (name, column) = member?;
            by_name.entry(name.as_bytes().into()).or_insert(members.len());
            members.push(Member { head: format!("{}:", json::encode(name)).into_bytes().into(), column });
        }
        Ok(Self { members, by_name })
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
}
