//! The names of functions.

use warpath_core::diagnostic::DiagnosticKind;

use super::ast::TextFunction;

/// The functions of RFC 9535, sections 2.4.4 to 2.4.8, and Warpath's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Length,
    Count,
    Value,
    Match,
    Search,
    Text(TextFunction, IgnoresCase),
    Cidr,
    Time,
    Now,
}

type IgnoresCase = bool;

impl Function {
    /// All functions, in the order of messages.
    pub(super) const ALL: [Self; 16] = [
        Self::Length,
        Self::Count,
        Self::Value,
        Self::Match,
        Self::Search,
        Self::Text(TextFunction::Contains, false),
        Self::Text(TextFunction::StartsWith, false),
        Self::Text(TextFunction::EndsWith, false),
        Self::Text(TextFunction::Like, false),
        Self::Text(TextFunction::Contains, true),
        Self::Text(TextFunction::StartsWith, true),
        Self::Text(TextFunction::EndsWith, true),
        Self::Text(TextFunction::Like, true),
        Self::Cidr,
        Self::Time,
        Self::Now,
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Count => "count",
            Self::Value => "value",
            Self::Match => "match",
            Self::Search => "search",
            Self::Text(function, ignores_case) => function.name(ignores_case),
            Self::Cidr => "cidr",
            Self::Time => "time",
            Self::Now => "now",
        }
    }

    /// The kind of an error about the function's arguments. RFC 9535 has no rule for Warpath's own functions.
    pub(super) const fn mistake(self) -> DiagnosticKind {
        match self {
            Self::Length | Self::Count | Self::Value | Self::Match | Self::Search => DiagnosticKind::Type,
            Self::Text(..) | Self::Cidr | Self::Time | Self::Now => DiagnosticKind::Argument,
        }
    }
}
