//! The object stores of a session, made when a query names them.

use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::ObjectStore;
use url::{Position, Url};
use warpath::InputError;
use warpath_remote::Stores;
use warpath_remote::address::ObjectsAddress;

use crate::engines::external;

/// The stores that a program registers, and those that queries name.
#[derive(Debug)]
pub struct SessionStores {
    registered: DefaultObjectStoreRegistry,
    stores: Arc<Stores>,
}

impl SessionStores {
    /// The local file system. Other stores come with the first query that names them.
    pub fn new(stores: Arc<Stores>) -> Self {
        Self { registered: DefaultObjectStoreRegistry::new(), stores }
    }
}

impl ObjectStoreRegistry for SessionStores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.registered.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.registered.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Ok(store) = self.registered.get_store(url) {
            return Ok(store);
        }
        let address = ObjectsAddress::of_store(&url[..Position::BeforePath]).map_err(external)?;
        self.stores.store(&address).map_err(external)
    }
}

/// An error of DataFusion about a table. An error of its store has the name of the table and the reason.
pub fn named(name: &str, error: DataFusionError) -> DataFusionError {
    match error.find_root() {
        DataFusionError::ObjectStore(cause) => {
            let source = std::io::Error::other(warpath_remote::reason(cause));
            external(InputError::Io { name: name.to_owned(), source }.into())
        }
        _ => error,
    }
}
