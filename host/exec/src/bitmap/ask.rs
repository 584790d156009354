//! Expressions evaluated over an index, on the CPU or a device.
//!
//! ```
//! use warpath::bitmap::BitmapEngine;
//! use warpath_exec::bitmap::build::build_column;
//! use warpath::bitmap::Plan;
//! use warpath_store::bitmap::value::ColumnValues;
//! use warpath::bitmap::{BitmapIndex, Built};
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let values = ColumnValues::ints(vec![7, 3, 12, 9, 800]);
//! let columns = vec![build_column("n", "n", values, &"quantiles:2".parse()?)?];
//! let index = BitmapIndex::from_built(Built { rows: 5, columns, ..Built::default() })?;
//!
//! let plan = Plan::of(&index, &"n between 8 and 100".parse()?, false)?;
//! let found = BitmapEngine::cpu().answer(&index, &plan, true)?;
//! assert_eq!(found.rows.ones().collect::<Vec<_>>(), [2, 3]);
//! # Ok(())
//! # }
//! ```

#[cfg(test)]
mod forged;
mod prune;

use std::num::NonZero;
use std::thread;

use warpath_answer::backend::Backend;
use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::rows::RowSet;
use warpath_core::simd::Isa;
use warpath_core::wah::Bitmap;
use warpath_cpu::bitmap::exact::{Checker, STRETCH, STRETCH_TILES};
use warpath_cpu::bitmap::maker::{BitmapForm, PlanDevice};
use warpath_cpu::bitmap::plan::Plan;
use warpath_cpu::bitmap::run;
use warpath_cpu::bitmap::run::run;
use warpath_device::{Accelerator, Resident};
use warpath_shared::bitmap::tiles_for;
use warpath_shared::wah::chunks_for;
use warpath_store::bitmap::index::BitmapIndex;

pub(crate) use prune::Indexed;

use crate::devices::{self, DeviceChoice};
use crate::engine::Engine;

/// The rows of an index for which an expression is true.
///
/// ```
/// use warpath::bitmap::{BitmapEngine, BitmapIndex, ColumnSpec, Plan, build};
/// use warpath::Engine;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tweets.ndjson");
/// # std::fs::write(&path, "{\"n\":5,\"id\":1}\n{\"n\":6,\"id\":2}\n{\"n\":7,\"id\":3}\n")?;
/// let engine = Engine::builder().build()?;
/// # #[cfg(any())]
/// let path = Path::new("tweets.ndjson");
/// let (built, _) = build(&engine, &path, &[ColumnSpec::new("n", "$.n")])?;
/// let index = BitmapIndex::from_built(built)?;
/// let plan = Plan::of(&index, &"n == 6".parse()?, false)?;
/// let found = BitmapEngine::cpu().answer(&index, &plan, true)?;
/// assert_eq!((found.count, found.rows.get(1)), (1, true));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matching {
    /// The matching rows. No row is in the set if the rows were only counted.
    pub rows: RowSet,
    /// The number of matching rows.
    pub count: u64,
    /// The number of rows that were checked against their stored values.
    pub checked: u64,
}

/// Evaluates expressions, one after the other.
///
/// Device memory is kept for the next expression. This includes pinned memory for copies, which the first
/// expression that needs some allocates, and the bitmaps themselves. Bitmaps stay as long as expressions are
/// over the same index or its clones. That index is kept open until another is used, or until
/// [`forget`](Self::forget) is called.
///
/// ```
/// use warpath::bitmap::{BitmapEngine, BitmapIndex, ColumnSpec, Plan, build};
/// use warpath::Engine;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tweets.ndjson");
/// # std::fs::write(&path, "{\"n\":5,\"id\":1}\n{\"n\":6,\"id\":2}\n{\"n\":7,\"id\":3}\n")?;
/// let engine = Engine::builder().build()?;
/// # #[cfg(any())]
/// let path = Path::new("tweets.ndjson");
/// let (built, _) = build(&engine, &path, &[ColumnSpec::new("n", "$.n")])?;
/// let index = BitmapIndex::from_built(built)?;
/// let plan = Plan::of(&index, &"n >= 6".parse()?, false)?;
/// let found = BitmapEngine::of(&engine)?.answer(&index, &plan, true)?;
/// assert_eq!(found.rows.ones().collect::<Vec<_>>(), [1, 2]);
/// # Ok(())
/// # }
/// ```
pub struct BitmapEngine {
    threads: usize,
    device: Option<Box<dyn PlanDevice>>,
    /// The outputs of the device. Their memory is reused.
    outputs: run::Outputs,
}

impl BitmapEngine {
    /// The CPU, with one thread for each core.
    #[must_use]
    pub fn cpu() -> Self {
        Self {
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            device: None,
            outputs: run::Outputs::default(),
        }
    }

    /// A device, by its driver. The CPU checks the rows that bins leave undecided.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn on<A: Accelerator>(device: A) -> Self {
        Self { device: Some(Box::new(Resident::new(device))), ..Self::cpu() }
    }

    /// The chosen device. [`DeviceChoice::Auto`] is the CPU, because an evaluation takes milliseconds, and a
    /// device has to be set up. Of several devices, the first is used.
    ///
    /// # Errors
    /// [`Error::Device`] if the chosen device is absent.
    pub fn new(choice: &DeviceChoice) -> Result<Self, Error> {
        let first = match choice {
            DeviceChoice::Auto | DeviceChoice::Cpu => return Ok(Self::cpu()),
            DeviceChoice::Cuda(number) => *number,
            DeviceChoice::CudaList(numbers) => numbers.first().copied().unwrap_or(0),
            DeviceChoice::CudaAll => 0,
        };
        Self::on_backend(&*devices::cuda(first)?)
    }

    /// The device of a backend if the device evaluates expressions, otherwise the CPU.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn on_backend(backend: &dyn Backend) -> Result<Self, Error> {
        let device = backend.forms().get::<dyn BitmapForm>().map(BitmapForm::evaluator).transpose()?;
        Ok(Self { device, ..Self::cpu() })
    }

    /// The device that an engine was built for; the CPU for an engine that chooses.
    ///
    /// # Errors
    /// As for [`on_backend`](Self::on_backend).
    pub fn of(engine: &Engine) -> Result<Self, Error> {
        Self::on_backend(engine.usual())
    }

    /// Sets the number of CPU threads; at least one.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        if let Some(device) = &mut self.device {
            device.set_threads(self.threads);
        }
        self
    }

    /// Sets the most bytes of device memory for bitmaps that stay there for later expressions. The default is
    /// 1 GiB. At most half of the free memory is used. If the bitmaps of an expression do not fit beside the
    /// ones that are there, all of those are dropped first. The bitmaps of one expression alone may take
    /// more.
    #[must_use]
    pub fn with_device_memory(mut self, bytes: u64) -> Self {
        if let Some(device) = &mut self.device {
            device.set_memory(bytes);
        }
        self
    }

    /// Drops the last index, and its bitmaps on a device. The next expression loads its bitmaps again.
    /// Allocated memory is kept.
    pub fn forget(&mut self) {
        if let Some(device) = &mut self.device {
            device.forget();
        }
    }

    /// A short name of the CPU or device.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.device {
            Some(device) => device.name(),
            None if self.threads == 1 => "cpu (1 thread)".to_owned(),
            None => format!("cpu ({} threads)", self.threads),
        }
    }

    /// Evaluates a plan, which has to be one of this index. With `keep` the rows are returned; otherwise they
    /// are only counted.
    ///
    /// # Errors
    /// [`Error::Index`] if a checksum of the index does not match. [`Error::Device`].
    pub fn answer(&mut self, index: &BitmapIndex, plan: &Plan, keep: bool) -> Result<Matching, Error> {
        let operands = plan.operands(index, self.threads)?;
        let Self { threads, device, outputs } = self;
        match device {
            // The device needs at least one operand and one row.
            Some(device) if !operands.is_empty() && index.rows() > 0 => {
                let all = keep || !plan.is_exact();
                device.run(index, plan, &operands, all, outputs)?;
                settled(index, plan, outputs, *threads, keep)
            }
            _ => on_cpu(index, plan, &operands, *threads, keep),
        }
    }
}

/// Turns the outputs of a device into the result. The arrays of the outputs stay for the next run.
fn settled(
    index: &BitmapIndex,
    plan: &Plan,
    outputs: &mut run::Outputs,
    threads: usize,
    keep: bool,
) -> Result<Matching, Error> {
    let odd = || Error::Internal("a plan has an unexpected number of outputs".into());
    let mut count = *outputs.counts.first().ok_or_else(odd)?;
    let mut checked = 0;
    if let Some(formula) = &plan.check {
        let ([sure, possible], [known, all]) = (&mut outputs.chunks[..], &outputs.counts[..]) else {
            return Err(odd());
        };
        checked = all.checked_sub(*known).ok_or_else(odd)?;
        if checked > 0 {
            count += Checker::new(formula, index, threads)?.check_all(sure, possible, threads)?;
        }
    }
    let chunks = if keep { &outputs.chunks.first().ok_or_else(odd)?[..] } else { &[] };
    Ok(Matching { rows: RowSet::from_chunks(chunks, index.rows()), count, checked })
}

/// Evaluates a plan on the CPU, one stretch of tiles after the other. Each stretch is checked while it is in
/// the cache.
fn on_cpu(
    index: &BitmapIndex,
    plan: &Plan,
    operands: &[Bitmap<'_>],
    threads: usize,
    keep: bool,
) -> Result<Matching, Error> {
    let (rows, program) = (index.rows(), &plan.program[..]);
    let Some(formula) = &plan.check else {
        let run::Outputs { chunks, counts } = run(operands, program, rows, threads, keep)?;
        let chunks = chunks.first().map_or(&[][..], |chunks| chunks);
        return Ok(Matching {
            rows: RowSet::from_chunks(chunks, rows),
            count: counts.first().copied().unwrap_or(0),
            checked: 0,
        });
    };
    run::check_run(operands, program, rows)?;
    let checker = Checker::new(formula, index, threads)?;
    let (chunks, tiles) = (chunks_for(rows) as usize, tiles_for(chunks_for(rows)) as usize);
    let mut all_kept = vec![0; if keep { chunks } else { 0 }];
    let mut kept = all_kept.chunks_mut(STRETCH);
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
    let (mut count, mut checked) = (0, 0);
    for part in counts {
        let part = part?;
        count += part.0;
        checked += part.1;
    }
    Ok(Matching { rows: RowSet::from_chunks(&all_kept, rows), count, checked })
}
