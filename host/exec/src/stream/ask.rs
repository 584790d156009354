//! What workers do with the texts of inputs.

use std::sync::Arc;

use super::{Store, Stored};
use crate::input::Extract;
use crate::input::{Buffers, Text};
use warpath_backend::answer::{Answer, Want};
use warpath_backend::backend::{Backend, Worker};
use warpath_core::error::Error;
use warpath_lang::program::Program;

/// What is asked of all texts of some inputs.
pub(super) trait Ask: Send + Sync + 'static {
    /// What becomes of a text.
    type Answer: Send;
    /// What a thread has for it.
    type Worker<'a>;

    /// Where texts are read into.
    fn buffers(&self) -> &Arc<Buffers>;

    /// Whether who takes the answers may stop soon, so that parts are to be small at first.
    fn starts_slowly(&self) -> bool {
        false
    }

    /// Asks a text. The thread has a number, and a worker that is made when it is first needed. `surveyed`: it is only to be found out whether anything is wrong.
    ///
    /// Who will not look at the text again may [forget](Text::forget) it, so that this thread's next read goes where the bytes are in its cache.
    fn ask<'a>(
        &'a self,
        worker: (usize, &mut Option<Self::Worker<'a>>),
        text: &mut Text,
        surveyed: bool,
    ) -> Result<Self::Answer, Error>;

    /// Asks texts one after the other, or all together, and tells the answers in order, up to an error.
    fn ask_all<'a>(
        &'a self,
        (number, worker): (usize, &mut Option<Self::Worker<'a>>),
        texts: &mut [Text],
        surveyed: bool,
        answers: &mut Vec<Self::Answer>,
    ) -> Result<(), Error> {
        for text in texts {
            answers.push(self.ask((number, worker), text, surveyed)?);
        }
        Ok(())
    }

    /// Asks a partition that is indexed.
    fn ask_stored(&self, store: &dyn Store, at: usize) -> Result<Stored<Self::Answer>, Error>;
}

/// A program.
pub(super) struct ProgramTask {
    pub backend: Arc<dyn Backend>,
    pub buffers: Arc<Buffers>,
    pub program: Program,
    pub want: Want,
    /// Whether records are checked by all of RFC 8259 and for UTF-8.
    pub strict: bool,
}

impl Ask for ProgramTask {
    type Answer = Answer;
    type Worker<'a> = Box<dyn Worker + 'a>;

    fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    fn starts_slowly(&self) -> bool {
        self.want.limit.is_some()
    }

    fn ask<'a>(
        &'a self,
        (number, worker): (usize, &mut Option<Self::Worker<'a>>),
        text: &mut Text,
        surveyed: bool,
    ) -> Result<Answer, Error> {
        let Self { backend, buffers, program, strict, .. } = self;
        let want = if surveyed { Want::default() } else { self.want };
        let answer = if let Some(fault) = text.extract().and_then(Extract::fault) {
            Answer::of_fault(program.paths(), fault, want)
        } else {
            let made = match worker.take() {
                Some(worker) => worker,
                None => backend.worker(number)?,
            };
            let worker = worker.insert(made);
            if let Some(packed) = text.as_packed()? {
                let answer = worker.answer_packed(&packed, program, want, *strict)?;
                if is_looked_at(&answer, want) {
                    text.unpack(buffers)?;
                }
                answer
            } else if *strict {
                worker.answer_strictly(text.bytes(), program, want)?
            } else {
                worker.answer(text.bytes(), program, want)?
            }
        };
        if !is_looked_at(&answer, want) {
            text.forget();
        }
        Ok(answer)
    }

    fn ask_stored(&self, store: &dyn Store, at: usize) -> Result<Stored<Answer>, Error> {
        store.answer(at, &self.program, self.want)
    }
}

/// Whether who gets an answer looks at its text.
fn is_looked_at(answer: &Answer, want: Want) -> bool {
    want.matches || want.records || answer.pieces.iter().any(|piece| !piece.faults.is_empty())
}
