//! Bitmap indexes: which rows have which values, one compressed bitmap a bin.
//!
//! A column of values is cut into *bins*: distinct values or ranges. Each row is in exactly one bin of each
//! column. Rows without a value have bins of their own. A bin's bitmap is compressed by WAH
//! ([`warpath_shared::wah`]) and is never decompressed as a whole: `followers >= 1000` is the union of some
//! bins, evaluated one tile of rows at a time ([`warpath_shared::bitmap`]).
//!
//! | module | contents |
//! |---|---|
//! | [`column`](mod@column) | a column, and what a bin holds |
//! | [`value`] | values of columns, and the kind of a column |
//! | [`bins`] | how values are cut into bins |
//! | [`bitmaps`] | the bitmaps of bins, from the bin number of each row |
//! | [`built`] | what a build gives |
//! | [`layout`] | the offsets of an index, its header and its table |
//! | `store` | what was built, as bytes |
//! | [`file`](mod@file) | these bytes, mapped from a file or in memory |
//! | `check` | checks of atoms and tiles |
//! | [`index`] | `BitmapIndex`: what is read of it, and when it is checked |
//! | [`values`] | the stored values of a bin |
//! | `show` | values and bins as text |

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
