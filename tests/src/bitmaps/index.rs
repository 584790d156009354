//! Checks a device against the CPU: the bitmaps that it makes for an index, and its results for expressions
//! over indexes.

use anyhow::{Result, ensure};
use warpath::bitmap::{BitmapEngine, BitmapIndex, Built, Plan};
use warpath_device::{Accelerator, BitmapStage};
use warpath_exec::bitmap::build::{BitmapMaker, build_column, build_column_by};
use warpath_store::bitmap::value::{Cell, ColumnValues};

use super::compressed;
use crate::random::Rng;

/// `rows` integers in `0..values`, in runs of several lengths, some of them missing. Every value occurs if
/// there are enough rows.
fn ints(rng: &mut Rng, rows: usize, values: usize) -> ColumnValues {
    let longest = [1, 3, 200][rng.below(3)];
    let each = (0..values).map(|value| Cell::Int(value as i64));
    let mut all: Vec<Cell<'_>> = std::iter::once(Cell::Missing).chain(each).take(rows).collect();
    while all.len() < rows {
        let cell = if rng.below(20) == 0 { Cell::Missing } else { Cell::Int(rng.below(values) as i64) };
        for _ in 0..(1 + rng.below(longest)).min(rows - all.len()) {
            all.push(cell);
        }
    }
    ColumnValues::of_cells(all, None)
}

/// Compares the bitmaps that a device makes with those of the CPU. The column has `rows` rows, and `values`
/// distinct values if there are more rows than values. Returns the number of bins.
///
/// # Errors
/// A difference between the bitmaps, or an error of the device.
pub fn check_maker(maker: &mut BitmapMaker, rng: &mut Rng, rows: usize, values: usize) -> Result<usize> {
    let cells = ints(rng, rows, values);
    let spec = "distinct".parse()?;
    let want = build_column("n", "n", cells.clone(), &spec)?;
    let got = build_column_by(maker, "n", "n", cells, &spec)?;
    ensure!(got == want, "bitmaps of {} bins over {rows} rows by {}", want.bitmaps.len(), maker.name());
    Ok(want.bitmaps.len())
}

/// Checks row counts around chunks, tiles and groups, with few bins and with many.
///
/// # Errors
/// A difference between a device's bitmaps and the CPU's, or an error of the device.
pub fn check_makers<A: Accelerator>(device: &A, rng: &mut Rng, large: usize) -> Result<()> {
    let mut maker = BitmapMaker::on(Box::new(BitmapStage::new(device.queue()?)));
    for rows in [0, 1, 62, 63, 64, 126, 127, 8063, 8064, 8065, 20_000] {
        for values in [1, 2, 40] {
            check_maker(&mut maker, rng, rows, values)?;
        }
    }
    // Bin numbers of one byte and of two bytes, and more bins than a device makes.
    for (values, bins) in [(255, 256), (256, 257), (4095, 4096), (4096, 4097)] {
        let made = check_maker(&mut maker, rng, 20_000, values)?;
        ensure!(made == bins, "{made} bins of {values} values");
    }
    check_maker(&mut maker, rng, large, 25).map(drop)
}

/// A random index of two columns with `rows` rows.
///
/// # Errors
/// An error of the builder, which would be a fault in it.
pub fn index(rng: &mut Rng, rows: usize) -> Result<BitmapIndex> {
    let records = (rng.below(2) == 0).then(|| {
        let records: Vec<bool> = (0..rows).map(|_| rng.below(9) > 0).collect();
        compressed(&records)
    });
    let columns = vec![
        build_column("a", "a", ints(rng, rows, 30), &"distinct".parse()?)?,
        build_column("b", "b", ints(rng, rows, 5000), &"quantiles:20".parse()?)?,
    ];
    Ok(BitmapIndex::from_built(Built { rows: rows as u64, records, columns })?)
}

/// A random expression over the columns of [`index`].
pub fn expression(rng: &mut Rng) -> String {
    let test = |rng: &mut Rng| {
        let (column, most) = [("a", 30), ("b", 5000)][rng.below(2)];
        let (x, y) = (rng.below(most), rng.below(most));
        match rng.below(5) {
            0 => format!("{column} = {x}"),
            1 => format!("{column} >= {x}"),
            2 => format!("{column} between {} and {}", x.min(y), x.max(y)),
            3 => format!("{column} in ({x}, {y})"),
            _ => format!("{column} is missing"),
        }
    };
    let mut all = test(rng);
    for _ in 0..rng.below(4) {
        let not = ["", "not "][rng.below(2)];
        all = format!("({all}) {} {not}({})", ["and", "or"][rng.below(2)], test(rng));
    }
    all
}

/// Compares the result of an engine with that of the CPU.
///
/// # Errors
/// A difference between the two results, or an error of the engine.
pub fn check_answer(engine: &mut BitmapEngine, index: &BitmapIndex, expression: &str) -> Result<()> {
    let plan = Plan::of(index, &expression.parse()?, false)?;
    for keep in [true, false] {
        let want = BitmapEngine::cpu().answer(index, &plan, keep)?;
        let got = engine.answer(index, &plan, keep)?;
        ensure!(got == want, "{expression} of {} rows, by {}", index.rows(), engine.name());
    }
    Ok(())
}

/// Evaluates random expressions over several indexes in turn, some of them new. The engine keeps bitmaps in
/// at most `bytes` bytes of device memory.
///
/// # Errors
/// A result that differs from the CPU's, or an error of the engine.
pub fn check_questions<A: Accelerator>(
    device: &A,
    rng: &mut Rng,
    (rounds, rows): (usize, usize),
    bytes: u64,
) -> Result<()> {
    let mut engine = BitmapEngine::on(device.queue()?).with_device_memory(bytes);
    let mut indexes = vec![index(rng, rows)?, index(rng, rows)?];
    for _ in 0..rounds {
        if rng.below(8) == 0 {
            // Drop an index. The next one may be at the same address.
            indexes.pop();
            let rows = 1 + rng.below(rows);
            indexes.push(index(rng, rows)?);
        }
        let asked = indexes[rng.below(2)].clone();
        for _ in 0..1 + rng.below(4) {
            check_answer(&mut engine, &asked, &expression(rng))?;
        }
    }
    Ok(())
}
