//! Characters and words of the languages, and text in messages.

use std::fmt::{self, Display, Formatter, Write as _};

use warpath_core::diagnostic::{DiagnosticKind, Span, is_invisible};

/// The number of edits (insert, delete, replace) from one text to another.
pub use strsim::levenshtein as distance;

/// The maximum length in bytes of text that a hint repeats.
pub(super) const LONGEST: usize = 80;

/// Words that are columns only in backticks.
const RESERVED: [&str; 9] = ["and", "or", "not", "in", "between", "is", "true", "false", "null"];

/// `B` of the grammar.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// `name-first` of the grammar.
pub(crate) fn is_name_first(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

/// `name-char` of the grammar.
pub(crate) fn is_name_char(c: char) -> bool {
    is_name_first(c) || is_digit(c)
}

pub(crate) fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Returns true for a word of the language, which is not a column.
pub(crate) fn reserved(word: &str) -> bool {
    RESERVED.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns true if a column of this name needs no backticks.
pub(crate) fn is_bare(name: &str) -> bool {
    Some(name) == word(name) && !reserved(name)
}

/// Returns the word at the start of a text, if there is one.
pub(crate) fn word(text: &str) -> Option<&str> {
    if !text.starts_with(is_name_first) {
        return None;
    }
    let ends = |(at, c): &(usize, char)| {
        let joins = matches!(c, '.' | '-') && text[at + 1..].starts_with(is_name_char);
        !is_name_char(*c) && !joins
    };
    let end = text.char_indices().find(ends).map_or(text.len(), |(at, _)| at);
    Some(&text[..end])
}

/// Returns the words that begin the rest of a value-test, if a text begins with them: `in`, `between`, `is`,
/// `like` or `ilike`, and all but `is` after `not`.
pub(crate) fn value_test(text: &str) -> Option<&str> {
    let is_one_of = |found: &str, known: &[&str]| known.iter().any(|word| word.eq_ignore_ascii_case(found));
    let first = word(text)?;
    if !first.eq_ignore_ascii_case("not") {
        return is_one_of(first, &["in", "between", "is", "like", "ilike"]).then_some(first);
    }
    let rest = text[first.len()..].trim_start_matches(is_blank);
    let second = word(rest).filter(|found| is_one_of(found, &["in", "between", "like", "ilike"]))?;
    Some(&text[..text.len() - rest.len() + second.len()])
}

/// Returns the path of the member that a column's name suggests: `$.user.lang` for `user.lang`. `None` if a
/// message may not repeat the name.
#[must_use]
pub fn member_path(name: &str) -> Option<String> {
    if !quotable(name) {
        return None;
    }
    if word(name) != Some(name) {
        return Some(format!("$[{}]", Quoted(name)));
    }
    let segment = |part: &str| match part.starts_with(is_name_first) && part.chars().all(is_name_char) {
        true => format!(".{part}"),
        false => format!("[{}]", Quoted(part)),
    };
    Some(format!("${}", name.split('.').map(segment).collect::<String>()))
}

/// Describes the token at `at`, for "expected …, found …": the kind of error, its span, and the words.
pub(crate) fn found(query: &str, at: usize) -> (DiagnosticKind, Span, String) {
    let rest = &query[at..];
    let Some(first) = rest.chars().next() else {
        return (DiagnosticKind::UnexpectedEnd, Span::point(at), "the end of the query".to_owned());
    };
    let run = |pred: fn(char) -> bool| rest.find(|c| !pred(c)).unwrap_or(rest.len());
    let (kind, len, words) = if is_blank(first) {
        (DiagnosticKind::WhiteSpace, run(is_blank), "white space".to_owned())
    } else if is_name_char(first) {
        let len = run(is_name_char);
        (DiagnosticKind::UnexpectedToken, len, quote(&rest[..len]))
    } else {
        let len = first.len_utf8();
        (DiagnosticKind::UnexpectedToken, len, quote(&rest[..len]))
    };
    (kind, Span::new(at, at + len), words)
}

/// Returns `text` in backticks, shortened if it is long. A single invisible character becomes its code point.
pub fn quote(text: &str) -> String {
    const SHOWN: usize = 24;
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some('`'), None) => return "a backtick".to_owned(),
        (Some(c), None) if is_invisible(c) => return format!("U+{:04X}", u32::from(c)),
        _ => {}
    }
    let mut shown: String =
        text.chars().take(SHOWN).map(|c| if is_invisible(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Returns true if a message may repeat `text` unchanged.
pub fn quotable(text: &str) -> bool {
    text.len() <= LONGEST && !text.chars().any(is_invisible)
}

/// A string in single quotes, escaped as in a normalised path (RFC 9535, section 2.7).
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        for c in self.0.chars() {
            match c {
                '\u{8}' => f.write_str("\\b")?,
                '\t' => f.write_str("\\t")?,
                '\n' => f.write_str("\\n")?,
                '\u{c}' => f.write_str("\\f")?,
                '\r' => f.write_str("\\r")?,
                '\'' => f.write_str("\\'")?,
                '\\' => f.write_str("\\\\")?,
                '\0'..='\u{1f}' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('\'')
    }
}
