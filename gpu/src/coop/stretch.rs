//! A stretch of text: 2 KiB, of which each lane of a warp classifies one word of 64 bytes.
//!
//! # Reading
//! The lanes load 16 bytes each, side by side, four times. But a lane needs 64 consecutive bytes. So the
//! stretch passes through shared memory, in which vector *v* (16 bytes) is at index *v* xor *(v / 8) mod 8*.
//! Eight lanes that write consecutive vectors, or that read every fourth vector, then access eight different
//! groups of four banks each. So neither the writes nor the reads have bank conflicts.
//!
//! # Bit planes
//! Half a word, 32 bytes, becomes eight planes of 32 bits: bit *i* of plane *b* is bit *b* of byte *i*. Each
//! byte class then takes a few logic operations on planes, for 32 bytes at once.
//!
//! ```text
//! bytes      0 1 2 3 | 4 5 6 7 | …          eight words of four bytes
//! gather     0 8 16 24 | 1 9 17 25 | …      16 byte permutes: word w holds bytes w, w+8, w+16, w+24
//! transpose  8×8 bits in each byte lane     3 rounds of masked swaps, by 4, 2 and 1
//! planes     bit 8c+w of plane b is bit b of byte c of word w: byte 8c+w of the text
//! ```

use cuda_std::bits::byte_permute;
use cuda_std::shared::Shared;
use cuda_std::warp::sync_warp;
use cuda_std::wide::{U32x4, load_readonly_16};
use warpath_shared::index::class::Classes;
use warpath_shared::strict::Planes;
use warpath_shared::units::{STRETCH_BYTES, WORD_BYTES};
use warpath_shared::view::View;

use super::LANES;
use super::warp::ALL;

/// The number of 16-byte vectors in a stretch.
pub const VECTORS: usize = STRETCH_BYTES / 16;

#[inline(always)]
fn place(vector: u32) -> u32 {
    vector ^ (vector >> 3 & 7)
}

/// The vectors of a stretch that a lane loads: every 32nd.
pub type Loaded = [U32x4; VECTORS / LANES as usize];

/// Loads this lane's vectors of the stretch that begins at byte `start`.
#[inline(always)]
pub fn load(text: View<'_, u8>, start: usize, lane: u32) -> Loaded {
    let from = text.at(start, STRETCH_BYTES).wrapping_add(lane as usize * 16);
    core::array::from_fn(|i| {
        // SAFETY: `text.at` checks the range. The host aligns texts to 16 bytes, and no kernel writes to a
        // text.
        unsafe { load_readonly_16(from.wrapping_add(i * LANES as usize * 16).cast()) }
    })
}

/// The classes of this lane's word of a loaded stretch.
///
/// # Safety
/// All 32 lanes call it together. `staging` is [`VECTORS`] elements of shared memory, the same for all 32
/// lanes, and no other thread accesses it. After the return, a lane may write to `staging` values that only
/// this lane reads.
#[inline(always)]
pub unsafe fn classify(loaded: Loaded, staging: Shared<U32x4>, lane: u32) -> Classes {
    // SAFETY: the contract of `halves` is the caller's contract.
    let (low, high) = unsafe { halves(loaded, staging, lane, classify_half) };
    join(low, high)
}

/// The bytes of one word that matter to tokens, as one bitmap for each class.
#[derive(Clone, Copy)]
pub struct TokenClasses {
    /// `{` and `[`
    pub open: u64,
    /// `}` and `]`
    pub close: u64,
    /// `:` and `,`
    pub separator: u64,
    /// The braces and colons. The bits are meaningful only at brackets and separators.
    pub brace: u64,
    /// White space.
    pub space: u64,
    /// Newlines.
    pub newline: u64,
}

/// The classes of the word that begins at byte `start`. Each lane loads its word by itself.
#[inline(always)]
pub fn classes_of_word(text: View<'_, u8>, start: usize) -> Classes {
    let [low, high] = halves_of_word(text, start);
    join(classify_half(low.0, low.1), classify_half(high.0, high.1))
}

/// The token classes of this lane's word of a loaded stretch.
///
/// # Safety
/// The contract of [`classify`].
#[inline(always)]
pub unsafe fn classify_tokens(loaded: Loaded, staging: Shared<U32x4>, lane: u32) -> TokenClasses {
    // SAFETY: the contract of `halves` is the caller's contract.
    let (low, high) = unsafe { halves(loaded, staging, lane, token_half) };
    join_tokens(low, high)
}

/// The planes of this lane's word of a loaded stretch.
///
/// # Safety
/// The contract of [`classify`].
#[inline(always)]
pub unsafe fn planes_of_lane(loaded: Loaded, staging: Shared<U32x4>, lane: u32) -> Planes {
    // SAFETY: the contract of `halves` is the caller's contract.
    let (low, high) = unsafe { halves(loaded, staging, lane, planes) };
    join_planes(low, high)
}

/// The planes of the word that begins at byte `start`. Each lane loads its word by itself.
#[inline(always)]
pub fn planes_of_word(text: View<'_, u8>, start: usize) -> Planes {
    let [low, high] = halves_of_word(text, start);
    join_planes(planes(low.0, low.1), planes(high.0, high.1))
}

/// The four vectors of the word that begins at byte `start`.
#[inline(always)]
fn halves_of_word(text: View<'_, u8>, start: usize) -> [([u32; 4], [u32; 4]); 2] {
    let from = text.at(start, WORD_BYTES);
    let vector = |i: usize| {
        // SAFETY: `text.at` checks the range. The host aligns texts to 16 bytes, and no kernel writes to a
        // text.
        unsafe { load_readonly_16(from.wrapping_add(i * 16).cast()) }.0
    };
    [(vector(0), vector(1)), (vector(2), vector(3))]
}

/// The results of `of` for the two halves of this lane's word.
///
/// # Safety
/// The contract of [`classify`].
#[inline(always)]
unsafe fn halves<H>(
    loaded: Loaded,
    staging: Shared<U32x4>,
    lane: u32,
    of: impl Fn([u32; 4], [u32; 4]) -> H,
) -> (H, H) {
    // SAFETY: the caller's contract: all 32 lanes call this function together, and no branch above depends on
    // the lane.
    //
    // The barrier comes before the writes, because lanes may still read what they wrote to `staging` before.
    unsafe { sync_warp(ALL) };
    let mut i = 0;
    while i < loaded.len() as u32 {
        // SAFETY: `place` permutes `0..VECTORS`, so each element has one writer. The caller provides
        // `VECTORS` elements.
        unsafe { staging.offset(place(i * LANES + lane)).write(loaded[i as usize]) };
        i += 1;
    }
    // SAFETY: all 32 lanes run the loop above for the same number of rounds, so all of them call it.
    unsafe { sync_warp(ALL) };
    let read = |i: u32| {
        // SAFETY: `place` is below `VECTORS`, and `sync_warp` is between the writes and this read.
        let vector = unsafe { staging.offset(place(4 * lane + i)).read() };
        vector.0
    };
    let low = of(read(0), read(1));
    let high = of(read(2), read(3));
    // SAFETY: all 32 lanes call it, because no branch above depends on the lane and `of` calls no collective.
    unsafe { sync_warp(ALL) };
    (low, high)
}

/// The classes of 32 bytes: the fields of [`Classes`], 32 bits each.
struct Half {
    quote: u32,
    backslash: u32,
    newline: u32,
    open: u32,
    close: u32,
    brace: u32,
    separator: u32,
    control: u32,
}

#[inline(always)]
fn join(low: Half, high: Half) -> Classes {
    let join = |low: u32, high: u32| low as u64 | (high as u64) << 32;
    Classes {
        quote: join(low.quote, high.quote),
        backslash: join(low.backslash, high.backslash),
        newline: join(low.newline, high.newline),
        open: join(low.open, high.open),
        close: join(low.close, high.close),
        brace: join(low.brace, high.brace),
        separator: join(low.separator, high.separator),
        control: join(low.control, high.control),
    }
}

#[inline(always)]
fn join_planes(low: [u32; 8], high: [u32; 8]) -> Planes {
    core::array::from_fn(|b| low[b] as u64 | (high[b] as u64) << 32)
}

/// Swaps the bits of `a` selected by `mask << shift` with those of `b` selected by `mask`.
#[inline(always)]
fn swap(a: &mut u32, b: &mut u32, mask: u32, shift: u32) {
    let different = (*a >> shift ^ *b) & mask;
    *b ^= different;
    *a ^= different << shift;
}

/// The eight bit planes of 32 bytes.
#[inline(always)]
fn planes(n: [u32; 4], m: [u32; 4]) -> [u32; 8] {
    // Bytes w of n0, n2, m0, m2 are bytes w, w+8, w+16, w+24 of the text; bytes w of n1, n3, m1, m3 are those
    // four bytes further.
    let gather = |a, b, c, d| {
        let (ab, cd) = (byte_permute(a, b, 0x5140), byte_permute(c, d, 0x5140));
        let (ab_high, cd_high) = (byte_permute(a, b, 0x7362), byte_permute(c, d, 0x7362));
        [
            byte_permute(ab, cd, 0x5410),
            byte_permute(ab, cd, 0x7632),
            byte_permute(ab_high, cd_high, 0x5410),
            byte_permute(ab_high, cd_high, 0x7632),
        ]
    };
    let [mut p0, mut p1, mut p2, mut p3] = gather(n[0], n[2], m[0], m[2]);
    let [mut p4, mut p5, mut p6, mut p7] = gather(n[1], n[3], m[1], m[3]);
    swap(&mut p0, &mut p4, 0x0f0f_0f0f, 4);
    swap(&mut p1, &mut p5, 0x0f0f_0f0f, 4);
    swap(&mut p2, &mut p6, 0x0f0f_0f0f, 4);
    swap(&mut p3, &mut p7, 0x0f0f_0f0f, 4);
    swap(&mut p0, &mut p2, 0x3333_3333, 2);
    swap(&mut p1, &mut p3, 0x3333_3333, 2);
    swap(&mut p4, &mut p6, 0x3333_3333, 2);
    swap(&mut p5, &mut p7, 0x3333_3333, 2);
    swap(&mut p0, &mut p1, 0x5555_5555, 1);
    swap(&mut p2, &mut p3, 0x5555_5555, 1);
    swap(&mut p4, &mut p5, 0x5555_5555, 1);
    swap(&mut p6, &mut p7, 0x5555_5555, 1);
    [p0, p1, p2, p3, p4, p5, p6, p7]
}

/// The classes of 32 bytes, from their planes.
///
/// ```text
///          7 6 5 4 3 2 1 0                 7 6 5 4 3 2 1 0
/// "        0 0 1 0 0 0 1 0       {         0 1 1 1 1 0 1 1
/// \        0 1 0 1 1 1 0 0       [         0 1 0 1 1 0 1 1      { without bit 5
/// LF       0 0 0 0 1 0 1 0       }         0 1 1 1 1 1 0 1
/// :        0 0 1 1 1 0 1 0       ]         0 1 0 1 1 1 0 1      } without bit 5
/// ,        0 0 1 0 1 1 0 0
/// ```
#[inline(always)]
fn classify_half(n: [u32; 4], m: [u32; 4]) -> Half {
    let [p0, p1, p2, p3, p4, p5, p6, p7] = planes(n, m);
    let low_half = !(p7 | p6);
    let bracket = !p7 & p6 & p4 & p3 & p0;
    let even_3 = p3 & !p0;
    let newline = low_half & !p5 & !p4 & even_3 & !p2 & p1;
    Half {
        quote: low_half & p5 & !p4 & !p3 & !p2 & p1 & !p0,
        backslash: !p7 & p6 & !p5 & p4 & even_3 & p2 & !p1,
        newline,
        open: bracket & !p2 & p1,
        close: bracket & p2 & !p1,
        // All brackets have bit 4. Of the separators, only the colon has it.
        brace: p5 & p4,
        separator: low_half & p5 & even_3 & (p4 & !p2 & p1 | !p4 & p2 & !p1),
        control: low_half & !p5 & !newline,
    }
}

/// The classes of 32 bytes that matter to tokens: the fields of [`TokenClasses`].
struct TokenHalf {
    open: u32,
    close: u32,
    separator: u32,
    brace: u32,
    space: u32,
    newline: u32,
}

#[inline(always)]
fn join_tokens(low: TokenHalf, high: TokenHalf) -> TokenClasses {
    let join = |low: u32, high: u32| low as u64 | (high as u64) << 32;
    TokenClasses {
        open: join(low.open, high.open),
        close: join(low.close, high.close),
        separator: join(low.separator, high.separator),
        brace: join(low.brace, high.brace),
        space: join(low.space, high.space),
        newline: join(low.newline, high.newline),
    }
}

/// The token classes of 32 bytes, from their planes. The bytes of [`classify_half`] have the same patterns as
/// there. White space has these:
///
/// ```text
///          7 6 5 4 3 2 1 0
/// space    0 0 1 0 0 0 0 0
/// tab      0 0 0 0 1 0 0 1
/// LF       0 0 0 0 1 0 1 0
/// CR       0 0 0 0 1 1 0 1
/// ```
#[inline(always)]
fn token_half(n: [u32; 4], m: [u32; 4]) -> TokenHalf {
    let [p0, p1, p2, p3, p4, p5, p6, p7] = planes(n, m);
    let low_half = !(p7 | p6);
    let bracket = !p7 & p6 & p4 & p3 & p0;
    let even_3 = p3 & !p0;
    let control = p3 & (!p2 & (p1 ^ p0) | p2 & !p1 & p0);
    TokenHalf {
        open: bracket & !p2 & p1,
        close: bracket & p2 & !p1,
        separator: low_half & p5 & even_3 & (p4 & !p2 & p1 | !p4 & p2 & !p1),
        brace: p5 & p4,
        space: low_half & !p4 & (p5 & !p3 & !p2 & !p1 & !p0 | !p5 & control),
        newline: low_half & !p5 & !p4 & even_3 & !p2 & p1,
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use warpath_shared::tree::token::white_space;

    use super::*;

    #[test]
    fn planes_classify_every_byte_at_every_place() {
        for first in 0..=255u8 {
            let word: [u8; 64] = core::array::from_fn(|i| first.wrapping_add(37u8.wrapping_mul(i as u8)));
            let vector = |i: usize| -> [u32; 4] {
                core::array::from_fn(|j| u32::from_le_bytes(word[16 * i + 4 * j..][..4].try_into().unwrap()))
            };
            let classes = join(classify_half(vector(0), vector(1)), classify_half(vector(2), vector(3)));
            assert_eq!(classes.normalised(), Classes::of(&word).normalised(), "{first}");
            let tokens = join_tokens(token_half(vector(0), vector(1)), token_half(vector(2), vector(3)));
            assert_eq!(tokens.space, white_space(&word), "{first}");
            let found = join_planes(planes(vector(0), vector(1)), planes(vector(2), vector(3)));
            assert_eq!(found, warpath_shared::strict::planes(&word), "{first}");
            let common = [tokens.open, tokens.close, tokens.separator, tokens.brace, tokens.newline];
            let want = [classes.open, classes.close, classes.separator, classes.brace, classes.newline];
            assert_eq!(common, want, "{first}");
        }
    }
}
