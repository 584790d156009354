//! The groups of an aggregate that may be among the first rows of a sort with a limit.
//!
//! Sort keys and conditions after GROUP BY (HAVING) that need numbers alone are evaluated for all groups. A
//! group becomes a row only if its keys are at or before those of the last row that is wanted:
//!
//! ```text
//! ORDER BY min(at), user LIMIT 2     min(at)   5  3  9  5  5
//!                                    kept      *  *     *  *   the sort decides between users
//! ```
//!
//! Strings of the other groups are never read. The sort above remains, and decides about ties. A device
//! chooses by the first key, if that is an aggregate, or a difference of two ([`First::on_device`]).

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::{LexicographicalComparator, SortColumn, cast};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use warpath_resident::aggregate::First as FirstGroups;
use warpath_shared::leaf::{of_double, of_integer};

use super::aggregate::LeafAggregateExec;
use super::below::{is_volatile, over};
use crate::integers::difference;

/// The groups that become rows.
#[derive(Clone, Debug)]
pub struct First {
    /// The number of rows that are wanted.
    count: usize,
    /// The keys of the sort, as far as they need numbers alone.
    keys: Vec<PhysicalSortExpr>,
    /// True if the sort has no other keys.
    are_all: bool,
    /// The conditions for groups.
    having: Vec<Arc<dyn PhysicalExpr>>,
}

impl Display for First {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = |all: &[String], by: &str| all.join(by);
        if !self.having.is_empty() {
            let having: Vec<String> = self.having.iter().map(ToString::to_string).collect();
            write!(f, "having={}, ", shown(&having, " AND "))?;
        }
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        write!(f, "first={}", self.count)?;
        if keys.is_empty() { Ok(()) } else { write!(f, " by [{}]", shown(&keys, ", ")) }
    }
}

/// A sort with a limit, or a limit, over an aggregate on leaves, as one whose aggregate makes no rows for
/// other groups. `None` for other plans.
pub fn bounded(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let (keys, count) = if let Some(sort) = plan.downcast_ref::<SortExec>() {
        (sort.expr().iter().cloned().collect(), sort.fetch())
    } else if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        (Vec::new(), limit.fetch().map(|fetch| fetch.saturating_add(limit.skip())))
    } else if let Some(limit) = plan.downcast_ref::<LocalLimitExec>() {
        (Vec::new(), Some(limit.fetch()))
    } else {
        return Ok(None);
    };
    let (Some(count), [input]) = (count, &plan.children()[..]) else { return Ok(None) };
    let first = First { count, keys, are_all: true, having: Vec::new() };
    match first.below(input)? {
        Some(input) => over(plan, input).map(Some),
        None => Ok(None),
    }
}

impl First {
    /// A plan whose aggregate has these first groups.
    fn below(mut self, plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let Some(leaf) = plan.downcast_ref::<LeafAggregateExec>() {
            return Ok(self.of_numbers(&leaf.schema()).map(|first| Arc::new(leaf.with_first(first)) as _));
        }
        let input = if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            self.replace(|at| projection.expr().get(at).map(|projected| projected.expr.clone()))?;
            projection.input()
        } else if let Some(filter) = plan.downcast_ref::<FilterExec>().filter(|it| it.fetch().is_none()) {
            if let Some(projection) = filter.projection() {
                let schema = filter.input().schema();
                self.replace(|at| {
                    let at = *projection.get(at)?;
                    Some(Arc::new(Column::new(schema.field(at).name(), at)) as _)
                })?;
            }
            self.having.push(filter.predicate().clone());
            filter.input()
        } else {
            return Ok(None);
        };
        match self.below(input)? {
            Some(input) => over(plan, input).map(Some),
            None => Ok(None),
        }
    }

    /// Puts other expressions in place of columns.
    fn replace(&mut self, of: impl Fn(usize) -> Option<Arc<dyn PhysicalExpr>>) -> Result<()> {
        let replaced = |expr: &Arc<dyn PhysicalExpr>| {
            let replaced = expr.clone().transform_down(|expr| {
                let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
                match of(column.index()) {
                    Some(other) => Ok(Transformed::new(other, true, TreeNodeRecursion::Jump)),
                    None => internal_err!("there is no column {}", column.index()),
                }
            });
            replaced.data()
        };
        for key in &mut self.keys {
            key.expr = replaced(&key.expr)?;
        }
        for condition in &mut self.having {
            *condition = replaced(condition)?;
        }
        Ok(())
    }

    /// The same with the keys that need numbers alone. `None` if the groups cannot be bounded.
    fn of_numbers(mut self, schema: &Schema) -> Option<Self> {
        let is_number = |expr: &Arc<dyn PhysicalExpr>| {
            let are_numbers = collect_columns(expr).iter().all(|column| {
                schema.fields().get(column.index()).is_some_and(|it| is_number(it.data_type()))
            });
            are_numbers && !is_volatile(expr)
        };
        let keys = self.keys.iter().take_while(|key| is_number(&key.expr)).count();
        let is_sorted = !self.keys.is_empty();
        self.are_all = keys == self.keys.len();
        self.keys.truncate(keys);
        let is_bounded = self.having.iter().all(is_number) && !(is_sorted && keys == 0);
        is_bounded.then_some(self)
    }

    /// The first groups by the first key alone, which a device may choose. `None` if it cannot. Aggregates
    /// come after this number of columns.
    pub fn on_device(&self, columns: usize) -> Option<FirstGroups> {
        let key = self.keys.first().filter(|_| self.having.is_empty())?;
        let (quotient, divide) = match key.expr.downcast_ref::<BinaryExpr>() {
            Some(binary) if *binary.op() == Operator::Divide => {
                let literal = binary.right().downcast_ref::<Literal>()?;
                let ScalarValue::Int64(Some(divide)) = *literal.value() else { return None };
                (binary.left(), divide)
            }
            _ => (&key.expr, 1),
        };
        let (value, minus) = match difference(quotient) {
            Some([value, minus]) => (value, Some(minus)),
            None => (quotient, None),
        };
        let aggregate =
            |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>()?.index().checked_sub(columns);
        // The host reports divisions that fail.
        let is_right = divide != 0 && divide != -1;
        let count = u64::try_from(self.count).ok().filter(|count| is_right && *count > 0)?;
        let minus = match minus {
            Some(minus) => Some(aggregate(minus)?),
            None => None,
        };
        let is_descending = key.options.descending;
        Some(FirstGroups { count, value: aggregate(value)?, minus, divide, is_descending })
    }

    /// The groups that become rows, in any order; `None` for all. `groups` has their numbers.
    ///
    /// A key or a condition that fails bounds nothing. The operators above report the failure, if a row that
    /// they see is the reason.
    pub fn groups(&self, groups: &RecordBatch) -> Option<Vec<usize>> {
        let rows = groups.num_rows();
        let mut kept: Vec<usize> = (0..rows).collect();
        for condition in &self.having {
            let passes = condition.evaluate(groups).ok()?.into_array(rows).ok()?;
            let passes = passes.as_boolean();
            kept.retain(|row| passes.is_valid(*row) && passes.value(*row));
        }
        if kept.len() > self.count {
            let keys = self.keys.iter().map(|key| key.evaluate_to_sort_column(groups).ok());
            self.bound(&keys.collect::<Option<Vec<_>>>()?, &mut kept)?;
        }
        (kept.len() < rows).then_some(kept)
    }

    /// Keeps the rows that may be among the first. `None` for keys without an order.
    fn bound(&self, keys: &[SortColumn], kept: &mut Vec<usize>) -> Option<()> {
        let Some(last) = self.count.checked_sub(1) else {
            kept.clear();
            return Some(());
        };
        // Few rows are left after the first key, which is the fast one.
        let first = keys.first().map(widened);
        if let Some(ranks) = first.as_ref().and_then(ranks) {
            let mut sorted: Vec<Rank> = kept.iter().map(|row| ranks(*row)).collect();
            let bound = *sorted.select_nth_unstable(last).1;
            kept.retain(|row| ranks(*row) <= bound);
        }
        if !keys.is_empty() && kept.len() > self.count {
            let order = LexicographicalComparator::try_new(keys).ok()?;
            let mut sorted = kept.clone();
            let bound = *sorted.select_nth_unstable_by(last, |one, other| order.compare(*one, *other)).1;
            kept.retain(|row| order.compare(*row, bound) != Ordering::Greater);
            // Those before the bound come first.
            kept.sort_by(|one, other| order.compare(*one, *other));
        }
        if self.are_all {
            // Rows with equal keys have no order, so any of them will do.
            kept.truncate(self.count);
        }
        Some(())
    }
}

/// A key whose integers, times and doubles have 64 bits.
fn widened(key: &SortColumn) -> SortColumn {
    let wide = match key.values.data_type() {
        of if of.is_signed_integer() || matches!(of, DataType::Timestamp(..)) => Some(DataType::Int64),
        DataType::Float32 => Some(DataType::Float64),
        _ => None,
    };
    let values = wide.and_then(|of| cast(&key.values, &of).ok());
    SortColumn { values: values.unwrap_or_else(|| key.values.clone()), options: key.options }
}

/// True for types of which leaves have numbers.
fn is_number(of: &DataType) -> bool {
    !matches!(of, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8)
}

/// The rank of a row in the order of one key.
type Rank = (bool, u64);

/// The ranks of rows by a key of integers or doubles.
fn ranks(key: &SortColumn) -> Option<Box<dyn Fn(usize) -> Rank + '_>> {
    let options = key.options.unwrap_or_default();
    let turned = move |number: u64| if options.descending { !number } else { number };
    let values = &key.values;
    // A null has one rank, before or after all others.
    let rank = move |row: usize, number: u64| match values.is_null(row) {
        true => (!options.nulls_first, 0),
        false => (options.nulls_first, turned(number)),
    };
    Some(match values.data_type() {
        DataType::Int64 => {
            let numbers = values.as_primitive::<Int64Type>().values();
            Box::new(move |row| rank(row, of_integer(numbers[row])))
        }
        DataType::Float64 => {
            let numbers = values.as_primitive::<Float64Type>().values();
            Box::new(move |row| rank(row, of_double(numbers[row])))
        }
        _ => return None,
    })
}
