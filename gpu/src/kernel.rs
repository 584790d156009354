//! The kernels, one file a stage. Their arguments and launch shapes are in [`warpath_shared::kernel`]. The
//! copy kernel is not part of the product.

pub mod bitmap;
mod columns;
mod copy;
mod faulty;
mod fsst;
mod fsst_match;
mod index;
mod kind;
mod leaf;
mod leaf_first;
mod line;
mod odd;
mod query;
mod results;
pub mod scan;
mod strict;
mod structure;
mod tape;
mod tape_nodes;
mod tree_query;
mod twig;
mod twig_ops;
mod wah;
mod xml;

pub use bitmap::bitmap_range;
pub use columns::{column_finish, column_gather, column_read, list_offsets, record_compact, record_rows};
pub use copy::copy_16;
pub use fsst::{fsst_decode, fsst_decode_strings};
pub use fsst_match::fsst_match;
pub use index::line_index;
pub use kind::kind_check;
pub use leaf::{leaf_distinct, leaf_group, leaf_group_few, leaf_rows};
pub use leaf_first::{leaf_first, leaf_rank_counts, leaf_ranks};
pub use line::{line_scan, line_states};
pub use odd::odd_check;
pub use query::{
    filter_count, filter_fill, query_count, query_count_loose, query_fill, query_slots, query_slots_loose,
};
pub use results::{query_bounds, slot_compact, text_gather};
pub use scan::{count_scan, text_scan};
pub use strict::strict_check;
pub use structure::structure_write;
pub use tape::{tape_lines, tape_minima, tape_pieces, tape_scan, tape_words};
pub use tape_nodes::tape_nodes;
pub use tree_query::{names_count, names_fill, tree_count, tree_fill};
pub use twig::twig_match;
pub use twig_ops::twig_ops;
pub use wah::{bin_words, compress_atoms, compress_starts};
pub use xml::{xml_events, xml_nodes, xml_ops, xml_states};
