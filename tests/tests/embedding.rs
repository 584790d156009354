//! The engine as programs embed it: bytes in memory, cancellation, limits, channels, streams,
//! and the sources of errors.

mod bytes;
mod channels;
mod errors;
mod limits;
