//! Decoding of FSST codes as other projects do it: rivals of [`warpath_gpu`]'s `fsst`.
//!
//! The ladder of P. Bourdon's article ("My journey optimizing a CUDA kernel", Polar Signals), one kernel a
//! step. The first has one thread a string, byte by byte. The second loads codes by 8 bytes. The third has
//! the table in shared memory. The fourth has the table where it was, gathers output in registers, and stores
//! it by the widest aligned stores. This last step, over stretches of equal length instead of strings, is the
//! split kernel of GSST (Vonk, Hoozemans and Al-Ars, 2025).
//!
//! The kernels need the output offset of each string: [`fsst_lengths`] and a scan compute it.

use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{index_1d, sync_threads, thread_idx_x};
use cuda_std::wide::{U64x2, load_readonly_8, load_readonly_64, store_global_16};
use warpath_shared::fsst::{ESCAPE, TABLE_WORDS};
use warpath_shared::view::{View, ViewMut};

use crate::args::{FsstLadderArgs, FsstLengthsArgs};

/// A source of codes, one after the other.
trait Codes {
    /// The code at an offset. Offsets ascend from call to call.
    fn at(&mut self, at: usize) -> u32;
}

/// Codes loaded one by one.
struct Single<'a>(View<'a, u8>);

impl Codes for Single<'_> {
    #[inline(always)]
    fn at(&mut self, at: usize) -> u32 {
        // SAFETY: `at` checks the offset, and nothing writes the codes during the launch.
        unsafe { load_readonly_8(self.0.at(at, 1)) as u32 }
    }
}

/// Codes loaded by words of 8 aligned bytes.
struct Words<'a> {
    codes: View<'a, u8>,
    word: u64,
    /// The number of the word: `usize::MAX` before the first.
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
            // SAFETY: `at` checks the offset, codes are whole words, 16-byte aligned, and nothing writes them
            // during the launch.
            self.word = unsafe { load_readonly_64(self.codes.at(at / 8 * 8, 8).cast()) };
        }
        (self.word >> (at % 8 * 8)) as u32 & 0xff
    }
}

/// A source of symbols.
trait Symbols: Copy {
    fn symbol(&self, code: u32) -> u64;
    fn bytes(&self, code: u32) -> u32;
}

/// The table in global memory.
impl Symbols for View<'_, u64> {
    #[inline(always)]
    fn symbol(&self, code: u32) -> u64 {
        // SAFETY: `at` checks the index, and nothing writes the table during the launch.
        unsafe { load_readonly_64(self.at(code as usize, 1)) }
    }

    #[inline(always)]
    fn bytes(&self, code: u32) -> u32 {
        // SAFETY: `at` checks the range: 32 words of lengths follow the symbols. Nothing writes the table
        // during the launch.
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
        // SAFETY: the table was written before a barrier.
        unsafe { self.offset(256).cast::<u8>().offset(code).read() as u32 }
    }
}

/// A destination of bytes.
trait Output {
    /// Appends `len` bytes, the first lowest.
    fn push(&mut self, symbol: u64, len: u32);
}

/// Bytes stored one by one.
struct Bytes<'a> {
    out: ViewMut<'a, u8>,
    at: usize,
}

impl Output for Bytes<'_> {
    #[inline(always)]
    fn push(&mut self, symbol: u64, len: u32) {
        let mut i = 0;
        while i < len {
            // SAFETY: the output of this string belongs to this thread alone.
            unsafe { self.out.set(self.at, (symbol >> (8 * i)) as u8) };
            self.at += 1;
            i += 1;
        }
    }
}

/// Bytes kept in registers until there are 16 aligned ones.
struct Buffered<'a> {
    out: ViewMut<'a, u8>,
    /// The offset of the current vector.
    at: usize,
    /// The number of its bytes that are another thread's, and the number that are filled.
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

    /// Stores the vector's bytes that belong to this thread, one by one.
    #[inline(always)]
    fn store_bytes(&self, end: u32) {
        let mut byte = self.skip;
        while byte < end {
            let word = if byte < 8 { self.vector[0] } else { self.vector[1] };
            // SAFETY: the output of this string belongs to this thread alone.
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
                // SAFETY: `at` checks the offset, the output is 16-byte aligned, and these 16 bytes belong to
                // this thread alone.
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

/// The range of codes of this thread's string, and the offset of its output.
#[inline(always)]
fn string(args: &FsstLadderArgs<'_>) -> Option<((usize, usize), usize)> {
    let index = index_1d() as usize;
    if index + 1 >= args.code_offsets.len() {
        return None;
    }
    // SAFETY: `at` checks the index, and nothing writes the offsets during the launch.
    let load = |view: View<'_, u64>, index: usize| unsafe { load_readonly_64(view.at(index, 1)) as usize };
    Some(((load(args.code_offsets, index), load(args.code_offsets, index + 1)), load(args.offsets, index)))
}

/// Writes the number of bytes of each string.
///
/// # Safety
/// Launched as [`FsstLengths`](crate::args::FsstLengths) says, with sizes that its check accepts.
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
    // SAFETY: `index` is the thread's number in the grid, so each element has one writer.
    unsafe { args.lengths.set(index, len) };
}

/// Decodes strings byte by byte.
///
/// # Safety
/// Launched as [`FsstBytes`](crate::args::FsstBytes) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn fsst_bytes(args: FsstLadderArgs<'_>) {
    if let Some((range, at)) = string(&args) {
        decode(Single(args.codes), args.table, range, &mut Bytes { out: args.out, at });
    }
}

/// Decodes strings with codes loaded by 8 bytes.
///
/// # Safety
/// See [`fsst_bytes`].
#[kernel]
pub unsafe fn fsst_words(args: FsstLadderArgs<'_>) {
    if let Some((range, at)) = string(&args) {
        decode(Words::new(args.codes), args.table, range, &mut Bytes { out: args.out, at });
    }
}

/// Decodes strings with codes loaded by 8 bytes and the table in shared memory.
///
/// # Safety
/// See [`fsst_bytes`].
#[kernel]
pub unsafe fn fsst_shared(args: FsstLadderArgs<'_>) {
    let table = Shared::new(shared_array![u64; TABLE_WORDS]);
    let mut word = thread_idx_x() as usize;
    while word < TABLE_WORDS {
        // SAFETY: shared memory has as many words, and each has one writer.
        unsafe { table.offset(word as u32).write(args.table.get(word)) };
        word += cuda_std::thread::block_dim_x() as usize;
    }
    sync_threads();
    if let Some((range, at)) = string(&args) {
        decode(Words::new(args.codes), table, range, &mut Bytes { out: args.out, at });
    }
}

/// Decodes strings with codes loaded by 8 bytes and the output stored by 16.
///
/// # Safety
/// See [`fsst_bytes`].
#[kernel]
pub unsafe fn fsst_buffered(args: FsstLadderArgs<'_>) {
    if let Some((range, at)) = string(&args) {
        let mut output = Buffered::new(args.out, at);
        decode(Words::new(args.codes), args.table, range, &mut output);
        output.store_bytes(output.filled);
    }
}
