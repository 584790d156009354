//! Statistics of the values of paths: how many of each kind, least and greatest, mean and quantiles.

use std::any::Any;

use warpath_answer::answer::Want;
use warpath_core::error::Error;
use warpath_core::json::{self, Malformed};
use warpath_core::key;
use warpath_shared::column::{self, Float};
use warpath_shared::units::PartOffset;

use super::fraction::Fraction;
use super::sorter::Sorter;
use super::sum::ExactSum;
use super::tally::lines;
use crate::stream::{Digest, PieceResults};

/// Describes the values of some paths, path by path.
pub struct Describe {
    paths: usize,
}

impl Describe {
    /// Describes the values of this many paths.
    #[must_use]
    pub fn new(paths: usize) -> Self {
        Self { paths }
    }
}

impl Digest for Describe {
    fn want(&self) -> Want {
        Want::default().matches(true).records(true).partial(true)
    }

    /// Makes a [`Described`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let mut described: Vec<PathValues> = (0..self.paths).map(|_| PathValues::default()).collect();
        for piece in found {
            for (part, matches) in described.iter_mut().zip(&piece.matches) {
                part.summary.records += piece.records.len() as u64;
                part.summary.missing += (piece.records.len() - lines(matches)) as u64;
                for found in *matches {
                    part.add(piece.bytes(found));
                }
            }
        }
        Box::new(Described(described))
    }
}

/// The values of a partition, described path by path.
pub struct Described(Vec<PathValues>);

/// The values of one path in a partition.
#[derive(Default)]
struct PathValues {
    summary: Summary,
    numbers: Vec<f64>,
    /// A buffer that is used again.
    buffer: Vec<u8>,
}

impl PathValues {
    fn add(&mut self, value: &[u8]) {
        let kinds = &mut self.summary.kinds;
        match value.first() {
            Some(b'"') => {
                kinds.strings += 1;
                self.add_string(value);
            }
            Some(b'n') => kinds.nulls += 1,
            Some(b't' | b'f') => kinds.booleans += 1,
            Some(b'[') => kinds.arrays += 1,
            Some(b'{') => kinds.objects += 1,
            _ => match number_of(value) {
                Some(number) => {
                    kinds.numbers += 1;
                    self.add_number(value, number);
                }
                None => kinds.others += 1,
            },
        }
    }

    fn add_string(&mut self, value: &[u8]) {
        let inside = json::inside(value).unwrap_or_default();
        let strings = &mut self.summary.strings;
        if memchr::memchr(b'\\', inside).is_none() {
            strings.add(inside);
        } else {
            self.buffer.clear();
            json::decode(inside, Malformed::Order, &mut self.buffer);
            strings.add(&self.buffer);
        }
    }

    fn add_number(&mut self, value: &[u8], number: f64) {
        self.numbers.push(number);
        self.summary.sum.add(number);
        let (least, greatest) = self.summary.around;
        // Different numbers may be one double.
        if self.numbers.len() == 1 || number <= least || number >= greatest {
            self.summary.around = if self.numbers.len() == 1 {
                (number, number)
            } else {
                (least.min(number), greatest.max(number))
            };
            self.buffer.clear();
            key::encode(value, &mut self.buffer);
            self.summary.numbers.add(&self.buffer);
        }
    }
}

/// Returns the double that is nearest to a JSON number; `None` for any other text, such as `Infinity`.
fn number_of(value: &[u8]) -> Option<f64> {
    if value.is_empty() {
        return None;
    }
    let number = match column::float64(0, value.len() as PartOffset, |at| value[at as usize]) {
        Float::Exact(number) => number,
        Float::Unfinished => std::str::from_utf8(value).ok()?.parse().ok()?,
        Float::None => return None,
    };
    Some(number.clamp(f64::MIN, f64::MAX))
}

/// The least and the greatest of some byte strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Extremes(Option<(Vec<u8>, Vec<u8>)>);

impl Extremes {
    fn add(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            None => self.0 = Some((bytes.to_vec(), bytes.to_vec())),
            Some((least, _)) if bytes < &least[..] => {
                least.clear();
                least.extend_from_slice(bytes);
            }
            Some((_, greatest)) if bytes > &greatest[..] => {
                greatest.clear();
                greatest.extend_from_slice(bytes);
            }
            Some(_) => {}
        }
    }

    fn join(&mut self, other: &Self) {
        if let Some((least, greatest)) = &other.0 {
            self.add(least);
            self.add(greatest);
        }
    }
}

/// The number of values of each kind.
///
/// ```
/// use warpath::aggregate::DEFAULT_MEMORY;
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text = "{\"ms\":30}\n{\"ms\":10}\n{\"ms\":null}\n{}\n";
/// let input = Engine::builder().build()?.bytes(text);
/// let statistics = input.statistics(&[Query::compile("$.ms")?], DEFAULT_MEMORY)?;
/// let (summary, _) = &statistics.finish(&[])?[0];
/// assert_eq!((summary.kinds.numbers, summary.kinds.nulls, summary.kinds.all()), (2, 1, 3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kinds {
    /// `null`.
    pub nulls: u64,
    /// `true` and `false`.
    pub booleans: u64,
    /// Numbers.
    pub numbers: u64,
    /// Strings.
    pub strings: u64,
    /// Arrays.
    pub arrays: u64,
    /// Objects.
    pub objects: u64,
    /// Texts that are not JSON, which only strict checks refuse.
    pub others: u64,
}

impl Kinds {
    /// The number of all values.
    #[must_use]
    pub fn all(&self) -> u64 {
        let Self { nulls, booleans, numbers, strings, arrays, objects, others } = self;
        nulls + booleans + numbers + strings + arrays + objects + others
    }
}

/// The values of a path.
///
/// ```
/// use warpath::aggregate::DEFAULT_MEMORY;
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text = "{\"ms\":30}\n{\"ms\":10}\n{\"ms\":null}\n{}\n";
/// let input = Engine::builder().build()?.bytes(text);
/// let statistics = input.statistics(&[Query::compile("$.ms")?], DEFAULT_MEMORY)?;
/// let (summary, _) = &statistics.finish(&[])?[0];
/// assert_eq!((summary.records, summary.missing, summary.mean()), (4, 1, Some(20.0)));
/// assert_eq!(summary.numbers(), Some((b"10".to_vec(), b"30".to_vec())));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// The number of records.
    pub records: u64,
    /// The number of records without a value.
    pub missing: u64,
    /// The values by kind.
    pub kinds: Kinds,
    /// The keys of the least and the greatest number.
    numbers: Extremes,
    /// The least and the greatest string, without quotes and escapes.
    strings: Extremes,
    /// The least and the greatest number of a partition, as doubles.
    around: (f64, f64),
    sum: ExactSum,
}

impl Summary {
    /// The JSON texts of the least and the greatest number.
    #[must_use]
    pub fn numbers(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (least, greatest) = self.numbers.0.as_ref()?;
        let text = |key: &[u8]| {
            let mut text = Vec::new();
            key::decode(&mut &key[..], &mut text).map(|_| text)
        };
        Some((text(least)?, text(greatest)?))
    }

    /// The JSON texts of the least and the greatest string, by code points.
    #[must_use]
    pub fn strings(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (least, greatest) = self.strings.0.as_ref()?;
        let text = |string: &[u8]| {
            let mut text = Vec::new();
            key::write_string(string, &mut text);
            text
        };
        Some((text(least), text(greatest)))
    }

    /// The sum of the numbers as doubles, rounded once.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    /// The mean of the numbers; `None` without numbers, and if their sum is beyond all doubles.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let mean = self.sum() / self.kinds.numbers as f64;
        mean.is_finite().then_some(mean)
    }

    fn join(&mut self, other: &Self) {
        self.records += other.records;
        self.missing += other.missing;
        let (all, kinds) = (&mut self.kinds, &other.kinds);
        all.nulls += kinds.nulls;
        all.booleans += kinds.booleans;
        all.numbers += kinds.numbers;
        all.strings += kinds.strings;
        all.arrays += kinds.arrays;
        all.objects += kinds.objects;
        all.others += kinds.others;
        self.numbers.join(&other.numbers);
        self.strings.join(&other.strings);
        self.sum.join(other.sum.clone());
    }
}

/// Collects the values of some paths from the partitions of an input.
///
/// ```
/// use warpath::aggregate::{DEFAULT_MEMORY, Statistics};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "{\"ms\":30}\n{\"ms\":10}\n{\"ms\":null}\n{}\n";
/// let input = Engine::builder().build()?.bytes(text);
/// let statistics: Statistics = input.statistics(&[Query::compile("$.ms")?], DEFAULT_MEMORY)?;
/// let (_, quantiles) = &statistics.finish(&["0.5".parse()?, "1".parse()?])?[0];
/// assert_eq!(quantiles, &[10.0, 30.0]);
/// # Ok(())
/// # }
/// ```
pub struct Statistics {
    paths: Vec<(Summary, Numbers)>,
}

impl Statistics {
    /// Statistics of this many paths, which keep about `memory` bytes in memory.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn new(paths: usize, memory: usize) -> Self {
        let memory = memory / paths.max(1);
        Self { paths: (0..paths).map(|_| (Summary::default(), Numbers::new(memory))).collect() }
    }

    /// Adds the values of a partition.
    ///
    /// # Errors
    /// The errors of temporary files.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn add(&mut self, described: &Described) -> Result<(), Error> {
        for ((summary, numbers), part) in self.paths.iter_mut().zip(&described.0) {
            summary.join(&part.summary);
            numbers.add(&part.numbers)?;
        }
        Ok(())
    }

    /// Path by path, what is known of the values, and the quantiles of the numbers. The quantile of a
    /// fraction *q* is the least number that at least *q* of all numbers do not exceed. The numbers are
    /// doubles, and their quantiles exact. Without numbers, there are no quantiles.
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn finish(self, fractions: &[Fraction]) -> Result<Vec<(Summary, Vec<f64>)>, Error> {
        let of_path = |(summary, numbers): (Summary, Numbers)| Ok((summary, numbers.quantiles(fractions)?));
        self.paths.into_iter().map(of_path).collect()
    }
}

/// Numbers, in memory as far as they fit, and in sorted runs beyond.
struct Numbers {
    memory: usize,
    values: Vec<f64>,
    spilled: Option<Sorter>,
    count: u64,
}

/// A number as bytes that are in the order of numbers.
fn ordered(number: f64) -> [u8; 8] {
    let bits = number.to_bits();
    let bits = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
    bits.to_be_bytes()
}

/// The number of [`ordered`] bytes.
fn number(bytes: &[u8]) -> f64 {
    let bits = bytes.iter().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

impl Numbers {
    fn new(memory: usize) -> Self {
        Self { memory, values: Vec::new(), spilled: None, count: 0 }
    }

    fn add(&mut self, numbers: &[f64]) -> Result<(), Error> {
        self.count += numbers.len() as u64;
        // The vector may double.
        if 2 * size_of::<f64>() * (self.values.len() + numbers.len()) > self.memory {
            self.values.extend_from_slice(numbers);
            return self.spill();
        }
        self.values.extend_from_slice(numbers);
        Ok(())
    }

    /// Writes the numbers as a run, each with its count.
    fn spill(&mut self) -> Result<(), Error> {
        self.values.sort_unstable_by(f64::total_cmp);
        let counted: Vec<([u8; 8], [u8; 8])> = self
            .values
            .chunk_by(|a, b| a == b)
            .map(|same| (ordered(same[0] + 0.0), (same.len() as u64).to_le_bytes()))
            .collect();
        let sorter = self.spilled.get_or_insert_with(|| Sorter::new(1 << 20));
        sorter.push_sorted(counted.iter().map(|(number, count)| (&number[..], count)))?;
        self.values.clear();
        Ok(())
    }

    fn quantiles(mut self, fractions: &[Fraction]) -> Result<Vec<f64>, Error> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let rank = |fraction: &Fraction| fraction.of(self.count).max(1) - 1;
        let ranks: Vec<u64> = fractions.iter().map(rank).collect();
        if self.spilled.is_none() {
            let at = |rank: &u64| *self.values.select_nth_unstable_by(*rank as usize, f64::total_cmp).1 + 0.0;
            return Ok(ranks.iter().map(at).collect());
        }
        if !self.values.is_empty() {
            self.spill()?;
        }
        let Some(spilled) = self.spilled else { return Ok(Vec::new()) };
        let mut wanted: Vec<(u64, usize)> = ranks.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        let (mut found, mut next, mut before) = (vec![0.0; ranks.len()], 0, 0);
        let (mut sorted, mut key, mut payload) = (spilled.finish()?, Vec::new(), Vec::new());
        while next < wanted.len() && sorted.next(&mut key, &mut payload)? {
            before += payload.iter().rev().fold(0, |count: u64, byte| count << 8 | u64::from(*byte));
            while let Some((_, at)) = wanted.get(next).filter(|(rank, _)| *rank < before) {
                found[*at] = number(&key);
                next += 1;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_numbers() {
        let mut rng = Rng::new(5);
        let mut thousandths = vec![990, 0, 500, 250, 1000, 900, 70, 140, 280, 550, 560, 570];
        thousandths.extend((0..30).map(|_| rng.below(1001)));
        let fractions: Vec<Fraction> =
            thousandths.iter().map(|q| format!("{}.{:03}", q / 1000, q % 1000).parse().unwrap()).collect();
        for count in [1, 2, 3, 10, 100, 999, 5000] {
            let all: Vec<f64> = (0..count).map(|_| rng.below(700) as f64 / 8.0 - 40.0).collect();
            let mut sorted = all.clone();
            sorted.sort_by(f64::total_cmp);
            // The least number that at least q of all numbers do not exceed.
            let at_least = |q: usize| {
                let is_enough = |v: &&f64| 1000 * sorted.partition_point(|other| other <= *v) >= q * count;
                *sorted.iter().find(is_enough).unwrap()
            };
            let want: Vec<f64> = thousandths.iter().map(|q| at_least(*q)).collect();
            for memory in [64, 4096, 1 << 30] {
                let mut numbers = Numbers::new(memory);
                for part in all.chunks(37) {
                    numbers.add(part).unwrap();
                }
                assert_eq!(numbers.quantiles(&fractions).unwrap(), want, "{count} {memory}");
            }
        }
        assert!(Numbers::new(64).quantiles(&fractions).unwrap().is_empty());
    }

    #[test]
    fn only_numbers_of_json_are_numbers() {
        for (value, number) in [
            ("0", 0.0),
            ("-1.5e2", -150.0),
            ("1e999", f64::MAX),
            ("-1e999", f64::MIN),
            ("123456789012345678901234567890", 123_456_789_012_345_678_901_234_567_890.0),
        ] {
            assert_eq!(number_of(value.as_bytes()), Some(number), "{value}");
        }
        for value in
            ["", "Infinity", "-Infinity", "inf", "NaN", "+1", ".5", "1.", "-", "01", "1e", "0x1", "x"]
        {
            assert_eq!(number_of(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn bytes_are_in_the_order_of_numbers() {
        let numbers = [f64::MIN, -1.5, -5e-324, 0.0, 5e-324, 1.0, f64::MAX];
        for pair in numbers.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]));
        }
        for value in numbers {
            assert_eq!(number(&ordered(value)), value);
        }
    }
}
