//! Unions on a device by the methods of Nelson, Sorenson, Myre, Sawin and Chiu (2019): bitmaps are
//! decompressed, and then reduced to their union.

use warpath::Error;
use warpath_device::{Accelerator, DeviceBitmaps, ScanScratch, Slot};
use warpath_rivals_gpu::args::{
    CoaLevel, CoaLevelArgs, DecompressScan, DecompressScanArgs, DecompressTiles, DecompressTilesArgs,
    DecompressWords, DecompressWordsArgs, EXPAND_WORDS, HybridTiles, HybridTilesArgs, MAX_THREADS,
    SCAN_ATOMS,
};
use warpath_shared::bitmap::TILE_CHUNKS;
use warpath_shared::wah::chunks_for;

use crate::launch;

/// A method of the paper that reduces decompressed columns to their union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Column-oriented access.
    Coa,
    /// Row-oriented access, for at most 2,048 columns.
    Roa,
    /// Blocks of *k* × *j* threads over 2*k* columns and *j* rows of words.
    Hybrid {
        /// *k*
        width: u32,
        /// *j*
        height: u32,
    },
    /// The hybrid whose blocks span all columns, at most 2,048. It needs no second round.
    IdealHybrid,
}

impl Reduction {
    /// The method of the paper's table 2 for this number of columns. Two columns are a point query.
    #[must_use]
    pub fn for_columns(columns: usize) -> Self {
        match columns {
            0..=2 => Self::Coa,
            3..=1024 => Self::IdealHybrid,
            1025..=2048 => Self::Roa,
            _ => Self::Hybrid { width: 32, height: 32 },
        }
    }
}

/// The way in which columns are decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decompression {
    /// Scans of the atoms, then one thread for each word: the paper's DecompressVector.
    Scans,
    /// The stored starts of tiles.
    Tiles,
}

/// The smallest power of two that is not less than `at_least`.
fn two_to(at_least: u32) -> u32 {
    at_least.max(1).next_power_of_two()
}

/// Decompression and reduction, in buffers that are kept between calls.
pub struct UnionStage<A: Accelerator> {
    device: A,
    words: Slot<A, u64>,
    starts: Slot<A, u32>,
    firsts: Slot<A, u32>,
    scratch: ScanScratch<A, u64>,
}

impl<A: Accelerator> UnionStage<A> {
    /// Makes a stage on a device.
    #[must_use]
    pub fn new(device: A) -> Self {
        Self {
            device,
            words: Slot::default(),
            starts: Slot::default(),
            firsts: Slot::default(),
            scratch: ScanScratch::default(),
        }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Decompresses bitmaps. Their chunks stay on the device. Does not wait.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] for 2³² chunks or more.
    pub fn decompress(&mut self, bitmaps: &DeviceBitmaps<A>, how: Decompression) -> Result<(), Error> {
        match how {
            Decompression::Scans => self.decompress_by_scans(bitmaps),
            Decompression::Tiles => self.decompress_stripe(bitmaps, 0, chunks_for(bitmaps.rows())),
        }
    }

    fn decompress_stripe(
        &mut self,
        bitmaps: &DeviceBitmaps<A>,
        first: u64,
        stripe: u64,
    ) -> Result<(), Error> {
        let Self { device, words, .. } = self;
        let len = bitmaps.columns() * stripe as usize;
        let args = DecompressTilesArgs {
            columns: bitmaps.view(device)?,
            words: device.view_mut(words.room(device, len)?, len),
            chunks: chunks_for(bitmaps.rows()),
            first,
            stripe,
        };
        launch::<A, DecompressTiles>(device, &args)
    }

    fn decompress_by_scans(&mut self, bitmaps: &DeviceBitmaps<A>) -> Result<(), Error> {
        let Self { device, words, starts, firsts, scratch } = self;
        let len = bitmaps.columns() * chunks_for(bitmaps.rows()) as usize;
        let (atoms, tiles) = (bitmaps.view(device)?.atoms, len.div_ceil(EXPAND_WORDS));
        let args = DecompressScanArgs {
            atoms,
            starts: device.view_mut(starts.room(device, atoms.len())?, atoms.len()),
            firsts: device.view_mut(firsts.room(device, tiles)?, tiles),
            look_back: scratch.start(device, atoms.len().div_ceil(SCAN_ATOMS))?,
            words: len as u64,
        };
        launch::<A, DecompressScan>(device, &args)?;
        let args = DecompressWordsArgs {
            atoms,
            starts: device.view(starts.get()?, atoms.len()),
            firsts: device.view(firsts.get()?, tiles),
            words: device.view_mut(words.room(device, len)?, len),
        };
        launch::<A, DecompressWords>(device, &args)
    }

    /// Unites the columns that [`Self::decompress`] left on the device, each of `chunks` chunks, into the
    /// first of them. Does not wait.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Usage`] for more columns than the method supports, and for a tile of more
    /// than 1,024 threads.
    pub fn unite(&mut self, columns: usize, chunks: u64, method: Reduction) -> Result<(), Error> {
        let Self { device, words, .. } = self;
        let (mut left, len) = (columns as u32, columns * chunks as usize);
        let hybrid = |words: &mut Slot<A, u64>, columns, stride, width, height| {
            let words = device.view_mut(words.get_mut()?, len);
            launch::<A, HybridTiles>(
                device,
                &HybridTilesArgs { words, chunks, columns, stride, width, height },
            )
        };
        match method {
            Reduction::Coa => {
                while left > 1 {
                    let words = device.view_mut(words.get_mut()?, len);
                    launch::<A, CoaLevel>(
                        device,
                        &CoaLevelArgs { words, chunks, columns: left, reserved: 0 },
                    )?;
                    left = left.div_ceil(2);
                }
                Ok(())
            }
            Reduction::Roa | Reduction::IdealHybrid if left > 2 * MAX_THREADS => {
                Err(Error::Usage(format!("{left} columns are more than the 2048 that one block spans")))
            }
            Reduction::Roa => hybrid(words, left, 1, left.div_ceil(2), 1),
            Reduction::IdealHybrid => {
                let width = two_to(left.div_ceil(2));
                hybrid(words, left, 1, width, MAX_THREADS / width)
            }
            Reduction::Hybrid { width, height } => {
                if width == 0 || height == 0 || u64::from(width) * u64::from(height) > u64::from(MAX_THREADS)
                {
                    return Err(Error::Usage(format!(
                        "a tile has 1 to 1024 threads, not {width} × {height}"
                    )));
                }
                let mut stride = 1;
                while stride == 1 || left > 1 {
                    hybrid(words, left, stride, width, height)?;
                    left = left.div_ceil(2 * width);
                    stride *= 2 * width;
                }
                Ok(())
            }
        }
    }

    /// Decompresses bitmaps and unites them, stripe by stripe of about `stripe` chunks, so that the
    /// decompressed words stay in the cache. Only the union of the last stripe stays on the device. The
    /// unions of all stripes are appended to `to` if it is given. A stripe is whole tiles.
    ///
    /// # Errors
    /// As for [`Self::decompress`] and [`Self::unite`].
    pub fn unite_in_stripes(
        &mut self,
        bitmaps: &DeviceBitmaps<A>,
        stripe: u64,
        method: Reduction,
        mut to: Option<&mut Vec<u64>>,
    ) -> Result<(), Error> {
        let chunks = chunks_for(bitmaps.rows());
        let tiles = stripe.div_ceil(u64::from(TILE_CHUNKS)).max(1);
        let mut first = 0;
        while first * u64::from(TILE_CHUNKS) < chunks {
            let len = (chunks - first * u64::from(TILE_CHUNKS)).min(tiles * u64::from(TILE_CHUNKS));
            self.decompress_stripe(bitmaps, first, len)?;
            self.unite(bitmaps.columns(), len, method)?;
            if let Some(to) = &mut to {
                to.extend(self.words(len as usize)?);
            }
            first += tiles;
        }
        Ok(())
    }

    /// Copies back the first words that are on the device: a union, or decompressed columns one after the
    /// other.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn words(&self, len: usize) -> Result<Vec<u64>, Error> {
        let mut words = vec![0; len];
        self.device.download(self.words.get()?, 0, &mut words)?;
        Ok(words)
    }
}
