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
