//! A record that a group of `N` lanes searches together; or a thread alone, for `N` = 1.
//!
//! *Threads*: a *window* is 2 · `N` consecutive words of a level, 128 · `N` bytes of the record. Lane *i* takes words *i* and
//! `N` + *i*, so that the lanes read side by side, and looks at the bits of its words, alone; then they agree on the first that
//! found something. Two words, since agreeing costs more than a word does. Everything else (the interpreter, and bytes that
//! decide its branches) all lanes do alike, with the same values.
//!
//! ```text
//! text      {"id":7,"user":{"lang":"en"}, … "name":"x"}      N = 2, the first two of four words
//! level 0   ■    ■ ■      ■              …      ■            (the brace is taken for a bit)
//!           lane 0 looks at what begins behind its bits,     lane 1 at what begins behind its own
//! ```
//!
//! *Cost* of finding a string: the next window is read while this one is searched; one byte of text for each region that is
//! long enough, four at once in each lane; and the whole region only where that byte may begin it.
//!
//! *Tried*: a lane that knows where the region behind its last bit ends, by two shuffles and two votes a window in place of one
//! vote; it now looks that up where the byte says that it may matter. 64-bit words bit by bit in place of halves four at a
//! time: 45 instructions a bit in place of 23, each waiting for the load before it.

use warpath_shared::check::trim;
use warpath_shared::index::class::is_whitespace;
use warpath_shared::ir::Program;
use warpath_shared::query::document::{Document, Node, nth_bit};
use warpath_shared::query::filter::{self, Filter};
use warpath_shared::query::select::{self, Visit, is_array, is_object, name_equals};
use warpath_shared::units::{Level, PartOffset, WORD_BYTES};
use warpath_shared::view::View;

use super::Text;
use crate::coop::group::Group;

const WORD: u32 = WORD_BYTES as u32;

/// The partition as a group of lanes sees it.
pub struct Together<'a, const N: u32> {
    text: Text<'a>,
    group: Group<N>,
}

/// What a quoted string must be like so that it may equal a literal, told by its length and one byte.
#[derive(Clone, Copy)]
struct Hint {
    /// The fewest bytes from one separator to the next, less one; or less than that.
    least: u32,
    /// The literal's first byte, or the closing quote if it has none.
    first: u8,
}

impl Hint {
    #[inline(always)]
    fn of(literals: View<'_, u8>, (offset, len): (u32, u32)) -> Self {
        let first = if len == 0 { b'"' } else { literals.get(offset as usize) };
        Self { least: (len + 2).min(30), first }
    }

    /// Whether the region whose second byte this is may hold the literal: after the quote stands the literal's first byte or
    /// an escape; else there is white space before the quote, and here more of it or the quote, neither of which is
    /// above `"`.
    #[inline(always)]
    fn may_equal(self, second: u8) -> bool {
        (second == self.first) | (second == b'\\') | (second <= b'"')
    }

    /// Of the bits of two words, those behind which a region begins that may hold the literal.
    ///
    /// The words are taken by halves, and one bit of each at a time: the 32 bytes that a half speaks of are what the memory
    /// moves at once, so the first four bytes that are asked for bring in most of the others.
    #[inline(always)]
    fn sieve(
        self,
        text: &Text<'_>,
        starts: [PartOffset; 2],
        words: [u64; 2],
        anywhere: PartOffset,
    ) -> [u64; 2] {
        let mut halves = [words[0] as u32, (words[0] >> 32) as u32, words[1] as u32, (words[1] >> 32) as u32];
        let starts = [starts[0], starts[0].wrapping_add(32), starts[1], starts[1].wrapping_add(32)];
        let mut may_equal = [0u32; 4];
        while halves[0] | halves[1] | halves[2] | halves[3] != 0 {
            let mut bits = [0; 4];
            let mut seconds = [0; 4];
            let mut i = 0;
            while i < 4 {
                let bit = halves[i] & halves[i].wrapping_neg();
                halves[i] ^= bit;
                // This bit and the `least` ones above it.
                let near = (bit << (self.least + 1)).wrapping_sub(bit);
                bits[i] = if halves[i] & near == 0 { bit } else { 0 };
                let second = starts[i].wrapping_add(bit.wrapping_sub(1).count_ones() + 2);
                // A load without a branch: the four are on their way together.
                seconds[i] = text.byte(if bits[i] == 0 { anywhere } else { second });
                i += 1;
            }
            i = 0;
            while i < 4 {
                may_equal[i] |= if self.may_equal(seconds[i]) { bits[i] } else { 0 };
                i += 1;
            }
        }
        let word = |i| may_equal[i] as u64 | (may_equal[i + 1] as u64) << 32;
        [word(0), word(2)]
    }
}

impl<'a, const N: u32> Together<'a, N> {
    /// The partition, seen by this group.
    #[inline(always)]
    pub fn new(text: Text<'a>, group: Group<N>) -> Self {
        Self { text, group }
    }

    /// Word `index` of a level, or no bits if that is beyond word `last`.
    #[inline(always)]
    fn word_until(&self, level: Level, index: u32, last: u32) -> u64 {
        if index <= last { self.text.level_word(level, index) } else { 0 }
    }

    /// The first two neighbours among `from - 1`, the bits of a level in `from..end`, and `end`, that `hint` lets through, if
    /// there is one, and for whose first `confirm` finds the second. Each lane looks alone at those of which the first is in one of its two
    /// words. `from <= end`.
    #[inline(always)]
    fn first_region(
        &self,
        level: Level,
        from: PartOffset,
        end: PartOffset,
        hint: Option<Hint>,
        confirm: impl Fn(PartOffset) -> Option<PartOffset>,
    ) -> Option<(PartOffset, PartOffset)> {
        let Self { text, group, .. } = self;
        let last = (end - 1) / WORD;
        let mut base = (from - 1) / WORD;
        let two_words =
            |index| [self.word_until(level, index, last), self.word_until(level, index + N, last)];
        let mut words = two_words(base + group.lane);
        if group.lane == 0 {
            // The position before is a bit too.
            let bit = 1u64 << ((from - 1) % WORD);
            words[0] = words[0] & !(bit - 1) | bit;
        }
        let last_word = !0 >> (WORD - 1 - (end - 1) % WORD);
        loop {
            let index = base + group.lane;
            // On their way while these are searched.
            let next = two_words(index + 2 * N);
            if index == last {
                words[0] &= last_word;
            }
            if index + N == last {
                words[1] &= last_word;
            }
            let starts = [index.wrapping_mul(WORD), (index + N).wrapping_mul(WORD)];
            let [mut first, mut second] = match hint {
                Some(hint) => hint.sieve(text, starts, words, end),
                None => words,
            };
            // Both words in one loop, so that its code is there once.
            let mut found = None;
            while first | second != 0 {
                let (start, word) =
                    if first != 0 { (starts[0], &mut first) } else { (starts[1], &mut second) };
                let before = start + word.trailing_zeros();
                *word &= *word - 1;
                found = confirm(before).map(|at| (before, at));
                if found.is_some() {
                    break;
                }
            }
            let mut finders = group.ballot(found.is_some());
            if finders != 0 {
                let (before, at) = found.unwrap_or_default();
                // First words stand before second ones.
                let in_first = group.ballot(found.is_some() && before < (base + N) * WORD);
                finders = if in_first != 0 { in_first } else { finders };
                let finder = finders.trailing_zeros();
                return Some((group.from_lane(before, finder), group.from_lane(at, finder)));
            }
            base += 2 * N;
            if base > last {
                return None;
            }
            words = next;
        }
    }
}

impl<const N: u32> Document for Together<'_, N> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        self.text.byte(at)
    }

    #[inline(always)]
    fn level_word(&self, level: Level, word: u32) -> u64 {
        self.text.level_word(level, word)
    }

    #[inline(always)]
    fn next_bit(&self, level: Level, from: PartOffset, end: PartOffset) -> PartOffset {
        if from >= end {
            return end;
        }
        let Self { group, .. } = self;
        let last = (end - 1) / WORD;
        let mut base = from / WORD;
        // Most values end in the word in which they begin, which each lane sees for itself.
        let word = self.level_word(level, base) & (!0 << (from % WORD));
        if word != 0 {
            return (base * WORD + word.trailing_zeros()).min(end);
        }
        if base == last {
            return end;
        }
        base += 1;
        let mut word = self.word_until(level, base + group.lane, last);
        loop {
            let some = group.ballot(word != 0);
            if some != 0 {
                let at = (base + group.lane).wrapping_mul(WORD).wrapping_add(word.trailing_zeros());
                return group.from_lane(at, some.trailing_zeros()).min(end);
            }
            base += N;
            if base > last {
                return end;
            }
            word = self.word_until(level, base + group.lane, last);
        }
    }

    #[inline(always)]
    fn nth_bit(&self, level: Level, from: PartOffset, end: PartOffset, mut n: u64) -> PartOffset {
        if from >= end {
            return end;
        }
        let Self { group, .. } = self;
        let last = (end - 1) / WORD;
        let mut base = from / WORD;
        let mut word = self.word_until(level, base + group.lane, last);
        if group.lane == 0 {
            word &= !0 << (from % WORD);
        }
        loop {
            let ones = word.count_ones();
            let through = group.inclusive_sum(ones);
            let reached = group.ballot(through as u64 > n);
            if reached != 0 {
                // In the first lane that reaches it, the bit after as many as it has to pass over; others' is not read.
                let mut over = (n as u32).wrapping_sub(through - ones).min(ones);
                while over > 0 {
                    word &= word - 1;
                    over -= 1;
                }
                let at = (base + group.lane).wrapping_mul(WORD).wrapping_add(word.trailing_zeros());
                return group.from_lane(at, reached.trailing_zeros()).min(end);
            }
            n -= group.from_lane(through, N - 1) as u64;
            base += N;
            if base > last {
                return end;
            }
            word = self.word_until(level, base + group.lane, last);
        }
    }

    #[inline(always)]
    fn previous_bit(&self, level: Level, start: PartOffset, before: PartOffset) -> Option<PartOffset> {
        if before <= start {
            return None;
        }
        let Self { group, .. } = self;
        let (first, mut top) = (start / WORD, (before - 1) / WORD);
        // Lane 0 takes the last word, and the others those before it.
        loop {
            let mut word = 0;
            let index = top.wrapping_sub(group.lane);
            if group.lane <= top - first {
                word = self.text.level_word(level, index);
                if index == (before - 1) / WORD {
                    word &= !0 >> (WORD - 1 - (before - 1) % WORD);
                }
            }
            let some = group.ballot(word != 0);
            if some != 0 {
                let at = index.wrapping_mul(WORD).wrapping_add(WORD - 1).wrapping_sub(word.leading_zeros());
                let at = group.from_lane(at, some.trailing_zeros());
                return (at >= start).then_some(at);
            }
            if top - first < N {
                return None;
            }
            top -= N;
        }
    }

    #[inline(always)]
    fn count_bits(&self, level: Level, from: PartOffset, end: PartOffset) -> u32 {
        if from >= end {
            return 0;
        }
        let Self { group, .. } = self;
        let (first, last) = (from / WORD, (end - 1) / WORD);
        let mut ones = 0;
        let mut index = first + group.lane;
        while index <= last {
            let mut word = self.text.level_word(level, index);
            if index == first {
                word &= !0 << (from % WORD);
            }
            if index == last {
                word &= !0 >> (WORD - 1 - (end - 1) % WORD);
            }
            ones += word.count_ones();
            index += N;
        }
        group.from_lane(group.inclusive_sum(ones), N - 1)
    }

    #[inline(always)]
    fn trim(&self, start: PartOffset, end: PartOffset) -> Option<(PartOffset, PartOffset)> {
        if start >= end {
            return None;
        }
        let (mut start, mut end) = (start, end);
        // Both at once, since each may take as long as the other. Mostly there is nothing to trim.
        let (first, last) = (self.byte(start), self.byte(end - 1));
        let Self { group, .. } = self;
        if is_whitespace(first) {
            loop {
                let at = start + group.lane;
                let solid = group.ballot(at < end && !is_whitespace(self.byte(at)));
                if solid != 0 {
                    start += solid.trailing_zeros();
                    break;
                }
                start += N;
                if start >= end {
                    return None;
                }
            }
        }
        if is_whitespace(last) {
            // Something else stands at `start`.
            loop {
                let at = end.wrapping_sub(1 + group.lane);
                let solid = group.ballot(group.lane < end - start && !is_whitespace(self.byte(at)));
                if solid != 0 {
                    end -= solid.trailing_zeros();
                    break;
                }
                end -= N;
            }
        }
        Some((start, end))
    }

    /// Every region that ends at a colon is tested, those too that are no names: where two colons follow one another, which
    /// is not JSON, the second one may only end the first one's value. So a name before which there is a colon is looked for
    /// by the rule itself.
    #[inline(always)]
    fn find_member(
        &self,
        object: Node,
        literals: View<'_, u8>,
        name: (u32, u32),
    ) -> Option<(PartOffset, PartOffset)> {
        let (text, level) = (&self.text, object.level);
        let (from, end) = (object.start + 1, object.end - 1);
        let hint = Some(Hint::of(literals, name));
        let (before, colon) = self.first_region(level, from, end, hint, |before| {
            let at = nth_bit(text, level, before + 1, end, 0);
            (text.byte(at) == b':' && name_equals(text, before + 1, at, literals, name)).then_some(at)
        })?;
        if before >= from && text.byte(before) == b':' {
            return find_member_alone(self.text, object, literals, name);
        }
        Some((colon + 1, self.next_bit(level, colon + 1, end)))
    }

    /// A lane a child, whatever the test looks at. As in [`find_member`](Self::find_member), a value after two colons is
    /// looked for by the rule itself.
    #[inline(always)]
    fn next_passing(
        &self,
        program: &Program<'_>,
        node: Node,
        filter: &Filter,
        visit: &mut Visit,
    ) -> Option<Node> {
        let object = is_object(self, node);
        if !object && !is_array(self, node) {
            return None;
        }
        let from = if visit.cursor == 0 { node.start + 1 } else { visit.cursor };
        let end = node.end - 1;
        if from > end {
            return None;
        }
        let text = &self.text;
        let hint = filter.string(program).map(|literal| Hint::of(program.literals, literal));
        let found = self.first_region(node.level, from, end, hint, |before| {
            if object && (before < from || text.byte(before) != b':') {
                return None;
            }
            let at = nth_bit(text, node.level, before + 1, end, 0);
            let (start, end) = trim(before + 1, at, |at| text.byte(at))?;
            passes_alone(*text, program, filter, Node { start, end, level: node.level + 1 }).then_some(at)
        });
        let Some((before, at)) = found else {
            visit.cursor = end + 1;
            return None;
        };
        if object
            && let Some(earlier) = self.previous_bit(node.level, from, before)
            && text.byte(earlier) == b':'
        {
            return next_passing_alone(self.text, program, node, filter, visit);
        }
        visit.cursor = at + 1;
        let (start, end) = self.trim(before + 1, at)?;
        Some(Node { start, end, level: node.level + 1 })
    }
}

/// The rule, by each lane for itself: for objects that are no JSON.
#[cold]
#[inline(never)]
fn find_member_alone(
    text: Text<'_>,
    object: Node,
    literals: View<'_, u8>,
    name: (u32, u32),
) -> Option<(PartOffset, PartOffset)> {
    select::find_member(&text, object, literals, name)
}

/// As [`find_member_alone`].
#[cold]
#[inline(never)]
fn next_passing_alone(
    text: Text<'_>,
    program: &Program<'_>,
    node: Node,
    filter: &Filter,
    visit: &mut Visit,
) -> Option<Node> {
    filter::next_passing(&text, program, node, filter, visit)
}

/// Whether a child passes. Apart from the search, which needs its registers.
#[inline(never)]
fn passes_alone(text: Text<'_>, program: &Program<'_>, filter: &Filter, child: Node) -> bool {
    filter.passes(&text, program, child)
}
