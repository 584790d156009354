//! The plan of an expression: a program over the bitmaps of bins, and a formula that decides the remaining
//! rows.
//!
//! A comparison is true of all rows of some bins and of no row of others. It *cuts* a few bins: their least
//! and greatest values do not decide it. So bins give two sets of rows: the rows for which the expression is
//! surely true, and the rows for which it may be true. The program stores the sure rows as output 0 and the
//! possible rows as output 1.
//!
//! `BitmapEngine` checks the rows that are only in output 1 against the stored values. If no bin is cut, both
//! sets are equal, and there is nothing to check.
//!
//! ```text
//! followers > 1500 and lang = "en"      bins of followers: 0..=99  100..=999  1000..=4999  5000..=90000
//!                                                           none      none        cut           sure
//! possible   (1000..=4999 ∪ 5000..=90000) ∩ en
//! sure                     (5000..=90000) ∩ en
//! ```
//!
//! # Meaning of expressions
//!
//! * A comparison, `between` and `in` are true of rows that have a value of the column's kind for which they
//!   hold. The same is true with `not` before the word. So neither `x != 5` nor `x = 5` is true of a row
//!   without an `x`.
//! * `not` before a whole test, or before parentheses, selects all other records.
//! * A number is compared with integers by its exact value, and with floats as the nearest double. Texts are
//!   in the order of their UTF-8 bytes. Instants are written by RFC 3339. `false` is before `true`.
//! * `is missing`, `is null`, `is other` and `is nan` select rows without a value
//!   ([`Holds`](warpath_store::bitmap::column::Holds)). `is value` selects all others.
//! * Results contain records only. They contain no blank line, and no malformed line that was skipped.

mod code;
pub(crate) mod formula;
mod literal;
mod possible;
pub(crate) mod ranges;
pub(crate) mod sets;

use std::fmt::Write as _;

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, QueryError};
use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::wah::Bitmap;
use warpath_lang::jsonpath::{LogicalExpr, LogicalExprKind};
use warpath_lang::predicate::Predicate;
use warpath_shared::bitmap::{Instr, MAX_STACK, OpCode};
use warpath_store::bitmap::BitmapIndex;
use warpath_store::bitmap::column::Column;

use self::code::Code;
use self::formula::Formula;
use self::sets::Set;

/// The facts about an index that planning needs.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The columns of the index.
    pub columns: &'a [Column],
    /// The number of atoms of a bin's bitmap, by the numbers of the column and the bin.
    pub atoms: &'a dyn Fn(usize, usize) -> u64,
    /// Set if some rows are not records. The index then has a bitmap of the records.
    pub records: bool,
}

/// A bitmap that a program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operand {
    /// The bitmap of a bin.
    Bin {
        /// The number of the column.
        column: usize,
        /// The number of the bin in the column.
        bin: usize,
    },
    /// The bitmap of the rows that are records.
    Records,
}

/// An expression that is ready to be evaluated.
///
/// ```
/// use warpath::bitmap::{BitmapEngine, BitmapIndex, ColumnSpec, Plan, build};
/// use warpath::Engine;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tweets.ndjson");
/// # std::fs::write(&path, "{\"n\":5,\"id\":1}\n{\"n\":6,\"id\":2}\n{\"n\":7,\"id\":3}\n")?;
/// let engine = Engine::builder().build()?;
/// # #[cfg(any())]
/// let path = Path::new("tweets.ndjson");
/// let (built, _) = build(&engine, &path, &[ColumnSpec::new("n", "$.n")])?;
/// let index = BitmapIndex::from_built(built)?;
/// let plan = Plan::of(&index, &"n in (5, 7)".parse()?, false)?;
/// assert_eq!(BitmapEngine::cpu().answer(&index, &plan, false)?.count, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    /// The bitmaps that the program reads. The program refers to them by index.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub bitmaps: Vec<Operand>,
    /// The program, for which [`check`](warpath_shared::bitmap::check) holds.
    ///
    /// If [`is_exact`](Self::is_exact), output 0 is the result. Otherwise, output 0 is the rows that are
    /// surely in the result, and output 1 is the rows that may be in it. Output 1 contains output 0.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub program: Vec<Instr>,
    /// The formula that decides undecided rows, if there can be any.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub check: Option<Formula>,
    /// The tests, from left to right.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub tests: Vec<PlannedTest>,
}

/// The decision of bins about one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTest {
    /// The test, in canonical form.
    pub test: String,
    /// The number of the test's column.
    pub column: usize,
    /// The number of bins of the column.
    pub bins: usize,
    /// The bins for all of whose rows the test is true.
    pub sure: Counted,
    /// The bins that the test cuts.
    pub cut: Counted,
}

/// The size of a set of bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The number of bins.
    pub bins: usize,
    /// The number of rows of all these bins.
    pub rows: u64,
}

impl Plan {
    /// Plans a predicate over the columns of an index. With `approximate`, bins alone decide the result. It
    /// then has all rows for which the predicate is true, and perhaps other rows of the same bins. The
    /// function reads no bitmap.
    ///
    /// # Errors
    /// [`Error::Expression`] if the predicate is not one over these columns.
    pub fn of(index: &BitmapIndex, predicate: &Predicate, approximate: bool) -> Result<Self, Error> {
        let atoms = |column, bin| index.atoms(column, bin);
        let facts = Facts { columns: index.columns(), atoms: &atoms, records: index.has_records() };
        let planned = Self::new(predicate.expr(), &facts, approximate);
        planned.map_err(|error| Error::Expression(QueryError::new(predicate.text(), error)))
    }

    /// Plans the rows for which an expression about paths may be true, by the columns that have the values of
    /// these paths. Rows that are not records are no such rows. Returns `None` if the columns decide nothing.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn possible(index: &BitmapIndex, expr: &LogicalExpr) -> Option<Self> {
        let atoms = |column, bin| index.atoms(column, bin);
        let facts = Facts { columns: index.columns(), atoms: &atoms, records: index.has_records() };
        let formula = Formula::possible(expr, facts.columns);
        if formula == Formula::Constant(true) {
            return None;
        }
        Self::of_formula(formula, &facts, false)
    }

    /// Reads the program's bitmaps in `threads` threads. Each bitmap is checked against its checksum and for
    /// its form when it is first read.
    ///
    /// # Errors
    /// [`Error::Index`] if a bitmap is damaged. The plan must be for this index.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn operands<'a>(&self, index: &'a BitmapIndex, threads: usize) -> Result<Vec<Bitmap<'a>>, Error> {
        let none = || Error::Internal("a plan reads the bitmap of records, and the index has none".into());
        let of = |operand: &Operand| match operand {
            Operand::Bin { column, bin } => index.bitmap(*column, *bin),
            Operand::Records => index.records()?.ok_or_else(none),
        };
        pool::map_in(threads, self.bitmaps.iter().collect(), of).into_iter().collect()
    }

    /// Plans an expression. With `approximate`, the result is all rows that may be in it, and no check is
    /// planned.
    ///
    /// # Errors
    /// [`Diagnostic`] if the expression names an unknown column, compares a column with a literal of another
    /// kind, or needs more stack than a program has.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn new(expr: &LogicalExpr, facts: &Facts<'_>, approximate: bool) -> Result<Self, Diagnostic> {
        let Some(planned) = Self::of_formula(Formula::new(expr, facts.columns)?, facts, approximate) else {
            let message =
                format!("expected an expression that needs at most {MAX_STACK} sets of rows at once");
            let error = Diagnostic::new(DiagnosticKind::TooLarge, expr.span, message);
            return Err(error.with_help("alternate `and` and `or` less often, or split the expression"));
        };
        let mut tests = Vec::new();
        each_test(expr, &mut |test| tests.push(test));
        let tests = tests.into_iter().map(|test| PlannedTest::new(test, facts)).collect::<Result<_, _>>()?;
        Ok(Self { tests, ..planned })
    }

    /// Plans a formula; `None` if its program needs more stack than a program has.
    fn of_formula(formula: Formula, facts: &Facts<'_>, approximate: bool) -> Option<Self> {
        let possible = Set::new(&formula, facts, false);
        let sure = if approximate { possible.clone() } else { Set::new(&formula, facts, true) };
        let records = facts.records && formula.has_missing();
        let Code { bitmaps, program } = Code::new(&formula, [&sure, &possible], facts, records)?;
        let check = (sure != possible).then_some(formula);
        Some(Self { bitmaps, program, check, tests: Vec::new() })
    }

    /// Returns whether output 0 is the result, so that there is no output 1.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.check.is_none()
    }

    /// The plan as text: the decision of bins about each test, the numbered bitmaps, and the program.
    /// `columns` are the columns that the plan was made for.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn explain(&self, columns: &[Column]) -> String {
        let mut text = String::from("tests\n");
        for PlannedTest { test, bins, sure, cut, .. } in &self.tests {
            // Writing to a string does not fail.
            let _ = write!(text, "  {test}\n    of {bins} bins, true of {} ({} rows)", sure.bins, sure.rows);
            let _ = match cut.bins {
                0 => writeln!(text, ", none cut"),
                cuts => writeln!(text, ", {cuts} cut ({} rows)", cut.rows),
            };
        }
        text.push_str("\nbitmaps\n");
        for (number, operand) in self.bitmaps.iter().enumerate() {
            let _ = match operand {
                Operand::Records => writeln!(text, "{number:>6}  records"),
                Operand::Bin { column, bin } => match columns.get(*column) {
                    Some(Column { name, bins, .. }) if *bin < bins.len() => {
                        writeln!(text, "{number:>6}  {name}: {}", bins[*bin])
                    }
                    _ => writeln!(text, "{number:>6}  column {column}, bin {bin}"),
                },
            };
        }
        text.push_str("\nprogram\n");
        for (at, instr) in self.program.iter().enumerate() {
            let Instr { first, count, .. } = *instr;
            let _ = match instr.op() {
                Some(OpCode::Any) if count == 1 => writeln!(text, "{at:>6}  any        {first}"),
                Some(OpCode::Any) => writeln!(text, "{at:>6}  any        {first}..={}", first + count - 1),
                Some(OpCode::Push) => writeln!(text, "{at:>6}  push"),
                Some(OpCode::And) => writeln!(text, "{at:>6}  and"),
                Some(OpCode::Or) => writeln!(text, "{at:>6}  or"),
                Some(OpCode::AndNot) => writeln!(text, "{at:>6}  and not"),
                Some(OpCode::Not) => writeln!(text, "{at:>6}  not"),
                Some(OpCode::Store) if first == 0 && self.is_exact() => {
                    writeln!(text, "{at:>6}  store      answer")
                }
                Some(OpCode::Store) if first == 0 => writeln!(text, "{at:>6}  store      sure"),
                Some(OpCode::Store) => writeln!(text, "{at:>6}  store      possible"),
                Some(OpCode::SkipNone) => writeln!(text, "{at:>6}  skip none  → {first}"),
                Some(OpCode::SkipAll) => writeln!(text, "{at:>6}  skip all   → {first}"),
                None => writeln!(text, "{at:>6}  ?"),
            };
        }
        text
    }
}

impl PlannedTest {
    fn new(test: &LogicalExpr, facts: &Facts<'_>) -> Result<Self, Diagnostic> {
        let (column, choice) = formula::choice(test, facts.columns)?;
        let bins = &facts.columns[column].bins;
        let (all, cut) = choice.bins(bins);
        let count = |of: &mut dyn Iterator<Item = usize>| {
            of.fold(Counted::default(), |all, bin| Counted {
                bins: all.bins + 1,
                rows: all.rows + bins[bin].rows,
            })
        };
        let (sure, cut) = (count(&mut all.into_iter().flatten()), count(&mut cut.into_iter()));
        Ok(Self { test: test.to_string(), column, bins: bins.len(), sure, cut })
    }
}

fn each_test<'a>(expr: &'a LogicalExpr, call: &mut impl FnMut(&'a LogicalExpr)) {
    match &expr.kind {
        LogicalExprKind::And(all) | LogicalExprKind::Or(all) => all.iter().for_each(|of| each_test(of, call)),
        LogicalExprKind::Not(of) => each_test(of, call),
        _ => call(expr),
    }
}
