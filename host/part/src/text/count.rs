//! The section `counts`: how many values each node has. By it, the number of values that a path selects in a
//! group is known without these values.
//!
//! | part of the section | contents |
//! |---|---|
//! | others | rows whose lines are kept whole, or begin with a byte order mark |
//! | nodes | for each node, its values, and those of all kinds at its position, null included |
//! | objects | object nodes that have members without nodes: the node, the number of members of a repeated name, and each key whose values are all null, with the number of these |

use std::collections::BTreeMap;

use foldhash::HashMap;
use warpath_core::projection::Step;

use super::bytes::{Reader, put, put_bytes};
use super::children::Children;
use super::draft::Draft;
use super::error::{Result, damaged};
use super::known::Known;
use super::names::{Names, Role};
use super::restore::check_depth;
use super::sections::{LineKind, Slot};
use crate::group::{Group, Layout, NodeIx, Tree};

/// The name of the section.
pub(crate) const COUNTS: &str = "counts";
/// The sections that [`counts_of`] reads.
pub(crate) const COUNTED: [&str; 2] = [Names::SECTION, COUNTS];

/// The byte order mark.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Members of objects that have no nodes.
#[derive(Debug, Default)]
struct Loose<K> {
    /// Members with the name of an earlier one.
    repeats: u32,
    /// Keys of members whose values are all null, with their number.
    nulls: Vec<(K, u32)>,
}

/// Writes the section of a group.
pub(super) fn write(known: &Known, draft: &Draft) -> Vec<u8> {
    let frame = |end: &u32| &draft.frames.all[*end as usize];
    let is_record = |row: usize| draft.ends.get(row).is_some_and(|end| frame(end).kind == LineKind::Record);
    let others = draft.ends.iter().filter(|end| {
        let frame = frame(end);
        frame.kind == LineKind::Raw || frame.before.starts_with(MARK)
    });
    let mut all = vec![0_u32; known.tree.nodes.len()];
    let mut loose = BTreeMap::new();
    for (node, position) in known.objects() {
        let mut objects = vec![0_u32; position.shapes.len()];
        for (at, id) in draft.filled[node as usize].ids.iter().enumerate() {
            // The record has a number in each row.
            objects[*id as usize] += u32::from(node != 0 || is_record(at));
        }
        let (mut repeats, mut nulls) = (0, BTreeMap::<&[u8], u32>::new());
        for (last, count) in position.shapes.iter().zip(objects).filter(|(_, count)| *count > 0) {
            for (state, slot) in known.shape(*last) {
                match slot {
                    Slot::Node(node) => all[node as usize] += count,
                    Slot::Null => *nulls.entry(known.key(state)).or_default() += count,
                    Slot::Repeat => repeats += count,
                    Slot::Close => {}
                }
            }
        }
        if repeats > 0 || !nulls.is_empty() {
            loose.insert(node, Loose { repeats, nulls: nulls.into_iter().collect() });
        }
    }
    let mut values: Vec<u32> = draft.filled.iter().map(|filled| filled.at.len() as u32).collect();
    values[0] = (0..draft.rows as usize).filter(|row| is_record(*row)).count() as u32;
    // Slots have the first kind of each member.
    let mut first = HashMap::default();
    for (index, role) in known.roles.iter().enumerate() {
        let parent = known.tree.nodes[index].parent as usize;
        all[index] = match role {
            Role::Root | Role::Raw => draft.rows,
            Role::Field(key) => all[*first.entry((parent, key)).or_insert(index)],
            Role::Element | Role::Mixed => draft.filled[parent].elements,
            Role::Kind => all[parent],
            Role::Present => values[parent],
        };
    }
    let mut out = Vec::new();
    put(&mut out, others.count() as u64);
    for (values, all) in values.iter().zip(&all) {
        put(&mut out, u64::from(*values));
        put(&mut out, u64::from(*all));
    }
    put(&mut out, loose.len() as u64);
    for (node, Loose { repeats, nulls }) in loose {
        put(&mut out, u64::from(node));
        put(&mut out, u64::from(repeats));
        put(&mut out, nulls.len() as u64);
        for (key, count) in nulls {
            put_bytes(&mut out, key);
            put(&mut out, u64::from(count));
        }
    }
    out
}

/// The number of values that each path selects in a group, in their order, as far as they are known:
///
/// * The group has no line that is kept whole, and none with a byte order mark.
/// * Paths have names, wildcards and at most one descendant.
/// * A path does not lead into values that are texts, nor from all members of an object into one of a
///   repeated name.
///
/// `None` otherwise, and for a group without the section.
///
/// # Errors
/// [`super::Error::Damaged`] for sections that contradict each other, the tree or the number of rows.
pub(crate) fn counts_of(tree: &Tree, group: &Group, paths: &[Vec<Step>]) -> Result<Option<Vec<u64>>> {
    let Some((_, bytes)) = group.sections.iter().find(|(name, _)| name == COUNTS) else { return Ok(None) };
    let names = Names::read(tree, group)?;
    check_depth(tree, group.nodes)?;
    let counts = Counts::read(tree, names.roles(), group.rows, bytes)?;
    Ok(paths.iter().map(|path| counts.of_path(path)).collect())
}

/// The numbers of values of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    values: u32,
    /// The values of all kinds at its position, null included.
    all: u32,
}

/// The section of a group.
struct Counts<'a> {
    tree: &'a Tree,
    roles: &'a [Role],
    children: Children,
    others: u32,
    numbers: Vec<Numbers>,
    /// The first kind of each member.
    first: HashMap<(NodeIx, &'a [u8]), NodeIx>,
    loose: HashMap<NodeIx, Loose<&'a [u8]>>,
}

impl<'a> Counts<'a> {
    fn read(tree: &'a Tree, roles: &'a [Role], rows: u32, bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, COUNTS);
        let number =
            |reader: &mut Reader<'_>| Ok(reader.below(u32::MAX as usize, "a number of values")? as u32);
        let others = number(&mut reader)?;
        let mut numbers = Vec::with_capacity(roles.len());
        for _ in roles {
            numbers.push(Numbers { values: number(&mut reader)?, all: number(&mut reader)? });
        }
        let mut loose = HashMap::default();
        for _ in 0..reader.count("objects")? {
            let node = reader.below(roles.len(), "a node")?;
            let (repeats, mut nulls) = (number(&mut reader)?, Vec::new());
            for _ in 0..reader.count("keys")? {
                let (key, count) = (reader.bytes()?, number(&mut reader)?);
                if count > numbers[node].values {
                    return Err(reader.error(format!("node {node} has more members than values")));
                }
                nulls.push((key, count));
            }
            let is_object = tree.nodes[node].layout == Layout::Struct && roles[node] != Role::Mixed;
            if !is_object || loose.insert(node as NodeIx, Loose { repeats, nulls }).is_some() {
                return Err(reader.error(format!("node {node} has members")));
            }
        }
        if !reader.is_empty() {
            return Err(reader.error("bytes follow its end"));
        }
        let children = Children::of(tree, roles.len());
        let mut counts = Self { tree, roles, children, others, numbers, first: HashMap::default(), loose };
        counts.check(rows)?;
        Ok(counts)
    }

    /// Checks numbers against each other, and finds the first kind of each member.
    fn check(&mut self, rows: u32) -> Result<()> {
        let wrong = |node: usize| Err(damaged(COUNTS, format!("node {node} has more values than fit")));
        let mut records = 0;
        // Values that are still to be found at a position, by its first kind or the element around.
        let mut left: Vec<u32> = Vec::with_capacity(self.roles.len());
        for (index, role) in self.roles.iter().enumerate() {
            let (node, parent) = (index as NodeIx, self.tree.nodes[index].parent);
            let Numbers { values, all } = self.numbers[index];
            let above = self.numbers.get(parent as usize).copied().unwrap_or_default();
            left.push(all);
            let (position, fits) = match role {
                Role::Root => {
                    records = values;
                    (index, all == rows)
                }
                Role::Raw => {
                    let fits = values <= self.others && records.saturating_add(values) <= rows;
                    (index, all == rows && fits)
                }
                Role::Field(key) => {
                    let first = *self.first.entry((parent, key)).or_insert(node) as usize;
                    (first, all <= above.values && all == self.numbers[first].all)
                }
                Role::Element | Role::Mixed => (index, all == 0 || above.values > 0),
                Role::Kind => (parent as usize, all == above.all),
                Role::Present => (index, values == above.values),
            };
            let rest = left[position].checked_sub(values);
            match rest.filter(|_| fits) {
                Some(rest) => left[position] = rest,
                None => return wrong(index),
            }
            // The kinds of an element share what the element has.
            if *role == Role::Mixed {
                left[index] = values;
            }
        }
        if self.others > rows { wrong(0) } else { Ok(()) }
    }

    fn of_path(&self, path: &[Step]) -> Option<u64> {
        let is_known = |step: &Step| match step {
            // Some readers take surrogates without a partner for this character.
            Step::Name(key) | Step::Descendant(key) => {
                memchr::memmem::find(key, "\u{fffd}".as_bytes()).is_none()
            }
            Step::Wildcard => true,
            Step::Element => false,
        };
        let descendants = path.iter().filter(|step| matches!(step, Step::Descendant(_)));
        if self.others > 0 || descendants.count() > 1 || !path.iter().all(is_known) {
            return None;
        }
        match path.split_first() {
            Some((step, rest)) => self.inside(0, step, rest),
            None => self.numbers.first().map(|record| u64::from(record.values)),
        }
    }

    /// The number of values that some steps select in all values of a node.
    fn inside(&self, node: NodeIx, step: &Step, rest: &[Step]) -> Option<u64> {
        if self.numbers[node as usize].values == 0 {
            return Some(0);
        }
        let again = |test: fn(&Role) -> bool| {
            self.sum(self.children_with(node, test), |child| self.inside(child, step, rest))
        };
        let is_object = self.roles[node as usize] != Role::Mixed;
        match (self.tree.nodes[node as usize].layout, step) {
            (Layout::Json, _) => None,
            (Layout::List, Step::Wildcard) => match rest.split_first() {
                None => Some(self.elements(node)),
                Some((step, rest)) => {
                    self.sum(self.children_with(node, is_element), |child| self.inside(child, step, rest))
                }
            },
            (Layout::List, Step::Descendant(_)) => again(is_element),
            (Layout::Struct, _) if !is_object => again(|role| *role == Role::Kind),
            (Layout::Struct, Step::Name(key)) => self.member(node, key, rest),
            (Layout::Struct, Step::Wildcard) => match rest.split_first() {
                None => Some(self.members(node)),
                Some((step, rest)) => {
                    let fields = self.fields(node)?;
                    self.sum(fields, |child| self.inside(child, step, rest))
                }
            },
            (Layout::Struct, Step::Descendant(key)) => {
                let fields = self.fields(node)?;
                let below = self.sum(fields, |child| self.inside(child, step, rest))?;
                Some(below + self.member(node, key, rest)?)
            }
            _ => Some(0),
        }
    }

    fn sum(
        &self,
        nodes: impl Iterator<Item = NodeIx>,
        of_node: impl Fn(NodeIx) -> Option<u64>,
    ) -> Option<u64> {
        nodes.map(of_node).sum()
    }

    fn children_with(&self, node: NodeIx, test: impl Fn(&Role) -> bool) -> impl Iterator<Item = NodeIx> {
        self.children.below(node).filter(move |child| test(&self.roles[*child as usize]))
    }

    /// The nodes of all members of an object. `None` if some members have none, and may be more than null.
    fn fields(&self, node: NodeIx) -> Option<impl Iterator<Item = NodeIx>> {
        let has_repeats = self.loose.get(&node).is_some_and(|loose| loose.repeats > 0);
        (!has_repeats).then(|| self.children_with(node, |role| matches!(role, Role::Field(_))))
    }

    /// The number of values that some steps select from the members with a key.
    fn member(&self, node: NodeIx, key: &[u8], rest: &[Step]) -> Option<u64> {
        let Some((step, rest)) = rest.split_first() else {
            let nulls = self.loose.get(&node).map_or(&[][..], |loose| &loose.nulls);
            let nulls = nulls.iter().filter(|(other, _)| *other == key).map(|(_, count)| u64::from(*count));
            let first = self.first.get(&(node, key));
            return Some(first.map_or(0, |first| self.all(*first)) + nulls.sum::<u64>());
        };
        let kinds = self.children_with(node, |role| matches!(role, Role::Field(other) if other == key));
        self.sum(kinds, |child| self.inside(child, step, rest))
    }

    /// The members of all values of an object node.
    fn members(&self, node: NodeIx) -> u64 {
        let is_first = |child: &NodeIx| match &self.roles[*child as usize] {
            Role::Field(key) => self.first.get(&(node, &key[..])) == Some(child),
            _ => false,
        };
        let members = self.children.below(node).filter(is_first).map(|first| self.all(first));
        let loose = self.loose.get(&node).map_or(0, |loose| {
            let nulls = loose.nulls.iter().map(|(_, count)| u64::from(*count));
            u64::from(loose.repeats) + nulls.sum::<u64>()
        });
        members.sum::<u64>() + loose
    }

    /// The elements of all values of a list node.
    fn elements(&self, node: NodeIx) -> u64 {
        self.children_with(node, is_element).next().map_or(0, |element| self.all(element))
    }

    fn all(&self, node: NodeIx) -> u64 {
        u64::from(self.numbers[node as usize].all)
    }
}

fn is_element(role: &Role) -> bool {
    matches!(role, Role::Element | Role::Mixed)
}
