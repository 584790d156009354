//! The stages of one partition on a device.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::check::{Fault, diagnose};
use warpath_shared::kernel::{
    CountScan, FilterCount, FilterFill, Kernel, KindCheck, LineIndex, LineScan, LineStates, NamesCount,
    NamesFill, QueryBounds, QueryCount, QueryCountLoose, QueryFill, QuerySlots, QuerySlotsLoose, SlotCompact,
    StrictCheck, StructureWrite, TapeLines, TapeMinima, TapeNodes, TapePieces, TapeScan, TapeWords,
    TreeCount, TreeFill, TwigMatch, TwigOps, XmlEvents, XmlNodes, XmlOps, XmlStates,
};
use warpath_shared::units::{Level, LineIx, PartOffset};
use warpath_store::packed::text::PackedText;

use super::Accelerator;
use super::columns::{ColumnsStage, ItemStage, Source};
use super::index::{IndexShape, IndexStage};
use super::kept::{KeptQueues, LARGEST_PARTITION, QUEUES, bytes_kept};
use super::lines::Lines;
use super::query::{Find, QueryStage};
use super::results::Texts;
use super::tree::{TreeCut, TreeStage, Trees};
use super::twig_worker::DeviceTwigs;
use crate::answer::{Answer, LineFault, Piece, Want};
use crate::backend::{Backend, Buffer, Kept, Room, Stage, StructuralIndex, Worker};
use crate::bitmap::maker::BitmapMaker;
use crate::columns::ColumnBatch;
use crate::cpu::Cpu;
use crate::strict;
use crate::tree::line_fault;
use crate::twig::Documents;
use crate::twig::standing::TwigWorker;

/// Runs partitions through a device. Each of several workers runs its partitions on its own queue.
///
/// ```text
/// worker 0   | read | copy | kernels | back | read | copy | ...
/// worker 1      | read     | copy | kernels | back | read | copy | ...
/// worker 2          | read        | copy | kernels | back | ...
///                           ^ the copies follow one another: the host's memory is never waited for
/// ```
pub struct Pipeline<A: Accelerator> {
    /// The buffers of the first queue, for [`load`](Self::load), [`index`](Backend::index) and
    /// [`answer`](Backend::answer). Workers have queues of their own.
    stages: Mutex<Stages<A>>,
    /// Queues of dropped workers, kept for reuse with their buffers.
    idle: Mutex<Vec<Lane<A>>>,
    kept: KeptQueues<A>,
    device: A,
    /// Bytes of the device's memory.
    memory: u64,
    most_cells: usize,
}

/// A queue with the buffers of its partition.
pub(super) struct Lane<A: Accelerator> {
    pub stages: Stages<A>,
    pub queue: A,
}

impl<A: Accelerator> Lane<A> {
    pub fn new(queue: A) -> Self {
        Self { stages: Stages::default(), queue }
    }
}

/// The stages of a partition, with their buffers.
pub(super) struct Stages<A: Accelerator> {
    pub index: IndexStage<A>,
    pub query: QueryStage<A>,
    columns: ColumnsStage<A>,
    raw: ItemStage<A>,
    tree: TreeStage<A>,
}

impl<A: Accelerator> Default for Stages<A> {
    fn default() -> Self {
        Self {
            index: IndexStage::default(),
            query: QueryStage::default(),
            columns: ColumnsStage::default(),
            raw: ItemStage::default(),
            tree: TreeStage::default(),
        }
    }
}

/// Bytes on the device for each byte of a partition. They hold the text, a string bitmap, as many levels as a
/// long path has, and as much again for line starts, matches and scratch.
const DEVICE_BYTES_PER_BYTE: u64 = 4;
/// The number of workers that keeps copies and kernels going while others read and print.
const WORKERS: usize = 12;
/// The largest default partition. With larger ones, the partitions of all workers would not stay in the
/// processors' caches between reading and copying (docs/performance.md).
const LARGEST_DEFAULT_PARTITION: u64 = 12 << 20;
/// The number of workers and the largest partition for texts that are in pinned memory already
/// (docs/performance.md).
const BUFFERED_WORKERS: usize = 6;
const LARGEST_BUFFERED: u64 = 16 << 20;
/// The smallest default partition. In smaller ones, launches take most of the time.
const SMALLEST_DEFAULT_PARTITION: u64 = 1 << 20;
/// The divisor for a small part of a device's memory. If the workers need no more than this part, the memory
/// that others use is not queried.
const LITTLE: u64 = 8;

/// The most cells, of a path and a line each, that are evaluated at once. Each cell needs up to 44 bytes on
/// the device for each worker (counts, offsets, and two kept matches). A text with more cells, of very many
/// paths and very short lines, is evaluated in parts.
const MOST_CELLS: usize = 1 << 24;

/// The offset at which to cut a text of several lines in two.
fn line_near_the_middle(text: &[u8]) -> usize {
    let middle = text.len() / 2;
    let after = |at| at + 1;
    match memchr::memchr(b'\n', &text[middle..text.len() - 1]) {
        Some(at) => middle + at + 1,
        None => memchr::memrchr(b'\n', &text[..middle]).map_or(text.len(), after),
    }
}

impl<A: Accelerator> Pipeline<A> {
    /// Makes a pipeline over a device, and derives partitions and workers from its memory. Does not wait
    /// until the device is ready.
    ///
    /// # Errors
    /// [`Error::Device`] if the device does not report its memory.
    pub fn new(device: A) -> Result<Self, Error> {
        let memory = device.memory()?;
        let (stages, idle) = (Mutex::default(), Mutex::default());
        Ok(Self { stages, idle, kept: KeptQueues::default(), device, memory, most_cells: MOST_CELLS })
    }

    /// Sets the number of cells, of a path and a line each, that are evaluated at once. A text with more is
    /// evaluated in parts. The setting changes the memory that is needed, never the result.
    #[must_use]
    pub fn most_cells(mut self, cells: usize) -> Self {
        self.most_cells = cells;
        self
    }

    /// The device: the queue that [`load`](Self::load), [`index_resident`](Self::index_resident),
    /// [`index`](Backend::index) and [`answer`](Backend::answer) use.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Copies a text to the device for [`index_resident`](Self::index_resident), and does nothing else.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn load(&self, text: &[u8]) -> Result<(), Error> {
        let _waits = Waits(&self.device);
        // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the device before.
        unsafe { self.stages().index.load(&self.device, text) }?;
        self.device.wait()
    }

    /// Builds the index of the text that is on the device, and leaves the index there. Benches time this.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] if no text was loaded.
    pub fn index_resident(&self, levels: Level) -> Result<(), Error> {
        self.stages().index.build(&self.device, levels).map(drop)
    }

    /// Indexes the text that is on the device again, makes its trees, and leaves them there. Benches time
    /// this. The cut of the lines changes only the speed.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] if no text was loaded.
    pub fn trees_resident(&self, cut: TreeCut) -> Result<(), Error> {
        let Stages { index, tree, .. } = &mut *self.stages();
        let mut shape = index.build(&self.device, 0)?;
        tree.build(&self.device, index, &mut shape, cut).map(drop)
    }

    /// Indexes the text that is on the device again. Checks it by all of RFC 8259 and for UTF-8, as far as
    /// the device does. Benches time this. Returns whether every line is valid. A line that is not found
    /// valid is only suspected.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] if no text was loaded.
    pub fn strict_resident(&self) -> Result<bool, Error> {
        Ok(!self.stages().check_strictly(&self.device)?.any_faulty)
    }

    /// The faulty lines of a text by all of RFC 8259 and UTF-8, equal to those of [`crate::strict::faults`].
    /// The host judges the lines that the device suspects.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn strict_faults(&self, text: &[u8]) -> Result<Vec<LineFault>, Error> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let stages = &mut *self.stages();
        let _waits = Waits(&self.device);
        // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the device before.
        unsafe { stages.index.load(&self.device, text) }?;
        let shape = stages.check_strictly(&self.device)?;
        stages.index.judge(&self.device, Lines::Plain(text), shape, strict::line_fault)
    }

    /// Makes the trees of a text and copies them back, with the faults that the index and the trees found.
    /// The cut of the lines changes the speed, never the trees.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn trees(&self, text: &[u8], cut: TreeCut) -> Result<Trees, Error> {
        if text.is_empty() {
            return Ok(Trees { roots: vec![0], ..Trees::default() });
        }
        let Stages { index, tree, .. } = &mut *self.stages();
        let _waits = Waits(&self.device);
        // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the device before.
        unsafe { index.load(&self.device, text) }?;
        let mut shape = index.build(&self.device, 0)?;
        let nodes = tree.build(&self.device, index, &mut shape, cut)?;
        tree.download(&self.device, index, text, (shape, nodes))
    }

    fn stages(&self) -> MutexGuard<'_, Stages<A>> {
        // A panic of another thread leaves valid buffers, and nothing relies on their contents.
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Lane<A>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a task over a partition on a queue.
pub(super) fn answer_in_parts<A: Accelerator>(
    queue: &A,
    stages: &mut Stages<A>,
    text: Lines<'_>,
    task: Task<'_>,
    want: Want,
) -> Result<Answer, Error> {
    let program = task.program;
    if program.has_patterns_at_run() {
        let (mut cpu, text) = (Cpu.worker(0)?, text.bytes()?);
        return if task.strict {
            cpu.answer_strictly(text, program, want)
        } else {
            cpu.answer(text, program, want)
        };
    }
    let mut pieces = Vec::new();
    let _waits = Waits(queue);
    let mut each = |part: Part<'_, A>| {
        pieces.push(part.answer(queue, program, want)?);
        Ok(())
    };
    // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the queue before.
    match unsafe { stages.parts(queue, task, text, 0, &mut each) } {
        Ok(()) => Ok(Answer { pieces }),
        Err(error) => {
            // The device only detects faulty codes. The host decodes them to find the exact error.
            text.bytes()?;
            Err(error)
        }
    }
}

/// Returns whether a text of this many lines has at most `most_cells` cells. One line is never cut.
pub(super) fn is_within(most_cells: usize, program: &Program, lines: usize) -> bool {
    lines <= 1 || program.paths() * lines <= most_cells
}

/// A guard that waits for a queue, however a function ends that gave a borrowed text to the queue.
pub(super) struct Waits<'a, A: Accelerator>(pub &'a A);

impl<A: Accelerator> Drop for Waits<'_, A> {
    fn drop(&mut self) {
        // After a failure nothing runs on the queue. The caller gets the error from another call.
        let _ = self.0.wait();
    }
}

/// The stage that makes trees, for `explain`.
fn trees_stage() -> Stage {
    let (tokens, long) = ([TapeWords::NAME, TapeScan::NAME], [TapeMinima::NAME, TapePieces::NAME]);
    let (tokens, long) = (tokens.join(", "), long.join(", "));
    let (lines, nodes) = (TapeLines::NAME, TapeNodes::NAME);
    Stage::new("device", "trees", format!("{tokens}, {lines}, if lines are long {long}, and {nodes}"))
}

/// A worker with its queue.
struct DeviceWorker<'a, A: Accelerator> {
    /// `Some` until the drop.
    lane: Option<Lane<A>>,
    number: usize,
    pipeline: &'a Pipeline<A>,
}

/// Prepares kernels that follow the index. Each of the first workers prepares some, while worker 0 prepares
/// the index, which all need first.
fn prepare<A: Accelerator>(queue: &A, number: usize, task: Task<'_>, want: Want) -> Result<(), Error> {
    let (program, find) = (task.program, want.to_find(task.program));
    match number {
        4 if task.strict => queue.prepare::<TapeWords>(),
        5 if task.strict => queue.prepare::<StrictCheck>(),
        1 if program.is_singular() => queue.prepare::<QuerySlots>(),
        1 if !program.names().is_empty() => queue.prepare::<NamesCount>(),
        1 if program.needs_trees() => queue.prepare::<TreeCount>(),
        2 if !program.names().is_empty() && find.matches => queue.prepare::<NamesFill>(),
        2 if program.needs_trees() && find.matches => queue.prepare::<TreeFill>(),
        4 if program.needs_trees() => queue.prepare::<TapeWords>(),
        1 if !program.has_plain_filters() => queue.prepare::<FilterCount>(),
        2 if !program.has_plain_filters() && find.matches => queue.prepare::<FilterFill>(),
        1 => queue.prepare::<QueryCount>(),
        2 if find.matches && !program.is_singular() => queue.prepare::<QueryFill>(),
        3 if find.text.is_some() || find.records || !program.is_singular() => queue.prepare::<CountScan>(),
        _ => Ok(()),
    }
}

impl<A: Accelerator> DeviceWorker<'_, A> {
    fn work(&mut self, text: Lines<'_>, task: Task<'_>, want: Want) -> Result<Answer, Error> {
        let Some(Lane { stages, queue }) = &mut self.lane else {
            return Err(Error::Internal("a worker without a queue".into()));
        };
        prepare(queue, self.number, task, want)?;
        answer_in_parts(queue, stages, text, task, want)
    }
}

impl<A: Accelerator> Worker for DeviceWorker<'_, A> {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.work(Lines::Plain(text), Task::new(program, self.pipeline.most_cells), want)
    }

    fn answer_packed(
        &mut self,
        text: &PackedText<'_>,
        program: &Program,
        want: Want,
        strict: bool,
    ) -> Result<Answer, Error> {
        let task = Task::new(program, self.pipeline.most_cells);
        self.work(Lines::Packed(text), if strict { task.strictly() } else { task }, want)
    }

    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.work(Lines::Plain(text), Task::new(program, self.pipeline.most_cells).strictly(), want)
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

    fn answers_packed(&self) -> bool {
        true
    }

    fn bitmap_maker(&self) -> Result<BitmapMaker, Error> {
        Ok(BitmapMaker::on(self.device.queue()?))
    }

    fn partition_size(&self) -> usize {
        let room = self.memory / (DEVICE_BYTES_PER_BYTE * WORKERS as u64);
        room.clamp(SMALLEST_DEFAULT_PARTITION, LARGEST_DEFAULT_PARTITION) as usize
    }

    /// Returns fewer workers if partitions are too large for the device's memory.
    fn workers(&self, partition_size: usize) -> usize {
        let each = DEVICE_BYTES_PER_BYTE * partition_size as u64;
        let all = each * WORKERS as u64;
        if all <= self.memory / LITTLE {
            return WORKERS;
        }
        // The free memory is known only when the device is ready. If it never is, the first worker returns
        // the reason.
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

    fn keep(&self, number: usize, text: &[u8], levels: Level) -> Result<Box<dyn Kept>, Error> {
        self.kept.keep(&self.device, (number, self.most_cells), text, levels)
    }

    fn kept_partitions(&self) -> (usize, usize) {
        // With scratch, the partitions that are evaluated at one time take an eighth of the memory.
        let room = self.memory / (8 * DEVICE_BYTES_PER_BYTE * QUEUES as u64);
        (room.clamp(SMALLEST_DEFAULT_PARTITION, LARGEST_PARTITION) as usize, QUEUES)
    }

    fn buffered_partitions(&self) -> (usize, usize) {
        // No worker reads, so fewer workers keep copies and kernels busy, and they disturb each other less.
        let room = self.memory / (DEVICE_BYTES_PER_BYTE * WORKERS as u64);
        (room.clamp(SMALLEST_DEFAULT_PARTITION, LARGEST_BUFFERED) as usize, BUFFERED_WORKERS)
    }

    fn room_to_keep(&self, bytes: u64, partition_size: usize, levels: Level) -> Result<Option<Room>, Error> {
        let scratch = DEVICE_BYTES_PER_BYTE * bytes.min((partition_size * QUEUES) as u64);
        let needed = bytes_kept(bytes, partition_size, levels).saturating_add(scratch);
        Ok(Some(Room { needed, free: self.device.free_memory()? }))
    }

    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.device.host_buffer(len)
    }

    fn setup(&self) -> Vec<(&'static str, Duration)> {
        self.device.setup()
    }

    fn notes(&self) -> Vec<String> {
        self.device.notes()
    }

    fn ready(&self) -> Option<Instant> {
        self.device.ready()
    }

    fn twig_worker(&self, _number: usize) -> Result<Box<dyn TwigWorker + '_>, Error> {
        Ok(Box::new(DeviceTwigs::new(self.device.queue()?)))
    }

    fn twig_stages(&self, documents: Documents) -> Vec<Stage> {
        let lines = format!("{}, and if lines are long {}", LineStates::NAME, LineScan::NAME);
        let index = format!("{}: string bitmap; {}: line starts", StructureWrite::NAME, LineIndex::NAME);
        let programs = TwigOps::NAME;
        let asks = format!("{}: all subscriptions at once, by a bit for each node", TwigMatch::NAME);
        let asks = Stage::new("device", "twigs", asks);
        match documents {
            Documents::Ndjson => vec![
                Stage::new("device", "lines", lines),
                Stage::new("device", "index", index),
                trees_stage(),
                Stage::new("cpu", "faults", "the lines that the kernels suspect, if there are any"),
                Stage::new("device", "programs", format!("{programs}: each record as operations on twigs")),
                asks,
                Stage::new("cpu", "twigs", "records deeper than 16 levels, or that pass very many tests"),
            ],
            Documents::Xml => {
                let kernels = [XmlStates::NAME, XmlEvents::NAME, XmlNodes::NAME].join(", ");
                let ops = XmlOps::NAME;
                let small = format!("{kernels}: tags, attributes and text of documents up to 128 KiB");
                let others =
                    "other documents, and those in which anything is out of the ordinary (every worker)";
                vec![
                    Stage::new("device", "xml", small),
                    Stage::new("device", "programs", format!("{ops}: each document as operations on twigs")),
                    Stage::new("cpu", "programs", others),
                    asks,
                    Stage::new("cpu", "twigs", "documents deeper than 16 levels"),
                ]
            }
            Documents::Json => vec![
                Stage::new("cpu", "programs", "each document as operations on twigs (every worker)"),
                asks,
                Stage::new("cpu", "twigs", "documents deeper than 16 levels"),
            ],
        }
    }

    fn stages(&self, program: &Program) -> Vec<Stage> {
        if program.has_patterns_at_run() {
            // Patterns are compiled on the host, and this one is known only during the evaluation.
            return Cpu.stages(program);
        }
        let levels = program.levels();
        let bitmaps = format!("{levels} leveled bitmap{}", if levels == 1 { "" } else { "s" });
        let lines = format!("{}, and if lines are long {}", LineStates::NAME, LineScan::NAME);
        let index =
            format!("{}: string bitmap, {bitmaps}; {}: line starts", StructureWrite::NAME, LineIndex::NAME);
        let counts = [CountScan::NAME, QueryBounds::NAME].join(", ");
        let query = if !program.names().is_empty() {
            format!("{}, {counts}, and for the matches {}", NamesCount::NAME, NamesFill::NAME)
        } else if program.needs_trees() {
            format!("{}, {counts}, and for the matches {}", TreeCount::NAME, TreeFill::NAME)
        } else if program.is_singular() {
            let (plain, loose) = (QuerySlots::NAME, QuerySlotsLoose::NAME);
            format!("{plain}, for loose lines {loose}, {}", SlotCompact::NAME)
        } else if !program.has_plain_filters() {
            format!("{}, {counts}, and for the matches {}", FilterCount::NAME, FilterFill::NAME)
        } else {
            let (plain, loose) = (QueryCount::NAME, QueryCountLoose::NAME);
            format!("{plain}, for loose lines {loose}, {counts}, and for the matches {}", QueryFill::NAME)
        };
        let suspects = "the lines that the kernels suspect, if there are any";
        let mut stages = vec![
            Stage::new("device", "lines", lines),
            Stage::new("device", "index", index),
            Stage::new("device", "faults", KindCheck::NAME),
        ];
        if program.needs_trees() {
            stages.push(trees_stage());
        }
        stages.push(Stage::new("cpu", "faults", suspects));
        stages.push(Stage::new("device", "query", query));
        stages
    }

    fn strict_stages(&self, program: &Program) -> Vec<Stage> {
        if program.has_patterns_at_run() {
            return Cpu.strict_stages(program);
        }
        let mut stages = Backend::stages(self, program);
        let what = format!("{}: what strings and scalars consist of, and UTF-8", StrictCheck::NAME);
        // Validation comes after the index and before the trees. The trees check tokens against the grammar,
        // even if the program needs no trees.
        let at = stages.iter().position(|stage| stage.name == "trees" || stage.place == "cpu");
        let at = at.unwrap_or(stages.len());
        stages.insert(at, Stage::new("device", "validate", what));
        if !program.needs_trees() {
            stages.insert(at + 1, trees_stage());
        }
        stages
    }

    fn checks_strictly(&self) -> bool {
        true
    }

    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        let text = Lines::Plain(text);
        answer_in_parts(&self.device, &mut self.stages(), text, Task::new(program, self.most_cells), want)
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
        let _waits = Waits(&self.device);
        // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the device before.
        unsafe { index.load(&self.device, text) }?;
        let shape = index.build(&self.device, levels)?;
        index.download(&self.device, text, shape)
    }
}

/// One program, to be run over partitions.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    program: &'a Program,
    /// The most cells, of a path and a line each, that are evaluated at once.
    most_cells: usize,
    /// `true` to check records by all of RFC 8259 and for UTF-8.
    strict: bool,
}

impl<'a> Task<'a> {
    /// A task for a program, with a limit of cells at once.
    pub fn new(program: &'a Program, most_cells: usize) -> Self {
        Self { program, most_cells, strict: false }
    }

    /// Returns the task with strict checks.
    fn strictly(self) -> Self {
        Self { strict: true, ..self }
    }
}

/// A part of a partition that is indexed and checked on the device. The program is on the device too.
pub(super) struct Part<'a, A: Accelerator> {
    pub stages: &'a mut Stages<A>,
    pub text: Lines<'a>,
    pub base: usize,
    pub shape: IndexShape,
    /// The number of nodes of the trees, if the program needs trees.
    pub nodes: Option<usize>,
    pub faults: Vec<LineFault>,
}

impl<A: Accelerator> Part<'_, A> {
    /// Runs the program that was sent to the device.
    pub fn answer(self, device: &A, program: &Program, want: Want) -> Result<Piece, Error> {
        let Self { stages: Stages { index, query, columns, raw, tree }, text, base, shape, nodes, faults } =
            self;
        let cut = faults.first().map(|fault| fault.line);
        let Want { matches, records, .. } = want.to_find(program);
        let find = Find { matches, records, any_loose: shape.any_loose, cut };
        let indexed = index.indexed(device, shape)?;
        let trees = match nodes {
            Some(nodes) => Some(tree.trees(device, &indexed, nodes)?),
            None => None,
        };
        let mut bounds = query.find(device, indexed, trees, program, find)?;
        let found = query.found();
        let texts = match want.text {
            Some(form) => found.texts(device, indexed, &bounds, form, raw)?,
            None => Texts::default(),
        };
        let mut piece = Piece {
            base: base as PartOffset,
            lines: shape.lines as LineIx,
            counts: bounds.counts(),
            counts_before_fault: bounds.counts_before_cut(),
            matches: if want.matches || want.rows.is_some() {
                found.matches(device, &bounds)?
            } else if program.marks_records() {
                found.last_matches(device, &bounds)?
            } else {
                Vec::new()
            },
            texts: texts.texts,
            texts_before_fault: texts.before_fault,
            faults,
            ..Piece::default()
        };
        if program.marks_records() {
            piece.take_marks(program);
            found.list_marked(device, &piece.records)?;
            bounds.records = piece.records.len();
        }
        if find.records {
            let rows = bounds.records;
            // A caller that wants only columns needs the record numbers only to cut columns off before a
            // fault.
            let is_read = want.records || want.rows.is_some() || !piece.faults.is_empty();
            if is_read && !program.marks_records() {
                piece.records = found.records(device, rows)?;
            }
            if let Some(width) = want.columns {
                let source = Source { text, indexed, found, bounds: &bounds };
                let columns = columns.columns(device, &source, program.columns(), rows, width)?;
                piece.columns = ColumnBatch { rows, columns };
                piece.columns_before_fault = piece.records_before_fault();
            }
        }
        if let Some(form) = want.rows {
            // The part's text begins at offset `base` of the partition, so rows are written with base 0.
            let base = std::mem::take(&mut piece.base);
            piece.write_rows(text.bytes()?, program, form);
            piece.base = base;
        }
        piece.keep(want);
        Ok(piece)
    }
}

impl<A: Accelerator> Stages<A> {
    /// Indexes and checks the text that is on the device. The index holds the suspected lines.
    fn check_strictly(&mut self, device: &A) -> Result<IndexShape, Error> {
        let mut shape = self.index.build(device, 0)?;
        self.index.check_strictly(device, shape)?;
        self.tree.build(device, &mut self.index, &mut shape, TreeCut::default())?;
        Ok(shape)
    }

    /// Calls `each` on a text that begins at `base` of a partition. A text with more than `most_cells` cells,
    /// of a path and a line each, is passed in parts, in order.
    ///
    /// # Safety
    /// The text stays alive and unchanged until the device has been waited for.
    unsafe fn parts(
        &mut self,
        device: &A,
        task: Task<'_>,
        text: Lines<'_>,
        base: usize,
        each: &mut dyn FnMut(Part<'_, A>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if text.len()? == 0 {
            return Ok(());
        }
        // SAFETY: the caller guarantees the same for the whole text.
        unsafe {
            match text {
                Lines::Plain(text) => self.index.load(device, text),
                Lines::Packed(text) => self.index.load_packed(device, text),
            }
        }?;
        let mut shape = self.index.build(device, task.program.levels())?;
        if !is_within(task.most_cells, task.program, shape.lines) {
            let text = text.bytes()?;
            let (first, second) = text.split_at(line_near_the_middle(text));
            // SAFETY: both are parts of the text, for which the caller guarantees it.
            return unsafe {
                self.parts(device, task, Lines::Plain(first), base, each)?;
                self.parts(device, task, Lines::Plain(second), base + first.len(), each)
            };
        }
        let mut nodes = None;
        let mut fault: fn(&[u8]) -> Option<Fault> = diagnose;
        if task.strict {
            self.index.check_strictly(device, shape)?;
        }
        if task.strict || task.program.needs_trees() {
            let made = self.tree.build(device, &mut self.index, &mut shape, TreeCut::default())?;
            nodes = task.program.needs_trees().then_some(made);
            fault = if task.strict { strict::line_fault } else { line_fault };
        }
        let faults = self.index.judge(device, text, shape, fault)?;
        self.query.send(device, task.program)?;
        each(Part { stages: self, text, base, shape, nodes, faults })
    }
}
