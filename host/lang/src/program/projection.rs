//! The members of records that a program can reach.

use warpath_core::projection::Projection;

use super::Program;
use crate::jsonpath::visit::{PathSteps, Subexpression, visit};
use crate::jsonpath::{LogicalExpr, QueryRoot, Segment, SegmentKind, SelectorKind, SingularStepKind};

impl Program {
    /// The members of a record that the paths, their conditions and the predicate can reach.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn projection(&self) -> Projection {
        let mut all = Projection::NONE;
        for query in self.queries() {
            reach(&mut all, &query.ast().segments);
            // `@` is a match, of which everything is reached.
            if let Some(condition) = query.condition() {
                reach_of_expr(&mut all, condition.expr());
            }
        }
        if let Some(predicate) = self.predicate() {
            reach_of_expr(&mut all, predicate.expr());
        }
        all
    }
}

/// Adds the paths of an expression that begin at the record.
fn reach_of_expr(all: &mut Projection, expr: &LogicalExpr) {
    visit(expr, &mut |part| {
        let Subexpression::Path { root: QueryRoot::Record, steps, .. } = part else { return };
        match steps {
            PathSteps::Segments(segments) => reach(all, segments),
            PathSteps::Singular(steps) => {
                let names = steps.iter().map(|step| match &step.kind {
                    SingularStepKind::Name(name) => Some(name.as_str()),
                    SingularStepKind::Index(_) => None,
                });
                descend(all, names);
            }
        }
    });
}

/// Adds what a path reaches. Names are followed as far as there is one name for each segment.
fn reach(all: &mut Projection, segments: &[Segment]) {
    let is_followed = |segment: &&Segment| {
        segment.kind == SegmentKind::Child
            && matches!(
                segment.selectors.as_slice(),
                [one] if matches!(one.kind, SelectorKind::Name(_) | SelectorKind::Index(_) | SelectorKind::Slice { .. })
            )
    };
    let has_filter = |segment: &Segment| {
        segment.selectors.iter().any(|selector| matches!(selector.kind, SelectorKind::Filter(_)))
    };
    // A filter may read any part of the record.
    if segments.iter().any(has_filter) {
        *all = Projection::All;
        return;
    }
    let names = segments.iter().take_while(is_followed).map(|segment| match &segment.selectors[0].kind {
        SelectorKind::Name(name) => Some(name.as_str()),
        // Elements share the projection of their array.
        _ => None,
    });
    descend(all, names);
}

/// Adds what is below some names, all of it. A step that is `None` leads to elements of an array.
fn descend<'n>(at: &mut Projection, names: impl Iterator<Item = Option<&'n str>>) {
    at.reach(names.flatten().map(str::as_bytes));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::predicate::Predicate;
    use crate::program::Query;

    fn text(projection: &Projection) -> String {
        match projection {
            Projection::All => "*".into(),
            Projection::Members(members) => {
                let members = members
                    .iter()
                    .map(|(key, below)| format!("{}:{}", String::from_utf8_lossy(key), text(below)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }
        }
    }

    #[test]
    fn names_are_followed_until_another_selector() {
        for (paths, predicate, want) in [
            (&["$.a.b"][..], None, "{a:{b:*}}"),
            (&["$.a.b", "$.a.c", "$.d"], None, "{a:{b:*,c:*},d:*}"),
            (&["$.a", "$.a.b"], None, "{a:*}"),
            (&["$.a.b", "$.a"], None, "{a:*}"),
            (&["$"], None, "*"),
            (&["$.a[0].b", "$.a[1:2].c"], None, "{a:{b:*,c:*}}"),
            (&["$.a[*].b"], None, "{a:*}"),
            (&["$.a['b','c'].d"], None, "{a:*}"),
            (&["$.a..b"], None, "{a:*}"),
            (&["$..b"], None, "*"),
            (&["$.a[?@.b == $.c]"], None, "*"),
            (&["$.a"], Some("$.s >= 500 && $.l in ('en')"), "{a:*,s:*,l:*}"),
            (
                &["$.a"],
                Some("count($.b[*].c) > 1 && !$.d && time($.e.at) > '2020-01-01'"),
                "{a:*,b:*,d:*,e:{at:*}}",
            ),
            (&["$.a"], Some("match($.b.c, 'x') || $.f is missing"), "{a:*,b:{c:*},f:*}"),
            (&["$.a"], Some("$.b[?@.c == 1]"), "*"),
        ] {
            let queries: Vec<_> = paths.iter().map(|path| Query::compile(path).unwrap()).collect();
            let mut program = Program::new(&queries).unwrap();
            if let Some(predicate) = predicate {
                program = program.matching(&Arc::new(Predicate::parse(predicate).unwrap()), false).unwrap();
            }
            assert_eq!(text(&program.projection()), want, "{paths:?} {predicate:?}");
        }
    }
}
