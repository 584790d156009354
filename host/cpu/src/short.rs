//! Records that lie within one batch, as log lines do, decided by their shapes.
//!
//! [`super::scan`] keeps a stack while the words of a record go by, and walks each word in which something
//! happens. In a line of 84 bytes something happens in every word. So this module does not walk: it gathers
//! the brackets of a record from the masks of the words. The brackets, in order, are the *shape* of the
//! record:
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
//! Then the colons go by before which a name may end, until all names are found. Most are found early.
//!
//! A record that this module does not decide goes to [`super::scan`].

use warpath_core::simd::Simd;
use warpath_core::simd::outline::WORDS;
use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::{PartOffset, WORD_BYTES};

use super::batch::{BlockValue, WordBatch, are_well, skip_space};
use super::plan::Plan;
use super::shape::{Brackets, MOST, Shape, Shapes};

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

/// The brackets of a record, in the words of its batch.
struct Gathered {
    /// The brackets of each word.
    here: [u64; WORDS],
    /// The number of brackets before each word.
    before: [u8; WORDS],
    /// The last word, and its bits up to the line feed.
    last: (usize, u64),
}

/// The memory of this module, reused from record to record.
pub(super) struct Short {
    names: Names,
    shapes: Shapes,
    gathered: Gathered,
    frames: Vec<Frame>,
    /// The values of names at any depth, each after the number of the bracket that opens its container.
    values: Vec<(u8, BlockValue)>,
}

impl Default for Short {
    fn default() -> Self {
        Self {
            names: Names::None,
            shapes: Shapes::default(),
            gathered: Gathered { here: [0; WORDS], before: [0; WORDS], last: (0, 0) },
            frames: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl Short {
    /// Prepares for the records of a program.
    pub(super) fn begin(&mut self, plan: &Plan) {
        let mut lengths =
            plan.blocks.iter().flat_map(|block| &block.names).map(|name| name.quoted.len() as u32);
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
    }

    /// Looks at the record whose root container opens at `start`, in the batch. The values that it has go to
    /// `found`. With `ANYWHERE`, the names of the plan are names at any depth ([`Plan::anywhere`]), and the
    /// tokens of the record must be in the order of JSON.
    #[inline(always)]
    pub(super) fn record<S: Simd, const ANYWHERE: bool>(
        &mut self,
        simd: S,
        batch: &WordBatch,
        text: &[u8],
        start: usize,
        plan: &Plan,
        found: &mut Vec<BlockValue>,
    ) -> Looked {
        let Self { names, shapes, gathered, frames, values } = self;
        let Some(mut word) = batch.word_of(start) else { return Looked::Beyond };
        let first = (word, u64::MAX << (start - batch.place(word)));
        let mut keep = first.1;
        let mut brackets = Brackets::default();
        let (mut last, mut control) = (start, 0);
        let next = loop {
            let masks = batch.brackets(word);
            let end = masks.newline & keep;
            // The bits up to the line feed, or all.
            keep &= end ^ end.wrapping_sub(1);
            let here = (masks.open | masks.close) & keep;
            control |= batch.may_be_control(word) & keep;
            gathered.here[word] = here;
            gathered.before[word] = brackets.count as u8;
            if here != 0 {
                let count = brackets.count & 63;
                brackets.opens |= simd.gather(masks.open, here) << count;
                brackets.braces |= simd.gather(masks.brace, here) << count;
                brackets.count += here.count_ones();
                if brackets.count > MOST as u32 {
                    return Looked::Undecided;
                }
                last = batch.place(word) + (63 - here.leading_zeros()) as usize;
            }
            if end != 0 {
                let line_feed = end & end.wrapping_neg();
                if batch.string(word) & line_feed != 0 {
                    return Looked::Undecided;
                }
                gathered.last = (word, keep);
                break batch.place(word) + line_feed.trailing_zeros() as usize + 1;
            }
            word += 1;
            keep = u64::MAX;
            if word >= batch.words {
                return Looked::Beyond;
            }
        };
        // Most batches have no odd colon, and most records no byte below 0x20.
        if control != 0 || batch.has_odd_colons() {
            let kept = |word| match word {
                _ if word == gathered.last.0 => gathered.last.1,
                _ if word == first.0 => first.1,
                _ => u64::MAX,
            };
            let is_well = |word| {
                let keep = kept(word);
                batch.colons(word).1 & keep == 0 && (control == 0 || are_well(batch, text, word, keep))
            };
            if !(first.0..=gathered.last.0).all(is_well) {
                return Looked::Undecided;
            }
        }
        // Between the root's closing bracket and the line feed, there is white space alone.
        if last + 2 != next && !text[last + 1..next].iter().all(|byte| is_whitespace(*byte)) {
            return Looked::Undecided;
        }
        let shape = shapes.of(brackets);
        if !shape.regular {
            return Looked::Undecided;
        }
        found.clear();
        let record = Record { text, batch, plan, shape, gathered };
        let colons = Colons::new(batch, gathered, *names, first);
        if ANYWHERE {
            if !record.walk_anywhere(simd, colons, values) {
                return Looked::Undecided;
            }
            found.extend(values.iter().map(|(_, value)| *value));
            return Looked::Ended(next);
        }
        if shape.brackets.braces & 1 == 1 && !record.walk(simd, colons, frames, found) {
            return Looked::Undecided;
        }
        if plan.blocks[0].wants_value() {
            let (start, end) = (start as PartOffset, last as PartOffset + 1);
            found.push(BlockValue { block: 0, start, end, container: true });
        }
        Looked::Ended(next)
    }
}

/// The colons of a record before which a name may end. An item is the offset of a colon in the text, and the
/// number of brackets of the record before it.
struct Colons<'a> {
    batch: &'a WordBatch,
    gathered: &'a Gathered,
    names: Names,
    word: usize,
    /// The colons that are left in the word.
    ends: u64,
}

impl<'a> Colons<'a> {
    /// The colons of a record, of whose first word some bits are kept.
    #[inline(always)]
    fn new(batch: &'a WordBatch, gathered: &'a Gathered, names: Names, first: (usize, u64)) -> Self {
        let mut colons = Self { batch, gathered, names, word: first.0, ends: 0 };
        colons.ends = colons.ends() & first.1;
        colons
    }

    /// The colons of the word.
    #[inline(always)]
    fn ends(&self) -> u64 {
        let (last, keep) = self.gathered.last;
        let keep = if self.word == last { keep } else { u64::MAX };
        keep & match self.names {
            Names::None => 0,
            Names::Lengths(lengths) => self.batch.ends(self.word, lengths),
            Names::Any => self.batch.colons(self.word).0,
        }
    }
}

impl Iterator for Colons<'_> {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        while self.ends == 0 {
            if self.word >= self.gathered.last.0 {
                return None;
            }
            self.word += 1;
            self.ends = self.ends();
        }
        let bit = self.ends & self.ends.wrapping_neg();
        self.ends ^= bit;
        let word = self.word % WORDS;
        let inside = (self.gathered.here[word] & (bit - 1)).count_ones() as usize;
        let colon = self.batch.place(self.word) + bit.trailing_zeros() as usize;
        Some((colon, self.gathered.before[word] as usize + inside))
    }
}

/// A record, while it is looked at.
struct Record<'a> {
    text: &'a [u8],
    batch: &'a WordBatch,
    plan: &'a Plan,
    shape: &'a Shape,
    gathered: &'a Gathered,
}

impl Record<'_> {
    /// Finds the values of the plan's names. Returns false if the record has to be scanned.
    #[inline(always)]
    fn walk<S: Simd>(
        &self,
        simd: S,
        colons: Colons<'_>,
        frames: &mut Vec<Frame>,
        found: &mut Vec<BlockValue>,
    ) -> bool {
        let Self { text, plan, shape, .. } = *self;
        frames.clear();
        let mut top = Frame { block: 0, left: plan.all_names(0), depth: 1, close: shape.close[0] };
        for (colon, rank) in colons {
            while rank > top.close as usize {
                match frames.pop() {
                    Some(frame) => top = frame,
                    None => return false,
                }
            }
            if shape.depth[rank % (MOST + 1)] != top.depth {
                continue;
            }
            // The scan has the same check of a name. One inlined function for both took 0.3 to 1.5 % more
            // time, on log lines of 84 and 242 bytes, events of 464 bytes and tweets.
            let names = &plan.blocks[top.block].names;
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
                    let at = self.bracket(simd, close as usize);
                    if !matches!(text.get(skip_space(text, at + 1)), Some(b',' | b'}')) {
                        return false;
                    }
                    if wanted.wants_value() {
                        found.push(BlockValue {
                            block,
                            start: from,
                            end: at as PartOffset + 1,
                            container: true,
                        });
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
                    found.push(BlockValue { block, start: from, end: end as PartOffset, container: false });
                }
                Some(_) => {}
            }
            // Most names come early, and most colons after them.
            if top.left == 0 && frames.iter().all(|frame| frame.left == 0) {
                break;
            }
        }
        true
    }

    /// Finds the values of the plan's names at any depth, in the order of their containers. A container has
    /// one value for a name. Returns false if the record has to be evaluated by its tree.
    #[inline(always)]
    fn walk_anywhere<S: Simd>(
        &self,
        simd: S,
        colons: Colons<'_>,
        values: &mut Vec<(u8, BlockValue)>,
    ) -> bool {
        let Self { text, plan, shape, .. } = *self;
        values.clear();
        for (colon, rank) in colons {
            let Some(name) = plan.blocks[0].names.iter().find(|name| name.ends_at(text, colon)) else {
                continue;
            };
            let container = shape.inside[rank % (MOST + 1)];
            if values.iter().any(|(other, value)| *other == container && value.block == name.block) {
                continue;
            }
            let start = skip_space(text, colon + 1);
            let is_container = matches!(text.get(start), Some(b'{' | b'['));
            let end = match text.get(start) {
                Some(b'{' | b'[') => Some(self.bracket(simd, shape.close[rank % MOST] as usize) + 1),
                Some(_) => self.scalar_end(start),
                None => None,
            };
            let Some(end) = end else { return false };
            let (start, end) = (start as PartOffset, end as PartOffset);
            let value = BlockValue { block: name.block, start, end, container: is_container };
            let after = values.iter().rposition(|(other, _)| *other <= container);
            values.insert(after.map_or(0, |before| before + 1), (container, value));
        }
        true
    }

    /// The offset of the bracket with this number in the record. The search begins at the end, where most
    /// containers are closed.
    #[inline(always)]
    fn bracket<S: Simd>(&self, simd: S, number: usize) -> usize {
        let Gathered { here, before, last } = self.gathered;
        let mut word = last.0;
        while before[word % WORDS] as usize > number {
            word -= 1;
        }
        let inside = number - before[word % WORDS] as usize;
        self.batch.place(word) + simd.scatter(1 << inside, here[word % WORDS]).trailing_zeros() as usize
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
