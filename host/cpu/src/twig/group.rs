//! Words of bits that are evaluated together: the effect of a document node's end on them.

use warpath_lang::twig::Twig;

use super::layout::{Bit, BitRun, Layout};

/// The number of words of a group: one for each lane of a warp, or four of the widest vectors.
pub use warpath_shared::twig::GROUP_WORDS;

/// A word for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Words(pub [u64; GROUP_WORDS]);

impl Words {
    pub const NONE: Self = Self([0; GROUP_WORDS]);

    /// Adds the bits of other words.
    #[inline(always)]
    pub fn add(&mut self, others: &Self) {
        // The copies are values, so that the compiler knows that they do not alias.
        let (mut sum, others) = (self.0, others.0);
        for word in 0..GROUP_WORDS {
            sum[word] |= others[word];
        }
        self.0 = sum;
    }

    fn set(&mut self, bit: Bit) {
        self.0[bit.word] |= 1 << bit.at;
    }
}

/// Bits that move to the left, by a distance for each word.
#[derive(Clone, Debug)]
pub struct Move {
    pub mask: Words,
    /// The distances, each less than 64.
    pub by: Words,
}

/// A bit that moves to another word, or to the right.
#[derive(Clone, Copy, Debug)]
pub struct FarMove {
    pub from: Bit,
    pub to: Bit,
}

/// Twigs whose bits are in the words of one group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The report bits of nodes whose axis is `//`.
    pub descendant: Words,
    /// The first child of each node and of each document.
    pub starts: Words,
    /// The guards of nodes.
    pub guards: Words,
    /// The guards that move by one, as all guards of a path do.
    pub chained: Words,
    pub moves: Vec<Move>,
    pub far: Vec<FarMove>,
    /// The guards of documents.
    pub documents: Words,
    /// The number of the twig whose match each document guard holds.
    owners: Vec<[u32; 64]>,
    taken: Words,
    /// The number of twigs without nodes. Every document matches them.
    pub always: usize,
}

impl Group {
    /// The number of bits in use.
    pub fn bits(&self) -> usize {
        self.taken.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

impl Default for Group {
    fn default() -> Self {
        let none = Words::NONE;
        Self {
            descendant: none,
            starts: none,
            guards: none,
            chained: none,
            moves: Vec::new(),
            far: Vec::new(),
            documents: none,
            owners: vec![[0; 64]; GROUP_WORDS],
            taken: none,
            always: 0,
        }
    }
}

/// The lowest `count` bits.
fn low(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { !0 }
}

/// The bits of a group that a twig uses.
#[derive(Clone, Debug)]
pub struct Taken {
    first: usize,
    /// The bits of each word from the first on.
    bits: Vec<u64>,
    is_always: bool,
}

impl Taken {
    /// The words, and the bits used in each.
    pub fn words(&self) -> impl Iterator<Item = (usize, u64)> + Clone {
        self.bits.iter().enumerate().map(|(word, bits)| (self.first + word, *bits))
    }
}

impl Group {
    /// Finds room for a twig. Returns the offset to add to the bits of its layout.
    pub fn room(&self, layout: &Layout) -> Option<Bit> {
        let words = &self.taken.0;
        if layout.words > 1 {
            let free = |first: &usize| words[*first..][..layout.words].iter().all(|word| *word == 0);
            return (0..=GROUP_WORDS - layout.words).find(free).map(|word| Bit { word, at: 0 });
        }
        let bits = low(layout.bits);
        let fits = |word: &u64| word.count_zeros() as usize >= layout.bits;
        (0..GROUP_WORDS).filter(|word| fits(&words[*word])).find_map(|word| {
            let at = (0..=64 - layout.bits).find(|at| words[word] >> at & bits == 0)?;
            Some(Bit { word, at })
        })
    }

    /// Adds a twig with the number `owner` at `room`.
    pub fn add(&mut self, twig: &Twig, layout: &Layout, room: Bit, owner: u32) -> Taken {
        let place = |bit: Bit| Bit { word: bit.word + room.word, at: bit.at + room.at };
        let mut bits = vec![0; layout.words];
        for bit in layout.reports.iter().chain(layout.runs.iter().map(|run| &run.guard)) {
            bits[bit.word] |= 1 << (bit.at + room.at);
        }
        for (word, bits) in bits.iter().enumerate() {
            self.taken.0[room.word + word] |= bits;
        }
        for node in Layout::descendants(twig) {
            self.descendant.set(place(layout.reports[node]));
        }
        let mut is_always = false;
        for BitRun { owner: node, first, guard } in &layout.runs {
            self.starts.set(place(*first));
            let guard = place(*guard);
            if let Some(node) = node {
                self.guards.set(guard);
                self.move_bit(guard, place(layout.reports[*node]));
            } else {
                self.documents.set(guard);
                self.owners[guard.word][guard.at] = owner;
                is_always = twig.nodes().is_empty();
            }
        }
        self.always += usize::from(is_always);
        Taken { first: room.word, bits, is_always }
    }

    fn move_bit(&mut self, from: Bit, to: Bit) {
        if from.word != to.word || to.at < from.at {
            self.far.push(FarMove { from, to });
            return;
        }
        let by = (to.at - from.at) as u64;
        if by == 1 {
            self.chained.set(from);
            return;
        }
        let takes = |m: &&mut Move| m.mask.0[from.word] == 0 || m.by.0[from.word] == by;
        if let Some(found) = self.moves.iter_mut().find(takes) {
            found.by.0[from.word] = by;
            found.mask.set(from);
            return;
        }
        let mut new = Move { mask: Words::NONE, by: Words::NONE };
        new.by.0[from.word] = by;
        new.mask.set(from);
        self.moves.push(new);
    }

    /// Frees a twig's bits.
    pub fn remove(&mut self, taken: &Taken) {
        let Self { descendant, starts, guards, chained, documents, taken: all, .. } = self;
        let masks = [descendant, starts, guards, chained, documents, all];
        for mask in masks.into_iter().chain(self.moves.iter_mut().map(|m| &mut m.mask)) {
            taken.words().for_each(|(word, bits)| mask.0[word] &= !bits);
        }
        while self.moves.pop_if(|last| last.mask == Words::NONE).is_some() {}
        let is_of = |bit: Bit| taken.words().any(|(word, bits)| word == bit.word && bits >> bit.at & 1 != 0);
        self.far.retain(|far| !is_of(far.from));
        self.always -= usize::from(taken.is_always);
    }

    /// The report bits of nodes all of whose children are among the bits found below one document node.
    #[inline(always)]
    pub fn satisfied(&self, found: &Words) -> Words {
        let (mut guards, mut moved) = (Words::NONE, Words::NONE);
        for word in 0..GROUP_WORDS {
            guards.0[word] = found.0[word].wrapping_add(self.starts.0[word]) & self.guards.0[word];
            moved.0[word] = (guards.0[word] & self.chained.0[word]) << 1;
        }
        for Move { mask, by } in &self.moves {
            for word in 0..GROUP_WORDS {
                moved.0[word] |= (guards.0[word] & mask.0[word]) << (by.0[word] & 63);
            }
        }
        for FarMove { from, to } in &self.far {
            moved.0[to.word] |= (guards.0[from.word] >> from.at & 1) << to.at;
        }
        moved
    }

    /// Does the same as [`satisfied`](Self::satisfied) for one word, if there are no far moves.
    #[inline(always)]
    pub fn word_satisfied(&self, word: usize, found: u64) -> u64 {
        let guards = found.wrapping_add(self.starts.0[word]) & self.guards.0[word];
        let mut moved = (guards & self.chained.0[word]) << 1;
        for Move { mask, by } in &self.moves {
            moved |= (guards & mask.0[word]) << (by.0[word] & 63);
        }
        moved
    }

    /// The numbers of the twigs that match a document for which `found` was found.
    pub fn matches(&self, found: &Words) -> impl Iterator<Item = u32> {
        let words = found.0.iter().zip(&self.starts.0).zip(&self.documents.0).zip(&self.owners);
        words.flat_map(|(((found, starts), documents), owners)| {
            Bits(found.wrapping_add(*starts) & documents).map(|bit| owners[bit as usize])
        })
    }

    /// The number of the twig whose match is in a bit.
    pub fn owner(&self, word: usize, at: usize) -> u32 {
        self.owners[word][at]
    }
}

/// The set bits of a word, from the lowest on.
pub struct Bits(pub u64);

impl Iterator for Bits {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros())?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use warpath_lang::twig::Twig;

    use super::super::layout::MAX_CHILDREN;
    use super::*;

    /// A group and its twigs, each with its layout, offset and bits.
    #[derive(Default)]
    struct Held {
        group: Group,
        twigs: Vec<(Twig, Layout, Bit, Taken)>,
    }

    impl Held {
        /// Adds a twig if there is room, and returns whether there was.
        fn add(&mut self, text: &str) -> bool {
            let twig = Twig::parse(text).unwrap();
            let layout = Layout::of(&twig).unwrap();
            let Some(room) = self.group.room(&layout) else { return false };
            let owner = self.twigs.len() as u32;
            let taken = self.group.add(&twig, &layout, room, owner);
            self.twigs.push((twig, layout, room, taken));
            true
        }

        /// The report bit of a node of a twig.
        fn report(&self, twig: usize, node: usize) -> Bit {
            let (_, layout, room, _) = &self.twigs[twig];
            let Bit { word, at } = layout.reports[node];
            Bit { word: word + room.word, at: at + room.at }
        }

        /// The report bits of all nodes of some twigs.
        fn reports(&self, twigs: &[usize]) -> Vec<Bit> {
            let nodes = |twig: usize| 0..self.twigs[twig].0.nodes().len();
            twigs.iter().flat_map(|twig| nodes(*twig).map(|node| self.report(*twig, node))).collect()
        }

        /// Returns whether all children of a node, or of the document, are in `found`; `None` if it has no
        /// children.
        fn has_all(&self, twig: usize, parent: Option<usize>, found: &Words) -> Option<bool> {
            let below = |node: &usize| self.twigs[twig].0.nodes()[*node].parent == parent;
            let nodes = (0..self.twigs[twig].0.nodes().len()).filter(below);
            let is_found = |node| {
                let Bit { word, at } = self.report(twig, node);
                found.0[word] >> at & 1 != 0
            };
            nodes.map(is_found).reduce(|all, is_found| all & is_found)
        }

        /// Compares the group's results for some bits with those computed node by node for the given twigs.
        fn check(&self, found: &Words, twigs: &[usize]) {
            let (mut satisfied, mut matches) = (Words::NONE, Vec::new());
            for &twig in twigs {
                for node in 0..self.twigs[twig].0.nodes().len() {
                    if self.has_all(twig, Some(node), found) == Some(true) {
                        satisfied.set(self.report(twig, node));
                    }
                }
                if self.has_all(twig, None, found) != Some(false) {
                    matches.push(twig as u32);
                }
            }
            assert_eq!(self.group.satisfied(found), satisfied, "{found:x?}");
            if self.group.far.is_empty() {
                let words = std::array::from_fn(|word| self.group.word_satisfied(word, found.0[word]));
                assert_eq!(words, satisfied.0, "{found:x?}");
            }
            let mut told: Vec<u32> = self.group.matches(found).collect();
            told.sort_unstable();
            assert_eq!(told, matches, "{found:x?}");
        }

        /// Makes the same comparison for no bits of these twigs, for all, for all but one, for one alone, and
        /// for random ones. Checks also that no other twigs have bits.
        fn check_all(&self, twigs: &[usize]) {
            let reports = self.reports(twigs);
            let of = |is_in: &dyn Fn(usize) -> bool| {
                let mut found = Words::NONE;
                (0..reports.len()).filter(|at| is_in(*at)).for_each(|at| found.set(reports[at]));
                found
            };
            self.check(&of(&|_| false), twigs);
            self.check(&of(&|_| true), twigs);
            // Groups with very many bits are sampled.
            for one in (0..reports.len()).step_by(reports.len().div_ceil(500).max(1)) {
                self.check(&of(&|at| at != one), twigs);
                self.check(&of(&|at| at == one), twigs);
            }
            for seed in 1..60_u64 {
                let mixed =
                    |at: usize| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed << 20) >> 40;
                self.check(&of(&|at| mixed(at) % 16 >= seed % 16), twigs);
            }
            let bits = |twig: &usize| {
                let (twig, layout, ..) = &self.twigs[*twig];
                twig.nodes().len() + layout.runs.len()
            };
            assert_eq!(self.group.bits(), twigs.iter().map(bits).sum::<usize>(), "no two have the same bit");
        }
    }

    /// Twigs of several shapes. `size` is the number of children, or of levels.
    fn shapes(size: usize) -> [String; 5] {
        [
            "/a".repeat(size),
            format!("/a{}", "[b]".repeat(size)),
            format!("/a{}", "[b/c]".repeat(size)),
            format!("/a{}[b//c/d]", "[b][//c[d][e]]".repeat(size / 2)),
            format!("//a{}{}", "[b".repeat(size), "]".repeat(size)),
        ]
    }

    /// Tests each twig alone: in one word with moves of any distance, and in several words.
    #[test]
    fn nodes_are_satisfied_by_all_of_their_children() {
        for size in (1..=24).chain([31, 32, 33, 61, 62, MAX_CHILDREN]) {
            for twig in shapes(size) {
                let mut held = Held::default();
                assert!(held.add(&twig));
                held.check_all(&[0]);
            }
        }
        let mut held = Held::default();
        assert!(held.add("$") && held.add("/a"));
        assert_eq!(held.group.always, 1);
        held.check_all(&[0, 1]);
    }

    /// Tests many twigs at once, so that moves of different distances and several words are side by side.
    /// Some twigs are removed, and others take their bits.
    #[test]
    fn twigs_of_a_group_do_not_mix() {
        for least in [1, 9, 17, 30] {
            let mut held = Held::default();
            let mut sizes = (least..least + 4).cycle();
            while shapes(sizes.next().unwrap()).iter().all(|twig| held.add(twig)) {}
            let all: Vec<usize> = (0..held.twigs.len()).collect();
            held.check_all(&all);
            let (gone, left): (Vec<usize>, Vec<usize>) = all.iter().partition(|twig| *twig % 3 == 1);
            gone.iter().for_each(|twig| held.group.remove(&held.twigs[*twig].3));
            held.check_all(&left);
            left.iter().for_each(|twig| held.group.remove(&held.twigs[*twig].3));
            let Group { moves, far, always, .. } = &held.group;
            assert!(moves.is_empty() && far.is_empty() && *always == 0 && held.group.bits() == 0);
            held.check_all(&[]);
        }
    }

    #[test]
    fn bits_are_added_word_by_word() {
        let words = |step: u64| Words(std::array::from_fn(|word| (word as u64 + 1) * step));
        let (mut sum, others) = (words(0x101), words(0x1_0010));
        sum.add(&others);
        assert_eq!(
            sum.0,
            std::array::from_fn(|word| ((word as u64 + 1) * 0x101) | ((word as u64 + 1) * 0x1_0010))
        );
        assert_eq!(Bits(sum.0[31]).collect::<Vec<_>>(), [5, 9, 13, 21]);
        assert_eq!(Bits(1 | 1 << 63).collect::<Vec<_>>(), [0, 63]);
    }

    /// Fills groups with as many twigs as the bits allow.
    #[test]
    fn groups_are_filled() {
        // A path uses a bit for each node, and a guard for the document and for each node but the last.
        for (nodes, many) in [(1, 1024), (2, 512), (16, 64), (32, 32), (33, 16), (1024, 1)] {
            let mut held = Held::default();
            let path = "/a".repeat(nodes);
            while held.add(&path) {}
            assert_eq!(held.twigs.len(), many, "{nodes}");
            assert_eq!(held.group.bits(), many * 2 * nodes);
            let (first, last) = (held.twigs[0].3.clone(), held.twigs[many - 1].3.clone());
            for taken in [first, last] {
                held.group.remove(&taken);
                assert!(held.add(&path) && !held.add(&path), "{nodes}");
            }
        }
    }
}
