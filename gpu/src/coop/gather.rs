//! Copies ranges ("stretches") of a text to an output without gaps. The ranges have any lengths and any
//! positions.
//!
//! Threads divide the *output*, not the stretches. A block takes a tile of [`GATHER_TILE`] bytes of the
//! output. A thread takes four chunks of 16 bytes, which are a block's width apart. So every thread writes
//! the same amount for all lengths of stretches, in whole vectors that are side by side.
//!
//! Two other mappings are worse. One warp per stretch leaves 27 lanes idle where stretches are five bytes
//! long, as `"en"` is with a newline, and writes them unaligned. One thread per stretch waits for the longest
//! of 32.
//!
//! A search finds the stretch in which a chunk begins. Two warps search for the ends of the block's tile, 32
//! offsets at a time; then each thread searches between them. A chunk within one stretch is two aligned
//! vectors of the text, shifted into one. Its neighbours load the same vectors from the first-level cache. A
//! chunk of several stretches is put together byte by byte.

use cuda_std::bits::funnel_shift_right;
use cuda_std::thread::{block_idx_x, sync_threads, thread_idx_x};
use cuda_std::wide::{U32x4, load_readonly_8, load_readonly_16, load_readonly_64, store_global_16};
use warpath_shared::kernel::GATHER_TILE;
use warpath_shared::units::BLOCK_THREADS;
use warpath_shared::view::{View, ViewMut};

use super::{LANES, search};

/// The bytes that a thread writes at once.
const CHUNK: usize = 16;

/// The stretches to gather.
#[derive(Clone, Copy)]
pub struct Gather<'a, F> {
    /// The text that contains the stretches: 16-byte aligned, whole vectors.
    pub text: View<'a, u8>,
    /// The offset of each stretch in the output, and at the end the length of all stretches together.
    pub offsets: View<'a, u64>,
    /// The output, of the capacity of its buffer: 16-byte aligned, whole tiles.
    pub out: ViewMut<'a, u8>,
    /// The offset in the text at which a stretch begins.
    pub start: F,
    /// The last byte of each stretch in the output, if it replaces the one in the text.
    pub last: Option<u8>,
}

impl<F: Fn(usize) -> u32 + Copy> Gather<'_, F> {
    /// Gathers a tile of the output.
    ///
    /// # Safety
    /// All threads of the block call it together, once. `ends` is two elements of shared memory that nothing
    /// else uses. The stretches are in the text. Nothing writes the text or the offsets during the launch.
    #[inline(always)]
    pub unsafe fn tile(&self, ends: *mut u64) {
        let thread = thread_idx_x();
        let (warp, lane) = (thread / LANES, thread % LANES);
        let first = block_idx_x() as usize * GATHER_TILE;
        let total = self.offset(self.offsets.len() - 1);
        if first >= total {
            return;
        }
        let end = total.min(first + GATHER_TILE);
        if warp < 2 {
            let place = if warp == 0 { first } else { end - 1 };
            // SAFETY: the caller's contract: all threads of the block call this function together. The return
            // above depends only on the block, and the branch on `warp` is the same for all lanes of a warp.
            let found = unsafe { search::by_warp(self.offsets, place as u64, lane) };
            if lane == 0 {
                // SAFETY: lane 0 of each of the two warps writes its own element. The barrier below separates
                // the writes from the reads.
                unsafe { ends.add(warp as usize).write(found as u64) };
            }
        }
        sync_threads();
        // SAFETY: `sync_threads` is between the writes of both elements and these reads.
        let (mut low, high) = unsafe { (ends.read() as usize, ends.add(1).read() as usize) };
        let mut at = first + thread as usize * CHUNK;
        while at < end {
            low = search::by_thread(self.offsets, at as u64, low, high);
            let chunk = self.chunk(low, at, total);
            // SAFETY: `out.at` checks the range. The output is 16-byte aligned and whole tiles, `at` is a
            // multiple of 16, and each chunk has one writer.
            unsafe { store_global_16(self.out.at(at, CHUNK).cast(), chunk) };
            at += BLOCK_THREADS * CHUNK;
        }
    }

    #[inline(always)]
    fn offset(&self, index: usize) -> usize {
        // SAFETY: `View::at` checks the index. The offsets are 8-byte aligned, and by the contract of `tile`
        // nothing writes them during the launch.
        unsafe { load_readonly_64(self.offsets.at(index, 1)) as usize }
    }

    /// The 16 bytes of output at `at`. The first byte belongs to stretch `index`.
    #[inline(always)]
    fn chunk(&self, mut index: usize, at: usize, total: usize) -> U32x4 {
        let tail = self.last.is_some() as usize;
        let (mut begin, mut end) = (self.offset(index), self.offset(index + 1));
        let mut start = (self.start)(index) as usize;
        if at + CHUNK + tail <= end {
            return unaligned(self.text, start + (at - begin));
        }
        let mut next = |at: usize| {
            if at >= total {
                return 0;
            }
            if at == end {
                // Skips empty stretches.
                while at == end {
                    index += 1;
                    end = self.offset(index + 1);
                }
                begin = at;
                start = (self.start)(index) as usize;
            }
            if let Some(last) = self.last
                && at + 1 == end
            {
                return last as u32;
            }
            // SAFETY: `View::at` checks the offset. By the contract of `tile`, nothing writes the text during
            // the launch.
            unsafe { load_readonly_8(self.text.at(start + (at - begin), 1)) as u32 }
        };
        let mut word = |word: usize| {
            let bytes = [0, 1, 2, 3].map(|byte| next(at + 4 * word + byte) << (8 * byte));
            bytes[0] | bytes[1] | bytes[2] | bytes[3]
        };
        U32x4([word(0), word(1), word(2), word(3)])
    }
}

/// 16 bytes of text from any offset: two aligned vectors, shifted by words, then by bytes.
///
/// ```text
/// text      ····abcd efghijkl mnop····        from = 4 bytes into the first vector
/// vectors   └──────16──────┘└──────16──────┘
/// ```
#[inline(always)]
fn unaligned(text: View<'_, u8>, from: usize) -> U32x4 {
    let (aligned, skip) = (from / CHUNK * CHUNK, (from % CHUNK) as u32);
    // SAFETY: `View::at` checks the offset. The text is 16-byte aligned, as [`Gather::text`] requires, and
    // `at` is a multiple of 16. By the contract of `tile`, nothing writes the text during the launch.
    let load = |at: usize| unsafe { load_readonly_16(text.at(at, CHUNK).cast()) }.0;
    let [a, b, c, d] = load(aligned);
    if skip == 0 {
        return U32x4([a, b, c, d]);
    }
    // The last of the 16 bytes is in the second vector, so the second vector is in the text.
    let [e, f, g, h] = load(aligned + CHUNK);
    let by_two = |yes: bool, near: u32, far: u32| if yes { far } else { near };
    let two = skip & 8 != 0;
    let (a, b, c, d) = (by_two(two, a, c), by_two(two, b, d), by_two(two, c, e), by_two(two, d, f));
    let (e, f) = (by_two(two, e, g), by_two(two, f, h));
    let one = skip & 4 != 0;
    let words =
        [by_two(one, a, b), by_two(one, b, c), by_two(one, c, d), by_two(one, d, e), by_two(one, e, f)];
    let bits = skip % 4 * 8;
    U32x4([
        funnel_shift_right(words[0], words[1], bits),
        funnel_shift_right(words[1], words[2], bits),
        funnel_shift_right(words[2], words[3], bits),
        funnel_shift_right(words[3], words[4], bits),
    ])
}
