//! From strings to codes: at each place the longest symbol that the string goes on with, whatever the table.
//!
//! How a symbol is found:
//!
//! ```text
//! word      8 bytes of the text from here on, and which of them are behind the string's end
//! rows      by the first two bytes, or by one where it is the last: the best symbol of up to two bytes, or an escape; and a bucket
//! bucket    4 symbols of 3 to 8 bytes with these first two bytes, the longest first, all compared with the word at once;
//!           where there are more than four, up to four bits of the third byte say which bucket it is
//! ```
//!
//! A symbol is in the string if no byte of it differs from the word, nor is behind the end: `((word ^ symbol) | behind) & mask == 0`, which
//! AVX2 answers for four symbols in five instructions. So ends of strings cost nothing, and bytes behind them, zeros or not, cannot
//! matter. Where that does not tell enough symbols apart, buckets are chained.
//!
//! One place follows from the symbol before, which takes some 35 cycles to find. So eight strings, or segments of a text, are compressed side
//! by side, each lane to a place of its own; and their codes are then moved together. A lane that has come to its end takes the next.
//! What a lane has left of its text and of its room are slices, of whose lengths the compiler knows that a step never takes more: it
//! needs no `unsafe`, and one comparison for each.
//!
//! Tried and lost: buckets of eight symbols, compared by AVX-512 in two instructions, which took more of the first-level cache (as fast,
//! and slower without AVX-512); a choice between bucket and row that the compiler made a branch (275 MB/s in place of 308); one body for whole words and for
//! ends of strings (323 in place of 382); segments of 8 KiB, all of which begin at the same place of a page.

use std::hint::select_unpredictable;
use std::mem::take;

use rayon::prelude::*;
use warpath_shared::fsst::{ESCAPE, Table};

use super::{low_bytes, word_at};
use warpath_core::simd::{Isa, Simd, Work};

/// A long text is compressed in segments of so many bytes, the last shorter, each as a string of its own: no symbol spans two. It costs a
/// code or so in thousands. They are no multiple of a page, so that lanes do not compete for the same lines of a cache.
pub const SEGMENT_BYTES: usize = (8 << 10) - 448;

/// Bytes of text that are compressed to places of their own before their codes are moved together: what lies between stays in a
/// second-level cache.
const BATCH_BYTES: usize = 32 * SEGMENT_BYTES;
/// Bytes of text that are one piece of work of a thread: whole segments.
const PIECE_BYTES: usize = 4 * BATCH_BYTES;
/// Strings, or segments, that are compressed side by side.
const LANES: usize = 8;
/// Short strings are given to a lane together, up to so many bytes.
const RUN_BYTES: usize = SEGMENT_BYTES;

/// Where the rows of one byte are, behind those of two.
const ONE_BYTE: usize = 1 << 16;
/// A power of two, so that places need no check.
const ROWS: usize = 1 << 17;
/// A power of two likewise. There are two empty ones, one for each of up to 255 symbols, up to 16 for each of the 51 times that more than four
/// begin alike, and 63 more in chains at most: never as many.
const BUCKETS: usize = 2048;
/// Symbols of a bucket, which is a line of a cache: with eight, of which few were used, less of them stayed in the first-level cache.
const SLOTS: usize = 4;
/// A row tells buckets apart by so many bits of the third byte at most.
const BITS: u32 = 4;

/// What to write at a place, and how far to go.
///
/// ```text
/// bits      0 … 7   8 … 15                         16 … 23                   24 … 31
/// meaning   code    byte, if that is an escape     bytes of the text − 1     codes − 1: 1 if it is an escape
/// ```
#[derive(Clone, Copy, Default)]
struct Entry(u32);

impl Entry {
    const fn symbol(code: u8, bytes: u8) -> Self {
        Self(code as u32 | (bytes as u32 - 1) << 16)
    }

    const fn escaped(byte: u8) -> Self {
        Self(ESCAPE as u32 | (byte as u32) << 8 | 1 << 24)
    }

    /// Bytes of the text, 1 to 8 of them.
    #[inline(always)]
    const fn bytes(self) -> usize {
        (self.0 as usize >> 16 & 7) + 1
    }

    /// The codes, and how many they are, 1 or 2.
    #[inline(always)]
    const fn codes(self) -> ([u8; 2], usize) {
        ((self.0 as u16).to_le_bytes(), (self.0 as usize >> 24 & 1) + 1)
    }
}

/// What there is for the first bytes of a word: the best without a bucket, and the bucket to ask first, by some bits of the third byte.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct Row {
    entry: Entry,
    /// The first of its buckets; how far these bits are up in the word, and a mask of as many.
    first: u16,
    shift: u8,
    mask: u8,
}

impl Row {
    /// One without buckets, but an empty one.
    const fn new(entry: Entry) -> Self {
        Self { entry, first: 0, shift: 16, mask: 0 }
    }

    const fn with_buckets(self, first: usize, shift: u32, bits: u32) -> Self {
        Self { first: first as u16, shift: 16 + shift as u8, mask: (1 << bits) - 1, ..self }
    }

    #[inline(always)]
    const fn bucket(self, word: u64) -> usize {
        (self.first as usize + ((word >> (self.shift % 64)) as u8 & self.mask) as usize) % BUCKETS
    }
}

/// Symbols of 3 bytes and more with the same first two, the longest first. What is not used differs from them in these.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    symbols: [u64; SLOTS],
    masks: [u64; SLOTS],
}

/// What there is for the symbols of a bucket, and the bucket to ask next, or 0.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Entries {
    entries: [Entry; SLOTS],
    next: u16,
}

impl Bucket {
    /// One for words that do not begin with `other`.
    const fn empty(other: u16) -> Self {
        Self { symbols: [other as u64; SLOTS], masks: [u64::MAX; SLOTS] }
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
    entries: Box<[Entries; BUCKETS]>,
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
    /// Only if there is no memory for 1.2 MiB.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let boxed = |all: Vec<Row>| -> Box<[Row; ROWS]> { all.try_into().unwrap_or_else(|_| unreachable!()) };
        let mut rows = boxed(vec![Row::new(Entry::escaped(0)); ROWS]);
        let mut buckets: Vec<Bucket> = vec![Bucket::empty(0), Bucket::empty(1)];
        let mut entries = vec![Entries::default(); BUCKETS];
        for (row, byte) in rows[ONE_BYTE..].iter_mut().zip(0..=u8::MAX) {
            *row = Row::new(Entry::escaped(byte)).with_buckets(usize::from(byte == 0), 0, 0);
        }
        let of_len = |len| (0..ESCAPE).rev().filter(move |code| table.lens()[usize::from(*code)] == len);
        for code in of_len(1) {
            rows[ONE_BYTE + table.symbols()[usize::from(code)] as usize].entry = Entry::symbol(code, 1);
        }
        let (two, one) = rows.split_at_mut(ONE_BYTE);
        for pairs in two.chunks_exact_mut(256) {
            pairs.copy_from_slice(&one[..256]);
            pairs[0] = pairs[0].with_buckets(0, 0, 0);
        }
        two[0] = two[0].with_buckets(1, 0, 0);
        for code in of_len(2) {
            rows[table.symbols()[usize::from(code)] as usize].entry = Entry::symbol(code, 2);
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
            let third = |code: &u8| (table.symbols()[usize::from(*code)] >> 16) as usize & 0xff;
            // As few bits as tell enough of them apart, or else those that leave the fewest together.
            let most = |shift: u32, bits: u32| {
                let mut counts = [0; 1 << BITS];
                same.iter().for_each(|code| counts[third(code) >> shift & ((1 << bits) - 1)] += 1);
                counts.into_iter().max().unwrap_or(0_usize).max(SLOTS)
            };
            let ways = (0..=BITS).flat_map(|bits| (0..=8 - bits.max(1)).map(move |shift| (bits, shift)));
            let (bits, shift) = ways.min_by_key(|(bits, shift)| most(*shift, *bits)).unwrap_or_default();
            let begin = buckets.len();
            let row = &mut rows[usize::from(first)];
            *row = row.with_buckets(begin, shift, bits);
            buckets.resize(begin + (1 << bits), Bucket::empty(!first));
            for value in 0..1 << bits {
                let here =
                    same.iter().copied().filter(|code| third(code) >> shift & ((1 << bits) - 1) == value);
                let here: Vec<u8> = here.collect();
                let mut at = begin + value;
                for (chained, codes) in here.chunks(SLOTS).enumerate() {
                    if chained > 0 {
                        entries[at].next = buckets.len() as u16;
                        at = buckets.len();
                        buckets.push(Bucket::empty(!first));
                    }
                    for (slot, code) in codes.iter().enumerate() {
                        let len = table.lens()[usize::from(*code)];
                        buckets[at].symbols[slot] = table.symbols()[usize::from(*code)];
                        buckets[at].masks[slot] = low_bytes(usize::from(len));
                        entries[at].entries[slot] = Entry::symbol(*code, len);
                    }
                }
            }
        }
        buckets.resize(BUCKETS, Bucket::empty(0));
        let buckets: Box<[Bucket; BUCKETS]> = buckets.try_into().unwrap_or_else(|_| unreachable!());
        let entries: Box<[Entries; BUCKETS]> = entries.try_into().unwrap_or_else(|_| unreachable!());
        Self { rows, buckets, entries }
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

    /// What to write for a word of which some bytes, `left` from the first, belong to the string: 1 or more.
    #[inline(always)]
    fn find<S: Simd>(&self, simd: S, word: u64, left: usize) -> Entry {
        let (row, behind) = match left {
            8.. => (word as usize & 0xffff, 0),
            1 => (ONE_BYTE | word as usize & 0xff, !low_bytes(1)),
            _ => (word as usize & 0xffff, !low_bytes(left)),
        };
        let row = self.rows[row % ROWS];
        let mut at = row.bucket(word);
        loop {
            let (Bucket { symbols, masks }, Entries { entries, next }) =
                (&self.buckets[at], &self.entries[at]);
            let found = simd.matches(word, behind, symbols, masks);
            if *next == 0 || found != 0 {
                let entry = entries[u32::from(found).trailing_zeros() as usize % SLOTS];
                // Which of the two it is cannot be foretold: as a branch, it took half of all time.
                return Entry(select_unpredictable(found == 0, row.entry.0, entry.0));
            }
            at = usize::from(*next) % BUCKETS;
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
    /// Codes: for each run twice as much room as it has bytes, as none has more than two codes.
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
        let room = 2 * text.len();
        self.room.resize(room.max(self.room.len()), 0);
        let Self { bounds, runs, ends, room } = self;
        isa.run(Compress { compressor, text, bounds, runs, ends, room });
        codes.reserve(text.len() / 2);
        for run in runs.windows(2) {
            let (from, begin) = (2 * (bounds[run[0]] - bounds[0]), codes.len() as u64);
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
    /// Those that no lane has taken.
    runs: &'a [usize],
    ends: &'a mut [usize],
    /// Their room.
    room: &'a mut [u8],
}

/// A run on its way.
#[derive(Default)]
struct Lane<'a> {
    /// What is left of the string, and of the run's room.
    text: &'a [u8],
    room: &'a mut [u8],
    /// The string's last 8 bytes, or less in the upper ones.
    last_word: u64,
    /// All room of the run.
    whole: usize,
    /// The string, and that behind the run's last.
    string: usize,
    last: usize,
}

impl Lane<'_> {
    /// Writes what was found. A byte has two codes at most, so there is room for two, whatever they are, before each.
    #[inline(always)]
    fn write(&mut self, entry: Entry) {
        let (codes, count) = entry.codes();
        if let Some((to, _)) = self.room.split_first_chunk_mut() {
            *to = codes;
            self.room = &mut take(&mut self.room)[count..];
        }
        self.text = &self.text[entry.bytes()..];
    }
}

impl<'a> Compress<'a> {
    /// Takes a lane, whose string is done, to the next that is not empty, of the same run or of another. Says whether there is one.
    #[inline(never)]
    fn advance(&mut self, lane: &mut Lane<'a>) -> bool {
        loop {
            if lane.string == lane.last {
                let [first, last, ..] = *self.runs else { return false };
                self.runs = &self.runs[1..];
                (lane.string, lane.last) = (first, last);
                lane.whole = 2 * (self.bounds[last] - self.bounds[first]);
                (lane.room, self.room) = take(&mut self.room).split_at_mut(lane.whole);
            }
            let (from, to) = (self.bounds[lane.string], self.bounds[lane.string + 1]);
            lane.text = &self.text[from..to];
            if !lane.text.is_empty() {
                lane.last_word = match lane.text.last_chunk() {
                    Some(word) => u64::from_le_bytes(*word),
                    None => word_at(self.text, from) << (64 - 8 * (to - from)),
                };
                return true;
            }
            self.end_string(lane);
        }
    }

    /// Says where a string ends.
    fn end_string(&mut self, lane: &mut Lane<'a>) {
        self.ends[lane.string] = lane.whole - lane.room.len();
        lane.string += 1;
    }
}

impl Work for Compress<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (mut lanes, mut active) = ([(); LANES].map(|()| Lane::default()), 0);
        while active < LANES && self.advance(&mut lanes[active]) {
            active += 1;
        }
        let compressor = self.compressor;
        while active > 0 {
            let mut done = None;
            for (ix, lane) in lanes[..active].iter_mut().enumerate() {
                if let Some(word) = lane.text.first_chunk() {
                    lane.write(compressor.find(simd, u64::from_le_bytes(*word), 8));
                    continue;
                }
                let left = lane.text.len();
                if left > 0 {
                    lane.write(compressor.find(simd, lane.last_word >> (64 - 8 * left), left));
                }
                if lane.text.is_empty() {
                    self.end_string(lane);
                    if !self.advance(lane) {
                        done = Some(ix);
                        break;
                    }
                }
            }
            // The next lanes wait for a turn: there are few of these.
            if let Some(ix) = done {
                active -= 1;
                lanes.swap(ix, active);
            }
        }
    }
}
