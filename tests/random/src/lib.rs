//! The random generator of Warpath's tests, and the reader of their tables of cases ([`table`]). A failure
//! of random cases is repeated by its seed alone, on any machine and by any later version.
//!
//! The crate has no dependencies, so that the unit tests of every layer can use it. The registry's crates do
//! not fit, because the streams must never change: recorded runs and cases are named by their seeds.
//! `fastrand` has changed its streams between minor versions. `rand_xoshiro` keeps its streams, but leaves
//! numbers below a bound to `rand`, which does not.

pub mod table;

/// A generator of random numbers: SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`. Small numbers are more likely by less than `n` in 2⁶⁴.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next_u64() % n as u64) as usize
    }

    /// One of several values.
    ///
    /// # Panics
    /// If there are no values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The number of cases of a test that usually has `all` of them. Two variables of the environment change it:
///
/// * `WARPATH_TEST_SHARE`: one of every N, at least one. An emulated processor runs fewer cases by it.
/// * `WARPATH_TEST_TIMES`: N times as many, with other random numbers. A proof by hand runs more.
///
/// # Panics
/// If a variable is not a number above 0.
#[must_use]
pub fn cases(all: usize) -> usize {
    let of = |name| std::env::var(name).map_or(1, |number: String| number.parse().expect("a number"));
    (all * of("WARPATH_TEST_TIMES")).div_ceil(of("WARPATH_TEST_SHARE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the reference implementation for the seed 1234567,
    /// <https://prng.di.unimi.it/splitmix64.c>.
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut rng = Rng::new(1_234_567);
        let numbers: [u64; 5] = std::array::from_fn(|_| rng.next_u64());
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }
}
