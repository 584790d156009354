//! How a program is run over one record: the interpreter that the query kernels and the CPU share.
//!
//! | module | question it answers |
//! |---|---|
//! | [`document`] | how is a record seen: its bytes, and the bitmaps over them? |
//! | [`value`] | does this string or number equal that literal? |
//! | [`select`] | where is the member, the element, the next child? |
//! | [`machine`] | in which order is everything visited? |
//!
//! # Input contract
//! The interpreter is asked only about records in which [`crate::check`] found no fault. It relies on
//! nothing else: whatever the bytes are, it ends, stays inside the record and gives the same answer on
//! every backend. Where a record is not JSON in a way that is not checked, an empty slot (`[1,,2]`,
//! `{"a":}`) counts as an element but is never a node, and a member needs a quoted name and a colon.

pub mod document;
pub mod machine;
pub mod select;
pub mod value;
