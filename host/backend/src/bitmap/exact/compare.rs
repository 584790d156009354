//! Which rows of a bin have stored numbers within some ranges: 64 values at a time, by vectors.
//!
//! Numbers stand one behind the other, of the bin's rows alone, so what is compared is dense, however few of all rows the bin has. Where the
//! rows are says the bin's bitmap:
//!
//! ```text
//! numbers   7 3 9 9 2 …          of the bin's rows, in their order
//! matches   0 0 1 1 0 …          ≥ 8
//! chunk     0 1 0 1 1 0 1 0 1    rows of the bin in a chunk, from its first row on
//! hits      0 0 0 0 1 0 1 0 0    a match each, scattered to the ones of the chunk (`pdep`)
//! ```

use warpath_core::simd::{Simd, Work};
use warpath_store::bitmap::values::Values;

/// So many ranges are tried one after the other; more are searched.
const FEW: usize = 8;

/// Finds the rows of a bin whose numbers are within ranges.
pub(super) struct Compare<'a> {
    /// The numbers of the bin's rows in these chunks.
    pub values: Values<'a>,
    /// From which to which, in order, and none of them touch.
    pub ranges: &'a [(u64, u64)],
    /// The bin's rows.
    pub chunks: &'a [u64],
    /// Those of them whose numbers are within.
    pub hits: &'a mut [u64],
    /// Room for the matches, 64 in a word.
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
            // Where nothing is stored no bin is cut, and texts are compared one by one.
            Values::Same | Values::Text(_) => {}
        }
    }
}

/// A stored number.
trait Number: Copy + Default + Ord + Into<u64> {
    /// The same, of one that is no greater than the greatest.
    fn of(number: u64) -> Self;
    /// Whether it is no less than a first number, and no farther from that than so much.
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
        // Loops, and no iterators' closures: these would not be compiled for this instruction set.
        let (words, rest) = values.as_chunks();
        // A word more than there are values for, so that there is one behind each.
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

/// Which of 64 numbers are within a range.
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
