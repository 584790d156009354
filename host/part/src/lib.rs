//! Parts of a store: Apache Parquet files whose columns are the records of NDJSON lines as a nested table,
//! and whose embedded sections say how the lines were spelled, so that every byte of every line comes back.
//!
//! | module | contents |
//! |---|---|
//! | [`group`] | a row group in memory: a tree of columns, their values and levels, and sections of bytes |
//! | [`text`] | the lines of a group from and to that form |
//! | [`partial`](mod@partial) | lines with some members only, from a file |
//! | [`count`](mod@count) | numbers of values that paths select, from a file |
//! | [`select`] | rows that a condition can be true of |
//! | [`file`](mod@file) | groups from and to a Parquet file with sections, a directory and checksums |

pub mod count;
pub mod file;
pub mod group;
pub mod partial;
pub mod select;
pub mod text;
