//! Levels of columns from occurrences, and occurrences from levels.
//!
//! An *occurrence* of a node is one struct, list or value. The shredder notes for each occurrence the number
//! of the occurrence of its parent; below a list, the number of the element. Levels are made from these
//! numbers when a group is complete. The restorer makes the numbers from levels.

use std::cmp::Ordering;

use super::error::{Result, damaged};
use super::style::Style;
use crate::group::{Column, Layout, NodeIx, Tree, Values};

/// The occurrences of a node in a group that is made.
#[derive(Debug, Default)]
pub(super) struct Filled {
    /// The parent's occurrence of each occurrence, ascending. Below a list, the element's number.
    pub(super) at: Vec<u32>,
    /// Elements of each list.
    pub(super) lengths: Vec<u32>,
    /// Elements of all lists.
    pub(super) elements: u32,
    /// The shape of each object, or the style of each list.
    pub(super) ids: Vec<u32>,
    /// The values of a leaf.
    pub(super) values: Values,
    /// The text of each double: begin and end in the text of the group.
    pub(super) texts: Vec<(u32, u32)>,
    /// Occurrences with a text that values and rules do not give back.
    pub(super) odd: Vec<Odd>,
}

/// An occurrence with a text that its value does not give back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odd {
    pub(super) occurrence: u32,
    /// The begin and end of the text in the text of the group.
    pub(super) begin: u32,
    pub(super) end: u32,
    /// The style of the row.
    pub(super) style: Style,
}

impl Filled {
    /// Drops all but the first `len` occurrences.
    pub(super) fn truncate(&mut self, len: usize) {
        self.at.truncate(len);
        self.ids.truncate(len);
        self.texts.truncate(len);
        while self.lengths.len() > len {
            self.elements -= self.lengths.pop().unwrap_or_default();
        }
        while self.odd.last().is_some_and(|odd| odd.occurrence as usize >= len) {
            self.odd.pop();
        }
        match &mut self.values {
            Values::Boolean(values) => values.truncate(len),
            Values::Int(values) => values.truncate(len),
            Values::Double(values) => values.truncate(len),
            Values::Bytes(strings) => {
                strings.ends.truncate(len);
                strings.bytes.truncate(strings.ends.last().map_or(0, |end| *end as usize));
            }
        }
    }
}

/// The entries that a struct or list has in the columns below it.
struct Entries {
    definitions: Vec<i16>,
    /// Empty if no list is above.
    repetitions: Vec<i16>,
    /// The entry of each occurrence, or of each element; `None` if every entry is one.
    occurrences: Option<Vec<u32>>,
    /// Greatest repetition level.
    repetition: i16,
}

/// The columns of a group. Takes the values.
pub(super) fn columns(tree: &Tree, filled: &mut [Filled], rows: u32) -> Vec<Column> {
    let mut children = vec![Vec::new(); tree.nodes.len()];
    for (index, node) in tree.nodes.iter().enumerate().skip(1) {
        children[node.parent as usize].push(index as NodeIx);
    }
    let root = Entries {
        definitions: vec![0; rows as usize],
        repetitions: Vec::new(),
        occurrences: None,
        repetition: 0,
    };
    let mut columns = Vec::new();
    below(tree, &children, filled, 0, &root, &mut columns);
    columns.sort_unstable_by_key(|column| column.node);
    columns
}

fn below(
    tree: &Tree,
    children: &[Vec<NodeIx>],
    filled: &mut [Filled],
    parent: NodeIx,
    above: &Entries,
    columns: &mut Vec<Column>,
) {
    for &node in &children[parent as usize] {
        let mine = &mut filled[node as usize];
        let mut definitions = above.definitions.clone();
        let entry = |at: u32| above.occurrences.as_ref().map_or(at, |entries| entries[at as usize]);
        for &at in &mine.at {
            definitions[entry(at) as usize] += 1;
        }
        let repetitions = above.repetitions.clone();
        let entries = match tree.nodes[node as usize].layout {
            Layout::Struct => {
                let all = mine.at.len() == definitions.len();
                let occurrences = (!all).then(|| mine.at.iter().map(|&at| entry(at)).collect());
                Entries { definitions, repetitions, occurrences, repetition: above.repetition }
            }
            Layout::List => expand(mine, &definitions, above, entry),
            _ => {
                let values = std::mem::take(&mut mine.values);
                columns.push(Column { node, values, definitions, repetitions });
                continue;
            }
        };
        below(tree, children, filled, node, &entries, columns);
    }
}

/// The entries of the elements of a list, whose own definition levels are `definitions`.
fn expand(list: &Filled, definitions: &[i16], above: &Entries, entry: impl Fn(u32) -> u32) -> Entries {
    let room = definitions.len() + list.elements as usize;
    let mut below = Entries {
        definitions: Vec::with_capacity(room),
        repetitions: Vec::with_capacity(room),
        occurrences: None,
        repetition: above.repetition + 1,
    };
    let mut elements = Vec::with_capacity(list.elements as usize);
    let mut lists = list.at.iter().map(|&at| entry(at)).zip(&list.lengths).peekable();
    for (index, &definition) in definitions.iter().enumerate() {
        let repetition = above.repetitions.get(index).copied().unwrap_or_default();
        let length = lists.next_if(|(entry, _)| *entry as usize == index).map_or(0, |(_, length)| *length);
        for element in 0..length {
            elements.push(below.definitions.len() as u32);
            below.definitions.push(definition + 1);
            below.repetitions.push(if element == 0 { repetition } else { below.repetition });
        }
        if length == 0 {
            below.definitions.push(definition);
            below.repetitions.push(repetition);
        }
    }
    below.occurrences = (elements.len() < below.definitions.len()).then_some(elements);
    below
}

/// A set of numbers with the rank of each: which of many occurrences have something.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    words: Vec<u64>,
    /// Numbers in the words before each word.
    before: Vec<u32>,
    /// Numbers in the set.
    count: u32,
    /// True if all numbers below `count`, and no others, are in the set.
    dense: bool,
}

impl Ranks {
    /// The set of entries of which the second is true, numbered among those of which the first is true.
    fn of_entries(entries: impl Iterator<Item = (bool, bool)>) -> Self {
        let mut words = Vec::new();
        let (mut word, mut len) = (0_u64, 0_u32);
        for (here, bit) in entries {
            word |= u64::from(here & bit) << (len % 64);
            len += u32::from(here);
            if here && len.is_multiple_of(64) {
                words.push(std::mem::take(&mut word));
            }
        }
        if !len.is_multiple_of(64) {
            words.push(word);
        }
        Self::of_words(words, len)
    }

    /// The set of the indices of levels above a level.
    fn of_levels(levels: &[i16], above: i16) -> Self {
        let word = |levels: &[i16]| {
            let bits = levels.iter().enumerate();
            bits.fold(0, |word, (at, level)| word | u64::from(*level > above) << at)
        };
        Self::of_words(levels.chunks(64).map(word).collect(), levels.len() as u32)
    }

    /// The set of all numbers below `count`.
    fn all(count: u32) -> Self {
        Self { words: Vec::new(), before: Vec::new(), count, dense: true }
    }

    fn of_words(words: Vec<u64>, len: u32) -> Self {
        let mut count = 0;
        let before = words.iter().map(|word| {
            let before = count;
            count += word.count_ones();
            before
        });
        let before = before.collect();
        let dense = count == len;
        Self { words, before, count, dense }
    }

    /// The set of ascending numbers, which may be equal. The rank counts each once.
    pub(super) fn of_numbers(numbers: impl Iterator<Item = u32> + Clone) -> Self {
        let len = numbers.clone().max().map_or(0, |number| number as usize + 1);
        let mut words = vec![0; len.div_ceil(64)];
        numbers.for_each(|number| words[number as usize / 64] |= 1_u64 << (number % 64));
        Self::of_words(words, len as u32)
    }

    /// Numbers in the set.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The rank of a number, if it is in the set.
    #[inline(always)]
    pub(super) fn rank(&self, number: u32) -> Option<u32> {
        if self.dense {
            return (number < self.count).then_some(number);
        }
        let index = (number / 64) as usize;
        let word = *self.words.get(index)?;
        let bit = 1_u64 << (number % 64);
        if word & bit == 0 {
            return None;
        }
        Some(self.before.get(index)? + (word & (bit - 1)).count_ones())
    }
}

/// The occurrences of a node: the set of the parent's occurrences, or elements, that have it. `bounds` are
/// the least and the greatest definition level of the column.
pub(super) fn occurrences(tree: &Tree, node: NodeIx, column: &Column, bounds: (i16, i16)) -> Ranks {
    let (above, repetition) = tree.levels(tree.nodes[node as usize].parent);
    let definitions = &column.definitions;
    if bounds.1 <= above {
        return Ranks::default();
    }
    if column.repetitions.is_empty() {
        return match bounds.0.cmp(&above) {
            Ordering::Greater => Ranks::all(definitions.len() as u32),
            Ordering::Equal => Ranks::of_levels(definitions, above),
            Ordering::Less => {
                let entries = definitions.iter().copied();
                Ranks::of_entries(entries.map(|level| (level >= above, level > above)))
            }
        };
    }
    let entries = definitions.iter().copied().zip(column.repetitions.iter().copied());
    Ranks::of_entries(
        entries.map(|(level, repeats)| (level >= above && repeats <= repetition, level > above)),
    )
}

/// The least and the greatest of several levels; both are 0 if there are none.
fn bounds(levels: &[i16]) -> (i16, i16) {
    let first = levels.first().copied().unwrap_or_default();
    levels.iter().fold((first, first), |(least, greatest), level| (least.min(*level), greatest.max(*level)))
}

/// The number of elements before each list of a node, and the number of all.
pub(super) fn elements(tree: &Tree, node: NodeIx, column: &Column) -> Vec<u32> {
    let (element, inner) = tree.levels(node);
    let outer = inner - 1;
    let (mut starts, mut elements) = (Vec::new(), 0);
    for (definition, repetition) in column.definitions.iter().zip(&column.repetitions) {
        // A list that is there has one level less than its elements.
        if *repetition <= outer && *definition >= element - 1 {
            starts.push(elements);
        }
        elements += u32::from(*repetition <= inner && *definition >= element);
    }
    starts.push(elements);
    starts
}

/// Checks the levels and the number of values of a column against the tree. Returns the least and the
/// greatest definition level.
pub(super) fn check(tree: &Tree, column: &Column, rows: u32) -> Result<(i16, i16)> {
    let (definition, repetition) = tree.levels(column.node);
    let error = |what: &str| Err(damaged("column", format!("node {}: {what}", column.node)));
    if u32::try_from(column.definitions.len()).is_err() {
        return error("it has too many entries");
    }
    let records = match repetition {
        0 if !column.repetitions.is_empty() => return error("it has repetition levels and no list"),
        0 => column.definitions.len(),
        _ if column.repetitions.len() != column.definitions.len() => {
            return error("it has another number of repetition levels than of definition levels");
        }
        _ if column.repetitions.first().is_some_and(|first| *first != 0) => {
            return error("it does not begin with a row");
        }
        _ => column.repetitions.iter().filter(|level| **level == 0).count(),
    };
    if records != rows as usize {
        return error(&format!("it has {records} rows in place of {rows}"));
    }
    let definitions = bounds(&column.definitions);
    let within = |(least, greatest): (i16, i16), limit| least >= 0 && greatest <= limit;
    if !within(definitions, definition) || !within(bounds(&column.repetitions), repetition) {
        return error("a level is out of range");
    }
    let values = column.definitions.iter().filter(|level| **level == definition).count();
    let (layout, len) = (tree.nodes[column.node as usize].layout, column.values.len());
    let fits = matches!(
        (layout, &column.values),
        (Layout::Boolean, Values::Boolean(_))
            | (Layout::Int, Values::Int(_))
            | (Layout::Double, Values::Double(_))
            | (Layout::String | Layout::Json | Layout::Bytes, Values::Bytes(_))
    );
    if !fits || values != len {
        return error(&format!("it has {len} values for {values} entries, or values of another type"));
    }
    if let Values::Bytes(strings) = &column.values {
        let ends = &strings.ends;
        if !ends.is_sorted() || ends.last().is_some_and(|end| *end as usize > strings.bytes.len()) {
            return error("the end of a string is out of range");
        }
    }
    Ok(definitions)
}
