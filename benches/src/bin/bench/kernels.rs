//! Times every kernel by events, over text that is resident on the device, and a copy kernel in the same run.
//!
//! With `--trees`, trees are timed in place of queries: of files, and of one line of `--brackets` brackets.
//! With `--strict`, the checks of all of RFC 8259 and UTF-8 are timed: index, trees and strict checks.
//!
//! Counts are checked against the CPU's before anything is printed. Rates are of input, in 10⁹ bytes a
//! second; a copy moves 2 bytes for each that is copied. Medians of all runs but the first three.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use warpath::columns::{ColumnType, Schema};
use warpath::{Program, Query, TextForm, Want};
use warpath_answer::answer::Answer;
use warpath_answer::backend::Backend;
use warpath_benches::harness::copy;
use warpath_benches::harness::timing::{Kernels, Loop};
use warpath_cpu::Cpu;
use warpath_device::cuda::{Cuda, Settings};
use warpath_device::{Accelerator, Pipeline, TreeCut};
use warpath_shared::kernel::{Copy16, Kernel as _};
use warpath_tests::random::Rng;
use warpath_tests::{oracle, trees};

/// Runs that warm caches and clocks, and are not counted.
const WARM_UP: usize = 3;

#[derive(clap::Args)]
pub struct Args {
    /// The text, and paths; or files, with --trees or --strict
    #[arg(value_name = "FILE PATH", required_unless_present = "brackets")]
    rest: Vec<String>,

    /// The CUDA device of this number
    #[arg(long, default_value_t = 0)]
    device: usize,

    /// Counted runs
    #[arg(long, default_value_t = 20)]
    runs: usize,

    /// Levels of the index [default: those that the paths read]
    #[arg(long)]
    levels: Option<u32>,

    /// Compile kernels to at most this many registers a thread
    #[arg(long)]
    registers: Option<u32>,

    /// Without the kernels that make text and columns of matches
    #[arg(long)]
    no_results: bool,

    /// Time the checks of strict mode, over files
    #[arg(long)]
    strict: bool,

    /// Time the kernels that make trees, over files
    #[arg(long, conflicts_with = "strict")]
    trees: bool,

    /// Also trees of one line of this many brackets
    #[arg(long, value_name = "N", requires = "trees")]
    brackets: Option<usize>,

    /// Cut lines longer than this, in bytes, into pieces
    #[arg(long, value_name = "BYTES", requires = "trees")]
    longest: Option<u32>,

    /// Bytes of a piece of a long line
    #[arg(long, value_name = "BYTES", requires = "trees")]
    piece: Option<u32>,
}

pub fn run(args: &Args) -> Result<()> {
    let (runs, rest) = (args.runs.max(1), &args.rest);
    let settings = Settings { registers: args.registers, ..copy::settings() };
    let read = |file: &String| std::fs::read(file).with_context(|| file.clone());
    if args.strict || args.trees {
        let pipeline = Pipeline::new(Cuda::with_settings(args.device, settings)?)?;
        let mut cut = TreeCut::default();
        cut.longest = args.longest.unwrap_or(cut.longest);
        cut.piece = args.piece.unwrap_or(cut.piece);
        for file in rest {
            if args.strict {
                strict_times(&pipeline, file, &read(file)?, runs)?;
            } else {
                tree_times(&pipeline, file, &read(file)?, runs, cut)?;
            }
        }
        if let Some(count) = args.brackets {
            let text = trees::brackets(&mut Rng::new(1), count / 2);
            tree_times(&pipeline, &format!("{count} brackets"), &text, runs, cut)?;
        }
        return Ok(());
    }
    let Some((file, paths)) = rest.split_first() else { bail!("no file") };
    ensure!(!paths.is_empty(), "no path to evaluate on {file}");
    let text = read(file)?;
    let bytes = text.len() as f64;

    let start = Instant::now();
    let cuda = Cuda::with_settings(args.device, settings)?;
    // Waits for the context, and loads the copy kernel's module.
    cuda.prepare(Copy16::NAME)?;
    println!("{}: context and module in {:.0} ms", cuda.name(), start.elapsed().as_secs_f64() * 1e3);
    println!("{file}: {} bytes", text.len());
    let copy = Loop::new(WARM_UP, runs).copy(&cuda, &text)?;
    let line = |name: &str, milliseconds, moved| print_line(name, milliseconds, moved, (bytes, copy));
    line("copy kernel", copy, 2.0 * bytes);

    let pipeline = Pipeline::new(cuda)?;
    pipeline.load(&text)?;
    let loaded = pipeline.device().free_memory()?;
    let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path)).collect::<Result<_, _>>()?;
    let together = Program::new(&queries)?;
    let levels = args.levels.unwrap_or(together.levels());

    // The index alone: by kernel, and from the first kernel's start to the last one's end.
    let kernels = times(&pipeline, runs, || pipeline.index_resident(levels))?;
    let beyond = loaded.saturating_sub(pipeline.device().free_memory()?);
    println!(
        "device memory beyond the text, {levels} levels: {beyond} bytes, {:.3} of it",
        beyond as f64 / bytes
    );
    let written = (1.0 + levels as f64) / 8.0;
    let moved = bytes * (1.0 + written);
    for (name, time) in kernels.each() {
        line(name, time, if name == "structure_write" { moved } else { 0.0 });
    }
    line(&format!("index, {levels} levels: sum of kernels"), kernels.sum(|_| true), moved);
    line(&format!("index, {levels} levels: first start to last end"), kernels.total(), moved);

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
        let matches = Want::default().matches(true);
        let kernels = times(&pipeline, runs.min(7), || pipeline.answer(&text, program, matches).map(drop))?;
        const SHOWN: [&str; 7] = ["query", "filter", "tape", "tree", "names", "count_scan", "slot_compact"];
        for (name, time) in kernels.each().filter(|(name, _)| SHOWN.iter().any(|of| name.starts_with(of))) {
            println!("    {name:<40} {time:9.3} ms {:9.0} GB/s of input", bytes / time / 1e6);
        }
        if !args.no_results {
            text_times(&pipeline, &text, program, runs.min(7), &line)?;
        }
    }
    for query in queries.iter().filter(|_| !args.no_results) {
        column_times(&pipeline, &text, query, runs.min(7))?;
    }
    Ok(())
}

/// Prints a time with its rates: of input, and of the bytes that must at least be moved. The last figure is
/// the fraction of the copy's rate. `bytes` are those of the input, and `copy` is the time in which they are
/// copied.
fn print_line(name: &str, milliseconds: f64, moved: f64, (bytes, copy): (f64, f64)) {
    let rate = |bytes: f64| bytes / milliseconds / 1e6;
    println!(
        "{name:<44} {milliseconds:9.3} ms {:9.0} GB/s of input {:9.0} GB/s moved {:6.1} % of the copy's",
        rate(bytes),
        rate(moved),
        100.0 * rate(moved) / (2.0 * bytes / copy / 1e6),
    );
}

/// The times of the kernels that `run` launches.
fn times<E: Into<anyhow::Error>>(
    pipeline: &Pipeline<Cuda>,
    runs: usize,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Kernels> {
    Loop::new(WARM_UP, runs).kernels(&mut &*pipeline, |pipeline| pipeline.device(), |_| run())
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
    let copy = Loop::new(WARM_UP, runs).copy(pipeline.device(), text)?;
    let line = |name: &str, milliseconds, moved| {
        print_line(&format!("    {name}"), milliseconds, moved, (bytes, copy));
    };
    line("copy kernel", copy, 2.0 * bytes);
    pipeline.load(text)?;
    let kernels = times(pipeline, runs, || pipeline.trees_resident(cut).map(drop))?;
    let is_tree = |name: &str| name.starts_with("tape_");
    for (name, time) in kernels.each().filter(|(name, _)| is_tree(name)) {
        let moved = match name {
            "tape_words" => 1.875 * bytes,
            // A container has two brackets: one top for each, one offset where the container is closed, and
            // one top that is read.
            "tape_lines" | "tape_pieces" => 0.75 * bytes + 32.0 * containers,
            "tape_nodes" => 0.75 * bytes + 16.0 * nodes + 24.0 * containers,
            _ => 0.0,
        };
        line(name, time, moved);
    }
    let least = 1.125 * bytes + 16.0 * nodes;
    line("trees without the index, sum of kernels", kernels.sum(is_tree), least);
    line("trees with the index, sum of kernels", kernels.sum(|_| true), least + 1.125 * bytes);
    Ok(())
}

/// Times the kernels that check a text strictly, each and all, and holds their faults to the host's.
fn strict_times(pipeline: &Pipeline<Cuda>, name: &str, text: &[u8], runs: usize) -> Result<()> {
    let bytes = text.len() as f64;
    let faults = pipeline.strict_faults(text)?;
    ensure!(faults == warpath_cpu::strict::faults(text), "{name}: faults differ from the host's");
    println!("{name}: {} bytes, {} faulty lines", text.len(), faults.len());
    let copy = Loop::new(WARM_UP, runs).copy(pipeline.device(), text)?;
    let line = |name: &str, milliseconds, moved| {
        print_line(&format!("    {name}"), milliseconds, moved, (bytes, copy));
    };
    line("copy kernel", copy, 2.0 * bytes);
    pipeline.load(text)?;
    let kernels = times(pipeline, runs, || pipeline.strict_resident().map(drop))?;
    for (name, time) in kernels.each() {
        println!("        {name:<40} {time:9.3} ms");
    }
    // The bytes that are read if no byte is read twice.
    line("strict checks, sum of kernels", kernels.sum(|_| true), bytes);
    line("strict checks, first start to last end", kernels.total(), bytes);
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
        let kernels = times(pipeline, runs, || -> Result<()> {
            let got = pipeline.answer(text, schema.program(), wanted)?;
            let of = |answer: Answer| answer.pieces.into_iter().map(|piece| piece.columns);
            let (path, same) = (query.text(), of(got).eq(of(want.clone())));
            ensure!(same, "{path} as {kind:?}: columns differ from the CPU's");
            Ok(())
        })?;
        let items: usize =
            want.pieces.iter().flat_map(|piece| &piece.columns.columns).map(|column| column.items.len).sum();
        println!("{} as {kind:?}: {items} values", query.text());
        let of_columns =
            |name: &str| ["record_", "list_", "column_"].iter().any(|start| name.starts_with(start));
        for (name, time) in kernels.each().filter(|(name, _)| of_columns(name)) {
            println!("    {name:<40} {time:9.3} ms");
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
    line: &dyn Fn(&str, f64, f64),
) -> Result<()> {
    // The first run may have found the output too small and repeated its work, so it only warms up.
    let raw = Want::default().text(TextForm::Raw);
    let raw = times(pipeline, runs, || pipeline.answer(text, program, raw).map(drop))?;
    for (name, time) in raw.each().filter(|(name, _)| name.starts_with("column_")) {
        line(&format!("    {name}, raw text"), time, 0.0);
    }
    let answer = Cpu.answer(text, program, Want::default().matches(true))?;
    let found = || answer.pieces.iter().flat_map(|piece| piece.matches.iter().flatten());
    let (count, bytes) = (found().count(), found().map(|m| (m.end - m.start) as usize + 1).sum::<usize>());
    let kernels = times(pipeline, runs, || -> Result<()> {
        let made = pipeline.answer(text, program, Want::default().text(TextForm::Json))?;
        let got: usize = made.pieces.iter().flat_map(|piece| &piece.texts).map(Vec::len).sum();
        ensure!(got == bytes, "{got} bytes of text, not {bytes}");
        Ok(())
    })?;
    for (name, time) in kernels.each() {
        let moved = match name {
            "slot_compact" => 12 * count,
            "text_scan" => 20 * count,
            "text_gather" => 2 * bytes + 20 * count,
            _ => continue,
        };
        line(&format!("    {name} ({bytes} bytes of text)"), time, moved as f64);
    }
    Ok(())
}
