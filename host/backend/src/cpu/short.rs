//! Records that lie within one batch, as log lines do, decided by their shapes.
//!
//! [`super::scan`] keeps a stack while the words of a record go by, and walks each word in which something
//! happens. In a line of 84 bytes something happens in every word, and no branch on that is predicted well. So
//! this module sweeps over the words of a batch once, whatever the lengths of its lines. The sweep gathers the
//! line feeds, the brackets, and the colons before which a name may end. A record is then a stretch of each of
//! these lists. Its brackets, in order, are the *shape* of the record:
//!
//! ```text
//! text     {"time":"…","user":{"id":7,"tags":["a","b"]},"ms":3}
//! shape    {                  {             [        ]}       }      6 brackets: opens 1 1 1 0 0 0
//!                                                                                braces 1 1 0 0 1 1
//! ```
//!
//! Lines of one program have few shapes, because their members come in the same order. The depths and the
//! ends of containers are found once for a shape, and looked up for each record that has it. The idea is that
//! of Mison's pattern trees: Li, Katsipoulakis, Chandramouli, Goldstein, Kossmann, "Mison: A Fast JSON Parser
//! for Data Analytics", VLDB 2017. Here a shape only says what the brackets of this record say anyway. The
//! positions of names are not guessed. So a record of a new shape costs more, and is never wrong.
//!
//! A record that this module does not decide goes to [`super::scan`].

use warpath_core::simd::Simd;
use warpath_core::simd::outline::WORDS;
use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::{PartOffset, WORD_BYTES};

use super::batch::Batch;
use super::plan::Plan;
use super::scan::{Found, skip_space};

/// The most brackets of a record, which have one bit each.
const MOST: usize = 64;

/// The most containers that may be open at a time. The scan gives up deeper records.
const DEEPEST: usize = 58;

/// The number of shapes that are kept.
const KEPT: usize = 8;

/// The brackets of a record, in order, and what follows from them.
#[derive(Clone, Copy)]
struct Shape {
    brackets: Brackets,
    /// Set if the brackets are those of one container, balanced and matching in kind.
    regular: bool,
    /// For each number of brackets, the depth after so many.
    depth: [u8; MOST + 1],
    /// For each bracket that opens, the number of the bracket that closes its container.
    close: [u8; MOST],
}

/// Some brackets, the first lowest.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Brackets {
    opens: u64,
    braces: u64,
    count: u32,
}

impl Shape {
    const NONE: Self = Self {
        brackets: Brackets { opens: 0, braces: 0, count: 0 },
        regular: false,
        depth: [0; MOST + 1],
        close: [0; MOST],
    };

    fn new(brackets: Brackets) -> Self {
        let mut shape = Self { brackets, regular: true, ..Self::NONE };
        let (mut open, mut depth) = ([0; DEEPEST + 1], 0);
        for at in 0..(brackets.count as usize).min(MOST) {
            if brackets.opens >> at & 1 == 1 {
                open[depth] = at;
                depth += 1;
            } else if depth == 0 {
                shape.regular = false;
            } else {
                depth -= 1;
                shape.close[open[depth]] = at as u8;
                // A bracket and its closing bracket are of the same kind.
                shape.regular &= (brackets.braces >> at ^ brackets.braces >> open[depth]) & 1 == 0;
                // The root's closing bracket is the last one.
                shape.regular &= depth > 0 || at + 1 == brackets.count as usize;
            }
            shape.depth[at + 1] = depth as u8;
            if depth > DEEPEST || !shape.regular {
                return Self { regular: false, ..shape };
            }
        }
        shape.regular &= depth == 0 && brackets.count > 0;
        shape
    }
}

/// The shapes of the last records.
struct Shapes {
    kept: [Shape; KEPT],
    /// The shape of the last record.
    last: usize,
    /// The shape that is given up next.
    oldest: usize,
}

impl Shapes {
    #[inline(always)]
    fn of(&mut self, brackets: Brackets) -> &Shape {
        if self.kept[self.last % KEPT].brackets != brackets {
            self.find(brackets);
        }
        &self.kept[self.last % KEPT]
    }

    fn find(&mut self, brackets: Brackets) {
        self.last = match self.kept.iter().position(|shape| shape.brackets == brackets) {
            Some(at) => at,
            None => {
                self.kept[self.oldest] = Shape::new(brackets);
                let at = self.oldest;
                self.oldest = (at + 1) % KEPT;
                at
            }
        };
    }
}

/// An open container whose members are looked for.
#[derive(Clone, Copy)]
struct Frame {
    block: usize,
    /// The names that are still to be found, one bit a name.
    left: u64,
    /// The depth of its members.
    depth: u8,
    /// The number of its closing bracket.
    close: u8,
}

/// Returns whether a byte may be part of a number or a literal.
#[inline(always)]
fn is_of_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// The result of looking at a record.
pub(super) enum Looked {
    /// The record is regular, and the next line begins here.
    Ended(usize),
    /// The record does not end in the batch.
    Beyond,
    /// The record has to be scanned.
    Undecided,
}

/// The colons that names may end before.
#[derive(Clone, Copy)]
enum Names {
    /// No name is looked for.
    None,
    /// Names of these lengths, with their quotes.
    Lengths([u32; 2]),
    /// Names of more than two lengths, or long ones.
    Any,
}

/// What the words of a batch have, in the order of the text. Offsets are from the start of the batch.
struct Sweep {
    /// The offset of the batch in the text.
    at: usize,
    /// The line feeds.
    lines: [u16; BYTES + 1],
    line_count: usize,
    /// The colons before which a name may end.
    colons: [u16; BYTES + 1],
    colon_count: usize,
    /// The brackets of each word.
    brackets: [u64; WORDS],
    /// The number of brackets before each word.
    before: [u16; WORDS],
    /// For each bracket, whether it opens: one bit each.
    opens: [u64; WORDS + 2],
    /// For each bracket, whether it is a brace: one bit each.
    braces: [u64; WORDS + 2],
}

/// The bytes of a batch.
const BYTES: usize = WORDS * WORD_BYTES;

impl Sweep {
    /// Sweeps over a batch. The lists end before the first line feed in a string.
    #[inline(always)]
    fn fill<S: Simd>(&mut self, simd: S, batch: &Batch, names: Names) {
        self.at = batch.place(0);
        let (mut lines, mut colons, mut total) = (0, 0, 0);
        (self.opens[0], self.braces[0]) = (0, 0);
        for word in 0..batch.words.min(WORDS) {
            let masks = batch.brackets(word);
            let here = masks.open | masks.close;
            self.brackets[word] = here;
            self.before[word] = total as u16;
            let (slot, shift) = (total / 64 % WORDS, total % 64);
            for (bits, list) in [(masks.open, &mut self.opens), (masks.brace, &mut self.braces)] {
                let bits = simd.gather(bits, here);
                list[slot] |= bits << shift;
                list[slot + 1] = bits >> 1 >> (63 - shift);
            }
            total += here.count_ones() as usize;
            let ends = match names {
                Names::None => 0,
                Names::Lengths(lengths) => batch.ends(word, lengths),
                Names::Any => batch.colons(word).0,
            };
            colons = push(&mut self.colons, colons, word, ends);
            let bad = masks.newline & batch.string(word);
            let before_bad = (bad & bad.wrapping_neg()).wrapping_sub(1);
            lines = push(&mut self.lines, lines, word, masks.newline & before_bad);
            if bad != 0 {
                break;
            }
        }
        (self.line_count, self.colon_count) = (lines, colons);
    }

    /// The number of brackets before an offset.
    #[inline(always)]
    fn rank(&self, at: usize) -> usize {
        let (word, bit) = (at / WORD_BYTES % WORDS, at % WORD_BYTES);
        self.before[word] as usize + (self.brackets[word] & ((1 << bit) - 1)).count_ones() as usize
    }

    /// Returns whether there is a bracket at an offset.
    #[inline(always)]
    fn is_bracket(&self, at: usize) -> bool {
        self.brackets[at / WORD_BYTES % WORDS] >> (at % WORD_BYTES) & 1 == 1
    }

    /// The brackets from one number on.
    #[inline(always)]
    fn brackets(&self, from: usize, count: usize) -> Brackets {
        let (slot, shift) = (from / 64 % WORDS, from % 64);
        let mask = u64::MAX.checked_shr(64 - count as u32).unwrap_or(0);
        let cut = |list: &[u64; WORDS + 2]| {
            // Shifts by 64 are not possible, therefore two shifts.
            (list[slot] >> shift | list[slot + 1] << 1 << (63 - shift)) & mask
        };
        Brackets { opens: cut(&self.opens), braces: cut(&self.braces), count: count as u32 }
    }

    /// The offset of the bracket with this number, in or after the word of an offset before it.
    #[inline(always)]
    fn bracket<S: Simd>(&self, simd: S, number: usize, before: usize) -> usize {
        let mut word = before / WORD_BYTES % WORDS;
        while word + 1 < WORDS && self.before[word + 1] as usize <= number {
            word += 1;
        }
        let bit = 1u64.checked_shl((number - self.before[word] as usize) as u32).unwrap_or(0);
        word * WORD_BYTES + simd.scatter(bit, self.brackets[word]).trailing_zeros() as usize
    }
}

/// Appends the positions of a word's bits to a list, which has room for all positions of a batch and one more.
/// Most words have few, so the first two are written without a branch.
#[inline(always)]
fn push(list: &mut [u16; BYTES + 1], mut len: usize, word: usize, mut bits: u64) -> usize {
    let at = (word * WORD_BYTES) as u16;
    let count = bits.count_ones() as usize;
    let end = len + count;
    while let Some([one, two]) = list.get_mut(len..len + 2) {
        *one = at + bits.trailing_zeros() as u16;
        bits &= bits.wrapping_sub(1);
        *two = at + bits.trailing_zeros() as u16;
        bits &= bits.wrapping_sub(1);
        len += 2;
        if len >= end {
            break;
        }
    }
    end
}

/// The memory of this module, reused from record to record.
pub(super) struct Short {
    names: Names,
    shapes: Shapes,
    sweep: Box<Sweep>,
    /// The line feed after the last record, and the colon after it, by their places in the lists.
    line: usize,
    colon: usize,
    frames: Vec<Frame>,
}

impl Default for Short {
    fn default() -> Self {
        Self {
            names: Names::None,
            shapes: Shapes { kept: [Shape::NONE; KEPT], last: 0, oldest: 0 },
            sweep: Box::new(Sweep {
                at: 0,
                lines: [0; BYTES + 1],
                line_count: 0,
                colons: [0; BYTES + 1],
                colon_count: 0,
                brackets: [0; WORDS],
                before: [0; WORDS],
                opens: [0; WORDS + 2],
                braces: [0; WORDS + 2],
            }),
            line: 0,
            colon: 0,
            frames: Vec::new(),
        }
    }
}

impl Short {
    /// Prepares for the records of a program.
    pub(super) fn begin(&mut self, plan: &Plan) {
        let mut lengths = plan.blocks.iter().flat_map(|block| &block.names).map(|name| name.quoted.len() as u32);
        self.names = match lengths.next() {
            None => Names::None,
            Some(one) => {
                let two = lengths.clone().find(|length| *length != one).unwrap_or(one);
                let longest = one.max(two).max(lengths.clone().max().unwrap_or(0));
                if longest < WORD_BYTES as u32 && lengths.all(|length| length == one || length == two) {
                    Names::Lengths([one, two])
                } else {
                    Names::Any
                }
            }
        };
        self.clear();
    }

    /// Forgets the batch.
    pub(super) fn clear(&mut self) {
        (self.sweep.line_count, self.line) = (0, 0);
    }

    /// Sweeps over a batch that has been filled.
    #[inline(always)]
    pub(super) fn sweep<S: Simd>(&mut self, simd: S, batch: &Batch) {
        self.sweep.fill(simd, batch, self.names);
        (self.line, self.colon) = (0, 0);
    }

    /// Looks at the record whose root container opens at `start`, in the batch that was swept over. The values
    /// that it has go to `found`.
    #[inline(always)]
    pub(super) fn record<S: Simd>(
        &mut self,
        simd: S,
        batch: &Batch,
        text: &[u8],
        start: usize,
        plan: &Plan,
        found: &mut Vec<Found>,
    ) -> Looked {
        let Self { sweep, shapes, frames, .. } = self;
        // The scan may have filled the batch anew.
        if batch.place(0) != sweep.at || start < sweep.at {
            return Looked::Beyond;
        }
        let from = start - sweep.at;
        let lines = &sweep.lines[..sweep.line_count.min(BYTES)];
        while lines.get(self.line).is_some_and(|end| (*end as usize) < from) {
            self.line += 1;
        }
        let Some(end) = lines.get(self.line).map(|end| *end as usize) else { return Looked::Beyond };
        // Between the root's closing bracket and the line feed, there is white space alone.
        let mut last = end - 1;
        while !sweep.is_bracket(last) {
            if last == from || !is_whitespace(text[sweep.at + last]) {
                return Looked::Undecided;
            }
            last -= 1;
        }
        let first = sweep.rank(from);
        let count = sweep.rank(last) + 1 - first;
        if count > MOST {
            return Looked::Undecided;
        }
        let shape = shapes.of(sweep.brackets(first, count));
        if !shape.regular || batch.has_odd_colons(from, end) {
            return Looked::Undecided;
        }
        found.clear();
        let colons = &sweep.colons[..sweep.colon_count.min(BYTES)];
        while colons.get(self.colon).is_some_and(|colon| (*colon as usize) < from) {
            self.colon += 1;
        }
        let record = Record { text, batch, plan, sweep, shape, first };
        if shape.brackets.braces & 1 == 1 && !record.walk(simd, colons, &mut self.colon, end, frames, found) {
            return Looked::Undecided;
        }
        if plan.blocks[0].wants_value() {
            let (start, end) = (start as PartOffset, (sweep.at + last + 1) as PartOffset);
            found.push(Found { block: 0, start, end, container: true });
        }
        Looked::Ended(sweep.at + end + 1)
    }
}

/// A record, while it is looked at.
struct Record<'a> {
    text: &'a [u8],
    batch: &'a Batch,
    plan: &'a Plan,
    sweep: &'a Sweep,
    shape: &'a Shape,
    /// The number of its first bracket in the batch.
    first: usize,
}

impl Record<'_> {
    /// Finds the values of the plan's names. Returns false if the record has to be scanned. `colons` are those
    /// of the batch, `next` is the first of the record, and `end` is where the record ends.
    #[inline(always)]
    fn walk<S: Simd>(
        &self,
        simd: S,
        colons: &[u16],
        next: &mut usize,
        end: usize,
        frames: &mut Vec<Frame>,
        found: &mut Vec<Found>,
    ) -> bool {
        let Self { text, plan, sweep, shape, .. } = *self;
        frames.clear();
        let mut top = Frame { block: 0, left: plan.all_names(0), depth: 1, close: shape.close[0] };
        while let Some(colon) = colons.get(*next).map(|colon| *colon as usize) {
            if colon >= end {
                break;
            }
            *next += 1;
            let rank = sweep.rank(colon) - self.first;
            while rank > top.close as usize {
                match frames.pop() {
                    Some(frame) => top = frame,
                    None => return false,
                }
            }
            if shape.depth[rank % (MOST + 1)] != top.depth {
                continue;
            }
            let (names, colon) = (&plan.blocks[top.block].names, sweep.at + colon);
            let mut left = top.left;
            let name = loop {
                if left == 0 {
                    break None;
                }
                let name = left.trailing_zeros() as usize;
                if names[name].ends_at(text, colon) {
                    break Some(name);
                }
                left &= left - 1;
            };
            let Some(name) = name else { continue };
            let mut before = colon - names[name].quoted.len();
            while before > 0 && is_whitespace(text[before - 1]) {
                before -= 1;
            }
            if before == 0 || !matches!(text[before - 1], b',' | b'{') {
                return false;
            }
            top.left &= !(1 << name);
            let block = names[name].block;
            let wanted = &plan.blocks[block];
            let start = skip_space(text, colon + 1);
            let from = start as PartOffset;
            match text.get(start) {
                Some(open @ (b'{' | b'[')) if *open == b'{' || wanted.wants_value() => {
                    let close = shape.close[rank % MOST];
                    let at = sweep.at + sweep.bracket(simd, self.first + close as usize, start - sweep.at);
                    if !matches!(text.get(skip_space(text, at + 1)), Some(b',' | b'}')) {
                        return false;
                    }
                    if wanted.wants_value() {
                        found.push(Found { block, start: from, end: at as PartOffset + 1, container: true });
                    }
                    if *open == b'{' && !wanted.names.is_empty() {
                        frames.push(top);
                        let depth = shape.depth[rank % MOST + 1];
                        top = Frame { block, left: plan.all_names(block), depth, close };
                    }
                }
                Some(b'[') => {}
                Some(b',' | b':' | b'}' | b']' | b'\n') | None => return false,
                Some(_) if wanted.wants_scalar() => {
                    let Some(end) = self.scalar_end(start) else { return false };
                    found.push(Found { block, start: from, end: end as PartOffset, container: false });
                }
                Some(_) => {}
            }
        }
        true
    }

    /// The offset after the string, the number or the literal that begins at `start`. `None` if a comma or a
    /// closing brace does not follow it, perhaps after white space.
    #[inline(always)]
    fn scalar_end(&self, start: usize) -> Option<usize> {
        let text = self.text;
        let end = if text[start] == b'"' {
            self.batch.quote_from(start + 1)? + 1
        } else {
            let rest = &text[start..];
            start + rest.iter().position(|byte| !is_of_scalar(*byte))?
        };
        matches!(text.get(skip_space(text, end)), Some(b',' | b'}')).then_some(end)
    }
}
