//! Indexing and querying a partition: pieces of whole lines, each from start to end while it is in the core's cache.

use std::cell::RefCell;

use warpath_shared::check::trim;
use warpath_shared::ir::Program as ProgramView;
use warpath_shared::kernel::Match;
use warpath_shared::query::document::Node;
use warpath_shared::query::machine::{Machine, Sink};
use warpath_shared::units::{LineIx, PathIx};

use super::classify::{Isa, Simd, Work};
use super::index::{Builder, Piece as Document, Structure};
use crate::answer::{Answer, Piece, Want};
use crate::program::Program;

/// Bytes that one thread indexes before it queries them: with three levels, well within an L2 cache.
const PIECE_BYTES: usize = 256 << 10;

thread_local! {
    /// Index and frames of this thread, reused from piece to piece.
    static SCRATCH: RefCell<(Structure, Machine)> = RefCell::default();
}

/// Answers a program over a partition: whole lines, of which the last may lack its newline.
pub(crate) fn answer(text: &[u8], program: &Program, want: Want) -> Answer {
    let pieces = cut(text)
        .into_iter()
        .map(|(start, end)| {
            SCRATCH.with_borrow_mut(|(structure, machine)| {
                let text = &text[start..end];
                let mut piece = Isa::best().run(Query { text, program, want, structure, machine });
                piece.base = start as u32;
                piece
            })
        })
        .collect();
    Answer { pieces }
}

/// Cuts a text into pieces of whole lines.
fn cut(text: &[u8]) -> Vec<(usize, usize)> {
    let mut cuts = Vec::with_capacity(text.len() / PIECE_BYTES + 1);
    let mut start = 0;
    while start < text.len() {
        let from = (start + PIECE_BYTES).min(text.len());
        let end = memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |at| from + at + 1);
        cuts.push((start, end));
        start = end;
    }
    cuts
}

struct Query<'a> {
    text: &'a [u8],
    program: &'a Program,
    want: Want,
    structure: &'a mut Structure,
    machine: &'a mut Machine,
}

impl Work for Query<'_> {
    type Output = Piece;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Piece {
        let Self { text, program, want, structure, machine } = self;
        Builder { text, levels: program.levels(), string: false, structure: &mut *structure }.run(simd);
        let faults = structure.faults(text);
        let doc = Document::new(text, structure);
        let view: ProgramView<'_> = program.view();
        let paths = program.paths();
        let mut sink = PieceSink {
            line: 0,
            keep: want.matches,
            counts: vec![0; paths],
            matches: vec![Vec::new(); if want.matches { paths } else { 0 }],
        };
        let mut records = Vec::new();
        let mut before_fault = None;
        let mut next_fault = faults.iter().peekable();
        for (line, bounds) in structure.line_starts.windows(2).enumerate() {
            let line = line as LineIx;
            let Some((start, end)) = trim(bounds[0], bounds[1], |at| text[at as usize]) else { continue };
            if next_fault.next_if(|fault| fault.line == line).is_some() {
                before_fault.get_or_insert_with(|| sink.counts.clone());
                continue;
            }
            if want.records {
                records.push(line);
            }
            sink.line = line;
            machine.run(&view, &doc, Node { start, end, level: 0 }, &mut sink);
        }
        Piece {
            base: 0,
            lines: structure.lines() as LineIx,
            records,
            counts: sink.counts,
            counts_before_fault: before_fault,
            matches: sink.matches,
            faults,
            ..Piece::default()
        }
    }
}

struct PieceSink {
    line: LineIx,
    keep: bool,
    counts: Vec<u64>,
    matches: Vec<Vec<Match>>,
}

impl Sink for PieceSink {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        if let Some(count) = self.counts.get_mut(path as usize) {
            *count += 1;
        }
        if self.keep
            && let Some(matches) = self.matches.get_mut(path as usize)
        {
            matches.push(Match { line: self.line, start: node.start, end: node.end });
        }
    }
}
