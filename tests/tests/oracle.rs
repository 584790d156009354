//! The oracle of queries, compared with the JSONPath compliance test suite and with the examples of RFC 9535.
//! (`rfc9535.rs` compares it with `serde_json_path`.)

use std::ops::Range;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use warpath_random::table;
use warpath_random::table::rows;
use warpath_tests::oracle::{grammar, json, query, regexp};

/// The examples of RFC 9535.
const EXAMPLES: &str = include_str!("../data/rfc9535.txt");
/// I-Regexps.
const REGEXPS: &str = include_str!("../data/regexps.txt");

/// The nodes that a path selects of a record: their text and normalised paths.
fn nodes<'a>(text: &'a str, path: &str) -> Vec<(&'a str, String)> {
    query::nodes(text.as_bytes(), path).into_iter().map(|(place, path)| (&text[place], path)).collect()
}

/// The text of the nodes that a path selects of a record.
fn texts<'a>(text: &'a str, path: &str) -> Vec<&'a str> {
    nodes(text, path).into_iter().map(|(text, _)| text).collect()
}

/// The byte range of each document of the compliance test suite in its text. Another parser would change the
/// spelling of numbers.
fn documents(suite: &str) -> Result<Vec<Option<Range<usize>>>> {
    let root = json::parse(suite.as_bytes(), 0, suite.len()).context("the suite is not JSON")?;
    let tests = root.member(b"tests").context("no tests")?.children();
    Ok(tests.into_iter().map(|test| test.member(b"document").map(|found| found.start..found.end)).collect())
}

/// All of the suite: the oracle refuses what is invalid, and of what is valid it selects the right nodes.
#[test]
#[cfg_attr(
    not(conformance),
    ignore = "no ../shared/conformance/cts.json beside the project, nor WARPATH_CONFORMANCE"
)]
fn compliance_test_suite() -> Result<()> {
    let path = env!("WARPATH_CTS");
    let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    let suite: Value = serde_json::from_str(&text)?;
    let tests = suite["tests"].as_array().context("no tests")?;
    let documents = documents(&text)?;
    ensure!(documents.len() == tests.len(), "{} documents of {} tests", documents.len(), tests.len());
    let (mut right, mut wrong) = (0, Vec::new());
    for (test, document) in tests.iter().zip(documents) {
        let name = test["name"].as_str().context("a test without a name")?;
        let selector = test["selector"].as_str().context("a test without a selector")?;
        match (grammar::parse(selector), test["invalid_selector"] == true) {
            (None, true) => right += 1,
            (Some(_), true) => wrong.push(format!("{name}: {selector}: accepted")),
            (None, false) => wrong.push(format!("{name}: {selector}: refused")),
            (Some(_), false) => {
                let document = &text[document.context("a test without a document")?];
                let found = nodes(document, selector);
                let values = found.iter().map(|(text, _)| serde_json::from_str(text));
                let values = Value::Array(values.collect::<Result<_, _>>()?);
                let paths: Value = found.into_iter().map(|(_, path)| path).collect();
                // Where the order is free, the values and the paths of one of several.
                let is_right = match test["results"].as_array() {
                    None => values == test["result"] && paths == test["result_paths"],
                    Some(results) => {
                        let all_paths = test["results_paths"].as_array().context("no results_paths")?;
                        ensure!(results.len() == all_paths.len(), "{name}: results and their paths");
                        results.iter().zip(all_paths).any(|wanted| wanted == (&values, &paths))
                    }
                };
                if is_right {
                    right += 1;
                } else {
                    wrong.push(format!("{name}: {selector}: {values} at {paths}"));
                }
            }
        }
    }
    ensure!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(right, 703);
    Ok(())
}

/// The examples of RFC 9535 section 2.3.5.3, in the order of the text.
#[test]
fn filters_of_the_rfc() {
    let document = r#"{"obj": {"x": "y"}, "arr": [2, 3]}"#;
    for [expr, holds] in table::texts(EXAMPLES, "comparisons") {
        let found = texts(document, &format!("$[?{expr}]")).len();
        assert_eq!(found, if holds == "true" { 2 } else { 0 }, "{expr}");
    }
    let document = r#"{"a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
                       "o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}}, "e": "f"}"#;
    for [path, found] in table::texts(EXAMPLES, "filters") {
        let paths: Vec<String> = nodes(document, &path).into_iter().map(|(_, path)| path).collect();
        assert_eq!(paths.join(" "), found, "{path}");
    }
    assert_eq!(nodes(document, "$.a[?@ == @]").len(), 10);
}

/// The examples of RFC 9535 section 2.5.2.3, in the order of the text.
#[test]
fn descendants_of_the_rfc() {
    let document = r#"{"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]}"#;
    assert_eq!(texts(document, "$..j"), ["1", "4"]);
    assert_eq!(texts(document, "$..[0]"), ["5", r#"{"j": 4}"#]);
    let all = [
        r#"{"j": 1, "k": 2}"#,
        r#"[5, 3, [{"j": 4}, {"k": 6}]]"#,
        "1",
        "2",
        "5",
        "3",
        r#"[{"j": 4}, {"k": 6}]"#,
        r#"{"j": 4}"#,
        r#"{"k": 6}"#,
        "4",
        "6",
    ];
    assert_eq!(texts(document, "$..*"), all);
    assert_eq!(texts(document, "$..[*]"), all);
    assert_eq!(texts(document, "$..o"), [r#"{"j": 1, "k": 2}"#]);
    assert_eq!(texts(document, "$.o..[*, *]"), ["1", "2", "1", "2"]);
    assert_eq!(texts(document, "$.a..[0, 1]"), ["5", "3", r#"{"j": 4}"#, r#"{"k": 6}"#]);
    // A node is in the list as often as it is reached.
    assert_eq!(texts("[[1]]", "$..*..*"), ["1"]);
    assert_eq!(texts("[[[1]]]", "$..*..*"), ["[1]", "1", "1"]);
}

#[test]
fn numbers_are_exact() {
    let nines = "9".repeat(400);
    let holds = |a: &str, op: &str, b: &str| {
        texts(&format!("[{{\"a\":{a},\"b\":{b}}}]"), &format!("$[?@.a{op}@.b]")).len() == 1
    };
    for (a, b) in [
        ("1", "1.0"),
        ("10e-1", "0.1E+1"),
        ("0", "-0"),
        ("-0.000e5", "0"),
        ("12345678901234567890.5", "123456789012345678905e-1"),
        ("1e400", "10e399"),
        ("1e4611686018427387904", "1e99999999999999999999"),
        ("1e4611686018427387900", "1e99999999999999999999"),
        ("-1e-4611686018427387904", "-1e-999999999999999999999999999999999999999999999"),
    ] {
        assert!(holds(a, "==", b) && holds(a, "<=", b) && holds(a, ">=", b), "{a} {b}");
        assert!(!holds(a, "!=", b) && !holds(a, "<", b) && !holds(a, ">", b), "{a} {b}");
    }
    for (a, b) in [
        ("9007199254740992", "9007199254740993"),
        ("0.1", "0.10000000000000000001"),
        ("-1e400", "-1e399"),
        ("-1", "0"),
        ("0", "1e-400"),
        ("-1e-400", "0"),
        ("9e399", "1e400"),
        (nines.as_str(), "1e400"),
        ("12", "120"),
        ("120", "121"),
        ("99", "100"),
        ("1e-4611686018427387900", "1e-4611686018427387899"),
        ("1e4611686018427387899", "1e99999999999999999999"),
    ] {
        assert!(holds(a, "<", b) && holds(b, ">", a) && holds(a, "<=", b) && holds(a, "!=", b), "{a} {b}");
        assert!(
            !holds(b, "<", a) && !holds(a, ">", b) && !holds(a, ">=", b) && !holds(a, "==", b),
            "{a} {b}"
        );
    }
}

#[test]
fn strings_are_code_points() {
    let holds = |a: &str, op: &str, b: &str| {
        texts(&format!(r#"[{{"a":"{a}","b":"{b}"}}]"#), &format!("$[?@.a{op}@.b]")).len() == 1
    };
    for (a, b) in [("é", r"\u00e9"), ("😀", r"\ud83d\uDE00"), ("/", r"\/"), (r"\ud800", r"\uD800"), ("", "")]
    {
        assert!(holds(a, "==", b) && !holds(a, "<", b), "{a} {b}");
    }
    // By UTF-16 units U+FFFF would come after U+1F600. A lone surrogate is ordered by its code.
    for (a, b) in [
        ("", "a"),
        ("a", "ab"),
        (r"\uffff", r"\ud83d\ude00"),
        ("Z", "a"),
        ("z", "é"),
        (r"\ud7ff", r"\ud800"),
        (r"\udfff", r"\ue000"),
    ] {
        assert!(holds(a, "<", b) && !holds(a, "==", b) && !holds(b, "<=", a), "{a} {b}");
    }
    for (text, length) in [("", 0), ("aé😀", 3), (r"\ud83d\ude00\n", 2), (r"\ud800", 1), (r"\ude00\ud83d", 2)]
    {
        assert_eq!(texts(&format!(r#"["{text}"]"#), &format!("$[?length(@)=={length}]")).len(), 1, "{text}");
    }
    // A high surrogate before an escape that is no low one.
    assert!(holds(r"\ud800\u0041", "==", r"\ud800A"));
}

#[test]
fn repeated_names() {
    let document = r#"{"a":1,"b":{"a":2,"a":3},"a":4}"#;
    assert_eq!(texts(document, "$.a"), ["1"]);
    assert_eq!(texts(document, "$..a"), ["1", "2"]);
    assert_eq!(texts(document, "$.*"), ["1", r#"{"a":2,"a":3}"#, "4"]);
    assert_eq!(texts(document, "$..[?@ > 2]"), ["4", "3"]);
    let paths: Vec<String> = nodes(document, "$.b.*").into_iter().map(|(_, path)| path).collect();
    assert_eq!(paths, ["$['b']['a']", "$['b']['a']"]);
    assert_eq!(texts(document, "$[?length(@) == 2 && count(@.*) == 2]").len(), 1);
    let equal = |a: &str, b: &str| texts(&format!("[{{\"a\":{a},\"b\":{b}}}]"), "$[?@.a==@.b]").len() == 1;
    assert!(equal(r#"{"x":1,"y":[{}]}"#, r#"{"y":[{}],"\u0078":1.0}"#));
    assert!(equal(r#"{"x":1,"x":2}"#, r#"{"x":1}"#));
    assert!(equal(r#"{"x":1,"x":2,"y":0}"#, r#"{"y":0,"y":{},"x":1,"y":1}"#));
    assert!(!equal(r#"{"x":1,"x":2}"#, r#"{"x":2}"#));
    assert!(!equal(r#"{"x":1,"x":2}"#, r#"{"x":1,"y":2}"#));
    assert!(!equal(r#"{"x":1}"#, r#"{"x":1,"y":null}"#));
    assert!(!equal("[1]", "[1,1]") && !equal("[1,2]", "[2,1]") && equal("[]", "[ ]") && !equal("[]", "{}"));
}

#[test]
fn names_in_paths() {
    for (name, path) in [
        ("a", "$['a']"),
        ("", "$['']"),
        (r"\u000b", r"$['\u000b']"),
        (r"\u0061", "$['a']"),
        (r"\b\t\n\f\r", r"$['\b\t\n\f\r']"),
        (r#"'\"\\/"#, r#"$['\'"\\/']"#),
        ("é\u{7f}😀", "$['é\u{7f}😀']"),
        (r"x\ud800", "$['x\u{fffd}']"),
    ] {
        let document = format!("{{\"{name}\":1}}");
        let found = nodes(&document, "$.*");
        assert_eq!(found, [("1", path.to_owned())], "{name}");
        if !path.contains('\u{fffd}') {
            assert_eq!(nodes(&document, path), found, "{name}: a normalised path is a query");
        }
    }
    assert_eq!(nodes(" [[0, [1]]]", "$..[1]..[-1:]"), [("1", "$[0][1][0]".to_owned())]);
    assert_eq!(nodes("\n7 ", "$"), [("7", "$".to_owned())]);
}

#[test]
fn i_regexps() {
    for [pattern, subject, matches, found] in rows(REGEXPS, "subjects") {
        let answers = [regexp::matches(&pattern, &subject), regexp::finds(&pattern, &subject)];
        let shown = String::from_utf8_lossy(&pattern);
        assert_eq!(answers.map(|answer| answer.to_string().into_bytes()), [matches, found], "{shown}");
    }
    for [pattern] in rows(REGEXPS, "bad") {
        assert_eq!(regexp::translate(&pattern), None, "{}", String::from_utf8_lossy(&pattern));
    }
    assert_eq!(regexp::translate(b"\xff"), None);
    // A lone surrogate is matched by nothing, and its neighbours are.
    assert_eq!(texts(r#"["\ud800","a\ud800"]"#, "$[?search(@, '.')]"), [r#""a\ud800""#]);
    assert!(texts(r#"["\ud800"]"#, "$[?search(@, '[^a]')]").is_empty());
    assert_eq!(texts(r#"[1,null,["a"],{"a":1},"a"]"#, "$[?match(@, 'a')]"), [r#""a""#]);
    assert_eq!(texts(r#"["a","[","("]"#, "$[?!match('a', @) && !search('(', @)]"), [r#""[""#, r#""(""#]);
}

/// The functions return `Nothing` for arguments without a result.
#[test]
fn nothing() {
    let document = r#"[{}, {"a": null}, {"a": "xy"}, {"a": [1, 2]}, {"a": {"b": 0}}, 5]"#;
    let which = |expr: &str| -> Vec<String> {
        nodes(document, &format!("$[?{expr}]")).into_iter().map(|(_, path)| path[2..3].to_owned()).collect()
    };
    assert_eq!(which("length(@.a) == 2"), ["2", "3"]);
    assert_eq!(which("length(@.a) == $.nothing"), ["0", "1", "5"]);
    assert_eq!(which("length(@.a) != length(@.b)"), ["2", "3", "4"]);
    assert_eq!(which("length(@.a) >= 0"), ["2", "3", "4"]);
    assert_eq!(which("value(@.*) == @.a"), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(which("value(@..*) == $.x"), ["0", "3", "4", "5"]);
    assert_eq!(which("value(@.a.*) == 0"), ["4"]);
    assert_eq!(which("value(@.a.*) <= value(@.b)"), ["0", "1", "2", "3", "5"]);
    assert_eq!(which("count(@..*) == 3"), ["3"]);
    assert_eq!(which("count(@['a','a']) == 2"), ["1", "2", "3", "4"]);
    assert_eq!(which("@.a == null"), ["1"]);
    assert_eq!(which("@.a != null"), ["0", "2", "3", "4", "5"]);
    assert_eq!(which("!@.a"), ["0", "5"]);
    assert_eq!(which("!(@.a == null || @.a[1] && !@[0])"), ["0", "2", "4", "5"]);
    assert_eq!(which("$[1].a == @.a"), ["1"]);
    assert_eq!(which("@.a[?@ == $[3].a[1]]"), ["3"]);
    assert_eq!(which("match(@.b, 'a') || search('a', @.b)"), Vec::<String>::new());
}
