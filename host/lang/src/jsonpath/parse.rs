//! Recursive descent over RFC 9535's grammar (its appendix A), one function per rule.
//!
//! A function starts at the first character of its rule and stops after the last. The white space around a
//! rule is read by the rule that allows it. The rules for singular queries and for the types of function
//! calls are checked while the tree is built, so that no ill-typed tree exists.

use std::str::FromStr;

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};

use super::ast::{
    Comparable, ComparableKind, Comparison, FilterQuery, FunctionCall, FunctionKind, Literal, LiteralKind,
    LogicalExpr, LogicalExprKind, PatternKind, PatternTest, Query, QueryRoot, Segment, SegmentKind, Selector,
    SelectorKind, SingularQuery, SingularStep, SingularStepKind,
};
use super::hint::{self, Place};
use super::lexer::{Lexer, is_blank, is_name_first};

/// The maximum nesting of filters, parentheses and function calls, all counted together. It bounds the stack
/// of the parser and of every other walk over the tree.
pub const MAX_DEPTH: usize = 128;

/// Parses a query: all of RFC 9535, and no more.
///
/// # Errors
///
/// The first mistake from the left, with its position. A common mistake comes with a hint.
pub fn parse(query: &str) -> Result<Query, Diagnostic> {
    attempt(query).map_err(|(error, place)| hint::explain(query, error, place))
}

impl FromStr for Query {
    type Err = Diagnostic;

    fn from_str(query: &str) -> Result<Self, Diagnostic> {
        parse(query)
    }
}

/// Parses like [`parse`]. Errors have no hint yet, but the position in the grammar by which a hint can be
/// found.
pub(super) fn attempt(query: &str) -> Result<Query, (Diagnostic, Place)> {
    let mut parser = Parser { text: query, lexer: Lexer::new(query, 0), depth: 0, place: Place::Elsewhere };
    parser.query().map_err(|error| (error, parser.place))
}

struct Parser<'q> {
    text: &'q str,
    lexer: Lexer<'q>,
    /// Number of open filters, parentheses and calls.
    depth: usize,
    /// The position in the grammar of the error that is being returned.
    place: Place,
}

/// A part of a filter expression whose role depends on the text after it.
enum Operand {
    Literal(Literal),
    Query(FilterQuery),
    Call(Box<FunctionCall>),
    Pattern(Box<PatternTest>),
}

/// The functions of RFC 9535, sections 2.4.4 to 2.4.8.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Length,
    Count,
    Match,
    Search,
    Value,
}

impl Function {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "length" => Self::Length,
            "count" => Self::Count,
            "match" => Self::Match,
            "search" => Self::Search,
            "value" => Self::Value,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Count => "count",
            Self::Match => "match",
            Self::Search => "search",
            Self::Value => "value",
        }
    }
}

type Parsed<T> = Result<T, Diagnostic>;

/// The context in which a single value is expected, for messages.
#[derive(Clone, Copy)]
enum ValueFor {
    Comparison,
    Argument(Function),
}

impl<'q> Parser<'q> {
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
                None => return Err(self.unexpected(Place::Dot { start }, expected)),
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
                    self.unexpected(Place::AfterExpr, "an operator, `,` or `]`")
                } else {
                    self.unexpected(Place::AfterSelector, "`,` or `]`")
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
                self.lexer.blank();
                let expr = self.or("an expression after `?`")?;
                self.leave();
                SelectorKind::Filter(expr)
            }
            _ => return Err(self.unexpected(Place::Selector, expected)),
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

    // logical-or-expr = logical-and-expr *(S "||" S logical-and-expr)
    fn or(&mut self, expected: &str) -> Parsed<LogicalExpr> {
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
        mut expected: &str,
        list: fn(Vec<LogicalExpr>) -> LogicalExprKind,
        operand: fn(&mut Self, &str) -> Parsed<LogicalExpr>,
    ) -> Parsed<LogicalExpr> {
        let start = self.lexer.at();
        let first = operand(self, expected)?;
        let mut rest = Vec::new();
        loop {
            let end = self.lexer.at();
            self.lexer.blank();
            if !self.lexer.eat(operator) {
                self.lexer.rewind(end);
                break;
            }
            self.lexer.blank();
            expected = if operator == "&&" { "an expression after `&&`" } else { "an expression after `||`" };
            rest.push(operand(self, expected)?);
        }
        if rest.is_empty() {
            return Ok(first);
        }
        rest.insert(0, first);
        Ok(LogicalExpr { kind: list(rest), span: self.lexer.span_from(start) })
    }

    // basic-expr = paren-expr / comparison-expr / test-expr
    fn basic(&mut self, expected: &str) -> Parsed<LogicalExpr> {
        match self.lexer.peek() {
            Some('!') => self.not(),
            Some('(') => self.paren(),
            _ => {
                let left = self.operand(Place::Operand, expected)?;
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
            let operand = self.operand(Place::Operand, "an expression after `!`")?;
            self.no_comparison("`!` cannot precede a comparison", |text, op| {
                let operand = text[start + 1..op].trim_matches(is_blank);
                format!("put the comparison in parentheses: `!({operand} …)`")
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
        let Some(op) = self.lexer.comparison_op() else {
            self.lexer.rewind(end);
            return self.test(left);
        };
        let op_span = self.lexer.span_from(op_start);
        let left = self.value(left, ValueFor::Comparison)?;
        self.lexer.blank();
        let right = self.operand(Place::Operand, &format!("a value after `{op}`"))?;
        let right = self.value(right, ValueFor::Comparison)?;
        let span = self.lexer.span_from(start);
        self.no_comparison("a comparison cannot be compared again", |_, _| {
            "compare twice: `a < b && b < c`".to_owned()
        })?;
        let comparison = Comparison { left, op, op_span, right, span };
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
            return Err(self.unexpected(Place::AfterExpr, "an operator or `)`"));
        }
        self.leave();
        expr.span = self.lexer.span_from(start);
        self.no_comparison("an expression in parentheses cannot be compared", |_, _| {
            "compare values: write a query, a literal or a function call without parentheses".to_owned()
        })?;
        Ok(expr)
    }

    // The first part of a comparison-expr or test-expr, or a function-argument:
    // literal / filter-query / function-expr
    fn operand(&mut self, place: Place, expected: &str) -> Parsed<Operand> {
        let start = self.lexer.at();
        let kind = match self.lexer.peek() {
            Some('\'' | '"') => LiteralKind::String(self.lexer.string()?),
            Some('-' | '0'..='9') => LiteralKind::Number(self.lexer.number()?.to_owned()),
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
                    _ => return Err(self.unexpected_word(start, word, place, expected)),
                }
            }
            _ => return Err(self.unexpected(place, expected)),
        };
        Ok(Operand::Literal(Literal { kind, span: self.lexer.span_from(start) }))
    }

    // filter-query = rel-query / jsonpath-query
    fn filter_query(&mut self) -> Parsed<FilterQuery> {
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
    fn call(&mut self, start: usize, name: &str) -> Parsed<Operand> {
        let Some(function) = Function::named(name) else {
            return Err(self.unknown_function(start, name));
        };
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
                    return Err(self.unexpected(Place::AfterExpr, "`,` or `)`"));
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
        let operand = self.operand(Place::Argument, expected)?;
        let end = self.lexer.at();
        self.lexer.blank();
        let op_start = self.lexer.at();
        if self.lexer.comparison_op().is_some() || self.lexer.eat("&&") || self.lexer.eat("||") {
            return Err(logical_argument(function, self.lexer.span_from(op_start)));
        }
        self.lexer.rewind(end);
        Ok(operand)
    }

    /// Returns the call of `function`, if `arguments` fit it (RFC 9535, section 2.4.3).
    #[inline(never)]
    fn typed(&self, function: Function, arguments: Vec<Operand>, span: Span) -> Parsed<Operand> {
        let name = function.name();
        let found = arguments.len();
        let mut arguments = arguments.into_iter();
        let mut next = |wanted: usize| {
            arguments.next().filter(|_| found == wanted).ok_or_else(|| {
                let plural = if wanted == 1 { "" } else { "s" };
                Diagnostic::new(
                    DiagnosticKind::Type,
                    span,
                    format!("`{name}` takes {wanted} argument{plural}, found {found}"),
                )
            })
        };
        let value_for = ValueFor::Argument(function);
        let kind = match function {
            Function::Length => FunctionKind::Length(Box::new(self.value(next(1)?, value_for)?)),
            Function::Count => FunctionKind::Count(nodes(next(1)?, name)?),
            Function::Value => FunctionKind::Value(nodes(next(1)?, name)?),
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
    fn value(&self, operand: Operand, value_for: ValueFor) -> Parsed<Comparable> {
        let span = operand.span();
        let kind = match operand {
            Operand::Literal(literal) => ComparableKind::Literal(literal),
            Operand::Call(call) => ComparableKind::Function(*call),
            Operand::Query(query) => ComparableKind::Query(self.singular(query, value_for)?),
            Operand::Pattern(test) => {
                let name = test.kind;
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
                return Err(Diagnostic::new(DiagnosticKind::Type, span, message).with_help(help));
            }
        };
        Ok(Comparable { kind, span })
    }

    // singular-query-segments = *(S (name-segment / index-segment))
    // name-segment            = ("[" name-selector "]") / ("." member-name-shorthand)
    // index-segment           = "[" index-selector "]"
    fn singular(&self, query: FilterQuery, value_for: ValueFor) -> Parsed<SingularQuery> {
        let FilterQuery { root, segments, span } = query;
        let several = || {
            let wants = match value_for {
                ValueFor::Comparison => "a comparison needs one value".to_owned(),
                ValueFor::Argument(function) => format!("`{}` takes one value", function.name()),
            };
            let message = format!("{wants}, and this query may select several nodes");
            let text = &self.text[span.start..span.end];
            let error = Diagnostic::new(DiagnosticKind::NotSingular, span, message);
            if hint::quotable(text) {
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
    fn test(&self, operand: Operand) -> Parsed<LogicalExpr> {
        let span = operand.span();
        let text = &self.text[span.start..span.end];
        let kind = match operand {
            Operand::Query(query) => LogicalExprKind::Exists(query),
            Operand::Pattern(test) => LogicalExprKind::Pattern(test),
            Operand::Literal(literal) => {
                let what = literal_noun(&literal);
                let error = Diagnostic::new(
                    DiagnosticKind::Type,
                    span,
                    format!("expected a test, found only {what}"),
                );
                return Err(if hint::quotable(text) {
                    error.with_help(format!("compare it with something: `@ == {text}`"))
                } else {
                    error.with_help("compare it with something")
                });
            }
            Operand::Call(call) => {
                let name = match call.kind {
                    FunctionKind::Length(_) => Function::Length,
                    FunctionKind::Count(_) => Function::Count,
                    FunctionKind::Value(_) => Function::Value,
                };
                let message =
                    format!("expected a test, found only the result of `{}`, which is a value", name.name());
                let error = Diagnostic::new(DiagnosticKind::Type, span, message);
                return Err(if hint::quotable(text) {
                    let example = if name == Function::Value { "== true" } else { "> 0" };
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
        if self.lexer.comparison_op().is_some() {
            let span = self.lexer.span_from(op_start);
            let help = Some(help(self.text, op_start)).filter(|help| hint::quotable(help));
            let error = Diagnostic::new(DiagnosticKind::UnexpectedToken, span, message);
            return Err(Diagnostic { help, ..error });
        }
        self.lexer.rewind(end);
        Ok(())
    }

    /// Reads `open`, which is one level deeper.
    fn enter(&mut self, open: &str) -> Parsed<()> {
        let start = self.lexer.at();
        self.lexer.eat(open);
        if self.depth == MAX_DEPTH {
            let message = format!("expected at most {MAX_DEPTH} levels of nesting, found one more");
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
    fn unexpected(&mut self, place: Place, expected: &str) -> Diagnostic {
        self.place = place;
        let (kind, span, found) = hint::found(self.text, self.lexer.at());
        Diagnostic::new(kind, span, format!("expected {expected}, found {found}"))
    }

    /// Returns the error for a word at `start` that has no meaning here.
    #[inline(never)]
    fn unexpected_word(&mut self, start: usize, word: &str, place: Place, expected: &str) -> Diagnostic {
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
        self.unexpected(place, expected)
    }

    #[inline(never)]
    fn unknown_function(&mut self, start: usize, name: &str) -> Diagnostic {
        let error = Diagnostic::new(
            DiagnosticKind::UnknownFunction,
            self.lexer.span_from(start),
            format!("expected a function of RFC 9535, found {}", hint::quote(name)),
        );
        error.with_help(hint::function_help(name))
    }

    /// Returns the error for a text that does not start with `$`.
    fn missing_root(&mut self) -> Diagnostic {
        let mut error = self.unexpected(Place::Root, "`$` at the start of the path");
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
        self.unexpected(Place::Tail, "`.`, `[` or the end of the path")
    }
}

impl Operand {
    fn span(&self) -> Span {
        match self {
            Self::Literal(literal) => literal.span,
            Self::Query(query) => query.span,
            Self::Call(call) => call.span,
            Self::Pattern(test) => test.span,
        }
    }
}

/// Returns `operand` as a list of nodes: an argument of `NodesType`.
fn nodes(operand: Operand, function: &str) -> Parsed<FilterQuery> {
    let span = operand.span();
    let found = match operand {
        Operand::Query(query) => return Ok(query),
        Operand::Literal(literal) => literal_noun(&literal),
        Operand::Call(_) | Operand::Pattern(_) => "a function call",
    };
    Err(Diagnostic::new(
        DiagnosticKind::Type,
        span,
        format!("`{function}` takes a query such as `@.*`, found {found}"),
    ))
}

/// Returns the error for a logical expression, found at `span`, as an argument of `function`.
fn logical_argument(function: Function, span: Span) -> Diagnostic {
    let name = function.name();
    Diagnostic::new(
        DiagnosticKind::Type,
        span,
        format!("expected a query or a value as argument of `{name}`, found a logical expression"),
    )
}

fn literal_noun(literal: &Literal) -> &'static str {
    match literal.kind {
        LiteralKind::Number(_) => "a number",
        LiteralKind::String(_) => "a string",
        LiteralKind::Bool(true) => "`true`",
        LiteralKind::Bool(false) => "`false`",
        LiteralKind::Null => "`null`",
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::ComparisonOp;
    use super::*;

    fn parsed(query: &str) -> Query {
        parse(query).unwrap_or_else(|error| panic!("{}", error.render(query)))
    }

    fn at(query: &str, span: Span) -> &str {
        &query[span.start..span.end]
    }

    /// Returns the expression of the filter that is the first selector of the first segment.
    fn filter(query: &str) -> LogicalExpr {
        match parsed(query).segments.remove(0).selectors.remove(0).kind {
            SelectorKind::Filter(expr) => expr,
            other => panic!("no filter: {other:?}"),
        }
    }

    #[test]
    fn segments_have_their_spans() {
        let query = "$.a ..☺\t[ 'b' , 0 ]\n..[ * ].*";
        let segments = parsed(query).segments;
        let texts: Vec<&str> = segments.iter().map(|segment| at(query, segment.span)).collect();
        assert_eq!(texts, [".a", "..☺", "[ 'b' , 0 ]", "..[ * ]", ".*"]);
        let selectors: Vec<&str> = segments
            .iter()
            .flat_map(|segment| &segment.selectors)
            .map(|selector| at(query, selector.span))
            .collect();
        assert_eq!(selectors, ["a", "☺", "'b'", "0", "*", "*"]);
        let kinds: Vec<SegmentKind> = segments.iter().map(|segment| segment.kind).collect();
        use SegmentKind::{Child, Descendant};
        assert_eq!(kinds, [Child, Descendant, Child, Descendant, Child]);
        assert_eq!(at(query, parsed(query).span), query);
    }

    #[test]
    fn slices() {
        for (selector, start, end, step) in [
            (":", None, None, None),
            ("::", None, None, None),
            ("1:", Some(1), None, None),
            (":2", None, Some(2), None),
            ("::3", None, None, Some(3)),
            ("1 : 2 : 3", Some(1), Some(2), Some(3)),
            ("-1\n:\t-2\r:-3", Some(-1), Some(-2), Some(-3)),
            ("::0", None, None, Some(0)),
            ("1 ::", Some(1), None, None),
        ] {
            let query = format!("$[ {selector} ,*]");
            let found = parsed(&query).segments.remove(0).selectors.remove(0);
            assert_eq!(found.kind, SelectorKind::Slice { start, end, step }, "{query}");
            assert_eq!(at(&query, found.span), selector);
        }
    }

    #[test]
    fn names_are_decoded() {
        for query in ["$.é", "$['é']", r#"$["\u00e9"]"#, r"$['\u00E9']"] {
            let found = parsed(query).segments.remove(0).selectors.remove(0).kind;
            assert_eq!(found, SelectorKind::Name("é".to_owned()), "{query}");
        }
    }

    #[test]
    fn and_binds_tighter_than_or() {
        let query = "$[? @.a||! @.b &&( @.c || @.d ) ]";
        let LogicalExprKind::Or(or) = filter(query).kind else { panic!("no or") };
        assert_eq!(at(query, filter(query).span), "@.a||! @.b &&( @.c || @.d )");
        let LogicalExprKind::And(and) = &or[1].kind else { panic!("no and") };
        let texts: Vec<&str> = and.iter().map(|expr| at(query, expr.span)).collect();
        assert_eq!(texts, ["! @.b", "( @.c || @.d )"]);
        assert!(matches!(and[0].kind, LogicalExprKind::Not(_)));
        assert!(matches!(and[1].kind, LogicalExprKind::Or(_)));
    }

    #[test]
    fn comparisons() {
        let query = "$[?$ .a['b'][-1] <= -0.50e1]";
        let LogicalExprKind::Comparison(comparison) = filter(query).kind else { panic!("no comparison") };
        assert_eq!(comparison.op, ComparisonOp::Le);
        assert_eq!(at(query, comparison.op_span), "<=");
        assert_eq!(at(query, comparison.span), "$ .a['b'][-1] <= -0.50e1");
        let ComparableKind::Query(left) = comparison.left.kind else { panic!("no query") };
        assert_eq!(left.root, QueryRoot::Record);
        let steps: Vec<(SingularStepKind, &str)> =
            left.steps.iter().map(|step| (step.kind.clone(), at(query, step.span))).collect();
        assert_eq!(
            steps,
            [
                (SingularStepKind::Name("a".into()), ".a"),
                (SingularStepKind::Name("b".into()), "['b']"),
                (SingularStepKind::Index(-1), "[-1]"),
            ]
        );
        let ComparableKind::Literal(right) = comparison.right.kind else { panic!("no literal") };
        assert_eq!(right.kind, LiteralKind::Number("-0.50e1".into()));
        assert_eq!(at(query, right.span), "-0.50e1");
    }

    #[test]
    fn functions() {
        let query = "$[?match( @.a , 'x' )]";
        let LogicalExprKind::Pattern(test) = filter(query).kind else { panic!("no pattern") };
        assert_eq!(test.kind, PatternKind::Match);
        assert_eq!(at(query, test.span), "match( @.a , 'x' )");
        assert_eq!(at(query, test.subject.span), "@.a");
        assert_eq!(at(query, test.pattern.span), "'x'");

        let query = "$[?length(value($..a)) == count(@[*])]";
        let LogicalExprKind::Comparison(comparison) = filter(query).kind else { panic!("no comparison") };
        let ComparableKind::Function(FunctionCall { kind: FunctionKind::Length(inner), .. }) =
            comparison.left.kind
        else {
            panic!("no length")
        };
        assert_eq!(at(query, inner.span), "value($..a)");
    }

    #[test]
    fn valid() {
        for query in [
            "$",
            "$[?(@ == 'x')]",
            "$[?@]",
            "$[?$]",
            "$[?@.length]",
            "$.true.null.length",
            "$[?@.count == 1]",
            "$[?1==1]",
            "$[?'a'<\"b\"]",
            "$[?true==false]",
            "$[?@==-0]",
            "$[?@[?@[?@.a]]]",
            "$[?@.a,?@.b,1,'c',::2,*]",
            "$[?!(@.a)]",
            "$[?! match(@, 'a')]",
            "$[?((((@.a))))]",
            "$[?@ ['a'] [0] == 1]",
            "$[?length( @ )==length(\n'a'\n)]",
            "$[?count(@[ 0 ])==1]",
            "$.\u{80}\u{7ff}\u{ffff}\u{10ffff}",
            "$ \t\r\n.a",
        ] {
            parsed(query);
        }
    }

    #[test]
    fn invalid() {
        use DiagnosticKind::{
            InvalidNumber, MissingRoot, NotSingular, Range, Type, UnclosedString, UnexpectedEnd,
            UnexpectedToken, UnknownFunction, WhiteSpace,
        };
        for (query, kind, span) in [
            ("", UnexpectedEnd, ""),
            ("a", MissingRoot, "a"),
            ("@.a", MissingRoot, "@"),
            (" $", WhiteSpace, " "),
            ("$ ", WhiteSpace, " "),
            ("$.a\n\n", WhiteSpace, "\n\n"),
            ("$.", UnexpectedEnd, ""),
            ("$..", UnexpectedEnd, ""),
            ("$...a", UnexpectedToken, "."),
            ("$. a", WhiteSpace, " "),
            ("$.. [0]", WhiteSpace, " "),
            ("$.[0]", UnexpectedToken, "["),
            ("$.'a'", UnexpectedToken, "'"),
            ("$.a b", UnexpectedToken, "b"),
            ("$a", UnexpectedToken, "a"),
            ("$$", UnexpectedToken, "$"),
            ("$[", UnexpectedEnd, ""),
            ("$[]", UnexpectedToken, "]"),
            ("$[0", UnexpectedEnd, ""),
            ("$[0,]", UnexpectedToken, "]"),
            ("$[a]", UnexpectedToken, "a"),
            ("$['a]", UnclosedString, "'"),
            ("$[1:2:3:4]", UnexpectedToken, ":"),
            ("$[1.5]", InvalidNumber, "1.5"),
            ("$[9007199254740992]", Range, "9007199254740992"),
            ("$[::-9007199254740992]", Range, "-9007199254740992"),
            ("$[?]", UnexpectedToken, "]"),
            ("$[?", UnexpectedEnd, ""),
            ("$[?@.a", UnexpectedEnd, ""),
            ("$[?(@.a]", UnexpectedToken, "]"),
            ("$[?@.a)]", UnexpectedToken, ")"),
            ("$[?()]", UnexpectedToken, ")"),
            ("$[?!!@.a]", UnexpectedToken, "!"),
            ("$[?!@.a == 1]", UnexpectedToken, "=="),
            ("$[?(@.a) == 1]", UnexpectedToken, "=="),
            ("$[?@.a == (1)]", UnexpectedToken, "("),
            ("$[?1 < 2 < 3]", UnexpectedToken, "<"),
            ("$[?@.a = 1]", UnexpectedToken, "="),
            ("$[?@.a & @.b]", UnexpectedToken, "&"),
            ("$[?@.a &&]", UnexpectedToken, "]"),
            ("$[?@.a == ]", UnexpectedToken, "]"),
            ("$[?@.a == b]", UnexpectedToken, "b"),
            ("$[?@.a == truex]", UnexpectedToken, "truex"),
            ("$[?@.a == 1x]", UnexpectedToken, "x"),
            ("$[?@.a == 01]", InvalidNumber, "01"),
            ("$[?true]", Type, "true"),
            ("$[?'a' && @.b]", Type, "'a'"),
            ("$[?@.* == 1]", NotSingular, "@.*"),
            ("$[?1 == $..a]", NotSingular, "$..a"),
            ("$[?@[ 'a'] == 1]", WhiteSpace, " "),
            ("$[?@['a'\t] == 1]", WhiteSpace, "\t"),
            ("$[?length(@[ 0 ]) == 1]", WhiteSpace, " "),
            ("$[?length(@)]", Type, "length(@)"),
            ("$[?!count(@)]", Type, "count(@)"),
            ("$[?match(@, 'a') == true]", Type, "match(@, 'a')"),
            ("$[?length(@.*) == 1]", NotSingular, "@.*"),
            ("$[?length(match(@, 'a')) == 1]", Type, "match(@, 'a')"),
            ("$[?length((@)) == 1]", Type, "("),
            ("$[?length(!@) == 1]", Type, "!"),
            ("$[?length(@ == 1) == 1]", Type, "=="),
            ("$[?count(@.a && @.b) == 1]", Type, "&&"),
            ("$[?count(1) == 1]", Type, "1"),
            ("$[?count(value(@)) == 1]", Type, "value(@)"),
            ("$[?count() == 1]", Type, "count()"),
            ("$[?match(@)]", Type, "match(@)"),
            ("$[?search(@, 'a', 'b')]", Type, "search(@, 'a', 'b')"),
            ("$[?count (@) == 1]", WhiteSpace, " "),
            ("$[?count(@,) == 1]", UnexpectedToken, ")"),
            ("$[?count(,@) == 1]", UnexpectedToken, ","),
            ("$[?size(@) == 1]", UnknownFunction, "size"),
            ("$[?Length(@) == 1]", UnknownFunction, "Length"),
            ("$[?true(@)]", UnknownFunction, "true"),
        ] {
            let error = parse(query).expect_err(query);
            assert_eq!((error.kind, at(query, error.span)), (kind, span), "{query}: {error}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        for (open, inner, close) in [
            ("(", "@", ")"),
            ("!(", "@", ")"),
            ("@[?", "@", "]"),
            ("$..[0,?", "@", "]"),
            ("length(", "@", ")"),
            ("@.a && (", "@", ")"),
        ] {
            // The filter itself is the first level.
            let nested = |levels: usize| {
                let end = if open == "length(" { "==1" } else { "" };
                let n = levels - 1;
                format!("$[?{}{inner}{}{end}]", open.repeat(n), close.repeat(n))
            };
            let deepest = parsed(&nested(MAX_DEPTH));
            assert_eq!(parsed(&deepest.to_string()).to_string(), deepest.to_string());
            for levels in [MAX_DEPTH + 1, 100_000] {
                let error = parse(&nested(levels)).expect_err("too deep");
                assert_eq!(error.kind, DiagnosticKind::TooDeep, "{open}");
                assert!(error.render(&nested(levels)).lines().all(|line| line.chars().count() < 200));
            }
        }
        // Length is not depth.
        parsed(&format!("${}", ".a[0]..*".repeat(10_000)));
        parsed(&format!("$[?@{}]", " && !@.a || (1 == 1)".repeat(10_000)));
        parsed(&format!("$[0{}]", ", ?@.a".repeat(10_000)));
    }
}
