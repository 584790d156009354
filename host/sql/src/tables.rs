//! The names after FROM and LOCATION: files, folders, patterns and URLs.

use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::Schema;
use datafusion::catalog::{
    DynamicFileCatalog, MemorySchemaProvider, SchemaProvider, Session, TableProvider, TableProviderFactory,
    UrlTableFactory,
};
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::datasource::TableType;
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::datasource::listing_table_factory::ListingTableFactory;
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::CreateExternalTable;
use datafusion::prelude::SessionContext;
use glob::Pattern;
use url::Url;
use warpath::Error;
use warpath_remote::Address;
use warpath_remote::address::{ObjectsAddress, Scheme, is_url};

use crate::engines::{Engines, external};
use crate::files::FilesTable;
use crate::format::WarpathFormat;
use crate::options::Names;
use crate::stored;
use crate::stores::named;

/// Endings of files that DataFusion reads by itself.
const OTHERS: [&str; 4] = ["parquet", "csv", "arrow", "avro"];

/// Makes tables of the quoted names in queries of a session.
///
/// # Errors
/// The errors of DataFusion.
pub fn enable(context: &SessionContext, engines: Arc<Engines>) -> Result<()> {
    let others = DynamicListTableFactory::default();
    others.session_store().with_state(context.state_weak_ref());
    let names = engines.options.names.clone();
    let files = Arc::new(Files { engines, others });
    if let Some(names) = names
        && let Some(catalog) = context.catalog("datafusion")
    {
        let listed = Listed { names, files, views: MemorySchemaProvider::new() };
        catalog.register_schema("public", Arc::new(listed))?;
        return Ok(());
    }
    let state = context.state_ref();
    let catalogs = state.read().catalog_list().clone();
    let catalogs = DynamicFileCatalog::new(catalogs, files);
    context.register_catalog_list(Arc::new(catalogs));
    Ok(())
}

/// The tables of a session whose statements name certain inputs alone.
#[derive(Debug)]
struct Listed {
    names: Names,
    files: Arc<Files>,
    /// The tables that statements have made. (Those of a server make nothing.)
    views: MemorySchemaProvider,
}

#[async_trait]
impl SchemaProvider for Listed {
    fn table_names(&self) -> Vec<String> {
        let views = self.views.table_names();
        self.names.all().iter().cloned().chain(views).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match self.views.table(name).await? {
            Some(view) => Ok(Some(view)),
            None => self.files.try_new(name).await,
        }
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        match self.names.path(name) {
            // An input that cannot be read is listed, too.
            Ok(_) => Ok(Some(TableType::Base)),
            Err(_) => self.views.table_type(name).await,
        }
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        self.views.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        self.views.deregister_table(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.names.path(name).is_ok() || self.views.table_exist(name)
    }
}

struct Files {
    engines: Arc<Engines>,
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
        let path = self.engines.options.names.as_ref().map(|names| names.path(name));
        let name = match &path {
            None => name,
            Some(Ok(path)) => path,
            // A name without a dot or a slash is probably that of a table, or of a function.
            Some(Err(_)) if !name.contains(['.', '/']) => return Ok(None),
            Some(Err(why)) => return plan_err!("{why}"),
        };
        if let Some(table) = stored::table(name, &self.state(name)?).await? {
            return Ok(Some(table));
        }
        if is_url(name) && self.is_registered(name) {
            return self.table(name, vec![ListingTableUrl::parse(name)?]).await.map(Some);
        }
        if let Ok(Address::File(path)) = Address::parse(name)
            && !OTHERS.contains(&ending(name))
        {
            return Ok(Some(self.local(&path).await?));
        }
        if is_url(name) {
            return self.at(name).await.map(Some).map_err(|error| named(name, error));
        }
        let is_pattern = name.contains(['*', '?', '[', '{']) && !Path::new(name).exists();
        if !is_pattern && !Path::new(name).exists() {
            // A name without a dot or a slash is probably that of a table.
            return match name.contains(['.', '/']) {
                true => plan_err!("{name}: there is no such file"),
                false => Ok(None),
            };
        }
        if is_pattern && let Some(table) = stored::of_pattern(name, &self.state(name)?).await? {
            return Ok(Some(table));
        }
        if OTHERS.contains(&ending(name)) {
            return self.others.try_new(name).await;
        }
        self.local(Path::new(name)).await.map(Some)
    }
}

impl Files {
    /// The state of the session.
    fn state(&self, name: &str) -> Result<SessionState> {
        let session = self.others.session_store().get_session().upgrade();
        let state = session.and_then(|it| it.read().as_any().downcast_ref::<SessionState>().cloned());
        state.map_or_else(|| plan_err!("{name}: the session has ended"), Ok)
    }

    /// True for the URL of a store that a program has registered, and whose scheme is not read otherwise.
    fn is_registered(&self, name: &str) -> bool {
        let Ok(url) = Url::parse(name) else { return false };
        let session = self.others.session_store().get_session().upgrade();
        url.scheme() != "file"
            && ObjectsAddress::of_store(name).is_err()
            && session.is_some_and(|it| it.read().runtime_env().object_store_registry.get_store(&url).is_ok())
    }

    /// The table of local files.
    async fn local(&self, name: &Path) -> Result<Arc<dyn TableProvider>> {
        let format = WarpathFormat::new(self.engines.clone());
        let state = self.state(&name.display().to_string())?;
        Ok(Arc::new(FilesTable::open(name, format, None, &state).await?))
    }

    /// The table of a URL.
    async fn at(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        let is_other = OTHERS.contains(&ending(name));
        let urls = locations(&self.engines, name, true).await?;
        match (&urls[..], is_other) {
            ([Location { url, glob: None }], true) => match self.others.try_new(url.as_str()).await? {
                Some(table) => Ok(table),
                None => plan_err!("{name}: is no table"),
            },
            (_, true) => plan_err!("{name}: a pattern of an object store means NDJSON; name each file"),
            (_, false) => {
                let urls = urls.into_iter().map(|it| ListingTableUrl::try_new(it.url, it.glob));
                self.table(name, urls.collect::<Result<_>>()?).await
            }
        }
    }

    /// The table of objects. `name` is the name in the query.
    async fn table(&self, name: &str, urls: Vec<ListingTableUrl>) -> Result<Arc<dyn TableProvider>> {
        let (state, format) = (self.state(name)?, WarpathFormat::new(self.engines.clone()));
        refuse_filename(&format, name)?;
        let options = ListingOptions::new(Arc::new(format)).with_file_extension("");
        let config = ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options);
        let config = config.infer_partitions_from_path(&state).await?;
        let files = list(&config, &state).await?;
        if files == 0 {
            return plan_err!("{name}: no file matches");
        }
        let config = config.infer_schema(&state).await?;
        Ok(Arc::new(ListingTable::try_new(config)?))
    }
}

/// The ending of a name, without its dot.
fn ending(name: &str) -> &str {
    Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// An object, a folder, or the files of a folder that match a pattern.
struct Location {
    url: Url,
    glob: Option<Pattern>,
}

/// The locations that a URL means, for DataFusion. If `has_patterns`, a pattern of one folder is one
/// location, which DataFusion lists. Every other pattern is listed here, and each object is a location.
async fn locations(engines: &Arc<Engines>, name: &str, has_patterns: bool) -> Result<Vec<Location>> {
    let plan = |error: url::ParseError| external(Error::Usage(format!("{name}: is no URL: {error}")));
    let address = match Address::parse(name).map_err(external)? {
        Address::File(path) => match Url::from_file_path(&path) {
            Ok(url) if !path.is_dir() => return Ok(vec![Location { url, glob: None }]),
            _ => {
                let url = Url::from_directory_path(&path);
                let url = url.map_err(|()| external(Error::Usage(format!("{name}: is no file"))))?;
                return Ok(vec![Location { url, glob: None }]);
            }
        },
        Address::Objects(address) => address,
    };
    let root = Url::parse(&address.store()).map_err(plan)?;
    // A key is literal, and a URL of DataFusion is encoded.
    let encoded = |key: &str| {
        let mut url = root.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(key.split('/'));
        }
        url
    };
    if address.scheme() != Scheme::S3 {
        if address.query().is_some() {
            let what = "SQL reads no URL with a query; `warpath query` does";
            return Err(external(Error::Usage(format!("{}: {what}", address.shown()))));
        }
        let url = Url::parse(&format!("{}{}", address.store(), address.path())).map_err(plan)?;
        return Ok(vec![Location { url, glob: None }]);
    }
    if !address.is_pattern() {
        return Ok(vec![Location { url: encoded(address.path()), glob: None }]);
    }
    let folder = address.fixed().rfind('/').map_or(0, |at| at + 1);
    let (folder, rest) = address.path().split_at(folder);
    if has_patterns && !rest.contains(['/', '{']) && !rest.contains("**") {
        let glob = Pattern::new(rest)
            .map_err(|error| external(Error::Usage(format!("{name}: is no pattern: {error}"))))?;
        return Ok(vec![Location { url: encoded(folder), glob: Some(glob) }]);
    }
    let stores = engines.stores.clone();
    let keys = tokio::task::spawn_blocking(move || stores.list(&address)).await;
    let keys = keys.map_err(|error| DataFusionError::External(Box::new(error)))?.map_err(external)?;
    Ok(keys.iter().map(|key| Location { url: encoded(key.as_ref()), glob: None }).collect())
}

/// Makes the tables of `CREATE EXTERNAL TABLE`, also those of patterns of object stores.
pub struct Locations {
    engines: Arc<Engines>,
    tables: ListingTableFactory,
}

impl Debug for Locations {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Locations")
    }
}

impl Locations {
    /// Tables of files that these engines read.
    pub fn new(engines: Arc<Engines>) -> Self {
        Self { engines, tables: ListingTableFactory::new() }
    }
}

#[async_trait]
impl TableProviderFactory for Locations {
    async fn create(
        &self,
        state: &dyn Session,
        command: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        let mut command = command.clone();
        // Text may lack any value, whatever a table declares.
        let declared = nullable(command.schema.as_arrow());
        if let [location] = &command.locations[..]
            && let Some(session) = state.as_any().downcast_ref::<SessionState>()
            && let Some(table) = stored::table(location, session).await?
        {
            return match is_plain(&command) && declared.fields().is_empty() && command.options.is_empty() {
                true => Ok(table),
                false => plan_err!("{location}: a store has columns; declare none, and set no options"),
            };
        }
        if let [location] = &command.locations[..]
            && let Some(path) = local(location)
            && is_plain(&command)
            && let Some(session) = state.as_any().downcast_ref::<SessionState>()
        {
            let format = WarpathFormat::of_options(self.engines.clone(), &command.options)?;
            let declared = (!declared.fields().is_empty()).then(|| Arc::new(declared));
            return Ok(Arc::new(FilesTable::open(&path, format, declared, session).await?));
        }
        let name = command.locations.join(", ");
        refuse_filename(&WarpathFormat::of_options(self.engines.clone(), &command.options)?, &name)?;
        command.schema = Arc::new(DFSchema::try_from(declared)?);
        let mut all = Vec::new();
        for name in &command.locations {
            if !is_url(name) {
                all.push(name.clone());
                continue;
            }
            let urls = locations(&self.engines, name, false).await?;
            all.extend(urls.into_iter().map(|location| String::from(location.url)));
        }
        command.locations = all;
        self.tables.create(state, &command).await.map_err(|error| named(&name, error))
    }
}

/// Refuses the column `filename` where no table has it.
fn refuse_filename(format: &WarpathFormat, name: &str) -> Result<()> {
    match format.has_filename {
        true => plan_err!("{name}: only a table of local files has the column `filename`"),
        false => Ok(()),
    }
}

/// The local path that a location means; `None` for objects.
fn local(location: &str) -> Option<PathBuf> {
    match Address::parse(location) {
        Ok(Address::File(path)) => Some(path),
        _ if is_url(location) => None,
        _ => Some(PathBuf::from(location)),
    }
}

/// True for a table that has nothing but columns.
fn is_plain(command: &CreateExternalTable) -> bool {
    command.table_partition_cols.is_empty()
        && command.order_exprs.is_empty()
        && command.column_defaults.is_empty()
        && !command.unbounded
}

fn nullable(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
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
