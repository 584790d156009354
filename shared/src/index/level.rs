//! Which container each structural byte belongs to, and whether bracket kinds match.
//!
//! # Kinds by the last writer
//!
//! A bracket that closes at depth *d* matches the last bracket that opened at depth *d*, as long as the
//! depth never falls below zero. So whether kinds match needs no stack: one bit a level, written by
//! each opening bracket and read by each closing one. "Last writer wins" is a monoid ([`KindWrites`]),
//! so the bits at any point of the text come from a scan. Nothing has to be reset at a newline: within
//! a line, depth *d* is closed only after it was opened on that line, or the line is faulty already.
//!
//! ```text
//! text     { [ ] , [ { ] }
//! depth    0 1 1   1 2 2 1      the ] at depth 2 finds { written there: a fault
//! ```
//!
//! One word holds 63 levels. Bit 63 says that the line's root container has closed, so that a second
//! root on the line is found as well. A line nested deeper than 63 is *suspected* by
//! the kernels, which cannot see its kinds, and judged by [`crate::check::diagnose`].

use super::Monoid;
use crate::units::{Depth, Level};

/// Containers at this depth or deeper have their kinds judged by [`crate::check::diagnose`] alone.
pub const MAX_TRACKED_DEPTH: Depth = 63;

/// Bit 63: the line's root container has closed.
const ROOT_CLOSED: u64 = 1 << 63;

/// The kinds that a stretch of text wrote, by level, last writer wins. A [`Monoid`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct KindWrites {
    /// The levels written.
    pub mask: u64,
    /// What was written last, where `mask` has a bit; zero elsewhere. 1 is a brace.
    pub value: u64,
}

const _: () = assert!(size_of::<KindWrites>() == 16);

impl KindWrites {
    #[inline(always)]
    fn write(&mut self, bit: u64, value: bool) {
        self.mask |= bit;
        self.value = if value { self.value | bit } else { self.value & !bit };
    }

    /// Whether `expected` contradicts what was written. Levels that nothing wrote contradict everything
    /// but zero: a line begins with its root not yet closed, and with nothing else to rely on.
    #[inline(always)]
    pub const fn contradicts(self, expected: KindReads) -> bool {
        (self.value ^ expected.value) & expected.mask != 0
    }
}

impl Monoid for KindWrites {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        Self { mask: self.mask | right.mask, value: self.value & !right.mask | right.value }
    }
}

/// The kinds that a stretch of text found but did not write itself: to be held against what is at its left.
///
/// There is at most one a level: after closing at depth *d*, the next bracket at depth *d* opens. All
/// lie before the first newline of the stretch, so a contradiction is a fault of the line at its left edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct KindReads {
    /// The levels read.
    pub mask: u64,
    /// The kind that each must have; zero outside `mask`.
    pub value: u64,
}

const _: () = assert!(size_of::<KindReads>() == 16);

impl KindReads {
    /// Those reads that `left` answers.
    #[inline(always)]
    #[must_use]
    pub const fn answered(self, left: KindWrites) -> Self {
        Self { mask: self.mask & left.mask, value: self.value & left.mask }
    }

    /// Those reads that `left` does not answer.
    #[inline(always)]
    #[must_use]
    pub const fn unanswered(self, left: KindWrites) -> Self {
        Self { mask: self.mask & !left.mask, value: self.value & !left.mask }
    }
}

/// Where [`walk`] keeps the kinds of open brackets.
pub trait Kinds {
    /// A bracket opens at `level`. Returns whether that is a fault.
    fn open(&mut self, level: Level, brace: bool) -> bool;
    /// A bracket closes the container of `level`. Returns whether that is a fault.
    fn close(&mut self, level: Level, brace: bool) -> bool;
    /// A line ends.
    fn newline(&mut self);
}

/// The kinds at a point of the text that is reached from a line's start: one thread reads in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindState(u64);

impl Kinds for KindState {
    #[inline(always)]
    fn open(&mut self, level: Level, brace: bool) -> bool {
        if level >= MAX_TRACKED_DEPTH as Level {
            return true;
        }
        let second_root = level == 0 && self.0 & ROOT_CLOSED != 0;
        let bit = 1 << level;
        self.0 = if brace { self.0 | bit } else { self.0 & !bit };
        second_root
    }

    #[inline(always)]
    fn close(&mut self, level: Level, brace: bool) -> bool {
        if level >= MAX_TRACKED_DEPTH as Level {
            return true;
        }
        if level == 0 {
            self.0 |= ROOT_CLOSED;
        }
        (self.0 >> level & 1 == 1) != brace
    }

    #[inline(always)]
    fn newline(&mut self) {
        self.0 &= !ROOT_CLOSED;
    }
}

/// The kinds of a stretch whose left is not known yet: what it wrote, and what it must find there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindDelta {
    /// What the stretch wrote.
    pub writes: KindWrites,
    /// What it must find at its left.
    pub reads: KindReads,
}

impl KindDelta {
    #[inline(always)]
    fn expect(&mut self, bit: u64, value: bool) -> bool {
        if self.writes.mask & bit != 0 {
            return (self.writes.value & bit != 0) != value;
        }
        self.reads.mask |= bit;
        self.reads.value |= if value { bit } else { 0 };
        false
    }
}

impl Kinds for KindDelta {
    #[inline(always)]
    fn open(&mut self, level: Level, brace: bool) -> bool {
        if level >= MAX_TRACKED_DEPTH as Level {
            return true;
        }
        let second_root = level == 0 && self.expect(ROOT_CLOSED, false);
        self.writes.write(1 << level, brace);
        second_root
    }

    #[inline(always)]
    fn close(&mut self, level: Level, brace: bool) -> bool {
        if level >= MAX_TRACKED_DEPTH as Level {
            return true;
        }
        let mismatch = self.expect(1 << level, brace);
        if level == 0 {
            self.writes.write(ROOT_CLOSED, true);
        }
        mismatch
    }

    #[inline(always)]
    fn newline(&mut self) {
        self.writes.write(ROOT_CLOSED, false);
    }
}

/// Walks the structural bytes of a word from left to right.
///
/// Calls `set(level, bits)` for the bits that belong to each level, a run at a time, and returns the
/// bytes at which a line is found faulty: closed more than opened, ended with containers open, a
/// separator outside any container, kinds that do not match, a second root, or deeper than
/// [`MAX_TRACKED_DEPTH`]. All arguments but `newline` are bytes outside strings.
#[inline(always)]
pub fn walk(
    (open, close, separator): (u64, u64, u64),
    brace: u64,
    newline: u64,
    depth: &mut Depth,
    kinds: &mut impl Kinds,
    mut set: impl FnMut(Level, u64),
) -> u64 {
    let mut faults = 0;
    let mut events = open | close | newline;
    let mut separators = separator;
    while events != 0 {
        let bit = events & events.wrapping_neg();
        let before = separators & (bit - 1);
        if before != 0 {
            separators &= !before;
            if *depth > 0 {
                set(*depth as Level - 1, before);
            } else {
                faults |= before;
            }
        }
        if newline & bit != 0 {
            faults |= if *depth != 0 { bit } else { 0 };
            *depth = 0;
            kinds.newline();
        } else if open & bit != 0 {
            if *depth >= 0 {
                set(*depth as Level, bit);
                faults |= if kinds.open(*depth as Level, brace & bit != 0) { bit } else { 0 };
            }
            *depth += 1;
        } else {
            *depth -= 1;
            if *depth >= 0 {
                set(*depth as Level, bit);
                faults |= if kinds.close(*depth as Level, brace & bit != 0) { bit } else { 0 };
            } else {
                faults |= bit;
            }
        }
        events &= events - 1;
    }
    if separators != 0 {
        if *depth > 0 {
            set(*depth as Level - 1, separators);
        } else {
            faults |= separators;
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *seed >> 11
    }

    #[test]
    fn last_writer_wins_is_a_monoid() {
        let mut seed = 3;
        for _ in 0..10_000 {
            let [a, b, c] = core::array::from_fn(|_| {
                let mask = random(&mut seed) & random(&mut seed);
                KindWrites { mask, value: random(&mut seed) & mask }
            });
            assert_eq!(a.combine(b).combine(c), a.combine(b.combine(c)));
            assert_eq!(a.combine(KindWrites::default()), a);
            assert_eq!(KindWrites::default().combine(a), a);
        }
    }

    /// Random lines of brackets, cut into words of a few brackets: deltas that are scanned and held against
    /// their left find a fault exactly where one reader in order does.
    #[test]
    fn deltas_find_the_lines_that_a_reader_in_order_finds() {
        let mut seed = 5;
        for _ in 0..30_000 {
            let mut depth = 0;
            let mut stack: Vec<u8> = Vec::new();
            let text: Vec<u8> = (0..24)
                .map(|_| {
                    let pick = random(&mut seed) % 40;
                    if pick == 0 {
                        b"{}[],\n"[random(&mut seed) as usize % 6]
                    } else if pick < 3 && stack.is_empty() {
                        b'\n'
                    } else if pick < 20 || stack.is_empty() {
                        let open = b"{["[random(&mut seed) as usize % 2];
                        stack.push(open);
                        open
                    } else {
                        stack.pop().unwrap_or(b'{') + 2
                    }
                })
                .collect();
            let bits = |set: &[u8], text: &[u8]| {
                text.iter().enumerate().fold(0u64, |b, (i, c)| b | (set.contains(c) as u64) << i)
            };
            let run = |text: &[u8], depth: &mut Depth, kinds: &mut dyn FnMut(&[u8], &mut Depth) -> u64| {
                kinds(text, depth)
            };
            let masks = |text: &[u8]| {
                (
                    (bits(b"{[", text), bits(b"}]", text), bits(b",", text)),
                    bits(b"{}", text),
                    bits(b"\n", text),
                )
            };
            let line_of = |at: usize| text[..at].iter().filter(|b| **b == b'\n').count();

            let mut bad_in_order = Vec::new();
            let mut kinds = KindState::default();
            let (all, brace, newline) = masks(&text);
            let faults = walk(all, brace, newline, &mut depth, &mut kinds, |_, _| {});
            (0..24).filter(|i| faults >> i & 1 == 1).for_each(|i| bad_in_order.push(line_of(i)));
            bad_in_order.sort_unstable();
            bad_in_order.dedup();

            let mut bad = Vec::new();
            let (mut depth, mut left) = (0, KindWrites::default());
            for (w, word) in text.chunks(5).enumerate() {
                let mut delta = KindDelta::default();
                let faults = run(word, &mut depth, &mut |word, depth| {
                    let (all, brace, newline) = masks(word);
                    walk(all, brace, newline, depth, &mut delta, |_, _| {})
                });
                (0..word.len()).filter(|i| faults >> i & 1 == 1).for_each(|i| bad.push(line_of(w * 5 + i)));
                if left.contradicts(delta.reads) {
                    bad.push(line_of(w * 5));
                }
                left = left.combine(delta.writes);
            }
            bad.sort_unstable();
            bad.dedup();
            assert_eq!(bad, bad_in_order, "{}", text.escape_ascii());
        }
    }
}
