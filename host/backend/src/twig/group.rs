//! Words of bits that are asked together: what a node of a document does to them when it ends.

use super::layout::{Bit, Layout, Run};
use warpath_lang::twig::Twig;

/// Words of a group: a lane's of a warp each, and four of the widest vectors.
pub use warpath_shared::twig::GROUP_WORDS;

/// A word of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Words(pub [u64; GROUP_WORDS]);

impl Words {
    pub const NONE: Self = Self([0; GROUP_WORDS]);

    /// Adds the bits of others.
    #[inline(always)]
    pub fn add(&mut self, others: &Self) {
        // Values, so that nothing has to be thought of as changing what it is added to.
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

/// Bits that are moved to the left, by as much as each word says.
#[derive(Clone, Debug)]
pub struct Move {
    pub mask: Words,
    /// Less than 64.
    pub by: Words,
}

/// A bit that is moved to another word, or to the right.
#[derive(Clone, Copy, Debug)]
pub struct FarMove {
    pub from: Bit,
    pub to: Bit,
}

/// Twigs whose bits are in the words of one group.
#[derive(Clone, Debug)]
pub struct Group {
    /// Nodes whose axis is `//`, where they report.
    pub descendant: Words,
    /// The first child of each node and of the document.
    pub starts: Words,
    /// The guards of nodes.
    pub guards: Words,
    /// Those of them that move by one, as all of a path do.
    pub chained: Words,
    pub moves: Vec<Move>,
    pub far: Vec<FarMove>,
    /// The guards of documents.
    pub documents: Words,
    /// Whose they are.
    owners: Vec<[u32; 64]>,
    taken: Words,
    /// Twigs of which nothing is asked: every document matches them.
    pub always: usize,
}

impl Group {
    /// Bits that are in use.
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

/// Which bits of a group a twig has.
#[derive(Clone, Debug)]
pub struct Taken {
    first: usize,
    /// Of each word from there on.
    bits: Vec<u64>,
    is_always: bool,
}

impl Taken {
    /// The words, and which of their bits.
    pub fn words(&self) -> impl Iterator<Item = (usize, u64)> + Clone {
        self.bits.iter().enumerate().map(|(word, bits)| (self.first + word, *bits))
    }
}

impl Group {
    /// Where there is room for a twig: what is to be added to the bits of its layout.
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

    /// Adds a twig, whose number is `owner`, where there is room for it.
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
        for Run { owner: node, first, guard } in &layout.runs {
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

    /// Gives a twig's bits back.
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

    /// Nodes all of whose children are among what was found below one node, where they report.
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

    /// [`satisfied`](Self::satisfied) of one word, where there are no far moves.
    #[inline(always)]
    pub fn word_satisfied(&self, word: usize, found: u64) -> u64 {
        let guards = found.wrapping_add(self.starts.0[word]) & self.guards.0[word];
        let mut moved = (guards & self.chained.0[word]) << 1;
        for Move { mask, by } in &self.moves {
            moved |= (guards & mask.0[word]) << (by.0[word] & 63);
        }
        moved
    }

    /// The twigs that match a document of which this was found, by their numbers.
    pub fn matches(&self, found: &Words) -> impl Iterator<Item = u32> {
        let words = found.0.iter().zip(&self.starts.0).zip(&self.documents.0).zip(&self.owners);
        words.flat_map(|(((found, starts), documents), owners)| {
            Bits(found.wrapping_add(*starts) & documents).map(|bit| owners[bit as usize])
        })
    }

    /// The twig whose answer is in a bit.
    pub fn owner(&self, word: usize, at: usize) -> u32 {
        self.owners[word][at]
    }
}

/// The bits of a word that are set, from the lowest on.
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
