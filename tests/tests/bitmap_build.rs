//! Building bitmap indexes: the content of each bin, for all values, kinds, ways to cut bins, and backends.

mod cutting;
mod lines;
mod lloyd;

use std::cmp::Ordering;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;
use warpath::bitmap::{BinSpec, BitmapEngine, BitmapIndex, Built, ColumnSpec, Kind, Plan, build};
use warpath::{DeviceChoice, Engine, Error, OnError};
use warpath_core::wah::WahBuf;
use warpath_device::Pipeline;
use warpath_exec::bitmap::build::{LeftOut, bitmaps_of, build_column};
use warpath_store::bitmap::column::{Bin, Holds, Scalar};
use warpath_store::bitmap::value::{Cell, ColumnValues};
use warpath_store::bitmap::{BuiltColumn, StoredValues};
use warpath_tests::bitmaps::stored;
use warpath_tests::emulated::Emulated;
use warpath_tests::oracle::json::Number;
use warpath_tests::random::Rng;

// --- what is held to what ----------------------------------------------------------------------------------

/// The content of a row, by the oracle.
#[derive(Clone, Debug, PartialEq)]
enum Row {
    Value(Scalar),
    Missing,
    Null,
    Other,
    NaN,
}

fn is_value(bin: &Bin) -> bool {
    matches!(bin.holds, Holds::Values { .. })
}

/// Checks a column against its rows. Each row is in one bin, the right one. The bins are in order, describe
/// their values, and are not empty. The stored values are those of the rows.
fn check(built: &BuiltColumn, rows: &[Row]) {
    let BuiltColumn { column, bitmaps, values } = built;
    assert_eq!(bitmaps.len(), column.bins.len());
    let mut bin_of = vec![None; rows.len()];
    for (at, (bitmap, bin)) in bitmaps.iter().zip(&column.bins).enumerate() {
        assert_eq!(bitmap.rows(), rows.len() as u64);
        WahBuf::new(bitmap.words().to_vec(), bitmap.rows()).expect("canonical");
        assert!(bin.rows > 0 && bin.rows == bitmap.as_wah().count(), "{bin:?}");
        for row in bitmap.as_wah().ones() {
            assert_eq!(bin_of[row as usize].replace(at), None, "row {row} is in two bins");
        }
    }
    let order = |holds: &Holds| match holds {
        Holds::Values { .. } => 0,
        Holds::Missing => 1,
        Holds::Null => 2,
        Holds::Other => 3,
        _ => 4,
    };
    for pair in column.bins.windows(2) {
        let (a, b) = (&pair[0].holds, &pair[1].holds);
        match (a, b) {
            (Holds::Values { greatest, .. }, Holds::Values { least, .. }) => {
                assert_eq!(greatest.partial_cmp(least), Some(Ordering::Less), "{a:?} {b:?}");
            }
            _ => assert!(order(a) < order(b), "{a:?} {b:?}"),
        }
    }
    let mut seen: Vec<Option<(Scalar, Scalar)>> = vec![None; bitmaps.len()];
    for (row, has) in rows.iter().enumerate() {
        let at = bin_of[row].unwrap_or_else(|| panic!("row {row} is in no bin"));
        let holds = &column.bins[at].holds;
        match (has, holds) {
            (Row::Value(value), Holds::Values { .. }) => {
                assert_eq!(value.kind(), column.kind);
                let (least, greatest) = seen[at].get_or_insert_with(|| (value.clone(), value.clone()));
                if *value < *least {
                    *least = value.clone();
                }
                if *value > *greatest {
                    *greatest = value.clone();
                }
            }
            (Row::Missing, Holds::Missing)
            | (Row::Null, Holds::Null)
            | (Row::Other, Holds::Other)
            | (Row::NaN, Holds::NaN) => {}
            _ => panic!("row {row} has {has:?}, and is in {holds:?}"),
        }
    }
    for (bin, seen) in column.bins.iter().zip(seen) {
        if let Holds::Values { least, greatest } = &bin.holds {
            assert_eq!(seen, Some((least.clone(), greatest.clone())));
            assert_eq!((least.kind(), greatest.kind()), (column.kind, column.kind));
        }
    }
    let value = |has: &Row| if let Row::Value(value) = has { Some(value.clone()) } else { None };
    let rows: Vec<_> = rows.iter().zip(bin_of).map(|(has, bin)| (bin.unwrap(), value(has))).collect();
    assert!(*values == stored(&column.bins, &rows), "other values are stored");
}

/// The values of the bins of values.
fn bounds(built: &BuiltColumn) -> Vec<(Scalar, Scalar)> {
    let bins = built.column.bins.iter().filter_map(|bin| match &bin.holds {
        Holds::Values { least, greatest } => Some((least.clone(), greatest.clone())),
        _ => None,
    });
    bins.collect()
}

/// Rows of the bins of values.
fn sizes(built: &BuiltColumn) -> Vec<u64> {
    built.column.bins.iter().filter(|bin| is_value(bin)).map(|bin| bin.rows).collect()
}

fn ints(values: &[i64]) -> Vec<Row> {
    values.iter().map(|value| Row::Value(Scalar::Int(*value))).collect()
}

fn floats(values: &[f64]) -> Vec<Row> {
    let row = |value: &f64| if value.is_nan() { Row::NaN } else { Row::Value(Scalar::Float(*value)) };
    values.iter().map(row).collect()
}

fn texts(values: &[String]) -> Vec<Row> {
    values.iter().map(|value| Row::Value(Scalar::Text(value.as_str().into()))).collect()
}

fn spec(text: &str) -> BinSpec {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn built_ints(values: &[i64], bins: &str) -> BuiltColumn {
    let built = build_column("n", "n", ColumnValues::ints(values.to_vec()), &spec(bins)).unwrap();
    check(&built, &ints(values));
    built
}

fn built_floats(values: &[f64], bins: &str) -> BuiltColumn {
    let built = build_column("n", "n", ColumnValues::floats(values.to_vec()), &spec(bins)).unwrap();
    check(&built, &floats(values));
    built
}

fn built_texts(values: &[String], bins: &str) -> BuiltColumn {
    let cells = ColumnValues::of_cells(values.iter().map(|value| Cell::Text(value)), Some(Kind::Text));
    let built = build_column("n", "n", cells, &spec(bins)).unwrap();
    check(&built, &texts(values));
    built
}

fn int_bounds(built: &BuiltColumn) -> Vec<(i64, i64)> {
    let int = |value: Scalar| match value {
        Scalar::Int(value) | Scalar::Time(value) => value,
        other => panic!("{other:?}"),
    };
    bounds(built).into_iter().map(|(least, greatest)| (int(least), int(greatest))).collect()
}

fn float_bounds(built: &BuiltColumn) -> Vec<(f64, f64)> {
    let float = |value| if let Scalar::Float(value) = value { value } else { panic!("{value:?}") };
    bounds(built).into_iter().map(|(least, greatest)| (float(least), float(greatest))).collect()
}

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn cpu(on_error: OnError) -> Engine {
    Engine::builder().device(DeviceChoice::Cpu).on_error(on_error).build().unwrap()
}

fn said<T>(result: Result<T, Error>) -> String {
    result.err().expect("an error").chain()
}
