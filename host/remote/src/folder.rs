//! The folder of a store as objects.

use std::collections::VecDeque;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use futures::{StreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error as StoreError, GetOptions, GetRange, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode,
    PutPayload,
};
use warpath_core::error::Error;
use warpath_folder::{LOG, Millis, Object, Storage};

use crate::address::{ObjectsAddress, Scheme};
use crate::fault::{Fault, is_about_range};
use crate::ranges;
use crate::reader::{self, runtime};
use crate::settings::StoreSettings;
use crate::stores::Stores;

/// Requests for versions at the same time.
const AT_ONCE: usize = 32;
/// Bytes of a part of an upload. S3 takes at least 5 MiB, and at most 10,000 parts.
const UPLOAD_BYTES: u64 = 16 << 20;
/// Parts of an upload that are sent at the same time.
const UPLOADS: usize = 4;

/// The folder of a store as objects whose keys have one prefix. A version is put if its key is absent.
///
/// The calling thread waits for each request. It must not be a thread of a runtime.
#[derive(Clone, Debug)]
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    /// The URL of the folder, with a slash at its end; the prefix alone if there is no URL.
    url: String,
    /// The URL of the only object, if it is not that of the folder and the name.
    only: Option<String>,
    settings: StoreSettings,
}

impl ObjectStorage {
    /// The objects of a store whose keys begin with this folder.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, folder: &str) -> Self {
        let folder = folder.trim_matches('/');
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Self { store, url: prefix.clone(), prefix, only: None, settings: StoreSettings::default() }
    }

    /// The same objects, whose folder has this URL in messages.
    #[must_use]
    pub fn with_url(self, url: &str) -> Self {
        let slash = if url.ends_with('/') { "" } else { "/" };
        Self { url: format!("{url}{slash}"), ..self }
    }

    /// The folder, if it has the log of a store. One list.
    ///
    /// # Errors
    /// The errors of the list.
    pub fn with_log(self) -> io::Result<Option<Self>> {
        Ok((!self.list(LOG)?.is_empty()).then_some(self))
    }

    /// The folder, if the key that it was made of may be that of a store, and if it has the log of one.
    ///
    /// Only such keys are looked up, because each look-up is a request: those that end in `.wp` or a slash,
    /// and those without an ending.
    ///
    /// # Errors
    /// The errors of the list. With a key that objects of other kinds have, too, an error means that there is
    /// no store: who may read an object need not be allowed to list.
    pub fn look_up(self, key: &str) -> io::Result<Option<Self>> {
        if !may_be_store(key) {
            return Ok(None);
        }
        match self.with_log() {
            Err(_) if !is_named_as_store(key) => Ok(None),
            found => found,
        }
    }

    /// The key of an object of the folder.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a name that no object has.
    pub fn key(&self, name: &str) -> io::Result<Path> {
        let key = Path::parse(format!("{}{name}", self.prefix));
        key.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
    }

    /// The folder of one object, and the name of the object in it.
    pub(crate) fn of_object(object: &reader::Object, settings: &StoreSettings) -> (Self, String) {
        let key = object.location.as_ref();
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        let storage = Self::new(object.store.clone(), folder);
        let only = Some(object.name.clone());
        (Self { only, settings: settings.clone(), ..storage }, name.to_owned())
    }

    /// The size of an object; `None` if there is none, if it is empty, and if the server sends no ranges.
    /// One byte is requested, because a signed URL may allow nothing but `GET`.
    pub(crate) fn size(&self, name: &str) -> io::Result<Option<u64>> {
        let (store, key) = (self.store.clone(), self.key(name)?);
        let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        wait(async move {
            match store.get_opts(&key, options).await {
                Ok(got) => Ok(Some(got.meta.size)),
                Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) if is_about_range(&error) => Ok(None),
                Err(error) => Err(error),
            }
        })
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
        let storage = Self::new(stores.store(address)?, address.path());
        let url = format!("{}{}", address.store(), storage.prefix);
        Ok(Self { settings: stores.settings().clone(), ..storage.with_url(&url) })
    }
}

/// True for the key of an object that only a store should have: it ends in `.wp` or a slash.
fn is_named_as_store(key: &str) -> bool {
    key.is_empty() || key.ends_with('/') || key.ends_with(".wp")
}

/// True for the key of an object that a store may have, among others: also one without an ending.
fn may_be_store(key: &str) -> bool {
    let last = key.rsplit('/').next().unwrap_or_default();
    is_named_as_store(key) || !last.contains('.')
}

/// The result of a request that has begun.
struct Begun<T>(Receiver<io::Result<T>>);

impl<T: Send + 'static> Begun<T> {
    /// Begins a request, which runs in the threads of the runtime.
    fn new(request: impl Future<Output = Result<T, StoreError>> + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = channel();
        runtime()?.spawn(async move {
            // Nobody receives it if the process ends.
            let _ = sender.send(request.await.map_err(failed));
        });
        Ok(Self(receiver))
    }

    fn wait(self) -> io::Result<T> {
        self.0.recv().unwrap_or_else(|_| Err(Fault::Lost.into_io()))
    }
}

/// Waits for a request.
fn wait<T: Send + 'static>(
    request: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> io::Result<T> {
    Begun::new(request)?.wait()
}

/// Sends the parts of a file, several at a time.
fn send(upload: &mut dyn MultipartUpload, file: &mut File) -> io::Result<()> {
    let mut begun: VecDeque<Begun<()>> = VecDeque::new();
    loop {
        let mut bytes = Vec::new();
        file.by_ref().take(UPLOAD_BYTES).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            break;
        }
        if begun.len() >= UPLOADS
            && let Some(first) = begun.pop_front()
        {
            first.wait()?;
        }
        begun.push_back(Begun::new(upload.put_part(bytes.into()))?);
    }
    begun.into_iter().try_for_each(Begun::wait)
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

    fn read_range(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let location = self.key(name)?;
        let object = reader::Object { name: self.shown(name), store: self.store.clone(), location };
        ranges::read(&object, &self.settings, range)
    }

    fn put_file(&self, name: &str, from: &FilePath) -> io::Result<()> {
        let (store, key, mut file) = (self.store.clone(), self.key(name)?, File::open(from)?);
        if file.metadata()?.len() <= UPLOAD_BYTES {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return wait(async move { store.put(&key, bytes.into()).await }).map(drop);
        }
        let mut upload = wait(async move { store.put_multipart(&key).await })?;
        let sent = send(&mut *upload, &mut file);
        // The object is there only after the end of the upload. Else its parts cost space until they are
        // removed, if the server can be reached; a rule of the bucket removes them otherwise.
        wait(async move {
            match sent {
                Ok(()) => upload.complete().await.map(|_| Ok(())),
                Err(error) => {
                    let _ = upload.abort().await;
                    Ok(Err(error))
                }
            }
        })?
    }

    fn shown(&self, name: &str) -> String {
        match (&self.only, name) {
            (Some(url), _) => url.clone(),
            (None, "") => self.url.trim_end_matches('/').to_owned(),
            (None, name) => format!("{}{name}", self.url),
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
