//! Decoding of FSST codes to strings ([`warpath_shared::fsst`]). The lanes of a warp decode neighbouring
//! stretches of 16 codes, whichever strings these belong to.
//!
//! *Threads*: a block of four warps decodes some splits of 2,048 codes, one after the other: 512 codes a
//! warp, 16 a lane. A lane loads its 16 codes as one vector while it decodes the split before. Strings do not
//! matter: their codes follow one another, as their bytes do, so all lanes have equal work. To begin
//! anywhere, a lane needs two facts: whether its first code is the byte after an escape, and the offset of
//! its output.
//!
//! ```text
//! codes     lane 0            lane 1            lane 2            lane 3
//!           ··· 7 255 255 255  255 255 ··· 255   'x' 7 ··· 9 255   'y' ···
//! pending                   1                 1               1
//! ```
//!
//! A run of 255s at the end of a lane's codes decides whether the next lane's first code is a byte: it is one
//! (1 above) if the length of the run is odd. A lane of 16 such codes passes on the fact that it was given.
//! The offset of the output is a scan of lengths: each lane adds up the lengths of its codes and keeps them,
//! 4 bits each, for the second pass.
//!
//! *Layout*: each lane collects symbols in a register and stores 8 aligned bytes of shared memory when the
//! register is full. Where two lanes meet in one word, the left one adds its bytes after a barrier of the
//! warp. At most two lanes meet, because two codes give at least one byte: a lane with all 16 codes has at
//! least 8 bytes of output, and only the last lane that has codes may have less. The warp then stores its
//! output in neighbouring aligned vectors of 16 bytes, and the ends byte by byte.
//!
//! Strings come last. One thread finds the offset of one string that begins in the split: it adds the lengths
//! of the codes before the string to the offset of their lane.
//!
//! *Overflow*: codes and splits may come from anybody. Nothing is written of a split whose lengths do not add
//! up to its declared length, or that does not fit. The length of a lane's output is a sum of at most 8 a
//! code, so shared memory has room for any codes.
//!
//! *Cost*: the codes are read once, and the output is written once. For 10 million URLs (611 MB, 177 million
//! codes) this would take 0.20 ms at the 4.0 TB/s of a copy kernel. On an H200 the kernel takes 0.39 ms, and
//! 0.45 with the offsets of strings. It is bound by shared memory: `ncu` reports that
//! pipe busy for 91 % of the time. A warp's 512 codes take 228 wavefronts: 80 of them because lanes look up
//! symbols and lengths in the same bank, and 30 because lanes store to the same bank. A warp runs 842
//! instructions for them, at an IPC of 3.0 of 4 (docs/lab/fsst.md).
//!
//! *Tried and lost*, against 0.39 and 0.45 ms:
//!
//! * A block a split: 0.41 and 0.47, because each block has to load a table.
//! * The lengths of the table in the registers of a warp, found by shuffles: 0.43 and 0.48. Shuffles have no
//!   bank conflicts but wait for one another.
//!
//! Against an earlier form, which took 0.89 ms for 367 million codes of 705 MB:
//!
//! * A look-back for the offset of the output in the same kernel: 1.96 ms. A tile has few codes, so there are
//!   too many tiles.
//! * Strings found by each warp for itself, by a search in their offsets: 1.33 ms. The search reads ten times
//!   the offsets that the warp needs.
//! * A select between bytes and symbols in place of an index into the table: 0.48 in place of 0.42 ms.

use cuda_std::atomic::mid::atomic_fetch_or_u32_relaxed_device;
use cuda_std::bits::byte_permute;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, sync_threads, thread_idx_x};
use cuda_std::warp::{
    sync_warp, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_vote_any, warp_vote_ballot,
};
use cuda_std::wide::{U32x4, U64x2, load_readonly_16, load_readonly_64, store_global_16};
use warpath_shared::fsst::{SPLIT_CODES, Split, UNKNOWN_LEN, bytes_of};
use warpath_shared::kernel::{
    FSST_ESCAPE, FSST_SPLITS, FSST_THREAD_CODES, FSST_THREADS, FSST_UNKNOWN, FsstDecodeArgs,
};
use warpath_shared::view::{View, ViewMut};

use crate::coop::LANES;
use crate::coop::warp::ALL;

/// Warps of a block.
const WARPS: usize = FSST_THREADS / LANES as usize;
/// Codes of a warp.
const WARP_CODES: usize = LANES as usize * FSST_THREAD_CODES;
/// Bytes of a vector.
const VECTOR: u32 = 16;
/// Words of output that a warp has room for: 8 bytes a code, and the part of the first vector before the
/// output begins.
const STAGING: usize = WARP_CODES + 2;

/// Entries of a table in shared memory: the symbols of 256 codes, then the 256 bytes, each for itself. So a
/// code that is a byte is looked up like the others, 256 entries further on.
const ENTRIES: usize = 512;

/// Shared memory of a block.
#[derive(Clone, Copy)]
struct Memory {
    symbols: Shared<u64>,
    /// The lengths of [`ENTRIES`] entries.
    lens: Shared<u8>,
    /// The output lengths of the warps.
    totals: Shared<u32>,
    /// The warps' outputs. Once these are stored, two words for each lane. The halves of the first are the
    /// offset of the lane's output in that of the split, and the set of its codes that are bytes. The second
    /// holds the lengths of its codes.
    staging: Shared<u64>,
}

/// The position of a thread's codes.
#[derive(Clone, Copy)]
struct CodePosition {
    warp: u32,
    lane: u32,
    /// The offsets of the split, of the warp's codes, and of the lane's codes.
    split: usize,
    start: usize,
    at: usize,
}

impl CodePosition {
    #[inline(always)]
    fn new(tile: usize) -> Self {
        let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
        let split = tile * SPLIT_CODES;
        let start = split + warp as usize * WARP_CODES;
        Self { warp, lane, split, start, at: start + lane as usize * FSST_THREAD_CODES }
    }
}

/// A lane's codes, and the facts about them that need no table.
#[derive(Clone, Copy)]
struct Loaded {
    words: [u64; 2],
    /// The number of codes that exist.
    count: u32,
    /// The codes that are the byte after an escape, a bit each.
    bytes: u32,
    /// True if the code after those of the warp is a byte.
    pending: bool,
    /// [`FSST_ESCAPE`] if the last code of all is an escape.
    wrong: u32,
}

/// A lane's codes with their entries and lengths.
#[derive(Clone, Copy)]
struct Lane {
    entries: Entries,
    bytes: u32,
    /// The number of bytes of each code's symbol, 4 bits each.
    lens: u64,
    /// The sum of these lengths.
    total: u32,
}

/// Runs a body for each number of 16 codes, in order. A loop over the codes would keep them in memory.
macro_rules! each_code {
    (|$i:ident| $body:block) => {
        each_code!(@ $i $body; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $i:ident $body:block; $($number:literal)*) => {$({
        const $i: usize = $number;
        $body
    })*};
}

/// The indices of 16 codes in a table in shared memory.
#[derive(Clone, Copy)]
struct Entries {
    codes: [u64; 2],
    /// For each code one byte: 1 if it is a byte, and 0 otherwise.
    marks: [u32; 4],
}

impl Entries {
    #[inline(always)]
    fn new(codes: [u64; 2], bytes: u32) -> Self {
        // The product moves bit i to 8 i, and the mask removes the others.
        let marks = |first: u32| ((bytes >> first & 15).wrapping_mul(0x0020_4081)) & 0x0101_0101;
        Self { codes, marks: [marks(0), marks(4), marks(8), marks(12)] }
    }

    /// The code in the lowest byte, its mark in the next, and the sign of the mark, which is 0, in the
    /// others.
    #[inline(always)]
    fn entry(&self, i: usize) -> u32 {
        let word = (self.codes[i / 8] >> (32 * (i / 4 % 2))) as u32;
        byte_permute(word, self.marks[i / 4], 0xcc40 + 0x1111 * (i % 4) as u32)
    }
}

/// `value >> bits`, which is 0 for 64 bits.
#[inline(always)]
fn shift_right(value: u64, bits: u32) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let shifted: u64;
        // SAFETY: the instruction computes on registers only, and PTX's shift takes any number of bits.
        unsafe {
            core::arch::asm!(
                "shr.u64 {}, {}, {};", out(reg64) shifted, in(reg64) value, in(reg32) bits,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        shifted
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.checked_shr(bits).unwrap_or_default()
}

/// The lowest bits of a word, up to 64 of them.
#[inline(always)]
fn below(bits: u32) -> u64 {
    if bits < 64 { (1 << bits) - 1 } else { !0 }
}

/// 16 escapes.
const ALL_ESCAPES: u32 = 0xffff;

/// The codes of 16 that are 255, a bit each: escapes, or bytes with the value of one.
#[inline(always)]
fn escapes(words: [u64; 2]) -> u32 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let of = |word: u64| {
        // The highest bit of each byte that is 255: its lower seven bits and 1 carry into it.
        let full = (word & !HIGH).wrapping_add(HIGH >> 7) & word & HIGH;
        // The product moves bit 8 i + 7 to 56 + i, and no two of its bits meet.
        ((full >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    };
    of(words[0]) | of(words[1]) << 8
}

/// The number of escapes at the end of 16 codes.
#[inline(always)]
fn run_at_end(escapes: u32) -> u32 {
    (!(escapes << 16)).leading_zeros()
}

#[inline(always)]
fn load(codes: View<'_, u8>, at: usize) -> [u64; 2] {
    // SAFETY: `at` checks the offset, codes are whole vectors, 16-byte aligned, and nothing writes them
    // during the launch.
    U64x2::from(unsafe { load_readonly_16(codes.at(at, FSST_THREAD_CODES).cast()) }).0
}

/// Returns whether the first code of a warp is the byte after an escape. `first` is the same fact for the
/// first code of its split. All lanes read the same codes.
#[inline(always)]
fn pending_at(codes: View<'_, u8>, place: CodePosition, first: bool) -> bool {
    let mut at = place.start;
    while at > place.split {
        at -= FSST_THREAD_CODES;
        let escapes = escapes(load(codes, at));
        if escapes != ALL_ESCAPES {
            return run_at_end(escapes) & 1 != 0;
        }
    }
    first
}

impl Loaded {
    /// Examines a lane's codes. `first` is true if the first code of the split is a byte.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[inline(always)]
    unsafe fn new(
        words: [u64; 2],
        codes: View<'_, u8>,
        len: usize,
        place: CodePosition,
        first: bool,
    ) -> Self {
        let carried = pending_at(codes, place, first);
        let count = len.saturating_sub(place.at).min(FSST_THREAD_CODES) as u32;
        // Codes after the last do not exist.
        let escapes = escapes(words) & below(count) as u32;
        // SAFETY: the caller brings all lanes, and `start`, `split` and `first` are the same in them, so
        // `pending_at` diverges in none.
        let (told, odd) = unsafe {
            let odd = run_at_end(escapes) & 1 != 0;
            (warp_vote_ballot(ALL, escapes != ALL_ESCAPES), warp_vote_ballot(ALL, odd))
        };
        // The nearest lane to the left that is not all escapes.
        let pending_of = |lane: u32| {
            let left = told & below(lane) as u32;
            if left == 0 { carried } else { odd >> (31 - left.leading_zeros()) & 1 != 0 }
        };
        let bytes = bytes_of(escapes, pending_of(place.lane)) & below(count) as u32;
        let is_cut = count > 0 && place.at + count as usize == len && (escapes & !bytes) >> (count - 1) != 0;
        let wrong = if is_cut { FSST_ESCAPE } else { 0 };
        Self { words, count, bytes, pending: pending_of(LANES), wrong }
    }
}

impl Lane {
    /// Reads the lengths of a lane's codes.
    ///
    /// # Safety
    /// The table is in shared memory, written before a barrier.
    #[inline(always)]
    unsafe fn new(loaded: &Loaded, lens_of_table: Shared<u8>) -> Self {
        let Loaded { words, bytes, .. } = *loaded;
        let (mut lens, mut total) = (0_u64, 0);
        let entries = Entries::new(words, bytes);
        each_code!(|I| {
            // SAFETY: an entry is below `ENTRIES`, and the caller has put that many lengths in shared memory.
            let len = unsafe { lens_of_table.offset(entries.entry(I)).read() } as u32;
            lens |= (len as u64) << (4 * I);
            total += len;
        });
        let all = Self { entries, bytes, lens, total };
        if loaded.count < FSST_THREAD_CODES as u32 { all.only(loaded.count) } else { all }
    }

    /// Keeps the first `count` codes, if the lane has fewer than 16.
    #[inline(always)]
    fn only(self, count: u32) -> Self {
        let [low, high] = self.entries.codes;
        let (lens, mut total) = (self.lens & below(4 * count), 0);
        let mut i = 0;
        while i < FSST_THREAD_CODES {
            let len = (lens >> (4 * i)) as u32 & 15;
            // A length of 15 is none: it marks a code without a symbol.
            total += if len == 15 { UNKNOWN_LEN as u32 } else { len };
            i += 1;
        }
        // The others become escapes, whose symbol is empty.
        let codes = [low | !below(8 * count), high | !below((8 * count).max(64) - 64)];
        Self { entries: Entries { codes, ..self.entries }, lens, total, ..self }
    }

    /// Writes a lane's output from byte `start` of the warp's staging on.
    ///
    /// # Safety
    /// All lanes of the warp call it together, with neighbouring outputs, and have the staging for
    /// themselves.
    #[inline(always)]
    unsafe fn stage(&self, start: u32, lane: u32, symbols: Shared<u64>, staging: Shared<u64>) {
        let mut at = staging.offset(start / 8);
        let first = at;
        // The current word, and the number of its bits that are filled.
        let (mut word, mut filled) = (0_u64, start % 8 * 8);
        each_code!(|I| {
            // SAFETY: an entry is below `ENTRIES`, and the caller has put that many symbols in shared memory.
            let symbol = unsafe { symbols.offset(self.entries.entry(I)).read() };
            word |= symbol << filled;
            let next = filled + (self.lens >> (4 * I)) as u32 % 16 * 8;
            if next >= 64 {
                // SAFETY: this lane fills the word to its end, so no other lane writes it before the barrier.
                unsafe { at.write(word) };
                at = at.next();
                // The rest of the symbol: 0 for a symbol that began the word.
                word = shift_right(symbol, 64 - filled);
            }
            filled = next % 64;
        });
        let stored = at != first;
        // A lane whose last word is not full adds it to the word that the next lane wrote. Only the last lane
        // with any output may have written nothing: it receives the word of the lane before.
        // SAFETY: the caller brings all lanes, and the unrolled codes above have joined, so all lanes are
        // here.
        let (left, right) = unsafe {
            let left = warp_shuffle_up(ALL, word, 1, LANES).0;
            let right = warp_shuffle_down(ALL, (self.total << 1) | stored as u32, 1, LANES).0;
            sync_warp(ALL);
            (left, if lane == LANES - 1 { 0 } else { right })
        };
        let short = !stored && lane > 0 && start & 7 != 0;
        let (right_total, right_stored) = (right >> 1, right & 1 != 0);
        let is_writer = right_total == 0 || right_stored;
        if filled != 0 && self.total != 0 && is_writer {
            if right_stored {
                // SAFETY: the next lane wrote the word before the barrier, and no other lane writes it after
                // the barrier.
                word |= unsafe { at.read() };
            }
            if short {
                word |= left;
            }
            // SAFETY: after the barrier this lane is the only writer of the word.
            unsafe { at.write(word) };
        }
    }
}

/// Stores `total` bytes from byte `skip` of the staging on, to offset `to` of the output. Both have the same
/// distance from an aligned vector.
///
/// # Safety
/// All lanes of the warp call it together, after a barrier of the warp. The output from `to` on exists and is
/// this warp's alone.
#[inline(always)]
unsafe fn store(args: &FsstDecodeArgs<'_>, staging: Shared<u64>, to: u64, skip: u32, total: u32, lane: u32) {
    let end = skip + total;
    let base = to as usize - skip as usize;
    let (first, last) = (skip.div_ceil(VECTOR), end / VECTOR);
    let mut vector = first + lane;
    while vector < last {
        // SAFETY: the staging holds the vector, written before the barrier. The caller's output has room, and
        // each vector has one writer.
        unsafe {
            let bytes = staging.cast::<U32x4>().offset(vector).read();
            let at = base + (vector * VECTOR) as usize;
            store_global_16(args.out.at(at, VECTOR as usize).cast(), bytes);
        }
        vector += LANES;
    }
    // The first vector and the last, which other warps share: half the lanes each.
    let (vector, is_mine) = if lane < VECTOR { (0, true) } else { (last, last > 0) };
    let byte = vector * VECTOR + lane % VECTOR;
    let is_whole = vector >= first && vector < last;
    if is_mine && !is_whole && byte >= skip && byte < end {
        // SAFETY: the staging holds the byte, written before the barrier. The caller's output has room, and
        // each byte has one writer.
        unsafe {
            let value = staging.cast::<u8>().offset(byte).read();
            args.out.set(base + byte as usize, value);
        }
    }
}

/// Writes the output offsets of the strings that begin in a split's codes, one thread a string. Returns
/// whether one of them begins after an escape.
///
/// # Safety
/// All threads of the block call it together, after a barrier that follows the writes of the lanes' words.
#[inline(always)]
unsafe fn strings(args: &FsstDecodeArgs<'_>, memory: &Memory, split: usize, base: u64) -> bool {
    // SAFETY: `at` checks the index, and nothing writes either array during the launch.
    let load = |view: View<'_, u64>, index: usize| unsafe { load_readonly_64(view.at(index, 1)) };
    let count = args.code_offsets.len() as u64;
    let start = (split * SPLIT_CODES) as u64;
    let end = args.len.min(start + SPLIT_CODES as u64);
    let mut string = load(args.first_strings, split).saturating_add(thread_idx_x() as u64);
    let mut wrong = false;
    while string < count {
        let place = load(args.code_offsets, string as usize);
        // Strings without codes at the end of all begin in the last split.
        if place >= end && (place != end || end != args.len) {
            break;
        }
        if place < start {
            // The declared first string of the split begins before it.
            wrong = true;
            break;
        }
        let at = (place - start) as u32;
        let of = (at / FSST_THREAD_CODES as u32).min(FSST_THREADS as u32 - 1);
        let codes = at - of * FSST_THREAD_CODES as u32;
        let words = memory.staging.offset(of / LANES * STAGING as u32 + 2 * (of % LANES));
        // SAFETY: each lane wrote both words before the barrier.
        let (own, lens) = unsafe { (words.read(), words.offset(1).read()) };
        wrong |= (own >> 32 >> codes) & 1 != 0;
        // 4 bits each are added to 8 bits each for two codes. One product then adds all of these in the
        // highest byte.
        let lens = lens & below(4 * codes);
        let pairs = (lens & 0x0f0f_0f0f_0f0f_0f0f) + (lens >> 4 & 0x0f0f_0f0f_0f0f_0f0f);
        let before = pairs.wrapping_mul(0x0101_0101_0101_0101) >> 56;
        // SAFETY: the string begins in this split and no other, and one thread takes it.
        unsafe { args.offsets.set(string as usize, base.wrapping_add((own & 0xffff_ffff) + before)) };
        string += FSST_THREADS as u64;
    }
    wrong
}

/// Copies the symbols of a table to shared memory.
#[inline(always)]
fn put_symbols(table: View<'_, u64>, symbols: Shared<u64>) {
    let mut code = thread_idx_x();
    while code < 256 {
        // SAFETY: `at` checks the index, and nothing writes the table during the launch. Shared memory has as
        // many words, and each has one writer.
        unsafe {
            symbols.offset(code).write(load_readonly_64(table.at(code as usize, 1)));
            symbols.offset(256 + code).write(code as u64);
        }
        code += FSST_THREADS as u32;
    }
}

/// Copies the lengths of a table to shared memory.
#[inline(always)]
fn put_lens(table: View<'_, u64>, lens: Shared<u8>) {
    let word = thread_idx_x();
    if word < (ENTRIES / 8) as u32 {
        let all = if word < 32 { table.get(256 + word as usize) } else { 0x0101_0101_0101_0101 };
        // SAFETY: shared memory has as many words, and each has one writer.
        unsafe { lens.cast::<u64>().offset(word).write(all) };
    }
}

#[inline(always)]
fn report(status: ViewMut<'_, u32>, wrong: u32) {
    if wrong != 0 {
        // SAFETY: `at` checks the index, and the word is touched only atomically during the launch.
        unsafe { atomic_fetch_or_u32_relaxed_device(status.at(0, 1), wrong) };
    }
}

/// Decodes a block's splits. `STRINGS` is true if there are strings.
///
/// # Safety
/// All threads of the block call it together, once.
#[inline(always)]
unsafe fn decode<const STRINGS: bool>(args: &FsstDecodeArgs<'_>, memory: Memory) {
    let splits = args.codes.len() / SPLIT_CODES;
    let mut tile = block_idx_x() as usize * args.block_splits as usize;
    let end = splits.min(tile + args.block_splits as usize);
    let mut words = load(args.codes, CodePosition::new(tile).at);
    put_symbols(args.table, memory.symbols);
    put_lens(args.table, memory.lens);
    let mut wrong = 0;
    while tile < end {
        // SAFETY: `tile` and `end` are the same in all threads of the block, so all threads are here.
        wrong |= unsafe { decode_split::<STRINGS>(args, memory, tile, &mut words, tile + 1 < end) };
        tile += 1;
    }
    report(args.status, wrong);
}

/// Decodes a split. A lane has its codes in `words`, and leaves those of the next split there, if there is
/// one. Returns the faults.
///
/// Two barriers are enough. After the second barrier of a split come only reads of shared memory, which
/// precede the first barrier of the next split. Writes come after that barrier.
///
/// # Safety
/// All threads of the block call it together.
#[inline(always)]
unsafe fn decode_split<const STRINGS: bool>(
    args: &FsstDecodeArgs<'_>,
    memory: Memory,
    tile: usize,
    words: &mut [u64; 2],
    has_next: bool,
) -> u32 {
    let (place, len) = (CodePosition::new(tile), args.len as usize);
    // SAFETY: `at` checks the index, and nothing writes the splits during the launch.
    let split = |index: usize| Split(unsafe { load_readonly_64(args.splits.at(index, 1)) });
    let (here, next) = (split(tile), split(tile + 1));
    // SAFETY: the caller brings all threads of whole warps, and no branch above depends on the lane, so all
    // lanes are here.
    let loaded = unsafe { Loaded::new(*words, args.codes, len, place, here.behind_escape()) };
    sync_threads();
    // SAFETY: the table was written before the barrier.
    let mut codes = unsafe { Lane::new(&loaded, memory.lens) };
    let mut wrong = loaded.wrong | if codes.total >= UNKNOWN_LEN as u32 { FSST_UNKNOWN } else { 0 };
    // SAFETY: the branch in `Lane::new` has joined at the vote, so all lanes are here.
    if unsafe { warp_vote_any(ALL, wrong != 0) } {
        (codes.total, codes.lens) = (0, 0);
    }
    // SAFETY: the vote is the same in all lanes, so all lanes are here.
    let (mine, total) = unsafe { scan(codes.total, place.lane) };
    if place.lane == 0 {
        // SAFETY: only lane 0 of each warp writes its element, before the barrier.
        unsafe { memory.totals.offset(place.warp).write(total) };
    }
    sync_threads();
    let (mut before_warp, mut of_split) = (0, 0);
    let mut i = 0;
    while i < WARPS as u32 {
        // SAFETY: the totals were written before the barrier.
        let total = unsafe { memory.totals.offset(i).read() };
        before_warp += if i < place.warp { total } else { 0 };
        of_split += total;
        i += 1;
    }
    // These loads arrive before the next split needs them.
    if has_next {
        *words = load(args.codes, place.at + SPLIT_CODES);
    }
    // A byte after an escape is counted in the split that holds the byte.
    let base = here.offset().wrapping_sub(here.behind_escape() as u64);
    let end = next.offset().wrapping_sub(next.behind_escape() as u64);
    let is_last = place.split + SPLIT_CODES >= len;
    let is_pending = next.behind_escape();
    let is_wrong = (tile == 0 && here.0 != 0)
        || (is_last && is_pending)
        || (!is_last && place.warp as usize == WARPS - 1 && loaded.pending != is_pending);
    let fits = base <= end && end <= args.out.len() as u64 && end.wrapping_sub(base) == of_split as u64;
    if !fits || is_wrong {
        wrong |= FSST_SPLITS;
    }
    // SAFETY: the branches above have joined, so all lanes are here.
    let is_any_wrong = unsafe { warp_vote_any(ALL, wrong != 0) };
    let staging = memory.staging.offset(place.warp * STAGING as u32);
    if !is_any_wrong && place.start < len {
        let to = base + before_warp as u64;
        let skip = to as u32 % VECTOR;
        // SAFETY: the vote and `start` are the same in all lanes, so all lanes are here. The outputs of lanes
        // are neighbours, and all of them fit.
        unsafe {
            codes.stage(skip + mine, place.lane, memory.symbols, staging);
            sync_warp(ALL);
            store(args, staging, to, skip, total, place.lane);
        }
    }
    if STRINGS {
        // SAFETY: `STRINGS` is a constant and the branch above is the same for the warp, so all lanes are
        // here. The output was stored before the first barrier, and each lane has two words for itself before
        // the second.
        unsafe {
            sync_warp(ALL);
            let own = staging.offset(2 * place.lane);
            own.write((before_warp + mine) as u64 | (codes.bytes as u64) << 32);
            own.offset(1).write(codes.lens);
        }
        sync_threads();
        // SAFETY: `STRINGS` is a constant, and a barrier of the block comes just before, so all threads are
        // here.
        if unsafe { strings(args, &memory, tile, base) } {
            wrong |= FSST_ESCAPE;
        }
    }
    wrong
}

/// The sum of the values of the lanes before this one, and the sum of all.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn scan(value: u32, lane: u32) -> (u32, u32) {
    let mut inclusive = value;
    let mut delta = 1;
    while delta < LANES {
        // SAFETY: the caller brings all lanes, and `delta` is the same in all, so all lanes are here.
        let (left, _) = unsafe { warp_shuffle_up(ALL, inclusive, delta, LANES) };
        if lane >= delta {
            inclusive += left;
        }
        delta *= 2;
    }
    // SAFETY: the loop has the same rounds in all lanes, so all lanes are here.
    let (total, _) = unsafe { warp_shuffle_idx(ALL, inclusive, LANES - 1, LANES) };
    (inclusive - value, total)
}

macro_rules! memory {
    () => {{
        Memory {
            symbols: Shared::new(shared_array![u64; ENTRIES]),
            lens: Shared::new(shared_array![u64; ENTRIES / 8]).cast(),
            totals: Shared::new(shared_array![u32; WARPS]),
            staging: Shared::new(shared_array![u64; WARPS * STAGING]),
        }
    }};
}

/// Decodes codes with a known output offset for each split.
///
/// # Safety
/// Launched as [`FsstDecode`](warpath_shared::kernel::FsstDecode) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn fsst_decode(args: FsstDecodeArgs<'_>) {
    // SAFETY: no branch comes before this call, so all threads are here. The shared memory is this block's
    // own.
    unsafe { decode::<false>(&args, memory!()) };
}

/// Decodes codes with a known output offset for each split, and writes the offset of each string.
///
/// # Safety
/// Launched as [`FsstDecodeStrings`](warpath_shared::kernel::FsstDecodeStrings) says, with sizes that its
/// check accepts.
#[kernel]
pub unsafe fn fsst_decode_strings(args: FsstDecodeArgs<'_>) {
    // SAFETY: no branch comes before this call, so all threads are here. The shared memory is this block's
    // own.
    unsafe { decode::<true>(&args, memory!()) };
}
