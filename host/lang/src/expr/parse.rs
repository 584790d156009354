//! Recursive descent over the grammar of expressions, one function per rule.
//!
//! A function starts at the first character of its rule and stops after the last one. White space is skipped
//! before each token.

use std::str::FromStr;

use warpath_core::diagnostic::Span;
use warpath_core::diagnostic::{Diagnostic, DiagnosticKind};

use super::ast::{ColumnName, CompareOp, Expr, ExprKind, Literal, LiteralKind, State, Test, TestKind};
use super::hint::{self, Place};
use crate::jsonpath::lexer::{Lexer, is_blank, is_name_char, is_name_first};

/// The maximum nesting of `not` and parentheses, counted together. It bounds the stack of the parser and of
/// every other walk over an expression.
pub const MAX_NESTING: usize = 256;

/// Words that are columns only in backticks.
const RESERVED: [&str; 9] = ["and", "or", "not", "in", "between", "is", "true", "false", "null"];

/// Parses an expression.
///
/// # Errors
///
/// The first mistake from the left, with its position. A common mistake comes with a hint.
pub fn parse(expression: &str) -> Result<Expr, Diagnostic> {
    let mut parser = Parser { text: expression, lexer: Lexer::new(expression, 0), depth: 0 };
    let expr = parser.or()?;
    parser.lexer.blank();
    if parser.lexer.rest().is_empty() {
        Ok(expr)
    } else {
        Err(parser.unexpected("`and`, `or` or the end of the expression", Place::AfterTest { open: false }))
    }
}

impl FromStr for Expr {
    type Err = Diagnostic;

    fn from_str(expression: &str) -> Result<Self, Diagnostic> {
        parse(expression)
    }
}

/// Returns true for a character of words.
pub(super) fn is_word_char(c: char) -> bool {
    is_name_char(c)
}

/// Returns true for a word of the language, which is not a column.
pub(super) fn reserved(word: &str) -> bool {
    RESERVED.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns true if a column of this name needs no backticks.
pub(super) fn is_bare(name: &str) -> bool {
    Some(name) == word(name) && !reserved(name)
}

/// Returns the word at the start of a text, if there is one.
fn word(text: &str) -> Option<&str> {
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

struct Parser<'q> {
    text: &'q str,
    lexer: Lexer<'q>,
    /// Number of open `not` and parentheses.
    depth: usize,
}

type Parsed<T> = Result<T, Diagnostic>;

/// Adapts an error of the path lexer, which reads strings and numbers and calls the text a query.
fn of_expression(error: Diagnostic) -> Diagnostic {
    let message = error.message.replace("the end of the query", "the end of the expression");
    Diagnostic { message, ..error }
}

impl<'q> Parser<'q> {
    fn or(&mut self) -> Parsed<Expr> {
        self.list("or", Self::and, ExprKind::Or)
    }

    fn and(&mut self) -> Parsed<Expr> {
        self.list("and", Self::unary, ExprKind::And)
    }

    /// Parses operands with a word between them. A single operand is returned unchanged.
    fn list(
        &mut self,
        between: &str,
        operand: fn(&mut Self) -> Parsed<Expr>,
        of: fn(Vec<Expr>) -> ExprKind,
    ) -> Parsed<Expr> {
        self.lexer.blank();
        let start = self.lexer.at();
        let first = operand(self)?;
        if !self.keyword(between) {
            return Ok(first);
        }
        let mut all = vec![first];
        loop {
            all.push(operand(self)?);
            let span = self.span_from(start);
            if !self.keyword(between) {
                return Ok(Expr { kind: of(all), span });
            }
        }
    }

    /// Returns the span from `start` to the last character read that is not white space.
    fn span_from(&self, start: usize) -> Span {
        let read = &self.text[start..self.lexer.at()];
        Span::new(start, start + read.trim_end_matches(is_blank).len())
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.lexer.blank();
        let start = self.lexer.at();
        if self.keyword("not") {
            self.enter(start)?;
            let of = self.unary()?;
            self.depth -= 1;
            return Ok(Expr { kind: ExprKind::Not(Box::new(of)), span: self.span_from(start) });
        }
        if self.lexer.eat("(") {
            self.enter(start)?;
            let expr = self.or()?;
            self.depth -= 1;
            self.lexer.blank();
            if !self.lexer.eat(")") {
                return Err(self.unexpected("`and`, `or` or `)`", Place::AfterTest { open: true }));
            }
            return Ok(expr);
        }
        let test = self.test()?;
        Ok(Expr { kind: ExprKind::Test(test), span: self.lexer.span_from(start) })
    }

    /// Counts a `not` or a parenthesis that has been read and begins at `start`.
    fn enter(&mut self, start: usize) -> Parsed<()> {
        self.depth += 1;
        if self.depth <= MAX_NESTING {
            return Ok(());
        }
        let message = format!("expected no more than {MAX_NESTING} of `not` and `(` within one another");
        Err(Diagnostic::new(DiagnosticKind::TooDeep, self.lexer.span_from(start), message))
    }

    fn test(&mut self) -> Parsed<Test> {
        if let Some(literal) = self.literal()? {
            self.lexer.blank();
            let Some(op) = self.operator() else {
                return Err(self.unexpected("an operator after the literal", Place::AfterLiteral));
            };
            let column = self.column("a column after the operator", Place::Column)?;
            return Ok(Test { column, kind: TestKind::Compare(op.flipped(), literal) });
        }
        let column = self.column("a column, `not` or `(`", Place::Test)?;
        self.lexer.blank();
        let kind = if let Some(op) = self.operator() {
            let place = match op {
                CompareOp::Eq => Place::Equal(true),
                CompareOp::Ne => Place::Equal(false),
                _ => Place::Value,
            };
            TestKind::Compare(op, self.value("a number, a string, `true` or `false`", place)?)
        } else if self.keyword("is") {
            let not = self.keyword("not");
            TestKind::Is { not, state: self.state()? }
        } else {
            let start = self.lexer.at();
            let not = self.keyword("not");
            if self.keyword("in") {
                TestKind::In { not, values: self.values()? }
            } else if self.keyword("between") {
                let least = self.value("the least value after `between`", Place::Value)?;
                if !self.keyword("and") {
                    return Err(self.unexpected("`and` and the greatest value", Place::Elsewhere));
                }
                let greatest = self.value("the greatest value after `and`", Place::Value)?;
                TestKind::Between { not, least, greatest }
            } else if not {
                return Err(self.unexpected("`in` or `between` after `not`", Place::Elsewhere));
            } else {
                self.lexer.rewind(start);
                return Err(self.unexpected("an operator, `in`, `between` or `is`", Place::AfterColumn));
            }
        };
        Ok(Test { column, kind })
    }

    fn operator(&mut self) -> Option<CompareOp> {
        use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
        // Longer operators precede their prefixes.
        let all =
            [("==", Eq), ("!=", Ne), ("<>", Ne), ("<=", Le), (">=", Ge), ("=", Eq), ("<", Lt), (">", Gt)];
        all.into_iter().find(|(text, _)| self.lexer.eat(text)).map(|(_, op)| op)
    }

    fn column(&mut self, expected: &str, place: Place) -> Parsed<ColumnName> {
        self.lexer.blank();
        let start = self.lexer.at();
        if self.lexer.eat("`") {
            return self.quoted_column(start);
        }
        match word(self.lexer.rest()) {
            Some(word) if !reserved(word) => {
                self.lexer.eat(word);
                Ok(ColumnName { name: word.to_owned(), span: self.lexer.span_from(start) })
            }
            _ => Err(self.unexpected(expected, place)),
        }
    }

    /// Parses the rest of a name in backticks.
    fn quoted_column(&mut self, start: usize) -> Parsed<ColumnName> {
        let mut name = String::new();
        loop {
            let Some((part, _)) = self.lexer.rest().split_once('`') else {
                let message = "expected a closing backtick for this name, found the end of the expression";
                return Err(Diagnostic::new(
                    DiagnosticKind::UnclosedString,
                    Span::new(start, start + 1),
                    message,
                ));
            };
            name.push_str(part);
            self.lexer.eat(part);
            self.lexer.eat("`");
            // Two backticks are one backtick of the name.
            if !self.lexer.eat("`") {
                return Ok(ColumnName { name, span: self.lexer.span_from(start) });
            }
            name.push('`');
        }
    }

    fn state(&mut self) -> Parsed<State> {
        match State::ALL.into_iter().find(|state| self.keyword(state.as_str())) {
            Some(state) => Ok(state),
            None => Err(self.unexpected("`missing`, `null`, `other`, `nan` or `value`", Place::State)),
        }
    }

    fn values(&mut self) -> Parsed<Vec<Literal>> {
        self.lexer.blank();
        if !self.lexer.eat("(") {
            return Err(self.unexpected("`(` and values after `in`", Place::List));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value("a number, a string, `true` or `false`", Place::Value)?);
            self.lexer.blank();
            if self.lexer.eat(")") {
                return Ok(values);
            }
            if !self.lexer.eat(",") {
                return Err(self.unexpected("`,` or `)`", Place::AfterValue));
            }
        }
    }

    fn value(&mut self, expected: &str, place: Place) -> Parsed<Literal> {
        match self.literal()? {
            Some(literal) => Ok(literal),
            None => Err(self.unexpected(expected, place)),
        }
    }

    /// Parses a literal, if one comes next.
    fn literal(&mut self) -> Parsed<Option<Literal>> {
        self.lexer.blank();
        let start = self.lexer.at();
        let kind = match self.lexer.peek() {
            Some('"' | '\'') => LiteralKind::Text(self.lexer.string().map_err(of_expression)?.into()),
            Some('-' | '0'..='9') => LiteralKind::Number(self.number()?.into()),
            _ if self.keyword("true") => LiteralKind::Bool(true),
            _ if self.keyword("false") => LiteralKind::Bool(false),
            _ => return Ok(None),
        };
        Ok(Some(Literal { kind, span: self.lexer.span_from(start) }))
    }

    /// Parses a number. A word must not follow it directly.
    fn number(&mut self) -> Parsed<&'q str> {
        let start = self.lexer.at();
        let number = self.lexer.number().map_err(of_expression)?;
        let rest = self.lexer.rest();
        let glued = rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len());
        if glued == 0 {
            return Ok(number);
        }
        let span = Span::new(start, self.lexer.at() + glued);
        let found = crate::jsonpath::hint::quote(&self.text[span.start..span.end]);
        let error =
            Diagnostic::new(DiagnosticKind::InvalidNumber, span, format!("expected a number, found {found}"));
        Err(error.with_help("numbers are as in JSON; an instant or any other text needs quotes"))
    }

    /// Reads a word of the language, if it comes next. Skips white space before it in any case.
    fn keyword(&mut self, wanted: &str) -> bool {
        self.lexer.blank();
        match word(self.lexer.rest()) {
            Some(found) if found.eq_ignore_ascii_case(wanted) => self.lexer.eat(found),
            _ => false,
        }
    }

    fn unexpected(&mut self, expected: &str, place: Place) -> Diagnostic {
        self.lexer.blank();
        let (kind, span, found) = hint::found(self.text, self.lexer.at());
        let help = hint::help(self.text, span, place);
        Diagnostic { help, ..Diagnostic::new(kind, span, format!("expected {expected}, found {found}")) }
    }
}

#[cfg(test)]
mod tests;
