//! TODO

pub mod answer;
pub mod backend;
pub mod bitmap;
pub mod columns;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod device;
pub mod strict;
pub mod tree;
pub mod twig;
