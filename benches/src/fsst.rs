//! Times string columns on a device: decoding by Warpath's kernels and on the CPU's cores; patterns over
//! codes; and a copy kernel. Each time is also shown as a fraction of the copy's. The program is `bench
//! fsst`.
//!
//! Columns and results are resident in device memory. Kernels are timed by events, the CPU by the wall clock.
//! Rates are of output, in 10⁹ bytes a second. The output of each way is compared with the strings before its
//! time is shown. The first run is not counted.

use anyhow::{Result, bail, ensure};
use std::time::Instant;
use warpath::Error;
use warpath_device::cuda::Cuda;
use warpath_device::{Accelerator as _, DeviceCodes, FsstMatchStage, FsstStage};
use warpath_store::fsst::{CodeAutomaton, Codes, Pattern, StringColumn, StringKind};

use crate::generate::columns::{self, Strings};
use crate::harness::machine;
use crate::harness::timing::Loop;

/// The arguments.
#[derive(clap::Args)]
pub struct Args {
    /// Columns: urls, names, records, random, equal
    #[arg(default_values = ["urls", "names", "records", "random", "equal"])]
    data: Vec<String>,

    /// The CUDA device
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    cuda: usize,

    /// Number of URLs; other columns have as many strings as give about the same number of bytes
    #[arg(long, default_value_t = 10_000_000)]
    strings: u64,

    /// Runs of each; the first is dropped
    #[arg(long, default_value_t = 11)]
    runs: usize,
}

fn make(name: &str, urls: u64) -> Result<Strings> {
    let make = match name {
        "urls" => return Ok(columns::urls(urls, 1)),
        "names" => columns::names,
        "records" => columns::records,
        "random" => columns::random,
        "equal" => columns::equal,
        _ => bail!("there is no column {name:?}"),
    };
    let mean = |strings: Strings| strings.values.len() as f64 / 1000.0;
    let count = urls as f64 * mean(columns::urls(1000, 1)) / mean(make(1000, 1)).max(1.0);
    Ok(make(count as u64, 1))
}

/// A column that is measured.
pub struct Column<'a> {
    /// The device.
    pub cuda: &'a Cuda,
    /// The strings.
    pub strings: &'a Strings,
    /// Their codes.
    pub codes: Codes<'a>,
    /// The counted runs.
    runs: usize,
    /// The milliseconds of a copy of as many bytes.
    copy: f64,
}

impl Column<'_> {
    /// Prints a time, with its rate and the times of kernels.
    pub fn show(&self, what: &str, milliseconds: f64, kernels: &str) {
        let bytes = self.strings.values.len() as f64;
        let rate = bytes / milliseconds / 1e6;
        let part = 100.0 * rate / (2.0 * bytes / self.copy / 1e6);
        println!(
            "  {what:44} {milliseconds:9.3} ms, {rate:7.1} GB/s, {part:5.1} % of what the copy moves{kernels}"
        );
    }

    /// The median milliseconds of a stage's work without the first run, and the times of its kernels if they
    /// are several.
    ///
    /// # Errors
    /// Fails with an error of `work`, or of the device.
    pub fn time<S>(
        &self,
        stage: &mut S,
        device: impl Fn(&S) -> &Cuda,
        mut work: impl FnMut(&mut S) -> Result<(), Error>,
    ) -> Result<(f64, String)> {
        let kernels = Loop::new(1, self.runs).kernels(stage, device, &mut work)?;
        let each = if kernels.each().count() > 1 { format!(" ({})", kernels.last()) } else { String::new() };
        Ok((kernels.total(), each))
    }
}

/// Measures other ways of decoding.
pub type More<'a> = &'a dyn Fn(&Column<'_>) -> Result<()>;

/// Measures columns by Warpath and by more ways, on the device that `open` opens.
///
/// # Errors
/// Arguments that mean nothing, and the first error or wrong result.
pub fn run(cli: &Args, open: fn(usize) -> Result<Cuda, Error>, more: More<'_>) -> Result<()> {
    ensure!(cli.runs > 1, "--runs: the first is dropped");
    println!("{}, {}", machine::describe(), machine::now());
    let cuda = open(cli.cuda)?;
    for name in &cli.data {
        bench(cli, &cuda, more, name, &make(name, cli.strings)?)?;
    }
    Ok(())
}

/// Measures one column.
fn bench(cli: &Args, cuda: &Cuda, more: More<'_>, name: &str, strings: &Strings) -> Result<()> {
    let Strings { values, offsets } = strings;
    let start = Instant::now();
    let column = StringColumn::compress(StringKind::Binary, values, offsets, None)?;
    let compressed = start.elapsed().as_secs_f64();
    let codes = column.codes();
    let bytes = values.len() as f64;
    println!(
        "\n{name}: {} strings, {} bytes, {} codes, {:.3} to 1; trained and compressed on all cores in {compressed:.2} s, {:.2} GB/s",
        offsets.len() - 1,
        values.len(),
        codes.codes.len(),
        bytes / codes.codes.len() as f64,
        bytes / compressed / 1e9,
    );
    let copy = Loop::new(1, cli.runs - 1).copy(cuda, values)?;
    println!(
        "  {:44} {:9.3} ms, moves {:7.1} GB/s",
        "copy kernel, of as many bytes",
        copy,
        2.0 * bytes / copy / 1e6
    );
    let of = Column { cuda, strings, codes, runs: cli.runs - 1, copy };
    let text = Codes { offsets: &[], first_strings: &[], ..codes };
    let ways = [("splits, as one text", text), ("splits, and where strings begin", codes)];
    let mut stage = FsstStage::new(cuda.queue()?);
    let mut on_device = DeviceCodes::default();
    for (what, codes) in ways {
        on_device.load(stage.device(), &codes)?;
        let (milliseconds, kernels) =
            of.time(&mut stage, FsstStage::device, |stage| stage.decode(&on_device))?;
        ensure!(stage.fault()?.is_none(), "{what}: {:?}", stage.fault()?);
        let (made, places) = stage.download()?;
        ensure!(made == *values, "{what}: other bytes");
        ensure!(codes.offsets.is_empty() || places == *offsets, "{what}: strings elsewhere");
        of.show(what, milliseconds, &kernels);
    }
    more(&of)?;
    let (times, ()) = Loop::new(1, cli.runs.min(5) - 1).time(|| {
        ensure!(column.decode()?.values == *values, "the CPU: other bytes");
        Ok(())
    })?;
    of.show(&format!("CPU, {} threads, strings", rayon::current_num_threads()), times.median() * 1e3, "");
    if name == "urls" {
        patterns(&of, &column)?;
    }
    Ok(())
}

/// Measures patterns over codes, on the device and on the CPU. Rates are of uncompressed strings.
fn patterns(of: &Column<'_>, column: &StringColumn) -> Result<()> {
    let mut stage = FsstMatchStage::new(of.cuda.queue()?);
    let mut on_device = DeviceCodes::default();
    on_device.load(stage.device(), &column.codes())?;
    let one = column.get(0)?.unwrap_or_default();
    let asked = [
        ("equal to the first", Pattern::Equals(one.clone())),
        ("starts_with its first 12 bytes", Pattern::StartsWith(one[..one.len().min(12)].to_vec())),
        ("contains `page=`", Pattern::Contains(b"page=".to_vec())),
        ("LIKE '%example%id=%'", Pattern::like("%example%id=%", None)?),
    ];
    for (what, pattern) in asked {
        let automaton = CodeAutomaton::new(&pattern, column.table())?;
        let (milliseconds, _) =
            of.time(&mut stage, FsstMatchStage::device, |stage| stage.matches(&automaton, &on_device))?;
        ensure!(stage.fault()?.is_none(), "{what}: a fault");
        let have = column.without_nulls(stage.download()?);
        let start = Instant::now();
        let want = column.matches(&pattern)?;
        let cpu = start.elapsed().as_secs_f64() * 1e3;
        ensure!(have == want, "{what}: other strings");
        let bytes = column.bytes() as f64;
        println!(
            "  {what:44} {milliseconds:9.3} ms, {:7.1} GB/s of strings; CPU {cpu:.1} ms; {} match",
            bytes / milliseconds / 1e6,
            have.count(),
        );
    }
    Ok(())
}
