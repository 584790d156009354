use warpath_random::Rng;

use super::*;
use crate::fsst::{MatchError, Matcher};

/// Random strings, tables, codes and patterns.
struct Cases(Rng);

impl Cases {
    fn string(&mut self, most: usize) -> Vec<u8> {
        let pieces: [&[u8]; 12] = [
            b"a",
            b"a",
            b"a",
            b"b",
            b"b",
            b"ab",
            b"\0",
            b"\xff",
            b"\"",
            "é".as_bytes(),
            "€".as_bytes(),
            b"%_",
        ];
        let odd: [&[u8]; 4] = [b"\x80", b"\xc3", b"\xed\xa0\x80", b"\xa9"];
        let len = self.0.below(most + 1);
        let odd_too = self.0.below(4) == 0;
        (0..len)
            .flat_map(
                |_| if odd_too && self.0.below(6) == 0 { self.0.pick(&odd) } else { self.0.pick(&pieces) },
            )
            .copied()
            .collect()
    }

    fn table(&mut self) -> Table {
        let count = self.0.pick(&[0, 1, 3, 20, 254, 255]);
        let symbols: Vec<Vec<u8>> = (0..count)
            .map(|_| {
                let mut symbol = self.string(8);
                symbol.push(b'a');
                symbol.truncate(1 + self.0.below(8));
                symbol
            })
            .collect();
        table(&symbols.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Spells a string by a table in one of several ways.
    fn codes(&mut self, table: &Table, mut string: &[u8]) -> Vec<u8> {
        let mut codes = Vec::new();
        while let Some(first) = string.first() {
            let fits = |code: &u8| {
                let len = usize::from(table.lens()[usize::from(*code)]);
                len > 0 && string.starts_with(&table.symbols()[usize::from(*code)].to_le_bytes()[..len])
            };
            let fitting: Vec<u8> = (0..ESCAPE).filter(fits).collect();
            let len = if fitting.is_empty() || self.0.below(6) == 0 {
                codes.extend([ESCAPE, *first]);
                1
            } else {
                codes.push(fitting[self.0.below(fitting.len())]);
                usize::from(table.lens()[usize::from(codes[codes.len() - 1])])
            };
            string = &string[len..];
        }
        codes
    }

    /// Returns a pattern, mostly made of a piece of `of`.
    fn pattern(&mut self, of: &[u8]) -> Pattern {
        let from = self.0.below(of.len() + 1);
        let to = from + self.0.below((of.len() - from).min(12) + 1);
        let mut bytes = match self.0.below(4) {
            0 => self.string(4),
            1 => of[from..].to_vec(),
            2 => of[..to].to_vec(),
            _ => of[from..to].to_vec(),
        };
        bytes.truncate(40);
        match self.0.below(8) {
            0 => Pattern::Equals(if self.0.below(2) == 0 { of.to_vec() } else { bytes }),
            1 => Pattern::StartsWith(bytes),
            2 => Pattern::EndsWith(bytes),
            3 => Pattern::Contains(bytes),
            _ => {
                let mut like = String::new();
                let mut chars: Vec<char> = String::from_utf8_lossy(&bytes).chars().take(10).collect();
                if self.0.below(3) == 0 {
                    chars = chars.iter().map(|_| ['a', 'b', 'é'][self.0.below(3)]).collect();
                }
                for char in chars {
                    let wild = self.0.pick(&["", "", "", "", "", "%", "_", "%%", "_%_"]);
                    like.push_str(wild);
                    match self.0.below(6) {
                        0 => like.push('_'),
                        1 => {}
                        _ if matches!(char, '%' | '_' | '!') => like.extend(['!', char]),
                        _ => like.push(char),
                    }
                }
                like.push_str(self.0.pick(&["", "", "%", "_"]));
                Pattern::like(&like, Some('!')).unwrap()
            }
        }
    }
}

fn table(symbols: &[&[u8]]) -> Table {
    let word = |symbol: &&[u8]| {
        let mut bytes = [0; 8];
        bytes[..symbol.len()].copy_from_slice(symbol);
        u64::from_le_bytes(bytes)
    };
    let words: Vec<u64> = symbols.iter().map(word).collect();
    let lens: Vec<u8> = symbols.iter().map(|symbol| symbol.len() as u8).collect();
    Table::new(&words, &lens).unwrap()
}

/// The codes of several strings, without separators.
#[derive(Default)]
struct Column {
    codes: Vec<u8>,
    offsets: Vec<u64>,
}

impl Column {
    fn of(strings: &[Vec<u8>]) -> Self {
        let mut column = Self { codes: Vec::new(), offsets: vec![0] };
        strings.iter().for_each(|codes| column.push(codes));
        column
    }

    fn push(&mut self, codes: &[u8]) {
        self.codes.extend_from_slice(codes);
        self.offsets.push(self.codes.len() as u64);
    }
}

fn bit(words: &[u64], at: usize) -> bool {
    words[at / 64] >> (at % 64) & 1 != 0
}

fn like(pattern: &str) -> Pattern {
    Pattern::like(pattern, None).unwrap()
}

fn decoded(table: &Table, codes: &[u8]) -> Result<Vec<u8>, CodeFault> {
    let mut room = vec![0; 8 * codes.len()];
    let len = table.decode(codes, &mut room)?;
    room.truncate(len);
    Ok(room)
}

#[test]
fn codes_match_as_what_they_are_decoded_to() {
    let cases = &mut Cases(Rng::new(1));
    let (mut yes, mut no, mut large, mut asked) = (0, 0, 0, 0);
    for _ in 0..40 {
        let table = cases.table();
        let most = cases.0.pick(&[3, 12, 60]);
        let strings: Vec<Vec<u8>> =
            (0..cases.0.pick(&[0, 1, 7, 8, 63, 64, 65, 500])).map(|_| cases.string(most)).collect();
        let column =
            Column::of(&strings.iter().map(|string| cases.codes(&table, string)).collect::<Vec<_>>());
        for _ in 0..12 {
            let of = strings.get(cases.0.below(strings.len().max(1))).map_or(&b"ab"[..], Vec::as_slice);
            let pattern = cases.pattern(of);
            let matcher = Matcher::new(&pattern, &table);
            asked += 1;
            large += usize::from(matches!(matcher, Matcher::Decoded { .. }));
            let words = matcher.matches(&column.codes, &column.offsets).unwrap();
            assert_eq!(words.len(), strings.len().div_ceil(64));
            for (at, string) in strings.iter().enumerate() {
                let want = pattern.matches(string);
                assert_eq!(bit(&words, at), want, "{pattern:?} {string:x?}");
                if let Matcher::Codes(automaton) = &matcher {
                    let codes = &column.codes[column.offsets[at] as usize..column.offsets[at + 1] as usize];
                    assert_eq!(automaton.matches_one(codes), Ok(want));
                }
                (yes, no) = if want { (yes + 1, no) } else { (yes, no + 1) };
            }
            let behind = strings.len()..64 * words.len();
            assert!(behind.into_iter().all(|at| !bit(&words, at)), "bits after the last string");
        }
    }
    assert!(yes > 2000 && no > 2000 && large > 0 && large < asked / 4, "{yes} {no} {large} of {asked}");
}

/// For arbitrary codes, faults are those of decoding, unless earlier codes decide.
#[test]
fn faults_are_found_before_the_answer_is_decided() {
    let cases = &mut Cases(Rng::new(2));
    let (mut faulty, mut decided) = (0, 0);
    for _ in 0..30 {
        let table = table(&[b"a", b"ab", b"b", b"aab", b"\xff", b"%"]);
        let pattern = cases.pattern(b"aabab");
        let automaton = CodeAutomaton::new(&pattern, &table).unwrap();
        for _ in 0..400 {
            let codes: Vec<u8> = (0..cases.0.below(12))
                .map(|_| cases.0.pick(&[0, 1, 2, 3, 4, 5, 5, 1, 255, 255, 6, 200]))
                .collect();
            let got = automaton.matches_one(&codes);
            match decoded(&table, &codes) {
                Ok(string) => assert_eq!(got, Ok(pattern.matches(&string)), "{pattern:?} {codes:?}"),
                Err(fault) if got == Err(fault) => faulty += 1,
                Err(_) => {
                    // The result is the same for any code in the fault's position.
                    decided += 1;
                    let is = got.unwrap();
                    let at =
                        (0..=codes.len()).rev().find(|at| decoded(&table, &codes[..*at]).is_ok()).unwrap();
                    let before = decoded(&table, &codes[..at]).unwrap();
                    for more in [&b""[..], b"a", b"aab", b"ababaab", b"\0\xffb"] {
                        let string = [before.as_slice(), more].concat();
                        assert_eq!(pattern.matches(&string), is, "{pattern:?} {codes:?}");
                    }
                }
            }
        }
    }
    assert!(faulty > 1000 && decided > 1000, "{faulty} {decided}");
}

#[test]
fn the_first_faulty_string_is_told() {
    let table = table(&[b"a", b"ab"]);
    let good = || vec![vec![0; 9]; 200];
    let automaton = CodeAutomaton::new(&Pattern::Contains(b"x".to_vec()), &table).unwrap();
    for (first, fault) in [
        (0, CodeFault::Unknown(3)),
        (7, CodeFault::Escape(8)),
        (130, CodeFault::Unknown(8)),
        (199, CodeFault::Escape(0)),
    ] {
        let mut strings = good();
        strings[first] = match fault {
            CodeFault::Escape(at) => [vec![0; at], vec![255]].concat(),
            CodeFault::Unknown(at) => [vec![1; at], vec![2, 255]].concat(),
            _ => unreachable!(),
        };
        if first < 150 {
            strings[first + 1] = vec![77];
            strings[198] = vec![255];
        }
        // With strings after it, so that all are walked in parallel, and without.
        for more in [0, 3, 100_000] {
            let mut all = strings.clone();
            all.resize(all.len() + more, vec![0, 255, b'b']);
            let column = Column::of(&all);
            let want = Err(MatchError::Codes { string: first, fault });
            assert_eq!(automaton.matches(&column.codes, &column.offsets), want);
            let decoding = Matcher::Decoded {
                pattern: Pattern::Contains(b"x".to_vec()),
                table: Box::new(table),
                why: AutomatonError::States(99),
            };
            assert_eq!(decoding.matches(&column.codes, &column.offsets), want);
        }
    }
}

#[test]
fn offsets_are_looked_at() {
    let automaton = CodeAutomaton::new(&like("%a"), &table(&[b"a"])).unwrap();
    let matches = |offsets: &[u64]| automaton.matches(&[0; 4], offsets);
    assert_eq!(matches(&[]), Ok(vec![]));
    assert_eq!(matches(&[3]), Ok(vec![]));
    assert_eq!(matches(&[1, 1, 4]), Ok(vec![0b10]));
    assert_eq!(matches(&[0, 2, 1]), Err(MatchError::Offsets(1)));
    assert_eq!(matches(&[0, 5]), Err(MatchError::Offsets(0)));
    assert_eq!(matches(&[0, u64::MAX, 4]), Err(MatchError::Offsets(0)));
}

#[test]
fn what_is_asked_may_be_in_a_symbol_or_across_many() {
    let table = table(&[b"xaabx", b"aa", b"b", b"a", b"x", b"aabaabaa"]);
    for (pattern, codes, want) in [
        ("%aab%", &[0][..], true),
        ("%aab%", &[3, 1, 2], true),
        ("%aab%", &[3, 2, 3, 2], false),
        ("%aab", &[3, 3, 3, 255, b'b'], true),
        ("%aabaabaab%", &[5, 2], true),
        ("%aabaabaab%", &[5, 1], false),
        ("xaabx", &[0], true),
        ("xaabx", &[4, 1, 2, 4], true),
        ("x___x", &[0], true),
        ("x____x", &[0], false),
        ("", &[], true),
        ("", &[4], false),
        ("%", &[4], true),
        ("xaabxy%", &[0], false),
    ] {
        let automaton = CodeAutomaton::new(&like(pattern), &table).unwrap();
        assert_eq!(automaton.matches_one(codes), Ok(want), "{pattern} {codes:?}");
    }
}

#[test]
fn states_are_as_few_as_can_be() {
    let table = table(&[b"ab"]);
    let live = |pattern: &Pattern| CodeAutomaton::new(pattern, &table).map(|automaton| automaton.live());
    let bytes = |len: usize| (0..len).map(|at| at as u8).collect::<Vec<u8>>();
    for (pattern, states) in [
        (like("%"), 0),
        (like("%%"), 0),
        (Pattern::Contains(Vec::new()), 0),
        (Pattern::StartsWith(Vec::new()), 0),
        (Pattern::EndsWith(Vec::new()), 0),
        (like(""), 1),
        (Pattern::Equals(Vec::new()), 1),
        (like("ab%"), 2),
        (Pattern::StartsWith(bytes(MAX_LIVE)), MAX_LIVE),
        (Pattern::Contains(bytes(MAX_LIVE)), MAX_LIVE),
        (Pattern::Equals(bytes(MAX_LIVE - 1)), MAX_LIVE),
        (Pattern::EndsWith(bytes(MAX_LIVE - 1)), MAX_LIVE),
        (like(&"_".repeat(MAX_LIVE - 1)), MAX_LIVE),
        (like("%_%_%"), 2),
    ] {
        assert_eq!(live(&pattern), Ok(states), "{pattern:?}");
    }
    for pattern in [
        Pattern::StartsWith(bytes(MAX_LIVE + 1)),
        Pattern::Contains(bytes(MAX_LIVE + 1)),
        Pattern::Equals(bytes(MAX_LIVE)),
        Pattern::EndsWith(bytes(MAX_LIVE)),
        like(&"_".repeat(MAX_LIVE)),
    ] {
        assert_eq!(live(&pattern), Err(AutomatonError::States(MAX_LIVE + 1)), "{pattern:?}");
    }
    assert!(matches!(live(&like("%a________")), Err(AutomatonError::States(257..))));
    let work = [like(&format!("%a{}", "_".repeat(40))), Pattern::Equals(vec![b'a'; 1 << 20])];
    for pattern in work {
        assert!(matches!(live(&pattern), Err(AutomatonError::Work(_))), "{pattern:?}");
        assert!(matches!(Matcher::new(&pattern, &table), Matcher::Decoded { .. }));
    }
}

/// The properties on which a kernel relies, because it checks no state.
#[test]
fn rows_lead_to_rows() {
    let cases = &mut Cases(Rng::new(3));
    for _ in 0..200 {
        let (table, of) = (cases.table(), cases.string(12));
        let Ok(automaton) = CodeAutomaton::new(&cases.pattern(&of), &table) else { continue };
        let (rows, marks) = (automaton.rows(), automaton.marks());
        let count = rows.len() / ROW;
        assert_eq!((rows.len() % ROW, count), (0, 3 + 2 * automaton.live()));
        assert!(count <= MAX_ROWS && rows.iter().all(|state| usize::from(*state) < count));
        assert!(usize::from(marks.start) < count && marks.start != UNKNOWN && marks.start < marks.pending);
        assert!(LIVE <= marks.misses && marks.misses <= marks.pending);
        for state in LIVE..marks.pending {
            assert_eq!(rows[place(state, ESCAPE) as usize], marks.pending + state - LIVE);
        }
        for decided in [NEVER, UNKNOWN, ALWAYS] {
            assert!((0..=255).all(|code| rows[place(decided, code) as usize] == decided));
        }
    }
}
