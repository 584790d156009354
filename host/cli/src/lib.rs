//! The command line of `warpath`, as a library.
//!
//! The program calls [`main`]. A server parses the command line of a client and runs the same code for it, by
//! [`Served::run`]: over its own inputs, with the streams of the client.

mod cli;

pub use cli::main;
pub use cli::served::{Inputs, Limits, why_none};
pub use cli::serving::Served;
