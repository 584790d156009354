//! The names of a program that can be found while a record streams by.
//!
//! A program begins as a tree of names: `$.user.lang` and `$.user.tags[*]` share `user`, which contains
//! `lang` and `tags`. [`super::scan`] finds such names without an index. For the rest of a path, here `[*]`,
//! the interpreter runs over the single value that was found. That value becomes a document of its own.
//!
//! A predicate about the record is part of the plan if its paths are names. The scan finds their values
//! beside those of the paths, and [`Guard::holds`] evaluates the tests when the record has been passed over.

use warpath_lang::program::{GuardCode, Program as Compiled};
use warpath_shared::ir::{FAIL, Op, PASS, Program, TestKind, relation};
use warpath_shared::query::document::{Node, Text};
use warpath_shared::query::operand::is_accepted;
use warpath_shared::query::value::compares;
use warpath_shared::units::PathIx;

/// The names of a program. Block 0 is for the root of the record, and has no `rest`.
pub(super) struct Plan {
    pub blocks: Vec<Block>,
    /// The predicate about the record, if the program begins with one.
    pub guard: Option<Guard>,
}

/// The tests of a predicate about the record.
pub(super) struct Guard {
    /// The first test.
    first: u32,
    /// For each test of the predicate, the number of the value that it reads.
    value_of: Vec<usize>,
    /// The number of different values.
    values: usize,
}

impl Guard {
    /// Prepares the values of a record. The record has none of them so far.
    pub(super) fn begin(&self, values: &mut Vec<Option<Node>>) {
        values.clear();
        values.resize(self.values, None);
    }

    /// Returns whether the predicate is true of a record with these values.
    #[inline(always)]
    pub(super) fn holds<T: Text>(&self, text: &T, program: &Program<'_>, values: &[Option<Node>]) -> bool {
        const EXISTS: u32 = TestKind::Exists as u32;
        const PATTERN: u32 = TestKind::Pattern as u32;
        let mut next = self.first;
        while next < FAIL {
            let test = program.tests.get(next as usize);
            let holds = match values[self.value_of[next as usize]] {
                // A missing value is neither equal to a literal nor ordered with it.
                None => test.kind < EXISTS && test.relation & relation::UNRELATED != 0,
                Some(_) if test.kind == EXISTS => true,
                Some(node) if test.kind == PATTERN => is_accepted(text, node, program, test.offset),
                Some(node) => compares(text, node, program.literals, &test),
            };
            next = if holds { test.then } else { test.otherwise };
        }
        next == PASS
    }
}

/// The results wanted from one value.
#[derive(Default)]
pub(super) struct Block {
    /// The paths that the value is a match of.
    pub paths: Vec<PathIx>,
    /// The members that are looked for if the value is an object. No name occurs twice, and no two names lead
    /// to the same block.
    pub names: Vec<Name>,
    /// The program's block that the interpreter runs over the value if it is a container. Then `names` has
    /// only names of the predicate.
    pub rest: Option<u32>,
    /// The number of the value, if the predicate tests it.
    pub value: Option<usize>,
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

    /// Returns false if the name contains a quote: two adjacent strings may be mistaken for it.
    fn is_simple(&self) -> bool {
        !self.quoted[1..self.quoted.len() - 1].contains(&b'"')
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
    /// The plan that looks for nothing. The scan checks the structure of records alone.
    pub(super) fn nothing() -> Self {
        Self { blocks: vec![Block::default()], guard: None }
    }

    /// Makes the plan of a program whose paths all are `$..name`; `None` if a name is not simple. `names` has
    /// the instruction of each path. The names of the root's block are then names at any depth.
    pub(super) fn anywhere(program: &Program<'_>, names: &[u32]) -> Option<Self> {
        let mut plan = Self::nothing();
        for (path, name) in names.iter().enumerate() {
            let block = plan.enter(0, program, program.instrs.get(*name as usize).name())?;
            plan.blocks[block].paths.push(path as PathIx);
        }
        Some(plan)
    }

    /// Makes the plan of a program; `None` if the program does not begin with names alone.
    ///
    /// Each block is reached from one position only. So each path has its matches in order, whatever the
    /// order of the members.
    pub(super) fn of(program: &Compiled) -> Option<Self> {
        let guard = match program.predicate() {
            Some(_) => Some(program.guard_code()?),
            None => None,
        };
        let program = &program.view();
        let (root, tests) = guard.map_or((0, 0), |guard| (guard.block, guard.tests as usize));
        // The interpreter runs over a part of the record, which does not contain the root.
        if (tests..program.tests.len()).any(|test| program.tests.get(test).from_root != 0) {
            return None;
        }
        let mut plan = Self { blocks: Vec::new(), guard: None };
        // The program's block for each block of the plan.
        let mut pcs = vec![root];
        while let Some(pc) = pcs.get(plan.blocks.len()) {
            let (block, targets) = Block::of(program, *pc, pcs.len())?;
            plan.blocks.push(block);
            pcs.extend(targets);
        }
        if plan.blocks.first()?.rest.is_some() {
            return None;
        }
        if let Some(guard) = guard {
            plan.guard = Some(plan.add_guard(program, guard)?);
        }
        Some(plan)
    }

    /// The names of a block, one bit each.
    #[inline(always)]
    pub(super) fn all_names(&self, block: usize) -> u64 {
        u64::MAX.checked_shr(64 - self.blocks[block].names.len() as u32).unwrap_or(0)
    }

    /// Adds the values of a predicate's tests. `None` if a path has other steps than names, or is the record
    /// itself.
    fn add_guard(
        &mut self,
        program: &Program<'_>,
        GuardCode { first, tests, .. }: GuardCode,
    ) -> Option<Guard> {
        let mut guard = Guard { first, value_of: vec![0; tests as usize], values: 0 };
        for test in 0..tests as usize {
            let (mut block, mut at) = (0, program.tests.get(test).path as usize);
            loop {
                let step = program.instrs.get(at);
                match step.op {
                    op if op == Op::Name as u32 => block = self.enter(block, program, step.name())?,
                    op if op == Op::Return as u32 && block != 0 => break,
                    _ => return None,
                }
                at += 1;
            }
            let value = self.blocks[block].value.get_or_insert(guard.values);
            guard.values = guard.values.max(*value + 1);
            guard.value_of[test] = *value;
        }
        Some(guard)
    }

    /// Returns the block for the member of a name, and adds the block if there is none.
    fn enter(&mut self, block: usize, program: &Program<'_>, name: (u32, u32)) -> Option<usize> {
        let next = self.blocks.len();
        let name = Name::new(name_bytes(program, name), next);
        let names = &mut self.blocks[block].names;
        if let Some(known) = names.iter().find(|known| known.quoted == name.quoted) {
            return Some(known.block);
        }
        if !name.is_simple() || names.len() == MAX_NAMES {
            return None;
        }
        names.push(name);
        self.blocks.push(Block::default());
        Some(next)
    }
}

/// The bytes of a name among the literals.
fn name_bytes<'p>(program: &Program<'p>, (start, len): (u32, u32)) -> impl Iterator<Item = u8> + use<'p> {
    let literals = program.literals;
    (start..start + len).map(move |i| literals.get(i as usize))
}

impl Block {
    /// Returns whether the value itself is wanted, and not only members of it.
    pub(super) fn wants_value(&self) -> bool {
        self.wants_scalar() || self.rest.is_some()
    }

    /// Returns whether the value is wanted even if it has no children.
    pub(super) fn wants_scalar(&self) -> bool {
        !self.paths.is_empty() || self.value.is_some()
    }

    /// Makes the block at `pc`, and returns the blocks that its names lead to. These blocks get the numbers
    /// `next`, `next + 1` and so on in the plan. `None` if the block tests the value itself.
    fn of(program: &Program<'_>, pc: u32, next: usize) -> Option<(Self, Vec<u32>)> {
        const RETURN: u32 = Op::Return as u32;
        const EMIT: u32 = Op::Emit as u32;
        const NAME: u32 = Op::Name as u32;
        const FILTER: u32 = Op::Filter as u32;
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
                    let name = Name::new(name_bytes(program, instr.name()), next + targets.len());
                    simple &= name.is_simple();
                    simple &= block.names.iter().all(|other| other.quoted != name.quoted);
                    simple &= !targets.contains(&instr.target) && block.names.len() < MAX_NAMES;
                    block.names.push(name);
                    targets.push(instr.target);
                }
                FILTER if instr.b == 0 => return None,
                _ => simple = false,
            }
            at += 1;
        }
        if !simple {
            block.names.clear();
            targets.clear();
            block.rest = Some(pc);
        }
        Some((block, targets))
    }
}
