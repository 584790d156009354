//! The stages of one partition on a device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpath_answer::answer::{Answer, LineFault, Want};
use warpath_answer::backend::{Abilities, Backend, Buffer, Setup, StructuralIndex, Worker};
use warpath_answer::forms::Forms;
use warpath_answer::resident::KeepForm;
use warpath_answer::stage::{Evaluation, Stage};
use warpath_core::error::Error;
use warpath_core::leaves::LeafForm;
use warpath_cpu::Cpu;
use warpath_cpu::bitmap::maker::BitmapForm;
use warpath_cpu::strict;
use warpath_cpu::twig::TwigForm;
use warpath_lang::program::Program;
use warpath_shared::units::Level;
use warpath_store::packed::PackedText;

use super::lines::Lines;
use super::partition::{
    DEVICE_BYTES_PER_BYTE, Lane, SMALLEST_PARTITION, Stages, Task, Waits, answer_in_parts,
};
use super::resident::DeviceKeeper;
use super::tree::{HostTrees, TreeCut};
use super::{Accelerator, Queues, stages};

/// Runs partitions through a device. Each of several workers runs its partitions on its own queue.
///
/// ```text
/// worker 0   | read | copy | kernels | back | read | copy | ...
/// worker 1      | read     | copy | kernels | back | read | copy | ...
/// worker 2          | read        | copy | kernels | back | ...
///                           ^ the copies follow one another: no copy waits for a read
/// ```
pub struct Pipeline<A: Accelerator> {
    /// The buffers of the first queue, for [`load`](Self::load), [`index`](Backend::index) and
    /// [`answer`](Self::answer). Workers have queues of their own.
    stages: Mutex<Stages<A>>,
    /// Queues of dropped workers, kept for reuse with their buffers.
    idle: Mutex<Vec<Lane<A>>>,
    forms: Forms,
    device: Arc<A>,
    /// Bytes of the device's memory.
    memory: u64,
    most_cells: usize,
}

/// The number of workers that keeps copies and kernels going while others read and print.
const WORKERS: usize = 12;
/// The largest default partition. With larger ones, the partitions of all workers would not stay in the
/// processors' caches between reading and copying (docs/lab/transfer.md).
const LARGEST_DEFAULT_PARTITION: u64 = 12 << 20;
/// The number of workers and the largest partition for texts that are in pinned memory already
/// (docs/lab/transfer.md).
const BUFFERED_WORKERS: usize = 6;
const LARGEST_BUFFERED: u64 = 16 << 20;
/// The divisor for a small part of a device's memory. If the workers need no more than this part, the free
/// memory is not queried, because the query waits for the device.
const LITTLE: u64 = 8;

/// The most cells, of a path and a line each, that are evaluated at once. Each cell needs up to 44 bytes on
/// the device for each worker (counts, offsets, and two kept matches). A text with more cells, of very many
/// paths and very short lines, is evaluated in parts.
const MOST_CELLS: usize = 1 << 24;

impl<A: Accelerator> Pipeline<A> {
    /// Makes a pipeline over a device, and derives partitions and workers from its memory. Does not wait
    /// until the device is ready.
    ///
    /// # Errors
    /// [`Error::Device`] if the device does not report its memory.
    pub fn new(device: A) -> Result<Self, Error> {
        let memory = device.memory()?;
        let (stages, idle, device) = (Mutex::default(), Mutex::default(), Arc::new(device));
        let mut forms = Forms::default();
        forms.register::<dyn TwigForm>(Box::new(Queues(device.clone())));
        forms.register::<dyn BitmapForm>(Box::new(Queues(device.clone())));
        forms.register::<dyn LeafForm>(Box::new(Queues(device.clone())));
        Ok(Self { stages, idle, forms, device, memory, most_cells: 0 }.most_cells(MOST_CELLS))
    }

    /// Sets the number of cells, of a path and a line each, that are evaluated at once. A text with more is
    /// evaluated in parts. The setting changes the memory that is needed, never the result.
    #[must_use]
    pub fn most_cells(mut self, cells: usize) -> Self {
        self.most_cells = cells;
        let keeper = DeviceKeeper::new(self.device.clone(), self.memory, cells);
        self.forms.register::<dyn KeepForm>(Box::new(keeper));
        self
    }

    /// The device: the queue that [`load`](Self::load), [`index_resident`](Self::index_resident),
    /// [`index`](Backend::index) and [`answer`](Self::answer) use.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Copies a text to the device for [`index_resident`](Self::index_resident), and does nothing else.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn load(&self, text: &[u8]) -> Result<(), Error> {
        let _waits = Waits(&*self.device);
        // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the device first.
        unsafe { self.stages().index.load(&*self.device, text) }?;
        self.device.wait()
    }

    /// Builds the index of the text that is on the device, and leaves the index there. Benches time this.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] if no text was loaded.
    pub fn index_resident(&self, levels: Level) -> Result<(), Error> {
        self.stages().index.build(&*self.device, levels).map(drop)
    }

    /// Indexes the text that is on the device again, makes its trees, and leaves them there. Benches time
    /// this. `cut` changes only the speed.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] if no text was loaded.
    pub fn trees_resident(&self, cut: TreeCut) -> Result<(), Error> {
        let Stages { index, tree, .. } = &mut *self.stages();
        let mut shape = index.build(&*self.device, 0)?;
        tree.build(&*self.device, index, &mut shape, cut).map(drop)
    }

    /// Indexes the text that is on the device again. Checks it by all of RFC 8259 and for UTF-8, as far as
    /// the device does. Benches time this. Returns whether every line is valid. A line that is not found
    /// valid is only suspected.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] if no text was loaded.
    pub fn strict_resident(&self) -> Result<bool, Error> {
        Ok(!self.stages().check_strictly(&*self.device)?.any_faulty)
    }

    /// The faulty lines of a text by all of RFC 8259 and UTF-8, equal to those of
    /// [`faults`](warpath_cpu::strict::faults). The host judges the lines that the device suspects.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn strict_faults(&self, text: &[u8]) -> Result<Vec<LineFault>, Error> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let stages = &mut *self.stages();
        let _waits = Waits(&*self.device);
        // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the device first.
        unsafe { stages.index.load(&*self.device, text) }?;
        let shape = stages.check_strictly(&*self.device)?;
        stages.index.judge(&*self.device, Lines::Plain(text), shape, strict::line_fault)
    }

    /// Makes the trees of a text and copies them back, with the faults that the index and the trees found.
    /// `cut` changes the speed, never the trees.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn trees(&self, text: &[u8], cut: TreeCut) -> Result<HostTrees, Error> {
        if text.is_empty() {
            return Ok(HostTrees { roots: vec![0], ..HostTrees::default() });
        }
        let Stages { index, tree, .. } = &mut *self.stages();
        let _waits = Waits(&*self.device);
        // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the device first.
        unsafe { index.load(&*self.device, text) }?;
        let mut shape = index.build(&*self.device, 0)?;
        let nodes = tree.build(&*self.device, index, &mut shape, cut)?;
        tree.download(&*self.device, index, text, shape, nodes)
    }

    /// The best partitions of a text that is in [buffers](Backend::buffer) already: their size in bytes, and
    /// the number of workers that should evaluate them at the same time.
    pub fn buffered_partitions(&self) -> (usize, usize) {
        // No worker reads, so fewer workers keep copies and kernels busy, and they disturb each other less.
        let room = self.memory / (DEVICE_BYTES_PER_BYTE * WORKERS as u64);
        (room.clamp(SMALLEST_PARTITION, LARGEST_BUFFERED) as usize, BUFFERED_WORKERS)
    }

    /// Evaluates a program over one text, on the first queue.
    ///
    /// # Errors
    /// As for [`Worker::answer`].
    pub fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        let task = Task { evaluation: Evaluation::new(program, want), most_cells: self.most_cells };
        answer_in_parts(&*self.device, &mut self.stages(), Lines::Plain(text), task)
    }

    fn stages(&self) -> MutexGuard<'_, Stages<A>> {
        // A panic of another thread leaves valid buffers, and nothing relies on their contents.
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Lane<A>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker with its queue.
struct DeviceWorker<'a, A: Accelerator> {
    /// `Some` until the drop.
    lane: Option<Lane<A>>,
    number: usize,
    pipeline: &'a Pipeline<A>,
}

impl<A: Accelerator> DeviceWorker<'_, A> {
    /// Evaluates a text. Worker 0 loads the module of the index, which all workers need first. Meanwhile each
    /// of the next workers loads one of the other modules.
    fn work(&mut self, text: Lines<'_>, evaluation: Evaluation<'_>) -> Result<Answer, Error> {
        let Some(Lane { stages, queue }) = &mut self.lane else {
            return Err(Error::Internal("a worker without a queue".into()));
        };
        if let Some(before) = self.number.checked_sub(1)
            && let Some(kernel) = stages::to_prepare(&evaluation).get(before)
        {
            queue.prepare(kernel)?;
        }
        answer_in_parts(queue, stages, text, Task { evaluation, most_cells: self.pipeline.most_cells })
    }
}

impl<A: Accelerator> Worker for DeviceWorker<'_, A> {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.work(Lines::Plain(text), Evaluation::new(program, want))
    }

    fn answer_packed(
        &mut self,
        text: &PackedText<'_>,
        program: &Program,
        want: Want,
        strict: bool,
    ) -> Result<Answer, Error> {
        self.work(Lines::Packed(text), Evaluation { program, want, strict, packed: true })
    }

    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.work(Lines::Plain(text), Evaluation { strict: true, ..Evaluation::new(program, want) })
    }
}

impl<A: Accelerator> Drop for DeviceWorker<'_, A> {
    fn drop(&mut self) {
        self.pipeline.idle().extend(self.lane.take());
    }
}

impl<A: Accelerator> Backend for Pipeline<A> {
    fn name(&self) -> String {
        self.device.name()
    }

    fn abilities(&self) -> Abilities {
        Abilities { checks_strictly: true, uses_index_files: false, keeps_columns: true }
    }

    fn partition_size(&self) -> usize {
        let room = self.memory / (DEVICE_BYTES_PER_BYTE * WORKERS as u64);
        room.clamp(SMALLEST_PARTITION, LARGEST_DEFAULT_PARTITION) as usize
    }

    /// Returns fewer workers if partitions are too large for the device's memory.
    fn workers(&self, partition_size: usize) -> usize {
        let each = DEVICE_BYTES_PER_BYTE * partition_size as u64;
        let all = each * WORKERS as u64;
        if all <= self.memory / LITTLE {
            return WORKERS;
        }
        // The free memory is known only when the device is ready. If the device never becomes ready, the
        // first worker returns the reason.
        let free = self.device.free_memory().unwrap_or(self.memory);
        (free / each.max(1)).clamp(1, WORKERS as u64) as usize
    }

    fn worker(&self, number: usize) -> Result<Box<dyn Worker + '_>, Error> {
        let idle = self.idle().pop();
        let lane = match idle {
            Some(lane) => lane,
            None => Lane::new(self.device.queue()?),
        };
        Ok(Box::new(DeviceWorker { lane: Some(lane), number, pipeline: self }))
    }

    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.device.host_buffer(len)
    }

    fn setup(&self) -> Setup {
        self.device.setup()
    }

    fn forms(&self) -> &Forms {
        &self.forms
    }

    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage> {
        let program = evaluation.program;
        if program.has_patterns_at_run() {
            // Patterns are compiled on the host, and this one is known only during the evaluation.
            return Cpu.stages(evaluation);
        }
        stages::of_program(evaluation).into_iter().map(|row| row.stage(program.levels())).collect()
    }

    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error> {
        if text.is_empty() {
            return Ok(StructuralIndex {
                line_starts: vec![0],
                levels: vec![Vec::new(); levels as usize],
                ..StructuralIndex::default()
            });
        }
        let index = &mut self.stages().index;
        let _waits = Waits(&*self.device);
        // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the device first.
        unsafe { index.load(&*self.device, text) }?;
        let shape = index.build(&*self.device, levels)?;
        index.download(&*self.device, text, shape)
    }
}
