//! The trees of records, in the order of the text, made one word of 64 bytes at a time.

use std::iter;

use warpath_answer::answer::LineFault;
use warpath_core::cancel::is_stopped;
use warpath_core::simd::{Isa, Simd, Work};
use warpath_lang::host_tests::HostTester;
use warpath_lang::jsonpath::ast::PatternKind;
use warpath_lang::pattern::holds;
use warpath_shared::check::{diagnose, is_space_below};
use warpath_shared::index::line::{LineState, index_word};
use warpath_shared::query::document::Text;
use warpath_shared::query::tree::Trees;
use warpath_shared::tree::tape::{Builder, Line, Tape, TapeIx, TapeNode};
use warpath_shared::tree::token::{TokenCarry, tokens};
use warpath_shared::units::{LineIx, PartOffset, WORD_BYTES};

use crate::placed::{Token, line_fault};

/// The trees of some lines. The memory is reused from piece to piece.
#[derive(Default)]
pub(crate) struct TapeMemory {
    nodes: Vec<TapeNode>,
    /// The lines that have records without a fault, and the root of each.
    records: Vec<(LineIx, TapeIx)>,
    /// The faulty lines, in order.
    faults: Vec<LineFault>,
    lines: LineIx,
}

impl TapeMemory {
    /// The lines that have records without a fault, and the root of each, in order.
    pub fn records(&self) -> &[(LineIx, TapeIx)] {
        &self.records
    }

    /// The faulty lines, in order.
    pub fn faults(&self) -> &[LineFault] {
        &self.faults
    }

    /// The number of lines.
    pub fn lines(&self) -> LineIx {
        self.lines
    }

    /// All nodes.
    pub fn nodes(&self) -> &[TapeNode] {
        &self.nodes
    }

    /// Calls [`build`](Self::build) with the best instruction set of this processor.
    pub fn build_here(&mut self, text: &[u8]) {
        struct Build<'a>(&'a mut TapeMemory, &'a [u8]);

        impl Work for Build<'_> {
            type Output = ();

            #[inline(always)]
            fn run<S: Simd>(self, simd: S) {
                self.0.build(simd, self.1);
            }
        }

        Isa::best().run(Build(self, text));
    }

    /// Makes the trees of a text of whole lines. The last line may lack its newline.
    #[inline(always)]
    pub fn build<S: Simd>(&mut self, simd: S, text: &[u8]) {
        self.records.clear();
        self.faults.clear();
        self.lines = 0;
        let (chunks, rest) = text.as_chunks::<WORD_BYTES>();
        let terminate = text.last().is_some_and(|byte| *byte != b'\n');
        let mut last = [b' '; WORD_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        if terminate {
            last[rest.len()] = b'\n';
        }
        let total = chunks.len() + (!rest.is_empty() || terminate) as usize;
        let (mut state, mut carry) = (LineState::default(), TokenCarry::default());
        let mut walk =
            WordState { builder: Builder::default(), line_start: 0, root: 0, open: None, faulty: false };
        for w in 0..total {
            let word = chunks.get(w).unwrap_or(&last);
            let classes = simd.classify(word);
            let indexed = index_word(&classes, &mut state, |bits| simd.prefix_xor(bits));
            let equal = |byte| simd.equal(word, byte);
            let space = equal(b' ') | equal(b'\t') | equal(b'\r') | classes.newline;
            let found = tokens(&indexed, space, &mut carry);
            // At most one node begins at each byte.
            let room = walk.builder.next as usize + WORD_BYTES;
            if self.nodes.len() < room {
                self.nodes.resize(2 * room, TapeNode::default());
            }
            let events = found.start | classes.newline;
            let mut faults = indexed.faults;
            let (mut control, mut continues) = (classes.control & !indexed.string, false);
            while control != 0 {
                let bit = control & control.wrapping_neg();
                control ^= bit;
                if !is_space_below(word[bit.trailing_zeros() as usize]) {
                    // The fault is noted at the newline that ends its line, if that is in this word.
                    let ends = classes.newline & !(bit - 1);
                    faults |= ends & ends.wrapping_neg();
                    continues |= ends == 0;
                }
            }
            walk.word(self, text, (w * WORD_BYTES) as PartOffset, word, (events, found.past, faults));
            walk.faulty |= continues;
        }
    }
}

/// The state that one word passes to the next.
struct WordState {
    builder: Builder,
    line_start: PartOffset,
    /// The first node of the current line.
    root: TapeIx,
    /// The node whose token has not ended.
    open: Option<TapeIx>,
    /// Set if the line has a fault other than a misplaced token.
    faulty: bool,
}

impl WordState {
    #[inline(always)]
    fn word(
        &mut self,
        memory: &mut TapeMemory,
        text: &[u8],
        base: PartOffset,
        word: &[u8; WORD_BYTES],
        (mut events, past, faults): (u64, u64, u64),
    ) {
        if past != 0
            && let Some(open) = self.open.take()
        {
            Nodes(&mut memory.nodes).set_end(open, base + past.trailing_zeros());
        }
        while events != 0 {
            let place = events.trailing_zeros();
            events &= events - 1;
            let (at, byte) = (base + place, word[place as usize % WORD_BYTES]);
            if byte == b'\n' {
                self.faulty |= faults >> place & 1 == 1;
                self.end_line(memory, text, at + 1);
                continue;
            }
            // The end of the token, if it is in this word. Otherwise, a later word sets it.
            let behind = past & (!1 << place);
            let node = self.builder.next;
            self.builder.token(&mut Nodes(&mut memory.nodes), at, byte, base + behind.trailing_zeros());
            if behind == 0 {
                self.open = (self.builder.next != node).then_some(node);
            }
        }
    }

    #[inline(always)]
    fn end_line(&mut self, memory: &mut TapeMemory, text: &[u8], next: PartOffset) {
        let kind = self.builder.end_line();
        let line = &text[self.line_start as usize..text.len().min(next as usize)];
        match kind {
            Line::Record if !self.faulty && self.root_holds(memory, text, line) => {
                memory.records.push((memory.lines, self.root));
            }
            Line::Blank if !self.faulty => {}
            _ => {
                memory.faults.extend(line_fault(line).map(|fault| LineFault { line: memory.lines, fault }));
            }
        }
        memory.lines += 1;
        (self.line_start, self.root, self.open, self.faulty) = (next, self.builder.next, None, false);
    }

    /// Returns whether the root of a line is a container, or a scalar without a fault.
    #[inline(always)]
    fn root_holds(&self, memory: &TapeMemory, text: &[u8], line: &[u8]) -> bool {
        let root = memory.nodes[self.root as usize].start();
        matches!(text[root as usize], b'{' | b'[') || diagnose(line).is_none()
    }
}

/// The nodes of one JSON text, whose tokens are at allowed positions.
pub(crate) fn nodes_of(text: &[u8], tokens: &[Token]) -> Vec<TapeNode> {
    let spans = tokens.iter().map(|Token { range, .. }| (range.start, text[range.start], range.end));
    nodes_of_spans(spans, tokens.len())
}

/// The nodes of tokens, each with its start, first byte and end. There are at most `most` nodes.
pub(crate) fn nodes_of_spans(tokens: impl Iterator<Item = (usize, u8, usize)>, most: usize) -> Vec<TapeNode> {
    let (mut nodes, mut builder) = (vec![TapeNode::default(); most], Builder::default());
    for (start, byte, end) in tokens {
        builder.token(&mut Nodes(&mut nodes), start as PartOffset, byte, end as PartOffset);
    }
    nodes.truncate(builder.next as usize);
    nodes
}

/// The nodes under construction, with room for all nodes.
struct Nodes<'a>(&'a mut [TapeNode]);

impl Tape for Nodes<'_> {
    #[inline(always)]
    fn node(&self, at: TapeIx) -> TapeNode {
        self.0[at as usize]
    }

    #[inline(always)]
    fn put(&mut self, at: TapeIx, node: TapeNode) {
        self.0[at as usize] = node;
    }

    #[inline(always)]
    fn set_next(&mut self, at: TapeIx, next: TapeIx) {
        self.0[at as usize].next = next;
    }

    #[inline(always)]
    fn set_end(&mut self, at: TapeIx, end: PartOffset) {
        self.0[at as usize].end = end;
    }

    #[inline(always)]
    fn set_named(&mut self, at: TapeIx) {
        let node = &mut self.0[at as usize];
        *node = node.named();
    }
}

/// A text with its trees.
pub(super) struct TreeText<'a> {
    pub text: &'a [u8],
    pub memory: &'a TapeMemory,
    /// The program's tests that only the host makes.
    pub tester: &'a HostTester<'a>,
}

impl TreeText<'_> {
    /// The nodes of the record with this root.
    #[inline(always)]
    pub fn record(&self, root: TapeIx) -> &[TapeNode] {
        let nodes = &self.memory.nodes;
        &nodes[root as usize..nodes[root as usize].next as usize]
    }
}

impl Text for TreeText<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        self.text[at as usize]
    }

    fn is_stopped(&self) -> bool {
        is_stopped()
    }

    fn matches_at_run(
        &self,
        subject: impl FnMut() -> Option<u8>,
        pattern: impl FnMut() -> Option<u8>,
        part: bool,
    ) -> bool {
        let kind = if part { PatternKind::Search } else { PatternKind::Match };
        let (pattern, subject) = (iter::from_fn(pattern), iter::from_fn(subject));
        self.tester.holds(pattern, subject, |pattern, subject| holds(pattern, kind, subject))
    }
}

impl Trees for TreeText<'_> {
    #[inline(always)]
    fn tape_node(&self, at: TapeIx) -> TapeNode {
        self.memory.nodes[at as usize]
    }
}
