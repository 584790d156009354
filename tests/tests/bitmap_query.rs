//! Compares expressions over bitmap indexes with an oracle that reads the values of each row.

use std::cmp::Ordering;

use warpath::bitmap::ask::{Answer, BitmapEngine};
use warpath::bitmap::build::build_column;
use warpath::bitmap::column::{Bin, Column, Holds, Kind, Scalar};
use warpath::bitmap::plan::{Counted, Facts, Operand, Plan};
use warpath::bitmap::run::run;
use warpath::bitmap::value::{self, ColumnValues, State};
use warpath::bitmap::{BitmapIndex, Built, BuiltColumn};
use warpath::diagnostic::{Diagnostic, DiagnosticKind};
use warpath::jsonpath::{
    Comparable, ComparableKind, ComparisonOp, Literal, LiteralKind, LogicalExpr, LogicalExprKind,
    ValueTestKind, parse_predicate as parse,
};
use warpath::{Error, Predicate};
use warpath_shared::bitmap::{Instr, MAX_STACK, OpCode};
use warpath_tests::bitmaps::{chunks, compressed, stored};
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;

// --- tables ------------------------------------------------------------------------------------------------

/// The content of a row in a column.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Missing,
    Null,
    Other,
    NaN,
    Value(Scalar),
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
    let mut values: Vec<Scalar> = cells
        .iter()
        .filter_map(|cell| if let Cell::Value(value) = cell { Some(value.clone()) } else { None })
        .collect();
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
    let has = |bin: &Bin, cell: &Cell| match (&bin.holds, cell) {
        (Holds::Values { least, greatest }, Cell::Value(value)) => least <= value && value <= greatest,
        (Holds::Missing, Cell::Missing) | (Holds::Null, Cell::Null) | (Holds::Other, Cell::Other) => true,
        (Holds::NaN, Cell::NaN) => true,
        _ => false,
    };
    bins.retain(|bin| cells.iter().any(|cell| has(bin, cell)));
    let numbers: Vec<usize> =
        cells.iter().map(|cell| bins.iter().position(|bin| has(bin, cell)).unwrap()).collect();
    let rows_of = |bin: usize| numbers.iter().map(|number| *number == bin).collect::<Vec<bool>>();
    let bitmaps = (0..bins.len()).map(|bin| compressed(&rows_of(bin))).collect();
    for number in &numbers {
        bins[*number].rows += 1;
    }
    let value = |cell: &Cell| if let Cell::Value(value) = cell { Some(value.clone()) } else { None };
    let rows: Vec<_> = numbers.into_iter().zip(cells.iter().map(value)).collect();
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
        ..Built::default()
    };
    let index = BitmapIndex::from_built(built).unwrap();
    Table {
        records,
        columns: columns.into_iter().map(|(built, cells)| (built.column, cells)).collect(),
        index,
    }
}

// --- expressions -------------------------------------------------------------------------------------------

/// An instant as RFC 3339 has it, a year at a time.
fn rfc3339(nanoseconds: i128, east: i128, finer: &str) -> String {
    let local = nanoseconds + east * 60 * i128::from(SECOND);
    let (mut days, of_day) =
        (local.div_euclid(86_400 * i128::from(SECOND)), local.rem_euclid(86_400 * i128::from(SECOND)));
    let mut year = 1970;
    while days < 0 {
        year -= 1;
        days += days_of(year);
    }
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let mut month = 0;
    while days >= months_of(year)[month] {
        days -= months_of(year)[month];
        month += 1;
    }
    let (seconds, fraction) = (of_day / i128::from(SECOND), of_day % i128::from(SECOND));
    let zone = match east {
        0 => "Z".to_owned(),
        _ => format!("{}{:02}:{:02}", if east < 0 { '-' } else { '+' }, east.abs() / 60, east.abs() % 60),
    };
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!(
        "{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{fraction:09}{finer}{zone}",
        month + 1,
        days + 1
    )
}

fn is_leap(year: i128) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i128) -> i128 {
    if is_leap(year) { 366 } else { 365 }
}

fn months_of(year: i128) -> [i128; 12] {
    [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

/// Tenths of a nanosecond since 1970 of what [`rfc3339`] wrote.
fn tenths(text: &str) -> i128 {
    let number = |from: usize, to: usize| text[from..to].parse::<i128>().unwrap();
    let zone = text.rfind(['Z', '+', '-']).unwrap();
    let mut days: i128 = (0..number(0, 4)).map(days_of).sum::<i128>() - (0..1970).map(days_of).sum::<i128>();
    days += months_of(number(0, 4))[..number(5, 7) as usize - 1].iter().sum::<i128>() + number(8, 10) - 1;
    let seconds = days * 86_400 + number(11, 13) * 3600 + number(14, 16) * 60 + number(17, 19);
    let fraction = &text[20..zone];
    let fraction = format!("{fraction:0<10}").parse::<i128>().unwrap();
    let east = match &text[zone..] {
        "Z" => 0,
        offset => {
            let minutes = offset[1..3].parse::<i128>().unwrap() * 60 + offset[4..6].parse::<i128>().unwrap();
            if offset.starts_with('-') { -minutes } else { minutes }
        }
    };
    (seconds - east * 60) * 10_000_000_000 + fraction
}

/// A literal, often one of a value that is there, or near it.
fn literal(kind: Kind, cells: &[Cell], rng: &mut Rng) -> String {
    let there = (0..4).filter(|_| !cells.is_empty()).find_map(|_| match &cells[rng.below(cells.len())] {
        Cell::Value(value) => Some(value.clone()),
        _ => None,
    });
    match there.filter(|_| rng.below(3) > 0).unwrap_or_else(|| scalar(kind, rng)) {
        Scalar::Int(value) => match rng.below(12) {
            0 => format!("{value}.0"),
            1 => format!("{value}.5"),
            2 if value != 0 => format!("{value}00e-2"),
            3 => format!("{}e1", value / 10),
            4 => ["9223372036854775808", "-9223372036854775809", "1e30", "-1e30", "0.1", "-0.1"]
                [rng.below(6)]
            .into(),
            5 => value.saturating_add(1).to_string(),
            _ => value.to_string(),
        },
        Scalar::Float(value) if value.is_infinite() => if value > 0.0 { "1e999" } else { "-1e999" }.into(),
        Scalar::Float(value) => match rng.below(6) {
            0 => ["-0.0", "1e999", "-1e999", "9007199254740993", "0.3", "-1e-999"][rng.below(6)].into(),
            _ => format!("{value:e}"),
        },
        Scalar::Text(value) => {
            let mut text = String::from("\"");
            for c in value.chars() {
                if c < ' ' { text.push_str(&format!("\\u{:04x}", c as u32)) } else { text.push(c) }
            }
            text + "\""
        }
        Scalar::Time(value) => {
            let east = [0, 0, 330, -480][rng.below(4)];
            let value = i128::from(value) + i128::from([0, 0, 1, -1, SECOND][rng.below(5)]);
            format!("\"{}\"", rfc3339(value, east, ["", "", "0", "5"][rng.below(4)]))
        }
        Scalar::Bool(value) => value.to_string(),
    }
}

fn expression(table: &Table, depth: usize, rng: &mut Rng) -> String {
    if depth > 0 && rng.below(5) > 0 {
        let of = |rng: &mut Rng| expression(table, depth - 1, rng);
        return match rng.below(5) {
            0 => format!("not ({})", of(rng)),
            1 | 2 => {
                (0..2 + rng.below(3)).map(|_| format!("({})", of(rng))).collect::<Vec<_>>().join(" and ")
            }
            _ => (0..2 + rng.below(3)).map(|_| format!("({})", of(rng))).collect::<Vec<_>>().join(" or "),
        };
    }
    let (column, cells) = &table.columns[rng.below(table.columns.len())];
    let literal = |rng: &mut Rng| literal(column.kind, cells, rng);
    let not = if rng.below(3) == 0 { "not " } else { "" };
    let name = &column.name;
    match rng.below(6) {
        0 => {
            let values: Vec<String> = (0..1 + rng.below(4)).map(|_| literal(rng)).collect();
            format!("{name} {not}in ({})", values.join(", "))
        }
        1 => format!("{name} {not}between {} and {}", literal(rng), literal(rng)),
        2 => format!("{name} is {not}{}", ["missing", "null", "other", "nan", "value"][rng.below(5)]),
        _ => {
            let op = ["=", "!=", "<", "<=", ">", ">="][rng.below(6)];
            if rng.below(5) == 0 {
                format!("{} {op} {name}", literal(rng))
            } else {
                format!("{name} {op} {}", literal(rng))
            }
        }
    }
}

// --- the oracle --------------------------------------------------------------------------------------------

fn oracle(expr: &LogicalExpr, table: &Table, row: usize) -> bool {
    match &expr.kind {
        LogicalExprKind::And(all) => all.iter().all(|of| oracle(of, table, row)),
        LogicalExprKind::Or(all) => all.iter().any(|of| oracle(of, table, row)),
        LogicalExprKind::Not(of) => !oracle(of, table, row),
        _ => passes(expr, table, row),
    }
}

fn cell_of<'a>(subject: &Comparable, table: &'a Table, row: usize) -> &'a Cell {
    let ComparableKind::Column(name) = &subject.kind else { panic!("{subject:?} is no column") };
    let (_, cells) = table.columns.iter().find(|(column, _)| column.name == name.name).unwrap();
    &cells[row]
}

fn passes(test: &LogicalExpr, table: &Table, row: usize) -> bool {
    if let LogicalExprKind::Comparison(comparison) = &test.kind {
        let ComparableKind::Literal(literal) = &comparison.right.kind else { panic!("{test:?}") };
        let Cell::Value(value) = cell_of(&comparison.left, table, row) else { return false };
        let order = compared(value, literal);
        return match comparison.op {
            ComparisonOp::Eq => order.is_eq(),
            ComparisonOp::Ne => order.is_ne(),
            ComparisonOp::Lt => order.is_lt(),
            ComparisonOp::Le => order.is_le(),
            ComparisonOp::Gt => order.is_gt(),
            ComparisonOp::Ge => order.is_ge(),
        };
    }
    let LogicalExprKind::Value(test) = &test.kind else { panic!("{test:?}") };
    let cell = cell_of(&test.subject, table, row);
    let is = match (&test.kind, cell) {
        (ValueTestKind::Is(state), _) => match state {
            State::Missing => *cell == Cell::Missing,
            State::Null => *cell == Cell::Null,
            State::Other => *cell == Cell::Other,
            State::NaN => *cell == Cell::NaN,
            State::Value => matches!(cell, Cell::Value(_)),
        },
        (ValueTestKind::Between(least, greatest), Cell::Value(value)) => {
            compared(value, least).is_ge() && compared(value, greatest).is_le()
        }
        (ValueTestKind::In(values), Cell::Value(value)) => {
            values.iter().any(|literal| compared(value, literal).is_eq())
        }
        _ => return false,
    };
    is != test.not
}

fn compared(value: &Scalar, literal: &Literal) -> Ordering {
    match (value, &literal.kind) {
        (Scalar::Int(value), LiteralKind::Number(text)) => {
            // Multiply both by the power of ten that makes the literal an integer.
            let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let digits: i128 = format!("{whole}{fraction}").parse().unwrap();
            let scale = exponent.parse::<i32>().unwrap() - fraction.len() as i32;
            let ten = 10_i128.pow(scale.unsigned_abs());
            let value = i128::from(*value);
            if scale < 0 { (value * ten).cmp(&digits) } else { value.cmp(&(digits * ten)) }
        }
        (Scalar::Float(value), LiteralKind::Number(text)) => {
            value.partial_cmp(&text.parse::<f64>().unwrap()).unwrap()
        }
        (Scalar::Text(value), LiteralKind::String(text)) => value.as_bytes().cmp(text.as_bytes()),
        (Scalar::Time(value), LiteralKind::String(text)) => (i128::from(*value) * 10).cmp(&tenths(text)),
        (Scalar::Bool(value), LiteralKind::Bool(literal)) => value.cmp(literal),
        other => panic!("{other:?}"),
    }
}

// --- programs, row by row ----------------------------------------------------------------------------------

/// Interprets a program over one tile of rows: a `bool` per row.
fn interpreted(program: &[Instr], bitmaps: &[Vec<bool>], rows: std::ops::Range<usize>) -> [Vec<bool>; 2] {
    let mut outputs = [vec![], vec![]];
    let (mut stack, mut part, mut at) = (Vec::new(), vec![false; rows.len()], 0);
    while let Some(instr) = program.get(at) {
        at += 1;
        let (first, count) = (instr.first as usize, instr.count as usize);
        match instr.op().unwrap() {
            OpCode::Any => {
                for bitmap in &bitmaps[first..first + count] {
                    part.iter_mut().zip(&bitmap[rows.clone()]).for_each(|(part, one)| *part |= one);
                }
            }
            OpCode::Push => stack.push(std::mem::replace(&mut part, vec![false; rows.len()])),
            op @ (OpCode::And | OpCode::Or | OpCode::AndNot) => {
                assert!(stack.len() <= MAX_STACK);
                for (part, pushed) in part.iter_mut().zip(stack.pop().unwrap()) {
                    *part = match op {
                        OpCode::And => pushed && *part,
                        OpCode::Or => pushed || *part,
                        _ => pushed && !*part,
                    };
                }
            }
            OpCode::Not => part.iter_mut().for_each(|part| *part = !*part),
            OpCode::Store => outputs[first] = part.clone(),
            OpCode::SkipNone if part.iter().all(|one| !one) => at = first,
            OpCode::SkipAll if part.iter().all(|one| *one) => at = first,
            OpCode::SkipNone | OpCode::SkipAll => {}
        }
    }
    outputs
}

/// Interprets a program over all rows, one tile of `tile` rows after the other.
fn interpreted_by(program: &[Instr], bitmaps: &[Vec<bool>], rows: usize, tile: usize) -> [Vec<bool>; 2] {
    let mut all = [vec![], vec![]];
    for first in (0..rows).step_by(tile) {
        let outputs = interpreted(program, bitmaps, first..rows.min(first + tile));
        for (all, output) in all.iter_mut().zip(outputs) {
            all.extend(output);
        }
    }
    all
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
            let is = |cell: &Cell| match (holds, cell) {
                (Holds::Values { least, greatest }, Cell::Value(value)) => {
                    least <= value && value <= greatest
                }
                (Holds::Missing, Cell::Missing) | (Holds::Null, Cell::Null) => true,
                (Holds::Other, Cell::Other) | (Holds::NaN, Cell::NaN) => true,
                _ => false,
            };
            cells.iter().map(is).collect()
        }
        other => panic!("{other:?}"),
    };
    plan.bitmaps.iter().map(of).collect()
}

/// Counts of the ways that expressions took, which show that the test covers all of them.
#[derive(Default, Debug)]
struct Seen {
    exact: usize,
    checked: usize,
    undecided_rows: usize,
    found_by_check: usize,
    constant: usize,
    records: usize,
    skips: usize,
    deep: usize,
}

fn hold_to_oracle(table: &Table, text: &str, rng: &mut Rng, seen: &mut Seen) {
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
        let Answer { chunks: found, rows, checked } =
            BitmapEngine::cpu().with_threads(threads).answer(&table.index, &planned, true).unwrap();
        assert_eq!(found, chunks(&want), "{}", explained());
        assert_eq!(rows, count as u64);
        assert_eq!(checked, undecided.iter().filter(|is| **is).count() as u64);
    }
    assert_eq!(BitmapEngine::cpu().answer(&table.index, &planned, false).unwrap().rows, count as u64);

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
    let mut seen = Seen::default();
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
    let Seen { exact, checked, undecided_rows, found_by_check, constant, records, skips, .. } = seen;
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
    let mut seen = Seen::default();
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
        let mut values: Vec<Scalar> = Vec::new();
        let mut bins = Vec::new();
        for cell in &cells {
            if let Cell::Value(value) = cell {
                values.push(value.clone());
            }
        }
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
        let value = |cell: &Cell| if let Cell::Value(value) = cell { Some(value.clone()) } else { None };
        let cells_of_bins: Vec<_> =
            cells.iter().map(|cell| (usize::from(!is_value(cell)), value(cell))).collect();
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
        let (rng, mut seen) = (&mut Rng::new(1), Seen::default());
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

// --- plans -------------------------------------------------------------------------------------------------

/// Columns by their bins: `ints` of ranges, `langs` of texts, both with missing ones.
fn small() -> Vec<Column> {
    let values = |least, greatest, rows| Bin { holds: Holds::Values { least, greatest }, rows };
    let range = |least, greatest, rows| values(Scalar::Int(least), Scalar::Int(greatest), rows);
    let text = |text: &str, rows| values(Scalar::Text(text.into()), Scalar::Text(text.into()), rows);
    let missing = |rows| Bin { holds: Holds::Missing, rows };
    let column = |name: &str, kind, bins| Column {
        name: name.into(),
        source: format!("$.{name}"),
        kind,
        binning: String::new(),
        bins,
    };
    vec![
        column(
            "followers",
            Kind::Int,
            vec![
                range(0, 99, 500),
                range(100, 999, 300),
                range(1000, 4999, 100),
                range(5000, 90000, 60),
                missing(40),
            ],
        ),
        column("lang", Kind::Text, vec![text("de", 100), text("en", 700), text("nl", 150), missing(50)]),
        column("verified", Kind::Bool, vec![values(Scalar::Bool(true), Scalar::Bool(true), 1000)]),
    ]
}

fn plan_of(text: &str, columns: &[Column], records: bool) -> Result<Plan, Diagnostic> {
    let expr = parse(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
    Plan::new(&expr, &Facts { columns, atoms: &|_, _| 10, records }, false)
}

#[test]
fn plans_are_explained() {
    let columns = small();
    let plan = plan_of("followers > 1500 and lang != \"de\" and verified = true", &columns, true).unwrap();
    assert_eq!(
        plan.explain(&columns),
        "\
tests
  followers > 1500
    of 5 bins, true of 1 (60 rows), 1 cut (100 rows)
  lang != 'de'
    of 4 bins, true of 2 (850 rows), none cut
  verified == true
    of 1 bins, true of 1 (1000 rows), none cut

bitmaps
     0  followers: 5000 ..= 90000
     1  followers: 1000 ..= 4999
     2  lang: \"en\"
     3  lang: \"nl\"

program
     0  any        0..=1
     1  skip none  → 5
     2  push
     3  any        2..=3
     4  and
     5  store      possible
     6  skip none  → 10
     7  push
     8  any        1
     9  and not
    10  store      sure
"
    );
    let counted = |bins, rows| Counted { bins, rows };
    assert_eq!((plan.tests[0].sure, plan.tests[0].cut), (counted(1, 60), counted(1, 100)));
}

/// The program alone, a word an instruction.
fn words(plan: &Plan) -> String {
    let word = |instr: &Instr| match instr.op().unwrap() {
        OpCode::Any => format!("any({})", instr.count),
        op => {
            format!("{op:?}").to_lowercase()
                + &if op == OpCode::Store { instr.first.to_string() } else { String::new() }
        }
    };
    plan.program.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn programs_are_short() {
    let columns = small();
    for (text, expected) in [
        // One bin, or all others where these are fewer.
        ("lang = 'en'", "any(1) store0"),
        ("lang in ('en', 'nl', 'de')", "any(1) not store0"),
        ("lang is not missing", "any(1) not store0"),
        ("not lang = 'fr'", "not store0"),
        // Bins do not overlap: what is sure is what is possible without those that are cut.
        ("followers > 1500", "any(2) store1 skipnone push any(1) andnot store0"),
        ("followers between 50 and 2000", "any(3) store1 skipnone push any(2) andnot store0"),
        (
            "followers > 1500 and lang = 'en'",
            "any(2) skipnone push any(1) and store1 skipnone push any(1) andnot store0",
        ),
        ("followers != 2000", "any(1) not store1 skipnone push any(1) andnot store0"),
        // A row that one test leaves undecided another may decide.
        ("followers > 1500 or lang = 'en'", "any(1) any(2) store1 skipnone push any(1) any(1) and store0"),
        ("followers = 7", "store0 any(1) store1"),
        // Bounds that are there decide.
        ("followers >= 1000", "any(2) store0"),
        ("followers > 999.5", "any(2) store0"),
        ("followers between 100 and 999", "any(1) store0"),
        // Nothing is read of what is always or never so.
        ("followers < 0", "store0"),
        ("followers = 99.5", "store0"),
        ("verified = true", "not store0"),
        ("verified = true and lang = 'nl'", "any(1) store0"),
        ("verified = false or lang = 'nl'", "any(1) store0"),
        ("verified = false and followers = 7", "store0"),
        // Tests of a column are one.
        ("followers >= 100 and followers <= 999", "any(1) store0"),
        ("followers < 100 or lang = 'en' or followers >= 5000", "any(1) any(2) store0"),
        ("followers > 7 and followers < 5", "store0"),
        ("not (lang = 'en' or lang = 'nl')", "any(2) store0"),
        // `and` from the fewest rows on.
        ("lang = 'en' and followers >= 5000", "any(1) skipnone push any(1) and store0"),
        ("lang != 'de' and followers is value", "any(2) skipnone push any(1) andnot store0"),
    ] {
        let plan = plan_of(text, &columns, false).unwrap();
        assert_eq!(words(&plan), expected, "{text}");
    }
    // Densest first: a tile that is full needs no more.
    let plan = plan_of("lang != 'x'", &columns[1..2], false).unwrap();
    assert_eq!(plan.bitmaps, [Operand::Bin { column: 0, bin: 3 }], "all but those without a value");
    let plan = plan_of("followers < 1000", &columns, false).unwrap();
    assert_eq!(plan.bitmaps, [Operand::Bin { column: 0, bin: 0 }, Operand::Bin { column: 0, bin: 1 }]);
    let plan = plan_of("followers >= 100 and followers < 5000", &columns, false).unwrap();
    assert_eq!(plan.bitmaps, [Operand::Bin { column: 0, bin: 1 }, Operand::Bin { column: 0, bin: 2 }]);
}

#[test]
fn records_are_asked_where_lines_that_are_none_could_be_in_the_answer() {
    let columns = small();
    for (text, asked) in [
        ("lang = 'en'", false),
        ("lang != 'en'", false),
        ("lang not in ('en')", false),
        ("not lang = 'en'", true),
        ("lang is missing", true),
        ("lang is missing and followers = 7", false),
        ("lang is missing or followers = 7", true),
        ("not (lang = 'en' and verified = true)", true),
    ] {
        let plan = plan_of(text, &columns, true).unwrap();
        assert_eq!(plan.bitmaps.contains(&Operand::Records), asked, "{text}");
        assert!(!plan_of(text, &columns, false).unwrap().bitmaps.contains(&Operand::Records));
    }
    // All records, and nothing else.
    let plan = plan_of("not lang = 'fr'", &columns, true).unwrap();
    assert_eq!((words(&plan).as_str(), &plan.bitmaps[..]), ("any(1) store0", &[Operand::Records][..]));
}

#[test]
fn columns_and_literals_are_checked() {
    let columns = small();
    for (text, column, kind, message, help) in [
        (
            "lang = 'en' and folowers > 5",
            17,
            DiagnosticKind::UnknownColumn,
            "there is no column `folowers`",
            "did you mean `followers`? the columns are followers, lang, verified",
        ),
        (
            "`a b` is null",
            1,
            DiagnosticKind::UnknownColumn,
            "there is no column `a b`",
            "the columns are followers, lang, verified; a member of the record is a path: `$['a b']`",
        ),
        (
            "LANG = 'en'",
            1,
            DiagnosticKind::UnknownColumn,
            "there is no column `LANG`",
            "did you mean `lang`? the columns are followers, lang, verified",
        ),
        (
            "lang in ('en', 5)",
            16,
            DiagnosticKind::WrongKind,
            "`lang` is a column of texts: expected a string, found a number",
            "write it in quotes: `\"5\"`",
        ),
        (
            "followers between 5 and true",
            25,
            DiagnosticKind::WrongKind,
            "`followers` is a column of integers: expected a number, found a truth value",
            "",
        ),
    ] {
        let error = plan_of(text, &columns, false).unwrap_err();
        assert_eq!((error.kind, error.column(text)), (kind, column), "{}", error.render(text));
        assert_eq!((error.message.as_str(), error.help.as_deref().unwrap_or_default()), (message, help));
    }
    let error = plan_of("x = 1", &[], false).unwrap_err();
    let help = "the index has no columns; a member of the record is a path: `$.x`";
    assert_eq!(error.help.as_deref(), Some(help));
}

/// Columns `x0`, `x1`, … with the values 0 and 1, a bin each.
fn bits(count: usize) -> Vec<Column> {
    let bin = |value| Bin {
        holds: Holds::Values { least: Scalar::Int(value), greatest: Scalar::Int(value) },
        rows: 500,
    };
    let column = |number| Column {
        name: format!("x{number}"),
        source: String::new(),
        kind: Kind::Int,
        binning: String::new(),
        bins: vec![bin(0), bin(1)],
    };
    (0..count).map(column).collect()
}

/// `and` and `or` in turns, over columns of which none comes twice.
fn tree(depth: usize, both: bool, next: &mut usize) -> String {
    if depth == 0 {
        *next += 1;
        return format!("x{} = 1", *next - 1);
    }
    let left = tree(depth - 1, !both, next);
    let right = tree(depth - 1, !both, next);
    format!("({left} {} {right})", if both { "and" } else { "or" })
}

#[test]
fn programs_push_no_more_than_there_is_room_for() {
    // Each level of `and` needs a slot, and so does each of `or` except at the bottom.
    for depth in 1..=MAX_STACK + 4 {
        let (text, columns) = (tree(depth, true, &mut 0), bits(1 << depth));
        match plan_of(&text, &columns, false) {
            Ok(_) => assert!(depth <= MAX_STACK + 1, "{depth}"),
            Err(error) => {
                assert!(depth > MAX_STACK, "{depth}: {error}");
                assert_eq!(error.kind, DiagnosticKind::TooLarge);
                assert_eq!((error.span.start, error.span.end), (0, text.len()));
            }
        }
    }
    // A chain needs few slots, whichever way it is written, and however long it is.
    let columns = bits(240);
    let mut text = "x0 = 1".to_owned();
    for number in 1..columns.len() {
        let word = if number % 2 == 0 { "and" } else { "or" };
        text = format!("x{number} = 1 {word} ({text})");
    }
    let plan = plan_of(&text, &columns, false).unwrap();
    assert!(plan.program.len() < 5 * columns.len(), "{}", plan.program.len());
}

#[test]
fn columns_of_no_rows_have_no_answers() {
    let mut columns = small();
    columns.iter_mut().for_each(|column| column.bins.clear());
    for text in ["lang = 'en'", "not lang = 'en'", "lang is missing or followers < 5"] {
        let plan = plan_of(text, &columns, false).unwrap();
        assert!(plan.bitmaps.is_empty() && plan.is_exact(), "{text}");
    }
}
