//! Compares the rivals with the oracles, in the emulator and on a card (`check-rivals`).

use anyhow::{Result, ensure};
use warpath_device::{Accelerator, DeviceBitmaps};
use warpath_lang::twig::Twig;
use warpath_shared::wah::chunks_for;
use warpath_tests::bitmaps::{Case, chunks};
use warpath_tests::random::Rng;
use warpath_tests::twig_evaluator::Evaluator;
use warpath_tests::{fsst, twigs};

use crate::ladder::{LadderStage, Step};
use crate::twig_seed::{SeedQueries, SeedStage};
use crate::unions::{Decompression, Reduction, UnionStage};
use crate::yfilter::{Runner, YFilter};

/// The committed PTX of rivals.
pub mod ptx {
    use cuda_builder::KernelCrate;
    use warpath_rivals_gpu::RIVALS;

    /// The kernel crate of rivals, and the folder of its PTX.
    pub const KERNEL_CRATE: KernelCrate =
        KernelCrate { path: "benches/rivals/gpu", folders: &[("benches/rivals/ptx", RIVALS)] };
}

/// Checks decompression on a device, and unions, against the oracle.
///
/// # Errors
/// A difference between their results, or an error of the device.
pub fn unions<A: Accelerator>(case: &Case, stage: &mut UnionStage<A>, shape: (u32, u32)) -> Result<()> {
    let rows = case.columns[0].len();
    let chunks_of = chunks_for(rows as u64);
    let bitmaps = DeviceBitmaps::new(stage.device(), &case.bitmaps())?;
    let all: Vec<u64> = case.columns.iter().flat_map(|rows| chunks(rows)).collect();
    let mut union = vec![false; rows];
    for column in &case.columns {
        union.iter_mut().zip(column).for_each(|(union, one)| *union |= one);
    }
    let union = chunks(&union);
    let (width, height) = shape;
    for how in [Decompression::Scans, Decompression::Tiles] {
        for reduction in [
            Reduction::Coa,
            Reduction::Roa,
            Reduction::IdealHybrid,
            Reduction::Hybrid { width, height },
            Reduction::for_columns(case.columns.len()),
        ] {
            stage.decompress(&bitmaps, how)?;
            ensure!(stage.words(all.len())? == all, "{how:?} of {rows} rows");
            stage.unite(case.columns.len(), chunks_of, reduction)?;
            ensure!(stage.words(union.len())? == union, "{reduction:?} of {} columns", case.columns.len());
        }
    }
    for stripe in [1, 129, 400] {
        let mut striped = Vec::new();
        stage.unite_in_stripes(&bitmaps, stripe, Reduction::IdealHybrid, Some(&mut striped))?;
        ensure!(striped == union, "in stripes of {stripe} chunks");
    }
    Ok(())
}

/// Checks unions of random columns on a device.
///
/// # Errors
/// A difference from the oracle, or an error of the device.
pub fn bitmaps<A: Accelerator>(device: &A, seed: u64, rounds: usize, most: usize) -> Result<()> {
    let rng = &mut Rng::new(seed);
    for _ in 0..rounds {
        let case = Case::of_any_size(rng, most);
        let shape = [(1, 1), (1, 32), (2, 8), (3, 5), (4, 64), (8, 2), (32, 32)][rng.below(7)];
        unions(&case, &mut UnionStage::new(device.queue()?), shape)?;
    }
    Ok(())
}

/// Decodes a case by every step of the ladder, and compares each output with the case.
///
/// # Errors
/// A difference, or an error of the device.
pub fn ladder<A: Accelerator>(stage: &mut LadderStage<A>, case: &fsst::Case, name: &str) -> Result<()> {
    for step in Step::ALL {
        stage.load(&case.codes(), step)?;
        stage.decode()?;
        let (text, offsets) = stage.download()?;
        let differs = text.iter().zip(&case.text).position(|(have, want)| have != want);
        ensure!((differs, text.len()) == (None, case.text.len()), "{name}, {step:?}: bytes at {differs:?}");
        ensure!(step == Step::Stretches || offsets == case.offsets, "{name}, {step:?}: offsets");
    }
    Ok(())
}

/// Decodes random strings of several shapes by every step of the ladder.
///
/// # Errors
/// A difference from the rule, or an error of the device.
pub fn strings<A: Accelerator>(device: &A, seed: u64, rounds: usize) -> Result<()> {
    let mut stage = LadderStage::new(device.queue()?);
    fsst::cases(&mut Rng::new(seed), rounds, |case, name| ladder(&mut stage, case, name))
}

/// Runs the rounds of [`twigs::suite`], and compares the paper's kernel in the rounds whose twigs have
/// structure only.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn twigs<A: Accelerator>(device: &A, seed: u64, rounds: usize, sizes: (usize, usize)) -> Result<()> {
    twigs::suite_and(device, seed, rounds, sizes, |round| {
        if round.has_values { Ok(()) } else { seed_twigs(device, round) }
    })
}

fn seed_twigs<A: Accelerator>(device: &A, round: &twigs::Round<'_>) -> Result<()> {
    let mut queries = SeedQueries::default();
    for (path, ..) in round.twigs {
        queries.add(&Twig::parse(path)?)?;
    }
    queries.fill();
    let mut events = queries.encoder();
    for text in round.texts {
        twigs::tell(text, round.is_json, &mut events)?;
        ensure!(events.finish(), "too deep: {text}");
    }
    for (queues, one) in [(1, true), (3, false)] {
        let mut stage = SeedStage::new(device, &queries, queues)?;
        let found = stage.run(&events.events, &events.documents, one)?;
        let nodes = queries.personalities.len();
        for (number, text) in round.texts.iter().enumerate() {
            for ((path, _, twig), root) in round.twigs.iter().zip(&queries.roots) {
                let is_match = round.want.contains(&(number as u32, *twig));
                let said = found[number * nodes + root] == 1;
                ensure!(said == is_match, "the paper's kernel differs: {path}\n{text}");
            }
        }
    }
    Ok(())
}

impl Evaluator for YFilter {
    type Run<'a> = Runner<'a>;

    fn add(&mut self, twig: &Twig) {
        self.add(twig);
    }

    fn run(&self) -> Runner<'_> {
        self.runner()
    }

    fn reset(run: &mut Runner<'_>) {
        run.reset();
    }

    fn matches(run: &mut Runner<'_>) -> Vec<usize> {
        run.matches().collect()
    }
}
