//! The kernels that decode strings compressed by FSST ([`crate::fsst`]).

use super::launch::{Kernel, SizeError, Sizes};
use crate::fsst::{SPLIT_CODES, TABLE_WORDS};
use crate::view::{View, ViewMut};

/// Threads of a block, for the kernels that decode splits: four warps.
pub const FSST_THREADS: usize = 128;
/// Codes that a thread decodes. It loads them at once.
pub const FSST_THREAD_CODES: usize = 16;
/// The bit of [`FsstDecodeArgs::status`] that is set if some code has no symbol.
pub const FSST_UNKNOWN: u32 = 1;
/// The bit of [`FsstDecodeArgs::status`] that is set if an escape is the last code of all, or of a string.
pub const FSST_ESCAPE: u32 = 2;
/// The bit of [`FsstDecodeArgs::status`] that is set if splits contradict the codes, or if the decoded bytes
/// do not fit.
pub const FSST_SPLITS: u32 = 4;

const _: () = assert!(FSST_THREADS * FSST_THREAD_CODES == SPLIT_CODES);

/// The best number of splits for a block to decode, out of `splits`: four, if there are still enough blocks
/// for a whole device. Because every block loads a table, a block with one split has little work for this
/// load.
#[must_use]
pub const fn block_splits(splits: usize) -> u64 {
    match splits / BLOCKS_ENOUGH {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    }
}

/// The number of blocks that an H200 has room for at once (132 multiprocessors of ten blocks), and as many
/// that wait.
const BLOCKS_ENOUGH: usize = 2640;

/// Decodes codes whose splits give the offset of the output. One block per some splits ([`block_splits`]).
pub struct FsstDecode;

/// Decodes codes as [`FsstDecode`] does, and writes the offset in the output at which each string begins.
pub struct FsstDecodeStrings;

/// Arguments of [`FsstDecode`] and [`FsstDecodeStrings`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstDecodeArgs<'a> {
    /// The codes of all strings, one after the other. 16-byte aligned, whole splits. Bytes after the last
    /// code are not read as codes.
    pub codes: View<'a, u8>,
    /// The table ([`crate::fsst::Table::to_words`]).
    pub table: View<'a, u64>,
    /// The splits ([`crate::fsst::Split`]), and at the end the number of decoded bytes.
    pub splits: View<'a, u64>,
    /// The output: 16-byte aligned. Bytes that do not fit are not written, and the status reports them.
    pub out: ViewMut<'a, u8>,
    /// The offset in the codes at which each string begins, ascending, and at the end the number of codes.
    /// Empty for [`FsstDecode`].
    pub code_offsets: View<'a, u64>,
    /// The offset of each string in the output: as many as `code_offsets`.
    pub offsets: ViewMut<'a, u64>,
    /// For each split, the first string that begins in the split or after it. Empty for [`FsstDecode`].
    pub first_strings: View<'a, u64>,
    /// The faults that were found: bits such as [`FSST_UNKNOWN`]. Zero before the launch, and zero after it
    /// if there is no fault.
    pub status: ViewMut<'a, u32>,
    /// The number of codes.
    pub len: u64,
    /// The number of splits that a block decodes, one after the other: at least 1 ([`block_splits`]).
    pub block_splits: u64,
}

impl FsstDecodeArgs<'_> {
    fn check(&self, kernel: &'static str, strings: bool) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        let tiles = self.codes.len() / SPLIT_CODES;
        sizes.at_least("codes ≥ 1", self.len as usize, 1)?;
        sizes.equal("splits × 2048 = codes", tiles, (self.len as usize).div_ceil(SPLIT_CODES))?;
        sizes.equal("codes = whole splits", self.codes.len() % SPLIT_CODES, 0)?;
        sizes.equal("table", self.table.len(), TABLE_WORDS)?;
        sizes.at_least("splits of a block ≥ 1", self.block_splits as usize, 1)?;
        sizes.equal("status = 1", self.status.len(), 1)?;
        sizes.equal("offsets = code offsets", self.offsets.len(), self.code_offsets.len())?;
        if strings {
            sizes.at_least("code offsets ≥ 2", self.code_offsets.len(), 2)?;
            sizes.equal("first strings = splits", self.first_strings.len(), tiles)?;
        }
        sizes.equal("splits + 1", self.splits.len(), tiles + 1)
    }
}

macro_rules! decode {
    ($kernel:ident, $name:literal, $strings:literal) => {
        // SAFETY: the entry in `gpu/src/kernel/fsst.rs` takes one `Args` by value. It stays within its views
        // for arguments that `check` accepts.
        unsafe impl Kernel for $kernel {
            type Args<'a> = FsstDecodeArgs<'a>;
            const NAME: &'static str = $name;
            const THREADS: usize = FSST_THREADS;
            fn blocks(args: &Self::Args<'_>) -> u32 {
                (args.codes.len() / SPLIT_CODES).div_ceil(args.block_splits as usize) as u32
            }
            fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
                args.check(Self::NAME, $strings)
            }
        }
    };
}

decode!(FsstDecode, "fsst_decode", false);
decode!(FsstDecodeStrings, "fsst_decode_strings", true);
