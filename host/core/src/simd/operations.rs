//! The operations on a word of text, and their portable form.

use warpath_shared::index::class::Classes;
use warpath_shared::index::string::prefix_xor;
use warpath_shared::units::WORD_BYTES;

use super::outline::{Outline, Planes, Stretch, escaped};

/// The operations on a word of text, in the instructions of one processor.
///
/// # Safety
/// Implementations may need instructions beyond the target's baseline. Their functions are called only within
/// the arm of [`Isa::run`](super::Isa::run) for the features that they name.
pub unsafe trait Simd: Copy {
    /// Outlines the first [`Outline::words`] of a stretch of text, with or without `names`. It is compiled
    /// separately from its caller, so that each has all registers for itself.
    fn outline(self, words: &Stretch, names: bool, outline: &mut Outline);
    /// [`Outline::words_with_ends`].
    fn words_with_ends(self, outline: &Outline, lengths: [u32; 2]) -> u64;
    /// The classes of a word.
    fn classify(self, word: &[u8; WORD_BYTES]) -> Classes;
    /// The positions of one byte in a word.
    fn equal(self, word: &[u8; WORD_BYTES], byte: u8) -> u64;
    /// The positions of bytes below a bound of at most 0x80.
    fn below(self, word: &[u8; WORD_BYTES], bound: u8) -> u64;
    /// The positions of brackets and bytes below 0x20 in a word, and possibly of other bytes.
    fn may_matter(self, word: &[u8; WORD_BYTES]) -> u64;
    /// Bit *i* of the result is the exclusive or of bits 0 to *i*.
    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        prefix_xor(bits)
    }
    /// The bits of `bits` at the positions of `mask`, side by side from bit 0.
    #[inline(always)]
    fn gather(self, bits: u64, mut mask: u64) -> u64 {
        let (mut gathered, mut to) = (0, 0);
        while mask != 0 {
            gathered |= (bits >> mask.trailing_zeros() & 1) << to;
            to += 1;
            mask &= mask - 1;
        }
        gathered
    }
    /// The lowest bits of `bits`, from bit 0 on, moved to the positions of `mask`. This is the inverse of
    /// [`gather`](Self::gather).
    #[inline(always)]
    fn scatter(self, mut bits: u64, mut mask: u64) -> u64 {
        let mut scattered = 0;
        while mask != 0 {
            scattered |= (bits & 1) << mask.trailing_zeros();
            bits >>= 1;
            mask &= mask - 1;
        }
        scattered
    }
    /// Compares `word` with four words, each under its mask. Bit *i* is set if word *i* is equal in the bits
    /// of its mask, and its mask contains no bit of `hidden`.
    #[inline(always)]
    fn matches(self, word: u64, hidden: u64, words: &[u64; 4], masks: &[u64; 4]) -> u8 {
        let each = words.iter().zip(masks).enumerate();
        each.fold(0, |found, (at, (other, mask))| {
            found | u8::from(((word ^ other) | hidden) & mask == 0) << at
        })
    }
    /// Does work in a function of its own. What is inlined into several callers is compiled for each of them
    /// and for each instruction set, which takes seconds of a build.
    fn apart<W: Work>(self, work: W) -> W::Output;
    /// True if [`expand`](Self::expand) exists.
    const EXPANDS: bool = false;
    /// Writes the words of 64 codes side by side. The mask of a code has one bit for each byte of its word
    /// that is written. The word of a code is among the first 256 words. For one of `others` it is among the
    /// rest, and one byte of it is written.
    ///
    /// Returns the number of bytes written, and the codes that have no bytes. After these bytes, others may
    /// be overwritten.
    ///
    /// # Panics
    /// If [`EXPANDS`](Self::EXPANDS) is false.
    fn expand(
        self,
        _codes: &[u8; 64],
        _others: u64,
        _words: &[u64; 512],
        _masks: &[u8; 256],
        _room: &mut [u8; EXPANDED],
    ) -> (usize, u64) {
        unreachable!("EXPANDS says that it is not there")
    }
}

/// Bytes that [`Simd::expand`] may write to: 8 for each code, and the excess of the last write.
pub const EXPANDED: usize = 64 * 8 + 64;

/// [`Simd::outline`], one word after the other. It finds four classes of each word, and the other
/// classes of words that may have brackets.
#[inline(always)]
pub(super) fn outline_each<S: Simd>(simd: S, words: &Stretch, names: bool, outline: &mut Outline) {
    let Outline { words: count, string, quote, backslash, busy, colon, odd, odd_words, carry, .. } =
        &mut *outline;
    let (mut open, mut told, mut matter) = ((string[0] as i64) >> 63, *carry, 0);
    *odd_words = 0;
    for (at, word) in words.iter().enumerate().take(*count) {
        let backslashes = simd.equal(word, b'\\');
        let quotes = simd.equal(word, b'"') & !escaped(backslashes, &mut told.escape);
        let inside = simd.prefix_xor(quotes) ^ open as u64;
        (string[at + 1], quote[at + 1], backslash[at + 1]) = (inside, quotes, backslashes);
        open = (inside as i64) >> 63;
        matter |= ((simd.may_matter(word) != 0) as u64) << at;
        colon[at] = simd.equal(word, b':') & !inside;
        odd[at] = if names {
            told.odd(colon[at], inside, backslashes, quotes, quote[at])
        } else {
            colon[at] & !(quotes << 1 | quote[at] >> 63)
        };
        *odd_words |= ((odd[at] != 0) as u64) << at;
    }
    (*busy, *carry) = (matter, told);
    classify_busy(simd, words, outline);
}

/// Finds the classes of the busy words.
#[inline(always)]
pub(super) fn classify_busy<S: Simd>(simd: S, words: &Stretch, outline: &mut Outline) {
    let mut left = outline.busy;
    outline.low_words = 0;
    while left != 0 {
        let at = left.trailing_zeros() as usize;
        left &= left - 1;
        let Classes { open, close, brace, newline, control, .. } = simd.classify(&words[at]);
        let low = control | newline;
        outline.low_words |= ((low != 0) as u64) << at;
        outline.planes[at] = Planes { open, close, brace, newline, low, ..Planes::default() };
    }
}

/// Work that is compiled once for each instruction set.
pub trait Work {
    /// The result of the work.
    type Output;
    /// Does the work. Implementations are `#[inline(always)]`, so that they are compiled for the caller's
    /// features.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Eight bytes at a time in general registers.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Portable {
    /// Bit *i* is set if byte *i* of `lane` equals `byte`.
    ///
    /// ```text
    /// x = lane ^ byte…        00 in the bytes sought
    /// (x & 7f…) + 7f…         80 set where the low seven bits are not all zero
    /// | x                     80 set where any bit is
    /// !…  & 80…               80 where the byte is sought
    /// >> 7, × 0x0102040810204080   gathers the eight bits in the top byte
    /// ```
    #[inline(always)]
    fn equal(lane: u64, byte: u8) -> u64 {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let x = lane ^ u64::from_le_bytes([byte; 8]);
        let found = !(((x & LOW) + LOW) | x) & !LOW;
        (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    }

    /// Bit *i* is set if byte *i* of `lane` is below `bound`, at most 0x80. This holds if two conditions do:
    /// the byte's highest bit is not set, and its low seven bits plus 0x80 minus the bound stay below 0x80.
    #[inline(always)]
    fn below(lane: u64, bound: u8) -> u64 {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let found = !(((lane & LOW) + u64::from_le_bytes([0x80 - bound; 8])) | lane) & !LOW;
        (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    }
}

// SAFETY: needs no instructions beyond the baseline.
unsafe impl Simd for Portable {
    #[inline(never)]
    fn apart<W: Work>(self, work: W) -> W::Output {
        work.run(self)
    }

    #[inline(never)]
    fn outline(self, words: &Stretch, names: bool, outline: &mut Outline) {
        outline_each(self, words, names, outline);
    }

    #[inline(never)]
    fn words_with_ends(self, outline: &Outline, lengths: [u32; 2]) -> u64 {
        outline.words_with_ends(lengths)
    }

    #[inline(always)]
    fn classify(self, word: &[u8; WORD_BYTES]) -> Classes {
        let mut c = Classes::default();
        let (lanes, _) = word.as_chunks::<8>();
        for (i, lane) in lanes.iter().enumerate() {
            let lane = u64::from_le_bytes(*lane);
            let shift = 8 * i;
            let find = |byte| Self::equal(lane, byte) << shift;
            let brace_open = find(b'{');
            let brace_close = find(b'}');
            c.quote |= find(b'"');
            c.backslash |= find(b'\\');
            c.newline |= find(b'\n');
            c.open |= brace_open | find(b'[');
            c.close |= brace_close | find(b']');
            c.brace |= brace_open | brace_close;
            c.separator |= find(b':') | find(b',');
            c.control |= Self::below(lane, b' ') << shift;
        }
        c.control &= !c.newline;
        c
    }

    #[inline(always)]
    fn equal(self, word: &[u8; WORD_BYTES], byte: u8) -> u64 {
        let (lanes, _) = word.as_chunks::<8>();
        lanes
            .iter()
            .enumerate()
            .fold(0, |found, (i, lane)| found | Self::equal(u64::from_le_bytes(*lane), byte) << (8 * i))
    }

    #[inline(always)]
    fn below(self, word: &[u8; WORD_BYTES], bound: u8) -> u64 {
        let (lanes, _) = word.as_chunks::<8>();
        lanes
            .iter()
            .enumerate()
            .fold(0, |found, (i, lane)| found | Self::below(u64::from_le_bytes(*lane), bound) << (8 * i))
    }

    #[inline(always)]
    fn may_matter(self, word: &[u8; WORD_BYTES]) -> u64 {
        let c = self.classify(word);
        c.open | c.close | c.newline | c.control
    }
}
