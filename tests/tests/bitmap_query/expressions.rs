//! Random expressions over the columns of a table, as text.

use super::*;

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
pub(super) fn tenths(text: &str) -> i128 {
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

pub(super) fn expression(table: &Table, depth: usize, rng: &mut Rng) -> String {
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
