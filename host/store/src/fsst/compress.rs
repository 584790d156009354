//! Strings to codes: at each position the longest symbol of the table that matches there.
//!
//! The search for a symbol:
//!
//! ```text
//! word      8 bytes of the text from this position, and a mask of those past the string's end
//! rows      by the first two bytes, or by one at the last byte:
//!           the best symbol of up to two bytes, or an escape; and a bucket
//! bucket    4 symbols of 3 to 8 bytes with these first two bytes, the longest first,
//!           all compared with the word at once;
//!           for more than four symbols, up to four bits of the third byte choose the bucket
//! ```
//!
//! A symbol matches if none of its bytes differs from the word, or is past the end:
//! `((word ^ symbol) | behind) & mask == 0`. AVX2 computes this for four symbols in five instructions. So
//! ends of strings cost nothing, and the bytes past them do not matter, zeros or not. Where the bits of the
//! third byte do not separate enough symbols, buckets are chained.
//!
//! Each position depends on the symbol before it, which takes about 35 cycles to find. So eight lanes
//! compress eight strings, or segments of a text, in parallel. Each lane writes to its own part of the
//! output; then the codes are moved together. A lane at the end of its string takes the next one. A lane
//! keeps its remaining text and output as slices. From their lengths the compiler knows that a step never
//! takes more. So a lane needs no `unsafe`, and one comparison for each slice.
//!
//! Tried and lost:
//!
//! * Buckets of eight symbols, compared by AVX-512 in two instructions. They took more of the first-level
//!   cache: as fast as this, and slower without AVX-512.
//! * A choice between bucket and row that the compiler made a branch: 275 MB/s instead of 308.
//! * One body for whole words and for ends of strings: 323 instead of 382.
//! * Segments of 8 KiB, all of which begin at the same offset in a page.

use std::hint::select_unpredictable;
use std::mem::take;

use warpath_core::pool;
use warpath_core::simd::{Isa, Simd, Work};
use warpath_shared::fsst::{ESCAPE, Table};

use super::{low_bytes, word_at};

/// Size of the segments of a long text; the last may be shorter. Each segment is compressed as a string of
/// its own, and no symbol spans two. This costs about one code in thousands. The size is not a multiple of a
/// page, so that lanes do not compete for the same cache lines.
pub const SEGMENT_BYTES: usize = (8 << 10) - 448;

/// Bytes of text that are compressed before their codes are moved together. The intermediate codes stay in a
/// second-level cache.
const BATCH_BYTES: usize = 32 * SEGMENT_BYTES;
/// Bytes of text in one piece of work of a thread: whole segments.
const PIECE_BYTES: usize = 4 * BATCH_BYTES;
/// Number of strings, or segments, that are compressed in parallel.
const LANES: usize = 8;
/// A lane takes short strings as one run of up to this number of bytes.
const RUN_BYTES: usize = SEGMENT_BYTES;

/// The index of the rows for one byte, after the rows for two.
const ONE_BYTE: usize = 1 << 16;
/// A power of two, so that indices need no check.
const ROWS: usize = 1 << 17;
/// A power of two, so that indices need no check. The number is never reached. There are two empty buckets,
/// and one for each of up to 255 symbols. Up to 51 groups of more than four symbols with a common start take
/// up to 16 each. Chains take at most 63 more.
const BUCKETS: usize = 2048;
/// Symbols per bucket, which is one cache line. Buckets of eight left most slots unused, and fewer of them
/// fit into the first-level cache.
const SLOTS: usize = 4;
/// The maximum number of bits of the third byte by which a row chooses a bucket.
const BITS: u32 = 4;

/// The codes to write at a position, and the bytes to advance.
///
/// ```text
/// bits      0 … 7   8 … 15                         16 … 23                   24 … 31
/// meaning   code    byte, if that is an escape     bytes of the text − 1     codes − 1: 1 if it is an escape
/// ```
#[derive(Clone, Copy, Default)]
struct SymbolEntry(u32);

impl SymbolEntry {
    const fn symbol(code: u8, bytes: u8) -> Self {
        Self(code as u32 | (bytes as u32 - 1) << 16)
    }

    const fn escaped(byte: u8) -> Self {
        Self(ESCAPE as u32 | (byte as u32) << 8 | 1 << 24)
    }

    /// Returns the number of bytes of the text, 1 to 8.
    #[inline(always)]
    const fn bytes(self) -> usize {
        (self.0 as usize >> 16 & 7) + 1
    }

    /// Returns the codes, and their number, 1 or 2.
    #[inline(always)]
    const fn codes(self) -> ([u8; 2], usize) {
        ((self.0 as u16).to_le_bytes(), (self.0 as usize >> 24 & 1) + 1)
    }
}

/// The row for the first bytes of a word: the best entry without a bucket, and the first bucket to search,
/// chosen by some bits of the third byte.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct SymbolRow {
    entry: SymbolEntry,
    /// The first of the buckets; the position of the bits in the word, and a mask of their width.
    first: u16,
    shift: u8,
    mask: u8,
}

impl SymbolRow {
    /// Returns a row whose only bucket is an empty one.
    const fn new(entry: SymbolEntry) -> Self {
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

/// Symbols of at least 3 bytes with the same first two bytes, the longest first. Unused slots differ from the
/// word in these two bytes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    symbols: [u64; SLOTS],
    masks: [u64; SLOTS],
}

/// The entries for the symbols of a bucket, and the next bucket to search, or 0.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Entries {
    entries: [SymbolEntry; SLOTS],
    next: u16,
}

impl Bucket {
    /// Returns an empty bucket, for words that do not begin with `other`.
    const fn empty(other: u16) -> Self {
        Self { symbols: [other as u64; SLOTS], masks: [u64::MAX; SLOTS] }
    }
}

/// Offsets of strings in any of Arrow's forms: `i32`, `i64`, or `u64`.
pub trait Offset: Copy + Sync {
    /// Returns the offset as an index into memory; an offset that has none becomes the largest number.
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
    rows: Box<[SymbolRow; ROWS]>,
    buckets: Box<[Bucket; BUCKETS]>,
    entries: Box<[Entries; BUCKETS]>,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Compressor {
    /// Prepares a table, which may have any symbols. The first of two equal symbols is used.
    ///
    /// # Panics
    /// Panics if 1.2 MiB of memory are not available.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let boxed = |all: Vec<SymbolRow>| -> Box<[SymbolRow; ROWS]> {
            all.try_into().unwrap_or_else(|_| unreachable!())
        };
        let mut rows = boxed(vec![SymbolRow::new(SymbolEntry::escaped(0)); ROWS]);
        let mut buckets: Vec<Bucket> = vec![Bucket::empty(0), Bucket::empty(1)];
        let mut entries = vec![Entries::default(); BUCKETS];
        for (row, byte) in rows[ONE_BYTE..].iter_mut().zip(0..=u8::MAX) {
            *row = SymbolRow::new(SymbolEntry::escaped(byte)).with_buckets(usize::from(byte == 0), 0, 0);
        }
        let of_len = |len| (0..ESCAPE).rev().filter(move |code| table.lens()[usize::from(*code)] == len);
        for code in of_len(1) {
            rows[ONE_BYTE + table.symbols()[usize::from(code)] as usize].entry = SymbolEntry::symbol(code, 1);
        }
        let (two, one) = rows.split_at_mut(ONE_BYTE);
        for pairs in two.chunks_exact_mut(256) {
            pairs.copy_from_slice(&one[..256]);
            pairs[0] = pairs[0].with_buckets(0, 0, 0);
        }
        two[0] = two[0].with_buckets(1, 0, 0);
        for code in of_len(2) {
            rows[table.symbols()[usize::from(code)] as usize].entry = SymbolEntry::symbol(code, 2);
        }
        let mut long: Vec<u8> = (0..ESCAPE).filter(|code| table.lens()[usize::from(*code)] > 2).collect();
        // By their first two bytes, then the longest first, then by code: the search finds the first of equal
        // symbols.
        let key = |code: &u8| {
            let at = usize::from(*code);
            (table.symbols()[at] as u16, u8::MAX - table.lens()[at], *code)
        };
        long.sort_unstable_by_key(key);
        for same in long.chunk_by(|a, b| key(a).0 == key(b).0) {
            let first = key(&same[0]).0;
            let third = |code: &u8| (table.symbols()[usize::from(*code)] >> 16) as usize & 0xff;
            // The fewest bits that separate enough symbols, or else the bits that leave the fewest symbols
            // together.
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
                        entries[at].entries[slot] = SymbolEntry::symbol(*code, len);
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
        let mut batch = StringBatch::default();
        for part in text.chunks(BATCH_BYTES) {
            batch.strings(part.len().div_ceil(SEGMENT_BYTES), |at| (at * SEGMENT_BYTES).min(part.len()), 1);
            batch.compress(isa, self, part, codes, |_| ());
        }
    }

    /// Appends the same codes as [`compress`](Self::compress), computed on all cores.
    pub fn compress_parallel(&self, text: &[u8], codes: &mut Vec<u8>) {
        let pieces = pool::map(text.chunks(PIECE_BYTES).collect(), |piece| {
            let mut codes = Vec::with_capacity(piece.len() / 2);
            self.compress(piece, &mut codes);
            codes
        });
        codes.reserve(pieces.iter().map(Vec::len).sum());
        pieces.iter().for_each(|piece| codes.extend_from_slice(piece));
    }

    /// Appends the codes of strings, each of which can be decoded on its own. Appends to `ends` the end of
    /// each string's codes in `codes`. String *i* is in `values` from offset *i* to offset *i* + 1; no
    /// offsets mean no strings.
    ///
    /// # Panics
    /// Panics if an offset is less than its predecessor, or past the end of `values`.
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
        let mut batch = StringBatch::default();
        let mut first = 0;
        while first + 1 < offsets.len() {
            let begin = offsets[first].place();
            // As many strings as fit, and at least one; the number of empty strings is limited too.
            let next = offsets[first + 1..].iter().take(BATCH_BYTES);
            let count =
                next.take_while(|end| end.place().saturating_sub(begin) <= BATCH_BYTES).count().max(1);
            let part = &values[begin..offsets[first + count].place()];
            // An offset less than `begin` wraps around to one past the end, which is refused.
            batch.strings(count, |at| offsets[first + at].place().wrapping_sub(begin), usize::MAX);
            batch.compress(isa, self, part, codes, |end| ends.push(end));
            first += count;
        }
    }

    /// Returns the entry for a word whose first `left` bytes belong to the string; `left` is 1 or more.
    #[inline(always)]
    fn find<S: Simd>(&self, simd: S, word: u64, left: usize) -> SymbolEntry {
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
                // The choice is not predictable: as a branch it took half of all time.
                return SymbolEntry(select_unpredictable(found == 0, row.entry.0, entry.0));
            }
            at = usize::from(*next) % BUCKETS;
        }
    }
}

/// Some strings, and their codes.
#[derive(Default)]
struct StringBatch {
    /// The start of each string in the text, and last the end of the last string.
    bounds: Vec<usize>,
    /// The first string of each run, and last the number of strings.
    runs: Vec<usize>,
    /// The end of each string's codes, relative to the start of its run's codes.
    ends: Vec<usize>,
    /// Codes: each run has twice as much memory as bytes, because a byte has at most two codes.
    room: Vec<u8>,
}

impl StringBatch {
    /// Takes `count` strings by their bounds. Groups them into runs of at most `longest` strings.
    ///
    /// # Panics
    /// Panics if bounds decrease.
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

    /// Appends the codes of the strings, and calls `end` with the end of each.
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

/// [`StringBatch::compress`] in one instruction set.
struct Compress<'a> {
    compressor: &'a Compressor,
    text: &'a [u8],
    bounds: &'a [usize],
    /// The runs that no lane has taken.
    runs: &'a [usize],
    ends: &'a mut [usize],
    /// The output of these runs.
    room: &'a mut [u8],
}

/// A run in progress.
#[derive(Default)]
struct ActiveRun<'a> {
    /// The rest of the string, and of the run's output.
    text: &'a [u8],
    room: &'a mut [u8],
    /// The string's last 8 bytes; a shorter string is in the upper bytes.
    last_word: u64,
    /// Size of the run's output.
    whole: usize,
    /// The string, and the number after the run's last string.
    string: usize,
    last: usize,
}

impl ActiveRun<'_> {
    /// Writes an entry's codes. A byte has at most two codes, so two always fit before each byte.
    #[inline(always)]
    fn write(&mut self, entry: SymbolEntry) {
        let (codes, count) = entry.codes();
        if let Some((to, _)) = self.room.split_first_chunk_mut() {
            *to = codes;
            self.room = &mut take(&mut self.room)[count..];
        }
        self.text = &self.text[entry.bytes()..];
    }
}

impl<'a> Compress<'a> {
    /// Moves a lane whose string is done to the next string that is not empty, of the same run or the next
    /// one. Returns false if there is none.
    #[inline(never)]
    fn advance(&mut self, lane: &mut ActiveRun<'a>) -> bool {
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

    /// Stores the end of a string.
    fn end_string(&mut self, lane: &mut ActiveRun<'a>) {
        self.ends[lane.string] = lane.whole - lane.room.len();
        lane.string += 1;
    }
}

impl Work for Compress<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (mut lanes, mut active) = ([(); LANES].map(|()| ActiveRun::default()), 0);
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
            // The swapped lane waits one turn; this is rare.
            if let Some(ix) = done {
                active -= 1;
                lanes.swap(ix, active);
            }
        }
    }
}
