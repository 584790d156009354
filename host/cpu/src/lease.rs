//! Memory that calls over single records use again: each thread keeps its own, so that no call waits.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

/// Memory that a thread keeps between calls.
pub(crate) trait Reusable: Default + 'static {
    /// The pool of each thread.
    fn pool() -> &'static LocalKey<Pool<Self>>;

    /// Returns false if the memory is too large to be kept.
    fn is_small(&self) -> bool;
}

/// The memory that a thread keeps.
pub(crate) struct Pool<T>(RefCell<Vec<Box<T>>>);

impl<T> Pool<T> {
    pub const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }
}

/// The most memories that a thread keeps. More are in use only while the results of several calls are alive.
const MOST: usize = 4;

/// Memory in use. Dropping it gives it to the thread that drops it.
pub(crate) struct Lease<T: Reusable>(Option<Box<T>>);

impl<T: Reusable> Lease<T> {
    /// Takes memory that the thread keeps, or new memory.
    pub fn take() -> Self {
        // A thread that ends has no such memory any more.
        let kept = T::pool().try_with(|pool| pool.0.borrow_mut().pop()).ok().flatten();
        Self(Some(kept.unwrap_or_default()))
    }
}

impl<T: Reusable> Drop for Lease<T> {
    fn drop(&mut self) {
        let Some(memory) = self.0.take().filter(|memory| memory.is_small()) else { return };
        // More memory than that is dropped, after the borrow has ended.
        let _rest = T::pool().try_with(move |pool| {
            let mut kept = pool.0.borrow_mut();
            if kept.len() < MOST {
                kept.push(memory);
                return None;
            }
            Some(memory)
        });
    }
}

impl<T: Reusable> Deref for Lease<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| unreachable!("only `drop` takes the memory"))
    }
}

impl<T: Reusable> DerefMut for Lease<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_deref_mut().unwrap_or_else(|| unreachable!("only `drop` takes the memory"))
    }
}

impl<T: Reusable> fmt::Debug for Lease<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
