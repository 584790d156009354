//! The conversion of syntax trees to blocks of instructions.
//!
//! Paths are first merged into a tree of segments: a path that begins with the same segments as an earlier
//! one shares them. Each tree node becomes a block, in breadth-first order, so block 0 is the root's. Then
//! come the blocks of descendant segments and of queries in filters, and after these the singular paths of
//! filters. The block of a predicate about the record precedes the root's block. Until all are laid out,
//! instructions and tests refer to blocks by number.

mod filter;
mod literals;
mod sets;
mod with_literal;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use literals::Literals;
use warpath_core::diagnostic::QueryError;
use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};
use warpath_core::error::Error;
use warpath_shared::ir::{ABSENT, FAIL, Instr, MAX_FRAMES, MAX_PATHS, Op, PASS, Test, TestKind, relation};
use warpath_shared::units::{Level, MAX_DEPTH};

use super::{Column, Program, Query};
use crate::cache::Cache;
use crate::host_tests::HostTests;
use crate::jsonpath::{LogicalExpr, Segment, SegmentKind, Selector, SelectorKind};
use crate::predicate::Predicate;

/// The maximum number of leveled bitmaps that a program may read. A program that looks deeper reads the
/// records' trees.
const MOST_LEVELS: usize = 31;

/// Number of frames that wait below a block that a predicate's test runs: the guard's filter and the test.
const OF_GUARD: usize = 2;

/// A node of the tree: the paths that begin with the same segments.
#[derive(Default)]
struct Trie<'a> {
    /// The paths that end here.
    ends: Vec<u32>,
    /// The segments that continue from here. Their order is free: it does not matter within a path.
    next: Vec<(&'a Segment, usize)>,
    /// The maximum number of frames that wait while this node's block and the blocks that it enters run.
    /// Frames of filters are not counted.
    waiting: usize,
}

/// A predicate that a program evaluates on each record, before its paths.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Guard {
    pub predicate: Arc<Predicate>,
    /// True if the program has one more path, which the records match for which the predicate is true.
    pub marks: bool,
}

pub(super) fn lower(queries: &[Query], guard: Option<Guard>) -> Result<Program, Error> {
    if queries.is_empty() || queries.len() > MAX_PATHS {
        return Err(Error::Usage(format!("a program has 1 to {MAX_PATHS} paths, not {}", queries.len())));
    }
    for query in queries {
        check_length(&query.ast.segments).map_err(|error| refused(queries, error))?;
    }
    let trie = merge(queries);
    // The guard's block is the first, before those of the tree.
    let root = guard.is_some() as usize;
    let mut lowering = Lowering { blocks: vec![Vec::new(); root + trie.len()], ..Lowering::default() };
    if let Some(Guard { predicate, .. }) = &guard {
        let filter = lowering.filter_of_node(predicate.expr(), root as u32);
        let refused = |error| refused_predicate(predicate, error);
        lowering.blocks[0] = vec![filter.map_err(refused)?, instr(Op::Return, 0)];
        lowering.guard_tests = lowering.tests.len() as u32;
        // The tree's blocks are still empty, so these are the frames of the predicate alone.
        let waiting = lowering.frames(&mut vec![None; lowering.blocks.len()], 0);
        if waiting > MAX_FRAMES {
            let (branches, most) = (waiting - OF_GUARD, MAX_FRAMES - OF_GUARD);
            let message = format!("{branches} nested branches in the predicate; at most {most} are allowed");
            return Err(refused(Diagnostic::too_large(predicate.expr().span, message)));
        }
    }
    for (at, point) in trie.iter().enumerate() {
        let mut block = Vec::with_capacity(point.ends.len() + point.next.len() + 2);
        for path in &point.ends {
            let emit = instr(Op::Emit, *path);
            block.push(match queries[*path as usize].condition() {
                None => emit,
                Some(condition) => {
                    let then = lowering.block(vec![emit, instr(Op::Return, 0)]);
                    let filter = lowering.filter_of_node(condition.expr(), then);
                    filter.map_err(|error| refused_predicate(condition, error))?
                }
            });
        }
        if at == 0 && guard.as_ref().is_some_and(|guard| guard.marks) {
            block.push(instr(Op::Emit, queries.len() as u32));
        }
        let first = block.len();
        for (segment, target) in &point.next {
            let selectors = lowering.segment(segment, (root + target) as u32);
            block.extend(selectors.map_err(|error| refused(queries, error))?);
        }
        let strings = point.next.iter().take_while(|(segment, _)| filter::asks_for_a_string(segment)).count();
        lowering.join_filters(&mut block, first..first + strings);
        block.push(instr(Op::Return, 0));
        lowering.blocks[root + at] = block;
    }
    let waiting = lowering.frames(&mut vec![None; lowering.blocks.len()], 0);
    if waiting > MAX_FRAMES {
        let query = &queries[queries.len() - 1];
        // The guard's filter waits below all paths.
        let (branches, most) = (waiting - root, MAX_FRAMES - root);
        let with = if root == 1 { "with a predicate, " } else { "" };
        let message =
            format!("{branches} nested branches, in one path or several; {with}at most {most} are allowed");
        return Err(refused(queries, Diagnostic::too_large(query.ast.span, message)));
    }
    Ok(lowering.lay_out(queries, guard))
}

/// Refuses paths deeper than records are: no record has more levels.
fn check_length(segments: &[Segment]) -> Result<(), Diagnostic> {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return Ok(()) };
    if segments.len() <= MAX_DEPTH {
        return Ok(());
    }
    let span = Span { start: first.span.start, end: last.span.end };
    let message = format!("{} segments: records nest {MAX_DEPTH} deep at most", segments.len());
    Err(Diagnostic::too_large(span, message))
}

/// Creates the error for one of several queries. A span does not identify the query, so each query is first
/// lowered on its own. An error of all queries together then concerns their combination, and is reported for
/// the last one.
fn refused(queries: &[Query], error: Diagnostic) -> Error {
    let text = queries.last().map_or("", Query::text);
    match error.kind {
        DiagnosticKind::Argument => Error::Query(QueryError::new(text, error)),
        _ => Error::Unsupported(QueryError::new(text, error)),
    }
}

/// Creates the error for a predicate, which is about records or about matches.
fn refused_predicate(predicate: &Predicate, error: Diagnostic) -> Error {
    if !matches!(error.kind, DiagnosticKind::UnknownColumn | DiagnosticKind::Argument) {
        return Error::Unsupported(QueryError::new(predicate.text(), error));
    }
    let help = error.help.clone().filter(|_| predicate.is_of_value());
    let help = help.map(|help| help.replace("of the record", "of the value").replace("`$", "`@"));
    Error::Expression(QueryError::new(predicate.text(), Diagnostic { help: help.or(error.help), ..error }))
}

const fn instr(op: Op, target: u32) -> Instr {
    Instr { op: op as u32, target, a: 0, b: 0, c: 0 }
}

fn merge(queries: &[Query]) -> Vec<Trie<'_>> {
    let mut trie = vec![Trie::default()];
    // Segments that select the same nodes in the same order have the same canonical form, however they were
    // written.
    let mut known: HashMap<(usize, String), usize> = HashMap::new();
    for (path, query) in queries.iter().enumerate() {
        let mut at = 0;
        for segment in &query.ast.segments {
            let new = trie.len();
            let target = *known.entry((at, segment.to_string())).or_insert(new);
            if target == new {
                trie[at].next.push((segment, new));
                trie.push(Trie::default());
            }
            at = target;
        }
        trie[at].ends.push(path as u32);
    }
    count_waiting(&mut trie);
    trie
}

/// Orders each node's segments so that few frames of [`warpath_shared::query::machine`] wait at once. The
/// count here ignores filters. `Lowering::frames` later computes the exact number.
///
/// A frame waits below the block that it entered, unless it took one node and had nothing left to do. So the
/// segment below which most frames wait goes last. Filters for strings come first, side by side, so that they
/// are evaluated together; one frame always waits below these. Nodes lead only to later nodes, so one walk
/// from the end counts them all.
fn count_waiting(trie: &mut [Trie<'_>]) {
    for at in (0..trie.len()).rev() {
        let mut next = std::mem::take(&mut trie[at].next);
        next.sort_by_key(|(segment, target)| (!filter::asks_for_a_string(segment), trie[*target].waiting));
        let last = next.len().saturating_sub(1);
        let below = next.iter().enumerate().map(|(i, (segment, target))| {
            let replaces = i == last && segment.is_singular();
            trie[*target].waiting + !replaces as usize
        });
        trie[at].waiting = below.max().unwrap_or(0);
        trie[at].next = next;
    }
}

/// Returns the number of levels that some segments read, from `depth` on: one for each container that they
/// look into. `None` where bitmaps do not suffice.
fn levels(segments: &[Segment]) -> Option<Level> {
    let mut levels = segments.len();
    for (depth, segment) in segments.iter().enumerate() {
        if segment.kind == SegmentKind::Descendant {
            return None;
        }
        for selector in &segment.selectors {
            if let SelectorKind::Filter(expr) = &selector.kind {
                levels = levels.max(filter::levels(expr, depth + 1)?);
            }
        }
    }
    (levels <= MOST_LEVELS).then_some(levels as Level)
}

/// Returns the number of levels that a query reads, with its condition on matches.
fn levels_of(query: &Query) -> Option<Level> {
    let segments = &query.ast.segments;
    let of_path = levels(segments)?;
    let Some(condition) = query.condition() else { return Some(of_path) };
    let of_match = filter::levels(condition.expr(), segments.len())?;
    (of_match <= MOST_LEVELS).then_some(of_path.max(of_match as Level))
}

/// A program under construction.
#[derive(Default)]
struct Lowering {
    /// The blocks of the tree's nodes, and after them others.
    blocks: Vec<Vec<Instr>>,
    /// The singular paths of filters.
    paths: Vec<Instr>,
    tests: Vec<Test>,
    /// The number of tests of the predicate about the record, which are the first.
    guard_tests: u32,
    literals: Literals,
    /// True if a pattern is known only when the program runs.
    patterns_at_run: bool,
    /// The tests of texts that only the host makes.
    host_tests: HostTests,
}

impl Lowering {
    /// Adds a block, and returns its number.
    fn block(&mut self, block: Vec<Instr>) -> u32 {
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    /// Returns the instructions of a segment, which enter `target`.
    fn segment(&mut self, segment: &Segment, target: u32) -> Result<Vec<Instr>, Diagnostic> {
        let mut selectors = Vec::with_capacity(segment.selectors.len() + 1);
        for selector in &segment.selectors {
            selectors.push(self.selector(selector, target)?);
        }
        if segment.kind == SegmentKind::Child {
            return Ok(selectors);
        }
        selectors.push(instr(Op::Return, 0));
        let block = self.block(selectors);
        Ok(vec![instr(Op::Descend, block)])
    }

    fn selector(&mut self, selector: &Selector, target: u32) -> Result<Instr, Diagnostic> {
        Ok(match &selector.kind {
            SelectorKind::Name(name) => self.literals.name(name, target),
            SelectorKind::Wildcard => instr(Op::Wildcard, target),
            SelectorKind::Index(index) => Instr { a: *index, ..instr(Op::Index, target) },
            SelectorKind::Slice { start, end, step } => {
                let (a, b) = (start.unwrap_or(ABSENT), end.unwrap_or(ABSENT));
                Instr { a, b, c: step.unwrap_or(1), ..instr(Op::Slice, target) }
            }
            SelectorKind::Filter(expr) => {
                let filter = self.filter_of_node(expr, target)?;
                self.note_gaps(expr, filter.a as usize);
                Instr { b: 1, ..filter }
            }
        })
    }

    /// Returns the instruction that enters `target` with a node for which an expression is true.
    fn filter_of_node(&mut self, expr: &LogicalExpr, target: u32) -> Result<Instr, Diagnostic> {
        let first = self.tests.len();
        let test = self.filter(expr)?;
        let runs_block = self.tests[first..].iter().any(|test| test.kind >= TestKind::FIRST_THAT_RUNS_BLOCK);
        Ok(Instr { a: test as i64, c: runs_block as i64, ..instr(Op::Filter, target) })
    }

    /// Adds the block of a query within a filter, which collects all selected nodes.
    fn query(&mut self, segments: &[Segment]) -> Result<u32, Diagnostic> {
        check_length(segments)?;
        let Some((first, rest)) = segments.split_first() else {
            return Ok(self.block(vec![instr(Op::Collect, 0), instr(Op::Return, 0)]));
        };
        let target = self.query(rest)?;
        let mut block = self.segment(first, target)?;
        block.push(instr(Op::Return, 0));
        Ok(self.block(block))
    }

    /// Joins filters for strings where possible: stores in each filter how many are evaluated at once. Their
    /// strings differ, so at most one of them finds a child. They belong to different segments, so no path
    /// has two of them, and the order of each path's matches does not change.
    fn join_filters(&self, block: &mut [Instr], filters: Range<usize>) {
        let filters = &mut block[filters];
        for i in (0..filters.len().saturating_sub(1)).rev() {
            let joined = filters[i + 1].b;
            let (these, test) = (&filters[i + 1..=i + joined as usize], &self.tests[filters[i].a as usize]);
            let joins = |other: &Instr| {
                let asked = &self.tests[other.a as usize];
                asked.gaps != 0 && (asked.offset, asked.len) != (test.offset, test.len)
            };
            if test.gaps != 0 && these.iter().all(joins) {
                filters[i].b = joined + 1;
            }
        }
    }

    /// Returns the maximum number of frames of [`warpath_shared::query::machine`] that wait at once, while a
    /// block and the blocks that it enters run.
    fn frames(&self, known: &mut Vec<Option<usize>>, block: usize) -> usize {
        if let Some(frames) = known[block] {
            return frames;
        }
        let mut most = 0;
        for pair in self.blocks[block].windows(2) {
            let (instr, next) = (&pair[0], &pair[1]);
            if instr.op == Op::Emit as u32 || instr.op == Op::Collect as u32 {
                continue;
            }
            let below = self.frames(known, instr.target as usize);
            let replaces =
                next.op == Op::Return as u32 && (instr.op == Op::Name as u32 || instr.op == Op::Index as u32);
            most = most.max(below + !replaces as usize);
            if instr.op == Op::Filter as u32 && instr.c != 0 {
                // The filter waits, and so does the test that runs a block.
                for block in self.blocks_run_from(instr.a as u32) {
                    most = most.max(2 + self.frames(known, block as usize));
                }
            }
        }
        known[block] = Some(most);
        most
    }

    /// Returns the blocks that a filter's tests run. Each test leads only to tests created before it.
    fn blocks_run_from(&self, first: u32) -> Vec<u32> {
        let mut reached = vec![false; first as usize + 1];
        reached[first as usize] = true;
        let mut blocks = Vec::new();
        for at in (0..=first as usize).rev() {
            let test = &self.tests[at];
            if !reached[at] {
                continue;
            }
            if test.kind >= TestKind::FIRST_THAT_RUNS_BLOCK {
                blocks.push(test.path);
            }
            for next in [test.then, test.otherwise] {
                if let Some(reached) = reached.get_mut(next as usize) {
                    *reached = true;
                }
            }
        }
        blocks
    }

    /// Concatenates all blocks.
    fn lay_out(mut self, queries: &[Query], guard: Option<Guard>) -> Program {
        let mut starts = Vec::with_capacity(self.blocks.len());
        let mut end = 0;
        for block in &self.blocks {
            starts.push(end);
            end += block.len() as u32;
        }
        let mut instrs: Vec<Instr> = self.blocks.concat();
        for instr in &mut instrs {
            let ends = [Op::Return, Op::Emit, Op::Collect].map(|op| op as u32);
            if !ends.contains(&instr.op) {
                instr.target = starts[instr.target as usize];
            }
        }
        for test in &mut self.tests {
            let runs_block = test.kind >= TestKind::FIRST_THAT_RUNS_BLOCK;
            test.path = if runs_block { starts[test.path as usize] } else { end + test.path };
        }
        instrs.append(&mut self.paths);
        let is_plain = |test: &Test| {
            let asks = test.kind < TestKind::Exists as u32 && test.relation == relation::EQUAL;
            asks && test.from_root == 0 && test.then == PASS && test.otherwise == FAIL
        };
        let is_unconditional = queries.iter().all(|query| query.condition.is_none());
        let plain_filters = is_unconditional && self.tests.iter().all(is_plain);
        let names = names_of(&instrs, queries.len());
        let accepted = self.literals.accepted();
        let mut literals = self.literals.bytes;
        literals.resize(literals.len().next_multiple_of(4), 0);
        let mut levels: Option<Vec<Level>> = queries.iter().map(levels_of).collect();
        if let Some(Guard { predicate, .. }) = &guard {
            let of_guard = filter::levels(predicate.expr(), 0).filter(|levels| *levels <= MOST_LEVELS);
            levels = levels.zip(of_guard).map(|(levels, guard)| [levels, vec![guard as Level]].concat());
        }
        let marks = guard.as_ref().is_some_and(|guard| guard.marks);
        Program {
            instrs,
            blocks: end,
            tests: self.tests,
            guard_tests: self.guard_tests,
            literals,
            automata: self.literals.automata,
            paths: (queries.len() + marks as usize) as u32,
            singular: levels.is_some()
                && guard.is_none()
                && is_unconditional
                && queries.iter().all(Query::is_singular),
            needs_trees: levels.is_none(),
            plain_filters,
            names,
            levels: levels.into_iter().flatten().max().unwrap_or(0),
            patterns_at_run: self.patterns_at_run,
            host_tests: self.host_tests,
            accepted,
            columns: queries.iter().map(Column::new).collect(),
            queries: queries.into(),
            guard,
            cache: Cache::default(),
        }
    }
}

/// Returns the instructions that have the names of a program's paths, if each path is `$..name`; otherwise
/// empty.
fn names_of(instrs: &[Instr], paths: usize) -> Vec<u32> {
    let is = |at: usize, op: Op| instrs[at].op == op as u32;
    let mut names = vec![None; paths];
    for at in (0..instrs.len()).take_while(|at| !is(*at, Op::Return)) {
        let name = instrs[at].target as usize;
        if !is(at, Op::Descend) || !is(name, Op::Name) || !is(name + 1, Op::Return) {
            return Vec::new();
        }
        let mut end = instrs[name].target as usize;
        while is(end, Op::Emit) {
            names[instrs[end].target as usize] = Some(name as u32);
            end += 1;
        }
        if !is(end, Op::Return) {
            return Vec::new();
        }
    }
    names.into_iter().collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests;
