//! The border between Python and the library. No panic crosses it, and what may wait runs without Python's
//! lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, TryLockError};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::{Stop, usage};
use crate::interrupt;

/// Runs the body of a function that Python calls. A panic is an `InternalError`.
pub fn border<T>(py: Python<'_>, body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    guarded(|| {
        interrupt::remember(py)?;
        body()
    })
    .unwrap_or_else(|panic| Err(panic.raise(py)))
}

/// Runs work of the library without Python's lock.
pub fn detached<T: Send, E: Into<Stop> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(|error| error.into().raise(py))
}

/// Returns a panic of a body as a reason to stop.
pub fn guarded<T>(body: impl FnOnce() -> T) -> Result<T, Stop> {
    // The callers drop what the body has used, or never use it again.
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Stop::Panic(text.unwrap_or_else(|| "a worker panicked".into()))
    })
}

/// Runs work without Python's lock, for a caller that may hold the lock or not.
///
/// A thread that Python does not know holds no lock. It must not wait for the lock either: the consumer that
/// started the thread may hold the lock until the thread has ended.
pub fn unlocked(work: impl FnOnce() + Send) {
    let mut work = Some(work);
    // SAFETY: the function may be called by any thread, with or without Python's lock.
    if !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null() {
        Python::try_attach(|py| py.detach(|| take(&mut work)));
    }
    // The thread is not one of Python's, or Python has ended.
    take(&mut work);
}

/// Runs work that has not run yet.
fn take(work: &mut Option<impl FnOnce()>) {
    if let Some(work) = work.take() {
        work();
    }
}

/// The state of an iterator. One thread uses it at a time. It is dropped without Python's lock: a drop waits
/// for threads, which may wait for the lock, and other threads of Python go on meanwhile.
pub struct Exclusive<T: Send>(Mutex<Option<T>>);

impl<T: Send> Exclusive<T> {
    pub fn new(state: T) -> Self {
        Self(Mutex::new(Some(state)))
    }

    /// Uses the state. `None` after a panic.
    ///
    /// # Errors
    /// `UsageError` if another thread uses the state, or if the current one already does, in a handler of a
    /// signal.
    pub fn with<R>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&mut T) -> PyResult<Option<R>>,
    ) -> PyResult<Option<R>> {
        match self.0.try_lock() {
            Ok(mut state) => state.as_mut().map_or(Ok(None), body),
            Err(TryLockError::Poisoned(_)) => Ok(None),
            Err(TryLockError::WouldBlock) => Err(usage(
                py,
                "the iterator is in use by another thread; expected one thread at a time, or an iterator for \
                 each thread",
            )),
        }
    }
}

impl<T: Send> Drop for Exclusive<T> {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        unlocked(|| drop(state));
    }
}
