//! Bitmaps on a device: programs over compressed bitmaps, and the making of bitmaps.

use std::ops::Range;

use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::wah::{Bitmap, WahBuf};
use warpath_cpu::bitmap::run::{Outputs, outputs};
use warpath_shared::bitmap::{Instr, TileStart, tiles_for};
use warpath_shared::kernel::{
    BinWords, BinWordsArgs, BitmapRange, BitmapRangeArgs, COMPRESS_CHUNKS, Columns, CompressAtoms,
    CompressAtomsArgs, CompressStarts, CompressStartsArgs,
};
use warpath_shared::wah::{chunks_for, last_chunk};
use warpath_store::bitmap::bitmaps::BinNumber;

use super::upload::Uploads;
use super::{Accelerator, Downloads, ScanScratch, Slot, launch, stages};

/// Compressed bitmaps in device memory, in arrays that are kept between queries. They are copied through
/// pinned memory.
pub struct DeviceBitmaps<A: Accelerator> {
    atoms: Slot<A, u64>,
    tiles: Slot<A, TileStart>,
    columns: Slot<A, u64>,
    /// The lengths of the three arrays.
    lens: [usize; 3],
    rows: u64,
    uploads: Uploads,
}

impl<A: Accelerator> Default for DeviceBitmaps<A> {
    fn default() -> Self {
        Self {
            atoms: Slot::default(),
            tiles: Slot::default(),
            columns: Slot::default(),
            lens: [0; 3],
            rows: 0,
            uploads: Uploads::default(),
        }
    }
}

/// Bytes of chunks of bins that are made and compressed at once. The chunks of all columns do not fit in a
/// device's memory. More at once are not faster. For 32 million rows this is 66 bins; the kernels of each
/// such group read and write 1 GB or more, so the launches take almost no part of the time.
const MOST_CHUNK_BYTES: usize = 256 << 20;

/// The operations on bitmaps, in buffers that are kept between calls.
pub struct BitmapStage<A: Accelerator> {
    device: A,
    program: Slot<A, Instr>,
    words: Slot<A, u64>,
    counts: Slot<A, u64>,
    starts: Slot<A, u32>,
    ends: Slot<A, u32>,
    scratch: ScanScratch<A, u64>,
    atoms: Slot<A, u64>,
    bins: Slot<A, u32>,
    uploads: Uploads,
}

impl<A: Accelerator> DeviceBitmaps<A> {
    /// Copies bitmaps to a device.
    ///
    /// # Errors
    /// As for [`Self::load`].
    pub fn new(device: &A, bitmaps: &[Bitmap<'_>]) -> Result<Self, Error> {
        let mut all = Self::default();
        all.load(device, bitmaps)?;
        Ok(all)
    }

    /// Copies bitmaps to a device and replaces the earlier ones. Their atoms are one after the other.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short. [`Error::Internal`] if there are no bitmaps, or if they
    /// have no rows or different numbers of rows.
    pub fn load(&mut self, device: &A, bitmaps: &[Bitmap<'_>]) -> Result<(), Error> {
        let rows = bitmaps.first().map_or(0, |bitmap| bitmap.wah.rows());
        let atoms = bitmaps.iter().map(|bitmap| bitmap.wah.words().len()).sum();
        self.reserve(device, rows, bitmaps.len(), atoms)?;
        self.add(device, bitmaps)
    }

    /// Makes room for `columns` bitmaps of `rows` rows, with `atoms` atoms in total. Removes the earlier
    /// bitmaps.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short.
    pub fn reserve(&mut self, device: &A, rows: u64, columns: usize, atoms: usize) -> Result<(), Error> {
        self.lens = [0; 3];
        self.rows = rows;
        self.atoms.room(device, atoms)?;
        self.tiles.room(device, columns * Self::tiles_of_each(rows))?;
        self.columns.room(device, columns).map(drop)
    }

    /// Returns whether there is room for `columns` more bitmaps with `atoms` atoms in total.
    #[must_use]
    pub fn has_room(&self, columns: usize, atoms: usize) -> bool {
        let tiles = columns * Self::tiles_of_each(self.rows);
        let fits = |used: usize, more: usize, capacity: usize| used + more <= capacity;
        fits(self.lens[0], atoms, self.atoms.capacity())
            && fits(self.lens[1], tiles, self.tiles.capacity())
            && fits(self.lens[2], columns, self.columns.capacity())
    }

    /// Copies bitmaps to a device, after those that are there. If it fails, the earlier ones stay.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Internal`] if the bitmaps have no rows, or not as many as given to
    /// [`reserve`](Self::reserve), or if [`reserve`](Self::reserve) made no room for them.
    pub fn add(&mut self, device: &A, bitmaps: &[Bitmap<'_>]) -> Result<(), Error> {
        let of_each = Self::tiles_of_each(self.rows);
        let same = |bitmap: &Bitmap<'_>| bitmap.wah.rows() == self.rows && bitmap.tiles.len() == of_each;
        if self.rows == 0 || !bitmaps.iter().all(same) {
            return Err(Error::Internal("the bitmaps have different numbers of rows".into()));
        }
        let (atoms, tiles): (Vec<&[u64]>, Vec<&[TileStart]>) =
            bitmaps.iter().map(|bitmap| (bitmap.wah.words(), bitmap.tiles)).unzip();
        let [first_atom, first_tile, first_column] = self.lens;
        let mut columns = Vec::with_capacity(bitmaps.len());
        let mut end = first_atom;
        for atoms in &atoms {
            columns.push(end as u64);
            end += atoms.len();
        }
        self.uploads.upload_all(device, self.atoms.get_mut()?, first_atom, &atoms)?;
        self.uploads.upload_all(device, self.tiles.get_mut()?, first_tile, &tiles)?;
        device.upload(self.columns.get_mut()?, first_column, &columns)?;
        self.lens = [end, first_tile + of_each * columns.len(), first_column + columns.len()];
        Ok(())
    }

    /// Sets the number of host threads that copy bitmaps to pinned memory. The default is one for each core.
    pub fn set_threads(&mut self, threads: usize) {
        self.uploads.set_threads(threads);
    }

    /// The number of tile starts of a bitmap of `rows` rows.
    fn tiles_of_each(rows: u64) -> usize {
        tiles_for(chunks_for(rows)) as usize + 1
    }

    /// Bytes of device memory that the bitmaps take in addition to their atoms.
    pub fn bytes_beside(rows: u64, columns: usize) -> u64 {
        let of_each = size_of::<TileStart>() * Self::tiles_of_each(rows) + size_of::<u64>();
        of_each as u64 * columns as u64
    }

    /// Bytes of device memory that are allocated, whether they hold bitmaps or not.
    pub fn bytes(&self) -> u64 {
        (self.atoms.bytes() + self.tiles.bytes() + self.columns.bytes()) as u64
    }

    /// The number of bitmaps.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.lens[2]
    }

    /// The number of rows of each bitmap.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The bitmaps as an argument of kernels.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no room for bitmaps yet.
    pub fn view(&self, device: &A) -> Result<Columns<'_>, Error> {
        Ok(Columns {
            atoms: device.view(self.atoms.get()?, self.lens[0]),
            tiles: device.view(self.tiles.get()?, self.lens[1]),
            columns: device.view(self.columns.get()?, self.lens[2]),
        })
    }
}

impl<A: Accelerator> BitmapStage<A> {
    /// Makes a stage on a device.
    #[must_use]
    pub fn new(device: A) -> Self {
        Self {
            device,
            program: Slot::default(),
            words: Slot::default(),
            counts: Slot::default(),
            starts: Slot::default(),
            ends: Slot::default(),
            scratch: ScanScratch::default(),
            atoms: Slot::default(),
            bins: Slot::default(),
            uploads: Uploads::default(),
        }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Runs a program over bitmaps. The counts stay on the device, and with `keep` also the chunks of the
    /// results. Returns the number of results. Does not wait.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Internal`] if the program is not valid for these bitmaps.
    pub fn launch_range(
        &mut self,
        bitmaps: &DeviceBitmaps<A>,
        program: &[Instr],
        keep: bool,
    ) -> Result<usize, Error> {
        let outputs = outputs(program, bitmaps.columns())?;
        let Self { device, words, counts, program: slot, .. } = self;
        let chunks = chunks_for(bitmaps.rows);
        device.upload(slot.room(device, program.len())?, 0, program)?;
        device.zero(counts.room(device, outputs)?, 0, outputs)?;
        let len = if keep { outputs * chunks as usize } else { 0 };
        let args = BitmapRangeArgs {
            columns: bitmaps.view(device)?,
            program: device.view(slot.get()?, program.len()),
            words: device.view_mut(words.room(device, len)?, len),
            counts: device.view_mut(counts.get_mut()?, outputs),
            chunks,
            last: last_chunk(bitmaps.rows),
        };
        launch::<A, stages::Range, BitmapRange>(device, &args)?;
        Ok(outputs)
    }

    /// Runs a program over bitmaps and returns its results; with `keep`, also their chunks.
    ///
    /// # Errors
    /// As for [`Self::launch_range`].
    pub fn range(
        &mut self,
        bitmaps: &DeviceBitmaps<A>,
        program: &[Instr],
        keep: bool,
    ) -> Result<Outputs, Error> {
        let mut results = Outputs::default();
        self.range_to(bitmaps, program, keep, &mut results)?;
        Ok(results)
    }

    /// Does the same as [`range`](Self::range), into existing results. Arrays that are large enough are
    /// reused.
    ///
    /// # Errors
    /// As for [`Self::launch_range`].
    pub fn range_to(
        &mut self,
        bitmaps: &DeviceBitmaps<A>,
        program: &[Instr],
        keep: bool,
        to: &mut Outputs,
    ) -> Result<(), Error> {
        let outputs = self.launch_range(bitmaps, program, keep)?;
        let chunks = if keep { chunks_for(bitmaps.rows) as usize } else { 0 };
        to.counts.resize(outputs, 0);
        to.chunks.resize_with(outputs, Vec::new);
        let mut downloads = Downloads::new(&self.device);
        downloads.add(&self.counts, 0, &mut to.counts)?;
        for (number, to) in to.chunks.iter_mut().enumerate() {
            to.resize(chunks, 0);
            downloads.add(&self.words, number * chunks, to)?;
        }
        downloads.run()
    }

    /// Compresses chunks of columns that are on the device one after the other, for example the results of
    /// [`Self::launch_range`]. Waits twice, first for the number of atoms.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::Internal`] for 2³² chunks or more.
    pub fn compress(&mut self, columns: usize, rows: u64) -> Result<Vec<WahBuf>, Error> {
        let Self { device, words, starts, ends, scratch, atoms, .. } = self;
        let chunks = chunks_for(rows);
        let len = columns * chunks as usize;
        {
            let args = CompressStartsArgs {
                words: device.view(words.get()?, len),
                starts: device.view_mut(starts.room(device, len + 1)?, len + 1),
                columns: device.view_mut(ends.room(device, columns + 1)?, columns + 1),
                look_back: scratch.start(device, len.div_ceil(COMPRESS_CHUNKS))?,
                chunks,
            };
            launch::<A, stages::Compress, CompressStarts>(device, &args)?;
        }
        let mut of_columns = vec![0; columns + 1];
        device.download(ends.get()?, 0, &mut of_columns)?;
        let count = of_columns[columns] as usize;
        let args = CompressAtomsArgs {
            words: device.view(words.get()?, len),
            starts: device.view(starts.get()?, count + 1),
            atoms: device.view_mut(atoms.room(device, count)?, count),
        };
        launch::<A, stages::Compress, CompressAtoms>(device, &args)?;
        let mut all = vec![0; count];
        device.download(atoms.get()?, 0, &mut all)?;
        let column = |of: &[u32]| {
            WahBuf::new(all[of[0] as usize..of[1] as usize].to_vec(), rows)
                .map_err(|fault| Error::Internal(format!("a device compressed wrongly: {fault}")))
        };
        pool::map(of_columns.windows(2).collect(), column).into_iter().collect()
    }

    /// The bitmaps of bins, from the bin of each row. Bins are made in groups of at least one. The chunks of
    /// a group take at most 256 MiB, or an eighth of the free memory if that is less.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Internal`] for no rows.
    pub fn bitmaps_of<N: BinNumber>(&mut self, bins: &[N], count: u32) -> Result<Vec<WahBuf>, Error> {
        let rows = bins.len() as u64;
        if rows == 0 {
            return Err(Error::Internal("no rows to be binned".into()));
        }
        let Self { device, bins: slot, uploads, .. } = self;
        // The kernel takes bin numbers of 32 bits.
        let widen = |range: Range<usize>, wide: &mut [u32]| {
            for (wide, bin) in wide.iter_mut().zip(&bins[range]) {
                *wide = (*bin).into();
            }
        };
        uploads.upload(device, slot.room(device, bins.len())?, 0, bins.len(), widen)?;
        let chunks = chunks_for(rows) as usize;
        // A chunk takes 8 bytes, its atom at most 8, and the start of the atom 4: together 20 bytes for every
        // 8 bytes of chunks.
        let bytes = MOST_CHUNK_BYTES.min(self.device.free_memory()? as usize / 8);
        let at_once = (bytes / (8 * chunks)).max(1) as u32;
        let mut all = Vec::with_capacity(count as usize);
        let mut first = 0;
        while first < count {
            let some = (count - first).min(at_once);
            let Self { device, bins: slot, words, .. } = self;
            let len = some as usize * chunks;
            device.zero(words.room(device, len)?, 0, len)?;
            let args = BinWordsArgs {
                bins: device.view(slot.get()?, bins.len()),
                words: device.view_mut(words.get_mut()?, len),
                first,
                count: some,
            };
            launch::<A, stages::Bins, BinWords>(device, &args)?;
            all.extend(self.compress(some as usize, rows)?);
            first += some;
        }
        Ok(all)
    }
}
