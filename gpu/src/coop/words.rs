//! 32 consecutive words, one for each lane of a warp: 2 KiB of text that the lanes read together.
//!
//! A lane needs facts about the lanes to its left. They travel in ballots, one bit per lane, and not in a
//! scan of summaries. A pending escape is the carry of an addition. An open string is the parity of some
//! bits. Both take a few instructions on 32 bits that all lanes have. Only depth is counted, by one scan of
//! 32 bits, which also counts newlines.
//!
//! *Tried and lost*: a scan of [`LineSummary`]. It has five steps in a warp, and each step takes ten shuffles
//! and about fifty other instructions. In the first version of this module it took half of the index's time.
//!
//! A warp that knows the state at the left of its words reads them by [`Words::resolve`]. A warp that does
//! not know this state describes their effect on it by [`Words::summary`].

use cuda_std::warp::{warp_reduce_add, warp_shuffle_idx, warp_shuffle_up, warp_vote_ballot};
use warpath_shared::index::class::Classes;
use warpath_shared::index::escape::escaped;
use warpath_shared::index::line::{LineState, LineSummary, WordsSummary};
use warpath_shared::index::loose::{Edge, Strings, closing_escaped};
use warpath_shared::index::string::{prefix_xor, strings};
use warpath_shared::units::{Depth, LineIx};
use warpath_shared::view::View;

use super::LANES;
use super::warp::ALL;

/// The bits of the lanes below this one.
#[inline(always)]
const fn below(lane: u32) -> u32 {
    (1 << lane) - 1
}

/// Bit *i* and all bits above it, where *i* is the highest set bit of `bits`, which is not zero.
#[inline(always)]
const fn from_highest(bits: u32) -> u32 {
    !0 << (31 - bits.leading_zeros())
}

#[inline(always)]
fn lanes_that(holds: bool) -> u32 {
    // SAFETY: every function of this module that reaches this call requires that all 32 lanes call it
    // together. Within them, only branches on ballots surround the call, and a ballot is the same in all
    // lanes.
    unsafe { warp_vote_ballot(ALL, holds) }
}

/// The bits after the last newline of a word; all bits if the word has no newline.
#[inline(always)]
const fn after_last(newline: u64) -> u64 {
    if newline == 0 { !0 } else { (!0u64 << 1) << (63 - newline.leading_zeros()) }
}

/// All ones or all zeros.
#[inline(always)]
const fn mask_of(bit: u32) -> u64 {
    (bit as u64).wrapping_neg()
}

/// A warp's words, as far as they can be read when only the escape at their left is known.
#[derive(Clone, Copy)]
pub struct Words {
    lane: u32,
    classes: Classes,
    quotes: Quotes,
    /// The lanes whose word has a newline.
    newline_lanes: u32,
}

/// The quotes of a warp's words, given the escape at their left.
#[derive(Clone, Copy)]
struct Quotes {
    /// The quotes of this lane's word that no backslash escapes.
    unescaped: u64,
    /// The newlines of this lane's word that a backslash escapes.
    escaped_newline: u64,
    /// The parity of `unescaped` up to and including each byte. In a word with newlines, the count begins
    /// after the last newline.
    parity: u64,
    /// The lanes whose `parity` is odd at the end of the word.
    odd_lanes: u32,
    /// Set if an escape is pending after the last lane.
    escape: bool,
    /// Set if every byte of the warp is a backslash.
    all_backslashes: bool,
    /// Set if the first byte of the warp that is not a backslash is a quote.
    leading_quote: bool,
}

impl Quotes {
    /// Reads the quotes; `carry` is 1 if an escape is pending at the left of the warp.
    ///
    /// ```text
    /// lane             0 1 2 3 4 5
    /// ends odd run     . 1 . . 1 .      a carry is generated
    /// all backslashes  . . 1 . . .      … and passed on: a word has an even number of bytes
    /// pending at left  c . 1 1 . 1
    /// ```
    #[inline(always)]
    fn read(c: &Classes, carry: u32, lane: u32) -> Self {
        let mut unescaped = c.quote;
        let mut escaped_newline = 0;
        let (mut escape, mut all_backslashes) = (false, false);
        let mut first = 1;
        if lanes_that(c.backslash != 0) != 0 {
            let passing = lanes_that(c.backslash == !0);
            let generating = lanes_that(c.backslash.leading_ones() & 1 == 1) & !passing;
            let pending = |lanes: u32| {
                let deciding = !passing & lanes;
                if deciding == 0 { carry } else { generating >> (31 - deciding.leading_zeros()) & 1 }
            };
            let mut at_left = pending(below(lane)) == 1;
            let escaped = escaped(c.backslash, &mut at_left);
            unescaped &= !escaped;
            escaped_newline = c.newline & escaped;
            (escape, all_backslashes) = (pending(!0) == 1, passing == !0);
            first = !passing & passing.wrapping_add(1);
        } else if lane == 0 {
            let escaped = carry as u64;
            unescaped &= !escaped;
            escaped_newline = c.newline & escaped;
        }
        let lead = c.backslash.trailing_ones();
        let leading_quote = lanes_that(lead < 64 && c.quote >> (lead & 63) & 1 == 1) & first != 0;
        let parity = prefix_xor(unescaped & after_last(c.newline));
        let odd_lanes = lanes_that(parity >> 63 == 1);
        Self { unescaped, escaped_newline, parity, odd_lanes, escape, all_backslashes, leading_quote }
    }
}

/// A warp's words, read from a known state.
#[derive(Clone, Copy)]
pub struct Resolved {
    /// The word of the string bitmap for this lane's word.
    pub string: u64,
    /// The newlines of this lane's word at which a string is open or an escape is pending.
    pub faults: u64,
    /// The depth before this lane's word.
    pub depth: Depth,
    /// The newlines in the lanes before it.
    pub before: LineIx,
    /// The newlines in all lanes. The same in every lane.
    pub newlines: LineIx,
    /// The state after the last lane. The same in every lane.
    pub right: LineState,
}

/// The state at the left of a warp's words, as far as loose lines depend on it
/// ([`warpath_shared::index::loose`]).
#[derive(Clone, Copy)]
pub struct StringsAtLeft {
    /// In lane 31, the edge of the last word before these. Meaningless in other lanes.
    edge: Edge,
    /// 1 if a string with an escape reaches into the words, else 0. The same in every lane.
    open_escaped: u32,
}

impl StringsAtLeft {
    /// The state at the start of a tile, from the 64 bytes before the tile. A string that begins further
    /// back, and that reaches into the tile or ends at it, counts as a string with an escape.
    ///
    /// ```text
    /// ..."text":"a long te|xt"          the last quote, and no backslash from the byte before it on: none
    /// ..."text":"so \"call|ed\""        a backslash
    /// ```
    ///
    /// # Safety
    /// All 32 lanes call it together, with the same arguments.
    #[inline(always)]
    pub unsafe fn of_tile(text: View<'_, u8>, start: usize, state: LineState, lane: u32) -> Self {
        // No branch: at the start of the text, the lanes read the text's own first bytes, and the results are
        // discarded.
        let before = |bytes: u32| text.get(start.saturating_sub(bytes as usize));
        let closes = (before(1) == b'"') & !state.string;
        // The string's bytes, counted backwards from the tile without a closing quote: this lane reads the
        // byte at distance `near` and the one 32 bytes further.
        let (near, far) = (lane + 1 + closes as u32, lane + 33 + closes as u32);
        let in_lanes = |byte: u8| {
            lanes_that(before(near) == byte) as u64 | (lanes_that(before(far) == byte) as u64) << 32
        };
        let (quotes, backslashes) = (in_lanes(b'"'), in_lanes(b'\\'));
        // All bits up to and including the lowest set bit of `quotes`; all bits if none is set.
        let string = quotes ^ quotes.wrapping_sub(1);
        let escaped = (backslashes & (string | string << 1) != 0) | (quotes == 0);
        let edge = Edge::behind(closes, escaped, before(1), before(2));
        let begins = start > 0;
        Self {
            edge: if begins { edge } else { Edge::START },
            open_escaped: (begins & state.string & escaped) as u32,
        }
    }
}

/// The number of opening brackets minus the number of closing brackets among the bytes of `among`.
#[inline(always)]
fn net(c: &Classes, among: u64) -> Depth {
    (c.open & among).count_ones() as Depth - (c.close & among).count_ones() as Depth
}

/// Two counts between −2¹⁵ and 2¹⁵ in one word, so that one addition adds both.
#[inline(always)]
const fn pack(high: i32, low: i32) -> u32 {
    (high.wrapping_shl(16)).wrapping_add(low) as u32
}

#[inline(always)]
const fn unpack(packed: u32) -> (i32, i32) {
    let low = packed as i16 as i32;
    ((packed as i32).wrapping_sub(low) >> 16, low)
}

impl Words {
    /// Reads the quotes. `escape` is set if an escape is pending at the left of the words.
    ///
    /// # Safety
    /// All 32 lanes call it together, each with the classes of its word.
    #[inline(always)]
    pub unsafe fn new(classes: Classes, escape: bool, lane: u32) -> Self {
        let quotes = Quotes::read(&classes, escape as u32, lane);
        Self { lane, classes, quotes, newline_lanes: lanes_that(classes.newline != 0) }
    }

    /// The lanes whose words have a backslash.
    ///
    /// # Safety
    /// All 32 lanes call it together.
    #[inline(always)]
    pub unsafe fn with_backslashes(&self) -> u32 {
        lanes_that(self.classes.backslash != 0)
    }

    /// 1 if a string is open before this lane's word, else 0. `at_left` (0 or 1) is the same fact for the
    /// warp's first word.
    #[inline(always)]
    fn string_before(&self, at_left: u32) -> u32 {
        let newlines = self.newline_lanes & below(self.lane);
        let lanes = self.quotes.odd_lanes & below(self.lane);
        if newlines == 0 {
            (lanes.count_ones() & 1) ^ at_left
        } else {
            (lanes & from_highest(newlines)).count_ones() & 1
        }
    }

    /// The effect of the words on the state at their left, if no escape was pending there. The same in every
    /// lane.
    ///
    /// # Safety
    /// All 32 lanes call it together.
    #[inline(always)]
    pub unsafe fn summary(&self) -> LineSummary {
        let (c, newlines) = (&self.classes, self.newline_lanes);
        // Only the lane of the last newline and the lanes after it count.
        let counted = if newlines == 0 { !0 } else { from_highest(newlines) };
        let string = if c.newline != 0 {
            self.quotes.parity
        } else {
            self.quotes.parity ^ mask_of(self.string_before(0))
        };
        let after = after_last(c.newline);
        let (outside, inside) = (net(c, after & !string), net(c, after & string));
        let depths = if counted >> self.lane & 1 == 1 { pack(outside, inside) } else { 0 };
        // SAFETY: the caller's contract: all 32 lanes call this function together. The branches above depend
        // on the lane but contain no collective, and they have ended here.
        let (depth_outside, depth_inside) = unpack(unsafe { warp_reduce_add(ALL, depths) });
        let mut count = 0;
        if newlines != 0 {
            // SAFETY: `newlines` is a ballot, so all lanes take the same branch. By the caller's contract,
            // they are together.
            count = unsafe { warp_reduce_add(ALL, c.newline.count_ones()) };
        }
        LineSummary::of_words(WordsSummary {
            newlines: count,
            odd_quotes: (self.quotes.odd_lanes & counted).count_ones() & 1 == 1,
            escape: self.quotes.escape,
            all_backslashes: self.quotes.all_backslashes,
            leading_quote: self.quotes.leading_quote,
            depth_outside,
            depth_inside: if newlines == 0 { depth_inside } else { depth_outside },
        })
    }

    /// The bits at which lines are loose, and true if a byte of the word is [odd](Strings::odd). `string` is
    /// this lane's word of the string bitmap. `left` is the state at the left of the words, which becomes the
    /// state at their right.
    ///
    /// # Safety
    /// All 32 lanes call it together.
    #[inline(always)]
    pub unsafe fn loose(&self, string: u64, left: &mut StringsAtLeft) -> (u64, bool) {
        let c = &self.classes;
        let closing = self.quotes.unescaped & !string;
        let mut closed_escaped = 0;
        // A vote of all lanes, so that the branch is the same in all of them for the assembler too. Without
        // the vote, the assembler takes the branch for a divergent one and emits the loop around it twice.
        if lanes_that(c.backslash != 0 || left.open_escaped != 0) != 0 {
            // The lanes into which an escape is carried, as in the addition of two numbers with one bit per
            // lane.
            let (_, over) = closing_escaped(string, c.backslash & string, 0);
            let (generate, pass) = (lanes_that(over), lanes_that(over || string == !0));
            let (sum, over) = generate.overflowing_add(pass);
            let (sum, over_left) = sum.overflowing_add(left.open_escaped);
            let carried = (sum ^ generate ^ pass) >> self.lane & 1;
            left.open_escaped = (over | over_left) as u32;
            (closed_escaped, _) = closing_escaped(string, c.backslash & string, carried as u64);
        }
        let strings = Strings {
            opening: self.quotes.unescaped & string,
            closing_escaped: closed_escaped & closing,
            closing,
            before: c.separator | c.open,
            behind: c.separator | c.close | c.newline,
            colon: c.separator & c.brace & !string,
            open: c.open,
            close: c.close,
            newline: c.newline,
        };
        // A rotation of the warp by one lane. Lane 31 sends the edge of the words before these, and keeps the
        // edge of these words for the next.
        let edge = strings.edge();
        let sent = if self.lane == LANES - 1 { left.edge } else { edge };
        // SAFETY: the caller's contract: all 32 lanes call this function together. The branches above are on
        // ballots, which are the same in all lanes, so all lanes are together again here.
        let (at_left, _) = unsafe { warp_shuffle_idx(ALL, sent.0, (self.lane + LANES - 1) % LANES, LANES) };
        left.edge = edge;
        let odd = strings.odd(Edge(at_left));
        (strings.loose(Edge(at_left)), odd != 0)
    }

    /// Reads the words from the state at their left. The escape of `left` is the one that [`new`](Self::new)
    /// was given.
    ///
    /// # Safety
    /// All 32 lanes call it together, with the same `left`.
    #[inline(always)]
    pub unsafe fn resolve(&self, left: LineState) -> Resolved {
        let c = &self.classes;
        let before = self.string_before(left.string as u32);
        let (mut string, mut faults) = (self.quotes.parity ^ mask_of(before), self.quotes.escaped_newline);
        if c.newline != 0 {
            let mut open = before == 1;
            let found = strings(self.quotes.unescaped, c.newline, &mut open, prefix_xor);
            string = found.string;
            faults |= found.unclosed;
        }
        let own = pack(c.newline.count_ones() as i32, net(c, after_last(c.newline) & !string));
        let mut sum = own;
        let mut delta = 1;
        while delta < LANES {
            // SAFETY: the caller's contract: all 32 lanes call this function together. The loop runs five
            // rounds in each lane, and no branch around it depends on the lane.
            let (left, there) = unsafe { warp_shuffle_up(ALL, sum, delta, LANES) };
            if there {
                sum = sum.wrapping_add(left);
            }
            delta *= 2;
        }
        let excluding = sum.wrapping_sub(own);
        // SAFETY: the caller's contract: all 32 lanes call this function together. The closure is called
        // outside of branches, or in the branch on `newline_lanes`, which is the same in all lanes.
        let from_lane = |value, lane| unsafe { warp_shuffle_idx(ALL, value, lane, LANES) }.0;
        let all = from_lane(sum, LANES - 1);
        let (newlines_before, newlines) = (unpack(excluding).0, unpack(all).0);
        let mut depth = left.depth + unpack(excluding).1;
        let mut right = LineState {
            escape: self.quotes.escape,
            string: (self.quotes.odd_lanes.count_ones() & 1 == 1) ^ left.string,
            depth: left.depth + unpack(all).1,
        };
        if self.newline_lanes != 0 {
            // The depth counts from the last lane with a newline. That lane's own count covers the bytes
            // after the newline.
            let earlier = self.newline_lanes & below(self.lane);
            let from = if earlier == 0 { 0 } else { 31 - earlier.leading_zeros() };
            let forgotten = from_lane(excluding, from);
            if earlier != 0 {
                depth = unpack(excluding.wrapping_sub(forgotten)).1;
            }
            let forgotten = from_lane(excluding, 31 - self.newline_lanes.leading_zeros());
            right.depth = unpack(all.wrapping_sub(forgotten)).1;
            right.string = (self.quotes.odd_lanes & from_highest(self.newline_lanes)).count_ones() & 1 == 1;
        }
        let (before, newlines) = (newlines_before as LineIx, newlines as LineIx);
        Resolved { string, faults, depth, before, newlines, right }
    }
}
