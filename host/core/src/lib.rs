//! The lowest layer of Warpath, which every other layer uses. It has no code for queries, for Warpath's own
//! file formats, or for devices.
//!
//! | module | contents |
//! |---|---|
//! | [`error`] | errors, by whose fault they are |
//! | [`cancel`] | ends of work before its time: cancellation and deadlines |
//! | [`diagnostic`] | mistakes in a query or an expression, with a caret and a hint |
//! | [`rows`] | `RowSet`: a set of row numbers, one bit each |
//! | [`wah`] | WAH bitmaps that own their atoms |
//! | [`json`] | JSON text: tokens, a cursor, strings with their escapes |
//! | [`key`] | keys of JSON values: equal for equal values, and in their order |
//! | [`comparison`] | comparisons of the members of records with constants |
//! | [`decimal`] | decimal numbers, exactly |
//! | [`fields`] | fields of binary files, read one after the other |
//! | [`float`] | decimal numbers rounded to doubles |
//! | [`number`] | JSON numbers as values of typed columns |
//! | [`braces`] | braces in patterns of names |
//! | [`foreign`] | formats that are recognised by their first bytes, and are not lines of JSON |
//! | [`file`](mod@file) | reads at an offset, from any thread |
//! | [`temporary`] | output files: exclusive, renamed when complete, with permissions no wider than their inputs' |
//! | [`time`] | instants and dates, as texts and as numbers |
//! | [`stamp`] | checksums, and the size, time and samples by which a file is recognised |
//! | [`projection`] | the members of records that a program can reach |
//! | [`leaves`] | tables of leaves on a device |
//! | [`plain`] | values whose bytes may be copied to files and devices |
//! | [`pool`] | work on several cores, with results in order |
//! | [`simd`] | byte classes and bit operations for the instruction set of this processor |

pub mod braces;
pub mod cancel;
pub mod comparison;
pub mod decimal;
pub mod diagnostic;
pub mod error;
pub mod fields;
pub mod file;
pub mod float;
pub mod foreign;
pub mod json;
pub mod key;
pub mod leaves;
pub mod number;
pub mod plain;
pub mod pool;
pub mod projection;
pub mod rows;
pub mod simd;
pub mod stamp;
pub mod temporary;
pub mod time;
pub mod wah;
