//! YFilter, the rival of twigs on CPUs. Tests and benches compare [`warpath_cpu::twig`] with it.
//!
//! Source: Diao, Altinel, Franklin, Zhang and Fischer, "Path Sharing and Predicate Evaluation for
//! High-Performance XML Filtering", ACM TODS 2003.
//!
//! All paths of all twigs, from the root to a leaf, form one automaton. Paths with a common beginning share
//! states. A state has a transition for each name, one for `*` and one for `@*`. It also has a transition
//! without input to its *`//`-state*, which stays active for all nodes below:
//!
//! ```text
//! twigs         automaton                    document          reached    active `//`-states
//! /a/b          0 ─a→ 1 ─b→ (2)              <a>               1 (7)      6
//! /a[c]//d      │     ├──c→ (3)                <c/>            (3) (7)    6 4
//! //*           │     └─→ 4↺ ─d→ (5)           <x> <d/> </x>   (7) and (5) (7)
//!               └─→ 6↺ ─*→ (7)               </a>                         6           ( ) accepting
//! ```
//!
//! The states that a node reaches are kept on a stack until the node closes. The node's children follow the
//! transitions of these states and of all active `//`-states. Except for `↺` the automaton is a tree.
//! Therefore no node reaches a state twice, and sets of states are plain lists.
//!
//! A twig with a single path matches once its accepting state is reached. The other twigs need what the paper
//! calls post-processing. When an accepting state is reached, it records *rows*. A row has the nodes of the
//! document that match the steps at which the twig branches; there is a row for each way to match them.
//! Above, both paths of the second twig record the node `<a>`. At the end of the document, rows are joined
//! for the twigs whose paths were all found. The join goes from the leaves upwards: it keeps a branching node
//! that all of its children's rows have.
//!
//! Values follow the paper's "selection postponed": steps with tests are columns of the rows, too. Rows that
//! fail a test are removed before the join.
//!
//! Attributes are nodes that `*` does not match. Elements of arrays are matched by `*` alone. Time and memory
//! grow with the number of rows. If names are nested in themselves, this is the number of ways to match the
//! branching steps.

mod rows;
mod runner;

use std::collections::HashMap;
use std::mem::take;

use warpath_cpu::twig::Name;
use warpath_lang::twig::value::ValueTest;
use warpath_lang::twig::{Axis, NameTest, Twig};

pub use runner::Runner;

/// The tag of a node's name. The twigs of a [`YFilter`] do not distinguish nodes with the same tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(u32);

/// The tag of elements that no twig names, of attributes that no twig names, and of elements of arrays.
const OTHER: Tag = Tag(0);
const OTHER_ATTRIBUTE: Tag = Tag(1);
const ITEM: Tag = Tag(2);

/// The number of a state of the automaton.
type StateIx = u32;
/// The number of a path of the twigs, with the columns of its rows.
type PathIx = u32;
/// The number of the tests of a step's value.
type TestIx = u32;

/// The state for the document. No transition leads to it, so its number also means "no state".
const START: StateIx = 0;
const NONE: StateIx = START;

/// Many twigs, as one automaton for their paths.
#[derive(Clone, Debug)]
pub struct YFilter {
    elements: HashMap<Box<[u8]>, Tag>,
    attributes: HashMap<Box<[u8]>, Tag>,
    /// For each tag, true if it is the tag of attributes.
    is_attribute: Vec<bool>,
    states: Vec<State>,
    paths: Vec<Path>,
    hops: Vec<Hop>,
    tests: Vec<Vec<ValueTest>>,
    twigs: Vec<Joined>,
    /// The twigs without nodes. Every document matches them.
    empty: Vec<usize>,
}

/// A state or a `//`-state. A `//`-state has transitions only.
#[derive(Clone, Debug, Default)]
struct State {
    by_tag: ByTag,
    /// The transitions by `*` and by `@*`.
    any: [StateIx; 2],
    /// True if the state has a transition by a name, by `*` or by `@*`.
    has_steps: bool,
    /// The `//`-state, or [`NONE`].
    descendants: StateIx,
    /// The paths that end here. A path with columns has the way up to its first column.
    accepts: Vec<(PathIx, Option<Climb>)>,
    /// The tests of the values of nodes that match the last step.
    tests: Vec<TestIx>,
}

/// The transitions of a state by names.
#[derive(Clone, Debug)]
enum ByTag {
    /// A list of a few transitions.
    Listed(Vec<(Tag, StateIx)>),
    /// The state for each tag. This is the fastest form, and small for the few hundred names of a document
    /// type.
    Row(Vec<StateIx>),
}

/// A path from the document to a leaf, and the columns that are recorded for it.
#[derive(Clone, Debug)]
struct Path {
    /// The columns of its rows, from the leaf upwards. A path without columns needs only to be found.
    columns: Vec<Column>,
    is_tested: bool,
    /// The twigs with this path. A twig is listed once for each time that it has the path.
    twigs: Vec<u32>,
}

/// A step whose nodes are recorded, and the way to it from the column below or from the end of the path.
#[derive(Clone, Debug)]
struct Column {
    climb: Climb,
    is_branching: bool,
    test: Option<TestIx>,
}

/// The way from a step up to another: first the hops, as a range of all hops, and then `rise` levels.
#[derive(Clone, Copy, Debug)]
struct Climb {
    hops: (u32, u32),
    rise: u32,
}

/// A part of a way up. It goes up `rise` levels, by steps with `/`, to a step with `//`. From there it goes
/// to each level above that made `descendants` active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    rise: u32,
    descendants: StateIx,
}

/// The paths of a twig, and the joins that decide whether it matches.
#[derive(Clone, Debug)]
struct Joined {
    /// The paths from the document to the leaves.
    paths: Vec<PathIx>,
    /// The joins below the document. All of them must be met.
    below: Vec<Join>,
}

/// A part of a twig that must be below a branching node.
#[derive(Clone, Debug)]
enum Join {
    /// A path to a leaf.
    Path(PathIx),
    /// A branching node and all that is below it. `width` is the number of branching nodes on the way to it,
    /// itself included.
    Branch { width: usize, below: Vec<Join> },
}

impl Climb {
    #[inline]
    fn has_hops(self) -> bool {
        self.hops.0 < self.hops.1
    }
}

impl Default for ByTag {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl ByTag {
    /// The greatest number of transitions that are searched one by one.
    const FEW: usize = 6;

    #[inline]
    fn get(&self, tag: Tag) -> StateIx {
        match self {
            Self::Listed(list) => list.iter().find(|(known, _)| *known == tag).map_or(NONE, |(_, to)| *to),
            Self::Row(row) => row.get(tag.0 as usize).copied().unwrap_or(NONE),
        }
    }

    fn insert(&mut self, tag: Tag, to: StateIx) {
        match self {
            Self::Listed(list) if list.len() < Self::FEW => list.push((tag, to)),
            Self::Listed(list) => {
                let list = take(list);
                *self = Self::Row(Vec::new());
                list.into_iter().chain([(tag, to)]).for_each(|(tag, to)| self.insert(tag, to));
            }
            Self::Row(row) => {
                let at = tag.0 as usize;
                row.resize(row.len().max(at + 1), NONE);
                row[at] = to;
            }
        }
    }
}

impl Default for YFilter {
    fn default() -> Self {
        Self {
            elements: HashMap::new(),
            attributes: HashMap::new(),
            is_attribute: vec![false, true, false],
            states: vec![State::default()],
            paths: Vec::new(),
            hops: Vec::new(),
            tests: Vec::new(),
            twigs: Vec::new(),
            empty: Vec::new(),
        }
    }
}

impl YFilter {
    /// Adds a twig of any size, and returns its number. Twigs are numbered from 0, in the order in which they
    /// are added.
    pub fn add(&mut self, twig: &Twig) -> usize {
        let (number, nodes) = (self.twigs.len(), twig.nodes());
        let mut children = vec![0; nodes.len()];
        nodes.iter().filter_map(|node| node.parent).for_each(|parent| children[parent] += 1);

        // For each node: its state, the number of its tests if it has any, and the number of branching nodes
        // on the way to it, itself included.
        let mut places: Vec<(StateIx, Option<TestIx>, usize)> = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            let (above, _, width) = node.parent.map_or((START, None, 0), |parent| places[parent]);
            let state = self.step(above, node.axis, &node.name);
            let test = (!node.values.is_empty()).then(|| self.test(state, &node.values));
            places.push((state, test, width + usize::from(children[at] > 1)));
        }

        // The joins below each node, and below the document. The loop goes backwards, because parents precede
        // their children.
        let mut below: Vec<Vec<Join>> = vec![Vec::new(); nodes.len() + 1];
        let mut joined = Joined { paths: Vec::new(), below: Vec::new() };
        for (at, node) in nodes.iter().enumerate().rev() {
            let mut joins = take(&mut below[at + 1]);
            let join = match joins.len() {
                0 => {
                    let columns = self.columns(twig, at, &places, &children);
                    let path = self.path(places[at].0, columns, number);
                    joined.paths.push(path);
                    Join::Path(path)
                }
                1 => joins.remove(0),
                _ => Join::Branch { width: places[at].2, below: joins },
            };
            below[node.parent.map_or(0, |parent| parent + 1)].push(join);
        }
        joined.below = take(&mut below[0]);
        if nodes.is_empty() {
            self.empty.push(number);
        }
        self.twigs.push(joined);
        number
    }

    /// Returns the state after a step, and adds the state if it is new.
    fn step(&mut self, from: StateIx, axis: Axis, name: &NameTest) -> StateIx {
        let from = match axis {
            Axis::Child => from as usize,
            Axis::Descendant => {
                if self.states[from as usize].descendants == NONE {
                    self.states[from as usize].descendants = self.state();
                }
                self.states[from as usize].descendants as usize
            }
        };
        let tag = match name {
            NameTest::Name(name) => self.named(name, false),
            NameTest::Attribute(name) => self.named(name, true),
            NameTest::Any => OTHER,
            NameTest::AnyAttribute => OTHER_ATTRIBUTE,
        };
        let is_named = tag != OTHER && tag != OTHER_ATTRIBUTE;
        let any = usize::from(tag == OTHER_ATTRIBUTE);
        let known = if is_named { self.states[from].by_tag.get(tag) } else { self.states[from].any[any] };
        if known != NONE {
            return known;
        }
        let to = self.state();
        let state = &mut self.states[from];
        state.has_steps = true;
        if is_named {
            state.by_tag.insert(tag, to);
        } else {
            state.any[any] = to;
        }
        to
    }

    fn state(&mut self) -> StateIx {
        self.states.push(State::default());
        self.states.len() as StateIx - 1
    }

    /// Returns the tag of a name in a twig, and adds the tag if it is new.
    fn named(&mut self, name: &str, is_attribute: bool) -> Tag {
        let known = if is_attribute { &mut self.attributes } else { &mut self.elements };
        *known.entry(name.as_bytes().into()).or_insert_with(|| {
            self.is_attribute.push(is_attribute);
            Tag(self.is_attribute.len() as u32 - 1)
        })
    }

    /// Returns the number of these tests at a state, and adds the tests if they are new.
    fn test(&mut self, state: StateIx, values: &[ValueTest]) -> TestIx {
        let known = &mut self.states[state as usize].tests;
        if let Some(test) = known.iter().find(|test| self.tests[**test as usize] == values) {
            return *test;
        }
        self.tests.push(values.to_vec());
        known.push(self.tests.len() as TestIx - 1);
        self.tests.len() as TestIx - 1
    }

    /// The columns of the path to a leaf: its nodes that branch or are tested, from the leaf upwards.
    fn columns(
        &mut self,
        twig: &Twig,
        leaf: usize,
        places: &[(StateIx, Option<TestIx>, usize)],
        children: &[usize],
    ) -> Vec<Column> {
        let mut columns = Vec::new();
        let (mut first, mut rise) = (self.hops.len() as u32, 0);
        let mut next = Some(leaf);
        while let Some(at) = next {
            let (is_branching, test) = (children[at] > 1, places[at].1);
            if is_branching || test.is_some() {
                let end = self.hops.len() as u32;
                let climb = Climb { hops: (first, end), rise: take(&mut rise) };
                columns.push(Column { climb, is_branching, test });
                first = end;
            }
            next = twig.nodes()[at].parent;
            match (twig.nodes()[at].axis, next) {
                (Axis::Descendant, Some(above)) => {
                    let descendants = self.states[places[above].0 as usize].descendants;
                    self.hops.push(Hop { rise: take(&mut rise), descendants });
                }
                _ => rise += 1,
            }
        }
        columns
    }

    /// Returns the number of the path that ends in a state and has these columns, and adds the path if it is
    /// new. The path then also belongs to `twig`.
    fn path(&mut self, end: StateIx, columns: Vec<Column>, twig: usize) -> PathIx {
        let is_same = |a: &Column, b: &Column| {
            (a.is_branching, a.test, a.climb.rise) == (b.is_branching, b.test, b.climb.rise)
                && self.hops(a.climb) == self.hops(b.climb)
        };
        let known = self.states[end as usize].accepts.iter().map(|(path, _)| *path).find(|path| {
            let known = &self.paths[*path as usize].columns;
            known.len() == columns.len() && known.iter().zip(&columns).all(|(a, b)| is_same(a, b))
        });
        let path = known.unwrap_or_else(|| {
            let path = self.paths.len() as PathIx;
            self.states[end as usize].accepts.push((path, columns.first().map(|column| column.climb)));
            let is_tested = columns.iter().any(|column| column.test.is_some());
            self.paths.push(Path { columns, is_tested, twigs: Vec::new() });
            path
        });
        self.paths[path as usize].twigs.push(twig as u32);
        path
    }

    #[inline]
    fn hops(&self, climb: Climb) -> &[Hop] {
        &self.hops[climb.hops.0 as usize..climb.hops.1 as usize]
    }

    /// Returns the tag of a name, for [`Runner::open_tag`]. The tag is valid until another twig is added.
    #[must_use]
    pub fn tag(&self, name: Name<'_>) -> Tag {
        match name {
            Name::Element(name) | Name::Member(name) => self.elements.get(name).copied().unwrap_or(OTHER),
            Name::Attribute(name) => self.attributes.get(name).copied().unwrap_or(OTHER_ATTRIBUTE),
            Name::Item => ITEM,
        }
    }

    /// Returns a runner, which evaluates all twigs over one document after the other.
    #[must_use]
    pub fn runner(&self) -> Runner<'_> {
        Runner::new(self)
    }
}
