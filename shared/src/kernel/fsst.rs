//! The kernels that decode strings compressed by FSST ([`crate::fsst`]).

use super::{Kernel, SizeError, Sizes};
use crate::fsst::{SPLIT_CODES, TABLE_WORDS};
use crate::view::{View, ViewMut};

/// Threads of a block of the kernels that decode splits: four warps.
pub const FSST_THREADS: usize = 128;
/// Codes that a thread decodes, which it loads at once.
pub const FSST_THREAD_CODES: usize = 16;
/// In [`FsstDecodeArgs::status`]: some code stands for nothing.
pub const FSST_UNKNOWN: u32 = 1;
/// In [`FsstDecodeArgs::status`]: an escape is the last code of all, or of a string.
pub const FSST_ESCAPE: u32 = 2;
/// In [`FsstDecodeArgs::status`]: splits say other than codes do, or there is no room for what they stand for.
pub const FSST_SPLITS: u32 = 4;
/// In [`FsstDecodeArgs::status`]: codes without splits have a run of 255s so long that what it means is not found out here. Nothing need be wrong with them.
pub const FSST_FAR: u32 = 8;

const _: () = assert!(FSST_THREADS * FSST_THREAD_CODES == SPLIT_CODES);

/// How many splits a block best decodes, of so many: four, where there are blocks enough for a whole device all the same. With one, each brings a table for little work.
#[must_use]
pub const fn block_splits(splits: usize) -> u64 {
    match splits / BLOCKS_ENOUGH {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    }
}

/// Blocks that an H200 has room for at once, 132 multiprocessors of ten, and as many that wait.
const BLOCKS_ENOUGH: usize = 2640;

/// Decodes codes of which is known where each split's output goes. A block some splits ([`block_splits`]).
pub struct FsstDecode;

/// The same, and says where in the output each string begins.
pub struct FsstDecodeStrings;

/// Arguments of [`FsstDecode`] and [`FsstDecodeStrings`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstDecodeArgs<'a> {
    /// The codes of all strings, one behind the other. 16-byte aligned, whole splits; what is behind the last code is not looked at.
    pub codes: View<'a, u8>,
    /// The table ([`crate::fsst::Table::to_words`]).
    pub table: View<'a, u64>,
    /// Where each split begins ([`crate::fsst::Split`]), and at the end how many bytes there are.
    pub splits: View<'a, u64>,
    /// The output: 16-byte aligned. What does not go there is told by the status, and is not written.
    pub out: ViewMut<'a, u8>,
    /// Where in the codes each string begins, ascending, and at the end how many codes there are: none for [`FsstDecode`].
    pub code_offsets: View<'a, u64>,
    /// The same in the output: as many.
    pub offsets: ViewMut<'a, u64>,
    /// For each split the first string that begins in it or behind it: none for [`FsstDecode`].
    pub first_strings: View<'a, u64>,
    /// What is wrong: zero before, and zero after where nothing is.
    pub status: ViewMut<'a, u32>,
    /// How many codes there are.
    pub len: u64,
    /// Not 0 if splits do not say which codes are behind an escape: those that [`FsstMeasure`] and a scan have made.
    pub are_measured: u64,
    /// How many splits a block decodes, one behind the other: at least 1 ([`block_splits`]).
    pub block_splits: u64,
}

impl FsstDecodeArgs<'_> {
    fn check(&self, kernel: &'static str, strings: bool) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        let tiles = check_codes(&sizes, self.codes, self.table, self.len)?;
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

/// What holds for all that reads codes by splits. Says how many there are.
fn check_codes(
    sizes: &Sizes,
    codes: View<'_, u8>,
    table: View<'_, u64>,
    len: u64,
) -> Result<usize, SizeError> {
    let tiles = codes.len() / SPLIT_CODES;
    sizes.at_least("codes ≥ 1", len as usize, 1)?;
    sizes.equal("splits × 2048 = codes", tiles, (len as usize).div_ceil(SPLIT_CODES))?;
    sizes.equal("codes = whole splits", codes.len() % SPLIT_CODES, 0)?;
    sizes.equal("table", table.len(), TABLE_WORDS)?;
    Ok(tiles)
}

macro_rules! decode {
    ($kernel:ident, $name:literal, $strings:literal) => {
        // SAFETY: `gpu/src/kernel/fsst.rs` defines the entry so.
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

/// Says how long the output of each split is, and which string begins in it first: what is missing where there are no splits. A block a split.
pub struct FsstMeasure;

/// Arguments of [`FsstMeasure`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstMeasureArgs<'a> {
    /// As for [`FsstDecodeArgs::codes`].
    pub codes: View<'a, u8>,
    /// As for [`FsstDecodeArgs::table`].
    pub table: View<'a, u64>,
    /// As for [`FsstDecodeArgs::code_offsets`].
    pub code_offsets: View<'a, u64>,
    /// For each split, how long its output is.
    pub lengths: ViewMut<'a, u64>,
    /// For each split, the first string that begins in it or behind it.
    pub first_strings: ViewMut<'a, u64>,
    /// As for [`FsstDecodeArgs::status`].
    pub status: ViewMut<'a, u32>,
    /// How many codes there are.
    pub len: u64,
}

// SAFETY: `gpu/src/kernel/fsst.rs` defines the entry so.
unsafe impl Kernel for FsstMeasure {
    type Args<'a> = FsstMeasureArgs<'a>;
    const NAME: &'static str = "fsst_measure";
    const THREADS: usize = FSST_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.codes.len() / SPLIT_CODES) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let tiles = check_codes(&sizes, args.codes, args.table, args.len)?;
        sizes.at_least("code offsets ≥ 2", args.code_offsets.len(), 2)?;
        sizes.equal("lengths = splits", args.lengths.len(), tiles)?;
        sizes.equal("first strings = splits", args.first_strings.len(), tiles)?;
        sizes.equal("status = 1", args.status.len(), 1)
    }
}

/// How many bytes each string has: the first step of the ladder. A thread a string.
pub struct FsstLengths;

/// Arguments of [`FsstLengths`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstLengthsArgs<'a> {
    /// As for [`FsstDecodeArgs::codes`].
    pub codes: View<'a, u8>,
    /// As for [`FsstDecodeArgs::table`].
    pub table: View<'a, u64>,
    /// As for [`FsstDecodeArgs::code_offsets`].
    pub code_offsets: View<'a, u64>,
    /// The bytes of each.
    pub lengths: ViewMut<'a, u64>,
}

/// The ladder of an article about such kernels (docs/fsst.md), a kernel a step, which [`FsstDecode`] is compared with: a thread a string, by single bytes.
pub struct FsstBytes;
/// The ladder: codes are loaded by 8 bytes.
pub struct FsstWords;
/// The ladder: and the table is in shared memory.
pub struct FsstShared;
/// The ladder: codes by 8 bytes, and the output is gathered in registers, and stored by 16 bytes. Of stretches of equal length, which are found out beforehand, instead
/// of strings it is the last step.
pub struct FsstBuffered;

/// Arguments of the ladder.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstLadderArgs<'a> {
    /// As for [`FsstDecodeArgs::codes`].
    pub codes: View<'a, u8>,
    /// As for [`FsstDecodeArgs::table`].
    pub table: View<'a, u64>,
    /// Where in the codes each string or stretch begins, and at the end how many codes there are. None begins behind an escape.
    pub code_offsets: View<'a, u64>,
    /// The same in the output. The codes are those of strings so long: these kernels do not look.
    pub offsets: View<'a, u64>,
    /// The output: 16-byte aligned.
    pub out: ViewMut<'a, u8>,
}

/// Threads of a block of the ladder.
const LADDER_THREADS: usize = 128;

macro_rules! ladder {
    ($($kernel:ident, $name:literal;)*) => {$(
        // SAFETY: `gpu/src/kernel/fsst_ladder.rs` defines the entry so.
        unsafe impl Kernel for $kernel {
            type Args<'a> = FsstLadderArgs<'a>;
            const NAME: &'static str = $name;
            const THREADS: usize = LADDER_THREADS;
            fn blocks(args: &Self::Args<'_>) -> u32 {
                (args.code_offsets.len() - 1).div_ceil(LADDER_THREADS) as u32
            }
            fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
                let sizes = Sizes(Self::NAME);
                sizes.at_least("code offsets ≥ 2", args.code_offsets.len(), 2)?;
                sizes.equal("offsets = code offsets", args.offsets.len(), args.code_offsets.len())?;
                sizes.equal("table", args.table.len(), TABLE_WORDS)?;
                sizes.equal("codes = whole splits", args.codes.len() % SPLIT_CODES, 0)
            }
        }
    )*};
}

ladder! {
    FsstBytes, "fsst_bytes";
    FsstWords, "fsst_words";
    FsstShared, "fsst_shared";
    FsstBuffered, "fsst_buffered";
}

// SAFETY: `gpu/src/kernel/fsst_ladder.rs` defines the entry so.
unsafe impl Kernel for FsstLengths {
    type Args<'a> = FsstLengthsArgs<'a>;
    const NAME: &'static str = "fsst_lengths";
    const THREADS: usize = LADDER_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.lengths.len().div_ceil(LADDER_THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("lengths ≥ 1", args.lengths.len(), 1)?;
        sizes.equal("code offsets = lengths + 1", args.code_offsets.len(), args.lengths.len() + 1)?;
        sizes.equal("table", args.table.len(), TABLE_WORDS)?;
        sizes.equal("codes = whole splits", args.codes.len() % SPLIT_CODES, 0)
    }
}
