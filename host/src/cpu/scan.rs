//! One record in one pass, with nothing materialised: its faults are looked for and the names of a [`Plan`] are followed
//! while its words go by.
//!
//! A pass knows *regular* records: one container with white space around it and no fault, in which what is looked at is
//! JSON as it is usually written. It gives up any other, which is then indexed, judged and interpreted by itself: so it may
//! give up too often, and never answers what the interpreter would not.
//!
//! # A word
//! Most words are *quiet*: no bracket, no line feed and no name that is looked for ends in them. In others the brackets are
//! followed; and where a name may be found, a container that is looked into ends, or something is wrong, the word is *loud*:
//! it is walked event by event, and what the walk says holds.
//!
//! # Brackets
//! Kinds are kept in a stack of bits, below a bit that marks its height:
//!
//! ```text
//! text    {"a":[{"b":[          stack   1 1 0 1 0       1 is a brace, the innermost container is lowest
//!                                       ↑ height mark: 2^depth ≤ stack < 2^(depth + 1)
//! ```
//!
//! # Names
//! A colon may follow a name that is looked for if the quote that opens such a name stands as far before it as it must. A
//! name in which there is a backslash may be spelt in any way, and is left to the interpreter:
//!
//! ```text
//! text        {"a":"\/b","c\u0064":1}      bits of the text's bytes, the first at the left
//! string      .■■..■■■■.■■■■■■■■...
//! + backslash .■■..■.■■■■■■.■■■■■..      added to the string's bits, a backslash carries out at the closing quote, once,
//!                  however many there are
//! ```

use super::classify::Simd;
use super::plan::{Block, Plan};
use warpath_shared::check::trim;
use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::{PartOffset, WORD_BYTES};

/// A value that was found, and what is wanted of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The block of the plan.
    pub block: usize,
    /// Its first byte.
    pub start: PartOffset,
    /// One past its last byte.
    pub end: PartOffset,
    /// Whether it is a container.
    pub container: bool,
}

/// A container that is open and looked into, or whose end is wanted. The frame at height *h* is *h* + 1 containers deep.
#[derive(Clone, Copy, Debug)]
struct Frame {
    block: usize,
    /// The names that are still looked for, a bit each.
    left: u64,
    start: PartOffset,
}

/// What a pass over a record needs beside it, reused from record to record.
#[derive(Default)]
pub(super) struct Scan {
    frames: Vec<Frame>,
    /// What was found in the record, in the order in which it ended.
    pub found: Vec<Found>,
    /// A value that is no container, whose end has not come yet: its block and its start.
    pending: Option<(usize, PartOffset)>,
}

/// A stack from here on is too high: the next bracket might push out its height mark.
const FULL: u64 = 1 << 62;

/// Where a pass stands: before the word at `at`.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    stack: u64,
    /// All ones where a string is open.
    string: u64,
    /// 1 where an escape is pending.
    escape: u64,
    /// 1 where a string is open in which there is a backslash.
    spelt: u64,
    /// The quotes of the word before.
    quote: u64,
    /// 1 where the word before ends with the closing quote of a string in which there is a backslash.
    spelt_end: u64,
}

/// The bytes of a word that matter, outside strings but for `newline`.
#[derive(Clone, Copy)]
struct Masks {
    open: u64,
    close: u64,
    brace: u64,
    newline: u64,
    colon: u64,
    comma: u64,
    /// Colons that do not follow a quote.
    gap: u64,
    /// Colons that follow a string in which there is a backslash.
    spelt: u64,
}

/// Names that are looked for by their length; where there are more, any name is looked at.
const MAX_FILTERS: usize = 3;
/// Instead of a number of names: any name is looked at.
const ANY: usize = MAX_FILTERS + 1;
/// Instead of a number of names: none will be looked at in the rest of the record.
const CHECK: usize = MAX_FILTERS + 2;
/// Instead of a number of names: a value waits for its end.
const WAIT: usize = MAX_FILTERS + 3;

/// What a walk over a word came to.
enum Walked {
    /// The record goes on, with this stack.
    On(u64),
    /// The record is regular, and the next line begins here.
    Ended(usize),
    /// The record is not regular.
    GivenUp,
}

/// The word at `at`, with line feeds past the end of the text.
#[inline(always)]
fn word_at<'a>(text: &'a [u8], at: usize, last: &'a mut [u8; WORD_BYTES]) -> &'a [u8; WORD_BYTES] {
    if let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        return word;
    }
    let rest = text.get(at..).unwrap_or_default();
    *last = [b'\n'; WORD_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    last
}

/// Past the white space from `at` on, a line feed not counted as such.
#[inline(always)]
fn skip_space(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|byte| *byte != b'\n' && is_whitespace(*byte)) {
        at += 1;
    }
    at
}

impl Scan {
    /// Passes over the record whose root container opens at `start`. Returns where the next line begins and leaves what was
    /// found in [`found`](Self::found), or gives up.
    #[inline(always)]
    pub(super) fn record<S: Simd>(&mut self, simd: S, text: &[u8], start: usize, plan: &Plan) -> Option<usize> {
        let brace = text[start] == b'{';
        self.frames.clear();
        self.found.clear();
        self.pending = None;
        self.enter(plan, 0, start, brace);
        let mut place = Place {
            at: start + 1,
            stack: 0b10 | brace as u64,
            string: 0,
            escape: 0,
            spelt: 0,
            quote: 0,
            spelt_end: 0,
        };
        loop {
            let top = self.frames.last()?;
            let names = &plan.blocks[top.block].names;
            let count = top.left.count_ones() as usize;
            // From their opening quotes to their colons.
            let mut lengths = [0; MAX_FILTERS];
            if count <= MAX_FILTERS {
                let mut left = top.left;
                for length in lengths.iter_mut().take(count) {
                    *length = names[left.trailing_zeros() as usize].quoted.len() as u32;
                    left &= left - 1;
                }
            }
            let inside = 1 << self.frames.len();
            let masks = match count {
                _ if self.pending.is_some() => quiet::<S, WAIT>(simd, text, &mut place, inside, &lengths),
                // Once nothing is looked for, not even after the end of the top frame, only the checks are left.
                0 if self.frames.iter().all(|frame| frame.left == 0) => {
                    quiet::<S, CHECK>(simd, text, &mut place, inside, &lengths)
                }
                0 => quiet::<S, 0>(simd, text, &mut place, inside, &lengths),
                1 => quiet::<S, 1>(simd, text, &mut place, inside, &lengths),
                2 => quiet::<S, 2>(simd, text, &mut place, inside, &lengths),
                3 => quiet::<S, 3>(simd, text, &mut place, inside, &lengths),
                _ => quiet::<S, ANY>(simd, text, &mut place, inside, &lengths),
            };
            match self.walk(text, plan, place.at - WORD_BYTES, place.stack, &masks) {
                Walked::On(stack) => place.stack = stack,
                Walked::Ended(next) => return Some(next),
                Walked::GivenUp => return None,
            }
        }
    }

    /// Looks into the container that opens at `start`.
    fn enter(&mut self, plan: &Plan, block: usize, start: usize, object: bool) {
        let names = plan.blocks[block].names.len() as u32;
        let left = if object { u64::MAX.checked_shr(64 - names).unwrap_or(0) } else { 0 };
        self.frames.push(Frame { block, left, start: start as PartOffset });
    }

    /// Walks the events of a word from left to right, from the stack before it.
    fn walk(&mut self, text: &[u8], plan: &Plan, at: usize, mut stack: u64, masks: &Masks) -> Walked {
        let waits = |scan: &Self| if scan.pending.is_some() { masks.comma } else { 0 };
        let others = masks.open | masks.close | masks.colon | masks.newline;
        let mut events = others | waits(self);
        while events != 0 {
            let bit = events & events.wrapping_neg();
            events ^= bit;
            let here = at + bit.trailing_zeros() as usize;
            let brace = (masks.brace & bit != 0) as u64;
            if masks.open & bit != 0 {
                if stack >= FULL || self.pending.is_some() {
                    return Walked::GivenUp;
                }
                stack = stack << 1 | brace;
            } else if masks.close & bit != 0 {
                if stack & 1 != brace {
                    return Walked::GivenUp;
                }
                self.end_value(text, here);
                stack >>= 1;
                if stack >> self.frames.len() == 0 {
                    match self.leave(text, plan, here + 1) {
                        None => return Walked::GivenUp,
                        Some(_) if !self.frames.is_empty() => {}
                        Some(next) => return Walked::Ended(next),
                    }
                }
            } else if masks.colon & bit != 0 {
                if stack >> self.frames.len() == 1 {
                    let (gap, spelt) = (masks.gap & bit != 0, masks.spelt & bit != 0);
                    if self.pending.is_some() || !self.member(text, plan, here, gap, spelt) {
                        return Walked::GivenUp;
                    }
                    events |= waits(self) & !(bit | (bit - 1));
                }
            } else if masks.newline & bit != 0 {
                return Walked::GivenUp;
            } else {
                self.end_value(text, here);
                events &= others;
            }
        }
        Walked::On(stack)
    }

    /// The value that waits for its end, if one does, ends before `end`.
    fn end_value(&mut self, text: &[u8], end: usize) {
        if let Some((block, start)) = self.pending.take()
            && let Some((start, end)) = trim(start, end as PartOffset, |at| text[at as usize])
        {
            self.found.push(Found { block, start, end, container: false });
        }
    }

    /// The container of the top frame ends before `end`. Returns where the next value, or line, begins, or gives up where
    /// something else follows the container.
    fn leave(&mut self, text: &[u8], plan: &Plan, end: usize) -> Option<usize> {
        let Frame { block, start, .. } = self.frames.pop()?;
        let next = skip_space(text, end);
        let regular = match text.get(next) {
            None | Some(b'\n') => self.frames.is_empty(),
            Some(b',' | b'}') => !self.frames.is_empty(),
            Some(_) => false,
        };
        if plan.blocks[block].wants_value() {
            self.found.push(Found { block, start, end: end as PartOffset, container: true });
        }
        regular.then_some((next + 1).min(text.len()))
    }

    /// The colon at `colon` follows a name of the top frame's container. Returns whether it could be told what it means.
    fn member(&mut self, text: &[u8], plan: &Plan, colon: usize, gap: bool, spelt: bool) -> bool {
        let Some(top) = self.frames.last_mut() else { return false };
        let mut left = top.left;
        if left == 0 {
            return true;
        }
        let mut end = colon;
        if gap {
            while end > 0 && is_whitespace(text[end - 1]) {
                end -= 1;
            }
            if !text[..end].ends_with(b"\"") {
                return true;
            }
            // From the quote before on, and the byte before that, which might escape it.
            let from = memchr::memrchr(b'"', &text[..end - 1]).unwrap_or_default().saturating_sub(1);
            if text[from..end].contains(&b'\\') {
                return false;
            }
        } else if spelt {
            return false;
        }
        let names = &plan.blocks[top.block].names;
        let name = loop {
            if left == 0 {
                return true;
            }
            let i = left.trailing_zeros() as usize;
            if text[..end].ends_with(&names[i].quoted) {
                break i;
            }
            left &= left - 1;
        };
        // The interpreter takes what stands between two separators for a name: here that must be the name alone.
        let mut before = end - names[name].quoted.len();
        while before > 0 && is_whitespace(text[before - 1]) {
            before -= 1;
        }
        if before == 0 || !matches!(text[before - 1], b',' | b'{') {
            return false;
        }
        top.left &= !(1 << name);
        let block = names[name].block;
        let start = skip_space(text, colon + 1);
        let wanted: &Block = &plan.blocks[block];
        match text.get(start) {
            Some(b'{') => self.enter(plan, block, start, true),
            Some(b'[') if wanted.wants_value() => self.enter(plan, block, start, false),
            Some(b'[') => {}
            Some(b',' | b':' | b'}' | b']' | b'\n') | None => return false,
            Some(_) if !wanted.paths.is_empty() => self.pending = Some((block, start as PartOffset)),
            Some(_) => {}
        }
        true
    }
}

/// The bytes that are escaped: a faster equal of [`warpath_shared::index::escape::escaped`], but for backslashes.
///
/// ```text
/// text           a \ " b \ \ " \ \ \ " c      (bit 0 at the left)
/// may escape     . 1 . . 1 1 . 1 1 1 . .
/// << 1, | odd    . 1 1 1 . 1 1 1 1 1 1 1      (bits 1, 3, 5, …)
/// - may escape   . . 1 1 . . 1 . . . 1 1 *    borrows run from the start of a run on
/// ```
#[inline(always)]
fn escaped(backslash: u64, pending: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let may_escape = backslash & !*pending;
    let codes = (may_escape << 1 | ODD).wrapping_sub(may_escape) ^ ODD;
    let escaped = codes ^ (backslash | *pending);
    *pending = (codes & backslash) >> 63;
    escaped
}

/// Passes over words until one is loud. Leaves `place` behind it, but with the stack before it, and returns its masks.
///
/// `inside` is the lowest stack within the container of the top frame. `NAMES` tells what is looked for: that many names, the
/// distances from whose opening quotes to their colons are `lengths`, or [`ANY`], [`CHECK`], [`WAIT`].
#[inline(always)]
fn quiet<S: Simd, const NAMES: usize>(
    simd: S,
    text: &[u8],
    place: &mut Place,
    inside: u64,
    lengths: &[u32; MAX_FILTERS],
) -> Masks {
    let mut last = [0; WORD_BYTES];
    let mut p = *place;
    loop {
        let word = word_at(text, p.at, &mut last);
        p.at += WORD_BYTES;
        let quote = simd.equal(word, b'"') & !escaped(simd.equal(word, b'\\'), &mut p.escape);
        let string = simd.prefix_xor(quote) ^ p.string;
        p.string = ((string as i64) >> 63) as u64;
        let may_matter = simd.may_matter(word);
        // Computed where they are used.
        let colon = simd.equal(word, b':') & !string;
        let comma = simd.equal(word, b',') & !string;

        let (mut gap, mut spelt) = (0, 0);
        if NAMES != CHECK {
            let (sum, carry) = string.overflowing_add(simd.equal(word, b'\\') & string);
            let (sum, carry_in) = sum.overflowing_add(p.spelt);
            p.spelt = (carry | carry_in) as u64;
            let ends = sum & !string & quote;
            spelt = colon & (ends << 1 | p.spelt_end);
            p.spelt_end = ends >> 63;
            gap = colon & !(quote << 1 | p.quote >> 63);
        }
        let mut loud = match NAMES {
            CHECK | 0 => 0,
            ANY => colon,
            WAIT => colon | comma,
            _ => {
                let quotes = (quote as u128) << 64 | p.quote as u128;
                lengths[..NAMES].iter().fold(gap | spelt, |found, length| {
                    let begins = if *length < 64 { (quotes >> (64 - length)) as u64 } else { u64::MAX };
                    found | colon & begins
                })
            }
        };
        p.quote = quote;
        // A word without brackets that lies deeper than the frame has no names of it.
        if may_matter == 0 && p.stack >= 2 * inside {
            loud = 0;
        }
        if may_matter | loud == 0 {
            continue;
        }

        let newline = simd.equal(word, b'\n');
        let c = simd.classify(word);
        let (open, close, brace) = (c.open & !string, c.close & !string, c.brace);
        loud |= newline;
        let mut stack = p.stack;
        let mut brackets = open | close;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            let kind = (brace & bit != 0) as u64;
            if open & bit != 0 {
                loud |= (stack >= FULL) as u64;
                stack = stack << 1 | kind;
            } else {
                loud |= (stack ^ kind) & 1;
                stack >>= 1;
                loud |= (stack < inside) as u64;
            }
            brackets ^= bit;
        }
        if loud != 0 {
            *place = p;
            return Masks { open, close, brace, newline, colon, comma, gap, spelt };
        }
        p.stack = stack;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpath_shared::index::escape;

    #[test]
    fn escaped_bytes_are_those_of_the_rule() {
        let mut seed = 11u64;
        for round in 0..100_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Few backslashes, many, and runs of every length.
            let backslash = match round % 3 {
                0 => seed & seed.rotate_left(17),
                1 => seed | seed.rotate_left(23),
                _ => u64::MAX.checked_shr((seed >> 40) as u32 % 65).unwrap_or(0) << ((seed >> 50) % 64),
            };
            for pending in [0, 1] {
                let (mut got, mut want) = (pending, pending == 1);
                let bytes = escaped(backslash, &mut got) & !backslash;
                assert_eq!(bytes, escape::escaped(backslash, &mut want) & !backslash, "{backslash:b} {pending}");
                assert_eq!(got, want as u64, "{backslash:b} {pending}");
            }
        }
    }
}
