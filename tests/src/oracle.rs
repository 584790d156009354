//! Naive oracles. Their algorithms differ from Warpath's: they are simple and read one byte at a time.
//!
//! RFC 9535 is [`grammar`] and [`query`]. [`grammar`] parses a query into the tree of [`syntax`]. [`query`]
//! evaluates the tree with [`filter`], [`compare`], [`functions`], [`strings`] and [`regexp`]. [`path`] names
//! the nodes that were found. None of them uses Warpath's parser or its tree. [`tree`] builds trees of
//! documents.

pub mod compare;
pub mod filter;
pub mod functions;
pub mod grammar;
pub mod index;
pub mod json;
pub mod path;
pub mod query;
pub mod regexp;
pub mod strings;
pub mod syntax;
pub mod tape;
pub mod text;
pub mod tree;
