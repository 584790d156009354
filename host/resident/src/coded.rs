//! The values of a member as codes: equal values of a row have equal codes. Groups of records are found by
//! codes, and only one value of each code is ever written as text.

use std::hash::Hash;

use foldhash::HashMap;
use warpath_core::key::write_string;
use warpath_core::rows::RowSet;
use warpath_shared::leaf::{double, integer};

use crate::packed::Packed;
use crate::segment::{Leaf, Member, Rows, Segment};

/// The code of a row without a value.
pub const MISSING: u32 = 0;

pub(crate) fn write_integer(value: i64, text: &mut Vec<u8>) {
    text.extend_from_slice(value.to_string().as_bytes());
}

pub(crate) fn write_double(value: f64, text: &mut Vec<u8>) {
    text.extend_from_slice(format!("{value:e}").as_bytes());
}

/// The values of a member in the rows of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coded {
    /// The code of each row.
    pub rows: Vec<u32>,
    texts: Vec<u8>,
    ends: Vec<usize>,
}

impl Coded {
    /// The values of a member as codes. `None` if some of the values are objects or arrays, which leaves do
    /// not have as a whole. No member has no values.
    #[must_use]
    pub fn of(segment: &Segment, member: Option<&Member>) -> Option<Self> {
        let mut coded = Self { rows: vec![MISSING; segment.rows() as usize], ..Self::default() };
        coded.push(|_| ());
        let Some(member) = member else { return Some(coded) };
        for kind in &member.kinds {
            coded.add(segment, &kind.rows, &kind.leaf)?;
        }
        if !matches!(member.nulls, Rows::None) {
            let code = coded.push(|text| text.extend_from_slice(b"null"));
            segment.set(&member.nulls).ones().for_each(|row| coded.rows[row as usize] = code);
        }
        Some(coded)
    }

    /// The number of codes. Some may occur in no row.
    #[must_use]
    pub fn codes(&self) -> usize {
        self.ends.len()
    }

    /// The text of the value with a code, as JSON; nothing for [`MISSING`].
    ///
    /// # Panics
    /// If there is no such code.
    #[must_use]
    pub fn text(&self, code: u32) -> &[u8] {
        let at = code as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[begin..self.ends[at]]
    }

    /// Other values, one for each code: `write` gets a code and the text of its value, and appends the text
    /// of the other value, or nothing for a missing one. Equal texts get equal codes.
    #[must_use]
    pub fn mapped(&self, mut write: impl FnMut(u32, &[u8], &mut Vec<u8>)) -> Self {
        let mut made = Self::default();
        made.push(|_| ());
        let (mut known, mut of_code) = (HashMap::<Vec<u8>, u32>::default(), Vec::with_capacity(self.codes()));
        let mut text = Vec::new();
        for code in 0..self.codes() as u32 {
            text.clear();
            write(code, self.text(code), &mut text);
            of_code.push(match known.get(&text) {
                _ if text.is_empty() => MISSING,
                Some(code) => *code,
                None => {
                    let code = made.push(|all| all.extend_from_slice(&text));
                    known.insert(text.clone(), code);
                    code
                }
            });
        }
        made.rows = self.rows.iter().map(|code| of_code[*code as usize]).collect();
        made
    }

    /// Adds a code. `write` appends the text of its value.
    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u32 {
        write(&mut self.texts);
        self.ends.push(self.texts.len());
        self.ends.len() as u32 - 1
    }

    fn add(&mut self, segment: &Segment, rows: &Rows, leaf: &Leaf) -> Option<()> {
        let here = segment.set(rows);
        match leaf {
            Leaf::Booleans(is_true) => {
                let of = [
                    self.push(|text| text.extend_from_slice(b"false")),
                    self.push(|text| text.extend_from_slice(b"true")),
                ];
                here.ones().for_each(|row| self.rows[row as usize] = of[usize::from(is_true.get(row))]);
            }
            Leaf::Integers(packed) => {
                self.add_numbers(packed, &here, |value, text| write_integer(integer(value), text));
            }
            Leaf::Doubles { packed, .. } => {
                self.add_numbers(packed, &here, |value, text| write_double(double(value), text));
            }
            Leaf::Codes { numbers, codes, dictionary } => {
                let strings = dictionary.read();
                let first = self.ends.len() as u32;
                for code in codes {
                    self.push(|text| write_string(strings.get(*code), text));
                }
                fill(&mut self.rows, numbers, &here, |number| first + number as u32);
            }
            // A column without values is in no row.
            Leaf::Whole(_) => return (here.count() == 0).then_some(()),
        }
        Some(())
    }

    /// Adds numbers, each with a text.
    fn add_numbers(&mut self, packed: &Packed, here: &RowSet, write: impl Fn(u64, &mut Vec<u8>)) {
        /// Ranges of at most this many values, and of at most this many times as many as rows, have a table.
        const TABLE: u64 = 1 << 16;

        let range = packed.blocks().iter().fold((u64::MAX, 0), |(least, greatest), block| {
            (least.min(block.base), greatest.max(block.base.saturating_add(block.mask())))
        });
        let mut rows = std::mem::take(&mut self.rows);
        match range.1.checked_sub(range.0).filter(|span| *span < TABLE) {
            Some(span) => {
                let mut table = vec![MISSING; span as usize + 1];
                fill(&mut rows, packed, here, |value| {
                    let code = &mut table[(value - range.0) as usize];
                    if *code == MISSING {
                        *code = self.push(|text| write(value, text));
                    }
                    *code
                });
            }
            None => {
                let mut known = HashMap::default();
                let mut last = None;
                fill(&mut rows, packed, here, |value| match last {
                    Some((before, code)) if before == value => code,
                    _ => {
                        let code =
                            *known.entry(value).or_insert_with(|| self.push(|text| write(value, text)));
                        last = Some((value, code));
                        code
                    }
                });
            }
        }
        self.rows = rows;
    }
}

/// Sets the codes of the rows that have a value.
fn fill(rows: &mut [u32], packed: &Packed, here: &RowSet, mut code: impl FnMut(u64) -> u32) {
    let mut first = 0;
    let is_all = here.count() == here.rows();
    packed.each_block(|block| {
        let of_block = &mut rows[first..first + block.len()];
        if is_all {
            of_block.iter_mut().zip(block).for_each(|(row, value)| *row = code(*value));
        } else {
            let words = &here.words()[first / 64..];
            for ((rows, values), word) in of_block.chunks_mut(64).zip(block.chunks(64)).zip(words) {
                let mut left = *word;
                while left != 0 {
                    let at = left.trailing_zeros() as usize;
                    rows[at] = code(values[at]);
                    left &= left - 1;
                }
            }
        }
        first += block.len();
    });
}

/// Groups of rows: rows with the same codes of all of some members are in one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The group of each row; [`NO_GROUP`] for rows in none.
    pub rows: Vec<u32>,
    /// The groups, in the order of their first rows.
    pub groups: Vec<RowGroup>,
}

/// The group of a row that is in none.
pub const NO_GROUP: u32 = u32::MAX;

/// A group of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowGroup {
    /// The number of its rows.
    pub count: u64,
    /// Its first row.
    pub first: u32,
}

impl Groups {
    /// Groups the rows of a set by codes. Rows without any value are in no group, unless `has_missing` is
    /// set.
    #[must_use]
    pub fn of(members: &[Coded], set: &RowSet, has_missing: bool) -> Self {
        let rows = set.rows() as usize;
        if let [member] = members {
            return Self::number(|row| u64::from(member.rows[row]), member.codes() as u64, set, has_missing);
        }
        let mut keys: Vec<u64> = vec![0; rows];
        let mut span = 1_u64;
        for member in members {
            let codes = member.codes() as u64;
            match span.checked_mul(codes) {
                Some(next) => {
                    span = next;
                    keys.iter_mut()
                        .zip(&member.rows)
                        .for_each(|(key, code)| *key = *key * codes + u64::from(*code));
                }
                // The keys so far become dense numbers.
                None => {
                    let dense = Self::number(|row| keys[row], span, set, true);
                    span = (dense.groups.len() as u64 + 1).saturating_mul(codes);
                    for ((key, code), group) in keys.iter_mut().zip(&member.rows).zip(&dense.rows) {
                        *key = u64::from(group.wrapping_add(1)) * codes + u64::from(*code);
                    }
                }
            }
        }
        Self::number(|row| keys[row], span, set, has_missing)
    }

    /// Numbers the keys of a set of rows, which are below `span`. The key 0 has no value.
    fn number(key: impl Fn(usize) -> u64, span: u64, set: &RowSet, has_missing: bool) -> Self {
        let mut this = Self { rows: vec![NO_GROUP; set.rows() as usize], groups: Vec::new() };
        let is_dense = span <= (4 * set.rows()).max(1 << 12);
        let mut table = vec![NO_GROUP; if is_dense { span as usize } else { 0 }];
        let mut known: HashMap<u64, u32> = HashMap::default();
        let mut last = (0, NO_GROUP);
        for row in set.ones() {
            let key = key(row as usize);
            if key == 0 && !has_missing {
                continue;
            }
            let next = this.groups.len() as u32;
            let group = if is_dense {
                let group = &mut table[key as usize];
                if *group == NO_GROUP {
                    *group = next;
                }
                *group
            } else if last.1 != NO_GROUP && last.0 == key {
                last.1
            } else {
                last = (key, entry(&mut known, key, next));
                last.1
            };
            if group == next {
                this.groups.push(RowGroup { count: 0, first: row as u32 });
            }
            this.groups[group as usize].count += 1;
            this.rows[row as usize] = group;
        }
        this
    }
}

fn entry<K: Hash + Eq>(known: &mut HashMap<K, u32>, key: K, next: u32) -> u32 {
    *known.entry(key).or_insert(next)
}
