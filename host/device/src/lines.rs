//! The text of a partition on the host.

use warpath_core::error::Error;
use warpath_store::packed::PackedText;

/// Whole lines that are on the device, or on their way there. The host reads them only if necessary.
#[derive(Clone, Copy)]
pub(super) enum Lines<'a> {
    /// Plain text.
    Plain(&'a [u8]),
    /// Packed text.
    Packed(&'a PackedText<'a>),
}

impl<'a> Lines<'a> {
    /// The number of bytes of the text.
    pub fn len(self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Packed(text) => text.len(),
        }
    }

    /// The bytes of the text. A packed text is decoded at the first call.
    pub fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Self::Plain(text) => Ok(text),
            Self::Packed(text) => text.bytes(),
        }
    }
}
