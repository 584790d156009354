//! Words that several threads change together, with the scope and order that the hardware knows.
//!
//! A function's name gives operation, width or type, order and scope: `atomic_load_32_acquire_device`. *Scope* says which
//! threads the order holds for, and where the word is:
//!
//! | scope | threads | the word is in |
//! |---|---|---|
//! | `device` | all of the device | global memory |
//! | `block` | those of the block | global or shared memory |
//! | `shared` | those of the block | shared memory; faster than `block`, relaxed only |
//!
//! *Order*: a `relaxed` access orders nothing else; an `acquire` load that sees what a `release` store wrote also sees all
//! that was written before that store; `acqrel` is both. Needs sm_70.
//!
//! # Safety of the accesses
//!
//! All of them ask the same: the pointer is valid, points into the memory that the table names, and is aligned to the width
//! of the access; and no other thread accesses the word meanwhile other than by an atomic of the same width, whose scope
//! includes both threads.

pub mod mid;

pub use mid::*;
