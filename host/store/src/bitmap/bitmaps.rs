//! Bitmaps of bins, built from each row's bin number.

use std::ops::Range;

use warpath_core::pool;
use warpath_core::wah::{Builder, WahBuf};
use warpath_shared::wah::{CHUNK_ROWS, chunks_for};

/// Bin numbers, row by row, in the narrowest type that holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinNumbers {
    /// Numbers of up to 2⁸ bins.
    U8(Vec<u8>),
    /// Numbers of up to 2¹⁶ bins.
    U16(Vec<u16>),
    /// Numbers of more bins.
    U32(Vec<u32>),
}

/// An integer type for bin numbers.
pub trait BinNumber: Copy + PartialEq + Into<u32> + Send + Sync {}

impl BinNumber for u8 {}
impl BinNumber for u16 {}
impl BinNumber for u32 {}

/// Builds the bitmaps of `bins` bins from each row's bin number.
///
/// The time depends on the number of rows, not on the number of bins. The rows of a chunk are sorted by bin
/// first; then each bin that has rows in the chunk gets its word. All cores work on parts of the rows in
/// parallel.
///
/// ```
/// # use warpath_store::bitmap::bitmaps::bitmaps_of;
/// let bitmaps = bitmaps_of(&[2_u8, 0, 2, 2], 3);
/// let rows: Vec<Vec<u64>> = bitmaps.iter().map(|bitmap| bitmap.as_wah().ones().collect()).collect();
/// assert_eq!(rows, [vec![1], vec![], vec![0, 2, 3]]);
/// ```
///
/// # Panics
/// Panics if a number is not less than `bins`.
#[must_use]
pub fn bitmaps_of<N: BinNumber>(numbers: &[N], bins: usize) -> Vec<WahBuf> {
    let ranges: Vec<Range<usize>> = pool::ranges(numbers.len(), CHUNK_ROWS as usize);
    let mut parts = pool::map(ranges, |range| of_part(&numbers[range], bins));
    match parts.len() {
        0 => vec![WahBuf::none(0); bins],
        1 => parts.remove(0),
        _ => {
            let rows = numbers.len() as u64;
            // Bins are joined in parallel too, some at a time.
            let step = pool::range_rows(bins, 1).min(64);
            let groups = (0..bins).step_by(step).map(|first| first..bins.min(first + step)).collect();
            pool::map(groups, |group| group.map(|bin| join(&parts, bin, rows)).collect::<Vec<_>>()).concat()
        }
    }
}

/// [`bitmaps_of`] for numbers of any width.
pub fn of_numbers(numbers: &BinNumbers, bins: usize) -> Vec<WahBuf> {
    match numbers {
        BinNumbers::U8(numbers) => bitmaps_of(numbers, bins),
        BinNumbers::U16(numbers) => bitmaps_of(numbers, bins),
        BinNumbers::U32(numbers) => bitmaps_of(numbers, bins),
    }
}

/// Joins one bin's bitmaps of all parts. Each part except the last consists of whole chunks.
fn join(parts: &[Vec<WahBuf>], bin: usize, rows: u64) -> WahBuf {
    let mut builder = Builder::default();
    for part in parts {
        part[bin].as_wah().atoms().for_each(|atom| builder.atom(atom));
    }
    builder.finish(rows)
}

/// A bitmap under construction, and the number of its chunks so far.
#[derive(Clone, Default)]
struct Growing {
    builder: Builder,
    chunks: u64,
}

impl Growing {
    /// Appends chunk number `at`, after zero chunks for the gap.
    #[inline]
    fn put(&mut self, at: u64, chunk: u64) {
        self.builder.fill(false, at - self.chunks);
        self.builder.chunk(chunk);
        self.chunks = at + 1;
    }
}

fn of_part<N: BinNumber>(numbers: &[N], bins: usize) -> Vec<WahBuf> {
    let mut growing = vec![Growing::default(); bins];
    // State of the current chunk: the word of each bin, and the bins whose word is not 0.
    let mut words = vec![0_u64; bins];
    let mut present = Vec::with_capacity(CHUNK_ROWS as usize);
    for (at, chunk) in (0..).zip(numbers.chunks(CHUNK_ROWS as usize)) {
        if chunk.iter().all(|number| *number == chunk[0]) {
            growing[bin(chunk[0])].put(at, u64::MAX >> (64 - chunk.len()));
            continue;
        }
        for (row, number) in chunk.iter().enumerate() {
            let word = &mut words[bin(*number)];
            if *word == 0 {
                present.push(bin(*number));
            }
            *word |= 1 << row;
        }
        for bin in present.drain(..) {
            growing[bin].put(at, std::mem::take(&mut words[bin]));
        }
    }
    let rows = numbers.len() as u64;
    let finish = |Growing { mut builder, chunks }| {
        builder.fill(false, chunks_for(rows) - chunks);
        builder.finish(rows)
    };
    growing.into_iter().map(finish).collect()
}

fn bin<N: BinNumber>(number: N) -> usize {
    number.into() as usize
}
