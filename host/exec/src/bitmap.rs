//! Bitmap indexes of inputs.
//!
//! | module | contents |
//! |---|---|
//! | [`build`](mod@build) | lines, tables and matches of subscriptions become columns with bitmaps |
//! | [`ask`] | expressions evaluated over an index, on the CPU or a device |

pub mod ask;
pub mod build;
