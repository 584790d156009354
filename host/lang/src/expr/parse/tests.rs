use warpath_random::Rng;

use super::*;

/// Returns the parsed expression in canonical form.
fn canonical(text: &str) -> String {
    match parse(text) {
        Ok(expr) => expr.to_string(),
        Err(error) => panic!("{}", error.render(text)),
    }
}

#[test]
fn what_is_read_is_written_in_one_form() {
    for (text, expected) in [
        ("a=1", "a = 1"),
        (" a\t==\n1 ", "a = 1"),
        ("a <> -1.50e+3", "a != -1.50e+3"),
        ("1000 <= a", "a >= 1000"),
        ("'x' = a", "a = \"x\""),
        ("false != a", "a != false"),
        ("2>a", "a < 2"),
        ("a<-1", "a < -1"),
        ("a = TRUE", "a = true"),
        (r#"a = "A\n\"\\'é""#, r#"a = "A\n\"\\'é""#),
        (r#"a = 'it\'s "x"\u0001'"#, r#"a = "it's \"x\"\u0001""#),
        ("a In ( 1 ,2, 3 )", "a in (1, 2, 3)"),
        ("a NOT IN('x')", "a not in (\"x\")"),
        ("a between 1 and 5 and b = 2", "a between 1 and 5 and b = 2"),
        ("a not  between 'x' and 'y'", "a not between \"x\" and \"y\""),
        ("a is Null", "a is null"),
        ("a is not missing", "a is not missing"),
        ("a is other or a is NaN or a is value", "a is other or a is nan or a is value"),
        ("a=1 or b=2 and c=3", "a = 1 or b = 2 and c = 3"),
        ("(a=1 or b=2) and c=3", "(a = 1 or b = 2) and c = 3"),
        ("((a=1))", "a = 1"),
        ("a=1 and (b=2 and c=3)", "a = 1 and (b = 2 and c = 3)"),
        ("a=1 or (b=2 or c=3)", "a = 1 or (b = 2 or c = 3)"),
        ("not a=1 and b=2", "not a = 1 and b = 2"),
        ("not (a=1 and b=2)", "not (a = 1 and b = 2)"),
        ("not not(a=1)", "not not a = 1"),
        ("NOT(a=1)OR(b=2)", "not a = 1 or b = 2"),
        ("user.lang = 'en'", "user.lang = \"en\""),
        ("user-id_2.é = 1", "user-id_2.é = 1"),
        ("`a b` = 1", "`a b` = 1"),
        ("`lang` = 'x'", "lang = \"x\""),
        ("`and` = 1 and `In` is null", "`and` = 1 and `In` is null"),
        ("`a``b` = 1", "`a``b` = 1"),
        ("`` = 1", "`` = 1"),
        ("`1a` = 1 or `a.` = 2 or `a..b` = 3", "`1a` = 1 or `a.` = 2 or `a..b` = 3"),
        // Words that the language does not reserve in these positions.
        ("missing is missing and value = 1", "missing is missing and value = 1"),
        ("android = 1 and notx = 2 and or2 = 3", "android = 1 and notx = 2 and or2 = 3"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
        assert_eq!(canonical(expected), expected, "{text}");
    }
}

#[test]
fn spans_are_of_what_they_say() {
    let text = "not (aé > 5 or `b` in (1, 'x') )";
    let expr = parse(text).expect("an expression");
    assert_eq!((expr.span.start, expr.span.end), (0, text.len()));
    let ExprKind::Not(inner) = &expr.kind else { panic!("{expr:?}") };
    let ExprKind::Or(both) = &inner.kind else { panic!("{expr:?}") };
    assert_eq!(&text[inner.span.start..inner.span.end], "aé > 5 or `b` in (1, 'x')");
    let ExprKind::Test(second) = &both[1].kind else { panic!("{expr:?}") };
    assert_eq!(
        (&text[second.column.span.start..second.column.span.end], second.column.name.as_str()),
        ("`b`", "b")
    );
    let TestKind::In { values, .. } = &second.kind else { panic!("{expr:?}") };
    assert_eq!(&text[values[1].span.start..values[1].span.end], "'x'");
}

/// An expression, its column, its message and its hint.
type Refused = (&'static str, usize, &'static str, &'static str);

const REFUSED: &[Refused] = &[
    (
        "",
        1,
        "expected a column, `not` or `(`, found the end of the expression",
        "a test is such as `followers >= 1000`",
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
        "a string needs quotes: `\"en\"`",
    ),
    ("a = null", 5, "expected a number, a string, `true` or `false`, found `null`", "write `is null`"),
    ("a != NULL", 6, "expected a number, a string, `true` or `false`, found `NULL`", "write `is not null`"),
    (
        "a => 1",
        4,
        "expected a number, a string, `true` or `false`, found `>`",
        "the operators are `=`, `!=`, `<`, `<=`, `>` and `>=`",
    ),
    (
        "a =< 1",
        4,
        "expected a number, a string, `true` or `false`, found `<`",
        "the operators are `=`, `!=`, `<`, `<=`, `>` and `>=`",
    ),
    (
        "a === 1",
        5,
        "expected a number, a string, `true` or `false`, found `=`",
        "equality is written `=`, and `>=` or `<=` with the `=` last",
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
        "a column is compared with a literal, not with another column",
    ),
    (
        "a = (1, 2)",
        5,
        "expected a number, a string, `true` or `false`, found `(`",
        "test for several values with `in`: `lang in (\"en\", \"nl\")`",
    ),
    ("a = 1 && b = 2", 7, "expected `and`, `or` or the end of the expression, found `&&`", "`and` is a word"),
    ("a = 1 || b = 2", 7, "expected `and`, `or` or the end of the expression, found `||`", "`or` is a word"),
    ("!(a = 1)", 1, "expected a column, `not` or `(`, found `!`", "`not` is a word"),
    ("(a = 1", 7, "expected `and`, `or` or `)`, found the end of the expression", "close the `(` with `)`"),
    (
        "a = 1)",
        6,
        "expected `and`, `or` or the end of the expression, found `)`",
        "there is no `(` for this `)`",
    ),
    (
        "1 < a < 5",
        7,
        "expected `and`, `or` or the end of the expression, found `<`",
        "one comparison at a time: `a >= 1 and a < 5`, or `a between 1 and 5`",
    ),
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
    (
        "a in (1,)",
        9,
        "expected a number, a string, `true` or `false`, found `)`",
        "a value is missing before it",
    ),
    ("a in (1 2)", 9, "expected `,` or `)`, found `2`", "values are separated by `,`, and `)` ends them"),
    ("a between 1, 5", 12, "expected `and` and the greatest value, found `,`", ""),
    ("a not = 5", 7, "expected `in` or `between` after `not`, found `=`", ""),
    (
        "a is 5",
        6,
        "expected `missing`, `null`, `other`, `nan` or `value`, found `5`",
        "`missing`, `null`, `other`, `nan` or `value` follows `is`; compare values with `=`",
    ),
    (
        "\"lang\" in (1)",
        8,
        "expected an operator after the literal, found `in`",
        "a column is named without quotes, or in backticks: `lang = \"en\"`",
    ),
    ("'lang' = 'en'", 10, "expected a column after the operator, found `'`", ""),
    (
        "$.user.lang = 'en'",
        1,
        "expected a column, `not` or `(`, found `$`",
        "name a column as in the index, not by a path",
    ),
    (
        "in = 1",
        1,
        "expected a column, `not` or `(`, found `in`",
        "a column of this name needs backticks: `` `in` ``",
    ),
    (
        "a like 'x%'",
        3,
        "expected an operator, `in`, `between` or `is`, found `like`",
        "bitmaps are of values, not of parts of them; `warpath query` has patterns in filters",
    ),
    ("a:b = 1", 2, "expected an operator, `in`, `between` or `is`, found `:`", "an odd name needs backticks"),
    (
        "a + 1 = 2",
        3,
        "expected an operator, `in`, `between` or `is`, found `+`",
        "there is no arithmetic; an odd name needs backticks",
    ),
    ("`a = 1", 1, "expected a closing backtick for this name, found the end of the expression", ""),
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
        "strings need straight quotes, `\"…\"` or `'…'`",
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
        "a =\n  x",
        3,
        "expected a number, a string, `true` or `false`, found `x`",
        "a string needs quotes: `\"x\"`",
    ),
];

#[test]
fn mistakes_are_shown_where_they_are() {
    for (text, column, message, help) in REFUSED {
        let error = parse(text).expect_err(text);
        let found = (error.column(text), error.message.as_str(), error.help.as_deref().unwrap_or_default());
        assert_eq!(found, (*column, *message, *help), "{}", error.render(text));
    }
}

#[test]
fn rendered() {
    let text = "lang in (\"en\", nl)";
    assert_eq!(
        parse(text).expect_err(text).render(text),
        "error: expected a number, a string, `true` or `false`, found `nl`\n  lang in (\"en\", nl)\n                 ^^\n  \
         help: a string needs quotes: `\"nl\"`"
    );
}

#[test]
fn nesting_is_bounded() {
    let nested =
        |open: &str, close: &str, count: usize| format!("{}a = 1{}", open.repeat(count), close.repeat(count));
    for (open, close) in [("(", ")"), ("not ", ""), ("not(", ")"), ("(b = 1 or ", ")")] {
        let each = open.matches("not").count() + open.matches('(').count();
        assert!(parse(&nested(open, close, MAX_NESTING / each)).is_ok(), "{open}");
        let text = nested(open, close, MAX_NESTING / each + 1);
        let error = parse(&text).expect_err(open);
        assert_eq!(error.kind, DiagnosticKind::TooDeep, "{open}");
        // Far too deep is refused like one level too deep.
        assert!(parse(&nested(open, close, 100_000)).is_err());
    }
}

#[test]
fn any_text_is_parsed_or_refused() {
    let parts = [
        "a", "and", "or", "not", "in", "between", "is", "null", "value", "(", ")", ",", "=", "<", ">=", "!",
        "1", "-", ".", "\"x\"", "'", "`", "\\", "é", " ", "\n", "\u{202e}", "true",
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
        match parse(&text) {
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
