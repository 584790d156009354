//! The writer of Arrow IPC: the stream format, and the file format, which is the stream between marks, with
//! the offsets of its batches at the end.
//!
//! Rows wait until there are enough of them for a batch. They are then written from where they are
//! ([`Message`]). The library encodes the schema, and columns of lists and structs.

use std::mem;

use arrow_array::{Array, RecordBatch, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_ipc::convert::{IpcSchemaEncoder, metadata_to_fb};
use arrow_ipc::writer::StreamWriter;
use arrow_ipc::{Block, FooterBuilder, MetadataVersion};
use arrow_schema::{ArrowError, SchemaRef};
use flatbuffers::FlatBufferBuilder;
use warpath_answer::columns::is_flat;

use super::super::failure::Failure;
use super::super::out::Out;
use super::internal;
use super::message::{Message, padding};

/// The least number of rows in a batch; or the number of bytes that ends a batch earlier. The last batch may
/// be smaller. A partition has fewer rows, because its size is chosen for fast reading.
const BATCH_ROWS: usize = 8 << 10;
const BATCH_BYTES: usize = 16 << 20;

/// The bytes at both ends of a file.
const MARK: &[u8] = b"ARROW1";
/// The message without metadata, which ends a stream.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Writes batches of one schema.
pub struct ArrowWriter {
    schema: SchemaRef,
    /// True if batches are encoded in parts.
    of_parts: bool,
    library: StreamWriter<Vec<u8>>,
    /// The contents of the end of a file; `None` for a stream.
    file: Option<FileEnd>,
    /// The rows that are too few for a batch yet.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
}

/// The contents of the end of a file.
#[derive(Default)]
struct FileEnd {
    blocks: Vec<Block>,
    /// The number of bytes that were written.
    len: usize,
    metadata: Vec<(String, String)>,
}

/// One batch of the rows of several.
pub fn joined(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let column = |column: usize| {
        let parts: Vec<_> = batches.iter().map(|batch| batch.column(column).to_data()).collect();
        let mut whole = MutableArrayData::new(parts.iter().collect(), false, rows);
        for (at, part) in parts.iter().enumerate() {
            whole.try_extend(at, 0, part.len())?;
        }
        Ok(make_array(whole.freeze()))
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<_, ArrowError>>()?;
    RecordBatch::try_new(schema.clone(), columns)
}

impl ArrowWriter {
    /// Returns true if this writes a file, and not a stream.
    pub fn is_file(&self) -> bool {
        self.file.is_some()
    }

    pub fn new(is_file: bool, schema: SchemaRef) -> Result<Self, Failure> {
        // The library writes the schema into the vector. It is the first thing to be written.
        let begin = if is_file { [MARK, padding(MARK.len())].concat() } else { Vec::new() };
        let library = StreamWriter::try_new(begin, &schema).map_err(internal)?;
        Ok(Self {
            of_parts: is_flat(&schema),
            schema,
            library,
            file: is_file.then(FileEnd::default),
            waiting: Vec::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
        })
    }

    /// Adds rows, and writes a batch when there are enough of them.
    pub fn add(&mut self, batch: RecordBatch, out: &mut Out) -> Result<(), Failure> {
        let bytes = batch.get_array_memory_size();
        // Offsets of 32 bits are enough for each part, and for parts that are few bytes together.
        if bytes >= BATCH_BYTES {
            self.write_waiting(out)?;
        }
        self.waiting_rows += batch.num_rows();
        self.waiting_bytes += bytes;
        self.waiting.push(batch);
        if self.waiting_rows >= BATCH_ROWS || self.waiting_bytes >= BATCH_BYTES {
            self.write_waiting(out)?;
        }
        Ok(())
    }

    /// Writes the waiting rows, if the format can be read before its end is written.
    pub fn pause(&mut self, out: &mut Out) -> Result<(), Failure> {
        if self.file.is_none() {
            self.write_waiting(out)?;
            self.write_library(out)?;
        }
        Ok(())
    }

    /// Adds metadata to the end of the file. A stream has none.
    pub fn add_metadata(&mut self, key: &str, value: String) {
        if let Some(file) = &mut self.file {
            file.metadata.push((key.to_owned(), value));
        }
    }

    /// Writes the waiting rows and the end of the format. No row may be added after this call.
    pub fn finish(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.write_waiting(out)?;
        self.write_library(out)?;
        out.lines(&END)?;
        match &self.file {
            Some(file) => out.lines(&file.encoded(&self.schema)),
            None => Ok(()),
        }
    }

    /// Writes what the library has encoded. Returns the number of bytes.
    fn write_library(&mut self, out: &mut Out) -> Result<usize, Failure> {
        let encoded = mem::take(self.library.get_mut());
        if let Some(file) = &mut self.file {
            file.len += encoded.len();
        }
        out.lines(&encoded)?;
        Ok(encoded.len())
    }

    /// Writes the waiting rows as one batch.
    fn write_waiting(&mut self, out: &mut Out) -> Result<(), Failure> {
        let batches = mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        if mem::take(&mut self.waiting_rows) == 0 {
            return Ok(());
        }
        // The schema, before the first batch.
        self.write_library(out)?;
        let (head, body) = if self.of_parts {
            let message = Message::new(&batches);
            let bytes: Vec<&[u8]> = message.bytes().filter(|bytes| !bytes.is_empty()).collect();
            out.parts(&bytes)?;
            let (head, body) = (message.head_len(), message.body_len());
            if let Some(file) = &mut self.file {
                file.len += head + body;
            }
            (head, body)
        } else {
            let batch = joined(&self.schema, &batches).map_err(internal)?;
            self.library.write(&batch).map_err(internal)?;
            // The length of the metadata follows four bytes of ones.
            let encoded = self.library.get_ref();
            let head = encoded[4..8].try_into().map_or(0, i32::from_le_bytes) as usize + 8;
            (head, self.write_library(out)? - head)
        };
        if let Some(file) = &mut self.file {
            file.blocks.push(Block::new((file.len - head - body) as i64, head as i32, body as i64));
        }
        Ok(())
    }
}

impl FileEnd {
    /// The end of a file, after the end of its stream.
    fn encoded(&self, schema: &SchemaRef) -> Vec<u8> {
        let mut built = FlatBufferBuilder::new();
        let dictionaries = built.create_vector::<Block>(&[]);
        let blocks = built.create_vector(&self.blocks);
        let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut built, schema);
        // The type of the library's map differs between the versions of Arrow that are accepted.
        let metadata = (!self.metadata.is_empty())
            .then(|| metadata_to_fb(&mut built, &self.metadata.iter().cloned().collect()));
        let mut footer = FooterBuilder::new(&mut built);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(blocks);
        if let Some(metadata) = metadata {
            footer.add_custom_metadata(metadata);
        }
        let footer = footer.finish();
        built.finish(footer, None);
        let footer = built.finished_data();
        [footer, &(footer.len() as i32).to_le_bytes(), MARK].concat()
    }
}
