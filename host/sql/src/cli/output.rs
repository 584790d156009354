//! Rows as a table, NDJSON, CSV, Arrow or Parquet.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::DataFusionError;
use datafusion::parquet::arrow::ArrowWriter;
use warpath_core::temporary::{OutputMode, Temporary};
use warpath_terminal::escape::escaped;
use warpath_terminal::streams::{ClientFile, Streams};

use super::args::Format;
use super::messages::{Failure, is_broken_pipe};

/// A destination of rows.
pub struct Output {
    rows: RowOutput,
    /// The name in messages.
    name: String,
    /// The file that becomes the output when all rows are written.
    file: Option<Unfinished>,
}

/// A file that takes its name when all rows are written.
enum Unfinished {
    /// A file of this machine.
    Own(Temporary),
    /// A file of the client of a server.
    Client(OfClient),
}

/// A file of a client, which a writer and its [`Output`] share.
#[derive(Clone)]
struct OfClient(Arc<Mutex<Box<dyn ClientFile>>>);

impl OfClient {
    fn with<R>(&self, work: impl FnOnce(&mut dyn ClientFile) -> R) -> R {
        work(&mut **self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for OfClient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|file| file.flush())
    }
}

type Out = Box<dyn Write + Send>;

enum RowOutput {
    /// Rows that are shown when all are there, because the widths of columns depend on them.
    Table(Out, SchemaRef, Vec<RecordBatch>),
    Ndjson(LineDelimitedWriter<Out>),
    Csv(Box<csv::Writer<Out>>, SchemaRef),
    Stream(Box<StreamWriter<Out>>),
    File(Box<FileWriter<Out>>),
    Parquet(Box<ArrowWriter<Out>>),
}

impl Output {
    pub fn new(
        format: Format,
        path: Option<&Path>,
        schema: &SchemaRef,
        streams: &Streams,
    ) -> Result<Self, DataFusionError> {
        if let (Format::Csv, Some(field)) = (format, schema.fields().iter().find(|it| is_nested(it))) {
            let (name, kind) = (field.name(), field.data_type());
            let failure = Failure::query(format!("CSV has no column of the type of `{name}`: {kind}"));
            return Err(failure.with_help("`--format ndjson` has lists and structs").into());
        }
        let name = path.map_or_else(|| "standard output".to_owned(), |path| format!("`{}`", path.display()));
        Self::begun(format, path, schema, &name, streams).map_err(|error| cannot_write(error, &name))
    }

    fn begun(
        format: Format,
        path: Option<&Path>,
        schema: &SchemaRef,
        name: &str,
        streams: &Streams,
    ) -> Result<Self, DataFusionError> {
        let (file, out): (_, Out) = match (path, streams.client()) {
            (Some(path), Some(client)) => {
                let file = OfClient(Arc::new(Mutex::new(client.create(path, true)?)));
                let out = Box::new(BufWriter::with_capacity(1 << 18, file.clone()));
                (Some(Unfinished::Client(file)), out)
            }
            (Some(path), None) => {
                let (temporary, file) = Temporary::beside(path, OutputMode::default())?;
                (Some(Unfinished::Own(temporary)), Box::new(BufWriter::with_capacity(1 << 20, file)))
            }
            (None, _) => (None, Box::new(BufWriter::with_capacity(1 << 16, streams.output()))),
        };
        let rows = match format {
            Format::Table => RowOutput::Table(out, schema.clone(), Vec::new()),
            Format::Ndjson => RowOutput::Ndjson(LineDelimitedWriter::new(out)),
            Format::Csv => RowOutput::Csv(Box::new(csv::Writer::new(out)), schema.clone()),
            Format::Arrow if file.is_some() => RowOutput::File(Box::new(FileWriter::try_new(out, schema)?)),
            Format::Parquet if file.is_some() => {
                RowOutput::Parquet(Box::new(ArrowWriter::try_new(out, schema.clone(), None)?))
            }
            Format::Arrow | Format::Parquet => {
                RowOutput::Stream(Box::new(StreamWriter::try_new(out, schema)?))
            }
        };
        Ok(Self { rows, name: name.to_owned(), file })
    }

    /// Adds rows.
    pub fn add(&mut self, batch: RecordBatch) -> Result<(), DataFusionError> {
        let written: Result<(), DataFusionError> = match &mut self.rows {
            RowOutput::Table(_, _, batches) => {
                batches.push(batch);
                Ok(())
            }
            RowOutput::Ndjson(writer) => writer.write(&batch).map_err(DataFusionError::from),
            RowOutput::Csv(writer, _) => writer.write(&batch).map_err(DataFusionError::from),
            RowOutput::Stream(writer) => writer.write(&batch).map_err(DataFusionError::from),
            RowOutput::File(writer) => writer.write(&batch).map_err(DataFusionError::from),
            RowOutput::Parquet(writer) => writer.write(&batch).map_err(DataFusionError::from),
        };
        written.map_err(|error| cannot_write(error, &self.name))
    }

    /// Writes what is left. The file then has its name.
    pub fn finish(self) -> Result<(), DataFusionError> {
        let name = self.name.clone();
        self.end().map_err(|error| cannot_write(error, &name))
    }

    fn end(self) -> Result<(), DataFusionError> {
        match self.rows {
            RowOutput::Table(mut out, schema, batches) => {
                let cells = batches.iter().map(cells).collect::<Result<Vec<_>, ArrowError>>()?;
                let empty = [RecordBatch::new_empty(texts(&schema))];
                let cells = if cells.is_empty() { &empty[..] } else { &cells[..] };
                writeln!(out, "{}", pretty_format_batches(cells)?)?;
                out.flush()?;
            }
            RowOutput::Ndjson(mut writer) => {
                writer.finish()?;
                writer.into_inner().flush()?;
            }
            RowOutput::Csv(mut writer, schema) => {
                // The names of columns, also if there was no row. They are written once.
                writer.write(&RecordBatch::new_empty(schema))?;
                writer.into_inner().flush()?;
            }
            RowOutput::Stream(mut writer) => {
                writer.finish()?;
                writer.get_mut().flush()?;
            }
            RowOutput::File(mut writer) => {
                writer.finish()?;
                writer.get_mut().flush()?;
            }
            RowOutput::Parquet(writer) => writer.into_inner()?.flush()?,
        }
        match self.file {
            None => {}
            Some(Unfinished::Own(file)) => file.rename()?,
            Some(Unfinished::Client(file)) => file.with(|file| file.complete())?,
        }
        Ok(())
    }
}

/// True for a column of lists, structs or maps.
fn is_nested(field: &Field) -> bool {
    field.data_type().is_nested()
}

/// The failure to write rows. A pipe that its reader has closed is no failure, so it stays as it is.
fn cannot_write(error: DataFusionError, name: &str) -> DataFusionError {
    if is_broken_pipe(&error) {
        return error;
    }
    let reason = error.find_root().strip_backtrace();
    let mut reason = reason.split(" (os error").next().unwrap_or_default();
    // The kinds of errors around that of the system.
    while let Some((_, inner)) = reason.split_once(" error: ") {
        reason = inner;
    }
    let is_full = Streams::current().client().is_some();
    // A server says why it takes no more.
    Failure::usage(if is_full { reason.to_owned() } else { format!("cannot write to {name}: {reason}") })
        .into()
}

/// The columns of a table as texts.
fn texts(schema: &SchemaRef) -> SchemaRef {
    let text = |name: &str| Field::new(escaped(name), DataType::Utf8, true);
    Arc::new(Schema::new(schema.fields().iter().map(|field| text(field.name())).collect::<Vec<_>>()))
}

/// The texts of cells, in which nothing controls a terminal.
fn cells(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let options = FormatOptions::default().with_null("NULL");
    let column = |column: &ArrayRef| -> Result<ArrayRef, ArrowError> {
        let formatter = ArrayFormatter::try_new(column, &options)?;
        let cells =
            (0..column.len()).map(|row| Ok(escaped(&formatter.value(row).try_to_string()?).into_owned()));
        Ok(Arc::new(StringArray::from(cells.collect::<Result<Vec<_>, ArrowError>>()?)))
    };
    let columns = batch.columns().iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(texts(&batch.schema()), columns, &options)
}
