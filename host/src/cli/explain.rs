//! `warpath explain`.

use std::fmt::Write;
use std::process::ExitCode;

use indicatif::BinaryBytes;
use warpath::{DeviceChoice, Engine, Program, Query, jsonpath};
use warpath_shared::kernel::{
    CountScan, Kernel, KindCheck, KindScan, LineScan, LineSummaries, QueryCount, QueryFill, QuerySlots,
    StructureWrite,
};

use super::args::{ExplainArgs, OnErrorArg};
use super::failure::Failure;
use super::out::Out;
use super::run;

pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let queries = args.paths.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(&queries)?;
    let engine = run::engine(&args.engine, OnErrorArg::Fail)?;
    let mut out = Out::new(None);
    out.buffer.extend_from_slice(explain(&queries, &program, &engine)?.as_bytes());
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn explain(queries: &[Query], program: &Program, engine: &Engine) -> Result<String, Failure> {
    let mut text = String::from("paths\n");
    for (number, query) in queries.iter().enumerate() {
        let canonical = jsonpath::parse(query.text()).map_or_else(|_| query.text().to_owned(), |ast| ast.to_string());
        let singular = if query.is_singular() { "  (one value a record at most)" } else { "" };
        line(&mut text, format_args!("{number:>4}  {canonical}{singular}"));
    }
    text.push_str("\nprogram\n");
    for instruction in program.to_string().lines() {
        line(&mut text, format_args!("  {instruction}"));
    }
    let partition = BinaryBytes(engine.partition_size() as u64);
    line(&mut text, format_args!("\nruns on {}, partitions of {partition}", engine.backend_name()));
    let cpu = Engine::builder().device(DeviceChoice::Cpu).build()?.backend_name();
    let stages = if engine.backend_name() == cpu { cpu_stages(program) } else { cuda_stages(program) };
    for (place, stage, what) in stages {
        line(&mut text, format_args!("  {place:<6}  {stage:<8}  {what}"));
    }
    Ok(text)
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = writeln!(text, "{line}");
}

/// Where a stage runs, its name, and what it does.
type Stage = (&'static str, &'static str, String);

const READ: &str = "decompress, cut into partitions of whole lines (one thread)";
const PRINT: &str = "matches in record order (one thread)";

fn bitmaps(program: &Program) -> String {
    let levels = program.levels();
    format!("{levels} leveled bitmap{}", if levels == 1 { "" } else { "s" })
}

fn cpu_stages(program: &Program) -> Vec<Stage> {
    vec![
        ("cpu", "read", READ.into()),
        ("cpu", "index", format!("line starts, {}, faults (every core)", bitmaps(program))),
        ("cpu", "query", "the program over each record, in the same pass (every core)".into()),
        ("cpu", "print", PRINT.into()),
    ]
}

fn cuda_stages(program: &Program) -> Vec<Stage> {
    let query = if program.is_singular() {
        QuerySlots::NAME.to_owned()
    } else {
        format!("{}, and for the matches {}, {}", QueryCount::NAME, CountScan::NAME, QueryFill::NAME)
    };
    vec![
        ("cpu", "read", READ.into()),
        ("cuda", "lines", format!("{}, {}", LineSummaries::NAME, LineScan::NAME)),
        ("cuda", "index", format!("{}: line starts, string bitmap, {}", StructureWrite::NAME, bitmaps(program))),
        ("cuda", "faults", format!("{}, {}", KindScan::NAME, KindCheck::NAME)),
        ("cpu", "faults", "the lines that the kernels suspect, if there are any".into()),
        ("cuda", "query", query),
        ("cpu", "print", PRINT.into()),
    ]
}
