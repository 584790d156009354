//! Building bitmap indexes: the content of each bin, for all values, kinds, ways to cut bins, and backends.

use std::cmp::Ordering;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Date64Array, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int64Array, LargeStringArray, NullArray, RecordBatch, RecordBatchIterator, StringArray, StringViewArray,
    Time32SecondArray, TimestampMicrosecondArray, TimestampSecondArray, UInt16Array, UInt64Array,
};
use arrow_schema::ArrowError;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;
use warpath::bitmap::ask::BitmapEngine;
use warpath::bitmap::bins::BinSpec;
use warpath::bitmap::build::{
    ColumnSpec, LeftOut, bitmaps_of, build, build_arrow, build_column, build_ndjson, build_table,
};
use warpath::bitmap::column::{Bin, Holds, Kind, Scalar};
use warpath::bitmap::plan::Plan;
use warpath::bitmap::value::{Cell, ColumnValues};
use warpath::bitmap::wah::WahBuf;
use warpath::bitmap::{BitmapIndex, Built, BuiltColumn, StoredValues};
use warpath::device::Pipeline;
use warpath::{DeviceChoice, Engine, Error, OnError};
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

// --- bitmaps of bins ---------------------------------------------------------------------------------------

fn check_bitmaps(numbers: &[u32], bins: usize) {
    let bitmaps = bitmaps_of(numbers, bins);
    assert_eq!(bitmaps.len(), bins);
    for (bin, bitmap) in bitmaps.iter().enumerate() {
        let rows = (0..).zip(numbers).filter(|(_, number)| **number as usize == bin).map(|(row, _)| row);
        assert_eq!(*bitmap, WahBuf::from_ones(rows, numbers.len() as u64), "bin {bin}");
    }
    let narrow: Vec<u8> = numbers.iter().map(|number| *number as u8).collect();
    assert_eq!(bitmaps_of(&narrow, bins), bitmaps);
}

proptest! {
    #[test]
    fn bitmaps_are_those_of_their_rows(
        runs in vec((0_u32..9, prop_oneof![Just(1_usize), 1_usize..5, 50_usize..300]), 0..40),
    ) {
        let numbers: Vec<u32> = runs.iter().flat_map(|(bin, rows)| vec![*bin; *rows]).collect();
        check_bitmaps(&numbers, 9);
    }
}

#[test]
fn bitmaps_of_many_rows_are_put_together() {
    // Parts of the rows are done by several threads.
    for rows in [16_384, 100_000, 63 * 4_000, 63 * 4_000 + 1] {
        let mut rng = Rng::new(1);
        let numbers: Vec<u32> = (0..rows)
            .map(|row| {
                // Long fills that go through the seams, and chunks of everything.
                if row / 30_000 % 2 == 0 { 3 } else { rng.below(200) as u32 }
            })
            .collect();
        check_bitmaps(&numbers, 201);
    }
    assert_eq!(bitmaps_of::<u8>(&[], 2), [WahBuf::none(0), WahBuf::none(0)]);
    assert_eq!(bitmaps_of::<u8>(&[], 0), []);
}

// --- cutting -----------------------------------------------------------------------------------------------

#[test]
fn distinct_values_have_a_bin_each() {
    let built = built_ints(&[5, -3, 5, 1 << 60, (1 << 53) + 1, 1 << 53, 5], "distinct");
    let values = [-3, 5, 1 << 53, (1 << 53) + 1, 1 << 60];
    assert_eq!(int_bounds(&built), values.map(|value| (value, value)));
    assert_eq!(built.column.binning, "distinct");
    let all: Vec<i64> = (0..65_536).collect();
    assert_eq!(built_ints(&all, "distinct").column.bins.len(), 65_536);
    let more: Vec<i64> = (0..65_537).collect();
    let error = build_column("n", "n", ColumnValues::ints(more), &spec("distinct")).unwrap_err().to_string();
    assert_eq!(
        error,
        "column `n`: there are 65537 distinct values, and 65536 may have a bin each; `quantiles:64` cuts any number of them"
    );
}

#[test]
fn numbers_of_bins_have_room_for_all_bins() {
    // Rows without a value make the last number go over.
    for (distinct, missing) in [(256, false), (256, true), (65_536, false), (65_536, true)] {
        let cells = (0..distinct).map(Cell::Int).chain(missing.then_some(Cell::Missing));
        let built = build_column("n", "n", ColumnValues::of_cells(cells, None), &spec("distinct")).unwrap();
        let mut rows = ints(&(0..distinct).collect::<Vec<_>>());
        rows.extend(missing.then_some(Row::Missing));
        check(&built, &rows);
    }
}

#[test]
fn values_are_stored_as_narrowly_as_they_can_be() {
    let width = |values: &[i64]| {
        let built = built_ints(values, "quantiles:1");
        match &built.values[..] {
            [StoredValues::Same] => 0,
            [StoredValues::U8(_)] => 1,
            [StoredValues::U16(_)] => 2,
            [StoredValues::U32(_)] => 4,
            [StoredValues::U64(_)] => 8,
            other => panic!("{other:?}"),
        }
    };
    for least in [0, -300, i64::MIN] {
        for (most, bytes) in
            [(0, 0), (1, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4), (u32::MAX.into(), 4), (1 << 32, 8)]
        {
            assert_eq!(width(&[least + most, least, least + most / 2]), bytes, "{least} {most}");
        }
    }
    assert_eq!(width(&[i64::MIN, i64::MAX, 0]), 8);
    // Bins of a column are stored each as its own values need it.
    let built = built_ints(&[1, 2, 3, 300, 1_000, 70_000, 1_000_000, 1 << 60], "edges:4,1001,70001,1000001");
    assert_eq!(built.values[0], StoredValues::U8(vec![0, 1, 2]));
    assert_eq!(built.values[1], StoredValues::U16(vec![0, 700]));
    assert_eq!(built.values[2..], [StoredValues::Same, StoredValues::Same, StoredValues::Same]);
}

#[test]
fn auto_is_distinct_for_few_values_and_quantiles_for_many() {
    let few: Vec<i64> = (0..1000).map(|row| row % 256).collect();
    let built = built_ints(&few, "auto");
    assert_eq!((built.column.bins.len(), &built.column.binning[..]), (256, "distinct"));
    let many: Vec<i64> = (0..1000).map(|row| row % 257).collect();
    let built = built_ints(&many, "auto");
    assert_eq!((built.column.bins.len(), &built.column.binning[..]), (64, "quantiles:64"));
}

#[test]
fn texts_of_many_rows_are_put_together() {
    // Parts of the rows are done by several threads: texts that all parts have, and texts that one has.
    let values: Vec<String> = (0..50_000_u64)
        .map(|row| if row % 7 == 0 { format!("only {row}") } else { format!("often {}", row * row % 101) })
        .collect();
    let distinct = values.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(built_texts(&values, "distinct").column.bins.len(), distinct);
    assert_eq!(built_texts(&values, "quantiles:100").column.bins.len(), 100);
    let built = built_texts(&values, "edges:often 5,only");
    let below = values.iter().filter(|value| value.as_str() < "often 5").count() as u64;
    let only = values.iter().filter(|value| value.starts_with("only")).count() as u64;
    assert_eq!(sizes(&built), [below, 50_000 - below - only, only]);
}

#[test]
fn edges_are_half_open() {
    let values: Vec<i64> = (-5..=25).collect();
    let cut = |edges: &str| int_bounds(&built_ints(&values, edges));
    assert_eq!(cut("edges:0,10,20"), [(-5, -1), (0, 9), (10, 19), (20, 25)]);
    assert_eq!(cut("edges:0.5,9.5"), [(-5, 0), (1, 9), (10, 25)]);
    assert_eq!(cut("edges:-0.5,1e1"), [(-5, -1), (0, 9), (10, 25)]);
    // Empty bins are left out, wherever they are.
    assert_eq!(cut("edges:-100,-50,7,7.2,7.4,100"), [(-5, 6), (7, 7), (8, 25)]);
    assert_eq!(cut("edges:-1e99,1e999,1e9999"), [(-5, 25)]);
    assert_eq!(int_bounds(&built_ints(&[1, 5], "edges:2,3,4")), [(1, 1), (5, 5)]);
    // Past 2⁵³ edges of integers are exact.
    let large = [(1 << 53) - 1, 1 << 53, (1 << 53) + 1, (1 << 53) + 2];
    let edge = |edge: &str| sizes(&built_ints(&large, &format!("edges:{edge}")));
    assert_eq!(edge("9007199254740993"), [2, 2]);
    assert_eq!(edge("9007199254740992.5"), [2, 2]);
    assert_eq!(edge("9007199254740993.5"), [3, 1]);
    let inf = f64::INFINITY;
    let built = built_floats(&[-inf, -1.0, 0.1, 0.25, f64::NAN, inf, -0.0], "edges:0,0.25");
    assert_eq!(float_bounds(&built), [(-inf, -1.0), (0.0, 0.1), (0.25, inf)]);
    let words = ["a", "b", "b,c", "é", "z", ""].map(str::to_owned);
    let built = built_texts(&words, "edges:\"b,\",z");
    let text = |text: &str| Scalar::Text(text.into());
    assert_eq!(bounds(&built), [(text(""), text("b")), (text("b,c"), text("b,c")), (text("z"), text("é"))]);
    let times = ColumnValues::times(vec![-1, 0, 1, 1_000_000_000]);
    let edges = "edges:1970-01-01T00:00:00Z,\"1970-01-01T02:00:01+02:00\"";
    let built = build_column("t", "t", times, &spec(edges)).unwrap();
    assert_eq!(int_bounds(&built), [(-1, -1), (0, 1), (1_000_000_000, 1_000_000_000)]);
    assert_eq!(built.column.binning, edges);
}

#[test]
fn edges_that_are_none_are_told() {
    let refused = |values: ColumnValues, edges: &str| {
        build_column("c", "c", values, &spec(edges)).unwrap_err().to_string()
    };
    let int = || ColumnValues::ints(vec![1]);
    assert_eq!(
        refused(int(), "edges:1,x"),
        "column `c`: the edge `x` is no number, and this is a column of kind int"
    );
    assert_eq!(refused(int(), "edges:3,2"), "column `c`: edges are in order, and `2` is less than `3`");
    assert!(refused(int(), "edges:\"1\"").contains("the edge `\"1\"` is no number"));
    assert!(refused(ColumnValues::floats(vec![1.0]), "edges:0.5,0.25").contains("`0.25` is less than `0.5`"));
    assert!(refused(ColumnValues::times(vec![1]), "edges:2020").contains("is no instant of RFC 3339"));
    let bools = ColumnValues::of_cells([Cell::Bool(true)], None);
    assert!(refused(bools, "edges:true").contains("this is a column of kind bool; `distinct` cuts it"));
    let text = || ColumnValues::of_cells([Cell::Text("a")], None);
    assert!(refused(text(), "edges:b,a").contains("`a` is less than `b`"));
    for bins in ["width:3", "lloyd:3"] {
        let said = refused(text(), bins);
        let want = "cuts numbers and instants, and this is a column of kind text; `distinct` and `quantiles:N` cut any";
        assert_eq!(said, format!("column `c`: `{bins}` {want}"));
    }
}

/// The number of the equal-width range that has a value.
fn width_bin(value: i64, (least, greatest): (i64, i64), bins: i64) -> i64 {
    let (value, width) = (i128::from(value) - i128::from(least), i128::from(greatest) - i128::from(least));
    let bins = i128::from(bins);
    (0..bins).rev().find(|bin| value * bins >= bin * width).unwrap() as i64
}

/// Cuts numbers in order wherever a bin's number changes.
fn naive_bounds<T: Copy + PartialOrd>(values: &[T], bin: impl Fn(T) -> i64) -> Vec<(T, T)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut bounds: Vec<(i64, (T, T))> = Vec::new();
    for value in sorted {
        match bounds.last_mut() {
            Some((last, (_, greatest))) if *last == bin(value) => *greatest = value,
            _ => bounds.push((bin(value), (value, value))),
        }
    }
    bounds.into_iter().map(|(_, bounds)| bounds).collect()
}

fn some_ints() -> impl Strategy<Value = Vec<i64>> {
    let int = prop_oneof![
        4 => -20_i64..20,
        2 => -1000_i64..1000,
        1 => any::<i64>(),
        1 => select(vec![i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1]),
    ];
    prop_oneof![vec(int, 1..200), vec(-3_i64..3, 1..200), vec(any::<i64>(), 1..100)]
}

proptest! {
    #[test]
    fn widths_are_equal(values in some_ints(), bins in 1_i64..40) {
        let built = built_ints(&values, &format!("width:{bins}"));
        let range = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
        prop_assert_eq!(int_bounds(&built), naive_bounds(&values, |value| width_bin(value, range, bins)));
        // Small integers are exact as doubles, too.
        if values.iter().all(|value| value.unsigned_abs() < 1 << 30) {
            let doubles: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            let built = built_floats(&doubles, &format!("width:{bins}"));
            let (least, width) = (range.0 as f64, (range.1 - range.0) as f64);
            let edge = |bin: i64| least + width * bin as f64 / bins as f64;
            let bin = |value: f64| (0..bins).rev().find(|bin| value >= edge(*bin)).unwrap();
            prop_assert_eq!(float_bounds(&built), naive_bounds(&doubles, bin));
        }
    }

    #[test]
    fn quantiles_never_split_values_and_are_as_many_as_can_be(values in some_ints(), bins in 1_usize..40) {
        let built = built_ints(&values, &format!("quantiles:{bins}"));
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let distinct = sorted.chunk_by(PartialEq::eq).map(|run| run.len() as u64).collect::<Vec<_>>();
        prop_assert_eq!(sizes(&built), naive_quantiles(&distinct, bins));
        prop_assert_eq!(built.column.bins.len(), bins.min(distinct.len()));
        if distinct.iter().all(|count| *count == 1) {
            let (least, greatest) = (sizes(&built).into_iter().min(), sizes(&built).into_iter().max());
            prop_assert!(greatest.unwrap() - least.unwrap() <= 1);
        }
        // Any kind is cut alike.
        let words: Vec<String> = values.iter().map(|value| format!("{:020}", i128::from(*value) + (1 << 63))).collect();
        prop_assert_eq!(sizes(&built_texts(&words, &format!("quantiles:{bins}"))), sizes(&built));
    }
}

/// The number of rows in each quantile, by the rule, value by value. `counts` has the number of rows of each
/// distinct value.
fn naive_quantiles(counts: &[u64], bins: usize) -> Vec<u64> {
    let bins = bins.min(counts.len());
    let mut rest = counts;
    let mut sizes = Vec::new();
    for left in (1..=bins).rev() {
        let rows: u64 = rest.iter().sum();
        let wanted = rows.div_ceil(left as u64);
        let mut size = rest[0];
        rest = &rest[1..];
        while rest.len() >= left && (left == 1 || size < wanted) {
            let with = size + rest[0];
            // A value that goes over is taken if that is nearer than to leave it.
            if left > 1 && with > wanted && wanted - size <= with - wanted {
                break;
            }
            size = with;
            rest = &rest[1..];
        }
        sizes.push(size);
    }
    assert!(rest.is_empty());
    sizes
}

#[test]
fn a_value_of_most_rows_has_a_quantile_for_itself() {
    let mut values = vec![0_i64; 90];
    values.extend(1..=10);
    assert_eq!(sizes(&built_ints(&values, "quantiles:2")), [90, 10]);
    values.extend(vec![20; 60]);
    assert_eq!(sizes(&built_ints(&values, "quantiles:3")), [90, 10, 60]);
    let skewed: Vec<i64> = [vec![1; 40], vec![2; 60]].concat();
    assert_eq!(sizes(&built_ints(&skewed, "quantiles:2")), [40, 60]);
}

// --- Lloyd's algorithm -------------------------------------------------------------------------------------

/// k-means row by row, from some clusters on: the values of each cluster in the end.
fn naive_lloyd(values: &[f64], first: &[u64]) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut cluster: Vec<usize> = (0..).zip(first).flat_map(|(at, rows)| vec![at; *rows as usize]).collect();
    let mut means = vec![0.0; first.len()];
    for _ in 0..1000 {
        for (at, mean) in means.iter_mut().enumerate() {
            let of: Vec<f64> = sorted
                .iter()
                .zip(&cluster)
                .filter(|(_, cluster)| **cluster == at)
                .map(|(value, _)| *value)
                .collect();
            if !of.is_empty() {
                *mean = of.iter().sum::<f64>() / of.len() as f64;
            }
        }
        let nearest = |value: &f64| {
            let middle = |at: usize| means[at] + (means[at + 1] - means[at]) / 2.0;
            (0..means.len() - 1).find(|at| *value <= middle(*at)).unwrap_or(means.len() - 1)
        };
        let next: Vec<usize> = sorted.iter().map(nearest).collect();
        if next == cluster {
            break;
        }
        cluster = next;
    }
    let mut all: Vec<(usize, (f64, f64))> = Vec::new();
    for (value, cluster) in sorted.into_iter().zip(cluster) {
        match all.last_mut() {
            Some((last, (_, greatest))) if *last == cluster => *greatest = value,
            _ => all.push((cluster, (value, value))),
        }
    }
    all.into_iter().map(|(_, bounds)| bounds).collect()
}

fn check_lloyd(values: &[i64], bins: usize) {
    let doubles: Vec<f64> = values.iter().map(|value| *value as f64).collect();
    let quantiles = sizes(&built_floats(&doubles, &format!("quantiles:{bins}")));
    let lloyd = format!("lloyd:{bins}");
    assert_eq!(float_bounds(&built_floats(&doubles, &lloyd)), naive_lloyd(&doubles, &quantiles));
    // Integers are clustered by their distances to the least, so that they may be large.
    let least = *values.iter().min().unwrap();
    let distances: Vec<f64> = values.iter().map(|value| (value - least) as f64).collect();
    let by_distance = naive_lloyd(&distances, &quantiles);
    for offset in [0, i64::MAX - 2_000_000] {
        let moved: Vec<i64> = values.iter().map(|value| value + offset).collect();
        let want: Vec<(i64, i64)> = by_distance
            .iter()
            .map(|(a, b)| (*a as i64 + least + offset, *b as i64 + least + offset))
            .collect();
        assert_eq!(int_bounds(&built_ints(&moved, &lloyd)), want);
    }
}

proptest! {
    #[test]
    fn lloyd_is_k_means(
        values in prop_oneof![vec(0_i64..100, 1..150), vec(-1_000_000_i64..1_000_000, 1..150),
            vec(prop_oneof![0_i64..10, 1000_i64..1010, Just(500_000_i64)], 1..150)],
        bins in 1_usize..12,
    ) {
        check_lloyd(&values, bins);
    }
}

#[test]
fn lloyd_of_many_values_is_k_means() {
    // More distinct values than sums are kept for, and some of them often.
    let mut rng = Rng::new(1);
    let values: Vec<i64> = (0..6000)
        .map(|row| {
            let uniform = rng.below(1000) as i64;
            if row % 3 == 0 { uniform * uniform } else { uniform % 40 * 700 }
        })
        .collect();
    for bins in [1, 2, 7, 25] {
        check_lloyd(&values, bins);
    }
    // Clusters of many blocks.
    let spread: Vec<i64> = (0..20_000).map(|row| row * row % 1_000_003).collect();
    for bins in [2, 3, 5] {
        check_lloyd(&spread, bins);
    }
}

#[test]
fn clusters_are_where_the_values_are() {
    let values = [0, 1, 2, 7, 8, 10, 40, 41].map(f64::from);
    let built = built_floats(&values, "lloyd:3");
    assert_eq!(float_bounds(&built), [(0.0, 2.0), (7.0, 10.0), (40.0, 41.0)]);
    assert_eq!(built.column.binning, "lloyd:3");
}

#[test]
fn infinities_are_left_out_of_means_and_widths() {
    let inf = f64::INFINITY;
    let values = [inf, 1.0, 2.0, -inf, 10.0, f64::NAN, 11.0, inf];
    let halves = [(-inf, 2.0), (10.0, inf)];
    assert_eq!(float_bounds(&built_floats(&values, "lloyd:2")), halves);
    assert_eq!(float_bounds(&built_floats(&values, "width:2")), halves);
    for bins in ["lloyd:4", "width:4", "quantiles:9"] {
        let built = built_floats(&values, bins);
        assert_eq!(
            built.column.bins.last().map(|bin| (&bin.holds, bin.rows)),
            Some((&Holds::NaN, 1)),
            "{bins}"
        );
    }
    // Nothing else is there.
    for bins in ["lloyd:4", "width:4"] {
        assert_eq!(float_bounds(&built_floats(&[inf, -inf, inf], bins)), [(-inf, inf)], "{bins}");
        assert_eq!(float_bounds(&built_floats(&[inf], bins)), [(inf, inf)], "{bins}");
        assert_eq!(float_bounds(&built_floats(&[-inf], bins)), [(-inf, -inf)], "{bins}");
        assert_eq!(float_bounds(&built_floats(&[f64::NAN, -inf, 3.0], bins)), [(-inf, 3.0)], "{bins}");
    }
    assert_eq!(float_bounds(&built_floats(&[inf, -inf, 0.0], "distinct")).len(), 3);
}

#[test]
fn the_largest_and_the_smallest_doubles_are_cut() {
    let (max, least) = (f64::MAX, 5e-324);
    let values = [-max, -max / 2.0, -least, 0.0, least, max / 2.0, max, max];
    for bins in ["lloyd:3", "width:3", "quantiles:3", "lloyd:25", "width:25", "distinct"] {
        let bounds = float_bounds(&built_floats(&values, bins));
        assert!(bounds[0].0 == -max && bounds.last().unwrap().1 == max, "{bins}: {bounds:?}");
        assert!(bounds.len() >= 3, "{bins}: {bounds:?}");
    }
    let extremes = [i64::MIN, -1, 0, 1, i64::MAX];
    assert_eq!(int_bounds(&built_ints(&extremes, "width:2")), [(i64::MIN, -1), (0, i64::MAX)]);
    assert_eq!(
        int_bounds(&built_ints(&extremes, "lloyd:3")),
        [(i64::MIN, i64::MIN), (-1, 1), (i64::MAX, i64::MAX)]
    );
    // A small value beside large ones of both signs keeps its cluster.
    let values = [-1e300, 1.0, 1.0, 3.0, 1e300];
    assert_eq!(float_bounds(&built_floats(&values, "lloyd:4"))[1], (1.0, 1.0));
}

#[test]
fn columns_of_one_row_and_of_none() {
    for bins in ["auto", "distinct", "edges:1", "width:7", "quantiles:7", "lloyd:7"] {
        let one = built_ints(&[7], bins);
        assert_eq!(int_bounds(&one), [(7, 7)], "{bins}");
        assert_eq!(one.bitmaps[0].words(), [1]);
        assert!(built_ints(&[], bins).bitmaps.is_empty());
        assert!(built_floats(&[], bins).bitmaps.is_empty());
        let nan = built_floats(&[f64::NAN], bins);
        assert_eq!(nan.column.bins, [Bin { holds: Holds::NaN, rows: 1 }]);
    }
    for bins in ["auto", "distinct", "quantiles:7", "edges:a"] {
        assert_eq!(sizes(&built_texts(&[String::new()], bins)), [1]);
        assert!(built_texts(&[], bins).bitmaps.is_empty());
        let cells = [Cell::Missing, Cell::Null, Cell::Other];
        let built = build_column("n", "n", ColumnValues::of_cells(cells, None), &spec(bins)).unwrap();
        assert_eq!(built.column.kind, Kind::Text);
        check(&built, &[Row::Missing, Row::Null, Row::Other]);
    }
}

#[test]
fn booleans_have_a_bin_each() {
    for bins in ["auto", "distinct", "quantiles:1", "quantiles:5"] {
        let cells = [Cell::Bool(true), Cell::Bool(false), Cell::Bool(true), Cell::Null];
        let built = build_column("b", "b", ColumnValues::of_cells(cells, None), &spec(bins)).unwrap();
        let value = |value| Row::Value(Scalar::Bool(value));
        check(&built, &[value(true), value(false), value(true), Row::Null]);
        assert_eq!(built.column.bins.len(), 3);
    }
}

// --- lines -------------------------------------------------------------------------------------------------

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

fn emulated(on_error: OnError, partition_size: usize) -> Engine {
    let backend = Arc::new(Pipeline::new(Emulated::default()).unwrap());
    let builder = Engine::builder().backend(backend).on_error(on_error);
    builder.partition_size(partition_size).workers(1).build().unwrap()
}

/// A value of JSON, and what it is.
#[derive(Clone, Debug)]
enum Json {
    Int(String, i64),
    Float(String, f64),
    Text(String),
    Time(&'static str, i64),
    Bool(bool),
    Null,
    Other(&'static str),
}

#[derive(Clone, Debug)]
enum Line {
    Blank,
    Malformed,
    Missing,
    Of(Json),
}

impl Json {
    /// A number, by its exact value; where it is no integer of 64 bits, by the nearest double.
    fn number(text: String) -> Self {
        match Number::parse(&text).integer() {
            Some(value) => Self::Int(text, value),
            None => {
                let value = text.parse::<f64>().unwrap() + 0.0;
                Self::Float(text, value)
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Int(text, _) | Self::Float(text, _) => text.clone(),
            Self::Text(text) => serde_json::to_string(text).unwrap(),
            Self::Time(text, _) => format!("\"{text}\""),
            Self::Bool(value) => value.to_string(),
            Self::Null => "null".into(),
            Self::Other(text) => (*text).into(),
        }
    }
}

/// Numbers that are integers of 64 bits, however they are written, and numbers beside these, however near.
fn number() -> impl Strategy<Value = Json> {
    let edges = vec![0, 1, 1 << 53, i64::MAX.into(), i128::from(i64::MAX) + 1, 10_i128.pow(18)];
    let whole = prop_oneof![
        2 => 0_i128..9,
        1 => any::<i64>().prop_map(|value| i128::from(value).abs()),
        3 => (select(edges), -2_i128..3).prop_map(|(edge, beside)| (edge + beside).abs()),
    ];
    let exponents = vec!["", "", "", "e0", "E+2", "e-1", "e-2", "e-20", "e30", "e-400", "e999"];
    let parts = (any::<bool>(), whole, "(|\\.0{0,25}[0-9])", select(exponents));
    parts.prop_map(|(is_negative, whole, fraction, exponent)| {
        let sign = if is_negative { "-" } else { "" };
        Json::number(format!("{sign}{whole}{fraction}{exponent}"))
    })
}

fn json() -> impl Strategy<Value = Json> {
    prop_oneof![
        3 => (-9_i64..9).prop_map(|value| Json::Int(value.to_string(), value)),
        6 => number(),
        2 => select(vec!["", "a", "b", "a\"\\\n", "é☺😀", "quite a long text"]).prop_map(|text| Json::Text(text.into())),
        1 => "[a-c]{0,3}".prop_map(Json::Text),
        1 => select(vec![("1970-01-01T00:00:00Z", 0), ("1970-01-01T01:00:01.5+01:00", 1_500_000_000)])
            .prop_map(|(text, value)| Json::Time(text, value)),
        1 => any::<bool>().prop_map(Json::Bool),
        1 => Just(Json::Null),
        1 => select(vec!["{}", "[1]", "{\"v\":1}", "\"\\x\"", "tru", "01", "[null]"]).prop_map(Json::Other),
    ]
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let line = |json: BoxedStrategy<Json>| {
        prop_oneof![
            1 => Just(Line::Blank), 1 => Just(Line::Malformed), 1 => Just(Line::Missing), 12 => json.prop_map(Line::Of),
        ]
    };
    let whole = (-50_i64..50).prop_map(|value| Json::Int(value.to_string(), value));
    prop_oneof![vec(line(json().boxed()), 0..200), vec(line(whole.boxed()), 0..200)]
}

fn ndjson(lines: &[Line]) -> String {
    let line = |line: &Line| match line {
        Line::Blank => " \t".to_owned(),
        Line::Malformed => "{\"v\":1,\"x\":{\"v\":[1}".to_owned(),
        Line::Missing => "{\"w\":{\"v\":1}}".to_owned(),
        Line::Of(json) => format!("{{\"w\":[0], \"x\":{{\"v\":{}}}}}", json.text()),
    };
    lines.iter().map(|of| line(of) + "\n").collect()
}

/// The kind of a column, and its rows: the rules of `bitmap::value`, said again.
fn expected(lines: &[Line], asked: Option<Kind>) -> (Kind, Vec<Row>) {
    let count = |is: fn(&Json) -> bool| {
        lines.iter().filter(|line| matches!(line, Line::Of(json) if is(json))).count()
    };
    let floats = count(|json| matches!(json, Json::Float(..)));
    let numbers = floats + count(|json| matches!(json, Json::Int(..)));
    let texts = count(|json| matches!(json, Json::Text(_) | Json::Time(..)));
    let bools = count(|json| matches!(json, Json::Bool(_)));
    let inferred = if numbers + texts + bools == 0 {
        Kind::Text
    } else if numbers >= texts && numbers >= bools {
        if floats > 0 { Kind::Float } else { Kind::Int }
    } else if texts >= bools {
        Kind::Text
    } else {
        Kind::Bool
    };
    let kind = asked.unwrap_or(inferred);
    let row = |line: &Line| match (line, kind) {
        (Line::Blank | Line::Malformed | Line::Missing, _) => Row::Missing,
        (Line::Of(Json::Null), _) => Row::Null,
        (Line::Of(Json::Int(_, value)), Kind::Int) => Row::Value(Scalar::Int(*value)),
        (Line::Of(Json::Int(_, value)), Kind::Float) => Row::Value(Scalar::Float(*value as f64)),
        (Line::Of(Json::Float(_, value)), Kind::Float) => Row::Value(Scalar::Float(*value)),
        (Line::Of(Json::Text(text)), Kind::Text) => Row::Value(Scalar::Text(text.as_str().into())),
        (Line::Of(Json::Time(text, _)), Kind::Text) => Row::Value(Scalar::Text((*text).into())),
        (Line::Of(Json::Time(_, value)), Kind::Time) => Row::Value(Scalar::Time(*value)),
        (Line::Of(Json::Bool(value)), Kind::Bool) => Row::Value(Scalar::Bool(*value)),
        _ => Row::Other,
    };
    (kind, lines.iter().map(row).collect())
}

/// Holds lines that were built, by columns of all kinds, to what they are.
fn check_lines(built: &Built, left_out: &LeftOut, lines: &[Line], text: &str, kinds: &[Option<Kind>]) {
    assert_eq!(built.rows, lines.len() as u64);
    for (column, asked) in built.columns.iter().zip(kinds) {
        let (kind, rows) = expected(lines, *asked);
        assert_eq!(column.column.kind, kind);
        assert_eq!(column.column.source, "$['x']['v']");
        check(column, &rows);
    }
    let is_record = |line: &Line| !matches!(line, Line::Blank | Line::Malformed);
    if lines.iter().all(is_record) {
        assert_eq!(built.records, None);
    } else {
        let rows = (0..).zip(lines).filter(|(_, line)| is_record(line)).map(|(row, _)| row);
        assert_eq!(built.records, Some(WahBuf::from_ones(rows, built.rows)));
    }
    let faults = lines.iter().filter(|line| matches!(line, Line::Malformed)).count();
    assert_eq!(left_out.count, faults as u64);
    let first = (1..).zip(lines).find(|(_, line)| matches!(line, Line::Malformed)).map(|(line, _)| line);
    assert_eq!(left_out.first.as_ref().map(|fault| fault.line), first);
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at as u64 + 1));
    let mut offsets: Vec<u64> = starts.take(lines.len()).step_by(64).collect();
    offsets.push(text.len() as u64);
    assert_eq!(built.lines, offsets);
}

const KINDS: [Option<Kind>; 6] =
    [None, Some(Kind::Int), Some(Kind::Float), Some(Kind::Text), Some(Kind::Time), Some(Kind::Bool)];

fn specs_of_all_kinds(bins: &BinSpec) -> Vec<ColumnSpec> {
    let spec = |kind: &Option<Kind>| {
        let name = kind.map_or("any", Kind::name);
        // Texts and booleans are not cut by what cuts numbers.
        let bins = if matches!(kind, Some(Kind::Int | Kind::Float | Kind::Time)) {
            bins.clone()
        } else {
            BinSpec::Quantiles(5)
        };
        ColumnSpec { kind: *kind, ..ColumnSpec::new(name, "$.x.v") }.with_bins(bins)
    };
    KINDS.iter().map(spec).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn each_line_is_in_the_bin_of_its_value(
        lines in lines(),
        bins in select(vec!["auto", "distinct", "width:6", "quantiles:4", "lloyd:5"]),
        partition_size in 1_usize..3000,
        workers in 1_usize..4,
    ) {
        let (files, text) = (Files::new(), ndjson(&lines));
        let path = files.write("lines", &text);
        let specs = specs_of_all_kinds(&spec(bins));
        let (built, left_out) = build_ndjson(&cpu(OnError::Skip), &path, &specs).unwrap();
        check_lines(&built, &left_out, &lines, &text, &KINDS);
        // However it is read, the same comes of it.
        let engine = Engine::builder().device(DeviceChoice::Cpu).on_error(OnError::Skip);
        let engine = engine.partition_size(partition_size).workers(workers).build().unwrap();
        prop_assert_eq!(&build_ndjson(&engine, &path, &specs).unwrap(), &(built.clone(), left_out.clone()));
        let other = |(other, other_left_out): (Built, LeftOut), name: &str| {
            assert_eq!(other.columns, built.columns, "{name}");
            assert_eq!((other.rows, &other.records, other.lines.len()), (built.rows, &built.records, 0), "{name}");
            assert_eq!(other_left_out.count, left_out.count, "{name}");
        };
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let path = files.write("lines.gz", gzip.finish().unwrap());
        other(build_ndjson(&engine, &path, &specs).unwrap(), "gzip");
        let path = files.write("lines.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
        other(build(&engine, &path, &specs).unwrap(), "zstd");
    }
}

#[test]
fn a_device_gives_the_same() {
    let files = Files::new();
    let lines: Vec<Line> = (0..200_i64)
        .map(|row| match row % 11 {
            3 => Line::Blank,
            5 => Line::Malformed,
            7 => Line::Missing,
            8 => Line::Of(Json::Null),
            9 => Line::Of(Json::Text(format!("\"{}", row % 4))),
            10 => Line::Of(Json::number(NUMBERS[row as usize / 11 % NUMBERS.len()].0.into())),
            _ => Line::Of(Json::Int((row * row).to_string(), row * row)),
        })
        .collect();
    let text = ndjson(&lines);
    let path = files.write("lines", &text);
    let specs = specs_of_all_kinds(&spec("lloyd:5"));
    let (built, left_out) = build_ndjson(&cpu(OnError::Skip), &path, &specs).unwrap();
    check_lines(&built, &left_out, &lines, &text, &KINDS);
    for partition_size in [1 << 20, 700] {
        let engine = emulated(OnError::Skip, partition_size);
        assert_eq!(build_ndjson(&engine, &path, &specs).unwrap(), (built.clone(), left_out.clone()));
    }
}

#[test]
fn several_columns_of_one_pass() {
    let files = Files::new();
    let text = "{\"id\":1,\"user\":{\"name\":\"a\",\"tags\":[\"x\",\"y\"]}}\n{\"user\":{\"tags\":[\"z\"],\"name\":\"b\"},\"id\":2.5}";
    let path = files.write("lines", text);
    let specs = [
        ColumnSpec::new("id", "$.id"),
        ColumnSpec::new("name", "$['user'].name"),
        ColumnSpec::new("second tag", "$.user.tags[1]"),
        ColumnSpec::new("id again", "$.id").with_kind(Kind::Int),
    ];
    let (built, _) = build_ndjson(&cpu(OnError::Fail), &path, &specs).unwrap();
    let text = |text: &str| Row::Value(Scalar::Text(text.into()));
    check(&built.columns[0], &floats(&[1.0, 2.5]));
    check(&built.columns[1], &[text("a"), text("b")]);
    check(&built.columns[2], &[text("y"), Row::Missing]);
    check(&built.columns[3], &[Row::Value(Scalar::Int(1)), Row::Other]);
    let sources: Vec<&str> = built.columns.iter().map(|built| &built.column.source[..]).collect();
    assert_eq!(sources, ["$['id']", "$['user']['name']", "$['user']['tags'][1]", "$['id']"]);
    assert_eq!((built.rows, built.records), (2, None));
    assert!(built.stamp.is_some());
}

#[test]
fn integers_past_2_to_the_53_are_exact() {
    let files = Files::new();
    let path = files
        .write("lines", "{\"n\":9007199254740993}\n{\"n\":9007199254740992}\n{\"n\":9223372036854775807}\n");
    let specs = [ColumnSpec::new("n", "$.n").with_bins(spec("distinct"))];
    let (built, _) = build_ndjson(&cpu(OnError::Fail), &path, &specs).unwrap();
    check(&built.columns[0], &ints(&[(1 << 53) + 1, 1 << 53, i64::MAX]));
    assert_eq!(built.columns[0].column.bins.len(), 3);
}

/// Numbers, and what they are in a column of integers and in one of doubles.
const NUMBERS: [(&str, Option<i64>, f64); 17] = [
    ("1.00000000000000000001", None, 1.0),
    ("9007199254740993.5", None, 9_007_199_254_740_994.0),
    ("1e-400", None, 0.0),
    ("-1e-400", None, 0.0),
    ("-9223372036854775809", None, -9_223_372_036_854_775_808.0),
    ("-9223372036854775808.0000000000000000000000001", None, -9_223_372_036_854_775_808.0),
    ("9223372036854775808", None, 9_223_372_036_854_775_808.0),
    ("0.99999999999999999999", None, 1.0),
    ("1e999", None, f64::INFINITY),
    ("-1e999", None, f64::NEG_INFINITY),
    ("1.0", Some(1), 1.0),
    ("1e3", Some(1000), 1000.0),
    ("-0.0", Some(0), 0.0),
    ("9007199254740993.000", Some((1 << 53) + 1), 9_007_199_254_740_992.0),
    ("900719925474099300e-2", Some((1 << 53) + 1), 9_007_199_254_740_992.0),
    ("-9223372036854775808.0", Some(i64::MIN), -9_223_372_036_854_775_808.0),
    ("0.09223372036854775807e20", Some(i64::MAX), 9_223_372_036_854_775_808.0),
];

#[test]
fn only_numbers_that_are_integers_are_integers() {
    let files = Files::new();
    let text: String = NUMBERS.iter().map(|(text, ..)| format!("{{\"n\":{text}}}\n")).collect();
    let path = files.write("lines", text);
    let specs = [Some(Kind::Int), Some(Kind::Float), None]
        .map(|kind| ColumnSpec { kind, ..ColumnSpec::new(kind.map_or("any", Kind::name), "$.n") });
    let is_int =
        NUMBERS.map(|(_, value, _)| value.map_or(Row::Other, |value| Row::Value(Scalar::Int(value))));
    let is_float = NUMBERS.map(|(.., value)| Row::Value(Scalar::Float(value)));
    for engine in [cpu(OnError::Fail), emulated(OnError::Fail, 1 << 20)] {
        let (built, _) = build_ndjson(&engine, &path, &specs).unwrap();
        check(&built.columns[0], &is_int);
        check(&built.columns[1], &is_float);
        // One that is none makes a column of doubles.
        check(&built.columns[2], &is_float);
        assert_eq!(built.columns[2].column.kind, Kind::Float);
        let index = BitmapIndex::from_built(built).unwrap();
        for (expr, rows) in [
            ("int = 1", vec![10]),
            ("int = 0", vec![12]),
            ("int = 9007199254740994", vec![]),
            ("int = 9007199254740993", vec![13, 14]),
            ("int <= -9223372036854775808", vec![15]),
            ("int > 9007199254740993", vec![16]),
            ("int is other", (0..10).collect()),
            ("float = 1e999", vec![8]),
            ("float > 1e308", vec![8]),
            ("float < -1e308", vec![9]),
            ("float is other", vec![]),
        ] {
            let plan = Plan::of(&index, &expr.parse().unwrap(), false).unwrap();
            let answer = BitmapEngine::cpu().answer(&index, &plan, true).unwrap();
            let is_set = |row: &usize| answer.chunks[row / 63] >> (row % 63) & 1 != 0;
            assert_eq!((0..NUMBERS.len()).filter(is_set).collect::<Vec<_>>(), rows, "{expr}");
        }
    }
    // One beyond the range of doubles makes one, too.
    let path = files.write("lines", "{\"n\":1}\n{\"n\":1e999}\n");
    let (built, _) = build_ndjson(&cpu(OnError::Fail), &path, &specs[2..]).unwrap();
    check(&built.columns[0], &floats(&[1.0, f64::INFINITY]));
}

#[test]
fn files_without_lines_records_or_values() {
    let files = Files::new();
    let specs = [ColumnSpec::new("n", "$.n")];
    let of = |text: &[u8]| build_ndjson(&cpu(OnError::Fail), &files.write("lines", text), &specs).unwrap().0;
    for (text, rows, lines) in [
        (&b""[..], 0, vec![0]),
        (b"\xef\xbb\xbf", 0, vec![3]),
        (b"\n", 1, vec![0, 1]),
        (b"\n \n\t", 3, vec![0, 4]),
    ] {
        let built = of(text);
        assert_eq!((built.rows, &built.lines), (rows, &lines), "{text:?}");
        assert_eq!(built.records, (rows > 0).then(|| WahBuf::none(rows)));
        check(&built.columns[0], &vec![Row::Missing; rows as usize]);
        assert_eq!(built.columns[0].column.kind, Kind::Text);
    }
    let built = of(b"\xef\xbb\xbf{\"n\":1}\n{\"n\":null}");
    assert_eq!(built.lines, [3, 21]);
    check(&built.columns[0], &[Row::Value(Scalar::Int(1)), Row::Null]);
}

fn said<T>(result: Result<T, Error>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn what_cannot_be_built_of_lines_is_told() {
    let files = Files::new();
    let path = files.write("lines", "{\"n\":1}\n{\"n\":[2}\n");
    let (skip, fail) = (cpu(OnError::Skip), cpu(OnError::Fail));
    let column = |source: &str| [ColumnSpec::new("n", source)];
    let name = path.display();
    let error = build_ndjson(&fail, &path, &column("$.n")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{name}:2:8: closing bracket does not match the opening one"),
        "{error:?}"
    );
    assert!(build_ndjson(&skip, &path, &column("$.n")).is_ok());
    assert_eq!(
        said(build_ndjson(&skip, &path, &column("$.n[*]"))),
        "column `n`: `$.n[*]` may find several values of a record, and a column has one; a path of names and single indexes \
         finds one at most"
    );
    assert!(matches!(build_ndjson(&skip, &path, &column("n")), Err(Error::Query(_))));
    assert_eq!(said(build_ndjson(&skip, &path, &[])), "a bitmap index has at least one column");
    let twice = [ColumnSpec::new("n", "$.n"), ColumnSpec::new("n", "$.m")];
    assert_eq!(said(build_ndjson(&skip, &path, &twice)), "two columns have the name `n`");
    assert_eq!(
        said(build_ndjson(&skip, &path, &[ColumnSpec::new("", "$.n")])),
        "the column of `$.n` has no name"
    );
    let lloyd = [ColumnSpec::new("s", "$.n").with_kind(Kind::Text).with_bins(spec("lloyd:2"))];
    assert!(
        said(build_ndjson(&skip, &path, &lloyd))
            .starts_with("column `s`: `lloyd:2` cuts numbers and instants")
    );
    let folder = files.0.path();
    assert!(said(build_ndjson(&skip, folder, &column("$.n"))).ends_with(": is a directory"));
    assert!(said(build(&skip, &folder.join("none"), &column("$.n"))).contains("No such file"));
    let documents = Engine::builder().format(warpath::Format::Json).build().unwrap();
    assert_eq!(
        said(build_ndjson(&documents, &path, &column("$.n"))),
        "a bitmap index is of lines, and the input is a document"
    );
    // A truncated file is reported, and so is a fault before the end.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all("{\"n\":1}\n".repeat(100_000).as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    let path = files.write("cut.gz", &bytes[..bytes.len() - 20]);
    assert!(said(build_ndjson(&skip, &path, &column("$.n"))).contains("gzip data is damaged or ends early"));
}

// --- tables ------------------------------------------------------------------------------------------------

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn reader(batches: &[RecordBatch]) -> impl arrow_array::RecordBatchReader + Send + use<> {
    let schema = batches[0].schema();
    let batches: Vec<Result<RecordBatch, ArrowError>> = batches.iter().cloned().map(Ok).collect();
    RecordBatchIterator::new(batches, schema)
}

/// One column of a table, of the kind that its type says.
fn arrow(array: ArrayRef, kind: Option<Kind>, bins: &str) -> BuiltColumn {
    let spec = ColumnSpec { kind, ..ColumnSpec::new("c", "column") }.with_bins(spec(bins));
    let mut built = build_arrow("table", reader(&[table(vec![("column", array)])]), &[spec]).unwrap();
    assert_eq!((built.records.is_none(), built.lines.len(), built.stamp), (true, 0, None));
    assert_eq!(built.columns[0].column.source, "column");
    built.columns.remove(0)
}

#[test]
fn columns_of_tables_are_of_their_types() {
    let int = |value| Row::Value(Scalar::Int(value));
    let float = |value| Row::Value(Scalar::Float(value));
    let text = |value: &str| Row::Value(Scalar::Text(value.into()));
    let time = |value| Row::Value(Scalar::Time(value));
    let inf = f64::INFINITY;
    let cases: Vec<(ArrayRef, Kind, Vec<Row>)> = vec![
        (
            Arc::new(Int8Array::from(vec![Some(-128), None, Some(7)])),
            Kind::Int,
            vec![int(-128), Row::Null, int(7)],
        ),
        (Arc::new(UInt16Array::from(vec![65_535, 0])), Kind::Int, vec![int(65_535), int(0)]),
        (
            Arc::new(Int64Array::from(vec![i64::MIN, (1 << 53) + 1])),
            Kind::Int,
            ints(&[i64::MIN, (1 << 53) + 1]),
        ),
        (Arc::new(UInt64Array::from(vec![1, i64::MAX as u64])), Kind::Int, ints(&[1, i64::MAX])),
        (
            Arc::new(UInt64Array::from(vec![1, u64::MAX])),
            Kind::Float,
            floats(&[1.0, 18_446_744_073_709_551_616.0]),
        ),
        (
            Arc::new(Float64Array::from(vec![
                Some(f64::NAN),
                Some(-0.0),
                None,
                Some(inf),
                Some(-inf),
                Some(0.0),
            ])),
            Kind::Float,
            vec![Row::NaN, float(0.0), Row::Null, float(inf), float(-inf), float(0.0)],
        ),
        (Arc::new(Float32Array::from(vec![0.1_f32, 3.0])), Kind::Float, floats(&[f64::from(0.1_f32), 3.0])),
        (
            Arc::new(StringArray::from(vec![Some("é"), None, Some("")])),
            Kind::Text,
            vec![text("é"), Row::Null, text("")],
        ),
        (Arc::new(LargeStringArray::from(vec!["b", "a"])), Kind::Text, vec![text("b"), text("a")]),
        (
            Arc::new(StringViewArray::from(vec!["b", "a text that is too long to be in its view"])),
            Kind::Text,
            vec![text("b"), text("a text that is too long to be in its view")],
        ),
        (
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            Kind::Bool,
            vec![Row::Value(Scalar::Bool(true)), Row::Null, Row::Value(Scalar::Bool(false))],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None])),
            Kind::Time,
            vec![time(-1000), Row::Null],
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![1, 10_000_000_000]).with_timezone("+02:00")),
            Kind::Time,
            vec![time(1_000_000_000), Row::Other],
        ),
        (
            Arc::new(Date32Array::from(vec![
                Some(0),
                Some(-1),
                None,
                Some(106_751),
                Some(106_752),
                Some(i32::MIN),
            ])),
            Kind::Time,
            vec![
                time(0),
                time(-86_400_000_000_000),
                Row::Null,
                time(106_751 * 86_400_000_000_000),
                Row::Other,
                Row::Other,
            ],
        ),
        (
            Arc::new(Date64Array::from(vec![Some(86_400_000), None, Some(i64::MAX)])),
            Kind::Time,
            vec![time(86_400_000_000_000), Row::Null, Row::Other],
        ),
        (Arc::new(NullArray::new(3)), Kind::Text, vec![Row::Null; 3]),
        (Arc::new(Float64Array::from(vec![None, None])), Kind::Float, vec![Row::Null; 2]),
        (
            Arc::new(
                [Some("x"), None, Some("y"), Some("x")].into_iter().collect::<DictionaryArray<Int32Type>>(),
            ),
            Kind::Text,
            vec![text("x"), Row::Null, text("y"), text("x")],
        ),
        (
            Arc::new(std::iter::repeat_n(None::<&str>, 2).collect::<DictionaryArray<Int32Type>>()),
            Kind::Text,
            vec![Row::Null; 2],
        ),
    ];
    for (array, kind, rows) in cases {
        for bins in ["auto", "quantiles:1"] {
            let built = arrow(array.clone(), None, bins);
            assert_eq!(built.column.kind, kind, "{array:?}");
            check(&built, &rows);
        }
    }
    let whole: ArrayRef =
        Arc::new(Float64Array::from(vec![3.0, 0.5, f64::NAN, -inf, 9.3e18, -9_223_372_036_854_775_808.0]));
    let want = [int(3), Row::Other, Row::Other, Row::Other, Row::Other, int(i64::MIN)];
    check(&arrow(whole, Some(Kind::Int), "auto"), &want);
    let instants: ArrayRef = Arc::new(StringArray::from(vec!["1970-01-01T00:00:01Z", "yesterday"]));
    check(&arrow(instants, Some(Kind::Time), "auto"), &[time(1_000_000_000), Row::Other]);
}

#[test]
fn infinities_and_nans_of_tables_have_their_bins() {
    let inf = f64::INFINITY;
    let values = vec![f64::NAN, 1.0, -inf, 2.0, inf, -f64::NAN, 50.0];
    let built = arrow(Arc::new(Float64Array::from(values.clone())), None, "lloyd:2");
    check(&built, &floats(&values));
    assert_eq!(float_bounds(&built), [(-inf, 2.0), (50.0, inf)]);
    assert_eq!(built.column.bins[2], Bin { holds: Holds::NaN, rows: 2 });
}

#[test]
fn what_cannot_be_built_of_a_table_is_told() {
    let batch = table(vec![
        ("hour", Arc::new(Time32SecondArray::from(vec![1]))),
        ("n", Arc::new(Int64Array::from(vec![1]))),
    ]);
    let of = |source: &str| {
        build_arrow("table", reader(std::slice::from_ref(&batch)), &[ColumnSpec::new("c", source)])
    };
    assert_eq!(
        said(of("hour")),
        "table: the column `hour` has the type Time32(s); an index is made of integers, floats, strings, booleans, timestamps and dates"
    );
    assert_eq!(said(of("m")), "table: has no column `m`; it has `hour`, `n`");
    let schema = batch.schema();
    let failing = RecordBatchIterator::new(
        vec![Ok(batch.clone()), Err(ArrowError::IpcError("it ends early".into()))],
        schema,
    );
    let error = build_arrow("table", failing, &[ColumnSpec::new("c", "n")]);
    assert_eq!(said(error), "table: Ipc error: it ends early");
}

fn parquet_file(path: &Path, batches: &[RecordBatch], compression: parquet::basic::Compression) {
    let file = std::fs::File::create(path).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(100))
        .build();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn arrow_file(path: &Path, batches: &[RecordBatch], compression: Option<arrow_ipc::CompressionType>) {
    let options = arrow_ipc::writer::IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let (file, schema) = (std::fs::File::create(path).unwrap(), batches[0].schema());
    let mut writer = arrow_ipc::writer::FileWriter::try_new_with_options(file, &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

#[test]
fn files_of_tables_are_known_by_their_bytes() {
    use arrow_ipc::CompressionType;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};

    let files = Files::new();
    let batch = |from: i64| {
        let values: Vec<i64> = (from..from + 150).collect();
        table(vec![
            ("unused", Arc::new(Date32Array::from(vec![1; 150]))),
            (
                "s",
                Arc::new(
                    values
                        .iter()
                        .map(|v| (v % 5 > 0).then(|| format!("s{}", v % 5)))
                        .collect::<StringArray>(),
                ),
            ),
            ("n", Arc::new(Int64Array::from_iter_values(values.iter().map(|v| v * v)))),
        ])
    };
    let batches = [batch(0), batch(150)];
    let specs = [ColumnSpec::new("square", "n").with_bins(spec("lloyd:4")), ColumnSpec::new("s", "s")];
    let squares = ints(&(0..300).map(|v| v * v).collect::<Vec<_>>());
    let want = build_arrow("table", reader(&batches), &specs).unwrap();
    check(&want.columns[0], &squares);
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut path = |name: &str| {
        paths.push(files.0.path().join(name));
        paths.last().unwrap().clone()
    };
    for (name, compression) in [
        ("plain", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
        ("gzip", Compression::GZIP(GzipLevel::default())),
        ("lz4", Compression::LZ4_RAW),
    ] {
        parquet_file(&path(&format!("{name}.parquet")), &batches, compression);
    }
    for (name, compression) in
        [("plain", None), ("lz4", Some(CompressionType::LZ4_FRAME)), ("zstd", Some(CompressionType::ZSTD))]
    {
        arrow_file(&path(&format!("{name}.arrow")), &batches, compression);
    }
    let stream = std::fs::File::create(path("stream")).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(stream, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    let engine = cpu(OnError::Fail);
    for path in paths {
        let (built, left_out) = build(&engine, &path, &specs).unwrap();
        assert_eq!(built.columns, want.columns, "{}", path.display());
        assert_eq!((built.rows, built.records.is_none(), built.lines.len()), (300, true, 0));
        assert!(built.stamp.is_some() && left_out == LeftOut::default());
        let bytes = std::fs::read(&path).unwrap();
        // Cut off anywhere, it is an error, or, of a stream, what came before.
        for len in [8, bytes.len() / 2, bytes.len() - 9] {
            let cut = files.write("cut", &bytes[..len]);
            if !path.ends_with("stream") {
                let error = said(build_table(&cut, &specs));
                assert!(error.starts_with(&format!("{}: ", cut.display())), "{}: {error}", path.display());
            }
        }
        let unknown = said(build(&engine, &path, &[ColumnSpec::new("x", "x")]));
        assert!(unknown.ends_with(": has no column `x`; it has `unused`, `s`, `n`"), "{unknown}");
    }
    let lines = files.write("lines", "{}\n");
    assert!(said(build_table(&lines, &specs)).ends_with(": is no table of Parquet or Arrow"));
}
