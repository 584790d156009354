//! AVX-512 and AVX2.

use core::arch::x86_64::*;

use super::{Classes, Simd, WORD_BYTES, Work};

#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
pub(super) fn run_avx512<W: Work>(work: W) -> W::Output {
    work.run(Avx512)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
pub(super) fn run_avx2<W: Work>(work: W) -> W::Output {
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

/// What a byte must be, with bit 5 set, to matter: by its low four bits, and 0 where none does. A shuffle looks it up; it
/// gives 0 for bytes beyond ASCII.
///
/// ```text
/// a   2a   line feed; also *
/// b   7b   { and [
/// d   7d   } and ]
/// ```
#[inline]
#[target_feature(enable = "sse2")]
fn folded_by_low_nibble() -> __m128i {
    _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x2a, 0x7b, 0, 0x7d, 0, 0)
}

#[derive(Clone, Copy)]
struct Avx512;

// SAFETY: made only by `run_avx512`.
unsafe impl Simd for Avx512 {
    #[inline(always)]
    fn classify(self, word: &[u8; WORD_BYTES]) -> Classes {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        fn classify(word: &[u8; WORD_BYTES]) -> Classes {
            // SAFETY: a word is 64 bytes, and the load needs no alignment.
            let v = unsafe { _mm512_loadu_si512(word.as_ptr().cast()) };
            let find = |v, byte: u8| _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(byte as i8));
            // [ and ] differ from { and } in bit 5 alone, and nothing else becomes { or } by setting it.
            let folded = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
            Classes {
                quote: find(v, b'"'),
                backslash: find(v, b'\\'),
                newline: find(v, b'\n'),
                open: find(folded, b'{'),
                close: find(folded, b'}'),
                brace: _mm512_test_epi8_mask(v, _mm512_set1_epi8(0x20)),
                separator: find(v, b':') | find(v, b','),
            }
        }
        // SAFETY: within `run_avx512`, by the trait's contract.
        unsafe { classify(word) }
    }

    #[inline(always)]
    fn equal(self, word: &[u8; WORD_BYTES], byte: u8) -> u64 {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        fn equal(word: &[u8; WORD_BYTES], byte: u8) -> u64 {
            // SAFETY: a word is 64 bytes, and the load needs no alignment.
            let v = unsafe { _mm512_loadu_si512(word.as_ptr().cast()) };
            _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(byte as i8))
        }
        // SAFETY: within `run_avx512`, by the trait's contract.
        unsafe { equal(word, byte) }
    }

    #[inline(always)]
    fn may_matter(self, word: &[u8; WORD_BYTES]) -> u64 {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        fn may_matter(word: &[u8; WORD_BYTES]) -> u64 {
            // SAFETY: a word is 64 bytes, and the load needs no alignment.
            let v = unsafe { _mm512_loadu_si512(word.as_ptr().cast()) };
            let folded = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
            let table = _mm512_broadcast_i32x4(folded_by_low_nibble());
            _mm512_cmpeq_epi8_mask(folded, _mm512_shuffle_epi8(table, v))
        }
        // SAFETY: within `run_avx512`, by the trait's contract.
        unsafe { may_matter(word) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: within `run_avx512`, by the trait's contract.
        unsafe { prefix_xor_clmul(bits) }
    }

    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: within `run_avx512`, by the trait's contract.
        unsafe { gather(bits, mask) }
    }
}

#[derive(Clone, Copy)]
struct Avx2;

// SAFETY: made only by `run_avx2`.
unsafe impl Simd for Avx2 {
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
            let bit5 = _mm256_set1_epi8(0x20);
            let folded = (_mm256_or_si256(low, bit5), _mm256_or_si256(high, bit5));
            let v = (low, high);
            Classes {
                quote: find(v, b'"'),
                backslash: find(v, b'\\'),
                newline: find(v, b'\n'),
                open: find(folded, b'{'),
                close: find(folded, b'}'),
                // Bit 5 of each byte moves to its top; what crosses bytes does not reach a top bit.
                brace: join(_mm256_slli_epi16::<2>(low), _mm256_slli_epi16::<2>(high)),
                separator: find(v, b':') | find(v, b','),
            }
        }
        // SAFETY: within `run_avx2`, by the trait's contract.
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
        // SAFETY: within `run_avx2`, by the trait's contract.
        unsafe { equal(word, byte) }
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
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(folded, _mm256_shuffle_epi8(table, v))) as u32 as u64
            };
            half(0) | half(32) << 32
        }
        // SAFETY: within `run_avx2`, by the trait's contract.
        unsafe { may_matter(word) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: within `run_avx2`, by the trait's contract.
        unsafe { prefix_xor_clmul(bits) }
    }

    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: within `run_avx2`, by the trait's contract.
        unsafe { gather(bits, mask) }
    }
}
