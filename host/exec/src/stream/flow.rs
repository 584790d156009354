//! The start of a task on the inputs of a request: by workers, or while the caller waits.

use warpath_core::error::Error;
use warpath_plan::{Plan, Threads};

use super::inline::Inline;
use super::jobs::{Document, DocumentJobs, Framing, Jobs, LineJobs};
use super::task::Task;
use super::workers::{self, Run, Workers};
use crate::engine::Chosen;
use crate::input::{Given, Inputs};

/// A task that is being evaluated.
pub(super) enum Flow<'a, K: Task> {
    /// By threads, ahead of the caller.
    Workers(Workers<K>),
    /// While the caller waits.
    Inline(Box<Inline<'a, K>>),
}

impl<'a, K: Task> Flow<'a, K> {
    /// Starts a task on all lines of some inputs.
    pub fn lines(task: K, inputs: Inputs<'a>, chosen: &Chosen, plan: &Plan) -> Result<Self, Error> {
        Self::lines_of(task, inputs, chosen, plan, |jobs| jobs)
    }

    /// Starts a task on all lines of some inputs, whose jobs `with` changes.
    pub fn lines_of(
        task: K,
        inputs: Inputs<'a>,
        chosen: &Chosen,
        plan: &Plan,
        with: impl FnOnce(LineJobs) -> LineJobs,
    ) -> Result<Self, Error> {
        let size = chosen.partition_size;
        match inputs.given(plan.threads, chosen.partition_size)? {
            Given::Held(held) => Ok(Self::Inline(Box::new(Inline::lines(task, held, chosen)))),
            Given::Sources(sources) => {
                let jobs = with(LineJobs::new(sources, size).with_latency(chosen.max_latency));
                let jobs = Jobs::Lines(Box::new(jobs)).with_columns(plan.part_columns());
                Self::jobs(task, jobs, chosen, plan)
            }
        }
    }

    /// Starts a task on jobs.
    pub fn jobs(task: K, jobs: Jobs, chosen: &Chosen, plan: &Plan) -> Result<Self, Error> {
        match plan.threads {
            Threads::Caller => Ok(Self::Inline(Box::new(Inline::jobs(task, jobs, chosen)))),
            _ => workers::start(task, jobs, chosen).map(Self::Workers),
        }
    }

    /// Starts a task on documents, of which small ones are handed on together. With `with_empty`, an input
    /// without any text is handed on, too.
    pub fn documents(
        task: K,
        inputs: Inputs<'a>,
        chosen: &Chosen,
        plan: &Plan,
        framing: Framing,
        with_empty: bool,
    ) -> Result<Self, Error> {
        match inputs.given(plan.threads, chosen.partition_size)? {
            Given::Held(held) => {
                let inline = Inline::document(task, held, framing, with_empty, chosen);
                Ok(Self::Inline(Box::new(inline)))
            }
            Given::Sources(sources) => {
                let sources = sources.into_iter().map(Document::Source).collect();
                let jobs = DocumentJobs::together(sources, chosen.partition_size, framing);
                let jobs = DocumentJobs { with_empty, ..jobs };
                workers::start(task, Jobs::Documents(jobs), chosen).map(Self::Workers)
            }
        }
    }

    /// The work and its totals.
    pub fn work(&self) -> &Run<K> {
        match self {
            Self::Workers(workers) => workers.work(),
            Self::Inline(inline) => inline.work(),
        }
    }

    /// The number of threads that have been used.
    pub fn threads(&self) -> usize {
        match self {
            Self::Workers(workers) => workers.started(),
            Self::Inline(inline) => inline.used(),
        }
    }
}
