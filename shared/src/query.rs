//! How a program is run over one record: the interpreter that the query kernels and the CPU share.
//!
//! | module | question it answers |
//! |---|---|
//! | [`document`] | how is a record seen: its bytes, and the bitmaps over them? |
//! | [`value`] | how does this string or number compare with that literal? |
//! | [`compare`] | how do two numbers or strings compare, wherever they stand? |
//! | [`operand`] | what do tests compare that is not a literal? |
//! | [`automaton`] | does this string match that pattern? |
//! | [`select`] | where is the member, the element, the next child, by leveled bitmaps? |
//! | [`tree`] | the same by the links of a tree, and are two values equal? |
//! | [`navigate`] | by either? |
//! | [`machine`] | in which order is everything visited? |
//! | [`names`] | where are all members of a name, in any order? |
//!
//! # Input contract
//! The interpreter is asked only about records in which [`crate::check`] found no fault. It relies on
//! nothing else: whatever the bytes are, it ends, stays inside the record and gives the same answer on
//! every backend. Trees are asked only about records whose tokens stand where RFC 8259 has them. By leveled bitmaps, where a record is not JSON in a way that is not checked, an empty slot (`[1,,2]`,
//! `{"a":}`) counts as an element but is never a node, and a member needs a quoted name and a colon.

pub mod automaton;
pub mod compare;
pub mod document;
pub mod machine;
pub mod names;
pub mod navigate;
pub mod operand;
pub mod select;
pub mod tree;
pub mod value;
