//! `warpath schema diff`, and saved schemas.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use warpath::schema::{self, Change, Difference, JsonType, SchemaRow};
use warpath::{Engine, Error, Source};
use warpath_exec::saved_schema;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;

use super::super::args::{FileArgs, ReportArgs, SchemaDiffArgs};
use super::super::failure::Failure;
use super::super::out::Out;
use super::super::written::Written;
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
    let no_maps = args.maps.no_maps;
    let [before, after] =
        [&args.before, &args.after].map(|path| rows_of(path, no_maps, &engine, ui, started));
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

/// The rows of an input, of several that one name means, or of a saved schema.
fn rows_of(
    path: &Path,
    keeps_names: bool,
    engine: &Engine,
    ui: &Ui,
    started: Instant,
) -> Result<Vec<SchemaRow>, Failure> {
    if is_saved(path) {
        return saved(path);
    }
    let files = FileArgs { files: vec![path.to_owned()], ..FileArgs::default() };
    let sources = files::recognised(files::sources(&files, Written::default(), ui)?)?;
    let ReportArgs { progress, stats } = ReportArgs::default();
    let options = Reading {
        limit: None,
        predicate: None,
        keeps_names,
        progress: progress.progress,
        stats: stats.stats,
        is_first_pass: false,
    };
    Ok(rows(&read(engine, sources, options, ui, started)?))
}

/// A difference as a line.
fn line(difference: &Difference<'_>) -> String {
    let Difference { path, change, before, after, .. } = difference;
    let kinds = |kinds: &[JsonType]| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    let all = |row: &SchemaRow| match row.kinds().collect::<Vec<_>>() {
        none if none.is_empty() => "null".to_owned(),
        some => kinds(&some),
    };
    let first = |row: Option<&SchemaRow>, kind: Option<JsonType>| {
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
        Change::Nullable(true) => format!("~ {path}: may be null now{}", first(*after, Some(JsonType::Null))),
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
    saved_schema::rows(Source::File(path.to_owned())).map_err(|error| match error {
        Error::Usage(what) => Failure::usage(what)
            .with_help("a saved schema is the output of `warpath schema --format ndjson`, unchanged"),
        other => other.into(),
    })
}
