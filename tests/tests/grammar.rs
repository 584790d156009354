//! Warpath's parser and the oracle's share no code. They accept the same texts and read them alike.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use warpath_core::diagnostic::DiagnosticKind;
use warpath_lang::jsonpath;
use warpath_lang::jsonpath::MAX_DEPTH;
use warpath_random::table::texts;
use warpath_tests::data;
use warpath_tests::oracle::grammar;
use warpath_tests::random::{self, Rng};

/// Returns true if both parsers accept a text. The oracle also parses the canonical form of Warpath's tree.
/// The result must be the tree that it parses from the text, so both trees mean the same.
///
/// # Errors
/// A difference between the parsers.
fn accepted(text: &str) -> Result<bool> {
    match (jsonpath::parse(text), grammar::parse(text)) {
        (Ok(query), Some(tree)) => {
            let canonical = query.to_string();
            let read = grammar::parse(&canonical);
            ensure!(read.as_ref() == Some(&tree), "{text:?} as {canonical:?}: {read:?}, not {tree:?}");
            Ok(true)
        }
        (Err(_), None) => Ok(false),
        (Ok(query), None) => bail!("{text:?}: Warpath reads {query}, the oracle refuses"),
        (Err(error), Some(tree)) => bail!("{text:?}: Warpath says {error}, the oracle reads {tree:?}"),
    }
}

/// The examples of RFC 9535.
const EXAMPLES: &str = include_str!("../data/rfc9535.txt");

#[test]
fn both_read_the_examples_of_the_rfc() -> Result<()> {
    for [text] in texts(EXAMPLES, "examples") {
        ensure!(accepted(&text)?, "{text} is refused");
    }
    for [text] in texts(EXAMPLES, "counterexamples") {
        ensure!(!accepted(&text)?, "{text} is accepted");
    }
    for (_, path) in data::queries() {
        ensure!(accepted(path)?, "{path} is refused");
    }
    Ok(())
}

/// The compliance test suite says which of its selectors are invalid.
#[test]
#[cfg_attr(
    not(conformance),
    ignore = "no ../shared/conformance/cts.json beside the project, nor WARPATH_CONFORMANCE"
)]
fn both_read_the_compliance_test_suite() -> Result<()> {
    let path = env!("WARPATH_CTS");
    let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    let suite: Value = serde_json::from_str(&text)?;
    let tests = suite["tests"].as_array().context("no tests")?;
    let (mut valid, mut invalid) = (0, 0);
    for test in tests {
        let selector = test["selector"].as_str().context("a test without a selector")?;
        let is_invalid = test["invalid_selector"] == true;
        ensure!(accepted(selector)? != is_invalid, "{selector:?}");
        *if is_invalid { &mut invalid } else { &mut valid } += 1;
    }
    ensure!(valid > 400 && invalid > 200, "{valid} valid and {invalid} invalid selectors");
    Ok(())
}

/// Tokens of the grammar, and what resembles one.
const TOKENS: &str = r#"$ @ . .. [ ] ( ) ? ! && || & | == != < <= > >= = , : * - + 0 1 9 01 -0 1.5 e E1 \ ' " 'a' \' \" \n \u
    \u0061 \uD83D \ude00 \ud7ff a Z _ é 😀 true false null length( count( value( match( search( size( [?@ .a ['b']
    9007199254740991 9007199254740992"#;
/// White space of the grammar, white space of other kinds, and control characters.
const BLANKS: [&str; 11] =
    [" ", "\t", "\n", "\r", "[ 0 ]", "\u{b}", "\u{a0}", "\u{2028}", "\0", "\u{1f}", "\u{7f}"];

/// A text with a few characters removed, replaced by tokens, moved or repeated.
fn mutated(rng: &mut Rng, text: &str, tokens: &[&str]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(chars.len() + 1);
        let end = (at + rng.below(4)).min(chars.len());
        let token = tokens[rng.below(tokens.len())];
        match rng.below(6) {
            0 | 1 => drop(chars.splice(at..at, token.chars())),
            2 => drop(chars.splice(at..end, token.chars())),
            3 => drop(chars.drain(at..end)),
            4 => {
                let part: Vec<char> = chars[at..end].to_vec();
                let to = rng.below(chars.len() + 1);
                drop(chars.splice(to..to, part));
            }
            _ => chars.truncate(chars.len() - rng.below(3).min(chars.len())),
        }
    }
    chars.into_iter().collect()
}

/// Random queries of the whole grammar, and mutations of them.
///
/// An oracle over Warpath's own tree would repeat a fault of Warpath's parser, so a comparison of results
/// would not show the fault. This test fails with each of these mutants of `host/lang/src/jsonpath`:
///
/// * `||` binds tighter than `&&`;
/// * the end of a slice is read as its step, and the step as its end;
/// * `<=` is read as `<`;
/// * the lowest bit of an escaped surrogate pair is inverted.
#[test]
fn both_read_random_queries_alike() -> Result<()> {
    let tokens: Vec<&str> = TOKENS.split_whitespace().chain(BLANKS).collect();
    let (mut valid, mut invalid) = (0, 0);
    for seed in 0..20_000 {
        let rng = &mut Rng::new(12 << 32 | seed);
        let query = random::query(rng);
        ensure!(accepted(&query).with_context(|| format!("seed {seed}"))?, "seed {seed}: {query:?}");
        for _ in 0..8 {
            let text = mutated(rng, &query, &tokens);
            let is_valid = accepted(&text).with_context(|| format!("seed {seed}"))?;
            *if is_valid { &mut valid } else { &mut invalid } += 1;
        }
    }
    println!("{valid} mutations are queries, {invalid} are not");
    ensure!(valid > 10_000 && invalid > 50_000, "{valid} valid and {invalid} invalid mutations");
    Ok(())
}

/// Nesting is the one thing that Warpath limits and the oracle does not.
#[test]
fn only_warpath_limits_nesting() -> Result<()> {
    for (open, close) in [("(", ")"), ("!(", ")"), ("@[?", "]"), ("@..[0,?", "]")] {
        // The filter is the first level.
        let nested = |levels: usize| {
            let (open, close) = (open.repeat(levels - 1), close.repeat(levels - 1));
            format!("$[?{open}@.a{close}]")
        };
        ensure!(accepted(&nested(MAX_DEPTH))?, "{open}");
        let deeper = nested(MAX_DEPTH + 1);
        ensure!(grammar::parse(&deeper).is_some(), "{open}");
        let refused = jsonpath::parse(&deeper).map(drop).map_err(|error| error.kind);
        ensure!(refused == Err(DiagnosticKind::TooDeep), "{open}: {refused:?}");
    }
    Ok(())
}
