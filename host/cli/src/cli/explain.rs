//! `warpath explain`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::BinaryBytes;
use warpath::plan::Reading;
use warpath::twig::{Documents, Standing, Subscriptions};
use warpath::{
    DeviceChoice, Engine, FolderFiles, Limit, Predicate, Program, Query, RowForm, Source, TextForm, Want,
};
use warpath_answer::backend::Stage;
use warpath_exec::planning::Explained;
use warpath_exec::stream::ExplainedTwigs;
use warpath_lang::jsonpath;
use warpath_plan::Bytes;
use warpath_remote::address::is_url;
use warpath_terminal::escape::{escaped, escaped_lines};
use warpath_terminal::messages::Ui;

use super::args::{ExplainArgs, FileArgs, OnErrorArgs};
use super::failure::Failure;
use super::out::Out;
use super::served;
use super::written::Written;
use super::{engines, files, filter, run};

pub fn run(args: &ExplainArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut out = Out::stdout();
    if let Some(file) = &args.subscriptions {
        let (text, code) = explain_filter(file, args, ui)?;
        out.buffer.extend_from_slice(escaped_lines(&text).as_bytes());
        out.finish()?;
        return Ok(code);
    }
    let (paths, files): (Vec<&String>, Vec<&String>) = args.paths.iter().partition(|arg| !is_input(arg));
    let (names, paths): (Vec<Option<&str>>, Vec<&str>) = paths.into_iter().map(|arg| column(arg)).unzip();
    let is_select = names.iter().any(Option::is_some);
    let queries = paths.iter().map(|path| args.only.query(path)).collect::<Result<Vec<_>, _>>()?;
    let mut program = Program::new(&queries)?;
    let condition = args.only.predicate()?;
    let mut want =
        if is_select { Want::new().rows(RowForm::Ndjson) } else { Want::new().text(TextForm::Json) }
            .partial(true);
    if is_select {
        let name = |(at, name): (usize, &Option<&str>)| {
            name.map_or_else(|| format!("column {}", at + 1), str::to_owned)
        };
        program = program.with_names(&names.iter().enumerate().map(name).collect::<Vec<_>>())?;
    }
    if let Some(limit) = args.limit.limit {
        want = want.limit(if is_select { Limit::Records(limit) } else { Limit::Matches(limit) });
    }
    let engine = engines::builder(&args.engine.backend, &OnErrorArgs::default())
        .strict(args.strict.strict)
        .format(args.engine.layout.format())
        .find_indexes(!args.index.no_index)
        .build()?;
    let mut sources = Vec::new();
    if !files.is_empty() {
        let files = FileArgs { files: files.iter().map(PathBuf::from).collect(), files_from: None };
        let reading = files::Reading {
            follow: Some(&args.follow),
            column: &args.column,
            engine: &args.engine,
            on_error: &OnErrorArgs::default(),
            strict: &args.strict,
            written: Written::default(),
        };
        sources = files::for_paths(files::inputs(&files, reading, ui)?, program.queries());
    }
    let mut input = engine.input(sources);
    if let Some(condition) = &condition {
        input = input.matching(condition);
    }
    let explained = input.explain(program, want)?;
    let text = explain(&queries, condition.as_ref(), &explained);
    out.buffer.extend_from_slice(escaped_lines(&text).as_bytes());
    out.finish()?;
    run::say_unused(&explained.plan, ui);
    Ok(ExitCode::SUCCESS)
}

/// True if an argument names an input, and is no path.
fn is_input(arg: &str) -> bool {
    let is_path = arg.starts_with('$') || column(arg).0.is_some();
    !is_path && (arg == "-" || is_url(arg) || served::is_input(Path::new(arg)))
}

/// The name and the path of a column of `select`; without a name, the path alone.
fn column(arg: &str) -> (Option<&str>, &str) {
    match arg.split_once('=') {
        Some((name, path)) if !arg.starts_with('$') && path.starts_with('$') => (Some(name), path),
        _ => (None, arg),
    }
}

/// The explanation of `warpath filter` with the subscriptions of a file.
fn explain_filter(file: &Path, args: &ExplainArgs, ui: &Ui) -> Result<(String, ExitCode), Failure> {
    if let Some(path) = args.paths.iter().find(|arg| arg.starts_with('$')) {
        let message = format!("with `--subscriptions`, the arguments are inputs, and `{path}` is a path");
        return Err(Failure::usage(message));
    }
    let (subscriptions, code) = filter::all_subscriptions(file, ui)?;
    let engine = run::engine(&args.engine, &OnErrorArgs::default(), &args.strict)?;
    let files = FileArgs { files: args.paths.iter().map(PathBuf::from).collect(), files_from: None };
    let mut sources = Vec::new();
    if !files.files.is_empty() {
        let written = Written::default();
        sources =
            files::sources_or_followed(&files, FolderFiles::Documents, &args.follow, true, written, ui)?;
    }
    Ok((explain_twigs(subscriptions, &engine, args, sources)?, code))
}

/// The explanation for subscriptions: their number and size, the backend, and the stages. Without inputs, it
/// has all formats.
fn explain_twigs(
    subscriptions: Subscriptions,
    engine: &Engine,
    args: &ExplainArgs,
    mut sources: Vec<Source>,
) -> Result<String, Failure> {
    let (set, mut text) = (subscriptions.set(), String::from("subscriptions\n"));
    let size = set.size();
    let count = subscriptions.len();
    line(&mut text, format_args!("  {count}, {} of them different", size.twigs));
    line(&mut text, format_args!("  {} bits, groups of 2048: {}", size.bits, size.groups));
    line(&mut text, format_args!("  {} names, {} rows of names and values", size.names, size.rows));
    let condition = args.only.predicate()?;
    if let Some(condition) = &condition {
        let condition = condition.expr().to_string();
        line(&mut text, format_args!("\nonly documents of which this is true\n  {}", escaped(&condition)));
    }
    runs_on(&mut text, engine, args);
    let (standing, is_any) = (Standing::new(subscriptions), sources.is_empty());
    for (kind, name) in [(Documents::Ndjson, "ndjson"), (Documents::Json, "json"), (Documents::Xml, "xml")] {
        let own: Vec<Source> =
            sources.extract_if(.., |source| filter::documents(None, source) == kind).collect();
        if own.is_empty() && !is_any {
            continue;
        }
        let mut input = engine.input(own);
        if let Some(condition) = condition.as_ref().filter(|_| kind != Documents::Xml || !is_any) {
            input = input.matching(condition);
        }
        let explained = input.explain_filter(&standing, kind, !args.watch)?;
        line(&mut text, format_args!("\n{name}"));
        let mut stages = vec![Stage { place: "cpu", name: "read", what: read_of(kind, &explained, args) }];
        if explained.reuses {
            stages.push(Stage { place: "cpu", name: "reuse", what: REUSE.into() });
        }
        stages.extend(engine.twig_stages(kind));
        stages.push(Stage { place: "cpu", name: "print", what: "ids in document order".into() });
        for Stage { place, name, what } in stages {
            line(&mut text, format_args!("  {place:<6}  {name:<8}  {what}"));
        }
    }
    Ok(text)
}

/// The step that takes the results of equal lines.
const REUSE: &str =
    "lines that are equal to earlier ones have their results, where half of all lines are equal";

/// The step that reads documents, and the reason why lines of stores are read whole.
fn read_of(kind: Documents, explained: &ExplainedTwigs, args: &ExplainArgs) -> String {
    let ExplainedTwigs { plan, bytes, has_parts, .. } = explained;
    if kind != Documents::Ndjson {
        return "whole inputs (plain files: every worker; others: one at a time)".into();
    }
    let read = plan.what_is_read(*bytes);
    if !has_parts || plan.part_columns().is_some() {
        return read;
    }
    let why = match args.engine.backend.partitions.max_record {
        _ if args.watch => "subscriptions may change",
        Some(_) => "the lengths of all records are checked",
        None => "subscriptions test values of any name",
    };
    format!("{read}; whole, because {why}")
}

/// The stage of the strict check with an index file. The index file has the faults of the basic check only.
const STRICT_WITH_INDEX: &str = "all of the text: each record by RFC 8259, its bytes as UTF-8 (every worker)";

/// The documents that are evaluated as one record, although the program could run over elements.
const AS_ONE: [&str; 2] = [
    "  as one record each, by the program above: inputs that are not plain files longer than a partition; documents",
    "  without that array near their start, with a fault, or with an unusual form; and all documents for rows and columns",
];

fn explain(queries: &[Query], condition: Option<&Predicate>, explained: &Explained) -> String {
    let Explained { plan, program, bytes, elements, stages } = explained;
    let mut text = String::from("paths\n");
    for (number, query) in queries.iter().enumerate() {
        let canonical =
            jsonpath::parse(query.text()).map_or_else(|_| query.text().to_owned(), |ast| ast.to_string());
        let singular = if query.is_singular() { "  (at most one value a record)" } else { "" };
        line(&mut text, format_args!("{number:>4}  {}{singular}", escaped(&canonical)));
    }
    if let Some(condition) = condition {
        let condition = condition.expr().to_string();
        line(&mut text, format_args!("\nonly records of which this is true\n      {}", escaped(&condition)));
    }
    text.push_str("\nprogram\n");
    for instruction in program.to_string().lines() {
        line(&mut text, format_args!("  {instruction}"));
    }
    if let Some(elements) = elements {
        text.push_str("\ndocuments\n");
        match elements {
            Ok((array, elements)) => {
                line(
                    &mut text,
                    format_args!("  in parts: each element of {array} is evaluated as a record:"),
                );
                for instruction in elements.to_string().lines() {
                    line(&mut text, format_args!("    {instruction}"));
                }
                AS_ONE.iter().for_each(|said| line(&mut text, format_args!("{said}")));
            }
            Err(reason) => line(&mut text, format_args!("  as one record each: {reason}")),
        }
    }
    let partition = BinaryBytes(plan.partition_size as u64);
    line(&mut text, format_args!("\nruns on {}, partitions of {partition}", plan.backend));
    match (&plan.reason, bytes) {
        (Some(_), Bytes::Unknown) => line(&mut text, format_args!("{AUTO}")),
        (Some(reason), _) => line(&mut text, format_args!("  {reason}")),
        (None, _) => {}
    }
    let mut stage = |place: &str, name: &str, what: &str| {
        line(&mut text, format_args!("  {place:<6}  {name:<8}  {what}"));
    };
    if let (Some(pruned), Some(lines)) = (&plan.pruned, plan.index()) {
        let rest = match &pruned.rest {
            Some(rest) => format!("; of these, only records with {rest}"),
            None => String::new(),
        };
        stage("cpu", "prune", &format!("{lines}{rest}"));
    }
    let read = match (&plan.reading, elements) {
        (Reading::Documents { parts: true }, Some(Ok(_))) => {
            "parts of a document, their elements made lines, to the end before anything is printed (every worker)"
                .to_owned()
        }
        _ => plan.what_is_read(*bytes),
    };
    if let Reading::Levels { trees, .. } = &plan.reading {
        stage(
            "cpu",
            "check",
            "the index against its input: size, time of the last change, 64 samples of 4 KiB",
        );
        stage("cpu", "read", &read);
        if plan.strict {
            stage("cpu", "validate", STRICT_WITH_INDEX);
        }
        if *trees {
            stage(
                "cpu",
                "trees",
                "tokens, links and faults of each record, which no index keeps (every core)",
            );
        }
        stage("cpu", "query", "the program over each record (every core)");
    } else {
        stage("cpu", "read", &read);
        for Stage { place, name, what } in stages {
            stage(place, name, what);
        }
    }
    stage("cpu", "print", "matches in record order (one thread)");
    if !plan.unused.is_empty() {
        text.push_str("\nnot used\n");
    }
    for unused in &plan.unused {
        line(&mut text, format_args!("  {}: {}", escaped(&unused.index), escaped(&unused.why)));
    }
    text
}

/// The remark about a choice that depends on the input.
const AUTO: &str = "  (large plain files: on a CUDA device, if there is one)";

/// Appends the backend and its partition size.
fn runs_on(text: &mut String, engine: &Engine, args: &ExplainArgs) {
    let partition = BinaryBytes(engine.partition_size() as u64);
    line(text, format_args!("\nruns on {}, partitions of {partition}", engine.backend_name()));
    if args.engine.backend.device.device == DeviceChoice::Auto {
        line(text, format_args!("{AUTO}"));
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
