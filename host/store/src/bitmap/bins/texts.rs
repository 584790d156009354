//! The distinct texts of a column, and the number of each row's text.

use std::ops::Range;

use foldhash::HashMap;
use warpath_core::pool;

use super::super::value::Texts;
use super::sorted::Runs;

/// The maximum rows of a part: fewer than there are numbers.
const MOST_ROWS: usize = 1 << 31;

/// The distinct texts of a column. Parts of the rows are processed in parallel, and each has its own numbers.
pub struct Dictionary<'a> {
    values: &'a Texts,
    parts: Vec<DistinctTexts<'a>>,
    part_rows: usize,
}

/// The distinct texts of a part of the rows, in order of first occurrence.
struct DistinctTexts<'a> {
    /// The number of the first entry.
    first: u64,
    /// The number of the text of each entry, from the first on. Entries that no row of the part has are 0.
    numbers: Vec<u32>,
    texts: Vec<&'a [u8]>,
    counts: Vec<u64>,
}

impl<'a> DistinctTexts<'a> {
    fn of(range: Range<usize>, values: &'a Texts) -> Self {
        let rows = &values.numbers()[range];
        let has_text = |number: &u64| *number != 0;
        let first = rows.iter().copied().filter(has_text).min().unwrap_or(0);
        let end = rows.iter().copied().max().map_or(first, |last| last + 1);
        let mut rows_of = vec![0_u32; (end - first) as usize];
        for number in rows.iter().filter(|number| has_text(number)) {
            rows_of[(number - first) as usize] += 1;
        }
        let mut known: HashMap<&[u8], u32> = HashMap::default();
        let mut seen = Self { first, numbers: rows_of, texts: Vec::new(), counts: Vec::new() };
        for (entry, place) in (first..).zip(&mut seen.numbers) {
            let rows = std::mem::take(place);
            if rows == 0 {
                continue;
            }
            let text = values.entry(entry);
            let number = *known.entry(text).or_insert_with(|| {
                seen.texts.push(text);
                seen.counts.push(0);
                seen.texts.len() as u32 - 1
            });
            seen.counts[number as usize] += u64::from(rows);
            *place = number;
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
    pub fn of(values: &'a Texts) -> (Self, Runs<&'a [u8]>) {
        let rows = values.numbers().len();
        let part_rows = pool::range_rows(rows, 1).min(MOST_ROWS);
        let ranges = (0..rows).step_by(part_rows).map(|start| start..rows.min(start + part_rows)).collect();
        let seen = pool::map(ranges, |range| {
            let seen = DistinctTexts::of(range, values);
            let runs = seen.runs();
            (seen, runs)
        });
        let (parts, runs) = seen.into_iter().unzip();
        (Self { values, parts, part_rows }, Runs::merge_all(runs))
    }

    /// Returns the bin of each row's text. `starts` has the first text of each bin; its least is the least of
    /// all texts.
    pub fn cut(self, starts: &[&[u8]]) -> TextBins<'a> {
        let bin = |text: &&[u8]| (starts.partition_point(|start| start <= text) as u32).saturating_sub(1);
        let parts = pool::map(self.parts, |DistinctTexts { first, mut numbers, texts, .. }| {
            let bins: Vec<u32> = texts.iter().map(bin).collect();
            numbers.iter_mut().for_each(|number| *number = bins.get(*number as usize).copied().unwrap_or(0));
            (first, numbers)
        });
        TextBins { values: self.values, parts, part_rows: self.part_rows }
    }
}

/// The bins of texts.
pub struct TextBins<'a> {
    values: &'a Texts,
    /// For each part: the number of its first entry, and the bin of each entry from there on.
    parts: Vec<(u64, Vec<u32>)>,
    part_rows: usize,
}

impl TextBins<'_> {
    /// Returns the bin of a row that has a text.
    pub fn get(&self, row: usize) -> u32 {
        let (first, bins) = &self.parts[row / self.part_rows];
        bins[(self.values.numbers()[row] - first) as usize]
    }
}
