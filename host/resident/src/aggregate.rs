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
//! If the columns have few slots, keys are indices of the tables (`slots`). Otherwise a group gets the next
//! index when a thread first meets it (`table`). At the end the tables are joined, range by range.
//!
//! | module | contents |
//! |---|---|
//! | `wanted` | columns, aggregates, the kinds of members |
//! | `grouped` | groups with their values and numbers |
//! | `column` | the values of a member in a block |
//! | `slots` | the slots of a column |
//! | `table` | the groups of a thread, and their numbers |
//! | `distinct` | different values of groups |
//! | `on_device` | groups on a device |

mod column;
mod distinct;
mod grouped;
mod on_device;
mod slots;
mod table;
mod wanted;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use warpath_core::cancel::Stop;
use warpath_core::pool;
use warpath_core::rows::RowSet;
use warpath_shared::leaf::BLOCK_ROWS;

use crate::rows::Question;
use crate::segment::Segment;

use column::Column;
pub use grouped::{GroupValue, Grouped, Numbers, Values};
pub use on_device::{TableOf, group_on};
use table::{Run, Table};
pub use wanted::{Aggregate, ColumnKind, Derive, Error, First, GroupColumn, MOST_COLUMNS, kind_of};

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
