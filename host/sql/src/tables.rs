//! The names after FROM: files, folders and patterns.

use std::fmt::{self, Debug, Formatter};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{DynamicFileCatalog, TableProvider, UrlTableFactory};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionContext;

use crate::files::FilesTable;
use crate::format::WarpathFormat;
use crate::reader::Reader;

/// Endings of files that DataFusion reads by itself.
const OTHERS: [&str; 4] = ["parquet", "csv", "arrow", "avro"];

/// Makes tables of the quoted names in queries of a session.
pub fn enable(context: &SessionContext, reader: Arc<Reader>) {
    let others = DynamicListTableFactory::default();
    others.session_store().with_state(context.state_weak_ref());
    let factory = Files { reader, others };
    let state = context.state_ref();
    let catalogs = state.read().catalog_list().clone();
    let catalogs = DynamicFileCatalog::new(catalogs, Arc::new(factory));
    context.register_catalog_list(Arc::new(catalogs));
}

struct Files {
    reader: Arc<Reader>,
    /// The tables of other formats. It knows the session.
    others: DynamicListTableFactory,
}

impl Debug for Files {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

#[async_trait]
impl UrlTableFactory for Files {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let is_url = name.contains("://");
        let is_pattern = !is_url && name.contains(['*', '?', '[', '{']) && !Path::new(name).exists();
        if !is_url && !is_pattern && !Path::new(name).exists() {
            // A name without a dot or a slash is probably that of a table.
            return match name.contains(['.', '/']) {
                true => plan_err!("{name}: there is no such file"),
                false => Ok(None),
            };
        }
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if OTHERS.contains(&ending) {
            return self.others.try_new(name).await;
        }
        let session = self.others.session_store().get_session().upgrade();
        let state = session.and_then(|it| it.read().as_any().downcast_ref::<SessionState>().cloned());
        let Some(state) = state else { return Ok(None) };
        let format = WarpathFormat::new(self.reader.clone());
        if !is_url {
            return Ok(Some(Arc::new(FilesTable::open(Path::new(name), format, &state).await?)));
        }
        let url = ListingTableUrl::parse(name)?;
        let options = ListingOptions::new(Arc::new(format)).with_file_extension("");
        let config = ListingTableConfig::new(url).with_listing_options(options);
        let config = config.infer_partitions_from_path(&state).await?;
        let files = list(&config, &state).await?;
        if files == 0 {
            return plan_err!("{name}: no file matches");
        }
        let config = config.infer_schema(&state).await?;
        Ok(Some(Arc::new(ListingTable::try_new(config)?)))
    }
}

/// The number of files of a table, up to 1.
async fn list(config: &ListingTableConfig, state: &SessionState) -> Result<usize> {
    use futures::StreamExt;
    let mut count = 0;
    for url in &config.table_paths {
        let store = state.runtime_env().object_store(url)?;
        let mut files = url.list_all_files(state, &store, "").await?;
        while let Some(file) = files.next().await {
            file?;
            count += 1;
        }
    }
    Ok(count.min(1))
}
