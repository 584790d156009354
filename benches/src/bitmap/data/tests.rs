use warpath_shared::wah::Wah;

use super::*;

/// Rows for tests: two blocks, and some of a third that end within a chunk.
const ROWS: u64 = 2 * BLOCK_ROWS as u64 + 1000;

#[test]
fn sets_have_their_attributes_and_bins() {
    for (set, attributes, bins) in [
        (DataSet::Kdd, 42, 475),
        (DataSet::Linkage, 12, 130),
        (DataSet::Bpa, 20, 1367),
        (DataSet::Zipf, 10, 100),
    ] {
        let table = set.make(100, 1);
        assert_eq!((table.attributes.len(), table.bins()), (attributes, bins), "{}", set.name());
        assert!(table.attributes.iter().all(|attribute| attribute.numbers.len() == 100));
    }
}

#[test]
fn each_row_is_in_one_bin_of_each_attribute() {
    for set in DataSet::ALL {
        let table = set.make(ROWS, 1);
        let columns = table.columns();
        assert_eq!(columns.len(), table.bins());
        let mut column = 0;
        for attribute in &table.attributes {
            let mut bins = vec![None; ROWS as usize];
            for bin in 0..attribute.bins {
                assert_eq!(table.place(column).1 as usize, bin);
                let wah = Wah::new(columns[column].words(), ROWS).unwrap();
                for row in wah.ones() {
                    assert_eq!(bins[row as usize].replace(bin as u8), None, "{} row {row}", set.name());
                }
                column += 1;
            }
            assert!(bins.iter().zip(&attribute.numbers).all(|(bin, number)| *bin == Some(*number)));
        }
    }
}

#[test]
fn threads_change_nothing_and_fewer_rows_are_the_first() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for set in DataSet::ALL {
        let (one, three) = (pool(1), pool(3));
        let (table, same) = (one.install(|| set.make(ROWS, 7)), three.install(|| set.make(ROWS, 7)));
        assert_eq!(table, same, "{}", set.name());
        assert_eq!(one.install(|| table.columns()), three.install(|| table.columns()), "{}", set.name());
        let fewer = set.make(ROWS - 777, 7);
        for (all, fewer) in table.attributes.iter().zip(&fewer.attributes) {
            assert_eq!(all.numbers[..fewer.numbers.len()], fewer.numbers, "{}", set.name());
        }
        assert_ne!(table, set.make(ROWS, 8), "{}: another seed", set.name());
    }
}

#[test]
fn sets_compress_as_they_should() {
    let ratios = DataSet::ALL.map(|set| ratio(&set.make(8 * BLOCK_ROWS as u64, 1).columns()));
    for ((set, ratio), range) in
        DataSet::ALL.iter().zip(ratios).zip([0.002..0.008, 0.05..0.07, 0.6..0.66, 0.86..0.88])
    {
        assert!(range.contains(&ratio), "{}: {ratio}", set.name());
    }
}

#[test]
fn bins_of_zipf_have_their_probabilities() {
    let table = DataSet::Zipf.make(ROWS, 3);
    let total: f64 = (1..=10).map(|rank| 1.0 / f64::from(rank * rank)).sum();
    for attribute in &table.attributes {
        let mut counts = [0_u32; 10];
        attribute.numbers.iter().for_each(|bin| counts[*bin as usize] += 1);
        for (bin, count) in counts.into_iter().enumerate() {
            let wanted = ROWS as f64 / ((bin + 1) * (bin + 1)) as f64 / total;
            // Five standard deviations.
            assert!(
                (f64::from(count) - wanted).abs() < 5.0 * wanted.sqrt(),
                "bin {bin}: {count}, not {wanted}"
            );
        }
    }
}

#[test]
fn weights_are_kept_to_the_last_number() {
    let bins = Weighted::new([1.0, 0.0, 2.0, 1.0]);
    for (number, bin) in [(0, 0), (1 << 29, 0), ((1 << 30) + 1, 2), (1 << 31, 2), (3 << 30, 2), (u32::MAX, 3)]
    {
        assert_eq!(bins.pick(number), bin, "{number}");
    }
    let mut random = Random::new(1, 2, 3);
    for weights in [vec![1.0], vec![1e-12, 1.0, 1e-12], (1..=128).map(f64::from).collect()] {
        let bins = Weighted::new(weights.clone());
        let naive = |number: u32| bins.last.iter().position(|last| number <= *last).unwrap();
        for _ in 0..1000 {
            let number = (random.bits() >> 32) as u32;
            assert_eq!(usize::from(bins.pick(number)), naive(number));
        }
    }
}

#[test]
fn columns_are_at_their_places() {
    let table = DataSet::Bpa.make(10, 1);
    assert_eq!(table.place(0), (0, 0));
    assert_eq!(table.place(68), (0, 68));
    assert_eq!(table.place(69), (1, 0));
    assert_eq!(table.place(1366), (19, 67));
}
