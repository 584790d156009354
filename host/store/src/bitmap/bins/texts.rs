//! The distinct texts of a column, and the number of each row's text.

use std::collections::HashMap;
use std::ops::Range;

use warpath_core::pool;
use warpath_lang::jsonpath::State;

use super::sorted::Runs;

/// The number of a row without a text.
const NONE: u32 = u32::MAX;
/// The maximum rows of a part: fewer than there are numbers.
const MOST_ROWS: usize = 1 << 31;

/// The texts of a column, with the number of each row's text. Each part of the rows has its own numbers, in
/// order of first occurrence. So parts are processed in parallel, and each row once.
pub struct Dictionary<'a> {
    parts: Vec<Seen<'a>>,
    part_rows: usize,
}

/// A part of the rows, with its own numbers.
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

    /// Returns the texts of the part in order, with their counts.
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
    /// Numbers the texts of the rows that have one. Also returns the distinct texts, in order.
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

    /// Returns the bin of each row's text. `starts` has the first text of each bin; its least is the least of
    /// all texts.
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
    /// For each part: the number of each row's text, and the bin of each number.
    parts: Vec<(Vec<u32>, Vec<u32>)>,
    part_rows: usize,
}

impl TextBins {
    /// Returns the bin of a row that has a text.
    pub fn get(&self, row: usize) -> u32 {
        let (numbers, bins) = &self.parts[row / self.part_rows];
        bins[numbers[row % self.part_rows] as usize]
    }
}
