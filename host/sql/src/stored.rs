//! Stores, and parts of stores, as tables: on a disk, and in the object stores of a session.
//!
//! The parts of a store are those of the last version of its log, which has their names and sizes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::DataFusionError;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::session_state::SessionState;
use object_store::path::Path as Location;
use object_store::{Error as ObjectError, ObjectMeta, ObjectStoreExt};
use warpath::store::{Store, StoreLocation};
use warpath::{Error, InputError, Source};
use warpath_remote::address::{ObjectsAddress, Scheme, is_url};
use warpath_remote::{Address, ObjectStorage};

use crate::engines::external;
use crate::files::object;
use crate::parts::PartsTable;
use crate::stores::named;

type Table = Arc<dyn TableProvider>;

/// The ending of the names of parts.
const PART: &str = ".parquet";

/// The location of a file or a folder.
enum Position {
    /// A path of this machine.
    Disk(PathBuf),
    /// A key of an object store.
    Objects {
        store: ObjectStoreUrl,
        key: Location,
        /// The key as the name has it, with a slash at its end or without one.
        written: String,
        /// True if the store lists its objects.
        has_lists: bool,
    },
}

/// The table of the store or of the part that a name means; `None` if the name means something else.
///
/// In an object store, a store is looked for as by [`ObjectStorage::look_up`].
///
/// # Errors
/// The errors of a log or a part that cannot be read, of a store that has no columns yet, and of a part in
/// the folder of a store whose last version does not have it.
pub async fn table(name: &str, state: &SessionState) -> Result<Option<Table>> {
    match position(name, state)? {
        None => Ok(None),
        Some(Position::Disk(path)) => on_disk(&path, state).await,
        Some(Position::Objects { store, key, .. }) if key.as_ref().ends_with(PART) => {
            let found = state.runtime_env().object_store(&store)?.head(&key).await;
            match found {
                Ok(object) => of_part(&store, object, state).await,
                Err(ObjectError::NotFound { .. }) => Ok(None),
                Err(error) => Err(named(name, error.into())),
            }
        }
        Some(Position::Objects { has_lists: false, .. }) => Ok(None),
        Some(Position::Objects { store, key, written, .. }) => {
            let objects = state.runtime_env().object_store(&store)?;
            let storage = ObjectStorage::new(objects, key.as_ref()).with_url(name);
            let of = name.to_owned();
            // Each request waits in its thread, which must be none of the threads that run queries.
            let opened = tokio::task::spawn_blocking(move || open(storage, &of, &written)).await;
            let opened = opened.map_err(|error| DataFusionError::External(Box::new(error)))?;
            match opened.map_err(external)? {
                Some((opened, parts)) => of_store(&opened, name, &store, parts, state).await.map(Some),
                None => Ok(None),
            }
        }
    }
}

/// The table of Parquet files that match a pattern, if some are in a store: of these, the parts of its last
/// version. `None` for a pattern that names no store.
///
/// # Errors
/// The errors of a log or a part that cannot be read, and of stores without lines.
pub async fn of_pattern(pattern: &str, state: &SessionState) -> Result<Option<Table>> {
    if !pattern.ends_with(PART) {
        return Ok(None);
    }
    let (paths, has_store) = Source::tables(pattern).map_err(|error| external(error.into()))?;
    if paths.is_empty() {
        return plan_err!("{pattern}: the store has no lines; its columns are those of its folder");
    }
    if !has_store {
        return Ok(None);
    }
    let parts = paths.iter().map(|path| object(path)).collect::<Result<_>>()?;
    Ok(Some(Arc::new(PartsTable::open(&ObjectStoreUrl::local_filesystem(), parts, state).await?)))
}

/// The position that a name means; `None` for patterns, and for URLs of stores that the session lacks.
fn position(name: &str, state: &SessionState) -> Result<Option<Position>> {
    if !is_url(name) {
        return Ok(Some(Position::Disk(name.into())));
    }
    if ObjectsAddress::of_store(name).is_err() && !name.to_ascii_lowercase().starts_with("file:") {
        // Not a URL that Warpath reads. A program may have registered its store.
        let Ok(url) = ListingTableUrl::parse(name) else { return Ok(None) };
        let has_store = state.runtime_env().object_store(&url).is_ok();
        return Ok(has_store.then(|| Position::Objects {
            store: url.object_store(),
            key: url.prefix().clone(),
            written: url.get_url().path().trim_start_matches('/').to_owned(),
            has_lists: true,
        }));
    }
    let address = match Address::parse(name).map_err(external)? {
        Address::File(path) => return Ok(Some(Position::Disk(path))),
        Address::Objects(address) => address,
    };
    let is_s3 = address.scheme() == Scheme::S3;
    let key = match is_s3 {
        true => Location::parse(address.path()),
        false => Location::from_url_path(address.path()),
    };
    // A name that no object has is reported where its objects are looked for.
    let Ok(key) = key else { return Ok(None) };
    if address.is_pattern() || address.query().is_some() {
        return Ok(None);
    }
    let written = address.path().to_owned();
    Ok(Some(Position::Objects {
        store: ObjectStoreUrl::parse(address.store())?,
        key,
        written,
        has_lists: is_s3,
    }))
}

/// The table of a store or a part on a disk.
async fn on_disk(path: &Path, state: &SessionState) -> Result<Option<Table>> {
    let files = ObjectStoreUrl::local_filesystem();
    if Store::is_at(path) {
        let store = Store::open(path).map_err(external)?;
        let parts =
            store.listed().iter().map(|part| object(&path.join(&part.name))).collect::<Result<_>>()?;
        return of_store(&store, &path.display().to_string(), &files, parts, state).await.map(Some);
    }
    if !path.to_string_lossy().ends_with(PART) || !path.is_file() {
        return Ok(None);
    }
    // A part that its store does not have any more is no table.
    Source::exactly(path).map_err(|error| external(error.into()))?;
    of_part(&files, object(path)?, state).await
}

/// Opens the store of a folder of objects, if it has one. Returns also its parts as objects.
fn open(
    storage: ObjectStorage,
    name: &str,
    written: &str,
) -> Result<Option<(Store, Vec<ObjectMeta>)>, Error> {
    let failed = |source| Error::from(InputError::Io { name: name.to_owned(), source });
    let Some(storage) = storage.look_up(written).map_err(failed)? else { return Ok(None) };
    let store = Store::open(StoreLocation::of_storage(Arc::new(storage.clone())))?;
    let parts = store.listed().into_iter().map(|part| {
        Ok(ObjectMeta {
            location: storage.key(&part.name).map_err(failed)?,
            // A part does not change, so its name says which part it is.
            last_modified: UNIX_EPOCH.into(),
            size: part.bytes,
            e_tag: None,
            version: None,
        })
    });
    let parts = parts.collect::<Result<_, Error>>()?;
    Ok(Some((store, parts)))
}

/// The table of a store. A store without lines has the columns that it had.
async fn of_store(
    store: &Store,
    name: &str,
    objects: &ObjectStoreUrl,
    parts: Vec<ObjectMeta>,
    state: &SessionState,
) -> Result<Table> {
    if !parts.is_empty() {
        return Ok(Arc::new(PartsTable::of_store(name, objects, parts, state).await?));
    }
    let schema = store.schema();
    match schema.fields().is_empty() {
        true => plan_err!("{name}: the store has had no lines yet, so that it has no columns"),
        false => Ok(Arc::new(EmptyTable::new(Arc::new(schema)))),
    }
}

/// The table of one part; `None` for another file.
async fn of_part(
    objects: &ObjectStoreUrl,
    object: ObjectMeta,
    state: &SessionState,
) -> Result<Option<Table>> {
    let table = PartsTable::of_part(objects, object, state).await?;
    Ok(table.map(|table| Arc::new(table) as _))
}
