//! TODO

pub mod diagnostic;
pub mod error;
pub mod file;
pub mod float;
pub mod json;
pub mod plain;
pub mod pool;
pub mod rows;
pub mod simd;
pub mod stamp;
pub mod temporary;
pub mod wah;
