//! Inputs that are one JSON document each, on one line or many.
//!
//! A document is one record, and a record is one line. Therefore the newlines of a document become spaces,
//! which are white space as well; after that it is evaluated like any line. A newline inside a string is no
//! white space. It stays, and is a fault.
//!
//! A document can be evaluated in parts under two conditions. First, all paths continue from the elements of
//! one array, such as `$.items[*].id` and `$.items[*].tags[0]`. Second, the document is a file of which that
//! array is the largest part. Then the elements become the records: commas between them become newlines, and
//! the rest of each path is evaluated on each element. Parts of the file are cut and evaluated independently,
//! at the same time.
//!
//! ```text
//! document   {"items": [ {"id":1} , {"id":2} , {"id":3} ], "n": 3}
//! paths      $.items[*].id
//!            |------head-----|--elements-->|------------|---tail---|
//! parts                       {"id":1} \n  {"id":2} \n  {"id":3}         evaluated  $.id
//! ```
//!
//! No result is yielded before the whole document has been read, because a malformed document has no results,
//! wherever its fault is. If an element, or the text around the array, is unusual, the whole document is
//! evaluated as one record. That evaluation decides, so both ways give the same results.
//!
//! | module | contents |
//! |---|---|
//! | `warpath_lang::elements` | the array whose elements all paths continue from, if there is one |
//! | `around` | the start of that array, and checks of the text around it |
//! | `parts` | the elements that are in a part of the file |
//! | `note` | facts about one part, found while it is read |
//! | `whole` | a document as one line, and the positions where its lines ended |
//! | `warpath_cpu::cut` | the fast replacement of newlines and commas |

mod around;
mod note;
mod parts;
pub(crate) mod whole;

pub(crate) use around::{Around, Head};
pub(crate) use note::Note;
pub(crate) use parts::Parts;
pub use warpath_lang::elements::AsOne;
pub use warpath_plan::Format;
pub(crate) use whole::Whole;
