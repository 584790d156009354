//! The text of a packed group. A device decodes it; the host decodes it only where the host needs the text.

use std::cell::OnceCell;

use warpath_core::error::{Error, InputError};
use warpath_shared::fsst::TABLE_WORDS;

use super::group::PackedGroup;

/// Whole lines, of which the last may lack its newline, as codes.
#[derive(Debug)]
pub struct PackedText<'a> {
    name: &'a str,
    group: PackedGroup<'a>,
    /// The decoded text, after the first call that needs it.
    text: OnceCell<Vec<u8>>,
}

impl<'a> PackedText<'a> {
    /// Parses a group of a file in its stored form. Its checksum is not checked. `name` is the file's name
    /// for messages.
    ///
    /// # Errors
    /// [`InputError::Packed`] for a malformed group.
    pub fn new(bytes: &'a [u8], name: &'a str) -> Result<Self, Error> {
        let damaged = |what| InputError::Packed { name: name.to_owned(), what };
        let group = PackedGroup::parse(bytes).map_err(damaged)?;
        Ok(Self { name, group, text: OnceCell::new() })
    }

    /// Returns the group.
    #[must_use]
    pub fn group(&self) -> &PackedGroup<'a> {
        &self.group
    }

    /// Returns the error for damage of this group.
    #[must_use]
    pub fn damaged(&self, what: impl Into<String>) -> Error {
        InputError::Packed { name: self.name.to_owned(), what: what.into() }.into()
    }

    /// Returns the text size in bytes.
    ///
    /// # Errors
    /// [`InputError::Packed`] if the size exceeds the address space.
    pub fn text_bytes(&self) -> Result<usize, Error> {
        usize::try_from(self.group.text_bytes())
            .map_err(|_| self.damaged("a group is larger than the address space"))
    }

    /// Returns the text. The first call decodes it.
    ///
    /// # Errors
    /// [`InputError::Packed`] if the codes do not decode to a text of the stated length.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let text = self.group.text().map_err(|what| self.damaged(what))?;
        Ok(self.text.get_or_init(|| text))
    }

    /// Decodes the text into `room`, which must have its size.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes).
    pub fn decode(&self, room: &mut [u8]) -> Result<(), Error> {
        self.group.decode_all(room).map_err(|what| self.damaged(what))
    }

    /// Returns true if the text ends with a newline. Decodes only the end.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes).
    pub fn ends_with_newline(&self) -> Result<bool, Error> {
        let Some(last) = self.group.text_bytes().checked_sub(1) else { return Ok(false) };
        let mut byte = [0];
        let read = self.group.read(&self.group.decoder(), last, &mut byte);
        Ok(read.map_err(|what| self.damaged(what))? == 1 && byte == *b"\n")
    }

    /// Writes the table in the kernels' form, then the text offset of each split, and the end of the text.
    /// `words` must have their size.
    pub fn write_words(&self, words: &mut [u64]) {
        let (table, splits) = words.split_at_mut(TABLE_WORDS);
        table.copy_from_slice(&self.group.table().to_words());
        self.group.write_splits(splits);
    }
}
