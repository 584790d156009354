//! The container of each token, and the check that brackets balance and match, also made without a stack.
//!
//! The brackets of one level, in the order of the text, open and close alternately. So a stable sort by level
//! puts each token after the opening bracket of its container:
//!
//! ```text
//! text      [  1  ,  {  }  ,  [  2  ]  ]
//! level     0  0  0  1  1  0  1  1  1  0
//! sorted    [  1  ,  ,  ]  {  }  [  2  ]      level 0, then level 1
//! owner     [  [  [  [  [  {  {  [  [  [      a scan: the last bracket that opens
//! ```

use warpath_shared::check::FaultKind;
use warpath_shared::tree::operator::{Balance, Opener};
use warpath_shared::tree::token::TokenKind;
use warpath_shared::tree::{NONE, TokenIx, TreeFault, TreeFaultKind};
use warpath_shared::units::{Depth, MAX_DEPTH};

use super::primitives::{exclusive_scan, inclusive_scan, scatter, stable_ranks};
use super::tokens::Tokens;

/// Computes the number of containers that are open before each token, by an exclusive scan. Returns the
/// number that are open after the last token, and the least number on the way.
pub fn open_before(kinds: &[TokenKind], before: &mut [Depth]) -> Balance {
    let changes = kinds.iter().map(|kind| Balance::of(kind.nesting()));
    let mut all = vec![Balance::default(); kinds.len()];
    let total = exclusive_scan(changes, &mut all);
    for (before, all) in before.iter_mut().zip(all) {
        *before = all.total();
    }
    total
}

/// Finds for each token the opening bracket of its container. A bracket belongs to its own container, any
/// other token to the container around it. A scalar outside all containers gets [`NONE`]. `open` is from
/// [`open_before`]; `owner` is as long as `kinds`.
///
/// Each closing bracket must close an opening one, perhaps of the other kind, and no more than [`MAX_DEPTH`]
/// containers may be open.
///
/// # Panics
/// If the brackets do not meet these conditions.
pub fn owners(kinds: &[TokenKind], open: &[Depth], owner: &mut [TokenIx]) {
    // The level plus one; 0 outside all containers.
    let key = |(kind, open): (&TokenKind, &Depth)| (open + kind.opens() as Depth) as u32;
    let mut places = vec![0; MAX_DEPTH + 1];
    let mut rank = vec![0; kinds.len()];
    stable_ranks(kinds.iter().zip(open).map(key), &mut places, &mut rank);
    let mut sorted = vec![0 as TokenIx; kinds.len()];
    scatter(rank.iter().copied().zip(0..), &mut sorted);
    // Scalars outside all containers come first, so the scan carries nothing to them.
    let opener =
        |token: &TokenIx| if kinds[*token as usize].opens() { Opener(*token) } else { Opener::default() };
    let mut tokens = sorted.iter();
    inclusive_scan(sorted.iter().map(opener), |opener| {
        if let Some(token) = tokens.next() {
            owner[*token as usize] = opener.0;
        }
    });
}

/// Finds the owners of a string of brackets, or its first fault.
///
/// # Errors
/// The fault at which a reader from left to right would stop, with its offset in the text.
pub(super) fn check(tokens: &Tokens) -> Result<Vec<TokenIx>, TreeFault> {
    let kinds = &tokens.kind;
    let fault = |kind, token: usize| {
        Err(TreeFault { kind: TreeFaultKind::Record(kind), at: tokens.start[token] as usize })
    };
    let mut open = vec![0; kinds.len()];
    let balance = open_before(kinds, &mut open);
    // The depth alone shows some faults. Up to the first of these, depths are between 0 and the limit.
    let by_depth = |token: usize| match (kinds[token], open[token]) {
        (kind, 0) if kind.closes() => Some(FaultKind::UnopenedContainer),
        (kind, 0) if kind.opens() && token > 0 => Some(FaultKind::SecondRoot),
        (kind, open) if kind.opens() && open as usize == MAX_DEPTH => Some(FaultKind::TooDeep),
        _ => None,
    };
    let first = (0..kinds.len()).find_map(|token| Some((by_depth(token)?, token)));
    let sound = first.map_or(kinds.len(), |(_, token)| token);
    let mut owner = vec![NONE; kinds.len()];
    owners(&kinds[..sound], &open[..sound], &mut owner[..sound]);
    let mismatched =
        |token: &usize| kinds[*token].closes() && !kinds[*token].matches(kinds[owner[*token] as usize]);
    if let Some(token) = (0..sound).find(mismatched) {
        return fault(FaultKind::MismatchedBracket, token);
    }
    if let Some((kind, token)) = first {
        return fault(kind, token);
    }
    if balance.total() > 0 {
        // The last bracket that is not closed is the innermost.
        let mut closed = vec![false; kinds.len()];
        let closing = (0..kinds.len()).filter(|token| kinds[*token].closes());
        scatter(closing.map(|token| (owner[token], true)), &mut closed);
        if let Some(token) = (0..kinds.len()).rfind(|token| kinds[*token].opens() && !closed[*token]) {
            return fault(FaultKind::UnclosedContainer, token);
        }
    }
    Ok(owner)
}
