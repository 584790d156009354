//! In which order everything is visited.
//!
//! Depth-first over blocks, with a stack of frames of its own instead of recursion: a kernel's thread
//! has no stack to speak of. A selector that takes one node and ends its block replaces the top frame,
//! so a singular path runs in one frame, in registers.

use core::mem::MaybeUninit;

use super::document::{Document, Node};
use super::select::{Visit, element, member, next_child, next_in_slice, next_plain_string, plain_member};
use super::value::equals;
use crate::ir::{Instr, MAX_FRAMES, Op, Program};
use crate::units::PathIx;
use crate::view::View;

/// Where matches go.
pub trait Sink {
    /// Takes a match of `path`.
    fn emit(&mut self, path: PathIx, node: Node);
}

/// One block at work on one node.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Frame {
    /// The instruction to run next.
    pc: u32,
    node: Node,
    visit: Visit,
}

/// The frames below the top one. Reused from record to record.
pub struct Machine {
    below: [MaybeUninit<Frame>; MAX_FRAMES],
}

impl Default for Machine {
    #[inline(always)]
    fn default() -> Self {
        Self { below: [MaybeUninit::uninit(); MAX_FRAMES] }
    }
}

/// What one step did to the stack.
enum Step {
    /// The top frame goes on.
    Stay(Frame),
    /// A new frame begins; the top one waits below it.
    Enter(Frame, Frame),
    /// The top frame is done.
    Leave,
}

const RETURN: u32 = Op::Return as u32;
const EMIT: u32 = Op::Emit as u32;
const NAME: u32 = Op::Name as u32;
const INDEX: u32 = Op::Index as u32;
const SLICE: u32 = Op::Slice as u32;
const WILDCARD: u32 = Op::Wildcard as u32;

impl Machine {
    /// Runs a program over one record and gives `sink` every match.
    ///
    /// At most [`MAX_FRAMES`] frames wait at once, which the program's compiler has checked.
    #[inline(always)]
    pub fn run<D: Document, S: Sink>(&mut self, program: &Program<'_>, doc: &D, root: Node, sink: &mut S) {
        self.run_block(program, 0, doc, root, sink);
    }

    /// Runs the block at `pc` over one node, as [`run`](Self::run) runs block 0 over a record.
    #[inline(always)]
    pub fn run_block<D: Document, S: Sink>(
        &mut self,
        program: &Program<'_>,
        pc: u32,
        doc: &D,
        node: Node,
        sink: &mut S,
    ) {
        self.run_steps::<D, S, false>(program, pc, doc, node, sink);
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
        self.run_steps::<D, S, true>(program, 0, doc, root, sink);
    }

    #[inline(always)]
    fn run_steps<D: Document, S: Sink, const SINGULAR: bool>(
        &mut self,
        program: &Program<'_>,
        pc: u32,
        doc: &D,
        node: Node,
        sink: &mut S,
    ) {
        let mut top = Frame { pc, node, visit: Visit::default() };
        let (mut waiting, mut on) = (0usize, true);
        let together = doc.together();
        while doc.any(together, on) {
            if !on {
                continue;
            }
            match step::<D, S, SINGULAR>(program, doc, top, sink) {
                Step::Stay(frame) => top = frame,
                // The compiler has counted; a program that lies loses matches, not memory.
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
                        // SAFETY: slots below `waiting` were written when it was raised past them.
                        top = unsafe { self.below[last].assume_init() };
                    }
                    None => on = false,
                },
            }
        }
    }
}

/// Runs the instruction of the top frame: the one step that every backend takes.
#[inline(always)]
fn step<D: Document, S: Sink, const SINGULAR: bool>(
    program: &Program<'_>,
    doc: &D,
    mut top: Frame,
    sink: &mut S,
) -> Step {
    let instr = program.instrs.get(top.pc as usize);
    let node = top.node;
    let child = match instr.op {
        RETURN => return Step::Leave,
        EMIT => {
            sink.emit(instr.target, node);
            None
        }
        NAME => named(doc, node, program.literals, &instr),
        INDEX => element(doc, node, instr.a),
        _ if SINGULAR => None,
        _ => {
            let (mut visit, mut from) = (top.visit, top.pc);
            let (mut behind, plain) = (top.pc + 1, doc.is_plain());
            let child = match instr.op {
                SLICE => next_in_slice(doc, node, &instr, &mut visit),
                WILDCARD => next_child(doc, node, &mut visit),
                _ if plain && program.tests.get(instr.a as usize).gaps != 0 => {
                    behind = top.pc + instr.b as u32;
                    next_plain_string(doc, node, program, (top.pc, instr.b as u32), &mut visit).map(
                        |(child, filter)| {
                            from = filter;
                            child
                        },
                    )
                }
                _ => next_that_passes(program, doc, node, &instr, &mut visit),
            };
            let Some(child) = child else {
                (top.pc, top.visit) = (behind, Visit::default());
                return Step::Stay(top);
            };
            let target = program.instrs.get(from as usize).target;
            let frame = Frame { pc: target, node: child, visit: Visit::default() };
            return Step::Enter(frame, Frame { visit, ..top });
        }
    };
    top.pc += 1;
    let Some(child) = child else { return Step::Stay(top) };
    let frame = Frame { pc: instr.target, node: child, visit: Visit::default() };
    if program.instrs.get(top.pc as usize).op == RETURN { Step::Stay(frame) } else { Step::Enter(frame, top) }
}

/// The member that an instruction names.
#[inline(always)]
fn named<D: Document>(doc: &D, node: Node, literals: View<'_, u8>, instr: &Instr) -> Option<Node> {
    if doc.is_plain() {
        return plain_member(doc, node, literals, instr.quoted());
    }
    member(doc, node, literals, instr.name())
}

/// The next child of which a filter's test holds.
#[inline(always)]
fn next_that_passes<D: Document>(
    program: &Program<'_>,
    doc: &D,
    node: Node,
    filter: &Instr,
    visit: &mut Visit,
) -> Option<Node> {
    let test = program.tests.get(filter.a as usize);
    while let Some(child) = next_child(doc, node, visit) {
        let mut found = Some(child);
        let mut pc = test.path as usize;
        while let Some(at) = found {
            let instr = program.instrs.get(pc);
            found = match instr.op {
                NAME => named(doc, at, program.literals, &instr),
                INDEX => element(doc, at, instr.a),
                _ => break,
            };
            pc += 1;
        }
        if let Some(value) = found
            && equals(doc, value, program.literals, &test)
        {
            return Some(child);
        }
    }
    None
}
