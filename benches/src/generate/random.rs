//! Random numbers, and choices made with them.

use gpu_rand::xoroshiro::Xoroshiro128StarStar;
use rand_core::{RngCore, SeedableRng};

/// A stream of random choices. The generator is named, because `gpu_rand`'s default may change with a
/// release.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoroshiro128StarStar);

impl Random {
    /// The stream for one block.
    pub(crate) fn new(shape: u64, seed: u64, block: u64) -> Self {
        // Each step mixes all bits, so that streams differ wherever one of the three numbers does.
        let key = mix(mix(mix(seed) ^ shape) ^ block);
        Self(Xoroshiro128StarStar::seed_from_u64(key))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`. The high half is used: it is the better one, and needs no division.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A number of `low..=high`.
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// True `per_mille` times in a thousand.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }

    /// One of some choices, the first the most often: about proportional to the reciprocal of its position,
    /// as in Zipf's law.
    pub(crate) fn skewed<T: Copy>(&mut self, choices: &[T]) -> T {
        // Positions 0, then 1 and 2, then 3 to 6, and so on have the same total probability. The arithmetic
        // is in integers, so that it is the same everywhere.
        let digits = usize::BITS - choices.len().leading_zeros();
        loop {
            let length = self.below(digits);
            let at = (1_u32 << length) - 1 + self.below(1 << length);
            if let Some(choice) = choices.get(at as usize) {
                return *choice;
            }
        }
    }

    /// A number below `2^digits`, each binary length about as likely as any other, for counts of followers
    /// and the like.
    pub(crate) fn count(&mut self, digits: u32) -> u64 {
        let length = self.below(digits + 1);
        self.bits() & ((1 << length) - 1)
    }
}

/// A bijection of 64-bit words in which every bit of the result depends on every bit of `word`
/// (SplitMix64's).
pub(crate) fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
