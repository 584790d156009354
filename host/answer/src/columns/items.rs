//! The arrays of columns: validity, offsets and values.

use warpath_core::error::Error;

/// The width of the offsets of lists and strings, the same for all columns of all batches.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, OffsetWidth, Offsets, Values};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Utf8)])?.with_offsets(OffsetWidth::Large);
/// let batch = Engine::builder().build()?.bytes("{\"id\":\"ab\"}\n").columns(&schema).next().unwrap()?;
/// let values = Values::Utf8(Offsets::Large(vec![0, 2]), b"ab".to_vec());
/// assert_eq!(batch.columns[0].items.values, values);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OffsetWidth {
    /// 32 bits. This is enough for everything that a singular path finds in a partition. It is an error if a
    /// path of lists finds 2³¹ values or bytes in one partition. For this the partition must be very large,
    /// or the path must select the same values repeatedly.
    #[default]
    Small,
    /// 64 bits.
    Large,
}

impl OffsetWidth {
    /// Checks that offsets up to `end` fit this width.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn check(self, end: u64) -> Result<(), Error> {
        if self == Self::Small && i32::try_from(end).is_err() {
            return Err(Error::Usage(format!(
                "one partition gives a column {end} values or bytes, more than 32-bit offsets can express; use smaller \
                 partitions, or 64-bit offsets"
            )));
        }
        Ok(())
    }
}

/// Values, some of which may be null.
///
/// ```
/// use warpath::columns::{ColumnType, Schema};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"two\"}\n").columns(&schema).next().unwrap()?;
/// let items = &batch.columns[0].items;
/// assert_eq!((items.len, items.nulls()), (2, 1));
/// assert_eq!((items.is_valid(0), items.is_valid(1), items.validity[0]), (true, false, 0b01));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Items {
    /// The number of values, nulls included.
    pub len: usize,
    /// One bit a value, lowest first: 1 for a value, 0 for a null. Bits past the end are 0.
    pub validity: Vec<u32>,
    /// The values. A null is stored as zero, or as an empty string.
    pub values: Values,
}

impl Items {
    /// Values with their validity.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(len: usize, validity: Vec<u32>, values: Values) -> Self {
        Self { len, validity, values }
    }

    /// The number of nulls.
    #[must_use]
    pub fn nulls(&self) -> usize {
        self.len - self.validity.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// Returns true if an item is a value, and not a null.
    #[must_use]
    pub fn is_valid(&self, item: usize) -> bool {
        self.validity.get(item / 32).is_some_and(|word| word >> (item % 32) & 1 == 1)
    }

    /// Keeps the first `len` items, if there are more.
    pub(super) fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.len = len;
        truncate_bits(&mut self.validity, len);
        match &mut self.values {
            Values::Boolean(bits) => truncate_bits(bits, len),
            Values::Int64(values) => values.truncate(len),
            Values::Float64(values) => values.truncate(len),
            Values::Decimal { units, .. } => units.truncate(len),
            Values::Time(instants) => instants.truncate(len),
            Values::Date(days) => days.truncate(len),
            #[cfg(feature = "arrow")]
            Values::Nested(array) => *array = array.slice(0, len),
            Values::Utf8(offsets, bytes) => {
                let end = offsets.truncate(len);
                bytes.truncate(end);
            }
        }
    }
}

/// Keeps the first `len` bits, and sets the rest of the last word to 0.
pub fn truncate_bits(words: &mut Vec<u32>, len: usize) {
    words.truncate(len.div_ceil(32));
    if let Some(last) = words.get_mut(len / 32) {
        *last &= (1 << (len % 32)) - 1;
    }
}

/// The values of a column, one after another.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Offsets, Values};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Utf8)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":\"ab\"}\n{\"id\":\"c\"}\n").columns(&schema).next().unwrap()?;
/// let Values::Utf8(Offsets::Small(offsets), bytes) = &batch.columns[0].items.values else {
///     panic!("no strings with 32-bit offsets")
/// };
/// let strings: Vec<&[u8]> =
///     offsets.windows(2).map(|ends| &bytes[ends[0] as usize..ends[1] as usize]).collect();
/// assert_eq!(strings, [&b"ab"[..], b"c"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// One bit a value, as in [`Items::validity`].
    Boolean(Vec<u32>),
    /// One integer a value.
    Int64(Vec<i64>),
    /// One double a value.
    Float64(Vec<f64>),
    /// One integer a value, in units of 10 to the −`scale`.
    Decimal {
        /// The most digits of a value.
        precision: u8,
        /// The number of digits after the point.
        scale: u8,
        /// The values.
        units: Vec<i128>,
    },
    /// One instant a value, in nanoseconds since 1970-01-01T00:00:00Z.
    Time(Vec<i64>),
    /// One date a value, in days since 1970-01-01.
    Date(Vec<i32>),
    /// The start of each value in the bytes, followed by the end of the last; and the bytes of all values,
    /// which are UTF-8.
    Utf8(Offsets, Vec<u8>),
    /// An array of lists or structs. Its offsets have 32 bits.
    #[cfg(feature = "arrow")]
    Nested(arrow_array::ArrayRef),
}

/// The start of each item, followed by the end of the last.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Offsets};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id[*]")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":[1,2]}\n{}\n{\"id\":[3]}\n").columns(&schema).next().unwrap()?;
/// // The lists of the three rows have two items, none and one.
/// assert_eq!(batch.columns[0].lists, Some(Offsets::Small(vec![0, 2, 2, 3])));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// Offsets of 32 bits.
    Small(Vec<i32>),
    /// Offsets of 64 bits.
    Large(Vec<i64>),
}

impl Offsets {
    /// Makes offsets of the given width. Returns an error if they do not fit.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn new(offsets: Vec<i64>, width: OffsetWidth) -> Result<Self, Error> {
        width.check(offsets.last().copied().unwrap_or(0) as u64)?;
        Ok(match width {
            OffsetWidth::Large => Self::Large(offsets),
            OffsetWidth::Small => Self::Small(offsets.into_iter().map(|offset| offset as i32).collect()),
        })
    }

    /// The width of the offsets.
    pub(crate) fn width(&self) -> OffsetWidth {
        match self {
            Self::Small(_) => OffsetWidth::Small,
            Self::Large(_) => OffsetWidth::Large,
        }
    }

    /// Adds the end of an item. [`OffsetWidth::check`] of the last end shows whether all fit the width.
    #[inline]
    pub(crate) fn push(&mut self, end: usize) {
        self.extend(&[end]);
    }

    /// Adds the ends of items.
    #[inline]
    pub(super) fn extend(&mut self, ends: &[usize]) {
        match self {
            Self::Small(offsets) => offsets.extend(ends.iter().map(|end| *end as i32)),
            Self::Large(offsets) => offsets.extend(ends.iter().map(|end| *end as i64)),
        }
    }

    /// Adds items that end where the last one does, until there are `len` items.
    pub(super) fn resize(&mut self, len: usize, end: usize) {
        match self {
            Self::Small(offsets) => offsets.resize(len + 1, end as i32),
            Self::Large(offsets) => offsets.resize(len + 1, end as i64),
        }
    }

    /// The number of the list that has an item.
    pub(super) fn list_of(&self, item: usize) -> usize {
        match self {
            Self::Small(offsets) => offsets.partition_point(|start| *start as usize <= item) - 1,
            Self::Large(offsets) => offsets.partition_point(|start| *start as usize <= item) - 1,
        }
    }

    /// Keeps the offsets of the first `len` items, and returns the end of the last of these.
    pub(super) fn truncate(&mut self, len: usize) -> usize {
        match self {
            Self::Small(offsets) => {
                offsets.truncate(len + 1);
                offsets.last().map_or(0, |end| *end as usize)
            }
            Self::Large(offsets) => {
                offsets.truncate(len + 1);
                offsets.last().map_or(0, |end| *end as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_as_wide_as_asked_for() {
        let small = |end| Offsets::new(vec![0, end], OffsetWidth::Small);
        assert_eq!(small(7).unwrap(), Offsets::Small(vec![0, 7]));
        assert_eq!(small(i64::from(i32::MAX)).unwrap(), Offsets::Small(vec![0, i32::MAX]));
        assert!(
            matches!(small(1 << 31), Err(Error::Usage(said)) if said.contains(" 2147483648 values or bytes"))
        );
        let large = |end| Offsets::new(vec![0, end], OffsetWidth::Large).unwrap();
        assert_eq!(large(7), Offsets::Large(vec![0, 7]));
        assert_eq!(large(1 << 31), Offsets::Large(vec![0, 1 << 31]));
    }
}
