//! Rows: for a name or a value, the nodes of twigs that pass its test, in the groups where there are any.

use super::group::Words;

/// A row of a set, by its number.
pub type RowIx = u32;

/// The row of nodes `*` without a test of their value.
pub const ANY_ELEMENT: RowIx = 0;
/// The row of nodes `@*` without one.
pub const ANY_ATTRIBUTE: RowIx = 1;

/// The nodes of one row in the groups.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Of nodes without others below them: the groups, ascending, and where their words are.
    pub leaves: Vec<(u32, u32)>,
    /// Of the others, the same.
    pub inner: Vec<(u32, u32)>,
}

/// All rows of a set.
#[derive(Clone, Debug)]
pub struct RowSet {
    rows: Vec<Row>,
    words: Vec<Words>,
    /// Words that no row has.
    free: Vec<u32>,
}

impl Default for RowSet {
    fn default() -> Self {
        Self { rows: vec![Row::default(), Row::default()], words: Vec::new(), free: Vec::new() }
    }
}

impl RowSet {
    /// A new row.
    pub fn push(&mut self) -> RowIx {
        self.rows.push(Row::default());
        (self.rows.len() - 1) as RowIx
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    pub fn get(&self, row: RowIx) -> &Row {
        &self.rows[row as usize]
    }

    #[inline(always)]
    pub fn words(&self, at: u32) -> &Words {
        &self.words[at as usize]
    }

    /// The nodes of a row in a group that have others below them.
    #[inline(always)]
    pub fn inner(&self, row: RowIx, group: u32) -> Option<&Words> {
        let inner = &self.rows[row as usize].inner;
        // Mostly of all groups.
        let at = match inner.get(group as usize) {
            Some((found, at)) if *found == group => *at,
            _ => inner[inner.binary_search_by_key(&group, |(group, _)| *group).ok()?].1,
        };
        Some(&self.words[at as usize])
    }

    /// Adds a node to a row.
    pub fn set(&mut self, row: RowIx, group: u32, (word, bit): (usize, u64), is_leaf: bool) {
        let Self { rows, words, free } = self;
        let row = &mut rows[row as usize];
        let places = if is_leaf { &mut row.leaves } else { &mut row.inner };
        let at = match places.binary_search_by_key(&group, |(group, _)| *group) {
            Ok(found) => places[found].1,
            Err(before) => {
                let at = free.pop().unwrap_or_else(|| {
                    words.push(Words::NONE);
                    (words.len() - 1) as u32
                });
                places.insert(before, (group, at));
                at
            }
        };
        words[at as usize].0[word] |= bit;
    }

    /// Takes bits of a group from a row.
    pub fn clear(&mut self, row: RowIx, group: u32, bits: impl Iterator<Item = (usize, u64)> + Clone) {
        let Self { rows, words, free } = self;
        let row = &mut rows[row as usize];
        for places in [&mut row.leaves, &mut row.inner] {
            let Ok(found) = places.binary_search_by_key(&group, |(group, _)| *group) else { continue };
            let at = places[found].1;
            let kept = &mut words[at as usize];
            bits.clone().for_each(|(word, bits)| kept.0[word] &= !bits);
            if *kept == Words::NONE {
                places.remove(found);
                free.push(at);
            }
        }
    }
}
