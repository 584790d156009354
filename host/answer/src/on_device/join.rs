//! Several batches on a device, joined to one.
//!
//! Values and the bytes of strings are copied on the device. Bits and offsets change when they are joined.
//! They go through the host: a bit a boolean and a null, and an offset a string and a list.

use warpath_core::error::Error;
use warpath_core::plain::bytes;

use super::{Array, ArrayPart, Arrays, DeviceColumns, Holder, none_of};
use crate::columns::{Column, Items, Lost, OffsetWidth, Offsets, Values};

impl DeviceColumns {
    /// Joins batches of the same columns, at least one, in order. The values that were lost are not part of
    /// the result.
    ///
    /// # Errors
    /// [`Error::Usage`] for batches of different columns or devices, and where the joined column has more
    /// values or bytes than its offsets can express. [`Error::Device`], also if memory is short.
    pub fn join(batches: &[&Self]) -> Result<Self, Error> {
        let wrong = |what: &str| Error::Usage(format!("batches to join {what}"));
        let Some(first) = batches.first() else { return Err(wrong("are none; expected at least one")) };
        let same = |batch: &&Self| batch.device() == first.device();
        if !batches.iter().all(same) {
            return Err(wrong("are on several devices; expected one device"));
        }
        let alike = |batch: &&Self| {
            let columns = batch.host.columns.iter().zip(&first.host.columns);
            batch.host.columns.len() == first.host.columns.len()
                && columns.clone().all(|(a, b)| {
                    none_of(&a.items.values) == none_of(&b.items.values)
                        && a.lists.is_some() == b.lists.is_some()
                })
        };
        if !batches.iter().all(alike) {
            return Err(wrong("have different columns; expected batches of one schema"));
        }
        let rows = batches.iter().map(|batch| batch.host.rows).sum();
        let columns = 0..first.host.columns.len();
        let joined = columns.map(|at| column(&*first.holder, batches, at)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::new(rows, joined, first.holder.clone()))
    }
}

/// Joins one column of some batches.
fn column(holder: &dyn Holder, batches: &[&DeviceColumns], at: usize) -> Result<(Column, Arrays), Error> {
    let parts = || batches.iter().map(|batch| (&batch.host.columns[at], &batch.arrays[at]));
    let items = || parts().map(|(column, arrays)| (&column.items, arrays));
    let (prototype, _) = items().next().ok_or_else(|| Error::Internal("no batch to join".into()))?;
    let array = |bytes: &[u8]| holder.array(&[ArrayPart::Host(bytes)]);

    let mut validity = Bits::default();
    items().for_each(|(items, _)| validity.append(&items.validity, items.len));
    let fixed = |size: usize| {
        let parts: Vec<_> =
            items().map(|(items, arrays)| ArrayPart::Device(&arrays.values, items.len * size)).collect();
        holder.array(&parts)
    };
    let (values, text) = match &prototype.values {
        Values::Boolean(_) => {
            let mut truth = Bits::default();
            for (items, arrays) in items() {
                let mut bits = arrays.values.read::<u32>(items.len.div_ceil(32))?;
                crate::columns::truncate_bits(&mut bits, items.len);
                truth.append(&bits, items.len);
            }
            (array(bytes(&truth.words))?, None)
        }
        Values::Int64(_) | Values::Time(_) => (fixed(size_of::<i64>())?, None),
        Values::Float64(_) => (fixed(size_of::<f64>())?, None),
        Values::Decimal { .. } => (fixed(size_of::<i128>())?, None),
        Values::Date(_) => (fixed(size_of::<i32>())?, None),
        Values::Utf8(offsets, _) => {
            let (mut starts, mut text) = (vec![0], Vec::new());
            for (items, arrays) in items() {
                let end = append(&mut starts, &read_offsets(&arrays.values, items.len, offsets.width())?);
                text.extend(arrays.bytes.as_ref().map(|bytes| ArrayPart::Device(bytes, end)));
            }
            let starts = Offsets::new(starts, offsets.width())?;
            (array(starts.bytes())?, Some(holder.array(&text)?))
        }
        #[cfg(feature = "arrow")]
        Values::Nested(_) => return Err(super::nested("a nested column")),
    };
    let lists = match parts().next().and_then(|(column, _)| column.lists.as_ref()) {
        None => None,
        Some(first) => {
            let mut starts = vec![0];
            for lists in parts().filter_map(|(column, _)| column.lists.as_ref()) {
                append(&mut starts, &wide(lists));
            }
            Some(Offsets::new(starts, first.width())?)
        }
    };
    let items = Items { len: validity.len, validity: validity.words, values: none_of(&prototype.values) };
    let arrays = Arrays {
        lists: lists.as_ref().map(|lists| array(lists.bytes())).transpose()?,
        validity: (items.nulls() > 0).then(|| array(bytes(&items.validity))).transpose()?,
        values,
        bytes: text,
    };
    Ok((Column { lists, items, lost: Lost::default() }, arrays))
}

/// The offsets of strings, from a device.
fn read_offsets(array: &Array, len: usize, width: OffsetWidth) -> Result<Vec<i64>, Error> {
    Ok(match width {
        OffsetWidth::Small => wide(&Offsets::Small(array.read(len + 1)?)),
        OffsetWidth::Large => array.read(len + 1)?,
    })
}

/// Offsets in 64 bits.
fn wide(offsets: &Offsets) -> Vec<i64> {
    match offsets {
        Offsets::Small(offsets) => offsets.iter().map(|offset| i64::from(*offset)).collect(),
        Offsets::Large(offsets) => offsets.clone(),
    }
}

/// Appends the offsets of further items, and returns the end of their own bytes.
fn append(starts: &mut Vec<i64>, more: &[i64]) -> usize {
    let before = starts.last().copied().unwrap_or(0);
    starts.extend(more.iter().skip(1).map(|offset| before + offset));
    more.last().map_or(0, |end| *end as usize)
}

/// A growing sequence of bits, lowest first. The bits past the end are 0.
#[derive(Default)]
struct Bits {
    words: Vec<u32>,
    len: usize,
}

impl Bits {
    /// Appends the first `len` bits of some words, whose other bits are 0.
    fn append(&mut self, words: &[u32], len: usize) {
        let shift = self.len % 32;
        let words = &words[..len.div_ceil(32)];
        if shift == 0 {
            self.words.extend_from_slice(words);
        } else {
            for word in words {
                if let Some(last) = self.words.last_mut() {
                    *last |= word << shift;
                }
                self.words.push(word >> (32 - shift));
            }
        }
        self.len += len;
        self.words.truncate(self.len.div_ceil(32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_appended_at_every_offset() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for _ in 0..200 {
            let (mut bits, mut all) = (Bits::default(), Vec::new());
            for _ in 0..5 {
                let some: Vec<bool> = (0..random() % 70).map(|_| random() % 3 == 0).collect();
                let mut words = vec![0u32; some.len().div_ceil(32)];
                some.iter().enumerate().for_each(|(at, bit)| words[at / 32] |= u32::from(*bit) << (at % 32));
                bits.append(&words, some.len());
                all.extend(some);
            }
            assert_eq!(bits.len, all.len());
            assert_eq!(bits.words.len(), all.len().div_ceil(32));
            let bit = |at: usize| bits.words[at / 32] >> (at % 32) & 1 == 1;
            assert!(all.iter().enumerate().all(|(at, want)| bit(at) == *want));
        }
    }
}
