//! Filters as predicates over records.
//!
//! A predicate is true or false, and SQL's conditions may also be unknown. So there are two translations of
//! each condition: a predicate that holds where the condition is true, and one that holds where it is false.
//! `NOT` exchanges them.
//!
//! | column | condition | predicate | the records are |
//! |---|---|---|---|
//! | strings | `a = 'x'`, `a IN (…)` | `$.a == "x"` | the same |
//! | | `a <> 'x'` | `$.a < "x" \|\| $.a > "x"` | the same, and strings that are not UTF-8 |
//! | | `a < 'x'` | `$.a < "x"` | the same, and strings that are not UTF-8 |
//! | booleans | `a`, `a = true` | `$.a == true` | the same |
//! | integers | `a = 1`, `a < 1`, `a <> 1` | `$.a == 1`, … | the same, if the column was read from all records |
//! | integers beyond 64 bits | the same conditions | the same predicates | more: integers of more than 38 digits |
//! | doubles | `a < 1.5` | `$.a <= 1.5` | more: the predicate compares decimals before they are rounded |
//! | any of these | `a IS NOT NULL` | `$.a is not missing and $.a is not null` | more: values of other types |
//! | others | | none | |
//!
//! Where the records are not the same, DataFusion filters the rows once more.
//!
//! * *Instants* have no predicate, because `time` needs a tree of each record.
//! * *`LIKE`* has none. As `search($.a, "^x")` it was no faster, because Arrow's kernel is fast: counts of a
//!   prefix, of three prefixes and of `NOT LIKE` over a million records took 180, 184 and 165 ms, and 188,
//!   144 and 135 ms without it (AMD EPYC, two cores, 2026-11-27). With four columns of few records, it was
//!   218 and 214 ms.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use warpath::Predicate;
use warpath::columns::json_text;
use warpath_lang::jsonpath::{ComparisonOp, LiteralKind, LogicalExpr, SingularQuery, State};

use crate::engines::external;
use crate::paths::FieldPath;

/// An expression that is true of every record for which a condition has an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The expression about the record.
    pub expr: LogicalExpr,
    /// True if it is true of no other record.
    pub is_exact: bool,
}

impl Condition {
    /// The condition as a predicate.
    ///
    /// # Errors
    /// An expression that is nested too deep.
    pub fn predicate(self) -> Result<Predicate> {
        Predicate::of_expr(self.expr).map_err(external)
    }
}

/// The columns that conditions refer to.
#[derive(Clone, Copy)]
pub struct ColumnRefs<'a> {
    /// The fields of the files.
    pub fields: &'a Fields,
    /// True if the fields' types are those of all records.
    pub are_of_all_records: bool,
}

/// The comparison that an operator of SQL is; `None` for other operators.
fn comparison_op(op: Operator) -> Option<ComparisonOp> {
    Some(match op {
        Operator::Eq => ComparisonOp::Eq,
        Operator::NotEq => ComparisonOp::Ne,
        Operator::Lt => ComparisonOp::Lt,
        Operator::LtEq => ComparisonOp::Le,
        Operator::Gt => ComparisonOp::Gt,
        Operator::GtEq => ComparisonOp::Ge,
        _ => return None,
    })
}

/// The comparison that is true where another one is false, apart from nulls.
fn negated(op: ComparisonOp) -> ComparisonOp {
    match op {
        ComparisonOp::Eq => ComparisonOp::Ne,
        ComparisonOp::Ne => ComparisonOp::Eq,
        ComparisonOp::Lt => ComparisonOp::Ge,
        ComparisonOp::Le => ComparisonOp::Gt,
        ComparisonOp::Gt => ComparisonOp::Le,
        ComparisonOp::Ge => ComparisonOp::Lt,
    }
}

impl ColumnRefs<'_> {
    /// A predicate that holds for every record for which the expression is true. `None` if there is none.
    ///
    /// # Errors
    /// The errors of dynamic filters.
    pub fn condition(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Condition>> {
        // A filter that an operator above makes, such as a bound of a top-k, as it is now.
        let expr = snapshot_physical_expr(expr.clone())?;
        let condition = self.where_is(&expr, true);
        // An expression that is nested too deep is no predicate.
        Ok(condition.filter(|condition| Predicate::of_expr(condition.expr.clone()).is_ok()))
    }

    fn where_is(&self, expr: &Arc<dyn PhysicalExpr>, outcome: bool) -> Option<Condition> {
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return self.where_is(not.arg(), !outcome);
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.binary(binary, outcome);
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            let outcome = outcome != list.negated();
            let each = |value| self.comparison(list.expr(), ComparisonOp::Eq, value, outcome);
            return match outcome {
                true => any(list.list().iter().map(each).collect::<Option<_>>()?),
                // An unknown comparison makes the negation unknown.
                false => all(list.list().iter().map(each).collect::<Option<_>>()?),
            };
        }
        if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
            return self.presence(test.arg(), outcome);
        }
        if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
            return self.presence(test.arg(), !outcome);
        }
        // A column of booleans is a condition itself.
        self.boolean(expr, outcome)
    }

    fn boolean(&self, expr: &Arc<dyn PhysicalExpr>, value: bool) -> Option<Condition> {
        let found = FieldPath::of(expr, self.fields)?;
        let is_boolean = *found.field.data_type() == DataType::Boolean;
        let path = SingularQuery::of_names(found.names);
        let expr = LogicalExpr::compare(path, ComparisonOp::Eq, LiteralKind::Bool(value));
        is_boolean.then_some(Condition { expr, is_exact: true })
    }

    fn binary(&self, binary: &BinaryExpr, outcome: bool) -> Option<Condition> {
        match (binary.op(), outcome) {
            (Operator::And, true) | (Operator::Or, false) => {
                let operands = operands(binary);
                let conditions = operands.iter().filter_map(|operand| self.where_is(operand, outcome));
                let conditions: Vec<Condition> = conditions.collect();
                // Some of the operands alone hold for more records.
                let is_whole = conditions.len() == operands.len();
                all(conditions).map(|all| Condition { is_exact: all.is_exact && is_whole, ..all })
            }
            (Operator::Or, true) | (Operator::And, false) => {
                let conditions = operands(binary).into_iter().map(|operand| self.where_is(operand, outcome));
                any(conditions.collect::<Option<_>>()?)
            }
            (op, _) => {
                let (op, left, right) = (comparison_op(*op)?, binary.left(), binary.right());
                match left.downcast_ref::<Literal>() {
                    Some(_) => self.comparison(right, op.flipped(), left, outcome),
                    None => self.comparison(left, op, right, outcome),
                }
            }
        }
    }

    fn comparison(
        &self,
        column: &Arc<dyn PhysicalExpr>,
        op: ComparisonOp,
        literal: &Arc<dyn PhysicalExpr>,
        outcome: bool,
    ) -> Option<Condition> {
        let op = if outcome { op } else { negated(op) };
        let FieldPath { names, field } = FieldPath::of(column, self.fields)?;
        let path = SingularQuery::of_names(names);
        let compare = |op, literal: &LiteralKind| LogicalExpr::compare(path.clone(), op, literal.clone());
        // `!=` is true of a record without the value, and no condition of SQL is.
        let compare = |op, literal: &LiteralKind| match op {
            ComparisonOp::Ne => {
                LogicalExpr::any(vec![compare(ComparisonOp::Lt, literal), compare(ComparisonOp::Gt, literal)])
            }
            op => Some(compare(op, literal)),
        };
        let constant = literal.downcast_ref::<Literal>()?.value();
        let (expr, is_exact) = match (field.data_type(), constant) {
            (DataType::Boolean, ScalarValue::Boolean(Some(value))) => {
                let value = match op {
                    ComparisonOp::Eq => *value,
                    ComparisonOp::Ne => !value,
                    _ => return None,
                };
                (compare(ComparisonOp::Eq, &LiteralKind::Bool(value))?, true)
            }
            (DataType::Utf8, ScalarValue::Utf8(Some(text))) => {
                if !has_strings(&field) || !is_same_in_columns(text) {
                    return None;
                }
                (compare(op, &LiteralKind::String(text.clone()))?, op == ComparisonOp::Eq)
            }
            (DataType::Int64, ScalarValue::Int64(Some(number))) => {
                (compare(op, &LiteralKind::Number(number.to_string()))?, self.are_of_all_records)
            }
            (DataType::Decimal128(_, 0), ScalarValue::Decimal128(Some(number), _, 0)) => {
                (compare(op, &LiteralKind::Number(number.to_string()))?, false)
            }
            (DataType::Float64, ScalarValue::Float64(Some(number))) if number.is_finite() => {
                // Decimals beyond the neighbours are not rounded to this double.
                let below = compare(ComparisonOp::Ge, &decimal(number.next_down())?)?;
                let above = compare(ComparisonOp::Le, &decimal(number.next_up())?)?;
                let expr = match op {
                    ComparisonOp::Eq => LogicalExpr::all(vec![below, above])?,
                    // Any number may be another double.
                    ComparisonOp::Ne => return None,
                    ComparisonOp::Lt | ComparisonOp::Le => above,
                    ComparisonOp::Gt | ComparisonOp::Ge => below,
                };
                (expr, false)
            }
            _ => return None,
        };
        Some(Condition { expr, is_exact })
    }

    /// Records in which a column has a value, or has none.
    fn presence(&self, column: &Arc<dyn PhysicalExpr>, is_there: bool) -> Option<Condition> {
        let FieldPath { names, field } = FieldPath::of(column, self.fields)?;
        let path = SingularQuery::of_names(names);
        let is_number = *field.data_type() == DataType::Int64 || *field.data_type() == DataType::Boolean;
        let is_exact = self.are_of_all_records && is_number;
        let states = [State::Missing, State::Null];
        let states = states.map(|state| LogicalExpr::is(path.clone(), is_there, state));
        if is_there {
            let expr = LogicalExpr::all(states.into())?;
            return Some(Condition { expr, is_exact });
        }
        // A value of another type is null, too.
        let expr = LogicalExpr::any(states.into())?;
        is_exact.then_some(Condition { expr, is_exact })
    }
}

/// True for a column of strings, and false for one of JSON texts.
fn has_strings(field: &FieldRef) -> bool {
    *field.data_type() == DataType::Utf8 && field.as_ref().clone() != json_text(field.as_ref().clone())
}

/// True if a text is compared alike in a column and by a path. A surrogate without its partner is U+FFFD in a
/// column, and its own code point in a path.
fn is_same_in_columns(text: &str) -> bool {
    text.chars().all(|c| c < '\u{d7ff}')
}

/// A number in JSON.
fn decimal(number: f64) -> Option<LiteralKind> {
    number.is_finite().then(|| LiteralKind::Number(format!("{number:e}")))
}

/// The operands of a chain of `AND`, or of `OR`.
fn operands(binary: &BinaryExpr) -> Vec<&Arc<dyn PhysicalExpr>> {
    let (mut found, mut open) = (Vec::new(), vec![binary.right(), binary.left()]);
    while let Some(expr) = open.pop() {
        match expr.downcast_ref::<BinaryExpr>() {
            Some(inner) if inner.op() == binary.op() => open.extend([inner.right(), inner.left()]),
            _ => found.push(expr),
        }
    }
    found
}

/// The condition that all conditions hold; `None` for none.
pub fn all(conditions: Vec<Condition>) -> Option<Condition> {
    joined(conditions, LogicalExpr::all)
}

fn any(conditions: Vec<Condition>) -> Option<Condition> {
    joined(conditions, LogicalExpr::any)
}

fn joined(
    conditions: Vec<Condition>,
    join: fn(Vec<LogicalExpr>) -> Option<LogicalExpr>,
) -> Option<Condition> {
    let is_exact = conditions.iter().all(|condition| condition.is_exact);
    let expr = join(conditions.into_iter().map(|condition| condition.expr).collect())?;
    Some(Condition { expr, is_exact })
}

/// True if an expression refers to a column of the files.
pub fn refers_to_files(expr: &Arc<dyn PhysicalExpr>, fields: &Fields) -> bool {
    expr.downcast_ref::<Column>().is_some_and(|column| column.index() < fields.len())
        || expr.children().into_iter().any(|child| refers_to_files(child, fields))
}
