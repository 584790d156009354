//! Methods on a device: Warpath's kernel, and the frame of others.
//!
//! *Resident*: the compressed columns are in device memory before the query, and the result stays there. It
//! is timed by events, from the start of the first kernel to the end of the last. *Copied*: timed by the wall
//! clock, from columns in host memory to chunks in host memory. The device arrays are already allocated.

use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use warpath_core::wah::{Bitmap, tile_starts};
use warpath_device::cuda::Cuda;
use warpath_device::{Accelerator as _, BitmapStage, DeviceBitmaps};
use warpath_shared::bitmap::{Instr, OpCode, TileStart};
use warpath_shared::wah::{Wah, chunks_for};

use super::method::{Candidate, Executor, Family, Method, Ran, name};

/// A union of all columns on a device.
pub trait DeviceUnion {
    /// The queue, in whose memory the bitmaps are.
    fn device(&self) -> &Cuda;

    /// Does the work before the timed part.
    ///
    /// # Errors
    /// An error of the device.
    fn prepare(&mut self, _bitmaps: &DeviceBitmaps<Cuda>) -> Result<()> {
        Ok(())
    }

    /// Launches the timed part.
    ///
    /// # Errors
    /// An error of the device.
    fn launch(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<()>;

    /// Copies the union to the host. The work may run once more, untimed.
    ///
    /// # Errors
    /// An error of the device.
    fn union(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<Vec<u64>>;

    /// Makes the union and copies it to the host, with the number of its rows.
    ///
    /// # Errors
    /// An error of the device.
    fn copied(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<(Vec<u64>, u64)> {
        self.launch(bitmaps)?;
        let union = self.union(bitmaps)?;
        let count = ones(&union);
        Ok((union, count))
    }
}

/// A method on a device. `make` gets a queue, the number of columns, and the number of chunks of a column.
pub fn candidate<D: DeviceUnion + 'static>(
    cuda: &Rc<Cuda>,
    name: &'static str,
    family: Family,
    place: Executor,
    make: impl Fn(Cuda, usize, u64) -> D + 'static,
) -> Candidate {
    let cuda = cuda.clone();
    Candidate {
        name,
        family,
        place,
        setup: Box::new(move |workload| {
            // The densest first: they fill a tile soonest.
            let mut columns = workload.columns();
            columns.sort_by_key(|column| std::cmp::Reverse(column.count()));
            let tiles: Vec<Vec<TileStart>> = columns.iter().map(|column| tile_starts(*column)).collect();
            let of = make(cuda.queue()?, columns.len(), chunks_for(workload.table.rows));
            let bitmaps = DeviceBitmaps::default();
            let mut method = OnDevice { of, bitmaps, columns, tiles, place, union: Vec::new() };
            method.load()?;
            Ok(Box::new(method))
        }),
    }
}

/// Warpath's kernel on a device.
#[must_use]
pub fn all(cuda: &Rc<Cuda>) -> Vec<Candidate> {
    let places = [Executor::Resident, Executor::Copied];
    places.map(|place| candidate(cuda, name::WARPATH, Family::Ours, place, Tiles::new)).into()
}

/// The union by Warpath's kernel.
struct Tiles {
    stage: BitmapStage<Cuda>,
    program: [Instr; 2],
}

impl Tiles {
    fn new(queue: Cuda, columns: usize, _chunks: u64) -> Self {
        let any = Instr::new(OpCode::Any, 0, columns as u32);
        Self { stage: BitmapStage::new(queue), program: [any, Instr::new(OpCode::Store, 0, 0)] }
    }
}

impl DeviceUnion for Tiles {
    fn device(&self) -> &Cuda {
        self.stage.device()
    }

    fn launch(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<()> {
        self.stage.launch_range(bitmaps, &self.program, true)?;
        Ok(())
    }

    fn union(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<Vec<u64>> {
        Ok(self.copied(bitmaps)?.0)
    }

    fn copied(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<(Vec<u64>, u64)> {
        let mut outputs = self.stage.range(bitmaps, &self.program, true)?;
        Ok((outputs.chunks.swap_remove(0), outputs.counts[0]))
    }
}

struct OnDevice<'a, D> {
    of: D,
    bitmaps: DeviceBitmaps<Cuda>,
    columns: Vec<Wah<'a>>,
    tiles: Vec<Vec<TileStart>>,
    place: Executor,
    /// The union, on the host.
    union: Vec<u64>,
}

fn ones(chunks: &[u64]) -> u64 {
    chunks.iter().map(|chunk| u64::from(chunk.count_ones())).sum()
}

impl<D: DeviceUnion> OnDevice<'_, D> {
    fn load(&mut self) -> Result<()> {
        let Self { of, bitmaps, columns, tiles, .. } = self;
        let all: Vec<Bitmap<'_>> =
            columns.iter().zip(&*tiles).map(|(wah, tiles)| Bitmap { wah: *wah, tiles }).collect();
        Ok(bitmaps.load(of.device(), &all)?)
    }
}

impl<D: DeviceUnion> Method for OnDevice<'_, D> {
    fn run(&mut self) -> Result<Ran> {
        if self.place == Executor::Copied {
            self.load()?;
            let (union, count) = self.of.copied(&self.bitmaps)?;
            self.union = union;
            return Ok(Ran::counted(count));
        }
        self.of.prepare(&self.bitmaps)?;
        self.of.device().wait()?;
        self.of.device().start_timeline();
        self.of.launch(&self.bitmaps)?;
        let (_, milliseconds) = self.of.device().take_timeline()?;
        let union = self.union()?;
        Ok(Ran { count: ones(&union), time: Some(Duration::from_secs_f64(f64::from(milliseconds) / 1e3)) })
    }

    fn union(&mut self) -> Result<Vec<u64>> {
        if self.place == Executor::Copied {
            return Ok(self.union.clone());
        }
        self.of.union(&self.bitmaps)
    }
}
