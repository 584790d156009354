//! A scan of all rows, without an index.
//!
//! A row's bins are bytes, which are smaller than the values in the bins. So this is the best case of a scan.
//! For each attribute, 64 rows at a time are compared with the bins of the query, or with the other bins if
//! these are fewer. All attributes are done for some rows before the next rows, and each byte is read once.
//! (One attribute after the other, each for 4,032 rows, took half as long again, except for KDD's 42, which
//! took a quarter less.)

use warpath_shared::wah::{ALL, CHUNK_ROWS};

use super::workload::Workload;

/// Rows that are looked at together: the first 63 are a chunk.
const ROWS: usize = 64;

/// A range query over the rows.
pub struct Scan<'a> {
    tests: Vec<Test<'a>>,
    rows: usize,
}

/// A test of one attribute.
struct Test<'a> {
    numbers: &'a [u8],
    /// Bins that rows are in, or are not in.
    bins: Vec<u8>,
    not: bool,
}

impl<'a> Scan<'a> {
    /// Over the rows of a workload.
    #[must_use]
    pub fn new(workload: &Workload<'a>) -> Self {
        let attributes = workload.table.attributes.iter().zip(workload.bins());
        let tests = attributes.filter(|(_, bins)| !bins.is_empty()).map(|(attribute, asked)| {
            let not = asked.len() > attribute.bins / 2;
            let bins = (0..attribute.bins as u8).filter(|bin| asked.contains(bin) != not).collect();
            Test { numbers: &attribute.numbers, bins, not }
        });
        Self { tests: tests.collect(), rows: workload.table.rows as usize }
    }

    /// Writes the result from chunk `first` on, and counts its rows. It uses the widest vectors that this
    /// processor has, of those it is compiled for.
    pub fn run(&self, first: usize, chunks: &mut [u64]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
                // SAFETY: this processor has what the function is compiled for.
                return unsafe { self.run_avx512(first, chunks) };
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                // SAFETY: this processor has what the function is compiled for.
                return unsafe { self.run_avx2(first, chunks) };
            }
        }
        self.run_here(first, chunks)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512bw,avx512vl,popcnt")]
    fn run_avx512(&self, first: usize, chunks: &mut [u64]) -> u64 {
        self.run_here(first, chunks)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    fn run_avx2(&self, first: usize, chunks: &mut [u64]) -> u64 {
        self.run_here(first, chunks)
    }

    #[inline(always)]
    fn run_here(&self, first: usize, chunks: &mut [u64]) -> u64 {
        let mut count = 0;
        for (at, chunk) in (first..).zip(chunks) {
            let start = at * CHUNK_ROWS as usize;
            *chunk = if start + ROWS <= self.rows { self.chunk(start) } else { self.last(start) };
            count += u64::from(chunk.count_ones());
        }
        count
    }

    /// The chunk of 63 rows, of which there is one more.
    #[inline(always)]
    fn chunk(&self, start: usize) -> u64 {
        let mut found = [0; ROWS];
        for test in &self.tests {
            let Some(numbers) = test.numbers[start..].first_chunk::<ROWS>() else { continue };
            let mut equal = [if test.not { 0xff } else { 0 }; ROWS];
            for bin in &test.bins {
                for (equal, number) in equal.iter_mut().zip(numbers) {
                    *equal ^= if number == bin { 0xff } else { 0 };
                }
            }
            for (found, equal) in found.iter_mut().zip(equal) {
                *found |= equal;
            }
        }
        pack(&found) & ALL
    }

    /// The scalar form of [`Self::chunk`], for the last rows.
    fn last(&self, start: usize) -> u64 {
        let end = self.rows.min(start + CHUNK_ROWS as usize);
        let found =
            |row: usize| self.tests.iter().any(|test| test.bins.contains(&test.numbers[row]) != test.not);
        (start..end).fold(0, |chunk, row| chunk | u64::from(found(row)) << (row - start))
    }
}

/// The lowest bit of each byte, the first byte's in bit 0.
#[inline(always)]
fn pack(bytes: &[u8; ROWS]) -> u64 {
    let mut bits = 0;
    for (at, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        // The factor's bit 56 - 7i moves byte i's bit, at 8i, to 56 + i. All other bits there and above are
        // of no other byte.
        let word = u64::from_le_bytes(*eight) & 0x0101_0101_0101_0101;
        bits |= (word.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::super::data::DataSet;
    use super::*;

    #[test]
    fn every_row_is_looked_at() {
        for set in DataSet::ALL {
            for rows in [1, 62, 63, 64, 65, 126, 127, 128, 1000] {
                let table = set.make(rows, 1);
                let index = table.columns();
                for columns in [1, 4, 64, 1000] {
                    let workload = Workload::random(&table, &index, columns, 3);
                    let (want, scan) = (workload.answer(), Scan::new(&workload));
                    let mut got = vec![7; want.len()];
                    let half = got.len() / 2;
                    let (low, high) = got.split_at_mut(half);
                    let count = scan.run(0, low) + scan.run_here(half, high);
                    assert_eq!(got, want, "{} of {}, {rows} rows", columns, set.name());
                    assert_eq!(count, want.iter().map(|chunk| u64::from(chunk.count_ones())).sum::<u64>());
                }
            }
        }
    }

    #[test]
    fn bits_are_packed_in_order() {
        for bit in 0..ROWS {
            let mut bytes = [0; ROWS];
            bytes[bit] = 0xff;
            assert_eq!(pack(&bytes), 1 << bit);
            assert_eq!(pack(&bytes.map(|byte| !byte)), !(1 << bit));
        }
    }
}
