//! Arrow schemas as text: lines of fields, and `CREATE TABLE`.

use std::collections::HashSet;
use std::fmt::Write as _;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};

use super::arrow::is_json;

/// An Arrow schema as text: a field on each line, as `name: type`, with `not null` where it holds. The fields
/// of structs, the elements of lists and the entries of maps follow, indented by two spaces.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::{ArrowOptions, arrow_text};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1,\"tags\":[\"a\"]}").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let fields = schema.tree.to_arrow(ArrowOptions::default());
/// assert_eq!(arrow_text(&fields), "id: int64 not null\ntags: list not null\n  item: utf8 not null\n");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn arrow_text(schema: &Schema) -> String {
    let mut out = String::new();
    for field in schema.fields() {
        add_field(field, 0, &mut out);
    }
    out
}

fn add_field(field: &Field, depth: usize, out: &mut String) {
    let name = match field.data_type() {
        DataType::Struct(_) => "struct".to_owned(),
        DataType::List(_) => "list".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::Utf8 if is_json(field) => "utf8 (arrow.json)".to_owned(),
        DataType::Timestamp(TimeUnit::Nanosecond, Some(zone)) => format!("timestamp(ns, {zone})"),
        other => format!("{other:?}").to_ascii_lowercase(),
    };
    let null = if field.is_nullable() { "" } else { " not null" };
    let name_of = field.name().escape_debug();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{:1$}{name_of}: {name}{null}", "", depth * 2);
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|field| add_field(field, depth + 1, out)),
        DataType::List(field) => add_field(field, depth + 1, out),
        DataType::Map(entries, _) => {
            if let DataType::Struct(fields) = entries.data_type() {
                fields.iter().for_each(|field| add_field(field, depth + 1, out));
            }
        }
        _ => {}
    }
}

/// `CREATE TABLE` for a schema, in the dialect of DuckDB: `STRUCT`, lists as `T[]`, `MAP`, `JSON`.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::{ArrowOptions, create_table};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1,\"tags\":[\"a\"]}\n{\"id\":2}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let fields = schema.tree.to_arrow(ArrowOptions::default());
/// let statement = create_table("log", &fields);
/// assert!(statement.contains("\"id\" BIGINT NOT NULL,\n  \"tags\" VARCHAR[]\n"), "{statement}");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn create_table(name: &str, schema: &Schema) -> String {
    let mut out = format!("CREATE TABLE {} (\n", quoted(name));
    for (at, (field, name)) in schema.fields().iter().zip(names(schema.fields())).enumerate() {
        let comma = if at > 0 { ",\n" } else { "" };
        let null = if field.is_nullable() { "" } else { " NOT NULL" };
        let _ = write!(out, "{comma}  {} {}{null}", quoted(&name), sql_type(field));
    }
    out + "\n);\n"
}

/// The names of fields as columns. SQL compares them without regard to case, and takes no empty one. An empty
/// name becomes `_`. A name that is taken gets the first of the suffixes `_2`, `_3` and so on that is free.
fn names(fields: &Fields) -> Vec<String> {
    let mut taken: HashSet<String> = fields.iter().map(|field| field.name().to_lowercase()).collect();
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    for field in fields {
        let name = if field.name().is_empty() { "_" } else { field.name() };
        let mut unique = name.to_owned();
        let mut number = 1;
        while !seen.insert(unique.to_lowercase()) {
            loop {
                number += 1;
                unique = format!("{name}_{number}");
                if taken.insert(unique.to_lowercase()) {
                    break;
                }
            }
        }
        names.push(unique);
    }
    names
}

/// A name as SQL quotes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn sql_type(field: &Field) -> String {
    match field.data_type() {
        DataType::Boolean => "BOOLEAN".into(),
        DataType::Int64 => "BIGINT".into(),
        DataType::Float64 => "DOUBLE".into(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision}, {scale})"),
        DataType::Utf8 if !is_json(field) => "VARCHAR".into(),
        // DuckDB has no type of nanoseconds with a time zone. This one has microseconds.
        DataType::Timestamp(..) => "TIMESTAMP WITH TIME ZONE".into(),
        DataType::Date32 => "DATE".into(),
        DataType::List(element) => sql_type(element) + "[]",
        DataType::Struct(fields) => {
            let fields: Vec<String> = names(fields)
                .iter()
                .zip(fields)
                .map(|(name, field)| format!("{} {}", quoted(name), sql_type(field)))
                .collect();
            format!("STRUCT({})", fields.join(", "))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP({}, {})", sql_type(&fields[0]), sql_type(&fields[1]))
            }
            _ => "JSON".into(),
        },
        // JSON text, nulls alone, and integers beyond DuckDB's decimals.
        _ => "JSON".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_differ_without_regard_to_case() {
        let fields = |names: &[&str]| -> Fields {
            names.iter().map(|name| Field::new(*name, DataType::Int64, false)).collect()
        };
        assert_eq!(
            names(&fields(&["a", "A", "", "_", "a_2", "Ä", "ä"])),
            ["a", "A_3", "_", "__2", "a_2", "Ä", "ä_2"]
        );
        let inner = Field::new("s", DataType::Struct(fields(&["x", "X", ""])), true);
        let table = create_table("t", &Schema::new(vec![inner]));
        assert!(table.contains(r#""s" STRUCT("x" BIGINT, "X_2" BIGINT, "_" BIGINT)"#), "{table}");
    }
}
