//! A parser of queries, written from the grammar in appendix A of RFC 9535.
//!
//! Each rule of the grammar is a function below its text. A function takes the remaining text and returns the
//! value that it read and the text after it, or `None` if the rule does not match. Alternatives are tried in
//! the order written, and repetition takes as much as it can. Nothing is remembered, so a function can be
//! read beside its rule. The parser shares no code with Warpath's.
//!
//! Four rules go beyond the grammar:
//!
//! * Indexes and the parts of slices are within ±(2⁵³ - 1) (section 2.1).
//! * Functions are those of section 2.4, and their arguments have the declared types (section 2.4.3).
//!   `length`, `match` and `search` take `ValueType` arguments: literals, singular queries and functions that
//!   return a value. `count` and `value` take a query. `match` and `search` are tests; the result of the
//!   others is compared.
//! * The tests of strings that are Warpath's own ([`strings`]): their arguments after the first are strings.
//! * White space is not allowed around the whole query.
//!
//! There is no limit to nesting. Warpath's limit is its own ([`warpath_lang::jsonpath::MAX_DEPTH`]).

use super::strings;
use super::syntax::{Comparable, Logical, Operator, Query, Segment, Selector, Start};

/// The value that a rule read, and the text after it.
type Read<'t, T> = Option<(T, &'t str)>;

/// Parses a whole query; `None` if it is not well-formed and valid.
pub fn parse(text: &str) -> Option<Query> {
    let (query, rest) = jsonpath_query(text)?;
    rest.is_empty().then_some(query)
}

// jsonpath-query = root-identifier segments
fn jsonpath_query(text: &str) -> Read<'_, Query> {
    let (segments, rest) = segments(text.strip_prefix('$')?);
    Some((Query { start: Start::Root, segments }, rest))
}

// rel-query = current-node-identifier segments
fn rel_query(text: &str) -> Read<'_, Query> {
    let (segments, rest) = segments(text.strip_prefix('@')?);
    Some((Query { start: Start::Current, segments }, rest))
}

// filter-query = rel-query / jsonpath-query
fn filter_query(text: &str) -> Read<'_, Query> {
    rel_query(text).or_else(|| jsonpath_query(text))
}

// segments = *(S segment)
fn segments(text: &str) -> (Vec<Segment>, &str) {
    repeat(text, |text| segment(s(text)))
}

// segment = child-segment / descendant-segment
fn segment(text: &str) -> Read<'_, Segment> {
    child_segment(text).or_else(|| descendant_segment(text))
}

// child-segment = bracketed-selection / ("." (wildcard-selector / member-name-shorthand))
fn child_segment(text: &str) -> Read<'_, Segment> {
    let (selectors, rest) = bracketed_selection(text).or_else(|| {
        let text = text.strip_prefix('.')?;
        wildcard_or_shorthand(text)
    })?;
    Some((Segment::Child(selectors), rest))
}

// descendant-segment = ".." (bracketed-selection / wildcard-selector / member-name-shorthand)
fn descendant_segment(text: &str) -> Read<'_, Segment> {
    let text = text.strip_prefix("..")?;
    let (selectors, rest) = bracketed_selection(text).or_else(|| wildcard_or_shorthand(text))?;
    Some((Segment::Descendant(selectors), rest))
}

// wildcard-selector / member-name-shorthand
fn wildcard_or_shorthand(text: &str) -> Read<'_, Vec<Selector>> {
    let (selector, rest) = wildcard_selector(text).or_else(|| {
        let (name, rest) = member_name_shorthand(text)?;
        Some((Selector::Name(name), rest))
    })?;
    Some((vec![selector], rest))
}

// bracketed-selection = "[" S selector *(S "," S selector) S "]"
fn bracketed_selection(text: &str) -> Read<'_, Vec<Selector>> {
    let (first, text) = selector(s(text.strip_prefix('[')?))?;
    let (more, text) = repeat(text, |text| selector(s(s(text).strip_prefix(',')?)));
    let rest = s(text).strip_prefix(']')?;
    Some((std::iter::once(first).chain(more).collect(), rest))
}

// selector = name-selector / wildcard-selector / slice-selector / index-selector / filter-selector
fn selector(text: &str) -> Read<'_, Selector> {
    name_selector(text)
        .or_else(|| wildcard_selector(text))
        .or_else(|| slice_selector(text))
        .or_else(|| index_selector(text))
        .or_else(|| filter_selector(text))
}

// name-selector = string-literal
fn name_selector(text: &str) -> Read<'_, Selector> {
    let (name, rest) = string_literal(text)?;
    Some((Selector::Name(name), rest))
}

// wildcard-selector = "*"
fn wildcard_selector(text: &str) -> Read<'_, Selector> {
    Some((Selector::Wildcard, text.strip_prefix('*')?))
}

// slice-selector = [start S] ":" S [end S] [":" [S step ]]
// start = int, end = int, step = int
fn slice_selector(text: &str) -> Read<'_, Selector> {
    let (start, text) = optional(text, |text| int(text).map(|(start, text)| (start, s(text))));
    let text = s(text.strip_prefix(':')?);
    let (end, text) = optional(text, |text| int(text).map(|(end, text)| (end, s(text))));
    let (step, rest) = optional(text, |text| Some(optional(text.strip_prefix(':')?, |text| int(s(text)))));
    Some((Selector::Slice(start, end, step.flatten()), rest))
}

// index-selector = int
fn index_selector(text: &str) -> Read<'_, Selector> {
    let (index, rest) = int(text)?;
    Some((Selector::Index(index), rest))
}

// filter-selector = "?" S logical-expr
fn filter_selector(text: &str) -> Read<'_, Selector> {
    let (expr, rest) = logical_expr(s(text.strip_prefix('?')?))?;
    Some((Selector::Filter(expr), rest))
}

// logical-expr = logical-or-expr
// logical-or-expr = logical-and-expr *(S "||" S logical-and-expr)
fn logical_expr(text: &str) -> Read<'_, Logical> {
    let (first, text) = logical_and_expr(text)?;
    let (more, rest) = repeat(text, |text| logical_and_expr(s(s(text).strip_prefix("||")?)));
    Some((joined(first, more, Logical::Or), rest))
}

// logical-and-expr = basic-expr *(S "&&" S basic-expr)
fn logical_and_expr(text: &str) -> Read<'_, Logical> {
    let (first, text) = basic_expr(text)?;
    let (more, rest) = repeat(text, |text| basic_expr(s(s(text).strip_prefix("&&")?)));
    Some((joined(first, more, Logical::And), rest))
}

fn joined(first: Logical, more: Vec<Logical>, join: fn(Vec<Logical>) -> Logical) -> Logical {
    if more.is_empty() { first } else { join(std::iter::once(first).chain(more).collect()) }
}

// basic-expr = paren-expr / comparison-expr / test-expr
fn basic_expr(text: &str) -> Read<'_, Logical> {
    paren_expr(text).or_else(|| comparison_expr(text)).or_else(|| test_expr(text))
}

// paren-expr = [logical-not-op S] "(" S logical-expr S ")"
fn paren_expr(text: &str) -> Read<'_, Logical> {
    let (not, text) = optional(text, logical_not_op);
    let (expr, text) = logical_expr(s(text.strip_prefix('(')?))?;
    Some((negated(not, expr), s(text).strip_prefix(')')?))
}

// logical-not-op S
fn logical_not_op(text: &str) -> Read<'_, ()> {
    Some(((), s(text.strip_prefix('!')?)))
}

fn negated(not: Option<()>, expr: Logical) -> Logical {
    if not.is_some() { Logical::Not(Box::new(expr)) } else { expr }
}

// test-expr = [logical-not-op S] (filter-query / function-expr)
fn test_expr(text: &str) -> Read<'_, Logical> {
    let (not, text) = optional(text, logical_not_op);
    let (test, rest) = filter_query(text)
        .map(|(query, rest)| (Logical::Exists(query), rest))
        .or_else(|| logical_function(text))?;
    Some((negated(not, test), rest))
}

// comparison-expr = comparable S comparison-op S comparable
fn comparison_expr(text: &str) -> Read<'_, Logical> {
    let (left, text) = comparable(text)?;
    let (op, text) = comparison_op(s(text))?;
    let (right, rest) = comparable(s(text))?;
    Some((Logical::Comparison(left, op, right), rest))
}

// comparison-op = "==" / "!=" / "<=" / ">=" / "<" / ">"
fn comparison_op(text: &str) -> Read<'_, Operator> {
    let ops = [
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];
    ops.into_iter().find_map(|(written, op)| Some((op, text.strip_prefix(written)?)))
}

// comparable = literal / singular-query / function-expr
fn comparable(text: &str) -> Read<'_, Comparable> {
    literal(text).or_else(|| singular_query(text)).or_else(|| value_function(text))
}

// literal = number / string-literal / true / false / null
fn literal(text: &str) -> Read<'_, Comparable> {
    number(text)
        .or_else(|| string_literal(text).map(|(string, rest)| (Comparable::String(string), rest)))
        .or_else(|| Some((Comparable::Bool(true), text.strip_prefix("true")?)))
        .or_else(|| Some((Comparable::Bool(false), text.strip_prefix("false")?)))
        .or_else(|| Some((Comparable::Null, text.strip_prefix("null")?)))
}

// singular-query = rel-singular-query / abs-singular-query
// rel-singular-query = current-node-identifier singular-query-segments
// abs-singular-query = root-identifier singular-query-segments
// singular-query-segments = *(S (name-segment / index-segment))
fn singular_query(text: &str) -> Read<'_, Comparable> {
    let (start, text) = match text.strip_prefix('@') {
        Some(text) => (Start::Current, text),
        None => (Start::Root, text.strip_prefix('$')?),
    };
    let (segments, rest) = repeat(text, |text| name_segment(s(text)).or_else(|| index_segment(s(text))));
    Some((Comparable::Singular(Query { start, segments }), rest))
}

// name-segment = ("[" name-selector "]") / ("." member-name-shorthand)
fn name_segment(text: &str) -> Read<'_, Segment> {
    let (selector, rest) = match text.strip_prefix('[') {
        Some(text) => {
            let (selector, text) = name_selector(text)?;
            (selector, text.strip_prefix(']')?)
        }
        None => {
            let (name, rest) = member_name_shorthand(text.strip_prefix('.')?)?;
            (Selector::Name(name), rest)
        }
    };
    Some((Segment::Child(vec![selector]), rest))
}

// index-segment = "[" index-selector "]"
fn index_segment(text: &str) -> Read<'_, Segment> {
    let (selector, text) = index_selector(text.strip_prefix('[')?)?;
    Some((Segment::Child(vec![selector]), text.strip_prefix(']')?))
}

// function-expr = function-name "(" S [function-argument *(S "," S function-argument)] S ")"
//
// Of the functions whose result is a value: sections 2.4.4, 2.4.5 and 2.4.8.
fn value_function(text: &str) -> Read<'_, Comparable> {
    let length = |text| {
        let (value, text) = comparable(s(call(text, "length")?))?;
        Some((Comparable::Length(Box::new(value)), s(text).strip_prefix(')')?))
    };
    let count = |text| {
        let (query, text) = filter_query(s(call(text, "count")?))?;
        Some((Comparable::Count(query), s(text).strip_prefix(')')?))
    };
    let value = |text| {
        let (query, text) = filter_query(s(call(text, "value")?))?;
        Some((Comparable::Value(query), s(text).strip_prefix(')')?))
    };
    length(text).or_else(|| count(text)).or_else(|| value(text))
}

// The same, of the functions whose result is true or false: sections 2.4.6 and 2.4.7.
fn logical_function(text: &str) -> Read<'_, Logical> {
    let of_two = |name, test: fn(Comparable, Comparable) -> Logical| {
        let (subject, text) = comparable(s(call(text, name)?))?;
        let (pattern, text) = comparable(s(s(text).strip_prefix(',')?))?;
        Some((test(subject, pattern), s(text).strip_prefix(')')?))
    };
    of_two("match", Logical::Match)
        .or_else(|| of_two("search", Logical::Search))
        .or_else(|| own_function(text))
}

// The same, of the functions that are Warpath's own.
fn own_function(text: &str) -> Read<'_, Logical> {
    let of_text = |name: &'static str| {
        let (subject, text) = comparable(s(call(text, name)?))?;
        let (needle, text) = string_literal(s(s(text).strip_prefix(',')?))?;
        let is_text = !name.ends_with("like") || strings::like_parts(&needle).is_some();
        let test = is_text.then_some(Logical::Text(name, subject, needle))?;
        Some((test, s(text).strip_prefix(')')?))
    };
    let cidr = || {
        let (subject, text) = comparable(s(call(text, "cidr")?))?;
        let (blocks, text) = repeat(text, |text| {
            let (block, text) = string_literal(s(s(text).strip_prefix(',')?))?;
            Some((strings::block(&block)?, text))
        });
        let test = (!blocks.is_empty()).then_some(Logical::Cidr(subject, blocks))?;
        Some((test, s(text).strip_prefix(')')?))
    };
    strings::NAMES.into_iter().find_map(of_text).or_else(cidr)
}

// function-name "("
fn call<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.strip_prefix(name)?.strip_prefix('(')
}

// int = "0" / (["-"] DIGIT1 *DIGIT)
fn int_text(text: &str) -> Read<'_, &str> {
    if let Some(rest) = text.strip_prefix('0') {
        return Some(("0", rest));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c| matches!(c, '1'..='9')) {
        return None;
    }
    let rest = digits.trim_start_matches(is_digit);
    Some((&text[..text.len() - rest.len()], rest))
}

// An int within the range of section 2.1.
fn int(text: &str) -> Read<'_, i64> {
    let (written, rest) = int_text(text)?;
    let value: i64 = written.parse().ok()?;
    (-9_007_199_254_740_991..=9_007_199_254_740_991).contains(&value).then_some((value, rest))
}

// number = (int / "-0") [ frac ] [ exp ]
fn number(text: &str) -> Read<'_, Comparable> {
    let (_, rest) = int_text(text).or_else(|| Some(("-0", text.strip_prefix("-0")?)))?;
    let (_, rest) = optional(rest, frac);
    let (_, rest) = optional(rest, exp);
    Some((Comparable::Number(text[..text.len() - rest.len()].into()), rest))
}

// frac = "." 1*DIGIT
fn frac(text: &str) -> Read<'_, ()> {
    digits(text.strip_prefix('.')?)
}

// exp = "e" [ "-" / "+" ] 1*DIGIT
fn exp(text: &str) -> Read<'_, ()> {
    let text = text.strip_prefix(['e', 'E'])?;
    digits(text.strip_prefix(['-', '+']).unwrap_or(text))
}

// 1*DIGIT
fn digits(text: &str) -> Read<'_, ()> {
    let rest = text.trim_start_matches(is_digit);
    (rest.len() < text.len()).then_some(((), rest))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

// member-name-shorthand = name-first *name-char
// name-first = ALPHA / "_" / %x80-D7FF / %xE000-10FFFF
// name-char = name-first / DIGIT
fn member_name_shorthand(text: &str) -> Read<'_, String> {
    let name_first = |c| matches!(c, 'A'..='Z' | 'a'..='z' | '_' | '\u{80}'..);
    if !text.starts_with(name_first) {
        return None;
    }
    let rest = text.trim_start_matches(|c| name_first(c) || is_digit(c));
    Some((text[..text.len() - rest.len()].into(), rest))
}

// string-literal = %x22 *double-quoted %x22 / %x27 *single-quoted %x27
fn string_literal(text: &str) -> Read<'_, String> {
    string_in(text, '"', '\'').or_else(|| string_in(text, '\'', '"'))
}

// double-quoted = unescaped / %x27 / ESC %x22 / ESC escapable
// single-quoted = unescaped / %x22 / ESC %x27 / ESC escapable
fn string_in(text: &str, quote: char, other: char) -> Read<'_, String> {
    let (chars, text) = repeat(text.strip_prefix(quote)?, |text| {
        unescaped(text)
            .or_else(|| Some((other, text.strip_prefix(other)?)))
            .or_else(|| Some((quote, text.strip_prefix('\\')?.strip_prefix(quote)?)))
            .or_else(|| escapable(text.strip_prefix('\\')?))
    });
    Some((chars.into_iter().collect(), text.strip_prefix(quote)?))
}

// unescaped = %x20-21 / %x23-26 / %x28-5B / %x5D-D7FF / %xE000-10FFFF
fn unescaped(text: &str) -> Read<'_, char> {
    let c = text.chars().next()?;
    let is = matches!(c, '\x20'..='\x21' | '\x23'..='\x26' | '\x28'..='\x5b' | '\x5d'..);
    is.then(|| (c, &text[c.len_utf8()..]))
}

// escapable = %x62 / %x66 / %x6E / %x72 / %x74 / "/" / "\" / (%x75 hexchar)
fn escapable(text: &str) -> Read<'_, char> {
    let escapes =
        [('b', '\x08'), ('f', '\x0c'), ('n', '\n'), ('r', '\r'), ('t', '\t'), ('/', '/'), ('\\', '\\')];
    let mut escapes = escapes.into_iter();
    escapes
        .find_map(|(written, c)| Some((c, text.strip_prefix(written)?)))
        .or_else(|| hexchar(text.strip_prefix('u')?))
}

// hexchar = non-surrogate / (high-surrogate "\" %x75 low-surrogate)
fn hexchar(text: &str) -> Read<'_, char> {
    let (code, text) = four_hexdig(text)?;
    match code {
        0xd800..=0xdbff => {
            let (low, text) = four_hexdig(text.strip_prefix(r"\u")?)?;
            let low = (0xdc00..=0xdfff).contains(&low).then_some(low)?;
            Some((char::from_u32(0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00))?, text))
        }
        0xdc00..=0xdfff => None,
        code => Some((char::from_u32(code)?, text)),
    }
}

// 4HEXDIG, of either case
fn four_hexdig(text: &str) -> Read<'_, u32> {
    let digits = text.get(..4)?;
    let code = digits.chars().try_fold(0, |code, c| Some(code * 16 + c.to_digit(16)?))?;
    Some((code, &text[4..]))
}

// S = *B
// B = %x20 / %x09 / %x0A / %x0D
fn s(text: &str) -> &str {
    text.trim_start_matches(['\x20', '\x09', '\x0a', '\x0d'])
}

/// Applies a rule as often as it matches.
fn repeat<'t, T>(mut text: &'t str, rule: impl Fn(&'t str) -> Read<'t, T>) -> (Vec<T>, &'t str) {
    let mut all = Vec::new();
    while let Some((one, rest)) = rule(text) {
        all.push(one);
        text = rest;
    }
    (all, text)
}

/// Applies a rule once if it matches, and otherwise reads nothing.
fn optional<'t, T>(text: &'t str, rule: impl Fn(&'t str) -> Read<'t, T>) -> (Option<T>, &'t str) {
    match rule(text) {
        Some((one, rest)) => (Some(one), rest),
        None => (None, text),
    }
}
