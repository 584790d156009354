//! The slots of a column: the numbers from 0 on that its values have in keys which are indices. The slot 0 is
//! null, except for results of a function.

use std::num::NonZeroU64;

use warpath_shared::leaf::{BLOCK_ROWS, integer, of_integer};

use super::column::{BlockNumbers, Column};
use super::wanted::{ColumnKind, Derive, GroupColumn};
use crate::segment::Segment;

/// Tables have at most this many times as many slots as rows, and [`FEW`] more.
const PER_ROW: u64 = 8;
const FEW: u64 = 1 << 16;
/// The most slots of the tables of all threads.
const MOST_SLOTS: u64 = 1 << 26;
/// The most quotients for which a function is called before rows are grouped.
const MOST_QUOTIENTS: u64 = 1 << 16;

/// The slots of a column.
pub enum Slots {
    /// Codes from 0 on, or booleans.
    Small { span: u64 },
    /// Numbers from a least one on.
    Range { least: u64, span: u64 },
    /// Results of a function that depend on quotients alone.
    Quotients(Quotients),
}

/// The results of a function for all quotients of a column.
pub struct Quotients {
    /// The least integer with the first quotient.
    start: i64,
    unit: NonZeroU64,
    /// The slot of each quotient, from the first one on.
    slots: Vec<u32>,
    /// The slot of null.
    null: u32,
    /// The results, slot by slot.
    results: Vec<Option<i64>>,
}

/// The slots of columns, and the number of threads that may have a table each. `None` if keys would have too
/// many values.
pub fn of_columns(
    segments: &[&Segment],
    columns: &[GroupColumn],
    kinds: &[ColumnKind],
    rows: u64,
    threads: usize,
) -> (Option<Vec<Slots>>, usize) {
    let most = PER_ROW.saturating_mul(rows).saturating_add(FEW).min(MOST_SLOTS);
    let mut all = Vec::with_capacity(columns.len());
    let mut product = 1_u64;
    for (column, kind) in columns.iter().zip(kinds) {
        let slots = Slots::of(segments, column, kind);
        let Some(slots) = slots.filter(|slots| product.saturating_mul(slots.span()) <= most) else {
            return (None, threads);
        };
        product *= slots.span();
        all.push(slots);
    }
    // Fewer threads with tables of slots are faster than more threads that look groups up.
    let threads = threads.min(usize::try_from(most / product).unwrap_or(usize::MAX)).max(1);
    (Some(all), threads)
}

impl Slots {
    /// The slots of a column; `None` if its values are not known to be few.
    fn of(segments: &[&Segment], column: &GroupColumn, kind: &ColumnKind) -> Option<Self> {
        match (&column.derive, kind) {
            (Some(derive), _) => {
                let none = (of_integer(0), of_integer(0));
                let (least, greatest) = bounds(segments, &column.path).unwrap_or(none);
                let quotients = Quotients::of(&**derive, column.unit?, (integer(least), integer(greatest)))?;
                Some(Self::Quotients(quotients))
            }
            (None, ColumnKind::Nothing) => Some(Self::Small { span: 1 }),
            (None, ColumnKind::Booleans) => Some(Self::Small { span: 3 }),
            (None, ColumnKind::Codes(dictionary)) => {
                Some(Self::Small { span: dictionary.read().end() as u64 + 1 })
            }
            (None, ColumnKind::Integers) => {
                let (least, greatest) = bounds(segments, &column.path)?;
                Some(Self::Range { least, span: (greatest - least).checked_add(2)? })
            }
            (None, ColumnKind::Doubles) => None,
        }
    }

    /// The number of slots.
    pub fn span(&self) -> u64 {
        match self {
            Self::Small { span } | Self::Range { span, .. } => *span,
            Self::Quotients(quotients) => quotients.results.len() as u64,
        }
    }

    /// The number of the value of a slot; `None` for null. A result of a function is its own number.
    pub fn number(&self, slot: u64) -> Option<u64> {
        match self {
            Self::Small { .. } => slot.checked_sub(1),
            Self::Range { least, .. } => slot.checked_sub(1).map(|above| least + above),
            Self::Quotients(quotients) => quotients.results[slot as usize].map(|result| result as u64),
        }
    }

    /// Adds the slots of the selected rows of a block, times a stride, to their keys.
    pub fn add_to_keys(
        &self,
        column: &Column<'_>,
        block: usize,
        selected: &[u32],
        stride: u32,
        keys: &mut [u32],
        numbers: &mut BlockNumbers,
    ) {
        let keys = &mut keys[..selected.len()];
        match self {
            Self::Small { .. } => column.each(block, selected, numbers, |place, number| {
                keys[place] += stride * number.map_or(0, |number| number as u32 + 1);
            }),
            Self::Range { least, .. } => column.each(block, selected, numbers, |place, number| {
                keys[place] += stride * number.map_or(0, |number| (number - least) as u32 + 1);
            }),
            Self::Quotients(quotients) => {
                let of_block = column
                    .bounds(block)
                    .map(|(least, greatest)| (quotients.quotient(least), quotients.quotient(greatest)));
                match of_block {
                    // Times that ascend have one quotient in most blocks.
                    Some((one, other)) if one == other => {
                        let slot = quotients.slot(one);
                        column.each(block, selected, numbers, |place, number| {
                            keys[place] += stride * number.map_or(quotients.null, |_| slot);
                        });
                    }
                    _ => column.each(block, selected, numbers, |place, number| {
                        let slot = |number| quotients.slot(quotients.quotient(number));
                        keys[place] += stride * number.map_or(quotients.null, slot);
                    }),
                }
            }
        }
    }
}

impl Quotients {
    /// The results for all integers from a least to a greatest one. `None` if they have too many quotients,
    /// or the function fails: it may fail for integers of rows that are not selected.
    fn of(derive: &Derive, unit: NonZeroU64, (least, greatest): (i64, i64)) -> Option<Self> {
        let of = i128::from(unit.get());
        let (first, last) = (i128::from(least).div_euclid(of), i128::from(greatest).div_euclid(of));
        let count = u64::try_from(last - first).ok().filter(|count| *count < MOST_QUOTIENTS)? + 1;
        let start = i64::try_from(first * of).ok()?;
        // The first quotient may begin below all integers of the column.
        let integers = (0..i128::from(count)).map(|at| i64::try_from((first + at) * of).ok());
        let mut integers: Vec<Option<i64>> = integers.map(|it| it.map(|it| it.max(least))).collect();
        integers.push(None);
        let mut of_integers = derive(&integers).ok().filter(|results| results.len() == integers.len())?;
        let mut results = of_integers.clone();
        results.sort_unstable();
        results.dedup();
        let slot = |result: &Option<i64>| results.partition_point(|before| before < result) as u32;
        let null = slot(&of_integers.pop()?);
        let slots = of_integers.iter().map(slot).collect();
        Some(Self { start, unit, slots, null, results })
    }

    /// The number of quotients before that of a number.
    #[inline(always)]
    fn quotient(&self, number: u64) -> u64 {
        (integer(number).wrapping_sub(self.start) as u64) / self.unit
    }

    /// The slot of a quotient. A bound of a block may be greater than all numbers.
    #[inline(always)]
    fn slot(&self, quotient: u64) -> u32 {
        self.slots.get(quotient as usize).copied().unwrap_or(self.null)
    }
}

/// The least number of a member, and a bound of the greatest.
fn bounds(segments: &[&Segment], path: &[Vec<u8>]) -> Option<(u64, u64)> {
    let mut all: Option<(u64, u64)> = None;
    for segment in segments {
        let column = Column::of(segment, path).ok()?;
        let blocks = (segment.rows() as usize).div_ceil(BLOCK_ROWS);
        for (least, greatest) in (0..blocks).filter_map(|block| column.bounds(block)) {
            let (one, other) = all.unwrap_or((least, greatest));
            all = Some((one.min(least), other.max(greatest)));
        }
    }
    all
}
