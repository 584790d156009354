//! The kernels that make typed columns, in Arrow's layout, and text of strings as they say.
//!
//! A column has *rows*: the matches of one path, or, for a singular path, one for each record, empty where it has no
//! match. Rows become 8-byte values and bits, or lengths, which are scanned into offsets, and bytes.

use super::{COMPACT_TILE, GATHER_TILE, Indexed, Kernel, LookBack, Match, SizeError, Sizes, blocks_for};
use crate::column::Kind;
use crate::units::LineIx;
use crate::view::{View, ViewMut};

/// Lists the lines that are records without a fault. A block for every [`COMPACT_TILE`] lines.
pub struct RecordCompact;

/// Arguments of [`RecordCompact`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RecordCompactArgs<'a> {
    /// The partition.
    pub indexed: Indexed<'a>,
    /// Room for as many as there are lines.
    pub records: ViewMut<'a, LineIx>,
    /// One element: how many there are.
    pub count: ViewMut<'a, u64>,
    /// Scratch, for as many tiles as a compaction of the lines has.
    pub look_back: LookBack<'a, u64>,
}

// SAFETY: `gpu/src/kernel/columns.rs` defines the entry so.
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

/// Makes the rows of a path that has one match a record at most: a thread a record.
pub struct RecordRows;

/// Arguments of [`RecordRows`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RecordRowsArgs<'a> {
    /// The path's matches, among others.
    pub found: PathMatches<'a>,
    /// The lines that are records.
    pub records: View<'a, LineIx>,
    /// A row each: the record's match, or an empty one.
    pub rows: ViewMut<'a, Match>,
}

/// The matches of one path, among those of others.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PathMatches<'a> {
    /// The matches of all paths.
    pub matches: View<'a, Match>,
    /// The path's begin here.
    pub first: u64,
    /// And end here.
    pub end: u64,
}

impl PathMatches<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        sizes.at_least("matches ≥ end", self.matches.len(), self.end as usize)?;
        sizes.at_least("end ≥ first", self.end as usize, self.first as usize)
    }
}

// SAFETY: `gpu/src/kernel/columns.rs` defines the entry so.
unsafe impl Kernel for RecordRows {
    type Args<'a> = RecordRowsArgs<'a>;
    const NAME: &'static str = "record_rows";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for(args.records.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        args.found.check(Self::NAME)?;
        Sizes(Self::NAME).equal("rows = records", args.rows.len(), args.records.len())
    }
}

/// Finds where each record's matches begin in the list of a path's. A thread a record.
pub struct ListOffsets;

/// Arguments of [`ListOffsets`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ListOffsetsArgs<'a> {
    /// The path's matches, among others.
    pub found: PathMatches<'a>,
    /// The lines that are records.
    pub records: View<'a, LineIx>,
    /// A list each begins here, and at the end how many matches the path has; if they fit. Or empty.
    pub narrow: ViewMut<'a, i32>,
    /// The same in 64 bits, if they do not. Or empty.
    pub wide: ViewMut<'a, i64>,
}

// SAFETY: `gpu/src/kernel/columns.rs` defines the entry so.
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
        Ok(())
    }
}

/// Some rows, and what they become.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Rows<'a> {
    /// As for [`LineStatesArgs::text`](super::LineStatesArgs::text).
    pub text: View<'a, u8>,
    /// The rows, among others.
    pub rows: View<'a, Match>,
    /// They begin here.
    pub first: u64,
    /// What they become: one of [`Kind`].
    pub kind: u32,
    /// How many there are.
    pub len: u32,
}

impl Rows<'_> {
    /// Whether they become this.
    #[inline(always)]
    pub const fn are(&self, kind: Kind) -> bool {
        self.kind == kind as u32
    }

    /// Whether they become bytes.
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

/// Reads the value of every row, or measures it. A thread a row.
pub struct ColumnRead;

/// Arguments of [`ColumnRead`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ColumnReadArgs<'a> {
    /// What to read.
    pub rows: Rows<'a>,
    /// A bit a row: whether it holds a value.
    pub validity: ViewMut<'a, u32>,
    /// A bit a row: whether it is true. Empty unless the rows become bits.
    pub truth: ViewMut<'a, u32>,
    /// For each row the value's bits, or the number of its bytes, 0 for none. Empty if the rows become bits.
    pub values: ViewMut<'a, u64>,
    /// In any order, the rows whose numbers are not finished, each with the number of the row for its line: room for all.
    /// Empty unless the rows become `f64`.
    pub unfinished: ViewMut<'a, Match>,
    /// One element: how many those are. Zero before the launch.
    pub unfinished_count: ViewMut<'a, u32>,
}

// SAFETY: `gpu/src/kernel/columns.rs` defines the entry so.
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
        sizes.equal("unfinished = rows", args.unfinished.len(), of(rows.are(Kind::Float64), len))?;
        sizes.equal("unfinished count = 1", args.unfinished_count.len(), 1)
    }
}

/// Copies the bytes of every row, as they are in the text. A block for every [`GATHER_TILE`] bytes.
pub struct ColumnGather;

/// Finishes the bytes of every row: writes what strings with escapes say over what [`ColumnGather`] has copied, and narrows
/// offsets and bounds. A thread a row.
pub struct ColumnFinish;

/// Arguments of [`ColumnGather`] and [`ColumnFinish`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ColumnBytesArgs<'a> {
    /// What to copy.
    pub rows: Rows<'a>,
    /// Where the bytes of each row go, and at the end how many there are (from [`CountScan`](super::CountScan)).
    pub offsets: View<'a, u64>,
    /// The bytes, if there is room for all; else nothing that is of use, and the offsets say how much room it takes. 16-byte
    /// aligned, whole tiles.
    pub bytes: ViewMut<'a, u8>,
    /// The same offsets, if they fit; or empty.
    pub narrow: ViewMut<'a, i32>,
    /// Some rows, or ends of rows.
    pub bounds: View<'a, u64>,
    /// Where their bytes begin.
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
        sizes.equal("byte bounds = bounds", self.byte_bounds.len(), self.bounds.len())
    }
}

// SAFETY: `gpu/src/kernel/columns.rs` defines the entry so.
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

// SAFETY: `gpu/src/kernel/columns.rs` defines the entry so.
unsafe impl Kernel for ColumnFinish {
    type Args<'a> = ColumnBytesArgs<'a>;
    const NAME: &'static str = "column_finish";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for((args.rows.len as usize + 1).max(args.bounds.len()))
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        args.check(Self::NAME)
    }
}
