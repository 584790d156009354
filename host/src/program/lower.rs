//! From syntax trees to blocks of instructions.
//!
//! Paths are first merged into a tree of segments: a path that begins with the same segments as an
//! earlier one shares them. Each tree node becomes a block, in breadth-first order, so block 0 is the root's.

use std::collections::HashMap;
use std::ops::Range;

use warpath_shared::ir::{ABSENT, Instr, LiteralKind, MAX_FRAMES, MAX_PATHS, Op, Test};
use warpath_shared::query::document::MAX_GAP;
use warpath_shared::query::value::push_exponent_digit;
use warpath_shared::units::{Level, MAX_DEPTH};

use super::{Column, Program, Query};
use crate::columns::ColumnType;
use crate::error::{Error, QueryError};
use crate::jsonpath::{
    ComparableKind, Comparison, ComparisonOp, Literal, LiteralKind as AstLiteral, LogicalExpr,
    LogicalExprKind, PathError, QueryRoot, Segment, SegmentKind, Selector, SelectorKind, SingularQuery,
    SingularStepKind,
};

/// A point that paths reach by the same segments.
#[derive(Default)]
struct Trie<'a> {
    /// The paths that end here.
    ends: Vec<u32>,
    /// The segments that lead on. Their order is free: it decides nothing within a path.
    next: Vec<(&'a Segment, usize)>,
    /// How many frames wait, at most, while this point's block and what it enters are at work.
    waiting: usize,
}

pub(super) fn lower(queries: &[Query]) -> Result<Program, Error> {
    if queries.is_empty() || queries.len() > MAX_PATHS {
        return Err(Error::Usage(format!("a program has 1 to {MAX_PATHS} paths, not {}", queries.len())));
    }
    for query in queries {
        check(query).map_err(|error| Error::Unsupported(QueryError::new(query.text(), error)))?;
    }
    let trie = merge(queries);
    let mut lowering = Lowering::default();
    let starts = block_starts(&trie);
    for point in &trie {
        for path in &point.ends {
            lowering.emit(Op::Emit, *path, 0, 0, 0);
        }
        let first = lowering.instrs.len();
        for (segment, target) in &point.next {
            for selector in &segment.selectors {
                lowering.selector(selector, starts[*target]);
            }
        }
        let strings = point.next.iter().take_while(|(segment, _)| asks_for_a_string(segment)).count();
        lowering.join_filters(first..first + strings);
        lowering.emit(Op::Return, 0, 0, 0, 0);
    }
    let waiting = trie[0].waiting;
    if waiting > MAX_FRAMES {
        let query = &queries[queries.len() - 1];
        let what = format!("{waiting} branches within one another, in one path or several,");
        return Err(Error::Unsupported(QueryError::new(
            query.text(),
            PathError::unsupported(query.ast.span, what),
        )));
    }
    // Singular paths of filters follow the blocks; until now tests counted them from zero.
    let blocks = lowering.instrs.len() as u32;
    for test in &mut lowering.tests {
        test.path += blocks;
    }
    lowering.instrs.append(&mut lowering.filter_paths);
    let padded = lowering.literals.len().next_multiple_of(4);
    lowering.literals.resize(padded, 0);
    let column = |query: &Query| Column::new(query.text(), query.is_singular(), ColumnType::default());
    Ok(Program {
        instrs: lowering.instrs,
        tests: lowering.tests,
        literals: lowering.literals,
        paths: queries.len() as u32,
        levels: queries.iter().map(|query| levels(&query.ast.segments)).max().unwrap_or(0),
        singular: queries.iter().all(Query::is_singular),
        columns: queries.iter().map(column).collect(),
        queries: queries.into(),
    })
}

/// Refuses what the IR cannot say yet.
fn check(query: &Query) -> Result<(), PathError> {
    for segment in &query.ast.segments {
        if segment.kind == SegmentKind::Descendant {
            return Err(PathError::unsupported(segment.span, "descendant segments"));
        }
        for selector in &segment.selectors {
            if let SelectorKind::Filter(expr) = &selector.kind {
                test_of(expr)?;
            }
        }
    }
    // A record has no more levels, so such a path finds nothing; but it would cost a bitmap a level.
    if levels(&query.ast.segments) as usize > MAX_DEPTH {
        let what = format!("paths that look more than {MAX_DEPTH} levels deep");
        return Err(PathError::unsupported(query.ast.span, what));
    }
    Ok(())
}

/// Whether all that a segment selects is the children that equal a string.
fn asks_for_a_string(segment: &Segment) -> bool {
    let [Selector { kind: SelectorKind::Filter(expr), .. }] = segment.selectors.as_slice() else {
        return false;
    };
    test_of(expr)
        .is_ok_and(|(query, literal)| query.steps.is_empty() && matches!(literal.kind, AstLiteral::String(_)))
}

/// The one form of filter that there is: a singular path from the child equals a literal.
fn test_of(expr: &LogicalExpr) -> Result<(&SingularQuery, &Literal), PathError> {
    let comparison: &Comparison = match &expr.kind {
        LogicalExprKind::Comparison(comparison) => comparison,
        LogicalExprKind::Or(_) | LogicalExprKind::And(_) | LogicalExprKind::Not(_) => {
            return Err(PathError::unsupported(expr.span, "the operators `&&`, `||` and `!` in filters"));
        }
        LogicalExprKind::Exists(query) => {
            return Err(PathError::unsupported(query.span, "existence tests in filters"));
        }
        LogicalExprKind::Pattern(test) => {
            return Err(PathError::unsupported(test.span, "the functions `match` and `search`"));
        }
    };
    if comparison.op != ComparisonOp::Eq {
        let what = format!("filters with `{}`", comparison.op.as_str());
        return Err(PathError::unsupported(comparison.op_span, what));
    }
    let (left, right) = (&comparison.left, &comparison.right);
    for side in [left, right] {
        if let ComparableKind::Function(call) = &side.kind {
            return Err(PathError::unsupported(call.span, "functions in filters"));
        }
    }
    match (&left.kind, &right.kind) {
        (ComparableKind::Query(query), ComparableKind::Literal(literal))
        | (ComparableKind::Literal(literal), ComparableKind::Query(query)) => {
            if query.root == QueryRoot::Record {
                return Err(PathError::unsupported(query.span, "filters that ask the whole record (`$`)"));
            }
            Ok((query, literal))
        }
        _ => Err(PathError::unsupported(comparison.span, "comparisons other than of a path with a literal")),
    }
}

fn merge(queries: &[Query]) -> Vec<Trie<'_>> {
    let mut trie = vec![Trie::default()];
    // Segments that select the same nodes in the same order have the same canonical form, however they were written.
    let mut known: HashMap<(usize, String), usize> = HashMap::new();
    for (path, query) in queries.iter().enumerate() {
        let mut at = 0;
        for segment in &query.ast.segments {
            let new = trie.len();
            let target = *known.entry((at, segment.to_string())).or_insert(new);
            if target == new {
                trie[at].next.push((segment, new));
                trie.push(Trie::default());
            }
            at = target;
        }
        trie[at].ends.push(path as u32);
    }
    count_waiting(&mut trie);
    trie
}

/// Counts how many frames of [`warpath_shared::query::machine`] wait at once, at most, and orders each point's segments so
/// that it is few.
///
/// A frame waits below the block it entered unless it took one node and had nothing left to do: so the segment below which
/// most frames wait goes last. Filters that ask for strings, below which one always waits, come first, side by side, to be
/// asked together. Points lead only to points behind them, so one walk from the back counts them all.
fn count_waiting(trie: &mut [Trie<'_>]) {
    for at in (0..trie.len()).rev() {
        let mut next = std::mem::take(&mut trie[at].next);
        next.sort_by_key(|(segment, target)| (!asks_for_a_string(segment), trie[*target].waiting));
        let last = next.len().saturating_sub(1);
        let below = next.iter().enumerate().map(|(i, (segment, target))| {
            let replaces = i == last && segment.is_singular();
            trie[*target].waiting + !replaces as usize
        });
        trie[at].waiting = below.max().unwrap_or(0);
        trie[at].next = next;
    }
}

/// The instruction at which each point's block begins.
fn block_starts(trie: &[Trie<'_>]) -> Vec<u32> {
    let mut start = 0;
    trie.iter()
        .map(|point| {
            let selectors: usize = point.next.iter().map(|(segment, _)| segment.selectors.len()).sum();
            let this = start;
            start += (point.ends.len() + selectors + 1) as u32;
            this
        })
        .collect()
}

/// How many levels a path reads: one for each container that it looks into.
fn levels(segments: &[Segment]) -> Level {
    let mut levels = segments.len();
    for (depth, segment) in segments.iter().enumerate() {
        for selector in &segment.selectors {
            if let SelectorKind::Filter(expr) = &selector.kind
                && let Ok((query, _)) = test_of(expr)
            {
                levels = levels.max(depth + 1 + query.steps.len());
            }
        }
    }
    levels as Level
}

#[derive(Default)]
struct Lowering {
    instrs: Vec<Instr>,
    filter_paths: Vec<Instr>,
    tests: Vec<Test>,
    literals: Vec<u8>,
    /// Where each literal stands.
    known: HashMap<Vec<u8>, usize>,
    /// Where each name stands with quotes and a colon. These are read four bytes at a time.
    quoted: HashMap<Vec<u8>, usize>,
}

impl Lowering {
    fn emit(&mut self, op: Op, target: u32, a: i64, b: i64, c: i64) {
        self.instrs.push(Instr { op: op as u32, target, a, b, c });
    }

    /// Where some bytes stand among the literals; each is stored once.
    fn literal(&mut self, bytes: &[u8]) -> (i64, i64) {
        let end = self.literals.len();
        let offset = *self.known.entry(bytes.to_vec()).or_insert(end);
        if offset == end {
            self.literals.extend_from_slice(bytes);
        }
        (offset as i64, bytes.len() as i64)
    }

    /// Where a string stands among the literals with quotes and what is `behind` it, and how long that is; 0 if it cannot be
    /// written without an escape.
    fn quoted(&mut self, string: &[u8], behind: &[u8]) -> (u32, u32) {
        if string.iter().any(|byte| matches!(byte, b'"' | b'\\')) {
            return (0, 0);
        }
        let quoted = [b"\"", string, b"\"", behind].concat();
        let len = quoted.len() as u32;
        let aligned = self.literals.len().next_multiple_of(4);
        let offset = *self.quoted.entry(quoted).or_insert_with_key(|quoted| {
            self.literals.resize(aligned, 0);
            self.literals.extend_from_slice(quoted);
            aligned
        });
        (offset as u32, len)
    }

    /// What [`Op::Name`] says of a name: `a`, `b` and `c`.
    fn name(&mut self, name: &[u8]) -> (i64, i64, i64) {
        let (offset, len) = self.literal(name);
        let (quoted, quoted_len) = self.quoted(name, b":");
        (offset, len, (quoted_len as i64) << 32 | quoted as i64)
    }

    /// Joins some filters, each of which asks for a string, where they can be: says of each how many may be asked at once. Their
    /// strings differ, so a child is found by one of them at most. They are of different segments, so no path has two of them, and
    /// no path's matches come in another order.
    fn join_filters(&mut self, filters: Range<usize>) {
        let Self { instrs, tests, .. } = self;
        let filters = &mut instrs[filters];
        for i in (0..filters.len().saturating_sub(1)).rev() {
            let joined = filters[i + 1].b;
            let (these, test) = (&filters[i + 1..=i + joined as usize], &tests[filters[i].a as usize]);
            let joins = |other: &Instr| {
                let asked = &tests[other.a as usize];
                asked.gaps != 0 && (asked.offset, asked.len) != (test.offset, test.len)
            };
            if test.gaps != 0 && these.iter().all(joins) {
                filters[i].b = joined + 1;
            }
        }
    }

    fn selector(&mut self, selector: &Selector, target: u32) {
        match &selector.kind {
            SelectorKind::Name(name) => {
                let (a, b, c) = self.name(name.as_bytes());
                self.emit(Op::Name, target, a, b, c);
            }
            SelectorKind::Wildcard => self.emit(Op::Wildcard, target, 0, 0, 0),
            SelectorKind::Index(index) => self.emit(Op::Index, target, *index, 0, 0),
            SelectorKind::Slice { start, end, step } => {
                self.emit(
                    Op::Slice,
                    target,
                    start.unwrap_or(ABSENT),
                    end.unwrap_or(ABSENT),
                    step.unwrap_or(1),
                );
            }
            SelectorKind::Filter(expr) => {
                if let Ok((query, literal)) = test_of(expr) {
                    let test = self.test(query, literal);
                    self.emit(Op::Filter, target, test, 1, 0);
                }
            }
        }
    }

    fn test(&mut self, query: &SingularQuery, literal: &Literal) -> i64 {
        let path = self.filter_paths.len() as u32;
        for step in &query.steps {
            let (op, a, b, c) = match &step.kind {
                SingularStepKind::Name(name) => {
                    let (a, b, c) = self.name(name.as_bytes());
                    (Op::Name, a, b, c)
                }
                SingularStepKind::Index(index) => (Op::Index, *index, 0, 0),
            };
            self.filter_paths.push(Instr { op: op as u32, target: 0, a, b, c });
        }
        self.filter_paths.push(Instr { op: Op::Return as u32, ..Instr::default() });
        let mut test = Test { path, ..Test::default() };
        let kind = match &literal.kind {
            AstLiteral::Null => LiteralKind::Null,
            AstLiteral::Bool(false) => LiteralKind::False,
            AstLiteral::Bool(true) => LiteralKind::True,
            AstLiteral::Number(text) => {
                let number = Decimal::of(text);
                let (offset, len) = self.literal(&number.digits);
                (test.offset, test.len) = (offset as u32, len as u32);
                (test.negative, test.exponent) = (number.negative as u32, number.exponent);
                LiteralKind::Number
            }
            AstLiteral::String(text) => {
                let (offset, len) = self.literal(text.as_bytes());
                (test.offset, test.len) = (offset as u32, len as u32);
                test.gaps = if query.steps.is_empty() { gaps_of(text) } else { 0 };
                (test.raw, test.raw_len) = self.quoted(text.as_bytes(), b"");
                LiteralKind::String
            }
        };
        test.kind = kind as u32;
        self.tests.push(test);
        self.tests.len() as i64 - 1
    }
}

/// How far apart two separators may be with a string between them, by all ways to spell it: bit *g* for *g* bytes. 0 if some
/// way is too long.
fn gaps_of(text: &str) -> u64 {
    // With both quotes, and to the next separator.
    let mut gaps = 1u128 << 3;
    for c in text.chars() {
        let short = matches!(c, '"' | '\\' | '/' | '\x08' | '\x0c' | '\n' | '\r' | '\t');
        let raw = gaps << c.len_utf8();
        let escaped = gaps << (6 * c.len_utf16()) | if short { gaps << 2 } else { 0 };
        gaps = raw | escaped;
        if gaps >> (MAX_GAP + 1) != 0 {
            return 0;
        }
    }
    gaps as u64
}

/// A decimal number: ±0.*digits* × 10^*exponent*, with no zero at either end of the digits.
#[derive(Debug, PartialEq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// The value of a JSON number. Exponents saturate as they do in the text.
    fn of(text: &str) -> Self {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        let magnitude = exponent.trim_start_matches(['+', '-']);
        let magnitude = magnitude.bytes().fold(0, |e, digit| push_exponent_digit(e, digit - b'0'));
        let written = if exponent.starts_with('-') { -magnitude } else { magnitude };
        let exponent = written + whole.len() as i64 - leading as i64;
        Self { negative, digits, exponent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_may_be_spelt_in_several_lengths() {
        assert_eq!(gaps_of(""), 1 << 3);
        assert_eq!(gaps_of("nl"), 1 << 5 | 1 << 10 | 1 << 15);
        assert_eq!(gaps_of("/"), 1 << 4 | 1 << 5 | 1 << 9);
        assert_eq!(gaps_of("é"), 1 << 5 | 1 << 9);
        assert_eq!(gaps_of("🙂"), 1 << 7 | 1 << 15);
        assert_ne!(gaps_of("123456789"), 0);
        assert_eq!(gaps_of("1234567890"), 0);
    }

    #[test]
    fn decimals() {
        let decimal =
            |negative, digits: &str, exponent| Decimal { negative, digits: digits.into(), exponent };
        assert_eq!(Decimal::of("1"), decimal(false, "1", 1));
        assert_eq!(Decimal::of("10e-1"), decimal(false, "1", 1));
        assert_eq!(Decimal::of("-0.0250"), decimal(true, "25", -1));
        assert_eq!(Decimal::of("123.45E+2"), decimal(false, "12345", 5));
        assert_eq!(Decimal::of("-0"), decimal(false, "", 0));
        assert_eq!(Decimal::of("0e999999999999999999999"), decimal(false, "", 0));
    }
}
