//! The evaluation of all twigs of a set, one document after the other.
//!
//! If there are many groups, the events of a document are recorded first. When the document ends, the keys of
//! the twigs (`set.rs`) determine the groups that it may match. Only these groups then process the events.

use std::mem::take;

use warpath_core::simd::{Isa, Simd, Work};
use warpath_lang::twig::value::Value;

use super::group::{Bits, GROUP_WORDS, Group, Words};
use super::resolve::{Resolver, ResolverMemory, RowSink};
use super::rows::{GroupBits, RowIx, RowTable};
use super::set::{TagIx, TwigIx, TwigSet};
use super::{Events, Name};

/// Evaluates all twigs of a set, one document after the other.
#[derive(Clone, Debug)]
pub struct TwigMatcher<'a>(Resolver<'a, Gate<'a>>);

/// The most groups for which events are not recorded. With few groups, recording takes longer than it saves.
/// With 1,000 subscriptions to events (5 groups), a core does 0.14 M events a second instead of 0.17 M; with
/// 3,000 (13 groups), both do the same.
const FEW_GROUPS: usize = 16;

/// The recorded events, until the groups that they concern are known.
#[derive(Clone, Debug)]
struct Gate<'a> {
    state: State<'a>,
    is_noted: bool,
    /// The recorded events, each with its number of entries in `rows`.
    noted: Vec<(Noted, u32)>,
    rows: Vec<RowIx>,
    /// The groups of which a key was passed: as a bitmap, and as a list of numbers.
    active: Vec<u64>,
    numbers: Vec<u32>,
}

/// The memory of a matcher between documents, which belongs to no set. All bits in it are zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatcherMemory {
    resolver: ResolverMemory,
    noted: Vec<(Noted, u32)>,
    rows: Vec<RowIx>,
    active: Vec<u64>,
    numbers: Vec<u32>,
    found: Vec<Words>,
    words: Vec<u32>,
    touched: Vec<u64>,
    seen: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noted {
    Enter,
    Leaf,
    Exit,
}

impl Gate<'_> {
    /// Replays the recorded events for the groups that they concern.
    fn tell(&mut self) {
        let Self { state, noted, rows, numbers, active, .. } = self;
        if noted.is_empty() {
            return;
        }
        if numbers.is_empty() {
            noted.clear();
            rows.clear();
            return;
        }
        numbers.sort_unstable();
        numbers.iter().for_each(|group| active[*group as usize / 64] = 0);
        state.asked = Some(take(numbers));
        state.grow();
        let mut begin = 0;
        for (what, count) in noted.drain(..) {
            let of = &rows[begin..begin + count as usize];
            begin += count as usize;
            match what {
                Noted::Enter => state.enter(),
                Noted::Leaf => state.leaf(of),
                Noted::Exit => state.exit(of),
            }
        }
        rows.clear();
    }

    fn note(&mut self, what: Noted, rows: &[RowIx]) {
        let Self { state, noted, rows: all, active, numbers, .. } = self;
        noted.push((what, rows.len() as u32));
        all.extend_from_slice(rows);
        for row in rows {
            for (group, _) in &state.set.rows.get(*row).keys {
                let (word, bit) = (&mut active[*group as usize / 64], 1 << (group % 64));
                if *word & bit == 0 {
                    *word |= bit;
                    numbers.push(*group);
                }
            }
        }
    }

    /// Drops the recorded events.
    fn forget(&mut self) {
        self.noted.clear();
        self.rows.clear();
        for group in self.numbers.drain(..) {
            self.active[group as usize / 64] = 0;
        }
    }
}

impl RowSink for Gate<'_> {
    #[inline]
    fn enter(&mut self) {
        if self.is_noted { self.note(Noted::Enter, &[]) } else { self.state.enter() }
    }

    #[inline]
    fn leaf(&mut self, rows: &[RowIx]) {
        if self.is_noted { self.note(Noted::Leaf, rows) } else { self.state.leaf(rows) }
    }

    #[inline]
    fn exit(&mut self, rows: &[RowIx]) {
        if self.is_noted { self.note(Noted::Exit, rows) } else { self.state.exit(rows) }
    }
}

/// The bits found so far.
#[derive(Clone, Debug)]
struct State<'a> {
    set: &'a TwigSet,
    isa: Isa,
    /// For the document and each entered node: the words of each group. Words of deeper levels are zero.
    found: Vec<Words>,
    /// A bitmap of the nonzero words of each group.
    words: Vec<u32>,
    /// A bitmap of the nonzero groups of each level.
    touched: Vec<u64>,
    /// For each level, the rows among the first 64 whose leaves were already added. To add them again would
    /// change nothing.
    seen: Vec<u64>,
    depth: usize,
    /// The groups that are evaluated, ascending, if not all are. Then only these have memory at each level,
    /// so that a deep document needs no memory for the others.
    asked: Option<Vec<u32>>,
}

impl<'a> TwigMatcher<'a> {
    /// Makes a matcher that uses the memory of an earlier one again.
    pub(crate) fn new(set: &'a TwigSet, memory: MatcherMemory) -> Self {
        let MatcherMemory { resolver, noted, rows, mut active, numbers, found, words, touched, seen } =
            memory;
        let mut state = State { set, isa: Isa::best(), found, words, touched, seen, depth: 0, asked: None };
        state.grow();
        let groups = set.groups.len();
        active.resize(groups.div_ceil(64), 0);
        let gate = Gate { state, is_noted: groups > FEW_GROUPS, noted, rows, active, numbers };
        Self(Resolver::new(set, gate, resolver))
    }

    /// Drops the current document, and returns the memory for another matcher.
    pub(crate) fn into_memory(mut self) -> MatcherMemory {
        self.reset();
        let Resolver { memory: resolver, rows: gate, .. } = self.0;
        let Gate { state, noted, rows, active, numbers, .. } = gate;
        let State { found, words, touched, seen, .. } = state;
        MatcherMemory { resolver, noted, rows, active, numbers, found, words, touched, seen }
    }

    /// Sets whether groups are selected by the keys of their twigs, or all are evaluated. By default, the
    /// number of groups decides. The setting changes speed, never the matches.
    #[must_use]
    pub fn by_keys(mut self, yes: bool) -> Self {
        self.0.rows.is_noted = yes;
        self
    }

    /// Prepares for the next document.
    pub fn reset(&mut self) {
        self.0.reset();
        self.0.rows.forget();
        let State { set, found, words, touched, seen, depth, asked, .. } = &mut self.0.rows.state;
        let groups = asked.as_ref().map_or(set.groups.len(), Vec::len);
        let all = groups.div_ceil(64);
        for level in 0..=*depth {
            seen[level] = 0;
            for (at, touched) in touched[level * all..][..all].iter_mut().enumerate() {
                for group in Bits(take(touched)) {
                    let at = level * groups + at * 64 + group as usize;
                    found[at] = Words::NONE;
                    words[at] = 0;
                }
            }
        }
        *depth = 0;
        // The list is reused for the next document, with its capacity.
        self.0.rows.numbers = asked.take().unwrap_or_default();
        self.0.rows.numbers.clear();
    }

    /// Begins a node with this tag. Does the same as [`Events::open`].
    #[inline]
    pub fn open_tag(&mut self, tag: TagIx) -> bool {
        self.0.open_tag(tag)
    }

    /// The twigs that match the document after it has ended, in no order.
    pub fn matches(&mut self) -> impl Iterator<Item = TwigIx> {
        let mut matches = Vec::new();
        self.each_match(|twig| matches.push(twig));
        matches.into_iter()
    }

    /// Calls a function with each of [`matches`](Self::matches).
    pub(crate) fn each_match(&mut self, mut each: impl FnMut(TwigIx)) {
        self.0.rows.tell();
        let State { set, found, touched, asked, .. } = &self.0.rows.state;
        for (at, word) in touched[..self.0.rows.state.width().div_ceil(64)].iter().enumerate() {
            for bit in Bits(*word) {
                let place = at * 64 + bit as usize;
                let group = &set.groups[group_at(asked.as_deref(), place)];
                group.matches(&found[place]).map(TwigIx).for_each(&mut each);
            }
        }
        let is_told = |group: usize| {
            let place = match asked {
                Some(asked) => asked.binary_search(&(group as u32)).ok(),
                None => Some(group),
            };
            place.is_some_and(|place| touched[place / 64] >> (place % 64) & 1 != 0)
        };
        let others = set.groups.iter().enumerate().filter(|(at, group)| group.always > 0 && !is_told(*at));
        others.flat_map(|(_, group)| group.matches(&Words::NONE).map(TwigIx)).for_each(each);
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
    /// Makes room for the level at the current depth.
    fn grow(&mut self) {
        let (levels, groups) = (self.depth + 1, self.width());
        if self.seen.len() < levels {
            self.seen.resize(levels, 0);
        }
        if self.found.len() < levels * groups {
            self.found.resize(levels * groups, Words::NONE);
            self.words.resize(levels * groups, 0);
        }
        if self.touched.len() < levels * groups.div_ceil(64) {
            self.touched.resize(levels * groups.div_ceil(64), 0);
        }
    }

    /// The number of groups that have memory at each level.
    fn width(&self) -> usize {
        self.asked.as_ref().map_or(self.set.groups.len(), Vec::len)
    }

    /// The words of a level, and those of the level above it.
    fn split(&mut self, level: usize) -> (At<'_>, At<'_>) {
        let groups = self.width();
        self.split_of(level, groups)
    }

    /// Does the same as [`split`](Self::split), for a given number of groups with memory at each level.
    fn split_of(&mut self, level: usize, groups: usize) -> (At<'_>, At<'_>) {
        let all = groups.div_ceil(64);
        let Self { found, words, touched, .. } = self;
        let (found, found_own) = found.split_at_mut(level * groups);
        let (words, words_own) = words.split_at_mut(level * groups);
        let (touched, touched_own) = touched.split_at_mut(level * all);
        let own = At { found: found_own, words: words_own, touched: &mut touched_own[..all] };
        let above = level.saturating_sub(1);
        let (found, words) = (&mut found[above * groups..], &mut words[above * groups..]);
        (own, At { found, words, touched: &mut touched[above * all..] })
    }

    /// Marks a row as added at a level, and returns whether it was marked before.
    #[inline(always)]
    fn hear(seen: &mut u64, row: RowIx) -> bool {
        let bit = if row < 64 { 1 << row } else { 0 };
        let is_heard = *seen & bit != 0;
        *seen |= bit;
        is_heard
    }
}

impl RowSink for State<'_> {
    fn enter(&mut self) {
        self.depth += 1;
        self.grow();
    }

    fn leaf(&mut self, rows: &[RowIx]) {
        let (isa, set, depth) = (self.isa, self.set, self.depth);
        for row in rows {
            if Self::hear(&mut self.seen[depth], *row) {
                continue;
            }
            let leaves = &set.rows.get(*row).leaves;
            if let Some(groups) = self.asked.take() {
                if !leaves.is_empty() {
                    let (at, _) = self.split_of(depth, groups.len());
                    isa.run(LeafOf { rows: &set.rows, leaves, groups: &groups, at });
                }
                self.asked = Some(groups);
                continue;
            }
            let (mut at, _) = self.split(depth);
            leaves.few.iter().for_each(|(word, bits)| at.set(*word, *bits));
            if !leaves.all.is_empty() {
                isa.run(Leaf { rows: &set.rows, all: &leaves.all, at });
            }
        }
    }

    fn exit(&mut self, rows: &[RowIx]) {
        let (isa, set, depth) = (self.isa, self.set, self.depth);
        self.depth -= 1;
        self.leaf(rows);
        self.seen[depth] = 0;
        let (asked, groups) = (self.asked.take(), self.set.groups.len());
        let (own, above) = self.split_of(depth, asked.as_ref().map_or(groups, Vec::len));
        if own.touched.iter().any(|touched| *touched != 0) {
            isa.run(Exit { set, asked: asked.as_deref(), passed: rows, own, above });
        }
        self.asked = asked;
    }
}

/// The number of the group at a position of a level.
#[inline(always)]
fn group_at(asked: Option<&[u32]>, place: usize) -> usize {
    asked.map_or(place, |asked| asked[place] as usize)
}

/// The words of a level, and bitmaps of the nonzero ones.
struct At<'a> {
    found: &'a mut [Words],
    words: &'a mut [u32],
    touched: &'a mut [u64],
}

impl At<'_> {
    /// Adds leaves of twigs in one word.
    #[inline(always)]
    fn set(&mut self, word: u32, bits: u64) {
        let (group, word) = (word as usize / GROUP_WORDS, word as usize % GROUP_WORDS);
        self.found[group].0[word] |= bits;
        self.words[group] |= 1 << word;
        self.touched[group / 64] |= 1 << (group % 64);
    }

    /// Adds leaves of twigs in all words of a group.
    #[inline(always)]
    fn set_all(&mut self, group: u32, words: &Words) {
        self.found[group as usize].add(words);
        self.words[group as usize] = u32::MAX;
        self.touched[group as usize / 64] |= 1 << (group % 64);
    }
}

/// Adds many leaves of twigs, in all words of some groups.
struct Leaf<'a> {
    rows: &'a RowTable,
    all: &'a [(u32, u32)],
    at: At<'a>,
}

impl Work for Leaf<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) {
        let Self { rows, all, mut at } = self;
        all.iter().for_each(|(group, words)| at.set_all(*group, rows.words(*words)));
    }
}

/// Adds leaves of twigs, in the selected groups only.
struct LeafOf<'a> {
    rows: &'a RowTable,
    leaves: &'a GroupBits,
    groups: &'a [u32],
    at: At<'a>,
}

impl Work for LeafOf<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) {
        let Self { rows, leaves, groups, mut at } = self;
        for (place, group) in (0..).zip(groups) {
            if let Some(words) = leaves.all_of(*group) {
                at.set_all(place, rows.words(words));
            } else {
                for (word, bits) in &leaves.few[leaves.few_of(*group)] {
                    at.set(place * GROUP_WORDS as u32 + word % GROUP_WORDS as u32, *bits);
                }
            }
        }
    }
}

/// The end of a node with others below it. `own` is what was found below it, and becomes zero. `above` is
/// what was found below the node's parent.
struct Exit<'a> {
    set: &'a TwigSet,
    /// The groups that have memory, if not all have.
    asked: Option<&'a [u32]>,
    passed: &'a [RowIx],
    own: At<'a>,
    above: At<'a>,
}

/// The most nonzero words of a group that are processed one by one. If there are more, all words are
/// processed together.
const ONE_BY_ONE: u32 = 4;

impl Work for Exit<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) {
        let Self { set, asked, passed, own, above } = self;
        for (at, touched) in own.touched.iter_mut().enumerate() {
            for bit in Bits(take(touched)) {
                let place = at * 64 + bit as usize;
                let number = group_at(asked, place);
                let (group, words) = (&set.groups[number], take(&mut own.words[place]));
                let (own, above_found) = (&mut own.found[place], &mut above.found[place]);
                let told = if words.count_ones() <= ONE_BY_ONE && group.far.is_empty() {
                    let mut told = 0;
                    for word in Bits(u64::from(words)) {
                        let bits = Self::word(
                            set,
                            passed,
                            group,
                            number,
                            word as usize,
                            take(&mut own.0[word as usize]),
                        );
                        above_found.0[word as usize] |= bits;
                        told |= u32::from(bits != 0) << word;
                    }
                    told
                } else {
                    let told = Self::all(set, passed, group, number, own);
                    *own = Words::NONE;
                    above_found.add(&told);
                    if told == Words::NONE { 0 } else { u32::MAX }
                };
                above.words[place] |= told;
                above.touched[at] |= u64::from(told != 0) << bit;
            }
        }
    }
}

impl Exit<'_> {
    /// The bits of one word that the node adds to the level above.
    #[inline(always)]
    fn word(set: &TwigSet, passed: &[RowIx], group: &Group, number: usize, word: usize, found: u64) -> u64 {
        let mut told = group.word_satisfied(word, found);
        if told != 0 {
            let mut asked = 0;
            for row in passed {
                let inner = &set.rows.get(*row).inner;
                if let Some(at) = inner.all_of(number as u32) {
                    asked |= set.rows.words(at).0[word];
                } else if !inner.few.is_empty() {
                    let of_all = (number * GROUP_WORDS + word) as u32;
                    let found = inner.few.binary_search_by_key(&of_all, |(word, _)| *word);
                    asked |= found.map_or(0, |found| inner.few[found].1);
                }
            }
            told &= asked;
        }
        told | found & group.descendant.0[word]
    }

    /// The bits of all words of a group that the node adds to the level above.
    #[inline(always)]
    fn all(set: &TwigSet, passed: &[RowIx], group: &Group, number: usize, found: &Words) -> Words {
        let mut told = Words::NONE;
        let mut is_asked = false;
        for row in passed {
            let inner = &set.rows.get(*row).inner;
            if let Some(at) = inner.all_of(number as u32) {
                told.add(set.rows.words(at));
                is_asked = true;
            } else if !inner.few.is_empty() {
                for (word, bits) in &inner.few[inner.few_of(number as u32)] {
                    told.0[*word as usize % GROUP_WORDS] |= bits;
                    is_asked = true;
                }
            }
        }
        if is_asked {
            let satisfied = group.satisfied(found);
            for word in 0..GROUP_WORDS {
                told.0[word] &= satisfied.0[word];
            }
        }
        for word in 0..GROUP_WORDS {
            told.0[word] |= found.0[word] & group.descendant.0[word];
        }
        told
    }
}
