//! The stored forms of Warpath: how they are built, written, checked and read. It does not know who evaluates them.
//!
//! | module | contents |
//! |---|---|
//! | [`fsst`] | strings compressed by FSST, and columns of them |
//! | [`packed`] | packed NDJSON: groups of lines, compressed by FSST |
//! | [`bitmap`] | bitmap indexes: bins of values, their WAH bitmaps, and the values themselves |

pub mod bitmap;
pub mod fsst;
pub mod packed;
