//! A writer of Parquet: columns are encoded side by side, on all cores.
//!
//! Where each column is one leaf, `plain_groups` encodes it. Of other columns, rows
//! wait until there are enough of them to be worth the work on several cores. Then the leaves of each column
//! are found, and each leaf is encoded and compressed in one thread:
//!
//! ```text
//! batches    ┌ id, user ┐ ┌ id, user ┐    each top-level column of each batch: its leaves, with levels
//! leaves     id  user.name  user.lang     each leaf of all batches: encoded, compressed, kept in memory
//! row group  └────────────────────────┘   written when its encoded size is reached
//! ```
//!
//! Memory holds the rows that wait, and the encoded columns of one row group.
//!
//! The crate `parquet` writes the file, and encodes nested columns. Columns of one leaf are encoded here,
//! because the crate needs 1.05 to 1.84 times the processor time for them (docs/lab/source.md).
//!
//! | module | contents |
//! |---|---|
//! | `plain_groups` | row groups of columns that are one leaf each |
//! | `chunk`; `distinct`, `hybrid` | column chunks; numbers of distinct values, packed integers |

mod chunk;
mod distinct;
mod hybrid;
mod plain_groups;

use std::mem;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use warpath_core::pool;

use crate::columns::is_flat;
use plain_groups::PlainGroups;

/// The bytes of rows that wait to be encoded together. They are enough work for several cores, and few in
/// comparison with a row group.
const WAITING_BYTES: usize = 24 << 20;
/// The encoded bytes at which a row group ends, and the most rows of one.
const ROW_GROUP_BYTES: usize = 128 << 20;
const ROW_GROUP_ROWS: usize = 1 << 20;

/// The most memory that is kept for later row groups.
const MOST_KEPT_BYTES: usize = 32 << 20;

/// Encodes record batches of one schema as a file of Apache Parquet, compressed by Snappy, on all cores.
///
/// The file is made in memory, in pieces. [`take`](Self::take) hands on what is encoded. Columns of one leaf
/// have statistics of each chunk. If a column is nested, all columns have a page index too.
///
/// ```
/// use std::io::Write;
/// use warpath::columns::{ColumnType, ParquetWriter, Schema};
/// use warpath::{Engine, Program, Query, Source};
///
/// let program = Program::new(&[Query::compile("$.id")?])?
///     .with_names(&["id"])?
///     .with_types(&[ColumnType::Int64])?;
/// let schema = Schema::of_program(program)?;
/// let lines = Source::Reader("lines".into(), Box::new(&b"{\"id\": 1}\n{\"id\": 2}\n"[..]));
///
/// let mut file = Vec::new();
/// let mut writer = ParquetWriter::new(schema.to_arrow())?;
/// for batch in Engine::builder().build()?.input(vec![lines]).record_batches(&schema) {
///     writer.add(batch?)?;
///     writer.take(|bytes| file.write_all(bytes))?;
/// }
/// writer.finish()?;
/// writer.take(|bytes| file.write_all(bytes))?;
/// assert!(file.ends_with(b"PAR1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetWriter {
    file: SerializedFileWriter<Vec<u8>>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// The writers of the row group that has begun, a writer for each leaf; none between row groups.
    leaves: Vec<ArrowColumnWriter>,
    group_rows: usize,
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
    /// The row groups, if each column is one leaf.
    plain: Option<PlainGroups>,
}

impl ParquetWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// If Parquet has no type for a column.
    pub fn new(schema: SchemaRef) -> Result<Self, ParquetError> {
        let is_plain = !schema.fields().is_empty() && is_flat(&schema);
        // `chunk` makes no page index, and the library takes that of all columns or of none.
        let statistics = if is_plain { EnabledStatistics::Chunk } else { EnabledStatistics::Page };
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(statistics)
            .set_offset_index_disabled(is_plain)
            .set_created_by(format!("warpath {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?;
        let (file, factory) = writer.into_serialized_writer()?;
        Ok(Self {
            file,
            factory,
            plain: is_plain.then(|| PlainGroups::new(schema.clone())),
            schema,
            leaves: Vec::new(),
            group_rows: 0,
            waiting: Vec::new(),
            waiting_bytes: 0,
        })
    }

    /// Adds rows, and encodes the waiting rows when there are enough of them.
    ///
    /// # Errors
    /// If the batch has another schema, or the system refuses a thread: then the error is
    /// [`ParquetError::External`].
    pub fn add(&mut self, batch: RecordBatch) -> Result<(), ParquetError> {
        if let Some(plain) = &mut self.plain {
            return plain.add(batch, &mut self.file, &self.factory);
        }
        let mut batch = batch;
        while self.group_rows + self.waiting_rows() + batch.num_rows() > ROW_GROUP_ROWS {
            let room = ROW_GROUP_ROWS - self.group_rows - self.waiting_rows();
            let rest = batch.slice(room, batch.num_rows() - room);
            self.wait(batch.slice(0, room));
            self.encode()?;
            self.end_group()?;
            batch = rest;
        }
        self.wait(batch);
        if self.waiting_bytes >= WAITING_BYTES {
            self.encode()?;
            let encoded: usize = self.leaves.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum();
            if encoded >= ROW_GROUP_BYTES {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn waiting_rows(&self) -> usize {
        self.waiting.iter().map(RecordBatch::num_rows).sum()
    }

    fn wait(&mut self, batch: RecordBatch) {
        if batch.num_rows() > 0 {
            self.waiting_bytes += batch.get_array_memory_size();
            self.waiting.push(batch);
        }
    }

    /// Encodes the waiting rows.
    fn encode(&mut self) -> Result<(), ParquetError> {
        let batches = mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        if batches.is_empty() {
            return Ok(());
        }
        if self.leaves.is_empty() {
            self.leaves = self.factory.create_column_writers(self.file.flushed_row_groups().len())?;
        }
        self.group_rows += batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        let fields = self.schema.fields();
        let columns: Vec<_> = batches.iter().flat_map(|batch| fields.iter().zip(batch.columns())).collect();
        let found = pool::map(columns, |(field, column)| compute_leaves(field, column));
        // The leaves of one batch follow each other, and then come those of the next batch.
        let mut parts: Vec<Vec<ArrowLeafColumn>> = self.leaves.iter().map(|_| Vec::new()).collect();
        let mut leaf = 0;
        for leaves in found {
            for part in leaves? {
                parts[leaf].push(part);
                leaf = (leaf + 1) % parts.len();
            }
        }
        drop(batches);
        let work = self.leaves.iter_mut().zip(parts).collect();
        let written = pool::map(work, |(writer, parts): (&mut ArrowColumnWriter, Vec<ArrowLeafColumn>)| {
            parts.iter().try_for_each(|part| writer.write(part))
        });
        written.into_iter().collect()
    }

    /// Ends the row group that has begun.
    fn end_group(&mut self) -> Result<(), ParquetError> {
        let leaves = mem::take(&mut self.leaves);
        if leaves.is_empty() {
            return Ok(());
        }
        self.group_rows = 0;
        let chunks = pool::map(leaves, ArrowColumnWriter::close);
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            chunk?.append_to_row_group(&mut group)?;
        }
        group.close().map(drop)
    }

    /// Adds a key and a value to the metadata at the end of the file.
    pub fn add_metadata(&mut self, key: &str, value: String) {
        self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Writes the waiting rows and the end of the file. No row may be added after this call.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn finish(&mut self) -> Result<(), ParquetError> {
        if let Some(plain) = &mut self.plain {
            plain.write(0, &mut self.file)?;
        }
        self.encode()?;
        self.end_group()?;
        self.file.finish().map(drop)
    }

    /// Calls a function with the bytes that were encoded since the last call, if there are any.
    ///
    /// # Errors
    /// Those of the function.
    pub fn take<E>(&mut self, write: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let encoded = self.file.inner_mut();
        if encoded.is_empty() {
            return Ok(());
        }
        let written = write(encoded);
        // The memory is used again, because the system takes time to give new memory.
        encoded.clear();
        encoded.shrink_to(MOST_KEPT_BYTES);
        written
    }
}
