//! Predicates over columns of an index and paths of the records together.
//!
//! The index decides the tests of columns, exactly. Before any record is read, tests of paths may be true or
//! false, which leaves two sets: the rows for which the predicate is surely true, and those for which it may
//! be. Paths are evaluated only on the lines between the two sets.
//!
//! ```text
//! followers > 1500 and ($.lang == "en" or verified = true)
//! possible   followers > 1500
//! sure       followers > 1500 ∩ verified = true
//! read       possible − sure, for $.lang == "en"
//! ```

use std::path::Path;

use warpath_backend::answer::Want;
use warpath_backend::bitmap::plan::Plan;
use warpath_core::error::Error;
use warpath_core::rows::RowSet;
use warpath_core::wah::Bitmap;
use warpath_lang::jsonpath::{LogicalExpr, LogicalExprKind};
use warpath_lang::predicate::{Predicate, column_of};
use warpath_lang::program::{Program, Query};
use warpath_shared::wah::{ALL, CHUNK_ROWS, chunks_for};
use warpath_store::bitmap::index::BitmapIndex;

use super::{Answer, BitmapEngine};
use crate::engine::Engine;
use crate::input::Source;

/// A predicate in parts of columns alone and of paths alone.
enum Parts {
    Columns(LogicalExpr),
    Paths(LogicalExpr),
    /// All of the parts (`true`), or any of them.
    Joined(bool, Vec<Self>),
    Not(Box<Self>),
}

/// A set of rows, in chunks of 63.
type Rows = Vec<u64>;
/// The rows for which a predicate is surely true, and those for which it may be.
type Bounds = Result<(Rows, Rows), Error>;

impl Parts {
    fn of(expr: &LogicalExpr) -> Self {
        let (all, both) = match &expr.kind {
            LogicalExprKind::And(all) => (all, true),
            LogicalExprKind::Or(all) => (all, false),
            LogicalExprKind::Not(of) => {
                return match Self::of(of) {
                    Self::Columns(_) => Self::Columns(expr.clone()),
                    Self::Paths(_) => Self::Paths(expr.clone()),
                    mixed => Self::Not(Box::new(mixed)),
                };
            }
            _ if column_of(expr).is_some() => return Self::Columns(expr.clone()),
            _ => return Self::Paths(expr.clone()),
        };
        let (mut columns, mut paths, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for of in all {
            match Self::of(of) {
                Self::Columns(of) => columns.push(of),
                Self::Paths(of) => paths.push(of),
                mixed => parts.push(mixed),
            }
        }
        let joined = |mut of: Vec<LogicalExpr>| {
            let last = of.pop()?;
            if of.is_empty() {
                return Some(last);
            }
            of.push(last);
            let kind = if both { LogicalExprKind::And(of) } else { LogicalExprKind::Or(of) };
            Some(LogicalExpr { kind, span: expr.span })
        };
        parts.extend(joined(columns).map(Self::Columns));
        parts.extend(joined(paths).map(Self::Paths));
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => {
                parts.extend(last);
                Self::Joined(both, parts)
            }
        }
    }

    /// The rows for which the predicate is surely true, and those for which it may be. `of` has both sets for
    /// a part.
    fn rows(&self, chunks: usize, of: &mut dyn FnMut(&Self, &LogicalExpr) -> Bounds) -> Bounds {
        let not = |rows: Rows| rows.into_iter().map(|chunk| !chunk & ALL).collect();
        match self {
            Self::Columns(expr) | Self::Paths(expr) => of(self, expr),
            Self::Not(part) => part.rows(chunks, of).map(|(sure, possible)| (not(possible), not(sure))),
            Self::Joined(both, parts) => {
                let start = vec![if *both { ALL } else { 0 }; chunks];
                let (mut sure, mut possible) = (start.clone(), start);
                for part in parts {
                    let (of_sure, of_possible) = part.rows(chunks, of)?;
                    for (to, from) in [(&mut sure, of_sure), (&mut possible, of_possible)] {
                        for (to, from) in to.iter_mut().zip(from) {
                            *to = if *both { *to & from } else { *to | from };
                        }
                    }
                }
                Ok((sure, possible))
            }
        }
    }
}

impl BitmapEngine {
    /// The lines of a file for which a predicate is true. Its columns are those of the file's index, and
    /// its paths are evaluated by `engine`, on the lines that the index leaves undecided. With `approximate`,
    /// bins alone decide the tests of columns. A predicate without paths reads no line.
    ///
    /// # Errors
    /// As for [`Plan::of`], [`answer`](Self::answer) and
    /// [`Input::only`](crate::operators::Input::only), and those of malformed lines among the lines that are
    /// read.
    pub fn matching(
        &mut self,
        index: &BitmapIndex,
        engine: &Engine,
        file: &Path,
        predicate: &Predicate,
        approximate: bool,
    ) -> Result<Answer, Error> {
        let parts = Parts::of(predicate.expr());
        if let Parts::Columns(_) = &parts {
            return self.answer(index, &Plan::of(index, predicate, approximate)?, true);
        }
        let chunks = chunks_for(index.rows()) as usize;
        let mut checked = 0;
        let mut known = Vec::new();
        let (mut sure, mut possible) = parts.rows(chunks, &mut |part, expr| match part {
            Parts::Columns(_) => {
                let plan = Plan::of(index, &predicate.part(expr.clone()), approximate)?;
                let answer = self.answer(index, &plan, true)?;
                checked += answer.checked;
                known.push(answer.chunks.clone());
                Ok((answer.chunks.clone(), answer.chunks))
            }
            _ => Ok((vec![0; chunks], vec![ALL; chunks])),
        })?;
        let records = records(index)?;
        for ((sure, possible), records) in sure.iter_mut().zip(&mut possible).zip(&records) {
            *sure &= records;
            *possible &= records;
        }
        let undecided: Rows = possible.iter().zip(&sure).map(|(possible, sure)| possible & !sure).collect();
        let mut known = known.into_iter();
        let (exact, _) = parts.rows(chunks, &mut |part, expr| {
            let rows = match part {
                Parts::Columns(_) => known.next().unwrap_or_default(),
                _ => lines(index, engine, file, &predicate.part(expr.clone()), &undecided)?,
            };
            Ok((rows.clone(), rows))
        })?;
        let chunks: Rows = (exact.iter().zip(&undecided).zip(&sure))
            .map(|((exact, undecided), sure)| exact & undecided | sure)
            .collect();
        let count = |rows: &[u64]| rows.iter().map(|chunk| u64::from(chunk.count_ones())).sum::<u64>();
        Ok(Answer { rows: count(&chunks), checked: checked + count(&undecided), chunks })
    }
}

/// The rows that are records.
fn records(index: &BitmapIndex) -> Result<Rows, Error> {
    let all = |bitmap: Option<Bitmap<'_>>| match bitmap {
        Some(records) => RowSet::from_wah(records.wah),
        None => RowSet::all(index.rows()),
    };
    Ok(all(index.records()?).to_chunks())
}

/// The lines among some lines of a file for which a predicate of paths is true.
fn lines(
    index: &BitmapIndex,
    engine: &Engine,
    file: &Path,
    predicate: &Predicate,
    among: &[u64],
) -> Result<Rows, Error> {
    let mut rows = vec![0; among.len()];
    if among.iter().all(|chunk| *chunk == 0) {
        return Ok(rows);
    }
    let input = engine
        .input(vec![Source::File(file.to_owned())])
        .only(index, RowSet::from_chunks(among, index.rows()))?;
    let program = Program::new(&[Query::compile("$")?])?;
    let want = Want { records: true, ..Want::default() };
    for batch in input.matching(predicate).answers(program, want) {
        let batch = batch?;
        for (first, piece) in batch.pieces() {
            for line in &piece.records {
                let row = batch.line(first + u64::from(*line));
                if let Some(chunk) = rows.get_mut((row / u64::from(CHUNK_ROWS)) as usize) {
                    *chunk |= 1 << (row % u64::from(CHUNK_ROWS));
                }
            }
        }
    }
    Ok(rows)
}
