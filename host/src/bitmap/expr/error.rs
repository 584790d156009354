//! What can be wrong with an expression, and where.

use crate::jsonpath::error::{column, picture};
use crate::jsonpath::{PathError, PathErrorKind, Span};

/// Why an expression was refused.
///
/// `Display` gives the message alone; [`ExprError::render`] shows the place too.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// What sort of mistake it is.
    pub kind: ExprErrorKind,
    /// The part of the expression that is wrong.
    pub span: Span,
    /// What was expected and what was found, on one line, starting in lower case.
    pub message: String,
    /// How to mend it, where that can be guessed.
    pub help: Option<String>,
}

/// The sorts of mistakes in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExprErrorKind {
    /// The expression ended where more was needed. The span is the place after its last character.
    UnexpectedEnd,
    /// Something other than what the grammar allows at this place. The span is what was found.
    UnexpectedToken,
    /// A string, or a name in backticks, that is not closed. The span is the opening quote.
    UnclosedString,
    /// An escape that strings do not have. The span is the escape.
    InvalidEscape,
    /// A control character (U+0000 to U+001F) inside a string. The span is the character.
    ControlCharacter,
    /// A number that is not written as JSON writes numbers. The span is the number.
    InvalidNumber,
    /// Nesting beyond [`MAX_NESTING`](super::MAX_NESTING). The span is the parenthesis or `not` that is one too many.
    TooDeep,
    /// A name that no column of the index has. The span is the name.
    UnknownColumn,
    /// A literal that is no value of its column's kind. The span is the literal.
    WrongKind,
    /// An expression that needs more tiles at once than a program may push
    /// ([`MAX_STACK`](warpath_shared::bitmap::MAX_STACK)). The span is all of it.
    TooLarge,
}

impl ExprError {
    pub(in crate::bitmap) fn new(kind: ExprErrorKind, span: Span, message: impl Into<String>) -> Self {
        Self { kind, span, message: message.into(), help: None }
    }

    pub(in crate::bitmap) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The column of the mistake in its line of `expression`, counted from 1, in Unicode scalar values. One past the last column if
    /// something is missing at the end.
    #[must_use]
    pub fn column(&self, expression: &str) -> usize {
        column(expression, self.span.start)
    }

    /// The error with the offending line of `expression`, a caret under each character of the span, and the help: as
    /// [`PathError::render`]. An `expression` other than the one that the error came from gives a picture without meaning, but no panic.
    #[must_use]
    pub fn render(&self, expression: &str) -> String {
        picture(expression, self.span, &self.message, self.help.as_deref())
    }
}

/// Strings and numbers are those of paths, and so are their mistakes.
impl From<PathError> for ExprError {
    fn from(error: PathError) -> Self {
        let kind = match error.kind {
            PathErrorKind::UnclosedString => ExprErrorKind::UnclosedString,
            PathErrorKind::InvalidEscape => ExprErrorKind::InvalidEscape,
            PathErrorKind::ControlCharacter => ExprErrorKind::ControlCharacter,
            PathErrorKind::InvalidNumber => ExprErrorKind::InvalidNumber,
            _ => ExprErrorKind::UnexpectedToken,
        };
        // What is read there is called a query.
        let message = error.message.replace("the end of the query", "the end of the expression");
        Self { kind, span: error.span, message, help: error.help }
    }
}
