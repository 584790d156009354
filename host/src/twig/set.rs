//! Many twigs asked of a document at once: a bit for each node of each, and words of bits for each level of the document.
//!
//! Bit *q* of level *l* says that a node of the document, below the one that is open at level *l*, matches node *q* of a twig with all that is below it: a child, where *q*'s axis is `/`, and any below where it is `//`.
//! When a node ends, what matches it is told to the level above:
//!
//! ```text
//! m        = (leaf | satisfied(S[l])) & passed              whose name and value it has, and all of whose children were found
//! S[l - 1] |= m | (S[l] & descendant)                       `//` is told upwards again and again
//! S[l]     = 0
//! ```
//!
//! So a boolean answer needs neither the seed's push stack nor slots: a twig matches if what is below its root was told to the document itself. *Satisfied* is a node all of whose children's bits are set
//! (`layout.rs`). *Passed* are the nodes of some rows (`rows.rs`): that of `*`, that of the name, and those of tests that the value passes. A node of the document with nothing below it satisfies
//! only nodes of twigs that have nothing below them, so all that it takes are its rows, and these once a level.
//!
//! Twigs are in groups of 32 words (`group.rs`), and a row has words of those groups only where it has bits. What no row touched need not be looked at: a document's work is not that of all twigs, but of
//! the groups that know its names and values. Twigs share no bits, so they are added and removed without a look at others; twigs that are the same share all, and are asked once.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::FixedState;

use super::group::{Group, Taken};
use super::layout::{Layout, MAX_BITS, MAX_CHILDREN};
use super::matcher::TwigMatcher;
use super::rows::{ANY_ATTRIBUTE, ANY_ELEMENT, RowIx, RowSet};
use super::values::Values;
use super::{Name, NameTest, Twig, TwigNode};

/// Why a twig cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes {bits} bits, one for each node and one for each that has others below it, of {MAX_BITS}; and one of its nodes has {children} right below it, where {MAX_CHILDREN} can be"
)]
pub struct TooLarge {
    /// How many it would take.
    pub bits: usize,
    /// Nodes right below one other, at most.
    pub children: usize,
}

/// A twig of a set, by its number: that of one that was removed is given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TwigIx(pub(super) u32);

impl TwigIx {
    /// The number: less than the most twigs that there were at a time.
    #[must_use]
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// Where a twig is.
#[derive(Clone, Debug)]
struct Place {
    group: u32,
    taken: Taken,
    /// The rows that have its bits.
    rows: Vec<RowIx>,
}

/// What all nodes of documents are called that pass the same tests.
pub type TagIx = u32;

/// Elements that no twig names, with those of arrays.
pub const OTHER: TagIx = 0;
/// Attributes that none names.
pub const OTHER_ATTRIBUTE: TagIx = 1;

/// A name that twigs ask for.
#[derive(Clone, Debug, Default)]
pub struct Tag {
    /// Whether attributes have it, and not elements.
    pub is_attribute: bool,
    /// The nodes of this name without a test of their value.
    pub row: Option<RowIx>,
    /// The tests of the others.
    pub values: Option<Box<Values>>,
}

/// Twigs, by bits.
#[derive(Clone, Debug)]
pub struct TwigSet {
    elements: HashMap<Box<[u8]>, TagIx, FixedState>,
    attributes: HashMap<Box<[u8]>, TagIx, FixedState>,
    pub(super) tags: Vec<Tag>,
    /// The tests of nodes `*` and `@*`.
    pub(super) any: [Option<Box<Values>>; 2],
    pub(super) rows: RowSet,
    pub(super) groups: Vec<Group>,
    /// Groups of which bits were given back.
    holes: BTreeSet<usize>,
    places: Vec<Option<Place>>,
    /// Numbers that are free.
    free: Vec<u32>,
}

impl Default for TwigSet {
    fn default() -> Self {
        Self {
            elements: HashMap::default(),
            attributes: HashMap::default(),
            tags: vec![Tag::default(), Tag { is_attribute: true, ..Tag::default() }],
            any: [None, None],
            rows: RowSet::default(),
            groups: Vec::new(),
            holes: BTreeSet::new(),
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl TwigSet {
    /// Adds a twig.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn add(&mut self, twig: &Twig) -> Result<TwigIx, TooLarge> {
        let layout = Layout::of(twig)?;
        // What was given back is used again, then the last group's rest.
        let last = self.groups.len().checked_sub(1);
        let mut open = self.holes.iter().copied().chain(last);
        let found = open.find_map(|group| Some((group, self.groups[group].room(&layout)?)));
        let (group, room) = found.unwrap_or_else(|| {
            self.groups.push(Group::default());
            (self.groups.len() - 1, Default::default())
        });
        let number = self.free.pop().unwrap_or(self.places.len() as u32);
        if number as usize == self.places.len() {
            self.places.push(None);
        }
        let taken = self.groups[group].add(twig, &layout, room, number);
        let nodes = twig.nodes();
        let mut is_leaf = vec![true; nodes.len()];
        nodes.iter().filter_map(|node| node.parent).for_each(|parent| is_leaf[parent] = false);
        let rows: Vec<RowIx> = nodes.iter().map(|node| self.row(node)).collect();
        for ((row, report), is_leaf) in rows.iter().zip(&layout.reports).zip(is_leaf) {
            let bit = 1 << (report.at + room.at);
            self.rows.set(*row, group as u32, (report.word + room.word, bit), is_leaf);
        }
        self.places[number as usize] = Some(Place { group: group as u32, taken, rows });
        Ok(TwigIx(number))
    }

    /// The row of those that pass a node's tests.
    fn row(&mut self, TwigNode { name, values, .. }: &TwigNode) -> RowIx {
        let tag = match name {
            NameTest::Name(name) => self.named(name, false),
            NameTest::Attribute(name) => self.named(name, true),
            NameTest::Any | NameTest::AnyAttribute => {
                let is_attribute = *name == NameTest::AnyAttribute;
                if values.is_empty() {
                    return if is_attribute { ANY_ATTRIBUTE } else { ANY_ELEMENT };
                }
                let Self { any, rows, .. } = self;
                let of_any = any[usize::from(is_attribute)].get_or_insert_default();
                return of_any.row(values, || rows.push());
            }
        };
        let Self { tags, rows, .. } = self;
        let Tag { row, values: of_tag, .. } = &mut tags[tag as usize];
        if values.is_empty() {
            return *row.get_or_insert_with(|| rows.push());
        }
        of_tag.get_or_insert_default().row(values, || rows.push())
    }

    fn named(&mut self, name: &str, is_attribute: bool) -> TagIx {
        let Self { elements, attributes, tags, .. } = self;
        let known = if is_attribute { attributes } else { elements };
        *known.entry(name.as_bytes().into()).or_insert_with(|| {
            tags.push(Tag { is_attribute, ..Tag::default() });
            (tags.len() - 1) as TagIx
        })
    }

    /// Removes a twig: its bits and its number are free for others. The names and values that it alone asked for stay known.
    ///
    /// # Panics
    /// If there is no such twig.
    pub fn remove(&mut self, twig: TwigIx) {
        let place = self.places[twig.0 as usize].take();
        let Place { group, taken, mut rows } = place.unwrap_or_else(|| panic!("{twig:?} was removed before"));
        self.free.push(twig.0);
        self.holes.insert(group as usize);
        self.groups[group as usize].remove(&taken);
        rows.sort_unstable();
        rows.dedup();
        rows.into_iter().for_each(|row| self.rows.clear(row, group, taken.words()));
    }

    /// A matcher for documents.
    #[must_use]
    pub fn matcher(&self) -> TwigMatcher<'_> {
        TwigMatcher::new(self)
    }

    /// The names that elements, or members, are asked for, and what these are called.
    pub(super) fn elements(&self) -> impl Iterator<Item = (&[u8], TagIx)> {
        self.elements.iter().map(|(name, tag)| (&**name, *tag))
    }

    /// The same of attributes.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&[u8], TagIx)> {
        self.attributes.iter().map(|(name, tag)| (&**name, *tag))
    }

    /// What nodes of this name are called, for [`TwigMatcher::open_tag`]. As long as no twig is added.
    #[inline]
    #[must_use]
    pub fn tag(&self, name: Name<'_>) -> TagIx {
        match name {
            Name::Element(name) => self.elements.get(name).copied().unwrap_or(OTHER),
            Name::Attribute(name) => self.attributes.get(name).copied().unwrap_or(OTHER_ATTRIBUTE),
            Name::Item => OTHER,
        }
    }
}
