//! All integration tests, in one program: what they share is compiled once, not once for each file.
//!
//! `cargo test -p warpath-tests --test suite NAME::` runs the tests of one file.

mod aggregates;
mod arrow;
mod backends;
mod bad_input;
mod bitmap_build;
mod bitmap_device;
mod bitmap_file;
mod bitmap_query;
mod bitmap_where;
mod bitmaps;
mod columns;
mod common;
mod comparisons;
mod documents;
mod embedding;
mod emulator;
mod fsst_column;
mod fsst_device;
mod fsst_match;
mod gpu;
mod grammar;
mod index_files;
mod loose;
mod nested;
mod oracle;
mod packed;
mod plain;
mod predicates;
mod properties;
mod ptx;
mod regressions;
mod resident;
mod results;
mod rfc9535;
mod snapshots;
mod stages;
mod streams;
mod strict;
mod strict_device;
mod tape;
mod tracing;
mod trees;
mod twigs;
mod xml_device;
