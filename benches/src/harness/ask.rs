//! One query in the form of each tool, as the tool's own users would write it. `cases.json` has the queries.

use std::sync::LazyLock;

use serde::Deserialize;

use super::lengths::Length;
use super::values::Columns;
use crate::generate::Shape;

/// The queries of all charts.
#[derive(Deserialize)]
pub(super) struct Cases {
    /// The queries of the field.
    queries: Vec<OverShape>,
    /// Paths over directions that need an index of 1 to 8 levels.
    levels: Vec<String>,
    /// Fields of a tweet, from its beginning to its end.
    fields: Vec<String>,
    /// Records of growing length.
    pub(super) lengths: Vec<Length>,
}

/// A query of the records of a shape.
#[derive(Deserialize)]
struct OverShape {
    shape: Shape,
    #[serde(flatten)]
    ask: Ask,
}

pub(super) static CASES: LazyLock<Cases> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../cases.json"))
        .unwrap_or_else(|error| panic!("cases.json: {error}"))
});

/// A query in the languages of the tools.
#[derive(Clone, Debug, Deserialize)]
pub struct Ask {
    /// Its name in results.
    pub name: String,
    /// JSONPath, for the reference and Warpath.
    pub columns: Columns,
    /// The type of each column, for rows in Arrow's stream format. Other results are JSON and have none.
    #[serde(default)]
    pub types: Vec<Type>,
    /// For jq, jaq and qj.
    pub jq: Option<String>,
    /// For DuckDB, over a table `t` with a column `json`.
    pub sql: Option<Sql>,
    /// For Polars, over a lazy frame `t`.
    pub polars: Option<Polars>,
    /// The name by which `peers` knows it, for the libraries.
    pub library: Option<String>,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// Integers of 64 bits.
    Int64,
    /// Floats of 64 bits.
    Float64,
    /// Strings.
    String,
}

/// A query in SQL: `SELECT` without its `FROM`, and what follows that.
#[derive(Clone, Debug, Deserialize)]
pub struct Sql {
    /// The selected expressions for the values, in columns named as in the row, or `v`.
    pub values: String,
    /// The selected expression for the number of values; `None` for rows.
    pub count: Option<String>,
    /// `WHERE`, or nothing.
    #[serde(default)]
    pub filter: String,
}

/// A query in Polars' expressions.
#[derive(Clone, Debug, Deserialize)]
pub struct Polars {
    /// The schema of the needed columns.
    pub schema: String,
    /// The operation on the frame.
    pub select: String,
    /// True if the values are counted as well as printed.
    #[serde(default)]
    pub counts: bool,
}

impl Ask {
    /// A query for Warpath and the reference alone.
    pub fn path(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            columns: Columns::new(vec![(String::new(), path.into())]),
            types: Vec::new(),
            jq: None,
            sql: None,
            polars: None,
            library: None,
        }
    }

    /// Adds a jq filter.
    pub fn with_jq(self, jq: impl Into<String>) -> Self {
        Self { jq: Some(jq.into()), ..self }
    }

    /// The JSONPath of each column, and the condition.
    pub fn text(&self) -> String {
        let columns = &self.columns;
        let mut text =
            if columns.is_plain() { columns.paths[0].1.clone() } else { self.selected().join(" ") };
        if let Some(condition) = &columns.condition {
            text.push_str(" where ");
            text.push_str(condition);
        }
        text
    }

    /// The columns as `warpath select` takes them.
    pub fn selected(&self) -> Vec<String> {
        let types = self.types.iter().map(|of| match of {
            Type::Int64 => ":int64",
            Type::Float64 => ":float64",
            Type::String => ":string",
        });
        let types = types.chain(std::iter::repeat(""));
        self.columns.paths.iter().zip(types).map(|((name, path), of)| format!("{name}{of}={path}")).collect()
    }
}

/// The queries of the field, each with the shape of its records.
pub fn queries() -> impl Iterator<Item = (Shape, Ask)> {
    CASES.queries.iter().map(|query| (query.shape, query.ask.clone()))
}

/// The query of the field with a name.
///
/// # Panics
///
/// If there is none.
pub fn query(name: &str) -> Ask {
    queries().map(|(_, ask)| ask).find(|ask| ask.name == name).unwrap_or_else(|| panic!("no query {name}"))
}

/// `$.user.lang`: one field, the query of GpJSON's tables.
pub fn lang() -> Ask {
    query("one field")
}

/// The name of the user of a record of one length.
pub fn sized_name() -> Ask {
    Ask::path("name", "$.user.name").with_jq(".user.name")
}

/// A filter over records of one length that passes the users of a kind.
pub fn sized_kind(kind: &str) -> Ask {
    Ask::path(kind, format!("$.user[?@ == {kind:?}]")).with_jq(format!(".user.kind|select(.=={kind:?})"))
}

/// The query of the axis of depth, over directions: a path that needs `levels` levels of the index.
///
/// # Panics
///
/// If `levels` is not 1 to 8.
pub fn levels(levels: usize) -> Ask {
    Ask::path(format!("{levels}"), &*CASES.levels[levels - 1])
}

/// A query of the first `count` fields, in a list of a tweet's fields from its beginning to its end. The
/// result has one row per record.
///
/// # Panics
///
/// If the list has fewer than `count`.
pub fn fields(count: usize) -> Ask {
    let columns = CASES.fields[..count].iter().enumerate();
    let jq: Vec<String> = columns.clone().map(|(at, path)| format!("c{at}:.{path}")).collect();
    let columns = Columns::new(columns.map(|(at, path)| (format!("c{at}"), format!("$.{path}"))).collect());
    Ask { columns, ..Ask::path(format!("{count}"), "").with_jq(format!("{{{}}}", jq.join(","))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::ndjson;
    use crate::harness::values;

    /// Every path is one that the reference takes, and finds something in the data that it is meant for.
    #[test]
    fn every_query_finds_something() {
        let kinds = ["rare", "scarce", "common"].map(sized_kind);
        let mut all: Vec<(Shape, Vec<Ask>)> = queries().map(|(shape, ask)| (shape, vec![ask])).collect();
        all.push((Shape::Twitter, vec![fields(1), fields(32)]));
        all.push((Shape::Maps, (1..=8).map(levels).collect()));
        all.push((Shape::Sized(300), [&[sized_name()], &kinds[..]].concat()));
        for (shape, asks) in all {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            std::io::Write::write_all(&mut file, &ndjson(shape, 1, 3 << 20)).unwrap();
            let columns: Vec<Columns> = asks.iter().map(|ask| ask.columns.clone()).collect();
            for (ask, found) in asks.iter().zip(values::reference(file.path(), &columns).unwrap()) {
                assert!(found.count > 0, "{}", ask.text());
            }
        }
    }
}
