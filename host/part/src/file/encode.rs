//! One column of one group as a column chunk: pages, their index, and statistics.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding as ParquetEncoding, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::Options;
use super::error::Error;
use crate::group::{Column, Layout, Strings, Values};

/// Entries of which values are given to the writer at once.
const BATCH: usize = 4096;
/// The first trial has this part of the sample. Only for a dictionary is it too short.
const FIRST_TRIAL: usize = 8;
/// Entries that the library encodes at once.
const WRITE_BATCH: usize = 1024;
/// The most bytes of a dictionary page. A larger dictionary is worth nothing to a reader of few rows.
const DICTIONARY_BYTES: usize = 8 << 20;

/// The encoding of the values of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// `PLAIN`.
    Plain,
    /// `RLE_DICTIONARY`.
    Dictionary,
    /// `DELTA_BINARY_PACKED`, of integers.
    Delta,
    /// `DELTA_LENGTH_BYTE_ARRAY`, of strings.
    DeltaLength,
    /// `DELTA_BYTE_ARRAY`, of strings that share prefixes with the preceding string.
    DeltaPrefix,
    /// `BYTE_STREAM_SPLIT`, of numbers of type double.
    ByteStreamSplit,
}

impl Encoding {
    /// All encodings, in the order of their numbers in a directory.
    const ALL: [Self; 6] = [
        Self::Plain,
        Self::Dictionary,
        Self::Delta,
        Self::DeltaLength,
        Self::DeltaPrefix,
        Self::ByteStreamSplit,
    ];

    /// The name that Parquet has for the encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Dictionary => "RLE_DICTIONARY",
            Self::Delta => "DELTA_BINARY_PACKED",
            Self::DeltaLength => "DELTA_LENGTH_BYTE_ARRAY",
            Self::DeltaPrefix => "DELTA_BYTE_ARRAY",
            Self::ByteStreamSplit => "BYTE_STREAM_SPLIT",
        }
    }

    pub(super) fn number(self) -> u32 {
        Self::ALL.iter().position(|encoding| *encoding == self).unwrap_or(0) as u32
    }

    pub(super) fn of_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// The encodings that are tried for a type, cheap ones to decode first.
    fn candidates(layout: Layout) -> &'static [Self] {
        match layout {
            Layout::Int => &[Self::Plain, Self::Dictionary, Self::Delta],
            Layout::Double => &[Self::Plain, Self::Dictionary, Self::ByteStreamSplit],
            Layout::String | Layout::Json | Layout::Bytes => {
                &[Self::Plain, Self::Dictionary, Self::DeltaLength, Self::DeltaPrefix]
            }
            Layout::Boolean | Layout::Struct | Layout::List => &[Self::Plain],
        }
    }

    /// The size of a chunk in 1/32 bytes, with a penalty for what takes longer to decode.
    fn cost(self, bytes: usize) -> u64 {
        let weight = match self {
            Self::Plain | Self::Dictionary | Self::DeltaLength => 32,
            Self::Delta | Self::DeltaPrefix | Self::ByteStreamSplit => 33,
        };
        bytes as u64 * weight
    }

    fn in_parquet(self, layout: Layout) -> ParquetEncoding {
        match self {
            Self::Plain => ParquetEncoding::PLAIN,
            // The encoding of the pages after the dictionary is full.
            Self::Dictionary => match layout {
                Layout::Int => ParquetEncoding::DELTA_BINARY_PACKED,
                Layout::String | Layout::Json | Layout::Bytes => ParquetEncoding::DELTA_LENGTH_BYTE_ARRAY,
                _ => ParquetEncoding::PLAIN,
            },
            Self::Delta => ParquetEncoding::DELTA_BINARY_PACKED,
            Self::DeltaLength => ParquetEncoding::DELTA_LENGTH_BYTE_ARRAY,
            Self::DeltaPrefix => ParquetEncoding::DELTA_BYTE_ARRAY,
            Self::ByteStreamSplit => ParquetEncoding::BYTE_STREAM_SPLIT,
        }
    }
}

/// A column chunk. Its offsets begin at 0.
pub(super) struct Chunk {
    /// The pages.
    pub bytes: Vec<u8>,
    /// Metadata, statistics and page indexes.
    pub close: ColumnCloseResult,
    /// The encoding.
    pub encoding: Encoding,
    /// Entries of the column that it has.
    entries: usize,
}

impl Chunk {
    fn cost(&self) -> u64 {
        self.encoding.cost(self.bytes.len())
    }

    fn full_len(&self) -> i64 {
        self.close.metadata.uncompressed_size()
    }

    /// True if this is a dictionary that may be better than `best` for more entries. A dictionary pays more
    /// with more entries, but not if hardly a value repeats. Plain values have `full` bytes.
    fn may_win_as_dictionary(&self, best: &Self, full: i64) -> bool {
        self.encoding == Encoding::Dictionary && self.cost() <= 2 * best.cost() && self.full_len() <= full
    }
}

/// A range of the entries of a column.
struct Part<'a> {
    values: &'a Values,
    definitions: &'a [i16],
    repetitions: Option<&'a [i16]>,
}

/// A leaf and the choices of its writer.
pub(super) struct Leaf<'a> {
    pub descriptor: &'a ColumnDescPtr,
    pub layout: Layout,
    pub options: &'a Options,
}

/// The end of the first row that ends at entry `from` or later.
fn row_end(repetitions: Option<&[i16]>, from: usize, entries: usize) -> usize {
    let from = from.min(entries);
    let Some(rest) = repetitions.and_then(|levels| levels.get(from..)) else { return from };
    from + rest.iter().position(|level| *level == 0).unwrap_or(rest.len())
}

impl Leaf<'_> {
    /// Encodes a column. Without an encoding, all that fit are tried on the first entries.
    pub fn encode(&self, column: &Column, encoding: Option<Encoding>) -> Result<Chunk, Error> {
        let has_lists = self.descriptor.max_rep_level() > 0;
        let whole = Part {
            values: &column.values,
            definitions: &column.definitions,
            repetitions: has_lists.then_some(column.repetitions.as_slice()),
        };
        if let Some(encoding) = encoding {
            return self.encode_as(&whole, encoding);
        }
        let entries = whole.definitions.len();
        let mut left = Encoding::candidates(self.layout).to_vec();
        let mut tried = Vec::new();
        for sample in [self.options.sample / FIRST_TRIAL, self.options.sample] {
            let end = row_end(whole.repetitions, sample, entries);
            let part = Part {
                values: whole.values,
                definitions: &whole.definitions[..end],
                repetitions: whole.repetitions.map(|levels| &levels[..end]),
            };
            tried = left.iter().map(|encoding| self.encode_as(&part, *encoding)).collect::<Result<_, _>>()?;
            let full =
                tried.iter().find(|chunk| chunk.encoding == Encoding::Plain).map_or(0, Chunk::full_len);
            let others = tried.iter().filter(|chunk| chunk.encoding != Encoding::Dictionary);
            let Some(best) = others.min_by_key(|chunk| chunk.cost()) else { break };
            let dictionary = tried.iter().filter(|chunk| chunk.may_win_as_dictionary(best, full));
            left = std::iter::once(best).chain(dictionary).map(|chunk| chunk.encoding).collect();
            if left.len() < 2 || end == entries {
                break;
            }
        }
        match tried.into_iter().min_by_key(Chunk::cost) {
            Some(best) if best.entries == entries => Ok(best),
            best => self.encode_as(&whole, best.map_or(Encoding::Plain, |best| best.encoding)),
        }
    }

    fn properties(&self, encoding: Encoding) -> Result<WriterPropertiesPtr, Error> {
        let level = match self.layout {
            Layout::String | Layout::Json | Layout::Bytes => self.options.text_level,
            _ => self.options.level,
        };
        let builder = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(level)?))
            .set_dictionary_enabled(encoding == Encoding::Dictionary)
            .set_dictionary_page_size_limit(DICTIONARY_BYTES)
            .set_encoding(encoding.in_parquet(self.layout))
            // The limits of a page are looked at after each batch.
            .set_write_batch_size(self.options.page_rows.clamp(1, WRITE_BATCH))
            .set_data_page_row_count_limit(self.options.page_rows)
            .set_data_page_size_limit(self.options.page_bytes);
        Ok(Arc::new(builder.build()))
    }

    fn encode_as(&self, part: &Part<'_>, encoding: Encoding) -> Result<Chunk, Error> {
        let mut out = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut out));
        let mut writer = get_column_writer(self.descriptor.clone(), self.properties(encoding)?, pages);
        let &Part { definitions, repetitions, .. } = part;
        match (&mut writer, part.values) {
            (ColumnWriter::BoolColumnWriter(writer), Values::Boolean(values)) => {
                write(writer, values, definitions, repetitions)?;
            }
            (ColumnWriter::Int64ColumnWriter(writer), Values::Int(values)) => {
                write(writer, values, definitions, repetitions)?;
            }
            (ColumnWriter::DoubleColumnWriter(writer), Values::Double(values)) => {
                write(writer, values, definitions, repetitions)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Values::Bytes(strings)) => {
                write_strings(writer, strings, definitions, repetitions)?;
            }
            _ => return Err(Error::unwritable("a column", "its values have another type than its leaf")),
        }
        let close = writer.close()?;
        Ok(Chunk { bytes: out.into_inner()?, close, encoding, entries: definitions.len() })
    }
}

/// Writes the values of numbers and booleans. The writer takes as many values as the levels say.
fn write<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: &[T::T],
    definitions: &[i16],
    repetitions: Option<&[i16]>,
) -> Result<(), Error> {
    writer.write_batch(values, Some(definitions), repetitions)?;
    Ok(())
}

/// Writes strings in batches. The strings of a batch share one copy of its bytes.
fn write_strings(
    writer: &mut ColumnWriterImpl<'_, ByteArrayType>,
    strings: &Strings,
    definitions: &[i16],
    repetitions: Option<&[i16]>,
) -> Result<(), Error> {
    let greatest = writer.get_descriptor().max_def_level();
    let mut batch: Vec<ByteArray> = Vec::new();
    let (mut entry, mut value, mut start) = (0, 0, 0);
    while entry < definitions.len() {
        let end = row_end(repetitions, entry + BATCH, definitions.len());
        let levels = &definitions[entry..end];
        let present = levels.iter().filter(|level| **level == greatest).count();
        let ends = &strings.ends[value..value + present];
        let stop = ends.last().map_or(start, |end| *end as usize);
        let bytes = Bytes::copy_from_slice(&strings.bytes[start..stop]);
        let mut from = 0;
        batch.clear();
        batch.extend(ends.iter().map(|end| {
            let to = *end as usize - start;
            ByteArray::from(bytes.slice(std::mem::replace(&mut from, to)..to))
        }));
        writer.write_batch(&batch, Some(levels), repetitions.map(|levels| &levels[entry..end]))?;
        (entry, value, start) = (end, value + present, stop);
    }
    Ok(())
}
