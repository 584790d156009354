//! Deterministic automata (DFA) that match bytes against a pattern, byte by byte.
//!
//! The host compiles a pattern once (`host/lang/src/pattern.rs`), and every backend runs the automaton by
//! the functions here. All automata of a program are in one array of 16-bit words. Each automaton begins at
//! an offset in it, `at`:
//!
//! ```text
//! word of the automaton
//! 0          classes: how many classes of bytes there are, 1 to 256
//! 1          class of byte 0x00 │ class of byte 0x01 << 8
//! 2          class of byte 0x02 │ class of byte 0x03 << 8      bytes of a class lead from every
//! ⋮                                                            state to the same next state
//! 128        class of byte 0xfe │ class of byte 0xff << 8
//!
//!            next state for each class     may the string end here?
//! 129        0   0   0   ⋯   0             0     state 0: nothing matches any more
//! + row      1   1   1   ⋯   1             1     state 1: whatever follows, it matches
//! + row      s   s   s   ⋯   s             0, 1  state 2: here it starts
//! ⋮                                              up to 65535 more
//!            └──────── row: classes + 1 words ────────┘
//! ```
//!
//! No byte leads out of states 0 and 1, so that a caller may stop there ([`is_final`]), but need not. A
//! string matches if the state after its last byte [`accepts`]. The automaton determines whether it reads
//! UTF-8 or any bytes.

use crate::view::View;

/// The offset of the rows: after the number of classes, and the class of each byte.
pub const ROWS: usize = 1 + 256 / 2;

/// The state from which nothing matches.
pub const NOTHING: u32 = 0;

/// The state from which everything matches.
pub const EVERYTHING: u32 = 1;

/// The state before the first byte, of every automaton.
pub const START: u32 = 2;

/// The state before the first byte.
#[inline(always)]
pub fn start() -> u32 {
    START
}

/// The state after `byte`, of the automaton at `at`.
#[inline(always)]
pub fn next(automata: View<'_, u16>, at: u32, state: u32, byte: u8) -> u32 {
    let pair = automata.get(at as usize + 1 + byte as usize / 2);
    let class = pair >> (8 * (byte & 1)) & 0xff;
    automata.get(row(automata, at, state) + class as usize) as u32
}

/// Returns whether a string that ends in `state` matches the automaton at `at`.
#[inline(always)]
pub fn accepts(automata: View<'_, u16>, at: u32, state: u32) -> bool {
    automata.get(row(automata, at, state) + automata.get(at as usize) as usize) != 0
}

/// Returns whether no byte changes the result any more, so that the caller may stop.
#[inline(always)]
pub const fn is_final(state: u32) -> bool {
    state < START
}

/// The offset of the row of `state`.
#[inline(always)]
fn row(automata: View<'_, u16>, at: u32, state: u32) -> usize {
    at as usize + ROWS + state as usize * (automata.get(at as usize) as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// An automaton by the rows of its states, from the start state on. Each of `bytes` has a class of its
    /// own, in their order, and all other bytes share the last class.
    fn automaton(bytes: &[u8], rows: &[&[u16]]) -> Vec<u16> {
        let classes = bytes.len() as u16 + 1;
        let class = |byte: u8| bytes.iter().position(|of| *of == byte).unwrap_or(bytes.len()) as u16;
        let mut words = Vec::from([classes]);
        words.extend((0..=127).map(|pair| class(2 * pair) | class(2 * pair + 1) << 8));
        words.extend((0..=classes).map(|_| 0));
        words.extend((0..=classes).map(|_| 1));
        rows.iter().for_each(|row| words.extend(*row));
        words
    }

    fn run(automata: &[u16], at: u32, text: &[u8]) -> (u32, bool) {
        let automata = View::from_slice(automata);
        let state = text.iter().fold(start(), |state, byte| next(automata, at, state, *byte));
        (state, accepts(automata, at, state))
    }

    #[test]
    fn strings_are_read_byte_by_byte_each_by_the_automaton_asked_for() {
        // The first is `(ab)*` over all of a string. The second, after it in the same array, finds an `x` or
        // the byte 0xff.
        let mut automata = automaton(b"ab", &[&[3, 0, 0, 1], &[0, 2, 0, 0]]);
        let second = automata.len() as u32;
        automata.extend(automaton(b"x\xff", &[&[1, 1, 2, 0]]));

        for (text, state, accepted) in
            [("", 2, true), ("ab", 2, true), ("aba", 3, false), ("aa", 0, false), ("abxab", 0, false)]
        {
            assert_eq!(run(&automata, 0, text.as_bytes()), (state, accepted), "{text:?}");
        }
        for (text, state, accepted) in
            [(&b""[..], 2, false), (b"ab\0\xfe", 2, false), (b"abxab", 1, true), (b"\xffa", 1, true)]
        {
            assert_eq!(run(&automata, second, text), (state, accepted), "{text:?}");
        }
    }

    #[test]
    fn every_byte_has_a_class_of_its_own_if_need_be() {
        // The string is the bytes 0, 1, 2, and so on up to 255, repeated any number of times. It may end
        // anywhere.
        let bytes: Vec<u8> = (0..255).collect();
        let rows: Vec<Vec<u16>> = (0..256)
            .map(|state| {
                let mut row = Vec::from([0; 257]);
                row[state] = if state == 255 { 2 } else { state as u16 + 3 };
                row[256] = 1;
                row
            })
            .collect();
        let rows: Vec<&[u16]> = rows.iter().map(Vec::as_slice).collect();
        let automata = automaton(&bytes, &rows);
        let text: Vec<u8> = (0..=255).chain(0..=255).chain(0..7).collect();
        assert_eq!(run(&automata, 0, &text), (9, true));
        assert_eq!(run(&automata, 0, &text[..256]), (2, true));
        assert_eq!(run(&automata, 0, &text[1..]), (0, false));
    }

    #[test]
    fn two_states_are_final() {
        assert!(is_final(NOTHING) && is_final(EVERYTHING) && !is_final(start()) && !is_final(65535));
    }
}
