//! Schemas as trees and tables.

use std::borrow::Cow;

use warpath::schema::{Kind, SchemaRow};

use super::super::escape::escaped;

/// The most characters of a value, and of a step in a tree.
const MOST_VALUE: usize = 24;
const MOST_STEP: usize = 40;

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
    let kinds: Vec<Kind> = row.kinds().collect();
    match kinds[..] {
        [] if row.total() == 0 => "nothing".into(),
        [] => "null".into(),
        [one] => one.name().into(),
        _ => {
            let of = |kind: &Kind| {
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
    let lengths = row.lengths.map(|(least, greatest)| (format!("{least}"), format!("{greatest} elements")));
    numbers.or(strings).or(lengths)
}

/// A schema as a tree. Each line has a step, the number of its values, and what they are like.
pub fn tree(rows: &[SchemaRow]) -> String {
    let step = |row: &SchemaRow| {
        let step = row.step.strip_prefix('.').filter(|step| *step != "*").unwrap_or(&row.step);
        let step = cut(&escaped(step), MOST_STEP).into_owned();
        format!("{:1$}{step}", "", 2 * row.depth)
    };
    let mut cells = Vec::new();
    for row in rows {
        let mut all = vec![types(row)];
        if row.is_map {
            all.push("map".into());
        }
        if row.count(Kind::Null) > 0 && row.kinds().next().is_some() {
            all.push(format!("null {}", row.count(Kind::Null)));
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
        cells.push([step(row), row.total().to_string(), all.join("; ")]);
    }
    aligned(&cells, &[false, true, false])
}

/// A schema as a table with a header.
pub fn table(rows: &[SchemaRow]) -> String {
    let header = ["path", "type", "count", "null", "missing", "distinct", "least", "greatest", "example"];
    let mut cells = vec![header.map(str::to_owned)];
    for row in rows {
        let (least, greatest) = range(row).unwrap_or_default();
        cells.push([
            escaped(&row.path).into_owned(),
            types(row) + if row.is_map { " (map)" } else { "" },
            row.total().to_string(),
            row.count(Kind::Null).to_string(),
            row.missing.to_string(),
            distinct(row).unwrap_or_default(),
            least,
            greatest,
            row.example().map(value).unwrap_or_default(),
        ]);
    }
    aligned(&cells, &[false, false, true, true, true, true, false, false, false])
}

/// Cells in columns, two spaces apart. `right` says which columns are aligned at their ends.
fn aligned<const N: usize>(cells: &[[String; N]], right: &[bool; N]) -> String {
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for row in cells {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            let between = if column > 0 { "  " } else { "" };
            let (before, after) = if right[column] { (&pad[..], "") } else { ("", &pad[..]) };
            line.extend([between, before, cell, after]);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
