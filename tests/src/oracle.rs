//! Naive oracles: other algorithms than Warpath's, a byte at a time, with nothing clever in them.

pub mod index;
pub mod json;
pub mod query;
pub mod text;
