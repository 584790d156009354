//! The two answers that bins give to a formula: rows of which it is surely true, and rows of which it may be.

use std::ops::Range;

use super::Facts;
use super::formula::{Choice, Formula};
use warpath_store::bitmap::column::Column;

/// A set of rows, as bins make it. Neither operands of `And` are one, nor those of `Or`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Set {
    /// All rows, or none.
    Constant(bool),
    /// Those of bins of a column: some, and not all.
    Bins(Bins),
    /// The rows of all of these.
    And(Vec<Self>),
    /// The rows of any.
    Or(Vec<Self>),
}

/// Bins of a column: those of which something is true of all rows, and those that it cuts, or not. They are kept as stretches, since a column may have
/// 65,536 bins, and an expression thousands of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    pub column: usize,
    /// How many bins the column has.
    count: usize,
    /// Those of which it is true of all rows, from the first to the last.
    all: Vec<Range<usize>>,
    /// Those that it cuts, likewise.
    pub cut: Vec<usize>,
    /// Whether those that it cuts are in the set. If there are none, they are not.
    with_cut: bool,
}

impl Set {
    /// The rows of which a formula is true for sure, or perhaps (`sure` is false).
    pub fn new(formula: &Formula, facts: &Facts<'_>, sure: bool) -> Self {
        let all = |all: &[Formula]| all.iter().map(|of| Self::new(of, facts, sure)).collect();
        match formula {
            Formula::Constant(value) => Self::Constant(*value),
            Formula::Leaf { column, choice } => {
                Self::of_bins(Bins::new(*column, choice, facts.columns, sure))
            }
            Formula::And(of) => Self::joined(all(of), true),
            Formula::Or(of) => Self::joined(all(of), false),
        }
    }

    fn of_bins(bins: Bins) -> Self {
        if bins.inside().next().is_none() {
            Self::Constant(false)
        } else if bins.outside().next().is_none() {
            Self::Constant(true)
        } else {
            Self::Bins(bins)
        }
    }

    fn joined(operands: Vec<Self>, both: bool) -> Self {
        let mut all = Vec::with_capacity(operands.len());
        for operand in operands {
            match operand {
                Self::Constant(value) if value == both => {}
                Self::Constant(value) => return Self::Constant(value),
                Self::And(inner) if both => all.extend(inner),
                Self::Or(inner) if !both => all.extend(inner),
                other => all.push(other),
            }
        }
        match all.pop() {
            None => Self::Constant(both),
            Some(only) if all.is_empty() => only,
            Some(last) => {
                all.push(last);
                if both { Self::And(all) } else { Self::Or(all) }
            }
        }
    }

    /// About how many rows it has: those of the operand with the fewest or the most.
    pub fn rows(&self, facts: &Facts<'_>) -> u64 {
        match self {
            Self::Constant(false) => 0,
            Self::Constant(true) => u64::MAX,
            Self::Bins(bins) => bins.inside().map(|bin| facts.columns[bins.column].bins[bin].rows).sum(),
            Self::And(all) => all.iter().map(|of| of.rows(facts)).min().unwrap_or(0),
            Self::Or(all) => all.iter().map(|of| of.rows(facts)).fold(0, u64::saturating_add),
        }
    }
}

impl Bins {
    /// Those that a choice has surely, or perhaps.
    pub fn new(column: usize, choice: &Choice, columns: &[Column], sure: bool) -> Self {
        let bins = &columns[column].bins;
        let (all, cut) = choice.bins(bins);
        let with_cut = !sure && !cut.is_empty();
        Self { column, count: bins.len(), all, cut, with_cut }
    }

    /// Those of which it is true of all rows.
    pub fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.all.iter().cloned().flatten()
    }

    /// Those of which it is true of no row.
    pub fn none(&self) -> impl Iterator<Item = usize> + '_ {
        let mut told: Vec<Range<usize>> = self.cut.iter().map(|bin| *bin..bin + 1).collect();
        told.extend(self.all.iter().cloned());
        told.sort_unstable_by_key(|bins| bins.start);
        told.push(self.count..self.count);
        let mut from = 0;
        told.into_iter().flat_map(move |bins| std::mem::replace(&mut from, bins.end)..bins.start)
    }

    /// Those that are in the set.
    pub fn inside(&self) -> impl Iterator<Item = usize> + '_ {
        self.all().chain(self.cut.iter().copied().filter(|_| self.with_cut))
    }

    /// All others of the column.
    pub fn outside(&self) -> impl Iterator<Item = usize> + '_ {
        self.none().chain(self.cut.iter().copied().filter(|_| !self.with_cut))
    }
}
