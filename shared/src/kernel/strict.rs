//! The kernel that checks the contents of strings and scalars ([`crate::strict`]).

use super::index::FaultyLines;
use super::launch::{Kernel, SizeError, Sizes, blocks_for_tiles};
use super::line::STATUS_WORDS;
use crate::units::{PartOffset, TILE_BYTES, WORD_BYTES};
use crate::view::View;

/// Suspects lines that are not UTF-8, or that contain a string or a scalar against RFC 8259. One warp per
/// tile.
pub struct StrictCheck;

/// Arguments of [`StrictCheck`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct StrictCheckArgs<'a> {
    /// See [`super::LineStatesArgs::text`].
    pub text: View<'a, u8>,
    /// See [`super::StructureWriteArgs::string`].
    pub string: View<'a, u64>,
    /// See [`super::Indexed::line_starts`].
    pub line_starts: View<'a, PartOffset>,
    /// The bitmap and the status that record faulty lines.
    pub faulty: FaultyLines<'a>,
    /// See [`super::StructureWriteArgs::len`].
    pub len: PartOffset,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: the entry in `gpu/src/kernel/strict.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for StrictCheck {
    type Args<'a> = StrictCheckArgs<'a>;
    const NAME: &'static str = "strict_check";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for_tiles(args.text.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let lines = args.line_starts.len();
        sizes.at_least("text ≥ a tile", args.text.len(), TILE_BYTES)?;
        sizes.equal("text = whole tiles", args.text.len() % TILE_BYTES, 0)?;
        sizes.at_least("text ≥ length + 1", args.text.len(), args.len as usize + 1)?;
        sizes.equal("64 × string words = text", args.string.len() * WORD_BYTES, args.text.len())?;
        sizes.at_least("line starts ≥ 2", lines, 2)?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * args.faulty.bits.len(), lines - 1)?;
        sizes.equal("status = 5", args.faulty.status.len(), STATUS_WORDS)
    }
}
