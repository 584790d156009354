//! Bitmaps that stay on a device from one expression to the next, as long as the expressions are over the
//! same index.
//!
//! A bitmap gets a *slot* on the device, a number, when an expression first reads it. A program names the
//! bitmaps of its plan by consecutive numbers. It is rewritten with their slots:
//!
//! ```text
//! plan        any 0..=3                                    of four bitmaps, in this order
//! slots       0 → 5, 1 → 2, 2 → 3, 3 → 7                   two from an earlier expression, one from another
//! on device   any 2..=3, any 5, any 7                      a union, so the order does not matter
//! ```

use std::collections::HashMap;

use warpath_core::error::Error;
use warpath_core::wah::{Bitmap, WahBuf};
use warpath_cpu::bitmap::maker::{BinDevice, BitmapForm, BitmapMaker, PlanDevice};
use warpath_cpu::bitmap::plan::{Operand, Plan};
use warpath_cpu::bitmap::run::Outputs;
use warpath_shared::bitmap::{Instr, OpCode};
use warpath_store::bitmap::bitmaps::BinNumbers;
use warpath_store::bitmap::index::BitmapIndex;

use super::bitmap::{BitmapStage, DeviceBitmaps};
use super::{Accelerator, Queues};

/// Default of the bytes of device memory for bitmaps that stay: enough for about 250 dense bitmaps of 32
/// million rows.
const BYTES: u64 = 1 << 30;

/// The stage that runs on a device, and the bitmaps that are there.
pub struct Resident<A: Accelerator> {
    stage: BitmapStage<A>,
    bitmaps: DeviceBitmaps<A>,
    /// The most bytes that the bitmaps may take together. The bitmaps of one expression may take more.
    bytes: u64,
    /// The index of the bitmaps. It is kept open, so that no other index can have its address.
    index: Option<BitmapIndex>,
    slots: HashMap<Operand, u32>,
}

/// True if one index is a clone of the other. While both are alive, the columns of different indexes are at
/// different addresses.
fn is_same(a: &BitmapIndex, b: &BitmapIndex) -> bool {
    !a.columns().is_empty() && std::ptr::eq(a.columns(), b.columns())
}

impl<A: Accelerator> Resident<A> {
    /// No bitmaps are on the device yet.
    pub fn new(device: A) -> Self {
        Self {
            stage: BitmapStage::new(device),
            bitmaps: DeviceBitmaps::default(),
            bytes: BYTES,
            index: None,
            slots: HashMap::new(),
        }
    }

    /// Copies the bitmaps of a plan that are not yet there to the device.
    fn load(&mut self, index: &BitmapIndex, plan: &Plan, operands: &[Bitmap<'_>]) -> Result<(), Error> {
        if !self.index.as_ref().is_some_and(|kept| is_same(kept, index)) {
            self.forget();
        }
        let all = || plan.bitmaps.iter().copied().zip(operands.iter().copied());
        let mut missing = Missing::of(all().filter(|(operand, _)| !self.slots.contains_key(operand)));
        if missing.operands.is_empty() {
            return Ok(());
        }
        if self.index.is_none() || !self.bitmaps.has_room(missing.bitmaps.len(), missing.atoms()) {
            // The next expression is unknown, so all bitmaps are dropped.
            self.forget();
            missing = Missing::of(all());
            self.make_room(index, &missing)?;
        }
        self.bitmaps.add(self.stage.device(), &missing.bitmaps)?;
        let first = self.slots.len() as u32;
        self.slots.extend(missing.operands.into_iter().zip(first..));
        self.index = Some(index.clone());
        Ok(())
    }

    /// Reserves memory for all bitmaps of an index, if the limit allows that. Otherwise reserves as much as
    /// the limit allows, and at least enough for the missing bitmaps.
    fn make_room(&mut self, index: &BitmapIndex, missing: &Missing<'_>) -> Result<(), Error> {
        let device = self.stage.device();
        let info = index.info();
        let columns = info.columns.iter().map(|column| column.bins).sum::<u64>() + 1;
        let atoms = info.columns.iter().map(|column| column.atom_bytes).sum::<u64>() / 8
            + info.record_bytes.unwrap_or(0).div_ceil(8);
        let wanted = 8 * atoms + DeviceBitmaps::<A>::bytes_beside(info.rows, columns as usize);
        // Half of the free memory is left for others and for results.
        let most = self.bytes.min((device.free_memory()? + self.bitmaps.bytes()) / 2);
        let part = |of: u64, least: usize| {
            let part = if wanted <= most { of } else { (of as f64 * (most as f64 / wanted as f64)) as u64 };
            least.max(part as usize)
        };
        let (columns, atoms) = (part(columns, missing.bitmaps.len()), part(atoms, missing.atoms()));
        self.bitmaps.reserve(device, info.rows, columns, atoms)
    }
}

/// Bitmaps to be copied to a device, each once.
#[derive(Default)]
struct Missing<'a> {
    operands: Vec<Operand>,
    bitmaps: Vec<Bitmap<'a>>,
}

impl<'a> Missing<'a> {
    fn of(all: impl Iterator<Item = (Operand, Bitmap<'a>)>) -> Self {
        let mut missing = Self::default();
        let mut seen = std::collections::HashSet::new();
        for (operand, bitmap) in all.filter(|(operand, _)| seen.insert(*operand)) {
            missing.operands.push(operand);
            missing.bitmaps.push(bitmap);
        }
        missing
    }

    fn atoms(&self) -> usize {
        self.bitmaps.iter().map(|bitmap| bitmap.wah.words().len()).sum()
    }
}

impl<A: Accelerator> PlanDevice for Resident<A> {
    fn name(&self) -> String {
        self.stage.device().name()
    }

    fn set_threads(&mut self, threads: usize) {
        self.bitmaps.set_threads(threads);
    }

    fn set_memory(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    fn forget(&mut self) {
        self.slots.clear();
        self.index = None;
    }

    fn run(
        &mut self,
        index: &BitmapIndex,
        plan: &Plan,
        operands: &[Bitmap<'_>],
        keep: bool,
        outputs: &mut Outputs,
    ) -> Result<(), Error> {
        self.load(index, plan, operands)?;
        let none = || Error::Internal("a bitmap that was copied to a device is missing".into());
        let slot = |operand| self.slots.get(operand).copied().ok_or_else(none);
        let slots = plan.bitmaps.iter().map(slot).collect::<Result<Vec<u32>, _>>()?;
        self.stage.range_to(&self.bitmaps, &renumbered(&plan.program, &slots), keep, outputs)
    }
}

impl<A: Accelerator> BitmapForm for Queues<A> {
    fn maker(&self) -> Result<BitmapMaker, Error> {
        Ok(BitmapMaker::on(Box::new(BitmapStage::new(self.0.queue()?))))
    }

    fn evaluator(&self) -> Result<Box<dyn PlanDevice>, Error> {
        Ok(Box::new(Resident::new(self.0.queue()?)))
    }
}

impl<A: Accelerator> BinDevice for BitmapStage<A> {
    fn name(&self) -> String {
        self.device().name()
    }

    fn bitmaps(&mut self, numbers: &BinNumbers, bins: u32) -> Result<Vec<WahBuf>, Error> {
        match numbers {
            BinNumbers::U8(numbers) => self.bitmaps_of(numbers, bins),
            BinNumbers::U16(numbers) => self.bitmaps_of(numbers, bins),
            BinNumbers::U32(numbers) => self.bitmaps_of(numbers, bins),
        }
    }
}

/// Rewrites a program whose bitmaps are numbered by their order in the plan to one that names their slots.
fn renumbered(program: &[Instr], slots: &[u32]) -> Vec<Instr> {
    let mut written = Vec::with_capacity(program.len());
    // The new position of each instruction. Jumps only go forwards.
    let mut places = Vec::with_capacity(program.len() + 1);
    for instr in program {
        places.push(written.len() as u32);
        if instr.op() != Some(OpCode::Any) {
            written.push(*instr);
            continue;
        }
        let (first, count) = (instr.first as usize, instr.count as usize);
        let mut wanted = slots[first..first + count].to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        for run in wanted.chunk_by(|a, b| a + 1 == *b) {
            written.push(Instr::new(OpCode::Any, run[0], run.len() as u32));
        }
    }
    places.push(written.len() as u32);
    for instr in &mut written {
        if let Some(OpCode::SkipNone | OpCode::SkipAll) = instr.op() {
            instr.first = places[instr.first as usize];
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_renumbered() {
        let op = Instr::new;
        let program = [
            op(OpCode::Any, 0, 4),
            op(OpCode::SkipNone, 5, 0),
            op(OpCode::Push, 0, 0),
            op(OpCode::Any, 4, 1),
            op(OpCode::And, 0, 0),
            op(OpCode::Any, 1, 0),
            op(OpCode::Store, 0, 0),
        ];
        let want = [
            op(OpCode::Any, 2, 2),
            op(OpCode::Any, 5, 1),
            op(OpCode::Any, 7, 1),
            op(OpCode::SkipNone, 7, 0),
            op(OpCode::Push, 0, 0),
            op(OpCode::Any, 0, 1),
            op(OpCode::And, 0, 0),
            op(OpCode::Store, 0, 0),
        ];
        assert_eq!(renumbered(&program, &[5, 2, 3, 7, 0]), want);
        // Bitmaps in the order of loading leave the program unchanged.
        let same: Vec<Instr> =
            program.iter().copied().filter(|instr| (instr.op, instr.count) != (0, 0)).collect();
        assert_eq!(renumbered(&same, &[0, 1, 2, 3, 4]), same);
    }
}
