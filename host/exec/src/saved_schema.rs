//! Schemas that were saved as rows of NDJSON ([`ndjson`](warpath_store::schema::ndjson)), read again.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use warpath_answer::columns::Schema;
use warpath_core::error::Error;
use warpath_lang::column_type::ColumnType;
use warpath_lang::program::Query;
use warpath_store::schema::{JsonType, SchemaRow};

use crate::devices::DeviceChoice;
use crate::engine::Engine;
use crate::input::Source;

/// Reads the rows of a saved schema.
///
/// # Errors
/// The errors of the input. [`Error::Usage`] for a line that is no row of a schema.
pub fn rows(source: Source) -> Result<Vec<SchemaRow>, Error> {
    let name = source.name();
    let mut columns = vec![
        ("path".to_owned(), "$.path".to_owned(), ColumnType::Utf8),
        ("depth".to_owned(), "$.depth".to_owned(), ColumnType::Int64),
        ("missing".to_owned(), "$.missing".to_owned(), ColumnType::Int64),
        ("map".to_owned(), "$.map".to_owned(), ColumnType::Boolean),
    ];
    for name in ["repeated", "least", "greatest", "least_integer", "greatest_integer", "digits"] {
        columns.push((name.to_owned(), format!("$.{name}"), ColumnType::Int64));
    }
    for name in ["least", "greatest"] {
        columns.push((format!("{name} text"), format!("$.{name}"), ColumnType::Json));
    }
    for kind in JsonType::ALL {
        columns.push((format!("count {kind}"), format!("$.types.{kind}"), ColumnType::Int64));
        columns.push((format!("first {kind}"), format!("$.first.{kind}"), ColumnType::Utf8));
    }
    let queries = columns.iter().map(|(_, path, values)| Ok((Query::compile(path)?, values.clone())));
    let queries = queries.collect::<Result<Vec<_>, Error>>()?;
    let names: Vec<&str> = columns.iter().map(|(name, ..)| name.as_str()).collect();
    let schema = Schema::new(&queries)?.with_names(&names)?;
    let engine = Engine::builder().device(DeviceChoice::Cpu).build()?;
    let mut rows = Vec::new();
    let arrow = schema.to_arrow();
    for columns in engine.input(vec![source]).columns(&schema) {
        let batch = columns?.into_arrow(&arrow).map_err(|error| Error::Internal(error.to_string()))?;
        for at in 0..batch.num_rows() {
            let row = row(&batch, at).ok_or_else(|| {
                Error::Usage(format!("{name}: line {} is no row of a schema", rows.len() + 1))
            })?;
            rows.push(row);
        }
    }
    Ok(rows)
}

/// A row of a saved schema; `None` if it lacks a member that every row has.
fn row(batch: &RecordBatch, at: usize) -> Option<SchemaRow> {
    let text = |name: &str| {
        let column = batch.column_by_name(name)?.as_string_opt::<i32>()?;
        column.is_valid(at).then(|| column.value(at).to_owned())
    };
    let number = |name: &str| {
        let column = batch.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
        column.is_valid(at).then(|| u64::try_from(column.value(at)).ok())?
    };
    let map = batch.column_by_name("map")?.as_boolean_opt()?;
    let mut row = SchemaRow {
        path: text("path")?,
        depth: usize::try_from(number("depth")?).ok()?,
        missing: number("missing")?,
        is_map: map.is_valid(at) && map.value(at),
        ..SchemaRow::default()
    };
    for kind in JsonType::ALL {
        let Some(count) = number(&format!("count {kind}")) else { continue };
        row.counts[kind as usize] = count;
        row.firsts.push((kind, text(&format!("first {kind}"))?, String::new()));
    }
    let integer = |name: &str| {
        let column = batch.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
        column.is_valid(at).then(|| column.value(at))
    };
    if row.count(JsonType::Int64) > 0 {
        // The least and the greatest number are beyond 64 bits, or floats, where there are such numbers.
        let bound = |name: &str, other: &str, most| integer(name).or_else(|| integer(other)).unwrap_or(most);
        row.integers = Some((
            bound("least_integer", "least", i64::MIN),
            bound("greatest_integer", "greatest", i64::MAX),
        ));
    }
    row.numbers = text("least text").zip(text("greatest text"));
    row.repeated = number("repeated").unwrap_or(0);
    row.big_digits = number("digits").and_then(|digits| usize::try_from(digits).ok()).unwrap_or(0);
    Some(row)
}
