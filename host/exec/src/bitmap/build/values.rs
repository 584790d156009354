//! The stored values of a column: bin by bin, in the order of the rows.

use warpath_core::pool;
use warpath_store::bitmap::bins::sorted::KeyedValue;
use warpath_store::bitmap::bitmaps::{BinNumber, BinNumbers};
use warpath_store::bitmap::built::StoredValues;
use warpath_store::bitmap::column::{Bin, Holds};
use warpath_store::bitmap::value::Data;

/// The stored values of each bin. `numbers` has the bin number of each row. Takes one pass over the rows, in
/// parallel parts.
pub(super) fn of_bins(bins: &[Bin], numbers: &BinNumbers, data: &Data) -> Vec<StoredValues> {
    let empty: Vec<StoredValues> = bins.iter().map(|bin| StoredValues::of(&bin.holds)).collect();
    if empty.iter().all(|values| *values == StoredValues::Same) {
        return empty;
    }
    match numbers {
        BinNumbers::U8(numbers) => of_data(bins, empty, numbers, data),
        BinNumbers::U16(numbers) => of_data(bins, empty, numbers, data),
        BinNumbers::U32(numbers) => of_data(bins, empty, numbers, data),
    }
}

fn of_data<N: BinNumber>(
    bins: &[Bin],
    empty: Vec<StoredValues>,
    numbers: &[N],
    data: &Data,
) -> Vec<StoredValues> {
    match data {
        Data::Int(values) | Data::Time(values) => of_keys(bins, empty, numbers, values),
        Data::Float(values) => of_keys(bins, empty, numbers, values),
        Data::Bool(values) => of_keys(bins, empty, numbers, values),
        Data::Text(texts) => of_rows(bins, empty, numbers, |values, _, row| values.push_text(texts.get(row))),
    }
}

fn of_keys<N: BinNumber, T: KeyedValue>(
    bins: &[Bin],
    empty: Vec<StoredValues>,
    numbers: &[N],
    values: &[T],
) -> Vec<StoredValues> {
    let least = |bin: &Bin| match &bin.holds {
        Holds::Values { least, .. } => least.key().unwrap_or(0),
        _ => 0,
    };
    let least: Vec<u64> = bins.iter().map(least).collect();
    of_rows(bins, empty, numbers, |stored, bin, row| {
        stored.push_distance(values[row].key().wrapping_sub(least[bin]));
    })
}

/// Collects the stored values of each bin. `push` gets the values of the row's bin so far, the bin number,
/// and the row.
fn of_rows<N: BinNumber>(
    bins: &[Bin],
    empty: Vec<StoredValues>,
    numbers: &[N],
    push: impl Fn(&mut StoredValues, usize, usize) + Sync,
) -> Vec<StoredValues> {
    let ranges = pool::ranges(numbers.len(), 1);
    let parts = ranges.len().max(1) as u64;
    let mut parts = pool::map(ranges, |range| {
        let mut all = empty.clone();
        for (values, bin) in all.iter_mut().zip(bins) {
            values.reserve((bin.rows / parts) as usize);
        }
        for row in range {
            let bin = numbers[row].into() as usize;
            push(&mut all[bin], bin, row);
        }
        all
    });
    match parts.len() {
        0 => empty,
        1 => parts.remove(0),
        _ => {
            let mut of_bins: Vec<Vec<StoredValues>> =
                empty.iter().map(|_| Vec::with_capacity(parts.len())).collect();
            for part in parts {
                of_bins.iter_mut().zip(part).for_each(|(of_bin, values)| of_bin.push(values));
            }
            pool::map(of_bins, |of_bin| {
                let mut of_bin = of_bin.into_iter();
                let mut all = of_bin.next().unwrap_or(StoredValues::Same);
                of_bin.for_each(|behind| all.append(&behind));
                all
            })
        }
    }
}
