//! Texts without which a predicate is false. A record that contains none of them is passed over.
//!
//! `$.kind == "commit" && $.commit.operation == "delete"` is true only of a record that contains `"delete"`,
//! or that spells it with an escape. A search for a text reads many times faster than the search for names
//! (Palkar et al., "Filter Before You Parse", VLDB 2018). The structure of such a record is checked all the
//! same.

use memchr::memmem::{self, Finder};
use warpath_lang::predicate::Predicate;

/// The bytes at the start of a text that decide which needles are searched for.
const SAMPLE_BYTES: usize = 16 << 10;

/// The most needles. A search for each takes 0.05 ns a byte.
const MOST: usize = 4;

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

/// Chooses the rarest needles of a predicate for a text. `None` if there are none, or if they are frequent.
pub(super) fn choose(predicate: &Predicate, text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let head = &text[..text.len().min(SAMPLE_BYTES)];
    let (needles, hits) = predicate.needles(MOST, &mut |needle| memmem::find_iter(head, needle).count())?;
    let lines = memchr::memchr_iter(b'\n', head).count();
    (hits * LINES_PER_HIT <= lines).then_some(needles)
}

impl Needles {
    /// The search for some needles.
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
