//! The copy kernel, with whose throughput benches compare other kernels.

use super::launch::{Kernel, SizeError, Sizes};
use crate::units::TILE_BYTES;
use crate::view::{View, ViewMut};

/// Copies 16 bytes per thread. Benches compare other kernels with this throughput of the card.
pub struct Copy16;

/// Arguments of [`Copy16`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Copy16Args<'a> {
    /// A whole number of tiles, 16-byte aligned.
    pub from: View<'a, u8>,
    /// The copy: as long as `from`.
    pub to: ViewMut<'a, u8>,
}

// SAFETY: the entry in `gpu/src/kernel/copy.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for Copy16 {
    type Args<'a> = Copy16Args<'a>;
    const NAME: &'static str = "copy_16";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.from.len() / TILE_BYTES) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("from ≥ a tile", args.from.len(), TILE_BYTES)?;
        sizes.equal("from = whole tiles", args.from.len() % TILE_BYTES, 0)?;
        sizes.equal("to = from", args.to.len(), args.from.len())
    }
}
