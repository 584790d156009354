//! Stores and parts of stores at URLs.

use std::path::Path;

use warpath::Source;
use warpath::store::{Store, StorePlace};
use warpath_remote::address::{ObjectsAddress, Scheme};
use warpath_remote::{Address, Place};

use super::failure::Failure;
use super::files;

/// Returns the place of a store, or of one part: a path or a URL.
pub fn place(name: &Path) -> Result<StorePlace, Failure> {
    match files::url(name)? {
        None => Ok(name.into()),
        Some(Address::File(path)) => Ok(path.into()),
        Some(Address::Objects(objects)) => {
            Ok(place_of(warpath_remote::place(&objects).map_err(files::refused)?))
        }
    }
}

fn place_of(place: Place) -> StorePlace {
    match place {
        Place::Folder(storage) => StorePlace::of_storage(storage),
        Place::Object { storage, name, size } => StorePlace::of_object(storage, name, size),
    }
}

/// Returns the parts of a store at a URL, or the part that it names. `None` if the URL means something else.
/// Only names that a store or a part may have are looked up, because each look-up is a request.
pub fn sources(address: &ObjectsAddress) -> Result<Option<Vec<Source>>, Failure> {
    if address.is_pattern() {
        return Ok(None);
    }
    let last = address.path().rsplit('/').next().unwrap_or_default();
    if address.scheme() == Scheme::S3 && (last.ends_with(".wp") || !last.contains('.')) {
        let Some(storage) = warpath_remote::stored(address).map_err(files::refused)? else { return Ok(None) };
        let sources = Store::open(StorePlace::of_storage(storage))?.sources();
        return Ok(Some(match sources.is_empty() {
            true => vec![Source::Bytes(address.shown(), Vec::new().into())],
            false => sources,
        }));
    }
    if !last.ends_with(".parquet") {
        return Ok(None);
    }
    let object = warpath_remote::object(address).map_err(files::refused)?;
    let Some(place) = object.map(place_of) else { return Ok(None) };
    Ok(if place.is_stored_part()? { Some(Store::open(place)?.sources()) } else { None })
}
