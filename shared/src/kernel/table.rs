//! The tables of all kernels.

use super::*;

/// Calls a macro with every kernel of the product, as `module: (Type, function), ...;`. The kernels of a
/// module are loaded together, when the first of them is launched.
#[macro_export]
macro_rules! for_each_kernel {
    ($callback:ident) => {
        $callback! {
            index:
                (LineStates, line_states), (LineScan, line_scan), (StructureWrite, structure_write),
                (LineIndex, line_index), (KindCheck, kind_check), (OddCheck, odd_check);
            slots: (QuerySlots, query_slots), (SlotCompact, slot_compact);
            slots_loose: (QuerySlotsLoose, query_slots_loose);
            counts: (QueryCount, query_count), (QueryBounds, query_bounds);
            counts_loose: (QueryCountLoose, query_count_loose);
            results:
                (CountScan, count_scan), (TextScan, text_scan), (TextGather, text_gather),
                (RecordCompact, record_compact);
            fill: (QueryFill, query_fill);
            filter_count: (FilterCount, filter_count);
            filter_fill: (FilterFill, filter_fill);
            columns:
                (RecordRows, record_rows), (ListOffsets, list_offsets), (ColumnRead, column_read),
                (ColumnGather, column_gather), (ColumnFinish, column_finish);
            tape:
                (TapeWords, tape_words), (TapeScan, tape_scan), (TapeLines, tape_lines),
                (TapeMinima, tape_minima), (TapePieces, tape_pieces), (TapeNodes, tape_nodes);
            strict: (StrictCheck, strict_check);
            tree_count: (TreeCount, tree_count);
            tree_fill: (TreeFill, tree_fill);
            names: (NamesCount, names_count), (NamesFill, names_fill);
            bitmap: (BitmapRange, bitmap_range);
            wah:
                (BinWords, bin_words), (CompressStarts, compress_starts), (CompressAtoms, compress_atoms);
            fsst: (FsstDecode, fsst_decode), (FsstDecodeStrings, fsst_decode_strings);
            fsst_match: (FsstMatch, fsst_match);
            leaf:
                (LeafRows, leaf_rows), (LeafGroup, leaf_group), (LeafGroupFew, leaf_group_few),
                (LeafDistinct, leaf_distinct);
            leaf_first:
                (LeafRanks, leaf_ranks), (LeafRankCounts, leaf_rank_counts), (LeafFirst, leaf_first);
            twig_ops: (TwigOps, twig_ops);
            xml: (XmlStates, xml_states), (XmlEvents, xml_events), (XmlNodes, xml_nodes), (XmlOps, xml_ops);
            twig: (TwigMatch, twig_match);
        }
    };
}

/// Calls a macro with every kernel that only benches launch, in the form of
/// [`for_each_kernel!`](crate::for_each_kernel).
#[macro_export]
macro_rules! for_each_bench_kernel {
    ($callback:ident) => {
        $callback! {
            copy: (Copy16, copy_16);
        }
    };
}

macro_rules! names_and_modules {
    ($($module:ident: $(($kernel:ident, $function:ident)),+;)*) => {
        &[$($(($kernel::NAME, stringify!($module))),+),*]
    };
}

/// The name of every kernel of the product, and the module that contains it.
pub const KERNELS: &[(&str, &str)] = for_each_kernel!(names_and_modules);

/// The name of every kernel that only benches launch, and the module that contains it.
pub const BENCH_KERNELS: &[(&str, &str)] = for_each_bench_kernel!(names_and_modules);
