//! The device side's standard library: threads, warps, shared memory and atomics of an NVIDIA GPU.
//!
//! The names are those of rust-cuda's `cuda_std`, so kernels read as rust-cuda kernels; underneath stands rustc's own
//! `nvptx64-nvidia-cuda` target instead of rust-cuda's code generator. On any other target the same functions act on
//! the [`emulator`], which runs a grid of threads as fibers, so that kernels are tested on a machine without a GPU.
//!
//! | module | question it answers |
//! |---|---|
//! | [`thread`] | which thread am I, and where do the threads of a block meet |
//! | [`warp`] | what do the 32 lanes of a warp tell each other |
//! | [`shared`] | where does a block keep what its threads share |
//! | [`atomic`] | how do threads change one word together, and in which order is it seen |
//! | [`wide`] | how are 16 bytes moved at once |
//! | [`bits`] | which bit operations does the hardware have that Rust has no operator for |
//! | `emulator` (not on the device) | how is a kernel run and checked without a GPU |
//!
//! # Building for the device
//!
//! A kernel crate is `#![no_std]`, is built for `nvptx64-nvidia-cuda` with `RUSTC_BOOTSTRAP=1` and `-Zbuild-std=core`, and
//! starts with
//! ```ignore
//! #![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! ```
//! This crate brings the panic handler, which traps. Everything here inlines, because PTX is not linked.
//!
//! Give the card by flags that reach every crate (`CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS="-C target-cpu=sm_90"`), not
//! only the last one (`cargo rustc -- -C target-cpu=sm_90`): [`warp`]'s reductions are one instruction only where *this*
//! crate is compiled for sm_80 or later.
//!
//! # Collectives
//!
//! *Collective* functions (barriers, and everything in [`warp`] that takes a mask) are where threads meet. Each says who
//! must call it. They are LLVM intrinsics and never inline assembly: rustc does not mark `asm!` convergent, so LLVM could
//! move it into a branch where the threads no longer meet.

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

/// What a kernel usually needs.
pub mod prelude {
    pub use crate::{kernel, shared, thread, warp};
}
