//! RFC 9535 as it is written: a list of nodes, and each segment maps it to the next list.

use warpath::jsonpath::{
    self, ComparableKind, ComparisonOp, LiteralKind, LogicalExprKind, Query, SegmentKind, SelectorKind,
    SingularStepKind,
};
use warpath_shared::check::trim;

use super::json::{Kind, Number, Value, parse};

/// A match: line, start, end.
pub type Found = (u32, u32, u32);

/// What the oracle knows.
#[derive(Debug, Default)]
pub struct Answered {
    /// The matches on all lines that are JSON.
    pub found: Vec<Found>,
    /// The lines that have no fault and are not JSON either: the oracle knows nothing of them.
    pub not_json: Vec<u32>,
}

/// The matches of a path in a text, whose faulty lines are given.
///
/// # Panics
/// If the path is not one.
pub fn query(text: &[u8], faulty: &[u32], path: &str) -> Answered {
    let ast = jsonpath::parse(path).expect("a path");
    let mut answered = Answered::default();
    let mut start = 0;
    for (line, bytes) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let end = start + bytes.len();
        let record = trim(start as u32, end as u32, |at| text[at as usize]);
        if let Some((from, to)) = record
            && !faulty.contains(&(line as u32))
        {
            match parse(text, from as usize, to as usize) {
                Some(root) => {
                    let place = |node: &&Value| (line as u32, node.start as u32, node.end as u32);
                    answered.found.extend(select(&ast, &root).iter().map(place));
                }
                None => answered.not_json.push(line as u32),
            }
        }
        start = end;
    }
    answered
}

fn select<'a>(query: &Query, root: &'a Value) -> Vec<&'a Value> {
    let mut nodes = vec![root];
    for segment in &query.segments {
        assert_eq!(segment.kind, SegmentKind::Child, "the oracle knows child segments only");
        let mut next = Vec::new();
        for node in nodes {
            for selector in &segment.selectors {
                apply(&selector.kind, node, &mut next);
            }
        }
        nodes = next;
    }
    nodes
}

fn children(node: &Value) -> Vec<&Value> {
    match &node.kind {
        Kind::Array(elements) => elements.iter().collect(),
        Kind::Object(members) => members.iter().map(|(_, value)| value).collect(),
        _ => Vec::new(),
    }
}

fn member<'a>(node: &'a Value, name: &str) -> Option<&'a Value> {
    let Kind::Object(members) = &node.kind else { return None };
    members.iter().find(|(have, _)| have.as_deref() == Some(name.as_bytes())).map(|(_, value)| value)
}

fn element(node: &Value, index: i64) -> Option<&Value> {
    let Kind::Array(elements) = &node.kind else { return None };
    let index = if index < 0 { elements.len() as i64 + index } else { index };
    usize::try_from(index).ok().and_then(|index| elements.get(index))
}

fn apply<'a>(selector: &SelectorKind, node: &'a Value, out: &mut Vec<&'a Value>) {
    match selector {
        SelectorKind::Name(name) => out.extend(member(node, name)),
        SelectorKind::Wildcard => out.extend(children(node)),
        SelectorKind::Index(index) => out.extend(element(node, *index)),
        SelectorKind::Slice { start, end, step } => {
            let Kind::Array(elements) = &node.kind else { return };
            let len = elements.len() as i64;
            let step = step.unwrap_or(1);
            // The pseudocode of RFC 9535 section 2.3.4.2.2.
            let normalize = |i: i64| if i >= 0 { i } else { len + i };
            let (start, end) = if step >= 0 {
                (start.unwrap_or(0), end.unwrap_or(len))
            } else {
                (start.unwrap_or(len - 1), end.unwrap_or(-len - 1))
            };
            let (n_start, n_end) = (normalize(start), normalize(end));
            if step > 0 {
                let (lower, upper) = (n_start.max(0).min(len), n_end.max(0).min(len));
                let mut i = lower;
                while i < upper {
                    out.push(&elements[i as usize]);
                    i += step;
                }
            } else if step < 0 {
                let (upper, lower) = (n_start.max(-1).min(len - 1), n_end.max(-1).min(len - 1));
                let mut i = upper;
                while lower < i {
                    out.push(&elements[i as usize]);
                    i += step;
                }
            }
        }
        SelectorKind::Filter(expr) => {
            let LogicalExprKind::Comparison(comparison) = &expr.kind else {
                panic!("unsupported by the oracle")
            };
            assert_eq!(comparison.op, ComparisonOp::Eq);
            let (query, literal) = match (&comparison.left.kind, &comparison.right.kind) {
                (ComparableKind::Query(query), ComparableKind::Literal(literal))
                | (ComparableKind::Literal(literal), ComparableKind::Query(query)) => (query, literal),
                _ => panic!("unsupported by the oracle"),
            };
            for child in children(node) {
                let value = query.steps.iter().try_fold(child, |at, step| match &step.kind {
                    SingularStepKind::Name(name) => member(at, name),
                    SingularStepKind::Index(index) => element(at, *index),
                });
                let equal = value.is_some_and(|value| match (&value.kind, &literal.kind) {
                    (Kind::Null, LiteralKind::Null) => true,
                    (Kind::Bool(a), LiteralKind::Bool(b)) => a == b,
                    (Kind::Number(a), LiteralKind::Number(b)) => *a == Number::parse(b),
                    (Kind::String(a), LiteralKind::String(b)) => a.as_deref() == Some(b.as_bytes()),
                    _ => false,
                });
                if equal {
                    out.push(child);
                }
            }
        }
    }
}
