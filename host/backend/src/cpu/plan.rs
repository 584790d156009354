//! Which names of a program can be looked for while a record streams by.
//!
//! A program begins as a tree of names: `$.user.lang` and `$.user.tags[*]` share `user`, below which `lang` and `tags` are
//! wanted. [`super::scan`] follows such names without an index. What a path asks beyond them, here `[*]`, is run by the
//! interpreter over the one value that was found, which becomes a document of its own.

use warpath_shared::ir::{Op, Program};
use warpath_shared::units::PathIx;

/// The names of a program. Block 0 is about the record's root, and has no `rest`.
pub(super) struct Plan {
    pub blocks: Vec<Block>,
}

/// What is wanted of one value.
#[derive(Default)]
pub(super) struct Block {
    /// The paths that it is a match of.
    pub paths: Vec<PathIx>,
    /// The members that are looked for, if it is an object: no name twice, and no two that lead to the same block.
    pub names: Vec<Name>,
    /// The block of the program that the interpreter runs on it instead, if it is a container. Then `names` is empty.
    pub rest: Option<u32>,
}

/// One member that is looked for.
pub(super) struct Name {
    /// The name between its quotes, as it stands in a text that does not escape any of it.
    pub quoted: Vec<u8>,
    /// What is wanted of its value.
    pub block: usize,
    /// The last eight bytes of `quoted`, or as many as there are and zeros before them.
    tail: u64,
    /// Which bits of `tail` are of the name.
    mask: u64,
}

impl Name {
    fn new(name: impl Iterator<Item = u8>, block: usize) -> Self {
        let quoted: Vec<u8> = std::iter::once(b'"').chain(name).chain([b'"']).collect();
        let tail = quoted.iter().rev().take(8).rev().fold(0, |tail, byte| tail >> 8 | (*byte as u64) << 56);
        let mask = u64::MAX << (64 - 8 * quoted.len().min(8));
        Self { quoted, block, tail, mask }
    }

    /// Whether the end of the name ends at `end`.
    #[inline(always)]
    pub(super) fn may_end_at(&self, text: &[u8], end: usize) -> bool {
        match text[..end].last_chunk() {
            Some(bytes) => (u64::from_le_bytes(*bytes) ^ self.tail) & self.mask == 0,
            None => text[..end].ends_with(&self.quoted),
        }
    }

    /// Whether the name between its quotes ends at `end`.
    #[inline(always)]
    pub(super) fn ends_at(&self, text: &[u8], end: usize) -> bool {
        self.may_end_at(text, end) && (self.quoted.len() <= 8 || text[..end].ends_with(&self.quoted))
    }
}

/// Names of one block that are told apart by a bit each.
const MAX_NAMES: usize = 64;

impl Plan {
    /// The plan of a program; `None` where it does not begin with names alone.
    ///
    /// Each block is reached from one place, so each path has its matches in order, whatever the order of the members.
    pub(super) fn of(program: &Program<'_>) -> Option<Self> {
        // What is asked beyond names is asked of a part of the record, which has no root.
        if (0..program.tests.len()).any(|test| program.tests.get(test).from_root != 0) {
            return None;
        }
        let mut plan = Self { blocks: Vec::new() };
        // The program's block of each block of the plan.
        let mut pcs = vec![0u32];
        while let Some(pc) = pcs.get(plan.blocks.len()) {
            let (block, targets) = Block::of(program, *pc, pcs.len());
            plan.blocks.push(block);
            pcs.extend(targets);
        }
        let root = plan.blocks.first()?;
        root.rest.is_none().then_some(plan)
    }
}

impl Block {
    /// Whether the value itself is asked for, and not only members of it.
    pub(super) fn wants_value(&self) -> bool {
        !self.paths.is_empty() || self.rest.is_some()
    }

    /// The block at `pc`, and the blocks that its names lead to: those will be numbers `next` and on of the plan.
    fn of(program: &Program<'_>, pc: u32, next: usize) -> (Self, Vec<u32>) {
        const RETURN: u32 = Op::Return as u32;
        const EMIT: u32 = Op::Emit as u32;
        const NAME: u32 = Op::Name as u32;
        let mut block = Self::default();
        let mut targets = Vec::new();
        let mut simple = true;
        let mut at = pc as usize;
        loop {
            let instr = program.instrs.get(at);
            match instr.op {
                RETURN => break,
                EMIT => block.paths.push(instr.target),
                NAME => {
                    let (start, len) = instr.name();
                    let bytes = (start..start + len).map(|i| program.literals.get(i as usize));
                    let name = Name::new(bytes, next + targets.len());
                    // Where a name holds a quote, two strings side by side may be taken for it.
                    simple &= !name.quoted[1..name.quoted.len() - 1].contains(&b'"');
                    simple &= block.names.iter().all(|other| other.quoted != name.quoted);
                    simple &= !targets.contains(&instr.target) && block.names.len() < MAX_NAMES;
                    block.names.push(name);
                    targets.push(instr.target);
                }
                _ => simple = false,
            }
            at += 1;
        }
        if !simple {
            block.names.clear();
            targets.clear();
            block.rest = Some(pc);
        }
        (block, targets)
    }
}
