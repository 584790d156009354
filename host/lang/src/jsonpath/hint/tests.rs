use warpath_core::diagnostic::is_invisible;

use crate::jsonpath::parse;

#[test]
fn common_mistakes() {
    for (query, hint) in [
        ("", "a path starts with `$`; `$` alone is the whole record"),
        (" ", "a path starts with `$`; `$` alone is the whole record"),
        (".user.lang", "a path starts with `$`: `$.user.lang`"),
        ("user.lang", "a path starts with `$`: `$.user.lang`"),
        ("[0].a", "a path starts with `$`: `$[0].a`"),
        ("..a", "a path starts with `$`: `$..a`"),
        ("*", "a path starts with `$`: `$.*`"),
        (".a[]", "a path starts with `$`"),
        ("@.a", "a path starts with `$`, and `@` has a meaning in a filter only: `$.a`"),
        (" $.a ", "remove the white space: `$.a`"),
        ("$.a ", "remove it"),
        ("$user", "a name is preceded by `.`: `$.user`"),
        ("$'a'.b", "a name in quotes needs brackets: `$['a'].b`"),
        ("$.user.[0].x", "remove the `.` before `[`: `$.user[0].x`"),
        ("$.'a b'.c", "a name in quotes needs brackets: `$['a b'].c`"),
        ("$..'a'", "a name in quotes needs brackets: `$..['a']`"),
        ("$. a", "remove it: `$.a`"),
        ("$.a.", "remove the `.`"),
        ("$..", "`..*` selects every descendant; otherwise remove the dots"),
        ("$...a", "descendants are selected by two dots: `..`"),
        ("$.0", "write `[0]` for the element of an array, `['0']` for the member of an object"),
        ("$..0", "write `..[0]` for the element of an array, `..['0']` for the member of an object"),
        ("$.2nd", "a name that starts with a digit needs brackets and quotes: `['2nd']`"),
        ("$.-a", "this name needs brackets and quotes: `['-a']`"),
        ("$.a-b", "a name with `-` in it needs brackets and quotes: `$['a-b']`"),
        ("$.x.a-b-2.c", "a name with `-` in it needs brackets and quotes: `$.x['a-b-2'].c`"),
        ("$..a-b", "a name with `-` in it needs brackets and quotes: `$..['a-b']`"),
        ("$[?@.a-b == 1]", "a name with `-` in it needs brackets and quotes: `$[?@['a-b'] == 1]`"),
        ("$.a:b[", "a name with `:` in it needs brackets and quotes: `['a:b']`"),
        ("$[user]", "a name in brackets needs quotes: `['user']`"),
        ("$[user-id]", "a name in brackets needs quotes: `['user-id']`"),
        ("$[\"user]", "add `\"` where the string ends"),
        ("$[\"a\"b\"]", "a quote inside a string is written `\\'` or `\\\"`"),
        ("$['it's']", "a quote inside a string is written `\\'` or `\\\"`"),
        ("$[“a”]", "strings need straight quotes, `'…'` or `\"…\"`"),
        ("$[]", "`[*]` selects every child"),
        ("$[", "a selector is `'name'`, `0`, `1:3`, `*` or `?@.a`"),
        ("$[0", "close the `[` with `]`"),
        ("$[0,]", "remove the `,`"),
        ("$[@.a]", "a filter starts with `?`: `[?@.a]`"),
        (
            "$[(@.length-1)]",
            "RFC 9535 has no script expressions: a filter is `[?…]`, the last element `[-1]`",
        ),
        ("$[-0]", "write `0`"),
        ("$.a == 1", "a comparison is allowed only in a filter: `[?@.a == 1]`"),
        ("$.a.length()", "a function is allowed only in a filter: `[?length(@.a) > 1]`"),
        (
            "$.a | length",
            "a path has no pipes; give several paths or combine the tests of a filter with `||`",
        ),
        ("$*", "write `*` after a dot or in brackets: `.*` or `[*]`"),
        ("$.a]", "there is no `[` for this `]`"),
        ("$[?@.a = 1]", "equality is written `==`"),
        ("$[?@.a === 1]", "equality is `==`, inequality `!=`"),
        ("$[?@.a !== 1]", "equality is `==`, inequality `!=`"),
        ("$[?@.a <> 1]", "inequality is written `!=`"),
        ("$[?@.a =~ /x/]", "patterns are matched by `match(@.a, '…')` and `search(@.a, '…')`"),
        ("$[?@.a & @.b]", "`and` is written `&&`"),
        ("$[?@.a and @.b]", "`and` is written `&&`"),
        ("$[?@.a OR @.b]", "`or` is written `||`"),
        ("$[?@.a | @.b]", "`or` is written `||`"),
        ("$[?not @.b]", "`not` is written `!`"),
        ("$[?!@.a == 1]", "put the comparison in parentheses: `!(@.a …)`"),
        ("$[?@.a in [1, 2]]", "compare with one value at a time: `@.a == 1 || @.a == 2`"),
        ("$[?@.a + 1 == 2]", "a filter has no arithmetic"),
        ("$[?@.length() == 1]", "functions are not methods: `length(@.a)`, not `@.a.length()`"),
        ("$[?user == 'x']", "write `@.user` for a member of the current node, `'user'` for a string"),
        ("$[?@user]", "a name is preceded by `.`, as in `@.a`"),
        ("$[?@.a == True]", "literals are in lower case: `true`"),
        ("$[?@.a == None]", "the JSON value is `null`; a missing member is `!@.a`"),
        ("$[?.a == 1]", "a query in a filter starts with `@`, the current node, or `$`, the record"),
        ("$[?@.a == .5]", "a number starts with a digit: `0.5`"),
        ("$[?@.a == +5]", "a number has no `+`"),
        ("$[?@.a == [1]]", "a query in a filter starts with `@`, the current node, or `$`, the record"),
        ("$[?(@.a]", "close the `(` with `)` first"),
        ("$[?@.a)]", "there is no `(` for this `)`"),
        ("$[?true]", "compare it with something: `@ == true`"),
        ("$[?length(@.a)]", "compare it with something: `length(@.a) > 0`"),
        ("$[?@.* == 1]", "`value(@.*)` is the value of its only node, `count(@.*)` the number of its nodes"),
        ("$[?match(@, 'a') == true]", "write `match(…)` or `!match(…)` alone"),
        ("$[?len(@) > 1]", "did you mean `length`?"),
        ("$[?lenght(@) > 1]", "did you mean `length`?"),
        ("$[?Count(@.*) > 1]", "did you mean `count`?"),
        ("$[?contains(@, 'a')]", "did you mean `search`?"),
        ("$[?keys(@)]", "the functions are `length`, `count`, `match`, `search` and `value`"),
        (r"$['\'", "add `'` where the string ends"),
        ("$['a\tb']", "write it as `\\t`"),
    ] {
        let error = parse(query).expect_err(query);
        assert_eq!(error.help.as_deref().unwrap_or_default(), hint, "{}", error.render(query));
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
        assert!(error.help.is_none_or(|help| help.len() < 120));
    }
    for query in ["$.\u{7}", "\u{202e}a\u{1b}", "$[\u{200b}a]", "$[?\u{202e}(@)]", "$.a-\u{7}\u{202e}"] {
        let error = parse(query).expect_err(query);
        assert!(!error.message.chars().any(is_invisible), "{error:?}");
        assert!(!error.help.iter().any(|help| help.chars().any(is_invisible)), "{error:?}");
    }
}
