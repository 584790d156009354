//! Reasons as text.

use warpath::{Predicate, Query};
use warpath_lang::jsonpath::visit::{Subexpression, visit};
use warpath_lang::jsonpath::{QueryRoot, SelectorKind};

use super::OnRecord;

/// The records that were looked at.
#[derive(Clone, Copy)]
pub struct Scope {
    pub records: u64,
    /// True if there are no others.
    pub is_all: bool,
}

/// The reason why a path leads nowhere, or why a condition is never true.
pub enum Why {
    /// No value has a member.
    Lacks {
        /// The path up to the member, from `$` or `@` on.
        path: String,
        /// The path that was probably meant.
        meant: Option<String>,
        /// The number of its segments.
        segments: usize,
    },
    /// A value is never what a path or a condition needs.
    Is {
        path: String,
        /// The kind of the value in all records.
        is: String,
        /// The consequence, as a clause.
        so: String,
        /// The path or the condition that was probably meant.
        meant: Option<String>,
    },
    /// A filter tests the children of a value by a member that only the value has itself.
    Children {
        value: String,
        member: String,
        /// The number of the filter's segment.
        segment: usize,
    },
}

impl Why {
    /// The reason, about some records.
    pub fn text(&self, scope: Scope) -> String {
        let Scope { records, is_all } = scope;
        let (text, meant) = match self {
            Self::Lacks { path, meant, .. } if path.starts_with('@') => {
                (format!("nothing that the filter tests has `{path}`"), meant)
            }
            Self::Lacks { path, meant, .. } if is_all => (format!("no record has `{path}`"), meant),
            Self::Lacks { path, meant, .. } => {
                (format!("none of {records} records that were looked at has `{path}`"), meant)
            }
            Self::Is { path, is, so, meant } if is_all => (format!("`{path}` is always {is}, {so}"), meant),
            Self::Is { path, is, so, meant } => {
                (format!("in {records} records that were looked at, `{path}` is always {is}, {so}"), meant)
            }
            Self::Children { value, member, .. } => {
                return format!(
                    "the filter selects among the children of `{value}`, and in the records read, no child \
                     has a member `{member}`; `{value}` has one itself"
                );
            }
        };
        match meant {
            Some(meant) => format!("{text}; did you mean `{meant}`?"),
            None => text,
        }
    }

    /// True if the reason says that the whole query leads nowhere, and the query has names and indexes alone.
    pub fn is_whole(&self, query: &Query) -> bool {
        matches!(self, Self::Lacks { segments, .. } if query.is_singular() && *segments == query.ast().segments.len())
    }

    /// True if the reason is about a filter, which it does not show.
    pub fn is_of_filter(&self) -> bool {
        match self {
            Self::Lacks { path, .. } | Self::Is { path, .. } => path.starts_with('@'),
            Self::Children { .. } => true,
        }
    }

    /// The query as a condition on the record, if that was probably meant.
    pub fn on_record(&self, query: &Query) -> Option<OnRecord> {
        let Self::Children { segment, .. } = self else { return None };
        let text = query.text();
        let segment = query.ast().segments.get(*segment)?;
        let [selector] = &segment.selectors[..] else { return None };
        let SelectorKind::Filter(filter) = &selector.kind else { return None };
        let value = text[..segment.span.start].trim_end();
        let mut roots = Vec::new();
        visit(filter, &mut |part| {
            if let Subexpression::Path { root: QueryRoot::Current, span, depth: 0, .. } = part {
                roots.push(span.start - filter.span.start);
            }
        });
        roots.sort_unstable();
        let mut predicate = text[filter.span.start..filter.span.end].to_owned();
        for root in roots.iter().rev() {
            predicate.replace_range(*root..*root + 1, value);
        }
        let path = [value, &text[segment.span.end..]].concat();
        // A suggestion must parse.
        let parses = Predicate::parse(&predicate).is_ok() && Query::compile(&path).is_ok();
        parses.then_some(OnRecord { path, predicate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_children_becomes_a_condition() {
        let of = |text: &str, segment| {
            let why = Why::Children { value: String::new(), member: String::new(), segment };
            let OnRecord { path, predicate } = why.on_record(&Query::compile(text).unwrap()).unwrap();
            (path, predicate)
        };
        for (text, segment, path, predicate) in [
            ("$[?@.level == \"error\"]", 0, "$", "$.level == \"error\""),
            ("$[?@.a == 1].msg", 0, "$.msg", "$.a == 1"),
            ("$.user[?@.a]['x']", 1, "$.user['x']", "$.user.a"),
            (
                "$ [? 'x' == @ .a && !(@['b'] || @.a > @.c.d)]",
                0,
                "$",
                "'x' == $ .a && !($['b'] || $.a > $.c.d)",
            ),
            (
                "$[?length(@.a) > 2 && count(@.b[?@.c]) == 1]",
                0,
                "$",
                "length($.a) > 2 && count($.b[?@.c]) == 1",
            ),
            ("$[?match(@.a, 'x.*') && $.b]", 0, "$", "match($.a, 'x.*') && $.b"),
        ] {
            assert_eq!(of(text, segment), (path.to_owned(), predicate.to_owned()), "{text}");
        }
    }
}
