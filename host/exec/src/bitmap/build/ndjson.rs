//! Columns of lines of JSON.

use std::path::Path;

use super::{ColumnSpec, LeftOut, Opened, build_parts, check_names, records_of};
use crate::engine::Engine;
use crate::stream::{Answers, Batch};
use warpath_backend::answer::Want;
use warpath_backend::bitmap::maker::BitmapMaker;
use warpath_core::error::{Error, IndexError, RecordError};
use warpath_core::pool;
use warpath_lang::program::{Program, Query};
use warpath_store::bitmap::built::Built;
use warpath_store::bitmap::column::Kind;
use warpath_store::bitmap::value::raw::Raw;

/// How many lines apart the lines are whose offsets are kept.
pub(super) const LINES: u64 = 64;

/// Builds columns of the lines of a file of newline-delimited JSON, plain, packed, gzip or zstd: a row for each line, blank and malformed ones too, in
/// one pass over it, by whatever answers the engine's queries. What a path finds is the value of the line's row; where it finds nothing, and
/// where the line is no record, the row is [`Holds::Missing`](warpath_store::bitmap::column::Holds::Missing).
///
/// What answers makes the bitmaps, too ([`bitmap_maker`](super::bitmap_maker)).
///
/// Says also which malformed records were left out, if the engine [skips](crate::engine::OnError::Skip) them. [`Built::lines`] has offsets for plain
/// and packed files alone: those of the text.
///
/// # Errors
/// [`Error::Query`] for a source that is no JSONPath; [`Error::Usage`] for one that may find several values of a record, for names that
/// are not told apart, for values that cannot be cut as is asked, and for an engine of documents; those of the input, and
/// [`IndexError::Unsettled`] where the file has been written to meanwhile; [`Error::Device`].
pub fn build_ndjson(engine: &Engine, path: &Path, specs: &[ColumnSpec]) -> Result<(Built, LeftOut), Error> {
    build_ndjson_by(&mut engine.bitmap_maker_for(path)?, engine, path, specs)
}

/// The same, with bitmaps by a maker.
///
/// # Errors
/// As for [`build_ndjson`]; [`Error::Device`] where the maker's device fails, or has no room.
pub fn build_ndjson_by(
    maker: &mut BitmapMaker,
    engine: &Engine,
    path: &Path,
    specs: &[ColumnSpec],
) -> Result<(Built, LeftOut), Error> {
    engine.wants_lines("a bitmap index is")?;
    check_names(specs)?;
    let queries = specs.iter().map(query).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(&queries)?;
    let opened = Opened::new(path)?;
    let want = Want { matches: true, records: true, ..Want::default() };
    let answers = Numbered { answers: engine.open(path)?.answers(program, want), lines: 0 };
    let parts = pool::map_source(answers, |(first, batch)| Ok::<_, Error>(Part::of(specs, first, &batch)))?;
    let stamp = opened.settled()?;
    let rows = parts.iter().map(|part| part.rows).sum();
    let len = opened.text_bytes()?;
    // Nothing but a byte order mark has no partition.
    let end = parts.last().map_or(len.unwrap_or(0).min(3), |part| part.end);
    if len.is_some_and(|len| len != end) {
        return Err(IndexError::Unsettled { input: opened.name }.into());
    }
    let records = records_of(rows, parts.iter().flat_map(|part| part.no_records.iter().copied()));
    let mut lines: Vec<u64> = Vec::new();
    if len.is_some() {
        lines.extend(parts.iter().flat_map(|part| &part.lines));
        lines.push(end);
    }
    let left_out = LeftOut {
        count: parts.iter().map(|part| part.faults).sum(),
        first: parts.iter().find_map(|part| part.first_fault.clone()),
    };
    let sources = queries.iter().map(|query| query.ast().to_string()).collect();
    let raw = parts.into_iter().map(|part| part.columns).collect();
    let columns = build_parts(maker, specs, sources, &vec![Kind::Text; specs.len()], raw)?;
    Ok((Built { rows, records, columns, lines, stamp: Some(stamp) }, left_out))
}

/// The path of a column.
fn query(spec: &ColumnSpec) -> Result<Query, Error> {
    let query = Query::compile(&spec.source)?;
    if query.is_singular() {
        return Ok(query);
    }
    Err(Error::Usage(format!(
        "column `{}`: `{}` may find several values of a record, and a column has one; a path of names and single indexes \
         finds one at most",
        spec.name, spec.source
    )))
}

/// Batches with the number of the first line of each.
struct Numbered {
    answers: Answers,
    lines: u64,
}

impl Iterator for Numbered {
    type Item = Result<(u64, Batch), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.answers.next()?.map(|batch| {
            let first = self.lines;
            self.lines += batch.pieces().map(|(_, piece)| u64::from(piece.lines)).sum::<u64>();
            (first, batch)
        }))
    }
}

/// What one partition gives.
struct Part {
    rows: u64,
    columns: Vec<Raw>,
    /// Which lines are no records, counted from the first of the input.
    no_records: Vec<u64>,
    /// Where the lines begin whose numbers are multiples of [`LINES`].
    lines: Vec<u64>,
    /// Where it ends.
    end: u64,
    faults: u64,
    first_fault: Option<RecordError>,
}

impl Part {
    fn of(specs: &[ColumnSpec], first: u64, batch: &Batch) -> Self {
        let mut columns: Vec<Raw> = specs.iter().map(|spec| Raw::new(spec.kind)).collect();
        let mut no_records = Vec::new();
        let (mut rows, mut faults) = (0_u64, 0);
        for (_, piece) in batch.pieces() {
            for (column, matches) in columns.iter_mut().zip(&piece.matches) {
                for found in matches {
                    column.missing_up_to((rows + u64::from(found.line)) as usize);
                    column.push_json(batch.match_text(piece, found));
                }
            }
            let mut next = 0;
            for record in piece.records.iter().copied().chain([piece.lines]) {
                no_records.extend((next..record).map(|line| first + rows + u64::from(line)));
                next = record + 1;
            }
            rows += u64::from(piece.lines);
            faults += piece.faults.len() as u64;
            columns.iter_mut().for_each(|column| column.missing_up_to(rows as usize));
        }
        Self {
            rows,
            columns,
            no_records,
            lines: line_starts(first, batch),
            end: batch.offset() + batch.text_bytes(),
            faults,
            first_fault: batch.skipped().next(),
        }
    }
}

fn line_starts(first: u64, batch: &Batch) -> Vec<u64> {
    let text = batch.text();
    let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|newline| newline + 1));
    let starts = (first..).zip(starts).filter(|(line, start)| line % LINES == 0 && *start < text.len());
    starts.map(|(_, start)| batch.offset() + start as u64).collect()
}
