//! The match of a compressed string against a pattern: a deterministic automaton (DFA) that reads codes, so
//! that nothing is decoded.
//!
//! A DFA over bytes can follow all bytes of a symbol at once: that is one step of a DFA over codes. The host
//! composes the two for a pattern and a symbol table, once (`host/store/src/fsst/automaton.rs`; the DFA over
//! bytes is from `host/lang/src/pattern.rs`). The CPU and the kernel both walk the composed automaton with
//! the functions here. Each state has a row of 256 states, and a step is one look-up, whatever the code:
//!
//! ```text
//! state                row, by the code
//! 0        NEVER       0 0 0 ⋯ 0       no string with this beginning matches
//! 1        UNKNOWN     1 1 1 ⋯ 1       a code has no symbol in the symbol table
//! 2        ALWAYS      2 2 2 ⋯ 2       each string with this beginning matches
//! 3 ⋯                  s s 1 ⋯ p       live; a string that ends here matches
//! misses ⋯             s s 1 ⋯ p       live; a string that ends here does not match
//! pending ⋯            s s s ⋯ s       the live states, in order, after an escape: the row is by the byte
//! ```
//!
//! Code 255 leads from live state 3 + *i* to *pending* + *i*. A code without a symbol leads to [`UNKNOWN`].
//! The first three states are never left, so a walk may stop there ([`is_decided`]), but it need not. **Codes
//! after the one that decides are not checked**: no walk reports a fault there, however far it reads. Each
//! fault before that code is found.

use crate::view::View;

/// The state from which no string matches.
pub const NEVER: u8 = 0;
/// The state after a code without a symbol.
pub const UNKNOWN: u8 = 1;
/// The state from which every string matches.
pub const ALWAYS: u8 = 2;
/// The first state that can be left.
pub const LIVE: u8 = 3;
/// The number of states in a row.
pub const ROW: usize = 256;
/// The greatest number of rows of an automaton: 32 KiB. With this limit, blocks that keep the rows in shared
/// memory fill a multiprocessor.
pub const MAX_ROWS: usize = 128;
/// The greatest number of live states of an automaton. Each live state has two rows.
pub const MAX_LIVE: usize = (MAX_ROWS - LIVE as usize) / 2;

/// The start of a walk, and the meaning of its last state. 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Marks {
    /// The state before the first code.
    pub start: u8,
    /// The first live state in which a string does not match.
    pub misses: u8,
    /// The first state after an escape.
    pub pending: u8,
    /// Zero.
    pub reserved: u8,
}

/// An automaton, as kernels see it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Automaton<'a> {
    /// A row for each state, [`ROW`] bytes each, up to [`MAX_ROWS`]. All bytes are less than the number of
    /// rows. Aligned to 16 bytes.
    pub next: View<'a, u8>,
    /// The start state and the ranges of states.
    pub marks: Marks,
    /// Zero.
    pub reserved: u32,
}

/// The result of a walk over the codes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The string does not match.
    Miss,
    /// The string matches.
    Match,
    /// The codes are not a valid string: a code has no symbol.
    Unknown,
    /// The codes are not a valid string: the last code is an escape.
    Escape,
}

impl Verdict {
    /// Returns true for a match.
    #[inline(always)]
    pub const fn is_match(self) -> bool {
        matches!(self, Self::Match)
    }
}

/// The index of the next state among the rows: less than [`ROW`] times the number of rows.
#[inline(always)]
pub const fn place(state: u8, code: u8) -> u32 {
    (state as u32) << 8 | code as u32
}

/// Returns true if no further code can change the verdict. A walk may then stop.
#[inline(always)]
pub const fn is_decided(state: u8) -> bool {
    state < LIVE
}

impl Marks {
    /// The verdict for a string whose walk ends in `state`.
    #[inline(always)]
    pub const fn verdict(self, state: u8) -> Verdict {
        if state >= ALWAYS && state < self.misses {
            Verdict::Match
        } else if state >= self.pending {
            Verdict::Escape
        } else if state == UNKNOWN {
            Verdict::Unknown
        } else {
            Verdict::Miss
        }
    }
}

/// The value of [`fault_word`] without a fault.
pub const NO_FAULT: u64 = u64::MAX;

/// A faulty string as a number, so that the least number is the first faulty string's. The upper bits are the
/// index of the string, less than 2⁶³. The lowest bit is 1 for an unknown code, and 0 for an escape as the
/// last code. [`NO_FAULT`] for a valid string.
#[inline(always)]
pub const fn fault_word(string: u64, verdict: Verdict) -> u64 {
    match verdict {
        Verdict::Miss | Verdict::Match => NO_FAULT,
        Verdict::Escape => string << 1,
        Verdict::Unknown => string << 1 | 1,
    }
}

/// Returns the string and the verdict of a [`fault_word`], and `None` for [`NO_FAULT`].
#[inline(always)]
pub const fn fault_of(word: u64) -> Option<(u64, Verdict)> {
    match word {
        NO_FAULT => None,
        _ if word & 1 == 0 => Some((word >> 1, Verdict::Escape)),
        _ => Some((word >> 1, Verdict::Unknown)),
    }
}

const _: () = assert!(size_of::<Automaton<'_>>() == 24 && MAX_ROWS.is_multiple_of(2) && MAX_ROWS <= 256);

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    /// The pattern `ab`, by symbol 0 `a`, 1 `b` and 2 `ab`. State 3 is after `ab`, 4 is the start and 5 is
    /// after `a`. States 6, 7 and 8 are the same three after an escape.
    fn rows() -> (Vec<u8>, Marks) {
        let mut rows = vec![vec![NEVER; ROW], vec![UNKNOWN; ROW], vec![ALWAYS; ROW]];
        for codes in [[0, 0, 0, 6], [5, 0, 3, 7], [0, 3, 0, 8]] {
            let mut row = vec![UNKNOWN; ROW];
            row[..3].copy_from_slice(&codes[..3]);
            row[255] = codes[3];
            rows.push(row);
        }
        for (byte, to) in [(0, 0), (b'a', 5), (b'b', 3)] {
            let mut row = vec![NEVER; ROW];
            row[usize::from(byte)] = to;
            rows.push(row);
        }
        (rows.concat(), Marks { start: 4, misses: 4, pending: 6, reserved: 0 })
    }

    #[test]
    fn codes_are_read_one_by_one_and_the_last_state_says_all() {
        let (rows, marks) = rows();
        let walk = |codes: &[u8]| {
            let state = codes.iter().fold(marks.start, |state, code| rows[place(state, *code) as usize]);
            // A walk that stops at a decided state has the same verdict.
            let stopped = codes.iter().fold(marks.start, |state, code| {
                if is_decided(state) { state } else { rows[place(state, *code) as usize] }
            });
            assert_eq!(state, stopped);
            marks.verdict(state)
        };
        for codes in [&[2_u8][..], &[0, 1], &[255, b'a', 1], &[0, 255, b'b'], &[255, b'a', 255, b'b']] {
            assert_eq!(walk(codes), Verdict::Match, "{codes:?}");
        }
        for codes in [&[][..], &[0], &[2, 2], &[1, 0], &[255, b'b'], &[255, 255], &[1, 9], &[2, 0, 255]] {
            assert_eq!(walk(codes), Verdict::Miss, "{codes:?}");
        }
        assert_eq!([walk(&[0, 3]), walk(&[254]), walk(&[2, 77, 255])], [Verdict::Unknown; 3]);
        assert_eq!([walk(&[0, 255]), walk(&[255]), walk(&[2, 255])], [Verdict::Escape; 3]);
    }

    #[test]
    fn the_least_fault_is_the_first_strings() {
        let faults = [Verdict::Unknown, Verdict::Escape];
        let mut before = None;
        for string in [0, 1, 2, 1 << 40] {
            for verdict in faults {
                let word = fault_word(string, verdict);
                assert!(
                    word < NO_FAULT && before.is_none_or(|before| before < word >> 1 || string == before)
                );
                assert_eq!(fault_of(word), Some((string, verdict)));
            }
            before = Some(string);
        }
        assert_eq!(fault_of(fault_word(5, Verdict::Match)), None);
        assert_eq!(fault_of(fault_word(5, Verdict::Miss)), None);
    }

    #[test]
    fn verdicts_are_ranges_of_states() {
        let marks = Marks { start: 3, misses: 3, pending: 3, reserved: 0 };
        let verdicts = [NEVER, UNKNOWN, ALWAYS].map(|state| marks.verdict(state));
        assert_eq!(verdicts, [Verdict::Miss, Verdict::Unknown, Verdict::Match]);
        assert!([NEVER, UNKNOWN, ALWAYS].iter().all(|state| is_decided(*state)) && !is_decided(LIVE));
    }
}
