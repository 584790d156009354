//! The run of documents through the automaton, and the joins at their end.

use std::borrow::Cow;
use std::mem::{replace, take};
use std::ops::ControlFlow;

use warpath_cpu::twig::members::Members;
use warpath_cpu::twig::{Events, Name};
use warpath_lang::twig::value::Value;

use super::{
    Climb, Column, Join, Joined, NONE, OTHER, Path, PathIx, START, State, StateIx, Tag, YFilter, rows,
};

/// A runner that evaluates all twigs of a [`YFilter`] over one document after the other. A document has fewer
/// than 2^32 nodes.
#[derive(Clone, Debug)]
pub struct Runner<'a> {
    filter: &'a YFilter,
    /// The document and each open node.
    open: Vec<Level>,
    members: Members,
    /// The states with transitions that are active for the children of each level, level after level.
    active: Vec<StateIx>,
    /// The `//`-states that begin below each level.
    beginning: Vec<StateIx>,
    /// The states with tests that each level has reached.
    tested: Vec<StateIx>,
    /// The active `//`-states, each once.
    lasting: Vec<StateIx>,
    /// For each `//`-state, the levels that made it active, ascending.
    levels: Vec<Vec<u32>>,
    /// The number of nodes that have opened so far.
    nodes: u32,
    /// For each path, the node at the end of the way to its first column when rows were last recorded. It is
    /// [`ONCE`] for a path without columns, and [`NEVER`] for a path that was not found.
    recorded: Vec<u32>,
    /// The rows of each path.
    found: Vec<PathMatches>,
    /// The paths that were found.
    found_paths: Vec<PathIx>,
    /// For each twig, the number of its paths that were not found yet.
    missing: Vec<u32>,
    /// The twigs whose paths were all found.
    candidates: Vec<usize>,
    /// For each test, the nodes that passed it.
    passed: Vec<Vec<u32>>,
    /// The beginning of a row that is being made.
    row: Vec<u32>,
}

/// An open node.
#[derive(Clone, Copy, Debug)]
struct Level {
    node: u32,
    /// The beginning of its part of each stack.
    active: usize,
    beginning: usize,
    tested: usize,
    /// True once the node has had a child. Only then do `//`-states begin.
    is_entered: bool,
}

/// The rows of a path.
#[derive(Clone, Debug, Default)]
struct PathMatches {
    /// The recorded rows, in no order. Few rows are recorded twice.
    rows: Vec<u32>,
    /// The length of `rows` above which duplicates are removed.
    limit: usize,
    /// True if `rows` is sorted, and `holds` and `passed` are up to date.
    is_settled: bool,
    /// True if any of the rows passes all tests.
    holds: bool,
    /// The branching columns of the rows that pass all tests, sorted. Used only if the path has tests.
    passed: Vec<u32>,
}

/// The number that means no node, and the number of the first node of each document.
const NEVER: u32 = 0;
const ONCE: u32 = 1;

/// The length of `rows` up to which duplicates stay.
const LEAST_LIMIT: usize = 1024;

impl<'a> Runner<'a> {
    pub(super) fn new(filter: &'a YFilter) -> Self {
        let mut runner = Self {
            filter,
            open: Vec::new(),
            members: Members::default(),
            active: Vec::new(),
            beginning: Vec::new(),
            tested: Vec::new(),
            lasting: Vec::new(),
            levels: vec![Vec::new(); filter.states.len()],
            nodes: 0,
            recorded: vec![NEVER; filter.paths.len()],
            found: vec![PathMatches::default(); filter.paths.len()],
            found_paths: Vec::new(),
            missing: filter.twigs.iter().map(|twig| twig.paths.len() as u32).collect(),
            candidates: Vec::new(),
            passed: vec![Vec::new(); filter.tests.len()],
            row: Vec::new(),
        };
        runner.reset();
        runner
    }

    /// Forgets the document, so that another one can begin.
    pub fn reset(&mut self) {
        while self.open.len() > 1 {
            self.leave();
        }
        self.members.end(1);
        if self.open.is_empty() {
            let start = Level { node: 0, active: 0, beginning: 0, tested: 0, is_entered: false };
            self.open.push(start);
            self.reach(START);
        }
        for path in self.found_paths.drain(..) {
            let found = &mut self.found[path as usize];
            found.rows.clear();
            found.passed.clear();
            (found.limit, found.is_settled) = (0, false);
            self.recorded[path as usize] = NEVER;
            for twig in &self.filter.paths[path as usize].twigs {
                self.missing[*twig as usize] += 1;
            }
        }
        self.candidates.clear();
        self.candidates.extend(&self.filter.empty);
        self.passed.iter_mut().for_each(Vec::clear);
        self.nodes = 0;
    }

    /// Begins a node with this tag, below the nodes that have not ended. Returns true if the node's value is
    /// needed.
    ///
    /// # Panics
    /// If the tag is not one of this runner's [`YFilter`].
    pub fn open_tag(&mut self, tag: Tag) -> bool {
        let filter = self.filter;
        let above = self.enter();
        self.nodes += 1;
        let tested = self.tested.len();
        let actives = above.active..self.active.len();
        self.open.push(Level {
            node: self.nodes,
            active: self.active.len(),
            beginning: self.beginning.len(),
            tested,
            is_entered: false,
        });
        let is_attribute = filter.is_attribute[tag.0 as usize];
        for at in actives {
            self.follow(&filter.states[self.active[at] as usize], tag, is_attribute);
        }
        for at in 0..self.lasting.len() {
            self.follow(&filter.states[self.lasting[at] as usize], tag, is_attribute);
        }
        self.tested.len() > tested
    }

    /// Records that the last opened node has a child. Its `//`-states become active, unless they are active
    /// already.
    fn enter(&mut self) -> Level {
        let level = self.open.len() - 1;
        let above = self.open[level];
        if !above.is_entered {
            self.open[level].is_entered = true;
            for state in &self.beginning[above.beginning..] {
                let levels = &mut self.levels[*state as usize];
                if levels.is_empty() {
                    self.lasting.push(*state);
                }
                levels.push(level as u32);
            }
        }
        above
    }

    /// Takes the transitions of a state.
    #[inline]
    fn follow(&mut self, state: &State, tag: Tag, is_attribute: bool) {
        for to in [state.by_tag.get(tag), state.any[usize::from(is_attribute)]] {
            if to != NONE {
                self.reach(to);
            }
        }
    }

    #[inline]
    fn reach(&mut self, at: StateIx) {
        let state = &self.filter.states[at as usize];
        for (path, climb) in &state.accepts {
            self.accept(*path, *climb);
        }
        if state.has_steps {
            self.active.push(at);
        }
        if state.descendants != NONE {
            self.beginning.push(state.descendants);
        }
        if !state.tests.is_empty() {
            self.tested.push(at);
        }
    }

    /// Records that the last opened node is the end of a path.
    #[inline]
    fn accept(&mut self, at: PathIx, climb: Option<Climb>) {
        let recorded = self.recorded[at as usize];
        let Some(climb) = climb else {
            if recorded == NEVER {
                self.record(at, ONCE);
            }
            return;
        };
        let level = self.open.len() as u32 - 1;
        // The recorded rows depend only on the nodes above. Mostly an earlier node has recorded the same
        // rows.
        if climb.has_hops() {
            let levels = self.climb(climb, &level);
            let lowest = self.node(levels[levels.len() - 1]);
            // An open node that is not newer than `recorded` was above that node, too: its rows are recorded.
            if lowest > recorded {
                self.record(at, lowest);
            }
        } else {
            let above = self.node(level - climb.rise);
            if above != recorded {
                self.record(at, above);
            }
        }
    }

    /// Records the rows of a path that ends at the last opened node. `above` is the lowest node at the end of
    /// the way to the first column. It differs from that of the last record.
    fn record(&mut self, at: PathIx, above: u32) {
        let filter = self.filter;
        let path = &filter.paths[at as usize];
        let recorded = replace(&mut self.recorded[at as usize], above);
        if recorded == NEVER {
            self.found_paths.push(at);
            for twig in &path.twigs {
                let missing = &mut self.missing[*twig as usize];
                *missing -= 1;
                if *missing == 0 {
                    self.candidates.push(*twig as usize);
                }
            }
        }
        let Some((first, others)) = path.columns.split_first() else { return };
        let (mut rows, mut row) = (take(&mut self.found[at as usize].rows), take(&mut self.row));
        let level = self.open.len() as u32 - 1;
        let mut levels = self.climb(first.climb, &level);
        if first.climb.has_hops() {
            let new = levels.iter().rev().take_while(|level| self.node(**level) > recorded).count();
            levels = &levels[levels.len() - new..];
        }
        for level in levels {
            let level = *level - first.climb.rise;
            row.push(self.node(level));
            self.ways(others, level, &mut row, &mut rows);
            row.pop();
        }
        self.row = row;
        let found = &mut self.found[at as usize];
        if rows.len() > found.limit.max(LEAST_LIMIT) {
            rows::sort(&mut rows, path.columns.len());
            found.limit = 2 * rows.len();
        }
        found.rows = rows;
        found.is_settled = false;
    }

    /// Adds a row for each way to match the columns above a level.
    fn ways(&self, columns: &[Column], level: u32, row: &mut Vec<u32>, rows: &mut Vec<u32>) {
        let Some((column, above)) = columns.split_first() else {
            rows.extend(row.iter());
            return;
        };
        for level in self.climb(column.climb, &level) {
            let level = *level - column.climb.rise;
            row.push(self.node(level));
            self.ways(above, level, row, rows);
            row.pop();
        }
    }

    /// The levels to which hops lead, ascending. There is at least one, because an active state was reached
    /// from above.
    #[inline]
    fn climb<'b>(&'b self, climb: Climb, level: &'b u32) -> &'b [u32] {
        let mut reached = std::slice::from_ref(level);
        for hop in self.filter.hops(climb) {
            // A level above the lowest one is above any of them.
            let below = reached[reached.len() - 1] - hop.rise;
            let levels = &self.levels[hop.descendants as usize];
            let deeper = levels.iter().rev().take_while(|level| **level >= below).count();
            reached = &levels[..levels.len() - deeper];
        }
        reached
    }

    #[inline]
    fn node(&self, level: u32) -> u32 {
        self.open[level as usize].node
    }

    /// Ends the last opened node. The value matters only if [`open_tag`](Self::open_tag) returned true for
    /// this node.
    pub fn close_value(&mut self, value: Value<'_>) {
        let filter = self.filter;
        let Some(Level { node, tested, .. }) = self.open.last().copied().filter(|_| self.open.len() > 1)
        else {
            return;
        };
        for state in &self.tested[tested..] {
            for test in &filter.states[*state as usize].tests {
                if filter.tests[*test as usize].iter().all(|test| test.passes(value)) {
                    self.passed[*test as usize].push(node);
                }
            }
        }
        self.leave();
    }

    fn leave(&mut self) {
        let Some(level) = self.open.pop() else { return };
        if level.is_entered {
            self.members.end(self.open.len() as u32 + 1);
            for state in &self.beginning[level.beginning..] {
                let levels = &mut self.levels[*state as usize];
                levels.pop();
                if levels.is_empty() {
                    self.lasting.pop();
                }
            }
        }
        self.active.truncate(level.active);
        self.beginning.truncate(level.beginning);
        self.tested.truncate(level.tested);
    }

    /// Returns the numbers of the twigs that match the ended document, ascending.
    pub fn matches(&mut self) -> impl Iterator<Item = usize> {
        let filter = self.filter;
        self.passed.iter_mut().for_each(|nodes| nodes.sort_unstable());
        let mut matches = Vec::new();
        for candidate in &self.candidates {
            let Joined { paths, below } = &filter.twigs[*candidate];
            for path in paths {
                self.found[*path as usize].settle(&filter.paths[*path as usize], &self.passed);
            }
            if below.iter().all(|join| self.is_met(join)) {
                matches.push(*candidate);
            }
        }
        matches.sort_unstable();
        matches.into_iter()
    }

    /// Returns true if a part of a twig that is below no branching node was found.
    fn is_met(&self, join: &Join) -> bool {
        match join {
            Join::Path(path) => self.found[*path as usize].holds,
            Join::Branch { width, below } => self.join(*width, below, |_| ControlFlow::Break(())).is_break(),
        }
    }

    /// Calls `each` with the rows that end in a branching node with all that is below it.
    fn join(
        &self,
        width: usize,
        below: &[Join],
        each: impl FnMut(&[u32]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let lists: Vec<Cow<'_, [u32]>> = below.iter().map(|join| self.rows(join)).collect();
        let mut lists: Vec<&[u32]> = lists.iter().map(|list| &**list).collect();
        rows::common(&mut lists, width, each)
    }

    /// The rows of a part that was found, up to the branching node above the part.
    fn rows(&self, join: &Join) -> Cow<'_, [u32]> {
        match join {
            Join::Path(path) => {
                let PathMatches { rows, passed, .. } = &self.found[*path as usize];
                Cow::Borrowed(if self.filter.paths[*path as usize].is_tested { passed } else { rows })
            }
            Join::Branch { width, below } => {
                let mut all = Vec::new();
                let _ = self.join(*width, below, |row| {
                    let above = &row[1..];
                    if !all.ends_with(above) {
                        all.extend(above);
                    }
                    ControlFlow::Continue(())
                });
                rows::sort(&mut all, width - 1);
                Cow::Owned(all)
            }
        }
    }
}

impl PathMatches {
    /// Sorts the rows of a found path, and selects those that pass all tests. The nodes that passed each test
    /// are sorted.
    fn settle(&mut self, path: &Path, passed: &[Vec<u32>]) {
        if self.is_settled {
            return;
        }
        self.is_settled = true;
        self.holds = !path.is_tested;
        let columns = &path.columns;
        if !columns.is_empty() {
            rows::sort(&mut self.rows, columns.len());
        }
        if !path.is_tested {
            return;
        }
        self.passed.clear();
        for row in self.rows.chunks_exact(columns.len()) {
            let cells = || row.iter().zip(columns);
            let passes = cells().all(|(node, column)| {
                column.test.is_none_or(|test| passed[test as usize].binary_search(node).is_ok())
            });
            if passes {
                self.holds = true;
                self.passed.extend(cells().filter(|(_, column)| column.is_branching).map(|(node, _)| node));
            }
        }
        let width = columns.iter().filter(|column| column.is_branching).count();
        if width > 0 {
            rows::sort(&mut self.passed, width);
        }
    }
}

impl Events for Runner<'_> {
    fn open(&mut self, name: Name<'_>) -> bool {
        let mut tag = self.filter.tag(name);
        if matches!(name, Name::Member(_))
            && tag != OTHER
            && !self.members.is_first(tag.0, self.open.len() as u32)
        {
            tag = OTHER;
        }
        self.open_tag(tag)
    }

    fn close(&mut self, value: Value<'_>) {
        self.close_value(value);
    }
}
