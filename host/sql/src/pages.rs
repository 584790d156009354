//! Rows of row groups for which a condition can be true, by the bounds of pages.
//!
//! DataFusion excludes pages by the bounds of columns, and not by those of members of structs. Pages of two
//! leaves end at different rows. The rows between two neighbouring ends are a *span*. In each leaf, the rows
//! of a span are in one page, whose bounds hold for the span.
//!
//! ```text
//! data.at   │  page 0  │  page 1  │  page 2  │
//! data.kind │     page 0     │     page 1     │
//! spans     │    0     │  1  │  2 │    3     │
//! ```
//!
//! Of the indexes of a file, those of the leaves that a condition names are decoded.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue, exec_err};
use datafusion::datasource::physical_plan::parquet::RowGroupAccess;
use datafusion::parquet::DecodeResult;
use datafusion::parquet::arrow::arrow_reader::RowSelection;
use datafusion::parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{
    FileMetaData, PageIndexPolicy, ParquetColumnIndex, ParquetMetaData, ParquetMetaDataPushDecoder,
    ParquetOffsetIndex, RowGroupMetaData,
};
use datafusion::parquet::schema::types::{SchemaDescriptor, Type};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::groups::{GroupCondition, Member, Position};

/// The indexes of the pages of some leaves, in some row groups.
struct Pages {
    /// Metadata that have these leaves and row groups alone.
    metadata: ParquetMetaData,
}

impl GroupCondition {
    /// The rows of a file to scan: for each row group all rows, no rows, or those of the pages that the
    /// condition does not exclude. `may_hold` has the row groups that it does not exclude.
    ///
    /// # Errors
    /// The errors of reading the indexes of pages, and of evaluating the condition over bounds.
    pub async fn access(
        &self,
        metadata: &ParquetMetaData,
        may_hold: &[bool],
        store: &dyn ObjectStore,
        object: &ObjectMeta,
    ) -> Result<Vec<RowGroupAccess>> {
        let whole = |may_hold: &bool| if *may_hold { RowGroupAccess::Scan } else { RowGroupAccess::Skip };
        let mut access: Vec<RowGroupAccess> = may_hold.iter().map(whole).collect();
        let positions = self.positions(metadata);
        // DataFusion excludes pages of columns itself.
        let has_members = self
            .members
            .iter()
            .zip(&positions)
            .any(|(member, position)| member.names.len() > 1 && matches!(position, Position::Leaf(_)));
        if !has_members {
            return Ok(access);
        }
        let mut leaves: Vec<usize> = positions.iter().filter_map(Position::leaf).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let groups: Vec<usize> = (0..may_hold.len()).filter(|group| may_hold[*group]).collect();
        let Some(pages) = Pages::read(metadata, &leaves, &groups, store, object).await? else {
            return Ok(access);
        };
        // The positions among the leaves alone.
        let within = |position: Position| match position {
            Position::Leaf(leaf) => leaves.binary_search(&leaf).map_or(Position::Other, Position::Leaf),
            other => other,
        };
        let positions: Vec<Position> = positions.into_iter().map(within).collect();
        for (at, group) in groups.into_iter().enumerate() {
            let Some(spans) = Spans::of(&pages.metadata, at, &self.members, &positions)? else { continue };
            let may_hold = self.predicate.prune(&spans)?;
            if !may_hold.contains(&false) {
                continue;
            }
            access[group] = match may_hold.contains(&true) {
                true => RowGroupAccess::Selection(spans.selection(&may_hold)),
                false => RowGroupAccess::Skip,
            };
        }
        Ok(access)
    }
}

impl Pages {
    /// Reads the indexes; `None` if a leaf has none.
    async fn read(
        metadata: &ParquetMetaData,
        leaves: &[usize],
        groups: &[usize],
        store: &dyn ObjectStore,
        object: &ObjectMeta,
    ) -> Result<Option<Self>> {
        let known = only(metadata, leaves, groups)?;
        let (mut first, mut last) = (u64::MAX, 0);
        for chunk in known.row_groups().iter().flat_map(RowGroupMetaData::columns) {
            let bounds = chunk.column_index_offset().zip(chunk.column_index_length());
            let offsets = chunk.offset_index_offset().zip(chunk.offset_index_length());
            for index in [bounds, offsets] {
                let Some((start, length)) = index else { return Ok(None) };
                let start = start.unsigned_abs();
                let end = start.saturating_add(length.unsigned_abs().into());
                (first, last) = (first.min(start), last.max(end));
            }
        }
        if first >= last {
            return Ok(None);
        }
        let range = first..last;
        if range.end > object.size {
            let what = "the footer is damaged: it names an index of pages after the end of the file";
            return Err(ParquetError::General(what.to_owned()).into());
        }
        let bytes = store.get_range(&object.location, range.clone()).await?;
        if bytes.len() as u64 != range.end - range.start {
            return Err(ParquetError::EOF("the file has become shorter".to_owned()).into());
        }
        let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(object.size, known)?
            .with_page_index_policy(PageIndexPolicy::Required);
        decoder.push_range(range, bytes)?;
        match decoder.try_decode()? {
            DecodeResult::Data(metadata) => Ok(Some(Self { metadata })),
            _ => exec_err!("{}: the indexes of pages are incomplete", object.location),
        }
    }
}

/// Metadata that have some leaves and row groups alone.
fn only(metadata: &ParquetMetaData, leaves: &[usize], groups: &[usize]) -> ParquetResult<ParquetMetaData> {
    let file = metadata.file_metadata();
    let fields = leaves.iter().map(|leaf| file.schema_descr().column(*leaf).self_type_ptr());
    let root = Type::group_type_builder("schema").with_fields(fields.collect()).build()?;
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(root)));
    let groups = groups.iter().map(|group| {
        let group = metadata.row_group(*group);
        let chunks = leaves.iter().map(|leaf| group.column(*leaf).clone());
        RowGroupMetaData::builder(schema.clone())
            .set_num_rows(group.num_rows())
            .set_column_metadata(chunks.collect())
            .build()
    });
    let groups = groups.collect::<ParquetResult<_>>()?;
    let file = FileMetaData::new(file.version(), file.num_rows(), None, None, schema.clone(), None);
    Ok(ParquetMetaData::new(file, groups))
}

/// The spans of a row group, with the bounds of the leaves of a condition.
struct Spans<'a> {
    metadata: &'a ParquetMetaData,
    bounds: &'a ParquetColumnIndex,
    offsets: &'a ParquetOffsetIndex,
    group: usize,
    members: &'a [Member],
    positions: &'a [Position],
    /// The row at which each span begins, and the number of rows.
    ends: Vec<u64>,
}

impl<'a> Spans<'a> {
    /// The spans; `None` if there is only one.
    fn of(
        metadata: &'a ParquetMetaData,
        group: usize,
        members: &'a [Member],
        positions: &'a [Position],
    ) -> Result<Option<Self>> {
        let (Some(bounds), Some(offsets)) = (metadata.column_index(), metadata.offset_index()) else {
            return Ok(None);
        };
        let rows = metadata.row_group(group).num_rows();
        let mut ends = vec![rows];
        for leaf in &offsets[group] {
            let firsts = leaf.page_locations().iter().map(|page| page.first_row_index);
            let firsts: Vec<i64> = firsts.collect();
            let is_whole = firsts.first() == Some(&0) && firsts.last() < Some(&rows);
            if !is_whole || !firsts.is_sorted_by(|one, next| one < next) {
                let what = "the index of its pages is damaged: their rows are not those of the row group";
                return Err(ParquetError::General(what.to_owned()).into());
            }
            ends.extend(firsts);
        }
        let mut ends: Vec<u64> = ends.into_iter().map(i64::unsigned_abs).collect();
        ends.sort_unstable();
        ends.dedup();
        let spans = Self { metadata, bounds, offsets, group, members, positions, ends };
        Ok((spans.ends.len() > 2).then_some(spans))
    }

    fn member(&self, column: &Column) -> Option<(&Member, Position)> {
        let at: usize = column.name.parse().ok()?;
        Some((self.members.get(at)?, *self.positions.get(at)?))
    }

    /// The leaf of a column, and its values of pages.
    fn leaf(&self, column: &Column) -> Option<(usize, StatisticsConverter<'_>)> {
        let (member, Position::Leaf(leaf)) = self.member(column)? else { return None };
        let schema = self.metadata.file_metadata().schema_descr();
        let converter = StatisticsConverter::from_column_index(leaf, &member.field, schema).ok()?;
        Some((leaf, converter.with_missing_null_counts_as_zero(false)))
    }

    /// The first rows of the pages of a leaf.
    fn first_rows(&self, leaf: usize) -> impl Iterator<Item = u64> {
        let pages = self.offsets[self.group][leaf].page_locations();
        pages.iter().map(|page| page.first_row_index.unsigned_abs())
    }

    /// The page of each span in a leaf.
    fn pages(&self, leaf: usize) -> UInt64Array {
        let firsts: Vec<u64> = self.first_rows(leaf).collect();
        let starts = &self.ends[..self.ends.len() - 1];
        starts.iter().map(|start| firsts.partition_point(|first| first <= start) as u64 - 1).collect()
    }

    /// Values of pages as values of spans.
    fn spread(&self, leaf: usize, values: &dyn Array) -> Option<ArrayRef> {
        let count = self.first_rows(leaf).count();
        (values.len() == count).then(|| take(values, &self.pages(leaf), None).ok())?
    }

    fn rows(&self) -> impl Iterator<Item = u64> {
        self.ends.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// The rows of the spans for which the condition may hold.
    fn selection(&self, may_hold: &[bool]) -> RowSelection {
        let spans = self.ends.windows(2).zip(may_hold).filter(|(_, may_hold)| **may_hold);
        let rows = *self.ends.last().unwrap_or(&0) as usize;
        RowSelection::from_consecutive_ranges(spans.map(|(ends, _)| ends[0] as usize..ends[1] as usize), rows)
    }
}

impl PruningStatistics for Spans<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        let (leaf, converter) = self.leaf(column)?;
        self.spread(leaf, &*converter.data_page_mins(self.bounds, self.offsets, [&self.group]).ok()?)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        let (leaf, converter) = self.leaf(column)?;
        self.spread(leaf, &*converter.data_page_maxes(self.bounds, self.offsets, [&self.group]).ok()?)
    }

    fn num_containers(&self) -> usize {
        self.ends.len() - 1
    }

    /// The nulls of spans. If some rows of a page are null, those of its spans are not known.
    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let leaf = match self.member(column)?.1 {
            Position::Nothing => return self.row_counts(),
            Position::Other => return None,
            Position::Leaf(leaf) => leaf,
        };
        let (_, converter) = self.leaf(column)?;
        let nulls = converter.data_page_null_counts(self.bounds, self.offsets, [&self.group]).ok()?;
        let firsts: Vec<u64> = self.first_rows(leaf).chain(self.ends.last().copied()).collect();
        if nulls.len() + 1 != firsts.len() {
            return None;
        }
        let pages = self.pages(leaf);
        let counts = pages.values().iter().zip(self.rows()).map(|(page, rows)| {
            let page = *page as usize;
            match nulls.is_valid(page).then(|| nulls.value(page)) {
                Some(0) => Some(0),
                Some(all) if all == firsts[page + 1] - firsts[page] => Some(rows),
                _ => None,
            }
        });
        Some(Arc::new(counts.collect::<UInt64Array>()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(self.rows().collect::<UInt64Array>()))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
