//! The types and rules that Warpath's host and its kernels share.
//!
//! *Arithmetic once, cooperation twice*: one function here defines what happens to one 64-byte word, one
//! record or one instruction. A kernel arranges threads around that function. The CPU backend arranges SIMD
//! and cores around it. Where a backend has a faster version, a test compares it with the rule written here.
//!
//! | module | contents |
//! |---|---|
//! | [`units`] | role-named integers, and the sizes of words, tiles and blocks |
//! | [`view`] | arrays as the arguments of kernels |
//! | [`index`] | the rules of the structural index: strings, containers, lines and levels |
//! | [`check`] | the faults of a record, and their positions |
//! | [`ir`] | the memory layout of a compiled program |
//! | [`query`] | the evaluation of a program over one record |
//! | [`column`](mod@column) | the conversion of a value for a typed column |
//! | [`strict`] | the check of strings and scalars by RFC 8259, and of UTF-8 |
//! | [`tree`] | the tree of a document, and the rules that make it without a stack |
//! | [`wah`] | compressed bitmaps of rows, and operations on them in compressed form |
//! | [`bitmap`] | the combination of many compressed bitmaps, one tile of rows at a time |
//! | [`fsst`] | the decoding of compressed strings |
//! | [`leaf`] | the values of resident leaves, packed into few bits |
//! | [`xml`] | the tags of XML, and XML documents as twigs see them |
//! | [`kernel`] | the kernels, with their arguments and launch shapes |
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
pub mod leaf;
pub mod query;
pub mod strict;
pub mod tree;
pub mod twig;
pub mod units;
pub mod view;
pub mod wah;
pub mod xml;
