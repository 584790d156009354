//! Times the way from host memory and from files to matches on the host, beside the copy alone in the same run.
//!
//! ```text
//! bench-flow [--device cpu|N,N...] [--runs N] [--workers N] [--partition-size BYTES] [--copy] FILE PATH...
//! ```
//!
//! An engine is made once, and runs once before it is timed: set-up is what `warpath query --stats` shows. With `--copy`, the
//! CUDA devices also take the file's bytes out of page-locked memory, with the kernels and without. Counts are checked
//! against the CPU's. Medians, and the fastest and slowest run; rates are of input, in 10⁹ bytes a second.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use warpath::answer::Want;
use warpath::backend::{Backend, Buffer, Together};
use warpath::cuda::Cuda;
use warpath::device::{Accelerator, Pipeline};
use warpath::{Cpu, DeviceChoice, Engine, Program, Query};

/// Times the way from host memory and from files to matches on the host.
#[derive(Parser)]
struct Args {
    /// The CUDA devices of these numbers, or `cpu`.
    #[arg(long, default_value = "0")]
    device: String,
    #[arg(long, default_value_t = 10)]
    runs: usize,
    #[arg(long)]
    workers: Option<usize>,
    #[arg(long)]
    partition_size: Option<usize>,
    /// Also from page-locked memory.
    #[arg(long)]
    copy: bool,
    file: PathBuf,
    #[arg(required = true)]
    paths: Vec<String>,
}

impl Args {
    /// The CUDA devices' numbers.
    fn numbers(&self) -> Result<Vec<usize>> {
        Ok(self.device.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let queries = args.paths.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(&queries)?;
    let text = std::fs::read(&args.file).with_context(|| args.file.display().to_string())?;
    let bytes = text.len() as f64;
    let answer = Cpu.answer(&text, &program, Want::default())?;
    let want: u64 = answer.pieces.iter().flat_map(|piece| &piece.counts).sum();

    let device = match args.device.as_str() {
        "cpu" => DeviceChoice::Cpu,
        _ => DeviceChoice::CudaList(args.numbers()?),
    };
    let mut builder = Engine::builder().device(device);
    if let Some(workers) = args.workers {
        builder = builder.workers(workers);
    }
    if let Some(size) = args.partition_size {
        builder = builder.partition_size(size);
    }
    let engine = builder.build()?;
    let matches = |want: Want| -> Result<u64> {
        let mut found = 0;
        for batch in engine.open(&args.file)?.answers(program.clone(), want) {
            let batch = batch?;
            found += (0..program.paths()).map(|path| batch.count(path)).sum::<u64>();
        }
        Ok(found)
    };
    for (name, wanted) in
        [("counts", Want::default()), ("matches", Want { matches: true, ..Want::default() })]
    {
        let times = time(args.runs, || {
            let found = matches(wanted)?;
            ensure!(found == want, "{found} matches, the CPU has {want}");
            Ok(())
        })?;
        show(&format!("file in the page cache -> {name}"), &times, bytes);
    }
    if args.copy {
        pinned(&args, &text, &program, want)?;
    }
    Ok(())
}

/// From page-locked memory: with all kernels, and the copies alone, by as many threads.
fn pinned(args: &Args, text: &[u8], program: &Program, want: u64) -> Result<()> {
    let mut queues = Vec::new();
    let mut devices: Vec<Arc<dyn Backend>> = Vec::new();
    for number in args.numbers()? {
        let pipeline = Pipeline::new(Cuda::new(number)?)?;
        queues.push(pipeline.device().queue()?);
        devices.push(Arc::new(pipeline));
    }
    let pipeline = Together::new(devices)?;
    let size = args.partition_size.unwrap_or(pipeline.partition_size());
    let threads = args.workers.unwrap_or(pipeline.workers(size));
    let mut parts: Vec<(Buffer, usize)> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let head = &rest[..size.min(rest.len())];
        let len = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
        let mut buffer = pipeline.buffer(len)?;
        buffer[..len].copy_from_slice(&rest[..len]);
        parts.push((buffer, len));
        rest = &rest[len..];
    }
    let bytes = text.len() as f64;
    let (next, found) = (AtomicUsize::new(0), AtomicU64::new(0));
    // Each thread takes the next part until there is none.
    let deal = |work: &mut dyn FnMut(&[u8]) -> Result<()>| -> Result<()> {
        while let Some((buffer, len)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(&buffer[..*len])?;
        }
        Ok(())
    };
    let on_threads = |thread: &(dyn Fn(usize) -> Result<()> + Sync)| -> Result<()> {
        next.store(0, Ordering::Relaxed);
        found.store(0, Ordering::Relaxed);
        thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|number| scope.spawn(move || thread(number))).collect();
            all.into_iter().try_for_each(|thread| thread.join().expect("a thread that does not panic"))
        })
    };
    let times = time(args.runs, || {
        on_threads(&|number| {
            let mut worker = pipeline.worker(number)?;
            deal(&mut |part| {
                let answer = worker.answer(part, program, Want { matches: true, ..Want::default() })?;
                let count = answer.pieces.iter().flat_map(|piece| &piece.counts).sum::<u64>();
                found.fetch_add(count, Ordering::Relaxed);
                Ok(())
            })
        })?;
        let found = found.load(Ordering::Relaxed);
        ensure!(found == want, "{found} matches, the CPU has {want}");
        Ok(())
    })?;
    show("page-locked memory -> matches", &times, bytes);
    let flow = times[times.len() / 2];

    let mut arrays = queues.iter().map(|queue| queue.alloc::<u8>(size)).collect::<Result<Vec<_>, _>>()?;
    let times = time(args.runs, || {
        for (number, (buffer, len)) in parts.iter().enumerate() {
            let device = number % queues.len();
            // SAFETY: the parts live and stay as they are until the queues have been waited for.
            unsafe { queues[device].upload_later(&mut arrays[device], 0, &buffer[..*len]) }?;
        }
        queues.iter().try_for_each(Accelerator::wait)?;
        Ok(())
    })?;
    show("the copies alone", &times, bytes);
    println!("    matches take {:.3} times as long as the copies", flow / times[times.len() / 2]);
    Ok(())
}

/// The times of some runs, in order, of which the first is not counted.
fn time(runs: usize, mut run: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(runs);
    for number in 0..=runs.max(1) {
        let start = Instant::now();
        run()?;
        if number > 0 {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn show(name: &str, times: &[f64], bytes: f64) {
    let median = times[times.len() / 2];
    println!(
        "{name:<40} {:8.2} ms ({:.2} to {:.2}) {:8.2} GB/s",
        median * 1e3,
        times[0] * 1e3,
        times[times.len() - 1] * 1e3,
        bytes / median / 1e9
    );
}
