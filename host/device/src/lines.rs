//! The text of a partition on the host.

use std::cell::Cell;

use warpath_core::error::Error;
use warpath_store::packed::PackedText;

/// Whole lines that are on the device, or on their way there. The host reads them only if necessary.
#[derive(Clone, Copy)]
pub(super) enum Lines<'a> {
    /// Plain text.
    Plain(&'a [u8]),
    /// Packed text.
    Packed(&'a PackedText<'a>),
    /// A text of this length that is on the device only. The cell is set if the host needs the bytes: the
    /// evaluation then fails, and is done again with them.
    OnDevice(usize, &'a Cell<bool>),
}

impl<'a> Lines<'a> {
    /// The number of bytes of the text.
    pub fn len(self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Packed(text) => text.len(),
            Self::OnDevice(len, _) => len,
        }
    }

    /// The bytes of the text. A packed text is decoded at the first call.
    pub fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Self::Plain(text) => Ok(text),
            Self::Packed(text) => text.bytes(),
            Self::OnDevice(_, is_needed) => {
                is_needed.set(true);
                Err(Error::Internal("a text that is on the device only".into()))
            }
        }
    }
}
