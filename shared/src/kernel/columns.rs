//! The kernels that make typed columns, in Arrow's layout. For columns of strings they decode the text of
//! each string.
//!
//! A column has *rows*. They are the matches of one path; or, for a singular path, one row for each record,
//! which is empty if the record has no match. Rows become either 8-byte values and bits, or lengths and
//! bytes. The lengths are scanned into offsets.

use super::launch::{Kernel, SizeError, Sizes, blocks_for};
use super::query::{Indexed, Match};
use super::results::{COMPACT_TILE, GATHER_TILE};
use super::scan::LookBack;
use crate::column::Kind;
use crate::units::{BLOCK_THREADS, LineIx};
use crate::view::{View, ViewMut};

/// Lists the lines that are records without a fault. One block per [`COMPACT_TILE`] lines.
pub struct RecordCompact;

/// Arguments of [`RecordCompact`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RecordCompactArgs<'a> {
    /// The partition.
    pub indexed: Indexed<'a>,
    /// The lines of the records. Room for as many as there are lines.
    pub records: ViewMut<'a, LineIx>,
    /// The number of records: one element.
    pub count: ViewMut<'a, u64>,
    /// Scratch memory for as many tiles as a compaction of the lines has.
    pub look_back: LookBack<'a, u64>,
}

// SAFETY: the entry in `gpu/src/kernel/columns.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for RecordCompact {
    type Args<'a> = RecordCompactArgs<'a>;
    const NAME: &'static str = "record_compact";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.records.len().div_ceil(COMPACT_TILE) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let (lines, tiles) = (args.indexed.lines(), args.records.len().div_ceil(COMPACT_TILE));
        sizes.at_least("line starts ≥ 2", args.indexed.line_starts.len(), 2)?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * args.indexed.faulty.len(), lines)?;
        sizes.equal("records = lines", args.records.len(), lines)?;
        sizes.equal("count = 1", args.count.len(), 1)?;
        sizes.equal("status = compaction tiles + 1", args.look_back.status.len(), tiles + 1)?;
        sizes.equal("aggregate = compaction tiles", args.look_back.aggregate.len(), tiles)?;
        sizes.equal("inclusive = compaction tiles", args.look_back.inclusive.len(), tiles)
    }
}

/// Makes the rows of a path that has at most one match per record. One thread per record.
pub struct RecordRows;

/// Arguments of [`RecordRows`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RecordRowsArgs<'a> {
    /// The matches of the path, among those of other paths.
    pub found: PathMatches<'a>,
    /// The lines that are records.
    pub records: View<'a, LineIx>,
    /// One row per record: its match, or an empty one.
    pub rows: ViewMut<'a, Match>,
    /// The counts of the column, which the kernel sets to zero.
    pub counts: ViewMut<'a, u64>,
}

/// The matches of one path, among those of others.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PathMatches<'a> {
    /// The matches of all paths.
    pub matches: View<'a, Match>,
    /// The position of the path's first match.
    pub first: u64,
    /// One past the path's last match.
    pub end: u64,
}

impl PathMatches<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        sizes.at_least("matches ≥ end", self.matches.len(), self.end as usize)?;
        sizes.at_least("end ≥ first", self.end as usize, self.first as usize)
    }
}

// SAFETY: the entry in `gpu/src/kernel/columns.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for RecordRows {
    type Args<'a> = RecordRowsArgs<'a>;
    const NAME: &'static str = "record_rows";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for(args.records.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        args.found.check(Self::NAME)?;
        Sizes(Self::NAME).equal("rows = records", args.rows.len(), args.records.len())?;
        Sizes(Self::NAME).equal("counts = 3", args.counts.len(), COLUMN_COUNTS)
    }
}

/// Finds the offset of each record's first match in the list of a path's matches. One thread per record.
pub struct ListOffsets;

/// Arguments of [`ListOffsets`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ListOffsetsArgs<'a> {
    /// The matches of the path, among those of other paths.
    pub found: PathMatches<'a>,
    /// The lines that are records.
    pub records: View<'a, LineIx>,
    /// The offset of each record's list, and at the end the number of matches of the path, if 32 bits can
    /// hold them. Otherwise empty.
    pub narrow: ViewMut<'a, i32>,
    /// The offsets in 64 bits, if 32 bits cannot hold them. Otherwise empty.
    pub wide: ViewMut<'a, i64>,
    /// See [`RecordRowsArgs::counts`].
    pub counts: ViewMut<'a, u64>,
}

// SAFETY: the entry in `gpu/src/kernel/columns.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for ListOffsets {
    type Args<'a> = ListOffsetsArgs<'a>;
    const NAME: &'static str = "list_offsets";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for(args.records.len() + 1)
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.found.check(Self::NAME)?;
        for len in [args.narrow.len(), args.wide.len()] {
            let want = if len == 0 { 0 } else { args.records.len() + 1 };
            sizes.equal("offsets = records + 1", len, want)?;
        }
        sizes.equal("counts = 3", args.counts.len(), COLUMN_COUNTS)
    }
}

/// Some rows, and the kind of column that they become.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Rows<'a> {
    /// See [`LineStatesArgs::text`](super::LineStatesArgs::text).
    pub text: View<'a, u8>,
    /// The rows, among those of other columns.
    pub rows: View<'a, Match>,
    /// The position of the first of these rows.
    pub first: u64,
    /// The kind that the rows become: one of [`Kind`].
    pub kind: u32,
    /// The number of these rows.
    pub len: u32,
}

impl Rows<'_> {
    /// Returns whether the rows become this kind.
    #[inline(always)]
    pub const fn are(&self, kind: Kind) -> bool {
        self.kind == kind as u32
    }

    /// Returns whether the rows become bytes.
    #[inline(always)]
    pub const fn are_bytes(&self) -> bool {
        self.are(Kind::Utf8) || self.are(Kind::Json) || self.are(Kind::Raw)
    }

    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        sizes.at_least(
            "rows ≥ first + their number",
            self.rows.len(),
            self.first as usize + self.len as usize,
        )
    }
}

/// The numbers that are counted of a column: its unfinished rows, its rows without a value, and the bytes of
/// all rows. [`ColumnRead`] counts the first two, and [`ColumnFinish`] writes the last.
pub const COLUMN_COUNTS: usize = 3;

/// Reads the value of every row, or measures it. One thread per row.
pub struct ColumnRead;

/// Arguments of [`ColumnRead`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ColumnReadArgs<'a> {
    /// The rows to read.
    pub rows: Rows<'a>,
    /// One bit per row, set if the row has a value.
    pub validity: ViewMut<'a, u32>,
    /// One bit per row, set if the row is true. Empty unless the rows become bits.
    pub truth: ViewMut<'a, u32>,
    /// The bits of each row's value; or the number of its bytes, with 0 for no value. Empty if the rows
    /// become bits.
    pub values: ViewMut<'a, u64>,
    /// The rows that the kernel does not finish, in any order: numbers that the host rounds, and strings with
    /// escapes, which [`ColumnFinish`] decodes. In place of its line, each has its row number. A string has
    /// its range without the quotes. Room for all rows; empty unless the rows become `f64` or bytes.
    pub unfinished: ViewMut<'a, Match>,
    /// The [`COLUMN_COUNTS`] of the column. Zero before the launch.
    pub counts: ViewMut<'a, u64>,
    /// The statuses of the scan of the lengths, which the kernel sets to zero. Empty unless the rows become
    /// bytes.
    pub status: ViewMut<'a, u32>,
}

// SAFETY: the entry in `gpu/src/kernel/columns.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for ColumnRead {
    type Args<'a> = ColumnReadArgs<'a>;
    const NAME: &'static str = "column_read";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for(args.rows.len as usize)
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let (rows, len) = (&args.rows, args.rows.len as usize);
        let of = |yes: bool, len: usize| if yes { len } else { 0 };
        rows.check(Self::NAME)?;
        sizes.equal("32 × validity words = rows, rounded up", args.validity.len(), len.div_ceil(32))?;
        let bits = of(rows.are(Kind::Boolean), len.div_ceil(32));
        sizes.equal("32 × truth words = rows, rounded up", args.truth.len(), bits)?;
        sizes.equal("values = rows", args.values.len(), of(!rows.are(Kind::Boolean), len))?;
        let leaves = rows.are(Kind::Float64) || rows.are_bytes();
        sizes.equal("unfinished = rows", args.unfinished.len(), of(leaves, len))?;
        sizes.equal("counts = 3", args.counts.len(), COLUMN_COUNTS)?;
        sizes.at_least("threads ≥ statuses", Self::blocks(args) as usize * BLOCK_THREADS, args.status.len())
    }
}

/// The strings with escapes that [`ColumnRead`] listed, in any order.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Escaped<'a> {
    /// The rows, as [`ColumnReadArgs::unfinished`] lists them, with room for all rows of the column.
    pub rows: View<'a, Match>,
    /// The counts of the column.
    pub counts: ViewMut<'a, u64>,
}

/// Copies the bytes of every row as they are in the text. One block per [`GATHER_TILE`] bytes.
pub struct ColumnGather;

/// The most blocks that are launched only to decode strings.
const MOST_STRING_BLOCKS: u32 = 2048;

/// Finishes the bytes of every row. Strings with escapes are decoded, over the bytes that [`ColumnGather`]
/// copied: one warp per string, in turns. Offsets and bounds are narrowed: one thread per row.
pub struct ColumnFinish;

/// Arguments of [`ColumnGather`] and [`ColumnFinish`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ColumnBytesArgs<'a> {
    /// The rows to copy.
    pub rows: Rows<'a>,
    /// The offset of the bytes of each row, and at the end the number of bytes (from
    /// [`CountScan`](super::CountScan)).
    pub offsets: View<'a, u64>,
    /// The bytes, if there is room for all. Otherwise the contents are unspecified, and the offsets state the
    /// room that is needed. 16-byte aligned, whole tiles.
    pub bytes: ViewMut<'a, u8>,
    /// A copy of `offsets` in 32 bits, if they fit. Otherwise empty.
    pub narrow: ViewMut<'a, i32>,
    /// The strings with escapes.
    pub escaped: Escaped<'a>,
    /// Positions of rows: the first row of some ranges, or one past the last.
    pub bounds: View<'a, u64>,
    /// The offsets of the bytes of the rows in `bounds`.
    pub byte_bounds: ViewMut<'a, u64>,
}

impl ColumnBytesArgs<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        let len = self.rows.len as usize;
        self.rows.check(kernel)?;
        sizes.at_least("rows that become bytes ≥ 1", self.rows.are_bytes() as usize * len, 1)?;
        sizes.equal("offsets = rows + 1", self.offsets.len(), len + 1)?;
        sizes.at_least("bytes ≥ a tile", self.bytes.len(), GATHER_TILE)?;
        sizes.equal("bytes = whole tiles", self.bytes.len() % GATHER_TILE, 0)?;
        let narrow = if self.narrow.is_empty() { 0 } else { len + 1 };
        sizes.equal("narrow = rows + 1", self.narrow.len(), narrow)?;
        sizes.equal("escaped = rows", self.escaped.rows.len(), len)?;
        sizes.equal("counts = 3", self.escaped.counts.len(), COLUMN_COUNTS)?;
        sizes.equal("byte bounds = bounds", self.byte_bounds.len(), self.bounds.len())
    }
}

// SAFETY: the entry in `gpu/src/kernel/columns.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for ColumnGather {
    type Args<'a> = ColumnBytesArgs<'a>;
    const NAME: &'static str = "column_gather";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.bytes.len() / GATHER_TILE) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        args.check(Self::NAME)
    }
}

// SAFETY: the entry in `gpu/src/kernel/columns.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for ColumnFinish {
    type Args<'a> = ColumnBytesArgs<'a>;
    const NAME: &'static str = "column_finish";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        // A warp for each string, up to a number of blocks that fills any card.
        let warps = blocks_for(args.rows.len as usize * 32).min(MOST_STRING_BLOCKS);
        blocks_for((args.rows.len as usize + 1).max(args.bounds.len())).max(warps)
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        args.check(Self::NAME)
    }
}
