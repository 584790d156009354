//! Stores and parts of stores at URLs.

use std::path::Path;

use warpath::Source;
use warpath::store::{Store, StoreLocation};
use warpath_remote::address::ObjectsAddress;
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
pub fn sources(address: &ObjectsAddress) -> Result<Option<Vec<Source>>, Failure> {
    let Some(found) = warpath_remote::look_up(address).map_err(files::refused)? else { return Ok(None) };
    let is_store = matches!(found, Location::Folder(_));
    let location = location_of(found);
    if !is_store && !location.is_stored_part()? {
        return Ok(None);
    }
    let sources = Store::open(location)?.sources();
    Ok(Some(match sources.is_empty() {
        true => vec![Source::Bytes(address.shown(), Vec::new().into())],
        false => sources,
    }))
}
