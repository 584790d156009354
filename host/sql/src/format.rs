//! The file format of DataFusion: schemas and statistics of files, and the scans of them.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::stats::Precision;
use datafusion::common::{GetExt, Result, Statistics, plan_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_plan::ExecutionPlan;
use object_store::{ObjectMeta, ObjectStore};

use crate::engines::Engines;
use crate::options::{Options, SchemaFrom};
use crate::schema;
use crate::schema_cache;
use crate::source::WarpathSource;

/// The names of the format in `STORED AS`, and the endings of files.
pub const EXTENSIONS: [&str; 4] = ["warpath", "ndjson", "jsonl", "json"];

/// Makes the format for tables (`CREATE EXTERNAL TABLE … STORED AS WARPATH`).
///
/// `OPTIONS ('format.schema' 'line')` sets the source of columns: `all`, `line` or `sample:N`.
/// `OPTIONS ('format.filename' 'true')` adds the column `filename`, with the file of each record.
///
/// ```
/// use datafusion::common::GetExt;
/// use datafusion::datasource::file_format::FileFormatFactory;
/// use warpath_sql::Options;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = Options::default().context()?;
/// let factory = context.state().get_file_format_factory("warpath").unwrap();
/// assert!(factory.is::<warpath_sql::WarpathFormatFactory>());
/// # Ok(())
/// # }
/// ```
pub struct WarpathFormatFactory {
    engines: Arc<Engines>,
    extension: &'static str,
}

impl WarpathFormatFactory {
    pub(crate) fn new(engines: Arc<Engines>, extension: &'static str) -> Self {
        Self { engines, extension }
    }
}

impl Debug for WarpathFormatFactory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "WarpathFormatFactory({})", self.extension)
    }
}

impl GetExt for WarpathFormatFactory {
    fn get_ext(&self) -> String {
        self.extension.to_owned()
    }
}

impl FileFormatFactory for WarpathFormatFactory {
    fn create(&self, _: &dyn Session, options: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        Ok(Arc::new(WarpathFormat::of_options(self.engines.clone(), options)?))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(WarpathFormat::new(self.engines.clone()))
    }
}

/// Newline-delimited JSON, read by Warpath's engine.
pub struct WarpathFormat {
    engines: Arc<Engines>,
    pub schema_from: SchemaFrom,
    /// True if tables of local files have a column `filename`.
    pub has_filename: bool,
    /// The schema that was made of all records.
    of_all: Mutex<Option<SchemaRef>>,
}

impl WarpathFormat {
    pub fn new(engines: Arc<Engines>) -> Self {
        let Options { schema: schema_from, filename: has_filename, .. } = engines.options;
        Self { schema_from, has_filename, engines, of_all: Mutex::default() }
    }

    /// The format with the options of a table.
    ///
    /// # Errors
    /// An option or a value that there is not.
    pub fn of_options(engines: Arc<Engines>, options: &HashMap<String, String>) -> Result<Self> {
        let mut format = Self::new(engines);
        for (key, value) in options {
            match key.strip_prefix("format.").unwrap_or(key) {
                "schema" => match value.parse() {
                    Ok(from) => format.schema_from = from,
                    Err(error) => return plan_err!("the option `{key}`: {error}"),
                },
                "filename" => match value.parse() {
                    Ok(yes) => format.has_filename = yes,
                    Err(_) => {
                        return plan_err!("the option `{key}`: `{value}` is neither `true` nor `false`");
                    }
                },
                _ => {
                    return plan_err!(
                        "there is no option `{key}`; the format has `format.schema` and `format.filename`"
                    );
                }
            }
        }
        Ok(format)
    }
}

impl Debug for WarpathFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "WarpathFormat({:?})", self.schema_from)
    }
}

#[async_trait]
impl FileFormat for WarpathFormat {
    fn get_ext(&self) -> String {
        "ndjson".into()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        Ok(format!("{}{}", self.get_ext(), compression.get_ext()))
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        // The first bytes of a file show its compression.
        None
    }

    async fn infer_schema(
        &self,
        _: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let schema = schema::of_files(&self.engines, self.schema_from, store, objects).await?;
        if self.schema_from == SchemaFrom::All {
            *self.of_all.lock().unwrap_or_else(PoisonError::into_inner) = Some(schema.clone());
        }
        Ok(schema)
    }

    async fn infer_stats(
        &self,
        _: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let mut statistics = Statistics::new_unknown(&table);
        if schema_cache::is_kept(object) {
            statistics.num_rows = Precision::Exact(0);
            statistics.total_byte_size = Precision::Exact(0);
            return Ok(statistics);
        }
        statistics.total_byte_size = Precision::Inexact(object.size as usize);
        if self.schema_from == SchemaFrom::All
            && let Some(records) = schema::kept_records(&self.engines, store, object).await?
        {
            statistics.num_rows = Precision::Exact(records as usize);
        }
        Ok(statistics)
    }

    async fn create_physical_plan(
        &self,
        _: &dyn Session,
        mut config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        for group in &mut config.file_groups {
            let files =
                group.iter().filter(|file| !schema_cache::is_kept(&file.object_meta)).cloned().collect();
            *group = FileGroup::new(files);
        }
        config.file_groups.retain(|group| !group.is_empty());
        Ok(DataSourceExec::from_data_source(config))
    }

    fn file_source(&self, table: TableSchema) -> Arc<dyn FileSource> {
        let of_all = self.of_all.lock().unwrap_or_else(PoisonError::into_inner);
        let are_of_all_records =
            of_all.as_ref().is_some_and(|schema| schema.fields() == table.file_schema().fields());
        Arc::new(WarpathSource::new(self.engines.clone(), table, are_of_all_records))
    }
}
