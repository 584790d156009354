//! The rules by which the values of a column are cut into bins.
//!
//! Bins are ranges of the values that occur: neighbours in order, and never empty. Equal values are in one
//! bin under every rule. A [`BinSpec`] names the rule:
//!
//! | text | bins |
//! |---|---|
//! | `auto` | `distinct` if there are no more than 256 distinct values, else `quantiles:64` |
//! | `distinct` | one bin for each distinct value; at most 65,536 distinct values |
//! | `edges:10,100,1000` | values from one edge up to, and without, the next edge; one bin below the first edge, one from the last edge on |
//! | `width:20` | N ranges of the same width, from the least number or instant to the greatest |
//! | `quantiles:20` | N bins of nearly the same number of rows, as far as equal values allow |
//! | `lloyd:25` | N clusters of numbers or instants, each value near its cluster's mean, by Lloyd's algorithm (one-dimensional k-means) |
//!
//! Booleans have one bin each, even by quantiles. A rule for more bins than there are distinct values gives
//! each distinct value a bin. `edges` and `width` differ: they leave out their empty bins.
//!
//! Edges and quantiles treat infinities like other values. Widths and means leave infinities out: -∞ is then
//! in the first bin, and ∞ in the last.
//!
//! | module | contents |
//! |---|---|
//! | `sorted` | the distinct values in order, with their counts |
//! | `texts` | the distinct texts, and the number of each row's text |
//! | `cut` | cuts by distinct values, edges, widths and quantiles |
//! | `lloyd` | cuts by means |

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
pub(super) use sorted::{KeyedValue, float, scalar};

/// The greatest number of bins in a [`BinSpec`], and of distinct values with one bin each.
pub const MAX_BINS: u32 = 1 << 16;
/// The greatest number of distinct values that [`BinSpec::Auto`] gives one bin each.
pub const AUTO_DISTINCT: usize = 256;
/// The number of bins of [`BinSpec::Auto`] for more distinct values than [`AUTO_DISTINCT`].
pub const AUTO_QUANTILES: u32 = 64;

/// The rule by which a column is cut. Its text is `auto`, `distinct`, `edges:A,B,…`, `width:N`, `quantiles:N`
/// or `lloyd:N`; see the [module](self).
///
/// ```
/// use warpath::bitmap::{BinSpec, ColumnSpec};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let status = ColumnSpec::new("status", "$.status").with_bins("edges:200,300,400,500".parse()?);
/// assert_eq!(status.bins.to_string(), "edges:200,300,400,500");
/// assert_eq!(BinSpec::default(), "auto".parse()?);
/// assert!("width:0".parse::<BinSpec>().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BinSpec {
    /// By distinct values if they are few, else by quantiles.
    #[default]
    Auto,
    /// A bin for each distinct value.
    Distinct,
    /// Bins between edges, which are in order.
    Edges(Vec<Edge>),
    /// N ranges of the same width; N is 1 to [`MAX_BINS`].
    Width(u32),
    /// N ranges of about the same number of rows; N is 1 to [`MAX_BINS`].
    Quantiles(u32),
    /// N clusters; N is 1 to [`MAX_BINS`].
    Lloyd(u32),
}

/// An edge between bins, as written. The column's kind decides the kind of the edge.
///
/// ```
/// use warpath::bitmap::{BinSpec, Edge};
///
/// # fn main() -> Result<(), warpath::Error> {
/// // A text with a comma is written in quotes.
/// let BinSpec::Edges(edges) = r#"edges:a,"b,c""#.parse()? else { panic!("no edges") };
/// assert_eq!(edges, [Edge::Bare("a".into()), Edge::Quoted("b,c".into())]);
/// assert_eq!(edges[1].text(), "b,c");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Without quotes: a JSON number, an RFC 3339 instant, or a text without commas.
    Bare(Box<str>),
    /// In quotes, with JSON's escapes: a text, or an instant.
    Quoted(Box<str>),
}

impl Edge {
    /// Returns the edge's text, unescaped.
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
    /// Writes the text that parses to this rule.
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
    /// [`Error::Usage`] for a text that the [module](self) does not list.
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
                "is not a kind of bins; the kinds are auto, distinct, edges:A,B,…, width:N, quantiles:N and lloyd:N",
            )),
        }
    }
}

/// Parses edges with commas between them.
fn edges(text: &str) -> Result<Vec<Edge>, &'static str> {
    let mut edges = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let (edge, behind) = if rest.starts_with('"') {
            let end = quoted_len(rest).ok_or("an edge has a quote that is not closed")?;
            let mut bytes = Vec::new();
            if !json::say(JsonKind::Utf8, &rest.as_bytes()[..end], &mut bytes) {
                return Err("an edge has an unknown escape");
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

/// Returns the length of the JSON string at the start of `text`, quotes included.
fn quoted_len(text: &str) -> Option<usize> {
    let mut cursor = json::Cursor::new(text.as_bytes());
    cursor.string().is_ok().then(|| cursor.offset())
}

#[cfg(test)]
mod tests {
    use warpath_random::table::texts;

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
        for [text, message] in texts(include_str!("bins/cases.txt"), "refused") {
            let error = text.parse::<BinSpec>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}`: ")) && error.contains(&message), "{error}");
        }
        let many = (0..MAX_BINS).map(|edge| edge.to_string()).collect::<Vec<_>>().join(",");
        assert!(format!("edges:{many}").parse::<BinSpec>().is_err());
    }
}
