//! The order in which a program visits the nodes of a record.
//!
//! The machine runs blocks depth-first. It has a stack of frames of its own in place of recursion, because a
//! thread of a kernel has almost no stack. A selector that takes one node and ends its block replaces the top
//! frame. A singular path therefore runs in one frame, in registers.
//!
//! Most filters are evaluated in one step. If a test of a filter runs a block, as in `[?count(@..a) > 1]`,
//! the filter's tests have a frame of their own. The `pc` of this frame is the number of a test:
//!
//! ```text
//! block of `..a`    collects nodes for the test                     ┐ ends: the test has their number
//! test of a child   is `count(@..a)` of the child greater than 1?   ┘ passes: the filter's block replaces it
//! filter            visits the children
//! ```

use core::mem::MaybeUninit;

use super::document::{Document, Node, Text};
use super::navigate::{Leveled, Loaded, Navigate};
use super::operand::is_accepted;
use super::select::Visit;
use super::tree::{Linked, TestState, Trees};
use super::value::{compares, equals};
use crate::ir::{FAIL, Instr, MAX_FRAMES, Op, PASS, Program, Test, TestKind, relation};
use crate::tree::tape::TapeIx;
use crate::units::PathIx;

/// The receiver of matches.
pub trait Sink {
    /// Takes a match of `path`.
    fn emit(&mut self, path: PathIx, node: Node);
}

/// A block that runs on one node, or a test of a filter.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Frame<A, S> {
    /// The next instruction to run; with [`TESTING`], the next test to evaluate.
    pc: u32,
    node: A,
    visit: Visit,
    state: S,
}

/// The steps between two looks at [`Text::is_stopped`]. A record of a few kilobytes may have more matches of
/// `$..*..*..*` than anybody can wait for.
const STEPS: u32 = 1 << 14;

/// The bit of [`Frame::pc`] that marks the frame of a test. While the test waits for a block that it runs,
/// `visit.cursor` is 1, and `visit.left` is the number of nodes that the block has collected.
const TESTING: u32 = 1 << 31;

/// The frames below the top one. The stack is reused from record to record.
struct Stack<A, S> {
    below: [MaybeUninit<Frame<A, S>>; MAX_FRAMES],
}

/// The parts that a program may have. The code for a form leaves other instructions out, so that they find
/// nothing.
mod form {
    /// Instructions that select one node at most.
    pub const SINGULAR: u8 = 0;
    /// Singular instructions, and filters of one test each: whether the value of a path from the
    /// child equals a literal.
    pub const PLAIN: u8 = 1;
    /// All instructions.
    pub const ANY: u8 = 2;
}

/// The effect of one step on the stack.
enum Step<A, S> {
    /// The top frame continues.
    Stay(Frame<A, S>),
    /// A new frame begins; the top one waits below it.
    Enter(Frame<A, S>, Frame<A, S>),
    /// A new frame begins, and runs a block for the test of the top one, which waits below it.
    Ask(Frame<A, S>, Frame<A, S>),
    /// The top frame is done.
    Leave,
    /// The test of the top frame holds. The filter below it enters the node.
    Pass(A, S),
    /// The top frame continues, and has a node for the test that runs it.
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
const COLLECT: u32 = Op::Collect as u32;

/// Runs programs over records by their leveled bitmaps. A machine is reused from record to record.
pub struct Machine(Stack<Node, ()>);

/// Runs programs over records by their trees. A machine is reused from record to record.
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
    /// Runs a program over one record and passes every match to `sink`.
    ///
    /// At most [`MAX_FRAMES`] frames wait at once. The compiler of the program checks this.
    #[inline(always)]
    pub fn run<D: Document, S: Sink>(&mut self, program: &Program<'_>, doc: &D, root: Node, sink: &mut S) {
        self.run_block(program, 0, doc, root, sink);
    }

    /// Runs a program as [`run`](Self::run) does, if each of its filters has one test: whether the value
    /// of a path from the child equals a literal.
    #[inline(always)]
    pub fn run_plain<D: Document, S: Sink>(
        &mut self,
        program: &Program<'_>,
        doc: &D,
        root: Node,
        sink: &mut S,
    ) {
        self.0.run::<_, S, { form::PLAIN }>(program, 0, &Leveled(doc), root, sink);
    }

    /// Runs the block at `pc` over one node, as [`run`](Self::run) runs block 0 over a record. Filters see
    /// the node as the root.
    #[inline(always)]
    pub fn run_block<D: Document, S: Sink>(
        &mut self,
        program: &Program<'_>,
        pc: u32,
        doc: &D,
        node: Node,
        sink: &mut S,
    ) {
        self.0.run::<_, S, { form::ANY }>(program, pc, &Leveled(doc), node, sink);
    }

    /// Runs a program as [`run`](Self::run) does, if its instructions select at most one node each. There is
    /// no code for other instructions: they find nothing.
    #[inline(always)]
    pub fn run_singular<D: Document, S: Sink>(
        &mut self,
        program: &Program<'_>,
        doc: &D,
        root: Node,
        sink: &mut S,
    ) {
        self.0.run::<_, S, { form::SINGULAR }>(program, 0, &Leveled(doc), root, sink);
    }
}

impl TreeMachine {
    /// Runs a program over one record, whose root is a node of `trees`, and passes every match to `sink`.
    ///
    /// At most [`MAX_FRAMES`] frames wait at once. The compiler of the program checks this.
    #[inline(always)]
    pub fn run<T: Trees, S: Sink>(&mut self, program: &Program<'_>, trees: &T, root: TapeIx, sink: &mut S) {
        self.0.run::<_, S, { form::ANY }>(program, 0, &Linked(trees), root, sink);
    }
}

impl<A: Copy, X: Copy + Default> Stack<A, X> {
    #[inline(always)]
    fn new() -> Self {
        Self { below: [MaybeUninit::uninit(); MAX_FRAMES] }
    }

    /// The waiting frame at index `at`, or `None` if fewer than `at + 1` frames wait.
    #[inline(always)]
    fn frame(&mut self, at: usize, waiting: usize) -> Option<&mut Frame<A, X>> {
        if at >= waiting {
            return None;
        }
        // SAFETY: `waiting` rises only after `run` has written the frame at its old value, so that all frames
        // below `waiting` are initialized.
        self.below.get_mut(at).map(|frame| unsafe { frame.assume_init_mut() })
    }

    #[inline(always)]
    fn run<N, S: Sink, const FORM: u8>(
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
        let (mut waiting, mut on, mut steps) = (0usize, true, 0u32);
        let text = record.text();
        let together = text.together();
        while text.any(together, on) {
            if !on {
                continue;
            }
            // Singular instructions are as many steps at most as the program has instructions.
            if FORM != form::SINGULAR {
                steps = steps.wrapping_add(1);
                if steps.is_multiple_of(STEPS) && text.is_stopped() {
                    on = false;
                    continue;
                }
            }
            match step::<N, S, FORM>(program, record, root, top, sink) {
                Step::Stay(frame) => top = frame,
                // The compiler has checked the number of frames. A program with a wrong number loses matches,
                // not memory.
                Step::Enter(frame, below) => match self.below.get_mut(waiting) {
                    Some(slot) => {
                        slot.write(below);
                        waiting += 1;
                        top = frame;
                    }
                    None => on = false,
                },
                Step::Leave => match waiting.checked_sub(1) {
                    Some(last) => {
                        waiting = last;
                        // SAFETY: `waiting` rises only after this function has written the frame at its old
                        // value, so that all frames below `waiting` are initialized.
                        top = unsafe { self.below[last].assume_init() };
                    }
                    None => on = false,
                },
                Step::Ask(mut frame, below) if N::TREE => {
                    N::set_asked_by(&mut frame.state, waiting);
                    match self.below.get_mut(waiting) {
                        Some(slot) => {
                            slot.write(below);
                            waiting += 1;
                            top = frame;
                        }
                        None => on = false,
                    }
                }
                Step::Pass(node, state) if N::TREE => match self.frame(waiting.wrapping_sub(1), waiting) {
                    Some(filter) => {
                        let pc = program.instrs.get(filter.pc as usize).target;
                        top = Frame { pc, node, visit: Visit::default(), state };
                    }
                    None => on = false,
                },
                Step::Collect(frame) if N::TREE => {
                    let asked_by = N::asked_by(&frame.state);
                    top = frame;
                    if let Some(test) = self.frame(asked_by, waiting)
                        && collect::<N>(program, test, top.node)
                    {
                        (waiting, top) = (asked_by, *test);
                    }
                }
                _ => on = false,
            }
        }
    }
}

/// Passes a node to the test that runs a block. Returns whether the test needs no more nodes.
#[inline(always)]
fn collect<N: Navigate>(program: &Program<'_>, frame: &mut Frame<N::At, N::State>, node: N::At) -> bool {
    let test = program.tests.get((frame.pc & !TESTING) as usize);
    frame.visit.left += 1;
    N::load(&mut frame.state, test.slot, Loaded::Node(Some(node)));
    test.kind == TestKind::ExistsAny as u32
}

/// Runs the instruction of the top frame. Every backend calls this one function.
#[inline(always)]
fn step<N: Navigate, S: Sink, const FORM: u8>(
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
        _ if FORM == form::SINGULAR => None,
        COLLECT if N::TREE => {
            top.pc += 1;
            return Step::Collect(top);
        }
        _ => {
            let (mut visit, mut from) = (top.visit, top.pc);
            let mut behind = top.pc + 1;
            let strings = record.finds_strings();
            let runs_blocks = N::TREE && instr.op == FILTER && instr.c != 0;
            let child = match instr.op {
                SLICE => record.next_in_slice(node, &instr, &mut visit),
                WILDCARD => record.next_child(node, &mut visit),
                DESCEND if N::TREE => record.next_container(node, &mut visit),
                _ if strings && program.tests.get(instr.a as usize).gaps != 0 => {
                    behind = top.pc + instr.b as u32;
                    record.next_string(node, program, (top.pc, instr.b as u32), &mut visit).map(
                        |(child, filter)| {
                            from = filter;
                            child
                        },
                    )
                }
                _ if runs_blocks => candidate::<N, FORM>(record, node, &instr, &mut visit),
                _ => next_that_passes::<N, FORM>(program, record, root, node, &instr, &mut visit),
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
    };
    top.pc += 1;
    let Some(child) = child else { return Step::Stay(top) };
    let frame = Frame { pc: instr.target, node: child, visit: Visit::default(), state };
    if program.instrs.get(top.pc as usize).op == RETURN { Step::Stay(frame) } else { Step::Enter(frame, top) }
}

/// Evaluates the test of the top frame, or enters the block that the test runs.
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

/// The next child for which the tests of a filter hold. No test runs a block.
#[inline(always)]
fn next_that_passes<N: Navigate, const FORM: u8>(
    program: &Program<'_>,
    record: &N,
    root: N::At,
    node: N::At,
    filter: &Instr,
    visit: &mut Visit,
) -> Option<N::At> {
    while let Some(child) = candidate::<N, FORM>(record, node, filter, visit) {
        if FORM != form::ANY {
            let test = program.tests.get(filter.a as usize);
            if let Some(found) = singular(program, record, child, test.path)
                && equals(record.text(), record.node(found), program.literals, &test)
            {
                return Some(child);
            }
            continue;
        }
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

/// The next node that a filter tests: a child, or the node itself, once.
#[inline(always)]
fn candidate<N: Navigate, const FORM: u8>(
    record: &N,
    node: N::At,
    filter: &Instr,
    visit: &mut Visit,
) -> Option<N::At> {
    if FORM != form::ANY || filter.b != 0 {
        return record.next_child(node, visit);
    }
    let is_first = visit.cursor == 0;
    visit.cursor = 1;
    is_first.then_some(node)
}

/// Evaluates a test that runs no block.
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
    let start = if test.from_root != 0 { root } else { child };
    let found = singular(program, record, start, test.path);
    if N::TREE && test.kind >= TestKind::FIRST_WITH_OPERANDS {
        return record.ask(program, (test, number), found, state);
    }
    let Some(at) = found else {
        // A missing value is neither equal to a literal nor ordered with it.
        return test.kind < EXISTS && test.relation & relation::UNRELATED != 0;
    };
    let node = record.node(at);
    match test.kind {
        EXISTS => true,
        PATTERN => is_accepted(record.text(), node, program, test.offset),
        _ => compares(record.text(), node, program.literals, test),
    }
}

/// The node at which the singular path at `pc` ends, from a node on.
#[inline(always)]
fn singular<N: Navigate>(program: &Program<'_>, record: &N, from: N::At, pc: u32) -> Option<N::At> {
    let (mut found, mut pc) = (Some(from), pc as usize);
    while let Some(at) = found {
        let instr = program.instrs.get(pc);
        found = match instr.op {
            NAME => record.member(at, program.literals, &instr),
            INDEX => record.element(at, instr.a),
            _ => break,
        };
        pc += 1;
    }
    found
}
