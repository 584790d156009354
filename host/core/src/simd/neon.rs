//! NEON, four vectors for each word.

use core::arch::aarch64::*;

use warpath_shared::index::class::Classes;
use warpath_shared::units::WORD_BYTES;

use super::operations::{Simd, Work, outline_each};
use super::outline::{Outline, Stretch};

#[inline(never)]
#[target_feature(enable = "neon")]
pub(super) fn run_neon<W: Work>(work: W) -> W::Output {
    work.run(Neon)
}

/// A word as four vectors.
type Vectors = [uint8x16_t; 4];

#[inline]
#[target_feature(enable = "neon")]
fn load(word: &[u8; WORD_BYTES]) -> Vectors {
    // SAFETY: each quarter lies within the word, and the load needs no alignment.
    [0, 16, 32, 48].map(|at| unsafe { vld1q_u8(word.as_ptr().add(at)) })
}

/// All ones in the bytes that are equal to `byte`.
#[inline]
#[target_feature(enable = "neon")]
fn find(v: Vectors, byte: u8) -> Vectors {
    v.map(|v| vceqq_u8(v, vdupq_n_u8(byte)))
}

/// Sets bit 5 of each byte. `[` and `]` differ from `{` and `}` only in bit 5, and no other byte becomes `{`
/// or `}`.
#[inline]
#[target_feature(enable = "neon")]
fn folded(v: Vectors) -> Vectors {
    v.map(|v| vorrq_u8(v, vdupq_n_u8(0x20)))
}

#[inline]
#[target_feature(enable = "neon")]
fn or([a, b, c, d]: Vectors, [e, f, g, h]: Vectors) -> Vectors {
    [vorrq_u8(a, e), vorrq_u8(b, f), vorrq_u8(c, g), vorrq_u8(d, h)]
}

/// One bit for each byte; the bytes are all ones or all zeros. NEON has no such instruction. Therefore each
/// byte keeps only the bit of its position among eight, and neighbours are added three times.
///
/// ```text
/// bytes              ff 00 ff ff 00 00 00 ff | ...
/// & their positions  01 00 04 08 00 00 00 80 | ...
/// + neighbours       01    0c    00    80    | ...    16 bytes of two vectors become 16 of one
/// + neighbours       0d          80          | ...    those of four
/// + neighbours       8d                      | ...    eight, one byte for each eight bytes of the word
/// ```
#[inline]
#[target_feature(enable = "neon")]
fn bits([a, b, c, d]: Vectors) -> u64 {
    let places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    let [a, b, c, d] = [a, b, c, d].map(|v| vandq_u8(v, places));
    let sum = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)))
}

#[derive(Clone, Copy)]
struct Neon;

// SAFETY: only `run_neon` makes a `Neon`, so NEON is there.
unsafe impl Simd for Neon {
    #[inline(always)]
    fn apart<W: Work>(self, work: W) -> W::Output {
        // SAFETY: only `run_neon` runs this, by the trait's contract, and it enables the features.
        unsafe { run_neon(work) }
    }

    fn outline(self, words: &Stretch, names: bool, outline: &mut Outline) {
        #[inline(never)]
        #[target_feature(enable = "neon")]
        fn outline_here(simd: Neon, words: &Stretch, names: bool, outline: &mut Outline) {
            outline_each(simd, words, names, outline);
        }
        // SAFETY: only `run_neon` runs this, by the trait's contract, and it enables the feature.
        unsafe { outline_here(self, words, names, outline) }
    }

    #[inline(never)]
    fn words_with_ends(self, outline: &Outline, lengths: [u32; 2]) -> u64 {
        outline.words_with_ends(lengths)
    }

    #[inline(always)]
    fn classify(self, word: &[u8; WORD_BYTES]) -> Classes {
        #[inline]
        #[target_feature(enable = "neon")]
        fn classify(word: &[u8; WORD_BYTES]) -> Classes {
            let v = load(word);
            let folded = folded(v);
            Classes {
                quote: bits(find(v, b'"')),
                backslash: bits(find(v, b'\\')),
                newline: bits(find(v, b'\n')),
                open: bits(find(folded, b'{')),
                close: bits(find(folded, b'}')),
                brace: bits(v.map(|v| vtstq_u8(v, vdupq_n_u8(0x20)))),
                separator: bits(or(find(v, b':'), find(v, b','))),
                control: bits(v.map(|v| vcltq_u8(v, vdupq_n_u8(b' ')))) & !bits(find(v, b'\n')),
            }
        }
        // SAFETY: only `run_neon` runs this, by the trait's contract, and it enables the feature.
        unsafe { classify(word) }
    }

    #[inline(always)]
    fn equal(self, word: &[u8; WORD_BYTES], byte: u8) -> u64 {
        #[inline]
        #[target_feature(enable = "neon")]
        fn equal(word: &[u8; WORD_BYTES], byte: u8) -> u64 {
            bits(find(load(word), byte))
        }
        // SAFETY: only `run_neon` runs this, by the trait's contract, and it enables the feature.
        unsafe { equal(word, byte) }
    }

    #[inline(always)]
    fn below(self, word: &[u8; WORD_BYTES], bound: u8) -> u64 {
        #[inline]
        #[target_feature(enable = "neon")]
        fn below(word: &[u8; WORD_BYTES], bound: u8) -> u64 {
            bits(load(word).map(|v| vcltq_u8(v, vdupq_n_u8(bound))))
        }
        // SAFETY: only `run_neon` runs this, by the trait's contract, and it enables the feature.
        unsafe { below(word, bound) }
    }

    #[inline(always)]
    fn may_matter(self, word: &[u8; WORD_BYTES]) -> u64 {
        #[inline]
        #[target_feature(enable = "neon")]
        fn may_matter(word: &[u8; WORD_BYTES]) -> u64 {
            let v = load(word);
            let folded = folded(v);
            let low = v.map(|v| vcltq_u8(v, vdupq_n_u8(b' ')));
            bits(or(or(find(folded, b'{'), find(folded, b'}')), low))
        }
        // SAFETY: only `run_neon` runs this, by the trait's contract, and it enables the feature.
        unsafe { may_matter(word) }
    }

    // `prefix_xor` is the portable one: the carry-less product is an extension that some processors lack.
}
