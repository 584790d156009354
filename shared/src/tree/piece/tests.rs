//! Lines that are cut anywhere are what they are when they are not.

use std::vec::Vec;

use super::super::outline::{FAN_OUT, GROUP_LEVELS, STRETCH_WORDS, StretchSum, TapeWord};
use super::super::token::TokenCarry;
use super::*;
use crate::check::diagnose;
use crate::index::Monoid;
use crate::index::class::{Classes, is_whitespace};
use crate::index::line::{LineState, index_word};
use crate::index::string::prefix_xor;
use crate::units::{Depth, MAX_DEPTH, STRETCH_BYTES};

/// An outline in memory.
struct InMemory {
    words: Vec<TapeWord>,
    before: Vec<StretchSum>,
    least: [Vec<Depth>; GROUP_LEVELS + 1],
}

impl InMemory {
    fn of(text: &[u8]) -> Self {
        let mut bytes = text.to_vec();
        bytes.resize((text.len() / STRETCH_BYTES + 1) * STRETCH_BYTES, b' ');
        let (mut state, mut carry) = (LineState::default(), TokenCarry::default());
        let mut words: Vec<TapeWord> = Vec::new();
        for word in bytes.as_chunks::<WORD_BYTES>().0 {
            let indexed = index_word(&Classes::of(word), &mut state, prefix_xor);
            let bits = |is: fn(u8) -> bool| (0..64).fold(0, |bits, i| bits | (is(word[i]) as u64) << i);
            let space = bits(is_whitespace);
            words.push(TapeWord::of(&indexed, bits(|byte| b"{}:".contains(&byte)), space, carry));
            carry = TokenCarry::behind(&indexed, space);
        }
        let mut before = std::vec![StretchSum::default()];
        let mut stretches = Vec::new();
        for (s, stretch) in words.chunks_mut(STRETCH_WORDS).enumerate() {
            let mut sum = StretchSum::default();
            let mut least = 0;
            for (w, word) in stretch.iter_mut().enumerate() {
                (word.nodes, word.depth) = (sum.nodes, sum.depth);
                least = least.min(sum.depth + word.least());
                let last = (64 - word.start.leading_zeros()) * (word.start != 0) as u32;
                let at = ((s * STRETCH_WORDS + w) * WORD_BYTES) as u32;
                sum = sum.combine(StretchSum {
                    nodes: word.node.count_ones(),
                    depth: word.net(),
                    last: if last == 0 { 0 } else { at + last },
                });
            }
            stretches.push(before[s].depth + least);
            before.push(before[s].combine(sum));
        }
        let group = |of: &[Depth]| -> Vec<Depth> {
            of.chunks(FAN_OUT).map(|group| *group.iter().min().unwrap()).collect()
        };
        let first = group(&stretches);
        let second = group(&first);
        Self { words, before, least: [stretches, first, second] }
    }
}

impl Outline for InMemory {
    fn words(&self) -> usize {
        self.words.len()
    }
    fn word(&self, word: usize) -> TapeWord {
        self.words[word]
    }
    fn before(&self, stretch: usize) -> StretchSum {
        self.before[stretch]
    }
    fn least(&self, level: usize, group: usize) -> Depth {
        self.least[level][group]
    }
}

/// Nodes, and who has written each field: none is written twice.
#[derive(Default)]
struct Nodes {
    nodes: Vec<TapeNode>,
    written: Vec<u32>,
    by: Vec<[usize; 4]>,
    piece: usize,
    /// Lines that may write what they like, of their own nodes.
    lenient: bool,
}

impl Store for &mut Nodes {
    fn read(&self, at: TapeIx) -> TapeNode {
        self.nodes[at as usize]
    }
    fn write(&mut self, at: TapeIx, node: TapeNode, which: u32) {
        let at = at as usize;
        let (mut words, new) = (self.nodes[at].to_words(), node.to_words());
        for i in (0..4).filter(|i| which >> i & 1 == 1) {
            let again = self.written[at] >> i & 1 == 1;
            assert!(self.lenient || !again || self.by[at][i] == self.piece, "field {i} of node {at} twice");
            words[i] = new[i];
            self.by[at][i] = self.piece;
        }
        self.written[at] |= which;
        self.nodes[at] = TapeNode::from_words(words);
    }
}

/// The whole tape.
#[derive(Default)]
struct Whole(Vec<TapeNode>);

impl Tape for Whole {
    fn node(&self, at: TapeIx) -> TapeNode {
        self.0[at as usize]
    }
    fn put(&mut self, at: TapeIx, node: TapeNode) {
        self.0.resize(at as usize, TapeNode::default());
        self.0.push(node);
    }
    fn set_next(&mut self, at: TapeIx, next: TapeIx) {
        self.0[at as usize].next = next;
    }
    fn set_end(&mut self, at: TapeIx, end: PartOffset) {
        self.0[at as usize].end = end;
    }
    fn set_named(&mut self, at: TapeIx) {
        self.0[at as usize] = self.0[at as usize].named();
    }
}

/// Lines, as (from, to).
fn lines(text: &[u8]) -> Vec<Stretch> {
    let mut from = 0;
    let mut all = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let to = from + line.len() as u32;
        all.push(Stretch { from, to });
        from = to;
    }
    all
}

/// Cuts each line at every multiple of `window`, and holds what comes of it to the builder's. How many lines are not faulty.
fn check(text: &[u8], window: u32) -> usize {
    let mut good = 0;
    let outline = InMemory::of(text);
    let mut whole = Whole::default();
    let total = outline.before.last().unwrap().nodes as usize;
    let mut cut = Nodes {
        nodes: std::vec![TapeNode::default(); total],
        written: std::vec![0; total],
        by: std::vec![[0; 4]; total],
        ..Nodes::default()
    };
    for line in lines(text) {
        let mut builder = Builder::at_line(place(&outline, line.from).nodes);
        let first = builder.next as usize;
        run(&outline, &mut builder, &mut whole, line);
        let past = builder.next as usize;
        let verdict = builder.end_line();
        whole.0.resize(past, TapeNode::default());

        let bytes = &text[line.from as usize..line.to as usize];
        cut.lenient = diagnose(bytes).is_some() || verdict == Line::Faulty;
        let others: Vec<TapeNode> = [&cut.nodes[..first], &cut.nodes[past..]].concat();
        let mut faulty = false;
        // The last piece first, and then the others: any order does.
        let mut pieces: Vec<u32> = (line.from / window..line.to.div_ceil(window)).collect();
        pieces.reverse();
        let middle = pieces.len() / 3;
        pieces.rotate_left(middle);
        for piece in pieces {
            let window = Stretch { from: piece * window, to: (piece + 1) * window };
            cut.piece += 1;
            faulty |= part(&outline, &mut cut, line, window);
        }
        let shown = || std::format!("{} cut by {window}", bytes[..bytes.len().min(300)].escape_ascii());
        assert_eq!(faulty, verdict == Line::Faulty, "{}", shown());
        assert!(others == [&cut.nodes[..first], &cut.nodes[past..]].concat(), "{}", shown());
        if !cut.lenient {
            assert_eq!(cut.nodes[first..past], whole.0[first..past], "{}", shown());
            assert!(cut.written[first..past].iter().all(|which| *which == fields::ALL), "{}", shown());
            good += 1;
        }
    }
    good
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

fn value(random: &mut Random, depth: u64, out: &mut Vec<u8>) {
    let space = |random: &mut Random, out: &mut Vec<u8>| {
        if random.below(5) == 0 {
            out.extend(std::iter::repeat_n(b' ', random.below(70) as usize));
        }
    };
    let string = |random: &mut Random, out: &mut Vec<u8>| {
        out.push(b'"');
        let most = 1 + 100 / (1 + random.below(40));
        for _ in 0..random.below(most) {
            out.extend_from_slice([&b"x"[..], b"\\\"", b"{", b",", b":"][random.below(5) as usize]);
        }
        out.push(b'"');
    };
    space(random, out);
    match random.below(if depth == 0 { 3 } else { 9 }) {
        0 => out.extend_from_slice(b"-12.5e3"),
        1 => out.extend_from_slice(b"true"),
        2 => string(random, out),
        kind => {
            let object = kind % 2 == 0;
            out.push(if object { b'{' } else { b'[' });
            for i in 0..random.below(5) {
                if i > 0 {
                    out.push(b',');
                }
                if object {
                    space(random, out);
                    string(random, out);
                    space(random, out);
                    out.push(b':');
                }
                value(random, depth - 1, out);
            }
            space(random, out);
            out.push(if object { b'}' } else { b']' });
        }
    }
    space(random, out);
}

#[test]
fn random_lines_cut_by_words() {
    let mut good = 0;
    for seed in 0..400 {
        let random = &mut Random(seed);
        let mut text = Vec::new();
        while text.len() < 3000 {
            value(random, 9, &mut text);
            if random.below(3) > 0 {
                let ending: &[u8] = [&b"\n"[..], b"\r\n", b"\n\n", b"  \n"][random.below(4) as usize];
                text.extend_from_slice(ending);
            }
        }
        good += check(&text, 64);
        check(&text, 192);
        // And with bytes changed.
        for _ in 0..30 {
            let at = random.below(text.len() as u64) as usize;
            text[at] = b"{}[]:,\"\\ \n1a"[random.below(12) as usize];
        }
        check(&text, 64);
        check(&text, 128);
    }
    assert!(good > 1000, "{good}");
}

#[test]
fn junk_cut_by_words() {
    for seed in 0..400 {
        let random = &mut Random(seed);
        let alphabet: &[u8] =
            [&b"[]{}:,\"1  \n"[..], b"[]", b"[],1", b":\" ", b"{\"a\":1}  \n", b"[{\":"][seed as usize % 6];
        let text: Vec<u8> =
            (0..2500).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]).collect();
        check(&text, 64);
        check(&text, 256);
    }
}

/// Each pair of tokens, with the edge of a piece anywhere between and within them.
#[test]
fn short_lines_at_every_place() {
    for line in [
        r#"{"a" : 1}"#,
        r#"{"a":{"b":[]}}"#,
        r#"["a" , "b"]"#,
        r#"{"name with a colon:":"x","b":[[{"c":{}}]]}"#,
        r#""root""#,
        "17",
        ":1",
        ":{}",
        "[:{}]",
        ",:[1]",
        "\"\" :",
        "[\"a\":[1]]",
        "]",
        "}}{{",
        "[1 2]",
        "[1,]",
        "{\"a\":}",
    ] {
        for before in [0, 1, 60, 63, 64, 100] {
            for gap in [0, 61, 64, 130] {
                let mut text = std::vec![b' '; before];
                text.extend_from_slice(b"\n[1]\n");
                for shift in 0..64 {
                    text.extend(std::iter::repeat_n(b' ', shift % 3));
                    let (left, right) = line.split_at(line.len().min(shift % 8));
                    text.extend_from_slice(left.as_bytes());
                    text.extend(std::iter::repeat_n(b' ', gap));
                    text.extend_from_slice(right.as_bytes());
                    text.push(b'\n');
                }
                // The last line is not ended.
                text.pop();
                check(&text, 64);
            }
        }
    }
}

/// Containers that begin stretches, and groups of them, before the place that asks.
#[test]
fn far_containers() {
    let mut text = b"{\"first\":[[[".to_vec();
    let filling = |text: &mut Vec<u8>, bytes: usize| {
        let to = text.len() + bytes;
        while text.len() < to {
            text.extend_from_slice(b"[1,{\"a\":\"bcdef\"}],\"a string of some length, and more of it\",");
        }
    };
    filling(&mut text, 5 << 20);
    text.extend_from_slice(b"{\"second\":[");
    filling(&mut text, 2 << 20);
    text.extend_from_slice(b"[[{\"third\":[");
    filling(&mut text, 100 << 10);
    text.extend_from_slice(b"\"a long string");
    text.extend(std::iter::repeat_n(b'.', 3 << 20));
    text.extend_from_slice(b"\"]}]]]}]]]}");
    assert_eq!(check(&text, 2048), 1);
    text.push(b'}');
    assert_eq!(check(&text, 4096), 0);
}

#[test]
fn as_deep_as_may_be_and_deeper() {
    for depth in [2, 63, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 3 * MAX_DEPTH] {
        let mut text = b"[[1],".to_vec();
        for level in 1..depth {
            text.extend_from_slice(if level % 3 == 0 { b"{\"a\": " } else { b"[" });
        }
        text.push(b'1');
        for level in (1..depth).rev() {
            text.push(if level % 3 == 0 { b'}' } else { b']' });
        }
        text.extend_from_slice(b",[2]]\n[3]\n");
        let good = 1 + (depth < MAX_DEPTH + 1) as usize;
        assert_eq!(check(&text, 64), good, "{depth}");
        assert_eq!(check(&text, 2048), good, "{depth}");
    }
}

#[test]
fn sums_are_a_monoid() {
    let random = &mut Random(3);
    for _ in 0..1000 {
        let mut sum = || StretchSum {
            nodes: random.below(9) as u32,
            depth: random.below(9) as Depth - 4,
            last: (random.below(3) * random.below(99)) as u32,
        };
        let (a, b, c) = (sum(), sum(), sum());
        assert_eq!(a.combine(b).combine(c), a.combine(b.combine(c)));
        assert_eq!(a.combine(StretchSum::default()), a);
        assert_eq!(StretchSum::default().combine(a), a);
    }
}
