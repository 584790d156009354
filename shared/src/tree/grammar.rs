//! The rules for which token may follow which (RFC 8259, sections 2 to 5).
//!
//! A text with balanced and matching brackets is JSON if each token may follow the one before it. Only commas
//! have different rules in objects and in arrays.

use super::TreeFaultKind;
use super::token::TokenKind;
use crate::check::FaultKind;

/// The token before another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// The kind of the token; [`TokenKind::Edge`] before the first token.
    pub kind: TokenKind,
    /// True if the token is in an object. Only used for commas.
    pub in_object: bool,
}

/// Returns the fault of a token after another one, or `None`. `nested` says if a container is open between
/// the two.
///
/// The caller checks texts for which [`diagnose`](crate::check::diagnose) returns `None`. The fault of a text
/// is that of its first token with a fault.
#[inline(always)]
pub const fn misplaced(before: Before, this: TokenKind, nested: bool) -> Option<TreeFaultKind> {
    use TokenKind::{Colon, Comma, Edge, Name, OpenArray, OpenObject};
    match before.kind {
        OpenObject if this.closes() => None,
        OpenObject => member(this),
        Comma if before.in_object => member(this),
        OpenArray if this.closes() => None,
        OpenArray | Comma | Colon => value(this),
        // A string is a name because a colon follows it.
        Name => None,
        Edge => match this {
            Edge => None,
            _ => value(this),
        },
        _ => match this {
            Comma | Edge => None,
            _ if this.closes() => None,
            Colon => Some(TreeFaultKind::StrayColon),
            _ if nested => Some(TreeFaultKind::NoComma),
            _ => Some(TreeFaultKind::Record(FaultKind::SecondRoot)),
        },
    }
}

/// Returns the fault of a token at the start of a member, or `None`.
#[inline(always)]
const fn member(this: TokenKind) -> Option<TreeFaultKind> {
    match this {
        TokenKind::Name => None,
        TokenKind::String => Some(TreeFaultKind::NoColon),
        _ => Some(TreeFaultKind::NoName),
    }
}

/// Returns the fault of a token at the start of a value, or `None`.
#[inline(always)]
const fn value(this: TokenKind) -> Option<TreeFaultKind> {
    match this {
        TokenKind::Name => Some(TreeFaultKind::NameAsValue),
        TokenKind::Other => Some(TreeFaultKind::NotAValue),
        _ if this.node().is_some() => None,
        _ => Some(TreeFaultKind::NoValue),
    }
}
