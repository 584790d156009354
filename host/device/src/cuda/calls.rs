//! The results of the driver's calls as errors.

use cust::error::CudaError;
use cust::sys;
use warpath_core::error::{DeviceError, Error};

/// Makes an error of a call that failed.
pub(super) fn failed(call: &'static str) -> impl FnOnce(CudaError) -> Error {
    move |error| match error {
        CudaError::NoDevice => DeviceError::NoDevice { wanted: 0, found: 0 }.into(),
        error => DeviceError::of_call(call, error).into(),
    }
}

/// Returns the error of a call, if it failed.
pub(super) fn check(call: &'static str, result: sys::CUresult) -> Result<(), Error> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(DeviceError::of_call(call, format!("{other:?}")).into()),
    }
}
