//! Aggregates of all segments together: rows in groups by the values of members, and for each group counts,
//! numbers of different values, least and greatest values, and sums. All of them are exact.
//!
//! Groups are found by numbers: the code of a string, or a number that is given to each other value when it
//! is first seen. Strings are never read. Threads take segments, and their groups are joined at the end.

mod on_device;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::HashMap;
use warpath_core::cancel::Stop;
use warpath_core::pool;
use warpath_core::rows::RowSet;
use warpath_shared::leaf::{BLOCK_ROWS, double, integer};

use crate::dictionary::Dictionary;
use crate::packed::Packed;
use crate::rows::Question;
use crate::segment::{Kind, Leaf, Segment};

pub use on_device::{Bucket, DeviceGroups, Order, TableOf, group_on};

/// A value of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupValue {
    /// No value, or `null`.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A string: its code in the dictionary of the column ([`Grouped::dictionaries`]).
    Code(u32),
}

/// A function of the values of a column. It returns one value for each value, `None` for null.
pub type Derive = dyn Fn(&[GroupValue]) -> Result<Vec<GroupValue>, String> + Send + Sync;

/// A column by which rows are grouped.
#[derive(Clone)]
pub struct GroupColumn {
    /// The names that lead to the member.
    pub path: Vec<Vec<u8>>,
    /// The function whose results are the groups; `None` for the values themselves. It is called for values
    /// that are no strings.
    pub derive: Option<Arc<Derive>>,
}

/// A number about each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The number of rows.
    Rows,
    /// The number of values of a member that are not null.
    Count(Vec<Vec<u8>>),
    /// The number of different values of a member.
    Distinct(Vec<Vec<u8>>),
    /// The least value of a member that has integers or doubles.
    Least(Vec<Vec<u8>>),
    /// The greatest value of a member that has integers or doubles.
    Greatest(Vec<Vec<u8>>),
    /// The sum of a member that has integers.
    Sum(Vec<Vec<u8>>),
}

impl Aggregate {
    fn path(&self) -> Option<&[Vec<u8>]> {
        match self {
            Self::Rows => None,
            Self::Count(path)
            | Self::Distinct(path)
            | Self::Least(path)
            | Self::Greatest(path)
            | Self::Sum(path) => Some(path),
        }
    }
}

/// The kind of a member's values.
#[derive(Clone, Debug)]
pub enum ColumnKind {
    /// No segment has a value.
    Nothing,
    /// Booleans.
    Booleans,
    /// Integers.
    Integers,
    /// Doubles.
    Doubles,
    /// Strings with these codes.
    Codes(Arc<Dictionary>),
}

/// The kind of a member's values in all segments. `None` if they have several kinds, or their leaves have not
/// all of the values as numbers.
#[must_use]
pub fn kind_of<'a>(path: &[Vec<u8>], segments: impl Iterator<Item = &'a Segment>) -> Option<ColumnKind> {
    let mut kind = ColumnKind::Nothing;
    for segment in segments {
        let Some(member) = segment.member(path)? else { continue };
        for Kind { leaf, .. } in &member.kinds {
            let next = match leaf {
                Leaf::Booleans(_) => ColumnKind::Booleans,
                Leaf::Integers(_) => ColumnKind::Integers,
                Leaf::Doubles(_) => ColumnKind::Doubles,
                Leaf::Codes { dictionary, .. } => ColumnKind::Codes(dictionary.clone()),
                Leaf::Whole(_) => return None,
            };
            kind = match (kind, next) {
                (ColumnKind::Nothing, next) => next,
                (ColumnKind::Codes(one), ColumnKind::Codes(other)) if Arc::ptr_eq(&one, &other) => {
                    ColumnKind::Codes(one)
                }
                (ColumnKind::Booleans, ColumnKind::Booleans) => ColumnKind::Booleans,
                (ColumnKind::Integers, ColumnKind::Integers) => ColumnKind::Integers,
                (ColumnKind::Doubles, ColumnKind::Doubles) => ColumnKind::Doubles,
                _ => return None,
            };
        }
    }
    Some(kind)
}

/// The groups, in any order.
#[derive(Debug, Default)]
pub struct Grouped {
    /// The values of each group, column by column.
    pub groups: Vec<Vec<GroupValue>>,
    /// The numbers of each group, aggregate by aggregate.
    pub numbers: Vec<Vec<Number>>,
    /// The dictionary of each column of strings.
    pub dictionaries: Vec<Option<Arc<Dictionary>>>,
}

/// A number of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// No value: of a least or a greatest value, or of a sum of nothing.
    Null,
    /// A count.
    Count(u64),
    /// An integer.
    Integer(i128),
    /// A double.
    Double(f64),
}

/// The reason for which there are no groups.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The question was cancelled.
    #[error("the question was cancelled")]
    Stopped,
    /// A member has values of several kinds, or values that its leaves do not have.
    #[error("leaves do not have all values")]
    NotInLeaves,
    /// The function of a column failed.
    #[error("{0}")]
    Derive(String),
}

/// Groups the rows of segments. Without columns, all rows are one group, also if there are none.
///
/// # Errors
/// [`Error::NotInLeaves`] if leaves do not have all values, or do not decide the condition, and for more than
/// [`MOST_COLUMNS`] columns.
pub fn group(
    segments: &[&Segment],
    question: Option<&Question>,
    columns: &[GroupColumn],
    aggregates: &[Aggregate],
    stop: &Stop,
) -> Result<Grouped, Error> {
    let kind = |path: &[Vec<u8>]| kind_of(path, segments.iter().copied()).ok_or(Error::NotInLeaves);
    let kinds = columns.iter().map(|column| kind(&column.path)).collect::<Result<Vec<_>, _>>()?;
    let of_values = aggregates.iter().map(|aggregate| aggregate.path().map(kind).transpose());
    let of_values = of_values.collect::<Result<Vec<_>, _>>()?;
    if columns.len() > MOST_COLUMNS || segments.iter().any(|segment| !segment.is_whole()) {
        return Err(Error::NotInLeaves);
    }
    let run = Run { segments, question, columns, aggregates, kinds: &kinds, of_values: &of_values, stop };
    let threads = pool::cores().min(segments.len()).max(1);
    let next = AtomicUsize::new(0);
    let mut parts = pool::map_in(threads, (0..threads).collect(), |_| run.thread(&next));
    let mut all = parts.pop().unwrap_or_else(|| Ok(Table::new(&run)))?;
    for part in parts {
        all.join(part?);
    }
    Ok(all.finish(&run))
}

/// A question as all threads see it.
struct Run<'a> {
    segments: &'a [&'a Segment],
    question: Option<&'a Question>,
    columns: &'a [GroupColumn],
    aggregates: &'a [Aggregate],
    kinds: &'a [ColumnKind],
    of_values: &'a [Option<ColumnKind>],
    stop: &'a Stop,
}

/// The most columns by which rows are grouped.
pub const MOST_COLUMNS: usize = 4;

/// The values of group columns as numbers: codes, numbers in their order, 0 and 1, or results of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Key {
    numbers: [u64; MOST_COLUMNS],
    /// A bit for each column that is null.
    nulls: u8,
}

/// The groups of one thread.
struct Table {
    /// The number of each group of one column of codes, by the code after null.
    by_code: Vec<u32>,
    by_key: HashMap<Key, u32>,
    keys: Vec<Key>,
    /// The numbers of the groups, aggregate by aggregate.
    states: Vec<State>,
}

const NONE: u32 = u32::MAX;

/// An aggregate of all groups.
enum State {
    Count(Vec<u64>),
    /// Least or greatest numbers in their order, and the number of values.
    Extreme {
        is_least: bool,
        found: Vec<Option<u64>>,
    },
    Sum(Vec<Option<i128>>),
    Distinct(Distinct),
}

/// The different values of groups.
enum Distinct {
    /// For each group the codes that were seen.
    Bits { words: usize, seen: Vec<Vec<u64>> },
    /// Each group with each value, sorted and once at the end.
    Pairs(Vec<(u32, u64)>),
}

/// The values of a leaf in a segment, block by block.
enum Column<'a> {
    Nothing,
    Booleans(&'a RowSet, RowSet),
    Numbers(&'a Packed, RowSet),
    /// The numbers of codes, and the codes.
    Codes(&'a Packed, &'a [u32], RowSet),
}

impl<'a> Column<'a> {
    fn of(segment: &'a Segment, path: &[Vec<u8>]) -> Result<Self, Error> {
        let member = segment.member(path).ok_or(Error::NotInLeaves)?;
        let Some(Kind { rows, leaf }) = member.and_then(|member| member.kinds.first()) else {
            return Ok(Self::Nothing);
        };
        let here = segment.set(rows);
        Ok(match leaf {
            Leaf::Booleans(is_true) => Self::Booleans(is_true, here),
            Leaf::Integers(packed) | Leaf::Doubles(packed) => Self::Numbers(packed, here),
            Leaf::Codes { numbers, codes, .. } => Self::Codes(numbers, codes, here),
            Leaf::Whole(_) => return Err(Error::NotInLeaves),
        })
    }

    /// Reads a block: one number for each row. Returns the rows that have a value, 64 in each word.
    fn block(&self, block: usize, numbers: &mut [u64; BLOCK_ROWS]) -> &[u64] {
        let first = block * (BLOCK_ROWS / 64);
        let words = |set: &'a RowSet| &set.words()[first..set.words().len().min(first + BLOCK_ROWS / 64)];
        let here: &RowSet = match self {
            Self::Nothing => return &[],
            Self::Booleans(is_true, here) => {
                for (at, word) in words(is_true).iter().enumerate() {
                    (0..64).for_each(|bit| numbers[64 * at + bit] = word >> bit & 1);
                }
                here
            }
            Self::Numbers(packed, here) => {
                packed.block(block, numbers);
                here
            }
            Self::Codes(packed, codes, here) => {
                packed.block(block, numbers);
                numbers.iter_mut().for_each(|number| {
                    *number = codes.get(*number as usize).copied().unwrap_or_default().into();
                });
                here
            }
        };
        &here.words()[first..here.words().len().min(first + BLOCK_ROWS / 64)]
    }
}

impl Table {
    fn new(run: &Run<'_>) -> Self {
        let states = run.aggregates.iter().zip(run.of_values).map(|(aggregate, kind)| match aggregate {
            Aggregate::Rows | Aggregate::Count(_) => State::Count(Vec::new()),
            Aggregate::Least(_) => State::Extreme { is_least: true, found: Vec::new() },
            Aggregate::Greatest(_) => State::Extreme { is_least: false, found: Vec::new() },
            Aggregate::Sum(_) => State::Sum(Vec::new()),
            Aggregate::Distinct(_) => State::Distinct(match kind {
                Some(ColumnKind::Codes(dictionary)) => {
                    Distinct::Bits { words: dictionary.read().len().div_ceil(64), seen: Vec::new() }
                }
                _ => Distinct::Pairs(Vec::new()),
            }),
        });
        let mut table = Self {
            by_code: Vec::new(),
            by_key: HashMap::default(),
            keys: Vec::new(),
            states: states.collect(),
        };
        if run.columns.is_empty() {
            table.number(Key::default());
        }
        table
    }

    /// The number of a group.
    fn number(&mut self, key: Key) -> u32 {
        let number = self.keys.len() as u32;
        let known = *self.by_key.entry(key).or_insert(number);
        if known != number {
            return known;
        }
        self.keys.push(key);
        for state in &mut self.states {
            match state {
                State::Count(counts) => counts.push(0),
                State::Extreme { found, .. } => found.push(None),
                State::Sum(sums) => sums.push(None),
                State::Distinct(Distinct::Bits { words, seen }) => {
                    seen.push(Vec::new());
                    // Sets of many groups would take more memory than the values.
                    if words.saturating_mul(seen.len()) > MOST_WORDS {
                        let pairs = pairs_of(seen);
                        *state = State::Distinct(Distinct::Pairs(pairs));
                    }
                }
                State::Distinct(Distinct::Pairs(_)) => {}
            }
        }
        number
    }

    /// The number of the group of a code, or of null.
    fn number_of_code(&mut self, code: Option<u64>) -> u32 {
        let at = code.map_or(0, |code| code as usize + 1);
        if let Some(number) = self.by_code.get(at).copied().filter(|number| *number != NONE) {
            return number;
        }
        if self.by_code.len() <= at {
            self.by_code.resize((at + 1).next_power_of_two(), NONE);
        }
        let number = self
            .number(Key { numbers: [code.unwrap_or_default(), 0, 0, 0], nulls: u8::from(code.is_none()) });
        self.by_code[at] = number;
        number
    }

    fn join(&mut self, other: Self) {
        let numbers: Vec<u32> = other.keys.into_iter().map(|key| self.number(key)).collect();
        let own = |number: usize| numbers[number] as usize;
        for (state, other) in self.states.iter_mut().zip(other.states) {
            match (state, other) {
                (State::Count(counts), State::Count(others)) => {
                    others.into_iter().enumerate().for_each(|(at, count)| counts[own(at)] += count);
                }
                (State::Extreme { is_least, found }, State::Extreme { found: others, .. }) => {
                    let is_least = *is_least;
                    for (at, other) in others.into_iter().enumerate() {
                        other.into_iter().for_each(|other| extreme(&mut found[own(at)], other, is_least));
                    }
                }
                (State::Sum(sums), State::Sum(others)) => {
                    for (at, other) in others.into_iter().enumerate() {
                        if let Some(other) = other {
                            *sums[own(at)].get_or_insert(0) += other;
                        }
                    }
                }
                (State::Distinct(one), State::Distinct(other)) => one.join(other, &numbers),
                _ => {}
            }
        }
    }

    fn finish(self, run: &Run<'_>) -> Grouped {
        let value = |kind: &ColumnKind, derived: bool, number: u64| match kind {
            _ if derived => GroupValue::Integer(number as i64),
            ColumnKind::Nothing => GroupValue::Null,
            ColumnKind::Booleans => GroupValue::Boolean(number != 0),
            ColumnKind::Integers => GroupValue::Integer(integer(number)),
            ColumnKind::Doubles => GroupValue::Double(double(number)),
            ColumnKind::Codes(_) => GroupValue::Code(number as u32),
        };
        let groups = self.keys.iter().map(|Key { numbers, nulls }| {
            let columns = numbers.iter().zip(run.kinds).zip(run.columns).enumerate();
            let values = columns.map(|(at, ((number, kind), column))| match nulls >> at & 1 {
                0 => value(kind, column.derive.is_some(), *number),
                _ => GroupValue::Null,
            });
            values.collect()
        });
        let groups: Vec<Vec<GroupValue>> = groups.collect();
        let mut numbers = vec![Vec::with_capacity(self.states.len()); groups.len()];
        for (state, kind) in self.states.into_iter().zip(run.of_values) {
            let found: Vec<Number> = match state {
                State::Count(counts) => counts.into_iter().map(Number::Count).collect(),
                State::Extreme { found, .. } => {
                    let is_double = matches!(kind, Some(ColumnKind::Doubles));
                    let number = |found: Option<u64>| match found {
                        None => Number::Null,
                        Some(found) if is_double => Number::Double(double(found)),
                        Some(found) => Number::Integer(integer(found).into()),
                    };
                    found.into_iter().map(number).collect()
                }
                State::Sum(sums) => {
                    sums.into_iter().map(|sum| sum.map_or(Number::Null, Number::Integer)).collect()
                }
                State::Distinct(distinct) => {
                    distinct.counts(groups.len()).into_iter().map(Number::Count).collect()
                }
            };
            numbers.iter_mut().zip(found).for_each(|(numbers, found)| numbers.push(found));
        }
        let dictionary = |kind: &ColumnKind| match kind {
            ColumnKind::Codes(dictionary) => Some(dictionary.clone()),
            _ => None,
        };
        Grouped { groups, numbers, dictionaries: run.kinds.iter().map(dictionary).collect() }
    }
}

/// The most words of all sets of different values of a thread.
const MOST_WORDS: usize = 1 << 23;

fn extreme(found: &mut Option<u64>, value: u64, is_least: bool) {
    *found = Some(match *found {
        None => value,
        Some(found) if is_least => found.min(value),
        Some(found) => found.max(value),
    });
}

/// Each group with each of its values.
fn pairs_of(seen: &[Vec<u64>]) -> Vec<(u32, u64)> {
    let mut pairs = Vec::new();
    for (group, words) in seen.iter().enumerate() {
        for (at, word) in words.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                pairs.push((group as u32, 64 * at as u64 + u64::from(left.trailing_zeros())));
                left &= left - 1;
            }
        }
    }
    pairs
}

impl Distinct {
    #[inline]
    fn add(&mut self, group: u32, value: u64) {
        match self {
            Self::Bits { words, seen } => {
                let set = &mut seen[group as usize];
                if set.is_empty() {
                    set.resize(*words, 0);
                }
                set[(value / 64) as usize] |= 1 << (value % 64);
            }
            Self::Pairs(pairs) => pairs.push((group, value)),
        }
    }

    fn join(&mut self, other: Self, numbers: &[u32]) {
        match (&mut *self, other) {
            (Self::Bits { seen, .. }, Self::Bits { seen: others, .. }) => {
                for (other, number) in others.into_iter().zip(numbers) {
                    let set = &mut seen[*number as usize];
                    if set.is_empty() {
                        *set = other;
                    } else {
                        set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
                    }
                }
            }
            (one, other) => {
                let mut pairs = std::mem::replace(one, Self::Pairs(Vec::new())).into_pairs();
                let others = other.into_pairs().into_iter();
                pairs.extend(others.map(|(group, value)| (numbers[group as usize], value)));
                *one = Self::Pairs(pairs);
            }
        }
    }

    fn into_pairs(self) -> Vec<(u32, u64)> {
        match self {
            Self::Bits { seen, .. } => pairs_of(&seen),
            Self::Pairs(pairs) => pairs,
        }
    }

    fn counts(self, groups: usize) -> Vec<u64> {
        match self {
            Self::Bits { seen, .. } => {
                let count = |words: &Vec<u64>| words.iter().map(|word| u64::from(word.count_ones())).sum();
                seen.iter().map(count).collect()
            }
            Self::Pairs(mut pairs) => {
                pairs.sort_unstable();
                pairs.dedup();
                let mut counts = vec![0; groups];
                pairs.iter().for_each(|(group, _)| counts[*group as usize] += 1);
                counts
            }
        }
    }
}

impl Run<'_> {
    /// Groups the segments that no other thread has taken.
    fn thread(&self, next: &AtomicUsize) -> Result<Table, Error> {
        let mut table = Table::new(self);
        while let Some(segment) = self.segments.get(next.fetch_add(1, Ordering::Relaxed)) {
            if self.stop.is_set() {
                return Err(Error::Stopped);
            }
            self.segment(segment, &mut table)?;
        }
        Ok(table)
    }

    fn segment(&self, segment: &Segment, table: &mut Table) -> Result<(), Error> {
        let rows = match self.question {
            Some(question) => question.rows(segment).ok_or(Error::NotInLeaves)?,
            None => segment.records().clone(),
        };
        let columns = self.columns.iter().map(|column| Column::of(segment, &column.path));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let values = self.aggregates.iter().map(|aggregate| match aggregate.path() {
            Some(path) => Column::of(segment, path).map(Some),
            None => Ok(None),
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let mut numbers = [0; BLOCK_ROWS];
        let (mut of_rows, mut selected) = (Vec::with_capacity(BLOCK_ROWS), Vec::with_capacity(BLOCK_ROWS));
        for block in 0..(rows.rows() as usize).div_ceil(BLOCK_ROWS) {
            let first = block * (BLOCK_ROWS / 64);
            let words = &rows.words()[first..rows.words().len().min(first + BLOCK_ROWS / 64)];
            selected.clear();
            for (at, word) in words.iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    selected.push((64 * at) as u32 + left.trailing_zeros());
                    left &= left - 1;
                }
            }
            if selected.is_empty() {
                continue;
            }
            of_rows.clear();
            self.groups_of(&columns, block, &selected, table, &mut of_rows)?;
            for ((state, column), aggregate) in table.states.iter_mut().zip(&values).zip(self.aggregates) {
                let Some(column) = column else {
                    if let State::Count(counts) = state {
                        of_rows.iter().for_each(|group| counts[*group as usize] += 1);
                    }
                    continue;
                };
                let here = column.block(block, &mut numbers);
                let is_here =
                    |row: u32| here.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 != 0);
                let found = selected.iter().zip(&of_rows).filter(|(row, _)| is_here(**row));
                let found = found.map(|(row, group)| (*group, numbers[*row as usize]));
                match (state, aggregate) {
                    (State::Count(counts), _) => found.for_each(|(group, _)| counts[group as usize] += 1),
                    (State::Extreme { is_least, found: extremes }, _) => {
                        let is_least = *is_least;
                        found.for_each(|(group, value)| {
                            extreme(&mut extremes[group as usize], value, is_least);
                        });
                    }
                    (State::Sum(sums), _) => found.for_each(|(group, value)| {
                        *sums[group as usize].get_or_insert(0) += i128::from(integer(value));
                    }),
                    (State::Distinct(distinct), _) => {
                        found.for_each(|(group, value)| distinct.add(group, value));
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends the group of each selected row of a block.
    fn groups_of(
        &self,
        columns: &[Column<'_>],
        block: usize,
        selected: &[u32],
        table: &mut Table,
        of_rows: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let mut numbers = [0; BLOCK_ROWS];
        let is_here = |here: &[u64], row: u32| {
            here.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 != 0)
        };
        if columns.is_empty() {
            of_rows.resize(selected.len(), 0);
            return Ok(());
        }
        if let ([column], [GroupColumn { derive: None, .. }], [ColumnKind::Codes(_) | ColumnKind::Nothing]) =
            (columns, self.columns, self.kinds)
        {
            let here = column.block(block, &mut numbers);
            of_rows.extend(selected.iter().map(|row| {
                let code = is_here(here, *row).then(|| numbers[*row as usize]);
                table.number_of_code(code)
            }));
            return Ok(());
        }
        let mut keys = vec![Key::default(); selected.len()];
        for (at, ((column, kind), of)) in columns.iter().zip(self.kinds).zip(self.columns).enumerate() {
            let here = column.block(block, &mut numbers);
            let derived = match &of.derive {
                None => None,
                Some(derive) => {
                    let value = |row: &u32| match kind {
                        _ if !is_here(here, *row) => GroupValue::Null,
                        ColumnKind::Integers => GroupValue::Integer(integer(numbers[*row as usize])),
                        ColumnKind::Doubles => GroupValue::Double(double(numbers[*row as usize])),
                        ColumnKind::Booleans => GroupValue::Boolean(numbers[*row as usize] != 0),
                        ColumnKind::Codes(_) | ColumnKind::Nothing => GroupValue::Null,
                    };
                    let values: Vec<_> = selected.iter().map(value).collect();
                    Some(derive(&values).map_err(Error::Derive)?)
                }
            };
            for (place, (row, key)) in selected.iter().zip(&mut keys).enumerate() {
                let number = match &derived {
                    None => is_here(here, *row).then(|| numbers[*row as usize]),
                    Some(derived) => match derived[place] {
                        GroupValue::Integer(value) => Some(value as u64),
                        GroupValue::Null => None,
                        _ => return Err(Error::NotInLeaves),
                    },
                };
                key.numbers[at] = number.unwrap_or_default();
                key.nulls |= u8::from(number.is_none()) << at;
            }
        }
        let mut last: Option<(Key, u32)> = None;
        for key in keys {
            let number = match &last {
                Some((before, number)) if *before == key => *number,
                _ => table.number(key),
            };
            of_rows.push(number);
            last = Some((key, number));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
