//! What Warpath's host and its kernels must agree on.
//!
//! *Arithmetic once, cooperation twice*: what happens to one 64-byte word, one record or one
//! instruction is a function here. A kernel arranges threads around it, the CPU backend arranges
//! SIMD and cores around it, and a test holds any faster equal of it to the rule written here.
//!
//! | module | question it answers |
//! |---|---|
//! | [`units`] | what does this integer count? |
//! | [`view`] | how does a kernel see an array of its arguments? |
//! | [`index`] | which bytes open strings, containers and lines, and at which level? |
//! | [`check`] | is this record well-formed enough to be asked, and if not, where does it fail? |
//! | [`ir`] | what does a compiled program look like in memory? |
//! | [`query`] | how is a program run over one record? |
//! | [`column`](mod@column) | what does a value become in a typed column? |
//! | [`strict`] | do strings and scalars consist of what RFC 8259 says, in UTF-8? |
//! | [`tree`] | what is a document's tree, and from which rules is it made without a stack? |
//! | [`wah`] | how are bitmaps of rows compressed, and asked as they are? |
//! | [`bitmap`] | how are many compressed bitmaps combined, a tile of rows at a time? |
//! | [`fsst`] | what do the codes of a compressed string stand for? |
//! | [`xml`] | which bytes of XML begin and end tags, and what is a document to twigs? |
//! | [`kernel`] | which kernels are there, with which arguments and launch shapes? |
#![no_std]

#[cfg(test)]
extern crate std;

pub mod bitmap;
pub mod check;
pub mod column;
pub mod fsst;
pub mod index;
pub mod ir;
pub mod kernel;
pub mod query;
pub mod strict;
pub mod tree;
pub mod twig;
pub mod units;
pub mod view;
pub mod wah;
pub mod xml;
