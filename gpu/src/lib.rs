//! Warpath's kernels.
//!
//! Each kernel distributes work over threads; the rules of the work are in [`warpath_shared`]. No kernel
//! depends on the host. Compiled for the target `nvptx64-nvidia-cuda`, the kernels become the PTX that
//! `warpath-device` embeds. Compiled for the host, they run in [`cuda_std`]'s emulator, under the tests.
//!
//! | module | contents |
//! |---|---|
//! | [`coop`] | operations that the threads of a warp, a block or a grid do together |
//! | [`kernel`] | the kernels, one file for each stage |
//! | [`text`] | the text of a partition, as one thread reads it |
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod coop;
pub mod kernel;
pub mod text;
