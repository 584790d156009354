//! The subset construction (Rabin and Scott, 1959): sets of states of an NFA become states of a DFA.
//!
//! `regex-automata` has its own construction, for searches that return the end of the leftmost match. There
//! the order of the states in a set matters. For `a.*b|c.*d|e.*f|g.*h|i.*j|k.*l` it stores the order in which
//! the letters occurred, and needs hundreds of times the states. The existence of a match does not depend on
//! that order. So this construction sorts its sets, and treats all sets with a match as one.

use std::rc::Rc;

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;
use warpath_shared::query::automaton::{EVERYTHING, NOTHING, START};

use super::limits::{MAX_ENTRIES, MAX_VISITS, TooLarge};
use super::numbers::Numbers;

/// A deterministic automaton over classes of bytes. Its first three states are those of a table: [`NOTHING`],
/// [`EVERYTHING`] and [`START`].
pub struct Automaton {
    /// The class of each byte.
    pub class_of: [u32; 256],
    /// Number of classes.
    pub classes: usize,
    /// For each state, the next state of each class.
    pub next: Vec<u32>,
    /// For each state, true if a string may end there.
    pub accepts: Vec<bool>,
}

impl Automaton {
    /// Returns true if the automaton accepts a string.
    #[must_use]
    pub fn accepts(&self, string: &[u8]) -> bool {
        let mut state = START;
        for byte in string {
            state = self.next[state as usize * self.classes + self.class_of[usize::from(*byte)] as usize];
            if state <= EVERYTHING {
                break;
            }
        }
        self.accepts[state as usize]
    }
}

/// Builds the automaton of all sets reached from state `start` of the NFA. Some of its states may be
/// equivalent.
///
/// A set of states with a match matches any continuation: a pattern that must match to the end has a `$`
/// before its match.
pub(super) fn determinise(nfa: &NFA, start: StateID) -> Result<Automaton, TooLarge> {
    let class_of = std::array::from_fn(|byte| u32::from(nfa.byte_classes().get(byte as u8)));
    // The crate counts the end of the string as one more class; this automaton does not.
    let classes = nfa.byte_classes().alphabet_len() - 1;
    let mut next = vec![NOTHING; classes];
    next.resize(2 * classes, EVERYTHING);
    let mut accepts = vec![false, true];

    let mut closure = Closure::new(nfa);
    let mut sets = Numbers::default();
    closure.find(&[start], Assertions { start: true, end: false });
    // `^` is true at the start only. So the start is not the next state of any state, even one with the same
    // set.
    sets.push(&closure.set);

    // For each class of bytes, the states to which it leads.
    let mut targets = vec![Vec::new(); classes];
    let mut at = 0;
    while let Some(from) = sets.things().get(at).cloned() {
        accepts.push(closure.matches_at_end(&from, at == 0));
        at += 1;
        if has_match(nfa, &from) {
            next.resize(next.len() + classes, EVERYTHING);
            continue;
        }
        for state in from.iter() {
            for_transitions(nfa.state(*state), |first, last, to| {
                // Classes are numbered in the order of their bytes.
                let classes = class_of[first as usize] as usize..=class_of[last as usize] as usize;
                targets[classes].iter_mut().for_each(|targets| targets.push(to));
            });
        }
        for class in 0..classes {
            closure.visits += targets[class].len();
            let is_as_before = class > 0 && targets[class] == targets[class - 1];
            next.push(match next.last() {
                Some(before) if is_as_before => *before,
                _ => closure.next(&targets[class], &mut sets),
            });
            if next.len() > MAX_ENTRIES || closure.visits > MAX_VISITS {
                return Err(TooLarge::States);
            }
        }
        targets.iter_mut().for_each(Vec::clear);
    }
    Ok(Automaton { class_of, classes, next, accepts })
}

/// Calls `each` for each transition of a state: the first and the last byte, and the target.
fn for_transitions(state: &State, mut each: impl FnMut(u8, u8, StateID)) {
    match state {
        State::ByteRange { trans } => each(trans.start, trans.end, trans.next),
        State::Sparse(sparse) => sparse.transitions.iter().for_each(|t| each(t.start, t.end, t.next)),
        State::Dense(dense) => {
            let leads = (0..=255).filter_map(|byte| Some((byte, dense.matches_byte(byte)?)));
            leads.for_each(|(byte, to)| each(byte, byte, to));
        }
        // The remaining states need no byte.
        _ => {}
    }
}

fn has_match(nfa: &NFA, set: &[StateID]) -> bool {
    set.iter().any(|state| matches!(nfa.state(*state), State::Match { .. }))
}

/// The assertions that are true at a position in a string.
#[derive(Clone, Copy)]
struct Assertions {
    start: bool,
    end: bool,
}

/// Computes the states that are reached without a byte.
struct Closure<'n> {
    nfa: &'n NFA,
    /// The last result, in order: matches, and the states that need a byte or the end of the string to
    /// continue.
    set: Vec<StateID>,
    /// For each state, the last round in which it was visited.
    seen: Vec<u32>,
    round: u32,
    stack: Vec<StateID>,
    visits: usize,
}

impl<'n> Closure<'n> {
    fn new(nfa: &'n NFA) -> Self {
        let seen = vec![0; nfa.states().len()];
        Self { nfa, set: Vec::new(), seen, round: 0, stack: Vec::new(), visits: 0 }
    }

    fn find(&mut self, from: &[StateID], holds: Assertions) {
        self.round += 1;
        self.set.clear();
        self.stack.extend_from_slice(from);
        while let Some(id) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id], self.round) == self.round {
                continue;
            }
            self.visits += 1;
            match self.nfa.state(id) {
                State::Union { alternates } => self.stack.extend_from_slice(alternates),
                State::BinaryUnion { alt1, alt2 } => self.stack.extend([*alt1, *alt2]),
                State::Capture { next, .. } => self.stack.push(*next),
                State::Look { look: Look::Start, next } if holds.start => self.stack.push(*next),
                State::Look { look: Look::End, next } if holds.end => self.stack.push(*next),
                State::Look { look: Look::End, .. }
                | State::ByteRange { .. }
                | State::Sparse(_)
                | State::Dense(_)
                | State::Match { .. } => self.set.push(id),
                // Patterns have no look-around other than `^` and `$`.
                State::Look { .. } | State::Fail => {}
            }
        }
        self.set.sort_unstable();
    }

    /// Returns the number of the state for the set `targets`.
    fn next(&mut self, targets: &[StateID], sets: &mut Numbers<StateID>) -> u32 {
        self.find(targets, Assertions { start: false, end: false });
        match self.set.as_slice() {
            [] => NOTHING,
            set if has_match(self.nfa, set) => EVERYTHING,
            set => START + sets.number(set),
        }
    }

    /// Returns true if a string that ends here matches.
    fn matches_at_end(&mut self, set: &Rc<[StateID]>, is_start: bool) -> bool {
        self.find(set, Assertions { start: is_start, end: true });
        has_match(self.nfa, &self.set)
    }
}
