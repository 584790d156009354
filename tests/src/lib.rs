//! The shared parts of Warpath's tests: naive oracles, the emulated device, case data, and comparisons. The
//! comparisons check every backend against the oracles, under `cargo test` and on a GPU (`check`).

pub mod bitmaps;
pub mod committed_ptx;
pub mod conformance;
pub mod data;
pub mod emulated;
pub mod fsst;
pub mod fsst_column;
pub mod fsst_match;
pub mod leaves;
pub mod oracle;
pub mod packed;
pub mod parts;
pub mod random;
pub mod resident;
pub mod results;
pub mod strict;
pub mod suite;
pub mod trees;
pub mod twig_evaluator;
pub mod twig_fuzz;
pub mod twig_streams;
pub mod twigs;
pub mod xml;

/// The examples of docs/embedding.md.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
pub struct Embedding;
