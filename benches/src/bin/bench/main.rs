//! Measures Warpath beside its peers, checks every result, and draws plots of the measurements; see
//! `benches/README.md`.

mod backend;
mod embed;
#[cfg(feature = "libraries")]
mod find;
mod flow;
mod fsst_cpu;
mod kernels;
mod leaves;
mod load;
mod start;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Parser, Subcommand};
use warpath_benches::bitmap::record::Results;
use warpath_benches::generate::Shape;
use warpath_benches::harness::plan::{self, Extent, Suite};
use warpath_benches::harness::session::{Session, Settings};
use warpath_benches::harness::values::{self, Columns};
use warpath_benches::harness::{copy, data, process, report};
use warpath_benches::{bitmap, fsst, twig};

/// Measure Warpath beside its peers, check every result, and draw the figures.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure on the CPU, beside the peers that benches/peers.sh installs
    Cpu(Measure),
    /// Measure on a GPU, with `warpath` from the folder of this program
    Gpu(Measure),
    /// Make tables and plots of the result files
    Plot {
        /// Folder of the result files, of tables and of plots
        #[arg(long, default_value = "docs/bench")]
        folder: PathBuf,
    },
    /// Make tables and plots of what `bench bitmap` measured
    BitmapPlots {
        /// Its result files; the results of a later one replace those of an earlier one
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Folder for tables and plots
        #[arg(short = 'o', long, default_value = "docs/bench/bitmap")]
        folder: PathBuf,
    },
    /// Make tables and plots of what `bench twig` measured
    TwigPlots {
        /// Its result files; a later line replaces an earlier one of the same case
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Folder for tables and plots
        #[arg(short = 'o', long, default_value = "docs/bench/twig")]
        folder: PathBuf,
    },
    /// Time the CPU backend on text in memory, on one thread
    Backend(backend::Args),
    /// Time every kernel by events, over text that is resident on the device
    Kernels(kernels::Args),
    /// Time the way from host memory and from files to matches and columns on the host
    Flow(flow::Args),
    /// Time questions about records whose leaves are resident on a device
    Leaves(leaves::Args),
    /// Time the steps that bring a file to a device and keep a copy in host memory
    Load(load::Args),
    /// Time the steps between the start of a process and its first result from a CUDA device
    Start(start::Args),
    /// Time the union of random columns of a bitmap index, by every method
    Bitmap(bitmap::command::Args),
    /// Time standing queries
    Twig(twig::command::Args),
    /// Time string columns on a device
    Fsst(fsst::Args),
    /// Time the codec of strings on the CPU
    FsstCpu(fsst_cpu::Args),
    /// Time what a program that embeds the library pays
    Embed(embed::Args),
    /// Time calls over one record in memory, beside other libraries
    #[cfg(feature = "libraries")]
    Find(find::Args),
    /// Write a file of data
    #[command(hide = true)]
    MakeData { shape: Shape, path: PathBuf, bytes: u64 },
    /// Print the expected results of queries over a file
    #[command(hide = true)]
    Reference { path: PathBuf, queries: String },
    /// Print the digest of the rows that a command writes in Arrow's stream format
    #[command(hide = true)]
    ArrowDigest {
        /// Seconds after which the command is ended
        limit: u64,
        #[arg(required = true, last = true)]
        command: Vec<String>,
    },
}

#[derive(clap::Args)]
struct Measure {
    /// Folder for results, tables and plots
    #[arg(long, default_value = "docs/bench")]
    folder: PathBuf,

    /// Folder for data, which is kept for the next time: up to 9 GB, and 8 GB more with --large
    #[arg(long, default_value = "target/bench-data")]
    data: PathBuf,

    /// Folder in which benches/peers.sh installed peers
    #[arg(long, default_value = "target/peers")]
    peers: PathBuf,

    /// Measure only these charts; the others keep their results. The beginning of names before a hyphen
    /// means all of these charts: lengths
    #[arg(long, value_name = "CHART", value_delimiter = ',')]
    only: Vec<String>,

    /// Measure a file of 8 GB as well
    #[arg(long)]
    large: bool,

    /// Measure files of a tenth of the size: to see that everything works
    #[arg(long, conflicts_with = "large")]
    quick: bool,

    /// The revision that is measured [default: what git says]
    #[arg(long, value_name = "TEXT")]
    revision: Option<String>,

    /// The most runs of a tool in a case
    #[arg(long, default_value_t = 10)]
    runs: usize,

    /// Seconds after which a slow peer has run often enough in a case; it runs twice at least
    #[arg(long, default_value_t = 1.5)]
    budget: f64,

    /// Seconds after which a run is ended
    #[arg(long, default_value_t = 60)]
    limit: u64,
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Task::Cpu(measure) => run(Suite::Cpu, &measure),
        Task::Gpu(measure) => run(Suite::Gpu, &measure),
        Task::Plot { folder } => plot(&folder),
        Task::BitmapPlots { files, folder } => {
            for file in bitmap::plot::write(&Results::load(&files)?, &folder)? {
                println!("{}", folder.join(file).display());
            }
            Ok(())
        }
        Task::TwigPlots { files, folder } => {
            for file in twig::plot::write(&twig::record::load(&files)?, &folder)? {
                println!("{}", folder.join(file).display());
            }
            Ok(())
        }
        Task::Backend(args) => backend::run(&args),
        Task::Kernels(args) => kernels::run(&args),
        Task::Flow(args) => flow::run(&args),
        Task::Leaves(args) => leaves::run(&args),
        Task::Load(args) => load::run(&args),
        Task::Start(args) => start::run(&args),
        Task::Bitmap(args) => bitmap::command::run(&args, copy::settings(), &|_, _| Vec::new()),
        Task::Twig(args) => twig::command::run(&args, copy::cuda, &|_, _| Ok(())),
        Task::Fsst(args) => fsst::run(&args, copy::cuda, &|_| Ok(())),
        Task::FsstCpu(args) => fsst_cpu::run(&args),
        Task::Embed(args) => embed::run(&args),
        #[cfg(feature = "libraries")]
        Task::Find(args) => find::run(&args),
        Task::MakeData { shape, path, bytes } => data::make(shape, &path, bytes),
        Task::Reference { path, queries } => {
            let queries: Vec<Columns> = serde_json::from_str(&queries)?;
            println!("{}", serde_json::to_string(&values::reference(&path, &queries)?)?);
            Ok(())
        }
        Task::ArrowDigest { limit, command } => {
            let limit = Duration::from_secs(limit);
            let run = process::read(&command, limit, |stdout| values::arrow_digest(stdout));
            let run = run.map_err(|failure| anyhow!("{}: {failure}", command[0]))?;
            println!("{}", serde_json::to_string(&run.output)?);
            Ok(())
        }
    }
}

fn run(suite: Suite, measure: &Measure) -> Result<()> {
    let start = Instant::now();
    build()?;
    let extent = match (measure.quick, measure.large) {
        (true, _) => Extent::Quick,
        (false, false) => Extent::Full,
        (false, true) => Extent::Large,
    };
    let mut charts = plan::charts(suite, extent);
    let names: Vec<&str> = charts.iter().map(|chart| chart.id).collect();
    let mut only = Vec::new();
    for id in &measure.only {
        let chosen = chosen(&names, id);
        ensure!(!chosen.is_empty(), "no chart {id:?}; there are {}", names.join(", "));
        only.extend(chosen);
    }
    charts.retain(|chart| measure.only.is_empty() || only.contains(&chart.id));
    let mut session = Session::new(Settings {
        data: measure.data.clone(),
        peers: measure.peers.clone(),
        results: measure.folder.join(format!("{}.jsonl", suite.name())),
        runs: measure.runs.max(1),
        budget: Duration::try_from_secs_f64(measure.budget)?,
        limit: Duration::from_secs(measure.limit),
        revision: measure.revision.clone().or_else(revision),
    })?;
    eprintln!("{}", session.machine());
    for chart in &charts {
        let start = Instant::now();
        session.measure(chart)?;
        eprintln!("--- {}: {:.0} s", chart.id, start.elapsed().as_secs_f64());
    }
    eprintln!("--- measured in {:.0} s", start.elapsed().as_secs_f64());
    plot(&measure.folder)
}

/// The chart of this name or, if there is none, those whose names begin with it and a hyphen.
fn chosen<'a>(names: &[&'a str], id: &str) -> Vec<&'a str> {
    let begins = |name: &str| name.strip_prefix(id).is_some_and(|rest| rest.starts_with('-'));
    match names.iter().find(|name| **name == id) {
        Some(name) => vec![*name],
        None => names.iter().copied().filter(|name| begins(name)).collect(),
    }
}

/// Rebuilds the measured programs if cargo started this program. Cargo itself builds this package alone.
fn build() -> Result<()> {
    let Some(cargo) = std::env::var_os("CARGO") else { return Ok(()) };
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--bins", "-p", "warpath-cli", "-p", "warpath-benches"]);
    let status = command.status().context("cargo")?;
    ensure!(status.success(), "cargo build: {status}");
    Ok(())
}

/// The revision of the sources, if the working directory is in their repository. A `+` marks local changes.
fn revision() -> Option<String> {
    let output = Command::new("git").args(["describe", "--always", "--dirty=+"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}

fn plot(folder: &Path) -> Result<()> {
    for file in report::write(folder)? {
        println!("{}", folder.join(file).display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn charts_are_chosen_by_their_names_or_the_beginning_of_these() {
        let names = ["sizes", "sizes-more", "lengths-path", "lengths-rows", "lengthsy"];
        assert_eq!(chosen(&names, "sizes"), ["sizes"]);
        assert_eq!(chosen(&names, "lengths"), ["lengths-path", "lengths-rows"]);
        assert_eq!(chosen(&names, "lengths-rows"), ["lengths-rows"]);
        assert!(chosen(&names, "length").is_empty());
    }
}
