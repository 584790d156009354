//! Cutting columns into bins: the bitmaps, the bounds, and the size of each bin.

use super::*;

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
        "column `c`: the edge `x` is not a number; the column has kind int"
    );
    assert_eq!(refused(int(), "edges:3,2"), "column `c`: edges are in order, and `2` is less than `3`");
    assert!(refused(int(), "edges:\"1\"").contains("the edge `\"1\"` is not a number"));
    assert!(refused(ColumnValues::floats(vec![1.0]), "edges:0.5,0.25").contains("`0.25` is less than `0.5`"));
    assert!(refused(ColumnValues::times(vec![1]), "edges:2020").contains("is not an instant of RFC 3339"));
    let bools = ColumnValues::of_cells([Cell::Bool(true)], None);
    assert!(refused(bools, "edges:true").contains("the column has kind bool, which `distinct` cuts"));
    let text = || ColumnValues::of_cells([Cell::Text("a")], None);
    assert!(refused(text(), "edges:b,a").contains("`a` is less than `b`"));
    for bins in ["width:3", "lloyd:3"] {
        let said = refused(text(), bins);
        let want =
            "cuts numbers and instants; the column has kind text, which `distinct` and `quantiles:N` cut";
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
