//! Operators that make one value from each text of lines.

use std::option;
use std::sync::Arc;

use warpath_backend::backend::{Backend, StructuralIndex};
use warpath_backend::strict;
use warpath_core::error::{Error, RecordError};
use warpath_core::pool::stream::Turn;
use warpath_shared::units::{ByteOffset, Level};

use super::batch::record_error;
use super::jobs::{Jobs, LineJobs, Origin};
use super::operator::{Operator, Part, Taken};
use super::task::Task;
use super::{Ordered, Running, Stats, workers};
use crate::engine::Chosen;
use crate::input::{Buffers, Source, Text};
use crate::request::Request;

/// Makes a value from a text. The number is that of the part that the text belongs to; numbers grow.
type Make<T> = Box<dyn Fn(usize, &mut Text) -> Result<T, Error> + Send + Sync>;

/// A task that makes one value from each text.
pub struct PerText<T> {
    backend: Arc<dyn Backend>,
    buffers: Arc<Buffers>,
    make: Make<T>,
}

impl<T: Send + 'static> Task for PerText<T> {
    type Output = T;
    type Worker<'a> = ();

    fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    fn evaluate<'a>(
        &'a self,
        turn: Turn,
        _: &mut Option<()>,
        text: &mut Text,
        _surveyed: bool,
    ) -> Result<T, Error> {
        (self.make)(turn.number as usize, text)
    }
}

/// Starts workers that make a value from each partition of some inputs.
fn start<T: Send + 'static>(
    sources: Vec<Source>,
    chosen: &Chosen,
    buffers: Arc<Buffers>,
    make: Make<T>,
) -> Result<Running<PerText<T>>, Error> {
    let feed = LineJobs::new(sources, chosen.partition_size).with_latency(chosen.max_latency);
    let task = PerText { backend: chosen.backend.clone(), buffers, make };
    let workers = workers::start(task, Jobs::Lines(Box::new(feed)), chosen.workers)?;
    Ok(Running { plan: chosen.plan(), workers: Some(workers), conduct: None })
}

/// The operator that yields each value, with its input. Its field counts the lines of a value.
pub struct Values<T>(fn(&T) -> u64);

impl<T: Send + 'static> Operator for Values<T> {
    type Task = PerText<T>;
    type Items = option::IntoIter<(Origin, T)>;

    fn take(&mut self, Part { result, origin, .. }: Part<T>) -> Taken<Self::Items> {
        let lines = (self.0)(&result);
        let counts = Stats { lines, ..Stats::default() };
        Taken { items: Some((origin, result)).into_iter(), lines, counts, error: None }
    }
}

impl<T: Send + 'static> Ordered<Values<T>> {
    /// Makes a value from each partition of some inputs, in as many threads as were chosen. `lines` counts
    /// the lines of a value.
    pub(crate) fn of_each(
        sources: Vec<Source>,
        chosen: &Chosen,
        lines: fn(&T) -> u64,
        make: impl Fn(usize, &Text) -> Result<T, Error> + Send + Sync + 'static,
    ) -> Self {
        // These buffers may have another size than the ones for streaming, and are of no use afterwards.
        let buffers = Buffers::new(chosen.backend.clone());
        let make: Make<T> = Box::new(move |number, text| {
            let made = make(number, text)?;
            text.forget();
            Ok(made)
        });
        Self::new(Values(lines), start(sources, chosen, buffers, make))
    }
}

/// The structural indexes of inputs, one partition at a time. See
/// [`Input::indexes`](crate::operators::Input::indexes).
pub type Indexes = Ordered<Indexing>;

/// The operator that yields structural indexes with their texts.
pub struct Indexing;

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

impl Operator for Indexing {
    type Task = PerText<StructuralIndex>;
    type Items = option::IntoIter<IndexedPartition>;

    fn take(&mut self, part: Part<StructuralIndex>) -> Taken<Self::Items> {
        let Part { text, result: index, origin, first_line } = part;
        let lines = index.line_starts.len() as u64 - 1;
        let counts = Stats { lines, skipped: index.faults.len() as u64, ..Stats::default() };
        let partition = IndexedPartition { text, source: origin.name, first_line, index };
        Taken { items: Some(partition).into_iter(), lines, counts, error: None }
    }
}

impl Indexes {
    pub(crate) fn start(input: Request, levels: Level) -> Self {
        Self::new(Indexing, index(input, levels))
    }
}

fn index(input: Request, levels: Level) -> Result<Running<PerText<StructuralIndex>>, Error> {
    input.wants_all_lines("structural indexes are")?;
    let Request { engine, sources, .. } = input;
    engine.wants_lines("structural indexes are")?;
    let chosen = engine.choose(&sources)?;
    let (backend, is_strict) = (chosen.backend.clone(), chosen.strict);
    let make: Make<StructuralIndex> = Box::new(move |_, text| {
        let mut index = backend.index(text.bytes(), levels)?;
        if is_strict {
            index.faults = strict::faults(text.bytes());
        }
        Ok(index)
    });
    start(sources, &chosen, chosen.buffers.clone(), make)
}
