//! The JSONPath front end: query text to syntax tree, for all of [RFC 9535].
//!
//! ```text
//! query text ──lexer──► tokens ──parse──► Query (ast) ──► lowering, explain, Display
//!                          └────────────► Diagnostic, with the span of the mistake
//! ```
//!
//! The parser accepts the queries that RFC 9535 calls well-formed and valid, and no others. The syntax is the
//! grammar of appendix A, with the singular queries of section 2.3.5.1. Integers are within the range of
//! section 2.1, and function calls are well-typed by section 2.4.3.
//!
//! A query may still be too large. The stage that compiles the tree then refuses it with
//! [`Diagnostic::too_large`](warpath_core::diagnostic::Diagnostic::too_large) and the span of the part.
//!
//! Time and memory are linear in the length of the query, and the stack is bounded. Expressions nested deeper
//! than [`MAX_DEPTH`] are refused with
//! [`DiagnosticKind::TooDeep`](warpath_core::diagnostic::DiagnosticKind::TooDeep).
//!
//! [RFC 9535]: https://www.rfc-editor.org/rfc/rfc9535

pub mod ast;
mod function;
mod hint;
pub mod lexer;
mod parse;
pub mod visit;
pub mod words;

pub use ast::{
    ColumnName, Comparable, ComparableKind, Comparison, ComparisonOp, FilterQuery, FunctionCall,
    FunctionKind, Literal, LiteralKind, LogicalExpr, LogicalExprKind, Now, PatternKind, PatternTest, Query,
    QueryRoot, Segment, SegmentKind, Selector, SelectorKind, SingularQuery, SingularStep, SingularStepKind,
    State, StringTest, StringTestKind, TextFunction, TextTest, TimeCall, TimeFormat, ValueTest,
    ValueTestKind,
};
pub use lexer::MAX_INT;
pub use parse::predicate::{parse_predicate, parse_value_predicate};
pub use parse::{MAX_DEPTH, parse};
