//! Patterns: `match` and `search` (RFC 9535, sections 2.4.6 and 2.4.7) by I-Regexp (RFC 9485).
//!
//! ```text
//!          parse                 regex-automata             determinise, minimise   table
//! pattern ───────► expression over ──────────► NFA over bytes ──┬─────────────► DFA ─────► words: compile()
//!                    characters                   of UTF-8      └─ regex-automata ──► lazy DFA: holds(), CPU
//! ```
//!
//! A subject is the decoded value of a JSON string: characters in UTF-8, a lone surrogate as its three bytes
//! in generalised UTF-8, and bytes that are not UTF-8 unchanged. No pattern matches the last two, but
//! `search` finds matches before and after them.
//!
//! RFC 9485 leaves some cases open, or defines them in two ways:
//!
//! * `.` is `[^\n\r]` (section 5).
//! * `^` and `$` outside of classes are the beginning and the end of the string, in any position. By the
//!   grammar they are ordinary characters, as in XSD. But the mapping of section 5.4 to other engines leaves
//!   them unchanged, and there they are anchors. The JSONPath Compliance Test Suite expects anchors.
//! * A range that ends before it begins, as in `[z-a]` and `a{2,1}`, is not an I-Regexp; nor is `[^]`, by the
//!   grammar.

mod determinise;
mod limits;
mod literal;
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
use crate::like::Pattern as Strings;
pub use determinise::Automaton;
use determinise::determinise;
pub use limits::TooLarge;
use limits::{EXPRESSION_BYTES, MAX_GROUPS};
pub use literal::fault;
use minimise::minimise;
use parse::parse;
use table::table;

/// A compiled pattern of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compiled {
    /// An automaton in the words of `shared/src/query/automaton.rs`.
    Automaton(Vec<u16>),
    /// The pattern is not an I-Regexp, so the function is false.
    NotARegexp,
}

/// Compiles a pattern.
///
/// # Errors
/// [`TooLarge`] if the automaton exceeds a limit of size or of work. The limits also bound the cost of
/// compilation.
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

/// Compiles a pattern of strings to the words of an automaton.
///
/// # Errors
/// As for [`compile`].
pub(crate) fn compile_strings(pattern: &Strings, ignores_case: bool) -> Result<Vec<u16>, TooLarge> {
    table(&automaton_of(pattern, ignores_case)?)
}

/// Compiles the automaton of a pattern of strings.
///
/// # Errors
/// As for [`anchored`].
pub(crate) fn automaton_of(pattern: &Strings, ignores_case: bool) -> Result<Automaton, TooLarge> {
    let (hir, kind) = if ignores_case { pattern.folded_expression() } else { pattern.expression() };
    anchored(hir, kind)
}

/// Compiles the minimal automaton of an expression that is matched from a string's first byte on. The match
/// extends to the last byte ([`PatternKind::Match`]), or ends anywhere ([`PatternKind::Search`]).
///
/// # Errors
/// [`TooLarge`], except [`TooLarge::Table`], because no table is built.
pub fn anchored(hir: Hir, kind: PatternKind) -> Result<Automaton, TooLarge> {
    let nfa = nfa(hir, kind, EXPRESSION_BYTES).ok_or(TooLarge::Expression)?;
    Ok(minimise(&determinise(&nfa, nfa.start_anchored())?))
}

/// Compiles the pattern to an NFA over bytes, in which a path from the start to a match means that `kind` is
/// true. `None` only if the NFA takes more than `limit` bytes.
fn nfa(pattern: Hir, kind: PatternKind, limit: usize) -> Option<NFA> {
    let hir = match kind {
        PatternKind::Match => Hir::concat(vec![pattern, Hir::look(Look::End)]),
        PatternKind::Search => pattern,
    };
    let config =
        thompson::Config::new().utf8(false).nfa_size_limit(Some(limit)).which_captures(WhichCaptures::None);
    thompson::Compiler::new().configure(config).build_from_hir(&hir).ok()
}

/// The maximum size in bytes of the NFA of a document's pattern: the default limit of the `regex` crate.
const DOCUMENT_EXPRESSION_BYTES: usize = 10 << 20;

/// The maximum number of document patterns that a thread keeps, and their total size in bytes when a new one
/// is added. The last one is always kept.
const KEPT: usize = 8;
const KEPT_BYTES: usize = 16 << 20;

/// Returns true if `kind` is true for a pattern from a document and a subject.
///
/// Returns false if the pattern is not an I-Regexp. Also returns false if it takes more than 10 MiB with its
/// repetitions expanded, or if its groups are nested more than 250 deep. An error would let the author of a
/// document stop the query.
pub fn holds(pattern: &[u8], kind: PatternKind, subject: &[u8]) -> bool {
    KEPT_PATTERNS.with_borrow_mut(|kept| {
        let wanted = match kept.iter().rposition(|kept| kept.kind == kind && kept.pattern == pattern) {
            Some(at) => kept.remove(at),
            None => {
                let new = CompiledPattern::new(pattern, kind);
                make_room(kept, new.bytes());
                new
            }
        };
        kept.push(wanted);
        kept.last_mut().is_some_and(|wanted| wanted.holds(subject))
    })
}

thread_local! {
    /// Patterns of documents, the last one used most recently. Consecutive records often have the same
    /// pattern.
    static KEPT_PATTERNS: RefCell<Vec<CompiledPattern>> = const { RefCell::new(Vec::new()) };
}

/// Drops the least recently used patterns until `bytes` more bytes can be kept.
fn make_room(kept: &mut Vec<CompiledPattern>, bytes: usize) {
    let mut bytes = bytes;
    let others = kept.iter().rev().take(KEPT - 1).take_while(|kept| {
        bytes += kept.bytes();
        bytes <= KEPT_BYTES
    });
    let others = others.count();
    kept.drain(..kept.len() - others);
}

struct CompiledPattern {
    pattern: Vec<u8>,
    kind: PatternKind,
    /// The automaton, with the states that subjects have reached so far; `None` if nothing matches.
    automaton: Option<(lazy::DFA, lazy::Cache)>,
}

impl CompiledPattern {
    fn new(pattern: &[u8], kind: PatternKind) -> Self {
        Self { pattern: pattern.to_vec(), kind, automaton: lazy_automaton(pattern, kind) }
    }

    fn holds(&mut self, subject: &[u8]) -> bool {
        let Some((dfa, cache)) = &mut self.automaton else { return false };
        let anchored = if self.kind == PatternKind::Match { Anchored::Yes } else { Anchored::No };
        let input = Input::new(subject).anchored(anchored).earliest(true);
        // The search never gives up: no byte is configured to quit, and the cache may be cleared without
        // limit.
        dfa.try_search_fwd(cache, &input).is_ok_and(|found| found.is_some())
    }

    fn bytes(&self) -> usize {
        let automaton = self.automaton.as_ref();
        let automaton =
            automaton.map_or(0, |(dfa, cache)| dfa.get_nfa().memory_usage() + cache.memory_usage());
        self.pattern.len() + automaton
    }
}

/// Compiles the pattern to a DFA whose states are computed when a subject reaches them, so no DFA has too
/// many states.
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
