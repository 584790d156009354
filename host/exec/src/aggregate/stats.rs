//! Statistics of the values of paths: how many of each kind, sums, least and greatest, mean and quantiles,
//! for all records or for each group of records.
//!
//! Numbers are kept as doubles, 8 bytes each. If they and the groups do not fit in memory, two sorted runs
//! are written: of the groups with their summaries, and of their values with counts. At the end both are
//! merged side by side, because both are in the order of the groups' keys.

mod describe;
mod values;

use warpath_core::error::Error;
use warpath_core::key;

use super::count::values as texts;
use super::fraction::Fraction;
use super::sorter::Sorter;
use super::sum::{ExactSum, take};
use super::values::ValueTable;
use values::{Distinct, Numbers, ValueStream, write_values};

pub use describe::{Describe, Described};

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

    fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |(least, greatest)| least.capacity() + greatest.capacity())
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.0.is_some().into());
        for bytes in self.0.iter().flat_map(|(least, greatest)| [least, greatest]) {
            out.extend((bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let [is_some] = *take(bytes)?;
        let mut next = || {
            let len = u64::from_le_bytes(*take(bytes)?);
            let (first, rest) = bytes.split_at_checked(usize::try_from(len).ok()?)?;
            *bytes = rest;
            Some(first.to_vec())
        };
        Some(Self(if is_some == 1 { Some((next()?, next()?)) } else { None }))
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
/// assert_eq!(summary.exact_sum(), b"40");
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
    /// The number of different values; `null` is none. `None` if they were not collected.
    pub distinct: Option<u64>,
    /// The keys of the least and the greatest number. While values are collected, those of numbers that are
    /// rounded as doubles; at the end, those of all numbers.
    numbers: Extremes,
    /// The least and the greatest string, without quotes and escapes.
    strings: Extremes,
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

    /// The JSON text of the sum of the numbers, with all its digits. Numbers beyond the doubles count as the
    /// greatest double, and numbers of more than 400 digits as their nearest double.
    #[must_use]
    pub fn exact_sum(&self) -> Vec<u8> {
        self.sum.text()
    }

    /// The sum of the numbers, rounded once.
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
        self.sum.join(&other.sum);
    }

    /// The bytes of memory beside the summary itself.
    fn bytes(&self) -> usize {
        self.numbers.bytes() + self.strings.bytes() + self.sum.bytes()
    }

    /// Appends the summary for [`read`](Self::read).
    fn write(&self, out: &mut Vec<u8>) {
        let Kinds { nulls, booleans, numbers, strings, arrays, objects, others } = self.kinds;
        for count in [self.records, self.missing, nulls, booleans, numbers, strings, arrays, objects, others]
        {
            out.extend(count.to_le_bytes());
        }
        self.numbers.write(out);
        self.strings.write(out);
        self.sum.write(out);
    }

    /// Reads a summary that [`write`](Self::write) wrote.
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut count = || Some(u64::from_le_bytes(*take(bytes)?));
        let (records, missing) = (count()?, count()?);
        let kinds = Kinds {
            nulls: count()?,
            booleans: count()?,
            numbers: count()?,
            strings: count()?,
            arrays: count()?,
            objects: count()?,
            others: count()?,
        };
        let (numbers, strings) = (Extremes::read(bytes)?, Extremes::read(bytes)?);
        Some(Self { records, missing, kinds, distinct: None, numbers, strings, sum: ExactSum::read(bytes)? })
    }

    /// Adds the least and the greatest of the numbers that doubles hold.
    fn add_range(&mut self, range: Option<(f64, f64)>) {
        let mut key = Vec::new();
        for number in range.into_iter().flat_map(|(least, greatest)| [least, greatest]) {
            key.clear();
            key::encode(format!("{number:e}").as_bytes(), &mut key);
            self.numbers.add(&key);
        }
    }
}

/// A group of records, with the statistics of each path: a summary and the quantiles of the numbers.
///
/// ```
/// use warpath::aggregate::{DEFAULT_MEMORY, Grouping};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "{\"host\":\"a\",\"ms\":7}\n{\"host\":\"a\",\"ms\":9}\n";
/// let hosts = Grouping::default().with_value(Query::compile("$.host")?);
/// let input = Engine::builder().build()?.bytes(text);
/// let statistics = input.statistics_by(&[Query::compile("$.ms")?], hosts, DEFAULT_MEMORY)?;
/// statistics.groups(&["0.5".parse()?], |group| -> Result<(), warpath::Error> {
///     assert_eq!((group.values(), group.records), (vec![Some("\"a\"".to_owned())], 2));
///     assert_eq!(group.paths[0].1, [7.0]);
///     Ok(())
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StatisticsGroup<'a> {
    /// The key of the group's values.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub key: &'a [u8],
    /// The number of its records.
    pub records: u64,
    /// The statistics of each path.
    pub paths: Vec<(Summary, Vec<f64>)>,
}

impl StatisticsGroup<'_> {
    /// The values that the records of the group have in common, as JSON texts. `None` for a missing value.
    #[must_use]
    pub fn values(&self) -> Vec<Option<String>> {
        texts(self.key)
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
    paths: usize,
    memory: usize,
    /// The bytes of memory that are in use, about.
    bytes: usize,
    /// The groups, each with the number of its records.
    groups: ValueTable,
    /// The values of each path of each group.
    values: Vec<State>,
    /// Different values that are not among the numbers, if they are wanted: the number of their path and
    /// group, and their keys.
    distinct: Option<Distinct>,
    spilled: Option<Spilled>,
    buffer: Vec<u8>,
}

/// The values of a path of a group.
#[derive(Default)]
struct State {
    summary: Summary,
    numbers: Numbers,
}

/// Runs in temporary files.
struct Spilled {
    /// Keys of groups, with the summaries of their paths.
    groups: Sorter,
    /// Keys of groups and paths with values, and the counts of the values.
    values: Sorter,
}

impl Statistics {
    /// Statistics of this many paths, which keep about `memory` bytes in memory. If there are no groups, all
    /// records are one.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn new(paths: usize, memory: usize) -> Self {
        Self {
            paths,
            memory,
            bytes: 0,
            groups: ValueTable::default(),
            values: Vec::new(),
            distinct: None,
            spilled: None,
            buffer: Vec::new(),
        }
    }

    /// Counts the different values, too.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn with_distinct(self, distinct: bool) -> Self {
        Self { distinct: distinct.then(Distinct::default), ..self }
    }

    /// True if values were written to temporary files.
    #[must_use]
    pub fn has_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    /// Adds the values of a partition. The keys of its groups begin with `prefix`.
    ///
    /// # Errors
    /// The errors of temporary files.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn add(&mut self, described: &Described, prefix: &[u8]) -> Result<(), Error> {
        let mut key = std::mem::take(&mut self.buffer);
        let mut states = Vec::with_capacity(described.values.len());
        for (group, records, first) in described.groups() {
            key.clear();
            key.extend_from_slice(prefix);
            key.extend_from_slice(group);
            let number = self.group(&key, records)?;
            for (path, part) in described.values[first..][..self.paths].iter().enumerate() {
                let state = &mut self.values[number * self.paths + path];
                self.bytes -= state.summary.bytes();
                state.summary.join(&part.summary);
                state.numbers.add(&part.numbers, &part.rounded);
                self.bytes +=
                    state.summary.bytes() + Numbers::bytes_of(part.numbers.len() + part.rounded.len());
                states.push((number * self.paths + path) as u32);
            }
        }
        self.buffer = key;
        if let (Some(distinct), Some(others)) = (&mut self.distinct, &described.other_keys) {
            for (state, key) in others.iter() {
                self.bytes += distinct.add(states[state as usize], key)?;
            }
        }
        if self.bytes > self.memory { self.spill() } else { Ok(()) }
    }

    /// Finds the number of a group, or adds the group.
    fn group(&mut self, key: &[u8], records: u64) -> Result<usize, Error> {
        let hash = match self.groups.find(key) {
            Ok(entry) => {
                entry.count += records;
                return Ok(entry.first as usize);
            }
            Err(hash) => hash,
        };
        let number = self.groups.entries.len();
        self.groups.add(key, hash, (records, number as u64, false))?;
        self.values.extend((0..self.paths).map(|_| State::default()));
        self.bytes += ValueTable::bytes_of(key) + self.paths * size_of::<State>();
        Ok(number)
    }

    /// Writes all groups and values to temporary files.
    fn spill(&mut self) -> Result<(), Error> {
        let spilled = self.spilled.get_or_insert_with(|| Spilled {
            // The sorters merge runs, and keep no items.
            groups: Sorter::new(0),
            values: Sorter::new(0),
        });
        self.groups.sort();
        let (bytes, paths) = (&self.groups.bytes, self.paths);
        let states = |entry: &super::values::ValueCount| entry.first as usize * paths;
        let values = &self.values;
        spilled.groups.push_sorted(self.groups.entries.iter().map(|entry| {
            let mut payload = Vec::new();
            values[states(entry)..][..paths].iter().for_each(|state| state.summary.write(&mut payload));
            (entry.key(bytes), payload)
        }))?;
        let distinct = self.distinct.take().map(Distinct::sorted);
        let groups = self.groups.entries.iter().map(|entry| (entry.key(bytes), states(entry)));
        let values = &mut self.values;
        write_values(
            &mut spilled.values,
            groups,
            paths,
            |state| std::mem::take(&mut values[state].numbers),
            distinct.as_ref(),
        )?;
        self.distinct = distinct.map(|_| Distinct::default());
        self.groups.clear();
        self.values.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Path by path, the summary of the values, and the quantiles of the numbers. The quantile of a
    /// fraction *q* is the least number that at least *q* of all numbers do not exceed. The numbers are
    /// doubles, and their quantiles exact. Without numbers, there are no quantiles. All groups are one.
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn finish(self, fractions: &[Fraction]) -> Result<Vec<(Summary, Vec<f64>)>, Error> {
        let distinct = self.distinct.as_ref().map(|_| 0);
        let none = || (Summary { distinct, ..Summary::default() }, Vec::new());
        let mut all = (0..self.paths).map(|_| none()).collect();
        self.groups(fractions, |group| -> Result<(), Error> {
            all = group.paths;
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `each` with every group, in any order.
    ///
    /// # Errors
    /// The errors of temporary files, and of `each`.
    pub fn groups<E: From<Error>>(
        mut self,
        fractions: &[Fraction],
        mut each: impl FnMut(StatisticsGroup<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.spilled.is_some() && !self.groups.entries.is_empty() {
            self.spill()?;
        }
        match self.spilled.take() {
            None => self.now(fractions, each),
            Some(spilled) => merged(spilled, self.paths, self.distinct.is_some(), fractions, &mut each),
        }
    }

    /// Calls `each` with every group that is in memory, in any order: all groups, unless values were written
    /// to temporary files.
    ///
    /// # Errors
    /// The errors of `each`.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub fn now<E: From<Error>>(
        &mut self,
        fractions: &[Fraction],
        mut each: impl FnMut(StatisticsGroup<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let others = self.distinct.as_ref().map(|distinct| distinct.counts(self.values.len()));
        for entry in &self.groups.entries {
            let first = entry.first as usize * self.paths;
            let described = |(at, state): (usize, &mut State)| {
                let mut summary = state.summary.clone();
                summary.add_range(state.numbers.range());
                let quantiles = state.numbers.quantiles(fractions);
                summary.distinct =
                    others.as_ref().map(|others| others[first + at] + state.numbers.distinct());
                (summary, quantiles)
            };
            let paths = self.values[first..][..self.paths].iter_mut().enumerate().map(described).collect();
            each(StatisticsGroup { key: entry.key(&self.groups.bytes), records: entry.count, paths })?;
        }
        Ok(())
    }
}

/// Merges the runs of groups and of values.
fn merged<E: From<Error>>(
    spilled: Spilled,
    paths: usize,
    distinct: bool,
    fractions: &[Fraction],
    each: &mut impl FnMut(StatisticsGroup<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut values = ValueStream::new(spilled.values.finish()?)?;
    let (mut groups, mut key, mut payload) = (spilled.groups.finish()?, Vec::new(), Vec::new());
    let mut describe = |key: &[u8], summaries: Vec<Summary>| {
        let records = summaries.first().map_or(0, |summary| summary.records);
        let described = |(path, mut summary): (usize, Summary)| {
            let found = values.take(key, path, summary.kinds.numbers, fractions)?;
            summary.add_range(found.range);
            summary.distinct = distinct.then_some(found.distinct);
            Ok((summary, found.quantiles))
        };
        let paths = summaries.into_iter().enumerate().map(described).collect::<Result<Vec<_>, Error>>()?;
        each(StatisticsGroup { key, records, paths })
    };
    let mut last: Option<(Vec<u8>, Vec<Summary>)> = None;
    while groups.next(&mut key, &mut payload)? {
        let mut rest = &payload[..];
        let summaries: Vec<Summary> = (0..paths).map_while(|_| Summary::read(&mut rest)).collect();
        match &mut last {
            Some((of, known)) if *of == key => {
                known.iter_mut().zip(&summaries).for_each(|(known, summary)| known.join(summary));
            }
            _ => {
                if let Some((of, known)) = last.replace((std::mem::take(&mut key), summaries)) {
                    describe(&of, known)?;
                }
            }
        }
    }
    last.map_or(Ok(()), |(of, known)| describe(&of, known))
}
