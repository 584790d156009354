//! `warpath schema`.
//!
//! | module | contents |
//! |---|---|
//! | `show` | schemas as trees and tables |
//! | `read` | the schema of inputs |
//! | `diff` | `warpath schema diff`, and saved schemas |

mod diff;
mod read;
mod show;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use warpath::schema::{ArrowOptions, InputSchema, SchemaRow};
use warpath::{Source, schema};
use warpath_store::schema::ndjson;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::{SchemaArgs, SchemaCommand, SchemaFormat};
use super::failure::Failure;
use super::files;
use super::out::Out;
use super::run;
use super::written::Written;
pub use diff::saved;
pub use read::{Reading, read};

pub fn run(args: SchemaArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    if let Some(SchemaCommand::Diff(args)) = &args.command {
        return diff::run(args, ui, started);
    }
    let format = args.format()?;
    files::refuse_paths(
        &args.files,
        "`warpath schema` describes all paths; `warpath stats PATH` describes one",
    )?;
    let reading = files::Reading {
        follow: None,
        column: &args.column,
        engine: &args.engine,
        on_error: &args.on_error,
        strict: &args.strict,
        written: Written::of(&args.output),
    };
    let sources = files::inputs(&args.files, reading, ui)?;
    let mode = Source::output_mode(&sources);
    let name = table_name(&sources);
    let engine = run::engine(&args.engine, &args.on_error, &args.strict)?;
    let options = Reading {
        limit: args.limit.limit,
        predicate: args.only.predicate()?,
        keeps_names: args.maps.no_maps,
        progress: args.report.progress.progress,
        is_first_pass: false,
        stats: args.report.stats.stats,
    };
    let read = read(&engine, sources, options, ui, started)?;
    let text = match format {
        SchemaFormat::Tree => {
            show::tree(&rows(&read), Look::of(ui.when(), args.output.is_file(), false).color)
        }
        SchemaFormat::Table => show::table(&rows(&read), Look::of(ui.when(), args.output.is_file(), false)),
        SchemaFormat::Ndjson => {
            rows(&read).iter().map(|row| ndjson(row) + "\n").collect::<String>().into_bytes()
        }
        SchemaFormat::JsonSchema => schema::json_schema(&read.tree).into_bytes(),
        SchemaFormat::Arrow => schema::arrow_text(&read.tree.to_arrow(ArrowOptions::default())).into_bytes(),
        #[cfg(feature = "parquet")]
        SchemaFormat::Parquet => message_type(&read)?.into_bytes(),
        SchemaFormat::Sql => {
            schema::create_table(&name, &read.tree.to_arrow(ArrowOptions::default())).into_bytes()
        }
    };
    let mut out = Out::new(&args.output).made_from(mode);
    out.make_whole();
    out.lines(&text)?;
    out.complete()?;
    Ok(ExitCode::SUCCESS)
}

/// The rows of a schema.
fn rows(read: &InputSchema) -> Vec<SchemaRow> {
    schema::rows(&read.tree, &|position| read.locate(position))
}

/// The name of the table: that of the first input, without its extensions.
fn table_name(sources: &[Source]) -> String {
    let name = match sources.first() {
        Some(Source::File(path)) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        _ => None,
    };
    let stem = name.as_deref().and_then(|name| name.split('.').next()).filter(|stem| !stem.is_empty());
    stem.unwrap_or("records").to_owned()
}

/// The message type of Parquet for a schema.
#[cfg(feature = "parquet")]
fn message_type(read: &InputSchema) -> Result<String, Failure> {
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::schema::printer::print_schema;

    let schema = read.tree.to_arrow(ArrowOptions::default());
    let types = ArrowSchemaConverter::new()
        .convert(&schema)
        .map_err(|error| Failure::usage(format!("Parquet cannot store these records: {error}")))?;
    let mut text = Vec::new();
    print_schema(&mut text, types.root_schema());
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// True if a file is a saved schema: its first line is the row of the records.
pub fn is_saved(path: &Path) -> bool {
    use std::io::Read as _;

    const BEGIN: &[u8] = b"{\"path\":\"$\",\"count\":";
    let mut begin = [0; BEGIN.len()];
    path.is_file()
        && std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut begin).is_ok())
        && begin == *BEGIN
}
