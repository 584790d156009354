//! The kernel that tests whether compressed strings match a pattern ([`crate::fsst::automaton`]).

use super::launch::{Kernel, SizeError, Sizes};
use crate::fsst::automaton::{Automaton, LIVE, MAX_ROWS, ROW};
use crate::view::{View, ViewMut};

/// Strings of a block of [`FsstMatch`], one per thread. Two such blocks fill a multiprocessor of the smallest
/// card, and four fill one of the other cards.
pub const MATCH_STRINGS: usize = 512;

/// Walks the codes of each string through an automaton. One thread per string.
pub struct FsstMatch;

/// Arguments of [`FsstMatch`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstMatchArgs<'a> {
    /// The automaton to run.
    pub automaton: Automaton<'a>,
    /// The codes of all strings, eight per word, the first lowest. The bytes after the last code may have any
    /// value.
    pub codes: View<'a, u64>,
    /// The offset in the codes at which each string begins, and at the end the offset at which the last
    /// string ends. Codes from [`Self::codes_len`] on are not read: a string that reaches that far is
    /// shorter. A string whose end is before its start is empty.
    pub offsets: View<'a, u64>,
    /// One bit per string: bit *i* of word *w* is set if string 64 *w* + *i* matches. The bits after the last
    /// string are 0.
    pub matches: ViewMut<'a, u64>,
    /// The least [`fault_word`](crate::fsst::automaton::fault_word) of all strings and of the value before
    /// the launch, which must be [`NO_FAULT`](crate::fsst::automaton::NO_FAULT). A faulty string does not
    /// match.
    pub fault: ViewMut<'a, u64>,
    /// The number of codes.
    pub codes_len: u64,
}

// SAFETY: the entry in `gpu/src/kernel/fsst_match.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts.
unsafe impl Kernel for FsstMatch {
    type Args<'a> = FsstMatchArgs<'a>;
    const NAME: &'static str = "fsst_match";
    const THREADS: usize = MATCH_STRINGS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.offsets.len() - 1).div_ceil(MATCH_STRINGS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let rows = args.automaton.next.len();
        sizes.at_least("rows ≥ 3", rows, LIVE as usize * ROW)?;
        sizes.at_least("128 ≥ rows", MAX_ROWS * ROW, rows)?;
        sizes.equal("rows = whole rows", rows % ROW, 0)?;
        sizes.at_least("rows > start", rows / ROW, args.automaton.marks.start as usize + 1)?;
        sizes.at_least("offsets ≥ 2", args.offsets.len(), 2)?;
        let strings = args.offsets.len() - 1;
        sizes.at_least("2³¹ > strings", (1 << 31) - 1, strings)?;
        sizes.equal("64 × match words = strings", args.matches.len(), strings.div_ceil(64))?;
        sizes.equal("8 × code words = codes", args.codes.len(), args.codes_len.div_ceil(8) as usize)?;
        sizes.equal("fault = 1", args.fault.len(), 1)
    }
}
