//! Hints for common mistakes: habits from SQL, JSONPath, Python or C.

use warpath_core::diagnostic::DiagnosticKind;
use warpath_core::diagnostic::Span;

use super::parse::{is_word_char, reserved};
use crate::jsonpath::hint::{quotable, quote};

/// The position in the grammar where something unexpected was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The start of a test.
    Test,
    /// After the name of a column.
    AfterColumn,
    /// After a literal that begins a test.
    AfterLiteral,
    /// A column's name is expected, after a literal and an operator.
    Column,
    /// A literal is expected.
    Value,
    /// A literal is expected, in a comparison for equality (`true`) or inequality of a column.
    Equal(bool),
    /// The start of the values of `in`.
    List,
    /// After a value of `in`.
    AfterValue,
    /// After `is`, or `is not`.
    State,
    /// After a whole test.
    AfterTest {
        /// True within parentheses.
        open: bool,
    },
    /// Any other position.
    Elsewhere,
}

/// Describes the token at `at`, for "expected …, found …": the kind of error, its span, and the words.
pub(super) fn found(text: &str, at: usize) -> (DiagnosticKind, Span, String) {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else {
        return (DiagnosticKind::UnexpectedEnd, Span::point(at), "the end of the expression".to_owned());
    };
    let is_operator = |c: char| "=<>!&|".contains(c);
    let len = if is_word_char(first) {
        rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())
    } else if is_operator(first) {
        rest.find(|c| !is_operator(c)).unwrap_or(rest.len())
    } else {
        first.len_utf8()
    };
    (DiagnosticKind::UnexpectedToken, Span::new(at, at + len), quote(&rest[..len]))
}

/// Returns the hint for an unexpected token, if there is one.
pub(super) fn help(text: &str, span: Span, place: Place) -> Option<String> {
    let token = &text[span.start..span.end];
    let first = text[span.start..].chars().next();
    if matches!(first, Some('“' | '”' | '‘' | '’' | '„')) {
        return Some("strings need straight quotes, `\"…\"` or `'…'`".to_owned());
    }
    let word = token.to_ascii_lowercase();
    let fixed = match place {
        Place::Test | Place::Column => return test_help(&word, first, place),
        Place::AfterColumn => return after_column_help(&word, first),
        Place::Value | Place::Equal(_) => return value_help(token, &word, first, place),
        Place::AfterLiteral => "a column is named without quotes, or in backticks: `lang = \"en\"`",
        Place::List => "the values need parentheses: `lang in (\"en\", \"nl\")`",
        Place::AfterValue => "values are separated by `,`, and `)` ends them",
        Place::State => "`missing`, `null`, `other`, `nan` or `value` follows `is`; compare values with `=`",
        Place::AfterTest { open } => match (word.as_str(), first) {
            ("&&" | "&", _) => "`and` is a word",
            ("||" | "|", _) => "`or` is a word",
            (")", _) => "there is no `(` for this `)`",
            (",", _) => "tests are joined by `and` or `or`",
            (_, None) if open => "close the `(` with `)`",
            (_, Some(c)) if "=<>!".contains(c) => {
                "one comparison at a time: `a >= 1 and a < 5`, or `a between 1 and 5`"
            }
            (_, Some('"' | '\'')) => "a quote inside a string is written `\\\"` or `\\'`",
            (_, Some('+' | '-' | '*' | '/' | '%')) => "there is no arithmetic",
            _ => return None,
        },
        Place::Elsewhere => return None,
    };
    Some(fixed.to_owned())
}

fn test_help(word: &str, first: Option<char>, place: Place) -> Option<String> {
    Some(
        match first {
            None if place == Place::Test => "a test is such as `followers >= 1000`",
            Some('!') => "`not` is a word",
            Some('$' | '@') => "name a column as in the index, not by a path",
            Some('+' | '.') => "a number starts with a digit or `-`: `0.5`",
            Some('[') => "parentheses are `(` and `)`; an odd name needs backticks",
            Some(')') => "a test is missing before this `)`",
            _ if reserved(word) => {
                return Some(format!("a column of this name needs backticks: `` `{word}` ``"));
            }
            _ => return None,
        }
        .to_owned(),
    )
}

fn after_column_help(word: &str, first: Option<char>) -> Option<String> {
    Some(
        match (word, first) {
            (
                "like" | "ilike" | "matches" | "contains" | "glob" | "regexp" | "startswith" | "endswith",
                _,
            )
            | (_, Some('~')) => {
                "bitmaps are of values, not of parts of them; `warpath query` has patterns in filters"
            }
            ("equals" | "eq", _) => "equality is written `=`",
            (_, Some('[')) => "an odd name needs backticks",
            (_, Some('+' | '-' | '*' | '/' | '%')) => "there is no arithmetic; an odd name needs backticks",
            (":" | "$", _) => "an odd name needs backticks",
            ("and" | "or" | ")", _) | (_, None) => {
                "a column is compared: `verified = true`, or `verified is value`"
            }
            ("!", _) => "inequality is written `!=`",
            (_, Some('(')) => "there are no functions; the values of `in` need parentheses",
            _ => return None,
        }
        .to_owned(),
    )
}

fn value_help(token: &str, word: &str, first: Option<char>, place: Place) -> Option<String> {
    if word == "null" || word == "missing" || word == "nan" || word == "none" {
        let state = if word == "none" { "null" } else { word };
        return Some(match place {
            Place::Equal(false) => format!("write `is not {state}`"),
            _ => format!("write `is {state}`"),
        });
    }
    let first = first?;
    Some(match first {
        '+' | '.' => "a number starts with a digit or `-`: `0.5`".to_owned(),
        '=' => "equality is written `=`, and `>=` or `<=` with the `=` last".to_owned(),
        '<' | '>' => "the operators are `=`, `!=`, `<`, `<=`, `>` and `>=`".to_owned(),
        '~' => {
            "bitmaps are of values, not of parts of them; `warpath query` has patterns in filters".to_owned()
        }
        '`' => "a column is compared with a literal, not with another column".to_owned(),
        '(' | '[' => "test for several values with `in`: `lang in (\"en\", \"nl\")`".to_owned(),
        ')' | ',' => "a value is missing before it".to_owned(),
        c if is_word_char(c) && quotable(token) => format!("a string needs quotes: `\"{token}\"`"),
        _ => return None,
    })
}
