//! Partitions that stay on a device: asked again with the query, compaction and text kernels alone.
//!
//! ```text
//! queue 0   partitions 0, 4, 8, ...     text, strings, levels, escapes, line starts, faulty and loose lines each, in arrays of this queue
//! queue 1   partitions 1, 5, 9, ...
//! ...       ...                         one set of scratch a queue, whoever asks
//! ```
//!
//! An array is used by the queue that made it, so a partition is asked on its own queue, one at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpath_shared::check::diagnose;
use warpath_shared::units::{Level, LineIx, TILE_BYTES};

use super::Accelerator;
use super::index::{Arrays, IndexShape};
use super::lines::Lines;
use super::pipeline::{Lane, Part, Task, Waits, answer_in_parts, is_within};
use crate::answer::{Answer, LineFault, Want};
use crate::backend::Kept;
use warpath_core::error::Error;
use warpath_lang::program::Program;

/// Queues that keep partitions: enough for one to launch kernels while another's answers are copied back.
pub(super) const QUEUES: usize = 4;
/// What the kernels of an answer take is spread over more text than where partitions stream: nothing waits for the first one.
pub(super) const LARGEST_PARTITION: u64 = 64 << 20;

/// Bytes on the device for a text that is kept in partitions of a size, without scratch.
pub(super) fn bytes_kept(bytes: u64, partition_size: usize, levels: Level) -> u64 {
    let padding = bytes.div_ceil(partition_size as u64).saturating_mul(TILE_BYTES as u64);
    let bytes = bytes.saturating_add(padding);
    // Room for a line start, four bytes, for every 128 bytes of text.
    let bitmaps = bytes.saturating_mul(1 + levels as u64) / 8;
    // A bit a word for escapes, and two a line, for as many lines, for faults and loose ones.
    bytes.saturating_add(bitmaps).saturating_add(bytes / 32).saturating_add(bytes / 256)
}

/// The queues of the partitions that are kept, made when they are wanted.
pub(super) struct KeptQueues<A: Accelerator>(Mutex<Vec<Arc<Mutex<Lane<A>>>>>);

impl<A: Accelerator> Default for KeptQueues<A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// A lane whose user panicked has scratch whose contents are not relied on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A: Accelerator> KeptQueues<A> {
    /// The queue of a partition.
    fn of(&self, device: &A, number: usize) -> Result<Arc<Mutex<Lane<A>>>, Error> {
        let mut lanes = lock(&self.0);
        let number = number % QUEUES;
        while lanes.len() <= number {
            lanes.push(Arc::new(Mutex::new(Lane::new(device.queue()?))));
        }
        Ok(lanes[number].clone())
    }

    /// Indexes a text and keeps it.
    pub fn keep(
        &self,
        device: &A,
        (number, most_cells): (usize, usize),
        text: &[u8],
        levels: Level,
    ) -> Result<Box<dyn Kept>, Error> {
        let lane = self.of(device, number)?;
        let mut guard = lock(&lane);
        let Lane { stages, queue } = &mut *guard;
        let mut arrays = Arrays::default();
        let (shape, faults) = if text.is_empty() {
            (None, Vec::new())
        } else {
            let _waits = Waits(queue);
            // SAFETY: the text is borrowed until this returns, and the queue is waited for before.
            unsafe { stages.index.load(queue, text) }?;
            let shape = stages.index.build(queue, levels)?;
            let faults = stages.index.judge(queue, Lines::Plain(text), shape, diagnose)?;
            stages.index.exchange(&mut arrays);
            (Some(shape), faults)
        };
        drop(guard);
        Ok(Box::new(KeptPartition { arrays: Mutex::new(arrays), shape, faults, levels, most_cells, lane }))
    }
}

/// One partition on a device.
struct KeptPartition<A: Accelerator> {
    /// Its arrays, but while they are asked: then they are in the lane. They go before the queue.
    arrays: Mutex<Arrays<A>>,
    /// `None` where there is no text.
    shape: Option<IndexShape>,
    faults: Vec<LineFault>,
    levels: Level,
    most_cells: usize,
    lane: Arc<Mutex<Lane<A>>>,
}

impl<A: Accelerator> Kept for KeptPartition<A> {
    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        let Some(shape) = self.shape else { return Ok(Answer::default()) };
        if program.levels() > self.levels {
            let said = format!("{} levels of an index that has {}", program.levels(), self.levels);
            return Err(Error::Internal(said));
        }
        let mut lane = lock(&self.lane);
        let Lane { stages, queue } = &mut *lane;
        if program.needs_trees() || !is_within(self.most_cells, program, shape.lines) {
            // Trees are not kept. And so many cells are answered in parts, and a part begins at a text's start.
            return answer_in_parts(
                queue,
                stages,
                Lines::Plain(text),
                Task::new(program, self.most_cells),
                want,
            );
        }
        // Who panicked while it held them has left them where the next partition's arrays went.
        let mut arrays = self.arrays.lock().map_err(|_| {
            Error::Internal("a partition was lost by a thread that ended before its work did".into())
        })?;
        stages.index.exchange(&mut arrays);
        let answer = stages.query.send(queue, program).and_then(|()| {
            let faults = self.faults.clone();
            Part { stages, text: Lines::Plain(text), base: 0, shape, nodes: None, faults }
                .answer(queue, program, want)
        });
        stages.index.exchange(&mut arrays);
        Ok(Answer { pieces: vec![answer?] })
    }

    fn lines(&self) -> LineIx {
        self.shape.map_or(0, |shape| shape.lines as LineIx)
    }

    fn memory(&self) -> u64 {
        self.arrays.lock().map_or(0, |arrays| arrays.bytes())
    }
}
