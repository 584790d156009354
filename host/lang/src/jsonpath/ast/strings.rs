//! Tests of strings by constants, which are Warpath's own: `contains(…)`, `starts_with(…)`, `ends_with(…)`,
//! `like(…)`, their forms that ignore case, and `cidr(…)`.

use std::fmt::{self, Display, Formatter};

use warpath_core::diagnostic::Span;

use super::{Comparable, Literal};
use crate::addresses::Block;
use crate::like::{LikeError, Pattern};

/// A test of a string by constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringTest {
    /// The string to test; the test is false for any other value.
    pub subject: Comparable,
    /// The test.
    pub kind: StringTestKind,
    /// The whole test.
    pub span: Span,
}

/// The forms of a [`StringTest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StringTestKind {
    /// The string has a text in it, or is like a pattern of SQL.
    Text(TextTest),
    /// `cidr`: the string is an IP address in one of some blocks.
    Cidr {
        /// The blocks as written, at least one.
        literals: Vec<Literal>,
        /// The blocks.
        blocks: Vec<Block>,
    },
}

/// A test of a string for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextTest {
    /// The function.
    pub function: TextFunction,
    /// True for the form whose name begins with `i`.
    pub ignores_case: bool,
    /// The text as written, a string.
    pub literal: Literal,
    /// The strings for which the test is true, if it does not ignore case.
    pub pattern: Pattern,
}

/// The functions that test a string for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextFunction {
    /// The text is anywhere in the string.
    Contains,
    /// The string begins with the text.
    StartsWith,
    /// The string ends with the text.
    EndsWith,
    /// The whole string matches the text as a pattern of SQL, with `\\` as the escape character.
    Like,
}

impl TextFunction {
    /// Returns the name of the function.
    #[must_use]
    pub const fn name(self, ignores_case: bool) -> &'static str {
        match (self, ignores_case) {
            (Self::Contains, false) => "contains",
            (Self::Contains, true) => "icontains",
            (Self::StartsWith, false) => "starts_with",
            (Self::StartsWith, true) => "istarts_with",
            (Self::EndsWith, false) => "ends_with",
            (Self::EndsWith, true) => "iends_with",
            (Self::Like, false) => "like",
            (Self::Like, true) => "ilike",
        }
    }

    /// Returns the pattern of a text.
    ///
    /// # Errors
    /// [`LikeError`] for a text that is not a pattern of `like`.
    pub fn pattern(self, text: &str) -> Result<Pattern, LikeError> {
        let bytes = || text.as_bytes().to_vec();
        Ok(match self {
            Self::Contains => Pattern::Contains(bytes()),
            Self::StartsWith => Pattern::StartsWith(bytes()),
            Self::EndsWith => Pattern::EndsWith(bytes()),
            Self::Like => return Pattern::like(text, Some('\\')),
        })
    }
}

impl TextTest {
    /// Returns the name of the function.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.function.name(self.ignores_case)
    }
}

impl StringTestKind {
    /// Returns the name of the function.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Text(test) => test.name(),
            Self::Cidr { .. } => "cidr",
        }
    }

    /// Returns the arguments after the subject.
    #[must_use]
    pub fn literals(&self) -> &[Literal] {
        match self {
            Self::Text(test) => std::slice::from_ref(&test.literal),
            Self::Cidr { literals, .. } => literals,
        }
    }

    /// Returns the arguments after the subject, to change their spans.
    pub(crate) fn literals_mut(&mut self) -> &mut [Literal] {
        match self {
            Self::Text(test) => std::slice::from_mut(&mut test.literal),
            Self::Cidr { literals, .. } => literals,
        }
    }
}

impl Display for StringTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}", self.kind.name(), self.subject)?;
        self.kind.literals().iter().try_for_each(|literal| write!(f, ", {literal}"))?;
        f.write_str(")")
    }
}
