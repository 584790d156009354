//! Rows of a group that a condition can be true of, from the statistics and values of its columns.
//!
//! They are a superset: the caller evaluates the whole condition over their lines. A row is left out only
//! if its values in the columns show that it fails. So these rows are kept:
//!
//! | row | because |
//! |---|---|
//! | a line in one piece | it may be malformed, which is reported |
//! | a value that is text on the path | its members are in no column |
//! | all rows of a group in which a name of the path is repeated | readers differ about the value |
//! | a string with a surrogate without its partner | columns have another character in its place |
//! | a double next to a constant with other digits | doubles are rounded |

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use warpath_core::comparison::{Comparison, Constant, Test};
use warpath_core::decimal::Decimal;
use warpath_core::number::nearest;
use warpath_core::rows::RowSet;

use crate::file::{Bound, Bounds, Reader};
use crate::group::{Group, Layout, NodeIx, Tree, Values};
use crate::partial::{Error, sections};
use crate::text::{EXCEPTIONS, Outline, Position, SHAPE_IDS, values_of};

/// Rows of a group that conditions can be true of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// No row.
    None,
    /// All rows.
    All,
    /// Some rows.
    Some(RowSet),
}

impl Candidates {
    fn of(rows: RowSet) -> Self {
        match rows.count() {
            0 => Self::None,
            count if count == rows.rows() => Self::All,
            _ => Self::Some(rows),
        }
    }
}

/// The rows of a group that all of some conditions can be true of. Rows may be among them for which a
/// condition is false, and none is missing for which all are true.
///
/// Columns are read only if their statistics do not already decide. Conditions on elements of arrays are not
/// expressed by names, so paths through arrays select nothing.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read or is damaged, and [`Error::Group`] for a group that no
/// shredder made.
pub fn candidates(reader: &Reader, group: usize, conditions: &[Comparison]) -> Result<Candidates, Error> {
    let first = sections(reader, group, &Outline::SECTIONS)?;
    let outline = Outline::read(reader.tree(), &first).map_err(|reason| Error::Group { group, reason })?;
    let found = Finder { reader, number: group, group: &first, outline: &outline };
    let rows = first.rows;
    let mut plans = Vec::new();
    let mut is_none = false;
    for condition in conditions {
        match found.plan(condition)? {
            Plan::All => {}
            Plan::None => is_none = true,
            plan => plans.push((condition, plan)),
        }
    }
    if plans.is_empty() && !is_none {
        return Ok(if rows == 0 { Candidates::None } else { Candidates::All });
    }
    let mut left = if is_none { RowSet::none(rows.into()) } else { RowSet::all(rows.into()) };
    for (condition, plan) in plans {
        if left.count() == 0 {
            break;
        }
        left &= &found.rows(&condition.test, &plan)?;
    }
    left |= &outline.raw_rows(rows);
    Ok(Candidates::of(left))
}

/// The reads that a condition needs.
enum Plan {
    /// Nothing: it can be true of all rows.
    All,
    /// Nothing: it is false of all rows.
    None,
    /// The values of these leaves.
    Read(Position, Vec<NodeIx>),
}

/// The group in which rows are found.
struct Finder<'a> {
    reader: &'a Reader,
    number: usize,
    group: &'a Group,
    outline: &'a Outline<'a>,
}

impl Finder<'_> {
    fn tree(&self) -> &Tree {
        self.reader.tree()
    }

    fn of_text<T>(&self, result: crate::text::Result<T>) -> Result<T, Error> {
        result.map_err(|reason| Error::Group { group: self.number, reason })
    }

    fn layout(&self, node: NodeIx) -> Option<Layout> {
        self.tree().nodes.get(node as usize).map(|node| node.layout)
    }

    /// Decides by names and statistics what is to be read.
    fn plan(&self, condition: &Comparison) -> Result<Plan, Error> {
        let position = self.of_text(Position::find(self.tree(), self.outline, &condition.path))?;
        let opaque = |node: &NodeIx| matches!(self.layout(*node), Some(Layout::Json | Layout::Bytes));
        let is_unknown = matches!(condition.test, Test::NotEqual(Constant::Null | Constant::Number(_)));
        if condition.path.is_empty() || position.repeats || is_unknown {
            return Ok(Plan::All);
        }
        let mut leaves = position.texts.clone();
        let (wants_null, wants_key) = nulls(&condition.test);
        for kind in &position.kinds {
            let may_pass = match self.reader.leaf(self.number, *kind).and_then(|leaf| leaf.bounds) {
                Some(bounds) if !opaque(kind) => condition.test.may_pass(&bounds),
                // Leaves without values have no statistics.
                _ => {
                    matches!(self.layout(*kind), Some(layout) if layout != Layout::Struct && layout != Layout::List)
                }
            };
            if may_pass || opaque(kind) || !self.odd(*kind)?.is_empty() {
                leaves.push(*kind);
            }
        }
        leaves.sort_unstable();
        leaves.dedup();
        let reads =
            !leaves.is_empty() || wants_null || wants_key || matches!(condition.test, Test::NotEqual(_));
        Ok(if reads { Plan::Read(position, leaves) } else { Plan::None })
    }

    /// The rows that a condition can be true of.
    fn rows(&self, test: &Test, plan: &Plan) -> Result<RowSet, Error> {
        let Plan::Read(position, leaves) = plan else { return Ok(RowSet::all(self.group.rows.into())) };
        match test {
            Test::NotEqual(constant) => self.other_rows(constant, position),
            Test::Exists => {
                let mut rows = self.rows_with(position)?;
                rows |= &self.present(&position.texts)?;
                Ok(rows)
            }
            _ => {
                let mut rows = self.passing(test, leaves, position)?;
                if nulls(test).0 {
                    let mut null = self.rows_with(position)?;
                    null -= &self.present(&position.kinds)?;
                    rows |= &null;
                }
                Ok(rows)
            }
        }
    }

    /// The rows in which a value of some leaves passes a test, or is not known.
    fn passing(&self, test: &Test, leaves: &[NodeIx], position: &Position) -> Result<RowSet, Error> {
        let mut rows = RowSet::none(self.group.rows.into());
        for leaf in leaves {
            let layout = self.layout(*leaf);
            if position.texts.contains(leaf) || matches!(layout, Some(Layout::Json | Layout::Bytes)) {
                rows |= &self.present(&[*leaf])?;
                continue;
            }
            if matches!(layout, Some(Layout::Struct | Layout::List)) {
                continue;
            }
            let column = self.reader.column(self.number, *leaf)?;
            let mut passes = test.passing(&column.values);
            for at in self.odd(*leaf)? {
                passes.get_mut(at as usize).into_iter().for_each(|passes| *passes = true);
            }
            let mut passes = passes.into_iter();
            for (row, is_here) in (0..).zip(values_of(self.tree(), &column, *leaf)) {
                if is_here && passes.next() != Some(false) {
                    rows.insert(row);
                }
            }
        }
        Ok(rows)
    }

    /// The rows but those in which a value is surely equal to a constant.
    fn other_rows(&self, constant: &Constant, position: &Position) -> Result<RowSet, Error> {
        let test = Test::Equal(vec![constant.clone()]);
        let kinds = position.kinds.iter().copied();
        let wanted = |layout| match constant {
            Constant::String(_) => layout == Layout::String,
            Constant::Bool(_) => layout == Layout::Boolean,
            Constant::Null | Constant::Number(_) => false,
        };
        let leaves: Vec<NodeIx> = kinds.filter(|kind| self.layout(*kind).is_some_and(wanted)).collect();
        let mut rows = RowSet::all(self.group.rows.into());
        for leaf in leaves {
            // What passes is surely equal, if no value is unknown.
            if self.odd(leaf)?.is_empty() {
                rows -= &self.passing(&test, &[leaf], position)?;
            }
        }
        Ok(rows)
    }

    /// The numbers of the strings of a node whose values are not known.
    fn odd(&self, node: NodeIx) -> Result<Vec<u32>, Error> {
        if self.layout(node) != Some(Layout::String) {
            return Ok(Vec::new());
        }
        let section = self.reader.section(self.number, EXCEPTIONS)?;
        section.map_or(Ok(Vec::new()), |section| self.of_text(self.outline.odd_strings(&section, node)))
    }

    /// The rows that have a value of any of some nodes.
    fn present(&self, nodes: &[NodeIx]) -> Result<RowSet, Error> {
        let mut rows = RowSet::none(self.group.rows.into());
        for node in nodes {
            let Some(leaf) = self.leaf_of(*node) else { continue };
            let column = self.reader.column(self.number, leaf)?;
            let here = values_of(self.tree(), &column, *node);
            (0..).zip(here).filter(|(_, is_here)| *is_here).for_each(|(row, _)| rows.insert(row));
        }
        Ok(rows)
    }

    /// The smallest leaf at or below a node.
    fn leaf_of(&self, node: NodeIx) -> Option<NodeIx> {
        let nodes = &self.tree().nodes;
        let is_below = |leaf: &NodeIx| {
            let mut at = *leaf;
            while at > node {
                at = nodes.get(at as usize).map_or(0, |node| node.parent.min(at.saturating_sub(1)));
            }
            at == node
        };
        let leaves = self.tree().leaves(self.group.nodes).filter(is_below);
        leaves.min_by_key(|leaf| self.reader.leaf(self.number, *leaf).map_or(0, |leaf| leaf.uncompressed))
    }

    /// The rows in which the member of a position is there, null or not.
    fn rows_with(&self, position: &Position) -> Result<RowSet, Error> {
        let mut present = Vec::new();
        for node in position.objects() {
            present.push((node, self.present(&[node])?));
        }
        let found = |wanted| present.iter().find(|(node, _)| *node == wanted).map(|(_, rows)| rows.clone());
        let ids = self.reader.section(self.number, SHAPE_IDS)?.unwrap_or_default();
        self.of_text(position.rows_with(&ids, self.outline, self.group.rows, found))
    }
}

/// Returns whether a null passes a test, and whether any value does.
fn nulls(test: &Test) -> (bool, bool) {
    let is_null = |constant: &Constant| *constant == Constant::Null;
    match test {
        Test::Exists => (false, true),
        Test::Equal(all) => (all.iter().any(is_null), false),
        Test::AtMost(constant) | Test::AtLeast(constant) => (is_null(constant), false),
        Test::NotEqual(_) | Test::Less(_) | Test::Greater(_) => (false, false),
    }
}

/// A condition on the order of a value and a constant.
type Wanted = fn(Ordering) -> bool;

trait Passes {
    /// The constants, and the order of a value to one of them that passes.
    fn constants(&self) -> (&[Constant], Wanted);

    /// Returns false if no value between two bounds passes.
    fn may_pass(&self, bounds: &Bounds) -> bool;

    /// For each of some values, true if it may pass.
    fn passing(&self, values: &Values) -> Vec<bool>;
}

impl Passes for Test {
    fn constants(&self) -> (&[Constant], Wanted) {
        match self {
            Self::Exists => (&[], Ordering::is_eq),
            Self::Equal(all) => (all, Ordering::is_eq),
            Self::NotEqual(one) => (std::slice::from_ref(one), Ordering::is_ne),
            Self::Less(one) => (std::slice::from_ref(one), Ordering::is_lt),
            Self::AtMost(one) => (std::slice::from_ref(one), Ordering::is_le),
            Self::Greater(one) => (std::slice::from_ref(one), Ordering::is_gt),
            Self::AtLeast(one) => (std::slice::from_ref(one), Ordering::is_ge),
        }
    }

    fn may_pass(&self, bounds: &Bounds) -> bool {
        let (constants, wanted) = self.constants();
        // Values at and between the bounds: less than the constant, equal to it, or greater.
        let pass = |least: Ordering, greatest: Ordering| {
            least.is_lt() && wanted(Ordering::Less)
                || greatest.is_gt() && wanted(Ordering::Greater)
                || least.is_le() && greatest.is_ge() && wanted(Ordering::Equal)
        };
        constants.iter().any(|constant| match (&bounds.least, &bounds.greatest, constant) {
            (Bound::Int(least), Bound::Int(greatest), Constant::Number(number)) => {
                integers(number, wanted).is_none_or(|range| range.start() <= greatest && least <= range.end())
            }
            (Bound::Double(least), Bound::Double(greatest), Constant::Number(number)) => {
                doubles(number, wanted).is_none_or(|range| range.start() <= greatest && least <= range.end())
            }
            (Bound::Bytes(least), Bound::Bytes(greatest), Constant::String(text)) => {
                pass(least.as_slice().cmp(text.as_bytes()), greatest.as_slice().cmp(text.as_bytes()))
            }
            (Bound::Boolean(least), Bound::Boolean(greatest), Constant::Bool(value)) => {
                wanted(Ordering::Equal) && (least == value || greatest == value)
            }
            _ => false,
        })
    }

    fn passing(&self, values: &Values) -> Vec<bool> {
        let (constants, wanted) = self.constants();
        let mut passes = vec![false; values.len()];
        for constant in constants {
            match (values, constant) {
                (Values::Int(values), Constant::Number(number)) => {
                    let range = integers(number, wanted).unwrap_or(i64::MIN..=i64::MAX);
                    mark(&mut passes, values.iter().map(|value| range.contains(value)));
                }
                (Values::Double(values), Constant::Number(number)) => {
                    let range = doubles(number, wanted).unwrap_or(f64::NEG_INFINITY..=f64::INFINITY);
                    mark(&mut passes, values.iter().map(|value| value.is_nan() || range.contains(value)));
                }
                (Values::Bytes(strings), Constant::String(text)) => {
                    let mut begin = 0;
                    let each = strings.ends.iter().map(|end| {
                        let value = strings.bytes.get(begin as usize..*end as usize).unwrap_or_default();
                        begin = *end;
                        wanted(value.cmp(text.as_bytes()))
                    });
                    mark(&mut passes, each);
                }
                // Truth values have no order, but they are equal to themselves.
                (Values::Boolean(values), Constant::Bool(constant)) => {
                    mark(
                        &mut passes,
                        values.iter().map(|value| value == constant && wanted(Ordering::Equal)),
                    );
                }
                _ => {}
            }
        }
        passes
    }
}

fn mark(passes: &mut [bool], more: impl Iterator<Item = bool>) {
    passes.iter_mut().zip(more).for_each(|(passes, more)| *passes |= more);
}

/// The integers that have a wanted order to a number; `None` if they are not known. The range may be empty.
fn integers(number: &str, wanted: Wanted) -> Option<RangeInclusive<i64>> {
    const NONE: RangeInclusive<i64> = RangeInclusive::new(1, 0);

    let decimal = Decimal::read(number.as_bytes())?;
    let exact = decimal.integer();
    // The integers below the number end before this one, and those above it begin at the other.
    let below = match decimal.ceiling() {
        Ok(ceiling) => ceiling.checked_sub(1).map_or(NONE, |last| i64::MIN..=last),
        Err(Ordering::Greater) => i64::MIN..=i64::MAX,
        Err(_) => NONE,
    };
    let above = match (decimal.ceiling(), exact) {
        (Ok(_), Some(exact)) => exact.checked_add(1).map_or(NONE, |first| first..=i64::MAX),
        (Ok(ceiling), None) => ceiling..=i64::MAX,
        (Err(Ordering::Less), _) => i64::MIN..=i64::MAX,
        (Err(_), _) => NONE,
    };
    let equal = exact.map_or(NONE, |exact| exact..=exact);
    let parts = [(Ordering::Less, below), (Ordering::Equal, equal), (Ordering::Greater, above)];
    let parts = parts.into_iter().filter(|(order, range)| wanted(*order) && !range.is_empty());
    Some(parts.map(|(_, range)| range).reduce(|one, other| *one.start()..=*other.end()).unwrap_or(NONE))
}

/// The doubles that are nearest to some decimal number with a wanted order to a number. Rounding keeps the
/// order, but numbers that differ may have the same double. So the double of the number is always in it.
fn doubles(number: &str, wanted: Wanted) -> Option<RangeInclusive<f64>> {
    let middle = nearest(number.as_bytes())?;
    let least = if wanted(Ordering::Less) { f64::NEG_INFINITY } else { middle };
    let greatest = if wanted(Ordering::Greater) { f64::INFINITY } else { middle };
    Some(least..=greatest)
}
