//! Naive oracles: other algorithms than Warpath's, a byte at a time, with nothing clever in them.
//!
//! All of RFC 9535 is [`query`] and what it calls: [`filter`], [`compare`], [`functions`], [`regexp`]; [`path`] names the nodes
//! that were found. [`tree`] is of documents as trees.

pub mod compare;
pub mod filter;
pub mod functions;
pub mod index;
pub mod json;
pub mod path;
pub mod query;
pub mod regexp;
pub mod tape;
pub mod text;
pub mod tree;
