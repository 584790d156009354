//! The members of records that a program can reach.

use warpath_core::projection::{Projection, Step};

use super::{Program, Query};
use crate::jsonpath::visit::{PathSteps, Subexpression, visit};
use crate::jsonpath::{
    LogicalExpr, QueryRoot, Segment, SegmentKind, Selector, SelectorKind, SingularStepKind,
};

/// Steps of a path that are followed at most. Parts of a store have no more columns below each other.
const MOST_STEPS: usize = 64;
/// Paths with one selector for each segment, as many as a path with several selectors may stand for.
const MOST_PATHS: usize = 256;

impl Program {
    /// The values of a record that the paths, their conditions and the predicate can reach.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn projection(&self) -> Projection {
        self.reached(|_| true)
    }

    /// The values of a record that decide which records there are, and how many values each path selects.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn projection_of_counts(&self) -> Projection {
        // `$` selects a record, whatever is in it.
        self.reached(|query| !query.ast().segments.is_empty())
    }

    /// The values that the conditions, the predicate, and some of the paths can reach.
    fn reached(&self, is_wanted: impl Fn(&Query) -> bool) -> Projection {
        let mut all = Projection::NONE;
        for query in self.queries() {
            if is_wanted(query) {
                reach(&mut all, &query.ast().segments);
            }
            if let Some(condition) = query.condition() {
                // `@` is a match, of which everything is reached.
                reach(&mut all, &query.ast().segments);
                reach_of_expr(&mut all, condition.expr());
            }
        }
        if let Some(predicate) = self.predicate() {
            reach_of_expr(&mut all, predicate.expr());
        }
        all
    }

    /// The paths as steps, if the number of values that each selects depends on names alone: names, wildcards
    /// and descendants with a name, without predicate and conditions.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn counted_paths(&self) -> Option<Vec<Vec<Step>>> {
        if self.predicate().is_some() {
            return None;
        }
        let counted = |segment: &Segment| {
            let [selector] = segment.selectors.as_slice() else { return None };
            step(segment.kind, selector).filter(|step| *step != Step::Element)
        };
        let paths = self.queries().iter().map(|query| match query.condition() {
            None => query.ast().segments.iter().map(counted).collect(),
            Some(_) => None,
        });
        paths.collect()
    }
}

impl Query {
    /// The names of the path, if it has nothing else: each record has one value of it at most. The path of
    /// the record itself has none.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn names(&self) -> Option<Vec<Vec<u8>>> {
        let name = |segment: &Segment| match segment.selectors.as_slice() {
            [selector] => match step(segment.kind, selector)? {
                Step::Name(name) => Some(name),
                _ => None,
            },
            _ => None,
        };
        if self.condition().is_some() {
            return None;
        }
        self.ast().segments.iter().map(name).collect()
    }
}

/// Adds the paths of an expression that begin at the record.
fn reach_of_expr(all: &mut Projection, expr: &LogicalExpr) {
    visit(expr, &mut |part| {
        let Subexpression::Path { root: QueryRoot::Record, steps, .. } = part else { return };
        match steps {
            PathSteps::Segments(segments) => reach(all, segments),
            PathSteps::Singular(steps) => {
                let steps = steps.iter().take(MOST_STEPS).map(|step| match &step.kind {
                    SingularStepKind::Name(name) => Step::Name(name.as_bytes().to_vec()),
                    SingularStepKind::Index(_) => Step::Element,
                });
                all.reach(&steps.collect::<Vec<_>>());
            }
        }
    });
}

/// Adds what a path reaches.
fn reach(all: &mut Projection, segments: &[Segment]) {
    let has_filter = |segment: &Segment| {
        segment.selectors.iter().any(|selector| matches!(selector.kind, SelectorKind::Filter(_)))
    };
    // A filter may read any part of the record.
    if segments.iter().any(has_filter) {
        *all = Projection::All;
        return;
    }
    descend(all, &segments[..segments.len().min(MOST_STEPS)], 1);
}

/// Adds what the rest of a path reaches. `paths` is the number of paths that the segments before it stand
/// for.
fn descend(at: &mut Projection, segments: &[Segment], paths: usize) {
    let Some((segment, rest)) = segments.split_first() else {
        *at = Projection::All;
        return;
    };
    let paths = paths.saturating_mul(segment.selectors.len());
    for selector in &segment.selectors {
        match step(segment.kind, selector).filter(|_| paths <= MOST_PATHS) {
            // Descendants without a name can be anywhere.
            None => *at = Projection::All,
            Some(step) => {
                let below = at.below(&step);
                below.into_iter().for_each(|below| descend(below, rest, paths));
            }
        }
    }
}

/// The step of a selector; `None` for a descendant without a name, and for a filter.
fn step(kind: SegmentKind, selector: &Selector) -> Option<Step> {
    match (kind, &selector.kind) {
        (SegmentKind::Child, SelectorKind::Name(name)) => Some(Step::Name(name.as_bytes().to_vec())),
        (SegmentKind::Descendant, SelectorKind::Name(name)) => {
            Some(Step::Descendant(name.as_bytes().to_vec()))
        }
        (SegmentKind::Child, SelectorKind::Wildcard) => Some(Step::Wildcard),
        (SegmentKind::Child, SelectorKind::Index(_) | SelectorKind::Slice { .. }) => Some(Step::Element),
        (_, SelectorKind::Filter(_)) | (SegmentKind::Descendant, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::predicate::Predicate;
    use crate::program::Query;

    #[test]
    fn paths_are_followed() {
        for (paths, predicate, want) in [
            (&["$.a.b"][..], None, "$.a.b"),
            (&["$.a.b", "$.a.c", "$.d"], None, "$.a.b, $.a.c, $.d"),
            (&["$.a", "$.a.b"], None, "$.a"),
            (&["$.a.b", "$.a"], None, "$.a"),
            (&["$"], None, "$"),
            (&["$.a[0].b", "$.a[1:2].c"], None, "$.a[:].b, $.a[:].c"),
            (&["$.a[*].b", "$.a.*.c"], None, "$.a.*.b, $.a.*.c"),
            (&["$.a['b','c'].d"], None, "$.a.b.d, $.a.c.d"),
            (&["$.a['b',0,*].d"], None, "$.a.b.d, $.a[:].d, $.a.*.d"),
            (&["$.a..b"], None, "$.a..b"),
            (&["$..b", "$..b.c", "$..['d','e'][*]"], None, "$..b, $..d.*, $..e.*"),
            (&["$..b..c.d"], None, "$..b..c.d"),
            (&["$.a..*", "$.b..[0].c"], None, "$.a, $.b"),
            (&["$.a..['b',0]"], None, "$.a"),
            (&["$..*"], None, "$"),
            (&["$.a[?@.b == $.c]"], None, "$"),
            (&["$.a"], Some("$.s >= 500 && $.l in ('en')"), "$.a, $.s, $.l"),
            (
                &["$.a"],
                Some("count($.b[*].c) > 1 && !$.d && time($.e.at) > '2020-01-01' && $.e[0] == 1"),
                "$.a, $.b.*.c, $.d, $.e.at, $.e[:]",
            ),
            (&["$.a"], Some("match($.b.c, 'x') || $.f is missing"), "$.a, $.b.c, $.f"),
            (&["$.a"], Some("$.b[?@.c == 1]"), "$"),
        ] {
            let queries: Vec<_> = paths.iter().map(|path| Query::compile(path).unwrap()).collect();
            let mut program = Program::new(&queries).unwrap();
            if let Some(predicate) = predicate {
                program = program.matching(&Arc::new(Predicate::parse(predicate).unwrap()), false).unwrap();
            }
            assert_eq!(program.projection().to_string(), want, "{paths:?} {predicate:?}");
        }
    }

    #[test]
    fn long_paths_are_followed_so_far() {
        let deep = Query::compile(&format!("${}", ".a".repeat(100))).unwrap();
        let projection = Program::new(&[deep]).unwrap().projection().to_string();
        assert_eq!(projection, format!("${}", ".a".repeat(MOST_STEPS)));
        let wide = Query::compile(&format!("${}", "['a','b']".repeat(20))).unwrap();
        let projection = Program::new(&[wide]).unwrap().projection().to_string();
        assert_eq!(projection.split(", ").count(), MOST_PATHS);
    }

    #[test]
    fn some_paths_can_be_counted_by_names() {
        let name = |key: &str| Step::Name(key.into());
        for (path, want) in [
            ("$", Some(vec![])),
            ("$.a.b", Some(vec![name("a"), name("b")])),
            ("$.a[*]['é']", Some(vec![name("a"), Step::Wildcard, name("é")])),
            ("$.a..b.*", Some(vec![name("a"), Step::Descendant("b".into()), Step::Wildcard])),
            ("$.a[0]", None),
            ("$.a[1:]", None),
            ("$['a','b']", None),
            ("$..*", None),
            ("$..[0]", None),
            ("$[?@.a]", None),
        ] {
            let program = Program::new(&[Query::compile(path).unwrap()]).unwrap();
            assert_eq!(program.counted_paths(), want.map(|path| vec![path]), "{path}");
        }
        let query = Query::compile("$.a").unwrap();
        let program = Program::new(&[query.clone(), Query::compile("$.b[0]").unwrap()]).unwrap();
        assert_eq!(program.counted_paths(), None);
        let predicate = Arc::new(Predicate::parse("$.b == 1").unwrap());
        let program = Program::new(&[query]).unwrap().matching(&predicate, false).unwrap();
        assert_eq!(program.counted_paths(), None);
        let condition = Predicate::of_value("@ > 1").unwrap();
        let query = Query::compile("$.a").unwrap().holding(&condition).unwrap();
        assert_eq!(Program::new(&[query]).unwrap().counted_paths(), None);
    }
}
