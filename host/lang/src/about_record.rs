//! Queries that filter the children of a value, where a condition on the record was probably meant.
//!
//! `$[?@.level == "error"]` selects the children of a record that have a member `level`. Records seldom have
//! such children. If no record has one, the query was probably meant to select the records whose own `level`
//! is "error".

use crate::jsonpath::ast::Quoted;
use crate::jsonpath::{
    Comparable, ComparableKind, FilterQuery, FunctionKind, LogicalExpr, LogicalExprKind, QueryRoot, Segment,
    SegmentKind, Selector, SelectorKind, SingularQuery, SingularStepKind,
};
use crate::program::{Program, Query};
use warpath_core::diagnostic::Span;
use warpath_core::error::Error;

/// A query whose first filter tests members of a value's children by names.
#[derive(Clone, Debug, PartialEq)]
pub struct AboutRecord {
    /// The names of the members that the filter tests, each once.
    pub names: Vec<String>,
    /// The value whose children are tested, as written: `$`, or a path of names and indexes.
    pub value: String,
    /// The filter's expression as a predicate about that value: `$.level == "error"`.
    pub predicate: String,
    /// The query without the filter: `$.message` for `$[?@.level == "error"].message`.
    pub path: String,
    /// A program of two kinds of paths. Path 0 finds the children that have a tested member. The other paths
    /// find the tested members of the value itself, one path for each name.
    pub program: Program,
}

impl AboutRecord {
    /// Returns the parts of a query that has such a filter; `None` for any other query.
    ///
    /// # Errors
    /// As for [`Program::new`].
    pub fn of(query: &Query) -> Result<Option<Self>, Error> {
        let segments = &query.ast().segments;
        let Some(at) = segments.iter().position(|segment| !segment.is_singular()) else { return Ok(None) };
        let Some(filter) = filter_of(&segments[at]) else { return Ok(None) };
        let mut found = Tested::default();
        if !found.of_expr(filter) || found.names.is_empty() {
            return Ok(None);
        }
        let text = query.text();
        let value = text[..segments[at].span.start].trim_end();
        let mut predicate = text[filter.span.start..filter.span.end].to_owned();
        found.roots.sort_unstable();
        for root in found.roots.iter().rev() {
            let root = root - filter.span.start;
            predicate.replace_range(root..root + 1, value);
        }
        let member = |root: &str, name: &str| format!("{root}[{}]", Quoted(name));
        let tests: Vec<String> = found.names.iter().map(|name| member("@", name)).collect();
        let mut queries = vec![Query::compile(&format!("{value}[?{}]", tests.join(" || ")))?];
        for name in &found.names {
            queries.push(Query::compile(&member(value, name))?);
        }
        Ok(Some(Self {
            program: Program::new(&queries)?,
            names: found.names,
            value: value.to_owned(),
            predicate,
            path: [value, &text[segments[at].span.end..]].concat(),
        }))
    }
}

/// Returns the expression of a segment that consists of one filter of children.
fn filter_of(segment: &Segment) -> Option<&LogicalExpr> {
    match segment.selectors.as_slice() {
        [Selector { kind: SelectorKind::Filter(expr), .. }] if segment.kind == SegmentKind::Child => {
            Some(expr)
        }
        _ => None,
    }
}

/// The members of children that an expression tests.
#[derive(Default)]
struct Tested {
    names: Vec<String>,
    /// The offset of each `@` that is the tested child.
    roots: Vec<usize>,
}

impl Tested {
    /// Adds the members that an expression tests. Returns false if it tests children in another way than by
    /// the names of their members.
    fn of_expr(&mut self, expr: &LogicalExpr) -> bool {
        match &expr.kind {
            LogicalExprKind::Or(exprs) | LogicalExprKind::And(exprs) => {
                exprs.iter().all(|expr| self.of_expr(expr))
            }
            LogicalExprKind::Not(expr) => self.of_expr(expr),
            LogicalExprKind::Comparison(test) => self.of_value(&test.left) && self.of_value(&test.right),
            LogicalExprKind::Exists(query) => self.of_query(query),
            LogicalExprKind::Pattern(test) => self.of_value(&test.subject) && self.of_value(&test.pattern),
            LogicalExprKind::Value(test) => self.of_value(&test.subject),
        }
    }

    fn of_value(&mut self, value: &Comparable) -> bool {
        match &value.kind {
            ComparableKind::Literal(_) | ComparableKind::Column(_) => true,
            ComparableKind::Query(query) => self.of_singular(query),
            ComparableKind::Function(call) => match &call.kind {
                FunctionKind::Length(value) => self.of_value(value),
                FunctionKind::Count(query) | FunctionKind::Value(query) => self.of_query(query),
                FunctionKind::Time(call) => self.of_singular(&call.path),
            },
        }
    }

    fn of_singular(&mut self, query: &SingularQuery) -> bool {
        match query.steps.first().map(|step| &step.kind) {
            _ if query.root == QueryRoot::Record => true,
            Some(SingularStepKind::Name(name)) => self.add(name, query.span),
            _ => false,
        }
    }

    fn of_query(&mut self, query: &FilterQuery) -> bool {
        let first = query.segments.first().filter(|first| first.is_singular());
        match first.map(|first| &first.selectors[0].kind) {
            _ if query.root == QueryRoot::Record => true,
            Some(SelectorKind::Name(name)) => self.add(name, query.span),
            _ => false,
        }
    }

    fn add(&mut self, name: &str, span: Span) -> bool {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
        self.roots.push(span.start);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::Predicate;

    fn of(path: &str) -> Option<(String, String, Vec<String>)> {
        let about = AboutRecord::of(&Query::compile(path).unwrap()).unwrap()?;
        Predicate::parse(&about.predicate).expect(path);
        Query::compile(&about.path).expect(path);
        Some((about.path, about.predicate, about.names))
    }

    #[test]
    fn filters_of_children_by_names() {
        for (path, rest, predicate, names) in [
            ("$[?@.level == \"error\"]", "$", "$.level == \"error\"", &["level"][..]),
            ("$[?@.a == 1].msg", "$.msg", "$.a == 1", &["a"]),
            ("$.user[?@.a]['x']", "$.user['x']", "$.user.a", &["a"]),
            (
                "$ [? 'x' == @ .a && !(@['b'] || @.a > @.c.d)]",
                "$",
                "'x' == $ .a && !($['b'] || $.a > $.c.d)",
                &["a", "b", "c"],
            ),
            (
                "$[?length(@.a) > 2 && count(@.b[?@.c]) == 1]",
                "$",
                "length($.a) > 2 && count($.b[?@.c]) == 1",
                &["a", "b"],
            ),
            ("$[?match(@.a, 'x.*') && $.b]", "$", "match($.a, 'x.*') && $.b", &["a"]),
        ] {
            let names = names.iter().map(ToString::to_string).collect();
            assert_eq!(of(path), Some((rest.to_owned(), predicate.to_owned(), names)), "{path}");
        }
    }

    #[test]
    fn other_queries_are_left_alone() {
        for path in [
            "$.a",
            "$[*]",
            "$[?@ == 1]",
            "$[?@[0] == 1]",
            "$[?$.a == 1]",
            "$..[?@.a]",
            "$[?@.a, 0]",
            "$[*][?@.a]",
            "$[?@..a]",
            "$[?@.*]",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
