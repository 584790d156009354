//! The stored forms of Warpath: their construction, storage, checks and reads. This crate does not know the
//! code that evaluates them.
//!
//! | module | contents |
//! |---|---|
//! | [`fsst`] | strings compressed by FSST, and columns of them |
//! | [`packed`] | packed text: lines in memory, compressed by FSST |
//! | [`bitmap`] | bitmap indexes: bins of values, their WAH bitmaps, and the values themselves |
//! | [`schema`] | the schema of records: every path, with the kinds of its values |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod bitmap;
pub mod fsst;
pub mod packed;
pub mod schema;
