//! The minimal automaton that accepts the same strings: states that no string distinguishes are merged.
//!
//! Hopcroft's algorithm (1971), with the blocks of the partition in one array (Valmari and Lehtinen, 2008).
//! The time is proportional to *classes · states · log states*.

use warpath_shared::query::automaton::{EVERYTHING, NOTHING, START};

use super::determinise::Automaton;

/// Returns the minimal automaton. Its states are in the order in which a walk from the start reaches them.
/// The first three states stay the first three. The start has a row of its own even if it is equivalent to
/// one of the two before it.
pub(super) fn minimise(automaton: &Automaton) -> Automaton {
    let Automaton { class_of, classes, next, accepts } = automaton;
    let block_of = blocks(automaton);
    let mut numbers = vec![None; accepts.len()];
    let mut states = vec![NOTHING, EVERYTHING, START];
    for state in &states {
        numbers[block_of[*state as usize] as usize].get_or_insert(*state);
    }
    let mut smallest = Vec::new();
    let mut at = 0;
    while let Some(state) = states.get(at).map(|state| *state as usize) {
        at += 1;
        smallest.extend(next[state * classes..][..*classes].iter().map(|next| {
            *numbers[block_of[*next as usize] as usize].get_or_insert_with(|| {
                states.push(*next);
                states.len() as u32 - 1
            })
        }));
    }
    let accepts = states.iter().map(|state| accepts[*state as usize]).collect();
    Automaton { class_of: *class_of, classes: *classes, next: smallest, accepts }
}

/// Returns, for each state, the number of its block of equivalent states.
pub(super) fn blocks(automaton: &Automaton) -> Vec<u32> {
    let states = automaton.accepts.len();
    let before = Before::of(automaton);
    let mut partition = Partition::of_one_block(states);
    for (state, _) in automaton.accepts.iter().enumerate().filter(|(_, accepts)| **accepts) {
        partition.mark(state as u32);
    }
    partition.split(0);

    // Blocks that may still distinguish states. A block that is split before its turn leaves both halves
    // here. If the whole block has had its turn, the smaller half suffices.
    let mut waits: Vec<u32> = (0..partition.blocks.len() as u32).collect();
    let mut is_waiting = vec![true; waits.len()];
    let (mut splitter, mut touched) = (Vec::new(), Vec::new());
    while let Some(block) = waits.pop() {
        is_waiting[block as usize] = false;
        // The block may be split by itself, so its states are copied.
        splitter.clear();
        splitter.extend_from_slice(partition.states(block));
        for class in 0..automaton.classes {
            for state in splitter.iter().flat_map(|to| before.states(class, *to)) {
                let block = partition.block[*state as usize];
                if partition.mark(*state) == 1 {
                    touched.push(block);
                }
            }
            for block in touched.drain(..) {
                let Some(new) = partition.split(block) else { continue };
                is_waiting.push(false);
                let smaller = [block, new].into_iter().min_by_key(|block| partition.states(*block).len());
                let waiting = if is_waiting[block as usize] { Some(new) } else { smaller };
                if let Some(waiting) = waiting {
                    is_waiting[waiting as usize] = true;
                    waits.push(waiting);
                }
            }
        }
    }
    partition.block
}

/// The predecessors of each state, by class.
struct Before {
    states: usize,
    /// The start of the predecessors for `class` and `to`, at `class * states + to`, and last the end.
    starts: Vec<u32>,
    from: Vec<u32>,
}

impl Before {
    fn of(automaton: &Automaton) -> Self {
        let (classes, states) = (automaton.classes, automaton.accepts.len());
        let mut starts = vec![0; classes * states + 1];
        let key = |at: usize, to: u32| at % classes * states + to as usize;
        automaton.next.iter().enumerate().for_each(|(at, to)| starts[key(at, *to)] += 1);
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut from = vec![0; automaton.next.len()];
        for (at, to) in automaton.next.iter().enumerate() {
            let start = &mut starts[key(at, *to)];
            *start -= 1;
            from[*start as usize] = (at / classes) as u32;
        }
        Self { states, starts, from }
    }

    fn states(&self, class: usize, to: u32) -> &[u32] {
        let key = class * self.states + to as usize;
        &self.from[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}

/// Blocks of states. The marked states of a block come first.
struct Partition {
    order: Vec<u32>,
    place: Vec<u32>,
    block: Vec<u32>,
    blocks: Vec<Block>,
}

struct Block {
    start: u32,
    end: u32,
    marked: u32,
}

impl Partition {
    fn of_one_block(states: usize) -> Self {
        let all: Vec<u32> = (0..states as u32).collect();
        let block = Block { start: 0, end: states as u32, marked: 0 };
        Self { order: all.clone(), place: all, block: vec![0; states], blocks: vec![block] }
    }

    fn states(&self, block: u32) -> &[u32] {
        let Block { start, end, .. } = self.blocks[block as usize];
        &self.order[start as usize..end as usize]
    }

    /// Marks an unmarked state. Returns the number of marked states in its block.
    fn mark(&mut self, state: u32) -> u32 {
        let block = &mut self.blocks[self.block[state as usize] as usize];
        let (to, from) = (block.start + block.marked, self.place[state as usize]);
        let other = self.order[to as usize];
        self.order.swap(to as usize, from as usize);
        self.place[state as usize] = to;
        self.place[other as usize] = from;
        block.marked += 1;
        block.marked
    }

    /// Splits the marked states off `block`, if it has others too. No state of it is marked after that.
    fn split(&mut self, block: u32) -> Option<u32> {
        let Block { start, end, marked } = &mut self.blocks[block as usize];
        let marked = std::mem::take(marked);
        if marked == 0 || marked == *end - *start {
            return None;
        }
        let part = Block { start: *start, end: *start + marked, marked: 0 };
        *start = part.end;
        let new = self.blocks.len() as u32;
        for state in &self.order[part.start as usize..part.end as usize] {
            self.block[*state as usize] = new;
        }
        self.blocks.push(part);
        Some(new)
    }
}
