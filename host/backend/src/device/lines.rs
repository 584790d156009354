//! The text of a partition, as the host has it.

use warpath_core::error::Error;
use warpath_store::packed::text::PackedText;

/// Whole lines that are on the device, or on their way there. The host looks at them only where it has to.
#[derive(Clone, Copy)]
pub(super) enum Lines<'a> {
    /// As they are.
    Plain(&'a [u8]),
    /// Packed.
    Packed(&'a PackedText<'a>),
}

impl<'a> Lines<'a> {
    /// How many bytes they have.
    pub fn len(self) -> Result<usize, Error> {
        match self {
            Self::Plain(text) => Ok(text.len()),
            Self::Packed(text) => text.text_bytes(),
        }
    }

    /// The bytes. What is packed is decoded when it is first looked at.
    pub fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Self::Plain(text) => Ok(text),
            Self::Packed(text) => text.bytes(),
        }
    }
}
