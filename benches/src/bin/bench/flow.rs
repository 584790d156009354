//! Times the way from host memory and from files to matches and columns on the host, and the copy alone in
//! the same run.
//!
//! An engine is made once, and runs once before it is timed: `warpath query --stats` shows the set-up.
//!
//! * With `--copy`, the CUDA devices also read the file's bytes from pinned memory, with the kernels and
//!   without.
//! * With `--packed`, they also read packed text from pinned memory, with the kernels and without.
//! * With `--resident`, an index is made and kept, and evaluated repeatedly.
//! * With `--index`, results come by an index file.
//! * With `--columns`, files (and pinned memory) also become Arrow's typed columns: `$.user.lang` as strings,
//!   and the same with `$.user.followers_count` as integers.
//! * With `--on-device`, the columns of files also stay on the CUDA device, until the end of each run.
//! * With `--column`, the columns are the named ones.
//!
//! Counts are checked against the CPU's, and also the rows, values and bytes of columns, and the sums of
//! integers. Medians, and the fastest and slowest run; rates are of input, in 10⁹ bytes a second.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use warpath::columns::{Column, ColumnBatch, ColumnType, DeviceBatch, Schema, Values};
use warpath::{Answers, DeviceChoice, Engine, IndexFile, Program, Query, TextForm, Want};
use warpath_answer::answer::Answer;
use warpath_answer::backend::{Backend, Buffer, Worker};
use warpath_benches::harness::timing::{Loop, Times};
use warpath_cpu::Cpu;
use warpath_device::Together;
use warpath_device::cuda::Cuda;
use warpath_device::{Accelerator, Pipeline};
use warpath_store::packed::PackedText;

#[derive(clap::Args)]
pub struct Args {
    /// The CUDA devices of these numbers, or `cpu`.
    #[arg(long, default_value = "0")]
    device: String,
    #[arg(long, default_value_t = 10)]
    runs: usize,
    #[arg(long)]
    workers: Option<usize>,
    #[arg(long)]
    partition_size: Option<usize>,
    /// Also from pinned memory.
    #[arg(long)]
    copy: bool,
    /// Also packed, from pinned memory.
    #[arg(long)]
    packed: bool,
    /// Bytes of a packed text.
    #[arg(long, requires = "packed", default_value_t = 16 << 20)]
    packed_size: usize,
    /// Also to the default columns.
    #[arg(long)]
    columns: bool,
    /// Also to a column of this type (bool, int64, float64, utf8 or json); several go together.
    #[arg(long, value_name = "TYPE=PATH")]
    column: Vec<String>,
    /// The columns also stay on the device.
    #[arg(long)]
    on_device: bool,
    /// Also from an index that is resident, with the levels that the paths read.
    #[arg(long)]
    resident: bool,
    /// Also by the index of the input, which `warpath store index` made.
    #[arg(long)]
    index: bool,
    file: PathBuf,
    #[arg(default_value = LANG)]
    paths: Vec<String>,
}

const LANG: &str = "$.user.lang";
const FOLLOWERS: &str = "$.user.followers_count";

impl Args {
    /// The CUDA devices' numbers.
    fn numbers(&self) -> Result<Vec<usize>> {
        Ok(self.device.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }

    /// The requested sets of columns.
    fn column_sets(&self) -> Result<Vec<ColumnSet>> {
        let mut sets = Vec::new();
        if self.columns {
            sets.push(ColumnSet::new(&[(ColumnType::Utf8, LANG)])?);
            sets.push(ColumnSet::new(&[(ColumnType::Utf8, LANG), (ColumnType::Int64, FOLLOWERS)])?);
        }
        if !self.column.is_empty() {
            let column = |column: &'_ String| -> Result<(ColumnType, String)> {
                let (name, path) = column.split_once('=').context("a column is TYPE=PATH")?;
                let known = TYPES.iter().find(|(known, _)| *known == name);
                let (_, values) = known.with_context(|| format!("there is no type `{name}`"))?;
                Ok((values.clone(), path.to_owned()))
            };
            let columns = self.column.iter().map(column).collect::<Result<Vec<_>>>()?;
            let columns: Vec<_> =
                columns.iter().map(|(values, path)| (values.clone(), path.as_str())).collect();
            sets.push(ColumnSet::new(&columns)?);
        }
        Ok(sets)
    }
}

const TYPES: [(&str, ColumnType); 5] = [
    ("bool", ColumnType::Boolean),
    ("int64", ColumnType::Int64),
    ("float64", ColumnType::Float64),
    ("utf8", ColumnType::Utf8),
    ("json", ColumnType::Json),
];

/// Columns that are made together.
struct ColumnSet {
    name: String,
    schema: Schema,
}

impl ColumnSet {
    fn new(columns: &[(ColumnType, &str)]) -> Result<Self> {
        let name = |(values, path): &(ColumnType, &str)| {
            let known = TYPES.iter().find(|(_, known)| known == values).map_or("", |(name, _)| *name);
            format!("{path} as {known}")
        };
        let names: Vec<String> = columns.iter().map(name).collect();
        let compile = |(values, path): &(ColumnType, &str)| Ok((Query::compile(path)?, values.clone()));
        let columns = columns.iter().map(compile).collect::<Result<Vec<_>>>()?;
        Ok(Self { name: names.join(", "), schema: Schema::new(&columns)? })
    }

    fn want(&self) -> Want {
        Want::default().columns(self.schema.width())
    }
}

/// The sums that are compared with the CPU's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    rows: usize,
    values: usize,
    bytes: usize,
    sum: i64,
}

impl Tally {
    fn add(&mut self, batch: &ColumnBatch) {
        self.rows += batch.rows;
        for Column { items, .. } in &batch.columns {
            self.values += items.len - items.nulls();
            match &items.values {
                Values::Utf8(_, bytes) => self.bytes += bytes.len(),
                Values::Int64(values) => {
                    self.sum = values.iter().fold(self.sum, |sum, value| sum.wrapping_add(*value));
                }
                _ => {}
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.values += other.values;
        self.bytes += other.bytes;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// The CPU's sums of a text.
fn tally(text: &[u8], set: &ColumnSet) -> Result<Tally> {
    let mut tally = Tally::default();
    for piece in Cpu.answer(text, set.schema.program(), set.want())?.pieces {
        tally.add(&piece.columns);
    }
    Ok(tally)
}

pub fn run(args: &Args) -> Result<()> {
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
    let mut builder = Engine::builder().device(device).find_indexes(false);
    if let Some(workers) = args.workers {
        builder = builder.workers(workers);
    }
    if let Some(size) = args.partition_size {
        builder = builder.partition_size(size);
    }
    let engine = builder.build()?;
    let flow = |from: &str, ask: &dyn Fn(Want) -> Result<Answers<'static>>| -> Result<()> {
        let text = Want::default().text(TextForm::Json);
        let matches = Want::default().matches(true);
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
    if args.index {
        flow("by an index file", &|want| {
            let index = IndexFile::open(IndexFile::path_of(&args.file))?;
            let input = engine.open(&args.file)?.with_index(&index)?;
            Ok(input.answers(program.clone(), want))
        })?;
    }
    if args.resident {
        // The index that a run made is dropped after the clock has stopped.
        let (mut times, mut drops) = (Vec::new(), Vec::new());
        for _ in 0..=args.runs {
            let since = Instant::now();
            let index = engine.open(&args.file)?.index(program.levels())?;
            times.push(since.elapsed().as_secs_f64());
            let since = Instant::now();
            drop(index);
            drops.push(since.elapsed().as_secs_f64());
        }
        let first = times.remove(0) * 1e3;
        show("file in the page cache -> resident index", &Flow { wall: Times::new(times), cpu: None }, bytes);
        let back = Times::new(drops).median() * 1e3;
        println!("    the first {first:.2} ms, {:.2} GB/s; dropped in {back:.2} ms", bytes / first / 1e6);
        let index = engine.open(&args.file)?.index(program.levels())?;
        let of_index = index.device().map_or_else(|| index.memory() - index.text_bytes(), |(_, bytes)| bytes);
        println!("    {} bytes of text, {of_index} of index", index.text_bytes());
        // The first matches of each partition may copy its text from the device.
        let since = Instant::now();
        for batch in index.input(&engine).answers(program.clone(), Want::default().matches(true)) {
            batch?;
        }
        println!("    the first matches took {:.2} ms", since.elapsed().as_secs_f64() * 1e3);
        let mut rest = &text[..];
        for batch in index.input(&engine).answers(program.clone(), Want::default().matches(true)) {
            let after = rest.strip_prefix(batch?.text());
            rest = after.context("the text of the resident index is not that of the file")?;
        }
        ensure!(rest.is_empty(), "the resident index lacks the last {} bytes", rest.len());
        flow("resident index", &|want| Ok(index.input(&engine).answers(program.clone(), want)))?;
    }
    let sets = args.column_sets()?;
    for set in &sets {
        let want = tally(&text, set)?;
        let arrow = set.schema.to_arrow();
        let times = time(args.runs, || {
            let mut found = Tally::default();
            for batch in engine.open(&args.file)?.columns(&set.schema) {
                let batch = batch?;
                found.add(&batch);
                drop(batch.into_arrow(&arrow)?);
            }
            ensure!(found == want, "{found:?}, the CPU has {want:?}");
            Ok(())
        })?;
        show(&format!("file in the page cache -> {}", set.name), &times, bytes);
        if args.on_device {
            let left = || -> Result<Vec<DeviceBatch>> {
                Ok(engine.open(&args.file)?.device_columns(&set.schema).collect::<Result<_, _>>()?)
            };
            let times = time(args.runs, || {
                let rows: usize = left()?.iter().map(DeviceBatch::num_rows).sum();
                ensure!(rows == want.rows, "{rows} rows, the CPU has {}", want.rows);
                Ok(())
            })?;
            let mut kept = left()?.into_iter();
            for on_host in engine.open(&args.file)?.record_batches(&set.schema) {
                let kept = kept.next().context("too few batches on the device")?;
                ensure!(kept.to_host()? == on_host?, "columns on the device differ from those on the host");
            }
            ensure!(kept.next().is_none(), "too many batches on the device");
            show(&format!("file in the page cache -> on the device, {}", set.name), &times, bytes);
        }
    }
    if args.copy {
        pinned(args, &text, &program, want, &sets)?;
    }
    if args.packed && args.device != "cpu" {
        packed_pinned(args, &text, &program, want)?;
    }
    Ok(())
}

/// Devices that work together, and texts in pinned memory for them.
struct Pinned {
    queues: Vec<Cuda>,
    pipeline: Together,
    threads: usize,
    parts: Vec<Part>,
}

/// A text in pinned memory. If it is packed, its codes are there.
struct Part {
    buffer: Buffer,
    len: usize,
    packed: Option<PackedText<'static>>,
}

impl Part {
    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// Takes whole lines of about `size` bytes from the start of a text. `None` after the last.
fn next_lines<'a>(rest: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let head = &rest[..size.min(rest.len())];
    let len = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    let (part, others) = rest.split_at(len);
    *rest = others;
    (!part.is_empty()).then_some(part)
}

impl Pinned {
    /// Copies a text into pinned memory, in parts of whole lines. With `packed`, parts have this size, and
    /// their codes are copied.
    fn new(args: &Args, text: &[u8], packed: Option<usize>) -> Result<Self> {
        let (mut queues, mut devices): (Vec<_>, Vec<Arc<dyn Backend>>) = Default::default();
        let (mut size, mut threads) = (usize::MAX, 0);
        for number in args.numbers()? {
            let pipeline = Pipeline::new(Cuda::new(number)?)?;
            let (its_size, workers) = pipeline.buffered_partitions();
            (size, threads) = (size.min(its_size), threads + workers);
            queues.push(pipeline.device().queue()?);
            devices.push(Arc::new(pipeline));
        }
        let pipeline = Together::new(devices)?;
        let (mut parts, mut rest) = (Vec::new(), text);
        let size = packed.or(args.partition_size).unwrap_or(size);
        while let Some(lines) = next_lines(&mut rest, size) {
            let packed = packed.map(|_| PackedText::pack(lines)).transpose()?;
            let bytes = packed.as_ref().map_or(lines, PackedText::codes);
            let mut buffer = pipeline.buffer(bytes.len())?;
            buffer[..bytes.len()].copy_from_slice(bytes);
            parts.push(Part { buffer, len: bytes.len(), packed });
        }
        Ok(Self { queues, pipeline, threads: args.workers.unwrap_or(threads), parts })
    }

    /// Has each thread's worker take the next part until there is none. Returns the sum of what `work`
    /// returns.
    fn deal<T: Default + Send>(
        &self,
        work: impl Fn(&mut dyn Worker, &Part) -> Result<T> + Sync,
        add: impl Fn(&mut T, T) + Sync,
    ) -> Result<T> {
        let (next, all) = (AtomicUsize::new(0), Mutex::new(T::default()));
        let run = |number: usize| -> Result<()> {
            let mut worker = self.pipeline.worker(number)?;
            let mut its = T::default();
            while let Some(part) = self.parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                add(&mut its, work(&mut *worker, part)?);
            }
            add(&mut all.lock().expect("no thread panics"), its);
            Ok(())
        };
        thread::scope(|scope| {
            let run = &run;
            let all: Vec<_> = (0..self.threads).map(|number| scope.spawn(move || run(number))).collect();
            all.into_iter().try_for_each(|thread| thread.join().expect("a thread that does not panic"))
        })?;
        Ok(all.into_inner().expect("no thread panics"))
    }

    /// Times matches, and the copies alone. Rates are of `bytes` of text.
    fn time(
        &self,
        runs: usize,
        (name, copies): (&str, &str),
        (want, bytes): (u64, f64),
        count: impl Fn(&mut dyn Worker, &Part) -> Result<Answer> + Sync,
    ) -> Result<()> {
        let flow = time(runs, || {
            let found = self.deal(
                |worker, part| {
                    let answer = count(worker, part)?;
                    Ok(answer.pieces.iter().flat_map(|piece| &piece.counts).sum::<u64>())
                },
                |sum, count| *sum += count,
            )?;
            ensure!(found == want, "{found} matches, the CPU has {want}");
            Ok(())
        })?;
        show(name, &flow, bytes);
        let most = self.parts.iter().map(|part| part.len).max().unwrap_or(0);
        let mut arrays =
            self.queues.iter().map(|queue| queue.alloc::<u8>(most)).collect::<Result<Vec<_>, _>>()?;
        let alone = time(runs, || {
            for (number, part) in self.parts.iter().enumerate() {
                let device = number % self.queues.len();
                // SAFETY: the parts live and stay as they are until the queues have been waited for.
                unsafe { self.queues[device].upload_later(&mut arrays[device], 0, part.bytes()) }?;
            }
            self.queues.iter().try_for_each(Accelerator::wait)?;
            Ok(())
        })?;
        show(copies, &alone, bytes);
        println!(
            "    matches take {:.3} times as long as the copies",
            flow.wall.median() / alone.wall.median()
        );
        Ok(())
    }
}

/// Times pinned memory: with all kernels, and the copies alone, with the same number of threads.
fn pinned(args: &Args, text: &[u8], program: &Program, want: u64, sets: &[ColumnSet]) -> Result<()> {
    let pinned = Pinned::new(args, text, None)?;
    let bytes = text.len() as f64;
    for set in sets {
        let (want, arrow) = (tally(text, set)?, set.schema.to_arrow());
        let times = time(args.runs, || {
            let made = pinned.deal(
                |worker, part| {
                    let mut tally = Tally::default();
                    for piece in worker.answer(part.bytes(), set.schema.program(), set.want())?.pieces {
                        tally.add(&piece.columns);
                        drop(piece.columns.into_arrow(&arrow)?);
                    }
                    Ok(tally)
                },
                |all: &mut Tally, its| all.merge(&its),
            )?;
            ensure!(made == want, "{made:?}, the CPU has {want:?}");
            Ok(())
        })?;
        show(&format!("page-locked memory -> {}", set.name), &times, bytes);
    }
    let names = ("page-locked memory -> matches", "the copies alone");
    pinned.time(args.runs, names, (want, bytes), |worker, part| {
        Ok(worker.answer(part.bytes(), program, Want::default().matches(true))?)
    })
}

/// Times packed text in pinned memory: with all kernels, and the copies alone. Rates are of unpacked text.
fn packed_pinned(args: &Args, text: &[u8], program: &Program, want: u64) -> Result<()> {
    let (bytes, start) = (text.len() as f64, Instant::now());
    let pinned = Pinned::new(args, text, Some(args.packed_size))?;
    let codes: usize = pinned.parts.iter().map(|part| part.len).sum();
    println!(
        "packed to {codes} codes, {:.3} to 1, in {} texts, in {:.2} s",
        bytes / codes as f64,
        pinned.parts.len(),
        start.elapsed().as_secs_f64()
    );
    let names = ("packed, page-locked memory -> matches", "packed, the copies alone");
    pinned.time(args.runs, names, (want, bytes), |worker, part| {
        let packed = part.packed.as_ref().context("a part that is not packed")?;
        let wanted = Want::default().matches(true);
        Ok(worker.answer_packed(&packed.with_codes(part.bytes())?, program, wanted, false)?)
    })
}

/// The times of some runs.
struct Flow {
    wall: Times,
    /// The mean processor seconds of all threads in a run. `None` if the system does not report them.
    cpu: Option<f64>,
}

/// The processor seconds of all threads of this process. Linux reports them in hundredths.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name may contain any byte. After it, the twelfth and thirteenth numbers are the times.
    let mut numbers = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || numbers.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// The times of some runs, after one that is not counted.
fn time(runs: usize, mut run: impl FnMut() -> Result<()>) -> Result<Flow> {
    run()?;
    let before = processor_seconds();
    let (wall, ()) = Loop::new(0, runs).time(run)?;
    let cpu = processor_seconds().and_then(|after| Some((after - before?) / runs.max(1) as f64));
    Ok(Flow { wall, cpu })
}

fn show(name: &str, Flow { wall, cpu }: &Flow, bytes: f64) {
    let [median, least, most] = [wall.median(), wall.least(), wall.most()].map(|seconds| seconds * 1e3);
    let cpu = cpu.map_or_else(String::new, |cpu| format!(", {:.0} ms of processors", cpu * 1e3));
    println!("{name:<80} {median:8.2} ms ({least:.2} to {most:.2}) {:8.2} GB/s{cpu}", bytes / median / 1e6);
}
