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
//! A word is letters, digits, `_` and characters beyond ASCII, of which the first is no digit; within one, `.` and `-` may stand before
//! another such character. Words of the language have no case, and are no columns unless they stand in backticks: `and`, `or`, `not`, `in`,
//! `between`, `is`, `true`, `false` and `null`. White space may stand anywhere between these, and must between two words.
//!
//! What an expression means over an index is decided where it is planned. Expressions nested deeper than
//! [`MAX_NESTING`] are refused, so that the stack of every walk over them is bounded.

pub mod ast;
mod hint;
pub mod parse;

pub use ast::{ColumnName, CompareOp, Expr, ExprKind, Literal, LiteralKind, State, Test, TestKind};
pub use parse::{MAX_NESTING, parse};
