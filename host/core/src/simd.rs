//! Byte classes by SIMD, in the fastest form that this processor has. Each form is equal to
//! [`Classes::of`](warpath_shared::index::class::Classes::of).

#[cfg(target_arch = "aarch64")]
mod neon;
mod operations;
pub mod outline;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::LazyLock;

use operations::Portable;
pub use operations::{EXPANDED, Simd, Work};

/// The instruction sets that are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// AVX-512 with byte permutations, GFNI and carry-less multiplication of vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512Gfni,
    /// AVX-512 with bytes, words and conflict detection.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 with BMI2 and carry-less multiplication.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// General registers, eight bytes at a time.
    Portable,
}

/// The best instruction set of this processor.
static BEST: LazyLock<Isa> = LazyLock::new(|| Isa::all()[0]);

/// The name of the instruction set that the CPU backend uses here: `avx512 with gfni`, `avx512`, `avx2`,
/// `neon` or `portable`.
#[must_use]
pub fn simd_name() -> &'static str {
    BEST.name()
}

impl Isa {
    /// The best instruction set of this processor.
    pub fn best() -> Self {
        *BEST
    }

    /// The instruction sets of this processor, best first.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("pclmulqdq")
            {
                if is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("gfni")
                    && is_x86_feature_detected!("vpclmulqdq")
                {
                    all.push(Self::Avx512Gfni);
                }
                all.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("pclmulqdq")
            {
                all.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            all.push(Self::Neon);
        }
        all.push(Self::Portable);
        all
    }

    /// The name of the set, as in [`simd_name`].
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Gfni => "avx512 with gfni",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// Does the work with this instruction set, which must be one of [`Isa::all`].
    pub fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            // SAFETY: the set is one of `Isa::all`, which lists a set only if its features were detected.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Gfni | Self::Avx512 => unsafe {
                // One call, and no constant: the compiler would make a copy for each of two constants.
                x86::run_avx512(work, x86::Avx512 { has_gfni: self == Self::Avx512Gfni })
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::run_avx2(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => unsafe { neon::run_neon(work) },
            Self::Portable => work.run(Portable),
        }
    }

    /// [`run`](Self::run) for work that uses [`Simd::expand`] where it exists. With it, the work is compiled
    /// once more.
    pub fn run_expanding<W: Work>(self, work: W) -> W::Output {
        match self {
            // SAFETY: as in `run`.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Gfni => unsafe { x86::run_avx512_gfni(work) },
            other => other.run(work),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use warpath_random::Rng;
    use warpath_shared::index::class::Classes;
    use warpath_shared::index::escape;
    use warpath_shared::index::string::prefix_xor;
    use warpath_shared::units::WORD_BYTES;

    use super::*;
    use crate::simd::outline::{Carry, Outline, Planes, Stretch, WORDS};

    struct Check([u8; WORD_BYTES], u64);

    impl Work for Check {
        type Output = (Classes, u64, u64, [u64; 3], u64, [u64; 2]);
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let Self(word, bits) = self;
            let classes = simd.classify(&word).normalised();
            let equal = simd.equal(&word, word[bits as usize % WORD_BYTES]);
            // `may_matter` may find too much: here, asterisks.
            let may_matter = simd.may_matter(&word) & !simd.equal(&word, b'*');
            let gathered = simd.gather(bits, classes.quote | classes.open);
            let below = bounds(bits).map(|bound| simd.below(&word, bound));
            let scattered = simd.scatter(bits, classes.quote | classes.open);
            (classes, simd.prefix_xor(bits), equal, below, may_matter, [gathered, scattered])
        }
    }

    /// Bounds to try.
    fn bounds(bits: u64) -> [u8; 3] {
        [0x20, 0x80, (bits % 0x81) as u8]
    }

    fn naive(word: &[u8; WORD_BYTES], bits: u64) -> <Check as Work>::Output {
        let classes = Classes::of(word).normalised();
        let byte = word[bits as usize % WORD_BYTES];
        let equal = (0..WORD_BYTES).fold(0, |found, i| found | ((word[i] == byte) as u64) << i);
        let places = (0..WORD_BYTES).filter(|i| (classes.quote | classes.open) >> i & 1 == 1);
        let gathered = places.clone().enumerate().fold(0, |all, (to, from)| all | (bits >> from & 1) << to);
        let scattered = places.enumerate().fold(0, |all, (from, to)| all | (bits >> from & 1) << to);
        let below = bounds(bits)
            .map(|bound| (0..WORD_BYTES).fold(0, |found, i| found | ((word[i] < bound) as u64) << i));
        let matter = classes.open | classes.close | classes.newline | classes.control;
        (classes, prefix_xor(bits), equal, below, matter, [gathered, scattered])
    }

    /// Checks that NEON is used. Otherwise the other tests would check only portable code here.
    #[cfg(target_arch = "aarch64")]
    #[test]
    fn neon_is_used() {
        assert_eq!(simd_name(), "neon");
    }

    /// Several stretches, one after the other.
    struct Outlines<'a>(&'a [Stretch], Cell<Carry>);

    impl Work for Outlines<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let mut outline = Outline::default();
            outline.begin();
            let (mut pending, mut open) = (false, 0u64);
            let mut before = (0, 0, 0);
            let mut odd_carry = Carry::default();
            for stretch in self.0 {
                self.1.set(outline.carry);
                simd.outline(stretch, true, &mut outline);
                let Outline { string, quote, backslash, busy, planes, colon, odd, odd_words, carry, .. } =
                    &outline;
                assert_eq!((string[0], quote[0], backslash[0]), before);
                for lengths in [[1, 2], [6, 6], [2, 63]] {
                    let want = outline.words_with_ends(lengths);
                    assert_eq!(simd.words_with_ends(&outline, lengths), want);
                }
                for (i, word) in stretch.iter().enumerate() {
                    let c = Classes::of(word);
                    let quotes = c.quote & !escape::escaped(c.backslash, &mut pending);
                    let inside = prefix_xor(quotes) ^ open.wrapping_neg();
                    open = inside >> 63;
                    before = (inside, quotes, c.backslash);
                    assert_eq!((string[i + 1], quote[i + 1], backslash[i + 1]), before, "word {i}");
                    let of =
                        |byte| (0..WORD_BYTES).fold(0, |found, i| found | ((word[i] == byte) as u64) << i);
                    if busy >> i & 1 == 0 {
                        assert_eq!(c.open | c.close | c.newline | c.control, 0, "word {i}");
                    } else {
                        let Planes { open, close, brace, newline, low, .. } = planes[i];
                        let control = low & !newline;
                        let got = Classes { open, close, brace, newline, control, ..c }.normalised();
                        assert_eq!(got, c.normalised(), "word {i}");
                    }
                    assert_eq!(colon[i], of(b':') & !inside, "word {i}");
                    let odds = odd_carry.odd(colon[i], inside, c.backslash, quotes, quote[i]);
                    assert_eq!((odd[i], odd_words >> i & 1), (odds, (odds != 0) as u64), "word {i}");
                }
                assert_eq!(carry.escape, pending as u64);
                self.check_few(simd, stretch, &outline);
                outline.advance();
            }
        }
    }

    impl Outlines<'_> {
        /// Outlines only some words of a stretch. Each has the outline that it has among all.
        fn check_few<S: Simd>(&self, simd: S, stretch: &Stretch, all: &Outline) {
            let mut few = Outline::default();
            // Other words than those of the stretch are left from before.
            simd.outline(&[[b'{'; WORD_BYTES]; WORDS], true, &mut few);
            for words in (8..WORDS).step_by(8) {
                few.words = words;
                (few.string[0], few.quote[0]) = (all.string[0], all.quote[0]);
                (few.backslash[0], few.carry) = (all.backslash[0], self.1.get());
                simd.outline(stretch, true, &mut few);
                let low = (1u64 << words) - 1;
                assert_eq!(few.string[..=words], all.string[..=words]);
                assert_eq!(few.quote[..=words], all.quote[..=words]);
                assert_eq!((few.busy & low, few.odd_words & low), (all.busy & low, all.odd_words & low));
                assert_eq!(few.colon[..words], all.colon[..words]);
                assert_eq!(few.odd[..words], all.odd[..words]);
                let ends = [few.words_with_ends([1, 6]), simd.words_with_ends(&few, [1, 6])];
                assert_eq!(ends.map(|ends| ends & low), [all.words_with_ends([1, 6]) & low; 2]);
                for at in (0..words).filter(|at| all.busy >> at & 1 == 1) {
                    assert_eq!(few.planes[at], all.planes[at]);
                }
            }
        }
    }

    #[test]
    fn outlines_equal_the_rule() {
        let mut rng = Rng::new(5);
        let mut next = || rng.next_u64();
        for round in 0..400 {
            let mut stretches = vec![[[0u8; WORD_BYTES]; WORDS]; 3];
            let mut left = 0;
            let mut byte = b' ';
            for each in stretches.as_flattened_mut().as_flattened_mut() {
                // Runs of one byte, including backslashes over several words; or no run.
                if left == 0 {
                    byte = b"\"\\\\\n{}[]:, ab\xff*;"[next() as usize % 16];
                    left = if round % 4 == 0 && next() % 8 == 0 { next() % 300 } else { next() % 3 };
                } else {
                    left -= 1;
                }
                *each = byte;
            }
            for isa in Isa::all() {
                isa.run(Outlines(&stretches, Cell::default()));
            }
        }
    }

    struct Matches([u64; 2], [u64; 4], [u64; 4]);

    impl Work for Matches {
        type Output = u8;
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> u8 {
            let Self([word, hidden], words, masks) = self;
            simd.matches(word, hidden, &words, &masks)
        }
    }

    #[test]
    fn words_match_where_their_masks_say_so() {
        let mut rng = Rng::new(3);
        let mut next = || rng.next_u64();
        for _ in 0..4096 {
            let word = next();
            let hidden = [0, u64::MAX << (next() % 64)][next() as usize % 2];
            let masks = [0; 4].map(|_| u64::MAX >> (next() % 64));
            // Equal under the mask, and beyond it not; or else a bit of it differs, too.
            let words = masks.map(|mask| (word ^ next() & !mask) ^ (next() & 1) << (next() % 64) & mask);
            let want = (0..4).fold(0, |found, at| {
                let equal = (0..64).all(|bit| {
                    let of = |word: u64| word >> bit & 1;
                    of(masks[at]) == 0 || of(hidden) == 0 && of(word) == of(words[at])
                });
                found | u8::from(equal) << at
            });
            for isa in Isa::all() {
                assert_eq!(isa.run(Matches([word, hidden], words, masks)), want, "{}", isa.name());
            }
        }
    }

    #[test]
    fn every_instruction_set_equals_the_rule() {
        let mut rng = Rng::new(9);
        let mut next = || rng.next_u64();
        for round in 0..4096 {
            let mut word = [0u8; WORD_BYTES];
            for (i, byte) in word.iter_mut().enumerate() {
                // Every byte value at every position, then words dense in structure.
                *byte = if round < 256 {
                    (round + i) as u8
                } else {
                    b"\"\\\n{}[]:, ;[{|~\x1b\xdb*"[next() as usize % 18]
                };
            }
            let bits = next();
            for isa in Isa::all() {
                let got = isa.run(Check(word, bits));
                assert_eq!(got, naive(&word, bits), "{} {}", isa.name(), word.escape_ascii());
            }
        }
    }
}
