//! A tree as bytes: the section `schema` of a part.

use warpath_core::fields::{Fields, Out};
use warpath_core::number;

use super::distinct::{Distinct, MOST_EXACT, REGISTERS};
use super::json_type::{JsonType, StringForm};
use super::node::{Excerpt, First, MOST_TEXT, Node, Number, Position, ROOT, Range, SINK, Step, prefix_of};
use super::tree::SchemaTree;

/// The first number: the version of the layout.
const VERSION: u32 = 1;

/// The greatest number of values, lines or bytes. No text has more, and sums of such numbers stay within 64
/// bits.
const MOST: u64 = 1 << 48;

/// The number of hashes that says that a sketch follows instead.
const SKETCH: u32 = MOST_EXACT as u32 + 1;

impl SchemaTree {
    /// The tree as bytes. Positions lose the texts that they are in. `None` if the tree had too many nodes,
    /// because such a tree depends on the order in which records were added.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        if self.lowered_members().is_some() || self.lowered_depth().is_some() {
            return None;
        }
        let mut out = Out::default();
        out.u32(VERSION);
        put_values(&mut out, &self.nodes[ROOT as usize]);
        for node in &self.nodes[SINK as usize + 1..] {
            out.u32(node.parent);
            let (step, name): (u32, &[u8]) = match &node.rare.step {
                Step::Root => continue,
                Step::Name(name) => (1, name),
                Step::Elements => (2, &[]),
                Step::Values => (3, &[]),
            };
            out.u32(step);
            out.sized(name);
            put_values(&mut out, node);
        }
        Some(out.0)
    }

    /// The tree of the bytes of [`to_bytes`](Self::to_bytes), with all positions in the text 0. `None` for
    /// other bytes.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let fields = &mut fields;
        let mut tree = Self::default();
        (fields.u32()? == VERSION).then_some(())?;
        values(fields, &mut tree.nodes[ROOT as usize])?;
        while !fields.is_empty() {
            let (parent, step, next) = (fields.u32()?, fields.u32()?, tree.nodes.len());
            let name = fields.sized()?;
            // The sink and nodes that come later have no children.
            ((parent as usize) < next && parent != SINK).then_some(())?;
            let (id, step) = match (step, name) {
                (1, name) => (tree.member(parent, name), Step::Name(name.into())),
                (2, b"") => (tree.elements(parent), Step::Elements),
                (3, b"") => (tree.values(parent), Step::Values),
                _ => return None,
            };
            // A second node of one name or kind, or one beyond a bound, is none that was written.
            let node = tree.nodes.get_mut(id as usize).filter(|_| id as usize == next)?;
            (node.rare.step == step).then_some(())?;
            values(fields, node)?;
        }
        (!tree.is_overfull()).then_some(tree)
    }
}

fn put_excerpt(out: &mut Out, excerpt: &Excerpt) {
    out.u32(excerpt.cut.into());
    out.sized(&excerpt.bytes);
}

fn put_range<T>(out: &mut Out, range: &Range<T>, text: impl Fn(&T) -> &Excerpt) {
    out.u32(range.is_some().into());
    if let Some((least, greatest)) = range {
        put_excerpt(out, text(least));
        put_excerpt(out, text(greatest));
    }
}

/// Writes the facts that a node has about its values.
fn put_values(out: &mut Out, node: &Node) {
    let Node { counts, trues, repeated, integers, lengths, form, distinct, rare, .. } = node;
    counts.iter().chain([trues, repeated]).for_each(|count| out.u64(*count));
    [integers.0, integers.1].into_iter().for_each(|integer| out.u64(integer as u64));
    [lengths.0, lengths.1, rare.big_digits as u64].into_iter().for_each(|number| out.u64(number));
    out.u32(*form as u32);
    for (kind, First { position, example }) in &rare.firsts {
        out.u32(*kind as u32);
        out.u64(position.line);
        out.u64(position.offset);
        put_excerpt(out, example);
    }
    put_range(out, &rare.strings, |text| text);
    put_range(out, &rare.floats, |number| &number.text);
    put_range(out, &rare.bigs, |number| &number.text);
    match distinct {
        Distinct::Many(registers) => {
            out.u32(SKETCH);
            out.0.extend_from_slice(&registers[..]);
        }
        exact => {
            let hashes = exact.hashes();
            out.u32(hashes.len() as u32);
            hashes.into_iter().for_each(|hash| out.u64(hash));
        }
    }
}

fn flag(fields: &mut Fields<'_>) -> Option<bool> {
    match fields.u32()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// A number of values, lines or bytes.
fn number_of(fields: &mut Fields<'_>) -> Option<u64> {
    fields.u64().filter(|number| *number <= MOST)
}

/// A text of at most [`MOST_TEXT`] bytes, or a whole number.
fn excerpt(fields: &mut Fields<'_>) -> Option<Excerpt> {
    Some(Excerpt { cut: flag(fields)?, bytes: fields.sized()?.into() })
}

fn short(fields: &mut Fields<'_>) -> Option<Excerpt> {
    excerpt(fields).filter(|excerpt| excerpt.bytes.len() <= MOST_TEXT)
}

fn whole_number(fields: &mut Fields<'_>) -> Option<Number> {
    let text = excerpt(fields).filter(|text| !text.cut)?.bytes;
    number::nearest(&text).map(|value| Number::of(&text, value))
}

/// A range; the outer `None` for bytes that are none.
fn range<T>(fields: &mut Fields<'_>, read: impl Fn(&mut Fields<'_>) -> Option<T>) -> Option<Range<T>> {
    if !flag(fields)? {
        return Some(None);
    }
    let least = read(fields)?;
    Some(Some((least, read(fields)?)))
}

/// Reads the facts that a node has about its values.
fn values(fields: &mut Fields<'_>, node: &mut Node) -> Option<()> {
    for count in node.counts.iter_mut().chain([&mut node.trues, &mut node.repeated]) {
        *count = number_of(fields)?;
    }
    node.integers = (fields.u64()? as i64, fields.u64()? as i64);
    node.lengths = (fields.u64()?, fields.u64()?);
    node.rare.big_digits = usize::try_from(fields.u64()?).ok()?;
    let forms = [StringForm::None, StringForm::Time, StringForm::Date, StringForm::Any];
    node.form = *forms.get(fields.u32()? as usize)?;
    for _ in node.counts.iter().filter(|count| **count > 0) {
        let kind = JsonType::ALL[..JsonType::OF_VALUES].get(fields.u32()? as usize)?;
        let position = Position { text: 0, line: number_of(fields)?, offset: number_of(fields)? };
        let is_known = node.rare.firsts.iter().any(|(known, _)| known == kind);
        (!is_known && node.counts[*kind as usize] > 0).then_some(())?;
        node.rare.firsts.push((*kind, First { position, example: short(fields)? }));
    }
    node.rare.strings = range(fields, short)?;
    if let Some((least, greatest)) = &node.rare.strings {
        node.prefixes = (prefix_of(&least.bytes), prefix_of(&greatest.bytes));
    }
    node.rare.floats = range(fields, whole_number)?;
    node.rare.bigs = range(fields, whole_number)?;
    node.distinct = match fields.u32()? {
        SKETCH => {
            let registers = fields.bytes(REGISTERS as u64)?;
            Distinct::Many(Box::new(registers.try_into().ok()?))
        }
        // No more hashes than are counted exactly.
        count if count < SKETCH => {
            let mut exact = Distinct::default();
            for _ in 0..count {
                exact.insert(fields.u64()?);
            }
            exact
        }
        _ => return None,
    };
    let is_possible = node.trues <= node.counts[JsonType::Bool as usize] && node.repeated <= node.total();
    is_possible.then_some(())
}
