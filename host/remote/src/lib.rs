//! URLs as inputs: objects of S3 and of servers that speak its protocol, and files of HTTP servers.
//!
//! | module | contents |
//! |---|---|
//! | [`address`] | URLs, and what they mean: a file, an object, a folder, a pattern |
//! | `settings` | credentials and endpoints from the environment, timeouts, sizes of parts |
//! | `stores` | a store for each bucket or server, made at its first use |
//! | `folder` | the folder of a store as objects: versions are put if they are absent |
//! | `list` | the objects that a folder or a pattern means |
//! | `reader` | an object as a reader: parts fetched ahead of it, and the next objects of a list |
//! | `fetch` | one part of an object, with retries |
//! | `connect` | HTTP requests that end in time, and that go to exactly one URL |
//! | `fault` | errors of stores as messages |
//!
//! Without the feature `object-store` the crate has [`address`] alone, and no dependency on an HTTP client.

pub mod address;
#[cfg(feature = "object-store")]
mod connect;
#[cfg(feature = "object-store")]
mod fault;
#[cfg(feature = "object-store")]
mod fetch;
#[cfg(feature = "object-store")]
mod folder;
#[cfg(feature = "object-store")]
mod list;
#[cfg(feature = "object-store")]
mod reader;
#[cfg(feature = "object-store")]
mod settings;
#[cfg(feature = "object-store")]
mod stores;

pub use address::Address;
#[cfg(feature = "object-store")]
pub use fault::reason;
#[cfg(feature = "object-store")]
pub use folder::ObjectStorage;
#[cfg(feature = "object-store")]
pub use reader::{Object, ObjectReader};
#[cfg(feature = "object-store")]
pub use settings::StoreSettings;
#[cfg(feature = "object-store")]
pub use stores::Stores;

use std::io::Read;

use address::ObjectsAddress;
use warpath_core::error::Error;

/// True if this build reads object stores.
pub const READS_OBJECTS: bool = cfg!(feature = "object-store");

/// An object as an input: its name for messages, and its bytes.
pub type NamedReader = (String, Box<dyn Read + Send>);

/// The objects that a URL means, in the order of their names, with the settings of the environment. A pattern
/// or a folder is listed now. Everything else is read at the first read of each reader.
///
/// # Errors
/// [`Error::Usage`] for a URL that cannot be read, or for a build without the feature `object-store`. The
/// errors of the listing.
#[cfg(feature = "object-store")]
pub fn readers(address: &ObjectsAddress) -> Result<Vec<NamedReader>, Error> {
    let readers = Stores::of_environment()?.readers(address)?;
    Ok(readers.into_iter().map(|reader| (reader.name().to_owned(), Box::new(reader) as _)).collect())
}

/// The objects that a URL means. This build has none.
///
/// # Errors
/// Always [`Error::Usage`], which names the feature that is off.
#[cfg(not(feature = "object-store"))]
pub fn readers(address: &ObjectsAddress) -> Result<Vec<NamedReader>, Error> {
    let off = "which this build of Warpath does not read: its feature `object-store` is off";
    Err(Error::Usage(format!("{}: is in an object store, {off}", address.shown())))
}
