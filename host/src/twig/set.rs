//! Many twigs asked of a document at once: a bit for each node of each, and a row of words for each level of the document.
//!
//! Bit *q* of level *l* says that a node of the document, below the one that is open at level *l*, matches node *q* of a twig with all that is below it: a child, where *q*'s axis is `/`, and
//! any below where it is `//`. When a node ends, what matches it is told to the level above:
//!
//! ```text
//! m        = (leaf | satisfied(S[l])) & tag[name]           whose name it has, and all of whose children were found
//! S[l - 1] |= m | (S[l] & descendant)                       `//` is told upwards again and again
//! S[l]     = 0
//! ```
//!
//! So a boolean answer needs neither the seed's push stack nor slots: a twig matches if what is below its root was told to the document itself. *Satisfied* is a node all of whose children's bits are set. A twig's
//! bits lie in one word, breadth first, with a bit behind the children of each node that is never set, its *guard*:
//!
//! ```text
//! /a[b][//c/d]      bits   a .  b c .  d .            `.`: guards of the document, of a and of c
//! found                    0 0  1 1 0  1 0            S[l]: b, c and d
//! + 1 at each start        1 0  0 0 1  0 1            the carry runs through children that are all set, into their guard
//! gathered                 guards of a, c: 1 1
//! scattered                to a and c
//! ```
//!
//! Guards stand in the order of their owners, so that one `pext` and one `pdep` bring them there. A word has all of a twig or nothing of it, so twigs are added and removed without a look at the others.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::mem::take;

use super::{Axis, Events, Name, NameTest, Twig, Value, ValueTest};
use crate::cpu::{Isa, Simd, Work};

/// Bits of a twig, at most: one for each node and one for each that has others below it.
pub const MAX_BITS: usize = 64;

/// Why a twig cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes {bits} bits, one for each node and one for each that has others below it, and there is room for {MAX_BITS}"
)]
pub struct TooLarge {
    /// How many it would take.
    pub bits: usize,
}

/// A twig of a set, by its number: that of one that was removed is given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TwigIx(u32);

impl TwigIx {
    /// The number: less than the most twigs that there were at a time.
    #[must_use]
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// Where a twig is.
#[derive(Clone, Copy, Debug)]
struct Place {
    word: usize,
    /// Its bits.
    bits: u64,
    /// The guard of the document's children: what the carry reaches at the end is the answer.
    guard: u32,
}

/// What all nodes of documents are called that have the same bits.
type Tag = usize;

/// Elements that no twig names, attributes that none does, and elements of arrays: the first three tags.
const OTHER: Tag = 0;
const OTHER_ATTRIBUTE: Tag = 1;
const ITEM: Tag = 2;

/// Twigs, by bits.
#[derive(Clone, Debug)]
pub struct TwigSet {
    elements: HashMap<Box<[u8]>, Tag>,
    attributes: HashMap<Box<[u8]>, Tag>,
    words: Vec<Masks>,
    /// For each tag the nodes that it passes the test of, a word for each of `words`.
    tags: Vec<Vec<u64>>,
    /// The tests of values of each tag, by word and bit: whoever fails one is not passed.
    values: Vec<Vec<Tested>>,
    /// Which bits of each word are taken.
    taken: Vec<u64>,
    /// Words of which bits were given back.
    holes: BTreeSet<usize>,
    places: Vec<Option<Place>>,
    /// Whose guard of the document a bit of a word is.
    owners: Vec<[u32; 64]>,
    /// Numbers that are free.
    free: Vec<u32>,
}

/// What the bits of a word are.
#[derive(Clone, Copy, Debug, Default)]
struct Masks {
    /// Nodes without others below them.
    leaf: u64,
    /// Nodes whose axis is `//`.
    descendant: u64,
    /// All nodes.
    nodes: u64,
    /// The first child of each node and of the document.
    starts: u64,
    /// The guards of nodes, and, in the same order, the nodes.
    guards: u64,
    inner: u64,
    /// The guards of documents.
    documents: u64,
}

/// A test of the value of a node.
#[derive(Clone, Debug)]
struct Tested {
    word: usize,
    bit: u64,
    test: ValueTest,
}

impl Default for TwigSet {
    fn default() -> Self {
        let (tags, values) = (vec![Vec::new(); 3], vec![Vec::new(); 3]);
        Self {
            elements: HashMap::new(),
            attributes: HashMap::new(),
            words: Vec::new(),
            tags,
            values,
            taken: Vec::new(),
            holes: BTreeSet::new(),
            places: Vec::new(),
            owners: Vec::new(),
            free: Vec::new(),
        }
    }
}

/// The lowest `count` bits.
fn low(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { !0 }
}

/// Where the bits of a twig's nodes are, from the first of its bits on, and guards.
struct Layout {
    nodes: Vec<usize>,
    /// For the document and behind it each node: the first child and the guard behind the last, if it has any.
    children: Vec<Option<(usize, usize)>>,
    bits: usize,
}

impl Layout {
    fn of(twig: &Twig) -> Self {
        let nodes = twig.nodes();
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); nodes.len() + 1];
        for (at, node) in nodes.iter().enumerate() {
            below[node.parent.map_or(0, |parent| parent + 1)].push(at);
        }
        let mut layout = Self { nodes: vec![0; nodes.len()], children: vec![None; nodes.len() + 1], bits: 0 };
        let mut owners = VecDeque::from([0]);
        while let Some(owner) = owners.pop_front() {
            // The document has a guard even if nothing is asked of it.
            if below[owner].is_empty() && owner > 0 {
                continue;
            }
            let first = layout.bits;
            for child in &below[owner] {
                layout.nodes[*child] = layout.bits;
                layout.bits += 1;
                owners.push_back(child + 1);
            }
            layout.children[owner] = Some((first, layout.bits));
            layout.bits += 1;
        }
        layout
    }
}

impl TwigSet {
    /// Adds a twig.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn add(&mut self, twig: &Twig) -> Result<TwigIx, TooLarge> {
        let layout = Layout::of(twig);
        let (word, base) = self.room(layout.bits)?;
        self.taken[word] |= low(layout.bits) << base;
        if self.taken[word] == u64::MAX {
            self.holes.remove(&word);
        }
        let masks = &mut self.words[word];
        let bit = |at: usize| 1_u64 << (base + at);
        for (owner, (first, guard)) in
            layout.children.iter().enumerate().filter_map(|(at, run)| Some((at, (*run)?)))
        {
            masks.starts |= bit(first);
            if owner > 0 {
                masks.guards |= bit(guard);
                masks.inner |= bit(layout.nodes[owner - 1]);
            }
        }
        for (node, at) in twig.nodes().iter().zip(&layout.nodes) {
            let masks = &mut self.words[word];
            masks.nodes |= bit(*at);
            if node.axis == Axis::Descendant {
                masks.descendant |= bit(*at);
            }
        }
        for (node, at) in twig.nodes().iter().zip(&layout.nodes) {
            let tags = self.tags_of(&node.name);
            for tag in tags {
                self.tags[tag][word] |= bit(*at);
                self.values[tag].extend(node.values.iter().map(|test| Tested {
                    word,
                    bit: bit(*at),
                    test: test.clone(),
                }));
            }
        }
        let masks = &mut self.words[word];
        masks.leaf = masks.nodes & !masks.inner;
        let (_, guard) = layout.children[0].unwrap_or_default();
        let place = Place { word, bits: low(layout.bits) << base, guard: (base + guard) as u32 };
        let number = self.free.pop().unwrap_or(self.places.len() as u32);
        if number as usize == self.places.len() {
            self.places.push(None);
        }
        self.places[number as usize] = Some(place);
        self.words[word].documents |= 1 << place.guard;
        self.owners[word][place.guard as usize] = number;
        Ok(TwigIx(number))
    }

    /// Room for so many bits side by side: a word, and the first of them.
    fn room(&mut self, bits: usize) -> Result<(usize, usize), TooLarge> {
        if bits > MAX_BITS {
            return Err(TooLarge { bits });
        }
        // What was given back is used again, then the last word's rest.
        let last = self.words.len().checked_sub(1);
        let base_in = |word: usize| (0..=64 - bits).find(|base| self.taken[word] >> base & low(bits) == 0);
        let found = self.holes.iter().copied().chain(last).find_map(|word| Some((word, base_in(word)?)));
        Ok(found.unwrap_or_else(|| {
            self.words.push(Masks::default());
            self.taken.push(0);
            self.owners.push([0; 64]);
            self.tags.iter_mut().for_each(|row| row.push(0));
            (self.words.len() - 1, 0)
        }))
    }

    /// The tags that pass a test of names. One that is named for the first time passes what others pass that are not named.
    fn tags_of(&mut self, name: &NameTest) -> Vec<Tag> {
        match name {
            NameTest::Name(name) => vec![self.named(name, false)],
            NameTest::Attribute(name) => vec![self.named(name, true)],
            NameTest::Any => {
                let mut all: Vec<Tag> = self.elements.values().copied().chain([OTHER, ITEM]).collect();
                all.sort_unstable();
                all
            }
            NameTest::AnyAttribute => {
                let mut all: Vec<Tag> = self.attributes.values().copied().chain([OTHER_ATTRIBUTE]).collect();
                all.sort_unstable();
                all
            }
        }
    }

    fn named(&mut self, name: &str, is_attribute: bool) -> Tag {
        let (known, other) =
            if is_attribute { (&mut self.attributes, OTHER_ATTRIBUTE) } else { (&mut self.elements, OTHER) };
        if let Some(tag) = known.get(name.as_bytes()) {
            return *tag;
        }
        let tag = self.tags.len();
        known.insert(name.as_bytes().into(), tag);
        let (row, tests) = (self.tags[other].clone(), self.values[other].clone());
        self.tags.push(row);
        self.values.push(tests);
        tag
    }

    /// Removes a twig: its bits and its number are free for others. The names that it alone asked for stay known.
    ///
    /// # Panics
    /// If there is no such twig.
    pub fn remove(&mut self, twig: TwigIx) {
        let place = self.places[twig.0 as usize].take();
        let Place { word, bits, .. } = place.unwrap_or_else(|| panic!("{twig:?} was removed before"));
        self.free.push(twig.0);
        self.taken[word] &= !bits;
        self.holes.insert(word);
        let Masks { leaf, descendant, nodes, starts, guards, inner, documents } = &mut self.words[word];
        [leaf, descendant, nodes, starts, guards, inner, documents]
            .into_iter()
            .for_each(|mask| *mask &= !bits);
        self.tags.iter_mut().for_each(|row| row[word] &= !bits);
        self.values
            .iter_mut()
            .for_each(|tests| tests.retain(|test| test.word != word || test.bit & bits == 0));
    }

    /// A matcher for documents.
    #[must_use]
    pub fn matcher(&self) -> TwigMatcher<'_> {
        TwigMatcher {
            set: self,
            isa: Isa::best(),
            found: vec![0; self.words.len()],
            open: Vec::new(),
            row: Vec::new(),
            depth: 0,
        }
    }

    fn tag(&self, name: Name<'_>) -> Tag {
        match name {
            Name::Element(name) => self.elements.get(name).copied().unwrap_or(OTHER),
            Name::Attribute(name) => self.attributes.get(name).copied().unwrap_or(OTHER_ATTRIBUTE),
            Name::Item => ITEM,
        }
    }
}

/// Asks all twigs of a set of one document after the other.
#[derive(Clone, Debug)]
pub struct TwigMatcher<'a> {
    set: &'a TwigSet,
    isa: Isa,
    /// What was found, for the document and each node that is open: as many words as the set has. What is behind is zero.
    found: Vec<u64>,
    /// What the nodes are called that are open.
    open: Vec<Tag>,
    /// The bits of a tag, but for values that fail.
    row: Vec<u64>,
    depth: usize,
}

impl TwigMatcher<'_> {
    /// Forgets the document, to be told of another.
    pub fn reset(&mut self) {
        self.found.fill(0);
        self.open.clear();
        self.depth = 0;
    }

    /// The twigs that match the document, once it has ended, in no order.
    pub fn matches(&self) -> impl Iterator<Item = TwigIx> {
        let words = self.set.words.iter().zip(&self.found).zip(&self.set.owners);
        words.flat_map(|((masks, found), owners)| {
            // The document's own children: if all are there, the carry reaches their guard.
            let mut reached = found.wrapping_add(masks.starts) & masks.documents;
            std::iter::from_fn(move || {
                let bit = (reached != 0).then(|| reached.trailing_zeros())?;
                reached &= reached - 1;
                Some(TwigIx(owners[bit as usize]))
            })
        })
    }
}

impl Events for TwigMatcher<'_> {
    fn open(&mut self, name: Name<'_>) -> bool {
        let (tag, words) = (self.set.tag(name), self.set.words.len());
        self.depth += 1;
        self.open.push(tag);
        if self.found.len() < (self.depth + 1) * words {
            self.found.resize((self.depth + 1) * words, 0);
        }
        !self.set.values[tag].is_empty()
    }

    fn close(&mut self, value: Value<'_>) {
        let Some(tag) = self.open.pop() else { return };
        let (set, words) = (self.set, self.set.words.len());
        let mut row = take(&mut self.row);
        let passed = if set.values[tag].is_empty() {
            &set.tags[tag][..]
        } else {
            row.clear();
            row.extend_from_slice(&set.tags[tag]);
            for Tested { word, bit, test } in &set.values[tag] {
                if row[*word] & bit != 0 && !test.passes(value) {
                    row[*word] &= !bit;
                }
            }
            &row[..]
        };
        let (above, own) = self.found[(self.depth - 1) * words..][..2 * words].split_at_mut(words);
        self.isa.run(Close { masks: &set.words, passed, own, above });
        self.depth -= 1;
        self.row = row;
    }
}

/// A node ends: `own` is what was found below it, and becomes zero; `above` what was found below the node that it is in.
struct Close<'a> {
    masks: &'a [Masks],
    passed: &'a [u64],
    own: &'a mut [u64],
    above: &'a mut [u64],
}

impl Work for Close<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (((masks, passed), own), above) in
            self.masks.iter().zip(self.passed).zip(self.own).zip(self.above)
        {
            let found = take(own);
            let mut matched = masks.leaf;
            if found != 0 {
                let carried = found.wrapping_add(masks.starts);
                matched |= simd.scatter(simd.gather(carried, masks.guards), masks.inner);
            }
            *above |= matched & passed | found & masks.descendant;
        }
    }
}
