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
//! | [`expr`] | what does an expression say? |
//! | [`plan`] | which bitmaps answer it, by which program, and what is left to check? |
//! | [`run`](mod@run) | how is a program run over bitmaps, on the CPU? |
//! | [`exact`] | which rows that bins leave undecided are in the answer? |
//! | [`reduce`] | how are unions made two at a time, as others make them? |

pub mod column;
pub mod exact;
pub mod expr;
pub mod plan;
pub mod reduce;
pub mod run;
mod show;
pub mod wah;
