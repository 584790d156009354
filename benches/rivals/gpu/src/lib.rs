//! The kernels of rivals: methods of others, which benches measure beside Warpath's kernels and tests check.
//! The product has neither their PTX nor code that launches them.
//!
//! | kernel | reads | writes |
//! |---|---|---|
//! | [`DecompressTiles`], or [`DecompressScan`] and [`DecompressWords`] | compressed bitmaps | their chunks |
//! | [`CoaLevel`], [`HybridTiles`] | chunks of bitmaps | their union |
//! | [`FsstLengths`], [`CountScan`](warpath_shared::kernel::CountScan); [`FsstBytes`], [`FsstWords`], [`FsstShared`], [`FsstBuffered`] | codes of strings | the strings, with a thread for each |
//! | [`TwigSeed`] | documents as events, query nodes | the twigs that match, by the method of the paper |
//!
//! The arguments and launch shapes are in [`args`], and the functions in [`kernel`], one file a module.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod args;
mod fsst_ladder;
pub mod seed;
mod twig_seed;
mod unions;

use warpath_shared::kernel::Kernel as _;

use crate::args::*;

/// The functions of the kernels.
pub mod kernel {
    pub use crate::fsst_ladder::{fsst_buffered, fsst_bytes, fsst_lengths, fsst_shared, fsst_words};
    pub use crate::twig_seed::twig_seed;
    pub use crate::unions::{coa_level, decompress_scan, decompress_tiles, decompress_words, hybrid_tiles};
}

/// Calls a macro with every kernel of rivals, in the form of
/// [`for_each_kernel!`](warpath_shared::for_each_kernel).
#[macro_export]
macro_rules! for_each_rival {
    ($callback:ident) => {
        $callback! {
            unions:
                (DecompressTiles, decompress_tiles), (DecompressScan, decompress_scan),
                (DecompressWords, decompress_words), (CoaLevel, coa_level), (HybridTiles, hybrid_tiles);
            fsst_ladder:
                (FsstLengths, fsst_lengths), (FsstBytes, fsst_bytes), (FsstWords, fsst_words),
                (FsstShared, fsst_shared), (FsstBuffered, fsst_buffered);
            twig_seed: (TwigSeed, twig_seed);
        }
    };
}

macro_rules! names_and_modules {
    ($($module:ident: $(($kernel:ident, $function:ident)),+;)*) => {
        &[$($(($kernel::NAME, stringify!($module))),+),*]
    };
}

/// The name of every kernel of rivals, and the module that contains it.
pub const RIVALS: &[(&str, &str)] = for_each_rival!(names_and_modules);
