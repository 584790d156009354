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

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use warpath_core::comparison::{Comparison, Condition, Constant, Test, Wanted, integers};
use warpath_core::decimal::Decimal;
use warpath_core::number::nearest;
use warpath_core::rows::RowSet;

use crate::file::{Bound, Bounds, Reader};
use crate::group::{Column, Group, Layout, NodeIx, Tree, Values};
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

/// The rows of a group that a condition can be true of. Rows may be among them for which it is false, and
/// none is missing for which it is true.
///
/// Columns are read only if their statistics do not already decide. Conditions on elements of arrays are not
/// expressed by names, so paths through arrays select nothing.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read or is damaged, and [`Error::Group`] for a group that no
/// shredder made.
pub fn candidates(reader: &Reader, group: usize, condition: &Condition) -> Result<Candidates, Error> {
    let first = sections(reader, group, &Outline::SECTIONS)?;
    let outline = Outline::read(reader.tree(), &first).map_err(|reason| Error::Group { group, reason })?;
    let columns = RefCell::new(HashMap::default());
    let found = Finder { reader, number: group, group: &first, outline: &outline, columns };
    let rows = first.rows;
    let mut left = match found.plan(condition)? {
        Plan::All => return Ok(if rows == 0 { Candidates::None } else { Candidates::All }),
        plan => found.rows(&plan)?,
    };
    left |= &outline.raw_rows(rows);
    Ok(Candidates::of(left))
}

/// The reads that a condition needs.
enum Plan<'a> {
    /// Nothing: it can be true of all rows.
    All,
    /// Nothing: it is false of all rows.
    None,
    /// The values of these leaves.
    Read(&'a Test, Position, Vec<NodeIx>),
    /// All of these plans must leave a row.
    Both(Vec<Plan<'a>>),
    /// One of these plans must leave a row.
    Either(Vec<Plan<'a>>),
}

/// The group in which rows are found.
struct Finder<'a> {
    reader: &'a Reader,
    number: usize,
    group: &'a Group,
    outline: &'a Outline<'a>,
    /// The columns that were read.
    columns: RefCell<HashMap<NodeIx, Rc<Column>>>,
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
    fn plan<'c>(&self, condition: &'c Condition) -> Result<Plan<'c>, Error> {
        let mut plans = Vec::new();
        match condition {
            Condition::Is(comparison) => self.plan_one(comparison),
            Condition::All(all) => {
                for condition in all {
                    match self.plan(condition)? {
                        Plan::All => {}
                        Plan::None => return Ok(Plan::None),
                        plan => plans.push(plan),
                    }
                }
                Ok(if plans.is_empty() { Plan::All } else { Plan::Both(plans) })
            }
            Condition::Any(any) => {
                for condition in any {
                    match self.plan(condition)? {
                        Plan::All => return Ok(Plan::All),
                        Plan::None => {}
                        plan => plans.push(plan),
                    }
                }
                Ok(if plans.is_empty() { Plan::None } else { Plan::Either(plans) })
            }
        }
    }

    fn plan_one<'c>(&self, condition: &'c Comparison) -> Result<Plan<'c>, Error> {
        let position = self.of_text(Position::find(self.tree(), self.outline, &condition.path))?;
        if condition.path.is_empty() || position.repeats {
            return Ok(Plan::All);
        }
        if let Test::Not(test) = &condition.test {
            let leaves = self.leaves_of_sure(test, &position)?;
            // Without a value of which the test is surely true, it may be false of all.
            let is_unknown = leaves.is_empty();
            return Ok(if is_unknown { Plan::All } else { Plan::Read(&condition.test, position, leaves) });
        }
        let mut leaves = position.texts.clone();
        let (wants_null, wants_key) = nulls(&condition.test);
        for kind in &position.kinds {
            if self.is_opaque(*kind) || self.may_pass(&condition.test, *kind)? || !self.odd(*kind)?.is_empty()
            {
                leaves.push(*kind);
            }
        }
        leaves.sort_unstable();
        leaves.dedup();
        let reads = !leaves.is_empty() || wants_null || wants_key;
        Ok(if reads { Plan::Read(&condition.test, position, leaves) } else { Plan::None })
    }

    /// True for texts of JSON and of lines, which are not compared.
    fn is_opaque(&self, node: NodeIx) -> bool {
        matches!(self.layout(node), Some(Layout::Json | Layout::Bytes))
    }

    /// Returns false if no value of a leaf passes a test, by its statistics and its Bloom filter.
    fn may_pass(&self, test: &Test, leaf: NodeIx) -> Result<bool, Error> {
        let by_bounds = match self.reader.leaf(self.number, leaf).and_then(|leaf| leaf.bounds) {
            Some(bounds) => test.may_pass(&bounds),
            // Leaves without values have no statistics.
            None => !matches!(self.layout(leaf), Some(Layout::Struct | Layout::List) | None),
        };
        Ok(by_bounds && self.may_equal(test, leaf)?)
    }

    /// Returns false if a test is for values that are equal to constants, and the Bloom filter of a leaf
    /// excludes these.
    fn may_equal(&self, test: &Test, leaf: NodeIx) -> Result<bool, Error> {
        let Test::Equal(constants) = test else { return Ok(true) };
        let Some(filter) = self.reader.filter(self.number, leaf)? else { return Ok(true) };
        let may_have = |constant: &Constant| match (self.layout(leaf), constant) {
            (Some(Layout::String), Constant::String(text)) => filter.may_have(text.as_bytes()),
            (Some(Layout::Int), Constant::Number(number)) => match Decimal::read(number.as_bytes()) {
                Some(decimal) => decimal.integer().is_some_and(|value| filter.may_have_integer(value)),
                None => true,
            },
            _ => false,
        };
        Ok(constants.iter().any(may_have))
    }

    /// The nodes whose values show that a test is true, if it is true of any of them.
    fn leaves_of_sure(&self, test: &Test, position: &Position) -> Result<Vec<NodeIx>, Error> {
        let mut leaves = Vec::new();
        for kind in position.kinds.iter().filter(|kind| !position.texts.contains(kind)) {
            let is_sure = match (self.layout(*kind), test) {
                (layout, Test::Exists) => layout.is_some_and(|layout| layout != Layout::Bytes),
                (Some(Layout::String), _) => self.odd(*kind)?.is_empty(),
                (Some(Layout::Int), _) => test.is_known(),
                (Some(Layout::Boolean), _) => true,
                // Numbers that differ may have the same double.
                _ => false,
            };
            if is_sure && (*test == Test::Exists || self.may_pass(test, *kind)?) {
                leaves.push(*kind);
            }
        }
        Ok(leaves)
    }

    /// The rows that a condition can be true of.
    fn rows(&self, plan: &Plan<'_>) -> Result<RowSet, Error> {
        let rows = u64::from(self.group.rows);
        match plan {
            Plan::All => Ok(RowSet::all(rows)),
            Plan::None => Ok(RowSet::none(rows)),
            Plan::Read(test, position, leaves) => self.rows_of(test, position, leaves),
            Plan::Both(plans) => {
                let mut left = RowSet::all(rows);
                for plan in plans {
                    if left.count() == 0 {
                        break;
                    }
                    left &= &self.rows(plan)?;
                }
                Ok(left)
            }
            Plan::Either(plans) => {
                let mut found = RowSet::none(rows);
                for plan in plans {
                    found |= &self.rows(plan)?;
                }
                Ok(found)
            }
        }
    }

    /// The rows that a test can be true of.
    fn rows_of(&self, test: &Test, position: &Position, leaves: &[NodeIx]) -> Result<RowSet, Error> {
        match test {
            Test::Not(test) => {
                let mut rows = RowSet::all(self.group.rows.into());
                match &**test {
                    Test::Exists => rows -= &self.present(leaves)?,
                    test => rows -= &self.passing(test, leaves, position)?,
                }
                Ok(rows)
            }
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

    /// A column, which is read once.
    fn column(&self, leaf: NodeIx) -> Result<Rc<Column>, Error> {
        if let Some(column) = self.columns.borrow().get(&leaf) {
            return Ok(column.clone());
        }
        let column = Rc::new(self.reader.column(self.number, leaf)?);
        self.columns.borrow_mut().insert(leaf, column.clone());
        Ok(column)
    }

    /// The rows in which a value of some leaves passes a test, or is not known.
    fn passing(&self, test: &Test, leaves: &[NodeIx], position: &Position) -> Result<RowSet, Error> {
        let mut rows = RowSet::none(self.group.rows.into());
        for leaf in leaves {
            let layout = self.layout(*leaf);
            if position.texts.contains(leaf) || self.is_opaque(*leaf) {
                rows |= &self.present(&[*leaf])?;
                continue;
            }
            if matches!(layout, Some(Layout::Struct | Layout::List)) {
                continue;
            }
            let column = self.column(*leaf)?;
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
            let column = self.column(leaf)?;
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
        Test::Less(_) | Test::Greater(_) | Test::Matches(_) | Test::Not(_) => (false, false),
    }
}

trait Passes {
    /// Returns false if no value between two bounds passes.
    fn may_pass(&self, bounds: &Bounds) -> bool;

    /// For each of some values, true if it may pass.
    fn passing(&self, values: &Values) -> Vec<bool>;

    /// True if integers pass exactly if the test is true of them.
    fn is_known(&self) -> bool;
}

impl Passes for Test {
    fn is_known(&self) -> bool {
        let is_known = |constant: &Constant| match constant {
            Constant::Number(number) => Decimal::read(number.as_bytes()).is_some(),
            _ => true,
        };
        self.constants().0.iter().all(is_known)
    }

    fn may_pass(&self, bounds: &Bounds) -> bool {
        if let Self::Matches(_) = self {
            return matches!(bounds.least, Bound::Bytes(_));
        }
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
        if let (Self::Matches(pattern), Values::Bytes(strings)) = (self, values) {
            mark(&mut passes, strings.each().map(|value| (pattern.holds)(value)));
        }
        if let (Self::Equal(all), Values::Bytes(strings)) = (self, values)
            && all.len() > FEW
        {
            let texts: HashSet<&[u8]> = all.iter().filter_map(text_of).collect();
            mark(&mut passes, strings.each().map(|value| texts.contains(value)));
            return passes;
        }
        if let (Self::Equal(all), Values::Int(values)) = (self, values)
            && all.len() > FEW
            && self.is_known()
        {
            let numbers: HashSet<i64> = all.iter().filter_map(integer_of).collect();
            mark(&mut passes, values.iter().map(|value| numbers.contains(value)));
            return passes;
        }
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
                    mark(&mut passes, strings.each().map(|value| wanted(value.cmp(text.as_bytes()))));
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

/// Constants that are compared one by one.
const FEW: usize = 8;

fn text_of(constant: &Constant) -> Option<&[u8]> {
    if let Constant::String(text) = constant { Some(text.as_bytes()) } else { None }
}

fn integer_of(constant: &Constant) -> Option<i64> {
    if let Constant::Number(number) = constant { Decimal::read(number.as_bytes())?.integer() } else { None }
}

fn mark(passes: &mut [bool], more: impl Iterator<Item = bool>) {
    passes.iter_mut().zip(more).for_each(|(passes, more)| *passes |= more);
}

/// The doubles that are nearest to some decimal number with a wanted order to a number. Rounding keeps the
/// order, but numbers that differ may have the same double. So the double of the number is always in it.
fn doubles(number: &str, wanted: Wanted) -> Option<RangeInclusive<f64>> {
    let middle = nearest(number.as_bytes())?;
    let least = if wanted(Ordering::Less) { f64::NEG_INFINITY } else { middle };
    let greatest = if wanted(Ordering::Greater) { f64::INFINITY } else { middle };
    Some(least..=greatest)
}
