//! Streaming compared with interpreting.

use warpath_lang::program::Query as Path;
use warpath_random::{Rng, cases};

use super::*;

/// Names as texts spell them: plain, escaped, long, and with equal ends.
const NAMES: [&str; 16] = [
    "a",
    "b",
    "user",
    "lang",
    "aser",
    "xuser",
    "",
    "\\u0061",
    "us\\u0065r",
    "\\\\",
    "q\\\"a",
    "é",
    "text",
    "urls",
    "a_name_that_is_longer_than_a_word_of_sixty_four_bytes_and_so_has_no_length_that_is_told_apart",
    "another_name_of_forty_characters_or_so__",
];

/// The style of a text: with white space, and with violations of JSON that are not reported as faults.
#[derive(Clone, Copy)]
struct Style {
    spaced: bool,
    odd: bool,
}

fn name<'a>(rng: &mut Rng) -> &'a str {
    let few = if rng.below(2) == 0 { 4 } else { NAMES.len() };
    rng.pick(&NAMES[..few])
}

fn value(rng: &mut Rng, depth: usize, style: Style, out: &mut String) {
    let space = |rng: &mut Rng, out: &mut String| {
        if style.odd && rng.below(20) == 0 {
            out.push_str(rng.pick(&[":", ",", "1", "x ", "{}", "[1]", "\"user\"", "\"lang\":", "\\"]));
        }
        if style.spaced && rng.below(3) == 0 {
            out.push_str(rng.pick(&[" ", "  ", "\t", " \t "]));
        }
    };
    match if depth == 0 { rng.below(5) } else { rng.below(10) } {
        0 | 1 => out.push_str(rng.pick(&["null", "true", "-1.5e3", "0", "12345678901234567890"])),
        2 => out.push_str(rng.pick(&["\"\"", "\"x\"", "\"user\"", "\"lang\"", "[]", "{}"])),
        3 | 4 => {
            out.push('"');
            let most = if rng.below(8) == 0 { 90 } else { 6 };
            for _ in 0..rng.below(most) {
                out.push_str(rng.pick(&[
                    "x",
                    "user",
                    "{",
                    "}",
                    "[",
                    "]",
                    ":",
                    ",",
                    "\\\"",
                    "\\\\",
                    "\\n",
                    "é",
                    "\\u0078",
                    "\\u0075ser",
                    "\\u00e9",
                    "\\/",
                ]));
            }
            out.push('"');
        }
        5..8 => {
            out.push('{');
            for i in 0..rng.below(6) {
                out.push_str(if i > 0 { "," } else { "" });
                space(rng, out);
                out.push('"');
                out.push_str(name(rng));
                out.push('"');
                space(rng, out);
                out.push(':');
                space(rng, out);
                value(rng, depth - 1, style, out);
                space(rng, out);
            }
            out.push('}');
        }
        _ => {
            out.push('[');
            for i in 0..rng.below(6) {
                out.push_str(if i > 0 { "," } else { "" });
                space(rng, out);
                value(rng, depth - 1, style, out);
                space(rng, out);
            }
            out.push(']');
        }
    }
}

fn text(rng: &mut Rng, lines: usize) -> Vec<u8> {
    let mut out = String::new();
    for _ in 0..lines {
        let (depth, style) = (rng.below(7), Style { spaced: rng.below(3) == 0, odd: rng.below(3) == 0 });
        match rng.below(24) {
            0 => {}
            1 => out.push_str("  \t"),
            // Some as deep as the pass goes, and some deeper.
            2 => {
                let depth = 50 + rng.below(30);
                out.push_str(&"{\"a\":".repeat(depth));
                value(rng, 1, style, &mut out);
                out.push_str(&"}".repeat(depth));
            }
            _ => value(rng, depth, style, &mut out),
        }
        out.push_str(if rng.below(9) == 0 { "\r\n" } else { "\n" });
    }
    if rng.below(3) == 0 {
        out.truncate(out.trim_end().len());
    }
    out.into_bytes()
}

fn mutate(rng: &mut Rng, text: &mut Vec<u8>) {
    const BYTES: &[u8] = b"\"\"\\{}[]::,,\n\r \0a*\xff";
    for _ in 0..1 + rng.below(1 + text.len() / 60) {
        if text.is_empty() {
            return;
        }
        let (at, byte) = (rng.below(text.len()), BYTES[rng.below(BYTES.len())]);
        match rng.below(4) {
            0 => text[at] = byte,
            1 => text.insert(at, byte),
            2 => drop(text.remove(at)),
            // Copies a stretch of the text, so that values are adjacent.
            _ => {
                let end = (at + rng.below(40)).min(text.len());
                let copy = text[at..end].to_vec();
                let to = rng.below(text.len());
                text.splice(to..to, copy);
            }
        }
    }
}

fn path(rng: &mut Rng) -> String {
    let mut path = String::from("$");
    for _ in 0..rng.below(5) {
        path.push_str(&match rng.below(12) {
            0 => "[*]".to_owned(),
            1 => "[0]".to_owned(),
            2 => "[?@.a == 0]".to_owned(),
            3 => format!("[\"{}\",\"{}\"]", name(rng), name(rng)),
            _ => format!("[\"{}\"]", name(rng)),
        });
    }
    path
}

/// The results in an instruction set, with a plan and needles.
fn ran(
    isa: Isa,
    text: &[u8],
    program: &Program,
    (plan, needles): (Option<&Plan>, Option<Needles>),
    want: Want,
    scratch: &mut Scratch,
) -> Answer {
    let mut sink = Collector::default();
    sink.begin(program, want);
    isa.run(Query { text, program, plan, needles, scratch, sink: &mut sink });
    Answer { pieces: vec![sink.piece] }
}

/// The number that a count must exceed, so that the comparison proves something. `all` is that of all cases.
fn least(all: usize) -> u64 {
    cases(all) as u64
}

/// Streaming gives the results of interpreting, in every instruction set.
#[test]
fn streaming_is_interpreting() {
    let rng = &mut Rng::new(1);
    let mut scratch = Scratch::default();
    let (mut streamed, mut matches) = (0, 0);
    for round in 0..cases(40_000) {
        let lines = 1 + rng.below(if round % 50 == 0 { 300 } else { 6 });
        let mut text = text(rng, lines);
        if round % 2 == 0 {
            mutate(rng, &mut text);
        }
        let paths: Vec<String> = (0..1 + rng.below(5)).map(|_| path(rng)).collect();
        let queries: Vec<Path> = paths.iter().map(|path| Path::compile(path).unwrap()).collect();
        let program = Program::new(&queries).unwrap();
        let plan = Plan::of(&program);
        streamed += u64::from(plan.is_some());
        let want = Want::new().matches(true).records(true);
        let mut run = |isa, plan| ran(isa, &text, &program, (plan, None), want, &mut scratch);
        let wanted = run(Isa::best(), None);
        matches += wanted.pieces[0].counts.iter().sum::<u64>();
        for isa in Isa::all() {
            let got = run(isa, plan.as_ref());
            assert_eq!(got, wanted, "{}: {paths:?} of {}", isa.name(), text.escape_ascii());
        }
    }
    // Otherwise the comparison proves nothing.
    assert!(streamed > least(10_000) && matches > least(100_000), "{streamed} {matches}");
}

/// Lines of 0 to 200 bytes, at each offset in a block, have the results of interpreting in every instruction
/// set.
#[test]
fn lines_of_each_length_stream_at_each_offset() {
    let queries = ["$.b", "$[\"a\"][\"b\"]"].map(|path| Path::compile(path).unwrap());
    let program = Program::new(&queries).unwrap();
    let plan = Plan::of(&program).unwrap();
    let want = Want::new().matches(true).records(true);
    let mut scratch = Scratch::default();
    for len in 0..=200_usize {
        // Short lines are numbers. Others have a string of escaped quotes.
        let line = match len.checked_sub(8) {
            None => "1".repeat(len),
            Some(inner) => format!("{{\"b\":\"{}{}\"}}", "\\\"".repeat(inner / 2), "x".repeat(inner % 2)),
        };
        assert_eq!(line.len(), len);
        for offset in 0..64_usize {
            let before = offset.checked_sub(1).map_or(String::new(), |digits| "1".repeat(digits) + "\n");
            let text = format!("{before}{line}\n{{\"a\":{{\"b\":[]}}}}\n");
            let mut run = |isa, plan| ran(isa, text.as_bytes(), &program, (plan, None), want, &mut scratch);
            let wanted = run(Isa::best(), None);
            assert_eq!(wanted.pieces[0].counts.iter().sum::<u64>(), 1 + u64::from(len >= 8), "{text}");
            for isa in Isa::all() {
                assert_eq!(run(isa, Some(&plan)), wanted, "{}: {text}", isa.name());
            }
        }
    }
}

/// Names at any depth are found by shapes as by trees, in every instruction set.
#[test]
fn names_anywhere_are_those_of_trees() {
    let rng = &mut Rng::new(4);
    let mut scratch = Scratch::default();
    let (mut planned, mut matches) = (0, 0);
    for round in 0..cases(30_000) {
        let mut text = Vec::new();
        // A line before the others moves them to every offset in a word.
        if round % 3 != 0 {
            text.extend_from_slice(format!("{{\"x\":\"{}\"}}\n", "x".repeat(rng.below(200))).as_bytes());
        }
        let lines = 1 + rng.below(if round % 50 == 0 { 300 } else { 6 });
        text.extend(self::text(rng, lines));
        if round % 3 == 0 {
            mutate(rng, &mut text);
        }
        if text.is_empty() {
            continue;
        }
        let paths: Vec<String> = (0..1 + rng.below(4)).map(|_| format!("$..[\"{}\"]", name(rng))).collect();
        let queries: Vec<Path> = paths.iter().map(|path| Path::compile(path).unwrap()).collect();
        let program = Program::new(&queries).unwrap();
        let limit = (round % 7 == 0).then(|| Limit::Matches(1 + rng.below(4) as u64));
        let want = Want::new().matches(true).records(true);
        let want = limit.map_or(want, |limit| want.limit(limit));
        let mut run = |isa: Isa, plan: Option<&Plan>| {
            let (mut sink, scratch, text, program) = (Collector::default(), &mut scratch, &text, &program);
            sink.begin(program, want);
            match plan {
                Some(plan) => isa.run(Anywhere { text, program, plan, scratch, sink: &mut sink }),
                None => isa.run(ByTrees { text, program, scratch, sink: &mut sink }),
            }
            sink.piece
        };
        let Some(plan) = Plan::anywhere(&program.view(), program.names()) else { continue };
        planned += 1;
        let wanted = run(Isa::best(), None);
        matches += wanted.counts.iter().sum::<u64>();
        for isa in Isa::all() {
            let got = run(isa, Some(&plan));
            assert_eq!(got, wanted, "{}: {paths:?} of {}", isa.name(), text.escape_ascii());
        }
    }
    let decided = scratch.anywhere.decided;
    // Otherwise the comparison proves nothing.
    assert!(
        planned > least(10_000) && matches > least(20_000) && decided > least(20_000),
        "{planned} {matches} {decided}"
    );
}

/// A condition on names, which is true of a record now and then.
fn condition(rng: &mut Rng, depth: usize) -> String {
    let sub = |rng: &mut Rng| condition(rng, depth - 1);
    match if depth == 0 { rng.below(6) } else { rng.below(10) } {
        6 | 7 => format!("({} && {})", sub(rng), sub(rng)),
        8 => format!("({} || {})", sub(rng), sub(rng)),
        9 => format!("!({})", sub(rng)),
        kind => {
            let mut path = String::from("$");
            for _ in 0..1 + rng.below(2) {
                path.push_str(&format!("[\"{}\"]", name(rng)));
            }
            if rng.below(6) == 0 {
                path.push_str("[0]");
            }
            match kind {
                0 => path,
                1 => format!("{path} {} 0", rng.pick(&["==", "!=", "<", ">="])),
                2 if rng.below(3) > 0 => {
                    let call = rng.pick(&[
                        "contains",
                        "starts_with",
                        "ends_with",
                        "like",
                        "icontains",
                        "iends_with",
                    ]);
                    let text =
                        rng.pick(&["", "x", "se", "user", "é", "a/", "x\\n", "{", "\\\"", "%us_r", "ang%"]);
                    format!("{call}({path}, \"{text}\")")
                }
                2 => format!("match({path}, \"u.*\")"),
                _ => {
                    let op = rng.pick(&["==", "==", "==", "!=", "<="]);
                    let literal = rng.pick(&["", "x", "user", "lang", "é", "a/b", "x\\n", "{", "\\\""]);
                    format!("{path} {op} \"{literal}\"")
                }
            }
        }
    }
}

/// A record without the needles of a predicate has no results, by an index as by streaming.
#[test]
fn needles_change_no_result() {
    let rng = &mut Rng::new(2);
    let mut scratch = Scratch::default();
    let (mut chosen, mut passed_over, mut matches) = (0, 0, 0);
    for round in 0..cases(40_000) {
        let lines = 1 + rng.below(if round % 50 == 0 { 300 } else { 6 });
        let mut text = text(rng, lines);
        if round % 2 == 0 {
            mutate(rng, &mut text);
        }
        let condition = condition(rng, 3);
        let predicate = std::sync::Arc::new(warpath_lang::predicate::Predicate::parse(&condition).unwrap());
        let paths = [Path::compile("$").unwrap(), Path::compile(&path(rng)).unwrap()];
        let program = Program::new(&paths).unwrap().matching(&predicate, round % 3 == 0).unwrap();
        if program.needs_trees() {
            continue;
        }
        let mut hits = |needle: &[u8]| memchr::memmem::find_iter(&text, needle).count();
        let Some((needles, _)) = predicate.needles(9, &mut hits) else { continue };
        chosen += 1;
        let mut searching = Needles::searching(&needles);
        let (mut at, mut held) = (0, false);
        while at < text.len() {
            let end = line_end(&text, at);
            let occur = searching.occur(&text, at, end);
            held |= occur;
            passed_over += u64::from(!occur);
            at = end;
        }
        let want = Want::new().matches(true).records(true);
        let nothing = Plan::nothing();
        let mut run = |isa, plan, needles| ran(isa, &text, &program, (plan, needles), want, &mut scratch);
        let wanted = run(Isa::best(), None, None);
        let found = wanted.pieces[0].counts.iter().sum::<u64>();
        assert!(held || found == 0, "{condition}: {needles:?} of {}", text.escape_ascii());
        matches += found;
        for isa in Isa::all() {
            for plan in [None, Some(&nothing)] {
                let got = run(isa, plan, Some(Needles::searching(&needles)));
                assert_eq!(
                    got,
                    wanted,
                    "{}: {condition} by {needles:?} of {}",
                    isa.name(),
                    text.escape_ascii()
                );
            }
        }
    }
    // Otherwise the comparison proves nothing.
    assert!(
        chosen > least(10_000) && passed_over > least(10_000) && matches > least(900),
        "{chosen} {passed_over} {matches}"
    );
}

/// The rarest text is chosen of those without which a predicate is false.
#[test]
fn the_rarest_needles_are_chosen() {
    let head = br#"{"kind":"commit","commit":{"operation":"create"}} {"kind":"commit","status":404}"#;
    let needles_of = |condition: &str| {
        let predicate = warpath_lang::predicate::Predicate::parse(condition).unwrap();
        let (needles, _) =
            predicate.needles(4, &mut |needle| memchr::memmem::find_iter(head, needle).count())?;
        let needles = needles.into_iter().map(|needle| String::from_utf8(needle).unwrap());
        Some(needles.filter(|needle| !needle.starts_with('\\')).collect::<Vec<_>>().join(" "))
    };
    let chosen = |needles: &str| Some(needles.to_owned());
    assert_eq!(needles_of(r#"$.kind == "commit" && $.commit.operation == "delete""#), chosen(r#""delete""#));
    assert_eq!(needles_of(r#"$.kind == "commit" && $.status > 400"#), chosen(r#""status""#));
    assert_eq!(needles_of(r#"$.status == 404 || $.status == 500"#), chosen(r#""status""#));
    assert_eq!(needles_of(r#"$.kind == "a" || $.kind == "b""#), chosen(r#""a" "b""#));
    assert_eq!(needles_of(r#"($.kind == "a" || $.kind == "b") && $.x"#), chosen(r#""x""#));
    assert_eq!(needles_of(r#"contains($.kind, "lete")"#), chosen("lete"));
    assert_eq!(needles_of(r#"$.kind like "_dele%te%" && $.status"#), chosen("dele"));
    assert_eq!(needles_of(r#"icontains($.status, "delete")"#), chosen(r#""status""#));
    assert_eq!(needles_of(r#"starts_with($.status, "")"#), chosen(r#""status""#));
    assert_eq!(needles_of(r#"ends_with($.status, "\"x\"")"#), chosen(r#""status""#));
    assert_eq!(needles_of(r#"!contains($.kind, "x")"#), None);
    assert_eq!(needles_of(r#"cidr($.status, "::1")"#), chosen(r#""status""#));
    assert_eq!(needles_of(r#"$.kind != "a""#), None);
    assert_eq!(needles_of(r#"$.kind == "a" || !$.status"#), None);
    assert_eq!(needles_of(r#"$.url == "a/b" && $.status"#), chosen(r#""url""#));
    // The names suffice for many values, and no sample is searched for thousands of texts.
    let many: Vec<String> = (0..3000).map(|value| format!("'zzzz{value}'")).collect();
    assert_eq!(needles_of(&format!("$.zzz in ({})", many.join(", "))), chosen(r#""zzz""#));
    assert_eq!(needles_of(&format!("$.zzz not in ({})", many.join(", "))), None);
    assert_eq!(needles_of(&format!("$.zzz not in ({}) && $.x", many.join(", "))), chosen(r#""x""#));
    let many: Vec<String> = (0..3000).map(|value| format!("$.zzz > {value}")).collect();
    assert_eq!(needles_of(&many.join(" || ")), None);
}

/// Short regular records are decided by their shapes: many lines of one shape, and lines of changing shapes.
#[test]
fn short_records_are_decided_by_their_shapes() {
    struct Looks<'a>(&'a [u8], &'a Plan);
    impl Work for Looks<'_> {
        type Output = (usize, Vec<(usize, String)>);
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let Self(text, plan) = self;
            let (mut batch, mut short) = (WordBatch::default(), Short::default());
            let (mut at, mut ended, mut values) = (0, 0, Vec::new());
            batch.clear(true);
            short.begin(plan);
            while at < text.len() {
                batch.begin(simd, text, at);
                let mut found = Vec::new();
                let Looked::Ended(next) = short.record::<S, false>(simd, &batch, text, at, plan, &mut found)
                else {
                    at = line_end(text, at);
                    continue;
                };
                let text = |found: &BlockValue| {
                    String::from_utf8_lossy(&text[found.start as usize..found.end as usize])
                };
                values.extend(found.iter().map(|found| (found.block, text(found).into_owned())));
                (ended, at) = (ended + 1, next);
            }
            (ended, values)
        }
    }
    let paths = ["$.user.lang", "$.lang", "$.tags"].map(|path| Path::compile(path).unwrap());
    let program = Program::new(&paths).unwrap();
    let plan = Plan::of(&program).unwrap();
    let decided: [(&str, &[&str]); 8] = [
        (r#"{"id":1,"user":{"id":2,"lang":"en"},"lang":"nl"}"#, &[r#""en""#, r#""nl""#]),
        (r#"{"id": 1, "lang": 7 , "user": {"lang": "en" }}"#, &["7", r#""en""#]),
        (r#"{"text":"\u00e9 \"user\": {","user":{"lang":"\/"},"lang":-1.5e3}"#, &[r#""\/""#, "-1.5e3"]),
        (
            r#"{"lang":[{"lang":1}],"tags":[[1],{"lang":2}],"user":{}}"#,
            &[r#"[{"lang":1}]"#, r#"[[1],{"lang":2}]"#],
        ),
        (r#"{"x":{"lang":1,"user":{"lang":2}},"user":[{"lang":3}]}"#, &[]),
        (r#"{"lang":1,"lang":2}"#, &["1"]),
        (r#"[{"lang":1}]"#, &[]),
        (r#"{}"#, &[]),
    ];
    let undecided = [
        r#"{"lang" : 1}"#,
        r#"{"l\u0061ng":1}"#,
        r#"{"lang":1]"#,
        r#"{"lang":1}}"#,
        r#"{"lang":1"#,
        r#"{"lang":"#,
    ];
    let mut text = String::new();
    for _ in 0..20 {
        for line in decided.iter().map(|(line, _)| *line).chain(undecided) {
            text += line;
            text += if text.len().is_multiple_of(3) { " \r\n" } else { "\n" };
        }
    }
    let wanted: Vec<&str> =
        (0..20).flat_map(|_| decided.iter().flat_map(|(_, values)| *values)).copied().collect();
    for isa in Isa::all() {
        let (ended, values) = isa.run(Looks(text.as_bytes(), &plan));
        assert_eq!(ended, 20 * decided.len(), "{}", isa.name());
        assert_eq!(
            values.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(),
            wanted,
            "{}",
            isa.name()
        );
    }
}

/// Regular records stream, whatever their white space.
#[test]
fn what_is_usual_streams() {
    let usual: [&[u8]; 6] = [
        br#"{"id":1,"user":{"id":2,"lang":"en"},"lang":"nl"}"#,
        br#"{"id": 1, "user": {"id": 2, "lang": "en"}, "lang": "nl"}"#,
        br#" { "id" : 1 , "user" : { "id" : 2 , "lang" : "en" } , "lang" : "nl" } "#,
        br#"{"text":"\u00e9 \"user\": {","user":{"lang":"\/"},"lang":[1,[{}]]}"#,
        br#"[{"user":1}]"#,
        br#"{}"#,
    ];
    struct Pass<'a>(&'a [u8], &'a Plan);
    impl Work for Pass<'_> {
        type Output = Option<usize>;
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let start = self.0.iter().position(|byte| *byte != b' ')?;
            let mut scan = Scan::default();
            scan.clear(self.1);
            scan.record(simd, self.0, start, self.1)
        }
    }
    let queries = ["$.user.lang", "$.lang"].map(|path| Path::compile(path).unwrap());
    let program = Program::new(&queries).unwrap();
    let plan = Plan::of(&program).unwrap();
    for line in usual {
        for isa in Isa::all() {
            let next = isa.run(Pass(line, &plan));
            assert_eq!(next, Some(line.len()), "{} {}", isa.name(), line.escape_ascii());
        }
    }
}
