//! AVX-512 with byte permutations, GFNI and carry-less multiplication of vectors: the outline, and
//! [`Simd::expand`]. All other work is that of [`Avx512`].

use core::arch::x86_64::*;

use warpath_shared::index::class::Classes;
use warpath_shared::units::WORD_BYTES;

use super::avx512::{Avx512, find_strings, store, to_array};
use crate::simd::operations::{EXPANDED, Simd, Work};
use crate::simd::outline::{Outline, Stretch};

#[inline(never)]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vbmi,avx512vbmi2,gfni,vpclmulqdq,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
)]
pub(crate) fn run_avx512_gfni<W: Work>(work: W) -> W::Output {
    work.run(Avx512Gfni)
}

/// Looks up a byte's classes, one bit each, by its low and by its high four bits. Then it transposes the
/// bits, first within each eight bytes.
///
/// ```text
/// class        bit   low      high
/// quote         0    2        2
/// backslash     1    c        5
/// colon         2    a        3
/// below 0x20    3    all      0 1
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
    const LOW: i8 = 1 << 3;
    const OPEN: i8 = 1 << 4;
    const CLOSE: i8 = 1 << 5;
    const BRACE: i8 = 1 << 6;
    const NEWLINE: i8 = -1 << 7;
    /// The classes that make a word busy.
    const BUSY: i8 = Self::OPEN | Self::CLOSE | Self::LOW;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new() -> Self {
        let brackets = Self::OPEN | Self::CLOSE;
        let (a, b) = (Self::COLON | Self::NEWLINE, Self::OPEN | Self::BRACE);
        let (c, d) = (Self::BACKSLASH, Self::CLOSE | Self::BRACE);
        let low = _mm_setr_epi8(0, 0, Self::QUOTE, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, 0, 0);
        let low = _mm_or_si128(low, _mm_set1_epi8(Self::LOW));
        let (zero, one) = (Self::NEWLINE | Self::LOW, Self::LOW);
        let (two, five, seven) = (Self::QUOTE, Self::BACKSLASH | brackets, Self::BRACE | brackets);
        let high = _mm_setr_epi8(zero, one, two, Self::COLON, 0, five, 0, seven, 0, 0, 0, 0, 0, 0, 0, 0);
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
pub(super) fn outline_gfni(words: &Stretch, names: bool, outline: &mut Outline) {
    let transposer = Transposer::new();
    // The classes that each word has, one bit each.
    let mut kinds = [0u8; WORD_BYTES];
    let (eights, _) = words.as_chunks::<8>();
    for (eight, words) in eights.iter().enumerate().take(outline.words / 8) {
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
    outline.low_words = _mm512_test_epi8_mask(kinds, _mm512_set1_epi8(Transposer::LOW));
    find_strings(names, outline, |quotes| {
        let ones = _mm512_set1_epi64(-1);
        let even = _mm512_clmulepi64_epi128::<0>(quotes, ones);
        _mm512_unpacklo_epi64(even, _mm512_clmulepi64_epi128::<1>(quotes, ones))
    });
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
    #[inline(always)]
    fn apart<W: Work>(self, work: W) -> W::Output {
        // SAFETY: only `run_avx512_gfni` runs this, by the trait's contract, and it enables the features.
        unsafe { run_avx512_gfni(work) }
    }

    fn outline(self, words: &Stretch, names: bool, outline: &mut Outline) {
        Avx512::WITH_GFNI.outline(words, names, outline);
    }

    #[inline(always)]
    fn words_with_ends(self, outline: &Outline, lengths: [u32; 2]) -> u64 {
        Avx512::WITH_GFNI.words_with_ends(outline, lengths)
    }

    #[inline(always)]
    fn classify(self, word: &[u8; WORD_BYTES]) -> Classes {
        Avx512::WITH_GFNI.classify(word)
    }

    #[inline(always)]
    fn equal(self, word: &[u8; WORD_BYTES], byte: u8) -> u64 {
        Avx512::WITH_GFNI.equal(word, byte)
    }

    #[inline(always)]
    fn below(self, word: &[u8; WORD_BYTES], bound: u8) -> u64 {
        Avx512::WITH_GFNI.below(word, bound)
    }

    #[inline(always)]
    fn may_matter(self, word: &[u8; WORD_BYTES]) -> u64 {
        Avx512::WITH_GFNI.may_matter(word)
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        Avx512::WITH_GFNI.prefix_xor(bits)
    }

    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        Avx512::WITH_GFNI.gather(bits, mask)
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        Avx512::WITH_GFNI.scatter(bits, mask)
    }

    #[inline(always)]
    fn matches(self, word: u64, hidden: u64, words: &[u64; 4], masks: &[u64; 4]) -> u8 {
        Avx512::WITH_GFNI.matches(word, hidden, words, masks)
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
