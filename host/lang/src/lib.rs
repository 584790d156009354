//! The languages of Warpath: text to syntax tree to program. This crate reads no files and knows no backends.
//!
//! | module | contents |
//! |---|---|
//! | [`jsonpath`] | JSONPath (RFC 9535): lexer, parser, syntax tree, hints for mistakes |
//! | [`program`] | queries compiled to the IR of [`warpath_shared::ir`] |
//! | [`pattern`] | I-Regexp (RFC 9485) compiled to automata |
//! | [`cache`] | data that a backend makes of a query once, and keeps with the query |
//! | [`elements`] | programs split at the array that all their paths go through |
//! | [`column_type`] | the types of columns for the values that paths select |
//! | [`predicate`] | conditions on a record, over its paths and over columns of an index |
//! | [`instants`] | comparisons of instants, as ranges of nanoseconds |
//! | [`addresses`] | blocks of IP addresses |
//! | [`host_tests`] | tests of texts that only the host makes, by numbers in a program |
//! | [`like`] | `LIKE` and simpler patterns of strings |
//! | [`twig`] | twigs: subscriptions written as XPath or JSONPath |

pub mod addresses;
pub mod cache;
pub mod column_type;
pub mod elements;
pub mod host_tests;
pub mod instants;
pub mod jsonpath;
pub mod like;
pub mod pattern;
pub mod predicate;
pub mod program;
pub mod twig;
