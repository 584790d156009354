//! Mistakes in a text in one of Warpath's languages (a query, an expression over columns), and their
//! positions.

use std::fmt;
use std::ops::Range;

/// A range of bytes of the query text. Both ends lie on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte. Equal to `start` for a position between two characters, such as the end.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` up to but not including `end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The position before the byte at `at`.
    #[must_use]
    pub const fn point(at: usize) -> Self {
        Self { start: at, end: at }
    }
}

impl From<Span> for Range<usize> {
    fn from(span: Span) -> Self {
        span.start..span.end
    }
}

/// A mistake in a text: a query, or an expression over columns.
///
/// `Display` gives only the message; [`Diagnostic::render`] shows the position too.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Diagnostic {
    /// The sort of mistake.
    pub kind: DiagnosticKind,
    /// The part of the text that is wrong.
    pub span: Span,
    /// The expectation and the finding, on one line, starting in lower case.
    pub message: String,
    /// A suggestion for a correction, if one can be guessed.
    pub help: Option<String>,
}

/// The sorts of mistakes in a query or an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The query does not start with `$`. The span is the text in its place.
    MissingRoot,
    /// The query ended too early. The span is the position after its last character.
    UnexpectedEnd,
    /// A token that the grammar does not allow here. The span is the token.
    UnexpectedToken,
    /// White space where the grammar does not allow it. The span is the white space.
    WhiteSpace,
    /// A string without its closing quote, or a name without its closing backtick. The span is the opening
    /// one.
    UnclosedString,
    /// An escape that is not allowed in any string, or not in these quotes. The span is the escape.
    InvalidEscape,
    /// A control character (U+0000 to U+001F) inside a string. The span is the character.
    ControlCharacter,
    /// A number that is not in JSON's notation, or an index that is not an integer. The span is the number.
    InvalidNumber,
    /// An index or a part of a slice beyond plus or minus 2^53 - 1. The span is the integer.
    Range,
    /// Nesting beyond the limit of the language. The span is the bracket, the parenthesis or the `not` that
    /// exceeds it.
    TooDeep,
    /// A function that neither RFC 9535 nor Warpath defines. The span is its name.
    UnknownFunction,
    /// A part whose type does not fit its context (RFC 9535, section 2.4.3), or a call with too few or too
    /// many arguments. The span is the part, or the call.
    Type,
    /// A part that does not fit a function or a test of Warpath's own, such as `time`, `cidr` or `like`. The
    /// span is the part, or the call.
    Argument,
    /// A query that may select several nodes where one value is needed. The span is the query.
    NotSingular,
    /// A valid text that exceeds a limit. The span is the part that does.
    TooLarge,
    /// A name that no column of the index has. The span is the name.
    UnknownColumn,
    /// A literal that is not a value of its column's kind. The span is the literal.
    WrongKind,
    /// A pattern of `match` or `search` that is no I-Regexp (RFC 9485). The span is its literal.
    NotARegexp,
}

impl DiagnosticKind {
    /// The section of RFC 9535 whose rule the query breaks, if the grammar allows the query.
    #[must_use]
    pub const fn section(self) -> Option<&'static str> {
        match self {
            Self::Range => Some("2.1"),
            Self::UnknownFunction => Some("2.4"),
            Self::Type => Some("2.4.3"),
            Self::NotSingular => Some("2.3.5.1"),
            _ => None,
        }
    }
}

impl Diagnostic {
    /// A valid part of a query that exceeds a limit; `message` names the limit.
    #[must_use]
    pub fn too_large(span: Span, message: impl Into<String>) -> Self {
        Self::new(DiagnosticKind::TooLarge, span, message)
    }

    /// A mistake without help.
    #[must_use]
    pub fn new(kind: DiagnosticKind, span: Span, message: impl Into<String>) -> Self {
        Self { kind, span, message: message.into(), help: None }
    }

    /// Adds a hint how to correct the mistake.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The line of `query` that contains the mistake, counted from 1.
    #[must_use]
    pub fn line(&self, query: &str) -> usize {
        let start = floor(query, self.span.start);
        1 + query[..start].matches('\n').count()
    }

    /// The column of the mistake in its line of `query`, counted from 1, in Unicode scalar values. If
    /// something is missing at the end, this is one past the last column.
    #[must_use]
    pub fn column(&self, query: &str) -> usize {
        column(query, self.span.start)
    }

    /// The error with the offending line of `query`, a caret under each character of the span, and the help.
    /// Several lines, without a newline at the end:
    ///
    /// ```text
    /// error: expected a selector after `[`, found the end of the query
    ///   $.user[
    ///          ^
    ///   help: …
    /// ```
    ///
    /// Each character takes one column. Characters that a terminal would not show, or would obey, are
    /// replaced. A long line is cut to the surroundings of the mistake.
    ///
    /// If the grammar allows the query and another rule of RFC 9535 does not, the column and the rule's
    /// section are shown ([`DiagnosticKind::section`]). With a `query` other than the one that the error came
    /// from, the picture has no meaning, but there is no panic.
    #[must_use]
    pub fn render(&self, query: &str) -> String {
        let rule = match self.kind.section() {
            Some(section) => format!(" (column {}; RFC 9535, section {section})", self.column(query)),
            None => String::new(),
        };
        picture(query, self.span, &format!("{}{rule}", self.message), self.help.as_deref())
    }
}

/// A query or an expression that was refused, with its text, so that the position can be shown.
///
/// ```
/// use warpath::{Error, Query};
///
/// let Err(Error::Query(error)) = Query::compile("$.user lang") else { panic!("two names") };
/// assert_eq!(error.column(), 8);
/// println!("{}", error.render());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    text: String,
    error: Diagnostic,
}

impl QueryError {
    /// The refusal of a text.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn new(text: &str, error: Diagnostic) -> Self {
        Self { text: text.to_owned(), error }
    }

    /// The mistake.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.error
    }

    /// The column of the mistake, counted from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.error.column(&self.text)
    }

    /// The mistake in words, without the text and the column.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.error.message
    }

    /// Advice for correcting the text, if there is any.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.error.help.as_deref()
    }

    /// The message with the query and a caret under the position.
    #[must_use]
    pub fn render(&self) -> String {
        self.error.render(&self.text)
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (column {} of `{}`)", self.error, self.column(), self.text)
    }
}

impl std::error::Error for QueryError {}

/// The column of a position in its line of `text`, counted from 1, in Unicode scalar values.
pub(crate) fn column(text: &str, at: usize) -> usize {
    let at = floor(text, at);
    1 + text[line_start(text, at)..at].chars().count()
}

/// A message, its line of `text` with a caret under each character of the span, and help:
/// [`Diagnostic::render`].
pub(crate) fn picture(text: &str, span: Span, message: &str, help: Option<&str>) -> String {
    let start = floor(text, span.start);
    let end = floor(text, span.end).max(start);
    let line_from = line_start(text, start);
    let line = text[line_from..].split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    let line_to = line_from + line.len();

    let before = text[line_from..start.min(line_to)].chars().count();
    let marked = text[start.min(line_to)..end.min(line_to)].chars().count().max(1);
    let total = line.chars().count();

    let (from, to) = excerpt(before, marked, total);
    let mut shown: String = line.chars().skip(from).take(to - from).map(visible).collect();
    if from > 0 {
        shown.insert(0, '…');
    }
    if to < total {
        shown.push('…');
    }
    let indent = before - from + usize::from(from > 0);
    let carets = marked.min(to.max(before + 1) - before);

    let message = message.replace(char::is_control, "\u{fffd}");
    let mut out = format!("error: {message}\n  {shown}\n  {:indent$}{}", "", "^".repeat(carets));
    if let Some(help) = help {
        out.push_str("\n  help: ");
        out.push_str(&help.replace(char::is_control, "\u{fffd}"));
    }
    out
}

/// Columns of a line that are shown on either side of the mistake.
const CONTEXT: usize = 60;

/// The range of characters to show, of a line of `total` characters. It contains column `before` and some of
/// the `marked` characters after it.
fn excerpt(before: usize, marked: usize, total: usize) -> (usize, usize) {
    if total <= 2 * CONTEXT {
        return (0, total);
    }
    let from = before.saturating_sub(CONTEXT).min(total);
    let to = (before + marked.min(CONTEXT) + CONTEXT / 2).min(total);
    (from, to)
}

/// Returns `c`, or a substitute of one column if a terminal would not show `c` in one column or would obey
/// it.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        c if is_invisible(c) => '\u{fffd}',
        c => c,
    }
}

/// True if `c` has no glyph of its own: controls, and format characters that have no width or change the
/// direction of writing.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The last character boundary of `text` at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// The start of the line that contains the byte at `at`, which is at a character boundary.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: usize, end: usize) -> Diagnostic {
        Diagnostic::new(DiagnosticKind::UnexpectedToken, Span::new(start, end), "no")
    }

    #[test]
    fn carets_stand_under_the_span() {
        for (query, span, expected) in [
            ("$.user[", 7..7, "error: no\n  $.user[\n         ^"),
            ("", 0..0, "error: no\n  \n  ^"),
            ("$.a\t!", 4..5, "error: no\n  $.a !\n      ^"),
            ("$\0\u{1b}[1m!", 6..7, "error: no\n  $␀␛[1m!\n        ^"),
            ("$.☺𝄞é!", 11..12, "error: no\n  $.☺𝄞é!\n       ^"),
            ("$\u{202e}!", 4..5, "error: no\n  $\u{fffd}!\n    ^"),
            ("$\n.a\n  .b!\n.c", 9..10, "error: no\n    .b!\n      ^"),
            ("$\r\n.a!\r\n.b", 5..6, "error: no\n  .a!\n    ^"),
            ("$\n.a\n.b", 1..7, "error: no\n  $\n   ^"),
            ("$\n.a\n", 5..5, "error: no\n  \n  ^"),
            ("$\r\n", 2..3, "error: no\n  $\n   ^"),
        ] {
            assert_eq!(at(span.start, span.end).render(query), expected, "{query:?}");
        }
    }

    #[test]
    fn lines_and_columns() {
        for (query, start, line, column) in
            [("$.a", 0, 1, 1), ("$.a", 3, 1, 4), ("$.☺𝄞!", 9, 1, 5), ("$\n\n .a", 4, 3, 2), ("$", 99, 1, 2)]
        {
            let error = at(start, start);
            assert_eq!((error.line(query), error.column(query)), (line, column), "{query:?} at {start}");
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let query = format!("$.{}!{}", "a".repeat(500), "b".repeat(500));
        let rendered = at(502, 503).render(&query);
        let lines: Vec<&str> = rendered.lines().collect();
        let caret = lines[2].find('^').expect("a caret");
        assert_eq!(lines[1].chars().nth(caret), Some('!'));
        assert!(lines[1].chars().count() < 130, "{rendered}");
        assert!(lines[1].starts_with("  …a") && lines[1].ends_with("b…"), "{rendered}");

        let all = at(0, query.len()).render(&query);
        assert!(all.lines().all(|line| line.chars().count() < 130), "{all}");
        let end = at(query.len(), query.len()).render(&query);
        let lines: Vec<&str> = end.lines().collect();
        assert_eq!(lines[2].chars().count(), lines[1].chars().count() + 1, "{end}");
    }

    #[test]
    fn any_span_renders() {
        for query in ["", "$", "☺", "$\n☺\r\n", "\r\r\n\n"] {
            for start in 0..10 {
                for end in 0..10 {
                    let error = at(start, end);
                    assert!(error.render(query).starts_with("error: no\n"));
                    assert!(error.column(query) > 0 && error.line(query) > 0);
                }
            }
        }
    }
}
