//! The part of `cust` 0.3's interface that Warpath uses, over a CUDA driver that is loaded on first use.
//!
//! This crate links nothing and has no build script. It builds on a machine without a CUDA toolkit, and the
//! program that uses it starts on a machine without a driver. Names and shapes are those of `cust`; the code
//! is Warpath's own.
//!
//! | module | contents |
//! |---|---|
//! | [`driver_available`], [`DriverError`] | loads the driver and starts it, or says why that fails |
//! | [`sys`] | the driver's functions and types, under the driver's names |
//! | [`error`] | every error code of the driver API |
//! | [`device`], [`context`], [`stream`], [`event`], [`module`], [`function`] | the driver's objects, owned |
//! | [`memory`] | the size of a device's memory |
//!
//! # Loading
//!
//! The first call of any function loads `libcuda.so.1` (`nvcuda.dll` on Windows), and the library is never
//! unloaded. The first call of each function looks up its symbol. A later call costs an atomic load and an
//! indirect call.
//!
//! Two failures of loading are error codes that the driver API already has:
//!
//! * Without the library, each function returns
//!   [`CUDA_ERROR_STUB_LIBRARY`](sys::CUresult::CUDA_ERROR_STUB_LIBRARY), as the link-time stub of a CUDA
//!   toolkit does. Its text is "no CUDA driver found".
//! * Where the library lacks a symbol, that one function returns
//!   [`CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER`](sys::CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER).
//!
//! # Differences from `cust`
//!
//! * [`Stream::new`](stream::Stream::new) passes its flags on. `cust` 0.3 drops `NON_BLOCKING`.
//! * [`Context::new`](context::Context::new) reports a failing `cuCtxSetCurrent`. `cust` ignores that
//!   failure.
//! * [`CudaError`](error::CudaError) has all codes, and keeps the number of a code that it does not list.
//! * A zero byte in PTX or in a kernel's name is an error. `cust` panics.
//!
//! # What was tried
//!
//! * `cust` 0.3.2 itself. Its build script, and that of `cust_raw`, panic without a CUDA toolkit. Warpath had
//!   an empty `libcuda.a` for it, which `CUDA_LIBRARY_PATH` in `.cargo/config.toml` named, and defined the
//!   driver's functions as exported symbols. Cargo does not read that file for a dependent, so dependents did
//!   not build. In a program that links the driver, the symbols also replaced the driver's own. A patched
//!   `cust_raw` would not reach dependents either: `[patch]` has effect in the root package alone.
//! * `cudarc` 0.19 with `dynamic-loading`. It needs no toolkit, and it panics where the library or a symbol
//!   is missing; Warpath's library reports that as an error. It has to be built for one version of CUDA's
//!   headers. Its safe layer fixes what Warpath has measured and chosen: it makes streams that are always
//!   non-blocking and loads modules without compiler options. What is left of it for Warpath is the bindings,
//!   17,000 lines for 43 functions.

pub mod context;
pub mod device;
mod driver;
pub mod error;
pub mod event;
pub mod function;
pub mod memory;
pub mod module;
pub mod stream;
pub mod sys;

pub use driver::{DriverError, driver_available};
use error::CudaResult;

bitflags::bitflags! {
    /// The flags of [`init`]. The driver defines none so far.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CudaFlags: u32 {}
}

/// Starts the driver. Must be called before anything else, may be called repeatedly and from any thread.
///
/// # Errors
///
/// [`StubLibrary`](error::CudaError::StubLibrary) without a driver, [`NoDevice`](error::CudaError::NoDevice)
/// without a device, or another code of the driver.
pub fn init(flags: CudaFlags) -> CudaResult<()> {
    // SAFETY: `cuInit` takes no pointers and has no precondition.
    unsafe { sys::cuInit(flags.bits()) }.result()
}
