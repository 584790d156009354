//! The rows of a segment, made of a group of a part.

use std::sync::Arc;

use foldhash::HashMap;
use foldhash::fast::RandomState;
use memchr::memchr_iter;
use warpath_core::rows::RowSet;
use warpath_part::group::{Column, Group, Layout, NodeIx, Strings, Tree, Values};
use warpath_part::text::{Error as TextError, Members};
use warpath_shared::leaf::{of_double, of_integer};

use crate::compressed::Compressed;
use crate::dictionary::{Dictionaries, Dictionary, repeat};
use crate::packed::Packed;

/// The reason for which a segment cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The group contradicts itself.
    #[error(transparent)]
    Group(#[from] TextError),
    /// The group has another number of lines than of rows.
    #[error("the text has {lines} lines, and the group has {rows} rows")]
    Lines {
        /// Lines of the text.
        lines: usize,
        /// Rows of the group.
        rows: u32,
    },
}

/// Rows in memory.
#[derive(Debug)]
pub struct Segment {
    pub(crate) rows: u32,
    /// The rows that are records in leaves.
    pub(crate) records: RowSet,
    pub(crate) has_loose: bool,
    pub(crate) lines: Compressed,
    /// The members, in the order of their paths.
    pub(crate) members: Vec<Member>,
}

/// A member of the records of a segment.
#[derive(Debug)]
pub struct Member {
    /// The names that lead from the record to the member. Their escapes are resolved.
    pub path: Vec<Vec<u8>>,
    /// The values, kind by kind.
    pub kinds: Vec<Kind>,
    /// The rows in which the member is `null`.
    pub nulls: Rows,
    /// The node of each kind in the tree of the group that the segment was made of.
    pub(crate) nodes: Vec<NodeIx>,
    /// False if a line may have another value than the leaves.
    pub is_exact: bool,
}

/// The values of one kind of a member.
#[derive(Debug)]
pub struct Kind {
    /// The rows that have a value of this kind.
    pub rows: Rows,
    /// The values.
    pub leaf: Leaf,
}

/// Values, one in each row. Rows without a value have any.
#[derive(Debug)]
pub enum Leaf {
    /// The rows that are `true`.
    Booleans(RowSet),
    /// Integers, as [`of_integer`] gives them.
    Integers(Packed),
    /// Doubles, as [`of_double`] gives them. None is -0, which is equal to 0.
    Doubles {
        /// The values.
        packed: Packed,
        /// True if a value was -0: its sign is in the lines alone.
        had_negative_zero: bool,
    },
    /// Strings, as numbers of codes.
    Codes {
        /// For each row the number of its code.
        numbers: Packed,
        /// The codes that the segment has, each once, in the order of their first rows.
        codes: Vec<u32>,
        /// The strings of the codes.
        dictionary: Arc<Dictionary>,
    },
    /// Strings that hardly repeat, texts of JSON, objects and arrays: their values are in the lines, or in
    /// other leaves.
    Whole(Layout),
}

/// A set of rows, in little memory if it has none or all of the rows that could be in it.
#[derive(Clone, Debug)]
pub enum Rows {
    /// No row.
    None,
    /// All records.
    All,
    /// Some rows.
    Some(RowSet),
}

impl Rows {
    fn of(rows: RowSet, records: &RowSet) -> Self {
        if rows.count() == 0 {
            Self::None
        } else if rows == *records {
            Self::All
        } else {
            Self::Some(rows)
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::None | Self::All => 0,
            Self::Some(rows) => size_of_val(rows.words()) as u64,
        }
    }
}

impl Leaf {
    /// Bytes of memory, without the dictionary.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Booleans(rows) => size_of_val(rows.words()) as u64,
            Self::Integers(packed) | Self::Doubles { packed, .. } => packed.bytes(),
            Self::Codes { numbers, codes, .. } => numbers.bytes() + (codes.len() * size_of::<u32>()) as u64,
            Self::Whole(_) => 0,
        }
    }
}

impl Segment {
    /// Makes a segment of a group and its text. Strings that repeat get their codes from `dictionaries`.
    ///
    /// # Errors
    /// [`Error`] for a group that no shredder made, or of another text.
    pub fn of(tree: &Tree, group: &Group, text: &[u8], dictionaries: &Dictionaries) -> Result<Self, Error> {
        let mut offsets = vec![0];
        offsets.extend(memchr_iter(b'\n', text).map(|at| at as u32 + 1));
        if offsets.last() != Some(&(text.len() as u32)) {
            offsets.push(text.len() as u32);
        }
        let lines = offsets.len() - 1;
        if lines != group.rows as usize {
            return Err(Error::Lines { lines, rows: group.rows });
        }
        let Members { records, loose, members } = Members::of(tree, group)?;
        let columns: HashMap<u32, &Column> =
            group.columns.iter().map(|column| (column.node, column)).collect();
        let made = members.into_iter().map(|member| {
            let nodes = member.kinds.iter().map(|kind| kind.node).collect();
            let kinds = member.kinds.into_iter().map(|kind| {
                let values = columns.get(&kind.node).map(|column| &column.values);
                let leaf = match (kind.layout, values) {
                    (Layout::Struct | Layout::List | Layout::Json | Layout::Bytes, _) | (_, None) => {
                        Leaf::Whole(kind.layout)
                    }
                    (_, Some(values)) => leaf(values, &kind.rows, &member.path, dictionaries),
                };
                Kind { rows: Rows::of(kind.rows, &records), leaf }
            });
            Member {
                kinds: kinds.collect(),
                nulls: Rows::of(member.nulls, &records),
                nodes,
                is_exact: member.is_exact,
                path: member.path,
            }
        });
        Ok(Self {
            rows: group.rows,
            members: made.collect(),
            has_loose: loose.count() > 0,
            lines: Compressed::of(text, &offsets),
            records,
        })
    }

    /// The number of rows: those of the lines, blank and malformed ones too.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The rows that are records in leaves.
    #[must_use]
    pub fn records(&self) -> &RowSet {
        &self.records
    }

    /// True if leaves have all records: no line is malformed, and each record is an object.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.has_loose
    }

    /// The lines, each with its end.
    #[must_use]
    pub fn lines(&self) -> &Compressed {
        &self.lines
    }

    /// The members, in the order of their paths.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Bytes of memory, without dictionaries.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let kind = |kind: &Kind| kind.rows.bytes() + kind.leaf.bytes();
        let member = |member: &Member| member.nulls.bytes() + member.kinds.iter().map(kind).sum::<u64>();
        self.lines.bytes()
            + size_of_val(self.records.words()) as u64
            + self.members.iter().map(member).sum::<u64>()
    }

    /// The member at a path of names. `None` if the leaves do not say all about it, and `Some(None)` if no
    /// record has it.
    #[must_use]
    pub fn member(&self, path: &[Vec<u8>]) -> Option<Option<&Member>> {
        let is_known = |name: &Vec<u8>| memchr::memmem::find(name, "\u{fffd}".as_bytes()).is_none();
        if self.has_loose || path.is_empty() || !path.iter().all(is_known) {
            return None;
        }
        let find = |path: &[Vec<u8>]| {
            let at = self.members.binary_search_by(|member| member.path[..].cmp(path)).ok()?;
            Some(&self.members[at])
        };
        match find(path) {
            Some(member) => member.is_exact.then_some(Some(member)),
            // It may be in a text on the way.
            None => {
                let above = (1..path.len()).filter_map(|len| find(&path[..len]));
                above.into_iter().all(|member| member.is_exact).then_some(None)
            }
        }
    }

    /// The rows of a set that [`Rows`] abbreviates.
    #[must_use]
    pub fn set(&self, rows: &Rows) -> RowSet {
        match rows {
            Rows::None => RowSet::none(self.rows.into()),
            Rows::All => self.records.clone(),
            Rows::Some(rows) => rows.clone(),
        }
    }
}

/// The leaf of values, which are those of some rows.
fn leaf(values: &Values, rows: &RowSet, path: &[Vec<u8>], dictionaries: &Dictionaries) -> Leaf {
    match values {
        Values::Boolean(values) => {
            let mut set = RowSet::none(rows.rows());
            let of_rows = rows.ones().zip(values);
            of_rows.filter(|(_, value)| **value).for_each(|(row, _)| set.insert(row));
            Leaf::Booleans(set)
        }
        Values::Int(values) => Leaf::Integers(packed(rows, values.iter().map(|value| of_integer(*value)))),
        Values::Double(values) => Leaf::Doubles {
            // The sum with 0 is never -0.
            packed: packed(rows, values.iter().map(|value| of_double(value + 0.0))),
            had_negative_zero: values.iter().any(|value| *value == 0.0 && value.is_sign_negative()),
        },
        Values::Bytes(strings) => of_strings(strings, rows, path, dictionaries),
    }
}

/// Packs the values of some rows. A row without a value has the one before.
fn packed(rows: &RowSet, values: impl Iterator<Item = u64>) -> Packed {
    let mut all = vec![0; rows.rows() as usize];
    let mut filled = 0;
    let mut last = None;
    for (row, value) in rows.ones().zip(values) {
        let row = row as usize;
        all[filled..row].fill(last.unwrap_or(value));
        all[row] = value;
        (filled, last) = (row + 1, Some(value));
    }
    all[filled..].fill(last.unwrap_or_default());
    Packed::of(&all)
}

/// The leaf of strings, which are those of some rows.
pub(crate) fn of_strings(
    strings: &Strings,
    rows: &RowSet,
    path: &[Vec<u8>],
    dictionaries: &Dictionaries,
) -> Leaf {
    let mut numbers: HashMap<&[u8], u32> =
        HashMap::with_capacity_and_hasher(strings.ends.len() / 8, RandomState::default());
    let mut distinct: Vec<&[u8]> = Vec::new();
    let mut last: (&[u8], u32) = (&[], u32::MAX);
    let of_values: Vec<u32> = strings
        .each()
        .map(|string| {
            // Neighbours often are equal.
            if last.1 == u32::MAX || last.0 != string {
                let next = distinct.len() as u32;
                let number = *numbers.entry(string).or_insert(next);
                if number == next {
                    distinct.push(string);
                }
                last = (string, number);
            }
            last.1
        })
        .collect();
    let coded = dictionaries.of(path, repeat(of_values.len(), distinct.len()));
    let codes = coded.as_ref().and_then(|dictionary| dictionary.add_all(distinct.iter().copied()));
    if let (Some(dictionary), Some(codes)) = (coded, codes) {
        let numbers = packed(rows, of_values.iter().map(|number| u64::from(*number)));
        return Leaf::Codes { numbers, codes, dictionary };
    }
    Leaf::Whole(Layout::String)
}
