//! The kernels of the project, with their arguments and launch shapes.
//!
//! Each kernel takes one `#[repr(C)]` struct by value and runs in a one-dimensional grid of blocks. Its
//! [`Kernel`] implementation states the number of threads of a block, the number of blocks that its arguments
//! need, and the sizes that must agree. The host checks these sizes before every launch, so that no kernel
//! has to check them.
//!
//! The stages of one partition, in order:
//!
//! | kernel | reads | writes |
//! |---|---|---|
//! | [`LineStates`] | text | the state at the start of each tile whose line begins near the tile |
//! | [`LineScan`] | the states of [`LineStates`] | the states of the other tiles |
//! | [`StructureWrite`] | text, states | bitmaps; each tile's newlines, faulty lines and bracket kinds |
//! | [`LineIndex`] | the tiles' newlines | the newline index |
//! | [`KindCheck`] | the tiles' kinds | lines whose brackets do not match across tiles |
//! | [`QuerySlots`], [`QuerySlotsLoose`] | text, index | one span per path and line (singular programs) |
//! | [`SlotCompact`] | spans | dense lists of matches, path by path, and their bounds |
//! | [`QueryCount`], [`QueryCountLoose`], [`CountScan`], [`QueryBounds`], [`QueryFill`] | text, index | every match: first counted, then written |
//! | [`TextScan`], [`TextGather`] | text, matches | the text of the matches, one line each |
//! | [`RecordCompact`], [`RecordRows`], [`ListOffsets`] | index, matches | the rows of columns |
//! | [`ColumnRead`], [`CountScan`], [`ColumnGather`], [`ColumnFinish`] | text, rows | columns in Arrow's layout |
//! | [`TapeWords`], [`TapeScan`] | text, string bitmap | the tokens of each word, and the sums before each stretch |
//! | [`TapeLines`] | words and sums of the tape, newline index | matching brackets of lines that are not long; more faulty lines |
//! | [`TapeMinima`], [`TapePieces`] | words and sums of the tape, newline index | matching brackets of long lines; more faulty lines |
//! | [`TapeNodes`] | words, sums and brackets of the tape, newline index | trees; more faulty lines |
//! | [`StrictCheck`] | text, string bitmap, newline index | lines whose strings and scalars are not strictly JSON |
//! | [`TreeCount`], [`CountScan`], [`TreeFill`] | text, trees, program | every match: first counted, then written |
//! | [`NamesCount`], [`CountScan`], [`NamesFill`] | text, trees, names | every match of paths `$..name`: first counted, then written |
//! | [`BitmapRange`] | compressed bitmaps, program | the chunks of results, and their numbers of rows |
//! | [`BinWords`] | the bin of each row | the chunks of bins |
//! | [`CompressStarts`], [`CompressAtoms`] | chunks of bitmaps | compressed bitmaps |
//! | [`FsstDecode`], [`FsstDecodeStrings`] | codes of strings, splits | the strings, and the offset of each |
//! | [`FsstMatch`] | codes of strings, an automaton | the strings that match |
//! | [`TwigOps`] | text, trees, names and values of twigs | records as operations |
//! | [`XmlStates`], [`XmlEvents`] | text of XML | the starts and ends of tags, quotes and comments |
//! | [`XmlNodes`], [`XmlOps`] | text of XML, its events, names and values of twigs | documents of XML as operations |
//! | [`TwigMatch`] | documents as operations, twigs as bits | the twigs that match |
//!
//! The kernels of rivals have a table of their own, [`RIVALS`]. The product does not contain them.

mod bitmap;
mod columns;
mod fsst;
mod fsst_match;
mod index;
mod launch;
mod line;
mod query;
mod results;
mod rivals;
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
    ColumnBytesArgs, ColumnFinish, ColumnGather, ColumnRead, ColumnReadArgs, ListOffsets, ListOffsetsArgs,
    PathMatches, RecordCompact, RecordCompactArgs, RecordRows, RecordRowsArgs, Rows,
};
pub use fsst::{
    FSST_ESCAPE, FSST_SPLITS, FSST_THREAD_CODES, FSST_THREADS, FSST_UNKNOWN, FsstDecode, FsstDecodeArgs,
    FsstDecodeStrings, block_splits,
};
pub use fsst_match::{FsstMatch, FsstMatchArgs, MATCH_STRINGS};
pub use index::{
    FAULTY_TILE, FaultyLines, KindCheck, KindCheckArgs, LOOSE_TILE, LineIndex, LineIndexArgs, StructureWrite,
    StructureWriteArgs, TileKinds, TileLines, line_words, tile_fault_words,
};
pub use launch::{Kernel, SizeError};
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
pub use rivals::{
    COA_WORDS, CoaLevel, CoaLevelArgs, Copy16, Copy16Args, DecompressScan, DecompressScanArgs,
    DecompressTiles, DecompressTilesArgs, DecompressWords, DecompressWordsArgs, EXPAND_WORDS, FsstBuffered,
    FsstBytes, FsstLadderArgs, FsstLengths, FsstLengthsArgs, FsstShared, FsstWords, HybridTiles,
    HybridTilesArgs, MAX_THREADS, SCAN_ATOMS, TwigSeed, TwigSeedArgs,
};
pub use scan::{CountScan, LookBack, ScanArgs, TapeScan, TextScan, scan_tiles};
pub use strict::{StrictCheck, StrictCheckArgs};
pub use table::{KERNELS, RIVALS};
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
