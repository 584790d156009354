//! What an expression is answered by: a program over the bitmaps of bins, and what is left to check.
//!
//! A comparison is true of all rows of some bins, of no row of others, and *cuts* a few: those whose least and greatest value do not tell. So
//! two sets of rows are made of bins: those of which the expression is surely true, and those of which it may be. The program stores the
//! first as output 0 and the second as output 1. Rows of output 1 alone are checked against the values that are stored by `BitmapEngine`. Where no bin is
//! cut, both are the same, and there is nothing to check.
//!
//! ```text
//! followers > 1500 and lang = "en"      bins of followers: 0..=99  100..=999  1000..=4999  5000..=90000
//!                                                           none      none        cut           sure
//! possible   (1000..=4999 ∪ 5000..=90000) ∩ en
//! sure                     (5000..=90000) ∩ en
//! ```
//!
//! # What an expression means
//!
//! * A comparison, `between` and `in`, and these with `not` before the word, are true of rows that have a value of the column's kind for which
//!   they hold: `x != 5` is no more true of a row without an `x` than `x = 5` is.
//! * `not` before a whole test, or parentheses, gives all other records.
//! * Numbers are compared with integers by their exact values, and with floats as the nearest double. Texts are in the order of their UTF-8
//!   bytes. Instants are written by RFC 3339. `false` is before `true`.
//! * `is missing`, `is null`, `is other` and `is nan` ask for rows without a value ([`Holds`](warpath_store::bitmap::column::Holds)); `is value` for all others.
//! * Only records are answers: no blank line, and no malformed one that was skipped.

mod code;
pub(crate) mod formula;
mod literal;
pub(crate) mod ranges;
pub(crate) mod sets;

use std::fmt::Write as _;

use warpath_shared::bitmap::{Instr, MAX_STACK, OpCode};

use self::code::Code;
use self::formula::Formula;
use self::sets::Set;
use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, QueryError};
use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::wah::Bitmap;
use warpath_lang::expr::{Expr, ExprKind, Test, parse};
use warpath_store::bitmap::BitmapIndex;
use warpath_store::bitmap::column::Column;

/// What is known of an index when an expression is planned.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Its columns.
    pub columns: &'a [Column],
    /// How many atoms a bin's bitmap has: of a column and a bin, by their numbers.
    pub atoms: &'a dyn Fn(usize, usize) -> u64,
    /// Whether some rows are no records, and a bitmap says which.
    pub records: bool,
}

/// A bitmap that a program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operand {
    /// That of a bin.
    Bin {
        /// Its column, by its number.
        column: usize,
        /// Its number in the column.
        bin: usize,
    },
    /// That of the rows that are records.
    Records,
}

/// An expression, ready to be answered.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The bitmaps that the program reads, in the order of its numbers.
    pub bitmaps: Vec<Operand>,
    /// The program ([`check`](warpath_shared::bitmap::check) holds). Output 0 is the answer, or, if [`is_exact`](Self::is_exact) is false,
    /// the rows that are surely in it; then output 1 is those that may be in it, all of output 0 among them.
    pub program: Vec<Instr>,
    /// What is asked of rows that are not decided, if there can be any.
    pub check: Option<Formula>,
    /// The tests, from left to right.
    pub tests: Vec<PlannedTest>,
}

/// What bins say of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTest {
    /// The test, in canonical form.
    pub test: String,
    /// Its column, by its number.
    pub column: usize,
    /// How many bins the column has.
    pub bins: usize,
    /// The bins of which it is true.
    pub sure: Counted,
    /// Those that it cuts.
    pub cut: Counted,
}

/// Some bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many.
    pub bins: usize,
    /// How many rows they have together.
    pub rows: u64,
}

impl Plan {
    /// Plans an expression over the columns of an index. If an answer by bins alone will do (`approximate`), it has all rows of which the expression
    /// is true, and perhaps others that are in a bin with these. Reads nothing.
    ///
    /// # Errors
    /// [`Error::Expression`] for what is no expression, or none over these columns.
    pub fn of(index: &BitmapIndex, expression: &str, approximate: bool) -> Result<Self, Error> {
        let atoms = |column, bin| index.atoms(column, bin);
        let facts = Facts { columns: index.columns(), atoms: &atoms, records: index.has_records() };
        let planned = parse(expression).and_then(|expr| Self::new(&expr, &facts, approximate));
        planned.map_err(|error| Error::Expression(QueryError::new(expression, error)))
    }

    /// The bitmaps that the program reads, each of which is checked when it is first read, in so many threads.
    ///
    /// # Errors
    /// [`Error::Index`] where one is not as it was written. The plan must be one of this index.
    pub fn operands<'a>(&self, index: &'a BitmapIndex, threads: usize) -> Result<Vec<Bitmap<'a>>, Error> {
        let none = || Error::Internal("a plan reads records where all rows are".into());
        let of = |operand: &Operand| match operand {
            Operand::Bin { column, bin } => index.bitmap(*column, *bin),
            Operand::Records => index.records()?.ok_or_else(none),
        };
        pool::map_in(threads, self.bitmaps.iter().collect(), of).into_iter().collect()
    }

    /// Plans an expression. If an answer by bins alone will do (`approximate`), that is all rows that may be in it, and no check is
    /// planned.
    ///
    /// # Errors
    /// [`Diagnostic`] where it names a column that is not there, compares one with a literal of another kind, or needs more room than a
    /// program has.
    pub fn new(expr: &Expr, facts: &Facts<'_>, approximate: bool) -> Result<Self, Diagnostic> {
        let formula = Formula::new(expr, facts.columns)?;
        let possible = Set::new(&formula, facts, false);
        let sure = if approximate { possible.clone() } else { Set::new(&formula, facts, true) };
        let records = facts.records && formula.has_missing();
        let Some(Code { bitmaps, program }) = Code::new(&formula, [&sure, &possible], facts, records) else {
            let message =
                format!("expected an expression that needs at most {MAX_STACK} sets of rows at once");
            let error = Diagnostic::new(DiagnosticKind::TooLarge, expr.span, message);
            return Err(error.with_help("make `and` and `or` alternate less, or ask in parts"));
        };
        let check = (sure != possible).then_some(formula);
        let mut tests = Vec::new();
        each_test(expr, &mut |test| tests.push(test));
        let tests = tests.into_iter().map(|test| PlannedTest::new(test, facts)).collect::<Result<_, _>>()?;
        Ok(Self { bitmaps, program, check, tests })
    }

    /// Whether output 0 is the answer, and there is no output 1.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.check.is_none()
    }

    /// The plan as text: what bins say of each test, the bitmaps by their numbers, and the program. `columns` are those that it was
    /// planned for.
    #[must_use]
    pub fn explain(&self, columns: &[Column]) -> String {
        let mut text = String::from("tests\n");
        for PlannedTest { test, bins, sure, cut, .. } in &self.tests {
            // A string takes everything.
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
    fn new(test: &Test, facts: &Facts<'_>) -> Result<Self, Diagnostic> {
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

fn each_test<'a>(expr: &'a Expr, call: &mut impl FnMut(&'a Test)) {
    match &expr.kind {
        ExprKind::And(all) | ExprKind::Or(all) => all.iter().for_each(|of| each_test(of, call)),
        ExprKind::Not(of) => each_test(of, call),
        ExprKind::Test(test) => call(test),
    }
}
