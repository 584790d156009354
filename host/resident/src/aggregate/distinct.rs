//! The different values of groups.

/// The most words of all sets of different values of a thread.
const MOST_WORDS: usize = 1 << 23;

/// The different values of groups.
pub enum Distinct {
    /// For each group the codes that were seen, and the words of all groups.
    Bits { words: usize, used: usize, seen: Vec<Vec<u64>> },
    /// Each group with each value, sorted and once at the end.
    Pairs(Vec<(u32, u64)>),
}

/// Each group with each of its values.
fn pairs_of(seen: &[Vec<u64>]) -> Vec<(u32, u64)> {
    let mut pairs = Vec::new();
    for (group, words) in seen.iter().enumerate() {
        for (at, word) in words.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                pairs.push((group as u32, 64 * at as u64 + u64::from(left.trailing_zeros())));
                left &= left - 1;
            }
        }
    }
    pairs
}

impl Distinct {
    /// No values. `codes` is the number of codes that there are; `None` for other values.
    pub fn new(codes: Option<usize>) -> Self {
        match codes {
            Some(codes) => Self::Bits { words: codes.div_ceil(64), used: 0, seen: Vec::new() },
            None => Self::Pairs(Vec::new()),
        }
    }

    /// Makes room for groups.
    pub fn resize(&mut self, groups: usize) {
        if let Self::Bits { seen, .. } = self {
            seen.resize(groups, Vec::new());
        }
    }

    /// Adds a value to a group.
    #[inline]
    pub fn add(&mut self, group: u32, value: u64) {
        match self {
            Self::Bits { words, used, seen } => {
                let set = &mut seen[group as usize];
                if set.is_empty() {
                    set.resize(*words, 0);
                    *used += *words;
                }
                set[(value / 64) as usize] |= 1 << (value % 64);
                // Sets of many groups would take more memory than the values.
                if *used > MOST_WORDS {
                    let pairs = pairs_of(seen);
                    *self = Self::Pairs(pairs);
                }
            }
            Self::Pairs(pairs) => pairs.push((group, value)),
        }
    }

    /// Adds the values of other groups. `own` is the group here of a group there.
    pub fn join(&mut self, other: Self, own: impl Fn(u32) -> u32) {
        match (&mut *self, other) {
            (Self::Bits { seen, .. }, Self::Bits { seen: others, .. }) => {
                for (number, other) in (0..).zip(others).filter(|(_, other)| !other.is_empty()) {
                    let set = &mut seen[own(number) as usize];
                    if set.is_empty() {
                        *set = other;
                    } else {
                        set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
                    }
                }
            }
            (one, other) => {
                let mut pairs = std::mem::replace(one, Self::Pairs(Vec::new())).into_pairs();
                let others = other.into_pairs().into_iter();
                pairs.extend(others.map(|(group, value)| (own(group), value)));
                *one = Self::Pairs(pairs);
            }
        }
    }

    fn into_pairs(self) -> Vec<(u32, u64)> {
        match self {
            Self::Bits { seen, .. } => pairs_of(&seen),
            Self::Pairs(pairs) => pairs,
        }
    }

    /// The number of different values of each of `groups` groups.
    pub fn counts(self, groups: usize) -> Vec<u64> {
        match self {
            Self::Bits { seen, .. } => {
                let count = |words: &Vec<u64>| words.iter().map(|word| u64::from(word.count_ones())).sum();
                seen.iter().map(count).collect()
            }
            Self::Pairs(mut pairs) => {
                pairs.sort_unstable();
                pairs.dedup();
                let mut counts = vec![0; groups];
                pairs.iter().for_each(|(group, _)| counts[*group as usize] += 1);
                counts
            }
        }
    }
}
