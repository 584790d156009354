//! Evaluation of a program over a text. A regular record takes one pass; any other record gets an index of
//! its own.

#[cfg(test)]
mod tests;

use std::mem::take;

use warpath_answer::answer::{Answer, Limit, LineFault, Piece, Spare, Want};
use warpath_core::simd::{Isa, Simd, Work};
use warpath_lang::host_tests::{HostMemory, HostTester};
use warpath_lang::program::Program;
use warpath_shared::check::trim;
use warpath_shared::ir::Program as ProgramView;
use warpath_shared::kernel::Match;
use warpath_shared::query::document::{Document, Node};
use warpath_shared::query::machine::{Machine, Sink, TreeMachine};
use warpath_shared::query::names;
use warpath_shared::query::navigate::Navigate;
use warpath_shared::query::tree::Linked;
use warpath_shared::tree::tape::TapeIx;
use warpath_shared::units::{LineIx, PartOffset, PathIx, WORD_BYTES};

use super::batch::{BlockValue, WordBatch, skip_space};
use super::index::{Builder, LeveledText, Structure};
use super::needles::Needles;
use super::order::{Order, Words};
use super::plan::Plan;
use super::scan::Scan;
use super::short::{Looked, Short};
use super::tape::{TapeMemory, TreeText};
use super::way::{Records, Way};

/// The number of bytes that are indexed before they are queried. With three levels, they fit well within an
/// L2 cache.
const PIECE_BYTES: usize = 256 << 10;

/// The memory that evaluation needs besides its text, reused from text to text.
#[derive(Default)]
pub(crate) struct Scratch {
    structure: Structure,
    machine: Machine,
    scan: Scan,
    trees: TreeMemory,
    anywhere: AnywhereMemory,
    of_host: HostMemory,
    /// The values of a predicate in one record.
    values: Vec<Option<Node>>,
    /// Memory of the matches and records of the last text.
    pub(super) spare: Spare,
}

/// Evaluates a program over a text of whole lines. The last line may lack its newline.
pub(crate) fn answer(text: &[u8], program: &Program, want: Want, scratch: &mut Scratch) -> Answer {
    if text.is_empty() {
        return Answer::default();
    }
    let mut sink = Collector::default();
    let Spare { matches, records } = take(&mut scratch.spare);
    (sink.piece.matches, sink.piece.records) = (matches, records);
    sink.begin(program, want);
    find(text, program, &Way::of(program, Records::Lines(text)), scratch, &mut sink);
    Answer { pieces: vec![sink.piece] }
}

/// Evaluates a program in its way over a text of whole lines, or over one record without a newline. `sink` is
/// ready to collect ([`Collector::begin`]).
pub(super) fn find(text: &[u8], program: &Program, way: &Way, scratch: &mut Scratch, sink: &mut Collector) {
    let isa = Isa::best();
    match way {
        Way::Anywhere(plan) => isa.run(Anywhere { text, program, plan, scratch, sink }),
        Way::Trees => isa.run(ByTrees { text, program, scratch, sink }),
        Way::Needles(needles) => {
            let (plan, needles) = (Some(&Plan::nothing()), Some(Needles::searching(needles)));
            isa.run(Query { text, program, plan, needles, scratch, sink });
        }
        Way::Names(plan) => isa.run(Query { text, program, plan: Some(plan), needles: None, scratch, sink }),
        Way::Index => isa.run(Query { text, program, plan: None, needles: None, scratch, sink }),
    }
}

/// The lines of a text that is indexed.
#[derive(Clone, Copy)]
pub(crate) struct IndexedLines<'a> {
    /// The start of each line, followed by the length of the text.
    pub starts: &'a [PartOffset],
    /// The faulty lines, in order.
    pub faults: &'a [LineFault],
}

/// Evaluates a program over an indexed text, with as many levels as the program reads. It reads only the ends
/// of lines and the bytes that the program needs.
pub(crate) fn answer_indexed<D: Document>(
    doc: &D,
    lines: IndexedLines<'_>,
    program: &Program,
    want: Want,
) -> Answer {
    if lines.starts.len() < 2 {
        return Answer::default();
    }
    Isa::best().run(OverIndex { doc, lines, program, want })
}

struct OverIndex<'a, D> {
    doc: &'a D,
    lines: IndexedLines<'a>,
    program: &'a Program,
    want: Want,
}

impl<D: Document> Work for OverIndex<'_, D> {
    type Output = Answer;

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) -> Answer {
        let Self { doc, lines, program, want } = self;
        let mut sink = Collector::default();
        sink.begin(program, want);
        run_lines(&program.view(), &mut Machine::default(), doc, lines, &mut sink, |_, _| true);
        Answer { pieces: vec![sink.piece] }
    }
}

/// Runs a program over the lines of a text that are records without a fault. The text begins at offset
/// `sink.base`. `may_match` says for the start and the end of a record whether it can have results.
#[inline(always)]
fn run_lines<D: Document>(
    program: &ProgramView<'_>,
    machine: &mut Machine,
    doc: &D,
    lines: IndexedLines<'_>,
    sink: &mut Collector,
    mut may_match: impl FnMut(usize, usize) -> bool,
) {
    let first = sink.piece.lines;
    let mut next_fault = lines.faults.iter().peekable();
    for (line, bounds) in lines.starts.windows(2).enumerate() {
        if let Some((start, end)) = trim(bounds[0], bounds[1], |at| doc.byte(at)) {
            if let Some(fault) = next_fault.next_if(|fault| fault.line == line as LineIx) {
                sink.fault(LineFault { line: first + fault.line, ..*fault });
            } else {
                sink.begin_record();
                if may_match(start as usize, end as usize) {
                    machine.run(program, doc, Node { start, end, level: 0 }, sink);
                }
            }
        }
        sink.piece.lines += 1;
        if sink.has_enough() {
            break;
        }
    }
}

/// Cuts a text into pieces of whole lines. Each piece except the last has at least `size` bytes.
fn cut(text: &[u8], size: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let begin = start;
        start = line_end(text, (begin + size).min(text.len()));
        (begin < text.len()).then_some((begin, start))
    })
}

/// The offset after the next newline from `from` on, or the end of the text.
fn line_end(text: &[u8], from: usize) -> usize {
    memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |at| from + at + 1)
}

struct Query<'a> {
    text: &'a [u8],
    program: &'a Program,
    /// The plan for streaming, if the program streams.
    plan: Option<&'a Plan>,
    /// The texts without which a record has no results. With them, the plan is that of no names.
    needles: Option<Needles>,
    scratch: &'a mut Scratch,
    sink: &'a mut Collector,
}

impl Work for Query<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { text, program, plan, needles, scratch, sink } = self;
        let Scratch { structure, machine, scan, values, .. } = scratch;
        let view = program.view();
        let mut worker = Worker { text, program: view, needles, structure, machine, sink };
        match plan {
            Some(plan) => worker.stream(simd, plan, scan, values),
            None => {
                for (start, end) in cut(text, PIECE_BYTES) {
                    worker.interpret(simd, start, end);
                    if worker.sink.has_enough() {
                        break;
                    }
                }
            }
        }
    }
}

/// The number of bytes whose trees are made before they are queried. With their nodes, they fit well within
/// an L2 cache.
const TREE_PIECE_BYTES: usize = 64 << 10;

/// Evaluates a program over the trees of records.
struct ByTrees<'a> {
    text: &'a [u8],
    program: &'a Program,
    scratch: &'a mut Scratch,
    sink: &'a mut Collector,
}

impl Work for ByTrees<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { text, program, scratch: Scratch { trees, of_host, .. }, sink } = self;
        let tester = HostTester::using(program.host_tests(), take(of_host));
        let range = (0, text.len());
        simd.apart(OverTrees { trees, text, range, program, tester: &tester, sink });
        *of_host = tester.into_memory();
    }
}

/// The memory of evaluation over trees.
#[derive(Default)]
struct TreeMemory {
    tape: TapeMemory,
    machine: TreeMachine,
    found: Vec<(TapeIx, TapeIx)>,
}

/// Evaluates a program over the whole lines in a range of a text.
struct OverTrees<'a, 'b> {
    trees: &'a mut TreeMemory,
    text: &'a [u8],
    range: (usize, usize),
    program: &'a Program,
    tester: &'a HostTester<'b>,
    sink: &'a mut Collector,
}

impl Work for OverTrees<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { trees, text, range: (from, to), program, tester, sink } = self;
        let (view, TreeMemory { tape, machine, found }) = (program.view(), trees);
        'pieces: for (start, end) in cut(&text[from..to], TREE_PIECE_BYTES) {
            let text = &text[from + start..from + end];
            tape.build(simd, text);
            sink.base = (from + start) as PartOffset;
            let first = sink.piece.lines;
            let mut faults = tape.faults().iter().peekable();
            let mut records = tape.records().iter().peekable();
            for line in 0..tape.lines() {
                if let Some(fault) = faults.next_if(|fault| fault.line == line) {
                    sink.fault(LineFault { line: first + line, ..*fault });
                } else if let Some((_, root)) = records.next_if(|(of, _)| *of == line) {
                    sink.begin_record();
                    let trees = TreeText { text, memory: tape, tester };
                    if program.names().is_empty() {
                        machine.run(&view, &trees, *root, sink);
                    } else {
                        run_names(&view, program.names(), &Linked(&trees), *root, found, sink);
                    }
                }
                sink.piece.lines += 1;
                if sink.has_enough() {
                    break 'pieces;
                }
            }
        }
    }
}

/// Evaluates a program whose paths all are `$..name` over short records. The tokens of a batch of lines are
/// checked together, and the shapes of the lines have their containers. Lines that are not decided so are
/// evaluated over trees.
struct Anywhere<'a> {
    text: &'a [u8],
    program: &'a Program,
    plan: &'a Plan,
    scratch: &'a mut Scratch,
    sink: &'a mut Collector,
}

/// The memory of [`Anywhere`].
#[derive(Default)]
struct AnywhereMemory {
    batch: WordBatch,
    words: Words,
    short: Short,
    found: Vec<BlockValue>,
    /// The number of records that were decided by their shapes, for tests.
    decided: u64,
}

impl Work for Anywhere<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { text, program, plan, scratch: Scratch { trees, of_host, anywhere, .. }, sink } = self;
        let tester = HostTester::using(program.host_tests(), take(of_host));
        let AnywhereMemory { batch, words, short, found, decided } = anywhere;
        batch.clear(true);
        short.begin(plan);
        // Lines from `left` to `at` are left to trees.
        let (mut at, mut left) = (0, 0);
        while at < text.len() && !sink.has_enough() {
            let begin = at;
            batch.begin(simd, text, at);
            if !Order::default().holds(simd, batch, text, words) {
                at = line_end(text, (at + batch.words * WORD_BYTES - 1).min(text.len() - 1));
                continue;
            }
            while at < text.len() {
                let start = skip_space(text, at);
                if left == at && text.get(start) == Some(&b'\n') {
                    // A blank line.
                    sink.piece.lines += 1;
                    (at, left) = (start + 1, start + 1);
                    continue;
                }
                let looked = match text.get(start) {
                    Some(b'{' | b'[') => short.record::<S, true>(simd, batch, text, start, plan, found),
                    _ if batch.word_of(start).is_none() => Looked::Beyond,
                    _ => Looked::Undecided,
                };
                match looked {
                    Looked::Ended(next) => {
                        if left < at {
                            simd.apart(OverTrees {
                                trees,
                                text,
                                range: (left, at),
                                program,
                                tester: &tester,
                                sink,
                            });
                            if sink.has_enough() {
                                break;
                            }
                        }
                        sink.begin_record();
                        sink.base = 0;
                        for BlockValue { block, start, end, .. } in &*found {
                            for path in &plan.blocks[*block].paths {
                                sink.emit(*path, Node { start: *start, end: *end, level: 0 });
                            }
                        }
                        sink.piece.lines += 1;
                        (at, left) = (next, next);
                        *decided += 1;
                        if sink.has_enough() {
                            break;
                        }
                    }
                    Looked::Undecided => at = line_end(text, start),
                    Looked::Beyond => break,
                }
            }
            if at == begin {
                at = line_end(text, at);
            }
        }
        if !sink.has_enough() {
            let range = (left, text.len());
            simd.apart(OverTrees { trees, text, range, program, tester: &tester, sink });
        }
        *of_host = tester.into_memory();
    }
}

/// Runs a program whose paths all are `$..name` over a record. It visits all nodes of the record in sequence.
#[inline(always)]
fn run_names(
    program: &ProgramView<'_>,
    names: &[u32],
    trees: &Linked<'_, TreeText<'_>>,
    root: TapeIx,
    found: &mut Vec<(TapeIx, TapeIx)>,
    sink: &mut Collector,
) {
    let nodes = trees.0.record(root);
    for (path, name) in names.iter().enumerate() {
        let name = program.instrs.get(*name as usize);
        found.clear();
        for (at, node) in (root..).zip(nodes) {
            if names::is_named(trees, program, &name, node, trees.0.text.len())
                && let Some(container) = names::container(trees, program, &name, (at, node))
            {
                found.push((container, at + 1));
            }
        }
        // Values of one container were found in their order, which the second number keeps.
        found.sort_unstable();
        for (_, value) in &*found {
            sink.emit(path as PathIx, trees.node(*value));
        }
    }
}

struct Worker<'a> {
    text: &'a [u8],
    program: ProgramView<'a>,
    needles: Option<Needles>,
    structure: &'a mut Structure,
    machine: &'a mut Machine,
    sink: &'a mut Collector,
}

impl Worker<'_> {
    /// Evaluates the program over the whole text, a record at a time. `values` is memory that is used again.
    #[inline(always)]
    fn stream<S: Simd>(&mut self, simd: S, plan: &Plan, scan: &mut Scan, values: &mut Vec<Option<Node>>) {
        scan.begin(self.text, plan);
        let mut at = 0;
        while at < self.text.len() && !self.sink.has_enough() {
            let mut start = at;
            while matches!(self.text.get(start), Some(b' ' | b'\t' | b'\r')) {
                start += 1;
            }
            let next = match self.text.get(start) {
                Some(b'{' | b'[') => scan.record(simd, self.text, start, plan),
                // Pretty-printed values have many blank lines after them. An index for each costs much more.
                Some(b'\n') => {
                    self.sink.piece.lines += 1;
                    at = start + 1;
                    continue;
                }
                _ => None,
            };
            let end = next.unwrap_or_else(|| line_end(self.text, start));
            let needed = |needles: &mut Needles| needles.occur(self.text, at, end);
            if next.is_none() || self.needles.as_mut().is_some_and(needed) {
                scan.clear(plan);
                self.interpret(simd, at, end);
            } else {
                self.sink.begin_record();
                if self.passes(plan, scan.found(), values) {
                    for found in scan.found() {
                        self.found(simd, plan, found);
                    }
                }
                self.sink.piece.lines += 1;
            }
            at = end;
        }
    }

    /// Evaluates the predicate of the program over the values that were found in a regular record. `values`
    /// is memory that is used again.
    #[inline(always)]
    fn passes(&self, plan: &Plan, found: &[BlockValue], values: &mut Vec<Option<Node>>) -> bool {
        let Some(guard) = &plan.guard else { return true };
        guard.begin(values);
        for found in found {
            if let Some(value) = plan.blocks[found.block].value {
                values[value] = Some(Node { start: found.start, end: found.end, level: 0 });
            }
        }
        guard.holds(&LeveledText::new(self.text, &[]), &self.program, values)
    }

    /// Evaluates the rest of the program over a value that was found in a regular record.
    #[inline(always)]
    fn found<S: Simd>(&mut self, simd: S, plan: &Plan, found: &BlockValue) {
        let BlockValue { block, start, end, container } = *found;
        let block = &plan.blocks[block];
        match block.rest {
            Some(pc) if container => {
                // The scan reports a container with a `rest` only for its children, and an empty container
                // has none.
                if end - start > 2 || !block.paths.is_empty() {
                    let (start, end) = (start as usize, end as usize);
                    simd.apart(Interpret { worker: self, start, end, block: Some(pc) });
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

    /// Indexes some lines, diagnoses the suspected ones, and runs the program over the others.
    #[inline(always)]
    fn interpret<S: Simd>(&mut self, simd: S, start: usize, end: usize) {
        simd.apart(Interpret { worker: self, start, end, block: None });
    }
}

/// Indexes a range of a text, and runs the program over its lines, or a block of the program over a
/// container, as a document of its own.
struct Interpret<'w, 'a> {
    worker: &'w mut Worker<'a>,
    start: usize,
    end: usize,
    block: Option<u32>,
}

impl Work for Interpret<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { worker, start, end, block } = self;
        let Worker { text: whole, program, needles, structure, machine, sink } = worker;
        let text = &whole[start..end];
        Builder { text, levels: program.levels, string: false, structure }.run(simd);
        sink.base = start as PartOffset;
        let doc = LeveledText::new(text, &structure.levels);
        match block {
            Some(pc) => {
                let node = Node { start: 0, end: text.len() as PartOffset, level: 0 };
                machine.run_block(program, pc, &doc, node, *sink);
            }
            None => {
                let lines = IndexedLines { starts: &structure.line_starts, faults: &structure.faults(text) };
                run_lines(program, machine, &doc, lines, sink, |from, to| {
                    needles.as_mut().is_none_or(|needles| needles.occur(whole, start + from, start + to))
                });
            }
        }
    }
}

/// Collects the results. `piece.lines` is the number of the current line.
#[derive(Default)]
pub(super) struct Collector {
    want: Want,
    /// True if the last path marks the records that are wanted.
    marks: bool,
    pub(super) piece: Piece,
    line: LineIx,
    /// The offset of the current document in the text.
    base: PartOffset,
}

impl Collector {
    /// Prepares for a text. The memory of earlier counts, matches and faults is used again.
    pub(super) fn begin(&mut self, program: &Program, want: Want) {
        let (paths, Piece { lines, records, counts, counts_before_fault, matches, faults, .. }) =
            (program.paths(), &mut self.piece);
        (*lines, *counts_before_fault) = (0, None);
        records.clear();
        counts.clear();
        counts.resize(paths, 0);
        matches.iter_mut().for_each(Vec::clear);
        matches.resize_with(if want.matches { paths } else { 0 }, Vec::new);
        faults.clear();
        (self.want, self.marks, self.line, self.base) = (want, program.marks_records(), 0, 0);
    }

    /// Returns whether nothing after the current record is wanted.
    #[inline(always)]
    fn has_enough(&self) -> bool {
        match self.want.limit {
            None => false,
            Some(Limit::Matches(limit)) => self.piece.counts.iter().all(|count| *count >= limit),
            Some(Limit::Records(limit)) if self.marks => {
                self.piece.counts.last().is_some_and(|count| *count >= limit)
            }
            Some(Limit::Records(limit)) => self.piece.records.len() as u64 >= limit,
        }
    }

    #[inline(always)]
    fn begin_record(&mut self) {
        self.line = self.piece.lines;
        if self.want.records && !self.marks {
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
