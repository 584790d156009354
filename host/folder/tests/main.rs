//! Folders of stores: changes, conflicts, crashes, altered logs.

mod altered;
mod changes;
mod crash;
mod log;
mod memory;
mod processes;
mod refused;
