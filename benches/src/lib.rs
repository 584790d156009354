//! The shared parts of the benches: generated data, the harness that measures Warpath beside its peers, and
//! the measurements of bitmap indexes, of string columns and of standing queries.

pub mod bitmap;
pub mod fsst;
pub mod generate;
pub mod harness;
pub mod twig;
