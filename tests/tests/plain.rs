//! Names and strings that kernels find by their lengths. The CPU, which reads their bytes, finds the same.

use warpath::{Program, Query, Want};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_tests::random::Rng;

use crate::common::device;

/// The contents of names and values. Some have the same length, or nearly the same spelling.
const WORDS: [&str; 14] =
    ["", "a", "b", "ab", "/", "\"", "\\", "é", "🙂", "a\nb", "a\"b", "123456789", "abc/defgh", "nl"];

/// The style of the lines. `escaped` and `escaped_names` are the escaped characters in ten, of values and of
/// names. `spaced` is the spaces at ten possible offsets. The last is the number of values in a hundred that
/// contain something that is not JSON.
struct Style {
    escaped: usize,
    escaped_names: usize,
    spaced: usize,
    odd: usize,
}

struct Writer<'a> {
    rng: &'a mut Rng,
    style: Style,
}

impl Writer<'_> {
    fn word(&mut self, is_name: bool) -> String {
        match self.rng.below(10) {
            // About as long as the longest that are known by their length.
            0 => (0..50 + self.rng.below(20)).map(|_| ["a", "b"][self.rng.below(2)]).collect(),
            1 if is_name => "n".repeat(54 + self.rng.below(10)),
            _ => WORDS[self.rng.below(WORDS.len())].to_owned(),
        }
    }

    fn string(&mut self, is_name: bool) -> String {
        let escaped = if is_name { self.style.escaped_names } else { self.style.escaped };
        let mut out = String::from("\"");
        for c in self.word(is_name).chars() {
            let must = matches!(c, '"' | '\\' | '\n');
            if !must && self.rng.below(10) >= escaped {
                out.push(c);
                continue;
            }
            match c {
                '"' | '\\' | '/' if self.rng.below(2) == 0 => out.extend(['\\', c]),
                '\n' if self.rng.below(2) == 0 => out.push_str("\\n"),
                c => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let lower = self.rng.below(2) == 0;
                        out += &if lower { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
                    }
                }
            }
        }
        out + "\""
    }

    fn space(&mut self) -> &'static str {
        if self.rng.below(10) < self.style.spaced { " " } else { "" }
    }

    fn value(&mut self, depth: usize) -> String {
        let mut out = match self.rng.below(if depth == 0 { 4 } else { 8 }) {
            0 => "1".to_owned(),
            1..=3 => self.string(false),
            kind => {
                let count = self.rng.below(12);
                let one = |_| {
                    let before = self.space();
                    let name = if kind < 6 { String::new() } else { self.string(true) + ":" + self.space() };
                    format!("{before}{name}{}", self.value(depth - 1))
                };
                let inside = (0..count).map(one).collect::<Vec<_>>().join(",");
                if kind < 6 { format!("[{inside}]") } else { format!("{{{inside}}}") }
            }
        };
        if self.rng.below(100) < self.style.odd {
            const ODD: [&str; 12] =
                [",", ":", "\"a\"", "\"a\":", "x", " ", "[]", "{}", "[\"a\"]", "{\"a\":\"b\"}", "\\", "\"b"];
            let at = out.floor_char_boundary(self.rng.below(out.len() + 1));
            out.insert_str(at, ODD[self.rng.below(ODD.len())]);
        }
        out
    }

    /// Some paths, most of them filters on strings below the same point.
    fn paths(&mut self) -> Vec<String> {
        const POINTS: [&str; 6] = ["$", "$[0]", "$.a", "$[*]", "$[*][*]", "$[1]"];
        let usual = POINTS[self.rng.below(POINTS.len())];
        let literal = |word: String| {
            format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
        };
        (0..1 + self.rng.below(6))
            .map(|_| {
                let point = if self.rng.below(3) > 0 { usual } else { POINTS[self.rng.below(POINTS.len())] };
                let (word, name) = (literal(self.word(false)), literal(self.word(true)));
                match self.rng.below(9) {
                    0 => format!("{point}[{name}]"),
                    1 => format!("{point}[?@ == {word}, ?@ == {name}]"),
                    2 => format!("{point}[?{word} == @]"),
                    3 => format!("{point}[?@[{name}] == {word}]"),
                    4 => format!("{point}[?@ == {word}][*]"),
                    _ => format!("{point}[?@ == {word}]"),
                }
            })
            .collect()
    }
}

#[test]
fn what_is_found_by_its_length_is_what_is_read() {
    let device = device();
    let rng = &mut Rng::new(41);
    let mut found = 0;
    for round in 0..400 {
        let style = Style {
            escaped: [0, 1, 5][rng.below(3)],
            escaped_names: [0, 0, 0, 2][rng.below(4)],
            spaced: [0, 3, 10][rng.below(3)],
            odd: [0, 0, 10][rng.below(3)],
        };
        let mut writer = Writer { rng: &mut *rng, style };
        let lines = 1 + writer.rng.below(30);
        let text: String = (0..lines).map(|_| writer.value(3) + "\n").collect();
        let paths = writer.paths();
        let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path).unwrap()).collect();
        let program = Program::new(&queries).unwrap();
        let answer = |backend: &dyn Backend| {
            let want = Want::default().matches(true);
            let pieces = backend.answer(text.as_bytes(), &program, want).unwrap().pieces;
            assert_eq!(pieces.len(), 1);
            pieces.into_iter().flat_map(|piece| piece.matches).collect::<Vec<_>>()
        };
        let (read, by_length) = (answer(&Cpu), answer(&*device));
        found += read.iter().map(Vec::len).sum::<usize>();
        for ((read, by_length), path) in read.iter().zip(&by_length).zip(&paths) {
            let line = read.iter().zip(by_length).find(|(a, b)| a != b).map(|(a, _)| a.line);
            let line = line.and_then(|line| text.lines().nth(line as usize));
            assert!(
                read == by_length,
                "round {round}: {path} of {paths:?}: {read:?}, {by_length:?}: {line:?}"
            );
        }
    }
    assert!(found > 1_000, "{found} matches");
}
