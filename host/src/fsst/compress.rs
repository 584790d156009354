//! From strings to codes: at each place the longest symbol that the string goes on with, whatever the table.
//!
//! How a symbol is found:
//!
//! ```text
//! word      8 bytes of the text from here on, and which of them are behind the string's end
//! rows      by the first two bytes, or by one where it is the last: the best symbol of up to two bytes, or an escape; and a bucket
//! bucket    8 symbols of 3 to 8 bytes with these first two bytes, the longest first, all compared with the word at once
//! ```
//!
//! A symbol is in the string if no byte of it differs from the word, nor is behind the end: `((word ^ symbol) | behind) & mask == 0`, which
//! AVX-512 answers for eight symbols in two instructions. So ends of strings cost nothing, and bytes behind them, zeros or not, cannot
//! matter. Buckets are chained where there are more than eight symbols.
//!
//! One place follows from the symbol before, which takes 35 cycles to find. So eight strings, or segments of a text, are compressed side by
//! side, each to a place of its own; and their codes are then moved together. A lane that has come to its end takes the next string.

use rayon::prelude::*;
use warpath_shared::fsst::{ESCAPE, Table};

use super::{low_bytes, word_at};
use crate::cpu::{Isa, Simd, Work};

/// A long text is compressed in segments of so many bytes, the last shorter, each as a string of its own: no symbol spans two. It costs a
/// code or so in thousands.
pub const SEGMENT_BYTES: usize = 8 << 10;

/// Bytes of text that are compressed to places of their own before their codes are moved together: what lies between stays in a
/// second-level cache.
const BATCH_BYTES: usize = 256 << 10;
/// Bytes of text that are one piece of work of a thread: whole segments.
const PIECE_BYTES: usize = 1 << 20;
/// Strings, or segments, that are compressed side by side.
const LANES: usize = 8;
/// Short strings are given to a lane together, up to so many bytes.
const RUN_BYTES: usize = 8 << 10;

/// Where the rows of one byte are, behind those of two.
const ONE_BYTE: usize = 1 << 16;
/// A power of two, so that places need no check.
const ROWS: usize = 1 << 17;
/// Two empty ones, and up to one for each symbol; a power of two likewise.
const BUCKETS: usize = 512;

/// What to write at a place, and how far to go.
///
/// ```text
/// bits      0 … 7    8 … 11               12 … 15
/// meaning   code     bytes of the text    codes: 2 if it is an escape
/// ```
#[derive(Clone, Copy, Default)]
struct Entry(u16);

impl Entry {
    const ESCAPED: Self = Self::new(ESCAPE, 1, 2);

    const fn new(code: u8, bytes: u8, codes: u8) -> Self {
        Self(code as u16 | (bytes as u16) << 8 | (codes as u16) << 12)
    }
}

/// What there is for the first bytes of a word: the best without a bucket, and the bucket to ask first.
#[derive(Clone, Copy, Default)]
struct Row {
    entry: Entry,
    bucket: u16,
}

/// Symbols of 3 bytes and more with the same first two, the longest first. What is not used differs from them in these.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    symbols: [u64; 8],
    masks: [u64; 8],
    entries: [Entry; 8],
    /// The bucket to ask next, or 0.
    next: u16,
}

impl Bucket {
    /// One for words that do not begin with `other`.
    const fn empty(other: u16) -> Self {
        Self { symbols: [other as u64; 8], masks: [u64::MAX; 8], entries: [Entry(0); 8], next: 0 }
    }
}

/// Offsets of strings, as Arrow has them: `i32`, `i64`, or `u64`.
pub trait Offset: Copy + Sync {
    /// The offset as a place in memory; what is none becomes the largest number there is.
    fn place(self) -> usize;
}

macro_rules! offsets {
    ($($type:ty)*) => { $(
        impl Offset for $type {
            #[inline(always)]
            fn place(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
        }
    )* };
}
offsets!(i32 i64 u32 u64 usize);

/// Compresses strings with one table.
pub struct Compressor {
    rows: Box<[Row; ROWS]>,
    buckets: Box<[Bucket; BUCKETS]>,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Compressor {
    /// Takes a table, of whatever symbols. Of two that are equal, the first is used.
    ///
    /// # Panics
    /// Only if there is no memory for 600 KiB.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let boxed = |all: Vec<Row>| -> Box<[Row; ROWS]> { all.try_into().unwrap_or_else(|_| unreachable!()) };
        let mut rows = boxed(vec![Row::default(); ROWS]);
        let mut buckets: Vec<Bucket> = vec![Bucket::empty(0), Bucket::empty(1)];
        for code in (0..ESCAPE).rev().filter(|code| table.lens()[usize::from(*code)] == 1) {
            let byte = table.symbols()[usize::from(code)] as usize;
            rows[ONE_BYTE + byte].entry = Entry::new(code, 1, 1);
        }
        for (bytes, row) in rows[ONE_BYTE..ONE_BYTE + 256].iter_mut().enumerate() {
            if row.entry.0 == 0 {
                row.entry = Entry::ESCAPED;
            }
            row.bucket = u16::from(bytes == 0);
        }
        let (two, one) = rows.split_at_mut(ONE_BYTE);
        for pairs in two.chunks_exact_mut(256) {
            pairs.copy_from_slice(&one[..256]);
            pairs.iter_mut().for_each(|row| row.bucket = 0);
        }
        two[0].bucket = 1;
        for code in (0..ESCAPE).rev().filter(|code| table.lens()[usize::from(*code)] == 2) {
            rows[table.symbols()[usize::from(code)] as usize].entry = Entry::new(code, 2, 1);
        }
        let mut long: Vec<u8> = (0..ESCAPE).filter(|code| table.lens()[usize::from(*code)] > 2).collect();
        // By their first two bytes, then the longest first, then by code: of equal ones the first is found.
        let key = |code: &u8| {
            let at = usize::from(*code);
            (table.symbols()[at] as u16, u8::MAX - table.lens()[at], *code)
        };
        long.sort_unstable_by_key(key);
        for same in long.chunk_by(|a, b| key(a).0 == key(b).0) {
            let first = key(&same[0]).0;
            rows[usize::from(first)].bucket = buckets.len() as u16;
            for codes in same.chunks(8) {
                let mut bucket = Bucket::empty(!first);
                for (slot, code) in codes.iter().enumerate() {
                    let len = table.lens()[usize::from(*code)];
                    bucket.symbols[slot] = table.symbols()[usize::from(*code)];
                    bucket.masks[slot] = low_bytes(usize::from(len));
                    bucket.entries[slot] = Entry::new(*code, len, 1);
                }
                bucket.next = buckets.len() as u16 + 1;
                buckets.push(bucket);
            }
            if let Some(last) = buckets.last_mut() {
                last.next = 0;
            }
        }
        buckets.resize(BUCKETS, Bucket::empty(0));
        let buckets: Box<[Bucket; BUCKETS]> = buckets.try_into().unwrap_or_else(|_| unreachable!());
        Self { rows, buckets }
    }

    /// Appends the codes of a text, which is cut into strings of [`SEGMENT_BYTES`] bytes.
    pub fn compress(&self, text: &[u8], codes: &mut Vec<u8>) {
        self.compress_with(Isa::best(), text, codes);
    }

    pub(super) fn compress_with(&self, isa: Isa, text: &[u8], codes: &mut Vec<u8>) {
        let mut batch = Batch::default();
        for part in text.chunks(BATCH_BYTES) {
            batch.strings(part.len().div_ceil(SEGMENT_BYTES), |at| (at * SEGMENT_BYTES).min(part.len()), 1);
            batch.compress(isa, self, part, codes, |_| ());
        }
    }

    /// Appends the same codes, made on all cores.
    pub fn compress_parallel(&self, text: &[u8], codes: &mut Vec<u8>) {
        let pieces: Vec<Vec<u8>> = text
            .par_chunks(PIECE_BYTES)
            .map(|piece| {
                let mut codes = Vec::with_capacity(piece.len() / 2);
                self.compress(piece, &mut codes);
                codes
            })
            .collect();
        codes.reserve(pieces.iter().map(Vec::len).sum());
        pieces.iter().for_each(|piece| codes.extend_from_slice(piece));
    }

    /// Appends the codes of strings, each of which can be decoded on its own, and to `ends` where those of each end in `codes`. String *i*
    /// is what is in `values` from offset *i* to offset *i* + 1; no offsets at all are no strings.
    ///
    /// # Panics
    /// If an offset is less than the one before, or behind the end of `values`.
    pub fn compress_strings(
        &self,
        values: &[u8],
        offsets: &[impl Offset],
        codes: &mut Vec<u8>,
        ends: &mut Vec<u64>,
    ) {
        self.compress_strings_with(Isa::best(), values, offsets, codes, ends);
    }

    pub(super) fn compress_strings_with(
        &self,
        isa: Isa,
        values: &[u8],
        offsets: &[impl Offset],
        codes: &mut Vec<u8>,
        ends: &mut Vec<u64>,
    ) {
        let mut batch = Batch::default();
        let mut first = 0;
        while first + 1 < offsets.len() {
            let begin = offsets[first].place();
            // As many strings as there is room for, and one at least; many empty ones have no more than others.
            let next = offsets[first + 1..].iter().take(BATCH_BYTES);
            let count =
                next.take_while(|end| end.place().saturating_sub(begin) <= BATCH_BYTES).count().max(1);
            let part = &values[begin..offsets[first + count].place()];
            // An offset that is less than `begin` is as one behind the end: it is refused.
            batch.strings(count, |at| offsets[first + at].place().wrapping_sub(begin), usize::MAX);
            batch.compress(isa, self, part, codes, |end| ends.push(end));
            first += count;
        }
    }

    /// What to write for a word of which some bytes, `left` from the first, belong to the string.
    #[inline(always)]
    fn find<S: Simd>(&self, simd: S, word: u64, left: usize) -> Entry {
        let behind = if left >= 8 { 0 } else { u64::MAX << (8 * left as u32 % 64) };
        let row = if left == 1 { ONE_BYTE | word as usize & 0xff } else { word as usize & 0xffff };
        let row = self.rows[row % ROWS];
        let mut bucket = &self.buckets[usize::from(row.bucket) % BUCKETS];
        loop {
            let found = simd.matches(word, behind, &bucket.symbols, &bucket.masks);
            let entry = bucket.entries[found.trailing_zeros() as usize % 8];
            if bucket.next == 0 || found != 0 {
                return if found == 0 { row.entry } else { entry };
            }
            bucket = &self.buckets[usize::from(bucket.next) % BUCKETS];
        }
    }
}

/// Some strings, and what becomes of them.
#[derive(Default)]
struct Batch {
    /// Where each begins in the text, and the last ends.
    bounds: Vec<usize>,
    /// The strings of each run, by the first; and behind the last one their number.
    runs: Vec<usize>,
    /// How far the codes of each string go from where its run's begin.
    ends: Vec<usize>,
    /// Codes: those of a run from twice its place in the text on.
    room: Vec<u8>,
}

impl Batch {
    /// Takes strings by their bounds, and makes runs of them, of so many strings at most.
    ///
    /// # Panics
    /// If bounds do not ascend.
    fn strings(&mut self, count: usize, bound: impl Fn(usize) -> usize, longest: usize) {
        self.bounds.clear();
        self.bounds.extend((0..=count).map(bound));
        assert!(self.bounds.is_sorted(), "offsets ascend");
        self.runs.clear();
        let mut first = 0;
        while first < count {
            self.runs.push(first);
            let end = self.bounds[first] + RUN_BYTES;
            first += 1;
            let from = first;
            while first < count && first - from < longest - 1 && self.bounds[first + 1] <= end {
                first += 1;
            }
        }
        self.runs.push(count);
    }

    /// Appends the codes of the strings, and says where each ends.
    fn compress(
        &mut self,
        isa: Isa,
        compressor: &Compressor,
        text: &[u8],
        codes: &mut Vec<u8>,
        mut end: impl FnMut(u64),
    ) {
        let strings = self.bounds.len() - 1;
        self.ends.resize(strings.max(self.ends.len()), 0);
        // Each code is written with the byte behind it, whether that is one or not.
        let room = 2 * text.len() + 2;
        self.room.resize(room.max(self.room.len()), 0);
        let Self { bounds, runs, ends, room } = self;
        isa.run(Compress { compressor, text, bounds, runs, ends, room });
        codes.reserve(text.len() / 2);
        for run in runs.windows(2) {
            let (from, begin) = (2 * bounds[run[0]], codes.len() as u64);
            codes.extend_from_slice(&room[from..from + ends[run[1] - 1]]);
            ends[run[0]..run[1]].iter().for_each(|to| end(begin + *to as u64));
        }
    }
}

/// [`Batch::compress`] in one instruction set.
struct Compress<'a> {
    compressor: &'a Compressor,
    text: &'a [u8],
    bounds: &'a [usize],
    runs: &'a [usize],
    ends: &'a mut [usize],
    room: &'a mut [u8],
}

/// A run on its way.
#[derive(Clone, Copy, Default)]
struct Lane {
    /// The next byte of the text, and where the string ends.
    at: usize,
    end: usize,
    /// Where the next code goes, and where the run's first did.
    to: usize,
    begin: usize,
    /// The string, and that behind the run's last.
    string: usize,
    last: usize,
}

impl Compress<'_> {
    /// Takes a lane, whose string is done, to the next that is not empty, of the same run or of another. Says whether there is one.
    #[inline(always)]
    fn advance(&mut self, lane: &mut Lane, next: &mut usize) -> bool {
        loop {
            if lane.string == lane.last {
                let Some(last) = self.runs.get(*next + 1) else { return false };
                (lane.string, lane.last) = (self.runs[*next], *last);
                lane.to = 2 * self.bounds[lane.string];
                lane.begin = lane.to;
                *next += 1;
            }
            (lane.at, lane.end) = (self.bounds[lane.string], self.bounds[lane.string + 1]);
            if lane.at < lane.end {
                return true;
            }
            self.ends[lane.string] = lane.to - lane.begin;
            lane.string += 1;
        }
    }

    /// Writes a code, or two, and goes on. A byte has two codes at most, so `to` stays at or below twice `at`, and no run writes where
    /// the next one does.
    #[inline(always)]
    fn step<S: Simd>(&mut self, simd: S, lane: &mut Lane) {
        let word = word_at(self.text, lane.at);
        let Entry(entry) = self.compressor.find(simd, word, lane.end - lane.at);
        let codes = [entry as u8, word as u8];
        self.room[lane.to..lane.to + 2].copy_from_slice(&codes);
        lane.at += usize::from(entry >> 8 & 15);
        lane.to += usize::from(entry >> 12);
    }
}

impl Work for Compress<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (mut lanes, mut next, mut active) = ([Lane::default(); LANES], 0, 0);
        while active < LANES && self.advance(&mut lanes[active], &mut next) {
            active += 1;
        }
        while active > 0 {
            let mut ix = 0;
            while ix < active {
                let lane = &mut lanes[ix];
                self.step(simd, lane);
                if lane.at == lane.end {
                    self.ends[lane.string] = lane.to - lane.begin;
                    lane.string += 1;
                    if !self.advance(lane, &mut next) {
                        active -= 1;
                        lanes.swap(ix, active);
                        continue;
                    }
                }
                ix += 1;
            }
        }
    }
}
