//! RFC 9535 as it is written: each segment maps a list of nodes to the next list.
//!
//! The RFC leaves some orders free; here children are in the order of the text. The RFC defines no result for
//! objects with a repeated name. Here a name selects the first of its members, and `*`, `..` and filters
//! visit all.

use std::ops::Range;

use warpath_shared::check::trim;

use super::json::{Content, Value, parse};
use super::syntax::{Segment, Selector};
use super::{filter, grammar, path};

/// A match: line, start, end.
pub type LineMatch = (u32, u32, u32);

/// The matches of one query, and the lines that the oracle cannot evaluate.
#[derive(Debug, Default)]
pub struct Answered {
    /// The matches on all lines that are JSON.
    pub found: Vec<LineMatch>,
    /// The lines that have no fault but are not JSON. The oracle has no result for them.
    pub not_json: Vec<u32>,
}

/// Evaluates a path over a text, whose faulty lines are given.
///
/// # Panics
/// If the path is invalid.
pub fn query(text: &[u8], faulty: &[u32], path: &str) -> Answered {
    let query = grammar::parse(path).expect("a path");
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
                    answered.found.extend(select(&query.segments, &root, &root).iter().map(place));
                }
                None => answered.not_json.push(line as u32),
            }
        }
        start = end;
    }
    answered
}

/// Returns the nodes that a path selects in a text: the byte range of each, and its normalised path
/// ([`path::normalised`]). The text is one record, on one line or several.
///
/// # Panics
/// If the path is invalid, or the text is not JSON.
pub fn nodes(text: &[u8], path: &str) -> Vec<(Range<usize>, String)> {
    let query = grammar::parse(path).expect("a path");
    let root = parse(text, 0, text.len()).expect("JSON");
    let nodes = select(&query.segments, &root, &root);
    nodes.into_iter().map(|node| (node.start..node.end, path::normalised(&root, node))).collect()
}

/// The nodes that segments select from `start`, in a record whose root is `root` (section 2.1.2).
pub fn select<'a>(segments: &[Segment], root: &'a Value, start: &'a Value) -> Vec<&'a Value> {
    let mut nodes = vec![start];
    for segment in segments {
        let mut next = Vec::new();
        for node in nodes {
            match segment {
                Segment::Child(selectors) => child_segment(selectors, root, node, &mut next),
                Segment::Descendant(selectors) => descendant_segment(selectors, root, node, &mut next),
            }
        }
        nodes = next;
    }
    nodes
}

/// Section 2.5.1.2: the nodes of the first selector, then those of the second, and so on.
fn child_segment<'a>(selectors: &[Selector], root: &'a Value, node: &'a Value, out: &mut Vec<&'a Value>) {
    for selector in selectors {
        apply(selector, root, node, out);
    }
}

/// Section 2.5.2.2: the child segment, applied to the node and then to all its descendants, parents before
/// children.
fn descendant_segment<'a>(
    selectors: &[Selector],
    root: &'a Value,
    node: &'a Value,
    out: &mut Vec<&'a Value>,
) {
    child_segment(selectors, root, node, out);
    for child in node.children() {
        descendant_segment(selectors, root, child, out);
    }
}

/// Applies one selector (section 2.3).
fn apply<'a>(selector: &Selector, root: &'a Value, node: &'a Value, out: &mut Vec<&'a Value>) {
    match selector {
        Selector::Name(name) => out.extend(node.member(name.as_bytes())),
        Selector::Wildcard => out.extend(node.children()),
        Selector::Index(index) => out.extend(node.element(*index)),
        Selector::Slice(start, end, step) => {
            let Content::Array(elements) = &node.kind else { return };
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
        Selector::Filter(expr) => {
            out.extend(node.children().into_iter().filter(|child| filter::holds(expr, root, child)));
        }
    }
}
