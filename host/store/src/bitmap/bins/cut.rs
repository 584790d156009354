//! The cuts of a column: the numbers of the distinct values at which bins begin.

use super::super::column::Kind;
use super::super::value::{Number, ceiling, instant, number};
use super::sorted::{KeyedValue, Points, Sorted, float, int};
use super::{AUTO_DISTINCT, AUTO_QUANTILES, BinSpec, Edge, MAX_BINS, lloyd};

/// Cuts the distinct values of a column. Returns the numbers of the values at which bins begin, in order; the
/// first is 0. There are none if there are no values. Also returns the rule that was applied, which may
/// differ from `spec`.
///
/// # Errors
/// A message for a column that the rule cannot cut.
pub fn cut(sorted: &Sorted<'_>, spec: &BinSpec) -> Result<(Vec<usize>, BinSpec), String> {
    let distinct = sorted.distinct();
    let starts = match spec {
        BinSpec::Auto => {
            let spec = if distinct <= AUTO_DISTINCT {
                BinSpec::Distinct
            } else {
                BinSpec::Quantiles(AUTO_QUANTILES)
            };
            return cut(sorted, &spec);
        }
        // A boolean column stores no values, so each boolean needs its own bin.
        BinSpec::Quantiles(_) if sorted.kind == Kind::Bool => return cut(sorted, &BinSpec::Distinct),
        BinSpec::Distinct if distinct > MAX_BINS as usize => {
            return Err(format!(
                "there are {distinct} distinct values, and {MAX_BINS} may have a bin each; `quantiles:{AUTO_QUANTILES}` cuts \
                 any number of them"
            ));
        }
        BinSpec::Distinct => (0..distinct).collect(),
        BinSpec::Quantiles(bins) => quantiles(&sorted.ends, 0, *bins as usize),
        BinSpec::Edges(edges) => at_edges(sorted, edges)?,
        BinSpec::Width(bins) => {
            let keys = numbers(sorted, spec)?;
            match sorted.kind {
                Kind::Float => float_widths(keys, *bins),
                _ => int_widths(keys, *bins),
            }
        }
        BinSpec::Lloyd(bins) => lloyd::cut(sorted.kind, numbers(sorted, spec)?, &sorted.ends, *bins as usize),
    };
    Ok((starts, spec.clone()))
}

/// Drops starts that are equal, or past the last value. The first value always starts a bin.
pub(super) fn distinct_starts(starts: impl IntoIterator<Item = usize>, distinct: usize) -> Vec<usize> {
    let mut all: Vec<usize> = std::iter::once(0).chain(starts).filter(|start| *start < distinct).collect();
    all.dedup();
    all
}

/// Returns the keys of numbers or instants.
fn numbers<'a>(sorted: &'a Sorted<'_>, spec: &BinSpec) -> Result<&'a [u64], String> {
    match (&sorted.points, sorted.kind) {
        (Points::Keys(keys), Kind::Int | Kind::Float | Kind::Time) => Ok(keys),
        _ => {
            let kind = sorted.kind;
            Err(format!(
                "`{spec}` cuts numbers and instants; the column has kind {kind}, which `distinct` and `quantiles:N` cut"
            ))
        }
    }
}

/// Cuts into bins of nearly the same number of rows. Each cut comes after the number of rows that would make
/// the remaining bins equal, moved to the nearer end of a value.
///
/// Every bin has a value, and there are `bins` bins while there are enough values. `ends` has the number of
/// rows up to each value. `offset` rows precede the first value.
pub(super) fn quantiles(ends: &[u64], offset: u64, bins: usize) -> Vec<usize> {
    let (distinct, rows) = (ends.len(), ends.last().copied().unwrap_or(offset));
    let bins = bins.min(distinct);
    let mut starts = Vec::with_capacity(bins);
    let mut start = 0_usize;
    for left in (1..=bins).rev() {
        starts.push(start);
        if left == 1 {
            break;
        }
        let before = start.checked_sub(1).map_or(offset, |last| ends[last]);
        let wanted = before + (rows - before).div_ceil(left as u64);
        // The last value of this bin that leaves one value for each of the others.
        let last = distinct - left;
        let mut end = start + ends[start..=last].partition_point(|end| *end < wanted);
        end = end.min(last);
        if end > start && ends[end] > wanted && wanted - ends[end - 1] <= ends[end] - wanted {
            end -= 1;
        }
        start = end + 1;
    }
    starts
}

/// Cuts, for each edge, before the first value that is not less than the edge.
fn at_edges(sorted: &Sorted<'_>, edges: &[Edge]) -> Result<Vec<usize>, String> {
    let starts: Vec<usize> = match (&sorted.points, sorted.kind) {
        (Points::Texts(texts), _) => {
            let edges = read(edges, sorted.kind, "text", |edge| Some(edge.text()))?;
            edges.iter().map(|edge| texts.partition_point(|text| *text < edge.as_bytes())).collect()
        }
        (Points::Keys(keys), Kind::Int) => {
            // The least integer that is not less, or the side on which there is none; and the double, which
            // orders fractions.
            let edges = read(edges, sorted.kind, "a number", |edge| {
                let least = match ceiling(bare(edge)?)? {
                    Ok(least) => i128::from(least),
                    Err(side) if side.is_lt() => i128::MIN,
                    Err(_) => i128::MAX,
                };
                Some((least, double(number(bare(edge)?)?)))
            })?;
            let start = |(least, _): &(i128, f64)| keys.partition_point(|key| i128::from(int(*key)) < *least);
            edges.iter().map(start).collect()
        }
        (Points::Keys(keys), Kind::Float) => {
            let edges = read(edges, sorted.kind, "a number", |edge| Some(double(number(bare(edge)?)?)))?;
            edges.iter().map(|edge| keys.partition_point(|key| float(*key) < *edge)).collect()
        }
        (Points::Keys(keys), Kind::Time) => {
            let what = "an instant of RFC 3339 that 64 bits hold";
            let edges = read(edges, sorted.kind, what, |edge| instant(edge.text()))?;
            edges.iter().map(|edge| keys.partition_point(|key| *key < edge.key())).collect()
        }
        (Points::Keys(_), kind) => {
            return Err(format!(
                "edges cut numbers, instants and texts; the column has kind {kind}, which `distinct` cuts"
            ));
        }
    };
    Ok(distinct_starts(starts, sorted.distinct()))
}

/// Parses edges, and checks their order.
fn read<'a, T: PartialOrd>(
    edges: &'a [Edge],
    kind: Kind,
    what: &str,
    as_it: impl Fn(&'a Edge) -> Option<T>,
) -> Result<Vec<T>, String> {
    let mut all: Vec<T> = Vec::with_capacity(edges.len());
    for (at, edge) in edges.iter().enumerate() {
        let this = as_it(edge)
            .ok_or_else(|| format!("the edge `{edge}` is not {what}; the column has kind {kind}"))?;
        if all.last().is_some_and(|before| this < *before) {
            return Err(format!("edges are in order, and `{edge}` is less than `{}`", edges[at - 1]));
        }
        all.push(this);
    }
    Ok(all)
}

/// Returns the text of an edge without quotes.
fn bare(edge: &Edge) -> Option<&[u8]> {
    if let Edge::Bare(text) = edge { Some(text.as_bytes()) } else { None }
}

fn double(number: Number) -> f64 {
    match number {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    }
}

/// Cuts into equal widths from the least value to the greatest. Bin *i* of *n* begins with the least value
/// *v* for which *n* · (*v* − least) ≥ *i* · (greatest − least).
fn int_widths(keys: &[u64], bins: u32) -> Vec<usize> {
    let (Some(least), Some(greatest)) = (keys.first(), keys.last()) else { return Vec::new() };
    let width = u128::from(greatest - least);
    let start = |bin: u32| {
        keys.partition_point(|key| u128::from(key - least) * u128::from(bins) < width * u128::from(bin))
    };
    distinct_starts((1..bins).map(start), keys.len())
}

/// Cuts finite doubles into equal widths. Bin *i* of *n* begins with the least value that is not less than
/// least + (greatest − least) · *i* / *n*.
fn float_widths(keys: &[u64], bins: u32) -> Vec<usize> {
    let finite = finite(keys);
    let (Some(least), Some(greatest)) = (keys[finite.clone()].first(), keys[finite.clone()].last()) else {
        return distinct_starts([], keys.len());
    };
    let (least, greatest) = (float(*least), float(*greatest));
    // The width, or half of it where the whole width is not finite.
    let (width, half) = match greatest - least {
        width if width.is_finite() => (width, 1.0),
        _ => (greatest / 2.0 - least / 2.0, 2.0),
    };
    let start = |bin: u32| {
        let part = f64::from(bin) / f64::from(bins);
        // Where the product is exact, the edge is exact too.
        let exact = width * f64::from(bin);
        let up = if exact.is_finite() { exact / f64::from(bins) } else { width * part };
        let edge = if half == 1.0 { least + up } else { least + up + up };
        keys.partition_point(|key| float(*key) < edge)
    };
    // Below the first finite value is only -∞, which joins the first bin; ∞ joins the last bin.
    let starts = (1..bins).map(start).filter(|start| (finite.start + 1..finite.end).contains(start));
    distinct_starts(starts, keys.len())
}

/// Returns the range of those keys of doubles that are finite.
pub(super) fn finite(keys: &[u64]) -> std::ops::Range<usize> {
    let begin = usize::from(keys.first() == Some(&f64::NEG_INFINITY.key()));
    let end = keys.len() - usize::from(keys.last() == Some(&f64::INFINITY.key()));
    begin..end.max(begin)
}
