//! Plots, as SVG.
//!
//! There are two kinds: [`dots`] compares tools in one case, and [`lines`] follows tools along an axis. They
//! are drawn here and not by a plotting crate. Half of the features that make them readable would have to be
//! drawn by hand on top of a crate's plot. These are names beside the last point, numbers beside each row,
//! and ticks only at measured values.
//!
//! The ground is light and opaque, so that a plot reads the same on a dark page and on a light one. The
//! colours are those of Okabe and Ito, which people with any colour vision can distinguish. Each line also
//! has a mark of its own.

pub mod dots;
pub mod lines;
mod scale;
mod svg;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Colours for data, Warpath's first.
const PALETTE: [&str; 8] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#4D4D4D"];

/// The ground.
const GROUND: &str = "#FBFBF9";
/// Titles and names.
const INK: &str = "#1F2328";
/// Everything said beside.
const FAINT: &str = "#59636E";
/// Lines of the grid.
const GRID: &str = "#DFE3E8";
/// Marks of tools that are shown for comparison.
const PEER: &str = "#8C959F";

/// The meaning of marks and whiskers, for plots of medians.
pub const MEDIANS: &str =
    "A mark is the median of all runs; the line through it goes from the least to the most.";
/// The meaning of marks and whiskers, for plots of means.
pub const MEANS: &str =
    "A mark is the mean of all runs; the line through it goes from the least to the most.";

/// The text at the top of a plot.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The quantity in the plot.
    pub title: String,
    /// The data, the machine, and the day.
    pub notes: Vec<String>,
}

/// A value with its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// The median.
    pub value: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// A number in three digits or so.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 100.0 => thousands(value.round() as i64),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A time, with a digit more than other numbers where it is a device's.
pub fn milliseconds(value: f64) -> String {
    if value < 0.1 { format!("{value:.4}") } else { number(value) }
}

/// A whole number with a thin space between thousands.
pub fn thousands(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

/// Draws ground and heading; the height that the heading takes.
fn begin(svg: &mut svg::Svg, heading: &Heading) -> f64 {
    svg.text(20.0, 30.0, &heading.title, svg::Text { size: 16.0, bold: true, ..svg::Text::default() });
    for (at, note) in heading.notes.iter().enumerate() {
        svg.text(
            20.0,
            50.0 + 16.0 * at as f64,
            note,
            svg::Text { size: 12.0, colour: FAINT, ..svg::Text::default() },
        );
    }
    heading_height(heading)
}

fn heading_height(heading: &Heading) -> f64 {
    44.0 + 16.0 * heading.notes.len() as f64
}

/// A figure: its title, and the names and contents of its plots.
pub type Figure = (&'static str, Vec<(String, String)>);

/// Writes the plots of figures to a folder, and adds them to a page. Returns the names of the files. Figures
/// without plots are left out.
///
/// # Errors
/// Errors of the file system.
pub fn write_figures(figures: Vec<Figure>, folder: &Path, page: &mut String) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for (title, plots) in figures.into_iter().filter(|(_, plots)| !plots.is_empty()) {
        let _ = write!(page, "\n## {title}\n");
        for (file, plot) in plots {
            let _ = write!(page, "\n![{title}: {file}]({file})\n");
            fs::write(folder.join(&file), plot).with_context(|| file.clone())?;
            files.push(file);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.01234, 0.1234, 1.0, 12.34, 123.4, 1234.0, 1_234_567.0].map(number);
        assert_eq!(
            shown,
            ["0", "0.012", "0.12", "1.00", "12.3", "123", "1\u{2009}234", "1\u{2009}234\u{2009}567"]
        );
    }
}
