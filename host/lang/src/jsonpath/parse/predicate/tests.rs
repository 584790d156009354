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
    let patterns = "patterns are matched by `match($.a, '…')` and `search($.a, '…')`";
    for (word, help) in [
        ("starts with", "`starts_with` is a function: `starts_with($.a, 'x')`"),
        ("startsWith", "`starts_with` is a function: `starts_with($.a, 'x')`"),
        ("ends with", "`ends_with` is a function: `ends_with($.a, 'x')`"),
        ("glob", "`like` is a function: `like($.a, 'x%')`"),
        ("CONTAINS", "`contains` is a function: `contains($.a, 'x')`"),
        ("icontains", "`icontains` is a function: `icontains($.a, 'x')`"),
        ("regexp", patterns),
        ("~", patterns),
    ] {
        let of_column =
            "a column is tested by its values; strings are tested by a path: `contains($.a, 'x')`";
        for (subject, help) in [("$.a", help), ("a", of_column)] {
            let text = format!("{subject} {word} 'x'");
            let error = parse_predicate(&text).expect_err(&text);
            assert_eq!(error.help.as_deref(), Some(help), "{}", error.render(&text));
        }
    }
}

#[test]
fn functions_of_other_languages_have_a_hint() {
    for (name, help) in [
        ("startswith", "did you mean `starts_with`?"),
        ("startsWith", "did you mean `starts_with`?"),
        ("hasPrefix", "did you mean `starts_with`?"),
        ("has_suffix", "did you mean `ends_with`?"),
        ("iStartsWith", "did you mean `istarts_with`?"),
        ("regexp_like", "did you mean `search`?"),
        ("regexp", "did you mean `match`?"),
        ("instr", "did you mean `contains`?"),
        ("contain", "did you mean `contains`?"),
        ("cidr_match", "did you mean `cidr`?"),
        ("current_timestamp", "did you mean `now`?"),
        ("to_date", "did you mean `time`?"),
        ("lower", "these ignore case: `icontains`, `istarts_with`, `iends_with` and `ilike`"),
        ("toUpperCase", "these ignore case: `icontains`, `istarts_with`, `iends_with` and `ilike`"),
        (
            "sum",
            "the functions are `length`, `count`, `value`, `match`, `search`, `contains`, `starts_with`, \
             `ends_with`, `like`, `icontains`, `istarts_with`, `iends_with`, `ilike`, `cidr`, `time` and `now`",
        ),
    ] {
        let text = format!("{name}($.a, 'x')");
        let error = parse_predicate(&text).expect_err(&text);
        assert_eq!(error.help.as_deref(), Some(help), "{}", error.render(&text));
    }
}

/// An error about a function of Warpath's own does not cite RFC 9535.
#[test]
fn own_functions_are_not_of_the_rfc() {
    let prefix = |kind: &str| CASES.split_once(&format!("== {kind} ==")).unwrap().1;
    let own = prefix("refused").split("# Functions of Warpath's own.").nth(1).unwrap();
    let texts: Vec<&str> = own.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    assert!(texts.len() > 40, "{}", texts.len());
    for text in texts {
        let error = parse_predicate(text).expect_err(text);
        assert!(!error.render(text).contains("RFC"), "{}", error.render(text));
    }
}

/// The same instant is meant by all calls of `now` in a text. The text is read a little later.
#[test]
fn now_is_read_once() {
    let text = "time($.a) between now() - 1d + 6h and now () - 500ms";
    assert!(parse_predicate(text).is_err(), "white space before `(`");
    let text = "time($.a) between now() - 1d + 6h and now( )-500ms";
    let at =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i128;
    let before = at();
    let LogicalExprKind::Value(test) = parse_predicate(text).unwrap().kind else { panic!("{text}") };
    let ValueTestKind::Between(least, greatest) = test.kind else { panic!("{text}") };
    let (LiteralKind::Now(least), LiteralKind::Now(greatest)) = (least.kind, greatest.kind) else {
        panic!("{text}")
    };
    assert_eq!(greatest.at.0 - least.at.0, 18 * 3_600_000_000_000 - 500_000_000);
    assert!((before..=at()).contains(&(greatest.at.0 + 500_000_000)));
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
        "a",
        "and",
        "or",
        "not",
        "in",
        "between",
        "is",
        "null",
        "value",
        "(",
        ")",
        ",",
        "=",
        "<",
        ">=",
        "!",
        "1",
        "-",
        ".",
        "\"x\"",
        "'",
        "`",
        "\\",
        "é",
        " ",
        "\n",
        "\u{202e}",
        "true",
        "$.a",
        "@",
        "[?",
        "]",
        "&&",
        "||",
        "length(",
        "match(",
        "like",
        "contains(",
        "cidr(",
        "'::1'",
        "time(",
        "now()",
        "1h",
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
