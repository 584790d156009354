//! The interpreter that runs a program over one record. The query kernels and the CPU share it.
//!
//! | module | contents |
//! |---|---|
//! | [`document`] | a record as its bytes and the bitmaps over them |
//! | [`value`] | the comparison of a string or a number with a literal |
//! | [`compare`] | the comparison of two numbers or strings, in the text or among the literals |
//! | [`operand`] | the operands of tests that compare more than a value with a literal |
//! | [`automaton`] | the automata that match strings against patterns |
//! | [`select`] | the search for members, elements and next children, by leveled bitmaps |
//! | [`tree`] | the search for them by the links of a tree, and the equality of two values |
//! | [`navigate`] | the trait over both kinds of search |
//! | [`machine`] | the order in which nodes are visited |
//! | [`names`] | the search for all members of a name, in any order |
//!
//! # Input contract
//! The interpreter evaluates only records in which [`crate::check`] found no fault. It relies on nothing
//! else. Whatever the bytes are, it terminates, stays inside the record and gives the same result on every
//! backend. Trees are evaluated only for records whose tokens are where RFC 8259 allows them.
//!
//! With leveled bitmaps, a record may have errors that are not checked. Then an empty slot (`[1,,2]`,
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
