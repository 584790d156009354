//! Lines from a group.

mod partial;

use std::ops::Range;

use warpath_core::projection::Projection;

use super::bytes::Ids;
use super::error::{Error, Result, damaged};
use super::levels::{Ranks, check, elements, occurrences};
use super::names::{Role, section};
use super::number::Rule;
use super::occurrences::Mark;
use super::piece;
use super::project::{self, Outline, Parts, Plan, Use};
use super::sections::{self, ArrayStyle, Frame, LineKind, NodeIds, NodeTexts, Shapes, Slot};
use super::style::Style;
use crate::group::{Column, Group, Layout, NodeIx, Strings, Tree, Values};

/// The greatest number of nodes from the record to a leaf that a tree can have.
pub(super) const MOST_DEPTH: usize = 64;

/// A group from which any lines can be restored, in any order.
///
/// Its memory grows with the entries of the group's columns: about a bit and a half for each.
#[derive(Debug)]
pub struct Restorer<'a> {
    rows: u32,
    /// Bytes of all lines: no restored text is longer.
    text_len: usize,
    nodes: Vec<Node<'a>>,
    shapes: Shapes<'a>,
    arrays: Vec<ArrayStyle<&'a [u8]>>,
    frames: Vec<Frame<&'a [u8]>>,
    ends: Ids<'a>,
    styles: Ids<'a>,
    raw: NodeIx,
    /// The members that are written; `None` for all.
    plan: Option<Plan>,
}

/// A node of the tree with its content in the group.
#[derive(Debug, Default)]
struct Node<'a> {
    /// The occurrences of the parent, or elements, that have this node.
    occurrences: Ranks,
    /// The node of another kind at the same position; 0 for none.
    sibling: NodeIx,
    content: Content<'a>,
    odd: Option<Box<Exceptions<'a>>>,
}

/// The exceptions of a node.
#[derive(Debug)]
struct Exceptions<'a> {
    /// The occurrences that have exceptions.
    occurrences: Ranks,
    texts: Vec<(u32, &'a [u8])>,
}

#[derive(Debug, Default)]
enum Content<'a> {
    /// A node without occurrences.
    #[default]
    Nothing,
    Boolean(&'a [bool]),
    Int(&'a [i64]),
    Double(&'a [f64], Rule),
    String(&'a Strings),
    /// Text that stays as it is.
    Json(&'a Strings),
    Object {
        ids: Ids<'a>,
        /// The shapes of the node among all shapes.
        shapes: Range<usize>,
    },
    List {
        ids: Ids<'a>,
        /// Elements before each list.
        starts: Vec<u32>,
        element: NodeIx,
    },
    /// An element of several kinds: the first of them.
    Mixed(NodeIx),
}

/// Appends lines of a group to `out`. A [`Restorer`] does this more than once at less cost.
///
/// # Errors
/// The errors of [`Restorer::new`] and [`Restorer::rows`].
pub fn restore(tree: &Tree, group: &Group, rows: Range<u32>, out: &mut Vec<u8>) -> Result<()> {
    Restorer::new(tree, group)?.rows(rows, out)
}

impl<'a> Restorer<'a> {
    /// Reads the levels and the sections of a group.
    ///
    /// # Errors
    /// [`Error::Damaged`] if they contradict each other or the tree. Not every damage is found: a group may
    /// give back another text, which differs from the group's hash.
    pub fn new(tree: &Tree, group: &'a Group) -> Result<Self> {
        let outline = Outline::read(tree, group)?;
        let parts = Parts::all(tree, &outline);
        Self::with(tree, group, outline, parts, None)
    }

    /// Reads what a projection needs of a group. The restorer gives partial lines: see [`Projection`].
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn projected(tree: &Tree, group: &'a Group, projection: &Projection) -> Result<Self> {
        let outline = Outline::read(tree, group)?;
        let (parts, plan) = project::plan(tree, &outline, projection, |_| 1)?;
        Self::with(tree, group, outline, parts, plan)
    }

    /// Reads parts of a group, which may lack its other columns and sections. If the outline has a mark, the
    /// columns and the number of rows are those of some rows from the mark on.
    pub(crate) fn with(
        tree: &Tree,
        group: &'a Group,
        outline: Outline<'a>,
        parts: Parts,
        plan: Option<Plan>,
    ) -> Result<Self> {
        let count = outline.count;
        let before = |node| outline.mark.as_ref().map_or(0, |mark| mark.before(node));
        let text_len = usize::try_from(group.text_len).ok().filter(|len| u32::try_from(*len).is_ok());
        let text_len =
            text_len.ok_or_else(|| damaged("group", format!("{} bytes of text", group.text_len)))?;
        let columns = columns_of(group, &parts.leaves)?;
        let columns = columns.into_iter().map(|column| Ok((column, check(tree, column, group.rows)?)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let raw = outline.raw;
        let mut nodes = nodes_of(tree, &columns, &outline.roles, &parts.uses)?;
        let mut arrays = Vec::new();
        if parts.needs(sections::SHAPE_IDS) {
            let ids = sections::read_shape_ids(section(group, sections::SHAPE_IDS)?, count)?;
            set_objects(tree, &outline, &parts, ids, &mut nodes)?;
        }
        if parts.needs(sections::ARRAYS) {
            let (styles, ids) = sections::read_arrays(section(group, sections::ARRAYS)?, count)?;
            arrays = styles;
            for (node, given) in ids.into_iter().filter(|(node, _)| parts.is_whole(*node)) {
                let Content::List { ids, .. } = &mut nodes[node as usize].content else {
                    return Err(damaged(sections::ARRAYS, format!("node {node} is no list")));
                };
                *ids = given.skip(before(node));
            }
        }
        let styles = match parts.needs(sections::STYLES) {
            true => sections::read_ids(section(group, sections::STYLES)?)?.skip(before(0)),
            false => Ids::Constant(0),
        };
        if parts.needs(sections::NUMBERS) {
            let rules = sections::read_numbers(section(group, sections::NUMBERS)?, count)?;
            for (node, given) in rules.into_iter().filter(|(node, _)| parts.is_whole(*node)) {
                let Content::Double(_, rule) = &mut nodes[node as usize].content else {
                    return Err(damaged(sections::NUMBERS, format!("node {node} has no doubles")));
                };
                *rule = given;
            }
        }
        if parts.needs(sections::EXCEPTIONS) {
            let is_used = |node| parts.uses[node as usize] >= Use::Inside;
            let texts = sections::read_exceptions(section(group, sections::EXCEPTIONS)?, count, is_used)?;
            set_exceptions(texts, group.rows, outline.mark.as_ref(), &mut nodes)?;
        }
        let ends = outline.ends.skip(before(0));
        let Outline { shapes, frames, .. } = outline;
        Ok(Self { rows: group.rows, text_len, nodes, shapes, arrays, frames, ends, styles, raw, plan })
    }

    /// Appends the lines of a range of rows.
    ///
    /// # Errors
    /// [`Error::NoSuchRows`], and [`Error::Damaged`] if the group cannot be one that a shredder made.
    pub fn rows(&self, rows: Range<u32>, out: &mut Vec<u8>) -> Result<()> {
        if rows.start > rows.end || rows.end > self.rows {
            return Err(Error::NoSuchRows { begin: rows.start, end: rows.end, rows: self.rows });
        }
        let begin = out.len();
        for row in rows {
            self.row_within(row, begin, out)?;
        }
        Ok(())
    }

    /// Appends the lines of some rows.
    ///
    /// # Errors
    /// The errors of [`Self::rows`].
    pub fn selected(&self, rows: impl IntoIterator<Item = u64>, out: &mut Vec<u8>) -> Result<()> {
        let begin = out.len();
        for row in rows {
            let index = u32::try_from(row).ok().filter(|row| *row < self.rows);
            let index = index.ok_or(Error::NoSuchRows { begin: 0, end: u32::MAX, rows: self.rows })?;
            self.row_within(index, begin, out)?;
        }
        Ok(())
    }

    /// Appends the line of a row.
    ///
    /// # Errors
    /// The errors of [`Self::rows`].
    pub fn row(&self, row: u32, out: &mut Vec<u8>) -> Result<()> {
        let begin = out.len();
        self.row_within(row, begin, out)
    }

    /// Appends the line of a row to a text that began at `begin`.
    fn row_within(&self, row: u32, begin: usize, out: &mut Vec<u8>) -> Result<()> {
        let frame = self.ends.get(row as usize).and_then(|frame| self.frames.get(frame as usize));
        let frame = frame.ok_or_else(|| damaged(sections::ENDS, format!("row {row} has no frame")))?;
        out.extend_from_slice(frame.before);
        let style = self.styles.get(row as usize).map(|style| Style(style as u8));
        let style = style.ok_or_else(|| damaged(sections::STYLES, format!("row {row} has no style")))?;
        let mut writer = Writer { group: self, style, limit: begin.saturating_add(self.text_len), out };
        match frame.kind {
            LineKind::Record => match &self.plan {
                Some(plan) => plan.record(row, &mut writer)?,
                None => writer.object(0, row)?,
            },
            LineKind::Raw => {
                let raw = self.nodes.get(self.raw as usize).filter(|_| self.raw != 0);
                let raw = raw.and_then(|raw| raw.occurrences.rank(row));
                writer.value(self.raw, raw.ok_or_else(|| lost(self.raw))?)?;
            }
            LineKind::Blank => {}
        }
        out.extend_from_slice(frame.after);
        let long = out.len() - begin > self.text_len;
        if long { Err(damaged("group", "it gives back more text than it was made of")) } else { Ok(()) }
    }
}

/// An error about a value that is not there.
#[cold]
fn lost(node: NodeIx) -> Error {
    damaged("column", format!("node {node} has too few values"))
}

/// The columns of some leaves, ascending.
fn columns_of<'a>(group: &'a Group, leaves: &[NodeIx]) -> Result<Vec<&'a Column>> {
    let mut columns = group.columns.iter();
    let all = leaves.iter().map(|leaf| columns.find(|column| column.node == *leaf));
    let all: Option<Vec<_>> = all.collect();
    all.ok_or_else(|| damaged("column", "the columns are not the leaves of the tree"))
}

/// Gives objects their shapes.
fn set_objects<'a>(
    tree: &Tree,
    outline: &Outline<'a>,
    parts: &Parts,
    shape_ids: Vec<NodeIds<'a>>,
    nodes: &mut [Node<'a>],
) -> Result<()> {
    let shapes = &outline.shapes;
    if shape_ids.len() != shapes.nodes.len() {
        return Err(damaged(sections::SHAPE_IDS, "it has other nodes than the shapes"));
    }
    for ((node, first, last), (other, ids)) in shapes.nodes.iter().zip(shape_ids) {
        let layout = tree.nodes[*node as usize].layout;
        if *node != other || layout != Layout::Struct || outline.roles[other as usize] == Role::Mixed {
            return Err(damaged(sections::SHAPE_IDS, format!("node {other} has shapes")));
        }
        if parts.uses[other as usize] < Use::Inside {
            continue;
        }
        let own = *first as usize..*last as usize;
        for (begin, end) in &shapes.bounds[own.clone()] {
            let steps = &shapes.steps[*begin as usize..*end as usize];
            // Shapes cannot contain themselves, because nodes come after their parents.
            let strange = |slot| match slot {
                Slot::Node(slot) => slot == 0 || tree.nodes[slot as usize].parent != other,
                Slot::Null | Slot::Close | Slot::Repeat => false,
            };
            if steps.iter().any(|step| strange(step.slot)) {
                return Err(damaged(sections::SHAPES, format!("node {other} has a member of another")));
            }
        }
        let before = outline.mark.as_ref().map_or(0, |mark| mark.before(other));
        nodes[other as usize].content = Content::Object { ids: ids.skip(before), shapes: own };
    }
    Ok(())
}

/// Gives nodes their exceptions.
fn set_exceptions<'a>(
    all: Vec<NodeTexts<'a>>,
    rows: u32,
    mark: Option<&Mark>,
    nodes: &mut [Node<'a>],
) -> Result<()> {
    for (index, mut texts) in all {
        let node = &mut nodes[index as usize];
        if let Some(mark) = mark {
            let (before, count) = (mark.before(index), node.occurrences.count().max(rows));
            let first = texts.partition_point(|(at, _)| *at < before);
            texts.drain(..first);
            texts.iter_mut().for_each(|(at, _)| *at -= before);
            texts.truncate(texts.partition_point(|(at, _)| *at < count));
        }
        // An occurrence beyond all that there are would cost memory for nothing.
        if texts.last().is_some_and(|(last, _)| *last >= node.occurrences.count().max(rows)) {
            return Err(damaged(sections::EXCEPTIONS, "an occurrence is out of range"));
        }
        let occurrences = Ranks::of_numbers(texts.iter().map(|(at, _)| *at));
        if !matches!(node.content, Content::Object { .. }) && occurrences.count() as usize != texts.len() {
            return Err(damaged(sections::EXCEPTIONS, "two exceptions are of one value"));
        }
        node.odd = Some(Box::new(Exceptions { occurrences, texts }));
    }
    Ok(())
}

/// Checks that no path of a tree is longer than those that a shredder makes.
pub(super) fn check_depth(tree: &Tree, count: u32) -> Result<()> {
    let mut depths = vec![0_usize; count as usize];
    for (index, node) in tree.nodes.iter().take(count as usize).enumerate().skip(1) {
        depths[index] = depths[node.parent as usize] + 1;
        if depths[index] > MOST_DEPTH {
            return Err(damaged("tree", format!("more than {MOST_DEPTH} nodes are above node {index}")));
        }
    }
    Ok(())
}

/// The nodes of a group, without what sections say.
fn nodes_of<'a>(
    tree: &Tree,
    columns: &[(&'a Column, (i16, i16))],
    roles: &[Role],
    uses: &[Use],
) -> Result<Vec<Node<'a>>> {
    let count = uses.len();
    // The first column below each node. A leaf comes after its parent.
    let mut first: Vec<Option<(&'a Column, (i16, i16))>> = vec![None; count];
    for (column, bounds) in columns {
        first[column.node as usize] = Some((column, *bounds));
    }
    for index in (1..count).rev() {
        let parent = tree.nodes[index].parent as usize;
        first[parent] = first[index].or(first[parent]);
    }
    let none = Ids::Constant(0);
    let mut nodes = Vec::with_capacity(count);
    for (index, first) in first.iter().enumerate() {
        let node = index as NodeIx;
        let layout = tree.nodes[index].layout;
        // The record occurs in each row.
        if uses[index] == Use::Nothing || index == 0 {
            nodes.push(Node::default());
            continue;
        }
        let (column, bounds) = first.ok_or_else(|| damaged("tree", format!("node {index} has no leaf")))?;
        let content = match (layout, &column.values) {
            (Layout::Struct, _) => Content::Nothing,
            (Layout::List, _) => {
                Content::List { ids: none, starts: elements(tree, node, column), element: 0 }
            }
            (Layout::Double, Values::Double(values)) => Content::Double(values, Rule::Fixed(0)),
            (Layout::String, Values::Bytes(strings)) => Content::String(strings),
            (_, Values::Boolean(values)) => Content::Boolean(values),
            (_, Values::Int(values)) => Content::Int(values),
            (_, Values::Bytes(strings)) => Content::Json(strings),
            (_, Values::Double(_)) => return Err(lost(node)),
        };
        let occurrences = occurrences(tree, node, column, bounds);
        nodes.push(Node { occurrences, sibling: 0, content, odd: None });
    }
    link(tree, roles, &mut nodes);
    Ok(nodes)
}

/// Links lists with their elements, and the kinds of one position with each other.
fn link(tree: &Tree, roles: &[Role], nodes: &mut [Node]) {
    let mut last = foldhash::HashMap::<(NodeIx, &[u8]), NodeIx>::default();
    for (index, role) in roles.iter().enumerate().skip(1) {
        let (node, parent) = (index as NodeIx, tree.nodes[index].parent);
        let key = match role {
            Role::Element | Role::Mixed => {
                if let Content::List { element, .. } = &mut nodes[parent as usize].content {
                    *element = node;
                }
                continue;
            }
            Role::Kind => {
                if let content @ Content::Nothing = &mut nodes[parent as usize].content {
                    *content = Content::Mixed(node);
                }
                &[]
            }
            Role::Field(key) => &key[..],
            Role::Root | Role::Raw | Role::Present => continue,
        };
        if let Some(before) = last.insert((parent, key), node) {
            nodes[before as usize].sibling = node;
        }
    }
}

/// Writes the values of one row.
struct Writer<'a, 'g> {
    group: &'a Restorer<'g>,
    style: Style,
    /// The length that the text may not exceed.
    limit: usize,
    out: &'a mut Vec<u8>,
}

impl Writer<'_, '_> {
    #[inline(always)]
    fn check_length(&self) -> Result<()> {
        let long = self.out.len() > self.limit;
        if long { Err(damaged("group", "it gives back more text than it was made of")) } else { Ok(()) }
    }

    /// Writes the value at a position whose first node is `lead`, in an occurrence of its parent.
    #[inline]
    fn position(&mut self, lead: NodeIx, at: u32) -> Result<()> {
        let mut index = lead;
        loop {
            let node = &self.group.nodes[index as usize];
            if let Some(occurrence) = node.occurrences.rank(at) {
                return self.value(index, occurrence);
            }
            index = node.sibling;
            if index == 0 {
                self.out.extend_from_slice(b"null");
                return Ok(());
            }
        }
    }

    /// Writes an occurrence of a node.
    #[inline]
    fn value(&mut self, index: NodeIx, occurrence: u32) -> Result<()> {
        let node = &self.group.nodes[index as usize];
        let at = occurrence as usize;
        if let Content::Object { .. } = node.content {
            return self.object(index, occurrence);
        }
        if let Some(odd) = &node.odd
            && let Some(exception) = odd.occurrences.rank(occurrence)
        {
            let (_, exception) = odd.texts.get(exception as usize).ok_or_else(|| lost(index))?;
            return self.exception(node, at, exception).ok_or_else(|| lost(index))?;
        }
        match &node.content {
            Content::String(strings) => {
                let (text, len) = string_and_more(strings, at).ok_or_else(|| lost(index))?;
                self.out.push(b'"');
                #[cfg(test)]
                super::tests::fault(self.style, self.out);
                self.style.print_first(text, len, self.out);
                self.out.push(b'"');
            }
            Content::Int(values) => integer(*values.get(at).ok_or_else(|| lost(index))?, self.out),
            Content::Double(values, rule) => {
                rule.print(*values.get(at).ok_or_else(|| lost(index))?, self.out);
            }
            Content::Boolean(values) => {
                let value = *values.get(at).ok_or_else(|| lost(index))?;
                self.out.extend_from_slice(if value { b"true" } else { b"false" });
            }
            Content::Json(strings) => {
                self.out.extend_from_slice(string(strings, at).ok_or_else(|| lost(index))?);
            }
            Content::List { .. } => self.list(index, at)?,
            Content::Mixed(first) => self.position(*first, occurrence)?,
            Content::Object { .. } | Content::Nothing => {
                return Err(damaged(sections::SHAPES, format!("node {index} has no shapes")));
            }
        }
        Ok(())
    }

    /// Writes a value that is not as its rule prints it. `None` if there is no value.
    #[cold]
    fn exception(&mut self, node: &Node<'_>, at: usize, exception: &[u8]) -> Option<Result<()>> {
        let (Content::String(strings), Some((&sections::TOGGLES, toggles))) =
            (&node.content, exception.split_first())
        else {
            self.out.extend_from_slice(exception);
            return Some(Ok(()));
        };
        let Ok(text) = std::str::from_utf8(string(strings, at)?) else {
            return Some(Err(damaged("column", "a string is not UTF-8")));
        };
        self.out.push(b'"');
        let printed = self.style.print_toggled(text, toggles, self.out);
        self.out.push(b'"');
        Some(printed)
    }

    /// Writes an object.
    fn object(&mut self, index: NodeIx, occurrence: u32) -> Result<()> {
        let group = self.group;
        let node = &group.nodes[index as usize];
        let Content::Object { ids, shapes } = &node.content else {
            return Err(damaged(sections::SHAPES, format!("node {index} has no shapes")));
        };
        let bounds = ids.get(occurrence as usize).and_then(|id| {
            let own = group.shapes.bounds.get(shapes.clone())?;
            own.get(id as usize)
        });
        let (begin, end) = *bounds.ok_or_else(|| damaged(sections::SHAPE_IDS, "an object has no shape"))?;
        let mut repeats = None;
        for step in group.shapes.steps.get(begin as usize..end as usize).unwrap_or_default() {
            piece::append(step.literal, step.len as usize, self.out);
            match step.slot {
                Slot::Node(lead) => self.position(lead, occurrence)?,
                Slot::Null => self.out.extend_from_slice(b"null"),
                Slot::Close => break,
                Slot::Repeat => {
                    let texts = node.odd.as_ref().map_or(&[][..], |odd| &odd.texts);
                    let next =
                        repeats.unwrap_or_else(|| texts.partition_point(|(other, _)| *other < occurrence));
                    let text = texts.get(next).filter(|(other, _)| *other == occurrence);
                    let (_, text) = text.ok_or_else(|| damaged(sections::EXCEPTIONS, "too few values"))?;
                    self.out.extend_from_slice(text);
                    repeats = Some(next + 1);
                }
            }
            self.check_length()?;
        }
        Ok(())
    }

    /// Writes a list.
    fn list(&mut self, index: NodeIx, at: usize) -> Result<()> {
        let group = self.group;
        let Content::List { ids, starts, element } = &group.nodes[index as usize].content else {
            return Ok(());
        };
        let style = ids.get(at).and_then(|style| group.arrays.get(style as usize));
        let style = style.ok_or_else(|| damaged(sections::ARRAYS, "an array has no style"))?;
        let (Some(&begin), Some(&end)) = (starts.get(at), starts.get(at + 1)) else {
            return Err(lost(index));
        };
        if begin == end {
            self.out.extend_from_slice(style.empty);
            return Ok(());
        }
        for slot in begin..end {
            self.out.extend_from_slice(if slot == begin { style.open } else { style.comma });
            self.position(*element, slot)?;
            self.check_length()?;
        }
        self.out.extend_from_slice(style.close);
        Ok(())
    }
}

#[inline(always)]
fn string(strings: &Strings, at: usize) -> Option<&[u8]> {
    string_and_more(strings, at).map(|(text, len)| &text[..len])
}

/// The bytes from the start of a string, and the length of the string.
#[inline(always)]
fn string_and_more(strings: &Strings, at: usize) -> Option<(&[u8], usize)> {
    let begin = if at == 0 { 0 } else { *strings.ends.get(at - 1)? };
    let len = strings.ends.get(at)?.checked_sub(begin)? as usize;
    let text = strings.bytes.get(begin as usize..)?;
    (len <= text.len()).then_some((text, len))
}

/// Appends an integer.
#[inline]
fn integer(value: i64, out: &mut Vec<u8>) {
    let (mut digits, mut at, mut rest) = ([0_u8; 20], 20, value.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.extend_from_slice(&digits[at..]);
}
