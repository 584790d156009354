//! Stores and parts of stores at URLs.

use std::path::Path;

use warpath::Source;
use warpath::store::{Store, StoreLocation};
use warpath_remote::address::{ObjectsAddress, Scheme};
use warpath_remote::{Address, Location};

use super::failure::Failure;
use super::files;

/// Returns the location of a store, or of one part: a path or a URL.
pub fn location(name: &Path) -> Result<StoreLocation, Failure> {
    match files::url(name)? {
        None => Ok(name.into()),
        Some(Address::File(path)) => Ok(path.into()),
        Some(Address::Objects(objects)) => {
            Ok(location_of(warpath_remote::location(&objects).map_err(files::refused)?))
        }
    }
}

fn location_of(location: Location) -> StoreLocation {
    match location {
        Location::Folder(storage) => StoreLocation::of_storage(storage),
        Location::Object { storage, name, size } => StoreLocation::of_object(storage, name, size),
    }
}

/// Returns the parts of a store at a URL, or the part that it names. `None` if the URL means something else.
/// Only names that a store or a part may have are looked up, because each look-up is a request.
pub fn sources(address: &ObjectsAddress) -> Result<Option<Vec<Source>>, Failure> {
    if address.is_pattern() {
        return Ok(None);
    }
    let last = address.path().rsplit('/').next().unwrap_or_default();
    let (is_named, is_bare) = (last.ends_with(".wp") || last.is_empty(), !last.contains('.'));
    if address.scheme() == Scheme::S3 && (is_named || is_bare) {
        let stored = match warpath_remote::stored(address) {
            // Who may read an object need not be allowed to list.
            Err(_) if !is_named => None,
            stored => stored.map_err(files::refused)?,
        };
        let Some(storage) = stored else { return Ok(None) };
        let sources = Store::open(StoreLocation::of_storage(storage))?.sources();
        return Ok(Some(match sources.is_empty() {
            true => vec![Source::Bytes(address.shown(), Vec::new().into())],
            false => sources,
        }));
    }
    if !last.ends_with(".parquet") {
        return Ok(None);
    }
    let object = warpath_remote::object(address).map_err(files::refused)?;
    let Some(location) = object.map(location_of) else { return Ok(None) };
    Ok(if location.is_stored_part()? { Some(Store::open(location)?.sources()) } else { None })
}
