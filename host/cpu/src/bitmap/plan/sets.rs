//! The two sets of rows that bins give for a formula: the sure rows and the possible rows.

use std::ops::Range;

use warpath_store::bitmap::column::Column;

use super::Facts;
use super::formula::{Choice, Formula};

/// A set of rows that consists of bins. No operand of an `And` is an `And`, and no operand of an `Or` is an
/// `Or`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Set {
    /// All rows, or no row.
    Constant(bool),
    /// The rows of some bins of a column, but not of all.
    Bins(Bins),
    /// The rows that all operands have.
    And(Vec<Self>),
    /// The rows that any operand has.
    Or(Vec<Self>),
}

/// Bins of a column: the bins for all of whose rows a test is true, with or without the bins that the test
/// cuts. Bins are stored as ranges, because a column may have 65,536 bins and an expression thousands of
/// tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    pub column: usize,
    /// The number of bins of the column.
    count: usize,
    /// The bins for all of whose rows the test is true, in order.
    all: Vec<Range<usize>>,
    /// The bins that the test cuts, in order.
    pub cut: Vec<usize>,
    /// Set if the cut bins are in the set. It is false if there are none.
    with_cut: bool,
}

impl Set {
    /// Makes the set of rows for which a formula is surely true (`sure`), or may be true.
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

    /// An estimate of the number of rows: the least of an `And`'s operands, the sum of an `Or`'s operands.
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
    /// Makes the bins for which a choice is surely true (`sure`), or may be true.
    pub fn new(column: usize, choice: &Choice, columns: &[Column], sure: bool) -> Self {
        let bins = &columns[column].bins;
        let (all, cut) = choice.bins(bins);
        let with_cut = !sure && !cut.is_empty();
        Self { column, count: bins.len(), all, cut, with_cut }
    }

    /// The bins for all of whose rows the test is true.
    pub fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.all.iter().cloned().flatten()
    }

    /// The bins for none of whose rows the test is true.
    pub fn none(&self) -> impl Iterator<Item = usize> + '_ {
        let mut told: Vec<Range<usize>> = self.cut.iter().map(|bin| *bin..bin + 1).collect();
        told.extend(self.all.iter().cloned());
        told.sort_unstable_by_key(|bins| bins.start);
        told.push(self.count..self.count);
        let mut from = 0;
        told.into_iter().flat_map(move |bins| std::mem::replace(&mut from, bins.end)..bins.start)
    }

    /// The bins in the set.
    pub fn inside(&self) -> impl Iterator<Item = usize> + '_ {
        self.all().chain(self.cut.iter().copied().filter(|_| self.with_cut))
    }

    /// The column's bins that are not in the set.
    pub fn outside(&self) -> impl Iterator<Item = usize> + '_ {
        self.none().chain(self.cut.iter().copied().filter(|_| !self.with_cut))
    }
}
