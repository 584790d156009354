//! Patterns: `match` and `search` (RFC 9535, sections 2.4.6 and 2.4.7) by I-Regexp (RFC 9485).
//!
//! ```text
//!          parse                  regex-automata                determinise, minimise         table
//! pattern ───────► expression over ──────────────► NFA over bytes ──┬────────────────────► DFA ─────► words      compile()
//!                    characters                        of UTF-8     └─ regex-automata ──► lazy DFA, on the CPU   holds()
//! ```
//!
//! A subject is what a JSON string stands for: characters in UTF-8, a lone surrogate as the three bytes that UTF-8 would have for
//! it, and bytes that are not UTF-8 as they are. Nothing in a pattern matches those, but `search` finds what is before and behind
//! them.
//!
//! What RFC 9485 leaves open, or says in two ways:
//!
//! * `.` is `[^\n\r]` (section 5).
//! * `^` and `$` outside of classes are the beginning and the end of the string, wherever they are. By the grammar they are
//!   characters that stand for themselves, as in XSD; but what section 5.4 makes of a pattern for other engines leaves them as they
//!   are, and there they are anchors. The JSONPath Compliance Test Suite wants that.
//! * A range that ends before it begins, as in `[z-a]` and `a{2,1}`, is no I-Regexp; nor is `[^]`, by the grammar.

mod determinise;
mod limits;
mod minimise;
mod numbers;
mod parse;
mod table;

use std::cell::RefCell;

use regex_automata::hybrid::dfa as lazy;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Hir, Look};

use crate::jsonpath::PatternKind;
pub use determinise::Automaton;
use determinise::determinise;
pub use limits::TooLarge;
use limits::{EXPRESSION_BYTES, MAX_GROUPS};
use minimise::minimise;
use parse::parse;
use table::table;

/// A pattern of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compiled {
    /// Automaton in the words of `shared/src/query/automaton.rs`.
    Automaton(Vec<u16>),
    /// It is no I-Regexp, and the function false.
    NotARegexp,
}

/// Compiles a pattern.
///
/// # Errors
/// [`TooLarge`] for one whose automaton is beyond a limit of size or of work, all of which bound what compiling costs as well.
pub(crate) fn compile(pattern: &str, kind: PatternKind) -> Result<Compiled, TooLarge> {
    let Some(pattern) = parse(pattern) else { return Ok(Compiled::NotARegexp) };
    if pattern.depth > MAX_GROUPS {
        return Err(TooLarge::Groups(pattern.depth));
    }
    let nfa = nfa(pattern.hir, kind, EXPRESSION_BYTES).ok_or(TooLarge::Expression)?;
    let start = match kind {
        PatternKind::Match => nfa.start_anchored(),
        PatternKind::Search => nfa.start_unanchored(),
    };
    let automaton = determinise(&nfa, start)?;
    Ok(Compiled::Automaton(table(&minimise(&automaton))?))
}

/// The smallest automaton of an expression that is read from a string's first byte on: to its last one ([`PatternKind::Match`]), or as far as there is a match
/// ([`PatternKind::Search`]).
///
/// # Errors
/// [`TooLarge`], but for [`TooLarge::Table`]: no table is made.
pub fn anchored(hir: Hir, kind: PatternKind) -> Result<Automaton, TooLarge> {
    let nfa = nfa(hir, kind, EXPRESSION_BYTES).ok_or(TooLarge::Expression)?;
    Ok(minimise(&determinise(&nfa, nfa.start_anchored())?))
}

/// The pattern as an NFA over bytes, in which a path from the start to a match says that `kind` holds; `None` if it takes more than
/// `limit` bytes, without any other cause.
fn nfa(pattern: Hir, kind: PatternKind, limit: usize) -> Option<NFA> {
    let hir = match kind {
        PatternKind::Match => Hir::concat(vec![pattern, Hir::look(Look::End)]),
        PatternKind::Search => pattern,
    };
    let config =
        thompson::Config::new().utf8(false).nfa_size_limit(Some(limit)).which_captures(WhichCaptures::None);
    thompson::Compiler::new().configure(config).build_from_hir(&hir).ok()
}

/// What the expression of a pattern of a document may take as an NFA: as much as the `regex` crate allows if not told otherwise.
const DOCUMENT_EXPRESSION_BYTES: usize = 10 << 20;

/// How many patterns of documents a thread keeps, and in how many bytes when a new one comes. The last is kept in any case.
const KEPT: usize = 8;
const KEPT_BYTES: usize = 16 << 20;

/// Whether `kind` holds of a pattern that is found in a document, and a subject.
///
/// False if the pattern is no I-Regexp, and also if it takes more than 10 MiB with its repetitions written out, or has groups nested
/// more than 250 deep: who writes a document must not stop who asks about it.
pub fn holds(pattern: &[u8], kind: PatternKind, subject: &[u8]) -> bool {
    KEPT_PATTERNS.with_borrow_mut(|kept| {
        let wanted = match kept.iter().rposition(|kept| kept.kind == kind && kept.pattern == pattern) {
            Some(at) => kept.remove(at),
            None => {
                let new = Kept::new(pattern, kind);
                make_room(kept, new.bytes());
                new
            }
        };
        kept.push(wanted);
        kept.last_mut().is_some_and(|wanted| wanted.holds(subject))
    })
}

thread_local! {
    /// Patterns of documents, the last one used last: mostly, one record's is the next one's, too.
    static KEPT_PATTERNS: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Forgets patterns until one of so many bytes can be kept, those first that were used least lately.
fn make_room(kept: &mut Vec<Kept>, bytes: usize) {
    let mut bytes = bytes;
    let others = kept.iter().rev().take(KEPT - 1).take_while(|kept| {
        bytes += kept.bytes();
        bytes <= KEPT_BYTES
    });
    let others = others.count();
    kept.drain(..kept.len() - others);
}

struct Kept {
    pattern: Vec<u8>,
    kind: PatternKind,
    /// The automaton, with the states to which subjects have led; `None` if nothing matches.
    automaton: Option<(lazy::DFA, lazy::Cache)>,
}

impl Kept {
    fn new(pattern: &[u8], kind: PatternKind) -> Self {
        Self { pattern: pattern.to_vec(), kind, automaton: lazy_automaton(pattern, kind) }
    }

    fn holds(&mut self, subject: &[u8]) -> bool {
        let Some((dfa, cache)) = &mut self.automaton else { return false };
        let anchored = if self.kind == PatternKind::Match { Anchored::Yes } else { Anchored::No };
        let input = Input::new(subject).anchored(anchored).earliest(true);
        // It never gives up: there is no byte at which it should, and it may forget its states as often as it needs to.
        dfa.try_search_fwd(cache, &input).is_ok_and(|found| found.is_some())
    }

    fn bytes(&self) -> usize {
        let automaton = self.automaton.as_ref();
        let automaton =
            automaton.map_or(0, |(dfa, cache)| dfa.get_nfa().memory_usage() + cache.memory_usage());
        self.pattern.len() + automaton
    }
}

/// The pattern as a DFA whose states are found when a subject leads to them: there is none that has too many.
fn lazy_automaton(pattern: &[u8], kind: PatternKind) -> Option<(lazy::DFA, lazy::Cache)> {
    let pattern = parse(std::str::from_utf8(pattern).ok()?).filter(|pattern| pattern.depth <= MAX_GROUPS)?;
    let nfa = nfa(pattern.hir, kind, DOCUMENT_EXPRESSION_BYTES)?;
    let config = lazy::Config::new().skip_cache_capacity_check(true);
    let dfa = lazy::Builder::new().configure(config).build_from_nfa(nfa).ok()?;
    let cache = dfa.create_cache();
    Some((dfa, cache))
}

#[cfg(test)]
mod tests;
