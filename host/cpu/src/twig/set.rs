//! Many twigs evaluated on a document at once: a bit for each node of each twig, and words of bits for each
//! level of the document.
//!
//! Bit *q* of level *l* belongs to node *q* of a twig. It is set if a document node below the one that is
//! open at level *l* matches *q* and all that is below *q*. If *q*'s axis is `/`, that node is a child of the
//! open node; if it is `//`, any descendant. When a node of the document ends, its matches go to the level
//! above:
//!
//! ```text
//! m        = (leaf | satisfied(S[l])) & passed     its name and value pass, all children were found
//! S[l - 1] |= m | (S[l] & descendant)              nodes of axis `//` go up again at each level
//! S[l]     = 0
//! ```
//!
//! A boolean result thus needs neither the push stack nor the slots of the seed: a twig matches if the bits
//! below its root reach the document itself. The *satisfied* nodes are those all of whose children's bits are
//! set (`layout.rs`). The *passed* nodes are those of some rows (`rows.rs`): the row of `*`, the row of the
//! name, and the rows of tests that the value passes. A node of the document with nothing below it satisfies
//! only twig nodes with nothing below them. So its matches are just its rows, and it adds them once a level.
//!
//! A document that passes none of the rows of a twig's leaves does not match the twig. The row of a leaf that
//! the fewest documents are likely to pass is the twig's *key*. Twigs that are added together are sorted by
//! their keys, so that most documents pass the keys of few groups. The other groups need not be evaluated
//! (`matcher.rs`, and the kernel).
//!
//! Twigs are in groups of 32 words (`group.rs`). A row stores words only for the groups in which it has bits.
//! Words that no row touched are not read: the work for a document depends on the groups that know its names
//! and values, not on all twigs. Twigs share no bits, so one can be added or removed without a change to
//! others.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::FixedState;
use warpath_lang::twig::value::{Operator, ValueTest};
use warpath_lang::twig::{NameTest, Twig, TwigNode};

use super::Name;
use super::group::{Group, Taken};
use super::layout::{Layout, TooLarge};
use super::matcher::{MatcherMemory, TwigMatcher};
use super::rows::{ANY_ATTRIBUTE, ANY_ELEMENT, RowIx, RowTable};
use super::values::ValueTests;

/// The number of a twig in a set. The number of a removed twig is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TwigIx(pub(super) u32);

impl TwigIx {
    /// The number. It is less than the most twigs that the set had at one time.
    #[must_use]
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// The size of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetSize {
    /// Twigs.
    pub twigs: usize,
    /// Bits of all twigs.
    pub bits: usize,
    /// Groups of 2,048 bits. A group is the state a level of one warp, or four of the widest vectors.
    pub groups: usize,
    /// Names of elements and of attributes that twigs test.
    pub names: usize,
    /// Rows, of names and of values that pass the same tests.
    pub rows: usize,
}

/// The bits and rows of a twig.
#[derive(Clone, Debug)]
struct Allocation {
    group: u32,
    taken: Taken,
    /// The rows that have its bits.
    rows: Vec<RowIx>,
    /// The rows of the nodes with nothing below them. The key is one of them, if there are any.
    leaves: Vec<RowIx>,
    key: Option<RowIx>,
}

/// A rough order of how many documents pass the test of a node. Fewer values are equal to a constant than lie
/// beyond one; more nodes have a given name; most pass `*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Breadth {
    OneValue,
    Values,
    Name,
    Any,
}

impl Breadth {
    fn of(TwigNode { name, values, .. }: &TwigNode) -> Self {
        let is_one = |test: &ValueTest| test.operator == Operator::Equal;
        match name {
            _ if values.iter().any(is_one) => Self::OneValue,
            _ if !values.is_empty() => Self::Values,
            NameTest::Name(_) | NameTest::Attribute(_) => Self::Name,
            NameTest::Any | NameTest::AnyAttribute => Self::Any,
        }
    }
}

/// A number shared by all node names of documents that pass the same tests.
pub type TagIx = u32;

/// The tag of elements that no twig names, and of the elements of arrays.
pub const OTHER: TagIx = 0;
/// The tag of attributes that no twig names.
pub const OTHER_ATTRIBUTE: TagIx = 1;

/// A name that twigs test.
#[derive(Clone, Debug, Default)]
pub struct Tag {
    /// `true` for a name of attributes, `false` for a name of elements.
    pub is_attribute: bool,
    /// The row of twig nodes of this name without a test of the value.
    pub row: Option<RowIx>,
    /// The tests of the twig nodes of this name with a test of the value.
    pub values: Option<Box<ValueTests>>,
}

/// A set of twigs, stored as bits.
#[derive(Clone, Debug)]
pub struct TwigSet {
    elements: HashMap<Box<[u8]>, TagIx, FixedState>,
    attributes: HashMap<Box<[u8]>, TagIx, FixedState>,
    pub(super) tags: Vec<Tag>,
    /// The value tests of the twig nodes `*` and `@*`.
    pub(super) any: [Option<Box<ValueTests>>; 2],
    pub(super) rows: RowTable,
    pub(super) groups: Vec<Group>,
    /// Groups with freed bits.
    holes: BTreeSet<usize>,
    allocations: Vec<Option<Allocation>>,
    /// Free numbers of twigs.
    free: Vec<u32>,
}

impl Default for TwigSet {
    fn default() -> Self {
        Self {
            elements: HashMap::default(),
            attributes: HashMap::default(),
            tags: vec![Tag::default(), Tag { is_attribute: true, ..Tag::default() }],
            any: [None, None],
            rows: RowTable::default(),
            groups: Vec::new(),
            holes: BTreeSet::new(),
            allocations: Vec::new(),
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
        let leaves = self.use_leaves(twig);
        Ok(self.place(twig, &layout, leaves))
    }

    /// Adds twigs, those with similar keys side by side. Returns for each twig the result of
    /// [`add`](Self::add).
    pub fn add_all(&mut self, twigs: &[Twig]) -> Vec<Result<TwigIx, TooLarge>> {
        // The number of users of each row is known only after all twigs have counted theirs.
        let mut added: Vec<_> =
            twigs.iter().map(|twig| Layout::of(twig).map(|layout| (layout, self.use_leaves(twig)))).collect();
        let key = |number: usize| Some(self.key(&added[number].as_ref().ok()?.1));
        let mut order: Vec<(Option<(Breadth, RowIx)>, usize)> =
            (0..twigs.len()).filter_map(|number| Some((key(number)?, number))).collect();
        order.sort_unstable();
        let mut numbers: Vec<Option<TwigIx>> = vec![None; twigs.len()];
        for (_, number) in order {
            if let Ok((layout, leaves)) = &mut added[number] {
                numbers[number] = Some(self.place(&twigs[number], layout, std::mem::take(leaves)));
            }
        }
        let told = added.into_iter().zip(numbers).map(|(added, number)| {
            added.map(|_| number.unwrap_or_else(|| unreachable!("what was laid out was placed")))
        });
        told.collect()
    }

    /// Returns the rows of a twig's nodes with nothing below them, and counts the twig as their user.
    fn use_leaves(&mut self, twig: &Twig) -> Vec<(Breadth, RowIx)> {
        let nodes = twig.nodes();
        let mut is_leaf = vec![true; nodes.len()];
        nodes.iter().filter_map(|node| node.parent).for_each(|parent| is_leaf[parent] = false);
        let leaves = nodes.iter().zip(is_leaf).filter(|(_, is_leaf)| *is_leaf);
        let leaves: Vec<_> = leaves.map(|(node, _)| (Breadth::of(node), self.row(node))).collect();
        leaves.iter().for_each(|(_, row)| self.rows.get_mut(*row).uses += 1);
        leaves
    }

    /// The key among the rows of leaves: of the narrowest rows, the one that the fewest twigs use.
    fn key(&self, leaves: &[(Breadth, RowIx)]) -> Option<(Breadth, RowIx)> {
        leaves.iter().copied().min_by_key(|(breadth, row)| (*breadth, self.rows.get(*row).uses, *row))
    }

    /// Assigns bits to a twig.
    fn place(&mut self, twig: &Twig, layout: &Layout, leaves: Vec<(Breadth, RowIx)>) -> TwigIx {
        // Freed bits are used first, then the rest of the last group.
        let last = self.groups.len().checked_sub(1);
        let mut open = self.holes.iter().copied().chain(last);
        let found = open.find_map(|group| Some((group, self.groups[group].room(layout)?)));
        let (group, room) = found.unwrap_or_else(|| {
            self.groups.push(Group::default());
            (self.groups.len() - 1, Default::default())
        });
        let number = self.free.pop().unwrap_or(self.allocations.len() as u32);
        if number as usize == self.allocations.len() {
            self.allocations.push(None);
        }
        let taken = self.groups[group].add(twig, layout, room, number);
        let nodes = twig.nodes();
        let mut is_leaf = vec![true; nodes.len()];
        nodes.iter().filter_map(|node| node.parent).for_each(|parent| is_leaf[parent] = false);
        let rows: Vec<RowIx> = nodes.iter().map(|node| self.row(node)).collect();
        for ((row, report), is_leaf) in rows.iter().zip(&layout.reports).zip(is_leaf) {
            let bit = 1 << (report.at + room.at);
            self.rows.set(*row, group as u32, report.word + room.word, bit, is_leaf);
        }
        let key = self.key(&leaves).map(|(_, row)| row);
        if let Some(key) = key {
            self.rows.get_mut(key).add_key(group as u32);
        }
        let leaves = leaves.into_iter().map(|(_, row)| row).collect();
        self.allocations[number as usize] =
            Some(Allocation { group: group as u32, taken, rows, leaves, key });
        TwigIx(number)
    }

    /// The row of the document nodes that pass a twig node's tests. Adds the row if it is new.
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

    /// Removes a twig, and frees its bits and its number. Names and values that only this twig tests stay
    /// known.
    ///
    /// # Panics
    /// If there is no such twig.
    pub fn remove(&mut self, twig: TwigIx) {
        let place = self.allocations[twig.0 as usize].take();
        let Allocation { group, taken, mut rows, leaves, key } =
            place.unwrap_or_else(|| panic!("{twig:?} was removed before"));
        if let Some(key) = key {
            self.rows.get_mut(key).remove_key(group);
        }
        leaves.into_iter().for_each(|row| self.rows.get_mut(row).uses -= 1);
        self.free.push(twig.0);
        self.holes.insert(group as usize);
        self.groups[group as usize].remove(&taken);
        rows.sort_unstable();
        rows.dedup();
        rows.into_iter().for_each(|row| self.rows.clear(row, group, taken.words()));
    }

    /// The size of the set.
    #[must_use]
    pub fn size(&self) -> SetSize {
        SetSize {
            twigs: self.allocations.iter().flatten().count(),
            bits: self.groups.iter().map(Group::bits).sum(),
            groups: self.groups.len(),
            names: self.elements.len() + self.attributes.len(),
            rows: self.rows.len(),
        }
    }

    /// A matcher for documents.
    #[must_use]
    pub fn matcher(&self) -> TwigMatcher<'_> {
        TwigMatcher::new(self, MatcherMemory::default())
    }

    /// The names of elements, or of members, that twigs test, with their tags.
    pub(super) fn elements(&self) -> impl Iterator<Item = (&[u8], TagIx)> {
        self.elements.iter().map(|(name, tag)| (&**name, *tag))
    }

    /// The names of attributes that twigs test, with their tags.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&[u8], TagIx)> {
        self.attributes.iter().map(|(name, tag)| (&**name, *tag))
    }

    /// The tag of nodes of this name, for [`TwigMatcher::open_tag`]. It is valid until a twig is added.
    #[inline]
    #[must_use]
    pub fn tag(&self, name: Name<'_>) -> TagIx {
        match name {
            Name::Element(name) | Name::Member(name) => self.elements.get(name).copied().unwrap_or(OTHER),
            Name::Attribute(name) => self.attributes.get(name).copied().unwrap_or(OTHER_ATTRIBUTE),
            Name::Item => OTHER,
        }
    }
}
