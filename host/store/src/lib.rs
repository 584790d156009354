//! TODO

pub mod bitmap;
pub mod fsst;
pub mod packed;
