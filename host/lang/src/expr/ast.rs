//! The syntax tree of expressions. `Display` writes the canonical form, which parses to the same tree.

use std::fmt::{self, Display, Formatter, Write};

use warpath_core::diagnostic::Span;
use warpath_core::json::encode;

use super::parse::is_bare;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The form of the expression.
    pub kind: ExprKind,
    /// The expression's span, without parentheses around it.
    pub span: Span,
}

/// The forms of an [`Expr`].
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// True if all of two or more are true.
    And(Vec<Expr>),
    /// True if one of two or more is true.
    Or(Vec<Expr>),
    /// The records for which another expression is not true.
    Not(Box<Expr>),
    /// A test of a column's value.
    Test(Test),
}

/// A test of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The column.
    pub column: ColumnName,
    /// The test.
    pub kind: TestKind,
}

/// The name of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnName {
    /// The name, without backticks.
    pub name: String,
    /// The span of the name.
    pub span: Span,
}

/// The forms of a [`Test`].
#[derive(Clone, Debug, PartialEq)]
pub enum TestKind {
    /// A comparison of its value, on the left, with a literal.
    Compare(CompareOp, Literal),
    /// `between`, both ends included.
    Between {
        /// True for `not between`.
        not: bool,
        /// The least value.
        least: Literal,
        /// The greatest value.
        greatest: Literal,
    },
    /// `in`: equal to one of some values.
    In {
        /// True for `not in`.
        not: bool,
        /// The values, at least one.
        values: Vec<Literal>,
    },
    /// `is`: a test for a value, or for the reason why there is none.
    Is {
        /// True for `is not`.
        not: bool,
        /// The state to test for.
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
    /// Returns the operator's text.
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

    /// Returns the operator for exchanged operands.
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

/// The state of a row: a value, or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// A value.
    Value,
    /// No value: the member is missing.
    Missing,
    /// A null.
    Null,
    /// A value of another kind than the column's.
    Other,
    /// A NaN, in a column of floats.
    NaN,
}

impl State {
    /// All states.
    pub(super) const ALL: [Self; 5] = [Self::Missing, Self::Null, Self::Other, Self::NaN, Self::Value];

    /// Returns the state's name in expressions.
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

/// A literal in an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// The value.
    pub kind: LiteralKind,
    /// The span of the literal.
    pub span: Span,
}

/// The value of a literal.
#[derive(Clone, Debug, PartialEq)]
pub enum LiteralKind {
    /// A JSON number, as written. The column's kind decides the number's kind.
    Number(Box<str>),
    /// A string, unescaped: a text or an instant.
    Text(Box<str>),
    /// `true` or `false`.
    Bool(bool),
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The precedence that an operand needs: of `or`, of `and`, of `not`.
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
