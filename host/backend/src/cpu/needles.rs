//! Texts without which a predicate is false. A record that contains none of them is passed over.
//!
//! `$.kind == "commit" && $.commit.operation == "delete"` is true only of a record that contains `"delete"`,
//! or that spells it with an escape. A search for a text reads many times faster than the search for names
//! (Palkar et al., "Filter Before You Parse", VLDB 2018). The structure of such a record is checked all the
//! same.

use memchr::memmem::{self, Finder};
use warpath_shared::ir::{FAIL, LiteralKind, Op, PASS, Program, Test, TestKind, relation};

use super::plan::{is_about_node, tests_from};

/// The bytes at the start of a text that decide which needles are searched for.
const SAMPLE_BYTES: usize = 16 << 10;

/// The most needles. A search for each takes 0.05 ns a byte.
const MOST: usize = 4;

/// The most tests of a predicate that needles are chosen for. Each test is tried with and without the others.
const MOST_TESTS: usize = 64;

/// The least number of lines for each line in which a needle is expected.
const LINES_PER_HIT: usize = 4;

/// The bytes that are searched ahead. They stay in an L1 cache until the record is read.
const AHEAD_BYTES: usize = 16 << 10;

/// The texts, and where each occurs next.
pub(super) struct Needles {
    searches: Vec<Search>,
}

/// The search for one needle in a text.
struct Search {
    finder: Finder<'static>,
    /// The last occurrence that was found.
    hit: Option<usize>,
    /// No occurrence begins between `hit` and this offset.
    clear: usize,
}

impl Needles {
    /// Chooses the rarest needles of a program for a text. `None` if there are none, or if they are frequent.
    pub(super) fn of(program: &Program<'_>, text: &[u8]) -> Option<Self> {
        let head = &text[..text.len().min(SAMPLE_BYTES)];
        let (needles, hits) = choose(program, head)?;
        let lines = memchr::memchr_iter(b'\n', head).count();
        (needles.len() <= MOST && hits * LINES_PER_HIT <= lines).then(|| Self::searching(&needles))
    }

    pub(super) fn searching(needles: &[Vec<u8>]) -> Self {
        let search = |needle| Search { finder: Finder::new(needle).into_owned(), hit: None, clear: 0 };
        Self { searches: needles.iter().map(search).collect() }
    }

    /// Returns whether a needle begins between `start` and `end`, so that the predicate may be true of a
    /// record there. `start` must not be less than in the call before.
    #[inline(always)]
    pub(super) fn occur(&mut self, text: &[u8], start: usize, end: usize) -> bool {
        let mut occur = false;
        for search in &mut self.searches {
            occur |= search.occurs(text, start, end);
        }
        occur
    }
}

impl Search {
    #[inline(always)]
    fn occurs(&mut self, text: &[u8], start: usize, end: usize) -> bool {
        loop {
            match self.hit {
                Some(hit) if hit >= start => return hit < end,
                _ if self.clear >= end => return false,
                _ => self.advance(text, start),
            }
        }
    }

    /// Searches some bytes from `start` on, or from where the search ended.
    #[cold]
    fn advance(&mut self, text: &[u8], start: usize) {
        let from = self.clear.max(start);
        let ahead = (from + AHEAD_BYTES).min(text.len());
        // A needle may begin before `ahead` and end after it.
        let to = (ahead + self.finder.needle().len() - 1).min(text.len());
        self.hit = self.finder.find(&text[from..to]).map(|at| from + at);
        self.clear = self.hit.map_or(ahead, |hit| hit + 1);
    }
}

/// Chooses needles, and counts their occurrences in the head of a text. `None` if a program has no predicate,
/// or if the predicate can be true of a record without any of some texts.
pub(super) fn choose(program: &Program<'_>, head: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let first = program.instrs.get(0);
    if !is_about_node(&first) || program.instrs.get(1).op != Op::Return as u32 {
        return None;
    }
    let first = first.a as u32;
    let count = |needle: &[u8]| memmem::find_iter(head, needle).count();
    let tests = tests_from(program, first);
    if tests.len() > MOST_TESTS {
        return None;
    }
    // The rarest needle of each test that has any, with the number of its occurrences.
    let mut chosen: Vec<(usize, usize, Vec<u8>)> = tests
        .into_iter()
        .filter_map(|test| {
            let needles = of_test(program, &program.tests.get(test)).into_iter();
            let (hits, needle) = needles.map(|needle| (count(&needle), needle)).min()?;
            Some((test, hits, needle))
        })
        .collect();
    let mut kept: Vec<usize> = chosen.iter().map(|(test, ..)| *test).collect();
    if may_pass(program, first, &kept) {
        return None;
    }
    // Leaves out the most frequent ones, as long as the predicate is false without the others.
    chosen.sort_by_key(|(_, hits, _)| std::cmp::Reverse(*hits));
    for (test, ..) in &chosen {
        let fewer: Vec<usize> = kept.iter().copied().filter(|kept| kept != test).collect();
        if !may_pass(program, first, &fewer) {
            kept = fewer;
        }
    }
    chosen.retain(|(test, ..)| kept.contains(test));
    let mut needles: Vec<Vec<u8>> = chosen.into_iter().map(|(.., needle)| needle).collect();
    // A string that is written with escapes contains no needle. `\u00` begins all escapes of characters of
    // ASCII that may be in a needle.
    let ascii = needles.iter().all(|needle| needle.is_ascii());
    needles.push(if ascii { br"\u00".to_vec() } else { br"\u".to_vec() });
    needles.sort();
    needles.dedup();
    let hits = needles.iter().map(|needle| count(needle)).sum();
    Some((needles, hits))
}

/// Returns whether a filter can hold although some of its tests do not. `false_tests` are these tests.
fn may_pass(program: &Program<'_>, first: u32, false_tests: &[usize]) -> bool {
    let (mut reached, mut at) = (vec![first], 0);
    while let Some(test) = reached.get(at) {
        let tried = program.tests.get(*test as usize);
        let nexts = [tried.otherwise, tried.then];
        for next in &nexts[..if false_tests.contains(&(*test as usize)) { 1 } else { 2 }] {
            if *next == PASS {
                return true;
            }
            if *next < FAIL && !reached.contains(next) {
                reached.push(*next);
            }
        }
        at += 1;
    }
    false
}

/// The texts of which each is in every record for which a test holds, if the record has no escapes.
fn of_test(program: &Program<'_>, test: &Test) -> Vec<Vec<u8>> {
    let mut needles = Vec::new();
    let compares = test.kind < TestKind::Exists as u32;
    if !compares && test.kind != TestKind::Exists as u32 && test.kind != TestKind::Pattern as u32 {
        return needles;
    }
    // Without the value, `!=` holds.
    if compares && test.relation & relation::UNRELATED != 0 {
        return needles;
    }
    let text = |offset: u32, len: u32| -> Vec<u8> {
        (offset..offset + len).map(|i| program.literals.get(i as usize)).collect()
    };
    if test.kind == LiteralKind::String as u32 && test.relation == relation::EQUAL && test.raw_len > 0 {
        needles.push(text(test.raw, test.raw_len));
    }
    let mut at = test.path as usize;
    loop {
        let step = program.instrs.get(at);
        match step.op {
            op if op == Op::Name as u32 => {
                let (offset, len) = step.name();
                needles.push([b"\"", &*text(offset, len), b"\""].concat());
            }
            op if op == Op::Index as u32 => {}
            _ => break,
        }
        at += 1;
    }
    // A text may write these characters of a string with an escape other than `\u`.
    let escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | b'/') || *byte < b' ';
    needles.retain(|needle| !needle[1..needle.len() - 1].iter().any(escaped));
    needles
}
