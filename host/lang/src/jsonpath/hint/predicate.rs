//! Hints for common mistakes in predicates: habits from SQL, Python or C.

use warpath_core::diagnostic::Span;

use super::super::ast::ComparisonOp;
use super::super::words::{is_bare, is_name_char, quotable, reserved};
use super::{Place, bracket_name_help};

/// The tokens that may begin a test, for "expected …".
pub const TESTS: &str = "a path, a column, `not` or `(`";
/// The values that a column is compared with, for "expected …".
pub const COLUMN_VALUES: &str = "a number, a string, `true` or `false`";

/// Returns the position of a literal that is compared with a column.
pub fn of_column(op: ComparisonOp) -> Place {
    match op {
        ComparisonOp::Eq => Place::ColumnEqual(true),
        ComparisonOp::Ne => Place::ColumnEqual(false),
        _ => Place::ColumnValue,
    }
}

impl Place {
    /// Returns true for a position that only predicates have.
    pub(super) fn is_of_predicate(self) -> bool {
        use Place::{
            AfterColumn, AfterLiteral, AfterTest, AfterValue, ColumnEqual, ColumnValue, List, State, Test,
            Value,
        };
        matches!(
            self,
            Test | AfterColumn
                | AfterLiteral
                | Value
                | ColumnValue
                | ColumnEqual(_)
                | List
                | AfterValue
                | State
                | AfterTest { .. }
        )
    }
}

/// Returns the hint for an unexpected token, if there is one.
pub(super) fn help(text: &str, span: Span, place: Place) -> Option<String> {
    let token = &text[span.start..span.end];
    let rest = &text[span.start..];
    let first = rest.chars().next();
    let word = token.to_ascii_lowercase();
    let fixed = match place {
        Place::Test => return test_help(&word, first),
        Place::AfterColumn => return after_column_help(&word, first),
        Place::Value | Place::ColumnValue | Place::ColumnEqual(_) => {
            return value_help(token, &word, first, place);
        }
        Place::AfterLiteral => "a column is named without quotes, or in backticks: `lang = \"en\"`",
        Place::List => "the values need parentheses: `lang in (\"en\", \"nl\")`",
        Place::AfterValue => "values are separated by `,`, and `)` ends them",
        Place::State => "`is` tests for a state; values are compared with `==`",
        Place::AfterTest { open } => match (word.as_str(), first) {
            ("&", _) => "`and` is written `&&` or `and`",
            ("|", _) => "`or` is written `||` or `or`",
            (")", _) => "there is no `(` for this `)`",
            (",", _) => "tests are joined by `and` or `or`",
            ("in" | "between" | "is", _) => "put the test in parentheses: `!($.a in (1, 2))`",
            ("like" | "matches" | "contains" | "regexp", _) | (_, Some('~')) => {
                "patterns are matched by `match($.a, '…')` and `search($.a, '…')`"
            }
            (_, None) if open => "close the `(` with `)`",
            (_, Some(c)) if "=<>!".contains(c) => {
                "one comparison at a time: `a >= 1 and a < 5`, or `a between 1 and 5`"
            }
            (_, Some('"' | '\'')) => "a quote inside a string is written `\\\"` or `\\'`",
            _ => {
                return bracket_name_help(text, span.start).or_else(|| {
                    let is_sign = matches!(first, Some('+' | '-' | '*' | '/' | '%'));
                    is_sign.then(|| "there is no arithmetic".to_owned())
                });
            }
        },
        _ => return None,
    };
    Some(fixed.to_owned())
}

fn test_help(word: &str, first: Option<char>) -> Option<String> {
    Some(
        match first {
            None => "a test is such as `$.user.followers_count >= 1000`",
            Some('@') => "the record is `$`; `@` has a meaning within a filter only: `$.a[?@.b == 1]`",
            Some('+' | '.') => "a number starts with a digit or `-`, and a path with `$`",
            Some('[') => "parentheses are `(` and `)`; an odd name needs backticks",
            Some(')') => "a test is missing before this `)`",
            Some('!') => "`!` cannot be repeated, and applies to a test or parentheses",
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
                "a column is tested by its values; patterns are tested by a path: `search($.a, 'x')`"
            }
            ("equals" | "eq", _) => "equality is written `==`",
            (_, Some('[')) => "an odd name needs backticks; a path begins with `$`",
            (_, Some('+' | '-' | '*' | '/' | '%')) => "there is no arithmetic; an odd name needs backticks",
            (":" | "$", _) => "an odd name needs backticks",
            ("and" | "or" | ")" | "&" | "|", _) | (_, None) => {
                "a column is compared: `verified = true`, or `verified is value`"
            }
            ("!", _) => "inequality is written `!=`",
            (_, Some('(')) => "the values of `in` need parentheses",
            _ => return None,
        }
        .to_owned(),
    )
}

fn value_help(token: &str, word: &str, first: Option<char>, place: Place) -> Option<String> {
    let of_column = !matches!(place, Place::Value);
    if of_column && matches!(word, "null" | "missing" | "nan" | "none") {
        let state = if word == "none" { "null" } else { word };
        return Some(match place {
            Place::ColumnEqual(false) => format!("write `is not {state}`"),
            _ => format!("write `is {state}`"),
        });
    }
    Some(match first? {
        '+' | '.' => "a number starts with a digit or `-`: `0.5`".to_owned(),
        '=' => "equality is written `==` or `=`, and `>=` or `<=` with the `=` at the end".to_owned(),
        '<' | '>' => "the operators are `==`, `!=`, `<`, `<=`, `>` and `>=`".to_owned(),
        '~' => "patterns are matched by `match($.a, '…')` and `search($.a, '…')`".to_owned(),
        '`' => "a column is compared with a literal, not with a path or another column".to_owned(),
        '$' if of_column => {
            "a column is compared with a literal, not with a path or another column".to_owned()
        }
        '$' => "the values are literals".to_owned(),
        '(' | '[' => "several values are tested by `in`: `lang in (\"en\", \"nl\")`".to_owned(),
        ')' | ',' => "a value is missing before it".to_owned(),
        c if is_name_char(c) && quotable(token) && (is_bare(token) || reserved(token)) => {
            format!("a string needs quotes: `\"{token}\"`")
        }
        _ => return None,
    })
}
