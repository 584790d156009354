//! Methods on a device: Warpath's kernel, and those of the paper.
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
use warpath_rivals::unions::{Decompression, Reduction, UnionStage};
use warpath_shared::bitmap::{Instr, OpCode, TileStart};
use warpath_shared::wah::{Wah, chunks_for};

use super::method::{Candidate, Family, Method, Place, Ran, name};
use super::workload::Workload;

/// The bytes of decompressed words in one stripe. A stripe is reduced before the next is made, so that its
/// words stay in the cache.
const STRIPE_BYTES: usize = 16 << 20;

/// The way to make the union.
#[derive(Clone, Copy)]
enum How {
    /// By Warpath's kernel.
    Tiles,
    /// Decompressed, if that is timed too, and reduced.
    Reduced(Option<Decompression>, Reduction),
    /// Decompressed and reduced, stripe by stripe.
    InStripes,
}

/// All methods on a device.
#[must_use]
pub fn all(cuda: &Rc<Cuda>) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |name, family, place, how| {
        let cuda = cuda.clone();
        all.push(Candidate {
            name,
            family,
            place,
            setup: Box::new(move |workload| OnDevice::boxed(&cuda, workload, place, how)),
        });
    };
    let hybrid = Reduction::Hybrid { width: 4, height: 256 };
    let reductions = [
        (name::COA, Reduction::Coa),
        (name::ROA, Reduction::Roa),
        (name::HYBRID, hybrid),
        (name::IDEAL, Reduction::IdealHybrid),
    ];
    for place in [Place::Resident, Place::Copied] {
        add(name::WARPATH, Family::Ours, place, How::Tiles);
        for (name, reduction) in reductions {
            add(name, Family::Seed, place, How::Reduced(Some(Decompression::Scans), reduction));
        }
    }
    // The reductions alone, of columns that are decompressed before; and what stored tiles make of them.
    for (name, reduction) in [
        ("coa alone", Reduction::Coa),
        ("roa alone", Reduction::Roa),
        ("hybrid alone", hybrid),
        ("ideal hybrid alone", Reduction::IdealHybrid),
    ] {
        add(name, Family::Seed, Place::Resident, How::Reduced(None, reduction));
    }
    let tiles = How::Reduced(Some(Decompression::Tiles), Reduction::IdealHybrid);
    add("ideal hybrid, by tiles", Family::Ours, Place::Resident, tiles);
    add("ideal hybrid, in stripes", Family::Ours, Place::Resident, How::InStripes);
    all
}

struct OnDevice<'a> {
    stage: Stage,
    bitmaps: DeviceBitmaps<Cuda>,
    columns: Vec<Wah<'a>>,
    tiles: Vec<Vec<TileStart>>,
    place: Place,
    how: How,
    program: Vec<Instr>,
    chunks: u64,
    /// The union, on the host.
    union: Vec<u64>,
}

/// The stage that makes the union. The bitmaps are in the memory of its queue.
enum Stage {
    Ours(Box<BitmapStage<Cuda>>),
    Rival(Box<UnionStage<Cuda>>),
}

impl Stage {
    fn device(&self) -> &Cuda {
        match self {
            Self::Ours(stage) => stage.device(),
            Self::Rival(stage) => stage.device(),
        }
    }
}

fn ones(chunks: &[u64]) -> u64 {
    chunks.iter().map(|chunk| u64::from(chunk.count_ones())).sum()
}

impl<'a> OnDevice<'a> {
    fn boxed(
        cuda: &Rc<Cuda>,
        workload: &'a Workload<'a>,
        place: Place,
        how: How,
    ) -> Result<Box<dyn Method + 'a>> {
        // The densest first: they fill a tile soonest.
        let mut columns = workload.columns();
        columns.sort_by_key(|column| std::cmp::Reverse(column.count()));
        let tiles: Vec<Vec<TileStart>> = columns.iter().map(|column| tile_starts(*column)).collect();
        let any = Instr::new(OpCode::Any, 0, columns.len() as u32);
        let program = vec![any, Instr::new(OpCode::Store, 0, 0)];
        let stage = match how {
            How::Tiles => Stage::Ours(Box::new(BitmapStage::new(cuda.queue()?))),
            How::Reduced(..) | How::InStripes => Stage::Rival(Box::new(UnionStage::new(cuda.queue()?))),
        };
        let chunks = chunks_for(workload.table.rows);
        let bitmaps = DeviceBitmaps::default();
        let mut method =
            Self { stage, bitmaps, columns, tiles, place, how, program, chunks, union: Vec::new() };
        method.load()?;
        Ok(Box::new(method))
    }

    fn load(&mut self) -> Result<()> {
        let Self { stage, bitmaps, columns, tiles, .. } = self;
        let all: Vec<Bitmap<'_>> =
            columns.iter().zip(&*tiles).map(|(wah, tiles)| Bitmap { wah: *wah, tiles }).collect();
        Ok(bitmaps.load(stage.device(), &all)?)
    }

    /// Chunks of a column in one stripe.
    fn stripe(&self) -> u64 {
        (STRIPE_BYTES / 8 / self.columns.len()) as u64
    }

    fn launch(&mut self) -> Result<()> {
        let stripe = self.stripe();
        let Self { stage, bitmaps, columns, program, chunks, .. } = self;
        match (stage, self.how) {
            (Stage::Ours(stage), _) => drop(stage.launch_range(bitmaps, program, true)?),
            (Stage::Rival(stage), How::Reduced(decompression, reduction)) => {
                if let Some(decompression) = decompression {
                    stage.decompress(bitmaps, decompression)?;
                }
                stage.unite(columns.len(), *chunks, reduction)?;
            }
            (Stage::Rival(stage), _) => {
                stage.unite_in_stripes(bitmaps, stripe, Reduction::IdealHybrid, None)?;
            }
        }
        Ok(())
    }
}

impl Method for OnDevice<'_> {
    fn run(&mut self) -> Result<Ran> {
        if self.place == Place::Copied {
            self.load()?;
            if let Stage::Ours(stage) = &mut self.stage {
                let mut outputs = stage.range(&self.bitmaps, &self.program, true)?;
                self.union = outputs.chunks.swap_remove(0);
                return Ok(Ran::counted(outputs.counts[0]));
            }
            self.launch()?;
            if let Stage::Rival(stage) = &self.stage {
                self.union = stage.words(self.chunks as usize)?;
            }
            return Ok(Ran::counted(ones(&self.union)));
        }
        if let (Stage::Rival(stage), How::Reduced(None, _)) = (&mut self.stage, self.how) {
            stage.decompress(&self.bitmaps, Decompression::Tiles)?;
        }
        self.stage.device().wait()?;
        self.stage.device().start_timeline();
        self.launch()?;
        let (_, milliseconds) = self.stage.device().take_timeline()?;
        let union = self.union()?;
        Ok(Ran { count: ones(&union), time: Some(Duration::from_secs_f64(f64::from(milliseconds) / 1e3)) })
    }

    fn union(&mut self) -> Result<Vec<u64>> {
        if self.place == Place::Copied {
            return Ok(self.union.clone());
        }
        let stripe = self.stripe();
        match (&mut self.stage, self.how) {
            // The kernel runs once more, untimed, and its result is copied back.
            (Stage::Ours(stage), _) => {
                Ok(stage.range(&self.bitmaps, &self.program, true)?.chunks.swap_remove(0))
            }
            // Of each stripe only the last is left: once more, with all of them taken.
            (Stage::Rival(stage), How::InStripes) => {
                let mut union = Vec::new();
                stage.unite_in_stripes(&self.bitmaps, stripe, Reduction::IdealHybrid, Some(&mut union))?;
                Ok(union)
            }
            (Stage::Rival(stage), _) => Ok(stage.words(self.chunks as usize)?),
        }
    }
}
