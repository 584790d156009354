//! The evaluation of one file, or of a part of it.
//!
//! A part of a plain file is evaluated by the thread of DataFusion that takes its rows, and there are several
//! at a time. Every other file is evaluated by all workers: one that is compressed, one on a
//! device, and one in an object store.

use std::cell::OnceCell;
use std::collections::{HashSet, VecDeque};
use std::io::{self, Read};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{
    Array, ArrayData, MutableArrayData, RecordBatch, RecordBatchOptions, make_array,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use futures::{FutureExt, Stream, StreamExt};
use object_store::ObjectStore;
use warpath::columns::{AsyncBatches, Schema};
use warpath::{
    Answers, AsyncResults, Error, Input, InputError, Predicate, Program, Query, Source, Stats, Want,
};

use crate::engines::{Engines, external, local_path};
use crate::paths::PathColumn;
use crate::predicate::{self, ColumnRefs, Condition};
use crate::report::LeftOut;
use crate::wire;

/// Counts of a scan, for `EXPLAIN ANALYZE`.
#[derive(Clone)]
pub struct Counts {
    bytes: Count,
    skipped: Count,
    refused: Count,
    metrics: ExecutionPlanMetricsSet,
    partition: usize,
}

impl Counts {
    pub fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            bytes: count("text_bytes"),
            skipped: count("malformed_records"),
            refused: count("values_not_taken"),
            metrics: metrics.clone(),
            partition,
        }
    }

    /// Adds counters whose names are those of records and values that were left out.
    fn name_left_out(&self, left_out: &LeftOut, scanned: &str, base: u64) {
        for (name, count) in wire::names_of(left_out, scanned, base) {
            MetricBuilder::new(&self.metrics).counter(name, self.partition).add(count as usize);
        }
    }
}

/// The paths and filters that a scan evaluates on each file.
pub struct Scan {
    pub engines: Arc<Engines>,
    pub store: Arc<dyn ObjectStore>,
    pub is_local: bool,
    pub columns: Vec<PathColumn>,
    /// The paths as they are evaluated, compiled once for all parts.
    pub wanted: Wanted,
    pub schema: SchemaRef,
    /// The predicate of all filters that do not change.
    pub condition: Option<Condition>,
    /// Filters of operators above, which become stricter while the query runs.
    pub dynamic: Vec<Arc<dyn datafusion::physical_expr::PhysicalExpr>>,
    /// The fields of the files, which dynamic filters refer to.
    pub file_schema: SchemaRef,
    pub are_of_all_records: bool,
    pub counts: Counts,
    /// The columns of which a part has reported a line, if parts report by metrics.
    pub placed: Mutex<HashSet<String>>,
}

impl Scan {
    /// The predicate as it is now.
    fn predicate(&self) -> Result<Option<Predicate>> {
        let columns =
            ColumnRefs { fields: self.file_schema.fields(), are_of_all_records: self.are_of_all_records };
        let mut conditions: Vec<Condition> = self.condition.iter().cloned().collect();
        for filter in &self.dynamic {
            conditions.extend(columns.condition(filter)?);
        }
        let condition = predicate::all(conditions);
        condition.map(Condition::predicate).transpose()
    }

    fn start(self: Arc<Self>, file: &PartitionedFile) -> Result<Batches> {
        let location = &file.object_meta.location;
        let (name, source, base) = if self.is_local {
            let path = local_path(location)?;
            is_whole(&path, file.object_meta.size).map_err(external)?;
            let base = file.range.as_ref().map_or(0, |range| range.start as u64);
            let source = match &file.range {
                Some(range) => Source::Part(path.clone(), range.start as u64..range.end as u64),
                None => Source::File(path.clone()),
            };
            (path.display().to_string(), source, base)
        } else {
            let source = self.engines.object(&self.store, location);
            (source.name(), source, 0)
        };
        let engine = if file.range.is_some() { self.engines.part_engine() } else { self.engines.engine() };
        let mut input = engine.input(vec![source]);
        if let Some(predicate) = self.predicate()? {
            input = input.matching(&predicate);
        }
        let run = FileRun::start(input, &self.wanted);
        Ok(Batches {
            run,
            scan: self,
            name,
            base,
            read: 0,
            few: Vec::new(),
            pieces: VecDeque::new(),
            has_ended: false,
        })
    }
}

impl FileOpener for OpensFiles {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let scan = self.0.clone();
        Ok(async move { Ok(scan.start(&file)?.boxed()) }.boxed())
    }
}

/// A scan as an opener of files.
pub struct OpensFiles(pub Arc<Scan>);

/// The values that a scan evaluates, compiled.
pub enum Wanted {
    /// Values of paths.
    Columns(Schema),
    /// Nothing but the record itself.
    Records(Program),
}

impl Wanted {
    /// The values of these columns.
    ///
    /// # Errors
    /// The errors of queries and programs.
    pub fn of(columns: &[PathColumn]) -> Result<Self> {
        let wanted = || {
            if columns.is_empty() {
                return Ok(Self::Records(Program::new(&[Query::compile("$")?])?));
            }
            let queries = columns.iter().map(|it| Ok((Query::compile(&it.path)?, it.values.clone())));
            let queries = queries.collect::<std::result::Result<Vec<_>, Error>>()?;
            Ok(Self::Columns(Schema::new(&queries)?))
        };
        wanted().map_err(external)
    }
}

/// The evaluation of a file.
enum FileRun {
    /// Values of paths.
    Columns(AsyncBatches<'static>),
    /// The number of records alone.
    Records(AsyncResults<'static, warpath_exec::stream::Programs<Option<warpath::Batch<'static>>>>),
}

impl FileRun {
    fn start(input: Input<'static>, wanted: &Wanted) -> Self {
        match wanted {
            Wanted::Records(root) => {
                let answers: Answers<'static> = input.answers(root.clone(), Want::new());
                Self::Records(answers.into_stream())
            }
            Wanted::Columns(schema) => Self::Columns(input.record_batches(schema).into_stream()),
        }
    }

    fn stats(&self) -> Stats {
        match self {
            Self::Columns(batches) => batches.answers().stats(),
            Self::Records(answers) => answers.results().stats(),
        }
    }
}

/// The batches of a file.
struct Batches {
    run: FileRun,
    scan: Arc<Scan>,
    name: String,
    /// The offset of the part in the file.
    base: u64,
    /// The bytes of text that are counted.
    read: u64,
    /// Batches of few rows, which become one.
    few: Vec<RecordBatch>,
    /// The next batches, if memory is limited.
    pieces: VecDeque<RecordBatch>,
    has_ended: bool,
}

impl Batches {
    /// Counts what was left out, once. If the part was not read to its end, no time is spent on positions.
    fn end(&mut self, is_complete: bool) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let stats = self.run.stats();
        self.scan.engines.report.read(stats.bytes, &mut self.read);
        let Scan { counts, engines, columns, placed, .. } = &*self.scan;
        counts.bytes.add(stats.bytes as usize);
        counts.skipped.add(stats.skipped as usize);
        if stats.skipped > 0 {
            engines.report.skipped(&self.name, stats.skipped);
        }
        if let FileRun::Columns(batches) = &self.run {
            let names: Vec<String> =
                columns.iter().map(|column| format!("{}:{}", column.path, column.values)).collect();
            // Lines of a part count from its first line. The lines before it are counted once.
            let before = OnceCell::new();
            let lines = |column: &str| {
                let is_placed = engines.reports_by_metrics && {
                    let mut placed = placed.lock().unwrap_or_else(PoisonError::into_inner);
                    !placed.insert(column.to_owned())
                };
                if is_placed || !is_complete && self.base > 0 {
                    return None;
                }
                *before.get_or_init(|| match self.base {
                    0 => Some(0),
                    base => lines_before(&self.name, base).ok(),
                })
            };
            counts.refused.add(engines.report.add(&names, batches.losses(), lines) as usize);
        }
        if engines.reports_by_metrics {
            counts.name_left_out(&engines.report.take(), &self.name, self.base);
        }
    }

    /// Adds a batch to those of few rows. Returns all of them as one when they are enough.
    fn gather(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let rows: usize = batch.num_rows() + self.few.iter().map(RecordBatch::num_rows).sum::<usize>();
        self.few.push(batch);
        if rows < ENOUGH && self.few.len() < MOST_GATHERED { Ok(None) } else { self.gathered() }
    }

    /// The batches of few rows as one.
    fn gathered(&mut self) -> Result<Option<RecordBatch>> {
        let few = std::mem::take(&mut self.few);
        Ok(match &few[..] {
            [] => None,
            [one] => Some(one.clone()),
            _ => Some(concat_batches(&self.scan.schema, &few)?),
        })
    }

    /// An error, with the number of a line as it is in the file.
    fn located(&self, error: ArrowError) -> DataFusionError {
        let ArrowError::ExternalError(cause) = error else { return error.into() };
        match cause.downcast::<Error>() {
            Ok(error) => external(self.in_file(*error)),
            Err(other) => DataFusionError::External(other),
        }
    }

    fn in_file(&self, mut error: Error) -> Error {
        if let (Error::Input(InputError::Record(record)), true) = (&mut error, self.base > 0) {
            // Lines of a part count from its first line.
            match lines_before(&self.name, self.base) {
                Ok(lines) => record.line += lines,
                Err(error) => return InputError::Io { name: self.name.clone(), source: error }.into(),
            }
        }
        error
    }
}

/// The rows from which on a batch is handed on. The operators above take as long for a batch as for some
/// hundred rows.
const ENOUGH: usize = 1024;
/// The most batches that wait for others: those of some MB of text.
const MOST_GATHERED: usize = 16;

/// The rows of a piece: those of DataFusion's batches.
const PIECE: usize = 8192;

/// Copies a batch in pieces. DataFusion would cut it into slices, and count the memory of the whole batch for
/// each slice that a sort holds.
fn pieces(batch: &RecordBatch) -> std::result::Result<VecDeque<RecordBatch>, ArrowError> {
    let columns: Vec<ArrayData> = batch.columns().iter().map(Array::to_data).collect();
    let piece = |start: usize| {
        let end = batch.num_rows().min(start + PIECE);
        let copied = columns.iter().map(|column| {
            let mut copy = MutableArrayData::new(vec![column], false, end - start);
            copy.try_extend(0, start, end)?;
            Ok(make_array(copy.freeze()))
        });
        let options = RecordBatchOptions::new().with_row_count(Some(end - start));
        let copied = copied.collect::<std::result::Result<_, ArrowError>>()?;
        RecordBatch::try_new_with_options(batch.schema(), copied, &options)
    };
    (0..batch.num_rows()).step_by(PIECE).map(piece).collect()
}

/// Checks that a file is there, and as long as it was when the query was planned.
fn is_whole(path: &Path, planned: u64) -> std::result::Result<(), Error> {
    let failed = |source| Error::Input(InputError::Io { name: path.display().to_string(), source });
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size >= planned {
        return Ok(());
    }
    let what = format!(
        "the file has {size} bytes, and had {planned} when the query was planned; run the query again"
    );
    Err(failed(io::Error::new(io::ErrorKind::UnexpectedEof, what)))
}

/// The lines of a file that begin before an offset.
fn lines_before(path: &str, base: u64) -> io::Result<u64> {
    let mut bytes = vec![0; 1 << 20];
    let mut file = std::fs::File::open(path)?.take(base - 1);
    let mut lines = 1;
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(lines),
            count => lines += memchr::memchr_iter(b'\n', &bytes[..count]).count() as u64,
        }
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(piece) = this.pieces.pop_front() {
            return Poll::Ready(Some(Ok(piece)));
        }
        let next = match &mut this.run {
            FileRun::Columns(batches) => match ready!(Pin::new(batches).poll_next(context)) {
                Some(Ok(batch)) => {
                    // The names are those of paths, which a scan may read as several types.
                    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                    let columns = batch.columns().to_vec();
                    Some(RecordBatch::try_new_with_options(this.scan.schema.clone(), columns, &options))
                }
                other => other,
            },
            FileRun::Records(answers) => match ready!(Pin::new(answers).poll_next(context)) {
                Some(Ok(batch)) => {
                    let rows = usize::try_from(batch.count(0)).unwrap_or(usize::MAX);
                    let options = RecordBatchOptions::new().with_row_count(Some(rows));
                    Some(RecordBatch::try_new_with_options(this.scan.schema.clone(), vec![], &options))
                }
                Some(Err(error)) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
                None => None,
            },
        };
        Poll::Ready(match next {
            Some(Ok(batch)) => {
                this.scan.engines.report.read(this.run.stats().bytes, &mut this.read);
                let Some(batch) = this.gather(batch)? else {
                    // Other tasks have their turn.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                };
                if this.scan.engines.options.memory.is_none() || batch.num_rows() <= PIECE {
                    return Poll::Ready(Some(Ok(batch)));
                }
                match pieces(&batch) {
                    Ok(pieces) => this.pieces = pieces,
                    Err(error) => return Poll::Ready(Some(Err(error.into()))),
                }
                this.pieces.pop_front().map(Ok)
            }
            Some(Err(error)) => {
                this.end(true);
                Some(Err(this.located(error)))
            }
            None => {
                this.end(true);
                this.gathered().transpose()
            }
        })
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.end(false);
    }
}
