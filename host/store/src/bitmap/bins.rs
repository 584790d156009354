//! How the values of a column are cut into bins.
//!
//! Bins of values are ranges of the values that there are: neighbours in order, none of them empty, and equal values are in one bin
//! however they are cut. A [`BinSpec`] says how:
//!
//! | text | bins |
//! |---|---|
//! | `auto` | `distinct` if there are no more than 256 distinct values, else `quantiles:64` |
//! | `distinct` | one for each distinct value, of which there may be 65,536 |
//! | `edges:10,100,1000` | values from one edge to the next, which is not in it; below the first and from the last on, too |
//! | `width:20` | so many ranges of the same width, from the least number or instant to the greatest |
//! | `quantiles:20` | so many, of as nearly the same number of rows as equal values allow |
//! | `lloyd:25` | so many clusters of numbers or instants, as near to their means as Lloyd's algorithm comes (one-dimensional k-means) |
//!
//! Booleans have a bin each, by quantiles too. What asks for more bins than there are distinct values gets a bin for each of these, but for `edges` and `width`, whose empty bins are left out.
//!
//! Infinities are values like others for edges and quantiles. They are left out of widths and means: -∞ is in the first bin then, and ∞
//! in the last.
//!
//! | module | question it answers |
//! |---|---|
//! | `sorted` | which distinct values are there, in order, and how often? |
//! | `texts` | and which of them has each row, where they are texts? |
//! | `cut` | where is it cut, by distinct values, edges, widths and quantiles? |
//! | `lloyd` | and by means? |

pub mod cut;
mod lloyd;
pub mod sorted;
pub mod texts;

use std::fmt;
use std::str::FromStr;

use warpath_core::error::Error;
use warpath_core::json;
use warpath_shared::column::Kind as JsonKind;

pub use lloyd::MAX_ROUNDS;
pub(super) use sorted::{Value, float, scalar};

/// The most bins that may be asked for, and the most distinct values that have a bin each.
pub const MAX_BINS: u32 = 1 << 16;
/// The most distinct values that [`BinSpec::Auto`] gives a bin each.
pub const AUTO_DISTINCT: usize = 256;
/// The bins of [`BinSpec::Auto`] where there are more.
pub const AUTO_QUANTILES: u32 = 64;

/// How a column is cut. Its text is `auto`, `distinct`, `edges:A,B,…`, `width:N`, `quantiles:N` or `lloyd:N`; see the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BinSpec {
    /// By distinct values if they are few, else by quantiles.
    #[default]
    Auto,
    /// A bin for each distinct value.
    Distinct,
    /// Between edges, which are in order.
    Edges(Vec<Edge>),
    /// Into so many ranges of the same width: 1 to [`MAX_BINS`].
    Width(u32),
    /// Into so many ranges of about the same number of rows: 1 to [`MAX_BINS`].
    Quantiles(u32),
    /// Into so many clusters: 1 to [`MAX_BINS`].
    Lloyd(u32),
}

/// An edge between bins, as it is written: of which kind it is depends on the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Without quotes: a number of JSON, an instant of RFC 3339, or a text without commas.
    Bare(Box<str>),
    /// In quotes, with the escapes of JSON: a text, or an instant.
    Quoted(Box<str>),
}

impl Edge {
    /// What it says.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Bare(text) | Self::Quoted(text) => text,
        }
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(text) => f.write_str(text),
            Self::Quoted(text) => f.write_str(&json::encode(text)),
        }
    }
}

impl fmt::Display for BinSpec {
    /// The text that is parsed as it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Distinct => f.write_str("distinct"),
            Self::Edges(edges) => {
                for (at, edge) in edges.iter().enumerate() {
                    write!(f, "{}{edge}", if at == 0 { "edges:" } else { "," })?;
                }
                Ok(())
            }
            Self::Width(bins) => write!(f, "width:{bins}"),
            Self::Quantiles(bins) => write!(f, "quantiles:{bins}"),
            Self::Lloyd(bins) => write!(f, "lloyd:{bins}"),
        }
    }
}

impl FromStr for BinSpec {
    type Err = Error;

    /// # Errors
    /// [`Error::Usage`] where it is none of what the [module](self) says.
    fn from_str(spec: &str) -> Result<Self, Error> {
        let bad = |what: &str| Error::Usage(format!("`{spec}`: {what}"));
        let (name, rest) = spec.split_once(':').map_or((spec, None), |(name, rest)| (name, Some(rest)));
        let count = || {
            let count = rest.and_then(|rest| rest.parse::<u32>().ok());
            count.filter(|count| (1..=MAX_BINS).contains(count)).ok_or_else(|| {
                bad(&format!("a number of bins comes after the colon, 1 to {MAX_BINS}: `{name}:25`"))
            })
        };
        match (name, rest) {
            ("auto", None) => Ok(Self::Auto),
            ("distinct", None) => Ok(Self::Distinct),
            ("auto" | "distinct", Some(_)) => Err(bad(&format!("nothing comes after `{name}`"))),
            ("width", _) => count().map(Self::Width),
            ("quantiles", _) => count().map(Self::Quantiles),
            ("lloyd", _) => count().map(Self::Lloyd),
            ("edges", rest) => match edges(rest.unwrap_or_default()) {
                Ok(edges) if edges.len() < MAX_BINS as usize => Ok(Self::Edges(edges)),
                Ok(_) => Err(bad(&format!("there may be {MAX_BINS} bins at most"))),
                Err(what) => Err(bad(&format!("{what}: `edges:10,100,1000`"))),
            },
            _ => Err(bad(
                "is no way to cut a column; there are auto, distinct, edges:A,B,…, width:N, quantiles:N and lloyd:N",
            )),
        }
    }
}

/// Edges with commas between them.
fn edges(text: &str) -> Result<Vec<Edge>, &'static str> {
    let mut edges = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let (edge, behind) = if rest.starts_with('"') {
            let end = quoted_len(rest).ok_or("an edge has a quote that is not closed")?;
            let mut bytes = Vec::new();
            if !json::say(JsonKind::Utf8, &rest.as_bytes()[..end], &mut bytes) {
                return Err("an edge has an escape that is none");
            }
            let said = String::from_utf8(bytes).map_err(|_| "an edge is not UTF-8")?;
            (Edge::Quoted(said.into()), rest[end..].trim_start())
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let bare = rest[..end].trim_end();
            if bare.is_empty() {
                return Err("edges come after the colon, with commas between them");
            }
            (Edge::Bare(bare.into()), &rest[end..])
        };
        edges.push(edge);
        if behind.is_empty() {
            return Ok(edges);
        }
        rest = behind.strip_prefix(',').ok_or("a comma comes after an edge")?;
    }
}

/// How long the JSON string is with which a text begins.
fn quoted_len(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map(|end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_texts() {
        for text in [
            "auto",
            "distinct",
            "width:1",
            "quantiles:65536",
            "lloyd:25",
            "edges:0",
            "edges:-1.5,2e3,18446744073709551616",
            "edges:a,b c,2020-01-01T00:00:00Z",
            r#"edges:"a,b","\"\\\n",c"#,
        ] {
            assert_eq!(text.parse::<BinSpec>().unwrap().to_string(), text);
        }
        let spaced = " edges: 1 , \"\\u0062\" ,c d".trim_start().parse::<BinSpec>().unwrap();
        assert_eq!(spaced.to_string(), "edges:1,\"b\",c d");
        assert_eq!(BinSpec::default(), BinSpec::Auto);
    }

    #[test]
    fn what_is_no_spec_is_told() {
        for (text, said) in [
            ("", "is no way to cut a column; there are auto, distinct, edges:A,B,…, width:N,"),
            ("Lloyd:25", "is no way to cut a column"),
            ("lloyd", "a number of bins comes after the colon, 1 to 65536: `lloyd:25`"),
            ("lloyd:", "a number of bins"),
            ("lloyd:0", "a number of bins"),
            ("width:65537", "a number of bins"),
            ("quantiles:-1", "a number of bins"),
            ("quantiles:4x", "a number of bins"),
            ("distinct:4", "nothing comes after `distinct`"),
            ("edges", "edges come after the colon"),
            ("edges:", "edges come after the colon"),
            ("edges:1,,2", "edges come after the colon"),
            ("edges:1,", "edges come after the colon"),
            ("edges:\"a", "a quote that is not closed"),
            ("edges:\"a\\\"", "a quote that is not closed"),
            ("edges:\"a\"b", "a comma comes after an edge"),
            ("edges:\"\\x\"", "an escape that is none"),
        ] {
            let error = text.parse::<BinSpec>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}`: ")) && error.contains(said), "{error}");
        }
        let many = (0..MAX_BINS).map(|edge| edge.to_string()).collect::<Vec<_>>().join(",");
        assert!(format!("edges:{many}").parse::<BinSpec>().is_err());
    }
}
