//! `warpath schema diff`, and saved schemas.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use warpath::columns::{ColumnType, Schema};
use warpath::schema::{self, Change, Difference, Kind, SchemaRow};
use warpath::{Engine, Error, Query, Source};

use super::super::args::{ReportArgs, SchemaDiffArgs};
use super::super::escape::escaped;
use super::super::failure::Failure;
use super::super::out::Out;
use super::super::ui::Ui;
use super::super::{files, run};
use super::{Reading, is_saved, read, rows};

/// The exit code if the schemas differ.
const DIFFERENT: u8 = 1;

pub fn run(args: &SchemaDiffArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    files::refuse_tables(&args.engine)?;
    if [&args.before, &args.after].iter().all(|path| path.as_os_str() == "-") {
        return Err(Failure::usage("`-` is given twice, and standard input can be read only once"));
    }
    let engine = run::engine(&args.engine, &args.on_error, &args.strict)?;
    let [before, after] = [&args.before, &args.after].map(|path| rows_of(path, &engine, ui, started));
    let (before, after) = (before?, after?);
    let differences = schema::diff(&before, &after);
    let mut out = Out::stdout();
    for difference in &differences {
        out.buffer.extend_from_slice(escaped(&line(difference)).as_bytes());
        out.buffer.push(b'\n');
        out.line_end()?;
    }
    out.finish()?;
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

/// The rows of an input or a saved schema.
fn rows_of(path: &Path, engine: &Engine, ui: &Ui, started: Instant) -> Result<Vec<SchemaRow>, Failure> {
    if is_saved(path) {
        return saved(path);
    }
    let source = if path == Path::new("-") { files::stdin()? } else { files::file(path)? };
    let ReportArgs { progress, stats } = ReportArgs::default();
    let options = Reading {
        limit: None,
        predicate: None,
        progress: progress.progress,
        stats: stats.stats,
        is_first_pass: false,
    };
    Ok(rows(&read(engine, vec![source], options, ui, started)?))
}

/// A difference as a line.
fn line(difference: &Difference<'_>) -> String {
    let Difference { path, change, before, after, .. } = difference;
    let kinds = |kinds: &[Kind]| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    let all = |row: &SchemaRow| match row.kinds().collect::<Vec<_>>() {
        none if none.is_empty() => "null".to_owned(),
        some => kinds(&some),
    };
    let first = |row: Option<&SchemaRow>, kind: Option<Kind>| {
        let mut firsts = row.into_iter().flat_map(|row| &row.firsts);
        let found = firsts.find(|(mine, ..)| kind.is_none_or(|kind| kind == *mine));
        found.map_or(String::new(), |(_, at, _)| format!(" ({at})"))
    };
    let types = |row: Option<&SchemaRow>| row.map_or(String::new(), all);
    match change {
        Change::Appeared => format!("+ {path}: {}{}", types(*after), first(*after, None)),
        Change::Vanished => format!("- {path}: {}{}", types(*before), first(*before, None)),
        Change::Types(gone, come) => {
            let mut said = Vec::new();
            if !come.is_empty() {
                said.push(format!("now {}{}", kinds(come), first(*after, come.first().copied())));
            }
            if !gone.is_empty() {
                said.push(format!("no longer {}", kinds(gone)));
            }
            format!("~ {path}: {}", said.join(", "))
        }
        Change::Nullable(true) => format!("~ {path}: may be null now{}", first(*after, Some(Kind::Null))),
        Change::Nullable(false) => {
            let missing = after.map_or(0, |row| row.missing);
            format!("~ {path}: may be missing now ({missing} times)")
        }
        Change::NotNullable => format!("~ {path}: is never null or missing any more"),
        Change::Map(true) => format!("~ {path}: is a map now"),
        Change::Map(false) => format!("~ {path}: is no map any more"),
    }
}

/// Reads a saved schema.
pub fn saved(path: &Path) -> Result<Vec<SchemaRow>, Failure> {
    let mut columns = vec![
        ("path".to_owned(), "$.path".to_owned(), ColumnType::Utf8),
        ("depth".to_owned(), "$.depth".to_owned(), ColumnType::Int64),
        ("missing".to_owned(), "$.missing".to_owned(), ColumnType::Int64),
        ("map".to_owned(), "$.map".to_owned(), ColumnType::Boolean),
    ];
    for name in ["repeated", "least", "greatest", "least_integer", "greatest_integer", "digits"] {
        columns.push((name.to_owned(), format!("$.{name}"), ColumnType::Int64));
    }
    for kind in Kind::ALL {
        columns.push((format!("count {kind}"), format!("$.types.{kind}"), ColumnType::Int64));
        columns.push((format!("first {kind}"), format!("$.first.{kind}"), ColumnType::Utf8));
    }
    let queries = columns.iter().map(|(_, path, values)| Ok((Query::compile(path)?, values.clone())));
    let queries = queries.collect::<Result<Vec<_>, Error>>()?;
    let names: Vec<&str> = columns.iter().map(|(name, ..)| name.as_str()).collect();
    let schema = Schema::new(&queries)?.with_names(&names)?;
    let engine = Engine::builder().device(warpath_exec::devices::DeviceChoice::Cpu).build()?;
    let mut rows = Vec::new();
    let arrow = schema.to_arrow();
    for columns in engine.input(vec![Source::File(path.to_owned())]).columns(&schema) {
        let batch = columns?.into_arrow(&arrow).map_err(|error| Error::Internal(error.to_string()))?;
        for at in 0..batch.num_rows() {
            let row = row(&batch, at).ok_or_else(|| {
                Failure::usage(format!("{}: line {} is no row of a schema", path.display(), rows.len() + 1))
                    .with_help("a saved schema is the output of `warpath schema --format ndjson`, unchanged")
            })?;
            rows.push(row);
        }
    }
    Ok(rows)
}

/// A row of a saved schema; `None` if it lacks a member that every row has.
fn row(batch: &RecordBatch, at: usize) -> Option<SchemaRow> {
    let text = |name: &str| {
        let column = batch.column_by_name(name)?.as_string_opt::<i32>()?;
        column.is_valid(at).then(|| column.value(at).to_owned())
    };
    let number = |name: &str| {
        let column = batch.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
        column.is_valid(at).then(|| u64::try_from(column.value(at)).ok())?
    };
    let map = batch.column_by_name("map")?.as_boolean_opt()?;
    let mut row = SchemaRow {
        path: text("path")?,
        depth: usize::try_from(number("depth")?).ok()?,
        missing: number("missing")?,
        is_map: map.is_valid(at) && map.value(at),
        ..SchemaRow::default()
    };
    for kind in Kind::ALL {
        let Some(count) = number(&format!("count {kind}")) else { continue };
        row.counts[kind as usize] = count;
        row.firsts.push((kind, text(&format!("first {kind}"))?, String::new()));
    }
    let integer = |name: &str| {
        let column = batch.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
        column.is_valid(at).then(|| column.value(at))
    };
    if row.count(Kind::Int64) > 0 {
        // The least and the greatest number are beyond 64 bits, or floats, where there are such numbers.
        let bound = |name: &str, other: &str, most| integer(name).or_else(|| integer(other)).unwrap_or(most);
        row.integers = Some((
            bound("least_integer", "least", i64::MIN),
            bound("greatest_integer", "greatest", i64::MAX),
        ));
    }
    row.repeated = number("repeated").unwrap_or(0);
    row.big_digits = number("digits").and_then(|digits| usize::try_from(digits).ok()).unwrap_or(0);
    Some(row)
}
