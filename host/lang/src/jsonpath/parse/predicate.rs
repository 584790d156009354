//! Predicates about a record: RFC 9535's filter expressions outside of all filters, and more tests.
//!
//! ```text
//! logical-or-expr  = logical-and-expr *(("||" / "or") logical-and-expr)
//! logical-and-expr = basic-expr *(("&&" / "and") basic-expr)
//! basic-expr       = "not" basic-expr / paren-expr / comparison-expr / test-expr / value-test
//! value-test       = value ["not"] "in" "(" literal *("," literal) ")"
//!                  / value ["not"] "between" literal "and" literal
//!                  / value ["not"] ("like" / "ilike") string-literal
//!                  / value "is" ["not"] ("missing" / "null" / "other" / "nan" / "value")
//! value            = singular-query / function-expr / column
//! comparison-op    = RFC 9535's / "=" / "<>"
//! column           = word / "`" any characters, a backtick twice "`"
//! ```
//!
//! A word is letters, digits, `_` and characters outside ASCII; the first is not a digit. Within a word, `.`
//! and `-` may precede another such character. The words of the language ignore case. A column of such a name
//! needs backticks. White space is allowed between all tokens.

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};

use super::super::ast::{
    ColumnName, Comparable, ComparableKind, Comparison, ComparisonOp, Literal, LiteralKind, LogicalExpr,
    LogicalExprKind, State, ValueTest, ValueTestKind,
};
use super::super::function::Function;
use super::super::hint::{self, Context};
use super::super::words::{is_digit, is_name_char, quotable, quote, reserved, value_test, word};
use super::filter::Operand;
use super::{Parsed, Parser};

/// The maximum nesting in predicates, counted as in [`MAX_DEPTH`](super::MAX_DEPTH).
const MAX_PREDICATE_DEPTH: usize = 256;

/// Parses a predicate about a record.
///
/// # Errors
/// The first mistake from the left, with its position. A common mistake comes with a hint.
pub fn parse_predicate(text: &str) -> Result<LogicalExpr, Diagnostic> {
    parsed(text, false)
}

/// Parses a predicate about a value, which is `@`. `$` is the record that has the value.
///
/// # Errors
/// As for [`parse_predicate`].
pub fn parse_value_predicate(text: &str) -> Result<LogicalExpr, Diagnostic> {
    parsed(text, true)
}

fn parsed(text: &str, of_value: bool) -> Result<LogicalExpr, Diagnostic> {
    let mut parser = Parser::new(text, MAX_PREDICATE_DEPTH);
    parser.of_value = of_value;
    parser.predicate().map_err(|error| {
        let error = hint::explain(text, error, parser.context);
        let message = error.message.replace("the end of the query", "the end of the expression");
        Diagnostic { message, ..error }
    })
}

impl<'q> Parser<'q> {
    fn predicate(&mut self) -> Parsed<LogicalExpr> {
        self.lexer.blank();
        let expr = self.or(hint::TESTS)?;
        self.lexer.blank();
        if self.lexer.rest().is_empty() {
            return Ok(expr);
        }
        let context = Context::AfterTest { open: false };
        Err(self.unexpected(context, "`and`, `or` or the end of the expression"))
    }

    /// Returns true outside of all filters, where the expression is a predicate.
    pub(super) fn is_predicate(&self) -> bool {
        self.filters == 0
    }

    /// Reads the word for an operator between expressions, if it comes next in a predicate.
    pub(super) fn connective(&mut self, operator: &str) -> bool {
        self.is_predicate() && self.keyword(if operator == "&&" { "and" } else { "or" })
    }

    /// Returns true if a word of the language comes next.
    pub(super) fn next_is(&self, wanted: &str) -> bool {
        word(self.lexer.rest()).is_some_and(|found| found.eq_ignore_ascii_case(wanted))
    }

    /// Reads a word of the language, if it comes next.
    fn keyword(&mut self, wanted: &str) -> bool {
        match word(self.lexer.rest()) {
            Some(found) if found.eq_ignore_ascii_case(wanted) => self.lexer.eat(found),
            _ => false,
        }
    }

    // The rest of a basic-expr that begins with `not`.
    pub(super) fn not_word(&mut self) -> Parsed<LogicalExpr> {
        let start = self.lexer.at();
        self.keyword("not");
        self.deeper(start)?;
        self.lexer.blank();
        let inner = self.basic(hint::TESTS)?;
        self.leave();
        Ok(LogicalExpr { kind: LogicalExprKind::Not(Box::new(inner)), span: self.lexer.span_from(start) })
    }

    /// Reads a comparison operator, if one comes next. A predicate has more spellings.
    pub(super) fn comparison_op(&mut self) -> Option<ComparisonOp> {
        let more = self.is_predicate();
        if more && self.lexer.eat("<>") {
            return Some(ComparisonOp::Ne);
        }
        self.lexer.comparison_op().or_else(|| (more && self.lexer.eat("=")).then_some(ComparisonOp::Eq))
    }

    /// Reads a number. In a predicate, no word and no further number may follow it directly.
    pub(super) fn number(&mut self) -> Parsed<&'q str> {
        let start = self.lexer.at();
        let number = self.lexer.number()?;
        let rest = self.lexer.rest();
        let is_glued = rest.starts_with(is_name_char)
            || rest.starts_with(['-', ':', '.']) && rest[1..].starts_with(is_digit);
        if !is_glued || !self.is_predicate() {
            return Ok(number);
        }
        let is_end = |c: char| !is_name_char(c) && !matches!(c, '-' | ':' | '.' | '+');
        let glued = rest.find(is_end).unwrap_or(rest.len());
        let span = Span::new(start, self.lexer.at() + glued);
        let found = quote(&self.text[span.start..span.end]);
        let message = format!("expected a number, found {found}");
        Err(Diagnostic::new(DiagnosticKind::InvalidNumber, span, message)
            .with_help("numbers are as in JSON; an instant or any other text needs quotes"))
    }

    /// Parses an operand that is neither a string nor a number.
    #[inline(never)]
    pub(super) fn predicate_operand(&mut self, context: Context, expected: &str) -> Parsed<Operand> {
        let start = self.lexer.at();
        match self.lexer.peek() {
            Some('$') => return self.filter_query().map(Operand::Query),
            Some('@') if self.of_value => return self.filter_query().map(Operand::Query),
            Some('`') => return self.quoted_column().map(Operand::Column),
            _ => {}
        }
        for (name, kind) in [
            ("true", LiteralKind::Bool(true)),
            ("false", LiteralKind::Bool(false)),
            ("null", LiteralKind::Null),
        ] {
            if self.keyword(name) {
                return Ok(Operand::Literal(Literal { kind, span: self.lexer.span_from(start) }));
            }
        }
        match word(self.lexer.rest()) {
            Some(word) if !reserved(word) => {
                self.lexer.eat(word);
                if self.lexer.peek() == Some('(') {
                    return self.call(start, word);
                }
                Ok(Operand::Column(ColumnName { name: word.to_owned(), span: self.lexer.span_from(start) }))
            }
            _ => Err(self.unexpected(
                if matches!(context, Context::Operand) { Context::Test } else { context },
                expected,
            )),
        }
    }

    /// Parses a name in backticks.
    fn quoted_column(&mut self) -> Parsed<ColumnName> {
        let start = self.lexer.at();
        self.lexer.eat("`");
        let mut name = String::new();
        loop {
            let Some((part, _)) = self.lexer.rest().split_once('`') else {
                let message = "expected a closing backtick for this name, found the end of the expression";
                let span = Span::new(start, start + 1);
                let error = Diagnostic::new(DiagnosticKind::UnclosedString, span, message);
                return Err(error.with_help("add a backtick where the name ends"));
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

    /// Returns the error for a column that is not tested.
    pub(super) fn lone_column(&mut self, column: &ColumnName) -> Diagnostic {
        self.lexer.blank();
        if Function::named(&column.name).is_some() && self.lexer.peek() == Some('(') {
            let span = Span::new(column.span.end, self.lexer.at());
            let message = format!("white space is not allowed between `{column}` and its `(`");
            return Diagnostic::new(DiagnosticKind::WhiteSpace, span, message)
                .with_help(format!("write `{column}(…)`"));
        }
        self.unexpected(Context::AfterColumn, "an operator, `in`, `between` or `is`")
    }

    /// Checks a comparison of a column, and puts the column on the left. Any other comparison is returned
    /// unchanged.
    #[inline(never)]
    pub(super) fn of_column(&mut self, comparison: Comparison) -> Parsed<Comparison> {
        use ComparableKind::{Column, Literal as Constant};
        let Comparison { left, op, op_span, right, span } = comparison;
        let is_value = |kind: &ComparableKind| matches!(kind, Constant(of) if of.kind != LiteralKind::Null);
        match (&left.kind, &right.kind) {
            (Column(_), of) if !is_value(of) => {
                Err(self.unexpected_at(right.span, hint::compared(true, op), hint::COLUMN_VALUES))
            }
            (Constant(_), Column(_)) if !is_value(&left.kind) => {
                Err(self.unexpected_at(left.span, hint::compared(true, op), hint::COLUMN_VALUES))
            }
            (Constant(_), Column(_)) => {
                Ok(Comparison { left: right, op: op.flipped(), op_span, right: left, span })
            }
            (_, Column(_)) => {
                let expected = format!("a value after `{}`", &self.text[op_span.start..op_span.end]);
                Err(self.unexpected_at(right.span, hint::compared(false, op), &expected))
            }
            _ => Ok(Comparison { left, op, op_span, right, span }),
        }
    }

    /// Returns the error for an operand that has been read and is not `expected`.
    fn unexpected_at(&mut self, span: Span, context: Context, expected: &str) -> Diagnostic {
        self.lexer.rewind(span.start);
        self.unexpected(context, expected)
    }

    /// Returns true if a word comes next that begins the rest of a value-test.
    pub(super) fn at_value_test(&self) -> bool {
        ["in", "between", "is", "like", "ilike", "not"].iter().any(|word| self.next_is(word))
    }

    /// Refuses a value-test of an expression that cannot have one. `error` makes the message and the help
    /// from the words of the test and their offset.
    #[inline(never)]
    pub(super) fn no_value_test(&mut self, error: impl Fn(&str, usize) -> (String, String)) -> Parsed<()> {
        let end = self.lexer.at();
        self.lexer.blank();
        let start = self.lexer.at();
        match value_test(self.lexer.rest()).filter(|_| self.is_predicate()) {
            None => {
                self.lexer.rewind(end);
                Ok(())
            }
            Some(words) => {
                let (message, help) = error(words, start);
                let span = Span::new(start, start + words.len());
                let error = Diagnostic::new(DiagnosticKind::UnexpectedToken, span, message);
                Err(Diagnostic { help: Some(help).filter(|help| quotable(help)), ..error })
            }
        }
    }

    // The rest of a value-test.
    #[inline(never)]
    pub(super) fn value_test(&mut self, start: usize, subject: Comparable) -> Parsed<LogicalExpr> {
        if let ComparableKind::Literal(_) = subject.kind {
            return Err(self.unexpected(Context::AfterLiteral, "an operator after the literal"));
        }
        let is_column = matches!(subject.kind, ComparableKind::Column(_));
        let (not, kind);
        if self.keyword("is") {
            self.lexer.blank();
            not = self.keyword("not");
            self.lexer.blank();
            kind = ValueTestKind::Is(self.state(&subject)?);
        } else {
            not = self.keyword("not");
            self.lexer.blank();
            if self.keyword("in") {
                kind = ValueTestKind::In(self.values(is_column)?);
            } else if self.keyword("between") {
                let context = Context::Value { of_column: is_column, equal: None };
                let least = self.literal(is_column, context, "the least value after `between`")?;
                self.lexer.blank();
                if !self.keyword("and") {
                    return Err(self.unexpected(Context::Elsewhere, "`and` and the greatest value"));
                }
                let greatest = self.literal(is_column, context, "the greatest value after `and`")?;
                kind = ValueTestKind::Between(least, greatest);
            } else {
                let likes = [("like", false), ("ilike", true)];
                return match likes.into_iter().find(|(word, _)| self.keyword(word)) {
                    Some((_, ignores_case)) => self.like(start, subject, not, ignores_case),
                    None => Err(self.unexpected(Context::Elsewhere, "`in`, `between` or `like` after `not`")),
                };
            }
        }
        let span = self.lexer.span_from(start);
        let test = ValueTest { subject, not, kind, span };
        self.check_values(&test)?;
        Ok(LogicalExpr { kind: LogicalExprKind::Value(Box::new(test)), span })
    }

    /// Parses the state after `is`. Only a column has all states.
    fn state(&mut self, subject: &Comparable) -> Parsed<State> {
        let start = self.lexer.at();
        let is_column = matches!(subject.kind, ComparableKind::Column(_));
        let found = State::ALL.into_iter().find(|state| self.keyword(state.as_str()));
        let Some(state) = found else {
            return Err(match is_column {
                true => self.unexpected(Context::State, "`missing`, `null`, `other`, `nan` or `value`"),
                false => self.unexpected(Context::State, "`missing` or `null`"),
            });
        };
        match &subject.kind {
            ComparableKind::Function(_) => {
                let message = "expected a path or a column before `is`, found a function call";
                let error = Diagnostic::new(DiagnosticKind::UnexpectedToken, subject.span, message);
                Err(error.with_help("compare the result, or write `is` after the path alone"))
            }
            ComparableKind::Query(_) if !matches!(state, State::Missing | State::Null) => {
                let message =
                    format!("expected `missing` or `null` after a path, found `{}`", state.as_str());
                let path = &self.text[subject.span.start..subject.span.end];
                let error =
                    Diagnostic::new(DiagnosticKind::UnexpectedToken, self.lexer.span_from(start), message);
                Err(error.with_help(match quotable(path) {
                    true => {
                        format!("a path has no type, as a column has; `{path}` alone is true of any value")
                    }
                    false => "a path has no type, as a column has".to_owned(),
                }))
            }
            _ => Ok(state),
        }
    }

    /// Parses the values of `in`.
    fn values(&mut self, of_column: bool) -> Parsed<Vec<Literal>> {
        self.lexer.blank();
        if !self.lexer.eat("(") {
            return Err(self.unexpected(Context::List, "`(` and values after `in`"));
        }
        let context = Context::Value { of_column, equal: None };
        let expected = if of_column { hint::COLUMN_VALUES } else { "a literal" };
        let mut values = Vec::new();
        loop {
            values.push(self.literal(of_column, context, expected)?);
            self.lexer.blank();
            if self.lexer.eat(")") {
                return Ok(values);
            }
            if !self.lexer.eat(",") {
                return Err(self.unexpected(Context::AfterValue, "`,` or `)`"));
            }
        }
    }

    /// Parses a literal. No value of a column is null.
    fn literal(&mut self, of_column: bool, context: Context, expected: &str) -> Parsed<Literal> {
        self.lexer.blank();
        match self.operand(context, expected)? {
            Operand::Literal(literal) if !(of_column && literal.kind == LiteralKind::Null) => Ok(literal),
            other => Err(self.unexpected_at(other.span(), context, expected)),
        }
    }
}

#[cfg(test)]
mod tests;
