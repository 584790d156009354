//! `warpath bitmap build`, `info` and `range`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use indicatif::BinaryBytes;
use warpath::Source;
use warpath::bitmap::{BinSpec, BitmapEngine, BitmapIndex, BitmapInfo, ColumnSpec, Kind, Matching, Plan};
use warpath_core::temporary::OutputMode;
use warpath_exec::bitmap::build;
use warpath_exec::bitmap::build::{BitmapMaker, bitmap_maker};
use warpath_store::bitmap::column::{Bin, Column, Holds};
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;
use warpath_terminal::progress::Progress;

use super::args::{
    BackendArgs, BitmapBuildArgs, BitmapInfoArgs, BitmapRangeArgs, EngineArgs, FileArgs, QueryArgs,
    ReportArgs, RunArgs, SelectArgs, WhereArgs,
};
use super::failure::Failure;
use super::out::Out;
use super::statistics::{self, Statistics, named};
use super::written::Written;
use super::{files, formats, index, query, run, select};

/// Makes a bitmap index.
pub fn build(args: &BitmapBuildArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let mut specs: Vec<ColumnSpec> = args.columns.iter().map(|column| spec(column)).collect();
    files::refuse_index_to_stdout(&args.output.output)?;
    let mut typed = HashSet::new();
    for kind in &args.types {
        let Some((name, kind)) = kind.split_once('=') else {
            return Err(Failure::usage(format!("`--type {kind}` names no column"))
                .with_help(format!("write `--type NAME={kind}`")));
        };
        column(&mut specs, name, "--type")?.kind = Some(kind.parse::<Kind>()?);
        if !typed.insert(name) {
            let message = format!("`--type {name}={kind}`: column `{name}` has two types");
            return Err(Failure::usage(message));
        }
    }
    // The options of one column take precedence over the option for all columns.
    let of_column =
        |bins: &str| specs.iter().any(|spec| bins.split_once('=').is_some_and(|(name, _)| name == spec.name));
    let (one, all): (Vec<&str>, Vec<&str>) =
        args.bins.iter().map(String::as_str).partition(|bins| of_column(bins));
    match all[..] {
        [] => {}
        [bins] => {
            let bins = bins_of(bins, &specs)?;
            specs.iter_mut().for_each(|spec| spec.bins = bins.clone());
        }
        [_, second, ..] => {
            return Err(Failure::usage(format!("`--bins {second}`: all columns have two kinds of bins"))
                .with_help(format!("for one column, write `--bins NAME={second}`")));
        }
    }
    let mut cut = HashSet::new();
    for bins in one {
        if let Some((name, bins)) = bins.split_once('=') {
            column(&mut specs, name, "--bins")?.bins = bins.parse()?;
            if !cut.insert(name) {
                let message = format!("`--bins {name}={bins}`: column `{name}` has two kinds of bins");
                return Err(Failure::usage(message));
            }
        }
    }
    let file = files::local(&args.file, "a bitmap index is of a file, and this is an object")?;
    Written::to(&args.output.output).refuse("an input", &file)?;
    files::refuse_tables(&args.engine)?;
    let engine = run::engine(&args.engine, &args.on_error, &args.strict)?;
    let mut maker = bitmap_maker(&engine, &file).map_err(Failure::of_bitmap)?;
    let source = Source::File(file.clone());
    let progress =
        Arc::new(Mutex::new((Progress::new(args.report.progress.progress, source.text_bytes(), false), 0)));
    let watch = {
        let progress = progress.clone();
        move |bytes| {
            let (progress, read) = &mut *progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.update(bytes);
            *read = bytes;
        }
    };
    let built = build::build_watched(&mut maker, &engine, &file, &specs, Arc::new(watch));
    let (progress, read) = &mut *progress.lock().unwrap_or_else(PoisonError::into_inner);
    progress.finish(*read);
    let built = built.map_err(Failure::of_bitmap)?;
    let ((built, left_out), read) = (built, started.elapsed());
    ui.skipped("record", left_out.count, left_out.first);
    let index = BitmapIndex::from_built(built)?;
    warn_of_no_values(&index, &specs, ui);
    if index.line_offsets()?.is_none() && specs.iter().any(|spec| spec.source.starts_with('$')) {
        ui.warning(format_args!(
            "{} is compressed: the index has numbers of lines and counts; its lines cannot be read by it",
            file.display()
        ));
        ui.help("for `query --bitmap`, and `--records`, decompress the file, and index the text");
    }
    index.write_as(&args.output.output, OutputMode::default().and_file(&file)).map_err(Failure::of_bitmap)?;
    if let Some(format) = args.report.stats.stats {
        statistics::show(ui, &building_statistics(&maker, &index, read, started.elapsed()), format);
    }
    Ok(ExitCode::SUCCESS)
}

/// Warns of each column for which no line has a value. A path with a typing error matches nothing anywhere,
/// and expressions over its column are accepted all the same.
fn warn_of_no_values(index: &BitmapIndex, specs: &[ColumnSpec], ui: &Ui) {
    for (column, spec) in index.columns().iter().zip(specs) {
        let has_values = |bin: &Bin| matches!(bin.holds, Holds::Values { .. } | Holds::NaN);
        if index.rows() == 0 || column.bins.iter().any(has_values) {
            continue;
        }
        let others: Vec<String> = column.bins.iter().map(|bin| format!("{} {bin}", bin.rows)).collect();
        let of_type = spec.kind.map(|kind| format!(" of type {kind}")).unwrap_or_default();
        ui.warning(format_args!(
            "column `{}`: no line has a value{of_type} at `{}` ({})",
            column.name,
            column.source,
            others.join(", ")
        ));
    }
}

/// The statistics of building. `read` is the time until all columns were built, and `all` the time until the
/// index was written.
fn building_statistics(
    maker: &BitmapMaker,
    index: &BitmapIndex,
    read: Duration,
    all: Duration,
) -> Statistics {
    let made = maker.made();
    let mut by = vec![(made.by_cpu, "cpu".to_owned())];
    if made.by_device > 0 {
        by.insert(0, (made.by_device, maker.name()));
    }
    by.retain(|(bitmaps, _)| *bitmaps > 0);
    let by: Vec<String> = by.into_iter().map(|(bitmaps, name)| format!("{bitmaps} by {name}")).collect();
    Statistics::new([
        ("lines", index.rows().to_string()),
        ("columns", index.columns().len().to_string()),
        ("bitmaps", if by.is_empty() { "none".to_owned() } else { by.join(", ") }),
        ("making them", seconds(made.took)),
        ("the rest", seconds(read.saturating_sub(made.took))),
        ("writing", seconds(all.saturating_sub(read))),
    ])
    .exactly("lines", "lines", index.rows())
    .exactly("columns", "columns", index.columns().len())
    .seconds("making them", "making_seconds", made.took)
    .seconds("the rest", "rest_seconds", read.saturating_sub(made.took))
    .seconds("writing", "writing_seconds", all.saturating_sub(read))
}

fn seconds(time: Duration) -> String {
    format!("{:.6} s", time.as_secs_f64())
}

/// A column as the argument gives it: `NAME=PATH`, or the name of a table's column.
fn spec(column: &str) -> ColumnSpec {
    match column.split_once('=') {
        // A filter in a path may contain `=`, too.
        Some((name, source)) if !column.starts_with('$') => ColumnSpec::new(name, source),
        _ => ColumnSpec::new(column, column),
    }
}

/// Returns the column with this name.
fn column<'a>(specs: &'a mut [ColumnSpec], name: &str, flag: &str) -> Result<&'a mut ColumnSpec, Failure> {
    let known: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
    specs.iter_mut().find(|spec| spec.name == name).ok_or_else(|| unknown(name, flag, &known))
}

fn unknown(name: &str, flag: &str, known: &[String]) -> Failure {
    Failure::usage(format!("`{flag}` names column `{name}`, which no `--column` defines"))
        .with_help(format!("the columns are {}", known.join(", ")))
}

/// Returns the bins for all columns.
fn bins_of(bins: &str, specs: &[ColumnSpec]) -> Result<BinSpec, Failure> {
    match (bins.parse(), bins.split_once('=')) {
        (Ok(bins), _) => Ok(bins),
        // The option names a column that does not exist.
        (Err(_), Some((name, rest))) if rest.parse::<BinSpec>().is_ok() => {
            let known: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
            Err(unknown(name, "--bins", &known))
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Prints the description of a bitmap index, after a check of every byte of it.
pub fn info(args: &BitmapInfoArgs) -> Result<ExitCode, Failure> {
    Written::default().refuse("an index", &args.file)?;
    let index = BitmapIndex::open(&args.file).map_err(Failure::of_bitmap)?;
    index.verify().map_err(Failure::of_bitmap)?;
    let records = index.records().map_err(Failure::of_bitmap)?.map(|records| records.wah.count());
    let mut text = described(&index.info(), records);
    if args.bins {
        bins(&index, &mut text);
    }
    let mut out = Out::stdout();
    out.buffer.extend_from_slice(text.as_bytes());
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The description of a bitmap index. `records` is the number of lines that are records, or `None` if all
/// lines are.
fn described(info: &BitmapInfo, records: Option<u64>) -> String {
    let per_input = |bytes: u64| match info.input {
        Some((input, _)) => {
            format!("{bytes} bytes ({:.1} % of the input)", 100.0 * bytes as f64 / input.max(1) as f64)
        }
        None => format!("{bytes} bytes"),
    };
    let mut rows = vec![("version", info.version.to_string())];
    match &info.input {
        Some((bytes, modified)) => {
            rows.push(("input", format!("{bytes} bytes")));
            rows.push(("modified", format!("{} s since 1970", index::since_1970(*modified))));
        }
        None => rows.push(("input", "no file".to_owned())),
    }
    rows.push(("lines", info.rows.to_string()));
    rows.push(("records", records.map_or_else(|| "all of them".to_owned(), |count| count.to_string())));
    rows.push((
        "line starts",
        info.line_bytes.map_or_else(|| "none: the input is not a plain file".to_owned(), per_input),
    ));
    rows.push(("all", per_input(info.bytes)));
    rows.push(("checksums", "all match".to_owned()));
    let mut text = named(&rows);
    let head = ["column", "type", "bins", "cut", "bitmaps", "shorter", "values", "source"].map(str::to_owned);
    let columns = info.columns.iter().map(|column| {
        [
            escaped(&column.name).into_owned(),
            column.kind.to_string(),
            column.bins.to_string(),
            column.binning.clone(),
            (column.atom_bytes + column.tile_bytes).to_string(),
            format!("{:.1}x", column.ratio()),
            column.value_bytes.to_string(),
            escaped(&column.source).into_owned(),
        ]
    });
    let rows: Vec<[String; 8]> = std::iter::once(head).chain(columns).collect();
    text.push('\n');
    aligned(&mut text, &rows, &[2, 4, 5, 6]);
    text
}

/// Appends rows with aligned columns. The columns in `numbers` are aligned at the right.
fn aligned<const N: usize>(text: &mut String, rows: &[[String; N]], numbers: &[usize]) {
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = if numbers.contains(&at) {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Appends the bins of all columns.
fn bins(index: &BitmapIndex, text: &mut String) {
    for (column, described) in index.columns().iter().enumerate() {
        let _ = write!(text, "\n{}\n", escaped(&described.name));
        let head = ["  bin", "lines", "atoms", "values"].map(str::to_owned);
        let bins = described.bins.iter().enumerate().map(|(bin, described)| {
            [
                format!("  {bin}"),
                described.rows.to_string(),
                index.atoms(column, bin).to_string(),
                escaped(&described.to_string()).into_owned(),
            ]
        });
        let rows: Vec<[String; 4]> = std::iter::once(head).chain(bins).collect();
        aligned(text, &rows, &[1, 2]);
    }
}

/// Prints the lines that match an expression.
pub fn range(args: BitmapRangeArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    if args.records || !args.select.is_empty() {
        return records(args, ui, started);
    }
    formats::check_text(&args.output)?;
    let written = Written::of(&args.output);
    args.file.iter().try_for_each(|file| written.refuse("an input", file))?;
    written.refuse("an index", &args.index)?;
    let index = BitmapIndex::open(&args.index).map_err(Failure::of_bitmap)?;
    if let Some(file) = &args.file {
        index.check(file).map_err(Failure::of_bitmap)?;
    } else if let Some((bytes, modified)) = index.info().input
        && !is_beside(&args.index, bytes, modified)
    {
        ui.note(format_args!(
            "no file beside the index has the size ({bytes} bytes) and the time of the file that was indexed: it \
             is elsewhere, or has changed; name it after the expression, so that it is checked"
        ));
    }
    let opened = started.elapsed();
    let plan = Plan::of(&index, &args.expression.parse()?, args.approximate.approximate)?;
    let mode = args.file.iter().fold(OutputMode::default().and_file(&args.index), OutputMode::and_file);
    let mut out = Out::new(&args.output).made_from(mode);
    if args.explain {
        out.buffer.extend_from_slice(explained(plan, index.columns()).as_bytes());
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut engine = BitmapEngine::new(&args.device.device)?;
    if let Some(threads) = args.threads {
        engine = engine.with_threads(threads);
    }
    let planned = started.elapsed();
    let matching = engine.answer(&index, &plan, !args.count).map_err(Failure::of_bitmap)?;
    let answered = started.elapsed();
    if args.count {
        let _ = writeln!(out.buffer, "{}", matching.count);
    } else {
        let most = args.limit.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        for row in matching.rows.ones().take(most) {
            push_decimal(row + 1, &mut out.buffer);
            out.buffer.push(b'\n');
            out.line_end()?;
        }
    }
    out.finish()?;
    if let Some(format) = args.stats.stats {
        let times = [opened, planned - opened, answered - planned, started.elapsed() - answered];
        statistics::show(ui, &statistics(&engine, &index, &plan, &matching, times), format);
    }
    Ok(if args.exit_status.exit_status && matching.count == 0 {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// Returns whether a folder of few files has a file with this size and this time of its last change beside
/// an index, or may have one.
fn is_beside(index: &Path, bytes: u64, modified: SystemTime) -> bool {
    const MOST: usize = 10_000;
    let folder = index.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(files) = fs::read_dir(folder) else { return true };
    // A link counts as the file that it names.
    let mut files = files.filter_map(|file| fs::metadata(file.ok()?.path()).ok()).enumerate();
    files.any(|(at, file)| {
        at == MOST || file.len() == bytes && file.modified().is_ok_and(|time| time == modified)
    })
}

/// A plan as text. Names of columns are escaped, so that each takes one line.
fn explained(mut plan: Plan, columns: &[Column]) -> String {
    plan.tests.iter_mut().for_each(|test| test.test = escaped(&test.test).into_owned());
    let named = |column: &Column| Column { name: escaped(&column.name).into_owned(), ..column.clone() };
    let columns: Vec<Column> = columns.iter().map(named).collect();
    // The plan encodes strings as JSON, which leaves some control characters unescaped.
    let text = plan.explain(&columns);
    text.split_inclusive('\n')
        .flat_map(|line| match line.strip_suffix('\n') {
            Some(line) => [escaped(line), "\n".into()],
            None => [escaped(line), "".into()],
        })
        .collect()
}

/// Appends a number in decimal digits.
fn push_decimal(mut number: u64, to: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return to.extend_from_slice(&digits[at..]);
        }
    }
}

fn statistics(
    engine: &BitmapEngine,
    index: &BitmapIndex,
    plan: &Plan,
    matching: &Matching,
    [opening, planning, answering, printing]: [Duration; 4],
) -> Statistics {
    let bytes: u64 = plan.operands(index, 1).map_or(0, |operands| {
        operands.iter().map(|bitmap| 8 * (bitmap.wah.words().len() + bitmap.tiles.len()) as u64).sum()
    });
    Statistics::new([
        ("backend", engine.name()),
        ("lines", index.rows().to_string()),
        ("found", matching.count.to_string()),
        ("checked", format!("{} lines, by their values", matching.checked)),
        ("bitmaps", format!("{} of {} bytes ({})", plan.bitmaps.len(), bytes, BinaryBytes(bytes))),
        ("opening", seconds(opening)),
        ("planning", seconds(planning)),
        ("answering", seconds(answering)),
        ("printing", seconds(printing)),
    ])
    .exactly("lines", "lines", index.rows())
    .exactly("found", "found", matching.count)
    .exactly("checked", "checked", matching.checked)
    .exactly("bitmaps", "bitmaps", plan.bitmaps.len())
    .exactly("bitmaps", "bitmap_bytes", bytes)
    .seconds("opening", "opening_seconds", opening)
    .seconds("planning", "planning_seconds", planning)
    .seconds("answering", "answering_seconds", answering)
    .seconds("printing", "printing_seconds", printing)
}

/// Prints the matching records, or columns of them, as `query` and `select` do with `--where`.
fn records(args: BitmapRangeArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let files = FileArgs { files: args.file.into_iter().collect(), ..FileArgs::default() };
    let report = ReportArgs { stats: args.stats, ..ReportArgs::default() };
    let run = RunArgs {
        only: WhereArgs { only: Some(args.expression), ..WhereArgs::default() },
        bitmap: Some(args.index),
        approximate: args.approximate,
        output: args.output,
        report,
        ..RunArgs::default()
    };
    let backend = BackendArgs { device: args.device, ..BackendArgs::default() };
    let engine = EngineArgs { backend, ..EngineArgs::default() };
    let (columns, limit) = (args.select, args.limit);
    if !columns.is_empty() {
        let format = args.format;
        let args = SelectArgs { columns, files, format, limit, run, engine, ..SelectArgs::default() };
        return select::run(args, ui, started);
    }
    let (exit_status, pretty, path) = (args.exit_status, args.format.pretty, "$".to_owned());
    let args = QueryArgs { path, files, exit_status, pretty, limit, run, engine, ..QueryArgs::default() };
    query::run(args, ui, started)
}
