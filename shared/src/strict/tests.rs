//! The rule for a word, compared with rules for bytes, at every position of a word.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::*;
use crate::index::class::Classes;
use crate::index::line::{LineState, index_word};
use crate::index::string::prefix_xor;

/// The sets of the words of a text, which are padded as a device's are.
fn words(text: &[u8]) -> Vec<StrictWord> {
    let mut padded = text.to_vec();
    padded.push(b'\n');
    padded.resize(padded.len().next_multiple_of(WORD_BYTES), 0);
    let mut state = LineState::default();
    let mut found = Vec::new();
    for (w, word) in padded.as_chunks::<WORD_BYTES>().0.iter().enumerate() {
        let string = index_word(&Classes::of(word), &mut state, prefix_xor).string;
        let of_text = text.len().saturating_sub(w * WORD_BYTES);
        let of_text = if of_text >= WORD_BYTES { !0 } else { (1 << of_text) - 1 };
        found.push(StrictWord::of(&planes(word), string, of_text));
    }
    found
}

/// The suspected positions of a text.
fn suspects(text: &[u8]) -> Vec<usize> {
    let mut left = StrictCarry::default();
    let mut places = Vec::new();
    for (w, word) in words(text).into_iter().enumerate() {
        let bits = word.suspects(left);
        places.extend((0..WORD_BYTES).filter(|i| bits >> i & 1 == 1).map(|i| w * WORD_BYTES + i));
        left = word.carry();
    }
    places
}

/// Checks that a text is valid, or not, at all these positions of a word and between valid lines.
#[track_caller]
fn check(middle: &[u8], pads: impl Iterator<Item = usize>, good: bool) {
    for pad in pads {
        let before = match pad {
            0..4 => " ".repeat(pad),
            // A valid line directly precedes the text.
            _ => format!("{}\"a\"\n", " ".repeat(pad - 4)),
        };
        let text = [before.as_bytes(), middle, b"\ntrue\n"].concat();
        let found = suspects(&text);
        let shown = text.escape_ascii();
        assert_eq!(found.is_empty(), good, "{found:?}: {shown}");
        // A fault is found at least in the line itself, including its newline.
        let line = pad..=pad + middle.len();
        assert!(good || found.iter().any(|at| line.contains(at)), "{found:?}: {shown}");
    }
}

/// A text of parts. The digits of `number`, in base `parts.len()`, select the parts.
fn of_parts(parts: &[&str], mut number: usize) -> String {
    let mut text = String::new();
    while number > 0 {
        number -= 1;
        text.push_str(parts[number % parts.len()]);
        number /= parts.len();
    }
    text
}

fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (text, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (int, fraction) = text.split_once('.').unwrap_or((text, "0"));
    digits(int) && digits(fraction) && digits(exponent) && (int == "0" || !int.starts_with('0'))
}

#[test]
fn all_short_numbers_at_the_end_of_a_word() {
    let parts = ["0", "1", "27", "-", "+", ".", "e", "E", "x"];
    let mut good = 0;
    // All texts of six parts or fewer.
    for number in 1..(9usize.pow(7) - 1) / 8 {
        let text = of_parts(&parts, number);
        let is_good = is_number(&text);
        good += is_good as usize;
        check(text.as_bytes(), 59 + number % 5..=59 + number % 5, is_good);
    }
    assert!(good > 1500, "{good}");
}

#[test]
fn scalars_at_every_place() {
    let good = ["0", "-0", "-10.0250e-07", "1E+400", "true", "false", "null"];
    let bad = [
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e",
        "1e+",
        "--1",
        "1-2",
        "1.5.5",
        "1e5.5",
        "1e5e5",
        "1e-5-5",
        "00",
        "-01",
        "1.e5",
        "tru",
        "truee",
        "True",
        "nul",
        "nulll",
        "nulle",
        "falsee",
        "fals",
        "fallse",
        "falll",
        "truls",
        "nue",
        "ttrue",
        "1true",
        "true1",
        "truefalse",
        "e",
        "E5",
        "NaN",
        "Infinity",
        "x",
        "'a'",
        "1_000",
        "0x10",
        "\u{feff}1",
        "\0",
        "\x0c",
        "\u{a0}",
        "tr\nue",
        "fa\nlse",
        "1.\n5",
        "1e\n5",
        "-\n1",
        "\\",
        "1\\n",
        "\x7f",
    ];
    for (texts, is_good) in [(&good[..], true), (&bad, false)] {
        for text in texts {
            check(text.as_bytes(), 0..70, is_good);
            check(format!("[{text},1]").as_bytes(), 0..70, is_good);
        }
    }
}

#[test]
fn long_numbers() {
    for len in 1..62 {
        for number in ["1", "1.1", "1e", "-1.0e+"].map(|head| format!("{head}{}", "5".repeat(len))) {
            check(number.as_bytes(), 0..64, true);
            check(format!("{number}.").as_bytes(), 0..64, false);
        }
    }
    // Longer numbers may be suspected, and malformed ones must be.
    for len in 62..200 {
        for (head, tail) in [("1.", ".5"), ("1e", ".5"), ("1e-", "e5"), ("1.5e", ".")] {
            check(format!("{head}{}{tail}", "5".repeat(len)).as_bytes(), 0..64, false);
        }
    }
}

#[test]
fn escapes_at_every_place() {
    for byte in 0..=255u8 {
        let text = [b"\"a\\", &[byte][..], b"0000\""].concat();
        let good = b"\"\\/bfnrtu".contains(&byte);
        // The index detects a string that an escaped newline or quote leaves open.
        if byte != b'\n' && byte != b'"' {
            check(&text, 0..70, good);
        }
        for at in 0..4 {
            let mut text = *b"\"\\u09aF\"";
            text[3 + at] = byte;
            if byte != b'"' && byte != b'\n' && byte != b'\\' {
                check(&text, 0..70, byte.is_ascii_hexdigit());
            }
        }
        if byte < 0x80 && byte != b'"' && byte != b'\\' && byte != b'\n' {
            check(&[b'"', byte, b'"'], 0..70, byte >= b' ');
        }
    }
    for len in 0..4 {
        check(format!("\"\\u{}\"", &"00e9"[..len]).as_bytes(), 0..70, false);
        check(format!("\"\\u{}\\n\"", &"00e9"[..len]).as_bytes(), 0..70, false);
    }
    for pairs in 0..29 {
        let escapes = "\\\\".repeat(pairs);
        check(format!("\"{escapes}\\n\\\\\"").as_bytes(), 0..70, true);
        check(format!("\"{escapes}\\x\\\\\"").as_bytes(), 0..70, false);
    }
    for pairs in 29..99 {
        check(format!("\"{}\\u12\"", "\\\\".repeat(pairs)).as_bytes(), 0..70, false);
    }
}

#[test]
fn utf8_is_what_the_standard_library_says() {
    const BYTES: [u8; 20] = [
        b'a', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0,
        0xf1, 0xf4, 0xf5,
    ];
    for number in 0..BYTES.len().pow(4) {
        let bytes: [u8; 4] =
            core::array::from_fn(|i| BYTES[number / BYTES.len().pow(i as u32) % BYTES.len()]);
        let text = [b"\"", &bytes[..], b"\""].concat();
        // The sets of each word differ, and so do positions.
        let pad = 55 + number % 12;
        check(&text, pad..=pad, str::from_utf8(&bytes).is_ok());
    }
    for first in 0x80..=255u8 {
        for second in 0..=255u8 {
            let bytes = [first, second, 0xbf, 0x80];
            let len = if first < 0xe0 { 2 } else { 3 + (first >= 0xf0) as usize };
            let good = str::from_utf8(&bytes[..len]).is_ok();
            if second != b'"' && second != b'\n' && second != b'\\' {
                check(&[b"\"", &bytes[..len], b"\""].concat(), 59..66, good);
            }
            // Bytes that a line requires do not come from the next line.
            check(&[b"\"", &bytes[..1], b"\n\"", &bytes[2..3], b"\""].concat(), 59..66, false);
        }
    }
    // A position of the second line is suspected, too.
    for lead in [&b"\xe0"[..], b"\xf0", b"\xf0\x90", b"\xf4"] {
        for pad in 0..70 {
            let text = [" ".repeat(pad).as_bytes(), b"\"", lead, b"\n\"\x80\""].concat();
            let second = text.len() - 3..text.len();
            assert!(suspects(&text).iter().any(|at| second.contains(at)), "{}", text.escape_ascii());
        }
    }
}

/// A word computes the same carry as with knowledge of the words before it, or it is suspected.
#[test]
fn words_need_no_others_to_tell() {
    let parts = [
        "1",
        "5555555555",
        "e",
        "E",
        ".",
        "-",
        "+",
        "0",
        "true",
        "null",
        "fals",
        "e",
        "t",
        "\"",
        "\\",
        "\\\\\\\\",
        "u",
        "\\u00",
        "9",
        " ",
        ",",
        "[",
        "\n",
        "é",
        "\u{10ffff}",
        "x",
        "5555555555555555555555555555555555555555555555555555555555555",
        "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\",
    ];
    let (mut seed, mut differ) = (5u64, 0);
    for _ in 0..60_000 {
        let mut text = Vec::new();
        while text.len() < 256 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let pick = (seed >> 33) as usize;
            text.extend_from_slice(parts[pick % parts.len()].as_bytes());
            if pick.is_multiple_of(101) {
                text.pop();
            }
        }
        let mut left = StrictCarry::default();
        for word in words(&text) {
            let (suspects, knowing) = word.check(left);
            if knowing != word.carry() {
                assert!(suspects != 0, "{}", text.escape_ascii());
                differ += 1;
            }
            left = word.carry();
        }
    }
    assert!(differ > 100, "{differ}");
}
