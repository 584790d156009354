//! The different values of groups.

/// The most words of all sets of different values, of all threads.
pub const MOST_WORDS: usize = 1 << 27;

/// The number of the set of a group that has none.
const NONE: u32 = u32::MAX;

/// The different values of groups.
pub enum Distinct {
    /// Sets of codes.
    Bits(Sets),
    /// Each group with each value, sorted and once at the end.
    Pairs(Vec<(u32, u64)>),
}

/// The codes that groups have, as bits.
pub struct Sets {
    /// Words of a set.
    words: usize,
    /// The most words of all sets.
    most: usize,
    /// The number of the set of each group.
    numbers: Vec<u32>,
    sets: Vec<u64>,
}

impl Sets {
    /// The first word of the set of a group.
    #[inline(always)]
    fn begin(&mut self, group: u32) -> usize {
        let number = &mut self.numbers[group as usize];
        if *number == NONE {
            *number = (self.sets.len() / self.words.max(1)) as u32;
            self.sets.resize(self.sets.len() + self.words, 0);
        }
        *number as usize * self.words
    }

    /// Each group that has a set, with its set.
    fn each(&self) -> impl Iterator<Item = (u32, &[u64])> {
        let groups = (0..).zip(&self.numbers).filter(|(_, number)| **number != NONE);
        groups.map(|(group, number)| {
            let begin = *number as usize * self.words;
            (group, &self.sets[begin..begin + self.words])
        })
    }

    /// Each group with each of its values.
    fn pairs(&self) -> Vec<(u32, u64)> {
        let mut pairs = Vec::new();
        for (group, words) in self.each() {
            for (at, word) in words.iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    pairs.push((group, 64 * at as u64 + u64::from(left.trailing_zeros())));
                    left &= left - 1;
                }
            }
        }
        pairs
    }
}

impl Distinct {
    /// No values. `codes` is the number of codes that there are; `None` for other values. Sets with more
    /// words than `most` become pairs.
    pub fn new(codes: Option<usize>, most: usize) -> Self {
        match codes {
            Some(codes) => {
                Self::Bits(Sets { words: codes.div_ceil(64), most, numbers: Vec::new(), sets: Vec::new() })
            }
            None => Self::Pairs(Vec::new()),
        }
    }

    /// Makes room for groups.
    pub fn resize(&mut self, groups: usize) {
        if let Self::Bits(sets) = self {
            sets.numbers.resize(groups, NONE);
        }
    }

    /// Adds a value to a group.
    #[inline]
    pub fn add(&mut self, group: u32, value: u64) {
        match self {
            Self::Bits(sets) => {
                let begin = sets.begin(group);
                sets.sets[begin + (value / 64) as usize] |= 1 << (value % 64);
                // Sets of many groups would take more memory than the values.
                if sets.sets.len() > sets.most {
                    let pairs = sets.pairs();
                    *self = Self::Pairs(pairs);
                }
            }
            Self::Pairs(pairs) => pairs.push((group, value)),
        }
    }

    /// Adds the values of other groups. `own` is the group here of a group there.
    pub fn join(&mut self, other: Self, own: impl Fn(u32) -> u32) {
        match (&mut *self, other) {
            (Self::Bits(sets), Self::Bits(others)) => {
                // A dictionary that has grown between two threads has more words, which no value is in.
                for (group, other) in others.each() {
                    let begin = sets.begin(own(group));
                    let set = &mut sets.sets[begin..begin + sets.words];
                    set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
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
            Self::Bits(sets) => sets.pairs(),
            Self::Pairs(pairs) => pairs,
        }
    }

    /// The number of different values of each of `groups` groups.
    pub fn counts(self, groups: usize) -> Vec<u64> {
        match self {
            Self::Bits(sets) => {
                let mut counts = vec![0; groups];
                for (group, words) in sets.each() {
                    let ones = words.iter().map(|word| u64::from(word.count_ones()));
                    counts[group as usize] = ones.sum();
                }
                counts
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
