//! A store for each bucket or server, made at its first use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::HttpClient;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use url::Url;
use warpath_core::error::{Error, InputError, StoreError};
use warpath_folder::{LOG, Storage};

use crate::Location;
use crate::address::{ObjectsAddress, Scheme};
use crate::connect::Connector;
use crate::fault::reason;
use crate::folder::ObjectStorage;
use crate::list;
use crate::reader::{Object, ObjectReader};
use crate::settings::StoreSettings;

/// The stores of a process or a session, with their settings. Connections are kept, and used again.
///
/// ```
/// use warpath_remote::{Address, StoreSettings, Stores};
///
/// let stores = Stores::new(StoreSettings::of_variables([("AWS_REGION", "eu-west-1")]).unwrap());
/// let Ok(Address::Objects(url)) = Address::parse("s3://bucket/log.ndjson") else { panic!() };
/// // Nothing is fetched before the first read.
/// assert_eq!(stores.readers(&url).unwrap()[0].name(), "s3://bucket/log.ndjson");
/// ```
#[derive(Debug)]
pub struct Stores {
    settings: StoreSettings,
    /// The stores of buckets and of servers, by their URLs.
    buckets: Mutex<HashMap<String, Arc<AmazonS3>>>,
    servers: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
    /// The connections to servers of HTTP over TLS, and without it.
    connections: [Arc<OnceLock<HttpClient>>; 2],
}

impl Stores {
    /// No store yet.
    #[must_use]
    pub fn new(settings: StoreSettings) -> Self {
        Self {
            settings,
            buckets: Mutex::default(),
            servers: Mutex::default(),
            connections: Default::default(),
        }
    }

    /// The stores of this process, with the settings of its environment.
    ///
    /// # Errors
    /// The errors of [`StoreSettings::of_environment`].
    pub fn of_environment() -> Result<&'static Self, Error> {
        static STORES: OnceLock<Stores> = OnceLock::new();
        if let Some(stores) = STORES.get() {
            return Ok(stores);
        }
        let settings = StoreSettings::of_environment()?;
        Ok(STORES.get_or_init(|| Self::new(settings)))
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &StoreSettings {
        &self.settings
    }

    /// The store that has the objects of a URL. The store of a server of HTTP does not know the query.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that the store does not take.
    pub fn store(&self, address: &ObjectsAddress) -> Result<Arc<dyn ObjectStore>, Error> {
        if address.scheme() == Scheme::S3 {
            return Ok(self.bucket(address)?);
        }
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = servers.get(&address.store()) {
            return Ok(store.clone());
        }
        let store = self.server(address, None)?;
        servers.insert(address.store(), store.clone());
        Ok(store)
    }

    /// Readers of the objects that a URL means, in the order of their names. A pattern or a folder is listed
    /// now.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that the store does not take, and for a key that has none. The errors of
    /// the listing; [`InputError::NoFiles`] if it has no object.
    pub fn readers(&self, address: &ObjectsAddress) -> Result<Vec<ObjectReader>, Error> {
        if let Some(object) = self.one(address)? {
            return Ok(vec![ObjectReader::new(object, &self.settings)]);
        }
        let store = self.bucket(address)?;
        let locations = self.list(address)?;
        let objects = locations.into_iter().map(|location| {
            let name = format!("{}{location}", address.store());
            Object { name, store: store.clone(), location }
        });
        Ok(ObjectReader::of_list(objects.collect(), &self.settings))
    }

    /// The one object that a URL names; `None` for a folder or a pattern.
    fn one(&self, address: &ObjectsAddress) -> Result<Option<Object>, Error> {
        let name = address.shown();
        if address.scheme() != Scheme::S3 {
            let store = self.server(address, Some(exact(address)?))?;
            return Ok(Some(Object { name, store, location: Path::from("file") }));
        }
        if address.is_pattern() || address.is_folder() {
            return Ok(None);
        }
        let key = address.path();
        let location = Path::parse(key).ok().filter(|path| path.as_ref() == key);
        let location = location.ok_or_else(|| {
            let what = "a key has no empty part, no part `.` or `..`, and no control character";
            Error::Usage(format!("{name}: is no name of an object; {what}"))
        })?;
        Ok(Some(Object { name, store: self.bucket(address)?, location }))
    }

    /// The location of a store that a URL means: the folder that has its log, else the object of this name,
    /// else a folder without objects.
    ///
    /// # Errors
    /// [`Error::Usage`] for a URL that is no location of a store. [`InputError::Io`] if a request fails.
    pub fn location(&self, address: &ObjectsAddress) -> Result<Location, Error> {
        if address.scheme() != Scheme::S3 {
            let none = || {
                let reason = "there is no such object, or its server sends no ranges of it".to_owned();
                StoreError::Refused { name: address.shown(), reason }.into()
            };
            return self.object(address)?.ok_or_else(none);
        }
        if let Some(storage) = self.stored(address)? {
            return Ok(Location::Folder(storage));
        }
        match self.object(address)? {
            Some(object) => Ok(object),
            None => Ok(Location::Folder(Arc::new(ObjectStorage::at(self, address)?))),
        }
    }

    /// The folder that a URL means, if it has the log of a store. One list.
    ///
    /// # Errors
    /// [`Error::Usage`] for a URL that is no location of a store. [`InputError::Io`] if a request fails.
    pub fn stored(&self, address: &ObjectsAddress) -> Result<Option<Arc<dyn Storage>>, Error> {
        let found = ObjectStorage::at(self, address)?.with_log();
        let found = found.map_err(|source| InputError::Io { name: address.shown(), source })?;
        Ok(found.map(|storage| Arc::new(storage) as _))
    }

    /// The store, or the file that may be a part, that a URL names; `None` if the URL means something else.
    /// A store is looked for as by [`ObjectStorage::look_up`], and a part has a name that ends in `.parquet`.
    /// At most one request.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that the store does not take. [`InputError::Io`] if a request fails.
    pub fn look_up(&self, address: &ObjectsAddress) -> Result<Option<Location>, Error> {
        if address.is_pattern() {
            return Ok(None);
        }
        if address.path().ends_with(".parquet") {
            return self.object(address);
        }
        if address.scheme() != Scheme::S3 {
            return Ok(None);
        }
        let found = ObjectStorage::at(self, address)?.look_up(address.path());
        let found = found.map_err(|source| InputError::Io { name: address.shown(), source })?;
        Ok(found.map(|storage| Location::Folder(Arc::new(storage))))
    }

    /// The object that a URL names, as the location of a part. `None` for a folder or a pattern, if there is
    /// no such object, and if its server sends no ranges.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that the store does not take. [`InputError::Io`] if a request fails.
    pub fn object(&self, address: &ObjectsAddress) -> Result<Option<Location>, Error> {
        let Some(object) = self.one(address)? else { return Ok(None) };
        let (storage, name) = ObjectStorage::of_object(&object, &self.settings);
        let size = storage.size(&name).map_err(|source| InputError::Io { name: object.name, source })?;
        Ok(size.map(|size| Location::Object { storage: Arc::new(storage), name, size }))
    }

    /// The objects of S3 that a pattern or a folder means, sorted by their names. The calling thread waits.
    ///
    /// # Errors
    /// The errors of the listing; [`InputError::NoFiles`] if it has no object.
    pub fn list(&self, address: &ObjectsAddress) -> Result<Vec<Path>, Error> {
        let locations = list::objects(&self.bucket(address)?, address)?;
        if locations.is_empty() {
            let why = match address.is_pattern() {
                true => "no object matches this pattern",
                false => "no object is in this folder",
            };
            return Err(InputError::NoFiles { name: address.shown(), why }.into());
        }
        // The lines of a log are no records of the store.
        if locations.iter().any(|location| location.parts().any(|part| part.as_ref() == LOG)) {
            let reason =
                "has a store, whose log is no text; name the store alone, or leave it out".to_owned();
            return Err(StoreError::Refused { name: address.shown(), reason }.into());
        }
        Ok(locations)
    }

    /// The URL of an object of a store that was made here; else its location alone.
    #[must_use]
    pub fn name(&self, store: &Arc<dyn ObjectStore>, location: &Path) -> String {
        let is_it = |other: *const ()| std::ptr::eq(Arc::as_ptr(store).cast::<()>(), other);
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.iter().find(|(_, other)| is_it(Arc::as_ptr(other).cast()));
        if let Some((name, _)) = bucket {
            return format!("s3://{name}/{location}");
        }
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let server = servers.iter().find(|(_, other)| is_it(Arc::as_ptr(other).cast()));
        server.map_or_else(|| location.to_string(), |(url, _)| format!("{url}{location}"))
    }

    fn bucket(&self, address: &ObjectsAddress) -> Result<Arc<AmazonS3>, Error> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = buckets.get(address.authority()) {
            return Ok(store.clone());
        }
        let connector = Connector { limit: self.settings.timeout, exact: None, shared: Arc::default() };
        let builder = AmazonS3Builder::new().with_http_connector(connector);
        let mut builder = builder.with_client_options(self.client()).with_retry(self.retry());
        for (name, value) in &self.settings.variables {
            let Ok(key) = name.parse::<AmazonS3ConfigKey>() else { continue };
            // Who names an endpoint without encryption wants it.
            if name.starts_with("aws_endpoint") && value.starts_with("http://") {
                builder = builder.with_allow_http(true);
            }
            builder = builder.with_config(key, value);
        }
        let made = builder.with_bucket_name(address.authority()).build();
        let store = Arc::new(made.map_err(|error| refused(address, &error))?);
        buckets.insert(address.authority().to_owned(), store.clone());
        Ok(store)
    }

    /// A store of HTTP; if there is a URL, one that has this URL alone.
    fn server(&self, address: &ObjectsAddress, exact: Option<Url>) -> Result<Arc<dyn ObjectStore>, Error> {
        let allows_http = address.scheme() == Scheme::Http;
        let connector = Connector {
            limit: self.settings.timeout,
            exact: exact.map(String::from),
            shared: self.connections[usize::from(allows_http)].clone(),
        };
        let builder = HttpBuilder::new()
            .with_url(address.store())
            .with_client_options(self.client().with_allow_http(allows_http))
            .with_http_connector(connector)
            .with_retry(self.retry());
        let made = builder.build();
        Ok(Arc::new(made.map_err(|error| refused(address, &error))?))
    }

    /// A request may take any time, if its bytes come.
    fn client(&self) -> ClientOptions {
        ClientOptions::new().with_timeout_disabled().with_connect_timeout(self.settings.connect_timeout)
    }

    /// The retries of requests that fail before their response begins.
    fn retry(&self) -> RetryConfig {
        RetryConfig {
            max_retries: self.settings.retries,
            retry_timeout: self.settings.timeout,
            ..RetryConfig::default()
        }
    }
}

/// The URL of HTTP as it is sent.
fn exact(address: &ObjectsAddress) -> Result<Url, Error> {
    let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
    let text = format!("{}{}{query}", address.store(), address.path());
    Url::parse(&text).map_err(|error| Error::Usage(format!("{}: is no URL: {error}", address.shown())))
}

fn refused(address: &ObjectsAddress, error: &object_store::Error) -> Error {
    Error::Usage(format!("{}: {}", address.shown(), reason(error)))
}
