//! Inputs that are one JSON document each, on one line or many.
//!
//! A document is one record, and a record is one line: so its newlines become spaces, which are white space as well, and whatever
//! answers lines answers it. A newline in a string is no white space and stays what it is, a fault.
//!
//! Where all paths go on from the elements of one array, such as `$.items[*].id` and `$.items[*].tags[0]`, the document is a
//! file, and that array is most of it, the elements become the records: commas between them become newlines, the paths are
//! asked from there on, and parts of the file are cut and answered at the same time, each on its own.
//!
//! ```text
//! document   {"items": [ {"id":1} , {"id":2} , {"id":3} ], "n": 3}
//! paths      $.items[*].id
//!            |------head-----|--elements-->|------------|---tail---|
//! parts                       {"id":1} \n  {"id":2} \n  {"id":3}         asked  $.id
//! ```
//!
//! Nothing is given out before the whole document has been gone through, since a malformed one has no answers, wherever its
//! fault stands. Whatever is not as it usually is, in an element or around the array, sends the document to be answered as
//! one record: that way has the last word, so both give the same answers.
//!
//! | module | question it answers |
//! |---|---|
//! | `split` | do all paths go on from the elements of one array? |
//! | `around` | where does that array begin, and is what stands around it as it should be? |
//! | `parts` | which elements does a part of the file have? |
//! | `whole` | what is a document on one line, and where did its lines end? |
//! | `cpu/cut.rs` | how are newlines and commas replaced, at speed? |

mod around;
mod note;
mod parts;
pub(crate) mod whole;

pub(crate) use around::{Around, Head};
pub(crate) use note::Note;
pub(crate) use parts::Parts;
pub use warpath_lang::elements::AsOne;
pub(crate) use whole::Whole;

/// What the bytes of an input are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// A record a line.
    #[default]
    Ndjson,
    /// One record in all, on one line or several: a JSON document.
    Json,
}
