//! AVX-512, one vector for each word.

use core::arch::x86_64::*;

use warpath_shared::index::class::Classes;
use warpath_shared::units::WORD_BYTES;

use super::avx2::{Avx2, folded_by_low_nibble};
use super::gfni::outline_gfni;
use crate::simd::operations::{Simd, Work, classify_busy};
use crate::simd::outline::{Carry, Outline, Stretch, WORDS, escaped};

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
pub(crate) fn run_avx512<W: Work>(work: W, by: Avx512) -> W::Output {
    work.run(by)
}

/// [`Simd::outline`]: four classes of each word, then the strings of eight words at once.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn outline_avx512(words: &Stretch, names: bool, outline: &mut Outline) {
    let simd = Avx512 { has_gfni: false };
    outline.busy = 0;
    for (at, word) in words.iter().enumerate().take(outline.words) {
        outline.quote[1 + at] = simd.equal(word, b'"');
        outline.backslash[1 + at] = simd.equal(word, b'\\');
        outline.colon[at] = simd.equal(word, b':');
        outline.busy |= ((simd.may_matter(word) != 0) as u64) << at;
    }
    find_strings(names, outline, |quotes| {
        let mut inside = quotes;
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<1>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<2>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<4>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<8>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<16>(inside));
        _mm512_xor_si512(inside, _mm512_slli_epi64::<32>(inside))
    });
    classify_busy(simd, words, outline);
}

/// Finds strings and odd colons, for eight words at once. All quotes, backslashes and colons must have been
/// found. `prefix_xor` works on each word separately.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512dq")]
pub(super) fn find_strings(names: bool, outline: &mut Outline, prefix_xor: impl Fn(__m512i) -> __m512i) {
    let Outline { words, string, quote, backslash, colon, odd, odd_words, carry, .. } = outline;
    let ones = _mm512_set1_epi64(-1);
    let uneven = _mm512_set1_epi64(0xaaaa_aaaa_aaaa_aaaau64 as i64);
    // The state that eight words pass to the next eight: the open string, the words after which an escape is
    // pending, the rest of `Carry`, and the quotes.
    let mut open = (string[0] >> 63) as u32;
    let mut pending = _mm512_set1_epi64(carry.escape as i64);
    let mut spelt = carry.spelt as u32;
    let mut spelt_ends_before = _mm512_set1_epi64(carry.spelt_end as i64);
    let mut quotes_before = _mm512_set1_epi64(quote[0] as i64);
    *odd_words = 0;
    for at in (0..WORDS.min(*words)).step_by(8) {
        let (quotes, backslashes) = (load(&quote[1 + at..]), load(&backslash[1 + at..]));
        let quotes = if _mm512_cmpeq_epi64_mask(backslashes, ones) != 0 {
            // A word of backslashes only: the escape pending after it is the one pending before it.
            let (mut all, runs) = (to_array(quotes), to_array(backslashes));
            let mut before = to_array(pending)[7];
            for (quotes, run) in all.iter_mut().zip(runs) {
                *quotes &= !escaped(run, &mut before);
            }
            pending = _mm512_set1_epi64(before as i64);
            from_array(all)
        } else {
            // The same steps as in `escaped`.
            let runs = _mm512_lzcnt_epi64(_mm512_xor_si512(backslashes, ones));
            let after = _mm512_and_si512(runs, _mm512_set1_epi64(1));
            let before = _mm512_alignr_epi64::<7>(after, pending);
            pending = after;
            let may_escape = _mm512_andnot_si512(before, backslashes);
            let codes = _mm512_or_si512(_mm512_slli_epi64::<1>(may_escape), uneven);
            let codes = _mm512_xor_si512(_mm512_sub_epi64(codes, may_escape), uneven);
            let escaped = _mm512_xor_si512(codes, _mm512_or_si512(backslashes, before));
            _mm512_andnot_si512(escaped, quotes)
        };
        // After a word with an odd number of quotes, inside and outside are swapped.
        let inside = prefix_xor(quotes);
        let mut odds = _mm512_movepi64_mask(inside) as u32;
        odds ^= odds << 1;
        odds ^= odds << 2;
        odds ^= odds << 4;
        let turned = odds << 1 ^ open.wrapping_neg();
        open ^= odds >> 7 & 1;
        let inside = _mm512_mask_xor_epi64(inside, turned as u8, inside, ones);
        store(inside, &mut string[1 + at..]);
        store(quotes, &mut quote[1 + at..]);
        let one_on = |words, before| {
            let top = _mm512_srli_epi64::<63>(_mm512_alignr_epi64::<7>(words, before));
            _mm512_or_si512(_mm512_slli_epi64::<1>(words), top)
        };
        let colons = _mm512_andnot_si512(inside, load(&colon[at..]));
        let behind_quotes = one_on(quotes, quotes_before);
        quotes_before = quotes;
        if !names {
            let odds = _mm512_andnot_si512(behind_quotes, colons);
            store(odds, &mut odd[at..]);
            *odd_words |= (_mm512_test_epi64_mask(odds, odds) as u64) << at;
            continue;
        }
        // The same steps as in `Carry::odd`. The carries of eight sums are found like those of one sum of
        // eight bits.
        let sums = _mm512_add_epi64(inside, _mm512_and_si512(inside, backslashes));
        let carries = _mm512_cmplt_epu64_mask(sums, inside) as u32;
        let full = _mm512_cmpeq_epi64_mask(sums, ones) as u32;
        let carried = (carries << 1 | spelt).wrapping_add(full) ^ full;
        spelt = carried >> 8 & 1;
        let sums = _mm512_mask_sub_epi64(sums, carried as u8, sums, ones);
        let spelt_ends = _mm512_andnot_si512(inside, _mm512_and_si512(sums, quotes));
        let usual = _mm512_andnot_si512(one_on(spelt_ends, spelt_ends_before), behind_quotes);
        spelt_ends_before = spelt_ends;
        let odds = _mm512_andnot_si512(usual, colons);
        store(colons, &mut colon[at..]);
        store(odds, &mut odd[at..]);
        *odd_words |= (_mm512_test_epi64_mask(odds, odds) as u64) << at;
    }
    let last = |words| to_array(words)[7];
    *carry = Carry { escape: last(pending), spelt: spelt as u64, spelt_end: last(spelt_ends_before) };
}

/// [`Outline::words_with_ends`], eight words at once.
#[inline(never)]
#[target_feature(enable = "avx512f")]
fn words_with_ends_avx512(outline: &Outline, lengths: [u32; 2]) -> u64 {
    let mut found = 0;
    // Shifts by 64 or more give 0. A length of 0 has such a shift.
    let [(left_1, right_1), (left_2, right_2)] =
        lengths.map(|length| (_mm_cvtsi64_si128(length as i64), _mm_cvtsi64_si128(64 - length as i64)));
    for at in (0..WORDS.min(outline.words)).step_by(8) {
        let (quotes, before) = (load(&outline.quote[1 + at..]), load(&outline.quote[at..]));
        let one = _mm512_or_si512(_mm512_sll_epi64(quotes, left_1), _mm512_srl_epi64(before, right_1));
        let two = _mm512_or_si512(_mm512_sll_epi64(quotes, left_2), _mm512_srl_epi64(before, right_2));
        let ends = _mm512_test_epi64_mask(load(&outline.colon[at..]), _mm512_or_si512(one, two));
        found |= (ends as u64) << at;
    }
    found
}

/// The first eight of some words; the slice must have at least eight.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64]) -> __m512i {
    words.first_chunk().map_or(_mm512_setzero_si512(), |eight| from_array(*eight))
}

/// Writes the first eight of some words; the slice must have at least eight.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(eight: __m512i, words: &mut [u64]) {
    if let Some(words) = words.first_chunk_mut() {
        *words = to_array(eight);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn to_array(words: __m512i) -> [u64; 8] {
    // SAFETY: both types are eight words of 64 bits, in the same order.
    unsafe { core::mem::transmute(words) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn from_array(words: [u64; 8]) -> __m512i {
    // SAFETY: both types are eight words of 64 bits, in the same order.
    unsafe { core::mem::transmute(words) }
}

/// AVX-512, with or without GFNI. Both have the same code but for the outline, which is a function of its own
/// anyway: one instance less of all work to compile.
#[derive(Clone, Copy)]
pub(crate) struct Avx512 {
    /// True if the features of [`run_avx512_gfni`](super::gfni::run_avx512_gfni) are there, too.
    pub has_gfni: bool,
}

impl Avx512 {
    pub(super) const WITH_GFNI: Self = Self { has_gfni: true };
}

// SAFETY: only `run_avx512` and code with at least its features use an `Avx512`.
unsafe impl Simd for Avx512 {
    #[inline(always)]
    fn apart<W: Work>(self, work: W) -> W::Output {
        // SAFETY: `run_avx512` runs this, by the trait's contract, and it enables the features.
        unsafe { run_avx512(work, self) }
    }

    fn outline(self, words: &Stretch, names: bool, outline: &mut Outline) {
        if self.has_gfni {
            // SAFETY: `has_gfni` says that the features are there.
            unsafe { outline_gfni(words, names, outline) }
        } else {
            // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
            // features.
            unsafe { outline_avx512(words, names, outline) }
        }
    }

    #[inline(always)]
    fn words_with_ends(self, outline: &Outline, lengths: [u32; 2]) -> u64 {
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { words_with_ends_avx512(outline, lengths) }
    }

    #[inline(always)]
    fn classify(self, word: &[u8; WORD_BYTES]) -> Classes {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        fn classify(word: &[u8; WORD_BYTES]) -> Classes {
            // SAFETY: a word is 64 bytes, and the load needs no alignment.
            let v = unsafe { _mm512_loadu_si512(word.as_ptr().cast()) };
            let find = |v, byte: u8| _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(byte as i8));
            // `[` and `]` differ from `{` and `}` only in bit 5, and no other byte becomes `{` or `}` when it
            // is set.
            let folded = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
            Classes {
                quote: find(v, b'"'),
                backslash: find(v, b'\\'),
                newline: find(v, b'\n'),
                open: find(folded, b'{'),
                close: find(folded, b'}'),
                brace: _mm512_test_epi8_mask(v, _mm512_set1_epi8(0x20)),
                separator: find(v, b':') | find(v, b','),
                control: _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(0x20)) & !find(v, b'\n'),
            }
        }
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
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
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { equal(word, byte) }
    }

    #[inline(always)]
    fn below(self, word: &[u8; WORD_BYTES], bound: u8) -> u64 {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        fn below(word: &[u8; WORD_BYTES], bound: u8) -> u64 {
            // SAFETY: a word is 64 bytes, and the load needs no alignment.
            let v = unsafe { _mm512_loadu_si512(word.as_ptr().cast()) };
            _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(bound as i8))
        }
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { below(word, bound) }
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
            let low = _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(0x20));
            _mm512_cmpeq_epi8_mask(folded, _mm512_shuffle_epi8(table, v)) | low
        }
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { may_matter(word) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        Avx2.prefix_xor(bits)
    }

    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        Avx2.gather(bits, mask)
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        Avx2.scatter(bits, mask)
    }

    #[inline(always)]
    fn matches(self, word: u64, hidden: u64, words: &[u64; 4], masks: &[u64; 4]) -> u8 {
        Avx2.matches(word, hidden, words, masks)
    }
}
