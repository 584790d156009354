//! Times the parts of the way from the start of a process to its first result from a CUDA device.
//!
//! Each row is of processes of its own, which do only the work that the row says comes before: this program
//! starts itself again, once a run. Medians, and the fastest and slowest run, in milliseconds. With a file, a
//! query is also counted over it (`$.user.lang`), by a CUDA device, in each way to get memory, and by the
//! CPU. With the folder of `warpath-cuda-builder cubins`, those are loaded, too.
//!
//! The driver keeps the code that it made of PTX (`~/.nv/ComputeCache`). Rows that say "compiled" have this
//! cache switched off.

mod call;
mod device;
mod host;
mod whole;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use warpath_benches::harness::timing::Times;

#[derive(clap::Args)]
pub struct Args {
    /// The CUDA device of this number.
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// Processes a row.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only the rows under headings that contain this.
    #[arg(long)]
    only: Option<String>,
    /// The folder that `warpath-cuda-builder cubins` wrote to.
    #[arg(long)]
    cubins: Option<PathBuf>,
    /// The part that this process times. The program sets it when it starts itself.
    #[arg(long, hide = true)]
    part: Option<String>,
    /// Compares its counts with the CPU's.
    #[arg(long, hide = true)]
    check: bool,
    file: Option<PathBuf>,
}

/// The work that a process of its own times.
struct Part {
    name: &'static str,
    about: &'static str,
    /// Environment variables.
    with: &'static [(&'static str, &'static str)],
    run: fn(&Args, &mut Clock) -> Result<()>,
}

const COMPILED: &[(&str, &str)] = &[("CUDA_CACHE_DISABLE", "1")];

/// All parts that need neither a file nor cubins.
fn parts() -> Vec<Part> {
    let part = |name, about, run| Part { name, about, with: &[], run };
    let mut parts = vec![
        part(
            "set-up",
            "driver, context, modules that the driver has in its cache, a first launch",
            device::set_up,
        ),
        part("modules at once", "the same modules, a thread each", device::modules_at_once),
        Part {
            with: COMPILED,
            ..part(
                "modules, compiled",
                "the same, and none in the cache: what a new machine waits for",
                device::modules_in_turn,
            )
        },
        Part {
            with: COMPILED,
            ..part("modules at once, compiled", "the same, a thread each", device::modules_at_once)
        },
    ];
    parts.extend(host::parts());
    parts.extend(device::memory_parts());
    parts
}

/// A part that prints the name of the device.
fn name_part() -> Part {
    let run = |args: &Args, _: &mut Clock| {
        let device = warpath::cuda::devices()?.into_iter().nth(args.device);
        let device = device.with_context(|| format!("no CUDA device {}", args.device))?;
        println!("cuda:{} ({})", device.number, device.name);
        Ok(())
    };
    Part { name: "name", about: "the device's name", with: &[], run }
}

/// A clock that measures successive times.
struct Clock {
    since: Instant,
    rows: Vec<(String, f64)>,
}

impl Clock {
    fn start() -> Self {
        Self { since: Instant::now(), rows: Vec::new() }
    }

    /// The time since the last row, as a row.
    fn row(&mut self, name: impl Into<String>) {
        self.rows.push((name.into(), self.since.elapsed().as_secs_f64() * 1e3));
        self.since = Instant::now();
    }

    /// Adds a row that was measured elsewhere.
    fn add(&mut self, name: impl Into<String>, milliseconds: f64) {
        self.rows.push((name.into(), milliseconds));
    }

    /// Makes the context of the device, which is not timed.
    fn context(&mut self, args: &Args) -> Result<call::Context> {
        let context = call::Context::make(args.device)?;
        self.skip();
        Ok(context)
    }

    /// Forgets the time since the last row.
    fn skip(&mut self) {
        self.since = Instant::now();
    }
}

pub fn run(args: &Args) -> Result<()> {
    if let Some(name) = &args.part {
        let mut all = parts();
        all.extend(whole::parts());
        all.extend([device::cubins_part(), name_part()]);
        let part =
            all.into_iter().find(|part| part.name == *name).with_context(|| format!("no part `{name}`"))?;
        let mut clock = Clock::start();
        (part.run)(args, &mut clock)?;
        for (name, milliseconds) in clock.rows {
            println!("{name}\t{milliseconds}");
        }
        return Ok(());
    }
    ensure!(args.runs > 0, "a median needs a run");
    // This process leaves the driver alone: a device that somebody has open is opened sooner by others.
    let name = child(&std::env::current_exe()?, args, &name_part(), false)?;
    println!("{}, {} runs a row, milliseconds: median (least to most)", name.trim_end(), args.runs);
    let mut all = parts();
    if args.cubins.is_some() {
        all.push(device::cubins_part());
    }
    if args.file.is_some() {
        all.extend(whole::parts());
    }
    // Rows that compile their kernels take seconds a run, so they come last.
    all.sort_by_key(|part| !part.with.is_empty());
    all.retain(|part| args.only.as_ref().is_none_or(|word| part.name.contains(word.as_str())));
    for part in all {
        println!("\n{}: {}", part.name, part.about);
        match times(args, &part) {
            Ok(rows) => rows.iter().for_each(|(name, times)| show(name, times)),
            // The failure of one way does not affect the others.
            Err(error) => println!("    failed: {error:#}"),
        }
    }
    Ok(())
}

/// The rows of a part, in order, each with the times of all runs.
fn times(args: &Args, part: &Part) -> Result<Vec<(String, Vec<f64>)>> {
    let program = std::env::current_exe()?;
    let mut order = Vec::new();
    let mut rows: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    // One run more than is counted. It brings files and libraries into memory, and PTX into the driver's
    // cache; and its result is checked.
    for run in 0..=args.runs {
        let started = Instant::now();
        let printed = child(&program, args, part, run == 0)?;
        let whole = started.elapsed().as_secs_f64() * 1e3;
        if run == 0 {
            continue;
        }
        let mut add = |name: &str, milliseconds: f64| {
            if !order.iter().any(|other| other == name) {
                order.push(name.to_owned());
            }
            rows.entry(name.to_owned()).or_default().push(milliseconds);
        };
        for line in printed.lines() {
            let (name, milliseconds) = line.split_once('\t').context("a row of a name and a number")?;
            add(name, milliseconds.parse()?);
        }
        add("the whole process, to its end", whole);
    }
    Ok(order.into_iter().map(|name| (name.clone(), rows.remove(&name).unwrap_or_default())).collect())
}

/// Runs a part in a process of its own, and returns its output.
fn child(program: &Path, args: &Args, part: &Part, check: bool) -> Result<String> {
    let mut command = Command::new(program);
    command.args(["start", "--part", part.name, "--device"]).arg(args.device.to_string());
    command.args(args.cubins.iter().flat_map(|folder| [Path::new("--cubins"), folder])).args(&args.file);
    command.args(check.then_some("--check"));
    command.envs(part.with.iter().copied()).stdin(Stdio::null());
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", output.status, said.trim_end());
    Ok(String::from_utf8(output.stdout)?)
}

fn show(name: &str, times: &[f64]) {
    let times = Times::new(times.to_vec());
    let (median, least, most) = (times.median(), times.least(), times.most());
    println!("    {name:<52} {median:10.3} ({least:.3} to {most:.3})");
}
