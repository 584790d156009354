//! Asks all twigs of a set of one document after the other.

use super::group::{Bits, Group, Words};
use super::resolve::{Resolver, Rows};
use super::rows::{RowIx, RowSet};
use super::set::{TagIx, TwigIx, TwigSet};
use super::{Events, Name, Value};
use crate::cpu::{Isa, Simd, Work};

/// Asks all twigs of a set of one document after the other.
#[derive(Clone, Debug)]
pub struct TwigMatcher<'a>(Resolver<'a, State<'a>>);

/// What was found so far.
#[derive(Clone, Debug)]
struct State<'a> {
    set: &'a TwigSet,
    isa: Isa,
    /// For the document and each node that was entered: the words of each group. What is behind is zero.
    found: Vec<Words>,
    levels: Vec<Level>,
    /// The groups of each level that are not zero, a bit each.
    touched: Vec<u64>,
    depth: usize,
}

/// What is known of a level, the words and groups aside.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Which of the first 64 rows have told of their leaves already: to hear it again changes nothing.
    seen: u64,
}

impl<'a> TwigMatcher<'a> {
    pub(super) fn new(set: &'a TwigSet) -> Self {
        let mut state = State {
            set,
            isa: Isa::best(),
            found: Vec::new(),
            levels: Vec::new(),
            touched: Vec::new(),
            depth: 0,
        };
        state.grow();
        Self(Resolver::new(set, state))
    }

    /// Forgets the document, to be told of another.
    pub fn reset(&mut self) {
        self.0.reset();
        let State { set, found, levels, touched, depth, .. } = &mut self.0.rows;
        let groups = set.groups.len();
        for level in 0..=*depth {
            levels[level].seen = 0;
            for (at, touched) in
                touched[level * groups.div_ceil(64)..][..groups.div_ceil(64)].iter_mut().enumerate()
            {
                for group in Bits(std::mem::take(touched)) {
                    found[level * groups + at * 64 + group as usize] = Words::NONE;
                }
            }
        }
        *depth = 0;
    }

    /// A node begins that is called so, as [`Events::open`] has it.
    #[inline]
    pub fn open_tag(&mut self, tag: TagIx) -> bool {
        self.0.open_tag(tag)
    }

    /// The twigs that match the document, once it has ended, in no order.
    pub fn matches(&self) -> impl Iterator<Item = TwigIx> {
        let State { set, found, touched, .. } = &self.0.rows;
        let is_touched = |group: usize| touched[group / 64] >> (group % 64) & 1 != 0;
        let groups = set.groups.iter().zip(found).enumerate();
        groups
            .filter(move |(at, (group, _))| group.always > 0 || is_touched(*at))
            .flat_map(|(_, (group, found))| group.matches(found).map(TwigIx))
    }
}

impl Events for TwigMatcher<'_> {
    #[inline]
    fn open(&mut self, name: Name<'_>) -> bool {
        self.0.open(name)
    }

    #[inline]
    fn close(&mut self, value: Value<'_>) {
        self.0.close(value);
    }
}

impl State<'_> {
    /// Makes room for the level at the depth.
    fn grow(&mut self) {
        let (levels, groups) = (self.depth + 1, self.set.groups.len());
        if self.levels.len() < levels {
            self.levels.resize(levels, Level::default());
            self.found.resize(levels * groups, Words::NONE);
            self.touched.resize(levels * groups.div_ceil(64), 0);
        }
    }

    /// A level, and what is above it.
    fn split(&mut self, level: usize) -> (&mut Level, At<'_>, At<'_>) {
        let Self { set, found, levels, touched, .. } = self;
        let (groups, words) = (set.groups.len(), set.groups.len().div_ceil(64));
        let (found, own) = found.split_at_mut(level * groups);
        let (touched, touched_own) = touched.split_at_mut(level * words);
        let own = At { found: own, touched: &mut touched_own[..words] };
        let above = level.saturating_sub(1);
        let above = At { found: &mut found[above * groups..], touched: &mut touched[above * words..] };
        (&mut levels[level], own, above)
    }
}

impl Rows for State<'_> {
    fn enter(&mut self) {
        self.depth += 1;
        self.grow();
    }

    fn leaf(&mut self, rows: &[RowIx]) {
        let (isa, set) = (self.isa, self.set);
        let (level, at, _) = self.split(self.depth);
        let unseen = |row: &&RowIx| **row >= 64 || level.seen >> **row & 1 == 0;
        if !rows.iter().any(|row| unseen(&row)) {
            return;
        }
        isa.run(Leaf { rows: &set.rows, passed: rows, level, at });
    }

    fn exit(&mut self, rows: &[RowIx]) {
        let (isa, set, depth) = (self.isa, self.set, self.depth);
        self.depth -= 1;
        self.leaf(rows);
        let (level, own, above) = self.split(depth);
        level.seen = 0;
        isa.run(Exit { set, passed: rows, own, above });
    }
}

/// The words of a level, and which of them are not zero.
struct At<'a> {
    found: &'a mut [Words],
    touched: &'a mut [u64],
}

/// A node with nothing below it: the leaves of twigs that it passes.
struct Leaf<'a> {
    rows: &'a RowSet,
    passed: &'a [RowIx],
    level: &'a mut Level,
    at: At<'a>,
}

impl Work for Leaf<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) {
        let Self { rows, passed, level, at } = self;
        for row in passed {
            if *row < 64 {
                if level.seen >> row & 1 != 0 {
                    continue;
                }
                level.seen |= 1 << row;
            }
            for (group, words) in &rows.get(*row).leaves {
                let (found, words) = (&mut at.found[*group as usize], rows.words(*words));
                at.touched[*group as usize / 64] |= 1 << (group % 64);
                for (found, word) in found.0.iter_mut().zip(&words.0) {
                    *found |= word;
                }
            }
        }
    }
}

/// A node with others below it ends: `own` is what was found below it, and becomes zero; `above` what was found below the node that it is in.
struct Exit<'a> {
    set: &'a TwigSet,
    passed: &'a [RowIx],
    own: At<'a>,
    above: At<'a>,
}

impl Work for Exit<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) {
        let Self { set, passed, own, above } = self;
        for (at, touched) in own.touched.iter_mut().enumerate() {
            for bit in Bits(std::mem::take(touched)) {
                let number = at * 64 + bit as usize;
                let group: &Group = &set.groups[number];
                let found = std::mem::replace(&mut own.found[number], Words::NONE);
                let mut told = Words::NONE;
                for row in passed {
                    if let Some(words) = set.rows.inner(*row, number as u32) {
                        for (told, word) in told.0.iter_mut().zip(&words.0) {
                            *told |= word;
                        }
                    }
                }
                let mut any = 0;
                if told != Words::NONE {
                    let satisfied = group.satisfied(&found);
                    for (told, word) in told.0.iter_mut().zip(&satisfied.0) {
                        *told &= word;
                    }
                }
                for ((told, found), descendant) in told.0.iter_mut().zip(&found.0).zip(&group.descendant.0) {
                    *told |= found & descendant;
                    any |= *told;
                }
                if any != 0 {
                    above.touched[at] |= 1 << bit;
                    for (above, told) in above.found[number].0.iter_mut().zip(&told.0) {
                        *above |= told;
                    }
                }
            }
        }
    }
}
