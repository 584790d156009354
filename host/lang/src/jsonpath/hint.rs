//! Hints for common mistakes: habits from jq, JavaScript, Python or an older JSONPath.
//!
//! The parser reports the construct that it expected. This module guesses the intended query from the
//! position in the grammar and the text around it. A complete query in a hint has been parsed first, so a
//! hint never leads to the next error.

use warpath_core::diagnostic::{Diagnostic, Span};

use super::ast::Quoted;
use super::function::Function;
use super::lexer::Lexer;
use super::parse::attempt;
use super::words::{LONGEST, distance, is_blank, is_name_char, is_name_first, quotable, quote};

mod predicate;

pub(super) use predicate::{COLUMN_VALUES, TESTS, compared};

/// The context in the grammar in which the parser found something unexpected.
#[derive(Clone, Copy)]
pub(super) enum Context {
    /// Before the first character.
    Root,
    /// After the segments of the whole query.
    Tail,
    /// After the dot or dots of the segment that begins at `start`.
    Dot { start: usize },
    /// The start of a selector.
    Selector,
    /// After a selector that is not a filter.
    AfterSelector,
    /// The start of an operand in a filter.
    Operand,
    /// The start of an argument.
    Argument,
    /// After an expression in a filter, in parentheses or among arguments.
    AfterExpr,
    /// The start of a test of a predicate.
    Test,
    /// After a column of a predicate.
    AfterColumn,
    /// After a literal that begins a test of a predicate.
    AfterLiteral,
    /// A value is expected in a predicate.
    Value {
        /// True if the value is compared with a column. Then it is a literal.
        of_column: bool,
        /// True after `==` and false after `!=`; none for other tests.
        equal: Option<bool>,
    },
    /// The start of the values of `in`.
    List,
    /// After a value of `in`.
    AfterValue,
    /// After `is`, or `is not`.
    State,
    /// After a whole test of a predicate.
    AfterTest {
        /// True within parentheses.
        open: bool,
    },
    /// Any other position: the error needs no hint, or has one.
    Elsewhere,
}

/// Adds a hint to an error of the parser, if there is one.
pub(super) fn explain(query: &str, mut error: Diagnostic, context: Context) -> Diagnostic {
    if error.help.is_none() {
        error.help = help(query, error.span, context);
    }
    error
}

/// The hint for `now()` that is not compared with an instant.
pub(super) const NOW_HELP: &str = "such as `time($.a) >= now() - 1h`";

/// Names of functions in other languages, without `_` and in lower case, and the functions that do the same.
const MEANT: [(&str, &[&str]); 9] = [
    ("length", &["len", "size", "strlen", "arraylength", "charlength"]),
    ("match", &["regex", "regexp", "matches", "fullmatch"]),
    ("search", &["test", "find", "regexplike", "regexpcontains", "regexpmatches", "rlike", "regexmatch"]),
    ("contains", &["includes", "instr", "strpos", "position", "indexof", "strstr", "substr", "has"]),
    ("starts_with", &["hasprefix", "beginswith", "prefix", "startwith"]),
    ("ends_with", &["hassuffix", "suffix", "endwith"]),
    ("cidr", &["cidrmatch", "incidr", "cidrcontains", "ipincidr", "ipinrange", "isinsubnet", "inet", "ip"]),
    ("time", &["date", "datetime", "timestamp", "totimestamp", "todate", "parsetime", "strptime"]),
    ("now", &["currenttimestamp", "getdate", "sysdate", "today", "utcnow", "localtimestamp", "ago"]),
];

/// Functions of other languages that change the case of a string.
const CASES: [&str; 11] = [
    "lower",
    "upper",
    "lowercase",
    "uppercase",
    "tolower",
    "toupper",
    "tolowercase",
    "touppercase",
    "lcase",
    "ucase",
    "casefold",
];

/// Returns the hint for a function that does not exist.
pub(super) fn function_help(name: &str) -> String {
    let plain = name.to_lowercase().replace('_', "");
    if CASES.contains(&plain.as_str()) {
        return "these ignore case: `icontains`, `istarts_with`, `iends_with` and `ilike`".to_owned();
    }
    if plain == "not" {
        return "`not` is written `!`".to_owned();
    }
    if let Some(known) = meant_function(&plain) {
        return format!("did you mean `{known}`?");
    }
    let names = Function::ALL.map(|function| format!("`{}`", function.name()));
    let (last, others) = names.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    format!("the functions are {} and {last}", others.join(", "))
}

/// Returns the function that a name means, which is without `_` and in lower case: that of another language,
/// or one that is spelt almost the same.
fn meant_function(plain: &str) -> Option<&'static str> {
    if let Some((known, _)) = MEANT.iter().find(|(_, names)| names.contains(&plain)) {
        return Some(known);
    }
    // Short names are near to many others.
    let most = if plain.len() < 5 { 1 } else { 2 };
    let all = Function::ALL.iter().filter(|_| plain.len() <= LONGEST).map(|function| function.name());
    let edits = all.map(|known| (distance(&known.replace('_', ""), plain), known));
    edits.filter(|(edits, _)| *edits <= most).min().map(|(_, known)| known)
}

/// Returns the hint for an operator of another language that tests strings. `subject` is the value in the
/// example.
fn operator_help(word: &str, subject: &str) -> Option<String> {
    let plain = word.to_lowercase().replace('_', "");
    let function = match plain.as_str() {
        "starts" => "starts_with",
        "ends" => "ends_with",
        "glob" | "similar" => "like",
        "includes" | "has" => "contains",
        "matches" | "match" | "regex" | "regexp" | "rlike" | "search" | "~" => {
            return Some(format!(
                "patterns are matched by `match({subject}, '…')` and `search({subject}, '…')`"
            ));
        }
        plain => {
            let mut texts = Function::ALL.iter().filter(|function| matches!(function, Function::Text(..)));
            texts.find(|function| function.name().replace('_', "") == plain)?.name()
        }
    };
    let text = if function.ends_with("like") { "x%" } else { "x" };
    Some(format!("`{function}` is a function: `{function}({subject}, '{text}')`"))
}

fn help(query: &str, span: Span, context: Context) -> Option<String> {
    let rest = &query[span.start..];
    let is_quote =
        |c: char| matches!(c, '“' | '”' | '‘' | '’' | '„') || c == '`' && !context.is_of_predicate();
    if rest.starts_with(is_quote) && !matches!(context, Context::Root) {
        return Some("strings need straight quotes, `'…'` or `\"…\"`".to_owned());
    }
    match context {
        context if context.is_of_predicate() => predicate::help(query, span, context),
        Context::Root => Some(root_help(query)),
        Context::Tail => tail_help(query, span.start),
        Context::Dot { start } => dot_help(query, span, start),
        Context::Selector => selector_help(query, span),
        Context::AfterSelector => after_selector_help(query, span.start),
        Context::Operand | Context::Argument => operand_help(query, span),
        Context::AfterExpr => after_expr_help(query, span.start),
        _ => None,
    }
}

fn root_help(query: &str) -> String {
    const RULE: &str = "a path starts with `$`";
    let trimmed = query.trim_matches(is_blank);
    if trimmed.is_empty() {
        return format!("{RULE}; `$` alone is the whole record");
    }
    let plain = trimmed.strip_prefix('@').unwrap_or(trimmed);
    let candidates = [trimmed.to_owned(), format!("${plain}"), format!("$.{plain}")];
    match candidates.iter().find(|candidate| works(candidate)) {
        Some(fixed) if *fixed == trimmed => format!("remove the white space: `{fixed}`"),
        Some(fixed) if trimmed.starts_with('@') => {
            format!("{RULE}, and `@` has a meaning in a filter only: `{fixed}`")
        }
        Some(fixed) => format!("{RULE}: `{fixed}`"),
        None => RULE.to_owned(),
    }
}

fn tail_help(query: &str, at: usize) -> Option<String> {
    let rest = &query[at..];
    let first = rest.chars().next()?;
    if let Some(help) = bracket_name_help(query, at) {
        return Some(help);
    }
    if is_name_first(first) && at == 1 {
        let fixed = format!("$.{rest}");
        return Some(proposed("a name is preceded by `.`", &fixed));
    }
    if matches!(first, '\'' | '"') {
        let mut lexer = Lexer::new(query, at);
        lexer.string().ok()?;
        let name = Span::new(at, lexer.at());
        let fixed = splice(query, name, &format!("[{}]", &query[at..name.end]));
        return Some(proposed("a name in quotes needs brackets", &fixed));
    }
    Some(
        match first {
            '(' => "a function is allowed only in a filter: `[?length(@.a) > 1]`",
            '=' | '!' | '<' | '>' => "a comparison is allowed only in a filter: `[?@.a == 1]`",
            '|' => "a path has no pipes; give several paths or combine the tests of a filter with `||`",
            '&' => "tests are combined only in a filter: `[?@.a && @.b]`",
            ']' => "there is no `[` for this `]`",
            ')' => "there is no `(` for this `)`",
            '?' => "a filter needs brackets: `[?@.a]`",
            ',' => "write several selectors in one pair of brackets: `['a', 'b']`",
            '*' => "write `*` after a dot or in brackets: `.*` or `[*]`",
            '~' | '^' => "RFC 9535 has no selector for names or parents",
            '0'..='9' => "an index needs brackets: `[0]`",
            _ => return None,
        }
        .to_owned(),
    )
}

fn dot_help(query: &str, span: Span, start: usize) -> Option<String> {
    let rest = &query[span.start..];
    let dots = &query[start..span.start];
    let descendant = if dots == ".." { ".." } else { "" };
    let Some(first) = rest.chars().next() else {
        return Some(if dots == ".." {
            "`..*` selects every descendant; otherwise remove the dots".to_owned()
        } else {
            "remove the `.`".to_owned()
        });
    };
    let spliced = |replacement: &str, end: usize| splice(query, Span::new(start, end), replacement);
    match first {
        '[' => Some(proposed("remove the `.` before `[`", &spliced("", span.start))),
        '\'' | '"' => {
            let mut lexer = Lexer::new(query, span.start);
            lexer.string().ok()?;
            let name = &query[span.start..lexer.at()];
            Some(proposed(
                "a name in quotes needs brackets",
                &spliced(&format!("{descendant}[{name}]"), lexer.at()),
            ))
        }
        '0'..='9' => {
            let token = &query[span.start..span.end];
            if !quotable(token) {
                return None;
            }
            let name = Quoted(token);
            Some(if token.bytes().all(|b| b.is_ascii_digit()) {
                format!(
                    "write `{descendant}[{token}]` for the element of an array, \
                     `{descendant}[{name}]` for the member of an object"
                )
            } else {
                format!("a name that starts with a digit needs brackets and quotes: `{descendant}[{name}]`")
            })
        }
        '.' => Some("descendants are selected by two dots: `..`".to_owned()),
        '?' | '(' => Some("a filter needs brackets: `[?@.a]`".to_owned()),
        c if is_blank(c) => {
            let fixed = splice(query, span, "");
            Some(if works(&fixed) { format!("remove it: `{fixed}`") } else { "remove it".to_owned() })
        }
        _ => {
            let name = name_like(rest);
            (!name.is_empty() && quotable(name))
                .then(|| format!("this name needs brackets and quotes: `{descendant}[{}]`", Quoted(name)))
        }
    }
}

fn selector_help(query: &str, span: Span) -> Option<String> {
    let rest = &query[span.start..];
    let Some(first) = rest.chars().next() else {
        return Some("a selector is `'name'`, `0`, `1:3`, `*` or `?@.a`".to_owned());
    };
    Some(match first {
        c if is_name_first(c) => {
            let name = name_like(rest);
            if !quotable(name) {
                return None;
            }
            format!("a name in brackets needs quotes: `[{}]`", Quoted(name))
        }
        '@' => "a filter starts with `?`: `[?@.a]`".to_owned(),
        '$' => "a query in brackets is a filter and starts with `?`: `[?$.a]`".to_owned(),
        '(' => "RFC 9535 has no script expressions: a filter is `[?…]`, the last element `[-1]`".to_owned(),
        '!' => "a filter starts with `?`: `[?!@.a]`".to_owned(),
        ']' if query[..span.start].trim_end_matches(is_blank).ends_with(',') => "remove the `,`".to_owned(),
        ']' => "`[*]` selects every child".to_owned(),
        '+' => "a number has no `+`".to_owned(),
        '.' => "remove the `.` inside the brackets: `['a']`".to_owned(),
        ',' => "remove the `,`".to_owned(),
        '[' => "separate selectors by commas: `['a', 'b']`".to_owned(),
        '=' | '<' | '>' => "a filter starts with `?`: `[?@.a == 1]`".to_owned(),
        _ => return None,
    })
}

fn after_selector_help(query: &str, at: usize) -> Option<String> {
    let rest = &query[at..];
    Some(
        match rest.chars().next() {
            None => "close the `[` with `]`",
            Some(':') => "a slice has three parts at most: `[start:end:step]`",
            Some(c) if query[..at].ends_with(['\'', '"']) && (is_name_char(c) || matches!(c, '\'' | '"')) => {
                "a quote inside a string is written `\\'` or `\\\"`"
            }
            Some('=' | '!' | '<' | '>') => "a filter starts with `?`: `[?@.a == 1]`",
            Some('.' | '[') => "close the brackets first: `]`",
            Some('?') => "several selectors are separated by `,`",
            Some(_) => return None,
        }
        .to_owned(),
    )
}

fn operand_help(query: &str, span: Span) -> Option<String> {
    let at = span.start;
    let rest = &query[at..];
    let first = rest.chars().next()?;
    let before = &query[..at];
    if is_name_first(first) {
        let word = &query[span.start..span.end];
        return Some(match word.to_lowercase().as_str() {
            "true" | "false" | "null" => {
                format!("literals are in lower case: `{}`", word.to_ascii_lowercase())
            }
            "none" | "nil" | "undefined" => "the JSON value is `null`; a missing member is `!@.a`".to_owned(),
            "not" => "`not` is written `!`".to_owned(),
            "nan" | "infinity" | "inf" => "JSON has no such number".to_owned(),
            _ if !quotable(word) => return None,
            _ => {
                format!("write `@.{word}` for a member of the current node, `{}` for a string", Quoted(word))
            }
        });
    }
    Some(
        match first {
            '=' if before.ends_with("==") || before.ends_with("!=") => "equality is `==`, inequality `!=`",
            '=' => "equality is written `==`, with a value on each side",
            '~' => "patterns are matched by `match(@.a, '…')` and `search(@.a, '…')`",
            '>' if before.ends_with('<') => "inequality is written `!=`",
            '!' => "`!` cannot be repeated, and applies to a test or parentheses",
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                "a number starts with a digit: `0.5`"
            }
            '.' | '[' => "a query in a filter starts with `@`, the current node, or `$`, the record",
            '+' => "a number has no `+`",
            '(' => "a value has no parentheses",
            '{' => "objects and arrays cannot be written as literals",
            '/' => "patterns are matched by `match(@.a, '…')` and `search(@.a, '…')`",
            '&' if before.ends_with("&&") => "`and` is written `&&`",
            '|' if before.ends_with("||") => "`or` is written `||`",
            '*' => "`@.*` selects every child of the current node",
            ',' | ')' | ']' if before.ends_with(',') => "remove the `,`",
            _ => return None,
        }
        .to_owned(),
    )
}

fn after_expr_help(query: &str, at: usize) -> Option<String> {
    let rest = &query[at..];
    let before = &query[..at];
    let Some(first) = rest.chars().next() else {
        return Some("close what is open: `(` with `)`, `[` with `]`".to_owned());
    };
    if let Some(help) = bracket_name_help(query, at) {
        return Some(help);
    }
    let word: String = rest.chars().take_while(|c| is_name_char(*c)).take(16).collect();
    if let Some(help) = operator_help(if first == '~' { "~" } else { &word }, "@.a") {
        return Some(help);
    }
    Some(
        match (first, word.to_lowercase().as_str()) {
            ('=', _) if rest.starts_with("=~") => {
                "patterns are matched by `match(@.a, '…')` and `search(@.a, '…')`"
            }
            ('=', _) => "equality is written `==`",
            ('&', _) | (_, "and") => "`and` is written `&&`",
            ('|', _) | (_, "or") => "`or` is written `||`",
            (_, "in" | "anyof") => "compare with one value at a time: `@.a == 1 || @.a == 2`",
            (_, "nin" | "noneof") => "compare with one value at a time: `@.a != 1 && @.a != 2`",
            (_, "is" | "eq") => "equality is written `==`",
            (_, "isnt" | "ne") => "inequality is written `!=`",
            ('+' | '-' | '*' | '/' | '%', _) => "a filter has no arithmetic",
            ('(', _) if before.ends_with(is_name_char) => {
                "functions are not methods: `length(@.a)`, not `@.a.length()`"
            }
            (c, _) if before.ends_with(['\'', '"']) && (is_name_char(c) || matches!(c, '\'' | '"')) => {
                "a quote inside a string is written `\\'` or `\\\"`"
            }
            (c, _) if is_name_first(c) && before.ends_with(['@', '$']) => {
                "a name is preceded by `.`, as in `@.a`"
            }
            (']' | ',', _) => "close the `(` with `)` first",
            (')', _) => "there is no `(` for this `)`",
            _ => return None,
        }
        .to_owned(),
    )
}

/// Returns the hint for `.a-b`: the text at `at` follows a name after a dot, and looks like the rest of the
/// name.
fn bracket_name_help(query: &str, at: usize) -> Option<String> {
    let before = &query[..at];
    let dot = before.trim_end_matches(is_name_char).len().checked_sub(1)?;
    let name_start = dot + 1;
    let glued = query[at..].starts_with(|c: char| {
        matches!(c, '-' | ':' | '/' | '#' | '@' | '$' | '%' | '+' | '\\' | '{') || is_name_first(c)
    });
    if query.as_bytes()[dot] != b'.' || name_start == at || !glued {
        return None;
    }
    let name = name_like(&query[name_start..]);
    let whole = Span::new(dot, name_start + name.len());
    let descendant = query[..dot].ends_with('.');
    // The dots of a descendant segment stay; the dot of a child segment is removed.
    let from = if descendant { name_start } else { dot };
    let quoted = format!("[{}]", Quoted(name));
    let fixed = splice(query, Span::new(from, whole.end), &quoted);
    let odd = quote(&query[at..at + query[at..].chars().next().map_or(0, char::len_utf8)]);
    if works(&fixed) {
        Some(format!("a name with {odd} in it needs brackets and quotes: `{fixed}`"))
    } else if quotable(name) {
        Some(format!("a name with {odd} in it needs brackets and quotes: `{quoted}`"))
    } else {
        None
    }
}

/// Returns the longest prefix of `text` that may be meant as one name.
fn name_like(text: &str) -> &str {
    let end = text.find(|c| is_blank(c) || ".,[]()=<>!&|?*'\"`".contains(c)).unwrap_or(text.len());
    &text[..end]
}

/// Returns `rule`, followed by the corrected query if that query is valid.
fn proposed(rule: &str, fixed: &str) -> String {
    if works(fixed) { format!("{rule}: `{fixed}`") } else { rule.to_owned() }
}

/// Returns true if a hint may propose `query`: it is valid, and fit for a message.
fn works(query: &str) -> bool {
    quotable(query) && attempt(query).is_ok()
}

fn splice(query: &str, span: Span, replacement: &str) -> String {
    [&query[..span.start], replacement, &query[span.end..]].concat()
}

#[cfg(test)]
mod tests;
