//! What the benches share: data to run on, the harness that measures Warpath beside its peers, and
//! what is measured of bitmap indexes and of standing queries.

pub mod bitmap;
pub mod generate;
pub mod harness;
pub mod twig;
