//! Rivals beside the oracles: their kernels in the emulator, YFilter over the twigs of the main workspace's
//! tests, and their PTX.

// The cases of the main workspace, with YFilter as the second evaluator.
#[path = "../../../tests/tests/twigs/cases.rs"]
mod cases;
mod kernels;
mod ptx;
mod twigs;

use warpath_rivals::yfilter::YFilter as Second;
