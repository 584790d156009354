//! Who makes bitmaps of bins: the CPU, or a device.

use std::time::{Duration, Instant};

use crate::device::{Accelerator, BitmapStage};
use warpath_core::error::Error;
use warpath_core::wah::WahBuf;
use warpath_store::bitmap::bitmaps;
use warpath_store::bitmap::bitmaps::BinNumbers;

/// The most bins of a column whose bitmaps a device makes.
///
/// It takes time by rows times bins: chunks of all bins are set to 0, written, read twice by kernels that compress them, and written as atoms, 40 bytes a bin for 63 rows,
/// which of 4,096 bins at 3 TB/s is 0.9 ns a row. The CPU takes time by rows and by how many bins have a row of a chunk, which is 63 at most: of
/// random rows 188 ns a row and core of 4,096 bins (114 of 256, 28 of 25; measured on two cores), on 16 cores 12 ns. So here a device of a tenth of that
/// memory rate is about as fast as 16 cores, and beyond it slower.
const MOST_BINS: usize = 4096;

/// What makes the bitmaps of bins, from the number of the bin of each row: the CPU, or a device, whose memory is kept from column to column.
///
/// The bitmaps are the same, atom by atom.
///
/// ```
/// use warpath::bitmap::build::{BitmapMaker, build_column_by};
/// use warpath::bitmap::value::ColumnValues;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut maker = BitmapMaker::cpu();
/// let built = build_column_by(&mut maker, "n", "n", ColumnValues::ints(vec![7, 3, 7]), &"distinct".parse()?)?;
/// assert_eq!(built.bitmaps[1].as_wah().ones().collect::<Vec<_>>(), [0, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct BitmapMaker {
    device: Option<Box<dyn Device>>,
    made: Made,
}

/// What a [`BitmapMaker`] has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Bitmaps by a device.
    pub by_device: usize,
    /// Bitmaps by the CPU.
    pub by_cpu: usize,
    /// How long it took; with the device's being opened, if that was waited for.
    pub took: Duration,
}

/// A device, of whatever kind it is.
trait Device: Send {
    fn name(&self) -> String;

    /// The bitmaps of so many bins, of one row at least.
    fn bitmaps(&mut self, numbers: &BinNumbers, bins: u32) -> Result<Vec<WahBuf>, Error>;
}

impl<A: Accelerator> Device for BitmapStage<A> {
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

impl BitmapMaker {
    /// The CPU, all cores of it.
    #[must_use]
    pub fn cpu() -> Self {
        Self::default()
    }

    /// A device, through what drives it, for columns of up to 4,096 bins. Those of more the CPU makes, and those of no rows.
    #[must_use]
    pub fn on<A: Accelerator>(device: A) -> Self {
        Self { device: Some(Box::new(BitmapStage::new(device))), made: Made::default() }
    }

    /// What makes bitmaps, in words.
    #[must_use]
    pub fn name(&self) -> String {
        self.device.as_ref().map_or_else(|| "cpu".to_owned(), |device| device.name())
    }

    /// What has been made.
    #[must_use]
    pub fn made(&self) -> Made {
        self.made
    }

    /// The bitmaps of so many bins, from the number of the bin of each row.
    /// Where a device fails, or has no room, nothing else is tried.
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
