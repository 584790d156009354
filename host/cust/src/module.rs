//! Modules: kernels that are loaded together.

use std::ffi::{CStr, CString, c_uint, c_void};
use std::ptr;

use crate::error::{CudaError, CudaResult};
use crate::function::Function;
use crate::sys::{self, CUjit_option};

/// A module of the context that was current when it was loaded.
#[derive(Debug)]
pub struct Module {
    module: sys::CUmodule,
}

// SAFETY: the driver locks a module during each call, and any thread may use it.
unsafe impl Send for Module {}
// SAFETY: as for `Send`.
unsafe impl Sync for Module {}

/// An option of the driver's compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleJitOption {
    /// The maximum number of registers of a thread.
    MaxRegisters(u32),
}

impl ModuleJitOption {
    /// Returns the option and its value as the driver takes them: a number in place of a pointer.
    fn raw(self) -> (CUjit_option, *mut c_void) {
        match self {
            Self::MaxRegisters(count) => {
                (CUjit_option::CU_JIT_MAX_REGISTERS, ptr::without_provenance_mut(count as usize))
            }
        }
    }
}

impl Module {
    /// Compiles PTX for this thread's device, and loads it into this thread's context.
    ///
    /// # Errors
    ///
    /// [`InvalidPtx`](CudaError::InvalidPtx) for a text that has a zero byte, or the driver's.
    pub fn from_ptx<T: AsRef<str>>(ptx: T, options: &[ModuleJitOption]) -> CudaResult<Self> {
        let image = CString::new(ptx.as_ref()).map_err(|_| CudaError::InvalidPtx)?;
        Self::from_ptx_cstr(&image, options)
    }

    /// Compiles and loads PTX like [`from_ptx`](Self::from_ptx), without a copy of the text.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn from_ptx_cstr(ptx: &CStr, options: &[ModuleJitOption]) -> CudaResult<Self> {
        let (mut names, mut values): (Vec<_>, Vec<_>) = options.iter().map(|option| option.raw()).unzip();
        let len = c_uint::try_from(options.len()).map_err(|_| CudaError::InvalidValue)?;
        let mut module = ptr::null_mut();
        // SAFETY: `module` is valid for the write of the call. The text ends with a zero. Both arrays have
        // `len` elements because `unzip` fills them in step, and their values are numbers, as these options
        // take.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                ptx.as_ptr().cast(),
                len,
                names.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        result.result()?;
        Ok(Self { module })
    }

    /// Returns the kernel of a name.
    ///
    /// # Errors
    ///
    /// [`NotFound`](CudaError::NotFound) where the module has no such kernel.
    pub fn get_function<T: AsRef<str>>(&self, name: T) -> CudaResult<Function<'_>> {
        // No kernel's name has a zero byte.
        let name = CString::new(name.as_ref()).map_err(|_| CudaError::NotFound)?;
        let mut function = ptr::null_mut();
        // SAFETY: `function` is valid for the write of the call. The module is alive because it is borrowed,
        // and the name ends with a zero.
        unsafe { sys::cuModuleGetFunction(&mut function, self.module, name.as_ptr()) }.result()?;
        Ok(Function::new(function, self))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: `from_ptx_cstr` loaded the module, and this is its one unloading. Each `Function` borrows
        // the module, so none is left. Where the driver has shut down, the module is gone, and the error says
        // so.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_with_a_zero_byte_is_an_error() {
        assert_eq!(Module::from_ptx(".version 7.0\0", &[]).unwrap_err(), CudaError::InvalidPtx);
    }
}
