//! Schemas as trees and tables.

use std::borrow::Cow;

use clap::builder::styling::{AnsiColor, Color, Style};
use warpath::schema::{JsonType, SchemaRow};
use warpath_terminal::escape::escaped;
use warpath_terminal::json::Look;

use super::super::grid::{Cell, Grid};

/// The most characters of a value, and of a step in a tree.
const MOST_VALUE: usize = 24;
const MOST_STEP: usize = 40;

/// The styles of steps and of what is missing.
const STEP: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Blue)));
const MISSING: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));

/// A text that is cut after some characters.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some(_) => {
            let end = text.char_indices().nth(most - 1).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", &text[..end]))
        }
        None => Cow::Borrowed(text),
    }
}

fn value(text: &str) -> String {
    cut(&escaped(text), MOST_VALUE).into_owned()
}

fn string(text: &str) -> String {
    format!("\"{}\"", value(text))
}

/// The types of a path. Several types have their numbers, and the position of the first value.
fn types(row: &SchemaRow) -> String {
    let kinds: Vec<JsonType> = row.kinds().collect();
    match kinds[..] {
        [] if row.total() == 0 => "nothing".into(),
        [] => "null".into(),
        [one] => one.name().into(),
        _ => {
            let of = |kind: &JsonType| {
                let first = row.firsts.iter().find(|(mine, ..)| mine == kind);
                let at = first.map_or("", |(_, at, _)| at);
                format!("{kind} {} (first {})", row.count(*kind), escaped(at))
            };
            kinds.iter().map(of).collect::<Vec<_>>().join(", ")
        }
    }
}

fn distinct(row: &SchemaRow) -> Option<String> {
    let (count, is_exact) = row.distinct;
    (count > 0).then(|| format!("{}{count}", if is_exact { "" } else { "~" }))
}

/// The least and the greatest value.
fn range(row: &SchemaRow) -> Option<(String, String)> {
    let numbers = row.numbers.as_ref().map(|(least, greatest)| (value(least), value(greatest)));
    let strings = row.strings.as_ref().map(|(least, greatest)| (string(least), string(greatest)));
    let elements = |count| format!("{count} element{}", if count == 1 { "" } else { "s" });
    let lengths = row.lengths.map(|(least, greatest)| (least.to_string(), elements(greatest)));
    numbers.or(strings).or(lengths)
}

/// A schema as a tree. Each line has a step, the number of its values, and what they are like. With `color`,
/// steps are coloured as the names of JSON are, and so is what is missing.
pub fn tree(rows: &[SchemaRow], color: bool) -> Vec<u8> {
    let plain = plain_tree(rows);
    if !color {
        return plain;
    }
    let mut out = String::new();
    for line in String::from_utf8_lossy(&plain).lines() {
        let indent = line.len() - line.trim_start().len();
        let end = line[indent..].find("  ").map_or(line.len(), |len| indent + len);
        let rest = match line[end..].find("missing ") {
            None => line[end..].to_owned(),
            Some(at) => {
                let (before, missing) = line[end..].split_at(at);
                let len = missing.find(';').unwrap_or(missing.len());
                format!("{before}{MISSING}{}{MISSING:#}{}", &missing[..len], &missing[len..])
            }
        };
        out.push_str(&format!("{}{STEP}{}{STEP:#}{rest}\n", &line[..indent], &line[indent..end]));
    }
    out.into_bytes()
}

fn plain_tree(rows: &[SchemaRow]) -> Vec<u8> {
    let step = |row: &SchemaRow| {
        let step = row.step.strip_prefix('.').filter(|step| *step != "*").unwrap_or(&row.step);
        let step = cut(&escaped(step), MOST_STEP).into_owned();
        format!("{:1$}{step}", "", 2 * row.depth)
    };
    // A tree is not shortened: its lines say what a table has no room for.
    let mut grid = Grid::of_all(&[""; 3], Look::default()).without_header();
    let mut out = Vec::new();
    for row in rows {
        let mut all = vec![types(row)];
        if row.is_map {
            all.push("map".into());
        }
        if row.count(JsonType::Null) > 0 && row.kinds().next().is_some() {
            all.push(format!("null {}", row.count(JsonType::Null)));
        }
        if row.missing > 0 {
            all.push(format!("missing {}", row.missing));
        }
        if row.repeated > 0 {
            all.push(format!("repeated {}", row.repeated));
        }
        all.extend(distinct(row).map(|distinct| format!("{distinct} distinct")));
        match range(row) {
            Some((least, greatest)) if least == greatest => all.push(least),
            Some((least, greatest)) => all.push(format!("{least} to {greatest}")),
            None => {}
        }
        let cells =
            vec![Cell::text(step(row)), Cell::number(row.total().to_string()), Cell::text(all.join("; "))];
        grid.cells(cells, &mut out);
    }
    grid.end(&mut out);
    out
}

/// A schema as a table with a header, which fits the terminal.
pub fn table(rows: &[SchemaRow], look: Look) -> Vec<u8> {
    let header = ["path", "type", "count", "null", "missing", "distinct", "least", "greatest", "example"];
    let mut grid = Grid::of_all(&header, look).with_whole_first();
    let mut out = Vec::new();
    for row in rows {
        let (least, greatest) = range(row).unwrap_or_default();
        let cells = vec![
            Cell::text(escaped(&row.path).into_owned()),
            Cell::text(types(row) + if row.is_map { " (map)" } else { "" }),
            Cell::number(row.total().to_string()),
            Cell::number(row.count(JsonType::Null).to_string()),
            Cell::number(row.missing.to_string()),
            Cell::number(distinct(row).unwrap_or_default()),
            Cell::text(least),
            Cell::text(greatest),
            Cell::text(row.example().map(value).unwrap_or_default()),
        ];
        grid.cells(cells, &mut out);
    }
    grid.end(&mut out);
    out
}
