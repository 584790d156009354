//! Utilities for the tests of several modules: outlines in memory, and random texts.

use std::vec::Vec;

use super::brackets::Stretch;
use super::outline::{FAN_OUT, GROUP_LEVELS, Outline, STRETCH_WORDS, StretchSum, TapeWord};
use super::token::TokenCarry;
use crate::index::Monoid;
use crate::index::class::{Classes, is_whitespace};
use crate::index::line::{LineState, index_word};
use crate::index::string::prefix_xor;
use crate::units::{Depth, STRETCH_BYTES, WORD_BYTES};

/// An outline in memory.
pub struct InMemory {
    pub words: Vec<TapeWord>,
    pub before: Vec<StretchSum>,
    least: [Vec<Depth>; GROUP_LEVELS + 1],
}

impl InMemory {
    pub fn of(text: &[u8]) -> Self {
        let mut bytes = text.to_vec();
        bytes.resize((text.len() / STRETCH_BYTES + 1) * STRETCH_BYTES, b' ');
        let (mut state, mut carry) = (LineState::default(), TokenCarry::default());
        let mut words: Vec<TapeWord> = Vec::new();
        for word in bytes.as_chunks::<WORD_BYTES>().0 {
            let indexed = index_word(&Classes::of(word), &mut state, prefix_xor);
            let bits = |is: fn(u8) -> bool| (0..64).fold(0, |bits, i| bits | (is(word[i]) as u64) << i);
            let space = bits(is_whitespace);
            let spaces = [space, bits(|byte| byte == b'\n')];
            words.push(TapeWord::of(&indexed, bits(|byte| b"{}:".contains(&byte)), spaces, carry));
            carry = TokenCarry::behind(&indexed, space);
        }
        let mut before = std::vec![StretchSum::default()];
        let mut stretches = Vec::new();
        for (s, stretch) in words.chunks_mut(STRETCH_WORDS).enumerate() {
            let mut sum = StretchSum::default();
            let mut least = 0;
            for (w, word) in stretch.iter_mut().enumerate() {
                (word.nodes, word.brackets) = (sum.nodes as u16, sum.brackets as u16);
                word.depth = sum.depth;
                least = least.min(sum.depth + word.least());
                let last = (64 - word.mark().leading_zeros()) * (word.mark() != 0) as u32;
                let at = ((s * STRETCH_WORDS + w) * WORD_BYTES) as u32;
                sum = sum.combine(StretchSum {
                    nodes: word.node.count_ones(),
                    brackets: word.bracket.count_ones(),
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

/// Lines, as (from, to).
pub fn lines(text: &[u8]) -> Vec<Stretch> {
    let mut from = 0;
    let mut all = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let to = from + line.len() as u32;
        all.push(Stretch { from, to });
        from = to;
    }
    all
}

/// Random numbers.
pub struct Random(pub u64);

impl Random {
    /// Returns a number less than `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// A random JSON text.
pub fn value(random: &mut Random, depth: u64, out: &mut Vec<u8>) {
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

/// Lines of random JSON, at most `bytes` bytes.
pub fn random_lines(random: &mut Random, bytes: usize) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < bytes {
        value(random, 9, &mut text);
        if random.below(3) > 0 {
            let ending: &[u8] = [&b"\n"[..], b"\r\n", b"\n\n", b"  \n"][random.below(4) as usize];
            text.extend_from_slice(ending);
        }
    }
    text
}

/// Changes some bytes.
pub fn mutate(random: &mut Random, text: &mut [u8]) {
    for _ in 0..30 {
        let at = random.below(text.len() as u64) as usize;
        text[at] = b"{}[]:,\"\\ \n1a"[random.below(12) as usize];
    }
}

/// Bytes of few kinds.
pub fn junk(random: &mut Random, bytes: usize) -> Vec<u8> {
    let alphabets: [&[u8]; 6] = [b"[]{}:,\"1  \n", b"[]", b"[],1", b":\" ", b"{\"a\":1}  \n", b"[{\":"];
    let alphabet = alphabets[random.below(6) as usize];
    (0..bytes).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]).collect()
}
