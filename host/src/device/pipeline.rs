//! The stages of one partition on a device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use warpath_shared::kernel::{
    CountScan, Kernel, KindCheck, KindScan, LineScan, LineSummaries, Match, QueryCount, QueryFill,
    QuerySlots, StructureWrite,
};
use warpath_shared::units::{Level, LineIx, PartOffset};

use super::Accelerator;
use super::index::IndexStage;
use super::query::QueryStage;
use super::shape::Shape;
use crate::answer::{Answer, Piece, Want};
use crate::backend::{Backend, Stage, StructuralIndex};
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
}

impl<A: Accelerator> Default for Stages<A> {
    fn default() -> Self {
        Self { index: IndexStage::default(), query: QueryStage::default() }
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

    /// Has every record held by so many threads, instead of choosing by the records' length. It changes the time, never the
    /// answer.
    #[must_use]
    pub fn shape(self, shape: Shape) -> Self {
        self.stages().query.shape = Some(shape);
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
        let index = format!("{}: line starts, string bitmap, {bitmaps}", StructureWrite::NAME);
        let query = if program.is_singular() {
            QuerySlots::NAME.to_owned()
        } else {
            format!("{}, and for the matches {}, {}", QueryCount::NAME, CountScan::NAME, QueryFill::NAME)
        };
        let suspects = "the lines that the kernels suspect, if there are any";
        vec![
            Stage::new("device", "lines", format!("{}, {}", LineSummaries::NAME, LineScan::NAME)),
            Stage::new("device", "index", index),
            Stage::new("device", "faults", format!("{}, {}", KindScan::NAME, KindCheck::NAME)),
            Stage::new("cpu", "faults", suspects),
            Stage::new("device", "query", query),
        ]
    }

    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        let mut pieces = Vec::new();
        let task = Task { program, want, most_cells: self.most_cells };
        self.stages().answer(&self.device, &task, text, 0, &mut pieces)?;
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
struct Task<'a> {
    program: &'a Program,
    want: Want,
    most_cells: usize,
}

impl<A: Accelerator> Stages<A> {
    /// Answers a program over the part of a partition that begins at `base`, in pieces of which none has more cells, of
    /// a path and a line each, than `most_cells`.
    fn answer(
        &mut self,
        device: &A,
        task: &Task<'_>,
        text: &[u8],
        base: usize,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Error> {
        let Task { program, want, most_cells } = *task;
        if text.is_empty() {
            return Ok(());
        }
        let Self { index, query } = self;
        index.load(device, text)?;
        let shape = index.build(device, program.levels())?;
        if shape.lines > 1 && program.paths() * shape.lines > most_cells {
            let (first, second) = text.split_at(line_near_the_middle(text));
            self.answer(device, task, first, base, pieces)?;
            return self.answer(device, task, second, base + first.len(), pieces);
        }
        let faults = index.judge(device, text, shape)?;
        let indexed = index.indexed(device, shape)?;
        query.send(device, program)?;
        let matches = query.run(device, indexed, program, want)?;
        let before = |lists: &[Vec<Match>], line| -> Vec<u64> {
            lists.iter().map(|list| list.partition_point(|found| found.line < line) as u64).collect()
        };
        let counts_before_fault = match faults.first() {
            None => None,
            Some(first) if want.matches || program.is_singular() => Some(before(&matches.lists, first.line)),
            Some(first) => {
                let all = query.run(device, indexed, program, Want { matches: true, ..want })?;
                Some(before(&all.lists, first.line))
            }
        };
        pieces.push(Piece {
            base: base as PartOffset,
            lines: shape.lines as LineIx,
            records: if want.records { index.records(device, text, shape, &faults)? } else { Vec::new() },
            counts: matches.counts,
            counts_before_fault,
            matches: if want.matches { matches.lists } else { Vec::new() },
            faults,
        });
        Ok(())
    }
}
