//! Tables of Parquet files: the parts of stores.
//!
//! DataFusion reads and decodes the files. What it would read in vain is excluded here.
//!
//! | a query needs | is read |
//! |---|---|
//! | numbers of rows, least and greatest values of columns | footers |
//! | members of structs | their leaves |
//! | rows for which a condition holds | row groups whose bounds do not exclude it ([`GroupCondition`]) |
//!
//! A footer is decoded once, when the table is opened, and DataFusion's cache keeps it for the scan.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::parquet::{
    ParquetAccessPlan, RowGroupAccess, transform_schema_to_view,
};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectMeta;

use crate::files::{FilesScan, enough, object};
use crate::groups::GroupCondition;

/// The bytes at the end of a file that are read first. Most footers have fewer.
const LAST: usize = 64 << 10;

/// A table of Parquet files.
#[derive(Debug)]
pub struct PartsTable {
    parts: Vec<Part>,
    schema: TableSchema,
    format: ParquetFormat,
}

#[derive(Debug)]
struct Part {
    object: ObjectMeta,
    metadata: Arc<ParquetMetaData>,
}

impl PartsTable {
    /// The table of local files, with the columns of all of them. A file that lacks a column has nulls there.
    ///
    /// # Errors
    /// The errors of reading footers, and those of files whose columns have different types.
    pub async fn open(paths: &[PathBuf], session: &dyn Session) -> Result<Self> {
        let store = session.runtime_env().object_store(ObjectStoreUrl::local_filesystem())?;
        let cache = session.runtime_env().cache_manager.get_file_metadata_cache();
        let read = |path: &PathBuf| {
            let (object, store, cache) = (object(path), store.clone(), cache.clone());
            async move {
                let object = object?;
                let reader = DFParquetMetadata::new(&store, &object)
                    .with_metadata_size_hint(Some(LAST))
                    .with_file_metadata_cache(Some(cache))
                    // The indexes of all pages are long, and few queries need any.
                    .with_page_index_policy(Some(PageIndexPolicy::Skip));
                let metadata = reader.fetch_metadata().await?;
                let schema = reader.fetch_schema().await?;
                // A part has its own metadata.
                let fields = schema.fields().iter().map(|field| field.as_ref().clone());
                let fields = fields.map(|field| field.with_metadata(HashMap::new()));
                let schema = Schema::new(fields.collect::<Vec<_>>());
                Ok::<_, DataFusionError>((Part { object, metadata }, schema))
            }
        };
        let at_once = session.config_options().execution.meta_fetch_concurrency.get();
        let reads: Vec<_> = paths.iter().map(read).collect();
        let read: Vec<_> = futures::stream::iter(reads).buffered(at_once).try_collect().await?;
        let (parts, schemas): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        let schema = transform_schema_to_view(&Schema::try_merge(schemas)?);
        let format = ParquetFormat::default().with_metadata_size_hint(Some(LAST));
        Ok(Self { parts, schema: TableSchema::builder(Arc::new(schema)).build(), format })
    }

    /// The files, without the row groups that a condition excludes. Returns also whether there are such.
    fn files(&self, condition: Option<&GroupCondition>) -> Result<(Vec<PartitionedFile>, bool)> {
        let (mut files, mut is_part) = (Vec::new(), false);
        for part in &self.parts {
            let mut file = PartitionedFile::from(part.object.clone());
            let may_hold = condition.map(|it| it.may_hold(&part.metadata)).transpose()?.unwrap_or_default();
            if may_hold.contains(&false) {
                is_part = true;
                if !may_hold.contains(&true) {
                    continue;
                }
                let access = may_hold.iter().map(|may_hold| match may_hold {
                    true => RowGroupAccess::Scan,
                    false => RowGroupAccess::Skip,
                });
                file = file.with_extension(ParquetAccessPlan::new(access.collect()));
            }
            let schema = self.schema.file_schema();
            let statistics = DFParquetMetadata::statistics_from_parquet_metadata(&part.metadata, schema)?;
            file = file.with_statistics(Arc::new(statistics));
            files.push(file);
        }
        Ok((files, is_part))
    }
}

#[async_trait]
impl TableProvider for PartsTable {
    fn schema(&self) -> SchemaRef {
        self.schema.table_schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let condition = GroupCondition::of(filters, self.schema.file_schema(), session);
        let (mut files, mut is_part) = self.files(condition.as_ref())?;
        if let (Some(limit), true) = (limit, filters.is_empty()) {
            let count = enough(&files, limit);
            is_part |= count < files.len();
            files.truncate(count);
        }
        let source = self.format.file_source(self.schema.clone());
        let scan = FilesScan { files, is_part, schema: &self.schema, source };
        scan.plan(&self.format, session, projection, limit).await
    }
}
