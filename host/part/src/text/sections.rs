//! Sections of a group, apart from the names: their layout, written and read.
//!
//! | section | contents |
//! |---|---|
//! | `shapes` | literals; for each object node its shapes: literals and what follows each of them |
//! | `shape-ids` | for each object node of `shapes`, the number of the shape of each object |
//! | `arrays` | styles of arrays; for each list node, the number of the style of each array |
//! | `ends` | what is around the record of a line; for each row, its number |
//! | `styles` | for each row, how strings are escaped |
//! | `numbers` | for each column of doubles, how they are printed |
//! | `exceptions` | for each node, texts that its values and rules do not give back |

use std::borrow::Cow;

use super::bytes::{Ids, Reader, put, put_bytes, put_ids};
use super::error::Result;
use super::number::Rule;
use crate::group::NodeIx;

pub(super) const SHAPES: &str = "shapes";
pub(crate) const SHAPE_IDS: &str = "shape-ids";
pub(super) const ARRAYS: &str = "arrays";
pub(super) const ENDS: &str = "ends";
pub(super) const STYLES: &str = "styles";
pub(super) const NUMBERS: &str = "numbers";
pub(crate) const EXCEPTIONS: &str = "exceptions";

/// The greatest number of steps of all shapes of a group.
pub(super) const MOST_STEPS: usize = 1 << 22;

/// The thing after a literal of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// `null`: no value of this member is in the group.
    Null,
    /// Nothing: the literal ends the object.
    Close,
    /// The value of a name that an earlier member has.
    Repeat,
    /// The value of a node or of its siblings, or `null`.
    Node(NodeIx),
}

impl Slot {
    /// The number that a section has for the slot.
    fn code(self) -> u64 {
        match self {
            Self::Null => 0,
            Self::Close => 1,
            Self::Repeat => 2,
            Self::Node(node) => 3 + u64::from(node),
        }
    }
}

/// A literal, by its number, and what follows it.
pub(super) type LiteralAndSlot = (u32, Slot);

/// Writes `shapes`. Shapes that begin alike are next to each other if their numbers are.
pub(super) fn write_shapes<'a>(
    literals: impl ExactSizeIterator<Item = &'a [u8]>,
    nodes: &[(NodeIx, Vec<Vec<LiteralAndSlot>>)],
) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, literals.len() as u64);
    literals.for_each(|literal| put_bytes(&mut out, literal));
    put(&mut out, nodes.len() as u64);
    for (node, shapes) in nodes {
        put(&mut out, u64::from(*node));
        put(&mut out, shapes.len() as u64);
        let mut before: &[LiteralAndSlot] = &[];
        for shape in shapes {
            let shared = before.iter().zip(shape).take_while(|(one, other)| one == other).count();
            put(&mut out, shared as u64);
            put(&mut out, (shape.len() - shared) as u64);
            for (literal, slot) in &shape[shared..] {
                put(&mut out, u64::from(*literal));
                put(&mut out, slot.code());
            }
            before = shape;
        }
    }
    out
}

/// A literal and what follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    /// The section from the first byte of the literal.
    pub(super) literal: &'a [u8],
    pub(super) len: u32,
    pub(super) slot: Slot,
}

/// The shapes of a group.
#[derive(Debug, Default)]
pub(super) struct Shapes<'a> {
    /// The steps of all shapes.
    pub(super) steps: Vec<Step<'a>>,
    /// The begin and end of each shape in `steps`.
    pub(super) bounds: Vec<(u32, u32)>,
    /// Each object node, with the begin and end of its shapes in `bounds`.
    pub(super) nodes: Vec<(NodeIx, u32, u32)>,
}

/// Reads `shapes`.
pub(super) fn read_shapes(bytes: &[u8], nodes: u32) -> Result<Shapes<'_>> {
    let mut reader = Reader::new(bytes, SHAPES);
    let literal = |reader: &mut Reader<'_>| {
        let len = reader.bytes()?.len();
        Ok((bytes.len() - reader.left() - len, len as u32))
    };
    let literals =
        (0..reader.count("literals")?).map(|_| literal(&mut reader)).collect::<Result<Vec<_>>>()?;
    let mut shapes = Shapes::default();
    for _ in 0..reader.count("nodes")? {
        let node = reader.below(nodes as usize, "a node")? as NodeIx;
        let first = shapes.bounds.len() as u32;
        let mut before = 0..0;
        for _ in 0..reader.count("shapes")? {
            let shared = reader.below(before.len() + 1, "a number of shared steps")?;
            let first_step = shapes.steps.len();
            shapes.steps.extend_from_within(before.start..before.start + shared);
            for _ in 0..reader.count("steps")? {
                let (begin, len) = literals[reader.below(literals.len(), "a literal")?];
                if len == 0 {
                    return Err(reader.error("a literal of a shape is empty"));
                }
                let slot = match reader.below(nodes as usize + 3, "a slot")? {
                    0 => Slot::Null,
                    1 => Slot::Close,
                    2 => Slot::Repeat,
                    node => Slot::Node(node as NodeIx - 3),
                };
                shapes.steps.push(Step { literal: &bytes[begin..], len, slot });
            }
            if shapes.steps.len() > MOST_STEPS {
                return Err(reader.error(format!("its shapes have more than {MOST_STEPS} steps")));
            }
            before = first_step..shapes.steps.len();
            shapes.bounds.push((before.start as u32, before.end as u32));
        }
        shapes.nodes.push((node, first, shapes.bounds.len() as u32));
    }
    if !reader.is_empty() {
        return Err(reader.error("bytes follow its end"));
    }
    Ok(shapes)
}

/// The bytes around and between the elements of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArrayStyle<B> {
    pub(super) open: B,
    pub(super) comma: B,
    pub(super) close: B,
    /// An array without elements.
    pub(super) empty: B,
}

/// Writes `arrays`.
pub(super) fn write_arrays<'a>(
    styles: &[ArrayStyle<Vec<u8>>],
    nodes: impl ExactSizeIterator<Item = (NodeIx, &'a [u32])>,
) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, styles.len() as u64);
    for style in styles {
        for literal in [&style.open, &style.comma, &style.close, &style.empty] {
            put_bytes(&mut out, literal);
        }
    }
    write_nodes(nodes, &mut out);
    out
}

/// The styles of arrays, and the numbers of each node.
type Arrays<'a> = (Vec<ArrayStyle<&'a [u8]>>, Vec<NodeIds<'a>>);

/// Reads `arrays`.
pub(super) fn read_arrays(bytes: &[u8], nodes: u32) -> Result<Arrays<'_>> {
    let mut reader = Reader::new(bytes, ARRAYS);
    let mut styles = Vec::new();
    for _ in 0..reader.count("styles")? {
        let (open, comma) = (reader.bytes()?, reader.bytes()?);
        styles.push(ArrayStyle { open, comma, close: reader.bytes()?, empty: reader.bytes()? });
    }
    Ok((styles, read_nodes(&mut reader, nodes)?))
}

/// A node and the numbers of its occurrences.
pub(super) type NodeIds<'a> = (NodeIx, Ids<'a>);

/// Writes `shape-ids`.
pub(super) fn write_shape_ids<'a>(nodes: impl ExactSizeIterator<Item = (NodeIx, &'a [u32])>) -> Vec<u8> {
    let mut out = Vec::new();
    write_nodes(nodes, &mut out);
    out
}

/// Reads `shape-ids`.
pub(super) fn read_shape_ids(bytes: &[u8], nodes: u32) -> Result<Vec<NodeIds<'_>>> {
    read_nodes(&mut Reader::new(bytes, SHAPE_IDS), nodes)
}

fn write_nodes<'a>(nodes: impl ExactSizeIterator<Item = (NodeIx, &'a [u32])>, out: &mut Vec<u8>) {
    put(out, nodes.len() as u64);
    for (node, ids) in nodes {
        put(out, u64::from(node));
        put_ids(out, ids);
    }
}

fn read_nodes<'a>(reader: &mut Reader<'a>, nodes: u32) -> Result<Vec<NodeIds<'a>>> {
    let mut all = Vec::new();
    for _ in 0..reader.count("nodes")? {
        all.push((reader.below(nodes as usize, "a node")? as NodeIx, reader.ids()?));
    }
    Ok(all)
}

/// The kinds of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LineKind {
    /// Bytes in the column of whole lines.
    Raw,
    /// An object.
    Record,
    /// White space.
    Blank,
}

/// The bytes around the record of a line, the line feed included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame<B> {
    pub(super) kind: LineKind,
    pub(super) before: B,
    pub(super) after: B,
}

/// Writes `ends`.
pub(super) fn write_ends(frames: &[Frame<Vec<u8>>], rows: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, frames.len() as u64);
    for frame in frames {
        out.push(frame.kind as u8);
        put_bytes(&mut out, &frame.before);
        put_bytes(&mut out, &frame.after);
    }
    put_ids(&mut out, rows);
    out
}

/// Reads `ends`.
pub(super) fn read_ends(bytes: &[u8]) -> Result<(Vec<Frame<&[u8]>>, Ids<'_>)> {
    let mut reader = Reader::new(bytes, ENDS);
    let mut frames = Vec::new();
    for _ in 0..reader.count("frames")? {
        let kind = match reader.byte()? {
            0 => LineKind::Raw,
            1 => LineKind::Record,
            2 => LineKind::Blank,
            code => return Err(reader.error(format!("a line has the kind {code}"))),
        };
        frames.push(Frame { kind, before: reader.bytes()?, after: reader.bytes()? });
    }
    Ok((frames, reader.ids()?))
}

/// Writes `styles`.
pub(super) fn write_ids(ids: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    put_ids(&mut out, ids);
    out
}

/// Reads `styles`.
pub(super) fn read_ids(bytes: &[u8]) -> Result<Ids<'_>> {
    Reader::new(bytes, STYLES).ids()
}

/// Writes `numbers`.
pub(super) fn write_numbers(rules: &[(NodeIx, Rule)]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, rules.len() as u64);
    for (node, rule) in rules {
        put(&mut out, u64::from(*node));
        out.push(rule.code());
    }
    out
}

/// Reads `numbers`.
pub(super) fn read_numbers(bytes: &[u8], nodes: u32) -> Result<Vec<(NodeIx, Rule)>> {
    let mut reader = Reader::new(bytes, NUMBERS);
    let mut rules = Vec::new();
    for _ in 0..reader.count("rules")? {
        let node = reader.below(nodes as usize, "a node")? as NodeIx;
        let code = reader.byte()?;
        let rule =
            Rule::of_code(code).ok_or_else(|| reader.error(format!("no rule has the number {code}")))?;
        rules.push((node, rule));
    }
    Ok(rules)
}

/// The first byte of an exception that has no text, but the characters that its style spells otherwise.
/// No JSON begins with it.
pub(super) const TOGGLES: u8 = 0;

/// A node, with occurrences and the texts that are written for them.
pub(super) type NodeExceptions<'a> = (NodeIx, Vec<(u32, Cow<'a, [u8]>)>);

/// Writes `exceptions`: nodes, with occurrences and their texts.
pub(super) fn write_exceptions(nodes: &[NodeExceptions<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, nodes.len() as u64);
    for (node, all) in nodes {
        put(&mut out, u64::from(*node));
        put(&mut out, all.len() as u64);
        let mut before = 0;
        for (occurrence, text) in all {
            put(&mut out, u64::from(occurrence - before));
            put(&mut out, text.len() as u64);
            before = *occurrence;
        }
        all.iter().for_each(|(_, text)| out.extend_from_slice(text));
    }
    out
}

/// A node, with occurrences and their texts, ascending.
pub(super) type NodeTexts<'a> = (NodeIx, Vec<(u32, &'a [u8])>);

/// Reads `exceptions` of the nodes that are used.
pub(super) fn read_exceptions(
    bytes: &[u8],
    nodes: u32,
    is_used: impl Fn(NodeIx) -> bool,
) -> Result<Vec<NodeTexts<'_>>> {
    let mut reader = Reader::new(bytes, EXCEPTIONS);
    let mut all = Vec::new();
    for _ in 0..reader.count("nodes")? {
        let node = reader.below(nodes as usize, "a node")? as NodeIx;
        let count = reader.count("exceptions")?;
        let (mut occurrences, mut occurrence, mut skipped) = (Vec::new(), 0_usize, 0);
        for _ in 0..count {
            occurrence += reader.below(u32::MAX as usize - occurrence, "an occurrence")?;
            let len = reader.below(u32::MAX as usize, "a length")?;
            if is_used(node) {
                occurrences.push((occurrence as u32, len));
            } else {
                skipped += len;
            }
        }
        reader.take(skipped)?;
        if !is_used(node) {
            continue;
        }
        let texts = occurrences.into_iter().map(|(at, len)| Ok((at, reader.take(len)?)));
        all.push((node, texts.collect::<Result<_>>()?));
    }
    Ok(all)
}
