//! Data that a layer above makes of a query once, and keeps with the query.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use warpath_core::error::Error;

/// Data that is derived from its owner, and made at its first use. This crate does not know the type:
/// a backend keeps its form of a query here.
///
/// A clone shares the data that was made before. A cache is no part of its owner's value: all caches are
/// equal.
#[derive(Clone, Default)]
pub struct Cache(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Cache {
    /// Returns the data, and makes it if there is none. All uses of one cache have the same type `T`.
    ///
    /// # Errors
    /// The error of `make`; [`Error::Internal`] if the data has another type.
    #[inline]
    pub fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
        let data = match self.0.get() {
            Some(data) => data,
            None => self.fill(make)?,
        };
        data.downcast_ref().ok_or_else(|| Error::Internal("a cache has data of another type".to_owned()))
    }

    #[cold]
    fn fill<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<&Arc<dyn Any + Send + Sync>, Error> {
        // Threads that come at the same time make the data each, and one of them stores it.
        let data = make()?;
        Ok(self.0.get_or_init(|| Arc::new(data)))
    }
}

impl PartialEq for Cache {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_made_once() {
        let cache = Cache::default();
        let failed = cache.get::<u32>(|| Err(Error::Usage("first".to_owned())));
        assert!(matches!(failed, Err(Error::Usage(_))));
        assert_eq!(*cache.get(|| Ok(7_u32)).unwrap(), 7);
        assert_eq!(*cache.clone().get(|| Ok(8_u32)).unwrap(), 7);
        assert!(matches!(cache.get(|| Ok("other type")), Err(Error::Internal(_))));
    }
}
