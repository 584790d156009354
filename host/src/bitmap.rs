//! Bitmap indexes: which rows have which values, a compressed bitmap a bin, and questions that are answered by them.
//!
//! A column of values is cut into *bins*: distinct values or ranges. Each row is in exactly one bin of each column, those without a value too.
//! A bin's bitmap is compressed by WAH ([`warpath_shared::wah`]) and stays so: `followers >= 1000` is the union of some bins, found
//! a tile of rows at a time ([`warpath_shared::bitmap`]).
//!
//! | module | question it answers |
//! |---|---|
//! | [`wah`] | what owns a compressed bitmap? |
//! | [`column`](mod@column) | what is a column, and what is in a bin? |
//! | `built` | what does building give? |

mod built;
pub mod column;
pub mod wah;

pub use crate::stamp::Stamp;
pub use built::{BinNumbers, Built, BuiltColumn, StoredValues};
