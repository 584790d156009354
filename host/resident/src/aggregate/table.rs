//! The groups of one thread, and their numbers.

use std::borrow::Cow;
use std::ops::Range;

use foldhash::HashMap;
use warpath_core::cancel::Stop;
use warpath_core::rows::RowSet;
use warpath_shared::leaf::{BLOCK_ROWS, double, integer};

use super::column::{BlockNumbers, Column, select, words_of};
use super::distinct::{Distinct, MOST_WORDS};
use super::grouped::{Grouped, Numbers, Values};
use super::slots::Slots;
use super::wanted::{Aggregate, ColumnKind, Error, GroupColumn, MOST_COLUMNS};
use crate::segment::Segment;

/// A question as all threads see it.
pub struct Run<'a> {
    pub segments: &'a [&'a Segment],
    /// The selected rows of each segment.
    pub rows: &'a [Cow<'a, RowSet>],
    pub columns: &'a [GroupColumn],
    pub aggregates: &'a [Aggregate],
    pub kinds: &'a [ColumnKind],
    pub of_values: &'a [Option<ColumnKind>],
    pub stop: &'a Stop,
    /// Threads, each with a table.
    pub threads: usize,
    /// The slots of the columns, if keys are indices.
    pub slots: Option<Vec<Slots>>,
}

/// The values of group columns as numbers: codes, numbers in their order, 0 and 1, or results of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Key {
    numbers: [u64; MOST_COLUMNS],
    /// A bit for each column that is null.
    nulls: u8,
}

/// The way in which rows find their groups.
enum Groups {
    /// By keys that are indices, which are below a number.
    Indexed(usize, Seen),
    /// By a table of those that were seen, and their keys.
    Listed(HashMap<Key, u32>, Vec<Key>),
}

/// The groups that were seen.
enum Seen {
    /// A flag for each of them.
    Flags(Vec<bool>),
    /// Groups of which this aggregate, their number of rows, is not 0.
    Counted(usize),
}

/// The groups of one thread.
pub struct Table {
    groups: Groups,
    /// The numbers of the groups, aggregate by aggregate.
    states: Vec<State>,
}

/// An aggregate of all groups.
enum State {
    Count(Vec<u64>),
    /// Least or greatest numbers in their order.
    Extreme {
        is_least: bool,
        found: Vec<Option<u64>>,
    },
    Sum(Vec<Option<i128>>),
    Distinct(Distinct),
}

#[inline(always)]
fn extreme(found: &mut Option<u64>, value: u64, is_least: bool) {
    *found = Some(match *found {
        None => value,
        Some(found) if is_least => found.min(value),
        Some(found) => found.max(value),
    });
}

fn add(sum: &mut Option<i128>, value: i128) {
    *sum = Some(sum.unwrap_or(0) + value);
}

impl State {
    /// An aggregate of no groups. `most` is the most words of sets.
    fn new(aggregate: &Aggregate, kind: Option<&ColumnKind>, most: usize) -> Self {
        match aggregate {
            Aggregate::Rows | Aggregate::Count(_) => Self::Count(Vec::new()),
            Aggregate::Least(_) => Self::Extreme { is_least: true, found: Vec::new() },
            Aggregate::Greatest(_) => Self::Extreme { is_least: false, found: Vec::new() },
            Aggregate::Sum(_) => Self::Sum(Vec::new()),
            Aggregate::Distinct(_) => {
                let codes = match kind {
                    Some(ColumnKind::Codes(dictionary)) => Some(dictionary.read().end()),
                    _ => None,
                };
                Self::Distinct(Distinct::new(codes, most))
            }
        }
    }

    /// Makes room for groups.
    fn resize(&mut self, groups: usize) {
        match self {
            Self::Count(counts) => counts.resize(groups, 0),
            Self::Extreme { found, .. } => found.resize(groups, None),
            Self::Sum(sums) => sums.resize(groups, None),
            Self::Distinct(distinct) => distinct.resize(groups),
        }
    }

    /// Adds the values of the selected rows of a block to their groups.
    fn add(
        &mut self,
        column: Option<&Column<'_>>,
        block: usize,
        selected: &[u32],
        groups: &[u32],
        numbers: &mut BlockNumbers,
    ) {
        let Some(column) = column else {
            if let Self::Count(counts) = self {
                groups.iter().for_each(|group| counts[*group as usize] += 1);
            }
            return;
        };
        let groups = &groups[..selected.len()];
        match self {
            Self::Count(counts) => column.each(block, selected, numbers, |place, number| {
                counts[groups[place] as usize] += u64::from(number.is_some());
            }),
            Self::Extreme { is_least: true, found } => {
                column.each(block, selected, numbers, |place, number| {
                    if let Some(number) = number {
                        extreme(&mut found[groups[place] as usize], number, true);
                    }
                });
            }
            Self::Extreme { is_least: false, found } => {
                column.each(block, selected, numbers, |place, number| {
                    if let Some(number) = number {
                        extreme(&mut found[groups[place] as usize], number, false);
                    }
                });
            }
            Self::Sum(sums) => column.each(block, selected, numbers, |place, number| {
                if let Some(number) = number {
                    add(&mut sums[groups[place] as usize], integer(number).into());
                }
            }),
            Self::Distinct(distinct) => column.each(block, selected, numbers, |place, number| {
                if let Some(number) = number {
                    distinct.add(groups[place], number);
                }
            }),
        }
    }
}

impl Table {
    pub fn new(run: &Run<'_>) -> Self {
        let states = run.aggregates.iter().zip(run.of_values);
        let most = MOST_WORDS / run.threads;
        let mut states: Vec<_> =
            states.map(|(aggregate, kind)| State::new(aggregate, kind.as_ref(), most)).collect();
        let groups = match &run.slots {
            Some(slots) => {
                let span = slots.iter().map(|slots| slots.span() as usize).product();
                states.iter_mut().for_each(|state| state.resize(span));
                let counted = run.aggregates.iter().position(|aggregate| *aggregate == Aggregate::Rows);
                let seen = match counted.filter(|_| !slots.is_empty()) {
                    Some(aggregate) => Seen::Counted(aggregate),
                    // Without columns, there is a group also if there are no rows.
                    None => Seen::Flags(vec![slots.is_empty(); span]),
                };
                Groups::Indexed(span, seen)
            }
            None => Groups::Listed(HashMap::default(), Vec::new()),
        };
        Self { groups, states }
    }

    /// The number of groups, those that were not seen included.
    pub fn len(&self) -> usize {
        match &self.groups {
            Groups::Indexed(span, _) => *span,
            Groups::Listed(_, keys) => keys.len(),
        }
    }

    fn has(&self, group: usize) -> bool {
        match &self.groups {
            Groups::Indexed(_, Seen::Flags(seen)) => seen[group],
            Groups::Indexed(_, Seen::Counted(aggregate)) => match &self.states[*aggregate] {
                State::Count(counts) => counts[group] > 0,
                _ => true,
            },
            Groups::Listed(..) => true,
        }
    }

    /// Adds the selected rows of some blocks of a segment.
    pub fn add(&mut self, run: &Run<'_>, segment: usize, blocks: Range<usize>) -> Result<(), Error> {
        let (segment, rows) = (run.segments[segment], &*run.rows[segment]);
        let columns = run.columns.iter().map(|column| Column::of(segment, &column.path));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        if self.count(run, &columns, rows, &blocks) {
            return Ok(());
        }
        let values = run
            .aggregates
            .iter()
            .map(|aggregate| aggregate.path().map(|path| Column::of(segment, path)).transpose());
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let mut numbers = [0; BLOCK_ROWS];
        let (mut selected, mut groups) = (Vec::with_capacity(BLOCK_ROWS), Vec::with_capacity(BLOCK_ROWS));
        for block in blocks {
            select(rows, block, &mut selected);
            if selected.is_empty() {
                continue;
            }
            groups.clear();
            groups.resize(selected.len(), 0);
            self.find(run, &columns, block, &selected, &mut groups, &mut numbers)?;
            for (state, column) in self.states.iter_mut().zip(&values) {
                state.add(column.as_ref(), block, &selected, &groups, &mut numbers);
            }
        }
        Ok(())
    }

    /// Counts the selected rows of some blocks, without finding the group of each of them. Returns false, and
    /// does nothing, for several columns, for columns other than those of few codes, and for other
    /// aggregates.
    fn count(&mut self, run: &Run<'_>, columns: &[Column<'_>], rows: &RowSet, blocks: &Range<usize>) -> bool {
        let Self { groups: Groups::Indexed(_, seen), states } = self else { return false };
        if run.aggregates.iter().any(|aggregate| *aggregate != Aggregate::Rows) {
            return false;
        }
        let mut add = |group: usize, rows: u64| {
            for state in &mut *states {
                if let State::Count(counts) = state {
                    counts[group] += rows;
                }
            }
            if let Seen::Flags(seen) = seen {
                seen[group] |= rows > 0;
            }
        };
        match (run.slots.as_deref(), columns) {
            (Some([]), []) => {
                let words = blocks.clone().flat_map(|block| words_of(rows, block));
                add(0, words.map(|word| u64::from(word.count_ones())).sum());
                true
            }
            (Some([Slots::Small { .. }]), [column]) => column.count_codes(rows, blocks, add),
            _ => false,
        }
    }

    /// Finds the group of each selected row of a block.
    fn find(
        &mut self,
        run: &Run<'_>,
        columns: &[Column<'_>],
        block: usize,
        selected: &[u32],
        groups: &mut [u32],
        numbers: &mut BlockNumbers,
    ) -> Result<(), Error> {
        if let (Some(slots), Groups::Indexed(_, seen)) = (&run.slots, &mut self.groups) {
            let mut stride = 1;
            for (slots, column) in slots.iter().zip(columns) {
                slots.add_to_keys(column, block, selected, stride, groups, numbers);
                stride *= slots.span() as u32;
            }
            if let Seen::Flags(seen) = seen {
                groups.iter().for_each(|group| seen[*group as usize] = true);
            }
            return Ok(());
        }
        let mut keys = vec![Key::default(); selected.len()];
        for (at, (column, of)) in columns.iter().zip(run.columns).enumerate() {
            let mut set = |place: usize, number: Option<u64>| {
                let key: &mut Key = &mut keys[place];
                key.numbers[at] = number.unwrap_or_default();
                key.nulls |= u8::from(number.is_none()) << at;
            };
            match &of.derive {
                None => column.each(block, selected, numbers, set),
                Some(derive) => {
                    let mut integers = Vec::with_capacity(selected.len());
                    column.each(block, selected, numbers, |_, number| integers.push(number.map(integer)));
                    let results = derive(&integers).map_err(Error::Derive)?;
                    let results = results.into_iter().enumerate().take(integers.len());
                    results.for_each(|(place, result)| set(place, result.map(|result| result as u64)));
                }
            }
        }
        let mut last: Option<(Key, u32)> = None;
        for (key, group) in keys.into_iter().zip(groups) {
            *group = match &last {
                Some((before, number)) if *before == key => *number,
                _ => self.number(key),
            };
            last = Some((key, *group));
        }
        Ok(())
    }

    /// The number of a group that is listed.
    fn number(&mut self, key: Key) -> u32 {
        let Groups::Listed(known, keys) = &mut self.groups else { return 0 };
        let next = keys.len() as u32;
        let number = *known.entry(key).or_insert(next);
        if number == next {
            keys.push(key);
            self.states.iter_mut().for_each(|state| state.resize(next as usize + 1));
        }
        number
    }

    /// The groups of two tables with lists.
    pub fn joined(mut self, other: Self) -> Self {
        let Groups::Listed(_, keys) = other.groups else { return self };
        let numbers: Vec<u32> = keys.into_iter().map(|key| self.number(key)).collect();
        let own = |group: usize| numbers[group] as usize;
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
                        other.into_iter().for_each(|other| add(&mut sums[own(at)], other));
                    }
                }
                (State::Distinct(one), State::Distinct(other)) => {
                    one.join(other, |group| numbers[group as usize]);
                }
                _ => {}
            }
        }
        self
    }
}

/// The numbers of different values of an aggregate, for all groups of the tables, which have the same
/// groups. `None` for other aggregates.
pub fn different(tables: &mut [Table], state: usize) -> Option<Vec<u64>> {
    let groups = tables.first()?.len();
    let mut all: Option<Distinct> = None;
    for table in tables {
        let State::Distinct(distinct) = &mut table.states[state] else { return None };
        let distinct = std::mem::replace(distinct, Distinct::new(None, 0));
        match &mut all {
            Some(all) => all.join(distinct, |group| group),
            None => all = Some(distinct),
        }
    }
    Some(all?.counts(groups))
}

/// The groups of a range, of all tables, which have the same groups.
pub fn piece(
    run: &Run<'_>,
    tables: &[Table],
    different: &[Option<Vec<u64>>],
    range: Range<usize>,
) -> Grouped {
    let groups: Vec<usize> = range.filter(|group| tables.iter().any(|table| table.has(*group))).collect();
    let mut stride = 1;
    let columns = run.kinds.iter().zip(run.columns).enumerate().map(|(at, (kind, column))| {
        let is_derived = column.derive.is_some();
        if let Some(slots) = &run.slots {
            let (slots, of) = (&slots[at], stride);
            stride *= slots.span();
            let number = |group: &usize| slots.number(*group as u64 / of % slots.span());
            return Values::of(kind, is_derived, groups.iter().map(number));
        }
        let keys: &[Key] = match tables.first().map(|table| &table.groups) {
            Some(Groups::Listed(_, keys)) => keys,
            _ => &[],
        };
        let number = |group: &usize| {
            let Key { numbers, nulls } = &keys[*group];
            (nulls >> at & 1 == 0).then_some(numbers[at])
        };
        Values::of(kind, is_derived, groups.iter().map(number))
    });
    let columns = columns.collect();
    let numbers = run.of_values.iter().zip(different).enumerate().map(|(at, (kind, different))| {
        if let Some(counts) = different {
            return Numbers::Counts(groups.iter().map(|group| counts[*group]).collect());
        }
        let states = || tables.iter().map(|table| &table.states[at]);
        match tables.first().map(|table| &table.states[at]) {
            Some(State::Extreme { is_least, .. }) => {
                let found = |group: &usize| {
                    let mut all = None;
                    for state in states() {
                        if let State::Extreme { found, .. } = state
                            && let Some(found) = found[*group]
                        {
                            extreme(&mut all, found, *is_least);
                        }
                    }
                    all
                };
                let found = groups.iter().map(found);
                match kind {
                    Some(ColumnKind::Doubles) => Numbers::Doubles(found.map(|it| it.map(double)).collect()),
                    _ => Numbers::Integers(found.map(|it| it.map(integer)).collect()),
                }
            }
            Some(State::Sum(_)) => {
                let sum = |group: &usize| {
                    let mut all = None;
                    for state in states() {
                        if let State::Sum(sums) = state {
                            sums[*group].into_iter().for_each(|sum| add(&mut all, sum));
                        }
                    }
                    all
                };
                Numbers::Sums(groups.iter().map(sum).collect())
            }
            _ => {
                let count = |group: &usize| {
                    let counts = states().map(|state| match state {
                        State::Count(counts) => counts[*group],
                        _ => 0,
                    });
                    counts.sum()
                };
                Numbers::Counts(groups.iter().map(count).collect())
            }
        }
    });
    let numbers = numbers.collect();
    Grouped { len: groups.len(), columns, numbers }
}
