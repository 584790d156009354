//! Hints for common mistakes in predicates: habits from SQL, Python or C.

use warpath_core::diagnostic::Span;

use super::super::ast::ComparisonOp;
use super::super::words::{is_bare, is_blank, is_name_char, is_name_first, quotable, reserved, value_test};
use super::{Context, bracket_name_help, operator_help};

/// The tokens that may begin a test, for "expected …".
pub const TESTS: &str = "a path, a column of an index, a literal, a function, `not` or `(`";
/// The values that a column is compared with, for "expected …".
pub const COLUMN_VALUES: &str = "a number, a string, `true` or `false`";

/// Returns the position of the value after a comparison operator.
pub fn compared(of_column: bool, op: ComparisonOp) -> Context {
    let equal = match op {
        ComparisonOp::Eq => Some(true),
        ComparisonOp::Ne => Some(false),
        _ => None,
    };
    Context::Value { of_column, equal }
}

impl Context {
    /// Returns true for a position that only predicates have.
    pub(super) fn is_of_predicate(self) -> bool {
        use Context::{AfterColumn, AfterLiteral, AfterTest, AfterValue, List, State, Test, Value};
        matches!(
            self,
            Test | AfterColumn | AfterLiteral | Value { .. } | List | AfterValue | State | AfterTest { .. }
        )
    }
}

/// Returns the hint for an unexpected token, if there is one.
pub(super) fn help(text: &str, span: Span, context: Context) -> Option<String> {
    let token = &text[span.start..span.end];
    let rest = &text[span.start..];
    let first = rest.chars().next();
    let word = token.to_ascii_lowercase();
    let next = text[span.end..].trim_start_matches(is_blank);
    let fixed = match context {
        Context::Test => return test_help(&word, first, next),
        Context::AfterColumn => return after_column_help(&word, first),
        Context::Value { of_column, equal } => {
            return state_help(&word, of_column, equal)
                .or_else(|| value_help(token, first?, of_column, next.starts_with('(')));
        }
        Context::AfterLiteral => match text[..span.start].trim_end_matches(is_blank).ends_with(['"', '\'']) {
            true => "a column is named without quotes, or in backticks: `lang = \"en\"`",
            false => "`in`, `between` and `is` test a path or a column",
        },
        Context::List => "the values need parentheses: `lang in (\"en\", \"nl\")`",
        Context::AfterValue => "values are separated by `,`, and `)` ends them",
        Context::State => "`is` tests for a state; values are compared with `==`",
        Context::AfterTest { open } => match (word.as_str(), first) {
            ("&", _) => "`and` is written `&&` or `and`",
            ("|", _) => "`or` is written `||` or `or`",
            (")", _) => "there is no `(` for this `)`",
            (",", _) => "tests are joined by `and` or `or`",
            ("in" | "between" | "is" | "like" | "ilike", _) => {
                "one test at a time: join tests by `and` or `or`"
            }
            (_, None) if open => "close the `(` with `)`",
            (_, Some(c)) if "=<>!".contains(c) => {
                "one comparison at a time: `a >= 1 and a < 5`, or `a between 1 and 5`"
            }
            (_, Some('"' | '\'')) => "a quote inside a string is written `\\\"` or `\\'`",
            _ => {
                let help = operator_help(&word, "$.a").or_else(|| bracket_name_help(text, span.start));
                return help.or_else(|| {
                    let is_sign = matches!(first, Some('+' | '-' | '*' | '/' | '%'));
                    is_sign.then(|| "there is no arithmetic".to_owned())
                });
            }
        },
        _ => return None,
    };
    Some(fixed.to_owned())
}

/// The hint where a test is expected. `next` is the text after the unexpected word and white space.
fn test_help(word: &str, first: Option<char>, next: &str) -> Option<String> {
    let is_tested = next.starts_with(['=', '<', '>', '!']) || value_test(next).is_some();
    match word {
        "not" => return Some("write `not …` or `!(…)`, not both".to_owned()),
        "and" | "or" if !is_tested => return Some(format!("a test is missing before `{word}`")),
        "in" | "between" | "is" if !is_tested => {
            return Some(format!("a path or a column is missing before `{word}`"));
        }
        _ => {}
    }
    Some(
        match first {
            None => "a test is such as `$.user.followers_count >= 1000`",
            Some('@') => "the record is `$`; `@` has a meaning within a filter only: `$.a[?@.b == 1]`",
            Some('.') if next.chars().next().is_some_and(is_name_first) => {
                let len = next.find(|c: char| !is_name_char(c) && c != '.').unwrap_or(next.len());
                return Some(format!("a path starts with `$`: `$.{}`", &next[..len]));
            }
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
            (word, _) if operator_help(word, "$.a").is_some() => {
                "a column is tested by its values; strings are tested by a path: `contains($.a, 'x')`"
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

/// The hint for a state that is written as a value, if `word` is one.
fn state_help(word: &str, of_column: bool, equal: Option<bool>) -> Option<String> {
    let state = match word {
        "missing" => "missing",
        "none" | "nil" | "undefined" if !of_column => {
            return Some("the JSON value is `null`; a missing member is tested by `is missing`".to_owned());
        }
        "nan" if !of_column => return Some("JSON has no such number".to_owned()),
        "null" | "none" | "nil" => "null",
        "undefined" => "missing",
        "nan" => "nan",
        _ => return None,
    };
    let not = if equal == Some(false) { "not " } else { "" };
    Some(format!("write `is {not}{state}`"))
}

fn value_help(token: &str, first: char, of_column: bool, is_call: bool) -> Option<String> {
    let fixed = match first {
        '+' | '.' => "a number starts with a digit or `-`: `0.5`",
        '=' => "equality is written `==` or `=`, and `>=` or `<=` with the `=` at the end",
        '<' | '>' => "the operators are `==`, `!=`, `<`, `<=`, `>` and `>=`",
        '~' => "patterns are matched by `match($.a, '…')` and `search($.a, '…')`",
        '`' => "a column is compared with a literal, not with a path or another column",
        '$' if of_column => "a column is compared with a literal, not with a path or another column",
        '$' => "the values are literals",
        '(' | '[' => "several values are tested by `in`: `lang in (\"en\", \"nl\")`",
        ')' | ',' => "a value is missing before it",
        c if is_name_char(c) && of_column && is_call => {
            "a column is compared with a literal, not with a function"
        }
        c if is_name_char(c) && quotable(token) && (is_bare(token) || reserved(token)) => {
            let rule = if of_column { "a column is compared with a literal; " } else { "" };
            return Some(format!("{rule}a string needs quotes: `\"{token}\"`"));
        }
        _ => return None,
    };
    Some(fixed.to_owned())
}
