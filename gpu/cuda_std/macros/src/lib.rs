//! The procedural macros of Warpath's `cuda_std`: [`macro@kernel`] and the two that declare shared memory.
//!
//! Use them through `cuda_std`, which re-exports them.

mod kernel;
mod shared;

use proc_macro::TokenStream;

/// Turns a function into a kernel: an entry point of the PTX module that the host can launch by name.
///
/// On `nvptx64` the function becomes `#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn`. On other
/// targets it stays a plain `unsafe fn`, which `cuda_std::emulator::launch` calls once for each thread.
///
/// ```ignore
/// use cuda_std::{kernel, thread};
///
/// /// Doubles `len` words.
/// ///
/// /// # Safety
/// /// `words` points at `len` words that no other thread of the grid touches.
/// #[kernel]
/// pub unsafe fn double(words: *mut u32, len: u32) {
///     let i = thread::index_1d();
///     if i < len {
///         // SAFETY: i < len, and each thread has its own i.
///         unsafe { *words.add(i as usize) *= 2 };
///     }
/// }
/// ```
///
/// `#[kernel(launch_bounds(THREADS, BLOCKS))]` promises that no block is launched with more than THREADS
/// threads. It also requests room for BLOCKS blocks on a multiprocessor, which limits registers. The meaning
/// is that of CUDA's `__launch_bounds__`. `cuda_builder` writes the bounds to the PTX.
///
/// # Errors
///
/// The macro does not compile if the function is not `unsafe`, is generic, `async` or `const`, names an ABI,
/// takes `self` or a variable number of arguments, or returns a value.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The device half of `cuda_std::shared_array!`: `T; N` becomes a declaration and its address.
#[doc(hidden)]
#[proc_macro]
pub fn device_shared_array(input: TokenStream) -> TokenStream {
    shared::expand_array(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The device half of `cuda_std::dynamic_shared_mem!`: `T` becomes a declaration and its address.
#[doc(hidden)]
#[proc_macro]
pub fn device_dynamic_shared_mem(input: TokenStream) -> TokenStream {
    shared::expand_dynamic(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
