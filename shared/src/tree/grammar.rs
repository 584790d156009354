//! Which token may follow which (RFC 8259, sections 2 to 5).
//!
//! Where brackets are balanced and match, a text is JSON if each token may stand behind the one before it. Only commas are
//! read differently in objects and in arrays.

use super::TreeFaultKind;
use super::token::TokenKind;
use crate::check::FaultKind;

/// Where the token before another one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// What it is; [`TokenKind::Edge`] before the first.
    pub kind: TokenKind,
    /// Whether the container that it stands in is an object. It matters for commas.
    pub in_object: bool,
}

/// What is wrong with a token behind another, if anything is. `nested` says whether a container is open between them.
///
/// To be asked of texts in which [`diagnose`](crate::check::diagnose) finds nothing. What is wrong with a text is the answer
/// for the first token that has one.
#[inline(always)]
pub const fn misplaced(before: Before, this: TokenKind, nested: bool) -> Option<TreeFaultKind> {
    use TokenKind::{Colon, Comma, Edge, Name, OpenArray, OpenObject};
    match before.kind {
        OpenObject if this.closes() => None,
        OpenObject => member(this),
        Comma if before.in_object => member(this),
        OpenArray if this.closes() => None,
        OpenArray | Comma | Colon => value(this),
        // It is a name since a colon is behind it.
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

/// What is wrong with a token where a member should begin.
#[inline(always)]
const fn member(this: TokenKind) -> Option<TreeFaultKind> {
    match this {
        TokenKind::Name => None,
        TokenKind::String => Some(TreeFaultKind::NoColon),
        _ => Some(TreeFaultKind::NoName),
    }
}

/// What is wrong with a token where a value should begin.
#[inline(always)]
const fn value(this: TokenKind) -> Option<TreeFaultKind> {
    match this {
        TokenKind::Name => Some(TreeFaultKind::NameAsValue),
        TokenKind::Other => Some(TreeFaultKind::NotAValue),
        _ if this.node().is_some() => None,
        _ => Some(TreeFaultKind::NoValue),
    }
}
