//! The names of a program that can be found while a record streams by.
//!
//! A program begins as a tree of names: `$.user.lang` and `$.user.tags[*]` share `user`, which contains
//! `lang` and `tags`. [`super::scan`] finds such names without an index. For the rest of a path, here `[*]`,
//! the interpreter runs over the single value that was found. That value becomes a document of its own.

use warpath_shared::ir::{Op, Program};
use warpath_shared::units::PathIx;

/// The names of a program. Block 0 is for the root of the record, and has no `rest`.
pub(super) struct Plan {
    pub blocks: Vec<Block>,
}

/// The results wanted from one value.
#[derive(Default)]
pub(super) struct Block {
    /// The paths that the value is a match of.
    pub paths: Vec<PathIx>,
    /// The members that are looked for if the value is an object. No name occurs twice, and no two names lead
    /// to the same block.
    pub names: Vec<Name>,
    /// The program's block that the interpreter runs over the value if it is a container. Then `names` is
    /// empty.
    pub rest: Option<u32>,
}

/// One member that is looked for.
pub(super) struct Name {
    /// The name in quotes, as it is in a text that escapes no part of it.
    pub quoted: Vec<u8>,
    /// The index of the block for the member's value.
    pub block: usize,
    /// The last eight bytes of `quoted`. If it is shorter, zeros precede its bytes.
    tail: u64,
    /// The bits of `tail` that are part of the name.
    mask: u64,
}

impl Name {
    fn new(name: impl Iterator<Item = u8>, block: usize) -> Self {
        let quoted: Vec<u8> = std::iter::once(b'"').chain(name).chain([b'"']).collect();
        let tail = quoted.iter().rev().take(8).rev().fold(0, |tail, byte| tail >> 8 | (*byte as u64) << 56);
        let mask = u64::MAX << (64 - 8 * quoted.len().min(8));
        Self { quoted, block, tail, mask }
    }

    /// Returns whether the last bytes of the name, eight at most, end at `end`.
    #[inline(always)]
    pub(super) fn may_end_at(&self, text: &[u8], end: usize) -> bool {
        match text[..end].last_chunk() {
            Some(bytes) => (u64::from_le_bytes(*bytes) ^ self.tail) & self.mask == 0,
            None => text[..end].ends_with(&self.quoted),
        }
    }

    /// Returns whether the name in its quotes ends at `end`.
    #[inline(always)]
    pub(super) fn ends_at(&self, text: &[u8], end: usize) -> bool {
        self.may_end_at(text, end) && (self.quoted.len() <= 8 || text[..end].ends_with(&self.quoted))
    }
}

/// The most names of one block, each of which has one bit of a word.
const MAX_NAMES: usize = 64;

impl Plan {
    /// Makes the plan of a program; `None` if the program does not begin with names alone.
    ///
    /// Each block is reached from one position only. So each path has its matches in order, whatever the
    /// order of the members.
    pub(super) fn of(program: &Program<'_>) -> Option<Self> {
        // The interpreter runs over a part of the record, which does not contain the root.
        if (0..program.tests.len()).any(|test| program.tests.get(test).from_root != 0) {
            return None;
        }
        let mut plan = Self { blocks: Vec::new() };
        // The program's block for each block of the plan.
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
    /// Returns whether the value itself is wanted, and not only members of it.
    pub(super) fn wants_value(&self) -> bool {
        !self.paths.is_empty() || self.rest.is_some()
    }

    /// Makes the block at `pc`, and returns the blocks that its names lead to. Those get the numbers `next`,
    /// `next + 1` and so on in the plan.
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
                    // If a name contains a quote, two adjacent strings may be mistaken for it.
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
