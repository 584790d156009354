//! The queries of the comparison, by name.

use std::str::FromStr;

use anyhow::{Context, Error};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// `$.user.lang`
    Lang,
    /// `$.user.lang` as `a` and `$.lang` as `b`
    Langs,
    /// `$.entities.hashtags[*].text`
    Hashtags,
    /// `$.user.lang`, where it is `nl`
    Filter,
    /// `$.bestMarketplacePrice.price`, or null, as `a` and `$.name` as `b`
    Walmart,
    /// `$.categoryPath[1:3].id`
    BestBuy,
}

impl Query {
    pub const NAMES: [&str; 6] = ["lang", "langs", "hashtags", "filter", "walmart", "bestbuy"];
    const ALL: [Query; 6] =
        [Query::Lang, Query::Langs, Query::Hashtags, Query::Filter, Query::Walmart, Query::BestBuy];
}

impl FromStr for Query {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let at = Self::NAMES.iter().position(|known| *known == name);
        at.map(|at| Self::ALL[at]).with_context(|| format!("{name:?} is none of {:?}", Self::NAMES))
    }
}
