//! The lines that a bitmap index leaves for a condition, as a plan says.

use warpath_answer::answer::Want;
use warpath_core::error::{Error, RecordError};
use warpath_core::rows::RowSet;
use warpath_cpu::bitmap::plan::Plan;
use warpath_lang::jsonpath::LogicalExpr;
use warpath_lang::predicate::{Parts, Predicate};
use warpath_lang::program::{Program, Query};
use warpath_plan::Prune;
use warpath_shared::units::LineIx;
use warpath_store::bitmap::index::BitmapIndex;

use super::BitmapEngine;
use crate::engine::{Engine, OnError};
use crate::index_file::CheckedIndex;
use crate::input::{Selection, Source};
use crate::stream::Early;

/// The lines that have to be read for a condition.
#[derive(Debug, Default)]
pub(crate) struct SelectedLines {
    /// The lines; `None` for all lines.
    pub rows: Option<RowSet>,
    /// The number of lines that were checked: against stored values, or by their text.
    pub checked: u64,
    /// Malformed records among the lines that were checked by their text. None of them is read again.
    pub early: Early,
    /// The number of lines for which the condition is true, and which need not be read.
    pub known: u64,
}

/// The columns of an index, the index, and the inputs that it is of.
#[derive(Clone, Copy)]
pub(crate) struct Indexed<'a> {
    pub bins: &'a BitmapIndex,
    pub checked: &'a CheckedIndex,
    pub sources: &'a [Source],
}

/// The rows for which a predicate is surely true, and those for which it may be.
type Bounds = Result<(RowSet, RowSet), Error>;

/// The rows for which the predicate is surely true, and those for which it may be. `of` has both sets for
/// a part.
fn bounds(parts: &Parts, rows: u64, of: &mut dyn FnMut(&Parts, &LogicalExpr) -> Bounds) -> Bounds {
    match parts {
        Parts::Columns(expr) | Parts::Paths(expr) => of(parts, expr),
        Parts::Joined(both, parts) => {
            let start = if *both { RowSet::all(rows) } else { RowSet::none(rows) };
            let (mut sure, mut possible) = (start.clone(), start);
            for part in parts {
                let of_part = bounds(part, rows, of)?;
                for (to, from) in [(&mut sure, of_part.0), (&mut possible, of_part.1)] {
                    if *both {
                        *to &= &from;
                    } else {
                        *to |= &from;
                    }
                }
            }
            Ok((sure, possible))
        }
    }
}

impl BitmapEngine {
    /// The lines of a file that have to be read for a condition. `engine` evaluates the tests of paths that
    /// must be known before: on the lines that the index leaves undecided.
    ///
    /// # Errors
    /// As for [`Plan::of`] and [`answer`](Self::answer), and those of the input. Malformed records are no
    /// error here ([`SelectedLines::early`]).
    pub(crate) fn lines(
        &mut self,
        of: Indexed<'_>,
        engine: &Engine,
        condition: &Predicate,
        prune: &Prune,
    ) -> Result<SelectedLines, Error> {
        let index = of.bins;
        let mut lines = match &prune.parts {
            Some(parts) => self.decided(of, engine, condition, parts)?,
            None => SelectedLines::default(),
        };
        if let Some(possible) = &prune.possible {
            let found = self.answer(index, possible, true)?;
            lines.checked += found.checked;
            let rows = lines.rows.get_or_insert_with(|| RowSet::all(index.rows()));
            *rows &= &found.rows;
            // Malformed lines are reported as without an index, if no column is tested.
            if prune.parts.is_none()
                && let Some(records) = index.records()?
            {
                let mut others = RowSet::all(index.rows());
                others -= &RowSet::from_wah(records.wah);
                *rows |= &others;
            }
        }
        Ok(lines)
    }

    /// Takes the lines out for which the condition is known to be true, where results are numbers of records.
    ///
    /// # Errors
    /// The errors of [`answer`](Self::answer).
    pub(crate) fn count(
        &mut self,
        index: &BitmapIndex,
        prune: &Prune,
        lines: &mut SelectedLines,
    ) -> Result<(), Error> {
        let Some(rows) = &mut lines.rows else { return Ok(()) };
        let mut sure = match (&prune.parts, &prune.rest) {
            // The rows are those of the condition.
            (Some(_), None) => rows.clone(),
            (None, Some(rest)) => {
                let Some(others) = Plan::possible(index, &rest.expr().clone().negated()) else {
                    return Ok(());
                };
                let others = self.answer(index, &others, true)?;
                lines.checked += others.checked;
                let mut sure = RowSet::all(index.rows());
                sure -= &others.rows;
                sure
            }
            _ => return Ok(()),
        };
        if let Some(records) = index.records()? {
            sure &= &RowSet::from_wah(records.wah);
        }
        lines.known = sure.count();
        *rows -= &sure;
        Ok(())
    }

    /// The lines for which the tests of columns, and those of paths beside them, are true.
    fn decided(
        &mut self,
        of: Indexed<'_>,
        engine: &Engine,
        condition: &Predicate,
        parts: &Parts,
    ) -> Result<SelectedLines, Error> {
        let index = of.bins;
        let (mut lines, mut known) = (SelectedLines::default(), Vec::new());
        let (mut rows, possible) = bounds(parts, index.rows(), &mut |part, expr| match part {
            Parts::Columns(_) => {
                let plan = Plan::of(index, &condition.part(expr.clone()), false)?;
                let found = self.answer(index, &plan, true)?;
                lines.checked += found.checked;
                known.push(found.rows.clone());
                Ok((found.rows.clone(), found.rows))
            }
            _ => Ok((RowSet::none(index.rows()), RowSet::all(index.rows()))),
        })?;
        if let Parts::Columns(_) = parts {
            lines.rows = Some(rows);
            return Ok(lines);
        }
        let mut undecided = possible;
        if let Some(records) = index.records()? {
            let records = RowSet::from_wah(records.wah);
            rows &= &records;
            undecided &= &records;
        }
        undecided -= &rows;
        let mut known = known.into_iter();
        let mut read =
            PathEvaluation { engine: engine.skipping(), malformed: RowSet::none(index.rows()), first: None };
        let (mut exact, _) = bounds(parts, index.rows(), &mut |part, expr| {
            let rows = match part {
                Parts::Columns(_) => known.next().unwrap_or_default(),
                _ => read.matching(of, &condition.part(expr.clone()), &undecided)?,
            };
            Ok((rows.clone(), rows))
        })?;
        exact &= &undecided;
        exact -= &read.malformed;
        rows |= &exact;
        lines.checked += undecided.count();
        match (engine.on_error(), read.first) {
            (OnError::Fail, Some(fault)) => {
                rows.truncate(fault.0.line - 1);
                lines.early.fault = Some(fault);
            }
            (_, first) => {
                lines.early.skipped = read.malformed.count();
                lines.early.first = first.map(|(error, _)| error);
            }
        }
        lines.rows = Some(rows);
        Ok(lines)
    }
}

/// The evaluation of tests of paths on some lines.
struct PathEvaluation {
    /// The engine, which skips malformed records.
    engine: Engine,
    malformed: RowSet,
    /// The first malformed record, and its line.
    first: Option<(RecordError, Vec<u8>)>,
}

impl PathEvaluation {
    /// The lines among some lines of a file for which a predicate of paths is true.
    fn matching(&mut self, of: Indexed<'_>, predicate: &Predicate, among: &RowSet) -> Result<RowSet, Error> {
        let mut rows = RowSet::none(among.rows());
        if among.count() == 0 {
            return Ok(rows);
        }
        // A part of a file is restricted later.
        let selection = Selection::new(of.checked.lines(Some(among))?, among.clone(), false, &[])?;
        let input = self.engine.input(files(of.sources)).selecting(selection);
        let program = Program::new(&[Query::compile("$")?])?;
        let want = Want::default().records(true);
        for batch in input.matching(predicate).answers(program, want) {
            let batch = batch?;
            for (first, piece) in batch.pieces() {
                let row = |line: LineIx| batch.line(first + u64::from(line));
                piece.records.iter().for_each(|line| rows.insert(row(*line)));
                piece.faults.iter().for_each(|fault| self.malformed.insert(row(fault.line)));
            }
            for error in batch.skipped().take(1) {
                if self.first.as_ref().is_none_or(|(first, _)| error.line < first.line) {
                    let line = batch.line_of(&error).to_owned();
                    self.first = Some((error, line));
                }
            }
        }
        Ok(rows)
    }
}

/// The files of some sources.
fn files(sources: &[Source]) -> Vec<Source> {
    let file = |source: &Source| match source {
        Source::File(path) | Source::Part(path, _) => Some(Source::File(path.clone())),
        _ => None,
    };
    sources.iter().filter_map(file).collect()
}
