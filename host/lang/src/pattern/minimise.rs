//! The smallest automaton that says the same: one state for all that no string tells apart.
//!
//! Hopcroft's algorithm (1971), with the blocks of the partition side by side in one array (Valmari and Lehtinen, 2008). Its time
//! is that of *classes · states · log states*.

use warpath_shared::query::automaton::{EVERYTHING, NOTHING, START};

use super::determinise::Automaton;

/// The smallest automaton, its states in the order in which they are reached from the start. The first three are what they were, and
/// the start has a row of its own even if it is the same as one of the two before it.
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

/// For each state, the number of its block: of those that are the same.
pub(super) fn blocks(automaton: &Automaton) -> Vec<u32> {
    let states = automaton.accepts.len();
    let before = Before::of(automaton);
    let mut partition = Partition::of_one_block(states);
    for (state, _) in automaton.accepts.iter().enumerate().filter(|(_, accepts)| **accepts) {
        partition.mark(state as u32);
    }
    partition.split(0);

    // Blocks that may yet tell states apart. Whatever is split off comes before what it was split from has gone: of two halves, one
    // is enough, if the whole has had its turn.
    let mut waits: Vec<u32> = (0..partition.blocks.len() as u32).collect();
    let mut is_waiting = vec![true; waits.len()];
    let (mut splitter, mut touched) = (Vec::new(), Vec::new());
    while let Some(block) = waits.pop() {
        is_waiting[block as usize] = false;
        // It may be split by itself.
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

/// The states before each state, by class.
struct Before {
    states: usize,
    /// Where those of `class` and `to` begin, at `class * states + to`, and behind them the end.
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

/// Blocks of states. The marked ones of a block come first.
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

    /// Marks a state that is not; how many of its block are now.
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

    /// Makes a block of the marked states of `block`, if it has others; none is marked then.
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
