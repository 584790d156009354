//! Records with no fields but those that a query needs: what users of typed deserialisation write.

use std::borrow::Cow;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::query::Query;

#[derive(Deserialize)]
struct WithUser<'a> {
    #[serde(borrow)]
    user: WithLang<'a>,
}

#[derive(Deserialize)]
struct WithLang<'a> {
    #[serde(borrow)]
    lang: Cow<'a, str>,
}

#[derive(Deserialize)]
struct WithLangs<'a> {
    #[serde(borrow)]
    user: WithLang<'a>,
    #[serde(borrow)]
    lang: Cow<'a, str>,
}

#[derive(Deserialize)]
struct WithEntities<'a> {
    #[serde(borrow)]
    entities: Entities<'a>,
}

#[derive(Deserialize)]
struct Entities<'a> {
    #[serde(borrow)]
    hashtags: Vec<Hashtag<'a>>,
}

#[derive(Deserialize)]
struct Hashtag<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WalmartProduct<'a> {
    best_marketplace_price: Option<Price>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Price {
    price: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BestBuyProduct<'a> {
    #[serde(borrow)]
    category_path: Vec<Category<'a>>,
}

#[derive(Deserialize)]
struct Category<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

/// A row of two columns.
#[derive(Serialize)]
struct Row<A, B> {
    a: A,
    b: B,
}

/// Something that makes records out of one line.
pub trait Parse<'a> {
    fn parse<T: Deserialize<'a>>(self) -> Result<T>;
}

/// Parses the line as the record that the query needs, and prints what it asks for.
pub fn typed<'a>(line: impl Parse<'a>, query: Query, out: &mut Vec<u8>) -> Result<()> {
    match query {
        Query::Lang => put(&line.parse::<WithUser>()?.user.lang, out),
        Query::Langs => {
            let WithLangs { user, lang } = line.parse()?;
            put(&Row { a: user.lang, b: lang }, out)
        }
        Query::Hashtags => {
            let WithEntities { entities } = line.parse()?;
            entities.hashtags.iter().try_for_each(|hashtag| put(&hashtag.text, out))
        }
        Query::Filter => match line.parse::<WithUser>()?.user.lang {
            lang if lang == "nl" => put(&lang, out),
            _ => Ok(()),
        },
        Query::Walmart => {
            let WalmartProduct { best_marketplace_price, name } = line.parse()?;
            put(&Row { a: best_marketplace_price.map(|price| price.price), b: name }, out)
        }
        Query::BestBuy => {
            let BestBuyProduct { category_path } = line.parse()?;
            let some = category_path.iter().skip(1).take(2);
            some.map(|category| &category.id).try_for_each(|id| put(id, out))
        }
    }
}

/// Appends a value as JSON, and a newline.
pub fn put(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.push(b'\n');
    Ok(())
}
