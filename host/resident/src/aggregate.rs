//! Aggregates of all segments together: rows in groups by the values of members, and for each group counts,
//! numbers of different values, least and greatest values, and sums. All of them are exact.
//!
//! A row finds its group by numbers: the code of a string, or a number in its order. Strings are never read.
//! Threads take ranges of blocks of all segments:
//!
//! ```text
//! slots     0        1       2       …     of each column: null, and then each value that may occur
//! key       slot of column 0, + slots of column 0 · slot of column 1, + …
//! table     counts[key], least[key], …     one table for each thread
//! ```
//!
//! If the columns have few slots, keys are indices of the tables ([`slots`]). Otherwise a group gets the next
//! index when a thread first meets it ([`table`]). At the end the tables are joined, range by range.
//!
//! | module | contents |
//! |---|---|
//! | [`column`] | the values of a member in a block |
//! | [`slots`] | the slots of a column |
//! | [`table`] | the groups of a thread, and their numbers |
//! | [`distinct`] | different values of groups |

mod column;
mod distinct;
mod slots;
mod table;

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warpath_core::cancel::Stop;
use warpath_core::pool;
use warpath_core::rows::RowSet;
use warpath_shared::leaf::{BLOCK_ROWS, double, integer};

use crate::dictionary::Dictionary;
use crate::rows::Question;
use crate::segment::{Kind, Leaf, Segment};

use column::Column;
use slots::Slots;
use table::Table;

/// A value of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupValue {
    /// No value, or `null`.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A string: its code in the dictionary of the column ([`Grouped::dictionary`]).
    Code(u32),
}

/// A function of integers. It returns one result for each of them, `None` for null.
pub type Derive = dyn Fn(&[Option<i64>]) -> Result<Vec<Option<i64>>, String> + Send + Sync;

/// A column by which rows are grouped.
#[derive(Clone)]
pub struct GroupColumn {
    /// The names that lead to the member.
    pub path: Vec<Vec<u8>>,
    /// The function whose results are the groups; `None` for the values themselves. The member then has
    /// integers.
    pub derive: Option<Arc<Derive>>,
    /// A number of which the caller knows: integers whose quotients by it, rounded down, are equal have equal
    /// results. The function is then called once for each quotient. Without it, the function is called for
    /// each block of rows.
    pub unit: Option<NonZeroU64>,
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

/// Groups, in any order.
#[derive(Clone, Debug, Default)]
pub struct Grouped {
    /// The number of groups.
    pub len: usize,
    /// The values of each column.
    pub columns: Vec<Values>,
    /// The numbers of each aggregate.
    pub numbers: Vec<Numbers>,
}

/// The values of a column: one for each group, `None` for null.
#[derive(Clone, Debug)]
pub enum Values {
    /// No group has a value.
    Nothing,
    /// Booleans.
    Booleans(Vec<Option<bool>>),
    /// Integers, or results of a function.
    Integers(Vec<Option<i64>>),
    /// Doubles.
    Doubles(Vec<Option<f64>>),
    /// Strings: their codes, and the dictionary of these.
    Codes(Vec<Option<u32>>, Arc<Dictionary>),
}

/// The numbers of an aggregate: one for each group. `None` is a least or a greatest value, or a sum, of
/// nothing.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// Counts.
    Counts(Vec<u64>),
    /// Integers.
    Integers(Vec<Option<i64>>),
    /// Sums of integers.
    Sums(Vec<Option<i128>>),
    /// Doubles.
    Doubles(Vec<Option<f64>>),
}

impl Values {
    fn of(kind: &ColumnKind, is_derived: bool, numbers: impl Iterator<Item = Option<u64>>) -> Self {
        match kind {
            _ if is_derived => Self::Integers(numbers.map(|number| number.map(|it| it as i64)).collect()),
            ColumnKind::Nothing => Self::Nothing,
            ColumnKind::Booleans => Self::Booleans(numbers.map(|number| number.map(|it| it != 0)).collect()),
            ColumnKind::Integers => Self::Integers(numbers.map(|number| number.map(integer)).collect()),
            ColumnKind::Doubles => Self::Doubles(numbers.map(|number| number.map(double)).collect()),
            ColumnKind::Codes(dictionary) => {
                Self::Codes(numbers.map(|number| number.map(|it| it as u32)).collect(), dictionary.clone())
            }
        }
    }

    /// The value of a group.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    pub fn get(&self, group: usize) -> GroupValue {
        let value = match self {
            Self::Nothing => None,
            Self::Booleans(values) => values[group].map(GroupValue::Boolean),
            Self::Integers(values) => values[group].map(GroupValue::Integer),
            Self::Doubles(values) => values[group].map(GroupValue::Double),
            Self::Codes(codes, _) => codes[group].map(GroupValue::Code),
        };
        value.unwrap_or(GroupValue::Null)
    }

    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Booleans(one), Self::Booleans(other)) => one.extend(other),
            (Self::Integers(one), Self::Integers(other)) => one.extend(other),
            (Self::Doubles(one), Self::Doubles(other)) => one.extend(other),
            (Self::Codes(one, _), Self::Codes(other, _)) => one.extend(other),
            _ => {}
        }
    }

    fn keep(&mut self, groups: &[usize]) {
        match self {
            Self::Nothing => {}
            Self::Booleans(values) => keep(values, groups),
            Self::Integers(values) => keep(values, groups),
            Self::Doubles(values) => keep(values, groups),
            Self::Codes(codes, _) => keep(codes, groups),
        }
    }
}

impl Numbers {
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Counts(one), Self::Counts(other)) => one.extend(other),
            (Self::Integers(one), Self::Integers(other)) => one.extend(other),
            (Self::Sums(one), Self::Sums(other)) => one.extend(other),
            (Self::Doubles(one), Self::Doubles(other)) => one.extend(other),
            _ => {}
        }
    }

    fn keep(&mut self, groups: &[usize]) {
        match self {
            Self::Counts(counts) => keep(counts, groups),
            Self::Integers(values) => keep(values, groups),
            Self::Sums(sums) => keep(sums, groups),
            Self::Doubles(values) => keep(values, groups),
        }
    }
}

fn keep<T: Copy>(all: &mut Vec<T>, groups: &[usize]) {
    *all = groups.iter().map(|group| all[*group]).collect();
}

impl Grouped {
    /// The dictionary of a column of strings.
    #[must_use]
    pub fn dictionary(&self, column: usize) -> Option<&Arc<Dictionary>> {
        match self.columns.get(column)? {
            Values::Codes(_, dictionary) => Some(dictionary),
            _ => None,
        }
    }

    /// Keeps some groups, in the given order.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn keep(&mut self, groups: &[usize]) {
        self.columns.iter_mut().for_each(|values| values.keep(groups));
        self.numbers.iter_mut().for_each(|numbers| numbers.keep(groups));
        self.len = groups.len();
    }

    /// Adds groups of the same columns and aggregates.
    pub fn append(&mut self, other: Self) {
        self.len += other.len;
        self.columns.iter_mut().zip(other.columns).for_each(|(values, other)| values.append(other));
        self.numbers.iter_mut().zip(other.numbers).for_each(|(numbers, other)| numbers.append(other));
    }
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
/// [`Error::NotInLeaves`] if leaves do not have all values, or do not decide the condition, for more than
/// [`MOST_COLUMNS`] columns, and for a function of a member that has no integers.
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
    let is_of_integers = |(column, kind): (&GroupColumn, &ColumnKind)| {
        column.derive.is_none() || matches!(kind, ColumnKind::Integers | ColumnKind::Nothing)
    };
    if !columns.iter().zip(&kinds).all(is_of_integers) {
        return Err(Error::NotInLeaves);
    }
    let rows: Vec<Result<Cow<'_, RowSet>, Error>> = pool::map(segments.to_vec(), |segment| match question {
        Some(question) => question.rows(segment).map(Cow::Owned).ok_or(Error::NotInLeaves),
        None => Ok(Cow::Borrowed(segment.records())),
    });
    let rows: Vec<Cow<'_, RowSet>> = rows.into_iter().collect::<Result<_, _>>()?;
    let mut tasks = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let blocks = (segment.rows() as usize).div_ceil(BLOCK_ROWS);
        tasks.extend(pool::pieces(blocks, TASK_BLOCKS).into_iter().map(|blocks| (at, blocks)));
    }
    let selected = rows.iter().map(|rows| rows.count()).sum();
    let threads = pool::cores().min(tasks.len()).max(1);
    let (slots, threads) = slots::of_columns(segments, columns, &kinds, selected, threads);
    let run = Run {
        segments,
        rows: &rows,
        columns,
        aggregates,
        kinds: &kinds,
        of_values: &of_values,
        stop,
        threads,
        slots,
    };
    let next = AtomicUsize::new(0);
    let tables = pool::map_in(threads, (0..threads).collect(), |_| run.thread(&tasks, &next));
    Ok(run.finish(tables.into_iter().collect::<Result<_, _>>()?))
}

/// The values of the selected rows of some blocks of a segment, in order, as groups of one row. The columns
/// are members with the kinds that they have in all segments ([`kind_of`]).
///
/// # Errors
/// [`Error::NotInLeaves`] if leaves do not have all values.
pub fn values(
    segment: &Segment,
    rows: &RowSet,
    blocks: Range<usize>,
    columns: &[(Vec<Vec<u8>>, ColumnKind)],
) -> Result<Grouped, Error> {
    let readers = columns.iter().map(|(path, _)| Column::of(segment, path));
    let readers = readers.collect::<Result<Vec<_>, _>>()?;
    let mut found = vec![Vec::new(); columns.len()];
    let (mut numbers, mut selected, mut len) = ([0; BLOCK_ROWS], Vec::with_capacity(BLOCK_ROWS), 0);
    for block in blocks {
        column::select(rows, block, &mut selected);
        len += selected.len();
        for (column, found) in readers.iter().zip(&mut found) {
            column.each(block, &selected, &mut numbers, |_, number| found.push(number));
        }
    }
    let columns = columns.iter().zip(found);
    let columns = columns.map(|((_, kind), found)| Values::of(kind, false, found.into_iter())).collect();
    Ok(Grouped { len, columns, numbers: Vec::new() })
}

/// Blocks that a thread takes at a time.
const TASK_BLOCKS: usize = 32;

/// A question as all threads see it.
struct Run<'a> {
    segments: &'a [&'a Segment],
    /// The selected rows of each segment.
    rows: &'a [Cow<'a, RowSet>],
    columns: &'a [GroupColumn],
    aggregates: &'a [Aggregate],
    kinds: &'a [ColumnKind],
    of_values: &'a [Option<ColumnKind>],
    stop: &'a Stop,
    /// Threads, each with a table.
    threads: usize,
    /// The slots of the columns, if keys are indices.
    slots: Option<Vec<Slots>>,
}

/// The most columns by which rows are grouped.
pub const MOST_COLUMNS: usize = 4;

impl Run<'_> {
    /// Groups the blocks that no other thread has taken.
    fn thread(&self, tasks: &[(usize, Range<usize>)], next: &AtomicUsize) -> Result<Table, Error> {
        let mut table = Table::new(self);
        while let Some((segment, blocks)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            if self.stop.is_set() {
                return Err(Error::Stopped);
            }
            table.add(self, *segment, blocks.clone())?;
        }
        Ok(table)
    }

    /// The groups of the tables of all threads.
    fn finish(&self, mut tables: Vec<Table>) -> Grouped {
        if self.slots.is_none() {
            tables = tables.into_iter().reduce(Table::joined).into_iter().collect();
        }
        let Some(first) = tables.first() else { return Grouped::default() };
        let (len, states) = (first.len(), 0..self.aggregates.len());
        let different: Vec<_> = states.map(|state| table::different(&mut tables, state)).collect();
        let pieces = pool::ranges(len, 1);
        let mut pieces =
            pool::map(pieces, |range| table::piece(self, &tables, &different, range)).into_iter();
        let mut grouped = pieces.next().unwrap_or_else(|| table::piece(self, &tables, &different, 0..0));
        pieces.for_each(|piece| grouped.append(piece));
        grouped
    }
}

#[cfg(test)]
mod tests;
