//! The trees of one partition on a device: the nodes of all lines, in the order of the text.

use warpath_answer::answer::LineFault;
use warpath_core::error::Error;
use warpath_shared::kernel::{
    ANY_FAULTY, FaultyLines, Indexed, STATUS_WORDS, TAPE_STATUS_WORDS, TapeBrackets, TapeLines,
    TapeLinesArgs, TapeMinima, TapeMinimaArgs, TapeNodes, TapeNodesArgs, TapeOutline, TapePieces,
    TapePiecesArgs, TapeScan, TapeWords, TapeWordsArgs, Trees as TreesView, tape_groups,
};
use warpath_shared::tree::brackets::{Closed, Top};
use warpath_shared::tree::outline::{STRETCH_WORDS, StretchSum, TapeWord};
use warpath_shared::tree::tape::{TapeIx, TapeNode};
use warpath_shared::units::{Depth, WORD_BYTES};

use super::index::{IndexShape, IndexStage, TokenText, scan};
use super::lines::Lines;
use super::memory::Downloads;
use super::{Accelerator, ScanScratch, Slot, launch, stages};

/// Bytes of text for each node in the initial room. The first text with more nodes is read twice.
const BYTES_OF_A_NODE: usize = 12;
/// Bytes of text for each bracket in the initial room. The first text with more brackets is read twice.
const BYTES_OF_A_BRACKET: usize = 32;

/// Numbers of nodes and brackets: those of a text, or the room for them.
#[derive(Clone, Copy)]
struct Room {
    nodes: usize,
    brackets: usize,
}

/// The lines that are cut into pieces, and the size of the pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeCut {
    /// The longest line that one thread reads, in bytes with its newline.
    pub longest: u32,
    /// Bytes of a piece of a longer line: whole words of 64.
    pub piece: u32,
}

impl Default for TreeCut {
    fn default() -> Self {
        Self { longest: 16 << 10, piece: 2 << 10 }
    }
}

/// The trees of a partition, copied back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTrees {
    /// The nodes of all lines, in the order in which they begin in the text. Nodes of faulty lines have no
    /// meaning.
    pub nodes: Vec<TapeNode>,
    /// The first node of each line, blank lines included, and at the end the number of nodes.
    pub roots: Vec<TapeIx>,
    /// Faulty lines.
    pub faults: Vec<LineFault>,
}

/// Trees on the device, in buffers that are kept from partition to partition.
pub(super) struct TreeStage<A: Accelerator> {
    words: Slot<A, TapeWord>,
    sums: Slot<A, StretchSum>,
    before: Slot<A, StretchSum>,
    sum_scan: ScanScratch<A, StretchSum>,
    least: Slot<A, Depth>,
    groups: [Slot<A, Depth>; 2],
    tops: Slot<A, Top>,
    closed: Slot<A, Closed>,
    nodes: Slot<A, TapeNode>,
    roots: Slot<A, TapeIx>,
    status: Slot<A, u32>,
}

impl<A: Accelerator> Default for TreeStage<A> {
    fn default() -> Self {
        Self {
            words: Slot::default(),
            sums: Slot::default(),
            before: Slot::default(),
            sum_scan: ScanScratch::default(),
            least: Slot::default(),
            groups: [Slot::default(), Slot::default()],
            tops: Slot::default(),
            closed: Slot::default(),
            nodes: Slot::default(),
            roots: Slot::default(),
            status: Slot::default(),
        }
    }
}

impl<A: Accelerator> TreeStage<A> {
    /// Makes the trees of an indexed text, and sets in `shape` whether they found a faulty line. Waits for
    /// the trees, and returns the number of nodes.
    pub fn build(
        &mut self,
        device: &A,
        index: &mut IndexStage<A>,
        shape: &mut IndexShape,
        cut: TreeCut,
    ) -> Result<usize, Error> {
        let stretches = self.outline(device, index, *shape)?;
        let bytes = stretches * STRETCH_WORDS * WORD_BYTES;
        let mut room = Room {
            nodes: self.nodes.capacity().max(bytes / BYTES_OF_A_NODE),
            brackets: self.tops.capacity().max(bytes / BYTES_OF_A_BRACKET),
        };
        loop {
            let (text, faulty) = index.tokens(device, *shape)?;
            self.fill(device, &text, faulty, (stretches, room), cut)?;
            let (mut sums, mut status) = ([StretchSum::default()], [0; STATUS_WORDS]);
            let mut downloads = Downloads::new(device);
            downloads.add(&self.before, stretches, &mut sums)?;
            downloads.add(index.status(), 0, &mut status)?;
            downloads.run()?;
            let [StretchSum { nodes, brackets, .. }] = sums;
            let (nodes, brackets) = (nodes as usize, brackets as usize);
            if nodes <= room.nodes && brackets <= room.brackets {
                shape.any_faulty = status[ANY_FAULTY] != 0;
                return Ok(nodes);
            }
            let enough = |room: usize, needed| if needed > room { needed + needed / 4 } else { room };
            room = Room { nodes: enough(room.nodes, nodes), brackets: enough(room.brackets, brackets) };
        }
    }

    /// Finds the tokens and the sums before each stretch. Returns the number of stretches.
    fn outline(&mut self, device: &A, index: &mut IndexStage<A>, shape: IndexShape) -> Result<usize, Error> {
        let (text, _) = index.tokens(device, shape)?;
        let words = text.string.len();
        let stretches = words / STRETCH_WORDS;
        let args = TapeWordsArgs {
            text: text.text,
            string: text.string,
            words: device.view_mut(self.words.room(device, words)?, words),
            sums: device.view_mut(self.sums.room(device, stretches)?, stretches),
            least: device.view_mut(self.least.room(device, stretches)?, stretches),
            len: text.len,
            reserved: 0,
        };
        launch::<A, stages::MakeTrees, TapeWords>(device, &args)?;
        let Self { sums, before, sum_scan, .. } = self;
        scan::<A, stages::MakeTrees, _, _, TapeScan>(device, sums.get()?, stretches, before, sum_scan)?;
        Ok(stretches)
    }

    /// Makes the trees, if there is enough room for their nodes and brackets.
    fn fill(
        &mut self,
        device: &A,
        text: &TokenText<'_>,
        faulty: FaultyLines<'_>,
        (stretches, room): (usize, Room),
        cut: TreeCut,
    ) -> Result<(), Error> {
        let Self { words, before, least, groups, tops, closed, nodes, roots, status, .. } = self;
        let (line_starts, lines) = (text.line_starts, text.line_starts.len());
        let lens = [tape_groups(stretches), tape_groups(tape_groups(stretches))];
        for (slot, len) in groups.iter_mut().zip(lens) {
            slot.room(device, len)?;
        }
        device.zero(status.room(device, TAPE_STATUS_WORDS)?, 0, TAPE_STATUS_WORDS)?;
        tops.room(device, room.brackets)?;
        closed.room(device, room.brackets)?;
        let words = device.view(words.get()?, stretches * STRETCH_WORDS);
        let before = device.view(before.get()?, stretches + 1);
        let least = device.view(least.get()?, stretches);
        {
            let [first, second] = &*groups;
            let groups = [device.view(first.get()?, lens[0]), device.view(second.get()?, lens[1])];
            let args = TapeLinesArgs {
                outline: TapeOutline { words, before, least, groups },
                line_starts,
                brackets: TapeBrackets {
                    tops: device.view_mut(tops.get_mut()?, room.brackets),
                    closed: device.view_mut(closed.get_mut()?, room.brackets),
                },
                roots: device.view_mut(roots.room(device, lines)?, lines),
                faulty,
                status: device.view_mut(status.get_mut()?, TAPE_STATUS_WORDS),
                longest: cut.longest,
                reserved: 0,
            };
            launch::<A, stages::MakeTrees, TapeLines>(device, &args)?;
        }
        let status = device.view(status.get()?, TAPE_STATUS_WORDS);
        {
            let [first, second] = &mut *groups;
            let groups =
                [device.view_mut(first.get_mut()?, lens[0]), device.view_mut(second.get_mut()?, lens[1])];
            launch::<A, stages::MakeTrees, TapeMinima>(
                device,
                &TapeMinimaArgs { before, least, groups, status },
            )?;
        }
        let [first, second] = &*groups;
        let groups = [device.view(first.get()?, lens[0]), device.view(second.get()?, lens[1])];
        let outline = TapeOutline { words, before, least, groups };
        let args = TapePiecesArgs {
            outline,
            line_starts,
            brackets: TapeBrackets {
                tops: device.view_mut(tops.get_mut()?, room.brackets),
                closed: device.view_mut(closed.get_mut()?, room.brackets),
            },
            faulty,
            status,
            longest: cut.longest,
            piece: cut.piece,
        };
        launch::<A, stages::MakeTrees, TapePieces>(device, &args)?;
        let args = TapeNodesArgs {
            outline,
            line_starts,
            tops: device.view(tops.get()?, room.brackets),
            closed: device.view(closed.get()?, room.brackets),
            nodes: device.view_mut(nodes.room(device, room.nodes)?, room.nodes),
            faulty,
        };
        launch::<A, stages::MakeTrees, TapeNodes>(device, &args)
    }

    /// An indexed partition with its trees of `nodes` nodes, in the form that the query kernels read.
    pub fn trees<'a>(
        &'a self,
        device: &'a A,
        indexed: &Indexed<'a>,
        nodes: usize,
    ) -> Result<TreesView<'a>, Error> {
        Ok(TreesView {
            text: indexed.text,
            line_starts: indexed.line_starts,
            faulty: indexed.faulty,
            nodes: device.view(self.nodes.get()?, nodes),
            roots: device.view(self.roots.get()?, indexed.line_starts.len()),
        })
    }

    /// Copies `nodes` nodes back, and judges the lines that the kernels suspect.
    pub fn download(
        &self,
        device: &A,
        index: &mut IndexStage<A>,
        text: &[u8],
        shape: IndexShape,
        nodes: usize,
    ) -> Result<HostTrees, Error> {
        let faults = index.judge(device, Lines::Plain(text), shape, warpath_cpu::tree::line_fault)?;
        let mut trees =
            HostTrees { nodes: vec![TapeNode::default(); nodes], roots: vec![0; shape.lines + 1], faults };
        let mut downloads = Downloads::new(device);
        downloads.add(&self.nodes, 0, &mut trees.nodes)?;
        downloads.add(&self.roots, 0, &mut trees.roots)?;
        downloads.run()?;
        Ok(trees)
    }
}
