//! The folder of a store as objects.

use std::future::Future;
use std::io;
use std::sync::Arc;

use futures::{StreamExt, stream};
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use warpath_core::error::Error;
use warpath_folder::{Millis, Object, Storage};

use crate::address::{ObjectsAddress, Scheme};
use crate::fault::Fault;
use crate::reader::runtime;
use crate::stores::Stores;

/// Requests for versions at the same time.
const AT_ONCE: usize = 32;

/// The folder of a store as objects whose keys have one prefix. A version is put if its key is absent.
///
/// The calling thread waits for each request. It must not be a thread of a runtime.
#[derive(Clone, Debug)]
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    prefix: String,
}

impl ObjectStorage {
    /// The objects of a store whose keys begin with this folder.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, folder: &str) -> Self {
        let folder = folder.trim_matches('/');
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Self { store, prefix }
    }

    /// The objects of a URL of S3, for example `s3://bucket/logs.wp`.
    ///
    /// # Errors
    /// [`Error::Usage`] for another URL, and for settings that the store does not take.
    pub fn at(stores: &Stores, address: &ObjectsAddress) -> Result<Self, Error> {
        if address.scheme() != Scheme::S3 || address.is_pattern() {
            let what =
                "the folder of a store is an S3 URL without a pattern, for example s3://bucket/logs.wp";
            return Err(Error::Usage(format!("{}: {what}", address.shown())));
        }
        Ok(Self::new(stores.store(address)?, address.path()))
    }

    fn key(&self, name: &str) -> io::Result<Path> {
        let key = Path::parse(format!("{}{name}", self.prefix));
        key.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
    }
}

/// Waits for a request, which runs in the threads of the runtime.
fn wait<T: Send + 'static>(
    request: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = std::sync::mpsc::channel();
    runtime()?.spawn(async move {
        // Nobody receives it if the process ends.
        let _ = sender.send(request.await.map_err(failed));
    });
    receiver.recv().unwrap_or_else(|_| Err(Fault::Lost.into_io()))
}

async fn bytes(store: Arc<dyn ObjectStore>, key: Path) -> Result<Vec<u8>, StoreError> {
    Ok(store.get(&key).await?.bytes().await?.to_vec())
}

impl Storage for ObjectStorage {
    fn list(&self, folder: &str) -> io::Result<Vec<Object>> {
        let (store, key) = (self.store.clone(), self.key(folder)?);
        let listed = wait(async move { store.list_with_delimiter(Some(&key)).await })?;
        let objects = listed.objects.into_iter().filter_map(|object| {
            let name = object.location.filename()?.to_owned();
            Some(Object {
                name,
                size: object.size,
                modified: Millis(object.last_modified.timestamp_millis()),
            })
        });
        Ok(objects.collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        wait(bytes(self.store.clone(), self.key(name)?))
    }

    fn read_many(&self, names: Vec<String>) -> Vec<io::Result<Vec<u8>>> {
        let count = names.len();
        let keys: io::Result<Vec<Path>> = names.iter().map(|name| self.key(name)).collect();
        let store = self.store.clone();
        let all = keys.and_then(|keys| {
            let requests = stream::iter(keys).map(move |key| bytes(store.clone(), key));
            wait(async move { Ok(requests.buffered(AT_ONCE).collect::<Vec<_>>().await) })
        });
        match all {
            Ok(all) => all.into_iter().map(|bytes| bytes.map_err(failed)).collect(),
            Err(error) => (0..count).map(|_| Err(io::Error::new(error.kind(), error.to_string()))).collect(),
        }
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (store, key, payload) = (self.store.clone(), self.key(name)?, PutPayload::from(bytes.to_vec()));
        wait(async move { store.put_opts(&key, payload, PutMode::Create.into()).await }).map(drop)
    }

    fn settle(&self, name: &str) -> io::Result<u64> {
        let (store, key) = (self.store.clone(), self.key(name)?);
        Ok(wait(async move { store.head(&key).await })?.size)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        let (store, key) = (self.store.clone(), self.key(name)?);
        match wait(async move { store.delete(&key).await }) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

/// The error of a request.
fn failed(error: StoreError) -> io::Error {
    match error {
        StoreError::AlreadyExists { .. } => io::ErrorKind::AlreadyExists.into(),
        error => Fault::Refused(error).into_io(),
    }
}
