//! The queries of the axis of record length: the same questions of records of 84 bytes to 100 kB, each in the
//! form of each tool.

use serde::Deserialize;

use super::ask::{Ask, CASES, Polars, Sql, Type};
use super::values::Columns;
use crate::generate::Shape;

/// Records of a length.
#[derive(Clone, Debug, Deserialize)]
pub struct Length {
    /// Its name on the axis.
    pub label: String,
    /// The mean length of a record, in bytes.
    pub bytes: f64,
    /// The shape of the records.
    pub shape: Shape,
    /// The fields of the rows.
    fields: [Field; 5],
    /// The field of the query of one path.
    one: usize,
    /// Some records do not have this field.
    #[serde(default)]
    is_optional: bool,
    /// The field that the filter compares, and a literal that few records have there.
    compared: (usize, String),
    /// The field that the filter prints.
    kept: usize,
    /// A name for the query of descendants.
    name: String,
}

/// A field of the rows: its name there, its path without `$.`, and its type.
type Field = (String, String, Type);

/// The lengths, from the least.
pub fn lengths() -> &'static [Length] {
    &CASES.lengths
}

impl Length {
    /// One path.
    pub fn path(&self) -> Ask {
        let (_, path, of) = &self.fields[self.one];
        let (jq, filter, drop) = if self.is_optional {
            (format!(".{path} // empty"), format!("WHERE (json->'$.{path}') IS NOT NULL"), ".drop_nulls()")
        } else {
            (format!(".{path}"), String::new(), "")
        };
        Ask {
            sql: Some(Sql { values: format!("json->'$.{path}' AS v"), count: None, filter }),
            polars: Some(Polars {
                schema: format!("{{{}}}", schema(&[(path, *of)])),
                select: format!("t.select(v={}){drop}", expression(path)),
                counts: false,
            }),
            ..Ask::path(&*self.label, format!("$.{path}")).with_jq(jq)
        }
    }

    /// Five fields, a row for each record.
    pub fn rows(&self) -> Ask {
        let each = |of: &dyn Fn(&Field) -> String| self.fields.iter().map(of).collect::<Vec<_>>().join(",");
        let fields = self.fields.each_ref().map(|(_, path, of)| (path.as_str(), *of));
        Ask {
            columns: Columns::new(
                self.fields.iter().map(|(name, path, _)| (name.clone(), format!("$.{path}"))).collect(),
            ),
            sql: Some(Sql {
                values: each(&|(name, path, _)| format!("json->'$.{path}' AS {name}")),
                count: None,
                filter: String::new(),
            }),
            polars: Some(Polars {
                schema: format!("{{{}}}", schema(&fields)),
                select: format!(
                    "t.select({})",
                    each(&|(name, path, _)| format!("{name}={}", expression(path)))
                ),
                counts: false,
            }),
            ..Ask::path(&*self.label, "")
                .with_jq(format!("{{{}}}", each(&|(name, path, _)| format!("{name}:.{path}"))))
        }
    }

    /// The same five fields as typed columns in Arrow's stream format.
    pub fn arrow(&self) -> Ask {
        let value = |(name, path, of): &Field| match of {
            Type::Int64 => format!("CAST(json->'$.{path}' AS BIGINT) AS {name}"),
            Type::Float64 => format!("CAST(json->'$.{path}' AS DOUBLE) AS {name}"),
            Type::String => format!("json->>'$.{path}' AS {name}"),
        };
        let values: Vec<String> = self.fields.iter().map(value).collect();
        Ask {
            types: self.fields.iter().map(|(.., of)| *of).collect(),
            jq: None,
            sql: Some(Sql { values: values.join(","), count: None, filter: String::new() }),
            ..self.rows()
        }
    }

    /// A field of the few records that pass a comparison.
    pub fn filter(&self) -> Ask {
        let (_, kept, kept_type) = &self.fields[self.kept];
        let (at, literal) = &self.compared;
        let (_, path, of) = &self.fields[*at];
        let sql_literal = literal.replace('"', "'");
        let sql_value = match of {
            Type::String => format!("json->>'$.{path}'"),
            Type::Int64 | Type::Float64 => format!("CAST(json->'$.{path}' AS BIGINT)"),
        };
        let mut read = vec![(path.as_str(), *of)];
        if *at != self.kept {
            read.push((kept, *kept_type));
        }
        let plain = Ask::path(&*self.label, format!("$.{kept}"));
        Ask {
            columns: Columns { condition: Some(format!("$.{path} == {literal}")), ..plain.columns.clone() },
            sql: Some(Sql {
                values: format!("json->'$.{kept}' AS v"),
                count: None,
                filter: format!("WHERE ({sql_value}) = {sql_literal}"),
            }),
            polars: Some(Polars {
                schema: format!("{{{}}}", schema(&read)),
                select: format!(
                    "t.filter({} == {sql_literal}).select(v={})",
                    expression(path),
                    expression(kept)
                ),
                counts: false,
            }),
            ..plain.with_jq(format!("select(.{path}=={literal})|.{kept}"))
        }
    }

    /// A name wherever it is.
    pub fn descendants(&self) -> Ask {
        let name = &self.name;
        Ask::path(&*self.label, format!("$..{name}")).with_jq(format!(".. | .{name}? // empty"))
    }
}

/// A path as an expression of Polars. Of an array, only the first element is ever read.
fn expression(path: &str) -> String {
    let step = |name: &str| match name.strip_suffix("[0]") {
        Some(name) => (name.to_owned(), ".list.first()"),
        None => (name.to_owned(), ""),
    };
    let mut text = String::new();
    for (at, (name, first)) in path.split('.').map(step).enumerate() {
        text += if at == 0 { "pl.col('" } else { ".struct.field('" };
        text += &name;
        text += "')";
        text += first;
    }
    text
}

/// The members of a schema of Polars that has some paths.
fn schema(fields: &[(&str, Type)]) -> String {
    let mut members: Vec<(&str, Vec<(&str, Type)>)> = Vec::new();
    for (path, of) in fields {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        match members.iter_mut().find(|(member, _)| *member == name) {
            Some((_, inner)) => inner.push((rest, *of)),
            None => members.push((name, vec![(rest, *of)])),
        }
    }
    let text = |(name, inner): (&str, Vec<(&str, Type)>)| {
        let of = match inner[..] {
            [("", Type::Int64)] => "pl.Int64".to_owned(),
            [("", Type::Float64)] => "pl.Float64".to_owned(),
            [("", Type::String)] => "pl.String".to_owned(),
            _ => format!("pl.Struct({{{}}})", schema(&inner)),
        };
        match name.strip_suffix("[0]") {
            Some(name) => format!("'{name}': pl.List({of})"),
            None => format!("'{name}': {of}"),
        }
    };
    members.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::ndjson;
    use crate::harness::values;

    #[test]
    fn every_query_finds_what_it_is_meant_for() {
        for length in lengths() {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            let text = ndjson(length.shape, 1, 4 << 20);
            std::io::Write::write_all(&mut file, &text).unwrap();
            let records = text.iter().filter(|byte| **byte == b'\n').count() as u64;
            let mean = text.len() as f64 / records as f64;
            assert!((0.97..1.03).contains(&(mean / length.bytes)), "{}: {mean}", length.label);
            let asks = [length.path(), length.rows(), length.arrow(), length.filter(), length.descendants()];
            let queries: Vec<Columns> = asks.iter().map(|ask| ask.columns.clone()).collect();
            let found = values::reference(file.path(), &queries).unwrap();
            let counts: Vec<u64> = found.iter().map(|digest| digest.count).collect();
            let [path, rows, arrow, filter, descendants] = counts[..] else { panic!("{counts:?}") };
            assert!(path == records || length.is_optional && (path * 100 > records * 99), "{counts:?}");
            assert_eq!((rows, arrow), (records, records));
            assert!(filter > 0 && filter * 5 < records, "{}: {counts:?}", length.label);
            assert!(descendants * 100 > records * 99, "{}: {counts:?}", length.label);
        }
    }

    #[test]
    fn paths_are_expressions_and_schemas() {
        assert_eq!(expression("a"), "pl.col('a')");
        assert_eq!(expression("a[0].b.c"), "pl.col('a').list.first().struct.field('b').struct.field('c')");
        assert_eq!(
            schema(&[("a.b", Type::Int64), ("c", Type::String), ("a.d[0].e", Type::Float64)]),
            "'a': pl.Struct({'b': pl.Int64, 'd': pl.List(pl.Struct({'e': pl.Float64}))}), 'c': pl.String"
        );
    }
}
