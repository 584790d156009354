//! Literal patterns of an expression that are no I-Regexp. By RFC 9535, a test with such a pattern is false.

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};

use super::parse::parse;
use crate::jsonpath::visit::Subexpression;
use crate::jsonpath::words::quotable;
use crate::jsonpath::{ComparableKind, LiteralKind, PatternKind, PatternTest};

/// Forms of other regular expressions, and what to write in their place. A backslash is two in a query.
const INSTEAD: &[(&str, &str)] = &[
    (r"\d", r"write `[0-9]` in place of `\\d`"),
    (r"\D", r"write `[^0-9]` in place of `\\D`"),
    (r"\w", r"write `[A-Za-z0-9_]` in place of `\\w`"),
    (r"\W", r"write `[^A-Za-z0-9_]` in place of `\\W`"),
    (r"\s", r"write `[ \\t\\n\\r]` in place of `\\s`"),
    (r"\S", r"write `[^ \\t\\n\\r]` in place of `\\S`"),
    (r"\b", r"there is no `\\b`; `(^|[^A-Za-z])` before a word is close to it"),
    (r"\/", "write `/` without a backslash"),
    (r#"\""#, "write `\"` without a second backslash"),
    (
        "(?i)",
        "write both cases of a letter: `[Bb][Oo][Tt]` for `(?i)bot`; `icontains` and `ilike` ignore case",
    ),
    ("(?", "write `(…)` in place of `(?…)`"),
    ("*?", "write `*` in place of `*?`"),
    ("+?", "write `+` in place of `+?`"),
];

/// The fault of a part of an expression with this text, if it has a literal pattern that is no I-Regexp.
#[must_use]
pub fn fault(part: Subexpression<'_>, text: &str) -> Option<Diagnostic> {
    let Subexpression::Pattern(test) = part else { return None };
    let ComparableKind::Literal(literal) = &test.pattern.kind else { return None };
    let LiteralKind::String(pattern) = &literal.kind else { return None };
    if parse(pattern).is_some() {
        return None;
    }
    let message = format!("this pattern is no I-Regexp (RFC 9485), so `{}` is always false", test.kind);
    let fault = Diagnostic::new(DiagnosticKind::NotARegexp, literal.span, message);
    if let Some(call) = ignoring_case(test, pattern, text) {
        return Some(fault.with_help(format!("this function ignores case: `{call}`")));
    }
    let instead = INSTEAD.iter().find(|(form, _)| pattern.contains(form));
    Some(match instead {
        Some((_, instead)) => fault.with_help(*instead),
        None => fault,
    })
}

/// The call that does what a pattern of `(?i)` and a text means. `None` for other patterns.
fn ignoring_case(test: &PatternTest, pattern: &str, text: &str) -> Option<String> {
    let pattern = pattern.strip_prefix("(?i)")?;
    let is_plain = |text: &str| !text.is_empty() && !text.contains(|c| r".*+?()[]{}|\^$".contains(c));
    let starts = pattern.strip_prefix('^').filter(|_| test.kind == PatternKind::Search);
    let ends = pattern.strip_suffix('$').filter(|_| test.kind == PatternKind::Search);
    let (function, needle) = match (test.kind, starts, ends) {
        (PatternKind::Match, ..) if !pattern.contains(['%', '_']) => ("ilike", pattern),
        (PatternKind::Match, ..) => return None,
        (PatternKind::Search, Some(needle), _) => ("istarts_with", needle),
        (PatternKind::Search, _, Some(needle)) => ("iends_with", needle),
        (PatternKind::Search, None, None) => ("icontains", pattern),
    };
    let Span { start, end } = test.subject.span;
    let subject = text.get(start..end).filter(|subject| !subject.is_empty())?;
    let literal = ["\"", needle, "\""].concat();
    let call = format!("{function}({subject}, {literal})");
    (is_plain(needle) && !needle.contains('"') && quotable(&call)).then_some(call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonpath::parse_predicate;
    use crate::jsonpath::visit::visit;

    fn help(text: &str) -> Vec<Option<String>> {
        let mut found = Vec::new();
        visit(&parse_predicate(text).unwrap(), &mut |part| found.extend(fault(part, text)));
        found.into_iter().map(|fault| fault.help).collect()
    }

    #[test]
    fn patterns_of_other_languages_are_found() {
        assert_eq!(help(r#"match($.a, "\\d+")"#), [Some(r"write `[0-9]` in place of `\\d`".to_owned())]);
        assert_eq!(help(r#"$.a[?search(@.b, "(?i)bot")] || match($.a, "[")"#).len(), 2);
        for (test, call) in [
            (r#"$.x && search($.ua, "(?i)bot")"#, Some(r#"icontains($.ua, "bot")"#)),
            (r#"search($.ua, '(?i)^It\'s é')"#, Some(r#"istarts_with($.ua, "It's é")"#)),
            (r#"search($.ua, "(?i)bot$")"#, Some(r#"iends_with($.ua, "bot")"#)),
            (r#"match(value($..ua), "(?i)bot")"#, Some(r#"ilike(value($..ua), "bot")"#)),
            (r#"$.a[?search(@['b'], "(?i)bot")]"#, Some(r#"icontains(@['b'], "bot")"#)),
            (r#"match($.ua, "(?i)a_b")"#, None),
            (r#"search($.ua, "(?i)bot|spider")"#, None),
            (r#"search($.ua, "(?i)")"#, None),
        ] {
            let found = help(test).remove(0).unwrap();
            let wanted = call.map(|call| format!("this function ignores case: `{call}`"));
            assert_eq!(Some(found).filter(|help| help.starts_with("this")), wanted, "{test}");
        }
        assert!(help("match($.a, '[0-9]+') && search($.a, $.b)").is_empty());
        // The advice is to write I-Regexps.
        for pattern in [
            "[0-9]",
            "[^0-9]",
            "[A-Za-z0-9_]",
            "[^A-Za-z0-9_]",
            r"[ \t\n\r]",
            r"[^ \t\n\r]",
            "(^|[^A-Za-z])",
            "/",
        ] {
            assert!(parse(pattern).is_some(), "{pattern}");
        }
    }
}
