//! The engines of a session, and its settings.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use warpath::{DeviceChoice, Engine, EngineBuilder, Error, OnError, Source};
use warpath_remote::{Object, ObjectReader, StoreSettings, Stores};

use crate::options::Options;
use crate::report::Report;
use crate::stores::SessionStores;

/// The engines of a session, and its settings.
///
/// ```
/// use std::sync::Arc;
///
/// use warpath_sql::Options;
/// use warpath_sql::wire::Engines;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engines = Engines::new(&Options { workers: 3, ..Options::default() }, Arc::default())?;
/// assert_eq!(engines.options.workers, 3);
/// # Ok(())
/// # }
/// ```
pub struct Engines {
    /// The settings.
    pub options: Options,
    /// The report that scans add to.
    pub report: Arc<Report>,
    /// The stores of objects.
    pub(crate) stores: Arc<Stores>,
    /// True if scans put their reports in their metrics, for another process to read.
    pub(crate) reports_by_metrics: bool,
    /// For whole files, and for parts of plain files.
    whole: Engine,
    part: Engine,
}

impl Engines {
    /// Opens the device.
    ///
    /// # Errors
    /// The errors of a device that cannot be opened, and of variables of object stores.
    pub fn new(options: &Options, report: Arc<Report>) -> Result<Self> {
        let stores = match &options.stores {
            Some(settings) => settings.clone(),
            None => StoreSettings::of_environment().map_err(external)?,
        };
        Self::with_stores(options, report, Arc::new(Stores::new(stores)))
    }

    fn with_stores(options: &Options, report: Arc<Report>, stores: Arc<Stores>) -> Result<Self> {
        let engine = || {
            let engine = Engine::builder().device(options.device.clone()).on_error(options.on_error);
            options.cancel.iter().fold(engine, EngineBuilder::cancel)
        };
        let whole = engine().workers(options.all_workers()).build().map_err(external)?;
        let part = match options.device {
            DeviceChoice::Cpu => engine().in_caller(),
            // A plan of another process may have parts for a device.
            _ => engine().workers(1),
        };
        let part = part.build().map_err(external)?;
        Ok(Self { options: options.clone(), report, stores, reports_by_metrics: false, whole, part })
    }

    /// Engines with the same settings and stores, and another policy for malformed records.
    ///
    /// # Errors
    /// The errors of a device that cannot be opened.
    pub fn with_policy(&self, on_error: OnError) -> Result<Self> {
        let options = Options { on_error, ..self.options.clone() };
        Self::with_stores(&options, self.report.clone(), self.stores.clone())
    }

    /// The stores of objects, for the runtime of DataFusion that runs scans of these engines. A store is made
    /// when a scan first reads from it.
    #[must_use]
    pub fn registry(&self) -> Arc<dyn ObjectStoreRegistry> {
        Arc::new(SessionStores::new(self.stores.clone()))
    }

    /// The same engines for one scan, whose report is in its metrics ([`left_out`](crate::wire::left_out)).
    #[must_use]
    pub fn for_wire(&self) -> Self {
        Self {
            options: self.options.clone(),
            report: Arc::default(),
            stores: self.stores.clone(),
            reports_by_metrics: true,
            whole: self.whole.clone(),
            part: self.part.clone(),
        }
    }

    /// An object as an input.
    pub fn object(&self, store: &Arc<dyn ObjectStore>, location: &Path) -> Source {
        let name = self.stores.name(store, location);
        let object = Object { name: name.clone(), store: store.clone(), location: location.clone() };
        Source::Reader(name, Box::new(ObjectReader::new(object, self.stores.settings())))
    }

    /// The engine that evaluates whole files.
    pub(crate) fn engine(&self) -> &Engine {
        &self.whole
    }

    /// The engine that evaluates parts of files.
    pub(crate) fn part_engine(&self) -> &Engine {
        &self.part
    }

    /// True if parts of plain files are evaluated by themselves.
    pub(crate) fn has_parts(&self) -> bool {
        matches!(self.options.device, DeviceChoice::Cpu)
    }
}

/// An error of Warpath, as one of DataFusion. Its message has the causes, because DataFusion and other
/// programs show messages alone.
pub fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(WithCauses(error)))
}

/// An error whose message has the messages of its causes.
#[derive(Debug)]
struct WithCauses(Error);

impl fmt::Display for WithCauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.chain())
    }
}

impl std::error::Error for WithCauses {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// The path of a file in the local file system.
///
/// # Errors
/// The errors of a location that is no path.
pub fn local_path(location: &Path) -> Result<PathBuf> {
    Ok(LocalFileSystem::new().path_to_filesystem(location)?)
}
