//! The members of the records of a group that have at most one value in each row: which columns have their
//! values, which rows have a `null`, and whether these columns say all about the values.
//!
//! A member is *exact* if every value of its path in every record is in the columns as it is in the line: no
//! line is kept whole, no name of the path is repeated in an object, no text of JSON hides values, no string
//! has a surrogate without its partner, and numbers have the digits that their columns print.

use std::collections::BTreeMap;

use foldhash::HashMap;
use warpath_core::rows::RowSet;

use super::error::{Result, damaged};
use super::names::{Role, section};
use super::number::Rule;
use super::position::{Position, values_of};
use super::project::{Key, Outline};
use super::sections::{self, LineKind, Slot};
use crate::group::{Column, Group, Layout, NodeIx, Tree, Values};

/// The members of the records of a group.
#[derive(Clone, Debug, Default)]
pub struct Members {
    /// The rows that are records in columns.
    pub records: RowSet,
    /// The rows whose lines are kept whole: malformed ones, records that are no objects, and records after a
    /// byte order mark.
    pub loose: RowSet,
    /// The members, in the order of their paths.
    pub members: Vec<Member>,
}

/// A member of the records of a group.
#[derive(Clone, Debug)]
pub struct Member {
    /// The names that lead from the record to the member. Their escapes are resolved.
    pub path: Vec<Vec<u8>>,
    /// The values, kind by kind.
    pub kinds: Vec<MemberKind>,
    /// The rows in which the member is `null`.
    pub nulls: RowSet,
    /// False if a line may have another value than the columns.
    pub is_exact: bool,
}

/// The values of one kind of a member.
#[derive(Clone, Debug)]
pub struct MemberKind {
    /// The node.
    pub node: NodeIx,
    /// The content of the node.
    pub layout: Layout,
    /// The rows that have a value of this kind.
    pub rows: RowSet,
}

impl Members {
    /// Finds the members of a group that has all of its columns and sections.
    ///
    /// # Errors
    /// [`Error::Damaged`](super::Error::Damaged) for sections that contradict each other, the tree or the
    /// number of rows.
    pub fn of(tree: &Tree, group: &Group) -> Result<Self> {
        let outline = Outline::read(tree, group)?;
        let frame = |row: u32| outline.ends.get(row as usize).and_then(|at| outline.frames.get(at as usize));
        let loose = outline.raw_rows(group.rows);
        let is_record = |row| frame(row).is_some_and(|frame| frame.kind == LineKind::Record);
        let mut records: RowSet = (0..group.rows).map(is_record).collect();
        records -= &loose;
        let finder = Finder::new(tree, group, &outline)?;
        let mut members = Vec::new();
        for path in finder.paths()? {
            members.push(finder.member(path, loose.count() == 0)?);
        }
        Ok(Self { records, loose, members })
    }
}

/// The group whose members are found.
struct Finder<'a> {
    tree: &'a Tree,
    group: &'a Group,
    outline: &'a Outline<'a>,
    columns: HashMap<NodeIx, &'a Column>,
    rules: HashMap<NodeIx, Rule>,
    ids: &'a [u8],
    exceptions: &'a [u8],
}

impl<'a> Finder<'a> {
    fn new(tree: &'a Tree, group: &'a Group, outline: &'a Outline<'a>) -> Result<Self> {
        let columns = group.columns.iter().map(|column| (column.node, column)).collect();
        let rules = sections::read_numbers(section(group, sections::NUMBERS)?, outline.count)?;
        Ok(Self {
            tree,
            group,
            outline,
            columns,
            rules: rules.into_iter().collect(),
            ids: section(group, sections::SHAPE_IDS)?,
            exceptions: section(group, sections::EXCEPTIONS)?,
        })
    }

    /// The paths of all members outside of arrays, in their order.
    fn paths(&self) -> Result<Vec<Vec<Vec<u8>>>> {
        // The path of each node that is reached by names alone.
        let mut of_node: Vec<Option<Vec<Vec<u8>>>> = Vec::with_capacity(self.outline.roles.len());
        let mut paths = BTreeMap::new();
        for (index, role) in self.outline.roles.iter().enumerate() {
            let parent = self.tree.nodes.get(index).map_or(0, |node| node.parent as usize);
            let path = match role {
                Role::Root => Some(Vec::new()),
                Role::Field(key) => of_node.get(parent).cloned().flatten().map(|mut path| {
                    path.push(key.clone());
                    path
                }),
                _ => None,
            };
            if let (Role::Field(_), Some(path)) = (role, &path) {
                paths.insert(path.clone(), ());
            }
            of_node.push(path);
        }
        // Members whose values are all null have no node.
        let shapes = &self.outline.shapes;
        for (node, first, last) in &shapes.nodes {
            let Some(Some(object)) = of_node.get(*node as usize) else { continue };
            for (begin, end) in shapes.bounds.get(*first as usize..*last as usize).unwrap_or_default() {
                let steps = shapes.steps.get(*begin as usize..*end as usize).unwrap_or_default();
                for step in steps.iter().take_while(|step| step.slot != Slot::Close) {
                    if matches!(step.slot, Slot::Null | Slot::Repeat) {
                        let mut path = object.clone();
                        path.push(Key::find(step)?.name.into_owned());
                        paths.insert(path, ());
                    }
                }
            }
        }
        Ok(paths.into_keys().collect())
    }

    fn member(&self, path: Vec<Vec<u8>>, is_whole: bool) -> Result<Member> {
        let position = Position::find(self.tree, self.outline, &path)?;
        let mut is_exact = is_whole && !position.repeats;
        for text in &position.texts {
            is_exact &= self.present(*text)?.count() == 0;
        }
        let mut kinds = Vec::new();
        let mut with_value = RowSet::none(self.group.rows.into());
        for node in position.kinds.iter().copied() {
            let layout = self.tree.nodes.get(node as usize).map(|node| node.layout);
            let layout = layout.ok_or_else(|| damaged("tree", format!("it has no node {node}")))?;
            let rows = self.present(node)?;
            if rows.count() == 0 {
                continue;
            }
            with_value |= &rows;
            is_exact &= self.is_exact(node, layout)?;
            kinds.push(MemberKind { node, layout, rows });
        }
        let mut present = HashMap::default();
        for object in position.objects() {
            present.insert(object, self.present(object)?);
        }
        let object = |node| present.get(&node).cloned();
        let mut nulls = position.rows_with(self.ids, self.outline, self.group.rows, object)?;
        nulls -= &with_value;
        Ok(Member { path, kinds, nulls, is_exact })
    }

    /// The rows that have a value of a node.
    fn present(&self, node: NodeIx) -> Result<RowSet> {
        let is_below = |leaf: NodeIx| {
            let mut at = leaf;
            while at > node {
                let parent = self.tree.nodes.get(at as usize).map_or(0, |node| node.parent);
                at = parent.min(at.saturating_sub(1));
            }
            at == node
        };
        let column = self.group.columns.iter().filter(|column| is_below(column.node));
        let column = column.min_by_key(|column| column.definitions.len());
        let column = column.ok_or_else(|| damaged("tree", format!("node {node} has no leaf")))?;
        let mut rows: RowSet = values_of(self.tree, column, node).collect();
        // A column of a later group has no entries.
        if rows.rows() != u64::from(self.group.rows) {
            rows = RowSet::none(self.group.rows.into());
        }
        Ok(rows)
    }

    /// True if the values of a node are those of the lines.
    fn is_exact(&self, node: NodeIx, layout: Layout) -> Result<bool> {
        /// A decimal number with at most this many digits is that of the fewest digits of its double.
        const DIGITS: f64 = 1e15;

        match layout {
            Layout::Struct | Layout::List | Layout::Boolean => Ok(true),
            Layout::Json | Layout::Bytes => Ok(false),
            Layout::String => Ok(self.outline.odd_strings(self.exceptions, node)?.is_empty()),
            Layout::Int | Layout::Double => {
                let texts = sections::read_exceptions(self.exceptions, self.outline.count, |of| of == node)?;
                if texts.iter().any(|(_, texts)| !texts.is_empty()) {
                    return Ok(false);
                }
                let values = self.columns.get(&node).map(|column| &column.values);
                let (Some(Rule::Fixed(decimals)), Some(Values::Double(values))) =
                    (self.rules.get(&node), values)
                else {
                    return Ok(true);
                };
                let scale = 10_f64.powi(i32::from(*decimals));
                Ok(values.iter().all(|value| (value.abs() * scale) < DIGITS))
            }
        }
    }
}
