//! Device-wide scans.

use super::launch::{Kernel, SizeError, Sizes};
use super::query::Match;
use crate::index::Monoid;
use crate::tree::outline::StretchSum;
use crate::units::SCAN_TILE;
use crate::view::{View, ViewMut};

/// The memory by which the blocks of a device-wide scan pass sums to the blocks at their right (decoupled
/// look-back: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LookBack<'a, T> {
    /// A status for each scan tile, then one ticket counter. Zero before the launch.
    pub status: ViewMut<'a, u32>,
    /// The sum of each tile. Valid once the status of the tile says so.
    pub aggregate: ViewMut<'a, T>,
    /// The sum of everything up to the end of each tile. Valid once the status of the tile says so.
    pub inclusive: ViewMut<'a, T>,
}

/// Arguments of the scans. `output[i]` is the sum of `input[..i]`, and `output[input.len()]` is the sum of
/// all.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ScanArgs<'a, I, T> {
    /// The elements to scan.
    pub input: View<'a, I>,
    /// The sums: one more than `input` has elements.
    pub output: ViewMut<'a, T>,
    /// Scratch memory of the scan.
    pub look_back: LookBack<'a, T>,
}

/// The number of scan tiles that `len` elements need.
pub const fn scan_tiles(len: usize) -> usize {
    let tiles = len.div_ceil(SCAN_TILE);
    if tiles == 0 { 1 } else { tiles }
}

impl<I: Copy, T: Monoid> ScanArgs<'_, I, T> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        sizes.at_least("input ≥ 1", self.input.len(), 1)?;
        sizes.equal("output = input + 1", self.output.len(), self.input.len() + 1)?;
        self.look_back.check(kernel, self.input.len())
    }
}

impl<T: Copy> LookBack<'_, T> {
    /// Checks the sizes for a scan of `elements` elements by `kernel`.
    ///
    /// # Errors
    /// [`SizeError`] if an array has another size.
    pub fn check(&self, kernel: &'static str, elements: usize) -> Result<(), SizeError> {
        let (sizes, tiles) = (Sizes(kernel), scan_tiles(elements));
        sizes.equal("status = scan tiles + 1", self.status.len(), tiles + 1)?;
        sizes.equal("aggregate = scan tiles", self.aggregate.len(), tiles)?;
        sizes.equal("inclusive = scan tiles", self.inclusive.len(), tiles)
    }
}

macro_rules! scan {
    ($(#[$doc:meta])* $kernel:ident, $name:literal, $input:ty, $sum:ty) => {
        $(#[$doc])*
        pub struct $kernel;
        // SAFETY: the entry in `gpu/src/kernel/scan.rs` takes one `Args` by value. It stays within its views
        // for arguments that `check` accepts.
        unsafe impl Kernel for $kernel {
            type Args<'a> = ScanArgs<'a, $input, $sum>;
            const NAME: &'static str = $name;
            fn blocks(args: &Self::Args<'_>) -> u32 {
                scan_tiles(args.input.len()) as u32
            }
            fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
                args.check(Self::NAME)
            }
        }
    };
}

scan!(
    /// Scans counts into offsets.
    CountScan, "count_scan", u64, u64
);
scan!(
    /// Scans the lengths of matches, each with one byte for a newline, into the offsets of their texts.
    TextScan, "text_scan", Match, u64
);
scan!(
    /// Scans the sums of stretches into the sums before each stretch.
    TapeScan, "tape_scan", StretchSum, StretchSum
);
