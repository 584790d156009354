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
//! | [`value`] | what is a value of a column, and of which kind is a column? |
//! | [`bins`] | how are values cut into bins? |
//! | [`build`](mod@build) | how are lines and tables made columns with bitmaps? |
//! | `built` | what does building give? |
//! | `parallel` | and how on all cores? |
//! | `layout` | what stands where in an index? |
//! | `store` | how does what was built become its bytes? |
//! | `file` | where are these, and how do they get into a file? |
//! | `check` | are atoms and tiles what they say? |
//! | `index` | what is read of it, and when is that checked? |
//! | `values` | what is read of the values of a bin? |
//! | [`expr`] | what does an expression say? |
//! | [`plan`] | which bitmaps answer it, by which program, and what is left to check? |
//! | `tile` | what rows has a tile of a bitmap? |
//! | [`run`](mod@run) | how is a program run over bitmaps, on the CPU? |
//! | [`ask`] | who answers: the CPU, or a device? |
//! | `exact` | which rows that bins leave undecided are in the answer? |
//! | [`rows`] | which rows, a bit each, whoever found them? |
//! | [`reduce`] | how are unions made two at a time, as others make them? |

pub mod bins;
pub mod bitmaps;
pub mod built;
mod check;
pub mod column;
pub mod file;
pub mod index;
pub mod layout;
mod show;
mod store;
pub mod value;
pub mod values;

pub use built::{Built, BuiltColumn, StoredValues};
pub use index::{BitmapIndex, BitmapInfo, ColumnInfo};
pub use layout::{MAX_ROWS, VERSION};
pub use values::{Texts, Values};
pub use warpath_core::stamp::Stamp;
