//! The stages of one partition on a device.

use std::sync::{Mutex, PoisonError};

use warpath_shared::check::{diagnose, trim};
use warpath_shared::index::Monoid;
use warpath_shared::index::level::{KindReads, KindWrites};
use warpath_shared::index::line::LineSummary;
use warpath_shared::ir::{Instr, Program as ProgramView, Test};
use warpath_shared::kernel::{
    CountScan, FaultyLines, Indexed, Kernel, KindCheck, KindCheckArgs, KindScan, LineScan, LineSummaries,
    LineSummariesArgs, LookBack, Match, QueryCount, QueryCountArgs, QueryFill, QueryFillArgs, QuerySlots,
    QuerySlotsArgs, ScanArgs, Span, StructureWrite, StructureWriteArgs, line_words, scan_tiles,
};
use warpath_shared::units::{
    Level, LineIx, MAX_PARTITION_BYTES, PartOffset, WORD_BYTES, padded_for, tiles_for, words_for,
};

use super::{Accelerator, Plain, ScanScratch, Slot};
use crate::answer::{Answer, LineFault, Piece, Want};
use crate::backend::{Backend, Stage, StructuralIndex};
use crate::error::{DeviceError, Error};
use crate::program::Program;

/// Runs partitions through a device, one at a time.
pub struct Pipeline<A: Accelerator> {
    buffers: Mutex<Buffers<A>>,
    device: A,
    partition_size: usize,
    most_cells: usize,
}

/// Everything that a partition needs on the device. Kept and reused.
struct Buffers<A: Accelerator> {
    text: Slot<A, u8>,
    /// How long the text is.
    loaded: usize,
    summaries: Slot<A, LineSummary>,
    carries: Slot<A, LineSummary>,
    line_scan: ScanScratch<A, LineSummary>,
    string: Slot<A, u64>,
    levels: Slot<A, u64>,
    line_starts: Slot<A, PartOffset>,
    kind_writes: Slot<A, KindWrites>,
    kind_reads: Slot<A, KindReads>,
    kinds: Slot<A, KindWrites>,
    kind_scan: ScanScratch<A, KindWrites>,
    faulty: Slot<A, u32>,
    any_faulty: Slot<A, u32>,
    instrs: Slot<A, Instr>,
    tests: Slot<A, Test>,
    literals: Slot<A, u8>,
    slots: Slot<A, Span>,
    counts: Slot<A, u64>,
    offsets: Slot<A, u64>,
    count_scan: ScanScratch<A, u64>,
    matches: Slot<A, Match>,
}

impl<A: Accelerator> Default for Buffers<A> {
    fn default() -> Self {
        Self {
            text: Slot::default(),
            loaded: 0,
            summaries: Slot::default(),
            carries: Slot::default(),
            line_scan: ScanScratch::default(),
            string: Slot::default(),
            levels: Slot::default(),
            line_starts: Slot::default(),
            kind_writes: Slot::default(),
            kind_reads: Slot::default(),
            kinds: Slot::default(),
            kind_scan: ScanScratch::default(),
            faulty: Slot::default(),
            any_faulty: Slot::default(),
            instrs: Slot::default(),
            tests: Slot::default(),
            literals: Slot::default(),
            slots: Slot::default(),
            counts: Slot::default(),
            offsets: Slot::default(),
            count_scan: ScanScratch::default(),
            matches: Slot::default(),
        }
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

/// A text on the device, indexed. Counts and sizes; the arrays are in [`Buffers`].
#[derive(Clone, Copy)]
struct Shape {
    /// Bytes of the text's buffer.
    padded: usize,
    levels: Level,
    lines: usize,
}

impl Shape {
    /// Words of one bitmap on the device.
    fn words(self) -> usize {
        self.padded / WORD_BYTES
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
        Ok(Self { device, buffers: Mutex::default(), partition_size, most_cells: MOST_CELLS })
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
        self.run(|stages| stages.load(text))
    }

    /// Builds the index of the text that is on the device, and leaves it there: what a bench times.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] if nothing was loaded.
    pub fn index_resident(&self, levels: Level) -> Result<(), Error> {
        self.run(|stages| stages.index(levels).map(drop))
    }

    fn run<T>(&self, work: impl FnOnce(&mut Stages<'_, A>) -> Result<T, Error>) -> Result<T, Error> {
        // A panic elsewhere leaves buffers whose contents are not relied on.
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut Stages { device: &self.device, buffers: &mut buffers, most_cells: self.most_cells })
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
        self.run(|stages| stages.answer(text, 0, program, want, &mut pieces))?;
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
        self.run(|stages| {
            stages.load(text)?;
            let shape = stages.index(levels)?;
            let faults = stages.judge(text, shape)?;
            let words = words_for(text.len());
            let mut string = vec![0; words];
            stages.device.download(stages.buffers.string.get()?, 0, &mut string)?;
            let mut all = Vec::with_capacity(levels as usize);
            for level in 0..levels as usize {
                let mut bits = vec![0; words];
                stages.device.download(stages.buffers.levels.get()?, level * shape.words(), &mut bits)?;
                all.push(bits);
            }
            Ok(StructuralIndex { line_starts: stages.line_starts(shape)?, string, levels: all, faults })
        })
    }
}

/// The matches of a partition, path by path.
struct Matches {
    counts: Vec<u64>,
    /// Empty where only counts were asked for.
    lists: Vec<Vec<Match>>,
}

/// Launches a kernel of this module's: the one place where that is done.
fn launch<A: Accelerator, K: Kernel>(device: &A, args: &K::Args<'_>) -> Result<(), Error> {
    // SAFETY: this module makes its arguments of views of this device's buffers only, in the order of the stages, so that
    // each kernel reads what was copied, zeroed or written by a kernel before it; and it holds the buffers' lock.
    unsafe { device.launch::<K>(args) }
}

/// One partition at work.
struct Stages<'a, A: Accelerator> {
    device: &'a A,
    buffers: &'a mut Buffers<A>,
    most_cells: usize,
}

impl<A: Accelerator> Stages<'_, A> {
    /// Answers a program over the part of a partition that begins at `base`, in pieces of which none has more cells, of
    /// a path and a line each, than `most_cells`.
    fn answer(
        &mut self,
        text: &[u8],
        base: usize,
        program: &Program,
        want: Want,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        self.load(text)?;
        let shape = self.index(program.levels())?;
        if shape.lines > 1 && program.paths() * shape.lines > self.most_cells {
            let (first, second) = text.split_at(line_near_the_middle(text));
            self.answer(first, base, program, want, pieces)?;
            return self.answer(second, base + first.len(), program, want, pieces);
        }
        let faults = self.judge(text, shape)?;
        self.send(program)?;
        let matches = if program.is_singular() {
            self.slots(program, shape)?
        } else {
            self.matches(program, shape, want)?
        };
        let before = |lists: &[Vec<Match>], line| -> Vec<u64> {
            lists.iter().map(|list| list.partition_point(|found| found.line < line) as u64).collect()
        };
        let counts_before_fault = match faults.first() {
            None => None,
            Some(first) if want.matches || program.is_singular() => Some(before(&matches.lists, first.line)),
            Some(first) => {
                let all = self.matches(program, shape, Want { matches: true, ..want })?;
                Some(before(&all.lists, first.line))
            }
        };
        pieces.push(Piece {
            base: base as PartOffset,
            lines: shape.lines as LineIx,
            records: if want.records { self.records(text, shape, &faults)? } else { Vec::new() },
            counts: matches.counts,
            counts_before_fault,
            matches: if want.matches { matches.lists } else { Vec::new() },
            faults,
        });
        Ok(())
    }

    /// The text, terminated by a newline if its last line lacks one, and zeros up to a whole tile.
    fn load(&mut self, text: &[u8]) -> Result<(), Error> {
        if text.len() > MAX_PARTITION_BYTES {
            return Err(Error::Internal(format!("a partition of {} bytes", text.len())));
        }
        let padded = padded_for(text.len());
        let buffer = self.buffers.text.room(self.device, padded)?;
        self.device.upload(buffer, 0, text)?;
        let mut end = text.len();
        if text.last() != Some(&b'\n') {
            self.device.upload(buffer, end, b"\n")?;
            end += 1;
        }
        self.device.zero(buffer, end, padded)?;
        self.buffers.loaded = text.len();
        Ok(())
    }

    /// Scans `input` with kernel `K` into `output`.
    fn scan<I: Plain, T: Plain + Monoid, K>(
        device: &A,
        input: &A::Buffer<I>,
        len: usize,
        output: &mut Slot<A, T>,
        scratch: &mut ScanScratch<A, T>,
    ) -> Result<(), Error>
    where
        K: for<'x> Kernel<Args<'x> = ScanArgs<'x, I, T>>,
    {
        let tiles = scan_tiles(len);
        let status = scratch.status.room(device, tiles + 1)?;
        device.zero(status, 0, tiles + 1)?;
        let args = ScanArgs {
            input: device.view(input, len),
            output: device.view_mut(output.room(device, len + 1)?, len + 1),
            look_back: LookBack {
                status: device.view_mut(status, tiles + 1),
                aggregate: device.view_mut(scratch.aggregate.room(device, tiles)?, tiles),
                inclusive: device.view_mut(scratch.inclusive.room(device, tiles)?, tiles),
            },
        };
        launch::<A, K>(device, &args)
    }

    /// Builds the whole index of the text on the device.
    fn index(&mut self, levels: Level) -> Result<Shape, Error> {
        let Self { device, buffers: b, .. } = self;
        let device = *device;
        let (len, padded) = (b.loaded, padded_for(b.loaded));
        let tiles = tiles_for(len + 1);

        b.summaries.room(device, tiles)?;
        launch::<A, LineSummaries>(
            device,
            &LineSummariesArgs {
                text: device.view(b.text.get()?, padded),
                summaries: device.view_mut(b.summaries.get_mut()?, tiles),
            },
        )?;
        Self::scan::<_, _, LineScan>(device, b.summaries.get()?, tiles, &mut b.carries, &mut b.line_scan)?;
        let mut total = [LineSummary::default()];
        device.download(b.carries.get()?, tiles, &mut total)?;
        let lines = total[0].newlines() as usize;

        let words = padded / WORD_BYTES;
        let fault_words = line_words(lines).max(1);
        device.zero(b.faulty.room(device, fault_words)?, 0, fault_words)?;
        device.zero(b.any_faulty.room(device, 1)?, 0, 1)?;
        b.string.room(device, words)?;
        b.levels.room(device, words * levels as usize)?;
        b.line_starts.room(device, lines + 1)?;
        b.kind_writes.room(device, tiles)?;
        b.kind_reads.room(device, tiles)?;
        launch::<A, StructureWrite>(
            device,
            &StructureWriteArgs {
                text: device.view(b.text.get()?, padded),
                carries: device.view(b.carries.get()?, tiles + 1),
                string: device.view_mut(b.string.get_mut()?, words),
                levels: device.view_mut(b.levels.get_mut()?, words * levels as usize),
                line_starts: device.view_mut(b.line_starts.get_mut()?, lines + 1),
                kind_writes: device.view_mut(b.kind_writes.get_mut()?, tiles),
                kind_reads: device.view_mut(b.kind_reads.get_mut()?, tiles),
                faulty: FaultyLines {
                    bits: device.view_mut(b.faulty.get_mut()?, fault_words),
                    any: device.view_mut(b.any_faulty.get_mut()?, 1),
                },
                len: len as PartOffset,
                level_count: levels,
            },
        )?;
        Self::scan::<_, _, KindScan>(device, b.kind_writes.get()?, tiles, &mut b.kinds, &mut b.kind_scan)?;
        launch::<A, KindCheck>(
            device,
            &KindCheckArgs {
                kinds: device.view(b.kinds.get()?, tiles + 1),
                reads: device.view(b.kind_reads.get()?, tiles),
                carries: device.view(b.carries.get()?, tiles + 1),
                faulty: FaultyLines {
                    bits: device.view_mut(b.faulty.get_mut()?, fault_words),
                    any: device.view_mut(b.any_faulty.get_mut()?, 1),
                },
                lines: lines as LineIx,
                reserved: 0,
            },
        )?;
        Ok(Shape { padded, levels, lines })
    }

    fn line_starts(&self, shape: Shape) -> Result<Vec<PartOffset>, Error> {
        let mut starts = vec![0; shape.lines + 1];
        self.device.download(self.buffers.line_starts.get()?, 0, &mut starts)?;
        Ok(starts)
    }

    /// Judges the lines that the kernels suspect, and clears those found good on the device.
    fn judge(&mut self, text: &[u8], shape: Shape) -> Result<Vec<LineFault>, Error> {
        let mut any = [0];
        self.device.download(self.buffers.any_faulty.get()?, 0, &mut any)?;
        if any[0] == 0 {
            return Ok(Vec::new());
        }
        let starts = self.line_starts(shape)?;
        let mut bits = vec![0; line_words(shape.lines)];
        self.device.download(self.buffers.faulty.get()?, 0, &mut bits)?;
        let mut faults = Vec::new();
        for (w, word) in bits.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                let line = 32 * w + bit as usize;
                match diagnose(&text[starts[line] as usize..starts[line + 1] as usize]) {
                    Some(fault) => faults.push(LineFault { line: line as LineIx, fault }),
                    None => *word &= !(1 << bit),
                }
                left &= left - 1;
            }
        }
        self.device.upload(self.buffers.faulty.get_mut()?, 0, &bits)?;
        Ok(faults)
    }

    /// Which lines are records without a fault.
    fn records(&self, text: &[u8], shape: Shape, faults: &[LineFault]) -> Result<Vec<LineIx>, Error> {
        let starts = self.line_starts(shape)?;
        let mut faults = faults.iter().map(|fault| fault.line).peekable();
        let is_record = |line: &usize| {
            let faulty = faults.next_if_eq(&(*line as LineIx)).is_some();
            !faulty && trim(starts[*line], starts[*line + 1], |at| text[at as usize]).is_some()
        };
        Ok((0..shape.lines).filter(is_record).map(|line| line as LineIx).collect())
    }

    /// Copies a program to the device.
    fn send(&mut self, program: &Program) -> Result<(), Error> {
        let (instrs, tests, literals) = program.parts();
        let Self { device, buffers: b, .. } = self;
        device.upload(b.instrs.room(device, instrs.len())?, 0, instrs)?;
        device.upload(b.tests.room(device, tests.len())?, 0, tests)?;
        device.upload(b.literals.room(device, literals.len())?, 0, literals)
    }

    /// The query kernels' common arguments. `send` and `index` have run.
    fn asked<'b>(
        device: &A,
        b: &'b Buffers<A>,
        program: &Program,
        shape: Shape,
    ) -> Result<(Indexed<'b>, ProgramView<'b>), Error> {
        let (instrs, tests, literals) = program.parts();
        let indexed = Indexed {
            text: device.view(b.text.get()?, shape.padded),
            levels: device.view(b.levels.get()?, shape.words() * shape.levels as usize),
            line_starts: device.view(b.line_starts.get()?, shape.lines + 1),
            faulty: device.view(b.faulty.get()?, line_words(shape.lines)),
        };
        let program = ProgramView {
            instrs: device.view(b.instrs.get()?, instrs.len()),
            tests: device.view(b.tests.get()?, tests.len()),
            literals: device.view(b.literals.get()?, literals.len()),
            paths: program.paths() as u32,
            levels: program.levels(),
        };
        Ok((indexed, program))
    }

    /// Runs a singular program.
    fn slots(&mut self, program: &Program, shape: Shape) -> Result<Matches, Error> {
        let Self { device, buffers: b, .. } = self;
        let device = *device;
        let len = program.paths() * shape.lines;
        let mut slots = std::mem::take(&mut b.slots);
        let (indexed, view) = Self::asked(device, b, program, shape)?;
        let buffer = slots.room(device, len)?;
        let args = QuerySlotsArgs { indexed, program: view, slots: device.view_mut(buffer, len) };
        launch::<A, QuerySlots>(device, &args)?;
        let mut spans = vec![Span::default(); len];
        device.download(buffer, 0, &mut spans)?;
        b.slots = slots;
        let lists: Vec<Vec<Match>> = spans
            .chunks_exact(shape.lines)
            .map(|spans| {
                let found = spans.iter().enumerate().filter(|(_, span)| span.end > span.start);
                found.map(|(line, s)| Match { line: line as LineIx, start: s.start, end: s.end }).collect()
            })
            .collect();
        Ok(Matches { counts: lists.iter().map(|list| list.len() as u64).collect(), lists })
    }

    /// Runs any program: counts, scans the counts, and writes the matches if they are wanted.
    fn matches(&mut self, program: &Program, shape: Shape, want: Want) -> Result<Matches, Error> {
        let Self { device, buffers: b, .. } = self;
        let device = *device;
        let len = program.paths() * shape.lines;
        let (mut counts, mut offsets) = (std::mem::take(&mut b.counts), std::mem::take(&mut b.offsets));
        let (mut scratch, mut found) = (std::mem::take(&mut b.count_scan), std::mem::take(&mut b.matches));

        let (indexed, view) = Self::asked(device, b, program, shape)?;
        device.zero(counts.room(device, len)?, 0, len)?;
        let args = QueryCountArgs { indexed, program: view, counts: device.view_mut(counts.get_mut()?, len) };
        launch::<A, QueryCount>(device, &args)?;
        Self::scan::<_, _, CountScan>(device, counts.get()?, len, &mut offsets, &mut scratch)?;

        // Where each path's matches begin, and where the last one's end.
        let mut begins = vec![0u64; program.paths() + 1];
        for (path, begin) in begins.iter_mut().enumerate() {
            device.download(offsets.get()?, path * shape.lines, std::slice::from_mut(begin))?;
        }
        let mut lists = Vec::new();
        let total = begins[program.paths()];
        if want.matches {
            let total = usize::try_from(total).map_err(|_| DeviceError::OutOfMemory {
                wanted: total,
                free: device.free_memory().unwrap_or(0),
            })?;
            let buffer = found.room(device, total)?;
            if total > 0 {
                let args = QueryFillArgs {
                    indexed,
                    program: view,
                    offsets: device.view_mut(offsets.get_mut()?, len + 1),
                    matches: device.view_mut(buffer, total),
                };
                launch::<A, QueryFill>(device, &args)?;
            }
            for bounds in begins.windows(2) {
                let mut list = vec![Match::default(); (bounds[1] - bounds[0]) as usize];
                device.download(buffer, bounds[0] as usize, &mut list)?;
                lists.push(list);
            }
        }
        (b.counts, b.offsets, b.count_scan, b.matches) = (counts, offsets, scratch, found);
        Ok(Matches { counts: begins.windows(2).map(|bounds| bounds[1] - bounds[0]).collect(), lists })
    }
}
