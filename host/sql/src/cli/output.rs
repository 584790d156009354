//! Rows as a table, NDJSON, CSV, Arrow or Parquet.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::display::FormatOptions;
use datafusion::arrow::util::pretty::pretty_format_batches_with_options;
use datafusion::error::DataFusionError;
use datafusion::parquet::arrow::ArrowWriter;
use warpath_core::temporary::{OutputMode, Temporary};

use super::args::Format;
use super::messages::Failure;

/// A destination of rows.
pub struct Output {
    rows: Rows,
    /// The file that becomes the output when all rows are written.
    file: Option<Temporary>,
}

type Out = Box<dyn Write + Send>;

enum Rows {
    /// Rows that are shown when all are there, because the widths of columns depend on them.
    Table(Out, SchemaRef, Vec<RecordBatch>),
    Ndjson(LineDelimitedWriter<Out>),
    Csv(Box<csv::Writer<Out>>),
    Stream(Box<StreamWriter<Out>>),
    File(Box<FileWriter<BufWriter<File>>>),
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
}

impl Output {
    pub fn new(format: Format, path: Option<&Path>, schema: &SchemaRef) -> Result<Self, Failure> {
        let (file, opened) = match path {
            Some(path) => {
                let made = Temporary::beside(path, OutputMode::default());
                let (temporary, file) =
                    made.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
                (Some(temporary), Some(file))
            }
            None => (None, None),
        };
        let buffered = |file: Option<File>| -> Out {
            match file {
                Some(file) => Box::new(BufWriter::with_capacity(1 << 20, file)),
                None => Box::new(BufWriter::with_capacity(1 << 16, io::stdout())),
            }
        };
        let failed = |error: ArrowError| Failure::of_query(error.into(), "");
        let rows = match (format, opened) {
            (Format::Table, opened) => Rows::Table(buffered(opened), schema.clone(), Vec::new()),
            (Format::Ndjson, opened) => Rows::Ndjson(LineDelimitedWriter::new(buffered(opened))),
            (Format::Csv, opened) => Rows::Csv(Box::new(csv::Writer::new(buffered(opened)))),
            (Format::Arrow, Some(file)) => {
                Rows::File(Box::new(FileWriter::try_new(BufWriter::new(file), schema).map_err(failed)?))
            }
            (Format::Parquet, Some(file)) => {
                let writer = ArrowWriter::try_new(BufWriter::new(file), schema.clone(), None);
                let writer = writer.map_err(|error| Failure::of_query(error.into(), ""))?;
                Rows::Parquet(Box::new(writer))
            }
            (Format::Arrow | Format::Parquet, None) => {
                Rows::Stream(Box::new(StreamWriter::try_new(buffered(None), schema).map_err(failed)?))
            }
        };
        Ok(Self { rows, file })
    }

    /// Adds rows.
    pub fn add(&mut self, batch: RecordBatch) -> Result<(), DataFusionError> {
        match &mut self.rows {
            Rows::Table(_, _, batches) => batches.push(batch),
            Rows::Ndjson(writer) => writer.write(&batch)?,
            Rows::Csv(writer) => writer.write(&batch)?,
            Rows::Stream(writer) => writer.write(&batch)?,
            Rows::File(writer) => writer.write(&batch)?,
            Rows::Parquet(writer) => writer.write(&batch)?,
        }
        Ok(())
    }

    /// Writes what is left. The file then has its name.
    pub fn finish(self) -> Result<(), DataFusionError> {
        match self.rows {
            Rows::Table(mut out, schema, batches) => {
                let options = FormatOptions::default().with_null("NULL");
                let empty = [RecordBatch::new_empty(schema)];
                let batches = if batches.is_empty() { &empty[..] } else { &batches[..] };
                writeln!(out, "{}", pretty_format_batches_with_options(batches, &options)?)?;
                out.flush()?;
            }
            Rows::Ndjson(mut writer) => {
                writer.finish()?;
                writer.into_inner().flush()?;
            }
            Rows::Csv(writer) => writer.into_inner().flush()?,
            Rows::Stream(mut writer) => {
                writer.finish()?;
                writer.get_mut().flush()?;
            }
            Rows::File(mut writer) => writer.finish()?,
            Rows::Parquet(writer) => drop(writer.close()?),
        }
        if let Some(file) = self.file {
            file.rename()?;
        }
        Ok(())
    }
}
