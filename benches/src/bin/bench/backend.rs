//! Times the CPU backend on text in memory, on one thread: `bench backend FILE PROGRAM...`, where spaces
//! separate the paths of one program. With `--strict` the check of records by all of RFC 8259 is timed, too.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result};
use warpath::{Program, Query, Want};
use warpath_answer::backend::Backend;
use warpath_benches::harness::timing::Loop;
use warpath_cpu::Cpu;
use warpath_cpu::strict;

#[derive(clap::Args)]
pub struct Args {
    /// The text; its last, cut line is left out.
    file: PathBuf,
    /// Programs, each of one path or of several with spaces between them.
    #[arg(required_unless_present = "strict")]
    programs: Vec<String>,
    /// MiB of the file to use: 16 stay in a last-level cache.
    #[arg(long, default_value_t = 16)]
    mib: u64,
    /// Rounds; the fastest and the median are shown.
    #[arg(long, default_value_t = 41)]
    rounds: usize,
    /// Also the matches, not counts alone.
    #[arg(long)]
    matches: bool,
    /// Time the check of strict mode by itself.
    #[arg(long)]
    strict: bool,
}

/// The rates of a function as text: the fastest, and the median.
fn rates(rounds: usize, bytes: usize, run: impl FnMut() -> Result<()>) -> Result<String> {
    let (times, ()) = Loop::new(0, rounds).time(run)?;
    let rate = |time: f64| bytes as f64 / time / 1e9;
    Ok(format!("{:.2} GB/s (median {:.2})", rate(times.least()), rate(times.median())))
}

pub fn run(args: &Args) -> Result<()> {
    let mut text = Vec::new();
    File::open(&args.file)?.take(args.mib << 20).read_to_end(&mut text)?;
    let end = text.iter().rposition(|byte| *byte == b'\n').context("no line ends")? + 1;
    text.truncate(end);
    println!("{}, {} bytes", Cpu.name(), text.len());
    for paths in &args.programs {
        let queries = paths.split(' ').map(Query::compile).collect::<Result<Vec<_>, _>>()?;
        let program = Program::new(&queries)?;
        let want = Want::default().matches(args.matches);
        let mut counts = Vec::new();
        let rates = rates(args.rounds, text.len(), || {
            let answer = Cpu.answer(&text, &program, want)?;
            counts = (0..queries.len())
                .map(|path| answer.pieces.iter().map(|piece| piece.counts[path]).sum::<u64>())
                .collect();
            Ok(())
        })?;
        println!("{paths}: {rates}, matches {counts:?}");
    }
    if args.strict {
        let mut faults = 0;
        let rates = rates(args.rounds, text.len(), || {
            faults = strict::faults(&text).len();
            Ok(())
        })?;
        println!("strict: {rates}, {faults} faulty");
    }
    Ok(())
}
