//! The operands of tests that compare more than a value with a literal. Earlier tests load them (RFC 9535
//! sections 2.3.5.2.2 and 2.4).

use super::automaton;
use super::compare::{Decimal, Decoder, ValueBytes, outcome_of, relate_numbers, relate_strings};
use super::document::{Node, Text};
use super::navigate::Navigate;
use super::tree::{Linked, Trees, equal};
use super::value::{is_string, is_word};
use crate::ir::{LiteralKind, Program, Test, TestKind, relation};
use crate::tree::tape::TapeIx;

/// A value or nothing, as one operand of a test. 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Operand {
    /// The kind of the operand: one of the constants below.
    kind: u32,
    /// The value: by the kind, a node, the number of a test, or a number.
    value: u32,
}

/// An operand without a value: the special result Nothing (RFC 9535 section 2.4.1).
const NOTHING: u32 = 0;
/// An operand whose value is a node.
const NODE: u32 = 1;
/// An operand whose value is the literal of a test.
const LITERAL: u32 = 2;
/// An operand whose value is a number.
const NUMBER: u32 = 3;

impl Operand {
    /// A node's value.
    #[inline(always)]
    pub const fn node(at: TapeIx) -> Self {
        Self { kind: NODE, value: at }
    }

    /// A node's value, or nothing.
    #[inline(always)]
    pub const fn of(found: Option<TapeIx>) -> Self {
        match found {
            Some(at) => Self::node(at),
            None => Self { kind: NOTHING, value: 0 },
        }
    }

    /// The literal of a test.
    #[inline(always)]
    pub const fn literal(test: u32) -> Self {
        Self { kind: LITERAL, value: test }
    }

    /// A number.
    #[inline(always)]
    pub const fn number(number: u32) -> Self {
        Self { kind: NUMBER, value: number }
    }
}

/// The kind of an operand's value, as far as comparisons distinguish kinds.
enum OperandType {
    Null,
    True,
    False,
    Number,
    String,
    Container,
    /// No value, or bytes that are no JSON value.
    None,
}

/// Operands of one record.
pub struct Operands<'p, 'a, T> {
    /// The program.
    pub program: &'p Program<'p>,
    /// The record.
    pub trees: &'p Linked<'a, T>,
}

impl<'p, T: Trees> Operands<'p, '_, T> {
    #[inline(always)]
    fn text(&self) -> &'p T {
        self.trees.0
    }

    #[inline(always)]
    fn span(&self, operand: Operand) -> Node {
        self.trees.node(operand.value)
    }

    #[inline(always)]
    fn literal(&self, operand: Operand) -> Test {
        self.program.tests.get(operand.value as usize)
    }

    fn kind(&self, operand: Operand) -> OperandType {
        match operand.kind {
            NODE => {
                let node = self.span(operand);
                if self.trees.at(operand.value).is_container() {
                    return OperandType::Container;
                }
                match self.text().byte(node.start) {
                    b'"' => OperandType::String,
                    b'n' if is_word(self.text(), node, b"null") => OperandType::Null,
                    b't' if is_word(self.text(), node, b"true") => OperandType::True,
                    b'f' if is_word(self.text(), node, b"false") => OperandType::False,
                    b'-' | b'0'..=b'9' => OperandType::Number,
                    _ => OperandType::None,
                }
            }
            LITERAL => match self.literal(operand).raw {
                kind if kind == LiteralKind::Null as u32 => OperandType::Null,
                kind if kind == LiteralKind::True as u32 => OperandType::True,
                kind if kind == LiteralKind::False as u32 => OperandType::False,
                kind if kind == LiteralKind::Number as u32 => OperandType::Number,
                _ => OperandType::String,
            },
            NUMBER => OperandType::Number,
            _ => OperandType::None,
        }
    }

    fn number(&self, operand: Operand) -> Option<Decimal<'p, T>> {
        let literals = self.program.literals;
        match operand.kind {
            NODE => {
                let node = self.span(operand);
                Decimal::read(ValueBytes::text(self.text(), literals), node.start, node.end)
            }
            LITERAL => {
                Some(Decimal::of_test(ValueBytes::literal(self.text(), literals), &self.literal(operand)))
            }
            _ => Some(Decimal::of_count(ValueBytes::literal(self.text(), literals), operand.value)),
        }
    }

    fn string(&self, operand: Operand) -> Decoder<'p, T> {
        let literals = self.program.literals;
        if operand.kind == NODE {
            let node = self.span(operand);
            return ValueBytes::text(self.text(), literals).decode(node.start + 1, node.end - 1);
        }
        let test = self.literal(operand);
        ValueBytes::literal(self.text(), literals).decode(test.offset, test.offset + test.len)
    }

    /// Compares two values that are not both containers. Returns a bit of [`relation`].
    fn relate_scalars(&self, left: Operand, right: Operand) -> u32 {
        match (self.kind(left), self.kind(right)) {
            (OperandType::Number, OperandType::Number) => match (self.number(left), self.number(right)) {
                (Some(left), Some(right)) => relate_numbers(left, right),
                _ => relation::UNRELATED,
            },
            (OperandType::String, OperandType::String) => {
                relate_strings(self.string(left), self.string(right))
            }
            (OperandType::Null, OperandType::Null)
            | (OperandType::True, OperandType::True)
            | (OperandType::False, OperandType::False) => relation::EQUAL,
            _ => relation::UNRELATED,
        }
    }

    /// Compares two operands. Returns a bit of [`relation`]. Nothing equals nothing.
    #[inline(never)]
    pub fn relate(&self, left: Operand, right: Operand) -> u32 {
        if left.kind == NOTHING || right.kind == NOTHING {
            return outcome_of(left.kind == right.kind);
        }
        let scalars = |left, right| self.relate_scalars(left, right);
        if left.kind != NODE || right.kind != NODE || !self.trees.at(left.value).is_container() {
            return scalars(left, right);
        }
        let equal_strings = |left, right| {
            relate_strings(self.string(Operand::node(left)), self.string(Operand::node(right)))
                == relation::EQUAL
        };
        let equal_scalars =
            |left, right| scalars(Operand::node(left), Operand::node(right)) == relation::EQUAL;
        outcome_of(equal(self.trees, (left.value, right.value), equal_strings, equal_scalars))
    }

    /// Evaluates the function `length` (RFC 9535 section 2.4.4). The length of a string is its number of code
    /// points, of which a lone surrogate is one. If the string is not UTF-8, the length is the number of
    /// bytes that are no continuation bytes.
    #[inline(never)]
    pub fn length(&self, of: Operand) -> Operand {
        match self.kind(of) {
            OperandType::String => {
                let (mut string, mut length) = (self.string(of), 0);
                while let Some(byte) = string.next_byte() {
                    length += !(0x80..0xc0).contains(&byte) as u32;
                }
                Operand::number(length)
            }
            OperandType::Container => Operand::number(self.trees.count_children(of.value)),
            _ => Operand::default(),
        }
    }

    /// Returns whether an operand is a string that the automaton at `automaton` accepts.
    #[inline(always)]
    pub fn matches(&self, operand: Operand, automaton: u32) -> bool {
        matches!(self.kind(operand), OperandType::String)
            && accepts(self.program, self.string(operand), automaton)
    }

    /// Returns whether an operand is a string that matches the pattern in another operand. With `part`, some
    /// part of the string must match.
    pub fn matches_at_run(&self, subject: Operand, pattern: Operand, part: bool) -> bool {
        let is_string = |operand| matches!(self.kind(operand), OperandType::String);
        if !is_string(subject) || !is_string(pattern) {
            return false;
        }
        let (mut subject, mut pattern) = (self.string(subject), self.string(pattern));
        self.text().matches_at_run(|| subject.next_byte(), || pattern.next_byte(), part)
    }
}

/// Returns whether an automaton accepts a string.
#[inline(never)]
fn accepts<T: Text>(program: &Program<'_>, mut string: Decoder<'_, T>, automaton: u32) -> bool {
    let mut state = automaton::start();
    while let Some(byte) = string.next_byte() {
        state = automaton::next(program.automata, automaton, state, byte);
        if automaton::is_final(state) {
            break;
        }
    }
    automaton::accepts(program.automata, automaton, state)
}

/// Returns whether a value in the text is a string that an automaton accepts.
#[inline(always)]
pub fn is_accepted<T: Text>(text: &T, node: Node, program: &Program<'_>, automaton: u32) -> bool {
    is_string(text, node)
        && accepts(
            program,
            ValueBytes::text(text, program.literals).decode(node.start + 1, node.end - 1),
            automaton,
        )
}

/// Evaluates a test that has operands and runs no block.
#[inline(always)]
pub fn ask<T: Trees>(
    operands: &Operands<'_, '_, T>,
    test: &Test,
    number: u32,
    found: Option<TapeIx>,
    loaded: &mut [Operand; 2],
) -> bool {
    const LOAD_LITERAL: u32 = TestKind::LoadLiteral as u32;
    const LOAD_PATH: u32 = TestKind::LoadPath as u32;
    const LENGTH: u32 = TestKind::Length as u32;
    const COMPARE: u32 = TestKind::Compare as u32;
    const PATTERN_OF: u32 = TestKind::PatternOf as u32;
    let slot = (test.slot & 1) as usize;
    match test.kind {
        LOAD_LITERAL => loaded[slot] = Operand::literal(number),
        LOAD_PATH => loaded[slot] = Operand::of(found),
        LENGTH => loaded[slot] = operands.length(loaded[slot]),
        COMPARE => return operands.relate(loaded[0], loaded[1]) & test.relation != 0,
        PATTERN_OF => return operands.matches(loaded[0], test.offset),
        _ => return operands.matches_at_run(loaded[0], loaded[1], test.negative != 0),
    }
    true
}
