//! The kernels of the project, with their arguments and launch shapes.
//!
//! Each kernel takes one `#[repr(C)]` struct by value and runs in a one-dimensional grid of blocks. Its
//! [`Kernel`] implementation states the number of threads of a block, the number of blocks that its arguments
//! need, and the sizes that must agree. The host checks these sizes before every launch, so that no kernel
//! has to check them.
//!
//! The stages that launch the kernels are in `host/device/src/stages.rs`. `docs/kernels.md` has them as a
//! table, with the bytes that they move. [`BENCH_KERNELS`] is a table of its own, because the product does
//! not contain its kernels.

mod bitmap;
mod columns;
mod copy;
mod fsst;
mod fsst_match;
mod index;
mod launch;
mod leaf;
mod line;
mod query;
mod results;
mod scan;
mod strict;
mod table;
mod tape;
mod tree_query;
mod twig;
mod xml;

pub use bitmap::{
    BinWords, BinWordsArgs, BitmapRange, BitmapRangeArgs, COMPRESS_CHUNKS, Columns, CompressAtoms,
    CompressAtomsArgs, CompressStarts, CompressStartsArgs,
};
pub use columns::{
    COLUMN_COUNTS, ColumnBytesArgs, ColumnFinish, ColumnGather, ColumnRead, ColumnReadArgs, Escaped,
    ListOffsets, ListOffsetsArgs, PathMatches, RecordCompact, RecordCompactArgs, RecordRows, RecordRowsArgs,
    Rows,
};
pub use copy::{Copy16, Copy16Args};
pub use fsst::{
    FSST_ESCAPE, FSST_SPLITS, FSST_THREAD_CODES, FSST_THREADS, FSST_UNKNOWN, FsstDecode, FsstDecodeArgs,
    FsstDecodeStrings, block_splits,
};
pub use fsst_match::{FsstMatch, FsstMatchArgs, MATCH_STRINGS};
pub use index::{
    FAULTY_TILE, FaultyLines, KindCheck, KindCheckArgs, LOOSE_TILE, LineIndex, LineIndexArgs, ODD_TILE,
    OddCheck, OddCheckArgs, StructureWrite, StructureWriteArgs, TILE_FLAGS, TileKinds, TileLines, line_words,
    tile_fault_words,
};
pub use launch::{Kernel, SizeError, Sizes};
pub use leaf::{
    LeafDistinct, LeafDistinctArgs, LeafFirst, LeafFirstArgs, LeafGroup, LeafGroupArgs, LeafGroupFew,
    LeafRankCounts, LeafRankCountsArgs, LeafRanks, LeafRanksArgs, LeafRows, LeafRowsArgs, NO_RANK, RANK_BINS,
};
pub use line::{
    ANY_FAULTY, ANY_LOOSE, FAR, LINES, LineScan, LineScanArgs, LineStates, LineStatesArgs,
    MOST_LINES_OF_A_TILE, STATUS_WORDS,
};
pub use query::{
    FilterCount, FilterFill, Indexed, KEPT, MOST_KEPT, Match, QueryCount, QueryCountArgs, QueryCountLoose,
    QueryFill, QueryFillArgs, QuerySlots, QuerySlotsArgs, QuerySlotsLoose, Span,
};
pub use results::{
    COMPACT_ROWS, COMPACT_TILE, GATHER_TILE, QueryBounds, QueryBoundsArgs, SlotCompact, SlotCompactArgs,
    TextGather, TextGatherArgs, bounds_for, compact_tiles,
};
pub use scan::{CountScan, LookBack, ScanArgs, TapeScan, TextScan, scan_tiles};
pub use strict::{StrictCheck, StrictCheckArgs};
pub use table::{BENCH_KERNELS, KERNELS};
pub use tape::{
    LONG_LINES, TAPE_STATUS_WORDS, TapeBrackets, TapeLines, TapeLinesArgs, TapeMinima, TapeMinimaArgs,
    TapeNodes, TapeNodesArgs, TapeOutline, TapePieces, TapePiecesArgs, TapeWords, TapeWordsArgs, tape_groups,
};
pub use tree_query::{
    NAMES_TILE, NamesCount, NamesCountArgs, NamesFill, TreeCount, TreeCountArgs, TreeFill, TreeFillArgs,
    Trees,
};
pub use twig::{TWIG_OPS_THREADS, TWIG_WARPS, TwigGroups, TwigMatch, TwigMatchArgs, TwigOps, TwigOpsArgs};
pub use xml::{
    XML_OPS_THREADS, XmlBatch, XmlEvents, XmlEventsArgs, XmlNodes, XmlNodesArgs, XmlOps, XmlOpsArgs,
    XmlStates, XmlStatesArgs, fitness,
};
