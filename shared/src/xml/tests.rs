use std::vec::Vec;

use super::word::XmlWord;
use super::*;
use crate::strict::planes;
use crate::units::WORD_BYTES;

/// Random numbers.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

const PIECES: [&str; 32] = [
    "<",
    ">",
    "\"",
    "'",
    "<a",
    "</a>",
    "<!--",
    "-->",
    "--",
    "-",
    "<![CDATA[",
    "]]>",
    "]",
    "<?",
    "?>",
    "?",
    "!",
    "<!DOCTYPE a",
    "[",
    "&",
    "&amp;",
    " ",
    "/>",
    "=",
    "<!",
    "a",
    "xyz",
    "é",
    "€",
    "😀",
    "some text that is longer",
    "\n",
];

fn text(rng: &mut Rng, pieces: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..pieces {
        text.extend_from_slice(PIECES[rng.below(PIECES.len())].as_bytes());
    }
    text
}

/// Each event, each `&` in text or a value, and the last state, computed byte by byte.
fn naive(text: &[u8], begins: &[usize]) -> (Vec<(usize, u32)>, Vec<usize>, Vec<u32>) {
    let (mut events, mut references, mut states, mut now) = (Vec::new(), Vec::new(), Vec::new(), state::TEXT);
    let has = |at: usize, what: &[u8]| text[at..].starts_with(what);
    let ends = |at: usize, what: &[u8]| text[..=at].ends_with(what);
    for (at, byte) in text.iter().enumerate() {
        states.push(now);
        if begins.contains(&at) {
            now = state::TEXT;
        }
        let (next, kind) = match (now, *byte) {
            (state::TEXT, b'<') if has(at, b"<!-") => (state::COMMENT, event::COMMENT),
            (state::TEXT, b'<') if has(at, b"<![") => (state::CDATA, event::CDATA),
            (state::TEXT, b'<') if has(at, b"<!") => (state::TYPE, event::TYPE),
            (state::TEXT, b'<') if has(at, b"<?") => (state::INSTRUCTION, event::INSTRUCTION),
            (state::TEXT, b'<') => (state::TAG, event::TAG),
            (state::TEXT | state::DOUBLE | state::SINGLE, b'&') => {
                references.push(at);
                continue;
            }
            (state::TAG, b'>') => (state::TEXT, event::TAG_END),
            (state::TAG, b'"') => (state::DOUBLE, event::VALUE),
            (state::TAG, b'\'') => (state::SINGLE, event::VALUE),
            (state::DOUBLE, b'"') | (state::SINGLE, b'\'') => (state::TAG, event::VALUE_END),
            (state::COMMENT, b'>') if ends(at, b"-->") => (state::TEXT, event::COMMENT_END),
            (state::CDATA, b'>') if ends(at, b"]]>") => (state::TEXT, event::CDATA_END),
            (state::INSTRUCTION, b'>') if ends(at, b"?>") => (state::TEXT, event::INSTRUCTION_END),
            (state::TYPE, b'>') => (state::TEXT, event::TYPE_END),
            (state::TYPE, b'"') => (state::TYPE_DOUBLE, event::QUOTE),
            (state::TYPE, b'\'') => (state::TYPE_SINGLE, event::QUOTE),
            (state::TYPE_DOUBLE, b'"') | (state::TYPE_SINGLE, b'\'') => (state::TYPE, event::QUOTE_END),
            _ => continue,
        };
        events.push((at, kind));
        now = next;
    }
    states.push(now);
    (events, references, states)
}

/// The words of a text, and the bytes of each at which a document begins.
fn words(text: &[u8], begins: &[usize]) -> Vec<(XmlWord, u64)> {
    let byte = |at: isize| usize::try_from(at).ok().and_then(|at| text.get(at)).copied().unwrap_or(0);
    (0..text.len().div_ceil(WORD_BYTES))
        .map(|word| {
            let start = word * WORD_BYTES;
            let bytes: [u8; WORD_BYTES] = core::array::from_fn(|i| byte((start + i) as isize));
            let (first, end) = (start as isize, (start + WORD_BYTES) as isize);
            let left = [byte(first - 3), byte(first - 2), byte(first - 1)];
            let here = begins.iter().filter(|at| **at / WORD_BYTES == word);
            let begins = here.fold(0, |bits, at| bits | 1 << (at % WORD_BYTES));
            (XmlWord::of(&planes(&bytes), left, [byte(end), byte(end + 1)]), begins)
        })
        .collect()
}

#[test]
fn words_read_as_bytes_do() {
    let mut rng = Rng(1);
    let mut seen = [0; 14];
    for round in 0..3000 {
        let text = text(&mut rng, 1 + round % 60);
        let begins: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(text.len())).collect();
        let (events, references, states) = naive(&text, &begins);
        let (mut found, mut found_references, mut sum) = (Vec::new(), Vec::new(), XmlMap::default());
        for (word, (here, begins)) in words(&text, &begins).into_iter().enumerate() {
            let at = |place: u32| word * WORD_BYTES + place as usize;
            let before = sum.get(state::TEXT);
            assert_eq!(before, states[at(0)]);
            let read = here.read(begins, before);
            for place in 0..64 {
                if read.events >> place & 1 == 1 {
                    found.push((at(place), read.kind(place)));
                }
                if read.references >> place & 1 == 1 {
                    found_references.push(at(place));
                }
            }
            // From any state, the map and the reader give the same result.
            let map = here.map(begins);
            for before in 0..state::COUNT {
                assert_eq!(map.get(before), here.read(begins, before).after);
            }
            sum = sum.combine(map);
        }
        assert_eq!(sum.get(state::TEXT), states[text.len()]);
        assert_eq!(
            (found, found_references),
            (events.clone(), references),
            "{:?}",
            std::str::from_utf8(&text)
        );
        events.iter().for_each(|(_, kind)| seen[*kind as usize] += 1);
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}

#[test]
fn maps_are_a_monoid() {
    let mut rng = Rng(2);
    let mut map = || {
        (0..rng.below(6)).fold(XmlMap::default(), |map, _| {
            let next = rng.below(symbol::COUNT as usize + 1) as u32;
            map.combine(if next == symbol::COUNT { XmlMap::BEGIN } else { XmlMap::of(next) })
        })
    };
    for _ in 0..2000 {
        let (a, b, c) = (map(), map(), map());
        assert_eq!(a.combine(b).combine(c), a.combine(b.combine(c)));
        assert_eq!((a.combine(XmlMap::default()), XmlMap::default().combine(a)), (a, a));
    }
}

/// A text has a fault exactly where it is not UTF-8.
#[test]
fn what_is_no_utf8_is_faulty() {
    let mut rng = Rng(3);
    let bytes = [
        0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed,
        0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
    ];
    let (mut good, mut bad) = (0, 0);
    for round in 0..40_000 {
        let start = rng.below(70);
        let mut text: Vec<u8> = std::vec![b'a'; start];
        for _ in 0..1 + round % 4 {
            if rng.below(2) == 0 {
                text.extend_from_slice(
                    ["é", "€", "\u{ffff}", "😀", "\u{d7ff}", "\u{10ffff}"][rng.below(6)].as_bytes(),
                );
            } else {
                text.push(bytes[rng.below(bytes.len())]);
            }
        }
        let len = text.len();
        text.push(b'x');
        let mut faults = words(&text, &[]).into_iter().enumerate().filter_map(|(word, (here, begins))| {
            let faults = here.read(begins, state::TEXT).faults;
            (faults != 0).then(|| word * WORD_BYTES + faults.trailing_zeros() as usize)
        });
        let want = std::str::from_utf8(&text[..len]).map_err(|error| error.valid_up_to());
        match (want, faults.next()) {
            (Ok(_), None) => good += 1,
            // The first fault is at most three bytes after the start of the first malformed sequence.
            (Err(at), Some(fault)) => {
                assert!((at..=at + 3).contains(&fault), "{at} {fault} {text:x?}");
                bad += 1;
            }
            (want, fault) => panic!("{want:?} {fault:?} {text:x?}"),
        }
    }
    assert!(good > 5000 && bad > 5000, "{good} {bad}");
}
