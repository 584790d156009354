//! Times every kernel by events, over text that is resident on the device, and a copy kernel in the same run.
//!
//! ```text
//! bench-gpu [--device N] [--runs N] [--levels N] [--registers N] [--no-results] FILE PATH...
//! bench-gpu [--device N] [--runs N] [--registers N] --strict FILE...
//! bench-gpu [--device N] [--runs N] [--registers N] --trees
//!           [--longest BYTES] [--piece BYTES] [--brackets N] [FILE...]
//! ```
//!
//! With `--no-results`, the kernels that make text and columns of matches are left out. With `--trees`, trees
//! are timed in place of queries: of files, and of one line of `--brackets` brackets. Lines longer than
//! `--longest` bytes are cut into pieces of `--piece` bytes. With `--strict`, the checks of all of RFC 8259
//! and UTF-8 are timed: index, trees and strict checks.
//!
//! Counts are checked against the CPU's before anything is printed. Rates are of input, in 10⁹ bytes a
//! second; a copy moves 2 bytes for each that is copied. Medians of all runs but the first three.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use warpath::columns::{ColumnType, Schema};
use warpath::{Program, Query, TextForm, Want};
use warpath_answer::answer::Answer;
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::cuda::{Cuda, KernelTime, Settings};
use warpath_device::{Accelerator, Pipeline, TreeCut};
use warpath_rivals::copy::CopyStage;
use warpath_shared::kernel::{Copy16, Kernel as _};
use warpath_tests::random::Rng;
use warpath_tests::{oracle, trees};

/// Runs that warm caches and clocks, and are not counted.
const WARM_UP: usize = 3;

fn main() -> Result<()> {
    let (mut device, mut runs, mut levels, mut registers, mut rest) = (0, 20, None, None, Vec::new());
    let (mut results, mut of_strict, mut of_trees, mut brackets, mut cut) =
        (true, false, false, None, TreeCut::default());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || -> Result<usize> { Ok(args.next().context("a number")?.parse()?) };
        match arg.as_str() {
            "--device" => device = number()?,
            "--runs" => runs = number()?.max(1),
            "--registers" => registers = Some(number()? as u32),
            "--levels" => levels = Some(number()? as u32),
            "--no-results" => results = false,
            "--strict" => of_strict = true,
            "--trees" => of_trees = true,
            "--brackets" => brackets = Some(number()?),
            "--longest" => cut.longest = number()? as u32,
            "--piece" => cut.piece = number()? as u32,
            _ => rest.push(arg),
        }
    }
    let cuda = || Cuda::with_settings(device, Settings { registers, ..warpath_rivals::settings() });
    if of_strict {
        let pipeline = Pipeline::new(cuda()?)?;
        for file in &rest {
            let text = std::fs::read(file).with_context(|| file.clone())?;
            strict_times(&pipeline, file, &text, runs)?;
        }
        return Ok(());
    }
    if of_trees {
        let pipeline = Pipeline::new(cuda()?)?;
        for file in &rest {
            let text = std::fs::read(file).with_context(|| file.clone())?;
            tree_times(&pipeline, file, &text, runs, cut)?;
        }
        if let Some(count) = brackets {
            let text = trees::brackets(&mut Rng::new(1), count / 2);
            tree_times(&pipeline, &format!("{count} brackets"), &text, runs, cut)?;
        }
        return Ok(());
    }
    let [file, paths @ ..] = rest.as_slice() else { bail!("usage: bench-gpu FILE PATH...") };
    ensure!(!paths.is_empty(), "usage: bench-gpu FILE PATH...");
    let text = std::fs::read(file).with_context(|| file.clone())?;
    let bytes = text.len() as f64;

    let start = Instant::now();
    let cuda = cuda()?;
    // Waits for the context, and loads the copy kernel's module.
    cuda.prepare(Copy16::NAME)?;
    println!("{}: context and module in {:.0} ms", cuda.name(), start.elapsed().as_secs_f64() * 1e3);
    println!("{file}: {} bytes", text.len());
    let copy = copy_time(&cuda, &text, runs)?;
    let line = |name: &str, milliseconds, moved| print_line(name, milliseconds, moved, (bytes, copy));
    line("copy kernel", copy, 2.0 * bytes);

    let pipeline = Pipeline::new(cuda)?;
    pipeline.load(&text)?;
    let loaded = pipeline.device().free_memory()?;
    let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path)).collect::<Result<_, _>>()?;
    let together = Program::new(&queries)?;
    let levels = levels.unwrap_or(together.levels());

    // The index alone: by kernel, and from the first kernel's start to the last one's end.
    let mut totals = Vec::new();
    let mut each: Vec<Vec<KernelTime>> = Vec::new();
    for run in 0..runs + WARM_UP {
        pipeline.device().start_timeline();
        pipeline.index_resident(levels)?;
        let (times, total) = pipeline.device().take_timeline()?;
        if run >= WARM_UP {
            totals.push(total);
            each.push(times);
        }
    }
    let beyond = loaded.saturating_sub(pipeline.device().free_memory()?);
    println!(
        "device memory beyond the text, {levels} levels: {beyond} bytes, {:.3} of it",
        beyond as f64 / bytes
    );
    let written = (1.0 + levels as f64) / 8.0;
    for (i, kernel) in each[0].iter().enumerate() {
        let moved = match kernel.name {
            "structure_write" => bytes * (1.0 + written),
            _ => 0.0,
        };
        line(kernel.name, median(each.iter().map(|run| run[i].milliseconds)), moved);
    }
    let sum = median(each.iter().map(|run| run.iter().map(|kernel| kernel.milliseconds).sum()));
    line(&format!("index, {levels} levels: sum of kernels"), sum, bytes * (1.0 + written));
    line(
        &format!("index, {levels} levels: first start to last end"),
        median(totals),
        bytes * (1.0 + written),
    );

    // Queries: each path alone, then all together. The copy of the text is in the wall time, not in the
    // kernels'.
    let mut programs: Vec<(String, Program)> = Vec::new();
    for query in &queries {
        programs.push((query.text().into(), Program::new(std::slice::from_ref(query))?));
    }
    if queries.len() > 1 {
        programs.push((format!("{} paths together", queries.len()), together));
    }
    for (name, program) in &programs {
        let counts = |backend: &dyn Backend| -> Result<Vec<u64>> {
            let answer = backend.answer(&text, program, Want::default())?;
            let count = |path| answer.pieces.iter().map(|piece| piece.counts[path]).sum();
            Ok((0..program.paths()).map(count).collect())
        };
        let (got, want) = (counts(&pipeline)?, counts(&Cpu)?);
        ensure!(got == want, "{name}: {got:?} matches, the CPU has {want:?}");
        println!("{name}: {got:?} matches");
        let mut each: Vec<Vec<KernelTime>> = Vec::new();
        for run in 0..runs.min(7) + WARM_UP {
            pipeline.device().start_timeline();
            pipeline.answer(&text, program, Want::default().matches(true))?;
            let (times, _) = pipeline.device().take_timeline()?;
            if run >= WARM_UP {
                each.push(times);
            }
        }
        for (i, kernel) in each[0].iter().enumerate() {
            if ["query", "filter", "tape", "tree", "names", "count_scan", "slot_compact"]
                .iter()
                .any(|of| kernel.name.starts_with(of))
            {
                let time = median(each.iter().map(|run| run[i].milliseconds));
                println!(
                    "    {:<40} {time:9.3} ms {:9.0} GB/s of input",
                    kernel.name,
                    bytes / time as f64 / 1e6
                );
            }
        }
        if results {
            text_times(&pipeline, &text, program, runs.min(7), &line)?;
        }
    }
    for query in queries.iter().filter(|_| results) {
        column_times(&pipeline, &text, query, runs.min(7))?;
    }
    Ok(())
}

/// Prints a time with its rates: of input, and of the bytes that must at least be moved. The last figure is
/// the fraction of the copy's rate. `bytes` are those of the input, and `copy` is the time in which they are
/// copied.
fn print_line(name: &str, milliseconds: f32, moved: f64, (bytes, copy): (f64, f32)) {
    let rate = |bytes: f64| bytes / milliseconds as f64 / 1e6;
    println!(
        "{name:<44} {milliseconds:9.3} ms {:9.0} GB/s of input {:9.0} GB/s moved {:6.1} % of the copy's",
        rate(bytes),
        rate(moved),
        100.0 * rate(moved) / (2.0 * bytes / copy as f64 / 1e6),
    );
}

/// Times the kernels that make trees, and compares the trees with the oracle's. The text, the string bitmap
/// and the nodes must be moved; the bytes that each kernel moves are in its header.
fn tree_times(pipeline: &Pipeline<Cuda>, name: &str, text: &[u8], runs: usize, cut: TreeCut) -> Result<()> {
    let bytes = text.len() as f64;
    let got = pipeline.trees(text, cut)?;
    trees::compare(text, &got, &oracle::tape::trees(text))?;
    let containers = got.nodes.iter().filter(|node| node.is_container()).count() as f64;
    let nodes = got.nodes.len() as f64;
    println!("{name}: {nodes} values");
    let copy = copy_time(pipeline.device(), text, runs)?;
    let line = |name: &str, milliseconds, moved| {
        print_line(&format!("    {name}"), milliseconds, moved, (bytes, copy));
    };
    line("copy kernel", copy, 2.0 * bytes);
    pipeline.load(text)?;
    let mut each: Vec<Vec<KernelTime>> = Vec::new();
    for run in 0..runs + WARM_UP {
        pipeline.device().start_timeline();
        pipeline.trees_resident(cut)?;
        let (times, _) = pipeline.device().take_timeline()?;
        if run >= WARM_UP {
            each.push(times);
        }
    }
    let is_tree = |kernel: &KernelTime| kernel.name.starts_with("tape_");
    for (i, kernel) in each[0].iter().enumerate().filter(|(_, kernel)| is_tree(kernel)) {
        let moved = match kernel.name {
            "tape_words" => 1.875 * bytes,
            // A container has two brackets: one top for each, one offset where the container is closed, and
            // one top that is read.
            "tape_lines" | "tape_pieces" => 0.75 * bytes + 32.0 * containers,
            "tape_nodes" => 0.75 * bytes + 16.0 * nodes + 24.0 * containers,
            _ => 0.0,
        };
        line(kernel.name, median(each.iter().map(|run| run[i].milliseconds)), moved);
    }
    let sum = |run: &Vec<KernelTime>, of: &dyn Fn(&KernelTime) -> bool| -> f32 {
        run.iter().filter(|kernel| of(kernel)).map(|kernel| kernel.milliseconds).sum()
    };
    let least = 1.125 * bytes + 16.0 * nodes;
    line("trees without the index, sum of kernels", median(each.iter().map(|run| sum(run, &is_tree))), least);
    let all = median(each.iter().map(|run| sum(run, &|_| true)));
    line("trees with the index, sum of kernels", all, least + 1.125 * bytes);
    Ok(())
}

/// Times the kernels that check a text strictly, each and all, and holds their faults to the host's.
fn strict_times(pipeline: &Pipeline<Cuda>, name: &str, text: &[u8], runs: usize) -> Result<()> {
    let bytes = text.len() as f64;
    let faults = pipeline.strict_faults(text)?;
    ensure!(faults == warpath_cpu::strict::faults(text), "{name}: faults differ from the host's");
    println!("{name}: {} bytes, {} faulty lines", text.len(), faults.len());
    let copy = copy_time(pipeline.device(), text, runs)?;
    let line = |name: &str, milliseconds, moved| {
        print_line(&format!("    {name}"), milliseconds, moved, (bytes, copy));
    };
    line("copy kernel", copy, 2.0 * bytes);
    pipeline.load(text)?;
    let (mut each, mut totals): (Vec<Vec<KernelTime>>, Vec<f32>) = (Vec::new(), Vec::new());
    for run in 0..runs + WARM_UP {
        pipeline.device().start_timeline();
        pipeline.strict_resident()?;
        let (times, total) = pipeline.device().take_timeline()?;
        if run >= WARM_UP {
            each.push(times);
            totals.push(total);
        }
    }
    for (i, kernel) in each[0].iter().enumerate() {
        println!("        {:<40} {:9.3} ms", kernel.name, median(each.iter().map(|run| run[i].milliseconds)));
    }
    // The bytes that are read if no byte is read twice.
    let sum = |run: &Vec<KernelTime>| -> f32 { run.iter().map(|kernel| kernel.milliseconds).sum() };
    line("strict checks, sum of kernels", median(each.iter().map(sum)), bytes);
    line("strict checks, first start to last end", median(totals), bytes);
    Ok(())
}

/// Times the kernels that make typed columns of a query's values, and holds the columns to the CPU's.
fn column_times(pipeline: &Pipeline<Cuda>, text: &[u8], query: &Query, runs: usize) -> Result<()> {
    for kind in
        [ColumnType::Utf8, ColumnType::Json, ColumnType::Int64, ColumnType::Float64, ColumnType::Boolean]
    {
        let schema = Schema::new(&[(query.clone(), kind.clone())])?;
        let wanted = Want::default().columns(schema.width());
        let want = Cpu.answer(text, schema.program(), wanted)?;
        let mut each: Vec<Vec<KernelTime>> = Vec::new();
        for run in 0..runs + WARM_UP {
            pipeline.device().start_timeline();
            let got = pipeline.answer(text, schema.program(), wanted)?;
            let (times, _) = pipeline.device().take_timeline()?;
            let of = |answer: Answer| answer.pieces.into_iter().map(|piece| piece.columns);
            ensure!(
                of(got).eq(of(want.clone())),
                "{} as {kind:?}: columns differ from the CPU's",
                query.text()
            );
            if run >= WARM_UP {
                each.push(times);
            }
        }
        let items: usize =
            want.pieces.iter().flat_map(|piece| &piece.columns.columns).map(|column| column.items.len).sum();
        println!("{} as {kind:?}: {items} values", query.text());
        let of_columns =
            |name: &str| ["record_", "list_", "column_"].iter().any(|start| name.starts_with(start));
        for (i, kernel) in each[0].iter().enumerate().filter(|(_, kernel)| of_columns(kernel.name)) {
            println!("    {:<40} {:9.3} ms", kernel.name, median(each.iter().map(|run| run[i].milliseconds)));
        }
    }
    Ok(())
}

/// Times the kernels that make the text of all matches, by the bytes that they move: each byte read and
/// written once, and the matches and offsets. Checks the text's length against the CPU's matches.
fn text_times(
    pipeline: &Pipeline<Cuda>,
    text: &[u8],
    program: &Program,
    runs: usize,
    line: &dyn Fn(&str, f32, f64),
) -> Result<()> {
    let mut raw: Vec<Vec<KernelTime>> = (0..runs + WARM_UP)
        .map(|_| {
            pipeline.device().start_timeline();
            pipeline.answer(text, program, Want::default().text(TextForm::Raw))?;
            Ok(pipeline.device().take_timeline()?.0)
        })
        .collect::<Result<_>>()?;
    // The first run may have found the output too small and repeated its work, so it is not comparable.
    raw.drain(..WARM_UP);
    for (i, kernel) in raw[0].iter().enumerate().filter(|(_, kernel)| kernel.name.starts_with("column_")) {
        let time = median(raw.iter().map(|run| run[i].milliseconds));
        line(&format!("    {}, raw text", kernel.name), time, 0.0);
    }
    let answer = Cpu.answer(text, program, Want::default().matches(true))?;
    let found = || answer.pieces.iter().flat_map(|piece| piece.matches.iter().flatten());
    let (count, bytes) = (found().count(), found().map(|m| (m.end - m.start) as usize + 1).sum::<usize>());
    let mut each: Vec<Vec<KernelTime>> = Vec::new();
    for run in 0..runs + WARM_UP {
        pipeline.device().start_timeline();
        let made = pipeline.answer(text, program, Want::default().text(TextForm::Json))?;
        let (times, _) = pipeline.device().take_timeline()?;
        let got: usize = made.pieces.iter().flat_map(|piece| &piece.texts).map(Vec::len).sum();
        ensure!(got == bytes, "{got} bytes of text, not {bytes}");
        if run >= WARM_UP {
            each.push(times);
        }
    }
    for (i, kernel) in each[0].iter().enumerate() {
        let moved = match kernel.name {
            "slot_compact" => 12 * count,
            "text_scan" => 20 * count,
            "text_gather" => 2 * bytes + 20 * count,
            _ => continue,
        };
        line(
            &format!("    {} ({bytes} bytes of text)", kernel.name),
            median(each.iter().map(|run| run[i].milliseconds)),
            moved as f64,
        );
    }
    Ok(())
}

fn median(times: impl IntoIterator<Item = f32>) -> f32 {
    let mut times: Vec<f32> = times.into_iter().collect();
    times.sort_by(f32::total_cmp);
    times[times.len() / 2]
}

/// The median time in which the copy kernel copies the text, checked.
fn copy_time(cuda: &Cuda, text: &[u8], runs: usize) -> Result<f32> {
    let mut stage = CopyStage::new(cuda.queue()?, text)?;
    let mut times = Vec::new();
    for run in 0..runs + WARM_UP {
        stage.device().start_timeline();
        stage.run()?;
        let (_, total) = stage.device().take_timeline()?;
        if run >= WARM_UP {
            times.push(total);
        }
    }
    ensure!(stage.download()? == text, "the copy kernel does not copy");
    Ok(median(times))
}
