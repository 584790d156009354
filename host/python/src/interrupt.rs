//! Ctrl-C while consumers read without Python's lock.

use std::sync::OnceLock;
use std::thread::{self, ThreadId};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::Stop;

/// The thread in which Python runs the handlers of signals, if it imported this module.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Remembers the current thread, if it is Python's main thread.
pub fn remember(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let (this, main) = (threading.call_method0("current_thread")?, threading.call_method0("main_thread")?);
    if this.is(&main) {
        MAIN.get_or_init(|| thread::current().id());
    }
    Ok(())
}

/// Runs the handlers of signals that have come, for a consumer that may not hold Python's lock.
///
/// Only the main thread takes the lock. Another thread could wait for it in vain: a consumer may hold the
/// lock until its threads have ended.
///
/// # Errors
/// [`Stop::Interrupted`] if a handler raised an exception.
pub fn check() -> Result<(), Stop> {
    if MAIN.get() != Some(&thread::current().id()) {
        return Ok(());
    }
    let checked = Python::try_attach(|py| {
        let Err(raised) = py.check_signals() else { return Ok(()) };
        if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
            // The consumer raises an exception of its own, with this message. The signal is raised once more,
            // so that Python raises `KeyboardInterrupt` as soon as the consumer has returned.
            //
            // SAFETY: the function requires an interpreter, and this thread is attached to one.
            unsafe { ffi::PyErr_SetInterrupt() };
        }
        Err(Stop::Interrupted)
    });
    checked.unwrap_or(Ok(()))
}
