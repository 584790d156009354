//! Record batches of Arrow IPC, encoded from rows in parts without joining them.
//!
//! A partition has fewer rows than a batch should have. The library encodes a batch that is in one part, so
//! the parts would be copied once to join them, and a second time to encode them. Here the values stay where
//! they are. Only offsets and bits are copied, because they change where parts meet:
//!
//! ```text
//! parts      offsets 0 3 5   bytes abcde      offsets 0 2   bytes fg
//! message    metadata │ offsets 0 3 5 7 │ padding │ abcde │ fg │ padding
//! ```
//!
//! The format is that of the specification, "Arrow Columnar Format", section "Serialization and Interprocess
//! Communication". The bytes are those that the library writes for the joined parts.

use std::iter;

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericStringArray, OffsetSizeTrait, RecordBatch};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer};
use arrow_ipc::{FieldNode, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder};
use arrow_schema::DataType;
use flatbuffers::FlatBufferBuilder;

/// The alignment of buffers in the message, in bytes, as the library has it.
const ALIGNMENT: usize = 64;
/// Four bytes of ones, and the length of the metadata.
const PREFIX_BYTES: usize = 8;

const PADDING: [u8; ALIGNMENT] = [0; ALIGNMENT];

/// Returns zeros that fill `len` bytes up to the alignment.
pub fn padding(len: usize) -> &'static [u8] {
    &PADDING[..len.next_multiple_of(ALIGNMENT) - len]
}

/// A record batch as a message.
pub struct Message {
    /// The prefix and the metadata, padded.
    head: Vec<u8>,
    /// The buffers. Buffers of the parts are shared.
    body: Vec<Section>,
    body_len: usize,
}

/// A buffer of a message, in parts.
struct Section {
    parts: Vec<Buffer>,
    len: usize,
}

impl Message {
    /// Encodes batches of one schema, of which [`is_flat`](warpath_answer::columns::is_flat) is true, as one
    /// batch.
    pub fn new(batches: &[RecordBatch]) -> Self {
        let rows = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        let (mut nodes, mut body) = (Vec::new(), Vec::new());
        let columns = batches.first().map_or(0, RecordBatch::num_columns);
        for column in 0..columns {
            let parts: Vec<&dyn Array> = batches.iter().map(|batch| &**batch.column(column)).collect();
            let nulls = parts.iter().map(|part| part.null_count()).sum::<usize>();
            nodes.push(FieldNode::new(rows as i64, nulls as i64));
            body.push(if nulls > 0 { validity(&parts, rows) } else { Section::new(Vec::new()) });
            match parts[0].data_type() {
                DataType::Boolean => {
                    body.push(bits(parts.iter().map(|part| part.as_boolean().values()), rows));
                }
                DataType::Utf8 => body.extend(strings::<i32>(&parts, rows)),
                DataType::LargeUtf8 => body.extend(strings::<i64>(&parts, rows)),
                values => body.push(fixed(&parts, values.primitive_width().unwrap_or_default())),
            }
        }
        let mut body_len = 0;
        let place = |section: &Section| {
            let buffer = arrow_ipc::Buffer::new(body_len as i64, section.len as i64);
            body_len += section.len.next_multiple_of(ALIGNMENT);
            buffer
        };
        let buffers: Vec<_> = body.iter().map(place).collect();
        Self { head: head(rows, &nodes, &buffers, body_len), body, body_len }
    }

    /// The number of bytes before the body.
    pub fn head_len(&self) -> usize {
        self.head.len()
    }

    pub fn body_len(&self) -> usize {
        self.body_len
    }

    /// The bytes of the message, in order.
    pub fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        let body = self.body.iter().flat_map(|section| {
            section.parts.iter().map(Buffer::as_slice).chain(iter::once(padding(section.len)))
        });
        iter::once(&self.head[..]).chain(body)
    }
}

impl Section {
    fn new(parts: Vec<Buffer>) -> Self {
        Self { len: parts.iter().map(Buffer::len).sum(), parts }
    }
}

/// The metadata with its prefix.
fn head(rows: usize, nodes: &[FieldNode], buffers: &[arrow_ipc::Buffer], body_len: usize) -> Vec<u8> {
    let mut built = FlatBufferBuilder::new();
    let buffers = built.create_vector(buffers);
    let nodes = built.create_vector(nodes);
    let mut batch = RecordBatchBuilder::new(&mut built);
    batch.add_length(rows as i64);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    let batch = batch.finish().as_union_value();
    let mut message = MessageBuilder::new(&mut built);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_bodyLength(body_len as i64);
    message.add_header(batch);
    let message = message.finish();
    built.finish(message, None);
    let metadata = built.finished_data();
    let len = (PREFIX_BYTES + metadata.len()).next_multiple_of(ALIGNMENT);
    let mut head = Vec::with_capacity(len);
    head.extend_from_slice(&[0xff; 4]);
    head.extend_from_slice(&((len - PREFIX_BYTES) as i32).to_le_bytes());
    head.extend_from_slice(metadata);
    head.resize(len, 0);
    head
}

/// The bits of parts, one after the other.
fn bits<'a>(parts: impl Iterator<Item = &'a BooleanBuffer>, rows: usize) -> Section {
    let mut joined = BooleanBufferBuilder::new(rows);
    parts.for_each(|part| joined.append_buffer(part));
    Section::new(vec![joined.finish().into_inner()])
}

fn validity(parts: &[&dyn Array], rows: usize) -> Section {
    let mut joined = BooleanBufferBuilder::new(rows);
    for part in parts {
        match part.nulls() {
            Some(nulls) => joined.append_buffer(nulls.inner()),
            None => joined.append_n(part.len(), true),
        }
    }
    Section::new(vec![joined.finish().into_inner()])
}

/// The offsets and the bytes of strings.
fn strings<O: OffsetSizeTrait>(parts: &[&dyn Array], rows: usize) -> [Section; 2] {
    let (mut offsets, mut bytes) = (Vec::with_capacity(rows + 1), Vec::with_capacity(parts.len()));
    let mut end = 0;
    offsets.push(O::default());
    for part in parts {
        let part: &GenericStringArray<O> = part.as_string();
        let own = part.value_offsets();
        let (from, to) = (own[0].as_usize(), own[own.len() - 1].as_usize());
        // Offsets of the batch fit, because its parts have fewer bytes together than one part may have.
        let moved = O::usize_as(end) - own[0];
        offsets.extend(own[1..].iter().map(|offset| *offset + moved));
        bytes.push(part.values().slice_with_length(from, to - from));
        end += to - from;
    }
    [Section::new(vec![Buffer::from_vec(offsets)]), Section::new(bytes)]
}

/// Values of `width` bytes.
fn fixed(parts: &[&dyn Array], width: usize) -> Section {
    let values = parts.iter().map(|part| {
        let part = part.to_data();
        part.buffers()[0].slice_with_length(part.offset() * width, part.len() * width)
    });
    Section::new(values.collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{Decimal128Type, TimestampNanosecondType};
    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, LargeStringArray, PrimitiveArray,
        StringArray,
    };
    use arrow_ipc::writer::StreamWriter;
    use warpath_answer::columns::is_flat;
    use warpath_random::Rng;

    use super::super::arrow::joined;
    use super::*;

    /// A batch of random rows. One value of `nulls` is null, or none if that is 0.
    fn batch(random: &mut Rng, rows: usize, nulls: usize) -> RecordBatch {
        let mut numbers = || -> Vec<Option<i64>> {
            let number = |_| (nulls == 0 || random.below(nulls) > 0).then(|| random.below(1 << 24) as i64);
            (0..rows).map(number).collect()
        };
        let mut texts = || numbers().into_iter().map(|number| Some("é".repeat(number? as usize % 9)));
        let strings: [Vec<Option<String>>; 2] = [texts().collect(), texts().collect()];
        let [strings, large] = strings;
        let booleans = numbers().into_iter().map(|number| Some(number? % 2 == 0));
        let doubles = numbers().into_iter().map(|number| Some(number? as f64));
        let days = numbers().into_iter().map(|number| Some(number? as i32));
        let decimals = numbers().into_iter().map(|number| Some(i128::from(number?)));
        let instants = PrimitiveArray::<TimestampNanosecondType>::from(numbers());
        let columns: [(&str, ArrayRef); 8] = [
            ("boolean", Arc::new(booleans.collect::<BooleanArray>())),
            ("integer", Arc::new(Int64Array::from(numbers()))),
            ("double", Arc::new(doubles.collect::<Float64Array>())),
            ("date", Arc::new(days.collect::<Date32Array>())),
            ("decimal", Arc::new(decimals.collect::<PrimitiveArray<Decimal128Type>>())),
            ("time", Arc::new(instants.with_timezone("UTC"))),
            ("string", Arc::new(StringArray::from(strings))),
            ("large", Arc::new(LargeStringArray::from(large))),
        ];
        let columns = columns.into_iter().map(|(name, values)| (name, values, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    #[test]
    fn parts_are_encoded_as_the_library_encodes_them_joined() {
        let mut random = Rng::new(23);
        for round in 0..200 {
            let parts: Vec<RecordBatch> = (0..1 + round % 4)
                .map(|part| {
                    // The first part has no nulls in some rounds.
                    let nulls = [0, 1, 2, 50][(round / 4 + part) % 4];
                    let rows = 1 + random.below(100);
                    let whole = batch(&mut random, rows, nulls);
                    let from = random.below(rows);
                    whole.slice(from, 1 + random.below(rows - from))
                })
                .collect();
            let schema = parts[0].schema();
            assert!(is_flat(&schema));
            let mut library = StreamWriter::try_new(Vec::new(), &schema).unwrap();
            library.get_mut().clear();
            library.write(&joined(&schema, &parts).unwrap()).unwrap();
            let message = Message::new(&parts);
            let bytes = message.bytes().collect::<Vec<_>>().concat();
            assert_eq!(bytes.len(), message.head_len() + message.body_len());
            assert!(bytes == library.get_ref()[..], "{} parts in round {round}", parts.len());
        }
    }
}
