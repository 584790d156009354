//! Texts without which a predicate is false.

use super::Predicate;
use crate::jsonpath::{
    Comparable, ComparableKind, ComparisonOp, FilterQuery, LiteralKind, LogicalExpr, LogicalExprKind,
    Segment, SelectorKind, SingularQuery, SingularStepKind, StringTestKind, ValueTestKind,
};

/// The most tests that texts are chosen for. Each is searched in the sample.
const MOST_TESTS: usize = 64;

/// A choice of texts, and how often they occur in a sample.
struct Choice {
    texts: Vec<Vec<u8>>,
    hits: usize,
}

impl Predicate {
    /// Chooses rare texts of which each record contains one for which the predicate is true: at most `most`.
    /// `hits` counts the occurrences of a text in a sample. Returns the texts, and the sum of their
    /// occurrences. `None` if the predicate can be true of a record without any of `most` texts.
    ///
    /// ```text
    /// $.kind == "commit" && $.status > 400     "commit" or "kind", and "status": the rarest alone
    /// $.kind == "a" || $.kind == "b"           "a" and "b", or "kind"
    /// contains($.agent, "bot")                 bot, without quotes, or "agent"
    /// ```
    ///
    /// One of the texts begins all escapes, because a string with escapes contains none of the others.
    // Hidden: a backend alone needs it.
    #[doc(hidden)]
    pub fn needles(
        &self,
        most: usize,
        hits: &mut dyn FnMut(&[u8]) -> usize,
    ) -> Option<(Vec<Vec<u8>>, usize)> {
        // One is for escapes.
        let mut chooser = Chooser { most: most.checked_sub(1)?, tests: MOST_TESTS, hits };
        let Choice { mut texts, .. } = chooser.choose(&self.expr, true)?;
        // `\u00` begins the escapes of all characters of ASCII that a text may have.
        let ascii = texts.iter().all(|text| text.is_ascii());
        texts.push(if ascii { br"\u00".to_vec() } else { br"\u".to_vec() });
        texts.sort();
        texts.dedup();
        let hits = texts.iter().map(|text| hits(text)).sum();
        Some((texts, hits))
    }
}

/// The choice of texts for a predicate.
struct Chooser<'a> {
    /// The most texts of one choice.
    most: usize,
    /// The tests that texts may still be chosen for.
    tests: usize,
    hits: &'a mut dyn FnMut(&[u8]) -> usize,
}

impl Chooser<'_> {
    /// The texts of which one is in each record for which an expression has an outcome.
    fn choose(&mut self, expr: &LogicalExpr, outcome: bool) -> Option<Choice> {
        match &expr.kind {
            LogicalExprKind::Not(expr) => self.choose(expr, !outcome),
            LogicalExprKind::And(exprs) if outcome => self.rarest(exprs, outcome),
            LogicalExprKind::Or(exprs) if !outcome => self.rarest(exprs, outcome),
            LogicalExprKind::And(exprs) | LogicalExprKind::Or(exprs) => self.all(exprs, outcome),
            LogicalExprKind::Value(test) => match (&test.kind, &test.subject.kind) {
                // The strings of these values are too many, and the names suffice.
                (ValueTestKind::In(values), ComparableKind::Query(path)) if values.len() > self.most => {
                    if outcome == test.not {
                        None
                    } else {
                        self.one_of(names_of(path))
                    }
                }
                _ => self.choose(&test.in_rfc_9535(), outcome),
            },
            LogicalExprKind::Comparison(comparison) => {
                // A comparison with `!=` is true of a record without the value.
                let op = if outcome { comparison.op } else { negated(comparison.op)? };
                let (path, literal) = match (&comparison.left.kind, &comparison.right.kind) {
                    (ComparableKind::Query(path), ComparableKind::Literal(literal)) => (path, literal),
                    (ComparableKind::Literal(literal), ComparableKind::Query(path)) => (path, literal),
                    _ => return None,
                };
                if op == ComparisonOp::Ne {
                    return None;
                }
                let string = match (&literal.kind, op) {
                    (LiteralKind::String(string), ComparisonOp::Eq) => Some(string.as_str()),
                    _ => None,
                };
                self.one_of(names_of(path).chain(string))
            }
            LogicalExprKind::Exists(query) if outcome => self.one_of(names_of_query(query)),
            LogicalExprKind::Pattern(test) if outcome => match &test.subject {
                Comparable { kind: ComparableKind::Query(path), .. } => self.one_of(names_of(path)),
                _ => None,
            },
            LogicalExprKind::String(test) if outcome => match &test.subject {
                Comparable { kind: ComparableKind::Query(path), .. } => {
                    let inside = match &test.kind {
                        StringTestKind::Text(test) if !test.ignores_case => test.pattern.longest_literal(),
                        _ => &[],
                    };
                    self.rarest_text(names_of(path).map(Part::Whole).chain([Part::Inside(inside)]))
                }
                _ => None,
            },
            LogicalExprKind::Exists(_) | LogicalExprKind::Pattern(_) | LogicalExprKind::String(_) => None,
        }
    }

    /// The texts for expressions of which any may have the outcome.
    fn all(&mut self, exprs: &[LogicalExpr], outcome: bool) -> Option<Choice> {
        let mut all = Choice { texts: Vec::new(), hits: 0 };
        for expr in exprs {
            let one = self.choose(expr, outcome)?;
            if one.texts.iter().all(|text| all.texts.contains(text)) {
                continue;
            }
            all.hits += one.hits;
            all.texts.extend(one.texts);
            if all.texts.len() > self.most {
                return None;
            }
        }
        Some(all)
    }

    /// The rarest choice for one of several expressions that all have the outcome.
    fn rarest(&mut self, exprs: &[LogicalExpr], outcome: bool) -> Option<Choice> {
        let choices = exprs.iter().filter_map(|expr| self.choose(expr, outcome));
        choices.min_by_key(|choice| (choice.hits, choice.texts.len()))
    }

    /// The rarest of some strings that are all in a record.
    fn one_of<'a>(&mut self, strings: impl Iterator<Item = &'a str>) -> Option<Choice> {
        self.rarest_text(strings.map(Part::Whole))
    }

    /// The rarest of some texts that are all in a record. A string may be written with an escape other than
    /// `\u` if it has certain characters; a text with one of these is no choice.
    fn rarest_text<'a>(&mut self, parts: impl Iterator<Item = Part<'a>>) -> Option<Choice> {
        self.tests = self.tests.checked_sub(1)?;
        let texts = parts.filter_map(Part::text);
        let (hits, text) = texts.map(|text| ((self.hits)(&text), text)).min()?;
        Some(Choice { texts: vec![text], hits })
    }
}

/// A text of a record.
enum Part<'a> {
    /// A string.
    Whole(&'a str),
    /// A part of a string.
    Inside(&'a [u8]),
}

impl Part<'_> {
    /// The text in a record that has no escapes. `None` if it may have an escape other than `\u`.
    fn text(self) -> Option<Vec<u8>> {
        let is_escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | b'/') || *byte < b' ';
        match self {
            Self::Whole(string) if !string.as_bytes().iter().any(is_escaped) => {
                Some(["\"", string, "\""].concat().into_bytes())
            }
            Self::Inside(bytes) if !bytes.is_empty() && !bytes.iter().any(is_escaped) => Some(bytes.to_vec()),
            _ => None,
        }
    }
}

/// The comparison that is true wherever another one is false. An order is false of a record without the
/// value, so it has none.
fn negated(op: ComparisonOp) -> Option<ComparisonOp> {
    match op {
        ComparisonOp::Ne => Some(ComparisonOp::Eq),
        _ => None,
    }
}

fn names_of(path: &SingularQuery) -> impl Iterator<Item = &str> {
    path.steps.iter().filter_map(|step| match &step.kind {
        SingularStepKind::Name(name) => Some(name.as_str()),
        SingularStepKind::Index(_) => None,
    })
}

/// The names of the segments that select one node.
fn names_of_query(query: &FilterQuery) -> impl Iterator<Item = &str> {
    let singular = query.segments.iter().take_while(|segment| segment.is_singular());
    singular.filter_map(|Segment { selectors, .. }| match &selectors[0].kind {
        SelectorKind::Name(name) => Some(name.as_str()),
        _ => None,
    })
}
