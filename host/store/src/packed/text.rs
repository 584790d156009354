//! The text of a group that is still packed: what a device decodes for itself, and the host only where it has to look.

use std::cell::OnceCell;

use warpath_shared::fsst::TABLE_WORDS;

use super::group::Group;
use warpath_core::error::{Error, InputError};

/// Whole lines, of which the last may lack its newline, as codes.
#[derive(Debug)]
pub struct PackedText<'a> {
    name: &'a str,
    group: Group<'a>,
    /// What they say, once somebody has looked.
    text: OnceCell<Vec<u8>>,
}

impl<'a> PackedText<'a> {
    /// A group of a file, as its bytes stand there, whose checksum is not looked at; `name` is the file's in messages.
    ///
    /// # Errors
    /// [`InputError::Packed`].
    pub fn new(bytes: &'a [u8], name: &'a str) -> Result<Self, Error> {
        let damaged = |what| InputError::Packed { name: name.to_owned(), what };
        let group = Group::parse(bytes).map_err(damaged)?;
        Ok(Self { name, group, text: OnceCell::new() })
    }

    /// The group.
    #[must_use]
    pub fn group(&self) -> &Group<'a> {
        &self.group
    }

    /// An error that says that it is damaged.
    #[must_use]
    pub fn damaged(&self, what: impl Into<String>) -> Error {
        InputError::Packed { name: self.name.to_owned(), what: what.into() }.into()
    }

    /// Bytes of the text.
    ///
    /// # Errors
    /// [`InputError::Packed`] if they are more than memory can have.
    pub fn text_bytes(&self) -> Result<usize, Error> {
        usize::try_from(self.group.text_bytes())
            .map_err(|_| self.damaged("a group is larger than memory can be"))
    }

    /// The text. It is decoded by who asks first.
    ///
    /// # Errors
    /// [`InputError::Packed`] if codes are not those of a text of its length.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let text = self.group.text().map_err(|what| self.damaged(what))?;
        Ok(self.text.get_or_init(|| text))
    }

    /// Decodes the text into as much room.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes).
    pub fn decode(&self, room: &mut [u8]) -> Result<(), Error> {
        self.group.decode_all(room).map_err(|what| self.damaged(what))
    }

    /// Whether the text ends with a newline: only its end is decoded.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes).
    pub fn ends_with_newline(&self) -> Result<bool, Error> {
        let Some(last) = self.group.text_bytes().checked_sub(1) else { return Ok(false) };
        let mut byte = [0];
        let read = self.group.read(&self.group.decoder(), last, &mut byte);
        Ok(read.map_err(|what| self.damaged(what))? == 1 && byte == *b"\n")
    }

    /// Writes the table, as kernels take it, and behind it where the output of each split begins, and all of it ends: into as many words.
    pub fn write_words(&self, words: &mut [u64]) {
        let (table, splits) = words.split_at_mut(TABLE_WORDS);
        table.copy_from_slice(&self.group.table().to_words());
        self.group.write_splits(splits);
    }
}
