//! Patterns as automata over codes: automata over bytes, composed with a symbol table.
//!
//! ```text
//!          expression            NFA, DFA, minimised                    a row a state
//! Pattern ────────────► Hir ───────────────────────► DFA over bytes ──────────────────► DFA over codes
//!                            program/pattern.rs                        by all bytes of each symbol
//! ```
//!
//! [`warpath_shared::fsst::automaton`] defines the rows and the walk over them. Each state of the minimal DFA
//! over bytes is also a state over codes, because any byte may follow an escape.
//!
//! The number of live states is about the number of positions in the pattern. A plain literal has one more
//! than its bytes. `_` adds about one per character. Each `_` after a `%` and a literal may double the
//! number, as in `%a____`.

use warpath_lang::like::Pattern;
use warpath_lang::pattern as bytewise;
use warpath_shared::fsst::automaton::{
    ALWAYS, Automaton, LIVE, MAX_LIVE, MAX_ROWS, Marks, NEVER, ROW, UNKNOWN, Verdict, is_decided, place,
};
use warpath_shared::fsst::{CodeFault, ESCAPE, Table};
use warpath_shared::query::automaton::{EVERYTHING, NOTHING, START};
use warpath_shared::view::View;

/// A row for every 8-bit number, so that no look-up needs a bounds check.
pub(super) type TransitionTable = [u8; ROW * 256];

/// A pattern as an automaton over the codes of a symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeAutomaton {
    /// The rows, and after them zeros, to which no transition leads.
    next: Box<TransitionTable>,
    rows: usize,
    marks: Marks,
}

/// The reason why a pattern has no automaton. [`Matcher`](super::Matcher) then evaluates the pattern on
/// decoded strings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AutomatonError {
    /// The automaton has this number of live states, which is too many.
    #[error("the pattern's automaton has {0} states, more than the {MAX_LIVE} that are walked over codes")]
    States(usize),
    /// Construction of the automaton would be too much work.
    #[error("the pattern is too large: {0}")]
    Work(String),
}

impl CodeAutomaton {
    /// Composes a pattern with a symbol table.
    ///
    /// # Errors
    /// [`AutomatonError`]. Memory and work are bounded for any pattern.
    pub fn new(pattern: &Pattern, table: &Table) -> Result<Self, AutomatonError> {
        let (expression, kind) = pattern.expression();
        let bytes = bytewise::anchored(expression, kind);
        let bytes = ByteAutomaton(bytes.map_err(|error| AutomatonError::Work(error.to_string()))?);
        let numbers = Numbers::of(&bytes)?;
        let mut automaton = Self {
            next: zeroed(),
            rows: usize::from(numbers.marks.pending) + numbers.live.len(),
            marks: numbers.marks,
        };
        for decided in [NEVER, UNKNOWN, ALWAYS] {
            automaton.row(decided).fill(decided);
        }
        for (at, from) in numbers.live.iter().enumerate() {
            let (state, pending) = (LIVE + at as u8, numbers.marks.pending + at as u8);
            let symbols = table.symbols().iter().zip(table.lens());
            for (to, (symbol, len)) in automaton.row(state).iter_mut().zip(symbols) {
                let bytes_of = &symbol.to_le_bytes()[..usize::from(*len)];
                let end = bytes_of.iter().fold(*from, |state, byte| bytes.next(state, *byte));
                *to = if bytes_of.is_empty() { UNKNOWN } else { numbers.of[end as usize] };
            }
            automaton.row(state)[usize::from(ESCAPE)] = pending;
            for (byte, to) in (0..=255).zip(automaton.row(pending)) {
                *to = numbers.of[bytes.next(*from, byte) as usize];
            }
        }
        Ok(automaton)
    }

    fn row(&mut self, state: u8) -> &mut [u8] {
        &mut self.next[place(state, 0) as usize..][..ROW]
    }

    /// Returns the rows: [`ROW`] bytes each, at most [`MAX_ROWS`] rows.
    #[must_use]
    pub fn rows(&self) -> &[u8] {
        &self.next[..self.rows * ROW]
    }

    /// Returns the state at which a walk begins, and the meaning of the state in which it ends.
    #[must_use]
    pub const fn marks(&self) -> Marks {
        self.marks
    }

    /// Returns the automaton in the kernels' form. `rows` are its [`rows`](Self::rows) in the kernel's
    /// memory.
    #[must_use]
    pub const fn on<'a>(&self, rows: View<'a, u8>) -> Automaton<'a> {
        Automaton { next: rows, marks: self.marks, reserved: 0 }
    }

    /// Returns the number of live states: those in which further codes matter, without their twins after an
    /// escape.
    #[must_use]
    pub const fn live(&self) -> usize {
        (self.marks.pending - LIVE) as usize
    }

    pub(super) fn next(&self) -> &TransitionTable {
        &self.next
    }

    /// Returns true if the string of some codes matches.
    ///
    /// # Errors
    /// [`CodeFault::Escape`] and [`CodeFault::Unknown`], unless the fault comes after the code that decides.
    pub fn matches_one(&self, codes: &[u8]) -> Result<bool, CodeFault> {
        let (mut state, mut at) = (self.marks.start, 0);
        while at < codes.len() && !is_decided(state) {
            state = self.next[place(state, codes[at]) as usize];
            at += 1;
        }
        match self.marks.verdict(state) {
            Verdict::Match => Ok(true),
            Verdict::Miss => Ok(false),
            // The fault is at the last code read.
            Verdict::Unknown => Err(CodeFault::Unknown(at - 1)),
            Verdict::Escape => Err(CodeFault::Escape(at - 1)),
        }
    }
}

const _: () = assert!(LIVE as usize + 2 * MAX_LIVE <= MAX_ROWS);

fn zeroed() -> Box<TransitionTable> {
    // Built on the heap, because 64 KiB may be too much for the stack.
    let rows = vec![0; ROW * 256].into_boxed_slice();
    rows.try_into().unwrap_or_else(|_| unreachable!("it has this length"))
}

/// The minimal automaton over bytes.
struct ByteAutomaton(bytewise::Automaton);

impl ByteAutomaton {
    fn states(&self) -> usize {
        self.0.accepts.len()
    }

    fn next(&self, state: u32, byte: u8) -> u32 {
        self.0.next[state as usize * self.0.classes + self.0.class_of[usize::from(byte)] as usize]
    }

    /// Returns the decided state over codes, if no later byte changes the result. In the automaton over
    /// bytes, the start has a row of its own even if it is decided. All other decided states there are
    /// `NOTHING` or `EVERYTHING`.
    fn decided(&self, state: u32) -> Option<u8> {
        let row = &self.0.next[state as usize * self.0.classes..][..self.0.classes];
        let (accepts, all) = (self.0.accepts[state as usize], |to| row.iter().all(|next| *next == to));
        match state {
            NOTHING => Some(NEVER),
            EVERYTHING => Some(ALWAYS),
            _ if accepts && all(EVERYTHING) => Some(ALWAYS),
            _ if !accepts && all(NOTHING) => Some(NEVER),
            _ => None,
        }
    }
}

/// The mapping between states over codes and states over bytes.
struct Numbers {
    /// For each state over bytes, its state over codes.
    of: Vec<u8>,
    /// For each live state over codes, its state over bytes. States that accept come first; within both
    /// groups, the order is that in which a search reaches them.
    live: Vec<u32>,
    marks: Marks,
}

impl Numbers {
    fn of(bytes: &ByteAutomaton) -> Result<Self, AutomatonError> {
        let is_live = |state: &u32| bytes.decided(*state).is_none();
        let (mut live, others): (Vec<u32>, Vec<u32>) =
            (0..bytes.states() as u32).filter(is_live).partition(|state| bytes.0.accepts[*state as usize]);
        let accepting = live.len();
        live.extend(others);
        if live.len() > MAX_LIVE {
            return Err(AutomatonError::States(live.len()));
        }
        let mut of: Vec<u8> =
            (0..bytes.states() as u32).map(|state| bytes.decided(state).unwrap_or(NEVER)).collect();
        for (at, state) in live.iter().enumerate() {
            of[*state as usize] = LIVE + at as u8;
        }
        let marks = Marks {
            start: of[START as usize],
            misses: LIVE + accepting as u8,
            pending: LIVE + live.len() as u8,
            reserved: 0,
        };
        Ok(Self { of, live, marks })
    }
}

#[cfg(test)]
mod tests;
