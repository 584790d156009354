//! Naive oracles: other algorithms than Warpath's, a byte at a time, with nothing clever in them.
//!
//! RFC 9535 is [`grammar`], which parses a query into the tree of [`syntax`], and [`query`], which evaluates the tree with
//! [`filter`], [`compare`], [`functions`] and [`regexp`]. [`path`] names the nodes that were found. None of them uses Warpath's
//! parser or its tree. [`tree`] is of documents as trees.

pub mod compare;
pub mod filter;
pub mod functions;
pub mod grammar;
pub mod index;
pub mod json;
pub mod path;
pub mod query;
pub mod regexp;
pub mod syntax;
pub mod tape;
pub mod text;
pub mod tree;
