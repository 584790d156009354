//! `warpath explain`.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use indicatif::BinaryBytes;
use warpath::twig::{Documents, Subscriptions};
use warpath::{DeviceChoice, Engine, Error, IndexError, IndexFile, Program, Query, TextForm, Want};
use warpath_answer::backend::Stage;
use warpath_lang::jsonpath;
use warpath_terminal::escape::{escaped, escaped_lines};
use warpath_terminal::messages::Ui;

use super::args::{ExplainArgs, InputFormat, OnErrorArgs};
use super::failure::Failure;
use super::out::Out;
use super::{filter, run};

pub fn run(args: &ExplainArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut out = Out::stdout();
    if let Some(file) = &args.subscriptions {
        let (subscriptions, code) = filter::all_subscriptions(file, ui)?;
        let engine = run::engine(&args.engine, &OnErrorArgs::default(), &args.strict)?;
        let text = explain_twigs(&subscriptions, &engine, args);
        out.buffer.extend_from_slice(escaped_lines(&text).as_bytes());
        out.finish()?;
        return Ok(code);
    }
    if let Some(file) = args.paths.iter().find(|path| !path.starts_with('$') && Path::new(path).exists()) {
        return Err(Failure::usage(format!("`{file}` is a file, and `warpath explain` reads none"))
            .with_help(format!("`warpath query --stats '$' {file}` runs a query, and says how")));
    }
    let queries = args.paths.iter().map(|path| args.only.query(path)).collect::<Result<Vec<_>, _>>()?;
    let mut program = Program::new(&queries)?;
    if let Some(only) = args.only.predicate()? {
        program = program.matching(&Arc::new(only), false)?;
    }
    let engine = run::engine(&args.engine, &OnErrorArgs::default(), &args.strict)?;
    let index = args.index.index.as_ref().map(IndexFile::open).transpose()?;
    if let Some(index) = &index
        && program.levels() > index.levels()
    {
        let (kept, needed) = (index.levels(), program.levels());
        return Err(Error::from(IndexError::TooFewLevels { kept, needed }).into());
    }
    let text = explain(&queries, &program, &engine, args, index.as_ref());
    out.buffer.extend_from_slice(escaped_lines(&text).as_bytes());
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The explanation for subscriptions: their number and size, the backend, and the stages.
fn explain_twigs(subscriptions: &Subscriptions, engine: &Engine, args: &ExplainArgs) -> String {
    let (set, mut text) = (subscriptions.set(), String::from("subscriptions\n"));
    let size = set.size();
    let count = subscriptions.len();
    line(&mut text, format_args!("  {count}, {} of them different", size.twigs));
    line(&mut text, format_args!("  {} bits, groups of 2048: {}", size.bits, size.groups));
    line(&mut text, format_args!("  {} names, {} rows of names and values", size.names, size.rows));
    runs_on(&mut text, engine, args);
    for (kind, name) in [(Documents::Ndjson, "ndjson"), (Documents::Json, "json"), (Documents::Xml, "xml")] {
        line(&mut text, format_args!("\n{name}"));
        let read = match kind {
            Documents::Ndjson => {
                "partitions of whole lines (plain files: every worker; others: one at a time)"
            }
            _ => "whole inputs (plain files: every worker; others: one at a time)",
        };
        let first = Stage { place: "cpu", name: "read", what: read.into() };
        let last = Stage { place: "cpu", name: "print", what: "ids in document order".into() };
        for Stage { place, name, what } in [first].into_iter().chain(engine.twig_stages(kind)).chain([last]) {
            line(&mut text, format_args!("  {place:<6}  {name:<8}  {what}"));
        }
    }
    text
}

/// The results of `query`, for which stages are shown.
const AS_TEXT: Want = Want::new().text(TextForm::Json);

/// The stage of the strict check with an index file. The index file has the faults of the basic check only.
const STRICT_WITH_INDEX: &str = "all of the text: each record by RFC 8259, its bytes as UTF-8 (every worker)";

/// The documents that are evaluated as one record, although the program could run over elements.
const AS_ONE: [&str; 2] = [
    "  as one record each, by the program above: inputs that are not plain files longer than a partition; documents",
    "  without that array near their start, with a fault, or with an unusual form; and all documents for rows and columns",
];

fn explain(
    queries: &[Query],
    program: &Program,
    engine: &Engine,
    args: &ExplainArgs,
    index: Option<&IndexFile>,
) -> String {
    let mut text = String::from("paths\n");
    for (number, query) in queries.iter().enumerate() {
        let canonical =
            jsonpath::parse(query.text()).map_or_else(|_| query.text().to_owned(), |ast| ast.to_string());
        let singular = if query.is_singular() { "  (at most one value a record)" } else { "" };
        line(&mut text, format_args!("{number:>4}  {}{singular}", escaped(&canonical)));
    }
    if let Some(predicate) = program.predicate() {
        line(
            &mut text,
            format_args!(
                "\nonly records of which this is true\n      {}",
                escaped(&predicate.expr().to_string())
            ),
        );
    }
    text.push_str("\nprogram\n");
    for instruction in program.to_string().lines() {
        line(&mut text, format_args!("  {instruction}"));
    }
    let elements = (args.engine.input == InputFormat::Json).then(|| program.over_elements());
    if let Some(elements) = &elements {
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
    runs_on(&mut text, engine, args);
    let mut stage = |place: &str, name: &str, what: &str| {
        line(&mut text, format_args!("  {place:<6}  {name:<8}  {what}"));
    };
    if index.is_some() {
        stage(
            "cpu",
            "check",
            "the index against its input: size, time of the last change, 64 samples of 4 KiB",
        );
    }
    if let Some(index) = index.filter(|_| engine.uses_index_files()) {
        let (read, kept) = (program.levels(), index.levels());
        let what = if program.needs_trees() {
            "partitions as the index has them, and their text".to_owned()
        } else {
            format!("partitions, with line starts, faults and {read} of {kept} levels of the index")
        };
        stage("cpu", "read", &(what + " (every worker)"));
        if args.strict.strict {
            stage("cpu", "validate", STRICT_WITH_INDEX);
        }
        if program.needs_trees() {
            stage(
                "cpu",
                "trees",
                "tokens, links and faults of each record, which no index keeps (every core)",
            );
        }
        stage("cpu", "query", "the program over each record (every core)");
    } else {
        let (read, asked) = match &elements {
            None => ("partitions of whole lines (plain files: every worker; others: one at a time)", program),
            Some(Ok((_, elements))) => (
                "parts of a document, their elements made lines, to the end before anything is printed (every worker)",
                elements,
            ),
            Some(Err(_)) => {
                ("documents, each made one line (plain files: every worker; others: one at a time)", program)
            }
        };
        stage("cpu", "read", read);
        for Stage { place, name, what } in engine.stages(asked, AS_TEXT) {
            stage(place, name, &what);
        }
    }
    stage("cpu", "print", "matches in record order (one thread)");
    text
}

/// Appends the backend and its partition size.
fn runs_on(text: &mut String, engine: &Engine, args: &ExplainArgs) {
    let partition = BinaryBytes(engine.partition_size() as u64);
    line(text, format_args!("\nruns on {}, partitions of {partition}", engine.backend_name()));
    if args.engine.backend.device.device == DeviceChoice::Auto {
        line(text, format_args!("  (large plain files: on a CUDA device, if there is one)"));
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
