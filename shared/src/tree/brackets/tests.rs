//! Brackets of lines that are cut anywhere, compared with a stack.

use std::vec::Vec;

use super::super::outline::StretchSum;
use super::super::testing::{InMemory, Random, junk, lines, mutate, random_lines};
use super::*;
use crate::index::Monoid;

/// The results, with the piece that wrote each of them. No two pieces write the same entry.
struct Stored {
    tops: Vec<Option<(Top, usize)>>,
    closed: Vec<Option<Closed>>,
    piece: usize,
}

impl Store for &mut Stored {
    fn top(&self, bracket: BracketIx) -> Top {
        let (top, by) = self.tops[bracket as usize].expect("a top that is written");
        assert_eq!(by, self.piece, "a top of another piece");
        top
    }
    fn set_top(&mut self, bracket: BracketIx, top: Top) {
        let at = &mut self.tops[bracket as usize];
        assert!(at.is_none_or(|(_, by)| by == self.piece), "top {bracket} by two pieces");
        *at = Some((top, self.piece));
    }
    fn set_closed(&mut self, opener: BracketIx, closed: Closed) {
        let at = &mut self.closed[opener as usize];
        assert!(at.is_none(), "{opener} is closed twice");
        *at = Some(closed);
    }
}

/// The tops of a line after each bracket, and the position where each container is closed, by a stack. `None`
/// if the line is faulty. `first`: the next node and the next bracket.
fn by_stack(
    outline: &InMemory,
    line: Stretch,
    (node, first): (TapeIx, BracketIx),
) -> Option<(Vec<Top>, Vec<Option<Closed>>)> {
    let (mut tops, mut closed, mut stack) = (Vec::new(), Vec::new(), Vec::new());
    let mut nodes = node;
    for at in line.from..line.to {
        let (word, bit) = (outline.words[at as usize / WORD_BYTES], 1 << (at as usize % WORD_BYTES));
        if word.bracket & bit != 0 {
            let (bracket, object) = (first + tops.len() as u32, word.alt & bit != 0);
            if word.node & bit != 0 {
                stack.push(Top::new(nodes, object, bracket));
            } else {
                let top: Top = stack.pop().filter(|top: &Top| top.is_object() == object)?;
                closed[(top.opener - first) as usize] = Some(Closed { end: at + 1, next: nodes });
            }
            if stack.len() > MAX_DEPTH {
                return None;
            }
            tops.push(stack.last().copied().unwrap_or(Top::NONE));
            closed.push(None);
        }
        nodes += (word.node & bit != 0) as u32;
    }
    stack.is_empty().then_some((tops, closed))
}

/// Cuts each line at every multiple of `window`, and compares the result with the stack's. Returns the number
/// of lines without a fault.
fn check(text: &[u8], window: u32) -> usize {
    let mut good = 0;
    let outline = InMemory::of(text);
    let total = outline.before.last().unwrap().brackets as usize;
    let mut found = Stored { tops: std::vec![None; total], closed: std::vec![None; total], piece: 0 };
    let mut whole = Stored { tops: std::vec![None; total], closed: std::vec![None; total], piece: 0 };
    for line in lines(text) {
        let shown = || {
            let bytes = &text[line.from as usize..line.to as usize];
            std::format!("{} cut by {window}", bytes[..bytes.len().min(300)].escape_ascii())
        };
        let (from, to) = (place(&outline, line.from), place(&outline, line.to));
        let want = by_stack(&outline, line, (from.nodes, from.brackets));
        // The last piece comes first. Any order gives the same result.
        let mut pieces: Vec<u32> = (line.from / window..line.to.div_ceil(window)).collect();
        pieces.reverse();
        let middle = pieces.len() / 3;
        pieces.rotate_left(middle);
        let mut faulty = false;
        for piece in pieces {
            let window = Stretch { from: piece * window, to: (piece + 1) * window };
            found.piece += 1;
            faulty |= part::<_, _, false>(&outline, &mut found, line, window);
        }
        let faulty_whole = part::<_, _, true>(&outline, &mut whole, line, line);
        assert_eq!((faulty, faulty_whole), (want.is_none(), want.is_none()), "{}", shown());
        let of = from.brackets as usize..to.brackets as usize;
        for found in [&found, &whole] {
            let tops: Vec<Top> = found.tops[of.clone()].iter().map(|top| top.expect("a top").0).collect();
            assert!(tops.last().is_none_or(|top| top.is_none()), "{}", shown());
            if let Some((want, closed)) = &want {
                assert_eq!(tops, *want, "{}", shown());
                assert_eq!(found.closed[of.clone()], *closed, "{}", shown());
            }
        }
        good += want.is_some() as usize;
    }
    good
}

#[test]
fn random_lines_cut_by_words() {
    let mut good = 0;
    for seed in 0..400 {
        let random = &mut Random(seed);
        let mut text = random_lines(random, 3000);
        good += check(&text, 64);
        check(&text, 192);
        // The text with some bytes changed.
        mutate(random, &mut text);
        check(&text, 64);
        check(&text, 128);
        let text = junk(random, 2500);
        check(&text, 64);
        check(&text, 256);
    }
    assert!(good > 1000, "{good}");
}

/// Containers that begin stretches, or groups of them, before the position of the search.
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
            brackets: random.below(9) as u32,
            depth: random.below(9) as Depth - 4,
            last: (random.below(3) * random.below(99)) as u32,
        };
        let (a, b, c) = (sum(), sum(), sum());
        assert_eq!(a.combine(b).combine(c), a.combine(b.combine(c)));
        assert_eq!(a.combine(StretchSum::default()), a);
        assert_eq!(StretchSum::default().combine(a), a);
    }
}
