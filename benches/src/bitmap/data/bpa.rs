//! Measurements of twenty synchrophasors, 60 a second for a day and a half. Each measures one quantity, which
//! is cut into 68 or 69 bins of equal width.
//!
//! Assumed: a quantity is a sum of waves with periods of hours, minutes and seconds. The slowest wave is
//! common to the whole grid. The quantity also trembles by a bin or some from row to row, some quantities
//! more than others. So a second has few bins, and most hours have few others.

use super::{DataSet, Source, random};

const ATTRIBUTES: usize = 20;
/// The number of attributes with 69 bins; the others have 68: 1,367 in all.
const WIDER: usize = 7;

/// The waves: the distance of their points in rows, as a power of 2, and their amplitude.
const WAVES: [(u32, f64); 5] = [(19, 1.0), (16, 0.5), (13, 0.25), (10, 0.08), (7, 0.02)];
/// The greatest value of the inner bins; values beyond are in the first bin or in the last.
const REACH: f64 = 1.15;

pub(super) struct Bpa {
    seed: u64,
}

impl Bpa {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The value of a wave at one of its points: from -1 to 1.
    fn point(&self, attribute: usize, wave: usize, point: usize) -> f64 {
        // The slowest is the grid's. Attributes beyond the last are of no rows.
        let of = if wave == 0 { ATTRIBUTES } else { attribute };
        let stream = (1 + wave) << 8 | of;
        unit(random(DataSet::Bpa, self.seed, stream, point).bits())
    }
}

impl Source for Bpa {
    fn bins(&self) -> Vec<usize> {
        (0..ATTRIBUTES).map(|attribute| 68 + usize::from(attribute < WIDER)).collect()
    }

    fn fill(&self, attribute: usize, block: usize, numbers: &mut [u8]) {
        let bins = self.bins()[attribute] as f64;
        let trembling = 0.02 + 0.06 * (attribute % 5) as f64 / 4.0;
        let first = block * super::BLOCK_ROWS;
        let mut random = random(DataSet::Bpa, self.seed, attribute, block);
        // The points around a row change with each 2⁷ of them: until then waves are lines.
        let shortest = 1 << WAVES[WAVES.len() - 1].0;
        let (mut at, mut left) = (first, numbers);
        while !left.is_empty() {
            let count = left.len().min(shortest - at % shortest);
            let (now, rest) = left.split_at_mut(count);
            let (mut value, mut slope) = (0.0, 0.0);
            for (wave, (rows, height)) in WAVES.iter().enumerate() {
                let (point, part) = (at >> rows, (at % (1 << rows)) as f64 / f64::from(1_u32 << rows));
                let (from, to) = (self.point(attribute, wave, point), self.point(attribute, wave, point + 1));
                value += height * (from + (to - from) * part);
                slope += height * (to - from) / f64::from(1_u32 << rows);
            }
            for number in now {
                let place = (value + trembling * unit(random.bits()) + REACH) / (2.0 * REACH);
                *number = (place * bins).clamp(0.0, bins - 1.0) as u8;
                value += slope;
            }
            (at, left) = (at + count, rest);
        }
    }
}

/// Random bits as a number from -1 to 1.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
