//! The tasks of the workers: what they evaluate on the texts of inputs.

use std::any::Any;
use std::sync::Arc;
#[cfg(feature = "store")]
use std::sync::PoisonError;

use warpath_answer::answer::{Answer, Want};
use warpath_answer::backend::Worker;
#[cfg(feature = "arrow")]
use warpath_answer::nested::NestedSchema;
use warpath_core::error::Error;
use warpath_core::pool::stream::Turn;
use warpath_lang::program::Program;
use warpath_shared::check::{Fault, FaultKind};

use super::digest::{self, Digest};
use super::{Sampler, Store, Stored};
use crate::engine::{Chosen, OnError};
#[cfg(feature = "store")]
use crate::input::KnownLeaves;
use crate::input::{Buffers, Extract, Text};

/// A task that is evaluated on all texts of some inputs.
pub trait Task: Send + Sync + 'static {
    /// The result for one text.
    type Output: Send;
    /// The state of one thread.
    type Worker<'a>;

    /// The buffers that texts are read into, and the backend that evaluates the task.
    fn buffers(&self) -> &Arc<Buffers>;

    /// True if the caller may stop soon. Then the first parts are small.
    fn starts_slowly(&self) -> bool {
        false
    }

    /// Evaluates the task on one text, in a thread whose state is made when it is first needed. `turn` has
    /// the number of the part that the text belongs to. With `surveyed`, only faults are looked for.
    ///
    /// If nobody will read the text again, the implementation may [forget](Text::forget) it. The thread's
    /// next read then uses the same buffer, whose bytes are in its cache.
    ///
    /// # Errors
    /// The error that ends the part.
    fn evaluate<'a>(
        &'a self,
        turn: Turn,
        worker: &mut Option<Self::Worker<'a>>,
        text: &mut Text<'_>,
        surveyed: bool,
    ) -> Result<Self::Output, Error>;

    /// Evaluates the task on several texts, one by one or together. Pushes the results in order, up to the
    /// first error.
    ///
    /// # Errors
    /// The error that ends the part.
    fn evaluate_all<'a>(
        &'a self,
        turn: Turn,
        worker: &mut Option<Self::Worker<'a>>,
        texts: &mut [Text<'_>],
        surveyed: bool,
        results: &mut Vec<Self::Output>,
    ) -> Result<(), Error> {
        for text in texts {
            results.push(self.evaluate(turn, worker, text, surveyed)?);
        }
        Ok(())
    }

    /// Evaluates the task on a partition that is already indexed.
    ///
    /// # Errors
    /// The error that ends the part. [`Error::Internal`] if only programs are evaluated on such partitions.
    fn evaluate_stored(&self, _: &dyn Store, _: usize) -> Result<Stored<Self::Output>, Error> {
        Err(Error::Internal("only programs are evaluated over an index".into()))
    }
}

/// A program, the wanted results, and the digest of these.
#[derive(Clone)]
pub(super) struct Work {
    pub program: Program,
    pub want: Want,
    pub on_error: OnError,
    pub digest: Option<Arc<dyn Digest>>,
    pub sampler: Option<Arc<Sampler>>,
}

impl Work {
    /// The task with what was chosen for an input.
    pub fn task(self, chosen: &Chosen) -> ProgramTask {
        ProgramTask::new(chosen, self)
    }
}

/// The evaluation of a program.
pub struct ProgramTask {
    pub buffers: Arc<Buffers>,
    pub program: Program,
    pub want: Want,
    /// True if records are checked by all of RFC 8259 and for UTF-8.
    pub strict: bool,
    pub on_error: OnError,
    /// The digest of the results, if the caller does not take batches.
    pub digest: Option<Arc<dyn Digest>>,
    /// Copies some records.
    pub sampler: Option<Arc<Sampler>>,
    /// The nested columns that records are decoded to.
    #[cfg(feature = "arrow")]
    pub nested: Option<Arc<NestedSchema>>,
}

/// The results of a program for one text.
pub struct Answered {
    pub answer: Answer,
    /// The value that the task's [`Digest`] made of them.
    pub digest: Option<Box<dyn Any + Send + Sync>>,
    /// The first lines of the text, as many as the task's [`Sampler`] copied.
    pub sample: Vec<u8>,
}

impl From<Answer> for Answered {
    fn from(answer: Answer) -> Self {
        Self { answer, digest: None, sample: Vec::new() }
    }
}

impl ProgramTask {
    /// The evaluation of a program with what was chosen for an input.
    pub(super) fn new(chosen: &Chosen, work: Work) -> Self {
        let Work { program, want, on_error, digest, sampler } = work;
        Self {
            buffers: chosen.buffers.clone(),
            program,
            want,
            strict: chosen.strict,
            on_error,
            digest,
            sampler,
            #[cfg(feature = "arrow")]
            nested: chosen.nested.clone(),
        }
    }

    /// Decodes the records of a result to nested columns, if the caller wants these.
    #[cfg(feature = "arrow")]
    fn decode(&self, answer: &mut Answer, text: &Text<'_>) -> Result<(), Error> {
        let Some(schema) = &self.nested else { return Ok(()) };
        for piece in &mut answer.pieces {
            piece.decode(text.bytes(), schema)?;
        }
        Ok(())
    }

    fn digested(&self, text: &[u8], mut answer: Answer) -> Answered {
        let digest = self.digest.as_ref().map(|it| digest::digest(&**it, text, &mut answer, self.on_error));
        let sample = self.sampler.as_ref().map_or_else(Vec::new, |sampler| sampler.copy(text));
        Answered { answer, digest, sample }
    }
}

impl Task for ProgramTask {
    type Output = Answered;
    type Worker<'a> = Box<dyn Worker + 'a>;

    fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    fn starts_slowly(&self) -> bool {
        self.want.limit.is_some()
    }

    fn evaluate<'a>(
        &'a self,
        turn: Turn,
        worker: &mut Option<Self::Worker<'a>>,
        text: &mut Text<'_>,
        surveyed: bool,
    ) -> Result<Answered, Error> {
        let Self { buffers, program, strict, .. } = self;
        let want = if surveyed { Want::default() } else { self.want };
        #[cfg_attr(not(feature = "arrow"), expect(unused_mut, reason = "only Arrow's columns are added"))]
        let mut answer = if let Some(fault) = text.extract().and_then(|extract| fault(extract, text, *strict))
        {
            Answer::of_fault(program, fault, want)
        } else if let Some(Extract::Counts(counts)) = text.extract() {
            Answer::of_counts(program, counts.lines, &counts.matches, want)
        } else if let Some(answered) = of_leaves(text, program, want) {
            return Ok(answered);
        } else {
            let made = match worker.take() {
                Some(worker) => worker,
                None => buffers.backend().worker(turn.thread)?,
            };
            let worker = worker.insert(made);
            if *strict {
                worker.answer_strictly(text.bytes(), program, want)?
            } else {
                worker.answer(text.bytes(), program, want)?
            }
        };
        #[cfg(feature = "arrow")]
        self.decode(&mut answer, text)?;
        let is_looked_at = match self.digest {
            // Columns come with the digest, and refused values are shown with their records.
            Some(_) => {
                let records = want.records && want.columns.is_some();
                is_looked_at(&answer, Want::default().records(records))
            }
            None => is_looked_at(&answer, want),
        };
        let answered = if surveyed { answer.into() } else { self.digested(text.bytes(), answer) };
        if !is_looked_at {
            text.forget();
        }
        Ok(answered)
    }

    fn evaluate_stored(&self, store: &dyn Store, at: usize) -> Result<Stored<Answered>, Error> {
        #[cfg_attr(not(feature = "arrow"), expect(unused_mut, reason = "only Arrow's columns are added"))]
        let mut stored = store.answer(at, &self.program, self.want)?;
        #[cfg(feature = "arrow")]
        self.decode(&mut stored.answer, &stored.text)?;
        let Stored { text, answer, reading, answering } = stored;
        let answer = self.digested(text.bytes(), answer);
        Ok(Stored { text, answer, reading, answering })
    }
}

/// The results that leaves have for a text that is not decoded.
#[cfg(feature = "store")]
fn of_leaves(text: &Text<'_>, program: &Program, want: Want) -> Option<Answered> {
    let Some(Extract::Leaves(known)) = text.extract() else { return None };
    let KnownLeaves { counts, digest, sample } = &**known;
    let answer = Answer::of_counts(program, counts.lines, &counts.matches, want);
    let digest = digest.lock().unwrap_or_else(PoisonError::into_inner).take();
    Some(Answered { answer, digest, sample: sample.clone() })
}

/// Nothing is loaded, because the feature `store` is off.
#[cfg(not(feature = "store"))]
fn of_leaves(_: &Text<'_>, _: &Program, _: Want) -> Option<Answered> {
    None
}

/// The fault of a document that is known without an evaluation: a string that a newline leaves open, or, in
/// strict mode, no value at all.
pub fn fault(extract: &Extract, text: &Text<'_>, strict: bool) -> Option<Fault> {
    let is_blank = || text.bytes().iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    let no_value = || Fault { kind: FaultKind::NoValue, at: 0 };
    let is_empty = || strict && matches!(extract, Extract::Whole(_)) && is_blank();
    extract.fault().or_else(|| is_empty().then(no_value))
}

/// True if the receiver of a result reads its text.
fn is_looked_at(answer: &Answer, want: Want) -> bool {
    want.matches || want.records || answer.pieces.iter().any(|piece| !piece.faults.is_empty())
}
