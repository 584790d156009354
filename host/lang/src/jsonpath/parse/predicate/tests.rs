use warpath_random::Rng;

use super::*;
use crate::jsonpath::{MAX_DEPTH, parse};

/// Returns the parsed predicate in canonical form.
fn canonical(text: &str) -> String {
    match parse_predicate(text) {
        Ok(expr) => expr.to_string(),
        Err(error) => panic!("{}", error.render(text)),
    }
}

#[test]
fn predicates_have_one_canonical_form() {
    for (text, expected) in [
        ("a=1", "a == 1"),
        (" a\t==\n1 ", "a == 1"),
        ("a <> -1.50e+3", "a != -1.50e+3"),
        ("1000 <= a", "a >= 1000"),
        ("'x' = a", "a == 'x'"),
        ("false != a", "a != false"),
        ("2>a", "a < 2"),
        ("a<-1", "a < -1"),
        ("a = TRUE", "a == true"),
        (r#"a = "A\n\"\\'é""#, r#"a == 'A\n"\\\'é'"#),
        ("a In ( 1 ,2, 3 )", "a in (1, 2, 3)"),
        ("a NOT IN('x')", "a not in ('x')"),
        ("a between 1 and 5 and b = 2", "a between 1 and 5 && b == 2"),
        ("a not  between 'x' and 'y'", "a not between 'x' and 'y'"),
        ("a is Null", "a is null"),
        ("a is not missing", "a is not missing"),
        ("a is other or a is NaN or a is value", "a is other || a is nan || a is value"),
        ("a=1 or b=2 and c=3", "a == 1 || b == 2 && c == 3"),
        ("(a=1 || b=2) and c=3", "(a == 1 || b == 2) && c == 3"),
        ("((a=1))", "a == 1"),
        ("a=1 and (b=2 && c=3)", "a == 1 && (b == 2 && c == 3)"),
        ("a=1 or (b=2 or c=3)", "a == 1 || (b == 2 || c == 3)"),
        ("not a=1 and b=2", "!(a == 1) && b == 2"),
        ("not (a=1 and b=2)", "!(a == 1 && b == 2)"),
        ("not not(a=1)", "!(!(a == 1))"),
        ("NOT(a=1)OR(b=2)", "!(a == 1) || b == 2"),
        ("!(a=1)or!(b=2)", "!(a == 1) || !(b == 2)"),
        ("user.lang = 'en'", "user.lang == 'en'"),
        ("user-id_2.é = 1", "user-id_2.é == 1"),
        ("`a b` = 1", "`a b` == 1"),
        ("`lang` = 'x'", "lang == 'x'"),
        ("`and` = 1 and `In` is null", "`and` == 1 && `In` is null"),
        ("`a``b` = 1", "`a``b` == 1"),
        ("`` = 1", "`` == 1"),
        ("`1a` = 1 or `a.` = 2 or `a..b` = 3", "`1a` == 1 || `a.` == 2 || `a..b` == 3"),
        // Words that the language does not reserve in these positions.
        ("missing is missing and value = 1", "missing is missing && value == 1"),
        ("android = 1 and notx = 2 and or2 = 3", "android == 1 && notx == 2 && or2 == 3"),
        ("count = 1 or match in (2)", "count == 1 || match in (2)"),
        ("time($.a)>='2026-01-01'", "time($['a']) >= '2026-01-01'"),
        ("5 < time( $.a , 'ms' ) and time = 1", "5 < time($['a'], 'ms') && time == 1"),
        ("time($.a, \"%s\") not in (1, 2)", "time($['a'], '%s') not in (1, 2)"),
        // Paths.
        ("$.a", "$['a']"),
        ("!$.a", "!$['a']"),
        ("not $.a", "!$['a']"),
        ("not $.a == 1", "!($['a'] == 1)"),
        ("$.a==1&&!($.b<$.c)", "$['a'] == 1 && !($['b'] < $['c'])"),
        ("$ == null", "$ == null"),
        ("$.a = NULL", "$['a'] == null"),
        ("1 == 1", "1 == 1"),
        ("$.a in (1, null, 'x', true)", "$['a'] in (1, null, 'x', true)"),
        ("length($.a) between 1 and 5", "length($['a']) between 1 and 5"),
        ("count($..x) not in (0)", "count($..['x']) not in (0)"),
        ("$.a[-1] is missing or $['b'] is not null", "$['a'][-1] is missing || $['b'] is not null"),
        ("match($.a, 'x.*') and not search($.b, 'y')", "match($['a'], 'x.*') && !search($['b'], 'y')"),
        ("$.a[?@.b==1&&@.c]", "$['a'][?@['b'] == 1 && @['c']]"),
        ("value($..a) == \"x\"", "value($..['a']) == 'x'"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
        assert_eq!(canonical(expected), expected, "{text}");
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

/// A predicate, the column of its mistake, its message and its hint.
type Refused = (&'static str, usize, &'static str, &'static str);

const REFUSED: &[Refused] = &[
    (
        "",
        1,
        "expected a path, a column of an index, a literal, a function, `not` or `(`, found the end of the expression",
        "a test is such as `$.user.followers_count >= 1000`",
    ),
    (
        "a",
        2,
        "expected an operator, `in`, `between` or `is`, found the end of the expression",
        "a column is compared: `verified = true`, or `verified is value`",
    ),
    (
        "a and b = 1",
        3,
        "expected an operator, `in`, `between` or `is`, found `and`",
        "a column is compared: `verified = true`, or `verified is value`",
    ),
    ("a = ", 5, "expected a number, a string, `true` or `false`, found the end of the expression", ""),
    (
        "é = en",
        5,
        "expected a number, a string, `true` or `false`, found `en`",
        "a column is compared with a literal; a string needs quotes: `\"en\"`",
    ),
    ("a = null", 5, "expected a number, a string, `true` or `false`, found `null`", "write `is null`"),
    ("a != NULL", 6, "expected a number, a string, `true` or `false`, found `NULL`", "write `is not null`"),
    ("null = a", 1, "expected a number, a string, `true` or `false`, found `null`", "write `is null`"),
    (
        "a => 1",
        4,
        "expected a number, a string, `true` or `false`, found `>`",
        "the operators are `==`, `!=`, `<`, `<=`, `>` and `>=`",
    ),
    (
        "a === 1",
        5,
        "expected a number, a string, `true` or `false`, found `=`",
        "equality is written `==` or `=`, and `>=` or `<=` with the `=` at the end",
    ),
    (
        "a > .5",
        5,
        "expected a number, a string, `true` or `false`, found `.`",
        "a number starts with a digit or `-`: `0.5`",
    ),
    (
        "a = `b`",
        5,
        "expected a number, a string, `true` or `false`, found a backtick",
        "a column is compared with a literal, not with a path or another column",
    ),
    (
        "a = $.b",
        5,
        "expected a number, a string, `true` or `false`, found `$`",
        "a column is compared with a literal, not with a path or another column",
    ),
    (
        "a = (1, 2)",
        5,
        "expected a number, a string, `true` or `false`, found `(`",
        "several values are tested by `in`: `lang in (\"en\", \"nl\")`",
    ),
    (
        "a = 1 & b = 2",
        7,
        "expected `and`, `or` or the end of the expression, found `&`",
        "`and` is written `&&` or `and`",
    ),
    ("(a = 1", 7, "expected `and`, `or` or `)`, found the end of the expression", "close the `(` with `)`"),
    (
        "a = 1)",
        6,
        "expected `and`, `or` or the end of the expression, found `)`",
        "there is no `(` for this `)`",
    ),
    ("1 < a < 5", 7, "a comparison cannot be compared again", "compare twice: `a < b && b < c`"),
    ("a = 1 b = 2", 7, "expected `and`, `or` or the end of the expression, found `b`", ""),
    (
        "a in 1, 2",
        6,
        "expected `(` and values after `in`, found `1`",
        "the values need parentheses: `lang in (\"en\", \"nl\")`",
    ),
    (
        "a in ()",
        7,
        "expected a number, a string, `true` or `false`, found `)`",
        "a value is missing before it",
    ),
    ("$.a in (1,)", 11, "expected a literal, found `)`", "a value is missing before it"),
    ("$.a in ($.b)", 9, "expected a literal, found `$`", "the values are literals"),
    ("a in (1 2)", 9, "expected `,` or `)`, found `2`", "values are separated by `,`, and `)` ends them"),
    ("a between 1, 5", 12, "expected `and` and the greatest value, found `,`", ""),
    ("a not = 5", 7, "expected `in` or `between` after `not`, found `=`", ""),
    (
        "a is 5",
        6,
        "expected `missing`, `null`, `other`, `nan` or `value`, found `5`",
        "`is` tests for a state; values are compared with `==`",
    ),
    (
        "$.a is value",
        8,
        "expected `missing` or `null` after a path, found `value`",
        "a path has no type, as a column has; `$.a` alone is true of any value",
    ),
    (
        "length($.a) is missing",
        1,
        "expected a path or a column before `is`, found a function call",
        "compare the result, or write `is` after the path alone",
    ),
    (
        "\"lang\" in (1)",
        8,
        "expected an operator after the literal, found `in`",
        "a column is named without quotes, or in backticks: `lang = \"en\"`",
    ),
    (
        "in = 1",
        1,
        "expected a path, a column of an index, a literal, a function, `not` or `(`, found `in`",
        "a column of this name needs backticks: `` `in` ``",
    ),
    (
        "a like 'x%'",
        3,
        "expected an operator, `in`, `between` or `is`, found `like`",
        "a column is tested by its values; patterns are tested by a path: `search($.a, 'x')`",
    ),
    ("a:b = 1", 2, "expected an operator, `in`, `between` or `is`, found `:`", "an odd name needs backticks"),
    (
        "a + 1 = 2",
        3,
        "expected an operator, `in`, `between` or `is`, found `+`",
        "there is no arithmetic; an odd name needs backticks",
    ),
    (
        "`a = 1",
        1,
        "expected a closing backtick for this name, found the end of the expression",
        "add a backtick where the name ends",
    ),
    (
        "a = \"en",
        5,
        "expected a closing `\"` for this string, found the end of the expression",
        "add `\"` where the string ends",
    ),
    (
        "a = “en”",
        5,
        "expected a number, a string, `true` or `false`, found `“en”`",
        "strings need straight quotes, `'…'` or `\"…\"`",
    ),
    ("a = 1.", 5, "expected a digit after the decimal point, found the end of the expression", ""),
    ("a = 01", 5, "expected a number without leading zeros, found `01`", ""),
    (
        "a = 10k",
        5,
        "expected a number, found `10k`",
        "numbers are as in JSON; an instant or any other text needs quotes",
    ),
    (
        "@.a == 1",
        1,
        "expected a path, a column of an index, a literal, a function, `not` or `(`, found `@`",
        "the record is `$`; `@` has a meaning within a filter only: `$.a[?@.b == 1]`",
    ),
    ("$.a == en", 8, "expected a value after `==`, found `en`", "a string needs quotes: `\"en\"`"),
    ("$.a == ", 8, "expected a value after `==`, found the end of the expression", ""),
    ("!$.a == 1", 6, "`!` cannot precede a comparison", "put the comparison in parentheses: `!($.a …)`"),
    ("!$.a in (1)", 6, "`!` cannot precede a test with `in`", "put the test in parentheses: `!($.a in …)`"),
    (
        "$.* == 1",
        1,
        "a comparison needs one value, and this query may select several nodes",
        "`value($.*)` is the value of its only node, `count($.*)` the number of its nodes",
    ),
    (
        "length($.a)",
        1,
        "expected a test, found only the result of `length`, which is a value",
        "compare it with something: `length($.a) > 0`",
    ),
    ("length(a) > 1", 8, "`length` takes a value, and `a` is a column", "write the path of a member: `$.a`"),
    ("count(1) > 1", 7, "`count` takes a query such as `$.*`, found a number", ""),
    ("length ($.a) > 1", 7, "white space is not allowed between `length` and its `(`", "write `length(…)`"),
    ("len($.a) > 1", 1, "expected a function of RFC 9535, found `len`", "did you mean `length`?"),
    (
        "$.a-b = 1",
        4,
        "expected `and`, `or` or the end of the expression, found `-`",
        "a name with `-` in it needs brackets and quotes: `['a-b']`",
    ),
    ("$.a[?@.b = 1]", 10, "expected an operator, `,` or `]`, found `=`", "equality is written `==`"),
    (
        "$.a[?b == 1]",
        6,
        "expected an expression after `?`, found `b`",
        "write `@.b` for a member of the current node, `'b'` for a string",
    ),
    // The operator in the text.
    ("$.a = ", 7, "expected a value after `=`, found the end of the expression", ""),
    ("$.a <> )", 8, "expected a value after `<>`, found `)`", "a value is missing before it"),
    ("$.a > 1 And", 12, "expected an expression after `And`, found the end of the expression", TEST),
    ("$.a > 1 or", 11, "expected an expression after `or`, found the end of the expression", TEST),
    ("$.a > 1 ||", 11, "expected an expression after `||`, found the end of the expression", TEST),
    // A state is not a value.
    ("$.a == missing", 8, "expected a value after `==`, found `missing`", "write `is missing`"),
    ("$.a <> Missing", 8, "expected a value after `<>`, found `Missing`", "write `is not missing`"),
    (
        "$.a == None",
        8,
        "expected a value after `==`, found `None`",
        "the JSON value is `null`; a missing member is tested by `is missing`",
    ),
    (
        "$.a in (1, undefined)",
        12,
        "expected a literal, found `undefined`",
        "the JSON value is `null`; a missing member is tested by `is missing`",
    ),
    ("$.a > NaN", 7, "expected a value after `>`, found `NaN`", "JSON has no such number"),
    ("a != nil", 6, "expected a number, a string, `true` or `false`, found `nil`", "write `is not null`"),
    // A column is compared with a literal only.
    (
        "a = length($.b)",
        5,
        "expected a number, a string, `true` or `false`, found `length`",
        "a column is compared with a literal, not with a function",
    ),
    // A value-test where none can be.
    (
        "($.a) in (10)",
        7,
        "an expression in parentheses cannot be tested by `in`",
        "test a value: write a path or a function call without parentheses",
    ),
    (
        "!($.a) not  BETWEEN 1 and 2",
        8,
        "an expression in parentheses cannot be tested by `not  BETWEEN`",
        "test a value: write a path or a function call without parentheses",
    ),
    ("($.a) not $.b", 7, "expected `and`, `or` or the end of the expression, found `not`", ""),
    ("!a is null", 4, "`!` cannot precede a test with `is`", "put the test in parentheses: `!(a is …)`"),
    (
        "$.a in (1) in (2)",
        12,
        "expected `and`, `or` or the end of the expression, found `in`",
        "one test at a time: join tests by `and` or `or`",
    ),
    // A test is missing.
    (
        "$.a > 1 && or $.b",
        12,
        "expected an expression after `&&`, found `or`",
        "a test is missing before `or`",
    ),
    (
        "not and",
        5,
        "expected a path, a column of an index, a literal, a function, `not` or `(`, found `and`",
        "a test is missing before `and`",
    ),
    ("! not $.a", 3, "expected an expression after `!`, found `not`", "write `not …` or `!(…)`, not both"),
    (
        "$.a and Or = 1",
        9,
        "expected an expression after `and`, found `Or`",
        "a column of this name needs backticks: `` `or` ``",
    ),
    (
        "$.a in (1) or in (2)",
        15,
        "expected an expression after `or`, found `in`",
        "a path or a column is missing before `in`",
    ),
    // A text that begins with a number.
    (
        "$.a = 2024-01-01",
        7,
        "expected a number, found `2024-01-01`",
        "numbers are as in JSON; an instant or any other text needs quotes",
    ),
    (
        "a > 12:30 and b = 1",
        5,
        "expected a number, found `12:30`",
        "numbers are as in JSON; an instant or any other text needs quotes",
    ),
    (
        "$.a in (10.0.0.1)",
        9,
        "expected a number, found `10.0.0.1`",
        "numbers are as in JSON; an instant or any other text needs quotes",
    ),
    (
        "$.a = 1 - 1",
        9,
        "expected `and`, `or` or the end of the expression, found `-`",
        "there is no arithmetic",
    ),
    // A literal before a value-test.
    (
        "null in (1)",
        6,
        "expected an operator after the literal, found `in`",
        "`in`, `between` and `is` test a path or a column",
    ),
    (
        "5 is null",
        3,
        "expected an operator after the literal, found `is`",
        "`in`, `between` and `is` test a path or a column",
    ),
    // Patterns by words.
    (
        "length(a-b) > 1",
        8,
        "`length` takes a value, and `a-b` is a column",
        "write the path of a member: `$['a-b']`",
    ),
];

/// The hint where a test is missing at the end.
const TEST: &str = "a test is such as `$.user.followers_count >= 1000`";

#[test]
fn mistakes_are_shown_where_they_are() {
    for (text, column, message, help) in REFUSED {
        let error = parse_predicate(text).expect_err(text);
        let found = (error.column(text), error.message.as_str(), error.help.as_deref().unwrap_or_default());
        assert_eq!(found, (*column, *message, *help), "{}", error.render(text));
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
