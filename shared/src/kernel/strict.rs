//! The kernel that reads what strings and scalars consist of ([`crate::strict`]).

use super::{FaultyLines, Kernel, STATUS_WORDS, SizeError, Sizes, blocks_for_tiles};
use crate::units::{PartOffset, TILE_BYTES, WORD_BYTES};
use crate::view::View;

/// Suspects lines of which a string or a scalar is not what RFC 8259 says, or which are not UTF-8. A warp a tile.
pub struct StrictCheck;

/// Arguments of [`StrictCheck`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct StrictCheckArgs<'a> {
    /// As for [`super::LineStatesArgs::text`].
    pub text: View<'a, u8>,
    /// As for [`super::StructureWriteArgs::string`].
    pub string: View<'a, u64>,
    /// As for [`super::Indexed::line_starts`].
    pub line_starts: View<'a, PartOffset>,
    /// Where to report.
    pub faulty: FaultyLines<'a>,
    /// As for [`super::StructureWriteArgs::len`].
    pub len: PartOffset,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: `gpu/src/kernel/strict.rs` defines the entry so.
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
