//! Tools in one case, a row each, the best first: a dot at the median, a line from the least to the most.

use super::scale::{Scale, tick};
use super::svg::{Mark, Svg, Text};
use super::{FAINT, GRID, Heading, INK, PALETTE, PEER, Spot, begin, heading_height};

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The tool.
    pub name: String,
    /// The position of its dot; `None` if it was not measured.
    pub spot: Option<Spot>,
    /// The text at its right.
    pub note: String,
    /// Its emphasis.
    pub role: Role,
}

/// The role of a row for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Warpath, the subject of the chart.
    Ours,
    /// A tool to compare with.
    Peer,
}

/// Between names and notes.
const PLOT: f64 = 430.0;
const RIGHT: f64 = 240.0;
/// A character of a name, bold or not, is no wider on average.
const CHARACTER: f64 = 7.0;
const ROW: f64 = 22.0;

/// Draws rows in the order given, over an axis in `unit`.
pub fn draw(heading: &Heading, unit: &str, rows: &[Row]) -> String {
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = (longest as f64 * CHARACTER + 32.0).max(190.0);
    let width = left + PLOT + RIGHT;
    let top = heading_height(heading) + 8.0;
    let bottom = top + ROW * rows.len() as f64;
    let mut svg = Svg::new(width, bottom + 48.0);
    begin(&mut svg, heading);
    let spots = rows.iter().filter_map(|row| row.spot);
    let scale = Scale::over(spots.flat_map(|spot| [spot.low, spot.high]), left, left + PLOT);
    for (at, row) in rows.iter().enumerate() {
        if row.role == Role::Ours {
            svg.band(12.0, top + ROW * at as f64, width - 24.0, ROW, "#E8F1F8");
        }
    }
    for value in scale.ticks() {
        let x = scale.place(value);
        svg.line((x, top), (x, bottom), GRID, 1.0);
        svg.text(
            x,
            bottom + 16.0,
            &tick(value),
            Text { size: 11.0, colour: FAINT, anchor: "middle", ..Text::default() },
        );
    }
    let axis = if scale.is_log() { format!("{unit}, logarithmic") } else { unit.to_owned() };
    let middle = left + PLOT / 2.0;
    svg.text(
        middle,
        bottom + 36.0,
        &axis,
        Text { size: 12.0, colour: FAINT, anchor: "middle", ..Text::default() },
    );
    for (at, row) in rows.iter().enumerate() {
        let y = top + ROW * (at as f64 + 0.5);
        let ours = row.role == Role::Ours;
        let colour = match row.role {
            Role::Ours => PALETTE[0],
            Role::Peer => PEER,
        };
        let name = Text {
            bold: ours,
            colour: if row.spot.is_some() { INK } else { FAINT },
            anchor: "end",
            ..Text::default()
        };
        svg.text(left - 12.0, y + 4.0, &row.name, name);
        let note = Text { size: 11.0, colour: if ours { INK } else { FAINT }, ..Text::default() };
        let Some(spot) = row.spot else {
            svg.text(left + 4.0, y + 4.0, &row.note, note);
            continue;
        };
        svg.line((scale.place(spot.low), y), (scale.place(spot.high), y), colour, 2.0);
        svg.mark((scale.place(spot.value), y), Mark::Disc, 5.0, colour);
        svg.text(left + PLOT + 14.0, y + 4.0, &row.note, note);
    }
    svg.finish(&heading.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_name_and_its_note() {
        let row = |name: &str, value: Option<f64>, role| Row {
            name: name.into(),
            spot: value.map(|value| Spot { value, low: value * 0.9, high: value * 1.1 }),
            note: format!("{name}: <note>"),
            role,
        };
        let rows = [
            row("cat", Some(7.0), Role::Peer),
            row("us", Some(3.0), Role::Ours),
            row("them", None, Role::Peer),
        ];
        let heading = Heading { title: "A & B".into(), notes: vec!["x".into()] };
        let text = draw(&heading, "GB/s", &rows);
        let document = roxmltree::Document::parse(&text).unwrap();
        let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        assert_eq!(count("circle") + count("polygon"), 2);
        for row in &rows {
            for text in [&row.name, &row.note] {
                assert!(document.descendants().any(|node| node.text() == Some(text)), "{text}");
            }
        }
    }
}
