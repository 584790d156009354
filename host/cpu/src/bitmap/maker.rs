//! The maker of the bitmaps of bins: the CPU or a device; and the forms of both on devices.

use std::time::{Duration, Instant};

use warpath_answer::backend::Backend;
use warpath_core::error::Error;
use warpath_core::wah::{Bitmap, WahBuf};
use warpath_store::bitmap::bitmaps;
use warpath_store::bitmap::bitmaps::BinNumbers;
use warpath_store::bitmap::index::BitmapIndex;

use super::plan::Plan;
use super::run::Outputs;

/// The most bins of a column whose bitmaps a device makes.
///
/// The time of a device is proportional to rows times bins. It sets the chunks of all bins to 0, writes them,
/// reads them twice to compress them, and writes the atoms. This is 40 bytes a bin for 63 rows, or 0.9 ns a
/// row for 4,096 bins at 3 TB/s.
///
/// The time of the CPU depends on the rows and on the number of bins with a row in a chunk, at most 63. On
/// random rows one core takes 188 ns a row for 4,096 bins, 114 ns for 256 bins and 28 ns for 25 bins. These
/// times were measured on two cores. On 16 cores, 4,096 bins take 12 ns a row.
///
/// So with 4,096 bins, a device with a tenth of that memory rate is about as fast as 16 cores. With more bins
/// it is slower.
const MOST_BINS: usize = 4096;

/// Makes the bitmaps of bins from the number of each row's bin, on the CPU or on a device. The device's
/// memory is kept from column to column.
///
/// Both make the same bitmaps, atom by atom.
///
/// ```
/// use warpath_cpu::bitmap::maker::BitmapMaker;
/// use warpath_store::bitmap::bitmaps::BinNumbers;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let bitmaps = BitmapMaker::cpu().make(&BinNumbers::U8(vec![1, 0, 1]), 2)?;
/// assert_eq!(bitmaps[1].as_wah().ones().collect::<Vec<_>>(), [0, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct BitmapMaker {
    device: Option<Box<dyn BinDevice>>,
    made: Made,
}

/// The work that a [`BitmapMaker`] has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// The number of bitmaps that a device made.
    pub by_device: usize,
    /// The number of bitmaps that the CPU made.
    pub by_cpu: usize,
    /// The time that this took, with the wait for the device to be opened, if there was one.
    pub took: Duration,
}

/// A device that evaluates plans.
pub trait PlanDevice: Send {
    /// A short description of the device.
    fn name(&self) -> String;

    /// Sets the number of host threads that copy to the device.
    fn set_threads(&mut self, threads: usize);

    /// Sets the most bytes of the bitmaps that stay on the device.
    fn set_memory(&mut self, bytes: u64);

    /// Drops the index and its bitmaps.
    fn forget(&mut self);

    /// Runs a plan of an index over the bitmaps of its operands. There is at least one operand and one row.
    /// The outputs replace those in `outputs`, whose memory is reused.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails, or has too little memory.
    fn run(
        &mut self,
        index: &BitmapIndex,
        plan: &Plan,
        operands: &[Bitmap<'_>],
        keep: bool,
        outputs: &mut Outputs,
    ) -> Result<(), Error>;
}

/// A device that makes bitmaps and evaluates expressions over them.
pub trait BitmapForm: Send + Sync {
    /// Makes bitmaps on the device.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn maker(&self) -> Result<BitmapMaker, Error>;

    /// Evaluates plans on the device.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn evaluator(&self) -> Result<Box<dyn PlanDevice>, Error>;
}

/// A device that makes the bitmaps of bins.
pub trait BinDevice: Send {
    /// A short description of the device.
    fn name(&self) -> String;

    /// Makes the bitmaps of `bins` bins, of at least one row.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails, or has too little memory.
    fn bitmaps(&mut self, numbers: &BinNumbers, bins: u32) -> Result<Vec<WahBuf>, Error>;
}

impl BitmapMaker {
    /// Makes bitmaps on all cores of the CPU.
    #[must_use]
    pub fn cpu() -> Self {
        Self::default()
    }

    /// Makes bitmaps where a backend evaluates: on its device, if the device makes bitmaps, otherwise on the
    /// CPU.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    pub fn of(backend: &dyn Backend) -> Result<Self, Error> {
        backend.forms().get::<dyn BitmapForm>().map_or_else(|| Ok(Self::cpu()), BitmapForm::maker)
    }

    /// Makes bitmaps on a device for columns of up to 4,096 bins. The CPU makes those of columns with more
    /// bins or without rows.
    #[must_use]
    pub fn on(device: Box<dyn BinDevice>) -> Self {
        Self { device: Some(device), made: Made::default() }
    }

    /// The name of the device, or `cpu`.
    #[must_use]
    pub fn name(&self) -> String {
        self.device.as_ref().map_or_else(|| "cpu".to_owned(), |device| device.name())
    }

    /// The work that has been done.
    #[must_use]
    pub fn made(&self) -> Made {
        self.made
    }

    /// Makes the bitmaps of `bins` bins, from the number of each row's bin. If the device fails or has too
    /// little memory, the error is returned without a second attempt on the CPU.
    pub fn make(&mut self, numbers: &BinNumbers, bins: usize) -> Result<Vec<WahBuf>, Error> {
        let is_empty = match numbers {
            BinNumbers::U8(numbers) => numbers.is_empty(),
            BinNumbers::U16(numbers) => numbers.is_empty(),
            BinNumbers::U32(numbers) => numbers.is_empty(),
        };
        let since = Instant::now();
        let bitmaps = match &mut self.device {
            Some(device) if !is_empty && bins <= MOST_BINS => {
                self.made.by_device += bins;
                device.bitmaps(numbers, bins as u32)?
            }
            _ => {
                self.made.by_cpu += bins;
                bitmaps::of_numbers(numbers, bins)
            }
        };
        self.made.took += since.elapsed();
        Ok(bitmaps)
    }
}
