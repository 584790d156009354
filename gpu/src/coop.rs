//! Cooperation in three layers: the lanes of a warp, the warps of a block, the blocks of a grid. Each layer
//! calls only the layer below.

pub mod block;
pub mod compact;
pub mod gather;
pub mod lookback;
pub mod search;
pub mod stretch;
pub mod strings;
pub mod warp;
pub mod words;

/// Lanes of a warp.
pub const LANES: u32 = 32;
/// Warps of a block.
pub const WARPS: usize = warpath_shared::units::BLOCK_THREADS / LANES as usize;
