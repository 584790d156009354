//! In which order everything is visited.
//!
//! Depth-first over blocks, with a stack of frames of its own instead of recursion: a kernel's thread
//! has no stack to speak of. A selector that takes one node and ends its block replaces the top frame,
//! so a singular path runs in one frame, in registers.
//!
//! Most filters are asked on the spot. One with a test that runs a block, `[?count(@..a) > 1]`, is a frame of its own, whose `pc` is a
//! test's:
//!
//! ```text
//! block of `..a`      visits, and collects for the frame that asked     ┐ leaves: the test knows how many, and which
//! test of a child     is the child's `count(@..a)` greater than 1?      ┘ passes: the filter's block takes its place
//! filter              visits the children
//! ```

use core::mem::MaybeUninit;

use super::document::{Document, Node, Text};
use super::navigate::{Leveled, Loaded, Navigate};
use super::operand::is_accepted;
use super::select::Visit;
use super::tree::{Linked, TestState, Trees};
use super::value::compares;
use crate::ir::{FAIL, Instr, MAX_FRAMES, Op, PASS, Program, Test, TestKind, relation};
use crate::tree::tape::TapeIx;
use crate::units::PathIx;

/// Where matches go.
pub trait Sink {
    /// Takes a match of `path`.
    fn emit(&mut self, path: PathIx, node: Node);
}

/// One block at work on one node, or one test.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Frame<A, S> {
    /// The instruction to run next; with [`TESTING`], the test to ask next.
    pc: u32,
    node: A,
    visit: Visit,
    state: S,
}

/// In [`Frame::pc`]: the frame is a test's. While it waits for a block that it runs, `visit.cursor` is 1 and `visit.left` how many
/// nodes that has collected.
const TESTING: u32 = 1 << 31;

/// The frames below the top one. Reused from record to record.
struct Stack<A, S> {
    below: [MaybeUninit<Frame<A, S>>; MAX_FRAMES],
    waiting: usize,
}

/// What one step did to the stack.
enum Step<A, S> {
    /// The top frame goes on.
    Stay(Frame<A, S>),
    /// A new frame begins; the top one waits below it.
    Enter(Frame<A, S>, Frame<A, S>),
    /// The same, and the new one runs a block for the top one's test.
    Ask(Frame<A, S>, Frame<A, S>),
    /// The top frame is done.
    Leave,
    /// The top frame's test holds: its node is entered by the filter below it.
    Pass(A, S),
    /// The top frame, which goes on, has a node for the test that runs it.
    Collect(Frame<A, S>),
}

const RETURN: u32 = Op::Return as u32;
const EMIT: u32 = Op::Emit as u32;
const NAME: u32 = Op::Name as u32;
const INDEX: u32 = Op::Index as u32;
const SLICE: u32 = Op::Slice as u32;
const WILDCARD: u32 = Op::Wildcard as u32;
const FILTER: u32 = Op::Filter as u32;
const DESCEND: u32 = Op::Descend as u32;

/// Runs programs over records by their leveled bitmaps. Reused from record to record.
pub struct Machine(Stack<Node, ()>);

/// Runs programs over records by their trees. Reused from record to record.
pub struct TreeMachine(Stack<TapeIx, TestState>);

impl Default for Machine {
    #[inline(always)]
    fn default() -> Self {
        Self(Stack::new())
    }
}

impl Default for TreeMachine {
    #[inline(always)]
    fn default() -> Self {
        Self(Stack::new())
    }
}

impl Machine {
    /// Runs a program over one record and gives `sink` every match.
    ///
    /// At most [`MAX_FRAMES`] frames wait at once, which the program's compiler has checked.
    #[inline(always)]
    pub fn run<D: Document, S: Sink>(&mut self, program: &Program<'_>, doc: &D, root: Node, sink: &mut S) {
        self.run_block(program, 0, doc, root, sink);
    }

    /// Runs the block at `pc` over one node, as [`run`](Self::run) runs block 0 over a record. To filters the node is the root.
    #[inline(always)]
    pub fn run_block<D: Document, S: Sink>(
        &mut self,
        program: &Program<'_>,
        pc: u32,
        doc: &D,
        node: Node,
        sink: &mut S,
    ) {
        self.0.run::<_, S, false>(program, pc, &Leveled(doc), node, sink);
    }

    /// As [`run`](Self::run), for programs whose instructions select one node at most, and with no code for the others: an
    /// instruction of another kind finds nothing.
    #[inline(always)]
    pub fn run_singular<D: Document, S: Sink>(
        &mut self,
        program: &Program<'_>,
        doc: &D,
        root: Node,
        sink: &mut S,
    ) {
        self.0.run::<_, S, true>(program, 0, &Leveled(doc), root, sink);
    }
}

impl TreeMachine {
    /// Runs a program over one record, whose root is a node of `trees`, and gives `sink` every match.
    ///
    /// At most [`MAX_FRAMES`] frames wait at once, which the program's compiler has checked.
    #[inline(always)]
    pub fn run<T: Trees, S: Sink>(&mut self, program: &Program<'_>, trees: &T, root: TapeIx, sink: &mut S) {
        self.0.run::<_, S, false>(program, 0, &Linked(trees), root, sink);
    }
}

impl<A: Copy, X: Copy + Default> Stack<A, X> {
    #[inline(always)]
    fn new() -> Self {
        Self { below: [MaybeUninit::uninit(); MAX_FRAMES], waiting: 0 }
    }

    /// Puts a frame on the stack. The compiler has counted; a program that lies loses matches, not memory.
    #[inline(always)]
    fn push(&mut self, frame: Frame<A, X>) -> bool {
        let Some(slot) = self.below.get_mut(self.waiting) else { return false };
        slot.write(frame);
        self.waiting += 1;
        true
    }

    /// A frame that waits, counted from the bottom.
    #[inline(always)]
    fn waiting(&mut self, at: usize) -> Option<&mut Frame<A, X>> {
        if at >= self.waiting {
            return None;
        }
        // SAFETY: frames below `waiting` were written when it was raised past them.
        self.below.get_mut(at).map(|frame| unsafe { frame.assume_init_mut() })
    }

    /// Takes off all frames from `at` on, and gives out that one.
    #[inline(always)]
    fn pop_to(&mut self, at: usize) -> Option<Frame<A, X>> {
        let frame = self.waiting(at).map(|frame| *frame)?;
        self.waiting = at;
        Some(frame)
    }

    #[inline(always)]
    fn run<N, S: Sink, const SINGULAR: bool>(
        &mut self,
        program: &Program<'_>,
        pc: u32,
        record: &N,
        root: A,
        sink: &mut S,
    ) where
        N: Navigate<At = A, State = X>,
    {
        let mut top = Frame { pc, node: root, visit: Visit::default(), state: X::default() };
        self.waiting = 0;
        let mut on = true;
        let text = record.text();
        let together = text.together();
        while text.any(together, on) {
            if !on {
                continue;
            }
            let next = match step::<N, S, SINGULAR>(program, record, root, top, sink) {
                Step::Stay(frame) => Some(frame),
                Step::Enter(frame, below) => self.push(below).then_some(frame),
                Step::Leave => self.waiting.checked_sub(1).and_then(|last| self.pop_to(last)),
                Step::Ask(mut frame, below) if N::TREE => {
                    N::set_asked_by(&mut frame.state, self.waiting);
                    self.push(below).then_some(frame)
                }
                Step::Pass(node, state) if N::TREE => {
                    let filter = self.waiting.checked_sub(1).and_then(|last| self.waiting(last));
                    filter.map(|filter| {
                        let pc = program.instrs.get(filter.pc as usize).target;
                        Frame { pc, node, visit: Visit::default(), state }
                    })
                }
                Step::Collect(frame) if N::TREE => self.collect::<N>(program, frame),
                _ => None,
            };
            match next {
                Some(frame) => top = frame,
                None => on = false,
            }
        }
    }

    /// Gives the node of a frame to the test that runs its block, which goes on at once if it wants no more.
    #[inline(always)]
    fn collect<N>(&mut self, program: &Program<'_>, frame: Frame<A, X>) -> Option<Frame<A, X>>
    where
        N: Navigate<At = A, State = X>,
    {
        let asked_by = N::asked_by(&frame.state);
        let test_frame = self.waiting(asked_by)?;
        let test = program.tests.get((test_frame.pc & !TESTING) as usize);
        test_frame.visit.left += 1;
        N::load(&mut test_frame.state, test.slot, Loaded::Node(Some(frame.node)));
        if test.kind == TestKind::ExistsAny as u32 { self.pop_to(asked_by) } else { Some(frame) }
    }
}

/// Runs the instruction of the top frame: the one step that every backend takes.
#[inline(always)]
fn step<N: Navigate, S: Sink, const SINGULAR: bool>(
    program: &Program<'_>,
    record: &N,
    root: N::At,
    mut top: Frame<N::At, N::State>,
    sink: &mut S,
) -> Step<N::At, N::State> {
    if N::TREE && top.pc & TESTING != 0 {
        return test_step(program, record, root, top);
    }
    let instr = program.instrs.get(top.pc as usize);
    let (node, state) = (top.node, top.state);
    let child = match instr.op {
        RETURN => return Step::Leave,
        EMIT => {
            sink.emit(instr.target, record.node(node));
            None
        }
        NAME => record.member(node, program.literals, &instr),
        INDEX => record.element(node, instr.a),
        _ if SINGULAR => None,
        SLICE | WILDCARD | FILTER | DESCEND => {
            let (mut visit, mut from) = (top.visit, top.pc);
            let mut behind = top.pc + 1;
            let strings = record.finds_strings();
            let runs_blocks = N::TREE && instr.op == FILTER && instr.c != 0;
            let child = match instr.op {
                SLICE => record.next_in_slice(node, &instr, &mut visit),
                WILDCARD => record.next_child(node, &mut visit),
                DESCEND => record.next_container(node, &mut visit),
                _ if strings && program.tests.get(instr.a as usize).gaps != 0 => {
                    behind = top.pc + instr.b as u32;
                    record.next_string(node, program, (top.pc, instr.b as u32), &mut visit).map(
                        |(child, filter)| {
                            from = filter;
                            child
                        },
                    )
                }
                _ if runs_blocks => record.next_child(node, &mut visit),
                _ => next_that_passes(program, record, root, node, &instr, &mut visit),
            };
            let Some(child) = child else {
                (top.pc, top.visit) = (behind, Visit::default());
                return Step::Stay(top);
            };
            let pc =
                if runs_blocks { instr.a as u32 | TESTING } else { program.instrs.get(from as usize).target };
            let frame = Frame { pc, node: child, visit: Visit::default(), state };
            return Step::Enter(frame, Frame { visit, ..top });
        }
        _ => {
            top.pc += 1;
            return Step::Collect(top);
        }
    };
    top.pc += 1;
    let Some(child) = child else { return Step::Stay(top) };
    let frame = Frame { pc: instr.target, node: child, visit: Visit::default(), state };
    if program.instrs.get(top.pc as usize).op == RETURN { Step::Stay(frame) } else { Step::Enter(frame, top) }
}

/// Asks the test of the top frame, or has the block run that it asks for.
#[inline(always)]
fn test_step<N: Navigate>(
    program: &Program<'_>,
    record: &N,
    root: N::At,
    mut top: Frame<N::At, N::State>,
) -> Step<N::At, N::State> {
    let number = top.pc & !TESTING;
    let test = program.tests.get(number as usize);
    let holds = if test.kind < TestKind::FIRST_THAT_RUNS_BLOCK {
        ask(program, record, root, top.node, (&test, number), &mut top.state)
    } else if top.visit.cursor == 0 {
        let node = if test.from_root != 0 { root } else { top.node };
        let frame = Frame { pc: test.path, node, visit: Visit::default(), state: top.state };
        return Step::Ask(frame, Frame { visit: Visit { cursor: 1, left: 0 }, ..top });
    } else {
        let found = top.visit.left;
        top.visit = Visit::default();
        if test.kind == TestKind::Count as u32 {
            N::load(&mut top.state, test.slot, Loaded::Count(found));
        } else if found != 1 && test.kind == TestKind::Value as u32 {
            N::load(&mut top.state, test.slot, Loaded::Node(None));
        }
        found > 0 || test.kind != TestKind::ExistsAny as u32
    };
    match if holds { test.then } else { test.otherwise } {
        PASS => Step::Pass(top.node, top.state),
        FAIL => Step::Leave,
        next => Step::Stay(Frame { pc: next | TESTING, ..top }),
    }
}

/// The next child of which a filter's tests hold, none of which runs a block.
#[inline(always)]
fn next_that_passes<N: Navigate>(
    program: &Program<'_>,
    record: &N,
    root: N::At,
    node: N::At,
    filter: &Instr,
    visit: &mut Visit,
) -> Option<N::At> {
    while let Some(child) = record.next_child(node, visit) {
        let mut state = N::State::default();
        let mut next = filter.a as u32;
        while next < FAIL {
            let test = program.tests.get(next as usize);
            let holds = ask(program, record, root, child, (&test, next), &mut state);
            next = if holds { test.then } else { test.otherwise };
        }
        if next == PASS {
            return Some(child);
        }
    }
    None
}

/// Asks a test that runs no block.
#[inline(always)]
fn ask<N: Navigate>(
    program: &Program<'_>,
    record: &N,
    root: N::At,
    child: N::At,
    (test, number): (&Test, u32),
    state: &mut N::State,
) -> bool {
    const EXISTS: u32 = TestKind::Exists as u32;
    const PATTERN: u32 = TestKind::Pattern as u32;
    let mut found = Some(if test.from_root != 0 { root } else { child });
    let mut pc = test.path as usize;
    while let Some(at) = found {
        let instr = program.instrs.get(pc);
        found = match instr.op {
            NAME => record.member(at, program.literals, &instr),
            INDEX => record.element(at, instr.a),
            _ => break,
        };
        pc += 1;
    }
    if N::TREE && test.kind >= TestKind::FIRST_WITH_OPERANDS {
        return record.ask(program, (test, number), found, state);
    }
    let Some(at) = found else {
        // Nothing is neither equal to a literal nor in any order with it.
        return test.kind < EXISTS && test.relation & relation::UNRELATED != 0;
    };
    let node = record.node(at);
    match test.kind {
        EXISTS => true,
        PATTERN => is_accepted(record.text(), node, program, test.offset),
        _ => compares(record.text(), node, program.literals, test),
    }
}
