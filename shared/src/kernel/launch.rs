//! A kernel as a type: its arguments, its launch shape, and the sizes that must agree.

use crate::units::{BLOCK_THREADS, TILE_BYTES};

/// Two sizes of a launch that must agree and do not. The host is at fault, never the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeError {
    /// The kernel.
    pub kernel: &'static str,
    /// The relation that does not hold.
    pub relation: &'static str,
    /// The left side of the relation.
    pub left: u64,
    /// The right side of the relation.
    pub right: u64,
}

impl core::fmt::Display for SizeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { kernel, relation, left, right } = self;
        write!(f, "launch of `{kernel}`: {relation} does not hold ({left} and {right})")
    }
}

impl core::error::Error for SizeError {}

/// A kernel: the name of its entry, its arguments and its launch shape.
///
/// # Safety
/// The entry of this name takes one `Args` by value. It stays within its views when it is launched with the
/// grid of [`blocks`](Self::blocks) and with arguments that [`check`](Self::check) accepts.
pub unsafe trait Kernel {
    /// The argument struct.
    type Args<'a>: Copy;
    /// The name of the PTX entry, and of the function in the `gpu` crate.
    const NAME: &'static str;
    /// The largest number of threads of a block.
    const THREADS: usize = BLOCK_THREADS;
    /// The number of threads of a block in one launch: at most [`Self::THREADS`].
    fn threads(_args: &Self::Args<'_>) -> u32 {
        Self::THREADS as u32
    }
    /// The number of blocks. Never zero for arguments that [`check`](Self::check) accepts.
    fn blocks(args: &Self::Args<'_>) -> u32;
    /// Returns the first relation of sizes that does not hold, as an error.
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError>;
}

/// The sizes of a launch of the kernel with this name. The methods return an error if a relation of two sizes
/// does not hold.
pub struct Sizes(pub &'static str);

impl Sizes {
    /// Any relation: `holds` is its value.
    ///
    /// # Errors
    /// [`SizeError`] if `holds` is false.
    pub fn holds(
        &self,
        relation: &'static str,
        holds: bool,
        left: usize,
        right: usize,
    ) -> Result<(), SizeError> {
        let (left, right) = (left as u64, right as u64);
        if holds { Ok(()) } else { Err(SizeError { kernel: self.0, relation, left, right }) }
    }

    /// `left = right`.
    ///
    /// # Errors
    /// [`SizeError`] if the sizes differ.
    pub fn equal(&self, relation: &'static str, left: usize, right: usize) -> Result<(), SizeError> {
        self.holds(relation, left == right, left, right)
    }

    /// `left ≥ right`.
    ///
    /// # Errors
    /// [`SizeError`] if `left` is less.
    pub fn at_least(&self, relation: &'static str, left: usize, right: usize) -> Result<(), SizeError> {
        self.holds(relation, left >= right, left, right)
    }
}

/// The number of blocks of the usual size for `threads` threads: at least one.
pub(super) fn blocks_for(threads: usize) -> u32 {
    threads.div_ceil(BLOCK_THREADS).max(1) as u32
}

/// The number of blocks for one warp per tile.
pub(super) fn blocks_for_tiles(text: usize) -> u32 {
    blocks_for(text / TILE_BYTES * 32)
}
