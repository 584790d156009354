//! Expressions over bitmap indexes: planned, evaluated over bitmaps, and checked against the stored values.
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | an expression as a program over bitmaps, and what is left to check |
//! | [`run`](mod@run) | a program evaluated on the CPU, a tile of rows at a time |
//! | `tile` | a tile of a compressed bitmap, decompressed |
//! | [`exact`] | rows that bins leave undecided, checked against their stored values |
//! | [`maker`] | the bitmaps of bins, made by the CPU or a device |

pub mod exact;
pub mod maker;
pub mod plan;
pub mod run;
mod tile;
