//! AVX-512 and AVX2.

use core::arch::x86_64::*;

use super::{
    Classes, EXPANDED, Outline, Simd, Stretch, WORD_BYTES, Work, classify_busy, escaped, outline_each,
};
use crate::simd::outline::{Carry, WORDS};

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
)]
pub(super) fn run_avx512_gfni<W: Work>(work: W) -> W::Output {
    work.run(Avx512Gfni)
}

#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
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
fn folded_by_low_nibble() -> __m128i {
    _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x2a, 0x7b, 0, 0x7d, 0, 0)
}

/// Looks up a byte's classes, one bit each, by its low and by its high four bits. Then it transposes the
/// bits, first within each eight bytes.
///
/// ```text
/// class        bit   low      high
/// quote         0    2        2
/// backslash     1    c        5
/// colon         2    a        3
/// comma         3    c        2
/// open          4    b        5 7
/// close         5    d        5 7
/// brace         6    b d      7
/// newline       7    a        0
/// ```
///
/// A byte has the classes that are in both tables. The first table gives none to bytes beyond ASCII.
struct Transposer {
    low: __m512i,
    high: __m512i,
}

impl Transposer {
    const QUOTE: i8 = 1;
    const BACKSLASH: i8 = 1 << 1;
    const COLON: i8 = 1 << 2;
    const COMMA: i8 = 1 << 3;
    const OPEN: i8 = 1 << 4;
    const CLOSE: i8 = 1 << 5;
    const BRACE: i8 = 1 << 6;
    const NEWLINE: i8 = -1 << 7;
    /// The classes that make a word busy.
    const BUSY: i8 = Self::OPEN | Self::CLOSE | Self::NEWLINE;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new() -> Self {
        let brackets = Self::OPEN | Self::CLOSE;
        let (a, b) = (Self::COLON | Self::NEWLINE, Self::OPEN | Self::BRACE);
        let (c, d) = (Self::BACKSLASH | Self::COMMA, Self::CLOSE | Self::BRACE);
        let low = _mm_setr_epi8(0, 0, Self::QUOTE, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, 0, 0);
        let (two, five) = (Self::QUOTE | Self::COMMA, Self::BACKSLASH | brackets);
        let seven = Self::BRACE | brackets;
        let high =
            _mm_setr_epi8(Self::NEWLINE, 0, two, Self::COLON, 0, five, 0, seven, 0, 0, 0, 0, 0, 0, 0, 0);
        Self { low: _mm512_broadcast_i32x4(low), high: _mm512_broadcast_i32x4(high) }
    }

    /// The classes of a word, in the memory layout of [`Planes`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn planes(&self, word: &[u8; WORD_BYTES]) -> __m512i {
        // SAFETY: a word is 64 bytes, and the load needs no alignment.
        let v = unsafe { _mm512_loadu_si512(word.as_ptr().cast()) };
        // Each eight bytes in reverse order, as the transposition takes them: first the bytes, then the bytes
        // shifted right by 4 bits. The bits above the high four do not matter, because that table is repeated
        // four times.
        let bytes = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0008_1018_2028_3038), v);
        let shifted = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x040c_141c_242c_343c), v);
        let low = _mm512_shuffle_epi8(self.low, bytes);
        let classes = _mm512_and_si512(low, _mm512_permutexvar_epi8(shifted, self.high));
        // Byte k of each eight bytes: the bits k of these bytes.
        let one_bit = _mm512_set1_epi64(0x8040_2010_0804_0201u64 as i64);
        let planes = _mm512_gf2p8affine_epi64_epi8::<0>(one_bit, classes);
        // The bytes k of all groups of eight, side by side.
        let [a, b, c, d, e, f, g, h] = PLACES.map(|places| places as i64);
        _mm512_permutexvar_epi8(_mm512_setr_epi64(a, b, c, d, e, f, g, h), planes)
    }
}

/// [`Simd::outline`]: the planes of each word, then the strings of eight words at once.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,gfni,vpclmulqdq")]
fn outline_gfni(words: &Stretch, names: bool, outline: &mut Outline) {
    let transposer = Transposer::new();
    // The classes that each word has, one bit each.
    let mut kinds = [0u8; WORD_BYTES];
    let (eights, _) = words.as_chunks::<8>();
    for (eight, words) in eights.iter().enumerate() {
        let at = 8 * eight;
        let mut each = [_mm512_setzero_si512(); 8];
        for (i, word) in words.iter().enumerate() {
            each[i] = transposer.planes(word);
            // SAFETY: `Planes` has the size and the alignment of a vector.
            unsafe { _mm512_store_si512((&raw mut outline.planes[at + i]).cast(), each[i]) };
            kinds[at + i] = _mm512_test_epi64_mask(each[i], each[i]);
        }
        // The first four planes of two words, then of four, then of eight.
        let two = |a: usize, b: usize| _mm512_inserti64x4::<1>(each[a], _mm512_castsi512_si256(each[b]));
        let (even, uneven) = ([two(0, 2), two(4, 6)], [two(1, 3), two(5, 7)]);
        let low = [_mm512_unpacklo_epi64(even[0], uneven[0]), _mm512_unpacklo_epi64(even[1], uneven[1])];
        let high = [_mm512_unpackhi_epi64(even[0], uneven[0]), _mm512_unpackhi_epi64(even[1], uneven[1])];
        let quotes = _mm512_shuffle_i64x2::<0b10_00_10_00>(low[0], low[1]);
        let backslashes = _mm512_shuffle_i64x2::<0b10_00_10_00>(high[0], high[1]);
        let colons = _mm512_shuffle_i64x2::<0b11_01_11_01>(low[0], low[1]);
        store(quotes, &mut outline.quote[1 + at..]);
        store(backslashes, &mut outline.backslash[1 + at..]);
        store(colons, &mut outline.colon[at..]);
    }
    // SAFETY: the array is as long as a vector, and the load needs no alignment.
    let kinds = unsafe { _mm512_loadu_si512(kinds.as_ptr().cast()) };
    outline.busy = _mm512_test_epi8_mask(kinds, _mm512_set1_epi8(Transposer::BUSY));
    find_strings(names, outline, |quotes| {
        let ones = _mm512_set1_epi64(-1);
        let even = _mm512_clmulepi64_epi128::<0>(quotes, ones);
        _mm512_unpacklo_epi64(even, _mm512_clmulepi64_epi128::<1>(quotes, ones))
    });
}

/// [`Simd::outline`]: three or four classes of each word, then the strings of eight words at once.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn outline_avx512(words: &Stretch, names: bool, outline: &mut Outline) {
    let simd = Avx512;
    outline.busy = 0;
    for (at, word) in words.iter().enumerate() {
        outline.quote[1 + at] = simd.equal(word, b'"');
        outline.backslash[1 + at] = simd.equal(word, b'\\');
        if names {
            outline.colon[at] = simd.equal(word, b':');
        }
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
fn find_strings(names: bool, outline: &mut Outline, prefix_xor: impl Fn(__m512i) -> __m512i) {
    let Outline { string, quote, backslash, colon, odd, odd_words, carry, .. } = outline;
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
    for at in (0..WORDS).step_by(8) {
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
        if !names {
            continue;
        }
        // The same steps as in `Carry::odd`. The carries of eight sums are found like those of one sum of
        // eight bits.
        let colons = _mm512_andnot_si512(inside, load(&colon[at..]));
        let sums = _mm512_add_epi64(inside, _mm512_and_si512(inside, backslashes));
        let carries = _mm512_cmplt_epu64_mask(sums, inside) as u32;
        let full = _mm512_cmpeq_epi64_mask(sums, ones) as u32;
        let carried = (carries << 1 | spelt).wrapping_add(full) ^ full;
        spelt = carried >> 8 & 1;
        let sums = _mm512_mask_sub_epi64(sums, carried as u8, sums, ones);
        let spelt_ends = _mm512_andnot_si512(inside, _mm512_and_si512(sums, quotes));
        let one_on = |words, before| {
            let top = _mm512_srli_epi64::<63>(_mm512_alignr_epi64::<7>(words, before));
            _mm512_or_si512(_mm512_slli_epi64::<1>(words), top)
        };
        let usual = _mm512_andnot_si512(one_on(spelt_ends, spelt_ends_before), one_on(quotes, quotes_before));
        (spelt_ends_before, quotes_before) = (spelt_ends, quotes);
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
    for at in (0..WORDS).step_by(8) {
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
fn store(eight: __m512i, words: &mut [u64]) {
    if let Some(words) = words.first_chunk_mut() {
        *words = to_array(eight);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn to_array(words: __m512i) -> [u64; 8] {
    // SAFETY: both types are eight words of 64 bits, in the same order.
    unsafe { core::mem::transmute(words) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn from_array(words: [u64; 8]) -> __m512i {
    // SAFETY: both types are eight words of 64 bits, in the same order.
    unsafe { core::mem::transmute(words) }
}

/// Every eighth byte of 64: from the first, from the second, and so on.
const PLACES: [u64; 8] = {
    let mut places = [0; 8];
    let mut k = 0;
    while k < 8 {
        places[k as usize] = 0x3830_2820_1810_0800 + k * 0x0101_0101_0101_0101;
        k += 1;
    }
    places
};

#[derive(Clone, Copy)]
struct Avx512Gfni;

// SAFETY: only `run_avx512_gfni` makes an `Avx512Gfni`, so its features are there.
unsafe impl Simd for Avx512Gfni {
    fn outline(self, words: &Stretch, names: bool, outline: &mut Outline) {
        // SAFETY: only `run_avx512_gfni` runs this, by the trait's contract, and it enables the features.
        unsafe { outline_gfni(words, names, outline) }
    }

    #[inline(always)]
    fn words_with_ends(self, outline: &Outline, lengths: [u32; 2]) -> u64 {
        Avx512.words_with_ends(outline, lengths)
    }

    #[inline(always)]
    fn classify(self, word: &[u8; WORD_BYTES]) -> Classes {
        Avx512.classify(word)
    }

    #[inline(always)]
    fn equal(self, word: &[u8; WORD_BYTES], byte: u8) -> u64 {
        Avx512.equal(word, byte)
    }

    #[inline(always)]
    fn below(self, word: &[u8; WORD_BYTES], bound: u8) -> u64 {
        Avx512.below(word, bound)
    }

    #[inline(always)]
    fn may_matter(self, word: &[u8; WORD_BYTES]) -> u64 {
        Avx512.may_matter(word)
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        Avx512.prefix_xor(bits)
    }

    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        Avx512.gather(bits, mask)
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        Avx512.scatter(bits, mask)
    }

    #[inline(always)]
    fn matches(self, word: u64, hidden: u64, words: &[u64; 4], masks: &[u64; 4]) -> u8 {
        Avx512.matches(word, hidden, words, masks)
    }

    const EXPANDS: bool = true;

    #[inline(always)]
    fn expand(
        self,
        codes: &[u8; 64],
        others: u64,
        words: &[u64; 512],
        masks: &[u8; 256],
        room: &mut [u8; EXPANDED],
    ) -> (usize, u64) {
        // SAFETY: only `run_avx512_gfni` runs this, by the trait's contract, and it enables the features.
        unsafe { expand(codes, others, words, masks, room) }
    }
}

/// [`Simd::expand`], eight codes at a time. One gather loads their words, and one instruction moves the bytes
/// of the masks side by side.
///
/// ```text
/// words     t h e _ _ _ _ _   h t t p s : / /   e _ _ _ _ _ _ _  …
/// masks     1 1 1 0 0 0 0 0   1 1 1 1 1 1 1 1   1 0 0 0 0 0 0 0  …
/// written   t h e h t t p s : / / e …
/// ```
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn expand(
    codes: &[u8; 64],
    others: u64,
    words: &[u64; 512],
    masks: &[u8; 256],
    room: &mut [u8; EXPANDED],
) -> (usize, u64) {
    // SAFETY: each load reads 64 bytes within its array, and loads need no alignment.
    let (all, table) = unsafe {
        let table = [0, 64, 128, 192].map(|at| _mm512_loadu_si512(masks.as_ptr().add(at).cast()));
        (_mm512_loadu_si512(codes.as_ptr().cast()), table)
    };
    // Each look-up takes the lower 7 bits of a code; the highest bit selects one of the two.
    let low = _mm512_permutex2var_epi8(table[0], all, table[1]);
    let high = _mm512_permutex2var_epi8(table[2], all, table[3]);
    let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(all), low, high);
    let found = _mm512_mask_mov_epi8(found, others, _mm512_set1_epi8(1));
    let none = _mm512_testn_epi8_mask(found, found);
    let mut end = 0;
    for (group, mask) in to_array(found).into_iter().enumerate() {
        // SAFETY: these are eight of the 64 codes, and the load needs no alignment.
        let codes = unsafe { _mm_loadl_epi64(codes.as_ptr().add(8 * group).cast()) };
        let places = _mm512_cvtepu8_epi64(codes);
        let places =
            _mm512_mask_or_epi64(places, (others >> (8 * group)) as u8, places, _mm512_set1_epi64(256));
        // SAFETY: `places` are below 512, the number of words. At most 8 bytes for each earlier code are
        // before `end`, and 64 are written. `EXPANDED` has room for that after the last group.
        unsafe {
            let words = _mm512_i64gather_epi64::<8>(places, words.as_ptr().cast());
            let side_by_side = _mm512_maskz_compress_epi8(mask, words);
            _mm512_storeu_si512(room.as_mut_ptr().add(end).cast(), side_by_side);
        }
        end += mask.count_ones() as usize;
    }
    (end, none)
}

#[derive(Clone, Copy)]
struct Avx512;

// SAFETY: only `run_avx512` and code with at least its features use an `Avx512`.
unsafe impl Simd for Avx512 {
    fn outline(self, words: &Stretch, names: bool, outline: &mut Outline) {
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { outline_avx512(words, names, outline) }
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
            _mm512_cmpeq_epi8_mask(folded, _mm512_shuffle_epi8(table, v))
        }
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { may_matter(word) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { prefix_xor_clmul(bits) }
    }

    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { gather(bits, mask) }
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `run_avx512` or `run_avx512_gfni` runs this, by the trait's contract; both enable the
        // features.
        unsafe { scatter(bits, mask) }
    }

    #[inline(always)]
    fn matches(self, word: u64, hidden: u64, words: &[u64; 4], masks: &[u64; 4]) -> u8 {
        Avx2.matches(word, hidden, words, masks)
    }
}

#[derive(Clone, Copy)]
struct Avx2;

// SAFETY: only `run_avx2` and AVX-512 runs, whose features include AVX2, use an `Avx2`.
unsafe impl Simd for Avx2 {
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
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(folded, _mm256_shuffle_epi8(table, v))) as u32 as u64
            };
            half(0) | half(32) << 32
        }
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { may_matter(word) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { prefix_xor_clmul(bits) }
    }

    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
        unsafe { gather(bits, mask) }
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `run_avx2` runs this, by the trait's contract, and it enables the features.
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
