//! Partitions that are kept already, in memory or in a file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use warpath_answer::answer::{Answer, Want};
use warpath_answer::resident::HostText;
use warpath_core::error::Error;
use warpath_lang::program::Program;

use super::jobs::Origin;
use crate::input::{KeptInput, Partition, PartitionText, PlainFile, Text};

/// Partitions that are kept already.
pub trait Store: Send + Sync {
    /// The input that a partition belongs to; `None` after the last partition.
    fn origin(&self, number: usize) -> Option<Origin>;

    /// Evaluates a program over a partition. The program reads at most the levels that the index has.
    fn answer(&self, number: usize, program: &Program, want: Want) -> Result<Stored, Error>;
}

/// A result over a partition that was already kept.
pub struct Stored<A = Answer> {
    pub text: Text<'static>,
    pub answer: A,
    /// Time spent reading.
    pub reading: Duration,
    /// Time spent in the backend.
    pub answering: Duration,
}

/// Lines of a file that are after those of a store.
pub struct Rest {
    pub file: Arc<PlainFile>,
    pub name: Arc<str>,
    /// The offset at which they begin.
    pub from: u64,
}

/// Several inputs, over whose indexes programs are evaluated.
pub(crate) struct KeptStore {
    inputs: Vec<Arc<KeptInput>>,
    /// For each partition of all inputs its input, and its number there.
    places: Vec<(usize, usize)>,
}

impl KeptStore {
    pub fn new(inputs: Vec<Arc<KeptInput>>) -> Self {
        let of_input = |(number, input): (usize, &Arc<KeptInput>)| {
            (0..input.partitions.len()).map(move |partition| (number, partition))
        };
        let places = inputs.iter().enumerate().flat_map(of_input).collect();
        Self { inputs, places }
    }
}

impl Store for KeptStore {
    fn origin(&self, number: usize) -> Option<Origin> {
        let (input, _) = *self.places.get(number)?;
        Some(Origin { name: self.inputs[input].name.clone(), input: input + 1, returns: false })
    }

    fn answer(&self, number: usize, program: &Program, want: Want) -> Result<Stored, Error> {
        let Some((input, partition)) = self.places.get(number) else {
            return Err(Error::Internal(format!("no partition {number} is kept")));
        };
        let input = &self.inputs[*input];
        let since = Instant::now();
        let partition = &input.partitions[*partition];
        let Partition { len, offset, kept, faulty, .. } = partition;
        let text = PartitionText(partition, &*input.backend);
        let answer = match faulty {
            None => kept.answer(&text, program, want)?,
            Some((checked, blanked)) => {
                let mut answer = kept.answer(&&blanked[..], program, want)?;
                checked.add_faults(&mut answer, program, want);
                answer
            }
        };
        // The receiver of the text may read all of it.
        let is_given = want.matches || want.records || answer.pieces.iter().any(|it| !it.faults.is_empty());
        let text = match text.held() {
            None if !is_given => Text::unseen(*len, *offset),
            _ => text.kept()?.text(),
        };
        Ok(Stored { text, answer, reading: Duration::ZERO, answering: since.elapsed() })
    }
}
