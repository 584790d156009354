//! Bitmap indexes: for each bin of values, one compressed bitmap of the rows that have them.
//!
//! A column of values is cut into *bins*: distinct values or ranges. Each row is in exactly one bin of each
//! column. Rows without a value have bins of their own. A bin's bitmap is compressed by WAH
//! ([`warpath_shared::wah`]) and is never decompressed as a whole: `followers >= 1000` is the union of some
//! bins, evaluated one tile of rows at a time ([`warpath_shared::bitmap`]).
//!
//! | module | contents |
//! |---|---|
//! | [`column`](mod@column) | a column, its bins and their contents |
//! | [`value`] | values of columns, and the kind of a column |
//! | [`bins`] | the rules by which values are cut into bins |
//! | [`bitmaps`] | the bitmaps of bins, from the bin number of each row |
//! | [`built`] | the result of a build |
//! | [`layout`] | the offsets of an index, its header and its table |
//! | `store` | the conversion of a built index to bytes |
//! | [`file`](mod@file) | the bytes of an index, mapped from a file, or in memory |
//! | `check` | checks of atoms and tiles |
//! | [`index`] | `BitmapIndex`: its reads and their checks |
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
pub use layout::MAX_ROWS;
pub use values::{Texts, Values};
