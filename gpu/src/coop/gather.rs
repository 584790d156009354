//! Copying stretches of a text, of whatever lengths and from wherever they are, one behind the other.
//!
//! The *output* is dealt to threads, not the stretches: a block takes a tile of [`GATHER_TILE`] bytes of it, a thread four chunks of 16
//! bytes that lie a block's width apart, so whatever lengths stretches have, every thread writes the same, in whole
//! vectors that lie side by side. (A warp a stretch leaves 27 lanes idle where stretches are five bytes long, as `"en"` is
//! with a newline, and writes them unaligned; a thread a stretch waits for the longest of 32.) Which stretch a chunk
//! begins in is searched for: two warps search the ends of the block's tile, 32 offsets at a time, and each thread what
//! lies between. A chunk within one stretch is two aligned vectors of the text, shifted into one; its neighbours load the
//! same vectors from the first-level cache. A chunk of several is put together byte by byte.

use cuda_std::bits::funnel_shift_right;
use cuda_std::thread::{block_idx_x, sync_threads, thread_idx_x};
use cuda_std::wide::{U32x4, load_readonly_8, load_readonly_16, load_readonly_64, store_global_16};
use warpath_shared::kernel::GATHER_TILE;
use warpath_shared::units::BLOCK_THREADS;
use warpath_shared::view::{View, ViewMut};

use super::{LANES, search};

/// Bytes that a thread writes at once.
const CHUNK: usize = 16;

/// The stretches to gather.
#[derive(Clone, Copy)]
pub struct Gather<'a, F> {
    /// The text that they are of: 16-byte aligned, whole vectors.
    pub text: View<'a, u8>,
    /// Where in the output each goes, and at the end how long it is all together.
    pub offsets: View<'a, u64>,
    /// The output: as much as there is room for. 16-byte aligned, whole tiles.
    pub out: ViewMut<'a, u8>,
    /// Where in the text a stretch begins.
    pub start: F,
    /// What the last byte of each stretch is, instead of one of the text.
    pub last: Option<u8>,
}

impl<F: Fn(usize) -> u32 + Copy> Gather<'_, F> {
    /// Gathers a tile of the output.
    ///
    /// # Safety
    /// All threads of the block call it together, once. `ends` is two elements of shared memory that nothing else uses.
    /// The stretches are in the text, and nothing writes text or offsets meanwhile.
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
            // SAFETY: all lanes of the warp are here.
            let found = unsafe { search::by_warp(self.offsets, place as u64, lane) };
            if lane == 0 {
                // SAFETY: one writer an element, before the barrier.
                unsafe { ends.add(warp as usize).write(found as u64) };
            }
        }
        sync_threads();
        // SAFETY: written before the barrier.
        let (mut low, high) = unsafe { (ends.read() as usize, ends.add(1).read() as usize) };
        let mut at = first + thread as usize * CHUNK;
        while at < end {
            low = search::by_thread(self.offsets, at as u64, low, high);
            let chunk = self.chunk(low, at, total);
            // SAFETY: the output is whole tiles, 16-byte aligned, and each chunk has one writer.
            unsafe { store_global_16(self.out.at(at, CHUNK).cast(), chunk) };
            at += BLOCK_THREADS * CHUNK;
        }
    }

    #[inline(always)]
    fn offset(&self, index: usize) -> usize {
        // SAFETY: the index is checked, offsets are 8-byte aligned, and nothing writes them meanwhile.
        unsafe { load_readonly_64(self.offsets.at(index, 1)) as usize }
    }

    /// The 16 bytes of output at `at`, the first of which belongs to stretch `index`.
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
                // Empty ones are stepped over.
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
            // SAFETY: the place is checked, and nothing writes the text meanwhile.
            unsafe { load_readonly_8(self.text.at(start + (at - begin), 1)) as u32 }
        };
        let mut word = |word: usize| {
            let bytes = [0, 1, 2, 3].map(|byte| next(at + 4 * word + byte) << (8 * byte));
            bytes[0] | bytes[1] | bytes[2] | bytes[3]
        };
        U32x4([word(0), word(1), word(2), word(3)])
    }
}

/// 16 bytes of text from any place: two aligned vectors, shifted by words, then by bytes.
///
/// ```text
/// text      ····abcd efghijkl mnop····        from = 4 bytes into the first vector
/// vectors   └──────16──────┘└──────16──────┘
/// ```
#[inline(always)]
fn unaligned(text: View<'_, u8>, from: usize) -> U32x4 {
    let (aligned, skip) = (from / CHUNK * CHUNK, (from % CHUNK) as u32);
    // SAFETY: the place is checked, texts are 16-byte aligned, and no kernel writes to one meanwhile.
    let load = |at: usize| unsafe { load_readonly_16(text.at(at, CHUNK).cast()) }.0;
    let [a, b, c, d] = load(aligned);
    if skip == 0 {
        return U32x4([a, b, c, d]);
    }
    // The last byte wanted is in the second vector, so that is in the text.
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
