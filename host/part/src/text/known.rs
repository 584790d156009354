//! Knowledge of the records from earlier lines: the tree, positions, and the shapes of objects.

mod reserve;

use foldhash::{HashMap, HashSet};

pub(super) use reserve::{Plan, permute};

use super::names::{ELEMENT, KINDS, Kind, PRESENT, RAW, Role, visible};
use super::piece;
use super::scan;
use super::sections::Slot;
use crate::group::{Layout, Node, NodeIx, Tree};
use warpath_core::json::{Malformed, decode};

/// The greatest number of nodes from the record to a leaf. Readers of Delta Lake's log accept schemas of
/// about 42 levels.
pub(super) const MOST_LEVELS: usize = 36;
/// Nodes of a tree, apart from those that say that a struct is present. So a part has no more leaves.
const MOST_NODES: usize = 1900;
/// Further nodes for texts of values that are not split.
const MORE_FOR_JSON: usize = 64;
/// Members with different keys, from which on an object is used as a map.
const MOST_KEYS: usize = 256;
/// The same for the record itself, which has no position that could be a text.
const MOST_ROOT_KEYS: usize = MOST_NODES;
/// Positions and states in memory at most. Hostile lines would make more without end.
const MOST_POSITIONS: usize = 1 << 17;
const MOST_STATES: usize = 1 << 19;
const MOST_LITERALS: usize = 1 << 26;
/// Literals that may follow one prefix of a shape. They are searched one after the other.
const MOST_AFTER: usize = 1024;
/// Members of one object with the name of an earlier one.
const MOST_REPEATS: u32 = 64;

/// The number of a position, of which 0 is the record.
pub(super) type PositionIx = u32;
/// The number of a state; 0 is none.
pub(super) type StateIx = u32;

/// The reason for which a value is not shredded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The line is no JSON.
    Malformed,
    /// The tree has no column for the value, and may not grow.
    NoRoom,
}

/// A member of an object or the element of a list, with the nodes of its kinds.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// The node of each kind; 0 for none.
    pub(super) nodes: [NodeIx; Kind::COUNT],
    /// The element of several kinds, of which `nodes` are the children; 0 for none.
    pub(super) mixed: NodeIx,
    /// The same of earlier parts, as nodes of the plan.
    pub(super) planned: [NodeIx; Kind::COUNT],
    planned_mixed: NodeIx,
    pub(super) hints: Hints,
    /// The state before the first literal of an object.
    pub(super) first: StateIx,
    /// The position of the elements of a list; 0 for none.
    pub(super) element: PositionIx,
    /// The position of the object or list around.
    parent: PositionIx,
    /// The key; `None` for the record and for elements.
    key: Option<Box<[u8]>>,
    children: HashMap<Box<[u8]>, PositionIx>,
    /// The shapes of the group that is made, by their last states.
    pub(super) shapes: Vec<StateIx>,
    /// The style of the last array in the group that is made.
    pub(super) array: u32,
}

/// Facts about a position that an attempt to make a group has found out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints {
    /// Elements have several kinds.
    pub(super) mixed: bool,
    /// Integers are among doubles.
    pub(super) double: bool,
    /// Values are not split into columns.
    pub(super) json: bool,
    /// The commonest kind.
    plain: Option<Kind>,
}

/// A prefix of shapes: the literals and members of an object so far.
#[derive(Debug)]
pub(super) struct State {
    /// The prefix without the last literal.
    pub(super) before: StateIx,
    /// The last literal, in [`Known::literals`].
    literal: (u32, u32),
    pub(super) next: Next,
    /// The longer prefixes.
    after: Vec<StateIx>,
    /// The longer prefix that was met last.
    pub(super) last: StateIx,
    /// The number of literals.
    pub(super) steps: u32,
    /// The number of members with the name of an earlier one.
    repeats: u32,
    /// The attempt, and the number that it has for the shape that ends here.
    pub(super) shape: (u32, u32),
}

impl State {
    /// The length of the last literal.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        (self.literal.1 - self.literal.0) as usize
    }
}

/// The thing after a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Member(PositionIx),
    /// The value of a name that an earlier member has.
    Repeat,
    Close,
}

/// The tree and the shapes.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) tree: Tree,
    pub(super) roles: Vec<Role>,
    /// The columns of earlier parts.
    pub(super) plan: Plan,
    /// The node of the plan that each node is; 0 for none.
    planned: Vec<NodeIx>,
    pub(super) positions: Vec<Position>,
    pub(super) states: Vec<State>,
    literals: Vec<u8>,
    /// The number of nodes above each node.
    depths: Vec<usize>,
    /// Names of siblings in lower case.
    used: HashSet<(NodeIx, String)>,
    /// Nodes of the groups that are complete. Later nodes are of the group that is made.
    pub(super) base: NodeIx,
    /// True if an attempt has given new hints.
    pub(super) learnt: bool,
}

impl Known {
    pub(super) fn new() -> Self {
        let mut known = Self {
            tree: Tree::default(),
            roles: Vec::new(),
            plan: Plan::new(),
            planned: Vec::new(),
            positions: vec![Position::default()],
            states: Vec::new(),
            literals: Vec::new(),
            depths: Vec::new(),
            used: HashSet::default(),
            base: 0,
            learnt: false,
        };
        known.push(0, String::new(), Layout::Struct, Role::Root, 0);
        known.push(0, RAW.into(), Layout::Bytes, Role::Raw, 1);
        known.forget_states();
        known
    }

    /// Drops all states, which may be of lines that will not come again.
    fn forget_states(&mut self) {
        self.states.clear();
        self.literals.clear();
        self.positions.iter_mut().for_each(|position| position.first = 0);
        // State 0 is none.
        self.positions[0].first = 0;
        self.new_state(0, (0, 0), Next::Close);
        self.positions[0].first = self.new_state(0, (0, 0), Next::Close);
    }

    /// Prepares for an attempt to make a group.
    pub(super) fn begin(&mut self) {
        if self.states.len() > MOST_STATES / 2 || self.literals.len() > MOST_LITERALS / 2 {
            self.forget_states();
        }
        for position in &mut self.positions {
            position.shapes.clear();
            position.array = 0;
        }
        self.learnt = false;
    }

    /// Drops the nodes that no complete group has.
    pub(super) fn roll_back(&mut self) {
        let base = self.base.max(2) as usize;
        for (node, parent) in self.tree.nodes.iter().skip(base).map(|node| (&node.name, node.parent)) {
            self.used.remove(&(parent, node.to_lowercase()));
        }
        self.tree.nodes.truncate(base);
        self.roles.truncate(base);
        self.planned.truncate(base);
        self.depths.truncate(base);
        for position in &mut self.positions {
            for node in position.nodes.iter_mut().chain([&mut position.mixed]) {
                if *node as usize >= base {
                    *node = 0;
                }
            }
        }
    }

    /// Notes the commonest kind of each position of which a less common one has got the name of the member.
    /// `counts` has the occurrences of each node.
    pub(super) fn compare_kinds(&mut self, counts: impl Fn(NodeIx) -> usize) {
        let open = |position: &&mut Position| position.key.is_some() && !position.is_planned();
        for position in self.positions.iter_mut().filter(open) {
            let nodes = position.nodes.iter().copied().zip(KINDS).filter(|(node, _)| *node != 0);
            let named = nodes.clone().min().filter(|(node, _)| *node >= self.base);
            let commonest = nodes.max_by_key(|(node, _)| (counts(*node), std::cmp::Reverse(*node)));
            if let (Some(named), Some(commonest), None) = (named, commonest, position.hints.plain)
                && named != commonest
            {
                position.hints.plain = Some(commonest.1);
                self.learnt = true;
            }
        }
    }

    /// Gives a leaf to each struct without one, and an element to each list without one.
    pub(super) fn complete(&mut self) {
        let mut childless = vec![true; self.tree.nodes.len()];
        for node in self.tree.nodes.iter().skip(1) {
            childless[node.parent as usize] = false;
        }
        for index in 1..childless.len() as NodeIx {
            if !childless[index as usize] {
                continue;
            }
            let mut node = index;
            while self.tree.nodes[node as usize].layout == Layout::List {
                node = self.complete_list(node);
            }
            if self.tree.nodes[node as usize].layout == Layout::Struct {
                self.push(node, PRESENT.into(), Layout::Boolean, Role::Present, 0);
            }
        }
    }

    /// Gives an element to a list without one: the element that earlier parts have, or one of any kinds.
    fn complete_list(&mut self, list: NodeIx) -> NodeIx {
        let owner = self.positions.iter().find(|owner| owner.nodes[Kind::List as usize] == list);
        let element = owner.map_or(0, |owner| owner.element);
        // The record is no element.
        let Some(at) = self.positions.get(element as usize).filter(|_| element != 0) else {
            return self.push(list, ELEMENT.into(), Layout::Struct, Role::Mixed, 0);
        };
        if let Some(kind) = at.only_kind() {
            let planned = at.planned[kind as usize];
            let node = self.push(list, ELEMENT.into(), kind.layout(), Role::Element, planned);
            self.positions[element as usize].nodes[kind as usize] = node;
            return node;
        }
        self.push_mixed(element, list)
    }

    /// Makes the element of a list whose elements have several kinds.
    fn push_mixed(&mut self, element: PositionIx, list: NodeIx) -> NodeIx {
        let planned = self.positions[element as usize].planned_mixed;
        let mixed = self.push(list, ELEMENT.into(), Layout::Struct, Role::Mixed, planned);
        self.positions[element as usize].mixed = mixed;
        mixed
    }

    fn push(&mut self, parent: NodeIx, name: String, layout: Layout, role: Role, planned: NodeIx) -> NodeIx {
        self.used.insert((parent, name.to_lowercase()));
        let depth = self.depths.get(parent as usize).map_or(0, |depth| depth + 1);
        self.tree.nodes.push(Node { parent, name, layout });
        self.roles.push(role);
        self.planned.push(planned);
        self.depths.push(depth);
        self.tree.nodes.len() as NodeIx - 1
    }

    /// The nodes and positions of the objects in the group that is made.
    pub(super) fn objects(&self) -> impl Iterator<Item = (NodeIx, &Position)> {
        let objects = self.positions.iter().enumerate().filter(|(_, position)| !position.shapes.is_empty());
        let nodes = objects.map(|(at, position)| (at, position.nodes[Kind::Object as usize], position));
        // An object whose node is gone was tried, and its values are texts.
        nodes.filter(|(at, node, _)| *at == 0 || *node != 0).map(|(_, node, position)| (node, position))
    }

    /// The key before the value that follows a state; empty if there is none.
    pub(super) fn key(&self, state: StateIx) -> &[u8] {
        match self.states[state as usize].next {
            Next::Member(position) => self.positions[position as usize].key.as_deref().unwrap_or_default(),
            Next::Repeat | Next::Close => &[],
        }
    }

    /// The bytes before a value.
    #[inline(always)]
    pub(super) fn literal(&self, state: StateIx) -> &[u8] {
        let (begin, end) = self.states[state as usize].literal;
        &self.literals[begin as usize..end as usize]
    }

    fn new_state(&mut self, before: StateIx, literal: (u32, u32), next: Next) -> StateIx {
        let (steps, repeats) = self
            .states
            .get(before as usize)
            .map_or((0, 0), |before| (before.steps + 1, before.repeats + u32::from(next == Next::Repeat)));
        let after = Vec::new();
        self.states.push(State { before, literal, next, after, last: 0, steps, repeats, shape: (0, 0) });
        self.states.len() as StateIx - 1
    }

    /// Returns true if the literal of a state is at an offset of a line.
    #[inline(always)]
    pub(super) fn is_at(&self, state: StateIx, line: &[u8], at: usize) -> bool {
        let state = &self.states[state as usize];
        let (literal, len) = (&self.literals[state.literal.0 as usize..], state.len());
        let rest = line.get(at..).unwrap_or_default();
        piece::begin_alike(literal, rest, len) && (state.next == Next::Close || !scan::is_space(rest, len))
    }

    /// The state after the next literal of an object at `position`. `state` is the state before it, and `at`
    /// the offset of the literal.
    pub(super) fn step(
        &mut self,
        position: PositionIx,
        state: StateIx,
        line: &[u8],
        at: usize,
    ) -> Result<StateIx, Stop> {
        let after = &self.states[state as usize].after;
        let next = match after.iter().position(|next| self.is_at(*next, line, at)) {
            Some(found) => {
                // Frequent ones move to the front.
                let after = &mut self.states[state as usize].after;
                after.swap(found, found / 2);
                after[found / 2]
            }
            None => self.new_step(position, state, line, at)?,
        };
        self.states[state as usize].last = next;
        Ok(next)
    }

    #[cold]
    fn new_step(
        &mut self,
        position: PositionIx,
        state: StateIx,
        line: &[u8],
        at: usize,
    ) -> Result<StateIx, Stop> {
        let first = self.states[state as usize].before == 0;
        let mut end = if first { at + 1 } else { at };
        end = scan::space(line, end);
        let next = match line.get(end).ok_or(Stop::Malformed)? {
            b'}' => {
                end += 1;
                Next::Close
            }
            byte => {
                if !first {
                    end =
                        if *byte == b',' { scan::space(line, end + 1) } else { return Err(Stop::Malformed) };
                }
                let quote = end;
                let after = scan::whole_string(line, quote).ok_or(Stop::Malformed)?;
                end = scan::separator(line, after, b':').ok_or(Stop::Malformed)?;
                let mut key = Vec::new();
                decode(&line[quote + 1..after - 1], Malformed::Order, &mut key);
                let member = self.member(position, &key)?;
                if self.has(state, member) { Next::Repeat } else { Next::Member(member) }
            }
        };
        let object = &self.states[state as usize];
        if object.after.len() >= MOST_AFTER || object.repeats >= MOST_REPEATS {
            self.too_many(position);
            return Err(Stop::NoRoom);
        }
        if self.states.len() >= MOST_STATES || self.literals.len() + end - at > MOST_LITERALS {
            return Err(Stop::NoRoom);
        }
        let begin = self.literals.len() as u32;
        self.literals.extend_from_slice(&line[at..end]);
        let new = self.new_state(state, (begin, self.literals.len() as u32), next);
        self.states[state as usize].after.push(new);
        Ok(new)
    }

    /// Returns true if a prefix of a shape has a member.
    fn has(&self, mut state: StateIx, member: PositionIx) -> bool {
        while state != 0 {
            let found = &self.states[state as usize];
            if found.next == Next::Member(member) {
                return true;
            }
            state = found.before;
        }
        false
    }

    /// The position of a member of the object at a position.
    fn member(&mut self, parent: PositionIx, key: &[u8]) -> Result<PositionIx, Stop> {
        let count = self.positions.len();
        let object = &mut self.positions[parent as usize];
        if let Some(known) = object.children.get(key) {
            return Ok(*known);
        }
        let limit = if parent == 0 { MOST_ROOT_KEYS } else { MOST_KEYS };
        if object.children.len() >= limit {
            self.too_many(parent);
            return Err(Stop::NoRoom);
        }
        if count >= MOST_POSITIONS {
            return Err(Stop::NoRoom);
        }
        object.children.insert(key.into(), count as PositionIx);
        self.new_position(parent, Some(key.into()));
        Ok(count as PositionIx)
    }

    /// Notes that an object is used as a map. Its node must be of the group that is made, and of no earlier
    /// part.
    pub(super) fn too_many(&mut self, position: PositionIx) {
        let base = self.base;
        let object = &mut self.positions[position as usize];
        let [node, planned] = [object.nodes, object.planned].map(|nodes| nodes[Kind::Object as usize]);
        if position != 0 && node >= base && planned == 0 && !object.hints.json {
            object.hints.json = true;
            self.learnt = true;
        }
    }

    fn new_position(&mut self, parent: PositionIx, key: Option<Box<[u8]>>) {
        self.positions.push(Position { parent, key, ..Position::default() });
    }

    /// The state before the first literal of the object at a position.
    #[inline]
    pub(super) fn first_state(&mut self, position: PositionIx) -> StateIx {
        if self.positions[position as usize].first == 0 {
            self.positions[position as usize].first = self.new_state(0, (0, 0), Next::Close);
        }
        self.positions[position as usize].first
    }

    /// The position of the elements of the list at a position.
    pub(super) fn element(&mut self, list: PositionIx) -> Result<PositionIx, Stop> {
        if self.positions[list as usize].element == 0 {
            let count = self.positions.len();
            if count >= MOST_POSITIONS {
                return Err(Stop::NoRoom);
            }
            self.positions[list as usize].element = count as PositionIx;
            self.new_position(list, None);
            // The list may have an element that an earlier group gave to it.
            let node = self.positions[list as usize].nodes[Kind::List as usize];
            let mixed = self
                .roles
                .iter()
                .zip(&self.tree.nodes)
                .position(|(role, element)| node != 0 && element.parent == node && *role == Role::Mixed);
            self.positions[count].mixed = mixed.unwrap_or_default() as NodeIx;
        }
        Ok(self.positions[list as usize].element)
    }

    /// Makes the node of a kind at a position.
    #[cold]
    pub(super) fn new_node(&mut self, position: PositionIx, kind: Kind) -> Result<NodeIx, Stop> {
        let at = &self.positions[position as usize];
        let limit = if kind == Kind::Json { MOST_NODES + MORE_FOR_JSON } else { MOST_NODES };
        // The table has the columns of all parts.
        let is_new = |(role, planned): &(&Role, &NodeIx)| **planned == 0 && **role != Role::Present;
        let new = self.roles.iter().zip(&self.planned).skip(1).filter(is_new);
        let count = self.plan.roles.len() + new.count();
        let planned = at.planned[kind as usize];
        let room = planned != 0 || count < limit;
        let parent = &self.positions[at.parent as usize];
        let (node, key) = if let Some(key) = &at.key {
            // The record is node 0.
            (parent.nodes[Kind::Object as usize], key.clone())
        } else {
            return self.new_element(position, kind, parent.nodes[Kind::List as usize], room);
        };
        let container = matches!(kind, Kind::Object | Kind::List);
        // A container has an element and a leaf below it.
        let deepest = self.depths[node as usize] + if container { 3 } else { 1 };
        if !room || deepest > MOST_LEVELS {
            return Err(Stop::NoRoom);
        }
        let name = if planned == 0 {
            let plain = match at.hints.plain {
                Some(plain) => plain == kind,
                None => !at.is_planned() && at.nodes.iter().all(|node| *node == 0),
            };
            let name = visible(&key);
            let name = if plain { name } else { format!("{name}:{}", kind.name()) };
            let above = parent.planned[Kind::Object as usize];
            self.unused(node, (at.parent == 0 || above != 0).then_some(above), name)
        } else {
            self.plan.tree.nodes[planned as usize].name.clone()
        };
        let new = self.push(node, name, kind.layout(), Role::Field(key.into_vec()), planned);
        self.positions[position as usize].nodes[kind as usize] = new;
        Ok(new)
    }

    /// Makes the node of a kind of the elements of a list.
    fn new_element(
        &mut self,
        position: PositionIx,
        kind: Kind,
        list: NodeIx,
        room: bool,
    ) -> Result<NodeIx, Stop> {
        let at = &self.positions[position as usize];
        let (hints, mut parent, planned) = (at.hints, at.mixed, at.planned[kind as usize]);
        // The layout of an element is fixed when the first part that has it is made.
        if at.only_kind().is_some_and(|only| only != kind) {
            return Err(Stop::NoRoom);
        }
        let container = matches!(kind, Kind::Object | Kind::List);
        if !room || self.depths[list as usize] + if container { 4 } else { 2 } > MOST_LEVELS {
            return Err(Stop::NoRoom);
        }
        let has_other = at.nodes.iter().any(|node| *node != 0);
        if parent == 0 && has_other {
            // It is also fixed when its first group is made.
            if list >= self.base && !hints.mixed {
                self.positions[position as usize].hints.mixed = true;
                self.learnt = true;
            }
            return Err(Stop::NoRoom);
        }
        if parent == 0 && hints.mixed {
            parent = self.push_mixed(position, list);
        }
        let new = match parent {
            0 => self.push(list, ELEMENT.into(), kind.layout(), Role::Element, planned),
            mixed => self.push(mixed, kind.name().into(), kind.layout(), Role::Kind, planned),
        };
        self.positions[position as usize].nodes[kind as usize] = new;
        Ok(new)
    }

    /// The name, or with a suffix if a sibling has it. `planned` is the parent in the plan.
    fn unused(&self, parent: NodeIx, planned: Option<NodeIx>, name: String) -> String {
        let mut unused = name.clone();
        for number in 2_u32.. {
            let reserved = planned.is_some_and(|planned| self.plan.has(planned, &unused));
            if !reserved && !self.used.contains(&(parent, unused.to_lowercase())) {
                break;
            }
            unused = format!("{name}~{number}");
        }
        unused
    }

    /// The literals and slots of a shape, by its last state.
    pub(super) fn shape(&self, last: StateIx) -> Vec<(StateIx, Slot)> {
        let mut steps = Vec::new();
        let mut state = last;
        while self.states[state as usize].before != 0 {
            let slot = match self.states[state as usize].next {
                Next::Close => Slot::Close,
                Next::Repeat => Slot::Repeat,
                Next::Member(position) => {
                    let nodes = self.positions[position as usize].nodes.iter().copied();
                    nodes.filter(|node| *node != 0).min().map_or(Slot::Null, Slot::Node)
                }
            };
            steps.push((state, slot));
            state = self.states[state as usize].before;
        }
        steps.reverse();
        steps
    }
}
