//! Evaluation of expressions over bitmap indexes: planning, evaluation over bitmaps, and checks against
//! stored values.
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | the plan of an expression: a program over bitmaps, and a formula to check |
//! | [`run`](mod@run) | evaluation of a program on the CPU, a tile of rows at a time |
//! | `tile` | decompression of one tile of a compressed bitmap |
//! | [`exact`] | checks of undecided rows against their stored values |
//! | [`maker`] | the bitmaps of bins, made by the CPU or a device; the forms of both on devices |

pub mod exact;
pub mod maker;
pub mod plan;
pub mod run;
mod tile;
