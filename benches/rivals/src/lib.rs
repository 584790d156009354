//! Methods of other systems, written for comparison. Benches measure Warpath beside them, and tests check
//! both against the same oracles.
//!
//! The product does not depend on this crate. The crate uses only public items of `warpath` and
//! `warpath-shared`.
//!
//! | module | contents |
//! |---|---|
//! | [`yfilter`] | standing queries as one automaton for all paths: YFilter, the rival of twigs on CPUs |
//! | [`unions`] | unions of compressed bitmaps, two at a time: one after the other, or in pairs level by level |

pub mod unions;
pub mod yfilter;
