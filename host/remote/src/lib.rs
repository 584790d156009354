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
//! | `ranges` | a range of an object |
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
mod ranges;
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
use std::sync::Arc;

use address::ObjectsAddress;
use warpath_core::error::Error;
use warpath_folder::Storage;

/// True if this build reads object stores.
pub const READS_OBJECTS: bool = cfg!(feature = "object-store");

/// An object as an input: its name for messages, and its bytes.
pub type NamedReader = (String, Box<dyn Read + Send>);

/// A URL as the location of a store, or of one part.
pub enum Location {
    /// A folder. It may have no object yet.
    Folder(Arc<dyn Storage>),
    /// One object.
    Object {
        /// The folder that has it.
        storage: Arc<dyn Storage>,
        /// The name in the folder.
        name: String,
        /// The size in bytes.
        size: u64,
    },
}

/// The location of a store that a URL means, with the settings of the environment. One or two requests.
///
/// # Errors
/// [`Error::Usage`] for a URL that is no location of a store, or for a build without the feature
/// `object-store`. The errors of the requests.
#[cfg(feature = "object-store")]
pub fn location(address: &ObjectsAddress) -> Result<Location, Error> {
    Stores::of_environment()?.location(address)
}

/// The location of a store that a URL means. This build has none.
///
/// # Errors
/// Always [`Error::Usage`], which names the feature that is off.
#[cfg(not(feature = "object-store"))]
pub fn location(address: &ObjectsAddress) -> Result<Location, Error> {
    Err(is_off(address))
}

/// The store, or the file that may be a part, that a URL names; `None` if the URL means something else. Only
/// names that a store or a part may have are looked up, because each look-up is a request.
///
/// # Errors
/// See [`location`].
#[cfg(feature = "object-store")]
pub fn look_up(address: &ObjectsAddress) -> Result<Option<Location>, Error> {
    Stores::of_environment()?.look_up(address)
}

/// The store that a URL names. This build has none.
///
/// # Errors
/// Always [`Error::Usage`], which names the feature that is off.
#[cfg(not(feature = "object-store"))]
pub fn look_up(address: &ObjectsAddress) -> Result<Option<Location>, Error> {
    Err(is_off(address))
}

/// The error for a URL.
#[cfg(not(feature = "object-store"))]
fn is_off(address: &ObjectsAddress) -> Error {
    let off = "which this build of Warpath does not read: its feature `object-store` is off";
    Error::Usage(format!("{}: is in an object store, {off}", address.shown()))
}

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
    Err(is_off(address))
}
