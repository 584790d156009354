//! Predicates over columns of an index and paths of the records together.
//!
//! The index decides the tests of columns, exactly. What is left to the text depends on the predicate:
//!
//! ```text
//! followers > 1500 and $.lang == "en"                        read followers > 1500, with $.lang == "en"
//!
//! followers > 1500 and ($.lang == "en" or verified = true)   two sets, before any record is read:
//! possible   followers > 1500                                every test of a path may be true
//! sure       followers > 1500 ∩ verified = true              every test of a path may be false
//! checked    possible − sure, for $.lang == "en"
//! ```

use std::path::Path;

use warpath_answer::answer::Want;
use warpath_core::error::{Error, RecordError};
use warpath_core::rows::RowSet;
use warpath_cpu::bitmap::plan::Plan;
use warpath_lang::jsonpath::LogicalExpr;
use warpath_lang::predicate::{Parts, Predicate};
use warpath_lang::program::{Program, Query};
use warpath_shared::units::LineIx;
use warpath_store::bitmap::index::BitmapIndex;

use super::BitmapEngine;
use crate::engine::{Engine, OnError};
use crate::input::Source;

/// The lines of a file that decide about a predicate: the result of [`BitmapEngine::lines`].
///
/// ```
/// use warpath::bitmap::{BitmapEngine, BitmapIndex, ColumnSpec, build};
/// use warpath::{Engine, Predicate, Query};
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
/// // The index decides about `n`, and the text about `$.id`.
/// let predicate = Predicate::parse("n >= 6 && $.id < 3")?;
/// let lines = BitmapEngine::cpu().lines(&index, &engine, path.as_ref(), &predicate, false)?;
/// let mut input = engine.open(&path)?.only(&index, lines.rows.unwrap())?;
/// if let Some(rest) = &lines.rest {
///     input = input.matching(rest);
/// }
/// assert_eq!(input.query(&Query::compile("$.id")?)?.next().unwrap()?.text(), "2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Lines {
    /// The lines to read; `None` for all lines.
    pub rows: Option<RowSet>,
    /// The condition on the records of these lines: the query evaluates it. `None` if all of them match.
    pub rest: Option<Predicate>,
    /// The number of lines that were checked: against stored values, or by their text.
    pub checked: u64,
    /// Under [`OnError::Skip`], the number of malformed records among the lines that were checked by their
    /// text. None of them is read again.
    pub skipped: u64,
    /// The first malformed record that was skipped.
    pub first_skipped: Option<RecordError>,
    /// Under [`OnError::Fail`], the malformed record at which the results end, and its line. No later line is
    /// read.
    pub fault: Option<(RecordError, Vec<u8>)>,
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
    /// The lines of a file that have to be read for a predicate. The predicate's columns are those of the
    /// file's index.
    ///
    /// Tests of paths that hold for all results, such as `$.b` in `a > 1 and $.b`, are left to the query
    /// ([`Lines::rest`]). `engine` evaluates other tests of paths, such as that in `a > 1 or $.b`, on the
    /// lines that the index leaves undecided. With `approximate`, bins alone decide the tests of columns.
    ///
    /// # Errors
    /// As for [`Plan::of`], [`answer`](Self::answer) and
    /// [`Input::only`](crate::operators::Input::only). Malformed records are no error here
    /// ([`Lines::skipped`], [`Lines::fault`]).
    pub fn lines(
        &mut self,
        index: &BitmapIndex,
        engine: &Engine,
        file: &Path,
        predicate: &Predicate,
        approximate: bool,
    ) -> Result<Lines, Error> {
        let (parts, rest) = predicate.parts().without_rest();
        let mut lines = Lines { rest: rest.map(|rest| predicate.part(rest)), ..Lines::default() };
        let Some(parts) = parts else {
            index.check(file)?;
            return Ok(lines);
        };
        let mut known = Vec::new();
        let (mut rows, possible) = bounds(&parts, index.rows(), &mut |part, expr| match part {
            Parts::Columns(_) => {
                let plan = Plan::of(index, &predicate.part(expr.clone()), approximate)?;
                let found = self.answer(index, &plan, true)?;
                lines.checked += found.checked;
                known.push(found.rows.clone());
                Ok((found.rows.clone(), found.rows))
            }
            _ => Ok((RowSet::none(index.rows()), RowSet::all(index.rows()))),
        })?;
        if let Parts::Columns(_) = &parts {
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
        let mut read = Read { engine: engine.skipping(), malformed: RowSet::none(index.rows()), first: None };
        let (mut exact, _) = bounds(&parts, index.rows(), &mut |part, expr| {
            let rows = match part {
                Parts::Columns(_) => known.next().unwrap_or_default(),
                _ => read.matching(index, file, &predicate.part(expr.clone()), &undecided)?,
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
                lines.fault = Some(fault);
            }
            (_, first) => {
                lines.skipped = read.malformed.count();
                lines.first_skipped = first.map(|(error, _)| error);
            }
        }
        lines.rows = Some(rows);
        Ok(lines)
    }
}

/// The evaluation of tests of paths on some lines.
struct Read {
    /// The engine, which skips malformed records.
    engine: Engine,
    malformed: RowSet,
    /// The first malformed record, and its line.
    first: Option<(RecordError, Vec<u8>)>,
}

impl Read {
    /// The lines among some lines of a file for which a predicate of paths is true.
    fn matching(
        &mut self,
        index: &BitmapIndex,
        file: &Path,
        predicate: &Predicate,
        among: &RowSet,
    ) -> Result<RowSet, Error> {
        let mut rows = RowSet::none(among.rows());
        if among.count() == 0 {
            return Ok(rows);
        }
        let input = self.engine.input(vec![Source::File(file.to_owned())]).only(index, among.clone())?;
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
