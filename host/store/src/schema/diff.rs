//! The differences between two schemas.

use std::collections::HashMap;

use super::json_type::JsonType;
use super::rows::SchemaRow;

/// A difference at one path.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::{Change, JsonType, SchemaRow, diff, rows};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let read = |text: &'static str| -> Result<Vec<SchemaRow>, warpath::Error> {
///     let mut parts = engine.bytes(text).schema(None);
///     parts.by_ref().try_for_each(|part| part.map(drop))?;
///     let schema = parts.finish();
///     Ok(rows(&schema.tree, &|position| schema.locate(position)))
/// };
/// let (before, after) = (read("{\"id\":1}")?, read("{\"id\":\"x\"}\n{}\n")?);
/// let changes: Vec<Change> = diff(&before, &after).into_iter().map(|found| found.change).collect();
/// let types = Change::Types(vec![JsonType::Int64], vec![JsonType::String]);
/// assert_eq!(changes, [types, Change::Nullable(false)]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The path exists only in the second schema.
    Appeared,
    /// The path exists only in the first schema.
    Vanished,
    /// These kinds exist only in one of the schemas: in the first, in the second. `null` is not among them.
    Types(Vec<JsonType>, Vec<JsonType>),
    /// The value may be null or missing in the second schema only. True if it was `null`.
    Nullable(bool),
    /// The value may be null or missing in the first schema only.
    NotNullable,
    /// The objects are maps in the second schema only, or in the first only.
    Map(bool),
}

/// A difference, with the rows of both schemas as far as they exist.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::{SchemaRow, diff, rows};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let read = |text: &'static str| -> Result<Vec<SchemaRow>, warpath::Error> {
///     let mut parts = engine.bytes(text).schema(None);
///     parts.by_ref().try_for_each(|part| part.map(drop))?;
///     let schema = parts.finish();
///     Ok(rows(&schema.tree, &|position| schema.locate(position)))
/// };
/// let (before, after) = (read("{\"id\":1}")?, read("{\"name\":\"x\"}")?);
/// for found in diff(&before, &after) {
///     // A path that vanished has no row in the second schema, and a new one has none in the first.
///     assert_eq!(found.before.is_some(), found.path == "$.id");
///     assert_eq!(found.after.is_some(), found.path == "$.name");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference<'a> {
    /// The path.
    pub path: &'a str,
    /// The change at the path.
    pub change: Change,
    /// The row of the first schema.
    pub before: Option<&'a SchemaRow>,
    /// The row of the second schema.
    pub after: Option<&'a SchemaRow>,
}

fn is_nullable(row: &SchemaRow) -> bool {
    row.missing > 0 || row.count(JsonType::Null) > 0
}

/// The differences from one schema to another, in the order of the first one's paths, then of the new paths.
/// Below a path that appeared or vanished, nothing is listed.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::{Change, SchemaRow, diff, rows};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let read = |text: &'static str| -> Result<Vec<SchemaRow>, warpath::Error> {
///     let mut parts = engine.bytes(text).schema(None);
///     parts.by_ref().try_for_each(|part| part.map(drop))?;
///     let schema = parts.finish();
///     Ok(rows(&schema.tree, &|position| schema.locate(position)))
/// };
/// let (before, after) = (read("{\"id\":1}")?, read("{\"id\":1,\"tags\":[]}")?);
/// let changes = diff(&before, &after);
/// assert_eq!((changes[0].path, &changes[0].change), ("$.tags", &Change::Appeared));
/// assert!(diff(&after, &after).is_empty());
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn diff<'a>(before: &'a [SchemaRow], after: &'a [SchemaRow]) -> Vec<Difference<'a>> {
    let by_path = |rows: &'a [SchemaRow]| -> HashMap<&'a str, &'a SchemaRow> {
        rows.iter().map(|row| (row.path.as_str(), row)).collect()
    };
    let (old, new) = (by_path(before), by_path(after));
    let mut all = Vec::new();
    for (row, skipped) in tops(before, &new) {
        let Some(other) = new.get(row.path.as_str()).copied() else {
            if !skipped {
                all.push(Difference {
                    path: &row.path,
                    change: Change::Vanished,
                    before: Some(row),
                    after: None,
                });
            }
            continue;
        };
        let mut add = |change| {
            all.push(Difference { path: &row.path, change, before: Some(row), after: Some(other) });
        };
        let only = |these: &SchemaRow, those: &SchemaRow| -> Vec<JsonType> {
            these.kinds().filter(|kind| those.count(*kind) == 0).collect()
        };
        let (gone, come) = (only(row, other), only(other, row));
        if !gone.is_empty() || !come.is_empty() {
            add(Change::Types(gone, come));
        }
        match (is_nullable(row), is_nullable(other)) {
            (false, true) => add(Change::Nullable(other.count(JsonType::Null) > 0)),
            (true, false) => add(Change::NotNullable),
            _ => {}
        }
        if row.is_map != other.is_map && row.count(JsonType::Object) > 0 && other.count(JsonType::Object) > 0
        {
            add(Change::Map(other.is_map));
        }
    }
    for (row, skipped) in tops(after, &old) {
        if !skipped && !old.contains_key(row.path.as_str()) {
            all.push(Difference {
                path: &row.path,
                change: Change::Appeared,
                before: None,
                after: Some(row),
            });
        }
    }
    all
}

/// Rows, each with true if a parent of it is not in the other schema.
fn tops<'a>(rows: &'a [SchemaRow], other: &HashMap<&str, &SchemaRow>) -> Vec<(&'a SchemaRow, bool)> {
    // The depth of the row below which all rows are skipped.
    let mut below: Option<usize> = None;
    rows.iter()
        .map(|row| {
            below = below.filter(|depth| row.depth > *depth);
            let skipped = below.is_some();
            if !skipped && !other.contains_key(row.path.as_str()) {
                below = Some(row.depth);
            }
            (row, skipped)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows::rows;
    use super::super::tree::SchemaTree;
    use super::super::walk::{WalkOptions, Walker};
    use super::*;

    fn rows_of(text: &str) -> Vec<SchemaRow> {
        let mut tree = SchemaTree::default();
        let options = WalkOptions { text: 0, most_records: u64::MAX, skips: false, without: &[] };
        Walker::default().walk(&mut tree, text.as_bytes(), options);
        rows(&tree, &|position| position.line.to_string())
    }

    #[test]
    fn changes_are_listed_once() {
        let before = rows_of("{\"a\":1,\"b\":{\"c\":1},\"d\":1,\"e\":null,\"f\":[1]}");
        let after =
            rows_of("{\"a\":\"x\",\"d\":2,\"e\":5,\"f\":[1],\"g\":[{\"h\":1}]}\n{\"a\":1,\"e\":6,\"f\":[]}");
        let found: Vec<_> = diff(&before, &after).into_iter().map(|one| (one.path, one.change)).collect();
        let want = [
            ("$.a", Change::Types(vec![], vec![JsonType::String])),
            ("$.b", Change::Vanished),
            ("$.d", Change::Nullable(false)),
            ("$.e", Change::Types(vec![], vec![JsonType::Int64])),
            ("$.e", Change::NotNullable),
            ("$.g", Change::Appeared),
        ];
        assert_eq!(found, want);
        assert!(diff(&before, &before).is_empty());
    }
}
