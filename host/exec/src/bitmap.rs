//! TODO

pub mod ask;
pub mod build;
