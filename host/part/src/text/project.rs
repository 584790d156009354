//! The parts of a group that some members of its records need.
//!
//! A [`Projection`] says which members. A plan says which columns and sections have them, and what of each
//! shape is written. A restorer of a plan gives *partial lines*: lines with these members, in their order and
//! spelling. Each path in the projection selects from a partial line what it selects from the whole line.
//! Lines that are no objects are whole. Values that are texts are whole where a path could select something
//! in them. Under wildcards and descendants, so are all members whose name is repeated in their object.
//!
//! | in the line | in the partial line |
//! |---|---|
//! | member that is not in the projection | nothing |
//! | member from which no path can select a value, in any line of the group | nothing |
//! | object or array around selected values | without white space; arrays have all elements |
//! | another value in that position | a short value of its kind: `""`, `0`, `true`, `[]` or `{}` |
//! | member whose presence matters, if nothing inside of it can be selected | `0` |
//! | selected value | as it is |

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashSet};
use warpath_core::json::{Malformed, decode};
use warpath_core::projection::{Inside, Projection};

use super::bytes::Ids;
use super::children::Children;
use super::error::{Result, damaged};
use super::names::{Names, Role, section};
use super::occurrences::Mark;
use super::restore::check_depth;
use super::scan;
use super::sections::{self, Frame, LineKind, Shapes, Slot};
use crate::group::{Group, Layout, NodeIx, Tree};

/// The sections of a group by which its plan is made.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    /// Nodes of the group.
    pub(super) count: u32,
    pub(super) roles: Vec<Role>,
    /// The node of whole lines.
    pub(super) raw: NodeIx,
    pub(super) shapes: Shapes<'a>,
    pub(super) frames: Vec<Frame<&'a [u8]>>,
    pub(super) ends: Ids<'a>,
    /// The first of the rows that the columns have; `None` if they have all rows.
    pub(crate) mark: Option<Mark>,
}

impl<'a> Outline<'a> {
    /// The sections that [`Self::read`] reads.
    pub(crate) const SECTIONS: [&'static str; 3] = [Names::SECTION, sections::SHAPES, sections::ENDS];

    /// Reads the outline of a group, which may lack columns and other sections.
    pub(crate) fn read(tree: &Tree, group: &'a Group) -> Result<Self> {
        let count = group.nodes;
        let roles = Names::read(tree, group)?.into_roles();
        check_depth(tree, count)?;
        let (frames, ends) = sections::read_ends(section(group, sections::ENDS)?)?;
        let shapes = sections::read_shapes(section(group, sections::SHAPES)?, count)?;
        let raw = roles.iter().position(|role| *role == Role::Raw).unwrap_or_default() as NodeIx;
        Ok(Self { count, roles, raw, shapes, frames, ends, mark: None })
    }
}

/// The use that a node has for the lines that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    /// None.
    Nothing,
    /// Its presence.
    Kind,
    /// Something inside of it.
    Inside,
    /// All that is in it.
    Whole,
}

/// The columns and sections that lines need.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The use of each node.
    pub(super) uses: Vec<Use>,
    /// Leaves, ascending.
    pub(crate) leaves: Vec<NodeIx>,
    /// Sections, beside those of the outline.
    pub(crate) sections: Vec<&'static str>,
}

impl Parts {
    /// Everything.
    pub(super) fn all(tree: &Tree, outline: &Outline<'_>) -> Self {
        Self {
            uses: vec![Use::Whole; outline.count as usize],
            leaves: tree.leaves(outline.count).collect(),
            sections: vec![
                sections::SHAPE_IDS,
                sections::ARRAYS,
                sections::STYLES,
                sections::NUMBERS,
                sections::EXCEPTIONS,
            ],
        }
    }

    pub(super) fn needs(&self, section: &str) -> bool {
        self.sections.contains(&section)
    }

    pub(super) fn is_whole(&self, node: NodeIx) -> bool {
        self.uses.get(node as usize) == Some(&Use::Whole)
    }
}

/// The members that are written of each object, by its shape.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Keys with what is before and after them, and at least [`super::piece::LONG`] more bytes.
    pub(super) literals: Vec<u8>,
    /// The members of all shapes.
    pub(super) members: Vec<Member>,
    /// The begin and end of each shape of the group in `members`.
    pub(super) shapes: Vec<(u32, u32)>,
    /// The text of each node.
    pub(super) short: Vec<Short>,
    /// True if any member of a record is written.
    pub(super) any: bool,
}

/// A member of a shape that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// The begin and the length of its literal.
    pub(super) literal: (u32, u32),
    pub(super) value: MemberValue,
}

/// The value of a member that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberValue {
    Null,
    /// Some value, of which only the presence matters.
    Present,
    /// The value of a repeated name, by the number of such values before it in the object.
    Repeat(u32),
    /// The value of a node or its siblings.
    Node(NodeIx),
}

/// The text of a node in the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    Whole,
    /// The things that the plan says.
    Inside,
    /// Always the same.
    Text(&'static [u8]),
}

/// The parts of a group that a projection needs, and the plan; no plan for whole lines. Of several leaves
/// that are as good, the one with the least cost is read.
pub(crate) fn plan(
    tree: &Tree,
    outline: &Outline<'_>,
    projection: &Projection,
    cost: impl Fn(NodeIx) -> u64,
) -> Result<(Parts, Option<Plan>)> {
    let mut marks = Marks::new(tree, &outline.roles, &outline.shapes);
    let any = marks.record(projection)?;
    if outline.frames.iter().any(|frame| frame.kind == LineKind::Raw) && outline.raw != 0 {
        marks.uses[outline.raw as usize] = Use::Whole;
    }
    if let Some(mark) = &outline.mark {
        let absent = (1..).zip(marks.uses.iter_mut().skip(1)).filter(|(node, _)| !mark.occurs(*node));
        absent.for_each(|(_, used)| *used = Use::Nothing);
    }
    let mut leaves = marks.leaves(cost);
    leaves.sort_unstable();
    let plan = match marks.uses[0] {
        Use::Whole => None,
        _ => Some(marks.plan(outline, any)?),
    };
    let mut sections = Vec::new();
    let uses = marks.uses;
    let mut need = |section, needed: bool| sections.extend(needed.then_some(section));
    let any_node = |test: &dyn Fn(Use, Layout) -> bool| {
        uses.iter().zip(&tree.nodes).any(|(used, node)| test(*used, node.layout))
    };
    let whole = |layout| any_node(&|used, other| used == Use::Whole && other == layout);
    let has_repeats = plan.as_ref().is_some_and(Plan::has_repeats);
    need(sections::SHAPE_IDS, any_node(&|used, layout| used >= Use::Inside && layout == Layout::Struct));
    need(sections::ARRAYS, whole(Layout::List));
    need(sections::STYLES, whole(Layout::String));
    need(sections::NUMBERS, whole(Layout::Double));
    let exact = |layout| matches!(layout, Layout::Json | Layout::Boolean | Layout::Bytes);
    need(sections::EXCEPTIONS, has_repeats || any_node(&|used, layout| used == Use::Whole && !exact(layout)));
    Ok((Parts { uses, leaves, sections }, plan))
}

/// A key in a literal.
pub(super) struct Key<'a> {
    /// The key with its quotes.
    raw: &'a [u8],
    pub(super) name: Cow<'a, [u8]>,
}

impl<'a> Key<'a> {
    /// The key in the literal of a step that has one.
    pub(super) fn find(step: &sections::Step<'a>) -> Result<Self> {
        let literal = step.literal.get(..step.len as usize).unwrap_or_default();
        let find = || {
            let quote = memchr::memchr(b'"', literal)?;
            let end = scan::whole_string(literal, quote)?;
            let inside = literal.get(quote + 1..end.checked_sub(1)?)?;
            let name = match memchr::memchr(b'\\', inside) {
                None => Cow::Borrowed(inside),
                Some(_) => {
                    let mut name = Vec::new();
                    decode(inside, Malformed::Order, &mut name);
                    Cow::Owned(name)
                }
            };
            Some(Self { raw: literal.get(quote..end)?, name })
        };
        find().ok_or_else(|| damaged(sections::SHAPES, "a literal has no key"))
    }
}

/// True if a member of this name is one with a key of a projection. Some readers take surrogates without a
/// partner for U+FFFD.
pub(super) fn is_key(name: &[u8], key: &[u8]) -> bool {
    if name == key {
        return true;
    }
    const SURROGATE: u8 = 0xed;
    if memchr::memchr(SURROGATE, name).is_none() || name.len() != key.len() {
        return false;
    }
    let mut loose = name.to_vec();
    for at in 0..loose.len() {
        if let Some(bytes) = loose.get_mut(at..at + 3)
            && bytes[0] == SURROGATE
            && bytes[1] >= 0xa0
        {
            bytes.copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    loose == key
}

/// Uses of nodes, while they are found.
struct Marks<'t, 'a> {
    tree: &'t Tree,
    roles: &'t [Role],
    children: Children,
    shapes: &'t Shapes<'a>,
    /// The shapes of each object node: their begins and ends among all.
    own_shapes: HashMap<NodeIx, Vec<(u32, u32)>>,
    uses: Vec<Use>,
    /// Nodes of members that are written.
    written: Vec<bool>,
    /// Nodes of members of which only the presence is written, if nothing else is. The shape has it, so no
    /// column is read.
    present: Vec<bool>,
    /// The members without nodes that are written, by object node.
    keys: HashMap<NodeIx, Keys>,
    /// Names of members that have no nodes of their own, by object node.
    names: HashMap<NodeIx, Loose>,
    /// The key of each literal, by its address.
    found: HashMap<usize, Key<'a>>,
    /// True where descendants can be selected in a node, by the node and the address of their keys.
    searched: HashMap<(NodeIx, usize), bool>,
}

/// Keys of members that are written if their values are null in the whole group, or their name is repeated.
#[derive(Debug, Default)]
struct Keys {
    /// True for all keys.
    all: bool,
    some: Vec<Vec<u8>>,
}

impl Keys {
    fn has(&self, name: &[u8]) -> bool {
        self.all || self.some.iter().any(|key| is_key(name, key))
    }
}

/// Names of the members of an object that have no nodes of their own, in some shape.
#[derive(Debug, Default)]
struct Loose {
    /// Members whose values are all null.
    nulls: Vec<Vec<u8>>,
    /// Members with the name of an earlier one.
    repeats: Vec<Vec<u8>>,
}

impl<'t, 'a> Marks<'t, 'a> {
    fn new(tree: &'t Tree, roles: &'t [Role], shapes: &'t Shapes<'a>) -> Self {
        let count = roles.len();
        let mut own_shapes = HashMap::<NodeIx, Vec<_>>::default();
        for (node, first, last) in &shapes.nodes {
            own_shapes.entry(*node).or_default().push((*first, *last));
        }
        Self {
            tree,
            roles,
            children: Children::of(tree, count),
            shapes,
            own_shapes,
            uses: vec![Use::Nothing; count],
            written: vec![false; count],
            present: vec![false; count],
            keys: HashMap::default(),
            names: HashMap::default(),
            found: HashMap::default(),
            searched: HashMap::default(),
        }
    }

    /// Marks what records need. Returns whether any member is written.
    fn record(&mut self, projection: &Projection) -> Result<bool> {
        let any = match projection {
            Projection::All => {
                self.mark(0, Use::Whole);
                true
            }
            Projection::Inside(inside) => self.object(0, inside)?,
        };
        for node in 1..self.uses.len() {
            if self.uses[self.tree.nodes[node].parent as usize] == Use::Whole {
                self.uses[node] = Use::Whole;
            }
        }
        Ok(any)
    }

    fn mark(&mut self, node: NodeIx, used: Use) {
        let at = &mut self.uses[node as usize];
        *at = used.max(*at);
    }

    fn mark_all(&mut self, nodes: &[NodeIx], used: Use) {
        nodes.iter().for_each(|node| self.mark(*node, used));
    }

    /// Marks a member of an object, or several of one name, as written.
    fn write(&mut self, object: NodeIx, kinds: &[NodeIx]) {
        kinds.iter().for_each(|kind| self.written[*kind as usize] = true);
        self.keys.entry(object).or_default();
    }

    /// Marks a member of an object, or several of one name, as present.
    fn note(&mut self, object: NodeIx, kinds: &[NodeIx]) {
        kinds.iter().for_each(|kind| self.present[*kind as usize] = true);
        self.keys.entry(object).or_default();
    }

    fn children(&self, parent: NodeIx, test: impl Fn(&Role) -> bool) -> Vec<NodeIx> {
        self.children.below(parent).filter(|node| test(&self.roles[*node as usize])).collect()
    }

    /// The nodes of each member of an object.
    fn members(&self, object: NodeIx) -> Vec<Vec<NodeIx>> {
        let (mut members, mut numbers) = (Vec::<Vec<NodeIx>>::new(), HashMap::default());
        for node in self.children.below(object) {
            let Role::Field(key) = &self.roles[node as usize] else { continue };
            let number = *numbers.entry(&key[..]).or_insert(members.len());
            match members.get_mut(number) {
                Some(kinds) => kinds.push(node),
                None => members.push(vec![node]),
            }
        }
        members
    }

    /// Marks the nodes of one position. Returns false if no path can select a value in it.
    fn position(&mut self, kinds: &[NodeIx], projection: &Projection) -> Result<bool> {
        let Projection::Inside(inside) = projection else {
            self.mark_all(kinds, Use::Whole);
            return Ok(!kinds.is_empty());
        };
        let mut any = false;
        for node in kinds.iter().filter(|_| !inside.is_empty()) {
            any |= self.node(*node, inside)?;
        }
        if any {
            self.mark_all(kinds, Use::Kind);
        }
        Ok(any)
    }

    /// Marks a node of which something inside is needed, as [`Self::position`] does.
    fn node(&mut self, node: NodeIx, inside: &Inside) -> Result<bool> {
        match self.tree.nodes[node as usize].layout {
            Layout::Json => {
                self.mark(node, Use::Whole);
                Ok(true)
            }
            Layout::List => self.list(node, inside),
            Layout::Struct if self.roles[node as usize] == Role::Mixed => {
                let kinds = self.children(node, |role| *role == Role::Kind);
                let mut any = false;
                for kind in &kinds {
                    any |= self.node(*kind, inside)?;
                }
                Ok(self.around(node, &kinds, any))
            }
            Layout::Struct => self.object(node, inside),
            _ => Ok(false),
        }
    }

    /// Marks a node, and the kinds of values in it, if something in it is needed. Returns whether it is.
    fn around(&mut self, node: NodeIx, kinds: &[NodeIx], any: bool) -> bool {
        if any {
            self.mark_all(kinds, Use::Kind);
            self.mark(node, Use::Inside);
        }
        any
    }

    /// Marks a list node, as [`Self::position`] does.
    fn list(&mut self, node: NodeIx, inside: &Inside) -> Result<bool> {
        let elements = [&inside.elements, &inside.each].into_iter().flatten();
        // Elements that are null are selected, too.
        if elements.clone().any(|projection| projection.is_end()) {
            self.mark(node, Use::Whole);
            return Ok(true);
        }
        let kinds = self.children(node, is_element);
        let mut any = self.search(node, &inside.deep)?;
        for projection in elements {
            any |= self.position(&kinds, projection)?;
        }
        Ok(self.around(node, &kinds, any))
    }

    /// Marks an object node, as [`Self::position`] does.
    fn object(&mut self, node: NodeIx, inside: &Inside) -> Result<bool> {
        let mut any = self.named(node, &inside.names)?;
        if let Some(projection) = &inside.each {
            any |= self.each(node, projection)?;
        }
        any |= self.search(node, &inside.deep)?;
        Ok(self.around(node, &[], any))
    }

    /// Marks members of an object by their keys.
    fn named(&mut self, node: NodeIx, names: &[(Vec<u8>, Projection)]) -> Result<bool> {
        let mut any = false;
        for (key, projection) in names {
            let kinds = self.children(node, |role| matches!(role, Role::Field(name) if is_key(name, key)));
            let is_written = self.position(&kinds, projection)?;
            // Paths select null only where they end.
            let is_end = projection.is_end();
            let is_present = is_end && !kinds.is_empty();
            let is_null = is_end && self.loose(node)?.nulls.iter().any(|name| is_key(name, key));
            if is_written {
                self.write(node, &kinds);
            } else if is_present {
                self.note(node, &kinds);
            }
            if is_written || is_present || is_null {
                self.keys.entry(node).or_default().some.push(key.clone());
                any = true;
            }
        }
        Ok(any)
    }

    /// Marks all members of an object.
    fn each(&mut self, node: NodeIx, projection: &Projection) -> Result<bool> {
        let mut any = self.repeated(node)?;
        for kinds in self.members(node) {
            if self.position(&kinds, projection)? {
                self.write(node, &kinds);
                any = true;
            } else if projection.is_end() {
                self.note(node, &kinds);
                any = true;
            }
        }
        if projection.is_end() {
            any |= !self.loose(node)?.nulls.is_empty();
            self.keys.entry(node).or_default().all = true;
        }
        Ok(any)
    }

    /// Marks the members of an object whose names are repeated: all of each, because the values of repeated
    /// names have no nodes.
    fn repeated(&mut self, node: NodeIx) -> Result<bool> {
        let names = self.loose(node)?.repeats.clone();
        for name in &names {
            let kinds = self.children(node, |role| matches!(role, Role::Field(other) if other == name));
            self.mark_all(&kinds, Use::Whole);
            self.write(node, &kinds);
        }
        let any = !names.is_empty();
        self.keys.entry(node).or_default().some.extend(names);
        Ok(any)
    }

    /// Marks descendants of a node by their keys, as [`Self::position`] does.
    fn search(&mut self, node: NodeIx, deep: &[(Vec<u8>, Projection)]) -> Result<bool> {
        if deep.is_empty() {
            return Ok(false);
        }
        let place = (node, deep.as_ptr() as usize);
        if let Some(known) = self.searched.get(&place) {
            return Ok(*known);
        }
        let any = match self.tree.nodes[node as usize].layout {
            Layout::Json => {
                self.mark(node, Use::Whole);
                true
            }
            Layout::Struct if self.roles[node as usize] != Role::Mixed => {
                let mut any = self.named(node, deep)? | self.repeated(node)?;
                for kinds in self.members(node) {
                    if self.search_all(&kinds, deep)? {
                        self.write(node, &kinds);
                        any = true;
                    }
                }
                self.around(node, &[], any)
            }
            Layout::List | Layout::Struct => {
                let kinds = self.children(node, |role| is_element(role) || *role == Role::Kind);
                let any = self.search_all(&kinds, deep)?;
                self.around(node, &[], any)
            }
            _ => false,
        };
        self.searched.insert(place, any);
        Ok(any)
    }

    /// The same of the nodes of one position.
    fn search_all(&mut self, kinds: &[NodeIx], deep: &[(Vec<u8>, Projection)]) -> Result<bool> {
        let mut any = false;
        for kind in kinds {
            any |= self.search(*kind, deep)?;
        }
        if any {
            self.mark_all(kinds, Use::Kind);
        }
        Ok(any)
    }

    /// The names of members of an object that have no nodes.
    fn loose(&mut self, node: NodeIx) -> Result<&Loose> {
        if !self.names.contains_key(&node) {
            let loose = self.find_loose(node)?;
            self.names.insert(node, loose);
        }
        Ok(&self.names[&node])
    }

    fn find_loose(&mut self, node: NodeIx) -> Result<Loose> {
        let (shapes, mut seen, mut loose) = (self.shapes, HashSet::default(), Loose::default());
        for (first, last) in self.own_shapes.get(&node).cloned().unwrap_or_default() {
            for &(begin, end) in &shapes.bounds[first as usize..last as usize] {
                for step in &shapes.steps[begin as usize..end as usize] {
                    let repeats = step.slot == Slot::Repeat;
                    let is_loose = repeats || step.slot == Slot::Null;
                    if is_loose && seen.insert((step.literal.as_ptr() as usize, repeats)) {
                        let name = self.key(step)?.name.to_vec();
                        let names = if repeats { &mut loose.repeats } else { &mut loose.nulls };
                        names.push(name);
                    }
                }
            }
        }
        loose.repeats.sort_unstable();
        loose.repeats.dedup();
        Ok(loose)
    }

    /// The key of a step.
    fn key(&mut self, step: &sections::Step<'a>) -> Result<&Key<'a>> {
        match self.found.entry(step.literal.as_ptr() as usize) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(Key::find(step)?)),
        }
    }

    /// The leaves from which the used nodes are read.
    fn leaves(&self, cost: impl Fn(NodeIx) -> u64) -> Vec<NodeIx> {
        let count = self.uses.len();
        // The cheapest leaf below each node, and whether a leaf below it is read.
        let mut best: Vec<Option<(u64, Reverse<NodeIx>)>> = vec![None; count];
        let mut is_read = vec![false; count];
        let mut leaves = Vec::new();
        for node in (0..count).rev() {
            let layout = self.tree.nodes[node].layout;
            if !matches!(layout, Layout::Struct | Layout::List) {
                best[node] = Some((cost(node as NodeIx), Reverse(node as NodeIx)));
            }
            // The presence of the record needs no leaf.
            if self.uses[node] > Use::Nothing
                && node != 0
                && !is_read[node]
                && let Some((_, Reverse(leaf))) = best[node]
            {
                is_read[node] = true;
                leaves.push(leaf);
            }
            let parent = self.tree.nodes[node].parent as usize;
            is_read[parent] |= is_read[node];
            best[parent] = best[parent].into_iter().chain(best[node]).min();
        }
        leaves.sort_unstable();
        leaves
    }

    /// The plan of the shapes.
    fn plan(&mut self, outline: &Outline<'a>, any: bool) -> Result<Plan> {
        let mut plan = Plan { any, ..Plan::default() };
        let mut literals = HashMap::default();
        plan.short = (0..self.uses.len()).map(|node| self.short(node)).collect();
        for (node, first, last) in &outline.shapes.nodes {
            let keys = self.keys.remove(node);
            for &(begin, end) in &outline.shapes.bounds[*first as usize..*last as usize] {
                let from = plan.members.len() as u32;
                let steps = &outline.shapes.steps[begin as usize..end as usize];
                if let Some(keys) = &keys {
                    self.shape(steps, keys, &mut literals, &mut plan)?;
                }
                plan.shapes.push((from, plan.members.len() as u32));
            }
        }
        plan.literals.extend([0; super::piece::LONG]);
        Ok(plan)
    }

    fn short(&self, node: usize) -> Short {
        match (self.uses[node], self.tree.nodes[node].layout) {
            (Use::Whole, _) => Short::Whole,
            (Use::Inside, _) => Short::Inside,
            (_, Layout::Struct) => Short::Text(b"{}"),
            (_, Layout::List) => Short::Text(b"[]"),
            (_, Layout::Boolean) => Short::Text(b"true"),
            (_, Layout::Int | Layout::Double) => Short::Text(b"0"),
            (_, Layout::String | Layout::Json | Layout::Bytes) => Short::Text(b"\"\""),
        }
    }

    /// Adds the members of a shape that are written.
    fn shape(
        &mut self,
        steps: &[sections::Step<'a>],
        keys: &Keys,
        literals: &mut HashMap<(usize, bool), (u32, u32)>,
        plan: &mut Plan,
    ) -> Result<()> {
        let (from, mut repeats) = (plan.members.len(), 0);
        for step in steps {
            let value = match step.slot {
                Slot::Close => break,
                Slot::Node(node) if self.written.get(node as usize) == Some(&true) => MemberValue::Node(node),
                Slot::Node(node) if self.present.get(node as usize) == Some(&true) => MemberValue::Present,
                Slot::Node(_) => continue,
                Slot::Null => MemberValue::Null,
                Slot::Repeat => {
                    repeats += 1;
                    MemberValue::Repeat(repeats - 1)
                }
            };
            let key = self.key(step)?;
            if !matches!(step.slot, Slot::Node(_)) && !keys.has(&key.name) {
                continue;
            }
            let is_first = plan.members.len() == from;
            let address = (step.literal.as_ptr() as usize, is_first);
            let literal = *literals.entry(address).or_insert_with(|| {
                let begin = plan.literals.len();
                plan.literals.push(if is_first { b'{' } else { b',' });
                plan.literals.extend_from_slice(key.raw);
                plan.literals.push(b':');
                (begin as u32, (plan.literals.len() - begin) as u32)
            });
            plan.members.push(Member { literal, value });
        }
        Ok(())
    }
}

fn is_element(role: &Role) -> bool {
    matches!(role, Role::Element | Role::Mixed)
}

impl Plan {
    fn has_repeats(&self) -> bool {
        self.members.iter().any(|member| matches!(member.value, MemberValue::Repeat(_)))
    }
}
