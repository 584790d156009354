//! The functions of RFC 9535 that test a string by a pattern.

use std::fmt::{self, Display, Formatter};

/// The part of the subject that a pattern must cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternKind {
    /// `match`: all of it (RFC 9535, section 2.4.6).
    Match,
    /// `search`: any part of it (section 2.4.7).
    Search,
}

impl PatternKind {
    /// Returns the name of the function.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Search => "search",
        }
    }
}

impl Display for PatternKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
