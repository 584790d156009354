//! Times the way from host memory and from files to matches on the host, beside the copy alone in the same run.
//!
//! ```text
//! bench-flow [--device cpu|N,N...] [--runs N] [--workers N] [--partition-size BYTES] [--copy]
//!            [--resident] [--index FILE.wpi] FILE PATH...
//! ```
//!
//! An engine is made once, and runs once before it is timed: set-up is what `warpath query --stats` shows. With `--copy`, the
//! CUDA devices also take the file's bytes out of page-locked memory, with the kernels and without; with `--resident`, an index is
//! made that stays, and asked; with `--index`, answers come by an index file. Counts are checked against the CPU's. Medians, and the fastest and slowest run; rates are of input, in 10⁹ bytes a second.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use warpath::answer::{TextForm, Want};
use warpath::backend::{Backend, Buffer, Together};
use warpath::cuda::Cuda;
use warpath::device::{Accelerator, Pipeline};
use warpath::{Answers, Cpu, DeviceChoice, Engine, IndexFile, Program, Query};

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
    /// Also from an index that is resident, with the levels that the paths read.
    #[arg(long)]
    resident: bool,
    /// Also by an index file of the input.
    #[arg(long)]
    index: Option<PathBuf>,
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
    let flow = |from: &str, ask: &dyn Fn(Want) -> Result<Answers>| -> Result<()> {
        let text = Want { text: Some(TextForm::Json), ..Want::default() };
        let matches = Want { matches: true, ..Want::default() };
        for (name, wanted) in [("counts", Want::default()), ("matches", matches), ("text", text)] {
            let times = time(args.runs, || {
                let mut found = 0;
                for batch in ask(wanted)? {
                    let batch = batch?;
                    found += (0..program.paths()).map(|path| batch.count(path)).sum::<u64>();
                }
                ensure!(found == want, "{found} matches, the CPU has {want}");
                Ok(())
            })?;
            show(&format!("{from} -> {name}"), &times, bytes);
        }
        Ok(())
    };
    flow("file in the page cache", &|want| Ok(engine.open(&args.file)?.answers(program.clone(), want)))?;
    if let Some(index) = &args.index {
        flow("by an index file", &|want| {
            let input = engine.open(&args.file)?.with_index(&IndexFile::open(index)?, false)?;
            Ok(input.answers(program.clone(), want))
        })?;
    }
    if args.resident {
        let times = time(args.runs, || {
            engine.open(&args.file)?.index(program.levels())?;
            Ok(())
        })?;
        show("file in the page cache -> resident index", &times, bytes);
        let index = engine.open(&args.file)?.index(program.levels())?;
        println!("    {} bytes of text, {} of index", index.text_bytes(), index.index_bytes());
        flow("resident index", &|want| Ok(index.answers(program.clone(), want)?))?;
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
    let flow = times.median();

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
    println!("    matches take {:.3} times as long as the copies", flow / times.median());
    Ok(())
}

/// The times of some runs.
struct Times {
    /// Seconds that passed, in order.
    wall: Vec<f64>,
    /// Seconds of processors, of all threads, on average; where the system says so.
    cpu: Option<f64>,
}

impl Times {
    fn median(&self) -> f64 {
        self.wall[self.wall.len() / 2]
    }
}

/// Seconds that all threads of this process have been at work. Linux says it in hundredths.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the program's name, which may hold anything, the twelfth and the thirteenth number.
    let mut numbers = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || numbers.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// The times of some runs, after one that is not counted.
fn time(runs: usize, mut run: impl FnMut() -> Result<()>) -> Result<Times> {
    run()?;
    let mut wall = Vec::with_capacity(runs);
    let before = processor_seconds();
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        run()?;
        wall.push(start.elapsed().as_secs_f64());
    }
    let spent = |after: f64| Some((after - before?) / wall.len() as f64);
    let cpu = processor_seconds().and_then(spent);
    wall.sort_by(f64::total_cmp);
    Ok(Times { wall, cpu })
}

fn show(name: &str, times: &Times, bytes: f64) {
    let (median, wall) = (times.median(), &times.wall);
    let cpu = times.cpu.map_or_else(String::new, |cpu| format!(", {:.0} ms of processors", cpu * 1e3));
    println!(
        "{name:<40} {:8.2} ms ({:.2} to {:.2}) {:8.2} GB/s{cpu}",
        median * 1e3,
        wall[0] * 1e3,
        wall[wall.len() - 1] * 1e3,
        bytes / median / 1e9
    );
}
