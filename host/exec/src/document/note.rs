//! Facts about one part of a document, found while it is read.

use warpath_cpu::cut::Irregular;

/// Facts about a part, in addition to its text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Note {
    /// The number of elements.
    pub elements: u64,
    /// The offset of the array's closing bracket in the file, if the array ends in this part or after an
    /// element of it.
    pub closed: Option<u64>,
    /// Set if the part is unusual. Then the document is evaluated as one record.
    pub irregular: Option<Irregular>,
}
