//! The columns that have the values of a path of names, row by row.

use foldhash::HashMap;
use memchr::memmem;
use warpath_core::rows::RowSet;

use super::count;
use super::error::{Result, damaged};
use super::names::Role;
use super::project::{Key, Outline, is_key};
use super::sections::{self, Frame, LineKind, Shapes, Slot};
use crate::group::{Column, Layout, NodeIx, Tree};

/// The nodes of a group at the end of a path of names.
#[derive(Debug, Default)]
pub(crate) struct Position {
    /// The nodes of the values, one for each kind.
    pub(crate) kinds: Vec<NodeIx>,
    /// Nodes of texts that the path leads into.
    pub(crate) texts: Vec<NodeIx>,
    /// The nodes of the objects that may have the member; for each of their shapes, whether it has it.
    objects: Vec<(NodeIx, Vec<bool>)>,
    /// True if some object on the path has more than one member of a name of the path.
    pub(crate) repeats: bool,
    /// For literals of shapes, by their addresses: true if they have the last name.
    found: HashMap<usize, bool>,
}

impl Position {
    /// The position of a path in a group.
    pub(crate) fn find(tree: &Tree, outline: &Outline<'_>, path: &[Vec<u8>]) -> Result<Self> {
        let mut position = Self { kinds: vec![0], ..Self::default() };
        for name in path {
            let above = std::mem::take(&mut position.kinds);
            position.objects.clear();
            position.found.clear();
            for node in above {
                match tree.nodes.get(node as usize).map(|node| node.layout) {
                    Some(Layout::Json) => position.texts.push(node),
                    Some(Layout::Struct) => position.member(tree, outline, node, name)?,
                    _ => {}
                }
            }
        }
        Ok(position)
    }

    /// Goes on to the member of an object.
    fn member(&mut self, tree: &Tree, outline: &Outline<'_>, object: NodeIx, name: &[u8]) -> Result<()> {
        for (node, role) in (0..).zip(&outline.roles).skip(1) {
            let is_child = tree.nodes.get(node as usize).is_some_and(|node| node.parent == object);
            if let Role::Field(key) = role
                && is_child
                && is_key(key, name)
            {
                self.kinds.push(node);
                // Only some readers take the two for one name.
                self.repeats |= key != name;
            }
        }
        let shapes = &outline.shapes;
        let mut has = Vec::new();
        for (_, first, last) in shapes.nodes.iter().filter(|(node, _, _)| *node == object) {
            for bounds in shapes.bounds.get(*first as usize..*last as usize).unwrap_or_default() {
                has.push(self.is_in_shape(shapes, *bounds, name)?);
            }
        }
        self.objects.push((object, has));
        Ok(())
    }

    /// Returns true if a shape has a member of this name.
    fn is_in_shape(&mut self, shapes: &Shapes<'_>, (begin, end): (u32, u32), name: &[u8]) -> Result<bool> {
        let mut found = false;
        for step in shapes.steps.get(begin as usize..end as usize).unwrap_or_default() {
            if step.slot == Slot::Close {
                break;
            }
            let is_it = match self.found.get(&(step.literal.as_ptr() as usize)) {
                Some(is_it) => *is_it,
                None => {
                    let is_it = is_key(&Key::find(step)?.name, name);
                    self.found.insert(step.literal.as_ptr() as usize, is_it);
                    is_it
                }
            };
            if is_it {
                found = true;
                self.repeats |= step.slot == Slot::Repeat;
            }
        }
        Ok(found)
    }

    /// The nodes of objects whose presence [`Self::rows_with`] asks for.
    pub(crate) fn objects(&self) -> impl Iterator<Item = NodeIx> + '_ {
        self.objects.iter().map(|(node, _)| *node).filter(|node| *node != 0)
    }

    /// The rows in which there is a member, null or not. `ids` is the section of the shapes of all objects,
    /// and `present` has the rows that have an object.
    pub(crate) fn rows_with(
        &self,
        ids: &[u8],
        outline: &Outline<'_>,
        rows: u32,
        present: impl Fn(NodeIx) -> Option<RowSet>,
    ) -> Result<RowSet> {
        let all_ids = sections::read_shape_ids(ids, outline.count)?;
        let mut found = RowSet::none(rows.into());
        for (object, has) in &self.objects {
            let ids = all_ids.iter().find(|(node, _)| node == object).map(|(_, ids)| *ids);
            // An object that never occurs has no numbers.
            let Some(ids) = ids else { continue };
            let here = match object {
                0 => RowSet::all(rows.into()),
                node => present(*node).ok_or_else(|| damaged("tree", format!("node {node} has no leaf")))?,
            };
            for (occurrence, row) in here.ones().enumerate() {
                let id = ids.get(occurrence);
                let id = id.ok_or_else(|| damaged(sections::SHAPE_IDS, "an object has no shape"))?;
                if has.get(id as usize) == Some(&true) {
                    found.insert(row);
                }
            }
        }
        Ok(found)
    }
}

impl Outline<'_> {
    /// The rows that are lines in one piece, and records after a byte order mark: both may be malformed.
    pub(crate) fn raw_rows(&self, rows: u32) -> RowSet {
        let is_raw_frame =
            |frame: &Frame<&[u8]>| frame.kind == LineKind::Raw || frame.before.starts_with(count::MARK);
        let is_raw = |row: u32| {
            let frame = self.ends.get(row as usize).and_then(|frame| self.frames.get(frame as usize));
            frame.is_none_or(is_raw_frame)
        };
        match self.frames.iter().any(is_raw_frame) {
            true => (0..rows).map(is_raw).collect(),
            false => RowSet::none(rows.into()),
        }
    }

    /// The numbers of the strings of a node that may have surrogates without a partner, which columns cannot
    /// have.
    pub(crate) fn odd_strings(&self, exceptions: &[u8], node: NodeIx) -> Result<Vec<u32>> {
        let texts = sections::read_exceptions(exceptions, self.count, |other| other == node)?;
        let all = texts.into_iter().flat_map(|(_, texts)| texts);
        let has_surrogates =
            |text: &[u8]| [b"\\ud", b"\\uD"].iter().any(|part| memmem::find(text, *part).is_some());
        Ok(all.filter(|(_, text)| has_surrogates(text)).map(|(at, _)| at).collect())
    }
}

/// The entries of a column, one for each row, of a node that is on the path to the column's leaf: true if the
/// row has the node. No list may be above the node.
pub(crate) fn values_of<'a>(
    tree: &Tree,
    column: &'a Column,
    node: NodeIx,
) -> impl Iterator<Item = bool> + use<'a> {
    let is_list = tree.nodes.get(node as usize).is_some_and(|node| node.layout == Layout::List);
    // The level of a list that is there is one less than that of its elements.
    let level = tree.levels(node).0 - i16::from(is_list);
    let starts = column.definitions.iter().enumerate();
    let first = |at: &usize| column.repetitions.get(*at).is_none_or(|repetition| *repetition == 0);
    starts.filter(move |(at, _)| first(at)).map(move |(_, definition)| *definition >= level)
}
