//! Bins by Lloyd's algorithm, and columns of special values.

use super::*;

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
