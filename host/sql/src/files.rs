//! Tables of local files: a file, the files of a folder, or those that match a pattern.
//!
//! Names mean the same files as in every other command of Warpath (`Source::named`). They are listed again
//! for each query. Folders named `key=value` that the name of the table does not spell out are columns:
//!
//! ```text
//! 'logs/'                  logs/year=2026/a.ndjson     column year
//! 'logs/*/*.ndjson'        logs/year=2026/a.ndjson     column year
//! 'logs/year=2026/*'       logs/year=2026/a.ndjson     no column
//! ```
//!
//! With the option `filename`, the path of each record's file is the column [`FILENAME`], after these.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_datafusion_err, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::listing::helpers::{expr_applicable_for_cols, filter_partitioned_file};
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource, wrap_partition_type_in_dict,
    wrap_partition_value_in_dict,
};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion_datasource::compute_all_files_statistics;
use object_store::ObjectMeta;
use warpath::{FolderFiles, Source};

use crate::engines::external;
use crate::format::WarpathFormat;

/// The column of the files' paths.
const FILENAME: &str = "filename";

/// A table of local files.
#[derive(Debug)]
pub struct FilesTable {
    name: PathBuf,
    format: Arc<WarpathFormat>,
    /// The keys of folders that are columns, and [`FILENAME`].
    keys: Vec<String>,
    schema: TableSchema,
}

/// A file of a table, and the keys and values of its folders.
struct ListedFile {
    object: ObjectMeta,
    folders: Vec<(String, String)>,
}

impl FilesTable {
    /// The table of a name, with the columns that are declared, or those of the files as they are now.
    ///
    /// # Errors
    /// The errors of a name that means no file, and those of reading the files' schemas.
    pub async fn open(
        name: &Path,
        format: WarpathFormat,
        declared: Option<SchemaRef>,
        session: &dyn Session,
    ) -> Result<Self> {
        let found = list(name, format.has_filename)?;
        let keys = keys(&found);
        let objects: Vec<ObjectMeta> = found.into_iter().map(|it| it.object).collect();
        let store = session.runtime_env().object_store(ObjectStoreUrl::local_filesystem())?;
        let schema = match declared {
            Some(declared) => declared,
            None => format.infer_schema(session, &store, &objects).await?,
        };
        // A folder's value comes before a member of the same name.
        let members = schema.fields().iter().filter(|field| !keys.contains(field.name())).cloned();
        let schema =
            Arc::new(Schema::new_with_metadata(members.collect::<Vec<_>>(), schema.metadata().clone()));
        let columns: Vec<FieldRef> = keys
            .iter()
            .map(|key| Arc::new(Field::new(key, wrap_partition_type_in_dict(DataType::Utf8), false)))
            .collect();
        let schema = TableSchema::builder(schema).with_table_partition_cols(columns).build();
        Ok(Self { name: name.to_owned(), format: Arc::new(format), keys, schema })
    }

    /// True if a filter is about folders alone. A constant is about nothing.
    fn is_of_folders(&self, filter: &Expr) -> bool {
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        !keys.is_empty() && expr_applicable_for_cols(&keys, filter)
    }

    /// The files whose folders hold for all conditions, with their statistics.
    async fn files(&self, session: &dyn Session, conditions: &[Expr]) -> Result<Vec<PartitionedFile>> {
        let store = session.runtime_env().object_store(ObjectStoreUrl::local_filesystem())?;
        let columns = DFSchema::from_unqualified_fields(
            self.schema.table_partition_cols().iter().cloned().collect(),
            Default::default(),
        )?;
        let mut files = Vec::new();
        for found in list(&self.name, self.format.has_filename)? {
            // A file that has come since the table was opened may be in another kind of folder.
            let Some(values) = found.values(&self.keys) else { continue };
            let mut file = PartitionedFile::from(found.object);
            file.partition_values = values;
            let Some(mut file) = filter_partitioned_file(file, conditions, &columns)? else { continue };
            let schema = self.schema.file_schema().clone();
            let statistics = self.format.infer_stats(session, &store, schema, &file.object_meta).await?;
            file = file.with_statistics(Arc::new(statistics));
            files.push(file);
        }
        Ok(files)
    }
}

#[async_trait]
impl TableProvider for FilesTable {
    fn schema(&self) -> SchemaRef {
        self.schema.table_schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match self.is_of_folders(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(answer).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let of_folders = filters.iter().filter(|filter| self.is_of_folders(filter));
        let conditions: Vec<Expr> = of_folders.cloned().collect();
        let mut files = self.files(session, &conditions).await?;
        let all = files.len();
        if let (Some(limit), true) = (limit, conditions.len() == filters.len()) {
            files.truncate(enough(&files, limit));
        }
        let is_part = files.len() < all;
        let source = self.format.file_source(self.schema.clone());
        let store = ObjectStoreUrl::local_filesystem();
        let scan = FilesScan { store, files, is_part, schema: &self.schema, source };
        scan.plan(&*self.format, session, projection, limit).await
    }
}

/// A scan of files.
pub struct FilesScan<'a> {
    /// The store of the files.
    pub store: ObjectStoreUrl,
    pub files: Vec<PartitionedFile>,
    /// True if the table has other rows.
    pub is_part: bool,
    pub schema: &'a TableSchema,
    pub source: Arc<dyn FileSource>,
}

impl FilesScan<'_> {
    /// The plan.
    ///
    /// # Errors
    /// The errors of the format.
    pub async fn plan(
        self,
        format: &dyn FileFormat,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.schema.table_schema();
        if self.files.is_empty() {
            let schema = datafusion::physical_plan::project_schema(schema, projection)?;
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let config = FileScanConfigBuilder::new(self.store, self.source)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit);
        let config = of_files(config, self.files, self.is_part, schema, session.config_options())?;
        format.create_physical_plan(session, config).await
    }
}

/// The scan of some files. `is_part` is true if the table has other rows.
pub fn of_files(
    config: FileScanConfigBuilder,
    files: Vec<PartitionedFile>,
    is_part: bool,
    schema: &SchemaRef,
    options: &ConfigOptions,
) -> Result<FileScanConfig> {
    let groups = FileGroup::new(files).split_files(options.execution.target_partitions);
    let (groups, statistics) = compute_all_files_statistics(groups, schema.clone(), true, is_part)?;
    Ok(config.with_file_groups(groups).with_statistics(statistics).build())
}

/// The number of the first files that have a number of records.
pub fn enough(files: &[PartitionedFile], limit: usize) -> usize {
    let mut records = 0;
    for (at, file) in files.iter().enumerate() {
        if records >= limit {
            return at;
        }
        if let Some(Precision::Exact(count)) = file.statistics.as_ref().map(|it| it.num_rows) {
            records += count;
        }
    }
    files.len()
}

/// The files that a name means, in the order of their names.
fn list(name: &Path, has_filename: bool) -> Result<Vec<ListedFile>> {
    let base = base(name);
    let sources = Source::named(name, FolderFiles::Json).map_err(|error| external(error.into()))?;
    let paths = sources.into_iter().filter_map(|source| match source {
        Source::File(path) => Some(path),
        _ => None,
    });
    let paths: Vec<PathBuf> = paths.collect();
    if paths.is_empty() {
        return plan_err!("{}: its stores have no lines, so that there are no columns", name.display());
    }
    let found = paths.into_iter().map(|path| {
        let mut found = found(&path, &base)?;
        if has_filename {
            found.folders.retain(|(key, _)| key != FILENAME);
            found.folders.push((FILENAME.to_owned(), path.display().to_string()));
        }
        Ok(found)
    });
    found.collect()
}

/// The folder beneath which folders may be columns: a folder itself, or that before a pattern's first
/// component with a wildcard.
fn base(name: &Path) -> PathBuf {
    if name.exists() {
        return name.to_owned();
    }
    let is_plain = |part: &Component| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    name.components().take_while(is_plain).collect()
}

/// A file as an object of the local file system.
///
/// # Errors
/// The errors of a path that is no regular file.
pub fn object(path: &Path) -> Result<ObjectMeta> {
    let failed = |error: std::io::Error| plan_datafusion_err!("{}: {error}", path.display());
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return plan_err!(
            "{}: no regular file, and a table may be read more than once; copy it to a file",
            path.display()
        );
    }
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    let full = if goes_up { path.canonicalize() } else { std::path::absolute(path) }.map_err(failed)?;
    let location = object_store::path::Path::from_absolute_path(&full)
        .map_err(|error| plan_datafusion_err!("{}: {error}", path.display()))?;
    Ok(ObjectMeta {
        location,
        last_modified: metadata.modified().map_err(failed)?.into(),
        size: metadata.len(),
        e_tag: None,
        version: None,
    })
}

fn found(path: &Path, base: &Path) -> Result<ListedFile> {
    let object = object(path)?;
    let below = path.strip_prefix(base).ok().and_then(Path::parent).unwrap_or(Path::new(""));
    let folders = below.iter().filter_map(|part| {
        let (key, value) = part.to_str()?.split_once('=')?;
        (!key.is_empty()).then(|| (key.to_owned(), decoded(value)))
    });
    Ok(ListedFile { object, folders: folders.collect() })
}

/// A value in the name of a folder, whose `%3A` and the like are characters.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = || u8::from_str_radix(std::str::from_utf8(after.get(..2)?).ok()?, 16).ok();
        match (byte == b'%').then(digits).flatten() {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| value.to_owned())
}

impl ListedFile {
    /// The values of the folders with these keys; `None` if the file is not in such folders.
    fn values(&self, keys: &[String]) -> Option<Vec<ScalarValue>> {
        let value = |key: &String| {
            let (_, value) = self.folders.iter().find(|(of, _)| of == key)?;
            Some(wrap_partition_value_in_dict(ScalarValue::from(value.as_str())))
        };
        keys.iter().map(value).collect()
    }
}

/// The keys of the folders that all files are in, in the order of the first file's.
fn keys(found: &[ListedFile]) -> Vec<String> {
    let mut seen = HashSet::new();
    let of_first = found.first().map_or(&[][..], |first| &first.folders[..]);
    let in_all = |key: &String| found.iter().all(|file| file.folders.iter().any(|(of, _)| of == key));
    of_first
        .iter()
        .map(|(key, _)| key.clone())
        .filter(|key| in_all(key) && seen.insert(key.clone()))
        .collect()
}
