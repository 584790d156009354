use warpath_random::Rng;
use warpath_random::table::{rows, texts};

use PatternKind::{Match, Search};
use warpath_shared::query::automaton;
use warpath_shared::view::View;

use super::determinise::Automaton;
use super::*;

#[path = "../../../../tests/src/oracle/regexp.rs"]
mod oracle;

const PATTERN_CASES: &str = include_str!("../../../../tests/data/regexps.txt");

fn words(pattern: &str, kind: PatternKind) -> Vec<u16> {
    match compile(pattern, kind) {
        Ok(Compiled::Automaton(words)) => words,
        other => panic!("{kind:?} {pattern}: {other:?}"),
    }
}

/// Runs the automaton at `at`, once to the end and once only until the result is known.
fn run(automata: &[u16], at: usize, subject: &[u8]) -> bool {
    let (automata, at) = (View::from_slice(automata), at as u32);
    let next = |state, byte: &u8| automaton::next(automata, at, state, *byte);
    let to_the_end = subject.iter().fold(automaton::start(), next);
    let (mut state, mut rest) = (automaton::start(), subject.iter());
    while !automaton::is_final(state)
        && let Some(byte) = rest.next()
    {
        state = next(state, byte);
    }
    let [answer, known] = [to_the_end, state].map(|state| automaton::accepts(automata, at, state));
    assert_eq!(answer, known, "the result changes after a final state");
    answer
}

/// Returns the results of both ways to run a pattern.
fn both(pattern: &str, kind: PatternKind, subject: &[u8]) -> bool {
    let compiled = compile(pattern, kind).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let compiled = says(&compiled, subject);
    let found = holds(pattern.as_bytes(), kind, subject);
    assert_eq!(
        compiled,
        found,
        "compiled and not: {kind:?} {pattern} of {:?}",
        subject.escape_ascii().to_string()
    );
    compiled
}

fn says(compiled: &Compiled, subject: &[u8]) -> bool {
    match compiled {
        Compiled::Automaton(words) => run(words, 0, subject),
        Compiled::NotARegexp => false,
    }
}

fn is_regexp(pattern: &str) -> bool {
    parse(pattern).is_some()
}

#[test]
fn patterns_match_all_of_a_string_and_are_searched_in_it() {
    for [pattern, subject, matches, found] in rows(PATTERN_CASES, "subjects") {
        let pattern = str::from_utf8(&pattern).unwrap();
        let answers = [Match, Search].map(|kind| both(pattern, kind, &subject).to_string().into_bytes());
        assert_eq!(answers, [matches, found], "{pattern} of {:?}", subject.escape_ascii().to_string());
    }
    // Numbers that the oracle cannot count to.
    let large = "(){99999999999}a{1,000000000000000000002}";
    assert!(both(large, Match, b"aa") && both(large, Search, b"aa"));
}

#[test]
fn what_is_no_i_regexp_by_the_grammar_is_none() {
    for (section, expected) in [("good", true), ("bad", false)] {
        for [pattern] in texts(PATTERN_CASES, section) {
            assert_eq!(is_regexp(&pattern), expected, "{pattern}");
            let is_translated = oracle::translate(pattern.as_bytes()).is_some();
            assert_eq!(is_translated, expected, "the oracle about {pattern}");
        }
    }
    // Numbers that the oracle cannot count to.
    assert!(is_regexp("a{99999999999,99999999999}") && !is_regexp("a{99999999999,99999999998}"));
    assert_eq!(compile("(", Search), Ok(Compiled::NotARegexp));
    assert!(!holds(b"(", Search, b"("));
    assert!(!holds(b"\xff", Search, b"\xff"), "a pattern that is not UTF-8");
}

#[test]
fn categories_are_unicodes() {
    let chars = (0..0x3000).chain((0x3000..0x0011_0000).step_by(59)).filter_map(char::from_u32);
    let chars: Vec<String> = chars.map(String::from).collect();
    let categories = "L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps Z Zl Zp Zs S Sc Sk Sm So C Cc Cf Cn Co";
    for category in categories.split(' ') {
        for pattern in
            [format!(r"\p{{{category}}}"), format!(r"\P{{{category}}}"), format!(r"[^\p{{{category}}}a-m]")]
        {
            let words = words(&pattern, Match);
            let expected = regex::Regex::new(&format!(r"\A{pattern}\z")).expect("an expression of the crate");
            for c in &chars {
                assert_eq!(
                    run(&words, 0, c.as_bytes()),
                    expected.is_match(c),
                    "{pattern} of {:?}",
                    c.escape_unicode()
                );
            }
        }
    }
}

/// Random patterns and subjects.
struct Cases(Rng);

impl Cases {
    fn pattern(&mut self, depth: usize) -> String {
        let mut pattern = String::new();
        for branch in 0..1 + self.0.below(5) / 3 {
            pattern.push_str(if branch > 0 { "|" } else { "" });
            for _ in 0..self.0.below(4) {
                match self.0.below(12) {
                    0..=2 if depth > 0 => pattern.push_str(&format!("({})", self.pattern(depth - 1))),
                    3 => pattern.push_str(self.0.pick(&["^", "$"])),
                    4 => pattern.push('.'),
                    5 => pattern.push_str(self.0.pick(&[r"\p{L}", r"\P{Lu}", r"\p{Nd}", r"\p{Zl}"])),
                    6 | 7 => {
                        let inside =
                            ["a", "b-é", "é-€", r"\p{Lu}", r"\P{L}", r"\n", r"\]", "^", "€-𐄁", r"\--a"];
                        let inside: String = (0..1 + self.0.below(3)).map(|_| self.0.pick(&inside)).collect();
                        let [not, first, last] =
                            ["^", "-", "-"].map(|c| if self.0.below(3) == 0 { c } else { "" });
                        pattern.push_str(&format!("[{not}{first}{inside}{last}]"));
                    }
                    _ => pattern.push_str(self.0.pick(&["a", "b", "ab", "é", "€", "𐄁", r"\.", r"\n", "A"])),
                }
                let quantifiers = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}", "{3,1}", "**"];
                let good = if self.0.below(20) == 0 { 12 } else { 10 };
                pattern.push_str(self.0.pick(&quantifiers[..good]));
            }
        }
        pattern
    }

    fn subject(&mut self) -> Vec<u8> {
        let parts: [&[u8]; 18] = [
            b"a",
            b"a",
            b"b",
            b"b",
            b"ab",
            "é".as_bytes(),
            "€".as_bytes(),
            "𐄁".as_bytes(),
            b".",
            b"\n",
            b"\r",
            b"A",
            b"7",
            "\u{2028}".as_bytes(),
            b"\xed\xa0\x80",
            b"\xff",
            b"\xc3",
            b"\x82\xac",
        ];
        let parts = if self.0.below(2) == 0 { &parts[..8] } else { &parts[..] };
        (0..self.0.below(8)).flat_map(|_| self.0.pick(parts)).copied().collect()
    }
}

/// The number of random patterns.
const PATTERNS: usize = 600;

#[test]
fn random_patterns_do_as_the_oracle_says() {
    let mut cases = Cases(Rng::new(9485));
    let (mut refused, mut too_large, mut answers) = (0, 0, [0; 2]);
    for _ in 0..PATTERNS {
        let mut pattern = cases.pattern(2);
        if cases.0.below(8) == 0 {
            // Rarely an I-Regexp any more.
            let at = pattern
                .char_indices()
                .map(|(at, _)| at)
                .nth(cases.0.below(pattern.len() + 1))
                .unwrap_or(pattern.len());
            pattern.insert_str(at, cases.0.pick(&["(", ")", "[", "]", "{", "}", r"\", "*", "-", "|"]));
        }
        assert_eq!(is_regexp(&pattern), oracle::translate(pattern.as_bytes()).is_some(), "{pattern}");
        refused += usize::from(!is_regexp(&pattern));
        let compiled = [Match, Search].map(|kind| (kind, compile(&pattern, kind)));
        for _ in 0..12 {
            let subject = cases.subject();
            for (kind, compiled) in &compiled {
                let said = match kind {
                    Match => oracle::matches(pattern.as_bytes(), &subject),
                    Search => oracle::finds(pattern.as_bytes(), &subject),
                };
                let shown = subject.escape_ascii().to_string();
                assert_eq!(
                    holds(pattern.as_bytes(), *kind, &subject),
                    said,
                    "{kind:?} {pattern} of {shown:?}"
                );
                match compiled {
                    Ok(compiled) => {
                        assert_eq!(says(compiled, &subject), said, "{kind:?} {pattern} of {shown:?}");
                    }
                    Err(_) => too_large += 1,
                }
                answers[usize::from(said)] += 1;
            }
        }
    }
    assert!(
        refused > PATTERNS / 15 && answers.iter().all(|count| *count > 3 * PATTERNS),
        "{refused} refused, {answers:?}"
    );
    assert!(too_large < PATTERNS / 2, "{too_large} were not compiled");
}

#[test]
fn equal_patterns_are_equal_tables() {
    for same in [
        &["a|b|c", "[a-c]", "[abc]", "(a|(b|c))", "c|[ab]|a"][..],
        &["a*", "(a*)*", "(a|aa)*", "a{0,}", "(a+)?", "((a?){3}a)*|a{0,2}"],
        &["(ab|cd)e", "abe|cde", "(a(b)|c(d))e"],
        &[r"[\p{L}\P{L}]", r"\p{Lu}|\P{Lu}", r"[^\n]|\n"],
        &["(a|b)*a(a|b)", "[ab]*(aa|ab)", "([ab]*a[ab])"],
        // The empty automaton.
        &[r"[^\p{L}\P{L}]", "a^b", "b$a", r"x[^\p{L}\P{L}]*$y"],
    ] {
        for kind in [Match, Search] {
            let first = words(same[0], kind);
            for other in &same[1..] {
                assert!(words(other, kind) == first, "{kind:?} {} and {other}", same[0]);
            }
        }
    }
    assert!(words("a", Match) != words("b", Match) && words("a", Match) != words("a", Search));
}

#[test]
fn a_table_has_no_more_states_and_classes_than_it_needs() {
    let size = |pattern, kind| {
        let words = words(pattern, kind);
        (words[0], (words.len() - automaton::ROWS) / (usize::from(words[0]) + 1))
    };
    // States 0 and 1, and for `match` one for each byte read and one before the first.
    assert_eq!(size("abc", Match), (4, 6));
    assert_eq!(size("abc", Search), (4, 5));
    assert_eq!(size("[ab]*a[ab]{12}", Search), (3, 15));
    assert_eq!(size(".*(a.*b|c.*d|e.*f|g.*h|i.*j|k.*l).*", Search), (24, 507));
    // Where everything or nothing matches from the start, the start still has its row.
    assert_eq!(size("", Search), (1, 3));
    assert_eq!(size("x*", Search), (1, 3));
    assert_eq!(size("a^", Match), (1, 3));
    assert!(run(&words("", Search), 0, b"") && !run(&words("a^", Match), 0, b""));
}

#[test]
fn automata_stand_one_behind_the_other() {
    let patterns = ["a+", r"\p{Lu}.*", "", "x$", "(ab){2,}"];
    let (mut automata, mut places) = (Vec::new(), Vec::new());
    for (pattern, kind) in patterns.iter().flat_map(|pattern| [(pattern, Match), (pattern, Search)]) {
        places.push((pattern, kind, automata.len()));
        automata.extend(words(pattern, kind));
    }
    for subject in ["", "a", "ba", "aa", "Ébc", "éX", "abab", "xababx"] {
        for (pattern, kind, at) in &places {
            let said = holds(pattern.as_bytes(), *kind, subject.as_bytes());
            assert_eq!(run(&automata, *at, subject.as_bytes()), said, "{kind:?} {pattern} of {subject}");
        }
    }
}

#[test]
fn a_pattern_that_is_too_large_is_told_how_large() {
    let nested = |depth: usize| "(".repeat(depth) + "a" + &")*".repeat(depth);
    for (pattern, kind, error) in [
        (r"\p{L}{10}", Match, TooLarge::Table(572_994)),
        (r"\p{L}{1000}", Search, TooLarge::Expression),
        ("a{99999999999}", Match, TooLarge::Expression),
        ("((a{1000}){1000}){1000}", Match, TooLarge::Expression),
        ("[ab]*a[ab]{30}", Match, TooLarge::States),
        ("[ab]*a[ab]{30}", Search, TooLarge::States),
        ("(a|b|ab){2000}", Match, TooLarge::States),
        (&nested(251), Match, TooLarge::Groups(251)),
        (&nested(100_000), Search, TooLarge::Groups(100_000)),
    ] {
        assert_eq!(compile(pattern, kind), Err(error), "{kind:?} {}", &pattern[..pattern.len().min(40)]);
    }
    let told = [TooLarge::Table(572_994), TooLarge::Expression, TooLarge::States, TooLarge::Groups(251)];
    assert_eq!(
        told.map(|error| error.to_string()),
        [
            "its automaton takes 560 KiB, more than the 256 KiB that a pattern may have",
            "its expression, with repetitions written out, takes more than the 1024 KiB that a pattern may have",
            "its automaton has more states than are found in 4 MiB and 16 million steps",
            "groups are nested 251 deep, more than the 250 that a pattern may have",
        ]
    );
    // Near the limits, and not beyond; and a text that is not an I-Regexp is not too large.
    for pattern in [&nested(250), "(a|b|ab){0,40}", "((a|b|ab)*){2000}", "a{20000}", r"\p{L}\p{N}*\p{L}"] {
        assert!(compile(pattern, Match).is_ok(), "{}", &pattern[..pattern.len().min(40)]);
    }
    assert_eq!(compile(&("(".repeat(100_000) + &")".repeat(99_999)), Match), Ok(Compiled::NotARegexp));
}

#[test]
fn patterns_of_documents_may_be_larger_and_are_kept() {
    let letters = "é".repeat(100);
    assert!(holds(br"\p{L}{100}", Match, letters.as_bytes()));
    assert!(!holds(br"\p{L}{99}", Match, letters.as_bytes()));
    assert!(holds(br"\p{L}{99}", Search, letters.as_bytes()));
    assert!(holds(b"[ab]*a[ab]{30}", Match, &b"ba".repeat(16)));
    assert!(!holds(b"[ab]*a[ab]{30}", Match, &b"ab".repeat(16)));
    // Beyond the limits, patterns match no subject.
    assert!(!holds(b"a{0,99999999999}", Search, b"a"));
    assert!(!holds(("(".repeat(251) + &")".repeat(251)).as_bytes(), Search, b""));
    // More patterns than are kept, in turn, and some of them large.
    for round in 0..3 {
        for n in 0..2 * KEPT {
            let pattern = format!(r"\p{{L}}{{{}}}{n}", 1 + n * 5);
            let subject = format!("{}{n}", "ä".repeat(n * 5 + round));
            assert_eq!(
                holds(pattern.as_bytes(), Match, subject.as_bytes()),
                round == 1,
                "{pattern} of {subject}"
            );
        }
        KEPT_PATTERNS.with_borrow(|kept| {
            let bytes: usize = kept.iter().map(CompiledPattern::bytes).sum();
            // Patterns used since then may have gained states, up to 2 MiB each.
            let most = KEPT_BYTES + kept.len() * (2 << 20);
            assert!(kept.len() <= KEPT && bytes <= most, "{bytes} bytes of {}", kept.len());
        });
    }
}

#[test]
fn states_are_one_if_and_only_if_no_string_tells_them_apart() {
    let mut cases = Cases(Rng::new(1971));
    for _ in 0..300 {
        let (states, classes) = (3 + cases.0.below(14), 1 + cases.0.below(3));
        let mut next: Vec<u32> = (0..states * classes).map(|_| cases.0.below(states) as u32).collect();
        next[..classes].fill(0);
        next[classes..2 * classes].fill(1);
        let accepts: Vec<bool> =
            (0..states).map(|state| state == 1 || state > 1 && cases.0.below(3) == 0).collect();
        let automaton = Automaton { class_of: [0; 256], classes, next, accepts };

        // By the definition: states differ if one accepts and the other does not, or if a byte leads to
        // different states.
        let mut apart = vec![false; states * states];
        loop {
            let before = apart.clone();
            for (a, b) in (0..states).flat_map(|a| (0..states).map(move |b| (a, b))) {
                let leads_apart = (0..classes).any(|class| {
                    let [a, b] = [a, b].map(|state| automaton.next[state * classes + class] as usize);
                    before[a * states + b]
                });
                apart[a * states + b] = automaton.accepts[a] != automaton.accepts[b] || leads_apart;
            }
            if apart == before {
                break;
            }
        }
        let blocks = minimise::blocks(&automaton);
        for (a, b) in (0..states).flat_map(|a| (0..states).map(move |b| (a, b))) {
            assert_eq!(blocks[a] != blocks[b], apart[a * states + b], "{a} and {b} of {:?}", automaton.next);
        }
    }
}

/// The table, the automaton and the reference rule agree about patterns of strings.
#[test]
fn patterns_of_strings_are_compiled() {
    const PARTS: [&[u8]; 14] = [
        b"a",
        b"b",
        b"A",
        b"%",
        b"_",
        b"\xc3\xa9",
        b"\xc3\x89",
        "😀".as_bytes(),
        b"\0",
        b"\n",
        b"\\",
        b"'",
        b"\"",
        b".*",
    ];
    const ODD: [&[u8]; 4] = [b"\xed\xa0\x80", b"\xff", b"\xa9", b"\xc3"];
    let mut rng = Rng::new(11);
    let (mut found, mut folded) = (0, 0);
    for _ in 0..4000 {
        let text: Vec<u8> = (0..rng.below(5)).flat_map(|_| rng.pick(&PARTS).to_vec()).collect();
        let as_str = str::from_utf8(&text).unwrap();
        let pattern = match rng.below(5) {
            0 => Strings::Contains(text.clone()),
            1 => Strings::StartsWith(text.clone()),
            2 => Strings::EndsWith(text.clone()),
            3 => Strings::Equals(text.clone()),
            _ => Strings::like(as_str, None).unwrap(),
        };
        let [exact, ignoring] = [false, true].map(|ignores| {
            (compile_strings(&pattern, ignores).unwrap(), automaton_of(&pattern, ignores).unwrap())
        });
        for _ in 0..20 {
            let string: Vec<u8> = (0..rng.below(7))
                .flat_map(|_| if rng.below(9) == 0 { rng.pick(&ODD) } else { rng.pick(&PARTS) }.to_vec())
                .collect();
            let shown = || format!("{pattern:?} of {}", string.escape_ascii());
            let wanted = pattern.matches(&string);
            assert_eq!(run(&exact.0, 0, &string), wanted, "{}", shown());
            assert_eq!(exact.1.accepts(&string), wanted, "{}", shown());
            let is_folded = run(&ignoring.0, 0, &string);
            assert_eq!(ignoring.1.accepts(&string), is_folded, "{}", shown());
            assert!(is_folded || !wanted, "{}", shown());
            found += usize::from(wanted);
            folded += usize::from(is_folded);
        }
    }
    assert!(found > 8000 && folded > found + 200, "{found} {folded}");
}

#[test]
fn a_text_that_is_too_large_is_refused() {
    let long = "ab".repeat(50_000).into_bytes();
    for ignores_case in [false, true] {
        for pattern in [Strings::Contains(long.clone()), Strings::EndsWith(long.clone())] {
            assert!(compile_strings(&pattern, ignores_case).is_err());
        }
        let short = ["b", &"a".repeat(5000)].concat().into_bytes();
        assert!(compile_strings(&Strings::Contains(short), ignores_case).is_ok());
        let wide = Strings::like(&format!("%a{}b", "_".repeat(40)), None).unwrap();
        assert_eq!(compile_strings(&wide, ignores_case), Err(TooLarge::States));
    }
}
