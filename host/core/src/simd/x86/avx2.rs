//! AVX2, two vectors for each word.

use core::arch::x86_64::*;

use warpath_shared::index::class::Classes;
use warpath_shared::units::WORD_BYTES;

use crate::simd::operations::{Simd, Work, outline_each};
use crate::simd::outline::{Outline, Stretch};

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
pub(crate) fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run(Avx2)
}

/// A carry-less product with all ones is a prefix exclusive or.
#[inline]
#[target_feature(enable = "pclmulqdq")]
fn prefix_xor_clmul(bits: u64) -> u64 {
    let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits as i64), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product) as u64
}

#[inline]
#[target_feature(enable = "bmi2")]
fn gather(bits: u64, mask: u64) -> u64 {
    _pext_u64(bits, mask)
}

#[inline]
#[target_feature(enable = "bmi2")]
fn scatter(bits: u64, mask: u64) -> u64 {
    _pdep_u64(bits, mask)
}

/// The value that a byte must have, with bit 5 set, to matter, by its low four bits; 0 if there is none. A
/// shuffle looks it up, and gives 0 for bytes beyond ASCII.
///
/// ```text
/// a   2a   line feed; also *
/// b   7b   { and [
/// d   7d   } and ]
/// ```
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn folded_by_low_nibble() -> __m128i {
    _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x2a, 0x7b, 0, 0x7d, 0, 0)
}

#[derive(Clone, Copy)]
pub(super) struct Avx2;

// SAFETY: only `run_avx2` and AVX-512 runs, whose features include AVX2, use an `Avx2`.
unsafe impl Simd for Avx2 {
    #[inline(always)]
    fn apart<W: Work>(self, work: W) -> W::Output {
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { run_avx2(work) }
    }

    fn outline(self, words: &Stretch, names: bool, outline: &mut Outline) {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
        fn outline_here(simd: Avx2, words: &Stretch, names: bool, outline: &mut Outline) {
            outline_each(simd, words, names, outline);
        }
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { outline_here(self, words, names, outline) }
    }

    #[inline(always)]
    fn words_with_ends(self, outline: &Outline, lengths: [u32; 2]) -> u64 {
        #[inline(never)]
        #[target_feature(enable = "avx2")]
        fn words_with_ends(outline: &Outline, lengths: [u32; 2]) -> u64 {
            outline.words_with_ends(lengths)
        }
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { words_with_ends(outline, lengths) }
    }

    #[inline(always)]
    fn classify(self, word: &[u8; WORD_BYTES]) -> Classes {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn classify(word: &[u8; WORD_BYTES]) -> Classes {
            let half = |at: usize| {
                // SAFETY: both halves lie within the word, and the load needs no alignment.
                unsafe { _mm256_loadu_si256(word.as_ptr().add(at).cast()) }
            };
            let (low, high) = (half(0), half(32));
            let join = |low: __m256i, high: __m256i| {
                _mm256_movemask_epi8(low) as u32 as u64 | (_mm256_movemask_epi8(high) as u32 as u64) << 32
            };
            let find = |(low, high): (__m256i, __m256i), byte: u8| {
                let byte = _mm256_set1_epi8(byte as i8);
                join(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
            };
            let below = |v| _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1f)), v);
            let bit5 = _mm256_set1_epi8(0x20);
            let folded = (_mm256_or_si256(low, bit5), _mm256_or_si256(high, bit5));
            let v = (low, high);
            Classes {
                quote: find(v, b'"'),
                backslash: find(v, b'\\'),
                newline: find(v, b'\n'),
                open: find(folded, b'{'),
                close: find(folded, b'}'),
                // Bit 5 of each byte moves to the byte's top. Bits that cross into the next byte do not reach
                // its top bit.
                brace: join(_mm256_slli_epi16::<2>(low), _mm256_slli_epi16::<2>(high)),
                separator: find(v, b':') | find(v, b','),
                control: join(below(low), below(high)) & !find(v, b'\n'),
            }
        }
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { classify(word) }
    }

    #[inline(always)]
    fn equal(self, word: &[u8; WORD_BYTES], byte: u8) -> u64 {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn equal(word: &[u8; WORD_BYTES], byte: u8) -> u64 {
            let half = |at: usize| {
                // SAFETY: both halves lie within the word, and the load needs no alignment.
                let half = unsafe { _mm256_loadu_si256(word.as_ptr().add(at).cast()) };
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8))) as u32 as u64
            };
            half(0) | half(32) << 32
        }
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { equal(word, byte) }
    }

    #[inline(always)]
    fn below(self, word: &[u8; WORD_BYTES], bound: u8) -> u64 {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn below(word: &[u8; WORD_BYTES], bound: u8) -> u64 {
            let bound = _mm256_set1_epi8(bound as i8);
            let half = |at: usize| {
                // SAFETY: both halves lie within the word, and the load needs no alignment.
                let half = unsafe { _mm256_loadu_si256(word.as_ptr().add(at).cast()) };
                // A byte that equals the maximum of itself and the bound is not below the bound.
                !_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(half, bound), half)) as u32 as u64
            };
            half(0) | half(32) << 32
        }
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { below(word, bound) }
    }

    #[inline(always)]
    fn may_matter(self, word: &[u8; WORD_BYTES]) -> u64 {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn may_matter(word: &[u8; WORD_BYTES]) -> u64 {
            let half = |at: usize| {
                // SAFETY: both halves lie within the word, and the load needs no alignment.
                let v = unsafe { _mm256_loadu_si256(word.as_ptr().add(at).cast()) };
                let folded = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
                let table = _mm256_broadcastsi128_si256(folded_by_low_nibble());
                let low = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1f)), v);
                let bracket = _mm256_cmpeq_epi8(folded, _mm256_shuffle_epi8(table, v));
                _mm256_movemask_epi8(_mm256_or_si256(bracket, low)) as u32 as u64
            };
            half(0) | half(32) << 32
        }
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { may_matter(word) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: `run_avx2` or an AVX-512 run calls this, by the trait's contract, and enables the features.
        unsafe { prefix_xor_clmul(bits) }
    }

    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `run_avx2` or an AVX-512 run calls this, by the trait's contract, and enables the features.
        unsafe { gather(bits, mask) }
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `run_avx2` or an AVX-512 run calls this, by the trait's contract, and enables the features.
        unsafe { scatter(bits, mask) }
    }

    #[inline(always)]
    fn matches(self, word: u64, hidden: u64, words: &[u64; 4], masks: &[u64; 4]) -> u8 {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn matches(word: u64, hidden: u64, words: &[u64; 4], masks: &[u64; 4]) -> u8 {
            let [word, hidden] = [word, hidden].map(|word| _mm256_set1_epi64x(word as i64));
            let load = |words: &[u64; 4]| {
                // SAFETY: four words are as long as a vector, and the load needs no alignment.
                unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
            };
            let differs = _mm256_or_si256(_mm256_xor_si256(word, load(words)), hidden);
            let equal = _mm256_cmpeq_epi64(_mm256_and_si256(differs, load(masks)), _mm256_setzero_si256());
            _mm256_movemask_pd(_mm256_castsi256_pd(equal)) as u8
        }
        // SAFETY: `run_avx2` or an AVX-512 run calls this, by the trait's contract, and enables AVX2.
        unsafe { matches(word, hidden, words, masks) }
    }
}
