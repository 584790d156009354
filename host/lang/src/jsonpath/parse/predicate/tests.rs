use warpath_random::Rng;
use warpath_random::table::texts;

use super::*;
use crate::jsonpath::{MAX_DEPTH, parse};

const CASES: &str = include_str!("cases.txt");

/// Returns the parsed predicate in canonical form.
fn canonical(text: &str) -> String {
    match parse_predicate(text) {
        Ok(expr) => expr.to_string(),
        Err(error) => panic!("{}", error.render(text)),
    }
}

#[test]
fn predicates_have_one_canonical_form() {
    for [text, expected] in texts(CASES, "canonical") {
        assert_eq!(canonical(&text), expected, "{text}");
        assert_eq!(canonical(&expected), expected, "{text}");
    }
}

/// A filter's expression is a predicate, and means the same with `$` for `@`.
#[test]
fn filters_about_the_record_are_predicates() {
    for text in [
        "$.a",
        "$.a == 1 && $.b != 'x' || !($.c < 2)",
        "!match($.a, 'x')",
        "count($..*) > 1",
        "$[?@.a == 1]",
        "length(value($..a)) >= 3",
        "$.a == null",
    ] {
        let filter = parse(&format!("$[?{text}]")).expect(text).to_string();
        assert_eq!(format!("$[?{}]", canonical(text)), filter);
    }
}

#[test]
fn spans_are_of_their_texts() {
    let text = "not (aé > 5 or `b` in (1, 'x') )";
    let expr = parse_predicate(text).expect("a predicate");
    let at = |span: Span| &text[span.start..span.end];
    assert_eq!(at(expr.span), text);
    let LogicalExprKind::Not(inner) = &expr.kind else { panic!("{expr:?}") };
    assert_eq!(at(inner.span), "(aé > 5 or `b` in (1, 'x') )");
    let LogicalExprKind::Or(both) = &inner.kind else { panic!("{expr:?}") };
    let LogicalExprKind::Value(test) = &both[1].kind else { panic!("{expr:?}") };
    assert_eq!(at(test.span), "`b` in (1, 'x')");
    let ComparableKind::Column(column) = &test.subject.kind else { panic!("{test:?}") };
    assert_eq!((at(column.span), column.name.as_str()), ("`b`", "b"));
    let ValueTestKind::In(values) = &test.kind else { panic!("{test:?}") };
    assert_eq!(at(values[1].span), "'x'");
}

#[test]
fn mistakes_are_shown_where_they_are() {
    for [text, column, message, help] in texts(CASES, "refused") {
        let error = parse_predicate(&text).expect_err(&text);
        let shown = error.render(&text);
        let found = [error.column(&text).to_string(), error.message, error.help.unwrap_or_default()];
        assert_eq!(found, [column, message, help], "{shown}");
    }
}

#[test]
fn words_for_patterns_have_a_hint() {
    for word in ["starts with", "startsWith", "ends with", "ilike", "LIKE", "glob", "contains", "regexp", "~"]
    {
        for (subject, help) in [
            ("$.a", "patterns are matched by `match($.a, '…')` and `search($.a, '…')`"),
            ("a", "a column is tested by its values; patterns are tested by a path: `search($.a, 'x')`"),
        ] {
            let text = format!("{subject} {word} 'x'");
            let error = parse_predicate(&text).expect_err(&text);
            assert_eq!(error.help.as_deref(), Some(help), "{}", error.render(&text));
        }
    }
}

#[test]
fn rendered() {
    let text = "lang in (\"en\", nl)";
    assert_eq!(
        parse_predicate(text).expect_err(text).render(text),
        "error: expected a number, a string, `true` or `false`, found `nl`\n  lang in (\"en\", nl)\n                 ^^\n  \
         help: a column is compared with a literal; a string needs quotes: `\"nl\"`"
    );
}

#[test]
fn nesting_is_bounded() {
    let nested =
        |open: &str, close: &str, count: usize| format!("{}a = 1{}", open.repeat(count), close.repeat(count));
    for (open, close) in [("(", ")"), ("not ", ""), ("not(", ")"), ("!(", ")"), ("(b = 1 or ", ")")] {
        let each = open.matches("not").count() + open.matches('(').count();
        let deepest = nested(open, close, MAX_PREDICATE_DEPTH / each);
        assert_eq!(canonical(&canonical(&deepest)), canonical(&deepest), "{open}");
        let text = nested(open, close, MAX_PREDICATE_DEPTH / each + 1);
        let error = parse_predicate(&text).expect_err(open);
        assert_eq!(error.kind, DiagnosticKind::TooDeep, "{open}");
        // Far too deep is refused like one level too deep.
        assert!(parse_predicate(&nested(open, close, 100_000)).is_err());
    }
    let filters = |count: usize| format!("$.a{}{}", "[?@".repeat(count), "]".repeat(count));
    assert!(parse_predicate(&filters(MAX_DEPTH)).is_ok());
    assert!(parse_predicate(&filters(100_000)).is_err());
}

#[test]
fn any_text_is_parsed_or_refused() {
    let parts = [
        "a", "and", "or", "not", "in", "between", "is", "null", "value", "(", ")", ",", "=", "<", ">=", "!",
        "1", "-", ".", "\"x\"", "'", "`", "\\", "é", " ", "\n", "\u{202e}", "true", "$.a", "@", "[?", "]",
        "&&", "||", "length(", "match(",
    ];
    let mut rng = Rng::new(1);
    let mut parsed = 0;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..1 + rng.below(9) {
            text.push_str(rng.pick(&parts));
            if rng.below(4) != 0 {
                text.push(' ');
            }
        }
        match parse_predicate(&text) {
            Ok(expr) => {
                parsed += 1;
                assert_eq!(canonical(&expr.to_string()), expr.to_string(), "{text}");
            }
            Err(error) => {
                assert!(
                    error.span.start <= error.span.end && error.span.end <= text.len(),
                    "{text:?}: {error:?}"
                );
                assert!(error.column(&text) >= 1 && error.render(&text).contains('^'), "{text:?}");
            }
        }
    }
    assert!(parsed > 10, "{parsed}");
}
