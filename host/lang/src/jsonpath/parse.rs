//! Recursive descent over RFC 9535's grammar (its appendix A), one function per rule.
//!
//! A function starts at the first character of its rule and stops after the last. The white space around a
//! rule is read by the rule that allows it. The rules for singular queries and for the types of function
//! calls are checked while the tree is built, so that no ill-typed tree exists.
//!
//! The grammar of filters is in [`filter`]. A predicate about a record is an expression of the same grammar
//! outside of all filters. There, more tests are possible, which are in [`predicate`].

mod filter;
pub(super) mod predicate;
mod strings;
mod time;

use std::str::FromStr;

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};
use warpath_core::time::Instant;

use super::ast::{Query, Segment, SegmentKind, Selector, SelectorKind};
use super::hint::{self, Context};
use super::lexer::Lexer;
use super::words;

/// The maximum nesting of filters, parentheses and function calls, all counted together. It bounds the stack
/// of the parser and of every other walk over the tree.
pub const MAX_DEPTH: usize = 128;

/// Parses a query: all of RFC 9535, and no more.
///
/// # Errors
///
/// The first mistake from the left, with its position. A common mistake comes with a hint.
pub fn parse(query: &str) -> Result<Query, Diagnostic> {
    attempt(query).map_err(|(error, context)| hint::explain(query, error, context))
}

impl FromStr for Query {
    type Err = Diagnostic;

    fn from_str(query: &str) -> Result<Self, Diagnostic> {
        parse(query)
    }
}

/// Parses like [`parse`]. Errors have no hint yet, but the position in the grammar by which a hint can be
/// found.
pub(super) fn attempt(query: &str) -> Result<Query, (Diagnostic, Context)> {
    let mut parser = Parser::new(query, MAX_DEPTH);
    parser.query().map_err(|error| (error, parser.context))
}

struct Parser<'q> {
    text: &'q str,
    lexer: Lexer<'q>,
    /// Number of open filters, parentheses, calls and `not`s, and the maximum of it.
    depth: usize,
    max_depth: usize,
    /// Number of open filters.
    filters: usize,
    /// True in a predicate about a value, which is `@`.
    of_value: bool,
    /// The instant of `now()`, after the first call.
    now: Option<Instant>,
    /// The position in the grammar of the error that is being returned.
    context: Context,
}

type Parsed<T> = Result<T, Diagnostic>;

impl<'q> Parser<'q> {
    fn new(text: &'q str, max_depth: usize) -> Self {
        let lexer = Lexer::new(text, 0);
        let context = Context::Elsewhere;
        Self { text, lexer, depth: 0, max_depth, filters: 0, of_value: false, now: None, context }
    }

    // jsonpath-query = root-identifier segments
    fn query(&mut self) -> Parsed<Query> {
        if !self.lexer.eat("$") {
            return Err(self.missing_root());
        }
        let segments = self.segments()?;
        if !self.lexer.rest().is_empty() {
            return Err(self.trailing());
        }
        Ok(Query { segments, span: self.lexer.span_from(0) })
    }

    // segments = *(S segment)
    fn segments(&mut self) -> Parsed<Vec<Segment>> {
        let mut segments = Vec::new();
        loop {
            let end = self.lexer.at();
            self.lexer.blank();
            if !matches!(self.lexer.peek(), Some('.' | '[')) {
                self.lexer.rewind(end);
                return Ok(segments);
            }
            segments.push(self.segment()?);
        }
    }

    // child-segment      = bracketed-selection / ("." (wildcard-selector / member-name-shorthand))
    // descendant-segment = ".." (bracketed-selection / wildcard-selector / member-name-shorthand)
    fn segment(&mut self) -> Parsed<Segment> {
        let start = self.lexer.at();
        let (kind, expected) = if self.lexer.eat("..") {
            (SegmentKind::Descendant, "a name, `*` or `[` after `..`")
        } else if self.lexer.eat(".") {
            (SegmentKind::Child, "a name or `*` after `.`")
        } else {
            let selectors = self.bracketed()?;
            return Ok(Segment { kind: SegmentKind::Child, selectors, span: self.lexer.span_from(start) });
        };
        let name_start = self.lexer.at();
        let selector = match self.lexer.peek() {
            Some('*') => {
                self.lexer.eat("*");
                SelectorKind::Wildcard
            }
            Some('[') if kind == SegmentKind::Descendant => {
                let selectors = self.bracketed()?;
                return Ok(Segment { kind, selectors, span: self.lexer.span_from(start) });
            }
            _ => match self.lexer.word() {
                Some(name) => SelectorKind::Name(name.to_owned()),
                None => return Err(self.unexpected(Context::Dot { start }, expected)),
            },
        };
        let selectors = vec![Selector { kind: selector, span: self.lexer.span_from(name_start) }];
        Ok(Segment { kind, selectors, span: self.lexer.span_from(start) })
    }

    // bracketed-selection = "[" S selector *(S "," S selector) S "]"
    fn bracketed(&mut self) -> Parsed<Vec<Selector>> {
        self.lexer.eat("[");
        let mut expected = "a selector after `[`";
        let mut selectors = Vec::new();
        loop {
            self.lexer.blank();
            let selector = self.selector(expected)?;
            let is_filter = matches!(selector.kind, SelectorKind::Filter(_));
            selectors.push(selector);
            self.lexer.blank();
            if self.lexer.eat("]") {
                return Ok(selectors);
            }
            if !self.lexer.eat(",") {
                return Err(if is_filter {
                    self.unexpected(Context::AfterExpr, "an operator, `,` or `]`")
                } else {
                    self.unexpected(Context::AfterSelector, "`,` or `]`")
                });
            }
            expected = "a selector after `,`";
        }
    }

    // selector = name-selector / wildcard-selector / slice-selector / index-selector / filter-selector
    fn selector(&mut self, expected: &str) -> Parsed<Selector> {
        let start = self.lexer.at();
        let kind = match self.lexer.peek() {
            Some('\'' | '"') => SelectorKind::Name(self.lexer.string()?),
            Some('*') => {
                self.lexer.eat("*");
                SelectorKind::Wildcard
            }
            Some('-' | ':' | '0'..='9') => return self.index_or_slice(),
            Some('?') => {
                self.enter("?")?;
                self.filters += 1;
                self.lexer.blank();
                let expr = self.or("an expression after `?`")?;
                self.filters -= 1;
                self.leave();
                SelectorKind::Filter(expr)
            }
            _ => return Err(self.unexpected(Context::Selector, expected)),
        };
        Ok(Selector { kind, span: self.lexer.span_from(start) })
    }

    // index-selector = int
    // slice-selector = [start S] ":" S [end S] [":" [S step ]]
    fn index_or_slice(&mut self) -> Parsed<Selector> {
        let from = self.lexer.at();
        let mut parts = [None; 3];
        // The end of the selector: white space is read ahead of each part.
        let mut to = from;
        let mut colons = 0;
        loop {
            if matches!(self.lexer.peek(), Some('-' | '0'..='9')) {
                parts[colons] = Some(self.lexer.int()?);
                to = self.lexer.at();
                self.lexer.blank();
            }
            if colons == 2 || !self.lexer.eat(":") {
                break;
            }
            colons += 1;
            to = self.lexer.at();
            self.lexer.blank();
        }
        self.lexer.rewind(to);
        let span = Span::new(from, to);
        let kind = match (colons, parts) {
            (0, [Some(index), ..]) => SelectorKind::Index(index),
            (_, [start, end, step]) => SelectorKind::Slice { start, end, step },
        };
        Ok(Selector { kind, span })
    }

    /// Reads `open`, which is one level deeper.
    fn enter(&mut self, open: &str) -> Parsed<()> {
        let start = self.lexer.at();
        self.lexer.eat(open);
        self.deeper(start)
    }

    /// Counts the opening token from `start` to the current position.
    fn deeper(&mut self, start: usize) -> Parsed<()> {
        if self.depth == self.max_depth {
            let message = format!("expected at most {} levels of nesting, found one more", self.max_depth);
            return Err(Diagnostic::new(DiagnosticKind::TooDeep, self.lexer.span_from(start), message));
        }
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Returns the error for a next token that is not `expected`.
    #[inline(never)]
    fn unexpected(&mut self, context: Context, expected: &str) -> Diagnostic {
        self.context = context;
        let (kind, span, found) = words::found(self.text, self.lexer.at());
        Diagnostic::new(kind, span, format!("expected {expected}, found {found}"))
    }

    /// Returns the error for a text that does not start with `$`.
    fn missing_root(&mut self) -> Diagnostic {
        let mut error = self.unexpected(Context::Root, "`$` at the start of the path");
        if error.kind == DiagnosticKind::UnexpectedToken {
            error.kind = DiagnosticKind::MissingRoot;
        }
        error
    }

    /// Returns the error for text after the last segment of the query.
    fn trailing(&mut self) -> Diagnostic {
        let start = self.lexer.at();
        self.lexer.blank();
        if self.lexer.rest().is_empty() {
            return Diagnostic::new(
                DiagnosticKind::WhiteSpace,
                self.lexer.span_from(start),
                "white space is not allowed after the path",
            )
            .with_help("remove it");
        }
        self.unexpected(Context::Tail, "`.`, `[` or the end of the path")
    }
}

#[cfg(test)]
mod tests;
