//! The position of a literal in a column: the positions immediately before and after it.
//!
//! The two positions are equal if no value of the column can equal the literal. Examples are 2.5 among
//! integers, an instant between two nanoseconds, and a number outside the column's range.

use std::cmp::Ordering;

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind};
use warpath_lang::jsonpath::{Literal, LiteralKind};
use warpath_store::bitmap::column::Kind;
use warpath_store::bitmap::value;
use warpath_store::bitmap::value::number::Number;

use super::ranges::{Endpoint, Point, Side, double};

/// The positions immediately before and after a literal, among the values of a kind.
pub fn endpoints(literal: &Literal, kind: Kind, column: &str) -> Result<(Endpoint, Endpoint), Diagnostic> {
    let wrong = |wanted: &str| {
        let found = match &literal.kind {
            LiteralKind::Number(_) => "a number",
            LiteralKind::String(_) => "a string",
            LiteralKind::Bool(_) => "a truth value",
            LiteralKind::Null => "`null`",
            LiteralKind::Now(_) => "an instant",
        };
        let message = format!("`{column}` is a column of {}: expected {wanted}, found {found}", plural(kind));
        Diagnostic::new(DiagnosticKind::WrongKind, literal.span, message)
    };
    match (kind, &literal.kind) {
        (Kind::Int, LiteralKind::Number(text)) => integer(text).ok_or_else(|| wrong("a number")),
        (Kind::Float, LiteralKind::Number(text)) => {
            let value = warpath_core::float::finish(text.as_bytes()).ok_or_else(|| wrong("a number"))?;
            Ok(beside(double(value)))
        }
        (Kind::Bool, LiteralKind::Bool(value)) => Ok(beside((*value).into())),
        (Kind::Text, LiteralKind::String(text)) => {
            let at = |side| Endpoint::At(Point::Text(text.as_str().into()), side);
            Ok((at(Side::Before), at(Side::Behind)))
        }
        (Kind::Time, LiteralKind::String(text)) => {
            instant(text).ok_or_else(|| wrong("an instant").with_help(INSTANTS))
        }
        (Kind::Int | Kind::Float, LiteralKind::String(text)) if is_number(text) => {
            Err(wrong("a number").with_help(format!("write it without quotes: `{text}`")))
        }
        (Kind::Int | Kind::Float, _) => Err(wrong("a number")),
        (Kind::Bool, _) => Err(wrong("`true` or `false`")),
        (Kind::Text, LiteralKind::Number(text)) => {
            Err(wrong("a string").with_help(format!("write it in quotes: `\"{text}\"`")))
        }
        (Kind::Text, _) => Err(wrong("a string")),
        (Kind::Time, _) => Err(wrong("an instant").with_help(INSTANTS)),
    }
}

const INSTANTS: &str =
    "instants are written by RFC 3339: `\"2024-05-01T12:00:00Z\"`, `\"2024-05-01T12:00:00.5+02:00\"`";

/// The plural name of a kind's values, for messages.
fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "integers",
        Kind::Float => "floats",
        Kind::Text => "texts",
        Kind::Time => "instants",
        Kind::Bool => "truth values",
    }
}

fn is_number(text: &str) -> bool {
    let mut lexer = warpath_lang::jsonpath::lexer::Lexer::new(text, 0);
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && lexer.number().is_ok()
        && lexer.rest().is_empty()
}

/// The positions before and after a number.
fn beside(number: i64) -> (Endpoint, Endpoint) {
    (Endpoint::before(number), Endpoint::behind(number))
}

/// The single position of a literal that equals no value. `ceiling` is the least value above the literal, or
/// the side of all values on which the literal is.
fn beside_none(ceiling: Result<i64, Ordering>) -> (Endpoint, Endpoint) {
    let endpoint = match ceiling {
        Ok(next) => Endpoint::before(next),
        Err(Ordering::Less) => Endpoint::Start,
        Err(_) => Endpoint::End,
    };
    (endpoint.clone(), endpoint)
}

/// The positions of a JSON number among integers, by its exact value.
fn integer(text: &str) -> Option<(Endpoint, Endpoint)> {
    match value::number(text.as_bytes())? {
        Number::Int(number) => Some(beside(number)),
        _ => value::ceiling(text.as_bytes()).map(beside_none),
    }
}

/// The positions of an instant, by its exact time.
fn instant(text: &str) -> Option<(Endpoint, Endpoint)> {
    match value::instant(text) {
        Some(instant) => Some(beside(instant)),
        None => value::next_instant(text).map(beside_none),
    }
}

#[cfg(test)]
mod tests {
    use warpath_lang::jsonpath::{ComparableKind, LogicalExprKind, parse_predicate};
    use warpath_random::table::texts;

    use super::*;

    const CASES: &str = include_str!("literal.txt");

    /// The positions of the literal in `x = …`.
    fn of(literal: &str, kind: Kind) -> Result<(Endpoint, Endpoint), Diagnostic> {
        let text = format!("x = {literal}");
        let LogicalExprKind::Comparison(test) =
            parse_predicate(&text).unwrap_or_else(|error| panic!("{}", error.render(&text))).kind
        else {
            panic!("{literal} is no literal");
        };
        let ComparableKind::Literal(literal) = &test.right.kind else { panic!("{literal} is no literal") };
        endpoints(literal, kind, "x")
    }

    /// The positions that a table names.
    fn expected(place: &str, number: &str) -> (Endpoint, Endpoint) {
        let number = || number.parse().unwrap();
        match place {
            "beside" => beside(number()),
            "between" => (Endpoint::behind(number()), Endpoint::behind(number())),
            "start" => (Endpoint::Start, Endpoint::Start),
            "end" => (Endpoint::End, Endpoint::End),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn numbers_among_integers_are_exact() {
        for [text, place, number] in texts(CASES, "integers") {
            assert_eq!(of(&text, Kind::Int), Ok(expected(&place, &number)), "{text}");
        }
        const MAX: i64 = i64::MAX;
        assert_eq!(beside(MAX).1, Endpoint::End);
        assert_eq!(beside(i64::MIN).0, Endpoint::Start);
    }

    #[test]
    fn numbers_among_doubles_are_the_nearest() {
        for (text, value) in [
            ("0.1", 0.1),
            ("-0", 0.0),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("1e999", f64::INFINITY),
            ("-1e-999", 0.0),
        ] {
            assert_eq!(of(text, Kind::Float), Ok(beside(double(value))), "{text}");
        }
    }

    #[test]
    fn instants_are_exact() {
        for [text, place, number] in texts(CASES, "instants") {
            assert_eq!(of(&format!("{text:?}"), Kind::Time), Ok(expected(&place, &number)), "{text}");
        }
        for [text] in texts(CASES, "no instants") {
            let refused = of(&format!("{text:?}"), Kind::Time).map_err(|error| error.kind);
            assert_eq!(refused, Err(DiagnosticKind::WrongKind), "{text}");
        }
    }

    #[test]
    fn literals_of_another_kind_are_refused() {
        for (literal, kind, message, help) in [
            (
                "\"5\"",
                Kind::Int,
                "`x` is a column of integers: expected a number, found a string",
                "write it without quotes: `5`",
            ),
            ("\"5k\"", Kind::Float, "`x` is a column of floats: expected a number, found a string", ""),
            (
                "5",
                Kind::Text,
                "`x` is a column of texts: expected a string, found a number",
                "write it in quotes: `\"5\"`",
            ),
            ("true", Kind::Text, "`x` is a column of texts: expected a string, found a truth value", ""),
            (
                "1",
                Kind::Bool,
                "`x` is a column of truth values: expected `true` or `false`, found a number",
                "",
            ),
            ("5", Kind::Time, "`x` is a column of instants: expected an instant, found a number", INSTANTS),
            (
                "\"today\"",
                Kind::Time,
                "`x` is a column of instants: expected an instant, found a string",
                INSTANTS,
            ),
        ] {
            let error = of(literal, kind).expect_err(literal);
            assert_eq!((error.message.as_str(), error.help.as_deref().unwrap_or_default()), (message, help));
            assert_eq!((error.kind, error.span.start), (DiagnosticKind::WrongKind, 4));
        }
    }
}
