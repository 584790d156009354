//! The driver's library and its symbols, each loaded on first use.

use std::error::Error;
use std::ffi::CStr;
use std::iter;
use std::sync::OnceLock;

use libloading::Library;

use crate::error::CudaError;
use crate::sys::{self, CUresult};

/// The name under which the driver's installation registers its library.
const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// The reason why no CUDA device can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The driver's library does not exist, or cannot be loaded.
    #[error("no CUDA driver found")]
    NotFound {
        /// The message of the system's loader.
        reason: String,
    },
    /// The driver is loaded and does not start, most often because it finds no device.
    #[error("the CUDA driver does not start: {message} (error {code})")]
    Init {
        /// The code that `cuInit` returned.
        code: i32,
        /// The driver's text for the code.
        message: String,
    },
}

/// Loads the driver and starts it. May be called repeatedly and from any thread.
///
/// A driver that starts has at least one device.
///
/// # Errors
///
/// [`DriverError::NotFound`] without a driver, [`DriverError::Init`] with a driver that does not start.
pub fn driver_available() -> Result<(), DriverError> {
    library().map_err(|reason| DriverError::NotFound { reason: reason.to_owned() })?;
    // SAFETY: `cuInit` takes no pointers and has no precondition.
    let started = unsafe { sys::cuInit(0) };
    started
        .result()
        .map_err(|error: CudaError| DriverError::Init { code: started.0, message: error.to_string() })
}

/// Returns the driver's library, which the first call loads, or the loader's message.
fn library() -> Result<&'static Library, &'static str> {
    static DRIVER: OnceLock<Result<Library, String>> = OnceLock::new();
    let load = || {
        // SAFETY: the driver's initialisers may run in any thread at any time, because programs load it
        // lazily through the CUDA runtime, too. The static keeps the library loaded, so its finalisers run at
        // exit.
        unsafe { Library::new(LIBRARY) }.map_err(|error| with_causes(&error))
    };
    DRIVER.get_or_init(load).as_ref().map_err(String::as_str)
}

/// Joins the texts of an error and of its causes.
fn with_causes(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// A function of the driver. The first call of [`get`](Self::get) looks up its symbol.
pub(crate) struct Symbol<F> {
    name: &'static CStr,
    found: OnceLock<Result<F, CUresult>>,
}

impl<F: Copy> Symbol<F> {
    /// Names a function.
    ///
    /// # Safety
    ///
    /// `F` is the `extern` function pointer type of the driver's function of this name.
    pub(crate) const unsafe fn new(name: &'static CStr) -> Self {
        Self { name, found: OnceLock::new() }
    }

    /// Returns the function, or the code that a call of the missing function returns.
    pub(crate) fn get(&self) -> Result<F, CUresult> {
        *self.found.get_or_init(|| {
            let driver = library().map_err(|_| CUresult::CUDA_ERROR_STUB_LIBRARY)?;
            // SAFETY: `new`'s caller guarantees that `F` is the type of the function of this name.
            unsafe { find(driver, self.name) }
        })
    }
}

/// Looks up a symbol.
///
/// # Safety
///
/// `F` is the `extern` function pointer type of the library's function of this name.
unsafe fn find<F: Copy>(library: &Library, name: &CStr) -> Result<F, CUresult> {
    // SAFETY: the caller guarantees the type. `Option` turns a null symbol into `None`.
    let symbol = unsafe { library.get::<Option<F>>(name) };
    symbol.ok().and_then(|symbol| *symbol).ok_or(CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
}

#[cfg(test)]
mod tests {
    use std::ffi::c_int;

    use super::*;

    #[test]
    fn loading_and_calling_agree_about_the_driver() {
        let mut version = 0;
        // SAFETY: `version` is valid for the write of the call.
        let result = unsafe { sys::cuDriverGetVersion(&mut version) };
        match driver_available() {
            Err(error @ DriverError::NotFound { .. }) => {
                assert_eq!(result, CUresult::CUDA_ERROR_STUB_LIBRARY);
                assert_eq!(crate::init(crate::CudaFlags::empty()), Err(CudaError::StubLibrary));
                assert_eq!(error.to_string(), "no CUDA driver found");
                let DriverError::NotFound { reason } = error else { unreachable!() };
                assert!(reason.contains(LIBRARY), "{reason}");
            }
            Err(DriverError::Init { code, message }) => {
                assert_ne!(code, 0);
                assert!(!message.is_empty());
            }
            Ok(()) => assert!(version >= 11_000, "{version}"),
        }
    }

    /// The C library of this process, as a substitute for a driver.
    #[test]
    #[cfg(unix)]
    fn a_missing_symbol_is_an_error_of_its_function_alone() {
        type Function = unsafe extern "C" fn(c_int) -> c_int;
        let process = Library::from(libloading::os::unix::Library::this());
        // SAFETY: this is the type of the C library's `abs`.
        let abs = unsafe { find::<Function>(&process, c"abs") }.unwrap();
        // SAFETY: `abs` has no precondition for this argument.
        assert_eq!(unsafe { abs(-7) }, 7);
        // SAFETY: no such function exists, so any type is right.
        let missing = unsafe { find::<Function>(&process, c"cuNoSuchFunction") }.unwrap_err();
        assert_eq!(missing, CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
    }

    #[test]
    #[ignore = "needs a GPU"]
    fn the_driver_has_every_function() {
        driver_available().unwrap();
        for name in sys::NAMES {
            // SAFETY: the pointer is never called.
            let found = unsafe { find::<unsafe extern "system" fn()>(library().unwrap(), name) };
            assert!(found.is_ok(), "{name:?}");
        }
    }
}
