//! Which children a filter selects.

use super::document::{Document, Node};
use super::select::{Visit, element, member, next_child};
use super::value::equals;
use crate::ir::{Instr, LiteralKind, Op, Program, Test};

const NAME: u32 = Op::Name as u32;
const INDEX: u32 = Op::Index as u32;

/// A filter's test, read from its program.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    test: Test,
}

impl Filter {
    /// The test of a [`Op::Filter`].
    #[inline(always)]
    pub fn of(program: &Program<'_>, instr: &Instr) -> Self {
        Self { test: program.tests.get(instr.a as usize) }
    }

    /// Whether a child passes.
    #[inline(always)]
    pub fn passes<D: Document>(&self, doc: &D, program: &Program<'_>, child: Node) -> bool {
        let mut at = child;
        let mut pc = self.test.path as usize;
        loop {
            let instr = program.instrs.get(pc);
            let found = match instr.op {
                NAME => member(doc, at, program.literals, (instr.a as u32, instr.b as u32)),
                INDEX => element(doc, at, instr.a),
                _ => return equals(doc, at, program.literals, &self.test),
            };
            let Some(next) = found else { return false };
            at = next;
            pc += 1;
        }
    }

    /// Where the decoded string stands among the literals, as (offset, length), that a child must equal itself: for tests
    /// of the form `@ == "text"`.
    #[inline(always)]
    pub fn string(&self, program: &Program<'_>) -> Option<(u32, u32)> {
        let child_itself = program.instrs.get(self.test.path as usize).op == Op::Return as u32;
        let Test { kind, offset, len, .. } = self.test;
        (child_itself && kind == LiteralKind::String as u32).then_some((offset, len))
    }
}

/// The next child that passes, in document order, or `None` after the last.
#[inline(always)]
pub fn next_passing<D: Document>(
    doc: &D,
    program: &Program<'_>,
    node: Node,
    filter: &Filter,
    visit: &mut Visit,
) -> Option<Node> {
    while let Some(child) = next_child(doc, node, visit) {
        if filter.passes(doc, program, child) {
            return Some(child);
        }
    }
    None
}
