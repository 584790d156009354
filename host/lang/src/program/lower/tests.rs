use super::*;

/// Predicates that are refused when they are compiled, before `$.id` or another path: the path, the
/// predicate, the text that the caret marks, the message and the hint.
#[test]
fn predicates_are_refused_in_their_own_text() {
    let many = |count: usize| format!("${}", "[*]".repeat(count));
    let branches = |predicate: usize| {
        format!("{predicate} nested branches in the predicate; at most {} are allowed", MAX_FRAMES - 2)
    };
    let column = |name: &str| format!("there is no column `{name}`: there is no index");
    let path = |path: &str| format!("a member of the record is a path: `{path}`");
    for (query, predicate, marked, message, help) in [
        ("$.id", many(MAX_FRAMES + 1), &many(MAX_FRAMES + 1)[..], branches(MAX_FRAMES + 1), String::new()),
        (
            "$.id",
            format!("$.a or {}", many(MAX_FRAMES - 1)),
            &format!("$.a or {}", many(MAX_FRAMES - 1)),
            branches(MAX_FRAMES - 1),
            String::new(),
        ),
        (
            &many(MAX_FRAMES),
            "$.a".to_owned(),
            &many(MAX_FRAMES),
            format!(
                "{MAX_FRAMES} nested branches, in one path or several; with a predicate, at most {} are \
                 allowed",
                MAX_FRAMES - 1
            ),
            String::new(),
        ),
        ("$", "$.a and lang = 1".to_owned(), "lang", column("lang"), path("$.lang")),
        ("$", "user.lang = 1".to_owned(), "user.lang", column("user.lang"), path("$.user.lang")),
        ("$", "user-f > 5".to_owned(), "user-f", column("user-f"), path("$['user-f']")),
        ("$", "a.b-c.1.d > 5".to_owned(), "a.b-c.1.d", column("a.b-c.1.d"), path("$.a['b-c']['1'].d")),
        ("$", "`a b.c` > 5".to_owned(), "`a b.c`", column("a b.c"), path("$['a b.c']")),
        ("$", "`in` > 5".to_owned(), "`in`", column("in"), path("$.in")),
    ] {
        let program = Program::new(&[Query::compile(query).expect(query)]).expect(query);
        let predicate = Arc::new(Predicate::parse(&predicate).expect("a predicate"));
        let refused = program.matching(&predicate, false);
        let Err(Error::Unsupported(error) | Error::Expression(error)) = refused else {
            panic!("{}: {refused:?}", predicate.text());
        };
        let shown = error.render();
        let error = error.diagnostic();
        let text = if error.message.contains("several") { query } else { predicate.text() };
        let found = (
            &text[error.span.start..error.span.end],
            &*error.message,
            error.help.as_deref().unwrap_or_default(),
        );
        assert_eq!(found, (marked, &*message, &*help), "{shown}");
        assert!(shown.contains(text), "{shown}");
    }
    // The largest that are compiled.
    let program = |query: &str| Program::new(&[Query::compile(query).expect(query)]).expect(query);
    for (query, predicate) in [("$.id", many(MAX_FRAMES - 2)), (&many(MAX_FRAMES - 1), "$.a".to_owned())] {
        let predicate = Arc::new(Predicate::parse(&predicate).expect("a predicate"));
        assert!(program(query).matching(&predicate, true).is_ok(), "{query}");
    }
}

/// The tests that a record with a number is compared with, where the predicate is a set of even numbers.
fn compared(program: &Program, value: i64) -> (usize, bool) {
    use warpath_shared::ir::{FAIL, PASS};

    let (_, tests, literals, _) = program.parts();
    let (mut next, mut count) = (program.parts().0[0].a as u32, 0);
    while next < FAIL {
        let test = &tests[next as usize];
        let digits = &literals[test.offset as usize..(test.offset + test.len) as usize];
        let digits = std::str::from_utf8(digits).unwrap();
        let number: i64 = format!("{digits:0<width$}", width = test.exponent as usize).parse().unwrap_or(0);
        let relation = match value.cmp(&number) {
            std::cmp::Ordering::Less => relation::LESS,
            std::cmp::Ordering::Equal => relation::EQUAL,
            std::cmp::Ordering::Greater => relation::GREATER,
        };
        next = if test.relation & relation != 0 { test.then } else { test.otherwise };
        count += 1;
    }
    (count, next == PASS)
}

#[test]
fn sets_are_searched() {
    let values: Vec<String> = (0..3000).map(|i| (i * 2).to_string()).collect();
    let equal: Vec<String> = values.iter().map(|value| format!("$['a'] == {value}")).collect();
    for text in [format!("$.a in ({})", values.join(",")), equal.join(" || ")] {
        let predicate = Arc::new(Predicate::parse(&text).unwrap());
        let program = Program::new(&[Query::compile("$").unwrap()]).unwrap();
        let program = program.matching(&predicate, false).unwrap();
        for value in [0, 1, 2, 2999, 3000, 5998, 5999, 9000] {
            let (count, holds) = compared(&program, value);
            assert_eq!(holds, value % 2 == 0 && value < 6000, "{value}");
            assert!(count <= 14, "{count}");
        }
    }
}
