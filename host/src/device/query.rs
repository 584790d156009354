//! A program on a device: the kernels that run it over an indexed partition, and the buffers that they write.

use warpath_shared::ir::{Instr, Program as ProgramView, Test};
use warpath_shared::kernel::{
    CountScan, Indexed, KEPT, Match, QueryCountArgs, QueryFillArgs, QuerySlotsArgs, Span,
};
use warpath_shared::units::LineIx;

use super::index::scan;
use super::shape::Shape;
use super::{Accelerator, ScanScratch, Slot};
use crate::answer::Want;
use crate::error::{DeviceError, Error};
use crate::program::Program;

/// A program on the device.
struct Sent<A: Accelerator> {
    instrs: Slot<A, Instr>,
    tests: Slot<A, Test>,
    literals: Slot<A, u8>,
}

impl<A: Accelerator> Sent<A> {
    /// The program as kernels read it. It is the one that was sent.
    fn view(&self, device: &A, program: &Program) -> Result<ProgramView<'_>, Error> {
        let (instrs, tests, literals) = program.parts();
        Ok(ProgramView {
            instrs: device.view(self.instrs.get()?, instrs.len()),
            tests: device.view(self.tests.get()?, tests.len()),
            literals: device.view(self.literals.get()?, literals.len()),
            paths: program.paths() as u32,
            levels: program.levels(),
        })
    }
}

/// A program on the device and what it found, in buffers that are kept from partition to partition.
pub(super) struct QueryStage<A: Accelerator> {
    program: Sent<A>,
    slots: Slot<A, Span>,
    counts: Slot<A, u64>,
    kept: Slot<A, Span>,
    offsets: Slot<A, u64>,
    count_scan: ScanScratch<A, u64>,
    matches: Slot<A, Match>,
    /// How many threads hold a record; chosen by the record's length where this is `None`.
    pub shape: Option<Shape>,
}

impl<A: Accelerator> Default for QueryStage<A> {
    fn default() -> Self {
        Self {
            program: Sent { instrs: Slot::default(), tests: Slot::default(), literals: Slot::default() },
            slots: Slot::default(),
            counts: Slot::default(),
            kept: Slot::default(),
            offsets: Slot::default(),
            count_scan: ScanScratch::default(),
            matches: Slot::default(),
            shape: None,
        }
    }
}

/// The matches of a partition, path by path.
pub(super) struct Matches {
    pub counts: Vec<u64>,
    /// Empty where only counts were asked for.
    pub lists: Vec<Vec<Match>>,
}

impl<A: Accelerator> QueryStage<A> {
    /// Copies a program to the device.
    pub fn send(&mut self, device: &A, program: &Program) -> Result<(), Error> {
        let (instrs, tests, literals) = program.parts();
        let Sent { instrs: to_instrs, tests: to_tests, literals: to_literals } = &mut self.program;
        device.upload(to_instrs.room(device, instrs.len())?, 0, instrs)?;
        device.upload(to_tests.room(device, tests.len())?, 0, tests)?;
        device.upload(to_literals.room(device, literals.len())?, 0, literals)
    }

    /// Runs the program that was sent. A singular one finds its matches in any case.
    pub fn run(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        program: &Program,
        want: Want,
    ) -> Result<Matches, Error> {
        if program.is_singular() {
            self.slots(device, indexed, program)
        } else {
            self.matches(device, indexed, program, want)
        }
    }

    /// Runs a singular program.
    fn slots(&mut self, device: &A, indexed: Indexed<'_>, program: &Program) -> Result<Matches, Error> {
        let len = program.paths() * indexed.lines();
        let view = self.program.view(device, program)?;
        let buffer = self.slots.room(device, len)?;
        let args = QuerySlotsArgs { indexed, program: view, slots: device.view_mut(buffer, len) };
        self.shape.unwrap_or_else(|| Shape::of(&indexed)).slots(device, &args)?;
        let mut spans = vec![Span::default(); len];
        device.download(buffer, 0, &mut spans)?;
        let lists: Vec<Vec<Match>> = spans
            .chunks_exact(indexed.lines())
            .map(|spans| {
                let found = spans.iter().enumerate().filter(|(_, span)| span.end > span.start);
                found.map(|(line, s)| Match { line: line as LineIx, start: s.start, end: s.end }).collect()
            })
            .collect();
        Ok(Matches { counts: lists.iter().map(|list| list.len() as u64).collect(), lists })
    }

    /// Runs any program: counts, scans the counts, and writes the matches if they are wanted.
    fn matches(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        program: &Program,
        want: Want,
    ) -> Result<Matches, Error> {
        let len = program.paths() * indexed.lines();
        let Self { program: sent, counts, kept, offsets, count_scan, matches: found, shape, .. } = self;
        let shape = shape.unwrap_or_else(|| Shape::of(&indexed));
        let view = sent.view(device, program)?;
        device.zero(counts.room(device, len)?, 0, len)?;
        let kept_len = if want.matches { KEPT * len } else { 0 };
        let args = QueryCountArgs {
            indexed,
            program: view,
            counts: device.view_mut(counts.get_mut()?, len),
            kept: device.view_mut(kept.room(device, kept_len)?, kept_len),
        };
        shape.count(device, &args)?;
        scan::<A, _, _, CountScan>(device, counts.get()?, len, offsets, count_scan)?;

        // Where each path's matches begin, and where the last one's end.
        let mut begins = vec![0u64; program.paths() + 1];
        for (path, begin) in begins.iter_mut().enumerate() {
            device.download(offsets.get()?, path * indexed.lines(), std::slice::from_mut(begin))?;
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
                    counts: device.view(counts.get()?, len),
                    kept: device.view(kept.get()?, kept_len),
                    offsets: device.view_mut(offsets.get_mut()?, len + 1),
                    matches: device.view_mut(buffer, total),
                };
                shape.fill(device, &args)?;
            }
            for bounds in begins.windows(2) {
                let mut list = vec![Match::default(); (bounds[1] - bounds[0]) as usize];
                device.download(buffer, bounds[0] as usize, &mut list)?;
                lists.push(list);
            }
        }
        Ok(Matches { counts: begins.windows(2).map(|bounds| bounds[1] - bounds[0]).collect(), lists })
    }
}
