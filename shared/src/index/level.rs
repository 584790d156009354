//! The container of each structural byte, and the check that bracket kinds match.
//!
//! # Kinds by the last writer
//!
//! A bracket that closes at depth *d* matches the last bracket that opened at depth *d*, as long as the depth
//! never falls below zero. So the check of kinds needs no stack. It needs one bit a level: each opening
//! bracket writes its bit, and each closing one reads it. "Last writer wins" is a monoid ([`KindWrites`]), so
//! a scan gives the bits at any point of the text. No reset is needed at a newline: within a line, depth *d*
//! is closed only after it was opened on that line, or the line is already faulty.
//!
//! ```text
//! text     { [ ] , [ { ] }
//! depth    0 1 1   1 2 2 1      the ] at depth 2 finds { written there: a fault
//! ```
//!
//! A reader in order ([`KindState`]) keeps 63 levels in a word. Kernels, which scan ([`KindWrites`]), keep 31
//! levels in half a word. One more bit records the line's root container, so that a second root on the line
//! is found as well. A line that nests deeper is *suspected*, because its kinds are not tracked, and
//! [`crate::check::diagnose`] decides.

use super::Monoid;
use crate::units::{Depth, Level};

/// The levels whose kinds a reader in order tracks. For deeper lines only [`crate::check::diagnose`] decides.
const TRACKED_IN_ORDER: Level = 63;
/// The levels whose kinds kernels track. For deeper lines only [`crate::check::diagnose`] decides.
pub const TRACKED_BY_KERNELS: Level = 31;

/// The bit of [`KindState`] that is set after the line's root container has closed.
const ROOT_CLOSED_IN_ORDER: u64 = 1 << TRACKED_IN_ORDER;
/// The bit of [`KindWrites`] and [`KindReads`] for a root container that has opened on the line. Level *k*
/// has bit *k* + 1.
const ROOT_OPENED: u32 = 1;

/// The kinds that a stretch of text wrote, by level. The last writer wins. A [`Monoid`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct KindWrites {
    /// The levels written.
    pub mask: u32,
    /// The last written kinds, 1 for a brace. Zero outside `mask`.
    pub value: u32,
}

const _: () = assert!(size_of::<KindWrites>() == 8);

impl KindWrites {
    /// Returns true if `expected` contradicts the written kinds. A level that was never written counts as
    /// zero: at a line's start the root container has not opened, and no other level has a value.
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

/// The kinds that a stretch of text read but did not write itself. They are compared with the kinds written
/// at its left.
///
/// There is at most one read a level: after a bracket closes at depth *d*, the next bracket at depth *d*
/// opens. All reads are before the first newline of the stretch, so a contradiction is a fault of the line at
/// its left edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct KindReads {
    /// The levels read.
    pub mask: u32,
    /// The kind that each level must have. Zero outside `mask`.
    pub value: u32,
}

const _: () = assert!(size_of::<KindReads>() == 8);

impl KindReads {
    /// The reads of levels that `left` has written.
    #[inline(always)]
    #[must_use]
    pub const fn answered(self, left: KindWrites) -> Self {
        Self { mask: self.mask & left.mask, value: self.value & left.mask }
    }

    /// The reads of levels that `left` has not written.
    #[inline(always)]
    #[must_use]
    pub const fn unanswered(self, left: KindWrites) -> Self {
        Self { mask: self.mask & !left.mask, value: self.value & !left.mask }
    }
}

/// The storage in which [`walk`] keeps the kinds of open brackets.
pub trait Kinds {
    /// Records a bracket that opens at `level`. Returns true for a fault.
    fn open(&mut self, level: Level, brace: bool) -> bool;
    /// Records a bracket that closes the container of `level`. Returns true for a fault.
    fn close(&mut self, level: Level, brace: bool) -> bool;
    /// Records the end of a line.
    fn newline(&mut self);
}

/// The kinds at a point of the text, for one thread that reads in order from a line's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindState(u64);

impl Kinds for KindState {
    #[inline(always)]
    fn open(&mut self, level: Level, brace: bool) -> bool {
        if level >= TRACKED_IN_ORDER {
            return true;
        }
        let second_root = level == 0 && self.0 & ROOT_CLOSED_IN_ORDER != 0;
        let bit = 1 << level;
        self.0 = if brace { self.0 | bit } else { self.0 & !bit };
        second_root
    }

    #[inline(always)]
    fn close(&mut self, level: Level, brace: bool) -> bool {
        if level >= TRACKED_IN_ORDER {
            return true;
        }
        if level == 0 {
            self.0 |= ROOT_CLOSED_IN_ORDER;
        }
        (self.0 >> level & 1 == 1) != brace
    }

    #[inline(always)]
    fn newline(&mut self) {
        self.0 &= !ROOT_CLOSED_IN_ORDER;
    }
}

/// The kinds of a stretch whose left is not yet known: its writes, and the reads that its left must satisfy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindDelta {
    /// The kinds that the stretch wrote.
    pub writes: KindWrites,
    /// The kinds that the stretch must find at its left.
    pub reads: KindReads,
}

/// The bit of a level. Zero for a level that is not tracked, for example that of a container which was never
/// opened.
#[inline(always)]
const fn kind_bit(level: Level) -> u32 {
    match (ROOT_OPENED << 1).checked_shl(level) {
        Some(bit) => bit,
        None => 0,
    }
}

impl KindDelta {
    /// Checks that a line has at most one root container. `roots` has the brackets of a word that open a
    /// root. Returns the brackets that open a second root.
    #[inline(always)]
    pub fn one_root(&mut self, roots: u64, newline: u64) -> u64 {
        let mut seconds = 0;
        let mut line = roots;
        if newline != 0 {
            let mut newlines = newline;
            while newlines != 0 {
                let ended = line & (newlines & newlines.wrapping_neg()).wrapping_sub(1);
                seconds |= ended & ended.wrapping_sub(1);
                line ^= ended;
                newlines &= newlines - 1;
            }
            self.writes.mask |= ROOT_OPENED;
        }
        if line != 0 {
            seconds |= line & (line - 1);
            self.writes.mask |= ROOT_OPENED;
            self.writes.value |= ROOT_OPENED;
        }
        // The text at the left affects only roots before the first newline.
        if roots & (newline & newline.wrapping_neg()).wrapping_sub(1) != 0 {
            self.reads.mask |= ROOT_OPENED;
        }
        seconds
    }
}

impl KindDelta {
    /// Walks the brackets of half a word whose depths are known to be valid, because [`Sliced`] checked them.
    /// `at` is the bit of the innermost open container, or 1 if there is none. Returns a nonzero value if
    /// kinds do not match.
    #[inline(always)]
    pub fn brackets(&mut self, open: u32, close: u32, brace: u32, at: &mut u32) -> u32 {
        let (mut events, mut wrong) = (open | close, 0);
        let KindWrites { mut mask, mut value } = self.writes;
        while events != 0 {
            let bit = events & events.wrapping_neg();
            events ^= bit;
            let kind = if brace & bit != 0 { !0 } else { 0 };
            if open & bit != 0 {
                *at <<= 1;
                mask |= *at;
                value = value & !*at | kind & *at;
            } else {
                wrong |= *at & mask & (value ^ kind);
                let unknown = *at & !mask;
                self.reads.mask |= unknown;
                self.reads.value |= unknown & kind;
                *at >>= 1;
            }
        }
        self.writes = KindWrites { mask, value };
        wrong
    }
}

/// The number of planes of [`Sliced`].
const PLANES: usize = 4;

/// The depth of every byte of a word at once, bit-sliced: bit *i* of plane *b* is bit *b* of the depth of
/// byte *i*.
///
/// An opening bracket counts up from its own byte on. A closing one counts down from the next byte on. So a
/// bracket has the depth of its content, and byte *i* belongs to level depth − 1. A counter's lowest bit
/// changes with every step. A higher bit changes where all lower bits carry. Each plane is the
/// [`prefix_xor`](super::string::prefix_xor) of its changes.
///
/// ```text
/// text          { " a " : [ 1 , { } ] }
/// up            1 . . . . 1 . . 1 . . .
/// down          . . . . . . . . . . 1 1      after } and ]
/// plane 0       1 1 1 1 1 . . . 1 1 . 1      the prefix xor of both
/// carries       . . . . . 1 . . . . 1* 1     up where plane 0 becomes 0, down where it becomes 1
/// plane 1       . . . . . 1 1 1 1 1 1 .      (* 3 becomes 2: plane 0 does not become 1, no carry)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliced {
    planes: [u64; PLANES],
    structural: u64,
}

impl Sliced {
    /// Slices a word before which `depth` containers are open. All masks are bytes outside strings. Also
    /// returns true if the planes are valid: the word has no fault except perhaps in kinds and roots, and
    /// nothing deeper than 15. Otherwise the word must go to [`walk_half`].
    #[inline(always)]
    pub fn new(
        (open, close, separator): (u64, u64, u64),
        newline: u64,
        depth: Depth,
        prefix: impl Fn(u64) -> u64,
    ) -> (Self, bool) {
        let behind = close << 1;
        let (up, down) = (open & !behind, behind & !open);
        let mut planes = [0; PLANES];
        let mut changes = up | down;
        let mut b = 0;
        while b < PLANES {
            planes[b] = prefix(changes) ^ ((depth as u64 >> b) & 1).wrapping_neg();
            changes &= up & !planes[b] | down & planes[b];
            b += 1;
        }
        let inside = planes[0] | planes[1] | planes[2] | planes[3];
        let deepest = depth as u32 as u64 + open.count_ones() as u64;
        let wrong = (close | separator) & !inside | newline & inside;
        let sliced = Self { planes, structural: open | close | separator };
        (sliced, (wrong == 0) & (deepest < 1 << PLANES))
    }

    /// The word of a leveled bitmap.
    #[inline(always)]
    pub fn level(&self, level: Level) -> u64 {
        let depth = level + 1;
        if depth >> PLANES != 0 {
            return 0;
        }
        let [a, b, c, d] = self.planes;
        // All ones where the bit is to be zero.
        let not = |bit: u32| ((depth >> bit & 1) as u64).wrapping_sub(1);
        self.structural & (a ^ not(0)) & (b ^ not(1)) & (c ^ not(2)) & (d ^ not(3))
    }
}

/// The structural bytes of half a word, outside strings except for the newlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HalfWord {
    /// Brackets that open.
    pub open: u32,
    /// Brackets that close.
    pub close: u32,
    /// `:` and `,`
    pub separator: u32,
    /// Line feeds.
    pub newline: u32,
    /// The braces among `open` and `close`. The other bits are undefined.
    pub brace: u32,
}

/// Walks the structural bytes of half a word from left to right. This is [`walk`] for a thread of a kernel:
/// in 32 bits, and with kinds whose left is not known.
///
/// Between two brackets the depth does not change. So all bytes of such a *run* belong to one level, and they
/// are set at once. An opening bracket belongs to the run after it, a closing one to the run before it. `set`
/// is also called for empty runs, and for runs outside any container, with a level beyond
/// [`MAX_DEPTH`](crate::units::MAX_DEPTH).
///
/// ```text
/// text     { " : [ , ] , " : {        depth 0 at the left
/// runs     1 1 1 2 2 2 1 1 1 2
/// ```
///
/// `kinds` records brackets, but not roots: see [`KindDelta::one_root`]. The only branches are those of the
/// loop and of `set`, because at a branch some lanes of a warp wait for the others.
#[inline(always)]
pub fn walk_half(
    half: HalfWord,
    depth: &mut Depth,
    kinds: &mut KindDelta,
    mut set: impl FnMut(Level, u32),
) -> Walked {
    let HalfWord { open, close, separator, newline, brace } = half;
    let (mut faults, mut roots) = (0, 0);
    let mut events = open | close | newline;
    let mut rest = open | close | separator;
    while events != 0 {
        let bit = events & events.wrapping_neg();
        events ^= bit;
        let (opens, closes, ends) = (open & bit != 0, close & bit != 0, newline & bit != 0);
        let run = rest & ((bit - 1) | close & bit);
        rest ^= run;
        set((*depth - 1) as Level, run);
        faults |= if *depth <= 0 { run } else { 0 };

        roots |= if *depth == 0 { open & bit } else { 0 };
        let level = (*depth - !opens as Depth) as Level;
        let kind = if brace & bit != 0 { !0 } else { 0 };
        let opened = if opens { kind_bit(level) } else { 0 };
        let closed = if closes { kind_bit(level) } else { 0 };
        let KindWrites { mask, value } = kinds.writes;
        let mismatch = closed & mask & (value ^ kind);
        kinds.reads.mask |= closed & !mask;
        kinds.reads.value |= closed & !mask & kind;
        kinds.writes.mask |= opened;
        kinds.writes.value = value & !opened | kind & opened;
        let wrong = if ends { *depth != 0 } else { level >= TRACKED_BY_KERNELS };
        faults |= if wrong | (mismatch != 0) { bit } else { 0 };
        *depth = if ends { 0 } else { *depth + 2 * opens as Depth - 1 };
    }
    set((*depth - 1) as Level, rest);
    faults |= if *depth <= 0 { rest } else { 0 };
    Walked { faults, roots }
}

/// The result of [`walk_half`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The bytes at which a line is faulty or suspected.
    pub faults: u32,
    /// Brackets that open a root container.
    pub roots: u32,
}

/// Walks the structural bytes of a word from left to right.
///
/// Calls `set(level, bits)` for the bits that belong to each level, a run at a time. All arguments but
/// `newline` are bytes outside strings.
///
/// Returns the bytes at which a line is faulty or suspected. Such a line
///
/// * closes more containers than it opened, or ends with open ones,
/// * has a separator outside any container, or a second root,
/// * has brackets whose kinds do not match, or
/// * is deeper than 63 levels.
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
    use std::collections::BTreeMap;
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
                let mask = (random(&mut seed) & random(&mut seed)) as u32;
                KindWrites { mask, value: random(&mut seed) as u32 & mask }
            });
            assert_eq!(a.combine(b).combine(c), a.combine(b.combine(c)));
            assert_eq!(a.combine(KindWrites::default()), a);
            assert_eq!(KindWrites::default().combine(a), a);
        }
    }

    /// Random lines of brackets, cut into words of a few brackets. The deltas, scanned and compared with
    /// their left, find the same faulty lines as one reader in order.
    #[test]
    fn deltas_find_the_lines_that_a_reader_in_order_finds() {
        let (mut seed, mut sliced_words) = (5, 0);
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
            let mut levels = BTreeMap::new();
            let faults = walk(all, brace, newline, &mut depth, &mut kinds, |level, bits| {
                *levels.entry(level).or_insert(0u64) ^= bits;
            });
            (0..24).filter(|i| faults >> i & 1 == 1).for_each(|i| bad_in_order.push(line_of(i)));
            bad_in_order.sort_unstable();
            bad_in_order.dedup();

            let mut bad = Vec::new();
            let (mut depth, mut left) = (0, KindWrites::default());
            for (w, word) in text.chunks(5).enumerate() {
                let mut delta = KindDelta::default();
                let ((open, close, separator), brace, newline) = masks(word);
                let half = HalfWord {
                    open: open as u32,
                    close: close as u32,
                    separator: separator as u32,
                    newline: newline as u32,
                    brace: brace as u32,
                };
                // Slicing, where it is valid, gives the same result.
                let sliced =
                    Sliced::new((open, close, separator), newline, depth, crate::index::string::prefix_xor);
                let (before, mut own) = (depth, BTreeMap::new());
                let walked = walk_half(half, &mut depth, &mut delta, |level, bits| {
                    *own.entry(level).or_insert(0u64) |= bits as u64;
                    if level <= 24 {
                        *levels.entry(level).or_insert(0u64) ^= (bits as u64) << (5 * w);
                    }
                });
                if let (sliced, true) = sliced {
                    (0..20).for_each(|k| assert_eq!(sliced.level(k), own.get(&k).copied().unwrap_or(0)));
                    let (mut kinds, mut at) = (KindDelta::default(), 1 << before);
                    let wrong = kinds.brackets(half.open, half.close, half.brace, &mut at);
                    assert_eq!(wrong != 0, walked.faults != 0);
                    assert_eq!(sliced.level(0) & open, walked.roots as u64);
                    let all = KindDelta { writes: delta.writes, reads: delta.reads };
                    assert!(wrong != 0 || newline != 0 || kinds == all);
                    sliced_words += 1;
                } else {
                    assert!(walked.faults != 0 || before < 0 || before + 5 > 15);
                }
                let faults = walked.faults | delta.one_root(walked.roots as u64, newline) as u32;
                (0..word.len()).filter(|i| faults >> i & 1 == 1).for_each(|i| bad.push(line_of(w * 5 + i)));
                if left.contradicts(delta.reads) {
                    bad.push(line_of(w * 5));
                }
                left = left.combine(delta.writes);
            }
            // Each bit was set once in order, and once by the half words.
            assert!(levels.values().all(|bits| *bits == 0), "{}", text.escape_ascii());
            bad.sort_unstable();
            bad.dedup();
            assert_eq!(bad, bad_in_order, "{}", text.escape_ascii());
        }
        assert!(sliced_words > 10_000);
    }
}
