//! Tables of Parquet files: the parts of stores.
//!
//! DataFusion reads and decodes the files. What it would read in vain is excluded here.
//!
//! | a query needs | is read |
//! |---|---|
//! | numbers of rows, least and greatest values of columns | footers |
//! | members of structs | their leaves |
//! | rows for which a condition holds | row groups and pages whose bounds do not exclude it ([`GroupCondition`]) |
//!
//! A footer is decoded once, when the table is opened, and DataFusion's cache keeps it for the scan. Sessions
//! that share [`KnownParts`] open the same version of a store without decoding its footers again.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, exec_err};
use datafusion::config::ConfigOptions;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::metadata::{CachedParquetMetaData, DFParquetMetadata};
use datafusion::datasource::physical_plan::parquet::{
    ParquetAccessPlan, RowGroupAccess, transform_schema_to_view,
};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::execution::cache::cache_manager::CachedFileMetadataEntry;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::parquet::file::metadata::PageIndexPolicy;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore};
use warpath::InputError;
use warpath_exec::store::KEY;

use crate::engines::external;
use crate::files::{FilesScan, enough, of_files};
use crate::groups::GroupCondition;
use crate::known::{Footer, KnownParts, Part, Parts};
use crate::leaves::{InMemory, LoadedFiles};
use crate::stores::named;

/// The bytes at the end of a file that are read first. Most footers have fewer.
const LAST: usize = 64 << 10;

/// A table of Parquet files.
#[derive(Debug)]
pub struct PartsTable {
    parts: Arc<Parts>,
    format: ParquetFormat,
}

/// Reads the footer of a Parquet file.
async fn footer(store: &dyn ObjectStore, object: ObjectMeta, session: &dyn Session) -> Result<Footer> {
    let cache = session.runtime_env().cache_manager.get_file_metadata_cache();
    let reader = DFParquetMetadata::new(store, &object)
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
    Ok(Footer { object, metadata, schema })
}

/// True for the footer of a part of a store. False for that of a file of another program.
fn is_of_store(footer: &Footer) -> bool {
    let keys = footer.metadata.file_metadata().key_value_metadata();
    keys.is_some_and(|keys| keys.iter().any(|it| it.key == KEY))
}

impl PartsTable {
    /// The table of Parquet files in one object store, with the columns of all of them. A file that lacks a
    /// column has nulls there.
    ///
    /// # Errors
    /// The errors of reading footers, and those of files whose columns have different types.
    pub async fn open(url: &ObjectStoreUrl, objects: Vec<ObjectMeta>, session: &dyn Session) -> Result<Self> {
        let parts = parts_beside(None, url, objects, session).await?;
        Ok(Self::of(Arc::new(parts)))
    }

    /// The table of the parts of a store, as from [`open`](Self::open). Footers that the session knows are
    /// not read.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub async fn of_store(
        name: &str,
        url: &ObjectStoreUrl,
        objects: Vec<ObjectMeta>,
        session: &dyn Session,
    ) -> Result<Self> {
        let Some(known) = session.config().get_extension::<KnownParts>() else {
            return Self::open(url, objects, session).await;
        };
        let before = known.parts(name).filter(|parts| parts.url == *url);
        let parts = match before {
            Some(parts) if parts.all.iter().map(|part| &part.footer.object).eq(&objects) => parts,
            before => {
                let parts = Arc::new(parts_beside(before.as_deref(), url, objects, session).await?);
                known.keep(name, &parts);
                parts
            }
        };
        let cache = session.runtime_env().cache_manager.get_file_metadata_cache();
        for Part { footer, .. } in &parts.all {
            let metadata = Arc::new(CachedParquetMetaData::new(footer.metadata.clone()));
            let entry = CachedFileMetadataEntry::new(footer.object.clone(), metadata);
            cache.put(&footer.object.location, entry);
        }
        Ok(Self::of(parts))
    }

    /// The table of one part of a store; `None` for another file.
    ///
    /// # Errors
    /// The errors of reading the footer.
    pub async fn of_part(
        url: &ObjectStoreUrl,
        object: ObjectMeta,
        session: &dyn Session,
    ) -> Result<Option<Self>> {
        let store = session.runtime_env().object_store(url)?;
        let name = shown(url, &object);
        match footer(&store, object, session).await {
            Ok(footer) if is_of_store(&footer) => {
                Ok(Some(Self::of(Arc::new(parts_of(url, vec![Arc::new(footer)])?))))
            }
            // A file without a footer is no part.
            Ok(_) | Err(DataFusionError::ParquetError(_)) => Ok(None),
            Err(error) => Err(of_file(&name, error)),
        }
    }

    /// True if the session has the leaves of all files in memory.
    fn is_loaded(&self, session: &dyn Session) -> bool {
        let Some(in_memory) = session.config().get_extension::<InMemory>() else { return false };
        let files = LoadedFiles::of(&in_memory.now());
        self.parts.all.iter().all(|part| files.input(&part.footer.object).is_some())
    }

    fn of(parts: Arc<Parts>) -> Self {
        Self { parts, format: ParquetFormat::default().with_metadata_size_hint(Some(LAST)) }
    }
}

impl Parts {
    /// The files, without the rows that a condition excludes by bounds. Returns also whether there are such.
    /// The indexes of `at_once` files are read at a time.
    async fn files(
        &self,
        condition: Option<&GroupCondition>,
        store: &Arc<dyn ObjectStore>,
        at_once: usize,
    ) -> Result<(Vec<PartitionedFile>, bool)> {
        let access = |part| {
            let store = store.clone();
            async move {
                match condition {
                    None => Ok(Vec::new()),
                    Some(condition) => self.access(part, condition, &store).await,
                }
            }
        };
        let accesses: Vec<_> = self.all.iter().map(access).collect();
        let accesses: Vec<_> = futures::stream::iter(accesses).buffered(at_once).try_collect().await?;
        let (mut files, mut is_part) = (Vec::new(), false);
        for (part, access) in self.all.iter().zip(accesses) {
            let mut file = PartitionedFile::from(part.footer.object.clone());
            if access.iter().any(|group| !matches!(group, RowGroupAccess::Scan)) {
                is_part = true;
                if !access.iter().any(RowGroupAccess::should_scan) {
                    continue;
                }
                file = file.with_extension(ParquetAccessPlan::new(access));
            }
            file = file.with_statistics(self.statistics(part)?);
            files.push(file);
        }
        Ok((files, is_part))
    }

    /// The rows of each row group of a part that are scanned.
    async fn access(
        &self,
        part: &Part,
        condition: &GroupCondition,
        store: &dyn ObjectStore,
    ) -> Result<Vec<RowGroupAccess>> {
        let Footer { object, metadata, .. } = &*part.footer;
        let may_hold = condition.may_hold(metadata)?;
        let access = condition.access(metadata, &may_hold, store, object).await;
        access.map_err(|error| of_file(&shown(&self.url, object), error))
    }
}

/// A condition whose bounds are compared once it is known that files are read: leaves in memory may answer
/// without them. It is an extension of all files of a scan.
struct Later {
    parts: Arc<Parts>,
    condition: GroupCondition,
    store: Arc<dyn ObjectStore>,
}

/// The scan without the rows that its condition excludes by bounds, if these were not compared yet.
///
/// # Errors
/// The errors of reading the indexes of pages.
pub fn compared(
    plan: &Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(source) = plan.downcast_ref::<DataSourceExec>() else { return Ok(None) };
    let Some(scan) = source.data_source().downcast_ref::<FileScanConfig>() else { return Ok(None) };
    let mut files = scan.file_groups.iter().flat_map(FileGroup::files);
    let Some(later) = files.find_map(|file| file.extension::<Arc<Later>>()) else { return Ok(None) };
    // The files are of this machine. Another thread reads them, because this one may belong to a runtime that
    // waits for it.
    let read = || futures::executor::block_on(later.parts.files(Some(&later.condition), &later.store, 1));
    let read =
        thread::scope(|scope| Ok::<_, io::Error>(thread::Builder::new().spawn_scoped(scope, read)?.join()));
    let (files, _) = read?.unwrap_or_else(|_| exec_err!("the thread that reads bounds of pages panicked"))?;
    if files.is_empty() {
        return Ok(Some(Arc::new(EmptyExec::new(plan.schema()))));
    }
    let config = FileScanConfigBuilder::from(scan.clone());
    let config = of_files(config, files, true, later.parts.schema.table_schema(), options)?;
    Ok(Some(DataSourceExec::from_data_source(config)))
}

/// Reads the footers of files, other than those that were read before.
async fn parts_beside(
    before: Option<&Parts>,
    url: &ObjectStoreUrl,
    objects: Vec<ObjectMeta>,
    session: &dyn Session,
) -> Result<Parts> {
    let store = session.runtime_env().object_store(url)?;
    let at_once = session.config_options().execution.meta_fetch_concurrency.get();
    let before = before.into_iter().flat_map(|parts| &parts.all);
    let known: HashMap<_, _> = before.map(|part| (&part.footer.object.location, &part.footer)).collect();
    let read = |object: ObjectMeta| {
        let store = store.clone();
        let known = known.get(&object.location).filter(|footer| footer.object == object);
        let known = known.map(|footer| Arc::clone(footer));
        async move {
            if let Some(known) = known {
                return Ok(known);
            }
            let name = shown(url, &object);
            let read = footer(&store, object, session).await;
            read.map(Arc::new).map_err(|error| of_file(&name, error))
        }
    };
    let reads: Vec<_> = objects.into_iter().map(read).collect();
    parts_of(url, futures::stream::iter(reads).buffered(at_once).try_collect().await?)
}

/// The files with these footers, with the columns of all of them.
fn parts_of(url: &ObjectStoreUrl, footers: Vec<Arc<Footer>>) -> Result<Parts> {
    let schemas = footers.iter().map(|footer| footer.schema.clone());
    let schema = transform_schema_to_view(&Schema::try_merge(schemas)?);
    let all = footers.into_iter().map(|footer| Part { footer, statistics: OnceLock::new() }).collect();
    Ok(Parts { url: url.clone(), all, schema: TableSchema::builder(Arc::new(schema)).build() })
}

/// The name of a file, for messages.
fn shown(url: &ObjectStoreUrl, object: &ObjectMeta) -> String {
    let name = format!("{url}{}", object.location);
    name.strip_prefix("file://").map_or(name.clone(), str::to_owned)
}

/// The error of reading a file.
fn of_file(name: &str, error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::ParquetError(error) => {
            external(InputError::Part { name: name.to_owned(), reason: error.to_string() }.into())
        }
        error => named(name, error),
    }
}

#[async_trait]
impl TableProvider for PartsTable {
    fn schema(&self) -> SchemaRef {
        self.parts.schema.table_schema().clone()
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
        let condition = GroupCondition::of(filters, self.parts.schema.file_schema(), session);
        let store = session.runtime_env().object_store(&self.parts.url)?;
        let at_once = session.config_options().execution.meta_fetch_concurrency.get();
        let (mut files, mut is_part) = match condition {
            Some(condition) if self.is_loaded(session) => {
                let all = self.parts.files(None, &store, at_once).await?.0.into_iter();
                let later = Arc::new(Later { parts: self.parts.clone(), condition, store });
                // Rows are excluded later.
                (all.map(|file| file.with_extension(later.clone())).collect(), true)
            }
            condition => self.parts.files(condition.as_ref(), &store, at_once).await?,
        };
        if let (Some(limit), true) = (limit, filters.is_empty()) {
            let count = enough(&files, limit);
            is_part |= count < files.len();
            files.truncate(count);
        }
        let source = self.format.file_source(self.parts.schema.clone());
        let scan =
            FilesScan { store: self.parts.url.clone(), files, is_part, schema: &self.parts.schema, source };
        scan.plan(&self.format, session, projection, limit).await
    }
}
