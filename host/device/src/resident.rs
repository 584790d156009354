//! Partitions that stay on a device. A later query on them runs only the query, compaction and text kernels.
//!
//! ```text
//! queue 0   partitions 0, 4, 8, ...     each: text, strings, levels, escapes, line starts, faulty and loose
//! queue 1   partitions 1, 5, 9, ...     lines, in arrays of this queue
//! ...       ...                         one set of scratch for each queue, for all callers
//! ```
//!
//! An array is used only by the queue that made it. So a partition is queried on its own queue, one query at
//! a time.
//!
//! While an index is made, more threads read texts than there are queues. Each reads its text into the pieces
//! of a carrier, which copies them to the device. It needs the queue of the partition only for the kernels,
//! which take a twentieth of the time:
//!
//! ```text
//! thread 0    | array 0 | read, copy ............ | kernels on queue 0 |
//! thread 1      | array 1 | read, copy ............ | kernels on queue 1 |
//! ...
//! thread 15               | array 15 | read, copy ............ | kernels on queue 3 |
//! ```
//!
//! The host gets a copy of the text only when it needs one: new memory is filled at half the bus's rate,
//! because the system clears it first.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpath_answer::answer::{Answer, LineFault, Want};
use warpath_answer::buffer::Buffer;
use warpath_answer::resident::{HostText, KeepForm, Kept, Pieces, Room};
use warpath_answer::stage::Evaluation;
use warpath_core::error::Error;
use warpath_core::pool::cores;
use warpath_lang::program::Program;
use warpath_shared::check::diagnose;
use warpath_shared::units::{Level, LineIx, TILE_BYTES};

use super::Accelerator;
use super::carrier::Carrier;
use super::index::{Arrays, IndexShape, IndexStage};
use super::lines::Lines;
use super::partition::{
    DEVICE_BYTES_PER_BYTE, IndexedText, Lane, SMALLEST_PARTITION, Task, Waits, answer_in_parts, is_within,
};

/// The number of queues that keep partitions. It is enough for one queue to launch kernels while another's
/// results are copied back.
const QUEUES: usize = 4;
/// The largest partition. It is larger than for streams, because no later work waits for the first partition.
/// So the launches of a query are spread over more text.
const LARGEST_PARTITION: u64 = 64 << 20;

/// The most texts that are read and carried to the device at the same time. Eight fill nine tenths of a bus
/// of 53 GB/s. With sixteen, short inputs have fewer rounds (docs/lab/transfer.md).
const MOST_LOADERS: usize = 16;

/// Bytes on the device for a text that is kept in partitions of this size, without scratch.
fn bytes_kept(bytes: u64, partition_size: usize, levels: Level) -> u64 {
    let padding = bytes.div_ceil(partition_size as u64).saturating_mul(TILE_BYTES as u64);
    let bytes = bytes.saturating_add(padding);
    // A line start has four bytes, and there is room for one for every 128 bytes of text.
    let bitmaps = bytes.saturating_mul(1 + levels as u64) / 8;
    // Escapes take a bit for each word. Faulty and loose lines take two bits for each line for which there is
    // room.
    bytes.saturating_add(bitmaps).saturating_add(bytes / 32).saturating_add(bytes / 256)
}

/// A device that keeps partitions, and the queues of these, made at their first use.
pub(super) struct DeviceKeeper<A: Accelerator> {
    device: Arc<A>,
    /// Bytes of the device's memory.
    memory: u64,
    most_cells: usize,
    lanes: Mutex<Vec<Arc<Mutex<Lane<A>>>>>,
    /// Carriers that nobody uses, kept for the next texts.
    carriers: Mutex<Vec<Carrier<A>>>,
}

/// Locks a mutex. A lane whose user panicked is usable, because nothing relies on the contents of its
/// scratch.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A: Accelerator> DeviceKeeper<A> {
    /// Keeps partitions on a device of `memory` bytes, and evaluates `most_cells` cells at once.
    pub fn new(device: Arc<A>, memory: u64, most_cells: usize) -> Self {
        Self { device, memory, most_cells, lanes: Mutex::default(), carriers: Mutex::default() }
    }

    /// The queue of a partition.
    fn of(&self, number: usize) -> Result<Arc<Mutex<Lane<A>>>, Error> {
        let mut lanes = lock(&self.lanes);
        let number = number % QUEUES;
        while lanes.len() <= number {
            lanes.push(Arc::new(Mutex::new(Lane::new(self.device.queue()?))));
        }
        Ok(lanes[number].clone())
    }

    /// Copies a text of at least one byte to an array of a lane's queue. Returns also true if the text ends
    /// with a newline.
    fn send(&self, lane: &Mutex<Lane<A>>, text: Pieces<'_>) -> Result<(A::Buffer<u8>, bool), Error> {
        let mut array = {
            let Lane { queue, .. } = &*lock(lane);
            let array = IndexStage::make_text(queue, text.len)?;
            // Another queue writes to the array.
            queue.wait()?;
            array
        };
        let idle = lock(&self.carriers).pop();
        let mut carrier = match idle {
            Some(carrier) => carrier,
            None => Carrier::new(self.device.queue()?)?,
        };
        let sent = carrier.carry(&mut array, text);
        lock(&self.carriers).push(carrier);
        sent.map(|ends_with_newline| (array, ends_with_newline))
    }
}

impl<A: Accelerator> KeepForm for DeviceKeeper<A> {
    fn partitions(&self) -> (usize, usize) {
        // With scratch, the partitions that are evaluated at one time take an eighth of the memory.
        let room = self.memory / (8 * DEVICE_BYTES_PER_BYTE * QUEUES as u64);
        (room.clamp(SMALLEST_PARTITION, LARGEST_PARTITION) as usize, QUEUES)
    }

    fn loaders(&self) -> usize {
        cores().clamp(QUEUES, MOST_LOADERS)
    }

    fn text_memory(&self, len: usize) -> Result<Buffer, Error> {
        self.device.kept_memory(len)
    }

    fn room(&self, bytes: u64, partition_size: usize, levels: Level) -> Result<Room, Error> {
        let scratch = DEVICE_BYTES_PER_BYTE * bytes.min((partition_size * QUEUES) as u64);
        let needed = bytes_kept(bytes, partition_size, levels).saturating_add(scratch);
        Ok(Room { needed, free: self.device.free_memory()? })
    }

    fn keep(&self, number: usize, text: Pieces<'_>, levels: Level) -> Result<Box<dyn Kept>, Error> {
        let (lane, most_cells, len) = (self.of(number)?, self.most_cells, text.len);
        let mut arrays = Arrays::default();
        let (shape, faults) = if len == 0 {
            (None, Vec::new())
        } else {
            let (array, ends_with_newline) = self.send(&lane, text)?;
            let mut guard = lock(&lane);
            let Lane { stages, queue } = &mut *guard;
            let _waits = Waits(queue);
            stages.index.put_text(queue, array, len, ends_with_newline)?;
            let shape = stages.index.build(queue, levels)?;
            let faults = if shape.any_faulty {
                let text = stages.index.text_back(queue)?;
                stages.index.judge(queue, Lines::Plain(&text), shape, diagnose)?
            } else {
                Vec::new()
            };
            stages.index.exchange(&mut arrays);
            (Some(shape), faults)
        };
        Ok(Box::new(KeptPartition {
            arrays: Mutex::new(arrays),
            len,
            shape,
            faults,
            levels,
            most_cells,
            lane,
        }))
    }
}

/// One kept partition on a device.
struct KeptPartition<A: Accelerator> {
    /// The partition's arrays. During a query they are in the lane. They are dropped before the queue.
    arrays: Mutex<Arrays<A>>,
    /// Bytes of the text.
    len: usize,
    /// `None` if the text is empty.
    shape: Option<IndexShape>,
    faults: Vec<LineFault>,
    levels: Level,
    most_cells: usize,
    lane: Arc<Mutex<Lane<A>>>,
}

impl<A: Accelerator> KeptPartition<A> {
    /// The arrays, while the lane is locked.
    fn arrays(&self) -> Result<MutexGuard<'_, Arrays<A>>, Error> {
        // A thread that panicked while it held the lock has left these arrays in the lane, where those of the
        // next partition replaced them.
        self.arrays.lock().map_err(|_| {
            Error::Internal("a partition was lost by a thread that ended before its work did".into())
        })
    }

    /// Evaluates a program over the arrays.
    fn answer_kept(
        &self,
        shape: IndexShape,
        text: Lines<'_>,
        program: &Program,
        want: Want,
    ) -> Result<Answer, Error> {
        let mut lane = lock(&self.lane);
        let Lane { stages, queue } = &mut *lane;
        let mut arrays = self.arrays()?;
        stages.index.exchange(&mut arrays);
        let answer = stages.query.send(queue, program).and_then(|()| {
            let faults = self.faults.clone();
            IndexedText { stages, text, base: 0, shape, nodes: None, faults }.answer(queue, program, want)
        });
        stages.index.exchange(&mut arrays);
        Ok(Answer { pieces: vec![answer?] })
    }
}

impl<A: Accelerator> Kept for KeptPartition<A> {
    fn answer(&self, text: &dyn HostText, program: &Program, want: Want) -> Result<Answer, Error> {
        let Some(shape) = self.shape else { return Ok(Answer::default()) };
        if program.levels() > self.levels {
            let said = format!("{} levels of an index that has {}", program.levels(), self.levels);
            return Err(Error::Internal(said));
        }
        if program.needs_trees() || !is_within(self.most_cells, program, shape.lines) {
            // Trees are not kept. A query with too many cells is evaluated in parts, and each part needs an
            // index of its own.
            let text = text.bytes()?;
            let mut lane = lock(&self.lane);
            let Lane { stages, queue } = &mut *lane;
            let task = Task { evaluation: Evaluation::new(program, want), most_cells: self.most_cells };
            return answer_in_parts(queue, stages, Lines::Plain(text), task);
        }
        if let Some(text) = text.held() {
            return self.answer_kept(shape, Lines::Plain(text), program, want);
        }
        let is_needed = Cell::new(false);
        match self.answer_kept(shape, Lines::OnDevice(self.len, &is_needed), program, want) {
            // The text is copied while nobody holds the lane. The next query finds it on the host.
            Err(_) if is_needed.get() => self.answer_kept(shape, Lines::Plain(text.bytes()?), program, want),
            answered => answered,
        }
    }

    fn copy_text(&self, to: &mut [u8]) -> Result<(), Error> {
        if to.len() != self.len {
            return Err(Error::Internal(format!("{} bytes for a text of {}", to.len(), self.len)));
        }
        if to.is_empty() {
            return Ok(());
        }
        let lane = lock(&self.lane);
        self.arrays()?.copy_text(&lane.queue, to)
    }

    fn lines(&self) -> LineIx {
        self.shape.map_or(0, |shape| shape.lines as LineIx)
    }

    fn memory(&self) -> u64 {
        self.arrays.lock().map_or(0, |arrays| arrays.bytes())
    }
}
