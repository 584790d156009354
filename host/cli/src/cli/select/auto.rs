//! `warpath select --auto`: all members of the records, as nested columns.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use arrow_ipc::reader::FileReader;
use arrow_schema::SchemaRef;
#[cfg(feature = "parquet")]
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use warpath::answer::Want;
use warpath::columns::{Losses, NestedBatch, NestedSchema};
use warpath::{Batch, Error, InputError, Program, Query, Source, TextColumn};

use super::named;
use super::rows::{Cut, Rest};
use crate::cli::args::{SelectArgs, StrictArgs};
use crate::cli::escape::escaped;
use crate::cli::failure::Failure;
use crate::cli::inherited;
use crate::cli::out::Out;
use crate::cli::progress::Progress;
use crate::cli::run::{self, Consumer, Flow};
use crate::cli::table::TableWriter;
use crate::cli::ui::Ui;
use crate::cli::written::Written;
use crate::cli::{files, formats};

/// The size of a partition, if none is given. Arrays of many columns are allocated for each partition, so the
/// rows of small partitions cost more: 1 MiB took 1.4 times the processor time of 8 MiB for tweets.
const PARTITION_BYTES: usize = 8 << 20;

/// Writes nested columns of all records.
pub fn run(mut args: SelectArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    if let Some(column) = args.columns.first() {
        return Err(Failure::usage(format!("`--auto` makes all columns, and `{column}` is no file")));
    }
    let form = formats::of_rows(&args.format, &args.run.output)?;
    let Some(format) = formats::binary_form(form, &args.run.output) else {
        return Err(Failure::usage("`--auto` makes nested columns, and text has none")
            .with_help("add `--format parquet` or `--format arrow`"));
    };
    formats::check(form, &args.run.output, ui.look(&args.run.output, args.format.pretty.pretty))?;
    let sources =
        files::inputs(&args.files, &args.follow, &args.column, &args.engine, Written::of_run(&args.run), ui)?;
    let (schema, sources) = match &args.schema {
        Some(file) => {
            Written::of_run(&args.run).refuse("the schema", file)?;
            (NestedSchema::new(saved(file)?)?, sources)
        }
        None => {
            let (first, again) = twice(sources)?;
            let schema = of_all(&args, first)?;
            (schema, again.into_iter().map(Again::source).collect::<Result<_, _>>()?)
        }
    };
    args.engine.backend.partitions.partition_size.get_or_insert(PARTITION_BYTES);
    // A record of nested columns is read by the grammar.
    let strict = StrictArgs { strict: true };
    let engine = run::engine(&args.engine, &args.run.on_error, &strict)?;
    let (schema, is_named) = (Arc::new(schema), args.with_filename);
    let mut table = Nested {
        writer: TableWriter::new(
            format,
            if is_named { named::schema(schema.schema()) } else { schema.schema().clone() },
        )?,
        is_named,
        schema,
        losses: Losses::default(),
        rows: 0,
        limit: Rest::new(args.limit.limit, args.skip.skip, true),
    };
    let program = Program::new(&[Query::compile("$")?])?;
    let done = run::consume(&engine, sources, program, &mut table, &args.run, ui, started);
    table.warn(ui);
    done?;
    Ok(ExitCode::SUCCESS)
}

/// The schema of all records.
fn of_all(args: &SelectArgs, sources: Vec<Source>) -> Result<NestedSchema, Failure> {
    let engine = run::engine(&args.engine, &args.run.on_error, &args.run.strict)?;
    // Records that are rejected later count as records of a limit here, too.
    let limit = args.limit.limit.map(|limit| limit.saturating_add(args.skip.skip));
    let limit = limit.filter(|_| args.run.only.only.is_none());
    let mut progress = Progress::new(args.run.report.progress.progress, &sources, false);
    let mut parts = engine.input(sources).schema(limit);
    let mut faulty = None;
    while let Some(part) = parts.next() {
        match part {
            Ok(part) => {
                faulty = part.faulty;
                progress.update(parts.bytes_read());
            }
            Err(error) => {
                progress.finish(parts.bytes_read());
                let is_record = matches!(error, Error::Input(InputError::Record(_)));
                let shown = faulty.filter(|_| is_record).map(|(line, at)| run::excerpt(&line, at));
                return Err(Failure::Library(Box::new(error), shown));
            }
        }
    }
    progress.finish(parts.bytes_read());
    let tree = parts.finish().tree;
    if tree.is_empty() {
        return Err(Failure::usage("there is no record, so there are no columns")
            .with_help("`--schema FILE` takes the columns from a Parquet or Arrow file"));
    }
    Ok(NestedSchema::of_tree(&tree)?)
}

/// An input that can be read once more.
enum Again {
    File(PathBuf),
    /// A copy of an input, with its name.
    Copy(String, File),
    /// A column of a table.
    Column(Box<Again>, TextColumn),
}

impl Again {
    fn source(self) -> Result<Source, Failure> {
        match self {
            Self::File(path) => Ok(Source::File(path)),
            Self::Column(table, column) => Ok(Source::Column(Box::new(table.source()?), column)),
            Self::Copy(name, mut file) => {
                file.rewind().map_err(|source| Error::from(InputError::Io { name: name.clone(), source }))?;
                Ok(Source::Reader(name, Box::new(file)))
            }
        }
    }
}

/// Inputs for two passes. What is no regular file is copied to a temporary file during the first pass.
fn twice(sources: Vec<Source>) -> Result<(Vec<Source>, Vec<Again>), Failure> {
    sources.into_iter().map(both).collect()
}

/// An input for the first pass, and for the second.
fn both(source: Source) -> Result<(Source, Again), Failure> {
    let name = source.name();
    let reader: Box<dyn Read + Send> = match source {
        Source::File(path) if !path.metadata().is_ok_and(|metadata| is_pipe(&metadata)) => {
            return Ok((Source::File(path.clone()), Again::File(path)));
        }
        Source::File(path) => {
            let opened = inherited::named(&path).and_then(|()| File::open(&path));
            Box::new(opened.map_err(|source| Error::from(InputError::Io { name: name.clone(), source }))?)
        }
        Source::Stdin => Box::new(io::stdin()),
        Source::Reader(_, reader) => reader,
        Source::Column(table, column) => {
            let (first, again) = both(*table)?;
            return Ok((
                Source::Column(Box::new(first), column.clone()),
                Again::Column(Box::new(again), column),
            ));
        }
        Source::Followed(..) | Source::FollowedAll(_) => {
            return Err(Failure::usage("`--auto` reads its input twice, and a followed file does not end"));
        }
    };
    let failed = |source| Failure::Output { name: "a temporary file".into(), source };
    let copy = tempfile::tempfile().map_err(failed)?;
    let file = copy.try_clone().map_err(failed)?;
    Ok((Source::Reader(name.clone(), Box::new(Copying { reader, copy })), Again::Copy(name, file)))
}

/// Returns true for what cannot be read twice.
fn is_pipe(metadata: &std::fs::Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir()
}

/// A reader that copies what it reads.
struct Copying {
    reader: Box<dyn Read + Send>,
    copy: File,
}

impl Read for Copying {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(room)?;
        self.copy.write_all(&room[..count])?;
        Ok(count)
    }
}

/// The schema that a file has: an Arrow or a Parquet file.
fn saved(path: &Path) -> Result<SchemaRef, Failure> {
    let failed = |source| Error::from(InputError::Io { name: path.display().to_string(), source });
    let mut file = File::open(path).map_err(failed)?;
    let mut magic = Vec::new();
    Read::by_ref(&mut file).take(6).read_to_end(&mut magic).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let name = path.display().to_string();
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", escaped(&name)));
    match &magic[..] {
        #[cfg(feature = "parquet")]
        [b'P', b'A', b'R', b'1', ..] => {
            let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new());
            Ok(metadata.map_err(|error| wrong(&error))?.schema().clone())
        }
        b"ARROW1" => Ok(FileReader::try_new(file, None).map_err(|error| wrong(&error))?.schema()),
        _ => Err(wrong(&"this is no Arrow or Parquet file, whose schema the columns could have")),
    }
}

/// A consumer that writes nested columns, up to a limit.
struct Nested {
    schema: Arc<NestedSchema>,
    writer: TableWriter,
    losses: Losses,
    /// The number of rows so far. Losses have the number of their first row.
    rows: u64,
    limit: Rest,
    /// True if the writer's first column has the names of files.
    is_named: bool,
}

impl Nested {
    fn add(&mut self, batch: NestedBatch, source: &str) -> Result<(), Failure> {
        let before = self.rows;
        self.losses.add(&batch.losses, |row| before + row);
        self.rows += batch.rows.num_rows() as u64;
        let rows = match self.is_named {
            true => named::columns(&batch.rows, std::iter::repeat_n(source, batch.rows.num_rows()))?,
            false => batch.rows,
        };
        self.writer.add(rows)
    }

    /// Warns of each column that did not take values.
    fn warn(&self, ui: &Ui) {
        for (path, loss) in self.schema.paths().iter().zip(&self.losses.columns) {
            let kinds = [("of another type", loss.mismatch, 2), ("beyond the type", loss.overflow, 3)];
            let kinds = kinds.iter().filter(|(_, count, _)| *count > 0);
            let kinds: Vec<String> = kinds
                .map(|(kind, count, cause)| {
                    let row = loss.first[*cause].map_or(0, |row| row + 1);
                    format!("{count} {kind} (first: row {row})")
                })
                .collect();
            if !kinds.is_empty() {
                let values = if loss.lost() == 1 { "value" } else { "values" };
                ui.warning(format_args!(
                    "column `{}`: {} {values} not taken, null instead: {}",
                    escaped(path),
                    loss.lost(),
                    kinds.join(", ")
                ));
            }
        }
    }
}

impl Consumer for Nested {
    fn want(&self) -> Want {
        Want { records: true, ..self.limit.of(Want::default()) }
    }

    fn decodes(&self) -> Option<Arc<NestedSchema>> {
        Some(self.schema.clone())
    }

    fn is_done(&self) -> bool {
        self.limit.is_reached()
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out) -> Result<Flow, Failure> {
        let mut flow = Flow::Continue;
        for (at, nested) in batch.take_nested().into_iter().enumerate() {
            let Some(piece) = batch.piece(at) else { break };
            let count = piece.records.len();
            let from = self.limit.skip(count, &[]);
            let cut = self.limit.count(piece, count, &[]);
            let to = cut.map_or(count, |cut| cut.rows);
            let nested = match (from, to) {
                (0, to) if to == count => nested,
                (from, to) => piece.decoded(batch.text(), &self.schema, from.min(to)..to)?,
            };
            for rows in nested {
                self.add(rows, batch.source())?;
            }
            if let Some(Cut { line, .. }) = cut {
                flow = Flow::Stop { piece: at, line };
                break;
            }
        }
        out.lines(&self.writer.take())?;
        Ok(flow)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.writer.finish()?;
        out.lines(&self.writer.take())
    }
}
