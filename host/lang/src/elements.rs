//! Splits of programs at an array, if all paths go through the elements of that array.

use std::fmt;
use std::sync::Arc;

use crate::jsonpath::visit::{Subexpression, visit, visit_segments};
use crate::jsonpath::{Query as Ast, QueryRoot, Segment, SegmentKind, SelectorKind};
use crate::predicate::Predicate;
use crate::program::{Program, Query};

/// A program over documents, split at the elements of an array.
#[derive(Clone, Debug)]
pub struct Split {
    /// The path to the array: names and indexes.
    pub array: Program,
    /// The steps of that path, from the root on.
    pub steps: Vec<PathStep>,
    /// The normalised path of the array.
    pub path: Arc<str>,
    /// The program for each element.
    pub elements: Program,
}

/// A step towards the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// A member of this name.
    Name(String),
    /// An element, counted from 0.
    Index(u64),
}

/// The reason why a program is evaluated on a document as on one record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AsOne {
    /// The path of this number does not reach `[*]` or `..name` by names and indexes alone.
    NoWildcard(usize),
    /// An index on the path to the array counts from the array's end.
    NegativeIndex(usize),
    /// The path of this number goes through the elements of another array than the first path does.
    OtherArray(usize),
    /// A filter of the path of this number reads the whole document.
    WholeDocument(usize),
    /// A predicate is about the whole document.
    Predicate,
    /// The split failed for another reason.
    Refused,
}

impl fmt::Display for AsOne {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWildcard(path) => {
                write!(f, "path {path} has neither `[*]` nor `..name` after names and indexes alone")
            }
            Self::NegativeIndex(path) => {
                write!(f, "path {path} counts from the end of an array before its elements")
            }
            Self::OtherArray(path) => write!(f, "path {path} goes through another array than path 0"),
            Self::WholeDocument(path) => {
                write!(f, "a filter of path {path} refers to the whole document (`$`)")
            }
            Self::Predicate => f.write_str("the predicate is about the whole document"),
            Self::Refused => f.write_str("the paths cannot be split at an array"),
        }
    }
}

impl Program {
    /// Returns the normalised path of the array whose elements are evaluated instead of a document
    /// (`Format::Json`), and the program for each element.
    ///
    /// # Errors
    /// The reason why a document is always evaluated as one record. The reason is not a fault: the results
    /// are the same.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn over_elements(&self) -> Result<(String, Self), AsOne> {
        let split = Split::of(self)?;
        Ok((split.path.to_string(), split.elements))
    }
}

impl Split {
    /// Splits a program, or returns the reason why that is impossible.
    pub fn of(program: &Program) -> Result<Self, AsOne> {
        if program.predicate().is_some() {
            return Err(AsOne::Predicate);
        }
        let queries = program.queries();
        let mut array: Option<(String, &[Segment])> = None;
        let mut rest = Vec::with_capacity(queries.len());
        for (number, query) in queries.iter().enumerate() {
            let segments = &query.ast().segments;
            let at = segments.iter().position(|segment| !segment.is_singular());
            let at = at.ok_or(AsOne::NoWildcard(number))?;
            let (before, after) = segments.split_at(at);
            // An array has no members. Its descendants of a name are its elements' descendants of that name,
            // in their order.
            let after = match &after[0] {
                segment if is_wildcard(segment) => &after[1..],
                segment if is_descendant_names(segment) => after,
                _ => return Err(AsOne::NoWildcard(number)),
            };
            let text: String = before.iter().map(Segment::to_string).collect();
            match &array {
                None => array = Some((text, before)),
                Some((first, _)) if *first == text => {}
                Some(_) => return Err(AsOne::OtherArray(number)),
            }
            let mut asks = asks_the_root(after);
            if let Some(condition) = query.condition() {
                visit(condition.expr(), &mut |part| asks |= is_of_record(part));
            }
            if asks {
                return Err(AsOne::WholeDocument(number));
            }
            rest.push((after, query.condition()));
        }
        let (_, before) = array.ok_or(AsOne::Refused)?;
        let steps = steps(before).ok_or(AsOne::NegativeIndex(0))?;
        let part = |segments: &[Segment]| Query::of_segments(segments.to_vec()).map_err(|_| AsOne::Refused);
        let array = part(before)?;
        let element = |(after, condition): (&[Segment], Option<&Predicate>)| match condition {
            None => part(after),
            Some(condition) => part(after)?.holding(condition).map_err(|_| AsOne::Refused),
        };
        let elements = rest.into_iter().map(element).collect::<Result<Vec<_>, _>>()?;
        let program = |queries: &[Query]| Program::new(queries).map_err(|_| AsOne::Refused);
        let elements = program(&elements)?;
        // Trees find more faults than bitmaps do, and the document is one record.
        if program(queries)?.needs_trees() != elements.needs_trees() {
            return Err(AsOne::Refused);
        }
        Ok(Self { path: array.text().into(), array: program(&[array])?, steps, elements })
    }
}

/// Returns true for a segment `[*]`.
fn is_wildcard(segment: &Segment) -> bool {
    segment.kind == SegmentKind::Child
        && matches!(segment.selectors.as_slice(), [selector] if selector.kind == SelectorKind::Wildcard)
}

/// Returns true for a segment that selects only descendants by names.
fn is_descendant_names(segment: &Segment) -> bool {
    segment.kind == SegmentKind::Descendant
        && segment.selectors.iter().all(|selector| matches!(selector.kind, SelectorKind::Name(_)))
}

fn steps(segments: &[Segment]) -> Option<Vec<PathStep>> {
    let step = |segment: &Segment| match &segment.selectors.first()?.kind {
        SelectorKind::Name(name) => Some(PathStep::Name(name.clone())),
        SelectorKind::Index(index) => u64::try_from(*index).ok().map(PathStep::Index),
        _ => None,
    };
    segments.iter().map(step).collect()
}

/// Returns true if a filter in some segments reads the record (`$`).
fn asks_the_root(segments: &[Segment]) -> bool {
    let mut asks = false;
    visit_segments(segments, &mut |part| asks |= is_of_record(part));
    asks
}

/// Returns true for a path from the record.
fn is_of_record(part: Subexpression<'_>) -> bool {
    matches!(part, Subexpression::Path { root: QueryRoot::Record, .. })
}

impl Query {
    /// Compiles the query of some segments, in canonical form.
    fn of_segments(segments: Vec<Segment>) -> Result<Self, warpath_core::error::Error> {
        let span = segments.first().map_or_else(Default::default, |segment| segment.span);
        Self::compile(&Ast { segments, span }.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(paths: &[&str]) -> Result<(String, Vec<String>), AsOne> {
        let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path).unwrap()).collect();
        let split = Split::of(&Program::new(&queries).unwrap())?;
        let rest = split.elements.columns().iter().map(|column| column.name.clone()).collect();
        Ok((split.path.to_string(), rest))
    }

    #[test]
    fn paths_are_taken_apart_at_an_array() {
        let of = |array: &str, rest: &[&str]| {
            Ok((array.to_owned(), rest.iter().map(|path| (*path).to_owned()).collect()))
        };
        assert_eq!(split(&["$[*].user.lang"]), of("$", &["$['user']['lang']"]));
        assert_eq!(split(&["$.*"]), of("$", &["$"]));
        assert_eq!(split(&["$.a[2]['it\\'s'][*][*].b"]), of("$['a'][2]['it\\'s']", &["$[*]['b']"]));
        assert_eq!(split(&["$.a[*].b", "$['a'].*[0,1]"]), of("$['a']", &["$['b']", "$[0, 1]"]));
        assert_eq!(split(&["$[*][?@.a == 1]"]), of("$", &["$[?@['a'] == 1]"]));
        assert_eq!(split(&["$..a"]), of("$", &["$..['a']"]));
        assert_eq!(split(&["$.a..['b', 'c'][0]", "$.a[*].b"]), of("$['a']", &["$..['b', 'c'][0]", "$['b']"]));
    }

    #[test]
    fn others_are_asked_of_one_record() {
        assert_eq!(split(&["$.user.lang"]), Err(AsOne::NoWildcard(0)));
        assert_eq!(split(&["$..*"]), Err(AsOne::NoWildcard(0)));
        assert_eq!(split(&["$..['a', 0]"]), Err(AsOne::NoWildcard(0)));
        assert_eq!(split(&["$[0:2].a"]), Err(AsOne::NoWildcard(0)));
        assert_eq!(split(&["$[*, 0].a"]), Err(AsOne::NoWildcard(0)));
        assert_eq!(split(&["$[*].a", "$"]), Err(AsOne::NoWildcard(1)));
        assert_eq!(split(&["$[*].a", "$.a[*]"]), Err(AsOne::OtherArray(1)));
        assert_eq!(split(&["$[-1][*]"]), Err(AsOne::NegativeIndex(0)));
    }

    #[test]
    fn what_asks_the_whole_document_is_seen() {
        let asks = |path: &str| asks_the_root(&crate::jsonpath::parse(path).unwrap().segments);
        for path in [
            "$[?$.a]",
            "$[?@.a == $.b]",
            "$[?!(@.a && $.b)]",
            "$[?length($.a) > 1]",
            "$[?count(@[?$.a]) > 1 || @.b]",
            "$[?value($..a) == 1]",
            "$[?match(@.a, $.b)]",
            "$[?@[?@ == $.a]]",
        ] {
            assert!(asks(path), "{path}");
        }
        for path in ["$[?@.a]", "$['$']", "$[?@.a == '$']", "$[?count(@..a) == 1 && search(@.b, '$')]"] {
            assert!(!asks(path), "{path}");
        }
    }
}
