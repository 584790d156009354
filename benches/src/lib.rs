//! What the benches share: data to run on.

pub mod generate;
