//! Documents as programs and twigs as arrays, in the form that devices read ([`warpath_shared::twig`]).

use std::mem::take;

use warpath_lang::twig::value::Value;
use warpath_shared::twig::{
    FarBit, GROUP_WORDS, GroupPlace, KEY, MAX_LEVELS, Matched, Op, OpKind, Task, mask,
};

use super::group::{Bits, Words};
use super::resolve::{Resolver, ResolverMemory, RowSink};
use super::rows::RowIx;
use super::set::{TwigIx, TwigSet};
use super::{Events, Name};

/// The most operations of a document that stays whole. A longer program is cut.
const WHOLE_OPS: usize = 2048;
/// The time to join one part to those before it, in operations. On an H200 a join takes 1.8 µs and an
/// operation 0.17 µs. Parts are joined one after the other.
const JOIN_OPS: usize = 11;

/// Documents as programs, with every operation that a set of twigs needs.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// The operations.
    pub ops: Vec<Op>,
    /// Whole documents, and parts of large ones. Parts store what they find.
    pub tasks: Vec<Task>,
    /// The tasks that load what the parts found.
    pub merges: Vec<Task>,
    /// The number of slots in which parts store what they find.
    pub kept: u32,
    /// Documents that are deeper than a device supports. They have no task.
    pub deep: Vec<u32>,
}

impl Programs {
    /// Removes all documents.
    pub fn clear(&mut self) {
        let Self { ops, tasks, merges, kept, deep } = self;
        ops.clear();
        tasks.clear();
        merges.clear();
        *kept = 0;
        deep.clear();
    }
}

/// Makes programs of documents.
#[derive(Clone, Debug)]
pub struct Encoder<'a>(Resolver<'a, Written<'a>>);

/// The program of the current document, as far as its events are known.
#[derive(Clone, Debug)]
struct Written<'a> {
    set: &'a TwigSet,
    programs: Programs,
    /// The offset of the current document's program in `ops`.
    begin: usize,
    /// For the document and each entered node: the rows among the first 64 whose leaves were already added.
    seen: Vec<u64>,
    deepest: usize,
    /// The approximate number of operations of a task, if it is given. Documents with more than eight times
    /// as many are cut.
    task_ops: Option<usize>,
}

impl<'a> Encoder<'a> {
    /// Makes an encoder for documents that are matched against these twigs.
    #[must_use]
    pub fn new(set: &'a TwigSet) -> Self {
        let written = Written {
            set,
            programs: Programs::default(),
            begin: 0,
            seen: vec![0],
            deepest: 0,
            task_ops: None,
        };
        Self(Resolver::new(set, written, ResolverMemory::default()))
    }

    /// Sets the approximate number of operations of a task. Documents with more than eight times as many are
    /// cut. Without this setting, tasks are sized so that one part takes as long as all joins.
    #[must_use]
    pub fn with_task_ops(mut self, ops: usize) -> Self {
        self.0.rows.task_ops = Some(ops.max(1));
        self
    }

    /// Ends the current document after its last event, and gives it a number.
    ///
    /// # Panics
    /// If there are 2³² operations or more.
    pub fn finish(&mut self, number: u32) {
        self.0.reset();
        let Written { programs, begin, seen, deepest, task_ops, .. } = &mut self.0.rows;
        seen.truncate(1);
        seen[0] = 0;
        if take(deepest) > MAX_LEVELS {
            programs.ops.truncate(*begin);
            programs.deep.push(number);
            return;
        }
        let len = programs.ops.len() - *begin;
        if len > task_ops.map_or(WHOLE_OPS, |ops| 8 * ops) {
            let ops = programs.ops.split_off(*begin);
            // With this size, one part takes as long as all joins together.
            let task_ops = task_ops.unwrap_or((JOIN_OPS * len).isqrt());
            cut(programs, &ops, task_ops, number);
        } else {
            programs.ops.push(Op::new(OpKind::Answer, number));
            let end = u32::try_from(programs.ops.len()).expect("less than 2³² operations");
            programs.tasks.push(Task { begin: *begin as u32, end });
        }
        *begin = programs.ops.len();
    }

    /// Drops the current document, because it was malformed.
    pub fn abandon(&mut self) {
        self.0.reset();
        let Written { programs, begin, seen, deepest, .. } = &mut self.0.rows;
        programs.ops.truncate(*begin);
        seen.truncate(1);
        seen[0] = 0;
        *deepest = 0;
    }

    /// The programs of all finished documents.
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.0.rows.programs
    }

    /// Removes all documents.
    pub fn clear(&mut self) {
        self.abandon();
        self.0.rows.programs.clear();
        self.0.rows.begin = 0;
    }
}

impl Events for Encoder<'_> {
    #[inline]
    fn open(&mut self, name: Name<'_>) -> bool {
        self.0.open(name)
    }

    #[inline]
    fn close(&mut self, value: Value<'_>) {
        self.0.close(value);
    }
}

impl RowSink for Written<'_> {
    fn enter(&mut self) {
        self.programs.ops.push(Op::new(OpKind::Enter, 0));
        self.seen.push(0);
        self.deepest = self.deepest.max(self.seen.len() - 1);
    }

    fn leaf(&mut self, rows: &[RowIx]) {
        let Self { set, programs, seen, .. } = self;
        let Some(seen) = seen.last_mut() else { return };
        for row in rows {
            if *row < 64 {
                if *seen >> row & 1 != 0 {
                    continue;
                }
                *seen |= 1 << row;
            }
            if !set.rows.get(*row).leaves.is_empty() {
                programs.ops.push(Op::new(OpKind::Leaf, *row));
            }
        }
    }

    fn exit(&mut self, rows: &[RowIx]) {
        let Self { set, programs, seen, .. } = self;
        seen.pop();
        let Some(seen) = seen.last_mut() else { return };
        for row in rows {
            let found = set.rows.get(*row);
            if !found.inner.is_empty() {
                programs.ops.push(Op::new(OpKind::Pass, *row));
            }
            if !found.leaves.is_empty() && (*row >= 64 || *seen >> row & 1 == 0) {
                *seen |= if *row < 64 { 1 << row } else { 0 };
                programs.ops.push(Op::new(OpKind::Tell, *row));
            }
        }
        programs.ops.push(Op::new(OpKind::Exit, 0));
    }
}

/// Cuts a document's program into tasks that can run at the same time, and a task that joins them.
///
/// ```text
/// program    enter · leaf a · enter · leaf b ┊ leaf c · pass d · exit · leaf f · pass e · exit · answer
/// tasks      enter · leaf a · enter · leaf b · store 0 · pop · store 1 · pop · store 2
///            leaf c · store 3 · leaf f · store 4 · store 5
/// the rest   load 2 · enter · load 1 · enter · load 0 · load 3 · pass d · exit · load 4 · pass e · exit
///            load 5 · answer
/// ```
fn cut(programs: &mut Programs, ops: &[Op], task_ops: usize, number: u32) {
    let mut merge = Vec::new();
    let op = |kind: OpKind| kind as u32;
    let mut at = 0;
    while at < ops.len() {
        let begin = programs.ops.len() as u32;
        let (first, mut depth, mut passed) = (at, 0, Vec::new());
        let mut keep = |ops: &mut Vec<Op>| {
            ops.push(Op::new(OpKind::Store, programs.kept));
            programs.kept += 1;
            Op::new(OpKind::Load, programs.kept - 1)
        };
        // The operations that pass a node's rows stay in the same task as the node's exit.
        while at < ops.len() && (at - first < task_ops || !passed.is_empty()) {
            let next = ops[at];
            at += 1;
            match next.kind() {
                kind if kind == op(OpKind::Pass) || kind == op(OpKind::Tell) => passed.push(next),
                kind if kind == op(OpKind::Exit) && depth == 0 => {
                    // The node began before this task.
                    merge.push(keep(&mut programs.ops));
                    merge.append(&mut passed);
                    merge.push(next);
                }
                kind => {
                    programs.ops.append(&mut passed);
                    programs.ops.push(next);
                    depth += usize::from(kind == op(OpKind::Enter));
                    depth -= usize::from(kind == op(OpKind::Exit));
                }
            }
        }
        let mut open = vec![keep(&mut programs.ops)];
        for _ in 0..depth {
            programs.ops.push(Op::new(OpKind::Pop, 0));
            open.push(keep(&mut programs.ops));
        }
        for (level, load) in open.into_iter().rev().enumerate() {
            if level > 0 {
                merge.push(Op::new(OpKind::Enter, 0));
            }
            merge.push(load);
        }
        programs.tasks.push(Task { begin, end: programs.ops.len() as u32 });
    }
    merge.push(Op::new(OpKind::Answer, number));
    let begin = programs.ops.len() as u32;
    programs.ops.append(&mut merge);
    let end = u32::try_from(programs.ops.len()).expect("less than 2³² operations");
    programs.merges.push(Task { begin, end });
}

/// The twigs of a set, as the arrays of [`TwigGroups`](warpath_shared::kernel::TwigGroups).
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The offsets of each group's parts in the other arrays.
    pub places: Vec<GroupPlace>,
    /// The masks of each group.
    pub masks: Vec<u64>,
    /// The moves of each group.
    pub moves: Vec<u64>,
    /// The far moves of each group.
    pub far: Vec<FarBit>,
    /// For each group and row, the index of the words of leaves.
    pub leaves: Vec<u16>,
    /// For each group and row, the index of the words of nodes that are not leaves.
    pub inner: Vec<u16>,
    /// The words of rows.
    pub words: Vec<u64>,
    /// The number of rows.
    pub rows: usize,
}

impl Compiled {
    /// Makes the arrays of a set.
    #[must_use]
    pub fn of(set: &TwigSet) -> Self {
        let (groups, rows) = (set.groups.len(), set.rows.len());
        let mut compiled =
            Self { leaves: vec![0; groups * rows], inner: vec![0; groups * rows], rows, ..Self::default() };
        // The words of each group, as (row, `true` for leaves, words).
        let mut of_groups: Vec<Vec<(usize, bool, Words)>> = vec![Vec::new(); groups];
        for row in 0..rows {
            let found = set.rows.get(row as RowIx);
            for (places, is_leaf) in [(&found.leaves, true), (&found.inner, false)] {
                for (group, words) in set.rows.groups(places) {
                    of_groups[group as usize].push((row, is_leaf, words));
                }
            }
        }
        for (number, (group, places)) in set.groups.iter().zip(of_groups).enumerate() {
            compiled.places.push(GroupPlace {
                words: (compiled.words.len() / GROUP_WORDS) as u32,
                moves: (compiled.moves.len() / (2 * GROUP_WORDS)) as u32,
                moves_len: group.moves.len() as u32,
                far: compiled.far.len() as u32,
                far_len: group.far.len() as u32,
                matches_all: u32::from(group.always > 0),
            });
            let masks: [_; mask::COUNT] =
                [&group.descendant, &group.starts, &group.guards, &group.chained, &group.documents];
            masks.iter().for_each(|mask| compiled.masks.extend_from_slice(&mask.0));
            for moved in &group.moves {
                compiled.moves.extend_from_slice(&moved.mask.0);
                compiled.moves.extend_from_slice(&moved.by.0);
            }
            let bit = |bit: super::layout::Bit| (64 * bit.word + bit.at) as u32;
            compiled.far.extend(group.far.iter().map(|far| FarBit { from: bit(far.from), to: bit(far.to) }));
            for (place, (row, is_leaf, words)) in (1..).zip(places) {
                let of = if is_leaf { &mut compiled.leaves } else { &mut compiled.inner };
                // A group has 2,048 bits, so it has at most that many indices, and they fit below `KEY`.
                let is_key = is_leaf && set.rows.get(row as RowIx).is_key_of(number as u32);
                of[number * rows + row] = place | if is_key { KEY } else { 0 };
                compiled.words.extend_from_slice(&words.0);
            }
        }
        compiled
    }
}

impl TwigSet {
    /// The matches that a device found as pairs of document and twig, in the order of documents.
    #[must_use]
    pub fn answers(&self, matched: &[Matched]) -> Vec<(u32, TwigIx)> {
        let documents = matched.iter().map(|found| found.document as usize + 1).max().unwrap_or(0);
        // The start of each document's results: counted, then summed up.
        let mut begins = vec![0; documents];
        let mut total = 0;
        for found in matched {
            begins[found.document as usize] += found.bits.count_ones() as usize;
        }
        for begin in &mut begins {
            total += std::mem::replace(begin, total);
        }
        let mut answers = vec![(0, TwigIx(0)); total];
        for Matched { document, word, bits } in matched {
            let group = &self.groups[*word as usize / GROUP_WORDS];
            let next = &mut begins[*document as usize];
            for bit in Bits(*bits) {
                let twig = group.owner(*word as usize % GROUP_WORDS, bit as usize);
                answers[*next] = (*document, TwigIx(twig));
                *next += 1;
            }
        }
        answers
    }
}
