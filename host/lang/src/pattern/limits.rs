//! The limits of patterns, and the error for a pattern beyond them.

/// Groups are nested so deep at most: what compiles an expression goes down into it by calls.
pub(super) const MAX_GROUPS: usize = 250;
/// What the expression of a pattern may take as an NFA, in which repetitions are written out.
pub(super) const EXPRESSION_BYTES: usize = 1 << 20;
/// How many next states there may be, of all states together. They take four bytes each.
pub(super) const MAX_ENTRIES: usize = 1 << 20;
/// How often states of the NFA may be visited. No set has more states than were visited for it, so this bounds the memory, too.
pub(super) const MAX_VISITS: usize = 16 << 20;
/// What a table may take. With some tens of classes of bytes, that is two or three thousand states.
pub(super) const TABLE_BYTES: usize = 256 << 10;

/// A pattern that is too large to be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// Groups in so many groups.
    #[error("groups are nested {_0} deep, more than the {MAX_GROUPS} that a pattern may have")]
    Groups(usize),
    /// The expression, with its repetitions written out.
    #[error("with its repetitions written out, it takes more than the {} KiB that a pattern may have", EXPRESSION_BYTES >> 10)]
    Expression,
    /// The states of the automaton, before those that are the same are one, or the work to find them.
    #[error("its automaton has more states than are found in {} MiB and {} million steps", MAX_ENTRIES >> 18, MAX_VISITS >> 20)]
    States,
    /// The bytes of the table.
    #[error("its automaton takes {} KiB, more than the {} KiB that a pattern may have", _0.div_ceil(1 << 10), TABLE_BYTES >> 10)]
    Table(usize),
}
