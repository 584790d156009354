//! Strings from the codes of FSST as others decode them: rivals of [`super::fsst`] in benches.
//!
//! The ladder of P. Bourdon's article ("My journey optimizing a CUDA kernel", Polar Signals), a kernel a step: a thread a string, byte by byte; codes loaded by 8 bytes; the table in
//! shared memory; and, with the table where it was, output that is gathered in registers and stored by the widest aligned stores. The last of these, over stretches of equal
//! length instead of strings, is the split kernel of GSST (Vonk, Hoozemans and Al-Ars, 2025).
//!
//! They need to know where each string's output goes: [`fsst_lengths`] and a scan say it.

use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{index_1d, sync_threads, thread_idx_x};
use cuda_std::wide::{U64x2, load_readonly_8, load_readonly_64, store_global_16};
use warpath_shared::fsst::{ESCAPE, TABLE_WORDS};
use warpath_shared::kernel::{FsstLadderArgs, FsstLengthsArgs};
use warpath_shared::view::{View, ViewMut};

/// Where codes come from, one after the other.
trait Codes {
    /// The code at a place, which is asked for in ascending order.
    fn at(&mut self, at: usize) -> u32;
}

/// One by one.
struct Single<'a>(View<'a, u8>);

impl Codes for Single<'_> {
    #[inline(always)]
    fn at(&mut self, at: usize) -> u32 {
        // SAFETY: the place is checked, and nothing writes the codes meanwhile.
        unsafe { load_readonly_8(self.0.at(at, 1)) as u32 }
    }
}

/// By words of 8 aligned bytes.
struct Words<'a> {
    codes: View<'a, u8>,
    word: u64,
    /// Which it is: none before the first.
    number: usize,
}

impl<'a> Words<'a> {
    #[inline(always)]
    fn new(codes: View<'a, u8>) -> Self {
        Self { codes, word: 0, number: usize::MAX }
    }
}

impl Codes for Words<'_> {
    #[inline(always)]
    fn at(&mut self, at: usize) -> u32 {
        if at / 8 != self.number {
            self.number = at / 8;
            // SAFETY: the place is checked, codes are whole words, 16-byte aligned, and nothing writes them meanwhile.
            self.word = unsafe { load_readonly_64(self.codes.at(at / 8 * 8, 8).cast()) };
        }
        (self.word >> (at % 8 * 8)) as u32 & 0xff
    }
}

/// Where symbols come from.
trait Symbols: Copy {
    fn symbol(&self, code: u32) -> u64;
    fn bytes(&self, code: u32) -> u32;
}

/// The table where it is.
impl Symbols for View<'_, u64> {
    #[inline(always)]
    fn symbol(&self, code: u32) -> u64 {
        // SAFETY: the index is checked, and nothing writes the table meanwhile.
        unsafe { load_readonly_64(self.at(code as usize, 1)) }
    }

    #[inline(always)]
    fn bytes(&self, code: u32) -> u32 {
        // SAFETY: as above: there are 32 words of lengths behind the symbols.
        unsafe { load_readonly_8(self.at(256, 32).cast::<u8>().wrapping_add(code as usize)) as u32 }
    }
}

/// The table in shared memory.
impl Symbols for Shared<u64> {
    #[inline(always)]
    fn symbol(&self, code: u32) -> u64 {
        // SAFETY: the table was written before a barrier.
        unsafe { self.offset(code).read() }
    }

    #[inline(always)]
    fn bytes(&self, code: u32) -> u32 {
        // SAFETY: as above.
        unsafe { self.offset(256).cast::<u8>().offset(code).read() as u32 }
    }
}

/// Where bytes go.
trait Output {
    /// Some bytes more, the first lowest.
    fn push(&mut self, symbol: u64, len: u32);
}

/// One by one.
struct Bytes<'a> {
    out: ViewMut<'a, u8>,
    at: usize,
}

impl Output for Bytes<'_> {
    #[inline(always)]
    fn push(&mut self, symbol: u64, len: u32) {
        let mut i = 0;
        while i < len {
            // SAFETY: the output of this string is this thread's.
            unsafe { self.out.set(self.at, (symbol >> (8 * i)) as u8) };
            self.at += 1;
            i += 1;
        }
    }
}

/// In registers, until there are 16 aligned bytes.
struct Buffered<'a> {
    out: ViewMut<'a, u8>,
    /// Where the vector at hand begins.
    at: usize,
    /// How many of its bytes are another thread's, and how many are filled.
    skip: u32,
    filled: u32,
    vector: [u64; 2],
}

impl<'a> Buffered<'a> {
    #[inline(always)]
    fn new(out: ViewMut<'a, u8>, at: usize) -> Self {
        let skip = at as u32 % 16;
        Self { out, at: at / 16 * 16, skip, filled: skip, vector: [0; 2] }
    }

    /// Stores those of the vector's bytes that are this thread's, one by one.
    #[inline(always)]
    fn store_bytes(&self, end: u32) {
        let mut byte = self.skip;
        while byte < end {
            let word = if byte < 8 { self.vector[0] } else { self.vector[1] };
            // SAFETY: the output of this string is this thread's.
            unsafe { self.out.set(self.at + byte as usize, (word >> (byte % 8 * 8)) as u8) };
            byte += 1;
        }
    }
}

impl Output for Buffered<'_> {
    #[inline(always)]
    fn push(&mut self, symbol: u64, len: u32) {
        let shift = self.filled % 8 * 8;
        let (low, high) = (symbol << shift, symbol >> 1 >> (63 - shift));
        let [a, b] = &mut self.vector;
        let mut beyond = 0;
        if self.filled < 8 {
            *a |= low;
            *b |= high;
        } else {
            *b |= low;
            beyond = high;
        }
        self.filled += len;
        if self.filled >= 16 {
            if self.skip == 0 {
                // SAFETY: the place is checked, the output is 16-byte aligned, and these 16 bytes are this thread's.
                unsafe { store_global_16(self.out.at(self.at, 16).cast(), U64x2(self.vector).into()) };
            } else {
                self.store_bytes(16);
                self.skip = 0;
            }
            self.vector = [beyond, 0];
            self.at += 16;
            self.filled -= 16;
        }
    }
}

/// Decodes codes from `begin` to `end`.
#[inline(always)]
fn decode(
    mut codes: impl Codes,
    table: impl Symbols,
    (begin, end): (usize, usize),
    output: &mut impl Output,
) {
    let mut at = begin;
    while at < end {
        let code = codes.at(at);
        at += 1;
        if code != ESCAPE as u32 {
            output.push(table.symbol(code), table.bytes(code));
        } else if at < end {
            output.push(codes.at(at) as u64, 1);
            at += 1;
        }
    }
}

/// Where the codes of this thread's string are, and where its output goes.
#[inline(always)]
fn string(args: &FsstLadderArgs<'_>) -> Option<((usize, usize), usize)> {
    let index = index_1d() as usize;
    if index + 1 >= args.code_offsets.len() {
        return None;
    }
    // SAFETY: the index is checked, and nothing writes the offsets meanwhile.
    let load = |view: View<'_, u64>, index: usize| unsafe { load_readonly_64(view.at(index, 1)) as usize };
    Some(((load(args.code_offsets, index), load(args.code_offsets, index + 1)), load(args.offsets, index)))
}

/// How many bytes each string has.
///
/// # Safety
/// Launched as [`FsstLengths`](warpath_shared::kernel::FsstLengths) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn fsst_lengths(args: FsstLengthsArgs<'_>) {
    let index = index_1d() as usize;
    if index >= args.lengths.len() {
        return;
    }
    let end = args.code_offsets.get(index + 1) as usize;
    let mut at = args.code_offsets.get(index) as usize;
    let (mut codes, mut len) = (Words::new(args.codes), 0_u64);
    while at < end {
        let code = codes.at(at);
        let is_escape = code == ESCAPE as u32;
        len += if is_escape { 1 } else { args.table.bytes(code) as u64 };
        at += 1 + is_escape as usize;
    }
    // SAFETY: one writer an element.
    unsafe { args.lengths.set(index, len) };
}

/// Byte by byte.
///
/// # Safety
/// Launched as [`FsstBytes`](warpath_shared::kernel::FsstBytes) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn fsst_bytes(args: FsstLadderArgs<'_>) {
    if let Some((range, at)) = string(&args) {
        decode(Single(args.codes), args.table, range, &mut Bytes { out: args.out, at });
    }
}

/// Codes by 8 bytes.
///
/// # Safety
/// As for [`fsst_bytes`].
#[kernel]
pub unsafe fn fsst_words(args: FsstLadderArgs<'_>) {
    if let Some((range, at)) = string(&args) {
        decode(Words::new(args.codes), args.table, range, &mut Bytes { out: args.out, at });
    }
}

/// Codes by 8 bytes, and the table in shared memory.
///
/// # Safety
/// As for [`fsst_bytes`].
#[kernel]
pub unsafe fn fsst_shared(args: FsstLadderArgs<'_>) {
    let table = Shared::new(shared_array![u64; TABLE_WORDS]);
    let mut word = thread_idx_x() as usize;
    while word < TABLE_WORDS {
        // SAFETY: there are as many words, and each has one writer.
        unsafe { table.offset(word as u32).write(args.table.get(word)) };
        word += cuda_std::thread::block_dim_x() as usize;
    }
    sync_threads();
    if let Some((range, at)) = string(&args) {
        decode(Words::new(args.codes), table, range, &mut Bytes { out: args.out, at });
    }
}

/// Codes by 8 bytes, and the output by 16.
///
/// # Safety
/// As for [`fsst_bytes`].
#[kernel]
pub unsafe fn fsst_buffered(args: FsstLadderArgs<'_>) {
    if let Some((range, at)) = string(&args) {
        let mut output = Buffered::new(args.out, at);
        decode(Words::new(args.codes), args.table, range, &mut output);
        output.store_bytes(output.filled);
    }
}
