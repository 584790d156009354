//! One query in the form of each tool, as the tool's own users would write it.

use super::values::Columns;

/// A query in the languages of the tools.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Its name in results.
    pub name: String,
    /// JSONPath, for the reference and Warpath.
    pub columns: Columns,
    /// The type of each column, for rows in Arrow's stream format. Other results are JSON and have none.
    pub types: Vec<Type>,
    /// For jq, jaq and qj.
    pub jq: Option<String>,
    /// For DuckDB, over a table `t` with a column `json`.
    pub sql: Option<Sql>,
    /// For Polars, over a lazy frame `t`.
    pub polars: Option<Polars>,
    /// The name by which `peers` knows it, for the libraries.
    pub library: Option<&'static str>,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Integers of 64 bits.
    Int64,
    /// Floats of 64 bits.
    Float64,
    /// Strings.
    String,
}

/// A query in SQL: `SELECT` without its `FROM`, and what follows that.
#[derive(Clone, Debug)]
pub struct Sql {
    /// The selected expressions for the values, in columns named as in the row, or `v`.
    pub values: String,
    /// The selected expression for the number of values; `None` for rows.
    pub count: Option<String>,
    /// `WHERE`, or nothing.
    pub filter: String,
}

/// A query in Polars' expressions.
#[derive(Clone, Debug)]
pub struct Polars {
    /// The schema of the needed columns.
    pub schema: String,
    /// The operation on the frame.
    pub select: String,
    /// True if the values are counted as well as printed.
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

/// `$.user.lang`: one field, the query of GpJSON's tables.
pub fn lang() -> Ask {
    Ask {
        sql: Some(Sql {
            values: "json->'$.user.lang' AS v".into(),
            count: Some("count(json->'$.user.lang')".into()),
            filter: "".into(),
        }),
        polars: Some(Polars {
            schema: "{'user': pl.Struct({'lang': pl.String})}".into(),
            select: "t.select(v=pl.col('user').struct.field('lang'))".into(),
            counts: true,
        }),
        library: Some("lang"),
        ..Ask::path("one field", "$.user.lang").with_jq(".user.lang")
    }
}

/// Two fields, a row for each record.
pub fn langs() -> Ask {
    Ask {
        columns: Columns::new(vec![("a".into(), "$.user.lang".into()), ("b".into(), "$.lang".into())]),
        sql: Some(Sql {
            values: "json->'$.user.lang' AS a, json->'$.lang' AS b".into(),
            count: None,
            filter: "".into(),
        }),
        polars: Some(Polars {
            schema: "{'user': pl.Struct({'lang': pl.String}), 'lang': pl.String}".into(),
            select: "t.select(a=pl.col('user').struct.field('lang'), b=pl.col('lang'))".into(),
            counts: false,
        }),
        library: Some("langs"),
        ..Ask::path("two fields", "").with_jq("{a:.user.lang,b:.lang}")
    }
}

/// An array's elements.
pub fn hashtags() -> Ask {
    Ask {
        sql: Some(Sql {
            values: "unnest(json->'$.entities.hashtags[*].text') AS v".into(),
            count: Some("sum(len(json->'$.entities.hashtags[*].text'))".into()),
            filter: "".into(),
        }),
        polars: Some(Polars {
            schema: "{'entities': pl.Struct({'hashtags': pl.List(pl.Struct({'text': pl.String}))})}".into(),
            select: "t.select(v=pl.col('entities').struct.field('hashtags').explode().struct.field('text')).drop_nulls()".into(),
            counts: true,
        }),
        library: Some("hashtags"),
        ..Ask::path("hashtags", "$.entities.hashtags[*].text").with_jq(".entities.hashtags[].text")
    }
}

/// A name wherever it is.
pub fn descendants() -> Ask {
    Ask::path("descendants", "$..id_str").with_jq(".. | .id_str? // empty")
}

/// Elements for which a number compares with another.
pub fn numbers() -> Ask {
    Ask::path("numbers", "$.entities.hashtags[?@.indices[0] > 10].text")
        .with_jq(".entities.hashtags[]|select(.indices[0]>10).text")
}

/// A filter that few records pass: GpJSON's `$.user.lang[?(@ == 'nl')]`, said in the RFC's terms.
pub fn filter() -> Ask {
    Ask {
        sql: Some(Sql {
            values: "json->'$.user.lang' AS v".into(),
            count: Some("count(*)".into()),
            filter: "WHERE json->>'$.user.lang' = 'nl'".into(),
        }),
        polars: Some(Polars {
            schema: "{'user': pl.Struct({'lang': pl.String})}".into(),
            select: "t.select(v=pl.col('user').struct.field('lang')).filter(pl.col('v') == 'nl')".into(),
            counts: true,
        }),
        library: Some("filter"),
        ..Ask::path("filter", r#"$.user[?@ == "nl"]"#).with_jq(r#".user.lang|select(.=="nl")"#)
    }
}

/// GpJSON's query over Walmart's products: a field that three records of ten have, and one that all have.
pub fn walmart() -> Ask {
    Ask {
        columns: Columns::new(vec![
            ("a".into(), "$.bestMarketplacePrice.price".into()),
            ("b".into(), "$.name".into()),
        ]),
        sql: Some(Sql {
            values: "json->'$.bestMarketplacePrice.price' AS a, json->'$.name' AS b".into(),
            count: None,
            filter: "".into(),
        }),
        polars: Some(Polars {
            schema: "{'bestMarketplacePrice': pl.Struct({'price': pl.Float64}), 'name': pl.String}".into(),
            select: "t.select(a=pl.col('bestMarketplacePrice').struct.field('price'), b=pl.col('name'))"
                .into(),
            counts: false,
        }),
        library: Some("walmart"),
        ..Ask::path("walmart", "").with_jq("{a:.bestMarketplacePrice.price,b:.name}")
    }
}

/// GpJSON's query over Best Buy's products: a slice of an array.
pub fn bestbuy() -> Ask {
    Ask {
        sql: Some(Sql {
            values: "unnest((json->'$.categoryPath[*].id')[2:3]) AS v".into(),
            count: Some("sum(len((json->'$.categoryPath[*].id')[2:3]))".into()),
            filter: "".into(),
        }),
        polars: Some(Polars {
            schema: "{'categoryPath': pl.List(pl.Struct({'id': pl.String}))}".into(),
            select: "t.select(v=pl.col('categoryPath').list.slice(1, 2).explode().struct.field('id')).drop_nulls()".into(),
            counts: true,
        }),
        library: Some("bestbuy"),
        ..Ask::path("bestbuy", "$.categoryPath[1:3].id").with_jq(".categoryPath[1:3][].id")
    }
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
    const PATHS: [&str; 8] = [
        "$.status",
        "$.routes[*]",
        "$.routes[*].summary",
        "$.routes[*].legs[*]",
        "$.routes[*].legs[*].start_address",
        "$.routes[*].legs[*].steps[*]",
        "$.routes[*].legs[*].steps[*].travel_mode",
        "$.routes[*].legs[*].steps[*].distance.text",
    ];
    Ask::path(format!("{levels}"), PATHS[levels - 1])
}

/// A query of the first `count` fields, in a list of a tweet's fields from its beginning to its end. The
/// result has one row per record.
///
/// # Panics
///
/// If the list has fewer than `count`.
pub fn fields(count: usize) -> Ask {
    const PATHS: [&str; 32] = [
        "user.lang",
        "lang",
        "id_str",
        "text",
        "created_at",
        "user.screen_name",
        "retweet_count",
        "timestamp_ms",
        "user.followers_count",
        "user.friends_count",
        "source",
        "favorite_count",
        "user.id_str",
        "user.name",
        "user.verified",
        "filter_level",
        "in_reply_to_status_id_str",
        "user.location",
        "user.statuses_count",
        "truncated",
        "user.created_at",
        "is_quote_status",
        "user.description",
        "user.favourites_count",
        "reply_count",
        "quote_count",
        "user.listed_count",
        "favorited",
        "retweeted",
        "user.time_zone",
        "user.geo_enabled",
        "in_reply_to_screen_name",
    ];
    let columns = PATHS[..count].iter().enumerate();
    let jq: Vec<String> = columns.clone().map(|(at, path)| format!("c{at}:.{path}")).collect();
    let columns = Columns::new(columns.map(|(at, path)| (format!("c{at}"), format!("$.{path}"))).collect());
    Ask { columns, ..Ask::path(format!("{count}"), "").with_jq(format!("{{{}}}", jq.join(","))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Shape, ndjson};
    use crate::harness::values;

    /// Every path is one that the reference takes, and finds something in the data that it is meant for.
    #[test]
    fn every_query_finds_something() {
        let kinds = ["rare", "scarce", "common"].map(sized_kind);
        let twitter =
            [lang(), langs(), hashtags(), filter(), numbers(), descendants(), fields(1), fields(32)];
        for (shape, asks) in [
            (Shape::Twitter, &twitter[..]),
            (Shape::Walmart, &[walmart()]),
            (Shape::BestBuy, &[bestbuy()]),
            (Shape::Maps, &std::array::from_fn::<_, 8, _>(|at| levels(at + 1))),
            (Shape::Sized(300), &[&[sized_name()], &kinds[..]].concat()),
        ] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            std::io::Write::write_all(&mut file, &ndjson(shape, 1, 3 << 20)).unwrap();
            let columns: Vec<Columns> = asks.iter().map(|ask| ask.columns.clone()).collect();
            for (ask, found) in asks.iter().zip(values::reference(file.path(), &columns).unwrap()) {
                assert!(found.count > 0, "{}", ask.text());
            }
        }
    }
}
