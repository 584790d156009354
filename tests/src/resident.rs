//! A backend that evaluates over partitions that another backend keeps. With it the suite compares kept
//! partitions with the oracles, too.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warpath::{Error, Program, Want};
use warpath_answer::answer::Answer;
use warpath_answer::backend::{
    Abilities, Backend, Buffer, Evaluation, Forms, Kept, Setup, Stage, StructuralIndex, Worker,
};
use warpath_cpu::keep;

/// Keeps the text of the last query, and reuses it as long as the text is the same.
pub struct Resident {
    backend: Arc<dyn Backend>,
    /// The number of the next partition.
    next: AtomicUsize,
    last: Mutex<Option<Last>>,
}

struct Last {
    text: Vec<u8>,
    levels: u32,
    kept: Box<dyn Kept>,
}

struct ResidentWorker<'a>(&'a Resident);

impl Resident {
    /// Wraps a backend that keeps partitions.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, next: AtomicUsize::new(0), last: Mutex::default() }
    }
}

impl Backend for Resident {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.backend.buffer(len)
    }
    fn setup(&self) -> Setup {
        Setup::default()
    }
    fn forms(&self) -> &Forms {
        Forms::NONE
    }
    fn name(&self) -> String {
        format!("{}, kept", self.backend.name())
    }
    fn partition_size(&self) -> usize {
        self.backend.partition_size()
    }
    fn workers(&self, size: usize) -> usize {
        self.backend.workers(size)
    }
    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage> {
        self.backend.stages(evaluation)
    }
    fn worker(&self, _: usize) -> Result<Box<dyn Worker + '_>, Error> {
        Ok(Box::new(ResidentWorker(self)))
    }
    fn index(&self, text: &[u8], levels: u32) -> Result<StructuralIndex, Error> {
        self.backend.index(text, levels)
    }
}

impl Worker for ResidentWorker<'_> {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |last: &Last| last.text == text && last.levels >= program.levels();
        if !last.as_ref().is_some_and(same) {
            // Usually more levels than the program reads.
            let levels = program.levels().max(4);
            let number = self.0.next.fetch_add(1, Ordering::Relaxed);
            let kept = keep(&*self.0.backend, number, text, levels)?;
            *last = Some(Last { text: text.to_vec(), levels, kept });
        }
        match &*last {
            Some(last) => last.kept.answer(&&last.text[..], program, want),
            None => Err(Error::Internal("nothing is kept".into())),
        }
    }

    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        warpath_cpu::strict::answer(text, program, want, |text| self.answer(text, program, want))
    }
}
