//! The expressions of filters (RFC 9535, section 2.3.5), one function per rule of the grammar.
//!
//! A predicate about a record has the same grammar, and more tests beside it: [`super::predicate`] has these.

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};

use super::super::ast::{
    ColumnName, Comparable, ComparableKind, Comparison, FilterQuery, FunctionCall, FunctionKind, Literal,
    LiteralKind, LogicalExpr, LogicalExprKind, PatternKind, PatternTest, QueryRoot, SelectorKind,
    SingularQuery, SingularStep, SingularStepKind, StringTest,
};
use super::super::function::Function;
use super::super::hint::{self, Context};
use super::super::words::{is_blank, is_name_first, member_path, quotable, quote};
use super::{Parsed, Parser};

/// A part of a filter expression whose role depends on the text after it.
pub(super) enum Operand {
    Literal(Literal),
    Query(FilterQuery),
    Call(Box<FunctionCall>),
    Pattern(Box<PatternTest>),
    String(Box<StringTest>),
    /// A column, in a predicate.
    Column(ColumnName),
}

/// The context in which a single value is expected, for messages.
#[derive(Clone, Copy)]
pub(super) enum ValueFor {
    Comparison,
    Argument(Function),
}

impl Parser<'_> {
    // logical-or-expr = logical-and-expr *(S "||" S logical-and-expr)
    pub(super) fn or(&mut self, expected: &str) -> Parsed<LogicalExpr> {
        self.operands("||", expected, LogicalExprKind::Or, |parser, expected| {
            // logical-and-expr = basic-expr *(S "&&" S basic-expr)
            parser.operands("&&", expected, LogicalExprKind::And, Self::basic)
        })
    }

    /// Parses operands with `operator` between them. A single operand is returned unchanged; several become a
    /// list.
    fn operands(
        &mut self,
        operator: &str,
        expected: &str,
        list: fn(Vec<LogicalExpr>) -> LogicalExprKind,
        operand: fn(&mut Self, &str) -> Parsed<LogicalExpr>,
    ) -> Parsed<LogicalExpr> {
        let start = self.lexer.at();
        let first = operand(self, expected)?;
        let mut rest = Vec::new();
        loop {
            let end = self.lexer.at();
            self.lexer.blank();
            let op_start = self.lexer.at();
            if !self.lexer.eat(operator) && !self.connective(operator) {
                self.lexer.rewind(end);
                break;
            }
            let written = &self.text[op_start..self.lexer.at()];
            self.lexer.blank();
            rest.push(operand(self, &format!("an expression after `{written}`"))?);
        }
        if rest.is_empty() {
            return Ok(first);
        }
        rest.insert(0, first);
        Ok(LogicalExpr { kind: list(rest), span: self.lexer.span_from(start) })
    }

    // basic-expr = paren-expr / comparison-expr / test-expr
    pub(super) fn basic(&mut self, expected: &str) -> Parsed<LogicalExpr> {
        match self.lexer.peek() {
            Some('!') => self.not(),
            Some('(') => self.paren(),
            _ if self.is_predicate() && self.next_is("not") => self.not_word(),
            _ => {
                let left = self.operand(Context::Operand, expected)?;
                self.comparison_or_test(left)
            }
        }
    }

    // The rest of a paren-expr or of a test-expr, after logical-not-op.
    fn not(&mut self) -> Parsed<LogicalExpr> {
        let start = self.lexer.at();
        self.lexer.eat("!");
        self.lexer.blank();
        let inner = if self.lexer.peek() == Some('(') {
            self.paren()?
        } else {
            let operand = self.operand(Context::Operand, "an expression after `!`")?;
            self.no_comparison("`!` cannot precede a comparison", |text, op| {
                let operand = text[start + 1..op].trim_matches(is_blank);
                format!("put the comparison in parentheses: `!({operand} …)`")
            })?;
            let text = self.text;
            self.no_value_test(|words, at| {
                let operand = text[start + 1..at].trim_matches(is_blank);
                let message = format!("`!` cannot precede a test with {}", quote(words));
                (message, format!("put the test in parentheses: `!({operand} {words} …)`"))
            })?;
            self.test(operand)?
        };
        Ok(LogicalExpr { kind: LogicalExprKind::Not(Box::new(inner)), span: self.lexer.span_from(start) })
    }

    // comparison-expr = comparable S comparison-op S comparable
    //
    // Not inlined, like the other functions after the recursion: otherwise their frames would be on the stack
    // at every level of nesting.
    #[inline(never)]
    fn comparison_or_test(&mut self, left: Operand) -> Parsed<LogicalExpr> {
        let start = left.span().start;
        let end = self.lexer.at();
        self.lexer.blank();
        let op_start = self.lexer.at();
        let Some(op) = self.comparison_op() else {
            if self.is_predicate() && self.at_value_test() {
                let subject = self.value(left, ValueFor::Comparison)?;
                return self.value_test(start, subject);
            }
            self.lexer.rewind(end);
            return self.test(left);
        };
        let op_span = self.lexer.span_from(op_start);
        let left = self.value(left, ValueFor::Comparison)?;
        self.lexer.blank();
        let written = &self.text[op_span.start..op_span.end];
        let expected = format!("a value after `{written}`");
        let right = match left.kind {
            ComparableKind::Column(_) => self.operand(hint::compared(true, op), hint::COLUMN_VALUES)?,
            _ if self.is_predicate() => self.operand(hint::compared(false, op), &expected)?,
            _ => self.operand(Context::Operand, &expected)?,
        };
        let right = self.value(right, ValueFor::Comparison)?;
        let span = self.lexer.span_from(start);
        self.no_comparison("a comparison cannot be compared again", |_, _| {
            "compare twice: `a < b && b < c`".to_owned()
        })?;
        let comparison = Comparison { left, op, op_span, right, span };
        self.check_time(&comparison)?;
        let comparison = if self.is_predicate() { self.of_column(comparison)? } else { comparison };
        Ok(LogicalExpr { kind: LogicalExprKind::Comparison(Box::new(comparison)), span })
    }

    // paren-expr = [logical-not-op S] "(" S logical-expr S ")"
    fn paren(&mut self) -> Parsed<LogicalExpr> {
        let start = self.lexer.at();
        self.enter("(")?;
        self.lexer.blank();
        let mut expr = self.or("an expression after `(`")?;
        self.lexer.blank();
        if !self.lexer.eat(")") {
            return Err(match self.is_predicate() {
                true => self.unexpected(Context::AfterTest { open: true }, "`and`, `or` or `)`"),
                false => self.unexpected(Context::AfterExpr, "an operator or `)`"),
            });
        }
        self.leave();
        expr.span = self.lexer.span_from(start);
        self.no_comparison("an expression in parentheses cannot be compared", |_, _| {
            "compare values: write a query, a literal or a function call without parentheses".to_owned()
        })?;
        self.no_value_test(|words, _| {
            let message = format!("an expression in parentheses cannot be tested by {}", quote(words));
            (message, "test a value: write a path or a function call without parentheses".to_owned())
        })?;
        Ok(expr)
    }

    // The first part of a comparison-expr or test-expr, or a function-argument:
    // literal / filter-query / function-expr
    pub(super) fn operand(&mut self, context: Context, expected: &str) -> Parsed<Operand> {
        let start = self.lexer.at();
        let kind = match self.lexer.peek() {
            Some('\'' | '"') => LiteralKind::String(self.lexer.string()?),
            Some('-' | '0'..='9') => LiteralKind::Number(self.number()?.to_owned()),
            _ if self.is_predicate() => return self.predicate_operand(context, expected),
            Some('@' | '$') => return self.filter_query().map(Operand::Query),
            Some(c) if is_name_first(c) => {
                let word = self.lexer.word().unwrap_or_default();
                if self.lexer.peek() == Some('(') {
                    return self.call(start, word);
                }
                match word {
                    "true" => LiteralKind::Bool(true),
                    "false" => LiteralKind::Bool(false),
                    "null" => LiteralKind::Null,
                    _ => return Err(self.unexpected_word(start, word, context, expected)),
                }
            }
            _ => return Err(self.unexpected(context, expected)),
        };
        Ok(Operand::Literal(Literal { kind, span: self.lexer.span_from(start) }))
    }

    // filter-query = rel-query / jsonpath-query
    pub(super) fn filter_query(&mut self) -> Parsed<FilterQuery> {
        let start = self.lexer.at();
        let root = if self.lexer.eat("@") {
            QueryRoot::Current
        } else {
            self.lexer.eat("$");
            QueryRoot::Record
        };
        let segments = self.segments()?;
        Ok(FilterQuery { root, segments, span: self.lexer.span_from(start) })
    }

    // function-expr = function-name "(" S [function-argument *(S "," S function-argument)] S ")"
    #[inline(never)]
    pub(super) fn call(&mut self, start: usize, name: &str) -> Parsed<Operand> {
        let Some(function) = Function::named(name) else {
            return Err(self.unknown_function(start, name));
        };
        if function == Function::Now {
            return self.now(start).map(Operand::Literal);
        }
        self.enter("(")?;
        self.lexer.blank();
        let mut arguments = Vec::new();
        if !self.lexer.eat(")") {
            let mut expected = "an argument or `)` after `(`";
            loop {
                arguments.push(self.argument(function, expected)?);
                self.lexer.blank();
                if self.lexer.eat(")") {
                    break;
                }
                if !self.lexer.eat(",") {
                    return Err(self.unexpected(Context::AfterExpr, "`,` or `)`"));
                }
                self.lexer.blank();
                expected = "an argument after `,`";
            }
        }
        self.leave();
        self.typed(function, arguments, self.lexer.span_from(start))
    }

    // function-argument = literal / filter-query / logical-expr / function-expr
    //
    // No function of RFC 9535 takes a logical-expr: an argument that can only be one is a typing mistake.
    fn argument(&mut self, function: Function, expected: &str) -> Parsed<Operand> {
        let start = self.lexer.at();
        if matches!(self.lexer.peek(), Some('(' | '!')) {
            return Err(logical_argument(function, Span::new(start, start + 1)));
        }
        let operand = self.operand(Context::Argument, expected)?;
        let end = self.lexer.at();
        self.lexer.blank();
        let op_start = self.lexer.at();
        if self.comparison_op().is_some() || self.lexer.eat("&&") || self.lexer.eat("||") {
            return Err(logical_argument(function, self.lexer.span_from(op_start)));
        }
        self.lexer.rewind(end);
        Ok(operand)
    }

    /// Returns the call of `function`, if `arguments` fit it (RFC 9535, section 2.4.3).
    #[inline(never)]
    fn typed(&self, function: Function, mut arguments: Vec<Operand>, span: Span) -> Parsed<Operand> {
        let name = function.name();
        let found = arguments.len();
        match function {
            Function::Time if (1..=2).contains(&found) => {
                return Ok(Operand::Call(Box::new(FunctionCall { kind: self.time(arguments)?, span })));
            }
            Function::Cidr if found >= 2 => {
                let blocks = arguments.split_off(1);
                let test = self.cidr(arguments.remove(0), blocks, span)?;
                return Ok(Operand::String(Box::new(test)));
            }
            _ => {}
        }
        let mut arguments = arguments.into_iter();
        let mut next = |wanted: usize| {
            arguments.next().filter(|_| found == wanted).ok_or_else(|| {
                let plural = if wanted == 1 { "" } else { "s" };
                Diagnostic::new(
                    function.mistake(),
                    span,
                    format!("`{name}` takes {wanted} argument{plural}, found {found}"),
                )
            })
        };
        let value_for = ValueFor::Argument(function);
        let kind = match function {
            Function::Length => FunctionKind::Length(Box::new(self.value(next(1)?, value_for)?)),
            Function::Count => FunctionKind::Count(self.nodes(next(1)?, name)?),
            Function::Value => FunctionKind::Value(self.nodes(next(1)?, name)?),
            Function::Time => {
                let message = format!("`time` takes a path, and may take a format, found {found} arguments");
                return Err(Diagnostic::new(function.mistake(), span, message));
            }
            Function::Cidr => {
                let plural = if found == 1 { "" } else { "s" };
                let message =
                    format!("`cidr` takes a path and at least one block, found {found} argument{plural}");
                return Err(Diagnostic::new(function.mistake(), span, message)
                    .with_help("such as `cidr($.ip, \"10.0.0.0/8\", \"fe80::/10\")`"));
            }
            // Its call has a rule of its own.
            Function::Now => {
                return Err(Diagnostic::new(function.mistake(), span, "`now` takes no argument"));
            }
            Function::Text(text, ignores_case) => {
                let subject = self.value(next(2)?, value_for)?;
                let test = self.text_test((text, ignores_case), subject, next(2)?, span)?;
                return Ok(Operand::String(Box::new(test)));
            }
            Function::Match | Function::Search => {
                let subject = self.value(next(2)?, value_for)?;
                let pattern = self.value(next(2)?, value_for)?;
                let kind = if function == Function::Match { PatternKind::Match } else { PatternKind::Search };
                return Ok(Operand::Pattern(Box::new(PatternTest { kind, subject, pattern, span })));
            }
        };
        Ok(Operand::Call(Box::new(FunctionCall { kind, span })))
    }

    /// Returns `operand` as a value: in a comparison, or as an argument of `ValueType`.
    #[inline(never)]
    pub(super) fn value(&self, operand: Operand, value_for: ValueFor) -> Parsed<Comparable> {
        let span = operand.span();
        let no_instant = |function: Function, found: &str| {
            let message = format!("`{}` takes a value, and the result of `{found}` is none", function.name());
            Diagnostic::new(DiagnosticKind::Argument, span, message)
                .with_help("compare an instant: `time($.a) >= \"2026-01-31\"`")
        };
        let kind = match operand {
            Operand::Literal(literal) => match (&literal.kind, value_for) {
                (LiteralKind::Now(_), ValueFor::Argument(function)) => {
                    return Err(no_instant(function, "now"));
                }
                _ => ComparableKind::Literal(literal),
            },
            Operand::Call(call) => match (&call.kind, value_for) {
                (FunctionKind::Time(_), ValueFor::Argument(function)) => {
                    return Err(no_instant(function, "time"));
                }
                _ => ComparableKind::Function(*call),
            },
            Operand::Query(query) => ComparableKind::Query(self.singular(query, value_for)?),
            Operand::Column(column) => match value_for {
                ValueFor::Comparison => ComparableKind::Column(column),
                ValueFor::Argument(function) => {
                    let message = format!("`{}` takes a value, and `{column}` is a column", function.name());
                    let help = match member_path(&column.name) {
                        Some(path) => format!("write the path of a member: `{path}`"),
                        None => "write the path of a member, which begins with `$`".to_owned(),
                    };
                    return Err(Diagnostic::new(function.mistake(), span, message).with_help(help));
                }
            },
            Operand::Pattern(_) | Operand::String(_) => {
                let name = operand.test_name();
                let kind = match operand {
                    Operand::String(_) => DiagnosticKind::Argument,
                    _ => DiagnosticKind::Type,
                };
                let (message, help) = match value_for {
                    ValueFor::Comparison => (
                        format!("the result of `{name}` is a test, not a value, and cannot be compared"),
                        format!("write `{name}(…)` or `!{name}(…)` alone"),
                    ),
                    ValueFor::Argument(function) => (
                        format!("`{}` takes a value, and the result of `{name}` is a test", function.name()),
                        "combine tests with `&&` and `||`".to_owned(),
                    ),
                };
                return Err(Diagnostic::new(kind, span, message).with_help(help));
            }
        };
        Ok(Comparable { kind, span })
    }

    // singular-query-segments = *(S (name-segment / index-segment))
    // name-segment            = ("[" name-selector "]") / ("." member-name-shorthand)
    // index-segment           = "[" index-selector "]"
    pub(super) fn singular(&self, query: FilterQuery, value_for: ValueFor) -> Parsed<SingularQuery> {
        let FilterQuery { root, segments, span } = query;
        let several = || {
            let wants = match value_for {
                ValueFor::Comparison => "a comparison needs one value".to_owned(),
                ValueFor::Argument(function) => format!("`{}` takes one value", function.name()),
            };
            let message = format!("{wants}, and this query may select several nodes");
            let text = &self.text[span.start..span.end];
            let kind = match value_for {
                ValueFor::Argument(function) if function.mistake() == DiagnosticKind::Argument => {
                    DiagnosticKind::Argument
                }
                _ => DiagnosticKind::NotSingular,
            };
            let error = Diagnostic::new(kind, span, message);
            let is_test = |function| !matches!(function, Function::Length | Function::Time);
            let each = text.strip_suffix("[*]").or_else(|| text.strip_suffix(".*"));
            if let (ValueFor::Argument(function), Some(array)) = (value_for, each)
                && is_test(function)
                && quotable(text)
            {
                let name = function.name();
                error.with_help(format!("a filter tests each of its values: `{array}[?{name}(@, …)]`"))
            } else if quotable(text) && !matches!(value_for, ValueFor::Argument(Function::Time)) {
                error.with_help(format!(
                    "`value({text})` is the value of its only node, `count({text})` the number of its nodes"
                ))
            } else {
                error.with_help("give a query of names and indexes only")
            }
        };
        let mut steps = Vec::with_capacity(segments.len());
        for segment in segments {
            if !segment.is_singular() {
                return Err(several());
            }
            let Some(selector) = segment.selectors.into_iter().next() else { return Err(several()) };
            self.tight(segment.span, selector.span)?;
            let kind = match selector.kind {
                SelectorKind::Name(name) => SingularStepKind::Name(name),
                SelectorKind::Index(index) => SingularStepKind::Index(index),
                _ => return Err(several()),
            };
            steps.push(SingularStep { kind, span: segment.span });
        }
        Ok(SingularQuery { root, steps, span })
    }

    /// Refuses white space inside the brackets of a singular query. The grammar allows it in every other pair
    /// of brackets but has no `S` there.
    fn tight(&self, segment: Span, selector: Span) -> Parsed<()> {
        if !self.text[segment.start..].starts_with('[') {
            return Ok(());
        }
        let before = Span::new(segment.start + 1, selector.start);
        let after = Span::new(selector.end, segment.end - 1);
        let Some(blank) = [before, after].into_iter().find(|gap| gap.start < gap.end) else {
            return Ok(());
        };
        Err(Diagnostic::new(
            DiagnosticKind::WhiteSpace,
            blank,
            "white space is not allowed inside the brackets of a query that stands for one value",
        )
        .with_help("remove it"))
    }

    // test-expr = [logical-not-op S] (filter-query / function-expr)
    #[inline(never)]
    fn test(&mut self, operand: Operand) -> Parsed<LogicalExpr> {
        let span = operand.span();
        let text = &self.text[span.start..span.end];
        let node = self.node();
        let kind = match operand {
            Operand::Query(query) => LogicalExprKind::Exists(query),
            Operand::Pattern(test) => LogicalExprKind::Pattern(test),
            Operand::String(test) => LogicalExprKind::String(test),
            Operand::Column(column) => return Err(self.lone_column(&column)),
            Operand::Literal(literal) => {
                let what = literal_noun(&literal);
                let is_now = matches!(literal.kind, LiteralKind::Now(_));
                let kind = if is_now { DiagnosticKind::Argument } else { DiagnosticKind::Type };
                let error = Diagnostic::new(kind, span, format!("expected a test, found only {what}"));
                return Err(if is_now {
                    error.with_help(hint::NOW_HELP)
                } else if quotable(text) {
                    error.with_help(format!("compare it with something: `{node} == {text}`"))
                } else {
                    error.with_help("compare it with something")
                });
            }
            Operand::Call(call) => {
                let name = match call.kind {
                    FunctionKind::Length(_) => Function::Length,
                    FunctionKind::Count(_) => Function::Count,
                    FunctionKind::Value(_) => Function::Value,
                    FunctionKind::Time(_) => Function::Time,
                };
                let message =
                    format!("expected a test, found only the result of `{}`, which is a value", name.name());
                let error = Diagnostic::new(name.mistake(), span, message);
                return Err(if quotable(text) {
                    let example = match name {
                        Function::Value => "== true",
                        Function::Time => ">= now() - 1h",
                        _ => "> 0",
                    };
                    error.with_help(format!("compare it with something: `{text} {example}`"))
                } else {
                    error.with_help("compare it with something")
                });
            }
        };
        Ok(LogicalExpr { kind, span })
    }

    /// Refuses a comparison operator after an expression that cannot be compared. `help` gets the text and
    /// the operator's offset.
    #[inline(never)]
    fn no_comparison(&mut self, message: &str, help: impl Fn(&str, usize) -> String) -> Parsed<()> {
        let end = self.lexer.at();
        self.lexer.blank();
        let op_start = self.lexer.at();
        if self.comparison_op().is_some() {
            let span = self.lexer.span_from(op_start);
            let help = Some(help(self.text, op_start)).filter(|help| quotable(help));
            let error = Diagnostic::new(DiagnosticKind::UnexpectedToken, span, message);
            return Err(Diagnostic { help, ..error });
        }
        self.lexer.rewind(end);
        Ok(())
    }

    /// Returns the error for a word at `start` that has no meaning here.
    #[inline(never)]
    fn unexpected_word(&mut self, start: usize, word: &str, context: Context, expected: &str) -> Diagnostic {
        let end = self.lexer.at();
        self.lexer.blank();
        if Function::named(word).is_some() && self.lexer.peek() == Some('(') {
            return Diagnostic::new(
                DiagnosticKind::WhiteSpace,
                self.lexer.span_from(end),
                format!("white space is not allowed between `{word}` and its `(`"),
            )
            .with_help(format!("write `{word}(…)`"));
        }
        self.lexer.rewind(start);
        self.unexpected(context, expected)
    }

    #[inline(never)]
    fn unknown_function(&mut self, start: usize, name: &str) -> Diagnostic {
        let error = Diagnostic::new(
            DiagnosticKind::UnknownFunction,
            self.lexer.span_from(start),
            format!("expected a function, found {}", quote(name)),
        );
        error.with_help(hint::function_help(name))
    }

    /// The current node in the notation of the expression that is being parsed, for messages.
    fn node(&self) -> char {
        if self.is_predicate() { '$' } else { '@' }
    }

    /// Returns `operand` as a list of nodes: an argument of `NodesType`.
    fn nodes(&self, operand: Operand, function: &str) -> Parsed<FilterQuery> {
        let span = operand.span();
        let found = match operand {
            Operand::Query(query) => return Ok(query),
            Operand::Literal(literal) => literal_noun(&literal),
            Operand::Call(_) | Operand::Pattern(_) | Operand::String(_) => "a function call",
            Operand::Column(_) => "a column",
        };
        let message = format!("`{function}` takes a query such as `{}.*`, found {found}", self.node());
        Err(Diagnostic::new(DiagnosticKind::Type, span, message))
    }
}

impl Operand {
    /// The name of the function whose result is true or false.
    fn test_name(&self) -> &'static str {
        match self {
            Self::Pattern(test) => test.kind.name(),
            Self::String(test) => test.kind.name(),
            _ => "",
        }
    }

    pub(super) fn span(&self) -> Span {
        match self {
            Self::Literal(literal) => literal.span,
            Self::Query(query) => query.span,
            Self::Call(call) => call.span,
            Self::Pattern(test) => test.span,
            Self::String(test) => test.span,
            Self::Column(column) => column.span,
        }
    }
}

/// Returns the error for a logical expression, found at `span`, as an argument of `function`.
fn logical_argument(function: Function, span: Span) -> Diagnostic {
    let name = function.name();
    Diagnostic::new(
        function.mistake(),
        span,
        format!("expected a query or a value as argument of `{name}`, found a logical expression"),
    )
}

pub(super) fn literal_noun(literal: &Literal) -> &'static str {
    match literal.kind {
        LiteralKind::Number(_) => "a number",
        LiteralKind::String(_) => "a string",
        LiteralKind::Bool(true) => "`true`",
        LiteralKind::Bool(false) => "`false`",
        LiteralKind::Null => "`null`",
        LiteralKind::Now(_) => "an instant",
    }
}
