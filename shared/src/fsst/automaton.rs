//! Whether a compressed string matches a pattern: a deterministic automaton (DFA), read code by code, so that nothing is decoded.
//!
//! A DFA over bytes goes from each of its states by all bytes of a symbol at once: that is one step of a DFA over codes. The host composes
//! the two once for a pattern and a symbol table (`host/src/fsst/automaton.rs`); the CPU and the kernel both walk what it made by the functions
//! here. Each state has a row of 256 states, and a step is one look-up, whatever the code:
//!
//! ```text
//! state                row, by the code
//! 0        NEVER       0 0 0 ⋯ 0                 no string that begins so matches
//! 1        UNKNOWN     1 1 1 ⋯ 1                 a code stands for nothing in the symbol table
//! 2        ALWAYS      2 2 2 ⋯ 2                 each string that begins so matches
//! 3 ⋯                  s s 1 ⋯ p                 live; a string that ends here matches
//! misses ⋯             s s 1 ⋯ p                 live; a string that ends here does not
//! pending ⋯            s s s ⋯ s                 the same states in the same order, an escape further: the row is by the byte
//! ```
//!
//! Code 255 leads from live state 3 + *i* to *pending* + *i*. A code without a symbol leads to [`UNKNOWN`]. The first three states are never left, so a
//! walk may stop there ([`is_decided`]), but need not: **what stands behind the code that decides is not looked at**, and a fault there is not found,
//! by whoever walks and however far. Before it, each fault is.

use crate::view::View;

/// The state from which nothing matches.
pub const NEVER: u8 = 0;
/// The state behind a code that stands for nothing.
pub const UNKNOWN: u8 = 1;
/// The state from which everything matches.
pub const ALWAYS: u8 = 2;
/// The first state that is left again.
pub const LIVE: u8 = 3;
/// States of a row.
pub const ROW: usize = 256;
/// The most rows of an automaton: 32 KiB, so that blocks that keep them in shared memory fill a multiprocessor.
pub const MAX_ROWS: usize = 128;
/// The most live states of an automaton, each of which has two rows.
pub const MAX_LIVE: usize = (MAX_ROWS - LIVE as usize) / 2;

/// Where a walk begins, and what the state says in which it ends. 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Marks {
    /// The state before the first code.
    pub start: u8,
    /// The first live state in which a string does not match.
    pub misses: u8,
    /// The first state behind an escape.
    pub pending: u8,
    /// Zero.
    pub reserved: u8,
}

/// An automaton, as kernels see it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Automaton<'a> {
    /// A row for each state, [`ROW`] bytes each, up to [`MAX_ROWS`]. All bytes are less than the number of rows. 16-byte aligned.
    pub next: View<'a, u8>,
    /// The rest of it.
    pub marks: Marks,
    /// Zero.
    pub reserved: u32,
}

/// What the codes of a string say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The string does not match.
    Miss,
    /// It matches.
    Match,
    /// It is none: a code stands for nothing.
    Unknown,
    /// It is none: its last code is an escape.
    Escape,
}

impl Verdict {
    /// Whether it is a match.
    #[inline(always)]
    pub const fn is_match(self) -> bool {
        matches!(self, Self::Match)
    }
}

/// Where the next state stands among the rows: less than [`ROW`] times the rows.
#[inline(always)]
pub const fn place(state: u8, code: u8) -> u32 {
    (state as u32) << 8 | code as u32
}

/// Whether no code changes the verdict any more: there is no need to read on.
#[inline(always)]
pub const fn is_decided(state: u8) -> bool {
    state < LIVE
}

impl Marks {
    /// What a string says whose walk ends in `state`.
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

/// What [`fault_word`] is if there is no fault.
pub const NO_FAULT: u64 = u64::MAX;

/// A faulty string as a number of which the least is the first string's: its number, less than 2⁶³, and in the lowest bit whether a code is unknown, and not an
/// escape the last. [`NO_FAULT`] for a string that is one.
#[inline(always)]
pub const fn fault_word(string: u64, verdict: Verdict) -> u64 {
    match verdict {
        Verdict::Miss | Verdict::Match => NO_FAULT,
        Verdict::Escape => string << 1,
        Verdict::Unknown => string << 1 | 1,
    }
}

/// The string and the verdict of such a number; `None` if it is [`NO_FAULT`].
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

    /// `ab` and nothing else, by symbol 0 `a`, 1 `b` and 2 `ab`: state 3 is behind it, 4 is the start and 5 is behind `a`; 6, 7 and 8 are those, an escape further.
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
            // Whether one stops where it is decided makes no difference.
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
