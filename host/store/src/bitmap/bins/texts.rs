//! Which of the distinct texts of a column each row has.

use std::collections::HashMap;
use std::ops::Range;

use super::sorted::Runs;
use warpath_core::pool;
use warpath_lang::expr::ast::State;

/// What a row without a text has.
const NONE: u32 = u32::MAX;
/// The most rows of a part: fewer than there are numbers for.
const MOST_ROWS: usize = 1 << 31;

/// The texts of a column, and which of them each row has. Each part of the rows has numbers of its own, in the order in which texts come by,
/// so that parts are gone through side by side, and each row once.
pub struct Dictionary<'a> {
    parts: Vec<Seen<'a>>,
    part_rows: usize,
}

/// A part of the rows, as it is gone through.
struct Seen<'a> {
    numbers: Vec<u32>,
    texts: Vec<&'a [u8]>,
    counts: Vec<u64>,
}

impl<'a> Seen<'a> {
    fn of(range: Range<usize>, states: &[State], offsets: &[u64], bytes: &'a [u8]) -> Self {
        let mut known: HashMap<&[u8], u32> = HashMap::new();
        let mut seen =
            Self { numbers: Vec::with_capacity(range.len()), texts: Vec::new(), counts: Vec::new() };
        for row in range {
            if states[row] != State::Value {
                seen.numbers.push(NONE);
                continue;
            }
            let text = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            let number = *known.entry(text).or_insert_with(|| {
                seen.texts.push(text);
                seen.counts.push(0);
                seen.texts.len() as u32 - 1
            });
            seen.counts[number as usize] += 1;
            seen.numbers.push(number);
        }
        seen
    }

    /// Its texts, in order.
    fn runs(&self) -> Runs<&'a [u8]> {
        let mut order: Vec<u32> = (0..self.texts.len() as u32).collect();
        order.sort_unstable_by_key(|number| self.texts[*number as usize]);
        Runs {
            things: order.iter().map(|number| self.texts[*number as usize]).collect(),
            counts: order.iter().map(|number| self.counts[*number as usize]).collect(),
        }
    }
}

impl<'a> Dictionary<'a> {
    /// The texts of the rows that have one, and the distinct ones, in order.
    pub fn of(states: &[State], offsets: &[u64], bytes: &'a [u8]) -> (Self, Runs<&'a [u8]>) {
        let (rows, part_rows) = (states.len(), pool::range_rows(states.len(), 1).min(MOST_ROWS));
        let ranges = (0..rows).step_by(part_rows).map(|start| start..rows.min(start + part_rows)).collect();
        let seen = pool::map(ranges, |range| {
            let seen = Seen::of(range, states, offsets, bytes);
            let runs = seen.runs();
            (seen, runs)
        });
        let (parts, runs) = seen.into_iter().unzip();
        (Self { parts, part_rows }, Runs::merge_all(runs))
    }

    /// Which of some ranges of texts each row's is in, by the first of each range, the least of which is the least of all.
    pub fn cut(self, starts: &[&[u8]]) -> TextBins {
        let bin = |text: &&[u8]| (starts.partition_point(|start| start <= text) as u32).saturating_sub(1);
        let parts = pool::map(self.parts, |Seen { numbers, texts, .. }| {
            (numbers, texts.iter().map(bin).collect::<Vec<u32>>())
        });
        TextBins { parts, part_rows: self.part_rows }
    }
}

/// The bins of texts.
pub struct TextBins {
    /// Part by part, the number of each row's text, and the bin of each number's.
    parts: Vec<(Vec<u32>, Vec<u32>)>,
    part_rows: usize,
}

impl TextBins {
    /// The bin of a row that has a text.
    pub fn get(&self, row: usize) -> u32 {
        let (numbers, bins) = &self.parts[row / self.part_rows];
        bins[numbers[row % self.part_rows] as usize]
    }
}
