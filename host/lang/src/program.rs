//! Queries compiled to the IR of [`warpath_shared::ir`].

mod explain;
mod lower;

use std::sync::Arc;

use warpath_shared::ir::{Instr, Program as ProgramView, Test};
use warpath_shared::units::{Level, PathIx};
use warpath_shared::view::View;

use crate::column_type::ColumnType;
use crate::jsonpath::{Query as Ast, parse};
use warpath_core::diagnostic::QueryError;
use warpath_core::error::Error;
use warpath_core::json;

/// A JSONPath query, parsed and compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    text: String,
    ast: Ast,
    levels: Level,
}

impl Query {
    /// Parses a query (RFC 9535) and compiles it once, to see that it can be run.
    ///
    /// # Errors
    /// [`Error::Query`] for text that is not a valid query, with the column; [`Error::Unsupported`] for
    /// a valid one that is too large.
    pub fn compile(text: &str) -> Result<Self, Error> {
        let refuse = |error| QueryError::new(text, error);
        let ast = parse(text).map_err(|error| Error::Query(refuse(error)))?;
        let mut query = Self { text: text.to_owned(), ast, levels: 0 };
        query.levels = Program::new(std::slice::from_ref(&query))?.levels();
        Ok(query)
    }

    /// The query as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its syntax tree.
    pub fn ast(&self) -> &Ast {
        &self.ast
    }

    /// Whether the query selects one value of a record at most (RFC 9535 section 2.3.5.1).
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.ast.is_singular()
    }

    /// How many leveled bitmaps it reads: what `Input::index` wants to know.
    #[must_use]
    pub fn levels(&self) -> Level {
        self.levels
    }
}

/// What a path is in rows and in typed columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name of the column.
    pub name: String,
    /// The name as it stands in an object, with its colon.
    pub key: String,
    /// Whether the path selects one value of a record at most: then a row has that value or null, else a list.
    pub singular: bool,
    /// What values become in a typed column.
    pub values: ColumnType,
}

impl Column {
    fn new(name: &str, singular: bool, values: ColumnType) -> Self {
        Self { name: name.to_owned(), key: json::encode(name) + ":", singular, values }
    }
}

/// Several queries compiled into one program, with shared prefixes, answered in one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    instrs: Vec<Instr>,
    /// How many of them are in blocks. Filters' singular paths stand behind.
    blocks: u32,
    tests: Vec<Test>,
    literals: Vec<u8>,
    automata: Vec<u16>,
    paths: PathIx,
    levels: Level,
    singular: bool,
    needs_trees: bool,
    plain_filters: bool,
    names: Vec<u32>,
    patterns_at_run: bool,
    columns: Vec<Column>,
    /// What it was compiled from.
    queries: Arc<[Query]>,
}

impl Program {
    /// Compiles queries into one program. Their order is the order of its paths.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a query, or a number of them, that is too large.
    pub fn new(queries: &[Query]) -> Result<Self, Error> {
        lower::lower(queries)
    }

    /// The same program, whose paths have these names in rows and columns (`Want::rows`). Without
    /// it a path is named as it was written.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is not a name for each path.
    pub fn with_names(mut self, names: &[impl AsRef<str>]) -> Result<Self, Error> {
        if names.len() != self.columns.len() {
            return Err(Error::Usage(format!("{} names for {} paths", names.len(), self.columns.len())));
        }
        for (column, name) in self.columns.iter_mut().zip(names) {
            *column = Column::new(name.as_ref(), column.singular, column.values);
        }
        Ok(self)
    }

    /// The same program, whose paths have values of these types in columns (`Want::columns`).
    /// Without it they are [`ColumnType::Json`].
    ///
    /// # Errors
    /// [`Error::Usage`] if there is not a type for each path.
    pub fn with_types(mut self, types: &[ColumnType]) -> Result<Self, Error> {
        if types.len() != self.columns.len() {
            return Err(Error::Usage(format!("{} types for {} paths", types.len(), self.columns.len())));
        }
        for (column, values) in self.columns.iter_mut().zip(types) {
            column.values = *values;
        }
        Ok(self)
    }

    /// What it was compiled from.
    pub fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// The paths as columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many paths there are.
    #[must_use]
    pub fn paths(&self) -> usize {
        self.paths as usize
    }

    /// How many leveled bitmaps the program reads; none if it needs trees.
    #[must_use]
    pub fn levels(&self) -> Level {
        self.levels
    }

    /// Whether every path selects one value of a record at most, which leveled bitmaps find.
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.singular
    }

    /// Whether the program is answered by the records' trees ([`warpath_shared::tree::tape`]), and not by leveled bitmaps: it has a
    /// descendant segment, looks very deep, or has a filter that asks for more than what singular paths find and literals tell. A
    /// record whose tokens do not all stand where RFC 8259 has them is a fault then.
    #[must_use]
    pub fn needs_trees(&self) -> bool {
        self.needs_trees
    }

    /// Whether each filter has one test: that a value, which is found from the child, equals a literal.
    pub fn has_plain_filters(&self) -> bool {
        self.plain_filters
    }

    /// Of each path the instruction that has its name, if all paths are `$..name`; else nothing.
    pub fn names(&self) -> &[u32] {
        &self.names
    }

    /// Whether some pattern of `match` or `search` is found in the records. Such a program is answered by the CPU alone.
    #[must_use]
    pub fn has_patterns_at_run(&self) -> bool {
        self.patterns_at_run
    }

    /// The program as kernels and the CPU read it, in this address space.
    #[must_use]
    pub fn view(&self) -> ProgramView<'_> {
        ProgramView {
            instrs: View::from_slice(&self.instrs),
            tests: View::from_slice(&self.tests),
            literals: View::from_slice(&self.literals),
            automata: View::from_slice(&self.automata),
            paths: self.paths,
            levels: self.levels,
        }
    }

    /// The parts of the program, to copy to a device.
    pub fn parts(&self) -> (&[Instr], &[Test], &[u8], &[u16]) {
        (&self.instrs, &self.tests, &self.literals, &self.automata)
    }
}
