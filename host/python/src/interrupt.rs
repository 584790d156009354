//! Handlers of signals, which run while the library reads.
//!
//! Python runs handlers in its main thread alone, and only when this thread looks for signals. A wait of the
//! main thread therefore ends every now and then for a look.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::Stop;

/// The interval at which the main thread looks for signals.
const LOOK: Duration = Duration::from_millis(20);

/// The thread in which Python runs the handlers of signals, once it has called this module.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Exceptions of handlers that are raised when the interpreter goes on.
static KEPT: Mutex<VecDeque<PyErr>> = Mutex::new(VecDeque::new());

thread_local! {
    /// The time of the last look for signals.
    static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Remembers the current thread, if it is Python's main thread.
pub fn remember(py: Python<'_>) -> PyResult<()> {
    if MAIN.get().is_none() {
        let threading = py.import("threading")?;
        let (this, main) =
            (threading.call_method0("current_thread")?, threading.call_method0("main_thread")?);
        if this.is(&main) {
            MAIN.get_or_init(|| thread::current().id());
        }
    }
    Ok(())
}

/// Waits for a result without Python's lock. In the main thread, handlers of signals run meanwhile.
///
/// `poll` returns the result if it is there, and otherwise has the task of its context woken later.
///
/// # Errors
/// [`Stop::Raised`] if a handler raised an exception. The caller may wait for the same result again.
pub fn wait<T>(mut poll: impl FnMut(&Context<'_>) -> Poll<T>) -> Result<T, Stop> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let context = Context::from_waker(&waker);
    let is_main = MAIN.get() == Some(&thread::current().id());
    loop {
        if is_main {
            look()?;
        }
        match poll(&context) {
            Poll::Ready(result) => return Ok(result),
            Poll::Pending if is_main => thread::park_timeout(LOOK),
            Poll::Pending => thread::park(),
        }
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs the handlers of signals that have come, if the last look was long ago. Each look takes Python's lock,
/// for which the thread may have to wait.
fn look() -> Result<(), Stop> {
    let now = Instant::now();
    if LAST.get().is_some_and(|last| now.duration_since(last) < LOOK) {
        return Ok(());
    }
    LAST.set(Some(now));
    Python::try_attach(|py| py.check_signals().map_err(Stop::Raised)).unwrap_or(Ok(()))
}

/// Raises an exception of a handler as soon as the interpreter goes on: after a consumer has returned, which
/// raises an exception of its own.
pub fn raise_later(py: Python<'_>, raised: PyErr) {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push_back(raised);
    // SAFETY: the function requires an interpreter, and this thread is attached to one. `raise_kept` is a
    // function of the required type, and takes no argument.
    let is_full = unsafe { ffi::Py_AddPendingCall(Some(raise_kept), ptr::null_mut()) } != 0;
    if is_full && let Some(raised) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).pop_back() {
        raised.write_unraisable(py, None);
    }
}

/// Raises the exception that was kept first. Python calls this function in its main thread.
extern "C" fn raise_kept(_: *mut c_void) -> c_int {
    let Some(raised) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else { return 0 };
    Python::attach(|py| raised.restore(py));
    -1
}
