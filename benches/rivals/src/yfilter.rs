//! YFilter, the rival of twigs on CPUs (Diao, Altinel, Franklin, Zhang and Fischer, "Path Sharing and Predicate Evaluation for High-Performance XML Filtering", ACM TODS 2003).
//! Tests and benches compare [`warpath::twig`] with it.
//!
//! All paths from the root to a leaf of all twigs are one automaton, in which paths that begin alike share states. A state has a transition for each name, one for `*` and one for `@*`, and
//! one without input to its *`//`-state*, which stays active for all that is below:
//!
//! ```text
//! twigs         automaton                    document          reached    active `//`-states
//! /a/b          0 ─a→ 1 ─b→ (2)              <a>               1 (7)      6
//! /a[c]//d      │     ├──c→ (3)                <c/>            (3) (7)    6 4
//! //*           │     └─→ 4↺ ─d→ (5)           <x> <d/> </x>   (7) and (5) (7)
//!               └─→ 6↺ ─*→ (7)               </a>                         6           ( ) accepting
//! ```
//!
//! The states that a node reaches are kept on a stack until it closes; its children follow their transitions, and those of all active `//`-states. But for `↺` the automaton is a tree, so no
//! node reaches a state twice, and sets of states are plain lists.
//!
//! A twig that is one path matches once its accepting state is reached. The others need what the paper calls post-processing. An accepting state that is reached records *rows*: the nodes of the
//! document that meet the steps of the path at which the twig branches, for each way to meet them. Above, both paths of the second twig record the node `<a>`. When the document has ended, rows
//! of the twigs all of whose paths were found are joined, from the leaves upwards: what all children of a branching node have is there. Values are the paper's "selection postponed": steps with
//! tests are columns of the rows, too, and rows that fail are left out before they are joined.
//!
//! Attributes are nodes that `*` does not meet; elements of arrays are met by `*` alone. Time and memory grow with the rows: in documents in which names are nested in themselves, with the
//! number of ways to meet what branches.

mod rows;
mod runner;

use std::collections::HashMap;
use std::mem::take;

use warpath::twig::value::ValueTest;
use warpath::twig::{Axis, Name, NameTest, Twig};

pub use runner::Runner;

/// What all nodes of documents are called that the twigs of a [`YFilter`] do not tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(u32);

/// Elements that no twig names, attributes that none does, and elements of arrays.
const OTHER: Tag = Tag(0);
const OTHER_ATTRIBUTE: Tag = Tag(1);
const ITEM: Tag = Tag(2);

/// A state of the automaton, by its number.
type StateIx = u32;
/// A path of the twigs, with the columns of its rows, by its number.
type PathIx = u32;
/// Tests of the value of a step, by their number.
type TestIx = u32;

/// The state for the document. Since no transition leads there, also what stands for no state.
const START: StateIx = 0;
const NONE: StateIx = START;

/// Many twigs, as one automaton for their paths.
#[derive(Clone, Debug)]
pub struct YFilter {
    elements: HashMap<Box<[u8]>, Tag>,
    attributes: HashMap<Box<[u8]>, Tag>,
    /// For each tag.
    is_attribute: Vec<bool>,
    states: Vec<State>,
    paths: Vec<Path>,
    hops: Vec<Hop>,
    tests: Vec<Vec<ValueTest>>,
    twigs: Vec<Joined>,
    /// Twigs without nodes, which every document matches.
    empty: Vec<usize>,
}

/// A state, or a `//`-state: that has transitions only.
#[derive(Clone, Debug, Default)]
struct State {
    by_tag: ByTag,
    /// By `*`, and by `@*`.
    any: [StateIx; 2],
    /// Whether there are any of these transitions.
    has_steps: bool,
    /// The `//`-state.
    descendants: StateIx,
    /// The paths that end here, and, of those that have columns, the way to the first.
    accepts: Vec<(PathIx, Option<Climb>)>,
    /// What is asked of values of nodes that meet the last step.
    tests: Vec<TestIx>,
}

/// Transitions of a state by names.
#[derive(Clone, Debug)]
enum ByTag {
    /// A few.
    Listed(Vec<(Tag, StateIx)>),
    /// For each tag: as fast as it can be, and small enough for the few hundred names of a document type.
    Row(Vec<StateIx>),
}

/// A path from the document to a leaf, and what is recorded of it.
#[derive(Clone, Debug)]
struct Path {
    /// The columns of its rows, from below. If there are none, it is enough that it was found.
    columns: Vec<Column>,
    is_tested: bool,
    /// The twigs that have it, each as often as it does.
    twigs: Vec<u32>,
}

/// A step whose nodes are recorded, and the way to it from the column below, or from the end of the path.
#[derive(Clone, Debug)]
struct Column {
    climb: Climb,
    is_branching: bool,
    test: Option<TestIx>,
}

/// The way from a step up to another: hops, as a range of all, and then so many levels.
#[derive(Clone, Copy, Debug)]
struct Climb {
    hops: (u32, u32),
    rise: u32,
}

/// So many levels up, by steps with `/`, to a step with `//`; and from there to each level above it that made this `//`-state active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    rise: u32,
    descendants: StateIx,
}

/// A twig: what has to be joined.
#[derive(Clone, Debug)]
struct Joined {
    /// Its paths.
    paths: Vec<PathIx>,
    /// What has to be below the document.
    below: Vec<Join>,
}

/// What has to be below a branching node.
#[derive(Clone, Debug)]
enum Join {
    /// A path to a leaf.
    Path(PathIx),
    /// A branching node with all that is below it. So many branching nodes are on the way to it, with itself.
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
    /// As many are looked at one by one.
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
    /// Adds a twig, of any size. Its number: twigs are numbered from 0 on, as they are added.
    pub fn add(&mut self, twig: &Twig) -> usize {
        let (number, nodes) = (self.twigs.len(), twig.nodes());
        let mut children = vec![0; nodes.len()];
        nodes.iter().filter_map(|node| node.parent).for_each(|parent| children[parent] += 1);

        // Each node's state, the number of its tests if it has any, and how many branching nodes are on the way to it, with itself.
        let mut places: Vec<(StateIx, Option<TestIx>, usize)> = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            let (above, _, width) = node.parent.map_or((START, None, 0), |parent| places[parent]);
            let state = self.step(above, node.axis, &node.name);
            let test = (!node.values.is_empty()).then(|| self.test(state, &node.values));
            places.push((state, test, width + usize::from(children[at] > 1)));
        }

        // What is below each node, and below the document; from behind, since nodes are behind what they are below.
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

    /// The state behind a step.
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

    /// The tag of a name that a twig has.
    fn named(&mut self, name: &str, is_attribute: bool) -> Tag {
        let known = if is_attribute { &mut self.attributes } else { &mut self.elements };
        *known.entry(name.as_bytes().into()).or_insert_with(|| {
            self.is_attribute.push(is_attribute);
            Tag(self.is_attribute.len() as u32 - 1)
        })
    }

    /// The number of the tests of the last step of the paths to a state.
    fn test(&mut self, state: StateIx, values: &[ValueTest]) -> TestIx {
        let known = &mut self.states[state as usize].tests;
        if let Some(test) = known.iter().find(|test| self.tests[**test as usize] == values) {
            return *test;
        }
        self.tests.push(values.to_vec());
        known.push(self.tests.len() as TestIx - 1);
        self.tests.len() as TestIx - 1
    }

    /// What has to be recorded of the path to a leaf: its nodes that branch or are tested, from below.
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

    /// The number of the path that ends in a state and has such columns, which one more twig has now.
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

    /// What nodes of this name are called, for [`Runner::open_tag`]. It stays right until another twig is added.
    #[must_use]
    pub fn tag(&self, name: Name<'_>) -> Tag {
        match name {
            Name::Element(name) => self.elements.get(name).copied().unwrap_or(OTHER),
            Name::Attribute(name) => self.attributes.get(name).copied().unwrap_or(OTHER_ATTRIBUTE),
            Name::Item => ITEM,
        }
    }

    /// What asks all twigs of one document after the other.
    #[must_use]
    pub fn runner(&self) -> Runner<'_> {
        Runner::new(self)
    }
}
