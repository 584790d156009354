//! Queries compiled to the IR of [`warpath_shared::ir`].

mod explain;
mod explode;
mod lower;
mod projection;

use std::sync::Arc;

use warpath_core::diagnostic::QueryError;
use warpath_core::error::Error;
use warpath_core::json;
use warpath_core::time::{Format, Zone};
use warpath_shared::ir::{Instr, Program as ProgramView, Test};
use warpath_shared::units::{Level, PathIx};
use warpath_shared::view::View;

use crate::cache::Cache;
use crate::column_type::ColumnType;
use crate::host_tests::HostTests;
use crate::instants::set_format_in;
use crate::jsonpath::{Query as Ast, TimeFormat, parse};
use crate::predicate::Predicate;

use lower::Guard;

/// A JSONPath query, parsed and compiled.
///
/// ```
/// use warpath::{Engine, Find, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let query = Query::compile("$.tags[?@ != 'a']")?;
/// assert_eq!(query.find(br#"{"tags": ["a", "b"]}"#)?.first(0).unwrap().text(), "\"b\"");
/// assert_eq!(Engine::builder().build()?.bytes("{\"tags\": [\"c\"]}\n").count(&query)?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    text: String,
    ast: Ast,
    /// The condition on each match, if there is one.
    condition: Option<Arc<Predicate>>,
    levels: Level,
    cache: Cache,
}

impl Query {
    /// Parses a query (RFC 9535), and compiles it once as a check.
    ///
    /// # Errors
    /// [`Error::Query`] for text that is not a valid query, with the column; [`Error::Unsupported`] for a
    /// valid query that is too large.
    pub fn compile(text: &str) -> Result<Self, Error> {
        Self::parsed(text, None)
    }

    fn parsed(text: &str, format: Option<&TimeFormat>) -> Result<Self, Error> {
        let mut ast = parse(text).map_err(|error| Error::Query(QueryError::new(text, error)))?;
        if let Some(format) = format {
            set_format_in(&mut ast.segments, format);
        }
        Self { text: text.to_owned(), ast, condition: None, levels: 0, cache: Cache::default() }.checked()
    }

    /// Parses and checks a query with a format of the instants that `time` reads in filters. A call of `time`
    /// may have a format of its own.
    ///
    /// # Errors
    /// As for [`compile`](Self::compile).
    pub fn compile_with(text: &str, format: &TimeFormat) -> Result<Self, Error> {
        Self::parsed(text, Some(format))
    }

    /// Restricts the query to the matches for which a condition is true ([`Predicate::of_value`]). `@` is the
    /// match, and `$` the record. A query has one condition, which replaces an earlier one.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a condition that is too large. [`Error::Expression`] for one that has a
    /// column, because matches have none.
    pub fn holding(self, condition: &Predicate) -> Result<Self, Error> {
        Self { condition: Some(Arc::new(condition.clone())), ..self }.checked()
    }

    /// Compiles the query once, as a check.
    fn checked(mut self) -> Result<Self, Error> {
        self.cache = Cache::default();
        self.levels = Program::new(std::slice::from_ref(&self))?.levels();
        Ok(self)
    }

    /// Returns the condition on each match, if there is one.
    #[must_use]
    pub fn condition(&self) -> Option<&Predicate> {
        self.condition.as_deref()
    }

    /// Returns the query as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the syntax tree.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn ast(&self) -> &Ast {
        &self.ast
    }

    /// Returns true if the query selects at most one value of a record (RFC 9535, section 2.3.5.1).
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.ast.is_singular()
    }

    /// Returns the number of leveled bitmaps that the query reads, for `Input::index`.
    #[must_use]
    pub fn levels(&self) -> Level {
        self.levels
    }

    /// The cache of a backend's form of the query.
    #[doc(hidden)]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }
}

/// A path's column in rows and in typed columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name of the column.
    pub name: String,
    /// The name as a key of a JSON object, with its colon.
    pub key: String,
    /// True if the path selects at most one value of a record. Then a row has that value or null; otherwise
    /// it has a list.
    pub singular: bool,
    /// The type of the values in a typed column.
    pub values: ColumnType,
    /// The JSON text of the value of rows in which the path selects nothing or `null`.
    pub default: Option<Vec<u8>>,
    /// The format of instants in columns of [`ColumnType::Time`], in place of RFC 3339.
    pub time_format: Option<Arc<Format>>,
    /// The time zone in which rows of text have the instants of a column of [`ColumnType::Time`]; `None` for
    /// values as they are.
    pub shown_in: Option<Zone>,
}

impl Column {
    fn new(query: &Query) -> Self {
        let (singular, values) = (query.is_singular(), ColumnType::default());
        let mut column = Self {
            name: String::new(),
            key: String::new(),
            singular,
            values,
            default: None,
            time_format: None,
            shown_in: None,
        };
        column.rename(query.text());
        column
    }

    fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.key = json::encode(name) + ":";
    }
}

/// The code of a program's predicate about the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardCode {
    /// The first test.
    pub first: u32,
    /// The number of tests, which are the first of the program.
    pub tests: u32,
    /// The block of the record's root, which is entered if the predicate is true.
    pub block: u32,
}

/// Several queries compiled into one program, with shared prefixes, evaluated in one pass.
///
/// ```
/// use warpath::{Find, Predicate, Program, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let program = Program::new(&[Query::compile("$.id")?, Query::compile("$.tags[*]")?])?;
/// let found = program.find(br#"{"id": 7, "tags": ["a", "b"]}"#)?;
/// assert_eq!((found.of(0).count(), found.of(1).count()), (1, 2));
/// let only = program.matching(&Predicate::parse("$.id > 7")?.into(), false)?;
/// assert_eq!(only.find(br#"{"id": 7, "tags": ["a", "b"]}"#)?.count(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    instrs: Vec<Instr>,
    /// Number of instructions in blocks. The singular paths of filters follow them.
    blocks: u32,
    tests: Vec<Test>,
    /// The number of tests of the predicate, which are the first.
    guard_tests: u32,
    literals: Vec<u8>,
    automata: Vec<u16>,
    paths: PathIx,
    levels: Level,
    singular: bool,
    needs_trees: bool,
    plain_filters: bool,
    names: Vec<u32>,
    patterns_at_run: bool,
    host_tests: HostTests,
    /// The offset of each automaton, and the function and the pattern that it is of.
    accepted: Vec<(u32, String)>,
    columns: Vec<Column>,
    /// The queries from which the program was compiled.
    queries: Arc<[Query]>,
    /// The predicate on each record, if there is one.
    guard: Option<Guard>,
    cache: Cache,
}

impl Program {
    /// Compiles queries into one program. The order of the queries is the order of the program's paths.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a query that is too large, or for too many queries.
    pub fn new(queries: &[Query]) -> Result<Self, Error> {
        lower::lower(queries, None)
    }

    /// Returns the program with a predicate: it evaluates its paths only on records for which the predicate
    /// is true. With `marks`, such records match one more path, after the others
    /// ([`marks_records`](Self::marks_records)).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a predicate that is too large. [`Error::Expression`] for one that has a
    /// column, because records have none.
    pub fn matching(&self, predicate: &Arc<Predicate>, marks: bool) -> Result<Self, Error> {
        let guard = Guard { predicate: predicate.clone(), marks };
        let program = lower::lower(&self.queries, Some(guard))?;
        Ok(Self { columns: self.columns.clone(), ..program })
    }

    /// Names the paths in rows and columns (`Want::rows`). The default name is the path as written.
    ///
    /// # Errors
    /// [`Error::Usage`] unless there is one name for each path.
    pub fn with_names(mut self, names: &[impl AsRef<str>]) -> Result<Self, Error> {
        if names.len() != self.columns.len() {
            return Err(Error::Usage(format!("{} names for {} paths", names.len(), self.columns.len())));
        }
        for (column, name) in self.columns.iter_mut().zip(names) {
            column.rename(name.as_ref());
        }
        Ok(self)
    }

    /// Sets the types of the paths' values in columns (`Want::columns`). The default is [`ColumnType::Json`].
    ///
    /// # Errors
    /// [`Error::Usage`] unless there is one type for each path.
    pub fn with_types(mut self, types: &[ColumnType]) -> Result<Self, Error> {
        if types.len() != self.columns.len() {
            return Err(Error::Usage(format!("{} types for {} paths", types.len(), self.columns.len())));
        }
        for (column, values) in self.columns.iter_mut().zip(types) {
            column.values.clone_from(values);
        }
        Ok(self)
    }

    /// Sets the values of rows in which a path selects nothing or `null`, as JSON texts. A default of `null`
    /// is none.
    ///
    /// # Errors
    /// [`Error::Usage`] unless there is one default or none for each path, or for a default of a path that
    /// may select several values.
    pub fn with_defaults(mut self, defaults: &[Option<impl AsRef<str>>]) -> Result<Self, Error> {
        if defaults.len() != self.columns.len() {
            return Err(Error::Usage(format!(
                "{} defaults for {} paths",
                defaults.len(),
                self.columns.len()
            )));
        }
        for (column, default) in self.columns.iter_mut().zip(defaults) {
            let default =
                default.as_ref().map(|text| text.as_ref().trim_ascii()).filter(|text| *text != "null");
            if default.is_some() && !column.singular {
                return Err(Error::Usage(format!(
                    "the path of `{}` may select several values, which are a list; a default requires a path \
                     that selects at most one value",
                    column.name
                )));
            }
            column.default = default.map(|text| text.as_bytes().to_vec());
        }
        Ok(self)
    }

    /// Sets the format of the instants in columns of [`ColumnType::Time`].
    #[must_use]
    pub fn with_time_format(mut self, format: &Arc<Format>) -> Self {
        self.columns.iter_mut().for_each(|column| column.time_format = Some(format.clone()));
        self
    }

    /// Sets the time zone in which rows of text have the instants in columns of [`ColumnType::Time`], in the
    /// form of RFC 3339. Values that are no instants stay as they are.
    #[must_use]
    pub fn with_time_zone(mut self, zone: Option<Zone>) -> Self {
        self.columns.iter_mut().for_each(|column| column.shown_in = zone);
        self
    }

    /// Returns the queries from which the program was compiled.
    pub fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// Returns the paths as columns.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the predicate on each record, if there is one.
    #[must_use]
    pub fn predicate(&self) -> Option<&Arc<Predicate>> {
        self.guard.as_ref().map(|guard| &guard.predicate)
    }

    /// Returns where the code of the predicate is, if there is a predicate whose tests run no blocks.
    // Hidden: a backend alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn guard_code(&self) -> Option<GuardCode> {
        self.guard.as_ref()?;
        let Instr { a: first, c: runs_block, target: block, .. } = self.instrs[0];
        (runs_block == 0).then_some(GuardCode { first: first as u32, tests: self.guard_tests, block })
    }

    /// Returns true if the last path is a mark of the records for which the predicate is true. That path has
    /// no column.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn marks_records(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.marks)
    }

    /// Returns the number of paths, with the mark of records.
    #[must_use]
    pub fn paths(&self) -> usize {
        self.paths as usize
    }

    /// Returns the number of leveled bitmaps that the program reads; 0 if it needs trees.
    #[must_use]
    pub fn levels(&self) -> Level {
        self.levels
    }

    /// Returns true if every path selects at most one value of a record, which leveled bitmaps find.
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.singular
    }

    /// Returns true if the program is evaluated on the records' trees ([`warpath_shared::tree::tape`]), and
    /// not on leveled bitmaps. Such a program has a descendant segment, very deep paths, or a filter beyond
    /// singular paths and literals. A record with a token in a position that RFC 8259 does not allow is then
    /// a fault.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn needs_trees(&self) -> bool {
        self.needs_trees
    }

    /// Returns true if each filter has one test, for equality of a literal and a value found from the child.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn has_plain_filters(&self) -> bool {
        self.plain_filters
    }

    /// Returns, for each path, the instruction that has its name, if all paths are `$..name`; otherwise
    /// empty.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn names(&self) -> &[u32] {
        &self.names
    }

    /// Returns true if a pattern of `match` or `search` comes from the records, or if the host tests texts
    /// ([`host_tests`](Self::host_tests)). Only the CPU evaluates such a program.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn has_patterns_at_run(&self) -> bool {
        self.patterns_at_run
    }

    /// Returns the tests of texts that only the host makes.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn host_tests(&self) -> &HostTests {
        &self.host_tests
    }

    /// Returns the program in the form for kernels and the CPU, in this address space.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
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

    /// The cache of a backend's form of the program, which does not depend on names, types and defaults of
    /// columns.
    #[doc(hidden)]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Returns the parts of the program, to copy to a device.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn parts(&self) -> (&[Instr], &[Test], &[u8], &[u16]) {
        (&self.instrs, &self.tests, &self.literals, &self.automata)
    }
}
