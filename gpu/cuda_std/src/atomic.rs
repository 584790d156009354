//! Words that several threads change together, with the scopes and memory orders of the hardware.
//!
//! A function's name gives operation, width or type, order and scope: `atomic_load_32_acquire_device`. The
//! *scope* says for which threads the order holds, and in which memory the word is:
//!
//! | scope | threads | the word is in |
//! |---|---|---|
//! | `device` | all of the device | global memory |
//! | `block` | those of the block | global or shared memory |
//! | `shared` | those of the block | shared memory; faster than `block`, relaxed only |
//!
//! *Order*: a `relaxed` access orders nothing else. If an `acquire` load sees the value of a `release` store,
//! it also sees everything that was written before that store. `acqrel` is both. These orders need sm_70.
//!
//! # Safety of the accesses
//!
//! All accesses have the same contract:
//!
//! * The pointer is valid, points into the memory that the table names, and is aligned to the width of the
//!   access.
//! * Meanwhile other threads access the word only by atomics of the same width, whose scope includes both
//!   threads.

pub mod mid;

pub use mid::*;
