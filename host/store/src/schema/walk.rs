//! The walk over text that fills a tree.
//!
//! Records are held to the grammar of RFC 8259, except what is inside strings: UTF-8, escapes and control
//! characters are not checked here. The walk decides only that a record is suspect; the caller finds out why.
//!
//! A member's name is compared first with the name that followed the member before it, the last time that
//! this member was seen. Records of one source rarely change the order of their members, so most names take
//! one comparison, without a hash.

use warpath_core::json::{Malformed, Tokens, decode, token_end};
use warpath_core::simd::{Isa, Simd, Work};
use warpath_core::{decimal, number};

use super::json_type::JsonType;
use super::node::{Excerpt, Node, NodeId, Position, ROOT, prefix_of};
use super::tree::SchemaTree;

/// The least number of bytes of lines whose tokens are found at once. Text and tokens stay in a first-level
/// cache.
const BLOCK_BYTES: usize = 8 << 10;

/// The most containers in each other.
const MOST_DEPTH: usize = warpath_shared::units::MAX_DEPTH;

/// The parts of a text that a walk reads.
#[derive(Clone, Copy, Debug)]
pub struct WalkOptions<'a> {
    /// The number of the text, for [`Position::text`].
    pub text: u64,
    /// The most records that are read.
    pub most_records: u64,
    /// True if records after a suspect one are read. The tree then has no value of a suspect record.
    /// Otherwise the walk ends at a suspect record, and the tree is of no use any more.
    pub skips: bool,
    /// The numbers of lines that are not read, in ascending order.
    pub without: &'a [u64],
}

/// The result of a walk over a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// The lines that were read.
    pub lines: u64,
    /// The records that were added.
    pub records: u64,
    /// The lines that are not JSON, each with its number and its first and last offset.
    pub suspects: Vec<(u64, usize, usize)>,
}

/// The memory of a walk, reused from text to text.
#[derive(Default)]
pub struct Walker {
    tokens: Tokens,
    state: State,
}

#[derive(Default)]
struct State {
    frames: Vec<Frame>,
    decoded: Vec<u8>,
    name: Vec<u8>,
}

/// An open container.
#[derive(Clone, Copy)]
struct Frame {
    node: NodeId,
    is_object: bool,
    /// The number of an object; for an array, the number of elements so far.
    number: u64,
    /// The last member of an object, or [`ROOT`]; the elements' node of an array.
    last: NodeId,
}

impl Walker {
    /// Adds the records of a text to a tree. A text consists of whole lines; the last may lack its newline.
    pub fn walk(&mut self, tree: &mut SchemaTree, text: &[u8], options: WalkOptions<'_>) -> Walked {
        Isa::best().run(Walk { walker: self, tree, text, options })
    }
}

struct Walk<'a> {
    walker: &'a mut Walker,
    tree: &'a mut SchemaTree,
    text: &'a [u8],
    options: WalkOptions<'a>,
}

/// The end, newline included, of the line that contains the byte at `at`; the length of the text if `at` is
/// after it.
fn line_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |len| at + len + 1)
}

impl Work for Walk<'_> {
    type Output = Walked;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Walked {
        let Self { walker: Walker { tokens, state }, tree, text, options } = self;
        let mut records = Records { text, tree, state, options, walked: Walked::default(), ended: false };
        let mut at = 0;
        while at < text.len() && !records.ended {
            let end = line_end(text, at + BLOCK_BYTES);
            if tokens.find(simd, text, at, end) {
                records.lines(simd, tokens.starts());
            } else {
                while at < end && !records.ended {
                    let next = line_end(text, at);
                    if tokens.find(simd, text, at, next) {
                        records.lines(simd, tokens.starts());
                    } else {
                        records.unclosed(at, next);
                    }
                    at = next;
                }
            }
            at = end;
        }
        records.walked
    }
}

/// The records of a text.
struct Records<'a> {
    text: &'a [u8],
    tree: &'a mut SchemaTree,
    state: &'a mut State,
    options: WalkOptions<'a>,
    walked: Walked,
    ended: bool,
}

impl Records<'_> {
    /// Notes a line that has an unclosed string.
    fn unclosed(&mut self, begin: usize, end: usize) {
        let line = self.walked.lines;
        if self.options.without.binary_search(&line).is_err() {
            self.suspect(begin, end);
        }
        self.walked.lines += 1;
    }

    #[cold]
    fn suspect(&mut self, begin: usize, end: usize) {
        let start = memchr::memrchr(b'\n', &self.text[..begin]).map_or(0, |at| at + 1);
        self.walked.suspects.push((self.walked.lines, start, end));
        self.ended |= !self.options.skips;
    }

    /// Adds the records of some lines, whose strings are all closed.
    #[inline(always)]
    fn lines<S: Simd>(&mut self, simd: S, tokens: &[u32]) {
        let mut at = 0;
        let mut begin = tokens[0] as usize;
        // A last line of white space has no token.
        self.walked.lines += u64::from(begin == self.text.len());
        while begin < self.text.len() && !self.ended {
            // `begin` is the first token of a line.
            let is_blank = self.text[begin] == b'\n';
            let is_left_out = !self.options.without.is_empty()
                && self.options.without.binary_search(&self.walked.lines).is_ok();
            let mut done = None;
            if !is_blank && !is_left_out {
                if self.walked.records == self.options.most_records {
                    self.ended = true;
                    return;
                }
                if !self.options.skips || self.record::<S, false>(simd, tokens, at).is_some() {
                    done = self.record::<S, true>(simd, tokens, at);
                }
                self.walked.records += u64::from(done.is_some());
                if self.tree.is_overfull() {
                    self.tree.settle();
                }
            }
            let first = begin;
            match done {
                Some(next) => at = next,
                None => {
                    while self.text.get(tokens[at] as usize).is_some_and(|byte| *byte != b'\n') {
                        at += 1;
                    }
                    if !is_blank && !is_left_out {
                        self.suspect(first, tokens[at] as usize);
                    }
                }
            }
            // The line feed, or the end of the text.
            self.walked.lines += 1;
            let end = tokens[at] as usize;
            if end >= self.text.len() || self.text[end] != b'\n' {
                return;
            }
            at += 1;
            begin = tokens[at] as usize;
            if begin >= self.text.len() || at + 1 < tokens.len() && tokens[at + 1] as usize == begin {
                // The ends after the last token are all equal.
                self.walked.lines += u64::from(begin == self.text.len() && end + 1 < begin);
                return;
            }
        }
    }

    /// Reads the record whose first token is at `at`. With `ADD`, its values are added to the tree. Returns
    /// the token after the record, which is a line feed or the end. `None` if the record is not JSON.
    #[inline(always)]
    fn record<S: Simd, const ADD: bool>(&mut self, simd: S, tokens: &[u32], at: usize) -> Option<usize> {
        let Self { text, tree, state, options, walked, .. } = self;
        let State { frames, decoded, name: spelt } = &mut **state;
        let tree: &mut SchemaTree = tree;
        let text: &[u8] = text;
        frames.clear();
        let (mut t, mut node) = (at, ROOT);
        'value: loop {
            let begin = tokens[t] as usize;
            let next = tokens[t + 1] as usize;
            let byte = *text.get(begin)?;
            let position = Position { text: options.text, line: walked.lines, offset: begin as u64 };
            match byte {
                b'{' => {
                    if ADD {
                        tree.nodes[node as usize].count(JsonType::Object, position, Excerpt::default);
                    }
                    t += 1;
                    if frames.len() == MOST_DEPTH {
                        return None;
                    }
                    if text.get(next) != Some(&b'}') {
                        if ADD {
                            tree.objects += 1;
                        }
                        frames.push(Frame { node, is_object: true, number: tree.objects, last: ROOT });
                        (t, node) = member::<S, ADD>(simd, tree, text, tokens, t, frames.last_mut()?, spelt)?;
                        continue 'value;
                    }
                    t += 1;
                }
                b'[' => {
                    if ADD {
                        tree.nodes[node as usize].count(JsonType::Array, position, Excerpt::default);
                    }
                    t += 1;
                    if frames.len() == MOST_DEPTH {
                        return None;
                    }
                    if text.get(next) != Some(&b']') {
                        let last = if ADD { tree.elements(node) } else { ROOT };
                        frames.push(Frame { node, is_object: false, number: 1, last });
                        node = last;
                        continue 'value;
                    }
                    if ADD {
                        tree.nodes[node as usize].add_length(0);
                    }
                    t += 1;
                }
                _ => {
                    let bounds = (begin, token_end(text, next));
                    scalar::<S, ADD>(simd, tree, text, bounds, (node, position), decoded)?;
                    t += 1;
                }
            }
            loop {
                let Some(frame) = frames.last_mut() else {
                    return match text.get(tokens[t] as usize) {
                        None | Some(b'\n') => Some(t),
                        Some(_) => None,
                    };
                };
                match (*text.get(tokens[t] as usize)?, frame.is_object) {
                    (b',', true) => {
                        (t, node) = member::<S, ADD>(simd, tree, text, tokens, t + 1, frame, spelt)?;
                        continue 'value;
                    }
                    (b',', false) => {
                        frame.number += 1;
                        (t, node) = (t + 1, frame.last);
                        continue 'value;
                    }
                    (b'}', true) => {}
                    (b']', false) => {
                        if ADD {
                            tree.nodes[frame.node as usize].add_length(frame.number);
                        }
                    }
                    _ => return None,
                }
                frames.pop();
                t += 1;
            }
        }
    }
}

/// Reads a string, a number or a word, which begins and ends at `begin` and `end`.
#[inline(always)]
fn scalar<S: Simd, const ADD: bool>(
    simd: S,
    tree: &mut SchemaTree,
    text: &[u8],
    (begin, end): (usize, usize),
    (node, position): (NodeId, Position),
    decoded: &mut Vec<u8>,
) -> Option<()> {
    let token = &text[begin..end];
    match text[begin] {
        b'"' => {
            if text[end - 1] != b'"' {
                return None;
            }
            if ADD {
                let node = &mut tree.nodes[node as usize];
                node.count(JsonType::String, position, || Excerpt::of(token));
                if has_backslash(simd, text, begin + 1, end - 1) {
                    decoded.clear();
                    decode(&text[begin + 1..end - 1], Malformed::Order, decoded);
                    node.add_string(decoded, prefix_of(decoded));
                } else {
                    node.add_string(&text[begin + 1..end - 1], prefix_at(text, begin + 1, end - 1));
                }
            }
        }
        b'-' | b'0'..=b'9' => {
            let number = Number::read(text, begin, end)?;
            if ADD {
                add_number(&mut tree.nodes[node as usize], number, token, position);
            }
        }
        _ => {
            let kind = match token {
                b"null" => JsonType::Null,
                b"true" | b"false" => JsonType::Bool,
                _ => return None,
            };
            if ADD {
                let node = &mut tree.nodes[node as usize];
                node.count(kind, position, || Excerpt::of(token));
                node.trues += u64::from(token == b"true");
            }
        }
    }
    Some(())
}

/// Reads the name at token `t` and the colon. Returns the token of the value, and the node of the member.
#[inline(always)]
fn member<S: Simd, const ADD: bool>(
    simd: S,
    tree: &mut SchemaTree,
    text: &[u8],
    tokens: &[u32],
    t: usize,
    frame: &mut Frame,
    spelt: &mut Vec<u8>,
) -> Option<(usize, NodeId)> {
    let begin = tokens[t] as usize + 1;
    let colon = tokens[t + 1] as usize;
    if text.get(begin - 1) != Some(&b'"') || text.get(colon) != Some(&b':') {
        return None;
    }
    if !ADD {
        return Some((t + 2, ROOT));
    }
    let end = token_end(text, colon) - 1;
    let guess = match frame.last {
        ROOT => tree.nodes[frame.node as usize].first_member,
        last => tree.nodes[last as usize].follow,
    };
    let node = match &tree.nodes[guess as usize] {
        node if node.is_named(text, begin, end - begin) => guess,
        _ => {
            let node = if has_backslash(simd, text, begin, end) {
                spelt.clear();
                decode(&text[begin..end], Malformed::Order, spelt);
                tree.member(frame.node, spelt)
            } else {
                tree.member(frame.node, &text[begin..end])
            };
            match frame.last {
                ROOT => tree.nodes[frame.node as usize].first_member = node,
                last => tree.nodes[last as usize].follow = node,
            }
            node
        }
    };
    let member = &mut tree.nodes[node as usize];
    member.repeated += u64::from(member.seen_in == frame.number);
    member.seen_in = frame.number;
    frame.last = node;
    Some((t + 2, node))
}

/// True if a part of the text has a backslash.
#[inline(always)]
fn has_backslash<S: Simd>(simd: S, text: &[u8], begin: usize, end: usize) -> bool {
    let mut at = begin;
    while at < end {
        let Some(word) = text[at..].first_chunk() else {
            return memchr::memchr(b'\\', &text[at..end]).is_some();
        };
        let left = end - at;
        let mask = if left < 64 { (1 << left) - 1 } else { u64::MAX };
        if simd.equal(word, b'\\') & mask != 0 {
            return true;
        }
        at += 64;
    }
    false
}

/// [`prefix_of`] a part of the text.
#[inline(always)]
fn prefix_at(text: &[u8], begin: usize, end: usize) -> u64 {
    match text[begin..].first_chunk::<8>() {
        Some(bytes) => {
            let word = u64::from_be_bytes(*bytes);
            let len = end - begin;
            if len >= 8 {
                word
            } else if len == 0 {
                0
            } else {
                word & (u64::MAX << (64 - 8 * len))
            }
        }
        None => prefix_of(&text[begin..end]),
    }
}

#[inline(always)]
fn add_number(node: &mut Node, number: Number, text: &[u8], position: Position) {
    match number {
        Number::Integer(value) => {
            node.count(JsonType::Int64, position, || Excerpt::of(text));
            node.add_integer(value);
        }
        Number::Big(value) => {
            node.count(JsonType::BigInt, position, || Excerpt::of(text));
            node.add_big(text, value);
        }
        Number::Float(value) => {
            node.count(JsonType::Float64, position, || Excerpt::of(text));
            node.add_float(text, value);
        }
    }
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i64),
    /// An integer beyond 64 bits, with the nearest double.
    Big(f64),
    Float(f64),
}

impl Number {
    /// Reads a number; `None` if it is not one of JSON.
    #[inline(always)]
    fn read(text: &[u8], begin: usize, end: usize) -> Option<Self> {
        if let Some(value) = decimal::short_integer(text, begin, end) {
            return Some(Self::Integer(value));
        }
        Self::read_any(&text[begin..end])
    }

    #[cold]
    fn read_any(text: &[u8]) -> Option<Self> {
        let nearest = number::nearest(text)?;
        if text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            return Some(Self::Float(nearest));
        }
        Some(number::int64(text).map_or(Self::Big(nearest), Self::Integer))
    }
}
