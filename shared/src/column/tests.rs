//! Values of typed columns, compared with rules that read the whole text.

use std::string::String;
use std::vec::Vec;

use super::*;

fn rule<T>(text: &[u8], rule: impl Fn(u32, u32, &dyn Fn(u32) -> u8) -> T) -> T {
    rule(0, text.len() as u32, &|at| text[at as usize])
}

fn plain(text: &[u8], at: u32) -> bool {
    let words = text[at as usize..][..PLAIN_BYTES as usize].chunks_exact(4);
    words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).all(|word| is_plain(word, true))
}

/// Decodes a string as kernels do: each byte by itself, from a mask of the first bytes of escapes.
fn said_apart(text: &[u8], lenient: bool) -> Option<Vec<u8>> {
    let (mut pending, mut begins) = (false, Vec::new());
    for bytes in text.chunks(32) {
        let bits = bytes.iter().enumerate().map(|(at, byte)| u32::from(*byte == b'\\') << at).sum();
        let starts = crate::index::escape::starts(bits, &mut pending);
        begins.extend((0..bytes.len()).map(|at| starts >> at & 1 == 1));
    }
    let (mut out, mut inner, mut promised) = (Vec::new(), 0, 0u32);
    for at in 0..text.len() {
        let byte = |at: u32| text[at as usize];
        if begins[at] {
            let follows = at >= 6 && begins[at - 6];
            let said = said_at(at as u32, text.len() as u32, byte, lenient, follows)?;
            out.extend_from_slice(&said.bytes.to_le_bytes()[..said.len as usize]);
            inner = (said.next - at as u32).min(LONGEST_ESCAPE) - 1;
            continue;
        }
        if !lenient && text[at] >= 0x80 {
            promised = promised.wrapping_add(utf8_promise(at as u32, text.len() as u32, byte)?);
        }
        if inner > 0 {
            inner -= 1;
        } else if text[at] == b'"' && !lenient {
            return None;
        } else {
            out.push(text[at]);
        }
    }
    (promised == 0).then_some(out)
}

fn said(text: &[u8], lenient: bool) -> Option<Vec<u8>> {
    let said = said_in_order(text, lenient);
    for words in [true, false] {
        let plain = |at| words && plain(text, at);
        let len = said_len(0, text.len() as u32, |at| text[at as usize], plain, lenient);
        assert_eq!(len, said.as_ref().map(|said| said.len() as u32), "{}", text.escape_ascii());
    }
    assert_eq!(said_apart(text, lenient), said, "{}", text.escape_ascii());
    said
}

fn said_in_order(text: &[u8], lenient: bool) -> Option<Vec<u8>> {
    let (mut at, mut out) = (0, Vec::new());
    while at < text.len() as u32 {
        let said = say(at, text.len() as u32, |at| text[at as usize], lenient)?;
        out.extend_from_slice(&said.bytes.to_le_bytes()[..said.len as usize]);
        at = said.next;
    }
    Some(out)
}

#[test]
fn words() {
    for (text, want) in [
        ("true", Some(true)),
        ("false", Some(false)),
        ("tru", None),
        ("truee", None),
        ("null", None),
        ("fals", None),
        ("\"true\"", None),
    ] {
        assert_eq!(rule(text.as_bytes(), |a, b, byte| boolean(a, b, byte)), want, "{text}");
        assert_eq!(rule(text.as_bytes(), |a, b, byte| is_null(a, b, byte)), text == "null");
    }
}

#[test]
fn integers() {
    for text in [
        "0",
        "-0",
        "7",
        "-7",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "9999999999999999999",
        "10000000000000000000",
        "99999999999999999999",
        "01",
        "-01",
        "1.0",
        "1e3",
        "-",
        "+1",
        "1x",
        "true",
        "00",
        "12345678901234567890123",
    ] {
        // Rust parses these texts, and JSON does not allow them.
        let json = !["01", "-01", "+1", "00"].contains(&text);
        let want = text.parse::<i64>().ok().filter(|_| json);
        assert_eq!(rule(text.as_bytes(), |a, b, byte| int64(a, b, byte)), want, "{text}");
    }
}

#[test]
fn floats_are_as_the_standard_library_parses_them() {
    let mut finished = 0;
    for text in [
        "0",
        "-0",
        "0.0",
        "-0.0e5",
        "1",
        "1.5",
        "-1.5e3",
        "1e22",
        "1e23",
        "1E-22",
        "1e-23",
        "9007199254740992",
        "9007199254740993",
        "0.1",
        "0.3",
        "123456.789",
        "40.71234567890123",
        "1e999",
        "-1e999",
        "1e-999",
        "1e99999999999999999999",
        "0e99999999999999999999",
        "123456789012345678901234567890",
        "5e-324",
        "2.2250738585072011e-308",
        "0.000000000000000000000000000001",
        "1.7976931348623157e308",
        "1e+5",
    ] {
        let want: f64 = text.parse().unwrap();
        match rule(text.as_bytes(), |a, b, byte| float64(a, b, byte)) {
            Float::Exact(value) => {
                assert_eq!(value.to_bits(), want.to_bits(), "{text}");
                finished += 1;
            }
            Float::Unfinished => {}
            Float::None => panic!("{text}"),
        }
    }
    assert_eq!(finished, 19);
    // Exponents that as many digits compensate, and exponents that they do not.
    for (zeros, exponent, want) in [
        (1_999_999, "2000000", Float::Exact(1.0)),
        (1_999_999, "2000027", Float::Exact(1e27)),
        (1_999_999, "20000000", Float::Unfinished),
        (1_999_999, "20000000000000000000000000000", Float::Unfinished),
    ] {
        let text = std::format!("0.{}1e{exponent}", "0".repeat(zeros));
        assert_eq!(rule(text.as_bytes(), |a, b, byte| float64(a, b, byte)), want, "{exponent}");
    }
    // Every scale, with digits around powers of two, and digits that tie or nearly tie.
    let mut state = 1u64;
    for scale in -30..=30 {
        for round in 0..400u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let digits = match round % 4 {
                0 => state,
                1 => (state >> (state % 64)).max(1),
                2 => (1u64 << (53 + state % 11)).wrapping_add(state >> 62).wrapping_sub(1),
                _ => ((state >> 11 | 1 << 53) << 1 | 1) << (state % 10),
            };
            let text = std::format!("{digits}e{scale}");
            let want: f64 = text.parse().unwrap();
            let got = rule(text.as_bytes(), |a, b, byte| float64(a, b, byte));
            if digits < 10_000_000_000_000_000_000 && (-27..=27).contains(&scale) {
                assert_eq!(got, Float::Exact(want), "{text}");
            } else {
                assert_eq!(got, Float::Unfinished, "{text}");
            }
        }
    }
    for text in [
        "", "-", "01", "1.", ".5", "1e", "1e+", "+1", "1e5x", "1.5.5", "inf", "NaN", "0x1", "1 2", "-.5",
        "00.1",
    ] {
        if !text.is_empty() {
            assert_eq!(rule(text.as_bytes(), |a, b, byte| float64(a, b, byte)), Float::None, "{text}");
        }
    }
}

#[test]
fn strings() {
    for (text, strict) in [
        (&br"plain"[..], Some("plain")),
        (br#"\"\\\/\b\f\n\r\t"#, Some("\"\\/\u{8}\u{c}\n\r\t")),
        (br"\u0041\u00e9\u263A", Some("Aé☺")),
        (br"\ud83d\ude00!", Some("😀!")),
        (br"\ud83d", Some("\u{fffd}")),
        (br"\ude00", Some("\u{fffd}")),
        (br"\ud83dx\ude00", Some("\u{fffd}x\u{fffd}")),
        (br"\ud83d\ud83d\ude00", Some("\u{fffd}😀")),
        (br"\ud83d\u12", None),
        (br"\x", None),
        (br"\u12g4", None),
        (br"a\", None),
        (br#"a"b"#, None),
        ("é☺😀".as_bytes(), Some("é☺😀")),
        (b"\xff", None),
        (b"\xc3", None),
        (b"\xed\xa0\x80", None),
        (b"", Some("")),
    ] {
        assert_eq!(said(text, false).as_deref(), strict.map(str::as_bytes), "{}", text.escape_ascii());
        if let Some(strict) = strict {
            assert_eq!(said(text, true).as_deref(), Some(strict.as_bytes()));
        }
    }
    for text in [&br"\x"[..], br"\u12g4", br"a\", br#"a"b"#, b"\xff\xc3"] {
        assert_eq!(said(text, true).as_deref(), Some(text), "{}", text.escape_ascii());
    }
}

#[test]
fn plain_words() {
    for byte in 0..=255u8 {
        for around in *b" \x00\x01\x7f!#[]" {
            for place in 0..4 {
                let mut word = [around; 4];
                word[place] = byte;
                let word = u32::from_le_bytes(word);
                assert_eq!(is_plain(word, false), byte < 0x80);
                assert_eq!(is_plain(word, true), byte < 0x80 && byte != b'"' && byte != b'\\');
            }
        }
    }
    for (start, end) in (0..12).flat_map(|start| (start..13).map(move |end| (start, end))) {
        let bytes: [u8; 4] = core::array::from_fn(|i| {
            let at = 4 + i as u32;
            if at >= start && at < end { 0xf0 + i as u8 } else { b' ' }
        });
        assert_eq!(
            within(u32::from_le_bytes([0xf0, 0xf1, 0xf2, 0xf3]), 4, start, end),
            u32::from_le_bytes(bytes)
        );
    }
}

/// Strings of parts that begin, end or spoil escapes and characters, in any order.
#[test]
fn bytes_apart_are_bytes_in_order() {
    const PARTS: [&[u8]; 22] = [
        b"\\",
        b"\\\\",
        b"\\u",
        b"\\ud83d",
        b"\\ude00",
        b"\\u00e9",
        b"\\u12",
        b"\\n",
        b"\\\"",
        b"\"",
        b"d83d",
        b"ude00",
        b"u0041",
        b"a",
        b"0123456789abcdef0123456789abcdef",
        "\u{e9}".as_bytes(),
        "\u{263a}".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"\xf0\x9f",
        b"\x80",
        b"\xff",
        b"\\x",
    ];
    let mut state = 5u64;
    let mut below = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let mut good = 0;
    for _ in 0..40_000 {
        // Few of the parts, so that many strings are good.
        let (some, count) = (1 + below(PARTS.len()), below(14));
        let first = below(PARTS.len());
        let text: Vec<u8> =
            (0..count).flat_map(|_| PARTS[(first + below(some)) % PARTS.len()]).copied().collect();
        good += usize::from(said(&text, false).is_some());
        said(&text, true).unwrap();
    }
    assert!(good > 4000, "{good}");
}

#[test]
fn utf8_is_what_the_standard_library_takes() {
    let is_utf8 = |text: &[u8]| {
        let promise = |at: usize| utf8_promise(at as u32, text.len() as u32, |at| text[at as usize]);
        let promises = (0..text.len()).filter(|at| text[*at] >= 0x80).map(promise);
        promises
            .collect::<Option<Vec<u32>>>()
            .is_some_and(|all| all.into_iter().fold(0, u32::wrapping_add) == 0)
    };
    for first in 0..=255u8 {
        for second in 0..=255u8 {
            for tail in [&b""[..], b"\x80", b"\xbf\x80", b"x", b"\x80x"] {
                let text = [&[first, second], tail].concat();
                assert_eq!(is_utf8(&text), core::str::from_utf8(&text).is_ok(), "{}", text.escape_ascii());
            }
        }
    }
    let all: String = (0..=0x10ffff).step_by(97).filter_map(char::from_u32).collect();
    assert!(is_utf8(all.as_bytes()));
}
