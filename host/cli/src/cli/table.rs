//! Writers of typed columns in a binary format: Arrow IPC or Parquet.
//!
//! | module | contents |
//! |---|---|
//! | `arrow` | the writer of Arrow IPC |
//! | `message` | record batches of Arrow IPC, encoded from rows in parts |

mod arrow;
mod message;

#[cfg(feature = "parquet")]
use std::io;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
#[cfg(feature = "parquet")]
use parquet::errors::ParquetError;
use warpath::Error;
#[cfg(feature = "parquet")]
use warpath::columns::ParquetWriter;

use super::failure::Failure;
use super::out::Out;
use arrow::ArrowWriter;

/// A format of typed columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Arrow's IPC stream format. A reader can begin before the writer has finished.
    ArrowStream,
    /// Arrow's IPC file format, also known as Feather version 2: the stream format with a table of contents
    /// at the end.
    ArrowFile,
    /// Apache Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Writes batches of one schema.
pub enum TableWriter {
    Arrow(Box<ArrowWriter>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetWriter>),
}

/// Returns the failure for an encoder's error. No input can make an encoder fail, so the fault is internal.
fn internal(error: impl std::fmt::Display) -> Failure {
    Error::Internal(format!("columns could not be written: {error}")).into()
}

/// Returns the failure for an error of the writer of Parquet, which starts a thread.
#[cfg(feature = "parquet")]
fn parquet_failed(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => Error::Thread(*error).into(),
            Err(source) => internal(source),
        },
        other => internal(other),
    }
}

impl TableWriter {
    pub fn new(format: TableFormat, schema: SchemaRef) -> Result<Self, Failure> {
        Ok(match format {
            TableFormat::ArrowStream => Self::Arrow(Box::new(ArrowWriter::new(false, schema)?)),
            TableFormat::ArrowFile => Self::Arrow(Box::new(ArrowWriter::new(true, schema)?)),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                Self::Parquet(Box::new(ParquetWriter::new(schema).map_err(parquet_failed)?))
            }
        })
    }

    /// Returns true if the format can be read only when its end is written.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Arrow(writer) => writer.is_file(),
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => true,
        }
    }

    /// Adds rows, and writes when there are enough of them.
    pub fn add(&mut self, batch: RecordBatch, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::Arrow(writer) => writer.add(batch, out),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => {
                writer.add(batch).map_err(parquet_failed)?;
                writer.take(|bytes| out.lines(bytes))
            }
        }
    }

    /// Writes the rows so far, if the format can be read before its end is written.
    pub fn pause(&mut self, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::Arrow(writer) => writer.pause(out),
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => Ok(()),
        }
    }

    /// Adds metadata to the end of the file. A stream has none.
    pub fn add_metadata(&mut self, key: &str, value: String) {
        match self {
            Self::Arrow(writer) => writer.add_metadata(key, value),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => writer.add_metadata(key, value),
        }
    }

    /// Writes the last rows and the end of the format. No row may be added after this call.
    pub fn finish(&mut self, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::Arrow(writer) => writer.finish(out),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => {
                writer.finish().map_err(parquet_failed)?;
                writer.take(|bytes| out.lines(bytes))
            }
        }
    }
}
