//! The footers and statistics of parts, as sessions know them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::arrow::datatypes::Schema;
use datafusion::common::{Result, ScalarValue, Statistics};
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::parquet::file::metadata::ParquetMetaData;
use object_store::ObjectMeta;

/// The most bytes of footers that [`KnownParts`] keeps.
const MOST: usize = 256 << 20;

/// True for a double that is zero.
fn is_zero(value: &ScalarValue) -> bool {
    matches!(value, ScalarValue::Float64(Some(value)) if *value == 0.0)
}

/// The footers of stores that sessions have opened: of each store, those of the last version. A footer is
/// read again if its part has another size or time, and when all of them have become too large.
///
/// ```
/// use warpath_sql::{KnownParts, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let known = KnownParts::default();
/// let options = Options { known: Some(known.clone()), ..Options::default() };
/// let (one, other) = (options.context()?, options.context()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct KnownParts(Arc<Mutex<HashMap<String, Arc<Parts>>>>);

impl KnownParts {
    /// The parts of a store when it was opened last.
    pub(crate) fn parts(&self, name: &str) -> Option<Arc<Parts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Keeps the parts of a store.
    pub(crate) fn keep(&self, name: &str, parts: &Arc<Parts>) {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stores.insert(name.to_owned(), parts.clone());
        if stores.values().map(|parts| parts.bytes()).sum::<usize>() > MOST {
            stores.clear();
        }
    }
}

/// Files of a table.
#[derive(Debug)]
pub struct Parts {
    /// The store of the files.
    pub url: ObjectStoreUrl,
    pub all: Vec<Part>,
    /// The columns of all of them.
    pub schema: TableSchema,
}

/// A file of a table.
#[derive(Debug)]
pub struct Part {
    pub footer: Arc<Footer>,
    /// The statistics of the table's columns, once a scan has needed them.
    pub statistics: OnceLock<Arc<Statistics>>,
}

/// The footer of a file.
#[derive(Debug)]
pub struct Footer {
    pub object: ObjectMeta,
    pub metadata: Arc<ParquetMetaData>,
    /// The columns of the file.
    pub schema: Schema,
}

impl Parts {
    /// The statistics of a part.
    ///
    /// # Errors
    /// The errors of a footer whose statistics are of other types than its columns.
    pub fn statistics(&self, part: &Part) -> Result<Arc<Statistics>> {
        if let Some(known) = part.statistics.get() {
            return Ok(known.clone());
        }
        let (metadata, schema) = (&part.footer.metadata, self.schema.file_schema());
        let mut made = DFParquetMetadata::statistics_from_parquet_metadata(metadata, schema)?;
        for column in &mut made.column_statistics {
            for bound in [&mut column.min_value, &mut column.max_value] {
                // The least zero is written as -0 and the greatest one as 0, whatever they are. (Parquet,
                // `ColumnOrder`.)
                if bound.get_value().is_some_and(is_zero) {
                    *bound = std::mem::take(bound).to_inexact();
                }
            }
        }
        Ok(part.statistics.get_or_init(|| Arc::new(made)).clone())
    }

    /// The bytes of memory of the footers.
    fn bytes(&self) -> usize {
        self.all.iter().map(|part| part.footer.metadata.memory_size()).sum()
    }
}
