//! The bytes of columns: they give back what was built, in memory and mapped from a file.

use std::fs::{self, File};

use anyhow::{Result, ensure};
use warpath::Error;
use warpath::bitmap::{BitmapIndex, Built, Kind};
use warpath_core::wah::{OnesBuilder, WahBuf, tile_starts};
use warpath_store::bitmap::column::{Bin, Column, Holds, Scalar};
use warpath_store::bitmap::{BuiltColumn, StoredValues, Values};
use warpath_tests::bitmaps::stored;
use warpath_tests::random::Rng;

/// A value of a row; `Err` says which of the bins without values has it.
type Row = Result<Scalar, Holds>;

fn scalar(rng: &mut Rng, kind: Kind, variety: usize) -> Scalar {
    let number = rng.below(variety) as i64 - variety as i64 / 2;
    match kind {
        Kind::Int => Scalar::Int(if rng.below(20) == 0 { i64::MAX - number.abs() } else { number }),
        Kind::Float => Scalar::Float(number as f64 / 4.0),
        Kind::Time => Scalar::Time(number * 1_000_000_007),
        Kind::Text => Scalar::Text(["", "é", "wort"][rng.below(3)].repeat(rng.below(variety) % 7).into()),
        _ => Scalar::Bool(number & 1 == 0),
    }
}

fn rows_of(rng: &mut Rng, kind: Kind, rows: usize) -> Vec<Row> {
    let variety = [1, 2, 5, 300, 100_000][rng.below(5)];
    let run = [1, 1, 20, 9_000][rng.below(4)];
    let mut all: Vec<Row> = Vec::with_capacity(rows);
    while all.len() < rows {
        let row = match rng.below(12) {
            0 => Err(Holds::Missing),
            1 => Err(Holds::Null),
            2 => Err(Holds::Other),
            3 if kind == Kind::Float => Err(Holds::NaN),
            _ => Ok(scalar(rng, kind, variety)),
        };
        let len = (1 + rng.below(run)).min(rows - all.len());
        all.extend(std::iter::repeat_n(row, len));
    }
    all
}

/// The bin that a row is of.
fn bin_of(bins: &[Bin], row: &Row) -> usize {
    let found = bins.iter().position(|bin| match (&bin.holds, row) {
        (Holds::Values { least, greatest }, Ok(value)) => least <= value && value <= greatest,
        (holds, Err(other)) => holds == other,
        _ => false,
    });
    found.unwrap()
}

fn column(rng: &mut Rng, name: &str, kind: Kind, rows: usize) -> BuiltColumn {
    let all = rows_of(rng, kind, rows);
    let mut values: Vec<&Scalar> = all.iter().filter_map(|row| row.as_ref().ok()).collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values.dedup();
    let singles = rng.below(2) == 0 && values.len() < 300;
    let mut bins: Vec<Bin> = Vec::new();
    let mut rest = &values[..];
    while !rest.is_empty() {
        let most = rest.len().div_ceil(2).max(values.len() / 30);
        let (bin, behind) = rest.split_at(if singles { 1 } else { 1 + rng.below(most).min(rest.len() - 1) });
        rest = behind;
        let holds = Holds::Values { least: bin[0].clone(), greatest: bin[bin.len() - 1].clone() };
        bins.push(Bin { holds, rows: 0 });
    }
    for other in [Holds::Missing, Holds::Null, Holds::Other, Holds::NaN] {
        if all.iter().any(|row| row.as_ref() == Err(&other)) {
            bins.push(Bin { holds: other, rows: 0 });
        }
    }
    let mut bitmaps = vec![OnesBuilder::default(); bins.len()];
    let mut numbers = Vec::new();
    for (at, row) in all.iter().enumerate() {
        let number = bin_of(&bins, row);
        bins[number].rows += 1;
        bitmaps[number].push(at as u64);
        numbers.push(number);
    }
    let value = |row: Row| row.ok();
    let rows_of_bins: Vec<_> = numbers.into_iter().zip(all.into_iter().map(value)).collect();
    let values = stored(&bins, &rows_of_bins);
    let (name, source, binning) = (name.to_owned(), format!("$['{name}']"), "distinct".to_owned());
    let column = Column { name, source, kind, binning, bins };
    let bitmaps = bitmaps.into_iter().map(|bitmap| bitmap.finish(rows as u64)).collect();
    BuiltColumn { column, bitmaps, values }
}

fn built(rng: &mut Rng, columns: usize, rows: usize) -> Built {
    let kinds = [Kind::Int, Kind::Float, Kind::Text, Kind::Time];
    let some = |rng: &mut Rng| rng.below(2) == 0;
    let columns = (0..columns).map(|number| {
        let kind = kinds[rng.below(kinds.len())];
        column(rng, &format!("column {number}"), kind, rows)
    });
    let columns = columns.collect();
    let records =
        some(rng).then(|| WahBuf::from_ones((0..rows as u64).filter(|_| rng.below(10) > 0), rows as u64));
    Built { rows: rows as u64, records, columns }
}

/// Everything that an index says is what was built.
fn compare(index: &BitmapIndex, built: &Built) -> Result<()> {
    ensure!(index.rows() == built.rows && index.columns().len() == built.columns.len());
    let bitmap = |found: warpath_core::wah::Bitmap<'_>, want: &WahBuf| {
        found.wah == want.as_wah() && found.tiles == tile_starts(want.as_wah())
    };
    let records = index.records()?;
    ensure!(records.is_some() == built.records.is_some());
    ensure!(records.zip(built.records.as_ref()).is_none_or(|(found, want)| bitmap(found, want)));
    for (number, BuiltColumn { column, bitmaps, values }) in built.columns.iter().enumerate() {
        ensure!(index.columns()[number] == *column && index.column(&column.name) == Some(number));
        for (bin, want) in bitmaps.iter().enumerate() {
            ensure!(bitmap(index.bitmap(number, bin)?, want), "column {number}, bin {bin}");
            ensure!(index.atoms(number, bin) == want.words().len() as u64);
        }
        for (bin, want) in values.iter().enumerate() {
            compare_values(index.values(number, bin)?, want, 0..column.bins[bin].rows as usize)?;
        }
    }
    Ok(())
}

fn compare_values(found: Values<'_>, want: &StoredValues, rows: std::ops::Range<usize>) -> Result<()> {
    let same = match (found, want) {
        (Values::Same, StoredValues::Same) => true,
        (Values::U8(found), StoredValues::U8(want)) => found == &want[rows],
        (Values::U16(found), StoredValues::U16(want)) => found == &want[rows],
        (Values::U32(found), StoredValues::U32(want)) => found == &want[rows],
        (Values::U64(found), StoredValues::U64(want)) => found == &want[rows],
        (Values::Text(found), StoredValues::Text { offsets, bytes }) => {
            let want = |row: usize| &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            rows.clone().enumerate().all(|(at, row)| found.get(at) == Some(want(row)))
                && found.get(rows.len()).is_none()
        }
        (found, _) => anyhow::bail!("values are {found:?}"),
    };
    ensure!(same, "values differ");
    Ok(())
}

#[test]
fn what_was_built_comes_back() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let sizes = [0, 1, 62, 63, 64, 65, 1_000, 8_064, 8_065, 65_535, 65_536, 65_537, 140_000];
    for (seed, rows) in sizes.into_iter().cycle().take(40).enumerate() {
        let mut rng = Rng::new(seed as u64);
        let columns = rng.below(4);
        let built = built(&mut rng, columns, rows);
        let memory = BitmapIndex::from_built(built.clone())?;
        compare(&memory, &built)?;
        memory.verify()?;
        let path = folder.path().join("section");
        fs::write(&path, [&[7; 128], memory.bytes(), b"more"].concat())?;
        let place = 128..128 + memory.bytes().len() as u64;
        let open = || BitmapIndex::in_file("section", &File::open(&path).unwrap(), place.clone());
        let file = open()?;
        compare(&file, &built)?;
        file.verify()?;
        ensure!(file.bytes() == memory.bytes() && file.info() == memory.info(), "seed {seed}");
        // Some values of another mapping that nothing has been read of.
        let file = open()?;
        for (number, column) in built.columns.iter().enumerate() {
            for (bin, values) in column.values.iter().enumerate() {
                let rows = column.column.bins[bin].rows as usize;
                let start = rng.below(rows + 1);
                let end = start + rng.below(rows - start + 1);
                compare_values(file.values_of(number, bin, start as u64..end as u64)?, values, start..end)?;
                let beyond = file.values_of(number, bin, 0..rows as u64 + 1);
                ensure!(matches!(beyond, Err(Error::Usage(_))));
            }
            let none = column.bitmaps.len();
            ensure!(matches!(file.bitmap(number, none), Err(Error::Usage(_))));
            ensure!(matches!(file.values(number, none), Err(Error::Usage(_))));
        }
        ensure!(matches!(file.values(built.columns.len(), 0), Err(Error::Usage(_))));
    }
    // A range that is not aligned, or is not in the file.
    let file = File::open(folder.path().join("section"))?;
    for (start, end) in [(1, 200), (64, 1 << 40), (128, 64), (1 << 60, 1 << 61)] {
        let opened = BitmapIndex::in_file("section", &file, start..end);
        ensure!(matches!(opened, Err(Error::Index(_))), "{start}..{end}");
    }
    Ok(())
}

/// A small index that has everything.
fn small() -> Built {
    let kinds = [Kind::Int, Kind::Float, Kind::Text, Kind::Bool];
    let mut rng = Rng::new(11);
    let names = ["int", "float", "text", "bool"];
    let columns =
        names.into_iter().zip(kinds).map(|(name, kind)| column(&mut rng, name, kind, 200)).collect();
    let records = Some(WahBuf::from_ones((0..200).filter(|row| row % 7 > 0), 200));
    Built { rows: 200, records, columns }
}

/// Inconsistent parts are refused before they are written.
#[test]
fn what_is_no_index_is_not_stored() -> Result<()> {
    let refused = |change: &dyn Fn(&mut Built), what: &str| {
        let mut built = small();
        change(&mut built);
        let error = BitmapIndex::from_built(built).expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    };
    refused(&|built| built.rows = 201, "does not have as many rows as the index");
    refused(
        &|built| built.records = Some(WahBuf::none(7)),
        "the bitmap of records does not have as many rows",
    );
    refused(&|built| built.columns[1].column.name = "int".into(), "two columns have the name `int`");
    refused(&|built| drop(built.columns[0].bitmaps.pop()), "does not have a bitmap and values for each bin");
    refused(&|built| built.columns[0].column.bins[0].rows += 1, "its bins do not have as many rows");
    refused(&|built| built.columns[0].column.bins.reverse(), "bins of values do not come first");
    refused(&|built| built.columns[0].column.bins[0].holds = Holds::NaN, "not of floats");
    refused(&|built| drop(built.columns[0].values.pop()), "does not have a bitmap and values for each bin");
    refused(
        &|built| built.columns[2].values[0] = StoredValues::U64(vec![0; 200]),
        "values are not stored in the form of their bin",
    );
    refused(
        &|built| {
            let (offsets, bytes) = ((0..=199).rev().collect(), vec![b'x'; 199]);
            let bins = vec![
                Bin {
                    holds: Holds::Values {
                        least: Scalar::Text("x".into()),
                        greatest: Scalar::Text("y".into()),
                    },
                    rows: 199,
                },
                Bin { holds: Holds::Null, rows: 1 },
            ];
            let bitmaps = vec![WahBuf::from_ones(0..199, 200), WahBuf::from_ones([199], 200)];
            let column = Column { bins, ..built.columns[2].column.clone() };
            let values = vec![StoredValues::Text { offsets, bytes }, StoredValues::Same];
            built.columns[2] = BuiltColumn { column, bitmaps, values };
        },
        "invalid offsets of texts",
    );
    refused(
        &|built| {
            let bins = vec![Bin {
                holds: Holds::Values { least: Scalar::Int(-7), greatest: Scalar::Int(248) },
                rows: 200,
            }];
            let column = Column { bins, ..built.columns[0].column.clone() };
            let values = vec![StoredValues::U8(vec![0; 199])];
            let bitmaps = vec![WahBuf::from_ones(0..200, 200)];
            built.columns[0] = BuiltColumn { column, bitmaps, values };
        },
        "not one value for each row of a bin",
    );
    refused(
        &|built| {
            let bins = vec![Bin {
                holds: Holds::Values { least: Scalar::Float(f64::NAN), greatest: Scalar::Float(1.0) },
                rows: 200,
            }];
            let column = Column { bins, ..built.columns[1].column.clone() };
            let bitmaps = vec![WahBuf::from_ones(0..200, 200)];
            let values = vec![StoredValues::U64(vec![0; 200])];
            built.columns[1] = BuiltColumn { column, bitmaps, values };
        },
        "the bounds of a bin are not in order",
    );
    Ok(())
}

/// Rows in two bins, and values that are not of their bins, are no damage that a checksum finds.
#[test]
fn columns_that_contradict_themselves_are_found_by_who_asks() -> Result<()> {
    let holds =
        |least, greatest| Holds::Values { least: Scalar::Int(least), greatest: Scalar::Int(greatest) };
    let verified = |bitmaps: [WahBuf; 2], values: [Vec<u8>; 2]| {
        let bins = vec![Bin { holds: holds(0, 4), rows: 2 }, Bin { holds: holds(5, 9), rows: 2 }];
        let (name, source, binning) = ("n".into(), "$.n".into(), "width:2".into());
        let column = Column { name, source, kind: Kind::Int, binning, bins };
        let values = values.map(StoredValues::U8).into();
        let column = BuiltColumn { column, bitmaps: bitmaps.into(), values };
        let built = Built { rows: 4, columns: vec![column], ..Built::default() };
        BitmapIndex::from_built(built).unwrap().verify()
    };
    let of = |rows: &[u64]| WahBuf::from_ones(rows.iter().copied(), 4);
    let right = || [vec![0, 4], vec![0, 4]];
    verified([of(&[0, 2]), of(&[1, 3])], right())?;
    let said = |bitmaps, values| verified(bitmaps, values).unwrap_err().to_string();
    ensure!(
        said([of(&[0, 2]), of(&[1, 3])], [vec![0, 5], vec![0, 4]])
            .ends_with("bin 0 of column `n`: it has a value outside its bounds")
    );
    ensure!(
        said([of(&[0, 2]), of(&[2, 3])], right())
            .ends_with("bin 1 of column `n`: it has a row that is in another bin, too")
    );
    ensure!(
        said([of(&[0, 2]), of(&[3])], right())
            .ends_with("bin 1 of column `n`: its bitmap does not have the number of rows in the table")
    );
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut zeros = false;
    for (line, bytes) in bytes.chunks(16).enumerate() {
        if bytes.iter().all(|byte| *byte == 0) {
            if !std::mem::replace(&mut zeros, true) {
                text.push_str("  ...  zeros\n");
            }
            continue;
        }
        zeros = false;
        let numbers: Vec<String> =
            bytes.chunks(4).map(|four| four.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
        let shown: String =
            bytes.iter().map(|byte| if byte.is_ascii_graphic() { *byte as char } else { '.' }).collect();
        text.push_str(&format!("{:5x}  {}  {shown}\n", 16 * line, numbers.join(" ")));
    }
    text
}

/// Columns whose bytes are known: who changes them makes another version.
#[test]
fn the_format_is_what_it_was() -> Result<()> {
    let value = |least: Scalar, greatest: Scalar| Holds::Values { least, greatest };
    let (int, text) = (Scalar::Int, |text: &str| Scalar::Text(text.into()));
    let rows = 70;
    let ones = |rows_of: &dyn Fn(u64) -> bool| WahBuf::from_ones((0..rows).filter(|row| rows_of(*row)), rows);
    let followers = BuiltColumn {
        column: Column {
            name: "followers".into(),
            source: "$['user']['followers_count']".into(),
            kind: Kind::Int,
            binning: "lloyd:2".into(),
            bins: vec![
                Bin { holds: value(int(0), int(66)), rows: 67 },
                Bin { holds: value(int(1 << 40), int(1 << 40)), rows: 1 },
                Bin { holds: Holds::Missing, rows: 2 },
            ],
        },
        bitmaps: vec![ones(&|row| row < 67), ones(&|row| row == 67), ones(&|row| row > 67)],
        values: vec![StoredValues::U8((0..67).collect()), StoredValues::Same, StoredValues::Same],
    };
    let lang = BuiltColumn {
        column: Column {
            name: "lang".into(),
            source: "$['lang']".into(),
            kind: Kind::Text,
            binning: "distinct".into(),
            bins: vec![
                Bin { holds: value(text("en"), text("en")), rows: 35 },
                Bin { holds: value(text("nl"), text("nl")), rows: 34 },
                Bin { holds: Holds::Null, rows: 1 },
            ],
        },
        bitmaps: vec![
            ones(&|row| row % 2 == 0),
            ones(&|row| row % 2 == 1 && row < 69),
            ones(&|row| row == 69),
        ],
        values: vec![StoredValues::Same; 3],
    };
    let built = Built { rows, records: Some(ones(&|row| row != 68)), columns: vec![followers, lang] };
    let index = BitmapIndex::from_built(built)?;
    index.verify()?;
    insta::assert_snapshot!("bitmap_file", format!("{:#?}\n{}", index.info(), hex(index.bytes())));
    Ok(())
}
