//! The device side's standard library: threads, warps, shared memory and atomics of an NVIDIA GPU.
//!
//! The names are those of rust-cuda's `cuda_std`, so kernels read as rust-cuda kernels. The implementation
//! uses rustc's own `nvptx64-nvidia-cuda` target instead of rust-cuda's code generator. On any other target
//! the same functions act on the [`emulator`], which runs a grid of threads as fibers. So kernels are tested
//! on a machine without a GPU.
//!
//! | module | contents |
//! |---|---|
//! | [`thread`] | a thread's position in the grid, and the barriers of a block |
//! | [`warp`] | the collectives of the 32 lanes of a warp |
//! | [`shared`] | the memory that the threads of a block share |
//! | [`atomic`] | words that several threads change, with scopes and memory orders |
//! | [`wide`] | loads and stores of a given width, up to 16 bytes |
//! | [`bits`] | bit operations of the hardware for which Rust has no operator |
//! | `emulator` (not on the device) | a way to run and check a kernel without a GPU |
//!
//! # Building for the device
//!
//! A kernel crate is `#![no_std]`. It is built for `nvptx64-nvidia-cuda` with `RUSTC_BOOTSTRAP=1` and
//! `-Zbuild-std=core`, and starts with
//! ```ignore
//! #![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! ```
//! This crate contains the panic handler, which traps. Every function here inlines, because PTX is not
//! linked.
//!
//! Select the card by flags that reach every crate (`CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS="-C
//! target-cpu=sm_90"`). Flags for the last crate alone (`cargo rustc -- -C target-cpu=sm_90`) are not enough:
//! [`warp`]'s reductions are one instruction only if *this* crate is compiled for sm_80 or later.
//!
//! # Collectives
//!
//! *Collective* functions are the points where threads meet: barriers, and each function in [`warp`] that
//! takes a mask. The documentation of each function says which threads must call it. Collectives are LLVM
//! intrinsics and never inline assembly. rustc does not mark `asm!` convergent, so LLVM could move an `asm!`
//! collective into a branch where the threads no longer meet.

#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_unadjusted, asm_experimental_arch, link_llvm_intrinsics, nvptx_target_feature)
)]
#![cfg_attr(
    target_arch = "nvptx64",
    expect(internal_features, reason = "the warp collectives exist only as LLVM intrinsics")
)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod atomic;
pub mod bits;
pub mod shared;
pub mod thread;
pub mod warp;
pub mod wide;

#[cfg(target_arch = "nvptx64")]
mod device;
#[cfg(not(target_arch = "nvptx64"))]
pub mod emulator;

pub use cuda_std_macros::kernel;

#[doc(hidden)]
pub use cuda_std_macros as __macros;

/// The items that most kernels need.
pub mod prelude {
    pub use crate::{kernel, shared, thread, warp};
}
