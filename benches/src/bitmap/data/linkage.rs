//! Pairs of records of a registry, like those of Sariyar, Borg and Pommerening (2011). Each has the numbers
//! of two persons, and the similarity of their names (from 0 to 1). It says if sex, the parts of the date of
//! birth and the postal code are the same, and if it is the same person.
//!
//! Assumed: the pairs of a first person (57 on average, the data's pairs by its persons) follow each other,
//! in no other order. One pair in 275 is a match, and nearly all matches are alike in all attributes. In
//! other pairs, the similarity of names has the published means of the data (0.71 for the first name, 0.32
//! for the last). Second names are nearly always missing, and 22 %, 49 %, 22 % and 0.5 % have the same day,
//! month, year and postal code.

use super::{DataSet, Source, Weighted, random};
use crate::generate::random::Random;

/// One match in this number of pairs.
const PAIRS: u32 = 275;
/// The mean number of pairs of a first person, who is the first attribute.
const OF_A_PERSON: u32 = 57;

pub(super) struct Linkage {
    seed: u64,
    /// For each attribute, the bins of pairs that do not match, and of those that do.
    attributes: Vec<[Weighted; 2]>,
}

impl Linkage {
    pub(super) fn new(seed: u64) -> Self {
        // Persons are paired with persons of higher numbers, so low ones are more often the first.
        let person = |slope: f64| Weighted::new((0..25).map(|bin| 1.0 + slope * f64::from(bin - 12) / 12.0));
        // A similarity: none, all, and between them less and less.
        let alike = |bins: i32, none: f64, all: f64| {
            let between = 1.0 - none - all;
            let sum: f64 = (1..bins - 1).map(|bin| 1.0 / f64::from(bin + 3)).sum();
            let weight = move |bin: i32| match bin {
                0 => none,
                bin if bin == bins - 1 => all,
                bin => between / sum / f64::from(bin + 3),
            };
            Weighted::new((0..bins).map(weight))
        };
        // Mostly missing, which is the first bin.
        let second =
            |there: f64| Weighted::new((0..7).map(|bin| if bin == 0 { 1.0 - there } else { there / 6.0 }));
        // Not the same, the same, and missing.
        let same = |same: f64, missing: f64| Weighted::new([1.0 - same - missing, same, missing]);
        let attributes = vec![
            [person(-0.6), person(-0.6)],
            [person(0.6), person(0.6)],
            [alike(25, 0.16, 0.62), alike(25, 0.01, 0.95)],
            [second(0.018), second(0.02)],
            [alike(25, 0.2, 0.14), alike(25, 0.01, 0.95)],
            [second(0.0004), second(0.01)],
            [Weighted::new([0.045, 0.955]), Weighted::new([0.004, 0.996])],
            [same(0.224, 0.0002), same(0.99, 0.0002)],
            [same(0.489, 0.0002), same(0.99, 0.0002)],
            [same(0.222, 0.0002), same(0.99, 0.0002)],
            [same(0.0054, 0.0022), same(0.93, 0.002)],
            [Weighted::new([1.0, 0.0]), Weighted::new([0.0, 1.0])],
        ];
        Self { seed, attributes }
    }

    /// The random numbers that choose the matches of a block: the same for all attributes.
    fn matches(&self, block: usize) -> Random {
        random(DataSet::Linkage, self.seed, self.attributes.len(), block)
    }
}

impl Source for Linkage {
    fn bins(&self) -> Vec<usize> {
        self.attributes.iter().map(|[others, _]| others.last.len()).collect()
    }

    fn fill(&self, attribute: usize, block: usize, numbers: &mut [u8]) {
        let mut matches = self.matches(block);
        let mut random = random(DataSet::Linkage, self.seed, attribute, block);
        let [others, same] = &self.attributes[attribute];
        if attribute == 0 {
            let mut left = numbers;
            while !left.is_empty() {
                let count = random.between(1, 2 * OF_A_PERSON - 1).min(left.len() as u32);
                let (now, rest) = left.split_at_mut(count as usize);
                now.fill(others.pick((random.bits() >> 32) as u32));
                left = rest;
            }
            return;
        }
        for number in numbers {
            let bins = if matches.below(PAIRS) == 0 { same } else { others };
            *number = bins.pick((random.bits() >> 32) as u32);
        }
    }
}
