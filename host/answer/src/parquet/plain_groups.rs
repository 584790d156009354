//! Row groups of Parquet whose columns are one leaf each, encoded while later rows are evaluated.
//!
//! A row group has a thread, which gets its rows as they come and encodes them while they are in the cache.
//! Its chunks are ended on all cores, and written by the caller. On many cores several row groups are at
//! work, because a thread has more to do for the rows than the caller.
//!
//! ```text
//! caller     rows of group 0 │ rows of group 1 │ writes 0 │ rows of group 2
//! thread 0      encodes …   end of chunks ─────┘
//! thread 1                      encodes …   end of chunks ...
//! ```
//!
//! Memory holds a few batches for each thread, and the encoded columns of its row group.

use std::collections::VecDeque;
use std::panic;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use warpath_core::pool;

use super::chunk::{self, Chunk, ChunkEncoder};

/// The rows and the bytes in memory at which a row group ends. DuckDB's have about as many rows. They are few
/// enough for the numbers of distinct values to stay in the cache of a core.
const GROUP_ROWS: usize = 1 << 17;
const GROUP_BYTES: usize = 64 << 20;
/// The row groups after which later ones have twice as many rows, because a file has at most 32,767.
const GROUPS_OF_A_SIZE: usize = 1 << 12;
/// The most batches and the most bytes that wait for a thread, for each core.
const WAITING_BATCHES: usize = 2;
const WAITING_BYTES: usize = 4 << 20;

/// The row groups of a file.
pub struct PlainGroups {
    schema: SchemaRef,
    /// The row groups at work, in order. The last one gets rows if it has a sender.
    groups: VecDeque<Group>,
    /// The encoders of columns that no row group uses.
    idle: Vec<Vec<Encoder>>,
    rows: usize,
    bytes: usize,
    begun: usize,
}

struct Group {
    rows: Option<SyncSender<RecordBatch>>,
    thread: JoinHandle<Result<Ended, ParquetError>>,
}

/// A row group that is ended, and its encoders.
type Ended = (Vec<Encoded>, Vec<Encoder>);

/// The encoder of a column.
enum Encoder {
    Chunk(Box<ChunkEncoder>),
    /// The library's, for types that [`chunk`] does not encode. It is of one row group.
    Library(FieldRef, Option<Box<ArrowColumnWriter>>),
}

/// An encoded column.
enum Encoded {
    Chunk(Chunk),
    Library(ArrowColumnChunk),
}

impl Encoder {
    fn add(&mut self, part: &ArrayRef) -> Result<(), ParquetError> {
        match self {
            Self::Chunk(encoder) => encoder.add(part),
            Self::Library(_, None) => Ok(()),
            Self::Library(field, Some(writer)) => {
                compute_leaves(field, part)?.iter().try_for_each(|leaf| writer.write(leaf))
            }
        }
    }

    /// Takes back the bytes of a chunk, for the next one.
    fn reuse(&mut self, bytes: Vec<u8>) {
        if let Self::Chunk(encoder) = self {
            encoder.reuse(bytes);
        }
    }

    fn end(&mut self) -> Result<Encoded, ParquetError> {
        match self {
            Self::Chunk(encoder) => encoder.end().map(Encoded::Chunk),
            Self::Library(_, writer) => {
                let writer = writer.take().ok_or_else(|| ParquetError::General("no writer".into()))?;
                writer.close().map(Encoded::Library)
            }
        }
    }
}

/// Encodes the rows of a row group.
fn encode(rows: &Receiver<RecordBatch>, mut encoders: Vec<Encoder>) -> Result<Ended, ParquetError> {
    for batch in rows {
        encoders.iter_mut().zip(batch.columns()).try_for_each(|(encoder, part)| encoder.add(part))?;
    }
    let ended = pool::map(encoders.iter_mut().collect(), Encoder::end);
    Ok((ended.into_iter().collect::<Result<_, _>>()?, encoders))
}

impl PlainGroups {
    /// Row groups of a schema of which [`is_plain`] is true.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, groups: VecDeque::new(), idle: Vec::new(), rows: 0, bytes: 0, begun: 0 }
    }

    /// Adds rows. Writes row groups that are encoded, if there are too many at work.
    pub fn add(
        &mut self,
        mut batch: RecordBatch,
        file: &mut SerializedFileWriter<Vec<u8>>,
        factory: &ArrowRowGroupWriterFactory,
    ) -> Result<(), ParquetError> {
        while batch.num_rows() > 0 {
            if self.groups.back().is_none_or(|group| group.rows.is_none()) {
                self.begin(&batch, file, factory)?;
            }
            let most = GROUP_ROWS << ((self.begun - 1) / GROUPS_OF_A_SIZE).min(3);
            let taken = batch.num_rows().min(most - self.rows);
            let rest = batch.slice(taken, batch.num_rows() - taken);
            self.rows += taken;
            self.bytes += batch.get_array_memory_size();
            let is_full = self.rows >= most || self.bytes >= GROUP_BYTES;
            if let Some(group) = self.groups.back_mut() {
                let sent = group.rows.as_ref().map(|rows| rows.send(batch.slice(0, taken)));
                if is_full {
                    group.rows = None;
                }
                // A thread that is gone has failed.
                if sent.is_some_and(|sent| sent.is_err()) {
                    return self.write(0, file);
                }
            }
            batch = rest;
        }
        Ok(())
    }

    /// Begins a row group, whose first rows are in `batch`.
    fn begin(
        &mut self,
        batch: &RecordBatch,
        file: &mut SerializedFileWriter<Vec<u8>>,
        factory: &ArrowRowGroupWriterFactory,
    ) -> Result<(), ParquetError> {
        self.write((pool::threads() / 4).clamp(1, 3), file)?;
        let fields = self.schema.fields();
        let mut encoders = self.idle.pop().unwrap_or_else(|| {
            let encoder = |(at, field): (usize, &FieldRef)| match chunk::is_encoded(field.data_type()) {
                true => Encoder::Chunk(Box::new(ChunkEncoder::new(
                    file.schema_descr().column(at),
                    field.data_type(),
                ))),
                false => Encoder::Library(field.clone(), None),
            };
            fields.iter().enumerate().map(encoder).collect()
        });
        if encoders.iter().any(|encoder| matches!(encoder, Encoder::Library(..))) {
            let writers = factory.create_column_writers(self.begun)?;
            for (encoder, made) in encoders.iter_mut().zip(writers) {
                if let Encoder::Library(_, writer) = encoder {
                    *writer = Some(Box::new(made));
                }
            }
        }
        let cores = pool::threads();
        let few = cores * WAITING_BYTES / batch.get_array_memory_size().max(1);
        let (rows, taken) = sync_channel(few.clamp(1, cores * WAITING_BATCHES));
        let work = move || encode(&taken, encoders);
        let thread = Builder::new().name("warpath parquet".into()).spawn(work)?;
        self.groups.push_back(Group { rows: Some(rows), thread });
        (self.rows, self.bytes) = (0, 0);
        self.begun += 1;
        Ok(())
    }

    /// Writes row groups in order, until at most `left` are at work.
    pub fn write(
        &mut self,
        left: usize,
        file: &mut SerializedFileWriter<Vec<u8>>,
    ) -> Result<(), ParquetError> {
        while self.groups.len() > left {
            let Some(Group { rows, thread }) = self.groups.pop_front() else { break };
            drop(rows);
            let (columns, mut encoders) =
                thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))?;
            let mut group = file.next_row_group()?;
            for (column, encoder) in columns.into_iter().zip(&mut encoders) {
                match column {
                    Encoded::Chunk(chunk) => {
                        let bytes = Bytes::from(chunk.bytes);
                        group.append_column(&bytes, chunk.close)?;
                        encoder.reuse(Vec::from(bytes));
                    }
                    Encoded::Library(chunk) => chunk.append_to_row_group(&mut group)?,
                }
            }
            group.close()?;
            self.idle.push(encoders);
        }
        Ok(())
    }
}
