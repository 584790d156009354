//! `warpath select --auto`: all members of the records, as nested columns.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use arrow_ipc::reader::FileReader;
use arrow_schema::{FieldRef, SchemaRef};
#[cfg(feature = "parquet")]
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use warpath::LoadedInput;
use warpath::columns::{ColumnType, NestedBatch, NestedSchema, Tally};
use warpath::schema::{JsonType, SchemaNode, SchemaTree};
use warpath::{Batch, Error, InputError, Program, Query, Source, TextColumn, ValueLayout, Want};
use warpath_core::json;
use warpath_exec::input::RecordLines;
#[cfg(feature = "parquet")]
use warpath_exec::input::StoredFile;
use warpath_store::schema::step_text;
use warpath_terminal::escape::escaped;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::columns::{self, Column};
use super::rows::{Cut, Rest};
use super::typed::METADATA_KEY;
use super::{losses, named};
use crate::cli::args::{OnMismatchArg, SelectArgs};
use crate::cli::failure::Failure;
use crate::cli::inherited;
use crate::cli::out::Out;
use crate::cli::run::{self, Flow, Needs, Refused, Sink};
use crate::cli::schema::{self, Reading};
use crate::cli::served;
use crate::cli::statistics::Statistics;
use crate::cli::table::TableWriter;
use crate::cli::written::Written;
use crate::cli::{files, formats};

/// The size of a partition, if none is given. Arrays of many columns are allocated for each partition, so the
/// rows of small partitions cost more: 1 MiB took 1.4 times the processor time of 8 MiB for tweets.
const PARTITION_BYTES: usize = 8 << 20;

/// Writes nested columns of all records.
pub fn run(mut args: SelectArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let has_rows_of_its_own = args.explode.is_some() || !args.sort.sort.is_empty();
    if has_rows_of_its_own || args.on_mismatch != OnMismatchArg::Null {
        return Err(Failure::usage(
            "`--auto` without columns has a row for each record, and takes all values",
        )
        .with_help("`--explode`, `--sort` and `--on-mismatch` are for columns with names: `id='$.id'`"));
    }
    let form = formats::of_rows(&args.format, &args.run.output)?;
    let Some(format) = formats::binary_form(form, &args.run.output) else {
        return Err(Failure::usage("`--auto` makes nested columns, and text has none")
            .with_help("add `--format parquet` or `--format arrow`"));
    };
    formats::check(
        form,
        &args.run.output,
        Look::of(ui.when(), args.run.output.is_file(), args.format.pretty.pretty),
    )?;
    let sources = files::inputs(&args.files, reading(&args), ui)?;
    let (schema, sources) = match &args.schema {
        Some(file) => {
            served::refuse("`--schema`")?;
            Written::of_run(&args.run).refuse("the schema", file)?;
            (saved(file)?, sources)
        }
        None => {
            let (first, again) = twice(sources)?;
            let limit = args.limit.limit.map(|limit| limit.saturating_add(args.skip.skip));
            let schema = of_all(&args, limit, first, ui, started)?;
            (schema, again.into_iter().map(Again::source).collect::<Result<_, _>>()?)
        }
    };
    args.engine.backend.partitions.partition_size.get_or_insert(PARTITION_BYTES);
    // A record of nested columns is read by the grammar.
    let engine = run::engine_with(&args.engine, &args.run, true)?;
    let (schema, is_named) = (Arc::new(schema), args.with_filename);
    let mut table = Nested {
        writer: TableWriter::new(
            format,
            if is_named { named::schema(schema.schema()) } else { schema.schema().clone() },
        )?,
        is_named,
        schema,
        tally: Tally::default(),
        limit: Rest::new(args.limit.limit, args.skip.skip, true),
    };
    let program = Program::new(&[Query::compile("$")?])?;
    run::consume(&engine, sources, program, &mut table, &args.run, ui, started)?;
    Ok(ExitCode::SUCCESS)
}

/// The columns of text for all members of the records: a column for each value that is no object, named by
/// its path, such as `user.lang`. Arrays, and objects that are maps, are JSON. Also returns the inputs once
/// more.
pub fn flat(args: &SelectArgs, ui: &Ui, started: Instant) -> Result<(Vec<Column>, Vec<Source>), Failure> {
    let inputs = files::inputs(&args.files, reading(args), ui)?;
    let (first, again) = match &args.schema {
        Some(_) => {
            return Err(Failure::usage("`--schema` has nested columns, and text has none")
                .with_help("add `--format parquet` or `--format arrow`, or leave `--schema` out"));
        }
        None => twice(inputs)?,
    };
    let limit = args.limit.limit.map(|limit| limit.saturating_add(args.skip.skip));
    let tree = tree(args, limit, first, ui, started)?;
    let mut columns = Vec::new();
    add_flat(tree.root(), "", "$", &mut columns)?;
    Ok((columns, again.into_iter().map(Again::source).collect::<Result<_, _>>()?))
}

/// The columns of the members of all records, with their types. Objects that are maps are JSON. Also returns
/// the inputs once more, if they were read.
pub fn members(
    args: &SelectArgs,
    ui: &Ui,
    started: Instant,
) -> Result<(Vec<Column>, Option<Vec<Source>>), Failure> {
    let (schema, again) = known(args, ui, started)?;
    let column = |field: &FieldRef| {
        let name = field.name().clone();
        let query = Query::compile(&format!("$[{}]", json::encode(&name)))?;
        let values = schema.type_at(&query).ok_or_else(|| {
            Failure::usage("the records are no objects, so they have no columns for files of their own")
                .with_help("give columns: `value='$'`")
        })?;
        Ok(Column { name, values: Some(values), is_auto: false, query, default: None })
    };
    let columns = schema.schema().fields().iter().map(column).collect::<Result<_, Failure>>()?;
    Ok((columns, again))
}

/// The schema of `--schema`, or of all records. Also returns the inputs once more, if they were read.
fn known(
    args: &SelectArgs,
    ui: &Ui,
    started: Instant,
) -> Result<(NestedSchema, Option<Vec<Source>>), Failure> {
    if let Some(file) = &args.schema {
        return Ok((saved(file)?, None));
    }
    let inputs = files::inputs(&args.files, reading(args), ui)?;
    let (first, again) = twice(inputs)?;
    let schema = of_all(args, None, first, ui, started)?;
    Ok((schema, Some(again.into_iter().map(Again::source).collect::<Result<_, _>>()?)))
}

/// Adds the columns of the members of an object, whose name and path are given.
fn add_flat(node: SchemaNode<'_>, name: &str, path: &str, columns: &mut Vec<Column>) -> Result<(), Failure> {
    let kinds: Vec<JsonType> = node.kinds().into_iter().filter(|kind| *kind != JsonType::Null).collect();
    let members = node.members();
    if kinds != [JsonType::Object] || members.is_empty() || node.values().is_some() {
        let query = Query::compile(path)?;
        let name = if name.is_empty() { "value" } else { name }.to_owned();
        columns.push(Column { name, values: None, is_auto: false, query, default: None });
        return Ok(());
    }
    for member in members {
        let own = member.name().unwrap_or_default();
        let name = if name.is_empty() { own } else { format!("{name}.{own}") };
        add_flat(member, &name, &format!("{path}{}", step_text(member.step())), columns)?;
    }
    Ok(())
}

/// The options that say how inputs are read.
fn reading(args: &SelectArgs) -> files::Reading<'_> {
    files::Reading::of_run(&args.column, &args.engine, &args.run).following(&args.follow)
}

/// The types that columns have from the schema.
#[derive(Default)]
pub struct Types {
    /// For each column, its type; `None` for a column that has its own, or none.
    pub of_columns: Vec<Option<ColumnType>>,
    /// The inputs once more, if they were read.
    pub again: Option<Vec<Source>>,
}

/// Finds the types of columns that have those of the schema.
pub fn types(args: &SelectArgs, ui: &Ui, started: Instant) -> Result<Types, Failure> {
    let form = formats::of_rows(&args.format, &args.run.output)?;
    let is_text = formats::binary_form(form, &args.run.output).is_none();
    let instants = &args.run.only;
    let elements = args.explode.as_deref().map(|path| instants.query(path)?.elements()).transpose()?;
    let parse = |arg: &String| columns::parse(arg, is_text, elements.as_ref(), instants);
    let mut columns = args.columns.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    columns.iter_mut().for_each(|column| column.is_auto |= args.auto && column.values.is_none());
    if !columns.iter().any(|column| column.is_auto) {
        return match args.schema {
            Some(_) => Err(Failure::usage("`--schema` gives types to columns, and no column needs one")
                .with_help("add `--auto`, or give a column the type `auto`: `id:auto='$.id'`")),
            None => Ok(Types::default()),
        };
    }
    if is_text {
        return Err(Failure::usage("`--auto` gives columns types, and text formats have none")
            .with_help("add `--format parquet` or `--format arrow`"));
    }
    let (schema, again) = known(args, ui, started)?;
    let type_of = |column: &Column| match column.is_auto {
        false => Ok(None),
        true => schema.type_at(&column.query).map(Some).ok_or_else(|| {
            let (name, path) = (&column.name, column.query.text());
            Failure::usage(format!("column `{name}`: the schema has no path `{path}`, so it has no type"))
                .with_help(format!("give the column a type: `{name}:text={path}`"))
        }),
    };
    Ok(Types { of_columns: columns.iter().map(type_of).collect::<Result<_, _>>()?, again })
}

/// The schema of all records that are chosen.
fn of_all(
    args: &SelectArgs,
    limit: Option<u64>,
    sources: Vec<Source>,
    ui: &Ui,
    started: Instant,
) -> Result<NestedSchema, Failure> {
    Ok(NestedSchema::of_tree(&tree(args, limit, sources, ui, started)?)?)
}

/// The schema of all records.
fn tree(
    args: &SelectArgs,
    limit: Option<u64>,
    sources: Vec<Source>,
    ui: &Ui,
    started: Instant,
) -> Result<SchemaTree, Failure> {
    // A limit has to count the same records as the second pass, which leaves malformed strings out.
    let engine = run::engine_with(&args.engine, &args.run, args.run.strict.strict || limit.is_some())?;
    // The columns of an index choose records, too, and the text does not have them.
    let predicate = args.run.only.predicate()?;
    let has_columns = predicate.as_ref().is_some_and(|it| it.parts().without_rest().0.is_some());
    let options = Reading {
        limit: limit.filter(|_| !has_columns),
        predicate: predicate.filter(|_| !has_columns),
        keeps_names: args.maps.no_maps,
        progress: args.run.report.progress.progress,
        stats: None,
        is_first_pass: true,
    };
    let tree = schema::read(&engine, sources, options, ui, started)?.tree;
    if tree.is_empty() {
        return Err(Failure::usage("there is no record, so there are no columns")
            .with_help("`--schema FILE` takes the columns from a saved schema, or a Parquet or Arrow file"));
    }
    Ok(tree)
}

/// An input that can be read once more.
enum Again {
    File(PathBuf),
    /// A copy of an input, with its name.
    Copy(String, File),
    /// A part of a store at a URL.
    #[cfg(feature = "parquet")]
    Stored(StoredFile),
    /// An input in memory.
    Loaded(LoadedInput),
    /// A column of a table.
    Column(Box<Again>, TextColumn),
    /// Values of another layout than lines.
    Values(Box<Again>, ValueLayout),
    /// Records within records.
    Records(Box<Again>, RecordLines),
}

impl Again {
    fn source(self) -> Result<Source, Failure> {
        match self {
            Self::File(path) => Ok(Source::File(path)),
            #[cfg(feature = "parquet")]
            Self::Stored(part) => Ok(Source::Stored(part)),
            Self::Loaded(input) => Ok(Source::Loaded(input)),
            Self::Column(table, column) => Ok(Source::Column(Box::new(table.source()?), column)),
            Self::Values(inner, layout) => Ok(Source::Values(Box::new(inner.source()?), layout)),
            Self::Records(inner, lines) => Ok(Source::Records(Box::new(inner.source()?), lines)),
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
        #[cfg(feature = "parquet")]
        Source::Stored(part) => return Ok((Source::Stored(part.clone()), Again::Stored(part))),
        Source::Loaded(input) => return Ok((Source::Loaded(input.clone()), Again::Loaded(input))),
        Source::Stdin => Box::new(io::stdin()),
        Source::Reader(_, reader) => reader,
        Source::Column(table, column) => {
            let (first, again) = both(*table)?;
            return Ok((
                Source::Column(Box::new(first), column.clone()),
                Again::Column(Box::new(again), column),
            ));
        }
        Source::Values(inner, layout) => {
            let (first, again) = both(*inner)?;
            let first = Source::Values(Box::new(first), layout);
            return Ok((first, Again::Values(Box::new(again), layout)));
        }
        Source::Records(inner, lines) => {
            let (first, again) = both(*inner)?;
            let first = Source::Records(Box::new(first), lines.apart());
            return Ok((first, Again::Records(Box::new(again), lines)));
        }
        Source::Followed(..) | Source::FollowedAll(_) => {
            return Err(Failure::usage("`--auto` reads its input twice, and a followed file does not end"));
        }
        // The program makes no other inputs.
        _ => return Err(Failure::usage("`--auto` reads its input twice, which this input does not allow")),
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

/// The columns that a file has: a schema saved as NDJSON, or an Arrow or Parquet file.
fn saved(path: &Path) -> Result<NestedSchema, Failure> {
    if !schema::is_saved(path) {
        return Ok(NestedSchema::new(of_table(path)?)?);
    }
    let tree = SchemaTree::of_rows(&schema::saved(path)?).map_err(|row| {
        Failure::usage(format!(
            "{}: line {} is below no other row",
            escaped(&path.display().to_string()),
            row + 1
        ))
        .with_help("a saved schema is the output of `warpath schema --format ndjson`, unchanged")
    })?;
    Ok(NestedSchema::of_tree(&tree)?)
}

/// The schema that an Arrow or a Parquet file has.
fn of_table(path: &Path) -> Result<SchemaRef, Failure> {
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
        _ => Err(wrong(
            &"this is no Arrow or Parquet file, and no schema that `warpath schema --format ndjson` has saved",
        )),
    }
}

/// A sink that writes nested columns, up to a limit.
struct Nested {
    schema: Arc<NestedSchema>,
    writer: TableWriter,
    /// The values that the columns did not take.
    tally: Tally,
    limit: Rest,
    /// True if the writer's first column has the names of files.
    is_named: bool,
}

impl Nested {
    /// Adds the rows of a batch. `place` gives the input and the line of a row of the batch.
    fn add(
        &mut self,
        batch: NestedBatch,
        source: &str,
        place: impl Fn(u64) -> (String, u64),
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.tally.join(&batch.losses, place);
        let rows = match self.is_named {
            true => named::columns(&batch.rows, std::iter::repeat_n(source, batch.rows.num_rows()))?,
            false => batch.rows,
        };
        self.writer.add(rows, out)
    }
}

impl Sink for Nested {
    fn needs(&self) -> Needs {
        Needs {
            decodes: Some(self.schema.clone()),
            is_done: self.limit.is_reached(),
            is_whole: self.writer.is_whole(),
            ..Needs::new(self.limit.of(Want::default()).records(true).sparse(true))
        }
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let mut flow = Flow::Continue;
        let made = batch.take_nested();
        let batch = &*batch;
        for (at, ((first, piece), nested)) in batch.pieces().zip(made).enumerate() {
            let count = piece.records.len();
            let from = self.limit.skip(count, &[]);
            let cut = self.limit.count(piece, count, &[]);
            let to = cut.map_or(count, |cut| cut.rows);
            let from = from.min(to);
            let nested = match (from, to) {
                (0, to) if to == count => nested,
                (from, to) => piece.decoded(batch.text(), &self.schema, from..to)?,
            };
            let mut before = from;
            for made in nested {
                let rows = made.rows.num_rows();
                let place = |row: u64| {
                    let line = piece.records.get(before + row as usize).copied().unwrap_or_default();
                    (batch.source().to_owned(), batch.line_at(piece, first, line, 0))
                };
                self.add(made, batch.source(), place, out)?;
                before += rows;
            }
            if let Some(Cut { line, .. }) = cut {
                flow = Flow::Stop { piece: at, line };
                break;
            }
        }
        Ok(flow)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let columns = self.schema.typed_paths();
        self.tally.columns.resize_with(columns.len(), Default::default);
        self.writer.add_metadata(METADATA_KEY, losses::metadata(&self.tally, &columns));
        self.writer.finish(out)
    }

    fn report(&self, ui: &Ui) {
        losses::warn(&self.tally, &self.schema.typed_paths(), None, ui);
    }

    fn statistics(&self, statistics: Statistics) -> Statistics {
        losses::statistics(&self.tally, &self.schema.typed_paths(), statistics)
    }
}
