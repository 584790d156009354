//! The rivals beside Warpath, measured by the commands of [`warpath_benches`]: the program `bench-rivals`.

pub mod bitmap;
pub mod fsst;
pub mod twig;
