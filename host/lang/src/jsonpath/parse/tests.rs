use warpath_random::table::texts;

use super::*;
use crate::jsonpath::{
    ComparableKind, ComparisonOp, FunctionCall, FunctionKind, LiteralKind, LogicalExpr, LogicalExprKind,
    PatternKind, QueryRoot, SingularStepKind,
};

const CASES: &str = include_str!("cases.txt");

fn parsed(query: &str) -> Query {
    parse(query).unwrap_or_else(|error| panic!("{}", error.render(query)))
}

fn at(query: &str, span: Span) -> &str {
    &query[span.start..span.end]
}

/// Returns the expression of the filter that is the first selector of the first segment.
fn filter(query: &str) -> LogicalExpr {
    match parsed(query).segments.remove(0).selectors.remove(0).kind {
        SelectorKind::Filter(expr) => expr,
        other => panic!("no filter: {other:?}"),
    }
}

#[test]
fn segments_have_their_spans() {
    let query = "$.a ..☺\t[ 'b' , 0 ]\n..[ * ].*";
    let segments = parsed(query).segments;
    let texts: Vec<&str> = segments.iter().map(|segment| at(query, segment.span)).collect();
    assert_eq!(texts, [".a", "..☺", "[ 'b' , 0 ]", "..[ * ]", ".*"]);
    let selectors: Vec<&str> = segments
        .iter()
        .flat_map(|segment| &segment.selectors)
        .map(|selector| at(query, selector.span))
        .collect();
    assert_eq!(selectors, ["a", "☺", "'b'", "0", "*", "*"]);
    let kinds: Vec<SegmentKind> = segments.iter().map(|segment| segment.kind).collect();
    use SegmentKind::{Child, Descendant};
    assert_eq!(kinds, [Child, Descendant, Child, Descendant, Child]);
    assert_eq!(at(query, parsed(query).span), query);
}

#[test]
fn slices() {
    for (selector, start, end, step) in [
        (":", None, None, None),
        ("::", None, None, None),
        ("1:", Some(1), None, None),
        (":2", None, Some(2), None),
        ("::3", None, None, Some(3)),
        ("1 : 2 : 3", Some(1), Some(2), Some(3)),
        ("-1\n:\t-2\r:-3", Some(-1), Some(-2), Some(-3)),
        ("::0", None, None, Some(0)),
        ("1 ::", Some(1), None, None),
    ] {
        let query = format!("$[ {selector} ,*]");
        let found = parsed(&query).segments.remove(0).selectors.remove(0);
        assert_eq!(found.kind, SelectorKind::Slice { start, end, step }, "{query}");
        assert_eq!(at(&query, found.span), selector);
    }
}

#[test]
fn names_are_decoded() {
    for query in ["$.é", "$['é']", r#"$["\u00e9"]"#, r"$['\u00E9']"] {
        let found = parsed(query).segments.remove(0).selectors.remove(0).kind;
        assert_eq!(found, SelectorKind::Name("é".to_owned()), "{query}");
    }
}

#[test]
fn and_binds_tighter_than_or() {
    let query = "$[? @.a||! @.b &&( @.c || @.d ) ]";
    let LogicalExprKind::Or(or) = filter(query).kind else { panic!("no or") };
    assert_eq!(at(query, filter(query).span), "@.a||! @.b &&( @.c || @.d )");
    let LogicalExprKind::And(and) = &or[1].kind else { panic!("no and") };
    let texts: Vec<&str> = and.iter().map(|expr| at(query, expr.span)).collect();
    assert_eq!(texts, ["! @.b", "( @.c || @.d )"]);
    assert!(matches!(and[0].kind, LogicalExprKind::Not(_)));
    assert!(matches!(and[1].kind, LogicalExprKind::Or(_)));
}

#[test]
fn comparisons() {
    let query = "$[?$ .a['b'][-1] <= -0.50e1]";
    let LogicalExprKind::Comparison(comparison) = filter(query).kind else { panic!("no comparison") };
    assert_eq!(comparison.op, ComparisonOp::Le);
    assert_eq!(at(query, comparison.op_span), "<=");
    assert_eq!(at(query, comparison.span), "$ .a['b'][-1] <= -0.50e1");
    let ComparableKind::Query(left) = comparison.left.kind else { panic!("no query") };
    assert_eq!(left.root, QueryRoot::Record);
    let steps: Vec<(SingularStepKind, &str)> =
        left.steps.iter().map(|step| (step.kind.clone(), at(query, step.span))).collect();
    assert_eq!(
        steps,
        [
            (SingularStepKind::Name("a".into()), ".a"),
            (SingularStepKind::Name("b".into()), "['b']"),
            (SingularStepKind::Index(-1), "[-1]"),
        ]
    );
    let ComparableKind::Literal(right) = comparison.right.kind else { panic!("no literal") };
    assert_eq!(right.kind, LiteralKind::Number("-0.50e1".into()));
    assert_eq!(at(query, right.span), "-0.50e1");
}

#[test]
fn functions() {
    let query = "$[?match( @.a , 'x' )]";
    let LogicalExprKind::Pattern(test) = filter(query).kind else { panic!("no pattern") };
    assert_eq!(test.kind, PatternKind::Match);
    assert_eq!(at(query, test.span), "match( @.a , 'x' )");
    assert_eq!(at(query, test.subject.span), "@.a");
    assert_eq!(at(query, test.pattern.span), "'x'");

    let query = "$[?length(value($..a)) == count(@[*])]";
    let LogicalExprKind::Comparison(comparison) = filter(query).kind else { panic!("no comparison") };
    let ComparableKind::Function(FunctionCall { kind: FunctionKind::Length(inner), .. }) =
        comparison.left.kind
    else {
        panic!("no length")
    };
    assert_eq!(at(query, inner.span), "value($..a)");
}

#[test]
fn valid() {
    for [query] in texts(CASES, "valid") {
        // What is shown is read as the same query.
        let shown = parsed(&query).to_string();
        assert_eq!(parsed(&shown).to_string(), shown, "{query}");
        assert_eq!(shown.contains('?'), query.contains('?'), "{shown}");
    }
}

#[test]
fn invalid() {
    for [query, kind, span] in texts(CASES, "invalid") {
        let error = parse(&query).expect_err(&query);
        let found = (format!("{:?}", error.kind), at(&query, error.span));
        assert_eq!(found, (kind, span.as_str()), "{query}: {error}");
    }
}

#[test]
fn nesting_is_bounded() {
    for (open, inner, close) in [
        ("(", "@", ")"),
        ("!(", "@", ")"),
        ("@[?", "@", "]"),
        ("$..[0,?", "@", "]"),
        ("length(", "@", ")"),
        ("@.a && (", "@", ")"),
    ] {
        // The filter itself is the first level.
        let nested = |levels: usize| {
            let end = if open == "length(" { "==1" } else { "" };
            let n = levels - 1;
            format!("$[?{}{inner}{}{end}]", open.repeat(n), close.repeat(n))
        };
        let deepest = parsed(&nested(MAX_DEPTH));
        assert_eq!(parsed(&deepest.to_string()).to_string(), deepest.to_string());
        for levels in [MAX_DEPTH + 1, 100_000] {
            let error = parse(&nested(levels)).expect_err("too deep");
            assert_eq!(error.kind, DiagnosticKind::TooDeep, "{open}");
            assert!(error.render(&nested(levels)).lines().all(|line| line.chars().count() < 200));
        }
    }
    // Length is not depth.
    parsed(&format!("${}", ".a[0]..*".repeat(10_000)));
    parsed(&format!("$[?@{}]", " && !@.a || (1 == 1)".repeat(10_000)));
    parsed(&format!("$[0{}]", ", ?@.a".repeat(10_000)));
}
