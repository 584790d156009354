//! A program on a device: the kernels that run it over an indexed partition, and the buffers that they write.

use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::ir::{Instr, Program as ProgramView, Test};
use warpath_shared::kernel::{
    CountScan, FilterCount, FilterFill, Indexed, KEPT, MOST_KEPT, NamesCount, NamesCountArgs, NamesFill,
    QueryBounds, QueryBoundsArgs, QueryCount, QueryCountArgs, QueryCountLoose, QueryFill, QueryFillArgs,
    QuerySlots, QuerySlotsArgs, QuerySlotsLoose, SlotCompact, SlotCompactArgs, Span, TreeCount,
    TreeCountArgs, TreeFill, TreeFillArgs, Trees, bounds_for, compact_tiles,
};
use warpath_shared::units::LineIx;

use super::index::scan;
use super::results::{Bounds, ResultsStage};
use super::stages::Form;
use super::{Accelerator, ScanScratch, Slot, launch, stages};

/// A program on the device.
struct Sent<A: Accelerator> {
    instrs: Slot<A, Instr>,
    tests: Slot<A, Test>,
    literals: Slot<A, u8>,
    automata: Slot<A, u16>,
    names: Slot<A, u32>,
}

impl<A: Accelerator> Sent<A> {
    /// Returns the program in the form that kernels read. It must be the program that was sent.
    fn view(&self, device: &A, program: &Program) -> Result<ProgramView<'_>, Error> {
        let (instrs, tests, literals, automata) = program.parts();
        Ok(ProgramView {
            instrs: device.view(self.instrs.get()?, instrs.len()),
            tests: device.view(self.tests.get()?, tests.len()),
            literals: device.view(self.literals.get()?, literals.len()),
            automata: device.view(self.automata.get()?, automata.len()),
            paths: program.paths() as u32,
            levels: program.levels(),
        })
    }
}

/// A program on the device and its results, in buffers that are kept from partition to partition.
pub(super) struct QueryStage<A: Accelerator> {
    program: Sent<A>,
    slots: Slot<A, Span>,
    slot_scan: ScanScratch<A, u64>,
    counts: Slot<A, u64>,
    kept: Slot<A, Span>,
    offsets: Slot<A, u64>,
    count_scan: ScanScratch<A, u64>,
    found: ResultsStage<A>,
}

impl<A: Accelerator> Default for QueryStage<A> {
    fn default() -> Self {
        Self {
            program: Sent {
                instrs: Slot::default(),
                tests: Slot::default(),
                literals: Slot::default(),
                automata: Slot::default(),
                names: Slot::default(),
            },
            slots: Slot::default(),
            slot_scan: ScanScratch::default(),
            counts: Slot::default(),
            kept: Slot::default(),
            offsets: Slot::default(),
            count_scan: ScanScratch::default(),
            found: ResultsStage::default(),
        }
    }
}

/// Bytes for matches that are kept during the count, in addition to the least number.
const KEPT_BYTES: usize = 32 << 20;

/// The number of matches that are kept for each of `counts` counts. Few lines have more matches.
fn kept_of_each(counts: usize) -> usize {
    (KEPT_BYTES / size_of::<Span>() / counts.max(1)).clamp(KEPT, MOST_KEPT)
}

/// The extent to which a query is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Find {
    /// `true` to leave matches on the device, `false` to count them only.
    pub matches: bool,
    /// `true` to list the lines that are records without a fault on the device.
    pub records: bool,
    /// `true` if some line is loose.
    pub any_loose: bool,
    /// The first faulty line. Matches before it are counted separately.
    pub cut: Option<LineIx>,
}

impl<A: Accelerator> QueryStage<A> {
    /// Copies a program to the device.
    pub fn send(&mut self, device: &A, program: &Program) -> Result<(), Error> {
        let (instrs, tests, literals, automata) = program.parts();
        let Sent {
            instrs: to_instrs,
            tests: to_tests,
            literals: to_literals,
            automata: to_automata,
            names: to_names,
        } = &mut self.program;
        device.upload(to_names.room(device, program.names().len())?, 0, program.names())?;
        device.upload(to_instrs.room(device, instrs.len())?, 0, instrs)?;
        device.upload(to_tests.room(device, tests.len())?, 0, tests)?;
        device.upload(to_literals.room(device, literals.len())?, 0, literals)?;
        device.upload(to_automata.room(device, automata.len())?, 0, automata)
    }

    /// Runs the program that was sent, over trees if they are given. Leaves its matches on the device if they
    /// are wanted.
    pub fn find(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        trees: Option<Trees<'_>>,
        program: &Program,
        find: Find,
    ) -> Result<Bounds, Error> {
        if find.records {
            self.found.list_records(device, indexed)?;
        }
        match Form::of(program) {
            Form::Slots => self.slots(device, indexed, program, find),
            _ => self.counts(device, indexed, trees, program, find),
        }
    }

    /// The results that [`find`](Self::find) left on the device.
    pub fn found(&mut self) -> &mut ResultsStage<A> {
        &mut self.found
    }

    /// Runs a singular program: one slot for each path and line, then dense lists of the full slots.
    fn slots(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        program: &Program,
        find: Find,
    ) -> Result<Bounds, Error> {
        let (lines, len) = (indexed.lines(), program.paths() * indexed.lines());
        let view = self.program.view(device, program)?;
        let buffer = self.slots.room(device, len)?;
        let args = QuerySlotsArgs { indexed, program: view, slots: device.view_mut(buffer, len) };
        launch::<A, stages::Slots, QuerySlots>(device, &args)?;
        if find.any_loose {
            launch::<A, stages::Slots, QuerySlotsLoose>(device, &args)?;
        }

        // The slots of one path always fit the first guess. The slots of many paths may all be full, but
        // seldom are.
        let mut room = if find.matches { self.found.matches.capacity().max(lines) } else { 0 };
        loop {
            let Self { slots, slot_scan: scratch, found, .. } = self;
            let bounds = bounds_for(program.paths());
            let args = SlotCompactArgs {
                slots: device.view(slots.get()?, len),
                matches: device.view_mut(found.matches.room(device, room)?, room),
                bounds: device.view_mut(found.bounds.room(device, bounds)?, bounds),
                look_back: scratch.start_tiles(device, compact_tiles(len))?,
                lines: lines as LineIx,
                cut: find.cut.unwrap_or(0),
            };
            launch::<A, stages::Slots, SlotCompact>(device, &args)?;
            let bounds = found.bounds(device, program.paths(), find)?;
            if !find.matches || bounds.total()? <= room {
                return Ok(bounds);
            }
            room = bounds.total()?;
        }
    }

    /// Runs any program: counts, scans the counts, and writes the matches if they are wanted.
    fn counts(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        trees: Option<Trees<'_>>,
        program: &Program,
        find: Find,
    ) -> Result<Bounds, Error> {
        let form = Form::of(program);
        let trees = || trees.ok_or_else(|| Error::Internal("a program without its trees".into()));
        let (lines, len) = (indexed.lines(), program.paths() * indexed.lines());
        let Self { program: sent, counts, kept, offsets, count_scan, found, .. } = self;
        let (program_view, names) = (sent.view(device, program)?, program.names().len());
        device.zero(counts.room(device, len)?, 0, len)?;
        let kept_len = if find.matches { kept_of_each(len) * len } else { 0 };
        let to = device.view_mut(counts.get_mut()?, len);
        let keep = device.view_mut(kept.room(device, kept_len)?, kept_len);
        match form {
            Form::Names => {
                let (trees, program, exact) = (trees()?, program_view, !find.any_loose as u32);
                let names = device.view(sent.names.get()?, names);
                let args =
                    NamesCountArgs { trees, program, names, counts: to, kept: keep, exact, reserved: 0 };
                launch::<A, stages::NameCounts, NamesCount>(device, &args)?;
            }
            Form::Trees => {
                let args = TreeCountArgs { trees: trees()?, program: program_view, counts: to, kept: keep };
                launch::<A, stages::TreeCounts, TreeCount>(device, &args)?;
            }
            Form::Slots | Form::Counts | Form::Filters => {
                let args = QueryCountArgs { indexed, program: program_view, counts: to, kept: keep };
                if form == Form::Filters {
                    launch::<A, stages::FilterCounts, FilterCount>(device, &args)?;
                } else {
                    launch::<A, stages::Counts, QueryCount>(device, &args)?;
                    if find.any_loose {
                        launch::<A, stages::Counts, QueryCountLoose>(device, &args)?;
                    }
                }
            }
        }
        scan::<A, stages::Offsets, _, _, CountScan>(device, counts.get()?, len, offsets, count_scan)?;

        let bounds = bounds_for(program.paths());
        let args = QueryBoundsArgs {
            offsets: device.view(offsets.get()?, len + 1),
            bounds: device.view_mut(found.bounds.room(device, bounds)?, bounds),
            lines: lines as LineIx,
            cut: find.cut.unwrap_or(0),
        };
        launch::<A, stages::Offsets, QueryBounds>(device, &args)?;
        let bounds = found.bounds(device, program.paths(), find)?;
        let total = bounds.total()?;
        if find.matches && total > 0 {
            let counted = device.view(counts.get()?, len);
            let kept = device.view(kept.get()?, kept_len);
            let offsets = device.view_mut(offsets.get_mut()?, len + 1);
            let matches = device.view_mut(found.matches.room(device, total)?, total);
            let program = program_view;
            match form {
                Form::Names | Form::Trees => {
                    let trees = trees()?;
                    let args = TreeFillArgs { trees, program, counts: counted, kept, offsets, matches };
                    if form == Form::Names {
                        launch::<A, stages::NameFills, NamesFill>(device, &args)?;
                    } else {
                        launch::<A, stages::TreeFills, TreeFill>(device, &args)?;
                    }
                }
                Form::Slots | Form::Counts | Form::Filters => {
                    let args = QueryFillArgs { indexed, program, counts: counted, kept, offsets, matches };
                    if form == Form::Filters {
                        launch::<A, stages::FilterFills, FilterFill>(device, &args)?;
                    } else {
                        launch::<A, stages::Fill, QueryFill>(device, &args)?;
                    }
                }
            }
        }
        Ok(bounds)
    }
}
