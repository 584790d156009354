//! Unions of compressed bitmaps by the methods of the papers.
//!
//! * *pairwise*, *iterative*: [`crate::unions`], over the same columns as Warpath. The union is in the
//!   same code as the columns.
//! * *coa*, *roa*, *hybrid*, *ideal hybrid*: reductions on a device, after decompression by scans. *Alone*:
//!   of columns that are decompressed before. *By tiles*, *in stripes*: with the tile starts that Warpath
//!   stores.

use std::rc::Rc;

use anyhow::Result;
use warpath_benches::bitmap::cpu::{self, Team};
use warpath_benches::bitmap::gpu::{self, DeviceUnion};
use warpath_benches::bitmap::method::{Candidate, Executor, Family, Method, Ran, name};
use warpath_core::wah::WahBuf;
use warpath_device::DeviceBitmaps;
use warpath_device::cuda::Cuda;
use warpath_shared::wah::Wah;
use warpath_shared::wah::ops::Op;

use crate::unions::{self, Decompression, Reduction, UnionStage};

/// The bytes of decompressed words in one stripe. A stripe is reduced before the next is made, so that its
/// words stay in the cache.
const STRIPE_BYTES: usize = 16 << 20;

/// All methods: the pairwise reduction on each number of threads, and those of a device if there is one.
#[must_use]
pub fn all(threads: &[usize], cuda: Option<&Rc<Cuda>>) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = threads.iter().map(|threads| pairwise(*threads)).collect();
    all.push(iterative());
    all.extend(cuda.map(on_device).unwrap_or_default());
    all
}

/// The pairwise reduction on `threads` threads.
fn pairwise(threads: usize) -> Candidate {
    cpu::candidate(name::PAIRWISE, Family::Seed, threads, move |workload| {
        let (columns, team) = (workload.columns(), Team::new(threads)?);
        let both = |(a, b): &(Wah<'_>, Wah<'_>)| WahBuf::of(Op::Or, *a, *b);
        let unite = move || team.within(|| unions::pairwise(&columns, |pairs| team.map(pairs, both)));
        Ok(Box::new(Compressed { unite, union: None }))
    })
}

fn iterative() -> Candidate {
    cpu::candidate(name::ITERATIVE, Family::Seed, 1, |workload| {
        let columns = workload.columns();
        Ok(Box::new(Compressed { unite: move || unions::iterative(&columns), union: None }))
    })
}

/// A union in the same code as the columns.
struct Compressed<F> {
    unite: F,
    union: Option<WahBuf>,
}

impl<F: Fn() -> WahBuf> Method for Compressed<F> {
    fn run(&mut self) -> Result<Ran> {
        let union = (self.unite)();
        let count = union.as_wah().count();
        self.union = Some(union);
        Ok(Ran::counted(count))
    }

    fn forget(&mut self) {
        self.union = None;
    }

    fn union(&mut self) -> Result<Vec<u64>> {
        Ok(self.union.as_ref().map(WahBuf::chunks).unwrap_or_default())
    }
}

/// The way to make the union on a device.
#[derive(Clone, Copy)]
enum How {
    /// Decompressed, if that is timed too, and reduced.
    Reduced(Option<Decompression>, Reduction),
    /// Decompressed and reduced, stripe by stripe.
    InStripes,
}

fn on_device(cuda: &Rc<Cuda>) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |name, family, place, how| {
        let make =
            move |queue, columns, chunks| Rival { stage: UnionStage::new(queue), how, columns, chunks };
        all.push(gpu::candidate(cuda, name, family, place, make));
    };
    let hybrid = Reduction::Hybrid { width: 4, height: 256 };
    for place in [Executor::Resident, Executor::Copied] {
        for (name, reduction) in [
            (name::COA, Reduction::Coa),
            (name::ROA, Reduction::Roa),
            (name::HYBRID, hybrid),
            (name::IDEAL, Reduction::IdealHybrid),
        ] {
            add(name, Family::Seed, place, How::Reduced(Some(Decompression::Scans), reduction));
        }
    }
    for (name, reduction) in [
        ("coa alone", Reduction::Coa),
        ("roa alone", Reduction::Roa),
        ("hybrid alone", hybrid),
        ("ideal hybrid alone", Reduction::IdealHybrid),
    ] {
        add(name, Family::Seed, Executor::Resident, How::Reduced(None, reduction));
    }
    let tiles = How::Reduced(Some(Decompression::Tiles), Reduction::IdealHybrid);
    add("ideal hybrid, by tiles", Family::Ours, Executor::Resident, tiles);
    add("ideal hybrid, in stripes", Family::Ours, Executor::Resident, How::InStripes);
    all
}

struct Rival {
    stage: UnionStage<Cuda>,
    how: How,
    columns: usize,
    chunks: u64,
}

impl Rival {
    fn in_stripes(&mut self, bitmaps: &DeviceBitmaps<Cuda>, union: Option<&mut Vec<u64>>) -> Result<()> {
        let stripe = (STRIPE_BYTES / 8 / self.columns) as u64;
        Ok(self.stage.unite_in_stripes(bitmaps, stripe, Reduction::IdealHybrid, union)?)
    }
}

impl DeviceUnion for Rival {
    fn device(&self) -> &Cuda {
        self.stage.device()
    }

    fn prepare(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<()> {
        if let How::Reduced(None, _) = self.how {
            self.stage.decompress(bitmaps, Decompression::Tiles)?;
        }
        Ok(())
    }

    fn launch(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<()> {
        let How::Reduced(decompression, reduction) = self.how else { return self.in_stripes(bitmaps, None) };
        if let Some(decompression) = decompression {
            self.stage.decompress(bitmaps, decompression)?;
        }
        Ok(self.stage.unite(self.columns, self.chunks, reduction)?)
    }

    fn union(&mut self, bitmaps: &DeviceBitmaps<Cuda>) -> Result<Vec<u64>> {
        if let How::InStripes = self.how {
            // Of each stripe only the last is left: once more, with all of them taken.
            let mut union = Vec::new();
            self.in_stripes(bitmaps, Some(&mut union))?;
            return Ok(union);
        }
        Ok(self.stage.words(self.chunks as usize)?)
    }
}

#[cfg(test)]
mod tests {
    use warpath_benches::bitmap::data::DataSet;
    use warpath_benches::bitmap::method::measure;
    use warpath_benches::bitmap::workload::Workload;

    use super::*;

    #[test]
    fn all_methods_make_the_same_union() {
        for set in DataSet::ALL {
            // More than a container, and no whole number of chunks.
            let table = set.make(200_000, 1);
            let index = table.columns();
            for columns in [1, 3, 4, 64] {
                let workload = Workload::random(&table, &index, columns, 1);
                let want = workload.answer();
                for candidate in all(&[1, 2, 3, 5], None) {
                    let times = measure(&candidate, &workload, &want, 2).unwrap();
                    assert_eq!(times.len(), 2, "{}", candidate.name);
                }
            }
        }
    }
}
