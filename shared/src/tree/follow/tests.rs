//! The nodes and verdicts of whole texts, compared with the sequential builder's.

use std::vec::Vec;

use super::super::brackets::{Store, Stretch, part};
use super::super::outline::{BracketIx, Outline, STRETCH_WORDS, place};
use super::super::tape::{Builder, Line, Tape};
use super::super::testing::{InMemory, Random, junk, lines, mutate, random_lines};
use super::*;
use crate::check::diagnose;
use crate::units::WORD_BYTES;

/// The results for brackets.
struct Stored {
    tops: Vec<Top>,
    closed: Vec<Closed>,
}

impl Store for &mut Stored {
    fn top(&self, bracket: BracketIx) -> Top {
        self.tops[bracket as usize]
    }
    fn set_top(&mut self, bracket: BracketIx, top: Top) {
        self.tops[bracket as usize] = top;
    }
    fn set_closed(&mut self, opener: BracketIx, closed: Closed) {
        self.closed[opener as usize] = closed;
    }
}

/// The sequential builder's nodes.
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

/// The positions of the bits of all words.
fn places(outline: &InMemory, of: fn(&TapeWord) -> u64) -> Vec<PartOffset> {
    let bits = |word: &TapeWord| {
        let bits = of(word);
        (0..64u32).filter(move |i| bits >> i & 1 == 1)
    };
    let words = outline.words.iter().enumerate();
    words.flat_map(|(w, word)| bits(word).map(move |i| (w * WORD_BYTES) as u32 + i)).collect()
}

/// The nodes of all words, and the positions of faults.
fn nodes(outline: &InMemory, found: &Stored) -> (Vec<TapeNode>, Vec<PartOffset>) {
    let words = &outline.words;
    // The exchange of a device, but over all words: from the left, and from the right.
    let (mut left, mut lefts) = (Mark::NONE, Vec::new());
    for word in words {
        lefts.push(left);
        left = if word.mark() == 0 { left } else { Mark::last(word) };
    }
    let (mut right, mut of_container, mut rights) = (Mark::NONE, false, Vec::new());
    for word in words.iter().rev() {
        rights.push((right, of_container));
        let colons = colons_of_containers(word, right);
        if word.mark() != 0 {
            right = Mark::first(word);
            of_container = colons & word.mark() & word.mark().wrapping_neg() != 0;
        }
    }
    rights.reverse();
    let ends = places(outline, |word| word.past);
    let (mut nodes, mut faulty, mut token) = (Vec::new(), Vec::new(), 0);
    for (w, word) in words.iter().enumerate() {
        let (right, of_container) = rights[w];
        let roles = Roles::of(word, colons_of_containers(word, right), [lefts[w], right], of_container);
        let sum = outline.before(w / STRETCH_WORDS);
        let bracket = sum.brackets + word.brackets as u32;
        let top = |bracket: u32| if bracket == 0 { Top::NONE } else { found.tops[bracket as usize - 1] };
        let inside = Inside::of(word, top(bracket), |i| top(bracket + i + 1));
        let faults = faults(word, lefts[w], &roles, &inside);
        faulty.extend((0..64).filter(|i| faults >> i & 1 == 1).map(|i| (w * WORD_BYTES) as u32 + i));
        for i in 0..64 {
            let bit = 1u64 << i;
            if word.node & bit != 0 {
                let place = (w % STRETCH_WORDS * WORD_BYTES) as u32 + i;
                let brackets = word.brackets as u32 + (word.bracket & (bit - 1)).count_ones();
                let end = ends.get(token).copied().unwrap_or(PartOffset::MAX);
                let sketch = Sketch::of(word, &roles, bit, (place, brackets), end);
                assert_eq!(Sketch::from_bits(sketch.to_bits()), sketch);
                assert_eq!(sketch.brackets(), brackets);
                assert!(sketch.is_whole());
                let bracket = sum.brackets + brackets;
                let closed =
                    if sketch.has_container() { found.closed[bracket as usize] } else { Closed::default() };
                let stretch = (w / STRETCH_WORDS * STRETCH_WORDS * WORD_BYTES) as u32;
                nodes.push(sketch.node(nodes.len() as u32, stretch, top(bracket).node(), closed));
            }
            token += (word.start & bit != 0) as usize;
        }
    }
    (nodes, faulty)
}

/// Compares the nodes and verdicts of all lines with the builder's. Returns the number of lines without a
/// fault.
fn check(text: &[u8]) -> usize {
    let outline = InMemory::of(text);
    let total = outline.before.last().unwrap().brackets as usize;
    let mut found = Stored { tops: std::vec![Top::NONE; total], closed: std::vec![Closed::default(); total] };
    let bad_brackets: Vec<bool> =
        lines(text).into_iter().map(|line| part::<_, _, true>(&outline, &mut found, line, line)).collect();
    let (nodes, faults) = nodes(&outline, &found);
    let (starts, mut ends) = (places(&outline, |word| word.start), places(&outline, |word| word.past));
    // A string that is not closed ends at the end of the text.
    ends.resize(starts.len(), text.len() as PartOffset);
    let (mut whole, mut good) = (Whole::default(), 0);
    for (line, bad_brackets) in lines(text).into_iter().zip(bad_brackets) {
        let Stretch { from, to } = line;
        let mut builder = Builder::at_line(place(&outline, from).nodes);
        let first = builder.next as usize;
        let of = [from, to].map(|at| starts.partition_point(|start| *start < at));
        for (start, end) in starts[of[0]..of[1]].iter().zip(&ends[of[0]..]) {
            builder.token(&mut whole, *start, text[*start as usize], *end);
        }
        let past = builder.next as usize;
        whole.0.resize(past, TapeNode::default());
        let want = builder.end_line() == Line::Faulty;
        let bytes = &text[from as usize..to as usize];
        let shown = || bytes[..bytes.len().min(300)].escape_ascii();
        let fault = faults.partition_point(|at| *at < from);
        let got = bad_brackets || faults.get(fault).is_some_and(|at| *at < to);
        assert_eq!(got, want, "{}", shown());
        if !want && diagnose(bytes).is_none() {
            assert_eq!(nodes[first..past], whole.0[first..past], "{}", shown());
            good += 1;
        }
    }
    good
}

#[test]
fn random_lines_as_the_builder_reads_them() {
    let mut good = 0;
    for seed in 0..600 {
        let random = &mut Random(seed);
        let mut text = random_lines(random, 3000);
        good += check(&text);
        mutate(random, &mut text);
        check(&text);
        check(&junk(random, 2500));
    }
    assert!(good > 1000, "{good}");
}

/// Every line of up to six tokens: all orders of tokens, at any position.
#[test]
fn all_short_lines() {
    const TOKENS: [&str; 8] = ["{", "}", "[", "]", ":", ",", "\"a\"", "1"];
    let mut good = 0;
    for len in 0..=6 {
        let mut text = Vec::new();
        for mut n in 0..8usize.pow(len) {
            for _ in 0..len {
                text.extend_from_slice(TOKENS[n % 8].as_bytes());
                // Without the space, two numbers would be one.
                text.push(b' ');
                n /= 8;
            }
            text.push(b'\n');
            if text.len() > 1 << 14 {
                good += check(&text);
                text.clear();
            }
        }
        if !text.is_empty() {
            good += check(&text);
        }
    }
    // The numbers by length: a blank line, scalars, empty containers, arrays of a scalar, and so on.
    assert_eq!(good, 1 + 2 + 2 + 2 + 2 + 8 + 12);
}

/// Each pair of tokens, with the edge of a word anywhere between and within them.
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
                // The last line has no newline.
                text.pop();
                check(&text);
            }
        }
    }
}

#[test]
fn marks_beside_marks() {
    let random = &mut Random(5);
    for round in 0..20_000u32 {
        let mut bits = || random.below(1 << 31) << 40 ^ random.below(1 << 31) << 20 ^ random.below(1 << 31);
        let marks = if round % 2 == 0 { bits() } else { bits() & bits() & bits() };
        let set = bits() & marks;
        for carry in [false, true] {
            let (mut next, mut last) = (0, carry);
            for i in 0..64 {
                if marks >> i & 1 == 1 {
                    next |= (last as u64) << i;
                    last = set >> i & 1 == 1;
                }
            }
            assert_eq!(to_next(set, carry, marks), next);
            let (mut previous, mut first) = (0, carry);
            for i in (0..64).rev() {
                if marks >> i & 1 == 1 {
                    previous |= (first as u64) << i;
                    first = set >> i & 1 == 1;
                }
            }
            assert_eq!(to_previous(set, carry, marks), previous);
        }
    }
}
