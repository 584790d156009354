//! What the benches share: data to run on, and the harness that measures Warpath beside its peers.

pub mod generate;
pub mod harness;
