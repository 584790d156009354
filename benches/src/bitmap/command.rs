//! Times the union of random columns of a bitmap index, by every method, over the four data sets of Nelson et
//! al. (2019).
//!
//! Every result is compared with that of the rows before it is timed. As in the paper there are six runs, of
//! which the first is dropped. The mean of the others is shown, with the least. The reduction in pairs runs
//! on each number of threads over the most columns, and over fewer columns on the most threads.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use warpath::bitmap::{BitmapEngine, Plan};
use warpath::{DeviceChoice, IndexFile};
use warpath_core::wah::WahBuf;
use warpath_device::cuda::{Cuda, Settings};

use super::data::{DataSet, ratio};
use super::method::{Candidate, Executor, mean_and_least, measure, name};
use super::record::{Data, Results, Times};
use super::workload::Workload;
use super::{cpu, gpu};
use crate::harness::machine;

/// The arguments.
#[derive(clap::Args)]
pub struct Args {
    /// The data sets
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["kdd", "bpa", "linkage", "zipf"])]
    data: Vec<DataSet>,

    /// Numbers of columns that are united
    #[arg(long, value_delimiter = ',', default_values_t = [4, 8, 16, 32, 64])]
    columns: Vec<usize>,

    /// Threads of the reduction in pairs (`bench-rivals`) or, with --range, of the engine [default: 1, 2, 4,
    /// 8, 16, as far as there are cores]
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,

    /// The part of the rows that is made: at most 1
    #[arg(long, default_value_t = 1.0)]
    scale: f64,

    /// Seed of the rows and of the choice of columns
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Runs of each method; the first is dropped
    #[arg(long, default_value_t = 6)]
    runs: usize,

    /// Also the methods of a CUDA device, by its number
    #[arg(long, value_name = "NUMBER")]
    cuda: Option<usize>,

    /// Compile kernels to at most this many registers a thread
    #[arg(long, requires = "cuda")]
    registers: Option<u32>,

    /// Count by an index file in place of the data sets: each run opens it, plans and counts anew
    #[arg(long, num_args = 2, value_names = ["FILE", "EXPRESSION"])]
    range: Vec<String>,

    /// Keep the index, the plan and the engine's own state, which on a device includes the bitmaps
    #[arg(long, requires = "range")]
    resident: bool,

    /// Only these methods, by their names
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    only: Vec<String>,

    /// Write all times to this file, for `bench bitmap-plots`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Methods that are measured beside Warpath's: of a device if there is one. The number is that of threads for
/// each method that runs on several numbers of them.
pub type More<'a> = &'a dyn Fn(&[usize], Option<&Rc<Cuda>>) -> Vec<Candidate>;

/// Measures Warpath, the libraries, and more methods.
///
/// # Errors
/// Arguments that mean nothing, and the first error or wrong result of a method.
pub fn run(cli: &Args, settings: Settings, more: More<'_>) -> Result<()> {
    ensure!(cli.scale > 0.0 && cli.scale <= 1.0, "--scale: {} is no part of the rows", cli.scale);
    ensure!(cli.runs > 0, "--runs: none");
    ensure!(cli.columns.iter().all(|columns| *columns > 0), "--columns: a union of none");
    ensure!(cli.threads.iter().all(|threads| *threads > 0), "--threads: none");
    if let [file, expression] = &cli.range[..] {
        return range(cli, file, expression);
    }
    let settings = Settings { registers: cli.registers, ..settings };
    let cuda = cli.cuda.map(|number| Cuda::with_settings(number, settings)).transpose()?.map(Rc::new);
    let mut results = Results { machine: machine::describe(), date: machine::now(), ..Results::default() };
    println!("{}", results.machine);
    for set in &cli.data {
        bench(cli, cuda.as_ref(), more, *set, &mut results)?;
        // Saved after each set, so that a run that ends early keeps its results.
        if let Some(file) = &cli.json {
            results.save(file)?;
        }
    }
    Ok(())
}

/// Times the count of rows for which an expression over the columns of an index is true, by N threads or on a
/// device. The first run includes the cost that an engine has once: pinned memory and modules. If it is
/// resident, the first run alone opens, plans and checks the index.
fn range(cli: &Args, file: &str, expression: &str) -> Result<()> {
    let mut engine = BitmapEngine::new(&cli.cuda.map_or(DeviceChoice::Cpu, DeviceChoice::Cuda))?;
    if let [threads] = cli.threads[..] {
        engine = engine.with_threads(threads);
    }
    let open = || {
        let index = IndexFile::open(IndexFile::path_of(file))?;
        let index = index.bins().context("the index has no columns")?.clone();
        let plan = Plan::of(&index, &expression.parse()?, false)?;
        anyhow::Ok((index, plan))
    };
    let (mut times, mut kept) = (Vec::new(), None);
    for run in 0..cli.runs {
        let start = Instant::now();
        let (index, plan) = match kept.take() {
            Some(kept) => kept,
            None => open()?,
        };
        let matching = engine.answer(&index, &plan, false)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if run == 0 {
            println!(
                "{}\n{expression}: {} of {} rows, {} of them checked by their values, on {}{}",
                machine::describe(),
                matching.count,
                index.rows(),
                matching.checked,
                engine.name(),
                if cli.resident { ", resident" } else { "" },
            );
        }
        if cli.resident {
            kept = Some((index, plan));
        } else {
            // A process with one query has nothing to free before it.
            engine.forget();
        }
    }
    let (mean, least) = mean_and_least(&times);
    println!("first {:.3} ms, then mean {mean:.3}, least {least:.3}", times[0]);
    Ok(())
}

/// The methods for a workload. If `is_most` is false, methods run on the most threads only.
fn candidates(cli: &Args, cuda: Option<&Rc<Cuda>>, more: More<'_>, is_most: bool) -> Result<Vec<Candidate>> {
    let mut threads = cli.threads.clone();
    if threads.is_empty() {
        threads = vec![1, 2, 4, 8, 16];
        threads.retain(|threads| *threads <= cpu::all_cores());
    }
    threads.sort_unstable();
    let first = if is_most { 0 } else { threads.len() - 1 };
    let mut all = more(&threads[first..], cuda);
    all.extend(cpu::all());
    all.extend(cuda.map(gpu::all).unwrap_or_default());
    for asked in &cli.only {
        let names: Vec<&str> = all.iter().map(|candidate| candidate.name).collect();
        ensure!(
            names.contains(&asked.as_str()),
            "--only: no method {asked:?}; there are {}",
            names.join(", ")
        );
    }
    all.retain(|candidate| cli.only.is_empty() || cli.only.iter().any(|name| name == candidate.name));
    Ok(all)
}

fn bench(
    cli: &Args,
    cuda: Option<&Rc<Cuda>>,
    more: More<'_>,
    set: DataSet,
    results: &mut Results,
) -> Result<()> {
    let start = Instant::now();
    let rows = ((set.rows() as f64 * cli.scale) as u64).max(1);
    let table = set.make(rows, cli.seed);
    let made = start.elapsed().as_secs_f64();
    let index = table.columns();
    let data = Data {
        name: set.name().into(),
        rows,
        attributes: table.attributes.len(),
        columns: index.len(),
        empty: index.iter().filter(|column| column.as_wah().count() == 0).count(),
        ratio: ratio(&index),
        seed: cli.seed,
    };
    println!(
        "\n{}: {rows} rows, {} attributes, {} columns, {} of them without a row; compressed to {:.3} % ({:.1} MB); \
         made in {made:.1} s, indexed in {:.1} s",
        data.name,
        data.attributes,
        data.columns,
        data.empty,
        100.0 * data.ratio,
        index.iter().map(WahBuf::words).map(<[u64]>::len).sum::<usize>() as f64 * 8e-6,
        start.elapsed().as_secs_f64() - made,
    );
    results.data.push(data);
    let most = cli.columns.iter().copied().max().unwrap_or_default();
    for columns in &cli.columns {
        let workload = Workload::random(&table, &index, *columns, cli.seed);
        let want = workload.answer();
        let count: u64 = want.iter().map(|chunk| u64::from(chunk.count_ones())).sum();
        let bytes = workload.bytes();
        println!(
            "\n  {} columns, {:.1} MB compressed, {:.1} % of the rows\n  {:<32} {:>11} {:>11} {:>9} {:>9}",
            workload.chosen.len(),
            bytes as f64 / 1e6,
            100.0 * count as f64 / rows as f64,
            "method",
            "mean, ms",
            "least, ms",
            "speed-up",
            "GB/s",
        );
        // Speed-ups are over the baseline on the most threads, which is the last of the baselines, if there
        // is one.
        let mut all: Vec<Times> = Vec::new();
        for candidate in candidates(cli, cuda, more, *columns == most)? {
            let runs_ms = measure(&candidate, &workload, &want, cli.runs)?;
            all.push(Times {
                data: set.name().into(),
                columns: workload.chosen.len(),
                bytes,
                count,
                method: candidate.name.into(),
                family: candidate.family,
                place: candidate.place,
                runs_ms,
            });
        }
        let is_base =
            |times: &&Times| times.method == name::PAIRWISE && matches!(times.place, Executor::Threads(_));
        let base = all.iter().rfind(is_base).map(Times::mean);
        for times in &all {
            let speedup = base.map(|base| format!("{:.2}×", base / times.mean()));
            println!(
                "  {:<32} {:>11.4} {:>11.4} {:>9} {:>9.2}",
                times.label(),
                times.mean(),
                times.least(),
                speedup.unwrap_or_default(),
                bytes as f64 / times.mean() / 1e6,
            );
        }
        results.times.extend(all);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;

    fn parse(text: &str) -> Args {
        let matches = Args::augment_args(clap::Command::new("bitmap")).get_matches_from(text.split(' '));
        clap::FromArgMatches::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn a_small_run_measures_everything() {
        let cli = parse("bitmap --scale 0.0001 --columns 4,64 --threads 1,2 --runs 2 --data zipf");
        // A method on each number of threads.
        let pairwise = |threads: &[usize], _: Option<&Rc<Cuda>>| {
            let one = |threads: &usize| Candidate { name: name::PAIRWISE, ..cpu::warpath(*threads) };
            threads.iter().map(one).collect()
        };
        let mut results = Results::default();
        bench(&cli, None, &pairwise, DataSet::Zipf, &mut results).unwrap();
        assert_eq!((results.data.len(), results.data[0].rows), (1, 3200));
        let own = cpu::all().len();
        let counts =
            [4, 64].map(|columns| results.times.iter().filter(|times| times.columns == columns).count());
        assert_eq!(counts, [1 + own, 2 + own]);
        let cli = parse("bitmap --scale 0.0001 --only x");
        let error = bench(&cli, None, &pairwise, DataSet::Zipf, &mut results).err();
        assert!(error.is_some_and(|error| error.to_string().contains("no method \"x\"")));
    }
}
