//! Schemas of records, and schemas that callers give.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_schema::Schema as ArrowSchema;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use warpath::columns::NestedSchema;
use warpath::schema::{ArrowOptions, InputSchema, SchemaRow, arrow_text, create_table, json_schema, rows};
use warpath_core::error::Error;
use warpath_store::schema::ndjson;

use crate::border::{border, detached};
use crate::error::{Stop, raise, usage};
use crate::interrupt;
use crate::reading::Reading;

/// The name that the Arrow PyCapsule interface gives to capsules of schemas.
const SCHEMA_CAPSULE: &CStr = c"arrow_schema";

/// The schema of records: every path, with the kinds of its values.
///
/// Libraries of Arrow take it: ``pyarrow.schema(schema)``. ``Input.select`` takes it, too.
///
/// >>> schema = warpath.open("tweets.ndjson").schema()
/// >>> pyarrow.schema(schema).field("id").type
/// DataType(int64)
#[pyclass(frozen, module = "warpath")]
pub struct Schema(InputSchema);

impl Schema {
    pub fn new(schema: InputSchema) -> Self {
        Self(schema)
    }

    fn to_rows(&self) -> Vec<SchemaRow> {
        rows(&self.0.tree, &|position| self.0.locate(position))
    }

    fn to_arrow(&self) -> ArrowSchema {
        self.0.tree.to_arrow(ArrowOptions::default())
    }
}

#[pymethods]
impl Schema {
    /// A dictionary for each path: ``path``, ``count``, ``missing``, ``types`` with the number of values of
    /// each kind, ``first`` with the location of the first one, the least and the greatest value, and others.
    /// They are the lines that ``warpath schema --format ndjson`` prints.
    ///
    /// >>> warpath.open("tweets.ndjson").schema().rows()[1]["greatest"]
    /// 3
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        border(py, || {
            let loads = py.import("json")?.getattr("loads")?;
            let made = PyList::empty(py);
            for row in self.to_rows() {
                made.append(loads.call1((ndjson(&row),))?)?;
            }
            Ok(made)
        })
    }

    /// The schema as JSON Schema (draft 2020-12), which all records satisfy.
    ///
    /// >>> warpath.open("tweets.ndjson").schema().json_schema()["properties"]["id"]
    /// {'type': 'integer', 'examples': [1]}
    fn json_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        border(py, || py.import("json")?.getattr("loads")?.call1((json_schema(&self.0.tree),)))
    }

    /// The statement of SQL that creates a table for the records.
    ///
    /// >>> print(warpath.open("tweets.ndjson").schema().sql("tweets").splitlines()[0])
    /// CREATE TABLE "tweets" (
    #[pyo3(signature = (table="records"))]
    fn sql(&self, py: Python<'_>, table: &str) -> PyResult<String> {
        border(py, || Ok(create_table(table, &self.to_arrow())))
    }

    /// The Arrow schema in a capsule, for libraries of Arrow.
    ///
    /// >>> capsule = warpath.open("tweets.ndjson").schema().__arrow_c_schema__()
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        border(py, || capsule(py, &self.to_arrow()))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || Ok(arrow_text(&self.to_arrow())))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || Ok(format!("<warpath.Schema of {} paths>", self.to_rows().len())))
    }
}

/// Exports an Arrow schema.
pub fn capsule<'py>(py: Python<'py>, schema: &ArrowSchema) -> PyResult<Bound<'py, PyCapsule>> {
    let exported = FFI_ArrowSchema::try_from(schema);
    let exported = exported.map_err(|error| raise(py, Error::Internal(error.to_string())))?;
    PyCapsule::new_with_value(py, exported, SCHEMA_CAPSULE)
}

/// Reads the schema of an input, or of its first records.
pub fn read(py: Python<'_>, reading: &Reading, limit: Option<u64>) -> PyResult<InputSchema> {
    detached(py, || {
        let mut parts = reading.input()?.schema(limit);
        let mut records = 0;
        while limit.is_none_or(|limit| records < limit)
            && let Some(part) = interrupt::wait(|context| parts.poll(context))?
        {
            records += part?.records;
        }
        Ok::<_, Stop>(parts.finish())
    })
}

/// The columns of all records of an input, which is read for that.
pub fn of_all(py: Python<'_>, reading: &Reading) -> PyResult<NestedSchema> {
    NestedSchema::of_tree(&read(py, reading, None)?.tree).map_err(|error| raise(py, error))
}

/// The columns of a schema that the caller gives: one of Warpath, or an Arrow schema of any library.
pub fn of_object(object: &Bound<'_, PyAny>) -> PyResult<NestedSchema> {
    let py = object.py();
    if let Ok(schema) = object.cast::<Schema>() {
        return NestedSchema::of_tree(&schema.get().0.tree).map_err(|error| raise(py, error));
    }
    if !object.hasattr("__arrow_c_schema__")? {
        return Err(PyTypeError::new_err(
            "the schema is no schema; expected the result of `Input.schema`, or an object with \
             `__arrow_c_schema__`, such as a schema of pyarrow",
        ));
    }
    let exported = object.call_method0("__arrow_c_schema__")?;
    let exported = exported.cast::<PyCapsule>()?;
    let pointer = exported.pointer_checked(Some(SCHEMA_CAPSULE))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name has an `ArrowSchema` of the C data interface, by the contract of
    // `__arrow_c_schema__` that the object upholds. `exported` keeps it alive, and no Python code runs before
    // the reference ends. The schema is copied; the capsule stays its owner.
    let schema = ArrowSchema::try_from(unsafe { pointer.as_ref() });
    let schema = schema.map_err(|error| usage(py, format!("the schema: {error}")))?;
    NestedSchema::new(Arc::new(schema)).map_err(|error| raise(py, error))
}
