//! Compares the rivals with the oracles on a CUDA device, on a machine without Rust. Exits with 1 at the
//! first difference.

use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use warpath_rivals::check;
use warpath_rivals::ladder::LadderStage;
use warpath_tests::fsst;
use warpath_tests::random::Rng;

/// Compare the rivals with the oracles on a CUDA device.
#[derive(Parser)]
struct Cli {
    /// The CUDA device
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    cuda: usize,

    /// Only this many rounds of small cases: for compute-sanitizer
    #[arg(long, value_name = "ROUNDS")]
    rounds: Option<usize>,
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    work().with_context(|| name.to_owned())?;
    println!("ok  {name:<60} {:8.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let cuda = warpath_rivals::cuda(cli.cuda)?;
    if let Some(rounds) = cli.rounds {
        step("unions", || check::bitmaps(&cuda, 1, rounds, 20_000))?;
        step("the ladder", || check::strings(&cuda, 1, rounds))?;
        return step("the paper's kernel of twigs", || check::twigs(&cuda, 1, rounds, (60, 20)));
    }
    step("unions", || {
        check::bitmaps(&cuda, 1, 100, 20_000)?;
        check::bitmaps(&cuda, 2, 2, 2_000_000)
    })?;
    step("the ladder", || {
        check::strings(&cuda, 1, 300)?;
        let mut rng = Rng::new(5);
        let table = fsst::table(&mut rng, 250, 8);
        let case = fsst::Case::random(&mut rng, table, 3_000_000, 40, 20);
        check::ladder(&mut LadderStage::new(warpath_rivals::cuda(cli.cuda)?), &case, "three million")
    })?;
    step("the paper's kernel of twigs", || {
        check::twigs(&cuda, 1, 40, (60, 40))?;
        check::twigs(&cuda, 2, 4, (300, 1000))?;
        check::twigs(&cuda, 3, 4, (3000, 10))
    })?;
    println!("all equal");
    Ok(())
}
