use warpath_core::diagnostic::is_invisible;
use warpath_random::table::texts;

use crate::jsonpath::parse;

#[test]
fn common_mistakes() {
    for [query, hint] in texts(include_str!("cases.txt"), "mistakes") {
        let error = parse(&query).expect_err(&query);
        assert_eq!(error.help.as_deref().unwrap_or_default(), hint, "{}", error.render(&query));
    }
}

#[test]
fn rendered() {
    for (query, expected) in [
        (
            "$.user[",
            "error: expected a selector after `[`, found the end of the query\n  $.user[\n         ^\n  \
             help: a selector is `'name'`, `0`, `1:3`, `*` or `?@.a`",
        ),
        (
            "$[?@.name = 'x']",
            "error: expected an operator, `,` or `]`, found `=`\n  $[?@.name = 'x']\n            ^\n  \
             help: equality is written `==`",
        ),
        ("$\n  .a\n  .b c", "error: expected `.`, `[` or the end of the path, found `c`\n    .b c\n       ^"),
    ] {
        assert_eq!(parse(query).expect_err(query).render(query), expected);
    }
}

#[test]
fn messages_stay_short_and_clean() {
    let long = "x".repeat(10_000);
    for query in [long.clone(), format!("$[{long}]"), format!("$.{long}-y"), format!("$[?{long}(@)]")] {
        let error = parse(&query).expect_err("invalid");
        assert!(error.message.len() < 120, "{error}");
        // The longest hint has the names of all functions.
        assert!(error.help.is_none_or(|help| help.len() < 200));
    }
    for query in ["$.\u{7}", "\u{202e}a\u{1b}", "$[\u{200b}a]", "$[?\u{202e}(@)]", "$.a-\u{7}\u{202e}"] {
        let error = parse(query).expect_err(query);
        assert!(!error.message.chars().any(is_invisible), "{error:?}");
        assert!(!error.help.iter().any(|help| help.chars().any(is_invisible)), "{error:?}");
    }
}
