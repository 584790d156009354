//! The tree: its nodes, how they are found, and how two trees become one.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::json_type::JsonType;
use super::node::{Excerpt, First, Node, NodeId, Position, ROOT, SINK, Step, is_less, lossy};

/// The most members of an object whose names are kept. An object with more is a map.
pub const MOST_MEMBERS: usize = 4096;

/// The most nodes of a tree.
pub const MOST_NODES: usize = 1 << 16;

/// The most nodes while a record is added. Then bounds are lowered, each time that this many more are made.
const MOST_NODES_IN_RECORD: usize = 2 * MOST_NODES;
const MORE_NODES: usize = MOST_NODES / 8;

/// The schema of some records: a node for each path.
///
/// Trees form a commutative monoid under [`merge`](Self::merge), with the empty tree as its identity, as long
/// as no tree reaches [`MOST_NODES`].
///
/// ```
/// use warpath::Engine;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"x\"}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// // A node for the records, and one for `$.id`.
/// assert_eq!((schema.tree.records(), schema.tree.len()), (2, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SchemaTree {
    pub(super) nodes: Vec<Node>,
    /// Numbers of named nodes by the hash of parent and name, with open addressing. 0 is an empty slot.
    slots: Vec<NodeId>,
    named: usize,
    /// Objects seen so far, which numbers them.
    pub(super) objects: u64,
    pub(super) limits: Bounds,
    /// True if an object has more members than are kept, or there are too many nodes.
    overfull: bool,
}

/// The bounds of a tree. They shrink when the tree has too many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub members: usize,
    pub depth: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { members: MOST_MEMBERS, depth: u32::MAX }
    }
}

impl Bounds {
    fn smaller(self) -> Self {
        match self {
            Self { members: 0, depth } => Self { members: 0, depth: depth.min(1024) / 2 },
            Self { members, depth } => Self { members: members / 2, depth },
        }
    }
}

impl Default for SchemaTree {
    fn default() -> Self {
        Self::with_bounds(Bounds::default())
    }
}

impl SchemaTree {
    fn with_bounds(limits: Bounds) -> Self {
        let mut sink = Node::new(Step::Elements, SINK, u32::MAX);
        (sink.elements, sink.values) = (SINK, SINK);
        let nodes = vec![Node::new(Step::Root, ROOT, 0), sink];
        Self { nodes, slots: vec![0; 64], named: 0, objects: 0, limits, overfull: false }
    }

    /// The node of the records.
    #[must_use]
    pub fn root(&self) -> SchemaNode<'_> {
        SchemaNode { tree: self, node: &self.nodes[ROOT as usize] }
    }

    /// The number of records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.root().total()
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// True if the tree has no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records() == 0
    }

    /// The most members of an object that is no map, if the tree had more than [`MOST_NODES`] nodes and this
    /// bound was therefore lowered.
    #[must_use]
    pub fn lowered_members(&self) -> Option<usize> {
        (self.limits.members < MOST_MEMBERS).then_some(self.limits.members)
    }

    /// The deepest level whose values are kept, if deeper levels were given up to bound the tree.
    #[must_use]
    pub fn lowered_depth(&self) -> Option<u32> {
        (self.limits.depth < u32::MAX).then_some(self.limits.depth)
    }

    fn hash(parent: NodeId, name: &[u8]) -> usize {
        xxh3_64_with_seed(name, u64::from(parent)) as usize
    }

    fn push(&mut self, step: Step, parent: NodeId) -> NodeId {
        let depth = self.nodes[parent as usize].depth + 1;
        self.nodes.push(Node::new(step, parent, depth));
        let len = self.nodes.len();
        self.overfull |= len > MOST_NODES;
        if len >= MOST_NODES_IN_RECORD && len.is_multiple_of(MORE_NODES) {
            // One record has that many. Its objects become maps as it is read.
            self.limits = self.limits.smaller();
        }
        (len - 1) as NodeId
    }

    /// The node of a member with a decoded name; [`ROOT`] if there is none.
    fn find(&self, parent: NodeId, name: &[u8]) -> (NodeId, usize) {
        let mask = self.slots.len() - 1;
        let mut at = Self::hash(parent, name) & mask;
        loop {
            let id = self.slots[at];
            let node = &self.nodes[id as usize];
            if id == 0
                || node.parent == parent && matches!(&node.rare.step, Step::Name(mine) if **mine == *name)
            {
                return (id, at);
            }
            at = (at + 1) & mask;
        }
    }

    /// The node of a member with a decoded name, which is made if it does not exist.
    pub(super) fn member(&mut self, parent: NodeId, name: &[u8]) -> NodeId {
        let Node { values, depth, .. } = self.nodes[parent as usize];
        if values != ROOT {
            return values;
        }
        if depth >= self.limits.depth {
            return SINK;
        }
        let (found, at) = self.find(parent, name);
        if found != 0 {
            return found;
        }
        if self.nodes[parent as usize].rare.members.len() >= self.limits.members {
            // The members that are there are folded when the tree settles.
            self.overfull = true;
            return self.values(parent);
        }
        let id = self.push(Step::Name(name.into()), parent);
        self.nodes[parent as usize].rare.members.push(id);
        self.slots[at] = id;
        self.named += 1;
        if self.named * 2 > self.slots.len() {
            self.grow();
        }
        id
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for id in 2..self.nodes.len() {
            let Node { parent, rare, .. } = &self.nodes[id];
            if let Step::Name(name) = &rare.step {
                let (_, at) = self.find(*parent, name);
                self.slots[at] = id as NodeId;
            }
        }
    }

    /// The node of the elements of an array, which is made if it does not exist.
    pub(super) fn elements(&mut self, parent: NodeId) -> NodeId {
        let Node { elements, depth, .. } = self.nodes[parent as usize];
        if elements != ROOT {
            return elements;
        }
        if depth >= self.limits.depth {
            return SINK;
        }
        let id = self.push(Step::Elements, parent);
        self.nodes[parent as usize].elements = id;
        id
    }

    /// The node of the values of a map, which is made if it does not exist.
    pub(super) fn values(&mut self, parent: NodeId) -> NodeId {
        let Node { values, depth, .. } = self.nodes[parent as usize];
        if values != ROOT {
            return values;
        }
        if depth >= self.limits.depth {
            return SINK;
        }
        let id = self.push(Step::Values, parent);
        self.nodes[parent as usize].values = id;
        id
    }

    /// Adds the values of another tree. Its positions have to be those of the same inputs.
    pub fn merge(&mut self, other: &Self) {
        let Bounds { members, depth } = other.limits;
        let smaller = members < self.limits.members || depth < self.limits.depth;
        self.limits.members = self.limits.members.min(members);
        self.limits.depth = self.limits.depth.min(depth);
        self.overfull |= smaller;
        self.absorb(ROOT, other, ROOT, &|_| false);
        self.settle();
    }

    /// Adds a node of another tree, with all below it, to a node of this one. Objects for which `fold` is
    /// true become maps.
    fn absorb(&mut self, into: NodeId, other: &Self, id: NodeId, fold: &dyn Fn(SchemaNode<'_>) -> bool) {
        let node = &other.nodes[id as usize];
        self.nodes[into as usize].merge(node);
        if into == SINK {
            return;
        }
        if self.nodes[into as usize].rare.step == Step::Values {
            // The members of a map have one node.
            self.nodes[into as usize].repeated = 0;
        }
        let folds = fold(SchemaNode { tree: other, node });
        for member in &node.rare.members {
            let Step::Name(name) = &other.nodes[*member as usize].rare.step else { continue };
            let child = if folds { self.values(into) } else { self.member(into, name) };
            self.absorb(child, other, *member, fold);
        }
        if node.values != ROOT {
            let child = self.values(into);
            // Members that were there before are folded when the tree settles.
            self.overfull |= !self.nodes[into as usize].rare.members.is_empty();
            self.absorb(child, other, node.values, fold);
        }
        if node.elements != ROOT {
            let child = self.elements(into);
            self.absorb(child, other, node.elements, fold);
        }
    }

    /// True if the tree has to [settle](Self::settle).
    #[inline(always)]
    pub(super) fn is_overfull(&self) -> bool {
        self.overfull
    }

    /// Keeps the bounds, after records or another tree were added.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn settle(&mut self) {
        while self.overfull {
            let members = self.limits.members;
            let folds = |node: SchemaNode<'_>| {
                let count = node.node.rare.members.len();
                count > members || node.node.values != ROOT && count > 0
            };
            self.rebuild(&folds);
            if self.nodes.len() > MOST_NODES {
                self.limits = self.limits.smaller();
                self.overfull = self.limits != Bounds { members: 0, depth: 0 };
            }
        }
    }

    fn rebuild(&mut self, fold: &dyn Fn(SchemaNode<'_>) -> bool) {
        let mut tree = Self::with_bounds(self.limits);
        tree.objects = self.objects;
        tree.absorb(ROOT, self, ROOT, fold);
        *self = tree;
    }

    /// Makes the objects into maps that [look like maps](SchemaNode::looks_like_map).
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn fold_maps(&mut self) {
        while self.nodes.iter().any(|node| SchemaNode { tree: self, node }.looks_like_map()) {
            self.rebuild(&|node| node.looks_like_map());
            self.settle();
        }
    }

    /// Replaces each position.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn relocate(&mut self, to: impl Fn(Position) -> Position) {
        for node in &mut self.nodes {
            for (_, first) in &mut node.rare.firsts {
                first.position = to(first.position);
            }
        }
    }
}

/// A node of a tree.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::JsonType;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":null}\n{}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let id = schema.tree.root().members()[0];
/// assert_eq!((id.count(JsonType::Int64), id.count(JsonType::Null), id.missing()), (1, 1, 1));
/// assert!(id.is_nullable());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SchemaNode<'a> {
    tree: &'a SchemaTree,
    node: &'a Node,
}

impl<'a> SchemaNode<'a> {
    fn other(self, id: NodeId) -> SchemaNode<'a> {
        SchemaNode { tree: self.tree, node: &self.tree.nodes[id as usize] }
    }

    /// The relation to the parent.
    #[must_use]
    pub fn step(self) -> &'a Step {
        &self.node.rare.step
    }

    /// The name of a member, with U+FFFD for what is not UTF-8.
    #[must_use]
    pub fn name(self) -> Option<String> {
        match self.step() {
            Step::Name(name) => Some(lossy(name)),
            _ => None,
        }
    }

    /// The number of values of a kind.
    #[must_use]
    pub fn count(self, kind: JsonType) -> u64 {
        self.stored(kind).map_or(0, |kind| self.node.counts[kind as usize])
    }

    /// The kind by which a node has the values of a kind; `None` if it has none of them.
    fn stored(self, kind: JsonType) -> Option<JsonType> {
        match kind {
            JsonType::String | JsonType::Time | JsonType::Date => {
                (self.node.form.kind() == kind).then_some(JsonType::String)
            }
            kind => Some(kind),
        }
    }

    /// The reverse of [`stored`](Self::stored).
    fn shown(self, kind: JsonType) -> JsonType {
        if kind == JsonType::String { self.node.form.kind() } else { kind }
    }

    /// The number of values.
    #[must_use]
    pub fn total(self) -> u64 {
        self.node.total()
    }

    /// The kinds of the values, in the order of their first values.
    #[must_use]
    pub fn kinds(self) -> Vec<JsonType> {
        let mut firsts: Vec<_> = self.node.rare.firsts.iter().collect();
        firsts.sort_by_key(|(_, first)| first.position);
        firsts.into_iter().map(|(kind, _)| self.shown(*kind)).collect()
    }

    /// The first value of a kind.
    #[must_use]
    pub fn first(self, kind: JsonType) -> Option<&'a First> {
        let kind = self.stored(kind)?;
        self.node.rare.firsts.iter().find(|(mine, _)| *mine == kind).map(|(_, first)| first)
    }

    /// The JSON text of the first value that is a scalar and not `null`.
    #[must_use]
    pub fn example(self) -> Option<&'a Excerpt> {
        let scalars = self.node.rare.firsts.iter();
        let scalars = scalars.filter(|(kind, _)| !kind.is_container() && *kind != JsonType::Null);
        scalars.min_by_key(|(_, first)| first.position).map(|(_, first)| &first.example)
    }

    /// The number of objects that lack the member; 0 for a node that is no member.
    #[must_use]
    pub fn missing(self) -> u64 {
        match self.step() {
            Step::Name(_) => {
                let objects = self.other(self.node.parent).count(JsonType::Object);
                objects.saturating_sub(self.total() - self.node.repeated)
            }
            _ => 0,
        }
    }

    /// The number of times that an object had the member once more.
    #[must_use]
    pub fn repeated(self) -> u64 {
        if let Step::Name(_) = self.step() { self.node.repeated } else { 0 }
    }

    /// True if values are missing or null.
    #[must_use]
    pub fn is_nullable(self) -> bool {
        self.count(JsonType::Null) > 0 || self.missing() > 0
    }

    /// The estimated number of distinct scalars other than `null`, at most their number.
    #[must_use]
    pub fn distinct(self) -> u64 {
        let Node { trues, counts, distinct, .. } = self.node;
        let bools = [*trues, counts[JsonType::Bool as usize] - trues];
        let others = [JsonType::Int64, JsonType::BigInt, JsonType::Float64, JsonType::String];
        let most = others.iter().map(|kind| counts[*kind as usize]).sum();
        distinct.count().min(most) + bools.iter().filter(|count| **count > 0).count() as u64
    }

    /// True if [`distinct`](Self::distinct) is exact.
    #[must_use]
    pub fn is_distinct_exact(self) -> bool {
        self.node.distinct.is_exact()
    }

    /// The number of values that are `true`.
    #[must_use]
    pub fn trues(self) -> u64 {
        self.node.trues
    }

    /// The least and the greatest of the integers that an `i64` holds.
    #[must_use]
    pub fn integers(self) -> Option<(i64, i64)> {
        (self.count(JsonType::Int64) > 0).then_some(self.node.integers)
    }

    /// The texts of the least and the greatest integer beyond `i64`.
    #[must_use]
    pub fn big_integers(self) -> Option<(&'a Excerpt, &'a Excerpt)> {
        self.node.rare.bigs.as_ref().map(|(least, greatest)| (&least.text, &greatest.text))
    }

    /// The most digits of an integer beyond `i64`; 0 if there is none.
    #[must_use]
    pub fn big_digits(self) -> usize {
        self.node.rare.big_digits
    }

    /// The texts of the least and the greatest float.
    #[must_use]
    pub fn floats(self) -> Option<(&'a Excerpt, &'a Excerpt)> {
        self.node.rare.floats.as_ref().map(|(least, greatest)| (&least.text, &greatest.text))
    }

    /// True if a double holds all floats, rounded, so that none is beyond the greatest double.
    #[must_use]
    pub fn are_floats_finite(self) -> bool {
        let floats = self.node.rare.floats.as_ref();
        floats.is_none_or(|(least, greatest)| least.value.is_finite() && greatest.value.is_finite())
    }

    /// The number of steps from the records; 0 for the root.
    #[must_use]
    pub fn depth(self) -> u32 {
        self.node.depth
    }

    /// The least and the greatest string, decoded, in the order of code points. They are cut after
    /// [`MOST_TEXT`](super::MOST_TEXT) bytes.
    #[must_use]
    pub fn strings(self) -> Option<(&'a Excerpt, &'a Excerpt)> {
        self.node.rare.strings.as_ref().map(|(least, greatest)| (least, greatest))
    }

    /// The texts of the least and the greatest number of any kind, whole, as the input has them.
    #[must_use]
    pub fn numbers(self) -> Option<(String, String)> {
        let mut all: Vec<(String, f64)> = Vec::new();
        if let Some((least, greatest)) = self.integers() {
            all.extend([least, greatest].map(|value| (value.to_string(), value as f64)));
        }
        for (least, greatest) in [&self.node.rare.floats, &self.node.rare.bigs].into_iter().flatten() {
            all.extend([least, greatest].map(|number| (number.text.text(), number.value)));
        }
        let order = |a: &&(String, f64), b: &&(String, f64)| {
            let [a, b] = [a, b].map(|(text, value)| (text.as_bytes(), *value));
            is_less(b, a).cmp(&is_less(a, b))
        };
        let least = all.iter().min_by(order)?.0.clone();
        let greatest = all.iter().max_by(order)?.0.clone();
        Some((least, greatest))
    }

    /// The least and the greatest number of elements of an array.
    #[must_use]
    pub fn lengths(self) -> Option<(u64, u64)> {
        (self.count(JsonType::Array) > 0).then_some(self.node.lengths)
    }

    /// The members of the objects, in the order of their first values. A map has none.
    #[must_use]
    pub fn members(self) -> Vec<SchemaNode<'a>> {
        let mut members: Vec<_> = self.node.rare.members.iter().map(|id| self.other(*id)).collect();
        members.sort_by_key(|member| member.node.position());
        members
    }

    /// The elements of the arrays. `None` if no array has an element.
    #[must_use]
    pub fn elements(self) -> Option<SchemaNode<'a>> {
        (self.node.elements != ROOT).then(|| self.other(self.node.elements))
    }

    /// The values of the objects, if these are maps.
    #[must_use]
    pub fn values(self) -> Option<SchemaNode<'a>> {
        (self.node.values != ROOT).then(|| self.other(self.node.values))
    }

    /// All nodes right below this one: members or values, then elements.
    #[must_use]
    pub fn children(self) -> Vec<SchemaNode<'a>> {
        let mut all = self.members();
        all.extend(self.values());
        all.extend(self.elements());
        all
    }

    /// True if the objects are used as maps: they are not the records, they have at least 32 names, of which
    /// several objects have none in common, at least nine tenths of the values other than `null` are of one
    /// class (booleans, numbers, strings, objects or arrays), and either
    ///
    /// * a name is in a quarter of the objects at most, on average, or
    /// * the values are containers, and there are more than eight names for each object.
    #[must_use]
    pub fn looks_like_map(self) -> bool {
        const LEAST_NAMES: usize = 32;
        let members = &self.node.rare.members;
        if members.len() < LEAST_NAMES || matches!(self.node.rare.step, Step::Root) {
            return false;
        }
        let objects = self.count(JsonType::Object);
        let mut counts = [0u64; JsonType::OF_VALUES];
        let mut occurrences = 0;
        for member in members {
            let member = self.other(*member);
            let having = member.total() - member.node.repeated;
            if objects > 1 && having == objects {
                return false;
            }
            occurrences += having;
            for (count, more) in counts.iter_mut().zip(member.node.counts) {
                *count += more;
            }
        }
        let of = |kinds: &[JsonType]| kinds.iter().map(|kind| counts[*kind as usize]).sum::<u64>();
        let containers = of(&[JsonType::Object]).max(of(&[JsonType::Array]));
        let classes = [
            of(&[JsonType::Bool]),
            of(&[JsonType::Int64, JsonType::BigInt, JsonType::Float64]),
            of(&[JsonType::String]),
            containers,
        ];
        let most = classes.into_iter().max().unwrap_or(0);
        let values = occurrences.max(counts.iter().sum()) - of(&[JsonType::Null]);
        let names = members.len() as u64;
        let is_alike = most > 0 && most * 10 >= values * 9;
        let is_sparse = occurrences * 4 <= names * objects;
        is_alike && (is_sparse || most == containers && objects * 8 < names)
    }
}
