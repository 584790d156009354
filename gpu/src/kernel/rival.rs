//! The kernels of rivals, one file a module. Their arguments and launch shapes are in
//! [`warpath_shared::kernel`].

mod copy;
mod fsst_ladder;
mod twig_seed;
mod unions;

pub use copy::copy_16;
pub use fsst_ladder::{fsst_buffered, fsst_bytes, fsst_lengths, fsst_shared, fsst_words};
pub use twig_seed::twig_seed;
pub use unions::{coa_level, decompress_scan, decompress_tiles, decompress_words, hybrid_tiles};
