//! Packed text: whole lines in memory as codes of FSST, which a device decodes where it evaluates them.
//!
//! ```
//! use warpath_store::packed::PackedText;
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let lines = b"{\"user\":{\"lang\":\"en\"}}\n".repeat(1000);
//! let packed = PackedText::pack(&lines)?;
//! assert!(packed.codes().len() < lines.len() / 2);
//! assert_eq!(packed.bytes()?, lines);
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;
use std::sync::OnceLock;

use warpath_core::error::Error;
use warpath_shared::fsst::{Split, TABLE_WORDS, Table};

use crate::fsst::{Compressor, Decoder, Sample, splits, train};

/// Whole lines as codes of one table, with [`Split`]s. The last line may lack its newline.
#[derive(Debug)]
pub struct PackedText<'a> {
    table: Table,
    /// The text offset of each split, and the end of the text.
    splits: Cow<'a, [Split]>,
    codes: Cow<'a, [u8]>,
    /// The text size in bytes.
    len: usize,
    ends_with_newline: bool,
    /// The decoded text, after the first call that needs it.
    text: OnceLock<Vec<u8>>,
}

impl PackedText<'static> {
    /// Compresses a text on all cores, with a table that is trained on a sample of it.
    ///
    /// # Errors
    /// [`Error::Internal`] if the codes do not decode to the text, which does not happen.
    pub fn pack(text: &[u8]) -> Result<Self, Error> {
        let table = train(&Sample::of_text(text));
        let mut codes = Vec::with_capacity(text.len() / 2);
        Compressor::new(&table).compress_parallel(text, &mut codes);
        let (mut splits, len) =
            splits(&table, &codes).map_err(|fault| Error::Internal(format!("packed text: {fault}")))?;
        if len != text.len() as u64 {
            return Err(Error::Internal(format!("packed text: {len} bytes in place of {}", text.len())));
        }
        splits.push(Split::new(len, false));
        Ok(Self {
            table,
            splits: splits.into(),
            codes: codes.into(),
            len: text.len(),
            ends_with_newline: text.ends_with(b"\n"),
            text: OnceLock::new(),
        })
    }
}

impl PackedText<'_> {
    /// Returns the same text with its codes in other memory, from which a device may copy faster.
    ///
    /// # Errors
    /// [`Error::Usage`] if their number differs.
    pub fn with_codes<'b>(&'b self, codes: &'b [u8]) -> Result<PackedText<'b>, Error> {
        if codes.len() != self.codes.len() {
            return Err(Error::Usage(format!("{} codes in place of {}", codes.len(), self.codes.len())));
        }
        Ok(PackedText {
            table: self.table,
            splits: Cow::Borrowed(&self.splits),
            codes: Cow::Borrowed(codes),
            len: self.len,
            ends_with_newline: self.ends_with_newline,
            text: OnceLock::new(),
        })
    }

    /// Returns the codes.
    #[must_use]
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// Returns the text size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if the text ends with a newline.
    #[must_use]
    pub fn ends_with_newline(&self) -> bool {
        self.ends_with_newline
    }

    /// Returns the text. The first call decodes it.
    ///
    /// # Errors
    /// [`Error::Usage`] if other codes were given than those of the text.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let mut text = vec![0; self.len];
        match Decoder::new(&self.table).decode(&self.codes, &mut text) {
            Ok(len) if len == self.len => Ok(self.text.get_or_init(|| text)),
            Ok(len) => Err(Error::Usage(format!("packed text of {} bytes decodes to {len}", self.len))),
            Err(fault) => Err(Error::Usage(format!("packed text: {fault}"))),
        }
    }

    /// Returns the number of words that [`write_words`](Self::write_words) writes.
    #[must_use]
    pub fn words(&self) -> usize {
        TABLE_WORDS + self.splits.len()
    }

    /// Writes the table in the kernels' form, then the text offset of each split, and the end of the text.
    /// `words` must have their number.
    pub fn write_words(&self, words: &mut [u64]) {
        let (table, splits) = words.split_at_mut(TABLE_WORDS);
        table.copy_from_slice(&self.table.to_words());
        splits.iter_mut().zip(self.splits.iter()).for_each(|(word, split)| *word = split.0);
    }
}
