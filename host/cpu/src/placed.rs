//! The tokens of a JSON text, each checked against the token before it.
//!
//! The fast checks ([`order`](crate::order), [`tape`](crate::tape), those of devices) decide only whether a
//! line has a fault. This module finds out which.

use std::ops::Range;

use warpath_core::json::Tokens;
use warpath_shared::check::{Fault, FaultKind, diagnose};
use warpath_shared::tree::grammar::{Before, misplaced};
use warpath_shared::tree::token::{TokenKind, kind, named};
use warpath_shared::tree::{TreeFault, TreeFaultKind};
use warpath_shared::units::MAX_PARTITION_BYTES;

/// A token of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    /// The bytes of the token in the text.
    pub range: Range<usize>,
}

/// The tokens of a JSON text in which [`diagnose`] finds no fault. A line feed is white space.
fn tokens(text: &[u8]) -> Vec<Token> {
    let mut found = Tokens::default();
    found.find_here(text);
    let mut tokens: Vec<Token> =
        found.ranges(text).map(|range| Token { kind: kind(&text[range.clone()]), range }).collect();
    for at in 1..tokens.len() {
        tokens[at - 1].kind = named(tokens[at - 1].kind, tokens[at].kind);
    }
    tokens
}

/// The faults of tokens at positions where RFC 8259 does not allow them. Brackets must balance and match.
fn faults(tokens: &[Token]) -> impl Iterator<Item = TreeFault> {
    // For each open container, true for an object.
    let mut open = Vec::new();
    let mut before = Before { kind: TokenKind::Edge, in_object: false };
    tokens.iter().filter_map(move |token| {
        let fault = misplaced(before, token.kind, !open.is_empty());
        if token.kind.opens() {
            open.push(token.kind == TokenKind::OpenObject);
        } else if token.kind.closes() {
            open.pop();
        }
        before = Before { kind: token.kind, in_object: open.last() == Some(&true) };
        Some(TreeFault { kind: fault?, at: token.range.start })
    })
}

/// The tokens of a JSON text, which is a record or a document of several lines. The text is checked as every
/// record is, and each token is at a position where RFC 8259 allows it. The digits of numbers, the contents
/// of strings, and UTF-8 are not checked.
///
/// # Errors
/// The first of the faults that are checked in every record ([`diagnose`]). If there is none, the first of
/// the other faults, or a text of more than [`MAX_PARTITION_BYTES`].
pub(crate) fn checked(text: &[u8]) -> Result<Vec<Token>, TreeFault> {
    check_length(text)?;
    if let Some(fault) = diagnose(text) {
        return Err(TreeFault { kind: TreeFaultKind::Record(fault.kind), at: fault.at });
    }
    let tokens = tokens(text);
    let fault = faults(&tokens).next();
    fault.map_or(Ok(tokens), Err)
}

/// Checks that a text is not longer than a partition.
pub(crate) fn check_length(text: &[u8]) -> Result<(), TreeFault> {
    if text.len() > MAX_PARTITION_BYTES {
        return Err(TreeFault { kind: TreeFaultKind::TooLong, at: MAX_PARTITION_BYTES });
    }
    Ok(())
}

/// The first fault of a line that is to have a tree. This is the first of the faults that are checked in
/// every record ([`diagnose`]). If there is none, it is the first token at a position where RFC 8259 does not
/// allow it. The contents of scalars are not checked. A line of white space has no fault.
#[must_use]
pub fn line_fault(line: &[u8]) -> Option<Fault> {
    if let Some(fault) = diagnose(line) {
        return Some(fault);
    }
    faults(&tokens(line)).find_map(|TreeFault { kind, at }| {
        let kind = match kind {
            TreeFaultKind::Record(kind) => kind,
            TreeFaultKind::NoName | TreeFaultKind::NoValue if is_trailing(line, at) => {
                FaultKind::TrailingComma
            }
            TreeFaultKind::NoName => FaultKind::NoName,
            TreeFaultKind::NoColon => FaultKind::NoColon,
            TreeFaultKind::NoValue | TreeFaultKind::NameAsValue => FaultKind::NoValue,
            TreeFaultKind::StrayColon | TreeFaultKind::NoComma => FaultKind::NoSeparator,
            _ => return None,
        };
        Some(Fault { kind, at })
    })
}

/// Returns whether the token at `at` closes a container after a comma.
fn is_trailing(line: &[u8], at: usize) -> bool {
    let before = line[..at].trim_ascii_end().last();
    matches!(line[at], b'}' | b']') && before == Some(&b',')
}
