//! Columns of the values of lines.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use warpath_answer::answer::Want;
use warpath_core::error::{Error, RecordError};
use warpath_cpu::bitmap::maker::BitmapMaker;
use warpath_lang::program::{Program, Query};
use warpath_store::bitmap::built::Built;
use warpath_store::bitmap::column::Kind;
use warpath_store::bitmap::value::raw::Raw;

use super::{ColumnSpec, LeftOut, Opened, build_parts, check_names, records_of};
use crate::engine::Engine;
use crate::stream::{Batch, Digest, PieceResults};

/// Builds columns of the lines of a file of newline-delimited JSON, plain or compressed. There is one
/// row for each line, blank and malformed ones too. The file is read once, and the backend of the engine's
/// queries evaluates it. The match of a path is the value of the line's row. Without a match, or if the line
/// is not a record, the row is [`Holds::Missing`](warpath_store::bitmap::column::Holds::Missing).
///
/// `maker` makes the bitmaps.
///
/// Returns also the malformed records that were left out, if the engine [skips](crate::engine::OnError::Skip)
/// them.
///
/// # Errors
/// * [`Error::Query`] for a source that is not a JSONPath.
/// * [`Error::Usage`] for a path that may find several values of a record, and for equal names. Also for
///   values that cannot be cut as wanted, and for an engine of documents.
/// * The errors of the input, and [`IndexError::Unsettled`] if the file was written to meanwhile.
/// * [`Error::Device`].
pub(super) fn build_ndjson(
    maker: &mut BitmapMaker,
    engine: &Engine,
    path: &Path,
    specs: &[ColumnSpec],
) -> Result<(Built, LeftOut), Error> {
    engine.wants_lines("a bitmap index requires NDJSON input")?;
    check_names(specs)?;
    let queries = specs.iter().map(query).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(&queries)?;
    let opened = Opened::new(path)?;
    let digest = Arc::new(ColumnDigest { kinds: specs.iter().map(|spec| spec.kind).collect() });
    let want = digest.want();
    let answers = engine.open(path)?.digesting(digest).answers(program, want);
    let (mut parts, mut first): (Vec<Contribution>, u64) = (Vec::new(), 0);
    for batch in answers {
        let mut batch = batch?;
        let rows = batch.take_digest::<PartitionRows>().unwrap_or_default();
        let part = Contribution::of(rows, first, &batch);
        first += part.rows;
        parts.push(part);
    }
    opened.check_settled()?;
    let rows = parts.iter().map(|part| part.rows).sum();
    let records = records_of(rows, parts.iter().flat_map(|part| part.no_records.iter().copied()));
    let left_out = LeftOut {
        count: parts.iter().map(|part| part.faults).sum(),
        first: parts.iter().find_map(|part| part.first_fault.clone()),
    };
    let sources = queries.iter().map(|query| query.ast().to_string()).collect();
    let raw = parts.into_iter().map(|part| part.columns).collect();
    let columns = build_parts(maker, specs, sources, raw)?;
    Ok((Built { rows, records, columns }, left_out))
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

/// Makes the [`PartitionRows`] of a partition, in the worker that evaluated it.
struct ColumnDigest {
    /// The kind of each column, if it is known.
    kinds: Vec<Option<Kind>>,
}

/// The rows of a partition, counted from its first line.
#[derive(Default)]
struct PartitionRows {
    rows: u64,
    columns: Vec<Raw>,
    no_records: Vec<u64>,
}

impl Digest for ColumnDigest {
    fn want(&self) -> Want {
        Want::default().matches(true).records(true)
    }

    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let mut columns: Vec<Raw> = self.kinds.iter().map(|kind| Raw::new(*kind)).collect();
        let (mut rows, mut no_records) = (0_u64, Vec::new());
        for piece in found {
            for (column, matches) in columns.iter_mut().zip(&piece.matches) {
                for found in *matches {
                    column.missing_up_to((rows + u64::from(found.line)) as usize);
                    column.push_json(piece.bytes(found));
                }
            }
            let mut next = 0;
            for record in piece.records.iter().copied().chain([piece.lines]) {
                no_records.extend((next..record).map(|line| rows + u64::from(line)));
                next = record + 1;
            }
            rows += u64::from(piece.lines);
            columns.iter_mut().for_each(|column| column.missing_up_to(rows as usize));
        }
        let columns = columns.into_iter().map(Raw::closed).collect();
        Box::new(PartitionRows { rows, columns, no_records })
    }
}

/// The contribution of one partition.
struct Contribution {
    rows: u64,
    columns: Vec<Raw>,
    /// The lines that are not records, counted from the first line of the input.
    no_records: Vec<u64>,
    faults: u64,
    first_fault: Option<RecordError>,
}

impl Contribution {
    /// The rows of a batch, whose first line has this number in the input.
    fn of(rows: PartitionRows, first: u64, batch: &Batch<'_>) -> Self {
        let PartitionRows { rows, columns, no_records } = rows;
        Self {
            rows,
            columns,
            no_records: no_records.into_iter().map(|line| first + line).collect(),
            faults: batch.pieces().map(|(_, piece)| piece.faults.len() as u64).sum(),
            first_fault: batch.skipped().next(),
        }
    }
}
