//! Paths of the elements of arrays.

use warpath_core::error::Error;

use super::Query;
use crate::jsonpath::{Query as Ast, Segment, SegmentKind, Selector, SelectorKind};

impl Query {
    /// Returns the query of the elements that become rows. A path that ends with a name or an index is the
    /// path of arrays, and `[*]` is added to it.
    ///
    /// # Errors
    /// [`Error::Usage`] for a path that may select a value twice, or a value and its parent.
    pub fn elements(&self) -> Result<Self, Error> {
        let selects_once =
            |segment: &Segment| segment.kind == SegmentKind::Child && segment.selectors.len() == 1;
        if !self.ast.segments.iter().all(selects_once) {
            return Err(Error::Usage(format!(
                "`{}` may select a value twice, or values within each other; rows require a path of child \
                 segments with one selector each, such as `$.items[*]`",
                self.text
            )));
        }
        if self.ast.segments.last().is_some_and(|last| !last.is_singular()) {
            return Ok(self.clone());
        }
        let Ast { mut segments, span } = self.ast.clone();
        let selectors = vec![Selector { kind: SelectorKind::Wildcard, span }];
        segments.push(Segment { kind: SegmentKind::Child, selectors, span });
        Self::compile(&Ast { segments, span }.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(path: &str) -> Query {
        Query::compile(path).unwrap()
    }

    #[test]
    fn elements_are_those_of_an_array() {
        for (path, elements) in [
            ("$.items", "$['items'][*]"),
            ("$", "$[*]"),
            ("$.items[*]", "$.items[*]"),
            ("$.a[0].b[?@.c > 1]", "$.a[0].b[?@.c > 1]"),
            ("$[*][1:]", "$[*][1:]"),
            ("$.orders[*].items", "$['orders'][*]['items'][*]"),
            ("$[?@.a][0]", "$[?@['a']][0][*]"),
        ] {
            assert_eq!(query(path).elements().unwrap().text(), elements);
        }
        for path in ["$..items", "$.items[0, 1]", "$['a', 'b'][*]", "$.a..b[*]"] {
            let error = query(path).elements().unwrap_err();
            assert!(
                matches!(&error, Error::Usage(said) if said.starts_with(&format!("`{path}` may"))),
                "{error}"
            );
        }
    }
}
