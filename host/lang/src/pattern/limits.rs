//! The limits of patterns, and the error for a pattern beyond them.

/// The maximum nesting of groups: the compiler of expressions is recursive.
pub(super) const MAX_GROUPS: usize = 250;
/// The maximum size in bytes of a pattern's NFA, in which repetitions are expanded.
pub(super) const EXPRESSION_BYTES: usize = 1 << 20;
/// The maximum number of transitions of all states together. Each takes four bytes.
pub(super) const MAX_ENTRIES: usize = 1 << 20;
/// The maximum number of visits to states of the NFA. No set has more states than visits, so this bounds the
/// memory too.
pub(super) const MAX_VISITS: usize = 16 << 20;
/// The maximum size in bytes of a table. With some tens of classes of bytes, that is two or three thousand
/// states.
pub(super) const TABLE_BYTES: usize = 256 << 10;

/// A pattern that is too large to be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// Groups are nested too deep.
    #[error("groups are nested {_0} deep, more than the {MAX_GROUPS} that a pattern may have")]
    Groups(usize),
    /// The expression is too large with its repetitions expanded.
    #[error("its expression, with repetitions written out, takes more than the {} KiB that a pattern may have", EXPRESSION_BYTES >> 10)]
    Expression,
    /// The automaton has too many states before equivalent states are merged, or finding them is too much
    /// work.
    #[error("its automaton has more states than are found in {} MiB and {} million steps", MAX_ENTRIES >> 18, MAX_VISITS >> 20)]
    States,
    /// The table has too many bytes.
    #[error("its automaton takes {} KiB, more than the {} KiB that a pattern may have", _0.div_ceil(1 << 10), TABLE_BYTES >> 10)]
    Table(usize),
}
