//! The libraries, each by the entry point that its own documentation recommends for the task.

use std::str::FromStr;

use anyhow::{Context, Error, Result};
use rsonpath::engine::{Compiler, Engine, RsonpathEngine};
use rsonpath::input::BorrowedBytes;
use rsonpath::result::Match;
use serde::{Deserialize, Serialize};
use simd_json::Buffers;
use simd_json::prelude::{ValueAsArray, ValueAsScalar, ValueObjectAccess, ValueObjectAccessAsArray};
use sonic_rs::{LazyValue, PointerTree};

use crate::query::Query;
use crate::record::{Parse, put, typed};

#[derive(Clone, Copy, Debug)]
pub enum Library {
    /// `serde_json::from_slice` into a struct of the needed fields; the others are skipped.
    SerdeJsonTyped,
    /// `serde_json::from_slice` into a `Value`.
    SerdeJsonValue,
    /// `simd_json::serde::from_slice_with_buffers` into such a struct. It changes the line, so the line is
    /// copied first.
    SimdJsonTyped,
    /// `simd_json::borrowed::to_value_with_buffers`.
    SimdJsonValue,
    /// `sonic_rs::get` by path; `get_many` for several paths.
    SonicGet,
    /// `sonic_rs::from_slice` into a struct of the needed fields.
    SonicTyped,
    /// `RsonpathEngine`, compiled once for each path; several paths are several passes over a line.
    Rsonpath,
}

impl Library {
    pub const NAMES: [&str; 7] = [
        "serde_json-typed",
        "serde_json-value",
        "simd-json-typed",
        "simd-json-value",
        "sonic-rs-get",
        "sonic-rs-typed",
        "rsonpath",
    ];
    const ALL: [Library; 7] = [
        Library::SerdeJsonTyped,
        Library::SerdeJsonValue,
        Library::SimdJsonTyped,
        Library::SimdJsonValue,
        Library::SonicGet,
        Library::SonicTyped,
        Library::Rsonpath,
    ];

    /// Returns a reader that evaluates a query over one line after the other.
    pub fn reader(self, query: Query) -> Result<Box<dyn RecordReader>> {
        Ok(match self {
            Library::SerdeJsonTyped => {
                Box::new(move |line: &[u8], out: &mut Vec<u8>| typed(SerdeJson(line), query, out))
            }
            Library::SerdeJsonValue => {
                Box::new(move |line: &[u8], out: &mut Vec<u8>| serde_json_value(line, query, out))
            }
            Library::SimdJsonTyped => {
                let (mut copy, mut buffers) = (Vec::new(), Buffers::default());
                Box::new(move |line: &[u8], out: &mut Vec<u8>| {
                    copy.clear();
                    copy.extend_from_slice(line);
                    typed(SimdJson(&mut copy, &mut buffers), query, out)
                })
            }
            Library::SimdJsonValue => {
                let (mut copy, mut buffers) = (Vec::new(), Buffers::default());
                Box::new(move |line: &[u8], out: &mut Vec<u8>| {
                    copy.clear();
                    copy.extend_from_slice(line);
                    simd_json_value(&mut copy, &mut buffers, query, out)
                })
            }
            Library::SonicGet => {
                let tree = pair(query).map(|pair| {
                    let mut tree = PointerTree::new();
                    pair.into_iter().for_each(|path| tree.add_path(path));
                    tree
                });
                Box::new(move |line: &[u8], out: &mut Vec<u8>| sonic_get(line, query, tree.as_ref(), out))
            }
            Library::SonicTyped => {
                Box::new(move |line: &[u8], out: &mut Vec<u8>| typed(Sonic(line), query, out))
            }
            Library::Rsonpath => {
                let paths: &[&str] = match query {
                    Query::Lang | Query::Filter => &["$.user.lang"],
                    Query::Langs => &["$.user.lang", "$.lang"],
                    Query::Hashtags => &["$.entities.hashtags[*].text"],
                    Query::Walmart => &["$.bestMarketplacePrice.price", "$.name"],
                    Query::BestBuy => &["$.categoryPath[1:3].id"],
                };
                let engines: Vec<RsonpathEngine> = paths
                    .iter()
                    .map(|path| Ok(RsonpathEngine::compile_query(&rsonpath_syntax::parse(path)?)?))
                    .collect::<Result<_>>()?;
                Box::new(move |line: &[u8], out: &mut Vec<u8>| rsonpath_matches(line, query, &engines, out))
            }
        })
    }
}

impl FromStr for Library {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let at = Self::NAMES.iter().position(|known| *known == name);
        at.map(|at| Self::ALL[at]).with_context(|| format!("{name:?} is none of {:?}", Self::NAMES))
    }
}

/// Prints what is found in one line.
pub trait RecordReader {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<()>;
}

impl<F: FnMut(&[u8], &mut Vec<u8>) -> Result<()>> RecordReader for F {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self(line, out)
    }
}

struct SerdeJson<'a>(&'a [u8]);

impl<'a> Parse<'a> for SerdeJson<'a> {
    fn parse<T: Deserialize<'a>>(self) -> Result<T> {
        Ok(serde_json::from_slice(self.0)?)
    }
}

struct SimdJson<'a, 'b>(&'a mut [u8], &'b mut Buffers);

impl<'a> Parse<'a> for SimdJson<'a, '_> {
    fn parse<T: Deserialize<'a>>(self) -> Result<T> {
        Ok(simd_json::serde::from_slice_with_buffers(self.0, self.1)?)
    }
}

struct Sonic<'a>(&'a [u8]);

impl<'a> Parse<'a> for Sonic<'a> {
    fn parse<T: Deserialize<'a>>(self) -> Result<T> {
        Ok(sonic_rs::from_slice(self.0)?)
    }
}

/// A row of the two columns of [`Query::Langs`] and [`Query::Walmart`].
#[derive(Serialize)]
struct Row<A, B> {
    a: A,
    b: B,
}

fn serde_json_value(line: &[u8], query: Query, out: &mut Vec<u8>) -> Result<()> {
    let record: serde_json::Value = serde_json::from_slice(line)?;
    match query {
        Query::Lang => put(&record["user"]["lang"], out),
        Query::Langs => put(&Row { a: &record["user"]["lang"], b: &record["lang"] }, out),
        Query::Hashtags => {
            let hashtags = record["entities"]["hashtags"].as_array().context("hashtags")?;
            hashtags.iter().try_for_each(|hashtag| put(&hashtag["text"], out))
        }
        Query::Filter if record["user"]["lang"] == "nl" => put(&record["user"]["lang"], out),
        Query::Filter => Ok(()),
        Query::Walmart => put(&Row { a: &record["bestMarketplacePrice"]["price"], b: &record["name"] }, out),
        Query::BestBuy => {
            let path = record["categoryPath"].as_array().context("categoryPath")?;
            path.iter().skip(1).take(2).try_for_each(|category| put(&category["id"], out))
        }
    }
}

fn simd_json_value(line: &mut [u8], buffers: &mut Buffers, query: Query, out: &mut Vec<u8>) -> Result<()> {
    let record = simd_json::borrowed::to_value_with_buffers(line, buffers)?;
    let lang = || record.get("user").and_then(|user| user.get("lang"));
    match query {
        Query::Lang => put(&lang(), out),
        Query::Langs => put(&Row { a: lang(), b: record.get("lang") }, out),
        Query::Hashtags => {
            let hashtags = record.get("entities").and_then(|entities| entities.get_array("hashtags"));
            hashtags.context("hashtags")?.iter().try_for_each(|hashtag| put(&hashtag.get("text"), out))
        }
        Query::Filter if lang().and_then(|lang| lang.as_str()) == Some("nl") => put(&lang(), out),
        Query::Filter => Ok(()),
        Query::Walmart => {
            let price = record.get("bestMarketplacePrice").and_then(|price| price.get("price"));
            put(&Row { a: price, b: record.get("name") }, out)
        }
        Query::BestBuy => {
            let path = record.get("categoryPath").and_then(|path| path.as_array()).context("categoryPath")?;
            path.iter().skip(1).take(2).try_for_each(|category| put(&category.get("id"), out))
        }
    }
}

/// The two paths of a query that has two.
fn pair(query: Query) -> Option<[Vec<&'static str>; 2]> {
    match query {
        Query::Langs => Some([vec!["user", "lang"], vec!["lang"]]),
        Query::Walmart => Some([vec!["bestMarketplacePrice", "price"], vec!["name"]]),
        _ => None,
    }
}

fn sonic_get(line: &[u8], query: Query, tree: Option<&PointerTree>, out: &mut Vec<u8>) -> Result<()> {
    let put_raw = |value: &LazyValue, out: &mut Vec<u8>| {
        out.extend_from_slice(value.as_raw_str().as_bytes());
        out.push(b'\n');
    };
    match query {
        Query::Lang => put_raw(&sonic_rs::get(line, ["user", "lang"])?, out),
        Query::Langs | Query::Walmart => {
            let found = sonic_rs::get_many(line, tree.context("two paths have a tree")?)?;
            put_row(found.iter().map(|value| value.as_ref().map(LazyValue::as_raw_str)), out);
        }
        Query::Hashtags => {
            let hashtags = sonic_rs::get(line, ["entities", "hashtags"])?;
            for hashtag in sonic_rs::to_array_iter(hashtags.as_raw_str()) {
                put_raw(&sonic_rs::get(hashtag?.as_raw_str(), ["text"])?, out);
            }
        }
        Query::Filter => {
            let lang = sonic_rs::get(line, ["user", "lang"])?;
            if lang.as_raw_str() == "\"nl\"" {
                put_raw(&lang, out);
            }
        }
        Query::BestBuy => {
            let path = sonic_rs::get(line, ["categoryPath"])?;
            for category in sonic_rs::to_array_iter(path.as_raw_str()).skip(1).take(2) {
                put_raw(&sonic_rs::get(category?.as_raw_str(), ["id"])?, out);
            }
        }
    }
    Ok(())
}

fn rsonpath_matches(line: &[u8], query: Query, engines: &[RsonpathEngine], out: &mut Vec<u8>) -> Result<()> {
    let input = BorrowedBytes::new(line);
    let matches = |engine: &RsonpathEngine| -> Result<Vec<Match>> {
        let mut found = Vec::new();
        engine.matches(&input, &mut found)?;
        Ok(found)
    };
    if let [first, second] = engines {
        let (first, second) = (matches(first)?, matches(second)?);
        let text = |found: &[Match]| {
            found.first().map(|found| str::from_utf8(found.bytes()).map(str::to_owned)).transpose()
        };
        let (first, second) = (text(&first)?, text(&second)?);
        put_row([first.as_deref(), second.as_deref()].into_iter(), out);
        return Ok(());
    }
    for found in engines.iter().map(matches).collect::<Result<Vec<_>>>()?.iter().flatten() {
        if query != Query::Filter || found.bytes() == b"\"nl\"" {
            out.extend_from_slice(found.bytes());
            out.push(b'\n');
        }
    }
    Ok(())
}

/// Appends a row of raw JSON values, or null, in the columns `a` and `b`.
fn put_row<'a>(values: impl Iterator<Item = Option<&'a str>>, out: &mut Vec<u8>) {
    for (name, value) in ["{\"a\":", ",\"b\":"].into_iter().zip(values) {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(value.unwrap_or("null").as_bytes());
    }
    out.extend_from_slice(b"}\n");
}
