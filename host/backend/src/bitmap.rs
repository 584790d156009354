//! TODO

pub mod exact;
pub mod maker;
pub mod plan;
pub mod reduce;
pub mod run;
mod tile;
