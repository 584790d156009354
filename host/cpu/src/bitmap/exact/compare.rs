//! Comparison of the stored numbers of a bin's rows with ranges, 64 values at a time, with vectors.
//!
//! The numbers of the bin's rows are stored consecutively, without those of other rows. So the comparison is
//! dense, however few rows the bin has. The bin's bitmap has the positions of the rows:
//!
//! ```text
//! numbers   7 3 9 9 2 …          of the bin's rows, in their order
//! matches   0 0 1 1 0 …          ≥ 8
//! chunk     0 1 0 1 1 0 1 0 1    rows of the bin in a chunk, from its first row on
//! hits      0 0 0 0 1 0 1 0 0    a match each, scattered to the ones of the chunk (`pdep`)
//! ```

use warpath_core::simd::{Simd, Work};
use warpath_store::bitmap::values::Values;

/// The most ranges that are tried one after another; more ranges are searched.
const FEW: usize = 8;

/// A search for the rows of a bin whose numbers are within ranges.
pub(super) struct Compare<'a> {
    /// The numbers of the bin's rows in these chunks.
    pub values: Values<'a>,
    /// The first and last number of each range, in order. No two ranges touch.
    pub ranges: &'a [(u64, u64)],
    /// The chunks of the bin's rows.
    pub chunks: &'a [u64],
    /// The rows among them whose numbers are within the ranges.
    pub hits: &'a mut [u64],
    /// Scratch memory for the matches, 64 in a word.
    pub matches: &'a mut Vec<u64>,
}

impl Work for Compare<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.values {
            Values::U8(values) => self.numbers(simd, values),
            Values::U16(values) => self.numbers(simd, values),
            Values::U32(values) => self.numbers(simd, values),
            Values::U64(values) => self.numbers(simd, values),
            // A bin without stored values is never cut, and texts are compared one by one.
            Values::Same | Values::Text(_) => {}
        }
    }
}

/// A stored number.
trait Number: Copy + Default + Ord + Into<u64> {
    /// Converts a number that fits this type.
    fn of(number: u64) -> Self;
    /// Returns whether the number is at least `first` and at most `first` + `width`.
    fn is_within(self, first: Self, width: Self) -> bool;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn of(number: u64) -> Self {
                number as Self
            }

            #[inline(always)]
            fn is_within(self, first: Self, width: Self) -> bool {
                self.wrapping_sub(first) <= width
            }
        }
    )*};
}

number!(u8, u16, u32, u64);

impl Compare<'_> {
    #[inline(always)]
    fn numbers<S: Simd, T: Number>(self, simd: S, values: &[T]) {
        let Self { ranges, chunks, hits, matches, .. } = self;
        // These are loops because closures of iterators would not be compiled for this instruction set.
        let (words, rest) = values.as_chunks();
        // One word more than the values need, so that each word has a next one.
        matches.clear();
        matches.resize(words.len() + 2, 0);
        for (matches, word) in matches.iter_mut().zip(words) {
            *matches = word_of(simd, word, ranges);
        }
        let mut last = [T::default(); 64];
        last[..rest.len()].copy_from_slice(rest);
        matches[words.len()] = word_of(simd, &last, ranges);
        let mut at = 0;
        for (chunk, hits) in chunks.iter().zip(hits) {
            let (word, bit) = (at / 64, at % 64);
            let these = match matches.get(word..word + 2) {
                Some(two) => two[0] >> bit | two[1] << 1 << (63 - bit),
                None => 0,
            };
            *hits = simd.scatter(these, *chunk);
            at += chunk.count_ones() as usize;
        }
    }
}

/// The numbers among 64 that are within a range, one bit a number.
#[inline(always)]
fn word_of<S: Simd, T: Number>(simd: S, values: &[T; 64], ranges: &[(u64, u64)]) -> u64 {
    let mut found = [0_u8; 64];
    if ranges.len() <= FEW {
        for (from, to) in ranges {
            let (first, width) = (T::of(*from), T::of(to - from));
            for (found, value) in found.iter_mut().zip(values) {
                *found |= u8::from(value.is_within(first, width));
            }
        }
    } else {
        for (found, value) in found.iter_mut().zip(values) {
            let value: u64 = (*value).into();
            let at = ranges.partition_point(|(_, to)| *to < value);
            *found = u8::from(ranges.get(at).is_some_and(|(from, _)| *from <= value));
        }
    }
    simd.equal(&found, 1)
}

#[cfg(test)]
mod tests {
    use warpath_core::simd::Isa;
    use warpath_random::Rng;

    use super::*;

    fn check(values: Values<'_>, ranges: &[(u64, u64)], chunks: &[u64]) {
        let mut naive = Vec::new();
        let mut at = 0;
        for chunk in chunks {
            let mut hits = 0;
            for bit in (0..63).filter(|bit| chunk >> bit & 1 != 0) {
                let number = values.distance(at).unwrap();
                at += 1;
                hits |= u64::from(ranges.iter().any(|(from, to)| (*from..=*to).contains(&number))) << bit;
            }
            naive.push(hits);
        }
        assert_eq!(Some(at), values.rows());
        for isa in Isa::all() {
            let mut hits = vec![!0; chunks.len()];
            isa.run(Compare { values, ranges, chunks, hits: &mut hits, matches: &mut vec![7; 3] });
            assert_eq!(hits, naive, "{isa:?} {ranges:?}");
        }
    }

    #[test]
    fn hits_are_the_rows_with_such_numbers() {
        let mut rng = Rng::new(11);
        let mut next = || rng.next_u64();
        for len in [0, 1, 2, 5, 100] {
            for density in 0..4 {
                let chunk = |random: u64, other: u64| match density {
                    0 => u64::MAX >> 1,
                    1 => random >> 1,
                    2 => random & other & 0xff00_ff00,
                    _ => 1 << (random % 63),
                };
                let chunks: Vec<u64> = (0..len).map(|_| chunk(next(), next())).collect();
                let rows: usize = chunks.iter().map(|chunk| chunk.count_ones() as usize).sum();
                let numbers: Vec<u64> = (0..rows).map(|_| next() % 250).collect();
                for ranges in [0, 1, 2, 8, 9, 40] {
                    let mut ends: Vec<u64> = (0..2 * ranges).map(|_| next() % 256).collect();
                    ends.extend([0, 255]);
                    ends.sort_unstable();
                    ends.dedup();
                    let ranges: Vec<(u64, u64)> =
                        ends.chunks_exact(2).take(ranges).map(|pair| (pair[0], pair[1])).collect();
                    let as_u8: Vec<u8> = numbers.iter().map(|number| *number as u8).collect();
                    let times = |factor: u64| -> (Vec<u64>, Vec<(u64, u64)>) {
                        let ranges = ranges.iter().map(|(from, to)| (from * factor, to * factor));
                        (numbers.iter().map(|number| number * factor).collect(), ranges.collect())
                    };
                    check(Values::U8(&as_u8), &ranges, &chunks);
                    let (numbers, ranges) = times(257);
                    let as_u16: Vec<u16> = numbers.iter().map(|number| *number as u16).collect();
                    check(Values::U16(&as_u16), &ranges, &chunks);
                    let (numbers, ranges) = times(0x0101_0101);
                    let as_u32: Vec<u32> = numbers.iter().map(|number| *number as u32).collect();
                    check(Values::U32(&as_u32), &ranges, &chunks);
                    let (numbers, ranges) = times(0x0101_0101_0101_0101);
                    check(Values::U64(&numbers), &ranges, &chunks);
                }
            }
        }
    }
}
