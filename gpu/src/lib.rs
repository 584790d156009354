//! Warpath's kernels.
//!
//! Each arranges threads around the rules of [`warpath_shared`]; none knows anything of the host. Compiled for the
//! `nvptx64-nvidia-cuda` target they become the PTX in `gpu/ptx`; compiled for the host they run in
//! [`cuda_std`]'s emulator, under the tests.
//!
//! [`coop`] is what the threads of a warp, a block and a grid do together; [`kernel`] has a file a stage; [`text`] is how one thread
//! reads a text.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod coop;
pub mod kernel;
pub mod text;
