//! Ten attributes of ten bins. The bin of each row is drawn independently, bin *k* with probability *k*⁻² / Σ
//! *i*⁻².

use super::{DataSet, Source, Weighted, random};

const ATTRIBUTES: usize = 10;
const BINS: usize = 10;

pub(super) struct Zipf {
    seed: u64,
    bins: Weighted,
}

impl Zipf {
    pub(super) fn new(seed: u64) -> Self {
        let weight = |rank: usize| 1.0 / (rank * rank) as f64;
        Self { seed, bins: Weighted::new((1..=BINS).map(weight)) }
    }
}

impl Source for Zipf {
    fn bins(&self) -> Vec<usize> {
        vec![BINS; ATTRIBUTES]
    }

    fn fill(&self, attribute: usize, block: usize, numbers: &mut [u8]) {
        let mut random = random(DataSet::Zipf, self.seed, attribute, block);
        for two in numbers.chunks_mut(2) {
            let bits = random.bits();
            for (number, bits) in two.iter_mut().zip([bits as u32, (bits >> 32) as u32]) {
                *number = self.bins.pick(bits);
            }
        }
    }
}
