//! Programs without trees over indexed records.

use super::launch::{Kernel, SizeError, Sizes};
use crate::ir::Program;
use crate::units::{BLOCK_THREADS, LineIx, PartOffset, QUERY_THREADS, TILE_BYTES, WORD_BYTES};
use crate::view::{View, ViewMut};

/// A match in a partition: its line, and the bytes of its value. 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(C)]
pub struct Match {
    /// The line of the match.
    pub line: LineIx,
    /// The first byte of the value.
    pub start: PartOffset,
    /// One past the last byte of the value.
    pub end: PartOffset,
}

/// The bytes of a value in a partition. Empty if there is no value. 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Span {
    /// The first byte.
    pub start: PartOffset,
    /// One past the last byte.
    pub end: PartOffset,
}

/// A partition's text and index, as the query kernels read them.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Indexed<'a> {
    /// See [`super::LineStatesArgs::text`].
    pub text: View<'a, u8>,
    /// See [`super::StructureWriteArgs::string`].
    pub string: View<'a, u64>,
    /// See [`super::StructureWriteArgs::levels`].
    pub levels: View<'a, u64>,
    /// See [`super::StructureWriteArgs::escapes`].
    pub escapes: View<'a, u32>,
    /// The start of each line, and at the end the length of the text.
    pub line_starts: View<'a, PartOffset>,
    /// One bit per line, set for faulty lines: such a line matches nothing.
    pub faulty: View<'a, u32>,
    /// One bit per line, set for loose lines ([`crate::index::loose`]).
    pub loose: View<'a, u32>,
}

impl Indexed<'_> {
    /// The number of lines.
    #[inline(always)]
    pub const fn lines(&self) -> usize {
        self.line_starts.len() - 1
    }

    /// The number of words of one leveled bitmap.
    #[inline(always)]
    pub const fn words(&self) -> usize {
        self.text.len() / WORD_BYTES
    }

    pub(super) fn check(&self, kernel: &'static str, program: &Program<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        sizes.at_least("text ≥ a tile", self.text.len(), TILE_BYTES)?;
        sizes.equal("text = whole tiles", self.text.len() % TILE_BYTES, 0)?;
        sizes.equal("string = a bit a byte", self.string.len(), self.words())?;
        sizes.equal("escapes = a bit a word", 32 * self.escapes.len(), self.words())?;
        sizes.at_least("line starts ≥ 2", self.line_starts.len(), 2)?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * self.faulty.len(), self.lines())?;
        sizes.equal("loose bits = faulty bits", self.loose.len(), self.faulty.len())?;
        sizes.at_least("program ≥ 1 instruction", program.instrs.len(), 1)?;
        sizes.at_least("levels ≥ those read", self.levels.len(), program.levels as usize * self.words())
    }
}

/// Arguments of [`QuerySlots`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct QuerySlotsArgs<'a> {
    /// The records to evaluate.
    pub indexed: Indexed<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// Path by path, one span for each line.
    pub slots: ViewMut<'a, Span>,
}

impl QuerySlotsArgs<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        self.indexed.check(kernel, &self.program)?;
        let slots = self.program.paths as usize * self.indexed.lines();
        Sizes(kernel).equal("slots = paths × lines", self.slots.len(), slots)
    }
}

/// Arguments of [`QueryCount`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct QueryCountArgs<'a> {
    /// The records to evaluate.
    pub indexed: Indexed<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// Path by path, one count for each line. Zero before the launch.
    pub counts: ViewMut<'a, u64>,
    /// The first matches of each path and line, [`KEPT`] to [`MOST_KEPT`] of them, kept for [`QueryFill`].
    /// All first matches come first, laid out as the counts are, then all second matches, and so on. Empty if
    /// only counts are wanted.
    pub kept: ViewMut<'a, Span>,
}

/// The least number of matches that are kept for a path and line while they are counted, of 8 bytes each. If
/// a line has more matches of any path than are kept, the program runs over it again.
pub const KEPT: usize = 2;
/// The largest number of matches that are kept for a path and line. See [`KEPT`].
pub const MOST_KEPT: usize = 16;

/// Returns whether `kept` spans are [`KEPT`] to [`MOST_KEPT`] for each of `counts` counts, all the same
/// number.
pub(super) const fn is_room_to_keep(kept: usize, counts: usize) -> bool {
    kept.is_multiple_of(counts) && kept / counts >= KEPT && kept / counts <= MOST_KEPT
}

impl QueryCountArgs<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        self.indexed.check(kernel, &self.program)?;
        let counts = self.program.paths as usize * self.indexed.lines();
        let sizes = Sizes(kernel);
        sizes.equal("counts = paths × lines", self.counts.len(), counts)?;
        let kept = self.kept.len();
        let fits = kept == 0 || is_room_to_keep(kept, counts);
        sizes.holds("kept = 0 or KEPT to MOST_KEPT × counts", fits, kept, counts)
    }
}

/// Arguments of [`QueryFill`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct QueryFillArgs<'a> {
    /// The records to evaluate.
    pub indexed: Indexed<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// The counts from [`QueryCount`].
    pub counts: View<'a, u64>,
    /// The matches that [`QueryCount`] kept.
    pub kept: View<'a, Span>,
    /// Path by path, the offset of the matches of each line, and at the end the number of matches. The kernel
    /// moves each offset to that of the next line while it writes.
    pub offsets: ViewMut<'a, u64>,
    /// All matches, path by path, in line order.
    pub matches: ViewMut<'a, Match>,
}

impl QueryFillArgs<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        self.indexed.check(kernel, &self.program)?;
        let counts = self.program.paths as usize * self.indexed.lines();
        let sizes = Sizes(kernel);
        sizes.equal("counts = paths × lines", self.counts.len(), counts)?;
        let kept = self.kept.len();
        sizes.holds("kept = KEPT to MOST_KEPT × counts", is_room_to_keep(kept, counts), kept, counts)?;
        sizes.equal("offsets = paths × lines + 1", self.offsets.len(), counts + 1)
    }
}

macro_rules! query {
    ($($(#[$doc:meta])* $kernel:ident, $name:literal, $args:ident, $threads:ident;)*) => {$(
        $(#[$doc])*
        pub struct $kernel;
        // SAFETY: the entry in `gpu/src/kernel/query.rs` takes one `Args` by value. It stays within its views
        // for arguments that `check` accepts.
        unsafe impl Kernel for $kernel {
            type Args<'a> = $args<'a>;
            const NAME: &'static str = $name;
            const THREADS: usize = $threads;
            fn blocks(args: &Self::Args<'_>) -> u32 {
                args.indexed.lines().div_ceil($threads) as u32
            }
            fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
                args.check(Self::NAME)
            }
        }
    )*};
}

query! {
    /// Runs a singular program over plain lines: at most one match per path and line. One thread per line.
    QuerySlots, "query_slots", QuerySlotsArgs, QUERY_THREADS;
    /// Runs a singular program over loose lines: at most one match per path and line. One thread per line.
    QuerySlotsLoose, "query_slots_loose", QuerySlotsArgs, BLOCK_THREADS;
    /// Counts a program's matches in plain lines. One thread per line.
    QueryCount, "query_count", QueryCountArgs, QUERY_THREADS;
    /// Counts a program's matches in loose lines. One thread per line.
    QueryCountLoose, "query_count_loose", QueryCountArgs, BLOCK_THREADS;
    /// Writes the matches that [`QueryCount`] counted: either the kept matches, or those that a second run
    /// finds. One thread per line.
    QueryFill, "query_fill", QueryFillArgs, QUERY_THREADS;
    /// Counts the matches in all lines, as [`QueryCount`] does, of a program with filters that test more than
    /// whether a value equals a literal.
    FilterCount, "filter_count", QueryCountArgs, QUERY_THREADS;
    /// Writes the matches that [`FilterCount`] counted, as [`QueryFill`] does.
    FilterFill, "filter_fill", QueryFillArgs, QUERY_THREADS;
}
