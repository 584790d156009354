//! The kernel that asks compressed strings whether they match ([`crate::fsst::automaton`]).

use super::{Kernel, SizeError, Sizes};
use crate::fsst::automaton::{Automaton, LIVE, MAX_ROWS, ROW};
use crate::view::{View, ViewMut};

/// Strings of a block of [`FsstMatch`], one a thread. Two such blocks fill a multiprocessor of the smallest card, four the others.
pub const MATCH_STRINGS: usize = 512;

/// Walks the codes of each string through an automaton. A thread a string.
pub struct FsstMatch;

/// Arguments of [`FsstMatch`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstMatchArgs<'a> {
    /// What is asked.
    pub automaton: Automaton<'a>,
    /// The codes of all strings, eight a word, the first lowest; behind the last, anything.
    pub codes: View<'a, u64>,
    /// Where each string begins in the codes; and where the last one ends. What of it is behind [`Self::codes_len`], or before what is before it, is not read: the
    /// string is shorter then.
    pub offsets: View<'a, u64>,
    /// Bit *i* of word *w*: whether string 64 *w* + *i* matches. Bits behind the last string are 0.
    pub matches: ViewMut<'a, u64>,
    /// The least [`fault_word`](crate::fsst::automaton::fault_word) of all strings and of what was here:
    /// [`NO_FAULT`](crate::fsst::automaton::NO_FAULT) before the launch. A faulty string does not match.
    pub fault: ViewMut<'a, u64>,
    /// How many codes there are.
    pub codes_len: u64,
}

// SAFETY: `gpu/src/kernel/fsst_match.rs` defines the entry so.
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
