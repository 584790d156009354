//! What an expression says. `Display` writes it in one form, which parses to the same.

use std::fmt::{self, Display, Formatter, Write};

use super::parse::is_bare;
use warpath_core::diagnostic::Span;
use warpath_core::json::encode;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it says.
    pub kind: ExprKind,
    /// Where it stands, without parentheses around it.
    pub span: Span,
}

/// What an expression says.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// All of two or more.
    And(Vec<Expr>),
    /// One of two or more.
    Or(Vec<Expr>),
    /// Those records of which another is not true.
    Not(Box<Expr>),
    /// What a column's value is.
    Test(Test),
}

/// A test of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Which column.
    pub column: ColumnName,
    /// What is asked of it.
    pub kind: TestKind,
}

/// The name of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnName {
    /// The name, without backticks.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// What is asked of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum TestKind {
    /// A comparison of its value, on the left, with a literal.
    Compare(CompareOp, Literal),
    /// `between`, both ends included.
    Between {
        /// Whether it is `not between`.
        not: bool,
        /// The least value.
        least: Literal,
        /// The greatest.
        greatest: Literal,
    },
    /// `in`, one of some.
    In {
        /// Whether it is `not in`.
        not: bool,
        /// The values, of which there is at least one.
        values: Vec<Literal>,
    },
    /// `is`, whether there is a value.
    Is {
        /// Whether it is `is not`.
        not: bool,
        /// What it is.
        state: State,
    },
}

/// An operator of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CompareOp {
    /// How it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }

    /// The same with the operands exchanged.
    #[must_use]
    pub const fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }
}

/// Whether a row has a value, and what else it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// It has one.
    Value,
    /// It has no value: the member is not there.
    Missing,
    /// It has a null.
    Null,
    /// It has a value of another kind than the column's.
    Other,
    /// It has a NaN, in a column of floats.
    NaN,
}

impl State {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [Self::Missing, Self::Null, Self::Other, Self::NaN, Self::Value];

    /// How an expression names it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Null => "null",
            Self::Other => "other",
            Self::NaN => "nan",
            Self::Value => "value",
        }
    }
}

/// A value that is written in an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// The value.
    pub kind: LiteralKind,
    /// Where it stands.
    pub span: Span,
}

/// The value of a literal.
#[derive(Clone, Debug, PartialEq)]
pub enum LiteralKind {
    /// A number of JSON, as it is written: what it is depends on the column.
    Number(Box<str>),
    /// A string, unescaped: a text or an instant.
    Text(Box<str>),
    /// `true` or `false`.
    Bool(bool),
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // How tightly what stands inside has to be bound: an operand of `or`, of `and`, of `not`.
        let operand = |f: &mut Formatter<'_>, of: &Self, tight: u8| {
            let binds = match of.kind {
                ExprKind::Or(_) => 0,
                ExprKind::And(_) => 1,
                ExprKind::Not(_) | ExprKind::Test(_) => 2,
            };
            if binds < tight { write!(f, "({of})") } else { of.fmt(f) }
        };
        let list = |f: &mut Formatter<'_>, of: &[Self], word: &str, tight: u8| {
            for (number, of) in of.iter().enumerate() {
                if number > 0 {
                    write!(f, " {word} ")?;
                }
                operand(f, of, tight)?;
            }
            Ok(())
        };
        match &self.kind {
            ExprKind::Or(of) => list(f, of, "or", 1),
            ExprKind::And(of) => list(f, of, "and", 2),
            ExprKind::Not(of) => {
                f.write_str("not ")?;
                operand(f, of, 2)
            }
            ExprKind::Test(test) => test.fmt(f),
        }
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.column.fmt(f)?;
        let not = |not: &bool| if *not { " not" } else { "" };
        match &self.kind {
            TestKind::Compare(op, value) => write!(f, " {} {value}", op.as_str()),
            TestKind::Between { not: is_not, least, greatest } => {
                write!(f, "{} between {least} and {greatest}", not(is_not))
            }
            TestKind::In { not: is_not, values } => {
                write!(f, "{} in (", not(is_not))?;
                for (number, value) in values.iter().enumerate() {
                    if number > 0 {
                        f.write_str(", ")?;
                    }
                    value.fmt(f)?;
                }
                f.write_char(')')
            }
            TestKind::Is { not: is_not, state } => write!(f, " is{} {}", not(is_not), state.as_str()),
        }
    }
}

impl Display for ColumnName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare(&self.name) {
            f.write_str(&self.name)
        } else {
            write!(f, "`{}`", self.name.replace('`', "``"))
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LiteralKind::Number(text) => f.write_str(text),
            LiteralKind::Bool(value) => value.fmt(f),
            LiteralKind::Text(text) => f.write_str(&encode(text)),
        }
    }
}
