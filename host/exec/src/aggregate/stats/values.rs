//! The values of paths of groups: numbers as doubles, other values by their keys; in memory, and sorted in
//! temporary files.
//!
//! An item of a temporary file has the key of its group, the number of its path in two bytes, and a tag. The
//! payload is the number of times that the value is there.
//!
//! | tag | value |
//! |---|---|
//! | 0 | a number as [`ordered`] bytes, then 1 if it is rounded, else 0 |
//! | 1 | the key of another value |

use warpath_core::error::Error;

use super::super::fraction::Fraction;
use super::super::sorter::{RunWriter, Sorted, Sorter};
use super::super::sum::take;
use super::super::values::ValueTable;

/// The tags of items.
const NUMBER: u8 = 0;
const OTHER: u8 = 1;

/// A number as bytes that are in the order of numbers.
fn ordered(number: f64) -> [u8; 8] {
    let bits = number.to_bits();
    let bits = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
    bits.to_be_bytes()
}

/// The number of [`ordered`] bytes.
fn number(bytes: [u8; 8]) -> f64 {
    let bits = u64::from_be_bytes(bytes);
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// Ranks of fractions of `count` numbers, from 0 on.
fn ranks(fractions: &[Fraction], count: u64) -> Vec<u64> {
    fractions.iter().map(|fraction| fraction.of(count).max(1) - 1).collect()
}

/// Numbers in memory.
#[derive(Default)]
pub(super) struct Numbers {
    /// The numbers that are different as doubles if they are different.
    exact: Vec<f64>,
    /// The other numbers, rounded.
    rounded: Vec<f64>,
}

impl Numbers {
    pub fn add(&mut self, exact: &[f64], rounded: &[f64]) {
        // The sum with 0 is never -0.
        self.exact.extend(exact.iter().map(|number| number + 0.0));
        self.rounded.extend(rounded.iter().map(|number| number + 0.0));
    }

    /// The bytes of memory of this many numbers. A vector may double.
    pub fn bytes_of(count: usize) -> usize {
        2 * size_of::<f64>() * count
    }

    /// The least and the greatest of the numbers that are not rounded.
    pub fn range(&self) -> Option<(f64, f64)> {
        let mut numbers = self.exact.iter().copied();
        let first = numbers.next()?;
        Some(
            numbers
                .fold((first, first), |(least, greatest), number| (least.min(number), greatest.max(number))),
        )
    }

    /// The number of different numbers that are not rounded. Sorts them.
    pub fn distinct(&mut self) -> u64 {
        self.exact.sort_unstable_by(f64::total_cmp);
        self.exact.chunk_by(|a, b| a == b).count() as u64
    }

    /// The quantiles of all numbers; none without numbers.
    pub fn quantiles(&mut self, fractions: &[Fraction]) -> Vec<f64> {
        if self.rounded.is_empty() {
            return quantiles(&mut self.exact, fractions);
        }
        let mut all: Vec<f64> = self.exact.iter().chain(&self.rounded).copied().collect();
        quantiles(&mut all, fractions)
    }

    /// Each number in order, with 1 if it is rounded, and its count.
    fn counted(mut self) -> Vec<(f64, u8, u64)> {
        let mut counted = Vec::new();
        for (numbers, is_rounded) in [(&mut self.exact, 0), (&mut self.rounded, 1)] {
            numbers.sort_unstable_by(f64::total_cmp);
            let same = numbers.chunk_by(|a, b| a == b);
            counted.extend(same.map(|same| (same[0], is_rounded, same.len() as u64)));
        }
        counted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        counted
    }
}

fn quantiles(numbers: &mut [f64], fractions: &[Fraction]) -> Vec<f64> {
    if numbers.is_empty() {
        return Vec::new();
    }
    let ranks = ranks(fractions, numbers.len() as u64);
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_unstable_by_key(|at| ranks[*at]);
    let (mut found, mut first) = (vec![0.0; ranks.len()], 0);
    for at in order {
        // The numbers before `first` are not greater than those after it.
        let rank = ranks[at] as usize;
        found[at] = if rank < first {
            numbers[rank]
        } else {
            let (_, number, _) = numbers[first..].select_nth_unstable_by(rank - first, f64::total_cmp);
            let number = *number;
            first = rank + 1;
            number
        };
    }
    found
}

/// Different values in memory, by the number of their path and group.
#[derive(Default)]
pub(super) struct Distinct {
    values: ValueTable,
    buffer: Vec<u8>,
}

impl Distinct {
    /// Adds a value by its key. Returns the bytes of memory that it takes.
    pub fn add(&mut self, state: u32, key: &[u8]) -> Result<usize, Error> {
        self.buffer.clear();
        self.buffer.extend(state.to_be_bytes());
        self.buffer.extend_from_slice(key);
        match self.values.find(&self.buffer) {
            Ok(_) => Ok(0),
            Err(hash) => {
                self.values.add(&self.buffer, hash, (1, 0, false))?;
                Ok(ValueTable::bytes_of(&self.buffer))
            }
        }
    }

    /// The number of values of each path and group, of which there are this many.
    pub fn counts(&self, states: usize) -> Vec<u64> {
        let mut counts = vec![0; states];
        for entry in &self.values.entries {
            if let Some((state, _)) = entry.key(&self.values.bytes).split_first_chunk() {
                counts[u32::from_be_bytes(*state) as usize] += 1;
            }
        }
        counts
    }

    /// The values, sorted by the number of their path and group, and by their keys.
    pub fn sorted(mut self) -> SortedDistinct {
        self.values.sort();
        SortedDistinct(self.values)
    }
}

/// Different values in the order of the numbers of their paths and groups.
pub(super) struct SortedDistinct(ValueTable);

impl SortedDistinct {
    /// The keys of the values of a path of a group.
    fn of(&self, state: u32) -> impl Iterator<Item = &[u8]> {
        let ValueTable { bytes, entries, .. } = &self.0;
        let prefix = state.to_be_bytes();
        let first = entries.partition_point(|entry| entry.key(bytes)[..4] < prefix[..]);
        entries[first..].iter().map_while(move |entry| entry.key(bytes).strip_prefix(&prefix))
    }
}

/// Writes the values of groups, which are in the order of their keys, as a run. Each group comes with the
/// number of its first path among all paths of groups.
pub(super) fn write_values<'a>(
    sorter: &mut Sorter,
    groups: impl Iterator<Item = (&'a [u8], usize)>,
    paths: usize,
    mut numbers: impl FnMut(usize) -> Numbers,
    distinct: Option<&SortedDistinct>,
) -> Result<(), Error> {
    let mut run = RunWriter::new()?;
    let mut key = Vec::new();
    for (group, first) in groups {
        for path in 0..paths {
            key.clear();
            key.extend_from_slice(group);
            key.extend((path as u16).to_be_bytes());
            let len = key.len();
            for (number, is_rounded, count) in numbers(first + path).counted() {
                key.truncate(len);
                key.push(NUMBER);
                key.extend(ordered(number));
                key.push(is_rounded);
                run.push(&key, &count.to_le_bytes())?;
            }
            for value in distinct.as_ref().into_iter().flat_map(|distinct| distinct.of((first + path) as u32))
            {
                key.truncate(len);
                key.push(OTHER);
                key.extend_from_slice(value);
                run.push(&key, &1_u64.to_le_bytes())?;
            }
        }
    }
    sorter.add_run(run)
}

/// Facts about the values of a path of a group.
#[derive(Default)]
pub(super) struct FoundValues {
    pub range: Option<(f64, f64)>,
    pub quantiles: Vec<f64>,
    pub distinct: u64,
}

/// The values of temporary files, in order.
pub(super) struct ValueStream {
    sorted: Sorted,
    key: Vec<u8>,
    payload: Vec<u8>,
    /// False at the end.
    has_next: bool,
}

impl ValueStream {
    pub fn new(mut sorted: Sorted) -> Result<Self, Error> {
        let (mut key, mut payload) = (Vec::new(), Vec::new());
        let has_next = sorted.next(&mut key, &mut payload)?;
        Ok(Self { sorted, key, payload, has_next })
    }

    fn advance(&mut self) -> Result<(), Error> {
        self.has_next = self.sorted.next(&mut self.key, &mut self.payload)?;
        Ok(())
    }

    /// Takes the values of a path of a group, of which `count` are numbers. Paths and groups come in order.
    pub fn take(
        &mut self,
        group: &[u8],
        path: usize,
        count: u64,
        fractions: &[Fraction],
    ) -> Result<FoundValues, Error> {
        let ranks = if count == 0 { Vec::new() } else { ranks(fractions, count) };
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_unstable_by_key(|at| ranks[*at]);
        let mut wanted = order.into_iter().peekable();
        let mut found = FoundValues { quantiles: vec![0.0; ranks.len()], ..FoundValues::default() };
        let path = (path as u16).to_be_bytes();
        let (mut before, mut last) = (0, Vec::new());
        while self.has_next
            && let Some(value) = self.key.strip_prefix(group).and_then(|rest| rest.strip_prefix(&path))
        {
            let is_new = last != value;
            if is_new {
                last.clear();
                last.extend_from_slice(value);
            }
            match value.split_first() {
                Some((&NUMBER, mut rest)) => {
                    let number = take(&mut rest).copied().map(number).unwrap_or_default();
                    if rest == [0] {
                        found.range = Some((found.range.map_or(number, |(least, _)| least), number));
                        found.distinct += u64::from(is_new);
                    }
                    before += take(&mut &self.payload[..]).copied().map_or(0, u64::from_le_bytes);
                    while let Some(at) = wanted.next_if(|at| ranks[*at] < before) {
                        found.quantiles[at] = number;
                    }
                }
                _ => found.distinct += u64::from(is_new),
            }
            self.advance()?;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_in_the_order_of_numbers() {
        let numbers = [f64::MIN, -1.5, -5e-324, 0.0, 5e-324, 1.0, f64::MAX];
        for pair in numbers.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]));
        }
        for value in numbers {
            assert_eq!(number(ordered(value)), value);
        }
    }
}
