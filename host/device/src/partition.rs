//! The evaluation of one partition on a queue: its index, its checks, the program, and its results.

use warpath_answer::answer::{self, Answer, LineFault, Piece, Want};
use warpath_answer::backend::Backend;
use warpath_answer::columns::{Column, ColumnBatch, OffsetWidth};
use warpath_answer::on_device::{DeviceColumns, upload};
use warpath_answer::stage::Evaluation;
use warpath_core::error::Error;
use warpath_cpu::Cpu;
use warpath_cpu::strict;
use warpath_cpu::tree::line_fault;
use warpath_lang::program::Program;
use warpath_shared::check::{Fault, diagnose};
use warpath_shared::column::Kind;
use warpath_shared::units::{LineIx, PartOffset};

use super::Accelerator;
use super::columns::{ColumnsStage, ItemStage, MatchedPartition};
use super::index::{IndexShape, IndexStage};
use super::lines::Lines;
use super::query::{Find, QueryStage};
use super::results::MatchTexts;
use super::tree::{TreeCut, TreeStage};

/// Bytes on the device for each byte of a partition. They hold the text, a string bitmap, as many levels as a
/// long path has, and as much again for line starts, matches and scratch.
pub(super) const DEVICE_BYTES_PER_BYTE: u64 = 4;
/// The smallest partition. In smaller ones, launches take most of the time.
pub(super) const SMALLEST_PARTITION: u64 = 1 << 20;

/// A queue with the buffers of its partition.
pub(super) struct Lane<A: Accelerator> {
    pub stages: Stages<A>,
    pub queue: A,
}

impl<A: Accelerator> Lane<A> {
    pub fn new(queue: A) -> Self {
        Self { stages: Stages::default(), queue }
    }
}

/// The stages of a partition, with their buffers.
pub(super) struct Stages<A: Accelerator> {
    pub index: IndexStage<A>,
    pub query: QueryStage<A>,
    columns: ColumnsStage<A>,
    raw: ItemStage<A>,
    pub tree: TreeStage<A>,
}

impl<A: Accelerator> Default for Stages<A> {
    fn default() -> Self {
        Self {
            index: IndexStage::default(),
            query: QueryStage::default(),
            columns: ColumnsStage::default(),
            raw: ItemStage::default(),
            tree: TreeStage::default(),
        }
    }
}

/// The offset at which to cut a text of several lines in two.
fn line_near_the_middle(text: &[u8]) -> usize {
    let middle = text.len() / 2;
    let after = |at| at + 1;
    match memchr::memchr(b'\n', &text[middle..text.len() - 1]) {
        Some(at) => middle + at + 1,
        None => memchr::memrchr(b'\n', &text[..middle]).map_or(text.len(), after),
    }
}

/// Runs a task over a partition on a queue.
pub(super) fn answer_in_parts<A: Accelerator>(
    queue: &A,
    stages: &mut Stages<A>,
    text: Lines<'_>,
    task: Task<'_>,
) -> Result<Answer, Error> {
    let Evaluation { program, want, strict, .. } = task.evaluation;
    if program.has_patterns_at_run() {
        let (mut cpu, text) = (Cpu.worker(0)?, text.bytes()?);
        // The lines of lost values are found by the records.
        let on_host = want.on_device(false).records(want.records || want.on_device);
        let mut answer = if strict {
            cpu.answer_strictly(text, program, on_host)
        } else {
            cpu.answer(text, program, on_host)
        }?;
        if want.on_device {
            stages.columns.keep_answer(queue, &mut answer, want.records)?;
        }
        return Ok(answer);
    }
    let mut pieces = Vec::new();
    let _waits = Waits(queue);
    let mut each = |part: IndexedText<'_, A>| {
        pieces.push(part.answer(queue, program, want)?);
        Ok(())
    };
    // SAFETY: the text is borrowed until this function returns, and `_waits` waits for the queue before.
    match unsafe { stages.parts(queue, task, text, 0, &mut each) } {
        Ok(()) => Ok(Answer { pieces }),
        Err(error) => {
            // The device only detects faulty codes. The host decodes them to find the exact error.
            text.bytes()?;
            Err(error)
        }
    }
}

/// Returns whether a text of this many lines has at most `most_cells` cells. One line is never cut.
pub(super) fn is_within(most_cells: usize, program: &Program, lines: usize) -> bool {
    lines <= 1 || program.paths() * lines <= most_cells
}

/// A guard that waits for a queue, however a function ends that gave a borrowed text to the queue.
pub(super) struct Waits<'a, A: Accelerator>(pub &'a A);

impl<A: Accelerator> Drop for Waits<'_, A> {
    fn drop(&mut self) {
        // After a failure nothing runs on the queue. The caller gets the error from another call.
        let _ = self.0.wait();
    }
}

/// An evaluation over partitions.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub evaluation: Evaluation<'a>,
    /// The most cells, of a path and a line each, that are evaluated at once.
    pub most_cells: usize,
}

/// A part of a partition that is indexed and checked on the device. The program is on the device too.
pub(super) struct IndexedText<'a, A: Accelerator> {
    pub stages: &'a mut Stages<A>,
    pub text: Lines<'a>,
    pub base: usize,
    pub shape: IndexShape,
    /// The number of nodes of the trees, if the program needs trees.
    pub nodes: Option<usize>,
    pub faults: Vec<LineFault>,
}

impl<A: Accelerator> IndexedText<'_, A> {
    /// Runs the program that was sent to the device.
    pub fn answer(self, device: &A, program: &Program, want: Want) -> Result<Piece, Error> {
        let Self { stages: Stages { index, query, columns, raw, tree }, text, base, shape, nodes, faults } =
            self;
        let cut = faults.first().map(|fault| fault.line);
        let Want { matches, records, .. } = want.to_find(program);
        let find = Find { matches, records, any_loose: shape.any_loose, cut };
        let indexed = index.indexed(device, shape)?;
        let trees = match nodes {
            Some(nodes) => Some(tree.trees(device, &indexed, nodes)?),
            None => None,
        };
        let mut bounds = query.find(device, indexed, trees, program, find)?;
        let found = query.found();
        // The paths whose matches the host reads.
        let is_read = |path: usize| {
            let all = want.matches || want.rows.is_some();
            let is_mark = program.marks_records() && path + 1 == program.paths();
            all || is_mark || want.columns.is_some() && device_kind(program, path).is_none()
        };
        let texts = match want.text {
            Some(form) => found.texts(device, indexed, &bounds, form, raw)?,
            None => MatchTexts::default(),
        };
        let mut piece = Piece {
            base: base as PartOffset,
            lines: shape.lines as LineIx,
            counts: bounds.counts(),
            counts_before_fault: bounds.counts_before_cut(),
            matches: match (0..program.paths()).any(is_read) {
                true => found.matches_of(device, &bounds, is_read)?,
                false => Vec::new(),
            },
            texts: texts.texts,
            texts_before_fault: texts.before_fault,
            faults,
            ..Piece::default()
        };
        if program.marks_records() {
            piece.take_marks(program);
            found.list_marked(device, &piece.records)?;
            bounds.records = piece.records.len();
        }
        if find.records {
            let rows = bounds.records;
            // A caller that wants only columns needs the record numbers only to cut columns off before a
            // fault.
            let on_host = want.columns.is_some() && !piece.matches.is_empty();
            let is_read = want.records || want.rows.is_some() || on_host || !piece.faults.is_empty();
            if is_read && !program.marks_records() {
                piece.records = found.records(device, rows)?;
            }
            if let Some(width) = want.columns {
                let matched = MatchedPartition { text, indexed, found, bounds: &bounds };
                if want.on_device {
                    keep_columns(device, &mut piece, program, &matched, columns, width)?;
                } else {
                    make_columns(device, &mut piece, program, &matched, columns, width)?;
                }
            }
        }
        if let Some(form) = want.rows {
            // The part's text begins at offset `base` of the partition, so rows are written with base 0.
            let base = std::mem::take(&mut piece.base);
            piece.write_rows(text.bytes()?, program, form);
            piece.base = base;
        }
        piece.keep(want);
        Ok(piece)
    }
}

/// The rule by which the device makes the column of a path. `None` for what only the host makes, from the
/// matches.
fn device_kind(program: &Program, path: usize) -> Option<Kind> {
    let column = program.columns().get(path)?;
    if column.default.is_some() { None } else { column.values.kind() }
}

/// Makes the columns of a piece: on the device those that the device can make, and the others on the host.
fn make_columns<A: Accelerator>(
    device: &A,
    piece: &mut Piece,
    program: &Program,
    matched: &MatchedPartition<'_, A>,
    columns: &mut ColumnsStage<A>,
    width: OffsetWidth,
) -> Result<(), Error> {
    let MatchedPartition { text, bounds, .. } = *matched;
    let asked = asked_of_device(program);
    let mut made = columns.columns(device, matched, &asked, bounds.records, width)?;
    find_lost(device, piece, program, matched, asked.iter().map(|(path, ..)| *path).zip(&mut made))?;
    let rows = bounds.records;
    let mut made = made.into_iter();
    let mut all = Vec::with_capacity(program.columns().len());
    for path in 0..program.columns().len() {
        all.push(match device_kind(program, path).and_then(|_| made.next()) {
            Some(column) => column,
            None => answer::make_column(text.bytes()?, piece, program, path, width)?,
        });
    }
    piece.columns = ColumnBatch::new(rows, all);
    piece.columns_before_fault = piece.records_before_fault();
    Ok(())
}

/// Makes the columns of a piece, and leaves them on the device. Columns that the host makes are copied there.
fn keep_columns<A: Accelerator>(
    device: &A,
    piece: &mut Piece,
    program: &Program,
    matched: &MatchedPartition<'_, A>,
    columns: &mut ColumnsStage<A>,
    width: OffsetWidth,
) -> Result<(), Error> {
    let MatchedPartition { text, found, bounds, .. } = *matched;
    let asked = asked_of_device(program);
    let holder = columns.holder(device)?;
    let mut made = columns.kept(device, matched, &asked, bounds.records, width)?;
    let paths = asked.iter().map(|(path, ..)| *path);
    find_lost(device, piece, program, matched, paths.zip(made.iter_mut().map(|(column, _)| column)))?;
    let rows = bounds.records;
    let mut made = made.into_iter();
    let mut all = Vec::with_capacity(program.columns().len());
    for path in 0..program.columns().len() {
        all.push(match device_kind(program, path).and_then(|_| made.next()) {
            Some(column) => column,
            None => {
                let column = answer::make_column(text.bytes()?, piece, program, path, width)?;
                upload(&*holder, column)?
            }
        });
    }
    // The caller finds the line of the first missing value by the records.
    if piece.records.is_empty() && all.iter().any(|(column, _)| column.items.nulls() > 0) {
        piece.records = found.records(device, rows)?;
    }
    piece.on_device = Some(DeviceColumns::new(rows, all, holder));
    piece.columns_before_fault = piece.records_before_fault();
    Ok(())
}

/// The columns that the device makes: the path of each, and its rule.
fn asked_of_device(program: &Program) -> Vec<(usize, Kind, &warpath_lang::program::Column)> {
    let columns = program.columns().iter().enumerate();
    columns.filter_map(|(path, column)| Some((path, device_kind(program, path)?, column))).collect()
}

/// Finds the values that columns did not take. `made` has the path of each column.
fn find_lost<'a, A: Accelerator>(
    device: &A,
    piece: &mut Piece,
    program: &Program,
    matched: &MatchedPartition<'_, A>,
    made: impl Iterator<Item = (usize, &'a mut Column)>,
) -> Result<(), Error> {
    let MatchedPartition { text, found, bounds, .. } = *matched;
    let rows = bounds.records;
    // The nulls that no missing value explains. The host finds their reasons.
    let is_unexplained = |(path, column): &(usize, &mut Column)| {
        let missing =
            if column.lists.is_some() { 0 } else { rows.saturating_sub(piece.counts[*path] as usize) };
        column.items.nulls() > missing
    };
    let unexplained: Vec<_> = made.filter(is_unexplained).collect();
    if unexplained.is_empty() {
        return Ok(());
    }
    if piece.records.is_empty() {
        piece.records = found.records(device, rows)?;
    }
    let is_read = |path: usize| unexplained.iter().any(|(one, _)| *one == path);
    piece.matches.resize_with(program.columns().len(), Vec::new);
    for (path, matches) in found.matches_of(device, bounds, is_read)?.into_iter().enumerate() {
        if is_read(path) {
            piece.matches[path] = matches;
        }
    }
    for (path, column) in unexplained {
        column.lost = answer::lost(text.bytes()?, piece, program, path, &column.items, &[]);
    }
    Ok(())
}

impl<A: Accelerator> Stages<A> {
    /// Indexes and checks the text that is on the device. The index holds the suspected lines.
    pub fn check_strictly(&mut self, device: &A) -> Result<IndexShape, Error> {
        let mut shape = self.index.build(device, 0)?;
        self.index.check_strictly(device, shape)?;
        self.tree.build(device, &mut self.index, &mut shape, TreeCut::default())?;
        Ok(shape)
    }

    /// Calls `each` on a text that begins at `base` of a partition. A text with more than `most_cells` cells,
    /// of a path and a line each, is passed in parts, in order.
    ///
    /// # Safety
    /// The text stays alive and unchanged until the device has been waited for.
    unsafe fn parts(
        &mut self,
        device: &A,
        task: Task<'_>,
        text: Lines<'_>,
        base: usize,
        each: &mut dyn FnMut(IndexedText<'_, A>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if text.len() == 0 {
            return Ok(());
        }
        // SAFETY: the caller guarantees the same for the whole text.
        unsafe {
            match text {
                Lines::Plain(text) => self.index.load(device, text),
                Lines::Packed(text) => self.index.load_packed(device, text),
                Lines::OnDevice(..) => self.index.load(device, text.bytes()?),
            }
        }?;
        let Evaluation { program, strict, .. } = task.evaluation;
        let mut shape = self.index.build(device, program.levels())?;
        if !is_within(task.most_cells, program, shape.lines) {
            let text = text.bytes()?;
            let (first, second) = text.split_at(line_near_the_middle(text));
            // SAFETY: both are parts of the text, for which the caller guarantees it.
            return unsafe {
                self.parts(device, task, Lines::Plain(first), base, each)?;
                self.parts(device, task, Lines::Plain(second), base + first.len(), each)
            };
        }
        let mut nodes = None;
        let mut fault: fn(&[u8]) -> Option<Fault> = diagnose;
        if strict {
            self.index.check_strictly(device, shape)?;
        }
        if strict || program.needs_trees() {
            let made = self.tree.build(device, &mut self.index, &mut shape, TreeCut::default())?;
            nodes = program.needs_trees().then_some(made);
            fault = if strict { strict::line_fault } else { line_fault };
        }
        let faults = self.index.judge(device, text, shape, fault)?;
        self.query.send(device, program)?;
        each(IndexedText { stages: self, text, base, shape, nodes, faults })
    }
}
