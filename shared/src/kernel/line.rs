//! The state at the start of each tile of a text, and the status words of a text as a whole.

use super::launch::{Kernel, SizeError, Sizes, blocks_for_tiles};
use super::scan::{LookBack, scan_tiles};
use crate::index::line::LineSummary;
use crate::units::TILE_BYTES;
use crate::view::{View, ViewMut};

/// Not zero if any line is marked faulty.
///
/// This and the next four constants are offsets in [`LineStatesArgs::status`], by which the kernels report on
/// a text as a whole. All kernels share these words, which are zero before the first kernel.
pub const ANY_FAULTY: usize = 0;
/// The number of lines of the text.
pub const LINES: usize = 1;
/// Not zero if the line of some tile begins further back than in the preceding tile.
pub const FAR: usize = 2;
/// The largest number of lines that end in one tile, if some tile has no room for its lines.
pub const MOST_LINES_OF_A_TILE: usize = 3;
/// Not zero if any line is marked loose.
pub const ANY_LOOSE: usize = 4;
/// The number of status words.
pub const STATUS_WORDS: usize = 5;

/// Finds the state at the start of each tile whose line begins near it. One warp per tile.
pub struct LineStates;

/// Arguments of [`LineStates`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LineStatesArgs<'a> {
    /// The text, terminated by a newline and padded with zeros to a whole number of tiles. 16-byte aligned.
    pub text: View<'a, u8>,
    /// For each tile, the summary of the text before it. The summary goes back to the nearest newline, to the
    /// start of the text, or to the start of the preceding tile.
    pub states: ViewMut<'a, LineSummary>,
    /// The status words, with [`FAR`].
    pub status: ViewMut<'a, u32>,
}

/// Checks the relations that hold for every kernel with one warp per tile.
pub(super) fn check_tiles(
    kernel: &'static str,
    text: usize,
    tiles: usize,
    status: usize,
) -> Result<(), SizeError> {
    let sizes = Sizes(kernel);
    sizes.at_least("text ≥ a tile", text, TILE_BYTES)?;
    sizes.equal("text = tiles × tile size", text, tiles * TILE_BYTES)?;
    sizes.equal("status = 5", status, STATUS_WORDS)
}

// SAFETY: the entry in `gpu/src/kernel/line.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for LineStates {
    type Args<'a> = LineStatesArgs<'a>;
    const NAME: &'static str = "line_states";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for_tiles(args.text.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        check_tiles(Self::NAME, args.text.len(), args.states.len(), args.status.len())
    }
}

/// Scans the summaries of [`LineStates`] into states, if [`FAR`] is set. One thread per tile.
pub struct LineScan;

/// Arguments of [`LineScan`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LineScanArgs<'a> {
    /// See [`LineStatesArgs::states`]. On return, all states are found.
    pub states: ViewMut<'a, LineSummary>,
    /// Scratch memory of the scan.
    pub look_back: LookBack<'a, LineSummary>,
    /// The status words, with [`FAR`].
    pub status: View<'a, u32>,
}

// SAFETY: the entry in `gpu/src/kernel/line.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for LineScan {
    type Args<'a> = LineScanArgs<'a>;
    const NAME: &'static str = "line_scan";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        scan_tiles(args.states.len()) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("states ≥ 1", args.states.len(), 1)?;
        sizes.equal("status = 5", args.status.len(), STATUS_WORDS)?;
        args.look_back.check(Self::NAME, args.states.len())
    }
}
