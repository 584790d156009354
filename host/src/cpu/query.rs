//! Answering a program over a text: each record in one pass where it is regular, and by an index of its own where not.

use std::cell::RefCell;

use rayon::prelude::*;
use warpath_shared::check::trim;
use warpath_shared::ir::Program as ProgramView;
use warpath_shared::kernel::Match;
use warpath_shared::query::document::Node;
use warpath_shared::query::machine::{Machine, Sink};
use warpath_shared::units::{LineIx, PartOffset, PathIx};

use super::classify::{Isa, Simd, Work};
use super::index::{Builder, Piece as Document, Structure};
use super::plan::Plan;
use super::scan::{Found, Scan};
use crate::answer::{Answer, LineFault, Piece, Want};
use crate::program::Program;

/// Bytes that are indexed before they are queried: with three levels, well within an L2 cache.
const PIECE_BYTES: usize = 256 << 10;

/// What answering needs beside its text, reused from text to text.
#[derive(Default)]
pub(crate) struct Scratch {
    structure: Structure,
    machine: Machine,
    scan: Scan,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Answers a program over a partition on every core: whole lines, of which the last may lack its newline.
pub(crate) fn answer_on_all_cores(text: &[u8], program: &Program, want: Want) -> Answer {
    let pieces = cut(text)
        .into_par_iter()
        .flat_map_iter(|(start, end)| {
            let answer = SCRATCH.with_borrow_mut(|scratch| answer(&text[start..end], program, want, scratch));
            answer.pieces.into_iter().map(move |piece| Piece { base: piece.base + start as PartOffset, ..piece })
        })
        .collect();
    Answer { pieces }
}

/// Answers a program over a text on this thread: whole lines, of which the last may lack its newline.
pub(crate) fn answer(text: &[u8], program: &Program, want: Want, scratch: &mut Scratch) -> Answer {
    Isa::best().run(Query { text, program, want, scratch })
}

/// Cuts a text into pieces of whole lines.
fn cut(text: &[u8]) -> Vec<(usize, usize)> {
    let mut cuts = Vec::with_capacity(text.len() / PIECE_BYTES + 1);
    let mut start = 0;
    while start < text.len() {
        let from = (start + PIECE_BYTES).min(text.len());
        let end = line_end(text, from);
        cuts.push((start, end));
        start = end;
    }
    cuts
}

/// One past the next newline from `from` on, or the end.
fn line_end(text: &[u8], from: usize) -> usize {
    memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |at| from + at + 1)
}

struct Query<'a> {
    text: &'a [u8],
    program: &'a Program,
    want: Want,
    scratch: &'a mut Scratch,
}

impl Work for Query<'_> {
    type Output = Answer;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Answer {
        let Self { text, program, want, scratch: Scratch { structure, machine, scan } } = self;
        let view = program.view();
        let paths = program.paths();
        let matches = vec![Vec::new(); if want.matches { paths } else { 0 }];
        let piece = Piece { counts: vec![0; paths], matches, ..Piece::default() };
        let sink = Collector { want, piece, line: 0, base: 0 };
        let mut worker = Worker { simd, text, program: view, structure, machine, sink };
        match Plan::of(&view) {
            Some(plan) => worker.stream(&plan, scan),
            None => {
                for (start, end) in cut(text) {
                    worker.interpret(start, end);
                }
            }
        }
        Answer { pieces: vec![worker.sink.piece] }
    }
}

struct Worker<'a, S> {
    simd: S,
    text: &'a [u8],
    program: ProgramView<'a>,
    structure: &'a mut Structure,
    machine: &'a mut Machine,
    sink: Collector,
}

impl<S: Simd> Worker<'_, S> {
    /// Answers the whole text, a record at a time.
    #[inline(always)]
    fn stream(&mut self, plan: &Plan, scan: &mut Scan) {
        scan.clear();
        let mut at = 0;
        while at < self.text.len() {
            let mut start = at;
            while matches!(self.text.get(start), Some(b' ' | b'\t' | b'\r')) {
                start += 1;
            }
            let next = match self.text.get(start) {
                Some(b'{' | b'[') => scan.record(self.simd, self.text, start, plan),
                _ => None,
            };
            at = match next {
                Some(next) => {
                    self.sink.begin_record();
                    for found in scan.found() {
                        self.found(plan, found);
                    }
                    self.sink.piece.lines += 1;
                    next
                }
                None => {
                    let end = line_end(self.text, start);
                    scan.clear();
                    self.interpret(at, end);
                    end
                }
            };
        }
    }

    /// Answers what is asked of a value that was found in a regular record.
    #[inline(always)]
    fn found(&mut self, plan: &Plan, found: &Found) {
        let Found { block, start, end, container } = *found;
        let block = &plan.blocks[block];
        match block.rest {
            Some(pc) if container => {
                // An empty container has no children, and is found only for them.
                if end - start > 2 || !block.paths.is_empty() {
                    self.run_block(pc, start, end);
                }
            }
            _ => {
                for path in &block.paths {
                    self.sink.base = 0;
                    self.sink.emit(*path, Node { start, end, level: 0 });
                }
            }
        }
    }

    /// Runs a block over a container, as a document of its own.
    #[inline(always)]
    fn run_block(&mut self, pc: u32, start: PartOffset, end: PartOffset) {
        let text = &self.text[start as usize..end as usize];
        let structure = &mut *self.structure;
        Builder { text, levels: self.program.levels, string: false, structure: &mut *structure }.run(self.simd);
        self.sink.base = start;
        let doc = Document::new(text, structure);
        let node = Node { start: 0, end: text.len() as PartOffset, level: 0 };
        self.machine.run_block(&self.program, pc, &doc, node, &mut self.sink);
    }

    /// Indexes some lines, judges those that are suspected, and runs the program over the others.
    #[inline(always)]
    fn interpret(&mut self, start: usize, end: usize) {
        let text = &self.text[start..end];
        let structure = &mut *self.structure;
        Builder { text, levels: self.program.levels, string: false, structure: &mut *structure }.run(self.simd);
        let first = self.sink.piece.lines;
        let faults = structure.faults(text);
        let mut next_fault = faults.iter().peekable();
        self.sink.base = start as PartOffset;
        let doc = Document::new(text, structure);
        for (line, bounds) in structure.line_starts.windows(2).enumerate() {
            if let Some((start, end)) = trim(bounds[0], bounds[1], |at| text[at as usize]) {
                if let Some(fault) = next_fault.next_if(|fault| fault.line == line as LineIx) {
                    self.sink.fault(LineFault { line: first + fault.line, ..*fault });
                } else {
                    self.sink.begin_record();
                    self.machine.run(&self.program, &doc, Node { start, end, level: 0 }, &mut self.sink);
                }
            }
            self.sink.piece.lines += 1;
        }
    }
}

/// Gathers the answer. `piece.lines` is the number of the line at work.
struct Collector {
    want: Want,
    piece: Piece,
    line: LineIx,
    /// Where the document at work stands in the text.
    base: PartOffset,
}

impl Collector {
    #[inline(always)]
    fn begin_record(&mut self) {
        self.line = self.piece.lines;
        if self.want.records {
            self.piece.records.push(self.line);
        }
    }

    fn fault(&mut self, fault: LineFault) {
        let counts = &self.piece.counts;
        self.piece.counts_before_fault.get_or_insert_with(|| counts.clone());
        self.piece.faults.push(fault);
    }
}

impl Sink for Collector {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        if let Some(count) = self.piece.counts.get_mut(path as usize) {
            *count += 1;
        }
        if self.want.matches
            && let Some(matches) = self.piece.matches.get_mut(path as usize)
        {
            matches.push(Match { line: self.line, start: self.base + node.start, end: self.base + node.end });
        }
    }
}
