//! The page indexes and the footer of a part.

use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::statistics::Statistics;

use super::super::LeafSummary;
use super::super::bloom;
use super::super::bounds::Bounds;
use super::super::directory::{GroupEntry, KEY, Place, WRITER};
use super::super::encode::Encoding;
use super::super::error::Error;
use super::{Part, Stored};

impl Part {
    /// The metadata of the groups that have rows. Other readers need no others.
    pub(super) fn row_groups(&self) -> Result<Vec<RowGroupMetaData>, Error> {
        let mut all = Vec::new();
        for group in self.groups.iter().filter(|group| group.entry.rows > 0) {
            let mut columns = Vec::with_capacity(group.chunks.len());
            for chunk in &group.chunks {
                columns.push(self.moved(chunk, &group.entry)?);
            }
            let size = columns.iter().map(ColumnChunkMetaData::uncompressed_size).sum();
            let builder = RowGroupMetaData::builder(self.schema.descriptor.clone())
                .set_column_metadata(columns)
                .set_total_byte_size(size)
                .set_num_rows(group.entry.rows.into())
                .set_ordinal(all.len().try_into().unwrap_or_default())
                .set_file_offset(group.offset as i64);
            all.push(builder.build()?);
        }
        Ok(all)
    }

    /// The metadata of a chunk for its offset in the file and for the schema of the whole part.
    fn moved(&self, chunk: &Stored, entry: &GroupEntry) -> Result<ColumnChunkMetaData, Error> {
        let from = &chunk.metadata;
        let [columns, offsets] = &chunk.indexes;
        let has_columns = columns.len > 0;
        let offset = |offset: i64| offset + chunk.offset as i64;
        let filter = entry.sections.iter().find(|section| bloom::leaf(&section.name) == Some(chunk.leaf));
        let mut builder = ColumnChunkMetaData::builder(self.descriptor(chunk.leaf)?.clone())
            .set_compression(from.compression())
            .set_encodings(from.encodings().collect())
            .set_num_values(from.num_values())
            .set_total_compressed_size(from.compressed_size())
            .set_total_uncompressed_size(from.uncompressed_size())
            .set_data_page_offset(offset(from.data_page_offset()))
            .set_dictionary_page_offset(from.dictionary_page_offset().map(offset))
            .set_column_index_offset(has_columns.then_some(columns.offset as i64))
            .set_column_index_length(has_columns.then_some(columns.len))
            .set_offset_index_offset(Some(offsets.offset as i64))
            .set_offset_index_length(Some(offsets.len))
            .set_bloom_filter_offset(filter.map(|filter| filter.stored.offset as i64))
            .set_bloom_filter_length(filter.map(|filter| filter.stored.len as i32))
            .set_unencoded_byte_array_data_bytes(from.unencoded_byte_array_data_bytes())
            .set_repetition_level_histogram(from.repetition_level_histogram().cloned())
            .set_definition_level_histogram(from.definition_level_histogram().cloned());
        if let Some(statistics) = from.statistics() {
            builder = builder.set_statistics(statistics.clone());
        }
        if let Some(statistics) = from.page_encoding_stats() {
            builder = builder.set_page_encoding_stats(statistics.clone());
        }
        Ok(builder.build()?)
    }

    pub(super) fn leaf_summaries(
        &self,
        row_groups: &[RowGroupMetaData],
        encodings: &[Encoding],
    ) -> Vec<LeafSummary> {
        let summary = |column: usize| {
            let chunks = || row_groups.iter().map(|group| group.column(column));
            // A chunk without values has no bounds. Any other chunk without bounds leaves the leaf without.
            let all = chunks().filter(|chunk| !is_null(chunk)).map(Bounds::of);
            let bounds = all.reduce(|left, right| left?.and(right?)).flatten();
            LeafSummary {
                node: self.schema.leaves[column],
                encoding: encodings[column],
                compressed: chunks().map(|chunk| chunk.compressed_size().unsigned_abs()).sum(),
                uncompressed: chunks().map(|chunk| chunk.uncompressed_size().unsigned_abs()).sum(),
                nulls: chunks().map(nulls).sum(),
                bounds,
            }
        };
        (0..self.schema.leaves.len()).map(summary).collect()
    }

    /// The bytes of all page indexes, which will be where the file ends now: first the bounds of all pages,
    /// then their offsets, because some readers read only one kind.
    pub(super) fn indexes(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for kind in 0..2 {
            for chunk in self.groups.iter_mut().flat_map(|group| &mut group.chunks) {
                let index = &mut chunk.indexes[kind];
                index.offset = self.position + bytes.len() as u64;
                index.len = index.bytes.len() as i32;
                bytes.append(&mut index.bytes);
            }
        }
        bytes
    }

    pub(super) fn metadata(&self, groups: Vec<RowGroupMetaData>, place: Option<Place>) -> ParquetMetaData {
        let rows = groups.iter().map(RowGroupMetaData::num_rows).sum();
        let keys = place.map(|place| vec![KeyValue::new(KEY.to_owned(), place.value())]);
        let writer = format!("{WRITER}{}", env!("CARGO_PKG_VERSION"));
        let schema = self.schema.descriptor.clone();
        ParquetMetaData::new(FileMetaData::new(2, rows, Some(writer), keys, schema, None), groups)
    }
}

/// The bytes of a footer.
pub(super) fn footer(metadata: &ParquetMetaData) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    ParquetMetaDataWriter::new(&mut bytes, metadata).finish()?;
    Ok(bytes)
}

/// Entries without a value, which Parquet counts as nulls.
fn nulls(chunk: &ColumnChunkMetaData) -> u64 {
    chunk.statistics().and_then(Statistics::null_count_opt).unwrap_or(0)
}

fn is_null(chunk: &ColumnChunkMetaData) -> bool {
    nulls(chunk) == chunk.num_values().unsigned_abs()
}
