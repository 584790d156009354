//! What reading one part of a document reports about it.

use warpath_backend::cpu::cut::Irregular;

/// What a part has, beside its text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Note {
    /// How many elements.
    pub elements: u64,
    /// Where the array ends in the file, if it does in this part or with an element of it: its closing bracket.
    pub closed: Option<u64>,
    /// Whether something is not as it usually is, so that the document is to be answered as one record.
    pub irregular: Option<Irregular>,
}
