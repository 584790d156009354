//! The operator of programs, whose results are yielded as batches, as matches or as columns.

use std::marker::PhantomData;
use std::sync::Arc;
use std::vec;

use warpath_answer::answer::Want;
use warpath_answer::columns::ColumnBatch;
#[cfg(feature = "arrow")]
use warpath_answer::nested::NestedBatch;
use warpath_core::error::{Error, InputError};
use warpath_lang::program::Program;
use warpath_plan::Reading;

use super::batch::{self, Batch};
use super::documents::Conductor;
use super::flow::Flow;
use super::hits::Matches;
use super::inline::Inline;
use super::jobs::{Framing, Jobs, LineJobs, SelectedJobs};
use super::operator::{Operator, Taken, TextResult};
use super::store::KeptStore;
use super::task::{Answered, ProgramTask, Work};
use super::{Ordered, Running, Stats};
use crate::engine::OnError;
use crate::input::{Extract, Given};
use crate::planning::{self, Planned};
use crate::request::Request;
use crate::trace::Operation;

/// The results of a program over inputs, one batch for each partition. See
/// [`Input::answers`](crate::operators::Input::answers).
///
/// ```
/// use warpath::{Answers, Engine, Program, Query, Want};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let program = Program::new(&[Query::compile("$.id")?, Query::compile("$.tags[*]")?])?;
/// let input = Engine::builder().build()?.bytes("{\"id\":7,\"tags\":[\"a\",\"b\"]}\n{\"id\":8}\n");
/// let answers: Answers = input.answers(program, Want::new());
/// let mut counts = [0, 0];
/// for batch in answers {
///     let batch = batch?;
///     counts[0] += batch.count(0);
///     counts[1] += batch.count(1);
/// }
/// assert_eq!(counts, [2, 2]);
/// # Ok(())
/// # }
/// ```
pub type Answers<'a> = Ordered<'a, Programs<Option<Batch<'a>>>>;

/// The matches of one query, one at a time. See [`Input::query`](crate::operators::Input::query).
///
/// ```
/// use warpath::{Engine, Hits, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let input = Engine::builder().build()?.bytes("{\"a\":1}\n{\"a\":2}\n");
/// let hits: Hits = input.query(&Query::compile("$.a")?)?;
/// let texts: Vec<String> = hits.map(|hit| Ok(hit?.text().into_owned())).collect::<Result<_, warpath::Error>>()?;
/// assert_eq!(texts, ["1", "2"]);
/// # Ok(())
/// # }
/// ```
pub type Hits<'a> = Ordered<'a, Programs<Matches<'a>>>;

/// The records of inputs as typed columns. See [`Input::columns`](crate::operators::Input::columns).
///
/// A batch has at least one row, and at most as many as a partition has; see
/// [`EngineBuilder::partition_size`](crate::engine::EngineBuilder::partition_size). Workers make batches in
/// their own threads.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Values};
/// use warpath::{Columns, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let mut columns: Columns = Engine::builder().build()?.bytes("{\"id\":7}\n{\"id\":8}\n").columns(&schema);
/// let batch = columns.next().unwrap()?;
/// assert_eq!(batch.columns[0].items.values, Values::Int64(vec![7, 8]));
/// # Ok(())
/// # }
/// ```
pub type Columns<'a> = Ordered<'a, Programs<ColumnBatches>>;

/// The operator of programs. `F` is the form of the results, which is made from batches.
pub struct Programs<F> {
    on_error: OnError,
    form: PhantomData<fn() -> F>,
}

/// The typed columns of a batch that have rows.
pub struct ColumnBatches(Vec<ColumnBatch>);

impl From<Batch<'_>> for ColumnBatches {
    fn from(mut batch: Batch<'_>) -> Self {
        let mut columns = batch.take_columns();
        columns.retain(|columns| columns.rows > 0);
        Self(columns)
    }
}

/// The records of inputs as nested columns. See [`Input::nested`](crate::operators::Input::nested).
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_schema::{DataType, Field, Schema};
/// use warpath::Engine;
/// use warpath::columns::NestedSchema;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let fields = vec![Field::new("id", DataType::Int64, true)];
/// let schema = Arc::new(NestedSchema::new(Arc::new(Schema::new(fields)))?);
/// let mut batches = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":2.5}\n").nested(schema);
/// let batch = batches.next().unwrap()?;
/// assert_eq!((batch.rows.num_rows(), batch.losses.lost()), (2, 1));
/// assert!(batches.next().is_none());
/// assert_eq!(batches.stats().lines, 2);
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "arrow")]
pub type Nested<'a> = Ordered<'a, Programs<NestedBatches>>;

/// The nested columns of a batch.
#[cfg(feature = "arrow")]
pub struct NestedBatches(Vec<NestedBatch>);

#[cfg(feature = "arrow")]
impl From<Batch<'_>> for NestedBatches {
    fn from(mut batch: Batch<'_>) -> Self {
        Self(batch.take_nested().into_iter().flatten().collect())
    }
}

#[cfg(feature = "arrow")]
impl IntoIterator for NestedBatches {
    type Item = NestedBatch;
    type IntoIter = vec::IntoIter<NestedBatch>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl IntoIterator for ColumnBatches {
    type Item = ColumnBatch;
    type IntoIter = vec::IntoIter<ColumnBatch>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, F: From<Batch<'a>> + IntoIterator> Operator<'a> for Programs<F> {
    type Task = ProgramTask;
    type Items = F::IntoIter;

    /// Makes a batch. If the engine fails at malformed records, the batch ends before the first of them.
    fn take(&mut self, part: TextResult<'a, Answered>) -> Taken<F::IntoIter> {
        let TextResult { text, result: Answered { mut answer, digest, sample }, origin, first_line } = part;
        let first_line = match text.extract() {
            // Selected lines count in their text alone.
            Some(Extract::Lines(_)) => 0,
            _ => first_line,
        };
        let fault = match self.on_error {
            OnError::Fail => batch::cut_at_fault(&mut answer, &origin.name, first_line),
            OnError::Skip => None,
        };
        let fault = fault.map(|fault| batch::in_input(fault, &text, first_line));
        let mut lines = answer.pieces.iter().map(|piece| u64::from(piece.lines)).sum::<u64>();
        if let Some(Extract::Lines(selected)) = text.extract() {
            lines += selected.left_out;
        }
        let counts = Stats {
            // Elements of a document are not lines.
            lines: if let Some(Extract::Elements(_)) = text.extract() { 0 } else { lines },
            matches: answer.pieces.iter().flat_map(|piece| &piece.counts).sum::<u64>(),
            skipped: answer.pieces.iter().map(|piece| piece.faults.len() as u64).sum::<u64>(),
            ..Stats::default()
        };
        let error = fault.clone().map(|fault| InputError::from(fault).into());
        let batch =
            Batch::new(text, origin.name, answer, first_line, fault).with_digest(digest).with_sample(sample);
        Taken { items: F::from(batch).into_iter(), lines, counts, error }
    }
}

impl<'a, F: From<Batch<'a>> + IntoIterator> Ordered<'a, Programs<F>> {
    /// No results but an error.
    #[cfg(feature = "arrow")]
    pub(crate) fn failed(error: Error) -> Self {
        Self::new(Programs { on_error: OnError::Fail, form: PhantomData }, Err(error))
    }

    pub(crate) fn start(input: Request<'a>, operation: Operation, program: Program, want: Want) -> Self {
        let operator = Programs { on_error: input.engine.on_error(), form: PhantomData };
        Self::new(operator, start(input, operation, program, want))
    }
}

/// Starts the evaluation of a program, as its plan says.
fn start<'a>(
    mut input: Request<'a>,
    operation: Operation,
    program: Program,
    want: Want,
) -> Result<Running<'a, ProgramTask>, Error> {
    let Planned { plan, mut chosen, program, selected, levels, kept, is_named, early } =
        planning::plan(&mut input, program, want)?;
    let Request { engine, inputs, digest, sampler, .. } = input;
    chosen.begin(operation, || inputs.names());
    #[cfg(feature = "arrow")]
    {
        chosen.nested = input.nested;
    }
    let work = Work { program, want, on_error: engine.on_error(), digest, sampler };
    let jobs = match (&plan.reading, selected, levels) {
        (Reading::Resident { .. }, ..) => {
            Jobs::Store(Arc::new(KeptStore::new(kept.unwrap_or_default())), 0, None)
        }
        (Reading::Selected(_), Some(selected), _) => {
            Jobs::Selected(Box::new(SelectedJobs::new(selected, chosen.partition_size)))
        }
        (Reading::Levels { .. }, _, Some(levels)) => {
            let rest = levels.rest().map(|rest| Box::new(LineJobs::of_rest(rest, chosen.partition_size)));
            Jobs::Store(levels.store(&chosen, is_named), 0, rest)
        }
        (Reading::Documents { parts }, ..) => {
            return Ok(match inputs.given(plan.threads, chosen.partition_size)? {
                Given::Held(held) => {
                    let task = work.task(&chosen);
                    let inline = Inline::document(task, held, Framing::Line, chosen.strict, &chosen);
                    Running::new(plan, Flow::Inline(Box::new(inline)), &chosen)
                }
                Given::Sources(sources) => {
                    let conductor = Conductor::new(sources, chosen.clone(), work, *parts);
                    let running = Running::without_flow(plan, &chosen);
                    Running { conduct: Some(Box::new(conductor)), ..running }
                }
            });
        }
        _ => {
            #[cfg(feature = "store")]
            let with = {
                let (digest, sampler) = (work.digest.clone(), work.sampler.clone());
                |jobs: LineJobs| jobs.with_digest(digest, sampler)
            };
            #[cfg(not(feature = "store"))]
            let with = std::convert::identity::<LineJobs>;
            let flow = Flow::lines_of(work.task(&chosen), inputs, &chosen, &plan, with)?;
            return Ok(Running::new(plan, flow, &chosen));
        }
    };
    let flow = Flow::jobs(work.task(&chosen), jobs, &chosen, &plan)?;
    Ok(Running { early, ..Running::new(plan, flow, &chosen) })
}
