//! Writers of typed columns in a binary format: Arrow IPC or Parquet.
//!
//! | module | contents |
//! |---|---|
//! | `row_groups` | the writer of Parquet |

#[cfg(feature = "parquet")]
mod row_groups;

use std::mem;

use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use warpath::Error;

use super::failure::Failure;
#[cfg(feature = "parquet")]
use row_groups::ParquetWriter;

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

/// The least number of rows in an Arrow batch; or the number of bytes that ends a batch earlier. The last
/// batch may be smaller. A partition has fewer rows, because its size is chosen for fast reading.
const BATCH_ROWS: usize = 8 << 10;
const BATCH_BYTES: usize = 16 << 20;

/// Encodes batches of one schema as bytes.
pub struct TableWriter {
    encoder: Encoder,
    schema: SchemaRef,
    /// The rows that are too few for a batch yet.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
}

enum Encoder {
    Stream(StreamWriter<Vec<u8>>),
    File(FileWriter<Vec<u8>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetWriter>),
}

/// Returns the failure for an encoder's error. No input can make an encoder fail, so the fault is internal.
fn internal(error: impl std::fmt::Display) -> Failure {
    Error::Internal(format!("columns could not be written: {error}")).into()
}

/// One column of several batches, which have `rows` rows together.
fn joined(batches: &[RecordBatch], column: usize, rows: usize) -> Result<ArrayRef, ArrowError> {
    let parts: Vec<_> = batches.iter().map(|batch| batch.column(column).to_data()).collect();
    let mut whole = MutableArrayData::new(parts.iter().collect(), false, rows);
    for (at, part) in parts.iter().enumerate() {
        whole.try_extend(at, 0, part.len())?;
    }
    Ok(make_array(whole.freeze()))
}

impl TableWriter {
    pub fn new(format: TableFormat, schema: SchemaRef) -> Result<Self, Failure> {
        let bytes = Vec::new();
        let encoder = match format {
            TableFormat::ArrowStream => {
                Encoder::Stream(StreamWriter::try_new(bytes, &schema).map_err(internal)?)
            }
            TableFormat::ArrowFile => Encoder::File(FileWriter::try_new(bytes, &schema).map_err(internal)?),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                Encoder::Parquet(Box::new(ParquetWriter::new(schema.clone()).map_err(internal)?))
            }
        };
        Ok(Self { encoder, schema, waiting: Vec::new(), waiting_rows: 0, waiting_bytes: 0 })
    }

    /// Adds rows, and writes a batch when there are enough of them.
    pub fn add(&mut self, batch: RecordBatch) -> Result<(), Failure> {
        #[cfg(feature = "parquet")]
        if let Encoder::Parquet(writer) = &mut self.encoder {
            return writer.add(batch).map_err(internal);
        }
        self.waiting_rows += batch.num_rows();
        self.waiting_bytes += batch.get_array_memory_size();
        self.waiting.push(batch);
        if self.waiting_rows >= BATCH_ROWS || self.waiting_bytes >= BATCH_BYTES {
            self.write_waiting().map_err(internal)?;
        }
        Ok(())
    }

    /// Writes the waiting rows as one batch.
    fn write_waiting(&mut self) -> Result<(), ArrowError> {
        let mut waiting = mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let rows = mem::take(&mut self.waiting_rows);
        let batch = match waiting.len() {
            0 => return Ok(()),
            1 => waiting.remove(0),
            _ => {
                let columns = (0..self.schema.fields().len()).map(|column| joined(&waiting, column, rows));
                RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_, _>>()?)?
            }
        };
        match &mut self.encoder {
            Encoder::Stream(writer) => writer.write(&batch),
            Encoder::File(writer) => writer.write(&batch),
            #[cfg(feature = "parquet")]
            Encoder::Parquet(writer) => writer.add(batch).map_err(Into::into),
        }
    }

    /// Writes the waiting rows, if the format can be read before its end is written.
    pub fn pause(&mut self) -> Result<(), Failure> {
        match &self.encoder {
            Encoder::Stream(_) => self.write_waiting().map_err(internal),
            _ => Ok(()),
        }
    }

    /// Adds metadata to the end of the file. A stream has none.
    pub fn add_metadata(&mut self, key: &str, value: String) {
        match &mut self.encoder {
            Encoder::Stream(_) => {}
            Encoder::File(writer) => writer.write_metadata(key, value),
            #[cfg(feature = "parquet")]
            Encoder::Parquet(writer) => writer.add_metadata(key, value),
        }
    }

    /// Writes the waiting rows and the end of the format. No row may be added after this call.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.write_waiting().map_err(internal)?;
        match &mut self.encoder {
            Encoder::Stream(writer) => writer.finish().map_err(internal),
            Encoder::File(writer) => writer.finish().map_err(internal),
            #[cfg(feature = "parquet")]
            Encoder::Parquet(writer) => writer.finish().map_err(internal),
        }
    }

    /// Returns the bytes that were written since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        match &mut self.encoder {
            Encoder::Stream(writer) => mem::take(writer.get_mut()),
            Encoder::File(writer) => mem::take(writer.get_mut()),
            #[cfg(feature = "parquet")]
            Encoder::Parquet(writer) => writer.take(),
        }
    }
}
