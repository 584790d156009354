//! Compares expressions over bitmap indexes with an oracle that reads the values of each row.

mod expressions;
mod oracle;
mod plans;

use expressions::expression;
use oracle::{interpreted_by, oracle};
use warpath::bitmap::{BitmapEngine, BitmapIndex, Built, Kind, Matching, Plan};
use warpath::{Error, Predicate};
use warpath_core::diagnostic::{Diagnostic, DiagnosticKind};
use warpath_cpu::bitmap::plan::{Facts, Operand};
use warpath_cpu::bitmap::run::run;
use warpath_exec::bitmap::build::build_column;
use warpath_lang::jsonpath::{LogicalExpr, parse_predicate as parse};
use warpath_shared::bitmap::{Instr, MAX_STACK, OpCode};
use warpath_store::bitmap::column::{Bin, Column, Holds, Scalar};
use warpath_store::bitmap::value::ColumnValues;
use warpath_store::bitmap::{BuiltColumn, value};
use warpath_tests::bitmaps::{chunks, compressed, stored};
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;

/// The content of a row in a column.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Missing,
    Null,
    Other,
    NaN,
    Value(Scalar),
}

impl Cell {
    fn value(&self) -> Option<Scalar> {
        if let Self::Value(value) = self { Some(value.clone()) } else { None }
    }

    /// True if a bin that holds `holds` has this cell.
    fn is_in(&self, holds: &Holds) -> bool {
        match (holds, self) {
            (Holds::Values { least, greatest }, Self::Value(value)) => least <= value && value <= greatest,
            (Holds::Missing, Self::Missing) | (Holds::Null, Self::Null) => true,
            (Holds::Other, Self::Other) | (Holds::NaN, Self::NaN) => true,
            _ => false,
        }
    }
}

struct Table {
    /// True for the rows that are records. Other rows have no value in any column.
    records: Vec<bool>,
    columns: Vec<(Column, Vec<Cell>)>,
    index: BitmapIndex,
}

const KINDS: [Kind; 5] = [Kind::Int, Kind::Float, Kind::Text, Kind::Time, Kind::Bool];
const TEXTS: [&str; 12] = ["", "a", "aa", "ab", "b", "ba", "é", "z", "z\0", "\u{7f}", "𝄞", "\u{ffff}"];
const SECOND: i64 = 1_000_000_000;

fn int(rng: &mut Rng) -> i64 {
    let near = [0, 1 << 53, i64::MAX, i64::MIN, -1000, 20, 30, 40]
        [if rng.below(3) > 0 { 5 + rng.below(3) } else { rng.below(8) }];
    near.saturating_add(rng.below(9) as i64 - 4)
}

fn float(rng: &mut Rng) -> f64 {
    const ODD: [f64; 8] = [
        0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        5e-324,
        -5e-324,
        f64::MAX,
        f64::MIN_POSITIVE,
        9_007_199_254_740_992.0,
    ];
    if rng.below(3) == 0 { ODD[rng.below(8)] } else { (rng.below(41) as f64 - 20.0) / 4.0 }
}

fn scalar(kind: Kind, rng: &mut Rng) -> Scalar {
    match kind {
        Kind::Int => Scalar::Int(int(rng)),
        Kind::Float => Scalar::Float(float(rng)),
        Kind::Text => Scalar::Text(TEXTS[rng.below(TEXTS.len())].into()),
        Kind::Time => Scalar::Time(match rng.below(6) {
            0 => i64::MIN,
            1 => i64::MAX,
            _ => (rng.below(5) as i64 - 2) * 86_400 * SECOND * 59 + rng.below(3) as i64 * SECOND / 2,
        }),
        _ => Scalar::Bool(rng.below(2) > 0),
    }
}

/// A column with such cells, cut at random.
fn built(name: &str, kind: Kind, cells: &[Cell], rng: &mut Rng) -> BuiltColumn {
    let mut values: Vec<Scalar> = cells.iter().filter_map(Cell::value).collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values.dedup();
    let join = [0, 1, 3, 9][rng.below(4)];
    let mut bins: Vec<Bin> = Vec::new();
    for value in values {
        match bins.last_mut() {
            Some(Bin { holds: Holds::Values { greatest, .. }, .. })
                if kind != Kind::Bool && rng.below(10) < join =>
            {
                *greatest = value;
            }
            _ => bins.push(Bin { holds: Holds::Values { least: value.clone(), greatest: value }, rows: 0 }),
        }
    }
    for holds in [Holds::Missing, Holds::Null, Holds::Other, Holds::NaN] {
        bins.push(Bin { holds, rows: 0 });
    }
    bins.retain(|bin| cells.iter().any(|cell| cell.is_in(&bin.holds)));
    let number = |cell: &Cell| bins.iter().position(|bin| cell.is_in(&bin.holds)).unwrap();
    let numbers: Vec<usize> = cells.iter().map(number).collect();
    let rows_of = |bin: usize| numbers.iter().map(|number| *number == bin).collect::<Vec<bool>>();
    let bitmaps = (0..bins.len()).map(|bin| compressed(&rows_of(bin))).collect();
    for number in &numbers {
        bins[*number].rows += 1;
    }
    let rows: Vec<_> = numbers.into_iter().zip(cells.iter().map(Cell::value)).collect();
    let values = stored(&bins, &rows);
    let column =
        Column { name: name.into(), source: format!("$.{name}"), kind, binning: "random".into(), bins };
    BuiltColumn { column, bitmaps, values }
}

/// Builds a column of the given cells, with a random way to cut bins that its kind allows.
fn built_as_asked(name: &str, kind: Kind, cells: &[Cell], rng: &mut Rng) -> BuiltColumn {
    let any = ["auto", "distinct", "quantiles:1", "quantiles:3", "quantiles:8"];
    let of_numbers = ["width:1", "width:4", "lloyd:1", "lloyd:3"];
    let spec = match kind {
        Kind::Text | Kind::Bool => any[rng.below(any.len())],
        _ => [&any[..], &of_numbers].concat()[rng.below(any.len() + of_numbers.len())],
    };
    let values = cells.iter().map(|cell| match cell {
        Cell::Missing => value::Cell::Missing,
        Cell::Null => value::Cell::Null,
        Cell::Other => value::Cell::Other,
        Cell::NaN => value::Cell::Float(f64::NAN),
        Cell::Value(Scalar::Int(value)) => value::Cell::Int(*value),
        Cell::Value(Scalar::Float(value)) => value::Cell::Float(*value),
        Cell::Value(Scalar::Text(value)) => value::Cell::Text(value),
        Cell::Value(Scalar::Time(value)) => value::Cell::Time(*value),
        Cell::Value(Scalar::Bool(value)) => value::Cell::Bool(*value),
    });
    build_column(name, name, ColumnValues::of_cells(values, Some(kind)), &spec.parse().unwrap()).unwrap()
}

fn table(rows: usize, rng: &mut Rng) -> Table {
    let all_records = rng.below(2) == 0;
    let records: Vec<bool> = (0..rows).map(|_| all_records || rng.below(8) > 0).collect();
    let mut columns = Vec::new();
    for number in 0..1 + rng.below(5) {
        let kind = KINDS[if number < 5 { (number + rng.below(2)) % 5 } else { rng.below(5) }];
        let pool: Vec<Scalar> = (0..1 + rng.below(30)).map(|_| scalar(kind, rng)).collect();
        let (odd, run) = ([0, 0, 10, 50, 100][rng.below(5)], [1, 5, 400][rng.below(3)]);
        let mut cells: Vec<Cell> = Vec::with_capacity(rows);
        while cells.len() < rows {
            let cell = if rng.below(100) < odd {
                match rng.below(4) {
                    0 => Cell::Missing,
                    1 => Cell::Null,
                    2 => Cell::Other,
                    _ if kind == Kind::Float => Cell::NaN,
                    _ => Cell::Null,
                }
            } else {
                Cell::Value(pool[rng.below(pool.len())].clone())
            };
            for _ in 0..(1 + rng.below(run)).min(rows - cells.len()) {
                cells.push(if records[cells.len()] { cell.clone() } else { Cell::Missing });
            }
        }
        let build = if rng.below(2) == 0 { built } else { built_as_asked };
        columns.push((build(&format!("c{number}"), kind, &cells, rng), cells));
    }
    let built = Built {
        rows: rows as u64,
        records: (!all_records).then(|| compressed(&records)),
        columns: columns.iter().map(|(built, _)| built.clone()).collect(),
    };
    let index = BitmapIndex::from_built(built).unwrap();
    Table {
        records,
        columns: columns.into_iter().map(|(built, cells)| (built.column, cells)).collect(),
        index,
    }
}

fn plan(table: &Table, expr: &LogicalExpr, approximate: bool) -> Result<Plan, Diagnostic> {
    let index = &table.index;
    let atoms = |column, bin| index.atoms(column, bin);
    let records = table.records.iter().any(|is| !is);
    Plan::new(expr, &Facts { columns: index.columns(), atoms: &atoms, records }, approximate)
}

/// The rows of the bitmaps that a plan reads, as the cells have them.
fn operands(table: &Table, plan: &Plan) -> Vec<Vec<bool>> {
    let of = |operand: &Operand| match operand {
        Operand::Records => table.records.clone(),
        Operand::Bin { column, bin } => {
            let (described, cells) = &table.columns[*column];
            let holds = &described.bins[*bin].holds;
            cells.iter().map(|cell| cell.is_in(holds)).collect()
        }
        other => panic!("{other:?}"),
    };
    plan.bitmaps.iter().map(of).collect()
}

/// Counts of the ways that expressions took, which show that the test covers all of them.
#[derive(Default, Debug)]
struct Coverage {
    exact: usize,
    checked: usize,
    undecided_rows: usize,
    found_by_check: usize,
    constant: usize,
    records: usize,
    skips: usize,
    deep: usize,
}

fn hold_to_oracle(table: &Table, text: &str, rng: &mut Rng, seen: &mut Coverage) {
    let rows = table.records.len();
    let expr = parse(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
    assert_eq!(parse(&expr.to_string()).unwrap().to_string(), expr.to_string());
    let want: Vec<bool> = (0..rows).map(|row| table.records[row] && oracle(&expr, table, row)).collect();

    let planned = plan(table, &expr, false).unwrap_or_else(|error| panic!("{}", error.render(text)));
    let explained = || format!("{text}\n{}", planned.explain(table.index.columns()));
    let of_rows = operands(table, &planned);
    let [sure, second] = interpreted_by(&planned.program, &of_rows, rows, 1 + rng.below(200));
    for tile in [1, rows.max(1)] {
        let again = interpreted_by(&planned.program, &of_rows, rows, tile);
        assert_eq!(again, [sure.clone(), second.clone()], "tiles of {tile}: {}", explained());
    }
    assert_eq!(planned.is_exact(), !planned.program.contains(&Instr::new(OpCode::Store, 1, 0)));
    let possible = if planned.is_exact() { sure.clone() } else { second.clone() };
    let undecided: Vec<bool> =
        possible.iter().zip(&sure).map(|(possible, sure)| *possible && !sure).collect();
    if planned.is_exact() {
        assert_eq!(sure, want, "{}", explained());
    } else {
        for row in 0..rows {
            assert!(!sure[row] || want[row], "row {row} is surely there and should not be: {}", explained());
            assert!(!want[row] || possible[row], "row {row} is not there: {}", explained());
            assert!(!sure[row] || possible[row], "row {row} is surely there, and cannot be: {}", explained());
            // It has a bin that some test cuts.
            let is_wide = |(column, cells): &(Column, Vec<Cell>)| {
                let Cell::Value(value) = &cells[row] else { return false };
                column.bins.iter().any(|bin| {
                    matches!(&bin.holds, Holds::Values { least, greatest } if least != greatest && least <= value && value <= greatest)
                })
            };
            assert!(
                !undecided[row] || table.columns.iter().any(is_wide),
                "row {row} is decided: {}",
                explained()
            );
        }
    }

    let approximate = plan(table, &expr, true).unwrap();
    assert!(approximate.is_exact() && !approximate.program.contains(&Instr::new(OpCode::Store, 1, 0)));
    let [answer, _] = interpreted_by(&approximate.program, &operands(table, &approximate), rows, 63);
    assert_eq!(answer, possible, "approximate: {}", explained());

    let bitmaps = planned.operands(&table.index, 1).unwrap();
    let outputs = run(&bitmaps, &planned.program, rows as u64, 1 + rng.below(3), true).unwrap();
    assert_eq!(outputs.chunks[0], chunks(&sure), "{}", explained());
    if !planned.is_exact() {
        assert_eq!(outputs.chunks[1], chunks(&second), "{}", explained());
    }
    let count = want.iter().filter(|is| **is).count();
    for threads in [1, 3] {
        let Matching { rows, count: counted, checked, .. } =
            BitmapEngine::cpu().with_threads(threads).answer(&table.index, &planned, true).unwrap();
        assert_eq!(rows, want.iter().copied().collect(), "{}", explained());
        assert_eq!(counted, count as u64);
        assert_eq!(checked, undecided.iter().filter(|is| **is).count() as u64);
    }
    assert_eq!(BitmapEngine::cpu().answer(&table.index, &planned, false).unwrap().count, count as u64);

    let has = |op: OpCode| planned.program.iter().any(|instr| instr.op() == Some(op));
    seen.exact += usize::from(planned.is_exact());
    seen.checked += usize::from(!planned.is_exact());
    seen.undecided_rows += undecided.iter().filter(|is| **is).count();
    seen.found_by_check +=
        (0..rows).filter(|row| !planned.is_exact() && undecided[*row] && want[*row]).count();
    seen.constant += usize::from(planned.bitmaps.is_empty());
    seen.records += usize::from(planned.bitmaps.contains(&Operand::Records));
    seen.skips += usize::from(has(OpCode::SkipNone) && has(OpCode::SkipAll));
    seen.deep +=
        usize::from(planned.program.windows(2).any(|pair| pair.iter().all(|i| i.op() == Some(OpCode::Push))));
}

#[test]
fn answers_are_the_oracles() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256);
    let mut seen = Coverage::default();
    for seed in 0..cases {
        let mut rng = Rng::new(seed);
        let rng = &mut rng;
        let rows = [0, 1, 2, 62, 63, 64, 126, 300, 1000, 63 * 128 + 1]
            [if seed % 4 > 0 { 3 + rng.below(6) } else { rng.below(10) }];
        let table = table(rows, rng);
        for _ in 0..if rows > 2000 { 2 } else { 8 } {
            let depth = rng.below(5);
            let text = expression(&table, depth, rng);
            hold_to_oracle(&table, &text, rng, &mut seen);
        }
    }
    let Coverage { exact, checked, undecided_rows, found_by_check, constant, records, skips, .. } = seen;
    assert!(
        [exact, checked, undecided_rows, found_by_check, constant, records, skips].iter().all(|n| *n > 10),
        "{seen:?}"
    );
    assert!(found_by_check * 10 > undecided_rows && found_by_check < undecided_rows, "{seen:?}");
}

#[test]
fn a_device_answers_as_the_cpu_does() {
    let mut device = BitmapEngine::on(Emulated::default());
    for seed in 0..12 {
        let rng = &mut Rng::new(1000 + seed);
        let table = table([0, 1, 63, 700, 63 * 128 + 62, 20_000][seed as usize % 6], rng);
        for _ in 0..4 {
            let text = expression(&table, 3, rng);
            let plan = plan(&table, &parse(&text).unwrap(), false).unwrap();
            for keep in [true, false] {
                let found = device.answer(&table.index, &plan, keep).unwrap();
                assert_eq!(found, BitmapEngine::cpu().answer(&table.index, &plan, keep).unwrap(), "{text}");
            }
        }
    }
}

#[test]
fn an_index_plans_what_it_is_asked() {
    let table = table(300, &mut Rng::new(3));
    let name = &table.columns[0].0.name;
    let text = format!("{name} is not missing and not {name} is null");
    let plan = Plan::of(&table.index, &text.parse().unwrap(), false).unwrap();
    let same = self::plan(&table, &parse(&text).unwrap(), false).unwrap();
    assert_eq!((plan.program, plan.bitmaps, plan.tests), (same.program, same.bitmaps, same.tests));
    let Err(Error::Expression(error)) = Predicate::parse("c0 is nothing") else {
        panic!("it is no predicate")
    };
    assert_eq!((error.column(), error.diagnostic().kind), (7, DiagnosticKind::UnexpectedToken));
    assert_eq!(
        error.to_string(),
        "expected `missing`, `null`, `other`, `nan` or `value`, found `nothing` (column 7 of `c0 is nothing`)"
    );
}

#[test]
fn stretches_are_checked_side_by_side() {
    let rng = &mut Rng::new(7);
    let rows = 63 * 128 * 20 + 5;
    let mut seen = Coverage::default();
    let table = table(rows, rng);
    for _ in 0..4 {
        let text = expression(&table, 2, rng);
        hold_to_oracle(&table, &text, rng, &mut seen);
    }
    // In these columns one bin has all values, so that the bin decides no row. Some lack values in single
    // rows, or in many.
    let value = |row: usize| Cell::Value(Scalar::Int((row * 7919 % 1000) as i64));
    let cells = |is_null: &dyn Fn(usize) -> bool| {
        (0..rows).map(|row| if is_null(row) { Cell::Null } else { value(row) }).collect::<Vec<Cell>>()
    };
    let table = undecided(vec![
        ("a", Kind::Int, cells(&|row| row % 100 == 1)),
        ("b", Kind::Int, cells(&|row| row % 3 == 1)),
        ("c", Kind::Int, cells(&|row| (60_000..150_000).contains(&row))),
        ("d", Kind::Int, cells(&|row| !(70_000..=140_000).contains(&row))),
    ]);
    for text in [
        "a = 500",
        "a < 500",
        "a != 500 and b > 17",
        "a > 990 or b in (1, 5, 700) or b is null",
        "not (a < 10 and b = 500)",
        "c >= 500",
        "d is null and c < 3 or d > 900",
        "not (c > 100) and not d in (1, 2, 3)",
    ] {
        hold_to_oracle(&table, text, rng, &mut seen);
    }
}

/// A table of these columns, of which all values are in one bin.
fn undecided(columns: Vec<(&str, Kind, Vec<Cell>)>) -> Table {
    let rows = columns[0].2.len();
    let mut built = Vec::new();
    let mut described = Vec::new();
    for (name, kind, cells) in columns {
        let mut values: Vec<Scalar> = cells.iter().filter_map(Cell::value).collect();
        let mut bins = Vec::new();
        values.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let is_value = |cell: &Cell| matches!(cell, Cell::Value(_));
        let holds = Holds::Values { least: values[0].clone(), greatest: values[values.len() - 1].clone() };
        bins.push((holds, cells.iter().map(is_value).collect::<Vec<bool>>()));
        let nulls: Vec<bool> = cells.iter().map(|cell| *cell == Cell::Null).collect();
        if nulls.contains(&true) {
            bins.push((Holds::Null, nulls));
        }
        let rows_of = |is: &[bool]| is.iter().filter(|is| **is).count() as u64;
        let column = Column {
            name: name.into(),
            source: name.into(),
            kind,
            binning: "one".into(),
            bins: bins.iter().map(|(holds, is)| Bin { holds: holds.clone(), rows: rows_of(is) }).collect(),
        };
        let cells_of_bins: Vec<_> =
            cells.iter().map(|cell| (usize::from(!is_value(cell)), cell.value())).collect();
        let values = stored(&column.bins, &cells_of_bins);
        let bitmaps = bins.iter().map(|(_, is)| compressed(is)).collect();
        built.push(BuiltColumn { column: column.clone(), bitmaps, values });
        described.push((column, cells));
    }
    let index =
        BitmapIndex::from_built(Built { rows: rows as u64, columns: built, ..Built::default() }).unwrap();
    Table { records: vec![true; rows], columns: described, index }
}

#[test]
fn floats_at_the_ends_of_their_order_are_told_apart() {
    let values = [f64::NEG_INFINITY, f64::MIN, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY];
    // A chunk with few rows to check is checked row by row, one with many all together.
    for repeated in [1, 7] {
        let mut cells: Vec<Cell> =
            (0..repeated).flat_map(|_| values).map(|value| Cell::Value(Scalar::Float(value))).collect();
        cells.push(Cell::Null);
        let others = (0..cells.len()).map(|row| Cell::Value(Scalar::Int(row as i64 % 7))).collect();
        let table = undecided(vec![("x", Kind::Float, cells), ("y", Kind::Int, others)]);
        let (rng, mut seen) = (&mut Rng::new(1), Coverage::default());
        for literal in
            ["-1e999", "-1", "-5e-324", "-0.0", "0", "5e-324", "1", "1.7976931348623157e308", "1e999"]
        {
            for op in ["=", "!=", "<", "<=", ">", ">="] {
                hold_to_oracle(&table, &format!("x {op} {literal}"), rng, &mut seen);
                hold_to_oracle(&table, &format!("x is null or x {op} {literal}"), rng, &mut seen);
                hold_to_oracle(&table, &format!("not x {op} {literal}"), rng, &mut seen);
                // Rows that another column leaves undecided, where bins of this one would do.
                let text = format!("x is null or x {op} {literal} or y < 3");
                hold_to_oracle(&table, &text, rng, &mut seen);
            }
            hold_to_oracle(&table, &format!("x in ({literal}, 1, -1e999)"), rng, &mut seen);
        }
        assert!(seen.checked > 50, "{seen:?}");
    }
}
