//! The stages of one partition on a device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use warpath_shared::kernel::{
    CountScan, Kernel, KindCheck, LineIndex, LineScan, LineStates, LineSummaries, QueryBounds, QueryCount,
    QueryFill, QuerySlots, SlotCompact, StructureWrite,
};
use warpath_shared::units::{Level, LineIx, PartOffset};

use super::Accelerator;
use super::columns::{ColumnStage, Source};
use super::index::{IndexStage, Shape};
use super::query::{Find, QueryStage};
use super::results::Texts;
use crate::answer::{Answer, LineFault, Piece, TextForm, Want};
use crate::backend::{Backend, Stage, StructuralIndex};
use crate::columns::{ColumnBatch, Columnar, Schema};
use crate::error::Error;
use crate::program::Program;

/// Runs partitions through a device, one at a time.
pub struct Pipeline<A: Accelerator> {
    stages: Mutex<Stages<A>>,
    device: A,
    partition_size: usize,
    most_cells: usize,
}

/// What a partition goes through, with its buffers.
struct Stages<A: Accelerator> {
    index: IndexStage<A>,
    query: QueryStage<A>,
    columns: ColumnStage<A>,
}

impl<A: Accelerator> Default for Stages<A> {
    fn default() -> Self {
        Self { index: IndexStage::default(), query: QueryStage::default(), columns: ColumnStage::default() }
    }
}

/// Bytes on the device for each byte of a partition: the text, a string bitmap, as many levels as a long
/// path has, and as much again for line starts, matches and scratch.
const DEVICE_BYTES_PER_BYTE: u64 = 4;
/// A larger partition fills the device no better, and overlaps less of its reading with anything
/// (docs/performance.md has the times).
const LARGEST_DEFAULT_PARTITION: u64 = 32 << 20;
/// A smaller one is all launches.
const SMALLEST_DEFAULT_PARTITION: u64 = 1 << 20;

/// Cells, of a path and a line each, that are answered at once: 16 bytes each on the device. A text with more, of very many
/// paths and very short lines, is answered in parts.
const MOST_CELLS: usize = 1 << 26;

/// Where to cut a text of several lines in two.
fn line_near_the_middle(text: &[u8]) -> usize {
    let middle = text.len() / 2;
    let after = |at| at + 1;
    match memchr::memchr(b'\n', &text[middle..text.len() - 1]) {
        Some(at) => middle + at + 1,
        None => memchr::memrchr(b'\n', &text[..middle]).map_or(text.len(), after),
    }
}

impl<A: Accelerator> Pipeline<A> {
    /// A pipeline over a device, with partitions sized from its free memory.
    ///
    /// # Errors
    /// [`Error::Device`] if the device does not say how much it has.
    pub fn new(device: A) -> Result<Self, Error> {
        let room = device.free_memory()? / DEVICE_BYTES_PER_BYTE;
        let partition_size = room.clamp(SMALLEST_DEFAULT_PARTITION, LARGEST_DEFAULT_PARTITION) as usize;
        Ok(Self { device, stages: Mutex::default(), partition_size, most_cells: MOST_CELLS })
    }

    /// How many cells, of a path and a line each, are answered at once; more are answered in parts. It changes what
    /// memory is needed, never the answer.
    #[must_use]
    pub fn most_cells(mut self, cells: usize) -> Self {
        self.most_cells = cells;
        self
    }

    /// The device.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Copies a text to the device for [`index_resident`](Self::index_resident), and nothing else.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn load(&self, text: &[u8]) -> Result<(), Error> {
        self.stages().index.load(&self.device, text)
    }

    /// Builds the index of the text that is on the device, and leaves it there: what a bench times.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] if nothing was loaded.
    pub fn index_resident(&self, levels: Level) -> Result<(), Error> {
        self.stages().index.build(&self.device, levels).map(drop)
    }

    /// The text of all matches, made on the device: for each part of the text that is answered at once, in order.
    ///
    /// # Errors
    /// As for [`answer`](Backend::answer).
    pub fn texts(&self, text: &[u8], program: &Program, form: TextForm) -> Result<Vec<Texts>, Error> {
        let mut parts = Vec::new();
        let task = Task { program, most_cells: self.most_cells };
        self.stages().parts(&self.device, task, text, 0, &mut |Part { stages, shape, faults, .. }| {
            let Stages { index, query, columns } = stages;
            let indexed = index.indexed(&self.device, shape)?;
            let find = Find { matches: true, cut: faults.first().map(|fault| fault.line) };
            let bounds = query.find(&self.device, indexed, program, find)?;
            parts.push(query.found().texts(&self.device, indexed, &bounds, form, columns)?);
            Ok(())
        })?;
        Ok(parts)
    }

    fn stages(&self) -> MutexGuard<'_, Stages<A>> {
        // A panic elsewhere leaves buffers whose contents are not relied on.
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Accelerator> Backend for Pipeline<A> {
    fn name(&self) -> String {
        self.device.name()
    }

    fn partition_size(&self) -> usize {
        self.partition_size
    }

    fn stages(&self, program: &Program) -> Vec<Stage> {
        let levels = program.levels();
        let bitmaps = format!("{levels} leveled bitmap{}", if levels == 1 { "" } else { "s" });
        let lines = format!(
            "{}; and if lines are long, {}, {}",
            LineStates::NAME,
            LineSummaries::NAME,
            LineScan::NAME
        );
        let index =
            format!("{}: string bitmap, {bitmaps}; {}: line starts", StructureWrite::NAME, LineIndex::NAME);
        let query = if program.is_singular() {
            format!("{}, {}", QuerySlots::NAME, SlotCompact::NAME)
        } else {
            let counts = [QueryCount::NAME, CountScan::NAME, QueryBounds::NAME].join(", ");
            format!("{counts}, and for the matches {}", QueryFill::NAME)
        };
        let suspects = "the lines that the kernels suspect, if there are any";
        vec![
            Stage::new("device", "lines", lines),
            Stage::new("device", "index", index),
            Stage::new("device", "faults", KindCheck::NAME),
            Stage::new("cpu", "faults", suspects),
            Stage::new("device", "query", query),
        ]
    }

    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        let mut pieces = Vec::new();
        let task = Task { program, most_cells: self.most_cells };
        self.stages().parts(&self.device, task, text, 0, &mut |part| {
            pieces.push(part.answer(&self.device, program, want)?);
            Ok(())
        })?;
        Ok(Answer { pieces })
    }

    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error> {
        if text.is_empty() {
            return Ok(StructuralIndex {
                line_starts: vec![0],
                levels: vec![Vec::new(); levels as usize],
                ..StructuralIndex::default()
            });
        }
        let index = &mut self.stages().index;
        index.load(&self.device, text)?;
        let shape = index.build(&self.device, levels)?;
        index.download(&self.device, text, shape)
    }
}

/// One program over partitions.
#[derive(Clone, Copy)]
struct Task<'a> {
    program: &'a Program,
    most_cells: usize,
}

/// A part of a partition, indexed and judged on the device, where the program is, too.
struct Part<'a, A: Accelerator> {
    stages: &'a mut Stages<A>,
    text: &'a [u8],
    base: usize,
    shape: Shape,
    faults: Vec<LineFault>,
}

impl<A: Accelerator> Part<'_, A> {
    fn answer(self, device: &A, program: &Program, want: Want) -> Result<Piece, Error> {
        let Self { stages: Stages { index, query, .. }, base, shape, faults, .. } = self;
        let find = Find { matches: want.matches, cut: faults.first().map(|fault| fault.line) };
        let indexed = index.indexed(device, shape)?;
        let bounds = query.find(device, indexed, program, find)?;
        Ok(Piece {
            base: base as PartOffset,
            lines: shape.lines as LineIx,
            records: if want.records { query.found().records(device, indexed)? } else { Vec::new() },
            counts: bounds.counts(),
            counts_before_fault: bounds.counts_before_cut(),
            matches: if want.matches { query.found().matches(device, &bounds)? } else { Vec::new() },
            faults,
        })
    }

    fn columns(self, device: &A, schema: &Schema) -> Result<ColumnBatch, Error> {
        let Self { stages: Stages { index, query, columns: stage }, text, base, shape, faults } = self;
        let indexed = index.indexed(device, shape)?;
        let bounds = query.find(device, indexed, schema.program(), Find { matches: true, cut: None })?;
        let rows = query.found().list_records(device, indexed)?;
        let source = Source { text, indexed, found: query.found(), bounds: &bounds };
        let column = |path| stage.column(device, &source, (path, rows), schema);
        let columns = (0..schema.columns().len()).map(column).collect::<Result<_, _>>()?;
        Ok(ColumnBatch { base: base as PartOffset, lines: shape.lines as LineIx, rows, faults, columns })
    }
}

impl<A: Accelerator> Columnar for Pipeline<A> {
    fn columns(&self, text: &[u8], schema: &Schema) -> Result<Vec<ColumnBatch>, Error> {
        let mut batches = Vec::new();
        let task = Task { program: schema.program(), most_cells: self.most_cells };
        self.stages().parts(&self.device, task, text, 0, &mut |part| {
            batches.push(part.columns(&self.device, schema)?);
            Ok(())
        })?;
        Ok(batches)
    }
}

impl<A: Accelerator> Stages<A> {
    /// Hands on a text that begins at `base` of a partition, or its parts in order, of which none has more cells, of a path
    /// and a line each, than `most_cells`.
    fn parts(
        &mut self,
        device: &A,
        task: Task<'_>,
        text: &[u8],
        base: usize,
        each: &mut dyn FnMut(Part<'_, A>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        self.index.load(device, text)?;
        let shape = self.index.build(device, task.program.levels())?;
        if shape.lines > 1 && task.program.paths() * shape.lines > task.most_cells {
            let (first, second) = text.split_at(line_near_the_middle(text));
            self.parts(device, task, first, base, each)?;
            return self.parts(device, task, second, base + first.len(), each);
        }
        let faults = self.index.judge(device, text, shape)?;
        self.query.send(device, task.program)?;
        each(Part { stages: self, text, base, shape, faults })
    }
}
