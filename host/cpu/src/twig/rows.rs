//! Rows: for a name or a value, the nodes of twigs that pass its test, stored only for words with such nodes.

use super::group::{GROUP_WORDS, Words};

/// The number of a row in a set.
pub type RowIx = u32;

/// The row of twig nodes `*` without a test of the value.
pub const ANY_ELEMENT: RowIx = 0;
/// The row of twig nodes `@*` without a test of the value.
pub const ANY_ATTRIBUTE: RowIx = 1;

/// The most words of a group that a row stores one by one. With more, it stores all words of the group.
const FEW: usize = 8;

/// Bits of all groups, stored sparsely. Most rows are those of values, and have few bits.
#[derive(Clone, Debug, Default)]
pub struct GroupBits {
    /// Single words with their bits, numbered over all groups, ascending.
    pub few: Vec<(u32, u64)>,
    /// Groups with more than `FEW` words, ascending, and the index of their words.
    pub all: Vec<(u32, u32)>,
}

/// The twig nodes of one row.
#[derive(Clone, Debug, Default)]
pub struct TwigRow {
    /// The nodes without others below them.
    pub leaves: GroupBits,
    /// The nodes with others below them.
    pub inner: GroupBits,
    /// The groups of the twigs whose key is this row, ascending, and the number of such twigs in each.
    pub keys: Vec<(u32, u32)>,
    /// The number of leaves of twigs that use this row.
    pub uses: u32,
}

impl TwigRow {
    /// Adds a twig of a group whose key is this row.
    pub fn add_key(&mut self, group: u32) {
        match self.keys.binary_search_by_key(&group, |(group, _)| *group) {
            Ok(found) => self.keys[found].1 += 1,
            Err(before) => self.keys.insert(before, (group, 1)),
        }
    }

    /// Removes a twig of a group whose key is this row.
    pub fn remove_key(&mut self, group: u32) {
        if let Ok(found) = self.keys.binary_search_by_key(&group, |(group, _)| *group) {
            self.keys[found].1 -= 1;
            if self.keys[found].1 == 0 {
                self.keys.remove(found);
            }
        }
    }

    /// Returns whether the row is the key of any twig of a group.
    pub fn is_key_of(&self, group: u32) -> bool {
        self.keys.binary_search_by_key(&group, |(group, _)| *group).is_ok()
    }
}

/// All rows of a set.
#[derive(Clone, Debug)]
pub struct RowTable {
    rows: Vec<TwigRow>,
    words: Vec<Words>,
    /// Indexes of unused words.
    free: Vec<u32>,
}

impl Default for RowTable {
    fn default() -> Self {
        Self { rows: vec![TwigRow::default(), TwigRow::default()], words: Vec::new(), free: Vec::new() }
    }
}

/// The numbers of a group's words, counted over all groups.
fn of_group(group: u32) -> std::ops::Range<u32> {
    let first = group * GROUP_WORDS as u32;
    first..first + GROUP_WORDS as u32
}

impl GroupBits {
    /// Returns `true` if there are no bits.
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && self.all.is_empty()
    }

    /// The positions of a group's words in `few`.
    #[inline(always)]
    pub fn few_of(&self, group: u32) -> std::ops::Range<usize> {
        let words = of_group(group);
        let first = self.few.partition_point(|(word, _)| *word < words.start);
        let count = self.few[first..].iter().take_while(|(word, _)| *word < words.end).count();
        first..first + count
    }

    /// The index of a group's words, if the row stores all of them.
    #[inline(always)]
    pub fn all_of(&self, group: u32) -> Option<u32> {
        // The list mostly contains all groups, so that the group's number is its position.
        match self.all.get(group as usize) {
            Some((found, at)) if *found == group => Some(*at),
            _ => {
                let found = self.all.binary_search_by_key(&group, |(group, _)| *group).ok()?;
                Some(self.all[found].1)
            }
        }
    }
}

impl RowTable {
    /// Adds an empty row.
    pub fn push(&mut self) -> RowIx {
        self.rows.push(TwigRow::default());
        (self.rows.len() - 1) as RowIx
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    pub fn get(&self, row: RowIx) -> &TwigRow {
        &self.rows[row as usize]
    }

    #[inline(always)]
    pub fn words(&self, at: u32) -> &Words {
        &self.words[at as usize]
    }

    #[inline(always)]
    pub fn get_mut(&mut self, row: RowIx) -> &mut TwigRow {
        &mut self.rows[row as usize]
    }

    /// The groups in which a row has bits, ascending, and these bits.
    pub fn groups<'a>(&'a self, places: &'a GroupBits) -> Vec<(u32, Words)> {
        let mut groups: Vec<(u32, Words)> =
            places.all.iter().map(|(group, at)| (*group, *self.words(*at))).collect();
        for (word, bits) in &places.few {
            let (group, word) = (word / GROUP_WORDS as u32, *word as usize % GROUP_WORDS);
            match groups.last_mut() {
                Some((last, words)) if *last == group => words.0[word] |= bits,
                _ => {
                    let mut words = Words::NONE;
                    words.0[word] = *bits;
                    groups.push((group, words));
                }
            }
        }
        groups.sort_unstable_by_key(|(group, _)| *group);
        groups
    }

    /// Adds the bit of a node to a row.
    pub fn set(&mut self, row: RowIx, group: u32, word: usize, bit: u64, is_leaf: bool) {
        let Self { rows, words, free } = self;
        let row = &mut rows[row as usize];
        let places = if is_leaf { &mut row.leaves } else { &mut row.inner };
        if let Some(at) = places.all_of(group) {
            words[at as usize].0[word] |= bit;
            return;
        }
        let of_all = of_group(group).start + word as u32;
        match places.few.binary_search_by_key(&of_all, |(word, _)| *word) {
            Ok(found) => places.few[found].1 |= bit,
            Err(before) => places.few.insert(before, (of_all, bit)),
        }
        let few = places.few_of(group);
        if few.len() > FEW {
            let at = free.pop().unwrap_or_else(|| {
                words.push(Words::NONE);
                (words.len() - 1) as u32
            });
            for (word, bits) in places.few.drain(few) {
                words[at as usize].0[word as usize % GROUP_WORDS] = bits;
            }
            let before = places.all.partition_point(|(other, _)| *other < group);
            places.all.insert(before, (group, at));
        }
    }

    /// Removes bits of a group from a row.
    pub fn clear(&mut self, row: RowIx, group: u32, bits: impl Iterator<Item = (usize, u64)> + Clone) {
        let Self { rows, words, free } = self;
        let row = &mut rows[row as usize];
        for places in [&mut row.leaves, &mut row.inner] {
            if let Ok(found) = places.all.binary_search_by_key(&group, |(group, _)| *group) {
                let at = places.all[found].1;
                let kept = &mut words[at as usize];
                bits.clone().for_each(|(word, bits)| kept.0[word] &= !bits);
                if *kept == Words::NONE {
                    places.all.remove(found);
                    free.push(at);
                }
                continue;
            }
            for (word, bits) in bits.clone() {
                let of_all = of_group(group).start + word as u32;
                if let Ok(found) = places.few.binary_search_by_key(&of_all, |(word, _)| *word) {
                    places.few[found].1 &= !bits;
                    if places.few[found].1 == 0 {
                        places.few.remove(found);
                    }
                }
            }
        }
    }
}
