//! The formula of an expression over known columns. It has no `not`, and one test a column where possible.
//!
//! The condition on a column is a set ([`Choice`]) of values and of states without a value. A set has a
//! complement, so each `not` moves inwards and disappears. An `and` or `or` of tests of the same column
//! becomes one test.

use std::ops::Range;

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind};
use warpath_lang::jsonpath::words::{distance, member_path, quotable, quote};
use warpath_lang::jsonpath::{
    ColumnName, ComparableKind, ComparisonOp, Literal, LogicalExpr, LogicalExprKind, State, ValueTest,
    ValueTestKind,
};
use warpath_store::bitmap::column::{Bin, Column, Holds};

use super::literal::endpoints;
use super::ranges::{Endpoint, Key, Ranges, Share};

/// The condition on a column: the set of values and states for which a test is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The values.
    pub values: Ranges,
    /// The states without a value, in the order missing, null, other and NaN.
    pub states: [bool; 4],
}

/// The states without a value, in the order of [`Choice::states`].
const STATES: [State; 4] = [State::Missing, State::Null, State::Other, State::NaN];

impl Choice {
    fn of_values(values: Ranges) -> Self {
        Self { values, states: [false; 4] }
    }

    fn of_state(state: State) -> Self {
        let values = if state == State::Value { Ranges::all() } else { Ranges::none() };
        Self { values, states: STATES.map(|known| known == state) }
    }

    pub fn complement(&self) -> Self {
        Self { values: self.values.complement(), states: self.states.map(|is| !is) }
    }

    /// The intersection (`both`) or union of some choices.
    fn joined(choices: &[Self], both: bool) -> Self {
        let state = |at: usize| {
            let mut asked = choices.iter().map(|choice| choice.states[at]);
            if both { asked.all(|is| is) } else { asked.any(|is| is) }
        };
        let values = Ranges::joined(choices.iter().map(|choice| &choice.values), both);
        Self { values, states: std::array::from_fn(state) }
    }

    /// Returns whether the choice is true of rows that have nothing in the column. Lines that are not records
    /// are such rows.
    pub fn has_missing(&self) -> bool {
        self.states[0]
    }

    /// Returns two lists of bins of a column, in order. The first is the bins for all of whose rows the
    /// choice is true, as ranges. The second is the bins that the choice cuts.
    pub fn bins(&self, bins: &[Bin]) -> (Vec<Range<usize>>, Vec<usize>) {
        let bounds = |at: usize| match &bins[at].holds {
            Holds::Values { least, greatest } => (Key::of(least), Key::of(greatest)),
            _ => (Key::Number(0), Key::Number(0)),
        };
        let values = bins.partition_point(|bin| matches!(bin.holds, Holds::Values { .. }));
        let (mut all, mut cut) = (Vec::new(), Vec::new());
        self.values.each_share(values, bounds, |bins, share| match share {
            Share::All => all.push(bins),
            Share::Unknown => cut.extend(bins),
            Share::None => {}
        });
        let others = (values..bins.len()).filter(|bin| self.share(&bins[*bin]) == Share::All);
        all.extend(others.map(|bin| bin..bin + 1));
        (all, cut)
    }

    /// The share of a bin's rows for which the choice is true.
    fn share(&self, bin: &Bin) -> Share {
        let state = match &bin.holds {
            Holds::Values { least, greatest } => return self.values.share(Key::of(least), Key::of(greatest)),
            Holds::Missing => 0,
            Holds::Null => 1,
            Holds::Other => 2,
            Holds::NaN => 3,
        };
        if self.states[state] { Share::All } else { Share::None }
    }
}

/// An expression without `not`. No operand of an `and` is an `and`, and no two of its operands are tests of
/// the same column. The same rules hold for `or`.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// All rows, or no row.
    Constant(bool),
    /// The rows for which a choice on a column is true.
    Leaf { column: usize, choice: Choice },
    /// The rows that all operands have.
    And(Vec<Self>),
    /// The rows that any operand has.
    Or(Vec<Self>),
}

impl Formula {
    /// Makes the formula of an expression over columns.
    pub fn new(expr: &LogicalExpr, columns: &[Column]) -> Result<Self, Diagnostic> {
        Ok(match Self::of(expr, columns, false)? {
            Self::Leaf { column, choice } => Self::leaf(column, choice, columns),
            other => other,
        })
    }

    /// Makes the formula of an expression or of its complement. A single test stays a leaf.
    fn of(expr: &LogicalExpr, columns: &[Column], complement: bool) -> Result<Self, Diagnostic> {
        let (all, both) = match &expr.kind {
            LogicalExprKind::Not(of) => return Self::of(of, columns, !complement),
            LogicalExprKind::And(all) => (all, !complement),
            LogicalExprKind::Or(all) => (all, complement),
            _ => {
                let (column, choice) = choice(expr, columns)?;
                let choice = if complement { choice.complement() } else { choice };
                return Ok(Self::Leaf { column, choice });
            }
        };
        let all = all.iter().map(|of| Self::of(of, columns, complement)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::joined(all, both, columns))
    }

    /// Makes a leaf, or a constant if the bins decide all rows alike.
    pub(super) fn leaf(column: usize, choice: Choice, columns: &[Column]) -> Self {
        let mut shares = columns[column].bins.iter().map(|bin| choice.share(bin));
        match shares.next() {
            Some(Share::All) if shares.all(|share| share == Share::All) => Self::Constant(true),
            Some(Share::None) if shares.all(|share| share == Share::None) => Self::Constant(false),
            // Without bins there are no rows.
            None => Self::Constant(false),
            Some(_) => Self::Leaf { column, choice },
        }
    }

    /// The intersection (`both`) or union of some formulas.
    pub(super) fn joined(operands: Vec<Self>, both: bool, columns: &[Column]) -> Self {
        let mut leaves: Vec<(usize, Vec<Choice>)> = Vec::new();
        let mut all = Vec::new();
        for operand in operands {
            let inner = match operand {
                Self::And(inner) if both => inner,
                Self::Or(inner) if !both => inner,
                other => vec![other],
            };
            for operand in inner {
                match operand {
                    Self::Constant(value) if value == both => {}
                    Self::Constant(value) => return Self::Constant(value),
                    Self::Leaf { column, choice } => {
                        match leaves.iter_mut().find(|(known, _)| *known == column) {
                            Some((_, known)) => known.push(choice),
                            None => leaves.push((column, vec![choice])),
                        }
                    }
                    other => all.push(other),
                }
            }
        }
        for (column, choices) in leaves {
            match Self::leaf(column, Choice::joined(&choices, both), columns) {
                Self::Constant(value) if value == both => {}
                Self::Constant(value) => return Self::Constant(value),
                leaf => all.push(leaf),
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

    /// Returns whether the formula is true of a row that has nothing in any column. A line that is not a
    /// record is such a row.
    pub fn has_missing(&self) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Leaf { choice, .. } => choice.has_missing(),
            Self::And(all) => all.iter().all(Self::has_missing),
            Self::Or(all) => all.iter().any(Self::has_missing),
        }
    }
}

/// The number of a test's column, and the choice on that column.
pub fn choice(test: &LogicalExpr, columns: &[Column]) -> Result<(usize, Choice), Diagnostic> {
    let (subject, condition) = match &test.kind {
        LogicalExprKind::Comparison(comparison) => match &comparison.right.kind {
            ComparableKind::Literal(literal) => (&comparison.left, Ok((comparison.op, literal))),
            _ => return Err(not_of_column(test)),
        },
        LogicalExprKind::Value(of) => (&of.subject, Err(&**of)),
        _ => return Err(not_of_column(test)),
    };
    let ComparableKind::Column(name) = &subject.kind else {
        return Err(not_of_column(test));
    };
    let at = find(name, columns)?;
    let column = &columns[at];
    let beside = |literal: &Literal| endpoints(literal, column.kind, &column.name);
    let is_not = |not: bool, values: Ranges| if not { values.complement() } else { values };
    let choice = match condition {
        Ok((op, literal)) => {
            let (before, behind) = beside(literal)?;
            Choice::of_values(Ranges::new(match op {
                ComparisonOp::Eq => vec![(before, behind)],
                ComparisonOp::Ne => vec![(Endpoint::Start, before), (behind, Endpoint::End)],
                ComparisonOp::Lt => vec![(Endpoint::Start, before)],
                ComparisonOp::Le => vec![(Endpoint::Start, behind)],
                ComparisonOp::Gt => vec![(behind, Endpoint::End)],
                ComparisonOp::Ge => vec![(before, Endpoint::End)],
            }))
        }
        Err(ValueTest { not, kind, .. }) => match kind {
            ValueTestKind::Between(least, greatest) => {
                let ((before, _), (_, behind)) = (beside(least)?, beside(greatest)?);
                Choice::of_values(is_not(*not, Ranges::new(vec![(before, behind)])))
            }
            ValueTestKind::In(values) => {
                let values = values.iter().map(beside).collect::<Result<_, _>>()?;
                Choice::of_values(is_not(*not, Ranges::new(values)))
            }
            ValueTestKind::Is(state) => {
                let choice = Choice::of_state(*state);
                if *not { choice.complement() } else { choice }
            }
        },
    };
    Ok((at, choice))
}

/// The error for a test of a path, which an index does not decide.
fn not_of_column(test: &LogicalExpr) -> Diagnostic {
    let message = "expected a test of a column: an index has the values of its columns only";
    let error = Diagnostic::new(DiagnosticKind::UnexpectedToken, test.span, message);
    error.with_help("tests of paths read the records: `warpath query PATH FILE --where EXPR`")
}

/// The number of the column with a name.
fn find(name: &ColumnName, columns: &[Column]) -> Result<usize, Diagnostic> {
    /// The most names that a message lists.
    const LISTED: usize = 20;
    /// The most edits between a name and a suggested name.
    const NEAR: usize = 2;
    if let Some(at) = columns.iter().position(|column| column.name == name.name) {
        return Ok(at);
    }
    let written = |name: &str| ColumnName { name: name.to_owned(), span: Default::default() }.to_string();
    let message = format!("there is no column {}", quote(&name.name));
    let error = Diagnostic::new(DiagnosticKind::UnknownColumn, name.span, message);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let near = names
        .iter()
        .filter(|_| quotable(&name.name))
        .map(|known| (distance(&known.to_lowercase(), &name.name.to_lowercase()), *known))
        .filter(|(edits, known)| *edits <= NEAR && *edits < known.chars().count())
        .min_by_key(|(edits, _)| *edits);
    let listed: Vec<String> = names.iter().take(LISTED).map(|name| written(name)).collect();
    let mut listed = listed.join(", ");
    if names.len() > LISTED {
        listed.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    let listed = match names.len() {
        0 => "the index has no columns".to_owned(),
        1 => format!("the only column is {listed}"),
        _ => format!("the columns are {listed}"),
    };
    Err(error.with_help(match (near, member_path(&name.name)) {
        (Some((_, known)), _) => format!("did you mean `{}`? {listed}", written(known)),
        (None, Some(path)) => format!("{listed}; a member of the record is a path: `{path}`"),
        (None, None) => listed,
    }))
}
