//! Random samples of records.

use std::collections::BinaryHeap;

/// A uniform sample without replacement. Every set of records of the sample's size is equally likely.
///
/// Each record has a priority: a hash of the seed and the record's number. The sample has the records with
/// the least priorities. It therefore depends on the seed and the records alone, and a larger sample with the
/// same seed contains the smaller one.
///
/// ```
/// use warpath_exec::aggregate::sample::Sample;
///
/// let mut sample = Sample::new(3, 42);
/// for record in 0..1000 {
///     sample.offer(|| record);
/// }
/// assert_eq!(sample.finish().len(), 3);
/// ```
pub struct Sample<T> {
    size: usize,
    seed: u64,
    next: u64,
    kept: BinaryHeap<SampledRecord<T>>,
}

/// A record of the sample.
struct SampledRecord<T> {
    priority: (u64, u64),
    record: T,
}

impl<T> PartialEq for SampledRecord<T> {
    fn eq(&self, other: &Self) -> bool {
        self.priority == other.priority
    }
}

impl<T> Eq for SampledRecord<T> {}

impl<T> PartialOrd for SampledRecord<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for SampledRecord<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.priority.cmp(&other.priority)
    }
}

/// Mixes the bits of a number: the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

impl<T> Sample<T> {
    /// An empty sample of at most `size` records.
    #[must_use]
    pub fn new(size: usize, seed: u64) -> Self {
        // Neighbouring seeds must not give the same priorities to neighbouring records.
        Self { size, seed: mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)), next: 0, kept: BinaryHeap::new() }
    }

    /// An empty sample of a group. Samples of groups with different keys are independent of each other.
    #[must_use]
    pub fn of_group(size: usize, seed: u64, key: &[u8]) -> Self {
        let add = |seed: u64, bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            mix(seed ^ u64::from_le_bytes(word)).wrapping_add(bytes.len() as u64)
        };
        Self::new(size, key.chunks(8).fold(seed, add))
    }

    /// Offers the next record. It is made only if the sample has it so far. Returns the record that it
    /// replaces.
    pub fn offer(&mut self, record: impl FnOnce() -> T) -> Option<T> {
        let number = self.next;
        self.next += 1;
        let priority = (mix(mix(number.wrapping_add(self.seed)) ^ self.seed), number);
        if self.kept.len() == self.size {
            match self.kept.peek() {
                Some(last) if priority < last.priority => {}
                _ => return None,
            }
        }
        self.kept.push(SampledRecord { priority, record: record() });
        if self.kept.len() > self.size { self.kept.pop().map(|kept| kept.record) } else { None }
    }

    /// The number of records that were offered.
    #[must_use]
    pub fn offered(&self) -> u64 {
        self.next
    }

    /// The sample, in the order in which the records were offered.
    #[must_use]
    pub fn finish(self) -> Vec<T> {
        let mut kept = self.kept.into_vec();
        kept.sort_unstable_by_key(|kept| kept.priority.1);
        kept.into_iter().map(|kept| kept.record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(size: usize, seed: u64, records: usize) -> Vec<usize> {
        let mut sample = Sample::new(size, seed);
        for record in 0..records {
            sample.offer(|| record);
        }
        assert_eq!(sample.offered(), records as u64);
        sample.finish()
    }

    #[test]
    fn samples_have_each_record_once_and_in_order() {
        for (size, records) in [(0, 10), (1, 0), (3, 2), (5, 5), (10, 1000)] {
            let sample = sample(size, 1, records);
            assert_eq!(sample.len(), size.min(records));
            assert!(sample.windows(2).all(|pair| pair[0] < pair[1]));
        }
        assert_ne!(sample(10, 1, 1000), sample(10, 2, 1000));
        let (small, large) = (sample(10, 1, 1000), sample(100, 1, 1000));
        assert!(small.iter().all(|record| large.contains(record)));
    }

    /// Chi-squared tests of the records, and of pairs of neighbours, over many seeds.
    #[test]
    fn samples_are_uniform() {
        const RECORDS: usize = 50;
        const SIZE: usize = 10;
        const SEEDS: u64 = 20_000;
        let (mut chosen, mut pairs) = ([0u32; RECORDS], 0u32);
        for seed in 0..SEEDS {
            let sample = sample(SIZE, seed, RECORDS);
            sample.iter().for_each(|record| chosen[*record] += 1);
            pairs += sample.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as u32;
        }
        let share = SIZE as f64 / RECORDS as f64;
        let (mean, variance) = (SEEDS as f64 * share, SEEDS as f64 * share * (1.0 - share));
        let squared = |count: &u32| (f64::from(*count) - mean).powi(2) / variance;
        let chi: f64 = chosen.iter().map(squared).sum::<f64>() * (RECORDS as f64 - 1.0) / RECORDS as f64;
        // 49 degrees of freedom: 85.35 is exceeded with a probability of 0.001.
        assert!(chi < 85.35, "{chi}");
        // Each of the 49 pairs of neighbours is in a sample with a probability of (10 · 9) / (50 · 49).
        let expected = SEEDS as f64 * 49.0 * 90.0 / 2450.0;
        assert!((f64::from(pairs) - expected).abs() < 4.0 * expected.sqrt(), "{pairs} {expected}");
    }
}
