//! Columns of an index: the options that define them, and their description.

use std::collections::HashSet;
use std::fmt::Write as _;

use warpath::IndexSpec;
use warpath::bitmap::{BinSpec, BitmapIndex, ColumnSpec, Kind};
use warpath::twig::Subscriptions;
use warpath_store::bitmap::column::{Bin, Holds};
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;

use super::super::args::StoreIndexArgs;
use super::super::failure::Failure;

/// The columns of the options.
pub fn specs(args: &StoreIndexArgs) -> Result<Vec<ColumnSpec>, Failure> {
    let mut specs = args.columns.iter().map(|column| spec(column)).collect::<Result<Vec<_>, _>>()?;
    let mut typed = HashSet::new();
    for kind in &args.types {
        let Some((name, kind)) = kind.split_once('=') else {
            return Err(Failure::usage(format!("`--type {kind}` names no column"))
                .with_help(format!("write `--type NAME={kind}`")));
        };
        column(&mut specs, name, "--type")?.kind = Some(kind.parse::<Kind>()?);
        if !typed.insert(name) {
            let message = format!("`--type {name}={kind}`: column `{name}` has two types");
            return Err(Failure::usage(message));
        }
    }
    set_bins(&mut specs, &args.bins)?;
    Ok(specs)
}

/// The columns of an index that is made again.
pub fn kept(bins: &BitmapIndex, spec: IndexSpec) -> Result<IndexSpec, Failure> {
    let (mut columns, mut subscriptions) = (Vec::new(), Subscriptions::default());
    for column in bins.columns() {
        if let Some(query) = column.source.strip_prefix("matches of ") {
            let added = subscriptions.add(&column.name, query);
            added.map_err(|error| Failure::usage(format!("column `{}`: {error}", column.name)))?;
        } else {
            let kept = ColumnSpec::new(&column.name, &column.source).with_kind(column.kind);
            columns.push(kept.with_bins(column.binning.parse()?));
        }
    }
    Ok(spec.with_columns(columns).with_subscriptions(subscriptions))
}

/// Sets the bins of columns. The options of one column take precedence over the option for all columns.
fn set_bins(specs: &mut [ColumnSpec], bins: &[String]) -> Result<(), Failure> {
    let of_column =
        |bins: &str| specs.iter().any(|spec| bins.split_once('=').is_some_and(|(name, _)| name == spec.name));
    let (one, all): (Vec<&str>, Vec<&str>) =
        bins.iter().map(String::as_str).partition(|bins| of_column(bins));
    match all[..] {
        [] => {}
        [bins] => {
            let bins = bins_of(bins, specs)?;
            specs.iter_mut().for_each(|spec| spec.bins = bins.clone());
        }
        [_, second, ..] => {
            return Err(Failure::usage(format!("`--bins {second}`: all columns have two kinds of bins"))
                .with_help(format!("for one column, write `--bins NAME={second}`")));
        }
    }
    let mut cut = HashSet::new();
    for bins in one {
        if let Some((name, bins)) = bins.split_once('=') {
            column(specs, name, "--bins")?.bins = bins.parse()?;
            if !cut.insert(name) {
                let message = format!("`--bins {name}={bins}`: column `{name}` has two kinds of bins");
                return Err(Failure::usage(message));
            }
        }
    }
    Ok(())
}

/// A column as the argument gives it: `NAME=PATH`, or a path, which is its name, too.
fn spec(column: &str) -> Result<ColumnSpec, Failure> {
    // A filter in a path may contain `=`, too.
    if column.starts_with('$') {
        return Ok(ColumnSpec::new(column, column));
    }
    let Some((name, path)) = column.split_once('=') else {
        return Err(Failure::usage(format!("`--column {column}` has no path"))
            .with_help(format!("write `--column {column}=PATH`; a path starts with `$`")));
    };
    Ok(ColumnSpec::new(name, path))
}

/// Returns the column with this name.
fn column<'a>(specs: &'a mut [ColumnSpec], name: &str, flag: &str) -> Result<&'a mut ColumnSpec, Failure> {
    let known: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
    specs.iter_mut().find(|spec| spec.name == name).ok_or_else(|| unknown(name, flag, &known))
}

fn unknown(name: &str, flag: &str, known: &[String]) -> Failure {
    Failure::usage(format!("`{flag}` names column `{name}`, which no `--column` defines"))
        .with_help(format!("the columns are {}", known.join(", ")))
}

/// Returns the bins for all columns.
fn bins_of(bins: &str, specs: &[ColumnSpec]) -> Result<BinSpec, Failure> {
    match (bins.parse(), bins.split_once('=')) {
        (Ok(bins), _) => Ok(bins),
        // The option names a column that does not exist.
        (Err(_), Some((name, rest))) if rest.parse::<BinSpec>().is_ok() => {
            let known: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
            Err(unknown(name, "--bins", &known))
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Warns of each column for which no line of a file has a value. A path with a typing error matches nothing
/// anywhere, and expressions over its column are accepted all the same.
pub fn warn_of_no_values(file: &str, index: &BitmapIndex, specs: &[ColumnSpec], ui: &Ui) {
    // The columns of subscriptions follow.
    for (column, spec) in index.columns().iter().zip(specs) {
        let has_values = |bin: &Bin| matches!(bin.holds, Holds::Values { .. } | Holds::NaN);
        if index.rows() == 0 || column.bins.iter().any(has_values) {
            continue;
        }
        let others: Vec<String> = column.bins.iter().map(|bin| format!("{} {bin}", bin.rows)).collect();
        let of_type = spec.kind.map(|kind| format!(" of type {kind}")).unwrap_or_default();
        ui.warning(format_args!(
            "{file}: column `{}`: no line has a value{of_type} at `{}` ({})",
            column.name,
            column.source,
            others.join(", ")
        ));
    }
}

/// The rows of `store info` about the columns of an index. With `all`, each bin is a row.
pub fn described(index: &BitmapIndex, all: bool) -> String {
    let (info, mut text) = (index.info(), String::new());
    let head = ["column", "type", "bins", "cut", "bitmaps", "shorter", "values", "source"].map(str::to_owned);
    let columns = info.columns.iter().map(|column| {
        [
            escaped(&column.name).into_owned(),
            column.kind.to_string(),
            column.bins.to_string(),
            column.binning.clone(),
            (column.atom_bytes + column.tile_bytes).to_string(),
            format!("{:.1}x", column.ratio()),
            column.value_bytes.to_string(),
            escaped(&column.source).into_owned(),
        ]
    });
    let rows: Vec<[String; 8]> = std::iter::once(head).chain(columns).collect();
    text.push('\n');
    aligned(&mut text, &rows, &[2, 4, 5, 6]);
    if all {
        bins(index, &mut text);
    }
    text
}

/// Appends rows with aligned columns. The columns in `numbers` are aligned at the right.
fn aligned<const N: usize>(text: &mut String, rows: &[[String; N]], numbers: &[usize]) {
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = if numbers.contains(&at) {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Appends the bins of all columns.
fn bins(index: &BitmapIndex, text: &mut String) {
    for (column, described) in index.columns().iter().enumerate() {
        let _ = write!(text, "\n{}\n", escaped(&described.name));
        let head = ["  bin", "lines", "atoms", "values"].map(str::to_owned);
        let bins = described.bins.iter().enumerate().map(|(bin, described)| {
            [
                format!("  {bin}"),
                described.rows.to_string(),
                index.atoms(column, bin).to_string(),
                escaped(&described.to_string()).into_owned(),
            ]
        });
        let rows: Vec<[String; 4]> = std::iter::once(head).chain(bins).collect();
        aligned(text, &rows, &[1, 2]);
    }
}
