//! JSON text (RFC 8259): strings with their escapes.

mod text;

pub use text::*;
