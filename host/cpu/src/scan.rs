//! Evaluation of one record in one pass, without a stored index. The pass looks for faults and follows the
//! names of a [`Plan`] while the record's words go by.
//!
//! The pass handles *regular* records only. A regular record is one container with white space around it and
//! without a fault. The parts of it that the pass reads must be JSON in its usual form. The pass gives up any
//! other record, which is then indexed, diagnosed and interpreted on its own. So the pass may give up too
//! often, but it never returns a result that the interpreter would not return.
//!
//! # Words
//! [`super::batch`] finds ahead the words that may have brackets, line feeds or colons after names. The pass
//! follows the brackets in these words. A word is *loud* if a name is found in it, if a followed container
//! ends in it, or if it has a fault. A loud word is walked event by event, and the result of the walk
//! decides. Most words are quiet.
//!
//! # Brackets
//! The kinds of open containers are a stack of bits, below a bit that marks the stack's height:
//!
//! ```text
//! text    {"a":[{"b":[          stack   1 1 0 1 0       1 is a brace, the innermost container is lowest
//!                                       ↑ height mark: 2^depth ≤ stack < 2^(depth + 1)
//! ```

use warpath_core::simd::Simd;
use warpath_shared::check::trim;
use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::{PartOffset, WORD_BYTES};

use super::batch::{BlockValue, Brackets, WordBatch, are_well, skip_space};
use super::plan::{Block, Plan};
use super::short::{Looked, Short};

/// An open container whose members or whose end are wanted. The frame at height *h* is for a container at
/// depth *h* + 1.
#[derive(Clone, Copy, Debug)]
struct Frame {
    block: usize,
    /// The names that are still to be found, one bit a name.
    left: u64,
    start: PartOffset,
}

/// The memory that a pass needs besides the record, reused from record to record.
#[derive(Default)]
pub(super) struct Scan {
    batch: WordBatch,
    walk: RecordState,
    short: Short,
    /// Set if the records of the text are short.
    is_short: bool,
}

/// The state of the pass within a record.
#[derive(Default)]
struct RecordState {
    frames: Vec<Frame>,
    /// The values found in the record, in the order of their ends.
    found: Vec<BlockValue>,
    /// A value that is not a container and whose end has not been found yet: its block and its start.
    pending: Option<(usize, PartOffset)>,
}

/// The mean length of the records that [`Short`] looks at first, in bytes.
const SHORT: usize = 1 << 10;

/// Returns whether the records of a text are short. The start of the text decides for all of it. A single
/// record has no line feed.
pub(super) fn has_short_lines(text: &[u8]) -> bool {
    let head = &text[..text.len().min(8 * SHORT)];
    let lines = || memchr::memchr_iter(b'\n', head).count();
    memchr::memchr(b'\n', &head[..head.len().min(SHORT)]).is_some() && lines() * SHORT >= head.len()
}

/// The least value of a stack that is too high: the next four brackets might push out its height mark.
const FULL: u64 = 1 << 59;

/// The effect of up to four brackets, in order, on the stack. First, the brackets close containers that were
/// open before. Then they leave new containers open.
///
/// ```text
/// brackets   ] } [ {     closes 2, of kinds 1 0: the innermost, which comes first, is lowest
///                        opens 2, of kinds 0 1: the innermost, which comes last, is lowest
/// brackets   { ]         contradict each other: they close more than there can be
/// ```
#[derive(Clone, Copy)]
struct BracketRun {
    closes: u8,
    close_kinds: u8,
    opens: u8,
    open_kinds: u8,
}

/// Steps by `kinds << 5 | 1 << count | opening`, the first bracket lowest.
static STEPS: [BracketRun; 512] = steps();

const fn steps() -> [BracketRun; 512] {
    let mut steps = [BracketRun { closes: 0, close_kinds: 0, opens: 0, open_kinds: 0 }; 512];
    let mut index = 0;
    while index < 512 {
        let (opening, kinds) = (index & 31, index >> 5);
        let mut step = steps[index];
        let mut i = 0;
        while opening >> (i + 1) != 0 {
            let kind = (kinds >> i & 1) as u8;
            if opening >> i & 1 == 1 {
                step.opens += 1;
                step.open_kinds = step.open_kinds << 1 | kind;
            } else if step.opens == 0 {
                step.close_kinds |= kind << step.closes;
                step.closes += 1;
            } else if step.open_kinds & 1 == kind {
                step.opens -= 1;
                step.open_kinds >>= 1;
            } else {
                step.closes = 63;
                break;
            }
            i += 1;
        }
        steps[index] = step;
        index += 1;
    }
    steps
}

/// The significant bytes of a word. All except `newline` are outside strings.
struct Masks {
    open: u64,
    close: u64,
    brace: u64,
    newline: u64,
    colon: u64,
    comma: u64,
    /// Colons that do not follow a quote, or that follow a string with a backslash.
    odd: u64,
}

/// The words to visit, besides those with brackets.
enum Look {
    /// No other words, because no name is looked for.
    Nothing,
    /// The words in which a name may end.
    Names(Lengths),
    /// All words, because a value waits for its end.
    All,
}

/// The lengths of the names that are looked for, without their quotes.
struct Lengths {
    lengths: [u32; 2],
    /// Set if there are more than two names, or if one is too long to be distinguished by length.
    any: bool,
}

/// The result of walking a word.
enum Walked {
    /// The record goes on, with this stack.
    On(u64),
    /// The record is regular, and the next line begins here.
    Ended(usize),
    /// The record is not regular.
    GivenUp,
}

impl Scan {
    /// Prepares for a text.
    pub(super) fn begin(&mut self, text: &[u8], plan: &Plan) {
        self.is_short = has_short_lines(text);
        self.short.begin(plan);
        self.clear(plan);
    }

    /// Forgets the batch, because another text follows, or because a line was not passed over.
    pub(super) fn clear(&mut self, plan: &Plan) {
        self.batch.clear(!plan.blocks[0].names.is_empty());
    }

    /// The values found in the last record, in the order of their ends.
    pub(super) fn found(&self) -> &[BlockValue] {
        &self.walk.found
    }

    /// Passes over the record whose root container opens at `start`. Returns the start of the next line and
    /// leaves the values in [`found`](Self::found). Returns `None` if it gives up.
    #[inline(always)]
    pub(super) fn record<S: Simd>(
        &mut self,
        simd: S,
        text: &[u8],
        start: usize,
        plan: &Plan,
    ) -> Option<usize> {
        if self.is_short {
            let Self { batch, walk, short, .. } = self;
            // One call, because it is inlined.
            let looked = loop {
                let looked = short.record::<S, false>(simd, batch, text, start, plan, &mut walk.found);
                if !matches!(looked, Looked::Beyond) || batch.begins_at(start) {
                    break looked;
                }
                batch.begin(simd, text, start);
            };
            if let Looked::Ended(next) = looked {
                return Some(next);
            }
        }
        self.scan(simd, text, start, plan)
    }

    /// [`record`](Self::record), for a record of any length.
    #[inline(always)]
    fn scan<S: Simd>(&mut self, simd: S, text: &[u8], start: usize, plan: &Plan) -> Option<usize> {
        let Self { batch, walk, .. } = self;
        let brace = text[start] == b'{';
        walk.frames.clear();
        walk.found.clear();
        walk.pending = None;
        walk.enter(plan, 0, start, brace);
        let mut word = match batch.word_of(start) {
            Some(word) => word,
            None => {
                batch.begin(simd, text, start);
                0
            }
        };
        // The first word of a record is searched only after the root's opening bracket.
        let mut first = (word, u64::MAX << (start - batch.place(word)) << 1);
        let mut stack = 0b10 | brace as u64;
        let mut look = walk.look(plan);
        let mut named = look.words(simd, batch);
        let mut unusual = batch.unusual();
        let mut inside = 1u64 << walk.frames.len();
        loop {
            // A name can match only at the depth of the top frame's members. A word without brackets may be
            // skipped at greater depths.
            let here = match &look {
                Look::All => word,
                Look::Names(_) if stack < 2 * inside => after(named | batch.busy(), word),
                _ => after(unusual | batch.busy(), word),
            };
            if here >= batch.words {
                batch.advance(simd, text);
                if batch.words == 0 {
                    return None;
                }
                (word, first.0) = (0, usize::MAX);
                (named, unusual) = (look.words(simd, batch), batch.unusual());
                continue;
            }
            word = here + 1;
            let keep = if here == first.0 { first.1 } else { u64::MAX };
            if unusual >> here & 1 == 1
                && (batch.may_be_control(here) | batch.colons(here).1) & keep != 0
                && !are_well(batch, text, here, keep)
            {
                return None;
            }
            let (mut loud, mut next, mut lowest) = (0, stack, stack);
            let Brackets { mut open, mut close, brace, mut newline } = batch.few_brackets(here);
            (open, close, newline) = (open & keep, close & keep, newline & keep);
            loud |= newline;
            if batch.busy() >> here & 1 == 1 {
                // A bracket and its closing bracket immediately after it change nothing.
                let pairs = open & close >> 1 & !(brace ^ brace >> 1);
                let (opens, closes) = (open & !pairs, close & !(pairs << 1));
                let brackets = opens | closes;
                let mut left = brackets.count_ones();
                let (mut opening, mut kinds) = (simd.gather(opens, brackets), simd.gather(brace, brackets));
                loop {
                    let step = STEPS[(kinds << 5 & 0x1e0 | 1 << left.min(4) | opening & 15) as usize & 511];
                    let kept = next >> (step.closes & 63);
                    lowest = lowest.min(kept);
                    loud |= (next ^ step.close_kinds as u64) & ((1 << (step.closes & 63)) - 1);
                    loud |= (kept < inside) as u64 | kept & !(FULL - 1);
                    next = kept << (step.opens & 63) | step.open_kinds as u64;
                    if left <= 4 {
                        break;
                    }
                    (left, opening, kinds) = (left - 4, opening >> 4, kinds >> 4);
                }
            }
            match &look {
                Look::All => loud = 1,
                Look::Names(lengths) if lowest < 2 * inside => {
                    let (_, odd) = batch.colons(here);
                    let colons = lengths.ends(batch, here);
                    loud |= walk.names_at(text, plan, batch.place(here), colons & keep);
                    loud |= walk.odd_names_at(text, plan, batch.place(here), odd & keep);
                }
                // This word has no end of a name of the top frame's container.
                Look::Nothing | Look::Names(_) => {}
            }
            if loud == 0 {
                stack = next;
                continue;
            }
            let outside = !batch.string(here) & keep;
            let (colon, odd) = batch.colons(here);
            let comma = batch.commas(simd, text, here) & outside;
            let masks = Masks { open, close, brace, newline, colon: colon & keep, comma, odd };
            match walk.word(text, plan, batch.place(here), stack, &masks) {
                Walked::On(after) => stack = after,
                Walked::Ended(next) => return Some(next),
                Walked::GivenUp => return None,
            }
            look = walk.look(plan);
            named = look.words(simd, batch);
            inside = 1 << walk.frames.len();
        }
    }
}

/// The first of some words from `word` on, or 64 and more if there is none.
#[inline(always)]
fn after(words: u64, word: usize) -> usize {
    word + words.checked_shr(word as u32).unwrap_or(0).trailing_zeros() as usize
}

impl Look {
    /// The words in which a name that is looked for may end, or which have an odd colon.
    #[inline(always)]
    fn words<S: Simd>(&self, simd: S, batch: &WordBatch) -> u64 {
        match self {
            Self::Names(names) if names.any => batch.words_with_colons(),
            Self::Names(names) => batch.words_with_ends(simd, names.lengths),
            Self::Nothing | Self::All => 0,
        }
    }
}

impl Lengths {
    /// The colons of a word before which a name that is looked for may end.
    #[inline(always)]
    fn ends(&self, batch: &WordBatch, word: usize) -> u64 {
        if self.any { batch.colons(word).0 } else { batch.ends(word, self.lengths) }
    }
}

impl RecordState {
    /// Decides which words must be visited in the current state.
    fn look(&self, plan: &Plan) -> Look {
        let Some(top) = self.frames.last() else { return Look::Nothing };
        let names = &plan.blocks[top.block].names;
        let count = top.left.count_ones() as usize;
        if self.pending.is_some() {
            return Look::All;
        }
        if count == 0 {
            return Look::Nothing;
        }
        let mut left = top.left;
        let [one, two] = [(); 2].map(|()| {
            // A single name fills both entries.
            let name = &names[left.trailing_zeros() as usize].quoted;
            left &= if left.is_power_of_two() { left } else { left - 1 };
            name.len() as u32
        });
        Look::Names(Lengths { lengths: [one, two], any: count > 2 || one.max(two) >= WORD_BYTES as u32 })
    }

    /// Returns 1 if a name that is looked for may end before one of the colons of the word at `at`, and else
    /// 0.
    #[inline(always)]
    fn names_at(&self, text: &[u8], plan: &Plan, at: usize, mut colons: u64) -> u64 {
        let Some(top) = self.frames.last() else { return 0 };
        let names = &plan.blocks[top.block].names;
        while colons != 0 {
            let end = at + colons.trailing_zeros() as usize;
            let mut left = top.left;
            while left != 0 {
                if names[left.trailing_zeros() as usize].may_end_at(text, end) {
                    return 1;
                }
                left &= left - 1;
            }
            colons &= colons - 1;
        }
        0
    }

    /// Returns 1 if a name may end before one of the odd colons of a word. An odd colon follows white space,
    /// or a name with an escape.
    #[inline(always)]
    fn odd_names_at(&self, text: &[u8], plan: &Plan, at: usize, mut colons: u64) -> u64 {
        while colons != 0 {
            let colon = at + colons.trailing_zeros() as usize;
            colons &= colons - 1;
            let space = text[..colon].iter().rev().take_while(|byte| is_whitespace(**byte)).count();
            let end = colon - space;
            if !text[..end].ends_with(b"\"") {
                continue;
            }
            // The walk decides about names with escapes.
            let before = text[..end - 1].iter().rev().find(|byte| matches!(byte, b'"' | b'\\'));
            if before != Some(&b'"') || self.names_at(text, plan, end, 1) != 0 {
                return 1;
            }
        }
        0
    }

    /// Pushes a frame for the container that opens at `start`.
    fn enter(&mut self, plan: &Plan, block: usize, start: usize, object: bool) {
        let left = if object { plan.all_names(block) } else { 0 };
        self.frames.push(Frame { block, left, start: start as PartOffset });
    }

    /// Walks the events of a word from left to right. `stack` is the stack before the word.
    fn word(&mut self, text: &[u8], plan: &Plan, at: usize, mut stack: u64, masks: &Masks) -> Walked {
        let mut passed = 0;
        loop {
            // If no name is looked for at this depth, only brackets matter. Commas matter only if a value
            // waits for its end.
            let members = if stack >> self.frames.len() == 1 { self.members(masks) } else { 0 };
            let events = (masks.open | masks.close | masks.newline | members) & !passed;
            if events == 0 {
                return Walked::On(stack);
            }
            let bit = events & events.wrapping_neg();
            passed = bit | (bit - 1);
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
                if self.pending.is_some() || !self.member(text, plan, here, masks.odd & bit != 0) {
                    return Walked::GivenUp;
                }
            } else if masks.newline & bit != 0 {
                return Walked::GivenUp;
            } else {
                self.end_value(text, here);
            }
        }
    }

    /// The colons and commas that matter at the depth of the top frame's members.
    fn members(&self, masks: &Masks) -> u64 {
        let waits = self.pending.is_some();
        let looks = self.frames.last().is_some_and(|top| top.left != 0);
        (if waits { masks.comma } else { 0 }) | (if waits || looks { masks.colon } else { 0 })
    }

    /// Ends the value that waits for its end, if there is one, before `end`.
    fn end_value(&mut self, text: &[u8], end: usize) {
        if let Some((block, start)) = self.pending.take()
            && let Some((start, end)) = trim(start, end as PartOffset, |at| text[at as usize])
        {
            self.found.push(BlockValue { block, start, end, container: false });
        }
    }

    /// Pops the top frame, whose container ends before `end`. Returns the start of the next value or line, or
    /// gives up if something else follows the container.
    fn leave(&mut self, text: &[u8], plan: &Plan, end: usize) -> Option<usize> {
        let Frame { block, start, .. } = self.frames.pop()?;
        let next = skip_space(text, end);
        let regular = match text.get(next) {
            None | Some(b'\n') => self.frames.is_empty(),
            Some(b',' | b'}') => !self.frames.is_empty(),
            Some(_) => false,
        };
        if plan.blocks[block].wants_value() {
            self.found.push(BlockValue { block, start, end: end as PartOffset, container: true });
        }
        regular.then_some((next + 1).min(text.len()))
    }

    /// Handles the colon at `colon`, which follows a name of the top frame's container. Returns false if the
    /// member cannot be decided here.
    fn member(&mut self, text: &[u8], plan: &Plan, colon: usize, odd: bool) -> bool {
        let Some(top) = self.frames.last_mut() else { return false };
        let mut left = top.left;
        if left == 0 {
            return true;
        }
        let mut end = colon;
        if odd {
            while end > 0 && is_whitespace(text[end - 1]) {
                end -= 1;
            }
            if !text[..end].ends_with(b"\"") {
                return true;
            }
            // Search from the previous quote on, and include the byte before it, which might escape the
            // quote.
            let from = memchr::memrchr(b'"', &text[..end - 1]).unwrap_or_default().saturating_sub(1);
            if text[from..end].contains(&b'\\') {
                return false;
            }
        }
        let names = &plan.blocks[top.block].names;
        let name = loop {
            if left == 0 {
                return true;
            }
            let i = left.trailing_zeros() as usize;
            if names[i].ends_at(text, end) {
                break i;
            }
            left &= left - 1;
        };
        // The interpreter takes all text between two separators as a name. The pass accepts only the name
        // itself.
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
            Some(_) if wanted.wants_scalar() => self.pending = Some((block, start as PartOffset)),
            Some(_) => {}
        }
        true
    }
}
