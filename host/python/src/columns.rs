//! The columns of a selection: what the caller gives, and the schema that is made of it.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use warpath::columns::{ColumnType, DeviceBatches, NestedSchema, Schema};
use warpath::{Answers, Error, Program, Query, Records};
use warpath_answer::answer::Want;

use crate::error::{raise, usage};
use crate::reading::Reading;
use crate::rows::OnMismatch;
use crate::schema;

/// The types, as messages list them.
const TYPES: &str = "bool, int64, float64, decimal(P,S), int64(string), string, text, json, time, date, list<TYPE>, struct<NAME:TYPE,...>, auto";

/// The columns of a selection.
#[derive(Clone)]
pub enum SelectedColumns {
    /// A column for each path.
    Typed(Box<Schema>),
    /// A column for each member of the records.
    Nested(Arc<NestedSchema>),
}

impl SelectedColumns {
    /// The schema of all batches.
    pub fn arrow(&self) -> SchemaRef {
        match self {
            Self::Typed(schema) => schema.to_arrow(),
            Self::Nested(schema) => schema.schema().clone(),
        }
    }

    /// The name and the type of each column whose values are counted. Nested columns are counted one by one,
    /// and have their paths as names.
    pub fn counted(&self) -> Vec<(String, String)> {
        match self {
            Self::Typed(schema) => {
                let columns = schema.program().columns().iter();
                columns.map(|column| (column.name.clone(), column.values.to_string())).collect()
            }
            Self::Nested(schema) => schema.typed_paths(),
        }
    }

    /// Starts to read the rows of an input.
    pub fn read(&self, reading: &Reading, want: Want) -> Result<Answers<'static>, Error> {
        Ok(match self {
            Self::Typed(schema) => {
                reading.input()?.answers(schema.program().clone(), want.columns(schema.width()))
            }
            Self::Nested(schema) => {
                let root = Program::new(&[Query::compile("$")?])?;
                reading.input_for_nested()?.decoding(schema.clone()).answers(root, want)
            }
        })
    }

    /// Starts to read the rows of an input to columns that stay on its device.
    pub fn read_on_device(&self, reading: &Reading) -> Result<DeviceBatches<'static>, Error> {
        match self {
            Self::Typed(schema) => Ok(reading.input()?.device_columns(schema)),
            Self::Nested(_) => Err(Error::Usage(
                "nested columns cannot stay on a device; expected columns with paths: {\"id\": \"$.id\"}"
                    .into(),
            )),
        }
    }
}

/// A column as the caller gives it.
pub struct Spec {
    name: String,
    path: String,
    values: Option<String>,
    /// The JSON text in place of missing values and null.
    default: Option<String>,
}

/// Takes the columns of a mapping from names to paths, or to tuples of path, type and default.
pub fn specs(columns: &Bound<'_, PyAny>) -> PyResult<Vec<Spec>> {
    let wrong = |name: &str| {
        PyTypeError::new_err(format!(
            "column {name:?}: expected a path, (path, type) or (path, type, default)"
        ))
    };
    let mut specs = Vec::new();
    let items = columns.call_method0("items").map_err(|_| {
        PyTypeError::new_err(format!(
            "columns is {columns:?}; expected a path for each name, as in {{\"id\": \"$.id\"}}"
        ))
    });
    for item in items?.try_iter()? {
        let (name, value): (String, Bound<'_, PyAny>) = item?.extract()?;
        if let Ok(path) = value.cast::<PyString>() {
            specs.push(Spec { name, path: path.to_string(), values: None, default: None });
            continue;
        }
        let parts = value.cast::<PyTuple>().map_err(|_| wrong(&name))?;
        if !(1..=3).contains(&parts.len()) {
            return Err(wrong(&name));
        }
        let part = |at: usize| parts.get_item(at).ok().filter(|part| !part.is_none());
        let text = |at| part(at).map(|part| part.extract::<String>().map_err(|_| wrong(&name))).transpose();
        let default = match part(2) {
            Some(default) => {
                let dumps = columns.py().import("json")?.getattr("dumps")?;
                Some(dumps.call1((default,))?.extract()?)
            }
            None => None,
        };
        let path = text(0)?.ok_or_else(|| wrong(&name))?;
        specs.push(Spec { path, values: text(1)?, default, name });
    }
    Ok(specs)
}

/// Makes the columns for some paths. `known` has the types of columns without one; without it, all records
/// are read where types are needed. `auto` is true if columns without a type have that of their values. Also
/// returns the input of the rows: its records, or with `explode` the elements in them.
pub fn typed(
    py: Python<'_>,
    reading: &Reading,
    specs: &[Spec],
    mut known: Option<NestedSchema>,
    auto: bool,
    explode: Option<&str>,
    on_mismatch: OnMismatch,
) -> PyResult<(SelectedColumns, Reading)> {
    let failed = |error| raise(py, error);
    if specs.is_empty() {
        return Err(usage(py, "there are no columns; expected a path for each name: {\"id\": \"$.id\"}"));
    }
    let elements = explode.map(|path| reading.query(path)?.elements()).transpose().map_err(failed)?;
    let compile = |path: &str| match (path.strip_prefix('@'), &elements) {
        (Some(rest), Some(elements)) => reading.query(&format!("{}{rest}", elements.text())),
        _ => reading.query(path),
    };
    let queries: Vec<Query> =
        specs.iter().map(|spec| compile(&spec.path)).collect::<Result<_, _>>().map_err(failed)?;
    let mut types = Vec::new();
    for (spec, query) in specs.iter().zip(&queries) {
        types.push(match spec.values.as_deref() {
            None if !auto => ColumnType::Text,
            Some(values) if values != "auto" => values
                .parse()
                .map_err(|why| usage(py, format!("column {:?}: {why}; the types are {TYPES}", spec.name)))?,
            _ => {
                let schema = match &known {
                    Some(schema) => schema,
                    None => known.insert(schema::of_all(py, reading)?),
                };
                schema.type_at(query).ok_or_else(|| {
                    let (name, path) = (&spec.name, query.text());
                    usage(
                        py,
                        format!(
                            "column {name:?}: the schema has no path `{path}`, so it has no type; give the \
                             column one: ({path:?}, \"text\")"
                        ),
                    )
                })?
            }
        });
    }
    if on_mismatch == OnMismatch::String {
        // Text takes all values of all types. JSON text does, too, and keeps quotes.
        types
            .iter_mut()
            .filter(|values| **values != ColumnType::Json)
            .for_each(|values| *values = ColumnType::Text);
    }
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let defaults: Vec<Option<&str>> = specs.iter().map(|spec| spec.default.as_deref()).collect();
    let make = || {
        let mut reading = reading.clone();
        let program = match &elements {
            None => Program::new(&queries)?,
            Some(elements) => {
                let (records, paths) = Records::of_elements(elements, &queries)?;
                let records = match &reading.predicate {
                    Some(predicate) => records.matching(predicate),
                    None => records,
                };
                reading.records = Some(records);
                Program::new(&paths.iter().map(|path| reading.query(path)).collect::<Result<Vec<_>, _>>()?)?
            }
        };
        let program = program.with_names(&names)?.with_types(&types)?.with_defaults(&defaults)?;
        let schema = Schema::of_program(match &reading.time_format {
            Some(format) => program.with_time_format(format),
            None => program,
        })?;
        Ok((SelectedColumns::Typed(Box::new(schema)), reading))
    };
    make().map_err(failed)
}

/// Makes a column for each member of the records. Reads all records, if no schema is known.
pub fn nested(py: Python<'_>, reading: &Reading, known: Option<NestedSchema>) -> PyResult<SelectedColumns> {
    let schema = match known {
        Some(schema) => schema,
        None => schema::of_all(py, reading)?,
    };
    Ok(SelectedColumns::Nested(Arc::new(schema)))
}
