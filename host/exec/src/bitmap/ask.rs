//! Expressions are asked of an index: by the CPU, or by a device.
//!
//! ```
//! use warpath::bitmap::ask::BitmapEngine;
//! use warpath::bitmap::build::build_column;
//! use warpath::bitmap::value::ColumnValues;
//! use warpath::bitmap::{BitmapIndex, Built};
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let values = ColumnValues::ints(vec![7, 3, 12, 9, 800]);
//! let columns = vec![build_column("n", "n", values, &"quantiles:2".parse()?)?];
//! let index = BitmapIndex::from_built(Built { rows: 5, columns, ..Built::default() })?;
//!
//! let plan = Plan::of(&index, "n between 8 and 100", false)?;
//! let answer = BitmapEngine::cpu().answer(&index, &plan, true)?;
//! assert_eq!(answer.ones().collect::<Vec<_>>(), [2, 3]);
//! # Ok(())
//! # }
//! ```

#[cfg(test)]
mod forged;
mod resident;

use std::num::NonZero;
use std::thread;

use warpath_shared::bitmap::tiles_for;
use warpath_shared::wah::chunks_for;

use self::resident::Resident;
use crate::engine::DeviceChoice;
use warpath_backend::bitmap::exact::{Checker, STRETCH, STRETCH_TILES};
use warpath_backend::bitmap::plan::Plan;
use warpath_backend::bitmap::run;
use warpath_backend::bitmap::run::run;
use warpath_backend::device::Accelerator;
use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::simd::Isa;
use warpath_core::wah::Bitmap;
use warpath_store::bitmap::index::BitmapIndex;

/// What an expression is answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The rows, in chunks of 63, the first in bit 0. Empty where they were counted alone.
    pub chunks: Vec<u64>,
    /// How many they are.
    pub rows: u64,
    /// How many rows were checked against their stored values.
    pub checked: u64,
}

impl Answer {
    /// The rows, from the first on, counted from 0.
    pub fn ones(&self) -> impl Iterator<Item = u64> + '_ {
        run::ones(&self.chunks)
    }
}

/// Answers expressions, one after the other. What a device allocates is kept for the next: page-locked memory through which bitmaps come there, made by
/// the first answer that needs some, and the bitmaps themselves, as long as the questions are of the same index (or of clones of it). That one is kept open
/// until another is asked ([`forget`](Self::forget)).
pub struct BitmapEngine {
    threads: usize,
    device: Option<Box<dyn Device>>,
    /// What came from the device: the memory is kept.
    outputs: run::Outputs,
}

/// A device, of whatever kind it is.
trait Device: Send {
    fn name(&self) -> String;

    /// So many threads of the host copy to it.
    fn set_threads(&mut self, threads: usize);

    /// Bitmaps that stay there take so many bytes at most.
    fn set_memory(&mut self, bytes: u64);

    /// Lets go of an index and of its bitmaps.
    fn forget(&mut self);

    /// Runs a plan of an index over the bitmaps of its operands, of which there is one at least, and a row. The outputs come in place of those that were there,
    /// whose memory is used again.
    fn run(
        &mut self,
        index: &BitmapIndex,
        plan: &Plan,
        operands: &[Bitmap<'_>],
        keep: bool,
        outputs: &mut run::Outputs,
    ) -> Result<(), Error>;
}

impl BitmapEngine {
    /// The CPU, with a thread a core.
    #[must_use]
    pub fn cpu() -> Self {
        Self {
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            device: None,
            outputs: run::Outputs::default(),
        }
    }

    /// A device, through what drives it; what bins leave undecided is checked by the CPU.
    #[must_use]
    pub fn on<A: Accelerator>(device: A) -> Self {
        Self { device: Some(Box::new(Resident::new(device))), ..Self::cpu() }
    }

    /// What is asked for. [`DeviceChoice::Auto`] is the CPU: an answer takes milliseconds, and a device has to be set up. Of several
    /// devices the first answers.
    ///
    /// # Errors
    /// [`Error::Device`] where a device is asked for that is not there.
    pub fn new(choice: &DeviceChoice) -> Result<Self, Error> {
        match choice {
            DeviceChoice::Auto | DeviceChoice::Cpu => Ok(Self::cpu()),
            DeviceChoice::Cuda(number) => cuda(*number),
            DeviceChoice::CudaList(numbers) => cuda(numbers.first().copied().unwrap_or(0)),
            DeviceChoice::CudaAll => cuda(0),
        }
    }

    /// With so many threads of the CPU, of which there is at least one.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        if let Some(device) = &mut self.device {
            device.set_threads(self.threads);
        }
        self
    }

    /// With so many bytes of a device's memory, at most, for bitmaps that stay there for further questions: 1 GiB, if it is not called, and never more than
    /// half of what is free. Where those of a question do not fit beside those that are there, all of these go first. Those of one question alone
    /// may take more.
    #[must_use]
    pub fn with_device_memory(mut self, bytes: u64) -> Self {
        if let Some(device) = &mut self.device {
            device.set_memory(bytes);
        }
        self
    }

    /// Lets go of the index that was asked last, and of its bitmaps on a device: the next question loads them again. Memory stays.
    pub fn forget(&mut self) {
        if let Some(device) = &mut self.device {
            device.forget();
        }
    }

    /// What answers, in words.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.device {
            Some(device) => device.name(),
            None if self.threads == 1 => "cpu (1 thread)".to_owned(),
            None => format!("cpu ({} threads)", self.threads),
        }
    }

    /// Answers a plan, which is one of this index. With `keep` the rows are kept, and else they are only counted.
    ///
    /// # Errors
    /// [`Error::Index`] where what it reads of the index is not as it was written; [`Error::Device`].
    pub fn answer(&mut self, index: &BitmapIndex, plan: &Plan, keep: bool) -> Result<Answer, Error> {
        let operands = plan.operands(index, self.threads)?;
        let Self { threads, device, outputs } = self;
        match device {
            // A device is not asked of nothing.
            Some(device) if !operands.is_empty() && index.rows() > 0 => {
                let all = keep || !plan.is_exact();
                device.run(index, plan, &operands, all, outputs)?;
                settled(index, plan, outputs, *threads, keep)
            }
            _ => on_cpu(index, plan, &operands, *threads, keep),
        }
    }
}

/// What a device has found becomes the answer. What the answer does not take of the arrays stays for the next.
fn settled(
    index: &BitmapIndex,
    plan: &Plan,
    outputs: &mut run::Outputs,
    threads: usize,
    keep: bool,
) -> Result<Answer, Error> {
    let odd = || Error::Internal("the outputs of a plan are not as planned".into());
    let mut answer = Answer { rows: *outputs.counts.first().ok_or_else(odd)?, ..Answer::default() };
    if let Some(formula) = &plan.check {
        let ([sure, possible], [known, all]) = (&mut outputs.chunks[..], &outputs.counts[..]) else {
            return Err(odd());
        };
        answer.checked = all.checked_sub(*known).ok_or_else(odd)?;
        if answer.checked > 0 {
            answer.rows += Checker::new(formula, index, threads)?.check_all(sure, possible, threads)?;
        }
    }
    if keep {
        answer.chunks = outputs.chunks.first_mut().map(std::mem::take).ok_or_else(odd)?;
    }
    Ok(answer)
}

/// The answer by the CPU: a stretch of tiles after the other, each of which is checked while it is in the cache.
fn on_cpu(
    index: &BitmapIndex,
    plan: &Plan,
    operands: &[Bitmap<'_>],
    threads: usize,
    keep: bool,
) -> Result<Answer, Error> {
    let (rows, program) = (index.rows(), &plan.program[..]);
    let Some(formula) = &plan.check else {
        let run::Outputs { chunks, counts } = run(operands, program, rows, threads, keep)?;
        let (chunks, rows) = (chunks.into_iter().next(), counts.first());
        return Ok(Answer {
            chunks: chunks.unwrap_or_default(),
            rows: rows.copied().unwrap_or(0),
            checked: 0,
        });
    };
    run::check_run(operands, program, rows)?;
    let checker = Checker::new(formula, index, threads)?;
    let (chunks, tiles) = (chunks_for(rows) as usize, tiles_for(chunks_for(rows)) as usize);
    let mut answer = Answer { chunks: vec![0; if keep { chunks } else { 0 }], ..Answer::default() };
    let mut kept = answer.chunks.chunks_mut(STRETCH);
    let stretches = (0..tiles.div_ceil(STRETCH_TILES)).map(|number| (number, kept.next())).collect();
    let counts = pool::map_in(threads, stretches, |(number, kept)| {
        let (mut sure, mut possible) = ([0; STRETCH], [0; STRETCH]);
        let tiles = number * STRETCH_TILES..tiles.min((number + 1) * STRETCH_TILES);
        let both = [&mut sure[..], &mut possible[..]];
        let [known, all] =
            Isa::best().run(run::Stretch { bitmaps: operands, program, rows, tiles, kept: both });
        let checked = all.saturating_sub(known);
        let added = if checked > 0 { checker.check(number, &mut sure, &possible)? } else { 0 };
        if let Some(kept) = kept {
            kept.copy_from_slice(&sure[..kept.len()]);
        }
        Ok::<_, Error>((known + added, checked))
    });
    for count in counts {
        let (rows, checked) = count?;
        answer.rows += rows;
        answer.checked += checked;
    }
    Ok(answer)
}

#[cfg(feature = "cuda")]
fn cuda(number: usize) -> Result<BitmapEngine, Error> {
    Ok(BitmapEngine::on(warpath_backend::cuda::device::Cuda::new(number)?))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_number: usize) -> Result<BitmapEngine, Error> {
    Err(warpath_core::error::DeviceError::NoDriver.into())
}
