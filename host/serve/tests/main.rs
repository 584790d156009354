//! The real server: commands over `--server`, requests of other clients, and clients that misbehave.

mod appends;
mod changes;
mod commands;
mod ends;
mod flight;
mod harness;
mod hostile;
mod limits;
mod requests;
