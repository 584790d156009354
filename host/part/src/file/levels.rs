//! Rules for the levels of a column, and the levels of columns that a group does not have.

use std::io::Read;

use super::error::Error;
use crate::group::{Column, Layout, NodeIx, Strings, Tree, Values};

/// The most entries that a column of a group has. Two numbers of 16 bits are kept for each entry.
pub(super) const MAX_ENTRIES: u64 = 1 << 28;
/// Runs of more bytes are compressed.
const SMALL: usize = 256;

/// No values, of the type that a leaf has.
pub(super) fn no_values(layout: Layout) -> Values {
    match layout {
        Layout::Boolean => Values::Boolean(Vec::new()),
        Layout::Int => Values::Int(Vec::new()),
        Layout::Double => Values::Double(Vec::new()),
        _ => Values::Bytes(Strings::default()),
    }
}

/// The number of values.
pub(super) fn count(values: &Values) -> usize {
    match values {
        Values::Boolean(values) => values.len(),
        Values::Int(values) => values.len(),
        Values::Double(values) => values.len(),
        Values::Bytes(values) => values.ends.len(),
    }
}

/// Checks that the values and levels of a column have the right type, number and order.
pub(super) fn check(tree: &Tree, column: &Column, rows: u32) -> Result<(), &'static str> {
    let layout = tree.nodes[column.node as usize].layout;
    let (definition, repetition) = tree.levels(column.node);
    let entries = column.definitions.len();
    if entries as u64 > MAX_ENTRIES {
        return Err("more than 2^28 entries");
    }
    let mut present = 0;
    let mut is_in_range = true;
    for level in &column.definitions {
        present += usize::from(*level == definition);
        is_in_range &= (0..=definition).contains(level);
    }
    if !is_in_range {
        return Err("a definition level that its type does not have");
    }
    if present != count(&column.values) {
        return Err("a number of values that differs from the entries with the greatest definition level");
    }
    let starts = if repetition == 0 {
        if !column.repetitions.is_empty() {
            return Err("repetition levels, but no list above it");
        }
        entries
    } else {
        if column.repetitions.len() != entries {
            return Err("numbers of definition and repetition levels that differ");
        }
        if column.repetitions.first().is_some_and(|level| *level != 0) {
            return Err("a first repetition level that is not 0");
        }
        if !column.repetitions.iter().all(|level| (0..=repetition).contains(level)) {
            return Err("a repetition level that its type does not have");
        }
        column.repetitions.iter().filter(|level| **level == 0).count()
    };
    if starts != rows as usize {
        return Err("a number of rows that differs from the group's");
    }
    check_values(&column.values, layout)
}

fn check_values(values: &Values, layout: Layout) -> Result<(), &'static str> {
    let strings = match (values, layout) {
        (Values::Boolean(_), Layout::Boolean)
        | (Values::Int(_), Layout::Int)
        | (Values::Double(_), Layout::Double) => return Ok(()),
        (Values::Bytes(strings), Layout::String | Layout::Json | Layout::Bytes) => strings,
        _ => return Err("values of another type than its leaf"),
    };
    if strings.ends.last().map_or(0, |end| *end as usize) != strings.bytes.len() || !strings.ends.is_sorted()
    {
        return Err("ends of strings that are not ascending up to the last byte");
    }
    if layout != Layout::Bytes {
        let Ok(text) = simdutf8::basic::from_utf8(&strings.bytes) else {
            return Err("strings that are not UTF-8");
        };
        if !strings.ends.iter().all(|end| text.is_char_boundary(*end as usize)) {
            return Err("strings that end within a character");
        }
    }
    Ok(())
}

/// The levels of a struct in one group, as runs. Leaves that a later group adds need them.
pub(super) struct Kept {
    packed: Vec<u8>,
    is_compressed: bool,
}

impl Kept {
    /// Keeps the levels of a struct, which has the greatest levels `greatest`, from those of a leaf below it.
    pub fn of(column: &Column, greatest: (i16, i16)) -> Result<Self, Error> {
        let mut packed = Vec::new();
        let mut run = None;
        let mut push = |(definition, repetition): (i16, i16), mut len: u64| {
            // Levels are at most twice the greatest depth.
            packed.extend_from_slice(&[definition as u8, repetition as u8]);
            while len >= 0x80 {
                packed.push(len as u8 | 0x80);
                len >>= 7;
            }
            packed.push(len as u8);
        };
        for (index, definition) in column.definitions.iter().enumerate() {
            let repetition = column.repetitions.get(index).copied().unwrap_or(0);
            // A greater repetition level is a further entry of a list below the struct.
            if repetition > greatest.1 {
                continue;
            }
            let levels = ((*definition).min(greatest.0), repetition);
            run = match run {
                Some((same, len)) if same == levels => Some((same, len + 1)),
                before => {
                    if let Some((levels, len)) = before {
                        push(levels, len);
                    }
                    Some((levels, 1))
                }
            };
        }
        if let Some((levels, len)) = run {
            push(levels, len);
        }
        if packed.len() > SMALL {
            let packed = zstd::bulk::compress(&packed, 1)?;
            return Ok(Self { packed, is_compressed: true });
        }
        packed.shrink_to_fit();
        Ok(Self { packed, is_compressed: false })
    }

    /// The definition and repetition levels.
    fn levels(&self) -> Result<(Vec<i16>, Vec<i16>), Error> {
        let mut unpacked = Vec::new();
        let mut runs = self.packed.as_slice();
        if self.is_compressed {
            zstd::stream::read::Decoder::new(runs)?.read_to_end(&mut unpacked)?;
            runs = &unpacked;
        }
        let (mut definitions, mut repetitions) = (Vec::new(), Vec::new());
        while let [definition, repetition, rest @ ..] = runs {
            let digits = rest.iter().take_while(|byte| **byte >= 0x80).count() + 1;
            let (digits, rest) = rest.split_at(digits.min(rest.len()));
            let len = digits.iter().rev().fold(0_usize, |len, byte| len << 7 | usize::from(byte & 0x7f));
            definitions.resize(definitions.len() + len, i16::from(*definition));
            repetitions.resize(repetitions.len() + len, i16::from(*repetition));
            runs = rest;
        }
        Ok((definitions, repetitions))
    }
}

/// The nearest node above `leaf` among the first `nodes` nodes: what a group without the leaf knows of it.
fn known_above(tree: &Tree, leaf: NodeIx, nodes: u32) -> NodeIx {
    let mut node = tree.nodes[leaf as usize].parent;
    while node >= nodes && node != 0 {
        node = tree.nodes[node as usize].parent;
    }
    node
}

/// The column of a leaf in a group that was made before the leaf: without values, with the levels of the
/// nearest struct above it that the group has. `kept` is ascending by node.
pub(super) fn absent(
    tree: &Tree,
    leaf: NodeIx,
    (rows, nodes): (u32, u32),
    kept: &[(NodeIx, Kept)],
) -> Result<Column, Error> {
    let above = known_above(tree, leaf, nodes);
    let (definitions, mut repetitions) = match kept.binary_search_by_key(&above, |(node, _)| *node) {
        Ok(index) => kept[index].1.levels()?,
        Err(_) => (vec![0; rows as usize], vec![0; rows as usize]),
    };
    if tree.levels(leaf).1 == 0 {
        repetitions.clear();
    }
    let values = no_values(tree.nodes[leaf as usize].layout);
    Ok(Column { node: leaf, values, definitions, repetitions })
}
