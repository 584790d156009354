//! The conversion of filters' expressions to tests.
//!
//! An expression is converted from its end: the tests that follow a test exist before that test.

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind};
use warpath_shared::ir::{FAIL, Instr, Op, PASS, Test, TestKind, relation};
use warpath_shared::units::MAX_DEPTH;

use super::literals::gaps_of;
use super::with_literal::{WithLiteral, relation_of};
use super::{Lowering, instr, sets};
use crate::instants::Range;
use crate::jsonpath::words::{member_path, quote};
use crate::jsonpath::{
    ColumnName, Comparable, ComparableKind, Comparison, ComparisonOp, FilterQuery, FunctionKind, Literal,
    LiteralKind, LogicalExpr, LogicalExprKind, PatternKind, PatternTest, QueryRoot, Segment, Selector,
    SelectorKind, SingularQuery, SingularStep, SingularStepKind, StringTest, StringTestKind, TimeCall,
    TimeFormat,
};

/// A comparison of an instant with a literal, the instant on the left.
struct TimeTest<'a> {
    call: &'a TimeCall,
    op: ComparisonOp,
    literal: &'a Literal,
}

impl<'a> TimeTest<'a> {
    fn of(comparison: &'a Comparison) -> Option<Self> {
        let Comparison { left, op, right, .. } = comparison;
        let (call, op, literal) = match (&left.kind, &right.kind) {
            (ComparableKind::Function(call), ComparableKind::Literal(literal)) => (call, *op, literal),
            (ComparableKind::Literal(literal), ComparableKind::Function(call)) => {
                (call, op.flipped(), literal)
            }
            _ => return None,
        };
        match &call.kind {
            FunctionKind::Time(call) => Some(Self { call, op, literal }),
            _ => None,
        }
    }
}

/// Returns the error for a literal that is not an instant.
fn not_an_instant(literal: &Literal, format: Option<&TimeFormat>) -> Diagnostic {
    let own = format.map(|format| format!(", or of the format `{}`", format.text())).unwrap_or_default();
    let message = format!("expected a date, or an instant of RFC 3339{own}, found {literal}");
    let relative = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.starts_with(['-', '+'])
            || ["now", "today", "yesterday", "tomorrow", "ago"].iter().any(|word| text.contains(word))
    };
    let help = match &literal.kind {
        LiteralKind::String(text) if relative(text) => {
            "an instant relative to the start of the program has no quotes: `now() - 1h`, `now() - 1d`"
        }
        _ => "such as \"2026-01-31\", \"2026-01-31T23:59+01:00\" or `now() - 1h`",
    };
    Diagnostic::new(DiagnosticKind::Argument, literal.span, message).with_help(help)
}

/// Returns the string of a filter that only compares the child itself with a string.
fn string_asked_for(expr: &LogicalExpr) -> Option<&str> {
    let LogicalExprKind::Comparison(comparison) = &expr.kind else { return None };
    let WithLiteral { path, relation, literal } = WithLiteral::of(comparison)?;
    match &literal.kind {
        LiteralKind::String(text)
            if relation == relation::EQUAL && path.steps.is_empty() && path.root == QueryRoot::Current =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// Returns true if a segment selects exactly the children that equal a string.
pub(super) fn asks_for_a_string(segment: &Segment) -> bool {
    match segment.selectors.as_slice() {
        [Selector { kind: SelectorKind::Filter(expr), .. }] => {
            segment.kind == crate::jsonpath::SegmentKind::Child && string_asked_for(expr).is_some()
        }
        _ => false,
    }
}

/// Returns the number of levels that an expression reads for nodes at `depth`; `None` where bitmaps do not
/// suffice.
pub(super) fn levels(expr: &LogicalExpr, depth: usize) -> Option<usize> {
    let path = |root: QueryRoot, steps: usize| match root {
        QueryRoot::Current => depth + steps,
        QueryRoot::Record => steps,
    };
    let comparable = |operand: &Comparable| match &operand.kind {
        ComparableKind::Query(query) => Some(path(query.root, query.steps.len())),
        _ => None,
    };
    match &expr.kind {
        LogicalExprKind::Or(exprs) | LogicalExprKind::And(exprs) => {
            exprs.iter().try_fold(0, |most, expr| Some(most.max(levels(expr, depth)?)))
        }
        LogicalExprKind::Not(expr) => levels(expr, depth),
        LogicalExprKind::Comparison(comparison) => {
            let WithLiteral { path: query, .. } = WithLiteral::of(comparison)?;
            Some(path(query.root, query.steps.len()))
        }
        LogicalExprKind::Exists(query) => query.is_singular().then(|| path(query.root, query.segments.len())),
        LogicalExprKind::Pattern(test) => match &test.pattern.kind {
            ComparableKind::Literal(_) => comparable(&test.subject),
            _ => None,
        },
        LogicalExprKind::String(test) => match test.kind {
            StringTestKind::Text(_) => comparable(&test.subject),
            StringTestKind::Cidr { .. } => None,
        },
        LogicalExprKind::Value(test) => levels(&test.in_rfc_9535(), depth),
    }
}

impl Lowering {
    /// Adds the tests of a filter's expression. Returns the first test.
    pub(super) fn filter(&mut self, expr: &LogicalExpr) -> Result<u32, Diagnostic> {
        let first = self.expression(expr, PASS, FAIL)?;
        if first < FAIL {
            return Ok(first);
        }
        // The result is known already, because a pattern is invalid. This test checks that the child exists,
        // which is always true.
        let test = Test { path: self.steps([]), then: first, otherwise: first, ..Test::default() };
        Ok(self.test(TestKind::Exists as u32, test))
    }

    /// Notes the gaps of the string that a filter of children asks for. A filter of the node itself has none,
    /// because a search among children would not end there.
    pub(super) fn note_gaps(&mut self, expr: &LogicalExpr, first: usize) {
        if let Some(text) = string_asked_for(expr) {
            self.tests[first].gaps = gaps_of(text);
        }
    }

    /// Adds the tests of an expression and returns the first. The next test is `then` if the expression is
    /// true, and `otherwise` if not.
    fn expression(&mut self, expr: &LogicalExpr, then: u32, otherwise: u32) -> Result<u32, Diagnostic> {
        match &expr.kind {
            LogicalExprKind::Or(exprs) => self.any(exprs, then, otherwise),
            LogicalExprKind::And(exprs) => {
                exprs.iter().rev().try_fold(then, |rest, expr| self.expression(expr, rest, otherwise))
            }
            LogicalExprKind::Not(expr) => self.expression(expr, otherwise, then),
            LogicalExprKind::Comparison(comparison) => self.comparison(comparison, then, otherwise),
            LogicalExprKind::Exists(query) => self.exists(query, then, otherwise),
            LogicalExprKind::Pattern(test) => self.pattern(test, then, otherwise),
            LogicalExprKind::String(test) => self.string(test, then, otherwise),
            LogicalExprKind::Value(test) => self.expression(&test.in_rfc_9535(), then, otherwise),
        }
    }

    fn test(&mut self, kind: u32, test: Test) -> u32 {
        self.tests.push(Test { kind, ..test });
        self.tests.len() as u32 - 1
    }

    /// Adds a test that always passes, before `next`.
    fn before(&mut self, kind: TestKind, next: u32, test: Test) -> u32 {
        self.test(kind as u32, Test { then: next, otherwise: next, ..test })
    }

    /// Adds a singular path, of names and indexes.
    fn steps(&mut self, steps: impl IntoIterator<Item = Instr>) -> u32 {
        let start = self.paths.len() as u32;
        self.paths.extend(steps);
        self.paths.push(instr(Op::Return, 0));
        start
    }

    fn step(&mut self, step: &SingularStep) -> Instr {
        match &step.kind {
            SingularStepKind::Name(name) => self.literals.name(name, 0),
            SingularStepKind::Index(index) => Instr { a: *index, ..instr(Op::Index, 0) },
        }
    }

    fn singular(&mut self, query: &SingularQuery) -> Result<Test, Diagnostic> {
        if query.steps.len() > MAX_DEPTH {
            let message = format!("{} segments: records nest {MAX_DEPTH} deep at most", query.steps.len());
            return Err(Diagnostic::too_large(query.span, message));
        }
        let steps: Vec<Instr> = query.steps.iter().map(|step| self.step(step)).collect();
        Ok(Test { path: self.steps(steps), from_root: from_root(query.root), ..Test::default() })
    }

    /// Adds the tests of a comparison of an instant with a literal.
    fn time(&mut self, test: &TimeTest<'_>, then: u32, otherwise: u32) -> Result<u32, Diagnostic> {
        let TimeTest { call: TimeCall { path, format }, op, literal } = test;
        let format = format.as_ref();
        let Some(range) = Range::of(*op, literal, format) else {
            return Err(not_an_instant(literal, format));
        };
        let (then, otherwise) = if *op == ComparisonOp::Ne { (otherwise, then) } else { (then, otherwise) };
        let of_numbers = match range.of_numbers(path, format) {
            Some(expr) => self.expression(&expr, then, otherwise)?,
            None => otherwise,
        };
        let literal = self.host_tests.range(range, format);
        let on_host = self.on_host(&literal, then, of_numbers);
        let subject = self.singular(path)?;
        Ok(self.before(TestKind::LoadPath, on_host, subject))
    }

    /// Adds the tests by which the host tests the string in the first slot. The string is loaded as the
    /// subject of a pattern is, and the literal is the pattern.
    fn on_host(&mut self, literal: &[u8], then: u32, otherwise: u32) -> u32 {
        self.patterns_at_run = true;
        let at_run = Test { path: self.steps([]), then, otherwise, ..Test::default() };
        let at_run = self.test(TestKind::PatternAtRun as u32, at_run);
        let (offset, len) = self.literals.bytes(literal);
        let raw = warpath_shared::ir::LiteralKind::String as u32;
        let literal = Test { path: self.steps([]), slot: 1, offset, len, raw, ..Test::default() };
        self.before(TestKind::LoadLiteral, at_run, literal)
    }

    fn comparison(&mut self, comparison: &Comparison, then: u32, otherwise: u32) -> Result<u32, Diagnostic> {
        if let Some(test) = TimeTest::of(comparison) {
            return self.time(&test, then, otherwise);
        }
        if let Some(WithLiteral { path, relation, literal }) = WithLiteral::of(comparison) {
            let test = Test { relation, then, otherwise, ..self.singular(path)? };
            return Ok(self.with_literal(literal, test));
        }
        let relation = relation_of(comparison.op);
        let compare = Test { path: self.steps([]), relation, then, otherwise, ..Test::default() };
        let compare = self.test(TestKind::Compare as u32, compare);
        let right = self.operand(&comparison.right, 1, compare)?;
        self.operand(&comparison.left, 0, right)
    }

    /// Adds the comparison of a value with a literal.
    fn with_literal(&mut self, literal: &Literal, mut test: Test) -> u32 {
        let kind = self.literals.of_test(literal, &mut test);
        if let LiteralKind::String(text) = &literal.kind {
            self.literals.quote(text, &mut test);
        }
        self.test(kind as u32, test)
    }

    /// Adds the tests of expressions of which one suffices. Values that one path may equal become a set.
    fn any(&mut self, exprs: &[LogicalExpr], then: u32, otherwise: u32) -> Result<u32, Diagnostic> {
        let (sets, others) = sets::of(exprs);
        let mut rest = otherwise;
        for set in sets.into_iter().rev() {
            let of = Test { then, ..self.singular(set.path)? };
            for values in set.values() {
                rest = self.one_of(of, &values, rest);
            }
        }
        others.into_iter().rev().try_fold(rest, |rest, expr| self.expression(expr, then, rest))
    }

    /// Adds the tests that search a value among values of one kind, which ascend: a tree of comparisons, with
    /// few values at each leaf. The next test is `of.then` if it is there, else `otherwise`.
    fn one_of(&mut self, of: Test, values: &[&Literal], otherwise: u32) -> u32 {
        if values.len() <= sets::LEAF {
            return values.iter().rev().fold(otherwise, |otherwise, value| {
                self.with_literal(value, Test { relation: relation::EQUAL, otherwise, ..of })
            });
        }
        let (less, rest) = values.split_at(values.len() / 2);
        let not_less = self.one_of(of, rest, otherwise);
        let then = self.one_of(of, less, otherwise);
        let less = Test { relation: relation::LESS, then, otherwise: not_less, ..of };
        self.with_literal(rest[0], less)
    }

    /// Adds the tests that load an operand, before `next`.
    fn operand(&mut self, operand: &Comparable, slot: u32, next: u32) -> Result<u32, Diagnostic> {
        let mut test = Test { slot, ..Test::default() };
        Ok(match &operand.kind {
            ComparableKind::Literal(literal) => {
                test.path = self.steps([]);
                test.raw = self.literals.of_test(literal, &mut test) as u32;
                self.before(TestKind::LoadLiteral, next, test)
            }
            ComparableKind::Query(query) => {
                let test = Test { slot, ..self.singular(query)? };
                self.before(TestKind::LoadPath, next, test)
            }
            ComparableKind::Function(call) => match &call.kind {
                FunctionKind::Length(of) => {
                    test.path = self.steps([]);
                    let length = self.before(TestKind::Length, next, test);
                    self.operand(of, slot, length)?
                }
                FunctionKind::Count(query) => self.run(TestKind::Count, query, slot, next, next)?,
                FunctionKind::Value(query) => self.run(TestKind::Value, query, slot, next, next)?,
                FunctionKind::Time(_) => {
                    let message = "`time` is compared with a constant";
                    return Err(Diagnostic::new(DiagnosticKind::Argument, call.span, message));
                }
            },
            ComparableKind::Column(column) => return Err(not_in_text(column)),
        })
    }

    /// Adds the test that runs a query within a filter.
    fn run(
        &mut self,
        kind: TestKind,
        query: &FilterQuery,
        slot: u32,
        then: u32,
        otherwise: u32,
    ) -> Result<u32, Diagnostic> {
        let path = self.query(&query.segments)?;
        let test = Test { path, slot, then, otherwise, from_root: from_root(query.root), ..Test::default() };
        Ok(self.test(kind as u32, test))
    }

    fn exists(&mut self, query: &FilterQuery, then: u32, otherwise: u32) -> Result<u32, Diagnostic> {
        if !query.is_singular() {
            return self.run(TestKind::ExistsAny, query, 0, then, otherwise);
        }
        super::check_length(&query.segments)?;
        let mut steps = Vec::new();
        for selector in query.segments.iter().flat_map(|segment| &segment.selectors) {
            steps.push(self.selector(selector, 0)?);
        }
        let test = Test {
            path: self.steps(steps),
            from_root: from_root(query.root),
            then,
            otherwise,
            ..Test::default()
        };
        Ok(self.test(TestKind::Exists as u32, test))
    }

    fn pattern(&mut self, test: &PatternTest, then: u32, otherwise: u32) -> Result<u32, Diagnostic> {
        let ComparableKind::Literal(pattern) = &test.pattern.kind else {
            self.patterns_at_run = true;
            let part = (test.kind == PatternKind::Search) as u32;
            let at_run = Test { path: self.steps([]), negative: part, then, otherwise, ..Test::default() };
            let at_run = self.test(TestKind::PatternAtRun as u32, at_run);
            let pattern = self.operand(&test.pattern, 1, at_run)?;
            return self.operand(&test.subject, 0, pattern);
        };
        // A literal that is not a string is not a pattern.
        let LiteralKind::String(text) = &pattern.kind else { return Ok(otherwise) };
        let automaton = self
            .literals
            .pattern(test, text)
            .map_err(|error| Diagnostic::too_large(pattern.span, format!("pattern is too large: {error}")))?;
        let Some(offset) = automaton else { return Ok(otherwise) };
        self.accepted(&test.subject, offset, then, otherwise)
    }

    fn string(&mut self, test: &StringTest, then: u32, otherwise: u32) -> Result<u32, Diagnostic> {
        let text = match &test.kind {
            StringTestKind::Cidr { blocks, .. } => {
                let literal = self.host_tests.blocks(blocks.clone());
                let on_host = self.on_host(&literal, then, otherwise);
                return self.operand(&test.subject, 0, on_host);
            }
            StringTestKind::Text(text) => text,
        };
        // The parser accepts nothing but a string here.
        let LiteralKind::String(written) = &text.literal.kind else { return Ok(otherwise) };
        let automaton = self.literals.text(text, written).map_err(|error| {
            let message = format!("the text of `{}` is too large: {error}", text.name());
            Diagnostic::too_large(text.literal.span, message)
        })?;
        let Some(offset) = automaton else { return Ok(otherwise) };
        self.accepted(&test.subject, offset, then, otherwise)
    }

    /// Adds the tests for a subject that an automaton accepts.
    fn accepted(
        &mut self,
        subject: &Comparable,
        offset: u32,
        then: u32,
        otherwise: u32,
    ) -> Result<u32, Diagnostic> {
        if let ComparableKind::Query(query) = &subject.kind {
            let asked = Test { offset, then, otherwise, ..self.singular(query)? };
            return Ok(self.test(TestKind::Pattern as u32, asked));
        }
        let asked = Test { path: self.steps([]), offset, then, otherwise, ..Test::default() };
        let asked = self.test(TestKind::PatternOf as u32, asked);
        self.operand(subject, 0, asked)
    }
}

fn from_root(root: QueryRoot) -> u32 {
    (root == QueryRoot::Record) as u32
}

/// Returns the error for a column where there is no index that has it.
fn not_in_text(column: &ColumnName) -> Diagnostic {
    let name = &column.name;
    let message = format!("there is no column {}: there is no index", quote(name));
    let help = match member_path(name) {
        Some(path) => format!("a member of the record is a path: `{path}`"),
        None => "a member of the record is a path, which begins with `$`".to_owned(),
    };
    Diagnostic::new(DiagnosticKind::UnknownColumn, column.span, message).with_help(help)
}
