//! Who makes bitmaps of bins: the CPU, or a device.

use super::BinNumbers;
use super::bitmaps;
use crate::bitmap::wah::WahBuf;
use crate::device::{Accelerator, BitmapStage};
use crate::error::Error;

/// The most bins of a column whose bitmaps a device makes. It takes time by rows times bins, and the CPU by rows alone (docs/bitmaps.md).
const MOST_BINS: usize = 512;

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

    /// A device, through what drives it, for columns of up to 512 bins. Those of more the CPU makes, and those of no rows.
    #[must_use]
    pub fn on<A: Accelerator>(device: A) -> Self {
        Self { device: Some(Box::new(BitmapStage::new(device))) }
    }

    /// What makes bitmaps, in words.
    #[must_use]
    pub fn name(&self) -> String {
        self.device.as_ref().map_or_else(|| "cpu".to_owned(), |device| device.name())
    }

    /// The bitmaps of so many bins, from the number of the bin of each row.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails, or has no room: then nothing else is tried.
    ///
    /// # Panics
    /// If a number is not that of a bin, where the CPU makes them. On a device such a row is in no bin.
    pub fn make(&mut self, numbers: &BinNumbers, bins: usize) -> Result<Vec<WahBuf>, Error> {
        let is_empty = match numbers {
            BinNumbers::U8(numbers) => numbers.is_empty(),
            BinNumbers::U16(numbers) => numbers.is_empty(),
            BinNumbers::U32(numbers) => numbers.is_empty(),
        };
        match &mut self.device {
            Some(device) if !is_empty && bins <= MOST_BINS => device.bitmaps(numbers, bins as u32),
            _ => Ok(bitmaps::of_numbers(numbers, bins)),
        }
    }
}
