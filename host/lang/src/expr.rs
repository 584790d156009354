//! Expressions over the columns of a bitmap index: `followers >= 1000 and lang in ("en", "nl")`.
//!
//! ```text
//! expr    = and *( "or" and )
//! and     = unary *( "and" unary )
//! unary   = "not" unary / "(" expr ")" / test
//! test    = column op literal / literal op column
//!         / column ["not"] "in" "(" literal *( "," literal ) ")"
//!         / column ["not"] "between" literal "and" literal
//!         / column "is" ["not"] ( "missing" / "null" / "other" / "nan" / "value" )
//! op      = "=" / "!=" / "<" / "<=" / ">" / ">="          "==" is "=", and "<>" is "!="
//! column  = word / "`" any characters, a backtick twice "`"
//! literal = a number of JSON / a string in '…' or "…" with the escapes of JSON / "true" / "false"
//! ```
//!
//! A word is letters, digits, `_` and characters outside ASCII; the first is not a digit. Within a word, `.`
//! and `-` may precede another such character. The words of the language ignore case: `and`, `or`, `not`,
//! `in`, `between`, `is`, `true`, `false` and `null`. A column of such a name needs backticks. White space is
//! allowed between all of these, and required between two words.
//!
//! The planner decides the meaning of an expression over an index. Expressions nested deeper than
//! [`MAX_NESTING`] are refused, so that every walk over them needs a bounded stack.

pub mod ast;
mod hint;
pub mod parse;

pub use ast::{ColumnName, CompareOp, Expr, ExprKind, Literal, LiteralKind, State, Test, TestKind};
pub use parse::{MAX_NESTING, parse};
