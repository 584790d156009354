//! Twigs evaluated on the records of a partition on a device. The host reads only unusual records.

use warpath_answer::answer::LineFault;
use warpath_core::error::Error;
use warpath_cpu::tree::line_fault;
use warpath_cpu::twig::encode::Compiled;
use warpath_cpu::twig::names::Names;
use warpath_shared::kernel::{TwigMatch, TwigOps, TwigOpsArgs};
use warpath_shared::twig::{Matched, Op, Task};

use super::dictionary::DictionaryStage;
use super::index::{IndexShape, IndexStage};
use super::lines::Lines;
use super::tree::{TreeCut, TreeStage};
use super::twig::GroupStage;
use super::{Accelerator, Slot, launch, stages};

/// The initial room for operations for each node. A name and its value are two nodes, and most values pass
/// one test or none.
const OPS_A_NODE: usize = 4;
/// The largest room for operations for each node.
const MOST_OPS_A_NODE: usize = 64;
/// The part of the lines, as a divisor, that may lack room. If more lines lack room, the room grows.
const MANY_UNFIT: usize = 64;
/// The room for the numbers of lines that the host has to read. If there are more, the host reads all lines.
const UNFIT: usize = 1 << 16;
/// Bytes of text for each match in the initial room. If there are more matches, the programs run again.
const BYTES_OF_A_MATCH: usize = 64;

/// The matches of records.
#[derive(Clone, Debug, Default)]
pub struct LinesMatched {
    /// The matches, in no order. Lines are the documents, counted from 0.
    pub matched: Vec<Matched>,
    /// Lines that the host has to evaluate itself: they are deeper than a device supports, or pass very many
    /// tests.
    pub unfit: Vec<u32>,
    /// Faulty lines, which are not evaluated.
    pub faults: Vec<LineFault>,
    /// The number of lines.
    pub lines: usize,
}

/// Evaluates twigs on records on a device, in arrays that are kept from partition to partition.
pub struct TwigLinesStage<A: Accelerator> {
    device: A,
    index: IndexStage<A>,
    tree: TreeStage<A>,
    groups: GroupStage<A>,
    dictionary: DictionaryStage<A>,
    ops: Slot<A, Op>,
    tasks: Slot<A, Task>,
    unfit: Slot<A, u32>,
    /// The number of lines that do not fit.
    unfit_count: Slot<A, u32>,
    room: usize,
    ops_a_node: usize,
}

impl<A: Accelerator> TwigLinesStage<A> {
    /// Makes a stage for these twigs on a queue.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn new(device: A, twigs: &Compiled, names: &Names) -> Result<Self, Error> {
        let (groups, dictionary) = (GroupStage::new(&device, twigs)?, DictionaryStage::new(&device, names)?);
        let mut stage = Self {
            device,
            index: IndexStage::default(),
            tree: TreeStage::default(),
            groups,
            dictionary,
            ops: Slot::default(),
            tasks: Slot::default(),
            unfit: Slot::default(),
            unfit_count: Slot::default(),
            room: 0,
            ops_a_node: OPS_A_NODE,
        };
        let device = &stage.device;
        stage.unfit.room(device, UNFIT)?;
        stage.unfit_count.room(device, 1)?;
        Ok(stage)
    }

    /// Sets the initial room, in matches.
    #[must_use]
    pub fn with_room(mut self, matches: usize) -> Self {
        self.room = matches.max(1);
        self
    }

    /// The queue.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Evaluates the records of a text: whole lines, of which the last may lack its newline. Waits.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short; [`Error::Internal`] for 2³⁰ nodes and lines or more.
    ///
    /// # Panics
    /// If the text is longer than [`MAX_PARTITION_BYTES`](warpath_shared::units::MAX_PARTITION_BYTES).
    pub fn run(&mut self, text: &[u8]) -> Result<LinesMatched, Error> {
        if text.is_empty() {
            return Ok(LinesMatched::default());
        }
        // SAFETY: the text is borrowed until this function returns, and the wait below waits for its copy.
        unsafe { self.index.load(&self.device, text) }?;
        let answer = self.ask(text);
        // Even after an error, no copy reads the text when the wait is over.
        self.device.wait()?;
        answer
    }

    fn ask(&mut self, text: &[u8]) -> Result<LinesMatched, Error> {
        let device = &self.device;
        let mut shape = self.index.build(device, 0)?;
        let nodes = self.tree.build(device, &mut self.index, &mut shape, TreeCut::default())?;
        let faults = self.index.judge(device, Lines::Plain(text), shape, line_fault)?;
        let mut answer = LinesMatched { faults, lines: shape.lines, ..LinesMatched::default() };
        if self.groups.is_empty() {
            return Ok(answer);
        }
        // The room that one partition needed may be too much for another.
        while self.ops_a_node > OPS_A_NODE && self.ops_a_node * (nodes + shape.lines) > u32::MAX as usize {
            self.ops_a_node /= 4;
        }
        let mut least_unfit = usize::MAX;
        let unfit = loop {
            let unfit = self.match_records(text.len(), shape, nodes, &mut answer.matched)?;
            // More room does not help lines that are too deep.
            let helped = unfit < std::mem::replace(&mut least_unfit, unfit);
            let ops = 4 * self.ops_a_node * (nodes + shape.lines);
            let may_grow = 4 * self.ops_a_node <= MOST_OPS_A_NODE && ops <= u32::MAX as usize;
            if unfit <= shape.lines / MANY_UNFIT || !helped || !may_grow {
                break unfit;
            }
            self.ops_a_node *= 4;
        };
        answer.unfit.resize(unfit.min(UNFIT), 0);
        if unfit > 0 {
            self.device.download(self.unfit.get()?, 0, &mut answer.unfit)?;
        }
        if unfit > UNFIT {
            // These are more than the list has room for, so the host reads all lines.
            answer.unfit = (0..shape.lines as u32).collect();
            answer.matched.clear();
        }
        Ok(answer)
    }

    /// Makes programs of the records that are on the device with their trees, and runs them. Returns the
    /// number of lines that do not fit.
    fn match_records(
        &mut self,
        bytes: usize,
        shape: IndexShape,
        nodes: usize,
        matched: &mut Vec<Matched>,
    ) -> Result<usize, Error> {
        let device = &self.device;
        let ops = self.ops_a_node * (nodes + shape.lines);
        self.ops.room(device, ops)?;
        self.tasks.room(device, shape.lines)?;
        device.zero(self.unfit_count.get_mut()?, 0, 1)?;
        let indexed = self.index.indexed(device, shape)?;
        let args = TwigOpsArgs {
            trees: self.tree.trees(device, &indexed, nodes)?,
            dictionary: self.dictionary.view(device)?,
            ops: device.view_mut(self.ops.get_mut()?, ops),
            tasks: device.view_mut(self.tasks.get_mut()?, shape.lines),
            unfit: device.view_mut(self.unfit.get_mut()?, UNFIT),
            unfit_count: device.view_mut(self.unfit_count.get_mut()?, 1),
            ops_a_node: self.ops_a_node as u64,
        };
        launch::<A, stages::TwigPrograms, TwigOps>(device, &args)?;
        self.room = self.room.max(bytes / BYTES_OF_A_MATCH);
        let (ops, lines) = (device.view(self.ops.get()?, ops), device.view(self.tasks.get()?, shape.lines));
        let mut unfit = [0];
        let numbers = &mut [(&self.unfit_count, &mut unfit[..])];
        self.groups.ask(device, &mut self.room, matched, numbers, |groups| {
            launch::<A, stages::Twigs, TwigMatch>(device, &groups.args(device, ops, lines, 0)?)
        })?;
        Ok(unfit[0] as usize)
    }
}
