//! Programs whose rows are the elements of an array, and not the records.

use warpath_core::error::Error;

use super::{Program, Query};
use crate::jsonpath::{Query as Ast, Segment, SegmentKind, Selector, SelectorKind};

impl Query {
    /// Returns the query of the elements that become rows ([`Program::exploding`]). A path that ends with a
    /// name or an index is the path of arrays, and `[*]` is added to it.
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

    /// Returns the query of the values below the values of another query; `None` if the path does not begin
    /// with that of the other query.
    fn below(&self, other: &Self) -> Option<Ast> {
        let of = |segments: &[Segment]| Ast { segments: segments.to_vec(), span: self.ast.span };
        let (first, rest) = self.ast.segments.split_at_checked(other.ast.segments.len())?;
        // The canonical form leaves out where the segments are in their texts.
        (of(first).to_string() == of(&other.ast.segments).to_string()).then(|| of(rest))
    }
}

impl Program {
    /// Compiles queries into a program whose rows and columns have a row for each value of `elements`, which
    /// is made by [`Query::elements`].
    ///
    /// The path of a column may begin with the path of the elements. Then a row has the values in its own
    /// element. Any other column repeats the values of the record. A record without elements has no row.
    ///
    /// # Errors
    /// As for [`Program::new`].
    pub fn exploding(queries: &[Query], elements: &Query) -> Result<Self, Error> {
        let all = [queries, std::slice::from_ref(elements)].concat();
        let mut program = Self { explodes: true, ..Self::new(&all)? };
        program.columns.pop();
        for (column, query) in program.columns.iter_mut().zip(queries) {
            if let Some(rest) = query.below(elements) {
                (column.of_element, column.singular) = (true, rest.is_singular());
            }
        }
        Ok(program)
    }

    /// Returns the number of the path whose matches are the rows; `None` if the records are.
    #[must_use]
    pub fn elements(&self) -> Option<usize> {
        self.explodes.then_some(self.columns.len())
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

    #[test]
    fn columns_are_of_their_element_or_of_the_record() {
        let elements = query("$.items").elements().unwrap();
        let paths = [
            "$['items'][*].price",
            "$.items[*].tags[*]",
            "$.items[*]",
            "$.items[0]",
            "$.items",
            "$.id",
            "$.x[*]",
        ];
        let program = Program::exploding(&paths.map(query), &elements).unwrap();
        let columns: Vec<_> =
            program.columns().iter().map(|column| (column.of_element, column.singular)).collect();
        let (of_element, of_record) = (true, false);
        assert_eq!(
            columns,
            [
                (of_element, true),
                (of_element, false),
                (of_element, true),
                (of_record, true),
                (of_record, true),
                (of_record, true),
                (of_record, false)
            ]
        );
        assert_eq!((program.elements(), program.paths()), (Some(7), 8));
    }
}
