//! What a program that embeds the engine relies on: bytes in memory, cancellation, limits, channels, streams,
//! and the sources of errors.

mod bytes;
mod channels;
mod errors;
mod limits;
