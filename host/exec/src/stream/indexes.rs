//! The structural indexes of inputs, one partition at a time, made while the caller waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpath_backend::backend::{Backend, StructuralIndex};
use warpath_backend::strict;
use warpath_core::error::{Error, RecordError};
use warpath_shared::units::{ByteOffset, Level};

use super::LineCounter;
use super::batch::record_error;
use super::jobs::{Jobs, Origin};
use crate::input::{Buffers, Text};
use crate::request::Request;

/// The structural indexes of inputs, one partition at a time. See
/// [`Input::indexes`](crate::operators::Input::indexes).
pub struct Indexes {
    /// `None` if there is no backend, and after the end.
    running: Option<Running>,
    levels: Level,
    lines: LineCounter,
    texts: VecDeque<Text>,
    origin: Origin,
    /// The error that is yielded after `texts`.
    error: Option<Error>,
}

struct Running {
    backend: Arc<dyn Backend>,
    strict: bool,
    jobs: Jobs,
    buffers: Arc<Buffers>,
}

impl Indexes {
    pub(crate) fn new(input: Request, levels: Level) -> Self {
        let all_lines = input.wants_all_lines("structural indexes require");
        let Request { engine, sources, .. } = input;
        let lines = all_lines.and_then(|()| engine.wants_lines("structural indexes require"));
        let (running, error) = match lines.and_then(|()| engine.choose(&sources)) {
            Ok(chosen) => {
                let jobs = Jobs::new(sources, chosen.partition_size).with_latency(chosen.max_latency);
                let (backend, buffers, strict) = (chosen.backend, chosen.buffers, chosen.strict);
                (Some(Running { backend, strict, buffers, jobs }), None)
            }
            Err(error) => (None, Some(error)),
        };
        let (lines, texts, origin) = (LineCounter::default(), VecDeque::new(), Origin::default());
        Self { running, levels, lines, texts, origin, error }
    }
}

/// One partition with its index.
pub struct IndexedPartition {
    text: Text,
    source: Arc<str>,
    /// The number of the first line in its input, counted from 0.
    pub first_line: u64,
    /// The index.
    pub index: StructuralIndex,
}

impl IndexedPartition {
    /// The input's name.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The partition's text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.text.bytes()
    }

    /// The offset of the partition in its input, in decompressed bytes.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.text.offset()
    }

    /// The malformed records of the partition.
    pub fn faults(&self) -> impl Iterator<Item = RecordError> {
        self.index.faults.iter().map(|fault| record_error(self.source(), self.first_line, fault))
    }
}

impl Iterator for Indexes {
    type Item = Result<IndexedPartition, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(text) = self.texts.pop_front() {
                let first_line = self.lines.of(&self.origin);
                let Running { backend, strict, .. } = self.running.as_ref()?;
                return Some(match backend.index(text.bytes(), self.levels) {
                    Ok(mut index) => {
                        if *strict {
                            index.faults = strict::faults(text.bytes());
                        }
                        self.lines.line += index.line_starts.len() as u64 - 1;
                        let source = self.origin.name.clone();
                        Ok(IndexedPartition { text, source, first_line, index })
                    }
                    Err(error) => {
                        // The partitions that follow would have wrong line numbers.
                        self.running = None;
                        self.texts.clear();
                        Err(error)
                    }
                });
            }
            if let Some(error) = self.error.take() {
                self.running = None;
                return Some(Err(self.lines.locate(&self.origin, error)));
            }
            let Running { jobs, buffers, .. } = self.running.as_mut()?;
            let (origin, job) = jobs.next(buffers, &AtomicBool::new(false))?;
            self.origin = origin;
            match job {
                Ok(job) => {
                    let cut = job.read(buffers);
                    self.texts.extend(cut.texts);
                    self.error = cut.error;
                }
                Err(error) => self.error = Some(error),
            }
        }
    }
}
